"""Receipts, the audit log, the search of bytes, and backups after an erasure."""

import gzip
import json
import os
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.erased_bytes import draw_kanji, draw_word, files_with

from nagori import Nagori, Privacy, Scope
from nagori.core.events import Event
from nagori.errors import InvalidInput, MemoryErased, ModelError, StoreError
from nagori.journals.file import FileJournal
from nagori.services import audit_log, erasure_receipt
from nagori.services.byte_search import choose_passages, needles_of, search_files
from nagori.testing import FrozenClock, WordEmbedder

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)
ME = ("local", "me")


def opened(folder: Path, user: str = "me", **parts: Any) -> Nagori:
    parts = {"embedder": WordEmbedder(), "llm": None, "clock": FrozenClock(), **parts}
    return Nagori.open(folder, scope=Scope(user=user), **parts)


# --- the search


@pytest.mark.parametrize(
    "passage", ["a lukewarm rhubarb tea", "こちらは 渚の茶屋です", 'café 🍵 "quoted" \\ x']
)
def test_a_passage_is_found_however_it_is_written(tmp_path: Path, passage: str) -> None:
    plain = passage.encode()
    ways = {
        "plain": plain,
        "json": json.dumps({"text": passage}).encode(),
        "json utf-8": json.dumps({"text": passage}, ensure_ascii=False).encode(),
        "utf-16": passage.encode("utf-16-le"),
        "utf-16 be": passage.encode("utf-16-be"),
        "gzip": gzip.compress(b"x" * 1000 + plain),
        "gzip inside": b"header" + gzip.compress(plain) + b"trailer",
        **{f"base64 {lead}": b64encode(b"z" * lead + plain + b"tail") for lead in range(4)},
    }
    for name, content in ways.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "other").write_bytes(b"nothing of it \x1f\x8b\x08 and no gzip")
    found, files, size = search_files(sorted(tmp_path.iterdir()), [passage])
    assert {path.name for path in found} == set(ways)
    assert files == len(ways) + 1
    assert size >= sum(map(len, ways.values()))


def test_a_passage_across_two_blocks_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nagori.services import byte_search

    monkeypatch.setattr(byte_search, "BLOCK", 64)
    words = "the quick brown fox jumps"
    for lead in range(0, 140, 7):
        (tmp_path / "file").write_bytes(b"." * lead + words.encode() + b"." * 99)
        assert search_files([tmp_path / "file"], [words])[0]
    (tmp_path / "packed").write_bytes(gzip.compress(os.urandom(500) + words.encode() + os.urandom(500)))
    assert search_files([tmp_path / "packed"], [words])[0]
    packed = gzip.compress(words.encode())
    for lead in range(0, 200, 3):  # a stream that begins in a later block, or across two
        (tmp_path / "later").write_bytes(b"." * lead + packed)
        assert search_files([tmp_path / "later"], [words])[0]
    assert search_files([tmp_path / "gone"], [words]) == ({}, 1, 0)


def test_passages_are_long_enough_to_mean_something() -> None:
    assert choose_passages([]) == choose_passages(["", "tea", "  a  b "]) == []
    texts = [f"{draw_word(Random(n))} said number {n}" for n in range(100)]
    passages = choose_passages(texts)
    assert 16 <= len(passages) <= 32
    assert all(any(p in " ".join(t.split()) for t in texts) for p in passages)
    assert all(len(needle) >= 8 for p in passages for needle in needles_of(p))
    assert choose_passages(["half of \ud83c a pair"])
    assert choose_passages([draw_kanji(Random(1))])


# --- the receipt


def test_a_receipt_says_what_went_and_where_it_remains(memory: Nagori, tmp_path: Path) -> None:
    memory.remember("The kettle whistles at noon.")
    list(memory.export())
    memory.backup(tmp_path / "b.tar")
    done = memory.erase(memory.plan_erasure(about="kettle"))
    said = done.to_dict()
    assert (said["target"], said["name"], said["user"], said["clean"]) == ("about", "kettle", "me", True)
    assert {step["part"]: step["left"] for step in said["steps"]} == {
        "memories": 0,
        "turns": 0,
        "journal": 0,
        "pages": 0,
        "copies": 0,
    }
    assert said["search"]["files"] > 3
    assert [each["id"] for each in said["remains"]] == [
        "erase.remains_copies",
        "erase.remains_transcripts",
        "erase.remains_disk",
        "erase.remains_processes",
    ]
    assert said["remains"][0]["values"]["n"] == 2
    folder = memory.runtime.data_dir
    assert (folder / "receipt.key").stat().st_mode & 0o777 == 0o600
    assert erasure_receipt.verify(folder, json.dumps(said))
    assert erasure_receipt.verify(folder, json.dumps(said, indent=3, ensure_ascii=False).encode())


