"""Experiments on the context window: when a conversation is pruned, what stays, what tells of gaps."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.settings.lab import DIFFERENT, FEWER, LESS, MORE, Experiment, Lab, family, from_to

from nagori.adapters.llm import open_llm
from nagori.config.sections import Llm

Said = list[dict[str, Any]]
WORDS = ("roses", "tulips", "lilies", "asters", "poppies", "violets", "daisies", "irises", "peonies", "pinks")


def passage(n: int, more: str = "", length: int = 5) -> str:
    """Plain sentences; `more` makes them matter."""
    walk = " ".join(f"Then we went on to the {WORDS[(n + at) % 10]} behind it." for at in range(length))
    return f"We looked at the {WORDS[n % 10]} in bed {n} by the old wall {more or 'again'}. {walk}"


def talk(*pattern: dict[str, Any], rounds: int = 20, length: int = 5) -> Said:
    """A conversation of so many rounds of the messages of `pattern`, numbered."""
    said: Said = [{"role": "system", "content": "You are a gardener."}]
    for n in range(rounds):
        said += [{**each, "content": passage(n, each["content"], length)} for each in pattern]
    return [*said, {"role": "user", "content": "And now, what is left to do?"}]


USER, ASSISTANT = {"role": "user", "content": ""}, {"role": "assistant", "content": ""}


# --- how full it is -------------------------------------------------------------------------------


def prune(lab: Lab, said: Said, **parts: Any) -> Any:
    return lab.open(embedder=None, **parts).prune(said, remember=False)


ROUND = 142  # tokens of a question and an answer


def report_at(share: float, *fields: str) -> Callable[[Lab], Any]:
    """Figures of a conversation that takes about this share of the default budget of 8,000 tokens."""

    def observe(lab: Lab) -> Any:
        said = talk(USER, ASSISTANT, rounds=round(share * 8000 / ROUND))
        report = prune(lab, said).report
        assert lab.changes or abs(report["tokens_before"] / 8000 - share) < 0.03, report
        return tuple(report[field] for field in fields) if len(fields) > 1 else report[fields[0]]

    return observe


def notices(lab: Lab) -> list[str]:
    """What an observer is told about a conversation at half of its budget."""
    report_at(0.5, "band")(lab)
    return lab.events


def requests_to_model(lab: Lab) -> int:
    """How often a model is asked to summarise the gap in a user's notes that take 85 % of the budget."""
    server = lab.serve(answer=lambda body: json.dumps({"summary": "They looked at the old wall."}))
    llm = open_llm(Llm(provider="openai", base_url=server.base, model="m"))
    prune(lab, talk(USER, rounds=round(2 * 0.85 * 8000 / ROUND)), llm=llm)
    return len(server.requests)


def tokens_of_gaps(lab: Lab) -> int:
    return sum(
        gap.tokens for gap in prune(lab, talk(USER, ASSISTANT, rounds=round(1.1 * 8000 / ROUND))).plan.gaps
    )


def count_tokens(lab: Lab) -> tuple[int, list[str]]:
    """The tokens of a conversation, and a notice where the vocabulary of a model is not installed."""
    return prune(lab, talk(USER, rounds=5)).report["tokens_before"], lab.events


FULLNESS = [
    Experiment("window.preset", "conservative", report_at(0.65, "pruned"), from_to(False, True)),
    Experiment("window.budget", 2000, report_at(0.5, "left_out"), MORE),
    Experiment("window.target", 0.4, report_at(0.9, "tokens"), LESS),
    Experiment("window.warn_at", 0.4, notices, from_to([], ["window.filling"])),
    Experiment("window.prune_at", 0.72, report_at(0.75, "pruned"), from_to(False, True)),
    Experiment("window.summarise_at", 0.82, requests_to_model, lambda usual, other: usual == 0 < other),
    Experiment("window.summarise_gap_from", 1000, report_at(1.1, "summaries"), FEWER),
    Experiment("window.summary_tokens", 10, tokens_of_gaps, LESS),
    Experiment("window.model", "gpt-4o", count_tokens, DIFFERENT),
]


# --- what stays -----------------------------------------------------------------------------------


def survivors(said: Said, is_meant: Callable[[dict[str, Any]], bool]) -> Callable[[Lab], int]:
    """How many of the messages that are meant stay when about half of a conversation has to go."""

    def observe(lab: Lab) -> int:
        memory = lab.open(embedder=None)
        whole = memory.prune(said, budget=10**6, remember=False).report["tokens_before"]
        sent = memory.prune(said, budget=round(whole * 0.8), remember=False).messages
        return sum(is_meant(each) for each in sent)

    return observe


def by(role: str, word: str = "bed ") -> Callable[[dict[str, Any]], bool]:
    return lambda each: each["role"] == role and word in str(each["content"])


# Long messages, so that a notice of a gap costs little beside them.
LONG = 30


def long_talk(*pattern: dict[str, Any]) -> Said:
    return talk(*pattern, length=LONG)


def after_request(*pattern: dict[str, Any]) -> Said:
    """A long talk that a user begins: the system messages after this are no part of the prompt."""
    prompt, *said = long_talk(*pattern)
    return [prompt, {"role": "user", "content": "Walk through the garden with me."}, *said]


