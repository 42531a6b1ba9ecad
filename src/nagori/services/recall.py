"""Recall: the memories that answer a question, best first.

The store returns candidates by words, meaning and time. A ranking orders them. Candidates below the minimum
confidence are dropped, duplicates are merged, and related memories may be added. The results are marked as
recalled, because recall reinforces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import exp, log, prod

from nagori.core import decay, memory_scores
from nagori.core.events import SESSIONS, Event
from nagori.core.model import (
    ALIVE,
    NO_CREDIT,
    THREAD_ID,
    Category,
    Emotion,
    Filter,
    Memory,
    Recollection,
    RelationType,
    Scope,
    TaskOutcome,
    check_vector,
    derive,
    is_thread_summary,
    to_micros,
)
from nagori.core.relevance import (
    WEIGHTS,
    Candidates,
    OtherLanguage,
    Query,
    Statement,
    Window,
    asks_for_current,
    bounded_factor,
    confidence,
    freshness,
    order_by_date,
    relevance,
)
from nagori.core.value_object import (
    Value,
    check_bool,
    check_kind,
    check_number,
    check_text,
    check_whole,
    clean_text,
    replace,
)
from nagori.errors import InvalidInput, JournalError, StoreError
from nagori.language.learned_heads import OWN_MATTER, in_other_language, own_matter
from nagori.language.passages import Wording, about_tokens, alike, read_wording, shingles, shingles_of
from nagori.language.statement_or_question import looks_like_statement
from nagori.language.tokenizer import asks, is_japanese, query_tokens
from nagori.runtime import Runtime
from nagori.services.related_memories_and_stale_links import RelatedMemory, order_related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.language.temporal import TimeExpression


CANDIDATES = 250  # nearest vectors to consider, besides all memories with a rare word of the question
FINALISTS = 30  # minimum number of whole memories read; else twice the number wanted
SPREAD_FINALISTS = 200  # the same where activation spreads: what it reaches may be far down
LONGEST_QUERY = 2000
STRENGTHENS = 0.1  # minimum confidence of an answer that is reinforced by being recalled
TOLD_IN_FULL = 2  # answers of which the fullest words are told, whatever their level
TIES, FADING = 10, 0.1  # relations followed per step, and the factor per step
QUESTION_WORDS = frozenset(
    [
        "what",
        "did",
        "i",
        "do",
        "on",
        "we",
        "us",
        "was",
        "were",
        "is",
        "happen",
        "talk",
        "say",
        "said",
        "tell",
        "at",
        "in",
        "the",
        "話",
        "したこと",
        "何",
    ]
)
_KANA = re.compile("[\u3041-\u3096ー]+")
MOOD_OF = 5  # number of recent memories that determine a session's mood


class RecallRequest(Value):
    """A recall request: the question, and how to select answers."""

    text: str
    k: int | None = None
    filter: Filter = ALIVE
    ranking: str | None = None  # default: the configured one
    mood: Emotion | None = None
    session: str | None = None  # session whose mood counts, unless `mood` is given
    tokens: int | None = None  # maximum tokens of all answers, approximately
    min_confidence: float | None = None  # minimum confidence; default: the configured one
    mark: bool = True  # False: only look, do not reinforce
    category: Category | None = None  # memories of this category rank a little higher
    spread: int = 0  # steps of association; 0: none
    thread_summaries: bool = True  # False: leave them out; what they quote is found itself

    def __post_init__(self) -> None:
        check_text("query", self.text)
        check_kind("filter", self.filter, Filter)
        check_bool("mark", self.mark)
        if self.k is not None:
            check_whole("k", self.k, 1)
        if self.tokens is not None:
            check_whole("tokens", self.tokens, 0)
        if self.mood is not None:
            check_kind("mood", self.mood, Emotion)
        if self.session is not None:
            check_text("session", self.session)
        if self.ranking is not None:
            check_text("ranking", self.ranking)
        if self.min_confidence is not None and not 0 <= check_number("floor", self.min_confidence) <= 1:
            raise InvalidInput("min_confidence", "error.not_share", value=self.min_confidence)
        if self.spread != 0:
            from nagori.services.spreading_activation import check_depth  # only where it is asked for

            check_depth(self.spread)


def recall(runtime: Runtime, scope: Scope, question: RecallRequest) -> list[Recollection]:
    """The best memories for a question; they are marked as recalled."""
    runtime.ledger.catch_up(scope.owner)
    k = question.k if question.k is not None else runtime.config.retrieval.top_k
    found = rank_candidates(runtime, scope, question, k)
    best = _best(runtime, scope, found, question, k)
    strong = [r.memory.id for r in best if r.terms.get("confidence", 1.0) >= STRENGTHENS]
    if question.mark and strong:
        mark_recalled(runtime, scope, strong)
    return best


def rank_candidates(
    runtime: Runtime, scope: Scope, question: RecallRequest, k: int = FINALISTS
) -> Iterator[Recollection]:
    """The candidates for a question with their scores, in no order: more than the k that are wanted."""
    name = question.ranking or runtime.config.retrieval.ranking
    if name not in RANKINGS:
        choices = ", ".join(RANKINGS)
        raise InvalidInput("ranking", "error.not_choice", value=name, choices=choices)
    text = clean_text(question.text)[:LONGEST_QUERY]
    if not text.strip():
        raise InvalidInput("query", "error.query_empty")
    asked = _parse_query(runtime, scope, question, text)
    n = max(2 * k, SPREAD_FINALISTS if question.spread else FINALISTS)
    evidence = _search(runtime, scope, asked)
    if not question.thread_summaries:
        evidence = _without_thread_summaries(evidence)
    found = _without_outdated(runtime, scope, RANKINGS[name](runtime, scope, asked, evidence, n))
    if not question.spread:
        return found
    from nagori.services.spreading_activation import spread_recall  # only where it is asked for

    return spread_recall(runtime, scope, text, asked.filter, list(found), question.spread)


def _without_thread_summaries(evidence: Candidates) -> Candidates:
    """As if there were none: they repeat words, which would make these seem less telling."""
    if not evidence.has_thread_summaries():
        return evidence
    places = {
        word: {id: times for id, times in where.items() if not id.startswith(THREAD_ID)}
        for word, where in evidence.places.items()
    }
    return replace(
        evidence,
        places={word: where for word, where in places.items() if where},
        cosines={id: near for id, near in evidence.cosines.items() if not id.startswith(THREAD_ID)},
        infos={id: info for id, info in evidence.infos.items() if not id.startswith(THREAD_ID)},
    )


def _without_outdated(
    runtime: Runtime, scope: Scope, found: Iterable[Recollection]
) -> Iterator[Recollection]:
    """Without summaries of threads that quote what was forgotten or corrected since."""
    for each in found:
        if is_thread_summary(each.memory):
            from nagori.services.related_memories_and_stale_links import find_outdated

            if find_outdated(runtime, scope, [each.memory]):
                continue
        yield each


def _parse_query(runtime: Runtime, scope: Scope, question: RecallRequest, text: str) -> ParsedQuery:
    from nagori.language.temporal import (
        read_time,  # a large import, needed only here
    )

    filter = question.filter
    if runtime.config.archive.enable_archive_recall:
        filter = replace(filter, archived=True)
    mood = question.mood or (_mood(runtime, scope, question.session) if question.session else None)
    wish = read_time(text, runtime.clock.now(), runtime.clock.zone)
    only_time = bool(wish and wish.certain and _names_no_matter(text.replace(wish.phrase, " ")))
    if wish and only_time and not (filter.since or filter.until):
        filter = replace(filter, since=wish.since, until=wish.until)
    present = bool(wish and wish.latest) or asks_for_current(text)
    return ParsedQuery(text, filter, mood, wish, only_time, question.category, present, is_japanese(text))


def _names_no_matter(rest: str) -> bool:
    """Whether nothing but question words is left: "what did we do", に何をした."""
    return all(word in QUESTION_WORDS or _KANA.fullmatch(word) for word in query_tokens(rest))


def _mood(runtime: Runtime, scope: Scope, session: str) -> Emotion | None:
    """The mood of a session: the average of the memories that were formed in it or recalled for it last, with
    the valence of the strongest one [E17]."""
    newest = runtime.store.find(scope, Filter(session=session), limit=MOOD_OF)
    noted = (runtime.store.state(scope.owner, SESSIONS) or {}).get(session, {})
    shown = runtime.store.get(scope, list(noted.get("shown", ()))[-MOOD_OF:])
    last = {memory.id: (memory.created, memory) for memory in newest}
    last |= {memory.id: (memory.recalled_at or memory.created, memory) for memory in shown}
    if not last:
        return None
    latest = sorted(last.values(), key=lambda pair: (pair[0], pair[1].id))[-MOOD_OF:]
    felt = [memory.emotion for _, memory in latest]
    strongest = max(felt, key=lambda emotion: emotion.intensity)
    arousal = sum(emotion.arousal for emotion in felt) / len(felt)
    return Emotion(strongest.intensity, strongest.valence, arousal, strongest.tags)


def _search(runtime: Runtime, scope: Scope, asked: ParsedQuery) -> Candidates:
    """The candidates. A named time adds its own: "what did we do last Friday?" has no other word to search
    for."""
    words, used = query_tokens(asked.text), runtime.vectors.active(scope.owner)
    if runtime.config.llm.expand_queries:
        from nagori.services.llm.expand_query import other_words  # rarely needed, and imports slow down hooks

        words = [*words, *other_words(runtime, asked.text)]
    meant = embed_query(runtime, used, asked.text)
    query = Query(words, meant.data, meant.model, CANDIDATES, asked.filter, meant.other)
    try:
        evidence = runtime.store.candidates(scope, query)
    except InvalidInput as trouble:  # the model's dimension changed: use words alone
        runtime.observe("embedder.silent", error=trouble)
        meant, query = QueryVector(), replace(query, vector=None, model=None, other=None)
        evidence = runtime.store.candidates(scope, query)
    if meant.data and not evidence.has_cosines() and runtime.vectors.active(scope.owner) != used:
        return _search(runtime, scope, asked)  # the owner switched to another model just now
    matter = OWN_MATTER if meant.data is None else own_matter(meant.data, meant.model)
    evidence = replace(evidence, unrelated=meant.unrelated, own_matter=matter)
    wish = asked.wish
    if wish is None or not wish.certain or asked.filter.since or asked.filter.until:
        return evidence
    then = replace(asked.filter, since=wish.since, until=wish.until)
    more = runtime.store.candidates(scope, replace(query, filter=then))
    return replace(
        evidence,
        cosines={**more.cosines, **evidence.cosines},
        infos={**more.infos, **evidence.infos},
    )


class QueryVector(Value):
    """The question's vector and its model; empty without a model."""

    model: str | None = None
    data: bytes | None = None
    unrelated: tuple[float, float] = (0.0, 1.0)
    other: OtherLanguage | None = None


