"""Commands for erasure and its proofs: `erase`, `audit`."""

from __future__ import annotations

import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nagori.app import Nagori
from nagori.core.model import Scope
from nagori.core.value_object import replace
from nagori.edges.cli import render
from nagori.edges.cli.context import CommandSession, Json, print_json, progress
from nagori.errors import InvalidInput, Notice
from nagori.files import write_private
from nagori.services import audit_log
from nagori.services import erasure_receipt as receipts
from nagori.services.erasure_plan import ErasurePlan
from nagori.services.erasure_receipt import ErasureReceipt


class AuditAction(StrEnum):
    SHOW = "show"
    VERIFY = "verify"


def erase(
    context: typer.Context,
    user: Annotated[str | None, typer.Option(help="help.erase.user")] = None,
    project: Annotated[str | None, typer.Option(help="help.erase.project")] = None,
    session_name: Annotated[str | None, typer.Option("--session", help="help.erase.session")] = None,
    memory_id: Annotated[str | None, typer.Option("--memory", help="help.erase.memory")] = None,
    about: Annotated[str | None, typer.Option(help="help.erase.about")] = None,
    confirm: Annotated[str | None, typer.Option(metavar="TOKEN", help="help.erase.confirm")] = None,
    receipt: Annotated[Path | None, typer.Option(help="help.erase.receipt")] = None,
    verify_receipt: Annotated[Path | None, typer.Option(help="help.erase.verify_receipt")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="help.erase.resume")] = False,
    reopen: Annotated[bool, typer.Option("--reopen", help="help.erase.reopen")] = False,
    as_json: Json = False,
) -> None:
    """Erase a user, a project, a session, a memory, or what was said about something, for good."""
    session = CommandSession.of(context)
    if verify_receipt is not None:
        _verify_receipt(session, verify_receipt, as_json)
        return
    if receipt is not None and receipt.exists():
        raise InvalidInput("receipt", "error.file_exists", path=receipt)
    with session.memory() as opened:
        memory = opened.with_scope(user=user) if user is not None else opened
        if resume:
            _tell_resumed(session, memory, as_json)
        elif reopen:
            memory.reopen()
            _say_or_print(session, as_json, "cli.reopened", {"reopened": True})
        else:
            whole = user is not None and not (project or session_name or memory_id or about)
            plan = memory.plan_erasure(
                everything=whole, project=project, session=session_name, memory=memory_id, about=about
            )
            if confirm is None:
                _show_plan(session, memory, plan, as_json)
                return
            with progress(session) as bar:
                done = memory.erase(replace(plan, token=confirm.strip().lower()), bar)
            _hand_over(session, done, receipt, as_json)


def _say_or_print(session: CommandSession, as_json: bool, sentence: str, said: dict[str, object]) -> None:
    if as_json:
        print_json(said)
    else:
        session.say(sentence)


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────


def _show_plan(session: CommandSession, memory: Nagori, plan: ErasurePlan, as_json: bool) -> None:
    if as_json:
        found = {"memories": list(plan.memories), "derived": list(plan.derived), "turns": list(plan.turns)}
        target = {"target": plan.target.kind, "name": plan.target.name}
        print_json({**target, "counts": dict(plan.counts), **found, "token": plan.token})
        return
    session.say("cli.erase_plan", what=_what(plan.target.kind, plan.target.name, plan.owner))
    for part, count in plan.counts.items():
        if count:
            session.say("cli.erase_part", n=f"{count:,}", part=Notice(f"erase.{part}"))
    zone = memory.runtime.clock.zone
    for each in plan.examples:
        line = f"  [{render.day(each.created, zone)}] {render.one_line(each, 70)}"
        session.out.print(line, markup=False, highlight=False, style="dim")
    session.say("cli.erase_confirm", command=_command(session, plan))


def _command(session: CommandSession, plan: ErasurePlan) -> str:
    (tenant, user), whole = plan.owner, plan.target.kind == "owner"
    where = ["--data-dir", str(session.data_dir)] if session.data_dir else []
    where += ["--tenant", tenant] if tenant != Scope().tenant else []
    where += ["--user", user] if user != Scope().user and not whole else []
    what = ["--user", user] if whole else [f"--{plan.target.kind}", plan.target.name]
    return shlex.join(["nagori", *where, "erase", *what, "--confirm", plan.token])


def _what(kind: str, name: str, owner: tuple[str, str]) -> Notice:
    return Notice(f"erase.target_{kind}", name=name, tenant=owner[0], user=owner[1])


# ── the receipt ──────────────────────────────────────────────────────────────────────────────────


