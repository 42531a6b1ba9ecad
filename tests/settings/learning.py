"""Experiments on learning: what is withheld, what counts, what is left out, what moves, what is disclosed."""

from __future__ import annotations

from tests.settings.lab import FEWER, MORE, Experiment, Lab, from_to

from nagori import Draft, Emotion, Kind, Nagori
from nagori.core.events import SESSIONS, Event
from nagori.core.model import Credit
from nagori.core.outcomes_lessons_and_credit import Evidence
from nagori.services.process_turns import process
from nagori.services.prompt_context import context_for_prompt

PROMPT = "What does the kettle of the harbour need?"
IDLE = Evidence(shown=2000, used=10)


def teach(lab: Lab, *texts: str, **credits: Credit) -> tuple[Nagori, dict[str, str]]:
    """A memory with lessons, and with outcomes known; returns the ids of the lessons by their last word."""
    memory = lab.open()
    kept = memory.remember_many([Draft(text, kind=Kind.LESSON, emotion=Emotion(80)) for text in texts])
    ids = {each.fullest.content.rstrip(".").split()[-1]: each.id for each in kept}
    told = {ids[word]: list(credit) for word, credit in credits.items()}
    evidence = {"hooks.max_memories": list(IDLE)}
    data = {"credits": told, "memories": list(told), "usual": {"": [1.0, 1.0, 0.0]}, "evidence": evidence}
    memory.runtime.ledger.write(("local", "me"), lambda: [Event("credited", lab.clock.now(), data)])
    return memory, ids


def shown(lab: Lab, memory: Nagori, session: str = "s") -> list[str]:
    lab.clock.forward(seconds=1)
    return [each.id for each in context_for_prompt(memory.runtime, memory.scope, PROMPT, session).memories]


def withheld_in_many_prompts(lab: Lab) -> int:
    memory, _ = teach(lab, "The kettle of the harbour needs gas.")
    for n in range(60):
        shown(lab, memory, f"s{n}")
    notes = memory.runtime.store.state(("local", "me"), SESSIONS)
    return sum("withheld" in turn for note in notes.values() for turn in note["awaiting"])


def shown_first(lab: Lab) -> bool:
    """Whether the lesson with which work went better is told first, though the other one fits as well."""
    memory, ids = teach(lab, "The kettle of the harbour needs gas.", "The kettle of the harbour needs oil.")
    helpful = max(ids.values())  # of equals the other one comes first
    data = {"credits": {helpful: list(Credit(20, 20, 0, 14, -14))}, "memories": [helpful], "usual": {}}
    memory.runtime.ledger.write(("local", "me"), lambda: [Event("credited", lab.clock.now(), data)])
    shown(lab, memory)
    (turn,) = memory.runtime.store.state(("local", "me"), SESSIONS)["s"]["awaiting"]
    return bool(turn["order"][0] == helpful)


def shown_in_vain(lab: Lab) -> int:
    memory, _ = teach(lab, "The kettle of the harbour needs gas.", gas=Credit(0, 12, unused=12))
    return len(shown(lab, memory))


def settings_learned(lab: Lab) -> int:
    memory, _ = teach(lab, "The kettle of the harbour needs gas.")
    memory.cycle()
    return len(memory.policy().versions)


def visible_to_the_role(lab: Lab) -> bool:
    memory = lab.open()
    memory.with_scope(agent="a", role="cook").share(["The kettle is old."], privacy="private")
    for _ in range(5):
        lab.clock.forward(days=1)
        memory.cycle()
    return bool(memory.with_scope(agent="b", role="cook").list())


def levels_by_tier(lab: Lab) -> list[int]:
    """The levels of a fact when it is new, warm and cold."""
    memory, seen = lab.open(), []
    kept = memory.remember("The kettle of the harbour needs gas and nine litres of water every morning.")
    for days in (1, 9, 30):
        lab.clock.forward(days=days)
        memory.cycle()
        seen.append(int(memory.show(kept.id).level))
    return seen


def summaries_of_sessions(lab: Lab) -> int:
    memory = lab.open()
    texts = ("The kettle is green.", "The burner needs gas.", "Ken bought nine cups in Rome.")
    memory.form([{"role": "user", "content": text} for text in texts], session="s")
    process(memory.runtime, ("local", "me"), ended=["s"])
    return sum(each.kind is Kind.SUMMARY for each in memory.list())


MORE_KEPT = from_to([1, 2, 3], [1, 1, 1])
CALM = {"learning.withhold_share": 0.0}
EXPERIMENTS = [
    Experiment("learning.withhold_share", 0.5, withheld_in_many_prompts, MORE),
    Experiment("learning.credit_weight", 0.0, shown_first, from_to(True, False), CALM),
    Experiment("learning.exclude_unused_after", 0, shown_in_vain, from_to(0, 1), CALM),
    Experiment("learning.adapt", False, settings_learned, FEWER),
    Experiment("tiers.compress", True, levels_by_tier, from_to([1, 1, 1], [1, 2, 3])),
    Experiment("tiers.important", 0.1, levels_by_tier, MORE_KEPT, {"tiers.compress": True}),
    Experiment("learning.session_summaries", True, summaries_of_sessions, from_to(0, 1)),
    Experiment("learning.disclose_after_days", 2.0, visible_to_the_role, from_to(False, True)),
]
