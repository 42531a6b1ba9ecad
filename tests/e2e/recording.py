"""A whole story with the real program and the real hook: told, recalled, corrected, asked again.

`.venv/bin/python -m tests.e2e.recording` plays it and writes docs/why/hooks-story.txt; a test plays it again
and compares. The answers are a script's, everything else is what happened. Ids and dates are made the same
on every machine.
"""

import re
import tempfile
from pathlib import Path

from .claude import ROOT, Run, World, run
from .golden import numbered
from .messages_api import MessagesApi
from .remembering import Remembering
from .story import story

FILE = ROOT / "docs" / "why" / "hooks-story.txt"
HEAD = """\
Claude Code with nagori: four sessions in English, four in Japanese
===================================================================

Each number is a session of its own: a new process of the real claude program, which knows nothing of
the others. nagori was installed with `nagori init`. The model is a stand-in that reads its lines from a
script; what is typed, what the hook adds, and what reaches the model is what happened. Ids and dates are
made the same on every machine.

Recorded by: python -m tests.e2e.recording
"""
# What is typed, and what the stand-in answers.
ENGLISH = (
    ("I drink only green tea from Uji, never coffee.", "Understood."),
    ("Which tea should you order for me?", "Green tea from Uji, as you told me."),
    ("Correction: I no longer drink green tea, I drink hojicha now.", "Noted: hojicha from now on."),
    ("Which tea should you order for me today?", "Hojicha; you no longer drink green tea."),
)
JAPANESE = (
    ("検証サーバーのポートは8443です。", "わかりました。"),
    ("検証サーバーのポートは何番でしたか？", "8443番です。"),
    ("訂正します。検証サーバーのポートは9443に変わりました。", "9443番ですね。"),
    ("検証サーバーにつなぎたい。ポートは？", "9443番です。以前は8443番でした。"),
)
ID = re.compile(r"mem_[a-z0-9]{6}(?:[a-z0-9]{10})?\b")
DATE = re.compile(r"\[\d{4}-\d\d-\d\d\]")


def played(folder: Path, lines: tuple[tuple[str, str], ...]) -> list[Run]:
    """The sessions of one story, one after the other, in a world of their own."""
    world = World.at(folder)
    with MessagesApi([answer for _, answer in lines]) as stub:
        memory = Remembering.at(world, stub)
        runs = []
        for prompt, _ in lines:
            runs.append(run(prompt, world, stub))
            memory.settle()
        assert memory.no_worker_left()
    return runs


def recorded(folder: Path) -> str:
    """The whole text."""
    told = [story(played(folder / name, lines)) for name, lines in {"en": ENGLISH, "ja": JAPANESE}.items()]
    parts = [numbered(ID, "mem_{:06}", DATE.sub("[2026-01-18]", each)) for each in told]
    return "\n".join([HEAD, *(part.rstrip() + "\n" for part in parts)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        FILE.write_text(recorded(Path(place)), encoding="utf-8")