def embed_query(runtime: Runtime, model: str | None, text: str) -> QueryVector:
    """The vector of a question by the model in use; an empty one where there is none."""
    embedder = runtime.embedder_of(model)
    if embedder is None:
        return QueryVector()
    try:
        vector = embedder.embed_query(text)
        check_vector(vector, embedder.dimension)
        other = in_other_language(vector, embedder.model)
        return QueryVector(embedder.model, vector, embedder.unrelated, other and OtherLanguage(*other))
    except Exception as trouble:  # an embedder may be third-party code: use words alone
        runtime.observe("embedder.silent", error=trouble)
        return QueryVector()


# --- choosing -------------------------------------------------------------------------------------


def _best(
    runtime: Runtime, scope: Scope, found: Iterator[Recollection], question: RecallRequest, k: int
) -> list[Recollection]:
    """The k best relevant memories, without duplicates, within the budget."""
    min_confidence = (
        question.min_confidence
        if question.min_confidence is not None
        else runtime.config.retrieval.min_confidence
    )
    about = [r for r in found if r.terms.get("confidence", 1.0) >= min_confidence]
    ordered = sorted(about, key=_order)
    distinct = _distinct(question.text, ordered, k)
    ordered = sorted([*distinct, *_follow_relations(runtime, scope, distinct)], key=_order)[:k]
    return list(_fit_budget(ordered, question.tokens))


