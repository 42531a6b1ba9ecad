"""The journal keeps what it acknowledged, and tells what was done to it."""

# mypy: disable-error-code="func-returns-value"
# Because `append` in a lambda.

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.core.events import Event
from nagori.errors import InvalidInput, JournalError, JournalTooNew, Notice
from nagori.journals.file import FileJournal, decode, encode, folder_name

ME = ("local", "me")
NOW = datetime(2026, 4, 1, tzinfo=UTC)


def event(n: int = 0, **data: object) -> Event:
    return Event("formed", NOW, {"n": n, **data}, f"mem_{n}")


@pytest.fixture
def journal(tmp_path: Path) -> FileJournal:
    return FileJournal(tmp_path / "journal", segment_bytes=2000)


def append(journal: FileJournal, *events: Event) -> None:
    with journal.locked(ME) as last:
        journal.append(ME, events, last)


def segment(journal: FileJournal, number: int = 1) -> Path:
    return journal.folder(ME) / f"{number:08d}.jsonl"


def test_what_is_appended_is_read_back_in_order(journal: FileJournal) -> None:
    append(journal, event(1), event(2))
    append(journal, event(3))
    assert [event.data["n"] for event in journal.read(ME)] == [1, 2, 3]
    assert [event.seq for event in journal.read(ME)] == [1, 2, 3]


def test_reading_goes_on_after_any_event(journal: FileJournal) -> None:
    for n in range(0, 40, 4):
        append(journal, *(event(m) for m in range(n, n + 4)))
    events = list(journal.read(ME))
    assert len(list(journal.folder(ME).glob("*.jsonl"))) > 1, "the test should cross segments"
    for known in events:  # also inside a bundle
        assert [e.seq for e in journal.read(ME, known.seq)] == list(range(known.seq + 1, 41))
        assert journal.event(ME, known.seq) == known


def test_an_event_is_found_in_a_long_segment_without_reading_it_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = FileJournal(tmp_path / "journal")
    for n in range(60):
        append(journal, *(event(m, text="x" * 300) for m in range(50 * n, 50 * n + 50)))
    decoded: list[bytes] = []
    real = decode
    monkeypatch.setattr("nagori.journals.file.decode", lambda line, *how: decoded.append(line) or real(line))
    for seq in (1, 2, 1499, 1500, 1501, 2999, 3000):
        decoded.clear()
        found = journal.event(ME, seq)
        assert found is not None
        assert found.seq == seq
        assert len(decoded) <= 6
    assert journal.event(ME, 3001) is None


def test_damaged_lines_do_not_lead_the_search_astray(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "journal")
    for n in range(400):
        append(journal, event(n, text="y" * 700))
    lines = segment(journal).read_bytes().splitlines(keepends=True)
    for at in range(100, 300, 3):  # a third of the middle, the number at the end of the line among it
        lines[at] = lines[at].replace(b',"seq":', b',"seq":9')
    segment(journal).write_bytes(b"".join(lines))
    for seq in (1, 100, 102, 103, 250, 251, 399, 400):
        found = journal.event(ME, seq)
        assert (found is None) is (100 <= seq - 1 < 300 and (seq - 1 - 100) % 3 == 0)
    assert len(journal.verify(ME).damage) >= 67


def test_numbers_go_on_across_segments_and_processes(journal: FileJournal) -> None:
    for n in range(60):
        append(FileJournal(journal.root, segment_bytes=2000), event(n))
    assert [event.seq for event in journal.read(ME)] == list(range(1, 61))
    assert journal.verify(ME).sound


def test_every_prefix_of_the_last_append_is_repaired_and_loses_nothing_before(journal: FileJournal) -> None:
    append(journal, event(1))
    append(journal, event(2, text="最後の行"), event(3), event(4))
    whole = segment(journal).read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        segment(journal).write_bytes(whole[:cut])
        fresh = FileJournal(journal.root)
        append(fresh, event(9))
        assert [p.data["n"] for p in fresh.read(ME)] == [1, 9]
        assert fresh.verify(ME).sound
        aside = sorted(journal.folder(ME).glob("torn-*"))
        assert [p.read_bytes() for p in aside] == ([whole[first:cut]] if cut > first else [])
        for path in aside:
            path.unlink()


def test_every_flipped_byte_is_noticed(journal: FileJournal) -> None:
    append(journal, event(1, text="値"), event(2))
    whole = segment(journal).read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x41
        segment(journal).write_bytes(bytes(damaged))
        assert not journal.verify(ME).sound, f"byte {at}"


