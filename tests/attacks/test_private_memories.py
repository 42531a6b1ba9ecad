"""What is private to an agent stays so on every way to another one."""

import io
import json
from datetime import timedelta
from pathlib import Path

import pytest

from nagori import Nagori, Privacy, Scope
from nagori.config import load
from nagori.core.events import Event
from nagori.core.model import RelationType
from nagori.edges.hooks import answer as answer_hook
from nagori.testing import FrozenClock, WordEmbedder

SECRET = "The coder's vault opens with the word marmalade."
OPEN = "The vault stands in the cellar beside the wine."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("NAGORI_DATA_DIR", str(folder))
    monkeypatch.setenv("NAGORI_HOOKS__WORKER", "false")
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    with Nagori.open(folder, embedder=None, scope=Scope(agent="coder", role="dev")) as coder:
        coder.remember(SECRET, privacy="private", protect=True)
        coder.remember("The dev team's vault code word is orchid.", privacy="agent-only", protect=True)
        coder.remember(OPEN, protect=True)
    return folder


def ask_hook(event: str, **more: object) -> str:
    said = {"hook_event_name": event, "session_id": "s", "cwd": "/nowhere", **more}
    return answer_hook(["--host", "claude-code"], io.BytesIO(json.dumps(said).encode()))


def prompt() -> str:
    return ask_hook(
        "UserPromptSubmit", prompt="With which word does the vault open, and where does it stand?"
    )


def session_start() -> str:
    return ask_hook("SessionStart", source="startup")


@pytest.mark.parametrize("ask", [prompt, session_start])
def test_a_hook_of_another_agent_is_not_shown_what_is_private(
    home: Path, monkeypatch: pytest.MonkeyPatch, ask: object
) -> None:
    monkeypatch.setenv("NAGORI_AGENT", "writer")
    said = ask()  # type: ignore[operator]
    assert "cellar" in said
    assert "marmalade" not in said
    assert "orchid" not in said


@pytest.mark.parametrize("ask", [prompt, session_start])
def test_a_session_without_a_name_is_shown_what_is_public(home: Path, ask: object) -> None:
    with Nagori.open(home, embedder=None) as user:
        user.remember("The vault of the user opens with the word quince.", privacy="private", protect=True)
    said = ask()  # type: ignore[operator]
    assert "cellar" in said
    assert "quince" not in said  # for the user alone
    assert "marmalade" not in said
    assert "orchid" not in said


@pytest.mark.parametrize("ask", [prompt, session_start])
def test_the_settings_name_the_hooks_agent_and_role(
    home: Path, monkeypatch: pytest.MonkeyPatch, ask: object
) -> None:
    monkeypatch.setenv("NAGORI_HOOKS__AGENT", "writer")
    monkeypatch.setenv("NAGORI_HOOKS__ROLE", "dev")
    said = ask()  # type: ignore[operator]
    assert "cellar" in said
    assert "orchid" in said
    assert "marmalade" not in said


@pytest.mark.parametrize("ask", [prompt, session_start])
def test_the_agent_itself_is_shown_its_own(home: Path, monkeypatch: pytest.MonkeyPatch, ask: object) -> None:
    monkeypatch.setenv("NAGORI_AGENT", "coder")
    assert "marmalade" in ask()  # type: ignore[operator]
    assert load().config.hooks.agent == ""


def test_a_server_that_asks_for_an_agent_gets_what_that_agent_may_see(home: Path) -> None:
    with Nagori.open(home, embedder=None, scope=Scope(agent="writer")) as writer:
        shown = writer.context("With which word does the vault open, and where does it stand?", session="m")
        assert "cellar" in shown.text
        assert "marmalade" not in shown.text
        everything = [writer.recall("vault word", 10), writer.list(), list(writer.export()), writer.preview()]
        assert "marmalade" not in repr(everything)


def derive(memory: Nagori, derived: str, *origins: str) -> None:
    now = memory.runtime.clock.now()
    kind = {"type": str(RelationType.DERIVED_FROM)}
    events = [Event("linked", now, {"target": origin, **kind}, derived) for origin in origins]
    memory.runtime.ledger.write(memory.scope.owner, lambda: events)


