"""A real browser for the viewer: Debian's chromium through playwright, one for all tests of a process."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.browser.household import open_household

from nagori import Nagori

# Taken out of the environment: the configuration would complain about a setting that it does not know.
NAMED = os.environ.pop("NAGORI_TEST_CHROMIUM", None)
CHROMIUM = NAMED or shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = {"phone": 360, "tablet": 820, "wide": 1440}


@contextmanager
def serve(memory: Nagori) -> Iterator[Any]:
    """The viewer of a memory in a thread, until the block ends."""
    from nagori.edges.viewer.serve import ViewerServer

    viewer = ViewerServer(memory)
    viewer.server.config.timeout_graceful_shutdown = 0  # open pages need not be waited for
    thread = threading.Thread(target=viewer.run)
    thread.start()
    try:
        yield viewer
    finally:
        viewer.stop()
        thread.join()


@pytest.fixture(scope="package")  # it runs an event loop in this thread, which others need for themselves
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make e2e-browser")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: make e2e-browser")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a memory with a past; tests copy it."""
    folder = tmp_path_factory.mktemp("household") / "data"
    open_household(folder).close()
    return folder


class Screen:
    """A page of the viewer, and everything it asked for or complained about."""

    def __init__(self, page: Any, viewer: Any) -> None:
        self.page, self.viewer = page, viewer
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._listen)

    def _listen(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def open(self, place: str = "") -> Screen:
        self.page.goto(self.viewer.url)
        self.page.wait_for_selector("main h1")
        if place:
            self.go(place)
        return self

    def go(self, place: str) -> None:
        self.page.evaluate("place => { location.hash = place; }", f"#/{place}")
        path, _, fields = place.partition("?")
        path = path if "/" in path else f"{path}/"
        self.page.wait_for_selector(f'main[data-place="{path}?{fields}"]')
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is asked for any more."""
        self.page.wait_for_selector("main h1")
        self.page.wait_for_selector(".waiting, main [aria-busy=true]", state="detached")

    @property
    def elsewhere(self) -> list[str]:
        """Requests to anything but the viewer's own server."""
        own = (self.viewer.origin, "data:", "blob:" + self.viewer.origin)
        return [url for url in self.requests if not url.startswith(own)]


Opener = Callable[..., Screen]


@pytest.fixture
def screen(browser: Any) -> Iterator[Opener]:
    """Open a memory's viewer: `screen(viewer, language="ja", dark=True, width=360)`."""
    contexts: list[Any] = []

    def open_screen(
        viewer: Any, language: str = "en", dark: bool = False, width: int = 1200, height: int = 900
    ) -> Screen:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            locale={"en": "en-GB", "ja": "ja-JP"}[language],
            timezone_id="UTC",
        )
        context.set_default_timeout(90_000)  # a busy machine is no fault
        contexts.append(context)
        return Screen(context.new_page(), viewer)

    yield open_screen
    for context in contexts:
        context.close()
