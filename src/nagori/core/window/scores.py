"""The score of a message: 0.3 recency + 0.3 role + 0.4 content [C2], times its information.

The content score comes from keywords in both languages and from fields: a tool result, a failure. Markers
count only in system messages, so a user who types `[SYSTEM:` gains nothing [ruling 35].

These three parts hardly differ between messages of the same age. So the sum is multiplied by the information
in the message: its names, numbers, dates and terms, outside questions. Standing instructions and decisions
weigh more. User messages weigh more where agents write most of the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from nagori.core.window import Window
from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message

READ = 2000  # characters of a message that are looked at from either end: logs are long and say little
WEIGHED = 600  # characters of a message whose information is weighed
LEAST = 0.1  # information of a message that has none
RESULT = 0.3  # information of a tool's result: full of names and numbers, whatever it says
RARE = 0.6  # least information of a user's words, the fewer of them there are
ALONE = 0.8  # share of the words of others from which an agent works alone on what users said
_ENDS = 300  # characters from either end of a result in which its failure is told
_SHORT = 400  # characters of a result that is an answer, not a document
_SIGNS = re.compile(  # one of them is in every failure: found much sooner than the whole pattern
    "error|exception|traceback|fail|fatal|panic|denied|not found|no such|exit|http/|err!"
    "|エラー|失敗|例外|見つかりません|拒否"
)
_FAILURE = re.compile(  # as programs say it, in small letters
    r"(?:error|exception)\b|\b(?:traceback|failed|failure|fatal|panicked|denied|not found|no such)\b"
    r"|\bexit(?:ed)? (?:with )?(?:code|status):? [1-9]|\bhttp/[0-9.]+ [45][0-9]{2}\b|\berr!"
    "|エラー|失敗|例外|見つかりません|拒否"
)
_REFUSAL = re.compile(  # as short answers say it, in small letters
    r"\b(?:declined|rejected|refused|forbidden|unauthori[sz]ed|unavailable|killed|aborted|crash\w*|\w+backoff"
    r"|timed out|timeout|exceeded|expired|invalid|unable to|cannot|can't|could not|couldn't|did not|must not"
    r"|not (?:allowed|supported|permitted|available|installed)|requires an?|conflicts?|too many"
    r"|be more specific"
    r"|unexpected|undefined|unknown|missing|mismatch|out of memory|no space|broken pipe|segmentation fault)\b"
    r"|\b[45][0-9]{2} [a-z]"
    "|ません|できない|できず|無効|期限切れ|タイムアウト|重複|権限"
)
_CLAUSE = r"(?:^|[.!?:;,。、！？\n—–-]\s*|\b(?:and|but|please|also|you|you should|you must|so|then)\s+)"


_ROLE_SCORES = {
    USER: "user_score",
    ASSISTANT: "assistant_score",
    TOOL: "tool_score",
    SYSTEM: "system_score",
}


def fixed_score(message: Message, rules: Window) -> float:
    """The part of a score that does not change with time: role and content."""
    name = _ROLE_SCORES.get(message.role)
    role = 0.5 if name is None else getattr(rules, name)
    return rules.role_weight * role + rules.content_weight * content(message, rules)


def recency(index: int, count: int, rules: Window) -> float:
    """The part of a score that changes with time: 0 for the oldest message, its weight for the newest."""
    return rules.recency_weight * index / max(count - 1, 1)


def content(message: Message, rules: Window) -> float:
    """The content score, 0 to 1."""
    text = message.text if len(message.text) <= 2 * READ else message.text[:READ] + message.text[-READ:]
    low, score = text.lower(), 0.0
    if message.failed or _has_any(rules.keywords, low):
        score += rules.keyword_bonus
    if message.answers or message.role == TOOL or _has_marker(rules.tool_markers, message, text):
        score += rules.tool_bonus
    if _has_marker(rules.markers, message, text):
        score += rules.marker_bonus
    if _any_of(tuple(rules.approvals)).search(low):
        score += rules.approval_bonus
    if len(text) < rules.short and _width(text) < rules.short:
        score *= rules.short_penalty
    return min(score, 1.0)


def _has_marker(markers: Sequence[str], message: Message, text: str) -> bool:
    return message.role == SYSTEM and any(marker in text for marker in markers)


def _has_any(keywords: Sequence[str], low: str) -> bool:
    """Whether a keyword occurs. English ones match where a word starts: `errors`, but not `explanation`."""
    keywords = tuple(keywords)
    return bool(_any_of(keywords).search(low) and _at_word_start(keywords).search(low))


@lru_cache(8)
def _at_word_start(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?:{_any_of(words).pattern})")


@lru_cache(64)
def _to_lower(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words if word)


def _width(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(char > "\u2e80" for char in text)


# --- its information ------------------------------------------------------------------------------


def _has_question_mark(text: str) -> bool:
    return text.rstrip().endswith(("?", "？"))


def _is_never(text: str) -> bool:
    return False


def _count_words(text: str) -> float:
    return float(len(text.split()))


class TextFeatures(NamedTuple):
    """Functions that read features from a text. The defaults know no language; `language` has better ones."""

    topic_words: Callable[[str], Iterable[str]] = str.split  # the words that say what it is about
    is_question: Callable[[str], bool] = _has_question_mark
    is_smalltalk: Callable[[str], bool] = _is_never
    is_decision: Callable[[str], bool] = _is_never
    information: Callable[[str], float] = _count_words  # the weight of its names, numbers and terms


PLAIN = TextFeatures()


class Substance(NamedTuple):
    """The information of a message, 0.1 to 1.1, and whether it is a standing instruction or a decision."""

    information: float
    is_instruction: bool = False
    is_decision: bool = False


def substance_of(message: Message, rules: Window, features: TextFeatures = PLAIN) -> Substance:
    """The substance of a message. Results of tools are full of names and numbers, whatever they say."""
    if message.role == TOOL:
        return Substance(LEAST + RESULT)
    text = message.words[:WEIGHED]
    return Substance(
        LEAST + min(1.0, features.information(text) / rules.information_scale),
        message.role in (USER, SYSTEM) and instructs(text, rules),
        features.is_decision(text),
    )


def emphasis(role: str, substance: Substance, rules: Window, rarity: float) -> float:
    """The factor of a score. `rarity` is the share of all tokens that users did not write. If it is 0, only
    users speak, and there is nobody to instruct. If it is near 1, an agent works alone, and every user
    message counts as an instruction."""
    information, instructs, decides = substance
    if instructs and rarity > 0:
        return max(information, 1.0) ** 2 * rules.instruction_weight
    if role == USER:
        information = max(information, RARE * rarity)
    weight = information**2 * (rules.decision_weight if decides else 1.0)
    if role != USER or rarity <= ALONE:
        return weight
    alone = (rarity - ALONE) / (1.0 - ALONE)
    return max(weight, alone * max(information, 1.0) ** 2 * rules.instruction_weight)


def instructs(text: str, rules: Window) -> bool:
    """Whether a text gives a standing instruction: "Never write to production", 「必ずテストして」."""
    words = tuple(rules.instructions)
    return _any_of(words).search(text.lower()) is not None and _instruction(words).search(text) is not None


@lru_cache(8)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Matches any of the words anywhere in a lower-case text. It is much faster than `_instruction`."""
    return re.compile("|".join(map(re.escape, _to_lower(words))) or r"(?!)")


@lru_cache(8)
def _instruction(words: tuple[str, ...]) -> re.Pattern[str]:
    """Matches English words at the start of a clause and other words anywhere; nothing without words."""
    english = "|".join(re.escape(word) for word in words if word.isascii() and word)
    others = "|".join(re.escape(word) for word in words if not word.isascii())
    patterns = [rf"{_CLAUSE}(?:{english})\b"] * bool(english) + [others] * bool(others)
    return re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)


def is_failure(message: Message) -> bool:
    """Whether a tool call failed: by a field of its result, or by its text if there is no such field."""
    if message.failed or message.role != TOOL:
        return message.failed
    text = message.text
    if len(text) <= _SHORT and _REFUSAL.search(text.lower()):
        return True
    ends = f"{text[:_ENDS]}\n{text[-_ENDS:]}".lower()
    return _SIGNS.search(ends) is not None and _FAILURE.search(ends) is not None
