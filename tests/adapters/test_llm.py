"""Every provider speaks its own language and fails in ours."""

import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.scripted import Scripted

from nagori.adapters.llm import PROVIDERS, open_llm
from nagori.config.sections import Llm
from nagori.core.llm import Prompt
from nagori.core.value_object import replace
from nagori.errors import ModelError, UnusableAnswer
from nagori.protocols import LLM

ASKED = Prompt("Judge.", "Some data.")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}, "required": ["n"]}
KEY = "sk-test-0123456789abcdef0123456789"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def opened(provider: str, server: Scripted, **more: Any) -> LLM:
    base = server.url if provider == "anthropic" else server.base
    given = {"timeout_seconds": 2.0, "max_attempts": 1, "model": "a-model", **more}
    llm = open_llm(Llm(provider=provider, base_url=base, **given))
    assert llm is not None
    return llm


def test_without_a_provider_there_is_no_model() -> None:
    assert open_llm(Llm()) is None
    assert set(PROVIDERS) == {"none", "anthropic", "openai", "claude-cli"}


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
class TestEveryServer:
    def test_a_question_is_answered_and_counted(self, provider: str) -> None:
        with Scripted(answer=lambda body: ' {"n": 1} ') as server:
            reply = opened(provider, server).complete(ASKED, SCHEMA, 77)
        assert (reply.text, reply.model, reply.input_tokens, reply.output_tokens) == (
            '{"n": 1}',
            "a-model",
            12,
            5,
        )
        body = json.dumps(server.requests[0].body)
        assert "Judge." in body
        assert "Some data." in body
        assert KEY in " ".join(server.requests[0].headers.values())

    @pytest.mark.parametrize("fault", ["empty answer", "refusal", "truncated", "wrong schema"])
    def test_an_answer_that_is_none_is_unusable(self, provider: str, fault: str) -> None:
        with Scripted([fault]) as server, pytest.raises(UnusableAnswer):
            opened(provider, server).complete(ASKED, SCHEMA)

    @pytest.mark.parametrize(
        "fault", ["500", "503", "529", "429", "401", "404", "413", "cut", "reset", "garbage", "list", "10 MB"]
    )
    def test_no_answer_is_told_without_the_key(self, provider: str, fault: str) -> None:
        with Scripted([fault], said=f"bad key {KEY}") as server, pytest.raises(ModelError) as told:
            opened(provider, server).complete(ASKED)
        assert not isinstance(told.value, UnusableAnswer)
        assert KEY not in str(told.value)

    @pytest.mark.parametrize("fault", ["hang", "slow"])
    def test_nobody_waits_beyond_the_deadline(self, provider: str, fault: str) -> None:
        with Scripted([fault]) as server, pytest.raises(ModelError, match=r"within 0\.3 s"):
            opened(provider, server, timeout_seconds=0.3).complete(ASKED)

    def test_an_overloaded_server_is_asked_again(self, provider: str) -> None:
        with Scripted(["503", "ok"]) as server:
            assert (
                opened(provider, server, max_attempts=2, timeout_seconds=10.0).complete(ASKED).text == "fine"
            )
        assert len(server.requests) == 2


def test_what_a_server_refuses_by_name_is_left_out_from_then_on() -> None:
    with Scripted(["400", "ok", "ok"], said="temperature is not supported with this model") as server:
        llm = opened("openai", server)
        assert llm.complete(ASKED, SCHEMA).text == "fine"
        llm.complete(ASKED, SCHEMA)
    assert ["temperature" in request.body for request in server.requests] == [True, False, False]


def test_a_refusal_that_names_nothing_of_ours_is_told() -> None:
    with (
        Scripted(["400"], said="your account has no credit") as server,
        pytest.raises(ModelError, match="credit"),
    ):
        opened("openai", server).complete(ASKED, SCHEMA)
    assert len(server.requests) == 1


def test_bounds_go_to_those_who_take_them_and_are_dropped_for_those_who_do_not() -> None:
    with Scripted(["400", "ok"], said="invalid schema: 'maximum' is not permitted") as server:
        opened("openai", server).complete(ASKED, SCHEMA)
    first, second = (request.body["response_format"]["json_schema"]["schema"] for request in server.requests)
    assert first["properties"]["n"] == {"type": "integer", "maximum": 3}
    assert second["properties"]["n"] == {"type": "integer"}


