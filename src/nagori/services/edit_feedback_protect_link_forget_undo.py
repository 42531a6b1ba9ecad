"""Edit, feedback, forget, undo, protect, link and unlink.

Nothing is destroyed: an edit keeps the old words in the journal, forgetting hides the memory, and undo
replays its events without the last one.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagori.core.decay import adjust_for_feedback, coefficient_for, retention
from nagori.core.events import Event, fold, prove
from nagori.core.model import Filter, Memory, Relation, RelationType, Scope, Text, strictest_privacy
from nagori.core.serialize import emotion_record, to_record
from nagori.core.value_object import replace
from nagori.errors import Conflict, InvalidInput, NotFound
from nagori.event_ledger import read_memories
from nagori.runtime import Runtime
from nagori.services.link_similar_memories import link_event
from nagori.services.related_memories_and_stale_links import is_active, unlink_event
from nagori.services.remember import Edit, embed, ensure_room, safe_metadata, safe_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEAST_PREFIX = 6  # characters of an id: mem_ and two more
UNDOABLE = frozenset(
    {"edited", "protected", "unprotected", "forgotten", "superseded", "imported"}
    | {"appraised", "compressed", "archived", "revived", "restored"}
)


def edit(runtime: Runtime, scope: Scope, id: str, changes: Edit, version: int | None = None) -> Memory:
    """Correct a memory. The new words are searchable at once. With `version`, Conflict if the memory has
    changed since."""
    memory = read_version(runtime, scope, id)
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise InvalidInput("version", "error.not_whole", value=version)
    if version is not None and version != memory.version:
        raise _changed_meanwhile(memory.id)
    data = _edit_data(runtime, memory, changes)
    if not data:
        raise InvalidInput("edit", "error.nothing_to_change")
    after = change_seen(runtime, scope, memory, Event("edited", runtime.clock.now(), data, memory.id))
    if strictest_privacy([memory.privacy, after.privacy]) != after.privacy:  # more agents may see it
        from nagori.services import audit_log

        audit_log.record_or_observe(runtime, "disclosed", scope.owner, memories=1, by="user")
    return after


def feedback(runtime: Runtime, scope: Scope, id: str, good: bool) -> Memory:
    """Feedback of the user: a useful memory gets stronger, an unhelpful one weaker, once a day at most [L11].

    More feedback on the same day changes nothing, so repeated clicks have no effect; `undo` takes it back.
    """
    memory = read_version(runtime, scope, id)
    law, weekly, now = runtime.config.retention, runtime.config.weekly, runtime.clock.now()
    after = adjust_for_feedback(memory, good, now, law, weekly)
    if after == memory or _had_feedback_today(runtime, scope, memory):
        return memory
    data: dict[str, Any] = {"feedback": "up" if good else "down"}
    data |= {"emotion": emotion_record(after.emotion)} if after.emotion != memory.emotion else {}
    data |= {"anchor": after.anchor.isoformat()} if after.anchor != memory.anchor else {}
    names = ("coefficient", "recalls")
    data |= {name: getattr(after, name) for name in names if getattr(after, name) != getattr(memory, name)}
    data |= {"score_before": round(retention(memory, now, law, weekly), 3)}
    data |= {"score_after": round(retention(after, now, law, weekly), 3)}
    return change_seen(runtime, scope, memory, Event("edited", now, data, memory.id))


def _had_feedback_today(runtime: Runtime, scope: Scope, memory: Memory) -> bool:
    zone = runtime.clock.zone
    today = runtime.clock.now().astimezone(zone).date()
    story = describe_change(runtime, scope, memory.id)
    taken_back = {event.data["seq"] for event in story if event.type == "undone"}
    judgements = (e for e in story if "feedback" in e.data and e.seq not in taken_back)
    return any(event.at.astimezone(zone).date() == today for event in judgements)


def forget(runtime: Runtime, scope: Scope, id: str) -> Memory:
    """Hide a memory from every recall. `undo` brings it back."""
    memory = read_version(runtime, scope, id)
    if memory.is_forgotten:
        return memory
    return change_seen(runtime, scope, memory, Event("forgotten", runtime.clock.now(), {}, memory.id))


def undo(runtime: Runtime, scope: Scope, id: str) -> tuple[Memory, str]:
    """Revert the last change of a memory; returns the memory and what was undone. That it was formed or
    imported is not undone: `forget` does that, by its name."""
    memory, now = read_version(runtime, scope, id), runtime.clock.now()
    story = describe_change(runtime, scope, memory.id)
    taken_back = {event.data["seq"] for event in story if event.type == "undone"}
    standing = [e for e in story if e.type in UNDOABLE and e.seq not in taken_back]
    if not standing:
        raise InvalidInput("undo", "error.nothing_to_undo")
    last = standing[-1]
    told_again = [e for e in story if e.seq not in {*taken_back, last.seq} and e.type != "undone"]
    before = fold(told_again, {}).memories.get(memory.id)
    if before is None:  # nothing was known of it before: to take that back is to forget it
        raise InvalidInput("undo", "error.nothing_to_undo")
    if not before.text.whole:
        raise InvalidInput("undo", "error.undo_unreadable")
    if last.type == "appraised":  # after undoing an appraisal, the model must not repeat it
        before = replace(before, appraised_by="user")
    event = Event("undone", now, {"seq": last.seq, "memory": to_record(before)}, memory.id)
    return change_seen(runtime, scope, memory, event), last.type


def change_seen(runtime: Runtime, scope: Scope, seen: Memory, event: Event) -> Memory:
    """Apply one change to a memory as it was read; Conflict if it has changed meanwhile. The vector of the
    new text is computed before, so that row, words and vector change together."""
    after = prove([event], {seen.id: seen}, {}).memories[seen.id]
    vectors = embed(runtime, scope, [after]) if after.digest != seen.digest else {}

    def decide() -> list[Event]:
        known = read_memories(runtime.store, scope.owner, [seen.id]).get(seen.id)
        if known is None or known.version != seen.version:
            raise _changed_meanwhile(seen.id)
        return [event]

    runtime.ledger.write(scope.owner, decide, vectors)
    return read_version(runtime, scope, seen.id)


def _changed_meanwhile(id: str) -> Conflict:
    return Conflict("error.memory_changed", id=id)


def read_version(runtime: Runtime, scope: Scope, id: str) -> Memory:
    """The memory `id`, if this scope may see it. A unique prefix of an id is enough; a very short one may
    fit another memory tomorrow, so it is refused."""
    if not isinstance(id, str) or not id.strip():
        raise InvalidInput("id", "error.not_id")
    found = runtime.store.get(scope, [id])
    if not found:
        matches = runtime.store.find(scope, Filter(archived=True, forgotten=True, prefix=id), limit=2)
        if matches and len(id) < LEAST_PREFIX:
            raise InvalidInput("id", "error.id_too_short", id=id, least=LEAST_PREFIX)
        if len(matches) > 1:
            raise InvalidInput("id", "error.id_of_several", id=id)
        found = matches
    if not found:
        raise NotFound(id)
    return found[0]


def describe_change(runtime: Runtime, scope: Scope, id: str) -> list[Event]:
    """The history of a memory: all its events, oldest first, from the journal. Of events that were erased
    before the same was said again nothing is known."""
    entries = runtime.store.history(scope.owner, id)
    events = runtime.ledger.read_events(scope.owner, [entry.seq for entry in entries])
    return [event for event in events if event.data.get("redacted") is not True]


def _edit_data(runtime: Runtime, memory: Memory, changes: Edit) -> dict[str, Any]:
    data: dict[str, Any] = {}
    old = memory.texts[min(memory.texts)]  # the fullest text: an edit of a compressed memory keeps it
    text = Text(
        old.trigger if changes.trigger is None else safe_text(runtime, changes.trigger, "trigger"),
        old.content if changes.content is None else safe_text(runtime, changes.content, "content"),
    )
    if text != old:
        if not text.whole:
            raise InvalidInput("content", "error.text_would_be_empty")
        data["text"] = {"trigger": text.trigger, "content": text.content}
        data["keywords"] = _keywords_after(memory.keywords, old.whole, text.whole)
    for name in ("kind", "category", "privacy"):
        value = getattr(changes, name)
        if value is not None and value != getattr(memory, name):
            data[name] = str(value)
    if changes.emotion is not None and changes.emotion != memory.emotion:
        data["emotion"] = emotion_record(changes.emotion)
    if changes.everywhere or changes.project is not None:
        data |= {"project": changes.project} if changes.project != memory.project else {}
    if changes.metadata is not None:
        metadata = safe_metadata(runtime, changes.metadata)
        data |= {"metadata": metadata} if metadata != memory.metadata else {}
    if {"kind", "category", "emotion"} & set(data):
        data["coefficient"] = coefficient_for(
            changes.category or memory.category,
            (changes.emotion or memory.emotion).intensity,
            changes.kind or memory.kind,
            runtime.config.retention,
        )
    return data


def _keywords_after(words: Sequence[str], old: str, new: str) -> list[str]:
    """The keywords that stay when the text changes: those in the new text, and those that the caller gave,
    which the old text did not contain. A word that was edited out cannot be found any more."""
    old, new = old.casefold(), new.casefold()
    return [word for word in words if word.casefold() in new or word.casefold() not in old]


# --- protecting -----------------------------------------------------------------------------------
# Protected memories do not decay [E19]. The limit is 50 by default; when it is reached, a person
# chooses which one to release.


def protect(runtime: Runtime, scope: Scope, id: str, release: Sequence[str] = ()) -> Memory:
    """Protect `id`; `release` are protected memories to release in the same write."""

    def decide() -> list[Event]:
        now = runtime.clock.now()
        released = [m for m in runtime.store.get(scope, release) if m.protected]
        events = [Event("unprotected", now, {}, m.id) for m in released]
        [memory] = runtime.store.get(scope, [id]) or _raise_not_found(id)
        if not memory.protected:
            ensure_room(runtime, scope, 1 - len(released))
            events.append(Event("protected", now, {}, id))
        return events

    runtime.ledger.write(scope.owner, decide)
    return runtime.store.get(scope, [id])[0]


def unprotect(runtime: Runtime, scope: Scope, id: str) -> Memory:
    """Release a protected memory: it decays again."""

    def decide() -> list[Event]:
        [memory] = runtime.store.get(scope, [id]) or _raise_not_found(id)
        return [Event("unprotected", runtime.clock.now(), {}, id)] if memory.protected else []

    runtime.ledger.write(scope.owner, decide)
    return runtime.store.get(scope, [id])[0]


def _raise_not_found(id: str) -> list[Memory]:
    raise NotFound(id)


# --- relations ------------------------------------------------------------------------------------


def link(runtime: Runtime, scope: Scope, source: str, target: str, type: RelationType) -> Relation:
    """Link two memories by hand. Linking them again changes nothing."""
    runtime.ledger.catch_up(scope.owner, wait=True)
    one, other = (read_version(runtime, scope, id) for id in (source, target))
    if one.id == other.id:
        raise InvalidInput("target", "error.relation_to_itself")
    for memory in (one, other):
        if not is_active(memory):
            raise InvalidInput("id", "error.relation_inactive", id=memory.id)
    relation, limit = Relation(one.id, other.id, type), runtime.config.relations.max_relations_per_memory
    event = link_event(one, other, type, runtime.clock.now())

    def decide() -> list[Event]:
        standing = {id: runtime.store.relations(scope, [id]) for id in (one.id, other.id)}
        if relation in standing[one.id]:
            return []
        full = next((id for id, relations in standing.items() if len(relations) >= limit), None)
        if full is not None:
            raise InvalidInput("id", "error.relations_full", id=full, limit=limit)
        return [event]

    runtime.ledger.write(scope.owner, decide)
    return relation


def unlink(
    runtime: Runtime, scope: Scope, source: str, target: str, type: RelationType | None = None
) -> list[Relation]:
    """Remove the relations between two memories, of one type or of all, whatever their direction; returns
    them."""
    runtime.ledger.catch_up(scope.owner, wait=True)
    ends = {read_version(runtime, scope, id).id for id in (source, target)}
    removed: list[Relation] = []

    def decide() -> list[Event]:
        removed[:] = [
            relation
            for relation in runtime.store.relations(scope, sorted(ends))
            if {relation.source, relation.target} == ends and type in (None, relation.type)
        ]
        return [unlink_event(runtime, relation, "user") for relation in removed]

    runtime.ledger.write(scope.owner, decide)
    return removed
