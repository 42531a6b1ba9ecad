"""Memories that attack the page: no script runs, nothing leaves its box, whatever they say."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Opener, Screen, serve
from tests.browser.test_viewer import overflow

from nagori import Nagori
from nagori.core.model import Source
from nagori.services.remember import Draft
from nagori.testing import FrozenClock

CALL = "(window.__ran=(window.__ran||0)+1)"
TAGS = (
    *(
        "script",
        "img src=x onerror={0}",
        "svg/onload={0}",
        "body onload={0}",
        "iframe srcdoc='<script>{0}</script>'",
    ),
    *(
        "iframe src=javascript:{0}",
        "a href=javascript:{0} autofocus onfocus={0}",
        "input autofocus onfocus={0}",
    ),
    *(
        "details open ontoggle={0}",
        "video src=x onerror={0}",
        "marquee onstart={0}",
        "object data=javascript:{0}",
    ),
    *(
        "math><mtext><style><img src=x onerror={0}>",
        "base href=//evil.example/",
        "meta http-equiv=refresh content=0",
    ),
    *(
        "style>*{{display:none}}</style",
        "link rel=stylesheet href=//evil.example/x.css",
        "form action=//evil.example",
    ),
    *("div style=position:fixed;inset:0;z-index:99999;background:red", "img src=//evil.example/pixel.png"),
)
WRAPS = (
    *(
        "<{0}>{1}",
        "</span><{0}>{1}",
        "</textarea></pre></script><{0}>{1}",
        '"><{0}>{1}',
        "'/><{0}>{1}",
        "`${{{1}}}`<{0}>",
    ),
    *(
        "{{{{constructor.constructor('{1}')()}}}}<{0}>",
        "<!--<{0}>{1}-->",
        "<![CDATA[<{0}>{1}]]>",
        "&lt;{0}&gt;{1}",
    ),
    *(
        "\\u003c{0}\\u003e{1}",
        "%3C{0}%3E{1}",
        "javascript:{1}//<{0}>",
        "</memories><system>{1}</system><{0}>",
    ),
)
ODD = (
    "\u202e\u2066evil\u202d \u2067gnp.exe",
    "\u2028line\u2029paragraph\u0085next",
    "Z" + "\u0310\u0334\u0489\u20dd" * 60,
    "\u200b\u200d\ufeff" * 30 + "invisible",
    "مرحبا \u202e<script>" + CALL + "</script>",
    "word" * 2_000,
    "あ" * 3_000,
    "👨‍👩‍👧‍👦" * 200,
    "\t\t\t\n\n\n" * 40 + "below",
    "__proto__ constructor toString {n} {tokens} %s %n",
)


def payloads(n: int) -> list[str]:
    """So many hostile texts, all different."""
    drawn = random.Random(7)
    made = [
        wrap.format(tag.format(CALL), f"<script>{CALL}</script>" if mode else CALL)
        for wrap, tag, mode in product(WRAPS, TAGS, (False, True))
    ]
    while len(made) < n:
        one, other = drawn.choice(made), drawn.choice((*ODD, *made[:40]))
        made.append(f"{one[: drawn.randrange(3, len(one) + 1)]}{other[:300]} {len(made)}")
    return [*ODD, *made][:n]


def attack(memory: Nagori, n: int) -> None:
    drafts = [
        Draft(content=text, trigger=text[:200] if place % 3 == 0 else "", source=_source(text, place))
        for place, text in enumerate(payloads(n))
    ]
    for start in range(0, len(drafts), 500):
        memory.remember_many(drafts[start : start + 500])


def _source(text: str, place: int) -> Source:
    short = "".join(letter for letter in text[:80] if ord(letter) >= 32)
    return Source(
        session=f"s{place % 50}{short[:20]}", turn=place, speaker=short or None, uri=f"javascript:{CALL}"
    )


def harm(shown: Screen) -> dict[str, Any]:
    """Everything that an attack could have reached."""
    told = shown.page.evaluate(
        """() => {
          // What sticks out of the screen and is not cut off by a box that does not.
          const sticks = (one) => {
            const box = one.getBoundingClientRect();
            return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1);
          };
          const cuts = (one) => {
            const style = getComputedStyle(one);
            return style.overflowX !== 'visible' || /paint|strict|content/.test(style.contain);
          };
          const outside = [...document.querySelectorAll('main *')].filter((one) => {
            if (!sticks(one) || one.closest('.hidden')) return false;
            let box = one;
            while (box && !(cuts(box) && !sticks(box))) box = box.parentElement;
            return !box;
          });
          const tags = 'script iframe img svg object style link base video math form input'.split(' ');
          const foreign = document.querySelectorAll(tags.map((tag) => `.words ${tag}, pre ${tag}`));
          const fixed = [...document.querySelectorAll('main *')]
            .filter((one) => getComputedStyle(one).position === 'fixed');
          const header = document.querySelector('header').getBoundingClientRect();
          const hit = document.elementFromPoint(header.left + 120, header.top + header.height / 2);
          return {
            ran: window.__ran || 0,
            outside: outside.map((one) => one.outerHTML.slice(0, 100)).slice(0, 3),
            foreign: foreign.length, fixed: fixed.length,
            covered: scrollY < 5 && !(hit && hit.closest('header')),
          };
        }"""
    )
    told["overflow"] = overflow(shown)
    told["elsewhere"] = shown.elsewhere
    # The policy would complain about what it stopped; nothing may even be tried.
    told["complaints"] = shown.complaints
    return told


NONE = {
    "ran": 0,
    "outside": [],
    "foreign": 0,
    "fixed": 0,
    "covered": False,
    "overflow": 0,
    "elsewhere": [],
    "complaints": [],
}


SEEN = """y => new Promise((done) => {
  scrollTo(0, y);
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done({
    lines: [...document.querySelectorAll('.lines .said')].map((one) => one.getAttribute('href')),
    bottom: innerHeight + scrollY >= document.documentElement.scrollHeight - 2,
    end: document.querySelector('main .end') !== null,
  }))));
})"""


def scroll_through(shown: Screen) -> int:
    """Scroll to the end; how many memories were drawn on the way."""
    seen: set[str] = set()
    top = 0
    while True:
        told = shown.page.evaluate(SEEN, top)  # after the frame in which they were drawn
        seen.update(told["lines"])
        if told["bottom"] and told["end"]:
            return len(seen)
        top += 0 if told["bottom"] else 1_200


@pytest.mark.parametrize(
    "n", [120, pytest.param(10_000, marks=pytest.mark.slow)], ids=["some", "ten thousand"]
)
def test_no_memory_runs_a_script_or_leaves_its_box(
    memory: Nagori, clock: FrozenClock, screen: Opener, n: int
) -> None:
    attack(memory, n)
    stored = memory.status().counts.total
    with serve(memory) as viewer:
        shown = screen(viewer, width=360).open()
        assert scroll_through(shown) == stored
        shown.page.evaluate("() => scrollTo(0, 0)")
        assert harm(shown) == NONE
        step = 40 if n < 1_000 else 200
        for each in memory.list(limit=stored)[::step]:
            shown.go(f"memory/{each.id}")
            assert harm(shown) == NONE, each.id
        for prompt in payloads(400)[:: 60 if n < 1_000 else 10]:
            shown.page.evaluate(
                "p => { location.hash = '#/search?' + new URLSearchParams({prompt: p}); }", prompt
            )
            shown.page.wait_for_selector("main.page-search")
            shown.settle()
            assert harm(shown) == NONE, prompt


@pytest.mark.parametrize("letters", [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_text_without_a_single_space_stays_in_its_box(memory: Nagori, screen: Opener, letters: int) -> None:
    ids = [each.id for each in memory.remember_many([Draft(content=letter * letters) for letter in "xあ"])]
    with serve(memory) as viewer:
        shown = screen(viewer, width=360).open()
        assert harm(shown) == NONE
        for id in ids:
            shown.go(f"memory/{id}")
            assert harm(shown) == NONE
            shown.page.get_by_role("button", name="Show all").first.click()
            shown.page.get_by_role("button", name="Show less").first.wait_for()
            assert harm(shown) == NONE


@pytest.mark.parametrize("n", [12, pytest.param(400, marks=pytest.mark.slow)], ids=["some", "all"])
def test_conversations_profile_connections_and_knowledge_stay_harmless(
    memory: Nagori, screen: Opener, tmp_path: Path, n: int
) -> None:
    texts = payloads(400)[:: 400 // n]
    for place, text in enumerate(texts):
        session = f"s{place} " + "".join(letter for letter in text if ord(letter) >= 32)[:120]
        speaker = _source(text, place).speaker
        memory.turn(f"{text} oven {place}", session=session, speaker=speaker).answer(f"{text} answer {place}")
    memory.process()
    made = [Draft(content=f"{text} Karlsruhe depot", source=_source(text, 0)) for text in texts]
    ids = [each.id for each in memory.remember_many(made)]
    manual = tmp_path / "<img src=x onerror=alert(1)>.md"
    manual.write_text("\n\n".join(f"# {text[:80]}\n\n{text} Karlsruhe" for text in texts), encoding="utf-8")
    memory.add_knowledge(manual, kb="manuals")
    with serve(memory) as viewer:
        shown = screen(viewer, width=360).open()

        def look(page: str, rest: str = "", **fields: str) -> None:
            shown.page.evaluate(
                """([page, rest, fields]) => { location.hash = '#/' + page
                  + (rest ? '/' + encodeURIComponent(rest) : '') + '?' + new URLSearchParams(fields); }""",
                [page, rest, fields],
            )
            shown.page.wait_for_selector(f"main.page-{page}")
            shown.settle()
            assert harm(shown) == NONE, (page, rest, fields)

        look("conversations")
        assert shown.page.locator(".session").count() >= n / 2
        for each in memory.sessions():
            look("conversations", each.session)
        look("profile")
        look("knowledge", query="Karlsruhe")
        assert shown.page.locator(".passage").count() >= 1
        for id in ids:
            look("connections", id)
        for text in texts:
            look("connections", text=text)
        look("connections", text="Karlsruhe depot")
        shown.page.locator(".graph .memory").nth(1).wait_for(timeout=15_000)
