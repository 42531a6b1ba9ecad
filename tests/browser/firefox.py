"""A stock Firefox, driven by its own protocol, Marionette: playwright drives only a Firefox of its own."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

# Taken out of the environment: the configuration would complain about a setting that it does not know.
NAMED = os.environ.pop("NAGORI_TEST_FIREFOX", None)
FIREFOX = NAMED or shutil.which("firefox-esr") or shutil.which("firefox")
PREFERENCES = {
    "marionette.port": 0,  # a free one; it writes the number into its profile
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "browser.aboutwelcome.enabled": False,
}
PATIENCE = 90.0  # seconds, on a busy machine


class Firefox:
    """A headless Firefox with a new profile, until the block ends."""

    def __init__(self, folder: Path, language: str = "en") -> None:
        self._profile = folder / "profile"
        self._profile.mkdir(parents=True)
        chosen = {**PREFERENCES, "intl.accept_languages": language, "ui.systemUsesDarkTheme": 0}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in chosen.items()]
        (self._profile / "user.js").write_text("\n".join(lines))
        self._number = 0

    def __enter__(self) -> Firefox:
        assert FIREFOX is not None
        home = {**os.environ, "HOME": str(self._profile), "MOZ_HEADLESS": "1"}
        command = [FIREFOX, "--headless", "--marionette", "--profile", str(self._profile), "about:blank"]
        self._process = subprocess.Popen(
            command, env=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            self._socket = socket.create_connection(("127.0.0.1", self._find_port()), timeout=PATIENCE)
            self._read()  # who it is
            self.send("WebDriver:NewSession", {"capabilities": {}})
        except BaseException:
            self._process.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _find_port(self) -> int:
        file, end = self._profile / "MarionetteActivePort", time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if file.exists() and file.read_text().strip():
                return int(file.read_text())
            assert self._process.poll() is None, "Firefox ended"
            time.sleep(0.1)
        raise TimeoutError("Firefox does not listen")

    def send(self, command: str, values: dict[str, Any] | None = None) -> Any:
        """The result of a command."""
        self._number += 1
        told = json.dumps([0, self._number, command, values or {}]).encode()
        self._socket.sendall(b"%d:%s" % (len(told), told))
        _, number, fault, result = self._read()
        assert number == self._number
        assert fault is None, fault
        return result

    def _read(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            size += self._receive(1)
        return json.loads(self._receive(int(size[:-1])))

    def _receive(self, n: int) -> bytes:
        data = b""
        while len(data) < n:
            piece = self._socket.recv(n - len(data))
            assert piece, "Firefox hung up"
            data += piece
        return data

    def run(self, script: str, *values: Any) -> Any:
        """What a script in the page returns."""
        told = self.send("WebDriver:ExecuteScript", {"script": script, "args": list(values)})
        return told["value"]

    def wait(self, script: str, *values: Any) -> Any:
        """What a script returns as soon as that is true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := self.run(script, *values):
                return found
            time.sleep(0.1)
        raise TimeoutError(f"{script}: {self.run('return document.body.innerText')}")

    def open(self, url: str) -> None:
        self.send("WebDriver:Navigate", {"url": url})

    def draw(self, path: Path) -> None:
        """A picture of what is shown."""
        path.write_bytes(base64.b64decode(self.send("WebDriver:TakeScreenshot", {"full": True})["value"]))
