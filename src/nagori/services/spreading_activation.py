"""Associate: from the answers to a question over shared concepts to other topics and memories.

The index of concepts is filled on first use: words at once, the vectors of concepts (their entry points by
meaning) mostly at night. An owner who never asks for associations pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log

from nagori.core.model import ALIVE, Filter, Recollection, Scope
from nagori.core.relevance import Query
from nagori.core.spreading_activation import (
    ENTRIES,
    MAX_DEPTH,
    MOST_CONCEPTS,
    MOST_MEMORIES,
    ActiveConcept,
    Association,
    MemoryConcepts,
    Topic,
    hub_size,
    pass_on,
    rarity,
    shares,
)
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, check_text, check_whole, replace
from nagori.errors import InvalidInput, StoreError
from nagori.language.keywords import find_concepts
from nagori.language.speech_acts import asks_for_several
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services.recall import CANDIDATES, RecallRequest, embed_query, rank_candidates, retention
from nagori.services.related_memories_and_stale_links import find_related
from nagori.services.remember import make_vectors

INDEX_AT_ONCE = 500
EMBED_AT_ONCE = 64
EMBED_WAITING = 64  # vectors made while somebody waits; the cycle makes the others
EMBED_PER_CYCLE = 2_000
NEAR_CONCEPTS, MIN_NEARNESS = 30, 2.5  # of each word: at most so many, so many spreads above the usual cosine
BY_MEANING, BY_MENTION = (
    1.0,
    1.0,
)  # log odds that the highest activation adds; fitted (docs/why/association.md)
# Log odds for each term of a memory where several things are asked for: they were told on several occasions,
# so that its session counts less, and in more words than those of a short reply.
SEVERAL = {"session_meaning": -0.5, "length": 0.3}
BY_MATTER = 3.0  # the same for the nearness to the matter alone, where several things are asked for
BY_LINK = 0.5  # what a link passes on; also how sure we are of what association reached, beside the answers


class AssociationRequest(Value):
    """What to associate with: a text, the number of steps, and the number of topics and memories wanted."""

    text: str
    depth: int = 3
    k: int = 10
    filter: Filter = ALIVE

    def __post_init__(self) -> None:
        check_text("query", self.text)
        check_depth(self.depth, "depth")
        check_whole("k", self.k, 1)


def check_depth(depth: int, name: str = "spread") -> int:
    """The number of steps; InvalidInput if it is none or too large."""
    check_whole(name, depth, 1)
    if depth > MAX_DEPTH:
        raise InvalidInput(name, "error.depth_too_large", value=depth, most=MAX_DEPTH)
    return depth


# --- the index ------------------------------------------------------------------------------------


def index_concepts(
    runtime: Runtime, owner: Owner, vectors: int = EMBED_WAITING, progress: Progress = no_progress
) -> int:
    """Put the concepts of all memories into the index, and make at most so many vectors of concepts. Returns
    the number of memories. If the store cannot be written, association goes on with what is there."""
    index, done = runtime.store.concepts, 0
    try:
        while waiting := index.missing(owner, INDEX_AT_ONCE):
            found = {
                memory.id: MemoryConcepts(
                    memory.digest,
                    {name: weight for name, (weight, _) in find_concepts(memory.searchable).items()},
                )
                for memory in waiting
            }
            put = index.put(owner, found)
            done += put
            if progress is not no_progress:  # counting everything is only for somebody who waits
                progress(done, max(done, runtime.store.count(Scope(tenant=owner[0], user=owner[1])).total))
            if not put:
                break  # their texts changed meanwhile: the next call finds them
        _embed_concepts(runtime, owner, vectors)
    except StoreError as trouble:
        runtime.observe("association.behind", reason=trouble.notice)
    return done


def index_if_used(runtime: Runtime, owner: Owner) -> None:
    """In a cycle: complete the index of an owner who has used it."""
    if runtime.store.concepts.count(owner):
        index_concepts(runtime, owner, EMBED_PER_CYCLE)


def _embed_concepts(runtime: Runtime, owner: Owner, most: int) -> None:
    embedder = runtime.embedder_for(owner)
    if embedder is None:
        return
    index = runtime.store.concepts
    while most > 0 and (names := index.without_vector(owner, embedder.model, min(most, EMBED_AT_ONCE))):
        try:
            made = make_vectors(embedder, names)
        except Exception as trouble:  # an embedder may be third-party code: words still associate
            runtime.observe("embedder.silent", error=trouble)
            return
        index.put_vectors(owner, embedder.model, dict(zip(names, made, strict=True)))
        most -= len(names)


# --- recall with spreading ------------------------------------------------------------------------


def spread_recall(
    runtime: Runtime, scope: Scope, text: str, filter: Filter, found: Sequence[Recollection], depth: int
) -> Iterator[Recollection]:
    """The candidates of a recall with what association adds to their odds, and the memories that only
    association reached. The best scores 1."""
    index_concepts(runtime, scope.owner)
    answers = sorted(found, key=lambda each: (-each.score, each.memory.id))[:ENTRIES]
    entries = {each.memory.id: each.score for each in answers if each.score > 0}
    asked = find_concepts(text)
    meant = shares(_reach_by_meaning(runtime, scope, asked, filter))
    mentioned = shares(_reach_by_mention(runtime, scope, asked, entries, filter, depth))
    linked = _reach_by_links(runtime, scope, entries, depth)
    several = asks_for_several(text)
    near = _near_matter(runtime, scope, asked, found, filter) if several else {}
    gains = {
        id: BY_MEANING * meant.get(id, 0.0)
        + BY_MENTION * max(mentioned.get(id, 0.0), linked.get(id, 0.0))
        + BY_MATTER * near.get(id, 0.0)
        for id in meant.keys() | mentioned.keys() | linked.keys() | near.keys()
    }
    weights = SEVERAL if several else {}
    odds = {
        each.memory.id: log(each.score)
        + gains.get(each.memory.id, 0.0)
        + sum(weight * each.terms.get(name, 0.0) for name, weight in weights.items())
        for each in found
        if each.score > 0
    }
    best, least = max(odds.values(), default=0.0), min(odds.values(), default=0.0)
    highest = max(gains.values(), default=0.0) or 1.0
    sure = BY_LINK * max((_confidence(each) for each in answers), default=0.0)
    for each in found:
        id = each.memory.id
        gain = gains.get(id, 0.0)
        terms = {
            **each.terms,
            "association": gain,
            "confidence": max(_confidence(each), sure * gain / highest),
        }
        yield replace(each, score=exp(odds[id] - best) if id in odds else 0.0, terms=terms)
    known = {each.memory.id for each in found}
    others = sorted((id for id in gains if id not in known), key=lambda id: (-gains[id], id))[:ENTRIES]
    for memory in runtime.store.get(scope, others):
        if not (memory.is_archived or memory.is_forgotten):
            share = gains[memory.id] / highest
            terms = {"association": gains[memory.id], "confidence": sure * share}
            # Its odds are unknown but low: it comes after the candidates.
            yield Recollection(memory, BY_LINK * share * exp(least - best), retention(runtime, memory), terms)


def _confidence(recollection: Recollection) -> float:
    return recollection.terms.get("confidence", 1.0)


def _reach_by_meaning(
    runtime: Runtime, scope: Scope, asked: Mapping[str, object], filter: Filter
) -> dict[str, float]:
    """The memories that mention concepts near in meaning to the question's own: pianos for instruments."""
    embedder, index, owner = runtime.embedder_for(scope.owner), runtime.store.concepts, scope.owner
    if embedder is None or not asked:
        return {}
    vectors = index.vectors(owner, embedder.model, list(asked))
    unknown = [name for name in asked if name not in vectors]
    try:
        vectors |= dict(zip(unknown, make_vectors(embedder, unknown), strict=True)) if unknown else {}
    except Exception as trouble:  # an embedder may be third-party code: words still associate
        runtime.observe("embedder.silent", error=trouble)
    total = runtime.store.count(scope).total
    counts = index.counts(owner, list(asked))
    active: dict[str, float] = {}
    for name, vector in vectors.items():
        near = index.nearest(owner, vector, embedder.model, NEAR_CONCEPTS)
        mean, spread = near.usual
        weight = rarity(total, counts.get(name, 0))
        for other, cosine in near.cosines.items():
            nearness = (cosine - mean) / spread
            if other not in asked and nearness > MIN_NEARNESS:
                active[other] = max(active.get(other, 0.0), weight * nearness)
    hub = hub_size(total)
    passed = {
        name: active[name] * rarity(total, count)
        for name, count in index.counts(owner, list(active)).items()
        if count <= hub
    }
    return index.memories_of(scope, passed, MOST_MEMORIES, filter)


