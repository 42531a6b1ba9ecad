"""Write what users see of the fixed life into `tests/oracle/frozen/`: `python -m tests.oracle.freeze`.

Run it again only for a change that is listed in RULED.md.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.oracle.life import DAYS, EVERYTHING, FIRST_DAY, QUERIES, Life

from nagori import Nagori

FROZEN = Path(__file__).parent / "frozen"


def collect(home: Path) -> dict[str, str]:
    """Run the life in `home`; the content of every fixture by its file name."""
    life = Life(home)
    with life.prepare():
        life.run()
        with life.open() as memory:
            found = {
                "export.jsonl": "".join(f"{line}\n" for line in memory.export()),
                "export.md": "".join(f"{line}\n" for line in memory.export("markdown")),
                "why.json": to_json({each.id: explain(memory, each.id) for each in list_all(memory)}),
                "recalls.json": to_json([recall(memory, query, more) for query, more in QUERIES]),
                "levels.json": to_json(count_levels(memory)),
                "counts.json": to_json(count_all(memory)),
            }
        found["hooks.jsonl"] = "".join(
            json.dumps(each, ensure_ascii=False, sort_keys=True) + "\n" for each in life.hooks
        )
        found["verbs.json"] = to_json(life.verbs)
        return found | draw(life) | {"cli.txt": print_cli(life)}


def to_json(value: Any) -> str:
    """One item a line at the top, so that a difference is short."""
    if isinstance(value, dict):
        rows = [f"{json.dumps(key)}: {line(item)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + "\n}\n"
    return "[\n" + ",\n".join(line(item) for item in value) + "\n]\n"


def line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def list_all(memory: Nagori) -> list[Any]:
    return memory.list(EVERYTHING, limit=10_000)


def explain(memory: Nagori, id: str) -> dict[str, Any]:
    told = memory.why(id)
    return {
        "retention": round(told.retention, 6),
        "days": round(told.days, 6),
        "tier": str(told.tier),
        "forecast": [[level.name, at.isoformat(timespec="seconds")] for level, at in told.forecast],
        "history": [[event.type, event.at.isoformat()] for event in told.history],
        "relations": sorted([each.source, each.target, str(each.type)] for each in told.relations),
    }


def recall(memory: Nagori, query: str, more: dict[str, Any]) -> dict[str, Any]:
    """A look that leaves no mark, so that the order of the queries does not matter."""
    found = memory.recall(query, mark=False, **more)
    rows = [[each.memory.id, round(each.score, 4), round(each.retention, 4)] for each in found]
    return {"query": query, "found": rows}


def count_levels(memory: Nagori) -> list[Any]:
    days = memory.populations(None, 30)
    return [[each.day.isoformat(), dict(each.counts), each.forecast] for each in days]


def count_all(memory: Nagori) -> dict[str, Any]:
    counts, measures, usage = memory.status().counts, memory.measure(), memory.usage()
    then = memory.as_of(FIRST_DAY.replace(hour=12))
    return {
        "levels": {str(level): n for level, n in sorted(counts.levels.items())},
        "protected": counts.protected,
        "forgotten": counts.forgotten,
        "superseded": counts.superseded,
        "unembedded": counts.unembedded,
        "kinds": dict(sorted(measures.kinds.items())),
        "tiers": dict(sorted(measures.tiers.items())),
        "compression": round(measures.compression, 6),
        "usage": [round(usage.per_day, 4), round(usage.full, 4)] if usage else None,
        "as_of_first_day": [each.id for each in then],
        "nights": DAYS,
    }


def draw(life: Life) -> dict[str, str]:
    """The pictures of `nagori chart`."""
    chosen = [life.ids[name] for name in ("cat", "spokes", "rain", "paint", "lease")]
    curves, levels = life.home / "curves.svg", life.home / "levels.svg"
    life.run_cli("chart", *chosen, "--svg", str(curves))
    life.run_cli("chart", "--levels", "--svg", str(levels))
    texts = [life.run_cli(*words) for words in (("chart", *chosen), ("--lang", "ja", "chart", "--levels"))]
    figures = json.loads(life.run_cli("chart", *chosen, "--json"))
    return {
        "chart.svg": curves.read_text(encoding="utf-8"),
        "levels.svg": levels.read_text(encoding="utf-8"),
        "chart.txt": "\n".join(texts),
        "chart.json": to_json(figures["series"]),
    }


def print_cli(life: Life) -> str:
    """What the commands for people print."""
    asked = [
        ("list",),
        ("why", life.ids["cat"]),
        ("--lang", "ja", "why", life.ids["paint"]),
        ("show", life.ids["lease"]),
        ("cycle", "--dry-run"),
        ("--lang", "ja", "recall", "猫の名前"),
    ]
    return "\n".join(f"$ nagori {' '.join(words)}\n{life.run_cli(*words)}" for words in asked)


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        found = collect(Path(home))
    FROZEN.mkdir(exist_ok=True)
    for name, content in found.items():
        (FROZEN / name).write_bytes(content.encode())
        print(f"{len(content.encode()):8} {name}")


if __name__ == "__main__":
    main()
