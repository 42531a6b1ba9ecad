"""Install, show and remove the daily cycle in the machine's own scheduler.

A scheduler reads texts (`Piece`): files of the user, or the crontab. Some also need a command (`start`,
`stop`); if it fails, the person is shown what to run.
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from nagori.core.value_object import Value, default_factory
from nagori.edges.hosts.settings_file import replace_file
from nagori.edges.scheduling import formats
from nagori.edges.scheduling.formats import LABEL, MARK, Job
from nagori.errors import Conflict, InvalidInput
from nagori.files import private_dir

READABLE = 0o644
SECONDS = 30
UNIT = "nagori"
TIMER_SAYS = ("ActiveState", "NextElapseUSecRealtime", "LastTriggerUSec")
Command = list[str]


class Piece(Value):
    """One text that a scheduler reads, without our part and with it. None: it does not exist."""

    name: str
    read: Callable[[], str | None]
    write: Callable[[str | None], None]
    added: Callable[[str | None], str]
    removed: Callable[[str | None], str | None]


class ScheduleChange(Value):
    """The change of one piece."""

    piece: Piece
    before: str | None
    after: str | None

    def diff(self) -> list[str]:
        """The change as a diff; invalid Unicode in other lines cannot be shown."""
        before, after = (
            (text or "").encode("utf-8", "replace").decode().splitlines()
            for text in (self.before, self.after)
        )
        return list(difflib.unified_diff(before, after, self.piece.name, self.piece.name, lineterm="", n=1))


class Report(Value):
    """The scheduler's own report about our job."""

    runs: bool
    next: datetime | None = None
    last: datetime | None = None


class Scheduler(Value):
    """One kind of scheduler, with the files and commands of a job."""

    kind: str
    pieces: Sequence[Piece]
    start: Sequence[Command] = ()
    stop: Sequence[Command] = ()
    reload: Sequence[Command] = ()  # after removal; a failure does no harm
    links: Sequence[Path] = ()  # links that `start` creates and `remove` deletes
    linked: Callable[[], bool] = default_factory(lambda: lambda: True)  # whether the files show an active job
    ask: Callable[[], Report | None] = default_factory(lambda: lambda: None)  # None: no report available

    def in_force(self, report: Report | None = None) -> bool:
        """Whether the job is active: the scheduler's own report, or else the files."""
        report = report or self.ask()
        return report.runs if report else self.linked()

    def written(self) -> list[str]:
        """The texts of ours that exist."""
        texts = [(piece.read(), piece) for piece in self.pieces]
        return [text for text, piece in texts if text is not None and piece.removed(text) != text]

    def addition(self) -> list[ScheduleChange]:
        return self._changes(lambda piece, before: piece.added(before))

    def removal(self) -> list[ScheduleChange]:
        return self._changes(lambda piece, before: piece.removed(before))

    def _changes(self, after: Callable[[Piece, str | None], str | None]) -> list[ScheduleChange]:
        now = [(piece, piece.read()) for piece in self.pieces]
        changes = [ScheduleChange(piece, before, after(piece, before)) for piece, before in now]
        return [change for change in changes if change.before != change.after]


def install(scheduler: Scheduler, changes: Sequence[ScheduleChange]) -> list[Command]:
    """Write all texts and start the job; returns commands to run by hand."""
    if any(change.before is not None for change in changes):
        _in_vain(scheduler.stop)  # stop the job with the old text first
    _apply(changes)
    return _in_vain(scheduler.start)


def remove(scheduler: Scheduler, changes: Sequence[ScheduleChange]) -> list[Command]:
    """Stop the job and remove all texts; returns commands to run by hand."""
    vain = _in_vain(scheduler.stop)
    _apply(changes)
    for path in scheduler.links:
        if path.is_symlink():
            path.unlink()
            with suppress(OSError):  # the folder may hold other timers
                path.parent.rmdir()
    _in_vain(scheduler.reload)
    return vain


def _apply(changes: Sequence[ScheduleChange]) -> None:
    for change in changes:
        if change.piece.read() != change.before:
            raise Conflict("error.file_changed", path=change.piece.name)
        change.piece.write(change.after)


# ── the four ─────────────────────────────────────────────────────────────────────────────────────


def systemd(job: Job, data: Path, env: Mapping[str, str]) -> Scheduler:
    folder = _config_home(env) / "systemd/user"
    wants = folder / f"timers.target.wants/{UNIT}.timer"
    control = ["systemctl", "--user"]
    return Scheduler(
        "systemd",
        [
            _file(folder / f"{UNIT}.service", formats.service(job)),
            _file(folder / f"{UNIT}.timer", formats.timer(job)),
        ],
        start=[[*control, "daemon-reload"], [*control, "enable", "--now", f"{UNIT}.timer"]],
        stop=[[*control, "stop", f"{UNIT}.timer"]],
        reload=[[*control, "daemon-reload"]],
        links=[wants],
        linked=wants.is_symlink,
        ask=lambda: _asked_systemd([*control, "show", f"{UNIT}.timer", f"--property={','.join(TIMER_SAYS)}"]),
    )


