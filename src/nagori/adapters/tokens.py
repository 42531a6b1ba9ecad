"""Count tokens: by the model's own vocabulary where it is installed, else by an estimate.

`pip install nagori[tokens]` installs the vocabularies; nothing is downloaded at run time. Models without a
known vocabulary are estimated (`language.tokens`), rather too high.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from nagori.core.value_object import no_observer
from nagori.language.tokens import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Observer

# Vocabularies by the prefix of a model name; the first match wins.
VOCABULARIES = {
    r"(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|o[1-9](-|$)|codex|o200k)": "o200k_base",
    r"(gpt-4|gpt-3\.5|gpt-35|text-embedding-|cl100k)": "cl100k_base",
    r"(meta-)?llama-?3": "llama3",
    r"deepseek": "deepseek_v3",
    r"(open-)?(mistral|ministral|magistral|codestral|devstral|pixtral)": "mistral_v3",
}


def open_counter(model: str = "", observe: Observer = no_observer) -> Callable[[str], int]:
    """A function that counts the tokens of a text as `model` does, or estimates them."""
    name = vocabulary(model)
    if name is None:
        return estimate_tokens
    try:
        return _counter(name)
    except ImportError:
        observe("tokens.estimated", model=model)
        return estimate_tokens


def vocabulary(model: str) -> str | None:
    """The vocabulary of a model, if it is known; `openai/gpt-5` is `gpt-5`."""
    bare = model.lower().rpartition("/")[2]
    return next((name for begins, name in VOCABULARIES.items() if re.match(begins, bare)), None)


@cache
def _counter(name: str) -> Callable[[str], int]:
    import splintr

    encode = splintr.Tokenizer.from_pretrained(name).encode_ordinary

    def count(text: str) -> int:
        try:
            return len(encode(text))
        except UnicodeEncodeError:  # half a surrogate pair: sent as a replacement character
            return len(encode(text.encode("utf-8", "replace").decode()))

    return count
