"""A night, through the public API: what fades, what comes back, and that nothing is lost on the way."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums, or options are passed on as a dict.

from collections.abc import Iterable
from datetime import timedelta
from itertools import count
from pathlib import Path
from random import Random
from shutil import copytree, rmtree

import pytest

from nagori import Category, Draft, Emotion, Kind, Level, Nagori
from nagori.config import load
from nagori.errors import Conflict, InvalidInput, StoreError
from nagori.stores.sqlite import SqliteStore
from nagori.testing import FailingPart, FrozenClock, WordEmbedder

LONG = (
    "We met at the harbour office in Otaru to talk about the new cold store. Ms Mori wants 14 racks and a"
    " second door to the quay. The electrician, Ken, says that the old fuse box from 1987 cannot carry it. We"
    " decided to order the Hitachi compressor and to pay 2,400,000 yen in three parts. The weather was awful"
    " and the ferry late, so everybody was tired and a little cross. Afterwards there was grilled squid,"
    " which was the best I have eaten for years, and a long walk back to the station in the snow with Yuki."
)


def nights(memory: Nagori, clock: FrozenClock, days: int) -> None:
    for _ in range(days):
        clock.forward(days=1)
        memory.cycle()


def exported(memory: Nagori) -> list[str]:
    return sorted(memory.export())


# --- fading


def test_a_memory_fades_to_a_summary_then_to_a_trace_then_into_the_archive(
    memory: Nagori, clock: FrozenClock
) -> None:
    kept = memory.remember(LONG, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(55))
    seen = []
    for _ in range(60):
        clock.forward(days=1)
        memory.cycle()
        now = memory.show(kept.id)
        seen.append((now.level, len(now.text.content)))
    levels = [level for level, _ in seen]
    assert levels == sorted(levels)
    assert set(levels) == set(Level) or set(levels) == {Level.SUMMARY, Level.TRACE, Level.ARCHIVED}
    sizes = dict(seen)
    assert sizes[Level.SUMMARY] < 0.5 * len(LONG)
    assert sizes[Level.TRACE] < sizes[Level.SUMMARY]
    assert memory.show(kept.id).texts[Level.FULL].content == LONG


def test_what_faded_is_found_by_the_words_that_are_left(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(LONG, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(55))
    nights(memory, clock, 5)
    words = memory.show(kept.id).text.content.split()[0].strip(".,")
    assert [r.memory.id for r in memory.recall(words, mark=False)] == [kept.id]
    assert memory.verify().sound


def test_a_cycle_twice_a_night_changes_nothing_more(memory: Nagori, clock: FrozenClock) -> None:
    memory.remember_many([Draft(f"note {n} about tea", emotion=Emotion(n)) for n in range(60)])
    nights(memory, clock, 3)
    before = exported(memory)
    night = memory.cycle()
    assert (night.done, night.plan.steps) == (0, [])
    assert exported(memory) == before


@pytest.mark.parametrize("runs", [0, 1, 7, 30])
def test_a_week_scores_the_same_however_often_the_cycle_ran(
    tmp_path: Path, clock: FrozenClock, runs: int
) -> None:
    with Nagori.open(tmp_path, clock=clock, embedder=None) as memory:
        kept = memory.remember("tea", kind=Kind.EPISODE, category=Category.CASUAL, emotion=Emotion(80))
        end = clock.now() + timedelta(days=7)
        for _ in range(runs):
            clock.forward(days=7 / runs)
            memory.cycle()
        clock.set(end)
        assert memory.why(kept.id).retention == pytest.approx(
            80 * memory.show(kept.id).coefficient ** 7, abs=1e-9
        )


def test_the_protected_stay_whole(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(
        "greeting", kind=Kind.EPISODE, category=Category.CASUAL, emotion=Emotion(1), protect=True
    )
    nights(memory, clock, 30)
    assert memory.show(kept.id).level is Level.FULL


def test_a_fact_outlives_chatter(memory: Nagori, clock: FrozenClock) -> None:
    chat = memory.remember("hello there", category=Category.CASUAL, kind=Kind.EPISODE, emotion=Emotion(30))
    fact = memory.remember(
        "allergic to peanuts", category=Category.CASUAL, kind=Kind.FACT, emotion=Emotion(30)
    )
    nights(memory, clock, 30)
    assert memory.show(chat.id).is_archived
    assert memory.show(fact.id).level < Level.ARCHIVED


# --- recall, archive, revival


def test_a_recall_is_earned_once_a_night(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(
        "the kettle is green", kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(60)
    )
    clock.forward(days=4)
    for _ in range(3):
        memory.recall("kettle")
    memory.cycle()
    after = memory.show(kept.id)
    assert after.recalls == 1
    assert memory.why(kept.id).days == pytest.approx(2)
    assert after.coefficient > kept.coefficient


def test_an_archived_memory_is_found_and_wished_back(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(
        "the kettle is green", kind=Kind.EPISODE, category=Category.CASUAL, emotion=Emotion(30)
    )
    nights(memory, clock, 30)
    assert memory.show(kept.id).is_archived
    assert memory.recall("kettle green")[0].memory.id == kept.id
    memory.cycle()
    back = memory.show(kept.id)
    assert (back.level, back.archived_at, back.revival_at) == (Level.TRACE, None, None)
    assert memory.why(kept.id).retention == pytest.approx(30 * 0.995**24, rel=0.05)
    nights(memory, clock, 6)
    assert not memory.show(kept.id).is_archived


def test_archive_and_back_gives_the_same_memory(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(LONG, trigger="Otaru", emotion=Emotion(70, "positive", 40, ("joy",)))
    memory.archive(kept.id)
    assert memory.show(kept.id).archive_reason == "manual"
    clock.forward(days=60)
    back = memory.unarchive(kept.id)
    same = ("texts", "emotion", "kind", "category", "coefficient", "source", "created", "recalls", "level")
    assert {name: getattr(back, name) for name in same} == {name: getattr(kept, name) for name in same}
    assert memory.why(kept.id).retention == pytest.approx(70, abs=0.01)
    assert memory.recall("Hitachi compressor", mark=False)[0].memory.id == kept.id


def test_full_words_go_after_the_grace_and_then_nothing_brings_them_back(
    memory: Nagori, clock: FrozenClock
) -> None:
    kept = memory.remember(LONG, emotion=Emotion(70))
    memory.archive(kept.id)
    nights(memory, clock, 92)
    left = memory.show(kept.id)
    assert set(left.texts) == {Level.TRACE}
    with pytest.raises(InvalidInput, match="gone"):
        memory.unarchive(kept.id)


def test_every_step_can_be_explained_and_taken_back(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(LONG, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(40))
    nights(memory, clock, 1)
    last = memory.why(kept.id).history[-1]
    assert (last.type, last.by, last.data["reason"]) == ("compressed", "cycle", "score")
    assert last.data["before"] > last.data["after"] > 0
    again, what = memory.undo(kept.id)
    assert (what, again.level, again.text.content) == ("compressed", Level.FULL, LONG)


# --- many


def test_ratios_hold_from_a_hundred_upward(memory: Nagori, clock: FrozenClock) -> None:
    memory.remember_many([Draft(f"note {n} on tea", emotion=Emotion(60 + n % 40)) for n in range(200)])
    clock.forward(hours=1)
    memory.cycle(memory.plan())
    assert memory.status().counts.levels == {1: 200}  # nothing younger than a day makes room
    clock.forward(hours=23)
    memory.cycle(memory.plan())
    levels = memory.status().counts.levels
    assert levels == {1: 30, 2: 60, 3: 70, 4: 40}


def test_capacity_is_kept(tmp_path: Path, clock: FrozenClock) -> None:
    config = load(overrides={"capacity.limit": 50, "compression.min_population": 1000}).config
    with Nagori.open(tmp_path, clock=clock, embedder=None, config=config) as memory:
        memory.remember_many([Draft(f"note {n}", emotion=Emotion(60 + n / 2)) for n in range(49)])
        for _ in range(3):
            memory.cycle()
        assert memory.status().counts.levels[1] == 44  # below the trigger after one pass of a tenth
        assert {m.archive_reason for m in memory.list() if m.is_archived} <= {"capacity"}


def test_only_one_cycle_at_a_time(memory: Nagori) -> None:
    from nagori.leases import lease

    memory.remember("tea")
    with lease(memory.runtime, memory.scope.owner, "cycle"), pytest.raises(Conflict):
        memory.cycle()
    memory.cycle()


def test_a_memory_that_changes_meanwhile_is_left_for_the_next_night(
    memory: Nagori, clock: FrozenClock
) -> None:
    kept = memory.remember(LONG, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(40))
    clock.forward(days=1)
    plan = memory.plan()
    memory.edit(kept.id, content="Other words.")
    night = memory.cycle(plan)
    assert night.left == [kept.id]
    assert memory.show(kept.id).text.content == "Other words."


# --- killed


def stage(folder: Path, clock: FrozenClock) -> Nagori:
    return Nagori.open(folder, clock=clock, embedder=WordEmbedder())


def fill(memory: Nagori, clock: FrozenClock, dice: Random) -> None:
    memory.remember_many(
        [
            Draft(
                f"{LONG} {n}",
                kind=dice.choice(list(Kind)),
                category=dice.choice(list(Category)),
                emotion=Emotion(dice.randrange(100)),
            )
            for n in range(105)
        ]
    )
    clock.forward(days=3)
    memory.recall("harbour office", k=10)
    memory.cycle()
    memory.recall("grilled squid", k=20)
    clock.forward(days=20)


class Killed(BaseException):
    """As if the process had ended here."""


FAULTS = {"append": 30, "commit": 30, "get": 60, "catch_up": 0}  # and how many kills each must survive


def faulty(memory: Nagori, method: str, at: int) -> None:
    """Let the Nth call of a part end everything; `catch_up` is where a plan begins."""
    parts = memory.runtime
    if method == "append":
        parts.journal = parts.ledger.journal = FailingPart(parts.journal, method, at, Killed)  # type: ignore[assignment]
    elif method == "catch_up":
        parts.ledger = FailingPart(parts.ledger, method, at, Killed)  # type: ignore[assignment]
    else:
        parts.store = parts.ledger.store = FailingPart(parts.store, method, at, Killed)  # type: ignore[assignment]


def last_kill(tmp_path: Path, method: str, seed: int, moments: Iterable[int]) -> int:
    """Kill a cycle at each of these calls, 0 first, and compare how it ends; gives the last of them."""
    original, began = tmp_path / "original", FrozenClock()
    with stage(original, began) as memory:
        fill(memory, began, Random(seed))
    expected: list[str] = []
    for at in moments:  # 0 never fails: that is the night to be compared with
        folder, clock = tmp_path / f"{at}", FrozenClock(began.now())
        copytree(original, folder)
        with stage(folder, clock) as memory:
            faulty(memory, method, at)
            try:
                memory.cycle()
                killed = False
            except Killed:
                killed = True
        with stage(folder, clock) as memory:
            memory.cycle()
            told = exported(memory)
            assert memory.verify().sound
        expected = expected or told
        assert told == expected
        rmtree(folder)
        if at and not killed:
            break
    return at


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", FAULTS)
def test_a_cycle_that_is_killed_anywhere_ends_like_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, seed: int
) -> None:
    monkeypatch.setattr("nagori.services.cycle.AT_ONCE", 1)
    assert last_kill(tmp_path, method, seed, count()) > FAULTS[method]


@pytest.mark.parametrize("method", FAULTS)
def test_a_cycle_that_is_killed_here_and_there_ends_like_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """A slice of the one above: its beginning and two moments on the way."""
    monkeypatch.setattr("nagori.services.cycle.AT_ONCE", 1)
    moments = [0, 1, *(FAULTS[method] // part for part in (3, 1) if FAULTS[method])]
    assert last_kill(tmp_path, method, 0, moments) == moments[-1]


def test_a_store_that_fails_keeps_every_word(tmp_path: Path, clock: FrozenClock) -> None:
    store = SqliteStore(tmp_path / "nagori.db")
    with Nagori.open(tmp_path, clock=clock, embedder=WordEmbedder(), store=store) as memory:
        fill(memory, clock, Random(1))
        memory.runtime.ledger.store = FailingPart(store, "commit", 1, lambda: StoreError("no"))  # type: ignore[assignment]
        memory.cycle()
        memory.runtime.ledger.store = store
        whole = [m.texts[Level.FULL].content for m in memory.list(limit=1000)]
        assert all(text.startswith(LONG[:40]) for text in whole)


# --- ties


def test_memories_of_one_topic_are_tied_the_newer_to_the_older(memory: Nagori, clock: FrozenClock) -> None:
    old = memory.remember("the green kettle in the old kitchen whistles at noon")
    clock.forward(hours=1)
    new = memory.remember("the green kettle in the old kitchen whistles at noon daily")
    other = memory.remember("quarterly taxes are due in Berlin")
    assert memory.cycle().ties == 1
    [tie] = memory.runtime.store.relations(memory.scope, [old.id, new.id, other.id])
    assert (tie.source, tie.target, tie.type) == (new.id, old.id, "same_topic")
    assert memory.cycle().ties == 0


def test_no_memory_has_more_ties_than_it_may(memory: Nagori) -> None:
    memory.remember_many([f"the green kettle in the old kitchen whistles at noon {n}" for n in range(30)])
    memory.cycle()
    ids = [m.id for m in memory.list()]
    ties = memory.runtime.store.relations(memory.scope, ids)
    ends = [end for tie in ties for end in (tie.source, tie.target)]
    assert ties
    assert max(ends.count(id) for id in ids) <= 10


def test_a_lost_note_of_ties_makes_none_twice(memory: Nagori) -> None:
    memory.remember_many(
        ["the green kettle whistles at noon today", "the green kettle whistles at noon, today ok"]
    )
    assert memory.cycle().ties == 1
    memory.runtime.ledger.set_state(memory.scope.owner, "linked", None, memory.runtime.clock.now(), by="test")
    assert memory.cycle().ties == 0


# --- as it was


def test_the_past_can_be_looked_at(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(LONG, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(40))
    then = clock.now()
    nights(memory, clock, 40)
    assert memory.show(kept.id).is_archived
    [was] = memory.as_of(then)
    assert (was.level, was.text.content) == (Level.FULL, LONG)
    assert memory.as_of(then - timedelta(days=1)) == []
    forgotten = memory.forget(kept.id)
    assert memory.as_of(clock.now()) == []
    assert forgotten.id == kept.id
