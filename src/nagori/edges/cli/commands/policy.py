"""The command `policy`: show what nagori learned about its own settings, explain it, and take it back."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from nagori.core.learning import LEVERS
from nagori.edges.cli.context import CommandSession, Json, print_json
from nagori.edges.cli.render import day
from nagori.services.policy import Policy, PolicyVersion, settings_in_force, unchosen_settings, value_of


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
        runtime, owner = memory.runtime, memory.scope.owner
        zone = runtime.clock.zone
        if act is PolicyAct.BACK:
            known = memory.policy_back()
        elif act is PolicyAct.OFF:
            known = memory.policy_off()
        else:
            known = memory.policy()
        config = settings_in_force(runtime, owner)
        free = set(unchosen_settings(runtime, LEVERS))
    settings = [_describe_setting(name, value_of(config, name), known, name in free) for name in LEVERS]
    if as_json:
        versions = [_version_json(version) for version in known.versions]
        print_json({"off": known.off, "settings": settings, "versions": versions})
        return
    if act in (PolicyAct.WHY, PolicyAct.HISTORY):
        told = known.versions if act is PolicyAct.HISTORY else known.versions[-1:]
        if not told:
            session.say("policy.nothing")
        for version in told:
            _say_version(session, version, day(version.at, zone))
        return
    if known.off:
        session.say("policy.is_off")
    for each in settings:
        session.say(f"policy.{each['origin']}", setting=each["setting"], value=f"{each['value']:g}")


def _describe_setting(name: str, value: float, known: Policy, free: bool) -> dict[str, Any]:
    learned = free and not known.off and name in known.values
    origin = "learned" if learned else "default" if free else "chosen"
    return {"setting": name, "value": value, "origin": origin}


def _version_json(version: PolicyVersion) -> dict[str, Any]:
    told = {name: getattr(version, name) for name in PolicyVersion._names}
    told["at"], told["values"] = version.at.isoformat(), dict(version.values)
    told["evidence"] = vars(version.evidence) if version.evidence else None
    return told


def _say_version(session: CommandSession, version: PolicyVersion, when: str) -> None:
    """One version in words: what moved, why, and on which evidence."""
    seen = version.evidence
    if version.reason in ("back", "off") or seen is None:
        session.say(f"policy.{version.reason or 'back'}", day=when)
        return
    step = {"setting": version.setting, "before": f"{version.before:g}", "value": f"{version.value:g}"}
    session.say("policy.moved", day=when, **step)
    if version.reason == "use":
        session.say("policy.use", used=seen.used, shown=seen.shown, gain=100 * (version.gain or 0.0))
    else:
        session.say(
            "policy.outcome", withheld=seen.withheld, turns=seen.turns, gain=100 * (version.gain or 0.0)
        )
