"""Commands that connect host programs: `init` and `uninstall`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from nagori.app import Nagori
from nagori.config import Config
from nagori.edges import scheduling
from nagori.edges.cli.context import CommandSession, Json, print_json
from nagori.edges.hosts import HOSTS, launcher_script, settings_file
from nagori.edges.hosts.settings_file import FileChange
from nagori.edges.hosts.spec import Host
from nagori.edges.locale import Translator
from nagori.errors import InvalidInput, Notice
from nagori.files import data_dir
from nagori.messages import LANGUAGES
from nagori.services.doctor import Finding, make_finding, run_command

Names = Annotated[
    list[str] | None,
    typer.Option("--host", help="help.common.host"),
]
Planned = tuple[scheduling.Scheduler, list[scheduling.ScheduleChange]]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="help.common.yes")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="help.common.dry_run")]


def init(
    context: typer.Context,
    host: Names = None,
    project: Annotated[bool, typer.Option("--project", help="help.init.project")] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Let Claude Code and others remember by themselves: write it into their settings."""
    session = CommandSession.of(context)
    chosen = _choose_hosts(host, project)
    launch = launcher_script.texts(
        session.folder, session.translator("cli.launcher_lost"), _environment(session)
    )
    with _suggest_host_option(host):
        changes = [_addition(session, each, project) for each in chosen]
    needed = [change for change in changes if change.needed]
    outdated = bool(changes) and not launcher_script.is_current(session.folder, launch)
    if not needed and not outdated:
        _say_nothing_to_do(session, chosen, as_json)
        return
    if not _confirm_changes(session, needed, yes, dry_run, as_json):
        return
    launcher_script.write(session.folder, launch)  # first, so that no host ever calls what is not there
    copies = [_apply_change(session, change, "cli.hooked", as_json) for change in needed]
    known = launcher_script.users(session.folder) | {change.path: change.host.name for change in changes}
    launcher_script.note_users(session.folder, known)
    if as_json:
        _print_result(needed, copies, changed=True)
    elif not needed:
        _say_where(session, "cli.relaunched", path=session.folder / launcher_script.BIN)


