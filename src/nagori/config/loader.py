"""Read configuration sources: files, environment and overrides, with types and bounds checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from nagori.config import DEFAULT, ENV, NOT_KEYS, NOT_SETTINGS, SHORT_NAMES
from nagori.core.value_object import Value, fault_of, fields_of, find_faults, leaves, replace
from nagori.core.window import PRESETS
from nagori.errors import InvalidConfig, InvalidInput, Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.config.sections import Embedding, General, GraphSettings, Llm, Sessions

# ── names of the past ────────────────────────────────────────────────────────────────────────────

RENAMED = {
    "hooks.most": "hooks.max_memories",
    "hooks.brief": "hooks.session_start_memories",
    "hooks.brief_tokens": "hooks.session_start_tokens",
    "hooks.floor": "hooks.min_confidence",
    "retrieval.floor": "retrieval.min_confidence",
    "llm.tries": "llm.max_attempts",
    "llm.later": "llm.use_batch_api",
    "llm.patience": "llm.fallback_after_cycles",
    "llm.judge": "llm.appraise",
    "llm.judge_days": "llm.appraise_days",
    "llm.shorten": "llm.compress",
    "llm.batch": "llm.memories_per_request",
    "llm.expand": "llm.expand_queries",
    "weekly.birth": "weekly.initial_score",
    "capacity.share": "capacity.max_share_per_cycle",
    "window.gap": "window.summarise_gap_from",
}
# Sections and settings without a function; they return together with it.
REMOVED = frozenset(
    {
        "importance",
        "salience",
        "working",
    }
)


def _is_removed(key: str) -> bool:
    return key in REMOVED or key.partition(".")[0] in REMOVED


# ── types ────────────────────────────────────────────────────────────────────────────────────────


class Type(Value):
    words: str
    fault: str  # id of the message for another value
    schema: dict[str, Any]
    accept: Callable[[Any], object]  # converts a value of a file; raises what _WRONG lists
    parse: Callable[[str], object]  # converts a string of the environment; raises the same


_WRONG = (ValueError, TypeError, KeyError, OverflowError)
_BOOLS = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(("false", "0", "no", "off"), False)


def _exactly(*types: type) -> Callable[[Any], Any]:
    def accept(value: Any) -> Any:
        if type(value) not in types:  # not isinstance: True must not pass as an integer
            raise TypeError(value)
        return value

    return accept


def _whole(value: Any) -> int:
    number: int = _exactly(int)(value)
    if abs(number) >= 2**63:
        raise OverflowError(number)
    return number


def _finite(value: Any) -> float:
    number = float(_exactly(int, float)(value))
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_exactly(str), _exactly(list, tuple)(value)))


# by annotation as written: evaluating all of them would take a hook longer than reading the file
TYPES: dict[Any, Type] = {
    "bool": Type(
        "true or false",
        "fault.not_bool",
        {"type": "boolean"},
        _exactly(bool),
        lambda text: _BOOLS[text.strip().lower()],
    ),
    "int": Type(
        "a whole number", "fault.not_whole", {"type": "integer"}, _whole, lambda text: _whole(int(text))
    ),
    "float": Type(
        "a number", "fault.not_number", {"type": "number"}, _finite, lambda text: _finite(float(text))
    ),
    "str": Type("a text", "fault.not_text", {"type": "string"}, _exactly(str), str),
    "tuple[str, ...]": Type(
        "a list of texts",
        "fault.not_texts",
        {"type": "array", "items": {"type": "string"}},
        _texts,
        lambda text: tuple(part.strip() for part in text.split(",") if part.strip()),
    ),
}


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


class NotSections(Exception):
    """A file whose JSON is not an object."""


class Reader:
    """Collects values and faults for `config` from one source after the other; later sources win."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.types = {leaf.key: TYPES[leaf.type] for leaf in leaves(config)}
        self.sections = {key[:at] for key in self.types for at, sign in enumerate(key) if sign == "."}
        self.values: dict[str, object] = {}
        self.origins: dict[str, str] = {}
        self.faults: list[Notice] = []
        self.spoiled: set[str] = set()  # sections with a fault: their settings are not compared

    def read_file(self, path: Path) -> None:
        try:
            table = _parse_file(path)
        except OSError as error:
            self.faults.append(Notice("fault.file", path=path, reason=error.strerror or str(error)))
        except NotSections:
            self.faults.append(Notice("fault.file", path=path, reason=Notice("fault.not_sections")))
        except (ValueError, RecursionError) as error:
            self.faults.append(Notice("fault.file", path=path, reason=str(error)))
        else:
            for key, value in self._flat(table):
                self._take(key, value, f"file:{path}", self._accepted)

    def read_env(self, env: Mapping[str, str]) -> None:
        names = {_variable(key): key for key in self.types}
        for name in (*SHORT_NAMES, *names):  # the long name wins over the short one
            if name in env:
                self._take({**SHORT_NAMES, **names}[name], env[name], f"env:{name}", self._parsed)
        for name in sorted(env.keys() - names.keys() - SHORT_NAMES.keys() - set(NOT_SETTINGS)):
            origin = Notice("fault.from_environment")
            problem = self._explain_variable(name, names)
            self.faults.append(Notice("fault.setting", key=_name(name), problem=problem, origin=origin))

    def _explain_variable(self, name: str, names: Mapping[str, str]) -> Notice:
        """Why a variable is no setting: renamed, removed or unknown."""
        key = name.removeprefix(ENV).lower().replace("__", ".")
        if key in RENAMED:
            return Notice("fault.renamed", new=_variable(RENAMED[key]))
        if _is_removed(key):
            return Notice("fault.removed")
        return _unknown(name, (*names, *SHORT_NAMES, *NOT_SETTINGS), "__", ENV)

    def read_overrides(self, overrides: Mapping[str, object]) -> None:
        for key, value in overrides.items():
            if value is not None:
                read = self._parsed if isinstance(value, str) else self._accepted
                self._take(key, value, "override", read)

    def result(self, origins: dict[str, str]) -> tuple[Any, dict[str, str]]:
        """The configuration, and the origin of each value."""
        preset = str(self.values.get("window.preset"))
        for key, value in PRESETS.get(preset, {}).items():
            if key not in self.values:
                self.values[key], self.origins[key] = value, f"preset:{preset}"
        config, origins = _with(self.config, self.values), origins | self.origins
        faults = self.faults + list(_faults(config, origins, self.spoiled))
        if faults:
            raise InvalidConfig(faults)
        return config, origins

    def _flat(self, table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
        for name, value in table.items():
            key = prefix + name
            if key in self.sections and isinstance(value, dict):
                yield from self._flat(value, f"{key}.")
            elif key not in NOT_KEYS:
                yield key, value

    def _take(self, key: str, value: Any, origin: str, read: Callable[[str, Any], object]) -> None:
        if key in self.sections:
            self._fault(key, Notice("fault.not_table", value=_short(value)), origin)
        elif key not in self.types:
            self._fault(_name(key), self._explain_key(key), origin)
        else:
            try:
                self.values[key], self.origins[key] = read(key, value), origin
            except _WRONG:
                self._fault(key, Notice(self.types[key].fault, value=_short(value)), origin)

    def _explain_key(self, key: str) -> Notice:
        """Why a key is no setting: renamed, removed or unknown."""
        if key in RENAMED:
            return Notice("fault.renamed", new=RENAMED[key])
        if _is_removed(key):
            return Notice("fault.removed")
        return _unknown(key, (*self.types, *self.sections), ".")

    def _accepted(self, key: str, value: Any) -> object:
        return self.types[key].accept(value)

    def _parsed(self, key: str, value: Any) -> object:
        return self.types[key].parse(value)

    def _fault(self, key: str, problem: Notice, origin: str) -> None:
        self.spoiled.add(key.partition(".")[0])
        self.faults.append(Notice("fault.setting", key=key, problem=problem, origin=_origin(origin)))


def _is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def _variable(key: str) -> str:
    """The environment variable of a setting."""
    return ENV + key.upper().replace(".", "__")


def _parse_file(path: Path) -> dict[str, Any]:
    """The tables of a TOML or JSON file; ValueError says where it is broken."""
    text = path.read_text(encoding="utf-8-sig")  # Windows editors write a byte order mark
    if _is_json(path):
        import json

        table = json.loads(text)
        if not isinstance(table, dict):
            raise NotSections
        return table
    import tomllib

    return tomllib.loads(text)


def _with(section: Any, values: Mapping[str, object], prefix: str = "") -> Any:
    """`section` with those of `values` (by dotted key) that belong to it."""
    changes = {}
    for name in fields_of(section):
        key, value = prefix + name, getattr(section, name)
        deeper = isinstance(value, Value)
        changes[name] = _with(value, values, f"{key}.") if deeper else values.get(key, value)
    return replace(section, **changes)


def _faults(config: Any, origins: Mapping[str, str], spoiled: set[str]) -> Iterator[Notice]:
    """Values out of bounds; if there are none, settings that contradict each other. Unchanged sections are
    skipped."""
    changed = {key.partition(".")[0] for key, origin in origins.items() if origin != DEFAULT}
    for name in fields_of(config):
        section = getattr(config, name)
        found, prefix = list(find_faults(section, name)), ""
        if not found and name in changed - spoiled:
            found, prefix = list(_contradictions(name, section)), f"{name}."
        for fault in found:
            key = f"{prefix}{fault.values['key']}"
            origin = _origin(_blame(key, name, origins))
            yield Notice("fault.setting", key=key, problem=fault.values["problem"], origin=origin)


def _contradictions(name: str, section: Any) -> Iterable[Notice]:
    """A section that stands beside its formulas says itself what cannot be; the others are checked here."""
    if hasattr(section, "faults"):
        return section.faults()  # type: ignore[no-any-return]
    return CHECKS[name](section) if name in CHECKS else ()


def _log_faults(sessions: Sessions) -> Iterator[Notice]:
    """The folder must be absolute, and a password has its own place."""
    folder = sessions.log_dir
    if folder and not folder.startswith(("~/", "s3://")) and not Path(folder).is_absolute():
        yield fault_of("log_dir", "fault.not_absolute", value=repr(folder))
    address, _, rest = sessions.cache.partition("://")
    if sessions.cache and (address not in ("redis", "rediss") or not rest):
        yield fault_of("cache", "fault.not_cache")
    elif ":" in rest.rpartition("@")[0]:
        yield fault_of("cache", "fault.cache_password")


def _graph_faults(graph: GraphSettings) -> Iterator[Notice]:
    """A password has its own place."""
    address, _, rest = graph.mirror.partition("://")
    if graph.mirror and (not address.startswith(("bolt", "neo4j")) or not rest):
        yield fault_of("mirror", "fault.not_graph")
    elif ":" in rest.rpartition("@")[0]:
        yield fault_of("mirror", "fault.graph_password")


def _folder_faults(general: General) -> Iterator[Notice]:
    """The folder must be absolute: a relative one would differ between the projects that call a hook. The
    database's password has its own place."""
    folder = general.data_dir
    if folder and not folder.startswith("~/") and not Path(folder).is_absolute():
        yield fault_of("data_dir", "fault.not_absolute", value=repr(folder))
    if general.database:
        from nagori.config.postgres_address import parse_address

        try:
            if parse_address(general.database).has_password:  # settings are displayed
                yield fault_of("database", "fault.database_password")
        except InvalidInput as fault:
            yield fault_of("database", fault.message_id, **fault.values)


def _key_faults(section: Embedding | Llm) -> Iterator[Notice]:
    """The setting names a variable. A key itself must not stand here: settings are displayed."""
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,63}", section.key_env):
        yield fault_of("key_env", "fault.key_variable")


