"""Answers that are strange on purpose, and money: nothing breaks, and the count is never too low."""

# mypy: disable-error-code="arg-type,override"
# Because words stand for members of enums, or options are passed on as a dict; a fake that takes anything.

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.models import data_of, helped, judging, shortening
from tests.scripted import Batches, Scripted

from nagori import Category, Emotion, Kind, Level, Nagori, Turn
from nagori.config.sections import Llm
from nagori.errors import ModelError, Notice
from nagori.services.llm.client import price_for
from nagori.services.llm.failure_counts_and_batch_size import ModelHealth
from nagori.testing import FrozenClock

LONG = (
    "We met at the harbour office in Otaru to talk about the new cold store. Ms Mori wants 14 racks and a"
    " second door to the quay. The electrician, Ken, says that the old fuse box from 1987 cannot carry it. We"
    " decided to order the Hitachi compressor and to pay 2,400,000 yen in three parts. The ferry was late."
)
DEAR = {"price_in": 1.0, "price_out": 1000.0, "daily_cap_usd": 100.0}


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted(answer=judging()) as running:
        yield running


def told(memory: Nagori, *texts: str) -> list[str]:
    at = memory.runtime.clock.now() - timedelta(hours=1)
    turns = (Turn(text, at, session="s", index=place) for place, text in enumerate(texts))
    return [kept.id for kept in memory.form(turns)]


def fading(memory: Nagori, intensity: float = 40) -> str:
    return memory.remember(LONG, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(intensity)).id


def booked(memory: Nagori) -> float:
    return sum(asked.usd for asked in memory.runtime.spend.asked(memory.runtime.clock.now().date()))


# --- words


