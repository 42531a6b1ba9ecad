"""Another model takes over beside the old one: nothing is ever not found."""

import math
import subprocess
import sys
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from nagori import Nagori
from nagori.adapters.embed import PROVIDERS
from nagori.config import Config
from nagori.config.sections import Embedding
from nagori.core.model import Scope
from nagori.errors import InvalidInput, ModelError
from nagori.services import vectors
from nagori.testing import FailingPart, FrozenClock

THINGS = [f"{word} number {n}" for n in range(10) for word in ("lantern", "harbour", "violin", "meadow")]
WORD, ASKED = "The refrigerator hums at night.", "refridgerators"  # misspelt: only its letters are alike


class Letters:
    """Texts that share pairs of letters are near each other, whatever their words."""

    unrelated = (0.3, 0.1)

    def __init__(self, dimension: int) -> None:
        self.dimension, self.model = dimension, f"letters-{dimension}"
        self.texts = 0

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        self.texts += len(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        numbers = [0.01] * self.dimension
        for pair in zip(text.lower(), text.lower()[1:], strict=False):
            numbers[crc32("".join(pair).encode()) % self.dimension] += 1.0
        length = math.hypot(*numbers)
        return array("f", (n / length for n in numbers)).tobytes()


OLD, NEW = Letters(256), Letters(96)
BY_NAME = {OLD.model: OLD, NEW.model: NEW}


Run = Callable[..., tuple[str, str]]


class Killed(BaseException):
    """What no `except Exception` holds back."""


def opened(folder: Path, wished: Letters | None, known: bool = True) -> Nagori:
    """A memory as a process has it that is configured with `wished`."""
    memory = Nagori.open(folder, clock=FrozenClock(), embedder=wished)
    if known:
        memory.runtime.open_model = BY_NAME.get
    return memory


@pytest.fixture(autouse=True)
def small_bundles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "AT_ONCE", 10)
    monkeypatch.setattr(vectors, "DROP_AT_ONCE", 15)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A memory full of the old model's vectors."""
    with opened(tmp_path / "data", OLD) as memory:
        memory.remember_many([*THINGS, WORD])
        forgotten = memory.remember("a thing to be forgotten")
        memory.forget(forgotten.id)
    return tmp_path / "data"


OWNER = Scope().owner
ALL = len(THINGS) + 2


def answers(folder: Path, wished: Letters) -> bool:
    """Whether somebody else, who comes in now, finds by meaning what no word finds."""
    with opened(folder, wished) as other:
        found = other.recall(ASKED, mark=False)
        return bool(found) and found[0].memory.text.content == WORD and found[0].terms["words"] == 0.0


def models(memory: Nagori) -> tuple[str | None, dict[str, int]]:
    known = memory.runtime.vectors.models(OWNER)
    return known.active, dict(known.counts)


def test_the_new_model_takes_over_and_the_old_vectors_go(folder: Path) -> None:
    with opened(folder, NEW) as memory:
        assert models(memory) == (OLD.model, {OLD.model: ALL})
        done = memory.reembed()
        assert (done.model, done.made, done.removed) == (NEW.model, ALL, ALL)
        assert models(memory) == (NEW.model, {NEW.model: ALL})
        assert memory.verify().sound
        again = memory.reembed()
        assert (again.made, again.removed) == (0, 0)
    assert answers(folder, NEW)


def test_recall_answers_at_every_step(folder: Path) -> None:
    seen: list[tuple[int, bool, bool]] = []
    with opened(folder, NEW) as memory:
        memory.reembed(lambda done, total: seen.append((done, answers(folder, NEW), answers(folder, OLD))))
    assert [done for done, *_ in seen] == [10, 20, 30, 40, ALL]
    assert all(new and old for _, new, old in seen)
    assert answers(folder, NEW)


STEPS = ("vectors.put", "vectors.activate", "vectors.drop", "find", "vectors.models")


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_costs_nothing(folder: Path, step: str) -> None:
    """Every call of every step fails once; each time recall answers, and the rest is done in the end."""
    for at in range(1, 100):
        with opened(folder, NEW) as memory:
            failing = FailingPart(memory.runtime.store, step, at, Killed)
            memory.runtime.store = failing  # type: ignore[assignment]
            try:
                memory.reembed()
            except Killed:
                pass
            else:
                break
        assert answers(folder, NEW)
    with opened(folder, NEW) as memory:
        memory.reembed()
        assert models(memory) == (NEW.model, {NEW.model: ALL})
        assert memory.verify().sound
    assert at > 1
    assert answers(folder, NEW)


