"""The plan decides which messages are sent. `plan_window` is a pure fold over the conversation.

It reads the messages in order. When the window is fuller than `prune_at`, it drops the least worthy units
until the window is down to `target`. A dropped message never comes back. So a plan extends the plan of the
earlier messages, whether they arrive at once or one by one, and between two prunings a provider can reuse
its cache.

    bound   After a pruning, the messages and the words for gaps are within the target, unless the pinned
            messages are larger. Then summaries of gaps are dropped, and tool results and other texts are
            cut. The last user turns and the system prompt are cut only to fit the budget.
    pinned  The system prompt, the last user turn, the last user turn that is more than "go on", the last
            message, calls since then that have no result, and the caller's pins.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import chain, islice

from nagori.core.value_object import Value
from nagori.core.window import Window
from nagori.core.window.messages import SYSTEM, USER, Message, Unit, Units, is_aside
from nagori.core.window.scores import PLAIN, TextFeatures
from nagori.core.window.strategies import Worth, worth_of

OVERSIZED = 4  # a message of more than this part of the target is cut before anything is dropped
SHORTEST = 40  # tokens that are left of a message that is cut, at least
# A summary may take this part of what its gap took: what many gaps say must not crowd out what stays.
SHARE = 60
SENTENCE = 12  # tokens that it may take in any case
DEARER = 2.0  # how many times dearer than its worth a message is at most, because a new gap has to be told of
CLEARED = 0.5  # price up to which results of tools go although there is room
WORTHLESS = 1e6  # price of what would cost more to tell of than to keep


class Band(IntEnum):
    """How full a window is, and what follows from it [C1]."""

    ROOMY = 0  # nothing
    FILLING = 1  # it is logged
    FULL = 2  # messages are pruned
    CROWDED = 3  # messages are pruned, and a language model may summarise the gaps
    OVER = 4  # messages are pruned at once, without a language model


class Prices(Value):
    """Tokens of the message that stands in a gap: `notice` for fewer than ten dropped messages, `many` for
    more. A summary adds its own tokens to `many`."""

    notice: int = 12
    many: int = 16


USUAL = Prices()


class Gap(Value):
    """Dropped messages, and the tokens of the text that stands for them before message `at`."""

    members: tuple[int, ...]
    at: int
    tokens: int
    summarised: bool


class Plan(Value):
    """What is sent of `count` messages: all except `dropped`; those in `cut` are cut to so many tokens."""

    count: int = 0
    dropped: frozenset[int] = frozenset()
    cut: Mapping[int, int] = {}
    gaps: tuple[Gap, ...] = ()
    tokens: int = 0
    arrived: int = 0  # tokens before anything was left out this time: what is new, and the window before it
    fits: bool = True
    terse: bool = False  # no room for summaries: every gap is told by a notice


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
    features: TextFeatures = PLAIN,
    fold: Fold | None = None,
) -> Plan:
    """Plan `messages`. `before` is the plan of the first of them, if there is one. A `fold` that ended with
    `before` reads only the new messages. `features` read the texts."""
    fold = fold or Fold(features)
    fold.begin(messages, rules, prices, before)
    arrived = fold.used + sum(message.tokens for message in messages[before.count :])
    for count in range(before.count + 1, len(messages) + 1):
        fold.take(count)
        if fold.used > rules.prune_at * rules.budget:
            fold.prune(count)
    same = len(fold.left) == len(before.dropped)
    fold.plan = Plan(
        count=len(messages),
        dropped=before.dropped if same else frozenset(fold.left),
        cut=fold.cut,
        gaps=before.gaps if same and fold.has_same_gaps(before) else tuple(fold.gaps()),
        tokens=fold.used,
        arrived=arrived,
        fits=fold.used <= rules.budget,
        terse=fold.runs.terse,
    )
    return fold.plan


class Fold:
    """The state of a window while messages arrive."""

    messages: Sequence[Message]
    sizes: list[int]
    cut: dict[int, int]
    gone: list[bool]
    plan: Plan | None = None  # what it ended with
    _worth: Worth | None = None
    _before: Worth | None = None  # of the messages that were there the last time something had to go

    def __init__(self, features: TextFeatures = PLAIN) -> None:
        self.features = features
        self._smalltalk: dict[int, bool] = {}  # by message, of those that were asked about

    def goes_on(self, plan: Plan, rules: Window, prices: Prices) -> bool:
        """Whether it ended with this plan, under the same rules."""
        return self.plan is plan and (self.rules, self.prices) == (rules, prices)

    def places(self) -> list[int]:
        """The messages that are in the window."""
        return list(self.kept)

    def begin(self, messages: Sequence[Message], rules: Window, prices: Prices, before: Plan) -> None:
        """Start with `messages`; `before` is the plan of the first of them."""
        if self.plan is before:
            self._go_on(messages)
        else:
            self._begin_anew(messages, rules, prices, before)
        self.plan = None

    def _go_on(self, messages: Sequence[Message]) -> None:
        more = len(messages) - len(self.messages)
        self.pins += _find_pins(messages, len(self.messages))
        self.sizes += [message.tokens for message in messages[len(self.messages) :]]
        self.gone += [False] * more
        self.cut = dict(self.cut)
        self.messages = self.runs.messages = messages
        self._before, self._worth = self._worth or self._before, None

    def _begin_anew(self, messages: Sequence[Message], rules: Window, prices: Prices, before: Plan) -> None:
        self.messages, self.rules, self.prices = messages, rules, prices
        self._by_score = rules.strategy == "scored"
        self.left: set[int] = set()
        self.pins = _find_pins(messages)
        self.limit = int(rules.target * rules.budget)
        self.sizes = [message.tokens for message in messages]
        self.cut = {}
        self.gone = [False] * len(messages)
        self.kept: list[int] = []
        self.runs = _Runs(rules, prices, messages, before.terse)
        self.units = Units()
        self.used = 0
        self._worth = self._before = None
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
        """The worth of messages. It is computed only when the window is pruned, because scores are slow."""
        if self._worth is None:
            self._worth = worth_of(self.messages, self.rules, self.features, self._before)
        return self._worth

    def take(self, count: int) -> None:
        """Add the next message. If its unit was dropped, drop the message, too."""
        at = count - 1
        unit = self.units.arrive(self.messages[at])
        self.kept.append(at)
        self.used += self.sizes[at]
        if len(unit.members) > 1 and any(self.gone[member] for member in unit.members):
            self._drop(unit.members)
            self._sweep()

    def prune(self, count: int) -> None:
        """Prune to the target: drop broken units, cut oversized texts, drop the least worthy units, then cut
        what remains. Pinned messages that an earlier pruning cut are first made whole again."""
        turns = self._last_turns(count)
        pinned = self._pinned_places(count, turns)
        self._tell_at_length(True)
        for at in [at for at in self.cut if id(self.units.of[at]) in pinned]:
            self._cut(at, self.messages[at].tokens)
            del self.cut[at]
        free = [unit for unit in self._units(self.kept) if id(unit) not in pinned]
        broken = [unit for unit in free if unit.is_broken]
        if broken:
            self._drop(at for unit in broken for at in unit.members)
            free = [unit for unit in free if unit not in broken]
        self._shorten([at for unit in free for at in unit.members], self.limit, self.limit // OVERSIZED)
        self._lose(free, count)
        self._sweep()
        if self.used > self.limit:
            self._tell_at_length(False)
        lasting = {*turns, *(at for at in self._prompt() if at < count)}
        self._shorten([at for at in self.kept if at not in lasting], self.limit)
        self._shorten(sorted(lasting), self.rules.budget)

    def _tell_at_length(self, yes: bool) -> None:
        """Allow or forbid summaries of gaps. They are dropped before any text is cut."""
        if self.runs.terse is yes:
            self.used -= self.runs.total()
            self.runs.terse = not yes
            self.used += self.runs.total()

    def _lose(self, free: Sequence[Unit], count: int) -> None:
        """Drop the cheapest units until the window is within its limit. A drop makes its neighbours cheaper,
        because they join an existing gap. It never makes a unit dearer."""
        worths, prices = {}, {}
        for unit, worth in zip(free, self._worths(free, count), strict=True):
            first = unit.members[0]
            worths[first], prices[first] = worth, self._price(unit, worth)
        queue = list(zip(prices.values(), prices, strict=True))
        heapify(queue)
        while queue and self.used > self.limit:
            price, first = heappop(queue)
            if self.gone[first] or price > prices[first]:
                continue  # gone, or queued again at a lower price
            unit = self.units.of[first]
            self._drop(unit.members)
            for near in {near for at in unit.members for near in self.runs.beside(at)}:
                other = self.units.of[near] if 0 <= near < count else unit
                first = other.members[0]
                if first in prices and not self.gone[first]:
                    prices[first] = self._price(other, worths[first])
                    heappush(queue, (prices[first], first))
        self._clear_results(queue, count)

    def _clear_results(self, queue: list[tuple[float, int]], count: int) -> None:
        """Drop more of the cheapest tool results, to free `clear_results` of the budget. Every pruning makes
        the provider's cache useless from there on, so a few large prunings cost less than many small ones."""
        enough = int((self.rules.prune_at - self.rules.clear_results) * self.rules.budget)
        if not self._by_score:
            return
        while queue and self.used > enough and queue[0][0] <= CLEARED:
            _, first = heappop(queue)
            unit = self.units.of[first]
            if not self.gone[first] and len(unit.members) > 1:
                self._drop(unit.members)

    def _worths(self, units: Sequence[Unit], count: int) -> Iterator[float]:
        """The worth of each unit: that of its best message."""
        worths = iter(self.worth([at for unit in units for at in unit.members], count))
        for unit in units:
            size = len(unit.members)
            yield next(worths) if size == 1 else max(islice(worths, size))

    def _price(self, unit: Unit, worth: float) -> float:
        """The price of dropping a unit: its worth, times its tokens per saved token. A new gap needs a
        notice, so fewer tokens are saved than dropped."""
        if not self._by_score:
            return worth
        members, more = unit.members, self.runs.more
        if len(members) == 1:
            tokens, gaps = self.sizes[members[0]], more(members[0])
        else:
            tokens, gaps = sum(map(self.sizes.__getitem__, members)), sum(map(more, members))
        if not gaps:
            return worth
        saved = tokens - self.prices.notice * gaps
        return worth * min(DEARER, tokens / saved) if saved > 0 else WORTHLESS + worth

    # --- what stays --------------------------------------------------------------------------------

    def _last_turns(self, count: int) -> set[int]:
        """The last user message, and the last user message that is more than "go on": the task."""
        said = (at for at in range(count - 1, -1, -1) if self._is_said(at))
        last = next(said, None)
        if last is None:
            return set()
        tasks = (at for at in chain((last,), said) if not self._is_smalltalk(at))
        return {last, next(tasks, last)}

    def _is_smalltalk(self, at: int) -> bool:
        if at not in self._smalltalk:
            self._smalltalk[at] = self.features.is_smalltalk(self.messages[at].text)
        return self._smalltalk[at]

    def _is_said(self, at: int) -> bool:
        return self.messages[at].role == USER and not is_aside(self.messages[at].text)

    def _prompt(self) -> list[int]:
        """The system messages before any other message."""
        other = (at for at, message in enumerate(self.messages) if message.role != SYSTEM)
        return list(range(next(other, len(self.messages))))

    def _pinned_places(self, count: int, turns: set[int]) -> set[int]:
        of, task = self.units.of, max(turns, default=-1)
        pins = {id(of[at]) for at in self._prompt() if at < count}
        pins |= {id(of[at]) for at in self.pins if at < count and not self.gone[at]}
        pins |= {id(of[at]) for at in self.kept[bisect_right(self.kept, task) :] if of[at].waiting}
        pins |= {id(of[at]) for at in turns if not self.gone[at]}
        if not of[count - 1].stray:
            pins.add(id(of[count - 1]))
        return pins

    def _units(self, indexes: Iterable[int]) -> list[Unit]:
        units = map(self.units.of.__getitem__, indexes)
        return list({id(unit): unit for unit in units}.values())

    # --- what goes ---------------------------------------------------------------------------------

    def _drop(self, indexes: Iterable[int]) -> None:
        going = [at for at in indexes if not self.gone[at]]
        for at in going:
            self.gone[at] = True
            self.left.add(at)
            self.cut.pop(at, None)
            self.used += self.runs.add(at) - self.sizes[at]

    def _sweep(self) -> None:
        self.kept = [at for at in self.kept if not self.gone[at]]

    def _shorten(self, indexes: Sequence[int], limit: int, oversized: int = 0) -> None:
        """Cut texts of more than `oversized` tokens, the longest first, until all is within `limit`."""
        if self.used <= limit:
            return
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

    def has_same_gaps(self, before: Plan) -> bool:
        """Whether no gap has moved since `before`, a plan that left out the same messages. A gap at the end
        or inside a unit moves when messages arrive."""
        if before.terse is not self.runs.terse or not before.gaps or before.gaps[-1].at >= before.count:
            return False
        new = map(self.units.of.__getitem__, range(before.count, len(self.messages)))
        return all(unit.members[-1] - unit.members[0] < len(unit.members) for unit in new)

    def gaps(self) -> Iterator[Gap]:
        """The gaps of the plan. A gap inside a kept unit is told after the unit, because a tool result must
        follow its call."""
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
        members = tuple(chain.from_iterable(range(*run) for run in runs))
        tokens = sum(self.runs.price(*run) for run in runs)
        return Gap(members, at, tokens, not self.runs.terse and len(members) >= self.rules.summarise_gap_from)


