"""Many questions at once, answered within a day: what the providers' batches have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from nagori.core.asking import Reply
from nagori.errors import ModelError, Unusable

LONGEST_BATCH = 64_000_000  # bytes of all answers together
_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")


def name_of(answer: Mapping[str, Any], model: str) -> str:
    """The name of what was made."""
    return plain_name(answer.get("id"), model)


def plain_name(name: object, model: str) -> str:
    """A name that can stand in an address and means nothing else there."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Unusable("{model}: {why}", model=model, why="the batch has no name")
    return name


def answers_of(
    lines: bytes, model: str, read: Callable[[Mapping[str, Any]], Reply]
) -> dict[str, Reply | ModelError]:
    """Each line's answer by the name of its question; a line that is none is passed over."""
    answers: dict[str, Reply | ModelError] = {}
    for line in lines.decode("utf-8", "replace").split("\n"):  # U+2028 is no end of a line
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
