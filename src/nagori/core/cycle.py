"""Plan one cycle: from rows, settings and the time to an ordered list of steps, each with its reason.

    strengthen   recalled since the last cycle: reinforce it [E5]
    revive       revival was requested, and there is room among the traces [E11]
    fade         compress to the level of its score, or further where a level is over its share [E6, E9]
    archive      score too low, or over capacity [L6]
    purge        archived longer than the grace period: remove the full text [ruling 8]
    delete       archived, old, not recalled and not intense, if the user enabled it [E12]; or forgotten by
                 the user longer than the grace period [ruling 48]

The plan is pure: nothing is read or changed. Each memory moves at most once, directly to its final level.
Protected memories never move, and no memory rises without a recall. The plan depends on scores and counts
alone. Planning again after some of its steps gives the other steps, and after all of them none [ruling 10].
"""

from __future__ import annotations

from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from nagori.core.decay import LAWS, Curve, Reinforcement, Retention, Weekly, rejuvenate, revival_score
from nagori.core.levels import ACTIVE, LEVELS, Archive, Capacity, Compression, Levels, level_for, levels_under
from nagori.core.model import EPOCH, Level, Memory, to_micros
from nagori.core.value_object import Value, default_factory

DAY = 86_400_000_000  # microseconds
REARCHIVE_AFTER = 7 * DAY  # a revived memory is not archived again within this time
REVIVAL_RETRY = DAY  # a refused revival is tried again after this time
CONFIRM_FROM = 1_000  # with so many memories or more, a plan that moves too many needs a confirmation
CONFIRM_SHARE = 0.4
MOVES = frozenset({"compress", "archive", "delete"})  # steps after which less is left

# A light row. The cycle reads many of these, and whole memories only where there is something to do.
# Times are microseconds since 1970; `full` says whether the full text is still kept.
LifeRow = namedtuple(
    "LifeRow",
    "id version level created anchor intensity coefficient recalls protected recalled_at reinforced_at"
    " archived_at keep_until revival_at forgotten_at full",
)


def life_row(memory: Memory) -> LifeRow:
    """The light row of a memory."""
    fields = {name: getattr(memory, name) for name in ("id", "version", "level", "coefficient", "recalls")}
    times = ("created", "anchor", "recalled_at", "reinforced_at", "archived_at", "keep_until", "revival_at")
    fields |= {name: to_micros(getattr(memory, name)) for name in (*times, "forgotten_at")}
    whole = Level.FULL in memory.texts
    return LifeRow(**fields, intensity=memory.emotion.intensity, protected=memory.protected, full=whole)


class CycleRules(Value):
    """The settings of a cycle."""

    retention: Retention = Retention()
    weekly: Weekly = Weekly()
    recall: Reinforcement = Reinforcement()
    levels: Levels = Levels()
    compression: Compression = Compression()
    archive: Archive = Archive()
    capacity: Capacity = Capacity()

    @property
    def thresholds(self) -> Levels:
        """Where levels begin under the law of forgetting that is in force."""
        return levels_under(self.retention.law, self.levels)


class Census(Value):
    """The number of memories at each level, without protected ones. Forgotten ones are not counted."""

    levels: Mapping[Level, int]
    protected: int = 0

    @property
    def total(self) -> int:
        return sum(self.levels.values())

    @property
    def active(self) -> int:
        return sum(self.levels.get(level, 0) for level in ACTIVE)


class CycleStep(Value):
    """One step for one memory, and its reason. `score` is its retention at the time of planning."""

    id: str
    version: int
    act: str
    reason: str
    score: float = 0.0
    level: Level | None = None  # its level afterwards
    anchor: datetime | None = None
    coefficient: float | None = None
    before: float | None = None  # its retention before the step, where the step changes it


