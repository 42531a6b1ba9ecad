"""The viewer in a real browser: every page, a newcomer's story, its buttons, the keyboard, and live."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import WIDTHS, Opener, Screen, serve
from tests.browser.household import DAYS, PORT, START, small_config

from nagori import Nagori
from nagori.messages import render
from nagori.testing import FrozenClock, WordEmbedder

AXE = Path(__file__).parent / "vendor" / "axe.js"
PROMPT = "Which port does the staging server of the bakery shop use?"
MORNING = START + timedelta(days=DAYS, hours=3)


def open_copy(household: Path, folder: Path) -> Nagori:
    """The household's memory, in a folder of the test's own."""
    shutil.copytree(household, folder)
    clock = FrozenClock(MORNING)
    return Nagori.open(folder, clock=clock, embedder=WordEmbedder(), llm=None, config=small_config())


@pytest.fixture
def memory(household: Path, tmp_path: Path) -> Iterator[Nagori]:
    with open_copy(household, tmp_path / "copy") as opened:
        yield opened


def find(memory: Nagori, words: str) -> str:
    return next(each.id for each in memory.list(limit=500) if words in each.fullest.whole)


def faults(screen: Screen) -> list[str]:
    """Serious faults that axe-core finds. It is run by the debugger, so the page's policy stays in force."""
    screen.page.evaluate(AXE.read_text(encoding="utf-8") + "\n;0")
    found = screen.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:120]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def overflow(screen: Screen) -> int:
    """Pixels by which the page is wider than the screen."""
    wide, screen_wide = screen.page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    return max(0, int(wide) - int(screen_wide))


# ── every page ───────────────────────────────────────────────────────────────────────────────────

FEW = [("en", False, "wide"), ("ja", True, "phone")]
ALL = [(language, dark, width) for language in ("en", "ja") for dark in (False, True) for width in WIDTHS]


def look_at_every_page(memory: Nagori, screen: Opener, language: str, dark: bool, width: str) -> None:
    with serve(memory) as viewer:
        shown = screen(viewer, language, dark, WIDTHS[width]).open()
        places = {
            "timeline": "timeline",
            "search": f"search?prompt={PROMPT.replace(' ', '+').replace('?', '%3F')}",
            "memory": f"memory/{find(memory, 'port 8443')}",
            "conversations": "conversations",
            "conversations, one": "conversations/monday-planning",
            "connections": "connections",
            "connections, of a memory": f"connections/{find(memory, 'label printer')}",
            "profile": "profile",
            "knowledge": "knowledge?query=When+is+the+oven+serviced%3F",
            "life": "life",
            "health": "health",
        }
        for name, place in places.items():
            shown.go(place)
            assert render(f"view.page_{name.partition(',')[0]}", {}, language) in shown.page.title()
            assert faults(shown) == [], name
            assert overflow(shown) == 0, name
            assert shown.page.locator("main :is(.fault, .empty)").count() == 0, name  # there is something
        look_at_every_dialogue(memory, shown, language)
        assert shown.complaints == []
        assert shown.elsewhere == []
        shade = shown.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (shade == "rgb(20, 23, 27)") is dark


def look_at_every_dialogue(memory: Nagori, shown: Screen, language: str) -> None:
    """Open each of them, look at it, and leave it with Escape."""

    def word(id: str, **values: object) -> str:
        return render(f"view.{id}", values, language)

    id, page = find(memory, "port 8443"), shown.page
    memory.edit(id, content=PORT.replace("8443", "7443"))
    memory.edit(id, content=PORT)
    asks_first = {"correct": word("correct"), "details": word("details"), "forget": word("forget")}
    opened = {**asks_first, "undo": word("undo_to", n=2), "erase": word("erase")}
    for name, button in opened.items():
        shown.go(f"memory/{id}")
        page.get_by_role("button", name=button, exact=True).click()
        look_at_dialogue(shown, name)
    shown.go("life")
    page.locator("section[aria-labelledby=policy] summary").click()
    for id in ("policy_back", "switch_off"):
        page.get_by_role("button", name=word(id), exact=True).click()
        look_at_dialogue(shown, id)
    memory.undo(find(memory, "port 8443"))
    memory.undo(find(memory, "port 7443"))


