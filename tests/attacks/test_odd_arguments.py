"""Whatever a caller gives to a public verb, it is done or refused by an error of ours that names the fault;
and afterwards the next `remember`, `recall` and `rebuild` work.

A few hundred examples by default; NAGORI_ODD=20000 tries as many.
"""

import json
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import share_of

from nagori import Draft, Emotion, Filter, Nagori, Scope, Source, Turn
from nagori.config import Config
from nagori.errors import InvalidInput, NagoriError
from nagori.testing import FrozenClock, WordEmbedder

EXAMPLES = int(os.environ.get("NAGORI_ODD") or share_of(300))  # read before the tests clear the environment
REBUILT_EVERY, MOVED_EVERY = 50, 1000  # examples


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("cannot be shown")


DEEP: list[Any] = []
for _ in range(2000):
    DEEP = [DEEP]

ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400, 10**5000),
    *(0.0, -0.0, 0.5, 1e308, float("nan"), float("inf"), float("-inf"), 1j, Decimal("1.5")),
    *(
        "",
        " ",
        "x",
        "mem_",
        "mem_aaaaaaaaaaaaaaaa",
        "\ud800",
        "a\udfffb",
        "\0",
        "\x1b[31m",
        "\r\n",
        "\u202e",
        "%s{0}{x}",
    ),
    *("%", "'; DROP TABLE memory; --", '"' * 3, "*", "NEAR(", "a" * 300, "あ" * 5000, "<private>", "[" * 500),
    *(b"", b"x", b"\xff\xfe", bytearray(b"x"), [], [1], ["x"], [None], [[]], (), ("x",), (5,), {}, {"a": 1}),
    *(
        set(),
        frozenset({"x"}),
        {"x": ["y"]},
        range(3),
        iter([]),
        object(),
        Odd(),
        len,
        int,
        Exception("x"),
        ...,
    ),
    *(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(2026, 1, 1)),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-12))),
    datetime(9999, 12, 31, 23, 59, tzinfo=UTC),
    datetime(2026, 1, 1, tzinfo=UTC),
    *(date(2026, 1, 1), timedelta(days=1), Path("x"), DEEP),
]
odd = st.one_of(
    st.sampled_from(ODD),
    st.text(max_size=20),
    st.integers(),
    st.floats(),
    st.binary(max_size=10),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.lists(st.one_of(st.integers(), st.text(max_size=5), st.none()), max_size=3),
)
some = st.lists(odd, min_size=8, max_size=8)


def draft_fields(v: list[Any]) -> dict[str, Any]:
    names = (
        "trigger",
        "kind",
        "category",
        "emotion",
        "keywords",
        "created",
        "source",
        "trust",
        "privacy",
        "protect",
    )
    return {names[n % len(names)]: v[n] for n in range(3)}


def pick(memory: Nagori) -> str:
    return memory.list(limit=1)[0].id


def erase_all(memory: Nagori) -> None:
    """Somebody is erased and may start again."""
    if memory.scope.user != Scope().user:
        memory.remember("words of somebody")
        memory.erase(memory.plan_erasure(everything=True))
        memory.reopen()


def erase_project(memory: Nagori, name: Any) -> None:
    memory.with_scope(project=name).remember("words of a project")
    memory.erase(memory.plan_erasure(project=name))


