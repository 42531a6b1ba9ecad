"""Other words for a question, from a language model: only where `llm.expand_queries` wants it, never for a prompt."""

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
    """Words that an answer may have and the question has not; none when the model does not answer."""
    if runtime.llm is None or not runtime.config.llm.expand_queries:
        return []
    try:
        said = ask(runtime, "expand", {"question": text}, SCHEMA, 200)["words"]
    except ModelError:  # told and counted; the question's own words are enough
        return []
    known = set(query_tokens(text))
    return [word for word in dict.fromkeys(query_tokens(" ".join(said))) if word not in known]
