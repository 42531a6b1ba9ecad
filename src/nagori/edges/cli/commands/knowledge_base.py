"""The command `know`: knowledge bases of documents."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from nagori.app import Nagori
from nagori.edges.cli import render
from nagori.edges.cli.context import CommandSession, Json, print_json
from nagori.errors import InvalidInput


class KnowledgeAct(StrEnum):
    ADD = "add"
    LIST = "list"
    SEARCH = "search"
    REMOVE = "remove"


def know(
    context: typer.Context,
    act: Annotated[KnowledgeAct, typer.Argument(help="help.know.act")],
    what: Annotated[list[str] | None, typer.Argument(help="help.know.what")] = None,
    kb: Annotated[str | None, typer.Option(help="help.know.kb")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="help.know.k")] = 5,
    as_json: Json = False,
) -> None:
    """Add documents to a knowledge base, search it, list and remove them."""
    session = CommandSession.of(context)
    named = what or []
    if act is not KnowledgeAct.LIST and not named:
        raise InvalidInput("what", "error.know_what", act=act)
    if act in (KnowledgeAct.ADD, KnowledgeAct.REMOVE) and kb is None:
        raise InvalidInput("kb", "error.know_kb", act=act)
    with session.memory() as memory:
        if act is KnowledgeAct.ADD:
            _add(session, memory, named, kb or "", as_json)
        elif act is KnowledgeAct.SEARCH:
            _search(session, memory, " ".join(named), kb, k, as_json)
        elif act is KnowledgeAct.REMOVE:
            _remove(session, memory, named, kb or "", as_json)
        else:
            _list(session, memory, kb, as_json)


def _add(session: CommandSession, memory: Nagori, paths: list[str], kb: str, as_json: bool) -> None:
    reports = [memory.add_knowledge(path, kb=kb) for path in paths]
    done: dict[str, list[Any]] = {
        kind: [name for report in reports for name in getattr(report, kind)]
        for kind in ("added", "replaced", "unchanged", "failed")
    }
    if as_json:
        print_json({**done, "failed": [{"name": name, "reason": why} for name, why in done["failed"]]})
    else:
        counts = {kind: len(names) for kind, names in done.items()}
        session.say("cli.know_added", kb=kb, **counts)
        for name, reason in done["failed"]:
            session.say("cli.know_failed", document=name, reason=reason)
    if done["failed"]:
        raise typer.Exit(1)


def _search(
    session: CommandSession, memory: Nagori, query: str, kb: str | None, k: int, as_json: bool
) -> None:
    found = memory.search_knowledge(query, kb=kb, k=k)
    if as_json:
        print_json({"passages": [render.passage_json(each) for each in found]})
    elif not found:
        session.say("cli.know_nothing")
    else:
        for each in found:
            session.out.print(render.passage_view(each))


def _list(session: CommandSession, memory: Nagori, kb: str | None, as_json: bool) -> None:
    found = memory.list_knowledge(kb=kb)
    if as_json:
        print_json({"documents": [render.document_json(each) for each in found]})
    elif not found:
        session.say("cli.know_empty")
    else:
        session.out.print(render.document_table(found, session.translator, memory.runtime.clock.zone))


def _remove(session: CommandSession, memory: Nagori, names: list[str], kb: str, as_json: bool) -> None:
    gone = [memory.remove_knowledge(name, kb=kb) for name in names]
    if as_json:
        print_json({"removed": [render.document_json(each) for each in gone]})
    else:
        for each in gone:
            session.say("cli.know_removed", document=each.name, kb=kb)
