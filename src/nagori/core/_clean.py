"""What happens to any text first. Apart from `text`: a hook that only listens needs no tokeniser."""

import re
from functools import cache

_PICTURE = "\u231a-\u23ff\u2600-\u27bf\u2b1b-\u2b55\U0001f000-\U0001faff"
_TONE = "\ufe0f\U0001f3fb-\U0001f3ff"


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
