"""Handle a host's event: record first, then answer.

session start   a short brief: protected memories, and what the last session was about
prompt          matching memories, each once per session
before tool     lessons about this tool and its target (off unless `hooks.before_tool`)
the others      no answer: the worker is started if there is work

Only decoding happens here; the services decide what is recorded and what is shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from nagori.core.model import LONGEST_NAME, Scope
from nagori.edges.hooks.call_types import QUICK, SILENCE, Answer, At, Moment
from nagori.language.redaction import WITHHELD, without_memories
from nagori.runtime import SystemClock
from nagori.services.record_turns_or_spool import HOOK_PATIENCE, record_or_spool, turn_event, work_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.app import Nagori
    from nagori.config import Config
    from nagori.core.events import Event
    from nagori.edges.hooks.parallel_embedding import QueryPrefetch
    from nagori.protocols import Embedder
    from nagori.services.tool_outcome_log import Result

ROLES = {
    At.PROMPT: "user",
    At.TURN_END: "assistant",
    At.SUBAGENT_END: "assistant",
    At.COMPACTED: "summary",
    At.TOOL_FAILED: "tool",
}
LONGEST = 200_000  # maximum characters of one turn
INSERTED = ("system-reminder", "last-session", "user-profile")  # by the host and by us, beside `<memories>`
TURN_ENDS = frozenset({At.TURN_END, At.SUBAGENT_END, At.SESSION_END})
WORK = frozenset({At.TURN_END, At.SUBAGENT_END, At.COMPACTED, At.BEFORE_COMPACTION, At.SESSION_END})


def act(moment: Moment, config: Config, folder: Path, vector: QueryPrefetch | None = None) -> Answer:
    """Handle one call; `vector` is that of its prompt, if it was begun already."""
    scope = scope_of(moment, config)
    event = turn_of(moment, scope, config)
    if config.hooks.server:
        from nagori.edges.hooks.remote import act_on_server

        return act_on_server(moment, config.hooks, folder, scope, event)
    events = [event] if event is not None else []
    if moment.at in TURN_ENDS:
        from nagori.services.tool_outcome_log import note_end, take_results

        events += work_of(moment, scope, take_results(folder, moment.session, moment.agent))
    record_or_spool(folder, scope.owner, events)
    if moment.at is At.SESSION_END:
        note_end(folder, scope.owner, moment.session)
    if moment.at in WORK and config.hooks.worker:
        from nagori.edges.worker.spawn import start

        start(folder)
    if moment.at is At.PROMPT:
        return remind(moment, config, folder, scope, vector)
    say = SAYINGS.get(moment.at)
    return say(moment, config, folder, scope) if say else SILENCE


def scope_of(moment: Moment, config: Config) -> Scope:
    """The scope of a call; the variables of the command line override it. A subagent is an agent of its own,
    whose role is its type."""
    said, hooks = os.environ.get, config.hooks
    agent = moment.agent or said("NAGORI_AGENT") or hooks.agent or None
    role = (moment.speaker if moment.agent else None) or said("NAGORI_ROLE") or hooks.role or None
    return Scope(
        user=said("NAGORI_USER") or hooks.user,
        tenant=said("NAGORI_TENANT") or Scope().tenant,
        project=said("NAGORI_PROJECT") or project_of(moment.folder),
        agent=agent,
        role=role,
        task=said("NAGORI_TASK") or None,
        unnamed_agent=not (agent or role),
    )


def project_of(folder: str | None) -> str | None:
    """The project of a folder: the root of its git repository, or the folder itself, even if it no longer
    exists."""
    if not folder:
        return None
    plain = "".join(char for char in folder if char.isprintable())
    return str(_root(Path(plain)))[-LONGEST_NAME:].strip() or None


def _root(folder: Path) -> Path:
    """The nearest parent folder with a `.git`: a directory, or a file in a worktree."""
    try:
        if folder.is_absolute() and folder.is_dir():
            return next((f for f in (folder, *folder.parents) if os.path.lexists(f / ".git")), folder)
    except (OSError, ValueError):  # an invalid name, or no permission
        pass
    return folder


# --- recording ------------------------------------------------------------------------------------


def turn_of(moment: Moment, scope: Scope, config: Config) -> Event | None:
    """The turn of a call in which something was said; None if nothing is left of it."""
    role = ROLES.get(moment.at)
    text = _words(moment) if role else ""
    if not role or not text:
        return None
    said = partial(
        turn_event,
        scope,
        config.privacy,
        role=role,
        at=SystemClock().now(),
        session=moment.session,
        by="host",
        host=moment.host,
        ref=moment.ref,
        speaker=moment.speaker if moment.at is At.SUBAGENT_END else None,
        transcript=moment.transcript,
    )
    event = said(text=text)
    if event is None and role == "user" and "private" in text.casefold():
        return said(text=WITHHELD)  # the answer that comes is as private as the prompt
    return event


def work_of(moment: Moment, scope: Scope, results: Sequence[Result]) -> list[Event]:
    """The event of what tools did in a turn, if any did something."""
    if not results:
        return []
    at, told = SystemClock().now(), {"host": moment.host, "ref": moment.ref}
    return [work_event(scope, results, at, moment.session, **told)]


def _words(moment: Moment) -> str:
    text = moment.text
    if moment.at is At.TOOL_FAILED:
        text = _failure(moment)
    elif moment.at is At.COMPACTED and "<summary>" in text:
        text = text.partition("<summary>")[2].partition("</summary>")[0]
    elif moment.at is At.SUBAGENT_END and not moment.speaker:
        return ""  # a helper of the compaction: its recap is recorded separately
    if moment.at is At.PROMPT and text.lstrip().startswith("/"):
        from nagori.language.host_commands import is_built_in

        if is_built_in(text):
            return ""
    for tag in INSERTED:
        text = _without(text, tag)
    return without_memories(text)[:LONGEST]


def _without(text: str, tag: str) -> str:
    """Without the blocks of this tag; an unclosed one counts as text."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    out, at = [], 0
    while (begin := text.find(opening, at)) >= 0 and (end := text.find(closing, begin)) >= 0:
        out.append(text[at:begin])
        at = end + len(closing)
    return "".join((*out, text[at:]))


