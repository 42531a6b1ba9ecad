"""A real graph server, ArcadeDB with its Bolt protocol, on loopback, started once per process and killed at
its end. `python -m tests.arcadedb` brings it into an environment of its own, out/graph-venv; `start_server`
and, for one that speaks nothing but TLS, `start_tls_server` say why it cannot run here."""

from __future__ import annotations

import atexit
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.certificates import make_certificates
from tests.e2e.install import install

ROOT = Path(__file__).parents[1]
VENV = ROOT / "out" / "graph-venv"
PINS = ROOT / "requirements" / "graph.txt"
PASSWORD = "only-for-tests"
DATABASE = "memories"


class GraphServer:
    """One server with one empty database."""

    def __init__(self, program: Path, folder: Path, more: Mapping[str, object] | None = None) -> None:
        self.folder, (self.port, web) = folder, _free_ports(2)
        settings = {
            "arcadedb.server.rootPath": folder,
            "arcadedb.server.rootPassword": PASSWORD,
            "arcadedb.server.httpIncomingHost": "127.0.0.1",
            "arcadedb.server.httpIncomingPort": web,
            "arcadedb.server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            "arcadedb.server.defaultDatabases": f"{DATABASE}[root]",
            "arcadedb.bolt.host": "127.0.0.1",
            "arcadedb.bolt.port": self.port,
            **(more or {}),
        }
        options = [f"-D{name}={value}" for name, value in settings.items()]
        self.process = subprocess.Popen(
            [
                str(program / "jre" / "bin" / "java"),
                "-Xmx256m",
                "-cp",
                str(program / "jars" / "*"),
                *options,
                "com.arcadedb.server.ArcadeDBServer",
            ],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def url(self) -> str:
        return f"bolt://root@127.0.0.1:{self.port}/{DATABASE}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def start_another() -> GraphServer | str:
    """A server of one's own, or why there is none."""
    program = _program()
    if program is None:
        return "the graph server is not installed (python -m tests.arcadedb)"
    server = GraphServer(program, Path(tempfile.mkdtemp(prefix="nagori-graph-")))
    return _wait_for(server)


@cache
def start_tls_server() -> GraphServer | str:
    """The server of this process that speaks nothing but TLS, or why there is none. Its authority is ca.pem
    in its folder."""
    program, openssl = _program(), shutil.which("openssl")
    if program is None or openssl is None:
        return "the graph server (python -m tests.arcadedb) or openssl is not installed"
    folder = Path(tempfile.mkdtemp(prefix="nagori-graph-"))
    make_certificates(openssl, folder)
    keys = ["-inkey", "server.key", "-in", "server.pem", "-out", "server.p12", "-passout", f"pass:{PASSWORD}"]
    subprocess.run([openssl, "pkcs12", "-export", *keys], cwd=folder, check=True, capture_output=True)
    settings = {
        "arcadedb.bolt.ssl": "REQUIRED",
        "arcadedb.ssl.keyStore": folder / "server.p12",
        "arcadedb.ssl.keyStorePassword": PASSWORD,
        "arcadedb.ssl.trustStore": folder / "server.p12",
        "arcadedb.ssl.trustStorePassword": PASSWORD,
    }
    return _wait_for(GraphServer(program, folder, settings), "bolt+ssc")


def _program() -> Path | None:
    return next(iter(sorted(VENV.glob("lib/python*/site-packages/arcadedb_embedded"))), None)


def _wait_for(server: GraphServer, scheme: str = "bolt") -> GraphServer | str:
    atexit.register(server.kill)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            return f"ArcadeDB ended with {server.process.returncode}"
        if _answers(server, scheme):
            return server
        time.sleep(0.2)
    raise RuntimeError("ArcadeDB did not start within 90 seconds")


@cache
def start_server() -> GraphServer | str:
    """The server of this process, or why there is none."""
    return start_another()


def _answers(server: GraphServer, scheme: str) -> bool:
    """Whether the database can be asked; the port is open before that."""
    import neo4j

    try:
        address = f"{scheme}://127.0.0.1:{server.port}"
        with neo4j.GraphDatabase.driver(address, auth=("root", PASSWORD)) as driver:
            driver.execute_query("RETURN 1", database_=DATABASE)
        return True
    except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError, OSError):
        return False


def main() -> None:
    ready = VENV / ".ready"
    if ready.exists() and ready.read_bytes() == PINS.read_bytes():
        return
    print("installing the graph server for tests of the mirror (70 MB, once)", flush=True)
    if trouble := install(VENV, pins=PINS):
        print(f"tests with a graph server will be skipped: {trouble}", file=sys.stderr)


if __name__ == "__main__":
    main()
