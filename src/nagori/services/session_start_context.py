"""Session start context: what an agent is given when a session begins.

Protected memories, a line about the user, a recap of the previous session if it is recent, and wishes that
need a decision. It is short, because it is given whatever will be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta, tzinfo

from nagori.core.events import WAITING_WISHES, Event
from nagori.core.model import Filter, Level, Memory, Scope, Text, Trust
from nagori.core.storage_types import Owner
from nagori.core.value_object import replace
from nagori.language.passages import about_tokens
from nagori.language.requests_to_keep import without_plea
from nagori.runtime import Runtime
from nagori.services.memory_block import BRIEF_NOTE, SEPARATOR, describe_memory, escape
from nagori.services.prompt_context import Context, read_session

PROTECTED = 400  # characters of a protected memory: what was to be kept must be in it
LEAST_KNOWN, PROFILE_OF = 20, 300  # memories from which on a profile is told, and the newest it is made of
LEAST_TOLD, MOST_SPEAKERS = 3, 5  # memories of a topic that is told, and speakers


def context_for_start(
    runtime: Runtime,
    scope: Scope,
    session: str = "",
    *,
    resumed: bool = False,
    compacted: bool = False,
    mark: bool = True,
) -> Context:
    """The context for a new session: protected memories, wishes that need a decision, and a recap of the
    previous session if it is recent."""
    runtime.ledger.catch_up(scope.owner)
    if compacted:
        event = Event("session_compacted", runtime.clock.now(), {"session": session}, by="host")
        runtime.ledger.write(scope.owner, lambda: [event])
    hooks, limits = runtime.config.hooks, runtime.config.retrieval
    shown = read_session(runtime, scope, session).shown
    protected = runtime.store.find(scope, Filter(protected=True), limit=hooks.session_start_memories)
    fresh = [memory for memory in _valid(runtime, scope, protected) if memory.id not in shown]
    text, told = _describe_protected(
        fresh, runtime.clock.zone, hooks.session_start_tokens // 2, limits.char_budget // 2
    )
    if told and mark:
        _note_shown(runtime, scope, session, told)
    recap = "" if resumed else _last_session(runtime, scope, session)
    story = f"<last-session>\n{escape(recap)}\n</last-session>" if recap else ""
    notice = _describe_waiting(runtime, scope.owner, mark)
    person = "" if resumed else describe_user(runtime, scope, hooks.profile_topics)
    return Context("\n".join(part for part in (text, person, story, notice) if part), told)


def _describe_protected(
    memories: Sequence[Memory], zone: tzinfo, tokens: int, chars: int
) -> tuple[str, list[Memory]]:
    """The block of protected memories, on one line because each session starts with it, and the memories that
    fit into it."""
    head, tail = f'<memories note="{BRIEF_NOTE}">', "</memories>"
    parts, told = list[str](), list[Memory]()
    for memory in memories:
        day = memory.created.astimezone(zone).date().isoformat()
        speaker = memory.source.speaker or memory.trust.value
        whose = "" if speaker == Trust.USER.value else f"{escape(speaker)}: "
        part = f"[{day}] {whose}{describe_memory(_without_plea(memory), PROTECTED)}"
        text = f"{head}\n- protected: {SEPARATOR.join([*parts, part])}\n{tail}"
        if about_tokens(text) <= tokens and len(text) <= chars:
            parts.append(part)
            told.append(memory)
    return (f"{head}\n- protected: {SEPARATOR.join(parts)}\n{tail}" if parts else ""), told


def _without_plea(memory: Memory) -> Memory:
    """The memory without the words that only ask to keep it: that it is kept is told anyway."""
    told = memory.fullest
    if told.trigger:
        told = Text(without_plea(told.trigger), told.content)
    else:
        told = Text("", without_plea(told.content))
    return replace(memory, texts={Level.FULL: told})


def describe_user(runtime: Runtime, scope: Scope, most: int) -> str:
    """At most so many favourite topics of the user and the speakers they know, in one line; "" if little is
    known."""
    if not most or runtime.store.count(scope).total < LEAST_KNOWN:
        return ""
    from nagori.services.profile_of_topics_and_speakers import profile

    known = profile(runtime, scope, vector=False, most=PROFILE_OF)
    topics = [topic.name for topic in known.topics[:most] if topic.memories >= LEAST_TOLD]
    if not topics:
        return ""
    speakers = [speaker.name for speaker in known.speakers[:MOST_SPEAKERS]]
    said = [f"often about: {', '.join(topics)}", *([f"with: {', '.join(speakers)}"] if speakers else [])]
    return f"<user-profile>{escape('; '.join(said))}</user-profile>"


def _describe_waiting(runtime: Runtime, owner: Owner, mark: bool) -> str:
    """A notice of the wishes that need a decision; it is given once."""
    if not runtime.store.state(owner, WAITING_WISHES):
        return ""
    from nagori.services.off_record_keep_and_forget_requests import clear_waiting, waiting_wishes

    lines = []
    for wish in waiting_wishes(runtime, owner):
        if protect := wish.get("protect"):
            limit = runtime.config.protection.max_protected_memories
            lines.append(
                f"The user asked to protect {', '.join(protect)}, but all {limit} places are taken. Ask which"
                " one may go: `nagori unprotect ID`, then `nagori protect ID`."
            )
        if forget := wish.get("forget"):
            lines.append(
                f"The user asked to forget something that {', '.join(forget)} may tell, too. Ask whether it"
                " should go: `nagori forget ID`."
            )
    if mark:
        clear_waiting(runtime, owner)
    return "\n".join(["<memory-wishes>", *lines, "</memory-wishes>"])


def _note_shown(runtime: Runtime, scope: Scope, session: str, memories: Sequence[Memory]) -> None:
    """Record the memories that were shown. This is not a recall and does not reinforce."""
    if session:
        ids = [memory.id for memory in memories]
        event = Event("session_briefed", runtime.clock.now(), {"session": session, "shown": ids}, by="host")
        runtime.ledger.write(scope.owner, lambda: [event])


def _valid(runtime: Runtime, scope: Scope, memories: Iterable[Memory]) -> list[Memory]:
    """The memories that are valid now: a superseded one is replaced by its successor."""
    heirs = [memory.superseded_by or memory.id for memory in memories]
    return runtime.store.get(scope, list(dict.fromkeys(heirs)))


def _last_session(runtime: Runtime, scope: Scope, session: str) -> str:
    """A recap of the previous session in the same project, if it ended within `hooks.recap_hours`."""
    from nagori.services.summarize_session import summarise

    hooks, now = runtime.config.hooks, runtime.clock.now()
    lately = Filter(since=now - timedelta(hours=hooks.recap_hours))
    for memory in runtime.store.find(scope, lately, limit=200):
        name = memory.source.session
        if name and name != session and memory.project == scope.project:
            told = summarise(runtime, scope, name, hooks.session_start_tokens // 8, False)
            return SEPARATOR.join(told.splitlines())
    return ""
