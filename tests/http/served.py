"""A real server for tests: `nagori serve` as a process of its own, on a free port of this machine."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from nagori.edges.http.client import RemoteNagori


class ServedMemory:
    """A server process with its folder; it can be killed and started again. `address` is a database instead
    of files; its fold is in the folder."""

    def __init__(
        self, folder: Path, *options: str, env: dict[str, str] | None = None, address: str | None = None
    ) -> None:
        self.folder, self._options = folder, options
        ours = {name: value for name, value in os.environ.items() if not name.startswith("NAGORI_TEST_")}
        self._env = {**ours, "NAGORI_EMBEDDING__PROVIDER": "none", "HOME": str(folder), **(env or {})}
        self._env |= {"NAGORI_DATABASE": address} if address else {"NAGORI_DATA_DIR": str(folder)}
        self.port = free_port()
        self.log = folder.parent / f"{folder.name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.folder / "http-token").read_text(encoding="ascii")

    def start(self) -> None:
        command = [sys.executable, "-m", "nagori", "serve"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port), "--log", *self._options], env=self._env, stderr=log
            )
        deadline = time.monotonic() + 60
        while not self.answers():
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.05)

    def answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)

    def client(self, key: str | None = None, **scope: Any) -> RemoteNagori:
        return RemoteNagori.open(self.url, key=key or self.token).with_scope(**scope)

    def __enter__(self) -> ServedMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