NOW = datetime(2026, 4, 1, 9, tzinfo=UTC)
VERBS: dict[str, Callable[[Nagori, list[Any]], object]] = {
    "remember": lambda m, v: m.remember(v[0]),
    "remember with a field": lambda m, v: m.remember("words", **one(DRAFT, v)),
    "remember with two fields": lambda m, v: m.remember("words", **one(DRAFT, v), **{}),
    "remember unknown": lambda m, v: m.remember(
        "words", **{str(v[0])[:20] or "x": v[1]} if text_of(v[0]) else {}
    ),
    "remember source": lambda m, v: m.remember("words", source=Source(**one(SOURCE, v))),
    "remember emotion": lambda m, v: m.remember("words", emotion=Emotion(**one(EMOTION, v))),
    "remember_many": lambda m, v: m.remember_many(v[0]),
    "remember_many of odd things": lambda m, v: m.remember_many([Draft("fine"), v[0]]),
    "form": lambda m, v: m.form(v[0]),
    "form odd things": lambda m, v: m.form([v[0]]),
    "form turns": lambda m, v: m.form(
        [Turn("something said", NOW, **{}), Turn(**{"text": "said", "at": NOW, **one(TURN, v)})]
    ),
    "turn": lambda m, v: m.turn(v[0], session="s"),
    "turn session": lambda m, v: m.turn("said", session=v[0]),
    "turn other": lambda m, v: m.turn("said", session="s", **one(SPOKEN, v)),
    "turn answer": lambda m, v: m.turn("said", session="s").answer(v[0], speaker=v[1], at=v[2]),
    "context": lambda m, v: m.context(v[0]),
    "context session": lambda m, v: m.context("where are the words", session=v[0]),
    "context project": lambda m, v: m.context("where are the words", project=v[0]),
    "recall": lambda m, v: m.recall(v[0]),
    "recall k": lambda m, v: m.recall("words", v[0]),
    "recall with a field": lambda m, v: m.recall("words", **one(QUESTION, v)),
    "recall filter": lambda m, v: m.recall("words", filter=Filter(**one(FILTER, v))),
    "summary": lambda m, v: m.summary(v[0]),
    "summary tokens": lambda m, v: m.summary("s", v[0]),
    "show": lambda m, v: m.show(v[0]),
    "list filter": lambda m, v: m.list(v[0]),
    "list filter's field": lambda m, v: m.list(Filter(**one(FILTER, v))),
    "list limit": lambda m, v: m.list(limit=v[0]),
    "list older": lambda m, v: m.list(older_than=v[0]),
    "as_of": lambda m, v: m.as_of(v[0]),
    "as_of filter": lambda m, v: m.as_of(NOW, Filter(**one(FILTER, v))),
    "why": lambda m, v: m.why(v[0]),
    "why query": lambda m, v: m.why(pick(m), v[0]),
    "populations": lambda m, v: m.populations(v[0], v[1]),
    "edit id": lambda m, v: m.edit(v[0], content="x"),
    "edit": lambda m, v: m.edit(pick(m), **one(EDIT, v)),
    "edit unknown": lambda m, v: m.edit(pick(m), **{"nothing": v[0]}),
    "edit version": lambda m, v: m.edit(pick(m), version=v[0], content="other words"),
    "feedback": lambda m, v: m.feedback(v[0], v[1]),
    "feedback good": lambda m, v: m.feedback(pick(m), v[1]),
    "protect": lambda m, v: m.protect(v[0]),
    "protect release": lambda m, v: m.protect(pick(m), v[0]),
    "protect released": lambda m, v: m.protect(pick(m), [v[0]]),
    "unprotect": lambda m, v: m.unprotect(v[0]),
    "archive": lambda m, v: m.archive(v[0]),
    "unarchive": lambda m, v: m.unarchive(v[0]),
    "forget": lambda m, v: m.forget(v[0]),
    "undo": lambda m, v: m.undo(v[0]),
    "preview": lambda m, v: m.preview(v[0]),
    "cycle": lambda m, v: m.cycle(v[0]),
    "judge": lambda m, v: m.appraise(v[0]),
    "judge_estimate": lambda m, v: m.estimate_appraisal(v[0]),
    "export": lambda m, v: list(m.export(v[0])),
    "import": lambda m, v: m.import_(v[0]),
    "import lines": lambda m, v: m.import_([v[0]]),
    "import format": lambda m, v: m.import_(["x"], v[0]),
    "import markdown": lambda m, v: m.import_(v[0], "markdown"),
    "import markdown lines": lambda m, v: m.import_([v[0]], "markdown"),
    "import_drafts": lambda m, v: m.import_drafts(v[0]),
    "import_drafts of odd things": lambda m, v: m.import_drafts([v[0]]),
    "plan_erasure": lambda m, v: m.plan_erasure(**one(TARGET, v)),
    "erase": lambda m, v: m.erase(v[0]),
    "erase somebody": lambda m, v: erase_all(m.with_scope(user=v[0])),
    "erase a project": lambda m, v: erase_project(m, v[0]),
    "within": lambda m, v: m.with_scope(v[0]).list(),
    "within user": lambda m, v: m.with_scope(user=v[0]).remember("words of somebody"),
    "within others": lambda m, v: m.with_scope(project=v[0], agent=v[1], role=v[2]).remember("words"),
    "within unknown": lambda m, v: m.with_scope(**{"nobody": v[0]}),
    "scope": lambda m, v: m.with_scope(Scope(v[0], v[1])).remember("words of somebody"),
    "backup": lambda m, v: m.backup(v[0]) if odd_path(v[0]) else None,
    "restore": lambda m, v: Nagori.restore(v[0], m.runtime.data_dir / "new", NOW) if odd_path(v[0]) else None,
    "restore stamp": lambda m, v: Nagori.restore(
        m.runtime.data_dir / "none.tar", m.runtime.data_dir / "new", v[0]
    ),
    "prune": lambda m, v: m.prune(v[0]),
    "prune messages": lambda m, v: m.prune(
        [v[0], {"role": "user", "content": v[1]}, {"role": v[2], "content": "x"}]
    ),
    "prune settings": lambda m, v: m.prune([{"role": "user", "content": "x"}], **one(PRUNING, v)),
    "prune before": lambda m, v: m.prune([{"role": "user", "content": "x"}], before=v[0]),
    "conversation": lambda m, v: m.conversation(v[0]).add(v[1]),
}
DRAFT: tuple[str, ...] = (
    "trigger",
    "kind",
    "category",
    "emotion",
    "keywords",
    "created",
    "source",
    "trust",
    "privacy",
    "protect",
)
SOURCE: tuple[str, ...] = ("session", "turn", "speaker", "uri")
EMOTION: tuple[str, ...] = ("intensity", "valence", "arousal", "tags")
TURN: tuple[str, ...] = ("text", "at", "session", "index", "speaker", "role", "uri")
TARGET: tuple[str, ...] = ("everything", "project", "session", "memory", "about")
SPOKEN: tuple[str, ...] = ("role", "speaker", "at")
QUESTION: tuple[str, ...] = ("filter", "ranking", "mood", "session", "tokens", "min_confidence", "mark")
FILTER: tuple[str, ...] = (
    *("kinds", "levels", "categories", "since", "until", "session", "protected", "archived"),
    *("forgotten", "prefix", "unappraised", "unembedded"),
)
EDIT: tuple[str, ...] = ("content", "trigger", "kind", "category", "emotion", "privacy", "metadata")
PRUNING: tuple[str, ...] = (
    "session",
    "format",
    "pins",
    "beside",
    "remember",
    "count",
    "provider",
    "budget",
    "preset",
    "strategy",
    "model",
)


