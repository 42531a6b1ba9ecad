"""Many texts in a few words of a language model: of a session, or of what is left out of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from nagori.core.answers import strays
from nagori.core.pieces import about_tokens
from nagori.parts import Parts
from nagori.services.ask import ask

READ, LONGEST = 8000, 4000  # tokens that a model is shown, characters of one text
SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string", "maxLength": 4000}},
    "required": ["summary"],
    "additionalProperties": False,
}


def retold(parts: Parts, stage: str, texts: Sequence[str], tokens: int) -> str:
    """These texts in a model's words, within `tokens`; empty when it strays from them, or where there is
    nothing to shorten. ModelError when it does not answer."""
    shown = _shown(texts)
    if sum(map(about_tokens, shown)) <= tokens:
        return ""
    told = ask(parts, stage, {"texts": shown, "tokens": tokens}, SCHEMA, 100 + 2 * tokens)["summary"]
    plain = " ".join(told.split())
    return "" if about_tokens(plain) > tokens or strays(plain, "\n".join(shown)) else plain


def _shown(texts: Sequence[str]) -> list[str]:
    """What a model is shown: of too much, the end, where things were settled."""
    shown: list[str] = []
    room = READ
    for text in reversed(texts):
        room -= about_tokens(text)
        if room < 0 and shown:
            break
        shown.append(text[:LONGEST])
    return shown[::-1]
