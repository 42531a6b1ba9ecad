"""What a night does: rows, settings and the time in; an ordered plan with a reason for every step out.

    strengthen   recalled since the last night: younger, slower to fade [E5]
    revive       wished back from the archive, if there is room among the traces [E11]
    fade         to the level its strength deserves, or further down where a level is too full [E6, E9]
    archive      too weak, or more than the store may hold [L6]
    purge        the full words of what was archived long ago [ruling 8]
    delete       old, never wanted and never moving, if the user asked for that; its words go [E12]

Pure: nothing is read, nothing is changed. Every memory moves at most once, straight to where it ends; the
protected never move; nothing rises unless it was recalled. The plan hangs on strength and counts alone, so
planning again after a part of it was done gives the rest of it, and after all of it, nothing [ruling 10].
"""

from __future__ import annotations

from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from nagori.core.decay import LAWS, Curve, Reinforcement, Retention, Weekly, rejuvenate, revival_score
from nagori.core.levels import ACTIVE, LEVELS, Archive, Capacity, Compression, Levels, level_for
from nagori.core.model import EPOCH, Level, Memory, to_micros
from nagori.core.values import Value, default_factory

DAY = 86_400_000_000  # microseconds
REARCHIVE_AFTER = 7 * DAY  # what was revived is not archived again before
REVIVAL_RETRY = DAY  # a wish that was refused is looked at again after
CONFIRM_FROM = 1_000  # from so many memories on a plan that moves too much of them asks first
CONFIRM_SHARE = 0.4

# A light row: a night looks at many of these and at whole memories only where something is to be done.
# Times are microseconds since 1970; `full` says whether the full words are still there.
LifeRow = namedtuple(
    "LifeRow",
    "id version level created anchor intensity coefficient recalls protected recalled_at reinforced_at"
    " archived_at keep_until revival_at full",
)


def life_row(memory: Memory) -> LifeRow:
    """A memory as the cycle sees it."""
    fields = {name: getattr(memory, name) for name in ("id", "version", "level", "coefficient", "recalls")}
    times = ("created", "anchor", "recalled_at", "reinforced_at", "archived_at", "keep_until", "revival_at")
    fields |= {name: to_micros(getattr(memory, name)) for name in times}
    whole = Level.FULL in memory.texts
    return LifeRow(**fields, intensity=memory.emotion.intensity, protected=memory.protected, full=whole)


class CycleRules(Value):
    """The settings a night goes by."""

    retention: Retention = Retention()
    weekly: Weekly = Weekly()
    recall: Reinforcement = Reinforcement()
    levels: Levels = Levels()
    compression: Compression = Compression()
    archive: Archive = Archive()
    capacity: Capacity = Capacity()


class Census(Value):
    """How many memories stand at each level, the protected apart. Forgotten ones are not counted."""

    levels: Mapping[Level, int]
    protected: int = 0

    @property
    def total(self) -> int:
        return sum(self.levels.values())

    @property
    def active(self) -> int:
        return sum(self.levels.get(level, 0) for level in ACTIVE)


class CycleStep(Value):
    """One thing to do to one memory, and why. `score` is its strength when it was decided."""

    id: str
    version: int
    act: str
    reason: str
    score: float = 0.0
    level: Level | None = None  # where it ends
    anchor: datetime | None = None
    coefficient: float | None = None


class CyclePlan(Value):
    now: datetime
    census: Census
    steps: list[CycleStep] = default_factory(list)

    @property
    def moves(self) -> int:
        return sum(step.act in ("compress", "archive", "delete") for step in self.steps)

    @property
    def asks(self) -> bool:
        """Whether so much of a large store would move that somebody should look at it first."""
        total = self.census.total
        return total >= CONFIRM_FROM and self.moves > CONFIRM_SHARE * total

    def counts(self) -> Counter[tuple[str, str]]:
        """How many of each act, by reason."""
        return Counter((step.act, step.reason) for step in self.steps)


Weakest = Callable[[Level, int], Iterable[LifeRow]]


def no_rows(level: Level, n: int) -> Iterable[LifeRow]:
    """For callers whose rows are all there are."""
    return ()


class CycleRows(Value):
    """What a store tells a cycle: counts, the rows it may have something to do with, and the weakest of a
    level on demand."""

    census: Census
    due: list[LifeRow] = default_factory(list)
    weakest: Weakest = no_rows


def plan_cycle(
    rows: Iterable[LifeRow], census: Census, rules: CycleRules, now: datetime, weakest: Weakest = no_rows
) -> CyclePlan:
    """The plan of a night. `rows` must hold every memory that fades, was recalled or wished back, or lies in
    the archive beyond its grace; more do no harm. Only if a level is too full are others needed: `weakest`
    gives the n weakest of it that are not protected."""
    night = _CyclePlanner(rules, census, now, weakest)
    for row in rows:
        night.look(row)
    night.enforce_ratios()
    night.enforce_capacity()
    night.grant_wishes()
    return CyclePlan(now, census, list(night.steps()))


