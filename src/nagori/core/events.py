"""Events and their fold: what each event does to memories, relations, turns and state.

`fold` is deterministic and reads no clock, so replaying a journal always gives the same state. A new type of
event is one function in `EFFECTS` that yields tagged changes. An unknown type stops the fold: a newer version
wrote it, and skipping it would lose its content. The exception are types that change no memory; they are
marked as skippable in the journal.

An event that is intact but cannot be applied (a value that no store can hold, a missing field) is passed over
and reported, so that one bad value does not make all later events unreachable. New events are checked with
`prove` before they are appended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from zlib import crc32

from nagori.core.model import (
    ARCHIVE_REASONS,
    Category,
    Emotion,
    Item,
    Kind,
    Level,
    Memory,
    Privacy,
    Relation,
    RelationType,
    Text,
    check_count,
    check_item,
    check_memory,
    check_turn,
    strictest_privacy,
    utc,
)
from nagori.core.serialize import from_record, read_credit, relation_of
from nagori.core.sha256_without_openssl import sha256
from nagori.core.value_object import Value, default_factory, read_metadata, replace
from nagori.errors import InvalidInput, JournalTooNew, Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

APPRAISED_FIELDS = {"kind", "category", "emotion"}
#
# Events that change no memory. They are marked in the journal, so that a version that does not know them
SKIPPABLE = frozenset(
    {"turn_recorded", "turns_processed", "cycle_finished", "state_changed", "redacted"}
    | {"session_compacted", "session_briefed", "worked", "policy_changed"}
)
OPEN_PROMPTS, MOST_OPEN = "open_prompts", 50  # state: prompts without a recorded answer, by session
OPEN_SINCE = "open_since"  # state: time of the oldest of them
SESSIONS = "sessions"  # state: memories shown in recent sessions
MOST_SESSIONS, MOST_SHOWN = 40, 400
CYCLE, LINKED, TO_REDACT = "cycle", "linked", "to_redact"  # other state keys that events set
CONSOLIDATED = "consolidated"  # state: the event up to which new memories were consolidated
RELATIONS_CHECKED = "relations_checked"  # state: the event up to which relations are known to be sound
CYCLE_STOPPED = "cycle_stopped"  # state: a cycle that waits for confirmation, and how much it would move
WAITING_WISHES = "waiting_wishes"  # state: wishes of the user that could not be granted yet
THREADS = "threads"  # state: the event up to which all threads have ended, and those ended after it
TO_COMPACT = "to_compact"  # state: free pages of the store may still hold words
TO_ERASE = "to_erase"  # state: numbers of erasures whose words are still in the journal
LEARNED = "learned"  # state: usual outcomes of tasks, and the evidence about settings
POLICY = "policy"  # state: learned settings, and the versions before them
MOST_TASKS, MOST_VERSIONS, MOST_AWAITING = 200, 50, 20
TURNS = frozenset({"turn_recorded", "heard", "worked"})  # types of recorded turns, which change no memory
WORK = "work"  # role of a turn that holds the results of tools, one a line
PASSED_OVER = "passed_over"  # state: the last events that could not be applied, and why not
OF_OTHER_EVENTS = frozenset(
    {
        *(OPEN_PROMPTS, OPEN_SINCE, SESSIONS, CYCLE, TO_REDACT, TO_COMPACT, TO_ERASE, PASSED_OVER),
        *(RELATIONS_CHECKED, LEARNED, POLICY),
    }
)


# Types that version 0.1 wrote under another name. A journal is never rewritten for a name: it is read by it.
RENAMED_TYPES = {
    "faded": "compressed",
    "strengthened": "reinforced",
    "judged": "appraised",
    "mentioned": "repeated",
    "postponed": "revival_deferred",
}


class Event(Value):
    """Something that happened. `seq` is its number in its owner's journal, given when it is appended."""

    type: str
    at: datetime
    data: Mapping[str, Any] = default_factory(dict)
    memory: str | None = None
    by: str = "user"
    seq: int = 0
    skippable: bool = False  # as its line says; see SKIPPABLE


def checksum_of(event: Event) -> int:
    """A short checksum of the unchanging part of an event. Its words are left out, because redaction removes
    them."""
    said = f"{event.seq}\x1f{event.at.isoformat()}\x1f{event.by}\x1f{event.memory}"
    return crc32(said.encode("utf-8", "surrogatepass"))


