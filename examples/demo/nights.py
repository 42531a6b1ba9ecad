"""The nights of the demonstration: the clock is moved, everything else is what nagori does by itself."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from examples.demo.stage import SHADES, Stage, quiet_table, strength_bar
from examples.demo.story import (
    CROWD,
    DAY_0,
    DAYS,
    JAPAN,
    MISSED,
    RECALLED,
    REPLACED,
    ROOM,
    SHORTENED,
    crowd,
)
from rich.table import Table
from rich.text import Text

from nagori.app import Nagori
from nagori.config import Config
from nagori.core.levels import LEVELS, Capacity
from nagori.core.model import Filter, Level
from nagori.core.value_object import replace
from nagori.edges.cli.render import COLOURS, one_line
from nagori.testing.fakes import FrozenClock

WIDE = 110  # from so many columns on the bars have room
NIGHT = timedelta(hours=6)  # after the evening


def pass_time(stage: Stage) -> None:
    """Every day its questions, every night its cycle; then a row for each memory, a column for some days."""
    stage.heading("days", n=DAYS[-1])
    recalled = stage.words("and").join(map(str, RECALLED[1]))
    stage.say(stage.words("days_text", n=DAYS[-1], days=recalled))
    for number in range(DAYS[-1] + 1):
        stage.clock.set(DAY_0 + timedelta(days=number))
        _spend_day(stage, number)
        _look_around(stage, number)
        stage.clock.forward(hours=NIGHT / timedelta(hours=1))
        stage.memory.cycle()
    stage.gap()
    stage.show(_shades(stage))
    stage.gap()
    stage.show(_what_became(stage))


def _spend_day(stage: Stage, number: int) -> None:
    for question, days in (RECALLED, (MISSED[0], (MISSED[1],))):
        if number in days:
            stage.memory.recall(question, k=1)
    if number == REPLACED[1]:
        stage.keep(REPLACED[2])


def _look_around(stage: Stage, number: int) -> None:
    """Note how things are, as somebody who looks would see them."""
    for name in stage.ids if number in DAYS else (SHORTENED,):
        memory, score = stage.seen(name), stage.strength(name)
        if number in DAYS:
            stage.days.setdefault(name, {})[number] = (memory, score)
        if name == SHORTENED and (not stage.story or stage.story[-1][1].level is not memory.level):
            stage.story.append((number, memory))


def _shades(stage: Stage) -> Text:
    line = Text()
    for rung in LEVELS:
        name = stage.translator(f"level.name{int(rung.level)}")
        limit = getattr(stage.config.levels, rung.threshold) if rung.threshold else None
        words = name if limit is None else stage.words("above", level=name, n=limit)
        line.append(f"{SHADES[rung.level] * 2} {words}   ", style=COLOURS[rung.level])
    return line


def _what_became(stage: Stage) -> Table:
    wide = stage.console.width >= WIDE
    table = quiet_table(
        (stage.translator("column.memory"), ""), *((stage.words("day", n=n), "") for n in DAYS)
    )
    table.columns[0].no_wrap, table.columns[0].overflow, table.columns[0].ratio = True, "ellipsis", 1
    table.expand = True
    for name in sorted(stage.days, key=lambda name: _rank(stage, name)):
        days = stage.days[name]
        first, last = next(iter(days.values()))[0], days[DAYS[-1]][0]
        signs = {"🔒": last.protected, "⊘": last.superseded_by is not None, "↻": last.recalls > 0}
        sign = "".join(f"{each} " for each, shown in signs.items() if shown)
        seen = (days.get(n) for n in DAYS)
        cells = [strength_bar(one[1], one[0].level, 8 if wide else 2) if one else Text() for one in seen]
        table.add_row(Text(sign) + Text(one_line(first)), *cells)
    return table


def _rank(stage: Stage, name: str) -> tuple[object, ...]:
    memory, score = stage.days[name][DAYS[-1]]
    return not memory.protected, memory.level, -score, name


def shorten(stage: Stage) -> None:
    """One memory's words, each time there were fewer of them; and its return from the archive."""
    stage.heading("shorter")
    stage.say(stage.words("shorter_text", n=MISSED[1], question=MISSED[0]))
    stage.gap()
    table = quiet_table(("", "dim"), ("", ""), ("", ""))
    deepest = Level.FULL
    for day, memory in stage.story:
        level = Text(stage.translator(f"level.name{int(memory.level)}"), style=COLOURS[memory.level])
        said = Text(memory.text.content, style=COLOURS[memory.level])
        if memory.level < deepest:
            said = Text(stage.words("came_back"), style="green")
        elif memory.level is Level.ARCHIVED:
            again = "_again" * (deepest is Level.ARCHIVED)
            said = Text(stage.words(f"put_away{again}"), style="dim")
        deepest = max(deepest, memory.level)
        table.add_row(stage.words("on_day", n=day), level, said)
    stage.show(table)
    stage.gap()
    whole = Level.FULL in stage.seen(SHORTENED).texts
    stage.say(stage.words("kept_whole" if whole else "purged"), "dim")


def replaced(stage: Stage) -> None:
    """What was said later about the same matter comes first; both are still there."""
    stage.heading("replaced")
    name, day, turn = REPLACED
    stage.say(stage.words("replaced_text", n=day))
    stage.gap()
    old = stage.seen(name)
    gone = old.superseded_by is not None
    stage.show(Text(f"{'⊘ ' * gone}{old.texts[min(old.texts)].content}", style="dim"), Text(turn.said))
    if not gone:
        stage.say(stage.words("not_replaced"), "yellow")


def crowded(stage: Stage, data_dir: Path) -> None:
    """A store that may hold few memories gets more: the weakest go, some each night."""
    stage.heading("room")
    stage.say(stage.words("room_text", n=CROWD, limit=ROOM))
    stage.gap()
    config = replace(Config(), capacity=Capacity(limit=ROOM))
    clock = FrozenClock(DAY_0, JAPAN)
    with Nagori.open(data_dir, config=config, clock=clock, embedder=None) as memory:
        memory.remember_many(crowd())
        counts = [memory.status().counts.levels]
        while not counts[1:] or counts[-1] != counts[-2]:
            clock.forward(days=1)
            memory.cycle()
            counts.append(memory.status().counts.levels)
        titles = (
            (stage.words("night"), "dim"),
            (stage.words("in_use"), ""),
            (stage.translator("level.name4"), "dim"),
        )
        table = quiet_table(*titles)
        for night, levels in enumerate(counts[:-1]):
            away = levels.get(int(Level.ARCHIVED), 0)
            active = sum(levels.values()) - away
            table.add_row(str(night), Text(f"{'█' * (active // 2)} {active}", style="green"), str(away))
        stage.show(table)
        stage.gap()
        found = memory.list(Filter(archived=True), limit=CROWD)
        away_most = max(one.emotion.intensity for one in found if one.is_archived)
        stays_least = min(one.emotion.intensity for one in found if not one.is_archived)
        stage.say(stage.words("room_end", away=away_most, stays=stays_least), "dim")
