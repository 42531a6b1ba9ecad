"""LangGraph's long-term store: a `BaseStore` whose values are kept exactly as they were put.

    with NagoriStore.from_conn_string("memory", index={"dims": 1536, "embed": embed}) as store:
        graph = builder.compile(store=store)

Values are items (`services.key_value_items`). A search with a query ranks by the exact cosine of the caller's
own embedding (`index`, whose `distance_type` may be another), or of nagori's where none is given. With
`remember="text"`, the text at that path of each value becomes a memory, too, and `recall` finds it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from math import inf
from threading import Event, Lock, Thread
from typing import Any, Literal
from weakref import WeakKeyDictionary

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)
from langgraph.store.base import Item as StoreItem

from nagori.app import Nagori
from nagori.core.model import Item
from nagori.edges.integrations import open_memory
from nagori.edges.integrations.vector_json import pack_vector, score_vectors, unpack_vector
from nagori.edges.integrations.write_batcher import CallQueue
from nagori.errors import ModelError
from nagori.protocols import Embedder
from nagori.services.key_value_items import ItemDelete, ItemPut, read_value
from nagori.services.remember import make_vectors

ROOT = "langgraph"
SWEEP_MINUTES = 5.0
DISTANCES = ("cosine", "inner_product", "l2")

Vectors = Mapping[str, Sequence[float]]  # by text
logger = logging.getLogger(__name__)


class NagoriStore(BaseStore):  # type: ignore[misc, unused-ignore] # langgraph may not be installed
    """A LangGraph store on a `Nagori` memory. `index=False` switches searching by meaning off."""

    supports_ttl = True

    def __init__(
        self,
        memory: Nagori,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        remember: str | None = None,
    ) -> None:
        self.memory, self.ttl_config, self._remember = memory, ttl, remember
        self.index_config = index or None
        self._own = index is None
        fields = (index.get("fields") if index else None) or ["$"]
        self._fields = _read_paths(fields)
        self._distance = str((index or {}).get("distance_type") or DISTANCES[0])
        if self._distance not in DISTANCES:
            raise ValueError(f"distance_type is {self._distance!r}, not one of {', '.join(DISTANCES)}")
        self._sweeper: Thread | None = None
        self._stop = Event()
        self._queues: WeakKeyDictionary[Any, CallQueue[Op, Result]] = WeakKeyDictionary()  # of each loop
        self._lock = Lock()

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        path: str,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        remember: str | None = None,
    ) -> Iterator[NagoriStore]:
        """A store on the memory in the folder `path`; `:memory:` is gone at the end."""
        with open_memory(path) as memory:
            store = cls(memory, index=index, ttl=ttl, remember=remember)
            try:
                yield store
            finally:
                store.stop_ttl_sweeper()

    @cached_property
    def embeddings(self) -> Any:
        """The caller's embedder, or the memory's own, which is loaded when it is needed; None without any."""
        if self.index_config:
            return ensure_embeddings(self.index_config["embed"])
        own = self.memory.runtime.embedder if self._own else None
        return None if own is None else OwnEmbeddings(own)

    @property
    def _model(self) -> str:
        """The name of the model of the vectors; a caller's embedder has none but its dimension."""
        config = self.index_config
        return f"caller:{config.get('dims')}" if config else getattr(self.embeddings, "model", "")

    def setup(self) -> None:
        """Nothing to do: the memory was set up when it was opened."""

    # --- operations -----------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: first those that read, then those that write, all of them or none."""
        asked = _read_ops(ops)
        queries, texts = self._texts_of(asked)
        vectors = {query: self.embeddings.embed_query(query) for query in queries}
        documents = _pair(texts, self.embeddings.embed_documents(texts) if texts else [])
        return self._execute(asked, vectors, documents)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, with the embedder awaited and the rest in a thread. Calls at the same time are executed
        together."""
        loop = asyncio.get_running_loop()
        with self._lock:
            queue = self._queues.setdefault(loop, CallQueue(self._aexecute))
        return [*await queue.call(_read_ops(ops))]

    async def _aexecute(self, ops: Sequence[Op]) -> list[Result]:
        queries, texts = await asyncio.to_thread(self._texts_of, ops)
        vectors = {query: await self.embeddings.aembed_query(query) for query in queries}
        documents = _pair(texts, await self.embeddings.aembed_documents(texts) if texts else [])
        return await asyncio.to_thread(self._execute, ops, vectors, documents)

    def _texts_of(self, ops: Sequence[Op]) -> tuple[list[str], list[str]]:
        """The queries and the texts of values that must be embedded."""
        queries = {op.query: None for op in ops if isinstance(op, SearchOp) and op.query}
        puts = [op for op in _last_puts(ops) if op.value is not None and op.index is not False]
        if not (queries or puts) or self.embeddings is None:
            return [], []
        return list(queries), list({text: None for op in puts for _, text in self._indexed(op)})

    def _indexed(self, op: PutOp) -> Iterator[tuple[str, str]]:
        """The texts of a value that are embedded, with the names of their fields."""
        if op.value is None or op.index is False or self.embeddings is None:
            return
        paths = self._fields if op.index is None else _read_paths(op.index)
        for path, tokens in paths:
            texts = get_text_at_path(op.value, tokens)
            for n, text in enumerate(texts):
                yield (path if len(texts) == 1 else f"{path}.{n}"), text

    def _execute(self, ops: Sequence[Op], queries: Vectors, documents: Vectors) -> list[Result]:
        readers: dict[type, Callable[[Any], Result]] = {
            GetOp: self._get,
            SearchOp: lambda op: self._search(op, queries.get(op.query)),
            ListNamespacesOp: self._list_namespaces,
            PutOp: lambda op: None,
        }
        results = [readers[type(op)](op) for op in ops]
        puts = _last_puts(ops)
        if puts:
            changes = [self._change(op, documents) for op in puts]
            self.memory.items.change(lambda: changes)
            self._remember_texts(puts)
        return results

    def _change(self, op: PutOp, documents: Vectors) -> ItemPut | ItemDelete:
        place = (ROOT, *op.namespace)
        if op.value is None:
            return ItemDelete(place, op.key)
        envelope: dict[str, Any] = {"value": op.value}
        texts = {name: text for name, text in self._indexed(op) if text in documents}
        fields = {name: pack_vector(documents[text]) for name, text in texts.items() if len(documents[text])}
        if fields:
            envelope["vectors"] = {"model": self._model, "fields": fields}
        return ItemPut(place, op.key, envelope, None if op.ttl is None else timedelta(minutes=op.ttl))

    def _remember_texts(self, puts: Sequence[PutOp]) -> None:
        if self._remember is not None:
            for op in puts:
                for text in get_text_at_path(op.value, self._remember) if op.value is not None else ():
                    self.memory.remember(text, trust="assistant")

    # --- reading --------------------------------------------------------------------------------

    @property
    def _keeps_expired(self) -> bool:
        return not (self.ttl_config or {}).get("omit_expired", False)

    def _get(self, op: GetOp) -> StoreItem | None:
        item = self.memory.items.get((ROOT, *op.namespace), op.key, expired=self._keeps_expired)
        if item is None:
            return None
        if op.refresh_ttl:
            self.memory.items.renew([item])
        return StoreItem(**_fields_of(item, read_value(item)))

    def _search(self, op: SearchOp, query: Sequence[float] | None) -> list[SearchItem]:
        prefix, whole = (ROOT, *op.namespace_prefix), query is not None or bool(op.filter)
        page = {} if whole else {"limit": op.limit, "offset": op.offset}
        items = self.memory.items.list(prefix, order="newest", expired=self._keeps_expired, **page)
        rows = [(item, read_value(item)) for item in items]
        if op.filter:
            rows = [row for row in rows if _matches(row[1]["value"], op.filter)]
        scores = self._scores(rows, query) if query is not None else {}
        if scores:
            rows.sort(key=lambda row: -scores.get(row[0].id, -inf))
        if whole:
            rows = rows[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            self.memory.items.renew([item for item, _ in rows])
        return [SearchItem(**_fields_of(item, said), score=scores.get(item.id)) for item, said in rows]

    def _scores(self, rows: Sequence[tuple[Item, Any]], query: Sequence[float]) -> dict[str, float]:
        """How near each item is: its nearest field."""
        names: list[str] = []
        vectors: list[Sequence[float]] = []
        for item, said in rows:
            known = said.get("vectors") or {}
            if known.get("model") == self._model:
                fields = [unpack_vector(data) for data in known["fields"].values()]
                vectors += [vector for vector in fields if len(vector) == len(query)]
                names += [item.id] * (len(vectors) - len(names))
        best: dict[str, float] = {}
        for name, score in zip(names, score_vectors(query, vectors, self._distance), strict=True):
            best[name] = max(score, best.get(name, -inf))
        return best

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        if self._keeps_expired:
            every = [namespace[1:] for namespace in self.memory.items.namespaces((ROOT,))]
        else:
            every = [item.namespace[1:] for item in self.memory.items.list((ROOT,))]
        conditions = op.match_conditions or ()
        fitting = {each for each in every if all(_fits(condition, each) for condition in conditions)}
        if op.max_depth is not None:
            fitting = {namespace[: op.max_depth] for namespace in fitting}
        return sorted(fitting)[op.offset : op.offset + op.limit]

    # --- time to live ---------------------------------------------------------------------------

    def sweep_ttl(self) -> int:
        """Delete what has expired; returns the number of items."""
        return self.memory.items.delete_expired((ROOT,))

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep regularly in a thread, until `stop_ttl_sweeper` or the future is cancelled."""
        done: Future[None] = Future()
        if not self.ttl_config or (self._sweeper is not None and self._sweeper.is_alive()):
            if not self.ttl_config:
                done.set_result(None)
            return done
        minutes = sweep_interval_minutes or self.ttl_config.get("sweep_interval_minutes") or SWEEP_MINUTES
        self._stop.clear()
        done.add_done_callback(lambda future: self._stop.set())

        def sweep() -> None:
            while not self._stop.wait(minutes * 60):
                try:
                    self.sweep_ttl()
                except Exception:  # the next round may succeed
                    logger.exception("the sweep failed")
            if not done.done():
                done.set_result(None)

        self._sweeper = Thread(target=sweep, daemon=True, name="nagori-ttl-sweeper")
        self._sweeper.start()
        return done

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the thread; returns whether it has ended."""
        if self._sweeper is None or not self._sweeper.is_alive():
            return True
        self._stop.set()
        self._sweeper.join(timeout)
        return not self._sweeper.is_alive()


class OwnEmbeddings:
    """The memory's own embedder, with the methods that LangGraph calls. When it fails, values have no vector
    and a search is not ranked: a store that cannot embed still stores."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self.model = embedder, embedder.model

    def embed_query(self, text: str) -> Sequence[float]:
        try:
            return array("f", self._embedder.embed_query(text))
        except Exception:  # an embedder may be anybody's code
            logger.exception("the embedder failed")
            return array("f")

    def embed_documents(self, texts: list[str]) -> list[Sequence[float]]:
        try:
            return [array("f", vector) for vector in make_vectors(self._embedder, texts)]
        except ModelError:
            logger.exception("the embedder failed")
            return [array("f") for _ in texts]

    async def aembed_query(self, text: str) -> Sequence[float]:
        return await asyncio.to_thread(self.embed_query, text)

    async def aembed_documents(self, texts: list[str]) -> list[Sequence[float]]:
        return await asyncio.to_thread(self.embed_documents, texts)


