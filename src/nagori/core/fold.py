"""State is a fold over the journal: what each event does to the memories it names.

`fold` is deterministic and knows no clock, so replaying a journal always gives the same memories. A new
kind of event is one function in `EFFECTS`. An event of an unknown type stops the fold: a newer nagori
wrote it, and passing over it would lose what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from nagori.core.model import Category, Emotion, Kind, Level, Memory, Privacy, Relation, Text, utc
from nagori.core.record import from_record, relation_of
from nagori.core.values import Value, fresh, replace
from nagori.errors import JournalTooNew

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Look = Callable[[str], Memory | None]
JUDGEMENTS = {"kind", "category", "emotion"}


class Event(Value):
    """Something that happened. `seq` is its place in its space's journal, given when it is appended."""

    type: str
    at: datetime
    data: Mapping[str, Any] = fresh(dict)
    memory: str | None = None
    by: str = "user"
    seq: int = 0


class Outcome(Value, frozen=False):
    """What a run of events comes to: the last word on every memory and relation they touched."""

    memories: dict[str, Memory] = fresh(dict)
    links: dict[Relation, bool] = fresh(dict)  # True = stands, False = taken away
    touched: list[tuple[Event, tuple[str, ...]]] = fresh(list)


def fold(events: Iterable[Event], known: Mapping[str, Memory]) -> Outcome:
    """The outcome of `events` on top of the memories `known` before."""
    outcome = Outcome()

    def current(id: str) -> Memory | None:
        return outcome.memories.get(id) or known.get(id)

    for event in events:
        effect = EFFECTS.get(event.type)
        if effect is None:
            raise JournalTooNew(f"event {event.seq} is a {event.type!r}, which this version does not know")
        touched = []
        for change in effect(event, current):
            if isinstance(change, Memory):
                outcome.memories[change.id] = change
                touched.append(change.id)
            else:
                relation, stands = change
                outcome.links[relation] = stands
                touched.append(relation.source)
        # A turn that only repeats leaves no memory, but its name is in the log: it is not counted twice.
        turn = event.data.get("turn")
        outcome.touched.append((event, (*touched, turn) if turn else tuple(touched)))
    return outcome


def named(events: Iterable[Event]) -> set[str]:
    """The memories that `events` may change: what must be known to fold them."""
    ids = {event.memory for event in events if event.memory}
    return ids.union(*(event.data.get("memories", ()) for event in events))


Change = Memory | tuple[Relation, bool]
Effect = Callable[[Event, Look], Iterator[Change]]


def _formed(event: Event, look: Look) -> Iterator[Change]:
    newborn = from_record(event.data["memory"])
    known = look(newborn.id)
    yield newborn if known is None else _said_again(known, event.at)


def _heard(event: Event, look: Look) -> Iterator[Change]:
    """Words, not yet a memory: whoever forms one writes that down himself."""
    yield from ()


def _mentioned(event: Event, look: Look) -> Iterator[Change]:
    if memory := _named(event, look):
        yield _said_again(memory, event.at)


def _said_again(memory: Memory, at: datetime) -> Memory:
    """Repetition counts as a recall, and saying it again takes back that it was forgotten."""
    return memory.but(mentions=memory.mentions + 1, recalled_at=at, forgotten_at=None)


def _recalled(event: Event, look: Look) -> Iterator[Change]:
    """Only a mark; strengthening is the cycle's [E5]. No new version: nothing about the memory changed
    that a summary being written meanwhile could make wrong."""
    for id in event.data.get("memories", ()):
        if memory := look(id):
            # What was put away by hand stays away, and what nobody asked for is nobody's wish.
            wished = memory.archived and memory.archive_reason != "manual" and not event.data.get("unasked")
            wish = event.at if wished else memory.revival_at
            yield replace(memory, recalled_at=event.at, revival_at=wish)


def _edited(event: Event, look: Look) -> Iterator[Change]:
    memory = _named(event, look)
    if memory is None:
        return
    changes: dict[str, Any] = {}
    data = event.data
    if "text" in data:
        # What was compressed from the old words goes with them.
        changes["texts"] = {Level.FULL: Text(data["text"]["trigger"], data["text"]["content"])}
        changes["level"] = Level.FULL
    makers: dict[str, Callable[[Any], Any]] = {
        "kind": Kind,
        "category": lambda value: Category(value) if value else None,
        "privacy": Privacy,
        "emotion": lambda value: Emotion(**value),
        "keywords": tuple,
        "coefficient": float,
        "project": lambda value: value,
    }
    changes |= {name: make(data[name]) for name, make in makers.items() if name in data}
    if JUDGEMENTS & data.keys():  # a person has the last word
        changes["judged_by"] = "user"
    yield memory.but(**changes)