def launchd(job: Job, data: Path, env: Mapping[str, str]) -> Scheduler:
    path = _home(env) / "Library/LaunchAgents" / f"{LABEL}.plist"
    domain = f"gui/{os.getuid() if hasattr(os, 'getuid') else 0}"
    return Scheduler(
        "launchd",
        [_file(path, formats.plist(job))],
        start=[["launchctl", "bootstrap", domain, str(path)]],
        stop=[["launchctl", "bootout", f"{domain}/{LABEL}"]],
        ask=lambda: _job_report(["launchctl", "print", f"{domain}/{LABEL}"]),
    )


def task_scheduler(job: Job, data: Path, env: Mapping[str, str]) -> Scheduler:
    """The task is created from a file that stays in the data folder, so that its content is known."""
    path, task = data / "schedule.xml", ["/TN", UNIT]
    return Scheduler(
        "task-scheduler",
        [_file(path, formats.task(job), "utf-16")],
        start=[["schtasks", "/Create", *task, "/XML", str(path), "/F"]],
        stop=[["schtasks", "/Delete", *task, "/F"]],
        ask=lambda: _job_report(["schtasks", "/Query", *task]),
    )


def cron(job: Job, data: Path, env: Mapping[str, str]) -> Scheduler:
    table = Piece(
        "crontab",
        read=_read_crontab,
        write=_write_crontab,
        added=lambda before: formats.with_cron_line(before, job),
        removed=formats.without_cron_line,
    )
    return Scheduler("cron", [table])


KINDS: dict[str, Callable[[Job, Path, Mapping[str, str]], Scheduler]] = {
    "systemd": systemd,
    "cron": cron,
    "launchd": launchd,
    "task-scheduler": task_scheduler,
}


def usual(env: Mapping[str, str]) -> str:
    """The scheduler of this machine."""
    runtime = env.get("XDG_RUNTIME_DIR", "")
    manager = bool(runtime) and (Path(runtime) / "systemd").is_dir()
    kind = formats.usual(sys.platform, lambda tool: shutil.which(tool) is not None, manager)
    if kind is None:
        raise InvalidInput("kind", "error.no_scheduler", choices=", ".join(KINDS))
    return kind


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def _file(path: Path, text: str, encoding: str = "utf-8") -> Piece:
    """A file of ours; a foreign file with the same name is left alone."""

    def read() -> str | None:
        try:
            return path.read_bytes().decode(encoding, "replace") if path.exists() else None
        except (OSError, UnicodeError) as fault:
            raise InvalidInput("path", "error.file", path=path, reason=str(fault)) from fault

    def write(after: str | None) -> None:
        if after is None:
            path.unlink(missing_ok=True)
        else:
            private_dir(path.parent)
            replace_file(path, after.encode(encoding), READABLE)

    def added(before: str | None) -> str:
        if before is not None and MARK not in before:
            raise InvalidInput("path", "error.file_not_ours", path=path)
        return text

    return Piece(str(path), read, write, added, lambda before: None if before and MARK in before else before)


def _config_home(env: Mapping[str, str]) -> Path:
    chosen = Path(env.get("XDG_CONFIG_HOME", ""))
    return chosen if chosen.is_absolute() else _home(env) / ".config"


def _home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()


# ── programs ─────────────────────────────────────────────────────────────────────────────────────


def _read_crontab() -> str | None:
    """The user's crontab. It counts as empty only if cron says so, because it may be replaced next."""
    if shutil.which("crontab") is None:
        return None
    done = _run(["crontab", "-l"])
    if done is not None and done.returncode == 0:
        return done.stdout.decode("utf-8", "surrogateescape") or None
    trouble = done.stderr.decode("utf-8", "replace").strip() if done else "no answer"
    if "no crontab" in trouble:
        return None
    raise InvalidInput("crontab", "error.file", path="crontab -l", reason=trouble)


def _write_crontab(text: str | None) -> None:
    command = ["crontab", "-r"] if text is None else ["crontab", "-"]
    done = _run(command, (text or "").encode("utf-8", "surrogateescape"))
    if done is None or done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip() if done else "no answer"
        raise InvalidInput("crontab", "error.file", path=" ".join(command), reason=reason)


def _asked_systemd(command: Command) -> Report | None:
    """The timer's state by systemd; None without a user manager."""
    done = _run(command)
    if done is None or done.returncode != 0:
        return None
    said = dict(line.partition("=")[::2] for line in done.stdout.decode("utf-8", "replace").splitlines())
    if TIMER_SAYS[0] not in said:
        return None
    active, coming, last = (said.get(name, "") for name in TIMER_SAYS)
    return Report(active == "active", formats.systemd_time(coming), formats.systemd_time(last))


def _job_report(command: Command) -> Report | None:
    """Whether a scheduler knows the job; its times cannot be parsed on every system."""
    done = _run(command)
    return None if done is None else Report(done.returncode == 0)


def _in_vain(commands: Sequence[Command]) -> list[Command]:
    """Run each command; returns those that failed."""
    ended = [(command, _run(command)) for command in commands]
    return [command for command, done in ended if done is None or done.returncode != 0]


def _run(command: Command, text: bytes = b"") -> subprocess.CompletedProcess[bytes] | None:
    """Run a program in English, without a shell; None if it does not exist."""
    program = shutil.which(command[0])
    if program is None:
        return None
    try:
        return subprocess.run(  # noqa: S603 - words of our own
            [program, *command[1:]],
            input=text,
            capture_output=True,
            timeout=SECONDS,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
