"""The command `schedule`: run the cycle every night."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nagori.app import Nagori
from nagori.edges import scheduling
from nagori.edges.cli.commands.setup import DryRun, Yes, say_left
from nagori.edges.cli.context import CommandSession, Json, print_json
from nagori.edges.scheduling import ScheduleChange, Scheduler
from nagori.edges.scheduling.formats import Job, hour_in, next_run
from nagori.errors import InvalidInput
from nagori.services.doctor import Finding, make_finding, run_command

LATE = 48.0  # hours after which a scheduled night is missed
COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class Act(StrEnum):
    INSTALL = "install"
    REMOVE = "remove"
    SHOW = "show"


class SchedulerKind(StrEnum):
    SYSTEMD = "systemd"
    CRON = "cron"
    LAUNCHD = "launchd"
    TASK_SCHEDULER = "task-scheduler"


def schedule(
    context: typer.Context,
    act: Annotated[Act, typer.Argument(help="help.schedule.act")],
    kind: Annotated[SchedulerKind | None, typer.Option(help="help.schedule.kind")] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Let this machine's scheduler run the cycle every night, at compression.schedule_hour."""
    session = CommandSession.of(context)
    job = Job((sys.executable, "-m", "nagori", *_options(context, session), "cycle", "--all"), _hour(session))
    every = [make(job, session.folder, os.environ) for make in scheduling.KINDS.values()]
    named = [scheduler for scheduler in every if kind is None or scheduler.kind == kind]
    present = [scheduler for scheduler in named if _is_written(scheduler, asked_for=kind is not None)]
    if act is Act.SHOW:
        _show(session, present, as_json)
    elif act is Act.REMOVE:
        _remove(session, present, yes, dry_run, as_json)
    else:
        usual = kind or (present[0].kind if present else scheduling.usual(os.environ))
        [chosen] = [scheduler for scheduler in named if scheduler.kind == usual]
        _install(session, chosen, yes, dry_run, as_json)


def _is_written(scheduler: Scheduler, asked_for: bool) -> bool:
    """Whether something of ours is there. Who may not use cron has nothing there, unless he asks for cron."""
    try:
        return bool(scheduler.written())
    except InvalidInput:
        if asked_for:
            raise
        return False


def _hour(session: CommandSession) -> int:
    return session.config.compression.schedule_hour


def _options(context: typer.Context, session: CommandSession) -> Iterator[str]:
    """A scheduler knows nothing of this shell: what was said on its command line, or in its environment,
    about where memories are has to be said again. The cycle runs for all users."""
    if session.shell_names_folder:
        yield from ("--data-dir", str(session.folder))
    given = context.parent.params.get("config") if context.parent else None
    config = given or os.environ.get("NAGORI_CONFIG")
    if config:
        yield from ("--config", str(Path(config).expanduser().absolute()))


# ── the three acts ───────────────────────────────────────────────────────────────────────────────


def _install(session: CommandSession, chosen: Scheduler, yes: bool, dry_run: bool, as_json: bool) -> None:
    changes = chosen.addition()
    when = next_run(_hour(session), datetime.now().astimezone())
    if not changes and chosen.in_force():
        if as_json:
            _print_result([chosen.kind], [], changed=False)
        else:
            session.say("cli.scheduled_already", kind=chosen.kind, when=f"{when:%Y-%m-%d %H:%M}")
        return
    if not _confirm_changes(session, [chosen.kind], changes, yes, dry_run, as_json):
        return
    left = scheduling.install(chosen, changes)
    if as_json:
        _print_result([chosen.kind], changes, changed=True, left=left)
        return
    sentence = "cli.scheduled_written" if left else "cli.scheduled"
    session.say(sentence, kind=chosen.kind, when=f"{when:%Y-%m-%d %H:%M}")
    say_left(session, left)


def _remove(
    session: CommandSession, present: list[Scheduler], yes: bool, dry_run: bool, as_json: bool
) -> None:
    planned = [(scheduler, scheduler.removal()) for scheduler in present]
    kinds, changes = [s.kind for s in present], [change for _, each in planned for change in each]
    if not planned:
        if as_json:
            _print_result([], [], changed=False)
        else:
            session.say("cli.not_scheduled")
        return
    if not _confirm_changes(session, kinds, changes, yes, dry_run, as_json):
        return
    left = [command for scheduler, each in planned for command in scheduling.remove(scheduler, each)]
    if as_json:
        _print_result(kinds, changes, changed=True, left=left)
        return
    session.say("cli.unscheduled", kinds=", ".join(kinds))
    say_left(session, left)


