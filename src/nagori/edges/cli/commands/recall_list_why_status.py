"""Commands that find memories: `recall`, `show`, `list`, `why`, `log`, `status`. Only `recall` reinforces."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from nagori.app import Nagori
from nagori.core import decay
from nagori.core.model import Category, Filter, Kind, Level, Memory
from nagori.core.serialize import to_record
from nagori.core.spreading_activation import MAX_DEPTH
from nagori.edges.cli import render
from nagori.edges.cli.context import AHEAD, CommandSession, Id, Json, moment, print_json
from nagori.errors import InvalidInput
from nagori.language.keywords import find_keywords
from nagori.services.why_log_as_of_and_status import retention_until


def recall(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(help="help.recall.query")],
    k: Annotated[int | None, typer.Option("-k", help="help.recall.k")] = None,
    kind: Annotated[list[Kind] | None, typer.Option(help="help.common.only_kind")] = None,
    level: Annotated[list[int] | None, typer.Option(min=1, max=4, help="help.common.only_level")] = None,
    since: Annotated[str | None, typer.Option(help="help.recall.since")] = None,
    until: Annotated[str | None, typer.Option(help="help.recall.until")] = None,
    tokens: Annotated[int | None, typer.Option(min=0, help="help.recall.tokens")] = None,
    min_confidence: Annotated[float | None, typer.Option(min=0, max=1, help="help.recall.floor")] = None,
    ranking: Annotated[str | None, typer.Option(help="help.recall.ranking")] = None,
    category: Annotated[Category | None, typer.Option(help="help.recall.category")] = None,
    look: Annotated[bool, typer.Option("--look", help="help.recall.look")] = False,
    spread: Annotated[int, typer.Option(min=0, max=MAX_DEPTH, help="help.recall.spread")] = 0,
    as_json: Json = False,
) -> None:
    """Recall what answers a question, best first."""
    session = CommandSession.of(context)
    filter = Filter(
        kinds=frozenset(kind) if kind else None,
        levels=frozenset(map(Level, level)) if level else None,
        since=moment(since, "since"),
        until=moment(until, "until"),
    )
    with session.memory() as memory:
        how: dict[str, Any] = {
            "ranking": ranking,
            "tokens": tokens,
            "min_confidence": min_confidence,
            "mark": not look,
            "category": category,
            "spread": spread,
        }
        found = memory.recall(" ".join(query), k, filter=filter, **how)
        zone = memory.runtime.clock.zone
    if as_json:
        print_json({"results": [render.recollection_json(r) for r in found]})
    elif not found:
        session.say("cli.no_match")
    else:
        lines = [(r.memory, r.retention, r.confidence) for r in found]
        in_full = {r.id for r in found if r.in_full}
        shown = render.memory_list(
            lines, session.translator, zone, session.out.width, answers=True, in_full=in_full
        )
        session.out.print(shown)


def show(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Show one memory, whole."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        found = memory.show(id)
        zone = memory.runtime.clock.zone
        strength = _strength(memory, found)
        until = retention_until(found, memory.runtime.config.archive)
    if as_json:
        record = to_record(found)  # without a model no keywords are kept: they are those of the words left
        record["keywords"] = record["keywords"] or _heaviest_words(found.fullest.whole)
        print_json({"memory": record, "retention_until": until.isoformat() if until else None})
    else:
        session.out.print(render.memory_view(found, strength, session.translator, zone, session.out.width))


def _heaviest_words(text: str, most: int = 5) -> list[str]:
    found = sorted(find_keywords(text), key=lambda word: -word.weight)
    return list(dict.fromkeys(word.text for word in found))[:most]


def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="help.list.limit")] = 20,
    kind: Annotated[list[Kind] | None, typer.Option(help="help.common.only_kind")] = None,
    level: Annotated[list[int] | None, typer.Option(min=1, max=4, help="help.common.only_level")] = None,
    protected: Annotated[bool, typer.Option("--protected", help="help.list.protected")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="help.list.archived")] = False,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="help.list.forgotten")] = False,
    as_of: Annotated[str | None, typer.Option(help="help.list.as_of")] = None,
    as_json: Json = False,
) -> None:
    """List memories, newest first."""
    session = CommandSession.of(context)
    filter = Filter(
        kinds=frozenset(kind) if kind else None,
        levels=frozenset(map(Level, level)) if level else None,
        protected=True if protected else None,
        archived=archived or bool(level and Level.ARCHIVED in level),
        forgotten=forgotten,
    )
    with session.memory() as memory:
        then = moment(as_of, "as-of")
        _refuse_future(then, memory.runtime.clock.now())
        found = memory.as_of(then, filter) if then else memory.list(filter, limit=limit + 1)
        found, more = found[:limit], len(found) > limit
        zone = memory.runtime.clock.zone
        lines = [(m, _strength(memory, m, then), None) for m in found]
    if as_json:
        print_json({"memories": [to_record(m) for m in found], "more": more})
    elif not found:
        session.say("cli.nothing_then" if then else "cli.no_memories")
    else:
        session.out.print(render.memory_list(lines, session.translator, zone, session.out.width))
        if more:
            session.say("cli.list_more", n=limit)


def _refuse_future(then: datetime | None, now: datetime) -> None:
    """The journal cannot tell what will be; what is now, told as what will be, would be wrong."""
    if then is not None and then > now + AHEAD:
        raise InvalidInput(
            "as-of",
            "error.as_of_future",
            value=then.isoformat(timespec="minutes"),
        )


def why(
    context: typer.Context,
    id: Id,
    query: Annotated[str | None, typer.Option("--for", help="help.why.query")] = None,
    as_json: Json = False,
) -> None:
    """Explain a memory: its strength, its history, when it will fade."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        told = memory.why(id, query)
        zone = memory.runtime.clock.zone
    if as_json:
        print_json(render.explanation_json(told))
    else:
        asked, width = query is not None, session.out.width
        session.out.print(render.explanation_view(told, session.translator, zone, asked, width))