def _order(recollection: Recollection) -> tuple[bool, float, str]:
    """Best first; memories that were archived by hand come last."""
    memory = recollection.memory
    return (memory.is_archived and memory.archive_reason == "manual", -recollection.score, memory.id)


def _distinct(asked: str, ordered: Sequence[Recollection], k: int) -> list[Recollection]:
    """The first k that differ from each other; of duplicates the better one stays. The same question asked
    before is not an answer."""
    kept: list[Recollection] = []
    seen: list[frozenset[str]] = [shingles(asked)] if asks(asked) else []
    for recollection in ordered:
        if len(kept) == k:
            break
        said = shingles_of(derive(recollection.memory, _read_words_shown))
        if all(not alike(said, other) for other in seen):
            kept.append(recollection)
            seen.append(said)
    return kept


def _read_words_shown(memory: Memory) -> Wording:
    return read_wording(memory.text.whole)


def _follow_relations(runtime: Runtime, scope: Scope, best: Sequence[Recollection]) -> Iterator[Recollection]:
    """Memories related to the answers, up to the configured depth. Relations such as `continues` and
    `references` are followed; `same_topic` is not, because the words found those already."""
    seen = {r.memory.id: r.score for r in best}
    edge = dict(seen)
    for _ in range(runtime.config.relations.relation_traversal_depth):
        if not edge or not (relations := runtime.store.relations(scope, list(edge))):
            return
        reached: dict[str, float] = {}
        found: dict[str, RelatedMemory] = {}
        for each in order_related(runtime, scope, list(edge), relations):  # strongest first
            other = each.memory.id
            if each.relation.type is RelationType.SAME_TOPIC or other in seen:
                continue
            ends = [end for end in (each.relation.source, each.relation.target) if end in edge]
            reached[other] = max([reached.get(other, 0.0), *(edge[end] * FADING for end in ends)])
            found[other] = each
        edge = dict(sorted(reached.items(), key=lambda item: -item[1])[:TIES])  # a stable sort
        seen |= edge
        for id, share in edge.items():
            yield Recollection(found[id].memory, share, found[id].retention, {"tied": share})