def _failure(moment: Moment) -> str:
    error = " ".join(moment.error.split())[:1000]
    return f"{moment.tool or 'tool'} {moment.target}: {error}" if error else ""


# --- answering ------------------------------------------------------------------------------------


@contextmanager
def _open_memory(config: Config, folder: Path, scope: Scope) -> Iterator[Nagori]:
    from nagori.app import Nagori  # imported late: the end of a turn does not need it

    memory = Nagori.open(folder, config=config, scope=scope, llm=None)
    memory.runtime.journal.patience = HOOK_PATIENCE  # type: ignore[attr-defined]
    # No network and no slow imports while a host is waiting.
    if config.embedding.provider != QUICK:
        memory.runtime.open_embedder = lambda: None
    if config.embedding.provider != "none":
        memory.runtime.open_model = _at_hand
    with memory:
        yield memory


def _at_hand(name: str) -> Embedder | None:
    from nagori.adapters.embed import at_hand

    return at_hand(name)


def brief(moment: Moment, config: Config, folder: Path, scope: Scope) -> Answer:
    """Session start: the brief, and work that a killed session left behind."""
    from nagori.edges.worker.spawn import start
    from nagori.services.session_start_context import context_for_start

    resumed, compacted = moment.source == "resume", moment.source == "compact"
    with _open_memory(config, folder, scope) as memory:
        context = context_for_start(
            memory.runtime, scope, moment.session, resumed=resumed, compacted=compacted
        )
        memory.runtime.journal.request_work(scope.owner)  # a hook may have been killed before its request
    if config.hooks.worker:
        start(folder)
    return Answer(context.text)


def remind(
    moment: Moment, config: Config, folder: Path, scope: Scope, vector: QueryPrefetch | None
) -> Answer:
    """Memories for a prompt that asks something."""
    from nagori.language.passages import prompt_text

    if not prompt_text(moment.text):
        return SILENCE
    from nagori.services.prompt_context import context_for_prompt

    with _open_memory(config, folder, scope) as memory:
        if vector is not None:
            memory.runtime.open_embedder = vector.embedder
        return Answer(context_for_prompt(memory.runtime, scope, moment.text, moment.session).text)


def warn(moment: Moment, config: Config, folder: Path, scope: Scope) -> Answer:
    """Lessons about a tool that is about to be used."""
    if not config.hooks.before_tool or not moment.target:
        return SILENCE
    from nagori.services.prompt_context import context_for_tool

    with _open_memory(config, folder, scope) as memory:
        found = context_for_tool(memory.runtime, scope, moment.tool or "", moment.target, moment.session)
    return Answer(found.text)


SAYINGS: dict[At, Callable[[Moment, Config, Path, Scope], Answer]] = {
    At.SESSION_START: brief,
    At.BEFORE_TOOL: warn,
}
