"""Thumbs, and what a user's own numbers are."""

from datetime import timedelta
from pathlib import Path

import pytest

from nagori import Emotion, Nagori
from nagori.config import load
from nagori.core.decay import adjust_for_feedback, retention
from nagori.core.model import Category, Kind, Level, Text
from nagori.core.value_object import replace
from nagori.errors import NotFound
from nagori.testing import FrozenClock


def test_praise_strengthens_and_blame_weakens(memory: Nagori) -> None:
    id = memory.remember("tea", category="work", kind="episode", emotion=Emotion(50)).id
    assert (memory.show(id).emotion.intensity, memory.show(id).coefficient) == (50, pytest.approx(0.885))
    up = memory.feedback(id, good=True)
    assert (up.emotion.intensity, up.coefficient) == (60, pytest.approx(0.892))
    other = memory.remember("coffee", category="work", kind="episode", emotion=Emotion(50)).id
    down = memory.feedback(other, good=False)
    assert (down.emotion.intensity, down.coefficient) == (40, pytest.approx(0.878))


def test_a_memory_is_judged_once_a_day(memory: Nagori, clock: FrozenClock) -> None:
    id = memory.remember("tea", emotion=Emotion(50)).id
    first = memory.feedback(id, good=True)
    assert memory.feedback(id, good=True) == first
    assert memory.feedback(id, good=False) == first
    clock.forward(days=1)
    assert memory.feedback(id, good=True).emotion.intensity == 70


def test_a_judgement_can_be_taken_back_and_made_anew(memory: Nagori) -> None:
    born = memory.remember("tea", emotion=Emotion(50))
    memory.feedback(born.id, good=True)
    back, what = memory.undo(born.id)
    assert what == "edited"
    assert (back.emotion, back.coefficient) == (born.emotion, born.coefficient)
    assert memory.feedback(born.id, good=False).emotion.intensity == 40


def test_a_judgement_stays_within_the_scale_and_writes_nothing_at_its_end(memory: Nagori) -> None:
    for intensity, good, end in ((95, True, 100), (5, False, 0)):
        id = memory.remember(f"tea {intensity}", emotion=Emotion(intensity)).id
        assert memory.feedback(id, good).emotion.intensity == end
        memory.runtime.clock.forward(days=1)  # type: ignore[attr-defined]
        told = memory.status().events
        assert memory.feedback(id, good).emotion.intensity == end
        assert memory.status().events == told


def test_a_judgement_survives_the_store(memory: Nagori) -> None:
    id = memory.remember("tea", emotion=Emotion(50)).id
    judged_one = memory.feedback(id, good=True)
    memory.rebuild()
    assert memory.show(id) == judged_one
    assert memory.verify().sound


def test_praise_keeps_what_recalls_have_earned(memory: Nagori) -> None:
    law = memory.runtime.config.retention
    born = memory.remember("tea", category=Category.WORK, kind=Kind.EPISODE, emotion=Emotion(50))
    for coefficient in (born.coefficient, 0.95, law.max_decay_coefficient, 1.0):
        earned = replace(born, coefficient=coefficient)
        now, rule = born.created, memory.runtime.config.weekly
        stronger = adjust_for_feedback(earned, True, now, law, rule)
        assert coefficient <= stronger.coefficient <= max(coefficient, law.max_decay_coefficient)
        then = now + timedelta(days=30)
        assert retention(stronger, then, law, rule) >= retention(earned, then, law, rule)
        assert adjust_for_feedback(earned, False, now, law, rule).coefficient < coefficient


@pytest.mark.parametrize("weeks", [0, 4, 20])
def test_l11_thumbs_move_the_score_of_the_weekly_law(tmp_path: Path, clock: FrozenClock, weeks: int) -> None:
    config = load(overrides={"retention.law": "weekly"}).config
    with Nagori.open(tmp_path, clock=clock, config=config, embedder=None) as memory:
        praised, blamed = (memory.remember(text).id for text in ("tea", "a bus passed"))
        clock.forward(days=7 * weeks)
        score = memory.why(praised).retention
        memory.feedback(praised, good=True)
        memory.feedback(blamed, good=False)
        assert memory.why(praised).retention == pytest.approx(score + 10)
        assert memory.why(blamed).retention == pytest.approx(score - 10)
        clock.forward(days=1)
        memory.feedback(praised, good=True)
        assert memory.why(praised).retention > score + 15
        memory.undo(praised)
        memory.undo(praised)
        assert memory.why(praised).retention == pytest.approx(score, abs=0.5)
        memory.rebuild()
        assert memory.verify().sound


