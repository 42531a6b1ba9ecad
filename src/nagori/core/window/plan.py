"""Which messages are sent: `plan_window` is pure, and a fold over the conversation.

It goes through the messages in order. When the window is fuller than `prune_at`, the least worthy units
leave it until it is down to `target`; what has left stays away. So the plan of a conversation is the plan of
its beginning with a little more at the end, told all at once or message by message, and a provider's cache
of the beginning goes on being used between two prunings.

    bound   After a pruning the window, with what its gaps are told with, is never over the target, unless
            what is pinned is larger. Then results and other texts are cut to fit; the last user turn and the
            system prompt are cut only where they would be over the budget itself.
    pinned  the system prompt, the last user turn, the last message, calls without a result since then, and
            what the caller pins
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from heapq import heapify, heappop, heappush

from nagori.core.values import Value
from nagori.core.window import Window
from nagori.core.window.messages import SYSTEM, USER, Message, Unit, Units
from nagori.core.window.strategies import Words, Worth, worth_of

OVERSIZED = 4  # a message of more than this part of the target is cut before anything is dropped
SHORTEST = 40  # tokens that are left of a message that is cut, at least
SHARE = 4  # a summary may take this part of what its gap took
WORTHLESS = 1e6  # price of what would cost more to tell of than to keep


class Band(IntEnum):
    """How full a window is, and what is done about it [C1]."""

    ROOMY = 0  # nothing
    FILLING = 1  # it is told
    FULL = 2  # what matters least is left out
    CROWDED = 3  # … and a language model may sum it up
    OVER = 4  # … at once, and no model is waited for


class Prices(Value):
    """What a gap costs: `notice` tokens for the words that tell of it, in a message of their own."""

    notice: int = 16


USUAL = Prices()


class Gap(Value):
    """Messages that are left out, and the room for words about them, told before message `at`."""

    members: tuple[int, ...]
    at: int
    tokens: int
    summarised: bool


class Plan(Value):
    """What is sent of `count` messages: all but `dropped`, some of them cut to so many tokens, with gaps."""

    count: int = 0
    dropped: frozenset[int] = frozenset()
    cut: Mapping[int, int] = {}
    gaps: tuple[Gap, ...] = ()
    tokens: int = 0
    arrived: int = 0  # tokens before anything was left out this time: what is new, and the window before it
    fits: bool = True


NOTHING = Plan()


def band_of(tokens: int, rules: Window) -> Band:
    """The band that so many tokens are in."""
    share = tokens / rules.budget
    bounds = (rules.warn_at, rules.prune_at, rules.summarise_at, 1.0)
    return Band(sum(share > bound for bound in bounds))


def plan_window(
    messages: Sequence[Message],
    rules: Window,
    prices: Prices = USUAL,
    before: Plan = NOTHING,
    words: Words = str.split,
) -> Plan:
    """The plan for `messages`, going on from the plan of a beginning of them, if there was one. `words` are
    those by which topics are told apart."""
    fold = _Fold(messages, rules, prices, before, words)
    arrived = fold.used + sum(message.tokens for message in messages[before.count :])
    for count in range(before.count + 1, len(messages) + 1):
        fold.take(count)
        if fold.used > rules.prune_at * rules.budget:
            fold.prune(count)
    return Plan(
        count=len(messages),
        dropped=frozenset(at for at, gone in enumerate(fold.gone) if gone),
        cut=fold.cut,
        gaps=tuple(fold.gaps()),
        tokens=fold.used,
        arrived=arrived,
        fits=fold.used <= rules.budget,
    )


class _Fold:
    """A window while messages arrive."""

    def __init__(
        self, messages: Sequence[Message], rules: Window, prices: Prices, before: Plan, words: Words
    ) -> None:
        self.messages, self.rules, self.prices, self.words = messages, rules, prices, words
        self.limit = int(rules.target * rules.budget)
        self.sizes = [message.tokens for message in messages]
        self.cut: dict[int, int] = {}
        self.gone = [False] * len(messages)
        self.kept: list[int] = []
        self.runs = _Runs(rules, prices, messages)
        self.units = Units()
        self.used = 0
        self._worth: Worth | None = None
        for at in range(before.count):
            self.units.arrive(messages[at])
            self.kept.append(at)
            self.used += self.sizes[at]
        self._drop(sorted(before.dropped))
        self._sweep()
        for at, tokens in before.cut.items():
            self._cut(at, tokens)

    @property
    def worth(self) -> Worth:
        """Asked for when something has to go: scores cost more than adding up."""
        if self._worth is None:
            self._worth = worth_of(self.messages, self.rules, self.words)
        return self._worth

    def take(self, count: int) -> None:
        """The next message arrives. What belongs to a unit that is gone goes after it."""
        at = count - 1
        unit = self.units.arrive(self.messages[at])
        self.kept.append(at)
        self.used += self.sizes[at]
        if len(unit.members) > 1 and any(self.gone[member] for member in unit.members):
            self._drop(unit.members)
            self._sweep()

    def prune(self, count: int) -> None:
        """Down to the target: broken units, then oversized texts, then the least worthy, then the rest. What
        was cut only because the moment wanted it is whole again first."""
        last_turn = self._last_turn(count)
        pinned = self._pinned(count, last_turn)
        for at in [at for at in self.cut if id(self.units.of[at]) in pinned]:
            self._cut(at, self.messages[at].tokens)
            del self.cut[at]
        free = [unit for unit in self._units(self.kept) if id(unit) not in pinned]
        self._drop(at for unit in free if unit.broken for at in unit.members)
        free = [unit for unit in free if not unit.broken]
        self._shorten([at for unit in free for at in unit.members], self.limit, self.limit // OVERSIZED)
        self._lose(free, count)
        self._sweep()
        lasting = {last_turn, *(at for at in self._prompt() if at < count)}
        self._shorten([at for at in self.kept if at not in lasting], self.limit)
        self._shorten([at for at in lasting if at >= 0], self.rules.budget)

    def _lose(self, free: Sequence[Unit], count: int) -> None:
        """The cheapest units go, until the window is within its limit. A drop makes its neighbours cheaper,
        because the gap is there already; nothing ever makes one dearer."""
        ours = {id(unit) for unit in free}
        queue = [(self._price(unit, count), unit.members[0]) for unit in free]
        heapify(queue)
        while queue and self.used > self.limit:
            price, first = heappop(queue)
            unit = self.units.of[first]
            if self.gone[first] or price > self._price(unit, count):
                continue  # gone, or queued again at a lower price
            self._drop(unit.members)
            for near in {near for at in unit.members for near in self.runs.beside(at)}:
                other = self.units.of[near] if 0 <= near < count else unit
                if id(other) in ours and not self.gone[other.members[0]]:
                    heappush(queue, (self._price(other, count), other.members[0]))

    def _price(self, unit: Unit, count: int) -> float:
        """What is lost with a unit: the worth of its most worthy message, times what it took for each token
        that is really saved, for a new gap has to be told of."""
        worth = max(self.worth(at, count) for at in unit.members)
        if self.rules.strategy != "scored":
            return worth
        tokens = sum(self.sizes[at] for at in unit.members)
        saved = tokens - self.prices.notice * sum(map(self.runs.more, unit.members))
        return worth * tokens / saved if saved > 0 else WORTHLESS + worth

    # --- what stays --------------------------------------------------------------------------------

    def _last_turn(self, count: int) -> int:
        """The last message in which a user says something; -1 when there is none."""
        turns = (at for at in range(count - 1, -1, -1) if self.messages[at].role == USER)
        return next(turns, -1)

    def _prompt(self) -> list[int]:
        """The system messages before anybody speaks."""
        other = (at for at, message in enumerate(self.messages) if message.role != SYSTEM)
        return list(range(next(other, len(self.messages))))

    def _pinned(self, count: int, last_turn: int) -> set[int]:
        of = self.units.of
        pins = {id(of[at]) for at in self._prompt() if at < count}
        pins |= {id(of[at]) for at in self.kept if self.messages[at].pinned}
        pins |= {id(of[at]) for at in self.kept if at > last_turn and of[at].waiting}
        if last_turn >= 0:
            pins.add(id(of[last_turn]))
        if not of[count - 1].stray:
            pins.add(id(of[count - 1]))
        return pins

    def _units(self, indexes: Iterable[int]) -> list[Unit]:
        return list({id(self.units.of[at]): self.units.of[at] for at in indexes}.values())

    # --- what goes ---------------------------------------------------------------------------------

    def _drop(self, indexes: Iterable[int]) -> None:
        going = [at for at in indexes if not self.gone[at]]
        for at in going:
            self.gone[at] = True
            self.cut.pop(at, None)
            self.used += self.runs.add(at) - self.sizes[at]

    def _sweep(self) -> None:
        self.kept = [at for at in self.kept if not self.gone[at]]

    def _shorten(self, indexes: Sequence[int], limit: int, oversized: int = 0) -> None:
        """Cut texts of more than `oversized` tokens, the longest first, until all is within `limit`."""
        for at in sorted(indexes, key=lambda at: -self.sizes[at]):
            if self.used <= limit or self.sizes[at] <= oversized:
                return
            least = self.messages[at].fixed + SHORTEST
            wanted = max(least, oversized, self.sizes[at] - (self.used - limit))
            if wanted < self.sizes[at]:
                self._cut(at, wanted)

    def _cut(self, at: int, tokens: int) -> None:
        self.used += tokens - self.sizes[at]
        self.sizes[at] = self.cut[at] = tokens

    # --- gaps --------------------------------------------------------------------------------------

    def gaps(self) -> Iterator[Gap]:
        """Every run of messages that are gone. Inside a unit that stays nothing is told: a result follows
        its call at once; such a run is told after it."""
        ends = {at: self.units.of[at].members[-1] for at in self.kept}
        waiting: list[tuple[int, int]] = []
        until = -1
        runs = iter(self.runs.all())
        run = next(runs, None)
        for at in (*self.kept, len(self.messages)):
            while run is not None and run[0] < at:
                waiting.append(run)
                run = next(runs, None)
            if waiting and at > until:
                yield self._gap(waiting, at)
                waiting = []
            until = max(until, ends.get(at, -1))

    def _gap(self, runs: Sequence[tuple[int, int]], at: int) -> Gap:
        members = tuple(member for start, end in runs for member in range(start, end))
        tokens = sum(self.runs.price(*run) for run in runs)
        return Gap(members, at, tokens, tokens > len(runs) * self.prices.notice)


class _Runs:
    """Dropped messages that stand side by side, and what telling of them costs."""

    def __init__(self, rules: Window, prices: Prices, messages: Sequence[Message]) -> None:
        self._rules, self._prices, self._messages = rules, prices, messages
        self._ends: dict[int, int] = {}  # by start; the end is outside
        self._starts: dict[int, int] = {}  # by end
        self._tokens: dict[int, int] = {}  # by start: what they took

    def add(self, at: int) -> int:
        """One more is dropped; how much more it costs to tell."""
        cost = self.cost(at)
        start, end = self._starts.pop(at, at), self._ends.pop(at + 1, at + 1)
        tokens = self._messages[at].tokens + (self._tokens[start] if start < at else 0)
        tokens += self._tokens.pop(at + 1, 0)
        self._ends[start], self._starts[end], self._tokens[start] = end, start, tokens
        return cost

    def cost(self, at: int) -> int:
        """How much more it would cost to tell if this one were dropped, too."""
        start, end = self._starts.get(at, at), self._ends.get(at + 1, at + 1)
        before = self.price(start, at) if start < at else 0
        after = self.price(at + 1, end) if end > at + 1 else 0
        tokens = self._messages[at].tokens + self._tokens.get(start, 0) + self._tokens.get(at + 1, 0)
        return self._price(end - start, tokens) - before - after

    def more(self, at: int) -> int:
        """How many runs more there would be if this one were dropped, too: 1, 0 or -1."""
        return 1 - (at in self._starts) - (at + 1 in self._ends)

    def beside(self, at: int) -> tuple[int, int]:
        """The places just outside the run that holds a dropped message, if it is at one of its ends."""
        if at in self._ends:
            return at - 1, self._ends[at]
        start = self._starts.get(at + 1, at)
        return start - 1, at + 1

    def price(self, start: int, end: int) -> int:
        return self._price(end - start, self._tokens[start])

    def _price(self, count: int, tokens: int) -> int:
        """A notice, or a summary if enough is missing."""
        if count < self._rules.summarise_gap_from:
            return self._prices.notice
        return self._prices.notice + min(self._rules.summary_tokens, tokens // SHARE)

    def all(self) -> list[tuple[int, int]]:
        return sorted(self._ends.items())
