"""The context window: scores as specified [C2], plans that keep their bound, units that stay whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.core.value_object import replace
from nagori.core.window import PRESETS, STRATEGIES, Window, apply_changes
from nagori.core.window.messages import Message, Units
from nagori.core.window.plan import NOTHING, USUAL, Band, Fold, Plan, Prices, band_of, plan_window
from nagori.core.window.scores import (
    content,
    emphasis,
    fixed_score,
    instructs,
    is_failure,
    recency,
    substance_of,
)
from nagori.core.window.strategies import worth_of
from nagori.errors import InvalidInput
from nagori.language.extractive_gist import FEATURES, MOST, gist
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
    assert fixed_score(message, RULES) == pytest.approx(0.3 * 1.0 + 0.4 * 0.3)
    assert [recency(at, 5, RULES) for at in (0, 4)] == [0.0, pytest.approx(0.3)]
    assert recency(0, 1, RULES) == 0.0


def test_roles_nobody_knows_count_like_an_assistant() -> None:
    assert fixed_score(Message("narrator", LONG, 9), RULES) == fixed_score(assistant(), RULES)


def test_without_keywords_none_is_found() -> None:
    assert content(user("error error error error error"), replace(RULES, keywords=())) == 0.0


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


def test_a_callers_settings_go_over_the_configured_ones_and_over_his_preset() -> None:
    assert apply_changes(RULES, {}) is RULES
    made = apply_changes(RULES, {"preset": "conservative", "target": 0.4})
    assert (made.budget, made.prune_at, made.target) == (6000, 0.6, 0.4)


@pytest.mark.parametrize("wrong", [{"strategy": "hope"}, {"budget": 0}, {"target": 0.9}])
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        apply_changes(RULES, wrong)


@pytest.mark.parametrize(
    ("name", "value"),
    [("budget", "x"), ("budget", 1.5), ("budget", True), ("target", "x"), ("keywords", 5), ("model", None)],
)
def test_a_setting_of_another_kind_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(InvalidInput) as wrong:
        apply_changes(RULES, {name: value})
    assert wrong.value.field == name


def test_a_whole_number_is_a_number_and_a_list_is_as_good_as_a_tuple() -> None:
    made = apply_changes(RULES, {"summarise_at": 1, "keywords": ["lamp"]})
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
    assert not any(unit.is_broken for unit in units.of)


def test_a_call_that_waits_and_a_result_that_nobody_asked_for_are_broken() -> None:
    units = units_of(assistant(calls=("a", "b")), tool("1", "a"), tool("?", "z"))
    assert [unit.is_broken for unit in units.of] == [True, True, True]
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
    plan = plan_window(messages, replace(SMALL, strategy="sliding"))
    assert [gap.at <= 7 for gap in plan.gaps] == [True, False]
    assert sorted(at for gap in plan.gaps for at in gap.members) == sorted(plan.dropped)
    assert any(gap.summarised for gap in plan.gaps)


def test_a_small_gap_is_only_announced() -> None:
    messages = [user("the first wish, to be kept", 300, pinned=True), assistant(tokens=300), *talk(2, 60)]
    plan = plan_window(messages, SMALL, Prices(20), features=FEATURES)
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
    plan = plan_window(messages, apply_changes(SMALL, changes), features=FEATURES)
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
    last, first, second, next_day = worth([7, 8, 9, 16], 24)
    assert last < 1 <= first < second < 2 <= next_day


def test_session_loses_what_matters_least_within_a_session() -> None:
    times = [NOON + timedelta(minutes=40 * (at // 12)) for at in range(24)]
    messages = [user("an error and so on and on", 40, at=time) for time in times]
    messages[12] = user("nothing, and so on and on", 40, at=times[12])
    apart = worth_of(messages, replace(RULES, strategy="session"))
    assert apart([11], 24)[0] < apart([12], 24)[0] < apart([13], 24)[0]
    together = worth_of(messages, replace(RULES, strategy="session", pause_minutes=60.0))
    assert together([12], 24)[0] < together([11], 24)[0] < together([13], 24)[0]


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
        ("サーバーは昨日の夜に引っ越しました。", 19, 24),  # 10 by o200k, 19 by cl100k
        ("오늘은 날씨가 좋아요", 6, 12),
        ("Grüße aus Köln", 5, 9),
        ("🚀", 1, 3),
    ],
)
def test_an_estimate_is_rather_too_high(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text) <= most


def test_presets_differ_in_how_early_they_prune() -> None:
    dropped = {
        name: len(plan_window(talk(80), apply_changes(RULES, {"preset": name})).dropped) for name in PRESETS
    }
    assert dropped["conservative"] > dropped["balanced"] > dropped["aggressive"] == 0


# ── the information of a message ─────────────────────────────────────────────────────────────────


def test_telling_words_keep_a_message_and_questions_do_not() -> None:
    names = substance_of(
        user("Ana Ruiz moved the staging server to port 8443 in Kyoto on May 3."), RULES, FEATURES
    )
    small = substance_of(user("Wow, that is so great, I am really happy about it!"), RULES, FEATURES)
    asked = substance_of(user("Did Ana Ruiz move the staging server to port 8443 in Kyoto?"), RULES, FEATURES)
    assert names.information > 2 * max(small.information, asked.information)
    assert substance_of(
        tool("Ana Ruiz 8443 Kyoto May 3 " * 9, "c"), RULES, FEATURES
    ).information == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never write to production.", True),
        ("Fix the tests, and never write to production.", True),
        ("必ずテストを走らせてください。", True),
        ("I have never been to Rome", False),
    ],
)
def test_a_standing_instruction_is_known(text: str, found: bool) -> None:
    assert instructs(text, RULES) is found
    assert not instructs(text, replace(RULES, instructions=()))


def loop(steps: int) -> list[Message]:
    messages = [user("Fix the build. Never write to production.", 20)]
    for n in range(steps):
        messages.append(assistant("", 30, calls=(f"c{n}",), about=(f"run {n}",), fixed=20))
        messages.append(tool(f"line {n} of the log is fine", f"c{n}", tokens=60, fixed=5))
        messages.append(assistant(f"Step {n} is over, the next one begins now.", 20))
        if n % 20 == 19:
            messages.append(user("Go on with the next part of the work.", 10))
    return messages


def test_instructions_and_errors_that_nobody_solved_stay() -> None:
    messages = loop(100)
    messages[8] = tool("Error: no such table users", "c2", tokens=60, fixed=5)
    messages[14] = tool("Error: disk full", "c4", tokens=60, fixed=5)
    messages[100:100] = [
        assistant("", 30, calls=("again",), about=("run 4",), fixed=20),
        tool("written", "again", tokens=20, fixed=5),
    ]
    plan = plan_window(messages, replace(RULES, budget=3000), features=FEATURES)
    assert not {0, 7, 8} & plan.dropped
    assert 14 in plan.dropped


def test_an_open_question_weighs_more_until_somebody_answers() -> None:
    asked = assistant("Which of the two servers shall I take?", 20)
    others = [tool("ok", "c", tokens=9)]
    worth = worth_of([asked, *others, user("The second.", 9)], RULES, FEATURES)
    assert worth([0], 2)[0] > 2 * worth([0], 3)[0]


def test_results_without_a_call_and_failures_by_field() -> None:
    assert is_failure(tool("fine", "c", failed=True))
    assert is_failure(tool("x" * 900 + "\nexit code 1", "c"))
    assert not is_failure(tool("fine", "c"))
    assert not is_failure(user("it failed with an error"))
    worth = worth_of([Message("tool", "Error", 9), Message("tool", "fine", 9)], RULES)
    assert worth([0], 1)[0] > worth([0], 2)[0]


def test_a_decision_weighs_more() -> None:
    decided = user("We decided to take Postgres for it.")
    plainly = replace(RULES, decision_weight=1.0)
    substance = substance_of(decided, RULES, FEATURES)
    assert substance.is_decision
    assert emphasis("user", substance, RULES, 0.0) == pytest.approx(
        2 * emphasis("user", substance, plainly, 0.0)
    )


def test_the_task_stays_when_the_user_only_says_go_on() -> None:
    task = user("Move the tables of the shop to the new server, please.", 40)
    messages = [
        *talk(10),
        task,
        *[m for _ in range(20) for m in (assistant(tokens=60), user("ok, go on", 5))],
    ]
    assert 20 not in plan_window(messages, replace(SMALL, strategy="sliding"), features=FEATURES).dropped


def test_a_hosts_reminder_is_not_the_last_turn() -> None:
    aside = user("<system-reminder>Mind the list.</system-reminder>", 10)
    messages = [user("Find the key.", 20), *[m for _ in range(20) for m in (assistant(tokens=60), aside)]]
    assert 0 not in plan_window(messages, replace(SMALL, strategy="sliding"), features=FEATURES).dropped


def test_summaries_go_before_the_last_turn_is_cut() -> None:
    messages = [*talk(20), user("a long request", 660, fixed=4)]
    plan = plan_window(messages, SMALL)
    assert plan.terse
    assert plan.cut == {}
    assert not any(gap.summarised for gap in plan.gaps)
    later = plan_window([*messages, *talk(12, 40)], SMALL, before=plan)
    assert not later.terse


def test_a_fold_goes_on_where_it_stands() -> None:
    messages, fold = talk(60), Fold()
    plan = plan_window(messages[:70], SMALL, fold=fold)
    assert fold.goes_on(plan, SMALL, USUAL)
    assert not fold.goes_on(plan, replace(SMALL, budget=900), USUAL)
    for count in range(71, len(messages) + 1):
        plan = plan_window(messages[:count], SMALL, before=plan, fold=fold)
    assert replace(plan, arrived=0) == replace(plan_window(messages, SMALL), arrived=0)
    assert fold.places() == [at for at in range(len(messages)) if at not in plan.dropped]


def test_topics_are_compared_at_any_moment() -> None:
    said = ["trains to Sapporo leave Ueno station"] * 4 + ["sourdough bread needs flour and water"] * 4
    worth = worth_of([user(text, 9) for text in said], replace(RULES, strategy="topic"), FEATURES)
    assert worth([0], 8)[0] < worth([7], 8)[0]
    assert worth([0], 4)[0] > 1.0 - 1e-9
    assert worth([0], 3)[0] > 1.0 - 1e-9


def test_without_a_language_texts_are_read_plainly() -> None:
    question = assistant("Which one is it?", 20)
    worth = worth_of([question, user("The second.", 9)], RULES)
    assert worth([0], 1)[0] > worth([0], 2)[0]
    assert substance_of(user("We decided it."), RULES).is_decision is False
    assert substance_of(user("word " * 20), RULES).information == pytest.approx(1.1)


def test_results_of_tools_go_in_larger_steps() -> None:
    messages, usual = loop(40), replace(RULES, budget=1200)
    small = replace(usual, clear_results=0.0)
    steps = {
        rules.clear_results: len(
            {
                plan_window(messages[:count], rules, features=FEATURES).dropped
                for count in range(1, len(messages) + 1, 3)
            }
        )
        for rules in (usual, small)
    }
    assert steps[usual.clear_results] < steps[0.0]


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("ModuleNotFoundError: No module named 'shop'", True),
        ("HTTP/1.1 503 Service Unavailable", True),
        ("The request was declined.", True),
        ("登録できませんでした。", True),
        ("3 rows written", False),
        ("The reader cannot see it, " + "and so on. " * 60, False),
    ],
)
def test_a_failure_is_known_by_its_words(text: str, failed: bool) -> None:
    assert is_failure(tool(text, "c")) is failed


def test_what_users_say_to_an_agent_that_works_alone_is_an_instruction() -> None:
    request = user("The window closes at three.")
    substance = substance_of(request, RULES, FEATURES)
    assert emphasis("user", substance, RULES, 1.0) == pytest.approx(RULES.instruction_weight)
    assert emphasis("user", substance, RULES, 0.5) < 1.0
    assert emphasis("assistant", substance, RULES, 1.0) < 1.0


def test_what_was_cut_stays_cut_when_a_plan_is_gone_on_from() -> None:
    messages = [user("Read it.", 20), assistant("a very long answer", 3000, fixed=4)]
    plan = plan_window(messages, SMALL)
    assert plan.cut
    later = plan_window([*messages, user("And now?", 5)], SMALL, before=plan)
    assert later.tokens <= SMALL.budget
    assert later.cut == plan.cut