def _judged(event: Event, look: Look) -> Iterator[Change]:
    """A second look at feeling and kind, by whoever `by` names; without findings the rules' own stand."""
    memory = _named(event, look)
    if memory is not None:
        data = event.data
        makers = {"kind": Kind, "category": Category, "keywords": tuple, "coefficient": float}
        changes = {name: make(data[name]) for name, make in makers.items() if name in data}
        if "emotion" in data:
            changes["emotion"] = Emotion(**data["emotion"])
        yield memory.but(**changes, judged_by=data["by"])


def _protected(event: Event, look: Look) -> Iterator[Change]:
    if memory := _named(event, look):
        yield memory.but(protected=True)


def _unprotected(event: Event, look: Look) -> Iterator[Change]:
    if memory := _named(event, look):
        yield memory.but(protected=False)


def _forgotten(event: Event, look: Look) -> Iterator[Change]:
    if memory := _named(event, look):
        yield memory.but(forgotten_at=event.at)


def _superseded(event: Event, look: Look) -> Iterator[Change]:
    if memory := _named(event, look):
        yield memory.but(superseded_by=event.data.get("by"))


def _strengthened(event: Event, look: Look) -> Iterator[Change]:
    """What a recall earned [E5]; the numbers stand in the event, so that a later law changes no past."""
    if memory := _named(event, look):
        yield memory.but(
            anchor=_moment(event.data["anchor"]),
            coefficient=float(event.data["coefficient"]),
            recalls=memory.recalls + 1,
            strengthened_at=event.at,
        )


def _faded(event: Event, look: Look) -> Iterator[Change]:
    if memory := _named(event, look):
        level = Level(event.data["level"])
        texts = memory.texts | {level: Text(event.data["text"]["trigger"], event.data["text"]["content"])}
        yield memory.but(level=level, texts=texts)


def _archived(event: Event, look: Look) -> Iterator[Change]:
    """Frozen at this moment, as a trace; its full words stay until the grace is over [rulings 8, L4]."""
    if memory := _named(event, look):
        text = event.data.get("text")
        trace = {Level.TRACE: Text(text["trigger"], text["content"])} if text else {}
        yield memory.but(
            level=Level.ARCHIVED,
            texts=memory.texts | trace,
            archived_at=event.at,
            archive_reason=event.data.get("reason"),
            keep_until=None,
            revival_at=None,
        )


def _revived(event: Event, look: Look) -> Iterator[Change]:
    if memory := _named(event, look):
        yield memory.but(**_out_of_archive(event, Level.TRACE), recalls=memory.recalls + 1)


def _restored(event: Event, look: Look) -> Iterator[Change]:
    """Whole again [L5]."""
    if memory := _named(event, look):
        texts = {Level.FULL: memory.texts[Level.FULL]} if Level.FULL in memory.texts else memory.texts
        yield memory.but(**_out_of_archive(event, Level.FULL), texts=texts)


def _out_of_archive(event: Event, level: Level) -> dict[str, Any]:
    return {
        "level": level,
        "anchor": _moment(event.data["anchor"]),
        "keep_until": _moment(event.data["keep_until"]),
        "strengthened_at": event.at,
        "archived_at": None,
        "archive_reason": None,
        "revival_at": None,
    }


def _postponed(event: Event, look: Look) -> Iterator[Change]:
    if memory := _named(event, look):
        yield memory.but(revival_at=_moment(event.data["until"]))


def _purged(event: Event, look: Look) -> Iterator[Change]:
    """Only the trace stays. A memory that has no other words keeps what it has."""
    if memory := _named(event, look):
        left = {level: text for level, text in memory.texts.items() if level is Level.TRACE}
        yield memory.but(texts=left or memory.texts)


def _moment(said: str) -> datetime:
    return utc(datetime.fromisoformat(said))


def _linked(event: Event, look: Look) -> Iterator[Change]:
    if event.memory:
        yield relation_of(event.memory, event.data), True


def _unlinked(event: Event, look: Look) -> Iterator[Change]:
    if event.memory:
        yield relation_of(event.memory, event.data), False


def _restated(event: Event, look: Look) -> Iterator[Change]:
    """The whole memory as it shall be from now on: an undo, or an import with its past."""
    memory = from_record(event.data["memory"])
    known = look(memory.id)
    yield memory if known is None else replace(memory, version=known.version + 1)


def _named(event: Event, look: Look) -> Memory | None:
    return look(event.memory) if event.memory else None


EFFECTS: dict[str, Effect] = {
    "heard": _heard,
    "formed": _formed,
    "mentioned": _mentioned,
    "recalled": _recalled,
    "edited": _edited,
    "judged": _judged,
    "protected": _protected,
    "unprotected": _unprotected,
    "forgotten": _forgotten,
    "superseded": _superseded,
    "strengthened": _strengthened,
    "faded": _faded,
    "archived": _archived,
    "revived": _revived,
    "postponed": _postponed,
    "restored": _restored,
    "purged": _purged,
    "linked": _linked,
    "unlinked": _unlinked,
    "undone": _restated,
    "imported": _restated,
}
