"""Experiments on finding: recall, its rankings, relations, and the context of a prompt."""

from __future__ import annotations

from itertools import pairwise

from tests.settings.lab import FEWER, MORE, Experiment, Lab, family, from_to

from nagori import Emotion, Kind, Memory, Nagori, Valence
from nagori.core.events import Event
from nagori.services.backup import FolderBackups, list_backups
from nagori.stores.sqlite import SqliteStore

KETTLES = [
    f"The kettle in the {room} is {colour}, and it was a present of {name}."
    for room, colour, name in (
        ("kitchen", "green", "Aki"),
        ("office", "black", "Ken"),
        ("workshop", "copper", "Ms Mori"),
        ("cellar", "blue", "our uncle"),
        ("garden house", "dented", "the neighbours"),
        ("cabin", "white", "Wilhelmina"),
        ("boat", "rusty", "the harbour master"),
    )
]


# --- what is returned -----------------------------------------------------------------------------


def answers(lab: Lab) -> list[str]:
    memory = lab.open()
    memory.remember_many(KETTLES)
    return [found.text for found in memory.recall("Which kettle was a present?")]


def shorter(usual: list[str], other: list[str]) -> bool:
    return 0 < len(other) < len(usual)


def first_by_ranking(lab: Lab) -> str:
    """The best answer: the faint one that is meant, or the vivid one that shares a word."""
    memory = lab.open()
    faint = memory.remember("The green kettle leaks.", kind=Kind.EPISODE, emotion=Emotion(8))
    memory.remember("The wedding had a kettle band.", kind=Kind.EPISODE, emotion=Emotion(100))
    return "meant" if memory.recall("green kettle leaks")[0].id == faint.id else "vivid"


def answers_of_any_confidence(lab: Lab) -> int:
    memory = lab.open()
    memory.remember_many(["The kettle is green.", "The tea in the garden was cold, and nobody minded."])
    return len(memory.recall("Which kettle was a present?"))


def in_context(lab: Lab) -> int:
    """The number of memories in the context of a prompt."""
    memory = lab.open()
    memory.remember_many(KETTLES)
    return len(memory.context("Which kettle was a present?").memories)


def index_in_memory(lab: Lab) -> bool:
    """Whether a process that recalls often keeps an index in its memory."""
    memory = lab.open()
    memory.remember_many(KETTLES)
    for _ in range(5):
        memory.recall("Which kettle was a present?")
    store = memory.runtime.store
    return isinstance(store, SqliteStore) and store.index_bytes_used > 0


PRIORITY = {"retrieval.ranking": "priority"}
RETURNED = [
    Experiment("retrieval.top_k", 2, answers, shorter),
    Experiment("retrieval.ranking", "priority", first_by_ranking, from_to("meant", "vivid")),
    Experiment("retrieval.relevance_threshold", 40.0, answers, shorter, PRIORITY),
    Experiment("retrieval.min_confidence", 0.5, answers_of_any_confidence, from_to(2, 1)),
    Experiment("retrieval.token_budget", 100, in_context, FEWER),
    Experiment("retrieval.char_budget", 400, in_context, FEWER),
    Experiment("retrieval.index_megabytes", 0, index_in_memory, from_to(True, False)),
]


# --- the single formulas --------------------------------------------------------------------------

MOOD = Emotion(60, Valence.POSITIVE, 70, ("joy", "pride"))


def priority_of_glad_memory(lab: Lab) -> float:
    """The score of a memory that shares the mood and was recalled once."""
    memory = lab.open()
    felt = Emotion(60, Valence.POSITIVE, 50, ("joy",))
    memory.remember("The green kettle came as a present.", emotion=felt)
    memory.recall("green kettle")
    memory.cycle()
    [found] = memory.recall("green kettle", mood=MOOD)
    return found.score


def lead(lab: Lab, first: Memory, second: Memory, memory: Nagori) -> float:
    """By how much the first memory outranks the second."""
    scores = {found.id: found.score for found in memory.recall("kettle")}
    return round(scores[first.id] - scores[second.id], 9)


def lead_of_vivid(lab: Lab) -> float:
    memory = lab.open()
    vivid, faint = (memory.remember(KETTLES[n], emotion=Emotion(90 - 80 * n)) for n in range(2))
    return lead(lab, vivid, faint, memory)


def lead_of_recent(lab: Lab) -> float:
    """Of two protected memories without decay the newer one."""
    memory = lab.open()
    old = memory.remember(KETTLES[0])
    lab.clock.forward(days=7)
    return lead(lab, memory.remember(KETTLES[1]), old, memory)


def lead_of_same_role(lab: Lab) -> float:
    memory = lab.open()
    mine = memory.with_scope(role="cook").remember(KETTLES[0])
    theirs = memory.with_scope(role="guide").remember(KETTLES[1])
    return lead(lab, mine, theirs, memory.with_scope(role="cook"))


def score_of_helpful(lab: Lab) -> float:
    """Of a memory with which work went better."""
    memory = lab.open()
    kept = memory.remember(KETTLES[0], emotion=Emotion(0))
    lab.clock.forward(days=300)
    credits = {kept.id: [20, 20, 0, 15, -15, 0, 0, 0]}
    data = {"credits": credits, "memories": [kept.id], "usual": {}, "evidence": {}}
    memory.runtime.ledger.write(memory.scope.owner, lambda: [Event("credited", lab.clock.now(), data)])
    return memory.recall("Which kettle was a present?")[0].score


