"""What formats have in common: content that is a text or a list of parts, weighed and cut.

Three kinds of things are in a message: texts, which can be cut; pictures and files, which can be left out;
and what is fixed, because half of it would be wrong (arguments of a call, signed thoughts, the unknown).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Any

from nagori.core.values import Value
from nagori.language.tokenizer import is_japanese
from nagori.services.window.formats import Count

OVERHEAD = 4  # tokens around a message: its role and its ends
MEDIUM = 1600  # tokens of a picture, at most, by what providers say of pictures of the usual size
BYTES = 400  # … and of a file: about so many characters of its base64 for each token
MEDIA = frozenset(
    ("image", "image_url", "input_image", "document", "file", "input_file", "input_audio", "audio", "video")
)
CUT = ("\n[… {n} characters cut …]\n", "\n［…{n}文字を省略…］\n")
LEAST = 24  # tokens without which a cut text is not worth its marker


class Weight(Value):
    """What content weighs, in tokens of the three kinds, and the texts in it."""

    texts: list[str]
    text: int
    media: int
    fixed: int

    @property
    def whole(self) -> int:
        return self.text + self.media + self.fixed


def weigh(content: Any, count: Count) -> Weight:
    """The weight of a text, a part, or a list of parts."""
    texts: list[str] = []
    media = fixed = 0
    for part in leaves(content):
        if isinstance(part, str):
            texts.append(part)
        elif is_medium(part):
            media += _medium(part)
        else:
            fixed += count(as_json(part)) + 1
    return Weight(texts, sum(map(count, texts)), media, fixed)


def leaves(content: Any) -> Iterator[Any]:
    """Texts as they are, everything else as its part; a tool's result is looked into."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list | tuple):
        for part in content:
            yield from leaves(part)
    elif isinstance(content, dict):
        if isinstance(content.get("text"), str):
            yield content["text"]
        elif content.get("type") == "tool_result":
            yield {name: value for name, value in content.items() if name != "content"}
            yield from leaves(content.get("content"))
        else:
            yield content
    elif content is not None:
        yield {"value": str(content)}


def is_medium(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in MEDIA


def _medium(part: dict[str, Any]) -> int:
    """A picture has its highest price; a file grows with its size."""
    if "image" in str(part.get("type")):
        return MEDIUM
    return max(MEDIUM, ceil(len(as_json(part)) / BYTES))


def as_json(value: Any) -> str:
    """What would be sent, or near it: what JSON cannot say is said as Python would."""
    return json.dumps(value, ensure_ascii=False, default=str)


# --- cutting --------------------------------------------------------------------------------------


def shortened(content: Any, tokens: int, count: Count) -> Any:
    """`content` of at most so many tokens beside what is fixed in it: pictures stay if they leave half of it
    to the words, and the longest texts are cut first."""
    weight = weigh(content, count)
    room = tokens - weight.fixed
    if weight.media and weight.media > room // 2:
        content = _without_media(content)
        return shortened(content, tokens, count)
    rooms = iter(_shared(list(map(count, weight.texts)), room - weight.media))
    return _rewritten(content, lambda text: cut_text(text, next(rooms), count))


def _without_media(content: Any) -> Any:
    if isinstance(content, list):
        return [_without_media(part) for part in content]
    if is_medium(content):
        kind = str(content.get("type"))
        return {"type": "input_text" if kind.startswith("input") else "text", "text": f"[{kind} left out]"}
    if isinstance(content, dict) and content.get("type") == "tool_result":
        return {**content, "content": _without_media(content.get("content"))}
    return content


def _shared(sizes: Sequence[int], room: int) -> list[int]:
    """How many tokens each text may have, so that short ones stay whole as long as possible."""
    rooms, left = [0] * len(sizes), max(0, room)
    for place, at in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        rooms[at] = min(sizes[at], left // (len(sizes) - place))
        left -= rooms[at]
    return rooms


def _rewritten(content: Any, cut: Callable[[str], str]) -> Any:
    """`content` with each of its texts cut, in the order of `leaves`."""
    if isinstance(content, str):
        return cut(content)
    if isinstance(content, list | tuple):
        return [_rewritten(part, cut) for part in content]
    if isinstance(content, dict):
        if isinstance(content.get("text"), str):
            return {**content, "text": cut(content["text"])}
        if content.get("type") == "tool_result":
            return {**content, "content": _rewritten(content.get("content"), cut)}
    return content


def cut_text(text: str, tokens: int, count: Count) -> str:
    """Beginning and end of a text, with a word about what is missing; as it is if it fits. A text that may
    have next to nothing is one sign, because some providers refuse an empty one."""
    size = count(text)
    if size <= tokens:
        return text
    if tokens < LEAST:
        return "…" if tokens and count("…") <= tokens else ""
    keep = len(text) * tokens // size
    while keep > 0:
        marker = CUT[is_japanese(text[:500])].format(n=f"{len(text) - keep:,}")
        short = text[: keep * 2 // 3] + marker + text[len(text) - keep // 3 :]
        if count(short) <= tokens:
            return short
        keep = keep * 7 // 8 - 1
    return ""


# --- when -----------------------------------------------------------------------------------------


def moment(value: Any) -> datetime | None:
    """A time as messages carry it: a datetime, seconds since 1970, or ISO 8601; None if it is none."""
    try:
        if isinstance(value, datetime):
            found = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value, UTC)
        else:
            found = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
