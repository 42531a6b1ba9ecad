"""Form memories from conversation turns [E14].

A statement becomes a memory; a question and its answer become one together; a long turn becomes several.
Rules determine emotion, category, kind and importance. If the same speaker said the same before, the
repetition is counted on the older memory. A correction, or a new statement on the same subject, marks the
older memory as superseded; both are kept.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from nagori.core.events import Event
from nagori.core.model import Filter, Memory, RelationType, Scope, Source, Trust, Turn
from nagori.core.relevance import Query, bm25, relevance
from nagori.core.storage_types import Owner, Vector
from nagori.core.value_object import Value, replace, split_batches
from nagori.errors import InvalidInput, LimitReached, StoreError
from nagori.language.appraisal import appraise, importance, is_personal, weigh
from nagori.language.corrections import news_of_change, replacement_odds, updates_subject
from nagori.language.learned_wishes import understand_wish
from nagori.language.lexicon import speaks_of
from nagori.language.passages import alike, pieces, shingles
from nagori.language.speech_acts import Wish, WishKind, is_statement
from nagori.language.tokenizer import tokens
from nagori.runtime import Runtime
from nagori.services.link_similar_memories import link_event, supersede_events
from nagori.services.off_record_keep_and_forget_requests import queue_protection
from nagori.services.remember import (
    AT_ONCE,
    Draft,
    compose,
    embed,
    embed_texts,
    find_known,
    redact_text,
    store_memories,
)

NEAREST = 2  # number of older memories compared with a new one
# The corrected memory must be similar in meaning (in standard deviations above the typical cosine) and share
# some words (weighted by rarity), or share many words: with few memories the typical cosine is unknown.
SAME_MATTER, SOME_WORDS, MANY_WORDS = 2.2, 0.10, 0.40
ENOUGH_WORDS = 0.30  # for a relation that supersedes nothing, where a mistake is harmless
LOOKED_AT = 50
NEIGHBOURS = 2  # turns
LONGEST_STATEMENT = 400  # maximum characters of a statement that may supersede another
REPLACES_IF_SAID = -3.0  # log-odds that suffice if the person says that it is a correction
ALONE = 1.0  # lead of the only older statement
# Log-odds from which a statement supersedes an older one; between MAY_REPLACE and that, the two are linked
# and shown together.
REPLACES, REPLACES_FOR_CERTAIN, MAY_REPLACE, COMPARED = -1.05, 0.25, -3.0, 8
REPLACES_IN_A_PROJECT = -0.5  # the same where what is said for all projects replaces what was said in one


class FormationInput(Value):
    """A turn, the number of the event that recorded it, and the answer to it."""

    turn: Turn
    seq: int
    answer: str = ""
    answer_seq: int | None = None


class _Passage(Value):
    """The text of one memory: one side of an exchange, or both."""

    said: FormationInput
    text: str
    answer: str = ""

    @property
    def matter(self) -> str:
        """The text whose importance is rated: the user's statement, or else the answer."""
        return self.text if not self.answer or is_statement(self.text) else self.answer


class _Formation(Value):
    memory: Memory
    seqs: Sequence[int]  # of the turns it comes from
    speaks_of: RelationType | None  # its relation to an earlier memory
    states: bool = False  # whether it is a statement of the user's own


def form_memories(runtime: Runtime, scope: Scope, said: Iterable[FormationInput]) -> list[Memory]:
    """Form memories of recorded turns. Forming the same turns again adds nothing."""
    kept: list[Memory] = []
    for bundle in split_batches((passage for one in said for passage in _passages(runtime, one)), AT_ONCE):
        known = _embed_matters(runtime, scope, bundle)
        kept += _keep(runtime, scope, [_form(runtime, scope, each, known) for each in bundle], known)
    return kept


def _passages(runtime: Runtime, said: FormationInput) -> Iterator[_Passage]:
    """The turn and its answer as passages of searchable size; a short exchange is one passage."""
    # Redact before splitting: half of a private passage or of a key is not recognised.
    own = [piece for piece in pieces(redact_text(runtime, said.turn.text)) if piece.strip()]
    answers = [piece for piece in pieces(redact_text(runtime, said.answer)) if piece.strip()]
    for piece in own[:-1] if answers else own:
        yield _Passage(said, piece)
    if answers and own:
        yield _Passage(said, own[-1], answers[0])
    spoken = replace(said, turn=replace(said.turn, text=said.answer, role=Trust.ASSISTANT))
    for piece in answers[1:] if own else answers:
        yield _Passage(spoken, piece)


def _embed_matters(runtime: Runtime, scope: Scope, passages: Sequence[_Passage]) -> Mapping[str, Vector]:
    """Vectors of the texts to rate, by text; empty without an embedder."""
    return embed_texts(runtime, scope, [each.matter for each in passages])


