"""Commands for the language model: `appraise`, `spend`."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from nagori.app import Nagori
from nagori.core.value_object import Value
from nagori.edges.cli import render
from nagori.edges.cli.context import CommandSession, Json, moment, print_json, progress
from nagori.errors import InvalidInput, Notice
from nagori.spend import SpendDay


def appraise(
    context: typer.Context,
    since: Annotated[str | None, typer.Option(help="help.judge.since")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="help.judge.dry_run")] = False,
    as_json: Json = False,
) -> None:
    """Let the configured model judge what only rules have judged so far."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        if memory.runtime.llm is None:
            raise InvalidInput("llm.provider", "error.no_model")
        then = moment(since, "since")
        if dry_run:
            _tell(session, memory.estimate_appraisal(then), "cli.judge_estimate", as_json)
            return
        with progress(session) as bar:
            done = memory.appraise(then, bar)
    _tell(session, done, "cli.judge_done", as_json)
    if done.by_rules and not as_json:
        session.say("cli.judge_by_rules", n=len(done.by_rules))
    if done.trouble:
        if not as_json:
            session.say("cli.judge_trouble", reason=done.trouble, n=done.waiting)
        raise typer.Exit(8)


def spend(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=400, help="help.spend.days")] = 30,
    as_json: Json = False,
) -> None:
    """What models were asked and what it cost, day by day."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        told = memory.runtime.spend.days(_today(memory), days)
        cap = memory.runtime.config.llm.daily_cap_usd
    if as_json:
        print_json({"cap_usd": cap, "days": [_day_json(day) for day in told]})
    elif not told:
        session.say("cli.spend_nothing", days=days)
    else:
        session.out.print(render.spend_table(told, session.translator))
        session.say(
            "cli.spend_total", usd=render.dollars(sum(day.usd for day in told)), cap=render.dollars(cap)
        )


def _today(memory: Nagori) -> date:
    clock = memory.runtime.clock
    return clock.now().date()


def _tell(session: CommandSession, told: Value, name: str, as_json: bool) -> None:
    if as_json:
        print_json(
            {name: str(value) if isinstance(value, Notice) else value for name, value in vars(told).items()}
        )
    else:
        session.say(name, **vars(told))


def _day_json(day: SpendDay) -> dict[str, object]:
    sums = [{"stage": stage, "model": model, **vars(each)} for (stage, model), each in day.sums.items()]
    return {"day": day.day.isoformat(), "usd": day.usd, "questions": day.questions, "stages": sums}
