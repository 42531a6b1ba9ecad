"""The promises, against real processes that are really killed."""

# mypy: disable-error-code="attr-defined"
# Because parts of a module or an engine are looked into.

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from bench.kills import run as run_kills

from nagori import Nagori
from nagori.errors import InvalidInput
from nagori.testing import WordEmbedder

WRITER = """
import sys
from nagori import Nagori
from nagori.testing import WordEmbedder
folder, name, count, same = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "same"
with Nagori.open(folder, embedder=WordEmbedder()) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(count):
        text = f"the fact number {n}" if same else f"fact {n} of writer {name}"
        memory.remember(text)
        print(text, flush=True)   # only after it was acknowledged
"""


def start(folder: Path, name: str, count: int, *, same: bool = False) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(count), "same" if same else "own"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def contents(folder: Path) -> list[str]:
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        return [json.loads(line)["memory"]["texts"]["1"]["content"] for line in list(memory.export())[1:]]


@pytest.mark.slow
def test_300_killed_writers_lose_nothing_acknowledged(tmp_path: Path) -> None:
    """kill -9 at random moments, two lanes at once in the same space; thousands in bench/kills.py."""
    outcome = run_kills(tmp_path / "data", kills=300)
    assert outcome.acknowledged > 300, "the writers were killed before they could write anything"
    assert (outcome.lost, outcome.twice, outcome.sound, outcome.same_after_rebuild) == (0, 0, True, True)


def test_30_killed_writers_lose_nothing_acknowledged(tmp_path: Path) -> None:
    """A slice of the one above. Every other writer is killed after its first word was acknowledged."""
    outcome = run_kills(tmp_path / "data", kills=30)
    assert outcome.acknowledged >= 15
    assert (outcome.lost, outcome.twice, outcome.sound, outcome.same_after_rebuild) == (0, 0, True, True)


def test_8_processes_saying_the_same_at_once_store_it_once(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    writers = [start(folder, str(n), 5, same=True) for n in range(8)]
    for writer in writers:
        go(writer)
    for writer in writers:
        _, err = writer.communicate(timeout=120)
        assert (writer.returncode, err) == (0, "")
    assert sorted(contents(folder)) == [f"the fact number {n}" for n in range(5)]
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        assert {m.mentions for m in memory.list()} == {8}


def test_8_writers_at_once_see_no_lock_error_and_keep_everything(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    writers = [start(folder, str(n), 25) for n in range(8)]
    for writer in writers:
        go(writer)
    for writer in writers:
        out, err = writer.communicate(timeout=120)
        assert (writer.returncode, err) == (0, "")
        assert len(out.splitlines()) == 25
    assert len(contents(folder)) == 200
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        assert memory.verify().sound


def test_a_writer_killed_while_it_holds_the_lock_frees_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys,time; from pathlib import Path; from nagori.journals.file import FileJournal\n"
            "j = FileJournal(Path(sys.argv[1]) / 'journal')\n"
            "with j.locked(('local','me')): print('held', flush=True); time.sleep(60)",
            str(folder),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        assert memory.remember("goes on").mentions == 1  # a JournalError if it had to wait


@pytest.mark.parametrize("seed", range(5))
def test_any_journal_prefix_rebuilds_to_a_sound_store(tmp_path: Path, seed: int) -> None:
    """Whatever a crash leaves of the journal, the store made from it agrees with it."""
    dice = random.Random(seed)
    with Nagori.open(tmp_path / "whole", embedder=WordEmbedder()) as memory:
        ids = [memory.remember(f"thing {n}").id for n in range(10)]
        for _ in range(30):
            id = dice.choice(ids)
            act = dice.choice(["edit", "forget", "undo", "protect", "unprotect", "recall"])
            if act == "edit":
                memory.edit(id, content=f"thing changed {dice.random()}")
            elif act == "recall":
                memory.recall("thing")
            else:
                with suppress(InvalidInput):  # everything may be undone already
                    getattr(memory, act)(id)
        [segment] = memory.runtime.journal.folder(("local", "me")).glob("*.jsonl")
        whole = segment.read_bytes()
        note = (segment.parent / "space.json").read_bytes()
    for cut in sorted(dice.sample(range(len(whole)), 5)):
        folder = tmp_path / f"cut{cut}"
        (folder / "journal/local/me").mkdir(parents=True)
        (folder / "journal/local/me/space.json").write_bytes(note)
        (folder / "journal/local/me/00000001.jsonl").write_bytes(whole[:cut])
        with Nagori.open(folder, embedder=WordEmbedder()) as memory:
            memory.remember("after the crash")
            proof = memory.verify()
            assert proof.sound, (proof.store, proof.differing, [j.damage for j in proof.journals])
