"""Old stores are brought up to date, newer ones are left alone, foreign ones too."""

import importlib.resources
import threading
from importlib import import_module
from pathlib import Path

import apsw
import pytest

from nagori.core.memory_scores import cosine
from nagori.core.model import Level, Memory, Text, TurnFilter, to_micros
from nagori.core.relevance import Query
from nagori.core.storage_types import AppliedPosition, LogEntry, VectorModels
from nagori.errors import SchemaTooNew, StoreError
from nagori.language.tokenizer import FTS5_TOKENIZE, index_words
from nagori.stores.sqlite import SqliteStore, connect
from nagori.testing.random_memories import (
    BIRTH,
    ME,
    OTHER,
    ids_with_words,
    memory,
    nearest,
    put,
    turn,
    vector,
)

NEXT = "9999_test.sql"

schema = import_module("nagori.stores.sqlite.migrate")  # its function has the same name


@pytest.fixture
def next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """A step of tomorrow: a column more, filled from what is there."""
    sql = """
        ALTER TABLE memory ADD COLUMN mood TEXT;
        UPDATE memory SET mood = 'calm' WHERE intensity < 50;
    """
    folder = tmp_path / "steps"
    (folder / "migrations").mkdir(parents=True)
    (folder / "migrations" / NEXT).write_text(sql)
    real = Path(schema.__file__).parent  # type: ignore[arg-type]
    for name in schema.STEPS:
        (folder / "migrations" / name).write_text((real / "migrations" / name).read_text())
    usual = importlib.resources.files
    ours = "nagori.stores.sqlite"
    monkeypatch.setattr("importlib.resources.files", lambda name: folder if name == ours else usual(name))
    return (*schema.STEPS, NEXT)