class CyclePlan(Value):
    now: datetime
    census: Census
    steps: list[CycleStep] = default_factory(list)
    imported: int = 0  # moves of memories that were old already when they came; they need no confirmation
    over: int = 0  # memories beyond the capacity that are left when the plan is done [ruling 14]

    @property
    def moves(self) -> int:
        return sum(step.act in MOVES and step.reason != "forgotten" for step in self.steps)

    @property
    def asks(self) -> bool:
        """Whether the plan moves so much of a large store that a person must confirm it."""
        total = self.census.total
        return total >= CONFIRM_FROM and self.moves - self.imported > CONFIRM_SHARE * total

    def counts(self) -> Counter[tuple[str, str]]:
        """The number of steps by act and reason."""
        return Counter((step.act, step.reason) for step in self.steps)


Weakest = Callable[[Level, int], Iterable[LifeRow]]


def no_rows(level: Level, n: int) -> Iterable[LifeRow]:
    """No further rows, for callers that pass all rows at once."""
    return ()


class CycleRows(Value):
    """What a store gives a cycle: counts, the rows that may need a step, and the weakest of a level on
    request."""

    census: Census
    due: list[LifeRow] = default_factory(list)
    weakest: Weakest = no_rows


def plan_cycle(
    rows: Iterable[LifeRow], census: Census, rules: CycleRules, now: datetime, weakest: Weakest = no_rows
) -> CyclePlan:
    """The plan of one cycle. `rows` must hold every memory that may have to move, was recalled, has a revival
    request, or is archived or forgotten beyond its grace period; additional rows do no harm. Other rows are
    needed only where a level is over its share: `weakest` gives its n weakest unprotected ones."""
    night = _CyclePlanner(rules, census, now, weakest)
    for row in rows:
        night.look(row)
    night.enforce_ratios()
    night.enforce_capacity()
    night.grant_wishes()
    return CyclePlan(now, census, list(night.steps()), over=night.count_excess())


