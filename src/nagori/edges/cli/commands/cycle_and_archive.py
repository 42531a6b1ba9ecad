"""Commands of the life cycle: `cycle`, `archive`, `unarchive`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from nagori.core.cost_estimate import Price, Tokens
from nagori.core.cycle import CyclePlan
from nagori.core.model import Memory
from nagori.core.serialize import to_record
from nagori.edges.cli.commands.cost_estimate import paid_models
from nagori.edges.cli.context import CommandSession, Id, Json, print_json, progress
from nagori.edges.cli.render import dollars, one_line, size
from nagori.errors import InvalidInput, Notice
from nagori.services.cycle import CycleReport, note_stopped
from nagori.services.preview_next_cycle import Preview


def cycle(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="help.cycle.dry_run")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="help.cycle.yes")] = False,
    all: Annotated[bool, typer.Option("--all", help="help.cycle.all")] = False,
    as_json: Json = False,
) -> None:
    """Let one night pass: strengthen, fade, archive, revive."""
    session = CommandSession.of(context)
    if all:
        if dry_run:
            raise InvalidInput("all", "error.all_with_dry_run")
        _cycle_all(session, yes, as_json)
        return
    with session.memory() as memory, progress(session) as bar:
        plan = memory.plan()
        if dry_run:
            _show(session, memory.preview(plan), as_json)
            return
        if plan.asks and not yes:
            note_stopped(memory.runtime, memory.scope.owner, plan)
            session.say("cli.cycle_asks", moves=plan.moves, total=plan.census.total)
            raise typer.Exit(5)
        night = memory.cycle(plan, bar)
    if as_json:
        print_json(_night_json(night))
    elif not plan.steps:
        session.say("cli.cycle_nothing")
    else:
        session.out.print(_table(session, plan))
        session.say("cli.cycle_done", done=night.done, left=len(night.left))
        if night.waiting:
            why = next(iter(night.waiting.values()))
            session.say("cli.cycle_waiting", n=len(night.waiting), reason=why)
    if plan.over and not as_json:
        session.say("cli.cycle_over", n=plan.over, limit=session.config.capacity.limit)


def _cycle_all(session: CommandSession, confirmed: bool, as_json: bool) -> None:
    """The cycle of every user; a stopped or failed one shows in the exit code."""
    with session.memory() as memory, progress(session) as bar:
        reports = memory.cycle_all(confirmed=confirmed, progress=bar)
    stopped = any(isinstance(report, Notice) for report in reports.values())
    if as_json:
        told = [
            {"tenant": tenant, "user": user, **_report_json(report)}
            for (tenant, user), report in reports.items()
        ]
        print_json({"owners": told})
    for (tenant, user), report in reports.items() if not as_json else ():
        done = (
            session.translator("cli.cycle_done", done=report.done, left=len(report.left))
            if isinstance(report, CycleReport)
            else session.translator.say(report)
        )
        session.out.print(f"{tenant}/{user}: {done}", markup=False, highlight=False)
    if stopped:
        raise typer.Exit(5)


def _report_json(report: CycleReport | Notice) -> dict[str, object]:
    return {"stopped": str(report)} if isinstance(report, Notice) else _night_json(report)


def archive(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Put a memory away; it can still be found and brought back."""
    _move(context, "archive", "cli.archived", id, as_json)