class RecordedTurn(Value):
    """A recorded turn. `role` is user, assistant, tool, summary or import. `index` is its place in the
    session; the store assigns it where the event has none."""

    id: str
    seq: int
    at: datetime
    session: str
    role: str
    text: str
    index: int | None = None
    speaker: str | None = None
    project: str | None = None
    agent: str | None = None
    agent_role: str | None = None
    host: str | None = None
    ref: str | None = None
    transcript: str | None = None
    uri: str | None = None
    processed: bool = False


class StateChange(Value):
    """A named value of plain JSON data; None removes it."""

    key: str
    value: Any


class TurnsProcessed(Value):
    """The turns of a range of events need no more processing."""

    first: int
    last: int


class Origin(Value):
    """A memory was formed from the turn of this event."""

    memory: str
    turn: int


class Erasure(Value):
    """A memory is removed."""

    memory: str


class TurnRedaction(Value):
    """The words of a turn are removed."""

    turn: int


class ItemDeletion(Value):
    """An item is removed."""

    id: str


class ItemRenewal(Value):
    """An item with a time to live starts it again."""

    id: str
    at: datetime


class Outcome(Value, frozen=False):
    """The result of folding events: the last value of everything they touched."""

    memories: dict[str, Memory] = default_factory(dict)
    links: dict[Relation, bool] = default_factory(dict)  # True: present, False: removed
    turns: list[RecordedTurn] = default_factory(list)
    processed: list[tuple[int, int]] = default_factory(list)
    origins: list[tuple[str, int]] = default_factory(list)
    state: dict[str, Any] = default_factory(dict)
    erased: dict[str, None] = default_factory(dict)
    redacted_turns: list[int] = default_factory(list)
    items: dict[str, Item | None] = default_factory(dict)  # None: deleted
    renewals: dict[str, datetime] = default_factory(dict)
    touched: list[tuple[Event, tuple[str, ...]]] = default_factory(list)
    passed_over: list[tuple[int, Notice]] = default_factory(list)  # events that could not be applied, and why

    def take(self, change: Change) -> str | None:
        """Add a change; returns the memory it touches, if any."""
        if isinstance(change, Memory):
            self.erased.pop(change.id, None)
            self.memories[change.id] = change
            return change.id
        return COLLECTORS[type(change)](self, change)


Change = (
    Memory
    | tuple[Relation, bool]
    | RecordedTurn
    | StateChange
    | TurnsProcessed
    | Origin
    | Erasure
    | TurnRedaction
    | Item
    | ItemDeletion
    | ItemRenewal
)


def _collect_link(outcome: Outcome, change: Any) -> str:
    relation, stands = change
    outcome.links[relation] = stands
    return str(relation.source)


def _collect_erasure(outcome: Outcome, change: Any) -> str:
    outcome.memories.pop(change.memory, None)
    outcome.erased[change.memory] = None
    return str(change.memory)


def _collect_state(outcome: Outcome, change: Any) -> None:
    outcome.state[change.key] = change.value


def _collect_turn(outcome: Outcome, change: Any) -> None:
    outcome.turns.append(change)


def _collect_processed(outcome: Outcome, change: Any) -> None:
    outcome.processed.append((change.first, change.last))


def _collect_origin(outcome: Outcome, change: Any) -> None:
    outcome.origins.append((change.memory, change.turn))


def _collect_redaction(outcome: Outcome, change: Any) -> None:
    outcome.redacted_turns.append(change.turn)


def _collect_item(outcome: Outcome, change: Any) -> str:
    id: str = change.id
    outcome.renewals.pop(id, None)
    outcome.items[id] = change if isinstance(change, Item) else None
    return id


def _collect_renewal(outcome: Outcome, change: Any) -> None:
    item = outcome.items.get(change.id)
    if item is not None and item.ttl is not None:
        outcome.items[change.id] = replace(item, expires=change.at + item.ttl)
    elif change.id not in outcome.items:
        outcome.renewals[change.id] = change.at


COLLECTORS: dict[type, Callable[[Outcome, Any], str | None]] = {
    tuple: _collect_link,
    Erasure: _collect_erasure,
    StateChange: _collect_state,
    RecordedTurn: _collect_turn,
    TurnsProcessed: _collect_processed,
    Origin: _collect_origin,
    TurnRedaction: _collect_redaction,
    Item: _collect_item,
    ItemDeletion: _collect_item,
    ItemRenewal: _collect_renewal,
}


