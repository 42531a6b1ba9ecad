"""Contract suite for journals. A journal joins in a few lines:

    class TestMyJournal(JournalContract):
        @pytest.fixture
        def journal(self, tmp_path): return MyJournal(tmp_path)

        @pytest.fixture
        def another(self, tmp_path): return MyJournal(tmp_path)

The other fixtures are tools that only the engine can provide (`impatient`, `lose_lock`, `damage`,
`read_bytes`, `writer_command`). Without one its test is skipped and says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest

from nagori.core.events import Event
from nagori.core.storage_types import Owner
from nagori.core.value_object import replace
from nagori.errors import Conflict, InvalidInput, JournalError, MemoryErased
from nagori.protocols import Journal

ME: Owner = ("local", "me")
OTHER: Owner = ("local", "somebody else")
NOBODY: Owner = ("local", "nobody")
NOON = datetime(2026, 4, 1, 12, 0, 0, 123456, tzinfo=UTC)

# Every name that a scope accepts is kept as it is, and no two of them meet.
ODD_SPACES: list[Owner] = [
    ("local", "Me"),
    ("LOCAL", "me"),
    ("a", "b/c"),
    ("a/b", "c"),
    ("a", "b\\c"),
    ("..", "."),
    ("%2e", "%00"),
    ("'; --", '"quoted"'),
    ("日本", "名残 🍵"),
    ("caf\u00e9", "nul"),
    ("cafe\u0301", "nul"),
    (" x", "x "),
    ("x", "\u2028"),
    ("t" * 256, "u" * 256),
    ("t" * 256, "u" * 255 + "v"),
    ("語" * 256, "🍵" * 256),
    ("local", "me"),
]

UNWRITABLE: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": float("-inf"),
    "lone surrogate": "half of \ud83c",
    "lone surrogate as a key": {"\udc00": 1},
    "object": object(),
    "set": {1, 2},
    "bytes": b"raw",
}


def event(word: str = "kettle", **more: Any) -> Event:
    """An event with only what matters said."""
    return replace(Event("formed", NOON, {"word": word}), **more)


def write(journal: Journal, *events: Event, owner: Owner = ME) -> list[Event]:
    """Append as one batch, at the end."""
    with journal.locked(owner) as last:
        return journal.append(owner, events, last)


def write_singly(journal: Journal, *words: str, owner: Owner = ME) -> list[Event]:
    """Append one event at a time inside one lock."""
    written: list[Event] = []
    with journal.locked(owner) as last:
        for number, word in enumerate(words, last):
            written += journal.append(owner, [event(word)], number)
    return written


def words(journal: Journal, owner: Owner = ME) -> list[str]:
    return [each.data["word"] for each in journal.read(owner)]


def numbers(journal: Journal, owner: Owner = ME) -> list[int]:
    return [each.seq for each in journal.read(owner)]


def append_for_ever(journal: Journal, owner: Owner, size: int = 3) -> None:
    """What the process of the kill test does: append batches and print the last number of each once it is
    acknowledged."""
    while True:
        with journal.locked(owner) as last:
            for _ in range(4):
                last = journal.append(owner, [event(f"{os.getpid()}") for _ in range(size)], last)[-1].seq
                print(last, flush=True)


def run_together(*jobs: Callable[[], object], seconds: float = 60) -> None:
    """Run the jobs in threads at the same time; the first failure is raised."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        for future in [pool.submit(job) for job in jobs]:
            future.result(seconds)


def skip_without(tool: object, name: str) -> None:
    if tool is None:
        pytest.skip(f"this engine gives no fixture `{name}`")


