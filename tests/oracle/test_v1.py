"""Data folders that nagori 0.1 wrote are read by today's code, and life in them goes on."""

from __future__ import annotations

import json
import os
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.life import SETTINGS, TOKYO, replace_machine, run_worker
from tests.oracle.test_oracle import show_difference

from nagori import Nagori, Scope, Turn
from nagori.core.model import ARCHIVE_REASONS
from nagori.testing import FrozenClock, WordEmbedder

HERE = Path(__file__).parent


class OldFolder:
    """A copy of a data folder of 0.1, at the moment it was left."""

    def __init__(self, name: str, place: Path) -> None:
        self.fixture, self.folder = HERE / name, place / "data"
        self.manifest: dict[str, Any] = json.loads((self.fixture / "manifest.json").read_bytes())
        self.clock = FrozenClock(datetime.fromisoformat(self.manifest["now"]), TOKYO)
        shutil.copytree(self.fixture / "data", self.folder)
        for path, modified in self.manifest["modified"].items():  # git keeps no times
            os.utime(self.folder / path, (modified, modified))

    def open(self) -> Nagori:
        embedder = WordEmbedder(**self.manifest["embedder"])
        return Nagori.open(self.folder, clock=self.clock, embedder=embedder, llm=None)

    def compare(self, memory: Nagori, name: str) -> None:
        expected = in_todays_names((self.fixture / name).read_bytes().decode())
        found = "".join(f"{line}\n" for line in memory.export())
        if found != expected:
            pytest.fail(show_difference(name, expected, found), pytrace=False)


RENAMED = {"judged_by": "appraised_by", "strengthened_at": "reinforced_at"}


def in_todays_names(export: str) -> str:
    """What version 0.1 exported, with the fields and reasons that have another name since (RULED.md)."""
    lines = []
    for line in export.splitlines():
        record = json.loads(line)
        if "memory" in record:
            record["memory"] = {RENAMED.get(name, name): value for name, value in record["memory"].items()}
            if reason := record["memory"].get("archive_reason"):
                record["memory"]["archive_reason"] = ARCHIVE_REASONS.get(reason, reason)
        plain = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        lines.append(f"{plain}\n")
    return "".join(lines)


@pytest.fixture(params=["v1", "v1-behind"])
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OldFolder:
    for name, value in {**SETTINGS, "NAGORI_EMBEDDING__PROVIDER": "none"}.items():
        monkeypatch.setenv(name, value)
    return OldFolder(request.param, tmp_path)


def test_the_export_is_the_same(old: OldFolder) -> None:
    with old.open() as memory:
        old.compare(memory, "expected-export.jsonl")


def test_what_was_heard_is_formed_once(old: OldFolder) -> None:
    with replace_machine(old.clock):
        assert run_worker(old.folder) > 0
        assert run_worker(old.folder) == 0
    with old.open() as memory:
        old.compare(memory, "expected-after-work.jsonl")


def test_it_is_sound_and_can_be_rebuilt(old: OldFolder) -> None:
    with old.open() as memory:
        assert memory.verify().sound
        assert memory.rebuild() > 0
        old.compare(memory, "expected-export.jsonl")
        assert memory.verify().sound
        memory.embed_missing()
        assert memory.status().counts.unembedded == 0


def test_every_memory_tells_its_history(old: OldFolder) -> None:
    with old.open() as memory:
        for each in memory.list(limit=1000):
            history = memory.why(each.id).history
            assert history[0].type in ("formed", "imported")
            assert [event.at for event in history] == sorted(event.at for event in history)
        assert memory.as_of(old.clock.now() - timedelta(days=10))
        assert memory.populations(None, 5)


def test_life_goes_on(old: OldFolder) -> None:
    with old.open() as memory:
        before = {each.id for each in memory.list(limit=1000)}
        old.clock.forward(minutes=1)
        kept = memory.remember("The new sign is painted with linseed oil.")
        turn = Turn("We hang the sign above the door on Friday.", old.clock.now(), "new", 0)
        formed = memory.form([turn])
        assert memory.recall("linseed oil sign")[0].memory.id == kept.id
        found = [each.memory.id for each in memory.recall("猫の名前")]
        assert any(id in before for id in found)
        memory.edit(kept.id, content="The new sign is painted with tung oil.")
        assert memory.undo(kept.id)[1] == "edited"
        old.clock.forward(days=1)
        assert memory.cycle().done > 0
        assert memory.cycle().done == 0
        assert memory.show(formed[0].id)
        assert memory.verify().sound
        lines = list(memory.export())
        memory.rebuild()
        assert list(memory.export()) == lines


def test_another_tenant_has_its_own(old: OldFolder) -> None:
    with old.open() as memory:
        other = memory.with_scope(Scope(user="Ogawa", tenant="street/7"))
        assert [each.text.content for each in other.list()] == [
            "Another user of another tenant keeps one memory here."
        ]
