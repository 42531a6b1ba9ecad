"""Getting the program: offline and slow networks leave a reason, not a mess."""

from pathlib import Path

import pytest

from .claude import find
from .install import install


def test_offline_leaves_a_reason_and_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    assert "No matching distribution" in install(tmp_path / "venv")
    assert not (tmp_path / "venv").exists()


def test_time_is_bounded(tmp_path: Path) -> None:
    assert install(tmp_path / "venv", seconds=0.001) == "not within 0.001 s"
    assert not (tmp_path / "venv").exists()


def test_a_program_can_be_named(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    assert find(str(program)) is None
    program.touch(0o644)
    assert find(str(program)) is None
    program.chmod(0o755)
    assert find(str(program)) == program
