"""Functions that all formats share: they count and cut content, which is a text or a list of parts.

A message holds three kinds of parts. Texts can be cut. Pictures and files can be left out. Everything else is
fixed, because half of it would be wrong: arguments of a call, signed reasoning, unknown parts. All that a
provider bills is counted; fields beside a text (citations) are counted as JSON. Parts are dicts or objects of
a library. A part without a known field is refused by name.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Any

from nagori.core.value_object import Value
from nagori.errors import InvalidInput
from nagori.language.tokenizer import is_japanese
from nagori.services.window.formats import Count, copy_with, field, plain

OVERHEAD = 4  # tokens around a message: its role and its ends
MEDIUM = 1600  # tokens of a picture, at most, by what providers say of pictures of the usual size
PAGE = 4600  # … and of a page of a PDF: 3,000 for its words, as Anthropic says of full ones, and its picture
BYTES = 300  # … and of another file: about so many bytes for each token
MEDIA = frozenset(
    (
        *("image", "image_url", "input_image", "document", "file", "input_file", "input_audio", "audio"),
        *("video", "video_url", "media", "container_upload"),
    )
)
DATA = ("inline_data", "inlineData", "file_data", "fileData")  # Gemini's
RESULTS = ("function_response", "functionResponse")
KNOWN = (
    *("type", *DATA, *RESULTS, "function_call", "functionCall", "executable_code", "executableCode"),
    *("code_execution_result", "codeExecutionResult", "thought_signature", "thoughtSignature"),
)
PLAIN = frozenset(("type", "text", "cache_control"))  # fields of a text that say nothing of their own
CUT = ("\n[… {n} characters cut …]\n", "\n［…{n}文字を省略…］\n")
PARTS_CUT = ("[… {n} parts left out …]", "［…{n}個を省略…］")
LEAST = 24  # tokens without which a cut text is not worth its marker
LONGEST_SUBJECT = 300  # characters
MANY = 8  # texts side by side of which whole ones are kept


class Weight(Value):
    """The tokens of content by kind of part, and its texts."""

    texts: list[str]
    text: int
    media: int
    fixed: int

    @property
    def whole(self) -> int:
        return self.text + self.media + self.fixed


def weigh(content: Any, count: Count) -> Weight:
    """Count the tokens of a text, a part, or a list of parts."""
    texts: list[str] = []
    media = fixed = 0
    for part in leaves(plain(content)):
        if isinstance(part, str):
            texts.append(part)
        elif is_medium(part):
            media += _medium(part, count)
        else:
            fixed += count(as_json(part)) + 1
    return Weight(texts, sum(map(count, texts)), media, fixed)


def leaves(content: Any) -> Iterator[Any]:
    """All texts and other parts of content, including those inside tool results."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from leaves(part)
    elif isinstance(content, dict):
        yield from _within(content)
    elif content is not None:
        raise InvalidInput("messages", "error.type_not_message", type=type(content).__name__)


def _within(part: dict[str, Any]) -> Iterator[Any]:
    place = _place(part)
    if place == "text":
        others = {name: value for name, value in part.items() if name not in PLAIN and value}
        yield from [others | {"type": "extra"}] if others else ()
        yield part["text"]
    elif place:
        yield {name: value for name, value in part.items() if name != place}
        yield from _inside(part[place])
    elif is_medium(part) or any(name in part for name in KNOWN):
        yield part
    else:
        if not part:
            raise InvalidInput("messages", "error.empty_message_part")
        raise InvalidInput("messages", "error.unknown_message_part", names=", ".join(part))


def _place(part: Any) -> str:
    """The field of a part whose text can be cut; empty for reasoning, calls and files."""
    if isinstance(field(part, "text"), str) and not field(part, "thought"):
        return "text"
    if field(part, "type") == "tool_result":
        return "content"
    return next((name for name in RESULTS if field(part, name) is not None), "")