def _show(session: CommandSession, present: list[Scheduler], as_json: bool) -> None:
    now = datetime.now().astimezone()
    told = [_scheduler_state(scheduler, now) for scheduler in present]
    if as_json:
        print_json({"schedules": told})
        return
    if not told:
        session.say("cli.not_scheduled")
    for scheduler, each in zip(present, told, strict=True):
        _say_told(session, scheduler, each)


def _say_told(session: CommandSession, scheduler: Scheduler, each: dict[str, Any]) -> None:
    when, last = (str(each[name] or "?").replace("T", " ")[:16] for name in ("next", "last"))
    session.say("cli.scheduled_at" if each["runs"] else "cli.scheduled_idle", kind=scheduler.kind, when=when)
    if each["last"]:
        session.say("cli.scheduled_last", when=last)
    if not each["asked"]:
        session.say("cli.scheduled_unasked", kind=scheduler.kind)
    if not each["runs"]:
        say_left(session, scheduler.start)
    if not each["current"]:
        session.say("cli.scheduled_old")


def _scheduler_state(scheduler: Scheduler, now: datetime) -> dict[str, Any]:
    """What the scheduler says; what is written down where it cannot be asked, or does not say."""
    report, hour = scheduler.ask(), hour_in(scheduler.kind, scheduler.written())
    coming = report.next if report and report.next else next_run(hour, now) if hour is not None else None
    return {
        "kind": scheduler.kind,
        "runs": scheduler.in_force(report),
        "asked": report is not None,
        "current": not scheduler.addition(),
        "hour": hour,
        "next": coming.isoformat() if coming else None,
        "last": report.last.isoformat() if report and report.last else None,
    }


# ── for the doctor ───────────────────────────────────────────────────────────────────────────────


def nights(session: CommandSession, memory: Nagori, called: bool) -> list[Finding]:
    """Whether nights happen: by a scheduler, by the worker of whoever calls us, or by nobody."""
    from nagori.services.cycle import hours_since

    if memory.runtime.journal.is_erased(memory.scope.owner):
        return []  # no cycle is needed
    if stopped := memory.status().stopped_moves:
        look = run_command("nagori cycle --dry-run")
        return [make_finding("nights", "warn", "doctor.nights_stopped", look, n=stopped)]
    hours = hours_since(memory.runtime, memory.scope.owner)
    present = installed_schedulers(session)
    kinds = ", ".join(scheduler.kind for scheduler in present)
    late = hours is not None and hours > LATE
    if present and not any(scheduler.in_force() for scheduler in present):
        return [
            make_finding(
                "nights", "warn", "doctor.nights_off", run_command("nagori schedule show"), kinds=kinds
            )
        ]
    if present:
        who, command = "scheduled", "nagori schedule show" if late else ""
    elif called:
        who, command = "worker", ""
    else:
        who, command = "nobody", "nagori schedule install"
    id = f"doctor.nights_{who}{'' if hours is not None else '_never'}"
    remedy = run_command(command) if command else None
    return [make_finding("nights", "warn" if command else "ok", id, remedy, hours=hours, kinds=kinds)]


def installed_schedulers(session: CommandSession) -> list[Scheduler]:
    """The schedulers in which something of ours is written down, whatever it says."""
    job = Job((sys.executable, "-m", "nagori", "cycle", "--all"), _hour(session))
    every = (make(job, session.folder, os.environ) for make in scheduling.KINDS.values())
    return [scheduler for scheduler in every if _is_written(scheduler, asked_for=False)]


# ── showing and asking ───────────────────────────────────────────────────────────────────────────


def _confirm_changes(
    session: CommandSession,
    kinds: list[str],
    changes: list[ScheduleChange],
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> bool:
    """Show what would be written and ask; where nobody can answer, the answer is no."""
    if not as_json:
        for line in (line for change in changes for line in change.diff()):
            style = COLOURS.get(line[:1], "")
            session.out.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
    if yes and not dry_run:
        return True
    if not dry_run and not as_json and sys.stdin.isatty():
        return session.confirmed(len(changes))
    if as_json:
        _print_result(kinds, changes, changed=False)
    else:
        session.say("cli.dry_run" if dry_run else "cli.needs_yes")
    if not dry_run:
        raise typer.Exit(2)
    return False


def _print_result(
    kinds: list[str],
    changes: Sequence[ScheduleChange],
    *,
    changed: bool,
    left: Sequence[Sequence[str]] = (),
) -> None:
    files = [{"name": change.piece.name, "diff": "\n".join(change.diff())} for change in changes]
    print_json({"changed": changed, "kinds": kinds, "files": files, "run": [*map(list, left)]})
