"""An invented memory with a past: two months of a small shop's work, with nights in between."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from nagori import Nagori
from nagori.config import Config, load
from nagori.core.events import Event
from nagori.core.model import Emotion, Source
from nagori.core.value_object import replace
from nagori.services.remember import Draft
from nagori.testing import FrozenClock, WordEmbedder

START = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
DAYS = 60
PORT = "The staging server of the bakery shop listens on port 8443."

SAID = (
    ("The order form must refuse dates in the past; Marit asked for it twice.", "decision", "shop"),
    ("配送の締め切りは毎日 15 時。土曜だけは正午まで。", "fact", "shop"),
    ("We tried to cache the menu for a day, and guests saw yesterday's prices.", "lesson", "shop"),
    ("The label printer needs the narrow paper, not the wide one.", "fact", "shop"),
    ("Had lunch by the harbour and talked about the summer holidays.", "episode", None),
    ("昼休みに新しい机の組み立て方を話した。", "episode", None),
    ("The nightly export to the accountant is a CSV with semicolons.", "fact", "books"),
    ("請求書の番号は年度ごとに 1 から振り直すことにした。", "decision", "books"),
    ("The rounding of VAT is per line, not per invoice.", "fact", "books"),
    ("Tests that touch the clock have to freeze it, or they fail at midnight.", "lesson", None),
)

TALK = (
    (
        "The spring menu starts on Monday, and the harbour café wants forty rye loaves a day.",
        "Forty rye loaves from Monday.",
    ),
    (
        "Rye needs the stone oven, so the baguettes move to the afternoon.",
        "Then the stone oven is free from noon.",
    ),
    ("Marit bakes the rye, and I take the baguettes.", "Noted: Marit the rye, you the baguettes."),
    ("By the way, the label printer jams when the paper is damp.", "Keep the paper in the dry store room."),
    ("Good. I ordered a box with a lid for the paper.", "It should arrive with the next delivery."),
    ("The printer company sends somebody on Thursday.", "Thursday, for the label printer."),
)
MANUAL = """# Stone oven

## Service
The stone oven is serviced on the first Monday of each month. Let it cool for six hours before.

## Heating
Heat it to 250 degrees for rye and to 230 degrees for wheat.
"""


def small_config() -> Config:
    """Defaults, with room for three protected memories only."""
    config = load().config
    return replace(config, protection=replace(config.protection, max_protected_memories=3))


def open_household(folder: Path) -> Nagori:
    """The memory of two months, as it is on the morning after."""
    clock = FrozenClock(START)
    memory = Nagori.open(folder, clock=clock, embedder=WordEmbedder(), llm=None, config=small_config())
    for day in range(DAYS):
        clock.set(START + timedelta(days=day))
        drafts = [
            Draft(
                content=f"{text} ({day // len(SAID) + 1})",
                kind=kind,  # type: ignore[arg-type]
                emotion=Emotion(intensity=25 + (day * 7 + n * 13) % 60),
                source=Source(session=f"day-{day}", turn=n, speaker="Ida" if n else None),
            )
            for n, (text, kind, _) in enumerate(_some(day))
        ]
        memory.remember_many(drafts)
        if day % 4 == 0:
            memory.cycle()
        if day % 10 == 0:
            memory.recall("配送の締め切りは何時？")
    clock.set(START + timedelta(days=DAYS, hours=1))
    shop = memory.with_scope(project="shop")
    shop.remember(PORT, source=Source(session="setup", turn=0))
    shop.remember("The deploy key of the bakery's staging server lies in the vault.")
    memory.form(
        [
            {
                "role": "user",
                "content": "The ovens are serviced on the first Monday of each month by Aune & Sons.",
            },
            {"role": "assistant", "content": "Noted: service on the first Monday of the month."},
        ],
        session="ovens",
    )
    _talk(memory, clock)
    _learn(memory, clock)
    for text in ("Marit is allergic to hazelnuts.", "私の名前は井田。返事は短めに。"):
        memory.remember(text, protect=True)
    clock.forward(hours=2)
    return memory


def _talk(memory: Nagori, clock: FrozenClock) -> None:
    """A conversation of two topics, and a manual in a knowledge base."""
    clock.set(START + timedelta(days=DAYS - 1, hours=2))
    shop = memory.with_scope(project="shop")
    for user, assistant in TALK:
        shop.turn(user, session="monday-planning", speaker="Ida").answer(assistant)
        clock.forward(minutes=1)
    memory.process()
    clock.set(START + timedelta(days=DAYS, hours=1))
    with TemporaryDirectory() as folder:
        manual = Path(folder) / "ovens.md"
        manual.write_text(MANUAL, encoding="utf-8")
        memory.add_knowledge(manual, kb="manuals")


def _learn(memory: Nagori, clock: FrozenClock) -> None:
    """A setting that a night has learned."""
    data = {
        "values": {"hooks.max_memories": 4},
        "setting": "hooks.max_memories",
        "before": 5,
        "value": 4,
        "reason": "use",
        "gain": 0.031,
        "evidence": [0, 0, 0.0, 0.0, 240, 11],
        "parent": None,
    }
    event = Event("policy_changed", clock.now(), data, by="cycle")
    memory.runtime.ledger.write(memory.scope.owner, lambda: [event])


def _some(day: int) -> list[tuple[str, str, str | None]]:
    return [SAID[(day + n * 3) % len(SAID)] for n in range(1 + day % 3)]
