"""LangChain's `trim_messages`, run in the peers' environment: JSON from standard input to standard output.

Asked is a list of {"roles": […], "tokens": […], "limit": n, "counts": […]}; answered, for every count, which
of the first so many messages it keeps. It counts with the given tokens, so that nobody counts better.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, trim_messages

KINDS = {"system": SystemMessage, "assistant": AIMessage}


def kept(roles: list[str], tokens: list[int], limit: int, counts: list[int]) -> list[list[int]]:
    """As its documentation has it: the last messages, the system prompt, beginning with a human."""
    messages = [KINDS.get(role, HumanMessage)(str(at), id=str(at)) for at, role in enumerate(roles)]

    def count(some: list[BaseMessage]) -> int:
        return sum(tokens[int(message.id or 0)] for message in some)

    def trim(first: int) -> list[int]:
        asked: dict[str, Any] = {"strategy": "last", "start_on": "human", "include_system": True}
        left = trim_messages(messages[:first], max_tokens=limit, token_counter=count, **asked)
        return [int(message.id or 0) for message in left]

    return [trim(first) for first in counts]


if __name__ == "__main__":
    print(json.dumps([kept(**asked) for asked in json.load(sys.stdin)]))
