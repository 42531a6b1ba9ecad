"""What happens to any text first. Apart from `text`: a hook that only listens needs no tokeniser."""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

_PICTURE = "\u231a-\u23ff\u2600-\u27bf\u2b1b-\u2b55\U0001f000-\U0001faff"
_TONE = "\ufe0f\U0001f3fb-\U0001f3ff"
MOST_MARKS = 30  # on one letter, as Unicode's stream-safe format has it; no language comes near


def clean(text: str, *, field: str = "text") -> str:
    """Text that is safe to store and show: no lone surrogates, controls or invisible direction tricks."""
    if not isinstance(text, str):
        raise TypeError(f"{field} must be str, not {type(text).__name__}")
    if text.isascii() and text.isprintable():
        return text
    if re.search("[\ud800-\udfff]", text):  # a pair kept apart is joined again, a lone half becomes U+FFFD
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _unwanted().sub("", re.sub("\r\n?|[\u2028\u2029]", "\n", text))


@cache
def _unwanted() -> re.Pattern[str]:
    """Controls, bidi marks, zero-width characters; a joiner stays only between two emoji."""
    return re.compile(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
        f"|(?<![{_PICTURE}{_TONE}])\u200d|\u200d(?![{_PICTURE}])"
    )


def normal_form(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """`text` in a Unicode normal form. Marks on one letter are put in order by pairwise comparison, which
    takes minutes for a million of them; so marks after the first `MOST_MARKS` on a letter are left out."""
    if text.isascii():
        return text
    from unicodedata import normalize  # a hook that only listens does not pay for its tables

    return normalize(form, _many_marks().sub(_with_few_marks, text))


@cache
def _many_marks() -> re.Pattern[str]:
    """Where so many marks may stand. Signs look the same to a pattern, and are told apart one by one."""
    sign, kana = r"[^\w\s\0-\u02ff]", "[ﾞﾟ]"
    return re.compile(f"(?<!{sign})(?<!{kana})(?:{sign}|{kana}){{{MOST_MARKS + 1},}}")


def _with_few_marks(run: re.Match[str]) -> str:
    from unicodedata import category

    kept: list[str] = []
    marks = 0
    for char in run[0]:
        marks = marks + 1 if category(char)[0] == "M" or char in "ﾞﾟ" else 0
        if marks <= MOST_MARKS:
            kept.append(char)
    return "".join(kept)
