"""A client of a nagori server: the same verbs as `Nagori`, over HTTP. Standard library only.

    memory = RemoteNagori.open("https://memory.example.org", key="nagori_…")
    memory.remember("The staging server moved to port 8443.")

`python -m docs.remote_verbs` writes everything below the line from `app.py` and the table of routes. A verb
sends its arguments and reads the answer by its own return type; whatever is decided is decided by the server.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from http.client import HTTPException, HTTPResponse
from pathlib import PurePath
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from nagori import errors
from nagori.adapters.deadline_connection import LOOPBACK, Deadline, Line
from nagori.app import SAME
from nagori.core.cost_estimate import Usage
from nagori.core.model import (
    ALIVE,
    Category,
    Emotion,
    Filter,
    Kind,
    Memory,
    Privacy,
    Recollection,
    Relation,
    RelationType,
    Source,
    TaskOutcome,
    Trust,
    Turn,
)
from nagori.core.outcomes_lessons_and_credit import ToolResult
from nagori.core.simulate_future_cycles import Population
from nagori.core.spreading_activation import Association
from nagori.core.storage_types import Measures
from nagori.core.threads import WorkingMemory
from nagori.core.value_object import Value, fields_of
from nagori.edges.http.wire import from_plain, to_plain
from nagori.errors import InvalidInput, NagoriError, Notice, StoreError
from nagori.services.assemble_full_context import FullContext
from nagori.services.cycle import CycleReport
from nagori.services.erasure_plan import ErasurePlan
from nagori.services.erasure_receipt import ErasureReceipt
from nagori.services.explain_ranking_and_context import ContextExplanation
from nagori.services.learned_settings import Policy
from nagori.services.list_threads_and_view_working_memory import SessionInfo, ThreadSummary
from nagori.services.llm.appraise import AppraisalReport, Estimate
from nagori.services.preview_next_cycle import Preview
from nagori.services.profile_of_topics_and_speakers import Profile
from nagori.services.prompt_context import Context
from nagori.services.related_memories_and_stale_links import RelatedMemory
from nagori.services.remember import Draft
from nagori.services.transfer import ImportReport
from nagori.services.why_log_as_of_and_status import Explanation, LifeEvent, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.app import ExportFormat, Ranking, Texts
    from nagori.core.model import CategoryName, KindName, OutcomeName, PrivacyName, RelationName, TrustName
    from nagori.core.value_object import Metadata


TIMEOUT = 60.0
LONGEST_ANSWER = 64 * 1024 * 1024


class ServerConnection:
    """Requests to one server, each within a deadline. Its repr shows no key."""

    def __init__(self, url: str, key: str, timeout: float = TIMEOUT) -> None:
        self._at = urlsplit(url.rstrip("/"))
        known = self._at.scheme in ("https", "http") and self._at.hostname and "@" not in self._at.netloc
        if not known or (self._at.scheme == "http" and self._at.hostname not in LOOPBACK):
            raise InvalidInput("url", "error.server_url")
        if not (key.isascii() and key.isprintable()):
            raise InvalidInput("key", "error.key_characters", host=self._at.hostname)
        self._headers = {"authorization": f"Bearer {key}", "user-agent": "nagori", "connection": "close"}
        self.timeout = timeout

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON of an answer; the server's error as the exception that it was there."""
        with self.open(method, path, body, headers) as response:
            answer = response.read(LONGEST_ANSWER + 1)
        if len(answer) > LONGEST_ANSWER:
            raise StoreError("error.answer_too_long", host=self._at.hostname, most=LONGEST_ANSWER)
        return _decode(answer, self._at.hostname)

    @contextmanager
    def open(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[HTTPResponse]:
        """A good answer, to be read piece by piece."""
        line = Line(self._at, Deadline(self.timeout, time.monotonic))
        sent = None if body is None else json.dumps(body, ensure_ascii=False, default=to_plain).encode()
        kind = {} if body is None else {"content-type": "application/json"}
        try:
            line.request(method, self._at.path + path, sent, {**self._headers, **kind, **(headers or {})})
            response = line.getresponse()
            if response.status // 100 != 2:
                raise read_error(_decode(response.read(1 << 20), self._at.hostname), response.status)
            yield response
        except (OSError, HTTPException) as trouble:
            reason = getattr(trouble, "strerror", None) or type(trouble).__name__
            raise StoreError("error.server_away", host=self._at.hostname, reason=reason) from trouble
        finally:
            line.hang_up()


def _decode(answer: bytes, host: str | None) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        raise StoreError("error.answer_not_object", host=host) from None


def read_error(answer: Any, status: int) -> NagoriError:
    """The error that a server told, as its own class."""
    told = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(told, dict) or not isinstance(told.get("id"), str):
        return StoreError("error.status", host="nagori", status=status, message="")
    kind = getattr(errors, str(told.get("type")), NagoriError)
    if not (isinstance(kind, type) and issubclass(kind, NagoriError)):
        kind = NagoriError
    notice = Notice.from_record({"id": told["id"], "values": told.get("values") or {}})
    error = kind.__new__(kind)
    NagoriError.__init__(error, notice.id, **dict(notice.values))
    for name in ("field", "candidates"):
        if name in told:
            setattr(error, name, told[name])
    error.status = status  # type: ignore[attr-defined]
    return error


class RemoteTurn:
    """A recorded turn whose answer is still open."""

    def __init__(self, memory: RemoteNagori, session: str, withheld: bool) -> None:
        self._memory, self.session, self.withheld = memory, session, withheld

    def answer(self, text: str, *, speaker: str | None = None, at: datetime | None = None) -> None:
        """Record the answer. When this returns, it is durable. The answer to a private turn is not kept."""
        if not self.withheld:
            self._memory.turn(text, session=self.session, role=Trust.ASSISTANT, speaker=speaker, at=at)


class _RemoteMemory:
    """The members of `RemoteNagori` that differ from those of `Nagori`."""

    def __init__(self, connection: ServerConnection, scope: Mapping[str, str]) -> None:
        self._connection, self._scope = connection, dict(scope)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        key: str,
        timeout: float = TIMEOUT,
        user: str | None = None,
        project: str | None = None,
        agent: str | None = None,
        role: str | None = None,
        unnamed_agent: bool = False,
    ) -> Self:
        """A server's memory. `user`, `project`, `agent` and `role` narrow the scope of the key. With
        `unnamed_agent` an agent without a name asks, not the user: it sees what is public."""
        return cls(ServerConnection(url, key, timeout), {}).with_scope(
            user=user, project=project, agent=agent, role=role, unnamed_agent=unnamed_agent
        )

    def with_scope(
        self,
        *,
        user: str | None = SAME,
        project: str | None = SAME,
        agent: str | None = SAME,
        role: str | None = SAME,
        unnamed_agent: bool = SAME,
    ) -> Self:
        """The same memory with another scope, as far as the key allows it. None: what the key says."""
        named = {"user": user, "project": project, "agent": agent, "role": role}
        if unnamed_agent is not SAME:
            named["unnamed-agent"] = "true" if unnamed_agent else None
        scope = {**self._scope, **{name: value for name, value in named.items() if value is not SAME}}
        return type(self)(
            self._connection, {name: value for name, value in scope.items() if value is not None}
        )

    def close(self) -> None:
        """Nothing is held open between two requests."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, method: str, path: str, /, *, once: str | None = None, **arguments: Any) -> Any:
        """Send what was given: in the path, in the query, or as the body."""
        given = {name: _plain(value) for name, value in arguments.items() if _is_given(value)}
        if method == "PATCH" and arguments.get("project", SAME) is None:
            given["project"] = None  # the one argument of which None is a value: in every project
        for name in [name for name in given if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", quote(str(given.pop(name)), safe=""))
        headers = {f"nagori-{name}": quote(value, safe="") for name, value in self._scope.items()}
        if once is not None:
            headers["idempotency-key"] = once
        if method in ("GET", "DELETE"):
            query = urlencode(_flat(given), doseq=True)
            return self._connection.ask(method, f"{path}?{query}" if query else path, None, headers)
        return self._connection.ask(method, path, given, headers)

    def _call(self, method: str, path: str, kind: Any, /, **arguments: Any) -> Any:
        return from_plain(kind, self._ask(method, path, **arguments))

    def show(self, id: str) -> Memory:
        """One memory, by id or by a unique prefix."""
        return self._read_memory("GET", "/v1/memories/{id}", id=id, forgotten=True)

    def _read_memory(self, method: str, path: str, /, **arguments: Any) -> Memory:
        memory: Memory = self._call(method, path, Memory, **arguments)
        return memory

    def remember_many(self, drafts: Iterable[str | Draft], *, once: str | None = None) -> list[Memory]:
        """Store many memories at once."""
        told = [Draft(draft) if isinstance(draft, str) else draft for draft in drafts]
        made: list[Memory] = self._call("POST", "/v1/memories/batch", list[Memory], drafts=told, once=once)
        return made

    def turn(
        self,
        text: str,
        *,
        session: str,
        role: Trust | TrustName = Trust.USER,
        speaker: str | None = None,
        at: datetime | None = None,
        ref: str | None = None,
    ) -> RemoteTurn:
        """Record a turn. When this returns, it is durable."""
        where: dict[str, Any] = {"text": text, "session": session, "role": role}
        answer = self._ask("POST", "/v1/turns", **where, speaker=speaker, at=at, ref=ref)
        assert isinstance(self, RemoteNagori)
        return RemoteTurn(self, answer["session"], answer["withheld"])

    def process(self) -> int:
        """Form memories of all recorded turns that are still unprocessed; returns the number of turns."""
        return int(self._ask("POST", "/v1/turns/process")["n"])

    def form(self, turns: Iterable[Turn | Mapping[str, Any]], *, session: str | None = None) -> list[Memory]:
        """Form memories from a conversation, one for each turn."""
        told = [_message(turn) if isinstance(turn, Turn) else turn for turn in turns]
        made: list[Memory] = self._call(
            "POST", "/v1/conversations", list[Memory], turns=told, session=session
        )
        return made

    def summary(self, session: str, tokens: int = 200, *, model: bool = False) -> str:
        """A summary of a session, in a few of its own sentences."""
        return str(self._ask("GET", "/v1/summary", session=session, tokens=tokens, model=model)["text"])

    def undo(self, id: str, *, once: str | None = None) -> tuple[Memory, str]:
        """Revert the last change of a memory; returns the memory and what was undone."""
        answer = self._ask("POST", "/v1/memories/{id}/undo", id=id, once=once)
        return from_plain(Memory, answer["memory"]), answer["change"]

    def preview(self) -> Preview:
        """The preview of a cycle: examples, bytes saved, tokens a model would use. Nothing is changed."""
        told: Preview = self._call("GET", "/v1/cycle", Preview)
        return told

    def cycle(self, *, confirmed: bool = False) -> CycleReport:
        """Run one cycle. A plan that would move most of a large store waits for `confirmed`."""
        report: CycleReport = self._call("POST", "/v1/cycle", CycleReport, confirmed=confirmed)
        return report

    def embed_missing(self) -> int:
        """Make vectors for memories that have none."""
        return int(self._ask("POST", "/v1/vectors")["n"])

    def plan_erasure(self, kind: str, name: str) -> ErasurePlan:
        """What an erasure would remove: of the `owner` by the user's name, a `project`, a `session`, a
        `memory` by its id, or what is `about` something. Nothing is changed."""
        plan: ErasurePlan = self._call("POST", "/v1/erasures/plan", ErasurePlan, kind=kind, name=name)
        return plan

    def erase(self, plan: ErasurePlan) -> ErasureReceipt:
        """Erase what the plan says, everywhere and for good."""
        name = plan.target.name or plan.owner[1]
        told = {"target": {"kind": plan.target.kind, "name": name}, "token": plan.token}
        receipt: ErasureReceipt = self._call("POST", "/v1/erasures", ErasureReceipt, plan=told)
        return receipt

    def export(self, format: ExportFormat = "jsonl") -> Iterator[str]:
        """All memories as lines of `jsonl` (complete) or `markdown` (readable)."""
        headers = {f"nagori-{name}": quote(value, safe="") for name, value in self._scope.items()}
        with self._connection.open("GET", f"/v1/export?format={format}", None, headers) as response:
            for line in response:
                yield line.decode().removesuffix("\n")

    def import_(self, lines: Iterable[str], format: ExportFormat = "jsonl") -> ImportReport:
        """Import what `export` wrote, or notes in Markdown, line by line."""
        report: ImportReport = self._call("POST", "/v1/import", ImportReport, lines=[*lines], format=format)
        return report


def _message(turn: Turn) -> dict[str, Any]:
    return {"role": turn.role, "content": turn.text, "name": turn.speaker, "at": turn.at}


def _is_given(value: Any) -> bool:
    return value is not None and value is not SAME and not callable(value)


def _plain(value: Any) -> Any:
    """An argument as JSON has it: a memory by its id, another value by the fields that are not usual."""
    if isinstance(value, Memory):
        return value.id
    if isinstance(value, Value):
        usual = type(value)._defaults
        told = {name: getattr(value, name) for name in fields_of(value)}
        return {name: _plain(each) for name, each in told.items() if name not in usual or each != usual[name]}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list | tuple | frozenset):
        return [_plain(each) for each in value]
    return value


def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
    """A query: the fields of a filter stand for themselves, and true and false are those of JSON."""
    flat: dict[str, Any] = {}
    for name, value in given.items():
        inner = value if isinstance(value, dict) else {name: value}
        flat |= {key: str(each).lower() if isinstance(each, bool) else each for key, each in inner.items()}
    return flat


# --- written by `python -m docs.remote_verbs`; do not edit below ------------------------------------


class RemoteNagori(_RemoteMemory):
    """The verbs of `Nagori` on a server.

    A write with `once`, a text of your own choice, is carried out once, however often it is sent.

    >>> memory = RemoteNagori.open("https://memory.example.org", key="nagori_…")      # doctest: +SKIP
    ... memory.recall("Where is staging?")
    """

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
        once: str | None = None,
    ) -> Memory:
        """Store one memory; when this returns, it is durable."""
        answer: Memory = self._call(
            "POST",
            "/v1/memories",
            Memory,
            content=content,
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
            once=once,
        )
        return answer

    def context(
        self, prompt: str, *, session: str = "", project: str | None = None, mark: bool = True
    ) -> Context:
        """The context for an agent's prompt: the text that hooks inject, and the memories in it."""
        answer: Context = self._call(
            "POST", "/v1/context", Context, prompt=prompt, session=session, project=project, mark=mark
        )
        return answer

    def explain_context(
        self, prompt: str, *, session: str = "", project: str | None = None
    ) -> ContextExplanation:
        """What `context` would give for a prompt, why each memory, and what was left out."""
        answer: ContextExplanation = self._call(
            "POST",
            "/v1/context/explanation",
            ContextExplanation,
            prompt=prompt,
            session=session,
            project=project,
        )
        return answer

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
        recent sessions, the profile, and passages of the knowledge bases named by `knowledge`, with
        nothing told twice."""
        answer: FullContext = self._call(
            "POST",
            "/v1/full-context",
            FullContext,
            prompt=prompt,
            session=session,
            tokens=tokens,
            knowledge=knowledge,
            mark=mark,
        )
        return answer

    def session_start(self, session: str = "", *, project: str | None = None, mark: bool = True) -> Context:
        """What an agent should be given when a session starts: what is protected, and where things stood."""
        answer: Context = self._call(
            "POST", "/v1/session-start", Context, session=session, project=project, mark=mark
        )
        return answer

    def threads(self, session: str | None = None) -> list[ThreadSummary]:
        """The threads of a session, or of the recent sessions: their turns, why they ended, and the id of
        the summary that is kept of each."""
        answer: list[ThreadSummary] = self._call("GET", "/v1/threads", list[ThreadSummary], session=session)
        return answer

    def sessions(self) -> list[SessionInfo]:
        """The recent sessions, newest first: their times, turns, speakers and threads."""
        answer: list[SessionInfo] = self._call("GET", "/v1/sessions", list[SessionInfo])
        return answer

    def working_memory(self, session: str) -> WorkingMemory:
        """The last turns of a session's open thread, and how often each speaker spoke in it."""
        answer: WorkingMemory = self._call("GET", "/v1/working-memory", WorkingMemory, session=session)
        return answer

    def profile(self) -> Profile:
        """What the memories say about the user: topics, speakers, how well they are known, and a vector of
        the top ten topics."""
        answer: Profile = self._call("GET", "/v1/profile", Profile)
        return answer

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
        a confidence of at least `min_confidence`."""
        answer: list[Recollection] = self._call(
            "POST",
            "/v1/recall",
            list[Recollection],
            query=query,
            k=k,
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
        return answer

    def associate(self, query: str, k: int = 10, *, depth: int = 3, filter: Filter = ALIVE) -> Association:
        """Where `query` leads: other topics of the memories that answer it, and memories that share topics
        with them, at most `k` each."""
        answer: Association = self._call(
            "POST", "/v1/associations", Association, query=query, k=k, depth=depth, filter=filter
        )
        return answer

    def list(
        self, filter: Filter = ALIVE, *, limit: int = 100, older_than: Memory | None = None
    ) -> list[Memory]:
        """Memories, newest first."""
        answer: list[Memory] = self._call(
            "GET", "/v1/memories", list[Memory], filter=filter, limit=limit, older_than=older_than
        )
        return answer

    def as_of(self, moment: datetime, filter: Filter = ALIVE) -> Sequence[Memory]:
        """The memories as they were at a past moment, newest first, from the journal."""
        answer: Sequence[Memory] = self._call(
            "GET", "/v1/as-of", Sequence[Memory], moment=moment, filter=filter
        )
        return answer

    def why(self, id: str, query: str | None = None) -> Explanation:
        """The explanation of a memory: its retention, its history and its forecast."""
        answer: Explanation = self._call("GET", "/v1/memories/{id}/why", Explanation, id=id, query=query)
        return answer

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
        answer: Sequence[LifeEvent] = self._call(
            "GET", "/v1/log", Sequence[LifeEvent], id=id, types=types, since=since, until=until, limit=limit
        )
        return answer

    def find_related(self, id: str) -> Sequence[RelatedMemory]:
        """The memories that are related to this one, strongest first."""
        answer: Sequence[RelatedMemory] = self._call(
            "GET", "/v1/memories/{id}/related", Sequence[RelatedMemory], id=id
        )
        return answer

    def populations(self, past: int | None = None, ahead: int = 0) -> Sequence[Population]:
        """The number of memories at each level, day by day, with a forecast without recalls."""
        answer: Sequence[Population] = self._call(
            "GET", "/v1/populations", Sequence[Population], past=past, ahead=ahead
        )
        return answer

    def status(self) -> Status:
        """Counts, sizes and the last event."""
        answer: Status = self._call("GET", "/v1/status", Status)
        return answer

    def measure(self) -> Measures:
        """Memories by kind and tier, and how far they are compressed."""
        answer: Measures = self._call("GET", "/v1/measures", Measures)
        return answer

    def usage(self) -> Usage | None:
        """Memories per day and their sizes over the last month; None without data."""
        answer: Usage | None = self._call("GET", "/v1/usage", Usage | None)
        return answer

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
        once: str | None = None,
    ) -> Memory:
        """Correct a memory."""
        answer: Memory = self._call(
            "PATCH",
            "/v1/memories/{id}",
            Memory,
            id=id,
            content=content,
            trigger=trigger,
            kind=kind,
            category=category,
            emotion=emotion,
            privacy=privacy,
            metadata=metadata,
            project=project,
            version=version,
            once=once,
        )
        return answer

    def feedback(self, id: str, good: bool, *, once: str | None = None) -> Memory:
        """Say whether a memory was useful: it gets stronger or weaker, once a day at most."""
        answer: Memory = self._call("POST", "/v1/memories/{id}/feedback", Memory, id=id, good=good, once=once)
        return answer

    def record_tools(self, results: Iterable[ToolResult], *, session: str, once: str | None = None) -> None:
        """Record what an agent's tools did in a turn: what works after a failure becomes a lesson, and the
        memories of the turn are credited."""
        self._call("POST", "/v1/tools", None, results=results, session=session, once=once)

    def share(
        self,
        lessons: Texts,
        *,
        outcome: TaskOutcome | OutcomeName | None = None,
        privacy: Privacy | PrivacyName = Privacy.AGENT_ONLY,
        task: str | None = None,
    ) -> Sequence[Memory]:
        """Store what an agent learned from a task, for itself (`private`), for agents of its role (`agent-
        only`) or for all (`public`)."""
        answer: Sequence[Memory] = self._call(
            "POST",
            "/v1/lessons",
            Sequence[Memory],
            lessons=lessons,
            outcome=outcome,
            privacy=privacy,
            task=task,
        )
        return answer

    def policy(self) -> Policy:
        """The settings that were learned from outcomes, and every version of them with its evidence."""
        answer: Policy = self._call("GET", "/v1/policy", Policy)
        return answer

    def policy_back(self) -> Policy:
        """Restore the learned settings as they were before the last change."""
        answer: Policy = self._call("POST", "/v1/policy/back", Policy)
        return answer

    def policy_off(self) -> Policy:
        """Use the configured settings and learn no others; `policy_back` switches it on again."""
        answer: Policy = self._call("POST", "/v1/policy/off", Policy)
        return answer

    def protect(self, id: str, release: Texts = (), *, once: str | None = None) -> Memory:
        """Protect a memory from decay; `release` are the ids of protected ones to release, to make room."""
        answer: Memory = self._call(
            "POST", "/v1/memories/{id}/protect", Memory, id=id, release=release, once=once
        )
        return answer

    def unprotect(self, id: str, *, once: str | None = None) -> Memory:
        """Release a protected memory: it decays again."""
        answer: Memory = self._call("POST", "/v1/memories/{id}/unprotect", Memory, id=id, once=once)
        return answer

    def link(
        self,
        id: str,
        other: str,
        type: RelationType | RelationName = RelationType.REFERENCES,
        *,
        once: str | None = None,
    ) -> Relation:
        """Link a memory to another one: it continues, references, contradicts or is derived from it, or has
        the same topic."""
        answer: Relation = self._call(
            "POST", "/v1/memories/{id}/links", Relation, id=id, other=other, type=type, once=once
        )
        return answer

    def unlink(
        self, id: str, other: str, type: RelationType | RelationName | None = None, *, once: str | None = None
    ) -> Sequence[Relation]:
        """Remove the relations between two memories, of one type or of all; returns them."""
        answer: Sequence[Relation] = self._call(
            "DELETE", "/v1/memories/{id}/links", Sequence[Relation], id=id, other=other, type=type, once=once
        )
        return answer

    def archive(self, id: str, *, once: str | None = None) -> Memory:
        """Archive a memory; it can still be found and restored."""
        answer: Memory = self._call("POST", "/v1/memories/{id}/archive", Memory, id=id, once=once)
        return answer

    def unarchive(self, id: str, *, once: str | None = None) -> Memory:
        """Restore an archived memory, while its full text is kept."""
        answer: Memory = self._call("POST", "/v1/memories/{id}/unarchive", Memory, id=id, once=once)
        return answer

    def appraise(self, since: datetime | None = None) -> AppraisalReport:
        """Let the configured model appraise memories that only rules have appraised, since `since` or within
        `llm.appraise_days`."""
        answer: AppraisalReport = self._call("POST", "/v1/appraisals", AppraisalReport, since=since)
        return answer

    def estimate_appraisal(self, since: datetime | None = None) -> Estimate:
        """The maximum number of requests and cost of `appraise`."""
        answer: Estimate = self._call("GET", "/v1/appraisals", Estimate, since=since)
        return answer

    def forget(self, id: str, *, once: str | None = None) -> Memory:
        """Hide a memory from every recall."""
        answer: Memory = self._call("DELETE", "/v1/memories/{id}", Memory, id=id, once=once)
        return answer

    def reopen(self) -> None:
        """Start a new, empty memory for a user whose memory was erased."""
        self._call("POST", "/v1/reopen", None)
