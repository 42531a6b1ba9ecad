"""Test data: memories, vectors, turns and histories, given in part or drawn at random."""

from __future__ import annotations

import random
from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from nagori.core.events import RecordedTurn
from nagori.core.model import (
    ALIVE,
    Credit,
    Emotion,
    Filter,
    Item,
    Kind,
    Level,
    Memory,
    Privacy,
    Relation,
    RelationType,
    Scope,
    Source,
    TaskOutcome,
    Text,
)
from nagori.core.relevance import Query
from nagori.core.storage_types import AppliedPosition, Batch, LogEntry, Vector
from nagori.protocols import Store

ME = Scope(user="me")
OTHER = Scope(user="somebody else")
ASKERS = (
    ME,
    OTHER,
    Scope(user="me", project="p"),
    Scope(user="me", agent="a1", role="coder"),
    Scope(user="me", agent="a2", role="coder", project="q"),
    Scope(user="me", unnamed_agent=True),
    Scope(user="nobody"),
)
BIRTH = datetime(2026, 4, 1, 9, 0, tzinfo=UTC)
EVERYTHING = Filter(archived=True, forgotten=True)
WORDS = ("lantern", "river", "copper", "月", "京都")
FILTERS = (
    Filter(),
    EVERYTHING,
    Filter(kinds=frozenset({Kind.FACT}), archived=True),
    Filter(protected=True),
    Filter(unembedded="m3", forgotten=True),
    Filter(unembedded="unheard of"),
    Filter(prefix="mem_1"),
    Filter(unappraised=True),
)


# --- one of each ----------------------------------------------------------------------------------


def memory(id: str = "mem_a", content: str = "The kettle whistles at noon.", **more: object) -> Memory:
    """A memory with only what matters said."""
    level = more.pop("level", Level.FULL)
    texts = more.pop("texts", {Level.FULL: Text("", content)})
    fields: dict[str, object] = {"created": BIRTH, "anchor": BIRTH, "level": level, "texts": texts, **more}
    return Memory(id=id, **fields)  # type: ignore[arg-type]


def vector(*numbers: float, size: int = 8) -> bytes:
    """A vector that begins with `numbers` and goes on with zeros."""
    return array("f", [*numbers, *[0.0] * (size - len(numbers))]).tobytes()


def turn(seq: int, text: str = "said", **more: Any) -> RecordedTurn:
    """A turn of session s1, with only what matters said."""
    fields: dict[str, Any] = {"id": f"turn_{seq}", "at": BIRTH, "session": "s1", "role": "user", **more}
    return RecordedTurn(seq=seq, text=text, **fields)


# --- into a store ---------------------------------------------------------------------------------


def put(
    store: Store,
    *memories: Memory,
    scope: Scope = ME,
    vectors: Mapping[str, bytes] | None = None,
    model: str = "m3",
    **more: Any,
) -> int:
    """Commit memories the way the ledger does, one log line for all; `more` are other fields of the batch.
    The number of the event."""
    before = store.applied(scope.owner).seq
    after: int = max([before + 1, *(turn.seq for turn in more.get("turns", ()))])
    by_id = {m.id: m for m in memories}
    log = [LogEntry(after, BIRTH, "formed", tuple(by_id))]
    given = {id: Vector(model, by_id[id].digest, data) for id, data in (vectors or {}).items()}
    fields = {"memories": memories, "log": log, "vectors": given, **more}
    store.commit(scope.owner, Batch(before=before, after=AppliedPosition(after), **fields))
    return after


def give(store: Store, model: str, id: str, size: int = 16) -> int:
    """Give a memory of ours its vector of `model`."""
    [known] = store.get(ME, [id])
    return store.vectors.put(ME.owner, {id: Vector(model, known.digest, vector(1, 1, size=size))})


# --- out of a store -------------------------------------------------------------------------------


def ids_with_words(
    store: Store, words: str | Sequence[str], scope: Scope = ME, filter: Filter = ALIVE
) -> set[str]:
    """The memories in which any of the words (tokens) stand."""
    query = Query(words=[words] if isinstance(words, str) else words, filter=filter)
    return {id for where in store.candidates(scope, query).places.values() for id in where}


def nearest(store: Store, data: bytes, scope: Scope = ME, filter: Filter = ALIVE) -> list[str]:
    """The memories nearest to a vector of m3."""
    [hits] = store.vectors.nearest(scope, [data], "m3", 5, filter)
    return [hit.id for hit in hits]


# --- histories ------------------------------------------------------------------------------------


