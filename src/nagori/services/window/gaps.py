"""Gaps: what is said where messages are missing, and by whom [C4].

A gap of five or more is told in a few of its own sentences, a smaller one by a notice. A user or an assistant
says it, never the system, and each in its own words alone: a summary in the user's voice is made of what the
user said, one in the assistant's voice of what the assistant said. What tools gave back is never told, for
anybody may have written it. Brackets in the words become round ones, so that nothing leaves the bracket.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from math import ceil
from typing import Any

from nagori.core.values import replace
from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message, is_aside
from nagori.core.window.plan import Gap, Plan, Prices
from nagori.errors import ModelError
from nagori.language.digest import gist
from nagori.language.tokenizer import is_japanese
from nagori.runtime import Runtime
from nagori.services.window.formats import Count, Format
from nagori.services.window.formats.content import OVERHEAD, cut_text

NOTICES = ("[messages left out: {n}]", "[{n}件省略]")
SUMMARIES = ("[messages left out: {n}; earlier words: {words}]", "[{n}件省略。これまでの発言: {words}]")
SPARE = 1  # tokens that words may take more in their message than alone
LEAST = 12  # tokens without which a summary is not begun
BRACKETS = str.maketrans("[]［］【】\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", "()（）（）" + " " * 10)


def prices(count: Count, larger: float = 1.0) -> Prices:
    """What a notice costs at most, and what stands around a summary; `larger` is how much more a provider
    counts than `count`."""

    def price(frames: Sequence[str], number: str) -> int:
        longest = max(count(frame.format(n=number, words="")) for frame in frames)
        return ceil((longest + OVERHEAD + SPARE) * larger)

    return Prices(price(NOTICES, "9"), price(SUMMARIES, "999,999"))


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
        same: Mapping[Any, str],
    ) -> None:
        self._runtime, self._read, self._count, self._known = runtime, read, count, known
        self._model, self._larger, self._same = model, larger, same
        self.used: dict[str, str] = {}
        self.told: dict[Any, str] = {}  # by gap and role: `same` for whoever goes on

    def of(self, gap: Gap, role: str) -> str:
        """What `role` says where these are missing. A gap that is as it was is not read again."""
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
    """What a role said itself; nothing of tools, of other roles, or of a host that speaks in its place."""
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
    """The messages that stay, in their order, with words where some are missing. They are among `places`."""
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
    """Who says it in a message of its own: the user, if he said something in it; nobody, where turns
    alternate and it must go into a user's message."""
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
