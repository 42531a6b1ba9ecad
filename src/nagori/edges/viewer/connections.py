"""The page of connections: a small graph of what a memory or a text leads to, by links and shared topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nagori.app import Nagori
from nagori.core.model import Memory
from nagori.core.spreading_activation import Topic
from nagori.edges.locale import Translator
from nagori.edges.viewer.page_data import Fields, memory_rows
from nagori.language.keywords import find_concepts
from nagori.runtime import Progress, no_progress
from nagori.services.related_memories_and_stale_links import RelatedMemory

SHARED_TOPICS, FURTHER_TOPICS = 6, 6
ANSWERS = 12
MEMORIES_OF_TOPIC = 3
MOST_MEMORIES = 24
MOST_LETTERS = 2_000  # of the text that is associated with
DEPTH = 3


def show_connections(
    memory: Nagori, translator: Translator, fields: Fields, progress: Progress = no_progress
) -> dict[str, Any]:
    """Nodes and edges around a memory (`id`) or a text (`text`); bounded, whatever is remembered. In an edge,
    no topic or an empty memory stands for the centre."""
    id, text = str(fields.get("id") or ""), str(fields.get("text") or "").strip()
    centre = memory.show(id) if id else None
    asked = (centre.fullest.whole if centre else text)[:MOST_LETTERS]
    if not asked.strip():
        return {"centre": None, "text": "", "topics": [], "memories": [], "edges": []}
    linked = memory.find_related(centre.id)[:MOST_MEMORIES] if centre else []
    # The first time ever this indexes the topics of all memories.
    further = memory.associate(asked, FURTHER_TOPICS, depth=DEPTH, progress=progress)
    near = [each.memory for each in linked]
    near += [each.memory for each in (*memory.recall(asked, ANSWERS, mark=False), *further.memories)]
    near += _read_mentioning(memory, further.topics, {each.id for each in near})
    known = {each.id: each for each in near if each.id != id and not each.is_forgotten}
    shared = _find_shared_topics(asked, known.values())
    joined = {each.memory.id for each in linked}.union(*shared.values())
    later = [topic for topic in further.topics if joined & set(topic.memories)]
    joined |= {each for topic in later for each in topic.memories}
    shown = [each for each in known.values() if each.id in joined][:MOST_MEMORIES]
    ids = {each.id for each in shown}
    return {
        "centre": memory_rows(memory, [centre])[0] if centre else None,
        "text": "" if centre else text,
        "topics": [{"name": name} for name in (*shared, *(topic.name for topic in later))],
        "memories": memory_rows(memory, shown),
        "edges": [
            *_shared_edges(shared, ids),
            *_further_edges(later, len(shared), ids),
            *_link_edges(linked, ids),
        ],
    }


def _read_mentioning(memory: Nagori, topics: Sequence[Topic], known: set[str]) -> list[Memory]:
    """Some memories that mention the topics and are not known yet."""
    wanted = dict.fromkeys(id for topic in topics for id in topic.memories[:MEMORIES_OF_TOPIC])
    return memory.runtime.store.get(memory.scope, [id for id in wanted if id not in known])


def _find_shared_topics(asked: str, memories: Iterable[Memory]) -> dict[str, list[str]]:
    """The topics of the text that some memories mention, too, by name, with the ids of these; most first."""
    own = find_concepts(asked)
    mentioning: dict[str, list[str]] = {concept: [] for concept in own}
    for memory in memories:
        for concept in find_concepts(memory.searchable).keys() & own.keys():
            mentioning[concept].append(memory.id)
    found = sorted(mentioning, key=lambda concept: (-len(mentioning[concept]), concept))
    return {own[concept][1]: mentioning[concept] for concept in found[:SHARED_TOPICS] if mentioning[concept]}


def _shared_edges(shared: Mapping[str, Sequence[str]], shown: set[str]) -> Iterator[dict[str, Any]]:
    """From the centre over each topic to the memories that share it."""
    for place, ids in enumerate(shared.values()):
        yield {"topic": place, "memory": "", "link": None}
        yield from ({"topic": place, "memory": id, "link": None} for id in ids if id in shown)


def _further_edges(topics: Sequence[Topic], first: int, shown: set[str]) -> Iterator[dict[str, Any]]:
    """From memories to the topics that they lead to."""
    for place, topic in enumerate(topics, first):
        yield from ({"topic": place, "memory": id, "link": None} for id in topic.memories if id in shown)


def _link_edges(linked: Sequence[RelatedMemory], shown: set[str]) -> Iterator[dict[str, Any]]:
    """Links that somebody set or a cycle found, from the centre."""
    for each in linked:
        if each.memory.id in shown:
            outward = each.relation.target == each.memory.id
            link = f"{each.relation.type}{'' if outward else '_in'}"
            yield {"topic": None, "memory": each.memory.id, "link": link}
