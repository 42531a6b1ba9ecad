"""Build sdist and wheel into a folder, offline: `python -m tools.build dist`.

The sdist is made from a copy of what git tracks, so nothing that lies about gets into it, and nothing is left
in the source tree. The wheel is made from the unpacked sdist: if a file is missing there, it shows here.
The build backend is the installed setuptools (`requirements/build.txt`); nothing is downloaded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def tracked_files(root: Path = ROOT) -> list[str]:
    """What git tracks or would track, as far as it still exists."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (root / name).is_file()]


def copy_tracked(target: Path, root: Path = ROOT) -> Path:
    """The tree as a fresh clone would have it."""
    for name in tracked_files(root):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target / name)
    return target


def call_backend(hook: str, source: Path, out: Path) -> Path:
    """Call `build_sdist` or `build_wheel` in a process of its own, as a front end does."""
    code = (
        "import sys\nfrom setuptools import build_meta\nprint(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
    )
    words = [sys.executable, "-W", "ignore", "-c", code, hook, str(out)]
    done = subprocess.run(words, cwd=source, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{hook} failed:\n{done.stdout}{done.stderr}")
    return out / done.stdout.splitlines()[-1]


def build(out: Path, root: Path = ROOT) -> tuple[Path, Path]:
    """The sdist and the wheel, as paths in `out`."""
    out = out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        sdist = call_backend("build_sdist", copy_tracked(Path(folder, "tree"), root), out)
        with tarfile.open(sdist) as archive:
            archive.extractall(Path(folder, "sdist"), filter="data")
        [unpacked] = Path(folder, "sdist").iterdir()
        return sdist, call_backend("build_wheel", unpacked, out)


def main(arguments: list[str]) -> None:
    """Build into the named folder, `dist` if none is named."""
    for path in build(Path(*arguments[:1] or ["dist"])):
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
