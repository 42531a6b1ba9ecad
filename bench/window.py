"""The context window: `python -m bench.window [--histories N] [--kept FORMAT=PATH …] [--peer PYTHON]`.

    speed      pruning 1,000 and 10,000 messages by every strategy, beside one pass of counting their tokens,
               and in how many passes their characters are counted
    adds       one more message in a conversation of 100 and of 5,000
    histories  random conversations of every format: what a provider would refuse, ours and the literal one
    loops      ten agent loops (`agent_loops`): instructions and failures that are still open in what is sent,
               and how much of it begins as it did at the call before
    stability  a session of 300 messages: how much of what is sent begins as it did at the call before
    kept       public conversations cut to 8k and 4k tokens: which turns that answer a question are still
               there, and which can be recalled; beside a sliding window, trim_messages and the literal pruner

`bench/README.md` says what the figures mean.
"""

# mypy: disable-error-code="misc"
# Because lambdas with defaults.

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

from bench import literal_window
from bench.agent_loops import Loop, loops
from bench.data import sentences
from bench.data_sets import FORMATS, Talk
from bench.measure import ROOT, peer_python
from bench.report import header, machine, number, python, table, write_json
from bench.vectors import Remembered

from nagori import Config, Nagori, Scope
from nagori.adapters.embed import open_embedder
from nagori.adapters.tokens import open_counter
from nagori.config.sections import Embedding
from nagori.core.window import STRATEGIES
from nagori.services.window.formats import format_of
from nagori.testing import FrozenClock
from nagori.testing.random_conversations import READ_AS, SCRIPTED, draw_history, faults

MODEL = "gpt-5"  # whose tokens are counted
BUDGETS = (8000, 4000)
SESSION, SESSION_BUDGET = 300, 8000
REPEATS = 5
ADDS = 60  # messages that are added, one by one
Count = Callable[[str], int]
Message = dict[str, Any]
Row = list[str]


