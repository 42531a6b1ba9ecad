"""Every night by itself: the four texts word by word, and what the command does with them."""

import json
import os
import plistlib
import shlex
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from nagori import Nagori
from nagori.core.events import Event
from nagori.edges import scheduling
from nagori.edges.cli import main
from nagori.edges.cli.commands import schedule as commands
from nagori.edges.scheduling import formats
from nagori.edges.scheduling.formats import Job
from nagori.errors import Conflict, InvalidInput

JOB = Job(("/opt/py/bin/python", "-m", "nagori", "cycle"), 3)
ODD = (
    "/home/あき/my $HOME %h/bin/python",
    "-m",
    "nagori",
    "--data-dir",
    '/a b/"q"/it\'s/100%/$x/\\名残',
    "cycle",
)

SERVICE = """\
# Written by `nagori schedule install`, removed by `nagori schedule remove`.
[Unit]
Description=nagori: memories fade, and are summed up

[Service]
Type=oneshot
Nice=10
ExecStart="/opt/py/bin/python" "-m" "nagori" "cycle"
"""
TIMER = """\
# Written by `nagori schedule install`, removed by `nagori schedule remove`.
[Unit]
Description=nagori: every night, or as soon as the machine is back

[Timer]
OnCalendar=*-*-* 03:00:00
Persistent=true

[Install]
WantedBy=timers.target
"""
PLIST = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by `nagori schedule install`, removed by `nagori schedule remove`. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>nagori.cycle</string>
	<key>ProgramArguments</key>
	<array>
		<string>/opt/py/bin/python</string>
		<string>-m</string>
		<string>nagori</string>
		<string>cycle</string>
	</array>
	<key>StartCalendarInterval</key>
	<dict>
		<key>Hour</key>
		<integer>3</integer>
		<key>Minute</key>
		<integer>0</integer>
	</dict>
	<key>ProcessType</key>
	<string>Background</string>
