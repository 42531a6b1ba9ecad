"""Being called by other programs: what `init` writes into their settings and `uninstall` takes out."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.edges.cli import main
from nagori.edges.hosts import HOSTS, launcher_script, settings_file
from nagori.edges.hosts.settings_patch import is_ours
from nagori.edges.hosts.spec import Host, shell_line
from nagori.errors import InvalidInput

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ["/home/aki/.local/share/nagori/bin/nagori-hook", "--host", "x"]
EVERY_HOST = pytest.mark.parametrize("host", HOSTS.values(), ids=lambda host: host.name)


class Answer:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


Run = Callable[..., Answer]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], own_home: Path) -> Run:
    """`run("init", "--yes")` as if typed, on a machine where no program is installed."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(own_home / "nothing"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)

    def typed(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["nagori", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return Answer(int(stop.value.code or 0), out, err)

    return typed


@pytest.fixture
def settings(own_home: Path) -> Path:
    """Claude Code's settings, with somebody else's hook and a layout of its own."""
    path = own_home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text(
        '{\n\t"model": "opus",\n'
        '\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say 終"}]}]},\n'
        '\t"env": {"KEY": "秘密"}}'
    )
    path.chmod(0o640)
    return path


def everything_below(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


# ── settings as plain values ─────────────────────────────────────────────────────────────────────


def test_claude_code_gets_one_group_for_each_event() -> None:
    theirs = {"hooks": [{"type": "command", "command": "say done"}]}
    before = {"model": "opus", "hooks": {"Stop": [theirs], "Notification": [theirs]}, "env": {}}
    ours = {"type": "command", "command": COMMAND[0], "args": ["--host", "x"], "timeout": 10}
    group = [{"hooks": [ours]}]
    assert HOSTS["claude-code"].added(before, COMMAND) == {
        "model": "opus",
        "hooks": {
            "Stop": [theirs, *group],
            "Notification": [theirs],
            "SessionStart": group,
            "UserPromptSubmit": group,
            "PostToolUse": group,
            "PostToolUseFailure": group,
            "SubagentStop": group,
            "PreCompact": group,
            "PostCompact": group,
            "SessionEnd": group,
        },
        "env": {},
    }


LINE = "/home/aki/.local/share/nagori/bin/nagori-hook --host x"
GOLDEN = {
    "codex": ("SessionEnd", [{"hooks": [{"type": "command", "command": LINE, "timeout": 3}]}], None),
    "gemini": (
        "BeforeAgent",
        [{"hooks": [{"name": "nagori", "type": "command", "command": LINE, "timeout": 10000}]}],
        None,
    ),
    "cursor": ("afterAgentResponse", [{"command": LINE, "timeout": 10}], 1),
    "copilot": (
        "agentStop",
        [
            {
                "type": "command",
                "bash": f"{LINE} --event agentStop",
                "powershell": f"& '{COMMAND[0]}' '--host' 'x' '--event' 'agentStop'",
                "timeoutSec": 10,
            }
        ],
        1,
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_each_other_host_gets_entries_in_its_own_form(name: str) -> None:
    event, entries, version = GOLDEN[name]
    made = HOSTS[name].added({}, COMMAND)
    assert made["hooks"][event] == entries
    assert made.get("version") == version


@EVERY_HOST
def test_being_called_before_tools_has_to_be_asked_for(host: Host) -> None:
    [event] = host.before_tool
    with_it = host.added({}, COMMAND, before_tool=True)
    assert event not in host.added({}, COMMAND)["hooks"]
    assert event in with_it["hooks"]
    assert host.added(with_it, COMMAND) == host.added({}, COMMAND)


def test_ours_are_known_by_the_launcher_and_nothing_else() -> None:
    assert is_ours({"command": "/x/bin/nagori-hook", "args": ["--host", "codex"]})
    assert is_ours({"command": "python", "args": ["-I", "-S", "C:\\x\\bin\\nagori-hook.py"]})
    assert is_ours({"bash": "'/my data/bin/nagori-hook' --host copilot"})
    for other in (
        {"command": "nagori", "args": ["hook", "--host", "claude-code"]},  # typed in by hand, or the plugin's
        {"command": "/x/bin/nagori-hooks"},
        {"command": "/x/my-nagori-hook"},
        {"command": "echo", "description": "/x/bin/nagori-hook"},
        {"command": 3, "args": "/x/bin/nagori-hook"},
        "/x/bin/nagori-hook",
        None,
    ):
        assert not is_ours(other)


def test_an_entry_that_was_moved_is_renewed_where_it_stands() -> None:
    old = {"type": "command", "command": "/old/bin/nagori-hook", "timeout": 1}
    theirs = {"type": "command", "command": "say done"}
    before = {"hooks": {"Stop": [{"matcher": "a", "hooks": [old, theirs, old]}, {"hooks": [old]}]}}
    made = HOSTS["claude-code"].added(before, COMMAND)["hooks"]["Stop"]
    [ours] = HOSTS["claude-code"].added({}, COMMAND)["hooks"]["Stop"][0]["hooks"]
    assert made == [{"matcher": "a", "hooks": [ours, theirs]}]


@pytest.mark.parametrize("strange", [{"hooks": []}, {"hooks": None}, {"hooks": {"Stop": {}, "stop": {}}}])
def test_hooks_of_a_shape_we_do_not_know_are_refused(strange: dict[str, Any]) -> None:
    for host in (HOSTS["claude-code"], HOSTS["cursor"]):
        with pytest.raises(InvalidInput):
            host.added(strange, COMMAND)
        assert host.removed(strange) == strange


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.sampled_from([*sorted({event for host in HOSTS.values() for event in host.events}), "Other"])
THEIRS = JSON | st.fixed_dictionaries({"hooks": st.lists(JSON, max_size=3)}, optional={"matcher": JSON})
SETTINGS = st.dictionaries(st.text(max_size=5) | st.sampled_from(["version", "hooks"]), JSON, max_size=4)
HOOKED = st.builds(
    lambda before, hooks, after: {
        **before,
        "hooks": hooks,
        **{k: v for k, v in after.items() if k != "hooks"},
    },
    SETTINGS,
    st.dictionaries(EVENTS, st.lists(THEIRS, max_size=3) | JSON, max_size=4),
    SETTINGS,
)


def without_empty(host: Host, settings: dict[str, Any]) -> dict[str, Any]:
    """`settings` without lists of hooks that hold nothing: the one thing that cannot be told afterwards."""
    if not isinstance(settings.get("hooks"), dict):
        return settings
    hooks = {k: v for k, v in settings["hooks"].items() if v != [] or k not in host.events}
    if hooks:
        return {**settings, "hooks": hooks}
    gone = {"hooks"}
    if host.shape.version and [*settings][-2:] == ["hooks", "version"]:
        gone.add("version")
    return {key: value for key, value in settings.items() if key not in gone}


@EVERY_HOST
@given(settings=SETTINGS | HOOKED)
def test_removing_undoes_adding_and_adding_twice_is_adding_once(host: Host, settings: dict[str, Any]) -> None:
    told = json.dumps(settings)
    assert host.removed(settings) == settings
    try:
        with_ours = host.added(settings, COMMAND)
    except InvalidInput:
        return
    assert json.dumps(settings) == told  # the argument is left alone
    assert json.dumps(host.added(with_ours, COMMAND)) == json.dumps(with_ours)
    assert json.dumps(host.removed(with_ours)) == json.dumps(without_empty(host, settings))
    moved = host.added(with_ours, ["/elsewhere/bin/nagori-hook"])
    assert json.dumps(host.removed(moved)) == json.dumps(without_empty(host, settings))


# ── init ─────────────────────────────────────────────────────────────────────────────────────────


def test_init_changes_nothing_unless_somebody_agrees(run: Run, settings: Path, own_home: Path) -> None:
    before = everything_below(own_home)
    asked = run("init")
    assert asked.code == 2
    assert '"args": [' in asked.out
    assert "--yes" in asked.out
    assert run("init", "--dry-run").code == 0
    assert run("init", "--dry-run", "--json").code == 0
    assert run("init", "--json").code == 2
    assert everything_below(own_home) == before


def test_a_person_is_asked_and_may_say_no(
    run: Run, settings: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything_below(own_home)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda _, default: default)
    assert run("init").code == 2
    assert everything_below(own_home) == before
    monkeypatch.setattr("typer.confirm", lambda _, default: True)
    assert run("init").code == 0
    assert "nagori-hook" in settings.read_text()


def test_init_keeps_a_copy_the_layout_and_the_permissions(run: Run, settings: Path) -> None:
    before = settings.read_bytes()
    assert run("init", "--yes").code == 0
    [copy] = settings.parent.glob("settings.json.before-nagori-*")
    assert copy.read_bytes() == before
    after = settings.read_text()
    assert after.startswith('{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop"')
    assert not after.endswith("\n")
    assert "秘密" in after
    assert [stat.S_IMODE(path.stat().st_mode) for path in (settings, copy)] == [0o640, 0o640]


def test_init_again_has_nothing_to_do(run: Run, settings: Path, own_home: Path) -> None:
    run("init", "--yes")
    before = everything_below(own_home)
    again = run("init")
    assert (again.code, again.out) == (0, "There is nothing to do: Claude Code.\n")
    assert everything_below(own_home) == before


def test_programs_are_found_by_their_folder_or_on_the_path_or_by_name(
    run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "None of these programs is installed" in run("init", "--yes").out
    (own_home / ".gemini").mkdir()
    program = own_home / "nothing/codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(own_home / "elsewhere"))
    (own_home / "elsewhere").mkdir()
    answer = run("init", "--yes")
    assert "Type /hooks there" in answer.out
    for name in ("elsewhere/settings.json", ".codex/hooks.json", ".gemini/settings.json"):
        assert "nagori-hook" in (own_home / name).read_text()
    assert run("init", "--host", "copilot", "--host", "cursor", "--yes").code == 0
    assert "sessionStart" in (own_home / ".copilot/hooks/nagori.json").read_text()
    assert not (own_home / ".claude").exists()
    wrong = run("init", "--host", "emacs")
    assert wrong.code == 2
    assert "claude-code" in wrong.err


def test_one_project_can_be_chosen_where_its_settings_stay_on_this_machine(
    run: Run, own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (".claude", ".codex"):
        (own_home / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    assert run("init", "--project", "--yes").code == 0
    assert [p.name for p in tmp_path.rglob("*.json")] == ["settings.local.json"]
    assert not (own_home / ".claude/settings.json").exists()
    refused = run("init", "--project", "--host", "codex", "--yes")
    assert refused.code == 2
    assert "Leave out --project" in refused.err
    monkeypatch.chdir(own_home)  # uninstall finds it from anywhere
    run("uninstall", "--yes")
    assert list(tmp_path.rglob("*.json")) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "model": "opus",\n  // mine\n}', "line 3: This is not JSON"),
        ("", "line 1: This is not JSON"),
        ("[]", "does not hold a JSON object"),
        ('{"a": 1, "a": 2}', "there twice"),
        ('{"a": NaN}', "not JSON"),
        ('{"hooks": []}', "'hooks' has an unexpected shape"),
        (b"\xff", "codec"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(
    run: Run, settings: Path, own_home: Path, text: str | bytes, said: str
) -> None:
    settings.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = everything_below(own_home)
    answer = run("init", "--yes")
    assert answer.code == 2
    assert str(settings) in answer.err
    assert said in answer.err
    assert everything_below(own_home) == before
    assert "設定ファイル" in run("--lang", "ja", "init", "--yes").err


def test_a_read_only_file_is_left_alone(run: Run, settings: Path, own_home: Path) -> None:
    settings.chmod(0o444)
    before = everything_below(own_home)
    answer = run("init", "--yes")
    assert answer.code == 2
    assert f"{settings} is read-only" in answer.err
    assert everything_below(own_home) == before


def test_a_link_is_followed_to_a_file_of_ones_own(
    run: Run, settings: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dotfile = own_home / "dotfiles/claude.json"
    dotfile.parent.mkdir()
    settings.rename(dotfile)
    settings.symlink_to(dotfile)
    before = dotfile.read_bytes()
    shown = run("init", "--yes").out
    assert f"+++ {dotfile}" in shown
    assert settings.is_symlink()
    assert "nagori-hook" in dotfile.read_text()
    run("uninstall", "--yes")
    assert settings.is_symlink()
    assert dotfile.read_bytes() == before
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert "not yours" in run("init", "--yes").err
    dotfile.unlink()
    assert "not a file" in run("init", "--yes").err


def test_a_file_that_changed_while_somebody_thought_is_not_overwritten(
    run: Run, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def think(_: str, default: bool) -> bool:
        settings.write_text('{"model": "haiku"}')
        return True

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", think)
    answer = run("init")
    assert answer.code == 5
    assert "meanwhile" in answer.err
    assert settings.read_text() == '{"model": "haiku"}'


def test_a_disk_that_fails_leaves_the_old_file(
    run: Run, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    answer = run("init", "--yes")
    assert answer.code == 2
    assert "No space left" in answer.err
    assert settings.read_bytes() == before
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]


def test_windows_line_ends_and_half_characters_survive(run: Run, settings: Path) -> None:
    before = b'{\r\n  "odd": "\\ud800"\r\n}\r\n'
    settings.write_bytes(before)
    run("init", "--yes")
    after = settings.read_bytes()
    assert after.count(b"\n") == after.count(b"\r\n") > 50
    assert json.loads(after)["odd"] == "\ud800"
    run("uninstall", "--yes")
    assert settings.read_bytes() == before


def test_the_plugin_and_the_settings_together_are_one_too_many(run: Run, settings: Path) -> None:
    settings.write_text('{"enabledPlugins": {"nagori@nagori": true}}')
    assert "twice" in run("init", "--yes").out


# ── uninstall ────────────────────────────────────────────────────────────────────────────────────


def test_uninstall_leaves_everything_as_it_was(run: Run, settings: Path, own_home: Path) -> None:
    for folder in (".codex", ".gemini", ".cursor", ".copilot/hooks", ".local/share/nagori"):
        (own_home / folder).mkdir(parents=True)
    (own_home / ".cursor/hooks.json").write_text('{"version": 1, "hooks": {}}')
    (own_home / ".gemini/settings.json").write_text('{"hooks": {"AfterTool": []}}\n')
    before = everything_below(own_home)
    run("init", "--yes")
    assert len(everything_below(own_home)) > len(before) + 5
    answer = run("uninstall", "--yes")
    assert str(own_home / ".local/share/nagori") in answer.out
    assert everything_below(own_home) == before
    again = run("uninstall", "--yes")
    assert again.code == 0
    assert "nothing to do" in again.out


def test_what_others_changed_meanwhile_stays(run: Run, settings: Path) -> None:
    run("init", "--yes")
    changed = json.loads(settings.read_text())
    changed["model"] = "haiku"
    changed["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": "say hello"}]})
    settings.write_text(json.dumps(changed))
    run("uninstall", "--yes")
    assert json.loads(settings.read_text()) == {
        "model": "haiku",
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "say 終"}]}],
            "SessionStart": [{"hooks": [{"type": "command", "command": "say hello"}]}],
        },
        "env": {"KEY": "秘密"},
    }


def test_a_file_that_others_emptied_stays(run: Run, settings: Path) -> None:
    run("init", "--yes")
    left = {"hooks": {"Stop": json.loads(settings.read_text())["hooks"]["Stop"][1:]}}
    settings.write_text(json.dumps(left))
    run("uninstall", "--yes")
    assert settings.read_text() == "{}"


def test_uninstall_asks_too_and_a_dry_run_only_shows(run: Run, settings: Path, own_home: Path) -> None:
    run("init", "--yes")
    before = everything_below(own_home)
    assert run("uninstall").code == 2
    shown = run("uninstall", "--dry-run")
    assert shown.code == 0
    assert "-" in shown.out
    assert everything_below(own_home) == before


def test_settings_that_init_never_wrote_stop_neither_uninstall_nor_the_doctor(
    run: Run, settings: Path, own_home: Path
) -> None:
    before = settings.read_bytes()
    run("init", "--yes")
    gemini = own_home / ".gemini/settings.json"
    gemini.parent.mkdir()
    gemini.write_text("{\n  // mine\n}")
    assert "Gemini" not in run("doctor").out
    refused = run("init", "--yes")
    assert refused.code == 2
    assert "--host claude-code" in refused.err
    answer = run("uninstall", "--yes")
    assert (answer.code, settings.read_bytes()) == (0, before)
    assert f"{gemini}, line 2: This is not JSON" in answer.err
    assert gemini.read_text() == "{\n  // mine\n}"
    assert not (own_home / ".local/share/nagori/bin").exists()


def test_settings_that_init_wrote_and_cannot_be_read_any_more_can_be_left_out(
    run: Run, settings: Path, own_home: Path
) -> None:
    before = settings.read_bytes()
    run("init", "--yes", "--host", "claude-code", "--host", "gemini")
    (own_home / ".gemini/settings.json").write_text("{")
    refused = run("uninstall", "--yes")
    assert refused.code == 2
    assert "--host claude-code" in refused.err
    assert run("uninstall", "--yes", "--host", "claude-code").code == 0
    assert settings.read_bytes() == before


def test_the_launcher_goes_with_the_last_program_that_calls_it(
    run: Run, settings: Path, own_home: Path
) -> None:
    guard = own_home / ".local/share/nagori/bin/nagori-hook"
    run("init", "--host", "claude-code", "--host", "codex", "--yes")
    run("uninstall", "--host", "codex", "--yes")
    assert guard.exists()
    (guard.parent / "used-by.json").write_text("damaged")  # the usual places are looked at anyway
    run("uninstall", "--host", "gemini", "--yes")
    assert guard.exists()
    run("uninstall", "--yes")
    assert not guard.parent.exists()


# ── the launcher ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def guard(run: Run, settings: Path, own_home: Path) -> Path:
    run("init", "--yes")
    return own_home / ".local/share/nagori/bin/nagori-hook"


def call(guard: Path) -> subprocess.CompletedProcess[str]:
    command = [str(guard), "--host", "claude-code"]
    return subprocess.run(command, input="{}", capture_output=True, text=True, env={"HOME": "/"}, timeout=60)


def test_the_launcher_is_its_owners_alone(guard: Path) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [guard.parent, *guard.parent.iterdir()]}
    assert modes == {"bin": 0o700, "nagori-hook": 0o700, "nagori-hook.py": 0o600, "used-by.json": 0o600}


def test_the_launcher_finds_nagori_and_its_libraries_without_site_folders(guard: Path) -> None:
    script = guard.with_name("nagori-hook.py")
    look = "import sys, apsw, nagori\n    assert 'site' not in sys.modules\n    print(sys.argv[1:])"
    script.write_text(script.read_text().replace("from nagori.edges.hooks import run", look))
    done = call(guard)
    assert done.returncode == 0
    assert done.stdout.startswith("['--host', 'claude-code']"), done


@pytest.mark.parametrize("number", [2, 1])
def test_no_exit_code_of_ours_reaches_the_host(guard: Path, number: int) -> None:
    script = guard.with_name("nagori-hook.py")
    script.write_text(script.read_text().replace("from nagori.edges.hooks import run", f"sys.exit({number})"))
    assert call(guard).returncode == 0


@pytest.mark.parametrize("loss", ["package", "script", "python"])
def test_a_lost_environment_is_told_and_stops_nobody(guard: Path, loss: str) -> None:
    script = guard.with_name("nagori-hook.py")
    if loss == "script":
        script.unlink()
    elif loss == "package":
        script.write_text(script.read_text().replace("sys.path += ", "sys.path += [] and "))
    else:
        guard.write_text(guard.read_text().replace(sys.executable, "/gone/python"))
    done = call(guard)
    assert done.returncode == 0
    assert "nagori init" in json.loads(done.stdout)["systemMessage"]


@pytest.mark.parametrize("loss", ["package", "python"])
def test_16_a_lost_environment_is_told_once_a_day_with_commands_that_exist(guard: Path, loss: str) -> None:
    script = guard.with_name("nagori-hook.py")
    if loss == "package":
        script.write_text(script.read_text().replace("sys.path += ", "sys.path += [] and "))
    else:
        guard.write_text(guard.read_text().replace(sys.executable, "/gone/python"))
    first, second = call(guard), call(guard)
    assert (first.returncode, second.returncode) == (0, 0)
    assert "pip install nagori" in first.stdout
    assert "uninstall" not in first.stdout
    assert second.stdout == ""


def test_a_lost_launcher_is_found_by_the_doctor_and_mended_by_init(run: Run, guard: Path) -> None:
    assert "Claude Code" in run("doctor").out
    guard.unlink()
    assert "nagori init" in run("doctor").out
    assert "Wrote the launcher" in run("init").out
    assert guard.exists()


@pytest.mark.parametrize("language", ["en", "ja"])
def test_after_init_the_doctor_finds_the_launcher_and_tries_it(
    run: Run, settings: Path, language: str
) -> None:
    run("--lang", language, "init", "--yes")
    found = {each["name"]: each for each in json.loads(run("doctor", "--json").out)["findings"]}
    assert found["hooks"]["state"] == "ok"
    assert found["rehearsal"]["state"] == "ok", found["rehearsal"]


def test_a_restore_takes_the_launcher_along(run: Run, guard: Path, tmp_path: Path) -> None:
    run("remember", "tea")
    run("backup", tmp_path / "b.tar")
    assert run("restore", tmp_path / "b.tar", "--yes").code == 0
    assert guard.exists()


def test_a_folder_named_on_the_command_line_is_named_to_the_hook(
    run: Run, settings: Path, tmp_path: Path
) -> None:
    run("--data-dir", tmp_path / "my data", "init", "--yes")
    text = (tmp_path / "my data/bin/nagori-hook.py").read_text()
    assert f"'NAGORI_DATA_DIR': '{tmp_path}/my data'" in text
    assert f'"command": "{tmp_path}/my data/bin/nagori-hook"' in settings.read_text()


def test_a_folder_named_in_the_environment_is_named_to_the_hook(
    run: Run, settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAGORI_DATA_DIR", str(tmp_path / "mine"))
    said = run("init", "--yes").out
    assert f"nagori --data-dir {tmp_path}/mine mcp" in said
    monkeypatch.delenv("NAGORI_DATA_DIR")
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "The kettle is blue."}
    subprocess.run(
        [str(tmp_path / "mine/bin/nagori-hook"), "--host", "claude-code"],
        input=json.dumps(prompt),
        text=True,
        capture_output=True,
        env={**os.environ, "NAGORI_HOOKS__WORKER": "false"},
        timeout=60,
        check=True,
    )
    assert list((tmp_path / "mine/hosts").glob("fired-*"))
    assert not (Path(os.environ["HOME"]) / ".local/share/nagori").exists()


def test_on_windows_python_itself_is_called() -> None:
    command = launcher_script.hook_command("codex", Path("C:/data"), "win32")
    assert command[:3] == [sys.executable, "-I", "-S"]
    assert is_ours({"command": shell_line(command, "win32")})


def test_a_package_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidInput, match="no_such_package"):
        launcher_script._folders(["no_such_package"])


# ── the plugin ───────────────────────────────────────────────────────────────────────────────────


def read(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def test_the_plugin_listens_to_what_init_listens_to() -> None:
    claude, hooks = HOSTS["claude-code"], read("plugin/hooks/hooks.json")
    assert hooks["hooks"] == claude.added({}, ["nagori", "hook", "--host", "claude-code"])["hooks"]
    assert claude.removed(hooks) == hooks  # uninstall leaves the plugin alone


def test_the_plugin_and_its_market_have_one_name_and_the_version_of_the_package() -> None:
    from nagori import __version__

    plugin, market = read("plugin/.claude-plugin/plugin.json"), read(".claude-plugin/marketplace.json")
    assert plugin["version"] == __version__
    assert [each["name"] for each in market["plugins"]] == [plugin["name"]] == ["nagori"]
    assert (ROOT / market["plugins"][0]["source"] / ".claude-plugin/plugin.json").is_file()
    assert not (ROOT / "plugin/.mcp.json").exists()  # there is no such server yet


def test_the_skills_call_commands_that_exist(run: Run) -> None:
    for name in ("remember", "recall", "forget"):
        text = (ROOT / f"plugin/skills/{name}/SKILL.md").read_text(encoding="utf-8")
        assert f"\nname: {name}\n" in text
        assert f"nagori {name} --json" in text
    assert run("remember", "--json", "tea at noon").code == 0
    assert run("recall", "--json", "-k", "5", "--", "tea").code == 0
    found = json.loads(run("recall", "--json", "--look", "-k", "5", "--", "tea").out)
    assert run("forget", "--json", found["results"][0]["memory"]["id"]).code == 0


def test_status_fits_on_one_line(run: Run) -> None:
    assert run("status", "--line").out == "nagori 0 memories\n"
    run("remember", "tea", "--protect")
    assert run("status", "--line").out.startswith("nagori 1 memory · 1 protected")
    assert "保護 1" in run("--lang", "ja", "status", "--line").out


def test_a_copy_that_cannot_be_read_is_no_reason_to_fail(run: Run, settings: Path) -> None:
    run("init", "--yes")
    [copy] = settings.parent.glob("*before-nagori*")
    copy.write_text("damaged")
    run("uninstall", "--yes")
    assert not settings_file.removal(HOSTS["claude-code"], settings).needed
    assert json.loads(settings.read_text())["model"] == "opus"