class FoldState:
    """The state before a run of events, and what they changed so far."""

    def __init__(
        self,
        memories: Mapping[str, Memory],
        state: Mapping[str, Any],
        outcome: Outcome,
        read: Callable[[Any], Memory],
    ) -> None:
        self._memories, self._state, self._outcome = memories, state, outcome
        self.read = read

    def memory(self, id: str | None) -> Memory | None:
        if id is None or id in self._outcome.erased:
            return None
        return self._outcome.memories.get(id) or self._memories.get(id)

    def state(self, key: str) -> Any:
        if key in self._outcome.state:
            return self._outcome.state[key]
        return self._state.get(key)


def fold(
    events: Iterable[Event],
    memories: Mapping[str, Memory],
    state: Mapping[str, Any] | None = None,
    *,
    strict: bool = False,
    read: Callable[[Any], Memory] = from_record,
) -> Outcome:
    """The outcome of `events` on top of the memories and the state given. Events that cannot be applied are
    listed in `passed_over`; with `strict` they raise InvalidInput. `read` makes a memory of a record: who
    only counts memories needs less of them, and what was stored need not be checked again."""
    outcome = Outcome()
    known = FoldState(memories, state or {}, outcome, read)
    for event in events:
        try:
            changes = _changes(event, known)
        except (InvalidInput, ValueError, TypeError, KeyError, AttributeError, OverflowError) as fault:
            if strict:
                raise InvalidInput(
                    "event", "error.event_fault", type=event.type, reason=_reason(fault)
                ) from None
            reason = Notice("error.event_fault", type=event.type, reason=_reason(fault))
            outcome.passed_over.append((event.seq, reason))
            outcome.touched.append((event, ()))
            continue
        touched = [id for change in changes if (id := outcome.take(change)) is not None]
        # A repeated turn forms no memory, but its name is logged, so it is not counted twice.
        turn = event.data.get("turn")
        outcome.touched.append((event, (*touched, turn) if isinstance(turn, str) else tuple(touched)))
    return outcome


def _reason(fault: Exception) -> Notice | str:
    """Why an event cannot be applied."""
    return fault.notice if isinstance(fault, InvalidInput) else str(fault)


def prove(events: Sequence[Event], memories: Mapping[str, Memory], state: Mapping[str, Any]) -> Outcome:
    """The outcome of new events. Raises InvalidInput, before anything is written, if one cannot be
    applied."""
    return fold(events, memories, state, strict=True)


def _changes(event: Event, known: FoldState) -> list[Change]:
    """All changes of an event, after checking that a store can hold them."""
    if event.data.get("redacted") is True:  # erased: its number, time and type are all that is left
        return []
    effect = EFFECTS.get(event.type)
    if effect is None:
        if event.skippable:
            return []
        raise JournalTooNew("error.event_unknown", seq=event.seq, type=event.type)
    changes = list(effect(event, known))
    for change in changes:
        check = CHECKS.get(type(change))
        if check is not None and known.read is from_record:
            check(change)
    return changes


def _check_numbers(change: TurnsProcessed | Origin | TurnRedaction) -> None:
    for number in change:
        if isinstance(number, int):
            check_count("turns", number)


CHECKS: dict[type, Callable[[Any], None]] = {
    Memory: check_memory,
    RecordedTurn: check_turn,
    TurnsProcessed: _check_numbers,
    Origin: _check_numbers,
    TurnRedaction: _check_numbers,
    Item: check_item,
}


def memories_named_in(events: Iterable[Event]) -> set[str]:
    """The ids of the memories that `events` may change. They must be known to fold the events."""
    ids: set[str] = set()
    for event in events:
        told = event.data.get("memories", ())
        every = (event.memory, event.data.get("target"), *(told if isinstance(told, list | tuple) else ()))
        ids.update(id for id in every if isinstance(id, str))
    return ids


STATES: dict[str, tuple[str, ...]] = {  # the state keys that an event of this type reads
    "turn_recorded": (OPEN_PROMPTS,),
    "recalled": (SESSIONS,),
    "session_compacted": (SESSIONS,),
    "session_briefed": (SESSIONS,),
    "credited": (SESSIONS, LEARNED),
    "policy_changed": (POLICY, LEARNED),
    "purged": (TO_REDACT,),
    "deleted": (TO_REDACT,),
    "redacted": (TO_REDACT, TO_ERASE),
    "item_deleted": (TO_REDACT,),
    "erased": (TO_ERASE, SESSIONS, OPEN_PROMPTS),
}


