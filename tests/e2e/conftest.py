"""What a run of the real program needs; without the program its tests are skipped and say why."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .claude import MISSING, PROGRAM, World
from .messages_api import MessagesApi
from .recorder import Recorder


@pytest.fixture
def world(tmp_path: Path) -> World:
    if PROGRAM is None:
        pytest.skip(MISSING)
    return World.at(tmp_path)


@pytest.fixture
def recorder(world: World, tmp_path: Path) -> Recorder:
    """The stand-in hook, on every event."""
    folder = tmp_path / "told"
    folder.mkdir()
    recorder = Recorder(folder)
    world.settings(recorder.hooks())
    return recorder


@pytest.fixture
def stub() -> Iterator[MessagesApi]:
    """One that echoes unless the test sets `stub.default`. Nobody else may be talked to."""
    with MessagesApi() as running:
        yield running
    assert running.strays == []
