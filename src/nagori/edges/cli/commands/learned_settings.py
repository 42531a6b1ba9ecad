"""The command `policy`: show what nagori learned about its own settings, explain it, and take it back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from enum import StrEnum
from typing import Annotated, Any

import typer

from nagori.app import Nagori
from nagori.core.outcomes_lessons_and_credit import LEVERS
from nagori.edges.cli.context import CommandSession, Json, print_json
from nagori.edges.cli.render import day
from nagori.errors import Notice
from nagori.services.learned_settings import (
    Policy,
    PolicyVersion,
    settings_in_force,
    unchosen_settings,
    value_of,
)


class PolicyAct(StrEnum):
    SHOW = "show"
    WHY = "why"
    HISTORY = "history"
    BACK = "back"
    OFF = "off"


def policy(
    context: typer.Context,
    act: Annotated[PolicyAct, typer.Argument(help="help.policy.act")] = PolicyAct.SHOW,
    as_json: Json = False,
) -> None:
    """Show what was learned about settings, explain it, or take it back."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        zone = memory.runtime.clock.zone
        if act is PolicyAct.BACK:
            known = memory.policy_back()
        elif act is PolicyAct.OFF:
            known = memory.policy_off()
        else:
            known = memory.policy()
        settings = describe_settings(memory, known)
    if as_json:
        versions = [_version_json(version) for version in known.versions]
        print_json({"off": known.off, "settings": settings, "versions": versions})
        return
    if act in (PolicyAct.WHY, PolicyAct.HISTORY):
        told = known.versions if act is PolicyAct.HISTORY else known.versions[-1:]
        if not told:
            session.say("policy.nothing")
        for version in told:
            for notice in describe_version(version, zone):
                session.say(notice.id, **notice.values)
        return
    if known.off:
        session.say("policy.is_off")
    for each in settings:
        session.say(f"policy.{each['origin']}", setting=each["setting"], value=f"{each['value']:g}")


def describe_settings(memory: Nagori, known: Policy) -> list[dict[str, Any]]:
    """Every setting that can be learned, its value in force and where that comes from."""
    config = settings_in_force(memory.runtime, memory.scope.owner)
    free = set(unchosen_settings(memory.runtime, LEVERS))
    return [_describe_setting(name, value_of(config, name), known, name in free) for name in LEVERS]


def _describe_setting(name: str, value: float, known: Policy, free: bool) -> dict[str, Any]:
    learned = free and not known.off and name in known.values
    origin = "learned" if learned else "default" if free else "chosen"
    return {"setting": name, "value": value, "origin": origin}


def _version_json(version: PolicyVersion) -> dict[str, Any]:
    told = {name: getattr(version, name) for name in PolicyVersion._names}
    told["at"], told["values"] = version.at.isoformat(), dict(version.values)
    told["evidence"] = vars(version.evidence) if version.evidence else None
    return told


def describe_version(version: PolicyVersion, zone: tzinfo) -> Iterator[Notice]:
    """One version in words: what moved, why, and on which evidence."""
    seen, when = version.evidence, day(version.at, zone)
    if version.reason in ("back", "off") or seen is None:
        yield Notice(f"policy.{version.reason or 'back'}", day=when)
        return
    step = {"setting": version.setting, "before": f"{version.before:g}", "value": f"{version.value:g}"}
    yield Notice("policy.moved", day=when, **step)
    gain = 100 * (version.gain or 0.0)
    if version.reason == "use":
        yield Notice("policy.use", used=seen.used, shown=seen.shown, gain=gain)
    else:
        yield Notice("policy.outcome", withheld=seen.withheld, turns=seen.turns, gain=gain)
