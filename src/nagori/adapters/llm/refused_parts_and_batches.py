"""Shared by providers: retry a request without parts that a server refuses, and batch formats.

Servers support different parts of a request. It is sent in its richest form; a part that the server refuses
by name is left out from then on.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from nagori.adapters.credentials import key_from
from nagori.core.llm import Reply
from nagori.errors import ModelError, Notice, UnusableAnswer

LONGEST_NAME = 100
LIMITS = ("maxLength", "minLength", "maxItems", "minItems", "minimum", "maximum")


class Forms:
    """Optional parts of a request, by the words with which a server refuses them."""

    def __init__(self, optional: Mapping[str, str]) -> None:
        self._optional = dict(optional)
        self.refused: set[str] = set()

    def ask(self, send: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Call `send` again for every refused part; `send` reads `refused`."""
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


def without_bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without bounds, which some servers refuse. We check them ourselves in any case."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(each) for name, each in value.items() if name not in LIMITS}
        return [plain(each) for each in value] if isinstance(value, list) else value

    bare: dict[str, Any] = plain(schema)
    return bare


def read_count(usage: object, name: str) -> int:
    """A token count as reported by a server; invalid values count as 0."""
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def unusable(model: str, reason: Notice, read: int = 0, written: int = 0) -> UnusableAnswer:
    """The error for an unusable answer, with the tokens charged."""
    fault = UnusableAnswer("error.model_answer", model=model, reason=reason)
    fault.input_tokens, fault.output_tokens = read, written
    return fault


def answering_model(answer: Mapping[str, Any], model: str) -> str:
    """The model name reported by the server, if it is valid; else ours."""
    name = answer.get("model")
    known = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isascii() and name.isprintable()
    return str(name) if known else model


# --- batches --------------------------------------------------------------------------------------
# Shared by the providers' batch APIs.

LONGEST_BATCH = 64_000_000  # bytes of all answers together
_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")


def name_of(answer: Mapping[str, Any], model: str) -> str:
    """The name of the created object."""
    return plain_name(answer.get("id"), model)


def plain_name(name: object, model: str) -> str:
    """A name that is safe inside an address."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UnusableAnswer("error.model_answer", model=model, reason=Notice("answer.batch_no_name"))
    return name


def answers_of(
    lines: bytes, model: str, read: Callable[[Mapping[str, Any]], Reply]
) -> dict[str, Reply | ModelError]:
    """The answer of each line by the name of its request; invalid lines are skipped."""
    answers: dict[str, Reply | ModelError] = {}
    for line in lines.decode("utf-8", "replace").split("\n"):  # U+2028 does not end a line
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("custom_id"), str):
            try:
                answers[value["custom_id"]] = read(value)
            except ModelError as fault:
                answers[value["custom_id"]] = fault
    return answers


def file_form(content: bytes, **fields: str) -> tuple[bytes, str]:
    """A form with one file, and its content type."""
    mark = uuid4().hex
    parts = [
        f'--{mark}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = 'content-disposition: form-data; name="file"; filename="questions.jsonl"'
    parts.append(f"--{mark}\r\n{head}\r\ncontent-type: application/jsonl\r\n\r\n".encode())
    return b"".join(
        [*parts, content, f"\r\n--{mark}--\r\n".encode()]
    ), f"multipart/form-data; boundary={mark}"


CONNECT_SECONDS = 2.0


def find_fault(address: str, variable: str | None) -> Notice | None:
    """Why a model cannot be asked: its key is missing, or nobody listens at its address. `variable` is the
    name of the key, if one is needed."""
    if variable is not None and key_from(variable) is None:
        return Notice("error.key_missing", variable=variable)
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except OSError as fault:
        reason = fault.strerror or str(fault)
        return Notice("doctor.model_unreachable", address=f"{parts.hostname}:{port}", reason=reason)
    return None
