"""Gaps: what is said where messages are missing, and by whom [C4].

A gap of five or more is told in a few of its own sentences, a smaller one by a notice. A user or an assistant
says it, never the system: it is made of words that anybody may have typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from math import ceil
from typing import Any

from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from nagori.core.window.plan import Gap, Plan, Prices
from nagori.errors import ModelError
from nagori.language.digest import gist
from nagori.language.tokenizer import is_japanese
from nagori.runtime import Runtime
from nagori.services.window.formats import Count, Format
from nagori.services.window.formats.content import OVERHEAD, cut_text

NOTICES = ("[messages left out: {n}]", "[{n}件のメッセージを省略]")
SUMMARIES = ("[Summary of {n} earlier messages: {words}]", "[過去{n}件の会話の要約: {words}]")
SPARE = 3  # tokens that two texts may take more together than apart
LEAST = 12  # tokens without which a summary is not begun


def prices(count: Count, larger: float = 1.0) -> Prices:
    """What a notice costs at most; `larger` is how much more a provider counts than `count`."""
    longest = max(count(notice.format(n="999,999")) for notice in NOTICES)
    return Prices(ceil((longest + OVERHEAD + SPARE) * larger))


def gap_summary(runtime: Runtime, texts: Sequence[Message], tokens: int, count: Count, model: bool) -> str:
    """What messages that are left out were about, in at most so many tokens. `model`: a language model may
    be asked; whoever asks one raises ModelError when it fails, and then rules do it."""
    if model and runtime.llm is not None:
        from nagori.services.llm.summarize import resummarise

        told = resummarise(runtime, "gap", [message.text for message in texts], tokens)
        if told:
            return told
    return gist(texts, tokens, count)


class Words:
    """Words for gaps; a gap that was told keeps its words."""

    def __init__(
        self,
        runtime: Runtime,
        read: Sequence[Message],
        count: Count,
        known: Mapping[str, str],
        model: bool,
        larger: float,
    ) -> None:
        self._runtime, self._read, self._count, self._known = runtime, read, count, known
        self._model, self._larger = model, larger
        self.used: dict[str, str] = {}

    def of(self, gap: Gap) -> str:
        mark = sha256(f"{gap.members[0]} {gap.tokens}".encode())
        for at in gap.members:
            mark.update(self._read[at].text.encode("utf-8", "replace"))
        key = mark.hexdigest()
        self.used[key] = self._known.get(key) or self._told(gap)
        return self.used[key]

    def _told(self, gap: Gap) -> str:
        left_out = [self._read[at] for at in gap.members]
        japanese = is_japanese("\n".join(message.text[:200] for message in left_out[:20]))
        number = f"{len(left_out):,}"
        frame = SUMMARIES[japanese].format(n=number, words="{words}")
        room = int(gap.tokens / self._larger) - OVERHEAD - SPARE - self._count(frame)
        if gap.summarised and room >= LEAST:
            words = self._summary(left_out, room)
            if words:
                return SUMMARIES[japanese].format(n=number, words=words)
        return NOTICES[japanese].format(n=number)

    def _summary(self, left_out: Sequence[Message], room: int) -> str:
        try:
            words = gap_summary(self._runtime, left_out, room, self._count, self._model)
        except ModelError as trouble:
            self._runtime.observe("window.no_summary", reason=trouble.notice)
            self._model = False  # whoever waits for a conversation waits for a failing model once
            words = gist(left_out, room, self._count)
        return cut_text(words, room, self._count)


# --- what is sent ---------------------------------------------------------------------------------


def view(
    form: Format,
    originals: Sequence[Any],
    read: Sequence[Message],
    plan: Plan,
    words: Words,
    count: Count,
    larger: float,
) -> Iterator[Any]:
    """The messages that stay, in their order, with words where some are missing."""
    gaps = {gap.at: words.of(gap) for gap in plan.gaps}
    before: str | None = None  # who spoke last
    held: Any = None  # a message that may still be given a note
    for at, message in enumerate(read):
        if at in plan.dropped:
            continue
        original = originals[at]
        if at in plan.cut:
            original = form.cut(original, int(plan.cut[at] / larger), count)
        if at in gaps:
            inserted = _between(form, before, message.role)
            if inserted:
                if held is not None:
                    yield held
                held = form.say(inserted, gaps[at])
            elif _speaks(message.role) == USER:
                original = form.note(original, gaps[at])
            else:
                held = form.note(held, gaps[at])
        if held is not None:
            yield held
        held, before = original, message.role if message.role != SYSTEM else before
    if held is not None:
        yield held
    if len(read) in gaps:
        yield form.say(_opposite(before), gaps[len(read)])


def _between(form: Format, before: str | None, after: str) -> str:
    """Who says it in a message of its own; nobody, where turns alternate and it must go into a user's."""
    turn, next_turn = _speaks(before), _speaks(after)
    if (
        form.ALTERNATES
        and turn != next_turn
        and (next_turn == USER or (turn == USER and next_turn == ASSISTANT))
    ):
        return ""
    return _opposite(before)


def _speaks(role: str | None) -> str | None:
    """Whose turn it is: a tool's result is on the user's side."""
    return USER if role == TOOL else role


def _opposite(role: str | None) -> str:
    return ASSISTANT if _speaks(role) == USER else USER