def state_keys_named_in(events: Iterable[Event]) -> set[str]:
    """The state keys that must be known to fold `events`."""
    return {key for event in events for key in STATES.get(event.type, ())}


Effect = Callable[[Event, FoldState], Iterator[Change]]


# --- turns ----------------------------------------------------------------------------------------


def _apply_turn_recorded(event: Event, known: FoldState) -> Iterator[Change]:
    data = event.data
    others: dict[str, Any] = {name: data.get(name) for name in _OF_A_TURN}
    yield RecordedTurn(
        id=str(data.get("turn") or turn_id(data, event.at)),
        seq=event.seq,
        at=event.at,
        session=str(data["session"]),
        role=str(data["role"]),
        text=str(data["text"]),
        **others,
    )
    yield from _note_open_prompt(event, known)


def _note_open_prompt(event: Event, known: FoldState) -> Iterator[Change]:
    """A prompt is open until its answer is recorded. If no hook records it, the host's transcript may have
    it."""
    data, session = event.data, str(event.data["session"])
    asks = data["role"] == "user" and "transcript" in data
    answers = data["role"] == "assistant" and not data.get("speaker")
    prompts = dict(known.state(OPEN_PROMPTS) or {}) if asks or answers else {}
    if asks:
        prompts.pop(session, None)
        prompts[session] = {**data, "text": "", "at": event.at.isoformat()}
        while len(prompts) > MOST_OPEN:
            del prompts[next(iter(prompts))]
    elif answers and session in prompts:
        del prompts[session]
    else:
        return
    yield from _open_prompts(prompts)


def _open_prompts(prompts: Mapping[str, Any]) -> Iterator[Change]:
    yield StateChange(OPEN_PROMPTS, prompts or None)
    yield StateChange(OPEN_SINCE, min((prompt["at"] for prompt in prompts.values()), default=None))


_OF_A_TURN = ("index", "speaker", "project", "agent", "agent_role", "host", "ref", "transcript", "uri")


def turn_id(data: Mapping[str, Any], at: datetime) -> str:
    """The id of a turn. It is the same for two hooks that report one event and for a line that is read twice.
    `ref` is the host's own id of the turn; without one the time tells turns apart."""
    which = data.get("ref") or at.isoformat()
    place = (data.get("session"), data.get("index"), which)
    said = (*place, data.get("role"), data.get("speaker"), data.get("text"))
    whole = "\x1f".join(str(part) for part in said).encode("utf-8", "surrogatepass")
    return f"turn_{sha256(whole).hexdigest()[:20]}"


def _ignore_heard(event: Event, known: FoldState) -> Iterator[Change]:
    """A turn in the format of 0.1. Unprocessed ones are recorded anew (`services.upgrade_from_0_1`)."""
    yield from ()


def _apply_turns_processed(event: Event, known: FoldState) -> Iterator[Change]:
    for first, last in event.data["turns"]:
        yield TurnsProcessed(int(first), int(last))


# --- state ----------------------------------------------------------------------------------------


def _apply_state_changed(event: Event, known: FoldState) -> Iterator[Change]:
    """A value that only its owner reads. What the fold itself reads has event types of its own."""
    key, value = event.data["key"], event.data.get("value")
    if not isinstance(key, str) or key in OF_OTHER_EVENTS:
        raise InvalidInput("key", "error.state_key", key=key)
    yield _note_linked(value) if key == LINKED and value is not None else StateChange(key, value)


def _apply_cycle_finished(event: Event, known: FoldState) -> Iterator[Change]:
    yield StateChange(CYCLE, event.at.isoformat())
    if event.data.get("compacted"):
        yield StateChange(TO_COMPACT, None)
    if "linked" in event.data:
        yield _note_linked(event.data["linked"])
    if "relations_checked" in event.data:
        check_count("relations_checked", event.data["relations_checked"])
        yield StateChange(RELATIONS_CHECKED, event.data["relations_checked"])
    yield StateChange(CYCLE_STOPPED, None)


def _note_linked(seq: Any) -> StateChange:
    check_count("linked", seq)
    return StateChange(LINKED, seq)


def _apply_session_compacted(event: Event, known: FoldState) -> Iterator[Change]:
    """The model lost the memories it was shown and the beginning of its session."""
    yield _note_session(
        known, str(event.data["session"]), lambda note: {**note, "shown": [], "compacted": True}
    )


