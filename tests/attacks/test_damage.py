"""A12, A14, A20: damage forbids nothing that is sound, and never escapes as a raw exception."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nagori import Nagori, Scope, Turn
from nagori.errors import JournalError, JournalMismatch, NagoriError
from nagori.testing import FrozenClock, WordEmbedder

SEGMENT = Path("journal/local/me/00000001.jsonl")
NOW = datetime(2026, 4, 2, tzinfo=UTC)


def opened(folder: Path, clock: FrozenClock) -> Nagori:
    return Nagori.open(folder, clock=clock, embedder=WordEmbedder())


def tear(folder: Path) -> None:
    with (folder / SEGMENT).open("ab") as file:
        file.write(b'{"v":1,"type":"formed","at":"2026-04-0')


def flip(folder: Path, line: int = 1) -> None:
    lines = (folder / SEGMENT).read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b'"content":"', b'"content":\'', 1)
    (folder / SEGMENT).write_bytes(b"".join(lines))


def test_a_torn_end_is_no_damage(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    with opened(folder, clock) as memory:
        memory.remember("First.")
        memory.remember("Second.")
        tear(folder)
        assert memory.verify().sound
        assert memory.rebuild() == 2
        saved = memory.backup(tmp_path / "one.tar")
        assert (saved.events, saved.damaged) == (2, 0)
        assert not [f for f in memory.doctor() if f.state == "fail"]
    Nagori.restore(tmp_path / "one.tar", tmp_path / "back", NOW)
    with opened(tmp_path / "back", clock) as memory:
        assert len(memory.list()) == 2
        memory.remember("Third.")
        assert memory.verify().sound


def test_a_flipped_bit_forbids_no_backup_which_says_how_many_lines_are_damaged(
    tmp_path: Path, clock: FrozenClock
) -> None:
    folder = tmp_path / "data"
    with opened(folder, clock) as memory:
        ids = [memory.remember(f"Memory number {n}.").id for n in range(4)]
        flip(folder)
        proof = memory.verify()
        assert not proof.sound
        assert sum(len(journal.damage) for journal in proof.journals) >= 1
        saved = memory.backup(tmp_path / "one.tar")
        assert saved.events == 3
        assert saved.damaged >= 1
        assert len(memory.list()) == 4  # the store still knows it
        with pytest.raises(JournalError, match="damaged"):
            memory.rebuild()
        memory.rebuild(accept_damage=True)
        assert {m.id for m in memory.list()} == {ids[0], *ids[2:]}
        again = memory.backup(tmp_path / "two.tar")
        assert again.events == 3
        memory.remember("Said after the damage.")
        assert len(memory.list()) == 4
    for name, there in (("one", 4), ("two", 3)):
        Nagori.restore(tmp_path / f"{name}.tar", tmp_path / name, NOW)
        with opened(tmp_path / name, clock) as memory:
            assert len(memory.list()) == there
            memory.remember("Said after the restore.")


def test_a_lost_store_beside_a_damaged_journal_is_not_made_anew_silently(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """What is sound is served, and the loss is told: by an observer at once, by verify and doctor."""
    folder = tmp_path / "data"
    with opened(folder, clock) as memory:
        for n in range(4):
            memory.remember(f"Memory number {n}.")
    flip(folder)
    for file in folder.glob("nagori.db*"):
        file.unlink()
    with opened(folder, clock) as memory:
        assert len(memory.list()) == 3
        assert not memory.verify().sound
        assert any(f.state == "fail" for f in memory.doctor())


def test_undo_after_damage_says_clearly_what_cannot_be_done(tmp_path: Path, clock: FrozenClock) -> None:
    for line, changes in ((0, 1), (1, 1), (0, 0), (1, 2), (2, 2)):
        folder = tmp_path / f"data{line}{changes}"
        with opened(folder, clock) as memory:
            id = memory.remember("The first words.").id
            for n in range(changes):
                memory.edit(id, content=f"Words number {n}.")
        lines = (folder / SEGMENT).read_bytes().splitlines(keepends=True)
        lines[line] = b"#" + lines[line][1:]
        (folder / SEGMENT).write_bytes(b"".join(lines))
        with opened(folder, clock) as memory:
            for _ in range(4):
                try:
                    memory.undo(id)
                except NagoriError as told:
                    assert str(told)
            memory.why(id)
            memory.feedback(id, True)
            memory.populations(5)
            memory.as_of(clock.now())


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b"null", b'{"tenant":"x","user":"y"}', b"\xff\xfe", None])
def test_a_user_whose_note_is_damaged_stays_in_verify_rebuild_and_backup(
    tmp_path: Path, clock: FrozenClock, note: bytes | None
) -> None:
    folder = tmp_path / "data"
    with opened(folder, clock) as memory:
        memory.remember("Mine.")
        memory.with_scope(Scope(user="Bob Öl")).remember("Of Bob.")
    [path] = [p for p in (folder / "journal").glob("*/*/space.json") if p.parent.name != "me"]
    path.unlink() if note is None else path.write_bytes(note)
    with opened(folder, clock) as memory:
        proof = memory.verify()
        assert len(proof.journals) == 2
        assert proof.sound
        memory.rebuild()
        bob = memory.with_scope(Scope(user="Bob Öl"))
        assert [m.text.content for m in bob.list()] == ["Of Bob."]
        saved = memory.backup(tmp_path / "one.tar")
        assert saved.events == 2
        bob.remember("Also of Bob.")
        assert memory.verify().sound
    Nagori.restore(tmp_path / "one.tar", tmp_path / "back", NOW)
    with opened(tmp_path / "back", clock) as memory:
        assert [m.text.content for m in memory.with_scope(Scope(user="Bob Öl")).list()] == ["Of Bob."]


def test_a_user_whose_note_is_damaged_goes_on_writing_without_any_ado(
    tmp_path: Path, clock: FrozenClock
) -> None:
    folder = tmp_path / "data"
    with opened(folder, clock) as memory:
        memory.remember("Before.")
        (folder / "journal/local/me/space.json").write_bytes(b"")
        assert len(memory.list()) == 1
        memory.remember("After.")
        assert len(memory.list()) == 2
        assert memory.verify().sound
    with opened(folder, clock) as memory:
        memory.rebuild()
        assert len(memory.list()) == 2


def test_a_long_name_whose_note_is_lost_is_told_and_saved(tmp_path: Path, clock: FrozenClock) -> None:
    folder, name = tmp_path / "data", "ユーザー" * 40
    with opened(folder, clock) as memory:
        memory.remember("Mine.")
        memory.with_scope(Scope(user=name)).remember("Of a long name.")
    [note] = [p for p in (folder / "journal").glob("*/*/space.json") if p.parent.name != "me"]
    note.write_bytes(b"{")
    with opened(folder, clock) as memory:
        assert memory.verify().sound  # the store knows whose it is
        memory.rebuild()
        assert len(memory.with_scope(Scope(user=name)).list()) == 1
        saved = memory.backup(tmp_path / "one.tar")
        import tarfile

        with tarfile.open(saved.path) as tar:
            assert sum("00000001.jsonl" in member for member in tar.getnames()) == 2
    assert note.read_bytes() != b"{"  # a rebuild locks every owner, and writes the note again
    note.write_bytes(b"{")
    for file in folder.glob("nagori.db*"):
        file.unlink()
    with opened(folder, clock) as memory:
        assert not memory.verify().sound
        assert any(f.state == "fail" and "cannot be read" in f.detail for f in memory.doctor())
        with pytest.raises(JournalError):
            memory.rebuild()  # it would leave somebody out
        memory.with_scope(Scope(user=name)).remember("He comes back, and his note with him.")
        assert memory.verify().sound


# --- A20 ------------------------------------------------------------------------------------------


def fill(folder: Path, clock: FrozenClock) -> list[str]:
    with opened(folder, clock) as memory:
        ids = [
            memory.remember(f"Memory number {n} about {'ports' if n % 2 else 'keys'}.").id for n in range(20)
        ]
        memory.form(
            [Turn(f"Turn {n} about the harbour.", clock.now(), session="s", index=n) for n in range(5)]
        )
        memory.turn("Something that waits.", session="s")
        memory.edit(ids[0], trigger="first")
        memory.archive(ids[1])
        memory.recall("ports")
        memory.context("What about the keys?", session="s")
        clock.forward(days=2)
        memory.cycle()
    return ids


def use_everything(folder: Path, clock: FrozenClock, ids: list[str]) -> list[str]:
    """Every verb; what escaped that is no error of ours."""
    escaped: list[str] = []
    verbs: dict[str, Callable[[Nagori], object]] = {
        "list": lambda m: m.list(),
        "recall": lambda m: m.recall("ports and keys"),
        "show": lambda m: m.show(ids[0]),
        "why": lambda m: m.why(ids[0], "ports"),
        "export": lambda m: list(m.export()),
        "markdown": lambda m: list(m.export("markdown")),
        "status": lambda m: m.status(),
        "measure": lambda m: m.measure(),
        "remember": lambda m: m.remember("Something new."),
        "edit": lambda m: m.edit(ids[2], content="Something else."),
        "undo": lambda m: m.undo(ids[0]),
        "forget": lambda m: m.forget(ids[3]),
        "archive": lambda m: m.archive(ids[4]),
        "unarchive": lambda m: m.unarchive(ids[1]),
        "protect": lambda m: m.protect(ids[5]),
        "feedback": lambda m: m.feedback(ids[6], True),
        "context": lambda m: m.context("What about the keys?", session="s2"),
        "process": lambda m: m.process(),
        "form": lambda m: m.form([Turn("A new turn.", clock.now(), session="t")]),
        "plan": lambda m: m.plan(),
        "cycle": lambda m: m.cycle(),
        "summary": lambda m: m.summary("s"),
        "usage": lambda m: m.usage(),
        "populations": lambda m: m.populations(3),
        "embed_missing": lambda m: m.embed_missing(),
        "verify": lambda m: m.verify(),
        "doctor": lambda m: m.doctor(),
        "backup": lambda m: m.backup(folder.with_name(f"b{random.random()}.tar")),
    }
    with opened(folder, clock) as memory:
        for name, verb in verbs.items():
            try:
                verb(memory)
            except NagoriError:
                pass
            except Exception as fault:
                escaped.append(f"{name}: {type(fault).__name__}: {fault}")
    return escaped


def damage_rows(path: Path, dice: random.Random) -> None:
    """Values that nobody wrote, in any column of any table."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA writable_schema = 1")
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for _ in range(4):
        table = dice.choice([t for t in tables if not t.startswith("sqlite_")])
        try:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        except sqlite3.Error:  # harmed already
            continue
        if not columns:
            continue
        value = dice.choice(
            [
                None,
                "",
                "x",
                -1,
                0,
                2**63 - 1,
                -(2**63),
                1.5,
                b"",
                b"\xff\xfe",
                "[",
                "{}",
                '{"a":',
                "\0",
                "999",
            ]
        )
        column = dice.choice(columns)
        try:
            db.execute(
                f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid % 3 = ?", (value, dice.randrange(3))
            )
        except sqlite3.Error:
            continue
    db.commit()
    db.close()


