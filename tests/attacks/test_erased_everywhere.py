"""What is erased is not in the memory of programs started later, nor in the files of servers once these have
done what the receipt names. What is there until then is found, too: the search would notice it."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.erased_bytes import Needles, cores, draw_kanji, draw_word, encodings, files_with
from tests.postgres import Server
from tests.valkey import ACL, PASSWORD, ValkeyServer, start_server

from nagori import Nagori, Scope
from nagori.config import load
from nagori.testing import FrozenClock, WordEmbedder

WORDS = 12


@pytest.fixture
def words() -> list[str]:
    dice = Random(21)
    return [draw_kanji(dice) if n % 4 == 3 else draw_word(dice) for n in range(WORDS)]


# --- programs -------------------------------------------------------------------------------------

PROGRAM = """
import sys
from pathlib import Path
from nagori import Nagori, Scope
from nagori.testing import WordEmbedder
user = Scope(user="gone" if sys.argv[2] == "reads" else "other")
memory = Nagori.open(Path(sys.argv[1]), scope=user, embedder=WordEmbedder(), llm=None)
memory.recall("When does the ferry leave?", k=30)
memory.list(limit=100)
print("ready", flush=True)
sys.stdin.read()
"""


def bytes_of(process: int) -> Iterator[bytes]:
    """All memory of a program that it can write to."""
    with Path(f"/proc/{process}/maps").open() as places, Path(f"/proc/{process}/mem").open("rb", 0) as memory:
        for line in places:
            place, rights, *_ = line.split()
            if rights.startswith("rw"):
                start, end = (int(each, 16) for each in place.split("-"))
                memory.seek(start)
                try:
                    yield memory.read(end - start)
                except OSError:  # a page that nobody may read
                    continue


def in_memory(folder: Path, what: str, words: list[str]) -> set[str]:
    """Which words a program holds that has this folder open."""
    needles = Needles({core: encodings(core) for core in cores(words)})
    command = [sys.executable, "-c", PROGRAM, str(folder), what]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        found = {core for block in bytes_of(program.pid) for core in needles.found_in(block)}
        program.communicate("")
    return found


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="the memory of programs is read from /proc")
def test_a_program_that_starts_after_an_erasure_has_no_byte_of_it(tmp_path: Path, words: list[str]) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, scope=Scope(user="other"), embedder=WordEmbedder(), llm=None) as other:
        other.remember("The ferry leaves at nine.")
    with Nagori.open(folder, scope=Scope(user="gone"), embedder=WordEmbedder(), llm=None) as memory:
        memory.remember_many(f"The ferry {word} leaves at nine." for word in words)
        assert in_memory(folder, "reads", words) == set(cores(words))  # it would be noticed
        receipt = memory.erase(memory.plan_erasure(everything=True))
    assert "erase.remains_processes" in [notice.id for notice in receipt.remains]
    assert in_memory(folder, "later", words) == set()


# A program that had read the words, and lets freed memory be overwritten at once (docs/howto/erase.md).
OVERWRITES = {
    "PYTHONMALLOC": "malloc",
    "MALLOC_PERTURB_": "165",
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
}
LIVING = """
import gc, sys
from pathlib import Path
from nagori import Nagori, Scope
from nagori.errors import MemoryErased
from nagori.testing import WordEmbedder
memory = Nagori.open(Path(sys.argv[1]), scope=Scope(user="gone"), embedder=WordEmbedder(), llm=None)
for _ in range(3):
    memory.recall("When does the ferry leave?", k=30)
    memory.list(limit=100)
print("read", flush=True)
sys.stdin.readline()
if sys.argv[2] == "erases":
    memory.erase(memory.plan_erasure(everything=True))
try:
    memory.recall("When does the ferry leave?")
except MemoryErased:
    pass
memory.with_scope(user="other").recall("When does the ferry leave?")
gc.collect()
print("erased", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not Path("/proc/self/mem").exists(),
    reason="freed memory is overwritten by glibc, and read from /proc",
)
@pytest.mark.parametrize("who", ["erases", "another erases"])
def test_a_living_program_that_overwrites_freed_memory_has_no_byte_left(
    tmp_path: Path, words: list[str], who: str
) -> None:
    folder = tmp_path / "data"
    needles = Needles({core: encodings(core) for core in cores(words)})
    with Nagori.open(folder, scope=Scope(user="other"), embedder=WordEmbedder(), llm=None) as other:
        other.remember("The ferry leaves at nine.")
    with Nagori.open(folder, scope=Scope(user="gone"), embedder=WordEmbedder(), llm=None) as memory:
        memory.remember_many(f"The ferry {word} leaves at nine." for word in words)
    command = [sys.executable, "-c", LIVING, str(folder), who]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | OVERWRITES
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "read\n"
        before = {core for block in bytes_of(program.pid) for core in needles.found_in(block)}
        assert before == set(cores(words))  # it would be noticed
        if who == "another erases":
            with Nagori.open(folder, scope=Scope(user="gone"), embedder=WordEmbedder(), llm=None) as memory:
                memory.erase(memory.plan_erasure(everything=True))
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline() == "erased\n"
        after = {core for block in bytes_of(program.pid) for core in needles.found_in(block)}
        program.communicate("")
    assert after == set()


