"""The model at the command line and in the worker: what it did, what it cost, what is wrong with it."""

# mypy: disable-error-code="return-value,var-annotated"
# Because results of a library that has two of them; empty lists are filled later.

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import Result
from tests.models import judging
from tests.scripted import Scripted
from typer.testing import CliRunner

from nagori import Emotion, Kind, Nagori, Turn
from nagori.edges import hooks
from nagori.edges.cli import app
from nagori.edges.worker.run import LOG, work
from nagori.errors import InvalidInput, ModelError


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    with Scripted(answer=judging()) as running:
        given = {"PROVIDER": "openai", "BASE_URL": running.base, "MODEL": "m", "MAX_ATTEMPTS": "1"}
        given |= {"TIMEOUT_SECONDS": "2", "PRICE_IN": "1", "PRICE_OUT": "1000"}
        for name, value in given.items():
            monkeypatch.setenv(f"NAGORI_LLM__{name}", value)
        monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
        monkeypatch.setenv("NAGORI_LLM__DAILY_CAP_USD", "100")
        monkeypatch.setenv("NAGORI_HOOKS__WORKER", "false")
        monkeypatch.setenv("COLUMNS", "200")
        yield running


def folder(home: Path) -> Path:
    return home / ".local/share/nagori"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def told(*texts: str) -> None:
    at = datetime.now(UTC) - timedelta(hours=1)
    with Nagori.open() as memory:
        memory.form(Turn(text, at, session="s", index=place) for place, text in enumerate(texts))


def test_it_judges_and_says_so(server: Scripted, own_home: Path) -> None:
    told("The kettle is green.", "The stove is black.")
    before = json.loads(run("appraise", "--dry-run", "--json").output)
    assert (before["memories"], before["questions"]) == (2, 1)
    assert before["usd"] > 0
    assert server.requests == []
    assert "2 memories appraised in 1 requests" in run("appraise").output
    assert json.loads(run("appraise", "--json").output)["judged"] == 0


def test_what_it_cost_is_told_day_by_day(server: Scripted, own_home: Path) -> None:
    assert "No model was asked" in run("spend").output
    told("The kettle is green.")
    run("appraise")
    (day,) = json.loads(run("spend", "--json").output)["days"]
    (stage,) = day["stages"]
    assert (stage["stage"], stage["model"], stage["questions"], stage["input_tokens"]) == (
        "appraise",
        "m",
        1,
        12,
    )
    assert stage["usd"] == pytest.approx((12 * 1 + 5 * 1000) / 1e6)
    assert "評価" in run("--lang", "ja", "spend").output
    assert "appraisal" in run("spend").output


def test_status_and_doctor_tell_of_a_model_in_trouble(server: Scripted, own_home: Path) -> None:
    told("The kettle is green.")
    server.script = ["401"]
    answer = run("appraise")
    assert answer.exit_code == 8
    assert "Nothing is lost" in answer.output
    status = json.loads(run("status", "--json").output)
    assert (status["llm"], status["unjudged"]) == ("m", 1)
    assert "key" in status["model_trouble"]
    assert "today" in run("status").output
    assert run("status", "--line").output.rstrip().endswith("!")
    findings = json.loads(run("doctor", "--json").output)["findings"]
    assert [f["state"] for f in findings if f["name"] == "model"] == ["warn"]
    server.script = ["ok"]
    run("appraise")
    assert json.loads(run("status", "--json").output)["model_trouble"] is None


def test_a_trouble_is_told_in_the_language_of_who_reads_it(
    server: Scripted, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told("The kettle is green.")
    server.script = ["401"]
    assert "キーを拒否されました（401）: scripted" in "".join(
        run("--lang", "ja", "appraise").output.split("\n")
    )
    assert "キーを拒否されました" in "".join(run("--lang", "ja", "status").output.split())
    monkeypatch.setenv("NAGORI_LLM__DAILY_CAP_USD", "0.000001")
    assert "1 日の上限" in run("--lang", "ja", "appraise").output
    assert "The daily limit" in run("appraise").output


def test_a_night_says_who_waits_for_the_models_words(server: Scripted, own_home: Path) -> None:
    long = "The boat came late again and nobody on the quay knew why it had waited so long outside. " * 8
    with Nagori.open() as memory:
        memory.remember(long, kind=Kind.EPISODE, emotion=Emotion(40))
    server.script = ["500"]
    assert "1 of them wait for the model" in " ".join(run("cycle").output.split())
    assert list(json.loads(run("cycle", "--json").output)["waiting"].values()) == [
        "127.0.0.1 answers 500: scripted"
    ]


def test_without_a_model_there_is_nothing_to_judge_with(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    told("The kettle is green.")
    assert isinstance(run("appraise").exception, InvalidInput)
    assert json.loads(run("status", "--json").output)["llm"] is None
    assert "Rules do its work" in run("doctor").output


# --- the worker


def payload(text: str) -> bytes:
    told = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/srv/app", "prompt": text}
    return json.dumps(told).encode()


def say(text: str) -> None:
    hooks.answer(["--host", "claude-code"], io.BytesIO(payload(text)))


def say_elsewhere(text: str) -> None:
    """In a process of its own, as a host does."""
    command = [sys.executable, "-m", "nagori", "hook", "--host", "claude-code"]
    subprocess.run(command, input=payload(text), check=True, capture_output=True)


def test_the_worker_lets_the_model_judge_what_it_formed(server: Scripted, own_home: Path) -> None:
    say("I am allergic to buckwheat, please keep that in mind.")
    assert server.requests == []  # a hook asks nobody
    work(folder(own_home))
    with Nagori.open() as memory:
        assert [m.appraised_by for m in memory.list()] == ["m"]
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", ["500", "hang", "garbage", "refusal"])
def test_a_model_in_trouble_does_not_hold_up_the_worker(
    server: Scripted, own_home: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setenv("NAGORI_LLM__TIMEOUT_SECONDS", "0.3")
    server.script = [fault]
    say("I am allergic to buckwheat, please keep that in mind.")
    work(folder(own_home))
    assert not (folder(own_home) / LOG).exists()
    with Nagori.open() as memory:
        assert [m.appraised_by for m in memory.list()] == [None]
        assert memory.recall("buckwheat")
    server.script = ["ok"]
    say("And the kettle is green.")
    work(folder(own_home))
    with Nagori.open() as memory:
        assert {m.appraised_by for m in memory.list()} == {"m"}


def test_who_speaks_while_the_model_thinks_goes_first(server: Scripted, own_home: Path) -> None:
    good, spoken = judging(), []

    def slow(body: dict[str, object]) -> str:
        if not spoken:
            spoken.append(True)
            say_elsewhere("And the kettle is green.")
        return good(body)

    server.answer = slow
    say("I am allergic to buckwheat, please keep that in mind.")
    work(folder(own_home))
    with Nagori.open() as memory:
        assert len(memory.list()) == 2
        assert {m.appraised_by for m in memory.list()} == {"m"}


def test_an_error_of_the_model_has_its_own_exit_code() -> None:
    assert ModelError("x").exit_code == 8