CHECKS: dict[str, Callable[[Any], Iterator[Notice]]] = {
    "general": _folder_faults,
    "sessions": _log_faults,
    "graph": _graph_faults,
    "embedding": _key_faults,
    "llm": lambda llm: _key_faults(llm) if llm.key_env else iter(()),
}


def _blame(key: str, section: str, origins: Mapping[str, str]) -> str:
    """The origin of a value; for a default that contradicts, the origin of the change in its section."""
    if origins.get(key, DEFAULT) != DEFAULT:
        return origins[key]
    changed = {origin for name, origin in origins.items() if name.startswith(f"{section}.")} - {DEFAULT}
    return ", ".join(sorted(changed))


def _origin(origin: str) -> Notice | str:
    """Where a value came from, as a message says it."""
    return Notice("fault.from_caller") if origin == "override" else origin


def _unknown(name: str, known: tuple[str, ...], sign: str, prefix: str = "") -> Notice:
    """No such setting; perhaps the known name most like this one is meant, or one that ends in the same word.
    `prefix` is common to all."""
    import difflib

    wanted, names = name.removeprefix(prefix)[:100], [other.removeprefix(prefix) for other in known]
    near = difflib.get_close_matches(wanted, names, n=1)
    near = near or [other for other in names if other.endswith(sign + wanted.rpartition(sign)[2])]
    return Notice("fault.unknown_near", near=f"{prefix}{near[0]}") if near else Notice("fault.unknown")


def _name(key: str) -> str:
    return key if key.isprintable() and len(key) <= 80 else _short(key)


def _short(value: object) -> str:
    """`value` in one short line, for a message."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits, a deeply nested list
        text = f"this {type(value).__name__}"
    return text if len(text) <= 80 else text[:79] + "…"
