"""The configuration: sources in their order, every fault at once, and a description that cannot disagree."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums, or options are passed on as a dict.

from __future__ import annotations

import json
import math
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori import config, files
from nagori.config import Config, load
from nagori.config.loader import REMOVED, RENAMED
from nagori.core.value_object import Value, find_faults, replace, setting
from nagori.errors import InvalidConfig, InvalidInput

KEYS = {row.key: row for row in config.describe()}


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose home is empty."""
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def writer(text: str | bytes, name: str = "config.toml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return writer


def faults_of(*args: Any, **kwargs: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidConfig) as caught:
        load(*args, **kwargs)
    return caught.value.faults


def value_of(loaded: config.LoadedConfig, key: str) -> object:
    return {row[0]: row[1] for row in config.rows(loaded)}[key]


# ── sources ──────────────────────────────────────────────────────────────────────────────────────


def test_without_any_source_everything_is_default(home: dict[str, str]) -> None:
    loaded = load(env=home)
    assert loaded.config == Config()
    assert loaded.origins == dict.fromkeys(KEYS, "default")


def test_without_any_source_no_parser_is_imported(home: dict[str, str]) -> None:
    code = (
        "import sys; from nagori.config import load\n"
        "load(env={'HOME': '/nonexistent', 'NAGORI_USER': 'me'})\n"
        "print(*{'tomllib', 'json', 'difflib', 'nagori.config.loader', 'nagori.config.reference'}"
        " & set(sys.modules))"
    )
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_real_environment_is_read_when_none_is_given(
    monkeypatch: pytest.MonkeyPatch, home: dict[str, str]
) -> None:
    for name, value in (home | {"NAGORI_RETRIEVAL__TOP_K": "9"}).items():
        monkeypatch.setenv(name, value)
    assert load().config.retrieval.top_k == 9


def test_each_source_wins_over_the_one_before_and_the_origin_says_which(
    home: dict[str, str], write: Callable[..., Path]
) -> None:
    path = write(
        "[retrieval]\ntop_k = 6\nmin_confidence = 0.1\ntoken_budget = 600\n[levels]\nlevel1_threshold = 60\n"
    )
    env = home | {"NAGORI_RETRIEVAL__TOP_K": "7", "NAGORI_RETRIEVAL__MIN_CONFIDENCE": "0.2"}
    loaded = load(path, env, {"retrieval.top_k": 8})
    got = loaded.config.retrieval
    assert (got.top_k, got.min_confidence, got.token_budget, got.char_budget) == (8, 0.2, 600, 9500)
    assert [
        loaded.origins[f"retrieval.{key}"]
        for key in ("top_k", "min_confidence", "token_budget", "char_budget")
    ] == ["override", "env:NAGORI_RETRIEVAL__MIN_CONFIDENCE", f"file:{path}", "default"]


def test_the_platforms_own_file_is_read_when_it_exists(home: dict[str, str]) -> None:
    folder = files.private_dir(files.config_dir(home, "linux"))
    (folder / "config.toml").write_text("retrieval.top_k = 3")
    assert load(env=home).config.retrieval.top_k == 3


def test_a_file_can_be_named_by_the_environment_below_home(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[retrieval]\ntop_k = 3\n")
    loaded = load(env=home | {"NAGORI_CONFIG": "~/mine.toml"})
    assert loaded.origins["retrieval.top_k"] == f"file:{tmp_path / 'mine.toml'}"


def test_nested_keys_are_reached_from_file_environment_and_caller(
    home: dict[str, str], write: Callable[..., Path]
) -> None:
    path = write("[retention.decay_by_category.casual]\nmin = 0.6\n")
    env = home | {"NAGORI_RETENTION__DECAY_BY_CATEGORY__WORK__MIN": "0.5"}
    ranges = load(
        path, env, {"retention.decay_by_category.decision.min": 0.4}
    ).config.retention.decay_by_category
    assert (ranges.casual.min, ranges.work.min, ranges.decision.min, ranges.casual.max) == (
        0.6,
        0.5,
        0.4,
        0.8,
    )


def test_short_names_work_and_the_long_name_wins(home: dict[str, str]) -> None:
    loaded = load(env=home | {"NAGORI_LANG": "ja", "NAGORI_DATA_DIR": "/srv/memories"})
    assert (loaded.config.general.language, loaded.config.general.data_dir) == ("ja", "/srv/memories")
    assert loaded.origins["general.language"] == "env:NAGORI_LANG"
    both = load(env=home | {"NAGORI_LANG": "ja", "NAGORI_GENERAL__LANGUAGE": "en"})
    assert both.config.general.language == "en"


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("PRIVACY__STRIP_PRIVATE", "off", "privacy.strip_private", False),
        ("PRIVACY__STRIP_PRIVATE", "YES", "privacy.strip_private", True),
        ("PRIVACY__STRIP_PRIVATE", " 0 ", "privacy.strip_private", False),
        ("CAPACITY__LIMIT", "20000", "capacity.limit", 20000),
        ("LLM__TEMPERATURE", "1", "llm.temperature", 1.0),
        ("WINDOW__KEYWORDS", "error, 失敗,,done ", "window.keywords", ("error", "失敗", "done")),
        ("LLM__MODEL", "claude-opus", "llm.model", "claude-opus"),
        ("EMBEDDING__QUERY_PREFIX", "query: ", "embedding.query_prefix", "query: "),
        ("LLM__MAX_TOKENS", " 7 ", "llm.max_tokens", 7),
    ],
)
def test_texts_of_the_environment_are_read_by_the_type_of_the_setting(
    home: dict[str, str], name: str, text: str, key: str, value: object
) -> None:
    assert value_of(load(env=home | {f"NAGORI_{name}": text}), key) == value


