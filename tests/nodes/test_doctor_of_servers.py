"""`nagori doctor` on a node says how its database is, and `--server` examines a server from elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta

import pytest
from tests.http.served import ServedMemory, free_port
from tests.nodes.test_nodes import Open, node  # noqa: F401 - a fixture
from tests.postgres import Server

from nagori import Nagori
from nagori.edges.http import check_remote_server
from nagori.edges.http.check_remote_server import examine_server
from nagori.edges.worker.postgres_worker import run
from nagori.errors import ModelError
from nagori.journals.postgres import PostgresJournal
from nagori.services.doctor import Finding
from nagori.testing import FrozenClock


def told(memory: Nagori) -> dict[str, str]:
    return {finding.seen.id: finding.state for finding in memory.doctor()}


def test_a_healthy_node_says_so(node: Open) -> None:  # noqa: F811
    memory = node()
    memory.remember("The kettle is green.")
    found = told(memory)
    assert found["doctor.database"] == found["doctor.database_tables"] == found["doctor.workers"] == "ok"
    assert set(found.values()) == {"ok"}


def test_work_that_nobody_does_is_told(node: Open, postgres: Server) -> None:  # noqa: F811
    memory = node()
    memory.remember("The kettle is green.")
    postgres.ask("UPDATE work SET due = now() - interval '2 hours'")
    assert told(memory)["doctor.workers_missing"] == "warn"
    journal = memory.runtime.journal
    assert isinstance(journal, PostgresJournal)
    with Nagori.open(postgres.url(folder=str(memory.runtime.data_dir / "worker")), embedder=None) as worker:
        assert isinstance(worker.runtime.journal, PostgresJournal)
        run(worker, worker.runtime.journal, lambda: False, once=True)
        assert told(memory)["doctor.workers"] == "ok"
        postgres.ask("UPDATE work SET due = now() - interval '2 hours'")
        with worker.runtime.journal.database._connect().raw:  # a new session of a worker
            assert told(memory)["doctor.workers_late"] == "warn"


def test_a_newer_table_and_a_wrong_clock_are_told(node: Open, postgres: Server) -> None:  # noqa: F811
    memory = node()
    memory.remember("The kettle is green.")
    postgres.ask("UPDATE nagori_schema SET version = 99 WHERE part = 'journal'")
    try:
        assert told(memory)["doctor.database_newer"] == "warn"
    finally:
        postgres.ask("UPDATE nagori_schema SET version = 1 WHERE part = 'journal'")
    late = node(clock=FrozenClock(datetime.now().astimezone() + timedelta(minutes=5)))
    assert told(late)["doctor.clocks_apart"] == "warn"


def states(findings: list[Finding]) -> dict[str, str]:
    return {finding.seen.id: finding.state for finding in findings}


def test_a_server_is_examined_from_elsewhere(tmp_path, monkeypatch) -> None:
    def no_key() -> str:
        raise ModelError("error.key_missing", variable="NAGORI_KEY", passing=False)

    with ServedMemory(tmp_path / "memory") as server:
        good = states([*examine_server(server.url, lambda: server.token)])
        assert good == {"doctor.server": "ok", "doctor.server_key": "ok"}
        assert states([*examine_server(server.url, lambda: "wrong")])["doctor.server_key_refused"] == "fail"
        assert states([*examine_server(server.url, no_key)])["doctor.server_no_key"] == "fail"
        monkeypatch.setattr(check_remote_server, "__version__", "99.0")
        monkeypatch.setattr(check_remote_server, "CLOCKS_APART", -1.0)
        other = states([*examine_server(server.url, lambda: server.token)])
        assert other["doctor.server_version"] == other["doctor.clocks_apart"] == "warn"
        env = {**os.environ, "NAGORI_KEY": server.token, "HOME": str(tmp_path)}
        command = [sys.executable, "-m", "nagori", "doctor", "--server", server.url, "--json"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert {each["id"] for each in json.loads(done.stdout)["findings"]} == good.keys()
        assert server.token not in done.stdout + done.stderr
    assert states([*examine_server(server.url, lambda: "x")]) == {"doctor.server_away": "fail"}
    for address in ("ftp://somewhere", "http://example.org", f"http://127.0.0.1:{free_port()}"):
        assert states([*examine_server(address, lambda: "x")]) == {"doctor.server_away": "fail"}


@pytest.mark.parametrize("keys", [0, 2])
def test_keys_are_counted_without_being_shown(tmp_path, keys: int) -> None:
    env = {**os.environ, "NAGORI_DATA_DIR": str(tmp_path), "NAGORI_EMBEDDING__PROVIDER": "none"}
    start = [sys.executable, "-m", "nagori"]
    for number in range(keys):
        subprocess.run([*start, "keys", "add", f"key {number}"], env=env, check=True, capture_output=True)
    done = subprocess.run([*start, "doctor", "--json"], env=env, capture_output=True, text=True)
    said = [each["detail"] for each in json.loads(done.stdout)["findings"] if each["name"] == "keys"]
    assert said == (["2 keys are valid, 2 of them were never used."] if keys else [])