# --- Valkey ---------------------------------------------------------------------------------------


class LoggingServer(ValkeyServer):
    """A server that logs its commands to a file."""

    def start(self) -> None:
        super().start()
        self.admin("CONFIG", "SET", "appendonly", "yes")

    def admin(self, *command: str) -> None:
        import valkey

        with valkey.Valkey(port=self.port, username="admin", password=PASSWORD) as client:
            client.execute_command(*command)


def test_a_cache_has_no_byte_of_what_is_erased_once_its_log_is_rewritten(
    tmp_path: Path, clock: FrozenClock, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    running = start_server()
    if isinstance(running, str):
        pytest.skip(running)
    monkeypatch.setenv("VALKEY_PASSWORD", PASSWORD)
    monkeypatch.setattr("tests.valkey.ACL", f"{ACL}user admin on >{PASSWORD} ~* +@all\n")
    place = tmp_path / "server"
    place.mkdir()
    server = LoggingServer(running.binary, place)
    try:
        settings = {"threads.summaries": True, "sessions.cache": server.url}
        config = load(overrides=settings).config
        with Nagori.open(
            tmp_path / "data", clock=clock, config=config, embedder=WordEmbedder(), llm=None
        ) as memory:
            for word in words:
                memory.turn(f"We painted the boat {word} on Sunday in green.", session="s").answer(
                    "Well done."
                )
                clock.forward(seconds=20)
            clock.forward(minutes=11)
            memory.process()
            wait_for(lambda: bool(files_with(place, words)))
            receipt = memory.erase(memory.plan_erasure(everything=True))
        assert receipt.clean
        assert "erase.remains_cache" in [notice.id for notice in receipt.remains]
        server.admin("BGREWRITEAOF")
        wait_for(lambda: files_with(place, words) == {})
    finally:
        server.kill()


def wait_for(reached: Callable[[], bool]) -> None:
    """Until it is so; the server writes its file in its own time."""
    deadline = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.1)


# --- PostgreSQL -----------------------------------------------------------------------------------


def turn_over(server: Server) -> None:
    """Rewrite the tables and let the write-ahead log begin anew, as an administrator would."""
    server.ask("ALTER SYSTEM SET wal_recycle = off")
    server.ask("ALTER SYSTEM SET min_wal_size = '32MB'")
    server.ask("SELECT pg_reload_conf()")
    server.ask("VACUUM FULL")
    for _ in range(3):
        server.ask("SELECT pg_switch_wal()")
        server.ask("CHECKPOINT")


@pytest.mark.skipif(os.name != "posix", reason="the server has a Unix socket")
@pytest.mark.parametrize("what", ["owner", "memory", pytest.param("about", marks=pytest.mark.slow)])
@pytest.mark.parametrize("store", ["postgres", pytest.param("sqlite", marks=pytest.mark.slow)])
def test_a_database_has_no_byte_of_what_is_erased_once_it_is_rewritten(
    postgres: Server, tmp_path: Path, words: list[str], store: str, what: str
) -> None:
    gone = words if what == "owner" else words[:1]
    address = postgres.url(store=store, folder=str(tmp_path / "node"))
    with Nagori.open(address, scope=Scope(user="gone"), embedder=WordEmbedder(), llm=None) as memory:
        made = memory.remember_many(f"The ferry {word} leaves at nine." for word in words)
        other = memory.with_scope(user="other")
        other.remember("The harbour is quiet.")
        postgres.ask("CHECKPOINT")
        assert files_with(postgres.place / "data", gone)
        targets: dict[str, Any] = {
            "owner": {"everything": True},
            "memory": {"memory": made[0].id},
            "about": {"about": words[0]},
        }
        receipt = memory.erase(memory.plan_erasure(**targets[what]))
        assert "erase.remains_database" in [notice.id for notice in receipt.remains]
        assert [each.text.content for each in other.list()] == ["The harbour is quiet."]
        if what != "owner":
            assert len(memory.list(limit=100)) == WORDS - 1
    assert files_with(tmp_path, gone) == {}
    turn_over(postgres)
    assert files_with(postgres.place / "data", gone) == {}
    if what != "owner":
        assert files_with(postgres.place / "data", words[1:])
