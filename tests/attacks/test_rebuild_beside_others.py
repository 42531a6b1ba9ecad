"""A5 and A6: a rebuild beside writers and readers stops nobody, doubles nothing and lets nothing vanish."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from bench.beside import run

from nagori import Nagori, Scope
from nagori.core.events import Event
from nagori.errors import StoreError
from nagori.journals.file import encode
from nagori.testing import FailingPart, FrozenClock, WordEmbedder

BRIEFLY_AND_LONGER = pytest.mark.parametrize("seconds", [2, pytest.param(10, marks=pytest.mark.slow)])


@BRIEFLY_AND_LONGER
def test_processes_write_and_read_beside_repeated_rebuilds(seconds: int) -> None:
    figures = run(minutes=seconds / 60, writers=2, readers=2)
    assert figures.rebuilds > 0
    assert figures.errors == []
    assert (figures.doubled, figures.lost, figures.foreign) == (0, 0, 0)
    assert figures.sound


@BRIEFLY_AND_LONGER
def test_threads_of_one_service_write_and_read_beside_rebuilds(tmp_path: Path, seconds: int) -> None:
    faults, kept, stop = list[str](), list[tuple[str, str]](), threading.Event()
    with Nagori.open(tmp_path / "data", embedder=WordEmbedder()) as service:
        for user in ("a", "b"):
            service.with_scope(Scope(user=user)).remember(f"The word of {user} is {user}-sesame.")

        def work(number: int) -> None:
            n = 0
            while not stop.is_set():
                user = "ab"[n % 2]
                mine = service.with_scope(Scope(user=user))
                try:
                    if number % 2:
                        words = f"Note {n} of thread {number}: {user}-sesame."
                        id = mine.remember(words).id
                        kept.append((user, words))
                        assert mine.show(id).text.content == words  # what is kept is there
                    else:
                        found = [
                            r.memory.text.content for r in mine.recall("sesame word note", 5, mark=False)
                        ]
                        assert found
                        assert all(f"{user}-sesame" in each for each in found)
                except Exception as fault:
                    faults.append(f"{type(fault).__name__}: {fault}")
                n += 1

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            service.rebuild()
        stop.set()
        for thread in threads:
            thread.join(30)
        assert faults == []
        for user in "ab":
            known = {
                m.text.content: m.mentions for m in service.with_scope(Scope(user=user)).list(limit=10**6)
            }
            mine = [words for whose, words in kept if whose == user]
            assert {words: known.get(words) for words in mine} == dict.fromkeys(mine, 1)
        assert service.verify().sound


@pytest.mark.parametrize("behind", [1, 5])
def test_a_store_that_was_behind_is_rebuilt_and_caught_up_at_once_and_nothing_is_applied_twice(
    tmp_path: Path, clock: FrozenClock, behind: int
) -> None:
    """What a kill leaves: the journal has more than the store. Then a rebuild and others who catch up."""
    folder = tmp_path / "data"
    with Nagori.open(folder, clock=clock, embedder=None) as memory:
        ids = [memory.remember(f"Known number {n}.").id for n in range(50)]
    path = folder / "journal/local/me/00000001.jsonl"
    with path.open("ab") as file:
        for n in range(behind):
            file.write(encode([Event("repeated", clock.now(), {}, ids[n])], 50 + n)[0])
    service = Nagori.open(folder, clock=clock, embedder=None)
    start, faults = threading.Barrier(5), list[BaseException]()

    def use(rebuilds: bool) -> None:
        try:
            start.wait()
            for _ in range(3):
                service.rebuild() if rebuilds else service.list()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=use, args=(n < 2,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    mentions = [service.show(id).mentions for id in ids]
    assert mentions == [2] * behind + [1] * (50 - behind)
    assert service.verify().sound
    service.close()


def test_a_reader_of_a_store_that_cannot_be_written_for_a_moment_is_answered(
    tmp_path: Path, clock: FrozenClock
) -> None:
    folder = tmp_path / "data"
    from nagori.stores.sqlite import SqliteStore

    store = SqliteStore(folder / "nagori.db")
    failing = FailingPart(store, "commit", 2, lambda: StoreError("busy"))
    with Nagori.open(folder, clock=clock, embedder=None, store=failing) as memory:  # type: ignore[arg-type]
        memory.remember("First.")
        memory.remember("Second.")  # kept in the journal; the store is behind
        assert {m.text.content for m in memory.list()} == {"First.", "Second."}
        assert memory.verify().sound


KILLED = """
import os, signal, sys
from nagori import Nagori
with Nagori.open(sys.argv[1], embedder=None) as memory:
    memory.rebuild(lambda done, total: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_the_draft_of_a_rebuild_that_was_killed_is_removed_by_the_next_one(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, embedder=None) as memory:
        memory.remember("Something that was said.")
        subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
        assert list(folder.glob("nagori.db.rebuild-*"))
        memory.rebuild()
        assert not list(folder.glob("nagori.db.rebuild-*"))
        assert len(memory.list()) == 1
