"""Bring the real `claude` program into an environment of its own: out/e2e-venv, once per pin.

Being offline is no failure: the tests that need the program are then skipped and say why. So this always
leaves with 0, within bounded time, and never with half an environment.
"""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

from .claude import NAMED, ROOT, VENV

PINS = ROOT / "requirements" / "e2e.txt"
READY = VENV / ".ready"
SECONDS = 300


def ready() -> bool:
    """Whether exactly these pins were installed to the end."""
    return READY.exists() and READY.read_bytes() == PINS.read_bytes()


def install(folder: Path = VENV, seconds: float = SECONDS, pins: Path = PINS) -> str:
    """Nothing when it worked, else one line that says what did not."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder)
        _pip(folder, seconds, pins)
    except subprocess.TimeoutExpired:
        trouble = f"not within {seconds:g} s"
    except (subprocess.CalledProcessError, OSError) as error:
        trouble = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
    else:
        (folder / READY.name).write_bytes(pins.read_bytes())
        return ""
    shutil.rmtree(folder, ignore_errors=True)
    return trouble


def _pip(folder: Path, seconds: float, pins: Path) -> None:
    """Wheels with the pinned hashes only; one retry, for somebody offline should not wait long."""
    quick = ["--quiet", "--disable-pip-version-check", "--timeout", "15", "--retries", "1"]
    only = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(pins)]
    words = [sys.executable, "-m", "pip", "--python", str(folder), "install", *quick, *only]
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=seconds)


def main() -> None:
    if NAMED or ready():
        return
    print("installing the claude program for tests/e2e (160 MB, once)", flush=True)
    if trouble := install():
        print(f"tests/e2e will be skipped: {trouble}", file=sys.stderr)


if __name__ == "__main__":
    main()