</dict>
</plist>
"""
LINE = "0 3 * * * /opt/py/bin/python -m nagori cycle >/dev/null  # nagori schedule"


# ── texts ────────────────────────────────────────────────────────────────────────────────────────


def test_the_texts_word_by_word() -> None:
    assert formats.service(JOB) == SERVICE
    assert formats.timer(JOB) == TIMER
    assert formats.plist(JOB) == PLIST
    assert formats.cron_line(JOB) == LINE
    task = formats.task(JOB)
    assert "<StartBoundary>2026-01-01T03:00:00</StartBoundary>" in task
    assert "<StartWhenAvailable>true</StartWhenAvailable>" in task
    assert "<Command>/opt/py/bin/python</Command>" in task
    assert "<Arguments>-m nagori cycle</Arguments>" in task


def test_odd_names_reach_launchd_and_the_task_scheduler_whole() -> None:
    assert plistlib.loads(formats.plist(Job(ODD, 3)).encode())["ProgramArguments"] == list(ODD)
    root = ET.fromstring(formats.task(Job(ODD, 3)).encode("utf-16"))
    namespace = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    assert root.findtext(f".//{namespace}Command") == ODD[0]
    assert root.findtext(f".//{namespace}Arguments") == subprocess.list2cmdline(ODD[1:])


def test_odd_names_reach_a_cron_job_whole(tmp_path: Path) -> None:
    job = Job((sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]), file=sys.stderr)", *ODD), 3)
    line = formats.cron_line(job).removeprefix("0 3 * * * ")
    assert "%" not in line.replace(r"\%", "")
    as_cron_reads_it = line.replace(r"\%", "%")
    done = subprocess.run(["/bin/sh", "-c", as_cron_reads_it], capture_output=True, text=True)
    assert (done.stdout, done.stderr.strip()) == ("", ascii(list(ODD)))


def test_odd_names_are_quoted_for_systemd() -> None:
    line = formats.service(Job(ODD, 3)).splitlines()[-1]
    assert line == (
        'ExecStart="/home/あき/my $HOME %%h/bin/python" "-m" "nagori" "--data-dir" '
        '"/a b/\\"q\\"/it\'s/100%%/$$x/\\\\名残" "cycle"'
    )
    quoted = formats.service(Job(("/it's/python", "-m", "nagori"), 3)).splitlines()[-1]
    assert quoted == 'ExecStart="/usr/bin/env" "/it\'s/python" "-m" "nagori"'


@pytest.mark.skipif(not Path("/usr/bin/systemd-analyze").exists(), reason="systemd itself is not here")
def test_systemd_reads_what_was_meant_for_it(tmp_path: Path) -> None:
    for number, name in enumerate(
        ["plain", "a b", "100%h", "$HOME", "it's", 'say "x"', "back\\slash", "名残"]
    ):
        program = tmp_path / name / "python"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        unit = tmp_path / f"nagori{number}.service"
        unit.write_text(formats.service(Job((str(program), *ODD[1:]), 3)))
        done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
        assert unit.name not in done.stderr, (name, done.stderr)


@pytest.mark.parametrize("bad", ["a\nb", "a\x00b", "a\x7fb", "a\udc80b"])
def test_what_no_format_can_carry_is_refused(bad: str) -> None:
    with pytest.raises(InvalidInput):
        Job(("/python", bad), 3)


def test_a_crontab_keeps_the_lines_of_others() -> None:
    others = "# mine\n@reboot echo 'nagori schedule'\n"
    with_ours = formats.with_cron_line(others, JOB)
    assert with_ours == f"{others}{LINE}\n"
    assert formats.with_cron_line(with_ours, JOB) == with_ours
    moved = formats.with_cron_line(with_ours, Job(JOB.command, 5))
    assert moved.count("cycle") == 1
    assert formats.without_cron_line(moved) == others
    assert formats.without_cron_line(formats.with_cron_line(None, JOB)) is None
    assert formats.with_cron_line("no line end", JOB).startswith("no line end\n0 3 ")


@pytest.mark.parametrize("hour", [0, 3, 17, 23])
def test_the_hour_is_read_back_from_every_text(hour: int) -> None:
    job = Job(JOB.command, hour)
    texts = {
        "systemd": [formats.service(job), formats.timer(job)],
        "cron": [formats.with_cron_line("5 4 * * * other\n", job)],
        "launchd": [formats.plist(job)],
        "task-scheduler": [formats.task(job)],
    }
    assert {formats.hour_in(kind, told) for kind, told in texts.items()} == {hour}
    assert formats.hour_in("cron", ["nothing"]) is None


def test_the_next_run_is_tonight_or_tomorrow() -> None:
    zone = timezone(timedelta(hours=9))
    at = lambda day, hour: datetime(2026, 3, day, hour, 0, tzinfo=zone)  # noqa: E731
    assert formats.next_run(3, at(1, 2)) == at(1, 3)
    assert formats.next_run(3, at(1, 3)) == at(2, 3)
    assert formats.next_run(3, at(1, 22)) == at(2, 3)
    assert formats.next_run(0, datetime(2026, 12, 31, 5, tzinfo=UTC)).isoformat().startswith("2027-01-01T00")


@pytest.mark.parametrize(
    ("platform", "tools", "manager", "kind"),
    [
        ("win32", "", False, "task-scheduler"),
        ("darwin", "crontab", False, "launchd"),
        ("linux", "systemctl crontab", True, "systemd"),
        ("linux", "systemctl crontab", False, "cron"),
        ("linux", "systemctl", False, "systemd"),
        ("freebsd14", "crontab", False, "cron"),
        ("linux", "", False, None),
    ],
)
def test_each_machine_has_its_own_scheduler(
    platform: str, tools: str, manager: bool, kind: str | None
) -> None:
    assert formats.usual(platform, lambda tool: tool in tools.split(), manager) == kind


def test_the_command_offers_every_kind() -> None:
    assert [*commands.SchedulerKind] == [*scheduling.KINDS] == [*formats.HOURS]


# ── doing it ─────────────────────────────────────────────────────────────────────────────────────

CRONTAB = """#!/bin/sh
[ -e "$FAKE/forbidden" ] && { echo "You are not allowed to use this program" >&2; exit 1; }
[ -e "$FAKE/slow" ] && [ "$1" = -l ] && exec sleep 5
case "$1" in
  -l) cat "$FAKE/crontab" 2>/dev/null || { echo "no crontab for me" >&2; exit 1; } ;;
  -r) rm "$FAKE/crontab" ;;
  -)  cat > "$FAKE/crontab" ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$FAKE/systemctl.log"
[ -e "$FAKE/no-bus" ] && { echo "Failed to connect to bus" >&2; exit 1; }
wants="$HOME/.config/systemd/user/timers.target.wants"
case "$2" in
  enable) mkdir -p "$wants" && ln -sf "$HOME/.config/systemd/user/$4" "$wants/$4" ;;
  show) if [ -e "$FAKE/says" ]; then cat "$FAKE/says"
        elif [ -e "$wants/$3" ]; then echo "ActiveState=active"; else echo "ActiveState=inactive"; fi ;;
