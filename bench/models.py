"""What a language model brings and costs: `python -m bench.models`.

    --emotion N DATA     feelings told by rules and by a real small model, side by side, on the same N random
                         sentences of each language (public sets, brought by you; see bench.appraisal)
    --turns N            a conversation of N turns, formed and judged by a model that takes `--seconds` for
                         an answer: questions, tokens and dollars, against one question for every turn

The real model is the one of `make test-llm` (out/llm); another can be named by `--base-url` and `--model`.
Samples go to the console only: the sentences belong to their authors.
"""

# mypy: disable-error-code="attr-defined,index"
# Because parts of a module or an engine are looked into; JSON is looked into.

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from bench.appraisal import SIGN, Leaner, pearson, read_all, share, with_interval
from bench.data import sentences
from bench.report import header, machine, number, python, table, write_json
from tests.llm.install import NAME, why_missing
from tests.llm.real import Heard, asking, served
from tests.models import helped, judging
from tests.scripted import Scripted

from nagori import Nagori, Turn, __version__
from nagori.adapters.embed import open_embedder
from nagori.config.sections import Embedding, Llm
from nagori.core.cost_estimate import price_of
from nagori.core.model import Trust, Valence
from nagori.errors import ModelError
from nagori.language.appraisal import Appraisal
from nagori.language.passages import about_tokens
from nagori.services.llm.appraisal_schema_and_events import match_items
from nagori.services.llm.appraise import SCHEMA, STAGE
from nagori.services.llm.client import ask, cost_of
from nagori.testing import FrozenClock

SEED = 7
SAMPLES = 6  # of each language
GOAL = 5.0  # times fewer questions than turns
Told = tuple[float, float, int]  # valence from -100 to 100, arousal, class


# ── feelings, by rules and by a model ────────────────────────────────────────────────────────────────


