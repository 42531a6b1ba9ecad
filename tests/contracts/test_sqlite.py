"""What only the SQLite engine has: files, connections, damage, and other processes."""

# mypy: disable-error-code="func-returns-value"
# Because `append` in a lambda.

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import nagori
from nagori.core.cycle import CycleRules
from nagori.core.model import Level, Scope, Text, TurnFilter
from nagori.core.relevance import Query
from nagori.core.storage_types import AppliedPosition, Batch, LogEntry
from nagori.core.value_object import replace
from nagori.errors import SchemaTooNew, StoreDamaged, StoreError
from nagori.stores import sql_rows, sqlite
from nagori.stores.sqlite import MOST_IDLE, SqliteStore, bulk_nearest, connect, writes
from nagori.testing.random_memories import (
    BIRTH,
    EVERYTHING,
    ME,
    OTHER,
    ids_with_words,
    memory,
    nearest,
    put,
    turn,
    vector,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "n.db"


def elsewhere(code: str, *arguments: object, **more: object) -> str:
    """What a process of its own prints."""
    head = """
        import os, resource, sys
        from pathlib import Path
        from nagori.stores.sqlite import SqliteStore
        from nagori.testing.random_memories import *
        store = SqliteStore(Path(sys.argv[1]))
    """
    script = textwrap.dedent(head) + textwrap.dedent(code)
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


# --- what a writer read last ----------------------------------------------------------------------


@pytest.mark.parametrize("first", ["get", "commit"])
def test_a_writer_sees_what_another_wrote_since_he_looked(path: Path, first: str) -> None:
    mine, other = SqliteStore(path), SqliteStore(path)
    young = memory(content="young words")
    put(mine, young)
    assert mine.get(ME, ["mem_a"]) == [young]
    old = young.evolve(texts=memory(content="old words").texts)
    put(other, old)
    if first == "get":
        assert mine.get(ME, ["mem_a"]) == [old]
    after = old.evolve(recalls=3)
    put(mine, after)  # what is not written again must be what the other one wrote
    assert mine.get(ME, ["mem_a"]) == [after]
    assert SqliteStore(path).get(ME, ["mem_a"]) == [after]
    assert ids_with_words(mine, "old") == {"mem_a"}
    assert ids_with_words(mine, "young") == set()


def test_a_writer_reads_the_same_memories_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(path)
    put(store, memory(), memory("mem_b"))
    reads: list[object] = []
    real = sql_rows.load_by_id
    monkeypatch.setattr(sql_rows, "load_by_id", lambda *args: reads.append(args) or real(*args))
    store.get(ME, ["mem_a", "mem_b"])
    store.get(ME, ["mem_b"])
    put(store, memory(version=2))
    assert len(reads) == 1
    assert store.get(ME, ["mem_a"])[0].version == 2


def test_a_write_that_was_taken_back_was_never_seen(path: Path) -> None:
    store = SqliteStore(path)
    before = memory(content="before")
    put(store, before)

    def rebuild() -> None:
        with store.rebuilding(ME.owner):
            put(store, memory(content="never", version=9))
            assert store.get(ME, ["mem_a"])[0].version == 9
            raise RuntimeError("the light went out")

    with pytest.raises(RuntimeError):
        rebuild()
    assert store.get(ME, ["mem_a"]) == [before]


def test_a_new_user_whose_first_write_failed_leaves_no_number_behind(path: Path) -> None:
    """The next new user gets the number, and the first must not read by it."""
    store = SqliteStore(path)
    put(store, memory())

    def rebuild() -> None:
        with store.rebuilding(OTHER.owner):
            assert store.find(OTHER) == []
            raise RuntimeError("the light went out")

    with pytest.raises(RuntimeError):
        rebuild()
    put(store, memory(content="a stranger's"), scope=Scope(user="stranger"))
    assert store.find(OTHER, EVERYTHING) == []
    assert store.get(OTHER, ["mem_a"]) == []


# --- files that are exchanged ---------------------------------------------------------------------


def replaced_by_another_numbering(path: Path) -> None:
    """A store in which the users were numbered the other way round takes its place."""
    other = SqliteStore(path.with_name("other.db"))
    put(other, memory(content="theirs"), scope=OTHER, vectors={"mem_a": vector(0, 1)}, model="other")
    put(other, memory(content="mine again"), vectors={"mem_a": vector(1, 0, size=16)}, model="m16")
    other.close()
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    path.with_name("other.db").replace(path)


@pytest.mark.parametrize("threads", [False, True])
def test_a_file_that_was_exchanged_is_read_anew(path: Path, threads: bool) -> None:
    store = SqliteStore(path)
    put(store, memory(content="mine"), vectors={"mem_a": vector(1, 0, 0)})
    put(store, memory(content="theirs"), scope=OTHER)
    assert store.get(ME, ["mem_a"])[0].text.content == "mine"
    replaced_by_another_numbering(path)
    answers: list[object] = []

    def ask() -> None:
        answers.append([m.text.content for m in (*store.get(ME, ["mem_a"]), *store.find(ME))])
        answers.append([m.text.content for m in store.find(OTHER)])
        answers.append(store.vectors.models(ME.owner).active)

    asking = threading.Thread(target=ask)
    asking.start() if threads else ask()
    if threads:
        asking.join()
    assert answers == [["mine again", "mine again"], ["theirs"], "m16"]
    put(store, memory("mem_b", content="later"))
    store.close()
    assert {m.text.content for m in SqliteStore(path).find(ME)} == {"mine again", "later"}


def test_a_file_that_is_gone_is_a_store_that_is_empty(path: Path) -> None:
    store = SqliteStore(path)
    put(store, memory())
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    assert store.find(ME) == []
    assert store.applied(ME.owner) == AppliedPosition()
    put(store, memory(content="anew"))
    assert SqliteStore(path).find(ME)[0].text.content == "anew"


@pytest.mark.skipif(os.name == "nt", reason="Windows does not delete a file that is open")
def test_a_new_file_never_joins_the_side_files_of_one_that_was_deleted(path: Path) -> None:
    """SQLite would cut the shared memory that a thread still reads, which kills the process (SIGBUS)."""
    store, side_file = SqliteStore(path), path.with_name(path.name + "-shm")
    put(store, memory())
    with store.reading() as reader:
        shared = reader.execute("SELECT count(*) FROM memory").fetchall()
        with side_file.open("rb", buffering=0) as held:
            before = held.read()
            path.unlink()
            assert SqliteStore(path).find(ME) == []
            held.seek(0)
            assert held.read() == before
        assert reader.execute("SELECT count(*) FROM memory").fetchall() == shared


def test_threads_open_a_path_one_after_the_other(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = 0, 0

    def connect_slowly(path: Path) -> sqlite.Connection:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.01)
        inside -= 1
        return connect(path)

    monkeypatch.setattr(sqlite, "connect", connect_slowly)
    threads = [threading.Thread(target=SqliteStore(path).find, args=(ME,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


DELETED = """
import subprocess, sys, threading
from pathlib import Path
from nagori.errors import NagoriError
from nagori.stores.sqlite import SqliteStore

path, stop = Path(sys.argv[1]), threading.Event()
if len(sys.argv) > 2:  # another process, which makes the file anew
    for _ in sys.stdin:
        store = SqliteStore(path)
        try:
            store.lease(("t", "u"), "work", "other", 1.0, 2.0)
            store.close()
        except NagoriError:
            pass
        print(flush=True)
    sys.exit()
store = SqliteStore(path)

def serve():
    n = 0
    while not stop.is_set():
        n += 1
        try:
            store.applied(("t", "u")) if n % 5 else store.lease(("t", "u"), "work", "me", n, n + 1.0)
        except NagoriError:
            pass

threads = [threading.Thread(target=serve) for _ in range(6)]
for thread in threads:
    thread.start()
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
with subprocess.Popen([sys.executable, __file__, str(path), "other"], **pipes) as other:
    for _ in range(3000):
        for file in path.parent.glob("n.db*"):
            file.unlink(missing_ok=True)
        other.stdin.write("\\n")
        other.stdin.flush()
        other.stdout.readline()
    other.stdin.close()
stop.set()
for thread in threads:
    thread.join()
store.applied(("t", "u"))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows does not delete a file that is open")
def test_a_process_whose_file_is_deleted_again_and_again_lives_on(path: Path) -> None:
    script = path.with_name("serve.py")
    script.write_text(DELETED)
    done = subprocess.run([sys.executable, str(script), str(path)], capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")


def test_an_error_that_cannot_be_looked_into_is_told_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise apsw.IOError("disk I/O error")

    store = SqliteStore(path)
    put(store, memory())
    monkeypatch.setattr(sqlite.Connection, "pragma", fail)
    with pytest.raises(StoreError), store.reading() as db:
        db.execute("SELECT nothing FROM nowhere")


def test_a_store_that_another_process_put_aside_is_not_written_to(path: Path) -> None:
    store = SqliteStore(path)
    put(store, memory(content="damaged"))
    aside = SqliteStore(path).quarantine("20260401")
    assert aside == path.with_name("n.db.damaged-20260401")
    put(store, memory(content="anew"))
    store.close()
    assert [m.text.content for m in SqliteStore(path).find(ME)] == ["anew"]
    assert [m.text.content for m in SqliteStore(aside).find(ME)] == ["damaged"]


# --- connections ----------------------------------------------------------------------------------


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux tells them")
def test_threads_that_come_and_go_leave_no_connection_behind(path: Path) -> None:
    store = SqliteStore(path)
    put(store, memory())
    before = open_files()
    for _ in range(60):
        thread = threading.Thread(target=store.find, args=(ME,))
        thread.start()
        thread.join()
    assert open_files() <= before
    at_once = [threading.Thread(target=store.find, args=(ME,)) for _ in range(60)]
    for thread in at_once:
        thread.start()
    for thread in at_once:
        thread.join()
    assert open_files() <= before + 3 * MOST_IDLE
    store.close()
    assert open_files() < before


def test_many_threads_may_read_and_write_at_once(path: Path) -> None:
    store = SqliteStore(path)
    faults: list[Exception] = []

    def work(n: int) -> None:
        try:
            for m in range(5):
                put(store, memory(f"mem_{m}", f"word{n}"), scope=Scope(user=f"user {n}"))
                assert ids_with_words(store, f"word{n}", Scope(user=f"user {n}")) == {
                    f"mem_{k}" for k in range(m + 1)
                }
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert store.check() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True])
def test_a_connection_is_never_used_after_a_fork(path: Path, inside: bool) -> None:
    store = SqliteStore(path)
    put(store, memory())

    def child() -> None:
        fine = [m.id for m in store.find(ME)] == ["mem_a"]
        if not inside:
            put(store, memory("mem_b"))
        os._exit(0 if fine else 1)

    def forked() -> int:
        pid = os.fork()
        if pid == 0:
            child()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    if inside:
        with store.rebuilding(ME.owner):
            assert forked() == 0
            put(store, memory("mem_c"))
        assert [m.id for m in store.find(ME)] == ["mem_c"]
    else:
        assert forked() == 0
        assert {m.id for m in store.find(ME)} == {"mem_a", "mem_b"}
    assert store.check() == []


# --- where nothing can be written -----------------------------------------------------------------

ASK = """
    ids = sorted(m.id for m in store.find(ME))
    print(ids, sorted(ids_with_words(store, "kettl")), nearest(store, vector(1, 0, 0)))
    try:
        put(store, memory("mem_b"))
    except Exception as fault:
        print(type(fault).__name__)
"""
ANSWER = "['mem_a'] ['mem_a'] ['mem_a']\nStoreError\n"


@pytest.fixture
def sound(path: Path) -> Path:
    store = SqliteStore(path)
    put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
    store.close()
    return path


@pytest.mark.parametrize("open_elsewhere", [False, True])
def test_a_store_is_read_on_a_full_disk(sound: Path, open_elsewhere: bool) -> None:
    store = SqliteStore(sound)
    if open_elsewhere:
        assert store.find(ME)
    full = "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"
    assert elsewhere(textwrap.dedent(ASK).join((f"{full}\n", "")), sound) == ANSWER
    assert store.check() == []
    put(store, memory("mem_b"))


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """One that everybody may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(dir="/tmp" if os.path.isdir("/tmp") else None))  # noqa: PTH112
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="no such rights here")
@pytest.mark.parametrize("what", ["folder", "file", "both"])
def test_a_store_is_read_where_nothing_may_be_written(sound: Path, public_folder: Path, what: str) -> None:
    path = public_folder / "n.db"
    shutil.copy(sound, path)
    path.chmod(0o444 if what != "folder" else 0o666)
    public_folder.chmod(0o555 if what != "file" else 0o777)
    as_nobody = "os.setuid(65534)\n" if os.getuid() == 0 else ""
    if as_nobody and not _is_readable_by_others(Path(nagori.__file__)):
        pytest.skip("the source lies in a folder that another user may not enter")
    assert elsewhere(as_nobody + textwrap.dedent(ASK), path) == ANSWER


def _is_readable_by_others(path: Path) -> bool:
    places = [path.resolve(), Path(sys.executable).absolute()]
    return all(each.stat().st_mode & 0o005 == 0o005 for place in places for each in place.parents)


def test_what_waits_in_a_log_is_never_passed_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file opened as unchangeable would not show it."""
    store = SqliteStore(path)
    put(store, memory())
    assert path.with_name("n.db-wal").stat().st_size

    def refuse(*args: object) -> None:
        raise apsw.CantOpenError("no")

    other, real = SqliteStore(path), sqlite._connect_to_read
    monkeypatch.setattr(sqlite, "_use_wal", refuse)
    assert [m.id for m in other.find(ME)] == ["mem_a"]  # beside the other one's files
    monkeypatch.setattr(
        sqlite, "_connect_to_read", lambda path, how: real(path, how) if "immutable" in how else refuse()
    )
    with pytest.raises(StoreError):
        other.find(ME)
    store.close()  # nothing waits any more
    assert [m.id for m in other.find(ME)] == ["mem_a"]


# --- damage ---------------------------------------------------------------------------------------


def broken(path: Path, statement: str) -> SqliteStore:
    """A store with one of everything, after somebody ran `statement` on its tables."""
    store = SqliteStore(path)
    put(
        store,
        memory(keywords=("word",)),
        vectors={"mem_a": vector(1, 0, 0)},
        turns=[turn(1)],
        state={"key": {"a": 1}},
    )
    db = connect(path)
    db.execute("PRAGMA writable_schema = on")
    db.execute(statement)
    db.close()
    return store


def read_memory(store: SqliteStore) -> object:
    return store.get(ME, ["mem_a"])


def read_candidates(store: SqliteStore) -> object:
    return store.candidates(ME, Query(["kettl"], vector(1, 0, 0), "m3"))


DAMAGE: list[tuple[str, Callable[[SqliteStore], object]]] = [
    *(
        (f"UPDATE memory SET {change}", read_memory)
        for change in (
            "kind = 'nonsense'",
            "level = 99",
            "created = 9e18",
            "created = 'yesterday'",
            "created = 9223372036854775807",
            "rest = '{'",
            "rest = '[]'",
            "rest = x'00ff'",
            """rest = '{"keywords":[1]}'""",
            "privacy = 'none'",
            "trust = 7",
            "protected = 'maybe'",
            "coefficient = 'much'",
            "session = CAST(x'ff' AS TEXT)",
        )
    ),
    ("DELETE FROM text", read_memory),
    ("UPDATE text SET level = 2", read_memory),
    ("UPDATE text SET level = 77", read_memory),
    ("UPDATE text SET content = x'00'", read_memory),
    ("UPDATE text SET content = CAST(x'ff' AS TEXT)", read_memory),
    ("DROP TABLE text", read_memory),
    ("DROP TABLE owner", read_memory),
    ("UPDATE memory SET tokens = 'many'", read_candidates),
    ("UPDATE memory SET chars = x'00'", read_candidates),
    ("UPDATE vector_1 SET v = x'00000000'", read_candidates),
    ("UPDATE vector_1 SET v = x'000000'", read_candidates),
    ("DROP TABLE vector_1", read_candidates),
    ("UPDATE memory SET anchor = 'once'", lambda s: s.cycle_rows(ME.owner, CycleRules(), BIRTH)),
    ("UPDATE log SET at = 9223372036854775807", lambda s: s.history(ME.owner)),
    ("UPDATE log SET at = 'now'", lambda s: s.history(ME.owner)),
    ("UPDATE turn SET at = 9223372036854775807", lambda s: s.turns(ME.owner, TurnFilter())),
    ("UPDATE turn SET text = x'00'", lambda s: s.turns(ME.owner, TurnFilter())),
    ("UPDATE state SET value = '{'", lambda s: s.state(ME.owner, "key")),
    ("UPDATE state SET value = x'ff'", lambda s: s.state(ME.owner, "key")),
    ("INSERT INTO relation VALUES (1, 'mem_a', 'mem_a', 'odd')", lambda s: s.relations(ME, ["mem_a"])),
    ("DELETE FROM text", lambda s: put(s, memory(version=2, content="new"))),
    ("DELETE FROM text", lambda s: put(s, erased=["mem_a"])),
]


@pytest.mark.parametrize(("statement", "read"), DAMAGE, ids=[statement for statement, _ in DAMAGE])
def test_a_row_that_cannot_be_read_is_damage(
    path: Path, statement: str, read: Callable[[SqliteStore], object]
) -> None:
    with pytest.raises(StoreDamaged, match="rebuild"):
        read(broken(path, statement))


@pytest.mark.parametrize("statement", ["DELETE FROM text", "UPDATE memory SET rest = '{'", "DROP TABLE text"])
def test_a_check_finds_what_cannot_be_read(path: Path, statement: str) -> None:
    assert broken(path, statement).check() != []


@pytest.mark.parametrize("content", [b"no database at all" * 300, None])
def test_a_damaged_file_is_told_as_such(sound: Path, content: bytes | None) -> None:
    half = sound.read_bytes()
    sound.write_bytes(content or half[:4096] + b"\xff" * (len(half) - 4096))
    store = SqliteStore(sound)
    with pytest.raises(StoreDamaged):
        ids_with_words(store, "kettl")
    assert store.check() != []
    store.quarantine("now")
    assert store.find(ME) == []


def test_trouble_that_is_no_damage_is_not_told_as_damage(path: Path, tmp_path: Path) -> None:
    troubles: list[tuple[SqliteStore, Callable[[SqliteStore], object]]] = [
        (SqliteStore(tmp_path), lambda s: s.find(ME)),  # a folder
        (SqliteStore(tmp_path / "a file" / "n.db"), lambda s: s.find(ME)),
        (SqliteStore(path), lambda s: put(s, memory(version=2**63))),
        (SqliteStore(path), lambda s: put(s, memory(content="half \ud800"))),
        (SqliteStore(path), lambda s: s.find(ME, limit=2**64)),
        (SqliteStore(path), lambda s: s.turns(ME.owner, TurnFilter(after=2**70))),
        (SqliteStore(path), lambda s: s.state(ME.owner, "\ud800")),
        (SqliteStore(path), lambda s: s.commit(ME.owner, Batch(before=0, after=AppliedPosition(2**64)))),
    ]
    (tmp_path / "a file").write_text("")
    for store, do in troubles:
        with pytest.raises(StoreError) as trouble:
            do(store)
        assert not isinstance(trouble.value, StoreDamaged), trouble.value
    assert SqliteStore(path).check() == []


def test_tables_that_a_newer_nagori_changed_are_not_damaged(path: Path) -> None:
    store = broken(path, "DROP TABLE text")
    db = connect(path)
    db.pragma("user_version", 99)
    db.close()
    for each in (store, SqliteStore(path)):
        with pytest.raises(SchemaTooNew):
            each.get(ME, ["mem_a"])


def test_a_check_is_right_while_another_process_writes(path: Path) -> None:
    store = SqliteStore(path)
    put(store, *(memory(f"mem_{n}", f"thing number {n}") for n in range(50)))
    assert ids_with_words(store, "thing")
    for round in range(4):
        elsewhere(
            """
            for n in range(40):
                put(store, memory(f"mem_{n}", f"other words {n} {sys.argv[2]}", version=int(sys.argv[2])))
            """,
            path,
            round + 2,
        )
        assert store.check() == []
        assert ids_with_words(store, "other")


# --- words that are gone --------------------------------------------------------------------------


def test_words_that_were_edited_away_leave_no_trace_in_the_file(path: Path) -> None:
    """Nor does what faded before, once the store is compacted."""
    store = SqliteStore(path)
    full = memory("mem_b", content="zanzibar plumcake")
    put(store, memory(content="quokka"), full)
    put(store, memory(content="walrus", version=2))
    short = memory("mem_b", content="plumcake").texts[1]  # type: ignore[index]
    put(store, full.evolve(level=2, texts=full.texts | {2: short}))
    put(store, memory("mem_b", content="marzipan", version=3))
    assert store.compact()
    left = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"walrus" in left
    assert [word for word in (b"quokka", b"zanzibar", b"plumcake") if word in left] == []
    store.close()


def test_an_erased_memory_and_a_redacted_turn_leave_no_trace_in_the_file(path: Path) -> None:
    store = SqliteStore(path)
    put(
        store,
        *(memory(f"mem_{n}", f"common words {n}") for n in range(30)),
        memory("mem_secret", "quokka", keywords=("zanzibar",)),
        turns=[turn(1, "plumcake"), turn(2)],
    )
    put(store, memory("mem_secret", "marzipan", version=2))
    put(store, erased=["mem_secret"], redacted_turns=[1])
    assert store.compact()
    left = b"".join(file.read_bytes() for file in path.parent.iterdir())
    words = (b"quokka", b"zanzibar", b"plumcake", b"marzipan")  # its id stays in the log
    assert [word for word in words if word in left] == []
    assert store.check() == []


def test_many_memories_are_erased_in_short_transactions_and_a_kill_between_them_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nagori.stores.sqlite.ERASE_AT_ONCE", 4)
    gone, erase_memories, steps = sorted(f"mem_{n}" for n in range(13)), writes.erase_memories, list[int]()
    erasure = [LogEntry(2, BIRTH, "erased", tuple(gone))]

    def erase_until_killed(
        db: apsw.Connection, number: int, ids: list[str], erasures: list[tuple[str, int]]
    ) -> None:
        steps.append(len(ids))
        assert erasures == [(id, 2) for id in ids]
        erase_memories(db, number, ids, erasures)
        if len(steps) == 2:
            raise KeyboardInterrupt  # this transaction is taken back, the first is not

    def erase(path: Path, kill: bool) -> tuple[list[str], list[tuple[object, ...]]]:
        store = SqliteStore(path)
        put(store, *(memory(f"mem_{n}", f"quokka words {n}") for n in range(20)))
        if kill:
            with monkeypatch.context() as patched:
                patched.setattr(writes, "erase_memories", erase_until_killed)
                with pytest.raises(KeyboardInterrupt):
                    put(store, log=erasure, erased=gone, erasures=[(id, 2) for id in gone])
            store.close()
            assert len(store.find(ME, EVERYTHING, limit=100)) == 20 - 4
        put(store, log=erasure, erased=gone, erasures=[(id, 2) for id in gone])
        assert store.check() == []
        assert store.history(ME.owner, "mem_0") == erasure
        assert [len(each.memories) for each in store.history(ME.owner)] == [13, 7]
        with store.reading() as db:
            counted = sql_rows.ask(db, "SELECT seq, next, tokens, erased FROM owner")
        return sorted(each.id for each in store.find(ME, EVERYTHING, limit=100)), counted

    killed, whole = erase(tmp_path / "killed.db", kill=True), erase(tmp_path / "whole.db", kill=False)
    assert killed == whole
    assert killed[0] == sorted(f"mem_{n}" for n in range(13, 20))
    assert steps == [4, 4]


@pytest.mark.parametrize("merged", [False, True])
def test_a_word_that_was_replaced_and_later_deleted_leaves_no_marker(path: Path, merged: bool) -> None:
    store = SqliteStore(path)
    kept = memory("mem_secret", "met the quokka at the pond")
    put(store, kept, *(memory(f"mem_{n}", f"common words {n}") for n in range(5)))
    trace = {**kept.texts, Level.TRACE: Text("", "quokka, pond")}
    put(store, replace(kept, level=Level.TRACE, texts=trace, version=2))
    if merged:
        assert store.compact()  # the index is one segment now
    put(store, erased=["mem_secret"])
    assert store.compact()
    assert b"quokka" not in b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert store.check() == []


def test_compacting_goes_on_where_it_stopped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagori.stores.sqlite.MERGE_PAGES", 1)
    store = SqliteStore(path)
    for n in range(30):
        put(store, *(memory(f"mem_{n}_{k}", " ".join(f"w{n}x{k}x{i}" for i in range(40))) for k in range(10)))
    assert not store.compact(steps=2)
    rounds = 1
    while not store.compact(steps=2):
        rounds += 1
        assert rounds < 1000
    assert rounds > 1
    assert ids_with_words(store, "w3x4x5") == {"mem_3_4"}
    assert store.check() == []


def test_compacting_waits_for_nobody_for_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagori.stores.sqlite.CHECKPOINT_MS", 10)
    store, reader = SqliteStore(path), connect(path)
    put(store, memory())
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM memory").fetchall()
    put(store, memory(version=2))
    assert not store.compact()
    put(store, memory(version=3))  # writers have their usual patience again
    reader.execute("COMMIT")
    assert store.compact()
    reader.close()


# --- vectors --------------------------------------------------------------------------------------


def test_without_numpy_many_vectors_go_one_by_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "MANY", 1)
    monkeypatch.setattr(bulk_nearest, "find_spec", lambda name: None)
    monkeypatch.setattr(bulk_nearest, "nearest_keys", None)
    store = SqliteStore(path)
    put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
    near = store.vectors.nearest(ME, [vector(1, 0, 0), vector(0, 1, 0)] * 20, "m3", 5, least=0.5)
    assert [[hit.id for hit in hits] for hits in near] == [["mem_a"], []] * 20


def test_a_backup_is_one_file_that_is_a_store(path: Path, tmp_path: Path) -> None:
    store = SqliteStore(path)
    put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
    store.backup(tmp_path / "copy.db")
    assert nearest(SqliteStore(tmp_path / "copy.db"), vector(1, 0, 0)) == ["mem_a"]
