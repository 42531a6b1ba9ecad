"""The async class `AsyncNagori`: the same verbs, each run in a worker thread.

    async with AsyncNagori.open("folder") as memory:
        await memory.remember("The staging server moved to port 8443.")

`python -m docs.async_verbs` writes everything below the line from `app.py`, so that completion and type
checkers see every verb. A cancelled caller returns at once; the work in its thread is still finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Generic, ParamSpec, Self, TypeVar

from nagori.app import AUTO, SAME, Nagori, never_stop
from nagori.config import Config
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
)
from nagori.core.value_object import no_observer
from nagori.errors import MemoryClosed
from nagori.runtime import Progress, no_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.app import Count, ExportFormat, MessageFormat, Preset, Provider, Ranking, Strategy, Texts
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
    from nagori.core.storage_types import Measures
    from nagori.core.threads import WorkingMemory
    from nagori.core.value_object import Metadata
    from nagori.core.window import Window
    from nagori.encryption import KeySource
    from nagori.errors import Notice
    from nagori.protocols import LLM, Clock, Embedder, Journal, Observer, Store
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

WORKERS = 4

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
OpenedMemory = TypeVar("OpenedMemory", bound="AsyncNagori")


class Workers:
    """The worker threads of one memory, shared by all its views."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="nagori")
        self._closing = False

    async def run(
        self, verb: Callable[Arguments, Answer], *args: Arguments.args, **more: Arguments.kwargs
    ) -> Answer:
        """The result of `verb`, run in a thread."""
        if self._closing:
            raise MemoryClosed()
        return await asyncio.wrap_future(self._pool.submit(verb, *args, **more))

    async def open(self, open: Callable[[], Nagori]) -> Nagori:
        """Open a memory in a thread. If the caller is cancelled, it is closed again."""
        opening = self._pool.submit(open)
        try:
            return await asyncio.wrap_future(opening)
        except BaseException:
            opening.add_done_callback(_close_opened)
            self._pool.shutdown(wait=False)
            raise

    async def close(self, memory: Nagori) -> None:
        """Refuse new verbs, wait for running ones, then close."""
        self._closing = True
        await asyncio.to_thread(self._finish, memory)

    def _finish(self, memory: Nagori) -> None:
        self._pool.shutdown(wait=True)
        memory.close()


def _close_opened(opening: Future[Nagori]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


class PendingOpen(Generic[OpenedMemory]):
    """A memory that is being opened: use `async with`, or await it and close it yourself."""

    def __init__(self, kind: type[OpenedMemory], open: Callable[[], Nagori]) -> None:
        self._kind, self._open = kind, open
        self._memory: OpenedMemory | None = None

    def __await__(self) -> Generator[Any, None, OpenedMemory]:
        return self._opened().__await__()

    async def _opened(self) -> OpenedMemory:
        workers = Workers()
        return self._kind(await workers.open(self._open), workers)

    async def __aenter__(self) -> OpenedMemory:
        self._memory = await self
        return self._memory

    async def __aexit__(self, *_: object) -> None:
        if self._memory is not None:
            await self._memory.close()


class AsyncTurn:
    """An `OpenTurn` whose answer is awaited."""

    def __init__(self, turn: OpenTurn, workers: Workers) -> None:
        self._turn, self._workers = turn, workers

    async def answer(self, text: str, *, speaker: str | None = None, at: datetime | None = None) -> None:
        """Record the answer. When this returns, it is durable."""
        await self._workers.run(self._turn.answer, text, speaker=speaker, at=at)

    async def context(self) -> Context:
        """What the memory gives for this turn."""
        return await self._workers.run(lambda: self._turn.context)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self._workers.run(self._turn.finish)


class AsyncConversation:
    """A `Conversation` whose `add`, `recall` and `end` are awaited; others may add to it meanwhile."""

    def __init__(self, conversation: Conversation, workers: Workers) -> None:
        self._conversation, self._workers = conversation, workers

    async def add(self, *messages: Any) -> PruneResult:
        """Add messages and prune if necessary; the report says what was done."""
        return await self._workers.run(self._conversation.add, *messages)

    async def end(self) -> list[Memory]:
        """End the conversation: what is still in the window is remembered, too."""
        return await self._workers.run(self._conversation.end)

    async def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        filter: Filter = ALIVE,
        tokens: int | None = None,
        min_confidence: float | None = None,
        mark: bool = True,
    ) -> list[Recollection]:
        """Recall from this conversation and from everything else that is remembered."""
        verb = self._conversation.recall
        return await self._workers.run(
            verb, query, k, filter=filter, tokens=tokens, min_confidence=min_confidence, mark=mark
        )

    @property
    def history(self) -> list[Any]:
        """All messages."""
        return self._conversation.history

    @property
    def messages(self) -> list[Any]:
        """The messages to send: the last pruned view, and whatever was added since."""
        return self._conversation.messages

    @property
    def report(self) -> dict[str, Any]:
        """The report of the last pruning; empty before the first."""
        return self._conversation.report


