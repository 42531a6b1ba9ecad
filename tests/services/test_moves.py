"""The table of moves against the house: no act is missing in it, and every arrow is gone by somebody."""

from pathlib import Path
from random import Random

from nagori import Category, Draft, Emotion, Filter, Kind, Level, Nagori
from nagori.config import load
from nagori.core.levels import HAND, NIGHT, TRANSITIONS
from nagori.services.cycle import ACTS
from nagori.testing import FrozenClock

EVERYTHING = Filter(archived=True, forgotten=True)
CROWDED = {
    "compression.min_population": "10",
    "compression.level3_ratio": "0.2",
    "compression.delete_ratio": "0.35",
    "archive.auto_delete_enabled": "true",
    "archive.retention_days": "40",
    "archive.grace_days": "5",
    "capacity.limit": "70",
}

Arrow = tuple[str, Level, Level | None]


def table(by: str) -> set[Arrow]:
    return {
        (move.act, level, target)
        for move in TRANSITIONS
        if by in move.by
        for level, targets in move.ends.items()
        for target in targets
    }


def stands(memory: Nagori, id: str) -> Level | None:
    one = memory.show(id)
    return None if one.is_forgotten else one.level


def test_a_night_has_the_acts_of_the_table() -> None:
    assert {move.act for move in TRANSITIONS if NIGHT in move.by} == ACTS.keys()


def test_nights_go_every_arrow_of_the_table_and_no_other(tmp_path: Path, clock: FrozenClock) -> None:
    chance, gone = Random(7), set[Arrow]()
    config = load(overrides=CROWDED).config
    with Nagori.open(tmp_path, config=config, clock=clock, embedder=None) as memory:
        for day in range(70):
            if day < 40:
                drafts = [(f"day {day} {category}", category, chance.randint(3, 99)) for category in Category]
                memory.remember_many(
                    Draft(words, kind=Kind.EPISODE, category=category, emotion=Emotion(feeling))
                    for words, category, feeling in drafts
                )
            memory.recall(f"day {chance.randint(0, 39)} casual work", k=4)
            clock.forward(days=1)
            plan = memory.plan()
            for step in plan.steps:
                before = stands(memory, step.id)
                assert before is not None
                after = None if step.act == "delete" else step.level or before
                gone.add((step.act, before, after))
            memory.cycle(plan)
            moved = [step for step in plan.steps if step.level]
            assert [stands(memory, step.id) for step in moved] == [step.level for step in moved]
    assert gone == table(NIGHT)


def test_hands_go_every_arrow_of_the_table(memory: Nagori, clock: FrozenClock) -> None:
    gone = set[Arrow]()
    verbs = {"archive": memory.archive, "forget": memory.forget, "restore": memory.unarchive}
    for act, level, target in sorted(table(HAND), key=str):
        words = f"{act} from {level.name}: tea at four"
        kept = memory.remember(words, kind=Kind.EPISODE, emotion=Emotion(60))
        if level is Level.ARCHIVED:
            memory.archive(kept.id)
        while memory.show(kept.id).level < level:
            clock.forward(days=1)
            memory.cycle()
        verbs[act](kept.id)
        assert stands(memory, kept.id) is target
        gone.add((act, level, target))
    assert gone == table(HAND)
