"""Add our hook entries to a host's settings and remove them: plain JSON in, plain JSON out.

    {"hooks": {"Stop": [{"hooks": [handler, …]}, …]}}     grouped (Claude Code, Codex, Gemini)
    {"version": 1, "hooks": {"stop": [handler, …]}}       flat    (Cursor, Copilot)

Our entries are recognised by the launcher they call. Everything else keeps its value and its place: other
hooks, unknown fields, the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nagori.core.value_object import Value
from nagori.errors import InvalidInput

Json = dict[str, Any]
LAUNCHER = re.compile(r"""[/\\]bin[/\\]nagori-hook(\.py)?(?=$|[\s'"])""")


class Shape(Value):
    """The structure of a host's file."""

    grouped: bool = True  # handlers are grouped and may share a matcher
    version: int | None = None  # version number required in a new file


def add_handlers(settings: Json, wanted: Mapping[str, Json], shape: Shape) -> Json:
    """`settings` with one handler for each event of `wanted`; adding twice changes nothing.

    An existing handler is updated in place, because its owner may have moved it.
    """
    _refuse_strange(settings, wanted)
    hooks = settings.get("hooks", {})
    events = _patch_events(hooks, wanted, shape)
    events |= {
        event: _append_handler([], each, shape) for event, each in wanted.items() if event not in events
    }
    changed = {**settings, "hooks": events}
    if shape.version and "hooks" not in settings:
        changed.setdefault("version", shape.version)
    return changed


def remove_handlers(settings: Json, shape: Shape) -> Json:
    """`settings` without our handlers; empty containers are removed."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return settings
    events = _patch_events(hooks, {}, shape)
    if events or events == hooks:
        return {**settings, "hooks": events}
    # A version after the hooks was written by `add_handlers`, which appends the hooks first.
    ours = {"hooks", "version"} if shape.version and [*settings][-2:] == ["hooks", "version"] else {"hooks"}
    return {key: value for key, value in settings.items() if key not in ours}


def is_ours(handler: object) -> bool:
    """Whether a handler calls our launcher."""
    return any(LAUNCHER.search(text) for text in _commands_of(handler))


def holds_ours(settings: Json, shape: Shape) -> bool:
    return remove_handlers(settings, shape) != settings


def _commands_of(handler: object) -> Iterator[str]:
    if isinstance(handler, dict):
        args = handler.get("args")
        texts = [handler.get(key) for key in ("command", "bash", "powershell")]
        for text in [*texts, *(args if isinstance(args, list) else [])]:
            if isinstance(text, str):
                yield text


def _refuse_strange(settings: Json, wanted: Mapping[str, Json]) -> None:
    """Refuse structures that we do not know."""
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise InvalidInput("settings", "error.settings_shape", key="hooks")
    for event in wanted:
        if not isinstance(hooks.get(event, []), list):
            raise InvalidInput("settings", "error.settings_shape", key=event)


def _patch_events(hooks: Json, wanted: Mapping[str, Json], shape: Shape) -> Json:
    """The existing events, each with exactly the wanted handler of ours."""
    settled = {
        event: _patch_entries(entries, wanted.get(event), shape) if isinstance(entries, list) else entries
        for event, entries in hooks.items()
    }
    return {event: entries for event, entries in settled.items() if entries or entries == hooks[event]}


def _patch_entries(entries: list[Any], handler: Json | None, shape: Shape) -> list[Any]:
    place = [handler] if handler else []  # used up by the first of our entries
    if shape.grouped:
        kept = [group for entry in entries for group in _patch_group(entry, place)]
    else:
        kept = _patch_handlers(entries, place)
    return _append_handler(kept, place[0], shape) if place else kept


def _patch_group(group: Any, place: list[Json]) -> list[Any]:
    """A group with our handler updated or removed; none if it held nothing else."""
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(handlers, list) or not any(map(is_ours, handlers)):
        return [group]
    kept = _patch_handlers(handlers, place)
    return [{**group, "hooks": kept}] if kept else []


def _patch_handlers(handlers: list[Any], place: list[Json]) -> list[Any]:
    kept = []
    for handler in handlers:
        if not is_ours(handler):
            kept.append(handler)
        elif place:
            kept.append(place.pop())
    return kept


def _append_handler(entries: list[Any], handler: Json, shape: Shape) -> list[Any]:
    return [*entries, {"hooks": [handler]} if shape.grouped else handler]