def test_an_empty_variable_and_a_missing_override_are_not_given(home: dict[str, str]) -> None:
    empty = home | {"NAGORI_RETRIEVAL__TOP_K": "", "NAGORI_DATA_DIR": "", "NAGORI_CONFIG": ""}
    assert load(env=empty, overrides={"retrieval.min_confidence": None}).config == Config()


def test_overrides_given_as_texts_are_read_like_the_environment(home: dict[str, str]) -> None:
    assert load(env=home, overrides={"retrieval.top_k": "3"}).config.retrieval.top_k == 3


def test_a_whole_number_is_welcome_where_a_number_is_wanted(
    home: dict[str, str], write: Callable[..., Path]
) -> None:
    score = load(write("levels.level1_threshold = 60"), home).config.levels.level1_threshold
    assert (score, type(score)) == (60.0, float)


def test_lists_come_from_files_as_tuples(home: dict[str, str], write: Callable[..., Path]) -> None:
    assert load(write('window.keywords = ["a", "b"]'), home).config.window.keywords == ("a", "b")


def test_who_is_asking_is_not_a_setting(home: dict[str, str]) -> None:
    names = dict.fromkeys(config.NOT_SETTINGS, "x") | {"NAGORI_CONFIG": ""}
    assert load(env=home | names).config == Config()