def _form(runtime: Runtime, scope: Scope, passage: _Passage, known: Mapping[str, Vector]) -> _Formation:
    """The memory of a passage. Only users can ask for protection or correct something."""
    said, turn, text = passage.said, passage.said.turn, passage.text
    felt = appraise(text, speaker_role=turn.role)
    vector = known.get(passage.matter)
    data, model = (vector.data, vector.model) if vector is not None else (None, None)
    worth = importance(passage.matter, data, model=model)
    born = weigh(felt, worth, runtime.config.retention)
    draft = Draft(
        passage.answer or text,
        trigger=text if passage.answer else "",
        created=turn.at,
        source=Source(turn.session, turn.index, turn.speaker, turn.uri),
        trust=turn.role,
        protect=felt.protect if turn.speaker else _asks_to_keep(runtime, scope, turn, text),
        kind=born.kind,
        category=born.category,
        emotion=born.emotion,
        least_coefficient=born.coefficient,
    )
    tie = RelationType.CONTRADICTS if felt.correction else speaks_of(text)
    seqs = [seq for seq in (said.seq, said.answer_seq if passage.answer else None) if seq is not None]
    users = turn.role is Trust.USER
    # Only what is said to an assistant: between people, a similar statement is rarely a replacement.
    states = users and not turn.speaker and len(text) <= LONGEST_STATEMENT and is_statement(text)
    own = states and is_personal(text, worth)
    place = replace(scope, project=None) if own else scope
    return _Formation(compose(runtime, place, draft), seqs, tie if users else None, states)


def read_wish(runtime: Runtime, owner: Owner, text: str) -> Wish:
    """What the user wishes of the memory in a text."""

    def embed(spoken: str) -> tuple[str | None, bytes | None]:
        embedder = runtime.embedder_for(owner)
        if embedder is None:
            return None, None
        try:
            return embedder.model, embedder.embed_query(spoken)
        except Exception as trouble:  # an embedder may be anybody's code: judge by words alone
            runtime.observe("embedder.silent", error=trouble)
            return None, None

    return understand_wish(text, embed)


def _asks_to_keep(runtime: Runtime, scope: Scope, turn: Turn, text: str) -> bool:
    return turn.role is Trust.USER and read_wish(runtime, scope.owner, text).kind is WishKind.KEEP


def _keep(
    runtime: Runtime, scope: Scope, bundle: Sequence[_Formation], known: Mapping[str, Vector]
) -> list[Memory]:
    bundle = list({each.memory.id: each for each in bundle}.values())  # a turn may say the same twice
    memories = [each.memory for each in bundle]
    vectors = embed(runtime, scope, memories, known)
    echoes = _find_repetitions(runtime, scope, memories, vectors)
    new = [memory for memory in memories if memory.id not in echoes]
    origins = {each.memory.id: each.seqs for each in bundle}
    try:
        kept = store_memories(runtime, scope, new, vectors, origins)
    except LimitReached as full:
        # Nobody can be asked now which memory to release. Store this one unprotected and queue the wish.
        new, waiting = _protect_what_fits(runtime, scope, new, full.limit)
        kept = store_memories(runtime, scope, new, vectors, origins)
        queue_protection(runtime, scope.owner, waiting)
        runtime.observe("protection.full", limit=full.limit)
    _record_repetition(
        runtime, scope, echoes, {memory.id for memory in memories if memory.protected}, origins
    )
    for each in bundle:
        goes_on = each.speaks_of not in (None, RelationType.CONTRADICTS)
        is_new = each.states and not goes_on and each.memory.id not in echoes
        corrects = each.speaks_of is RelationType.CONTRADICTS
        if not (is_new and _supersede(runtime, scope, each.memory, known, corrects)) and each.speaks_of:
            _link_or_supersede(runtime, scope, each.memory, each.speaks_of, vectors.get(each.memory.id))
    by_id = {memory.id: now for memory, now in zip(new, kept, strict=True)}
    return [by_id.get(memory.id) or by_id.get(echoes[memory.id].id, echoes[memory.id]) for memory in memories]


def _protect_what_fits(
    runtime: Runtime, scope: Scope, memories: Sequence[Memory], limit: int
) -> tuple[list[Memory], list[str]]:
    """The memories with as many protected as the limit allows, and the ids of the others that should be
    protected."""
    whole = Scope(user=scope.user, tenant=scope.tenant)
    room = max(0, limit - runtime.store.count(whole).protected)
    wished = [memory.id for memory in memories if memory.protected]
    waiting = wished[room:]
    return [replace(m, protected=False) if m.id in waiting else m for m in memories], waiting


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
        mark = (*_identity_of(memory), shingles(_statement(memory)))
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
    said = shingles(_statement(memory))
    return next((other for other in found if _repeats(memory, other, said)), None)


def _by_words(runtime: Runtime, scope: Scope, memory: Memory) -> list[str]:
    """The memories that share most of its rare words."""
    query = Query(list(dict.fromkeys(tokens(memory.searchable))))
    best = bm25(runtime.store.candidates(scope, query))
    return sorted(best, key=lambda id: (-best[id], id))[:NEAREST]