def version(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        return int(connection.pragma("user_version"))
    finally:
        connection.close()


def test_a_new_file_gets_every_step(tmp_path: Path) -> None:
    connection = connect(tmp_path / "n.db")
    assert schema.migrate(connection) == len(schema.STEPS)
    assert schema.migrate(connection) == 0
    assert connection.pragma("application_id") == schema.APPLICATION_ID


def test_an_older_store_keeps_its_memories_and_gains_what_is_new(
    tmp_path: Path, next_step: tuple[str, ...]
) -> None:
    path = tmp_path / "n.db"
    store = SqliteStore(path)
    put(store, memory(content="from yesterday"), vectors={"mem_a": vector(1, 0, 0)})
    store.close()
    connection = connect(path)
    assert schema.migrate(connection, next_step) == 1
    assert connection.execute("SELECT mood FROM memory").fetchall() == [("calm",)]
    connection.close()
    assert version(path) == len(next_step)


# --- a store that 0.1 wrote -----------------------------------------------------------------------

MEMORY_0_1 = """
    INSERT INTO memory (key, space, id, version, kind, level, created, anchor, intensity, coefficient,
    recalls, mentions, protected, privacy, session, turn, trust, tokens, chars, asks, digest, rest)
    VALUES (:key, :space, :id, 3, 'fact', :level, :at, :at, 35.0, 0.995, 1, 2, 0, 'public', 's1', 4, 'user',
            :tokens, :chars, 0, :digest, :rest)"""
REST_0_1 = (
    """{"keywords":["tea"],"valence":"neutral","arousal":30.0,"tags":[],"uri":null,"archive_reason":null}"""
)


def add_0_1(db: apsw.Connection, owner: int, number: int, known: Memory, data: bytes | None) -> None:
    """A memory as 0.1 wrote it."""
    key, words = owner << 40 | number, index_words(known)
    values = {"key": key, "space": owner, "id": known.id, "level": int(known.level), "rest": REST_0_1}
    values |= {"at": to_micros(known.created), "tokens": len(words), "chars": len(known.searchable)}
    db.execute(MEMORY_0_1, values | {"digest": known.digest})
    for level, text in known.texts.items():
        db.execute("INSERT INTO text VALUES (?, ?, ?, ?)", (key, int(level), text.trigger, text.content))
    db.execute("INSERT INTO words (rowid, tokens) VALUES (?, ?)", (key, " ".join(words)))
    db.execute(
        "INSERT INTO log VALUES (?, ?, ?, 'formed', ?, 1, 100)", (owner, number, to_micros(BIRTH), known.id)
    )
    if data:
        db.execute("INSERT INTO vector_1 VALUES (?, ?, ?)", (key, known.digest, data))


def written_by_0_1(path: Path, *memories: Memory) -> None:
    """Two spaces; the first of the memories has a vector, and both spaces have the same memories."""
    db = connect(path)
    schema.migrate(db, schema.STEPS[:3])
    db.execute("INSERT INTO model (name, dimension, vectors) VALUES ('m3', 8, 2)")
    db.execute("CREATE TABLE vector_1 (key INTEGER PRIMARY KEY, digest BLOB NOT NULL, v BLOB NOT NULL)")
    db.execute("CREATE INDEX vector_1_digest ON vector_1 (digest)")
    db.execute(
        "CREATE TABLE bits_1 (key INTEGER PRIMARY KEY, archived INTEGER NOT NULL, forgotten INTEGER NOT NULL,"
        " project TEXT, agent TEXT, role TEXT, privacy TEXT NOT NULL, b BLOB NOT NULL)"
    )
    for owner, scope in ((1, ME), (2, OTHER)):
        tokens = sum(len(index_words(each)) for each in memories)
        count = len(memories)
        db.execute(
            "INSERT INTO space (id, tenant, user, segment, offset, seq, next, tokens, model)"
            " VALUES (?, ?, ?, 1, 4242, ?, ?, ?, 'm3')",
            (owner, *scope.owner, count, count + 1, tokens),
        )
        for number, each in enumerate(memories, 1):
            add_0_1(db, owner, number, each, vector(1, 0, 0) if number == 1 else None)
    db.close()


def test_a_store_of_0_1_goes_on_with_all_it_has(tmp_path: Path) -> None:
    path = tmp_path / "n.db"
    texts = {Level.FULL: Text("", "a green pot of tea"), Level.SUMMARY: Text("", "tea")}
    written_by_0_1(
        path,
        memory("mem_a", "The kettle whistles.", keywords=("tea",)),
        memory("mem_b", texts=texts, level=Level.SUMMARY, keywords=("tea",)),
    )
    assert version(path) == 3
    store = SqliteStore(path)
    assert store.applied(ME.owner) == AppliedPosition(2, 0, "")
    [first, second] = store.get(ME, ["mem_a", "mem_b"])
    assert (first.text.content, first.version, first.source.turn) == ("The kettle whistles.", 3, 4)
    assert second.texts == texts
    assert ids_with_words(store, "kettl") == {"mem_a"}
    assert store.candidates(ME, Query(["tea"])).total == 2
    assert nearest(store, vector(1, 0, 0)) == ["mem_a"]
    assert store.vectors.models(ME.owner) == VectorModels("m3", {"m3": 1})
    assert store.history(ME.owner, "mem_b") == [LogEntry(2, BIRTH, "formed", ("mem_b",))]
    assert store.turns(ME.owner, TurnFilter()) == []
    assert version(path) == len(schema.STEPS)
    assert store.check() == []


def test_a_store_of_0_1_can_be_changed_and_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "n.db"
    written_by_0_1(path, memory("mem_a", "The kettle whistles.", keywords=("tea",)))
    store = SqliteStore(path)
    [known] = store.get(ME, ["mem_a"])
    put(store, known.evolve(recalls=9), memory("mem_b", "new"), turns=[turn(2)], state={"key": 1})
    assert store.applied(ME.owner).seq == 2
    assert ids_with_words(store, ["kettl", "new"]) == {"mem_a", "mem_b"}
    put(store, erased=["mem_a"])
    assert [m.id for m in store.find(ME)] == ["mem_b"]
    with store.rebuilding(OTHER.owner):
        put(store, known, scope=OTHER)
    assert nearest(store, vector(1, 0, 0), OTHER) == ["mem_a"]
    assert store.check() == []


def test_two_processes_bring_a_store_of_0_1_up_to_date_at_once(tmp_path: Path) -> None:
    path = tmp_path / "n.db"
    written_by_0_1(path, memory("mem_a", "The kettle whistles.", keywords=("tea",)))
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.append(len(SqliteStore(path).find(ME)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [1] * 4


# --- steps ----------------------------------------------------------------------------------------


def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path, next_step: tuple[str, ...]) -> None:
    path = tmp_path / "n.db"
    (tmp_path / "steps/migrations" / NEXT).write_text("CREATE TABLE half_done (x); SELECT * FROM nowhere;")
    connection = connect(path)
    with pytest.raises(apsw.SQLError):
        schema.migrate(connection, next_step)
    assert connection.execute("SELECT name FROM sqlite_schema WHERE name = 'half_done'").fetchall() == []
    connection.close()
    assert version(path) == len(schema.STEPS)


def test_yesterdays_code_refuses_todays_store_untouched(tmp_path: Path, next_step: tuple[str, ...]) -> None:
    path = tmp_path / "n.db"
    connection = connect(path)
    schema.migrate(connection, next_step)
    connection.close()
    before = path.read_bytes()
    store = SqliteStore(path)
    with pytest.raises(SchemaTooNew, match=r"(?i)upgrade"):
        store.find(ME)
    store.close()
    assert path.read_bytes() == before


def test_another_programs_file_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "n.db"
    other = apsw.Connection(str(path))
    other.pragma("application_id", 12345)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path).find(ME)


@pytest.mark.parametrize("number", range(10))
def test_many_who_open_a_new_store_at_once_all_succeed(tmp_path: Path, number: int) -> None:
    faults: list[Exception] = []
    gate = threading.Barrier(8)

    def opened() -> None:
        store = SqliteStore(tmp_path / f"{number}.db")
        gate.wait()
        try:
            store.find(ME)
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=opened) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_the_word_index_cuts_tokens_as_core_text_promises() -> None:
    sql = (Path(schema.__file__).parent / "migrations" / schema.STEPS[0]).read_text()  # type: ignore[arg-type]
    assert FTS5_TOKENIZE in sql


