"""Draw the pictures of the documentation: `python -m tests.browser.pictures [folder]`.

With a folder, every page is drawn in both languages and shades and in three widths, to be looked at.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.browser.conftest import CHROMIUM, WIDTHS, Screen, serve
from tests.browser.household import open_household

from nagori import Nagori

DOCS = Path(__file__).parents[2] / "docs" / "pictures"
PROMPT = "Which+port+does+the+staging+server+of+the+bakery+use%3F"
# name: page, language, dark, width, height
KEPT = {
    "viewer-timeline": ("timeline", "en", False, 900, 620),
    "viewer-search": ("search", "en", False, 900, 760),
    "viewer-memory-ja": ("memory", "ja", True, 900, 720),
    "viewer-life": ("life", "en", False, 900, 700),
    "viewer-connections": ("connections", "en", False, 900, 980),
}


PLACES = (
    *("timeline", "search", "memory", "conversations", "threads"),
    *("connections", "profile", "knowledge", "life", "health"),
)


def places(memory: Nagori) -> dict[str, str]:
    found = next(
        each for each in memory.list(limit=500) if "締め切り" in each.fullest.content and each.recalls
    )
    oven = next(each for each in memory.list(limit=500) if "Rye needs the stone oven" in each.fullest.content)
    return {
        "timeline": "timeline",
        "search": f"search?prompt={PROMPT}",
        "memory": f"memory/{found.id}",
        "conversations": "conversations",
        "threads": "conversations/monday-planning",
        "connections": f"connections/{oven.id}",
        "profile": "profile",
        "knowledge": "knowledge?query=When+is+the+oven+serviced%3F",
        "life": "life",
        "health": "health",
    }


def draw(memory: Nagori, browser: Any, wanted: dict[str, Any], folder: Path, whole: bool) -> None:
    with serve(memory) as viewer:
        for name, (page, language, dark, width, height) in wanted.items():
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                locale={"en": "en-GB", "ja": "ja-JP"}[language],
                timezone_id="UTC",
            )
            shown = Screen(context.new_page(), viewer).open()
            shown.go(places(memory)[page])
            shown.page.screenshot(path=folder / f"{name}.png", full_page=whole and page != "timeline")
            context.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    whole = len(sys.argv) > 1
    folder = Path(sys.argv[1]) if whole else DOCS
    folder.mkdir(exist_ok=True)
    every = {
        f"{page}-{language}-{'dark' if dark else 'light'}-{size}": (page, language, dark, width, 900)
        for page in PLACES
        for language in ("en", "ja")
        for dark in (False, True)
        for size, width in WIDTHS.items()
    }
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        with open_household(Path(data) / "data") as memory:
            draw(memory, browser, every if whole else KEPT, folder, whole)
        browser.close()


if __name__ == "__main__":
    main()