def another_day(life: Memory, words: Sequence[str], dice: random.Random) -> Memory:
    """One step up or down, other words, or nothing but a mark."""
    said = life.text.content.split()
    step = dice.choice(("fade", "fade", "edit", "restore", "recall"))
    if step == "fade" and life.level < Level.ARCHIVED:
        level = Level(life.level + 1)
        shorter = Text("", " ".join(dice.sample(said, max(1, len(said) // 2))))
        return life.evolve(level=level, texts=life.texts | {level: shorter})
    if step == "edit":
        return life.evolve(level=Level.FULL, texts={Level.FULL: Text("", " ".join(dice.sample(words, 9)))})
    if step == "restore":
        return life.evolve(level=Level.FULL, texts={Level.FULL: life.texts[Level.FULL]})
    if dice.random() < 0.5:
        return life.evolve(credit=Credit(life.version, 1.5, unused=dice.randrange(9)))
    return life.evolve(recalled_at=BIRTH + timedelta(days=life.version))


def random_memory(id: str, dice: random.Random) -> Memory:
    level = dice.choice(list(Level))
    return memory(
        id,
        " ".join(dice.choices(WORDS, k=3)),
        version=dice.randrange(1, 99),
        created=BIRTH + timedelta(minutes=dice.randrange(1000)),
        kind=dice.choice(list(Kind)),
        level=level,
        archived_at=BIRTH + timedelta(days=dice.randrange(5)) if level is Level.ARCHIVED else None,
        privacy=dice.choice(list(Privacy)),
        project=dice.choice([None, "p", "q"]),
        agent=dice.choice([None, "a1", "a2"]),
        role=dice.choice([None, "coder", "critic"]),
        protected=dice.random() < 0.2,
        forgotten_at=BIRTH if dice.random() < 0.2 else None,
        recalled_at=BIRTH + timedelta(days=dice.randrange(9)) if dice.random() < 0.3 else None,
        revival_at=BIRTH + timedelta(days=dice.randrange(15)) if dice.random() < 0.3 else None,
        emotion=Emotion(dice.randrange(100)),
        coefficient=dice.choice([0.7, 0.95, 1.0]),
        recalls=dice.randrange(4),
        source=Source("s1", dice.randrange(9)) if dice.random() < 0.5 else Source(),
        appraised_by=dice.choice([None, "a model"]),
        task=dice.choice([None, "t1", "作業"]),
        outcome=dice.choice([None, *TaskOutcome]),
        credit=random_credit(dice),
    )


def random_credit(dice: random.Random) -> Credit:
    """No credit, or some."""
    if dice.random() < 0.5:
        return Credit()
    return Credit(used=dice.randrange(9) / 4, withheld=dice.randrange(9), unused=dice.randrange(9))


def random_turn(seq: int, dice: random.Random) -> RecordedTurn:
    return turn(
        seq,
        " ".join(dice.choices(WORDS, k=3)),
        id=f"turn_{dice.randrange(30)}",
        session=dice.choice(("s1", "s2")),
        index=dice.choice((None, None, dice.randrange(20))),
        processed=dice.random() < 0.3,
        speaker=dice.choice((None, "Aki")),
    )


def random_item(dice: random.Random) -> Item:
    labels = dice.choice((("a",), ("a", "b"), ("ab",), ("a", "b", "名残"), ("\x01", "\x02\x01")))
    at = BIRTH + timedelta(hours=dice.randrange(99))
    ttl = dice.choice((None, timedelta(hours=9)))
    key = dice.choice(("k", "K", "1", "会議", ""))
    return Item(labels, key, f"[{dice.random()}]", BIRTH, at, ttl, None if ttl is None else at + ttl)


def random_change(dice: random.Random, seq: int) -> dict[str, Any]:
    """What `put` takes beside a store: memories and everything that may come with them, after event `seq`."""
    memories = {f"mem_{dice.randrange(12)}": None for _ in range(dice.randint(0, 3))}
    drawn = {id: random_memory(id, dice) for id in memories}
    ends = (f"mem_{dice.randrange(12)}", f"mem_{dice.randrange(12)}")
    others = [f"mem_{n}" for n in range(12) if f"mem_{n}" not in drawn]
    first = dice.randrange(1, seq + 2)
    another = BIRTH + timedelta(hours=dice.randrange(99))
    return {
        "memories": list(drawn.values()),
        "links": {Relation(*ends, dice.choice(list(RelationType))): dice.random() < 0.8},
        "vectors": {id: random_vector(dice) for id in drawn if dice.random() < 0.7},
        "turns": [random_turn(seq + n, dice) for n in range(1, dice.randint(1, 3))],
        "processed": [(first, first + dice.randrange(5))] if dice.random() < 0.3 else [],
        "origins": [(id, dice.randrange(1, seq + 2)) for id in drawn],
        "state": {dice.choice("abc"): dice.choice((None, "2026", "2027", 7, {"deep": ["er"]}))},
        "erased": [dice.choice(others)] if dice.random() < 0.2 else [],
        "items": {item.id: item if dice.random() < 0.8 else None for item in [random_item(dice)]},
        "renewals": {random_item(dice).id: another} if dice.random() < 0.3 else {},
        "redacted_turns": [dice.randrange(1, seq + 2)] if dice.random() < 0.1 else [],
    }


def random_vector(dice: random.Random) -> bytes:
    return vector(*(dice.uniform(-1, 1) for _ in range(3)))


def live(engines: Sequence[Store], dice: random.Random, days: int = 40) -> None:
    """The same random history in every engine."""
    for _ in range(days):
        scope = dice.choice((ME, OTHER))
        change = random_change(dice, engines[0].applied(scope.owner).seq)
        memories = change.pop("memories")
        for engine in engines:
            put(engine, *memories, scope=scope, **change)
