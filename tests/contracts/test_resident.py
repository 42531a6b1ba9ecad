"""The index in the memory of a process answers exactly as the file, whoever wrote meanwhile and whatever."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from nagori import Draft, Filter, Nagori, Scope, Source
from nagori.config import Config
from nagori.core.relevance import OtherLanguage, Query
from nagori.core.value_object import replace
from nagori.errors import NagoriError
from nagori.stores import sqlite
from nagori.stores.sqlite import SqliteStore, resident, writes
from nagori.stores.sqlite.resident import ResidentIndexes
from nagori.stores.sqlite.resident import arrays as arrays
from nagori.stores.sqlite.resident.owner_search_index import OwnerIndex
from nagori.testing import FrozenClock, WordEmbedder

SUBJECTS = [
    "tea",
    "boat",
    "garden",
    "train",
    "piano",
    "roof",
    "snow",
    "lamp",
    "庭",
    "電車",
    "雪",
    "犬",
    "紅茶",
]
VERBS = ["bought", "painted", "lost", "repaired", "sold", "忘れた", "買った"]
PLACES = ["Kyoto", "the office", "the station", "京都", "図書館"]
QUESTIONS = (
    "the piano in Kyoto",
    "who bought tea?",
    "京都で紅茶を買った",
    "what was said yesterday?",
    "ボート xyz",
)
SCOPES = (
    Scope(),
    Scope(project="blue"),
    Scope(project="red", agent="ada"),
    Scope(agent="bob", role="cook"),
    Scope(role="cook"),
    Scope(unnamed_agent=True),
    Scope(user="other"),
)
FILTERS = (Filter(), Filter(archived=True, forgotten=True), Filter(protected=True), Filter(kinds={"episode"}))  # type: ignore[arg-type]
PLENTY = 50_000_000


@pytest.fixture(autouse=True)
def from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index from the first search on, and bits of vectors for a handful of them."""
    monkeypatch.setattr(sqlite, "SEARCHES_BEFORE_INDEX", 1)
    monkeypatch.setattr(writes, "MANY", 30)
    monkeypatch.setattr(resident, "WORTH", 0)  # and anew at once after every change of the content


class World:
    """One folder: a process with an index, one that reads the file, and one that only writes."""

    def __init__(self, folder: Path, index_bytes: int = PLENTY) -> None:
        self.clock = FrozenClock()
        self.resident = self._open(folder, index_bytes)
        self.file = self._open(folder, 0)
        self.other = self._open(folder, 0)

    def _open(self, folder: Path, index_bytes: int) -> Nagori:
        store = SqliteStore(folder / "nagori.db", index_bytes)
        return Nagori.open(
            folder, config=Config(), clock=self.clock, embedder=WordEmbedder(), llm=None, store=store
        )

    @property
    def indexes(self) -> ResidentIndexes:
        store = self.resident.runtime.store
        assert isinstance(store, SqliteStore)
        assert store._indexes is not None
        return store._indexes[1]

    def close(self) -> None:
        for memory in (self.resident, self.file, self.other):
            memory.close()

    def compare(self, scope: Scope, question: str, filter: Filter) -> int:
        """Candidates with their order, memories, and answers with every figure; returns their number."""
        resident, file = self.resident.with_scope(scope), self.file.with_scope(scope)
        try:
            found = file.recall(question, filter=filter, mark=False, k=8)
        except NagoriError as refused:
            with pytest.raises(type(refused)):
                resident.recall(question, filter=filter, mark=False, k=8)
            return 0
        assert resident.recall(question, filter=filter, mark=False, k=8) == found
        vector = WordEmbedder().embed_query(question)
        query = Query(question.split(), vector, WordEmbedder().model, 12, filter)
        stores = (resident.runtime.store, file.runtime.store)
        moved = OtherLanguage(WordEmbedder().embed_query("the other garden"), 0.05)
        both = replace(query, other=moved)
        assert stores[0].candidates(scope, both) == stores[1].candidates(scope, both)
        ours, theirs = (store.candidates(scope, query) for store in stores)
        assert ours == theirs
        assert [list(ours.infos), list(ours.cosines)] == [list(theirs.infos), list(theirs.cosines)]
        assert [list(each) for each in ours.places.values()] == [
            list(each) for each in theirs.places.values()
        ]
        ids = [*theirs.infos, "mem_unknown", *(each.memory.id for each in found)]
        ours_read, theirs_read = (store.get(scope, ids) for store in stores)
        assert ours_read == theirs_read
        return len(found)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "memory")
    yield world
    world.close()