SCRIPT = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import test_reembed as here
from nagori.services import vectors as reembed
from nagori.testing import FailingPart
reembed.AT_ONCE, reembed.DROP_AT_ONCE = 10, 15
with here.opened(Path(sys.argv[2]), here.NEW) as memory:
    step, at = sys.argv[3], int(sys.argv[4])
    memory.runtime.store = FailingPart(memory.runtime.store, step, at, lambda: os.kill(os.getpid(), 9))
    memory.reembed()
"""


def test_a_process_that_is_really_killed_leaves_everything_to_the_next(folder: Path) -> None:
    for step, at in (("vectors.put", 3), ("vectors.activate", 1), ("vectors.drop", 2)):
        here = str(Path(__file__).parent)
        command = [sys.executable, "-c", SCRIPT, here, str(folder), step, str(at)]
        ended = subprocess.run(command, capture_output=True, check=False)
        assert ended.returncode == -9, ended.stderr
        assert answers(folder, NEW)
    with opened(folder, NEW) as memory:
        assert memory.reembed().made == 0
        assert models(memory) == (NEW.model, {NEW.model: ALL})
        assert memory.verify().sound


def test_what_is_kept_meanwhile_is_found_before_and_after(folder: Path) -> None:
    new = "The typewriter rattles upstairs."

    def keep(done: int, total: int) -> None:
        if done == 20:
            with opened(folder, NEW) as other:
                other.remember(new)
                assert other.recall("typewritters", mark=False)[0].memory.text.content == new

    with opened(folder, NEW) as memory:
        assert memory.reembed(keep).made == ALL + 1
        assert models(memory) == (NEW.model, {NEW.model: ALL + 1})
        assert memory.recall("typewritters", mark=False)[0].memory.text.content == new


def test_a_memory_kept_in_the_last_moment_is_not_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last bundle and the mark: the mark is refused, and there is more to fill."""
    with opened(folder, NEW) as memory:
        index, late = memory.runtime.vectors, list[str]()
        real = type(index).activate

        def activate(self: Any, owner: tuple[str, str], model: str) -> bool:
            if not late:
                with opened(folder, NEW) as other:
                    late.append(other.remember("kept in the last moment").id)
            return real(self, owner, model)

        monkeypatch.setattr(type(index), "activate", activate)
        assert memory.reembed().made == ALL + 1
        assert memory.status().counts.unembedded == 0


def test_a_recall_in_the_moment_of_the_change_asks_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder, OLD) as memory:
        real = OLD.embed_query

        def slowly(text: str) -> bytes:
            monkeypatch.setattr(OLD, "embed_query", real)
            with opened(folder, NEW) as other:
                other.reembed()
            return real(text)

        monkeypatch.setattr(OLD, "embed_query", slowly)
        assert memory.recall(ASKED, mark=False)[0].memory.text.content == WORD


def test_one_may_go_back_before_it_is_complete(folder: Path) -> None:
    with opened(folder, NEW) as memory:
        memory.runtime.store = FailingPart(memory.runtime.store, "vectors.put", 3, Killed)  # type: ignore[assignment]
        with pytest.raises(Killed):
            memory.reembed()
    with opened(folder, OLD) as memory:
        assert models(memory) == (OLD.model, {OLD.model: ALL, NEW.model: 20})
        done = memory.reembed()
        assert (done.made, done.removed) == (0, 20)
        assert models(memory) == (OLD.model, {OLD.model: ALL})
    assert answers(folder, OLD)


def test_one_may_go_back_after_it_is_complete(folder: Path) -> None:
    for wished in (NEW, OLD, NEW):
        with opened(folder, wished) as memory:
            assert memory.reembed().made == ALL
            assert models(memory) == (wished.model, {wished.model: ALL})
        assert answers(folder, wished)


def test_a_plan_counts_and_changes_nothing(folder: Path) -> None:
    before = NEW.texts
    with opened(folder, NEW) as memory:
        plan = memory.plan_reembed()
        assert (plan.old, plan.new, plan.memories, plan.left) == ((OLD.model,), NEW.model, ALL, ALL)
        assert ALL < plan.tokens < 20 * ALL
        assert (plan.usd, plan.obsolete, plan.is_complete) == (0.0, ALL, False)
        assert models(memory) == (OLD.model, {OLD.model: ALL})
        memory.reembed()
        assert memory.plan_reembed().is_complete
    assert before + ALL == NEW.texts


def test_a_plan_knows_the_price_of_a_model_that_costs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "kb-none-of-this-is-sent")
    config = Config(embedding=Embedding(provider="openai"))
    with Nagori.open(folder, config=config) as memory:
        plan = memory.plan_reembed()
    assert plan.usd == pytest.approx(plan.tokens * 0.02 / 1_000_000, rel=0.01)
    config = Config(embedding=Embedding(provider="openai", model="nobody-knows-it"))
    with Nagori.open(folder, config=config) as memory:
        assert memory.plan_reembed().usd is None


