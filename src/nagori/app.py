"""The hall: the only place where parts are joined. One method per verb, no rules.

A verb enters its workroom when it is first called, because a hook pays for every import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType

from nagori.adapters.clock import SystemClock
from nagori.config import Config, load
from nagori.core.model import ALIVE, Filter, Memory, Recollection, Scope, Turn
from nagori.core.values import no_observer, replace
from nagori.errors import InvalidInput, StoreError
from nagori.journals.file import FileJournal
from nagori.ledger import Ledger
from nagori.paths import data_dir as default_dir
from nagori.paths import private_dir
from nagori.runtime import Parts, Progress, no_progress
from nagori.stores.sqlite import SqliteStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, TypeVar

    Made = TypeVar("Made")

    from nagori.core.cycle import Plan
    from nagori.core.forecast import Population
    from nagori.core.pricing import Usage
    from nagori.core.storage import Measures
    from nagori.protocols import LLM, Clock, Embedder, Journal, Observer, Store
    from nagori.services.backup import Saved
    from nagori.services.cycle import Night
    from nagori.services.doctor import Finding
    from nagori.services.inspect import Explanation, Status
    from nagori.services.llm.appraise import Estimate, Judged
    from nagori.services.maintenance import Proof
    from nagori.services.preview import Preview
    from nagori.services.prompt_context import Context
    from nagori.services.record import OpenTurn
    from nagori.services.remember import Draft
    from nagori.services.transfer import Imported
    from nagori.services.vectors import Change, Changed
    from nagori.services.window.conversation import Conversation
    from nagori.services.window.prune import Pruned, Pruning

AUTO: Any = object()  # "whatever the configuration says"


class Nagori:
    """Long-term memory. Open one, use its verbs, close it (or use `with`).

    >>> with Nagori.open("/tmp/example") as memory:      # doctest: +SKIP
    ...     memory.remember("The staging server moved to port 8443.")
    ...     memory.recall("Where is staging?")
    """

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self.parts = parts
        self.scope = scope

    @classmethod
    def open(
        cls,
        data_dir: str | Path | None = None,
        *,
        scope: Scope | None = None,
        config: Config | None = None,
        clock: Clock | None = None,
        embedder: Embedder | None = AUTO,
        llm: LLM | None = AUTO,
        store: Store | None = None,
        journal: Journal | None = None,
        tell: Observer = no_observer,
    ) -> Self:
        """Open the memory in `data_dir` (default: the configured folder), making it if it is new."""
        config = config or load().config
        folder = cls.folder(data_dir, config)
        try:
            private_dir(folder)
        except OSError as fault:  # a folder that is there already can be read on a disk that takes no more
            raise StoreError("{path}: {reason}", path=folder, reason=fault.strerror) from fault
        journal = journal or FileJournal(folder / "journal")
        store = store or SqliteStore(folder / "nagori.db")
        auto = embedder is AUTO
        parts = Parts(
            config=config,
            clock=clock or SystemClock(),
            journal=journal,
            store=store,
            ledger=Ledger(journal, store, tell),
            open_embedder=lambda: _configured_embedder(config, tell, folder) if auto else embedder,
            data_dir=folder,
            tell=tell,
            open_llm=lambda: _configured_llm(config) if llm is AUTO else llm,
            open_model=lambda name: _named_embedder(config, name, tell, folder) if auto else None,
        )
        return cls(parts, scope or Scope())

    @staticmethod
    def folder(data_dir: str | Path | None, config: Config) -> Path:
        """Where the memories are: the given folder, or the configured one."""
        return default_dir(os.environ, str(data_dir or config.general.data_dir)).absolute()

    def within(self, scope: Scope | None = None, **changes: Any) -> Self:
        """The same memory for somebody else: another scope, or this one with `changes`."""
        return type(self)(self.parts, scope or replace(self.scope, **changes))

    def close(self) -> None:
        self.parts.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- keeping --------------------------------------------------------------------------------

    def remember(self, content: str, **more: Any) -> Memory:
        """Keep one thing; `more` are the other fields of `Draft`. When this returns, it is kept."""
        from nagori.services import remember

        return remember.remember(self.parts, self.scope, _draft(content, more))

    def remember_many(self, drafts: Iterable[str | Draft], progress: Progress = no_progress) -> list[Memory]:
        """Keep many things at once."""
        from nagori.services import remember

        made = [_draft(draft, {}) if isinstance(draft, str) else draft for draft in drafts]
        return remember.remember_many(self.parts, self.scope, made, progress)

    def form(self, turns: Iterable[Turn], progress: Progress = no_progress) -> list[Memory]:
        """Memories of a conversation: one for each turn. Telling the same turns again adds nothing."""
        from nagori.services import ingest

        return ingest.form_turns(self.parts, self.scope, turns, progress)

    def turn(
        self,
        text: str,
        *,
        session: str,
        role: str = "user",
        speaker: str | None = None,
        at: datetime | None = None,
    ) -> OpenTurn:
        """Record something that was said. When this returns it is kept; `process` forms memories of it, and
        `answer` of the result records what was answered."""
        from nagori.services.record import record_turn

        return record_turn(self.parts, self.scope, text, session, role, speaker, at)

    def process(self) -> int:
        """Form memories of the turns that were recorded and wait for it; how many turns."""
        from nagori.services import ingest

        return ingest.process(self.parts, self.scope.space)

    def context(self, prompt: str, *, session: str = "", project: str | None = None) -> Context:
        """What an agent should be given along with a prompt: the text that hooks inject, and the memories in
        it. What was shown in the session is not shown again."""
        from nagori.services.prompt_context import context_for_prompt

        scope = replace(self.scope, project=project) if project else self.scope
        return context_for_prompt(self.parts, scope, prompt, session)

    # --- finding --------------------------------------------------------------------------------

    def recall(self, query: str, k: int | None = None, **more: Any) -> list[Recollection]:
        """The memories that answer `query`, best first; `more` are the other fields of `Question`."""
        from nagori.services import recall

        return recall.recall(self.parts, self.scope, _made(recall.Question, text=query, k=k, **more))

    def summary(self, session: str, tokens: int = 200, *, model: bool = False) -> str:
        """What a session was about, in a few of its own sentences; with `model`, in the model's."""
        from nagori.services import session_summary

        return session_summary.summarise(self.parts, self.scope, session, tokens, model)

    def show(self, id: str) -> Memory:
        """One memory, by id or by the beginning of it."""
        from nagori.services import edit

        self.parts.ledger.catch_up(self.scope.space)
        return edit.see(self.parts, self.scope, id)

    def list(
        self, filter: Filter = ALIVE, *, limit: int = 100, older_than: Memory | None = None
    ) -> list[Memory]:
        """Memories, newest first."""
        self.parts.ledger.catch_up(self.scope.space)
        return self.parts.store.find(self.scope, filter, limit=limit, older_than=older_than)

    def as_of(self, moment: datetime, filter: Filter = ALIVE) -> Sequence[Memory]:
        """The memories as they were at a past moment, newest first, read from the journal."""
        from nagori.services import inspect

        return inspect.as_of(self.parts, self.scope, moment, filter)

    def why(self, id: str, query: str | None = None) -> Explanation:
        """Why a memory is as strong as it is, what happened to it, and what will."""
        from nagori.services import inspect

        return inspect.why(self.parts, self.scope, id, query)

    def populations(self, past: int | None = None, ahead: int = 0) -> Sequence[Population]:
        """How many memories stood at each level, day by day; and will, if nothing is recalled."""
        from nagori.services import inspect

        return inspect.populations(self.parts, self.scope, past, ahead)

    def status(self) -> Status:
        """Counts, sizes, the last event."""
        from nagori.services import inspect

        return inspect.status(self.parts, self.scope)

    def measure(self) -> Measures:
        """How the memories divide over kinds and tiers, and how far they are compressed."""
        from nagori.services import inspect

        return inspect.measure(self.parts, self.scope)

    def usage(self) -> Usage | None:
        """How much is remembered a day, and how long it is, over the last month; None if nothing is."""
        from nagori.services import costs

        return costs.usage(self.parts, self.scope)

    # --- the context window ---------------------------------------------------------------------

    def prune(self, messages: Sequence[Any], *, before: Pruned | None = None, **more: Any) -> Pruned:
        """A conversation as it is sent to a model when not all of it fits: within its budget, never a call
        without its result. What is left out is remembered. What cannot be cut (arguments of a call, signed
        thoughts, pins) may be larger than the budget: it is given all the same, and `report["fits"]` is
        False; look at it before you send. `more` are fields of `Pruning` (`session`, `format`, `pins`,
        `beside`, `remember`, `count`, `provider`), `model`, and settings of `window` (`budget`, `preset`,
        `strategy`, …); `before` is what the last call gave."""
        from nagori.services.window import prune

        return prune.prune(self.parts, self.scope, messages, _pruning(self.parts, more), before)

    def conversation(self, messages: Sequence[Any] = (), **more: Any) -> Conversation:
        """A conversation that prunes itself as messages are added; `more` as for `prune`."""
        from nagori.services.window import prune
        from nagori.services.window.conversation import Conversation

        asked = _pruning(self.parts, more)
        return Conversation(
            lambda history, last: prune.prune(self.parts, self.scope, history, asked, last),
            lambda last: prune.keep_rest(self.parts, self.scope, last),
            self.recall,
            prune.listed(messages),
        )

    # --- changing -------------------------------------------------------------------------------

    def edit(self, id: str, *, version: int | None = None, **changes: Any) -> Memory:
        """Correct a memory: `content`, `trigger`, `kind`, `category`, `emotion`, `privacy`. With the
        `version` of the memory that was seen, Conflict if somebody has changed it since."""
        from nagori.services import edit, remember

        self.parts.ledger.catch_up(self.scope.space)
        return edit.edit(self.parts, self.scope, id, _made(remember.Edit, **changes), version)

    def feedback(self, id: str, good: bool) -> Memory:
        """Say that a memory was useful, or was not: it grows stronger or weaker, once a day at most."""
        from nagori.services import edit

        self.parts.ledger.catch_up(self.scope.space)
        return edit.feedback(self.parts, self.scope, id, good)

    def protect(self, id: str, release: Sequence[str] = ()) -> Memory:
        """Never let it fade; `release` lets others go to make room."""
        from nagori.services import edit

        return edit.protect(self.parts, self.scope, self.show(id).id, release)

    def unprotect(self, id: str) -> Memory:
        """Let it fade like any other."""
        from nagori.services import edit

        return edit.unprotect(self.parts, self.scope, self.show(id).id)

    def archive(self, id: str) -> Memory:
        """Put a memory away; it can still be found and brought back."""
        from nagori.services import cycle

        return cycle.archive(self.parts, self.scope, id)

    def unarchive(self, id: str) -> Memory:
        """Bring a memory back whole, while its full words are kept."""
        from nagori.services import cycle

        return cycle.unarchive(self.parts, self.scope, id)

    def plan(self) -> Plan:
        """What a cycle would do now, and why; nothing is done."""
        from nagori.services import cycle

        return cycle.plan(self.parts, self.scope.space)

    def preview(self, plan: Plan | None = None) -> Preview:
        """What a plan comes to before it is done: examples, bytes saved, tokens a model would take."""
        from nagori.services import preview

        return preview.preview(self.parts, self.scope, plan or self.plan())

    def cycle(self, plan: Plan | None = None, progress: Progress = no_progress) -> Night:
        """Strengthen what was recalled, let the rest fade, archive, revive: one night. Run twice, the
        second time changes nothing."""
        from nagori.services import cycle

        return cycle.run(self.parts, self.scope.space, plan, progress)

    def judge(
        self,
        since: datetime | None = None,
        progress: Progress = no_progress,
        stop: Callable[[], bool] = lambda: False,
    ) -> Judged:
        """Let the configured model judge what only rules have judged so far, since `since` or for the days of
        `llm.judge_days`. Without a model nothing happens."""
        from nagori.services.llm import appraise

        self.parts.ledger.catch_up(self.scope.space)
        return appraise.judge(self.parts, self.scope.space, since, progress, stop)

    def judge_estimate(self, since: datetime | None = None) -> Estimate:
        """What `judge` would ask and cost at most."""
        from nagori.services.llm import appraise

        self.parts.ledger.catch_up(self.scope.space)
        return appraise.estimate(self.parts, self.scope.space, since)

    def forget(self, id: str) -> Memory:
        """Hide it from every recall; `undo` brings it back."""
        from nagori.services import edit

        self.parts.ledger.catch_up(self.scope.space)
        return edit.forget(self.parts, self.scope, id)

    def undo(self, id: str) -> tuple[Memory, str]:
        """Take back the last change of a memory; the memory, and what was undone."""
        from nagori.services import edit

        self.parts.ledger.catch_up(self.scope.space)
        return edit.undo(self.parts, self.scope, id)

    # --- leaving and coming ---------------------------------------------------------------------

    def export(self, format: str = "jsonl") -> Iterator[str]:
        """Every memory as lines of `jsonl` (complete) or `markdown` (readable)."""
        from nagori.services import transfer

        writers = {"jsonl": transfer.to_jsonl, "markdown": transfer.to_markdown}
        if format not in writers:
            raise _no_such_format(format)
        return writers[format](self.parts, self.scope)

    def import_(
        self, lines: Iterable[str], format: str = "jsonl", progress: Progress = no_progress
    ) -> Imported:
        """Take in what `export` wrote, or notes in Markdown."""
        from nagori.services import transfer

        if format == "markdown":
            return transfer.from_markdown(self.parts, self.scope, lines)
        if format != "jsonl":
            raise _no_such_format(format)
        return transfer.from_jsonl(self.parts, self.scope, lines, progress)

    def import_drafts(self, drafts: Iterable[Draft], progress: Progress = no_progress) -> Imported:
        """Take in what another program remembered; importing it again adds nothing."""
        from nagori.services import transfer

        return transfer.from_drafts(self.parts, self.scope, drafts, progress)

    # --- upkeep ---------------------------------------------------------------------------------

    def verify(self, progress: Progress = no_progress) -> Proof:
        """Prove that journal and store are sound and tell the same story."""
        from nagori.services import maintenance

        return maintenance.verify(self.parts, progress)

    def rebuild(self, progress: Progress = no_progress, *, accept_damage: bool = False) -> int:
        """Throw the store away and tell the journal again."""
        from nagori.services import maintenance

        return maintenance.rebuild(self.parts, progress, accept_damage=accept_damage)

    def embed_missing(self, progress: Progress = no_progress) -> int:
        """Give vectors to memories that have none yet."""
        from nagori.services import vectors

        self.parts.ledger.catch_up(self.scope.space)
        return vectors.embed_missing(self.parts, self.scope.space, progress)

    def plan_reembed(self) -> Change:
        """What a change to the configured embedding model would take; nothing is done."""
        from nagori.services import vectors

        return vectors.plan(self.parts)

    def reembed(self, progress: Progress = no_progress) -> Changed:
        """Change every memory over to the configured embedding model; recall goes on meanwhile."""
        from nagori.services import vectors

        return vectors.reembed(self.parts, progress)

    def backup(self, path: str | Path, progress: Progress = no_progress) -> Saved:
        """Everything in one checked file, while others go on writing."""
        from nagori.services import backup

        return backup.backup(self.parts, Path(path), progress)

    @staticmethod
    def restore(path: str | Path, data_dir: str | Path, stamp: datetime) -> Path | None:
        """Put a backup in place; what was there is moved aside, and the answer says where."""
        from nagori.services import backup

        return backup.restore(Path(path), Path(data_dir), stamp.strftime("%Y%m%dT%H%M%S"))

    def doctor(self) -> Sequence[Finding]:
        """Look at everything a user might have to know about."""
        from nagori.services.doctor import doctor

        return doctor(self.parts)


