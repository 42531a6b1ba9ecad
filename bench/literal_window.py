"""A literal window pruner, as first specified but without `async`: the baseline of `bench.window`.

No language model takes part, so its summaries end as its own fallback notices.
"""

from __future__ import annotations

from typing import Any

KEYWORDS = (
    *(
        "error",
        "success",
        "plan",
        "task",
        "duck_call",
        "approval",
        "denied",
        "completed",
        "failed",
        "warning",
    ),
)
ROLES = {"user": 1.0, "assistant": 0.5, "system": 0.3}

Message = dict[str, Any]


def prune_history(history: list[Message], max_tokens: int) -> list[Message]:
    """§6.1 `prune_history`."""
    tokens = estimate(history)
    if tokens / max_tokens <= 0.8:
        return history
    total = len(history)
    scored = [(importance(message, at, total), at, message) for at, message in enumerate(history)]
    scored.sort(reverse=True, key=lambda each: each[0])
    chosen = sorted(select(scored, max_tokens * 0.7), key=lambda each: each[0])
    if tokens > max_tokens:
        return [message for _, message in chosen]
    return insert_summaries(history, chosen)


def importance(message: Message, index: int, total: int) -> float:
    """§6.1 `_calculate_importance`."""
    content = message.get("content", "")
    recency, role, score = index / max(total - 1, 1), ROLES.get(message.get("role", ""), 0.5), 0.0
    low = content.lower()
    if any(word in low for word in KEYWORDS):
        score += 0.3
    if "[Tool:" in content:
        score += 0.25
    if any(marker in content for marker in ("[SYSTEM:", "[User", "[TASK")):
        score += 0.2
    if "duck_call" in low or "approval" in low:
        score += 0.3
    if len(content) < 20:
        score *= 0.7
    return min(recency * 0.3 + role * 0.3 + min(score, 1.0) * 0.4, 1.0)


def select(scored: list[tuple[float, int, Message]], budget: float) -> list[tuple[int, Message]]:
    """§6.1 `_select_within_budget`."""
    chosen = []
    for _, at, message in scored:
        tokens = estimate([message])
        if budget - tokens > 0:
            chosen.append((at, message))
            budget -= tokens
        if budget <= 0:
            break
    return chosen


def insert_summaries(history: list[Message], chosen: list[tuple[int, Message]]) -> list[Message]:
    """§6.1 `_insert_summaries`; the last gap is not told."""
    result, last = [], -1
    for at, message in chosen:
        gap = len(history[last + 1 : at])
        if gap >= 5:
            result.append({"role": "assistant", "content": f"[過去{gap}件のメッセージが削除されました]"})
        elif gap > 0:
            result.append({"role": "assistant", "content": f"[{gap}件のメッセージが省略されました]"})
        result.append(message)
        last = at
    return result


def estimate(messages: list[Message]) -> int:
    """§6.1 `_estimate_tokens`: half a token a character."""
    return int(sum(len(message.get("content", "")) for message in messages) * 0.5)