def test_every_space_changes_over(folder: Path) -> None:
    with opened(folder, OLD) as memory:
        memory.with_scope(user="somebody").remember("The refrigerator hums in the cellar.")
    with opened(folder, NEW) as memory:
        assert memory.reembed().made == ALL + 1
        assert memory.with_scope(user="somebody").recall(ASKED)[0].terms["words"] == 0.0


def test_without_an_embedder_there_is_nothing_to_change_over_to(folder: Path) -> None:
    with opened(folder, None) as memory:
        for verb in (memory.reembed, memory.plan_reembed):
            with pytest.raises(InvalidInput, match="no embedder to change over to"):
                verb()
        assert models(memory) == (OLD.model, {OLD.model: ALL})


def test_a_model_that_fails_is_told_and_keeps_what_was_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = NEW.embed_passages

    def failing(texts: Sequence[str]) -> list[bytes]:
        if NEW.texts >= start + 20:
            raise ModelError("the request was cancelled")
        return real(texts)

    start = NEW.texts
    with opened(folder, NEW) as memory:
        monkeypatch.setattr(NEW, "embed_passages", failing)
        with pytest.raises(ModelError):
            memory.reembed()
        assert models(memory) == (OLD.model, {OLD.model: ALL, NEW.model: 20})
        monkeypatch.undo()
        assert memory.reembed().made == ALL - 20


# ── without asking for it ────────────────────────────────────────────────────────────────────────


def test_another_model_in_the_settings_changes_nothing_by_itself(folder: Path) -> None:
    told: list[dict[str, object]] = []
    with opened(folder, NEW) as memory:
        memory.runtime.observe = lambda name, **more: told.append({"name": name, **more})
        memory.remember("The gramophone plays in the evening.")
        assert memory.recall("grammophones", mark=False)[0].terms["words"] == 0.0
        assert memory.status().embedder == OLD.model
        assert models(memory)[1] == {OLD.model: ALL + 1}
        assert any(f.advice == "nagori reembed" for f in memory.doctor())
    assert told.count({"name": "embedder.differs", "used": OLD.model, "wished": NEW.model}) == 1


def test_an_old_model_out_of_reach_leaves_words_and_is_replaced_in_time(folder: Path) -> None:
    with opened(folder, NEW, known=False) as memory:
        assert memory.recall("refrigerator", mark=False)[0].memory.text.content == WORD
        memory.remember("The gramophone plays in the evening.")
        assert memory.recall("grammophones", mark=False)[0].terms["words"] == 0.0
        assert memory.embed_missing() == ALL
        assert memory.runtime.vectors.models(OWNER).active == NEW.model
    assert answers(folder, NEW)


def test_no_embedder_at_all_still_answers_by_words(folder: Path) -> None:
    with opened(folder, None, known=False) as memory:
        assert memory.recall("refrigerator", mark=False)[0].memory.text.content == WORD
        assert models(memory) == (OLD.model, {OLD.model: ALL})


def test_a_rebuilt_store_goes_on_with_the_model_it_had(folder: Path) -> None:
    with opened(folder, NEW) as memory:
        memory.reembed()
        memory.rebuild()
        assert models(memory) == (NEW.model, {NEW.model: ALL})
    assert answers(folder, NEW)


# ── on the command line ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def told(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line, configured with the new model."""
    from nagori.edges.cli import main

    monkeypatch.setitem(PROVIDERS, "local", lambda *_: NEW)
    monkeypatch.setattr("nagori.adapters.embed.open_named", lambda name, *_: BY_NAME.get(name))

    def run(*words: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["nagori", "--data-dir", str(folder), *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        out, err = capsys.readouterr()
        return " ".join(out.split()), " ".join(err.split())

    return run


def test_the_command_tells_what_it_takes_and_what_it_did(told: Run) -> None:
    out, err = told("recall", "refrigerator")
    assert "refrigerator" in out
    assert "Run `nagori reembed` to change over to letters-96" in err
    assert told("recall", "refrigerator")[1] == ""
    out, _ = told("reembed", "--dry-run")
    assert f"letters-256 → letters-96: {ALL} of {ALL} memories need a new vector" in out
    assert "Nothing was changed" in out
    assert "Recall now uses letters-96: made 42 vectors, removed 42 old ones" in told("reembed")[0]
    out, _ = told("--lang", "ja", "reembed", "--dry-run")
    assert f"{ALL} 件中 0 件" in out
    assert "処理するものはありません" in out
