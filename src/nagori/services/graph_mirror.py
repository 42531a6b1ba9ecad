"""Mirror memories, their concepts and relations into a graph server, for programs that read graphs.

The mirror is a copy: no answer depends on it, and nothing on the path of a prompt touches it. It says itself
which version of each memory it holds, so a run writes what differs from the store and removes what the store
does not tell any more; an emptied or killed mirror is completed by the next run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from hashlib import sha256

from nagori.core.model import ALIVE, Memory, Relation, Scope
from nagori.core.spreading_activation import MirroredMemory
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value
from nagori.errors import Conflict, InvalidInput, MemoryErased, Notice, StoreError
from nagori.files import ENCRYPTION_NOTE
from nagori.language.keywords import find_concepts
from nagori.leases import lease
from nagori.protocols import GraphMirror
from nagori.runtime import Progress, Runtime, no_progress

PAGE = 200
PATIENCE = 60.0  # seconds that an erasure waits for a run of somebody else
FORMAT = 1  # of what is written; another number writes everything again


class MirrorReport(Value):
    """What a run changed, and the number of memories in the mirror."""

    memories: int
    written: int
    removed: int


def mirror_graph(
    runtime: Runtime, scope: Scope, *, rebuild: bool = False, progress: Progress = no_progress
) -> MirrorReport:
    """Bring the mirror of the user's memories up to date; with `rebuild`, empty it first. Only the user may
    ask, not an agent: the mirror holds what agents may not see."""
    if not scope.is_user:
        raise InvalidInput("scope", "error.graph_needs_user")
    graph, owner = runtime.graph, scope.owner
    if graph is None:
        raise InvalidInput("graph.mirror", "error.no_graph")
    if (runtime.data_dir / ENCRYPTION_NOTE).exists():
        raise InvalidInput("graph.mirror", "error.graph_plain")
    runtime.ledger.catch_up(owner)
    with lease(runtime, owner, "graph") as renew:
        removed = graph.erase(owner) if rebuild else 0
        known = graph.versions(owner)
        told = {memory.id for page in _pages(runtime, owner) for memory in page}
        written = done = 0
        for page in _pages(runtime, owner):
            renew()
            changed = list(_find_changed(runtime, owner, page, told, known))
            if changed:
                _put(runtime, graph, owner, changed)
            written, done = written + len(changed), done + len(page)
            progress(min(done, len(told)), len(told))
        removed += graph.remove(owner, known.keys() - told)
        return MirrorReport(len(told), written, removed)


def copy_graph(runtime: Runtime, owner: Owner) -> None:
    """At night: bring the mirror up to date. A server that cannot be reached is reported, and tried again the
    next night. The mirror is plain text, so an encrypted folder has none."""
    try:
        if (runtime.data_dir / ENCRYPTION_NOTE).exists():
            runtime.observe("graph.refused", reason=Notice("error.graph_plain"))
            erase_graph(runtime, owner)
        else:
            mirror_graph(runtime, Scope(tenant=owner[0], user=owner[1]))
    except (StoreError, Conflict, OSError) as trouble:
        runtime.observe("graph.copy_failed", error=trouble)


def clean_graph(runtime: Runtime, owner: Owner) -> int:
    """Remove from the mirror what the store does not hold any more; returns the number of memories. While a
    run of somebody else is under way, wait: it may still write what it has read before."""
    if (runtime.data_dir / ENCRYPTION_NOTE).exists():
        return erase_graph(runtime, owner)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return mirror_graph(runtime, Scope(tenant=owner[0], user=owner[1])).removed
        except Conflict:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def erase_graph(runtime: Runtime, owner: Owner) -> int:
    """Remove everything of an owner; returns the number of nodes."""
    return runtime.graph.erase(owner) if runtime.graph else 0


def _put(runtime: Runtime, graph: GraphMirror, owner: Owner, memories: list[MirroredMemory]) -> None:
    """Write memories. An owner who was erased meanwhile leaves the mirror again."""
    graph.put(owner, memories)
    if runtime.journal.is_erased(owner):
        graph.erase(owner)
        raise MemoryErased()


def _pages(runtime: Runtime, owner: Owner) -> Iterator[list[Memory]]:
    last, scope = None, Scope(tenant=owner[0], user=owner[1])
    while page := runtime.store.find(scope, ALIVE, limit=PAGE, older_than=last):
        yield page
        last = page[-1]


def _find_changed(
    runtime: Runtime, owner: Owner, page: list[Memory], told: set[str], known: dict[str, str]
) -> Iterator[MirroredMemory]:
    """Those of a page that the mirror holds in another version. Concepts follow from the text, so they
    are looked for only where something changed."""
    scope = Scope(tenant=owner[0], user=owner[1])
    relations = _by_source(runtime.store.relations(scope, [memory.id for memory in page]), told)
    for memory in page:
        fields, related = _fields(memory), tuple(sorted(relations.get(memory.id, ())))
        body = json.dumps([FORMAT, fields, memory.digest.hex(), related], sort_keys=True)
        version = sha256(body.encode()).hexdigest()[:16]
        if known.get(memory.id) != version:
            concepts = {name: weight for name, (weight, _) in find_concepts(memory.searchable).items()}
            yield MirroredMemory(memory.id, version, fields, concepts, related)


def _by_source(relations: Iterable[Relation], told: set[str]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for each in relations:
        if each.target in told:
            found.setdefault(each.source, []).append((each.type, each.target))
    return found


def _fields(memory: Memory) -> dict[str, str]:
    """What a node says about a memory. What changes with every recall is left out."""
    optional = {
        "category": memory.category,
        "project": memory.project,
        "agent": memory.agent,
        "session": memory.source.session,
        "speaker": memory.source.speaker,
    }
    return {
        "text": memory.text.whole,
        "kind": memory.kind.value,
        "level": memory.level.name.lower(),
        "privacy": memory.privacy.value,
        "created": memory.created.isoformat(),
        **{name: str(value) for name, value in optional.items() if value is not None},
    }
