"""Hooks whose memory is on a server: context comes from there; without it nothing stops or is lost."""

from __future__ import annotations

import io
import json

import pytest
from tests.http.served import ServedMemory

from nagori.edges import hooks
from nagori.journals.file import FileJournal


@pytest.fixture
def server(tmp_path):
    with ServedMemory(tmp_path / "there") as started:
        yield started


@pytest.fixture
def host(tmp_path, monkeypatch, server):
    """A machine whose hooks are pointed at the server; returns what a hook prints."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NAGORI_DATA_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("NAGORI_HOOKS__SERVER", server.url)
    monkeypatch.setenv("NAGORI_KEY", server.token)

    def call(event, session="s1", **fields):
        payload = {"hook_event_name": event, "session_id": session, "cwd": "/srv/app", **fields}
        said = hooks.answer(["--host", "claude-code"], io.BytesIO(json.dumps(payload).encode()))
        return json.loads(said or "{}")

    return call


def outbox(tmp_path):
    return sorted((tmp_path / "here" / "outbox" / "spool").glob("*.jsonl"))


def test_a_prompt_gets_its_context_from_the_server(server, host, tmp_path):
    client = server.client(project="/srv/app")
    client.remember("The staging server of the kettle shop moved to port 8443.")
    told = host("UserPromptSubmit", prompt="On which port is the staging server of the kettle shop?")
    assert "8443" in told["hookSpecificOutput"]["additionalContext"]
    assert FileJournal(tmp_path / "here" / "journal").owners() == []
    assert outbox(tmp_path) == []


def test_what_was_said_is_remembered_on_the_server_in_its_project(server, host):
    host("UserPromptSubmit", prompt="The staging server moved to port 8443, password: kV9x2mQ7pL4z.")
    host("Stop", last_assistant_message="Port 8443, I see.")
    client = server.client()
    client.process()
    kept = [each for each in client.list() if "staging" in each.text.whole]
    assert [each.project for each in kept] == ["/srv/app"]
    assert "kV9x" not in kept[0].text.whole
    assert host("SessionStart", session="s2", source="startup") is not None


def test_without_the_server_the_session_goes_on_and_words_are_delivered_once_later(server, host, tmp_path):
    server.kill()
    first = host("UserPromptSubmit", prompt="The meeting moved to Thursday.")
    assert "additionalContext" not in first.get("hookSpecificOutput", {})
    assert first.get("systemMessage"), "the person is told"
    second = host("UserPromptSubmit", prompt="The budget is 300 dollars.")
    assert not second.get("systemMessage"), "once"
    assert len(outbox(tmp_path)) == 2
    server.start()
    copies = [path.read_bytes() for path in outbox(tmp_path)]
    host("UserPromptSubmit", prompt="What else is new?")
    assert outbox(tmp_path) == []
    for name, copy in zip("ab", copies, strict=True):  # an answer was lost: the same turns are sent again
        (tmp_path / "here" / "outbox" / "spool" / f"{name}.jsonl").write_bytes(copy)
    host("UserPromptSubmit", prompt="Anything else?")
    client = server.client()
    client.process()
    texts = [each.text.whole for each in client.list(limit=100)]
    assert sum("Thursday" in text for text in texts) == 1
    assert sum("300 dollars" in text for text in texts) == 1
    assert {each.mentions for each in client.list() if "Thursday" in each.text.whole} == {1}


def test_a_private_prompt_never_leaves_the_machine(server, host, tmp_path):
    host("UserPromptSubmit", prompt="<private>The code is 4711.</private>")
    server.client().process()
    there = b"".join(path.read_bytes() for path in server.folder.rglob("*") if path.is_file())
    here = b"".join(path.read_bytes() for path in (tmp_path / "here").rglob("*") if path.is_file())
    assert b"4711" not in there + here


def test_a_missing_key_is_told_and_stops_nothing(host, monkeypatch, tmp_path):
    monkeypatch.delenv("NAGORI_KEY")
    told = host("UserPromptSubmit", prompt="The meeting moved to Friday.")
    assert "NAGORI_KEY" in told["systemMessage"]
    assert len(outbox(tmp_path)) == 1


@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart"])
def test_what_is_private_to_an_agent_does_not_reach_a_session_without_a_name(
    server, host, monkeypatch, event
):
    said = {"prompt": "Where is the key of the cellar?", "source": "startup"}
    for agent, room, privacy in (
        ("helper", "attic", "private"),
        (None, "vault", "private"),
        (None, "shed", ""),
    ):
        client = server.client(project="/srv/app", **({"agent": agent, "role": "cook"} if agent else {}))
        more = {"privacy": privacy} if privacy else {}
        client.remember(f"The key of the cellar is in the {room}.", protect=True, **more)
    client.with_scope(agent="helper", role="cook").remember(
        "The key of the cellar is in the kitchen.", protect=True, privacy="agent-only"
    )

    def rooms(session):
        told = host(event, session=session, **said).get("hookSpecificOutput", {}).get("additionalContext", "")
        return {room for room in ("attic", "vault", "shed", "kitchen") if room in told}

    assert rooms("s1") == {"shed"}
    monkeypatch.setenv("NAGORI_AGENT", "helper")
    assert rooms("s2") == {"attic", "shed", "kitchen"}
    monkeypatch.setenv("NAGORI_AGENT", "other")
    monkeypatch.setenv("NAGORI_ROLE", "cook")
    assert rooms("s3") == {"shed", "kitchen"}
