"""The HTTP server beside a bare route: processor time and requests per second, in one run.

    python -m bench.server --memories 10000 --requests 400
    python -m bench.server --memories 10000 --local-embedder     with the local model, its time told apart

Each server is a process of its own (uvicorn). Its processor time comes from /proc, so it is measured on Linux
only. The clients are threads of this process with connections that stay open.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median

from tests.http.served import free_port

from nagori import Nagori
from nagori.adapters.embed import open_embedder
from nagori.config import Config
from nagori.testing import WordEmbedder

TOKEN, RECALL = "b" * 43, "/v1/recall"
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
HERE = Path(__file__).parent.parent
BARE = """
import sys, msgspec, uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

async def recall(request: Request) -> Response:
    msgspec.json.decode(await request.body())
    return Response(msgspec.json.encode([{"id": "mem_x", "text": "words " * 12, "score": 0.5}] * 5))

app = Starlette(routes=[Route("/v1/recall", recall, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
"""
OURS = (
    "import sys; from bench.server import serve; serve(int(sys.argv[1]), sys.argv[2], sys.argv[3] == 'local')"
)


def open_memory(folder: str, local: bool) -> Nagori:
    embedder = open_embedder(Config().embedding, folder=Path(folder)) if local else WordEmbedder(384)
    return Nagori.open(folder, embedder=embedder, llm=None)


def serve(port: str, folder: str, kind: str) -> None:
    """The server that is measured."""
    import uvicorn

    from nagori import Scope
    from nagori.edges.http.access import LocalAccess
    from nagori.edges.http.app import create_app
    from nagori.edges.http.limits import Limits

    with open_memory(folder, kind == "local") as memory:
        app = create_app(memory, LocalAccess(TOKEN, Scope()), limits=Limits(per_minute=10**7))
        uvicorn.run(app, port=int(port), log_level="warning", access_log=False)


@contextmanager
def started(*command: str) -> Iterator[tuple[int, int]]:
    """A server process: its port and its process id."""
    port = free_port()
    code, *rest = command
    process = subprocess.Popen([sys.executable, "-c", code, str(port), *rest], cwd=HERE)
    try:
        while not is_listening(port):
            time.sleep(0.05)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def is_listening(port: int) -> bool:
    try:
        http.client.HTTPConnection("127.0.0.1", port, timeout=2).connect()
    except OSError:
        return False
    return True


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def load(
    port: int, pid: int, bodies: list[bytes], clients: int, path: str = RECALL
) -> tuple[float, float, float]:
    """Send all bodies by some clients: processor ms a request, requests a second, median ms."""
    waiting, lock, times = list(bodies), threading.Lock(), []
    headers = {"content-type": "application/json"}
    headers |= {"authorization": f"Bearer {TOKEN}"} if path == RECALL else {}

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with lock:
                if not waiting:
                    break
                body = waiting.pop()
            began = time.perf_counter()
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            answer = response.read()
            assert response.status == 200, answer
            times.append((time.perf_counter() - began) * 1000)
        connection.close()

    before, began = cpu_seconds(pid), time.perf_counter()
    threads = [threading.Thread(target=send) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    return (cpu_seconds(pid) - before) * 1000 / len(bodies), len(bodies) / seconds, median(times)


def in_library(memory: Nagori, questions: list[str]) -> tuple[float, float]:
    """Processor milliseconds of a recall in this process, and of its query embedding alone."""
    embedder = memory.runtime.embedder
    assert embedder is not None
    began = time.process_time()
    for question in questions:
        memory.recall(question, mark=False)
    whole = (time.process_time() - began) * 1000 / len(questions)
    began = time.process_time()
    for question in questions:
        embedder.embed_query(question + " ")  # another text: nothing is remembered from the recall
    return whole, (time.process_time() - began) * 1000 / len(questions)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--local-embedder", action="store_true")
    asked = parser.parse_args()
    names = ", ".join(f"{name} {version(name)}" for name in ("starlette", "uvicorn", "msgspec"))
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {names}")
    dice = random.Random(7)
    words = [f"word{number}" for number in range(3000)]
    texts = [" ".join(dice.choices(words, k=12)) for _ in range(asked.memories)]
    questions = [" ".join(dice.sample(dice.choice(texts).split(), 4)) for _ in range(asked.requests)]
    bodies = [json.dumps({"query": question, "mark": False}).encode() for question in questions]
    with tempfile.TemporaryDirectory() as folder:
        with open_memory(folder, asked.local_embedder) as memory:
            memory.remember_many(texts)
            in_library(memory, questions[:20])
            whole, embedding = in_library(memory, questions)
        print(f"{asked.memories} memories, {asked.requests} recalls, {asked.clients} clients")
        print(f"library: {whole:.2f} ms CPU a recall, of which {embedding:.2f} ms the query embedding")
        kind = "local" if asked.local_embedder else "words"
        with started(OURS, folder, kind) as (port, pid), started(BARE) as (bare_port, bare_pid):
            load(port, pid, bodies[:20], asked.clients)
            load(bare_port, bare_pid, bodies[:20], asked.clients)
            ours = load(port, pid, bodies, asked.clients)
            bare = load(bare_port, bare_pid, bodies * 5, asked.clients)
        for name, (cpu, rate, middle) in (("nagori", ours), ("bare starlette route", bare)):
            print(f"{name}: {cpu:.2f} ms CPU a request, {rate:.0f} requests/s, median {middle:.2f} ms")
        print(f"CPU beyond the library: {ours[0] - whole:.2f} ms a request")
        print(f"requests/s beside the bare route: 1/{bare[1] / ours[1]:.1f}")


if __name__ == "__main__":
    main()
