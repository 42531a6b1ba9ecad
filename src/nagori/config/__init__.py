"""The configuration: all settings, where each value came from, and every fault in one error.

    defaults < config.toml < NAGORI_SECTION__KEY in the environment < overrides of the caller

Sections stand beside the formulas that use them and are collected here; the others are in `sections.py`.
Types, bounds and descriptions are read from these classes, so the JSON schema and the reference page always
agree with them. A config.json of the original format is read, too.

A hook loads this module at every prompt. Without a file and without NAGORI_* variables neither `loader.py`
nor `reference.py` is imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nagori import files
from nagori.config.sections import (
    Backups,
    Embedding,
    General,
    GraphSettings,
    Hooks,
    Llm,
    PrivacySettings,
    ServerSettings,
    Sessions,
)
from nagori.core.consolidation_salience import Consolidation
from nagori.core.decay import Reinforcement, Retention, Weekly
from nagori.core.levels import Archive, Capacity, Compression, Levels, Protection, Relations, Threads, Tiers
from nagori.core.memory_scores import LearningSettings, Resonance, Retrieval, SelfRecall
from nagori.core.value_object import Value, leaves
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
SHORT_NAMES = {
    "NAGORI_DATA_DIR": "general.data_dir",
    "NAGORI_DATABASE": "general.database",
    "NAGORI_LANG": "general.language",
}
NOT_SETTINGS = (
    "NAGORI_CONFIG",
    "NAGORI_PROJECT",
    "NAGORI_USER",
    "NAGORI_TENANT",
    "NAGORI_AGENT",
    "NAGORI_ROLE",
    "NAGORI_TASK",
    "NAGORI_INSIDE",
    "NAGORI_KEY",
)
NOT_KEYS = ("version", "$schema")  # older files have a version, editors add a schema: neither is a setting
DEFAULT = "default"


class Config(Value):
    """All sections by name.

    `Config()` holds the defaults; `load_config()` reads file and environment.
    """

    general: General = General()
    retention: Retention = Retention()
    weekly: Weekly = Weekly()
    levels: Levels = Levels()
    recall: Reinforcement = Reinforcement()
    resonance: Resonance = Resonance()
    compression: Compression = Compression()
    relations: Relations = Relations()
    consolidation: Consolidation = Consolidation()
    retrieval: Retrieval = Retrieval()
    self_recall: SelfRecall = SelfRecall()
    archive: Archive = Archive()
    capacity: Capacity = Capacity()
    protection: Protection = Protection()
    tiers: Tiers = Tiers()
    threads: Threads = Threads()
    sessions: Sessions = Sessions()
    graph: GraphSettings = GraphSettings()
    embedding: Embedding = Embedding()
    llm: Llm = Llm()
    window: Window = Window()
    privacy: PrivacySettings = PrivacySettings()
    hooks: Hooks = Hooks()
    backup: Backups = Backups()
    server: ServerSettings = ServerSettings()
    learning: LearningSettings = LearningSettings()

    def evolve(self, changes: Mapping[str, object]) -> Config:
        """A copy with some settings changed, by dotted name: `{"window.budget": 4000}`. Unknown names, wrong
        types and values out of bounds are refused, all in one InvalidConfig."""
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
    """The configuration from all sources; every fault of every source is in one `InvalidConfig`.

    `path` (or NAGORI_CONFIG) must exist; the platform's default file need not. An empty variable and an
    override of None count as not given. `overrides` are values by dotted key; strings are parsed like
    environment variables.
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
    """The configuration of this machine, from `path` or the default file and from the environment. `changes`
    are settings by dotted name; they win."""
    return load(path, overrides=changes).config


def _file(path: str | Path | None, env: Mapping[str, str]) -> Path | None:
    chosen = str(path or env.get("NAGORI_CONFIG", ""))
    if chosen:
        return files.expand_home(chosen, env)
    usual = files.config_dir(env) / FILE_NAME
    try:
        return usual if usual.exists() else None
    except OSError:  # no access to the folder: reading the file reports it
        return usual


def __getattr__(name: str) -> Any:
    if name in ("SettingRow", "describe", "rows", "schema"):
        from nagori.config import reference

        return getattr(reference, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