def with_word(word: str, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": word}


def tool_talk() -> Said:
    """Every question is answered by a tool."""
    said: Said = [{"role": "system", "content": "You are a gardener."}]
    for n in range(16):
        call = {"id": f"call_{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        said += [
            {"role": "user", "content": passage(n, length=LONG)},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{n}", "content": passage(n, "and found nothing", LONG)},
            {"role": "assistant", "content": passage(n, "as before", LONG)},
        ]
    return [*said, {"role": "user", "content": "And now, what is left to do?"}]


def failing_tools() -> Said:
    """Every tool looks at another bed, and every second one fails; nobody tries again."""
    said: Said = [{"role": "system", "content": "You are a gardener."}, {"role": "user", "content": "Look."}]
    for n in range(20):
        call = {"name": "look", "arguments": json.dumps({"bed": n})}
        ending = " Error: permission denied" if n % 2 else ""
        said += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{n}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"call_{n}", "content": passage(n, length=LONG) + ending},
        ]
    return [*said, {"role": "user", "content": "And now, what is left to do?"}]


def open_questions() -> Said:
    """An assistant walks on alone; every second message ends with a question that nobody answers."""
    said = after_request(ASSISTANT, with_word("and wondered"))
    return [
        {**each, "content": f"{each['content']} Shall we cut them?"}
        if "wondered" in each["content"]
        else each
        for each in said
    ]


def late(message: dict[str, Any]) -> bool:
    """Whether it is of the last ten rounds."""
    return any(f"bed {n} " in str(message["content"]) for n in range(10, 20))


def early_losses(lab: Lab) -> int:
    """How many messages of the first half go, of a talk with one pause of twenty minutes in the middle."""
    said = [dict(message) for message in BOTH[1:]]
    for at, message in enumerate(said):
        late = timedelta(minutes=20 if at > len(said) / 2 else 0)
        message["timestamp"] = (datetime(2026, 4, 1, tzinfo=UTC) + late).isoformat()
    memory = lab.open(embedder=None)
    dropped = memory.prune(said, budget=9000, remember=False).plan.dropped
    return sum(at <= len(said) / 2 for at in dropped)


BOTH = long_talk(USER, ASSISTANT)
ERRORS = survivors(long_talk(ASSISTANT, with_word("and an error appeared")), by("assistant", "error"))
APPROVALS = survivors(
    long_talk(with_word("and an error appeared"), with_word("with your approval")),
    by("assistant", "approval"),
)
WALNUTS = survivors(long_talk(ASSISTANT, with_word("beside the walnut")), by("assistant", "walnut"))
# The same words by an assistant and by the system: only the role differs, and what it may carry.
SYSTEM = {"role": "system", "content": ""}
NOTES = survivors(after_request(ASSISTANT, SYSTEM), by("system"))
TASKS = survivors(after_request(with_word("[TASK 7]"), with_word("[TASK 7]", "system")), by("system"))
OUTPUTS = survivors(
    after_request(with_word("[Tool: look]"), with_word("[Tool: look]", "system")), by("system")
)
ORDERS = survivors(after_request(USER, with_word(", and never cut them", "user")), by("user", "never"))
DECISIONS = survivors(after_request(ASSISTANT, with_word("as we decided")), by("assistant", "decided"))
FAILURES = survivors(failing_tools(), by("tool", "denied"))
QUESTIONS = survivors(open_questions(), by("assistant", "wondered"))
# Names without a keyword, and a keyword without names.
NAMES = survivors(
    after_request(
        with_word("and an error appeared"),
        with_word("with Anna Bell and Carl Dunn from Osaka on 12 May"),
    ),
    by("assistant", "Anna"),
)
TOOLS = survivors(tool_talk(), by("tool"))
# Without recency, what a message is decides alone.
TIMELESS = {"window.recency_weight": 0.0}
STAYING = [
    Experiment("window.recency_weight", 0.0, survivors(BOTH, late), FEWER),
    *family("window", survivors(BOTH, late), [("strategy", "sliding", MORE)], TIMELESS),
    *family(
        "window",
        survivors(BOTH, by("user")),
        [("role_weight", 0.0, FEWER), ("user_score", 0.0, FEWER)],
        TIMELESS,
    ),
    *family("window", NOTES, [("system_score", 1.0, MORE), ("assistant_score", 0.0, MORE)], TIMELESS),
    *family(
        "window",
        TOOLS,
        [("tool_score", 1.0, MORE), ("tool_bonus", 1.0, MORE), ("clear_results", 0.5, FEWER)],
        TIMELESS,
    ),
    *family("window", TASKS, [("marker_bonus", 0.0, FEWER), ("markers", ("[NOTE",), FEWER)], TIMELESS),
    *family("window", OUTPUTS, [("tool_markers", ("[NOTE",), FEWER)], TIMELESS),
    *family(
        "window",
        ORDERS,
        [("instructions", ("walnut",), FEWER), ("instruction_weight", 0.0, FEWER)],
        TIMELESS,
    ),
    *family("window", DECISIONS, [("decision_weight", 0.0, FEWER)], TIMELESS),
    *family("window", FAILURES, [("error_weight", 0.0, FEWER)], TIMELESS),
    *family("window", QUESTIONS, [("question_weight", 0.0, FEWER)], TIMELESS),
    *family("window", NAMES, [("information_scale", 10.0**6, FEWER)], TIMELESS),
    *family("window", ERRORS, [("content_weight", 0.0, FEWER), ("keyword_bonus", 0.0, FEWER)], TIMELESS),
    *family("window", WALNUTS, [("keywords", ("walnut",), MORE), ("approvals", ("walnut",), MORE)], TIMELESS),
    *family("window", APPROVALS, [("approval_bonus", 0.0, FEWER)], TIMELESS),
    *family("window", ERRORS, [("short", 10_000, FEWER)], TIMELESS | {"window.short_penalty": 0.0}),
    *family("window", ERRORS, [("short_penalty", 0.0, FEWER)], TIMELESS | {"window.short": 10_000}),
    *family("window", early_losses, [("pause_minutes", 10.0, MORE)], {"window.strategy": "session"}),
]

EXPERIMENTS = [*FULLNESS, *STAYING]