def test_a_missing_line_is_noticed(journal: FileJournal) -> None:
    for n in (1, 2, 3):
        append(journal, event(n))
    lines = segment(journal).read_bytes().splitlines(keepends=True)
    segment(journal).write_bytes(lines[0] + lines[2])
    [damage] = journal.verify(ME).damage
    assert damage.problem == Notice("damage.event_missing", expected=2, found=3)


def test_foreign_lines_are_passed_over_and_named(journal: FileJournal) -> None:
    append(journal, event(1))
    with segment(journal).open("ab") as file:
        file.write(b'{"hello":"world"}\n\xff\xfe garbage\n')
    append(FileJournal(journal.root), event(2))
    assert [p.seq for p in journal.read(ME)] == [1, 2]
    assert [(d.line, d.problem) for d in journal.verify(ME).damage] == [
        (2, Notice("damage.line_foreign")),
        (3, Notice("damage.line_foreign")),
    ]


def test_a_newer_format_stops_the_reading(journal: FileJournal) -> None:
    append(journal, event(1))
    line = segment(journal).read_bytes()
    from zlib import crc32

    head = line.replace(b'{"v":1', b'{"v":3')[: -len(b',"sum":"00000000"}\n')]
    segment(journal).write_bytes(head + b',"sum":"%08x"}\n' % crc32(head))
    with pytest.raises(JournalTooNew):
        list(journal.read(ME))


def test_files_are_private(journal: FileJournal) -> None:
    append(journal, event(1))
    for path in [journal.root, *journal.root.rglob("*")]:
        allowed = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == allowed, path


def test_spaces_are_listed_by_their_real_names(journal: FileJournal) -> None:
    names = ["me", "Me", "a/b", "../x", "日本語", "%41", "x" * 256, "con", ".", "a b"]
    for name in names:
        with journal.locked(("local", name)) as last:
            journal.append(("local", name), [event(1)], last)
    assert sorted(user for _, user in journal.owners()) == sorted(names)
    inside = {path.parent.resolve() for path in journal.root.rglob("space.json")}
    assert all(journal.root.resolve() in path.parents for path in inside)


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_two_names_never_share_a_folder(one: str, other: str) -> None:
    try:
        a, b = folder_name(one), folder_name(other)
    except UnicodeEncodeError:  # lone surrogates are refused by Scope, before they come here
        return
    assert (a.lower() == b.lower()) is (one == other)
    assert "/" not in a
    assert a not in (".", "..")


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.none(), max_size=4),
    st.integers(1, 10**12),
)
def test_a_line_says_what_the_event_said(data: dict[str, object], seq: int) -> None:
    try:
        line, numbered = encode([Event("formed", NOW, data, "mem_x"), event(2)], seq)
    except InvalidInput:
        assert any(0xD800 <= ord(c) <= 0xDFFF for key in data for c in f"{key}{data[key]}")
        return
    assert decode(line) == numbered
    assert line.count(b"\n") == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_either_an_event_or_an_error_with_words(line: bytes) -> None:
    with pytest.raises(JournalError):
        decode(line + b"\n")


def test_not_a_number_is_refused(journal: FileJournal) -> None:
    with pytest.raises(InvalidInput, match="JSON"):
        append(journal, event(1, bad=float("nan")))
    assert list(journal.read(ME)) == []


@pytest.mark.parametrize("failing", ["write", "short write", "fsync"])
def test_a_failed_append_is_an_error_and_leaves_nothing(
    journal: FileJournal, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    append(journal, event(1))
    before = segment(journal).read_bytes()
    real_write = os.write

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if failing == "fsync":
            patch.setattr(os, "fsync", full)
        elif failing == "write":
            patch.setattr(os, "write", full)
        else:
            patch.setattr(os, "write", lambda fd, block: real_write(fd, block[: len(block) // 2]))
        with pytest.raises(JournalError, match="No space left"):
            append(journal, event(2))
    assert segment(journal).read_bytes() == before
    append(journal, event(3))
    assert [p.data["n"] for p in journal.read(ME)] == [1, 3]


def test_an_empty_space_ends_at_the_beginning(journal: FileJournal) -> None:
    assert journal.last_seq(ME) == 0
    assert list(journal.read(ME)) == []
    assert journal.owners() == []


def test_whoever_waits_too_long_for_the_lock_is_told(
    journal: FileJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nagori.journals.file.LOCK_SECONDS", 0.05)
    with journal.locked(ME), pytest.raises(JournalError, match="busy"), FileJournal(journal.root).locked(ME):
        raise AssertionError("two at once")
