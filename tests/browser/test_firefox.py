"""The viewer in Firefox: every page is drawn, and a memory is found, corrected and protected there, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import serve
from tests.browser.firefox import FIREFOX, Firefox
from tests.browser.household import PORT
from tests.browser.pictures import places
from tests.browser.test_viewer import open_copy

pytestmark = pytest.mark.skipif(
    FIREFOX is None, reason="firefox is not installed (NAGORI_TEST_FIREFOX=/path/to/firefox names one)"
)
# What went wrong in the page is kept where the test can read it.
LISTEN = """window.__wrong = [];
addEventListener('error', (event) => __wrong.push(String(event.message)));
addEventListener('unhandledrejection', (event) => __wrong.push(String(event.reason)));
addEventListener('securitypolicyviolation', (event) => __wrong.push(event.violatedDirective));
return true"""
SETTLED = """return document.querySelector('main h1') !== null
  && document.querySelector('.waiting, main [aria-busy=true]') === null"""
GO = """location.hash = '#/' + arguments[0];
return new Promise((done) => setTimeout(() => done(true), 50))"""
PRESS = """const wanted = [...document.querySelectorAll(arguments[0])]
  .find((one) => one.textContent.trim() === arguments[1]);
if (wanted && !wanted.disabled) wanted.click();
return Boolean(wanted)"""


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_page_is_drawn_in_firefox(household: Path, tmp_path: Path, language: str) -> None:
    memory = open_copy(household, tmp_path / "copy")
    with memory, serve(memory) as viewer, Firefox(tmp_path, language) as firefox:
        firefox.open(viewer.url)
        firefox.wait("return document.querySelector('.lines a') !== null")
        firefox.run(LISTEN)
        for name, place in places(memory).items():
            firefox.run(GO, place)
            firefox.wait(SETTLED)
            assert firefox.run("return document.querySelectorAll('main :is(.fault, .empty)').length") == 0, (
                name
            )
            wide = "return document.documentElement.scrollWidth - innerWidth"
            assert firefox.run(wide) <= 0, name
            assert firefox.run("return __wrong") == [], name


def test_a_memory_is_corrected_and_protected_in_firefox(household: Path, tmp_path: Path) -> None:
    memory = open_copy(household, tmp_path / "copy")
    with memory, serve(memory) as viewer, Firefox(tmp_path) as firefox:
        id = next(each.id for each in memory.list(limit=500) if each.fullest.content == PORT)
        firefox.open(viewer.url)
        firefox.wait("return document.querySelector('.lines a') !== null")
        firefox.run(LISTEN)
        firefox.run(GO, f"memory/{id}")
        firefox.wait(PRESS, ".actions button", "Correct")
        firefox.wait("return document.querySelector('dialog textarea[name=content]') !== null")
        firefox.run(
            """const field = document.querySelector('dialog textarea[name=content]');
            field.value = arguments[0]; field.dispatchEvent(new Event('input', {bubbles: true}));
            return new Promise((done) => setTimeout(() => done(true), 50))""",
            PORT.replace("8443", "9443"),
        )
        firefox.wait(PRESS, "dialog button", "Save")
        firefox.wait("return document.querySelector('h1').textContent.includes('9443')")
        assert memory.show(id).text.content.endswith("port 9443.")
        firefox.wait(PRESS, ".actions button", "Protect")
        firefox.wait(
            "return [...document.querySelectorAll('button')].some((one) => one.textContent === 'Release')"
        )
        assert memory.show(id).protected
        assert firefox.run("return __wrong") == []