def _fit_budget(best: Iterable[Recollection], tokens: int | None) -> Iterator[Recollection]:
    """As many as the budget allows, the first ones in their fullest words; one that is too long does not
    exclude shorter ones."""
    for place, recollection in enumerate(best):
        forms = [replace(recollection, in_full=True)] if place < TOLD_IN_FULL else []
        for told in (*forms, recollection):
            if tokens is None:
                yield told
                break
            if (cost := about_tokens(told.text)) <= tokens:
                tokens -= cost
                yield told
                break


def mark_recalled(
    runtime: Runtime,
    scope: Scope,
    ids: Sequence[str],
    *,
    session: str | None = None,
    unasked: bool = False,
    awaits: Mapping[str, object] | None = None,
) -> None:
    """Record that memories were recalled and, with `session`, shown there. With `awaits` they are
    strengthened only if they turn out to be used. If it cannot be written now, the answer is still
    returned."""
    data: dict[str, object] = {"memories": list(ids)}
    data |= {"unasked": True, "revival": True} if unasked else {}
    data |= {"awaits": dict(awaits)} if awaits else {}
    data |= {"session": session} if session else {}
    try:
        runtime.ledger.write(scope.owner, lambda: [Event("recalled", runtime.clock.now(), data)])
    except (JournalError, StoreError) as trouble:
        runtime.observe("recall.unmarked", reason=trouble.notice)