esac
exit 0
"""
LOGGED = """#!/bin/sh
echo "$@" >> "$FAKE/{name}.log"
"""


class Machine:
    """A home and the schedulers on it, all of them fakes."""

    def __init__(self, home: Path, fake: Path, typed: Callable[..., tuple[int, str, str]]) -> None:
        self.home, self.fake, self.run = home, fake, typed
        self.units = home / ".config/systemd/user"

    @property
    def crontab(self) -> str | None:
        file = self.fake / "crontab"
        return file.read_text() if file.exists() else None

    def files(self) -> set[str]:
        return {str(path.relative_to(self.home)) for path in self.home.rglob("*") if not path.is_dir()}

    def said(self, program: str) -> list[str]:
        """What a program was told; questions are left out."""
        lines = (self.fake / f"{program}.log").read_text().splitlines()
        return [line for line in lines if not line.startswith(("--user show", "print ", "/Query"))]


@pytest.fixture
def machine(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Machine:
    fake, tools = tmp_path / "fake", tmp_path / "bin"
    fake.mkdir()
    tools.mkdir()
    programs = {"crontab": CRONTAB, "systemctl": SYSTEMCTL}
    programs |= {name: LOGGED.format(name=name) for name in ("launchctl", "schtasks")}
    for name, text in programs.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE", str(fake))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run/systemd").mkdir(parents=True)

    def typed(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nagori", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return Machine(own_home, fake, typed)


def test_systemd_is_told_shown_and_left_as_it_was(machine: Machine) -> None:
    before = machine.files()
    code, out, _ = machine.run("schedule", "install", "--yes")
    assert code == 0
    assert "systemd runs the cycle every night" in out
    service, timer = (machine.units / name for name in ("nagori.service", "nagori.timer"))
    assert f'ExecStart="{sys.executable}" "-m" "nagori" "cycle" "--all"' in service.read_text()
    assert timer.read_text() == TIMER
    assert stat.S_IMODE(timer.stat().st_mode) == 0o644
    assert machine.said("systemctl") == ["--user daemon-reload", "--user enable --now nagori.timer"]
    assert " 03:00" in machine.run("schedule", "show")[1]
    assert "nothing to do" in machine.run("schedule", "install", "--yes")[1]
    code, out, _ = machine.run("schedule", "remove", "--yes")
    assert "Removed from systemd" in out
    assert machine.said("systemctl")[2:] == ["--user stop nagori.timer", "--user daemon-reload"]
    assert machine.files() == before
    assert "Nothing is scheduled" in machine.run("schedule", "remove", "--yes")[1]


def test_what_cannot_be_switched_on_is_told(machine: Machine) -> None:
    (machine.fake / "no-bus").touch()
    code, out, _ = machine.run("schedule", "install", "--yes")
    assert code == 0
    assert "could not be switched on" in out
    assert "  systemctl --user enable --now nagori.timer\n" in out
    shown = machine.run("schedule", "show")[1]
    assert "not switched on" in shown
    assert "systemctl --user enable --now nagori.timer" in shown
    (machine.fake / "no-bus").unlink()
    assert "runs the cycle every night" in machine.run("schedule", "install", "--yes")[1]


def test_cron_keeps_the_lines_of_others(machine: Machine) -> None:
    others = "MAILTO=me\n30 4 * * * backup --all # 100\\%\n"
    (machine.fake / "crontab").write_text(others)
    code, out, _ = machine.run("schedule", "install", "--kind", "cron", "--yes")
    assert code == 0
    assert "+0 3 * * * " in out
    command = f"{shlex.quote(sys.executable)} -m nagori cycle --all >/dev/null"
    assert machine.crontab == f"{others}0 3 * * * {command}  # nagori schedule\n"
    assert "nothing to do" in machine.run("schedule", "install", "--kind", "cron", "--yes")[1]
    assert "cron: next" in machine.run("schedule", "show")[1]
    machine.run("schedule", "remove", "--yes")
    assert machine.crontab == others


def test_a_crontab_that_was_not_there_is_gone_again(machine: Machine) -> None:
    machine.run("schedule", "install", "--kind", "cron", "--yes")
    assert machine.crontab is not None
    machine.run("schedule", "remove", "--yes")
    assert machine.crontab is None


def test_a_crontab_that_cannot_be_read_is_never_replaced(machine: Machine) -> None:
    (machine.fake / "crontab").write_text("precious\n")
    (machine.fake / "forbidden").touch()
    code, _, err = machine.run("schedule", "install", "--kind", "cron", "--yes")
    assert code == 2
    assert "not allowed" in err
    assert machine.crontab == "precious\n"
    assert machine.run("schedule", "install", "--kind", "systemd", "--yes")[0] == 0  # others do not care
    assert machine.run("schedule", "show")[0] == 0


def test_a_crontab_that_does_not_answer_is_never_replaced(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.fake / "crontab").write_text("precious\n")
    (machine.fake / "slow").touch()
    monkeypatch.setattr(scheduling, "SECONDS", 0.2)
    code, _, err = machine.run("schedule", "install", "--kind", "cron", "--yes")
    assert (code, machine.crontab) == (2, "precious\n")
    assert "no answer" in err


def test_a_crontab_in_another_encoding_survives(machine: Machine) -> None:
    (machine.fake / "crontab").write_bytes(b"# caf\xe9\n")
    assert machine.run("schedule", "install", "--kind", "cron", "--yes")[0] == 0
    machine.run("schedule", "remove", "--yes")
    assert (machine.fake / "crontab").read_bytes() == b"# caf\xe9\n"


def test_launchd_and_the_task_scheduler_are_told_too(machine: Machine) -> None:
    machine.run("schedule", "install", "--kind", "launchd", "--yes")
    path = machine.home / "Library/LaunchAgents/nagori.cycle.plist"
    assert plistlib.loads(path.read_bytes())["ProgramArguments"][1:] == [
        "-m",
        "nagori",
        "cycle",
        "--all",
    ]
    assert machine.said("launchctl") == [f"bootstrap gui/{os.getuid()} {path}"]
    machine.run("schedule", "install", "--kind", "task-scheduler", "--yes")
    [file] = machine.home.rglob("schedule.xml")
    assert "<Task " in file.read_text("utf-16")
    assert machine.said("schtasks") == [f"/Create /TN nagori /XML {file} /F"]
    told = json.loads(machine.run("schedule", "show", "--json")[1])["schedules"]
    assert [(each["kind"], each["hour"], each["current"]) for each in told] == [
        ("launchd", 3, True),
        ("task-scheduler", 3, True),
    ]
    code, out, _ = machine.run("schedule", "remove", "--yes")
    assert code == 0
    assert "Removed from launchd, task-scheduler" in out
    assert not path.exists()
    assert not file.exists()
    assert machine.said("schtasks")[-1] == "/Delete /TN nagori /F"


def test_another_hour_and_another_folder_are_written_anew(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine.run("schedule", "install", "--yes")
    monkeypatch.setenv("NAGORI_COMPRESSION__SCHEDULE_HOUR", "17")
    assert "differs from the settings" in machine.run("schedule", "show")[1]
    folder = tmp_path / "私の 記憶"
    (tmp_path / "c.toml").write_text("")
    chosen = ("--data-dir", folder, "--config", tmp_path / "c.toml", "--user", "aki")
    machine.run(*chosen, "schedule", "install", "--yes")
    assert "17:00:00" in (machine.units / "nagori.timer").read_text()
    command = (machine.units / "nagori.service").read_text().splitlines()[-1]
    assert command.endswith(f'"--data-dir" "{folder}" "--config" "{tmp_path / "c.toml"}" "cycle" "--all"')
    assert "--user stop nagori.timer" in machine.said("systemctl")  # so that the new hour counts


def test_nothing_is_written_unasked(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine.files()
    code, out, _ = machine.run("schedule", "install")
    assert code == 2
    assert "+OnCalendar=*-*-* 03:00:00" in out
    assert machine.run("schedule", "install", "--dry-run", "--yes")[0] == 0
    told = json.loads(machine.run("schedule", "install", "--dry-run", "--json")[1])
    assert (told["changed"], told["kinds"], len(told["files"])) == (False, ["systemd"], 2)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert machine.run("schedule", "install")[0] == 2
    assert machine.files() == before
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    assert machine.run("schedule", "install")[0] == 0
    assert json.loads(machine.run("schedule", "remove", "--yes", "--json")[1])["changed"] is True
    assert json.loads(machine.run("schedule", "remove", "--yes", "--json")[1])["changed"] is False


def test_a_file_of_somebody_else_is_left_alone(machine: Machine) -> None:
    machine.units.mkdir(parents=True)
    (machine.units / "nagori.service").write_text("[Unit]\nDescription=mine\n")
    code, _, err = machine.run("schedule", "install", "--yes")
    assert code == 2
    assert "was not written by nagori" in err
    assert "Nothing is scheduled" in machine.run("schedule", "remove", "--yes")[1]
    assert (machine.units / "nagori.service").read_text() == "[Unit]\nDescription=mine\n"


def test_a_machine_without_any_scheduler_says_so(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(machine.home))
    code, _, err = machine.run("--lang", "ja", "schedule", "install", "--yes")
    assert code == 2
    assert "systemd も cron も使えません" in err


def test_a_change_that_somebody_else_makes_meanwhile_is_not_lost(machine: Machine) -> None:
    cron = scheduling.cron(JOB, machine.home, os.environ)
    changes = cron.addition()
    (machine.fake / "crontab").write_text("just now\n")
    with pytest.raises(Conflict):
        scheduling.install(cron, changes)
    assert machine.crontab == "just now\n"


def test_the_words_are_japanese_too(machine: Machine) -> None:
    assert "毎晩サイクルを実行します" in machine.run("--lang", "ja", "schedule", "install", "--yes")[1]
    assert "次回" in machine.run("--lang", "ja", "schedule", "show")[1]


# ── what the scheduler says ──────────────────────────────────────────────────────────────────────


def test_the_schedulers_word_counts_more_than_the_file(machine: Machine) -> None:
    machine.run("schedule", "install", "--yes")
    (machine.fake / "says").write_text(
        "ActiveState=active\nNextElapseUSecRealtime=Sun 2031-03-02 04:30:00 UTC\n"
        "LastTriggerUSec=Sat 2031-03-01 04:30:07 UTC\n"
    )
    [told] = json.loads(machine.run("schedule", "show", "--json")[1])["schedules"]
    assert (told["runs"], told["asked"]) == (True, True)
    assert datetime.fromisoformat(told["next"]) == datetime(2031, 3, 2, 4, 30, tzinfo=UTC)
    assert datetime.fromisoformat(told["last"]) == datetime(2031, 3, 1, 4, 30, 7, tzinfo=UTC)
    assert "Last run: 2031-03-01" in machine.run("schedule", "show")[1]
    (machine.fake / "says").write_text("ActiveState=inactive\nNextElapseUSecRealtime=\nLastTriggerUSec=n/a\n")
    assert "not switched on" in machine.run("schedule", "show")[1]
    (machine.fake / "says").unlink()


def test_where_the_scheduler_cannot_be_asked_that_is_said(machine: Machine) -> None:
    machine.run("schedule", "install", "--yes")
    (machine.fake / "no-bus").touch()
    assert "systemd itself could not be asked" in machine.run("schedule", "show")[1]
    (machine.fake / "no-bus").unlink()
    (machine.fake / "says").write_text("strange words\n")
    assert "確認できません" in machine.run("--lang", "ja", "schedule", "show")[1]


@pytest.mark.parametrize("said", ["", "n/a", "tomorrow"])
def test_a_time_that_systemd_does_not_have_is_none(said: str) -> None:
    assert formats.systemd_time(said) is None


def test_systemd_tells_local_times_by_the_name_of_their_zone() -> None:
    assert formats.systemd_time("Mon 2026-11-16 03:00:00 JST") == datetime(2026, 11, 16, 3).astimezone()


# ── leaving ──────────────────────────────────────────────────────────────────────────────────────


def test_uninstall_takes_the_schedule_back_too(machine: Machine) -> None:
    before = machine.files()
    machine.run("schedule", "install", "--yes")
    code, out, _ = machine.run("uninstall")
    assert code == 2
    assert "-OnCalendar=*-*-* 03:00:00" in out
    assert "OnCalendar" in machine.run("uninstall", "--dry-run")[1]
    told = json.loads(machine.run("uninstall", "--dry-run", "--json")[1])
    assert (told["changed"], [each["kind"] for each in told["schedules"]]) == (False, ["systemd"])
    assert (machine.units / "nagori.timer").exists()
    code, out, _ = machine.run("uninstall", "--yes")
    assert code == 0
    assert "Removed from systemd" in out
    assert machine.files() == before
    assert "No program calls nagori" in machine.run("uninstall", "--yes")[1]


def test_uninstall_leaves_the_nights_of_other_memories_and_of_those_who_leave_one_program(
    machine: Machine, tmp_path: Path
) -> None:
    machine.run("schedule", "install", "--yes")
    machine.run("--data-dir", tmp_path / "others", "uninstall", "--yes")
    machine.run("uninstall", "--host", "codex", "--yes")
    assert (machine.units / "nagori.timer").exists()
    machine.run("--data-dir", tmp_path / "others", "schedule", "install", "--yes")
    machine.run("uninstall", "--yes")
    assert (machine.units / "nagori.timer").exists()
    assert machine.run("--data-dir", tmp_path / "others", "uninstall", "--yes")[0] == 0
    assert not (machine.units / "nagori.timer").exists()


# ── do nights happen? ────────────────────────────────────────────────────────────────────────────


def nights(machine: Machine, *options: object) -> tuple[str, str, str]:
    told = json.loads(machine.run(*options, "doctor", "--json")[1])["findings"]
    [one] = [each for each in told if each["name"] == "nights"]
    return one["state"], one["detail"], one["advice"]


def test_the_doctor_says_whether_nights_happen(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    machine.run("remember", "tea")
    nobody = ("warn", "Nothing is set up to run the cycle, and it has never run.", "nagori schedule install")
    assert nights(machine) == nobody
    machine.run("cycle")
    assert nights(machine)[1] == "Nothing is set up to run the cycle. It last ran 0 hours ago."
    machine.run("schedule", "install", "--yes")
    assert nights(machine) == ("ok", "systemd runs the cycle every night. The last one was 0 hours ago.", "")
    long_ago = Event("cycle_finished", datetime.now(UTC) - timedelta(hours=100))
    [folder] = [path.parent for path in machine.home.rglob("nagori.db")]
    with Nagori.open(folder) as memory:
        memory.runtime.ledger.write(memory.scope.owner, lambda: [long_ago])
    late = "systemd runs the cycle every night. The last one was 100 hours ago."
    assert nights(machine) == ("warn", late, "nagori schedule show")
    (machine.fake / "says").write_text("ActiveState=inactive\n")
    assert nights(machine)[:2] == ("warn", "systemd has the cycle written down, but it is not switched on.")


def test_the_doctor_speaks_japanese(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    machine.run("remember", "tea")
    out = machine.run("--lang", "ja", "doctor")[1]
    for words in ("ジャーナル", "すべて正常", "毎晩のサイクル", "一度も実行されていません", "空き", "時計"):
        assert words in out
    assert "sound" not in out


# ── costs and thumbs, as typed ───────────────────────────────────────────────────────────────────


def test_costs_are_told_for_what_is_configured(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    out = machine.run("cost")[1]
    assert "This assumes 100.0 a day of 2,200 characters" in out
    assert "Your settings cost nothing" in out
    assert "$322" in out
    monkeypatch.setenv("NAGORI_LLM__PROVIDER", "anthropic")
    monkeypatch.setenv("NAGORI_LLM__MODEL", "claude-haiku-4-5")
    assert "claude-haiku-4-5: $26.85 a month, $322 a year, $0.0088 a memory" in machine.run("cost")[1]
    assert "daily_cap_usd" in machine.run("cost", "--per-day", 1000)[1]
    monkeypatch.setenv("NAGORI_LLM__MODEL", "mystery-9")
    out = machine.run("cost")[1]
    assert "The price of mystery-9 is not known" in out
    assert "cost nothing" not in out
    told = json.loads(machine.run("cost", "--per-day", 0, "--json")[1])
    assert told["configured"] == {"models": [], "unknown": ["mystery-9"]}
    assert {each["year"] for each in told["models"]} == {0}
    assert told["usage"]["own"] is False


def test_a_thumb_is_told_in_words(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    id = json.loads(machine.run("remember", "tea", "--json")[1])["memory"]["id"]
    assert "from 80 to 90" in machine.run("feedback", "up", id)[1]
    assert "rated today already" in machine.run("feedback", "down", id)[1]
    assert "高評価" in machine.run("--lang", "ja", "why", id)[1]
    dear = json.loads(machine.run("remember", "dear", "--intensity", "100", "--json")[1])["memory"]["id"]
    assert "cannot go further" in machine.run("feedback", "up", dear)[1]
    assert machine.run("feedback", "sideways", id)[0] == 2
