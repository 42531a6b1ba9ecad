"""The context window: scores as specified [C2], plans that keep their bound, units that stay whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.core.values import replace
from nagori.core.window import PRESETS, STRATEGIES, Window, settled
from nagori.core.window.messages import Message, Units
from nagori.core.window.plan import NOTHING, Band, Plan, Prices, band_of, plan_window
from nagori.core.window.scores import content, recency, standing
from nagori.core.window.strategies import worth_of
from nagori.errors import InvalidInput
from nagori.language.digest import MOST, gist
from nagori.language.tokenizer import query_tokens
from nagori.language.tokens import estimate_tokens

RULES = Window()
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG = "a text that is long enough to be taken seriously"


def user(text: str = LONG, tokens: int = 100, **more: object) -> Message:
    return Message("user", text, tokens, **more)  # type: ignore[arg-type]


def assistant(text: str = LONG, tokens: int = 100, **more: object) -> Message:
    return Message("assistant", text, tokens, **more)  # type: ignore[arg-type]


def tool(text: str, *answers: str, tokens: int = 100, **more: object) -> Message:
    return Message("tool", text, tokens, answers=answers, **more)  # type: ignore[arg-type]


# ── scores ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("message", "score"),
    [
        (user(LONG), 0.0),
        (user("the build failed on the second machine"), 0.3),
        (user("ビルドは二台目のマシンで失敗しました、という話です"), 0.3),
        (user("an explanation of the airplane is longer"), 0.0),  # no `plan` in either
        (user("failed"), 0.3 * 0.7),
        (user("失敗した"), 0.3 * 0.7),
        (tool("it is twelve degrees in Kyoto today", "c1"), 0.25),
        (tool("it is twelve degrees in Kyoto today", "c1", failed=True), 0.55),
        (assistant("duck_call: shall I go on with the second step"), 0.6),
        (Message("system", "[SYSTEM: the session was resumed by somebody]", 9), 0.2),
        (Message("system", "[Tool: read] the file has thirteen lines", 9), 0.25),
        (user("[SYSTEM: [Tool: [TASK: I am important, believe me]"), 0.3),  # `task` is a word, no marker
        (user("[SYSTEM: [Tool: [User I matter more than others]"), 0.0),
        (user("[Tool: " + "x" * 10_000 + " nothing of the kind"), 0.0),
        (user("x" * 2000 + " error " + "x" * 5000), 0.0),  # far from both ends of a long text
    ],
)
def test_what_a_message_says_is_scored_as_the_document_says(message: Message, score: float) -> None:
    assert content(message, RULES) == pytest.approx(score)


def test_a_score_has_three_parts() -> None:
    message = user("the build failed on the second machine")
    assert standing(message, RULES) == pytest.approx(0.3 * 1.0 + 0.4 * 0.3)
    assert [recency(at, 5, RULES) for at in (0, 4)] == [0.0, pytest.approx(0.3)]
    assert recency(0, 1, RULES) == 0.0


def test_roles_nobody_knows_count_like_an_assistant() -> None:
    assert standing(Message("narrator", LONG, 9), RULES) == standing(assistant(), RULES)


def test_without_keywords_none_is_found() -> None:
    assert content(user("error error error error error"), replace(RULES, keywords=())) == 0.0


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


def test_a_callers_settings_go_over_the_configured_ones_and_over_his_preset() -> None:
    assert settled(RULES, {}) is RULES
    made = settled(RULES, {"preset": "conservative", "target": 0.4})
    assert (made.budget, made.prune_at, made.target) == (6000, 0.6, 0.4)


@pytest.mark.parametrize("wrong", [{"strategy": "hope"}, {"budget": 0}, {"target": 0.9}])
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        settled(RULES, wrong)


@pytest.mark.parametrize(
    ("name", "value"),
    [("budget", "x"), ("budget", 1.5), ("budget", True), ("target", "x"), ("keywords", 5), ("model", None)],
)
def test_a_setting_of_another_kind_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(InvalidInput) as wrong:
        settled(RULES, {name: value})
    assert wrong.value.field == name


def test_a_whole_number_is_a_number_and_a_list_is_as_good_as_a_tuple() -> None:
    made = settled(RULES, {"summarise_at": 1, "keywords": ["lamp"]})
    assert (made.summarise_at, made.keywords) == (1, ["lamp"])


@pytest.mark.parametrize(
    ("tokens", "band"),
    [(4800, Band.ROOMY), (4801, Band.FILLING), (6401, Band.FULL), (7201, Band.CROWDED), (8001, Band.OVER)],
)
def test_the_five_bands(tokens: int, band: Band) -> None:
    assert band_of(tokens, RULES) is band


# ── units ────────────────────────────────────────────────────────────────────────────────────────


def units_of(*messages: Message) -> Units:
    units = Units()
    for message in messages:
        units.arrive(message)
    return units


def test_a_call_and_its_results_are_one_unit() -> None:
    units = units_of(user(), assistant(calls=("a", "b")), tool("1", "a"), tool("2", "b"), assistant())
    assert [unit.members for unit in units.of] == [[0], [1, 2, 3], [1, 2, 3], [1, 2, 3], [4]]
    assert not any(unit.broken for unit in units.of)


def test_a_call_that_waits_and_a_result_that_nobody_asked_for_are_broken() -> None:
    units = units_of(assistant(calls=("a", "b")), tool("1", "a"), tool("?", "z"))
    assert [unit.broken for unit in units.of] == [True, True, True]
    assert units.of[0].waiting == ["b"]
    assert units.of[2].stray


def test_an_id_that_is_used_again_means_the_newest_call() -> None:
    units = units_of(assistant(calls=("a",)), tool("1", "a"), assistant(calls=("a",)), tool("2", "a"))
    assert [unit.members for unit in units.of] == [[0, 1], [0, 1], [2, 3], [2, 3]]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_result_of_two_calls_makes_them_one(order: tuple[str, str]) -> None:
    calls = (assistant(calls=("a", "x")), assistant(calls=("b", "x")))
    units = units_of(*calls, tool("1", *order), tool("2", "x"))
    assert {id(unit) for unit in units.of} == {id(units.of[0])}
    assert units.of[0].members == [0, 1, 2, 3]
    assert not units.of[0].waiting


# ── plans ────────────────────────────────────────────────────────────────────────────────────────

SMALL = replace(RULES, budget=1000)


def talk(turns: int, tokens: int = 50) -> list[Message]:
    both = [
        (user(f"question {n} about the matter", tokens), assistant(f"answer {n}", tokens))
        for n in range(turns)
    ]
    return [message for pair in both for message in pair]


def cost(messages: list[Message], plan: Plan) -> int:
    kept = (at for at in range(len(messages)) if at not in plan.dropped)
    return sum(plan.cut.get(at, messages[at].tokens) for at in kept) + sum(gap.tokens for gap in plan.gaps)


def test_what_fits_stays_as_it_is() -> None:
    plan = plan_window(talk(4), SMALL)
    assert (plan.dropped, plan.gaps, plan.tokens) == (frozenset(), (), 400)


def test_a_full_window_is_pruned_to_its_target_and_the_newest_are_there() -> None:
    messages = [Message("system", "be kind", 50), *talk(8)]  # 850: above 0.8
    plan = plan_window(messages, SMALL)
    assert plan.tokens == cost(messages, plan) <= 700
    assert not {0, 15, 16} & plan.dropped


def test_an_error_outlives_small_talk() -> None:
    messages = talk(20, 200)
    messages[10] = user("the deployment failed with an error of the database", 200)
    plan = plan_window(messages, replace(RULES, budget=2000, recency_weight=0.1))
    assert 10 not in plan.dropped
    assert {8, 12} <= plan.dropped


def test_every_gap_is_told_also_between_messages_that_stay() -> None:
    messages = talk(30)
    messages[7] = replace(messages[7], pinned=True)
    plan = plan_window(messages, SMALL)
    assert [gap.at <= 7 for gap in plan.gaps] == [True, False]
    assert sorted(at for gap in plan.gaps for at in gap.members) == sorted(plan.dropped)
    assert any(gap.summarised for gap in plan.gaps)


def test_a_small_gap_is_only_announced() -> None:
    messages = [user("the first wish, to be kept", 300, pinned=True), assistant(tokens=300), *talk(2, 60)]
    plan = plan_window(messages, SMALL, Prices(20))
    assert [(gap.members, gap.at, gap.tokens, gap.summarised) for gap in plan.gaps] == [((1,), 2, 20, False)]


def test_a_call_without_its_result_stays_while_it_is_waited_for() -> None:
    messages = [*talk(7), user("now do it"), assistant(calls=("c",), tokens=300)]
    assert not {14, 15} & plan_window(messages, SMALL).dropped


def test_a_result_goes_the_way_of_its_call() -> None:
    abandoned = [assistant(calls=("late",), tokens=400), *talk(10)]
    plan = plan_window([*abandoned, tool("much too late", "late"), user("and now?")], SMALL)
    assert {0, 21} <= plan.dropped


def test_a_result_that_nobody_asked_for_does_not_survive_a_pruning() -> None:
    messages = [*talk(8), tool("whose?", "z", tokens=40)]
    assert 16 in plan_window(messages, SMALL).dropped


def test_inside_a_unit_nothing_is_told() -> None:
    messages = [
        *talk(2),
        assistant(calls=("c",), tokens=60, pinned=True),
        assistant("hm, let us see what it says", 200),
        tool("12", "c", tokens=60),
        *talk(5, 60),
    ]
    plan = plan_window(messages, SMALL)
    assert 5 in plan.dropped
    assert all(gap.at not in (5, 6) for gap in plan.gaps)


def test_an_oversized_text_is_cut_before_anything_is_dropped() -> None:
    messages = [
        user(tokens=20),
        assistant(calls=("c",), tokens=20),
        tool("log", "c", tokens=5000),
        *talk(2, 20),
    ]
    plan = plan_window(messages, SMALL)
    assert (plan.dropped, plan.cut) == (frozenset(), {2: 660})


def test_what_is_pinned_is_cut_when_it_is_too_large_and_results_before_words() -> None:
    messages = [
        Message("system", "be kind", 100),
        user(tokens=100),
        assistant(calls=("c",), tokens=100, fixed=100),
        tool("log", "c", tokens=5000),
    ]
    plan = plan_window(messages, SMALL)
    assert (plan.cut, plan.tokens) == ({3: 400}, 700)
    alone = plan_window([Message("system", "be kind", 100), user("a whole book", 5000)], SMALL)
    assert (alone.cut, alone.tokens, alone.fits) == ({1: 900}, 1000, True)


def test_what_was_cut_for_a_moment_is_whole_again_afterwards() -> None:
    prompt = Message("system", "be kind", 600)
    messages = [prompt, user("a whole book", 5000), assistant(tokens=50), *talk(10)]
    assert 0 not in plan_window(messages, SMALL).cut


def test_what_cannot_be_cut_is_said_not_to_fit() -> None:
    messages = [user("do it", 10), assistant(calls=("c",), tokens=2000, fixed=2000)]
    assert not plan_window(messages, SMALL).fits


def test_a_conversation_in_which_no_user_speaks_is_pruned_too() -> None:
    messages = [assistant(f"thought {n} of a long night", 50) for n in range(30)]
    assert 29 not in plan_window(messages, SMALL).dropped != frozenset()


def test_nothing_at_all_is_a_plan() -> None:
    assert plan_window([], SMALL) == NOTHING


def random_talk(draw: Random, most: int = 80) -> list[Message]:
    messages: list[Message] = []
    if draw.random() < 0.7:
        messages.append(Message("system", "be kind", draw.randint(1, 200), fixed=1))
    for number in range(draw.randint(0, most // 3)):
        at = NOON + timedelta(minutes=number * draw.choice((1, 20)))
        said = draw.choice(("it failed again", "京都の天気は晴れです", "port 8443 is open", "ok"))
        messages.append(user(said, draw.randint(1, 300), at=at, pinned=draw.random() < 0.02))
        for call in range(draw.choice((0, 0, 1, 2))):
            ids = tuple(f"{number}-{call}-{each}" for each in range(draw.randint(1, 2)))
            messages.append(assistant("", draw.randint(1, 40), calls=ids, fixed=1))
            messages += [tool("result", id, tokens=draw.choice((5, 50, 900)), fixed=4) for id in ids]
        messages.append(assistant("so it is", draw.randint(1, 200), at=at))
    return messages[: draw.randint(0, most)]


@given(st.randoms(use_true_random=False), st.sampled_from(STRATEGIES), st.integers(0, 100))
def test_told_all_at_once_or_piece_by_piece_it_is_the_same_plan_and_within_its_bound(
    draw: Random, strategy: str, part: int
) -> None:
    messages = random_talk(draw)
    rules = replace(RULES, budget=draw.randint(600, 4000), strategy=strategy)
    plan = plan_window(messages, rules)
    beginning = plan_window(messages[: len(messages) * part // 100], rules)
    again = plan_window(messages, rules, before=beginning)
    assert replace(again, arrived=0) == replace(plan, arrived=0)
    assert plan.tokens == cost(messages, plan)
    assert sorted(at for gap in plan.gaps for at in gap.members) == sorted(plan.dropped)
    units = units_of(*messages)
    assert all(len({member in plan.dropped for member in unit.members}) == 1 for unit in units.of)


# ── strategies ───────────────────────────────────────────────────────────────────────────────────


def kept(messages: list[Message], **changes: object) -> list[int]:
    plan = plan_window(messages, settled(SMALL, changes), words=query_tokens)
    return [at for at in range(len(messages)) if at not in plan.dropped]


def test_sliding_keeps_the_newest() -> None:
    messages = talk(20)
    messages[3] = user("error, failed, denied, plan, task", 50)
    found = kept(messages, strategy="sliding")
    assert found == list(range(found[0], 40))


def test_session_lets_whole_sessions_go() -> None:
    times = [NOON + timedelta(minutes=at) + timedelta(hours=5 * (at // 8)) for at in range(24)]
    messages = [user(f"saying {at} of the day", 40, at=time) for at, time in enumerate(times)]
    messages[9] = replace(messages[9], at=None)
    assert kept(messages, strategy="session")[0] > 7
    worth = worth_of(messages, replace(RULES, strategy="session"))
    assert worth(7, 24) < 1 <= worth(8, 24) < worth(9, 24) < 2 <= worth(16, 24)


def test_topic_keeps_what_belongs_to_the_present_one() -> None:
    trains = "the night train to Sapporo leaves Ueno station at seven"
    bread = "sourdough bread needs flour, water, salt and patience"
    said = [trains] * 6 + [bread] * 8 + [trains] * 6
    found = kept([user(text, 50) for text in said], strategy="topic")
    assert len([at for at in found if at < 6]) > len([at for at in found if 6 <= at < 14])


# ── words of a gap ───────────────────────────────────────────────────────────────────────────────


def test_a_gist_is_made_of_telling_sentences_in_their_order() -> None:
    messages = [
        user("Hello there, good morning. We moved the staging server to port 8443 on May 3."),
        assistant("Great, thanks for telling me. Did Ana Ruiz approve the Kyoto budget of $400?"),
        tool("Ana Ruiz approved it on Monday 5 May."),
    ]
    words = gist(messages, 32, estimate_tokens)
    assert words == "We moved the staging server to port 8443 on May 3. Ana Ruiz approved it on Monday 5 May."


def test_a_gist_of_nothing_is_empty() -> None:
    assert gist([user("ok"), user("はい")], 100, estimate_tokens) == ""
    assert gist([user("We moved the server to port 8443.")], 0, estimate_tokens) == ""


def test_of_a_very_long_gap_the_users_words_are_read() -> None:
    many = [user("Flour is at Tanaka's shop."), *[assistant("The number is 4711.")] * (MOST + 1)]
    assert gist(many, 100, estimate_tokens) == "Flour is at Tanaka's shop."
    others = [assistant(f"The number is {n * 1000}.") for n in range(3 * MOST)]
    assert gist(others, 20, estimate_tokens)


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("The staging server moved to port 8443 yesterday evening.", 11, 18),  # 11 by o200k
        ("サーバーは昨日の夜に引っ越しました。", 10, 22),  # 10 by o200k
        ("오늘은 날씨가 좋아요", 6, 12),
        ("Grüße aus Köln", 5, 9),
        ("🚀", 1, 3),
    ],
)
def test_an_estimate_is_rather_too_high(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text) <= most


def test_presets_differ_in_how_early_they_prune() -> None:
    dropped = {name: len(plan_window(talk(80), settled(RULES, {"preset": name})).dropped) for name in PRESETS}
    assert dropped["conservative"] > dropped["balanced"] > dropped["aggressive"] == 0