SEED_JSON = """{
  "version": "1.0.0",
  "retention": {
    "base_decay_coefficient": 0.995,
    "decay_by_category": {
      "casual": { "min": 0.70, "max": 0.80 }, "work": { "min": 0.85, "max": 0.92 },
      "decision": { "min": 0.93, "max": 0.97 }, "emotional": { "min": 0.98, "max": 0.999 }
    },
    "max_decay_coefficient": 0.999
  },
  "levels": { "level1_threshold": 50, "level2_threshold": 20, "level3_threshold": 5 },
  "recall": { "decay_coefficient_boost": 0.02, "memory_days_reduction": 0.5, "recall_count_weight": 0.1 },
  "resonance": {
    "valence_match_bonus": 0.3, "arousal_proximity_bonus": 0.2,
    "tags_overlap_weight": 0.5, "priority_weight_alpha": 0.3
  },
  "compression": {
    "level1_ratio": 0.15, "level2_ratio": 0.30, "level3_ratio": 0.35, "delete_ratio": 0.20,
    "schedule_hour": 3, "interval_hours": 24
  },
  "relations": {
    "score_proximity_threshold": 5.0, "auto_link_similarity_threshold": 0.85,
    "max_relations_per_memory": 10, "relation_traversal_depth": 1, "enable_auto_linking": true
  },
  "retrieval": { "top_k": 5, "relevance_threshold": 5.0 },
  "archive": {
    "enable_archive_recall": true, "revival_decay_per_day": 0.995, "revival_min_margin": 3.0,
    "auto_delete_enabled": false, "retention_days": 365, "delete_require_zero_recall": true,
    "delete_max_intensity": 20, "delete_condition_mode": "AND"
  },
  "protection": { "max_protected_memories": 50 },
  "embedding": { "provider": "openai", "model": "text-embedding-3-small", "dimensions": 1536 },
  "llm": {
    "provider": "anthropic", "model": "claude-3-5-haiku-20241022", "temperature": 0, "max_tokens": 1024
  }
}"""


def test_a_config_file_of_the_original_format_is_read_as_it_is_and_its_defaults_are_ours(
    home: dict[str, str], write: Callable[..., Path]
) -> None:
    """Only two things differ: our models work with no key and no network, and recall follows two links. A
    setting that never had an effect is ignored."""
    loaded = load(write(SEED_JSON, "config.json"), home)
    changed = {key for key, value, _ in config.rows(loaded) if value != KEYS[key].default}
    assert changed == {
        "embedding.provider",
        "embedding.model",
        "embedding.dimensions",
        "llm.provider",
        "llm.model",
        "relations.relation_traversal_depth",
    }
    assert sum(origin.startswith("file:") for origin in loaded.origins.values()) == 49


def test_a_preset_sets_what_is_not_set_by_itself(home: dict[str, str]) -> None:
    loaded = load(env=home, overrides={"window.preset": "conservative", "window.target": 0.4})
    window = loaded.config.window
    assert (window.budget, window.prune_at, window.target) == (6000, 0.6, 0.4)
    assert loaded.origins["window.budget"] == "preset:conservative"
    assert loaded.origins["window.target"] == "override"


@pytest.mark.parametrize("preset", config.PRESETS)
def test_every_preset_is_a_valid_configuration(home: dict[str, str], preset: str) -> None:
    assert load(env=home, overrides={"window.preset": preset}).config.window.preset == preset


def test_the_balanced_preset_is_the_default(home: dict[str, str]) -> None:
    assert load(env=home, overrides={"window.preset": "balanced"}).config == Config()


# ── faults ───────────────────────────────────────────────────────────────────────────────────────