def say(dice: random.Random) -> str:
    return f"{dice.choice(SUBJECTS)} {dice.choice(VERBS)} {dice.choice(PLACES)} {dice.randrange(50)}"


def remember(memory: Nagori, dice: random.Random) -> None:
    scoped = memory.with_scope(dice.choice(SCOPES[:6]))
    scoped.remember(
        say(dice),
        kind=dice.choice(["fact", "episode"]),  # type: ignore[arg-type]
        privacy=dice.choice(["public", "agent-only", "private"]),  # type: ignore[arg-type]
        protect=dice.random() < 0.1,
        keywords=[dice.choice(SUBJECTS)] if dice.random() < 0.2 else (),
    )


def remember_many(memory: Nagori, dice: random.Random) -> None:
    memory.remember_many([say(dice) for _ in range(dice.randrange(1, 12))])


def remember_talk(memory: Nagori, dice: random.Random) -> None:
    session, first = dice.choice("abc"), dice.randrange(30)
    sources = [Source(session, first + n, dice.choice([None, "Ada", "Kyoto"])) for n in range(6)]
    memory.remember_many([Draft(f"{say(dice)}{dice.choice('.?')}", source=source) for source in sources])


def remember_without_vector(memory: Nagori, dice: random.Random) -> None:
    silent = Nagori.open(memory.runtime.data_dir, clock=memory.runtime.clock, embedder=None, llm=None)
    silent.remember(say(dice))
    silent.close()


def for_another(memory: Nagori, dice: random.Random) -> None:
    memory.with_scope(user="other").remember(say(dice))


def change(verb: Callable[[Nagori, str, random.Random], object]) -> Callable[[Nagori, random.Random], None]:
    def changed(memory: Nagori, dice: random.Random) -> None:
        every = memory.list(Filter(archived=True, forgotten=True), limit=500)
        if every:
            verb(memory, dice.choice(every).id, dice)

    return changed


def night(memory: Nagori, dice: random.Random) -> None:
    memory.runtime.clock.forward(days=dice.choice([1, 9, 40]))  # type: ignore[attr-defined]
    memory.cycle()


def erase_user(memory: Nagori, dice: random.Random) -> None:
    whose = memory.with_scope(user="other")
    try:
        whose.erase(whose.plan_erasure(everything=True))
    finally:
        whose.reopen()


DEEDS: list[Callable[[Nagori, random.Random], object]] = [
    *[remember] * 4,
    *[remember_many] * 2,
    *[remember_talk] * 2,
    remember_without_vector,
    for_another,
    lambda memory, dice: memory.recall(dice.choice(QUESTIONS)),
    lambda memory, dice: memory.embed_missing(),
    change(lambda memory, id, dice: memory.edit(id, content=say(dice))),
    change(lambda memory, id, dice: memory.edit(id, kind=dice.choice(["fact", "lesson"]))),
    change(lambda memory, id, dice: memory.forget(id)),
    change(lambda memory, id, dice: memory.undo(id)),
    change(lambda memory, id, dice: memory.archive(id)),
    change(lambda memory, id, dice: memory.unarchive(id)),
    change(lambda memory, id, dice: memory.feedback(id, dice.random() < 0.5)),
    change(lambda memory, id, dice: memory.erase(memory.plan_erasure(memory=id))),
    night,
    erase_user,
    lambda memory, dice: memory.rebuild(),
    lambda memory, dice: memory.compact(),
]


