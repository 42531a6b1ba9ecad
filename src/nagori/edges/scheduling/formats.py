"""The texts for each scheduler: systemd, cron, launchd, Task Scheduler. Nothing is written here.

Every text contains `MARK`, which identifies it as ours. Names may contain spaces, quotes, percent signs and
any script; control characters are refused, because not all formats support them.
"""

from __future__ import annotations

import plistlib
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from xml.sax.saxutils import escape

from nagori.core.value_object import Value
from nagori.errors import InvalidInput

MARK = "nagori schedule"
NOTE = f"Written by `{MARK} install`, removed by `{MARK} remove`."
LABEL = "nagori.cycle"  # launchd's name of the job

SERVICE = """\
# {note}
[Unit]
Description=nagori: memories fade, and are summed up

[Service]
Type=oneshot
Nice=10
ExecStart={command}
"""
TIMER = """\
# {note}
[Unit]
Description=nagori: every night, or as soon as the machine is back

[Timer]
OnCalendar=*-*-* {hour:02}:00:00
Persistent=true

[Install]
WantedBy=timers.target
"""
TASK = """\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>{note}</Description>
  </RegistrationInfo>
  <Triggers>
    <CalendarTrigger>
      <StartBoundary>2026-01-01T{hour:02}:00:00</StartBoundary>
      <ScheduleByDay>
        <DaysInterval>1</DaysInterval>
      </ScheduleByDay>
    </CalendarTrigger>
  </Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
  </Settings>
  <Actions>
    <Exec>
      <Command>{program}</Command>
      <Arguments>{arguments}</Arguments>
    </Exec>
  </Actions>
</Task>
"""
_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # includes surrogates
HOURS = {
    "systemd": re.compile(r"^OnCalendar=\*-\*-\* (\d\d):00:00$", re.MULTILINE),
    "cron": re.compile(rf"^0 (\d+) \* \* \* .*# {MARK}$", re.MULTILINE),
    "launchd": re.compile(r"<key>Hour</key>\s*<integer>(\d+)</integer>"),
    "task-scheduler": re.compile(r"<StartBoundary>[^T]*T(\d\d):"),
}


class Job(Value):
    """The command to run every day, and the local hour."""

    command: tuple[str, ...]
    hour: int

    def __post_init__(self) -> None:
        if any(_UNWRITABLE.search(part) for part in self.command):
            raise InvalidInput("path", "error.control_characters")


# ── systemd ──────────────────────────────────────────────────────────────────────────────────────


def service(job: Job) -> str:
    program, *arguments = job.command
    if set(program) & set("\"'\\"):  # systemd refuses such a program name, but not such an argument
        program, arguments = "/usr/bin/env", list(job.command)
    words = [_quoted_for_systemd(program), *(_quoted_for_systemd(a).replace("$", "$$") for a in arguments)]
    return SERVICE.format(note=NOTE, command=" ".join(words))


def timer(job: Job) -> str:
    """Persistent: a missed run is made up for."""
    return TIMER.format(note=NOTE, hour=job.hour)


def _quoted_for_systemd(word: str) -> str:
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{word}"'


# ── cron ─────────────────────────────────────────────────────────────────────────────────────────


def cron_line(job: Job) -> str:
    """One line, marked at its end. Cron turns a bare % into a line feed, even between quotes."""
    command = shlex.join(job.command).replace("%", r"\%")
    return f"0 {job.hour} * * * {command} >/dev/null  # {MARK}"


def with_cron_line(crontab: str | None, job: Job) -> str:
    """A crontab with our line, once; other lines stay as they are."""
    others = without_cron_line(crontab) or ""
    if others and not others.endswith("\n"):
        others += "\n"
    return f"{others}{cron_line(job)}\n"


def without_cron_line(crontab: str | None) -> str | None:
    """A crontab without our line; None when nothing else is left."""
    lines = (crontab or "").splitlines(keepends=True)
    return "".join(line for line in lines if not line.rstrip().endswith(f"# {MARK}")) or None


# ── launchd, Task Scheduler ──────────────────────────────────────────────────────────────────────


def plist(job: Job) -> str:
    """launchd makes up for runs missed during sleep."""
    told = {
        "Label": LABEL,
        "ProgramArguments": list(job.command),
        "StartCalendarInterval": {"Hour": job.hour, "Minute": 0},
        "ProcessType": "Background",
    }
    head, doctype, rest = plistlib.dumps(told, sort_keys=False).decode().partition("<plist ")
    return f"{head}<!-- {NOTE} -->\n{doctype}{rest}"


def task(job: Job) -> str:
    """StartWhenAvailable: a missed run is made up for. To be written as UTF-16."""
    program, *arguments = job.command
    told = escape(subprocess.list2cmdline(arguments))
    return TASK.format(note=NOTE, hour=job.hour, program=escape(program), arguments=told)


# ── when ─────────────────────────────────────────────────────────────────────────────────────────


def hour_in(kind: str, texts: Sequence[str]) -> int | None:
    """The hour in an installed text."""
    found = (HOURS[kind].search(text) for text in texts)
    return next((int(match[1]) for match in found if match), None)


def next_run(hour: int, now: datetime) -> datetime:
    """The next time it is `hour` o'clock, in the zone of `now`."""
    today = datetime.combine(now, time(hour), now.tzinfo)
    return today if today > now else today + timedelta(days=1)


def systemd_time(said: str) -> datetime | None:
    """A time as systemd prints it in English, in this machine's zone or UTC; None if there is none."""
    match = re.search(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)( UTC)?", said)
    if match is None:
        return None
    moment = datetime.fromisoformat(match[1])
    return (moment.replace(tzinfo=UTC) if match[2] else moment).astimezone()


def usual(platform: str, has: Callable[[str], bool], user_manager: bool) -> str | None:
    """The scheduler of this machine: systemd if it runs for the user, else cron; None if there is neither."""
    if platform == "win32":
        return "task-scheduler"
    if platform == "darwin":
        return "launchd"
    if has("systemctl") and (user_manager or not has("crontab")):
        return "systemd"
    return "cron" if has("crontab") else None
