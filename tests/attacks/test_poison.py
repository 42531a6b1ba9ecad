"""A1: one bad value must not make everything after it unreachable.

New values are refused by their name before anything is written; a journal that holds such events already is
served, rebuilt and told about.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from nagori import Draft, Nagori, Source, Turn
from nagori.core.events import Event
from nagori.core.value_object import build_unchecked
from nagori.errors import InvalidInput, JournalError
from nagori.journals.file import encode
from nagori.testing import FrozenClock, WordEmbedder

NOW = datetime(2026, 4, 1, 9, 0, tzinfo=UTC)
OWNER = ("local", "me")
RECORD = {"id": "mem_a", "created": "2026-01-01T00:00:00+00:00", "texts": {"1": {"content": "x"}}}

REFUSED_CALLS: dict[str, tuple[Callable[[Nagori], object], str]] = {
    "protect=1": (lambda m: m.remember("x", protect=1), "protect"),  # type: ignore[arg-type]
    "keywords of numbers": (lambda m: m.remember("x", keywords=(5,)), "keywords"),  # type: ignore[arg-type]
    "keywords of None": (lambda m: m.remember("x", keywords=(None,)), "keywords"),  # type: ignore[arg-type]
    "a surrogate in a keyword": (lambda m: m.remember("x", keywords=("\ud800",)), "keywords"),
    "a turn number of 128 bits": (
        lambda m: m.form([Turn("hello there", NOW, session="s", index=uuid4().int)]),
        "index",
    ),
    "a source's turn of 64 bits": (lambda m: m.remember("x", source=Source(turn=2**63)), "turn"),
    "a speaker that is a number": (lambda m: m.form([Turn("hello there", NOW, speaker=7)]), "speaker"),  # type: ignore[arg-type]
    "a NUL in a session": (lambda m: m.remember("x", source=Source(session="a\0b")), "session"),
}


def attempt(memory: Nagori, call: Callable[[Nagori], object]) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        call(memory)
    return caught.value


@pytest.mark.parametrize(("call", "field"), REFUSED_CALLS.values(), ids=REFUSED_CALLS)
def test_a_value_that_cannot_be_kept_is_refused_by_name_before_anything_is_written(
    memory: Nagori, call: Callable[[Nagori], object], field: str
) -> None:
    memory.remember("The port of staging is 8443.")
    before = memory.runtime.journal.last_seq(OWNER)
    fault = attempt(memory, call)
    assert field in str(fault)
    assert memory.runtime.journal.last_seq(OWNER) == before
    assert memory.remember("Another thing.").id in {m.id for m in memory.list()}
    assert memory.rebuild() > 0
    assert memory.verify().sound


BAD_FIELDS: list[tuple[str, Any]] = [
    ("mentions", 1e19),
    ("mentions", 2**63),
    ("mentions", -1),
    ("recalls", 2**63 - 1),
    ("recalls", 2**63),
    ("version", 2**64),
    ("source", {"turn": 2**63}),
    ("source", {"turn": -(2**70)}),
    ("coefficient", 0),
    ("coefficient", 1e400),
    ("mentions", 10**400),
    ("protected", 1),
    ("keywords", [5]),
    ("level", 2**70),
    ("emotion", {"tags": [[]]}),
    ("emotion", {"valence": []}),
    ("created", 5),
    ("kind", []),
]


@pytest.mark.parametrize(("name", "value"), BAD_FIELDS)
def test_an_import_with_a_value_that_cannot_be_kept_names_the_line_and_takes_the_others(
    memory: Nagori, clock: FrozenClock, name: str, value: Any
) -> None:
    good = {**RECORD, "id": "mem_b"}
    lines = [json.dumps({"memory": {**RECORD, name: value}}), json.dumps({"memory": good})]
    report = memory.import_(lines)
    assert report.added == 1
    assert len(report.faults) == 1
    assert name in str(report.faults[0])
    assert "line 1" in str(report.faults[0])
    for _ in range(3):
        clock.forward(days=1)
        memory.recall("x")
        memory.cycle()
    memory.remember("Another thing.")
    memory.rebuild()
    assert memory.verify().sound


def test_the_largest_counts_an_import_may_bring_survive_the_next_nights(
    memory: Nagori, clock: FrozenClock
) -> None:
    most = 10**12
    line = json.dumps({"memory": {**RECORD, "recalls": most, "mentions": most, "version": most}})
    memory.import_([line])
    memory.remember("Something else entirely.")
    for _ in range(3):
        clock.forward(days=1)
        memory.recall("x")
        memory.cycle()
        memory.remember("Something else entirely.")
    memory.rebuild()
    assert memory.verify().sound


# --- a journal that is poisoned already -----------------------------------------------------------

FORMED = {"id": "mem_poison", "created": "2026-01-01T00:00:00+00:00", "texts": {"1": {"content": "poison"}}}
POISON: dict[str, Event] = {
    "mentions of 64 bits": Event("imported", NOW, {"memory": {**FORMED, "mentions": 2**63}}, "mem_poison"),
    "recalls at the edge": Event("imported", NOW, {"memory": {**FORMED, "recalls": 2**63 - 1}}, "mem_poison"),
    "protected is a number": Event("formed", NOW, {"memory": {**FORMED, "protected": 1}}, "mem_poison"),
    "keywords of numbers": Event("formed", NOW, {"memory": {**FORMED, "keywords": [5]}}, "mem_poison"),
    "a turn of 128 bits": Event(
        "formed", NOW, {"memory": {**FORMED, "source": {"turn": 2**127}}}, "mem_poison"
    ),
    "no memory at all": Event("formed", NOW, {}, "mem_poison"),
    "a memory that is a list": Event("formed", NOW, {"memory": []}, "mem_poison"),
    "a memory without text": Event(
        "formed", NOW, {"memory": {**FORMED, "texts": {"4": {"content": "x"}}}}, "mem_poison"
    ),
    "recalled names that are lists": Event("recalled", NOW, {"memories": [["a"], {"b": 1}]}),
    "recalled is a number": Event("recalled", NOW, {"memories": 5}),
    "a session that is a list": Event("recalled", NOW, {"memories": [], "session": ["a"]}),
    "a turn with a huge number": Event(
        "turn_recorded", NOW, {"session": "s", "role": "user", "text": "hi", "index": 2**70}
    ),
    "a turn with a list as speaker": Event(
        "turn_recorded", NOW, {"session": "s", "role": "user", "text": "hi", "speaker": ["x"]}
    ),
    "a turn with a number as speaker": Event(
        "turn_recorded", NOW, {"session": "s", "role": "user", "text": "hi", "speaker": 5}
    ),
    "a turn numbered true": Event(
        "turn_recorded", NOW, {"session": "s", "role": "user", "text": "hi", "index": True}
    ),
    "a turn that says nothing": Event("turn_recorded", NOW, {}),
    "processed turns of 128 bits": Event("turns_processed", NOW, {"turns": [[1, 2**127]]}),
    "processed turns that are texts": Event("turns_processed", NOW, {"turns": ["ab"]}),
    "an origin of 128 bits": Event("formed", NOW, {"memory": FORMED, "turns": [2**100]}, "mem_poison"),
    "redacted turns of 128 bits": Event("redacted", NOW, {"memories": [], "turns": [2**100]}),
    "redacted memories that are lists": Event("redacted", NOW, {"memories": [["a"]]}),
    "a cycle linked up to 128 bits": Event("cycle_finished", NOW, {"linked": 2**127}),
    "a link to itself of no type": Event("linked", NOW, {"target": "mem_b", "type": ["x"]}, "mem_poison"),
    "a link with a half character": Event(
        "linked", NOW, {"target": "mem_\\ud800", "type": "continues"}, "mem_poison"
    ),
    "sessions of lists": Event("session_briefed", NOW, {"session": "s", "shown": 5}),
    "a state without a key": Event("state_changed", NOW, {}),
    "a state whose key is a list": Event("state_changed", NOW, {"key": ["x"], "value": 1}),
    "sessions spoilt": Event("state_changed", NOW, {"key": "sessions", "value": 5}),
    "open prompts spoilt": Event("state_changed", NOW, {"key": "open_prompts", "value": "x"}),
    "redaction list spoilt": Event("state_changed", NOW, {"key": "to_redact", "value": 7}),
    "linked spoilt": Event("state_changed", NOW, {"key": "linked", "value": "x"}),
    "cycle spoilt": Event("state_changed", NOW, {"key": "cycle", "value": "x"}),
    "passed over spoilt": Event("state_changed", NOW, {"key": "passed_over", "value": "x"}),
}
NO_EVENTS: dict[str, Event] = {
    "data that is a list": Event("formed", NOW, [1, 2], "mem_poison"),  # type: ignore[arg-type]
    "data that is a text": Event("edited", NOW, "no", "mem_poison"),  # type: ignore[arg-type]
    "a name that is a list": Event("forgotten", NOW, {}, ["a"]),  # type: ignore[arg-type]
    "a name that is an object": Event("forgotten", NOW, {}, {"a": 1}),  # type: ignore[arg-type]
}
DEEP: dict[str, str] = {
    "a level of 128 bits": '{"level":' + str(2**127) + ',"text":{"trigger":"","content":"x"}}',
    "a text that is a number": '{"level":2,"text":5}',
    "an emotion that is a list": '{"emotion":[]}',
    "an anchor that is a number": '{"anchor":5,"coefficient":0.5}',
    "an anchor in year 1": '{"anchor":"0001-01-01T00:00:00+14:00","coefficient":0.5}',
    "a coefficient that is infinite": '{"anchor":"2026-01-01T00:00:00+00:00","coefficient":1e999}',
    "a coefficient of 0": '{"anchor":"2026-01-01T00:00:00+00:00","coefficient":0}',
}
TYPES_OF_DEEP = ("compressed", "edited", "reinforced", "revival_deferred", "appraised", "undone")


def write_raw(folder: Path, events: list[Event]) -> None:
    """Lines as a version with fewer checks wrote them."""
    path = folder / "journal" / "local" / "me" / "00000001.jsonl"
    with path.open("ab") as file:
        last = json.loads(path.read_bytes().splitlines()[-1])["seq"]
        for event in events:
            line, _ = encode([event], last)
            last += 1
            file.write(line)


def assert_served(folder: Path, good: str, clock: FrozenClock, *, told: bool = True) -> None:
    for fresh_store in (False, True):
        if fresh_store:
            for file in folder.glob("nagori.db*"):
                file.unlink()
        with Nagori.open(folder, clock=clock, embedder=WordEmbedder()) as memory:
            assert good in {m.id for m in memory.list()}
            assert memory.recall("staging port")[0].memory.id == good
            kept = memory.remember(f"Said after the poison {fresh_store} {uuid4()}.")
            assert memory.show(kept.id).text.content == kept.text.content
            memory.context("Where is the port of staging?", session="s")
            memory.turn("A turn after the poison.", session="s")
            memory.process()
            memory.edit(good, trigger=f"ports {fresh_store}")
            memory.undo(good)
            list(memory.export())
            memory.status()
            memory.why(good)
            memory.populations(past=5)
            clock.forward(days=1)
            memory.cycle()
            proof = memory.verify()
            assert not proof.store
            assert not proof.differing
            memory.rebuild()
            assert good in {m.id for m in memory.list()}
            findings = [f for f in memory.doctor() if f.name == "journal" and f.state != "ok"]
            if told:
                assert any("could not be applied" in f.detail for f in findings)


@pytest.mark.parametrize("name", POISON)
def test_a_journal_with_an_event_that_cannot_be_applied_is_served_and_rebuilt(
    tmp_path: Path, clock: FrozenClock, name: str
) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, clock=clock, embedder=WordEmbedder()) as memory:
        good = memory.remember("The port of staging is 8443.").id
    write_raw(folder, [POISON[name]])
    told = name not in APPLICABLE
    assert_served(folder, good, clock, told=told)


# Strange, but nothing that a store could not hold or a reader not understand.
APPLICABLE = {"a link with a half character", "a session that is a list"}


@pytest.mark.parametrize("name", NO_EVENTS)
def test_a_line_with_a_right_checksum_that_is_no_event_is_damage_and_the_rest_is_served(
    tmp_path: Path, clock: FrozenClock, name: str
) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, clock=clock, embedder=WordEmbedder()) as memory:
        good = memory.remember("The port of staging is 8443.").id
    write_raw(folder, [NO_EVENTS[name]])
    with Nagori.open(folder, clock=clock, embedder=WordEmbedder()) as memory:
        assert memory.recall("staging port")[0].memory.id == good
        kept = memory.remember("Said after it.").id
        assert (
            next(str(d.problem).split(":")[0] for v in memory.verify().journals for d in v.damage)
            == "The line is not an event"
        )
        with pytest.raises(JournalError):
            memory.rebuild()
        memory.rebuild(accept_damage=True)
        assert {m.id for m in memory.list()} == {good, kept}


@pytest.mark.parametrize("name", DEEP)
def test_a_change_of_a_known_memory_that_cannot_be_applied_is_passed_over(
    tmp_path: Path, clock: FrozenClock, name: str
) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, clock=clock, embedder=WordEmbedder()) as memory:
        good = memory.remember("The port of staging is 8443.").id
    data = json.loads(DEEP[name])
    types = ("compressed",) if "level" in data else TYPES_OF_DEEP
    whole = [Event(type, NOW, data, good) for type in types]
    lines = []
    for event in whole:
        try:
            encode([event], 1)
        except InvalidInput:
            continue
        lines.append(event)
    write_raw(folder, lines)
    assert_served(folder, good, clock, told=bool(lines) and name != "a coefficient that is infinite")


def test_what_was_passed_over_is_told_by_verify_and_doctor(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, clock=clock) as memory:
        memory.remember("The port of staging is 8443.")
    write_raw(folder, [POISON["mentions of 64 bits"]])
    with Nagori.open(folder, clock=clock) as memory:
        proof = memory.verify()
        assert proof.sound
        assert len(proof.passed_over) == 1
        assert "Event 2 cannot be applied: imported: memory.mentions" in str(proof.passed_over[0])
        warned = [f for f in memory.doctor() if f.state == "warn" and "could not be applied" in f.detail]
        assert len(warned) == 1


def test_a_bundle_with_one_bad_draft_names_it_and_writes_nothing_of_the_bundle(memory: Nagori) -> None:
    bad = Draft("bad")
    object.__setattr__(
        bad, "source", build_unchecked(Source, {**vars(Source()), "turn": 2**80})
    )  # as no caller can
    with pytest.raises(InvalidInput, match="turn"):
        memory.remember_many([Draft("good"), bad, Draft("also good")])
    assert memory.list() == []
    assert memory.runtime.journal.last_seq(OWNER) == 0
