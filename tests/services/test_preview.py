"""A plan in numbers before it is done: the same numbers that the night then has."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums, or options are passed on as a dict.

import pytest

from nagori import Category, Draft, Emotion, Kind, Level, Nagori
from nagori.language.passages import about_tokens
from nagori.services import preview_next_cycle as looking
from nagori.testing import FrozenClock

WORDS = (
    "We met at the harbour office in Otaru to talk about cold store {n}. Ms Mori wants 14 racks and a second"
    " door to the quay. The old fuse box from 1987 cannot carry it, says Ken. Everybody was tired."
)


def filled(memory: Nagori, clock: FrozenClock, n: int = 60) -> None:
    work = {"kind": Kind.EPISODE, "category": Category.WORK}
    memory.remember_many(Draft(WORDS.format(n=i), emotion=Emotion(i), **work) for i in range(n))
    clock.forward(days=4)


def test_what_is_foretold_is_what_the_night_then_does(memory: Nagori, clock: FrozenClock) -> None:
    filled(memory, clock)
    told = memory.preview()
    before = sorted(memory.export())
    night = memory.cycle(told.plan)
    assert told.exact
    assert (told.before, told.after) == (night.bytes_before, night.bytes_after)
    assert told.before > told.after > 0
    assert {(kind.act, kind.reason): kind.n for kind in told.kinds} == night.plan.counts()
    assert sorted(memory.export()) != before


def test_a_look_changes_nothing(memory: Nagori, clock: FrozenClock) -> None:
    filled(memory, clock)
    before = sorted(memory.export())
    memory.preview()
    assert sorted(memory.export()) == before


def test_tokens_are_those_of_the_words_read_and_written(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(WORDS, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(55))
    clock.forward(days=4)
    told = memory.preview()
    memory.cycle(told.plan)
    assert told.written.input == about_tokens(WORDS)
    assert told.written.output == about_tokens(memory.show(kept.id).text.whole)


def test_of_a_large_plan_a_sample_is_looked_at_and_said_to_be_one(
    memory: Nagori, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(memory, clock)
    whole = memory.preview()
    monkeypatch.setattr(looking, "LOOKED_AT", 20)
    some = memory.preview()
    assert (some.looked, some.shortened, some.exact) == (20, whole.shortened, False)
    assert some.before == pytest.approx(whole.before, rel=0.05)
    assert some.after == pytest.approx(whole.after, rel=0.2)


def test_only_what_the_scope_sees_is_an_example(memory: Nagori, clock: FrozenClock) -> None:
    filled(memory.with_scope(project="a"), clock, 10)
    elsewhere = memory.with_scope(project="b").preview()
    assert elsewhere.plan.steps
    assert [kind.examples for kind in elsewhere.kinds] == [[] for _ in elsewhere.kinds]
    here = memory.with_scope(project="a").preview()
    assert all(0 < len(kind.examples) <= looking.EXAMPLES for kind in here.kinds)


def test_words_that_would_go_for_good_are_counted(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(WORDS, kind=Kind.EPISODE, category=Category.CASUAL, emotion=Emotion(20))
    clock.forward(days=30)
    memory.cycle()
    assert memory.show(kept.id).level is Level.ARCHIVED
    clock.forward(days=100)
    told = memory.preview()
    assert (told.purged, told.freed, told.shortened) == (1, len(WORDS.encode()), 0)
    assert told.exact


def test_nothing_to_do_is_nothing(memory: Nagori) -> None:
    told = memory.preview()
    assert (told.kinds, told.shortened, told.before, told.purged) == ([], 0, 0, 0)
