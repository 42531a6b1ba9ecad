"""What is erased is in no byte of any file, others are untouched, and after a kill anywhere it goes on."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.erased_bytes import digests, draw_kanji, draw_word, files_with, prove_search

from nagori import Emotion, Filter, Nagori, Scope, Turn
from nagori.config import load
from nagori.core.events import TO_ERASE, Event
from nagori.core.model import Kind
from nagori.errors import Conflict, InvalidInput, MemoryErased, NotFound
from nagori.journals.file import FileJournal
from nagori.services import erase_owner
from nagori.services.record_turns_or_spool import OUTBOX, record_or_spool, spool, turn_event
from nagori.services.tool_outcome_log import note_end, note_result
from nagori.stores.sqlite import SqliteStore
from nagori.testing import FailingPart, FrozenClock, WordEmbedder

EVERYTHING = Filter(archived=True, forgotten=True)
USERS, ERASED, CANARIES = 40, 5, 10


def opened(folder: Path, clock: FrozenClock, user: str = "me", **parts: Any) -> Nagori:
    parts = {"embedder": WordEmbedder(), "llm": None, "config": load().config, **parts}
    return Nagori.open(folder, clock=clock, scope=Scope(user=user), **parts)


def live(memory: Nagori, clock: FrozenClock, words: list[str]) -> None:
    """A life in which every word is said in another way."""
    said = iter(words)
    kept = memory.remember(f"My locker stands beside {next(said)}.", protect=True)
    memory.remember(
        f"Tea with {next(said)}.", trigger=f"asked by {next(said)}", metadata={"note": next(said)}
    )
    memory.edit(kept.id, content=f"My locker stands beside {next(said)} now.")
    faint = memory.remember(f"We met {next(said)} at the pond.", kind=Kind.EPISODE, emotion=Emotion(5.0))
    memory.forget(memory.remember(f"A whim: {next(said)}").id)
    session = f"session-{next(said)}"
    memory.form([Turn(f"The ferry {next(said)} leaves at nine and must be booked.", clock.now(), session)])
    memory.turn(f"Not processed yet: {next(said)}", session=session)
    for rest in said:
        memory.remember(f"And {rest}, too.")
    memory.context("the ferry", session=session)
    memory.archive(faint.id)


def say_to_spool(folder: Path, user: str, text: str, clock: FrozenClock) -> None:
    event = turn_event(Scope(user=user), load().config.privacy, text=text, role="user", at=clock.now())
    assert event is not None
    spool(folder, ("local", user), [event])


def leave_traces(folder: Path, words: list[str]) -> None:
    """What crashes, rebuilds and killed backups leave in a folder."""
    shutil.copyfile(folder / "nagori.db", folder / "nagori.db.damaged-20260101T000000")
    shutil.copyfile(folder / "nagori.db", folder / "nagori.db.before-rebuild-20260101T000000")
    shutil.copyfile(folder / "nagori.db", folder / "nagori.db.rebuild-20260101T000000-99999999-00c0ffee")
    killed = folder / "backup-99999999-abc"
    killed.mkdir()
    shutil.copyfile(folder / "nagori.db", killed / "nagori.db")
    (folder / "hosts").mkdir(exist_ok=True)
    (folder / "hosts" / "00c0ffee.json").write_text(f'["{words[0]}"]')
    (folder / "hosts" / "failed-prompt").write_text(f"x\n{words[1]}\n")
    (folder / "worker.log").write_text(words[2])


def build(folder: Path, clock: FrozenClock, users: int, canaries: int, seed: int = 5) -> dict[str, list[str]]:
    """Users with random names and words, every fourth with a whole life; some nights go by."""
    dice, words = Random(seed), dict[str, list[str]]()
    for _ in range(users):
        user = draw_word(dice)
        mine = [draw_kanji(dice) if n % 5 == 4 else draw_word(dice) for n in range(max(10, canaries - 1))]
        words[user] = [*mine, draw_word(dice)]
        with opened(folder, clock, user) as memory:
            if len(words) % 4 == 1:
                live(memory, clock, mine)
            else:  # a shorter life, to save time
                memory.remember_many(f"The ferry {word} leaves at nine." for word in mine)
    for days in (2, 30, 60):
        clock.forward(days=days)
        for user in list(words)[:: max(1, users // 4)]:
            with opened(folder, clock, user) as memory:
                memory.cycle()
    for user, mine in words.items():
        say_to_spool(folder, user, f"While it was locked: {mine[-1]}", clock)
    leave_traces(folder, next(iter(words.values())))
    return words


def exports(folder: Path, clock: FrozenClock, users: list[str]) -> dict[str, Any]:
    """Everything that others have and find."""
    found: dict[str, Any] = {}
    for user in users:
        with opened(folder, clock, user) as memory:
            runtime, owner = memory.runtime, memory.scope.owner
            found[user] = (
                [memory.to_dict() for memory in memory.list(EVERYTHING, limit=1000)],
                [r.memory.id for r in memory.recall("the ferry leaves at nine", mark=False)],
                runtime.vectors.models(owner),
                runtime.journal.last_seq(owner),
                runtime.store.history(owner),
            )
    return found


def assert_gone(folder: Path, clock: FrozenClock, words: dict[str, list[str]], erased: list[str]) -> None:
    gone = [word for user in erased for word in (user, *words[user])]
    assert files_with(folder, gone) == {}
    with opened(folder, clock, next(user for user in words if user not in erased)) as memory:
        assert memory.verify().sound
        assert memory.runtime.journal.unfinished_erasures() == []
        memory.rebuild()
        assert memory.verify().sound
    assert files_with(folder, gone) == {}


def journals(folder: Path, users: list[str]) -> dict[str, dict[str, str]]:
    return {user: digests(FileJournal(folder / "journal").folder(("local", user))) for user in users}


def erase_users(folder: Path, clock: FrozenClock, users: list[str]) -> None:
    for user in users:
        with opened(folder, clock, user) as memory:
            plan = memory.plan_erasure(everything=True)
            receipt = memory.erase(plan)
            assert receipt.clean
            assert receipt.search.passages > 5
            assert receipt.user == user


def forensics(folder: Path, clock: FrozenClock, users: int, erased: int, canaries: int) -> None:
    words = build(folder, clock, users, canaries)
    prove_search(folder.parent / "proof", next(iter(words.values()))[0])
    chosen = [user for n, user in enumerate(words) if n % (users // erased) == 0][:erased]
    others = [user for user in words if user not in chosen]
    assert len(files_with(folder, [w for user in chosen for w in words[user]])) >= erased + 5
    before, theirs = journals(folder, others), exports(folder, clock, others)
    erase_users(folder, clock, chosen)
    assert journals(folder, others) == before
    assert exports(folder, clock, others) == theirs
    left = files_with(folder, [words[user][-1] for user in others])
    assert any(name.startswith("spool") for name in left)  # others' turns still wait there
    assert_gone(folder, clock, words, chosen)


def test_no_byte_of_erased_users_is_left_and_others_are_untouched(tmp_path: Path, clock: FrozenClock) -> None:
    forensics(tmp_path / "data", clock, USERS, ERASED, CANARIES)


@pytest.mark.slow
def test_no_byte_of_fifty_of_five_hundred_users_is_left(tmp_path: Path, clock: FrozenClock) -> None:
    forensics(tmp_path / "data", clock, 500, 50, 20)


# --- killed


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    folder = tmp_path_factory.mktemp("world") / "data"
    return folder, build(folder, FrozenClock(), 3, 10, seed=11)


KILLS: list[tuple[Any, str]] = [
    ("journal", "erase"),
    ("journal", "finish_erasure"),
    ("store", "erase"),
    ("store", "erase_copies"),
    ("store", "compact"),
    (os, "fsync"),
    (Path, "unlink"),
    (Path, "rmdir"),
    (Path, "replace"),
    (shutil, "rmtree"),
]


def fail_at(part: Any, method: str, at: int) -> tuple[Callable[..., Any], Callable[[], int]]:
    real, calls = getattr(part, method), 0

    def fail(*args: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise Killed
        return real(*args, **more)

    return fail, lambda: calls


def erase_until_killed(
    folder: Path, clock: FrozenClock, user: str, part: Any, method: str, at: int, patch: pytest.MonkeyPatch
) -> bool:
    """Whether it was killed."""
    parts: dict[str, Any] = {
        "journal": FileJournal(folder / "journal"),
        "store": SqliteStore(folder / "nagori.db"),
    }
    if isinstance(part, str):
        parts[part] = FailingPart(parts[part], method, at, Killed)
    with opened(folder, clock, user, **parts) as memory, patch.context() as inner:
        plan = memory.plan_erasure(everything=True)
        if not isinstance(part, str):
            inner.setattr(part, method, fail_at(part, method, at)[0])
        try:
            memory.erase(plan)
        except Killed:
            return True
    return False


@pytest.mark.parametrize("alone", [False, True], ids=["among others", "alone"])
@pytest.mark.parametrize(("part", "method"), KILLS, ids=[method for _, method in KILLS])
def test_an_erasure_that_is_killed_anywhere_goes_on(
    world: tuple[Path, dict[str, list[str]]],
    tmp_path: Path,
    clock: FrozenClock,
    monkeypatch: pytest.MonkeyPatch,
    part: Any,
    method: str,
    alone: bool,
) -> None:
    original, words = world
    user, others = next(iter(words)), list(words)[1:]
    clock.set(FrozenClock().now())
    clock.forward(days=92)
    for at in range(1, 200, 1 if isinstance(part, str) and method != "erase" else 3):
        folder = tmp_path / f"at{at}"
        shutil.copytree(original, folder)
        if alone:
            erase_users(folder, clock, others)
        before = {} if alone else journals(folder, others)
        died = erase_until_killed(folder, clock, user, part, method, at, monkeypatch)
        with opened(folder, clock, others[0] if not alone else "somebody") as memory:
            assert not died or at > 1 or memory.runtime.journal.unfinished_erasures() or method != "compact"
            memory.resume_erasures()
        with opened(folder, clock, user) as memory:
            if not memory.runtime.journal.is_erased(memory.scope.owner):  # killed before the tombstone
                memory.erase(memory.plan_erasure(everything=True))
            with pytest.raises(MemoryErased):
                memory.remember("again")
        assert journals(folder, others) == before if not alone else True
        assert files_with(folder, [user, *words[user]]) == {}
        shutil.rmtree(folder)
        if not died:
            return


PART_KILLS = [
    ("journal", "append"),
    ("journal", "redact"),
    ("journal", "locked"),
    ("journal", "read"),
    ("store", "commit"),
    ("store", "compact"),
    ("store", "lease"),
]


@pytest.mark.parametrize("kind", ["session", "memory", "about"])
@pytest.mark.parametrize("finish", ["resume", pytest.param("cycle", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("part", "method"), PART_KILLS, ids=[method for _, method in PART_KILLS])
def test_an_erasure_of_a_part_that_is_killed_anywhere_goes_on(
    world: tuple[Path, dict[str, list[str]]],
    tmp_path: Path,
    clock: FrozenClock,
    part: str,
    method: str,
    finish: str,
    kind: str,
) -> None:
    original, words = world
    user = next(iter(words))
    gone = words[user][7:10] if kind == "session" else words[user][5:6]
    with opened(original, clock, user) as memory:
        [pond] = [m.id for m in memory.list(EVERYTHING, limit=1000) if gone[0] in repr(m.texts)] or [""]
    named: dict[str, Any] = {"session": f"session-{words[user][7]}", "about": gone[0], "memory": pond}
    target = {kind: named[kind]}
    clock.forward(days=92)
    for at in range(1, 60):
        folder = tmp_path / f"at{at}"
        shutil.copytree(original, folder)
        with opened(folder, clock, user) as memory:
            memory.process()
            kept = len(memory.list(EVERYTHING, limit=1000))
        parts: dict[str, Any] = {
            "journal": FileJournal(folder / "journal"),
            "store": SqliteStore(folder / "nagori.db"),
        }
        parts[part] = FailingPart(parts[part], method, at, Killed)
        died = False
        with opened(folder, clock, user, **parts) as memory:
            try:
                memory.erase(memory.plan_erasure(**target))
            except Killed:
                died = True
        for path in folder.glob("nagori.db.*"):
            path.unlink()  # copies are another matter
        shutil.rmtree(folder / "backup-99999999-abc", ignore_errors=True)
        with opened(folder, clock, user) as memory:
            if finish == "cycle":
                clock.forward(days=1)
                memory.cycle()
                clock.forward(days=-1)
            else:
                memory.resume_erasures()
            try:
                memory.erase(memory.plan_erasure(**target))  # killed before the request was written
            except (InvalidInput, NotFound) as nothing:
                assert nothing.message_id in ("error.erase_nothing", "error.memory_not_found")
            assert not memory.runtime.store.state(memory.scope.owner, TO_ERASE)
            assert 0 < len(memory.list(EVERYTHING, limit=1000)) < kept
            assert memory.verify().sound
        assert files_with(folder, gone) == {}
        shutil.rmtree(folder)
        if not died:
            return


# --- parts


def test_one_memory_goes_with_its_turn_and_what_was_made_from_it(memory: Nagori, clock: FrozenClock) -> None:
    dice = Random(3)
    secret, other, kept = (draw_word(dice) for _ in range(3))
    memory.form([Turn(f"My sister {secret} moved to Kiruna last month.", clock.now(), "s", index=1)])
    [source] = memory.list()
    derived = memory.remember(f"A summary that repeats {secret} and {other}")
    memory.remember(f"Something else about {kept}")
    owner = memory.scope.owner
    link = Event("linked", clock.now(), {"target": source.id, "type": "derived_from"}, derived.id)
    memory.runtime.ledger.write(owner, lambda: [link])
    memory.protect(source.id)
    plan = memory.plan_erasure(memory=source.id[:12])
    assert (plan.memories, plan.derived) == (tuple(sorted([source.id, derived.id])), (derived.id,))
    assert len(plan.turns) == 1
    assert plan.counts["events"] >= 4
    receipt = memory.erase(plan)
    assert receipt.clean
    folder = memory.runtime.data_dir
    assert files_with(folder, [secret, other]) == {}
    assert files_with(folder, [kept])
    for id in plan.memories:
        assert [entry.type for entry in memory.runtime.store.history(owner, id)] == ["erased"]
    assert [m.text.content for m in memory.list(EVERYTHING)] == [f"Something else about {kept}"]
    with pytest.raises(NotFound):
        memory.erase(plan)


def test_a_project_goes_and_what_has_no_project_stays(memory: Nagori, clock: FrozenClock) -> None:
    dice = Random(4)
    gone, kept, waiting, name = (draw_word(dice) for _ in range(4))
    here = memory.with_scope(project=name)
    here.remember(f"Here: {gone}")
    here.turn(f"Waiting here: {waiting}", session="s")
    memory.remember(f"Everywhere: {kept}")
    memory.with_scope(project="another").remember(f"There: {kept}")
    receipt = memory.erase(memory.plan_erasure(project=name))
    assert receipt.clean
    assert files_with(memory.runtime.data_dir, [gone, waiting, name]) == {}
    assert len(memory.list()) == 2


def test_what_was_said_about_something_goes_wherever_the_words_stand(
    memory: Nagori, clock: FrozenClock
) -> None:
    dice = Random(5)
    name, kept = draw_word(dice), draw_word(dice)
    memory.remember(f"The vet {name.upper()} is expensive")
    memory.remember("Appointments", metadata={"with": name})
    memory.remember("They asked", trigger=f"what about {name}?")
    memory.turn(f"Is {name} open on Sunday?", session="t")
    memory.remember(f"The baker {kept} is cheap")
    plan = memory.plan_erasure(about=name.title())
    assert (plan.counts["memories"], plan.counts["turns"]) == (3, 1)
    assert memory.erase(plan).clean
    assert files_with(memory.runtime.data_dir, [name]) == {}
    assert [m.text.content for m in memory.list()] == [f"The baker {kept} is cheap"]
    with pytest.raises(InvalidInput):
        memory.plan_erasure(about=name)


def test_a_session_leaves_not_even_its_name(memory: Nagori, clock: FrozenClock) -> None:
    dice = Random(6)
    name, said, kept = (draw_word(dice) for _ in range(3))
    memory.remember(f"The lighthouse opens at nine in spring and {kept} runs it.", protect=True)
    memory.form([Turn(f"The harbour {said} opens at ten in spring.", clock.now(), name)])
    assert memory.session_start(name).memories
    assert memory.context("When does the lighthouse open in spring?", session="another").memories
    memory.runtime.ledger.write(
        memory.scope.owner,
        lambda: [Event("session_compacted", clock.now(), {"session": name}, by="host")],
    )
    shown = {"memories": [memory.list()[0].id], "session": name, "unasked": True}
    memory.runtime.ledger.write(memory.scope.owner, lambda: [Event("recalled", clock.now(), shown)])
    memory.erase(memory.plan_erasure(session=name))
    assert files_with(memory.runtime.data_dir, [name, said]) == {}
    before = list(memory.export())
    memory.rebuild()
    assert list(memory.export()) == before
    assert memory.verify().sound


@pytest.mark.parametrize("only", [False, True], ids=["with turns", "alone"])
@pytest.mark.parametrize("kind", ["session", "project", "about"])
def test_what_tools_did_and_what_waits_goes_with_its_part(memory: Nagori, kind: str, only: bool) -> None:
    folder, dice = memory.runtime.data_dir, Random(f"{kind}{only}")
    name, said, kept, other = (draw_word(dice) for _ in range(4))
    owner, rules = list(memory.scope.owner), load().config.privacy
    memory.remember(f"The lighthouse {kept} opens at nine.")
    mine = {"owner": owner, "session": name if kind == "session" else other, "folder": f"/srv/{name}/inner"}
    words = f"make {name} {said}"
    note_result(folder, mine, ("Bash", words, False, 3, "failed"), rules)
    note_result(folder, mine | {"agent": "helper"}, ("Bash", words, True, 3, ""), rules)
    note_result(
        folder,
        {"owner": owner, "session": kept, "folder": f"/srv/{kept}"},
        ("Bash", kept, True, 3, ""),
        rules,
    )
    if kind == "session":
        note_end(folder, memory.scope.owner, name)
    if not only:
        about: dict[str, Any] = {"session": mine["session"], "project": f"/srv/{name}"}
        text = f"The harbour {name} opens at ten."
        event = turn_event(
            memory.scope, rules, text=text, role="user", at=memory.runtime.clock.now(), **about
        )
        assert event is not None
        spool(folder, memory.scope.owner, [event])
    target: dict[str, Any] = {kind: f"/srv/{name}" if kind == "project" else name}
    plan = memory.plan_erasure(**target)
    assert plan.counts["spool"] == (3 if kind == "session" else 2)
    assert plan.counts["turns"] == (not only)
    assert memory.erase(plan).clean
    assert files_with(folder, [name, said]) == {}
    assert any(path.startswith("hot") for path in files_with(folder, [kept]))


def test_what_is_said_again_after_an_erasure_is_kept(memory: Nagori) -> None:
    once = memory.remember("The kettle whistles at noon.")
    memory.edit(once.id, trigger="tea")
    memory.undo(once.id)
    memory.feedback(once.id, good=True)
    memory.erase(memory.plan_erasure(memory=once.id))
    again = memory.remember("The kettle whistles at noon.")
    assert again.id == once.id
    assert [event.type for event in memory.why(once.id).history] == ["erased", "formed"]
    assert memory.feedback(once.id, good=True).version == 2
    assert memory.undo(once.id)[1] == "edited"
    assert memory.resume_erasures() == []
    memory.rebuild()
    assert memory.show(once.id).text.content == "The kettle whistles at noon."
    with pytest.raises(InvalidInput):
        memory.undo(once.id)
    assert memory.verify().sound


# --- plan and token


def test_a_token_stands_for_exactly_one_plan(memory: Nagori) -> None:
    first = memory.remember("The kettle is green.")
    plan = memory.plan_erasure(about="kettle")
    memory.remember("The pond is deep.")  # concerns something else
    assert memory.plan_erasure(about="kettle").token == plan.token
    memory.remember("The kettle is loud.")
    with pytest.raises(Conflict):
        memory.erase(plan)
    assert memory.show(first.id)
    other = memory.with_scope(user="other")
    other.remember("The kettle is green.")
    assert other.plan_erasure(about="kettle").token != plan.token
    with pytest.raises(Conflict):
        other.erase(plan)


def test_only_the_user_can_erase(memory: Nagori) -> None:
    kept = memory.remember("tea")
    for scope in ({"agent": "coder"}, {"role": "dev"}):
        with pytest.raises(InvalidInput, match="Only the user"):
            memory.with_scope(**scope).plan_erasure(memory=kept.id)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"everything": True, "session": "s"},
        {"session": "s", "project": "p"},
        {"session": ""},
        {"project": " "},
        {"about": "\u3000"},
        {"about": ""},
        {"memory": ""},
        {"session": 7},
        {"everything": 1},
        {"session": "no such session"},
    ],
)
def test_an_unclear_target_is_refused(memory: Nagori, given: dict[str, Any]) -> None:
    memory.remember("tea")
    with pytest.raises(InvalidInput):
        memory.plan_erasure(**given)
    assert len(memory.list()) == 1


HOSTILE = [
    "../../etc",
    "a/b",
    "%2e%2e",
    "=erased",
    "requests",
    "'; DROP TABLE owner; --",
    "名残 🍵",
    "u" * 256,
    "*",
]


@pytest.mark.parametrize("user", HOSTILE)
def test_hostile_names_are_erased_and_nothing_else(tmp_path: Path, clock: FrozenClock, user: str) -> None:
    folder = tmp_path / "data"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "kept").write_text("kept")
    with opened(folder, clock) as memory:
        memory.remember("The kettle is green.")
        for tenant in ("local", user):
            there = memory.with_scope(tenant=tenant, user=user)
            there.remember("quokka words")
        before = digests(folder / "journal" / "local" / "me")
        memory.with_scope(user=user).erase(memory.with_scope(user=user).plan_erasure(everything=True))
        assert digests(folder / "journal" / "local" / "me") == before
        assert [m.text.content for m in memory.list()] == ["The kettle is green."]
        assert [m.text.content for m in memory.with_scope(tenant=user, user=user).list()] == ["quokka words"]
        assert memory.with_scope(user=user).list() == []
        assert memory.verify().sound
    assert (tmp_path / "etc" / "kept").read_text() == "kept"


# --- afterwards


def test_an_erased_user_can_store_nothing_until_reopened(
    tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    with opened(folder, clock, "wolpertinger") as memory:
        memory.remember("The kettle is green.")
        memory.erase(memory.plan_erasure(everything=True))
        for write in (
            lambda: memory.remember("x"),
            lambda: memory.turn("x", session="s"),
            lambda: memory.form([Turn("x y z", clock.now())]),
            memory.cycle,
        ):
            with pytest.raises(MemoryErased):
                write()
        assert memory.recall("kettle") == []
        assert memory.list() == []
        assert memory.context("kettle").text == ""
        assert memory.status().counts.total == 0
        event = turn_event(memory.scope, memory.config.privacy, text="hi", role="user", at=clock.now())
        assert event is not None
        record_or_spool(folder, memory.scope.owner, [event])
        assert not (folder / "spool").exists()
        assert files_with(folder, ["wolpertinger"]) == {}
        with pytest.raises(InvalidInput):
            memory.plan_erasure(everything=True)
        memory.reopen()
        memory.remember("A new life.")
        assert [m.text.content for m in memory.list()] == ["A new life."]
        assert memory.verify().sound
        with pytest.raises(InvalidInput):
            memory.reopen()


def test_an_erasure_does_not_wait_for_a_hook_that_spools_and_takes_it_along(
    tmp_path: Path, clock: FrozenClock
) -> None:
    folder, said = tmp_path / "data", draw_word(Random(8))
    with opened(folder, clock) as memory:
        memory.remember("The kettle is green.")
        memory.erase(memory.plan_erasure(everything=True))
    event = turn_event(Scope(), load().config.privacy, text=said, role="user", at=clock.now())
    assert event is not None
    spool(folder, ("local", "me"), [event])  # a hook that looked before the tombstone was there
    assert files_with(folder, [said])
    from nagori.edges.worker.run import work

    work(folder)
    assert files_with(folder, [said]) == {}


def test_what_waits_for_a_server_goes_with_its_user(tmp_path: Path, clock: FrozenClock) -> None:
    folder, said, kept = tmp_path / "data", draw_word(Random(18)), draw_word(Random(19))
    with opened(folder, clock) as memory:
        memory.remember("The kettle is green.")
        say_to_spool(folder / OUTBOX, "me", said, clock)
        say_to_spool(folder / OUTBOX, "other", kept, clock)
        memory.erase(memory.plan_erasure(everything=True))
    assert files_with(folder, [said]) == {}
    assert files_with(folder, [kept])


def test_a_rebuild_that_is_running_cannot_bring_an_erased_user_back(
    tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, said = tmp_path / "data", draw_word(Random(9))
    monkeypatch.setattr(erase_owner, "PATIENCE", 0.1)
    with opened(folder, clock, "gone") as memory, opened(folder, clock, "other") as other:
        memory.remember(f"I say {said}")
        other.remember("The kettle is green.")
        plan = memory.plan_erasure(everything=True)
        with other.runtime.store.replacing("20260101T000000") as draft:  # type: ignore[attr-defined]
            for owner in (memory.scope.owner, other.scope.owner):
                other.runtime.ledger.apply_waiting(owner, other.runtime.journal.last_seq(owner), draft)
            with pytest.raises(Conflict, match="--resume"):
                memory.erase(plan)
        assert other.runtime.store.known_owners() == [("local", "gone"), ("local", "other")]  # it came back
        [receipt] = other.resume_erasures()
        assert (receipt.clean, receipt.interrupted, receipt.user) == (True, True, "gone")
        assert other.runtime.store.known_owners() == [("local", "other")]
    assert files_with(folder, [said]) == {}


# --- beside others


WRITER = """
import sys
import time
from pathlib import Path
from nagori import Nagori, Scope
memory = Nagori.open(Path(sys.argv[1]), scope=Scope(user=sys.argv[2]), embedder=None, llm=None)
n = 0
while not (Path(sys.argv[1]).parent / "stop").exists():
    memory.remember(f"The kettle of {sys.argv[2]} whistles {n} times.")
    n += 1
    time.sleep(0.02)