def _apply_session_briefed(event: Event, known: FoldState) -> Iterator[Change]:
    """Memories were shown at session start. That is not a recall: nobody asked for them."""
    yield _note_shown(known, str(event.data["session"]), event.data["shown"])


def _note_shown(known: FoldState, session: str, ids: Sequence[str]) -> StateChange:
    return _note_session(known, session, lambda note: {**note, "shown": [*note["shown"], *ids][-MOST_SHOWN:]})


def _note_session(
    known: FoldState, session: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> StateChange:
    """Change what is known of a session and move it to the end: the oldest ones are dropped first."""
    sessions = dict(known.state(SESSIONS) or {})
    note = sessions.pop(session, {"shown": [], "compacted": False})
    sessions[session] = change(note)
    while len(sessions) > MOST_SESSIONS:
        del sessions[next(iter(sessions))]
    return StateChange(SESSIONS, sessions)


def _request_redaction(known: FoldState, *ids: str) -> StateChange:
    return StateChange(TO_REDACT, list(dict.fromkeys([*(known.state(TO_REDACT) or ()), *ids])))


def _apply_redacted(event: Event, known: FoldState) -> Iterator[Change]:
    """The words of these memories, turns and erasures were removed from the journal."""
    done = set(event.data.get("memories", ()))
    waiting = [id for id in known.state(TO_REDACT) or () if id not in done]
    yield StateChange(TO_REDACT, waiting or None)
    if erased := event.data.get("erasures"):
        yield StateChange(TO_ERASE, [n for n in known.state(TO_ERASE) or () if n not in erased] or None)
    yield StateChange(TO_COMPACT, True)
    for seq in event.data.get("turns", ()):
        yield TurnRedaction(int(seq))


def _apply_erased(event: Event, known: FoldState) -> Iterator[Change]:
    """Remove memories, turns and the notes about sessions. The event is the request to remove them from the
    journal, too; it stands until that is done."""
    for id in event.data.get("memories", ()):
        yield Erasure(str(id))
    for seq in event.data.get("turns", ()):
        yield TurnRedaction(int(seq))
    if gone := set(event.data.get("sessions", ())):
        yield StateChange(SESSIONS, _without(known.state(SESSIONS), gone) or None)
        yield from _open_prompts(_without(known.state(OPEN_PROMPTS), gone))
    yield StateChange(TO_ERASE, [*(known.state(TO_ERASE) or ()), event.seq])
    yield StateChange(TO_COMPACT, True)


def _without(notes: Any, sessions: set[str]) -> dict[str, Any]:
    return {session: note for session, note in (notes or {}).items() if session not in sessions}


# --- items ----------------------------------------------------------------------------------------


def _apply_item_put(event: Event, known: FoldState) -> Iterator[Change]:
    """Write an item. The event says when it was first written, so nothing has to be read."""
    data = event.data
    updated = _parse_time(data["updated"]) if "updated" in data else event.at
    ttl = timedelta(microseconds=int(data["ttl"])) if data.get("ttl") is not None else None
    expires = _parse_time(data["expires"]) if "expires" in data else None
    yield Item(
        namespace=tuple(data["namespace"]),
        key=data["key"],
        value=data["value"],
        created=_parse_time(data["created"]),
        updated=updated,
        ttl=ttl,
        expires=expires if ttl is None else expires or updated + ttl,
    )


def _apply_item_deleted(event: Event, known: FoldState) -> Iterator[Change]:
    """Remove items. Their words are redacted from the journal, too."""
    ids = [str(id) for id in event.data.get("items", ())]
    for id in ids:
        yield ItemDeletion(id)
    if ids:
        yield _request_redaction(known, *ids)


def _apply_items_renewed(event: Event, known: FoldState) -> Iterator[Change]:
    for id in event.data.get("items", ()):
        yield ItemRenewal(str(id), event.at)


# --- memories -------------------------------------------------------------------------------------


def _apply_formed(event: Event, known: FoldState) -> Iterator[Change]:
    newborn = known.read(event.data["memory"])
    older = known.memory(newborn.id)
    yield newborn if older is None else _count_repetition(older, event.at)
    for seq in event.data.get("turns", ()):
        yield Origin(newborn.id, int(seq))


def _apply_repeated(event: Event, known: FoldState) -> Iterator[Change]:
    if memory := known.memory(event.memory):
        yield _count_repetition(memory, event.at)
        for seq in event.data.get("turns", ()):
            yield Origin(memory.id, int(seq))


def _count_repetition(memory: Memory, at: datetime) -> Memory:
    """A repetition counts as a recall, and it revokes forgetting."""
    return memory.evolve(mentions=memory.mentions + 1, recalled_at=at, forgotten_at=None)


def _apply_recalled(event: Event, known: FoldState) -> Iterator[Change]:
    """Mark the memory as recalled; the cycle reinforces it. The version stays the same, because a summary
    that is being written meanwhile is still right."""
    ids = list(event.data.get("memories", ()))
    for id in ids:
        if memory := known.memory(id):
            # No revival for a memory that the user archived. One that is injected unasked asks for revival,
            # too; events of 0.1 do not say so and ask for none.
            asked = not event.data.get("unasked") or event.data.get("revival")
            wished = memory.is_archived and memory.archive_reason != "manual" and asked
            wish = event.at if wished else memory.revival_at
            # What was shown unasked and awaits its credit is strengthened by `credited`, if it was used.
            at = memory.recalled_at if event.data.get("awaits") else event.at
            yield replace(memory, recalled_at=at, revival_at=wish)
    if session := event.data.get("session"):
        if awaits := event.data.get("awaits"):
            yield _note_awaiting(known, str(session), ids, {**awaits, "seq": event.seq})
        else:
            yield _note_shown(known, str(session), ids)


def _note_awaiting(
    known: FoldState, session: str, ids: Sequence[str], turn: Mapping[str, Any]
) -> StateChange:
    """Memories were shown unasked, and what came of it is not known yet."""

    def note_turn(note: dict[str, Any]) -> dict[str, Any]:
        shown = [*note["shown"], *ids][-MOST_SHOWN:]
        return {**note, "shown": shown, "awaiting": [*note.get("awaiting", ()), dict(turn)][-MOST_AWAITING:]}

    return _note_session(known, session, note_turn)


def _apply_credited(event: Event, known: FoldState) -> Iterator[Change]:
    """What came of the memories shown in some turns of a session [S7]. The event holds the resulting numbers,
    so a changed formula never changes the past. A provisional one only completes the notes of its turn."""
    data = event.data
    if session := data.get("session"):
        yield from _note_credit(known, str(session), data)
    strengthened = set(data.get("strengthened", ()))
    for id, numbers in data.get("credits", {}).items():
        if memory := known.memory(id):
            at = event.at if id in strengthened else memory.recalled_at
            yield replace(memory, credit=read_credit(numbers), recalled_at=at)
    if data.get("usual") or data.get("evidence"):
        learned = known.state(LEARNED) or {}
        usual = {name: value for name, value in learned.get("usual", {}).items() if name not in data["usual"]}
        usual = dict([*usual.items(), *data["usual"].items()][-MOST_TASKS:])
        evidence = {**learned.get("evidence", {}), **data.get("evidence", {})}
        yield StateChange(LEARNED, {**learned, "usual": usual, "evidence": evidence})


def _note_credit(known: FoldState, session: str, data: Mapping[str, Any]) -> Iterator[Change]:
    sessions = known.state(SESSIONS) or {}
    if session not in sessions:
        return
    awaiting = sessions[session].get("awaiting", ())
    if data.get("provisional"):
        seen = data["provisional"]
        left = [{**turn, **seen} if turn["seq"] == seen["seq"] else turn for turn in awaiting]
    else:
        left = [turn for turn in awaiting if turn["seq"] > data["through"]]
    note = {name: value for name, value in sessions[session].items() if name != "awaiting"}
    yield StateChange(SESSIONS, {**sessions, session: note | ({"awaiting": left} if left else {})})


def _apply_policy_changed(event: Event, known: FoldState) -> Iterator[Change]:
    """Learned settings changed, by a night or by hand [S8]. Each version names its parent."""
    data, policy = event.data, known.state(POLICY) or {}
    version = {name: value for name, value in data.items() if name != "redacted"}
    version |= {"seq": event.seq, "at": event.at.isoformat(), "by": event.by}
    versions = [*policy.get("versions", ()), version][-MOST_VERSIONS:]
    values = dict(data["values"])
    yield StateChange(POLICY, {"values": values, "off": bool(data.get("off")), "versions": versions})
    learned = known.state(LEARNED)
    if learned and data.get("setting"):  # the next step needs evidence of its own
        left = {name: seen for name, seen in learned.get("evidence", {}).items() if name != data["setting"]}
        yield StateChange(LEARNED, {**learned, "evidence": left})


def _apply_edited(event: Event, known: FoldState) -> Iterator[Change]:
    memory = known.memory(event.memory)
    if memory is None:
        return
    changes: dict[str, Any] = {}
    data = event.data
    if "text" in data:
        # Compressed texts were made from the old words, so they go, too.
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
        "metadata": read_metadata,
        "anchor": _parse_time,
        "recalls": int,
    }
    changes |= {name: make(data[name]) for name, make in makers.items() if name in data}
    if APPRAISED_FIELDS & data.keys():  # a person's appraisal is final
        changes["appraised_by"] = "user"
    yield memory.evolve(**changes)


