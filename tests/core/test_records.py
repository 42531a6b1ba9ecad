"""Records, filters, scopes, vectors and settings: what is wrong is refused by its name."""

import math
from array import array
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from nagori.core.cycle import Census, CycleRules, life_row, plan_cycle
from nagori.core.decay import Retention, Weekly, adjust_for_feedback, coefficient_of_worth, retention
from nagori.core.levels import Archive
from nagori.core.llm import CompletionRequest, Prompt, Reply
from nagori.core.model import (
    Category,
    Emotion,
    Filter,
    Kind,
    Level,
    Memory,
    Privacy,
    Relation,
    RelationType,
    Scope,
    Source,
    Text,
    Trust,
    Turn,
    check_memory,
    check_vector,
    derive,
    from_micros,
    parse_choice,
    text_digest,
    to_micros,
    utc,
)
from nagori.core.relevance import CandidateInfo, Candidates, bm25
from nagori.core.serialize import emotion_record, from_record, relation_of, relation_record, to_record
from nagori.core.storage_types import Counts, Measures
from nagori.core.value_object import (
    Value,
    check_kind,
    check_number,
    check_text,
    check_whole,
    find_faults,
    leaves,
    setting,
)
from nagori.core.visibility import can_see, matches_filter
from nagori.core.window import Window
from nagori.errors import InvalidInput
from nagori.language.passages import about_tokens, alike, shingles
from nagori.language.tokenizer import index_words

NOW = datetime(2026, 4, 1, 9, tzinfo=UTC)
RECORD: dict[str, Any] = {"id": "m", "created": NOW.isoformat(), "texts": {"1": {"content": "tea"}}}


def memory(**more: Any) -> Memory:
    return Memory("m", NOW, NOW, {Level.FULL: Text("", "tea")}, **more)


