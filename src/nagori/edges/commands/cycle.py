"""The life of memories: `cycle`, `archive`, `unarchive`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from nagori.core.cycle import Plan
from nagori.core.model import Memory
from nagori.core.record import to_record
from nagori.edges.session import Id, Json, Session, print_json, progress
from nagori.services.cycle import Night

EXAMPLES = 3  # of each kind of step in a plan that is only shown


def cycle(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done, and why.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Also if very much would move.")] = False,
    as_json: Json = False,
) -> None:
    """Let one night pass: strengthen, fade, archive, revive."""
    session = Session.of(context)
    with session.memory() as memory, progress(session) as bar:
        plan = memory.plan()
        if dry_run:
            _show(session, plan, as_json)
            return
        if plan.asks and not yes:
            session.say("cycle_asks", moves=plan.moves, total=plan.census.total)
            raise typer.Exit(5)
        night = memory.cycle(plan, bar)
    if as_json:
        print_json(_night_json(night))
    elif not plan.steps:
        session.say("cycle_nothing")
    else:
        session.out.print(_table(session, plan))
        session.say("cycle_done", done=night.done, left=len(night.left))


def archive(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Put a memory away; it can still be found and brought back."""
    _move(context, "archive", id, as_json)


def unarchive(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Bring a memory back whole, while its full words are kept."""
    _move(context, "unarchive", id, as_json)


def _move(context: typer.Context, verb: str, id: str, as_json: bool) -> None:
    session = Session.of(context)
    with session.memory() as memory:
        moved: Memory = getattr(memory, verb)(id)
    if as_json:
        print_json({"memory": to_record(moved)})
    else:
        session.say(f"{verb}d", id=moved.id)


def _show(session: Session, plan: Plan, as_json: bool) -> None:
    if as_json:
        print_json(_plan_json(plan))
        return
    session.out.print(_table(session, plan))
    for act, reason in sorted(plan.counts()):
        for step in [s for s in plan.steps if (s.act, s.reason) == (act, reason)][:EXAMPLES]:
            said = session.voice(f"because_{step.reason}", score=f"{step.score:.1f}")
            act_said = session.voice(f"act_{step.act}")
            session.out.print(f"  {act_said} {step.id}: {said}", markup=False, highlight=False)
    session.say("cycle_shown")


def _table(session: Session, plan: Plan) -> Table:
    table = Table(box=None)
    for title in ("act", "reason", "n"):
        table.add_column(session.voice(f"column_{title}"), justify="right" if title == "n" else "left")
    for (act, reason), count in sorted(plan.counts().items()):
        table.add_row(
            session.voice(f"act_{act}"), session.voice(f"because_{reason}", score="…"), f"{count:,}"
        )
    return table


def _plan_json(plan: Plan) -> dict[str, object]:
    steps = [
        {"id": s.id, "act": s.act, "reason": s.reason, "score": round(s.score, 3), "level": s.level}
        for s in plan.steps
    ]
    levels = {level.name.lower(): count for level, count in sorted(plan.census.levels.items())}
    return {
        "now": plan.now.isoformat(),
        "levels": levels,
        "moves": plan.moves,
        "asks": plan.asks,
        "steps": steps,
    }


def _night_json(night: Night) -> dict[str, object]:
    counts = [{"act": a, "reason": r, "n": n} for (a, r), n in sorted(night.plan.counts().items())]
    sizes = {"bytes_before": night.bytes_before, "bytes_after": night.bytes_after}
    return {"done": night.done, "left": night.left, "ties": night.ties, "counts": counts, **sizes}