def test_a_changed_receipt_and_one_of_another_folder_are_refused(memory: Nagori, tmp_path: Path) -> None:
    memory.remember("The kettle whistles at noon.")
    said = memory.erase(memory.plan_erasure(about="kettle")).to_dict()
    folder = memory.runtime.data_dir
    changes: list[dict[str, Any]] = [{"user": "other"}, {"clean": False}, {"steps": []}]
    for change in (*changes, {"signature": "0" * 64}):
        assert not erasure_receipt.verify(folder, json.dumps(said | change))
    assert not erasure_receipt.verify(tmp_path, json.dumps(said))
    for text in (
        "",
        "{",
        "[]",
        "7",
        "{}",
        '{"format": 1}',
        '{"format": 1, "signature": "é"}',
        b"\xff",
        "[" * 9999,
    ):
        with pytest.raises(InvalidInput):
            erasure_receipt.verify(folder, text)


def test_of_two_keys_created_at_once_one_counts(tmp_path: Path) -> None:
    first, new = erasure_receipt.create_key(tmp_path)
    assert new
    assert erasure_receipt.create_key(tmp_path) == (first, False)
    (tmp_path / "receipt.key").write_bytes(b"short")  # a kill while it was written
    again, new = erasure_receipt.create_key(tmp_path)
    assert new
    assert erasure_receipt.read_key(tmp_path) == again != first
    assert [path.name for path in tmp_path.iterdir()] == ["receipt.key"]


def test_what_somebody_else_says_is_not_taken_for_a_leftover(memory: Nagori) -> None:
    other = memory.with_scope(user="other")
    for each in (memory, other):
        each.remember("The kettle whistles at noon every day.")
    done = memory.erase(memory.plan_erasure(everything=True))
    assert done.clean
    assert done.search.shared > 0
    assert len(other.list()) == 1


def test_a_leftover_is_told(memory: Nagori) -> None:
    memory.remember("The kettle whistles at noon every day.")
    folder = memory.runtime.data_dir
    (folder / "notes.txt.gz").write_bytes(gzip.compress(b"The kettle whistles at noon every day."))
    done = memory.erase(memory.plan_erasure(everything=True))
    assert not done.clean
    assert done.search.found == ("notes.txt.gz",)


# --- the audit log


def test_the_log_names_acts_and_nobody(memory: Nagori, tmp_path: Path) -> None:
    kept = memory.with_scope(user="wolpertinger")
    kept.remember("The kettle whistles at noon.")
    list(kept.export())
    kept.backup(tmp_path / "b.tar")
    kept.erase(kept.plan_erasure(everything=True))
    kept.reopen()
    folder = memory.runtime.data_dir
    assert [entry.act for entry in audit_log.read(folder)] == [
        "exported",
        "backed_up",
        "erasure_requested",
        "key_created",
        "erasure_finished",
        "reopened",
    ]
    text = (folder / "audit.jsonl").read_text()
    assert "wolpertinger" not in text
    assert "kettle" not in text
    assert (folder / "audit.jsonl").stat().st_mode & 0o777 == 0o600
    owner = ("local", "wolpertinger")
    assert [e.act for e in audit_log.entries_of(folder, owner)] == [
        "exported",
        "erasure_requested",
        "erasure_finished",
        "reopened",
    ]
    assert audit_log.entries_of(folder, ("local", "somebody")) == []
    assert audit_log.verify(folder).sound