def test_every_fault_of_every_source_is_told_at_once(
    home: dict[str, str], write: Callable[..., Path]
) -> None:
    path = write(
        "[retrieval]\ntopk = 3\nmin_confidence = 7\n[levels]\nlevel1_threshold = 10\n"
        "[llm]\nmax_tokens = true\n"
    )
    env = home | {"NAGORI_CAPACITY__LIMIT": "many"}
    assert set(faults_of(path, env, {"archive.delete_condition_mode": "XOR"})) == {
        f"retrieval.topk: no such setting; did you mean retrieval.top_k? (file:{path})",
        f"llm.max_tokens: True is not a whole number (file:{path})",
        "capacity.limit: 'many' is not a whole number (env:NAGORI_CAPACITY__LIMIT)",
        f"retrieval.min_confidence: 7.0 is above 1.0 (file:{path})",
        f"levels.level2_threshold: 20.0 is not below level1_threshold (10.0) (file:{path})",
        "archive.delete_condition_mode: 'XOR' is not one of AND, OR (override)",
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("retreival.top_k = 3", "retreival: no such setting; did you mean retrieval?"),
        ("top_k = 3", "top_k: no such setting; did you mean retrieval.top_k?"),
        ("zzz = 3", "zzz: no such setting"),
        ("[nothing]", "nothing: no such setting"),
        ("retrieval = 3", "retrieval: 3 is not a table"),
        ("retention.decay_by_category = 3", "retention.decay_by_category: 3 is not a table"),
        ("retrieval.top_k = {a = 1}", "retrieval.top_k: {'a': 1} is not a whole number"),
        ("retrieval.top_k = 5.0", "retrieval.top_k: 5.0 is not a whole number"),
        ("retrieval.min_confidence = nan", "retrieval.min_confidence: nan is not a number"),
        ("retrieval.min_confidence = inf", "retrieval.min_confidence: inf is not a number"),
        ("llm.model = 2026-01-01", "llm.model: datetime.date(2026, 1, 1) is not a text"),
        ("window.keywords = ['a', 1]", "window.keywords: ['a', 1] is not a list of texts"),
        ("general.data_dir = 'memories'", "general.data_dir: 'memories' is not an absolute path"),
        ("hooks.most = 3", "hooks.most: renamed to hooks.max_memories"),
        ("working.turns = 1", "working: removed; it had no effect yet"),
        ("sessions.log_dir = 'logs'", "sessions.log_dir: 'logs' is not an absolute path"),
        ("sessions.cache = 'localhost'", "sessions.cache: not an address such as rediss://user@host:6379/0"),
        (
            "sessions.cache = 'redis://a:b@h'",
            "sessions.cache: the address holds a password; put it into the variable named by"
            " sessions.password_env",
        ),
        (
            "graph.mirror = 'http://h'",
            "graph.mirror: not an address such as bolt+s://user@host:7687/database",
        ),
        (
            "graph.mirror = 'bolt://a:b@h'",
            "graph.mirror: the address holds a password; put it into the variable named by"
            " graph.password_env",
        ),
        ("window.warn_at = 0.85", "window.warn_at, prune_at, summarise_at: not in rising order"),
        ("window.target = 0.85", "window.target: 0.85 is above prune_at (0.8)"),
        ('"\\u0007" = 1', "'\\x07': no such setting"),
    ],
)
def test_a_fault_in_a_file_names_the_setting_the_problem_and_the_file(
    home: dict[str, str], write: Callable[..., Path], text: str, fault: str
) -> None:
    path = write(text)
    assert faults_of(path, home) == (f"{fault} (file:{path})",)


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_is_answered_with_the_new_one_wherever_it_is_set(
    home: dict[str, str], write: Callable[..., Path], old: str, new: str
) -> None:
    assert new in KEYS
    assert old not in KEYS
    path = write(f"{old} = 1")
    assert faults_of(path, home) == (f"{old}: renamed to {new} (file:{path})",)
    assert faults_of(env=home, overrides={old: 1}) == (f"{old}: renamed to {new} (override)",)
    was, is_now = (f"NAGORI_{key.upper().replace('.', '__')}" for key in (old, new))
    assert faults_of(env=home | {was: "1"}) == (f"{was}: renamed to {is_now} (environment)",)
    with pytest.raises(InvalidConfig, match=f"renamed to {new}"):
        Config().evolve({old: 1})


@pytest.mark.parametrize("key", ["working.turns", "salience.share", "importance.novelty"])
def test_a_setting_that_was_removed_is_said_to_be(home: dict[str, str], key: str) -> None:
    assert faults_of(env=home, overrides={key: 1}) == (f"{key}: removed; it had no effect yet (override)",)
    name = f"NAGORI_{key.upper().replace('.', '__')}"
    assert faults_of(env=home | {name: "1"}) == (f"{name}: removed; it had no effect yet (environment)",)


def test_no_setting_of_today_counts_as_removed() -> None:
    assert not [key for key in KEYS if key in REMOVED or key.partition(".")[0] in REMOVED]


@pytest.mark.parametrize("value", ["0x" + "f" * 5000, "0x" + "f" * 17, '"' + "long " * 99 + '"'])
def test_a_monstrous_value_makes_a_short_message(
    home: dict[str, str], write: Callable[..., Path], value: str
) -> None:
    (fault,) = faults_of(write(f"retrieval.top_k = {value}"), home)
    assert fault.startswith("retrieval.top_k: ")
    assert len(fault) < 300


