"""The files in `deploy` start commands that exist, with options that exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from nagori.edges.cli import app

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
COMMANDS = [
    *(
        json.loads(line.partition("command: ")[2])
        for line in (DEPLOY / "compose.yaml").read_text(encoding="utf-8").splitlines()
        if 'command: ["nagori"' in line
    ),
    *(
        shlex.split(line.partition("ExecStart=")[2])
        for line in (DEPLOY / "nagori.service").read_text(encoding="utf-8").splitlines()
        if line.startswith("ExecStart=")
    ),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_of_a_deploy_file_exists(command: list[str]) -> None:
    program, name, *options = command
    assert Path(program).name == "nagori"
    group = get_command(app)
    found = group.get_command(None, name)  # type: ignore[attr-defined]
    known = {option for parameter in found.params for option in parameter.opts}
    assert {option for option in options if option.startswith("--")} <= known


def test_both_files_were_read() -> None:
    assert sorted({name for _, name, *_ in COMMANDS}) == ["serve", "worker"]


def test_the_extras_of_the_image_exist() -> None:
    named = re.search(r"nagori\[([\w,]+)\]", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
    project = (DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert named
    assert all(re.search(rf"^{extra} = \[", project, re.MULTILINE) for extra in named[1].split(","))