class _CyclePlanner:
    """One plan in the making."""

    def __init__(self, rules: CycleRules, census: Census, now: datetime, weakest: Weakest) -> None:
        self.rules, self.census, self.now, self.more = rules, census, now, weakest
        self.seen: Counter[int] = Counter()  # rows looked at, by the level they are found at
        self.moment = to_micros(now) or 0
        self.curve = curve_by(rules)
        self.counts = Counter(census.levels)
        self.rows: dict[str, LifeRow] = {}
        self.scores: dict[str, float] = {}
        self.targets: dict[str, tuple[Level, str]] = {}
        self.reinforcements: list[CycleStep] = []
        self.wishes: list[LifeRow] = []
        self.others: list[CycleStep] = []

    # --- one memory at a time

    def look(self, row: LifeRow) -> None:
        """What it deserves by itself."""
        if row.level == Level.ARCHIVED:
            self._look_into_archive(row)
        elif row.protected:
            if _was_recalled(row):
                self._reinforce(row)
        else:
            self._place(self._reinforce(row) if _was_recalled(row) else row)

    def _place(self, row: LifeRow) -> None:
        score = self._score(row)
        deserved = level_for(score, self.rules.levels)
        if deserved is Level.ARCHIVED and self._is_kept(row):
            deserved = Level.TRACE
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

    def _reinforce(self, row: LifeRow) -> LifeRow:
        law, recall = self.rules.retention, self.rules.recall
        anchor = EPOCH + timedelta(microseconds=row.anchor)
        young, slow = rejuvenate(anchor, row.coefficient, self.now, law, recall)
        new = row._replace(anchor=to_micros(young), coefficient=slow, recalls=row.recalls + 1)
        self.reinforcements.append(
            CycleStep(row.id, row.version, "reinforce", "recalled", self._score(new), None, young, slow)
        )
        return new

    def _look_into_archive(self, row: LifeRow) -> None:
        days = (self.moment - (row.archived_at or self.moment)) / DAY
        if row.revival_at is not None and row.revival_at <= self.moment:
            self.wishes.append(row)
        elif row.protected or row.revival_at is not None:
            return  # somebody wants it
        elif self._is_over(row, days):
            self.others.append(CycleStep(row.id, row.version, "delete", "expired", self._frozen_score(row)))
        elif row.full and days > self.rules.archive.grace_days:
            self.others.append(CycleStep(row.id, row.version, "purge", "grace_over", self._frozen_score(row)))

    def _frozen_score(self, row: LifeRow) -> float:
        return self.curve(row).at(((row.archived_at or self.moment) - row.anchor) / DAY)

    def _is_over(self, row: LifeRow, days: float) -> bool:
        """001's conditions for automatic deletion; the age is always one of them [ruling 13]."""
        archive = self.rules.archive
        if not archive.auto_delete_enabled or days <= archive.retention_days:
            return False
        unwanted = not archive.delete_require_zero_recall or row.recalls == 0
        unmoving = row.intensity < archive.delete_max_intensity
        return unwanted and unmoving if archive.delete_condition_mode == "AND" else unwanted or unmoving

    # --- all together

    def enforce_ratios(self) -> None:
        """The weakest of a level that is too full go one down, from the top [E9]."""
        limits = _caps(self.census, self.rules)
        if limits is None:
            return
        for level in ACTIVE:
            excess, below = self.counts[level] - limits[level], Level(level + 1)
            if excess > 0:
                self._fetch(level, excess)
                movable = [r for r in self._weakest(level) if below < Level.ARCHIVED or not self._is_kept(r)]
                for row in movable[:excess]:
                    self._move(row, below, "ratio")

    def enforce_capacity(self) -> None:
        """More than the store may hold: the weakest go, until the low-water mark, some each night [L6]."""
        active = sum(self.counts[level] for level in ACTIVE) + self.census.protected
        over = active - _capacity_target(self.census, self.rules)
        if over <= 0 or active < self.rules.capacity.trigger * self.rules.capacity.limit:
            return
        some = min(over, int(self.rules.capacity.max_share_per_cycle * self.rules.capacity.limit) or 1)
        for level in ACTIVE:
            self._fetch(level, some)
        for row in [r for r in self._weakest(*ACTIVE) if not self._is_kept(r)][:some]:
            self._move(row, Level.ARCHIVED, "capacity")

    def _fetch(self, level: Level, n: int) -> None:
        """Look at the weakest of a level too; those we know already are among them, and those that are left
        alone for a week, who make room for nobody."""
        wanted, want = n + self.seen[level], 0
        found: list[LifeRow] = []
        while len(found) == want < wanted + sum(map(self._is_kept, found)):
            want = wanted + sum(map(self._is_kept, found))
            found = list(self.more(level, want))
        for row in found:
            if row.id not in self.rows:
                self._place(row)

    def _weakest(self, *levels: Level) -> list[LifeRow]:
        here = [self.rows[id] for id, (level, _) in self.targets.items() if level in levels]
        return sorted(here, key=lambda row: (self.scores[row.id], row.created, row.recalls, row.id))

    def grant_wishes(self) -> None:
        """Back as traces while there is room for them [ruling 12]; the others are looked at again later."""
        limits = _caps(self.census, self.rules)
        for row in sorted(self.wishes, key=lambda row: (row.revival_at, row.id)):
            if row.protected:  # outside the counts, as ever
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
            level3_threshold=self.rules.levels.level3_threshold,
        )
        anchor = self.curve(row).anchor(score, self.now)
        return CycleStep(row.id, row.version, "revive", "wished", score, Level.TRACE, anchor)

    def steps(self) -> Iterator[CycleStep]:
        """In the order in which they are done: what gives strength first."""
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
    """How many each active level may hold; None while there are too few for shares to mean anything."""
    if census.total < rules.compression.min_population:
        return None
    return {rung.level: int(getattr(rules.compression, rung.ratio) * census.total) for rung in LEVELS}


def _capacity_target(census: Census, rules: CycleRules) -> int:
    """How many may stay active, once tidying has started."""
    capacity = rules.capacity
    if census.active + census.protected < capacity.trigger * capacity.limit:
        return census.active + census.protected
    return int(capacity.low_water * capacity.limit)
