"""Does learning from outcomes help an agent? `python -m bench.learning [--seeds 20] [--first-seed 0]`.

A world of tasks: 30 families, each with a hidden lesson among distractors. A turn succeeds with the base rate
of its family, more if the lesson is used, less for every distractor that is shown. The agent uses a lesson
that it is shown in 7 of 10 turns, a distractor in 1 of 20. Candidates come in the order of a noisy relevance.
Only the core functions run here (`nagori.core.outcomes_lessons_and_credit`), with the default settings; the
tests run the same through the whole program.

    steady    lessons stay as they are
    drifting  half of the lessons turn wrong at half time, and a new lesson appears for each
    noise     nothing that is shown changes anything; everything is used equally often
    poisoned  a third of the families are easy, and have a bad lesson that is followed and does harm
    agents    three roles; what helps one role harms the others

    fixed        relevance alone
    requested    relevance and the bounded factor of what a recall on request applies; nothing is left out
    learned      relevance, contribution, exclusion, and a policy that moves a setting a night at most
    correlation  the same with the literal credit: outcome with a memory less the mean of all
    oracle       only what helps

All arms of a seed see the same tasks. Differences to `fixed` are paired by seed, with 95 % intervals over
seeds (normal). "late" is the second half of the nights.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import mean, stdev

from bench.report import table

from nagori.config import Config
from nagori.core.memory_scores import HARM as HARMFUL
from nagori.core.memory_scores import choose_withheld, contribution, is_excluded
from nagori.core.model import NO_CREDIT, Credit
from nagori.core.outcomes_lessons_and_credit import LEVERS, Evidence, UsualOutcome, credit_turn, next_step
from nagori.core.relevance import bounded_factor
from nagori.core.value_object import Value

FAMILIES, DISTRACTORS = 30, 10
SESSIONS, TURNS = 4, 5  # of a night, and of a session
LESSON, DISTRACTION, HARM = 0.4, 0.03, 0.4
USE_OF_LESSON, USE_OF_OTHER, USE_IN_NOISE = 0.7, 0.05, 0.3
TOKENS = 40  # of a memory
WORLDS = ("steady", "drifting", "noise", "poisoned", "agents")
ARMS = ("fixed", "requested", "learned", "correlation", "oracle")
ROLES = ("writer", "tester", "operator")
ROLE_BONUS = 1.0  # log odds for a memory of the same role
SPREAD = 2.0  # of the relevance, in log odds
LESSON_AHEAD = 1.0  # how much better a lesson fits its task than a distractor does


class Candidate(Value):
    """A memory of the world. `effect` is what it adds to success, `late_effect` the same after the drift."""

    id: str
    fit: float
    effect: float  # where it is used, or shown if `by_showing`
    late_effect: float
    use: float
    by_showing: bool = False
    since: float = 0.0  # share of the nights before it exists
    role: str | None = None


class Family(Value):
    """Tasks of one kind."""

    name: str
    base: float
    candidates: list[Candidate]


class Tally(Value, frozen=False):
    """What happened in one run of one arm."""

    success: list[float]
    tokens: list[int]
    adopted: int = 0
    bad_weight: list[float] = []  # noqa: RUF012 - replaced, never changed


def build_world(world: str, random: Random) -> list[Family]:
    """The families of a world."""
    return [_family(world, number, random) for number in range(FAMILIES)]


def _family(world: str, number: int, random: Random) -> Family:
    base = random.uniform(0.3, 0.6)
    name = f"family-{number:02}"
    noise = world == "noise"
    use = USE_IN_NOISE if noise else USE_OF_OTHER
    cost = 0.0 if noise else -DISTRACTION
    others = [
        Candidate(f"{name}/other-{n}", random.gauss(0, 0.5), cost, cost, use, True)
        for n in range(DISTRACTORS)
    ]
    if noise:
        lessons = [Candidate(f"{name}/lesson", LESSON_AHEAD, 0.0, 0.0, USE_IN_NOISE)]
    elif world == "drifting" and number % 2:
        lessons = [
            Candidate(f"{name}/lesson", LESSON_AHEAD, LESSON, -LESSON, USE_OF_LESSON),
            Candidate(f"{name}/new", LESSON_AHEAD, LESSON, LESSON, USE_OF_LESSON, since=0.5),
        ]
    elif world == "poisoned" and number % 3 == 0:
        base = 0.95
        lessons = [Candidate(f"{name}/bad", LESSON_AHEAD, -HARM, -HARM, USE_OF_LESSON)]
    elif world == "agents":
        lessons = [
            Candidate(f"{name}/{role}", LESSON_AHEAD, LESSON, LESSON, USE_OF_LESSON, role=role)
            for role in ROLES
        ]
    else:
        lessons = [Candidate(f"{name}/lesson", LESSON_AHEAD, LESSON, LESSON, USE_OF_LESSON)]
    return Family(name, base, lessons + others)


def run_arm(world: str, arm: str, seed: int, nights: int) -> Tally:
    """One life of an agent with one policy."""
    families = build_world(world, Random(f"{world} {seed}"))
    tasks, dice = Random(f"tasks {world} {seed}"), Random(f"dice {arm} {world} {seed}")
    defaults = Config()
    learner = Learner(
        {name: float(_value(defaults, name)) for name in LEVERS},
        defaults.learning.withhold_share,
        arm,
    )
    tally = Tally([], [], bad_weight=[])
    for night in range(nights):
        done = night / nights
        for _ in range(SESSIONS * TURNS):
            family = tasks.choice(families)
            role = tasks.choice(ROLES) if world == "agents" else None
            noisy = {
                each.id: each.fit + tasks.gauss(0, SPREAD / 2)
                for each in family.candidates
                if each.since <= done
            }
            luck = tasks.random()
            uses = {each.id: tasks.random() < each.use for each in family.candidates}
            shown, withheld = learner.choose(family, noisy, done, role, dice)
            chance = family.base + sum(
                _effect(each, done, role) for each in shown if each.by_showing or uses[each.id]
            )
            success = luck < min(0.98, max(0.02, chance))
            learner.observe(family, shown, withheld, float(success), uses)
            tally.success.append(float(success))
            tally.tokens.append(TOKENS * len(shown))
        if arm == "learned":
            tally.adopted += learner.improve()
        bad = [learner.worth(id) for id in list(learner.credits) if id.endswith("/bad")]
        tally.bad_weight.append(mean(bad) if bad else 0.0)
    return tally


def _value(config: Config, name: str) -> float:
    section, key = name.split(".")
    return float(getattr(getattr(config, section), key))


def _effect(each: Candidate, done: float, role: str | None) -> float:
    effect = each.effect if done < 0.5 else each.late_effect
    return effect if each.role is None or each.role == role else -LESSON / 3


class RunningMean:
    """The mean of what was added."""

    def __init__(self) -> None:
        self.count, self.total = 0, 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0


class Learner:
    """An agent's memory in the world: it chooses what is shown and sees what came of it."""

    def __init__(self, values: dict[str, float], share: float, arm: str) -> None:
        self.values, self.share, self.arm = values, share, arm
        self.credits: dict[str, Credit] = defaultdict(lambda: NO_CREDIT)
        self.usual: dict[str, UsualOutcome] = defaultdict(UsualOutcome)
        self.evidence: dict[str, Evidence] = defaultdict(Evidence)
        self.with_it: dict[str, RunningMean] = defaultdict(RunningMean)
        self.every = RunningMean()

    def choose(
        self, family: Family, fits: dict[str, float], done: float, role: str | None, dice: Random
    ) -> tuple[list[Candidate], Candidate | None]:
        """What is shown, best first, and what is withheld."""
        here = [each for each in family.candidates if each.id in fits]
        if self.arm == "oracle":
            return [each for each in here if _effect(each, done, role) > 0], None
        most = int(self.values["hooks.max_memories"])
        if self.arm == "fixed":
            return sorted(here, key=lambda each: -fits[each.id])[:most], None
        if self.arm == "requested":
            factor = {each.id: bounded_factor((1 + self.worth(each.id)) / 2, 0.8, 1.2) for each in here}
            return sorted(here, key=lambda each: -fits[each.id] - math.log(factor[each.id]))[:most], None
        weight = self.values["learning.credit_weight"]
        score = {
            each.id: fits[each.id]
            + weight * self.worth(each.id)
            + ROLE_BONUS * (each.role == role is not None)
            for each in here
        }
        order = sorted(here, key=lambda each: -score[each.id])
        limit = int(self.values["learning.exclude_unused_after"])
        out = [each for each in order if self._is_out(each.id, limit)]
        retry = out[:1] if dice.random() < self.share else []
        order = [each for each in order if each not in out or each in retry][:most]
        if self.arm == "correlation":
            return order, None
        chosen, _ = choose_withheld(len(order), self.share, dice.randbytes(8))
        if chosen is None:
            return order, None
        return [each for n, each in enumerate(order) if n != chosen], order[chosen]

    def _is_out(self, id: str, limit: int) -> bool:
        if self.arm == "correlation":
            return self.credits[id].unused >= limit or self.worth(id) < -HARMFUL
        return is_excluded(self.credits[id], limit)

    def worth(self, id: str) -> float:
        if self.arm == "correlation":
            return self.with_it[id].mean - self.every.mean if self.with_it[id].count else 0.0
        return contribution(self.credits[id])

    def observe(
        self,
        family: Family,
        shown: list[Candidate],
        withheld: Candidate | None,
        outcome: float,
        uses: dict[str, bool],
    ) -> None:
        """Learn from the outcome of a turn."""
        usual = self.usual[family.name]
        surplus = outcome - usual.outcome
        asked = [*shown, withheld] if withheld else shown
        if self.arm == "learned" and asked:
            self._weigh(asked, withheld, surplus, uses)
        for each in shown:
            self.credits[each.id] = credit_turn(self.credits[each.id], surplus, used=uses[each.id])
            self.with_it[each.id].add(outcome)
        if withheld is not None:
            self.credits[withheld.id] = credit_turn(self.credits[withheld.id], surplus, withheld=True)
        self.every.add(outcome)
        self.usual[family.name] = usual.after(outcome, 0.0)

    def _weigh(
        self,
        asked: list[Candidate],
        withheld: Candidate | None,
        surplus: float,
        uses: dict[str, bool],
    ) -> None:
        """The evidence for each setting, from the memory in question."""
        limit = self.values["learning.exclude_unused_after"]
        full = len(asked) == self.values["hooks.max_memories"]
        question = {
            "hooks.max_memories": asked[-1] if full else None,
            "learning.credit_weight": next((e for e in asked if self.worth(e.id) < 0), None),
            "learning.exclude_unused_after": next(
                (e for e in asked if self.credits[e.id].unused >= limit / 2), None
            ),
        }
        for name, each in question.items():
            if each is not None:
                seen = self.evidence[name].after_outcome(surplus, each is withheld, self.share / len(asked))
                self.evidence[name] = seen if each is withheld else seen.after_showing(uses[each.id])

    def improve(self) -> int:
        """The step of a night; returns the number of settings that moved."""
        step = next_step(self.values, self.evidence)
        if step is None:
            return 0
        self.values[step.setting] = step.value
        self.evidence[step.setting] = Evidence()
        return 1