def test_what_more_agents_may_see_is_noted_as_disclosed(memory: Nagori) -> None:
    coder = memory.with_scope(agent="coder", role="dev")
    kept = coder.remember("The vault opens with marmalade.", privacy="private")
    for privacy, count in (("agent-only", 1), ("private", 1), ("public", 2), ("agent-only", 2)):
        coder.edit(kept.id, privacy=Privacy(privacy))
        acts = audit_log.entries_of(memory.runtime.data_dir, memory.scope.owner)
        assert [(act.act, act.detail["by"]) for act in acts] == [("disclosed", "user")] * count


def test_a_long_log_is_continued_and_a_half_line_is_dropped(tmp_path: Path) -> None:
    make_log(tmp_path, 3)
    filler = audit_log.append(tmp_path, NOON, "exported", ME, format="x" * 2 * audit_log.CHUNK)
    after = [audit_log.append(tmp_path, NOON, "exported", ME) for _ in range(2)]
    path = tmp_path / "audit.jsonl"
    path.write_bytes(path.read_bytes() + b'{"number": 7, "at"')
    [last] = make_log(tmp_path, 1)
    assert [filler.number, *(each.number for each in after), last.number] == [4, 5, 6, 7]
    assert audit_log.verify(tmp_path) == audit_log.AuditVerdict(7, (), last.anchor)
    assert len(audit_log.entries_of(tmp_path, ME)) == 7


def make_log(folder: Path, count: int = 5) -> list[audit_log.AuditEntry]:
    return [audit_log.append(folder, NOON, "exported", ME, format="jsonl", n=n) for n in range(count)]


def test_every_change_of_the_log_is_found(tmp_path: Path) -> None:
    entries = make_log(tmp_path)
    path = tmp_path / "audit.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    anchor = entries[3].anchor
    assert audit_log.verify(tmp_path, anchor) == audit_log.AuditVerdict(5, (), entries[-1].anchor)
    changed = {
        "a word": [lines[0].replace(b"exported", b"restored"), *lines[1:]],
        "a line is missing": [*lines[:2], *lines[3:]],
        "two lines are exchanged": [lines[1], lines[0], *lines[2:]],
        "a line is doubled": [*lines[:2], lines[1], *lines[2:]],
        "a line is no JSON": [*lines[:2], b"tea\n", *lines[3:]],
        "a line is something else": [*lines[:2], b'{"number": 3}\n', *lines[3:]],
    }
    for what, others in changed.items():
        path.write_bytes(b"".join(others))
        assert not audit_log.verify(tmp_path).sound, what
    path.write_bytes(b"".join(lines[:3]))  # cut at the end: only an anchor tells
    assert audit_log.verify(tmp_path).sound
    assert [fault.id for fault in audit_log.verify(tmp_path, anchor).faults] == ["audit.anchor_missing"]
    path.unlink()
    make_log(tmp_path)  # written anew
    assert audit_log.verify(tmp_path).sound
    assert not audit_log.verify(tmp_path, anchor).sound


@pytest.mark.parametrize("anchor", ["x", "3", "3:zz", ":", "3:" + "g" * 64, "x:" + "0" * 64])
def test_what_is_no_anchor_is_refused(tmp_path: Path, anchor: str) -> None:
    make_log(tmp_path)
    with pytest.raises(InvalidInput):
        audit_log.verify(tmp_path, anchor)


def test_a_line_cut_by_a_crash_is_replaced_by_the_next(tmp_path: Path) -> None:
    make_log(tmp_path, 2)
    path = tmp_path / "audit.jsonl"
    path.write_bytes(path.read_bytes() + b'{"number": 3, "at"')
    make_log(tmp_path, 1)
    assert audit_log.verify(tmp_path).entries == 3
    assert audit_log.verify(tmp_path).sound


