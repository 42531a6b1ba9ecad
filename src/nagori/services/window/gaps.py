"""Gaps: the text that stands for dropped messages, and its role [C4].

A gap of five or more messages gets a summary of its own sentences, a smaller one gets a notice. The text has
the role of a user or an assistant, never of the system. A summary in the user's role is made only of user
messages, one in the assistant's role only of assistant messages. Tool results are never summarised, because
anybody may have written them. Square brackets in a summary become round ones, so that it cannot close its own
bracket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from math import ceil
from typing import Any

from nagori.core.value_object import replace
from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message, is_aside
from nagori.core.window.plan import Gap, Plan, Prices
from nagori.errors import ModelError
from nagori.language.extractive_gist import gist
from nagori.language.tokenizer import is_japanese
from nagori.runtime import Runtime
from nagori.services.window.formats import Count, Format
from nagori.services.window.formats.count_and_cut_content import OVERHEAD, cut_text

NOTICES = ("[messages left out: {n}]", "[{n}件省略]")
SUMMARIES = ("[messages left out: {n}; earlier words: {words}]", "[{n}件省略。これまでの発言: {words}]")
_NOTICE = re.compile("|".join(re.escape(frame).replace(r"\{n\}", "[0-9,]+") for frame in NOTICES))
SPARE = 1  # tokens that words may take more in their message than alone
LEAST = 12  # tokens without which a summary is not begun
BRACKETS = str.maketrans("[]［］【】\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", "()（）（）" + " " * 10)


def prices(count: Count, larger: float = 1.0) -> Prices:
    """The most tokens of a notice, and of the frame of a summary. `larger` is the ratio of the provider's
    count to `count`."""

    def price(frames: Sequence[str], number: str) -> int:
        longest = max(count(frame.format(n=number, words="")) for frame in frames)
        return ceil((longest + OVERHEAD + SPARE) * larger)

    return Prices(price(NOTICES, "9"), price(SUMMARIES, "999,999"))


def gap_summary(runtime: Runtime, texts: Sequence[Message], tokens: int, count: Count, model: bool) -> str:
    """A summary of dropped messages in at most `tokens` tokens. With `model`, a language model writes it, and
    ModelError is raised if that fails; otherwise rules choose the sentences."""
    if model and runtime.llm is not None:
        from nagori.services.llm.summarize import resummarise

        told = resummarise(runtime, "gap", [message.text for message in texts], tokens)
        if told:
            return told
    return gist(texts, tokens, count)


def is_notice(text: str) -> bool:
    """Whether the text for a gap says only how many messages are missing."""
    return _NOTICE.fullmatch(text) is not None


class Words:
    """Texts for gaps. An unchanged gap keeps its text."""

    def __init__(
        self,
        runtime: Runtime,
        read: Sequence[Message],
        count: Count,
        known: Mapping[str, str],
        model: bool,
        larger: float,
        same: Mapping[Any, str],
    ) -> None:
        self._runtime, self._read, self._count, self._known = runtime, read, count, known
        self._model, self._larger, self._same = model, larger, same
        self.used: dict[str, str] = {}
        self.told: dict[Any, str] = {}  # by gap and role: `same` for whoever goes on

    def of(self, gap: Gap, role: str) -> str:
        """The text for a gap, in the voice of `role`. An unchanged gap is not read again."""
        place = (gap.members[0], gap.members[-1], len(gap.members), gap.tokens, gap.summarised, role)
        self.told[place] = self._same.get(place) or self._by_words(gap, role)
        return self.told[place]

    def _by_words(self, gap: Gap, role: str) -> str:
        mark = sha256(f"{role} {gap.members} {gap.tokens} {gap.summarised}".encode())
        for at in gap.members:
            mark.update(f"\x1f{self._read[at].role}\x1f{self._read[at].text}".encode("utf-8", "replace"))
        key = mark.hexdigest()
        self.used[key] = self._known.get(key) or self._describe(gap, role)
        return self.used[key]

    def _describe(self, gap: Gap, role: str) -> str:
        left_out = _in_voice([self._read[at] for at in gap.members], role)
        japanese = is_japanese("\n".join(self._read[at].text[:200] for at in gap.members[:20]))
        number = f"{len(gap.members):,}"
        frame = SUMMARIES[japanese].format(n=number, words="")
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
        return cut_text(" ".join(words.translate(BRACKETS).split()), room, self._count).translate(BRACKETS)


def _in_voice(messages: Sequence[Message], role: str) -> list[Message]:
    """The messages that a role wrote itself, without those of tools, of other roles, or of the host."""
    own = (message for message in messages if message.role == role and not is_aside(message.text))
    return [message if message.own is None else replace(message, text=message.own) for message in own]


# --- what is sent ---------------------------------------------------------------------------------


def view(
    form: Format,
    originals: Sequence[Any],
    read: Sequence[Message],
    plan: Plan,
    words: Words,
    count: Count,
    larger: float,
    places: Sequence[int],
) -> Iterator[Any]:
    """The kept messages in their order, with texts for gaps. `places` are the messages to look at."""
    gaps = {gap.at: gap for gap in plan.gaps}
    before: str | None = None  # who spoke last
    held: Any = None  # a message that may still be given a note
    for at in places:
        if at in plan.dropped:
            continue
        message, original = read[at], originals[at]
        if at in plan.cut:
            original = form.cut(original, int(plan.cut[at] / larger), count)
        if at in gaps:
            inserted = _between(form, before, message.role, gaps[at], read)
            if inserted:
                if held is not None:
                    yield held
                held = form.say(inserted, words.of(gaps[at], inserted), originals[at])
            elif _speaks(message.role) == USER:
                original = form.note(original, words.of(gaps[at], USER), after=False)
            else:
                held = form.note(held, words.of(gaps[at], USER), after=True)
        if held is not None:
            yield held
        held, before = original, message.role if message.role != SYSTEM else before
    if held is not None:
        yield held
    if len(read) in gaps:
        yield form.say(_opposite(before), words.of(gaps[len(read)], _opposite(before)), originals[-1])


def _between(form: Format, before: str | None, after: str, gap: Gap, read: Sequence[Message]) -> str:
    """The role of the message for a gap: the user, if the gap holds user messages. It is empty where turns
    must alternate; then the text is added to a user message."""
    turn, next_turn = _speaks(before), _speaks(after)
    if not form.ALTERNATES:
        told = gap.summarised and any(read[at].role == USER for at in gap.members)
        return USER if told else _opposite(before)
    if turn != next_turn and (next_turn == USER or (turn == USER and next_turn == ASSISTANT)):
        return ""
    return _opposite(before)


def _speaks(role: str | None) -> str | None:
    """Whose turn it is: a tool's result is on the user's side."""
    return USER if role == TOOL else role


def _opposite(role: str | None) -> str:
    return ASSISTANT if _speaks(role) == USER else USER
