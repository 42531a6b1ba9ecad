"""Check the answers of a language model: schema, assignment to its source, and faithfulness.

    exactly   the schema for a given number of items: small models omit what is optional
    fits      whether an answer matches the schema: fields, choices, bounds, lengths
    belongs   whether an item was made from the passage with its number: small models miscount
    strays    what a summary adds to its source: names, numbers, another language

Names are recognised by form (capitals inside a sentence, katakana, honorifics, identifiers). A name in kanji
without an honorific can be missed; a number cannot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nagori.language.tokenizer import STOP_WORDS, normal_form, stem, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAMILIAR = 0.4  # minimum share of a Latin text's words that occur in its source or are function words
MOST_PARTS = 200  # maximum number of names and numbers that occur in the source only inside others
KANA, MAINLY = 0.05, 0.25  # share of kana above which a text is partly, and mainly, Japanese

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f][A-Za-z\u00c0-\u024f0-9_'’.-]*[A-Za-z\u00c0-\u024f0-9]|[A-Za-z]")
_OPENING, _STOPS = frozenset("\"'“‘「(*-"), frozenset(".!?。！？:：\n")
_KATAKANA = re.compile("[ァ-ヴ][ァ-ヴー]{2,}")
_CALLED = re.compile("([一-龠々]{1,4})(?:さん|くん|君|ちゃん|様|氏|先生)")
_KANA_CHARACTER = re.compile("[ぁ-んァ-ヴ]")
_WRITTEN = re.compile(r"[^\W\d_]")
_REFUSING = re.compile(
    r"^\W*(?:I(?:'m| am) (?:sorry|unable)|I (?:can(?:'t|not)|won't)|As an AI|Sorry,"
    "|申し訳|すみませんが|お答えでき|対応できません)",
    re.IGNORECASE,
)
# Capitalised words that summaries use for people; they are not names.
_ROLES = frozenset(["user", "assistant", "speaker", "they", "team", "agent", "people", "someone", "both"])


def exactly(schema: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
    """`schema` of a list of `items` numbered by `i`, for exactly these numbers. It is used for the request;
    an answer that matches only `schema` is still usable."""
    items = schema["properties"]["items"]
    fields = items["items"]["properties"]
    place = {**fields["i"], "minimum": min(places), "maximum": max(places)}
    item = {**items["items"], "properties": {**fields, "i": place}}
    exact = {**items, "minItems": len(places), "maxItems": len(places), "items": item}
    return {**schema, "properties": {**schema["properties"], "items": exact}}


def fits(value: object, schema: Mapping[str, Any], at: str = "answer") -> str | None:
    """What is wrong with `value`, or None. Supports the part of JSON Schema that our requests use."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is_a(value, kind) for kind in kinds):
        return f"{at}: not a {' or '.join(kinds)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at}: none of its choices"
    if isinstance(value, dict):
        return _object_fault(value, schema, at)
    if isinstance(value, list):
        return _list_fault(value, schema, at)
    if isinstance(value, str):
        return f"{at}: too long" if len(value) > schema.get("maxLength", len(value)) else None
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get(
        "maximum", value
    ):
        return f"{at}: out of bounds"
    return None


def _is_a(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _object_fault(value: Mapping[str, Any], schema: Mapping[str, Any], at: str) -> str | None:
    properties = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return f"{at}: without {', '.join(missing)}"
    faults = (fits(value[name], inner, f"{at}.{name}") for name, inner in properties.items() if name in value)
    return next((fault for fault in faults if fault), None)


def _list_fault(value: Sequence[Any], schema: Mapping[str, Any], at: str) -> str | None:
    if len(value) > schema.get("maxItems", len(value)):
        return f"{at}: too many"
    faults = (fits(each, schema["items"], f"{at}[{place}]") for place, each in enumerate(value))
    return next((fault for fault in faults if fault), None)


def belongs(words: str, place: int, texts: Sequence[frozenset[str]]) -> bool:
    """Whether `words` may come from the text at `place`, given the tokens of all texts: no other text shares
    more than twice as many of them. Words that occur in no text belong anywhere."""
    said = set(tokens(words))
    shared = [len(said & text) for text in texts]
    return max(shared) <= 2 * shared[place]


# ── faithfulness ─────────────────────────────────────────────────────────────────────────────────────


def strays(text: str, source: str) -> str | None:
    """Why `text` cannot replace `source`: empty, refuses, longer, language or invents; None if it can."""
    said, known = normal_form("NFKC", text).strip(), normal_form("NFKC", source)
    if not said:
        return "empty"
    if _REFUSING.search(said) and not _REFUSING.search(known):
        return "refuses"
    if len(said) >= len(known.strip()):
        return "longer"
    kana, kana_known = _kana(said), _kana(known)
    if kana_known < KANA < kana or kana < KANA < MAINLY < kana_known:
        return "language"
    words = {stem(word.lower()) for word in _LATIN.findall(known)}
    if kana < KANA and not _is_familiar(said, words):
        return "language"
    return "invents" if _adds_facts(said, known, words) else None


def _kana(text: str) -> float:
    """The share of kana among its letters. Names and code may be Latin; Chinese text has no kana."""
    return len(_KANA_CHARACTER.findall(text)) / (len(_WRITTEN.findall(text)) or 1)


def _is_familiar(text: str, words: set[str]) -> bool:
    said = [word.lower() for word in _LATIN.findall(text)]
    familiar = sum(word in STOP_WORDS or stem(word) in words for word in said)
    return not said or familiar >= FAMILIAR * len(said)


def _adds_facts(text: str, source: str, words: set[str]) -> bool:
    return any(_adds(kind, text, source) for kind in (_NUMBER, _KATAKANA, _CALLED)) or any(
        _is_stranger(found, text, words) for found in _LATIN.finditer(text)
    )


def _adds(kind: re.Pattern[str], text: str, source: str) -> bool:
    """Whether `text` has a number or name that `source` lacks. Finding one inside a longer word takes a
    search of the whole source, so at most `MOST_PARTS` are searched."""
    parts = set(kind.findall(text)).difference(kind.findall(source))
    return len(parts) > MOST_PARTS or any(part not in source for part in parts)


def _is_stranger(found: re.Match[str], text: str, words: set[str]) -> bool:
    """Whether this is a Latin name or identifier that the source lacks. The first word of a sentence has a
    capital anyway: there, verbs and roles are accepted."""
    word = found[0]
    plain = word.lower().removesuffix("'s").removesuffix("’s")
    if plain.islower() and word.islower() and not any(sign in word for sign in "_.0123456789"):
        return False
    if stem(plain) in words or plain in STOP_WORDS:
        return False
    opens = word[1:].islower() and _opens(text, found.start())
    return not (opens and (plain in _ROLES or (len(plain) > 5 and plain.endswith(("ed", "ing")))))


def _opens(text: str, at: int) -> bool:
    """Whether a sentence begins here: only blanks and opening marks after a stop or the start."""
    while at and text[at - 1] not in _STOPS:
        at -= 1
        if not (text[at].isspace() or text[at] in _OPENING):
            return False
    return True
