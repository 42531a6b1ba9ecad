"""A22: whatever an embedder does, words are kept, found by their words, and nothing fails because of it."""

import json
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nagori import Nagori, Turn
from nagori.testing import FrozenClock, WordEmbedder


class Broken(WordEmbedder):
    """An embedder whose answers go through `spoil`."""

    def __init__(self, spoil: Callable[[list[bytes]], Any]) -> None:
        super().__init__()
        self.spoil = spoil

    def embed_passages(self, texts: Any) -> Any:
        return self.spoil([WordEmbedder.embed_query(self, text) for text in texts])

    def embed_query(self, text: str) -> Any:
        made = self.spoil([WordEmbedder.embed_query(self, text)])
        return made[0] if isinstance(made, list) and made else made


def fail(error: BaseException) -> Callable[[list[bytes]], Any]:
    def spoil(vectors: list[bytes]) -> Any:
        raise error

    return spoil


class OwnError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot even be shown")


def late(vectors: list[bytes]) -> Any:
    yield vectors[0]
    raise ValueError("in the middle")


NAN = array("f", [float("nan")] * 64).tobytes()
SPOILED: dict[str, Callable[[list[bytes]], Any]] = {
    "ValueError": fail(ValueError("x")),
    "KeyError": fail(KeyError("x")),
    "MemoryError": fail(MemoryError()),
    "RecursionError": fail(RecursionError()),
    "StopIteration": fail(StopIteration()),
    "OSError": fail(OSError("gone")),
    "AssertionError": fail(AssertionError()),
    "an error of its own": fail(OwnError()),
    "None": lambda v: None,
    "nothing": lambda v: [],
    "one too few": lambda v: v[:-1],
    "one too many": lambda v: [*v, *v[:1]],
    "NaN": lambda v: [NAN] * len(v),
    "infinite": lambda v: [array("f", [float("inf")] * 64).tobytes()] * len(v),
    "zero": lambda v: [bytes(256)] * len(v),
    "another dimension": lambda v: [data[:-4] for data in v],
    "half a number": lambda v: [data[:-1] for data in v],
    "empty bytes": lambda v: [b""] * len(v),
    "texts": lambda v: ["0.1"] * len(v),
    "numbers": lambda v: [1.0] * len(v),
    "lists of numbers": lambda v: [[0.1] * 64] * len(v),
    "bytearrays": lambda v: [bytearray(data) for data in v],
    "Nones": lambda v: [None] * len(v),
    "a text": lambda v: "vectors",
    "a number": lambda v: 7,
    "a dictionary": lambda v: dict(enumerate(v)),
    "a generator": lambda v: (data for data in v),
    "a generator that fails": late,
    "a tuple": tuple,
    "only the first is right": lambda v: [v[0], *[NAN] * (len(v) - 1)],
}
RECORD = {
    "id": "mem_a",
    "created": "2026-01-01T00:00:00+00:00",
    "texts": {"1": {"content": "imported harbour"}},
}


@pytest.mark.parametrize("name", SPOILED)
def test_nothing_fails_because_of_an_embedder_and_the_words_are_kept(
    tmp_path: Path, clock: FrozenClock, name: str
) -> None:
    with Nagori.open(tmp_path / "data", clock=clock, embedder=Broken(SPOILED[name])) as memory:
        kept = memory.remember("The port of staging is 8443.")
        memory.remember_many(["A first matter.", "A second matter.", "A third matter."])
        memory.form(
            [Turn(f"We talked about lighthouse {n}.", clock.now(), session="s", index=n) for n in range(3)]
        )
        memory.turn("The ferry leaves at nine.", session="t")
        memory.process()
        assert memory.import_([json.dumps({"memory": RECORD})]).added == 1
        assert memory.recall("port of staging")[0].memory.id == kept.id
        assert memory.recall("lighthouse")
        assert memory.context("When does the ferry leave, and where is the harbour?", session="u").memories
        memory.edit(kept.id, content="The port of staging is 9443 now.")
        memory.archive(kept.id)
        memory.unarchive(kept.id)
        memory.undo(kept.id)
        memory.embed_missing()
        clock.forward(days=300)
        memory.cycle()
        memory.why(kept.id, "port")
        memory.rebuild()
        assert len(memory.list(limit=100)) + sum(m.is_archived for m in memory.list()) >= 1
        assert memory.verify().sound
        said = [{"role": "user", "content": f"Message {n} of many. " * 5} for n in range(20)]
        assert memory.prune(said, budget=300).report["remembered"] > 10
    with Nagori.open(tmp_path / "data", clock=clock, embedder=WordEmbedder()) as memory:
        memory.embed_missing()  # a sound one comes back: everything gets its vectors
        assert memory.status().counts.unembedded == 0


@pytest.mark.parametrize("fact", ["dimension", "unrelated"])
def test_an_embedder_that_does_not_tell_a_fact_of_its_own_costs_its_vectors_only(
    tmp_path: Path, clock: FrozenClock, fact: str
) -> None:
    def raise_(self: object) -> object:
        raise ConnectionError("no server")

    silent = type("Silent", (WordEmbedder,), {})()
    delattr(silent, fact) if fact in vars(silent) else None
    setattr(type(silent), fact, property(raise_))
    with Nagori.open(tmp_path / "data", clock=clock, embedder=silent) as memory:
        kept = memory.remember("The port of staging is 8443.")
        assert memory.recall("port of staging")[0].memory.id == kept.id
        memory.embed_missing()
        memory.cycle()


def test_a_model_that_changes_its_dimension_under_its_name_costs_no_words(
    tmp_path: Path, clock: FrozenClock
) -> None:
    for dimension in (64, 32, 128):
        embedder = WordEmbedder(dimension)
        embedder.model = "the same name"
        with Nagori.open(tmp_path / "data", clock=clock, embedder=embedder) as memory:
            memory.remember(f"Said with {dimension} dimensions.")
            assert memory.recall("said with dimensions")
            memory.form(
                [Turn(f"A turn with {dimension} dimensions.", clock.now(), session="s", index=dimension)]
            )
            memory.embed_missing()
            clock.forward(days=1)
            memory.cycle()
            memory.rebuild()
            assert memory.verify().sound
