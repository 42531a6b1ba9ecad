"""Every night by itself: `schedule`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nagori.core.model import Scope
from nagori.edges import timetable
from nagori.edges.commands.install import DryRun, Yes
from nagori.edges.schedule import Job, hour_in, next_run
from nagori.edges.session import Json, Session, print_json
from nagori.edges.timetable import Change, Scheduler
from nagori.errors import InvalidInput

COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class Act(StrEnum):
    INSTALL = "install"
    REMOVE = "remove"
    SHOW = "show"


class Kind(StrEnum):
    SYSTEMD = "systemd"
    CRON = "cron"
    LAUNCHD = "launchd"
    TASK_SCHEDULER = "task-scheduler"


def schedule(
    context: typer.Context,
    act: Annotated[Act, typer.Argument(help="Begin it, end it, or only look.")],
    kind: Annotated[Kind | None, typer.Option(help="Which scheduler; default: this machine's own.")] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Let this machine's scheduler run the cycle every night, at compression.schedule_hour."""
    session = Session.of(context)
    job = Job((sys.executable, "-m", "nagori", *_options(context, session), "cycle"), _hour(session))
    every = [make(job, session.folder, os.environ) for make in timetable.KINDS.values()]
    named = [scheduler for scheduler in every if kind is None or scheduler.kind == kind]
    present = [scheduler for scheduler in named if _is_written(scheduler, asked_for=kind is not None)]
    if act is Act.SHOW:
        _show(session, present, as_json)
    elif act is Act.REMOVE:
        _remove(session, present, yes, dry_run, as_json)
    else:
        usual = kind or (present[0].kind if present else timetable.usual(os.environ))
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


def _hour(session: Session) -> int:
    return session.config.compression.schedule_hour


def _options(context: typer.Context, session: Session) -> Iterator[str]:
    """A scheduler knows nothing of this shell: what was said on its command line, or in its environment,
    about whose memories are where has to be said again."""
    if session.data_dir or any(os.environ.get(name) for name in ("NAGORI_DATA_DIR", "XDG_DATA_HOME")):
        yield from ("--data-dir", str(session.folder))
    given = context.parent.params.get("config") if context.parent else None
    config = given or os.environ.get("NAGORI_CONFIG")
    if config:
        yield from ("--config", str(Path(config).expanduser().absolute()))
    for name in ("user", "tenant"):
        value = getattr(session.scope, name)
        if value != getattr(Scope(), name):
            yield from (f"--{name}", value)


# ── the three acts ───────────────────────────────────────────────────────────────────────────────


def _install(session: Session, chosen: Scheduler, yes: bool, dry_run: bool, as_json: bool) -> None:
    changes = chosen.addition()
    when = next_run(_hour(session), datetime.now().astimezone())
    if not changes and chosen.runs():
        if as_json:
            _print_result([chosen.kind], [], changed=False)
        else:
            session.say("scheduled_already", kind=chosen.kind, when=f"{when:%Y-%m-%d %H:%M}")
        return
    if not _agreed(session, [chosen.kind], changes, yes, dry_run, as_json):
        return
    left = timetable.install(chosen, changes)
    if as_json:
        _print_result([chosen.kind], changes, changed=True, left=left)
        return
    sentence = "scheduled_written" if left else "scheduled"
    session.say(sentence, kind=chosen.kind, when=f"{when:%Y-%m-%d %H:%M}")
    _say_left(session, left)


def _remove(session: Session, present: list[Scheduler], yes: bool, dry_run: bool, as_json: bool) -> None:
    planned = [(scheduler, scheduler.removal()) for scheduler in present]
    kinds, changes = [s.kind for s in present], [change for _, each in planned for change in each]
    if not planned:
        if as_json:
            _print_result([], [], changed=False)
        else:
            session.say("not_scheduled")
        return
    if not _agreed(session, kinds, changes, yes, dry_run, as_json):
        return
    left = [command for scheduler, each in planned for command in timetable.remove(scheduler, each)]
    if as_json:
        _print_result(kinds, changes, changed=True, left=left)
        return
    session.say("unscheduled", kinds=", ".join(kinds))
    _say_left(session, left)


def _show(session: Session, present: list[Scheduler], as_json: bool) -> None:
    now = datetime.now().astimezone()
    told = [_told(scheduler, now) for scheduler in present]
    if as_json:
        print_json({"schedules": told})
        return
    if not told:
        session.say("not_scheduled")
    for scheduler, each in zip(present, told, strict=True):
        when = str(each["next"] or "?").replace("T", " ")[:16]
        session.say("scheduled_at" if each["runs"] else "scheduled_idle", kind=scheduler.kind, when=when)
        if not each["runs"]:
            _say_left(session, scheduler.start)
        if not each["current"]:
            session.say("scheduled_old")


def _told(scheduler: Scheduler, now: datetime) -> dict[str, object]:
    hour = hour_in(scheduler.kind, scheduler.written())
    return {
        "kind": scheduler.kind,
        "runs": scheduler.runs(),
        "current": not scheduler.addition(),
        "hour": hour,
        "next": next_run(hour, now).isoformat() if hour is not None else None,
    }


# ── showing and asking ───────────────────────────────────────────────────────────────────────────


def _agreed(
    session: Session, kinds: list[str], changes: list[Change], yes: bool, dry_run: bool, as_json: bool
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
        session.say("dry" if dry_run else "needs_yes")
    if not dry_run:
        raise typer.Exit(2)
    return False


def _say_left(session: Session, commands: Sequence[Sequence[str]]) -> None:
    """What the person has to run; on one line each, because people copy it."""
    if commands:
        session.say("run_yourself")
    for command in commands:
        session.out.print(f"  {shlex.join(command)}", markup=False, highlight=False, soft_wrap=True)


def _print_result(
    kinds: list[str],
    changes: Sequence[Change],
    *,
    changed: bool,
    left: Sequence[Sequence[str]] = (),
) -> None:
    files = [{"name": change.piece.name, "diff": "\n".join(change.diff())} for change in changes]
    print_json({"changed": changed, "kinds": kinds, "files": files, "run": [*map(list, left)]})