def _inside(result: Any) -> Iterator[Any]:
    """The texts and parts inside a tool result. Gemini's results have them in `response`."""
    if isinstance(result, dict) and "response" in result:
        yield {name: value for name, value in result.items() if name != "response"} | {"type": "result"}
        for name, value in (result["response"] or {}).items():
            yield value if isinstance(value, str) else {"type": name, "value": value}
    else:
        yield from leaves(result)


# --- pictures and files ---------------------------------------------------------------------------


def is_medium(part: Any) -> bool:
    return field(part, "type") in MEDIA or any(field(part, name) is not None for name in DATA)


def _medium(part: dict[str, Any], count: Count) -> int:
    """The tokens of a picture or a file: a picture counts its maximum, a text document its text, a PDF its
    pages, and another file its size."""
    if "image" in str(part.get("type")):
        return MEDIUM
    source = part.get("source")
    if isinstance(source, dict) and source.get("type") in ("text", "content"):
        told = source.get("data") or source.get("content")
        beside = {name: value for name, value in part.items() if name != "source"}
        return weigh(told, count).whole + count(as_json(beside))
    return max(MEDIUM, _file(max(_texts(part), key=len, default="")))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _file(data: str) -> int:
    data = data.partition(";base64,")[2] or data
    try:
        whole = b64decode(data, validate=False)
    except (NotBase64, ValueError):
        return ceil(len(data) / BYTES)
    return max(ceil(len(whole) / BYTES), PAGE * _pages(whole))


def _pages(whole: bytes) -> int:
    """The pages that a PDF lists, or one for every 3 kB if the list is compressed; 0 for other files."""
    if not whole.startswith(b"%PDF"):
        return 0
    listed = len(re.findall(rb"/Type\s*/Page(?![a-zA-Z])", whole))
    told = max(map(int, re.findall(rb"/Count\s+([0-9]{1,5})", whole)), default=0)
    return max(listed, told) or max(1, ceil(len(whole) / 3000))


