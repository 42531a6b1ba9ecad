"""Hostile text costs linear time. Nothing is timed here.

The calls of every routine are counted, for a text and for one twice as long. Each of the other cases is a
million characters of what once took quadratic time inside a pattern, or looks as if it might: whoever makes
it quadratic again waits for minutes, and the suite's own limit says so. `python -m bench.growth` measures
every routine on many more texts.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from bench.growth import FUNCTIONS, repeated

import nagori.core
import nagori.language
from nagori.core.model import Emotion, Text
from nagori.language import (
    compression,
    keywords,
    lexicon,
    llm_answer_checks,
    redaction,
    speech_acts,
    tokenizer,
)
from nagori.language.appraisal import appraise
from nagori.language.lexicon import english_emotion_rules, japanese_emotion_rules
from nagori.language.passages import pieces, sentences, shingles
from nagori.language.temporal import read_time
from nagori.language.tokenizer import MOST_MARKS, normal_form

SIZE = 1_000_000
NOW = datetime(2026, 4, 1, tzinfo=UTC)


def run_of(unit: str, tail: str = "") -> str:
    return unit * (SIZE // len(unit)) + tail


def count_calls(function: Callable[[str], object], said: str) -> int:
    """How many functions are called, those written in C among them."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function(said)
    finally:
        sys.setprofile(None)
    return calls


def test_calls_are_counted() -> None:
    def squared(said: str) -> None:
        for _ in said:
            [char.upper() for char in said]

    assert count_calls(squared, 200 * "a") > 3.9 * count_calls(squared, 100 * "a")


