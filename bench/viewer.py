"""The viewer over many memories, against nearly none: `python -m bench.viewer [--memories 100000 …]`.

Two memories are opened in one browser, in turns: one with a single memory, one with `--memories`. Measured
in the page, from the action to the frame in which the answer is drawn: the first paint, and each interaction.
The ratio of the medians says what size costs, that of the shortest times what it costs on a machine with
nothing else to do; the milliseconds depend on the machine. Then the large timeline is scrolled to its end,
and the page's memory and the number of its elements are told.

What looks at every memory (plan, levels over time, profile, connections) is computed beside the requests and
kept; how long the first time takes, while other pages stay usable, is told in lines of its own.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.filling import settled
from bench.report import header, machine, python, table, write_json
from tests.browser.conftest import CHROMIUM

from nagori import Nagori
from nagori.core.events import Event
from nagori.core.serialize import to_record
from nagori.core.value_object import split_batches
from nagori.edges.viewer.serve import ViewerServer
from nagori.testing import FrozenClock

AT_ONCE = 100  # memories in one write
# Wait in the page until an element is there, then for the frame that shows it.
DRAWN = """([selector, action]) => new Promise((done, fail) => {
  const start = performance.now();
  if (action) { const [kind, value] = action;
    if (kind === 'hash') location.hash = value;
    if (kind === 'scroll') scrollTo(0, value);
    if (kind === 'click') document.querySelector(value).click();
  }
  const look = () => {
    if (performance.now() - start > 900000) return fail(new Error(selector));
    if (document.querySelector('main [aria-busy=true]') || !document.querySelector(selector)) {
      return requestAnimationFrame(look);
    }
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  };
  requestAnimationFrame(look);
})"""
PAINTED = """() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"""
LINES = ":is(.lines li[data-line], .end)"  # or the word that there is none
PLANNED = "main.page-life section[aria-labelledby=plan] p:not(.waiting)"
PROMPT = "What+about+the+kettle+of+the+office%3F"
STEPS: dict[str, tuple[str, list[str]]] = {
    "filter by kind": (f"main[data-place$='?kind=episode'] {LINES}", ["hash", "#/timeline?kind=episode"]),
    "filter by level": (f"main[data-place$='?level=1'] {LINES}", ["hash", "#/timeline?level=1"]),
    "back to all": (f"main[data-place='timeline/?'] {LINES}", ["hash", "#/timeline"]),
    "open a memory": ("main.page-memory .history li", ["click", ".lines a"]),
    "search a prompt": ("main.page-search section", ["hash", f"#/search?prompt={PROMPT}"]),
    "profile": ("main.page-profile :is(.cards, .empty)", ["hash", "#/profile"]),
    "connections": (
        "main.page-connections :is(.graph svg, .empty)",
        ["hash", f"#/connections?text={PROMPT}"],
    ),
    "life: tonight's plan": (PLANNED, ["hash", "#/life"]),
    "life: levels over time": ("main.page-life figure", ["hash", "#/life"]),
}
FROM_ELSEWHERE = ("profile", "connections", "life")  # measured from another page
FIRST = (
    "profile",
    "connections",
    "life: tonight's plan",
    "life: levels over time",
)  # computed once, then kept


def fill(folder: Path, size: int) -> None:
    """Memories of four months, in small writes as in a life: a line of the journal holds few of them."""
    clock = FrozenClock()
    with Nagori.open(folder, clock=clock, embedder=None, llm=None) as memory:
        for bundle in split_batches(settled(size, clock.now()), AT_ONCE):
            events = [Event("imported", clock.now(), {"memory": to_record(m)}, m.id) for m in bundle]
            memory.runtime.ledger.write(memory.scope.owner, lambda events=events: events)  # type: ignore[misc]


@contextmanager
def served(folder: Path) -> Iterator[ViewerServer]:
    with Nagori.open(folder, clock=FrozenClock(), embedder=None, llm=None) as memory:
        viewer = ViewerServer(memory)
        viewer.server.config.timeout_graceful_shutdown = 0
        thread = threading.Thread(target=viewer.run)
        thread.start()
        try:
            yield viewer
        finally:
            viewer.stop()
            thread.join()


def one_round(browser: Any, viewer: ViewerServer) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.goto(viewer.url, wait_until="commit")
    page.wait_for_selector(LINES)
    took = {"first memories drawn": page.evaluate("() => performance.now()")}
    took["first paint"] = page.evaluate(PAINTED)
    page.evaluate(DRAWN, [LINES, None])
    took["scroll a screen"] = page.evaluate(DRAWN, [LINES, ["scroll", 800]])
    page.evaluate(DRAWN, [LINES, ["scroll", 0]])
    for name, (selector, action) in STEPS.items():
        if name.startswith(FROM_ELSEWHERE):
            page.evaluate(DRAWN, ["main.page-search h1", ["hash", "#/search"]])
        took[name] = page.evaluate(DRAWN, [selector, action])
    context.close()
    return took


def scroll_to_the_end(browser: Any, viewer: ViewerServer) -> dict[str, float]:
    """Scroll through everything; what the page weighs before and after, and the longest frame."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.goto(viewer.url)
    page.wait_for_selector(LINES)
    session = context.new_cdp_session(page)
    session.send("HeapProfiler.enable")

    def weigh() -> float:
        session.send("HeapProfiler.collectGarbage")
        return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 1024**2

    before = weigh()
    told = page.evaluate(
        """() => new Promise((done) => {
          const frames = [];
          let last = performance.now();
          const start = last;
          const step = () => {
            const now = performance.now();
            frames.push(now - last);
            last = now;
            if (document.querySelector('.end')) {
              frames.sort((a, b) => a - b);
              return done({ seconds: (now - start) / 1000, frames: frames.length,
                p50: frames[Math.floor(frames.length * .5)], p99: frames[Math.floor(frames.length * .99)],
                longest: frames[frames.length - 1], elements: document.querySelectorAll('*').length });
            }
            scrollTo(0, document.documentElement.scrollHeight);
            requestAnimationFrame(step);
          };
          requestAnimationFrame(step);
        })"""
    )
    after = weigh()
    jump = page.evaluate(DRAWN, [LINES, ["scroll", 2_000_000]])
    context.close()
    return {**told, "heap_before": before, "heap_after": after, "jump": jump}


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--keep", type=Path, help="fill this folder, or use it again")
    parser.add_argument("--scroll", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        on = machine(Path(work))
        folders = {"one": Path(work) / "one", "many": given.keep or Path(work) / "many"}
        fill(folders["one"], 1)
        if not folders["many"].exists():
            fill(folders["many"], given.memories)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        with served(folders["one"]) as small, served(folders["many"]) as large:
            first = [one_round(browser, viewer) for viewer in (small, large)]
            rounds = [(one_round(browser, small), one_round(browser, large)) for _ in range(given.rounds)]
            scrolled = scroll_to_the_end(browser, large) if given.scroll else None
        version = browser.version
        browser.close()
    rows = []
    for name in rounds[0][0]:
        few, many = (median(each[n][name] for each in rounds) for n in (0, 1))
        best = [min(each[n][name] for each in rounds) for n in (0, 1)]
        rows.append([name, f"{few:.0f}", f"{many:.0f}", f"{many / few:.2f}", f"{best[1] / best[0]:.2f}"])
    for name in FIRST:
        few, many = (each[name] for each in first)
        rows.append([f"{name}, the first time", f"{few:.0f}", f"{many:.0f}", f"{many / few:.2f}", ""])
    about = {"machine": on, "python": python(), "chromium": version, "load": f"{os.getloadavg()[0]:.1f}"}
    print("\n".join(header({**about, "rounds": f"{given.rounds}, medians in ms"})))
    print(
        f"\n{table(['what', 'one memory', f'{given.memories:,}', 'ratio', 'of the best'], rows, ('what',))}"
    )
    if scrolled is not None:
        print(
            f"\nscrolled through all in {scrolled['seconds']:.1f} s and {scrolled['frames']:,} frames:"
            f" p50 {scrolled['p50']:.0f}, p99 {scrolled['p99']:.0f}, longest {scrolled['longest']:.0f} ms;"
            f" a jump to the middle {scrolled['jump']:.0f} ms; {scrolled['elements']:,} elements;"
            f" heap {scrolled['heap_before']:.1f} → {scrolled['heap_after']:.1f} MiB"
        )
    if given.json:
        write_json(given.json, {"rows": rows, "scrolled": scrolled})


if __name__ == "__main__":
    main()
