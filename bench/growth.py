"""Does hostile text cost linear time? `python -m bench.growth [--only NAME] [--exponents [--pairs] [--all]]`.

Whoever can put text into a memory can put any text into it, a megabyte of opening quotation marks among it.
So every function that reads text is run on runs of some hundred characters and words (`UNITS`), 10 kB each.
The dearest are then doubled up to 1.28 MB. The table has, for every function, the CPU time at 10 kB and at
the end, and the mean ratio of a doubling; 2 is linear, 4 quadratic, and more than 2.2 is told as super-linear
after five attempts. The largest ratio of a single doubling stands beside it: it has a step where a text no
longer fits into the processor's cache, and on a busy machine.

`--exponents` looks for smaller sins: all units, alone and with a tail, at n, 2n and 4n characters, with n so
large that a call takes more than 2 ms. The exponent is log2 of the time at 4n over that at 2n; what exceeds
1.5 is measured again at larger sizes, and told if it does so five times. `--size` begins at a given n;
`--pairs` adds all pairs of units that take ten times as long as usual at 8,000 characters (half an hour).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from types import FrameType

from bench.report import header, machine, number, python, table

from nagori.config import Config
from nagori.core import relevance
from nagori.core.model import Emotion, Scope, Text, Valence, text_digest
from nagori.core.outcomes_lessons_and_credit import target_of
from nagori.core.value_object import clean_text
from nagori.core.window import Window, scores
from nagori.core.window.messages import Message, is_aside
from nagori.edges.hooks import handlers, host_payloads_and_replies
from nagori.edges.hooks.call_types import At, Moment
from nagori.edges.importers import claude_code
from nagori.language import (
    appraisal,
    compression,
    corrections,
    credentials,
    extractive_gist,
    food_constraints,
    host_commands,
    keywords,
    learned_wishes,
    lexicon,
    llm_answer_checks,
    passages,
    redaction,
    requests_to_keep,
    speech_acts,
    statement_or_question,
    tokenizer,
    topic_shift,
)
from nagori.language.lexicon import english_emotion_rules, japanese_emotion_rules
from nagori.language.temporal import read_time, said_time
from nagori.language.tokenizer import stem
from nagori.language.tokens import estimate_tokens
from nagori.services import memory_block, recall, transfer
from nagori.services.window.formats import count_and_cut_content

SMALL, DOUBLINGS = 10_000, 7  # to 1.28 MB
DEAREST = 2  # units of each function that are doubled
MOST_RATIO = 2.2
LEAST_SECONDS = 0.002
START, LARGEST = 1_000, 256_000
LIMIT = 1.5
TRIALS = 5
LARGE_SECONDS = 0.5
MOST_SECONDS = 20.0  # of one call; what takes longer is as good as hanging
NOW = datetime(2026, 4, 1, 9, 0, tzinfo=UTC)
FELT = Emotion(70.0, Valence.POSITIVE, 60.0, ("joy",))
WORTH = appraisal.Worth(appraisal.Matter.STANDING, 60.0, ("identity",))

UNITS = (
    # blanks and lines
    " ", "\t", "\n", "\r\n", "\u3000", " \n", "\n\n", "\0", "\u200b", "\u2028",
    # brackets and quotes, both sides
    "(", ")", "[", "]", "{", "}", "<", ">", "「", "」", "『", "』", "“", "”", "‘", "’", '"', "'", "`",
    "```\n",
    "（", "）", "【", "】", "＜", "＞", "[]", "[ ", "]\n", "「」",
    # signs
    ".", ",", ";", ":", "!", "?", "。", "、", "！", "？", "…", "・", "-", "–", "—", "_", "*", "**", "#",
    "/", "\\",
    "|", "=", "+", "~", "〜", "&", "&amp;", "%", "$", "@", "^", "://", "- ", "* ", "1. ", "# ", "- [",
    # letters and digits
    "a", "A", "aA", "a1", "1", "12", "1.", "1,", "1-", "1:", "1/", "a.", "a-", "a'", "a@", "a/", "a ",
    "A ", "1 ",
    "é", "e\u0301", "\u0301", "ß", "I.", "s", "'s", "y", "ing", "ed ", "aB ", "A.B.", "x=1;",
    # Japanese and others
    "あ", "ア", "漢", "ー", "かな", "です", "ない", "は", "漢は", "ア・", "アー", "一", "々", "ｱ", "한",
    "ก", "ا", "न",
    "〇", "第一", "1月", "3日前", "、漢",
    # emoji
    "😀", "👍🏽", "\u200d", "👩\u200d", "🇯🇵", "\ufe0f", "\U0001f3fb", ":)",
    # words with a meaning here
    "<private", "<private>", "</private>", "<memories", "<memories>", "</memories>", "<memories>\n- [",
    "<system-reminder>", "</system-reminder>", "<command-name>", "<!--", "-->", "http://", "http://a:b@",
    "sk-", "sk-a-", "ghp_", "AKIA", "eyJ", "eyJaaaaaaaa.", "SG.", "glpat-", "xoxb-", "password=",
    "password: ",
    "password is ", "パスワードは", "secret_A_", "token='", 'api key "', "bearer ", "Authorization: ",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----", "-----END ", "my number ", "4111 ", "4111-", "e.g.", "Mr. ", "No. ",
    "U.S.A. ",
    "not ", "but ", "if ", "very ", "no longer ", "now ", "please ", "remember ", "remember this, ",
    "and ", "said ",
    "can you ", "don't forget ", "we decided ", "use a ", "used to ", "my name ", "I meant ",
    "i really love ",
    "good ", "bad ", "happy, ", "嬉しい", "悲しい、", "嬉しいが、", "もう", "やっぱり", "結局", "の件",
    "じゃなく", "忘れないで",
    "覚えて", "毎日", "いつも", "私は", "と言った", "うると", "例の", "ことに", "去年", "先週の", "last ",
    "last week ",
    "two days ago ", "in the past ", "May 3, ", "May ", "since ", "from 2019 to ", "between ",
    "2024-01-01 ", "今",
    "前に", "New York ", "Ana ", "Hi, ", "foo_bar ", "fooBar", "foo.bar(", "5 weeks ", "$5 ", "10%",
    "Error: ", "\ud800",
    # routines that once had a test of their own
    "i told you ", "さっきの", "忘れて", "覚え", "and, ", "the ", "my x ", "thanks ", "ok, ", "て", "run ",
    "ありがとう", "を飲んで", "every ", "絶対", "Mr. ", "1:", "から", "password for the ", "curl -u a",
    "--password ", "Cookie: a=", "Private-Lines: 1\nAAAA", "PINは", "log in with a ", "discord.", "mysql -p",
    "a:1:b:c:", "pw: ", "changed the x ", "login a password ", "gl", "dp.", "key-", "1:AA", "8Q~", "re_",
    "NRAK-", "MA1.", "A3-", "pat.", "recovery code ", "storage key ", "changed the token to ",
    # found by reading the patterns
    "been ", "been just ", "あー", "\u0301\u0316", "ﾞ\u0316", "key_", "password=key_", "- - ", "ね",
    "かな ", "? ", "User. ",
    "User ", "<!-- ", "12 3", "“a",
    "@N ", "w@N ", "Name@N ", "@N. ", "漢@N、", "word @N. ", "no @N, ", "x@N=@N;",
)  # fmt: skip
# What makes another unit expensive: an opening that is never closed, a blank before an end, a stop.
PARTNERS = (" ", "\n", "a", "1", "あ", "漢", ".", ",", "'", '"', "「", "[", "<", "-", "_", "?")
TAILS = ("", "x?")
UNUSED = itertools.count(1_000_000)


def _moment(at: At, said: str) -> Moment:
    return Moment(at, "e", "raw", "s", text=said, speaker="helper", error=said)


def _line(said: str) -> bytes:
    item = {"type": "user", "message": {"role": "user", "content": said}, "uuid": "u"}
    return json.dumps(item).encode()


def _message(said: str) -> Message:
    return Message("user", said, len(said) // 4)


def _hook_payload(said: str) -> object:
    return host_payloads_and_replies.moment(
        "claude-code", {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": said}
    )


CONFIG = Config()
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "value_object.clean_text": clean_text,
    "tokenizer.normalise": tokenizer.normalise,
    "tokenizer.tokens": tokenizer.tokens,
    "tokenizer.query_tokens": tokenizer.query_tokens,
    "tokenizer.is_japanese": tokenizer.is_japanese,
    "passages.sentences": passages.sentences,
    "tokenizer.asks": tokenizer.asks,
    "tokenizer.holds_question": tokenizer.holds_question,
    "tokenizer.stem": stem,
    "passages.about_tokens": passages.about_tokens,
    "passages.pieces": passages.pieces,
    "passages.is_chatter": passages.is_chatter,
    "passages.read_wording": passages.read_wording,
    "passages.shingles": passages.shingles,
    "relevance.asks_for_current": relevance.asks_for_current,
    "relevance.mentions_change": relevance.mentions_change,
    "redaction.fit_to_keep": redaction.fit_to_keep,
    "redaction.strip_private": redaction.strip_private,
    "redaction.without_memories": redaction.without_memories,
    "redaction.redact_secrets": redaction.redact_secrets,
    "redaction.redact_secrets, value": lambda said: redaction.redact_secrets(f"password={said}!x"),
    "keywords.find_keywords": keywords.find_keywords,
    "keywords.find_keywords, felt": lambda said: keywords.find_keywords(said, 0.7),
    "compression.compress_to_summary": lambda said: compression.compress_to_summary(Text("", said), FELT),
    "compression.compress_to_trace": lambda said: compression.compress_to_trace(Text("", said), FELT),
    "llm_answer_checks.strays, text": lambda said: llm_answer_checks.strays(said, said + " and more"),
    "llm_answer_checks.strays, shorter": lambda said: llm_answer_checks.strays(said[: len(said) // 2], said),
    "llm_answer_checks.strays, source": lambda said: llm_answer_checks.strays("The end.", said),
    "llm_answer_checks.belongs": lambda said: llm_answer_checks.belongs(said, 0, [frozenset(["a"])]),
    "appraisal.appraise": appraisal.appraise,
    "english_emotion_rules.read": english_emotion_rules.read,
    "japanese_emotion_rules.read": japanese_emotion_rules.read,
    "lexicon.count": lambda said: lexicon.count("work", said),
    "lexicon.kind_of": lexicon.kind_of,
    "lexicon.strip_outer_quotes": lexicon.strip_outer_quotes,
    "lexicon.own_words": lexicon.own_words,
    "lexicon.wants_kept": lexicon.wants_kept,
    "lexicon.speaks_of": lexicon.speaks_of,
    "lexicon.corrects": lexicon.corrects,
    "temporal.read_time": lambda said: read_time(said, NOW, UTC),
    "tokens.estimate_tokens": estimate_tokens,
    "scores.content": lambda said: scores.content(_message(said), Window()),
    "extractive_gist.gist": lambda said: extractive_gist.gist([_message(said)], 100, passages.about_tokens),
    "count_and_cut_content.cut_text": lambda said: count_and_cut_content.cut_text(
        said, 50, passages.about_tokens
    ),
    "transfer.notes": lambda said: list(transfer.notes(said.splitlines(keepends=True))),
    "transfer.notes, one line": lambda said: list(transfer.notes([said])),
    "corrections.replacement_odds": lambda said: corrections.replacement_odds(said, said + " now", 0.9, 0.1),
    "corrections.updates_subject": lambda said: corrections.updates_subject(said, said + " now"),
    "corrections.correction_features": (
        lambda said: corrections.correction_features(said, said, 0.9, 0.1, 0.2)
    ),
    "credentials.looks_chosen": credentials.looks_chosen,
    "credentials.looks_generated": credentials.looks_generated,
    "credentials.looks_issued": credentials.looks_issued,
    "credentials.is_aws_secret": credentials.is_aws_secret,
    "credentials.looks_like_a_value": credentials.looks_like_a_value,
    "credentials.is_pin": credentials.is_pin,
    "credentials.is_signed": credentials.is_signed,
    "extractive_gist.is_decision": extractive_gist.is_decision,
    "extractive_gist.information": extractive_gist.information,
    "host_commands.is_built_in": host_commands.is_built_in,
    "appraisal.importance": appraisal.importance,
    "appraisal.is_personal": lambda said: appraisal.is_personal(said, WORTH),
    "passages.shares_own_words": lambda said: passages.shares_own_words(said, "what?", said, 0.5),
    "speech_acts.rejects_answer": speech_acts.rejects_answer,
    "outcomes_lessons_and_credit.target_of": target_of,
    "keywords.find_concepts": keywords.find_concepts,
    "topic_shift.topic_shift": lambda said: topic_shift.topic_shift([said, "And then?"], said),
    "topic_shift.shift_features": lambda said: topic_shift.shift_features([said], said, said),
    "topic_shift.has_topic_cue": topic_shift.has_topic_cue,
    "food_constraints.is_about_food": food_constraints.is_about_food,
    "food_constraints.limits_diet": food_constraints.limits_diet,
    "redaction.asks_for_secret": redaction.asks_for_secret,
    "requests_to_keep.without_plea": requests_to_keep.without_plea,
    "speech_acts.speech_act": speech_acts.speech_act,
    "speech_acts.is_statement": speech_acts.is_statement,
    "speech_acts.is_question": speech_acts.is_question,
    "speech_acts.asks_for_several": speech_acts.asks_for_several,
    "statement_or_question.asks_in_passing": statement_or_question.asks_in_passing,
    "statement_or_question.looks_like_statement": statement_or_question.looks_like_statement,
    "temporal.said_time": lambda said: said_time(said, NOW, UTC),
    "tokenizer.normal_form": lambda said: tokenizer.normal_form("NFC", said),
    "tokenizer.words": lambda said: list(tokenizer.words(said)),
    "speech_acts.classify_wish": speech_acts.classify_wish,
    "speech_acts.is_withheld": speech_acts.is_withheld,
    "speech_acts.spoken_words": speech_acts.spoken_words,
    "learned_wishes.understand_wish": learned_wishes.understand_wish,
    "learned_wishes.wish_runs": lambda said: list(learned_wishes.wish_runs(said)),
    "learned_wishes.known_words": learned_wishes.known_words,
    "speech_acts.without_wishes": speech_acts.without_wishes,
    "model.text_digest": lambda said: text_digest(clean_text(said)),  # texts are cleaned when they come in
    "messages.is_aside": is_aside,
    "scores.instructs": lambda said: scores.instructs(said, Window()),
    "english_emotion_rules.look_up": english_emotion_rules.look_up,
    "recall._parts_of": recall._parts_of,
    "handlers.turn_of, prompt": lambda said: handlers.turn_of(_moment(At.PROMPT, said), Scope(), CONFIG),
    "handlers.turn_of, failure": lambda said: handlers.turn_of(
        _moment(At.TOOL_FAILED, said), Scope(), CONFIG
    ),
    "handlers.turn_of, recap": lambda said: handlers.turn_of(
        _moment(At.COMPACTED, f"<summary>{said}"), Scope(), CONFIG
    ),
    "handlers._without": lambda said: handlers._without(said, "system-reminder"),
    "passages.prompt_text": passages.prompt_text,
    "memory_block.escape": memory_block.escape,
    "host_payloads_and_replies.moment": _hook_payload,
    "claude_code.spoken_text": lambda said: claude_code.spoken_text(claude_code._object(_line(said)) or {}),
}


class TooSlow(Exception):
    """A call has taken as long as any call may."""


def cpu_seconds(function: Callable[[str], object], said: str) -> float:
    """CPU time of one call. A call that takes too long is broken off and counts as endless."""

    def stop(signal_number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    begun = time.thread_time()
    try:
        function(said)
        return max(time.thread_time() - begun, 1e-6)
    except TooSlow:
        return math.inf
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def repeated(pattern: str, size: int, tail: str = "") -> str:
    """So many characters; `@N` stands for a number that was never used, because functions remember words."""
    if "@N" in pattern:
        made = "".join(pattern.replace("@N", str(next(UNUSED))) for _ in range(size // len(pattern) + 1))
        return made[:size] + tail
    return pattern * (size // len(pattern) or 1) + tail


def exponent(function: Callable[[str], object], pattern: str, tail: str, start: int) -> tuple[float, int]:
    """The growth exponent between 2n and 4n, and 4n; 0 when even the largest size takes no time."""
    size = start
    while size < max(LARGEST, start) and cpu_seconds(function, repeated(pattern, size, tail)) < LEAST_SECONDS:
        size *= 2
    if size >= max(LARGEST, 2 * start):
        return 0.0, size
    worst, more = math.inf, itertools.count(0, len(pattern))
    for _ in range(TRIALS):
        at_two, at_four = (
            # Another length each time: some functions remember what they have read.
            min(cpu_seconds(function, repeated(pattern, times * size + next(more), tail)) for _ in range(2))
            for times in (2, 4)
        )
        worst = min(worst, math.log2(at_four / at_two) if at_two < math.inf else math.inf)
        if worst <= LIMIT or worst == math.inf:
            break
        if at_four < LARGE_SECONDS:  # a step where memory is asked for is no growth: look farther out
            size *= 2
    return worst, 4 * size


def inputs(function: Callable[[str], object], every_pair: bool) -> Iterator[tuple[str, str]]:
    """Runs of units, some with an end of another kind, and the pairs that are dear."""
    for unit in UNITS:
        yield from ((unit, tail) for tail in TAILS)
    if not every_pair:
        return
    size = 8_000
    usual = median(cpu_seconds(function, repeated(unit, size)) for unit in UNITS)
    for unit in UNITS:
        for partner in PARTNERS:
            for pattern in (unit + partner, unit + 40 * partner, unit + size // 2 * partner):
                for tail in ("", "?"):
                    took = cpu_seconds(function, repeated(pattern, size, tail))
                    if took > max(10 * usual, LEAST_SECONDS):
                        yield pattern, tail


def shown(pattern: str, tail: str) -> str:
    head = pattern if len(pattern) < 24 else f"{pattern[:12]}…({len(pattern)})"
    return repr(head)[1:-1] + (f" … {tail!r}" if tail else "")


def doubled(function: Callable[[str], object], unit: str) -> tuple[list[float], float, float]:
    """The least CPU time at each size, the mean ratio of a doubling, and the largest one."""
    least = [math.inf] * (DOUBLINGS + 1)
    more = itertools.count(0, len(unit))
    for _ in range(TRIALS):
        for at in range(DOUBLINGS + 1):
            said = repeated(unit, (SMALL << at) + next(more))
            least[at] = min(least[at], cpu_seconds(function, said))
            if least[at] == math.inf:
                return least, math.inf, math.inf
        mean = (least[-1] / least[0]) ** (1 / DOUBLINGS)
        if mean <= MOST_RATIO:
            break
    pairs = itertools.pairwise(least)
    largest = max((after / before for before, after in pairs if before >= LEAST_SECONDS), default=0.0)
    return least, mean, largest


def print_ratios(only: str) -> int:
    rows, bad = [], 0
    for name, function in FUNCTIONS.items():
        if only not in name:
            continue
        function("warm up. 準備。")
        costs = {unit: cpu_seconds(function, repeated(unit, SMALL)) for unit in UNITS}
        for unit in sorted(UNITS, key=costs.__getitem__)[-DEAREST:]:
            seconds, mean, largest = doubled(function, unit)
            bad += mean > MOST_RATIO
            ends = [f"{1000 * seconds[at]:,.2f}" for at in (0, -1)]
            mark = "super-linear" if mean > MOST_RATIO else ""
            rows.append(
                [name, shown(unit, ""), *ends, number(mean), number(largest) if largest else "-", mark]
            )
            print("  ".join(rows[-1]), flush=True)
    titles = ["function", "input", "ms at 10 kB", "ms at 1.28 MB", "mean ratio", "largest", ""]
    print("\n" + "\n".join(header({"machine": machine(Path.cwd()), "python": python()})) + "\n")
    print(table(titles, rows, ("function", "input", "")))
    print(f"\n{len(rows)} pairs of function and input, {bad} super-linear")
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.growth")
    parser.add_argument("--only", default="", help="functions whose name holds this")
    parser.add_argument("--exponents", action="store_true", help="all units, at n, 2n and 4n")
    parser.add_argument("--pairs", action="store_true", help="also all pairs of units")
    parser.add_argument("--size", type=int, default=START, help="least n")
    parser.add_argument("--all", action="store_true", help="every input, not only the worst of each function")
    asked = parser.parse_args()
    sys.exit(bool(print_exponents(asked) if asked.exponents else print_ratios(asked.only)))


def print_exponents(asked: argparse.Namespace) -> int:
    rows, bad = [], 0
    for name, function in FUNCTIONS.items():
        if asked.only not in name:
            continue
        function("warm up. 準備。")
        found = []
        for pattern, tail in inputs(function, asked.pairs):
            grown, size = exponent(function, pattern, tail, asked.size)
            found.append((grown, size, shown(pattern, tail)))
        found.sort(reverse=True)
        bad += sum(grown > LIMIT for grown, _, _ in found)
        told = found if asked.all else [each for each in found if each[0] > LIMIT][:12] or found[:1]
        for grown, size, what in told:
            row = [name, what, f"{size:,}", number(grown), "super-linear" if grown > LIMIT else ""]
            rows.append(row)
            if grown > LIMIT:
                print("  ".join(row), flush=True)
    print(table(["function", "input", "4n", "exponent", ""], rows, ("function", "input", "")))
    print(f"\n{bad} super-linear")
    return bad


if __name__ == "__main__":
    main()
