"""Documents as a knowledge base: `python -m bench.knowledge --jsquad PATH`.

Two measurements. With --jsquad, every paragraph of the data set is a page, and each question is asked once:
how often the right page is among the best five. Without, generated pages are added and asked for while some
of them are replaced by new versions all the time: how often a query saw no version or two.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from bench.data_sets import FORMATS, Talk
from bench.metrics import judge, summary
from bench.recall import CACHE
from bench.report import header, machine, python, table
from bench.vectors import Remembered

from nagori import Config, Nagori, __version__
from nagori.adapters.embed import open_embedder
from nagori.config.sections import Embedding
from nagori.core.knowledge_base import Document, Section
from nagori.services.knowledge_base import add_document

BASE, K = "pages", 20
REPLACED = 20  # documents that change under load


def measure_pages(memory: Nagori, talk: Talk) -> list[list[str]]:
    """The share of questions whose page was found, from the best 1 to the best 20."""
    begun = time.process_time()
    for said in talk.said:
        page = Document(said.uri, said.uri, (Section("", said.text),))
        add_document(memory.runtime, "local", BASE, page)
    adding = time.process_time() - begun
    begun, judged = time.process_time(), []
    for question in talk.questions:
        found = memory.search_knowledge(question.text, kb=BASE, k=K)
        judged.append(judge(list(dict.fromkeys(each.document for each in found)), question))
    asking = (time.process_time() - begun) / len(talk.questions)
    figures = summary(judged)
    rows = [["pages", str(len(talk.said))], ["questions", str(figures["n"])]]
    rows += [[name, f"{figures[name]:.1f}"] for name in ("hit@5", "hit@10", "MRR") if name in figures]
    return [
        *rows,
        ["adding, ms a page", f"{1000 * adding / len(talk.said):.1f}"],
        ["ms a query", f"{1000 * asking:.1f}"],
    ]


def page(number: int, version: int) -> Document:
    text = (
        f"The machine {number} of hall {number % 7} has the serial word{number} and runs at speed {version}."
    )
    return Document(f"page {number}", f"{number} {version}", (Section(f"Machine {number}", text),))


def measure_load(memory: Nagori, pages: int, seconds: float) -> list[list[str]]:
    """Queries beside a writer that replaces documents."""
    begun = time.perf_counter()
    for number in range(pages):
        add_document(memory.runtime, "local", BASE, page(number, 0))
    adding = time.perf_counter() - begun
    end, swaps, asked, none, both = time.monotonic() + seconds, 0, 0, 0, 0
    done = threading.Event()

    def replace() -> None:
        nonlocal swaps
        while not done.is_set():
            number = swaps % REPLACED
            add_document(memory.runtime, "local", BASE, page(number, 1 + swaps // REPLACED))
            swaps += 1

    writer = threading.Thread(target=replace)
    writer.start()
    while time.monotonic() < end:
        number = asked % REPLACED
        found = memory.search_knowledge(f"speed of machine {number}, serial word{number}", kb=BASE, k=K)
        mine = [each for each in found if each.document == f"page {number}"]
        asked, none, both = asked + 1, none + (not mine), both + (len(mine) > 1)
    done.set()
    writer.join()
    return [
        ["pages", str(pages)],
        ["adding, ms a page", f"{1000 * adding / pages:.1f}"],
        ["versions replaced", str(swaps)],
        ["queries", str(asked)],
        ["that saw no version", str(none)],
        ["that saw two versions", str(both)],
    ]


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.knowledge")
    parser.add_argument("--jsquad", type=Path, metavar="PATH", help="a file of JSQuAD")
    parser.add_argument("--pages", type=int, default=2_000, help="generated pages, without --jsquad")
    parser.add_argument("--seconds", type=float, default=30.0, help="of load")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="where vectors are kept")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as folder:
        real = open_embedder(Embedding()) if options.jsquad else None
        head = {
            "machine": machine(Path(folder)),
            "python": python(),
            "nagori": __version__,
            "embedder": real.model if real else "none",
        }
        if real:
            with closing(Remembered(real, options.cache)) as embedder:
                [talk] = FORMATS["jsquad"].read(options.jsquad)
                embedder.prime([question.text for question in talk.questions])
                with Nagori.open(folder, config=Config(), embedder=embedder, llm=None) as memory:
                    rows = measure_pages(memory, talk)
        else:
            with Nagori.open(folder, config=Config(), embedder=None, llm=None) as memory:
                rows = measure_load(memory, options.pages, options.seconds)
    print("\n".join([*header(head), "", table(["measure", "value"], rows, ("measure",))]))


if __name__ == "__main__":
    main()