def _configured_embedder(config: Config, tell: Observer, folder: Path) -> Embedder | None:
    if config.embedding.provider == "none":
        return None
    from nagori.adapters.embed import open_embedder

    return open_embedder(config.embedding, tell, folder)


def _named_embedder(config: Config, name: str, tell: Observer, folder: Path) -> Embedder | None:
    from nagori.adapters.embed import open_named

    return open_named(name, config.embedding, tell, folder) if config.embedding.provider != "none" else None


def _configured_llm(config: Config) -> LLM | None:
    if config.llm.provider == "none":
        return None
    from nagori.adapters.llm import open_llm

    return open_llm(config.llm)


def _pruning(parts: Parts, more: dict[str, Any]) -> Pruning:
    """What a caller said about a window, on top of what is configured."""
    from nagori.adapters.tokens import open_counter
    from nagori.core.values import fields_of
    from nagori.core.window import Window, settled
    from nagori.services.window.prune import Pruning, places

    rules = settled(parts.config.window, {k: more[k] for k in more if k in fields_of(Window)})
    asked = {key: value for key, value in more.items() if key not in fields_of(Window)}
    asked.setdefault("count", open_counter(rules.model, parts.tell))
    asked["pins"] = places(asked.get("pins", ()))
    return _made(Pruning, rules=rules, **asked)


def _no_such_format(format: str) -> InvalidInput:
    return InvalidInput("format", "{value!r} is none of {choices}", value=format, choices="jsonl, markdown")


def _draft(content: str, more: dict[str, Any]) -> Draft:
    from nagori.services.remember import Draft

    return _made(Draft, content=content, **more)


def _made(make: type[Made], **values: Any) -> Made:
    try:
        return make(**values)
    except TypeError as fault:
        raise InvalidInput(make.__name__.lower(), str(fault)) from None
