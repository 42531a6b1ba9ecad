"""What happened in some runs, told for people: what was typed and added, what the model got and said."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from .claude import Run
from .messages_api import Question, plain

# The host puts all hook texts into one message and marks where each begins, not where it ends.
BEGINS = re.compile(r"^(\w+)(?::\S+)? hook (?:success|additional context): ", re.MULTILINE)
# What follows is the host's own: these are the paragraphs that come next on 2.1.325.
ENDS = re.compile(r"\n\n(?:Today's date is [-\d]+\.|# Environment\n)")


def injected(question: Question) -> list[tuple[str, str]]:
    """Every (event, text) that hooks added to this question, oldest first."""
    return [found for text in question.said("system") for found in _marked(text)]


def _marked(text: str) -> Iterator[tuple[str, str]]:
    begins = list(BEGINS.finditer(text))
    for begin, following in zip_longest(begins, begins[1:]):
        rest = text[begin.end() : following.start() if following else None]
        yield begin[1], ENDS.split(rest, maxsplit=1)[0].strip()


def story(runs: Sequence[Run]) -> str:
    """The runs as one text. The host replays old pieces in every question; each is told when it is new."""
    told: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    lines: list[str] = []
    for number, run in enumerate(runs, 1):
        lines += [f"── {number}. the user types", run.prompt, ""]
        for question in run.questions:
            pieces = Counter(injected(question))
            for event, text in (pieces - told[question.session]).elements():
                lines += [f"   {event} adds", *_indented(text), ""]
            told[question.session] = pieces
            lines += [f"   the model gets {len(question.messages)} messages, the last of the user's being"]
            lines += [*_indented(last_words(question)), ""]
        lines += ["   and answers", *_indented(run.answer), ""]
    return "\n".join(lines)


def last_words(question: Question) -> str:
    """The user's last message without the host's own reminders; a tool's result when that came last."""
    content = next((m["content"] for m in reversed(question.messages) if m["role"] == "user"), "")
    parts = [content] if isinstance(content, str) else [plain(part) for part in content]
    return "\n".join(part for part in parts if not part.startswith("<system-reminder>"))


def _indented(text: str) -> list[str]:
    return [f"   │ {line}" for line in text.splitlines()]
