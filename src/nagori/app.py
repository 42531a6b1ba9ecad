"""The public class `Nagori`: it builds the runtime and has one method per verb.

A verb imports its service on first use, because imports slow down hooks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType

from nagori.config import Config, load
from nagori.core.model import (
    ALIVE,
    Category,
    Filter,
    Kind,
    Memory,
    Privacy,
    Recollection,
    Relation,
    RelationType,
    Scope,
    Source,
    Trust,
    Turn,
    parse_choice,
    utc,
)
from nagori.core.value_object import (
    check_bool,
    check_kind,
    check_list,
    check_text,
    check_whole,
    no_observer,
    read_texts,
    replace,
)
from nagori.errors import InvalidInput, StoreError
from nagori.event_ledger import Ledger
from nagori.files import data_dir as default_dir
from nagori.files import expand_home, private_dir
from nagori.journals.file import FileJournal
from nagori.runtime import Progress, Runtime, SystemClock, no_progress
from nagori.stores.sqlite import SqliteStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Self

    from nagori.config.postgres_address import Address
    from nagori.core.cost_estimate import Usage
    from nagori.core.cycle import CyclePlan
    from nagori.core.knowledge_base import DocumentInfo, KnowledgePassage, KnowledgeReport
    from nagori.core.model import (
        CategoryName,
        Emotion,
        KindName,
        OutcomeName,
        PrivacyName,
        RelationName,
        TaskOutcome,
        TrustName,
    )
    from nagori.core.outcomes_lessons_and_credit import ToolResult
    from nagori.core.simulate_future_cycles import Population
    from nagori.core.spreading_activation import Association
    from nagori.core.storage_types import Measures, Owner
    from nagori.core.threads import WorkingMemory
    from nagori.core.value_object import Metadata
    from nagori.core.window import Window
    from nagori.encryption import KeySource
    from nagori.errors import Notice
    from nagori.protocols import (
        LLM,
        BackupBucket,
        Clock,
        Embedder,
        GraphMirror,
        Journal,
        Observer,
        Store,
        ThreadCache,
        TurnLogs,
    )
    from nagori.services.assemble_full_context import FullContext
    from nagori.services.backup import BackupReport, DrillReport
    from nagori.services.chat_recorder import OpenTurn
    from nagori.services.cycle import CycleReport
    from nagori.services.doctor import Finding
    from nagori.services.encrypt import EncryptionReport
    from nagori.services.erasure_plan import ErasurePlan
    from nagori.services.erasure_receipt import ErasureReceipt
    from nagori.services.explain_ranking_and_context import ContextExplanation
    from nagori.services.graph_mirror import MirrorReport
    from nagori.services.key_value_items import Items
    from nagori.services.learned_settings import Policy
    from nagori.services.list_threads_and_view_working_memory import SessionInfo, ThreadSummary
    from nagori.services.llm.appraise import AppraisalReport, Estimate
    from nagori.services.preview_next_cycle import Preview
    from nagori.services.profile_of_topics_and_speakers import Profile
    from nagori.services.prompt_context import Context
    from nagori.services.redact_journal_and_compact_store import CompactReport
    from nagori.services.related_memories_and_stale_links import RelatedMemory
    from nagori.services.remember import Draft
    from nagori.services.transfer import ImportReport
    from nagori.services.vectors import ReembedPlan, ReembedReport
    from nagori.services.verify_and_rebuild import Proof
    from nagori.services.why_log_as_of_and_status import Explanation, LifeEvent, Status
    from nagori.services.window.bounded_conversation import Conversation
    from nagori.services.window.prune import PruneResult

    # To Python a string is a sequence of strings; with these types a checker refuses a string for a list.
    Texts = list[str] | tuple[str, ...]
    Ranking = Literal["fused", "priority", "score"]
    Preset = Literal["balanced", "conservative", "aggressive"]
    Strategy = Literal["scored", "sliding", "session", "topic"]
    MessageFormat = Literal[
        "openai", "anthropic", "responses", "langchain", "pydantic_ai", "gemini", "sharegpt"
    ]
    ExportFormat = Literal["jsonl", "markdown"]
    Count = Callable[[str], int]  # counts the tokens of a text
    Provider = Callable[[list[Any]], int]  # counts the tokens of messages

AUTO: Any = object()  # default: as configured
SAME: Any = object()  # default: unchanged, where None is a value


def _database(data_dir: str | Path | None, config: Config) -> Address | None:
    """The PostgreSQL database that is meant, if any; a given folder wins over a configured database."""
    named = data_dir if isinstance(data_dir, str) and "://" in data_dir else ""
    if data_dir is None:
        named = config.general.database
    if not named:
        return None
    from nagori.config.postgres_address import parse_address

    return parse_address(named)


def _postgres_journal(address: Address) -> Journal:
    from nagori.journals.postgres import PostgresJournal

    return PostgresJournal(address)


def _postgres_store(
    address: Address, journal: Journal, folder: Path, config: Config, observe: Observer
) -> Store:
    """The store of a journal in PostgreSQL: there, too, or a fold of it on this machine."""
    if address.store == "postgres":
        from nagori.stores.postgres import PostgresStore

        return PostgresStore(address)
    database = getattr(journal, "database", None)
    if database is None:  # a journal of the caller's own
        return SqliteStore(folder / "nagori.db", _index_bytes(config), observe)
    from nagori.stores.sqlite_replica import NodeStore

    return NodeStore(folder / "nagori.db", database, _index_bytes(config), observe)


def _index_bytes(config: Config) -> int:
    return config.retrieval.index_megabytes * 1_000_000


def never_stop() -> bool:
    """Never end early."""
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
        """The runtime; MemoryClosed after `close`. Messages that `prune` left out become memories first, so
        that every verb finds them."""
        self._runtime.ensure_open()
        self._form_evicted(self.scope.owner)
        return self._runtime

    def _form_evicted(self, owner: Owner | None = None) -> None:
        if self._runtime.unformed:
            from nagori.services.window.remember_evicted_messages import form_evicted

            form_evicted(self._runtime, owner)

    @property
    def items(self) -> Items:
        """Rows that other programs keep here exactly as they gave them (`services.key_value_items`)."""
        from nagori.services.key_value_items import Items

        return Items(self.runtime, self.scope.owner)

    @property
    def config(self) -> Config:
        """The settings in use."""
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
        """Open the memory in `data_dir` (default: the configured one); a new one is created. `data_dir` is a
        folder, or a PostgreSQL database: `postgresql://user:password@host/database`."""
        config = config or load().config
        folder = cls.folder(data_dir, config)
        try:
            if not folder.is_dir():  # a new one, or a restore was killed
                from nagori.services.backup import finish_restore

                finish_restore(folder)
            private_dir(folder)
        except OSError as fault:  # an existing folder can be read even on a full disk
            raise StoreError("error.file", path=folder, reason=fault.strerror) from fault
        if address := _database(data_dir, config):
            journal = journal or _postgres_journal(address)
            store = store or _postgres_store(address, journal, folder, config, observe)
        journal = journal or FileJournal(folder / "journal")
        store = store or SqliteStore(folder / "nagori.db", _index_bytes(config), observe)
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
            open_logs=lambda: _configured_logs(config),
            open_cache=lambda: _configured_cache(config),
            open_bucket=lambda: _configured_bucket(config),
            open_graph=lambda: _configured_graph(config),
        )
        return cls(runtime, scope or Scope())

    @staticmethod
    def folder(data_dir: str | Path | None, config: Config) -> Path:
        """The data folder: the given one, or the configured one. A database has a folder for its fold."""
        if (address := _database(data_dir, config)) is None:
            return default_dir(os.environ, str(data_dir or config.general.data_dir)).absolute()
        own = default_dir(os.environ, address.folder or config.general.data_dir).absolute()
        return own if address.folder else own / "nodes" / address.label

    def with_scope(
        self,
        scope: Scope | None = None,
        *,
        user: str = SAME,
        tenant: str = SAME,
        project: str | None = SAME,
        agent: str | None = SAME,
        role: str | None = SAME,
        task: str | None = SAME,
        unnamed_agent: bool = SAME,
    ) -> Self:
        """The same memory with another scope, or with this scope changed."""
        given = {
            "user": user,
            "tenant": tenant,
            "project": project,
            "agent": agent,
            "role": role,
            "task": task,
            "unnamed_agent": unnamed_agent,
        }
        changes = {name: value for name, value in given.items() if value is not SAME}
        check_kind("scope", scope if scope is not None else self.scope, Scope)
        return type(self)(self.runtime, replace(scope or self.scope, **changes))

    def close(self) -> None:
        """Close it, also for every view that `with_scope` returned. Closing again does nothing."""
        try:
            self._form_evicted()
        finally:
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
        """Store one memory; when this returns, it is durable. `trigger` is what led to it, `metadata` your
        own data. Remembering the same again reinforces the existing memory and changes nothing else about
        it."""
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
        """Store many memories at once."""
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
        """Form memories from a conversation, one for each turn. Repeating the same turns adds nothing.

        A turn is a `Turn`, or a message such as `{"role": "user", "content": "…"}`, whose content may be a
        list of text parts; `name` is its speaker and `at` its time, else now. Pass all messages of a
        `session` from its beginning: their positions identify them when they are passed again. Instructions
        (`system`, `developer`) and messages without text are skipped.
        """
        from nagori.services import process_turns
        from nagori.services.chat_recorder import read_turns

        told = read_turns(self.runtime, turns, session)
        return process_turns.form_turns(self.runtime, self.scope, told, progress)

    def turn(
        self,
        text: str,
        *,
        session: str,
        role: Trust | TrustName = Trust.USER,
        speaker: str | None = None,
        at: datetime | None = None,
        ref: str | None = None,
    ) -> OpenTurn:
        """Record a turn. When this returns, it is durable. `process` forms memories of it, and `answer` of
        the result records the answer. With `ref`, your own id of the turn, recording it again adds nothing.

        With `with` it is a whole step of a conversation: `context` is what the memory gives for the turn, and
        at the end memories are formed and ended threads are summarised.

        >>> with memory.turn("Where is staging?", session="s") as turn:     # doctest: +SKIP
        ...     turn.answer(ask_model(turn.context.text))
        """
        from nagori.services.chat_recorder import record_turn

        return record_turn(self.runtime, self.scope, text, session, role, speaker, at, ref)

    def process(self) -> int:
        """Form memories of all recorded turns that are still unprocessed; returns the number of turns."""
        from nagori.services import process_turns

        return process_turns.process(self.runtime, self.scope.owner)

    def context(
        self, prompt: str, *, session: str = "", project: str | None = None, mark: bool = True
    ) -> Context:
        """The context for an agent's prompt: the text that hooks inject, and the memories in it. What was
        shown in the session is not shown again; with `mark=False` nothing is recorded."""
        from nagori.services.prompt_context import context_for_prompt

        check_text("prompt", prompt)
        check_text("session", session)
        check_bool("mark", mark)
        scope = replace(self.scope, project=project) if project else self.scope
        return context_for_prompt(self.runtime, scope, prompt, session, mark=mark)

    def explain_context(
        self, prompt: str, *, session: str = "", project: str | None = None
    ) -> ContextExplanation:
        """What `context` would give for a prompt, why each memory, and what was left out. Nothing is
        recorded."""
        from nagori.services.explain_ranking_and_context import explain_context

        check_text("prompt", prompt)
        check_text("session", session)
        scope = replace(self.scope, project=project) if project else self.scope
        return explain_context(self.runtime, scope, prompt, session)

    def full_context(
        self,
        prompt: str,
        *,
        session: str = "",
        tokens: int | None = None,
        knowledge: Texts = (),
        mark: bool = True,
    ) -> FullContext:
        """Everything for a turn within one budget of tokens, for programs that ask once: past conversations,
        recent sessions, the profile, and passages of the knowledge bases named by `knowledge`, with nothing
        told twice."""
        from nagori.services.assemble_full_context import full_context

        check_text("prompt", prompt)
        check_text("session", session)
        check_bool("mark", mark)
        bases = read_texts("knowledge", knowledge)
        return full_context(self.runtime, self.scope, prompt, session, tokens, knowledge=bases, mark=mark)

    def session_start(self, session: str = "", *, project: str | None = None, mark: bool = True) -> Context:
        """What an agent should be given when a session starts: what is protected, and where things stood."""
        from nagori.services.session_start_context import context_for_start

        check_text("session", session)
        check_bool("mark", mark)
        scope = replace(self.scope, project=project) if project else self.scope
        return context_for_start(self.runtime, scope, session, mark=mark)

    def threads(self, session: str | None = None) -> list[ThreadSummary]:
        """The threads of a session, or of the recent sessions: their turns, why they ended, and the id of the
        summary that is kept of each. Oldest first."""
        from nagori.services.list_threads_and_view_working_memory import list_threads

        return list_threads(self.runtime, self.scope, session)

    def sessions(self) -> list[SessionInfo]:
        """The recent sessions, newest first: their times, turns, speakers and threads."""
        from nagori.services.list_threads_and_view_working_memory import list_sessions

        return list_sessions(self.runtime, self.scope)

    def working_memory(self, session: str) -> WorkingMemory:
        """The last turns of a session's open thread, and how often each speaker spoke in it."""
        from nagori.services.list_threads_and_view_working_memory import working_memory

        return working_memory(self.runtime, self.scope, session)

    def profile(self) -> Profile:
        """What the memories say about the user: topics, speakers, how well they are known, and a vector of
        the top ten topics. It is derived anew at every call, from what this scope may see."""
        from nagori.services.profile_of_topics_and_speakers import profile

        return profile(self.runtime, self.scope)

    def export_log(self) -> int:
        """Write the Parquet log of all turns up to now (`sessions.log_dir`); returns the number of the last
        event in it."""
        from nagori.services.redis_and_parquet_copies import export_log

        return export_log(self.runtime, self.scope)

    def query_log(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The column names and rows of one SELECT over the table `turns` of the Parquet log: the user's own
        turns, read-only, without access to anything else."""
        from nagori.services.redis_and_parquet_copies import query_log

        check_text("sql", sql)
        return query_log(self.runtime, self.scope, sql)

    def mirror_graph(self, *, rebuild: bool = False, progress: Progress = no_progress) -> MirrorReport:
        """Bring the copy of the user's memories, their concepts and relations in a graph server up to date
        (`graph.mirror`); with `rebuild`, empty it first."""
        from nagori.services.graph_mirror import mirror_graph

        return mirror_graph(self.runtime, self.scope, rebuild=rebuild, progress=progress)

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
        category: Category | CategoryName | None = None,
        spread: int = 0,
    ) -> list[Recollection]:
        """The memories that answer `query`, best first: at most `k`, together about `tokens` long, each with
        a confidence of at least `min_confidence`. Recall reinforces what it finds; `mark=False` only looks.
        Memories with an emotion close to `mood`, or to the recent mood of a `session`, rank slightly higher,
        and so do those of a `category`. With `spread`, memories that share concepts and links with the
        answers come up, too: 2 leads from the answers over a concept to other memories."""
        from nagori.services import recall

        question = recall.RecallRequest(
            query,
            k,
            filter,
            ranking,
            mood,
            session,
            tokens,
            min_confidence,
            mark,
            None if category is None else parse_choice(Category, category, "category"),
            spread,
        )
        return recall.recall(self.runtime, self.scope, question)

    def associate(
        self,
        query: str,
        k: int = 10,
        progress: Progress = no_progress,
        *,
        depth: int = 3,
        filter: Filter = ALIVE,
    ) -> Association:
        """Where `query` leads: other topics of the memories that answer it, and memories that share topics
        with them, at most `k` each. With 1 step only topics of the answers, with 2 other memories, with 3
        the topics of those. Nothing is reinforced. The first time the topics of all memories are indexed."""
        from nagori.services import spreading_activation

        check_kind("filter", filter, Filter)
        request = spreading_activation.AssociationRequest(query, depth, k, filter)
        return spreading_activation.associate(self.runtime, self.scope, request, progress)

    def summary(self, session: str, tokens: int = 200, *, model: bool = False) -> str:
        """A summary of a session, in a few of its own sentences; with `model`, written by the language
        model."""
        from nagori.services import summarize_session

        check_text("session", session)
        check_whole("tokens", tokens, 0)
        return summarize_session.summarise(self.runtime, self.scope, session, tokens, model)

    def show(self, id: str) -> Memory:
        """One memory, by id or by a unique prefix."""
        from nagori.services import edit_feedback_protect_link_forget_undo

        self.runtime.ledger.catch_up(self.scope.owner)
        return edit_feedback_protect_link_forget_undo.read_version(self.runtime, self.scope, id)

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
        """The memories as they were at a past moment, newest first, from the journal."""
        from nagori.services import why_log_as_of_and_status

        check_kind("filter", filter, Filter)
        return why_log_as_of_and_status.as_of(self.runtime, self.scope, utc(moment, "moment"), filter)

    def why(self, id: str, query: str | None = None) -> Explanation:
        """The explanation of a memory: its retention, its history and its forecast."""
        from nagori.services import why_log_as_of_and_status

        return why_log_as_of_and_status.why(self.runtime, self.scope, id, query)

    def log(
        self,
        id: str | None = None,
        *,
        types: Texts = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
    ) -> Sequence[LifeEvent]:
        """The life-cycle log, newest first: what happened to memories, with the numbers before and after; of
        one memory, of some types of events, or of a time."""
        from nagori.services import why_log_as_of_and_status

        first, last = _check_aware(since), _check_aware(until, "until")
        return why_log_as_of_and_status.log(
            self.runtime, self.scope, read_texts("types", types), first, last, id, limit
        )

    def find_related(self, id: str) -> Sequence[RelatedMemory]:
        """The memories that are related to this one, strongest first."""
        from nagori.services import related_memories_and_stale_links

        return related_memories_and_stale_links.find_related(self.runtime, self.scope, [self.show(id).id])

    def populations(
        self, past: int | None = None, ahead: int = 0, progress: Progress = no_progress
    ) -> Sequence[Population]:
        """The number of memories at each level, day by day, with a forecast without recalls."""
        from nagori.services import level_counts_by_day

        return level_counts_by_day.populations(self.runtime, self.scope, past, ahead, progress)

    def status(self) -> Status:
        """Counts, sizes and the last event."""
        from nagori.services import why_log_as_of_and_status

        return why_log_as_of_and_status.status(self.runtime, self.scope)

    def measure(self) -> Measures:
        """Memories by kind and tier, and how far they are compressed."""
        from nagori.services import why_log_as_of_and_status

        return why_log_as_of_and_status.measure(self.runtime, self.scope)

    def usage(self) -> Usage | None:
        """Memories per day and their sizes over the last month; None without data."""
        from nagori.services import daily_volume

        return daily_volume.usage(self.runtime, self.scope)

    # --- knowledge ------------------------------------------------------------------------------

    def add_knowledge(
        self, path: str | Path, *, kb: str, progress: Progress = no_progress
    ) -> KnowledgeReport:
        """Add a document, or all documents of a folder, to a knowledge base: Markdown, text, HTML, PDF (with
        `pypdf`). One that changed is replaced in one step; unchanged ones are not read again. The files are
        not watched."""
        from nagori.adapters.documents import digest_of, find_documents, read_document
        from nagori.core.knowledge_base import knowledge_scope
        from nagori.services import knowledge_base

        runtime, tenant = self.runtime, self.scope.tenant
        knowledge_scope(tenant, kb)
        files = find_documents(_path(path))
        known = {info.name: info for info in knowledge_base.list_documents(runtime, tenant, kb)}
        done: dict[str, dict[str, Any]] = {"added": {}, "replaced": {}, "unchanged": {}, "failed": {}}
        for n, (name, file) in enumerate(files, 1):
            if name in known and known[name].digest == digest_of(file):
                done["unchanged"][name] = None
            else:
                try:
                    info = knowledge_base.add_document(runtime, tenant, kb, read_document(name, file))
                    kind = "unchanged" if info is None else "added" if info.version == 1 else "replaced"
                    done[kind][name] = None
                except InvalidInput as fault:  # one bad file does not stop the others
                    done["failed"][name] = str(fault)
            progress(n, len(files))
        return _knowledge_report(done)

    def search_knowledge(
        self, query: str, *, kb: str | None = None, k: int = 5
    ) -> Sequence[KnowledgePassage]:
        """The passages of a knowledge base, or of all, that answer `query`, best first, with sources."""
        from nagori.services import knowledge_base

        bases = None if kb is None else [kb]
        return knowledge_base.search_knowledge(self.runtime, self.scope.tenant, query, bases, k)

    def list_knowledge(self, *, kb: str | None = None) -> Sequence[DocumentInfo]:
        """The documents of a knowledge base, or of all, with their versions."""
        from nagori.services import knowledge_base

        return knowledge_base.list_documents(self.runtime, self.scope.tenant, kb)

    def remove_knowledge(self, document: str, *, kb: str) -> DocumentInfo:
        """Remove a document from a knowledge base, and its words from the journal."""
        from nagori.services import knowledge_base

        return knowledge_base.remove_document(self.runtime, self.scope.tenant, kb, document)

    # --- the context window ---------------------------------------------------------------------

    def prune(
        self,
        messages: Sequence[Any],
        *,
        before: PruneResult | None = None,
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
    ) -> PruneResult:
        """Prune a conversation to a token `budget`, for a model's context window. A tool call is never
        separated from its result. Pruned messages are recorded, and become memories before the next verb that
        reads, or when the memory is closed. Content that cannot be cut (arguments of a call, signed thoughts,
        pins) may exceed the budget: it is returned, and `report["fits"]` is False; check it before you send.
        `before` is the result of the previous call.

        `preset`, `strategy` and `target` are settings of `window`; `window` replaces all of them. Tokens are
        counted as by `model`, by `count` for one text, or by `provider` for all messages. `beside` is the
        number of tokens sent in addition. Messages at the positions `pins` stay.
        """
        from nagori.services.window import prune

        changes = _drop_missing(budget=budget, preset=preset, strategy=strategy, target=target, model=model)
        runtime = self._runtime  # not `self.runtime`: who prunes does not wait for memories
        rules, counter = _window_rules(runtime, window, changes, count)
        places = prune.places(pins)
        asked = prune.PruneRequest(rules, counter, format, session, places, beside, remember, provider)
        return prune.prune(runtime, self.scope, messages, asked, before)

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
        from nagori.services.window.bounded_conversation import Conversation

        changes = _drop_missing(budget=budget, preset=preset, strategy=strategy, target=target, model=model)
        rules, counter = _window_rules(self.runtime, window, changes, count)
        places = prune.places(pins)
        asked = prune.PruneRequest(rules, counter, format, session, places, beside, remember, provider)
        asked = prune.with_session(asked)
        runtime = self._runtime
        return Conversation(
            lambda history, last: prune.prune(runtime, self.scope, history, asked, last, record=True),
            lambda last: prune.keep_rest(self.runtime, self.scope, last),
            self.recall,
            prune.read_messages(messages),
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
        project: str | None = SAME,
        version: int | None = None,
    ) -> Memory:
        """Correct a memory. Omitted fields stay; `metadata` replaces all metadata. `project=None` makes it
        yours in every project. With the `version` that was read, Conflict if it has changed since."""
        from nagori.services import edit_feedback_protect_link_forget_undo, remember

        changes = remember.Edit(
            content=content,
            trigger=trigger,
            kind=None if kind is None else parse_choice(Kind, kind, "kind"),
            category=None if category is None else parse_choice(Category, category, "category"),
            emotion=emotion,
            privacy=None if privacy is None else parse_choice(Privacy, privacy, "privacy"),
            metadata=metadata,
            project=None if project is SAME else project,
            everywhere=project is None,
        )
        if version is not None:
            check_whole("version", version, 1)
        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit_feedback_protect_link_forget_undo.edit(self.runtime, self.scope, id, changes, version)

    def feedback(self, id: str, good: bool) -> Memory:
        """Say whether a memory was useful: it gets stronger or weaker, once a day at most."""
        from nagori.services import edit_feedback_protect_link_forget_undo

        check_bool("good", good)
        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit_feedback_protect_link_forget_undo.feedback(self.runtime, self.scope, id, good)

    def record_tools(self, results: Iterable[ToolResult], *, session: str) -> None:
        """Record what an agent's tools did in a turn: what works after a failure becomes a lesson, and the
        memories of the turn are credited. Call it after the answer was recorded."""
        from nagori.services.chat_recorder import record_tools

        record_tools(self.runtime, self.scope, results, session)

    def share(
        self,
        lessons: Texts,
        *,
        outcome: TaskOutcome | OutcomeName | None = None,
        privacy: Privacy | PrivacyName = Privacy.AGENT_ONLY,
        task: str | None = None,
    ) -> Sequence[Memory]:
        """Store what an agent learned from a task, for itself (`private`), for agents of its role
        (`agent-only`) or for all (`public`)."""
        from nagori.core.model import TaskOutcome
        from nagori.services.share_lessons_between_agents import LessonReport, share

        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        how = parse_choice(TaskOutcome, outcome, "outcome") if outcome is not None else None
        whose = parse_choice(Privacy, privacy, "privacy")
        report = LessonReport(read_texts("lessons", lessons), how, whose, task)
        return share(self.runtime, self.scope, report)

    def policy(self) -> Policy:
        """The settings that were learned from outcomes, and every version of them with its evidence."""
        from nagori.services.learned_settings import read_policy

        return read_policy(self.runtime, self.scope.owner)

    def policy_back(self) -> Policy:
        """Restore the learned settings as they were before the last change."""
        from nagori.services.learned_settings import take_back

        return take_back(self.runtime, self.scope.owner)

    def policy_off(self) -> Policy:
        """Use the configured settings and learn no others; `policy_back` switches it on again."""
        from nagori.services.learned_settings import switch_off

        return switch_off(self.runtime, self.scope.owner)

    def protect(self, id: str, release: Texts = ()) -> Memory:
        """Protect a memory from decay; `release` are the ids of protected ones to release, to make room."""
        from nagori.services import edit_feedback_protect_link_forget_undo

        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit_feedback_protect_link_forget_undo.protect(
            self.runtime, self.scope, self.show(id).id, read_texts("release", release)
        )

    def unprotect(self, id: str) -> Memory:
        """Release a protected memory: it decays again."""
        from nagori.services import edit_feedback_protect_link_forget_undo

        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit_feedback_protect_link_forget_undo.unprotect(self.runtime, self.scope, self.show(id).id)

    def link(
        self, id: str, other: str, type: RelationType | RelationName = RelationType.REFERENCES
    ) -> Relation:
        """Link a memory to another one: it continues, references, contradicts or is derived from it, or has
        the same topic."""
        from nagori.services import edit_feedback_protect_link_forget_undo

        which = parse_choice(RelationType, type, "type")
        return edit_feedback_protect_link_forget_undo.link(self.runtime, self.scope, id, other, which)

    def unlink(
        self, id: str, other: str, type: RelationType | RelationName | None = None
    ) -> Sequence[Relation]:
        """Remove the relations between two memories, of one type or of all; returns them."""
        from nagori.services import edit_feedback_protect_link_forget_undo

        which = None if type is None else parse_choice(RelationType, type, "type")
        return edit_feedback_protect_link_forget_undo.unlink(self.runtime, self.scope, id, other, which)

    def archive(self, id: str) -> Memory:
        """Archive a memory; it can still be found and restored."""
        from nagori.services import cycle

        return cycle.archive(self.runtime, self.scope, id)

    def unarchive(self, id: str) -> Memory:
        """Restore an archived memory, while its full text is kept."""
        from nagori.services import cycle

        return cycle.unarchive(self.runtime, self.scope, id)

    def plan(self) -> CyclePlan:
        """The plan of a cycle now, with reasons; nothing is changed."""
        from nagori.services import cycle

        return cycle.plan(self.runtime, self.scope.owner)

    def preview(self, plan: CyclePlan | None = None) -> Preview:
        """The preview of a plan: examples, bytes saved, tokens a model would use."""
        from nagori.services import preview_next_cycle

        return preview_next_cycle.preview(
            self.runtime, self.scope, self.plan() if plan is None else _plan(plan)
        )

    def cycle(self, plan: CyclePlan | None = None, progress: Progress = no_progress) -> CycleReport:
        """Run one cycle: reinforce what was recalled, compress, archive and revive. A second run right after
        it changes nothing."""
        from nagori.services import cycle

        planned = None if plan is None else _plan(plan)
        return cycle.run(self.runtime, self.scope.owner, planned, progress)

    def cycle_all(
        self, *, confirmed: bool = False, progress: Progress = no_progress
    ) -> Mapping[tuple[str, str], CycleReport | Notice]:
        """Run the cycle of every user of this folder: what was done, or why nothing was, by owner.
        A plan that would move most of a large store waits for `confirmed`."""
        from nagori.services import cycle

        check_bool("confirmed", confirmed)
        return cycle.run_all(self.runtime, confirmed=confirmed, progress=progress)

    def appraise(
        self,
        since: datetime | None = None,
        progress: Progress = no_progress,
        stop: Callable[[], bool] = never_stop,
    ) -> AppraisalReport:
        """Let the configured model appraise memories that only rules have appraised, since `since` or within
        `llm.appraise_days`. Without a model nothing happens."""
        from nagori.services.llm import appraise

        self.runtime.ledger.catch_up(self.scope.owner)
        return appraise.appraise_with_llm(self.runtime, self.scope.owner, _check_aware(since), progress, stop)

    def estimate_appraisal(self, since: datetime | None = None) -> Estimate:
        """The maximum number of requests and cost of `appraise`."""
        from nagori.services.llm import appraise

        self.runtime.ledger.catch_up(self.scope.owner)
        return appraise.estimate(self.runtime, self.scope.owner, _check_aware(since))

    def forget(self, id: str) -> Memory:
        """Hide a memory from every recall. `undo` brings it back; after the grace period it is deleted."""
        from nagori.services import edit_feedback_protect_link_forget_undo

        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit_feedback_protect_link_forget_undo.forget(self.runtime, self.scope, id)

    def undo(self, id: str) -> tuple[Memory, str]:
        """Revert the last change of a memory; returns the memory and what was undone."""
        from nagori.services import edit_feedback_protect_link_forget_undo

        self.runtime.ledger.catch_up(self.scope.owner, wait=True)
        return edit_feedback_protect_link_forget_undo.undo(self.runtime, self.scope, id)

    # --- erasing --------------------------------------------------------------------------------

    def plan_erasure(
        self,
        *,
        everything: bool = False,
        project: str | None = None,
        session: str | None = None,
        memory: str | None = None,
        about: str | None = None,
    ) -> ErasurePlan:
        """What an erasure would remove: everything of this user, or of one project or session, one memory by
        its id, or what was said about something. Nothing is changed. Choose one."""
        from nagori.services import erasure_plan

        runtime = self.runtime
        check_bool("everything", everything)
        given = {"project": project, "session": session, "memory": memory, "about": about}
        named = {kind: check_text(kind, name) for kind, name in given.items() if name is not None}
        if everything + len(named) != 1:
            raise InvalidInput("target", "error.erase_one_target")
        [(kind, name)] = named.items() or [("owner", "")]
        return erasure_plan.plan_erasure(runtime, self.scope, erasure_plan.ErasureTarget(kind, name))

    def erase(self, plan: ErasurePlan, progress: Progress = no_progress) -> ErasureReceipt:
        """Erase what the plan says, everywhere and for good; protection does not prevent it, and no undo
        brings it back. Conflict if the plan is no longer right. The receipt is signed and not kept here."""
        from nagori.services import erase
        from nagori.services.erasure_plan import ErasurePlan

        runtime = self.runtime
        check_kind("plan", plan, ErasurePlan)
        return erase.erase(runtime, self.scope, plan.target, plan.token, progress)

    def resume_erasures(self) -> Sequence[ErasureReceipt]:
        """Finish erasures that were interrupted, of every user of this folder."""
        from nagori.services import erase

        return erase.resume(self.runtime)

    def reopen(self) -> None:
        """Start a new, empty memory for a user whose memory was erased."""
        from nagori.services import erase

        erase.reopen(self.runtime, self.scope.owner)

    # --- export and import ----------------------------------------------------------------------

    def export(self, format: ExportFormat = "jsonl") -> Iterator[str]:
        """All memories as lines of `jsonl` (complete) or `markdown` (readable)."""
        from nagori.services import audit_log, transfer

        writers = {"jsonl": transfer.to_jsonl, "markdown": transfer.to_markdown}
        if not isinstance(format, str) or format not in writers:
            raise _no_such_format(format)
        audit_log.record_or_observe(self.runtime, "exported", self.scope.owner, format=format)
        return writers[format](self.runtime, self.scope)

    def import_(
        self, lines: Iterable[str], format: ExportFormat = "jsonl", progress: Progress = no_progress
    ) -> ImportReport:
        """Import what `export` wrote, or notes in Markdown, line by line."""
        from nagori.services import transfer

        check_list("lines", lines)
        if format == "markdown":
            return transfer.from_markdown(self.runtime, self.scope, lines)
        if format != "jsonl":
            raise _no_such_format(format)
        return transfer.from_jsonl(self.runtime, self.scope, lines, progress)

    def import_drafts(self, drafts: Iterable[Draft], progress: Progress = no_progress) -> ImportReport:
        """Import memories of another program; importing them again adds nothing."""
        from nagori.services import transfer

        check_list("drafts", drafts)
        return transfer.from_drafts(self.runtime, self.scope, drafts, progress)

    # --- maintenance ----------------------------------------------------------------------------

    def verify(self, progress: Progress = no_progress) -> Proof:
        """Check journal and store, and whether they agree."""
        from nagori.services import verify_and_rebuild

        return verify_and_rebuild.verify(self.runtime, progress)

    def rebuild(self, progress: Progress = no_progress, *, accept_damage: bool = False) -> int:
        """Rebuild the store from the journal."""
        from nagori.services import verify_and_rebuild

        return verify_and_rebuild.rebuild(self.runtime, progress, accept_damage=accept_damage)

    def embed_missing(self, progress: Progress = no_progress) -> int:
        """Make vectors for memories that have none."""
        from nagori.services import vectors

        self.runtime.ledger.catch_up(self.scope.owner)
        return vectors.embed_missing(self.runtime, self.scope.owner, progress)

    def plan_reembed(self) -> ReembedPlan:
        """What a change to the configured embedding model would involve; nothing is changed."""
        from nagori.services import vectors

        return vectors.plan(self.runtime)

    def reembed(self, progress: Progress = no_progress) -> ReembedReport:
        """Switch all memories to the configured embedding model; recall works meanwhile."""
        from nagori.services import vectors

        return vectors.reembed(self.runtime, progress)

    def backup(self, path: str | Path, progress: Progress = no_progress) -> BackupReport:
        """Write everything to one checked file, while others may write. `path` may be in a bucket:
        `s3://bucket/prefix/name?endpoint=…`."""
        from nagori.services import audit_log, backup

        if _is_bucket(path):
            from nagori.adapters.s3 import open_file

            bucket, name = open_file(str(path))
            report = backup.BucketBackups(bucket).write(self.runtime, name)
        else:
            report = backup.backup(self.runtime, _path(path), progress)
        audit_log.record_or_observe(self.runtime, "backed_up", bytes=report.bytes)
        return report

    def drill(self, path: str | Path | None = None) -> DrillReport:
        """Restore a backup into a temporary folder and compare its exports with the present data. Nothing is
        changed. Without a path it is the newest one of the nightly run (`backup.folder`)."""
        from nagori.services import backup

        if path is None:
            return backup.drill_newest(self.runtime, _open_runtime)
        with _local_backup(path, self.runtime.data_dir) as file:
            return backup.drill(self.runtime, file, _open_runtime)

    @staticmethod
    def restore(path: str | Path, data_dir: str | Path, stamp: datetime) -> Path | None:
        """Install a backup; former data is moved aside, and its folder is returned. If `data_dir` is the
        address of a database, its events are put there, where an owner has none or the same."""
        from nagori.services import audit_log, backup

        utc(stamp, "stamp")  # a time without a zone is refused
        if isinstance(data_dir, str) and "://" in data_dir:
            with (
                Nagori.open(data_dir, embedder=None, llm=None) as memory,
                _local_backup(path, memory.runtime.data_dir) as file,
            ):
                backup.restore_database(memory.runtime, file)
                audit_log.record_or_observe(memory.runtime, "restored")
            return None
        when = stamp.strftime("%Y%m%dT%H%M%S")
        folder = _path(data_dir, "data_dir")
        with _local_backup(path, folder.absolute().parent) as file:
            aside = backup.restore(file, folder, when, _open_runtime)
        audit_log.append(folder, stamp, "restored")
        return aside

    def encrypt(self, source: KeySource | None = None, progress: Progress = no_progress) -> EncryptionReport:
        """Encrypt everything on the disk. `source` says where the master key is kept; by default in a private
        file of the configuration folder."""
        from nagori.services import audit_log, encrypt

        report = encrypt.turn_on(self.runtime, source, progress)
        audit_log.record_or_observe(self.runtime, "keys_changed", change="on", source=report.source)
        return report

    def decrypt(self, progress: Progress = no_progress) -> EncryptionReport:
        """Write everything plainly again and forget the keys."""
        from nagori.services import audit_log, encrypt

        report = encrypt.turn_off(self.runtime, progress)
        audit_log.record_or_observe(self.runtime, "keys_changed", change="off")
        return report

    def rotate_keys(self, progress: Progress = no_progress) -> EncryptionReport:
        """Encrypt everything anew, with new keys."""
        from nagori.services import audit_log, encrypt

        report = encrypt.rotate(self.runtime, progress)
        audit_log.record_or_observe(self.runtime, "keys_changed", change="rotated", source=report.source)
        return report

    def encryption(self) -> EncryptionReport:
        """Whether the data is encrypted, where the key is, and what is plain nevertheless."""
        from nagori.services import encrypt

        return encrypt.describe(self.runtime)

    def save_keys(self, path: str | Path) -> None:
        """Write all keys into one private file, for backups that are restored on another machine."""
        from nagori.services import audit_log, encrypt

        encrypt.save_keys(self.runtime, _path(path))
        audit_log.record_or_observe(self.runtime, "keys_changed", change="saved")

    @staticmethod
    def load_keys(path: str | Path, data_dir: str | Path) -> None:
        """Install saved keys in a new data folder, before a backup is restored there."""
        from nagori.services import encrypt

        encrypt.load_keys(_path(data_dir, "data_dir"), _path(path))

    def compact(self) -> CompactReport:
        """Return the space of removed memories to the disk. It takes as long as copying the store."""
        from nagori.services import redact_journal_and_compact_store

        return redact_journal_and_compact_store.compact(self.runtime)

    def doctor(self) -> Sequence[Finding]:
        """Diagnose problems of installation and data."""
        from nagori.services.doctor import doctor

        return doctor(self.runtime)


@contextmanager
def _open_runtime(folder: Path) -> Iterator[Runtime]:
    with Nagori.open(folder, embedder=None, llm=None) as memory:
        yield memory.runtime


def _configured_embedder(config: Config, observe: Observer, folder: Path) -> Embedder | None:
    if config.embedding.provider == "none":
        return None
    from nagori.adapters.embed import open_embedder

    return open_embedder(config.embedding, observe, folder)


def _named_embedder(config: Config, name: str, observe: Observer, folder: Path) -> Embedder | None:
    from nagori.adapters.embed import open_named

    return (
        open_named(name, config.embedding, observe, folder) if config.embedding.provider != "none" else None
    )


def _configured_logs(config: Config) -> TurnLogs | None:
    if not config.sessions.log_dir:
        return None
    from nagori.adapters.parquet_turn_log import FolderFiles, ParquetLogs

    if config.sessions.log_dir.startswith("s3://"):
        from nagori.adapters.s3 import BucketFiles, parse_bucket

        return ParquetLogs(BucketFiles(parse_bucket(config.sessions.log_dir)))
    return ParquetLogs(FolderFiles(expand_home(config.sessions.log_dir, os.environ)))


def _configured_cache(config: Config) -> ThreadCache | None:
    if not config.sessions.cache:
        return None
    from nagori.adapters.credentials import key_from
    from nagori.adapters.redis_summaries import SessionCache

    return SessionCache(config.sessions.cache, key_from(config.sessions.password_env))


def _configured_bucket(config: Config) -> BackupBucket | None:
    if not _is_bucket(config.backup.folder):
        return None
    from nagori.adapters.s3 import BucketFiles, parse_bucket

    return BucketFiles(parse_bucket(config.backup.folder))


def _is_bucket(path: object) -> bool:
    return isinstance(path, str) and path.startswith("s3://")


@contextmanager
def _local_backup(path: str | Path, near: Path) -> Iterator[Path]:
    """The file of a backup; one in a bucket is copied near the data first."""
    if not _is_bucket(path):
        yield _path(path)
        return
    from nagori.adapters.s3 import open_file
    from nagori.services.backup import work_folder

    bucket, name = open_file(str(path))
    with work_folder(near) as work:
        yield bucket.fetch("", [name], work)[0]


def _configured_graph(config: Config) -> GraphMirror | None:
    if not config.graph.mirror:
        return None
    from nagori.adapters.bolt_graph import BoltGraph, parse_graph
    from nagori.adapters.credentials import key_from

    return BoltGraph(parse_graph(config.graph.mirror), key_from(config.graph.password_env))


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
    """The window settings of a call on top of the configured ones, and the token counter."""
    from nagori.adapters.tokens import open_counter
    from nagori.core.window import Window, apply_changes
    from nagori.services.window.prune import safe_counter

    if window is not None:
        check_kind("window", window, Window)
    rules = apply_changes(window or runtime.config.window, changes)
    if count is None:
        return rules, open_counter(rules.model, runtime.observe)
    return rules, safe_counter(count, runtime)


def _knowledge_report(done: Mapping[str, Mapping[str, Any]]) -> KnowledgeReport:
    from nagori.core.knowledge_base import KnowledgeReport

    added, replaced, unchanged = (tuple(done[kind]) for kind in ("added", "replaced", "unchanged"))
    return KnowledgeReport(added, replaced, unchanged, tuple(done["failed"].items()))


def _check_aware(moment: datetime | None, name: str = "since") -> datetime | None:
    return None if moment is None else utc(moment, name)


def _no_such_format(format: str) -> InvalidInput:
    return InvalidInput("format", "error.not_choice", value=format, choices="jsonl, markdown")


def _plan(plan: object) -> CyclePlan:
    from nagori.core.cycle import CyclePlan

    return check_kind("plan", plan, CyclePlan)


def _path(path: object, name: str = "path") -> Path:
    if not isinstance(path, str | Path) or not str(path) or "\0" in str(path):
        raise InvalidInput(name, "error.not_file_name", value=path)
    check_text(name, str(path))
    return Path(path)
