"""Form memories from conversation turns [E14].

Each turn becomes a memory; a long one becomes several. Rules read emotion, category and kind. If the same
speaker said the same before, the older memory is counted as repeated. A correction marks the older memory as
superseded; both stay.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from nagori.core.events import Event
from nagori.core.model import Filter, Kind, Memory, RelationType, Scope, Source, Trust, Turn
from nagori.core.relevance import Query, bm25, relevance
from nagori.core.storage import Vector
from nagori.core.values import Value, replace, split_batches
from nagori.errors import InvalidInput, LimitReached, StoreError
from nagori.language.appraisal import appraise
from nagori.language.lexicon import speaks_of
from nagori.language.passages import alike, pieces, shingles
from nagori.language.tokenizer import tokens
from nagori.runtime import Runtime
from nagori.services.linking import link_event, supersede_events
from nagori.services.remember import AT_ONCE, Draft, compose, embed, find_known, redact_text, store_memories

LASTING = 45.0  # minimum intensity of a fact: it is still a summary after half a year
NEAREST = 2  # number of older memories compared with a new one
# The corrected memory is found by meaning (spreads above the usual cosine) and some words (their share
# by rarity), or by many words alone: with few memories the usual cosine is not known yet.
SAME_MATTER, SOME_WORDS, MANY_WORDS = 2.2, 0.10, 0.40
ENOUGH_WORDS = 0.30  # for a relation without supersession, where a mistake does no harm
LOOKED_AT = 50
NEIGHBOURS = 2  # turns


class FormationInput(Value):
    """A turn, and the event that recorded it."""

    turn: Turn
    seq: int


class _Formation(Value):
    memory: Memory
    seq: int  # of the turn it comes from
    speaks_of: RelationType | None  # its relation to an earlier memory


def form_memories(runtime: Runtime, scope: Scope, said: Iterable[FormationInput]) -> list[Memory]:
    """Form memories of recorded turns. Forming the same turns again adds nothing."""
    kept: list[Memory] = []
    for bundle in split_batches((each for one in said for each in _form_turn(runtime, scope, one)), AT_ONCE):
        kept += _keep(runtime, scope, bundle)
    return kept


def _form_turn(runtime: Runtime, scope: Scope, said: FormationInput) -> Iterator[_Formation]:
    """The memories of one turn. Only a user can ask for protection or correct something."""
    turn = said.turn
    source = Source(turn.session, turn.index, turn.speaker, turn.uri)
    # Redact before splitting: half of a private passage or of a key is not recognised.
    for piece in pieces(redact_text(runtime, turn.text)):
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
        if felt.kind is Kind.FACT:  # facts last, even if said without emotion [ruling 4]
            lasting = replace(felt.emotion, intensity=max(felt.emotion.intensity, LASTING))
            draft = replace(draft, emotion=lasting)
        tie = RelationType.CONTRADICTS if felt.correction else speaks_of(piece)
        yield _Formation(compose(runtime, scope, draft), said.seq, tie if turn.role is Trust.USER else None)


def _keep(runtime: Runtime, scope: Scope, bundle: Sequence[_Formation]) -> list[Memory]:
    bundle = list({each.memory.id: each for each in bundle}.values())  # a turn may repeat itself
    memories = [each.memory for each in bundle]
    vectors = embed(runtime, scope, memories)
    echoes = _find_repetitions(runtime, scope, memories, vectors)
    new = [memory for memory in memories if memory.id not in echoes]
    origins = {each.memory.id: (each.seq,) for each in bundle}
    try:
        kept = store_memories(runtime, scope, new, vectors, origins)
    except LimitReached as full:
        # Nobody can be asked here which one to release: the memory is kept, and the wish is reported.
        runtime.observe("protection.full", limit=full.limit)
        kept = store_memories(
            runtime, scope, [replace(memory, protected=False) for memory in new], vectors, origins
        )
    _record_repetition(
        runtime, scope, echoes, {memory.id for memory in memories if memory.protected}, origins
    )
    for each in bundle:
        if each.speaks_of:
            _link_or_supersede(runtime, scope, each.memory, each.speaks_of, vectors.get(each.memory.id))
    by_id = {memory.id: now for memory, now in zip(new, kept, strict=True)}
    return [by_id.get(memory.id) or by_id.get(echoes[memory.id].id, echoes[memory.id]) for memory in memories]


# --- repetitions ----------------------------------------------------------------------------------


def _find_repetitions(
    runtime: Runtime, scope: Scope, memories: Sequence[Memory], vectors: Mapping[str, Vector]
) -> dict[str, Memory]:
    """New memories that repeat an older one: by id, with the older one."""
    echoes: dict[str, Memory] = {}
    first: dict[tuple[object, ...], Memory] = {}
    known = find_known(runtime, scope, [memory.id for memory in memories])
    for memory in memories:
        if memory.id in known:
            continue
        mark = (*_identity_of(memory), shingles(memory.text.content))
        older = first.get(mark) or _older(runtime, scope, memory, vectors.get(memory.id))
        if older is not None:
            echoes[memory.id] = older
        else:
            first[mark] = memory
    return echoes


def _older(runtime: Runtime, scope: Scope, memory: Memory, vector: Vector | None) -> Memory | None:
    try:
        if vector is not None:
            [hits] = runtime.vectors.nearest(scope, [vector.data], vector.model, NEAREST)
            ids = [hit.id for hit in hits]
        else:
            ids = _by_words(runtime, scope, memory)
        found = runtime.store.get(scope, ids)
    except (StoreError, InvalidInput):  # InvalidInput: a vector of a wrong dimension
        return None
    said = shingles(memory.text.content)
    return next((other for other in found if _repeats(memory, other, said)), None)


def _by_words(runtime: Runtime, scope: Scope, memory: Memory) -> list[str]:
    """The memories that share most of its rare words."""
    query = Query(list(dict.fromkeys(tokens(memory.searchable))))
    best = bm25(runtime.store.candidates(scope, query))
    return sorted(best, key=lambda id: (-best[id], id))[:NEAREST]


def _repeats(memory: Memory, other: Memory, said: frozenset[str]) -> bool:
    """Whether the same speaker said the same words, with the same visibility."""
    return _identity_of(memory) == _identity_of(other) and alike(said, shingles(other.text.content))


def _identity_of(memory: Memory) -> tuple[object, ...]:
    return (memory.source.speaker, memory.trust, memory.project, memory.agent, memory.role, memory.privacy)


def _record_repetition(
    runtime: Runtime,
    scope: Scope,
    echoes: Mapping[str, Memory],
    wishes: Container[str],
    origins: Mapping[str, Sequence[int]],
) -> None:
    """Count each repetition once. The turn's id goes into the log, where it is found if the turn comes
    again."""

    def decide() -> list[Event]:
        now, events = runtime.clock.now(), []
        for turn, older in echoes.items():
            if not runtime.store.history(scope.owner, turn):
                data = {"turn": turn, "turns": list(origins[turn])}
                events.append(Event("repeated", now, data, older.id))
            if turn in wishes and not older.protected:
                events.append(Event("protected", now, {}, older.id))
        return events

    if echoes:
        runtime.ledger.write(scope.owner, decide)


# --- corrections and references -------------------------------------------------------------------


def link_to_subject(runtime: Runtime, scope: Scope, memory: Memory) -> Memory:
    """Apply a correction in a memory that was added by hand."""
    tie = speaks_of(memory.text.content)
    if tie is None:
        return memory
    _link_or_supersede(runtime, scope, memory, tie, embed(runtime, scope, [memory]).get(memory.id))
    return find_known(runtime, scope, [memory.id]).get(memory.id, memory)


def _link_or_supersede(
    runtime: Runtime, scope: Scope, memory: Memory, tie: RelationType, vector: Vector | None
) -> None:
    """Supersede, continue or reference the memory that this one refers to, if it is clear which one that
    is."""
    try:
        old = _find_subject(runtime, scope, memory, vector, own=tie is RelationType.CONTRADICTS)
    except (StoreError, InvalidInput):
        return  # the memory is kept; the relation can wait
    if old is None:
        return
    now = runtime.clock.now()
    if tie is not RelationType.CONTRADICTS:
        events = [] if _neighbours(old, memory) else [link_event(memory, old, tie, now)]
    else:
        events = [] if old.superseded_by else supersede_events(memory, old, now)
    if events:
        runtime.ledger.write(scope.owner, lambda: events)


def _neighbours(old: Memory, new: Memory) -> bool:
    """Whether two turns follow each other; they need no relation."""
    same = old.source.session is not None and old.source.session == new.source.session
    return same and (new.source.turn or 0) - (old.source.turn or 0) <= NEIGHBOURS


def _find_subject(
    runtime: Runtime, scope: Scope, memory: Memory, vector: Vector | None, *, own: bool
) -> Memory | None:
    """The older memory that this one refers to (`own`: of the same speaker): nearest in meaning, with some of
    its rare words. Without vectors it cannot be determined."""
    if vector is None:
        return None
    words = list(dict.fromkeys(tokens(memory.text.content)))
    past = Filter(until=memory.created + timedelta(microseconds=1))
    query = Query(words, vector.data, vector.model, LOOKED_AT, past)
    evidence = runtime.store.candidates(scope, query)
    alone = {id: sketch._replace(session=None) for id, sketch in evidence.infos.items()}
    terms = relevance(replace(evidence, infos=alone))
    many = MANY_WORDS if own else ENOUGH_WORDS
    likely = [id for id, these in terms.items() if _same_matter(these["meaning"], these["heard"], many)]
    likely.sort(key=lambda id: -(terms[id]["meaning"] + 10 * terms[id]["heard"]))
    for old in runtime.store.get(scope, likely[:LOOKED_AT]):
        if (
            old.id != memory.id
            and _is_older(old, memory)
            and (not own or _identity_of(old) == _identity_of(memory))
        ):
            return old
    return None


def _same_matter(meaning: float, heard: float, many: float) -> bool:
    return heard >= many or (meaning >= SAME_MATTER and heard >= SOME_WORDS)


def _is_older(old: Memory, new: Memory) -> bool:
    return (old.created, old.source.turn or 0) < (new.created, new.source.turn or 0)