print(n)
"""


def test_others_write_on_while_users_are_erased(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    dice = Random(12)
    words = {draw_word(dice): [draw_word(dice) for _ in range(30)] for _ in range(3)}
    for user, said in words.items():
        with opened(folder, clock, user) as memory:
            memory.remember_many(f"I say {word}" for word in said)
    names = [f"writer{n}" for n in range(4)]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), name], stdout=subprocess.PIPE, text=True)
        for name in names
    ]
    try:
        for name in names:
            while not FileJournal(folder / "journal").last_seq(("local", name)):
                time.sleep(0.01)
        erase_users(folder, clock, list(words))
    finally:
        (tmp_path / "stop").touch()
        counts = [int(writer.communicate(timeout=60)[0]) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    for name, count in zip(names, counts, strict=True):
        with opened(folder, clock, name) as memory:
            assert memory.status().counts.total == count > 0
    assert_gone(folder, clock, {**words, "writer0": []}, list(words))


ERASER = """
import sys
from pathlib import Path
from nagori import Nagori, Scope
with Nagori.open(Path(sys.argv[1]), scope=Scope(user=sys.argv[2]), embedder=None, llm=None) as memory:
    plan = memory.plan_erasure(everything=True)
    print("now", flush=True)
    memory.erase(plan)
    print("done", flush=True)
