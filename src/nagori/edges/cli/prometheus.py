"""Metrics in Prometheus text format (exposition format 0.0.4) [L9].

Every metric is a gauge, because every value can fall. Names follow the pattern of `memory_archive_count`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nagori.core.levels import Tier
from nagori.core.model import Kind, Level, Scope
from nagori.core.storage_types import Measures
from nagori.core.value_object import Value
from nagori.services.why_log_as_of_and_status import Status

ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Family(Value):
    """One metric: its samples by the value of `label`, or a single sample without one."""

    name: str
    help: str
    samples: Mapping[str, float]
    label: str | None = None


def families(status: Status, measures: Measures, waiting: int) -> Iterator[Family]:
    """Every metric. A level, tier or kind without memories is told as 0: a line that vanishes alarms."""
    counts = status.counts
    levels = {level.name.lower(): counts.levels.get(int(level), 0) for level in Level}
    tiers = {str(tier): measures.tiers.get(str(tier), 0) for tier in Tier}
    kinds = {str(kind): measures.kinds.get(str(kind), 0) for kind in Kind}
    yield Family("memory_count", "Memories alive, by level.", levels, "level")
    yield Family("memory_tier_count", "Memories alive, by age.", tiers, "tier")
    yield Family("memory_kind_count", "Memories alive, by what they are.", kinds, "kind")
    for name, help, value in (
        ("memory_archive_count", "Memories in the archive.", levels["archived"]),
        ("memory_protected_count", "Memories that never fade.", counts.protected),
        ("memory_superseded_count", "Memories that no longer hold.", counts.superseded),
        ("memory_forgotten_count", "Memories that were forgotten and can be brought back.", counts.forgotten),
        (
            "memory_compression_rate",
            "Share of the characters of memories below level 1 that is no longer shown.",
            measures.compression,
        ),
        ("memory_capacity", "Memories that one user may have outside the archive.", status.capacity),
        ("memory_capacity_usage", "Share of the capacity that is used.", status.usage),
        ("memory_waiting_wishes", "Wishes of the user that could not be granted yet.", status.waiting_wishes),
        ("memory_waiting_turns", "Turns that were heard and are no memories yet.", waiting),
        ("memory_waiting_vectors", "Memories without a vector of the present model.", counts.unembedded),
        ("memory_events", "Events in the journal.", status.events),
        ("memory_store_bytes", "Size of the store.", status.store_bytes),
        ("memory_journal_bytes", "Size of the journal.", status.journal_bytes),
    ):
        yield Family(name, help, {"": value})


def text(families: Iterable[Family], scope: Scope) -> str:
    """Families as lines, each sample labelled with whose memories they are."""
    owner = {"tenant": scope.tenant, "user": scope.user}
    if scope.project is not None:
        owner["project"] = scope.project
    return "".join(f"{line}\n" for family in families for line in _lines(family, owner))


def _lines(family: Family, owner: Mapping[str, str]) -> Iterator[str]:
    yield f"# HELP {family.name} {_help(family.help)}"
    yield f"# TYPE {family.name} gauge"
    for value, number in family.samples.items():
        labels = {**owner, family.label: value} if family.label else owner
        told = ",".join(f'{name}="{escape_label(label)}"' for name, label in labels.items())
        yield f"{family.name}{{{told}}} {number:.12g}"


def escape_label(value: str) -> str:
    """A label's value: backslash, quote and line feed are the three that must not stand as they are."""
    return value.translate(ESCAPED)


def _help(text: str) -> str:
    """In a HELP line a quote stands for itself."""
    return text.replace("\\", r"\\").replace("\n", r"\n")