def look_at_dialogue(shown: Screen, name: str) -> None:
    dialog = shown.page.get_by_role("dialog")
    dialog.wait_for()
    shown.page.wait_for_selector("dialog .waiting", state="detached")
    assert faults(shown) == [], name
    assert overflow(shown) == 0, name
    shown.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")


@pytest.mark.parametrize(("language", "dark", "width"), FEW)
def test_every_page_is_whole_and_accessible_and_asks_nobody_else(
    memory: Nagori, screen: Opener, language: str, dark: bool, width: str
) -> None:
    look_at_every_page(memory, screen, language, dark, width)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "dark", "width"), [each for each in ALL if each not in FEW])
def test_every_page_in_every_language_shade_and_width(
    memory: Nagori, screen: Opener, language: str, dark: bool, width: str
) -> None:
    look_at_every_page(memory, screen, language, dark, width)


# ── a newcomer's story ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("language", ["en", "ja"])
def test_somebody_new_finds_corrects_protects_undoes_and_sees_tonights_plan(
    memory: Nagori, screen: Opener, language: str
) -> None:
    def word(id: str, **values: object) -> str:
        return render(f"view.{id}", values, language)

    id = find(memory, "port 8443")
    with serve(memory) as viewer:
        shown = screen(viewer, language).open()
        page = shown.page

        # I ask what my agent would be told, and find the memory.
        page.get_by_role("link", name=word("page_search"), exact=True).click()
        page.get_by_label(word("prompt"), exact=True).fill(PROMPT)
        page.get_by_role("button", name=word("ask")).click()
        block = page.locator("pre.block")
        block.wait_for()
        assert "port 8443" in block.inner_text()
        assert block.inner_text().strip() == memory.context(PROMPT, mark=False).text

        # I see why it was injected.
        told = page.locator("section[aria-labelledby=given] li", has_text=PORT).first
        assert "100%" in told.inner_text()
        assert told.locator(".reasons li").count() >= 2
        assert render("why.words", {"share": 0.75}, language)[:6] in told.inner_text()

        # It is wrong: I correct it.
        told.get_by_role("link").click()
        page.get_by_role("button", name=word("correct"), exact=True).click()
        page.get_by_label(word("content"), exact=True).fill(PORT.replace("8443", "9443"))
        page.get_by_role("button", name=word("save")).click()
        page.get_by_role("heading", level=1, name="port 9443").wait_for()
        assert memory.show(id).text.content.endswith("port 9443.")

        # It matters: I protect it.
        page.get_by_role("button", name=word("protect"), exact=True).click()
        page.get_by_role("button", name=word("unprotect"), exact=True).wait_for()
        assert memory.show(id).protected

        # No, I take that back.
        page.locator(".history").get_by_role("button", name=word("undo"), exact=True).click()
        page.get_by_role("button", name=word("protect"), exact=True).wait_for()
        assert not memory.show(id).protected
        assert memory.show(id).text.content.endswith("port 9443.")

        # I look at what happens tonight.
        page.get_by_role("link", name=word("page_life"), exact=True).click()
        plan = page.locator("section[aria-labelledby=plan]")
        plan.locator("details").first.wait_for()
        expected = memory.plan()
        assert f"{len(expected.steps)}" in plan.inner_text()
        for act in {step.act for step in expected.steps}:
            assert render(f"step.{act}", {}, language) in plan.inner_text()
        assert shown.complaints == []


# ── what can be done with one memory ─────────────────────────────────────────────────────────────