def _hand_over(session: CommandSession, done: ErasureReceipt, path: Path | None, as_json: bool) -> None:
    said = done.to_dict()
    if path is not None:
        try:
            write_private(path, json.dumps(said, ensure_ascii=False, indent=1).encode() + b"\n")
        except OSError as fault:
            print_json(said)  # the only copy must not be lost
            raise InvalidInput("receipt", "error.file", path=path, reason=fault.strerror) from fault
    if as_json:
        print_json(said)
    else:
        _tell(session, done)
        if path is not None:
            session.say("cli.receipt_written", path=path)
    if not done.clean:
        raise typer.Exit(1)


def _tell(session: CommandSession, done: ErasureReceipt) -> None:
    search = done.search
    what = _what(done.target, done.name, (done.tenant, done.user))
    session.say("cli.erased", what=what)
    for step in done.steps:
        if step.left:
            session.say("cli.erase_left", n=f"{step.left:,}", part=Notice(f"erase.{step.part}"))
    figures = {"files": f"{search.files:,}", "size": render.size(search.bytes), "n": search.passages}
    session.say("cli.erase_found" if search.found else "cli.erase_searched", **figures)
    for name in search.found:
        session.out.print(f"  {name}", style="red", markup=False, highlight=False)
    if search.shared:
        session.say("cli.erase_shared", n=search.shared)
    for notice in done.remains:
        session.out.print(f"  {session.translator.say(notice)}", style="dim", markup=False, highlight=False)


def _tell_resumed(session: CommandSession, memory: Nagori, as_json: bool) -> None:
    finished = memory.resume_erasures()
    if as_json:
        print_json({"receipts": [each.to_dict() for each in finished]})
        return
    session.say("cli.erase_resumed" if finished else "cli.erase_none_waiting", n=len(finished))
    for each in finished:
        _tell(session, each)


def _verify_receipt(session: CommandSession, path: Path, as_json: bool) -> None:
    try:
        text = path.read_bytes()
    except OSError as fault:
        raise InvalidInput("receipt", "error.file", path=path, reason=fault.strerror) from fault
    valid = receipts.verify(session.folder, text)
    _say_or_print(session, as_json, "cli.receipt_valid" if valid else "cli.receipt_invalid", {"valid": valid})
    if not valid:
        raise typer.Exit(1)


# ── the audit log ────────────────────────────────────────────────────────────────────────────────


def audit(
    context: typer.Context,
    action: Annotated[AuditAction, typer.Argument(help="help.audit.action")] = AuditAction.SHOW,
    anchor: Annotated[str, typer.Option(help="help.audit.anchor")] = "",
    as_json: Json = False,
) -> None:
    """Who erased, exported, backed up or restored, and when; and whether the log is unchanged."""
    session = CommandSession.of(context)
    if action is AuditAction.VERIFY:
        _verify_log(session, anchor, as_json)
        return
    entries = audit_log.read(session.folder)
    if as_json:
        keys = ("number", "at", "act", "owner", "uid", "detail")
        print_json({"entries": [{key: getattr(entry, key) for key in keys} for entry in entries]})
        return
    for entry in entries:
        act = session.translator(f"audit.{entry.act}")
        about = " ".join(f"{name}={value}" for name, value in entry.detail.items() if not _is_long(value))
        line = f"{entry.number:>5}  {entry.at[:19]}  uid {entry.uid}  {entry.owner[:8]:8}  {act}  {about}"
        session.out.print(line.rstrip(), markup=False, highlight=False, soft_wrap=True)
    session.say("cli.audit_anchor" if entries else "cli.audit_empty", anchor=_anchor(entries))


def _is_long(value: object) -> bool:
    return isinstance(value, dict) or len(str(value)) > 30


def _anchor(entries: list[audit_log.AuditEntry]) -> str:
    return entries[-1].anchor if entries else ""


def _verify_log(session: CommandSession, anchor: str, as_json: bool) -> None:
    verdict = audit_log.verify(session.folder, anchor)
    if as_json:
        faults = [str(fault) for fault in verdict.faults]
        print_json(
            {"sound": verdict.sound, "entries": verdict.entries, "faults": faults, "anchor": verdict.anchor}
        )
    elif verdict.sound:
        session.say("cli.audit_sound", n=verdict.entries)
        if verdict.anchor:
            session.say("cli.audit_anchor", anchor=verdict.anchor)
    else:
        session.say("cli.audit_unsound", n=len(verdict.faults))
        for fault in verdict.faults[:50]:
            session.out.print(f"  {session.translator.say(fault)}", style="red", markup=False)
    if not verdict.sound:
        raise typer.Exit(1)
