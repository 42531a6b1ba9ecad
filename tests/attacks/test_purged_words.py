"""What is purged or deleted is in no byte of any file, however it was said, and a kill in between leaves the
rest to be done by the next night."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nagori import Emotion, Filter, Level, Memory, Nagori, Turn
from nagori.config import Config, load
from nagori.core.events import TO_REDACT
from nagori.core.model import Kind
from nagori.journals.file import FileJournal
from nagori.language.tokenizer import tokens
from nagori.services.record_turns_or_spool import record_or_spool, turn_event
from nagori.stores.sqlite import SqliteStore
from nagori.testing import FailingPart, FrozenClock, WordEmbedder

OWNER = ("local", "me")
NIGHTS = 130
EVERYTHING = Filter(archived=True, forgotten=True)
PURGING = {
    "NAGORI_ARCHIVE__GRACE_DAYS": "12",
    "NAGORI_RETENTION__DECAY_OF_WHAT_MATTERS__MIN": "0.7",  # nobody waits here for what lasts a year
    "NAGORI_RETENTION__DECAY_OF_WHAT_MATTERS__MAX": "0.8",
}
DELETING = {
    **PURGING,
    "NAGORI_ARCHIVE__AUTO_DELETE_ENABLED": "true",
    "NAGORI_ARCHIVE__RETENTION_DAYS": "20",
    "NAGORI_ARCHIVE__DELETE_MAX_INTENSITY": "100",
}
SAID = (
    "Yesterday the plumber Wendelin explained at length, over lukewarm rhubarb tea, why the basement boiler "
    "gurgles whenever neighbours upstairs shower simultaneously, and he promised hesitantly to return soon "
    "with gaskets, solder and somewhat better humour than he had brought along this drizzly afternoon."
)
OTHER = "The ferry to Rishiri leaves at nine and must be booked a week ahead."


def opened(folder: Path, clock: FrozenClock, config: Config, **parts: Any) -> Nagori:
    return Nagori.open(folder, clock=clock, embedder=WordEmbedder(), config=config, **parts)


def faint() -> dict[str, Any]:
    return {"kind": Kind.EPISODE, "emotion": Emotion(5.0)}


def say_by_hand(memory: Nagori, clock: FrozenClock) -> None:
    memory.remember(SAID, **faint())


def say_and_edit(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(SAID + " He hummed polkas.", **faint())
    memory.edit(kept.id, content=SAID)
    memory.forget(kept.id)
    memory.undo(kept.id)
    memory.edit(kept.id, trigger="plumbing")
    memory.undo(kept.id)


def say_in_a_turn(memory: Nagori, clock: FrozenClock) -> None:
    memory.form([Turn(SAID, clock.now(), session="s", index=1)])


def say_to_a_hook(memory: Nagori, clock: FrozenClock) -> None:
    event = turn_event(
        memory.scope,
        memory.runtime.config.privacy,
        text=SAID,
        role="user",
        at=clock.now(),
        session="h",
        host="x",
    )
    assert event is not None
    record_or_spool(memory.runtime.data_dir, OWNER, [event])
    memory.process()


def say_twice_in_turns(memory: Nagori, clock: FrozenClock) -> None:
    memory.form([Turn(SAID, clock.now(), session="s", index=1)])
    memory.form([Turn(SAID, clock.now(), session="t", index=4)])


def import_it(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember(SAID, **faint())
    lines = [line.replace(kept.id, "mem_imported") for line in memory.export()]
    memory.import_(lines)


def prune_it(memory: Nagori, clock: FrozenClock) -> None:
    talk = [{"role": "user", "content": SAID}]
    talk += [{"role": "user", "content": f"Something else, number {n}. " * 20} for n in range(12)]
    memory.prune(talk, budget=300, session="w")


WAYS = [say_by_hand, say_and_edit, say_in_a_turn, say_to_a_hook, say_twice_in_turns, import_it, prune_it]


def live(folder: Path, clock: FrozenClock, config: Config, say: Callable[..., None]) -> None:
    with opened(folder, clock, config) as memory:
        memory.remember(OTHER, protect=True)
        say(memory, clock)
        memory.context("What about the boiler?", session="c")


def nights(folder: Path, clock: FrozenClock, config: Config, count: int, days: int = 1) -> None:
    with opened(folder, clock, config) as memory:
        for _ in range(count):
            clock.forward(days=days)
            memory.cycle()


def words_gone(memories: list[Memory]) -> list[str]:
    """Words of what was said that nothing left of it tells."""
    left = " ".join(
        f"{t.whole} {' '.join(m.keywords)}" for m in memories for t in m.texts.values()
    ).casefold()
    words = set(re.findall(r"[a-z]{7,}", SAID.casefold()))
    return sorted(word for word in words if word not in left and not any(t in left for t in tokens(word)))


def files_with(folder: Path, words: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes().lower()
            if held := [word for word in words if word.encode() in content]:
                found[str(path.relative_to(folder))] = held
    return found


def assert_gone(folder: Path, clock: FrozenClock, config: Config) -> None:
    with opened(folder, clock, config) as memory:
        left = memory.list(EVERYTHING, limit=1000)
        about = [m for m in left if m.text.content != OTHER]
        assert not [m.id for m in about if "lukewarm rhubarb tea" in m.texts.get(Level.FULL, m.text).content]
        words = words_gone(left)
        assert len(words) >= 3
        assert memory.runtime.store.state(OWNER, TO_REDACT) in (None, [])
    assert files_with(folder, words) == {}
    with opened(folder, clock, config) as memory:
        before = list(memory.export())
        assert memory.verify().sound
        memory.rebuild()
        assert list(memory.export()) == before
        assert memory.verify().sound
    assert files_with(folder, words) == {}


@pytest.mark.parametrize("env", [PURGING, DELETING], ids=["purged", "deleted"])
@pytest.mark.parametrize("say", WAYS)
def test_words_that_had_to_go_are_in_no_byte_of_any_file(
    tmp_path: Path,
    clock: FrozenClock,
    say: Callable[..., None],
    env: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    config, folder = load().config, tmp_path / "data"
    live(folder, clock, config, say)
    days = 1 if say is say_by_hand else 5
    nights(folder, clock, config, NIGHTS // days, days)
    assert_gone(folder, clock, config)


def wish_it_away(memory: Nagori, clock: FrozenClock) -> None:
    say_in_a_turn(memory, clock)
    (kept,) = [m for m in memory.list() if "Wendelin" in m.text.content]
    memory.protect(kept.id)
    memory.forget(kept.id)


def test_words_that_the_user_forgot_leave_every_file_after_the_grace_period(
    tmp_path: Path, clock: FrozenClock
) -> None:
    config, folder = load().config, tmp_path / "data"
    live(folder, clock, config, wish_it_away)
    nights(folder, clock, config, 17, 5)
    with opened(folder, clock, config) as memory:
        assert sum(m.is_forgotten for m in memory.list(EVERYTHING)) == 1  # until then `undo` brings it back
    nights(folder, clock, config, 2, 5)
    assert_gone(folder, clock, config)


class Killed(BaseException):
    """The process ends here."""


def due_folder(tmp_path: Path, clock: FrozenClock, config: Config) -> Path:
    """A folder in which the next night redacts."""
    folder = tmp_path / "data"
    live(folder, clock, config, say_in_a_turn)
    with opened(folder, clock, config) as memory:
        for _ in range(NIGHTS):
            clock.forward(days=4)
            if any(step.act in ("purge", "delete") for step in memory.plan().steps):
                return folder
            memory.cycle()
    raise AssertionError("nothing was ever due")


CHANGING = ("append", "redact", "commit", "compact")
STEPS = {
    "journal": ("append", "redact", "event", "locked"),
    "store": ("commit", "compact", "origins", "history", "state", "get"),
}


@pytest.mark.parametrize(
    "env", [PURGING, pytest.param(DELETING, marks=pytest.mark.slow)], ids=["purged", "deleted"]
)
@pytest.mark.parametrize(("part", "method"), [(part, m) for part, ms in STEPS.items() for m in ms])
def test_a_kill_between_two_steps_leaves_the_rest_to_the_next_night(
    tmp_path: Path,
    clock: FrozenClock,
    part: str,
    method: str,
    env: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import shutil

    for name, value in env.items():
        monkeypatch.setenv(name, value)
    config = load().config
    original = due_folder(tmp_path, clock, config)
    for at in range(1, 40, 1 if method in CHANGING else 5):
        folder = tmp_path / f"at{at}"
        shutil.copytree(original, folder)
        journal: Any = FileJournal(folder / "journal")
        store: Any = SqliteStore(folder / "nagori.db")
        failing = FailingPart(journal if part == "journal" else store, method, at, Killed)
        parts = {"journal": journal, "store": store, part: failing}
        memory = opened(folder, clock, config, **parts)
        try:
            memory.cycle()
        except Killed:
            pass
        finally:
            memory.close()
        died = failing.called >= at
        clock.forward(days=1)
        nights(folder, clock, config, 2)
        clock.forward(days=-3)
        assert_gone(folder, clock, config)
        shutil.rmtree(folder)
        if not died:
            return


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_kill_inside_the_rewriting_of_the_journal_leaves_it_sound(
    tmp_path: Path, clock: FrozenClock, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    for name, value in PURGING.items():
        monkeypatch.setenv(name, value)
    config = load().config
    original = due_folder(tmp_path, clock, config)
    for at in range(1, 20):
        folder, count = tmp_path / f"at{at}", 0
        shutil.copytree(original, folder)
        owner: Any = os if call == "fsync" else Path
        real = getattr(owner, call)

        def fail(*args: Any, real: Any = real, at: int = at) -> Any:
            nonlocal count
            count += 1
            if count == at:
                raise Killed
            return real(*args)

        with monkeypatch.context() as patch:
            patch.setattr(owner, call, fail)
            memory = opened(folder, clock, config)
            try:
                memory.cycle()
            except Killed:
                pass
            finally:
                memory.close()
        clock.forward(days=1)
        nights(folder, clock, config, 2)
        clock.forward(days=-3)
        assert_gone(folder, clock, config)
        shutil.rmtree(folder)
        if count < at:
            return
