"""Clauses of a text that only ask to keep the rest of it. Apart from `speech_acts`, whose patterns are many: the start
of every session reads these."""

# ruff: noqa: E501 — a pattern is easier to read in one piece
from __future__ import annotations

import re
from functools import cache


def without_plea(text: str) -> str:
    """A text without the clauses that only ask to keep the rest of it: "don't forget that one please",
    「これ忘れないでほしい。」."""
    return " ".join(_plea().sub(" ", text).split()) or text


@cache
def _plea() -> re.Pattern[str]:
    clause = r"(?:^|(?<=[.!?;:,])\s+)(?:(?:and|so|but|oh|ok|right|also)\b,?\s+){0,2}"
    ask = r"(?:please\s+)?(?:do(?:n['’]?t| not) (?:ever )?forget|remember|keep(?: hold of)?)"
    point = r"(?:this|that|it)(?: one)?(?: for good| ever| please| for me| in mind)*"
    japanese = (
        "(?:これ|それ|ここ)?(?:だけ)?(?:は|も|、)?(?:絶対|ずっと|必ず)?に?"
        "(?:忘れないで|覚えと?いて|覚えておいて)(?:ほしい|欲しい|ください|下さい|くれ)?(?:ね|よ|です)?"
    )
    return re.compile(
        rf"{clause}{ask} {point}(?:, it (?:matters|is important))?\s*(?:[.!:]+|$)"
        rf"|(?:^|(?<=[。、!？！\s])){japanese}(?:[。!！]+|ん(?:だ|です)(?:けど|が)、|$)",
        re.IGNORECASE,
    )
