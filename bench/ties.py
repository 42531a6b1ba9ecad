"""What it costs to tie new memories to those of one topic among very many: `python -m bench.cycle --links N`.

The vectors are drawn, not computed: unit vectors around forty centres. Half of the new memories are laid at a
known distance from an old one, on both sides of the threshold. What a night ties is compared with every pair
above the threshold, found by comparing all with all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.data import sentences
from bench.filling import AT_ONCE, MADE_BY, OWNER, kept

from nagori import Emotion, Kind, Level, Memory, Nagori, Scope
from nagori.core.events import LINKED, Event
from nagori.core.model import Text
from nagori.core.serialize import to_record
from nagori.core.storage_types import Vector
from nagori.core.value_object import replace, split_batches
from nagori.services import link_similar_memories
from nagori.services.remember import identify
from nagori.testing import FrozenClock

DIMENSION, CENTRES, NEW = 384, 40, 1_000
BLOCK = 4_096


class Drawn:
    """An embedder for vectors that are known already."""

    model, dimension, unrelated = f"drawn-{DIMENSION}", DIMENSION, (0.0, 0.05)

    def embed_passages(self, texts: Any) -> list[bytes]:
        raise AssertionError("every vector is known")

    def embed_query(self, text: str) -> bytes:
        raise AssertionError("every vector is known")


def old_vectors(size: int) -> Iterator[Any]:
    """Blocks of unit vectors: three fifths of a centre, four fifths of chance."""
    import numpy

    draw = numpy.random.default_rng(1)
    centres = _unit(draw.standard_normal((CENTRES, DIMENSION)))
    for begin in range(0, size, BLOCK):
        count = min(BLOCK, size - begin)
        chance = _unit(draw.standard_normal((count, DIMENSION)))
        around = centres[draw.integers(0, CENTRES, count)]
        yield _unit(0.6 * around + 0.8 * chance).astype("<f4")


def new_vectors(first: Any, new: int) -> Any:
    """So many unit vectors; every second one lies near one of `first`, at a cosine of 0.8 to 1."""
    import numpy

    draw = numpy.random.default_rng(2)
    vectors = _unit(draw.standard_normal((new, DIMENSION)))
    chosen = first[draw.permutation(len(first))[: len(vectors[::2])]].astype("f8")
    aside = draw.standard_normal(chosen.shape)
    aside = _unit(aside - (aside * chosen).sum(1, keepdims=True) * chosen)
    cosines = draw.uniform(0.8, 1.0, (len(chosen), 1))
    vectors[::2][: len(chosen)] = cosines * chosen + numpy.sqrt(1 - cosines**2) * aside
    return vectors.astype("<f4")


def _unit(rows: Any) -> Any:
    import numpy

    return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


def filled(folder: Path, size: int, new: int) -> None:
    """`size` memories that were looked at, then `new` ones that were not."""
    clock, source = FrozenClock(), sentences(1)
    with opened(folder, clock) as memory:
        first = None
        for block in old_vectors(size):
            first = block if first is None else first
            put(memory, source, block)
        end = memory.runtime.journal.last_seq(OWNER)
        clock.forward(days=1)
        put(memory, source, new_vectors(first, new))
        memory.runtime.ledger.set_state(OWNER, LINKED, end, clock.now(), by="bench")


def opened(folder: Path, clock: FrozenClock) -> Nagori:
    return Nagori.open(folder, clock=clock, embedder=Drawn())


def put(memory: Nagori, source: Iterator[tuple[str, str, int]], vectors: Any) -> None:
    """New memories with these vectors, the usual way."""
    now, events, known = memory.runtime.clock.now(), [], {}
    for (text, _, _), vector in zip(source, vectors, strict=False):
        young = Memory("", now, now, {Level.FULL: Text("", text)}, Kind.FACT, emotion=Emotion(60))
        young = replace(young, id=identify(young))
        events.append(Event("imported", now, {"memory": to_record(young)}, young.id))
        known[young.id] = Vector(Drawn.model, young.digest, vector.tobytes())
    for few in split_batches(events, AT_ONCE):
        memory.runtime.ledger.write(OWNER, lambda few=few: few, known)  # type: ignore[misc]


def measured(size: int, cache: Path, work: Path, new: int = NEW) -> dict[str, float]:
    """CPU of tying the new ones, and how many of the true pairs were tied."""
    folder = kept(cache, work, f"{MADE_BY}-{size}-ties-{new}", lambda folder: filled(folder, size, new))
    clock = FrozenClock()
    clock.forward(days=1)
    with opened(folder, clock) as memory:
        begun, looked = time.process_time(), time.perf_counter()
        made, _ = link_similar_memories.link_new(memory.runtime, OWNER)
        cpu, wall = time.process_time() - begun, time.perf_counter() - looked
        ids = [event.memory or "" for event in memory.runtime.journal.read(OWNER) if _new(event)]
        tied = {(r.source, r.target) for r in memory.runtime.store.relations(Scope(), ids[size:])}
        true = true_pairs(ids, size, new, memory.runtime.config.relations.auto_link_similarity_threshold)
    recall = len(true & tied) / max(1, len(true))
    return {
        "memories": size,
        "new": new,
        "cpu_s": cpu,
        "wall_s": wall,
        "ties": made,
        "pairs": len(true),
        "recall": recall,
    }


def _new(event: Event) -> bool:
    return event.type == "imported"


def true_pairs(ids: list[str], size: int, new: int, least: float) -> set[tuple[str, str]]:
    """Every pair of a new memory and another above the threshold; the newer one comes first."""
    import numpy

    first = next(old_vectors(size))
    asked = new_vectors(first, new)
    found, begin = set(), 0
    for block in (*old_vectors(size), asked):
        for row, column in zip(*numpy.nonzero(block @ asked.T >= least), strict=True):
            one, other = begin + int(row), size + int(column)
            if one < other:
                pair = (ids[other], ids[one])
                found.add(
                    pair if one < size else (max(pair), min(pair))
                )  # of one age, the greater id is newer
        begin += len(block)
    return found
