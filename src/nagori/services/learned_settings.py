"""Learned settings: which are in force, the step of a night, and how to take it back [S8].

A setting that a person chose is never learned. Every change is an event with its evidence and its parent, so
that any version can be explained and restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from nagori.config import Config, load
from nagori.core.events import LEARNED, POLICY, Event
from nagori.core.outcomes_lessons_and_credit import LEVERS, Evidence, PolicyStep, next_step
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, replace
from nagori.errors import InvalidConfig, InvalidInput
from nagori.event_ledger import Decision
from nagori.runtime import Runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NIGHT = timedelta(hours=12)  # at least so much time lies between two steps
DEFAULTS = Config()


# --- in force -------------------------------------------------------------------------------------


def settings_in_force(runtime: Runtime, owner: Owner) -> Config:
    """The configuration with the learned settings that no person chose."""
    policy = runtime.store.state(owner, POLICY) or {}
    values = {} if policy.get("off") else policy.get("values", {})
    return apply_settings(runtime.config, {name: values[name] for name in unchosen_settings(runtime, values)})


def unchosen_settings(runtime: Runtime, names: Iterable[str]) -> list[str]:
    """Those of these settings that can be learned and that no person chose: in a file, by a variable or in
    the program, even if it is the default."""
    known = [name for name in names if name in LEVERS]
    free = [name for name in known if value_of(runtime.config, name) == value_of(DEFAULTS, name)]
    try:
        origins = load().origins if free else {}
    except InvalidConfig:  # nobody can say what was chosen
        return []
    return [name for name in free if origins[name] == "default"]


def value_of(config: Config, name: str) -> float:
    """The value of a setting by its dotted name."""
    section, key = name.split(".")
    return float(getattr(getattr(config, section), key))


def apply_settings(config: Config, values: Mapping[str, float]) -> Config:
    """The configuration with some settings changed, each within its bounds."""
    for name, value in values.items():
        section, key = name.split(".")
        before, lever = getattr(config, section), LEVERS[name]
        fitting = type(getattr(before, key))(min(lever.hi, max(lever.lo, value)))
        config = replace(config, **{section: replace(before, **{key: fitting})})
    return config


def round_numbers(value: Value) -> list[float]:
    """The numbers of a value as an event holds them."""
    return [round(number, 6) if isinstance(number, float) else number for number in value]


# --- versions -------------------------------------------------------------------------------------


class PolicyVersion(Value):
    """One version of the learned settings, and why it is there."""

    seq: int
    at: datetime
    by: str
    values: Mapping[str, float]
    off: bool = False
    parent: int | None = None
    setting: str | None = None
    before: float | None = None
    value: float | None = None
    reason: str | None = None  # outcome, use, back or off
    gain: float | None = None
    evidence: Evidence | None = None


class Policy(Value):
    """The learned settings in force, and the versions that led to them."""

    values: Mapping[str, float]
    off: bool
    versions: Sequence[PolicyVersion]


def read_policy(runtime: Runtime, owner: Owner) -> Policy:
    """What was learned so far."""
    runtime.ledger.catch_up(owner)
    return _policy(runtime, owner)


def _policy(runtime: Runtime, owner: Owner) -> Policy:
    state = runtime.store.state(owner, POLICY) or {}
    versions = [_version(each) for each in state.get("versions", ())]
    return Policy(state.get("values", {}), bool(state.get("off")), versions)


def _version(told: Mapping[str, Any]) -> PolicyVersion:
    fields = {name: told[name] for name in PolicyVersion._names if name in told}
    fields["at"] = datetime.fromisoformat(told["at"])
    if fields.get("evidence") is not None:
        fields["evidence"] = Evidence(*told["evidence"])
    return PolicyVersion(**fields)


def improve(runtime: Runtime, owner: Owner) -> PolicyStep | None:
    """The step of a night: at most one, and only with evidence."""
    if not runtime.config.learning.adapt or not runtime.store.state(owner, LEARNED):
        return None

    def decide() -> Decision:
        policy, now = _policy(runtime, owner), runtime.clock.now()
        learned = runtime.store.state(owner, LEARNED) or {}
        evidence = {name: Evidence(*value) for name, value in learned.get("evidence", {}).items()}
        recent = policy.versions and now - policy.versions[-1].at < NIGHT
        config = settings_in_force(runtime, owner)
        values = {name: value_of(config, name) for name in unchosen_settings(runtime, LEVERS)}
        step = None if policy.off or recent else next_step(values, evidence)
        if step is None:
            return Decision([])
        data = {
            "values": {**policy.values, step.setting: step.value},
            "setting": step.setting,
            "before": step.before,
            "value": step.value,
            "reason": step.reason,
            "gain": round(step.gain, 6),
            "evidence": round_numbers(step.evidence),
            "parent": policy.versions[-1].seq if policy.versions else None,
        }
        return Decision([Event("policy_changed", now, data, by="cycle")], step)

    result: PolicyStep | None = runtime.ledger.write(owner, decide).result
    if result is not None:
        _audit(runtime, owner, "learned")
    return result


def _audit(runtime: Runtime, owner: Owner, change: str) -> None:
    from nagori.services import (
        audit_log,  # imported late: a prompt reads the policy and changes none
    )

    audit_log.record_or_observe(runtime, "policy_changed", owner, change=change)


def take_back(runtime: Runtime, owner: Owner) -> Policy:
    """Restore exactly the settings before the last change. Taking back again goes further back."""

    def decide() -> list[Event]:
        policy = _policy(runtime, owner)
        last = policy.versions[-1] if policy.versions else None
        if last is None or (last.parent is None and not last.values and not last.off):
            raise InvalidInput("policy", "error.policy_first")
        before = {version.seq: version for version in policy.versions}.get(last.parent or 0)
        if before is None and last.parent is not None:
            raise InvalidInput("policy", "error.policy_first")
        data = {
            "values": dict(before.values) if before else {},
            "off": before.off if before else False,
            "setting": last.setting,
            "reason": "back",
            "parent": before.parent if before else None,
        }
        return [Event("policy_changed", runtime.clock.now(), data)]

    runtime.ledger.write(owner, decide)
    _audit(runtime, owner, "taken back")
    return read_policy(runtime, owner)


def switch_off(runtime: Runtime, owner: Owner) -> Policy:
    """Use the configured settings and learn no others, until `take_back`."""

    def decide() -> list[Event]:
        policy = _policy(runtime, owner)
        parent = policy.versions[-1].seq if policy.versions else None
        data = {"values": dict(policy.values), "off": True, "reason": "off", "parent": parent}
        return [] if policy.off else [Event("policy_changed", runtime.clock.now(), data)]

    runtime.ledger.write(owner, decide)
    _audit(runtime, owner, "off")
    return read_policy(runtime, owner)
