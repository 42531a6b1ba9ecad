"""Readers of public data sets: what was said, what is asked, which turns answer it.

Five forms become one: a talk is a list of sayings with ids and a list of questions with the ids of their
evidence. Nothing of any data set is part of the project; a reader is given a path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any

from nagori import Trust

PAUSE = timedelta(minutes=1)  # between two turns: the sets date sessions, not turns
FIRST_QUESTIONS = 1500  # of JSQuAD, whose figures saturate long before its end
SIMILAR = 4.0  # JSTS's label from which two sentences say the same
BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)  # of a BEAM chat that does not say


@dataclass(frozen=True)
class Said:
    """One turn of a conversation, or one text of a collection, which has no time."""

    uri: str
    text: str
    speaker: str | None = None
    role: Trust = Trust.USER
    at: datetime | None = None
    session: str | None = None
    index: int | None = None

    @property
    def whole(self) -> str:
        """As everybody but nagori is given it; nagori puts the two together itself."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True)
class Question:
    text: str
    category: str
    gold: frozenset[str]
    superseded: frozenset[str] = frozenset()  # what was true once, and should not come before what is
    answer: str = ""  # in the data's own words, where it gives one


@dataclass(frozen=True)
class Talk:
    """One scope: everything said in it and asked about it."""

    name: str
    said: list[Said]
    questions: list[Question]
    left_out: int = 0  # questions that no known turn answers

    def first(self, limit: int | None) -> Talk:
        """The same talk with fewer questions."""
        return replace(self, questions=self.questions[:limit])


@dataclass(frozen=True)
class Format:
    read: Callable[[Path], Iterable[Talk]]
    apart: frozenset[str] = frozenset()  # categories that stay out of the overall figures


def answerable(name: str, said: list[Said], asked: Iterable[Question]) -> Talk:
    """A talk whose questions keep only evidence that was said; those without any are counted.

    Space around a text goes: some systems strip it themselves, and would miss the vector of the other.
    """
    said = [replace(each, text=each.text.strip()) for each in said]
    known = {each.uri for each in said}
    narrowed = [replace(each, text=each.text.strip(), gold=each.gold & known) for each in asked]
    questions = [each for each in narrowed if each.gold]
    return Talk(name, said, questions, len(narrowed) - len(questions))


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


# --- LoCoMo: one file, sessions numbered in the keys, evidence written by many hands

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def locomo(path: Path) -> Iterator[Talk]:
    for sample in load(path):
        said = list(_locomo_turns(sample["conversation"]))
        asked = (
            Question(
                each["question"],
                LOCOMO_CATEGORIES[each["category"]],
                dia_ids(each["evidence"]),
                answer=str(each.get("answer", "")),
            )
            for each in sample["qa"]
        )
        yield answerable(sample["sample_id"], said, asked)


def dia_ids(evidence: Iterable[str]) -> frozenset[str]:
    """Turn ids from "D8:6; D9:17", "D:11:26", "D30:05" and their like."""
    found = (re.findall(r"D:?(\d+):(\d+)", each) for each in evidence)
    return frozenset(f"D{int(session)}:{int(turn)}" for session, turn in chain.from_iterable(found))