def _near_matter(
    runtime: Runtime,
    scope: Scope,
    asked: Mapping[str, tuple[float, str]],
    found: Sequence[Recollection],
    filter: Filter,
) -> dict[str, float]:
    """How near memories are to the matter of the question, 0 to 1, of the nearest. The vector of a whole
    question is also near to whatever its speaker said; that of "musical instruments" is near to a violin."""
    speakers = {each.memory.source.speaker for each in found} - {None}
    names = {part.casefold() for speaker in speakers for part in str(speaker).split()}
    matter = " ".join(written for _, written in asked.values() if written.casefold() not in names)
    vector = embed_query(runtime, runtime.vectors.active(scope.owner), matter) if matter else None
    if vector is None or vector.data is None:
        return {}
    query = Query([], vector.data, vector.model, CANDIDATES, filter)
    try:
        cosines = runtime.store.candidates(scope, query).cosines
    except InvalidInput as trouble:  # the model's dimension changed: recall went on by words alone, too
        runtime.observe("embedder.silent", error=trouble)
        return {}
    least, most = min(cosines.values(), default=0.0), max(cosines.values(), default=0.0)
    return {id: (cosine - least) / (most - least) for id, cosine in cosines.items() if most > least}


def _reach_by_mention(
    runtime: Runtime,
    scope: Scope,
    asked: Mapping[str, object],
    entries: Mapping[str, float],
    filter: Filter,
    depth: int,
) -> dict[str, float]:
    """The memories that share concepts with the answers, beyond those of the question."""
    index, total = runtime.store.concepts, runtime.store.count(scope).total
    reached = dict(entries)
    for _ in range(depth // 2):  # over a concept to a memory are two steps
        concepts = _beyond(asked, index.concepts_of(scope, reached, MOST_CONCEPTS, hub_size(total)))
        reached = index.memories_of(scope, pass_on(concepts, total), MOST_MEMORIES, filter)
    return reached if depth > 1 else {}


def _beyond(asked: Mapping[str, object], concepts: Sequence[ActiveConcept]) -> list[ActiveConcept]:
    """Concepts that lead on: several memories mention them, and the question does not."""
    return [each for each in concepts if each.memories > 1 and each.name not in asked]


def _reach_by_links(
    runtime: Runtime, scope: Scope, entries: Mapping[str, float], depth: int
) -> dict[str, float]:
    """The memories that are linked with the answers, also by one topic, with a share of their activation."""
    reached: dict[str, float] = {}
    edge = dict(entries)
    for _ in range(depth):
        step: dict[str, float] = {}
        for each in find_related(runtime, scope, list(edge)):
            other, ends = each.memory.id, (each.relation.source, each.relation.target)
            passed = max(edge.get(end, 0.0) for end in ends if end != other)
            if other not in entries and other not in reached:
                step[other] = max(step.get(other, 0.0), BY_LINK * passed)
        edge = dict(sorted(step.items(), key=lambda item: (-item[1], item[0]))[:MOST_MEMORIES])
        reached |= edge
    return reached


# --- topics ---------------------------------------------------------------------------------------


def associate(
    runtime: Runtime, scope: Scope, request: AssociationRequest, progress: Progress = no_progress
) -> Association:
    """Where a text leads: the topics of the memories that answer it, and after more steps those of memories
    that share them. Nothing is reinforced."""
    runtime.ledger.catch_up(scope.owner)
    index_concepts(runtime, scope.owner, progress=progress)
    question = RecallRequest(request.text, k=ENTRIES, filter=request.filter, mark=False)
    least = runtime.config.retrieval.min_confidence
    ranked = sorted(rank_candidates(runtime, scope, question), key=lambda each: (-each.score, each.memory.id))
    answers = [each for each in ranked if _confidence(each) >= least][:ENTRIES]
    asked, reached = find_concepts(request.text), {each.memory.id: each.score for each in answers}
    found, known = dict[str, Topic](), dict(reached)
    total = runtime.store.count(scope).total
    for step in range(1, request.depth + 1, 2):
        index = runtime.store.concepts
        concepts = index.concepts_of(scope, reached, MOST_CONCEPTS, hub_size(total))
        leading = [each for each in concepts if each.name not in asked]
        for name, strength in shares({each.name: each.activation for each in leading}).items():
            found.setdefault(name, Topic(name, strength / step, step))
        if step == request.depth:
            break
        passed = pass_on(_beyond(asked, concepts), total)
        reached = shares(index.memories_of(scope, passed, MOST_MEMORIES, request.filter))
        known |= {id: share / (step + 1) for id, share in reached.items() if id not in known}
    entries = {each.memory.id for each in answers}
    linked = {} if request.depth < 2 else _reach_by_links(runtime, scope, dict.fromkeys(entries, 1.0), 1)
    known |= {id: max(share, known.get(id, 0.0)) for id, share in linked.items()}
    others = sorted((id for id in known if id not in entries), key=lambda id: (-known[id], id))[: request.k]
    memories = runtime.store.get(scope, others)
    topics = sorted(found.values(), key=lambda each: (-each.strength, each.name))[: request.k]
    return Association(
        tuple(_with_words(runtime, scope, topics, [*entries, *others])),
        tuple(
            Recollection(each, known[each.id], retention(runtime, each), {"association": known[each.id]})
            for each in memories
        ),
    )


def _with_words(
    runtime: Runtime, scope: Scope, topics: Sequence[Topic], ids: Sequence[str]
) -> Iterator[Topic]:
    """The topics with a word as somebody wrote it, and the memories that mention them."""
    near = runtime.store.get(scope, list(ids))
    for topic in topics:
        extra = runtime.store.concepts.memories_of(scope, {topic.name: 1.0}, ENTRIES)
        more = runtime.store.get(scope, [id for id in extra if id not in ids])
        written = {memory.id: find_concepts(memory.searchable) for memory in [*near, *more]}
        mentioning = [id for id, concepts in written.items() if topic.name in concepts]
        words = sorted({written[id][topic.name][1] for id in mentioning}, key=lambda word: (len(word), word))
        yield replace(topic, name=words[0] if words else topic.name, memories=tuple(mentioning[:ENTRIES]))