def test_what_is_derived_is_as_private_as_its_strictest_source(memory: Nagori) -> None:
    coder = memory.with_scope(agent="coder", role="dev")
    public = memory.remember("Public: the house has a red door.")
    team = coder.remember("Team: the red door's code is 11.", privacy="agent-only")
    private = coder.remember("Private: the code will be 12 in May.", privacy="private")
    summary = memory.remember("Summary: red door, code 11, and 12 in May.", kind="summary")
    derive(memory, summary.id, public.id)
    assert memory.show(summary.id).privacy is Privacy.PUBLIC
    derive(memory, summary.id, team.id)
    assert memory.show(summary.id).privacy is Privacy.AGENT_ONLY
    derive(memory, summary.id, private.id, public.id)
    assert memory.show(summary.id).privacy is Privacy.PRIVATE
    for rebuilt in (False, True):
        if rebuilt:
            memory.rebuild()
        for agent, sees in (("coder", True), ("writer", False)):
            asker = memory.with_scope(agent=agent, role="dev")
            assert (summary.id in {m.id for m in asker.list()}) == sees
        assert summary.id in {m.id for m in memory.list()}


def test_of_two_agents_private_things_only_the_user_sees_what_was_made(memory: Nagori) -> None:
    coder, writer = memory.with_scope(agent="coder"), memory.with_scope(agent="writer")
    one = coder.remember("Coder: the key is under the mat.", privacy="private")
    two = writer.remember("Writer: the mat is blue.", privacy="private")
    made = memory.remember("Both: the key is under the blue mat.")
    derive(memory, made.id, one.id, two.id)
    for asker in (coder, writer, memory.with_scope(agent="other")):
        assert made.id not in {m.id for m in asker.list()}
    assert made.id in {m.id for m in memory.list()}


def test_an_import_with_a_derived_from_relation_makes_nothing_public(memory: Nagori) -> None:
    coder = memory.with_scope(agent="coder")
    coder.remember("Coder: the key is under the mat.", privacy="private")
    summary = memory.remember("Somebody's summary: key, mat.")
    lines = list(memory.export())
    private = next(json.loads(line)["memory"]["id"] for line in lines if "Coder:" in line)
    relation = {"relation": {"source": summary.id, "target": private, "type": "derived_from"}}
    report = memory.import_([json.dumps(relation)])
    assert report.relations == 1
    assert memory.show(summary.id).privacy is Privacy.PRIVATE


def test_the_past_obeys_todays_privacy(memory: Nagori, clock: FrozenClock) -> None:
    coder, writer = memory.with_scope(agent="coder"), memory.with_scope(agent="writer")
    kept = coder.remember("The vault opens with the word marmalade.")
    then = clock.now()
    clock.forward(days=1)
    assert [m.id for m in writer.as_of(then)] == [kept.id]
    coder.edit(kept.id, privacy="private")
    clock.forward(days=1)
    assert writer.as_of(then) == []
    assert writer.as_of(then + timedelta(days=1)) == []
    assert [m.id for m in coder.as_of(then)] == [kept.id]
    coder.edit(kept.id, privacy="public")
    coder.edit(kept.id, content="The vault opens with another word.")
    assert [m.id for m in writer.as_of(then)] == [kept.id]


def test_words_that_were_private_are_not_told_by_the_past_of_what_is_public_now(
    memory: Nagori, clock: FrozenClock
) -> None:
    coder, writer = memory.with_scope(agent="coder"), memory.with_scope(agent="writer")
    kept = coder.remember("The vault opens with the word marmalade.", privacy="private")
    then = clock.now()
    clock.forward(days=1)
    coder.edit(kept.id, content="The vault has a word.", privacy="public")
    assert [m.text.content for m in writer.list()] == ["The vault has a word."]
    assert "marmalade" not in repr(writer.as_of(then))


def test_a_recap_of_a_session_is_as_private_as_what_was_said_in_it(
    tmp_path: Path, clock: FrozenClock
) -> None:
    with Nagori.open(tmp_path / "data", clock=clock, embedder=WordEmbedder()) as memory:
        coder, writer = memory.with_scope(agent="coder"), memory.with_scope(agent="writer")
        from nagori import Source

        coder.remember(
            "In this session the word marmalade was chosen.", privacy="private", source=Source("s1")
        )
        assert "marmalade" not in writer.summary("s1")
        assert "marmalade" in coder.summary("s1")