@pytest.mark.parametrize("seed", range(5))
def test_answers_are_those_of_the_file_after_anything_that_anybody_does(world: World, seed: int) -> None:
    dice, answers = random.Random(seed), 0
    remember_many(world.other, dice)
    for _ in range(45):
        deed, who = dice.choice(DEEDS), dice.choice([world.resident, world.other])
        with suppress(NagoriError):  # not every deed is possible at every moment
            deed(who, dice)
        for scope in dice.sample(SCOPES, 2):
            answers += world.compare(scope, dice.choice(QUESTIONS), dice.choice([FILTERS[0], *FILTERS]))
    assert answers > 100
    assert world.indexes.nbytes > 0


def test_the_file_answers_while_a_store_is_rebuilt_again_and_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise every process that reads it fills all its indexes anew after every rebuild."""
    monkeypatch.setattr(resident, "WORTH", 10)
    world.other.remember_many(["The piano stands in Kyoto.", "Tea was bought."])
    filled = []
    for _ in range(12):
        world.compare(Scope(), QUESTIONS[0], Filter())
        filled.append(world.indexes.nbytes > 0)
        world.other.rebuild()
    assert filled[0]
    assert filled[4:].count(True) <= 2
    for _ in range(resident.MOST_SKIPPED):
        world.compare(Scope(), QUESTIONS[0], Filter())
    assert world.indexes.nbytes > 0


def test_without_bits_the_nearest_are_the_same_down_to_ties(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writes, "MANY", 10**6)
    dice = random.Random(1)
    for _ in range(5):
        world.other.remember_many([say(dice) for _ in range(12)])
        for question in QUESTIONS:
            world.compare(Scope(), question, Filter())
    world.other.remember_many([f"the same {n}" for n in range(40)])
    assert world.compare(Scope(), "the same", Filter()) > 0


@pytest.mark.parametrize("index_bytes", [1, 20_000, 60_000, 200_000])
def test_it_keeps_within_its_bytes_and_answers_all_the_same(tmp_path: Path, index_bytes: int) -> None:
    world, dice = World(tmp_path / "memory", index_bytes), random.Random(3)
    try:
        for user in ("me", "other", "third"):
            world.other.with_scope(user=user).remember_many([say(dice) for _ in range(60)])
        for _ in range(25):
            world.compare(Scope(user=dice.choice(["me", "other", "third"])), dice.choice(QUESTIONS), Filter())
            assert world.indexes.nbytes <= index_bytes
    finally:
        world.close()


def test_it_grows_with_the_memories_that_are_there_and_not_with_those_that_were(world: World) -> None:
    dice, sizes = random.Random(5), list[int]()
    world.other.remember_many([say(dice) for _ in range(40)])
    for day in range(6):
        drafts = [Draft(f"{say(dice)} on day {day}", source=Source(f"day {day}")) for _ in range(120)]
        world.other.remember_many(drafts)
        assert world.compare(Scope(), QUESTIONS[0], Filter())
        world.other.erase(world.other.plan_erasure(session=f"day {day}"))
        assert world.compare(Scope(), QUESTIONS[0], Filter())
        assert world.indexes.nbytes
        sizes.append(world.indexes.nbytes)
    assert max(sizes) < 1.1 * sizes[0]


def test_a_cosine_that_rounds_otherwise_here_is_asked_of_the_file(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_sum_in_order", lambda rows: rows.sum(axis=1) * 1.0000002)
    dice = random.Random(4)
    world.other.remember_many([say(dice) for _ in range(80)])
    for question in QUESTIONS:
        world.compare(Scope(), question, Filter())


def words_in(indexes: ResidentIndexes) -> str:
    return " ".join(
        f"{memory.text.whole} {list(index._words)}"
        for index in indexes._by_owner.values()
        for _, memory in index._memories.values()
    )


def test_erased_words_leave_this_process_at_once(world: World) -> None:
    kept = world.resident.remember("Wendelin repaired the boiler")
    world.resident.remember("Tea is in the kitchen")
    assert world.resident.recall("boiler Wendelin", mark=False)
    assert "Wendelin" in words_in(world.indexes)
    world.resident.erase(world.resident.plan_erasure(memory=kept.id))
    assert "Wendelin" not in words_in(world.indexes)
    assert "wendelin" not in words_in(world.indexes)


def test_words_that_another_process_erased_leave_with_the_next_question_of_anybody(world: World) -> None:
    whose = world.resident.with_scope(user="other")
    whose.remember("Wendelin repaired the boiler")
    whose.recall("boiler Wendelin", mark=False)
    world.resident.remember("Tea is in the kitchen")
    world.resident.recall("tea")
    assert "Wendelin" in words_in(world.indexes)
    away = world.other.with_scope(user="other")
    away.erase(away.plan_erasure(everything=True))
    world.resident.recall("kitchen")
    assert "Wendelin" not in words_in(world.indexes)


def test_what_is_written_but_not_committed_is_not_taken_over(world: World) -> None:
    world.other.remember_many([say(random.Random(5)) for _ in range(5)])
    world.compare(Scope(), QUESTIONS[0], Filter())
    store = world.resident.runtime.store
    assert isinstance(store, SqliteStore)
    with suppress(RuntimeError), store.writing() as db:
        db.execute("UPDATE memory SET project = 'gone'")
        db.execute("UPDATE owner SET seq = seq + 1")
        assert not store.candidates(Scope(project="blue"), Query(["tea"])).infos
        raise RuntimeError
    for scope in SCOPES:
        world.compare(scope, QUESTIONS[0], Filter())


def test_a_reader_that_began_earlier_sees_the_earlier_state(world: World) -> None:
    world.resident.remember("Tea is in the kitchen")
    store = world.resident.runtime.store
    assert isinstance(store, SqliteStore)
    world.resident.recall("tea")
    with store.reading() as db:
        assert db.txn_state("main") in (apsw.SQLITE_TXN_NONE, apsw.SQLITE_TXN_READ)
        before = store.candidates(Scope(), Query(["tea"]))
        writer = threading.Thread(target=world.other.remember, args=("More tea in the office",))
        writer.start()
        writer.join()
        asker = threading.Thread(target=world.resident.recall, args=("tea",))
        asker.start()
        asker.join()
        assert store.candidates(Scope(), Query(["tea"])) == before
    assert len(store.candidates(Scope(), Query(["tea"])).infos) == 2


def test_an_index_that_fails_is_given_up_and_observed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[str, dict[str, object]]] = []
    with Nagori.open(
        tmp_path,
        clock=FrozenClock(),
        embedder=WordEmbedder(),
        observe=lambda name, **fields: heard.append((name, fields)),
    ) as memory:
        memory.remember("The piano in Kyoto is blue.")
        asked = [memory.recall("the piano in Kyoto", mark=False) for _ in range(4)]

        def fail(*_: object) -> None:
            raise IndexError("secret words")

        monkeypatch.setattr(OwnerIndex, "candidates", fail)
        assert memory.recall("the piano in Kyoto", mark=False) == asked[0]
        assert ("index.given_up", {"error": "IndexError"}) in heard


def test_many_threads_ask_while_others_write(world: World) -> None:
    dice, failures = random.Random(6), []
    world.other.remember_many([say(dice) for _ in range(60)])

    def ask() -> None:
        try:
            for _ in range(15):
                assert world.resident.recall("tea piano 京都")
        except BaseException as trouble:
            failures.append(trouble)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        remember(world.other, dice)
        change(lambda memory, id, dice: memory.edit(id, content=say(dice)))(world.resident, dice)
    for thread in threads:
        thread.join()
    assert not failures
    for question in QUESTIONS:
        world.compare(Scope(), question, Filter())


def test_a_process_that_recalls_once_loads_none_of_it(world: World) -> None:
    world.other.remember("Tea is in the kitchen")
    code = (
        "import sys; from nagori import Nagori; m = Nagori.open(sys.argv[1], embedder=None, llm=None);"
        "assert m.recall('tea'); assert m.recall('kitchen');"
        "print([n for n in sys.modules if n == 'numpy' or 'resident' in n])"
    )
    command = [sys.executable, "-c", code, str(world.other.runtime.data_dir)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"
