"""Form: what was said in a conversation becomes memories, one for each turn [E14].

A long message becomes several, each with the feeling, the category and the kind that rules read from it
[E3, E4]. What the same speaker has said before in the same words is bundled with it: the older memory is
mentioned once more. What takes something back marks it as superseded; both stay.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from nagori.core.events import Event
from nagori.core.model import Filter, Kind, Memory, RelationType, Scope, Source, Trust, Turn
from nagori.core.relevance import Query, bm25, relevance
from nagori.core.storage import Vector
from nagori.core.values import Value, batched, replace
from nagori.errors import InvalidInput, LimitReached, StoreError
from nagori.language.appraisal import appraise
from nagori.language.lexicon import speaks_of
from nagori.language.passages import alike, pieces, shingles
from nagori.language.tokenizer import tokens
from nagori.runtime import Parts
from nagori.services.linking import linking, superseding
from nagori.services.remember import AT_ONCE, Draft, compose, embed, keep, known_by, scrubbed

LASTING = 45.0  # least intensity of a fact: a summary of it is left after half a year
NEAREST = 2  # older memories that a new one is compared with
# A correction knows its object by its meaning (spreads above the usual cosine) and some of its words (their
# share by rarity), or by many of its words alone: among a handful of memories nothing is usual yet.
SAME_MATTER, SOME_WORDS, MANY_WORDS = 2.2, 0.10, 0.40
ENOUGH_WORDS = 0.30  # for a mere tie: a wrong one takes nothing back
LOOKED_AT = 50
NEIGHBOURS = 2  # turns


class Said(Value):
    """A turn, and the event that recorded it."""

    turn: Turn
    seq: int


class _Formed(Value):
    memory: Memory
    seq: int  # of the turn it comes from
    speaks_of: RelationType | None  # something said before


def form_said(parts: Parts, scope: Scope, said: Iterable[Said]) -> list[Memory]:
    """Memories of recorded turns. Forming the same turns again adds nothing."""
    kept: list[Memory] = []
    for bundle in batched((each for one in said for each in _formed(parts, scope, one)), AT_ONCE):
        kept += _keep(parts, scope, bundle)
    return kept


def _formed(parts: Parts, scope: Scope, said: Said) -> Iterator[_Formed]:
    """What one turn becomes; only a user can wish for protection or take something back."""
    turn = said.turn
    source = Source(turn.session, turn.index, turn.speaker, turn.uri)
    # Scrubbed before it is cut: half of a private passage or of a key does not look like one.
    for piece in pieces(scrubbed(parts, turn.text)):
        if not piece.strip():
            continue
        felt = appraise(piece, speaker_role=turn.role)
        draft = Draft(
            piece,
            kind=felt.kind,
            category=felt.category,
            emotion=felt.emotion,
            created=turn.at,
            source=source,
            trust=turn.role,
            protect=felt.protect,
        )
        if felt.kind is Kind.FACT:  # said calmly, and yet meant to last [ruling 4]
            lasting = replace(felt.emotion, intensity=max(felt.emotion.intensity, LASTING))
            draft = replace(draft, emotion=lasting)
        tie = RelationType.CONTRADICTS if felt.correction else speaks_of(piece)
        yield _Formed(compose(parts, scope, draft), said.seq, tie if turn.role is Trust.USER else None)


def _keep(parts: Parts, scope: Scope, bundle: Sequence[_Formed]) -> list[Memory]:
    bundle = list({each.memory.id: each for each in bundle}.values())  # a turn may say the same twice
    memories = [each.memory for each in bundle]
    vectors = embed(parts, scope, memories)
    echoes = _echoes(parts, scope, memories, vectors)
    new = [memory for memory in memories if memory.id not in echoes]
    origins = {each.memory.id: (each.seq,) for each in bundle}
    try:
        kept = keep(parts, scope, new, vectors, origins)
    except LimitReached as full:
        # Nobody can be asked here which protected memory may fade: the words are kept, the wish is told.
        parts.tell("protection.full", limit=full.limit)
        kept = keep(parts, scope, [replace(memory, protected=False) for memory in new], vectors, origins)
    _mention(parts, scope, echoes, {memory.id for memory in memories if memory.protected}, origins)
    for each in bundle:
        if each.speaks_of:
            _tie(parts, scope, each.memory, each.speaks_of, vectors.get(each.memory.id))
    by_id = {memory.id: now for memory, now in zip(new, kept, strict=True)}
    return [by_id.get(memory.id) or by_id.get(echoes[memory.id].id, echoes[memory.id]) for memory in memories]


# --- said again -----------------------------------------------------------------------------------


def _echoes(
    parts: Parts, scope: Scope, memories: Sequence[Memory], vectors: Mapping[str, Vector]
) -> dict[str, Memory]:
    """New memories that say what an older one says, by their ids, with the older one."""
    echoes: dict[str, Memory] = {}
    first: dict[tuple[object, ...], Memory] = {}
    known = known_by(parts, scope, [memory.id for memory in memories])
    for memory in memories:
        if memory.id in known:
            continue
        mark = (*_whose(memory), shingles(memory.text.content))
        older = first.get(mark) or _older(parts, scope, memory, vectors.get(memory.id))
        if older is not None:
            echoes[memory.id] = older
        else:
            first[mark] = memory
    return echoes


def _older(parts: Parts, scope: Scope, memory: Memory, vector: Vector | None) -> Memory | None:
    try:
        if vector is not None:
            [hits] = parts.vectors.nearest(scope, [vector.data], vector.model, NEAREST)
            ids = [hit.id for hit in hits]
        else:
            ids = _by_words(parts, scope, memory)
        found = parts.store.get(scope, ids)
    except (StoreError, InvalidInput):  # InvalidInput: a vector that is not of the model's dimension
        return None
    said = shingles(memory.text.content)
    return next((other for other in found if _repeats(memory, other, said)), None)


def _by_words(parts: Parts, scope: Scope, memory: Memory) -> list[str]:
    """The memories that share most of its rare words."""
    query = Query(list(dict.fromkeys(tokens(memory.searchable))))
    best = bm25(parts.store.candidates(scope, query))
    return sorted(best, key=lambda id: (-best[id], id))[:NEAREST]


def _repeats(memory: Memory, other: Memory, said: frozenset[str]) -> bool:
    """The same words by the same speaker, where they belong to the same people."""
    return _whose(memory) == _whose(other) and alike(said, shingles(other.text.content))


def _whose(memory: Memory) -> tuple[object, ...]:
    return (memory.source.speaker, memory.trust, memory.project, memory.agent, memory.role, memory.privacy)


def _mention(
    parts: Parts,
    scope: Scope,
    echoes: Mapping[str, Memory],
    wishes: Container[str],
    origins: Mapping[str, Sequence[int]],
) -> None:
    """Count each repetition once: the turn's id goes into the log, where it is found when the same turn is
    told again."""

    def decide() -> list[Event]:
        now, events = parts.clock.now(), []
        for turn, older in echoes.items():
            if not parts.store.history(scope.space, turn):
                data = {"turn": turn, "turns": list(origins[turn])}
                events.append(Event("mentioned", now, data, older.id))
            if turn in wishes and not older.protected:
                events.append(Event("protected", now, {}, older.id))
        return events

    if echoes:
        parts.ledger.write(scope.space, decide)


# --- spoken of before -----------------------------------------------------------------------------


def correct(parts: Parts, scope: Scope, memory: Memory) -> Memory:
    """A memory that was told by hand may speak of another one, too."""
    tie = speaks_of(memory.text.content)
    if tie is None:
        return memory
    _tie(parts, scope, memory, tie, embed(parts, scope, [memory]).get(memory.id))
    return known_by(parts, scope, [memory.id]).get(memory.id, memory)


def _tie(parts: Parts, scope: Scope, memory: Memory, tie: RelationType, vector: Vector | None) -> None:
    """Take back, carry on or mention what a memory speaks of, where it is plain which one that is."""
    try:
        old = _object(parts, scope, memory, vector, own=tie is RelationType.CONTRADICTS)
    except (StoreError, InvalidInput):
        return  # the words are kept; what they speak of can wait
    if old is None:
        return
    now = parts.clock.now()
    if tie is not RelationType.CONTRADICTS:
        events = [] if _neighbours(old, memory) else [linking(memory, old, tie, now)]
    else:
        events = [] if old.superseded_by else superseding(memory, old, now)
    if events:
        parts.ledger.write(scope.space, lambda: events)


def _neighbours(old: Memory, new: Memory) -> bool:
    """Turns that follow each other belong together anyway."""
    same = old.source.session is not None and old.source.session == new.source.session
    return same and (new.source.turn or 0) - (old.source.turn or 0) <= NEIGHBOURS


def _object(parts: Parts, scope: Scope, memory: Memory, vector: Vector | None, *, own: bool) -> Memory | None:
    """The older memory that one speaks of (`own`: of the same speaker): nearest in meaning, and with some of
    its rare words. Without vectors nobody can tell speaking of this from speaking of that."""
    if vector is None:
        return None
    words = list(dict.fromkeys(tokens(memory.text.content)))
    past = Filter(until=memory.created + timedelta(microseconds=1))
    query = Query(words, vector.data, vector.model, LOOKED_AT, past)
    evidence = parts.store.candidates(scope, query)
    alone = {id: sketch._replace(session=None) for id, sketch in evidence.sketches.items()}
    terms = relevance(replace(evidence, sketches=alone))
    many = MANY_WORDS if own else ENOUGH_WORDS
    likely = [id for id, these in terms.items() if _same_matter(these["meaning"], these["heard"], many)]
    likely.sort(key=lambda id: -(terms[id]["meaning"] + 10 * terms[id]["heard"]))
    for old in parts.store.get(scope, likely[:LOOKED_AT]):
        if old.id != memory.id and _before(old, memory) and (not own or _whose(old) == _whose(memory)):
            return old
    return None


def _same_matter(meaning: float, heard: float, many: float) -> bool:
    return heard >= many or (meaning >= SAME_MATTER and heard >= SOME_WORDS)


def _before(old: Memory, new: Memory) -> bool:
    return (old.created, old.source.turn or 0) < (new.created, new.source.turn or 0)
