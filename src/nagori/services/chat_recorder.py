"""Record conversation turns one by one, for chat programs: the user's turn, then the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from nagori.core.model import Scope, Trust, Turn, parse_choice, utc
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, check_kind, check_list, check_text
from nagori.errors import InvalidInput
from nagori.event_ledger import record_turns
from nagori.language.redaction import fit_to_keep
from nagori.runtime import Runtime
from nagori.services.record_turns_or_spool import turn_event, work_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.core.outcomes_lessons_and_credit import ToolResult
    from nagori.services.prompt_context import Context


class OpenTurn(Value):
    """A recorded turn whose answer is still open. As a context manager it is one step of a conversation:
    context, answer, and at the end the memories of both."""

    runtime: Runtime
    scope: Scope
    session: str
    text: str = ""
    withheld: bool = False  # all of it was private: its answer would tell what it was about

    @cached_property
    def context(self) -> Context:
        """What the memory gives for this turn: the text to inject, and the memories in it. The first turn of
        a session gets the recent sessions and the profile, too."""
        from nagori.services.assemble_full_context import context_for_turn

        self.runtime.ensure_open()
        return context_for_turn(self.runtime, self.scope, self.text, self.session)

    def finish(self) -> None:
        """Form memories of the recorded turns, and keep summaries of the threads that have ended."""
        from nagori.services.process_turns import process

        self.runtime.ensure_open()
        if self.runtime.unformed:
            from nagori.services.window.remember_evicted_messages import form_evicted

            form_evicted(self.runtime, self.scope.owner)  # many at once get their vectors later
        process(self.runtime, self.scope.owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:  # otherwise the turn is kept, and the next `process` forms it
            self.finish()

    def answer(self, text: str, *, speaker: str | None = None, at: datetime | None = None) -> None:
        """Record the answer. When this returns, it is durable. The answer to a private turn is not kept."""
        self.runtime.ensure_open()
        if not self.withheld:
            record_turn(self.runtime, self.scope, text, self.session, "assistant", speaker, at)


def record_turn(
    runtime: Runtime,
    scope: Scope,
    text: str,
    session: str,
    role: str = "user",
    speaker: str | None = None,
    at: datetime | None = None,
    ref: str | None = None,
) -> OpenTurn:
    """Record one turn of a session. `ref` is the id that its program gave it: recorded again, it is one
    turn."""
    for name, value in (("text", text), ("session", session)):
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(name, "error.not_text", value=value)
    who = parse_choice(Trust, role, "role")
    for name, given in (("speaker", speaker), ("ref", ref)):
        if given is not None:
            check_text(name, given)
    when = utc(at, "at") if at is not None else runtime.clock.now()
    rules = runtime.config.privacy
    whose = {"speaker": speaker, "ref": ref}
    event = turn_event(scope, rules, text=text, role=str(who), at=when, session=session, by="user", **whose)
    owner: Owner = scope.owner
    record_turns(runtime.journal, owner, [event] if event else [])
    if event is None and who is Trust.USER:
        runtime.observe("wish.not_kept", turns=1)
    return OpenTurn(runtime, scope, session, text, event is None)


def record_tools(runtime: Runtime, scope: Scope, results: Iterable[ToolResult], session: str) -> None:
    """Record what tools did in a turn, without secrets."""
    check_text("session", session)
    from nagori.core.outcomes_lessons_and_credit import ToolResult

    rules, told = runtime.config.privacy, []
    for each in check_list("results", results):
        check_kind("results", each, ToolResult)
        kept = [
            fit_to_keep(check_text("results", text), strip=rules.strip_private, redact=rules.redact_secrets)
            for text in (each.tool, each.target, each.error)
        ]
        told += [(kept[0], kept[1], each.ok, each.ms, kept[2])] * each.times
    if told:
        record_turns(runtime.journal, scope.owner, [work_event(scope, told, runtime.clock.now(), session)])


# --- chat messages --------------------------------------------------------------------------------

INSTRUCTIONS = ("system", "developer")  # roles that are not speakers


def read_turns(
    runtime: Runtime, turns: Iterable[Turn | Mapping[str, Any]], session: str | None = None
) -> Iterator[Turn]:
    """Turns, and chat messages as turns. The index of a message in its session is its id, so that a longer
    version of the same chat adds only what is new."""
    check_list("turns", turns)
    if session is not None:
        check_text("session", session)
    return (
        turn
        for place, each in enumerate(turns)
        if (turn := each if isinstance(each, Turn) else _read_message(runtime, each, session, place))
        is not None
    )


def _read_message(runtime: Runtime, message: Any, session: str | None, place: int) -> Turn | None:
    if not isinstance(message, Mapping):
        raise InvalidInput("turns", "error.type_not_turn", type=type(message).__name__)
    role, text = _role(message.get("role")), words_of(message.get("content"))
    if role is None or not text:
        return None
    at, speaker = message.get("at"), message.get("name")
    if speaker is not None:
        check_text("name", speaker)
    return Turn(
        text,
        runtime.clock.now() if at is None else utc(at, "at"),
        session=session,
        index=place if session else None,
        speaker=speaker,
        role=role,
        ref=f"message-{place}" if session else None,
    )


def _role(role: object) -> Trust | None:
    """The speaker of a message; None for instructions."""
    if role in INSTRUCTIONS:
        return None
    if isinstance(role, str) and role in tuple(Trust):
        return Trust(role)
    choices = ", ".join((*Trust, *INSTRUCTIONS))
    raise InvalidInput("role", "error.not_choice", value=role, choices=choices)


def words_of(content: object) -> str:
    """The text of a message, without pictures, calls and the like."""
    if content is None or isinstance(content, str):
        return content or ""
    check_list("content", content)
    assert isinstance(content, Iterable)
    return "\n".join(text for part in content if (text := _part_words(part)))


def _part_words(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InvalidInput("content", "error.type_not_part", type=type(part).__name__)
    text = part.get("text", "")
    check_text("content.text", text)
    return str(text)