# --- records


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"mentions": True}, "memory.mentions"),
        ({"mentions": -1}, "memory.mentions"),
        ({"coefficient": 0.0}, "memory.coefficient"),
        ({"protected": 1}, "memory.protected"),
        ({"project": ""}, "memory.project"),
        ({"created": "soon"}, "memory.created"),
        ({"created": None}, "memory.created"),
        ({"kind": "dream"}, "memory.kind"),
        ({"category": "x"}, "memory.category"),
        ({"level": 9}, "memory.level"),
        ({"texts": {}}, "memory.texts"),
        ({"texts": {"1": "tea"}}, "memory.texts"),
        ({"texts": {"one": {}}}, "memory.texts"),
        ({"texts": {"1": {"content": 5}}}, "memory.texts.content"),
        ({"emotion": 5}, "memory.emotion"),
        ({"emotion": {"loud": 1}}, "memory.emotion"),
        ({"emotion": {"tags": "joy"}}, "memory.emotion.tags"),
        ({"keywords": [5]}, "memory.keywords"),
    ],
)
def test_a_wrong_field_of_a_record_is_refused_by_its_name(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_record({**RECORD, **wrong})
    assert refused.value.field == field


def test_a_record_has_the_fields_of_its_memory_under_old_names_too() -> None:
    whole = memory(category=Category.WORK, emotion=Emotion(tags=("joy",)), appraised_by="model")
    assert from_record(to_record(whole)) == whole
    old = {**RECORD, "judged_by": "model", "strengthened_at": NOW.isoformat(), "emotion": {"tags": ["joy"]}}
    read = from_record(old)
    assert (read.appraised_by, read.reinforced_at, read.anchor) == ("model", NOW, NOW)
    with pytest.raises(InvalidInput, match="memory"):
        from_record([])


def test_parts_of_a_record_are_plain() -> None:
    relation = Relation("a", "b", RelationType.CONTINUES)
    assert relation_of("a", relation_record(relation)) == relation
    assert Emotion(**emotion_record(Emotion(tags=("joy",)))) == Emotion(tags=("joy",))


# --- arguments, scopes and filters


@pytest.mark.parametrize(
    "call",
    [
        lambda: check_text("a", "half \ud800"),
        lambda: check_whole("a", -1),
        lambda: check_whole("a", 2**40),
        lambda: check_number("a", math.nan),
        lambda: check_number("a", True),
        lambda: check_kind("a", 5, str),
        lambda: parse_choice(Kind, 5, "a"),
        lambda: Scope(user=" "),
        lambda: Scope(project="x" * 300),
        lambda: Scope(agent="a\nb"),
        lambda: Emotion(intensity=101.0),
        lambda: Turn("tea", NOW, index=10**13),
        lambda: Filter(protected="yes"),  # type: ignore[arg-type]
        lambda: Filter(archived=None),  # type: ignore[arg-type]
        lambda: utc("now"),  # type: ignore[arg-type]
        lambda: utc(datetime.min.replace(tzinfo=timezone(timedelta(hours=9)))),
    ],
)
def test_a_wrong_argument_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        call()


def test_right_arguments_are_taken() -> None:
    assert (check_text("a", "茶"), check_whole("a", 3), check_number("a", 0.5)) == ("茶", 3, 0.5)
    assert check_kind("a", NOW, datetime) is NOW
    check_memory(memory(source=Source("s", 3)))
    assert Scope("ana", "acme", "shop", "helper", "nurse").owner == ("acme", "ana")
    assert Turn("tea", NOW, "s", 3).index == 3
    chosen = Filter(since=NOW, session="s", prefix="mem", protected=True)
    assert (chosen.since, chosen.session) == (NOW, "s")


def test_a_scope_sees_what_is_public_its_own_or_of_its_role() -> None:
    private = memory(project="shop", agent="ana", role="nurse", privacy=Privacy.PRIVATE)
    assert can_see(Scope(), private)
    assert not can_see(Scope(project="home"), private)
    assert can_see(Scope(project="shop", agent="ana"), private)
    assert not can_see(Scope(agent="ben", role="nurse"), private)
    shared = memory(agent="ana", role="nurse", privacy=Privacy.AGENT_ONLY)
    assert can_see(Scope(agent="ben", role="nurse"), shared)
    assert not can_see(Scope(agent="ben", role="cook"), shared)


def test_a_filter_selects_what_only_rules_have_appraised() -> None:
    turned = memory(source=Source("s", 1))
    assert matches_filter(Filter(unappraised=True), turned)
    assert not matches_filter(Filter(unappraised=True), memory(source=Source("s", 1), appraised_by="model"))
    assert not matches_filter(Filter(unappraised=True), memory())


# --- vectors and digests


@pytest.mark.parametrize(
    ("data", "dimension"),
    [
        (b"", None),
        (b"abc", None),
        (array("f", [1.0]).tobytes(), 2),
        (array("f", [math.nan]).tobytes(), None),
        (bytes(8), None),
    ],
)
def test_a_vector_that_cannot_be_compared_is_refused(data: bytes, dimension: int | None) -> None:
    with pytest.raises(InvalidInput, match="vector"):
        check_vector(data, dimension)


def test_a_text_has_a_digest_and_a_time_its_microseconds() -> None:
    said = memory(source=Source(speaker="Ana"), keywords=("green tea",), trust=Trust.USER)
    assert check_vector(array("f", [1.0, 0.0]).tobytes(), 2) == 2
    assert said.searchable == "Ana: tea"
    assert said.digest == text_digest("Ana: tea") != text_digest("tea")
    assert index_words(said) == [*index_words(memory(source=Source(speaker="Ana"))), "green", "tea"]
    assert from_micros(to_micros(NOW)) == NOW
    assert (from_micros(None), to_micros(None)) == (None, None)


def test_texts_are_alike_by_nearly_all_their_letters() -> None:
    said = "The kettle in the kitchen leaks a little."
    assert alike(shingles(said), shingles(said.upper()))
    assert not alike(shingles(said), shingles("Tea."))
    assert (about_tokens("tea for two"), about_tokens("お茶")) == (3, 2)


# --- figures


def test_counts_and_measures_are_sums_and_shares() -> None:
    assert Counts({1: 2, 4: 3}, 0, 0, 0, 0).total == 5
    assert Measures({}, {}, 25, 100).compression == 0.75
    assert Measures({}, {}, 0, 0).compression == 0.0


def test_words_of_few_memories_weigh_more() -> None:
    info = {id: CandidateInfo(id, None, None, None, 3, 9, False, "user", 0) for id in ("a", "b")}
    found = Candidates(total=9, asked=2, mean_tokens=3.0, infos=info, cosines={}, usual=(0.0, 1.0),
                       places={"tea": {"a": 1}, "cup": {"a": 1, "b": 1}})  # fmt: skip
    best = bm25(found)
    assert best["a"] > best["b"] > 0


def test_what_matters_decays_slower_the_more_it_matters() -> None:
    law = Retention()
    least, some, most = (coefficient_of_worth(worth, law) for worth in (0.0, 0.5, 7.0))
    assert least == law.decay_of_what_matters.min < some < most == law.decay_of_what_matters.max


def test_feedback_moves_feeling_and_coefficient_within_bounds() -> None:
    law = Retention()
    calm = memory(emotion=Emotion(40.0), coefficient=0.95, category=Category.WORK)
    better, worse = (adjust_for_feedback(calm, good, NOW, law, Weekly()) for good in (True, False))
    assert worse.emotion.intensity < 40.0 < better.emotion.intensity
    assert worse.coefficient <= 0.95 <= better.coefficient <= max(law.max_decay_coefficient, 0.95)


def test_feedback_moves_the_score_itself_under_the_weekly_law() -> None:
    law, rule = Retention(law="weekly"), Weekly()
    old = memory(recalls=3).evolve(anchor=NOW - timedelta(days=70))
    better, worse = (adjust_for_feedback(old, good, NOW, law, rule) for good in (True, False))
    before, up, down = (retention(each, NOW, law, rule) for each in (old, better, worse))
    assert (up - before, down - before) == (pytest.approx(10.0), pytest.approx(-10.0))
    assert better.recalls == worse.recalls == 3
    assert better.emotion == worse.emotion == old.emotion


def test_good_feedback_counts_as_a_recall_where_no_age_gives_so_high_a_score() -> None:
    law, rule = Retention(law="weekly"), Weekly()
    new = memory()
    better = adjust_for_feedback(new, True, NOW, law, rule)
    assert (better.recalls, better.anchor) == (1, NOW)
    assert retention(better, NOW, law, rule) == pytest.approx(retention(new, NOW, law, rule) + 10.0)
    assert adjust_for_feedback(new, False, NOW, law, rule).recalls == 0


def test_feedback_on_an_archived_memory_counts_from_the_time_it_was_archived() -> None:
    law, rule = Retention(law="weekly"), Weekly()
    since = NOW - timedelta(days=300)
    old = memory(archived_at=since).evolve(anchor=since - timedelta(days=70))
    better = adjust_for_feedback(old, True, NOW, law, rule)
    assert old.anchor < better.anchor < since
    assert retention(better, NOW, law, rule) == pytest.approx(retention(old, NOW, law, rule) + 10.0)


def test_a_deletion_condition_that_is_switched_off_deletes_nothing() -> None:
    old = NOW - timedelta(days=900)
    gone = Memory("m", old, old, {Level.TRACE: Text("", "x")}, level=Level.ARCHIVED, archived_at=old)
    for switch, intensity, deleted in [(True, 90.0, True), (False, 90.0, False), (False, 1.0, True)]:
        archive = Archive(auto_delete_enabled=True, delete_condition_mode="OR",
                          delete_require_zero_recall=switch)  # fmt: skip
        row = life_row(gone.evolve(emotion=Emotion(intensity)))
        steps = plan_cycle([row], Census({Level.ARCHIVED: 1}), CycleRules(archive=archive), NOW).steps
        assert ("delete" in [step.act for step in steps]) is deleted


def test_a_request_and_its_reply_are_plain_values() -> None:
    request = CompletionRequest(Prompt("task", "data"), None, 100)
    assert (request.prompt.data, Reply("yes", "model").text) == ("data", "yes")


# --- settings


class Part(Value):
    table: dict[str, int] = setting({"a": 1}, "A table.")
    share: float = setting(0.5, "A share.", lo=0.0, hi=1.0)
    mode: str = setting("one", "A mode.", choices=("one", "two"))


class Whole(Value):
    part: Part = Part()


def test_a_setting_is_found_below_its_section_and_kept_within_its_bounds() -> None:
    assert [leaf.key for leaf in leaves(Whole())] == ["part.table", "part.share", "part.mode"]
    assert Part().table is not Part().table
    for wrong in ({"share": math.nan}, {"share": -1.0}, {"share": 2.0}, {"mode": "three"}):
        assert len(list(find_faults(Part(**wrong), "part"))) == 1  # type: ignore[arg-type]
    assert list(find_faults(Part(), "part")) == []


def test_limits_of_a_window_rise() -> None:
    assert list(Window().faults()) == []
    assert len(list(Window(warn_at=0.9, prune_at=0.5, target=0.6).faults())) == 2


def test_what_follows_from_a_memory_is_computed_once_and_not_taken_over_by_a_copy() -> None:
    asked: list[str] = []

    def count_words(of: Memory) -> int:
        asked.append(of.id)
        return len(of.text.whole.split())

    one = memory()
    assert derive(one, count_words) == derive(one, count_words)
    assert asked == [one.id]
    assert one == memory()
    derive(one.evolve(mentions=2), count_words)
    assert len(asked) == 2
