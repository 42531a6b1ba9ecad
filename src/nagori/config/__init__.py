"""One frozen configuration: every setting, where its value came from, and everything wrong with it at once.

    defaults < config.toml < NAGORI_SECTION__KEY in the environment < overrides of the caller

Sections stand beside the formulas they steer and are collected here; those whose room is not built yet
are in `sections.py`. Types, bounds and sentences are read from the dataclasses, so this table, the
JSON schema and the reference page cannot disagree [E20]. 001's config.json is read as it is.

A hook loads this at every prompt: without a file and without NAGORI_* names neither `loader.py` nor
`reference.py` is imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nagori import paths
from nagori.config.sections import (
    Embedding,
    General,
    Hooks,
    Llm,
    PrivacySettings,
    Sessions,
    Threads,
    WorkingMemory,
)
from nagori.core.decay import Reinforcement, Retention, Weekly
from nagori.core.levels import Archive, Capacity, Compression, Levels, Protection, Relations, Tiers
from nagori.core.scoring import Importance, Resonance, Retrieval, Salience, SelfRecall
from nagori.core.values import Value, leaves
from nagori.core.window import PRESETS, Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.config.reference import SettingRow as SettingRow
    from nagori.config.reference import describe as describe
    from nagori.config.reference import rows as rows
    from nagori.config.reference import schema as schema

__all__ = [
    "NOT_KEYS",
    "NOT_SETTINGS",
    "PRESETS",
    "SHORT_NAMES",
    "Config",
    "LoadedConfig",
    "SettingRow",
    "describe",
    "load",
    "load_config",
    "rows",
    "schema",
]

FILE_NAME = "config.toml"
ENV = "NAGORI_"
SHORT_NAMES = {"NAGORI_DATA_DIR": "general.data_dir", "NAGORI_LANG": "general.language"}
NOT_SETTINGS = (
    "NAGORI_CONFIG",
    "NAGORI_PROJECT",
    "NAGORI_USER",
    "NAGORI_TENANT",
    "NAGORI_AGENT",
    "NAGORI_ROLE",
    "NAGORI_INSIDE",
)
NOT_KEYS = ("version", "$schema")  # 001's file carries a version, editors add a schema: neither steers
DEFAULT = "default"


class Config(Value):
    """Every section by its name in the file.

    `Config()` is the defaults; `load_config()` is what file and environment say."""

    general: General = General()
    retention: Retention = Retention()
    weekly: Weekly = Weekly()
    levels: Levels = Levels()
    recall: Reinforcement = Reinforcement()
    resonance: Resonance = Resonance()
    compression: Compression = Compression()
    relations: Relations = Relations()
    retrieval: Retrieval = Retrieval()
    self_recall: SelfRecall = SelfRecall()
    archive: Archive = Archive()
    capacity: Capacity = Capacity()
    protection: Protection = Protection()
    salience: Salience = Salience()
    importance: Importance = Importance()
    tiers: Tiers = Tiers()
    embedding: Embedding = Embedding()
    llm: Llm = Llm()
    working: WorkingMemory = WorkingMemory()
    threads: Threads = Threads()
    sessions: Sessions = Sessions()
    window: Window = Window()
    privacy: PrivacySettings = PrivacySettings()
    hooks: Hooks = Hooks()

    def evolve(self, changes: Mapping[str, object]) -> Config:
        """A copy with some settings changed, by their dotted names: `{"window.budget": 4000}`. A name that
        does not exist, a wrong type and a value out of bounds are refused, all in one InvalidConfig."""
        from nagori.config.loader import Reader

        reader = Reader(self)
        reader.read_overrides(changes)
        changed: Config = reader.result({leaf.key: DEFAULT for leaf in leaves(self)})[0]
        return changed


class LoadedConfig(Value):
    """A configuration and, for each dotted key, where its value came from.

    Origins: `default`, `preset:<name>`, `file:<path>`, `env:<NAME>`, `override`.
    """

    config: Config
    origins: dict[str, str]


def load(
    path: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> LoadedConfig:
    """The configuration from all its sources; every fault of every source in one `InvalidConfig`.

    `path` (or NAGORI_CONFIG) must exist, the platform's own file may. A variable that is set but empty
    is not given, nor is an override of None. `overrides` are dotted keys with values; texts among them
    are read as the environment's are.
    """
    env = os.environ if env is None else env
    config = Config()
    origins = {leaf.key: DEFAULT for leaf in leaves(config)}
    file = _file(path, env)
    named = sorted(name for name, value in env.items() if name.startswith(ENV) and value)
    if file is None and not overrides and set(named) <= set(NOT_SETTINGS):
        return LoadedConfig(config, origins)
    from nagori.config.loader import Reader

    reader = Reader(config)
    if file is not None:
        reader.read_file(file)
    reader.read_env({name: env[name] for name in named})
    reader.read_overrides(overrides or {})
    return LoadedConfig(*reader.result(origins))


def load_config(path: str | Path | None = None, *, changes: Mapping[str, object] | None = None) -> Config:
    """The configuration of this machine, from `path` or the usual file and from the environment; `changes`
    are settings by their dotted names, and win."""
    return load(path, overrides=changes).config


def _file(path: str | Path | None, env: Mapping[str, str]) -> Path | None:
    chosen = str(path or env.get("NAGORI_CONFIG", ""))
    if chosen:
        return paths.expand_home(chosen, env)
    usual = paths.config_dir(env) / FILE_NAME
    try:
        return usual if usual.exists() else None
    except OSError:  # a folder we may not look into: reading the file will say so
        return usual


def __getattr__(name: str) -> Any:
    if name in ("SettingRow", "describe", "rows", "schema"):
        from nagori.config import reference

        return getattr(reference, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
