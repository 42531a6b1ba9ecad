"""Where the demonstration is told: a console, a clock moved by hand, and quiet tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from examples.demo.story import Turn, words
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nagori.app import Nagori
from nagori.config import Config
from nagori.core.model import Level, Memory
from nagori.edges import charts
from nagori.edges.cli.render import COLOURS, bar
from nagori.edges.locale import Translator
from nagori.testing.fakes import FrozenClock

SHADES = {Level.FULL: "█", Level.SUMMARY: "▓", Level.TRACE: "▒", Level.ARCHIVED: "░"}


@dataclass
class Stage:
    """Where the story is told, and what has been told so far."""

    console: Console
    translator: Translator
    memory: Nagori
    clock: FrozenClock
    ids: dict[str, str] = field(default_factory=dict)
    born: dict[str, Memory] = field(default_factory=dict)
    days: dict[str, dict[int, tuple[Memory, float]]] = field(default_factory=dict)  # as it was seen then
    story: list[tuple[int, Memory]] = field(default_factory=list)  # one memory, whenever its level was new
    chapter: int = 0

    @property
    def config(self) -> Config:
        return self.memory.runtime.config

    def words(self, name: str, **values: object) -> str:
        return words(self.translator, name, **values)

    def heading(self, name: str, **values: object) -> None:
        self.chapter += 1
        self.console.print(f"\n\n{self.chapter}  {self.words(name, **values)}", style="bold", markup=False)
        self.console.print()

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Padding(Text(text, style=style), (0, 0, 0, 3), expand=False))

    def show(self, *things: Any) -> None:
        self.console.print(Padding(Group(*things), (0, 0, 0, 3), expand=False))

    def gap(self) -> None:
        self.console.print()

    def seen(self, name: str) -> Memory:
        return self.memory.show(self.ids[name])

    def keep(self, turn: Turn) -> Memory:
        """Remember what was said, by the name it has in the story."""
        kept = self.memory.remember(
            turn.said, kind=turn.kind, category=turn.category, emotion=turn.emotion, protect=turn.protect
        )
        self.ids[turn.name], self.born[turn.name] = kept.id, kept
        return kept

    def strength(self, name: str) -> float:
        """How strong it is now; a protected one stands still."""
        return charts.strength(self.seen(name), self.clock.now(), self.config)


def strength_bar(score: float, level: Level, width: int) -> Text:
    """A bar shaded and coloured by level, and the number."""
    eighths = bar(score, width)
    shaded = SHADES[level] * (width if width < 4 else max(1, len(eighths)))
    return Text(f"{shaded:<{width}} {score:2.0f}", style=COLOURS[level])


def quiet_table(*columns: tuple[str, str]) -> Table:
    """A quiet table: headings only if there are some, all but the last column kept on one line."""
    headed = any(heading for heading, _ in columns)
    table = Table(box=None, pad_edge=False, show_header=headed, header_style="dim", padding=(0, 2, 0, 0))
    for number, (heading, style) in enumerate(columns):
        table.add_column(heading, style=style, no_wrap=number < len(columns) - 1, overflow="fold")
    return table
