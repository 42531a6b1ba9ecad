"""Vectors: those that are missing, and those of another embedding model, made beside the old ones until they
are complete.

    fill     bundle by bundle; recall goes on with the old model
    switch   one mark in the store, set only if no memory is without its new vector
    clear    bundle by bundle; recall goes on with the new model

Killed anywhere, it goes on from there the next time. With the old model configured again it only clears
what was made of the new one [ruling 39].
"""

from __future__ import annotations

from collections.abc import Iterator

from nagori.core.model import Filter, Memory, Scope
from nagori.core.pricing import Tokens, price_of
from nagori.core.storage import Space, Vector
from nagori.core.values import Value, batched
from nagori.errors import InvalidInput, ModelError, StoreError
from nagori.language.passages import about_tokens
from nagori.runtime import Parts, Progress, no_progress
from nagori.services.remember import make_vectors, zip_vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Embedder

AT_ONCE = 64
EMBED_AT_ONCE = 32  # where somebody waits
LOOK_AT_ONCE = 2_000
DROP_AT_ONCE = 5_000
SAMPLE = 500  # memories that stand for all when tokens are estimated


class Change(Value):
    """What a change of model means: `left` vectors are to be made, of about `tokens` tokens; `usd` is None
    where no price is known, and 0 where nobody is paid. `old` are the models in use now."""

    old: tuple[str, ...]
    new: str
    memories: int
    left: int
    tokens: int
    usd: float | None
    obsolete: int  # vectors of other models, to be taken away

    @property
    def done(self) -> bool:
        return not self.left and not self.obsolete and set(self.old) <= {self.new}


class Changed(Value):
    """What was done."""

    model: str
    made: int
    removed: int


def plan(parts: Parts) -> Change:
    """What `reembed` would do now; nothing is done, and nobody is asked."""
    new = _wished(parts).model
    old, memories, left, tokens, obsolete = set[str](), 0, 0, 0.0, 0
    for space in parts.journal.spaces():
        parts.ledger.catch_up(space)
        models = parts.vectors.models(space)
        used, having = models.active, models.counts
        total = _total(parts, space)
        missing = total - having.get(new, 0)
        old |= {used} if used else set()
        memories, left = memories + total, left + missing
        tokens += missing * _mean_tokens(parts, space, new)
        obsolete += sum(n for name, n in having.items() if name != new)
    return Change(tuple(sorted(old)), new, memories, left, round(tokens), _usd(parts, tokens), obsolete)


def reembed(parts: Parts, progress: Progress = no_progress) -> Changed:
    """Change every space over to the configured model."""
    embedder, made, removed = _wished(parts), 0, 0
    todo = plan(parts).left
    for space in parts.journal.spaces():
        while True:
            for n in _fill(parts, space, embedder):
                made += n
                progress(made, max(made, todo))
            if parts.vectors.activate(space, embedder.model):
                break  # somebody may have kept something since: then there is more to fill
        removed += _clear(parts, space, embedder.model)
    parts.tell("embedder.changed", model=embedder.model, made=made, removed=removed)
    return Changed(embedder.model, made, removed)


def _wished(parts: Parts) -> Embedder:
    if parts.embedder is None:
        raise InvalidInput("embedding", "no embedder to change over to: recall goes by words alone")
    return parts.embedder


def _fill(parts: Parts, space: Space, embedder: Embedder) -> Iterator[int]:
    """Vectors for whatever has none of this model, kept bundle by bundle. Many are looked for at once: the
    store passes over all that have theirs already, each time it is asked."""
    while waiting := without_vector(parts, space, embedder.model, LOOK_AT_ONCE):
        for bundle in batched(waiting, AT_ONCE):
            data = make_vectors(embedder, [memory.searchable for memory in bundle])
            vectors = {
                memory.id: Vector(embedder.model, memory.digest, vector)
                for memory, vector in zip(bundle, data, strict=True)
            }
            yield parts.vectors.put(space, vectors)


def _clear(parts: Parts, space: Space, kept: str) -> int:
    removed = 0
    for model in parts.vectors.models(space).counts:
        while model != kept and (n := parts.vectors.drop(space, model, DROP_AT_ONCE)):
            removed += n
    return removed


# --- what it would cost ---------------------------------------------------------------------------


def _total(parts: Parts, space: Space) -> int:
    counts = parts.store.count(_whole(space))
    return counts.total + counts.forgotten


def _whole(space: Space) -> Scope:
    return Scope(tenant=space[0], user=space[1])


def _mean_tokens(parts: Parts, space: Space, model: str) -> float:
    sample = without_vector(parts, space, model, SAMPLE)
    return sum(about_tokens(memory.searchable) for memory in sample) / max(1, len(sample))


def _usd(parts: Parts, tokens: float) -> float | None:
    if not _wished(parts).model.startswith("openai:"):
        return 0.0
    price = price_of(parts.config.embedding.chosen)
    return price.of(Tokens(tokens, 0)) if price else None


# --- vectors that are missing ----------------------------------------------------------------------


def embed_missing(parts: Parts, space: Space, progress: Progress = no_progress) -> int:
    """Give vectors to memories that have none: after a rebuild, a crash, or a time without the model. One
    that fails is told, and the rest waits for the next time."""
    embedder = parts.embedder_for(space)
    try:
        return _embed_missing(parts, space, embedder, progress) if embedder else 0
    except (ModelError, InvalidInput) as trouble:  # InvalidInput: not of the dimension it had before
        parts.tell("embedder.silent", error=trouble)
        return 0


def without_vector(parts: Parts, space: Space, model: str, limit: int) -> list[Memory]:
    """Memories whose present text has no vector of `model` yet."""
    owner = Scope(tenant=space[0], user=space[1])
    return parts.store.find(owner, Filter(archived=True, forgotten=True, unembedded=model), limit=limit)


def _embed_missing(parts: Parts, space: Space, embedder: Embedder, progress: Progress) -> int:
    done = 0
    while waiting := without_vector(parts, space, embedder.model, EMBED_AT_ONCE):
        data = make_vectors(embedder, [memory.searchable for memory in waiting])
        vectors = {
            memory.id: Vector(embedder.model, memory.digest, vector)
            for memory, vector in zip(waiting, data, strict=True)
        }
        if not parts.vectors.put(space, vectors):
            break  # all of them changed meanwhile; whoever changed them embeds them
        done += len(waiting)
        progress(done, 0)
    if parts.vectors.active(space) != embedder.model:
        parts.vectors.activate(space, embedder.model)  # the old model is out of reach: this one serves now
    return done


def catch_up_on_vectors(parts: Parts, scope: Scope, most: int) -> None:
    """Vectors for some of the memories that have none yet."""
    embedder = parts.embedder_for(scope.space)
    if embedder is None or most <= 0:
        return
    try:
        waiting = without_vector(parts, scope.space, embedder.model, most)
        texts, digests = [m.searchable for m in waiting], [m.digest for m in waiting]
        made = zip_vectors(parts, embedder, digests, texts)
        by_id = {m.id: Vector(embedder.model, m.digest, made[m.digest]) for m in waiting if m.digest in made}
        parts.vectors.put(scope.space, by_id)
    except StoreError as trouble:
        parts.tell("store.behind", space=scope.space, reason=str(trouble))
