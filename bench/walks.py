"""How many files a walk enters: `python -m bench.walks [--list] [--samples N] [--json FILE]`.

Whoever wants to follow what happens in one act has to read the files that act runs through. A *walk* is one
act of a user; a file under `src/nagori` is *entered* when a function, method, lambda, generator or
comprehension that is written in it is called during the walk. Not counted:

- the code of modules and the bodies of classes, and whatever they call: that is importing, not acting;
- `nagori.testing` and the embedder, which is the benchmark's own and calls nothing of the project;
- anything that a second process does (a turn's end starts a worker: that is the walk `worker`).

For a verb of the library the memory has been opened before the walk begins (its database is not: that is
opened by the first verb); hooks and the worker are whole: they read the settings and open the memory
themselves. Hooks and the worker go without an embedder, the verbs have one. Each walk runs in a process of
its own, with cold caches, on a copy of the same small store; the `worker` walk begins where two hooks have
written down two turns. All threads count.

Last, what a host's call costs before anything is done: how many modules of nagori the hook imports in a new
process, the CPU time of a process that imports just these (and what they need) over that of `python -c pass`
(least of N, measured in turn), and whether the store was among them.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from array import array
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from zlib import crc32

from bench.report import number, python, table, write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori import Nagori

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "nagori"
SAMPLES = 11
SESSION = "earlier"
SAID = (
    "The staging server moved to port 8443.",
    "Please remember that Aiko is allergic to peanuts.",
    "We decided to release on Friday because the auditors come on Monday.",
    "昨日、京都の支店で新しい倉庫の鍵を受け取りました。",
    "The backup runs every night at two and takes about forty minutes to finish.",
)
ASKED = "Which port does the staging server use?"


class Hashed:
    """An embedder that calls nothing of the project: texts that share words are near each other."""

    model, dimension, unrelated = "hashed-64", 64, (0.1, 0.15)

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        numbers = [0.01] * self.dimension
        for word in text.lower().split():
            numbers[crc32(word.encode()) % self.dimension] += 1.0
        norm = math.sqrt(sum(n * n for n in numbers))
        return array("f", (n / norm for n in numbers)).tobytes()


# --- the walks ------------------------------------------------------------------------------------


def remember(memory: Nagori) -> None:
    memory.remember("The new printer stands on the second floor, next to the kitchen.")


def form(memory: Nagori) -> None:
    from nagori import Turn

    begin = datetime(2026, 4, 1, 9, 0, tzinfo=UTC)
    said = ("Where does the new printer stand?", "user"), ("Next to the kitchen.", "assistant")
    memory.form(
        Turn(text, begin + timedelta(minutes=at), "now", at, role=role)  # type: ignore[arg-type]
        for at, (text, role) in enumerate(said)
    )


def recall(memory: Nagori) -> None:
    assert memory.recall(ASKED)


def cycle(memory: Nagori) -> None:
    assert memory.cycle().done


def prune(memory: Nagori) -> None:
    messages: list[dict[str, str]] = [{"role": "system", "content": "You are helpful."}]
    for at in range(20):
        role = "assistant" if at % 2 else "user"
        messages.append({"role": role, "content": f"{SAID[at % len(SAID)]} That was number {at}."})
    messages.append({"role": "user", "content": ASKED})
    pruned = memory.prune(messages, budget=300, session="now")
    assert len(pruned.messages) < len(messages)


def prompt_hook(folder: Path) -> None:
    from nagori.edges.hooks import answer

    said = answer(["--host", "claude-code"], _payload("UserPromptSubmit", prompt=ASKED))
    assert "8443" in said


def turn_end_hook(folder: Path) -> None:
    from nagori.edges.hooks import answer

    answer(["--host", "claude-code"], _payload("Stop", last_assistant_message="It uses port 8443."))


def worker(folder: Path) -> None:
    from nagori.edges.worker.run import work

    assert work(folder) == 2


def _payload(event: str, **more: str) -> io.BytesIO:
    said = {"hook_event_name": event, "session_id": "now", "prompt_id": "p1", "cwd": "/", **more}
    return io.BytesIO(json.dumps(said).encode())


VERBS: dict[str, Callable[[Nagori], None]] = {
    "remember": remember,
    "form": form,
    "recall": recall,
    "cycle": cycle,
    "prune": prune,
}
CALLS: dict[str, Callable[[Path], None]] = {
    "prompt hook": prompt_hook,
    "turn end hook": turn_end_hook,
    "worker": worker,
}
HOOKS = ("prompt hook", "turn end hook")


def fill(folder: Path) -> None:
    """A few memories: some old enough to fade, one of them long, one recalled."""
    from nagori import Draft, Nagori, Source

    now = datetime.now(UTC)
    drafts = [
        Draft(text, created=now - timedelta(days=80 * at), source=Source(SESSION, at))
        for at, text in enumerate((*SAID, " ".join(SAID)))
    ]
    with Nagori.open(folder, embedder=Hashed()) as memory:
        memory.remember_many(drafts)
        memory.recall(SAID[-1], 1)


# --- tracing --------------------------------------------------------------------------------------


class Tracer:
    """The project's files in the order in which they are entered."""

    def __init__(self) -> None:
        self.entered: dict[str, dict[str, None]] = {}  # and the functions called in each
        self._root = f"{PACKAGE}{os.sep}"

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        name = frame.f_code.co_filename
        if not name.startswith(self._root):
            return
        function = frame.f_code.co_qualname
        if function not in self.entered.get(name, ()) and not _is_import(frame):
            self.entered.setdefault(name, {})[function] = None

    def files(self) -> dict[str, list[str]]:
        names = {
            Path(name).relative_to(PACKAGE).as_posix(): list(self.entered[name]) for name in self.entered
        }
        return {name: names[name] for name in names if not name.startswith("testing/")}