class JournalContract:
    """The promises. Override the fixtures `journal` and `another`, and the tools the engine can give."""

    @pytest.fixture
    def journal(self) -> Iterator[Journal]:
        raise NotImplementedError("give your journal here")

    @pytest.fixture
    def another(self) -> Iterator[Journal]:
        """A second, independent handle on the data of `journal`, as another process would have."""
        raise NotImplementedError("give a second handle on the data of `journal` here")

    @pytest.fixture
    def impatient(self) -> Journal | None:
        """A handle on the same data that waits for a lock no longer than half a second."""
        return None

    @pytest.fixture
    def lose_lock(self) -> Callable[[Journal, Owner], None] | None:
        """Make the journal lose the lock of this space, which it holds, without noticing."""
        return None

    @pytest.fixture
    def damage(self) -> Callable[[Owner, int], None] | None:
        """Make the event of this number unreadable. It was appended alone, and is not the last."""
        return None

    @pytest.fixture
    def read_bytes(self) -> Callable[[], bytes] | None:
        """All bytes that lie where the journal keeps its data."""
        return None

    @pytest.fixture
    def writer_command(self) -> Sequence[str] | None:
        """The command of a process that calls `append_for_ever` with the same data and the space ME."""
        return None

    # appending

    def test_events_are_numbered_densely_from_the_given_number(self, journal: Journal) -> None:
        with journal.locked(ME) as last:
            assert last == 0
            first = journal.append(ME, [event("a"), event("b"), event("c")], 0)
            second = journal.append(ME, [event("d")], 3)
        third = write(journal, event("e"), event("f"))
        assert [e.seq for e in first + second + third] == [1, 2, 3, 4, 5, 6]
        assert list(journal.read(ME)) == first + second + third
        assert words(journal) == list("abcdef")

    def test_no_events_are_no_append(self, journal: Journal) -> None:
        written = write(journal, event())
        assert write(journal) == []
        assert list(journal.read(ME)) == written

    def test_every_field_is_read_back_unchanged(self, journal: Journal, another: Journal) -> None:
        rich = Event(
            "formed",
            datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            {
                "text": '会議は３時です 🍵\nsecond line\t"quoted" \\ \x00 \x7f \u2028 e\u0301',
                "nested": {"list": [1, [2, {"three": []}], None], "empty": {}, "": "no name", "鍵": "値"},
                "numbers": [0, -1, 2**63, 10**30, 0.1, -1.5e-300, 1e300],
                "flags": [True, False],
                "seq": 7,
                "sum": "00000000",
            },
            "mem_記憶",
            "agent: 助手",
            skippable=False,
        )
        plain = Event("of_a_later_version", NOON, {}, None, "cycle", skippable=True)
        [first] = write(journal, rich)
        second, third = write(journal, plain, rich)
        assert first == replace(rich, seq=1)
        assert (second, third) == (replace(plain, seq=2), replace(rich, seq=3))
        for handle in (journal, another):
            assert list(handle.read(ME)) == [first, second, third]
            assert [handle.event(ME, seq) for seq in (1, 2, 3)] == [first, second, third]
        numbers_kept = next(another.read(ME)).data["numbers"]
        assert [type(number) for number in numbers_kept] == [int] * 4 + [float] * 3
        assert list(next(another.read(ME)).data) == list(rich.data)  # the order of the keys, too

    def test_times_are_kept_in_utc(self, journal: Journal) -> None:
        japan = timezone(timedelta(hours=9))
        [written] = write(journal, event(at=NOON.astimezone(japan)))
        [kept] = journal.read(ME)
        assert written == kept
        assert (kept.at, kept.at.utcoffset()) == (NOON, timedelta(0))
        with journal.locked(ME) as last, pytest.raises(InvalidInput):
            journal.append(ME, [event(), event(at=NOON.replace(tzinfo=None))], last)
        assert journal.last_seq(ME) == 1

    @pytest.mark.parametrize("what", UNWRITABLE)
    def test_an_event_that_cannot_be_written_leaves_nothing_of_its_batch(
        self, journal: Journal, another: Journal, what: str
    ) -> None:
        kept = write(journal, event("kept"))
        bad = event(data={"nested": [UNWRITABLE[what]]})
        with journal.locked(ME) as last:
            for batch in ([bad], [event("before"), bad, event("after")]):
                with pytest.raises(InvalidInput):
                    journal.append(ME, batch, last)
            assert list(another.read(ME)) == kept
            kept += journal.append(ME, [event("next")], last)  # the lock still stands
        assert [e.seq for e in kept] == [1, 2]
        assert list(another.read(ME)) == kept
        assert another.verify(ME).sound

    def test_a_large_batch_is_one_batch(self, journal: Journal, another: Journal) -> None:
        written = write(journal, *(event(f"{number}" + "語" * 400) for number in range(3000)))
        assert [e.seq for e in written] == list(range(1, 3001))
        assert list(another.read(ME)) == written
        assert another.event(ME, 1777) == written[1776]

    # the fence

    def test_a_stale_number_is_refused(self, journal: Journal, another: Journal) -> None:
        with journal.locked(ME) as last:
            journal.append(ME, [event("mine")], last)
        kept = write(another, event("theirs"), event("theirs, too"))
        for stale in (0, last + 1, 2):
            with journal.locked(ME), pytest.raises(Conflict):
                journal.append(ME, [event("stale"), event("stale")], stale)
        for handle in (journal, another):
            assert words(handle) == ["mine", "theirs", "theirs, too"]
        assert list(journal.read(ME, 1)) == kept

    def test_a_number_cannot_be_used_twice(self, journal: Journal) -> None:
        with journal.locked(ME) as last:
            [first] = journal.append(ME, [event("first")], last)
            with pytest.raises(Conflict):
                journal.append(ME, [event("second")], last)
            journal.append(ME, [event("third")], first.seq)
        assert words(journal) == ["first", "third"]

    def test_a_number_beyond_the_end_is_refused(self, journal: Journal) -> None:
        for beyond in (1, 100):
            with journal.locked(ME), pytest.raises(Conflict):
                journal.append(ME, [event()], beyond)
        write(journal, event("kept"))
        with journal.locked(ME), pytest.raises(Conflict):
            journal.append(ME, [event()], 2)
        assert words(journal) == ["kept"]
        assert journal.verify(ME).sound

    def test_whoever_lost_the_lock_cannot_write_over_another(
        self, journal: Journal, another: Journal, lose_lock: Callable[[Journal, Owner], None] | None
    ) -> None:
        skip_without(lose_lock, "lose_lock")
        assert lose_lock is not None
        write(journal, event("kept"))
        with journal.locked(ME) as last:
            lose_lock(journal, ME)
            write(another, event("theirs"))
            with pytest.raises((Conflict, JournalError)):
                journal.append(ME, [event("mine"), event("mine")], last)
        assert words(another) == ["kept", "theirs"]
        write(journal, event("again"))
        write(another, event("theirs again"))
        for handle in (journal, another):
            assert words(handle) == ["kept", "theirs", "again", "theirs again"]
            assert handle.verify(ME).sound

    def test_a_lost_lock_that_nobody_took_does_no_harm(
        self, journal: Journal, another: Journal, lose_lock: Callable[[Journal, Owner], None] | None
    ) -> None:
        skip_without(lose_lock, "lose_lock")
        assert lose_lock is not None
        batch = [event("mine"), event("mine, too")]
        with journal.locked(ME) as last:
            lose_lock(journal, ME)
            try:
                expected = [e.data["word"] for e in journal.append(ME, batch, last)]
            except (Conflict, JournalError):
                expected = []
        with journal.locked(ME):
            lose_lock(journal, ME)  # leaving says nothing: nothing was asked of the lost lock
        assert words(another) == expected
        write(another, event("next"))
        assert numbers(journal) == list(range(1, len(expected) + 2))

    # the lock

    def test_the_lock_gives_the_last_number(self, journal: Journal, another: Journal) -> None:
        seen = []
        for handle in (journal, another, another, journal):
            with handle.locked(ME) as last:
                seen.append(last)
                handle.append(ME, [event(), event()], last)
        assert seen == [0, 2, 4, 6]

    @pytest.mark.parametrize("which", ["same handle", "another handle"])
    def test_one_writer_at_a_time(self, journal: Journal, another: Journal, which: str) -> None:
        waiting = journal if which == "same handle" else another
        order: list[object] = []
        asked = threading.Event()

        def wait() -> None:
            asked.set()
            with waiting.locked(ME) as last:
                order.append(last)

        with journal.locked(ME) as last:
            thread = threading.Thread(target=wait)
            thread.start()
            asked.wait(10)
            time.sleep(0.3)
            journal.append(ME, [event()], last)
            order.append("released")
        thread.join(30)
        assert order == ["released", 1]  # and who waited has the number as it stands now

    def test_spaces_do_not_wait_for_each_other(self, journal: Journal) -> None:
        with journal.locked(ME) as mine, journal.locked(OTHER) as theirs:
            journal.append(OTHER, [event("theirs")], theirs)
            journal.append(ME, [event("mine")], mine)
        assert (words(journal, ME), words(journal, OTHER)) == (["mine"], ["theirs"])

    def test_an_exception_releases_the_lock(self, journal: Journal, another: Journal) -> None:
        def fail() -> None:
            with journal.locked(ME) as last:
                journal.append(ME, [event("acknowledged")], last)
                raise RuntimeError("something else went wrong")

        with pytest.raises(RuntimeError, match="something else"):
            fail()
        for handle in (another, journal):
            write(handle, event("next"))
        assert words(journal) == ["acknowledged", "next", "next"]

    def test_who_waits_too_long_is_told(self, journal: Journal, impatient: Journal | None) -> None:
        skip_without(impatient, "impatient")
        assert impatient is not None
        with journal.locked(ME) as last:
            began = time.monotonic()
            with pytest.raises(JournalError), impatient.locked(ME):
                pytest.fail("two writers at once")
            assert time.monotonic() - began < 10
            journal.append(ME, [event()], last)
        write(impatient, event())
        assert numbers(journal) == [1, 2]

    def test_readers_do_not_wait(self, journal: Journal, another: Journal) -> None:
        written = write(journal, event())
        with journal.locked(ME):
            assert list(another.read(ME)) == list(journal.read(ME)) == written
            assert another.last_seq(ME) == another.verify(ME).events == 1
            another.request_work(ME)
            assert journal.requested_work() == [ME]

    @pytest.mark.parametrize("which", ["same handle", "another handle"])
    def test_two_writers_lose_nothing(self, journal: Journal, another: Journal, which: str) -> None:
        acknowledged: list[Event] = []

        def write_many(handle: Journal, name: str) -> None:
            for number in range(25):
                batch = [event(f"{name} {number} {part}") for part in range(1 + number % 3)]
                acknowledged.extend(write(handle, *batch))

        second = journal if which == "same handle" else another
        run_together(lambda: write_many(journal, "a"), lambda: write_many(second, "b"))
        expected = sorted(acknowledged, key=lambda each: each.seq)
        assert [e.seq for e in expected] == list(range(1, 99))
        for handle in (journal, another):
            assert list(handle.read(ME)) == expected
            assert (handle.verify(ME).events, handle.verify(ME).sound) == (98, True)

    # reading

    def test_what_is_acknowledged_is_seen_by_everybody(self, journal: Journal, another: Journal) -> None:
        for number in range(1, 9):
            writer, reader = (journal, another) if number % 2 else (another, journal)
            [written] = write(writer, event(f"{number}"))
            assert reader.last_seq(ME) == writer.last_seq(ME) == number
            assert reader.event(ME, number) == writer.event(ME, number) == written
            assert list(reader.read(ME, number - 1)) == [written]
        with journal.locked(ME) as last:
            [written] = journal.append(ME, [event()], last)
            assert list(another.read(ME, last)) == [written]  # at once, and not when the lock is released

    def test_reading_begins_after_any_number(self, journal: Journal, another: Journal) -> None:
        written: list[Event] = []
        for size in (1, 3, 2, 5, 1):
            written += write(journal, *(event(f"{size} {part}") for part in range(size)))
        for handle in (journal, another):
            for after in range(len(written) + 3):
                assert list(handle.read(ME, after)) == written[after:]

    def test_every_event_is_found_by_its_number(self, journal: Journal, another: Journal) -> None:
        assert journal.event(ME, 1) is None
        written: list[Event] = []
        for size in (2, 1, 4):
            written += write(journal, *(event(f"{size} {part}") for part in range(size)))
        for handle in (journal, another):
            assert [handle.event(ME, each.seq) for each in reversed(written)] == written[::-1]
            assert [handle.event(ME, seq) for seq in (0, len(written) + 1, 10**9)] == [None] * 3

    def test_reading_goes_on_while_somebody_writes(self, journal: Journal, another: Journal) -> None:
        write_singly(journal, *"abc")
        reading = another.read(ME)
        seen = [next(reading).seq]
        write(journal, event("d"))
        seen += [each.seq for each in reading]
        assert seen in ([1, 2, 3], [1, 2, 3, 4])
        abandoned = another.read(ME)
        next(abandoned)
        write(another, event("e"))
        assert another.last_seq(ME) == 5

    def test_a_space_without_events_is_empty(self, journal: Journal) -> None:
        assert journal.owners() == []
        assert journal.last_seq(NOBODY) == 0
        assert list(journal.read(NOBODY)) == []
        assert journal.event(NOBODY, 1) is None
        assert journal.identity(NOBODY) == ""
        assert journal.size(NOBODY) == 0
        assert (journal.verify(NOBODY).events, journal.verify(NOBODY).sound) == (0, True)
        assert journal.owners() == []  # looking makes no journal

    def test_nothing_crosses_spaces(self, journal: Journal, another: Journal) -> None:
        for number, owner in enumerate(ODD_SPACES):
            write(journal, *(event(f"{number}") for _ in range(1 + number % 2)), owner=owner)
        for handle in (journal, another):
            assert sorted(handle.owners()) == sorted(ODD_SPACES)
            for number, owner in enumerate(ODD_SPACES):
                assert words(handle, owner) == [f"{number}"] * (1 + number % 2)
                assert numbers(handle, owner) == [1, 2][: 1 + number % 2]
                assert handle.last_seq(owner) == handle.verify(owner).events == 1 + number % 2
        with another.locked(ODD_SPACES[0]):
            another.redact(ODD_SPACES[0], {1: event("gone")})
        assert [words(journal, owner)[0] for owner in ODD_SPACES[:3]] == ["gone", "1", "2"]

    # identity

    def test_a_journal_has_a_name_that_it_keeps(self, journal: Journal, another: Journal) -> None:
        assert journal.identity(ME) == another.identity(ME) == ""
        with journal.locked(ME) as last:
            journal.append(ME, [event()], last)
            name = journal.identity(ME)
        assert name != ""
        write(another, event())
        write(another, event(), owner=OTHER)
        with journal.locked(ME):
            journal.redact(ME, {1: event("gone"), 2: event("gone")})
        assert another.identity(ME) == journal.identity(ME) == name
        assert another.identity(OTHER) == journal.identity(OTHER)
        assert another.identity(OTHER) not in ("", name)

    # redacting

    def test_redaction_replaces_events_in_their_places(self, journal: Journal, another: Journal) -> None:
        written: list[Event] = []
        for size in (1, 3, 1, 2):
            written += write(journal, *(event(f"secret {size} {part}") for part in range(size)))
        replacements = {
            1: event("redacted", seq=99, skippable=True),  # the place decides, not what the event says
            3: event(data={"redacted": True, "gone": "消えた 🍵" * 50}),  # longer than what it replaces
            7: event(data={}, by="redaction", memory="mem_a"),
        }
        with journal.locked(ME) as last:
            assert last == 7
            assert journal.redact(ME, replacements) == 3
            expected = [replace(replacements.get(e.seq, e), seq=e.seq) for e in written]
            expected += journal.append(ME, [event("after")], last)
        expected += write(another, event("after, too"))
        assert [e.seq for e in expected] == list(range(1, 10))
        for handle in (journal, another):
            assert list(handle.read(ME)) == expected
            assert [handle.event(ME, seq) for seq in range(1, 10)] == expected
            assert [list(handle.read(ME, after)) for after in range(10)] == [
                expected[after:] for after in range(10)
            ]
            verdict = handle.verify(ME)
            assert (verdict.events, verdict.sound) == (9, True)
            assert handle.last_seq(ME) == 9

    def test_only_numbers_that_exist_are_redacted(self, journal: Journal, another: Journal) -> None:
        written = write(journal, event("a"), event("b"))
        with journal.locked(ME), journal.locked(OTHER):
            assert journal.redact(ME, {}) == 0
            assert journal.redact(ME, {0: event("x"), 3: event("x"), 10**9: event("x")}) == 0
            assert journal.redact(OTHER, {1: event("x")}) == 0
            assert list(another.read(ME)) == written
            assert journal.redact(ME, {2: event("x"), 3: event("y")}) == 1
        assert words(another) == ["a", "x"]
        assert journal.last_seq(OTHER) == 0

    @pytest.mark.parametrize("what", UNWRITABLE)
    def test_a_redaction_is_all_or_nothing(self, journal: Journal, another: Journal, what: str) -> None:
        written = write(journal, event("a"), event("b"))
        with journal.locked(ME), pytest.raises(InvalidInput):
            journal.redact(ME, {1: event("x"), 2: event(data={"bad": UNWRITABLE[what]})})
        assert list(another.read(ME)) == list(journal.read(ME)) == written

    def test_redaction_leaves_no_byte(
        self, journal: Journal, another: Journal, read_bytes: Callable[[], bytes] | None
    ) -> None:
        skip_without(read_bytes, "read_bytes")
        assert read_bytes is not None
        write(journal, event("kept-1"), event("quokka-2"), event("kept-3"))
        write(journal, event("quokka-4"))
        write(journal, event("kept-5"))
        assert b"quokka" in read_bytes()
        with another.locked(ME):
            assert another.redact(ME, {2: event("gone"), 4: event("gone")}) == 2
        left = read_bytes()
        assert b"quokka" not in left
        assert all(word in left for word in (b"kept-1", b"kept-3", b"kept-5"))

    # erasing

    def test_nothing_is_left_of_an_erased_owner_and_others_are_untouched(
        self, journal: Journal, another: Journal, read_bytes: Callable[[], bytes] | None
    ) -> None:
        write(journal, event("quokka-1"), event("quokka-2"))
        write_singly(journal, "quokka-3", "quokka-4", "quokka-5")
        journal.request_work(ME)
        theirs = write(journal, event("kept"), owner=OTHER)
        another.erase(ME)
        for handle in (journal, another):
            assert (list(handle.read(ME)), handle.last_seq(ME), handle.size(ME)) == ([], 0, 0)
            assert handle.event(ME, 1) is None
            assert handle.identity(ME) == ""
            assert handle.owners() == [OTHER]
            assert handle.requested_work() == []
            assert list(handle.read(OTHER)) == theirs
        if read_bytes is not None:
            assert b"quokka" not in read_bytes()
            assert b"kept" in read_bytes()

    def test_an_erased_owner_can_write_nothing(self, journal: Journal, another: Journal) -> None:
        write(journal, event())
        assert not journal.is_erased(ME)
        another.erase(ME)
        for handle in (journal, another):
            assert handle.is_erased(ME)
            with pytest.raises(MemoryErased), handle.locked(ME):
                raise AssertionError("the lock was given")
            handle.request_work(ME)
            assert handle.requested_work() == []
            assert not handle.is_erased(OTHER)
        assert write(journal, event(), owner=OTHER)

    def test_an_owner_without_events_can_be_erased(self, journal: Journal, another: Journal) -> None:
        journal.erase(NOBODY)
        assert another.is_erased(NOBODY)
        with pytest.raises(MemoryErased):
            write(another, event(), owner=NOBODY)

    def test_an_erasure_is_unfinished_until_it_is_said_to_be_finished(
        self, journal: Journal, another: Journal, read_bytes: Callable[[], bytes] | None
    ) -> None:
        whose = ("some tenant", "wolpertinger")
        write(journal, event(), owner=whose)
        journal.erase(whose)
        another.erase(whose)  # again, after a kill
        assert another.unfinished_erasures() == [whose]
        with pytest.raises(Conflict):
            another.reopen(whose)
        journal.finish_erasure(whose)
        assert another.unfinished_erasures() == []
        assert another.is_erased(whose)
        if read_bytes is not None:
            assert b"wolpertinger" not in read_bytes()

    def test_a_reopened_owner_starts_again_with_another_journal(
        self, journal: Journal, another: Journal
    ) -> None:
        write(journal, event("quokka"))
        before = journal.identity(ME)
        journal.erase(ME)
        journal.finish_erasure(ME)
        another.reopen(ME)
        assert not journal.is_erased(ME)
        assert [each.seq for each in write(journal, event("new"))] == [1]
        assert words(another) == ["new"]
        assert another.identity(ME) not in ("", before)
        another.erase(ME)
        assert journal.is_erased(ME)

    def test_reopening_who_was_never_erased_changes_nothing(self, journal: Journal) -> None:
        write(journal, event())
        journal.reopen(ME)
        assert words(journal) == ["kettle"]
        assert not journal.is_erased(ME)

    def test_every_name_can_be_erased_alone(self, journal: Journal, another: Journal) -> None:
        for number, whose in enumerate(ODD_SPACES):
            write(journal, event(str(number)), owner=whose)
        for whose in ODD_SPACES[::2]:
            another.erase(whose)
        for number, whose in enumerate(ODD_SPACES):
            assert journal.is_erased(whose) is (number % 2 == 0)
            assert words(journal, whose) == ([] if number % 2 == 0 else [str(number)])

    def test_an_erasure_waits_for_the_writer_and_refuses_those_behind(
        self, journal: Journal, another: Journal
    ) -> None:
        write(journal, event())
        started = threading.Event()

        def write_slowly() -> None:
            with journal.locked(ME) as last:
                started.set()
                time.sleep(0.3)
                journal.append(ME, [event("late")], last)

        def erase() -> None:
            started.wait(10)
            another.erase(ME)

        run_together(write_slowly, erase)
        assert list(journal.read(ME)) == []
        with pytest.raises(MemoryErased):
            write(journal, event())

    # checking

    def test_size_and_count_grow(self, journal: Journal, another: Journal) -> None:
        sizes = [journal.size(ME)]
        for number in range(1, 5):
            write(journal, event("word " * 50), event("word " * 50))
            verdict = another.verify(ME)
            assert (verdict.events, verdict.sound) == (2 * number, True)
            sizes.append(another.size(ME))
        assert sizes[0] == 0
        assert all(later - before >= 500 for before, later in pairwise(sizes))
        assert journal.size(ME) == sizes[-1]

    def test_a_damaged_event_is_passed_over_and_told(
        self, journal: Journal, another: Journal, damage: Callable[[Owner, int], None] | None
    ) -> None:
        skip_without(damage, "damage")
        assert damage is not None
        written = write_singly(journal, *"abcd")
        damage(ME, 2)
        for handle in (journal, another):
            assert list(handle.read(ME)) == [written[0], *written[2:]]
            assert list(handle.read(ME, 1)) == written[2:]
            assert handle.event(ME, 2) is None
            assert handle.event(ME, 3) == written[2]
            assert handle.last_seq(ME) == 4
            assert not handle.verify(ME).sound
        write(another, event("e"))
        assert numbers(journal) == [1, 3, 4, 5]

    # work that waits

    def test_requested_work_is_listed_until_it_is_finished(self, journal: Journal, another: Journal) -> None:
        for owner in (ME, OTHER, ODD_SPACES[8]):
            write(journal, event(), owner=owner)
        assert journal.requested_work() == []
        journal.request_work(ME)
        journal.request_work(ODD_SPACES[8])
        another.request_work(ME)  # asking twice is asking once
        for handle in (journal, another):
            assert sorted(handle.requested_work()) == sorted([ME, ODD_SPACES[8]])
        another.claim_work(ME)  # whoever claimed it may be killed: it is still to be done
        assert sorted(journal.requested_work()) == sorted([ME, ODD_SPACES[8]])
        another.finish_work(ME)
        for handle in (journal, another):
            assert handle.requested_work() == [ODD_SPACES[8]]
        assert words(journal) == ["kettle"]
        assert journal.verify(ME).sound

    def test_a_request_made_during_the_work_stays(self, journal: Journal, another: Journal) -> None:
        write(journal, event())
        journal.request_work(ME)
        another.claim_work(ME)
        journal.request_work(ME)  # the work goes on meanwhile
        another.finish_work(ME)
        assert another.requested_work() == [ME]
        another.claim_work(ME)
        another.finish_work(ME)
        assert journal.requested_work() == []

    def test_a_claim_without_a_request_is_nothing(self, journal: Journal, another: Journal) -> None:
        journal.claim_work(NOBODY)
        journal.finish_work(NOBODY)
        write(journal, event())
        journal.claim_work(ME)
        assert journal.requested_work() == []
        journal.request_work(ME)
        another.claim_work(ME)
        journal.claim_work(ME)
        journal.finish_work(ME)
        assert journal.requested_work() == []

    # a process that dies

    def test_a_killed_writer_loses_nothing_acknowledged(
        self, journal: Journal, another: Journal, writer_command: Sequence[str] | None
    ) -> None:
        skip_without(writer_command, "writer_command")
        assert writer_command is not None
        acknowledged = 0
        for round in range(5):
            before = journal.last_seq(ME)
            said = _kill_writer(writer_command, after_lines=2 + 3 * round)
            assert said == sorted(said)
            assert said[0] > before
            acknowledged = said[-1]
            began = time.monotonic()
            handle = journal if round % 2 else another
            with handle.locked(ME) as last:
                assert time.monotonic() - began < 5  # at once, with room for a busy machine
                assert last >= acknowledged
                [mine] = handle.append(ME, [event(f"after round {round}")], last)
            assert mine.seq == last + 1
            assert (last - before) % 3 == 0  # whole batches only
        for handle in (journal, another):
            assert numbers(handle) == list(range(1, mine.seq + 1))
            assert handle.verify(ME).sound
        assert [word for word in words(another) if word.startswith("after")] == [
            f"after round {round}" for round in range(5)
        ]


def _kill_writer(command: Sequence[str], after_lines: int) -> list[int]:
    """Start the process, kill it after so many lines, a little later; the numbers that it printed."""
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109 - a text is wanted
    environment = os.environ | {"PYTHONPATH": paths}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline() for _ in range(after_lines)]
            time.sleep(0.0007 * after_lines)
        finally:
            process.kill()
        lines += process.stdout.readlines()
    assert lines[0], "the writer ended before it wrote anything"
    return [int(line) for line in lines if line.endswith("\n")]
