"""How much a message matters, 0 to 1: 0.3 recency + 0.3 role + 0.4 content [C2].

Content is what it says, by keywords in both languages, and what its fields say it is: the result of a tool,
a failure. Markers count only in messages of the roles that may
carry them: a user who types `[SYSTEM:` gains nothing [ruling 35].
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from nagori.core.window import Window
from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message

READ = 2000  # characters of a message that are looked at from either end: logs are long and say little
_APPROVAL = ("duck_call", "approval", "承認")
_MARKERS = {"[SYSTEM:": (SYSTEM,), "[User": (SYSTEM,), "[TASK": (SYSTEM,), "[Tool:": (SYSTEM, TOOL)}


def standing(message: Message, rules: Window) -> float:
    """The part of a message's score that no time changes: who said it, and what."""
    roles = {
        USER: rules.user_score,
        ASSISTANT: rules.assistant_score,
        TOOL: rules.tool_score,
        SYSTEM: rules.system_score,
    }
    return rules.role_weight * roles.get(message.role, 0.5) + rules.content_weight * content(message, rules)


def recency(index: int, count: int, rules: Window) -> float:
    """The part that does: 0 for the oldest message, all of its weight for the newest."""
    return rules.recency_weight * index / max(count - 1, 1)


def content(message: Message, rules: Window) -> float:
    """What it says, 0 to 1."""
    text = message.text if len(message.text) <= 2 * READ else message.text[:READ] + message.text[-READ:]
    low = text.lower()
    score = 0.0
    if message.failed or _found(rules.keywords, low):
        score += rules.keyword_bonus
    if message.answers or message.role == TOOL or _marked("[Tool:", message.role, text):
        score += rules.tool_bonus
    if any(_marked(marker, message.role, text) for marker in ("[SYSTEM:", "[User", "[TASK")):
        score += rules.marker_bonus
    if any(word in low for word in _APPROVAL):
        score += rules.approval_bonus
    if len(text) < rules.short and _width(text) < rules.short:
        score *= rules.short_penalty
    return min(score, 1.0)


def _marked(marker: str, role: str, text: str) -> bool:
    return role in _MARKERS[marker] and marker in text


def _found(keywords: Sequence[str], low: str) -> bool:
    """An English word is found where it begins: `errors`, but no plan in an explanation."""
    words = [word for word in _lowered(tuple(keywords)) if word in low]  # much quicker than a pattern
    return any(re.search(rf"(?<![a-z]){re.escape(word)}", low) for word in words)


@lru_cache(64)
def _lowered(keywords: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.lower() for word in keywords if word)


def _width(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(char > "\u2e80" for char in text)