def _is_import(frame: FrameType | None) -> bool:
    """Whether a frame runs because a module of the project is being imported: below its module-level code."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"].startswith("nagori"):
            return True
        frame = frame.f_back
    return False


def trace(walk: str, folder: Path) -> dict[str, Any]:
    """Run one walk in this process: the files entered, the modules imported."""
    tracer = Tracer()
    with ExitStack() as stack:
        if walk in VERBS:
            from nagori import Nagori

            act = partial(VERBS[walk], stack.enter_context(Nagori.open(folder, embedder=Hashed())))
        else:
            act = partial(CALLS[walk], folder)
        threading.setprofile(tracer)
        sys.setprofile(tracer)
        try:
            act()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return {"walk": walk, "files": tracer.files(), "modules": sorted(sys.modules)}


# --- processes ------------------------------------------------------------------------------------


def _environment(home: Path) -> dict[str, str]:
    """Nothing of the machine's own settings, and no embedder is loaded."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))),
        "NAGORI_EMBEDDING__PROVIDER": "none",
        "NAGORI_DATA_DIR": str(home / "data"),
    }


def _call(arguments: Sequence[str], home: Path, **more: str) -> str:
    command = [sys.executable, "-m", "bench.walks", *arguments]
    environment = {**_environment(home), **more}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def walked(work: Path) -> list[dict[str, Any]]:
    """Every walk in a process of its own, on a copy of the same store."""
    (work / "filled").mkdir()
    _call(["--fill", str(work / "filled" / "data")], work / "filled")
    found = []
    for walk in (*VERBS, *CALLS):
        home = work / walk.replace(" ", "-")
        shutil.copytree(work / "filled", home)
        with ExitStack() as stack:
            if walk != "worker":
                stack.callback(os.close, _worker_lock(home / "data"))
            for before in HOOKS if walk == "worker" else ():
                _call(["--walk", before, str(home / "data")], home, NAGORI_HOOKS__WORKER="false")
            found.append(json.loads(_call(["--walk", walk, str(home / "data")], home)))
    return found


def _worker_lock(folder: Path) -> int:
    """Held while a walk runs: a hook looks for a worker, finds one and starts none."""
    from nagori.edges.worker.spawn import LOCK
    from nagori.files import take_lock

    lock = take_lock(folder / LOCK)
    assert lock is not None
    return lock


def cpu_seconds(code: str) -> float:
    process = subprocess.Popen([sys.executable, "-c", code], env=_environment(Path(tempfile.gettempdir())))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{code!r} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def import_cost(walk: dict[str, Any], samples: int) -> dict[str, Any]:
    """What the imports of a hook cost, as a ratio to a bare interpreter."""
    ours = [name for name in walk["modules"] if name == "nagori" or name.startswith("nagori.")]
    code = f"import {', '.join(ours)}"
    pairs = [(cpu_seconds("pass"), cpu_seconds(code)) for _ in range(samples)]
    bare, loaded = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    store = [name for name in walk["modules"] if name == "apsw" or name.startswith("nagori.stores")]
    return {"walk": walk["walk"], "modules": ours, "bare": bare, "loaded": loaded, "store": store}


# --- telling --------------------------------------------------------------------------------------


def report(walks: list[dict[str, Any]], costs: list[dict[str, Any]], names: bool) -> list[str]:
    lines = [f"python {python()}", ""]
    lines.append(table(["walk", "files"], [[w["walk"], str(len(w["files"]))] for w in walks], ("walk",)))
    for walk in walks if names else ():
        lines += ["", f"{walk['walk']} ({len(walk['files'])})", *_entered(walk)]
    rows = [
        [
            cost["walk"],
            str(len(cost["modules"])),
            f"{number(cost['loaded'] / cost['bare'])}x",
            number(1000 * cost["loaded"]),
            "yes" if cost["store"] else "no",
        ]
        for cost in costs
    ]
    titles = ["hook", "nagori modules", "cpu/bare", "cpu ms", "store imported"]
    return [*lines, "", table(titles, rows, ("hook", "store imported"))]


def _entered(walk: dict[str, Any]) -> list[str]:
    """Each file with the functions that were called in it."""
    return [f"  {name}: {', '.join(called)}" for name, called in walk["files"].items()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.walks")
    parser.add_argument("--list", action="store_true", help="name the files and their functions")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="processes for each CPU time")
    parser.add_argument("--json", type=Path, help="write the same for machines")
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--walk", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fill:
        fill(asked.fill)
        return
    if asked.walk:
        print(json.dumps(trace(asked.walk[0], Path(asked.walk[1]))))
        return
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nagori-walks-")))
        walks = walked(work)
        costs = [import_cost(walk, asked.samples) for walk in walks if walk["walk"] in HOOKS]
    print("\n".join(report(walks, costs, asked.list)))
    if asked.json:
        write_json(asked.json, {"walks": walks, "imports": costs})


if __name__ == "__main__":
    main()