def test_a_monstrous_number_is_no_number_either(home: dict[str, str], write: Callable[..., Path]) -> None:
    (fault,) = faults_of(write(f"retrieval.min_confidence = 0x{'f' * 5000}"), home)
    assert fault.startswith("retrieval.min_confidence: this int is not a number")


def test_a_section_with_a_fault_is_not_accused_of_contradictions_as_well(
    home: dict[str, str], write: Callable[..., Path]
) -> None:
    assert len(faults_of(write("[levels]\nlevel1_threshold = 'x'\nlevel2_threshold = 60\n"), home)) == 1


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("NAGORI_RETREIVAL__TOP_K", "; did you mean NAGORI_RETRIEVAL__TOP_K?"),
        ("NAGORI_TOP_K", "; did you mean NAGORI_RETRIEVAL__TOP_K?"),
        ("NAGORI_DATADIR", "; did you mean NAGORI_DATA_DIR?"),
        ("NAGORI_PROJEKT", "; did you mean NAGORI_PROJECT?"),
        ("NAGORI_XYZZY_PLUGH_QQQQ", ""),
    ],
)
def test_an_unknown_name_in_the_environment_is_a_fault(home: dict[str, str], name: str, near: str) -> None:
    (fault,) = faults_of(env=home | {name: "1"})
    assert fault.startswith(f"{name}: no such setting")
    assert near in fault


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("bad.toml", "[retrieval]\ntop_k = \n", "Invalid value (at line 2"),
        ("bad.toml", "[retrieval\n", "(at line 1"),
        ("bad.json", '{"retrieval":\n}', "line 2 column 1"),
        ("bad.json", "[1]", "not hold an object of sections"),
        ("bad.json", "[" * 100_000, "recursion"),
        ("bad.toml", b"\xff\xfe", "can't decode byte 0xff"),
    ],
)
def test_a_broken_file_is_named_with_the_place_and_the_problem(
    home: dict[str, str], write: Callable[..., Path], name: str, text: str | bytes, problem: str
) -> None:
    path = write(text, name)
    (fault,) = faults_of(path, home)
    assert fault.startswith(f"{path}: ")
    assert problem in fault


def test_a_mark_that_windows_editors_put_in_front_is_no_fault(
    home: dict[str, str], write: Callable[..., Path]
) -> None:
    assert load(write(b"\xef\xbb\xbfretrieval.top_k = 3"), home).config.retrieval.top_k == 3


def test_a_file_that_was_asked_for_must_exist(home: dict[str, str], tmp_path: Path) -> None:
    assert faults_of(tmp_path / "no.toml", home) == (f"{tmp_path / 'no.toml'}: No such file or directory",)
    assert faults_of(env=home | {"NAGORI_CONFIG": "/no.toml"}) == ("/no.toml: No such file or directory",)


def test_a_folder_that_may_not_be_looked_into_is_told_not_ignored(
    home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refuse)
    monkeypatch.setattr(Path, "read_text", refuse)
    (fault,) = faults_of(env=home)
    assert fault.endswith("config.toml: Permission denied")


TOML_SCALARS = st.one_of(
    st.booleans().map(lambda value: (bool, str(value).lower())),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: (int, str(value))),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: (float, toml_float(value))),
    st.sampled_from(["nan", "inf", "-inf"]).map(lambda text: (None, text)),
    st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=20).map(
        lambda value: (str, json.dumps(value, ensure_ascii=False))
    ),
    st.sampled_from(["2026-01-20", "03:00:00", "2026-01-20T14:30:00+09:00"]).map(lambda text: (None, text)),
)
TAKES: dict[str, set[type]] = {
    "true or false": {bool},
    "a whole number": {int},
    "a number": {int, float},
    "a text": {str},
    "a list of texts": set(),
}


