"""Threads: where they end and why, and the view of working memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori.core.events import RecordedTurn
from nagori.core.levels import Threads
from nagori.core.threads import Thread, ThreadEnd, split_threads, view_thread
from nagori.core.value_object import replace

START = datetime(2026, 4, 1, 9, tzinfo=UTC)
LATER = START + timedelta(days=1)


def turns(*texts: str, step: float = 30, **more: object) -> list[RecordedTurn]:
    """Turns of one session, a user's and an assistant's in turn."""
    return [
        RecordedTurn(
            id=f"turn_{n}",
            seq=n + 1,
            at=START + timedelta(seconds=step * n),
            session="s",
            role=("user", "assistant")[n % 2],
            text=text,
            **more,  # type: ignore[arg-type]
        )
        for n, text in enumerate(texts)
    ]


def opens_at(*texts: str):  # type: ignore[no-untyped-def]
    return lambda before, text, after: float(text in texts)


def never(before: Sequence[str], text: str, after: str | None) -> float:
    return 0.0


def no_cue(text: str) -> bool:
    return False


def split(said: Sequence[RecordedTurn], now: datetime = LATER, shift=never, cue=no_cue, **rules: object):  # type: ignore[no-untyped-def]
    return split_threads(said, replace(Threads(), **rules), now, shift, cue)  # type: ignore[arg-type]


def lengths(threads: Sequence[Thread]) -> list[tuple[int, str | None]]:
    return [(len(thread.turns), thread.end) for thread in threads]


def test_a_thread_ends_for_five_reasons() -> None:
    said = turns(*"abcdefgh")
    assert lengths(split(said)) == [(8, ThreadEnd.IDLE)]
    assert lengths(split(said, shift=opens_at("e"))) == [(4, ThreadEnd.TOPIC), (4, ThreadEnd.IDLE)]
    assert lengths(split(said, cue=lambda text: text == "c")) == [(2, ThreadEnd.CUE), (6, ThreadEnd.IDLE)]
    assert lengths(split(said, max_turns=3)) == [
        (3, ThreadEnd.LIMIT),
        (3, ThreadEnd.LIMIT),
        (2, ThreadEnd.IDLE),
    ]
    moved = [*said[:5], *(replace(turn, project="/p") for turn in said[5:])]
    assert lengths(split(moved)) == [(5, ThreadEnd.DOMAIN), (3, ThreadEnd.IDLE)]
    late = [*said[:3], *(replace(turn, at=turn.at + timedelta(minutes=10)) for turn in said[3:])]
    assert lengths(split(late)) == [(3, ThreadEnd.IDLE), (5, ThreadEnd.IDLE)]


def test_another_agent_is_another_domain() -> None:
    said = turns(*"abcd")
    assert lengths(split([*said[:2], *(replace(turn, agent="x") for turn in said[2:])])) == [
        (2, ThreadEnd.DOMAIN),
        (2, ThreadEnd.IDLE),
    ]


def test_the_last_thread_is_open_until_the_pause() -> None:
    said = turns(*"abcd")
    now = said[-1].at + timedelta(minutes=9, seconds=59)
    assert lengths(split(said, now)) == [(4, None)]
    assert lengths(split(said, now + timedelta(seconds=1))) == [(4, ThreadEnd.IDLE)]
    assert split([], LATER) == []


def test_an_assistant_opens_no_topic_but_a_named_speaker_does() -> None:
    said = turns(*"abcdef")
    assert len(split(said, shift=opens_at("d"))) == 1
    people = [replace(turn, speaker="Nox") for turn in said]
    assert lengths(split(people, shift=opens_at("d"))) == [(3, ThreadEnd.TOPIC), (3, ThreadEnd.IDLE)]


def test_a_topic_needs_two_turns_before_another_but_a_cue_needs_none() -> None:
    people = [replace(turn, speaker="Nox") for turn in turns(*"abc")]
    assert len(split(people, shift=opens_at("b"))) == 1
    assert len(split(people, cue=lambda text: text == "b")) == 2


def test_boundary_off_leaves_pause_domain_and_limit() -> None:
    said = turns(*"abcdef")
    assert len(split(said, shift=opens_at("c"), cue=lambda text: text == "e", boundary="off")) == 1


def test_the_next_turn_is_looked_at_only_before_a_pause() -> None:
    seen: list[str | None] = []

    def shift(before: Sequence[str], text: str, after: str | None) -> float:
        seen.append(after)
        return 0.0

    said = [replace(turn, speaker="Nox") for turn in turns(*"abcd")]
    late = [*said[:3], replace(said[3], at=said[3].at + timedelta(hours=1))]
    split(late, shift=shift)
    assert seen == [None]
    seen.clear()
    split(said, shift=shift)
    assert seen == ["d", None]


def test_working_memory_is_the_last_twelve_turns_of_the_open_thread_with_speakers_counted() -> None:
    said = turns(*(str(n) for n in range(15)))
    [thread] = split(said, said[-1].at)
    view = view_thread(thread, Threads().view_turns)
    assert [turn.text for turn in view.turns] == [str(n) for n in range(3, 15)]
    assert (view.speakers, view.flushed, view.thread) == ({"user": 8, "assistant": 7}, 3, "s#1")
    assert (view.began, view.latest, view.domain) == (said[0].at, said[-1].at, None)
    assert view_thread(thread, 0).turns == ()


def test_without_an_open_thread_working_memory_is_empty() -> None:
    [thread] = split(turns("a", "b"))
    assert view_thread(thread, 12).turns == view_thread(None, 12).turns == ()


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=30), st.integers(0, 29))
@examples(200)
def test_threads_hold_every_turn_once_and_go_on_from_any_boundary(texts: list[str], cut: int) -> None:
    """So a worker that starts at the last boundary finds the same threads as one that reads everything."""
    said = turns(*texts)
    everything = split(said, shift=opens_at("a", "c"), cue=lambda text: text == "e")
    assert [turn for thread in everything for turn in thread.turns] == said
    begin = everything[min(cut, len(everything) - 1)].turns[0].seq
    rest = split(
        [turn for turn in said if turn.seq >= begin],
        shift=opens_at("a", "c"),
        cue=lambda text: text == "e",
    )
    assert rest == [thread for thread in everything if thread.turns[0].seq >= begin]


@pytest.mark.parametrize("more", [1, 2, 3])
def test_turns_that_come_later_move_no_boundary_but_that_of_the_newest_turn(more: int) -> None:
    said = turns(*"abcabcabc")
    early = split(said[:-more], said[-more - 1].at, shift=opens_at("a"))
    late = split(said, said[-1].at, shift=opens_at("a"))
    assert [thread for thread in early if thread.end] == late[: len(early) - 1]
