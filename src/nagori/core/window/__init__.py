"""The context window chooses the messages that are sent to a model when a conversation is too long [C1-C9].

This file has the settings. `messages` has the types, `scores` rates messages, `strategies` ranks them, and
`plan` chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nagori.core.value_object import Value, fault_beyond, fault_of, find_faults, replace, setting
from nagori.errors import InvalidInput, Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STRATEGIES = ("scored", "sliding", "session", "topic")
_KEYWORDS = "error success plan task duck_call approval denied completed failed warning exception done"
_JAPANESE = "エラー 成功 計画 タスク 承認 拒否 完了 失敗 警告 例外"
_ORDERS = (
    *("never", "always", "do not", "don't ever", "from now on", "make sure", "must not", "must never"),
    *("under no circumstances", "only ever", "必ず", "決して", "絶対に", "今後は", "常に", "禁止"),
    *("しないで", "してはいけ", "しては駄目", "てはならない"),
)


class Window(Value):
    """The context window. A preset sets what is not set by itself."""

    preset: str = setting(
        "balanced",
        "Preset that fixes budget, start and target of pruning.",
        choices=("balanced", "conservative", "aggressive"),
    )
    strategy: str = setting("scored", "Which messages are pruned first.", choices=STRATEGIES)
    budget: int = setting(8000, "Maximum tokens of a conversation.", lo=1, hi=10**9)
    target: float = setting(0.7, "Share of the budget that remains after pruning.", lo=0.01, hi=1.0)
    clear_results: float = setting(
        0.15, "Share of the budget that is cleared at once where tool results can go.", lo=0.0, hi=1.0
    )
    warn_at: float = setting(0.6, "Share of the budget from which use is logged.", lo=0.0, hi=1.0)
    prune_at: float = setting(0.8, "Share of the budget from which messages are pruned.", lo=0.0, hi=1.0)
    summarise_at: float = setting(
        0.9, "Share of the budget from which a language model may summarise gaps.", lo=0.0, hi=1.0
    )
    recency_weight: float = setting(0.3, "Weight of recency in a message's score.", lo=0.0, hi=1.0)
    role_weight: float = setting(0.3, "Weight of the role in a message's score.", lo=0.0, hi=1.0)
    content_weight: float = setting(0.4, "Weight of the content in a message's score.", lo=0.0, hi=1.0)
    user_score: float = setting(1.0, "Role score of a user message.", lo=0.0, hi=1.0)
    assistant_score: float = setting(0.5, "Role score of an assistant message.", lo=0.0, hi=1.0)
    tool_score: float = setting(0.5, "Role score of a tool result.", lo=0.0, hi=1.0)
    system_score: float = setting(0.3, "Role score of a system message after the first one.", lo=0.0, hi=1.0)
    keywords: tuple[str, ...] = setting(
        (*_KEYWORDS.split(), *_JAPANESE.split()), "Words that raise a message's content score."
    )
    keyword_bonus: float = setting(0.3, "Added to the content score for any keyword.", lo=0.0, hi=1.0)
    approval_bonus: float = setting(
        0.3, "Added to the content score for a request for approval.", lo=0.0, hi=1.0
    )
    tool_bonus: float = setting(0.25, "Added to the content score for a tool result.", lo=0.0, hi=1.0)
    marker_bonus: float = setting(
        0.2, "Added to the content score for a marker in a system message.", lo=0.0, hi=1.0
    )
    approvals: tuple[str, ...] = setting(("duck_call", "approval", "承認"), "Words that ask for approval.")
    markers: tuple[str, ...] = setting(
        ("[SYSTEM:", "[User", "[TASK"), "Markers that count in system messages."
    )
    tool_markers: tuple[str, ...] = setting(
        ("[Tool:",), "Markers by which a system message counts as a tool result."
    )
    instructions: tuple[str, ...] = setting(_ORDERS, "Words with which a user gives a standing instruction.")
    instruction_weight: float = setting(20.0, "Factor of a standing instruction.", lo=0.0, hi=1000.0)
    decision_weight: float = setting(2.0, "Factor of a decision.", lo=0.0, hi=1000.0)
    error_weight: float = setting(8.0, "Factor of a failure that is not solved yet.", lo=0.0, hi=1000.0)
    question_weight: float = setting(2.0, "Factor of a question without an answer.", lo=0.0, hi=1000.0)
    information_scale: float = setting(
        20.0,
        "Weight of names, numbers and terms (1 to 3 each) from which a text counts in full.",
        lo=0.1,
        hi=10**6,
    )
    short: int = setting(
        20, "Length below which a text counts as short; a Japanese character counts twice.", lo=0, hi=10**6
    )
    short_penalty: float = setting(0.7, "Factor on the content score of a short text.", lo=0.0, hi=1.0)
    summarise_gap_from: int = setting(
        5, "Number of pruned messages in a row from which a gap is summarised.", lo=1, hi=10**6
    )
    summary_tokens: int = setting(150, "Maximum tokens of the summary of a gap.", lo=0, hi=10**6)
    pause_minutes: float = setting(
        30.0, "A pause of this many minutes starts a new session.", lo=0.0, hi=10**6
    )
    model: str = setting("", "Model whose tokens are counted; empty for an estimate that is rather too high.")

    def faults(self) -> Iterator[Notice]:
        """The limits must rise, and the target must not be above `prune_at`."""
        if not self.warn_at <= self.prune_at <= self.summarise_at:
            yield fault_of("warn_at, prune_at, summarise_at", "fault.not_rising")
        if self.target > self.prune_at:
            yield fault_beyond("target", "fault.above_other", self.target, "prune_at", self.prune_at)


PRESETS: dict[str, dict[str, Any]] = {
    "balanced": {"window.budget": 8000, "window.prune_at": 0.8, "window.target": 0.7},
    "conservative": {"window.budget": 6000, "window.prune_at": 0.6, "window.target": 0.5},
    "aggressive": {"window.budget": 12000, "window.prune_at": 0.9, "window.target": 0.8},
}


_USUAL = Window()


def _check_types(changes: Mapping[str, Any]) -> None:
    """Refuse a value of the wrong type, such as a text for a number."""
    for name, value in changes.items():
        usual = getattr(_USUAL, name)
        if isinstance(usual, tuple):
            fits = isinstance(value, tuple | list) and all(isinstance(each, str) for each in value)
        elif isinstance(usual, str):
            fits = isinstance(value, str)
        else:
            wanted = int | float if isinstance(usual, float) else int
            fits = isinstance(value, wanted) and not isinstance(value, bool)
        if not fits:
            raise InvalidInput(name, "error.not_same_type", value=value, usual=usual)


def apply_changes(rules: Window, changes: Mapping[str, Any]) -> Window:
    """Apply a caller's changes to `rules`: first the preset, then the single settings."""
    if not changes:
        return rules
    _check_types(changes)
    preset = PRESETS.get(changes.get("preset", ""), {})
    chosen = {key.removeprefix("window."): value for key, value in preset.items()}
    made = replace(rules, **chosen | dict(changes))
    wrong = [*find_faults(made, "window"), *made.faults()]
    if wrong:
        raise InvalidInput("window", "error.window", faults=tuple(wrong))
    return made
