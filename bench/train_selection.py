"""Learn what prompts are told: `python -m bench.train_selection`, from the lives in `bench/data_lives`.

Every life is lived through the public verbs (`bench/lives.py`), and at each of its probes the candidates and
the signs of `services/prompt_ranking.py` are noted. A softmax over the candidates learns the weights of a
memory: those that hold what is wanted should get all of the probability. A logistic regression learns from
the ranked candidates whether the prompt should be told anything. Both are judged on lives that they have not
seen, then learned from all and printed; nothing is written. The weights in use are half way between those
and those before, which were learned from twelve lives; whether to tell is learned for the weights in use.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from bench.lives import ByWords, Memory

from nagori.core.model import Recollection, Scope
from nagori.services.prompt_context import select_for_prompt
from nagori.services.prompt_ranking import (
    FEW,
    TELLING,
    TELLING_BY_WORDS,
    WEIGHTS,
    fitting_signs,
    telling_signs,
)

LIVES = Path(__file__).parent / "data_lives"
NIGHT, TURN = 3, timedelta(minutes=4)
FOLDS, STEPS = 8, 60
RANKING_PENALTY, TELLING_PENALTY = 10.0, 2.0
SILENCE = 1.15  # how much more a prompt counts that should get nothing: of those told 87 % are told right
GIVEN = ("same_task", "same_role")  # signs of which the lives know nothing: their weights are chosen


class Case(NamedTuple):
    """What was known of one probe when it was asked."""

    life: int
    scope: Scope
    text: str
    now: datetime
    found: Sequence[Recollection]
    wanted: Sequence[Sequence[bool]]  # for everything wanted, which candidates hold it
    silent: bool

    @property
    def stored(self) -> float:
        return self.found[0].terms["stored"]


def plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def events(life: dict[str, Any]) -> Iterator[tuple[datetime, int, Any]]:
    """Turns, nights and probes, in their order."""
    zone = ZoneInfo(life["timezone"])
    found: list[tuple[datetime, int, Any]] = []
    for session in life["sessions"]:
        begun = datetime.fromisoformat(session["at"]).replace(tzinfo=zone)
        found += [(begun + n * TURN, 1, (session, turn)) for n, turn in enumerate(session["turns"])]
    found += [
        (datetime.fromisoformat(probe["at"]).replace(tzinfo=zone), 2, probe) for probe in life["probes"]
    ]
    day, last = min(at for at, *_ in found), max(at for at, *_ in found)
    while (day := (day + timedelta(days=1)).replace(hour=NIGHT, minute=0)) < last:
        found.append((day, 0, None))
    return iter(sorted(found, key=lambda event: (event[0].timestamp(), event[1])))


def live(number: int, life: dict[str, Any], make: type[Memory]) -> Iterator[Case]:
    with tempfile.TemporaryDirectory(prefix="selection-") as folder:
        memory = make(folder, life["timezone"])
        for at, what, more in events(life):
            if what == 0:
                memory.night(at)
            elif what == 1:
                session, turn = more
                memory.tell(at, session["id"], session.get("project"), turn["user"], turn["assistant"])
            else:
                here = memory._at(at, more.get("project"))
                chosen = select_for_prompt(here.runtime, here.scope, more["prompt"], f"probe-{more['id']}")
                found = [each for _, each in chosen.ranked]
                held = [plain(each.memory.fullest.whole) for each in found]
                wanted = [[any(plain(w) in each for w in group) for each in held] for group in more["want"]]
                yield Case(number, here.scope, chosen.text, at, found, wanted, bool(more.get("silent")))
        memory.close()


def learn_ranking(cases: Sequence[Case]) -> dict[str, float]:
    """Weights with which those that hold what is wanted get the largest share of a softmax; Fisher scoring
    from the present weights, near which the penalty keeps them."""
    names = [name for name in WEIGHTS if name not in GIVEN]
    tables = []
    for case in cases:
        signs = [fitting_signs(case.scope, each, case.now) for each in case.found]
        rows = np.array([[each[name] for name in names] for each in signs])
        given = np.array([sum(WEIGHTS[name] * each[name] for name in GIVEN) for each in signs])
        tables += [(rows, given, np.array(group)) for group in case.wanted if any(group) and not case.silent]
    begun = np.array([WEIGHTS[name] for name in names])
    weights = begun.copy()
    for _ in range(STEPS):
        slope, bend = -RANKING_PENALTY * (weights - begun), RANKING_PENALTY * np.eye(len(names))
        for rows, given, held in tables:
            fit = rows @ weights + given
            share = np.exp(fit - fit.max())
            share /= share.sum()
            right = share * held
            mean = share @ rows
            slope += (right / right.sum()) @ rows - mean
            bend += (rows.T * share) @ rows - np.outer(mean, mean)
        weights += np.linalg.solve(bend, slope) / 2
    return dict(zip(names, weights.tolist(), strict=True)) | {name: WEIGHTS[name] for name in GIVEN}


def rank(case: Case, weights: dict[str, float]) -> list[tuple[float, Recollection]]:
    fits = [
        (sum(weights[name] * sign for name, sign in fitting_signs(case.scope, each, case.now).items()), each)
        for each in case.found
    ]
    return sorted(fits, key=lambda pair: (-pair[0], pair[1].memory.id))


def learn_telling(cases: Sequence[Case], weights: dict[str, float]) -> dict[str, float]:
    """A logistic regression over standardized signs, given back for the signs as they are."""
    signs = [telling_signs(case.scope, case.text, rank(case, weights)) for case in cases]
    names = list(signs[0])
    rows = np.array([[each[name] for name in names] for each in signs])
    centre, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    rows = np.column_stack([np.ones(len(rows)), (rows - centre) / spread])
    wanted = np.array([not case.silent for case in cases], dtype=float)
    counts, found = np.where(wanted, 1.0, SILENCE), np.zeros(len(names) + 1)
    penalty = TELLING_PENALTY * np.diag([0.0, *[1.0] * len(names)])
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (counts * (wanted - share)) - penalty @ found
        found += np.linalg.solve((rows.T * (counts * share * (1 - share))) @ rows + penalty, slope)
    each = found[1:] / spread
    return {"always": float(found[0] - each @ centre)} | dict(zip(names, each.tolist(), strict=True))


def speaks(case: Case, weights: dict[str, float], telling: dict[str, float]) -> bool:
    signs = telling_signs(case.scope, case.text, rank(case, weights))
    return telling["always"] + sum(telling[name] * sign for name, sign in signs.items()) > 0


def judge(cases: Sequence[Case]) -> None:
    """Learn from all lives but every eighth and judge on these, in turns."""
    places, told, quiet = list[int](), list[bool](), list[bool]()
    for fold in range(FOLDS):
        seen = [case for case in cases if case.life % FOLDS != fold]
        weights = learn_ranking(seen)
        telling = learn_telling(seen, weights)
        for case in (case for case in cases if case.life % FOLDS == fold):
            if case.silent:
                quiet.append(not speaks(case, weights, telling))
                continue
            told.append(speaks(case, weights, telling))
            order = [each.memory.id for _, each in rank(case, weights)]
            for group in case.wanted:
                held = {each.memory.id for each, holds in zip(case.found, group, strict=True) if holds}
                places.append(next((n for n, id in enumerate(order) if id in held), len(order)))
    best, three = (100 * np.mean([place < most for place in places]) for most in (1, 3))
    print(f"{len(told) + len(quiet)} probes, {FOLDS} folds by life")
    print(f"of {len(places)} wanted things the best memory holds {best:.1f} %, the best three {three:.1f} %")
    print(f"told: {100 * np.mean(told):.1f} % of {len(told)} prompts that want something")
    print(f"silent: {100 * np.mean(quiet):.1f} % of {len(quiet)} that want nothing")


def show(name: str, weights: dict[str, float], order: Sequence[str]) -> None:
    print(f"{name} = {json.dumps({each: round(weights[each], 2) for each in order}, indent=4)}")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("lives", nargs="*", type=Path, help="files of lives; default: bench/data_lives")
    options.add_argument("--by-words", action="store_true", help="without an embedder")
    chosen = options.parse_args()
    cases = list[Case]()
    for number, path in enumerate(chosen.lives or sorted(LIVES.glob("*.json"))):
        life = json.loads(path.read_text("utf-8"))
        cases += live(number, life, ByWords if chosen.by_words else Memory)
        print(path.stem, file=sys.stderr, flush=True)
    report([case for case in cases if case.found and case.stored > FEW], chosen.by_words)


def report(cases: Sequence[Case], by_words: bool) -> None:
    judge(cases)
    if by_words:
        show("TELLING_BY_WORDS", learn_telling(cases, WEIGHTS), list(TELLING_BY_WORDS))
    else:
        show("WEIGHTS", learn_ranking(cases), list(WEIGHTS))
        show("TELLING", learn_telling(cases, WEIGHTS), list(TELLING))


if __name__ == "__main__":
    main()