# --- rankings -------------------------------------------------------------------------------------
# A ranking turns candidates into memories with scores and terms. `rank_fused` is the default and measures
# best (docs/why/ranking.md); `rank_by_priority` [E18] and `rank_by_score` [S5] are single formulas.

JUST_BELOW = 1e-6  # a successor ranks just before the memory it supersedes


class ParsedQuery(Value):
    """A question after analysis."""

    text: str
    filter: Filter
    mood: Emotion | None
    wish: TimeExpression | None
    only_time: bool = False  # it names only a time: everything said then is an answer
    category: Category | None = None  # preferred
    present: bool = False  # it asks for the present state or the last time
    japanese: bool = False  # it is mainly Japanese

    @property
    def window(self) -> Window | None:
        """The time that is named with certainty; "recently" is not one."""
        wish = self.wish
        return (to_micros(wish.since), to_micros(wish.until)) if wish and wish.certain else None

    @property
    def before_last(self) -> bool:
        """Whether the occasion before the last one is meant."""
        return bool(self.wish and self.wish.before_last)


Ranking = Callable[[Runtime, Scope, ParsedQuery, Candidates, int], Iterator[Recollection]]


def rank_fused(
    runtime: Runtime, scope: Scope, asked: ParsedQuery, evidence: Candidates, n: int
) -> Iterator[Recollection]:
    """The default ranking. The terms add up to log odds, so a factor is added as its logarithm; the best
    answer scores 1."""
    named = _named_speakers(asked.text, evidence.speakers())
    best = evidence.likeliest(named, asked.window, n)
    odds, terms = {id: each[0] for id, each in best.items()}, {id: each[1] for id, each in best.items()}
    finalists = runtime.store.get(scope, list(best))
    lifts = _lifts(
        asked, (_statement(memory, odds[memory.id], terms[memory.id]["words"]) for memory in finalists)
    )
    now, config = runtime.clock.now(), runtime.config
    found = {}
    for memory in finalists:
        id, strength = memory.id, decay.retention(memory, now, config.retention, config.weekly)
        factors = _factors(runtime, asked, memory, strength)
        if memory.credit is not NO_CREDIT or scope.task is not None:
            factors |= _learned_factors(scope, memory)
        near = best[id][2]
        sure = _confidence(asked, evidence, terms[id], memory, near)
        if derive(
            memory, only_asks
        ):  # a question with its answer: what was stated about the matter says more
            terms[id]["asks"] = ASKED_SHARE
            odds[id] += WEIGHTS["asks"] * ASKED_SHARE
        told = terms[id]
        told.update(factors, freshness=lifts.get(id, 0.0), confidence=sure, stored=evidence.total)
        if near is not None:
            told["nearness"] = (near - evidence.unrelated[0]) / evidence.unrelated[1]
            told["own_matter"] = evidence.own_matter
            told["usual"] = (evidence.usual[0] - evidence.unrelated[0]) / evidence.unrelated[1]
        total = odds[id] + told["freshness"] + sum(map(log, factors.values()))
        found[id] = Recollection(memory, total, strength, told)
    return _shares(_find_corrections(runtime, scope, found))


def only_asks(memory: Memory) -> bool:
    """Whether the user only asked in it, and somebody answered."""
    trigger = memory.fullest.trigger
    return bool(trigger) and not looks_like_statement(trigger)


def _is_japanese(memory: Memory) -> bool:
    return is_japanese(memory.searchable)


def _confidence(
    asked: ParsedQuery, evidence: Candidates, terms: Mapping[str, float], memory: Memory, near: float | None
) -> float:
    """The confidence that a memory is about the question; `near` is its cosine."""
    same = derive(memory, _is_japanese) is asked.japanese
    sure = confidence(terms["heard"], near, evidence.unrelated, same_language=same)
    if asked.window and terms["time"] == 1.0:  # it was said in the time asked for
        return 1.0 if asked.only_time else max(sure, MIN_CONFIDENCE_IN_TIME)
    return sure


