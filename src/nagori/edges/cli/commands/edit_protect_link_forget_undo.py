"""Commands that change memories: `edit`, `feedback`, `protect`, `link`, `forget`, `undo` and others."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from nagori.app import Nagori
from nagori.core.decay import LAWS, LEAST_SCORE, retention
from nagori.core.model import Category, Kind, Memory, Privacy, RelationType
from nagori.core.serialize import relation_record, to_record
from nagori.edges.cli.context import CommandSession, Id, Json, making_room, print_json, read_words
from nagori.errors import InvalidInput


class Feedback(StrEnum):
    UP = "up"
    DOWN = "down"


def edit(
    context: typer.Context,
    id: Id,
    text: Annotated[list[str] | None, typer.Argument(help="help.edit.text")] = None,
    trigger: Annotated[str | None, typer.Option(help="help.common.trigger")] = None,
    kind: Annotated[Kind | None, typer.Option(help="help.common.kind")] = None,
    category: Annotated[Category | None, typer.Option(help="help.common.category")] = None,
    privacy: Annotated[Privacy | None, typer.Option(help="help.common.privacy")] = None,
    project: Annotated[str | None, typer.Option(help="help.edit.project")] = None,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="help.edit.everywhere")] = False,
    as_json: Json = False,
) -> None:
    """Correct a memory."""
    session = CommandSession.of(context)
    content = read_words(text) if text else None
    if project is not None and everywhere:
        raise InvalidInput("project", "error.project_and_everywhere")
    place: dict[str, Any] = {} if project is None and not everywhere else {"project": project}
    with session.memory() as memory:
        changed = memory.edit(
            id, content=content, trigger=trigger, kind=kind, category=category, privacy=privacy, **place
        )
    _report_change(session, changed, as_json, "cli.edited")


def feedback(
    context: typer.Context,
    judgement: Annotated[Feedback, typer.Argument(help="help.thumb.judgement")],
    id: Id,
    as_json: Json = False,
) -> None:
    """Say whether a memory was useful: it grows stronger or weaker, once a day at most."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        before = memory.show(id)
        after = memory.feedback(before.id, good=judgement is Feedback.UP)
        was, now = (_importance(memory, one) for one in (before, after))
    ends = (100,) if judgement is Feedback.UP else (0, LEAST_SCORE)
    sentence = f"cli.thumb_{judgement}" if after.version != before.version else "cli.thumb_today"
    sentence = "cli.thumb_end" if after.version == before.version and now in ends else sentence
    _report_change(session, after, as_json, sentence, before=f"{was:.0f}", now=f"{now:.0f}")


def _importance(memory: Nagori, one: Memory) -> float:
    """What feedback moves: the intensity, or the score of the weekly law, which knows none."""
    config = memory.runtime.config
    if LAWS[config.retention.law].rejuvenates:
        return one.emotion.intensity
    return retention(one, memory.runtime.clock.now(), config.retention, config.weekly)


def protect(
    context: typer.Context,
    id: Id,
    release: Annotated[list[str] | None, typer.Option(help="help.protect.release")] = None,
    as_json: Json = False,
) -> None:
    """Never let a memory fade."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        before = memory.show(id).protected
        kept = making_room(session, memory, lambda: memory.protect(id, release or ()))
        n = memory.status().counts.protected
    limit = session.config.protection.max_protected_memories
    sentence = "cli.protected_already" if before else "cli.protected"
    _report_change(session, kept, as_json, sentence, n=n, limit=limit)


def unprotect(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Let a protected memory fade again."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        before = memory.show(id).protected
        after = memory.unprotect(id)
    _report_change(session, after, as_json, "cli.unprotected" if before else "cli.not_protected")


def link(
    context: typer.Context,
    id: Id,
    other: Annotated[str, typer.Argument(help="help.link.other")],
    type: Annotated[RelationType, typer.Option(help="help.link.type")] = RelationType.REFERENCES,
    as_json: Json = False,
) -> None:
    """Link a memory to another one."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        made = memory.link(id, other, type)
    if as_json:
        print_json({"relation": relation_record(made)})
    else:
        session.say("cli.linked", source=made.source, target=made.target, type=made.type)


def unlink(
    context: typer.Context,
    id: Id,
    other: Annotated[str, typer.Argument(help="help.link.other")],
    type: Annotated[RelationType | None, typer.Option(help="help.unlink.type")] = None,
    as_json: Json = False,
) -> None:
    """Remove the relations between two memories."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        removed = memory.unlink(id, other, type)
    if as_json:
        print_json({"removed": [relation_record(relation) for relation in removed]})
    else:
        session.say("cli.unlinked", n=len(removed))


def forget(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Hide a memory from every recall; undo brings it back."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        gone = memory.forget(id)
    _report_change(session, gone, as_json, "cli.forgotten", days=session.config.archive.grace_days)


def undo(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Take back the last change of a memory."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        back, what = memory.undo(id)
    said = "cli.undone_birth" if what in ("formed", "imported") else "cli.undone"
    _report_change(session, back, as_json, said, what=session.translator.event(what))


def _report_change(
    session: CommandSession, memory: Memory, as_json: bool, sentence: str, **values: object
) -> None:
    if as_json:
        print_json({"memory": to_record(memory)})
    else:
        session.say(sentence, id=memory.id, **values)
