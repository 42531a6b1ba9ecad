"""Commands for maintenance: `verify`, `rebuild`, `compact`, `reembed`, `backup`, `doctor` and others."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from nagori.app import Nagori
from nagori.config import rows, schema
from nagori.core.value_object import fields_of
from nagori.edges.cli import render
from nagori.edges.cli.commands import setup
from nagori.edges.cli.commands.schedule import nights
from nagori.edges.cli.context import CommandSession, Json, print_json, progress
from nagori.edges.hosts import launcher_script
from nagori.errors import InvalidInput, Notice
from nagori.services.doctor import Finding, make_finding
from nagori.services.vectors import ReembedPlan
from nagori.services.verify_and_rebuild import Proof


def verify(context: typer.Context, as_json: Json = False) -> None:
    """Prove that journal and store are sound and agree."""
    session = CommandSession.of(context)
    with session.memory() as memory, progress(session) as bar:
        proof = memory.verify(bar)
    faults = _faults(proof)
    events = sum(journal.events for journal in proof.journals)
    if as_json:
        found = {"faults": [*map(str, faults)], "passed_over": [*map(str, proof.passed_over)]}
        print_json({"sound": proof.sound, "events": events, **found})
    elif proof.sound:
        session.say("cli.sound", events=f"{events:,}")
        for note in proof.passed_over:
            session.out.print(f"  {session.translator.say(note)}", style="yellow", markup=False)
    else:
        session.say("cli.unsound", n=len(faults))
        for fault in faults[:50]:
            session.out.print(f"  {session.translator.say(fault)}", style="red", markup=False)
    if not proof.sound:
        raise typer.Exit(1)


def _faults(proof: Proof) -> list[Notice]:
    damage = [
        Notice("check.line", file=each.file, offset=each.offset, problem=each.problem)
        for journal in proof.journals
        for each in journal.damage
    ]
    return [*damage, *proof.store, *proof.differing]


def rebuild(
    context: typer.Context,
    accept_damage: Annotated[
        bool, typer.Option("--accept-damage", help="help.rebuild.accept_damage")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make the store anew from the journal."""
    session = CommandSession.of(context)
    with session.memory() as memory, progress(session) as bar:
        told = memory.rebuild(bar, accept_damage=accept_damage)
        vectors = memory.embed_missing(bar)
    if as_json:
        print_json({"events": told, "vectors": vectors})
    else:
        session.say("cli.rebuilt", n=f"{told:,}")
        if vectors:
            session.say("cli.embedded", n=f"{vectors:,}")


def compact(context: typer.Context, as_json: Json = False) -> None:
    """Return the space of removed memories to the disk."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        done = memory.compact()
    if as_json:
        print_json({"bytes_before": done.before, "bytes_after": done.after})
    else:
        session.say("cli.compacted", before=render.size(done.before), after=render.size(done.after))


def reembed(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="help.reembed.dry_run")] = False,
    as_json: Json = False,
) -> None:
    """Change over to the configured embedding model, while recall goes on with the old one."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        change = memory.plan_reembed()
        if not as_json:
            _tell_change(session, change)
        if dry_run:
            if as_json:
                print_json({name: getattr(change, name) for name in fields_of(change)})
            else:
                session.say("cli.reembed_nothing" if change.is_complete else "cli.dry_run")
            return
        with progress(session) as bar:
            done = memory.reembed(bar)
    session.tell_again("differs")
    if as_json:
        print_json({"model": done.model, "made": done.made, "removed": done.removed})
    else:
        session.say("cli.reembedded", model=done.model, made=f"{done.made:,}", removed=f"{done.removed:,}")


def _tell_change(session: CommandSession, change: ReembedPlan) -> None:
    cost = render.dollars(change.usd) if change.usd is not None else "$?"
    values = {"old": ", ".join(change.old) or session.translator("status.none"), "new": change.new}
    figures = {"left": f"{change.left:,}", "memories": f"{change.memories:,}", "tokens": f"{change.tokens:,}"}
    session.say("cli.reembed_plan", **values, **figures, cost=cost)


def backup(
    context: typer.Context,
    path: Annotated[str, typer.Argument(help="help.backup.path")] = "",
    drill: Annotated[bool, typer.Option("--drill", help="help.backup.drill")] = False,
    as_json: Json = False,
) -> None:
    """Save everything in one checked file, while others go on writing."""
    session = CommandSession.of(context)
    if drill:
        _drill(session, path, as_json)
        return
    if not path:
        raise InvalidInput("path", "error.not_file_name", value=path)
    with session.memory() as memory, progress(session) as bar:
        saved = memory.backup(path, bar)
    if as_json:
        print_json({"path": path, "bytes": saved.bytes, "events": saved.events})
    else:
        size = render.size(saved.bytes)
        session.say("cli.backed_up", path=path, events=f"{saved.events:,}", size=size)


