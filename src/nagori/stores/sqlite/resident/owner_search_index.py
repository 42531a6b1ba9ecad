"""The index of one owner in memory: validity, selection and candidates."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import apsw
import numpy

from nagori.core.model import Memory, Scope, to_micros
from nagori.core.relevance import (
    CandidateInfo,
    Candidates,
    Query,
    choose_words,
    common_count,
)
from nagori.core.storage_types import Owner
from nagori.core.value_object import split_batches
from nagori.language.tokenizer import index_words
from nagori.stores.sql_rows import SKETCH, SKETCH_TYPES, Model, Selection, ask, keys, load_by_id
from nagori.stores.sqlite import search
from nagori.stores.sqlite.resident.arrays import (
    AT_ONCE,
    NUMBER,
    SPARE,
    AskedQuery,
    Columns,
    Places,
    Vectors,
    most_telling,
    to_numbers,
)
from nagori.stores.sqlite.resident.candidate_columns import Sketches
from nagori.stores.sqlite.resident.ranking import CandidateArrays, build_candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.core.model import Filter
    from nagori.stores.sqlite import Connection

MOST_MASKS = 16
# Bytes of Python objects, as estimates: a light row, and a memory without its text.
INFO_BYTES, MEMORY_BYTES = 600, 3_000
COLUMNS = "m.key, m.level = 4, m.forgotten_at IS NOT NULL, m.project, m.agent, m.role, m.privacy, m.created"
AMONG = "IN (SELECT value FROM json_each(?))"
# As the word index is declared in 0001_memories.sql.
TOKENIZER = ["remove_diacritics", "0", "categories", "L* M* N* Co Cn", "tokenchars", "_"]


class State:
    """The owner's row: which file and content it is, and the position and size."""

    __slots__ = ("content", "erased", "last", "number", "seq", "tokens")

    def __init__(self, file: object, row: Sequence[Any]) -> None:
        self.number, self.seq, revision, self.last, self.erased, self.tokens = row
        self.content = (file, self.number, revision)

    @property
    def size(self) -> tuple[int, float]:
        """The count of memories and their mean length in tokens."""
        total = self.last - self.erased
        return total, self.tokens / total if total else 1.0


def read_state(db: Connection, owner: Owner) -> State | None:
    sql = "SELECT id, seq, revision, next - 1, erased, tokens FROM owner WHERE tenant = ? AND user = ?"
    rows = ask(db, sql, owner)
    return State(db.file, rows[0]) if rows else None