def _repeats(memory: Memory, other: Memory, said: frozenset[str]) -> bool:
    """Whether the same speaker said the same words, with the same visibility."""
    return _identity_of(memory) == _identity_of(other) and alike(said, shingles(_statement(other)))


def _statement(memory: Memory) -> str:
    """The statement in a memory: the user's words, or a question together with its answer."""
    text = memory.fullest
    return text.trigger if text.trigger and is_statement(text.trigger) else text.whole


def _identity_of(memory: Memory) -> tuple[object, ...]:
    return (memory.source.speaker, memory.trust, memory.project, memory.agent, memory.role, memory.privacy)


def _record_repetition(
    runtime: Runtime,
    scope: Scope,
    echoes: Mapping[str, Memory],
    wishes: Container[str],
    origins: Mapping[str, Sequence[int]],
) -> None:
    """Count each repetition once: the id of the turn is recorded, so the same turn is recognised if it is
    processed again."""

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


def _supersede(
    runtime: Runtime, scope: Scope, memory: Memory, known: Mapping[str, Vector], corrects: bool
) -> bool:
    """Mark the older statement of the same person that this one replaces; returns whether there is one. If
    the replacement is only possible, link the two, unless the person says that it is a correction
    (`corrects`)."""
    new = _statement(memory)
    vector = known.get(new)
    if vector is None:
        return False
    try:
        old, odds = _find_replaced(runtime, scope, memory, new, vector)
    except (StoreError, InvalidInput):
        return False  # the memory is stored; only the relation is missing
    if old is None or odds < MAY_REPLACE or (_neighbours(old, memory) and odds < REPLACES_FOR_CERTAIN):
        return False
    now = runtime.clock.now()
    said = corrects or updates_subject(_statement(old), new)
    least = REPLACES_IF_SAID if said and not old.protected else _least_odds(old, memory)
    sure = odds >= least and not old.superseded_by
    events = (
        supersede_events(memory, old, now) if sure else [link_event(memory, old, RelationType.CONTINUES, now)]
    )
    runtime.ledger.write(scope.owner, lambda: events)
    return sure


def _least_odds(old: Memory, new: Memory) -> float:
    """Minimum log-odds of a replacement: higher for protected memories and within a session."""
    same = old.source.session is not None and old.source.session == new.source.session
    return REPLACES_FOR_CERTAIN if old.protected or same else REPLACES


def _find_replaced(
    runtime: Runtime, scope: Scope, memory: Memory, new: str, vector: Vector
) -> tuple[Memory | None, float]:
    """The older statement that the new one most likely replaces, and the log-odds. What is said for all
    projects may also replace what was said in one of them, if that is certain; not the other way round: a
    project may have its exception."""
    embedder = runtime.embedder_of(vector.model)
    mean, spread = embedder.unrelated if embedder is not None else (0.0, 1.0)
    past = Filter(until=memory.created)
    [hits] = runtime.vectors.nearest(scope, [vector.data], vector.model, COMPARED, past)
    near = {hit.id: (hit.score - mean) / spread for hit in hits}
    older = [
        old
        for old in runtime.store.get(scope, list(near))
        if old.id != memory.id and _is_older(old, memory) and is_statement(_statement(old))
    ]
    news = news_of_change(vector.data, vector.model)
    alike = [old for old in older if _identity_of(old) == _identity_of(memory)]
    best, highest = _most_likely_replaced(alike, new, near, news)
    if memory.project is None:
        whose = _identity_of(memory)
        everywhere = [old for old in older if _identity_of(replace(old, project=None)) == whose]
        other, odds = _most_likely_replaced(everywhere, new, near, news)
        if odds >= max(highest, REPLACES_IN_A_PROJECT):
            return other, odds
    return best, highest


def _most_likely_replaced(
    older: Sequence[Memory], new: str, near: Mapping[str, float], news: float | None
) -> tuple[Memory | None, float]:
    best: Memory | None = None
    highest = float("-inf")
    for old in older:
        others = [near[other.id] for other in older if other is not old]
        lead = near[old.id] - max(others) if others else ALONE
        odds = replacement_odds(_statement(old), new, near[old.id], lead, news)
        if odds > highest:
            best, highest = old, odds
    return best, highest


def _link_or_supersede(
    runtime: Runtime, scope: Scope, memory: Memory, tie: RelationType, vector: Vector | None
) -> None:
    """Supersede, continue or reference the memory that this one refers to, if it is clear which one that
    is."""
    try:
        old = _find_subject(runtime, scope, memory, vector, own=tie is RelationType.CONTRADICTS)
    except (StoreError, InvalidInput):
        return  # the memory is stored; only the relation is missing
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
    words = list(dict.fromkeys(tokens(_statement(memory))))
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