def test_deleted_words_leave_no_trace_in_the_file(tmp_path: Path) -> None:
    """Random words: shared beginnings would hide in the index's prefix compression."""
    import random
    import string

    dice = random.Random(7)
    canaries = ["".join(dice.choices(string.ascii_lowercase, k=16)) for _ in range(50)]
    path = tmp_path / "n.db"
    store = SqliteStore(path)
    for n, canary in enumerate(canaries):
        put(store, memory(f"mem_{n}", f"{canary} and other words"))
    for n in range(len(canaries)):
        put(store, memory(f"mem_{n}", "nothing left", version=2))
    assert store.compact()
    store.close()
    everything = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert [c for c in canaries if c.encode() in everything] == []


def test_a_store_used_by_many_threads_answers_each(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "n.db")
    put(store, *(memory(f"mem_{n}", f"thing number {n}") for n in range(50)))
    answers: list[int] = []

    def ask() -> None:
        answers.extend(len(ids_with_words(store, "thing")) for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [50] * 120


def test_a_shortlist_finds_the_true_neighbours_among_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors as models make them: topics, and one direction that all of them share."""
    import random

    monkeypatch.setattr("nagori.stores.sqlite.writes.MANY", 1000)
    monkeypatch.setattr("nagori.stores.sqlite.search.SHORTLIST", 200)
    dice = random.Random(3)
    topics = [[dice.gauss(0, 1) for _ in range(256)] for _ in range(40)]

    def text_vector() -> list[float]:
        topic = dice.choice(topics)
        return [2 + t + 0.7 * dice.gauss(0, 1) for t in topic]

    store = SqliteStore(tmp_path / "n.db")
    points = {f"mem_{n}": text_vector() for n in range(2000)}
    put(
        store,
        *(memory(id, id) for id in points),
        vectors={id: vector(*numbers, size=256) for id, numbers in points.items()},
        model="m256",
    )
    agreed = 0
    for _ in range(5):
        query = text_vector()
        best = sorted(points, key=lambda id: cosine(query, points[id]), reverse=True)[:10]
        [hits] = store.vectors.nearest(ME, [vector(*query, size=256)], "m256", 10)
        agreed += len({hit.id for hit in hits} & set(best))
    assert agreed >= 48, "at least 96 % of the true neighbours"
    assert store.check() == []


def test_a_question_of_common_words_looks_at_the_most_telling_memories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nagori.core.relevance.MOST_SKETCHES", 10)
    store = SqliteStore(tmp_path / "n.db")
    put(store, *(memory(f"mem_{n:03}", "tea" + (" kettle" if n == 77 else "")) for n in range(100)))
    found = store.candidates(ME, Query(["tea", "kettl"]))
    assert len(found.infos) == 10
    assert "mem_077" in found.infos
