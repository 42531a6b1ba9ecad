"""Type checkers see every verb and every option: a misspelt one is found before the program runs."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from enum import Enum
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from nagori import AsyncNagori, Nagori
from nagori.aio import AsyncConversation, AsyncTurn
from nagori.core import model
from nagori.core.window import PRESETS, STRATEGIES
from nagori.services.chat_recorder import OpenTurn
from nagori.services.recall import RANKINGS
from nagori.services.window.bounded_conversation import Conversation
from nagori.services.window.formats import FORMATS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RIGHT, WRONG = HERE / "right.py", HERE / "wrong.py"


def lines_to_refuse() -> set[int]:
    lines = WRONG.read_text(encoding="utf-8").split("\n")
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def test_mypy_refuses_every_wrong_call_and_no_right_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}"]
    quiet = ["--follow-imports=silent", "--ignore-missing-imports"]
    done = subprocess.run(
        [*command, *quiet, str(RIGHT), str(WRONG)],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    refused = {
        (Path(found[1]).name, int(found[2])) for found in re.finditer(r"(\S+):(\d+): error", done.stdout)
    }
    assert refused == {("wrong.py", number) for number in lines_to_refuse()}, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_refuses_every_wrong_call_and_no_right_one(tmp_path: Path) -> None:
    for path in (RIGHT, WRONG):
        shutil.copy(path, tmp_path)
    settings = {"extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11", "reportMissingImports": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(["pyright", "--outputjson"], cwd=tmp_path, capture_output=True, text=True)
    told = [each for each in json.loads(done.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    refused = {(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in told}
    assert refused == {("wrong.py", number) for number in lines_to_refuse()}, done.stdout


def test_the_right_calls_run(tmp_path: Path) -> None:
    spec = spec_from_file_location("right", RIGHT)
    assert spec
    assert spec.loader
    right = module_from_spec(spec)
    spec.loader.exec_module(right)
    right.main(tmp_path)


# --- names that a type checker knows are those that are taken at run time


def names_in(module: str, alias: str) -> set[str]:
    """The words of `alias = Literal[…]`."""
    for node in ast.walk(ast.parse((ROOT / "src" / "nagori" / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == alias:
            return {each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)}  # type: ignore[misc]
    raise AssertionError(alias)


@pytest.mark.parametrize(
    ("alias", "enum"),
    [
        ("KindName", model.Kind),
        ("CategoryName", model.Category),
        ("TrustName", model.Trust),
        ("PrivacyName", model.Privacy),
    ],
)
def test_the_names_of_enums_are_complete(alias: str, enum: type[Enum]) -> None:
    assert names_in("core/model.py", alias) == {member.value for member in enum}


@pytest.mark.parametrize(
    ("alias", "known"),
    [
        ("Ranking", set(RANKINGS)),
        ("Preset", set(PRESETS)),
        ("Strategy", set(STRATEGIES)),
        ("MessageFormat", set(FORMATS)),
    ],
)
def test_the_names_of_options_are_complete(alias: str, known: set[str]) -> None:
    assert names_in("app.py", alias) == known


# --- the async class


def verbs(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_the_async_class_has_every_verb_where_completion_looks() -> None:
    assert verbs(Nagori) - verbs(AsyncNagori) == {"runtime", "items"}
    assert not hasattr(AsyncNagori, "__getattr__")


@pytest.mark.parametrize(
    ("name", "sync", "awaited"),
    [(name, Nagori, AsyncNagori) for name in sorted(verbs(Nagori) - {"runtime", "config", "items"})]
    + [(name, Conversation, AsyncConversation) for name in ("add", "end", "recall")]
    + [("answer", OpenTurn, AsyncTurn)],
)
def test_an_async_verb_takes_what_its_twin_takes(name: str, sync: type, awaited: type) -> None:
    twins = [inspect.signature(getattr(kind, name)).parameters for kind in (sync, awaited)]
    assert list(map(str, twins[0].values())) == list(map(str, twins[1].values()))


def test_no_verb_takes_just_anything() -> None:
    for kind in (Nagori, AsyncNagori, Conversation, AsyncConversation):
        for name in verbs(kind):
            verb = inspect.getattr_static(kind, name)
            if inspect.isfunction(verb):
                kinds = {each.kind for each in inspect.signature(verb).parameters.values()}
                assert inspect.Parameter.VAR_KEYWORD not in kinds, name


def test_the_async_verbs_are_what_the_sync_ones_say() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.async_verbs", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_verbs_of_the_client_are_what_the_library_and_the_routes_say() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.remote_verbs", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