def trimmed(peer: str, asked: list[dict[str, Any]]) -> list[list[list[int]]]:
    """What `trim_messages` keeps."""
    script = Path(__file__).with_name("trimmed.py")
    done = subprocess.run(
        [peer, str(script)], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    answer: list[list[list[int]]] = json.loads(done.stdout)
    return answer


def sizes(messages: Sequence[Any], count: Count, form: str = "openai") -> list[int]:
    return [message.tokens for message in format_of([], form).read(messages, count)]


def invented(messages: int, seed: int = 7) -> list[Message]:
    """A conversation as agents have them: questions, calls with results, answers; half of it Japanese."""
    source, draw = sentences(seed), Random(seed)
    said: list[Message] = [{"role": "system", "content": "You help with a household and its computers."}]
    while len(said) < messages:
        text, question, _ = next(source)
        said.append({"role": "user", "content": question})
        if draw.random() < 0.4:
            id = f"call_{len(said)}"
            call = {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
            said.append({"role": "assistant", "content": None, "tool_calls": [call]})
            result = " ".join(next(source)[0] for _ in range(draw.randint(1, 12)))
            said.append({"role": "tool", "tool_call_id": id, "content": result})
        said.append({"role": "assistant", "content": f"{text} {next(source)[0]}"})
    return said


# --- speed


def speed(memory: Nagori, count: Count) -> Iterator[Row]:
    """Pruning by every strategy, beside one pass of counting."""
    for messages in (1000, 10_000):
        said = invented(messages)
        counting = timed(lambda said=said: sizes(said, count))
        whole = _characters(lambda counter, said=said: sizes(said, counter), count)
        for strategy in STRATEGIES:
            prune = partial(memory.prune, model=MODEL, strategy=strategy, remember=False)  # type: ignore[arg-type]
            pruning = timed(lambda said=said, prune=prune: prune(said))
            last, more = prune(said), [*said, {"role": "user", "content": "And now?"}]
            again = timed(lambda more=more, last=last, prune=prune: prune(more, before=last))
            tracemalloc.start()
            prune(more)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            counted = _characters(
                lambda counter, said=said, strategy=strategy: memory.prune(
                    said, count=counter, strategy=strategy, remember=False
                ),
                count,
            )
            ratios = [
                f"{counted / whole:.2f}",
                f"{pruning / counting:.1f}",
                f"{again / counting:.2f}",
            ]
            cells = [1000 * each for each in (counting, pruning, again)]
            yield [f"{messages:,}", strategy, *map(number, cells), *ratios, number(peak / 1e6)]


def _characters(act: Callable[[Count], object], count: Count) -> int:
    """How many characters are counted."""
    seen = 0

    def counter(text: str) -> int:
        nonlocal seen
        seen += len(text)
        return count(text)

    act(counter)
    return seen


def adds(memory: Nagori) -> Iterator[Row]:
    """What one more message costs in a conversation of so many, recorded and not."""
    for remember in (False, True):
        for length in (100, 500, 5000):
            said = invented(length + ADDS)
            talk = memory.conversation(said[:length], model=MODEL, remember=remember)
            talk.add()
            samples = []
            for message in said[length : length + ADDS]:
                begun = time.process_time()
                talk.add(message)
                samples.append(1000 * (time.process_time() - begun))
            recorded = "yes" if remember else "no"
            yield [recorded, f"{length:,}", number(median(samples)), number(mean(samples))]


def timed(act: Callable[[], object]) -> float:
    act()
    samples = []
    for _ in range(REPEATS):
        begun = time.process_time()
        act()
        samples.append(time.process_time() - begun)
    return median(samples)


# --- histories


def histories(memory: Nagori, count: Count, many: int, names: Sequence[str]) -> Iterator[Row]:
    """What is wrong with random conversations after pruning, by who pruned them."""
    for name in names:
        wrong: dict[str, Counter[str]] = {"nagori": Counter(), "literal": Counter()}
        pruned: Counter[str] = Counter()
        for seed in range(many // len(names)):
            draw = Random(seed)
            history, budget = draw_history(draw, name), draw.choice((800, 1500, 3000, 8000))
            for who in wrong:
                try:
                    sent = _pruned_by(who, memory, history, name, budget, count)
                except Exception:  # that there is one is the finding
                    wrong[who]["exceptions"] += 1
                    continue
                wrong[who]["over"] += sum(sizes(sent, count, _form(name))) > budget
                if sent is not history:
                    pruned[who] += 1
                    wrong[who].update(set(_wrong(history, sent, name)))
        for who, found in wrong.items():
            cells = [
                found[kind] for kind in ("exceptions", "over", "pairs", "system", "turn", "order", "roles")
            ]
            yield [name, who, f"{many // len(names):,}", f"{pruned[who]:,}", *map(str, cells)]


def _form(name: str) -> str:
    return READ_AS.get(name, name)


def _pruned_by(
    who: str, memory: Nagori, history: list[Any], name: str, budget: int, count: Count
) -> list[Any]:
    if who == "literal":
        return literal_window.prune_history(history, budget)
    done = memory.prune(history, format=_form(name), budget=budget, count=count, remember=False)  # type: ignore[arg-type]
    return done.messages if done.was_pruned or done.plan.cut else history


def _wrong(history: list[Any], sent: list[Any], name: str) -> Iterator[str]:
    kinds = {
        "system": "system",
        "turn is lost": "turn",
        "order": "order",
        "begins": "roles",
        "alternate": "roles",
    }
    for fault in faults(history, sent, name):
        yield next((kind for sign, kind in kinds.items() if sign in fault), "pairs")


# --- stability


def stability(memory: Nagori, count: Count, peer: str | None) -> Iterator[Row]:
    """Every call of a session sends its view; how many of the tokens were the beginning of the last view?"""
    said = invented(SESSION)
    tokens = sizes(said, count)
    calls = [at + 1 for at, message in enumerate(said) if message["role"] in ("user", "tool")]
    last, views = None, []
    for call in calls:
        last = memory.prune(said[:call], budget=SESSION_BUDGET, model=MODEL, remember=False, before=last)
        views.append(last.messages)
    yield ["nagori", *_stable(views, lambda message: sizes([message], count)[0])]
    literal = [literal_window.prune_history(plain(said[:call]), SESSION_BUDGET) for call in calls]
    yield ["literal", *_stable(literal, lambda message: sizes([message], count)[0])]
    if peer:
        roles = [message["role"] for message in said]
        asked = {"roles": roles, "tokens": tokens, "limit": int(0.8 * SESSION_BUDGET), "counts": calls}
        yield ["trim_messages", *_stable(trimmed(peer, [asked])[0], lambda at: tokens[at])]


def plain(said: Sequence[Message]) -> list[Message]:
    """Texts only, for code that knows nothing else."""
    return [{"role": message["role"], "content": message["content"] or ""} for message in said]


def _stable(views: Sequence[list[Any]], size: Callable[[Any], int]) -> Row:
    sent = same = 0
    changed = 0
    for before, view in pairwise(views):
        common = next((at for at, (a, b) in enumerate(zip(before, view, strict=False)) if a != b), None)
        common = min(len(before), len(view)) if common is None else common
        sent += sum(map(size, view))
        same += sum(map(size, view[:common]))
        changed += common < len(before)
    return [str(len(views)), f"{100 * same / sent:.1f}", str(changed), f"{sent / len(views):,.0f}"]


# --- loops


def agent_loops(memory: Nagori, count: Count) -> Iterator[Row]:
    """What an agent still sees at each of its calls, by strategy; the last row of each is the whole."""
    for strategy in ("scored", "sliding"):
        rows = [(loop, *_loop(memory, loop, strategy, count)) for loop in loops()]
        for loop, shares, same, views in rows:
            yield [
                strategy,
                loop.name,
                str(len(loop.messages)),
                str(len(views)),
                *map(_percent, shares),
                same,
            ]
        columns = zip(*(shares for _, shares, _, _ in rows), strict=True)
        whole = [_percent([each for shares in column for each in shares]) for column in columns]
        same = f"{mean(float(same) for _, _, same, _ in rows):.1f}"
        yield [strategy, "all", "", str(sum(len(views) for *_, views in rows)), *whole, same]


Found = list[bool]


def _loop(
    memory: Nagori, loop: Loop, strategy: str, count: Count
) -> tuple[tuple[Found, Found, Found], str, list[list[Any]]]:
    """Whether instructions, open failures and requests are seen at each call; stability; the views."""
    calls = [at + 1 for at, message in enumerate(loop.messages) if message["role"] in ("user", "tool")]
    last, views = None, []
    instructions: Found = []
    failures: Found = []
    requests: Found = []
    for call in calls:
        last = memory.prune(
            loop.messages[:call],
            budget=BUDGETS[0],
            strategy=strategy,  # type: ignore[arg-type]
            model=MODEL,
            remember=False,
            before=last,
        )
        views.append(last.messages)
        seen = json.dumps(last.messages, ensure_ascii=False)
        instructions += [_says(seen, words) for at, words in loop.instructions if at < call]
        failures += [
            _says(seen, _words(loop.messages[at]))
            for at, until in loop.failures
            if at < call and (until is None or until >= call)
        ]
        said = [message for message in loop.messages[:call] if isinstance(message["content"], str)]
        requests += [_says(seen, message["content"]) for message in said if message["role"] == "user"]
    form = "anthropic" if isinstance(loop.messages[1]["content"], list) else "openai"
    same = _stable(views, lambda message: sizes([message], count, form)[0])[1]
    return (instructions, failures, requests), same, views


def _says(seen: str, words: str) -> bool:
    return json.dumps(words, ensure_ascii=False)[1:-1] in seen


def _words(result: Message) -> str:
    content = result["content"]
    return str(content if isinstance(content, str) else content[0]["content"])


def _percent(found: Found) -> str:
    return f"{100 * mean(found):.1f}" if found else ""


# --- kept


Shares = list[tuple[float, ...]]


def kept(
    talks: Sequence[Talk], apart: frozenset[str], embedder: Remembered | None, count: Count, peer: str | None
) -> Iterator[Row]:
    for budget in BUDGETS:
        found: dict[str, Shares] = {}
        sent: dict[str, list[int]] = {}
        with tempfile.TemporaryDirectory(prefix="nagori-bench-") as work:
            clock = FrozenClock()
            with Nagori.open(Path(work), config=Config(), clock=clock, embedder=embedder) as memory:
                for talk in talks:
                    clock.set(max(said.at for said in talk.said if said.at))
                    there = memory.with_scope(Scope(user=talk.name))
                    for who, tokens, shares in _talk(there, talk, apart, budget, count, peer):
                        found.setdefault(who, []).extend(shares)
                        sent.setdefault(who, []).append(tokens)
        for who, shares in found.items():
            means = [f"{100 * mean(column):.1f}" for column in zip(*shares, strict=True)]
            yield [f"{budget:,}", who, str(len(shares)), *means, f"{max(sent[who]):,}"]


def _talk(
    memory: Nagori, talk: Talk, apart: frozenset[str], budget: int, count: Count, peer: str | None
) -> Iterator[tuple[str, int, Shares]]:
    """Who pruned, the tokens of the window, and for each question the share of its gold turns there."""
    said = [
        {"role": str(each.role), "name": each.speaker, "content": each.text, "timestamp": each.at.isoformat()}
        for each in talk.said
        if each.at
    ]
    asked = [question for question in talk.questions if question.category not in apart]
    done = memory.prune(said, budget=budget, count=count, session=talk.name)
    memory.embed_missing()  # a long past that leaves at once gets its vectors later
    ours = [at for at in range(len(said)) if at not in done.plan.dropped]
    room = budget - sum(sizes(done.messages, count))
    recalled = [_recalled(memory, question.text, room, count) for question in asked]
    yield (
        "nagori",
        sum(sizes(done.messages, count)),
        [
            tuple(_share(talk, question.gold, [*ours, *more]) for more in ([], *found))
            for question, found in zip(asked, recalled, strict=True)
        ],
    )
    tokens = sizes(said, count)
    for who, places in _others(memory, said, tokens, budget, count, peer):
        shares: Shares = [(_share(talk, question.gold, places),) * 3 for question in asked]
        yield who, sum(tokens[at] for at in places), shares


def _recalled(memory: Nagori, question: str, room: int, count: Count) -> tuple[list[int], list[int]]:
    """The turns of the ten best memories, and of as many as there is room for."""
    found = [each.memory for each in memory.recall(question, k=100, mark=False)]
    places = [memory.source.turn or 0 for memory in found]
    return _first(places, 10), _within(places, [count(memory.searchable) for memory in found], room)


def _others(
    memory: Nagori, said: list[Message], tokens: list[int], budget: int, count: Count, peer: str | None
) -> Iterator[tuple[str, list[int]]]:
    """What others keep."""
    sliding = memory.prune(said, budget=budget, count=count, strategy="sliding", remember=False)
    yield "sliding window", [at for at in range(len(said)) if at not in sliding.plan.dropped]
    places = {id(message): at for at, message in enumerate(said)}
    yield "literal", [places[id(m)] for m in literal_window.prune_history(said, budget) if id(m) in places]
    if peer:
        roles = [message["role"] for message in said]
        ask = {"roles": roles, "tokens": tokens, "limit": int(0.7 * budget), "counts": [len(said)]}
        yield "trim_messages", trimmed(peer, [ask])[0][0]


def _first(places: Sequence[int], most: int) -> list[int]:
    return list(dict.fromkeys(places))[:most]


def _within(places: Sequence[int], tokens: Sequence[int], room: int) -> list[int]:
    """As many of the best as there is room for; one that is too long is passed over."""
    chosen = []
    for place, size in zip(places, tokens, strict=True):
        if size <= room:
            room -= size
            chosen.append(place)
    return chosen


def _share(talk: Talk, gold: frozenset[str], places: Sequence[int]) -> float:
    return len(gold & {talk.said[at].uri for at in places}) / len(gold)


# --- the report

TITLES = {
    "adds": ["recorded", "messages", "median ms", "mean ms"],
    "speed": [
        "messages",
        "strategy",
        "count ms",
        "prune ms",
        "next ms",
        "passes",
        "prune/count",
        "next/count",
        "peak MB",
    ],
    "histories": [
        *("format", "who", "n", "pruned", "exceptions", "over", "pairs", "system", "turn", "order", "roles"),
    ],
    "loops": [
        "strategy",
        "loop",
        "messages",
        "calls",
        "instructions %",
        "open failures %",
        "requests %",
        "same %",
    ],
    "stability": ["who", "calls", "same %", "changed", "tokens/call"],
    "kept": ["budget", "who", "questions", "kept %", "or in 10 %", "or in the room %", "most tokens"],
}
WORDS = ("format", "who", "strategy", "loop", "recorded")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.window")
    parser.add_argument("--histories", type=int, default=2000, metavar="N", help="random conversations")
    parser.add_argument(
        "--kept", action="append", default=[], metavar="FORMAT=PATH", help="public conversations"
    )
    parser.add_argument("--formats", default="openai,plain,anthropic,responses", help="of the random ones")
    parser.add_argument("--no-embedder", action="store_true", help="recall by words alone")
    parser.add_argument("--peers", action="store_true", help="measure trim_messages too")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has langchain-core")
    parser.add_argument("--cache", type=Path, default=ROOT / "out" / "bench-cache", metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(given)
    options.names = [name for name in SCRIPTED if name in options.formats.split(",")]
    return options


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    peer = options.peer or (peer_python() if options.peers else None)
    count = open_counter(MODEL)
    report: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as work:
        head = {"machine": machine(Path(work)), "python": python(), "tokens": f"of {MODEL}"}
        with Nagori.open(Path(work) / "memory", config=Config(), embedder=None) as memory:
            report["speed"] = list(speed(memory, count))
            report["adds"] = list(adds(memory))
            report["stability"] = list(stability(memory, count, peer))
            report["loops"] = list(agent_loops(memory, count))
            if options.histories:
                report["histories"] = list(histories(memory, count, options.histories, options.names))
    real = None if options.no_embedder or not options.kept else open_embedder(Embedding())
    for each in options.kept:
        form, _, path = each.partition("=")
        talks = list(FORMATS[form].read(Path(path)))
        if real:
            with closing(Remembered(real, options.cache)) as embedder:
                report[f"kept {form}"] = list(kept(talks, FORMATS[form].apart, embedder, count, peer))
        else:
            report[f"kept {form}"] = list(kept(talks, FORMATS[form].apart, None, count, peer))
    print("\n".join(header(head)))
    for name, rows in report.items():
        print(f"\n{name}\n{table(TITLES[name.partition(' ')[0]], rows, WORDS)}")
    if options.json:
        write_json(options.json, {"settings": head, **report})


if __name__ == "__main__":
    main(sys.argv[1:])
