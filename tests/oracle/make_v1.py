"""Made `tests/oracle/v1/` and `tests/oracle/v1-behind/`: data folders as nagori 0.1 leaves them.

Kept for the record. It runs on 0.1 only: it reads and writes journal, store and note files of that version.
Run it as `python -m tests.oracle.make_v1` from the root of the repository.
"""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, timedelta
from pathlib import Path

import apsw
from tests.oracle.life import FIRST_DAY, SHOP, WEAK, Life, judge_some, prune_window, run_worker, wish_back

from nagori import Nagori, Scope, __version__
from nagori.core.events import EFFECTS, Event
from nagori.testing import WordEmbedder

HERE = Path(__file__).parent
PLACEHOLDER = Path("/tmp/nagori-oracle")  # the only path of a machine in the fixtures
LAST_DAY = 24
NOTES = ("drained.json", "linked.json", "cycle.last", "model.json")


class SmallLife(Life):
    """The first days of the life, with short vectors, so that the database stays small."""

    def open(self, **more: object) -> Nagori:
        embedder = WordEmbedder(dimension=16)
        return Nagori.open(self.folder, clock=self.clock, embedder=embedder, **{"llm": None, **more})


def make() -> None:
    if __version__ != "0.1.0":
        raise SystemExit("this script runs on nagori 0.1.0 only; the fixtures it made are in the repository")
    shutil.rmtree(PLACEHOLDER, ignore_errors=True)
    life = SmallLife(PLACEHOLDER)
    with life.prepare():
        for life.day in range(LAST_DAY):
            live_small_day(life)
        life.day = LAST_DAY
        life.set_time(20)
        finish_types(life)
        save(life, "v1")
        copy_store(life.folder / "nagori.db", PLACEHOLDER / "earlier.db")
        write_more(life)
        save(life, "v1-behind", PLACEHOLDER / "earlier.db")
    shutil.rmtree(PLACEHOLDER)


def live_small_day(life: SmallLife) -> None:
    """As in the life, but hooks and worker have no embedder: theirs would have longer vectors."""
    os.environ["NAGORI_EMBEDDING__PROVIDER"] = "none"
    life.live_day()


def finish_types(life: SmallLife) -> None:
    """Whatever of today's event types the days have not brought."""
    with life.open() as memory:
        memory.remember("The workshop opens at eight on Saturdays.")
        life.set_time(20, 1)
        memory.remember("Correction: the workshop opens at nine on Saturdays.")
        prune_window(life, memory)
        judge_some(life, memory)
        wish_back(life, memory)
        memory.cycle()
        owner = memory.scope.owner
        seen = {placed.event.type for placed in memory.runtime.journal.read(owner)}
        linked = [p.event for p in memory.runtime.journal.read(owner) if p.event.type == "linked"]
        if "unlinked" not in seen:  # no verb of 0.1 writes it, but 0.1 reads it
            old = linked[0]
            event = Event("unlinked", life.clock.now(), old.data, old.memory, by="user")
            memory.runtime.ledger.write(owner, lambda: [event])
        archived = [each for each in memory.list() if each.level == 3][:1]
        if "postponed" not in seen and archived:
            until = (life.clock.now() + timedelta(days=1)).isoformat()
            put_away = memory.archive(archived[0].id)
            event = Event("postponed", life.clock.now(), {"until": until}, put_away.id, by="cycle")
            memory.runtime.ledger.write(owner, lambda: [event])
        other = memory.with_scope(Scope(user="Ogawa", tenant="street/7"))
        other.remember("Another user of another tenant keeps one memory here.")
        seen = {placed.event.type for placed in memory.runtime.journal.read(owner)}
        missing = sorted(set(EFFECTS) - seen)
        assert not missing, missing
    life.play_session(21, LAST_SESSION)  # heard, and not yet formed


LAST_SESSION = {
    "name": "shop-z",
    "host": "claude-code",
    "folder": SHOP,
    "hooks": [
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "Which spokes fit the front wheel of the Tsubame frame?"}),
        ("Stop", {"last_assistant_message": "Spokes of 286 mm fit the front wheel of the Tsubame frame."}),
        ("UserPromptSubmit", {"prompt": "新しい看板は木で作ることにした。"}),
    ],
}


def write_more(life: SmallLife) -> None:
    """Events that the saved store does not have."""
    life.set_time(22)
    with life.open() as memory:
        kept = memory.remember("The store has not seen this sentence about the copper kettle.")
        memory.edit(kept.id, content="The store has not seen this sentence about the brass kettle.")
        memory.remember_many(
            ["A bundle the store has not seen, first part.", "束の二つ目も、まだ知られていない。"]
        )
        memory.recall("brass kettle")
        memory.remember("A weak one.", emotion=WEAK, kind="episode")
        memory.cycle()


def save(life: SmallLife, name: str, store: Path | None = None) -> None:
    """Copy the data folder. The time of `cycle.last` is its content, and git does not keep it."""
    target = HERE / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        life.folder / "journal", target / "data" / "journal", ignore=shutil.ignore_patterns("lock")
    )
    shutil.copytree(life.folder / "hosts", target / "data" / "hosts")
    copy_store(store or life.folder / "nagori.db", target / "data" / "nagori.db")
    own = target / "data" / "journal" / "local" / "me"
    absent = [each for each in NOTES if not (own / each).is_file()]
    assert not absent, absent
    times = {
        path.relative_to(target / "data").as_posix(): path.stat().st_mtime
        for path in sorted(target.rglob("cycle.last"))
    }
    manifest = {
        "written_by": f"nagori {__version__}",
        "now": life.clock.now().astimezone(UTC).isoformat(),
        "first_day": FIRST_DAY.isoformat(),
        "embedder": {"dimension": 16},
        "modified": times,
    }
    (target / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    for file, works in (("expected-export.jsonl", False), ("expected-after-work.jsonl", True)):
        lines = list_export(life, works=works)
        (target / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def list_export(life: SmallLife, *, works: bool) -> list[str]:
    """From a copy: an export lets the store catch up, and the fixture shall stay as it was left."""
    copy = PLACEHOLDER / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(life.folder, copy)
    if works:
        run_worker(copy)
    with Nagori.open(copy, clock=life.clock, embedder=WordEmbedder(dimension=16), llm=None) as memory:
        return list(memory.export())


def copy_store(source: Path, target: Path) -> None:
    """The database as one file, without anything beside it."""
    connection = apsw.Connection(str(source))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    beside = [path for path in source.parent.glob(f"{source.name}-*") if path.stat().st_size]
    assert not beside, beside
    shutil.copyfile(source, target)


if __name__ == "__main__":
    make()
