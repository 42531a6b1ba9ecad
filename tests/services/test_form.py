"""What a conversation becomes: repetitions bundled, corrections marked, sessions told in short."""

from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest

from nagori import Filter, Nagori, Turn
from nagori.core.model import RelationType
from nagori.core.value_object import replace
from nagori.language.passages import alike, shingles
from nagori.testing import FrozenClock

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def talk(*said: str, session: str = "s1", speaker: str = "Aki", role: str = "user") -> list[Turn]:
    return [
        Turn(text, START + timedelta(minutes=n), session, n, speaker, role)  # type: ignore[arg-type]
        for n, text in enumerate(said)
    ]


def a_week_later(turns: list[Turn]) -> list[Turn]:
    return [replace(turn, at=turn.at + timedelta(days=7)) for turn in turns]


def everything(memory: Nagori) -> list[str]:
    return sorted(each.text.content for each in memory.list(Filter(forgotten=True)))


# --- said again


def test_the_same_words_again_are_one_memory_mentioned_twice(memory: Nagori) -> None:
    first, again = memory.form(talk("Run the tests before you commit.", "run the tests, before you commit!"))
    assert again.id == first.id
    assert len(everything(memory)) == 1
    assert memory.show(first.id).mentions == 2


def test_the_same_words_in_another_session_are_bundled_too(memory: Nagori) -> None:
    memory.form(talk("テストを走らせてからコミットして。"))
    [kept] = memory.form(talk("テストを走らせてからコミットして", session="s2"))
    assert len(everything(memory)) == 1
    assert memory.show(kept.id).mentions == 2


def test_telling_the_same_turns_again_counts_nothing_twice(memory: Nagori) -> None:
    turns = talk("Run the tests before you commit.", "Lunch?", "Run the tests before you commit.")
    before = memory.form(turns)
    after = memory.form(turns)
    assert [m.id for m in after] == [m.id for m in before]
    assert memory.show(before[0].id).mentions == 2


def test_a_number_or_a_not_makes_it_another_statement(memory: Nagori) -> None:
    memory.form(
        talk(
            *("会議は3時からです。", "会議は4時からです。", "I do eat meat.", "I do not eat meat."),
            *("犬が猫を追う", "猫が犬を追う"),
        )
    )
    assert len(everything(memory)) == 6


def test_the_same_words_of_another_speaker_stay_apart(memory: Nagori) -> None:
    memory.form(talk("I love this old house."))
    memory.form(talk("I love this old house.", session="s2", speaker="Ken"))
    assert len(everything(memory)) == 2


def test_a_wish_to_keep_it_protects_what_was_said_before(memory: Nagori) -> None:
    [first] = memory.form(talk("The code of the door is 4711, please remember this."))
    memory.unprotect(first.id)
    memory.form(talk("The code of the door is 4711, please remember this!", session="s2"))
    assert memory.show(first.id).protected


UNRELATED = """
    今日は朝から雨が降っている。
    明日の会議は三時からに変わりました。
    冷蔵庫に牛乳がもうない。
    新しいサーバーの設定が終わった。
    娘が自転車に乗れるようになった。
    この関数は遅すぎるので書き直したい。
    京都の紅葉はまだ早かった。
    来週の金曜までに見積もりを出す。
    犬の散歩は毎朝六時です。
    彼はコーヒーより紅茶が好きだ。
    部屋の鍵をなくしてしまった。
    データベースの移行は成功した。
    駅前のパン屋が閉店するらしい。
    花粉症の薬を飲み忘れた。
    テストが一つだけ落ちている。
    母に電話するのを忘れないで。
    電車が十分遅れています。
    図書館で借りた本を返した。
    夕飯はカレーにしよう。
    パスワードを変更してください。
"""


def test_unrelated_japanese_sentences_are_never_merged(memory: Nagori) -> None:
    said = [line.strip() for line in UNRELATED.strip().splitlines()]
    assert not [pair for pair in combinations(said, 2) if alike(shingles(pair[0]), shingles(pair[1]))]
    memory.form(talk(*said))
    assert everything(memory) == sorted(said)


# --- taken back


def test_a_correction_marks_what_it_takes_back(memory: Nagori) -> None:
    old, _, new = memory.form(
        talk(
            "The release party is on Friday in the garden.",
            "I bought bread.",
            "Correction: the release party is on Monday in the garden.",
        )
    )
    assert memory.show(old.id).superseded_by == new.id
    [relation] = memory.runtime.store.relations(memory.scope, [new.id])
    assert (relation.source, relation.target, relation.type) == (new.id, old.id, RelationType.CONTRADICTS)
    assert [r.memory.id for r in memory.recall("release party")][:2] == [new.id, old.id]


def test_a_correction_of_nothing_that_was_said_marks_nothing(memory: Nagori) -> None:
    memory.form(talk("I bought bread.", "Correction: the release party is on Monday."))
    assert not any(m.superseded_by for m in memory.list())


