"""The hall: the only place where parts are joined. One method per verb, no rules.

A verb enters its workroom when it is first called, because a hook pays for every import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType

from nagori.adapters.clock import SystemClock
from nagori.config import Config, load
from nagori.core.arguments import check_bool, check_kind, check_list, check_text, check_whole, read_texts
from nagori.core.model import (
    ALIVE,
    Category,
    Filter,
    Kind,
    Memory,
    Privacy,
    Recollection,
    Scope,
    Source,
    Trust,
    Turn,
    parse_choice,
    utc,
)
from nagori.core.values import no_observer, replace
from nagori.errors import InvalidInput, StoreError
from nagori.journals.file import FileJournal
from nagori.ledger import Ledger
from nagori.paths import data_dir as default_dir
from nagori.paths import private_dir
from nagori.runtime import Progress, Runtime, no_progress
from nagori.stores.sqlite import SqliteStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Self

    from nagori.core.arguments import Metadata
    from nagori.core.cycle import CyclePlan
    from nagori.core.forecast import Population
    from nagori.core.model import CategoryName, Emotion, KindName, PrivacyName, TrustName
    from nagori.core.pricing import Usage
    from nagori.core.storage import Measures
    from nagori.core.window import Window
    from nagori.protocols import LLM, Clock, Embedder, Journal, Observer, Store
    from nagori.services.backup import BackupReport
    from nagori.services.cycle import CycleReport
    from nagori.services.doctor import Finding
    from nagori.services.inspect import Explanation, Status
    from nagori.services.llm.appraise import AppraisalReport, Estimate
    from nagori.services.maintenance import Proof
    from nagori.services.preview import Preview
    from nagori.services.prompt_context import Context
    from nagori.services.remember import Draft
    from nagori.services.transfer import ImportReport
    from nagori.services.turns import OpenTurn
    from nagori.services.vectors import ReembedPlan, ReembedReport
    from nagori.services.window.conversation import Conversation
    from nagori.services.window.prune import Pruned

    # A text is a sequence of texts to Python; these say what is meant, and a type checker refuses a text.
    Texts = list[str] | tuple[str, ...]
    Ranking = Literal["fused", "priority", "score"]
    Preset = Literal["balanced", "conservative", "aggressive"]
    Strategy = Literal["scored", "sliding", "session", "topic"]
    MessageFormat = Literal["openai", "anthropic", "responses", "langchain", "pydantic_ai"]
    ExportFormat = Literal["jsonl", "markdown"]
    Count = Callable[[str], int]  # the tokens of a text
    Provider = Callable[[list[Any]], int]  # the tokens of messages

AUTO: Any = object()  # "whatever the configuration says"
SAME: Any = object()  # "as it is now", where None says something else


def never_stop() -> bool:
    """Nobody wants to end it early."""
    return False


class Nagori:
    """Long-term memory. Open one, use its verbs, close it (or use `with`).

    >>> with Nagori.open("/tmp/example") as memory:      # doctest: +SKIP
    ...     memory.remember("The staging server moved to port 8443.")
    ...     memory.recall("Where is staging?")
    """

    def __init__(self, runtime: Runtime, scope: Scope) -> None:
        self._runtime = runtime
        self.scope = scope

    @property
    def runtime(self) -> Runtime:
        """What the verbs work with; MemoryClosed after `close`."""
        self._runtime.ensure_open()
        return self._runtime

    @property
    def config(self) -> Config:
        """The settings it was opened with."""
        return self.runtime.config

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
        observe: Observer = no_observer,
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
        runtime = Runtime(
            config=config,
            clock=clock or SystemClock(),
            journal=journal,
            store=store,
            ledger=Ledger(journal, store, observe),
            open_embedder=lambda: _configured_embedder(config, observe, folder) if auto else embedder,
            data_dir=folder,
            observe=observe,
            open_llm=lambda: _configured_llm(config) if llm is AUTO else llm,
            open_model=lambda name: _named_embedder(config, name, observe, folder) if auto else None,
        )
        return cls(runtime, scope or Scope())

    @staticmethod
    def folder(data_dir: str | Path | None, config: Config) -> Path:
        """Where the memories are: the given folder, or the configured one."""
        return default_dir(os.environ, str(data_dir or config.general.data_dir)).absolute()

    def with_scope(
        self,
        scope: Scope | None = None,
        *,
        user: str = SAME,
        tenant: str = SAME,
        project: str | None = SAME,
        agent: str | None = SAME,
        role: str | None = SAME,
    ) -> Self:
        """The same memory for somebody else: another scope, or this one with something changed."""
        given = {"user": user, "tenant": tenant, "project": project, "agent": agent, "role": role}
        changes = {name: value for name, value in given.items() if value is not SAME}
        check_kind("scope", scope if scope is not None else self.scope, Scope)
        return type(self)(self.runtime, replace(scope or self.scope, **changes))

    def close(self) -> None:
        """End it, for every view that `within` gave as well; closing it again does nothing."""
        self._runtime.close()

    def __enter__(self) -> Self:
        self._runtime.ensure_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- keeping --------------------------------------------------------------------------------

    def remember(
        self,
        content: str,
        *,
        trigger: str = "",
        kind: Kind | KindName = Kind.FACT,
        category: Category | CategoryName | None = None,
        emotion: Emotion | None = None,
        keywords: Texts = (),
        created: datetime | None = None,
        source: Source | None = None,
        trust: Trust | TrustName = Trust.USER,
        privacy: Privacy | PrivacyName = Privacy.PUBLIC,
        protect: bool = False,
        metadata: Metadata | None = None,
    ) -> Memory:
        """Keep one thing; when this returns, it is kept. `trigger` is what set it off, `metadata` a small
        table of your own. Saying the same again strengthens the memory that is there and changes nothing else
        about it."""
        from nagori.services import remember

        draft = remember.Draft(
            content=content,
            trigger=trigger,
            kind=parse_choice(Kind, kind, "kind"),
            category=None if category is None else parse_choice(Category, category, "category"),
            emotion=remember.REMEMBERED_EMOTION if emotion is None else emotion,
            keywords=read_texts("keywords", keywords),
            created=created,
            source=Source() if source is None else source,
            trust=parse_choice(Trust, trust, "trust"),
            privacy=parse_choice(Privacy, privacy, "privacy"),
            protect=protect,
            metadata={} if metadata is None else metadata,
        )
        return remember.remember(self.runtime, self.scope, draft)

    def remember_many(self, drafts: Iterable[str | Draft], progress: Progress = no_progress) -> list[Memory]:
        """Keep many things at once."""
        from nagori.services import remember

        check_list("drafts", drafts)
        made = [remember.Draft(draft) if isinstance(draft, str) else draft for draft in drafts]
        for draft in made:
            check_kind("drafts", draft, remember.Draft)
        return remember.remember_many(self.runtime, self.scope, made, progress)

    def form(
        self,
        turns: Iterable[Turn | Mapping[str, Any]],
        progress: Progress = no_progress,
        *,
        session: str | None = None,
    ) -> list[Memory]:
        """Memories of a conversation: one for each turn. Telling the same turns again adds nothing.

        A turn is a `Turn`, or a message such as `{"role": "user", "content": "…"}`, whose content may be a
        list of text parts; `name` is its speaker and `at` its time, else now. Messages are those of a whole
        `session` from its beginning: by their places they are known when they are told again. Instructions
        (`system`, `developer`) and what has no words are passed over."""
        from nagori.services import ingest
        from nagori.services.turns import read_turns

        told = read_turns(self.runtime, turns, session)
        return ingest.form_turns(self.runtime, self.scope, told, progress)

    def turn(
        self,
        text: str,
        *,
        session: str,
        role: Trust | TrustName = Trust.USER,
        speaker: str | None = None,
        at: datetime | None = None,
    ) -> OpenTurn:
        """Record something that was said. When this returns it is kept; `process` forms memories of it, and
        `answer` of the result records what was answered."""
        from nagori.services.turns import record_turn

        return record_turn(self.runtime, self.scope, text, session, role, speaker, at)

    def process(self) -> int:
        """Form memories of the turns that were recorded and wait for it; how many turns."""
        from nagori.services import ingest

        return ingest.process(self.runtime, self.scope.owner)

    def context(self, prompt: str, *, session: str = "", project: str | None = None) -> Context:
        """What an agent should be given along with a prompt: the text that hooks inject, and the memories in
        it. What was shown in the session is not shown again."""
        from nagori.services.prompt_context import context_for_prompt

        check_text("prompt", prompt)
        check_text("session", session)
        scope = replace(self.scope, project=project) if project else self.scope
        return context_for_prompt(self.runtime, scope, prompt, session)

    # --- finding --------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        filter: Filter = ALIVE,
        ranking: Ranking | None = None,
        mood: Emotion | None = None,
        session: str | None = None,
        tokens: int | None = None,
        min_confidence: float | None = None,
        mark: bool = True,
    ) -> list[Recollection]:
        """The memories that answer `query`, best first: at most `k`, together about `tokens` long, each with
        a confidence of `min_confidence` or more. A recall strengthens what it finds; with `mark=False` it only looks.
        Memories that feel like `mood`, or like the last ones of a `session`, come a little sooner."""
        from nagori.services import recall

        question = recall.RecallRequest(
            query, k, filter, ranking, mood, session, tokens, min_confidence, mark
        )
        return recall.recall(self.runtime, self.scope, question)

    def summary(self, session: str, tokens: int = 200, *, model: bool = False) -> str:
        """What a session was about, in a few of its own sentences; with `model`, in the model's."""
        from nagori.services import session_summary

        check_text("session", session)
        check_whole("tokens", tokens, 0)
        return session_summary.summarise(self.runtime, self.scope, session, tokens, model)

    def show(self, id: str) -> Memory:
        """One memory, by id or by the beginning of it."""
        from nagori.services import edit

        self.runtime.ledger.catch_up(self.scope.owner)
        return edit.read_version(self.runtime, self.scope, id)

    def list(
        self, filter: Filter = ALIVE, *, limit: int = 100, older_than: Memory | None = None
    ) -> list[Memory]:
        """Memories, newest first."""
        check_kind("filter", filter, Filter)
        check_whole("limit", limit, 1)
        if older_than is not None:
            check_kind("older_than", older_than, Memory)
        self.runtime.ledger.catch_up(self.scope.owner)
        return self.runtime.store.find(self.scope, filter, limit=limit, older_than=older_than)

    def as_of(self, moment: datetime, filter: Filter = ALIVE) -> Sequence[Memory]:
        """The memories as they were at a past moment, newest first, read from the journal."""
        from nagori.services import inspect

        check_kind("filter", filter, Filter)
        return inspect.as_of(self.runtime, self.scope, utc(moment, "moment"), filter)

    def why(self, id: str, query: str | None = None) -> Explanation:
        """Why a memory is as strong as it is, what happened to it, and what will."""
        from nagori.services import inspect

        return inspect.why(self.runtime, self.scope, id, query)

    def populations(self, past: int | None = None, ahead: int = 0) -> Sequence[Population]:
        """How many memories stood at each level, day by day; and will, if nothing is recalled."""
        from nagori.services import inspect

        return inspect.populations(self.runtime, self.scope, past, ahead)

    def status(self) -> Status:
        """Counts, sizes, the last event."""
        from nagori.services import inspect

        return inspect.status(self.runtime, self.scope)

    def measure(self) -> Measures:
        """How the memories divide over kinds and tiers, and how far they are compressed."""
        from nagori.services import inspect

        return inspect.measure(self.runtime, self.scope)

    def usage(self) -> Usage | None:
        """How much is remembered a day, and how long it is, over the last month; None if nothing is."""
        from nagori.services import costs

        return costs.usage(self.runtime, self.scope)

    # --- the context window ---------------------------------------------------------------------

    def prune(
        self,
        messages: Sequence[Any],
        *,
        before: Pruned | None = None,
        session: str | None = None,
        budget: int | None = None,
        preset: Preset | None = None,
        strategy: Strategy | None = None,
        target: float | None = None,
        window: Window | None = None,
        format: MessageFormat | None = None,
        model: str | None = None,
        count: Count | None = None,
        provider: Provider | None = None,
        beside: int = 0,
        pins: Collection[int] = (),
        remember: bool = True,
    ) -> Pruned:
        """A conversation as it is sent to a model when not all of it fits: within its `budget` of tokens,
        never a call without its result. What is left out is remembered. What cannot be cut (arguments of a
        call, signed thoughts, pins) may be larger than the budget: it is given all the same, and
        `report["fits"]` is False; look at it before you send. `before` is what the last call gave.

        `preset`, `strategy` and `target` are settings of `window`; `window` is all of them. Tokens are
        counted as by `model`, by `count` for one text, or by `provider` for all messages; `beside` is how
        many are sent beside them. Messages at the places `pins` stay."""
        from nagori.services.window import prune

        changes = _drop_missing(budget=budget, preset=preset, strategy=strategy, target=target, model=model)
        rules, counter = _window_rules(self.runtime, window, changes, count)
        places = prune.places(pins)
        asked = prune.Pruning(rules, counter, format, session, places, beside, remember, provider)
        return prune.prune(self.runtime, self.scope, messages, asked, before)

    def conversation(
        self,
        messages: Sequence[Any] = (),
        *,
        session: str | None = None,
        budget: int | None = None,
        preset: Preset | None = None,
        strategy: Strategy | None = None,
        target: float | None = None,
        window: Window | None = None,
        format: MessageFormat | None = None,
        model: str | None = None,
        count: Count | None = None,
        provider: Provider | None = None,
        beside: int = 0,
        pins: Collection[int] = (),
        remember: bool = True,
    ) -> Conversation:
        """A conversation that prunes itself as messages are added; the options are those of `prune`."""
        from nagori.services.window import prune
        from nagori.services.window.conversation import Conversation

        changes = _drop_missing(budget=budget, preset=preset, strategy=strategy, target=target, model=model)
        rules, counter = _window_rules(self.runtime, window, changes, count)
        places = prune.places(pins)
        asked = prune.Pruning(rules, counter, format, session, places, beside, remember, provider)
        return Conversation(
            lambda history, last: prune.prune(self.runtime, self.scope, history, asked, last),
            lambda last: prune.keep_rest(self.runtime, self.scope, last),
            self.recall,
            prune.listed(messages),
        )

    # --- changing -------------------------------------------------------------------------------

    def edit(
        self,
        id: str,
        *,
        content: str | None = None,
        trigger: str | None = None,
        kind: Kind | KindName | None = None,
        category: Category | CategoryName | None = None,
        emotion: Emotion | None = None,
        privacy: Privacy | PrivacyName | None = None,
        metadata: Metadata | None = None,
        version: int | None = None,
    ) -> Memory:
        """Correct a memory; what is not given stays, and `metadata` takes the place of all that was there.
        With the `version` of the memory that was seen, Conflict if somebody has changed it since."""
        from nagori.services import edit, remember

        changes = remember.Edit(
            content=content,
            trigger=trigger,
            kind=None if kind is None else parse_choice(Kind, kind, "kind"),
            category=None if category is None else parse_choice(Category, category, "category"),
            emotion=emotion,
            privacy=None if privacy is None else parse_choice(Privacy, privacy, "privacy"),
            metadata=metadata,
        )
        if version is not None:
            check_whole("version", version, 1)
        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit.edit(self.runtime, self.scope, id, changes, version)

    def feedback(self, id: str, good: bool) -> Memory:
        """Say that a memory was useful, or was not: it grows stronger or weaker, once a day at most."""
        from nagori.services import edit

        check_bool("good", good)
        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit.feedback(self.runtime, self.scope, id, good)

    def protect(self, id: str, release: Texts = ()) -> Memory:
        """Never let it fade; `release` are the ids of others that may fade again, to make room."""
        from nagori.services import edit

        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit.protect(self.runtime, self.scope, self.show(id).id, read_texts("release", release))

    def unprotect(self, id: str) -> Memory:
        """Let it fade like any other."""
        from nagori.services import edit

        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit.unprotect(self.runtime, self.scope, self.show(id).id)

    def archive(self, id: str) -> Memory:
        """Put a memory away; it can still be found and brought back."""
        from nagori.services import cycle

        return cycle.archive(self.runtime, self.scope, id)

    def unarchive(self, id: str) -> Memory:
        """Bring a memory back whole, while its full words are kept."""
        from nagori.services import cycle

        return cycle.unarchive(self.runtime, self.scope, id)

    def plan(self) -> CyclePlan:
        """What a cycle would do now, and why; nothing is done."""
        from nagori.services import cycle

        return cycle.plan(self.runtime, self.scope.owner)

    def preview(self, plan: CyclePlan | None = None) -> Preview:
        """What a plan comes to before it is done: examples, bytes saved, tokens a model would take."""
        from nagori.services import preview

        return preview.preview(self.runtime, self.scope, self.plan() if plan is None else _plan(plan))

    def cycle(self, plan: CyclePlan | None = None, progress: Progress = no_progress) -> CycleReport:
        """Strengthen what was recalled, let the rest fade, archive, revive: one night. Run twice, the
        second time changes nothing."""
        from nagori.services import cycle

        planned = None if plan is None else _plan(plan)
        return cycle.run(self.runtime, self.scope.owner, planned, progress)

    def appraise(
        self,
        since: datetime | None = None,
        progress: Progress = no_progress,
        stop: Callable[[], bool] = never_stop,
    ) -> AppraisalReport:
        """Let the configured model judge what only rules have judged so far, since `since` or for the days of
        `llm.appraise_days`. Without a model nothing happens."""
        from nagori.services.llm import appraise

        self.runtime.ledger.catch_up(self.scope.owner)
        return appraise.appraise_with_llm(self.runtime, self.scope.owner, _check_aware(since), progress, stop)

    def estimate_appraisal(self, since: datetime | None = None) -> Estimate:
        """What `judge` would ask and cost at most."""
        from nagori.services.llm import appraise

        self.runtime.ledger.catch_up(self.scope.owner)
        return appraise.estimate(self.runtime, self.scope.owner, _check_aware(since))

    def forget(self, id: str) -> Memory:
        """Hide it from every recall; `undo` brings it back."""
        from nagori.services import edit

        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit.forget(self.runtime, self.scope, id)

    def undo(self, id: str) -> tuple[Memory, str]:
        """Take back the last change of a memory; the memory, and what was undone."""
        from nagori.services import edit

        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit.undo(self.runtime, self.scope, id)

    # --- leaving and coming ---------------------------------------------------------------------

    def export(self, format: ExportFormat = "jsonl") -> Iterator[str]:
        """Every memory as lines of `jsonl` (complete) or `markdown` (readable)."""
        from nagori.services import transfer

        writers = {"jsonl": transfer.to_jsonl, "markdown": transfer.to_markdown}
        if not isinstance(format, str) or format not in writers:
            raise _no_such_format(format)
        return writers[format](self.runtime, self.scope)

    def import_(
        self, lines: Iterable[str], format: ExportFormat = "jsonl", progress: Progress = no_progress
    ) -> ImportReport:
        """Take in what `export` wrote, or notes in Markdown, line by line."""
        from nagori.services import transfer

        check_list("lines", lines)
        if format == "markdown":
            return transfer.from_markdown(self.runtime, self.scope, lines)
        if format != "jsonl":
            raise _no_such_format(format)
        return transfer.from_jsonl(self.runtime, self.scope, lines, progress)

    def import_drafts(self, drafts: Iterable[Draft], progress: Progress = no_progress) -> ImportReport:
        """Take in what another program remembered; importing it again adds nothing."""
        from nagori.services import transfer

        check_list("drafts", drafts)
        return transfer.from_drafts(self.runtime, self.scope, drafts, progress)

    # --- upkeep ---------------------------------------------------------------------------------

    def verify(self, progress: Progress = no_progress) -> Proof:
        """Prove that journal and store are sound and tell the same story."""
        from nagori.services import maintenance

        return maintenance.verify(self.runtime, progress)

    def rebuild(self, progress: Progress = no_progress, *, accept_damage: bool = False) -> int:
        """Throw the store away and tell the journal again."""
        from nagori.services import maintenance

        return maintenance.rebuild(self.runtime, progress, accept_damage=accept_damage)

    def embed_missing(self, progress: Progress = no_progress) -> int:
        """Give vectors to memories that have none yet."""
        from nagori.services import vectors

        self.runtime.ledger.catch_up(self.scope.owner)
        return vectors.embed_missing(self.runtime, self.scope.owner, progress)

    def plan_reembed(self) -> ReembedPlan:
        """What a change to the configured embedding model would take; nothing is done."""
        from nagori.services import vectors

        return vectors.plan(self.runtime)

    def reembed(self, progress: Progress = no_progress) -> ReembedReport:
        """Change every memory over to the configured embedding model; recall goes on meanwhile."""
        from nagori.services import vectors

        return vectors.reembed(self.runtime, progress)

    def backup(self, path: str | Path, progress: Progress = no_progress) -> BackupReport:
        """Everything in one checked file, while others go on writing."""
        from nagori.services import backup

        return backup.backup(self.runtime, _path(path), progress)

    @staticmethod
    def restore(path: str | Path, data_dir: str | Path, stamp: datetime) -> Path | None:
        """Put a backup in place; what was there is moved aside, and the answer says where."""
        from nagori.services import backup

        utc(stamp, "stamp")  # a time without a zone says no moment
        when = stamp.strftime("%Y%m%dT%H%M%S")
        return backup.restore(_path(path), _path(data_dir, "data_dir"), when)

    def doctor(self) -> Sequence[Finding]:
        """Look at everything a user might have to know about."""
        from nagori.services.doctor import doctor

        return doctor(self.runtime)


