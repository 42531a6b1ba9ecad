"""Experiments on conversations: threads, working memory and the summaries of threads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from tests.settings.lab import FEWER, MORE, Experiment, Lab, from_to

from nagori import Filter, Kind, Nagori
from nagori.core.events import RecordedTurn
from nagori.core.spreading_activation import MirroredMemory
from nagori.core.storage_types import Owner

TALK = [
    ("We painted the kitchen on Sunday in light green.", "Light green makes a kitchen brighter."),
    ("The paint came from the shop of Ms Mori.", "Her shop in Elm Street mixes colours."),
    ("By the way, I booked the night train to Vienna for 3 May.", "The night train leaves at 21:40."),
    ("My brother Ken meets me in Vienna at the station.", "Vienna has two large stations."),
]


def talk(lab: Lab, pause: float = 1) -> Nagori:
    """A conversation; between its two halves nothing is said for so many minutes."""
    memory = lab.open()
    for place, (said, answer) in enumerate(TALK):
        lab.clock.forward(minutes=pause if place == 2 else 1)
        memory.turn(said, session="s").answer(answer)
    return memory


def count_threads(lab: Lab) -> int:
    return len(talk(lab).threads("s"))


def count_threads_with_pause(lab: Lab) -> int:
    return len(talk(lab, 30).threads("s"))


def turns_in_view(lab: Lab) -> int:
    return len(talk(lab).working_memory("s").turns)


def words_of_summaries(lab: Lab) -> int:
    memory = talk(lab)
    lab.clock.forward(hours=1)
    memory.process()
    kept = memory.list(Filter(kinds=frozenset({Kind.SUMMARY})))
    return sum(len(each.text.content) for each in kept)


class Recorder:
    """In place of a log or a cache: notes how it was opened and what it was given."""

    opened: ClassVar[list[tuple[object, ...]]] = []
    given: ClassVar[list[object]] = []

    def __init__(self, *address: object) -> None:
        self.opened.append(address)

    def position(self, owner: Owner) -> int:
        return 0

    def append(self, owner: Owner, turns: Sequence[RecordedTurn]) -> None:
        self.given.extend(turn.text for turn in turns)

    def replace(self, owner: Owner, records: Mapping[str, object]) -> None:
        self.given.extend(records)

    def close(self) -> None:
        pass


def copies(lab: Lab) -> type[Recorder]:
    """What a conversation leaves in copies."""

    class Copies(Recorder):
        opened: ClassVar[list[tuple[object, ...]]] = []
        given: ClassVar[list[object]] = []

    lab.patch.setattr("nagori.adapters.parquet_turn_log.ParquetLogs", Copies)
    lab.patch.setattr("nagori.adapters.redis_summaries.SessionCache", Copies)
    lab.patch.setenv("VALKEY_PASSWORD", "usual")
    lab.patch.setenv("OTHER_PASSWORD", "other")
    words_of_summaries(lab)
    return Copies


def copied(lab: Lab) -> int:
    return len(copies(lab).given)


def password(lab: Lab) -> object:
    return copies(lab).opened[0][1]


class GraphRecorder:
    """In place of a graph server: notes how it was opened and what it was given."""

    opened: ClassVar[list[tuple[object, ...]]] = []
    given: ClassVar[list[object]] = []

    def __init__(self, *address: object) -> None:
        self.opened.append(address)

    def versions(self, owner: Owner) -> dict[str, str]:
        return {}

    def put(self, owner: Owner, memories: Sequence[MirroredMemory]) -> None:
        self.given.extend(memories)

    def remove(self, owner: Owner, ids: Collection[str]) -> int:
        return 0

    def close(self) -> None:
        pass


def mirrored_graph(lab: Lab) -> type[GraphRecorder]:
    """What a night leaves in a graph server."""

    class Mirror(GraphRecorder):
        opened: ClassVar[list[tuple[object, ...]]] = []
        given: ClassVar[list[object]] = []

    lab.patch.setattr("nagori.adapters.bolt_graph.BoltGraph", Mirror)
    lab.patch.setenv("NEO4J_PASSWORD", "usual")
    lab.patch.setenv("OTHER_PASSWORD", "other")
    memory = talk(lab)
    memory.process()
    memory.cycle()
    return Mirror


def count_mirrored(lab: Lab) -> int:
    return len(mirrored_graph(lab).given)


def graph_password(lab: Lab) -> object:
    return mirrored_graph(lab).opened[0][1]


def episodes(lab: Lab) -> int:
    memory = talk(lab)
    lab.clock.forward(hours=1)
    memory.process()
    return len(memory.list(Filter(kinds=frozenset({Kind.EPISODE}))))


KEPT = {"threads.summaries": True}
GRAPH = {"graph.mirror": "bolt://nagori@127.0.0.1:1/memories"}
CACHE = KEPT | {"sessions.cache": "rediss://nagori@127.0.0.1:1/0"}
EXPERIMENTS = [
    Experiment("sessions.policy", "summaries", episodes, FEWER),
    Experiment("sessions.log_dir", "/nowhere", copied, from_to(0, 8)),
    Experiment("sessions.log_days", 0.01, copied, from_to(8, 0), {"sessions.log_dir": "/nowhere"}),
    Experiment("sessions.cache", CACHE["sessions.cache"], copied, from_to(0, 2), KEPT),
    Experiment("sessions.password_env", "OTHER_PASSWORD", password, from_to("usual", "other"), CACHE),
    Experiment("graph.mirror", GRAPH["graph.mirror"], count_mirrored, MORE),
    Experiment("graph.password_env", "OTHER_PASSWORD", graph_password, from_to("usual", "other"), GRAPH),
    Experiment("threads.boundary", "off", count_threads, from_to(2, 1)),
    Experiment("threads.threshold", 0.0, count_threads, MORE),
    Experiment("threads.similarity", -1.0, count_threads, FEWER, {"threads.boundary": "literal"}),
    Experiment("threads.idle_minutes", 60.0, count_threads_with_pause, FEWER, {"threads.boundary": "off"}),
    Experiment("threads.max_turns", 2, count_threads, MORE),
    Experiment("threads.view_turns", 3, turns_in_view, from_to(4, 3)),
    Experiment("threads.summaries", True, words_of_summaries, MORE),
    Experiment("threads.summary_tokens", 20, words_of_summaries, FEWER, KEPT),
]