def toml_float(value: float) -> str:
    text = repr(value)
    return text if "e" in text or "." in text else text + ".0"


@examples(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(KEYS)), TOML_SCALARS)
def test_any_scalar_of_a_wrong_type_at_any_key_is_reported_by_its_name(
    tmp_path: Path, key: str, scalar: tuple[type | None, str]
) -> None:
    given_type, text = scalar
    path = tmp_path / "config.toml"
    path.write_text(f"{key} = {text}\n", encoding="utf-8")
    wrong = given_type not in TAKES[KEYS[key].type]
    loaded, faults = outcome(path, {"HOME": str(tmp_path)})
    assert all(fault.startswith(key.split(".")[0]) for fault in faults)
    if wrong:
        assert [fault for fault in faults if fault.startswith(f"{key}: ") and " is not " in fault]
    elif loaded:
        assert loaded.origins[key] == f"file:{path}"


def outcome(*args: Any, **kwargs: Any) -> tuple[config.LoadedConfig | None, tuple[str, ...]]:
    try:
        return load(*args, **kwargs), ()
    except InvalidConfig as error:
        return None, error.faults


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=10), max_size=3))
def test_no_environment_makes_a_traceback(extra: dict[str, str]) -> None:
    env = {"HOME": "/nonexistent"} | {f"NAGORI_{name}": value for name, value in extra.items()}
    env.pop("NAGORI_CONFIG", None)
    loaded, faults = outcome(env=env)
    assert bool(loaded) != bool(faults)


# ── telling ──────────────────────────────────────────────────────────────────────────────────────


def test_every_setting_has_a_meaning_and_every_number_has_bounds() -> None:
    for row in config.describe():
        assert row.doc, row.key
        assert row.bounds or "number" not in row.type, row.key


def test_a_description_names_key_type_default_bounds_and_meaning() -> None:
    assert tuple(KEYS["retrieval.top_k"]) == (
        "retrieval.top_k",
        "a whole number",
        5,
        "1 to 1000",
        "Maximum number of memories returned.",
    )
    assert KEYS["weekly.boost_mode"].bounds == "additive | multiplicative"
    assert KEYS["llm.model"].bounds == ""


def test_a_name_the_configuration_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = config.nothing_like_it


def test_a_list_or_table_as_a_default_is_every_sections_own() -> None:
    class Section(Value):
        words: list[str] = setting(["a"], "words")
        table: dict[str, list[int]] = setting({"a": [1]}, "numbers")

    Section().words.append("b")
    Section().table["a"].append(2)
    assert Section() == Section(["a"], {"a": [1]})


def test_a_section_made_in_code_is_checked_for_what_no_file_can_say() -> None:
    section = replace(Config().retrieval, min_confidence=math.nan)
    assert [str(each) for each in find_faults(section, "retrieval")] == [
        "retrieval.min_confidence: not a number"
    ]


def test_no_two_settings_share_a_name_in_the_environment() -> None:
    names = {key.upper().replace(".", "__") for key in KEYS}
    assert len(names) == len(KEYS)


def test_rows_tell_every_value_and_where_it_came_from(home: dict[str, str]) -> None:
    rows = config.rows(load(env=home, overrides={"retrieval.top_k": 3}))
    assert [row[0] for row in rows] == list(KEYS)
    assert ("retrieval.top_k", 3, "override") in rows


def conforms(value: Any, rule: dict[str, Any]) -> bool:
    """The few words of JSON Schema that `schema()` uses, checked by hand."""
    if rule["type"] == "object":
        return not rule["additionalProperties"] and all(
            name in rule["properties"] and conforms(part, rule["properties"][name])
            for name, part in value.items()
        )
    if rule["type"] == "array":
        return isinstance(value, list) and all(conforms(part, rule["items"]) for part in value)
    python = {"boolean": bool, "integer": int, "number": (int, float), "string": str}[rule["type"]]
    return (
        isinstance(value, python)
        and isinstance(value, bool) == (python is bool)
        and value in rule.get("enum", [value])
        and (python is str or rule.get("minimum", -math.inf) <= value <= rule.get("maximum", math.inf))
    )


