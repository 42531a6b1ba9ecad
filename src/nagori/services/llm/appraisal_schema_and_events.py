"""The appraisal request for turns, and the events that follow from the model's findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nagori.core.decay import coefficient_for
from nagori.core.events import Event
from nagori.core.model import TAGS, Category, Emotion, Kind, Memory, RelationType, Trust, Valence
from nagori.core.serialize import emotion_record
from nagori.core.value_object import replace
from nagori.language.llm_answer_checks import belongs
from nagori.language.tokenizer import tokens
from nagori.runtime import Runtime
from nagori.services.link_similar_memories import link_event, supersede_events

LASTING = 45.0  # least intensity of a fact: a summary of it is left after half a year
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 2000  # maximum characters of a turn in a request
ITEM_TOKENS, FRAME_TOKENS = 160, 200
IMPORTANCE = 0.8  # factor of importance relative to emotional intensity

_PLACE = {"type": ["integer", "null"], "minimum": 0, "maximum": 200}
_PERCENT = {"type": "integer", "minimum": 0, "maximum": 100}
# In the order of the answer: the words first, so that a model reads the right passage; then kind and
# emotion, and numbers last.
_ITEM: dict[str, Any] = {
    "i": {"type": "integer", "minimum": 0, "maximum": 200},
    "keywords": {"type": "array", "maxItems": 8, "items": {"type": "string", "maxLength": 60}},
    "kind": {"type": "string", "enum": [str(each) for each in Kind if each is not Kind.SUMMARY]},
    "category": {"type": "string", "enum": [str(each) for each in Category]},
    "valence": {"type": "string", "enum": [str(each) for each in Valence]},
    "tags": {"type": "array", "maxItems": 4, "items": {"type": "string", "enum": sorted(TAGS)}},
    "intensity": _PERCENT,
    "arousal": _PERCENT,
    "importance": _PERCENT,
    "corrects": _PLACE,
    "continues": _PLACE,
}
_OBJECT = {"type": "object", "properties": _ITEM, "required": list(_ITEM), "additionalProperties": False}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"items": {"type": "array", "maxItems": 120, "items": _OBJECT}},
    "required": ["items"],
    "additionalProperties": False,
}


def passages_of(batch: Sequence[Memory], context: Sequence[Memory]) -> list[dict[str, object]]:
    """The passages of a request; those for context are not appraised."""
    return [
        _passage_of(place, memory, place >= len(context)) for place, memory in enumerate((*context, *batch))
    ]


def longest(batch: Sequence[Memory]) -> int:
    """Maximum tokens of an answer about these memories."""
    return FRAME_TOKENS + ITEM_TOKENS * len(batch)


def match_items(
    items: Sequence[Mapping[str, Any]], texts: Sequence[str], asked: Sequence[int]
) -> dict[int, Mapping[str, Any]]:
    """Items by index among `texts`. Unrequested items are dropped, and so are items about another passage
    than they say; that passage is requested again alone."""
    known = [frozenset(tokens(text)) for text in texts]
    return {
        item["i"]: item
        for item in items
        if item["i"] in asked and (len(asked) == 1 or belongs(" ".join(item["keywords"]), item["i"], known))
    }


def _passage_of(place: int, memory: Memory, judge: bool) -> dict[str, object]:
    who = memory.source.speaker or str(memory.trust)
    said = {"i": place, "who": who, "text": memory.text.whole[:LONGEST]}
    return {**said, "judge": True} if judge else said


def events(
    runtime: Runtime,
    shown: Sequence[Memory | None],
    place: int,
    found: Mapping[str, Any],
    model: str,
    taken: set[str],
) -> Iterator[Event]:
    """The events for a finding about the passage at `place`. `taken` are memories that another finding
    superseded."""
    memory, now = shown[place], runtime.clock.now()
    if memory is None or memory.appraised_by:
        return
    yield Event("appraised", now, {**_judgement(runtime, memory, found), "by": model}, memory.id, by="model")
    old = _earlier(shown, place, found["corrects"])
    if old and old.id not in taken and _can_correct(memory, old):
        taken.add(old.id)
        yield from supersede_events(memory, old, now, by="model")
        return
    told = _earlier(shown, place, found["continues"])
    # The turn before is its neighbour anyway.
    if told and (memory.source.turn or 0) - (told.source.turn or 0) > 1:
        yield link_event(memory, told, RelationType.CONTINUES, now, by="model")


def _judgement(runtime: Runtime, memory: Memory, found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a finding in our own terms. No finding can protect, hide or delete a memory."""
    kind, category = Kind(found["kind"]), Category(found["category"])
    strength = max(float(found["intensity"]), IMPORTANCE * found["importance"])
    if kind is Kind.FACT:
        strength = max(strength, LASTING)
    emotion = Emotion(strength, Valence(found["valence"]), float(found["arousal"]), tuple(found["tags"]))
    coefficient = coefficient_for(category, strength, kind, runtime.config.retention)
    if memory.recalls:  # reinforcement stays
        coefficient = max(coefficient, memory.coefficient)
    said = memory.searchable.casefold()
    keywords = [word for word in found["keywords"] if word.strip() and word.casefold() in said]
    return {
        "emotion": emotion_record(emotion),
        "kind": str(kind),
        "category": str(category),
        "coefficient": coefficient,
        "keywords": list(dict.fromkeys([*memory.keywords, *keywords])),
    }


def _earlier(shown: Sequence[Memory | None], place: int, other: int | None) -> Memory | None:
    return shown[other] if other is not None and other < place else None


def _can_correct(new: Memory, old: Memory) -> bool:
    """Whether the model may mark `old` as superseded: both by the user, about a common subject, and `old` is
    not protected."""
    users = new.trust is Trust.USER and old.trust is Trust.USER
    same = replace(new.source, turn=None, uri=None) == replace(old.source, turn=None, uri=None)
    shared = set(tokens(new.text.content)) & set(tokens(old.text.content))
    return users and same and bool(shared) and not (old.superseded_by or old.protected)
