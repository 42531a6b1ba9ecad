"""Old stores are brought up to date, newer ones are left alone, foreign ones too."""

import threading
from pathlib import Path

import apsw
import pytest

from nagori.core.ranking import cosine
from nagori.core.text import FTS5_TOKENIZE
from nagori.errors import SchemaTooNew, StoreError
from nagori.stores import migrate as schema
from nagori.stores.sqlite import SqliteStore, connect
from nagori.testing.contract import ME, memory, put, vector

NEXT = "9999_test.sql"


@pytest.fixture
def next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """A step of tomorrow: a column more, filled from what is there."""
    sql = """
        ALTER TABLE memory ADD COLUMN mood TEXT;
        UPDATE memory SET mood = 'calm' WHERE intensity < 50;
    """
    folder = tmp_path / "steps"
    (folder / "sql").mkdir(parents=True)
    (folder / "sql" / NEXT).write_text(sql)
    real = Path(schema.__file__).parent
    for name in schema.STEPS:
        (folder / "sql" / name).write_text((real / "sql" / name).read_text())
    monkeypatch.setattr("importlib.resources.files", lambda _: folder)
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


def test_an_older_store_goes_on_with_the_vectors_it_has(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "n.db")
    put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
    store.close()
    connection = connect(tmp_path / "n.db")
    before = schema.STEPS.index("0003_model_in_use.sql")
    connection.execute("ALTER TABLE space DROP COLUMN model")
    connection.pragma("user_version", before)
    assert schema.migrate(connection) == len(schema.STEPS) - before
    connection.close()
    assert store.model_in_use(ME.space) == "m3"
    store.close()


def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path, next_step: tuple[str, ...]) -> None:
    path = tmp_path / "n.db"
    (tmp_path / "steps/sql" / NEXT).write_text("CREATE TABLE half_done (x); SELECT * FROM nowhere;")
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
    with pytest.raises(SchemaTooNew, match="upgrade"):
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
    sql = (Path(schema.__file__).parent / "sql" / schema.STEPS[0]).read_text()
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
    store.compact()
    store.close()
    everything = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert [c for c in canaries if c.encode() in everything] == []


def test_a_store_used_by_many_threads_answers_each(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "n.db")
    put(store, *(memory(f"mem_{n}", f"thing number {n}") for n in range(50)))
    answers: list[int] = []

    def ask() -> None:
        answers.extend(len(store.match_text(ME, ["thing"], 100)) for _ in range(20))

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

    monkeypatch.setattr("nagori.stores._search.MANY", 1000)
    monkeypatch.setattr("nagori.stores._search.SHORTLIST", 200)
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
        found = store.nearest(ME, vector(*query, size=256), "m256", 10)
        agreed += len({hit.id for hit in found} & set(best))
    assert agreed >= 48, "at least 96 % of the true neighbours"
    assert store.check() == []


def test_a_question_of_common_words_looks_at_the_most_telling_memories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nagori.stores._evidence.MOST_SKETCHES", 10)
    store = SqliteStore(tmp_path / "n.db")
    put(store, *(memory(f"mem_{n:03}", "tea" + (" kettle" if n == 77 else "")) for n in range(100)))
    found = store.evidence(ME, ["tea", "kettl"], None, None, 5)
    assert len(found.sketches) == 10
    assert "mem_077" in found.sketches