def test_the_schema_is_json_and_admits_the_original_format() -> None:
    schema = json.loads(json.dumps(config.schema()))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert conforms(json.loads(SEED_JSON), schema)


@pytest.mark.parametrize(
    "table",
    [
        {"retrieval": {"topk": 3}},
        {"retrieval": {"top_k": 0}},
        {"retrieval": {"top_k": True}},
        {"retention": {"law": "x"}},
    ],
)
def test_the_schema_refuses_what_load_refuses(
    home: dict[str, str], write: Callable[..., Path], table: dict[str, Any]
) -> None:
    assert not conforms(table, config.schema())
    assert faults_of(write(json.dumps(table), "config.json"), home)


def test_the_defaults_conform_to_their_own_schema_and_load(
    home: dict[str, str], write: Callable[..., Path]
) -> None:
    tree: dict[str, Any] = {}
    for key, row in KEYS.items():
        *sections, name = key.split(".")
        at = tree
        for section in sections:
            at = at.setdefault(section, {})
        at[name] = list(row.default) if isinstance(row.default, tuple) else row.default
    assert conforms(tree, config.schema())
    assert load(write(json.dumps(tree), "all.json"), home).config == Config()


def test_every_section_of_the_schema_is_described() -> None:
    assert all(section.get("description") or key in config.NOT_KEYS for key, section in properties())


def properties() -> list[tuple[str, dict[str, Any]]]:
    return list(config.schema()["properties"].items())


# ── paths ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("platform", "env", "data", "settings"),
    [
        ("linux", {"HOME": "/h"}, "/h/.local/share/nagori", "/h/.config/nagori"),
        (
            "linux",
            {"HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"},
            "/d/nagori",
            "/c/nagori",
        ),
        (
            "linux",
            {"HOME": "/h", "XDG_DATA_HOME": "d", "XDG_CONFIG_HOME": "./c"},
            "/h/.local/share/nagori",
            "/h/.config/nagori",
        ),
        (
            "darwin",
            {"HOME": "/h"},
            "/h/Library/Application Support/nagori",
            "/h/Library/Application Support/nagori",
        ),
        ("win32", {"LOCALAPPDATA": "/L"}, "/L/nagori", "/L/nagori"),
        ("win32", {"USERPROFILE": "/u"}, "/u/AppData/Local/nagori", "/u/AppData/Local/nagori"),
    ],
)
def test_each_platform_has_its_places_and_relative_xdg_paths_are_ignored(
    platform: str, env: dict[str, str], data: str, settings: str
) -> None:
    assert files.data_dir(env, platform=platform) == Path(data)
    assert files.config_dir(env, platform) == Path(settings)


def test_a_chosen_data_folder_wins_and_may_begin_at_home() -> None:
    assert files.data_dir({"HOME": "/h"}, "/srv/m") == Path("/srv/m")
    assert files.data_dir({"HOME": "/h"}, "~/m") == Path("/h/m")


def test_without_a_home_variable_the_system_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/system"))
    assert files.data_dir({}, platform="linux") == Path("/system/.local/share/nagori")


def test_without_any_home_the_message_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(InvalidInput, match="NAGORI_DATA_DIR"):
        files.data_dir({}, platform="linux")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_folders_and_files_that_are_created_belong_to_their_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    leaf = files.private_dir(tmp_path / "a" / "b" / "c")
    assert [mode(folder) for folder in (leaf, leaf.parent, leaf.parent.parent)] == [0o700] * 3
    assert mode(tmp_path) == 0o755
    file = leaf / "journal"
    os.close(files.open_private(file, os.O_CREAT | os.O_WRONLY))
    assert mode(file) == 0o600


def test_a_private_folder_that_exists_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert files.private_dir(tmp_path) == tmp_path
    assert mode(tmp_path) == 0o755


def test_a_relative_private_folder_is_made_below_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert files.private_dir(Path("a/b")).is_dir()
