"""What a prompt is after: the user's own matters, general knowledge, or a secret that is never kept.

Somebody who asks for the capital of a country needs no memory. A small head over the question's vector tells
that from "what port did we put it on"; `bench/train_prompts.py` learned it from prompts written for it.
"""

from __future__ import annotations

import re
from functools import cache

from nagori.language.learned_heads import head_score

UNKNOWN = 75.0  # without a vector a prompt counts as one about the user's own matters


def own_matter(vector: bytes | None, model: str | None = None) -> float:
    """How likely a prompt is about the user's own matters, about 0 to 100."""
    score = None if vector is None else head_score("prompts", vector, model)
    return UNKNOWN if score is None else max(0.0, min(100.0, score))


def asks_for_secret(text: str) -> bool:
    """Does it ask for a password, key or token? None is kept, so none can be told."""
    return _asks_for_secret().search(text) is not None


@cache
def _asks_for_secret() -> re.Pattern[str]:
    named = (
        r"(?:pass ?(?:word|code|phrase)s?|(?:api|access|secret|licen[cs]e|private|signing) ?keys?|tokens?"
        r"|credentials?|pins?(?: code)?|cvv|secrets?)"
    )
    asked = (
        r"(?:what(?:'s|s| is| was| were| are)|which (?:is|was)|tell me|give me|show me|remind me of"
        r"|do you (?:know|have|remember|recall))"
    )
    japanese = (
        "(?:パスワード|パスコード|暗証番号|合言葉|アクセスキー|シークレット(?:キー)?|秘密鍵|トークン|APIキー)"
        "[^。\n]{0,30}(?:何|なん|教え|おしえ|出して|覚えて|っけ|わかる|ちょうだい|貼って|見せて|[?？])"
    )
    about = "bucket|limit|count|budget|manager|rotation|polic"  # a token limit is no secret
    return re.compile(
        rf"\b{asked}\b[^.?!\n]{{0,60}}\b{named}\b(?! (?:{about}))"
        rf"|\b{named}\b[^.?!\n]{{0,30}}\bagain\b[^.\n]{{0,40}}\?|{japanese}",
        re.IGNORECASE,
    )
