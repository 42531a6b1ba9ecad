"""The table of routes: each is one verb, with the struct of what a request may say.

Routing, the OpenAPI document and the client are made from this table. Path, query and body of a request are
one struct; unknown fields are refused. Maintenance of a whole folder (backup, rebuild, verify) has no route:
it concerns every user of it, so it stays on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from starlette.requests import Request

from nagori.app import Nagori
from nagori.core.cost_estimate import Usage
from nagori.core.model import (
    Item,
    Memory,
    Recollection,
    Relation,
)
from nagori.core.outcomes_lessons_and_credit import ToolResult
from nagori.core.simulate_future_cycles import Population
from nagori.core.spreading_activation import Association
from nagori.core.storage_types import Measures
from nagori.core.threads import WorkingMemory
from nagori.core.value_object import Value, replace
from nagori.edges.http.request_structs import (
    AsOf,
    Associate,
    ById,
    DeleteItem,
    EditMemory,
    Erase,
    ExplainContext,
    Form,
    GiveFeedback,
    Import,
    LinkMemories,
    ListItems,
    ListMemories,
    Log,
    Nothing,
    OfSession,
    PlanErasure,
    Populations,
    PromptContext,
    Protect,
    Prune,
    PutItem,
    Recall,
    RecordTools,
    RecordTurn,
    Remember,
    RememberMany,
    RequestBody,
    RunCycle,
    SessionStart,
    ShareLessons,
    ShowMemory,
    Since,
    Summary,
    ThreadsOf,
    UnlinkMemories,
    WholeContext,
    Why,
    arguments,
)
from nagori.errors import Conflict, InvalidInput, NotFound
from nagori.services.assemble_full_context import FullContext
from nagori.services.cycle import CycleReport, note_stopped
from nagori.services.erasure_plan import ErasurePlan, ErasureTarget
from nagori.services.erasure_receipt import ErasureReceipt
from nagori.services.explain_ranking_and_context import ContextExplanation
from nagori.services.key_value_items import read_value
from nagori.services.learned_settings import Policy
from nagori.services.list_threads_and_view_working_memory import SessionInfo, ThreadSummary
from nagori.services.llm.appraise import AppraisalReport, Estimate
from nagori.services.preview_next_cycle import Preview
from nagori.services.profile_of_topics_and_speakers import Profile
from nagori.services.prompt_context import Context
from nagori.services.related_memories_and_stale_links import RelatedMemory
from nagori.services.transfer import ImportReport
from nagori.services.why_log_as_of_and_status import Explanation, LifeEvent, Status
from nagori.services.window.remember_evicted_messages import form_evicted

QUERY_METHODS = ("GET", "DELETE")


# --- results that are not a verb's own ------------------------------------------------------------


class Count(msgspec.Struct):
    n: int


class RecordedAnswer(msgspec.Struct):
    """Where a turn was recorded; `withheld` if all of it was private."""

    session: str
    withheld: bool


class Undone(msgspec.Struct):
    memory: Memory
    change: str


class SummaryText(msgspec.Struct):
    text: str


class Pruned(msgspec.Struct):
    messages: list[Any]
    report: dict[str, Any]


class ItemRecord(msgspec.Struct):
    namespace: tuple[str, ...]
    key: str
    value: Any
    created: datetime
    updated: datetime
    expires: datetime | None = None


# --- the table ------------------------------------------------------------------------------------


class Operation(Value):
    """A route: its verb, what a request may say, what it does and what it returns. `whole` operations concern
    everything of a user, so a key for one agent or project may not use them. `once`: with an idempotency key
    it is carried out once. Other writes may be repeated anyway: they add nothing the second time."""

    name: str
    method: str
    path: str
    body: type[RequestBody]
    work: Callable[[Nagori, Any], object]
    result: Any
    status: int = 200
    whole: bool = False
    once: bool = False

    @property
    def in_path(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


def call(verb: str) -> Callable[[Nagori, Any], object]:
    """The verb itself, with what the request said as its arguments."""
    return lambda memory, body: getattr(memory, verb)(**arguments(body))


def list_memories(memory: Nagori, body: ListMemories) -> list[Memory]:
    last = memory.show(body.older_than) if body.older_than else None
    return memory.list(body.read(), limit=body.limit, older_than=last)


def show(memory: Nagori, body: ShowMemory) -> Memory:
    """A forgotten memory is not there, unless the caller asks for forgotten ones, too."""
    found = memory.show(body.id)
    if found.is_forgotten and not body.forgotten:
        raise NotFound(body.id)
    return found


def form(memory: Nagori, body: Form) -> list[Memory]:
    return memory.form([arguments(each) for each in body.turns], session=body.session)


def edit(memory: Nagori, body: EditMemory) -> Memory:
    """`project: null` makes a memory belong to every project; without it the project stays."""
    everywhere: dict[str, Any] = {"project": None} if body.project is None else {}
    return memory.edit(**arguments(body), **everywhere)


def record_turn(memory: Nagori, body: RecordTurn) -> RecordedAnswer:
    turn = memory.turn(**arguments(body))
    return RecordedAnswer(turn.session, turn.withheld)


def undo(memory: Nagori, body: ById) -> Undone:
    return Undone(*memory.undo(body.id))


def prune(memory: Nagori, body: Prune) -> Pruned:
    done = memory.prune(**arguments(body))
    form_evicted(memory.runtime, memory.scope.owner)  # another node may be asked next
    return Pruned(done.messages, done.report)


def run_cycle(memory: Nagori, body: RunCycle) -> CycleReport:
    plan = memory.plan()
    if plan.asks and not body.confirmed:
        note_stopped(memory.runtime, memory.scope.owner, plan)
        raise Conflict("error.http_cycle_asks", moves=plan.moves, total=plan.census.total)
    return memory.cycle(plan)


def status(memory: Nagori, _: Nothing) -> Status:
    """What concerns the whole machine, not this user, is left out."""
    return replace(memory.status(), data_dir=Path(), store_bytes=0, spent=0.0)


def plan_erasure(memory: Nagori, body: PlanErasure) -> ErasurePlan:
    target = _target(memory, body)
    named: dict[str, Any] = {target.kind: target.name} if target.name else {"everything": True}
    return memory.plan_erasure(**named)


def _target(memory: Nagori, body: PlanErasure) -> ErasureTarget:
    if body.kind != "owner":
        return ErasureTarget(body.kind, body.name)
    if body.name != memory.scope.user:
        raise Conflict("error.http_erase_user")
    return ErasureTarget("owner")


def reopen(memory: Nagori, _: Nothing) -> None:
    if not memory.runtime.journal.is_erased(memory.scope.owner):
        raise Conflict("error.not_erased")
    memory.reopen()


def erase(memory: Nagori, body: Erase) -> ErasureReceipt:
    target = _target(memory, body.plan.target)
    return memory.erase(ErasurePlan(target, memory.scope.owner, (), (), (), {}, (), body.plan.token))


def record_tools(memory: Nagori, body: RecordTools) -> None:
    results = [ToolResult(*msgspec.structs.astuple(each)) for each in body.results]
    memory.record_tools(results, session=body.session)


def list_items(memory: Nagori, body: ListItems) -> list[ItemRecord]:
    found = memory.items.list(body.prefix, order=body.order, limit=body.limit, offset=body.offset)
    return [_item(each) for each in found]


def _item(item: Item) -> ItemRecord:
    return ItemRecord(item.namespace, item.key, read_value(item), item.created, item.updated, item.expires)


def put_item(memory: Nagori, body: PutItem) -> None:
    ttl = None if body.ttl_seconds is None else _duration(body.ttl_seconds)
    memory.items.put(body.namespace, body.key, body.value, ttl=ttl)


def _duration(seconds: float) -> timedelta:
    try:
        return timedelta(seconds=seconds)
    except OverflowError:
        raise InvalidInput("ttl_seconds", "error.out_of_range", value=seconds) from None


M = "/v1/memories"
ONE = f"{M}/{{id}}"
OPERATIONS: tuple[Operation, ...] = (
    Operation("remember", "POST", M, Remember, call("remember"), Memory, 201, once=True),
    Operation(
        "remember_many",
        "POST",
        f"{M}/batch",
        RememberMany,
        call("remember_many"),
        list[Memory],
        201,
        once=True,
    ),
    Operation("list", "GET", M, ListMemories, list_memories, list[Memory]),
    Operation("show", "GET", ONE, ShowMemory, show, Memory),
    Operation("edit", "PATCH", ONE, EditMemory, edit, Memory, once=True),
    Operation("forget", "DELETE", ONE, ById, call("forget"), Memory, once=True),
    Operation("undo", "POST", f"{ONE}/undo", ById, undo, Undone, once=True),
    Operation("why", "GET", f"{ONE}/why", Why, call("why"), Explanation),
    Operation("find_related", "GET", f"{ONE}/related", ById, call("find_related"), list[RelatedMemory]),
    Operation("feedback", "POST", f"{ONE}/feedback", GiveFeedback, call("feedback"), Memory, once=True),
    Operation("protect", "POST", f"{ONE}/protect", Protect, call("protect"), Memory, once=True),
    Operation("unprotect", "POST", f"{ONE}/unprotect", ById, call("unprotect"), Memory, once=True),
    Operation("archive", "POST", f"{ONE}/archive", ById, call("archive"), Memory, once=True),
    Operation("unarchive", "POST", f"{ONE}/unarchive", ById, call("unarchive"), Memory, once=True),
    Operation("link", "POST", f"{ONE}/links", LinkMemories, call("link"), Relation, 201, once=True),
    Operation("unlink", "DELETE", f"{ONE}/links", UnlinkMemories, call("unlink"), list[Relation], once=True),
    Operation("recall", "POST", "/v1/recall", Recall, call("recall"), list[Recollection]),
    Operation("associate", "POST", "/v1/associations", Associate, call("associate"), Association),
    Operation("context", "POST", "/v1/context", PromptContext, call("context"), Context),
    Operation(
        "explain_context",
        "POST",
        "/v1/context/explanation",
        ExplainContext,
        call("explain_context"),
        ContextExplanation,
    ),
    Operation("full_context", "POST", "/v1/full-context", WholeContext, call("full_context"), FullContext),
    Operation("threads", "GET", "/v1/threads", ThreadsOf, call("threads"), list[ThreadSummary]),
    Operation("sessions", "GET", "/v1/sessions", Nothing, call("sessions"), list[SessionInfo]),
    Operation(
        "working_memory", "GET", "/v1/working-memory", OfSession, call("working_memory"), WorkingMemory
    ),
    Operation("profile", "GET", "/v1/profile", Nothing, call("profile"), Profile),
    Operation("session_start", "POST", "/v1/session-start", SessionStart, call("session_start"), Context),
    Operation("turn", "POST", "/v1/turns", RecordTurn, record_turn, RecordedAnswer, 201),
    Operation("process", "POST", "/v1/turns/process", Nothing, lambda m, _: Count(m.process()), Count),
    Operation("form", "POST", "/v1/conversations", Form, form, list[Memory], 201),
    Operation("prune", "POST", "/v1/prune", Prune, prune, Pruned),
    Operation(
        "summary",
        "GET",
        "/v1/summary",
        Summary,
        lambda m, b: SummaryText(m.summary(**arguments(b))),
        SummaryText,
    ),
    Operation("as_of", "GET", "/v1/as-of", AsOf, lambda m, b: m.as_of(b.moment, b.read()), list[Memory]),
    Operation("log", "GET", "/v1/log", Log, call("log"), list[LifeEvent]),
    Operation("populations", "GET", "/v1/populations", Populations, call("populations"), list[Population]),
    Operation("status", "GET", "/v1/status", Nothing, status, Status),
    Operation("measure", "GET", "/v1/measures", Nothing, call("measure"), Measures),
    Operation("usage", "GET", "/v1/usage", Nothing, call("usage"), Usage | None),
    Operation("preview", "GET", "/v1/cycle", Nothing, call("preview"), Preview, whole=True),
    Operation("cycle", "POST", "/v1/cycle", RunCycle, run_cycle, CycleReport, whole=True),
    Operation("appraise", "POST", "/v1/appraisals", Since, call("appraise"), AppraisalReport, whole=True),
    Operation(
        "estimate_appraisal", "GET", "/v1/appraisals", Since, call("estimate_appraisal"), Estimate, whole=True
    ),
    Operation(
        "embed_missing",
        "POST",
        "/v1/vectors",
        Nothing,
        lambda m, _: Count(m.embed_missing()),
        Count,
        whole=True,
    ),
    Operation(
        "plan_erasure",
        "POST",
        "/v1/erasures/plan",
        PlanErasure,
        plan_erasure,
        ErasurePlan,
        whole=True,
    ),
    Operation("erase", "POST", "/v1/erasures", Erase, erase, ErasureReceipt, whole=True),
    Operation("reopen", "POST", "/v1/reopen", Nothing, reopen, None, whole=True),
    Operation("record_tools", "POST", "/v1/tools", RecordTools, record_tools, None, once=True),
    Operation("share", "POST", "/v1/lessons", ShareLessons, call("share"), list[Memory], 201),
    Operation("policy", "GET", "/v1/policy", Nothing, call("policy"), Policy, whole=True),
    Operation("policy_back", "POST", "/v1/policy/back", Nothing, call("policy_back"), Policy, whole=True),
    Operation("policy_off", "POST", "/v1/policy/off", Nothing, call("policy_off"), Policy, whole=True),
    Operation("import_", "POST", "/v1/import", Import, call("import_"), ImportReport, whole=True),
    Operation("list_items", "GET", "/v1/items", ListItems, list_items, list[ItemRecord], whole=True),
    Operation("put_item", "PUT", "/v1/items", PutItem, put_item, None, whole=True, once=True),
    Operation(
        "delete_item",
        "DELETE",
        "/v1/items",
        DeleteItem,
        lambda m, b: m.items.delete(b.namespace, b.key),
        None,
        whole=True,
        once=True,
    ),
)


# --- reading a request ----------------------------------------------------------------------------


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


PLAIN, VERBATIM = msgspec.json.Decoder(float_hook=_number), msgspec.json.Decoder()


def read_request(operation: Operation, request: Request, body: bytes) -> RequestBody:
    """Path, query and body of a request as one struct; InvalidInput if they do not fit."""
    in_query = operation.method in QUERY_METHODS
    try:
        said = _read_query(operation.body, request) if in_query else _decode(operation, body)
        said.update(request.path_params)
        return msgspec.convert(said, operation.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise InvalidInput("body", "error.http_body", reason=str(fault)) from None


def _decode(operation: Operation, body: bytes) -> dict[str, Any]:
    """The body. To JSON 5.0 is a whole number, too, but the value of an item stays as it is."""
    decoder = VERBATIM if operation.body is PutItem else PLAIN
    decoded = decoder.decode(body) if body else {}
    if not isinstance(decoded, dict):
        raise InvalidInput("body", "error.not_object")
    return decoded


def _read_query(body: type[RequestBody], request: Request) -> dict[str, Any]:
    """What the query says. A list may be there several times, anything else once; numbers are JSON."""
    said: dict[str, Any] = {}
    lists, plain = list_fields(body), plain_fields(body)
    for name in request.query_params:
        values: list[Any] = request.query_params.getlist(name)
        if name not in lists and len(values) > 1:
            raise InvalidInput(name, "error.http_repeated")
        if name in plain:
            values = [msgspec.json.decode(value) for value in values]
            if None in values:
                raise InvalidInput(name, "error.missing")
        said[name] = values if name in lists else values[0]
    return said


@cache
def list_fields(body: type[RequestBody]) -> frozenset[str]:
    """Fields that may be there several times."""
    return frozenset(name for name, kind in get_type_hints(body).items() if list in _types_in(kind))


@cache
def plain_fields(body: type[RequestBody]) -> frozenset[str]:
    """Fields that are numbers or true and false."""
    kinds = {name: _types_in(kind) for name, kind in get_type_hints(body).items()}
    return frozenset(
        name for name, some in kinds.items() if any(issubclass(each, int | float) for each in some)
    )


def _types_in(kind: Any) -> set[type]:
    """All classes that a type is made of."""
    own = {each for each in (get_origin(kind), kind) if isinstance(each, type)}
    return own.union(*(_types_in(each) for each in get_args(kind)))