"""


def kill_while_erasing(folder: Path, user: str, seconds: float) -> bool:
    """Whether the process was killed before it was done."""
    command = [sys.executable, "-c", ERASER, str(folder), user]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        time.sleep(seconds)
        process.kill()
        return "done" not in process.stdout.read()


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))])
def test_a_real_kill_at_any_moment_leaves_the_rest_to_the_next_process(
    tmp_path: Path, clock: FrozenClock, seed: int
) -> None:
    original, dice, died = tmp_path / "original", Random(seed), 0
    words = build(original, clock, 3, 10, seed=seed + 50)
    user, others = next(iter(words)), list(words)[1:]
    for number in range(60):
        if number >= 6 and died:  # how soon an erasure ends depends on the machine
            break
        folder = tmp_path / str(number)
        shutil.copytree(original, folder)
        before = journals(folder, others)
        died += kill_while_erasing(folder, user, dice.random() * 0.15)
        with opened(folder, clock, user) as memory:
            memory.resume_erasures()
            if not memory.runtime.journal.is_erased(memory.scope.owner):
                memory.erase(memory.plan_erasure(everything=True))
        assert journals(folder, others) == before
        assert_gone(folder, clock, words, [user])
    assert died


@pytest.mark.parametrize("kind", ["memory", "session", "about"])
def test_a_part_is_erased_from_copies_that_were_put_aside(
    kind: str, tmp_path: Path, clock: FrozenClock
) -> None:
    folder, dice = tmp_path / "data", Random(kind)
    said, other, turned, later = (draw_word(dice) for _ in range(4))
    with opened(folder, clock) as memory:
        kept = memory.remember(f"The ferry {said} leaves at nine.")
        memory.remember(f"The kettle {other} is green.")
        memory.turn(f"The ferry {turned} must be booked.", session="talk")
        memory.process()
        memory.backup(tmp_path / "saved.tar")
        memory.remember(f"After the backup: {later}.")
    Nagori.restore(tmp_path / "saved.tar", folder, clock.now())
    [aside] = tmp_path.glob("data.before-restore-*")
    shutil.copyfile(folder / "nagori.db", folder / "nagori.db.damaged-20260101T000000")
    shutil.copyfile(folder / "nagori.db", folder / "nagori.db.before-rebuild-20260101T000000")
    assert files_with(aside, [said, turned]).keys() >= {"nagori.db"}
    target: dict[str, Any] = {"memory": kept.id} if kind == "memory" else {}
    target |= {"session": "talk"} if kind == "session" else {"about": said} if kind == "about" else {}
    with opened(folder, clock) as memory:
        assert memory.erase(memory.plan_erasure(**target)).clean
    (tmp_path / "saved.tar").unlink()
    assert files_with(tmp_path, [turned if kind == "session" else said]) == {}
    with opened(aside, clock) as memory:
        texts = " ".join(each.text.content for each in memory.list(EVERYTHING, limit=100))
    assert other in texts
    assert later in texts