def test_claude_is_asked_in_the_form_its_generation_takes() -> None:
    with Scripted() as server:
        opened("anthropic", server, model="claude-haiku-5-5").complete(ASKED, SCHEMA)
        opened("anthropic", server, model="claude-haiku-4-5").complete(ASKED)
    new, old = (request.body for request in server.requests)
    assert new["thinking"] == {"type": "disabled"}
    assert "temperature" not in new
    assert new["output_config"]["format"]["schema"]["properties"]["n"] == {"type": "integer"}
    assert old["temperature"] == 0.0
    assert "thinking" not in old
    assert "output_config" not in old


def test_a_missing_key_says_where_it_was_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with Scripted() as server, pytest.raises(ModelError, match="ANTHROPIC_API_KEY") as told:
        opened("anthropic", server).complete(ASKED)
    assert not told.value.passing
    assert server.requests == []


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with Scripted() as server:
        assert opened("openai", server).complete(ASKED).text == "fine"
    assert "authorization" not in server.requests[0].headers


def test_a_key_may_lie_in_the_systems_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ring:
        @staticmethod
        def get_password(service: str, name: str) -> str | None:
            return {("nagori", "MY_KEY"): "from-the-ring-0123456789"}.get((service, name))

    monkeypatch.setitem(sys.modules, "keyring", Ring)
    with Scripted() as server:
        opened("openai", server, key_env="MY_KEY").complete(ASKED)
    assert server.requests[0].headers["authorization"] == "Bearer from-the-ring-0123456789"


# --- the host's own program


def program(tmp_path: Path, body: str) -> str:
    path = tmp_path / "claude"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{body}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def cli(tmp_path: Path, body: str, **more: Any) -> LLM:
    llm = open_llm(
        Llm(provider="claude-cli", command=program(tmp_path, body), **{"timeout_seconds": 20.0, **more})
    )
    assert llm is not None
    return llm


ANSWERS = """
said = {"args": sys.argv[1:], "data": sys.stdin.read(), "inside": os.environ.get("NAGORI_INSIDE"),
        "hooks": os.environ.get("NAGORI_HOOKS__ENABLED"), "cwd": os.listdir(".")}
print(json.dumps({"subtype": "success", "is_error": False, "result": "words", "structured_output": said,
                  "usage": {"input_tokens": 9, "output_tokens": 4}}))
"""


def test_the_program_is_started_without_tools_hooks_or_a_session(tmp_path: Path) -> None:
    reply = cli(tmp_path, ANSWERS).complete(ASKED, SCHEMA)
    said = json.loads(reply.text)
    assert said["data"] == "Some data."
    assert (said["inside"], said["hooks"], said["cwd"]) == ("1", "false", [])
    assert {"-p", "--no-session-persistence", '{"disableAllHooks":true}'} <= set(said["args"])
    assert said["args"][said["args"].index("--tools") + 1] == ""
    assert (reply.input_tokens, reply.output_tokens) == (9, 4)
    assert cli(tmp_path, ANSWERS).complete(ASKED).text == "words"


def test_what_we_started_cannot_start_us_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_INSIDE", "1")
    with pytest.raises(ModelError) as told:
        cli(tmp_path, ANSWERS).complete(ASKED)
    assert not told.value.passing


def test_a_program_that_hangs_is_ended_with_all_it_has_started(tmp_path: Path) -> None:
    body = "import subprocess\n" + (
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\ntime.sleep(60)\n"
    )
    with pytest.raises(ModelError, match="within"):
        cli(tmp_path, body, timeout_seconds=2.0).complete(ASKED)
    child = int((tmp_path / "pid").read_text())
    ends = time.monotonic() + 20  # it would sleep 60 s; a killed process may need a moment to be gone
    while _runs(child) and time.monotonic() < ends:
        time.sleep(0.02)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("sys.exit(3)", ModelError),
        ("print('hello')", UnusableAnswer),
        ('print(\'{"subtype": "error_max_turns", "is_error": true}\')', UnusableAnswer),
        ('print(\'{"subtype": "success", "result": ""}\')', UnusableAnswer),
    ],
)
def test_a_program_that_fails_is_told(tmp_path: Path, body: str, kind: type[ModelError]) -> None:
    with pytest.raises(ModelError) as told:
        cli(tmp_path, body).complete(ASKED, SCHEMA)
    assert type(told.value) is kind


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    llm = open_llm(replace(Llm(provider="claude-cli"), command=str(tmp_path / "nothing")))
    assert llm is not None
    with pytest.raises(ModelError, match="There is no program"):
        llm.complete(ASKED)
    assert os.environ.get("NAGORI_INSIDE") is None