def test_half_an_emoji_does_not_kill_the_night(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    server.answer = lambda body: shortening(lambda text: "We met in Otaru. X")(body).replace("X", "\\ud83d")
    with helped(tmp_path, server, clock) as memory:
        one = fading(memory)
        memory.cycle()
        now = memory.show(one)
        assert now.level is Level.SUMMARY
        now.text.whole.encode()
        memory.rebuild()


def test_a_servers_name_for_its_model_is_not_believed(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    evil = "\x1b[2J" + "x" * 20_000
    server.answer = lambda body: (body.update(model=evil), "nonsense")[1]
    with helped(tmp_path, server, clock) as memory:
        told(memory, "The kettle is green.")
        for _ in range(3):
            trouble = memory.appraise()
        assert trouble.by_rules
        assert "\x1b" not in str(ModelHealth.of(memory.runtime, memory.scope.owner).trouble)
        written = b"".join(path.read_bytes() for path in tmp_path.rglob("*.jsonl"))
        assert b"xxxx" not in written


def test_a_model_cannot_multiply_protection(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    server.answer = judging(lambda each: {"corrects": 0} if each["i"] else {})
    with helped(tmp_path, server, clock) as memory:
        first, *others = told(memory, *(f"Dinner is at {n} in the garden." for n in range(12)))
        memory.protect(first)
        memory.appraise()
        assert memory.show(first).protected
        assert memory.show(first).superseded_by is None
        assert not any(memory.show(each).protected for each in others)


def test_one_memory_is_taken_back_once(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    server.answer = judging(lambda each: {"corrects": 0} if each["i"] else {})
    with helped(tmp_path, server, clock) as memory:
        first, *_ = told(memory, *(f"Dinner is at {n} in the garden." for n in range(5)))
        memory.appraise()
        history = [event.type for event in memory.why(first).history]
        assert history.count("superseded") == 1


# --- trouble


def test_whoever_was_not_asked_is_not_known_to_be_well(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    server.script = ["401"]
    with helped(tmp_path, server, clock) as memory:
        told(memory, "The kettle is green.")
        memory.appraise()
        memory.cycle()  # nothing to shorten: nobody is asked
        assert "key" in str(memory.status().trouble)


def test_judging_and_the_night_leave_each_others_notes_alone(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    with helped(tmp_path, server, clock) as memory:
        owner = memory.scope.owner
        one, other = ModelHealth.of(memory.runtime, owner), ModelHealth.of(memory.runtime, owner)
        one.fail("judge", ["a"])
        down = Notice("answer.not_json")
        one.note(down, clock.now())
        other.fail("summary", ["b"])
        one.save()
        other.save()
        known = ModelHealth.of(memory.runtime, owner)
        assert (known.count("judge", "a"), known.count("summary", "b"), known.trouble) == (1, 1, down)


def test_a_trouble_that_an_older_version_stored_as_a_sentence_is_shown_as_it_is(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    with helped(tmp_path, server, clock) as memory:
        old = {"failed": {}, "trouble": "the old {words}", "since": "", "most": 0}
        memory.runtime.ledger.set_state(memory.scope.owner, "model_health", old, clock.now(), by="model")
        trouble = memory.status().trouble
        assert trouble is not None
        assert trouble.in_language("ja") == str(trouble) == "the old {words}"


def test_a_book_that_cannot_be_written_stops_nobody(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    with helped(tmp_path, server, clock, expand_queries=True) as memory:
        told(memory, "The kettle is green.")
        (tmp_path / "spend").write_text("in the way")
        assert memory.recall("kettle")
        assert "cannot be written down" in str(memory.appraise().trouble)
        fading(memory)
        assert memory.cycle().waiting
        assert server.requests == []


# --- money


@pytest.mark.parametrize(
    ("fault", "usd"),
    [
        ("truncated", (12 * 1 + 5 * 1000) / 1e6),  # as the server counts
        ("refusal", (12 * 1 + 5 * 1000) / 1e6),
        ("500", 0.0),
        ("401", 0.0),
        ("cut", None),  # nobody knows: all that it may have cost
        ("hang", None),
        ("garbage", None),
    ],
)
def test_a_failed_question_is_booked_never_too_low(
    tmp_path: Path, server: Scripted, clock: FrozenClock, fault: str, usd: float | None
) -> None:
    server.script = [fault]
    with helped(tmp_path, server, clock, timeout_seconds=0.5, **DEAR) as memory:
        told(memory, "The kettle is green.")
        memory.appraise()
        assert len(server.requests) == 1
        assert booked(memory) == pytest.approx(usd) if usd is not None else booked(memory) > 0.3


def test_a_cut_answer_is_not_paid_for_three_times(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    server.script = ["cut"]
    with helped(tmp_path, server, clock, max_attempts=3) as memory:
        told(memory, "The kettle is green.")
        memory.appraise()
        assert len(server.requests) == 1


def test_what_is_put_away_with_a_trace_is_not_asked_about(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    server.answer = shortening()
    with helped(tmp_path, server, clock) as memory:
        one = fading(memory, intensity=8)
        memory.cycle()
        assert memory.show(one).level is Level.TRACE
        asked = len(server.requests)
        clock.forward(days=200)
        memory.cycle()
        assert memory.show(one).is_archived
        assert len(server.requests) == asked


def test_what_is_put_away_does_not_go_by_post(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    server.batches = Batches()
    with helped(tmp_path, server, clock, use_batch_api=True) as memory:
        one = fading(memory, intensity=1)
        night = memory.cycle()
        assert memory.show(one).is_archived
        assert (night.waiting, server.batches.questions) == ({}, {})


def test_by_post_goes_what_the_days_limit_allows(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    server.batches = Batches()
    limits = {"price_in": 0.0, "price_out": 1000.0, "daily_cap_usd": 1.2, "memories_per_request": 5}
    with helped(tmp_path, server, clock, use_batch_api=True, **limits) as memory:
        told(memory, *(f"Turn {n} about soup." for n in range(30)))
        first = memory.appraise()
        assert (first.trouble, first.questions) == (None, 2)  # each may cost half a dollar
        server.batches.done = True
        assert memory.appraise().judged == 10


def test_one_batch_in_trouble_does_not_hold_up_another(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    class Two(Batches):
        """The first batch has its answers, the second cannot be asked about."""

        taken = 0

        def _take(self, questions: dict[str, object]) -> dict[str, object]:
            self.taken += 1
            if self.taken == 1:
                super()._take(questions)  # type: ignore[arg-type]
            return {"id": f"batch_{self.taken}"}

        def answer(self, scripted: Scripted, request: object) -> object:
            if str(request.path).endswith("batch_2"):  # type: ignore[attr-defined]
                return {"status": "in_progress"} if not self.done else b"garbage"
            return super().answer(scripted, request)  # type: ignore[arg-type]

    server.batches = Two()
    with helped(tmp_path, server, clock, use_batch_api=True) as memory:
        told(memory, "The kettle is green.")
        memory.appraise()
        at = clock.now() - timedelta(minutes=5)
        memory.form([Turn("The stove is black.", at, session="t", index=0)])
        memory.appraise()
        server.batches.done = True
        done = memory.appraise()
        assert (done.judged, done.waiting) == (1, 1)
        assert done.trouble
        assert "file-out" in server.batches.deleted
        assert memory.appraise().judged == 0  # the first is gone from the note, the second still waits


def test_a_line_separator_inside_an_answer_is_no_end_of_a_line(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    class Raw(Batches):
        def _lines(self, scripted: Scripted, line: object) -> bytes:
            return super()._lines(scripted, line).replace(b"fine", "fi\u2028ne".encode())  # type: ignore[arg-type]

    server.batches = Raw()
    server.answer = judging(lambda each: {"keywords": ["fine"]})
    with helped(tmp_path, server, clock, use_batch_api=True) as memory:
        told(memory, "A fine kettle.")
        memory.appraise()
        server.batches.done = True
        assert memory.appraise().judged == 1


def test_the_day_of_the_limit_is_the_same_for_everybody(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    from zoneinfo import ZoneInfo

    tokyo = FrozenClock(clock.now().replace(hour=18), ZoneInfo("Asia/Tokyo"))  # tomorrow there
    with helped(tmp_path, server, tokyo, **DEAR) as memory:
        told(memory, "The kettle is green.")
        memory.appraise()
        assert memory.runtime.spend.asked(tokyo.now().date())


@pytest.mark.parametrize(
    ("config", "prices"),
    [
        ({"base_url": "http://127.0.0.1:1/v1"}, (0.0, 0.0)),
        ({"base_url": "https://localhost/v1"}, (0.0, 0.0)),
        ({"base_url": "http://localhost.example.com/v1"}, None),
        ({"base_url": "http://127.0.0.1.example/v1"}, None),
        ({"base_url": "http://127.0.0.1:1@example.com/v1"}, None),
        ({"base_url": "", "model": "claude-haiku-4-5"}, (1.0, 5.0)),
        ({"base_url": "", "model": "claude-haiku-4-5", "price_in": 2.0}, (2.0, 5.0)),
        ({"base_url": "", "model": "claude-haiku-4-5", "price_out": 7.0}, (1.0, 7.0)),
    ],
)
def test_what_nobody_knows_the_price_of_is_dear(
    config: dict[str, object], prices: tuple[float, float] | None
) -> None:
    found = price_for(Llm(**{"model": "mystery", **config}))  # type: ignore[arg-type]
    if prices is None:
        assert found.output >= 20
    else:
        assert (found.input, found.output) == prices


def test_data_reaches_the_model_whole(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    with helped(tmp_path, server, clock) as memory:
        told(memory, "The kettle is <green> & old.")
        memory.appraise()
        assert data_of(server.requests[0].body)[0]["text"] == "The kettle is <green> & old."
        assert json.dumps(server.requests[0].body)


def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    from nagori.adapters.llm import open_llm
    from nagori.core.llm import Prompt

    broken = tmp_path / "claude"
    broken.write_text("not a program")
    broken.chmod(0o755)
    llm = open_llm(Llm(provider="claude-cli", command=str(broken)))
    assert llm is not None
    with pytest.raises(ModelError, match="cannot be started"):
        llm.complete(Prompt("a", "b"))
