"""Other words for a query, from a language model: only if `llm.expand_queries` is on, never for a prompt."""

from __future__ import annotations

from nagori.errors import ModelError
from nagori.language.tokenizer import query_tokens
from nagori.runtime import Runtime
from nagori.services.llm.client import ask

_WORD = {"type": "string", "maxLength": 40}
SCHEMA = {
    "type": "object",
    "properties": {"words": {"type": "array", "maxItems": 8, "items": _WORD}},
    "required": ["words"],
    "additionalProperties": False,
}


def other_words(runtime: Runtime, text: str) -> list[str]:
    """Words that an answer may have and the question lacks; none if the model does not answer."""
    if runtime.llm is None or not runtime.config.llm.expand_queries:
        return []
    try:
        said = ask(runtime, "expand", {"question": text}, SCHEMA, 200)["words"]
    except ModelError:  # reported and counted; continue with the question's own words
        return []
    known = set(query_tokens(text))
    return [word for word in dict.fromkeys(query_tokens(" ".join(said))) if word not in known]
