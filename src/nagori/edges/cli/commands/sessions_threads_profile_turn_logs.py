"""Commands about conversations: `sessions`, `threads`, `profile` and `logs`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from struct import unpack
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from nagori.core.threads import Thread
from nagori.edges.cli import render
from nagori.edges.cli.context import CommandSession, Json, print_json
from nagori.errors import InvalidInput
from nagori.services.list_threads_and_view_working_memory import SessionInfo, ThreadSummary
from nagori.services.profile_of_topics_and_speakers import Profile


def sessions(context: typer.Context, as_json: Json = False) -> None:
    """The recent sessions, newest first."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        found = memory.sessions()
        zone = memory.runtime.clock.zone
    if as_json:
        print_json({"sessions": [_session_json(each) for each in found]})
    elif not found:
        session.say("cli.no_sessions")
    else:
        say = session.translator
        table = Table(box=None, pad_edge=False)
        for name in ("session", "when", "turns", "threads", "speakers"):
            table.add_column(say(f"column.{name}"), overflow="fold")
        for each in found:
            when = f"{each.latest.astimezone(zone):%Y-%m-%d %H:%M}"
            counts = (str(each.turns), str(each.threads), _speakers(each.speakers))
            table.add_row(escape(each.session), when, *counts)
        session.out.print(table)


def threads(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="SESSION", help="help.threads.session")] = None,
    as_json: Json = False,
) -> None:
    """The threads of a session, or of the recent ones."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        found = memory.threads(name)
        zone = memory.runtime.clock.zone
    if as_json:
        print_json({"threads": [_thread_json(each) for each in found]})
    elif not found:
        session.say("cli.no_threads")
    else:
        say = session.translator
        table = Table(box=None, pad_edge=False)
        for column in ("thread", "when", "turns", "end", "summary"):
            table.add_column(say(f"column.{column}"), overflow="fold")
        for each in found:
            thread = each.thread
            end = say(f"thread_end.{thread.end.value if thread.end else 'open'}")
            when = f"{thread.began.astimezone(zone):%Y-%m-%d %H:%M}"
            table.add_row(escape(thread.id), when, str(len(thread.turns)), end, each.memory or "")
        session.out.print(table)


def profile(context: typer.Context, as_json: Json = False) -> None:
    """What the memories say about the user."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        found = memory.profile()
        zone = memory.runtime.clock.zone
    known = found.relationship
    if as_json:
        print_json(_profile_json(found))
    elif known.since is None:
        session.say("cli.no_profile")
    else:
        topics = ", ".join(f"{topic.name} {topic.memories}" for topic in found.topics)
        people = ", ".join(f"{each.name} {each.spoke}" for each in found.speakers)
        if topics:
            session.say("profile.topics", words=topics)
        if people:
            session.say("profile.people", words=people)
        session.say("profile.known", since=render.day(known.since, zone), sessions=known.sessions)
        session.say("profile.depth", depth=round(100 * known.depth), personal=known.personal)


class LogAction(StrEnum):
    EXPORT = "export"
    QUERY = "query"


def logs(
    context: typer.Context,
    action: Annotated[LogAction, typer.Argument(help="help.logs.action")],
    sql: Annotated[str, typer.Argument(help="help.logs.sql")] = "",
    as_json: Json = False,
) -> None:
    """Write or query the log of turns."""
    session = CommandSession.of(context)
    if action is LogAction.QUERY and not sql.strip():
        raise InvalidInput("sql", "error.sql_missing")
    with session.memory() as memory:
        if action is LogAction.EXPORT:
            last = memory.export_log()
            if as_json:
                print_json({"last": last})
            else:
                session.say("cli.log_written", seq=last)
            return
        names, rows = memory.query_log(sql)
    if as_json:
        print_json({"columns": names, "rows": [[_plain(value) for value in row] for row in rows]})
        return
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(escape(name), overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(_plain(value))) for value in row))
    session.out.print(table)


def _plain(value: object) -> object:
    """A value of an answer as JSON can hold it."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _profile_json(found: Profile) -> dict[str, Any]:
    known = found.relationship
    return {
        "topics": [{"name": t.name, "memories": t.memories, "weight": t.weight} for t in found.topics],
        "speakers": [{"name": s.name, "spoke": s.spoke, "mentions": s.mentions} for s in found.speakers],
        "relationship": {
            "since": known.since.isoformat() if known.since else None,
            "days": known.days,
            "sessions": known.sessions,
            "personal": known.personal,
            "depth": known.depth,
        },
        "memories": found.memories,
        "model": found.model,
        "preferences": list(unpack(f"<{len(found.preferences) // 4}f", found.preferences))
        if found.preferences
        else None,
    }


def _speakers(counts: Mapping[str, int]) -> str:
    return escape(", ".join(f"{name} {n}" for name, n in counts.items()))


def _session_json(each: SessionInfo) -> dict[str, Any]:
    return {
        "session": each.session,
        "project": each.project,
        "began": each.began.isoformat(),
        "latest": each.latest.isoformat(),
        "turns": each.turns,
        "threads": each.threads,
        "speakers": dict(each.speakers),
    }


def _thread_json(each: ThreadSummary) -> dict[str, Any]:
    thread: Thread = each.thread
    return {
        "id": thread.id,
        "session": thread.session,
        "domain": thread.domain,
        "began": thread.began.isoformat(),
        "latest": thread.latest.isoformat(),
        "turns": [
            {"speaker": turn.speaker or turn.role, "text": turn.text, "at": turn.at.isoformat()}
            for turn in thread.turns
        ],
        "speakers": dict(thread.speakers),
        "end": thread.end.value if thread.end else None,
        "memory": each.memory,
    }
