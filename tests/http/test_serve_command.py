"""The commands `keys` and `serve`, as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.http.served import ServedMemory

from nagori import RemoteNagori
from nagori.errors import NagoriError


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(folder), "NAGORI_EMBEDDING__PROVIDER": "none", "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "nagori", "--data-dir", str(folder / "memory"), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, encoding="utf-8", timeout=60)


def test_a_key_is_added_used_listed_and_revoked(tmp_path):
    added = run(tmp_path, "--tenant", "acme", "--user", "aki", "keys", "add", "laptop", "--json")
    key = json.loads(added.stdout)
    with ServedMemory(tmp_path / "memory", "--keys") as server:
        memory = RemoteNagori.open(server.url, key=key["key"])
        memory.remember("The office is in Kyoto.")
        [listed] = json.loads(run(tmp_path, "keys", "list", "--json").stdout)["keys"]
        assert (listed["id"], listed["tenant"], listed["user"]) == (key["id"], "acme", "aki")
        assert listed["last_used"]
        assert "hash" not in listed
        assert key["key"] not in run(tmp_path, "keys", "list").stdout
        assert key["id"] in run(tmp_path, "keys", "revoke", key["id"]).stdout
        found = run(tmp_path, "--tenant", "acme", "--user", "aki", "recall", "office", "--json")
        assert "Kyoto" in found.stdout
        assert any(is_refused(memory) for _ in range(100)), "the revoked key still works"


def is_refused(memory: RemoteNagori) -> bool:
    """Whether the key is refused now; if not, some time passes."""
    try:
        memory.list()
    except NagoriError as refused:
        return refused.message_id == "error.http_key"
    time.sleep(0.1)
    return False


def test_what_cannot_be_is_said_in_a_sentence(tmp_path):
    outside = run(tmp_path, "serve", "--host", "0.0.0.0")
    assert (outside.returncode, "--keys" in outside.stderr) == (2, True)
    assert run(tmp_path, "keys", "revoke", "nothing").returncode == 3
    assert run(tmp_path, "keys", "add").returncode == 2
    own = run(tmp_path, "--tenant", "nagori:server", "keys", "add", "thief")
    assert (own.returncode, "nagori:server" in own.stderr) == (2, True)


def test_tokens_need_an_issuer_an_audience_and_keys_that_can_be_read(tmp_path):
    file = tmp_path / "jwks.json"
    file.write_text('{"keys": []}', encoding="utf-8")
    whole = ["--keys", "--issuer", "https://id.example.org", "--audience", "nagori"]
    for wrong in (["--jwks", str(file)], ["--jwks", str(file), *whole[:3]]):
        assert "--audience" in run(tmp_path, "serve", *wrong).stderr
    assert "nowhere.json" in run(tmp_path, "serve", "--jwks", "nowhere.json", *whole).stderr
    with ServedMemory(tmp_path / "memory", "--jwks", str(file), *whole) as server:
        assert server.answers()