def one(names: tuple[str, ...], values: list[Any]) -> dict[str, Any]:
    """One of the fields, chosen by the last value."""
    try:
        chosen = hash(repr(values[7])) % len(names)
    except Exception:
        chosen = 0
    return {names[chosen]: values[0]}


def text_of(value: Any) -> bool:
    return isinstance(value, str)


def odd_path(value: Any) -> bool:
    """Whether it names no real place: a test must not write into the folder it runs in."""
    return not isinstance(value, str | bytes | Path) or not value or "\0" in str(value)


class House:
    """One memory for many examples: what one leaves behind, the next one meets."""

    def __init__(self) -> None:
        self.count = 0
        self.move_in()

    def move_in(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FrozenClock()
        parts = {"config": Config(), "clock": self.clock, "embedder": WordEmbedder()}
        self.memory = Nagori.open(self.folder.name + "/data", **parts)  # type: ignore[arg-type]
        self.memory.remember("The first words are here.", source=Source("s", 1))

    def move_out(self) -> None:
        self.rebuild()
        self.memory.close()
        self.folder.cleanup()

    def check(self) -> None:
        self.count += 1
        self.clock.forward(seconds=1)
        kept = self.memory.remember(f"The next words, number {self.count}, are kept.")
        assert self.memory.show(kept.id).text.content == kept.text.content
        assert self.memory.recall(f"next words number {self.count}", mark=False)
        self.memory.forget(kept.id)
        if self.count % REBUILT_EVERY == 0:
            self.rebuild()
        if self.count % MOVED_EVERY == 0:
            self.move_out()
            self.move_in()

    def rebuild(self) -> None:
        self.memory.rebuild()
        assert self.memory.verify().sound
        self.memory.cycle()


@pytest.fixture(scope="module")
def house() -> Any:
    made = House()
    yield made
    made.move_out()


ours = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None, database=None)


