"""The files in `deploy` start commands that exist, with options that exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.http.served import free_port
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


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    text = (DEPLOY / "nagori.service").read_text(encoding="utf-8")
    unit = tmp_path / "nagori.service"
    unit.write_text(text.replace("/opt/nagori/bin/nagori", sys.executable), encoding="utf-8")
    done = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_of_the_unit_serves(tmp_path: Path) -> None:
    """As systemd would start it, but for the user, the folder and the port."""
    lines = (DEPLOY / "nagori.service").read_text(encoding="utf-8").splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    command, variable = shlex.split(values["ExecStart"]), values["Environment"]
    name, _, folder = variable.partition("=")
    assert folder == values["ReadWritePaths"]
    port = free_port()
    env = {**os.environ, name: str(tmp_path), "NAGORI_EMBEDDING__PROVIDER": "none"}
    start = [sys.executable, "-m", "nagori", *command[1:], "--port", str(port)]
    process = subprocess.Popen(start, env=env, stderr=subprocess.DEVNULL)
    try:
        ask = [sys.executable, "-m", "nagori", "doctor", "--server", f"http://127.0.0.1:{port}", "--json"]
        for _ in range(60):
            done = subprocess.run(ask, env={**env, "NAGORI_KEY": "none"}, capture_output=True, text=True)
            found = {each["id"] for each in json.loads(done.stdout)["findings"]}
            if "doctor.server" in found:
                break
            assert process.poll() is None
            time.sleep(0.2)
        assert found == {"doctor.server", "doctor.server_key_refused"}
    finally:
        process.terminate()
        process.wait(20)


def test_docker_accepts_the_compose_file() -> None:
    program = shutil.which("docker")
    known = program and subprocess.run([program, "compose", "version"], capture_output=True).returncode == 0
    if not known:
        pytest.skip("docker with its plugin compose is not installed")
    env = {**os.environ, "POSTGRES_PASSWORD": "x", "DOMAIN": "memory.example.org"}
    check = [str(program), "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "-q"]
    assert subprocess.run(check, env=env, capture_output=True).returncode == 0
