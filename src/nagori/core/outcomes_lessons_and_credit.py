"""Learn from outcomes: what a shown memory contributes, how important it is, and when a setting may move.

Correlation is not contribution: hard tasks recall more and fail more, easy ones succeed whatever is shown. So
in about one turn of ten one shown memory is withheld at random [ruling 52]. Its contribution is the outcome
with it minus the outcome without it, against the usual outcome of the same task, shrunk towards zero; use of
its words in a tool's target is a direct sign. Old observations count less, because lessons turn wrong.

A setting moves one step a night, within bounds, and only when a confidence sequence says that the gain is
above zero [ruling 53]. It holds at every night at once, so looking often does not make chance look like gain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt

from nagori.core.model import Credit
from nagori.core.value_object import Value, check_bool, check_text, check_whole

# ── the outcome of a turn ────────────────────────────────────────────────────────────────────────

WASTED = 0.25  # what failures on the way take from a turn that succeeds in the end


class ToolResult(Value):
    """One use of a tool, or several alike in a row: its target, whether it succeeded, how long it took."""

    tool: str
    target: str
    ok: bool
    ms: int = 0
    error: str = ""
    times: int = 1

    def __post_init__(self) -> None:
        for name in ("tool", "target", "error"):
            check_text(f"result.{name}", getattr(self, name))
        check_bool("result.ok", self.ok)
        check_whole("result.ms", self.ms, 0)
        check_whole("result.times", self.times, 1)


def outcome_of(results: Sequence[ToolResult]) -> float | None:
    """How well a turn went, 0 to 1: the share of targets whose last use succeeded, less up to a quarter for
    failures on the way; None if no tool was used."""
    if not results:
        return None
    last = {(each.tool, each.target): each.ok for each in results}
    failures = sum(each.times for each in results if not each.ok)
    uses = sum(each.times for each in results)
    return sum(last.values()) / len(last) * (1 - WASTED * failures / uses)


def bundle_results(
    results: Iterable[tuple[str, str, bool, int, str]],
) -> list[tuple[tuple[str, str, bool, int, str], int]]:
    """Results without repetitions in a row, each with its number; the time of all of them counts."""
    bundled: list[tuple[tuple[str, str, bool, int, str], int]] = []
    for tool, target, ok, ms, error in results:
        if bundled:
            (*last, last_ms, last_error), times = bundled[-1]
            if (*last, last_error) == (tool, target, ok, error):
                bundled[-1] = ((tool, target, ok, last_ms + ms, error), times + 1)
                continue
        bundled.append(((tool, target, ok, ms, error), 1))
    return bundled


class ToolLesson(Value):
    """A failure, and what worked on the same target afterwards. `between` is the last thing that succeeded in
    between, if the very same call worked the second time."""

    failure: ToolResult
    success: ToolResult
    between: ToolResult | None = None


def find_lessons(results: Sequence[ToolResult]) -> list[ToolLesson]:
    """Failures that were followed by a success on the same target. Of several failures before it the first
    counts: it is the mistake that one makes without the lesson."""
    lessons: list[ToolLesson] = []
    open_failures: dict[tuple[str, str], tuple[ToolResult, int]] = {}
    for place, each in enumerate(results):
        key = (each.tool, target_of(each.target))
        if not each.ok:
            open_failures.setdefault(key, (each, place))
        elif key in open_failures:
            failure, begun = open_failures.pop(key)
            same = failure.target == each.target
            others = [r for r in results[begun + 1 : place] if r.ok and r.target != each.target]
            lessons.append(ToolLesson(failure, each, others[-1] if same and others else None))
    return lessons


def target_of(target: str) -> str:
    """What a tool was used on: a path as it is; of a command line the program and its first argument that is
    no option, after folders and variables."""
    words = target.split()
    if len(words) < 2:
        return target
    for mark in ("&&", ";"):
        if words[0] in ("cd", "export", "source") and mark in words[:-1]:
            words = words[words.index(mark) + 1 :]
    while len(words) > 1 and "=" in words[0] and not words[0].startswith("-"):
        words = words[1:]
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return " ".join([words[0], *named[:1]])


# ── contribution ─────────────────────────────────────────────────────────────────────────────────

FADING = 0.98  # weight of a memory's earlier observations at each new one
USUAL_OUTCOME, USUAL_WEIGHT = 0.5, 4.0  # the usual outcome of a task that was never seen
FAMILY_FADING = 0.98


def credit_turn(
    credit: Credit, surplus: float, *, used: bool = False, withheld: bool = False, saved: float = 0.0
) -> Credit:
    """The credit after one more turn. `surplus` is its outcome less the usual one; `withheld`: the memory was
    chosen and not shown."""
    ignored = not used and not withheld
    unused = credit.unused if withheld else 0 if used else credit.unused + 1
    return Credit(
        credit.used * FADING + used,
        credit.ignored * FADING + ignored,
        credit.withheld * FADING + withheld,
        credit.used_sum * FADING + surplus * used,
        credit.ignored_sum * FADING + surplus * ignored,
        credit.withheld_sum * FADING + surplus * withheld,
        unused,
        credit.saved * FADING + saved * (not withheld),
    )


class UsualOutcome(Value):
    """The usual outcome, and the usual seconds, of a task."""

    count: float = 0.0
    total: float = 0.0
    seconds: float = 0.0

    @property
    def outcome(self) -> float:
        return (self.total + USUAL_OUTCOME * USUAL_WEIGHT) / (self.count + USUAL_WEIGHT)

    @property
    def usual_seconds(self) -> float:
        return self.seconds / self.count if self.count else 0.0

    def after(self, outcome: float, seconds: float) -> UsualOutcome:
        """With one more turn."""
        return UsualOutcome(
            self.count * FAMILY_FADING + 1,
            self.total * FAMILY_FADING + outcome,
            self.seconds * FAMILY_FADING + seconds,
        )


# ── policy ───────────────────────────────────────────────────────────────────────────────────────

CONFIDENCE = 0.05  # probability that chance moves any setting, ever
SCALE = 300.0  # number of turns at which the bounds are tightest
FEWEST = 20  # withheld memories, before outcomes are believed
WORTHWHILE = 0.1  # share of showings with use, below which a memory is not worth its tokens
LEAST_SPREAD = 0.02


class Lever(Value):
    """A setting that may be learned: its bounds, and the step towards showing less of the memory in
    question."""

    setting: str
    lo: float
    hi: float
    step: float
    saves: bool = True  # whether that step saves tokens, so that want of use speaks for it


LEVERS = {
    lever.setting: lever
    for lever in (
        Lever("hooks.max_memories", 2, 10, -1),  # in question: the last one, where the limit was reached
        Lever("hooks.min_confidence", 0.3, 0.8, 0.05),  # those of a prompt that hardly needed any
        Lever("learning.exclude_unused_after", 6, 24, -2),  # one that was not used for half as long
        Lever("learning.credit_weight", 1.0, 6.0, 0.5, saves=False),  # one with a negative contribution
    )
}
TESTS = 2 * len(LEVERS)


class Evidence(Value):
    """What was seen of the memory in question for one setting. `total` and `squares` are sums of
    x = r·(W/p − (1−W)/(1−p)), where r is a turn's outcome less the usual one, W whether it was withheld and p
    how likely that was; their mean is the effect of withholding it. `shown` and `used` are counts."""

    turns: int = 0
    withheld: int = 0
    total: float = 0.0
    squares: float = 0.0
    shown: int = 0
    used: int = 0

    def after_outcome(self, surplus: float, withheld: bool, likelihood: float) -> Evidence:
        """With the outcome of one more turn."""
        x = surplus / likelihood if withheld else -surplus / (1 - likelihood)
        total, squares = self.total + x, self.squares + x * x
        return Evidence(self.turns + 1, self.withheld + withheld, total, squares, self.shown, self.used)

    def after_showing(self, used: bool) -> Evidence:
        """With one more showing."""
        counts = self.shown + 1, self.used + used
        return Evidence(self.turns, self.withheld, self.total, self.squares, *counts)

    @property
    def effect(self) -> tuple[float, float]:
        """Bounds of the effect of withholding on outcomes."""
        if self.withheld < FEWEST:
            return -1.0, 1.0
        mean = self.total / self.turns
        return _bounds(mean, self.squares / self.turns - mean * mean, self.turns)

    @property
    def use(self) -> tuple[float, float]:
        """Bounds of the share of showings with use."""
        if not self.shown:
            return 0.0, 1.0
        share = self.used / self.shown
        return _bounds(share, share * (1 - share), self.shown)


def _bounds(mean: float, variance: float, count: int) -> tuple[float, float]:
    """A normal mixture confidence sequence: it holds at every count at once, so one may look every night. All
    tests of all settings together are wrong with a probability of `CONFIDENCE`."""
    alpha, scaled = CONFIDENCE / TESTS, count + SCALE
    radius = sqrt(max(variance, LEAST_SPREAD) * scaled * log(scaled / (SCALE * alpha * alpha))) / count
    return mean - radius, mean + radius


class PolicyStep(Value):
    """A setting that moves, and why: `reason` is `outcome` or `use`."""

    setting: str
    before: float
    value: float
    reason: str
    gain: float  # its lower bound: of the outcome, or of the share of showings without use
    evidence: Evidence


def next_step(values: Mapping[str, float], evidence: Mapping[str, Evidence]) -> PolicyStep | None:
    """The step of tonight, if any: of the settings whose gain is surely above zero, the one with the largest.
    `values` are the present values of the settings that may be learned."""
    steps = [
        step
        for name, value in values.items()
        if (step := _step(LEVERS[name], value, evidence.get(name, Evidence()))) is not None
    ]
    return max(steps, key=lambda step: (step.gain, step.setting), default=None)


def _step(lever: Lever, value: float, seen: Evidence) -> PolicyStep | None:
    low, high = seen.effect
    vain = WORTHWHILE - seen.use[1]
    if low > 0:
        way, reason, gain = 1, "outcome", low
    elif high < 0:
        way, reason, gain = -1, "outcome", -high
    elif lever.saves and vain > 0:
        way, reason, gain = 1, "use", vain
    else:
        return None
    moved = min(lever.hi, max(lever.lo, round(value + way * lever.step, 6)))
    return PolicyStep(lever.setting, value, moved, reason, gain, seen) if moved != value else None
