"""How long a statement is worth keeping: what is said counts, not how loudly. All sentences are invented."""

from struct import pack

import pytest

from nagori.core.decay import Retention, emotional
from nagori.core.model import Category, Kind
from nagori.core.value_object import replace
from nagori.language.appraisal import LONG, Birth, Matter, Worth, appraise, importance, weigh

PAIRS = """
My aunt is allergic to wasps | A wasp just flew into the kitchen!!! HELP!!!
The invoice printer is at 10.2.0.40 | the invoice printer is warming up
We decided to sell only online | we sold three jars this morning, hooray!
I prefer tea without sugar | this tea is too hot right now
Never water the cactus in winter | I watered the cactus and my sleeve got wet
Grandfather died in March | Grandfather is snoring in the next room, so loud!
Orders close every Friday at noon | the order is loading, 80 percent
My cousin's name is Ilka | ilka is on the phone, one sec
She teaches maths at the grammar school | she is parking the car
祖父はペースメーカーを使っている | 祖父が隣の部屋でいびきをかいてる、うるさい！！
請求サーバーのポートは6020 | 請求サーバーは再起動中、あと3分
今後は紙の請求書を出さないことにした | 今日は請求書を三枚出した
コーヒーより紅茶が好きです | このコーヒー熱すぎ！
毎週火曜は定休日 | 火曜なのにめっちゃ混んでる！！
妹は京都で教師をしている | 妹は今お風呂
"""
ROWS = [line.split(" | ") for line in PAIRS.strip().splitlines()]


@pytest.mark.parametrize(("lasting", "passing"), ROWS)
def test_what_lasts_stands_above_what_passes(lasting: str, passing: str) -> None:
    assert importance(lasting).score > importance(passing).score


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I'm allergic to wasps", Matter.STANDING),
        ("I prefer short answers", Matter.PREFERENCE),
        ("we decided to sell online", Matter.DECISION),
        ("my father passed away", Matter.LIFE_EVENT),
        ("the upload is running right now", Matter.MOMENT),
        ("I had soup", Matter.EPISODE),
        ("zzz", Matter.SMALL_TALK),
        ("WOW THAT GOAL!!", Matter.SMALL_TALK),
        ("a grey afternoon followed by a walk along that canal", Matter.EPISODE),
    ],
)
def test_the_kind_is_that_of_the_weightiest_reason(text: str, kind: Matter) -> None:
    assert importance(text).kind is kind


def test_loudness_adds_nothing() -> None:
    assert importance("my son was born on Sunday!!!").score <= importance("my son was born on Sunday").score


def test_a_long_story_is_worth_a_little_less() -> None:
    story = "the parcel sat there " * 8
    assert "wordy" in importance(story).reasons


def vector(value: float, size: int = 384) -> bytes:
    return pack(f"<{size}f", *[value] * size)


def test_a_vector_counts_if_the_head_was_learned_for_it() -> None:
    said = "a grey afternoon followed by a walk along that canal"
    plain = importance(said)
    assert plain == Worth(Matter.EPISODE, plain.score, ())
    assert importance(said, vector(0.05)).reasons == ("vector",)
    assert importance(said, vector(0.05), model="another") == plain
    assert importance(said, vector(0.05, 256)) == plain


def test_a_vector_alone_can_make_a_standing_fact() -> None:
    said = "a grey afternoon followed by a walk along that canal"
    scores = [importance(said, vector(value)) for value in (-100.0, 100.0)]
    best = max(scores, key=lambda one: one.score)
    assert best.score >= LONG
    assert best.kind is Matter.STANDING


# --- strength at birth ----------------------------------------------------------------------------


def born(text: str) -> Birth:
    return weigh(appraise(text), importance(text), Retention())


def test_what_matters_is_born_to_stay_whole_for_a_month() -> None:
    for text in (
        "The invoice printer is at 10.2.0.40",
        "We decided to sell only online",
        "祖父はペースメーカーを使っている",
    ):
        found = born(text)
        assert emotional(found.emotion.intensity, found.coefficient, 30) > 50


def test_small_talk_keeps_its_days_however_loud_it_is() -> None:
    found = born("HAHA omg that was SO funny!!!")
    assert found.coefficient == 0.0
    assert found.category is not Category.EMOTIONAL
    assert found.emotion.intensity < 40


def test_a_standing_fact_is_a_fact_and_a_decision_is_one() -> None:
    worth = Worth(Matter.STANDING, 80.0, ())
    felt = appraise("something plain")
    assert weigh(felt, worth, Retention()).kind is Kind.FACT
    assert weigh(felt, replace(worth, kind=Matter.DECISION), Retention()).kind is Kind.DECISION
    assert weigh(felt, replace(worth, kind=Matter.LIFE_EVENT), Retention()).kind is felt.kind
    assert weigh(felt, replace(worth, score=40.0), Retention()).kind is felt.kind
