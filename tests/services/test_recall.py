"""How a question is understood: its time, the present, what is not about it, what is tied to it."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums, or options are passed on as a dict.

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from nagori import Emotion, Filter, Nagori, Source, Turn
from nagori.core.events import Event
from nagori.testing import FrozenClock

NOW = datetime(2026, 4, 1, 9, tzinfo=UTC)  # a Wednesday


def contents(memory: Nagori, question: str, **more: object) -> list[str]:
    return [r.memory.text.content for r in memory.recall(question, **more)]  # type: ignore[arg-type]


def said(memory: Nagori, *texts: str, at: datetime = NOW) -> None:
    for n, text in enumerate(texts):
        memory.remember(text, created=at + timedelta(minutes=n))


# --- time


def test_a_time_in_the_question_brings_what_was_said_then(memory: Nagori) -> None:
    said(memory, "We ate noodles.", at=NOW - timedelta(days=1))
    said(memory, "We ate curry.", at=NOW - timedelta(days=30))
    assert contents(memory, "What did we eat yesterday?")[0] == "We ate noodles."
    assert contents(memory, "30日前 we ate なにを?")[0] == "We ate curry."  # 先月 would fit yesterday, too


def test_a_time_is_enough_to_be_found_by(memory: Nagori) -> None:
    said(memory, "棚を組み立てた。", at=NOW - timedelta(days=1))
    for n in range(30):
        said(memory, f"記録その{n}", at=NOW - timedelta(days=60 + n))
    assert contents(memory, "昨日は?", min_confidence=0.0)[0] == "棚を組み立てた。"


def test_a_filter_by_time_is_stronger_than_the_words(memory: Nagori) -> None:
    said(memory, "We ate noodles.", at=NOW - timedelta(days=1))
    found = contents(memory, "What did we eat yesterday?", filter=Filter(until=NOW - timedelta(days=5)))
    assert found == []


# --- the present


def test_asked_for_the_present_the_newest_word_comes_first(memory: Nagori) -> None:
    said(memory, "Our package manager is npm, the package manager for all.", at=NOW - timedelta(days=90))
    said(memory, "We switched the package manager to pnpm.", at=NOW - timedelta(days=2))
    assert contents(memory, "Which package manager do we use now?")[0].endswith("pnpm.")


# --- the floor


def test_what_is_not_about_the_matter_is_not_told(memory: Nagori) -> None:
    said(memory, "The kettle is green.", "Our cat sleeps all day.")
    assert contents(memory, "quantum chromodynamics lattice") == []
    assert contents(memory, "quantum chromodynamics lattice", min_confidence=0.0) != []


def test_the_terms_say_how_certain_it_is(memory: Nagori) -> None:
    said(memory, "The kettle is green.")
    [found] = memory.recall("green kettle")
    assert found.terms["confidence"] > 0.5


# --- said twice, tied, bounded


def test_the_same_thing_is_told_once(memory: Nagori) -> None:
    memory.remember("The kettle is green.", source=Source("s1", 1))
    memory.remember("The kettle is green!", source=Source("s2", 1))
    assert len(contents(memory, "kettle")) == 1


def link(memory: Nagori, source: str, target: str, type: str) -> None:
    event = Event("linked", NOW, {"target": target, "type": type}, source)
    memory.runtime.ledger.write(memory.scope.owner, lambda: [event])


def test_what_an_answer_is_tied_to_comes_along_two_steps_and_no_further(memory: Nagori) -> None:
    kept = [
        memory.remember(text)
        for text in ("The kettle is green.", "Bought in Rome.", "With Ken.", "Nobody came.")
    ]
    for one, other in pairwise(kept):
        link(memory, other.id, one.id, "continues")
    assert contents(memory, "green kettle") == ["The kettle is green.", "Bought in Rome.", "With Ken."]


def test_a_shared_topic_alone_brings_nothing(memory: Nagori) -> None:
    kept = [memory.remember(text) for text in ("The kettle is green.", "Bought in Rome.")]
    link(memory, kept[1].id, kept[0].id, "same_topic")
    assert contents(memory, "green kettle") == ["The kettle is green."]


def test_what_is_tied_but_forgotten_stays_away(memory: Nagori) -> None:
    kept = [memory.remember(text) for text in ("The kettle is green.", "Bought in Rome.")]
    link(memory, kept[1].id, kept[0].id, "continues")
    memory.forget(kept[1].id)
    assert contents(memory, "green kettle") == ["The kettle is green."]


@pytest.mark.parametrize(("budget", "count"), [(0, 0), (6, 1), (100, 3)])
def test_answers_stay_within_the_budget(memory: Nagori, budget: int, count: int) -> None:
    said(memory, "The kettle is green.", "The kettle is hot today.", "The kettle whistles songs.")
    assert len(contents(memory, "kettle", tokens=budget)) == count


FADED = [
    f"The {colour} kettle stood in the {room} when we moved in, and nobody knew whose it had been. {more}"
    for colour, room, more in (
        ("green", "hall", "We kept it for the garden, because its lid is missing, and it whistles at noon."),
        ("grey", "cellar", "It went to the school in May, together with the two lamps of the landlord."),
        (
            "white",
            "kitchen",
            "It is the one that leaks a little, so it only holds water for the plants.",
        ),
    )
]


@pytest.fixture
def faded(memory: Nagori, clock: FrozenClock) -> Nagori:
    """A memory in which everything is told by a few words only."""
    for text in FADED:
        memory.remember(text, kind="episode", category="casual", emotion=Emotion(60))
    while any(each.level < 3 for each in memory.list(Filter(archived=True))):
        clock.forward(days=1)
        memory.cycle()
    return memory


def test_L42_the_best_two_answers_are_told_in_full_and_the_others_as_their_level_shows(faded: Nagori) -> None:
    found = faded.recall("kettle moved in landlord garden plants", 3, mark=False)
    assert len(found) == 3
    assert [each.in_full for each in found] == [True, True, False]
    assert all(each.text == each.memory.fullest.whole in FADED for each in found[:2])
    assert found[2].text == found[2].memory.text.whole not in FADED
    assert found[0].to_dict()["text"] == found[0].text


def test_L42_what_does_not_fit_in_full_is_told_as_its_level_shows(faded: Nagori) -> None:
    found = faded.recall("kettle moved in landlord garden plants", 3, mark=False, tokens=60)
    assert [each.in_full for each in found][:2] == [True, False]
    assert found[1].text == found[1].memory.text.whole not in FADED


# --- mood


def test_the_mood_of_a_session_makes_like_feelings_a_little_likelier(memory: Nagori) -> None:
    glad = memory.remember("The kettle sings.", emotion=Emotion(80, "positive", 80, ("joy",)))
    memory.form([Turn("I am so happy and glad today!!", NOW, "s1", 0)])
    asked = {r.memory.id: r.terms for r in memory.recall("kettle", session="s1")}
    assert asked[glad.id]["resonance"] > 1
    assert {r.memory.id: r.terms for r in memory.recall("kettle")}[glad.id]["resonance"] == 1
    assert {r.memory.id: r.terms for r in memory.recall("kettle", session="new")}[glad.id]["resonance"] == 1


# --- two characters


WORDS = """
    京都 転職 税金 会議 契約 予算 設計 障害 認証 猫背 料理 天気 花見 書類 鍵穴 電池 病院 旅行 英語 犬小屋
    寿司 温泉 歯医者 免許 保険 家賃 引越 名刺 上司 同僚 薬局 財布 手紙 誕生 結婚 育児 卒業 試験 図面 倉庫
