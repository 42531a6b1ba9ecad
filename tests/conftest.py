"""No test touches the real home, the network or the real clock unless it says so."""

import socket
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests import profiles

import nagori
from nagori import Nagori
from nagori.testing import FrozenClock, WordEmbedder

profiles.load_profile()
_NUMBERS = count()


def pytest_report_header() -> str:
    """Which nagori is tested, the source tree's or an installed one, and how hard Hypothesis tries."""
    return f"nagori {nagori.__version__} from {Path(nagori.__file__).parent}, examples: {profiles.PROFILE}"


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home and a temporary folder of its own; nothing of the machine's own settings is seen."""
    # Not by mktemp: it reads all folders of all tests to find a free number.
    own = tmp_path_factory.getbasetemp() / "own" / str(next(_NUMBERS))
    home, temporary = own / "home", own / "tmp"
    for folder in (home, temporary):
        folder.mkdir(mode=0o700, parents=True)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)  # to be asked for anew
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "LC_ALL", "LC_MESSAGES", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(home), "LANG": "C.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    for name in list(__import__("os").environ):
        if name.startswith("NAGORI_"):
            monkeypatch.delenv(name)
    return home


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1"):  # type: ignore[index]
            raise AssertionError(f"a test wanted to talk to {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    """A memory of its own, with a frozen clock and an embedder that needs no model."""
    with Nagori.open(tmp_path / "data", clock=clock, embedder=WordEmbedder()) as opened:
        yield opened