def _find_pins(messages: Sequence[Message], start: int = 0) -> list[int]:
    return [at for at in range(start, len(messages)) if messages[at].pinned]


class _Runs:
    """Runs of dropped messages that stand side by side, and the tokens of the text that stands for them."""

    def __init__(self, rules: Window, prices: Prices, messages: Sequence[Message], terse: bool) -> None:
        self._rules, self._prices, self.messages = rules, prices, messages
        self.terse = terse
        self._ends: dict[int, int] = {}  # by start; the end is outside
        self._starts: dict[int, int] = {}  # by end
        self._tokens: dict[int, int] = {}  # by start: what they took

    def add(self, at: int) -> int:
        """Add a dropped message. Return how many more tokens the texts for gaps need."""
        cost = self.cost(at)
        start, end = self._starts.pop(at, at), self._ends.pop(at + 1, at + 1)
        tokens = self.messages[at].tokens + (self._tokens[start] if start < at else 0)
        tokens += self._tokens.pop(at + 1, 0)
        self._ends[start], self._starts[end], self._tokens[start] = end, start, tokens
        return cost

    def cost(self, at: int) -> int:
        """How many more tokens the texts for gaps would need if this message were dropped."""
        start, end = self._starts.get(at, at), self._ends.get(at + 1, at + 1)
        before = self.price(start, at) if start < at else 0
        after = self.price(at + 1, end) if end > at + 1 else 0
        tokens = self.messages[at].tokens + self._tokens.get(start, 0) + self._tokens.get(at + 1, 0)
        return self._price(end - start, tokens) - before - after

    def more(self, at: int) -> int:
        """How many more runs there would be if this message were dropped: 1, 0 or -1."""
        return 1 - (at in self._starts) - (at + 1 in self._ends)

    def beside(self, at: int) -> tuple[int, int]:
        """The places before and after the run that begins or ends with this dropped message."""
        if at in self._ends:
            return at - 1, self._ends[at]
        start = self._starts.get(at + 1, at)
        return start - 1, at + 1

    def price(self, start: int, end: int) -> int:
        return self._price(end - start, self._tokens[start])

    def _price(self, count: int, tokens: int) -> int:
        """The tokens of a notice, or of a summary if enough messages are dropped."""
        if count < self._rules.summarise_gap_from and count < 10:
            return self._prices.notice
        if self.terse or count < self._rules.summarise_gap_from:
            return self._prices.many
        return self._prices.many + min(self._rules.summary_tokens, max(SENTENCE, tokens // SHARE))

    def total(self) -> int:
        """The tokens of the texts for all runs."""
        return sum(self.price(*run) for run in self._ends.items())

    def all(self) -> list[tuple[int, int]]:
        return sorted(self._ends.items())