def _apply_appraised(event: Event, known: FoldState) -> Iterator[Change]:
    """A second appraisal of emotion and kind, made by `by`; without findings the first one stays."""
    memory = known.memory(event.memory)
    if memory is not None:
        data = event.data
        makers = {"kind": Kind, "category": Category, "keywords": tuple, "coefficient": float}
        changes = {name: make(data[name]) for name, make in makers.items() if name in data}
        if "emotion" in data:
            changes["emotion"] = Emotion(**data["emotion"])
        yield memory.evolve(**changes, appraised_by=data["by"])


def _apply_protected(event: Event, known: FoldState) -> Iterator[Change]:
    if memory := known.memory(event.memory):
        yield memory.evolve(protected=True)


def _apply_unprotected(event: Event, known: FoldState) -> Iterator[Change]:
    if memory := known.memory(event.memory):
        yield memory.evolve(protected=False)


def _apply_forgotten(event: Event, known: FoldState) -> Iterator[Change]:
    if memory := known.memory(event.memory):
        yield memory.evolve(forgotten_at=event.at)


def _apply_superseded(event: Event, known: FoldState) -> Iterator[Change]:
    if memory := known.memory(event.memory):
        yield memory.evolve(superseded_by=event.data.get("by"))


def _apply_reinforced(event: Event, known: FoldState) -> Iterator[Change]:
    """Reinforcement [E5]. The event holds the resulting numbers, so a changed setting never changes the
    past."""
    if memory := known.memory(event.memory):
        yield memory.evolve(
            anchor=_parse_time(event.data["anchor"]),
            coefficient=float(event.data["coefficient"]),
            recalls=memory.recalls + 1,
            reinforced_at=event.at,
        )