def test_the_limit_erasure_and_the_other_buttons(memory: Nagori, screen: Opener) -> None:
    memory.remember("Third.", protect=True)  # three places, all taken
    id = find(memory, "port 8443")
    with serve(memory) as viewer:
        shown = screen(viewer).open(f"memory/{id}")
        page = shown.page
        button = page.get_by_role("button")

        # The limit asks which one may fade again.
        page.get_by_role("button", name="Protect", exact=True).click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("3 memories are protected, which is the limit.").wait_for()
        assert faults(shown) == []
        go = dialog.get_by_role("button", name="Release it and protect this one")
        assert go.is_disabled()
        dialog.get_by_role("radio").first.check()
        go.click()
        page.get_by_role("button", name="Release", exact=True).wait_for()
        assert memory.show(id).protected
        assert memory.status().counts.protected == 3

        # A protected memory does not go to the archive: the page says so.
        page.get_by_role("button", name="Archive", exact=True).click()
        page.get_by_role("alert").get_by_text("is protected").wait_for()
        page.get_by_role("button", name="Release", exact=True).click()
        page.get_by_role("button", name="Protect", exact=True).wait_for()

        # Archive and revive; forget, and undo that.
        page.get_by_role("button", name="Archive", exact=True).click()
        page.get_by_role("button", name="Revive", exact=True).click()
        page.get_by_role("button", name="Archive", exact=True).wait_for()
        page.get_by_role("button", name="Forget", exact=True).click()
        dialog.get_by_role("button", name="Forget", exact=True).click()
        page.locator(".tag.forgotten").wait_for()
        assert memory.show(id).is_forgotten
        page.locator(".history").get_by_role("button", name="Undo", exact=True).click()
        page.locator(".tag.forgotten").wait_for(state="detached")
        assert not memory.show(id).is_forgotten

        # Erase: nothing happens before the token is typed; then there is a receipt.
        button.filter(has_text="Erase for good").click()
        erase = dialog.get_by_role("button", name="Erase", exact=True)
        field = dialog.get_by_role("textbox")
        field.fill("wrong")
        assert erase.is_disabled()
        field.fill(memory.plan_erasure(memory=id).token)
        erase.click()
        page.get_by_role("heading", level=1, name="Erased", exact=True).wait_for()
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save the receipt").click()
        assert '"signature"' in Path(saved.value.path()).read_text(encoding="utf-8")
        assert all(each.id != id for each in memory.list(limit=500))
        refused = "Failed to load resource: the server responded with a status of 409"  # by protection
        assert [each for each in shown.complaints if refused not in each] == []


# ── learned settings, connections, conversations ─────────────────────────────────────────────────


def test_a_learned_setting_is_taken_back_from_the_page(memory: Nagori, screen: Opener) -> None:
    assert dict(memory.policy().values) == {"hooks.max_memories": 4}
    with serve(memory) as viewer:
        page = screen(viewer).open("life").page
        card = page.locator("section[aria-labelledby=policy]")
        card.get_by_text("hooks.max_memories moved from 5 to 4").wait_for()
        card.get_by_role("button", name="Take the last change back", exact=True).click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Cancel").click()
        assert dict(memory.policy().values) == {"hooks.max_memories": 4}
        card.get_by_role("button", name="Take the last change back", exact=True).click()
        dialog.get_by_role("button", name="Take the last change back", exact=True).click()
        card.get_by_text("No setting was changed by learning.").wait_for()
        assert dict(memory.policy().values) == {}


def test_from_a_memory_to_its_neighbours_and_to_the_conversation_it_came_from(
    memory: Nagori, screen: Opener
) -> None:
    id = next(each.id for each in memory.list(limit=500) if each.source.session == "monday-planning")
    with serve(memory) as viewer:
        shown = screen(viewer).open(f"memory/{id}")
        page = shown.page
        page.get_by_role("link", name="Connections", exact=True).last.click()
        page.locator(".graph svg .centre").wait_for()
        rows = page.locator("section[aria-labelledby=neighbours] li")
        assert rows.count() == page.locator(".graph .memory").count() >= 1  # the list says what is drawn
        chips = page.locator("section[aria-labelledby=leads] a")
        assert chips.count() == page.locator(".graph .topic").count() >= 1
        page.get_by_role("link", name="Go on from here").first.click()
        page.wait_for_function("id => !location.hash.endsWith(id)", arg=id)
        page.locator(".graph svg .centre").wait_for()
        shown.go(f"memory/{id}")
        page.get_by_role("link", name="monday-planning").click()
        page.get_by_text("Rye needs the stone oven").first.wait_for(state="attached")
        assert page.locator(".talk li").count() == 12
        assert shown.complaints == []


