"""Manage vectors: add missing ones, and switch to another embedding model.

    fill     in batches; recall uses the old model
    switch   one mark in the store, set only if every memory has its new vector
    clear    in batches; recall uses the new model

After a kill the next run continues. If the old model is configured again, the run only clears the new vectors
[ruling 39].
"""

from __future__ import annotations

from collections.abc import Iterator

from nagori.core.cost_estimate import Tokens, price_of
from nagori.core.model import Filter, Memory, Scope
from nagori.core.storage_types import Owner, Vector
from nagori.core.value_object import Value, split_batches
from nagori.errors import InvalidInput, ModelError, StoreError
from nagori.language.passages import about_tokens
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services.remember import make_vectors, zip_vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Embedder

AT_ONCE = 64
EMBED_AT_ONCE = 32  # batch size while somebody waits
LOOK_AT_ONCE = 2_000
DROP_AT_ONCE = 5_000
SAMPLE = 500  # sample size for the token estimate


class ReembedPlan(Value):
    """A planned change of model: `left` vectors to make, of about `tokens` tokens. `usd` is None if no price
    is known, and 0 if it is free. `old` are the models in use now."""

    old: tuple[str, ...]
    new: str
    memories: int
    left: int
    tokens: int
    usd: float | None
    obsolete: int  # vectors of other models, to be removed

    @property
    def is_complete(self) -> bool:
        return not self.left and not self.obsolete and set(self.old) <= {self.new}


class ReembedReport(Value):
    """The result of a change of model."""

    model: str
    made: int
    removed: int


def plan(runtime: Runtime) -> ReembedPlan:
    """What `reembed` would do now, without requests and changes."""
    new = _require_embedder(runtime).model
    old, memories, left, tokens, obsolete = set[str](), 0, 0, 0.0, 0
    for owner in runtime.journal.owners():
        runtime.ledger.catch_up(owner)
        models = runtime.vectors.models(owner)
        used, having = models.active, models.counts
        total = _total(runtime, owner)
        missing = total - having.get(new, 0)
        old |= {used} if used else set()
        memories, left = memories + total, left + missing
        tokens += missing * _mean_tokens(runtime, owner, new)
        obsolete += sum(n for name, n in having.items() if name != new)
    return ReembedPlan(
        tuple(sorted(old)), new, memories, left, round(tokens), _usd(runtime, tokens), obsolete
    )


def reembed(runtime: Runtime, progress: Progress = no_progress) -> ReembedReport:
    """Switch every owner to the configured model."""
    embedder, made, removed = _require_embedder(runtime), 0, 0
    todo = plan(runtime).left
    for owner in runtime.journal.owners():
        while True:
            for n in _fill(runtime, owner, embedder):
                made += n
                progress(made, max(made, todo))
            if runtime.vectors.activate(owner, embedder.model):
                break  # new memories may have been added meanwhile: fill again
        removed += _clear(runtime, owner, embedder.model)
    runtime.observe("embedder.changed", model=embedder.model, made=made, removed=removed)
    return ReembedReport(embedder.model, made, removed)


def _require_embedder(runtime: Runtime) -> Embedder:
    if runtime.embedder is None:
        raise InvalidInput("embedding", "error.no_embedder")
    return runtime.embedder


def _fill(runtime: Runtime, owner: Owner, embedder: Embedder) -> Iterator[int]:
    """Make the missing vectors of this model, batch by batch. Many ids are read at once, because each query
    skips all memories that have their vector."""
    while waiting := without_vector(runtime, owner, embedder.model, LOOK_AT_ONCE):
        for bundle in split_batches(waiting, AT_ONCE):
            data = make_vectors(embedder, [memory.searchable for memory in bundle])
            vectors = {
                memory.id: Vector(embedder.model, memory.digest, vector)
                for memory, vector in zip(bundle, data, strict=True)
            }
            yield runtime.vectors.put(owner, vectors)


def _clear(runtime: Runtime, owner: Owner, kept: str) -> int:
    removed = 0
    for model in runtime.vectors.models(owner).counts:
        while model != kept and (n := runtime.vectors.drop(owner, model, DROP_AT_ONCE)):
            removed += n
    return removed


# --- cost estimate --------------------------------------------------------------------------------


def _total(runtime: Runtime, owner: Owner) -> int:
    counts = runtime.store.count(_whole(owner))
    return counts.total + counts.forgotten


def _whole(owner: Owner) -> Scope:
    return Scope(tenant=owner[0], user=owner[1])


def _mean_tokens(runtime: Runtime, owner: Owner, model: str) -> float:
    sample = without_vector(runtime, owner, model, SAMPLE)
    return sum(about_tokens(memory.searchable) for memory in sample) / max(1, len(sample))


def _usd(runtime: Runtime, tokens: float) -> float | None:
    if not _require_embedder(runtime).model.startswith("openai:"):
        return 0.0
    price = price_of(runtime.config.embedding.chosen)
    return price.of(Tokens(tokens, 0)) if price else None


# --- vectors that are missing ----------------------------------------------------------------------


def embed_missing(runtime: Runtime, owner: Owner, progress: Progress = no_progress) -> int:
    """Make vectors for memories that have none: after a rebuild, a crash, or a time without the model. A
    failure is reported, and the rest waits."""
    embedder = runtime.embedder_for(owner)
    try:
        return _embed_missing(runtime, owner, embedder, progress) if embedder else 0
    except (ModelError, InvalidInput) as trouble:  # InvalidInput: the dimension changed
        runtime.observe("embedder.silent", error=trouble)
        return 0


def without_vector(runtime: Runtime, owner: Owner, model: str, limit: int) -> list[Memory]:
    """Memories whose present text has no vector of `model`."""
    scope = Scope(tenant=owner[0], user=owner[1])
    return runtime.store.find(scope, Filter(archived=True, forgotten=True, unembedded=model), limit=limit)


def _embed_missing(runtime: Runtime, owner: Owner, embedder: Embedder, progress: Progress) -> int:
    done = 0
    while waiting := without_vector(runtime, owner, embedder.model, EMBED_AT_ONCE):
        data = make_vectors(embedder, [memory.searchable for memory in waiting])
        vectors = {
            memory.id: Vector(embedder.model, memory.digest, vector)
            for memory, vector in zip(waiting, data, strict=True)
        }
        if not runtime.vectors.put(owner, vectors):
            break  # all of them changed meanwhile; the writer embeds them
        done += len(waiting)
        progress(done, 0)
    if runtime.vectors.active(owner) != embedder.model:
        runtime.vectors.activate(owner, embedder.model)  # the old model is not available, so use this one now
    return done


def catch_up_on_vectors(runtime: Runtime, scope: Scope, most: int) -> None:
    """Make vectors for some of the memories that have none."""
    embedder = runtime.embedder_for(scope.owner)
    if embedder is None or most <= 0:
        return
    try:
        waiting = without_vector(runtime, scope.owner, embedder.model, most)
        texts, digests = [m.searchable for m in waiting], [m.digest for m in waiting]
        made = zip_vectors(runtime, embedder, digests, texts)
        by_id = {m.id: Vector(embedder.model, m.digest, made[m.digest]) for m in waiting if m.digest in made}
        runtime.vectors.put(scope.owner, by_id)
    except StoreError as trouble:
        runtime.observe("store.behind", owner=scope.owner, reason=trouble.notice)