def test_many_processes_write_one_chain(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = f"""
from pathlib import Path
from tests.services.test_erase import make_log
make_log(Path({str(tmp_path)!r}), 20)
"""
    root = Path(__file__).parents[2]
    writers = [subprocess.Popen([sys.executable, "-c", program], cwd=root) for _ in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert audit_log.verify(tmp_path).entries == 60
    assert audit_log.verify(tmp_path).sound


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="a folder is never read-only for root")
def test_an_export_works_where_the_log_cannot_be_written(memory: Nagori) -> None:
    memory.remember("tea")
    memory.runtime.data_dir.chmod(0o500)
    try:
        assert len(list(memory.export())) == 2
    finally:
        memory.runtime.data_dir.chmod(0o700)


def test_an_act_that_only_reads_goes_on_without_the_log_and_an_erasure_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    with opened(tmp_path, observe=lambda name, **fields: told.append(name)) as memory:
        memory.remember("The kettle whistles at noon.")
        plan = memory.plan_erasure(everything=True)
        (tmp_path / "audit.jsonl").mkdir()
        assert list(memory.export())
        assert "act.unrecorded" in told
        with pytest.raises(StoreError):
            memory.erase(plan)
        assert len(memory.list()) == 1


# --- backups


def restore(path: Path, folder: Path, hour: int = 0) -> Path | None:
    return Nagori.restore(path, folder, NOON.replace(hour=hour))


def test_an_old_backup_brings_no_erased_user_back(tmp_path: Path) -> None:
    dice, folder = Random(1), tmp_path / "data"
    said, user = draw_word(dice), draw_word(dice)
    with opened(folder, user) as memory, opened(folder, "other") as other:
        memory.remember(f"I say {said}")
        other.remember("The kettle whistles at noon.")
        before = list(other.export())
        other.backup(tmp_path / "old.tar")
        other.remember("Something later.")
        memory.erase(memory.plan_erasure(everything=True))
        other.backup(tmp_path / "new.tar")
    for n, name in enumerate(("old.tar", "new.tar", "old.tar")):
        restore(tmp_path / name, folder, n)
        assert files_with(folder, [said, user]) == {}
        with opened(folder, user) as memory, opened(folder, "other") as other:
            assert memory.list() == []
            with pytest.raises(MemoryErased):
                memory.remember("again")
            assert other.verify().sound
            assert other.runtime.vectors.models(other.scope.owner).counts
            if name == "old.tar":
                assert list(other.export()) == before
        assert audit_log.verify(folder).sound
        assert [entry.act for entry in audit_log.read(folder)].count("restored") == n + 1
    empty = tmp_path / "elsewhere"  # a new machine: the newest backup first, it carries the tombstone
    restore(tmp_path / "new.tar", empty)
    restore(tmp_path / "old.tar", empty, 1)
    assert files_with(empty, [said, user]) == {}


def test_an_old_backup_brings_no_erased_part_back(tmp_path: Path) -> None:
    dice, folder = Random(2), tmp_path / "data"
    said, waiting, kept = (draw_word(dice) for _ in range(3))
    with opened(folder) as memory:
        memory.remember(f"The vet {said} is expensive")
        memory.turn(f"Is {waiting} open?", session="s")
        memory.remember(f"The baker {kept} is cheap")
        memory.backup(tmp_path / "old.tar")
        memory.erase(memory.plan_erasure(about=said))
        memory.erase(memory.plan_erasure(session="s"))
        memory.remember("Something later.")
    restore(tmp_path / "old.tar", folder)
    assert files_with(folder, [said, waiting]) == {}
    with opened(folder) as memory:
        assert [m.text.content for m in memory.list()] == [f"The baker {kept} is cheap"]
        assert memory.verify().sound
        assert memory.runtime.store.state(ME, "to_erase") is None


def test_a_reopened_user_keeps_the_new_memory_and_not_the_old_one(tmp_path: Path) -> None:
    folder, said = tmp_path / "data", draw_word(Random(3))
    with opened(folder) as memory:
        memory.remember(f"I say {said}")
        memory.backup(tmp_path / "old.tar")
        memory.erase(memory.plan_erasure(everything=True))
        memory.reopen()
        memory.remember("A new life.")
        memory.backup(tmp_path / "new.tar")
    restore(tmp_path / "new.tar", folder, 1)
    with opened(folder) as memory:
        assert [m.text.content for m in memory.list()] == ["A new life."]
    restore(tmp_path / "old.tar", folder, 2)
    assert files_with(folder, [said]) == {}
    with opened(folder) as memory:
        assert memory.list() == []
        assert memory.remember("Once more.")


def test_folders_that_a_restore_put_aside_lose_an_erased_user(tmp_path: Path) -> None:
    folder, said = tmp_path / "data", draw_word(Random(4))
    with opened(folder) as memory, opened(folder, "other") as other:
        memory.remember(f"I say {said}")
        other.remember("The kettle whistles at noon.")
        memory.backup(tmp_path / "b.tar")
    aside = restore(tmp_path / "b.tar", folder)
    assert aside is not None
    assert files_with(aside, [said])
    with opened(folder) as memory:
        memory.erase(memory.plan_erasure(everything=True))
    (tmp_path / "b.tar").unlink()
    assert files_with(tmp_path, [said]) == {}
    with opened(aside, "other") as other:
        assert len(other.list()) == 1
        assert other.verify().sound


def test_a_damaged_name_file_hides_no_erased_journal(tmp_path: Path) -> None:
    folder, said, user = tmp_path / "data", draw_word(Random(5)), "u" * 300
    user = user[:256]
    with opened(folder, user) as memory, opened(folder) as other:
        memory.remember(f"I say {said}")
        other.remember("The kettle whistles at noon.")
        place = FileJournal(folder / "journal").folder(("local", user))
        note = (place / "space.json").read_bytes()
        (place / "space.json").write_bytes(b"torn")
        other.backup(tmp_path / "old.tar")
        (place / "space.json").write_bytes(note)
        memory.erase(memory.plan_erasure(everything=True))
    restore(tmp_path / "old.tar", folder)
    assert files_with(folder, [said]) == {}
    with opened(folder) as other:
        assert [m.text.content for m in other.list()] == ["The kettle whistles at noon."]


# --- batches at a provider


class Provider:
    """A model with a batch API that takes note of what is discarded."""

    model = "provider"

    def __init__(self, fails: bool = False) -> None:
        self.fails, self.discarded = fails, list[str]()

    def complete(self, prompt: Any, schema: Any = None, max_tokens: int = 0) -> Any:
        raise ModelError("error.no_model")

    def submit(self, questions: Any) -> str:
        return "batch"

    def collect(self, batch: str) -> None:
        return None

    def discard(self, batch: str) -> None:
        if self.fails:
            raise ModelError("error.no_model")
        self.discarded.append(batch)


def with_batches(memory: Nagori) -> list[str]:
    ids = [memory.remember(f"The kettle {n} whistles at noon.").id for n in range(2)]
    for stage, id in zip(("appraise", "trace"), ids, strict=True):
        sent = [[f"b-{stage}", NOON.isoformat(), "hold", {"q0": [0, [f"{id}@1"]]}]]
        event = Event("state_changed", NOON, {"key": f"batches:{stage}", "value": sent})
        memory.runtime.ledger.write(ME, lambda event=event: [event])  # type: ignore[misc]
    return ids


def test_batches_with_erased_memories_are_discarded(tmp_path: Path) -> None:
    provider = Provider()
    with opened(tmp_path, llm=provider) as memory:
        ids = with_batches(memory)
        assert memory.plan_erasure(memory=ids[0]).counts["batches"] == 1
        memory.erase(memory.plan_erasure(memory=ids[0]))
        assert provider.discarded == ["b-appraise"]
        assert memory.runtime.store.state(ME, "batches:appraise") is None
        assert memory.runtime.store.state(ME, "batches:trace")
        memory.erase(memory.plan_erasure(everything=True))
        assert provider.discarded == ["b-appraise", "b-trace"]


@pytest.mark.parametrize("llm", [None, Provider(fails=True)])
def test_batches_that_cannot_be_discarded_are_told(tmp_path: Path, llm: Any) -> None:
    with opened(tmp_path, llm=llm) as memory:
        with_batches(memory)
        done = memory.erase(memory.plan_erasure(everything=True))
        assert [each.values for each in done.remains if each.id == "erase.remains_batches"] == [{"n": 2}]
        assert not done.clean


def test_a_change_of_the_policy_is_noted(memory: Nagori) -> None:
    from nagori.services import learned_settings

    learned_settings.switch_off(memory.runtime, memory.scope.owner)
    learned_settings.take_back(memory.runtime, memory.scope.owner)
    noted = [(each.act, each.detail["change"]) for each in audit_log.read(memory.runtime.data_dir)]
    assert noted == [("policy_changed", "off"), ("policy_changed", "taken back")]
