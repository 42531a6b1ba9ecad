"""The launcher that hosts call: a small script written by `nagori init`.

    settings of a host → <data>/bin/nagori-hook → this environment's Python → nagori-hook.py → edges.hooks

It starts Python without its site folders and tells it where nagori and its libraries are: 55 ms until our
code runs, while the `nagori` command takes 230 (medians of 7, two shared cores; the guard costs 5). The shell
script in front covers a removed installation: Python answers a missing script with exit code 2, and to Claude
Code that means *block this prompt* (confirmed with 2.1.325). The shell script always exits with 0 and says
how to repair it; without the script the prompt goes through.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from nagori.edges.hosts.settings_file import replace_file
from nagori.errors import InvalidInput
from nagori.files import PRIVATE_DIR, PRIVATE_FILE, private_dir

BIN = "bin"
GUARD, SCRIPT, USERS = "nagori-hook", "nagori-hook.py", "used-by.json"
TOLD = "told-missing"  # with the day: that day it was said that nagori is missing
NEEDED = ("nagori", "apsw", "sqlite_vec")

GUARD_TEXT = """\
#!/bin/sh
# Written by `nagori init`, removed by `nagori uninstall`.
# Whatever happens it exits with 0: an agent must not stop because its memory is gone.
if [ -x {python} ] && [ -r {script} ]; then
    exec {python} -I -S {script} "$@"
fi
told={told}-"$(date +%Y%m%d 2>/dev/null)"
if [ ! -e "$told" ]; then
    rm -f {told}-* 2>/dev/null
    : 2>/dev/null > "$told"
    printf '%s\\n' {message}
fi
exit 0
"""
SCRIPT_TEXT = '''\
"""Written by `nagori init`, removed by `nagori uninstall`."""

import gc
import os
import sys

gc.disable()  # the process is too short-lived to need it
sys.path += {folders!r}
for name, value in {environment!r}.items():
    os.environ.setdefault(name, value)
try:
    from nagori.edges.hooks import run

    run()
except SystemExit:
    pass  # whatever it wanted to say with a number: a host must never be stopped by us
except BaseException:
    import time

    told = {told!r} + time.strftime("-%Y%m%d")
    if not os.path.exists(told):
        try:
            os.close(os.open(told, os.O_WRONLY | os.O_CREAT, 0o600))
        except OSError:
            pass  # a folder that cannot be written: it is said once more
        print({message!r})
'''


def hook_command(host: str, folder: Path, platform: str = sys.platform) -> list[str]:
    """The command for a host. `folder` is the data folder."""
    if platform == "win32":  # Windows needs a real .exe
        return [sys.executable, "-I", "-S", str(folder / BIN / SCRIPT), "--host", host]
    return [str(folder / BIN / GUARD), "--host", host]


def texts(folder: Path, trouble: str, environment: dict[str, str]) -> dict[str, str]:
    """The files of the launcher. `trouble` is the message if nagori is missing."""
    message = json.dumps({"systemMessage": trouble})
    python, script = shlex.quote(sys.executable), shlex.quote(str(folder / BIN / SCRIPT))
    told = str(folder / BIN / TOLD)  # it is said once a day: a notice at every prompt helps nobody
    quoted = {"message": shlex.quote(message), "told": shlex.quote(told)}
    environment_and_words = {"environment": environment, "message": message, "told": told}
    return {
        GUARD: GUARD_TEXT.format(python=python, script=script, **quoted),
        SCRIPT: SCRIPT_TEXT.format(folders=_folders(NEEDED), **environment_and_words),
    }


def is_current(folder: Path, wanted: dict[str, str]) -> bool:
    return all(_read(folder / BIN / name) == text for name, text in wanted.items())


def write(folder: Path, wanted: dict[str, str]) -> None:
    """Write the launcher, private to its owner."""
    private_dir(folder / BIN)
    for name, text in wanted.items():
        mode = PRIVATE_DIR if name == GUARD else PRIVATE_FILE
        replace_file(folder / BIN / name, text.encode(), mode)


def users(folder: Path) -> dict[Path, str]:
    """The settings files that call the launcher, with their hosts, as recorded by `nagori init`."""
    try:
        known = json.loads(_read(folder / BIN / USERS) or "{}")
        return {Path(path): str(host) for path, host in known.items()}
    except (ValueError, AttributeError):
        return {}  # the list is optional


def note_users(folder: Path, files: dict[Path, str]) -> None:
    known = {str(path): host for path, host in files.items()}
    replace_file(private_dir(folder / BIN) / USERS, json.dumps(known, indent=2).encode(), PRIVATE_FILE)


def delete(folder: Path) -> None:
    for name in (GUARD, SCRIPT, USERS):
        (folder / BIN / name).unlink(missing_ok=True)
    for told in (folder / BIN).glob(f"{TOLD}-*"):
        told.unlink(missing_ok=True)
    if (folder / BIN).is_dir() and not any((folder / BIN).iterdir()):
        (folder / BIN).rmdir()


def bring_along(aside: Path, folder: Path) -> None:
    """Keep the launcher after a restore: it belongs to the machine, not to the backup."""
    if (aside / BIN / GUARD).exists() and not (folder / BIN).exists():
        os.rename(aside / BIN, folder / BIN)  # noqa: PTH104


def _folders(packages: Iterable[str]) -> list[str]:
    """The folders that contain these packages."""
    found = []
    for package in packages:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise InvalidInput("python", "error.package_not_found", package=package)
        inside = Path(spec.origin).absolute().parent
        found.append(str(inside.parent if spec.submodule_search_locations else inside))
    return list(dict.fromkeys(found))


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