def test_an_assistant_takes_nothing_back(memory: Nagori) -> None:
    said = talk("The release party is on Friday in the garden.")
    memory.form(said)
    memory.form(
        talk("Correction: the release party is on Monday in the garden.", session="s2", role="assistant")
    )
    assert not any(m.superseded_by for m in memory.list())


def test_what_replaced_a_memory_is_found_by_the_words_of_the_old_one(memory: Nagori) -> None:
    old = memory.remember("The kettle in the kitchen is green.")
    new = memory.remember("It is blue.")
    from nagori.core.events import Event

    event = Event("superseded", memory.runtime.clock.now(), {"by": new.id}, old.id)
    memory.runtime.ledger.write(memory.scope.owner, lambda: [event])
    assert [r.memory.id for r in memory.recall("kettle in the kitchen")] == [new.id, old.id]


def test_turns_that_are_private_as_a_whole_leave_nothing(memory: Nagori) -> None:
    assert memory.form(talk("<private>my diary</private>", "   ")) == []


# --- in short


def test_a_session_is_told_in_its_own_sentences_within_the_budget(memory: Nagori, clock: FrozenClock) -> None:
    memory.form(
        talk(
            "Hello there!",
            "We decided to use SQLite for the cache because it needs no server.",
            "The cache tests with SQLite fail on Windows, the file stays locked.",
            "Nice weather.",
            "The fix for the locked cache file was to close SQLite before the rename.",
        )
    )
    told = memory.summary("s1", tokens=60)
    assert "decided to use SQLite" in told
    assert len(told) <= 60 * 4
    assert "weather" not in told
    assert memory.summary("unknown") == ""


def test_a_summary_keeps_the_order_of_the_conversation(memory: Nagori) -> None:
    said = ["新しい倉庫の在庫はPostgreSQLで管理することに決めた。", "在庫の棚卸しは倉庫で毎月末にする。"]
    memory.form(talk(*said))
    assert memory.summary("s1").splitlines() == said


@pytest.mark.parametrize("budget", [0, 1, 5])
def test_no_budget_means_no_words(memory: Nagori, budget: int) -> None:
    memory.form(talk("We decided to use SQLite for the cache because it needs no server."))
    assert memory.summary("s1", tokens=budget) == ""


@pytest.mark.parametrize(
    ("first", "later", "tie"),
    [
        (
            "The greenhouse roof leaks near the tomatoes.",
            "Continuing from last week: the greenhouse roof over the tomatoes is mended.",
            RelationType.CONTINUES,
        ),
        (
            "The greenhouse roof leaks near the tomatoes.",
            "As I mentioned, the greenhouse roof near the tomatoes leaks badly.",
            RelationType.REFERENCES,
        ),
        (
            "温室の屋根がトマトの近くで雨漏りしている。",
            "先週の続きです。温室の屋根の雨漏りは、トマトの近くだけ直した。",
            RelationType.CONTINUES,
        ),
        (
            "温室の屋根がトマトの近くで雨漏りしている。",
            "前に話した温室の屋根の雨漏りだけど、トマトの近くがひどい。",
            RelationType.REFERENCES,
        ),
    ],
)
def test_what_speaks_of_something_earlier_is_tied_to_it(
    memory: Nagori, first: str, later: str, tie: RelationType
) -> None:
    others = ["The dog slept all day.", "Dinner was late again.", "電車が遅れた。", "新しい靴を買った。"]
    (old, *_) = memory.form(talk(first, *others, session="one"))
    (new,) = memory.form(a_week_later(talk(later, session="two")))
    assert [(r.source, r.target, r.type) for r in memory.why(new.id).relations] == [(new.id, old.id, tie)]
    assert memory.show(old.id).superseded_by is None


def test_what_speaks_of_nothing_that_is_known_is_tied_to_nothing(memory: Nagori) -> None:
    memory.form(talk("The dog slept all day.", session="one"))
    (new,) = memory.form(a_week_later(talk("As I mentioned, quartz is harder than glass.", session="two")))
    assert memory.why(new.id).relations == []


def test_neighbours_in_a_talk_need_no_tie(memory: Nagori) -> None:
    said = ("The greenhouse roof leaks.", "As I mentioned, the greenhouse roof leaks by the door.")
    _, new = memory.form(talk(*said, session="one"))
    assert memory.why(new.id).relations == []


@pytest.mark.parametrize("times", [2, 400, 2000])
def test_a_turn_that_says_the_same_again_and_again_is_kept(memory: Nagori, times: int) -> None:
    said = talk("The lamp of the harbour is green. " * times)
    memory.form(said)
    kept = everything(memory)
    assert kept
    assert all("harbour" in each for each in kept)
    memory.form(said)
    assert everything(memory) == kept
    assert memory.verify().sound
