"""A model that behaves: it answers what our prompts ask, from the words alone, as a good one would."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.scripted import Scripted

from nagori.app import Nagori
from nagori.config import Config
from nagori.config.sections import Llm
from nagori.core.value_object import replace

Json = dict[str, Any]


def data_of(body: Json) -> Any:
    """What our question is about."""
    return json.loads(body["messages"][-1]["content"])


def finding(place: int, **more: object) -> Json:
    plain = {"i": place, "intensity": 30, "valence": "neutral", "arousal": 40, "tags": [], "category": "work"}
    rest = {"kind": "episode", "importance": 20, "keywords": [], "corrects": None, "continues": None}
    return {**plain, **rest, **more}


def judging(judge: Callable[[Json], Json] = lambda passage: {}) -> Callable[[Json], str]:
    """Answers to `judge`; what `judge` says of a passage is changed in its finding."""

    def answer(body: Json) -> str:
        asked = [each for each in data_of(body) if each.get("judge")]
        return json.dumps({"items": [finding(each["i"], **judge(each)) for each in asked]})

    return answer


def shortening(shorten: Callable[[str], str] | None = None) -> Callable[[Json], str]:
    """Answers to `summary` and `trace`: the first sentence, the first words."""

    def answer(body: Json) -> str:
        items = []
        for each in data_of(body):
            text = each["content"]
            first = shorten(text) if shorten else text.split(". ")[0].split("。")[0] + "."
            if '"trace' in json.dumps(body) or "keyword" in body["messages"][0]["content"][:200]:
                items.append({"i": each["i"], "trigger": [], "content": first.split()[:6]})
            else:
                items.append({"i": each["i"], "trigger": "", "content": first})
        return json.dumps({"items": items}, ensure_ascii=False)

    return answer


def helped(
    folder: Any, server: Scripted, clock: Any, embedder: Any = None, config: Config | None = None, **more: Any
) -> Nagori:
    """A memory whose model is the scripted server."""
    given = {"timeout_seconds": 5.0, "max_attempts": 1, "model": "m", **more}
    provider = given.pop("provider", "openai")
    base = server.base if provider == "openai" else server.url
    llm = Llm(provider=provider, base_url=base, **given)
    return Nagori.open(folder, config=replace(config or Config(), llm=llm), clock=clock, embedder=embedder)