def test_a_page_that_takes_long_shows_its_progress_and_blocks_nothing(
    memory: Nagori, screen: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go, real = threading.Event(), Nagori.populations

    def slow(self: Nagori, past: Any, ahead: Any, progress: Any) -> Any:
        progress(1, 4)
        assert may_go.wait(90)
        return real(self, past, ahead, progress)

    monkeypatch.setattr(Nagori, "populations", slow)
    with serve(memory) as viewer:
        shown = screen(viewer).open()
        page = shown.page
        page.get_by_role("link", name="Life", exact=True).click()
        bar = page.locator("section[aria-labelledby=levels] progress")
        bar.wait_for()
        page.wait_for_function("bar => bar.value === 0.25", arg=bar.element_handle())
        page.locator("section[aria-labelledby=plan] details").first.wait_for()  # the rest is there
        shown.go("search?prompt=port")
        page.get_by_role("link", name="Life", exact=True).click()
        bar.wait_for()
        may_go.set()
        page.locator("section[aria-labelledby=levels] figure").wait_for()
        assert shown.complaints == []


# ── keyboard ─────────────────────────────────────────────────────────────────────────────────────


def test_everything_is_reached_with_the_keyboard_and_the_focus_comes_back(
    memory: Nagori, screen: Opener
) -> None:
    with serve(memory) as viewer:
        shown = screen(viewer).open()
        page = shown.page
        focused = "() => document.activeElement.textContent.trim()"
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("() => document.activeElement.id") == "main"
        rows = timeline(viewer)
        page.locator(".lines a").first.focus()
        for row in rows[1:40]:  # far beyond what was drawn at first
            page.keyboard.press("ArrowDown")
            page.locator(f".lines a:focus[href='#/memory/{row['id']}']").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_selector("main.page-memory h1")
        correct = page.get_by_role("button", name="Correct", exact=True)
        correct.focus()
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
        assert page.evaluate(focused) == "Correct"


def timeline(viewer: Any) -> list[dict[str, Any]]:
    import json
    from urllib.request import Request, urlopen

    asked = Request(f"{viewer.origin}/view/api/timeline", headers={"Authorization": f"Bearer {viewer.token}"})
    return json.loads(urlopen(asked).read())["rows"]


# ── live, the token, the server that went away ───────────────────────────────────────────────────


def test_what_an_agent_says_appears_by_itself_and_a_server_that_went_away_is_told(
    memory: Nagori, screen: Opener
) -> None:
    with serve(memory) as viewer:
        page = screen(viewer).open().page
        memory.remember("Said while the page was open.")
        page.get_by_role("link", name="Said while the page was open.").wait_for()
    page.get_by_role("link", name="Life", exact=True).click()
    page.get_by_text("run `nagori view` again").first.wait_for()


def test_the_token_leaves_the_address_and_without_it_nothing_is_shown(memory: Nagori, screen: Opener) -> None:
    with serve(memory) as viewer:
        shown = screen(viewer).open()
        assert viewer.token not in shown.page.url
        assert not any(viewer.token in url for url in shown.requests)
        stranger = screen(viewer).page
        stranger.goto(f"{viewer.origin}/view/")
        stranger.get_by_label("Token").wait_for()
        assert "8443" not in stranger.content()
        stranger.get_by_label("Token").fill(viewer.token)
        stranger.keyboard.press("Enter")
        stranger.get_by_role("link", name=PORT).wait_for()
