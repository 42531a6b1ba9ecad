"""Recall over HTTP: our server beside mem0's own REST server and a bare starlette route, in one run.

    python -m bench.server_beside --server mem0/server --python mem0-venv/bin/python

`--server` is the folder `server` of a checkout of mem0, `--python` an interpreter with its requirements. Both
systems hold the same texts of one user and answer the same questions from the same number of clients, in
turn. mem0 keeps them in PostgreSQL with pgvector, as it does by default, and asks an OpenAI address for
embeddings: here one that answers at once with the sum of random vectors of the words (1536 numbers). The time
of that answer is not counted. Our embedding (384 numbers) is, and is also told apart. The rows of mem0 are
written straight into its table, because it would embed and insert one at a time.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import http.client
import json
import os
import platform
import random
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy
from bench.server import BARE, OURS, TICKS, in_library, is_listening, load, open_memory, started
from tests.http.served import free_port
from tests.postgres import Server

DIMENSION = 1536
ROUNDS = 4  # the systems take turns
USER = "me"


@cache
def word_vector(word: str) -> Any:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return numpy.random.default_rng(seed).standard_normal(DIMENSION).astype("f4")


def embed(text: str) -> Any:
    total = sum((word_vector(word) for word in text.split()), numpy.zeros(DIMENSION, "f4"))
    return total / (numpy.linalg.norm(total) or 1)


class Embeddings(BaseHTTPRequestHandler):
    """The part of OpenAI's interface that mem0 asks."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        data = [
            {"object": "embedding", "index": at, "embedding": _encode(embed(text), asked)}
            for at, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        answer = json.dumps({"object": "list", "data": data, "model": "m", "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _encode(vector: Any, asked: dict[str, Any]) -> object:
    if asked.get("encoding_format") == "base64":
        return base64.b64encode(vector.tobytes()).decode()
    return vector.tolist()


@contextmanager
def embeddings() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()


@contextmanager
def mem0_server(
    database: Server, folder: Path, python: str, base: str, home: str
) -> Iterator[tuple[int, int]]:
    """mem0's own server: its port and its process id."""
    environment = os.environ | {
        "POSTGRES_HOST": "127.0.0.1",
        "POSTGRES_PASSWORD": "none",
        "AUTH_DISABLED": "true",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": base,
        "OPENAI_API_BASE": base,
        "MEM0_TELEMETRY": "false",
        "HISTORY_DB_PATH": f"{home}/history.db",
        "HOME": home,
        "MEM0_DIR": f"{home}/mem0",
    }
    environment.pop("PYTHONPATH", None)
    tables = "import db, models; db.Base.metadata.create_all(db.engine)"
    subprocess.run([python, "-c", tables], cwd=folder, env=environment, check=True)
    port = free_port()
    serve = [python, "-m", "uvicorn", "main:app", "--port", str(port)]
    quiet = ["--log-level", "error", "--no-access-log"]
    process = subprocess.Popen(
        [*serve, *quiet], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not is_listening(port):
            if process.poll() is not None:
                raise SystemExit("mem0's server ended while it started")
            time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def fill(database: Server, port: int, texts: list[str]) -> None:
    """One memory over HTTP; the others are rows like it. The index over vectors is built at the end."""
    import psycopg

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    body = {"messages": [{"role": "user", "content": texts[0]}], "user_id": USER, "infer": False}
    connection.request("POST", "/memories", json.dumps(body), {"content-type": "application/json"})
    answer = connection.getresponse()
    said = answer.read()
    assert answer.status == 200, said
    [(payload,)] = database.ask("SELECT payload FROM memories LIMIT 1")
    by_vector = "FROM pg_indexes WHERE tablename = 'memories' AND indexdef LIKE '%hnsw%'"
    indexes = [definition for (definition,) in database.ask(f"SELECT indexdef {by_vector}")]
    for (name,) in database.ask(f"SELECT indexname {by_vector}"):
        database.ask(f"DROP INDEX {name}")
    with psycopg.connect(database.conninfo) as rows, rows.cursor() as cursor:
        insert = "INSERT INTO memories (id, vector, payload) VALUES (%s, %s::vector, %s)"
        for text in texts[1:]:
            own = dict(payload) | {"data": text, "hash": hashlib.md5(text.encode()).hexdigest()}
            own |= {"text_lemmatized": text} if "text_lemmatized" in own else {}
            vector = "[" + ",".join(f"{each:.6f}" for each in embed(text)) + "]"
            cursor.execute(insert, (str(uuid.uuid4()), vector, json.dumps(own)))
    for definition in indexes:
        database.ask(definition)
    database.ask("ANALYZE memories")


def database_seconds(database: Server) -> float:
    """Processor time of the database's processes that are still there."""
    assert database.process is not None
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == database.process.pid:
            total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", type=Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--clients", type=int, default=2)
    given = parser.parse_args()
    python = str(Path(given.python).absolute())  # a link into a venv must stay one
    theirs = [python, "-c", "from importlib.metadata import version; print(version('mem0ai'))"]
    mem0 = subprocess.run(theirs, capture_output=True, text=True, check=True).stdout.strip()
    names = ", ".join(f"{name} {version(name)}" for name in ("starlette", "uvicorn", "msgspec"))
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f},", end=" ")
    print(f"Python {platform.python_version()}, {names}, mem0ai {mem0}")
    dice = random.Random(7)
    words = [f"word{number}" for number in range(3000)]
    texts = [" ".join(dice.choices(words, k=12)) for _ in range(given.memories)]
    questions = [" ".join(dice.sample(dice.choice(texts).split(), 4)) for _ in range(given.requests)]
    bodies = [json.dumps({"query": question, "mark": False}).encode() for question in questions]
    asked = [
        json.dumps({"query": question, "filters": {"user_id": USER}, "top_k": 5}).encode()
        for question in questions
    ]
    database = Server()
    try:
        database.kill()
        database.start("off", "listen_addresses=127.0.0.1")
        database.ask("CREATE DATABASE mem0_app")
        database.ask("CREATE EXTENSION IF NOT EXISTS vector")
        with (
            tempfile.TemporaryDirectory() as folder,
            embeddings() as base,
            mem0_server(database, given.server, python, base, folder) as (their_port, their_pid),
        ):
            fill(database, their_port, texts)
            with open_memory(f"{folder}/nagori", False) as memory:
                memory.remember_many(texts)
                in_library(memory, questions[:20])
                _, embedding = in_library(memory, questions)
            with started(OURS, f"{folder}/nagori", "words") as (port, pid), started(BARE) as (bare, bare_pid):
                results: dict[str, list[tuple[float, float, float]]] = {}
                load(port, pid, bodies[:40], given.clients)
                load(their_port, their_pid, asked[:40], given.clients, "/search")
                load(bare, bare_pid, bodies[:40], given.clients)
                at_database = 0.0
                size = len(bodies) // ROUNDS
                for first in range(0, size * ROUNDS, size):
                    some = slice(first, first + size)
                    results.setdefault("nagori", []).append(load(port, pid, bodies[some], given.clients))
                    before = database_seconds(database)
                    their = load(their_port, their_pid, asked[some], given.clients, "/search")
                    at_database += database_seconds(database) - before
                    results.setdefault("mem0", []).append(their)
                    results.setdefault("bare starlette route", []).append(
                        load(bare, bare_pid, bodies[some] * 5, given.clients)
                    )
        print(f"{given.memories} memories of a user, {size * ROUNDS} questions in {ROUNDS} rounds,", end=" ")
        print(f"{given.clients} clients; the embedding in ours costs {embedding:.2f} ms")
        for name, rounds in results.items():
            cpu, rate, middle = (sum(each) / ROUNDS for each in zip(*rounds, strict=True))
            beside = (
                f" and {at_database * 1000 / size / ROUNDS:.2f} ms in PostgreSQL" if name == "mem0" else ""
            )
            print(
                f"{name}: {cpu:.2f} ms CPU{beside} a request, {rate:.0f} requests/s, median {middle:.1f} ms"
            )
    finally:
        database.remove()


if __name__ == "__main__":
    main()