"""


def test_every_two_character_word_finds_its_memory(memory: Nagori) -> None:
    words = WORDS.split()
    ids = {
        word: memory.remember(f"先日の{word}のことを書いておく。番号は{n}番。").id
        for n, word in enumerate(words)
    }
    missed = [word for word in words if memory.recall(word, k=3, mark=False)[0].memory.id != ids[word]]
    assert missed == []


def test_a_clock_that_jumped_back_changes_only_the_time_words(memory: Nagori, clock: FrozenClock) -> None:
    said(memory, "The kettle is green.")
    clock.forward(days=-400)
    assert contents(memory, "green kettle") == ["The kettle is green."]


# --- what a new user tried


def test_a_question_for_a_day_alone_is_answered_with_that_day(memory: Nagori) -> None:
    said(memory, "Planted tulips in the garden.", at=NOW - timedelta(days=20))
    said(memory, "新しい自転車を買った。", at=NOW - timedelta(days=10))
    said(memory, "Deployed version 2.", at=NOW - timedelta(days=50))
    for question in ("what did I do on 2026-03-12?", "3月12日に何をした？", "what did we do on March 12?"):
        assert contents(memory, question) == ["Planted tulips in the garden."]


def test_a_question_asked_before_is_no_answer_to_itself(memory: Nagori) -> None:
    said(memory, "What is the database host?", "The database host is db9.")
    assert contents(memory, "what is the database host?") == ["The database host is db9."]


def test_a_correction_told_by_hand_takes_back_what_was_told(memory: Nagori, clock: FrozenClock) -> None:
    old = memory.remember("The staging server moved to port 8443.", protect=True)
    clock.forward(minutes=1)
    new = memory.remember("Correction: the staging server moved to port 9443.")
    assert memory.show(old.id).superseded_by == new.id
    assert memory.show(new.id).protected
    assert not memory.show(old.id).protected


def test_what_was_put_away_by_hand_is_found_below_and_not_wished_back(memory: Nagori) -> None:
    old = memory.remember("The staging server is at port 8443 in the old rack.")
    said(memory, "The staging server is at port 9443 in the new rack.")
    memory.archive(old.id)
    assert contents(memory, "staging server port", k=2)[0].endswith("new rack.")
    assert memory.show(old.id).revival_at is None