def test_why_tells_the_formula_of_the_law_in_force(tmp_path: Path, clock: FrozenClock) -> None:
    for law, said in (("emotional", "strength 77 = 80 × 0.995 ^ 7.0 (days)"), ("weekly", "^ 7.0 (days)")):
        config = load(overrides={"retention.law": law}).config
        with Nagori.open(tmp_path / law, config=config, clock=clock, embedder=None) as memory:
            id = memory.remember("The kettle leaks.").id
            clock.forward(days=7)
            why = memory.why(id)
        assert said in str(why.formula)
        values = {name: float(str(value)) for name, value in why.formula.values.items()}
        assert values["start"] * values["rate"] ** values["days"] == pytest.approx(why.retention)


def test_l11_the_weekly_score_stays_within_its_scale(tmp_path: Path, clock: FrozenClock) -> None:
    config = load(overrides={"retention.law": "weekly"}).config
    with Nagori.open(tmp_path, clock=clock, config=config, embedder=None) as memory:
        for good, least, most in ((True, 95, 100), (False, 0, 2)):
            id = memory.remember(f"tea {good}").id
            for _ in range(12):
                memory.feedback(id, good)
                clock.forward(days=1)
            assert least <= memory.why(id).retention <= most


def test_only_who_sees_a_memory_can_judge_it(memory: Nagori) -> None:
    id = memory.remember("tea").id
    with pytest.raises(NotFound):
        memory.with_scope(user="stranger").feedback(id, good=True)


# ── usage ────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_to_go_by_is_none(memory: Nagori, clock: FrozenClock) -> None:
    assert memory.usage() is None
    memory.remember("tea", created=clock.now() - timedelta(days=31))
    assert memory.usage() is None


def test_a_young_memory_is_counted_by_its_own_days(memory: Nagori, clock: FrozenClock) -> None:
    for n in range(10):
        memory.remember(f"tea number {n}", created=clock.now() - timedelta(days=n / 2))
    usage = memory.usage()
    assert usage is not None
    assert usage.per_day == pytest.approx(10 / 4.5)
    assert (usage.full, usage.summary, usage.trace) == (12, 12, 12)  # never more than the memory itself
    assert usage.tokens_a_character == pytest.approx(0.25)


def test_an_old_memory_is_counted_by_the_last_thirty_days(memory: Nagori, clock: FrozenClock) -> None:
    memory.remember("long ago", created=clock.now() - timedelta(days=300))
    forgotten = memory.remember("お茶が好き").id
    memory.forget(forgotten)  # it was formed all the same
    usage = memory.usage()
    assert usage is not None
    assert usage.per_day == pytest.approx(1 / 30)
    assert usage.tokens_a_character == 1.0


def test_sizes_of_what_has_faded_are_measured(tmp_path: Path, clock: FrozenClock) -> None:
    with Nagori.open(tmp_path / "a", clock=clock, embedder=None) as memory:
        born = memory.remember("x" * 400)
        texts = {**born.texts, Level.SUMMARY: Text("", "y" * 40), Level.TRACE: Text("", "z" * 4)}
        faded = replace(born, id="mem_faded", texts=texts, level=Level.TRACE)
        from nagori.core.events import Event
        from nagori.core.serialize import to_record

        event = Event("imported", clock.now(), {"memory": to_record(faded)}, faded.id)
        memory.runtime.ledger.write(memory.scope.owner, lambda: [event])
        usage = memory.usage()
        assert usage is not None
        assert (usage.full, usage.summary, usage.trace) == (400, 40, 4)
        measures = memory.measure()
        assert measures.compression == pytest.approx(0.99)
        assert dict(measures.tiers) == {"hot": 2}