def unarchive(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Bring a memory back whole, while its full words are kept."""
    _move(context, "unarchive", "cli.unarchived", id, as_json)


def _move(context: typer.Context, verb: str, message: str, id: str, as_json: bool) -> None:
    session = CommandSession.of(context)
    with session.memory() as memory:
        moved: Memory = getattr(memory, verb)(id)
    if as_json:
        print_json({"memory": to_record(moved)})
    else:
        session.say(message, id=moved.id)


def _show(session: CommandSession, told: Preview, as_json: bool) -> None:
    if as_json:
        print_json(_preview_json(session, told))
    elif not told.plan.steps:
        session.say("cli.cycle_nothing")
    else:
        session.out.print(_table(session, told.plan))
        _show_examples(session, told)
        _show_worth(session, told)
        session.say("cli.dry_run")


def _show_examples(session: CommandSession, told: Preview) -> None:
    for kind in told.kinds:
        session.out.print()
        for step, memory in kind.examples:
            because = session.translator(f"reason.{step.reason}", score=f"{step.score:.1f}")
            act = session.translator(f"step.{step.act}")
            if step.act == "compress" and step.level:
                act += f" → {session.translator(f'level.name{int(step.level)}')}"
            session.out.print(f"{act} {step.id}: {because}", markup=False, highlight=False)
            session.out.print(Text(f"  {one_line(memory)}", style="dim", no_wrap=True, overflow="ellipsis"))
        if kind.n > len(kind.examples):
            session.say("cli.preview_more", n=kind.n - len(kind.examples))


def _show_worth(session: CommandSession, told: Preview) -> None:
    """What it saves, and what it costs."""
    session.out.print()
    if told.shortened:
        basis = session.translator(
            "cli.preview_exact" if told.exact else "cli.preview_sample", looked=told.looked
        )
        sizes = {"before": size(told.before), "after": size(told.after), "n": told.shortened}
        session.say("cli.preview_saves", saved=size(max(0, told.before - told.after)), basis=basis, **sizes)
    if told.purged:
        session.say("cli.preview_purges", n=told.purged, freed=size(told.freed))
    prices, unknown = paid_models(session.config)
    for model in unknown:
        session.say("cli.cost_unknown", model=model)
    if prices:
        models = ", ".join(price.model for price in prices)
        session.say("cli.preview_costs", models=models, usd=dollars(_compression_cost(prices, told.written)))
    elif not unknown:
        session.say("cli.preview_free")


def _compression_cost(prices: list[Price], written: Tokens) -> float:
    """A language model reads the long words and writes the short ones; a model of vectors reads the short."""
    vectors = Tokens(written.output, 0.0)
    return sum(price.of(written if price.does == "llm" else vectors) for price in prices)


def _table(session: CommandSession, plan: CyclePlan) -> Table:
    table = Table(box=None)
    for title in ("act", "reason", "n"):
        table.add_column(session.translator(f"column.{title}"), justify="right" if title == "n" else "left")
    for (act, reason), count in sorted(plan.counts().items()):
        table.add_row(
            session.translator(f"step.{act}"), session.translator(f"reason.{reason}", score="…"), f"{count:,}"
        )
    return table


def _preview_json(session: CommandSession, told: Preview) -> dict[str, object]:
    plan = told.plan
    prices, unknown = paid_models(session.config)
    return {
        "now": plan.now.isoformat(),
        "levels": {level.name.lower(): count for level, count in sorted(plan.census.levels.items())},
        "moves": plan.moves,
        "asks": plan.asks,
        "counts": _counts_json(plan),
        "examples": [
            {"id": step.id, "act": step.act, "reason": step.reason, "words": one_line(memory)}
            for kind in told.kinds
            for step, memory in kind.examples
        ],
        "saves": {
            "shortened": told.shortened,
            "measured_on": told.looked,
            "bytes_before": told.before,
            "bytes_after": told.after,
            "purged": told.purged,
            "bytes_purged": told.freed,
        },
        "cost": {
            "models": [price.model for price in prices],
            "unknown": unknown,
            "tokens_read": round(told.written.input),
            "tokens_written": round(told.written.output),
            "usd": round(_compression_cost(prices, told.written), 6),
        },
        "steps": [
            {"id": s.id, "act": s.act, "reason": s.reason, "score": round(s.score, 3), "level": s.level}
            for s in plan.steps
        ],
    }


def _counts_json(plan: CyclePlan) -> list[dict[str, object]]:
    return [{"act": act, "reason": reason, "n": n} for (act, reason), n in sorted(plan.counts().items())]


def _night_json(night: CycleReport) -> dict[str, object]:
    sizes = {"bytes_before": night.bytes_before, "bytes_after": night.bytes_after}
    counts = _counts_json(night.plan)
    waiting = {id: str(why) for id, why in night.waiting.items()}
    model = {"by_model": night.by_model, "waiting": waiting}
    relations = {"ties": night.ties, "unlinked": night.unlinked}
    over = {"over_capacity": night.plan.over}
    return {"done": night.done, "left": night.left, **relations, "counts": counts, **over, **sizes, **model}