class OwnerIndex:
    """The index of one owner. Every array is indexed by the place of a memory (see `Columns`)."""

    def __init__(self, db: Connection, state: State, most_bytes: int) -> None:
        self.lock = threading.Lock()
        self.counted = 0  # bytes of it in the total of all
        self.counted_extent: tuple[int, ...] = ()
        self.answers = 0
        self.state = state
        self._most_bytes = most_bytes
        self._low = keys(state.number)[0]
        self._codes: dict[str | None, int] = {None: 0}
        self._columns = Columns(int(state.size[0] * SPARE) + 64)
        self._vectors: dict[int, Vectors] = {}
        self._masks: dict[tuple[object, ...], Any] = {}
        self._words: dict[str, Places] = {}
        self._sketches = Sketches(len(self._columns.present))
        self._memories: dict[str, tuple[int, Memory]] = {}
        self._text_bytes, self._word_bytes = 0, 0
        sql = f"SELECT {COLUMNS} FROM memory m WHERE m.key BETWEEN ? AND ? ORDER BY m.key"
        for rows in split_batches(db.execute(sql, keys(state.number)), AT_ONCE):
            self._set_columns(rows)

    # --- validity -------------------------------------------------------------------------------

    def is_older(self, state: State | None) -> bool:
        """Whether it can never be right again."""
        return state is None or state.content != self.state.content

    def catch_up(self, db: Connection, state: State) -> bool:
        """Whether it agrees with this state of the file, after reading what the log names."""
        if self.is_older(state) or state.seq < self.state.seq:
            return False
        if state.seq > self.state.seq:
            sql = "SELECT DISTINCT memory FROM log WHERE owner = ? AND seq > ?"
            self._renew(db, [id for (id,) in ask(db, sql, (state.number, self.state.seq))], state)
        return True

    def _renew(self, db: Connection, ids: Sequence[str], state: State) -> None:
        self.forget(ids)
        last, self.state = self.state.last, state
        found = load_by_id(db, state.number, ids)
        spots = json.dumps([key for key, _ in found])
        rows = ask(
            db, f"SELECT {COLUMNS} FROM memory m WHERE m.key IN (SELECT value FROM json_each(?))", (spots,)
        )
        if self._set_columns(rows):
            self._masks.clear()
        places = self._find([key for key, _ in found])
        for place in places:
            self._sketches.forget(place)
        self._sketches.reserve(len(self._columns.present))
        new = {key: place for (key, _), place in zip(found, places, strict=True) if key & NUMBER > last}
        for vectors in self._vectors.values():
            vectors.reserve()
            vectors.load(db, "IN (SELECT value FROM json_each(?))", (json.dumps(list(new)),))
        self._add_words(db, {new[key]: memory for key, memory in found if key in new})

    def _add_words(self, db: Connection, new: Mapping[int, Memory]) -> None:
        """Add the places of new memories to the words that are known, as the word index splits them."""
        if not new or not self._words:
            return
        split = db.fts5_tokenizer("unicode61", TOKENIZER)
        for place, memory in sorted(new.items()):
            text = " ".join(index_words(memory)).encode()
            flags = apsw.FTS5_TOKENIZE_DOCUMENT
            found: dict[str, int] = {}
            for word in split(text, flags, None, include_offsets=False, include_colocated=False):
                if word in self._words:
                    found[word] = found.get(word, 0) + 1
            for word, times in found.items():
                self._words[word].add(place, times)
                self._word_bytes += 2 * numpy.dtype(int).itemsize

    def forget(self, ids: Iterable[str]) -> None:
        for id in ids:
            known = self._memories.pop(id, None)
            if known is not None:
                self._text_bytes -= _text_bytes(known[1])

    # --- size -----------------------------------------------------------------------------------

    @property
    def extent(self) -> tuple[int, ...]:
        """The same as long as the bytes are the same."""
        held = (len(self._vectors), len(self._masks), len(self._columns.present), self._sketches.count)
        return (*held, self._word_bytes, self._text_bytes)

    @property
    def nbytes(self) -> int:
        arrays = self._columns.nbytes + sum(each.nbytes for each in list(self._vectors.values()))
        masks = len(self._masks) * len(self._columns.present)
        sketches = self._sketches.nbytes + INFO_BYTES * self._sketches.count
        return int(arrays + masks + self._word_bytes + sketches + self._text_bytes)

    def shed(self) -> None:
        """Forget everything that is read again as needed."""
        self._masks.clear()
        self._words.clear()
        self._sketches = Sketches(len(self._columns.present))
        self._memories.clear()
        self._text_bytes, self._word_bytes = 0, 0

    # --- who may see it -------------------------------------------------------------------------

    def _set_columns(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Take over columns of memories; returns whether anything differs."""
        if not rows:
            return False
        coded = [
            (key & NUMBER, 1, archived, forgotten, *map(self._code, names), created)
            for key, archived, forgotten, *names, created in rows
        ]
        return self._columns.put(coded)

    def _find(self, keys: Sequence[int]) -> list[int]:
        """The places of memories by their keys."""
        return list(self._columns.find(to_numbers(keys)).tolist())

    def _code(self, name: str | None) -> int:
        return self._codes.setdefault(name, len(self._codes))

    def _visible(self, scope: Scope) -> Any:
        """`Selection.seen`."""
        columns, code = self._columns, self._codes.get
        seen = columns.present
        if scope.project is not None:
            seen = seen & ((columns.project == 0) | (columns.project == code(scope.project, -1)))
        if scope.agent is not None or scope.role is not None:
            agent = -1 if scope.agent is None else code(scope.agent, -1)
            role = -1 if scope.role is None else code(scope.role, -1)
            public, shared = code("public", -1), code("agent-only", -1)
            own = (columns.agent == agent) | ((columns.privacy == shared) & (columns.role == role))
            seen = seen & ((columns.privacy == public) | own)
        elif scope.unnamed_agent:
            seen = seen & (columns.privacy == code("public", -1))
        return seen

    def _selected(self, scope: Scope, filter: Filter | None = None) -> Any:
        """`Selection.meant` as one truth value per place; without a filter `Selection.seen`."""
        narrow: tuple[object, ...] = ()
        if filter is not None:
            narrow = (filter.archived, filter.forgotten, filter.since, filter.until)
        which = (scope.project, scope.agent, scope.role, scope.unnamed_agent, *narrow)
        mask = self._masks.get(which)
        if mask is None:
            mask = self._visible(scope)
            if filter is not None:
                mask = self._narrow(mask, filter)
            if len(self._masks) >= MOST_MASKS:
                self._masks.clear()
            self._masks[which] = mask
        return mask

    def _narrow(self, mask: Any, filter: Filter) -> Any:
        columns = self._columns
        if not filter.archived:
            mask = mask & ~columns.archived
        if not filter.forgotten:
            mask = mask & ~columns.forgotten
        if filter.since is not None:
            mask = mask & (columns.created >= to_micros(filter.since))
        if filter.until is not None:
            mask = mask & (columns.created < to_micros(filter.until))
        return mask

    # --- candidates -----------------------------------------------------------------------------

    def candidates(
        self, db: Connection, selection: Selection, query: Query, model: Model | None
    ) -> Candidates:
        """`search.candidates`, from the arrays."""
        mask = self._selected(selection.scope, selection.filter)
        size = self.state.size
        places, left_out = self._places(db, query.words, size[0])
        near, cosines = numpy.zeros(0, numpy.int64), numpy.zeros(0)
        usual = (0.0, 1.0)
        if query.vector is not None and model is not None:
            near, cosines, usual = self._near(db, selection, query, model, mask)
        chosen = numpy.zeros(len(mask), bool)
        chosen[most_telling(places, size[0], len(mask))] = True
        chosen[near] = True
        chosen &= mask
        spots = numpy.flatnonzero(chosen)
        self._read_sketches(db, spots)
        at = numpy.zeros(len(mask), numpy.int64)
        at[spots] = numpy.arange(len(spots))
        words = [(word, *where.among(chosen, at)) for word, where in places.items()]
        seen = chosen[near]
        arrays = CandidateArrays(
            self._sketches.select(spots),
            [each for each in words if len(each[1])],
            at[near[seen]],
            cosines[seen],
        )
        asked = len({word for word in query.words if word}) - left_out
        return build_candidates(size, asked, usual, arrays)

    def _read_sketches(self, db: Connection, places: Any) -> None:
        """Read the light rows of memories that are not known."""
        if missing := self._sketches.missing(places):
            keys = json.dumps((self._low | self._columns.number[missing]).tolist())
            rows = ask(db, f"SELECT {SKETCH} FROM json_each(?) CROSS JOIN memory m ON m.key = value", (keys,))
            SKETCH_TYPES.check(rows)
            self._sketches.put(
                self._find([key for key, *_ in rows]), [CandidateInfo(*rest) for _, *rest in rows]
            )

    # --- words ----------------------------------------------------------------------------------

    def _places(self, db: Connection, words: Sequence[str], total: int) -> tuple[dict[str, Places], int]:
        """`search._places`: which memories contain which words, and the number of ignored words."""
        most = 2 * common_count(total)
        found = {word: self._places_of(db, word, most) for word in words if word}
        chosen, left_out = choose_words({word: where.count(most) for word, where in found.items()}, total)
        return {word: found[word].first(most) for word in chosen}, left_out

    def _places_of(self, db: Connection, word: str, most: int) -> Places:
        known = self._words.get(word)
        if known is None or (known.cut and known.times < most):
            sql = "SELECT doc FROM word_places WHERE term = ? AND doc BETWEEN ? AND ? LIMIT ?"
            docs = db.execute(sql, (word, *keys(self.state.number), most))
            numbers = numpy.fromiter(chain.from_iterable(docs), numpy.int64) & NUMBER
            self._word_bytes -= known.nbytes if known else 0
            found = self._columns.find(numbers)
            known = self._words[word] = Places.of(found, cut=len(found) == most)
            self._word_bytes += known.nbytes
        return known

    # --- meaning --------------------------------------------------------------------------------

    def _near(
        self, db: Connection, selection: Selection, query: Query, model: Model, mask: Any
    ) -> tuple[Any, Any, tuple[float, float]]:
        """`search.nearest_keys`, places and cosines, and `search.usual`."""
        vectors = self._vectors.get(model.id)
        if vectors is None or vectors.model != model:
            vectors = self._vectors[model.id] = Vectors(
                model, self._columns, self._most_bytes - self._columns.nbytes
            )
            vectors.load(db, "BETWEEN ? AND ?", keys(self.state.number))
            vectors.compare(db)
        asked = AskedQuery(query)
        found = vectors.nearest(db, asked, mask, query.nearest)
        usual = vectors.usual(asked, self.state.last)
        if found is None:
            keys_found = dict(search.nearest_keys(db, selection, query, model))
            near = self._columns.find(to_numbers(list(keys_found)))
            cosines = numpy.array(list(keys_found.values()), float)
        else:
            near, cosines = found
            if model.center is None:  # of equally near ones the first by id
                self._read_sketches(db, near)
                ids = [self._sketches.row(place).id for place in near.tolist()]
                order = sorted(range(len(ids)), key=lambda at: (-cosines[at], ids[at]))[: query.nearest]
                near, cosines = near[order], cosines[order]
        if usual is None:
            usual = search.usual(db, self.state.number, query, model, self.state.last)
        return near, cosines, usual

    # --- whole memories -------------------------------------------------------------------------

    def get(self, db: Connection, scope: Scope, ids: Sequence[str]) -> list[Memory]:
        """`SqliteStore.get`, with the memories that were answers before."""
        missing = [id for id in ids if id not in self._memories]
        if missing:
            read = load_by_id(db, self.state.number, missing)
            for place, (_, memory) in zip(self._find([key for key, _ in read]), read, strict=True):
                self._memories[memory.id] = (place, memory)
                self._text_bytes += _text_bytes(memory)
        seen = self._selected(scope)
        found = [self._memories[id] for id in ids if id in self._memories]
        return [memory for place, memory in found if seen[place]]


def _text_bytes(memory: Memory) -> int:
    return MEMORY_BYTES + 2 * sum(len(text.trigger) + len(text.content) for text in memory.texts.values())