def _drill(session: CommandSession, path: str, as_json: bool) -> None:
    """Restore elsewhere and compare; a backup that is not there yet is written first."""
    with session.memory() as memory:
        if path and not _is_bucket(path) and not Path(path).exists():
            memory.backup(path)
        report = memory.drill(path or None)
    path = path or str(report.path)
    differing, moved = (
        [f"{tenant}/{user}" for tenant, user in each] for each in (report.differing, report.moved)
    )
    if as_json:
        counts = {"owners": report.owners, "memories": report.memories}
        print_json({"path": path, "passed": report.matches, **counts, "differing": differing, "moved": moved})
    else:
        session.say("cli.drilled", path=path, owners=report.owners, memories=report.memories)
        for sentence, names in (("cli.drill_differs", differing), ("cli.drill_moved", moved)):
            for name in names:
                session.say(sentence, owner=name)
    if not report.matches:
        raise typer.Exit(1)


def _is_bucket(path: str) -> bool:
    return path.startswith("s3://")


def restore(
    context: typer.Context,
    path: Annotated[str, typer.Argument(help="help.restore.path")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="help.common.yes")] = False,
    as_json: Json = False,
) -> None:
    """Put a backup in place; what was there is kept aside."""
    session = CommandSession.of(context)
    folder = session.folder
    if not _is_bucket(path) and not Path(path).is_file():
        raise InvalidInput("path", "error.not_file", path=path)
    if database := session.database:
        Nagori.restore(path, database, datetime.now().astimezone())
        if as_json:
            print_json({"restored": "database", "aside": None})
        else:
            session.say("cli.restored", path=path)
        return
    occupied = folder.exists() and any(folder.iterdir())
    if occupied and not yes and not typer.confirm(session.translator("cli.overwrite", path=folder)):
        session.say("cli.stopped")
        raise typer.Exit(2)
    aside = Nagori.restore(path, folder, datetime.now().astimezone())
    if aside:
        launcher_script.bring_along(aside, folder)
    if as_json:
        print_json({"restored": str(folder), "aside": str(aside) if aside else None})
        return
    session.say("cli.restored", path=path)
    if aside:
        # A path that is broken into lines cannot be copied.
        session.out.print(
            session.translator("cli.aside", path=aside), soft_wrap=True, markup=False, highlight=False
        )


def doctor(
    context: typer.Context,
    server: Annotated[str, typer.Option("--server", help="help.doctor.server")] = "",
    as_json: Json = False,
) -> None:
    """Look at everything that could be wrong, and say what to do."""
    session = CommandSession.of(context)
    url, findings = server or session.config.hooks.server, list[Finding]()
    if not server:
        with session.memory() as memory:
            findings = [*memory.doctor(), *setup.findings(session)]
            findings += nights(session, memory, called=any(each.name == "hooks" for each in findings))
            findings += _key_findings(memory)
    if url:
        from nagori.adapters.credentials import needed_key
        from nagori.edges.http.check_remote_server import examine_server

        findings += examine_server(url, lambda: needed_key(session.config.hooks.server_key_env))
    if as_json:
        keys = ("name", "state", "detail", "advice")
        told = [{"id": f.seen.id, **{key: getattr(f, key) for key in keys}} for f in findings]
        print_json({"findings": told})
    else:
        session.out.print(render.findings_view(findings, session.translator, session.out.width))
    if any(finding.state == "fail" for finding in findings):
        raise typer.Exit(1)


def _key_findings(memory: Nagori) -> list[Finding]:
    """The API keys of a server, if there are any."""
    try:
        from nagori.edges.http.keys import KeyTable
    except ModuleNotFoundError:  # without starlette nothing is served here
        return []
    valid = [key for key in KeyTable(memory).list() if key.revoked is None]
    unused = sum(key.last_used is None for key in valid)
    return [make_finding("keys", "ok", "doctor.keys", n=len(valid), unused=unused)] if valid else []


def config(
    context: typer.Context,
    show_schema: Annotated[bool, typer.Option("--schema", help="help.config.show_schema")] = False,
    as_json: Json = False,
) -> None:
    """Every setting, its value, and where the value came from."""
    session = CommandSession.of(context)
    if show_schema:
        print_json(schema())
    elif as_json:
        print_json({key: {"value": value, "origin": origin} for key, value, origin in rows(session.loaded)})
    else:
        session.out.print(render.settings_view(rows(session.loaded), session.translator))
