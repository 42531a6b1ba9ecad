"""However often and whenever the cycle runs, strength is a function of facts and time alone [ruling 1]."""

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

from tests.profiles import share_of

from nagori.core.cycle import Census, CycleRules, life_row, plan_cycle
from nagori.core.decay import retention
from nagori.core.model import Emotion, Level, Memory, Text

ZONES = [UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo")]
SCHEDULES = share_of(10_000)


def test_thousands_of_schedules_end_at_the_closed_form() -> None:
    """Nights at any hour, skipped, doubled, over leap days and changes of summer time, clocks that jump."""
    dice, rules, worst = Random(7), CycleRules(), 0.0
    for _ in range(SCHEDULES):
        born = datetime(dice.randint(2020, 2030), 1, 1, tzinfo=UTC) + timedelta(
            minutes=dice.randrange(525_600)
        )
        intensity, coefficient = dice.uniform(1, 100), dice.uniform(0.7, 1.0)
        memory = Memory(
            "m", born, born, {Level.FULL: Text("", "x")}, emotion=Emotion(intensity), coefficient=coefficient
        )
        now = born
        for _ in range(dice.randrange(8)):
            zone = dice.choice(ZONES)
            now = (now + timedelta(days=dice.uniform(-3, 40))).astimezone(zone)
            for step in plan_cycle([life_row(memory)], Census({memory.level: 1}), rules, now).steps:
                if step.act == "compress" and step.level is not None:
                    memory = memory.evolve(level=step.level)
        end = max(now.astimezone(UTC), born) + timedelta(days=dice.uniform(0, 100))
        days = (end - born).total_seconds() / 86_400
        told = retention(memory, end.astimezone(dice.choice(ZONES)), rules.retention, rules.weekly)
        worst = max(worst, abs(told - intensity * coefficient**days))
    assert worst < 1e-9