class _CyclePlanner:
    """One plan under construction."""

    def __init__(self, rules: CycleRules, census: Census, now: datetime, weakest: Weakest) -> None:
        self.rules, self.census, self.now, self.more = rules, census, now, weakest
        self.seen: Counter[int] = Counter()  # rows seen so far, by their present level
        self.moment = to_micros(now) or 0
        self.curve, self.levels = curve_by(rules), rules.thresholds
        self.counts = Counter(census.levels)
        self.rows: dict[str, LifeRow] = {}
        self.scores: dict[str, float] = {}
        self.targets: dict[str, tuple[Level, str]] = {}
        self.reinforcements: list[CycleStep] = []
        self.wishes: list[LifeRow] = []
        self.others: list[CycleStep] = []

    # --- one memory at a time

    def look(self, row: LifeRow) -> None:
        """Decide what this row needs by itself."""
        if row.forgotten_at is not None:
            self._look_at_forgotten(row)
        elif row.level == Level.ARCHIVED:
            self._look_into_archive(row)
        elif row.protected:
            if _was_recalled(row):
                self._reinforce(row)
        else:
            self._place(self._reinforce(row) if _was_recalled(row) else row)

    def _place(self, row: LifeRow) -> None:
        score = self._score(row)
        deserved = level_for(score, self.levels)
        if self._is_kept(row):  # brought back by hand, or revived: it is left alone for a week
            deserved = Level(row.level)
        self.rows[row.id], self.scores[row.id] = row, score
        self.seen[row.level] += 1
        if deserved > row.level:
            self._move(row, deserved, "score")
        else:
            self.targets[row.id] = (Level(row.level), "")

    def _move(self, row: LifeRow, level: Level, reason: str) -> None:
        before = self.targets.get(row.id, (Level(row.level), ""))[0]
        self.counts[before] -= 1
        self.counts[level] += 1
        self.targets[row.id] = (level, reason)

    def _score(self, row: LifeRow) -> float:
        return self.curve(row).at((self.moment - row.anchor) / DAY)

    def _is_kept(self, row: LifeRow) -> bool:
        return row.keep_until is not None and row.keep_until > self.moment

    def _is_left_alone(self, row: LifeRow) -> bool:
        """No ratio touches what is younger than a day, or was brought back within the last week."""
        return self._is_kept(row) or self.moment - row.created < DAY

    def _reinforce(self, row: LifeRow) -> LifeRow:
        law, recall = self.rules.retention, self.rules.recall
        anchor = EPOCH + timedelta(microseconds=row.anchor)
        young, slow = rejuvenate(anchor, row.coefficient, self.now, law, recall)
        new = row._replace(anchor=to_micros(young), coefficient=slow, recalls=row.recalls + 1)
        self.reinforcements.append(
            CycleStep(
                row.id,
                row.version,
                "reinforce",
                "recalled",
                self._score(new),
                None,
                young,
                slow,
                self._score(row),
            )
        )
        return new

    def _look_into_archive(self, row: LifeRow) -> None:
        days = (self.moment - (row.archived_at or self.moment)) / DAY
        if row.revival_at is not None and row.revival_at <= self.moment:
            self.wishes.append(row)
        elif row.protected or row.revival_at is not None:
            return  # it is protected, or its revival was requested
        elif self._is_over(row, days):
            self.others.append(CycleStep(row.id, row.version, "delete", "expired", self._frozen_score(row)))
        elif row.full and days > self.rules.archive.grace_days:
            self.others.append(CycleStep(row.id, row.version, "purge", "grace_over", self._frozen_score(row)))

    def _look_at_forgotten(self, row: LifeRow) -> None:
        """The user forgot it and had the grace period to undo that. Protection does not outlive the wish."""
        if (self.moment - row.forgotten_at) / DAY > self.rules.archive.grace_days:
            self.others.append(CycleStep(row.id, row.version, "delete", "forgotten", self._frozen_score(row)))

    def _frozen_score(self, row: LifeRow) -> float:
        return self.curve(row).at(((row.archived_at or self.moment) - row.anchor) / DAY)

    def _is_over(self, row: LifeRow, days: float) -> bool:
        """The conditions of automatic deletion. The age is always required [ruling 13]."""
        archive = self.rules.archive
        if not archive.auto_delete_enabled or days <= archive.retention_days:
            return False
        never_wanted: bool = row.recalls == 0
        unmoving: bool = row.intensity < archive.delete_max_intensity
        if not archive.delete_require_zero_recall:  # a condition that is switched off deletes nothing
            return unmoving
        if archive.delete_condition_mode == "AND":
            return never_wanted and unmoving
        return never_wanted or unmoving

    # --- all together

    def enforce_ratios(self) -> None:
        """Where a level is over its share, its weakest memories move one level down, starting at the top
        [E9]."""
        limits = _caps(self.census, self.rules)
        if limits is None:
            return
        for level in ACTIVE:
            excess, below = self.counts[level] - limits[level], Level(level + 1)
            if excess > 0:
                self._fetch(level, excess)
                movable = [row for row in self._weakest(level) if not self._is_left_alone(row)]
                for row in movable[:excess]:
                    self._move(row, below, "ratio")

    def enforce_capacity(self) -> None:
        """Over capacity, archive the weakest down to the low-water mark, a limited number per cycle [L6]."""
        active = sum(self.counts[level] for level in ACTIVE) + self.census.protected
        over = active - _capacity_target(self.census, self.rules)
        if over <= 0 or active < self.rules.capacity.trigger * self.rules.capacity.limit:
            return
        some = min(over, int(self.rules.capacity.max_share_per_cycle * self.rules.capacity.limit) or 1)
        for level in ACTIVE:
            self._fetch(level, some)
        for row in [r for r in self._weakest(*ACTIVE) if not self._is_kept(r)][:some]:
            self._move(row, Level.ARCHIVED, "capacity")

    def count_excess(self) -> int:
        """The number of active memories beyond the capacity after all steps."""
        active = sum(self.counts[level] for level in ACTIVE) + self.census.protected
        return max(0, active - self.rules.capacity.limit)

    def _fetch(self, level: Level, n: int) -> None:
        """Fetch the n weakest of a level that can move. Rows that are known already, and rows that must not
        be archived yet, are fetched on top of that."""
        wanted, want = n + self.seen[level], 0
        found: list[LifeRow] = []
        while len(found) == want < wanted + sum(map(self._is_left_alone, found)):
            want = wanted + sum(map(self._is_left_alone, found))
            found = list(self.more(level, want))
        for row in found:
            if row.id not in self.rows:
                self._place(row)

    def _weakest(self, *levels: Level) -> list[LifeRow]:
        here = [self.rows[id] for id, (level, _) in self.targets.items() if level in levels]
        return sorted(here, key=lambda row: (self.scores[row.id], row.created, row.recalls, row.id))

    def grant_wishes(self) -> None:
        """Revive as traces while there is room [ruling 12]; defer the other requests."""
        limits = _caps(self.census, self.rules)
        for row in sorted(self.wishes, key=lambda row: (row.revival_at, row.id)):
            if row.protected:  # protected memories are not counted
                self.others.append(self._revive(row))
            elif limits is None or self.counts[Level.TRACE] < limits[Level.TRACE]:
                self.others.append(self._revive(row))
                self.counts[Level.ARCHIVED] -= 1
                self.counts[Level.TRACE] += 1
            else:
                self.others.append(
                    CycleStep(row.id, row.version, "defer_revival", "no_room", self._frozen_score(row))
                )

    def _revive(self, row: LifeRow) -> CycleStep:
        archive = self.rules.archive
        score = revival_score(
            row.intensity,
            (self.moment - (row.archived_at or self.moment)) / DAY,
            revival_decay_per_day=archive.revival_decay_per_day,
            revival_min_margin=archive.revival_min_margin,
            level3_threshold=self.levels.level3_threshold,
        )
        anchor = self.curve(row).anchor(score, self.now)
        frozen = self._frozen_score(row)
        return CycleStep(row.id, row.version, "revive", "wished", score, Level.TRACE, anchor, before=frozen)

    def steps(self) -> Iterator[CycleStep]:
        """The steps in order of execution: reinforcement first."""
        yield from self.reinforcements
        yield from (step for step in self.others if step.act in ("revive", "defer_revival"))
        moved = [(level, reason, id) for id, (level, reason) in self.targets.items() if reason]
        for level, reason, id in sorted(moved, key=lambda move: (move[0], self.scores[move[2]], move[2])):
            row = self.rows[id]
            act = "archive" if level is Level.ARCHIVED else "compress"
            yield CycleStep(id, row.version, act, reason, self.scores[id], level)
        yield from (step for step in self.others if step.act in ("purge", "delete"))


def _was_recalled(row: LifeRow) -> bool:
    return row.recalled_at is not None and (row.reinforced_at is None or row.recalled_at > row.reinforced_at)


def curve_by(rules: CycleRules) -> Callable[[LifeRow], Curve]:
    law, weekly = LAWS[rules.retention.law], rules.weekly
    return lambda row: law.of(row.intensity, row.coefficient, row.recalls, weekly)


def _caps(census: Census, rules: CycleRules) -> dict[Level, int] | None:
    """The maximum number of memories at each active level; None below the minimum population."""
    if census.total < rules.compression.min_population:
        return None
    return {rung.level: int(getattr(rules.compression, rung.ratio) * census.total) for rung in LEVELS}


def _capacity_target(census: Census, rules: CycleRules) -> int:
    """The number of memories that may stay active once capacity is enforced."""
    capacity = rules.capacity
    if census.active + census.protected < capacity.trigger * capacity.limit:
        return census.active + census.protected
    return int(capacity.low_water * capacity.limit)
