"""What servers understand differs, and changes. A question is put in its richest form; a part that the
server refuses by name is left out from then on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nagori.errors import ModelError, Unusable

LONGEST_NAME = 100
LIMITS = ("maxLength", "minLength", "maxItems", "minItems", "minimum", "maximum")


class Forms:
    """Parts of a question that may be refused, by the words a server refuses them with."""

    def __init__(self, optional: Mapping[str, str]) -> None:
        self._optional = dict(optional)
        self.refused: set[str] = set()

    def ask(self, send: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """`send` once more for every part that is refused; it looks at `refused` when it is called."""
        while True:
            try:
                return send()
            except ModelError as trouble:
                named = self._named(trouble)
                if named is None:
                    raise
                self.refused.add(named)

    def _named(self, trouble: ModelError) -> str | None:
        if trouble.values.get("status") not in (400, 422):
            return None
        message = str(trouble.values.get("message", "")).lower()
        left = ((part, word) for part, word in self._optional.items() if part not in self.refused)
        return next((part for part, word in left if word in message), None)


def unlimited(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without bounds, which some servers refuse. We check them ourselves in any case."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(each) for name, each in value.items() if name not in LIMITS}
        return [plain(each) for each in value] if isinstance(value, list) else value

    bare: dict[str, Any] = plain(schema)
    return bare


def counted(usage: object, name: str) -> int:
    """A count of tokens as a server tells it; nonsense counts as none."""
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def unusable(model: str, why: str, read: int = 0, written: int = 0) -> Unusable:
    """An answer came, and it is none; so many tokens were paid for it."""
    fault = Unusable("{model}: {why}", model=model, why=why)
    fault.input_tokens, fault.output_tokens = read, written
    return fault


def named(answer: Mapping[str, Any], model: str) -> str:
    """The name a server gives its model, if it is one; else ours."""
    name = answer.get("model")
    known = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isascii() and name.isprintable()
    return str(name) if known else model