# --- the report -----------------------------------------------------------------------------------


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half of the 95 % interval."""
    half = 1.96 * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else float("nan")
    return mean(values), half


def recovery(tallies: list[Tally], nights: int) -> int | None:
    """The number of sessions after the drift until the success of a night, averaged over seeds, is back
    within 2 points of the quarter before it, and stays so on the average of the ten nights that follow."""
    per_night = SESSIONS * TURNS
    curve = [
        mean(x for t in tallies for x in t.success[n * per_night : (n + 1) * per_night])
        for n in range(nights)
    ]
    before = mean(curve[nights // 4 : nights // 2])
    for night in range(nights // 2, nights - 10):
        if mean(curve[night : night + 10]) >= before - 0.02:
            return (night - nights // 2) * SESSIONS
    return None


def measure(seeds: int, nights: int, worlds: Sequence[str] = WORLDS, first: int = 0) -> dict[str, object]:
    """All arms of these worlds."""
    report: dict[str, object] = {
        "machine": platform.machine(),
        "python": sys.version.split()[0],
        "seeds": seeds,
        "first seed": first,
        "nights": nights,
        "turns": nights * SESSIONS * TURNS,
    }
    for world in worlds:
        runs = {
            arm: [run_arm(world, arm, seed, nights) for seed in range(first, first + seeds)] for arm in ARMS
        }
        half = nights * SESSIONS * TURNS // 2
        fixed = runs["fixed"]
        rows = {}
        for arm, tallies in runs.items():
            late = [100 * (mean(t.success[half:]) - mean(f.success[half:])) for t, f in zip(tallies, fixed)]  # noqa: B905
            whole = [100 * (mean(t.success) - mean(f.success)) for t, f in zip(tallies, fixed)]  # noqa: B905
            saved = [
                100 * (sum(t.tokens[half:]) / sum(f.tokens[half:]) - 1)
                for t, f in zip(tallies, fixed)  # noqa: B905
            ]
            rows[arm] = {
                "late success": 100 * mean(mean(t.success[half:]) for t in tallies),
                "late gain": interval(late),
                "gain": interval(whole),
                "late tokens": interval(saved),
                "runs that adopt": sum(t.adopted > 0 for t in tallies) / seeds,
                "steps": mean(t.adopted for t in tallies),
                "recovery": recovery(tallies, nights) if world == "drifting" else None,
                "bad": interval([t.bad_weight[-1] for t in tallies]) if world == "poisoned" else None,
            }
        report[world] = rows
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0, help="others than those it was tuned on")
    parser.add_argument("--nights", type=int, default=100)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=WORLDS)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    report = measure(given.seeds, given.nights, given.worlds, given.first_seed)
    print(
        f"{report['machine']}, Python {report['python']}, {given.seeds} seeds from {given.first_seed},"
        f" {given.nights} nights, {report['turns']} turns"
    )
    for world in given.worlds:
        rows = report[world]
        assert isinstance(rows, dict)
        print(f"\n{world}")
        print(table(HEAD, list(map(_row, rows.items())), ("arm",)))
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


HEAD = ["arm", "late %", "late gain", "gain", "late tokens %", "adopt", "steps", "recovery", "bad lesson"]


def _row(pair: tuple[str, dict[str, object]]) -> list[str]:
    arm, row = pair

    def told(name: str, digits: int = 1) -> str:
        value = row[name]
        if value is None:
            return ""
        if isinstance(value, tuple):
            return f"{value[0]:+.{digits}f} ± {value[1]:.{digits}f}"
        return f"{value:.{digits}f}"

    recovered = row["recovery"]
    return [
        arm,
        told("late success"),
        told("late gain"),
        told("gain"),
        told("late tokens"),
        told("runs that adopt", 2),
        told("steps", 1),
        f"{recovered} sessions" if recovered is not None else "",
        told("bad", 2),
    ]


if __name__ == "__main__":
    main()
