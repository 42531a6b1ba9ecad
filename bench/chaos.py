"""What is lost while a language model fails in every way: `python -m bench.chaos [OPERATIONS] [--seed N]`.

A memory lives with a model whose every answer may be a fault: turns are formed, judged, recalled, nights
pass. At the end the model is well again. Counted are questions that were asked (each is one operation), and:

    lost      turns that were acknowledged and are not there whole, or are there twice
    dropped   turns that stand whole and are neither judged, nor waiting, nor given up with a reason told
    faded     turns that faded while they waited: the rules' judgement was the last
    overdue   questions that took longer than their deadline and a second
    waiting   what is still unjudged, or unshortened, after the model has recovered
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import tempfile
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.models import data_of, finding, helped
from tests.scripted import FAULTS, Scripted

from nagori import Config, Nagori, Turn
from nagori.core.llm import Prompt, Reply
from nagori.core.model import Filter, Level
from nagori.core.value_object import Value, default_factory, replace
from nagori.errors import ModelError
from nagori.protocols import LLM
from nagori.services.llm.failure_counts_and_batch_size import ModelHealth
from nagori.testing import FrozenClock

DEADLINE = 0.25
SLACK = 1.0
SLOW = {"hang", "slow", "endless", "10 MB"}  # each costs a deadline, so they come less often
ABOUT_VECTORS = {name for name in FAULTS if "vector" in name or name in ("same index", "wrong dimension")}
EVERYDAY = ["ok", "nonsense", "half", "stray"]  # what the answer itself may be
WORDS = ["harbour", "kettle", "ledger", "ferry", "lantern", "cedar", "violin", "turbine", "meadow", "quartz"]


class Told(Value, frozen=False):
    """The count of one run."""

    questions: int = 0
    faults: Counter[str] = default_factory(Counter)
    overdue: int = 0
    longest: float = 0.0
    turns: int = 0
    lost: int = 0
    dropped: int = 0
    waiting: int = 0
    given_up: int = 0
    faded: int = 0
    nights: int = 0


class Watched:
    """The model under test, with a stopwatch."""

    def __init__(self, llm: LLM, told: Told) -> None:
        self._llm, self._told = llm, told

    @property
    def model(self) -> str:
        return self._llm.model

    def complete(self, prompt: Prompt, schema: Any = None, max_tokens: int = 1024) -> Reply:
        self._told.questions += 1
        started = time.monotonic()
        try:
            return self._llm.complete(prompt, schema, max_tokens)
        except ModelError as trouble:
            self._told.faults[trouble.message_id] += 1
            raise
        finally:
            took = time.monotonic() - started
            self._told.longest = max(self._told.longest, took)
            self._told.overdue += took > DEADLINE + SLACK


class Moody:
    """Answers well, or not: by the seed."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.well = rng, False

    def __call__(self, body: dict[str, Any]) -> str:
        data = data_of(body)
        mood = "ok" if self.well else self.rng.choice(EVERYDAY)
        if mood == "nonsense":
            return self.rng.choice(
                ["", "{}", "null", '{"items": 3}', "I cannot do that.", '{"items": [{"i": 0}]}']
            )
        trace = '"content": {"type": "array"' in json.dumps(body["response_format"])
        items = [self._item(each, trace) for each in data if each.get("judge") or "content" in each]
        if mood == "half":
            items = items[: len(items) // 2]
        if mood == "stray":
            items = [
                {**item, "content": "Zanzibar 9999 " * 40} if "content" in item else item for item in items
            ]
        return json.dumps({"items": items}, ensure_ascii=False)

    def _item(self, each: dict[str, Any], trace: bool) -> dict[str, Any]:
        if "content" not in each:
            return finding(each["i"], importance=self.rng.randrange(101), intensity=self.rng.randrange(101))
        if trace:
            return {"i": each["i"], "trigger": [], "content": each["content"].split()[:5]}
        return {"i": each["i"], "trigger": "", "content": each["content"].split(". ")[1] + "."}


def live(folder: Path, operations: int, seed: int) -> Told:
    """A life of so many questions, then recovery, then the count."""
    rng, told, clock = random.Random(seed), Told(), FrozenClock()
    usual = [name for name in FAULTS if name not in SLOW | ABOUT_VECTORS]
    moody = Moody(rng)
    with Scripted(answer=moody) as server, _opened(folder, server, clock, told) as memory:
        kept: dict[str, str] = {}
        while told.questions < operations:
            slow = rng.random() < 0.03
            server.script = [rng.choice(sorted(SLOW)) if slow else rng.choice([*usual, *["ok"] * 12])]
            _step(memory, clock, rng, kept, told)
        server.script, moody.well = ["ok"], True
        for _ in range(5):
            memory.appraise()
            clock.forward(days=1)
            memory.cycle()
            told.nights += 1
        _count(memory, kept, told)
    return told


def _opened(folder: Path, server: Scripted, clock: FrozenClock, told: Told) -> Nagori:
    # Full words are kept for ever, so that losing them can be told from letting them go after their grace.
    kept = replace(Config(), archive=replace(Config().archive, grace_days=36500.0))
    how = {
        "timeout_seconds": DEADLINE,
        "max_attempts": 2,
        "appraise_days": 36500.0,
        "memories_per_request": 5,
        "fallback_after_cycles": 2,
    }
    memory = helped(folder, server, clock, config=kept, **how)
    assert memory.runtime.llm is not None
    memory.runtime.__dict__["llm"] = Watched(memory.runtime.llm, told)
    return memory


def _step(memory: Nagori, clock: FrozenClock, rng: random.Random, kept: dict[str, str], told: Told) -> None:
    act = rng.random()
    if act < 0.5:
        memory.appraise()
    elif act < 0.75:
        for _ in range(rng.randrange(1, 6)):
            text = _text(rng, told.turns)
            at = clock.forward(seconds=1)
            (one,) = memory.form([Turn(text, at, session=f"s{told.turns // 7}", index=told.turns)])
            kept[one.id] = text
            told.turns += 1
    elif act < 0.85:
        memory.recall(rng.choice(WORDS))
    else:
        clock.forward(days=rng.choice([0, 1, 1, 3]))
        memory.cycle()
        told.nights += 1


def _text(rng: random.Random, number: int) -> str:
    said = ". ".join(f"The {rng.choice(WORDS)} near the {rng.choice(WORDS)} was seen" for _ in range(10))
    return f"Turn {number}. {said}. " + ("昨日の会議で決めたことを書いておく。" * rng.randrange(3))


def _count(memory: Nagori, kept: dict[str, str], told: Told) -> None:
    everything = memory.list(Filter(archived=True, forgotten=True), limit=10**6)
    known = {each.id: each for each in everything}
    for id, text in kept.items():
        whole = known[id].texts.get(Level.FULL) if id in known else None
        told.lost += whole is None or whole.content != text.strip()
    told.lost += len(known) - len(kept)
    always = memory.runtime.clock.now() - timedelta(days=36500)
    wanted = Filter(since=always, unappraised=True)
    waiting = {m.id for m in memory.runtime.store.find(memory.scope, wanted, limit=10**6)}
    unjudged = [known[id] for id in kept if id in known and not known[id].appraised_by and id not in waiting]
    told.faded = sum(one.level is not Level.FULL for one in unjudged)
    told.dropped = len(unjudged) - told.faded
    told.given_up = sum(one.appraised_by == "rules" for one in known.values())
    plan = memory.plan()
    told.waiting = len(waiting) + sum(step.act == "fade" for step in plan.steps)
    assert ModelHealth.of(memory.runtime, memory.scope.owner).trouble is None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("operations", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        told = live(Path(folder), asked.operations, asked.seed)
    print(f"{platform.platform()}, Python {platform.python_version()}, seed {asked.seed}")
    print(f"n = {told.questions} questions to a failing model; {told.turns} turns, {told.nights} nights")
    failed = sum(told.faults.values())
    print(f"  failed {failed}, told in {len(told.faults)} ways; longest {told.longest:.2f} s of {DEADLINE} s")
    for template, count in told.faults.most_common():
        print(f"    {count:6}  {template}")
    print(f"  lost {told.lost}, dropped {told.dropped}, overdue {told.overdue}, waiting {told.waiting}")
    print(f"  given up, with the reason in their log: {told.given_up}; faded first: {told.faded}")
    sys.exit(bool(told.lost or told.dropped or told.waiting))


if __name__ == "__main__":
    main()
