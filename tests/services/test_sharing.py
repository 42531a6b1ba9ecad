"""Agents share by one schema, and what is private reaches nobody else."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums.

import os
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from nagori import Emotion, Filter, Nagori, Scope
from nagori.config import load
from nagori.core.model import Privacy
from nagori.core.value_object import replace
from nagori.errors import InvalidInput, NotFound
from nagori.services import audit_log
from nagori.services.memory_block import ID_SHOWN
from nagori.services.prompt_context import context_for_prompt, context_for_tool
from nagori.services.session_start_context import context_for_start
from nagori.services.share_lessons_between_agents import LessonReport, share
from nagori.testing import FrozenClock, WordEmbedder

TRIES = int(os.environ.get("NAGORI_TEST_TRIES", "300"))  # 10,000 for the whole count
OTHERS: tuple[dict[str, str], ...] = (
    {"agent": "b", "role": "cook"},
    {"agent": "b"},
    {"role": "cook"},
    {"agent": "A", "role": "Cook"},
    {},  # an agent without a name
)
SECRET = "The spare boiler key hangs behind the wolpertinger."


@pytest.fixture
def team(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    """Agents in one process, each with a scope of its own."""
    with Nagori.open(tmp_path, clock=clock, embedder=WordEmbedder()) as memory:
        yield memory.with_scope(project="harbour")


def disclosing(folder: Path, clock: FrozenClock, days: float = 3.0) -> Nagori:
    config = load(overrides={"learning.disclose_after_days": days}).config
    return Nagori.open(folder, clock=clock, config=config, embedder=WordEmbedder())


# --- the schema


def test_lessons_are_shared_by_one_schema(team: Nagori) -> None:
    """[S9]"""
    record = {
        "agent_id": "musician-001",
        "role": "musician",
        "task_id": "task-123",
        "outcome": "success",
        "lessons": ["Pattern A works for the boiler.", "Pattern B fails for the boiler."],
        "privacy": "agent-only",
    }
    agent = team.with_scope(agent="musician-001", role="musician")
    kept = share(agent.runtime, agent.scope, LessonReport.from_record(record))
    assert [m.fullest.content for m in kept] == record["lessons"]
    assert {(m.agent, m.role, m.task, str(m.outcome), str(m.privacy), str(m.kind)) for m in kept} == {
        ("musician-001", "musician", "task-123", "success", "agent-only", "lesson")
    }
    agent.rebuild()
    assert [agent.show(m.id) for m in kept] == kept
    assert agent.verify().sound


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent_id": "other"},
        {"role": "conductor"},
        {"privacy": "secret"},
        {"outcome": "maybe"},
        {"lessons": []},
        {"lessons": "one text"},
        {"lessons": [1]},
        {"lessons": ["x"] * 101},
        {"task_id": ""},
        {"unknown": 1},
    ],
)
def test_a_wrong_report_and_another_agent_s_name_are_refused(team: Nagori, wrong: dict[str, Any]) -> None:
    """[S9, ruling 30]"""
    agent = team.with_scope(agent="a", role="cook")
    with pytest.raises(InvalidInput):
        share(agent.runtime, agent.scope, LessonReport.from_record({"lessons": ["x"]} | wrong))
    assert agent.list() == []


def test_a_report_is_an_object_with_lessons_and_only_an_agent_keeps_them_to_itself(team: Nagori) -> None:
    shapes: tuple[Any, ...] = ({}, [], "x")
    for wrong in shapes:
        with pytest.raises(InvalidInput):
            LessonReport.from_record(wrong)
    with pytest.raises(InvalidInput):
        team.share(["x"], privacy="private")
    assert team.share(["The user shares this."], privacy="public")


# --- privacy


def test_private_agent_only_and_public_reach_whom_they_should(team: Nagori) -> None:
    """[S9]"""
    cook = team.with_scope(agent="a", role="cook")
    kept = {level: cook.share([f"The boiler lesson is {level}."], privacy=level)[0].id for level in Privacy}
    seen = {
        name: {str(level) for level, id in kept.items() if id in {m.id for m in view.list()}}
        for name, view in {
            "itself": cook,
            "same role": team.with_scope(agent="b", role="cook"),
            "other role": team.with_scope(agent="b", role="waiter"),
            "no role": team.with_scope(agent="b"),
            "no name": team.with_scope(replace(team.scope, unnamed_agent=True)),
            "the user": team,
        }.items()
    }
    every = {"private", "agent-only", "public"}
    assert seen == {
        "itself": every,
        "same role": {"agent-only", "public"},
        "other role": {"public"},
        "no role": {"public"},
        "no name": {"public"},
        "the user": every,
    }


def attempts(random: random.Random, other: Nagori, id: str) -> dict[str, Callable[[], object]]:
    """Every verb and hook by which an agent could learn of a memory."""
    runtime, scope = other.runtime, other.scope
    words = SECRET.split()
    query = " ".join(random.sample(words, random.randint(1, len(words))))
    prefix = id[: random.randint(4, len(id))]
    return {
        "recall": lambda: other.recall(
            query, min_confidence=0.0, ranking=random.choice(["fused", "priority", "score"])
        ),
        "list": lambda: other.list(
            Filter(archived=True, forgotten=True, prefix=random.choice([None, prefix]))
        ),
        "show": lambda: other.show(prefix),
        "why": lambda: other.why(id, query),
        "find_related": lambda: other.find_related(id),
        "edit": lambda: other.edit(id, privacy="public"),
        "feedback": lambda: other.feedback(id, True),
        "protect": lambda: other.protect(id),
        "forget": lambda: other.forget(id),
        "archive": lambda: other.archive(id),
        "undo": lambda: other.undo(id),
        "link": lambda: other.link(id, id, "references"),
        "prompt": lambda: context_for_prompt(runtime, scope, query, random.choice(["", "s"])),
        "start": lambda: context_for_start(runtime, scope, "s"),
        "tool": lambda: context_for_tool(runtime, scope, "Bash", query, "s"),
        "summary": lambda: other.summary("s"),
        "log": lambda: other.log(id),
        "export": lambda: list(other.export()),
        "remember": lambda: other.remember(f"My own boiler has {random.random()} litres."),
        "share": lambda: other.share(["I keep my own spare key."], privacy="public"),
    }


def test_a_private_lesson_reaches_no_other_agent_by_any_verb(team: Nagori, clock: FrozenClock) -> None:
    """[S9, ruling 31] `NAGORI_TEST_TRIES=10000` tries them all that often."""
    owner = team.with_scope(agent="a", role="cook")
    (lesson,) = owner.share([SECRET], privacy="private")
    dice, tried = random.Random(7), 0
    names = list(attempts(dice, team.with_scope(agent="b"), lesson.id))
    while tried < TRIES:
        scope = dice.choice(OTHERS)
        task = dice.choice([None, "t"])
        other = team.with_scope(replace(team.scope, unnamed_agent=not scope, task=task, **scope))
        name = dice.choice(names)
        clock.forward(seconds=1)
        try:
            answer = attempts(dice, other, lesson.id)[name]()
        except (NotFound, InvalidInput):
            answer = None
        assert "wolpertinger" not in repr(answer).casefold(), name
        assert lesson.id[:ID_SHOWN] not in repr(answer), name
        tried += 1
    kept = owner.show(lesson.id)
    assert (kept.privacy, kept.protected, kept.is_forgotten, kept.is_archived) == (
        Privacy.PRIVATE,
        False,
        False,
        False,
    )


def test_a_derived_memory_is_as_private_as_its_strictest_source(team: Nagori) -> None:
    """[S9, ruling 31]"""
    cook = team.with_scope(agent="a", role="cook")
    (secret,) = cook.share([SECRET], privacy="private")
    made = cook.remember("A summary of the boiler.", kind="summary")
    cook.link(made.id, secret.id, "derived_from")
    assert cook.show(made.id).privacy is Privacy.PRIVATE
    with pytest.raises(NotFound):
        team.with_scope(agent="b", role="cook").show(made.id)


# --- timed disclosure


def nights(memory: Nagori, clock: FrozenClock, count: int) -> list[int]:
    disclosed = []
    for _ in range(count):
        clock.forward(days=1)
        disclosed.append(memory.cycle().disclosed)
    return disclosed


def test_nothing_is_disclosed_by_default(team: Nagori, clock: FrozenClock) -> None:
    """[S9]"""
    cook = team.with_scope(agent="a", role="cook")
    (lesson,) = cook.share([SECRET], privacy="private")
    assert nights(team, clock, 20) == [0] * 20
    assert cook.show(lesson.id).privacy is Privacy.PRIVATE


def test_a_lesson_is_disclosed_in_steps_after_days_and_nights(tmp_path: Path, clock: FrozenClock) -> None:
    """[S9]"""
    with disclosing(tmp_path, clock) as memory:
        cook = memory.with_scope(agent="a", role="cook")
        (lesson,) = cook.share([SECRET], privacy="private")
        seen = []
        for _ in range(9):
            nights(memory, clock, 1)
            seen.append(str(cook.show(lesson.id).privacy))
        assert seen.index("agent-only") >= 2
        assert seen.index("public") >= seen.index("agent-only") + 3
        assert memory.verify().sound
        acts = audit_log.read(memory.runtime.data_dir)
        expected = ("disclosed", {"memories": 1, "by": "cycle"})
        assert [(act.act, {**act.detail, "salt": 0}) for act in acts] == [
            (expected[0], {**expected[1], "salt": 0})
        ] * 2


@pytest.mark.parametrize("jump", [timedelta(days=4000), timedelta(days=-4000)])
def test_a_clock_that_jumps_discloses_nothing(tmp_path: Path, clock: FrozenClock, jump: timedelta) -> None:
    """[S9, ruling 31]"""
    with disclosing(tmp_path, clock) as memory:
        cook = memory.with_scope(agent="a", role="cook")
        (lesson,) = cook.share([SECRET], privacy="private")
        nights(memory, clock, 1)
        clock.set(clock.now() + jump)
        assert memory.cycle().disclosed == 0
        assert memory.cycle().disclosed == 0  # again in the same night
        assert cook.show(lesson.id).privacy is Privacy.PRIVATE


def test_flagged_content_is_never_disclosed_by_time(tmp_path: Path, clock: FrozenClock) -> None:
    """[S9, ruling 31]"""
    with disclosing(tmp_path, clock) as memory:
        cook = memory.with_scope(agent="a", role="cook")
        key = "sk-ant-" + "api03-" + "Ab1" * 20
        (secret,) = cook.share([f"The boiler needs the key {key}."], privacy="private")
        (protected,) = cook.share(["The boiler is old."], privacy="private")
        cook.protect(protected.id)
        felt = cook.remember(
            "I was afraid of the boiler.",
            kind="lesson",
            category="emotional",
            privacy="private",
            emotion=Emotion(80),
        )
        nights(memory, clock, 10)
        assert {cook.show(id).privacy for id in (secret.id, protected.id, felt.id)} == {Privacy.PRIVATE}


def test_a_lesson_is_not_disclosed_beyond_what_it_was_made_from(tmp_path: Path, clock: FrozenClock) -> None:
    """[S9]"""
    with disclosing(tmp_path, clock) as memory:
        cook = memory.with_scope(agent="a", role="cook")
        source = cook.remember("What I saw at the boiler.", privacy="private", kind="episode")
        (lesson,) = cook.share([SECRET], privacy="private")
        cook.link(lesson.id, source.id, "derived_from")
        nights(memory, clock, 10)
        assert cook.show(lesson.id).privacy is Privacy.PRIVATE


def test_the_task_is_a_name_like_the_others_of_a_scope(team: Nagori) -> None:
    assert team.with_scope(task="t").scope == Scope(project="harbour", task="t")
    with pytest.raises(InvalidInput):
        team.with_scope(task=" ")
