"""Questions by post: handed over in one batch, answered another day, for half the price."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums, or options are passed on as a dict.

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.models import helped, judging, shortening
from tests.scripted import Batches, Scripted

from nagori import Category, Emotion, Kind, Level, Nagori, Turn
from nagori.testing import FrozenClock

LONG = (
    "We met at the harbour office in Otaru to talk about the new cold store. Ms Mori wants 14 racks and a"
    " second door to the quay. The electrician, Ken, says that the old fuse box from 1987 cannot carry it. We"
    " decided to order the Hitachi compressor and to pay 2,400,000 yen in three parts. The ferry was late."
)


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef0123456789")
    return str(request.param)


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted(answer=judging(), batches=Batches()) as running:
        yield running


def post(server: Scripted) -> Batches:
    assert server.batches is not None
    return server.batches


def opened(folder: Path, server: Scripted, clock: FrozenClock, provider: str, **more: object) -> Nagori:
    priced = {"price_in": 1.0, "price_out": 1000.0, "daily_cap_usd": 100.0}
    return helped(folder, server, clock, use_batch_api=True, provider=provider, **priced, **more)


def told(memory: Nagori, count: int) -> list[str]:
    at = memory.runtime.clock.now() - timedelta(hours=1)
    turns = (Turn(f"Turn {n} about soup.", at, session="s", index=n) for n in range(count))
    return [kept.id for kept in memory.form(turns)]


def test_turns_are_judged_when_the_answers_have_come_back(
    tmp_path: Path, server: Scripted, clock: FrozenClock, provider: str
) -> None:
    with opened(tmp_path, server, clock, provider) as memory:
        ids = told(memory, 45)
        first = memory.appraise()
        assert (first.judged, first.questions, first.waiting, first.trouble) == (0, 3, 45, None)
        assert len(post(server).questions) == 3
        assert memory.appraise().questions == 0  # on their way already
        post(server).done = True
        back = memory.appraise()
        assert (back.judged, back.waiting) == (45, 0)
        assert {memory.show(id).appraised_by for id in ids} == {"m"}


def test_it_costs_half(tmp_path: Path, server: Scripted, clock: FrozenClock, provider: str) -> None:
    with opened(tmp_path, server, clock, provider) as memory:
        told(memory, 5)
        memory.appraise()
        (held,) = memory.runtime.spend.asked(clock.now().date())
        assert not held.settled
        clock.forward(days=1)
        post(server).done = True
        memory.appraise()
        (settled,) = memory.runtime.spend.asked(clock.now().date() - timedelta(days=1))
        assert settled.usd == pytest.approx((12 * 1 + 5 * 1000) / 1e6 / 2)
        assert settled.usd < held.usd


def test_who_changed_meanwhile_is_asked_about_again(
    tmp_path: Path, server: Scripted, clock: FrozenClock, provider: str
) -> None:
    with opened(tmp_path, server, clock, provider) as memory:
        first, second = told(memory, 2)
        memory.appraise()
        memory.edit(first, content="Turn 0 about bread.")
        post(server).done = True
        assert memory.appraise().judged == 1
        assert memory.show(second).appraised_by == "m"
        assert [len(json.loads(_data(body))) for body in post(server).questions.values()] == [1]


def _data(body: dict[str, object]) -> str:
    return str(body["messages"][-1]["content"])  # type: ignore[index]


def test_a_question_without_an_answer_is_asked_again_and_given_up_in_the_end(
    tmp_path: Path, server: Scripted, clock: FrozenClock, provider: str
) -> None:
    with opened(tmp_path, server, clock, provider) as memory:
        (one,) = told(memory, 1)
        post(server).failed = frozenset({"q0"})
        for _ in range(5):  # asked, back without an answer, asked …
            memory.appraise()
            post(server).done = True
            clock.forward(hours=1)
        assert memory.appraise().by_rules == [one]
        assert memory.show(one).appraised_by == "rules"


def test_a_batch_that_never_ends_is_given_up_after_a_day_and_a_half(
    tmp_path: Path, server: Scripted, clock: FrozenClock, provider: str
) -> None:
    with opened(tmp_path, server, clock, provider) as memory:
        told(memory, 3)
        memory.appraise()
        clock.forward(hours=35)
        assert memory.appraise().questions == 0
        clock.forward(hours=2)
        assert memory.appraise().waiting == 3
        assert memory.appraise().questions == 1  # asked anew


@pytest.mark.parametrize("fault", ["500", "401", "hang", "garbage", "wrong schema"])
def test_trouble_with_the_post_is_told_and_nothing_is_lost(
    tmp_path: Path, server: Scripted, clock: FrozenClock, provider: str, fault: str
) -> None:
    with opened(tmp_path, server, clock, provider, timeout_seconds=0.5) as memory:
        told(memory, 3)
        server.script = [fault]
        assert memory.appraise().trouble
        server.script = ["ok"]
        assert memory.appraise().questions == 1
        server.script = [fault]
        if fault != "wrong schema":  # there it looks like a batch that is still worked on
            assert memory.appraise().trouble
        server.script = ["ok"]
        post(server).done = True
        assert memory.appraise().judged == 3


def test_what_fades_waits_one_night_for_its_words(
    tmp_path: Path, server: Scripted, clock: FrozenClock, provider: str
) -> None:
    server.answer = shortening()
    with opened(tmp_path, server, clock, provider) as memory:
        kept = memory.remember(LONG, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(40))
        assert list(memory.cycle().waiting) == [kept.id]
        assert memory.show(kept.id).level is Level.FULL
        post(server).done = True
        clock.forward(days=1)
        assert memory.cycle().by_model == 1
        now = memory.show(kept.id)
        assert (now.level, now.text.content) == (Level.SUMMARY, LONG.split(". ")[0] + ".")


def test_what_was_asked_does_not_lie_about_at_the_provider(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    with opened(tmp_path, server, clock, "openai") as memory:
        told(memory, 3)
        memory.appraise()
        post(server).done = True
        memory.appraise()
        assert sorted(post(server).deleted) == ["file-in", "file-out"]


def test_a_name_that_is_none_goes_into_no_address(
    tmp_path: Path, server: Scripted, clock: FrozenClock, provider: str
) -> None:
    with opened(tmp_path, server, clock, provider) as memory:
        told(memory, 1)
        post(server)._take = lambda questions: {"id": "../../v1/keys"}  # type: ignore[method-assign]
        assert "no name" in str(memory.appraise().trouble)


def test_a_lost_note_costs_a_second_question(
    tmp_path: Path, server: Scripted, clock: FrozenClock, provider: str
) -> None:
    with opened(tmp_path, server, clock, provider) as memory:
        told(memory, 3)
        memory.appraise()
        at = memory.runtime.clock.now()
        memory.runtime.ledger.set_state(memory.scope.owner, "batches:appraise", [["torn"]], at, by="test")
        assert memory.appraise().questions == 1
        post(server).done = True
        assert memory.appraise().judged == 3