# Words of a feeling, of a wish and of a time; signs that open; rising numbers, so that no word comes twice.
HOSTILE = (
    "but good if ",
    "嬉しいができない",
    "remember this, ",
    "「",
    "password is ",
    "2024-01-01 ",
    "w@N ",
    "a.",
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_twice_the_text_needs_at_most_about_twice_the_calls(name: str) -> None:
    function = FUNCTIONS[name]
    for unit in HOSTILE:
        function(repeated(unit, 200))
        once, twice = (count_calls(function, repeated(unit, size)) for size in (3_000, 6_000))
        assert twice <= 2.2 * once + 60, unit


# Not about the text of a user: our own tables, fields of a schema, one character, an identifier.
NO_TEXT = {
    *(
        "fits",
        "head_score",
        "rows",
        "read_feelings",
        "cue",
        "kanji",
        "shift",
        "away",
        "between",
        "count_units",
    ),
    *("check_text", "check_bool", "check_whole", "check_number", "check_kind", "check_list", "read_texts"),
    *("read_metadata", "levels_under", "parse_choice", "item_id", "utc", "check_count", "price_of", "number"),
    *("relation_of", "no_observer", "setting", "leaves", "find_faults", "fault_of", "fault_beyond"),
    *("is_visible", "emphasis", "knowledge_scope", "in_other_language", "news_of_change"),
}


def test_every_routine_that_takes_text_is_measured() -> None:
    measured = {name.split(",")[0] for name in FUNCTIONS}
    for package in (nagori.core, nagori.language):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for name, function in vars(module).items():
                own = inspect.isroutine(inspect.unwrap(function)) if callable(function) else False
                if not own or name.startswith("_") or function.__module__ != found.name:
                    continue
                parameters = inspect.signature(inspect.unwrap(function)).parameters.values()
                if any(parameter.annotation == "str" for parameter in parameters):
                    named = f"{found.name.rpartition('.')[2]}.{name}"
                    assert named in measured or name in NO_TEXT, named


@pytest.mark.parametrize("unit", ["please ", "ok, ", "は", "a.", "!", "remember ", "忘れて", "、", "`"])
def test_what_an_utterance_does_and_wishes_is_read_in_one_pass(unit: str) -> None:
    speech_acts.classify_wish(run_of(unit))
    speech_acts.speech_act(run_of(unit))


@pytest.mark.parametrize("unit", [" ", "\n", "[", "[ ", "] "])
def test_a_question_is_known_by_its_end(unit: str) -> None:
    assert not tokenizer.asks(run_of(unit, "x"))
    assert tokenizer.asks(run_of(unit, "] Really? [sic] "))


@pytest.mark.parametrize("unit", ["「", "“", '"', "'", "「」"])
def test_quotations_are_left_out_in_one_pass(unit: str) -> None:
    assert len(lexicon.own_words(run_of(unit))) >= SIZE // 3


def test_the_wish_among_many_questions_is_found_in_one_pass() -> None:
    asked = "remember this, " * 10_000
    assert not lexicon.wants_kept(f"{asked}?")
    assert lexicon.wants_kept(f"{asked}? Remember this.")
    assert not lexicon.wants_kept(f"She said{SIZE * ' '}\nremember this.")


def test_words_that_begin_a_pattern_are_not_tried_again_and_again() -> None:
    said = "been just " * 40_000
    assert lexicon.speaks_of(said) is None
    assert lexicon.corrects(f"{said}moved to Kyoto")


@pytest.mark.parametrize("unit", [".", "?!", "。"])
def test_sentences_end_once(unit: str) -> None:
    assert sentences(run_of(unit, "x"))


@pytest.mark.parametrize("unit", ["あー", "10%", "a/"])
def test_keywords_are_looked_for_once(unit: str) -> None:
    keywords.find_keywords(run_of(unit, "x"))


@pytest.mark.parametrize("unit", ["\u0301\u0316", "ﾞ\u0316"])
def test_marks_on_one_letter_are_put_in_order_in_linear_time(unit: str) -> None:
    assert len(tokenizer.normalise(run_of(unit))) <= MOST_MARKS


def test_thirty_marks_on_a_letter_are_kept() -> None:
    marked = "e" + MOST_MARKS * "\u0316"
    assert normal_form("NFC", marked) == marked
    assert normal_form("NFC", marked + "\u0316") == marked
    assert normal_form("NFC", f"{marked}\u0316 {marked}") == f"{marked} {marked}"
    assert normal_form("NFC", "。" * 40) == "。" * 40


def test_a_long_text_is_cut_in_one_pass() -> None:
    assert len(pieces(run_of("先週の"))) == 1 + (SIZE - 1) // 800


@pytest.mark.parametrize(
    "read",
    [english_emotion_rules.read, japanese_emotion_rules.read, appraise, shingles],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("unit", ["but good if ", "嬉しいができない"])
def test_feelings_are_weighed_in_one_pass(read: Callable[[str], object], unit: str) -> None:
    read(unit * (100_000 // len(unit)))


def test_a_name_in_a_summary_is_looked_for_once() -> None:
    source = "".join(f"User. {n} " for n in range(20_000))
    assert llm_answer_checks.strays(source[:-20], source) is None
    assert llm_answer_checks.strays("User. " * 20_000, source) is None


def test_a_summary_full_of_parts_of_numbers_is_not_believed() -> None:
    source = "Counted: " + " ".join(f"9{n}9" for n in range(1000)) + "."
    assert llm_answer_checks.strays("Counted: 5, 6.", source) is None
    assert llm_answer_checks.strays("Counted: " + ", ".join(str(n) for n in range(1000)), source) == "invents"


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "key_",
            "sk-",
            "<private ",
            "<memories>\n- [",
            "password for the ",
            "the password is ",
            "--password ",
        ),
        *(
            "curl -u a",
            "Cookie: a=",
            "Private-Lines: 1\nAAAA",
            "パスワードを",
            "PINは",
            "log in with a ",
            "pw: ",
        ),
        *("changed the x ", "aaaaaaa が", "login a password ", "dp.", "key-", "1:AA", "8Q~", 30 * "a" + "."),
    ],
)
def test_secrets_are_looked_for_in_one_pass(unit: str) -> None:
    redaction.fit_to_keep(f"password={unit * (300_000 // len(unit))}!x")


@pytest.mark.parametrize("unit", ["1.", "New York "])
def test_what_is_left_of_a_memory_is_found_in_one_pass(unit: str) -> None:
    said = unit * (200_000 // len(unit))
    assert keywords.find_keywords(said, 0.7)
    assert len(compression.compress_to_summary(Text("", said), Emotion()).content) <= len(said)


def test_a_time_is_told_at_the_beginning_or_nowhere() -> None:
    assert read_time(run_of("last week "), NOW, UTC) is not None