def _locomo_turns(conversation: dict[str, Any]) -> Iterator[Said]:
    numbers = sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        day = conversation[f"session_{number}_date_time"]
        begun = datetime.strptime(day, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for index, turn in enumerate(conversation[f"session_{number}"]):
            caption = turn.get("blip_caption")
            text = turn["text"] + (f" [shares image: {caption}]" if caption else "")
            yield Said(
                turn["dia_id"],
                text,
                speaker=turn["speaker"],
                at=begun + index * PAUSE,
                session=f"S{number}",
                index=index,
            )


# --- BEAM: a folder per chat, messages of both roles, gold ids in lists or in dictionaries of lists

BEAM_APART = frozenset({"summarization", "event_ordering"})  # they want most of the chat, not its top ten


def beam(path: Path) -> Iterator[Talk]:
    chats = [path] if (path / "chat.json").exists() else sorted(path.iterdir(), key=_number)
    for chat in chats:
        said = list(_beam_messages(load(chat / "chat.json")))
        asked = (
            Question(each["question"], category, frozenset(map(str, flat(each.get("source_chat_ids")))))
            for category, questions in load(chat / "probing_questions.json").items()
            for each in questions
        )
        yield answerable(f"beam-{chat.name}", said, asked)


def flat(nested: Any) -> Iterator[Any]:
    """The leaves of lists and dictionaries, however deep; None has none."""
    if isinstance(nested, dict):
        nested = list(nested.values())
    if isinstance(nested, list):
        yield from chain.from_iterable(map(flat, nested))
    elif nested is not None:
        yield nested


def _number(path: Path) -> tuple[int, str]:
    return (int(path.name) if path.name.isdecimal() else 0, path.name)


def _beam_messages(batches: list[dict[str, Any]]) -> Iterator[Said]:
    at = BEGINNING
    for batch in batches:
        session = f"S{batch['batch_number']}"
        for index, message in enumerate(chain.from_iterable(batch["turns"])):
            anchor = message.get("time_anchor")
            at = datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC) if anchor else at + PAUSE
            yield Said(
                str(message["id"]),
                message["content"],
                role=Trust(message["role"]),
                at=at,
                session=session,
                index=index,
            )


# --- jamem: a file per conversation, the form LoCoMo should have had


def jamem(path: Path) -> Iterator[Talk]:
    for file in [path] if path.is_file() else sorted(path.glob("*.json")):
        whole = load(file)
        asked = (
            Question(
                each["question"],
                each["category"],
                frozenset(each["evidence"]),
                frozenset(each.get("superseded", ())),
                str(each.get("answer", "")),
            )
            for each in whole["questions"]
        )
        yield answerable(whole["conversation_id"], list(_jamem_turns(whole["sessions"])), asked)


def _jamem_turns(sessions: list[dict[str, Any]]) -> Iterator[Said]:
    for session in sessions:
        begun = datetime.fromisoformat(session["date"])
        for index, turn in enumerate(session["turns"]):
            yield Said(
                turn["id"],
                turn["text"],
                speaker=turn["speaker"],
                at=begun + index * PAUSE,
                session=session["session_id"],
                index=index,
            )


# --- JGLUE: collections of texts, no conversation


def jsquad(path: Path) -> Iterator[Talk]:
    paragraphs = [each for article in load(path)["data"] for each in article["paragraphs"]]
    uris = _numbered(each["context"] for each in paragraphs)
    asked = (
        Question(question["question"], "paragraph", frozenset({uris[paragraph["context"]]}))
        for paragraph in paragraphs
        for question in paragraph["qas"]
    )
    yield answerable("jsquad", _collection(uris), islice(asked, FIRST_QUESTIONS))


def jsts(path: Path) -> Iterator[Talk]:
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    uris = _numbered(each["sentence2"] for each in pairs)
    asked = (
        Question(each["sentence1"], "paraphrase", frozenset({uris[each["sentence2"]]}))
        for each in pairs
        if each["label"] >= SIMILAR
    )
    yield answerable("jsts", _collection(uris), asked)


def _numbered(texts: Iterable[str]) -> dict[str, str]:
    """A uri for each distinct text."""
    return {text: f"T{number}" for number, text in enumerate(dict.fromkeys(texts))}


def _collection(uris: dict[str, str]) -> list[Said]:
    return [Said(uri, text) for text, uri in uris.items()]


FORMATS = {
    "locomo": Format(locomo, frozenset({"adversarial"})),
    "beam": Format(beam, BEAM_APART),
    "jamem": Format(jamem, frozenset({"adversarial"})),
    "jsquad": Format(jsquad),
    "jsts": Format(jsts),
}