def as_json(value: Any) -> str:
    """A value as JSON. A value that JSON does not know becomes its Python text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def subject(name: Any, arguments: Any) -> str:
    """The tool and the arguments of a call. Two calls with the same subject are the same call."""
    return f"{name} {arguments if isinstance(arguments, str) else as_json(arguments)}"[:LONGEST_SUBJECT]


# --- cutting --------------------------------------------------------------------------------------


def shorten_content(content: Any, tokens: int, count: Count) -> Any:
    """Cut `content` to at most `tokens` tokens, as far as its fixed parts allow. Pictures stay if they take
    at most half of the room. The longest texts are cut first."""
    weight = weigh(content, count)
    room = tokens - weight.fixed
    if weight.media and weight.media > room // 2:
        return shorten_content(_without_media(content), tokens, count)
    return _Cut(_share_tokens(list(map(count, weight.texts)), room - weight.media), count).of(content)


def _without_media(content: Any) -> Any:
    if isinstance(content, list | tuple):
        return [_without_media(part) for part in content]
    if is_medium(content):
        return _placeholder(content)
    if field(content, "type") == "tool_result":
        return copy_with(content, content=_without_media(field(content, "content")))
    return content


def _placeholder(part: Any) -> Any:
    """A text part that replaces a picture, in the same format."""
    kind = str(field(part, "type") or "file")
    text = f"[{kind} left out]"
    if not field(part, "type"):
        return {"text": text} if isinstance(part, Mapping) else type(part)(text=text)
    return {"type": "input_text" if kind.startswith("input") else "text", "text": text}


def _share_tokens(sizes: Sequence[int], room: int) -> list[int]:
    """How many tokens each text may have, so that short ones stay whole as long as possible."""
    rooms, left = [0] * len(sizes), max(0, room)
    for place, at in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        rooms[at] = min(sizes[at], left // (len(sizes) - place))
        left -= rooms[at]
    return rooms


class _Cut:
    """Content with each of its texts cut, in the order of `leaves`."""

    def __init__(self, rooms: Sequence[int], count: Count) -> None:
        self._rooms, self._count = iter(rooms), count

    def of(self, content: Any) -> Any:
        if isinstance(content, str):
            return cut_text(content, next(self._rooms), self._count)
        if isinstance(content, list | tuple):
            return self._list(content)
        place = _place(content)
        if not place:
            return content
        inside = field(content, place)
        return copy_with(content, **{place: self._response(inside) if place in RESULTS else self.of(inside)})

    def _list(self, parts: Sequence[Any]) -> list[Any]:
        if len(parts) < MANY or not all(map(_is_text, parts)):
            return [self.of(part) for part in parts]
        rooms = [next(self._rooms) for _ in parts]
        texts = [part if isinstance(part, str) else field(part, "text") for part in parts]
        sizes = list(map(self._count, texts))
        if sizes == rooms:
            return list(parts)
        return self._both_ends(parts, sizes, sum(rooms))

    def _both_ends(self, parts: Sequence[Any], sizes: Sequence[int], room: int) -> list[Any]:
        """Keep whole texts at the beginning and at the end, with a notice in between."""
        words = PARTS_CUT[is_japanese(str(parts[0])[:500])].format(n=len(parts))
        room -= self._count(words)
        head, tail = 0, len(parts)
        while head < tail:
            at = head if head <= len(parts) - tail else tail - 1
            room -= sizes[at]
            if room < 0:
                break
            head, tail = (head + 1, tail) if at == head else (head, tail - 1)
        if room < 0 and tail - head == len(parts):
            return self._first(parts, room + sizes[0])
        left_out = words.replace(str(len(parts)), str(tail - head), 1)
        middle = left_out if isinstance(parts[0], str) else copy_with(parts[0], text=left_out)
        return [*parts[:head], middle, *parts[tail:]]

    def _first(self, parts: Sequence[Any], room: int) -> list[Any]:
        """Keep a cut copy of the first part, because no part fits whole."""
        cut = _Cut([max(0, room)], self._count)
        return [cut.of(parts[0])]

    def _response(self, result: Any) -> Any:
        answer = field(result, "response") or {}
        texts = {name: self.of(value) for name, value in answer.items() if isinstance(value, str)}
        return copy_with(result, response={**answer, **texts})


def _is_text(part: Any) -> bool:
    return isinstance(part, str) or _place(part) == "text"


def cut_text(text: str, tokens: int, count: Count) -> str:
    """Cut a text to its beginning and its end, with a notice in between. A text that fits is unchanged. With
    hardly any tokens it becomes `…`, because some providers refuse an empty text."""
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
    """Read a time: a datetime, seconds since 1970, or ISO 8601; None for anything else."""
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


# --- calls and results without ids ----------------------------------------------------------------
# Ollama, Gemini and ShareGPT have none: they belong together by their order and, where it is told, by the
# name of the tool. Results follow their calls at once, so what is open is known from the last message that
# made calls.

Named = tuple[str | None, str]  # an id, if there is one, and the name of a tool


class Pairs:
    """Ids for calls and results, message by message."""

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []  # ids and names of calls whose result is still to come

    def calls(self, at: int, found: Sequence[Named]) -> tuple[str, ...]:
        """Ids of the calls that message `at` makes. Earlier calls without a result stay without one."""
        made = [(id or f"{at}.{number}", name) for number, (id, name) in enumerate(found)]
        self._open = made
        return tuple(id for id, _ in made)

    def answers(self, at: int, found: Sequence[Named]) -> tuple[str, ...]:
        """Ids of the calls whose results message `at` holds."""
        return tuple(self._close(id, name) or f"{at}?{number}" for number, (id, name) in enumerate(found))

    def _close(self, id: str | None, name: str) -> str | None:
        asked = [call for call in self._open if (call[0] == id if id else not name or call[1] == name)]
        if asked:
            self._open.remove(asked[0])
            return asked[0][0]
        return id


def first_of_turn(originals: Sequence[Any], start: int, is_result: Callable[[Any], bool]) -> int:
    """The message to start reading from, so that the calls of the results in message `start` are known."""
    while start > 0 and start < len(originals) and is_result(originals[start]):
        start -= 1
    return start
