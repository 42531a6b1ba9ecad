"""The command `prune`, for a file of messages."""

from __future__ import annotations

import json
import sys
from codecs import BOM_UTF8
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nagori.adapters.tokens import open_counter
from nagori.core.window import PRESETS, STRATEGIES
from nagori.edges.cli.context import CommandSession, Json, json_text, open_output, print_json
from nagori.errors import InvalidInput
from nagori.services.window.formats.request_body import Body, body_of

Preset = StrEnum("Preset", [(name, name) for name in PRESETS])  # type: ignore[misc]
Strategy = StrEnum("Strategy", [(name, name) for name in STRATEGIES])  # type: ignore[misc]
KINDS = ("openai", "anthropic", "responses", "gemini", "sharegpt", "langchain")
Kind = StrEnum("Kind", [(name, name) for name in KINDS])  # type: ignore[misc]


def prune(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="help.prune.file")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="help.prune.output")] = None,
    budget: Annotated[int | None, typer.Option(help="help.prune.budget")] = None,
    preset: Annotated[Preset | None, typer.Option(help="help.prune.preset")] = None,
    strategy: Annotated[Strategy | None, typer.Option(help="help.prune.strategy")] = None,
    model: Annotated[str | None, typer.Option(help="help.prune.model")] = None,
    format: Annotated[Kind | None, typer.Option(help="help.prune.format")] = None,
    beside: Annotated[int, typer.Option(help="help.prune.beside")] = 0,
    session: Annotated[str | None, typer.Option(help="help.prune.session")] = None,
    remember: Annotated[bool, typer.Option(help="help.prune.remember")] = True,
    as_json: Json = False,
) -> None:
    """Leave out of a conversation what does not fit, and remember it."""
    here = CommandSession.of(context)
    given = {"budget": budget, "preset": preset, "strategy": strategy, "model": model}
    asked: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    asked |= {"format": format, "beside": beside, "session": session, "remember": remember}
    whole = _whole(file)
    request = _request(whole)
    with here.memory() as memory:
        if isinstance(request, Body):
            count = open_counter(model or memory.runtime.config.window.model)
            asked["beside"] = beside + request.beside(count)
        done = memory.prune(request.messages if isinstance(request, Body) else request, **asked)
    if output or not as_json:
        with open_output(output) as write:
            for line in _output_lines(request, done.messages):
                write(json_text(line) + "\n")
    if as_json:
        print_json({"messages": done.messages, "report": done.report})
        return
    here.err.print(here.translator("cli.pruned", **done.report), highlight=False, markup=False)


def _request(whole: bytes) -> Body | list[Any]:
    """A request in one piece, a list in one piece, or messages line by line."""
    try:
        data = json.loads(whole)
    except (ValueError, RecursionError):
        data = None
    is_list = isinstance(data, list) and (len(data) != 1 or isinstance(data[0], dict))
    found = data if is_list else body_of(data)
    if found is not None:
        return found
    lines = enumerate(whole.split(b"\n"), 1)
    return [_message(line, number) for number, line in lines if line.strip()]


def _output_lines(request: Body | list[Any], messages: list[Any]) -> list[Any]:
    """What is written: the same request, or the messages one by one."""
    return [request.with_messages(messages)] if isinstance(request, Body) else messages


def _whole(path: Path) -> bytes:
    """Bytes as they are: a sign that cannot be read must not become another one."""
    try:
        whole = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as fault:
        raise InvalidInput("path", "error.file", path=path, reason=fault.strerror) from fault
    return whole.removeprefix(BOM_UTF8)


def _message(line: bytes, number: int) -> Any:
    try:
        message = json.loads(line.decode())
    except UnicodeDecodeError:
        raise InvalidInput("messages", "error.line_not_utf8", n=number) from None
    except RecursionError:
        raise InvalidInput("messages", "error.line_too_deep", n=number) from None
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise InvalidInput("messages", "error.line_not_object", n=number)
    return message