def _lifts(asked: ParsedQuery, candidates: Iterable[Statement]) -> dict[str, float]:
    """What each statement gains, or loses, because the question asks for the present state or for the last
    time. Words of change help; the date decides."""
    if not (asked.present or asked.before_last):
        return {}
    statements = list(candidates)
    lifts = freshness(statements) if asked.present else {}
    odds = {each.id: each.odds + lifts.get(each.id, 0.0) for each in statements}
    odds |= order_by_date(statements, odds, asked.before_last)
    return {each.id: odds[each.id] - each.odds for each in statements}


def _statement(memory: Memory, odds: float, words: float) -> Statement:
    source = memory.source
    at, speaker = (memory.created, source.turn or 0), source.speaker or memory.trust
    return Statement(memory.id, odds, at, speaker, memory.searchable, words)


def _find_corrections(
    runtime: Runtime, scope: Scope, found: Mapping[str, Recollection]
) -> list[Recollection]:
    """The successors of superseded candidates: as relevant as the candidates themselves."""
    heirs = {r.memory.superseded_by: r for r in found.values() if r.memory.superseded_by}
    missing = runtime.store.get(scope, [id for id in heirs if id and id not in found])
    all_found = dict(found) | {
        m.id: Recollection(m, heirs[m.id].score, retention(runtime, m), heirs[m.id].terms)
        for m in missing
        if not m.is_forgotten
    }
    for id, old in heirs.items():
        if id in all_found:
            heir = all_found[id]
            sure = max(heir.terms["confidence"], old.terms["confidence"])
            better = max(heir.score, old.score + JUST_BELOW - log(SUPERSEDED_FACTOR))
            all_found[id] = replace(heir, score=better, terms=heir.terms | {"confidence": sure})
    return list(all_found.values())


def _shares(found: Sequence[Recollection]) -> Iterator[Recollection]:
    best = max((r.score for r in found), default=0.0)
    for each in found:
        yield Recollection(each.memory, exp(each.score - best), each.retention, each.terms)


MIN_CONFIDENCE_IN_TIME = 0.3  # minimum confidence of a memory in the named time
ASKED_SHARE = 0.7  # how much of a question a question with its answer is
ARCHIVED_FACTOR = 0.6  # factor: a trace is dense and would outrank a whole sentence
SUPERSEDED_FACTOR = 0.7  # factor for superseded memories
SAME_TASK_FACTOR = 1.2  # factor for memories of the same task
PREFERRED_FACTOR = 1.3  # factor for memories of the preferred category


def _factors(runtime: Runtime, asked: ParsedQuery, memory: Memory, strength: float) -> dict[str, float]:
    resonance = 1.0
    if asked.mood is not None:
        felt = memory_scores.felt_resonance(asked.mood, memory.emotion, runtime.config.resonance)
        resonance = bounded_factor(felt, 1.0, 1.1)
    return {
        "strength": bounded_factor(strength / 100, 0.9, 1.1),
        "recalls": bounded_factor(min(memory.recalls, 10) / 10, 1.0, 1.1),
        "validity": SUPERSEDED_FACTOR if memory.superseded_by else 1.0,
        "archived": ARCHIVED_FACTOR if memory.is_archived else 1.0,
        "resonance": resonance,
        "category": PREFERRED_FACTOR if asked.category and memory.category is asked.category else 1.0,
    }


def _learned_factors(scope: Scope, memory: Memory) -> dict[str, float]:
    """What a memory contributed so far, within 20 %, and whether it is of the same task."""
    same = scope.task is not None and memory.task == scope.task
    worth = (1 + memory_scores.contribution(memory.credit)) / 2
    return {"outcome": bounded_factor(worth, 0.8, 1.2), "task": SAME_TASK_FACTOR if same else 1.0}


def _named_speakers(text: str, speakers: Iterable[str | None]) -> list[str]:
    """The speakers whose name, or a part of it, is in the question."""
    asked = text.casefold()
    return [speaker for speaker in speakers if speaker and any(part in asked for part in _parts_of(speaker))]


