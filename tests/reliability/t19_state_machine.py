"""T19: random calls of the public verbs, compared with a dictionary after each.

    python -m tests.reliability.t19_state_machine [--steps 20000] [--seed 0]

The dictionary knows the text of every memory, whether it is forgotten or protected, and nothing of levels,
indexes and files. Between the calls time passes, cycles run, the process is restarted, the store is rebuilt
or replaced by that of a backup, memories and whole users are erased, and a store fails in the middle.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.reliability.harness import EVERYTHING, History, Outcome, opened, scratch

from nagori import Memory, Nagori, Scope
from nagori.core.model import Level
from nagori.errors import NagoriError
from nagori.testing import FrozenClock

WORDS = ("kettle", "ferry", "locker", "pond", "ladder", "violin", "港", "傘", "電車", "手紙", "庭", "帽子")


class Model:
    """The memories as a dictionary: id -> text, forgotten, protected."""

    def __init__(self) -> None:
        self.memories: dict[str, dict[str, Any]] = {}

    def alive(self) -> list[str]:
        return [id for id, each in self.memories.items() if not each["forgotten"]]


class Machine:
    """One life: calls the verbs and keeps the model."""

    def __init__(self, folder: Path, seed: int, history: History) -> None:
        self.folder, self.dice, self.history = folder, Random(seed), history
        self.clock, self.model = FrozenClock(), Model()
        self.number = self.user = 0
        self.last = "open"
        self.memory = self._open()
        self.saved: tuple[Path, dict[str, dict[str, Any]]] | None = None

    def _open(self) -> Nagori:
        return opened(self.folder, self.clock, scope=Scope(user=f"user{self.user}"))

    def step(self) -> None:
        names = [name for name, weight in WEIGHTS.items() for _ in range(weight)]
        self.last = name = self.dice.choice(names)
        try:
            getattr(self, name)()
        except NagoriError as refused:
            self.history.add(name, "fail", error=type(refused).__name__)
        else:
            self.history.add(name, "ok")

    # --- verbs ----------------------------------------------------------------------------------

    def remember(self) -> None:
        self.number += 1
        text = f"{self.dice.choice(WORDS)} {self.number} {self.dice.choice(WORDS)}"
        protect = self.dice.random() < 0.1
        made = self.memory.remember(text, protect=protect)
        self.model.memories[made.id] = {"text": text, "forgotten": False, "protected": protect}

    def remember_again(self) -> None:
        """The same words twice are one memory, unless it was edited since."""
        if id := self._any():
            known = self.model.memories[id]
            made = self.memory.remember(known["text"])
            assert made.id in self.model.memories or known.get("edited"), (
                "the same words twice are two memories"
            )
            if made.id not in self.model.memories:
                self.model.memories[made.id] = {"text": known["text"], "forgotten": False, "protected": False}
            self.model.memories[made.id]["forgotten"] = False  # saying it again brings it back

    def remember_many(self) -> None:
        texts = [f"{self.dice.choice(WORDS)} of {self.number + n}" for n in range(1, 5)]
        self.number += 4
        for made, text in zip(self.memory.remember_many(texts), texts, strict=True):
            self.model.memories[made.id] = {"text": text, "forgotten": False, "protected": False}

    def edit(self) -> None:
        if id := self._any():
            self.number += 1
            text = f"{self.dice.choice(WORDS)} edited {self.number}"
            self.memory.edit(id, content=text)
            self.model.memories[id] |= {"text": text, "edited": True}

    def protect(self) -> None:
        if id := self._any():
            self.memory.protect(id)
            self.model.memories[id]["protected"] = True

    def unprotect(self) -> None:
        if id := self._any():
            self.memory.unprotect(id)
            self.model.memories[id]["protected"] = False

    def forget(self) -> None:
        if id := self._any():
            self.memory.forget(id)
            self.model.memories[id] |= {"forgotten": True}

    def recall(self) -> None:
        if id := self._any():
            text = self.model.memories[id]["text"]
            found = self.memory.recall(text, k=50, min_confidence=0.0, mark=self.dice.random() < 0.5)
            ids = [each.memory.id for each in found]
            assert len(ids) == len(set(ids)), "a memory twice in one answer"
            assert set(ids) <= set(self.model.alive()), "an answer that is not there"

    def erase_memory(self) -> None:
        if id := self._any():
            plan = self.memory.plan_erasure(memory=id)
            self.memory.erase(plan)
            for gone in plan.memories:
                self.model.memories.pop(gone, None)

    def erase_user(self) -> None:
        self.memory.erase(self.memory.plan_erasure(everything=True))
        assert self.memory.list(EVERYTHING) == [], "something is left of an erased user"
        self.user, self.model, self.saved = self.user + 1, Model(), None
        self.restart()

    # --- time and trouble -----------------------------------------------------------------------

    def wait(self) -> None:
        self.clock.forward(hours=self.dice.choice((1, 5, 24, 72, 240)))

    def night(self) -> None:
        self.clock.forward(hours=24)
        self.memory.cycle()

    def restart(self) -> None:
        self.memory.close()
        self.memory = self._open()

    def rebuild(self) -> None:
        self.memory.rebuild()

    def lose_store(self) -> None:
        """The store is gone: it is made anew from the journal."""
        self.memory.close()
        for file in self.folder.glob("nagori.db*"):
            file.unlink()
        self.memory = self._open()

    def save(self) -> None:
        path = self.folder.parent / f"saved-{self.number}-{self.dice.random()}.tar"
        self.memory.backup(path)
        self.saved = path, {id: dict(each) for id, each in self.model.memories.items()}

    def restore(self) -> None:
        """What was erased since the backup does not come back."""
        if self.saved is None:
            return
        path, then = self.saved
        erased = then.keys() - self.model.memories.keys()
        self.memory.close()
        Nagori.restore(path, self.folder, self.clock.now())
        self.clock.forward(seconds=2)
        self.memory = self._open()
        self.model.memories = {id: dict(each) for id, each in then.items() if id not in erased}

    def fail(self) -> None:
        """The store refuses one commit: the journal has it, and so has the memory afterwards."""
        store: Any = self.memory.runtime.store
        real: Callable[..., Any] = store.commit

        def refuse(*given: Any) -> None:
            store.commit = real
            raise OSError("the disk is away")

        store.commit = refuse
        self.number += 1
        text = f"{self.dice.choice(WORDS)} while the disk is away {self.number}"
        try:
            made = self.memory.remember(text)
        except (NagoriError, OSError):
            made = None
        finally:
            store.commit = real
        self.restart()
        there = [each for each in self._list() if each.text.content == text]
        assert len(there) == 1 if made else len(there) <= 1, "acknowledged and lost"
        for each in there:
            self.model.memories[each.id] = {"text": text, "forgotten": False, "protected": False}

    # --- comparing ------------------------------------------------------------------------------

    def _any(self) -> str | None:
        alive = self.model.alive()
        return self.dice.choice(alive) if alive else None

    def _list(self) -> list[Memory]:
        return list(self.memory.list(EVERYTHING, limit=100_000))

    def differences(self) -> list[str]:
        found = {each.id: each for each in self._list()}
        wrong = [f"{id} is missing" for id in self.model.memories.keys() - found.keys()]
        wrong += [f"{id} is too many" for id in found.keys() - self.model.memories.keys()]
        for id in found.keys() & self.model.memories.keys():
            memory, known = found[id], self.model.memories[id]
            if memory.level is Level.FULL and memory.text.content != known["text"]:
                wrong.append(f"{id} says {memory.text.content!r}, not {known['text']!r}")
            if memory.is_forgotten != known["forgotten"]:
                wrong.append(f"{id} forgotten: {memory.is_forgotten}")
            if memory.protected != known["protected"] and not known["forgotten"]:
                wrong.append(f"{id} protected: {memory.protected}")
        return wrong


WEIGHTS = {
    "remember": 12, "remember_again": 2, "remember_many": 2, "edit": 4, "protect": 2, "unprotect": 1,
    "forget": 3, "recall": 6, "erase_memory": 2, "erase_user": 1, "wait": 3, "night": 3, "restart": 2,
    "rebuild": 1, "lose_store": 1, "save": 1, "restore": 1, "fail": 1,
}  # fmt: skip


def run(seed: int = 0, steps: int = 20_000, life: int = 400) -> Outcome:
    """`life`: steps in one folder, then another one begins."""
    history, violations, done = History("t19", seed), list[str](), 0
    while done < steps:
        with scratch() as work:
            machine = Machine(work / "data", seed * 1_000_003 + done, history)
            for _ in range(min(life, steps - done)):
                try:
                    machine.step()
                    wrong = machine.differences()
                except AssertionError as fault:
                    wrong = [str(fault)]
                violations += [f"step {done}, {machine.last}: {each}" for each in wrong]
                if wrong:
                    history.add(machine.last, "violation", step=done, wrong=wrong)
                done += 1
                if wrong:
                    break
            machine.memory.close()
        if len(violations) > 20:
            break
    return Outcome("T19", seed, {"steps": done}, violations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcome = run(asked.seed, asked.steps)
    print(outcome.line(), *outcome.violations[:20], sep="\n")
    raise SystemExit(bool(outcome.violations))
