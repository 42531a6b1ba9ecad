"""Encryption at rest: no word on the disk, one key per owner, destroyed with the owner, also for backups.

Most of this needs SQLite with ciphers: `make test-encryption` installs it in an environment of its own.
"""

import json
import os
import subprocess
import sys
import tarfile
import types
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest
from tests.erased_bytes import digests, draw_kanji, draw_word, files_with
from typer.testing import CliRunner

from nagori import Filter, Nagori, Scope
from nagori import encryption as keeping
from nagori.adapters.parquet_turn_log import _folder_of
from nagori.config import load
from nagori.edges.cli import app
from nagori.encryption import KeySource
from nagori.errors import EncryptionError, InvalidInput, MemoryErased, StoreError
from nagori.files import ENCRYPTION_NOTE
from nagori.journals.file import FileJournal
from nagori.services import encrypt
from nagori.services.record_turns_or_spool import OUTBOX, read_spool, record_or_spool, spool, turn_event
from nagori.services.tool_outcome_log import note_result, take_results
from nagori.stores.sqlite import SqliteStore
from nagori.testing import FrozenClock, WordEmbedder

EVERYTHING = Filter(archived=True, forgotten=True)
OWNER = ("local", "ada")
ciphers = pytest.mark.skipif(
    not hasattr(apsw, "mc_version"), reason="apsw-sqlite3mc is not installed; `make test-encryption` does it"
)


def opened(folder: Path, clock: FrozenClock, user: str = "ada") -> Nagori:
    parts: dict[str, Any] = {"embedder": WordEmbedder(), "llm": None, "config": load().config}
    return Nagori.open(folder, clock=clock, scope=Scope(user=user), **parts)


def fill(folder: Path, clock: FrozenClock, user: str, seed: int = 3, count: int = 9) -> list[str]:
    """A small life with random words."""
    dice = Random(f"{user}{seed}")
    words = [draw_kanji(dice) if n % 3 == 2 else draw_word(dice) for n in range(count)]
    with opened(folder, clock, user) as memory:
        memory.remember_many(f"The ferry {word} leaves at nine." for word in (*words[:6], *words[9:]))
        kept = memory.remember(f"The locker is {words[6]}.", metadata={"note": words[7]})
        memory.edit(kept.id, content=f"The locker is {words[6]} now.")
        memory.turn(f"Not processed yet: {words[8]}", session="s")
    return words


def everything(folder: Path, clock: FrozenClock, user: str = "ada") -> Any:
    with opened(folder, clock, user) as memory:
        owner = memory.scope.owner
        return (
            [each.to_dict() for each in memory.list(EVERYTHING, limit=100)],
            [found.memory.id for found in memory.recall("the ferry leaves at nine", mark=False)],
            [(event.seq, event.type, dict(event.data)) for event in memory.runtime.journal.read(owner)],
        )


def lines(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in folder.glob("journal/*/*/*.jsonl")
        for line in path.read_bytes().splitlines()
    ]


def turn_on(folder: Path, clock: FrozenClock, source: KeySource | None = None) -> encrypt.EncryptionReport:
    with opened(folder, clock) as memory:
        return memory.encrypt(source)


# --- on and off -----------------------------------------------------------------------------------


@ciphers
def test_no_word_is_left_in_any_byte_and_everything_is_found_as_before(
    tmp_path: Path, clock: FrozenClock
) -> None:
    folder = tmp_path / "data"
    words = fill(folder, clock, "ada") + fill(folder, clock, "bob")
    before = everything(folder, clock), everything(folder, clock, "bob")
    assert files_with(folder, words)
    report = turn_on(folder, clock)
    assert (report.on, report.source, report.owners, report.plain) == (True, "file", 2, ())
    words += fill(folder, clock, "eve", 4)
    assert files_with(folder, words) == {}
    assert (everything(folder, clock), everything(folder, clock, "bob")) == before
    assert {line["v"] for line in lines(folder)} == {2}
    with opened(folder, clock, "eve") as memory:
        assert len(memory.list(EVERYTHING)) == 7
        assert memory.verify().sound
        memory.rebuild()
        memory.cycle()
        memory.compact()
    assert files_with(folder, words) == {}
    assert {oct(path.stat().st_mode & 0o777) for path in folder.rglob("*") if path.is_file()} == {"0o600"}