def _parts_of(name: str) -> list[str]:
    """Short forms of a name: one of its words; for a name without spaces its beginning or end."""
    words = re.findall(r"\w{2,}", name.casefold())
    cut = [part for word in words if not word.isascii() and len(word) > 2 for part in (word[:2], word[-2:])]
    return [*words, *cut]


def rank_by_priority(
    runtime: Runtime, scope: Scope, asked: ParsedQuery, evidence: Candidates, n: int
) -> Iterator[Recollection]:
    """The `priority` ranking [E18]: memories whose score reaches the threshold. Each has a confidence, so an
    intense memory about something else stays out [ruling 17]."""
    config = runtime.config
    terms = relevance(evidence, window=asked.window)
    least = min(evidence.cosines.values(), default=None)
    for memory in runtime.store.get(scope, list(terms)):
        strength = retention(runtime, memory)
        near = evidence.cosines.get(memory.id, least)
        sure = _confidence(asked, evidence, terms[memory.id], memory, near)
        match = evidence.cosines.get(memory.id, 0.0) if evidence.cosines else terms[memory.id]["words"]
        felt = memory_scores.resonance(asked.mood, memory.emotion, config.resonance) if asked.mood else 0.0
        score = memory_scores.priority(strength, match, memory.recalls, felt, config.recall, config.resonance)
        if score >= config.retrieval.relevance_threshold:
            told = {"match": match, "resonance": felt, "confidence": sure, "own_matter": evidence.own_matter}
            yield Recollection(memory, score, strength, told)


def rank_by_score(
    runtime: Runtime, scope: Scope, asked: ParsedQuery, evidence: Candidates, n: int
) -> Iterator[Recollection]:
    """The `score` ranking over the finalists [S5]. An unknown role counts as 0.5."""
    from nagori.services.importance_factors import terms_of  # needed by this ranking alone

    now = runtime.clock.now()
    found = list(rank_fused(runtime, scope, asked, evidence, n))
    important = terms_of(runtime, scope, [each.memory for each in found])
    for recollection in found:
        memory = recollection.memory
        days = decay.memory_days(memory, now)
        terms = {
            "importance": memory_scores.importance(important[memory.id]),
            "recency": 1 / (1 + days / runtime.config.tiers.hot_days),
            "role_fit": 0.5 if None in (memory.role, scope.role) else float(memory.role == scope.role),
            "outcome": (1 + memory_scores.contribution(memory.credit)) / 2,
        }
        total = memory_scores.recall_score(**terms, weights=runtime.config.self_recall)
        boosts = _boosts(runtime, scope, memory, days)
        total *= prod(boosts.values())
        terms |= boosts
        sure = {name: value for name, value in recollection.terms.items() if name in ABOUT}
        yield replace(recollection, score=total, terms=terms | sure)


SAME_TASK_BOOST, FAILURE_BOOST, SUCCESS_BOOST = 1.2, 1.1, 1.1


def _boosts(runtime: Runtime, scope: Scope, memory: Memory, days: float) -> dict[str, float]:
    """The rule-based boosts [S5]: the same task, a recent failure, a success."""
    boosts = {}
    if scope.task is not None and memory.task == scope.task:
        boosts["task"] = SAME_TASK_BOOST
    if memory.outcome is TaskOutcome.FAILURE and days < runtime.config.tiers.hot_days:
        boosts["failure"] = FAILURE_BOOST
    if memory.outcome is TaskOutcome.SUCCESS:
        boosts["success"] = SUCCESS_BOOST
    return boosts


ABOUT = frozenset({"confidence", "own_matter"})  # terms that every ranking has
RANKINGS: dict[str, Ranking] = {"fused": rank_fused, "priority": rank_by_priority, "score": rank_by_score}


def retention(runtime: Runtime, memory: Memory) -> float:
    """The retention of a memory now."""
    return decay.retention(memory, runtime.clock.now(), runtime.config.retention, runtime.config.weekly)