class _AsyncMemory:
    """The members of `AsyncNagori` besides its verbs."""

    def __init__(self, memory: Nagori, workers: Workers) -> None:
        self._memory, self._workers = memory, workers

    @property
    def scope(self) -> Scope:
        """The owner, and who is asking."""
        return self._memory.scope

    @property
    def config(self) -> Config:
        """The settings in use."""
        return self._memory.config

    async def close(self) -> None:
        """Close it, also for every view that `within` returned, after running verbs have finished."""
        await self._workers.close(self._memory)

    async def __aenter__(self) -> Self:
        await self._workers.run(self._memory.__enter__)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


# --- written by `python -m docs.async_verbs`; change app.py, not this ---------------------------------


class AsyncNagori(_AsyncMemory):
    """`await memory.recall(…)`: the verbs of `Nagori`, awaited.

    >>> async with AsyncNagori.open("/tmp/example") as memory:      # doctest: +SKIP
    ...     await memory.remember("The staging server moved to port 8443.")
    """

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
    ) -> PendingOpen[Self]:
        """Open the memory in `data_dir` (default: the configured one); a new one is created."""
        return PendingOpen(
            cls,
            partial(
                Nagori.open,
                data_dir,
                scope=scope,
                config=config,
                clock=clock,
                embedder=embedder,
                llm=llm,
                store=store,
                journal=journal,
                observe=observe,
            ),
        )

    @staticmethod
    def folder(data_dir: str | Path | None, config: Config) -> Path:
        """The data folder: the given one, or the configured one."""
        return Nagori.folder(data_dir, config)

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
        return type(self)(
            self._memory.with_scope(
                scope,
                user=user,
                tenant=tenant,
                project=project,
                agent=agent,
                role=role,
                task=task,
                unnamed_agent=unnamed_agent,
            ),
            self._workers,
        )

    async def remember(
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
        """Store one memory; when this returns, it is durable."""
        return await self._workers.run(
            self._memory.remember,
            content,
            trigger=trigger,
            kind=kind,
            category=category,
            emotion=emotion,
            keywords=keywords,
            created=created,
            source=source,
            trust=trust,
            privacy=privacy,
            protect=protect,
            metadata=metadata,
        )

    async def remember_many(
        self, drafts: Iterable[str | Draft], progress: Progress = no_progress
    ) -> list[Memory]:
        """Store many memories at once."""
        return await self._workers.run(self._memory.remember_many, drafts, progress)

    async def form(
        self,
        turns: Iterable[Turn | Mapping[str, Any]],
        progress: Progress = no_progress,
        *,
        session: str | None = None,
    ) -> list[Memory]:
        """Form memories from a conversation, one for each turn."""
        return await self._workers.run(self._memory.form, turns, progress, session=session)

    async def turn(
        self,
        text: str,
        *,
        session: str,
        role: Trust | TrustName = Trust.USER,
        speaker: str | None = None,
        at: datetime | None = None,
        ref: str | None = None,
    ) -> AsyncTurn:
        """Record a turn."""
        return AsyncTurn(
            await self._workers.run(
                self._memory.turn, text, session=session, role=role, speaker=speaker, at=at, ref=ref
            ),
            self._workers,
        )

    async def process(self) -> int:
        """Form memories of all recorded turns that are still unprocessed; returns the number of turns."""
        return await self._workers.run(self._memory.process)

    async def context(
        self, prompt: str, *, session: str = "", project: str | None = None, mark: bool = True
    ) -> Context:
        """The context for an agent's prompt: the text that hooks inject, and the memories in it."""
        return await self._workers.run(
            self._memory.context, prompt, session=session, project=project, mark=mark
        )

    async def explain_context(
        self, prompt: str, *, session: str = "", project: str | None = None
    ) -> ContextExplanation:
        """What `context` would give for a prompt, why each memory, and what was left out."""
        return await self._workers.run(self._memory.explain_context, prompt, session=session, project=project)

    async def full_context(
        self,
        prompt: str,
        *,
        session: str = "",
        tokens: int | None = None,
        knowledge: Texts = (),
        mark: bool = True,
    ) -> FullContext:
        """Everything for a turn within one budget of tokens, for programs that ask once: past conversations,
        recent sessions, the profile, and passages of the knowledge bases named by `knowledge`, with
        nothing told twice."""
        return await self._workers.run(
            self._memory.full_context, prompt, session=session, tokens=tokens, knowledge=knowledge, mark=mark
        )

    async def session_start(
        self, session: str = "", *, project: str | None = None, mark: bool = True
    ) -> Context:
        """What an agent should be given when a session starts: what is protected, and where things stood."""
        return await self._workers.run(self._memory.session_start, session, project=project, mark=mark)

    async def threads(self, session: str | None = None) -> list[ThreadSummary]:
        """The threads of a session, or of the recent sessions: their turns, why they ended, and the id of
        the summary that is kept of each."""
        return await self._workers.run(self._memory.threads, session)

    async def sessions(self) -> list[SessionInfo]:
        """The recent sessions, newest first: their times, turns, speakers and threads."""
        return await self._workers.run(self._memory.sessions)

    async def working_memory(self, session: str) -> WorkingMemory:
        """The last turns of a session's open thread, and how often each speaker spoke in it."""
        return await self._workers.run(self._memory.working_memory, session)

    async def profile(self) -> Profile:
        """What the memories say about the user: topics, speakers, how well they are known, and a vector of
        the top ten topics."""
        return await self._workers.run(self._memory.profile)

    async def export_log(self) -> int:
        """Write the Parquet log of all turns up to now (`sessions.log_dir`); returns the number of the last
        event in it."""
        return await self._workers.run(self._memory.export_log)

    async def query_log(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The column names and rows of one SELECT over the table `turns` of the Parquet log: the user's own
        turns, read-only, without access to anything else."""
        return await self._workers.run(self._memory.query_log, sql)

    async def mirror_graph(self, *, rebuild: bool = False, progress: Progress = no_progress) -> MirrorReport:
        """Bring the copy of the user's memories, their concepts and relations in a graph server up to date
        (`graph.mirror`); with `rebuild`, empty it first."""
        return await self._workers.run(self._memory.mirror_graph, rebuild=rebuild, progress=progress)

    async def recall(
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
        a confidence of at least `min_confidence`."""
        return await self._workers.run(
            self._memory.recall,
            query,
            k,
            filter=filter,
            ranking=ranking,
            mood=mood,
            session=session,
            tokens=tokens,
            min_confidence=min_confidence,
            mark=mark,
            category=category,
            spread=spread,
        )

    async def associate(
        self,
        query: str,
        k: int = 10,
        progress: Progress = no_progress,
        *,
        depth: int = 3,
        filter: Filter = ALIVE,
    ) -> Association:
        """Where `query` leads: other topics of the memories that answer it, and memories that share topics
        with them, at most `k` each."""
        return await self._workers.run(self._memory.associate, query, k, progress, depth=depth, filter=filter)

    async def summary(self, session: str, tokens: int = 200, *, model: bool = False) -> str:
        """A summary of a session, in a few of its own sentences; with `model`, written by the language
        model."""
        return await self._workers.run(self._memory.summary, session, tokens, model=model)

    async def show(self, id: str) -> Memory:
        """One memory, by id or by a unique prefix."""
        return await self._workers.run(self._memory.show, id)

    async def list(
        self, filter: Filter = ALIVE, *, limit: int = 100, older_than: Memory | None = None
    ) -> list[Memory]:
        """Memories, newest first."""
        return await self._workers.run(self._memory.list, filter, limit=limit, older_than=older_than)

    async def as_of(self, moment: datetime, filter: Filter = ALIVE) -> Sequence[Memory]:
        """The memories as they were at a past moment, newest first, from the journal."""
        return await self._workers.run(self._memory.as_of, moment, filter)

    async def why(self, id: str, query: str | None = None) -> Explanation:
        """The explanation of a memory: its retention, its history and its forecast."""
        return await self._workers.run(self._memory.why, id, query)

    async def log(
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
        return await self._workers.run(
            self._memory.log, id, types=types, since=since, until=until, limit=limit
        )

    async def find_related(self, id: str) -> Sequence[RelatedMemory]:
        """The memories that are related to this one, strongest first."""
        return await self._workers.run(self._memory.find_related, id)

    async def populations(
        self, past: int | None = None, ahead: int = 0, progress: Progress = no_progress
    ) -> Sequence[Population]:
        """The number of memories at each level, day by day, with a forecast without recalls."""
        return await self._workers.run(self._memory.populations, past, ahead, progress)

    async def status(self) -> Status:
        """Counts, sizes and the last event."""
        return await self._workers.run(self._memory.status)

    async def measure(self) -> Measures:
        """Memories by kind and tier, and how far they are compressed."""
        return await self._workers.run(self._memory.measure)

    async def usage(self) -> Usage | None:
        """Memories per day and their sizes over the last month; None without data."""
        return await self._workers.run(self._memory.usage)

    async def add_knowledge(
        self, path: str | Path, *, kb: str, progress: Progress = no_progress
    ) -> KnowledgeReport:
        """Add a document, or all documents of a folder, to a knowledge base: Markdown, text, HTML, PDF (with
        `pypdf`)."""
        return await self._workers.run(self._memory.add_knowledge, path, kb=kb, progress=progress)

    async def search_knowledge(
        self, query: str, *, kb: str | None = None, k: int = 5
    ) -> Sequence[KnowledgePassage]:
        """The passages of a knowledge base, or of all, that answer `query`, best first, with sources."""
        return await self._workers.run(self._memory.search_knowledge, query, kb=kb, k=k)

    async def list_knowledge(self, *, kb: str | None = None) -> Sequence[DocumentInfo]:
        """The documents of a knowledge base, or of all, with their versions."""
        return await self._workers.run(self._memory.list_knowledge, kb=kb)

    async def remove_knowledge(self, document: str, *, kb: str) -> DocumentInfo:
        """Remove a document from a knowledge base, and its words from the journal."""
        return await self._workers.run(self._memory.remove_knowledge, document, kb=kb)

    async def prune(
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
        """Prune a conversation to a token `budget`, for a model's context window."""
        return await self._workers.run(
            self._memory.prune,
            messages,
            before=before,
            session=session,
            budget=budget,
            preset=preset,
            strategy=strategy,
            target=target,
            window=window,
            format=format,
            model=model,
            count=count,
            provider=provider,
            beside=beside,
            pins=pins,
            remember=remember,
        )

    async def conversation(
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
    ) -> AsyncConversation:
        """A conversation that prunes itself as messages are added; the options are those of `prune`."""
        return AsyncConversation(
            await self._workers.run(
                self._memory.conversation,
                messages,
                session=session,
                budget=budget,
                preset=preset,
                strategy=strategy,
                target=target,
                window=window,
                format=format,
                model=model,
                count=count,
                provider=provider,
                beside=beside,
                pins=pins,
                remember=remember,
            ),
            self._workers,
        )

    async def edit(
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
        """Correct a memory."""
        return await self._workers.run(
            self._memory.edit,
            id,
            content=content,
            trigger=trigger,
            kind=kind,
            category=category,
            emotion=emotion,
            privacy=privacy,
            metadata=metadata,
            project=project,
            version=version,
        )

    async def feedback(self, id: str, good: bool) -> Memory:
        """Say whether a memory was useful: it gets stronger or weaker, once a day at most."""
        return await self._workers.run(self._memory.feedback, id, good)

    async def record_tools(self, results: Iterable[ToolResult], *, session: str) -> None:
        """Record what an agent's tools did in a turn: what works after a failure becomes a lesson, and the
        memories of the turn are credited."""
        return await self._workers.run(self._memory.record_tools, results, session=session)

    async def share(
        self,
        lessons: Texts,
        *,
        outcome: TaskOutcome | OutcomeName | None = None,
        privacy: Privacy | PrivacyName = Privacy.AGENT_ONLY,
        task: str | None = None,
    ) -> Sequence[Memory]:
        """Store what an agent learned from a task, for itself (`private`), for agents of its role (`agent-
        only`) or for all (`public`)."""
        return await self._workers.run(
            self._memory.share, lessons, outcome=outcome, privacy=privacy, task=task
        )

    async def policy(self) -> Policy:
        """The settings that were learned from outcomes, and every version of them with its evidence."""
        return await self._workers.run(self._memory.policy)

    async def policy_back(self) -> Policy:
        """Restore the learned settings as they were before the last change."""
        return await self._workers.run(self._memory.policy_back)

    async def policy_off(self) -> Policy:
        """Use the configured settings and learn no others; `policy_back` switches it on again."""
        return await self._workers.run(self._memory.policy_off)

    async def protect(self, id: str, release: Texts = ()) -> Memory:
        """Protect a memory from decay; `release` are the ids of protected ones to release, to make room."""
        return await self._workers.run(self._memory.protect, id, release)

    async def unprotect(self, id: str) -> Memory:
        """Release a protected memory: it decays again."""
        return await self._workers.run(self._memory.unprotect, id)

    async def link(
        self, id: str, other: str, type: RelationType | RelationName = RelationType.REFERENCES
    ) -> Relation:
        """Link a memory to another one: it continues, references, contradicts or is derived from it, or has
        the same topic."""
        return await self._workers.run(self._memory.link, id, other, type)

    async def unlink(
        self, id: str, other: str, type: RelationType | RelationName | None = None
    ) -> Sequence[Relation]:
        """Remove the relations between two memories, of one type or of all; returns them."""
        return await self._workers.run(self._memory.unlink, id, other, type)

    async def archive(self, id: str) -> Memory:
        """Archive a memory; it can still be found and restored."""
        return await self._workers.run(self._memory.archive, id)

    async def unarchive(self, id: str) -> Memory:
        """Restore an archived memory, while its full text is kept."""
        return await self._workers.run(self._memory.unarchive, id)

    async def plan(self) -> CyclePlan:
        """The plan of a cycle now, with reasons; nothing is changed."""
        return await self._workers.run(self._memory.plan)

    async def preview(self, plan: CyclePlan | None = None) -> Preview:
        """The preview of a plan: examples, bytes saved, tokens a model would use."""
        return await self._workers.run(self._memory.preview, plan)

    async def cycle(self, plan: CyclePlan | None = None, progress: Progress = no_progress) -> CycleReport:
        """Run one cycle: reinforce what was recalled, compress, archive and revive."""
        return await self._workers.run(self._memory.cycle, plan, progress)

    async def cycle_all(
        self, *, confirmed: bool = False, progress: Progress = no_progress
    ) -> Mapping[tuple[str, str], CycleReport | Notice]:
        """Run the cycle of every user of this folder: what was done, or why nothing was, by owner."""
        return await self._workers.run(self._memory.cycle_all, confirmed=confirmed, progress=progress)

    async def appraise(
        self,
        since: datetime | None = None,
        progress: Progress = no_progress,
        stop: Callable[[], bool] = never_stop,
    ) -> AppraisalReport:
        """Let the configured model appraise memories that only rules have appraised, since `since` or within
        `llm.appraise_days`."""
        return await self._workers.run(self._memory.appraise, since, progress, stop)

    async def estimate_appraisal(self, since: datetime | None = None) -> Estimate:
        """The maximum number of requests and cost of `appraise`."""
        return await self._workers.run(self._memory.estimate_appraisal, since)

    async def forget(self, id: str) -> Memory:
        """Hide a memory from every recall."""
        return await self._workers.run(self._memory.forget, id)

    async def undo(self, id: str) -> tuple[Memory, str]:
        """Revert the last change of a memory; returns the memory and what was undone."""
        return await self._workers.run(self._memory.undo, id)

    async def plan_erasure(
        self,
        *,
        everything: bool = False,
        project: str | None = None,
        session: str | None = None,
        memory: str | None = None,
        about: str | None = None,
    ) -> ErasurePlan:
        """What an erasure would remove: everything of this user, or of one project or session, one memory by
        its id, or what was said about something."""
        return await self._workers.run(
            self._memory.plan_erasure,
            everything=everything,
            project=project,
            session=session,
            memory=memory,
            about=about,
        )

    async def erase(self, plan: ErasurePlan, progress: Progress = no_progress) -> ErasureReceipt:
        """Erase what the plan says, everywhere and for good; protection does not prevent it, and no undo
        brings it back."""
        return await self._workers.run(self._memory.erase, plan, progress)

    async def resume_erasures(self) -> Sequence[ErasureReceipt]:
        """Finish erasures that were interrupted, of every user of this folder."""
        return await self._workers.run(self._memory.resume_erasures)

    async def reopen(self) -> None:
        """Start a new, empty memory for a user whose memory was erased."""
        return await self._workers.run(self._memory.reopen)

    async def export(self, format: ExportFormat = "jsonl") -> Sequence[str]:
        """All memories as lines of `jsonl` (complete) or `markdown` (readable)."""
        return await self._workers.run(lambda: tuple(self._memory.export(format)))

    async def import_(
        self, lines: Iterable[str], format: ExportFormat = "jsonl", progress: Progress = no_progress
    ) -> ImportReport:
        """Import what `export` wrote, or notes in Markdown, line by line."""
        return await self._workers.run(self._memory.import_, lines, format, progress)

    async def import_drafts(self, drafts: Iterable[Draft], progress: Progress = no_progress) -> ImportReport:
        """Import memories of another program; importing them again adds nothing."""
        return await self._workers.run(self._memory.import_drafts, drafts, progress)

    async def verify(self, progress: Progress = no_progress) -> Proof:
        """Check journal and store, and whether they agree."""
        return await self._workers.run(self._memory.verify, progress)

    async def rebuild(self, progress: Progress = no_progress, *, accept_damage: bool = False) -> int:
        """Rebuild the store from the journal."""
        return await self._workers.run(self._memory.rebuild, progress, accept_damage=accept_damage)

    async def embed_missing(self, progress: Progress = no_progress) -> int:
        """Make vectors for memories that have none."""
        return await self._workers.run(self._memory.embed_missing, progress)

    async def plan_reembed(self) -> ReembedPlan:
        """What a change to the configured embedding model would involve; nothing is changed."""
        return await self._workers.run(self._memory.plan_reembed)

    async def reembed(self, progress: Progress = no_progress) -> ReembedReport:
        """Switch all memories to the configured embedding model; recall works meanwhile."""
        return await self._workers.run(self._memory.reembed, progress)

    async def backup(self, path: str | Path, progress: Progress = no_progress) -> BackupReport:
        """Write everything to one checked file, while others may write."""
        return await self._workers.run(self._memory.backup, path, progress)

    async def drill(self, path: str | Path | None = None) -> DrillReport:
        """Restore a backup into a temporary folder and compare its exports with the present data."""
        return await self._workers.run(self._memory.drill, path)

    @staticmethod
    async def restore(path: str | Path, data_dir: str | Path, stamp: datetime) -> Path | None:
        """Install a backup; former data is moved aside, and its folder is returned."""
        return await asyncio.to_thread(Nagori.restore, path, data_dir, stamp)

    async def encrypt(
        self, source: KeySource | None = None, progress: Progress = no_progress
    ) -> EncryptionReport:
        """Encrypt everything on the disk."""
        return await self._workers.run(self._memory.encrypt, source, progress)

    async def decrypt(self, progress: Progress = no_progress) -> EncryptionReport:
        """Write everything plainly again and forget the keys."""
        return await self._workers.run(self._memory.decrypt, progress)

    async def rotate_keys(self, progress: Progress = no_progress) -> EncryptionReport:
        """Encrypt everything anew, with new keys."""
        return await self._workers.run(self._memory.rotate_keys, progress)

    async def encryption(self) -> EncryptionReport:
        """Whether the data is encrypted, where the key is, and what is plain nevertheless."""
        return await self._workers.run(self._memory.encryption)

    async def save_keys(self, path: str | Path) -> None:
        """Write all keys into one private file, for backups that are restored on another machine."""
        return await self._workers.run(self._memory.save_keys, path)

    @staticmethod
    async def load_keys(path: str | Path, data_dir: str | Path) -> None:
        """Install saved keys in a new data folder, before a backup is restored there."""
        return await asyncio.to_thread(Nagori.load_keys, path, data_dir)

    async def compact(self) -> CompactReport:
        """Return the space of removed memories to the disk."""
        return await self._workers.run(self._memory.compact)

    async def doctor(self) -> Sequence[Finding]:
        """Diagnose problems of installation and data."""
        return await self._workers.run(self._memory.doctor)
