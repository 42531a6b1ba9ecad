"""Experiments on conversations: threads, working memory and the summaries of threads."""

from __future__ import annotations

from tests.settings.lab import FEWER, MORE, Experiment, Lab, from_to

from nagori import Filter, Kind, Nagori

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


EXPERIMENTS = [
    Experiment("threads.boundary", "off", count_threads, from_to(2, 1)),
    Experiment("threads.threshold", 0.0, count_threads, MORE),
    Experiment("threads.similarity", -1.0, count_threads, FEWER, {"threads.boundary": "literal"}),
    Experiment("threads.idle_minutes", 60.0, count_threads_with_pause, FEWER, {"threads.boundary": "off"}),
    Experiment("threads.max_turns", 2, count_threads, MORE),
    Experiment("threads.view_turns", 3, turns_in_view, from_to(4, 3)),
    Experiment("threads.summaries", False, words_of_summaries, FEWER),
    Experiment("threads.summary_tokens", 20, words_of_summaries, FEWER),
]