SCORE = {"retrieval.ranking": "score"}
FORMULAS = [
    *family(
        "resonance",
        priority_of_glad_memory,
        [
            ("valence_match_bonus", 0.9, MORE),
            ("arousal_proximity_bonus", 0.9, MORE),
            ("tags_overlap_weight", 0.9, MORE),
            ("priority_weight_alpha", 3.0, MORE),
        ],
        PRIORITY,
    ),
    Experiment("recall.recall_count_weight", 1.0, priority_of_glad_memory, MORE, PRIORITY),
    Experiment("self_recall.importance", 0.8, lead_of_vivid, MORE, SCORE),
    Experiment("self_recall.recency", 0.5, lead_of_recent, MORE, SCORE),
    Experiment("self_recall.role_fit", 0.9, lead_of_same_role, MORE, SCORE),
    Experiment("self_recall.outcome", 0.9, score_of_helpful, MORE, SCORE),
]


# --- relations ------------------------------------------------------------------------------------


def count_links(lab: Lab) -> int:
    """The most links that one of several memories of one topic has after a cycle."""
    memory = lab.open()
    texts = [
        f"The green kettle in the kitchen of the house leaks, part {n}." for n in ["one", "two", "three"]
    ]
    kept = memory.remember_many([*texts, "The green kettle in the kitchen sings for the neighbours."])
    memory.cycle()
    return max(len(memory.why(each.id).relations) for each in kept)


def count_followed(lab: Lab) -> int:
    """The number of answers when three memories continue each other and one is meant."""
    memory = lab.open()
    kept = [memory.remember(text) for text in ("The kettle is green.", "Bought in Rome.", "With Ken.")]
    for one, other in pairwise(kept):
        event = Event("linked", lab.clock.now(), {"target": one.id, "type": "continues"}, other.id)
        memory.runtime.ledger.write(memory.scope.owner, lambda event=event: [event])  # type: ignore[misc]
    return len(memory.recall("green kettle"))


def order_of_related(lab: Lab) -> list[str]:
    """Two related memories of about the same strength, the older one a little stronger."""
    memory = lab.open()
    hub = memory.remember(KETTLES[0])
    for name, intensity in (("older", 70), ("newer", 68)):
        lab.clock.forward(minutes=1)
        memory.link(memory.remember(f"The {name} one.", emotion=Emotion(intensity)).id, hub.id)
    return [each.memory.text.content.split()[1] for each in memory.find_related(hub.id)]


RELATIONS = [
    Experiment(
        "relations.score_proximity_threshold",
        0.0,
        order_of_related,
        from_to(["newer", "older"], ["older", "newer"]),
    ),
    Experiment("relations.auto_link_similarity_threshold", 0.3, count_links, from_to(2, 3)),
    Experiment("relations.max_relations_per_memory", 1, count_links, from_to(2, 1)),
    Experiment("relations.enable_auto_linking", False, count_links, from_to(2, 0)),
    Experiment("relations.relation_traversal_depth", 1, count_followed, from_to(3, 2)),
]


# --- consolidation --------------------------------------------------------------------------------


def coefficients_after_a_night(lab: Lab) -> int:
    """How many of four memories fade more slowly after a night."""
    memory = lab.open()
    kept = [memory.remember(text) for text in (*KETTLES[:2], "Aki met Ken in Rome.", "Well, thanks.")]
    lab.clock.forward(days=1)
    memory.cycle()
    return sum(memory.show(one.id).coefficient > one.coefficient for one in kept)


CONSOLIDATION = [
    Experiment("consolidation.enabled", True, coefficients_after_a_night, from_to(0, 2)),
    Experiment(
        "consolidation.share",
        0.25,
        coefficients_after_a_night,
        from_to(2, 1),
        given={"consolidation.enabled": True},
    ),
]


# --- privacy --------------------------------------------------------------------------------------


def stored_text(lab: Lab) -> str:
    said = "The door opens with <private>orchid</private>; password: hunter2-Wq8xRt51"
    return lab.open().remember(said).text.whole


PRIVACY = [
    Experiment(
        "privacy.strip_private",
        False,
        stored_text,
        lambda usual, other: "orchid" not in usual and "orchid" in other,
    ),
    Experiment(
        "privacy.redact_secrets",
        False,
        stored_text,
        lambda usual, other: "hunter2" not in usual and "hunter2" in other,
    ),
]

# --- backups --------------------------------------------------------------------------------------


def count_backups(lab: Lab) -> int:
    """The backups after four nights."""
    memory = lab.open()
    lab.patch.chdir(lab.folder)
    memory.remember(KETTLES[0])
    for _ in range(4):
        memory.cycle_all()
        lab.clock.forward(days=1)
    return len(list_backups(FolderBackups(lab.folder / "saved")))


SAVED = {"backup.folder": "saved"}
BACKUPS = [
    Experiment("backup.folder", "saved", count_backups, from_to(0, 4)),
    Experiment("backup.every_days", 2.0, count_backups, from_to(4, 2), given=SAVED),
    Experiment("backup.keep", 3, count_backups, from_to(4, 3), given=SAVED),
]


EXPERIMENTS = [*RETURNED, *FORMULAS, *RELATIONS, *CONSOLIDATION, *BACKUPS, *PRIVACY]