@ours
@given(verb=st.sampled_from(sorted(VERBS)), values=some)
def test_a_verb_takes_an_odd_argument_or_refuses_it_by_name(
    house: House, verb: str, values: list[Any]
) -> None:
    try:
        VERBS[verb](house.memory, values)
    except InvalidInput as refused:
        assert refused.field
        assert str(refused)
    except NagoriError as refused:
        assert str(refused)
    except TypeError:
        # A misspelt keyword is Python's own error; a caller's own function fails in its own words.
        assert verb.endswith(" unknown") or (verb == "prune settings" and callable(values[0]))
    house.check()


def plain(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return value


RECORD: dict[str, Any] = {
    "id": "mem_import",
    "created": "2026-01-01T00:00:00+00:00",
    "anchor": "2026-01-01T00:00:00+00:00",
    "texts": {"1": {"trigger": "t", "content": "imported words"}},
    "kind": "fact",
    "category": "work",
    "level": 1,
    "emotion": {"intensity": 40.0, "valence": "neutral", "arousal": 30.0, "tags": []},
    "coefficient": 0.99,
    "keywords": ["imported"],
    "trust": "import",
    "privacy": "public",
    "project": "p",
    "agent": "a",
    "role": "r",
    "source": {"session": "s", "turn": 1, "speaker": "x", "uri": "u"},
    "protected": False,
    "mentions": 1,
    "recalls": 0,
    "recalled_at": "2026-01-01T00:00:00+00:00",
    "reinforced_at": "2026-01-01T00:00:00+00:00",
    "superseded_by": "mem_other",
    "appraised_by": "user",
    "archived_at": "2026-01-01T00:00:00+00:00",
    "archive_reason": "manual",
    "keep_until": "2026-01-01T00:00:00+00:00",
    "revival_at": "2026-01-01T00:00:00+00:00",
    "forgotten_at": "2026-01-01T00:00:00+00:00",
    "version": 3,
}
INNER = {
    "emotion": tuple(RECORD["emotion"]),
    "source": tuple(RECORD["source"]),
    "texts": ("1", "2", "4", "x", ""),
}
TIMES = [
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
    "2026-01-01",
    "2026-01-01T00:00:00",
    "now",
    "0",
]


@ours
@given(
    field=st.sampled_from([*RECORD, "whole", "relation", "line", "unknown"]),
    inner=st.integers(0, 10),
    value=st.one_of(
        odd,
        st.sampled_from(TIMES),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=4),
            lambda c: st.lists(c, max_size=3) | st.dictionaries(st.text(max_size=3), c, max_size=3),
            max_leaves=6,
        ),
    ),
    number=st.integers(0, 10**6),
)
def test_an_import_takes_an_odd_record_or_names_its_line(
    house: House, field: str, inner: int, value: Any, number: int
) -> None:
    value = plain(value)
    record = {**RECORD, "id": f"mem_import{number}"}
    if field in INNER and inner < 8:
        names = INNER[field]
        part = dict(record[field])
        part[names[inner % len(names)]] = value
        record[field] = part
    else:
        record[field] = value
    item: Any = {"memory": record}
    if field == "whole":
        item = {"memory": value}
    elif field == "relation":
        relation = {"source": "mem_import1", "target": "mem_import2", "type": "continues"}
        relation[("source", "target", "type")[inner % 3]] = value
        item = {"relation": relation if inner < 9 else value}
    elif field == "line":
        item = value
    report = house.memory.import_([json.dumps(item)])
    assert all(str(fault).startswith("line 1") for fault in report.faults)
    house.check()