@ciphers
def test_turning_it_off_gives_the_same_data_and_forgets_the_keys(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    before = everything(folder, clock)
    turn_on(folder, clock)
    id = keeping.open_keys(folder).id
    with opened(folder, clock) as memory:
        assert memory.decrypt().on is False
        assert memory.decrypt() == memory.encryption()
    assert everything(folder, clock) == before
    assert {line["v"] for line in lines(folder)} == {1}
    assert not keeping.place_of(id).exists()
    assert not list(folder.rglob("key"))
    assert (folder / "nagori.db").read_bytes().startswith(keeping.PLAIN_STORE)


@ciphers
def test_new_keys_open_what_old_keys_no_longer_open(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    before = everything(folder, clock)
    turn_on(folder, clock)
    keys = keeping.open_keys(folder)
    old_master, old_line = keeping.read_masters(keys.id), lines(folder)[0]
    old = FileJournal(folder / "journal").key_folder(OWNER)
    old_cipher = keys.cipher(old)
    with opened(folder, clock) as memory:
        memory.rotate_keys()
    assert everything(folder, clock) == before
    fresh = keeping.open_keys(folder)
    assert len(keeping.read_masters(fresh.id)) == len(fresh.stores) == len(fresh.owner_keys(old)) == 1
    assert keeping.read_masters(fresh.id) != old_master
    assert fresh.stores != keys.stores
    with pytest.raises(EncryptionError):
        fresh.cipher(old).decrypt(old_line)
    with pytest.raises(EncryptionError):
        old_cipher.decrypt(lines(folder)[0])
    with pytest.raises(EncryptionError):
        keeping.FolderKeys(folder, keeping.read_note(folder), old_master)


@ciphers
@pytest.mark.parametrize("change", ["encrypt", "rotate_keys", "decrypt"])
def test_killed_at_any_sync_the_same_call_finishes_it(
    change: str, tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    fill(folder, clock, "bob")
    before = everything(folder, clock)
    sync, calls, fail_at = os.fsync, 0, 0

    class Killed(BaseException):
        pass

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == fail_at:
            raise Killed
        sync(descriptor)

    def attempt(n: int, verb: str) -> bool:
        """Whether the call came to its end before its nth sync."""
        nonlocal calls, fail_at
        with opened(folder, clock) as memory:
            calls, fail_at = 0, n
            try:
                getattr(memory, verb)()
            except Killed:
                return False
            finally:
                fail_at = 0
        return True

    monkeypatch.setattr(os, "fsync", fsync)
    if change != "encrypt":
        assert attempt(0, "encrypt")
    for n in range(1, 200):
        ended = attempt(n, change)
        assert everything(folder, clock) == before, n
        if ended:
            break
        with opened(folder, clock) as memory:  # go on where it stopped, and back to the beginning
            getattr(memory, change)()
            if change != "rotate_keys":
                getattr(memory, {"encrypt": "decrypt", "decrypt": "encrypt"}[change])()
        assert everything(folder, clock) == before, n
    else:
        pytest.fail("it never ended")
    assert n > 5


@ciphers
def test_writers_go_on_while_it_is_turned_on(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    with opened(folder, clock) as other:
        other.remember("Before: the kettle is green.")
        turn_on(folder, clock)
        other.remember("After: the teapot is blue.")
        assert [found.memory.text.content for found in other.recall("teapot", mark=False)][:1] == [
            "After: the teapot is blue."
        ]
    assert files_with(folder, ["the teapot is blue", "the kettle is green"]) == {}


# --- keys -----------------------------------------------------------------------------------------


@ciphers
def test_a_wrong_key_is_one_error_and_changes_nothing(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    turn_on(folder, clock)
    place = keeping.place_of(keeping.open_keys(folder).id)
    assert place.stat().st_mode & 0o777 == 0o600
    right = place.read_bytes()
    place.write_text(json.dumps({"keys": os.urandom(32).hex()}))
    keeping._open_keys.cache_clear()
    before = digests(folder)
    with opened(folder, clock) as memory:
        for call in (lambda: memory.recall("ferry"), lambda: memory.remember("No."), memory.status):
            with pytest.raises(EncryptionError) as caught:
                call()
            assert caught.value.message_id == "error.key_wrong"
    event = turn_event(Scope(user="ada"), load().config.privacy, text="Hush.", role="user", at=clock.now())
    assert event is not None
    with pytest.raises(EncryptionError):
        record_or_spool(folder, OWNER, [event])
    assert {name: each for name, each in digests(folder).items() if "/lock" not in name} == {
        name: each for name, each in before.items() if "/lock" not in name
    }
    place.write_bytes(right)
    keeping._open_keys.cache_clear()
    assert everything(folder, clock)[0]


@ciphers
def test_a_changed_line_is_damage_and_not_a_wrong_key(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    turn_on(folder, clock)
    journal = FileJournal(folder / "journal")
    with pytest.raises(ValueError, match="changed"):
        journal.decryption(OWNER)({**lines(folder)[0], "seq": 2})


@ciphers
@pytest.mark.parametrize("kind", ["file", "keyring", "command"])
def test_the_master_key_is_where_the_user_wants_it(
    kind: str, tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[tuple[str, str], str] = {}
    ring = types.SimpleNamespace(
        set_password=lambda service, name, text: kept.update({(service, name): text}),
        get_password=lambda service, name: kept.get((service, name)),
        delete_password=lambda service, name: kept.pop((service, name)),
    )
    monkeypatch.setitem(sys.modules, "keyring", ring)  # type: ignore[arg-type]
    secret = tmp_path / "stick" / "key"
    secret.parent.mkdir()
    printing = (sys.executable, "-c", f"print({'5a' * 32!r})")
    source = {
        "file": KeySource(file=str(secret)),
        "keyring": KeySource(keyring=True),
        "command": KeySource(command=printing),
    }[kind]
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    before = everything(folder, clock)
    assert turn_on(folder, clock, source).source == kind
    assert everything(folder, clock) == before
    id = keeping.open_keys(folder).id
    assert ("keys" in json.loads(keeping.place_of(id).read_bytes())) is False
    with opened(folder, clock) as memory:
        memory.rotate_keys()
    assert everything(folder, clock) == before
    keeping._open_keys.cache_clear()
    secret.unlink(missing_ok=True)
    kept.clear()
    if kind == "command":
        keeping.place_of(id).write_text(json.dumps({"command": ["/nowhere/at/all"]}))
    with opened(folder, clock) as memory, pytest.raises(EncryptionError):
        memory.recall("ferry")


@ciphers
def test_the_spool_is_encrypted_and_read_again(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    turn_on(folder, clock)
    event = turn_event(
        Scope(), load().config.privacy, text="Hush, the ostrich sleeps.", role="user", at=clock.now()
    )
    assert event is not None
    for owner in (OWNER, ("local", "new")):
        spool(folder, owner, [event])
    spool(folder / OUTBOX, OWNER, [event], keys=folder)  # what waits for a server
    assert files_with(folder, ["Hush, the ostrich sleeps."]) == {}
    assert [(owner, [e.data["text"] for e in found]) for _, owner, found in read_spool(folder)] == [
        (OWNER, ["Hush, the ostrich sleeps."]),
        (("local", "new"), ["Hush, the ostrich sleeps."]),
    ]
    [(_, _, waiting)] = read_spool(folder / OUTBOX, folder)
    assert [each.data["text"] for each in waiting] == ["Hush, the ostrich sleeps."]


# --- erasure and backups --------------------------------------------------------------------------


@ciphers
def test_erasing_destroys_the_key_and_no_backup_can_be_read_for_this_user(
    tmp_path: Path, clock: FrozenClock
) -> None:
    folder, saved, by_hand = tmp_path / "data", tmp_path / "saved.tar", tmp_path / "by hand"
    words = {user: fill(folder, clock, user) for user in ("ada", "bob")}
    turn_on(folder, clock)
    others = everything(folder, clock, "bob")
    with opened(folder, clock) as memory:
        assert memory.backup(saved).store is False
        receipt = memory.erase(memory.plan_erasure(everything=True))
    assert receipt.clean
    by_hand.mkdir()
    with tarfile.open(saved) as tar:
        tar.extractall(by_hand, filter="data")
    assert files_with(by_hand, words["ada"] + words["bob"]) == {}
    journal = FileJournal(by_hand / "journal", keys=folder)  # with all keys that are left
    assert journal.verify(("local", "bob")).events
    with pytest.raises(EncryptionError) as caught:
        list(journal.read(OWNER))
    assert caught.value.message_id == "error.owner_key_missing"
    Nagori.restore(saved, folder, clock.now())
    assert everything(folder, clock, "bob")[::2] == others[::2]  # vectors, and so ranks, come with the cycle
    with opened(folder, clock) as memory:
        assert memory.list(EVERYTHING) == []
        with pytest.raises(MemoryErased):
            memory.remember("Again.")
    assert files_with(tmp_path, words["ada"]) == {}


@pytest.mark.slow
@ciphers
def test_no_backup_can_be_read_for_fifty_of_five_hundred_erased_users(
    tmp_path: Path, clock: FrozenClock
) -> None:
    folder, saved, by_hand = tmp_path / "data", tmp_path / "saved.tar", tmp_path / "by hand"
    words = {f"user{n}": fill(folder, clock, f"user{n}", count=20) for n in range(500)}
    gone, others = list(words)[::10], [user for n, user in enumerate(words) if n % 10]
    turn_on(folder, clock)
    with opened(folder, clock, others[0]) as memory:
        memory.backup(saved)
    before = [everything(folder, clock, user) for user in others[::45]]
    for user in gone:
        with opened(folder, clock, user) as memory:
            assert memory.erase(memory.plan_erasure(everything=True)).clean
    assert [everything(folder, clock, user) for user in others[::45]] == before
    by_hand.mkdir()
    with tarfile.open(saved) as tar:
        tar.extractall(by_hand, filter="data")
    assert files_with(tmp_path, [word for user in gone for word in words[user]]) == {}
    journal = FileJournal(by_hand / "journal", keys=folder)  # with all keys that are left
    for user in gone:
        with pytest.raises(EncryptionError):
            list(journal.read(("local", user)))
    for user in others:
        assert len(list(journal.read(("local", user)))) >= 20


@ciphers
def test_saved_keys_open_a_backup_on_another_machine(
    tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, saved, keys = tmp_path / "data", tmp_path / "saved.tar", tmp_path / "keys.json"
    fill(folder, clock, "ada")
    turn_on(folder, clock)
    before = everything(folder, clock)
    with opened(folder, clock) as memory:
        memory.backup(saved)
        memory.save_keys(keys)
        with pytest.raises(InvalidInput):
            memory.save_keys(keys)
    assert keys.stat().st_mode & 0o777 == 0o600
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setenv("HOME", str(elsewhere))
    new = elsewhere / "data"
    with pytest.raises(EncryptionError) as caught:
        Nagori.restore(saved, new, clock.now())
    assert caught.value.message_id == "error.keys_needed"
    Nagori.load_keys(keys, new)
    with pytest.raises(InvalidInput):
        Nagori.load_keys(keys, new)
    Nagori.restore(saved, new, clock.now())
    assert everything(new, clock)[::2] == before[::2]


@pytest.mark.parametrize(
    "said", ["", "{}", '{"note": {}, "masters": [], "owners": {"../../x": {"keys": {}}}}']
)
def test_a_file_that_holds_no_keys_is_refused(said: str, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(said)
    with pytest.raises((InvalidInput, EncryptionError)):
        Nagori.load_keys(tmp_path / "keys", tmp_path / "data")
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "data").exists()


# --- where it is off ------------------------------------------------------------------------------


def test_nothing_of_it_is_imported_where_it_is_off(tmp_path: Path) -> None:
    code = (
        "import sys; from nagori import Nagori\n"
        f"with Nagori.open({str(tmp_path / 'data')!r}, embedder=None) as memory:\n"
        "    memory.remember('The kettle is green.'); memory.recall('kettle'); memory.cycle()\n"
        "print([name for name in sys.modules if 'crypt' in name])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_without_the_libraries_it_says_what_to_install_and_changes_nothing(
    tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(apsw, "mc_version", raising=False)
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    before = digests(folder)
    with opened(folder, clock) as memory, pytest.raises(EncryptionError) as caught:
        memory.encrypt()
    assert caught.value.message_id == "error.encryption_library"
    assert {n: d for n, d in digests(folder).items() if not n.endswith(("-shm", "-wal"))} == {
        n: d for n, d in before.items() if not n.endswith(("-shm", "-wal"))
    }
    assert not (folder / ENCRYPTION_NOTE).exists()


@ciphers
def test_an_encrypted_store_without_ciphers_is_one_error(
    tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    turn_on(folder, clock)
    monkeypatch.delattr(apsw, "mc_version")
    with pytest.raises(EncryptionError) as caught:
        SqliteStore(folder / "nagori.db").applied(OWNER)
    assert caught.value.message_id == "error.encryption_library"


def faults() -> list[Callable[[Path], object]]:
    return [
        lambda path: path.write_text("no json"),
        lambda path: path.write_text('{"format": 99, "id": "0011223344556677", "on": true, "store": []}'),
        lambda path: path.write_text('{"format": 1, "id": "../../../etc", "on": true, "store": []}'),
        lambda path: path.write_text('{"format": 1, "id": "0011223344556677", "on": true, "store": []}'),
    ]


@pytest.mark.parametrize("damage", faults())
def test_a_damaged_note_or_a_missing_key_is_one_error(
    damage: Callable[[Path], object], tmp_path: Path, clock: FrozenClock
) -> None:
    folder = tmp_path / "data"
    fill(folder, clock, "ada")
    damage(folder / ENCRYPTION_NOTE)
    with opened(folder, clock) as memory, pytest.raises(EncryptionError):
        memory.remember("No.")


@pytest.mark.parametrize("text", ["", "5a", "zz" * 32, "x" * 44])
def test_a_key_of_the_wrong_form_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(EncryptionError) as caught:
        keeping.command_key(KeySource(command=(sys.executable, "-c", f"print({text!r})")))
    assert caught.value.message_id == "error.key_form"


# --- the command ----------------------------------------------------------------------------------


def run(folder: Path, *words: str) -> Any:
    return CliRunner().invoke(app, ["--data-dir", str(folder), *words])


@ciphers
def test_the_command_turns_it_on_rotates_saves_and_turns_it_off(tmp_path: Path, clock: FrozenClock) -> None:
    folder, keys = tmp_path / "data", tmp_path / "keys.json"
    fill(folder, clock, "ada")
    assert "Not encrypted" in run(folder, "encrypt").output
    assert json.loads(run(folder, "encrypt", "on", "--json").output)["on"] is True
    assert "a file" in run(folder, "encrypt").output
    assert run(folder, "encrypt", "rotate").exit_code == 0
    assert run(folder, "encrypt", "save-keys", str(keys)).exit_code == 0
    assert run(tmp_path / "new", "encrypt", "load-keys", str(keys)).exit_code == 0
    assert isinstance(run(folder, "encrypt", "on", str(keys)).exception, InvalidInput)
    acts = [
        entry["detail"].get("change")
        for entry in json.loads(run(folder, "audit", "--json").output)["entries"]
    ]
    assert acts == ["on", "rotated", "saved"]
    assert "Not encrypted" in run(folder, "encrypt", "off").output


def test_a_journal_that_is_no_file_is_not_encrypted_here(tmp_path: Path) -> None:
    elsewhere: Any = types.SimpleNamespace(journal=object(), data_dir=tmp_path)
    with pytest.raises(StoreError):
        encrypt.turn_on(elsewhere)


def test_what_tools_did_is_not_noted_plainly_in_an_encrypted_folder(tmp_path: Path) -> None:
    head = {"owner": list(OWNER), "session": "s"}
    result = ("Bash", "make ostrich", True, 5, "")
    note_result(tmp_path, head, result, load().config.privacy)
    assert take_results(tmp_path, "s")
    (tmp_path / ENCRYPTION_NOTE).write_text("{}")  # it cannot be read, so there is no key
    with pytest.raises(EncryptionError):
        note_result(tmp_path, head, result, load().config.privacy)
    assert not any(b"ostrich" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@ciphers
def test_T12_an_encrypted_memory_writes_no_plain_logs_and_removes_those_it_had(
    tmp_path: Path, clock: FrozenClock
) -> None:
    folder, logs, heard = tmp_path / "data", tmp_path / "logs", list[str]()
    words = fill(folder, clock, "ada")
    config = load(overrides={"sessions.log_dir": str(logs)}).config
    with Nagori.open(
        folder,
        clock=clock,
        scope=Scope(user="ada"),
        config=config,
        embedder=WordEmbedder(),
        llm=None,
        observe=lambda name, **_: heard.append(name),
    ) as memory:
        files = memory.runtime.logs.files  # type: ignore[union-attr]
        place, name = _folder_of(memory.scope.owner), "turns-000000000001-000000000002.parquet"
        files.put(place, name, lambda path: path.write_text(words[8]) and None)
        memory.encrypt()
        assert not list(logs.rglob("*.parquet"))
        assert "sessions.copies_refused" in heard
        memory.process()
        memory.cycle()
        assert files.names(place) == []
        for ask in (memory.export_log, lambda: memory.query_log("select 1")):
            with pytest.raises(InvalidInput) as caught:
                ask()
            assert caught.value.message_id == "error.copies_plain"
        assert memory.recall("the ferry leaves at nine", mark=False)