def damage_pages(path: Path, dice: random.Random) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        for _ in range(dice.randrange(1, 6)):
            file.seek(dice.randrange(100, size))
            file.write(dice.randbytes(dice.choice([1, 4, 64, 4096])))


@pytest.mark.parametrize("harm", [damage_rows, damage_pages])
def test_a_randomly_damaged_store_never_raises_anything_but_our_errors_and_rebuild_mends(
    tmp_path: Path, clock: FrozenClock, harm: Callable[[Path, random.Random], None]
) -> None:
    original = tmp_path / "original"
    ids = fill(original, clock)
    with opened(original, clock) as memory:
        memory.runtime.store.compact()  # type: ignore[attr-defined]
    escaped: dict[int, list[str]] = {}
    for seed in range(int(__import__("os").environ.get("NAGORI_DAMAGE", "12"))):
        folder = tmp_path / f"data{seed}"
        shutil.copytree(original, folder)
        harm(folder / "nagori.db", random.Random(seed))
        if found := use_everything(folder, clock, ids):
            escaped[seed] = found
        with opened(folder, clock) as memory:
            try:
                memory.rebuild()
            except JournalMismatch:  # the row that says which journal it was made from is harmed
                memory.rebuild(accept_damage=True)
            assert memory.verify().sound, seed
            told = [json.loads(line) for line in memory.export()]
            assert {ids[0], *ids[7:]} <= {item["memory"]["id"] for item in told if "memory" in item}
        shutil.rmtree(folder)
    assert escaped == {}