def uninstall(
    context: typer.Context,
    host: Annotated[list[str] | None, typer.Option("--host", help="help.uninstall.host")] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take out of other programs' settings what init wrote there, and the nightly schedule; memories stay."""
    session = CommandSession.of(context)
    users = _users(session)
    names = {each.name for each in _hosts_by_name(host or [*HOSTS])}
    with _suggest_host_option(host):
        changes = [settings_file.removal(HOSTS[name], path) for path, name in users.items() if name in names]
    for _, reason in _unreadable_settings(session, names):
        session.err.print(session.translator("cli.left_alone", reason=reason), markup=False, soft_wrap=True)
    needed = [change for change in changes if change.needed]
    planned = [] if host else _schedules(session)
    if (needed or planned) and not _confirm_changes(session, needed, yes, dry_run, as_json, planned):
        return
    copies = [_apply_change(session, change, "cli.unhooked", as_json) for change in needed]
    left = [command for scheduler, each in planned for command in scheduling.remove(scheduler, each)]
    if not dry_run:
        _forget_users(session, {change.path for change in changes})
    if as_json:
        _print_result(needed, copies, changed=bool(needed or planned), planned=planned, left=left)
        return
    if planned:
        session.say("cli.unscheduled", kinds=", ".join(scheduler.kind for scheduler, _ in planned))
        say_left(session, left)
    elif not needed:
        session.say("cli.not_hooked")
    _say_where(session, "cli.memories_stay", path=session.folder)


def _schedules(session: CommandSession) -> list[Planned]:
    """The nightly cycle of these memories, wherever it is written down. Somebody who keeps others in another
    folder keeps their nights."""
    from nagori.edges.cli.commands.schedule import installed_schedulers

    ours = [
        scheduler
        for scheduler in installed_schedulers(session)
        if _is_for(session, "".join(scheduler.written()))
    ]
    return [(scheduler, scheduler.removal()) for scheduler in ours]


def _is_for(session: CommandSession, text: str) -> bool:
    if "--data-dir" in text:
        return str(session.folder) in text
    return session.folder == Nagori.folder(None, Config())


# ── which files ──────────────────────────────────────────────────────────────────────────────────


def _hosts_by_name(names: list[str]) -> list[Host]:
    for name in names:
        if name not in HOSTS:
            choices = ", ".join(HOSTS)
            raise InvalidInput("host", "error.not_choice", value=name, choices=choices)
    return [HOSTS[name] for name in dict.fromkeys(names)]


def _choose_hosts(names: list[str] | None, project: bool) -> list[Host]:
    """The programs that were named, or else those that are here."""
    if names:
        return _hosts_by_name(names)
    here = (host for host in HOSTS.values() if host.present(os.environ))
    return [host for host in here if host.project_settings or not project]


def _addition(session: CommandSession, host: Host, project: bool) -> FileChange:
    command = launcher_script.hook_command(host.name, session.folder)
    return settings_file.addition(host, _file(host, project), command, session.config.hooks.before_tool)


def _file(host: Host, project: bool) -> Path:
    if not project:
        return host.file(os.environ)
    if host.project_settings is None:  # what a project shares must not hold paths of this machine
        raise InvalidInput(
            "host",
            "error.host_without_project",
            host=host.title,
        )
    return Path.cwd() / host.project_settings


def _users(session: CommandSession) -> dict[Path, str]:
    """Every file that may call us: those `init` wrote, and the usual places that can be read."""
    usual = {host.file(os.environ): host.name for host in HOSTS.values()}
    for path, _ in _unreadable_settings(session, set(HOSTS)):
        usual.pop(path)
    return usual | launcher_script.users(session.folder)


def _unreadable_settings(session: CommandSession, names: set[str]) -> Iterator[tuple[Path, Notice]]:
    """Settings files that cannot be read and that `init` never wrote. They stop nothing."""
    known = launcher_script.users(session.folder)
    for name in (each for each in HOSTS if each in names):
        path = HOSTS[name].file(os.environ)
        try:
            if path not in known:
                settings_file.removal(HOSTS[name], path)
        except InvalidInput as fault:
            yield path, fault.notice


@contextmanager
def _suggest_host_option(named: list[str] | None) -> Iterator[None]:
    """One file that cannot be changed stops everything: say how to leave it out."""
    try:
        yield
    except InvalidInput as fault:
        if named:
            raise
        raise InvalidInput("settings", "error.host_left_out", reason=fault.problem) from fault


def _forget_users(session: CommandSession, left: set[Path]) -> None:
    """The launcher goes with the last program that called it."""
    others = {path: name for path, name in _users(session).items() if path not in left}
    staying = {path: name for path, name in others.items() if _calls_us(path, name)}
    if staying:
        launcher_script.note_users(session.folder, staying)
    else:
        launcher_script.delete(session.folder)


def _calls_us(path: Path, name: str) -> bool:
    """Whether a settings file has entries of ours; one that cannot be read may have."""
    try:
        return name not in HOSTS or settings_file.removal(HOSTS[name], path).needed
    except InvalidInput:
        return True


def _environment(session: CommandSession) -> dict[str, str]:
    """A folder that this shell alone knows has to be named again whenever a host calls."""
    return _folder_variable(session) if session.shell_names_folder else {}


def _folder_variable(session: CommandSession) -> dict[str, str]:
    chosen = str(session.data_dir or session.config.general.data_dir)
    return {"NAGORI_DATA_DIR": str(data_dir(os.environ, chosen).absolute())}


def findings(session: CommandSession) -> list[Finding]:
    """What the doctor has to say: who calls us, and whether the call arrives."""
    calling = [
        HOSTS[name].title for path, name in _users(session).items() if name in HOSTS and _calls_us(path, name)
    ]
    if not calling:
        return []
    if any(launcher_script.is_current(session.folder, wanted) for wanted in _in_any_language(session)):
        return [
            make_finding("hooks", "ok", "doctor.hooks", hosts=", ".join(calling)),
            _check_rehearsal(session),
            *_check_recent_calls(session),
        ]
    return [
        make_finding(
            "hooks", "warn", "doctor.hooks_lost", run_command("nagori init"), hosts=", ".join(calling)
        )
    ]


def _in_any_language(session: CommandSession) -> Iterator[dict[str, str]]:
    """The launcher as it would be written: who looks at it may speak another language than who wrote it."""
    environments = [_folder_variable(session), _environment(session)]  # naming the folder is never wrong
    for tongue in LANGUAGES:
        for environment in environments:
            yield launcher_script.texts(session.folder, Translator(tongue)("cli.launcher_lost"), environment)


def _check_rehearsal(session: CommandSession) -> Finding:
    """Whether a fact told to the installed hook in one session comes back in the next."""
    from nagori.edges.hooks.selftest import rehearse

    fault = rehearse(launcher_script.hook_command("claude-code", session.folder))
    if fault:
        remedy = run_command("nagori init; nagori verify")
        return make_finding("rehearsal", "fail", "doctor.rehearsal_failed", remedy, fault=fault)
    return make_finding("rehearsal", "ok", "doctor.rehearsal")


def _check_recent_calls(session: CommandSession) -> list[Finding]:
    """What hosts called last, what went wrong then, and what the worker could not do."""
    from nagori.edges.hooks.selftest import read_record, recent_calls
    from nagori.edges.worker.run import LOG

    last = list(recent_calls(session.folder))
    calls = [(f"{f.moment} ({f.host}) {f.at:%Y-%m-%d %H:%M}", f.failure) for f in last]
    well = [call for call, failure in calls if not failure][:3]
    told = [make_finding("last call", "ok", "doctor.last_call", calls=", ".join(well))] if well else []
    told += [
        make_finding("last call", "warn", "doctor.last_call_failed", calls=call, failure=failure)
        for call, failure in calls
        if failure
    ]
    log = session.folder / LOG
    if log.exists():
        trouble = read_record(log.read_text(encoding="utf-8", errors="replace"))
        told.append(
            make_finding("worker", "warn", "doctor.worker", run_command("nagori process"), trouble=trouble)
        )
    return told


# ── showing, asking, doing ───────────────────────────────────────────────────────────────────────


def _say_nothing_to_do(session: CommandSession, chosen: list[Host], as_json: bool) -> None:
    if as_json:
        _print_result([], [], changed=False)
    elif chosen:
        session.say("cli.hooked_already", hosts=", ".join(host.title for host in chosen))
    else:
        session.say("cli.no_hosts", hosts=", ".join(HOSTS))


def _confirm_changes(
    session: CommandSession,
    changes: list[FileChange],
    yes: bool,
    dry_run: bool,
    as_json: bool,
    planned: Sequence[Planned] = (),
) -> bool:
    """Show the changes and ask; where nobody can answer, the answer is no."""
    schedules = [change for _, each in planned for change in each]
    everything: list[FileChange | scheduling.ScheduleChange] = [*changes, *schedules]
    if not as_json:
        for change in everything:
            _show(session, change)
    if not dry_run and (yes or not everything):
        return True
    if not dry_run and not as_json and sys.stdin.isatty():
        return session.confirmed(len(everything))
    if as_json:
        _print_result(changes, [None] * len(changes), changed=False, planned=planned)
    else:
        session.say("cli.dry_run" if dry_run else "cli.needs_yes")
    if not dry_run:
        raise typer.Exit(2)
    return False


def _say_where(session: CommandSession, name: str, **values: object) -> None:
    """A sentence with a path, which must not be broken in two: people copy it."""
    session.out.print(session.translator(name, **values), highlight=False, markup=False, soft_wrap=True)


def _show(session: CommandSession, change: FileChange | scheduling.ScheduleChange) -> None:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in change.diff():
        style = colours.get(line[:1], "")
        session.out.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def _apply_change(session: CommandSession, change: FileChange, sentence: str, as_json: bool) -> Path | None:
    copy = settings_file.apply(change, datetime.now().astimezone())
    if not as_json:
        _say_where(session, sentence, title=change.host.title, path=change.path)
        if copy:
            _say_where(session, "cli.copied", path=copy)
        if sentence == "cli.hooked":
            _advise(session, change)
    return copy


def _advise(session: CommandSession, change: FileChange) -> None:
    """What the person still has to do or to know."""
    if change.host.hint:
        session.say(change.host.hint)
    if change.host.mcp:
        where = ["--data-dir", str(session.folder)] if session.shell_names_folder else []
        command = shlex.join([*change.host.mcp, "nagori", *where, "mcp"])
        _say_where(session, "cli.mcp_offer", command=command)
    if change.plugin_too:
        session.say("cli.twice", title=change.host.title)


def say_left(session: CommandSession, commands: Sequence[Sequence[str]]) -> None:
    """What the person has to run; on one line each, because people copy it."""
    if commands:
        session.say("cli.run_yourself")
    for command in commands:
        session.out.print(f"  {shlex.join(command)}", markup=False, highlight=False, soft_wrap=True)


def _print_result(
    changes: list[FileChange],
    copies: list[Path | None],
    *,
    changed: bool,
    planned: Sequence[Planned] = (),
    left: Sequence[Sequence[str]] = (),
) -> None:
    told = [
        {
            "host": change.host.name,
            "path": str(change.path),
            "diff": "\n".join(change.diff()),
            "backup": str(copy) if copy else None,
        }
        for change, copy in zip(changes, copies, strict=True)
    ]
    schedules = [
        {"kind": scheduler.kind, "diff": "\n".join(line for change in each for line in change.diff())}
        for scheduler, each in planned
    ]
    print_json({"changed": changed, "files": told, "schedules": schedules, "run": [*map(list, left)]})