# --- operations and values ------------------------------------------------------------------------


def _read_paths(paths: Iterable[str]) -> list[tuple[str, Any]]:
    """Each path with its parts; `$` is the whole value."""
    return [(path, path if path == "$" else tokenize_path(path)) for path in paths]


def _read_ops(ops: Iterable[Op]) -> list[Op]:
    """The operations, after checking them, with their values as JSON data."""
    asked: list[Op] = []
    for op in ops:
        if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
            raise ValueError(f"Unknown operation type: {type(op)}")
        validate_op_namespace(op)
        changed = isinstance(op, PutOp) and op.value is not None
        asked.append(op._replace(value=_plain(op.value)) if changed else op)
    return asked


def _last_puts(ops: Sequence[Op]) -> list[PutOp]:
    """The writes; of several to one key the last."""
    return list({(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}.values())


def _pair(texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> Vectors:
    if len(texts) != len(vectors):
        raise ValueError(f"the embedder gave {len(vectors)} vectors for {len(texts)} texts")
    return dict(zip(texts, vectors, strict=True))


def _plain(value: Mapping[str, Any]) -> Any:
    """The value as JSON data. Times and ids become text, as in LangGraph's own stores."""
    return json.loads(json.dumps(dict(value), default=_to_text))


def _to_text(value: object) -> str:
    iso = getattr(value, "isoformat", None)
    if iso is not None:
        return str(iso())
    if type(value).__name__ == "UUID":
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON data")


def _fields_of(item: Item, said: Any) -> dict[str, Any]:
    return {
        "namespace": item.namespace[1:],
        "key": item.key,
        "value": said["value"],
        "created_at": item.created,
        "updated_at": item.updated,
    }


def _fits(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path, size = tuple(condition.path), len(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    part = namespace[:size] if condition.match_type == "prefix" else namespace[len(namespace) - size :]
    return len(namespace) >= size and all(
        wanted in ("*", label) for wanted, label in zip(path, part, strict=True)
    )


# --- filters --------------------------------------------------------------------------------------


def _matches(value: Any, filter: Mapping[str, Any]) -> bool:
    return all(_agrees(_value_at(value, key), wanted) for key, wanted in filter.items())


def _value_at(value: Any, key: str) -> Any:
    """The value of a key; `a.b` is the field `b` of `a`, unless there is a key `a.b`."""
    if isinstance(value, dict) and key not in value and "." in key:
        head, rest = key.split(".", 1)
        return _value_at(value.get(head), rest)
    return value.get(key) if isinstance(value, dict) else None


def _agrees(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(isinstance(key, str) and key.startswith("$") for key in wanted):
            return all(_compares(value, operator, other) for operator, other in wanted.items())
        return isinstance(value, dict) and all(_agrees(value.get(key), each) for key, each in wanted.items())
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(_agrees(mine, each) for mine, each in zip(value, wanted, strict=True))
        )
    return bool(value == wanted)


def _compares(value: Any, operator: str, other: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return (value == other) is (operator == "$eq")
    if operator not in ORDERS:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        mine, theirs = float(value), float(other)
    except (TypeError, ValueError):
        if not (isinstance(value, str) and isinstance(other, str)):
            return False
        return ORDERS[operator]((value > other) - (value < other))
    return ORDERS[operator]((mine > theirs) - (mine < theirs))


ORDERS: dict[str, Callable[[int], bool]] = {
    "$gt": lambda order: order > 0,
    "$gte": lambda order: order >= 0,
    "$lt": lambda order: order < 0,
    "$lte": lambda order: order <= 0,
}
