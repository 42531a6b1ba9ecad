"""Client for language models: every request of every stage goes through `ask`.

    reserve the maximum cost → request, outside any lock → settle the real cost → parse the answer as data

Callers have a fallback without a model [ruling 37]. ModelError: no answer (server, key, daily limit);
Unusable: an answer that does not match the request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from nagori.config.sections import Llm
from nagori.core.cost_estimate import Price, Tokens, price_of, prices
from nagori.core.llm import CompletionRequest, Prompt, Reply
from nagori.core.value_object import clean_text
from nagori.errors import ModelError, Notice, UnusableAnswer
from nagori.language.llm_answer_checks import exactly, fits
from nagori.language.passages import about_tokens
from nagori.language.tokenizer import is_japanese
from nagori.runtime import Runtime
from nagori.spend import SpendEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = Mapping[str, Any]

TIMED_OUT = "seconds"  # the error value with the time waited
# Refusals of this request only: too long, or its content. In halves it may be accepted.
ABOUT_THE_QUESTION = (400, 413, 422)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def ask(
    runtime: Runtime, stage: str, data: object, schema: Schema, most: int, places: Sequence[int] = ()
) -> Any:
    """The model's answer to the prompt `stage` about `data`, in the form of `schema`. `places` are the
    expected item numbers; `most` is the maximum length in tokens."""
    question = question_of(runtime, stage, data, schema, most, places)
    return answer_of(_ask_within_cap(runtime, stage, question), schema)


def question_of(
    runtime: Runtime, stage: str, data: object, schema: Schema, most: int, places: Sequence[int] = ()
) -> CompletionRequest:
    """The request of a stage about `data`. No character of the data can close its frame."""
    told = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    count = len(data) if isinstance(data, list) else 1
    shape = exactly(schema, places) if places else schema
    return CompletionRequest(
        Prompt(task(stage, told), told), shape, min(most, count * runtime.config.llm.max_tokens)
    )


def answer_of(reply: Reply, schema: Schema) -> Any:
    """A reply as data that matches the schema; Unusable if it does not."""
    value = _read(reply)
    fault = fits(value, schema)
    if fault:
        raise UnusableAnswer(
            "error.model_answer", model=reply.model, reason=Notice("answer.shape", fault=fault)
        )
    return value


def task(stage: str, data: str) -> str:
    """The prompt of a stage, in the language of the data."""
    return _prompt(stage, "ja" if is_japanese(data) else "en")


@cache
def _prompt(stage: str, language: str) -> str:
    return files("nagori.services.llm").joinpath("prompts", f"{stage}.{language}.txt").read_text("utf-8")


def ask_tokens(stage: str, schema: Schema | None) -> int:
    """Approximate tokens of a request without data: the longer of the two languages."""
    prompts = (_prompt(stage, language) for language in ("en", "ja"))
    return max(map(about_tokens, prompts)) + about_tokens(json.dumps(schema))


def price_for(config: Llm) -> Price:
    """The price of the configured model. An unknown model is free on this machine, and elsewhere costs as
    much as the most expensive known one, so that the daily limit is never exceeded."""
    known = price_of(config.model) or _assumed_price(config)
    given = (config.price_in, config.price_out)
    if max(given) < 0:
        return known
    into, out = (
        own if own >= 0 else table for own, table in zip(given, (known.input, known.output), strict=True)
    )
    return Price(config.model, "llm", into, out, known.tokens)


def _assumed_price(config: Llm) -> Price:
    try:
        host = urlsplit(config.base_url).hostname
    except ValueError:
        host = None
    if host in _LOOPBACK:
        return Price(config.model, "llm", 0.0, 0.0)
    return max((price for price in prices() if price.does == "llm"), key=lambda price: price.output)


def dearest(runtime: Runtime, stage: str, question: CompletionRequest) -> tuple[int, float]:
    """Approximate tokens of a request, and its maximum cost."""
    price = price_for(runtime.config.llm)
    read = round((about_tokens(question.prompt.data) + ask_tokens(stage, question.schema)) * price.tokens)
    return read, cost_of(price, read, question.max_tokens)


def _ask_within_cap(runtime: Runtime, stage: str, question: CompletionRequest) -> Reply:
    llm, price = runtime.llm, price_for(runtime.config.llm)
    assert llm is not None
    asked, most = dearest(runtime, stage, question)
    hold = runtime.spend.hold(now(runtime), stage, llm.model, most, runtime.config.llm.daily_cap_usd)
    try:
        reply = llm.complete(question.prompt, question.schema, question.max_tokens)
    except ModelError as trouble:
        _settle(runtime, hold, _book_failure(runtime, stage, trouble, price, asked, most))
        runtime.observe("model.failed", stage=stage, reason=trouble.notice)
        if trouble.values.get("status") in ABOUT_THE_QUESTION:
            raise UnusableAnswer("error.model_answer", model=llm.model, reason=trouble.notice) from None
        raise
    read, written = tokens_of(reply, asked)
    _settle(
        runtime,
        hold,
        SpendEntry(now(runtime), stage, llm.model, cost_of(price, read, written), read, written),
    )
    return reply


def tokens_of(reply: Reply, asked: int) -> tuple[int, int]:
    """Input and output tokens as reported by the server, or else estimated."""
    return reply.input_tokens or asked, reply.output_tokens or about_tokens(reply.text)


def _settle(runtime: Runtime, hold: str, asked: SpendEntry) -> None:
    runtime.spend.settle(asked.at, hold, asked)


def now(runtime: Runtime) -> datetime:
    """The time in UTC, so that all processes share one day for the daily limit."""
    return runtime.clock.now()


def _book_failure(
    runtime: Runtime, stage: str, trouble: ModelError, price: Price, asked: int, most: float
) -> SpendEntry:
    """The booking of a request without a usable answer: the server's figures, nothing if it was rejected,
    else the maximum. The count is never too low."""
    read = written = 0
    if isinstance(trouble, UnusableAnswer) and trouble.output_tokens:
        read, written = trouble.input_tokens or asked, trouble.output_tokens
        spent = cost_of(price, read, written)
    else:
        spent = 0.0 if trouble.turned_away else most
    model = runtime.config.llm.model
    return SpendEntry(now(runtime), stage, model, spent, read, written, fault=trouble.message_id)


def cost_of(price: Price, read: float, written: float) -> float:
    """US dollars for tokens as counted by the model."""
    return Price(price.model, "llm", price.input, price.output).of(Tokens(read, written))


def _read(reply: Reply) -> Any:
    """The JSON value of the answer; a code fence around it is accepted, because many models add one."""
    text = reply.text.removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        return _fit(json.loads(text))
    except (ValueError, RecursionError):
        raise UnusableAnswer(
            "error.model_answer", model=reply.model, reason=Notice("answer.not_json")
        ) from None


def _fit(value: Any) -> Any:
    """The same value with valid texts: JSON may contain half a surrogate pair."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_fit(each) for each in value]
    return {name: _fit(each) for name, each in value.items()} if isinstance(value, dict) else value
