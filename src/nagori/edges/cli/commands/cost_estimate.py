"""The command `cost`: estimate what models cost."""

from __future__ import annotations

from typing import Annotated

import typer

from nagori.config import Config
from nagori.core.cost_estimate import DAYS, Bill, Price, Usage, bill, price_of, prices
from nagori.core.value_object import Value, replace
from nagori.edges.cli import render
from nagori.edges.cli.context import CommandSession, Json, print_json

FREE = ("none", "local", "fastembed", "sentence-transformers")


class ConfiguredCost(Value):
    """What the settings ask for: the models that cost something, and those whose price nobody told us."""

    bills: list[Bill]
    unknown: list[str]

    @property
    def year(self) -> float:
        return sum(bill.year for bill in self.bills)


def cost(
    context: typer.Context,
    per_day: Annotated[float | None, typer.Option(min=0, help="help.cost.per_day")] = None,
    as_json: Json = False,
) -> None:
    """What language models cost you, or would: by month, year and stage."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        own = memory.usage()
    usage = own or Usage()
    if per_day is not None:
        usage = replace(usage, per_day=per_day)
    shares = session.config.compression
    mine = _configured_cost(session.config, usage)
    others = [bill(price, usage, shares) for price in prices()]
    if as_json:
        print_json(_json(usage, own is not None, mine, others))
        return
    basis = "given" if per_day is not None else "own" if own else "assumed"
    values = {"per_day": f"{usage.per_day:,.1f}", "characters": f"{usage.full:,.0f}"}
    session.say(f"cli.cost_{basis}", **values)
    _say_configured(session, mine)
    chosen = {each.price.model for each in mine.bills}
    session.out.print(render.cost_table(others, chosen, session.translator))


def paid_models(config: Config) -> tuple[list[Price], list[str]]:
    """Prices of the models that the settings ask for, and the names of those whose price is not known."""
    found: list[Price] = []
    unknown: list[str] = []
    asked = [(config.llm.provider, config.llm.model), (config.embedding.provider, config.embedding.chosen)]
    for provider, model in asked:
        if provider in FREE:
            continue
        price = price_of(model)
        if price is None or provider == "claude-cli":
            unknown.append(model if price is None else provider)
        else:
            found.append(price)
    return found, unknown


def _configured_cost(config: Config, usage: Usage) -> ConfiguredCost:
    found, unknown = paid_models(config)
    return ConfiguredCost([bill(price, usage, config.compression) for price in found], unknown)


def _say_configured(session: CommandSession, mine: ConfiguredCost) -> None:
    for name in mine.unknown:
        session.say("cli.cost_unknown", model=name)
    if not mine.bills:
        if not mine.unknown:
            session.say("cli.cost_nothing")
        return
    values = {
        "models": ", ".join(each.price.model for each in mine.bills),
        "month": render.dollars(sum(each.month for each in mine.bills)),
        "year": render.dollars(mine.year),
        "memory": render.dollars(sum(each.memory for each in mine.bills)),
    }
    session.say("cli.cost_configured", **values)
    cap = session.config.llm.daily_cap_usd  # of language models; vectors do not count
    day = sum(each.year for each in mine.bills if each.price.does == "llm") / DAYS
    if day > cap:
        session.say("cli.cost_capped", day=render.dollars(day), cap=render.dollars(cap))


def _json(usage: Usage, own: bool, mine: ConfiguredCost, others: list[Bill]) -> dict[str, object]:
    return {
        "usage": {**vars(usage), "own": own},
        "configured": {"models": [render.bill_json(each) for each in mine.bills], "unknown": mine.unknown},
        "models": [render.bill_json(each) for each in others],
    }