def log(
    context: typer.Context,
    id: Annotated[str | None, typer.Argument(help="help.log.id")] = None,
    type: Annotated[list[str] | None, typer.Option(help="help.log.type")] = None,
    since: Annotated[str | None, typer.Option(help="help.recall.since")] = None,
    until: Annotated[str | None, typer.Option(help="help.recall.until")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="help.log.limit")] = 20,
    as_json: Json = False,
) -> None:
    """What happened to memories, newest first."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        when = {"since": moment(since, "since"), "until": moment(until, "until")}
        found = memory.log(id, types=type or [], limit=limit, **when)
        zone = memory.runtime.clock.zone
    if as_json:
        told = [{**render.event_json(each.event), "memories": list(each.memories)} for each in found]
        print_json({"events": told})
    elif not found:
        session.say("cli.log_nothing")
    else:
        session.out.print(render.log_view(found, session.translator, zone))


def status(
    context: typer.Context,
    line: Annotated[bool, typer.Option("--line", help="help.status.line")] = False,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="help.status.prometheus")] = False,
    as_json: Json = False,
) -> None:
    """How many memories there are, how large, how well."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        if prometheus:
            print(_metrics(memory), end="")
            return
        told = memory.status()
        zone = memory.runtime.clock.zone
    if as_json:
        print_json(render.status_json(told))
    elif line:
        print(render.status_line(told, session.translator))
    else:
        session.out.print(render.status_view(told, session.translator, zone))


def _strength(memory: Nagori, one: Memory, then: datetime | None = None) -> float:
    config = memory.runtime.config
    return decay.retention(one, then or memory.runtime.clock.now(), config.retention, config.weekly)


def _metrics(memory: Nagori) -> str:
    from nagori.edges.cli import prometheus
    from nagori.services.process_turns import count_pending

    scope = memory.scope
    turns = count_pending(memory.runtime, scope.owner)
    return prometheus.text(prometheus.families(memory.status(), memory.measure(), turns), scope)