def drawn(data: Path, n: int) -> dict[str, list[dict[str, Any]]]:
    """The same sentences in every run: those for which bench.appraisal gives figures too."""
    with (data / "emobank-train-dev.csv").open(encoding="utf-8", newline="") as file:
        english = [
            {"text": row["text"], "valence": float(row["V"]), "arousal": float(row["A"])}
            for row in csv.DictReader(file)
        ]
    with (data / "jrte-polarity-train-dev.tsv").open(encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    japanese = [{"text": row[2], "class": int(row[1])} for row in rows]
    chance = random.Random(SEED)
    return {"en": chance.sample(english, n), "ja": chance.sample(japanese, n)}


def by_rules(texts: list[str], leaner: Leaner | None) -> list[Told | None]:
    def told(read: Appraisal) -> Told:
        return read.valence_score, read.emotion.arousal, SIGN[read.emotion.valence]

    return [told(each) for each in read_all(texts, leaner)]


def by_model(memory: Nagori, texts: list[str], batch: int) -> list[Told | None]:
    """As `judge` asks: so many at a time, what an answer leaves out alone. What cannot be used is None."""
    found: list[Told | None] = []
    for at in range(0, len(texts), batch):
        told = findings(memory, texts[at : at + batch])
        for place, text in enumerate(texts[at : at + batch]):
            alone = {} if place in told or batch == 1 else findings(memory, [text])
            found.append(told.get(place) or alone.get(0))
        print(f"  {len(found)} of {len(texts)}", flush=True)
    return found


def findings(memory: Nagori, texts: list[str]) -> dict[int, Told]:
    shown = [{"i": place, "who": "user", "text": text, "judge": True} for place, text in enumerate(texts)]
    places = range(len(texts))
    try:
        items = ask(memory.runtime, STAGE, shown, SCHEMA, 200 + 160 * len(texts), places)["items"]
    except ModelError as trouble:
        print(f"  {trouble}", flush=True)
        return {}
    return {place: _told(item) for place, item in match_items(items, texts, places).items()}


def _told(item: Mapping[str, Any]) -> Told:
    sign = SIGN[Valence(item["valence"])]
    return sign * float(item["intensity"]), float(item["arousal"]), sign


def figures_of(rows: list[dict[str, Any]], told: list[Told | None]) -> dict[str, Any]:
    """Over the sentences that were answered for; `usable` says what share that is."""
    pairs = [(row, each) for row, each in zip(rows, told, strict=True) if each]
    found: dict[str, Any] = {"usable": {"value": len(pairs) / len(rows), "n": len(rows)}}
    if len(pairs) < 3:
        return found
    if "class" in rows[0]:
        return found | {"accuracy": share([row["class"] == each[2] for row, each in pairs])}
    for name, place in (("valence", 0), ("arousal", 1)):
        wanted, said = [row[name] for row, _ in pairs], [float(each[place]) for _, each in pairs]
        found[f"{name} r"] = with_interval(len(pairs), _correlation(said, wanted))
    return found


def _correlation(xs: Sequence[float], ys: Sequence[float]) -> Callable[[Sequence[int]], float]:
    return lambda rows: pearson([xs[row] for row in rows], [ys[row] for row in rows])


def emotions(options: argparse.Namespace, base: str) -> dict[str, Any]:
    embedder = None if options.no_embedder else open_embedder(Embedding())
    leaner = Leaner(embedder, None) if embedder else None
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as folder:
        for language, rows in drawn(options.data, options.emotion).items():
            texts = [row["text"] for row in rows]
            with asking(Path(folder) / language, base, FrozenClock(), model=options.model) as memory:
                heard = Heard.of(memory)
                told = {"words": by_rules(texts, None), "model": by_model(memory, texts, options.batch)}
            if leaner:
                told["words and vectors"] = by_rules(texts, leaner)
            figures = {who: figures_of(rows, each) for who, each in told.items()}
            cost = {"questions": len(heard.replies), "read": heard.read, "written": heard.written}
            result[language] = {"figures": figures, **cost, "seconds": heard.seconds}
            _samples(language, rows, told)
    return result


def _samples(language: str, rows: list[dict[str, Any]], told: dict[str, list[Told | None]]) -> None:
    print(f"\nsamples ({language}): what people said | {' | '.join(told)}")
    for at in range(min(SAMPLES, len(rows))):
        row = rows[at]
        people = row["class"] if "class" in row else f"valence {row['valence']}, arousal {row['arousal']}"
        said = [
            f"{each[at][2]:+d} ({each[at][0]:.2g}, {each[at][1]:.0f})" if each[at] else "–"
            for each in told.values()
        ]
        print(f"  {people} | {' | '.join(said)} | {row['text'][:60]}")


def show_emotions(found: dict[str, Any]) -> None:
    for language, result in found.items():
        rows = [
            [
                who,
                name,
                f"{each['value']:.3f}",
                f"{each.get('low', '')}",
                f"{each.get('high', '')}",
                str(each["n"]),
            ]
            for who, figures in result["figures"].items()
            for name, each in figures.items()
        ]
        print(f"\n{language}: {result['questions']} questions, {result['read']:,} tokens read,", end=" ")
        print(f"{result['written']:,} written, {result['seconds']:.0f} s")
        print(table(["by", "figure", "value", "low", "high", "n"], rows, ("by", "figure")))


# ── many turns in one question ───────────────────────────────────────────────────────────────────────


def conversation(turns: int, clock: FrozenClock) -> list[Turn]:
    """Both languages, both roles, a minute apart, in one session."""
    at = clock.now() - timedelta(minutes=turns)
    roles = (Trust.USER, Trust.ASSISTANT)
    return [
        Turn(text, at + timedelta(minutes=n), session="bench", index=n, role=roles[n % 2])
        for n, (text, _, _) in enumerate(islice(sentences(SEED), turns))
    ]


def measured(turns: int, seconds: float, batch: int, work: Path) -> dict[str, float]:
    """A conversation formed and judged. Tokens are counted as our limits count them, and priced as the model
    that is configured by default."""
    clock, plain, price = FrozenClock(), judging(), price_of(Llm().model)
    assert price is not None
    written: list[int] = []

    def slowly(body: dict[str, Any]) -> str:
        time.sleep(seconds)
        answer = plain(body)
        written.append(about_tokens(answer))
        return answer

    with Scripted(answer=slowly) as server:
        with helped(
            work / str(batch), server, clock, memories_per_request=batch, timeout_seconds=seconds + 60
        ) as memory:
            begun = time.perf_counter()
            kept = memory.form(conversation(turns, clock))
            formed = time.perf_counter()
            done = memory.appraise()
            ended = time.perf_counter()
        read = sum(about_tokens(json.dumps(each.body, ensure_ascii=False)) for each in server.requests)
    assert done.judged == len(kept)
    assert not done.trouble
    tokens = price.tokens
    return {
        "batch": batch,
        "turns": turns,
        "memories": len(kept),
        "questions": len(server.requests),
        "read": read,
        "written": sum(written),
        "usd": cost_of(price, read * tokens, sum(written) * tokens),
        "formed_s": formed - begun,
        "judged_s": ended - formed,
    }


def batches(turns: int, seconds: float) -> tuple[list[dict[str, float]], float]:
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as folder:
        figures = [measured(turns, seconds, batch, Path(folder)) for batch in (Llm().memories_per_request, 1)]
    return figures, figures[1]["questions"] / figures[0]["questions"]


# ── report ───────────────────────────────────────────────────────────────────────────────────────────


def options_from(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.models", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("data", type=Path, nargs="?", help="folder of the emotion sets")
    parser.add_argument("--emotion", type=int, default=0, metavar="N", help="sentences of each language")
    parser.add_argument("--batch", type=int, default=5, help="sentences in one question to the real model")
    parser.add_argument(
        "--base-url", default="", help="an OpenAI-compatible server; empty: the one in out/llm"
    )
    parser.add_argument("--model", default=NAME)
    parser.add_argument("--no-embedder", action="store_true", help="the rules by words alone")
    parser.add_argument("--turns", type=int, default=0, metavar="N", help="turns of the conversation")
    parser.add_argument("--seconds", type=float, default=1.0, help="what an answer takes there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, without samples")
    options = parser.parse_args(given)
    if not (options.emotion or options.turns):
        parser.error("nothing to measure: --emotion N DATA, --turns N, or both")
    if options.emotion and options.data is None:
        parser.error("--emotion needs the folder of the sets")
    if options.emotion and not options.base_url and (missing := why_missing()):
        parser.error(missing)
    return options


def main(given: Sequence[str] | None = None) -> None:
    options = options_from(given)
    head = {"machine": machine(Path()), "python": python(), "nagori": __version__, "seed": str(SEED)}
    print("\n".join(header(head)))
    whole: dict[str, Any] = dict(head)
    if options.turns:
        figures, ratio = batches(options.turns, options.seconds)
        names = list(figures[0])
        print(f"\na model that takes {options.seconds:g} s, priced as {Llm().model}")
        print(table(names, [[number(each[name]) for name in names] for each in figures], ()))
        print(f"{ratio:.1f} times fewer questions (at least {GOAL:g} are promised)")
        whole |= {"turns": figures, "ratio": ratio}
    if options.emotion:
        with nullcontext(options.base_url) if options.base_url else served() as base:
            found = emotions(options, base)
        print(f"\n{options.model}, {options.batch} sentences in a question")
        show_emotions(found)
        whole |= {"model": options.model, "emotions": found}
    if options.json:
        write_json(options.json, whole)
    if options.turns and ratio < GOAL:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