def _apply_consolidated(event: Event, known: FoldState) -> Iterator[Change]:
    """Consolidation [T7]: it fades more slowly from now on."""
    if memory := known.memory(event.memory):
        yield memory.evolve(coefficient=float(event.data["coefficient"]))


def _apply_compressed(event: Event, known: FoldState) -> Iterator[Change]:
    if memory := known.memory(event.memory):
        level = Level(event.data["level"])
        texts = memory.texts | {level: Text(event.data["text"]["trigger"], event.data["text"]["content"])}
        yield memory.evolve(level=level, texts=texts)


def _apply_archived(event: Event, known: FoldState) -> Iterator[Change]:
    """Freeze the memory as a trace. Its full text stays until the grace period ends [ruling 8]."""
    if memory := known.memory(event.memory):
        text = event.data.get("text")
        trace = {Level.TRACE: Text(text["trigger"], text["content"])} if text else {}
        reason = event.data.get("reason")
        yield memory.evolve(
            level=Level.ARCHIVED,
            texts=memory.texts | trace,
            archived_at=event.at,
            archive_reason=ARCHIVE_REASONS.get(reason or "", reason),
            keep_until=None,
            revival_at=None,
        )


def _apply_revived(event: Event, known: FoldState) -> Iterator[Change]:
    if memory := known.memory(event.memory):
        yield memory.evolve(**_leave_archive(event, Level.TRACE), recalls=memory.recalls + 1)


def _apply_restored(event: Event, known: FoldState) -> Iterator[Change]:
    """Back to full, or to the fullest text that is kept."""
    if memory := known.memory(event.memory):
        fullest = min(memory.texts)
        texts = {Level.FULL: memory.texts[Level.FULL]} if fullest is Level.FULL else memory.texts
        yield memory.evolve(**_leave_archive(event, fullest), texts=texts)