def _configured_embedder(config: Config, observe: Observer, folder: Path) -> Embedder | None:
    from nagori.adapters.embed import open_embedder

    return open_embedder(config.embedding, observe, folder)


def _named_embedder(config: Config, name: str, observe: Observer, folder: Path) -> Embedder | None:
    from nagori.adapters.embed import open_named

    return (
        open_named(name, config.embedding, observe, folder) if config.embedding.provider != "none" else None
    )


def _configured_llm(config: Config) -> LLM | None:
    if config.llm.provider == "none":
        return None
    from nagori.adapters.llm import open_llm

    return open_llm(config.llm)


def _drop_missing(**values: Any) -> dict[str, Any]:
    """The arguments that were given."""
    return {name: value for name, value in values.items() if value is not None}


def _window_rules(
    runtime: Runtime, window: Window | None, changes: Mapping[str, Any], count: Callable[[str], int] | None
) -> tuple[Window, Callable[[str], int]]:
    """What a caller said about a window on top of what is configured, and what counts its tokens."""
    from nagori.adapters.tokens import open_counter
    from nagori.core.window import Window, settled

    if window is not None:
        check_kind("window", window, Window)
    rules = settled(window or runtime.config.window, changes)
    return rules, open_counter(rules.model, runtime.observe) if count is None else count


def _check_aware(moment: datetime | None) -> datetime | None:
    return None if moment is None else utc(moment, "since")


def _no_such_format(format: str) -> InvalidInput:
    return InvalidInput("format", "{value!r} is none of {choices}", value=format, choices="jsonl, markdown")


def _plan(plan: object) -> CyclePlan:
    from nagori.core.cycle import CyclePlan

    return check_kind("plan", plan, CyclePlan)


def _path(path: object, name: str = "path") -> Path:
    if not isinstance(path, str | Path) or not str(path) or "\0" in str(path):
        raise InvalidInput(name, "{value!r} is not the name of a file", value=path)
    check_text(name, str(path))
    return Path(path)
