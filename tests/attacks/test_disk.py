"""A13 and A15: a disk that takes no more still gives, and living processes see no corruption that is none."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import nagori
from nagori import Nagori, Scope
from nagori.testing import WordEmbedder

posix_only = pytest.mark.skipif(os.name != "posix", reason="rights and limits of POSIX")
READ = """
import json, sys
from nagori import Nagori
from nagori.testing import WordEmbedder
folder, id = sys.argv[1:]
out = {}
memory = Nagori.open(folder, embedder=WordEmbedder() if FULL else None)
out["recall"] = len(memory.recall("port of staging"))
out["list"] = len(memory.list())
out["status"] = memory.status().counts.total
out["export"] = len(list(memory.export()))
out["show"] = memory.show(id).id
out["why"] = memory.why(id, "port").memory.id
out["context"] = len(memory.context("What is the port of staging?", session="s").memories)
out["measure"] = sum(memory.measure().kinds.values())
out["plan"] = len(memory.plan().steps)
out["doctor"] = len(memory.doctor())
out["verify"] = memory.verify().sound
from nagori.errors import NagoriError
for name, verb in {
    "remember": lambda: memory.remember("Something new."),
    "edit": lambda: memory.edit(id, content="x"),
    "cycle": lambda: memory.cycle(),
    "rebuild": lambda: memory.rebuild(),
    "process": lambda: memory.process(),
    "turn": lambda: memory.turn("hello there", session="s"),
}.items():
    try:
        verb()
        out[name] = "done"
    except NagoriError as told:
        out[name] = type(told).__name__
print(json.dumps(out))
"""


def fill(folder: Path, *, behind: bool = False) -> str:
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        id = memory.remember("The port of staging is 8443.").id
        for n in range(10):
            memory.remember(f"Another matter, number {n}.")
        if behind:  # the journal has more than the store
            memory.turn("A turn that nobody applied yet.", session="s")
            for n in range(20):
                memory.turn(f"Another turn {n}.", session="s")
    return id


WITHOUT_POWERS = (
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
)


def run_without_powers(script: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run as somebody to whom the rights of files apply: root is such a one only without his powers."""
    root = os.geteuid() == 0
    if root and shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and nothing here takes that away")
    return subprocess.run(
        [*(WITHOUT_POWERS if root else ()), sys.executable, "-B", "-c", script, *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(nagori.__file__).parents[1])},
        timeout=90,
    )


def set_rights(folder: Path, directories: int, files: int) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(directories if path.is_dir() else files)


@posix_only
@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("side_files", [False, True])
def test_a_home_that_can_only_be_read_is_read(tmp_path: Path, behind: bool, side_files: bool) -> None:
    folder = tmp_path / "data"
    id = fill(folder, behind=behind)
    keeper = Nagori.open(folder, embedder=None) if side_files else None  # its -wal and -shm stay there
    if keeper:
        keeper.list()
    set_rights(folder, 0o500, 0o400)
    before = sorted(path.name for path in folder.iterdir())
    done = run_without_powers(READ.replace("FULL", "False"), str(folder), id)
    assert done.returncode == 0, done.stderr[-3000:]
    out = json.loads(done.stdout)
    expected = {"recall": 1, "list": 11, "status": 11, "show": id, "why": id, "context": 1, "measure": 11}
    assert {name: out[name] for name in expected} == expected
    assert out["export"] >= 12
    assert out["remember"] in ("JournalError", "StoreError")
    assert all(
        out[name] in ("JournalError", "StoreError", "done") for name in ("cycle", "rebuild", "process")
    )
    set_rights(folder, 0o700, 0o600)
    assert sorted(path.name for path in folder.iterdir()) == before  # nothing sound was put aside
    if keeper:
        keeper.close()
    with Nagori.open(folder, embedder=None) as memory:
        assert len(memory.list()) == 11
        assert memory.verify().sound


FILE_LIMIT = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST))
"""


@posix_only
@pytest.mark.parametrize("limit", [0, 512, 4096, 40_000])
@pytest.mark.parametrize("behind", [False, True])
def test_a_disk_that_takes_no_more_bytes_is_read(tmp_path: Path, limit: int, behind: bool) -> None:
    folder = tmp_path / "data"
    id = fill(folder, behind=behind)
    script = FILE_LIMIT.replace("MOST", str(limit)) + READ.replace("FULL", "False")
    env = {**os.environ, "PYTHONPATH": str(Path(nagori.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-B", "-c", script, str(folder), id],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    out = json.loads(done.stdout)
    assert (out["recall"], out["list"], out["status"], out["show"], out["why"]) == (1, 11, 11, id, id)
    assert list(folder.glob("*damaged*")) == []
    assert list(folder.glob("*rebuild*")) == []
    with Nagori.open(folder, embedder=None) as memory:
        assert len(memory.list()) >= 11
        assert memory.verify().sound


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@posix_only
def test_a_full_disk_is_read_and_everything_acknowledged_is_there_afterwards(small_disk: Path) -> None:
    folder = small_disk / "data"
    id = fill(folder)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            pass
    done = subprocess.run(
        [sys.executable, "-B", "-c", READ.replace("FULL", "True"), str(folder), id],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(nagori.__file__).parents[1])},
        timeout=90,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    out = json.loads(done.stdout)
    assert (out["recall"], out["list"], out["status"], out["show"], out["why"]) == (1, 11, 11, id, id)
    assert list(folder.glob("*damaged*")) == []
    filler.unlink()
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        kept = {m.text.content for m in memory.list()}
        if out["remember"] == "done":
            assert "Something new." in kept
        memory.remember("There is room again.")
        assert memory.verify().sound
        memory.rebuild()
        assert kept <= {m.text.content for m in memory.list()}


# --- A15 ------------------------------------------------------------------------------------------

WRITER = """
import sys, time
from nagori import Nagori, Scope
with Nagori.open(sys.argv[1], embedder=None) as memory:
    print("ready", flush=True)
    end = time.monotonic() + int(sys.argv[2])
    n = 0
    while time.monotonic() < end:
        mine = memory.with_scope(Scope(user=f"user{n % 3}"))
        kept = mine.remember(f"Number {n} of the other process.")
        if n % 5 == 0:
            mine.edit(kept.id, content=f"Edited number {n}.")
        if n % 7 == 0:
            mine.forget(kept.id)
        n += 1
"""


@pytest.mark.parametrize("seconds", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_a_living_process_reports_no_corruption_because_another_one_writes(
    tmp_path: Path, seconds: int
) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, embedder=None) as memory:
        memory.remember("Mine.")
        memory.verify()
        env = {**os.environ, "PYTHONPATH": str(Path(nagori.__file__).parents[1])}
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        looks, faults = 0, list[object]()

        def look() -> None:
            nonlocal looks
            while writer.poll() is None:
                proof = memory.verify()
                if not proof.sound:
                    faults.append(proof)
                faults.extend(f for f in memory.doctor() if f.state == "fail")
                looks += 1

        threads = [threading.Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        writer.stdout.close()
        assert writer.wait() == 0
        assert faults == []
        assert looks > 3
        assert len(memory.with_scope(Scope(user="user1")).list()) > 3