def _leave_archive(event: Event, level: Level) -> dict[str, Any]:
    return {
        "level": level,
        "anchor": _parse_time(event.data["anchor"]),
        "keep_until": _parse_time(event.data["keep_until"]),
        "reinforced_at": event.at,
        "archived_at": None,
        "archive_reason": None,
        "revival_at": None,
    }


def _apply_revival_deferred(event: Event, known: FoldState) -> Iterator[Change]:
    if memory := known.memory(event.memory):
        yield memory.evolve(revival_at=_parse_time(event.data["until"]))


def _apply_purged(event: Event, known: FoldState) -> Iterator[Change]:
    """Keep only the trace. A memory without another text keeps what it has."""
    if memory := known.memory(event.memory):
        left = {level: text for level, text in memory.texts.items() if level is Level.TRACE}
        gone = bool(left) and memory.level >= Level.TRACE
        yield memory.evolve(texts=left if gone else memory.texts)
        if gone:
            yield _request_redaction(known, memory.id)


def _apply_deleted(event: Event, known: FoldState) -> Iterator[Change]:
    """Remove the memory. Its words are redacted from the journal, too."""
    if event.memory:
        yield Erasure(event.memory)
        yield _request_redaction(known, event.memory)


def _parse_time(said: str) -> datetime:
    return utc(datetime.fromisoformat(said))


def _apply_linked(event: Event, known: FoldState) -> Iterator[Change]:
    if event.memory:
        relation = relation_of(event.memory, event.data)
        yield relation, True
        if relation.type is RelationType.DERIVED_FROM:
            yield from _inherit_privacy(known.memory(relation.source), known.memory(relation.target))


def _inherit_privacy(derived: Memory | None, origin: Memory | None) -> Iterator[Memory]:
    """A derived memory is as private as its source. One made from private memories of two agents is visible
    to the user alone."""
    if derived is None or origin is None:
        return
    level = Privacy(strictest_privacy((derived.privacy, origin.privacy)))
    whose = {name: getattr(derived, name) for name in ("agent", "role")}
    if origin.privacy is not Privacy.PUBLIC:
        for name in whose:
            mine, theirs = whose[name], getattr(origin, name)
            whose[name] = theirs if derived.privacy is Privacy.PUBLIC or mine == theirs else None
    if (level, *whose.values()) != (derived.privacy, derived.agent, derived.role):
        yield derived.evolve(privacy=level, **whose)


def _apply_unlinked(event: Event, known: FoldState) -> Iterator[Change]:
    if event.memory:
        yield relation_of(event.memory, event.data), False


def _apply_replaced(event: Event, known: FoldState) -> Iterator[Change]:
    """Replace the whole memory: an undo, or an import with its history."""
    memory = known.read(event.data["memory"])
    older = known.memory(memory.id)
    yield memory if older is None else replace(memory, version=older.version + 1)


EFFECTS: dict[str, Effect] = {
    "turn_recorded": _apply_turn_recorded,
    "worked": _apply_turn_recorded,
    "heard": _ignore_heard,
    "turns_processed": _apply_turns_processed,
    "state_changed": _apply_state_changed,
    "cycle_finished": _apply_cycle_finished,
    "session_compacted": _apply_session_compacted,
    "session_briefed": _apply_session_briefed,
    "redacted": _apply_redacted,
    "erased": _apply_erased,
    "deleted": _apply_deleted,
    "formed": _apply_formed,
    "repeated": _apply_repeated,
    "recalled": _apply_recalled,
    "credited": _apply_credited,
    "policy_changed": _apply_policy_changed,
    "edited": _apply_edited,
    "appraised": _apply_appraised,
    "protected": _apply_protected,
    "unprotected": _apply_unprotected,
    "forgotten": _apply_forgotten,
    "superseded": _apply_superseded,
    "reinforced": _apply_reinforced,
    "consolidated": _apply_consolidated,
    "compressed": _apply_compressed,
    "archived": _apply_archived,
    "revived": _apply_revived,
    "revival_deferred": _apply_revival_deferred,
    "restored": _apply_restored,
    "purged": _apply_purged,
    "linked": _apply_linked,
    "unlinked": _apply_unlinked,
    "undone": _apply_replaced,
    "imported": _apply_replaced,
    "item_put": _apply_item_put,
    "item_deleted": _apply_item_deleted,
    "items_renewed": _apply_items_renewed,
}
