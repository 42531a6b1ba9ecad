"""The command `prune`, for a file of messages."""

from __future__ import annotations

import json
import sys
from codecs import BOM_UTF8
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nagori.core.window import PRESETS, STRATEGIES
from nagori.edges.cli.context import CommandSession, Json, json_text, open_output, print_json
from nagori.errors import InvalidInput

Preset = StrEnum("Preset", [(name, name) for name in PRESETS])  # type: ignore[misc]
Strategy = StrEnum("Strategy", [(name, name) for name in STRATEGIES])  # type: ignore[misc]
Kind = StrEnum("Kind", [(name, name) for name in ("openai", "anthropic", "responses")])  # type: ignore[misc]


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
    messages = [_message(line, number) for number, line in enumerate(_lines(file), 1) if line.strip()]
    with here.memory() as memory:
        done = memory.prune(messages, **asked)
    if output or not as_json:
        with open_output(output) as write:
            for message in done.messages:
                write(json_text(message) + "\n")
    if as_json:
        print_json({"messages": done.messages, "report": done.report})
        return
    here.err.print(here.translator("cli.pruned", **done.report), highlight=False, markup=False)


def _lines(path: Path) -> list[bytes]:
    """Lines as they are: a sign that cannot be read must not become another one."""
    try:
        whole = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as fault:
        raise InvalidInput("path", "error.file", path=path, reason=fault.strerror) from fault
    return whole.removeprefix(BOM_UTF8).split(b"\n")


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
