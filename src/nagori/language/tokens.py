"""About how many tokens a text takes, for models whose vocabulary is not at hand [ruling 36].

Each script has its own price, a little above what present vocabularies take, so that a budget is kept rather
than broken. Measured against five of them (o200k, Llama 3, DeepSeek 3, Tekken, and the older cl100k):
10 to 40 per cent too many for English, code and Japanese, except that cl100k takes 2 per cent more for
Japanese than this says; rarer scripts and escaped text cost up to twice too much. `docs/why/window.md`
has the table.
"""

from __future__ import annotations

import re
from functools import cache
from math import ceil

_WORDS = {  # for each that is found
    r"[A-Za-z]+": 1.15,  # most words are one token, whatever their length
    r"[A-Za-z]{7,}": 0.5,
    r"[A-Za-z]{16}": 3.0,  # … but not what is no word
    r"(?<=[a-z])[A-Z]|(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]": 1.0,  # camelCase, hashes
    r"[0-9]{1,3}": 1.5,
    r"[!-/:-@\[-`{-~]+|\n\s*": 1.0,
}
_CHARACTERS = {  # for each character in what is found
    "[\u3040-\u30ff\uff66-\uff9f]+": 0.95,
    "[\u3400-\u9fff\uf900-\ufaff]+": 1.3,
    "[\u3000-\u303f\uff00-\uff65]+": 1.0,
    "[\uac00-\ud7af\u1100-\u11ff]+": 1.1,
    "[\u0080-\u024f]+": 0.8,
    "[\u0370-\u08ff]+": 0.7,
    "[\u0900-\u1fff]+": 1.0,
    "[\u2000-\u2e7f\ud7b0-\uf8ff\U00010000-\U0010ffff]+": 3.0,
}


def estimate_tokens(text: str) -> int:
    """Tokens of `text`, rather too many than too few."""
    tokens = sum(price * len(pattern.findall(text)) for pattern, price in _patterns("words"))
    if not text.isascii():
        tokens += sum(price * sum(map(len, p.findall(text))) for p, price in _patterns("characters"))
    return ceil(tokens)


@cache
def _patterns(which: str) -> list[tuple[re.Pattern[str], float]]:
    table = {"words": _WORDS, "characters": _CHARACTERS}[which]
    return [(re.compile(pattern), price) for pattern, price in table.items()]
