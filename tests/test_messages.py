"""Every sentence has an id and stands in both catalogues; what is stored is the id with its values."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import nagori
from nagori import errors
from nagori.core.events import EFFECTS
from nagori.core.model import Category, Kind
from nagori.edges.locale import Translator
from nagori.errors import InvalidConfig, InvalidInput, LimitReached, ModelError, NagoriError, NotFound, Notice
from nagori.messages import LANGUAGES, find, render

SOURCE = Path(nagori.__file__).parent


def flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


CATALOGUES = {
    language: dict(flat(tomllib.loads((SOURCE / "locale" / f"{language}.toml").read_text(encoding="utf-8"))))
    for language in LANGUAGES
}
ENGLISH = CATALOGUES["en"]
AREAS = {id.partition(".")[0] for id in ENGLISH}
ID = re.compile(r"[a-z]+(\.[a-z0-9_]+)+")


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


# ── the catalogues ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_catalogue_has_the_same_ids_in_the_same_order(language: str) -> None:
    assert list(CATALOGUES[language]) == list(ENGLISH)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_catalogue_speaks_of_the_same_values(language: str) -> None:
    words = CATALOGUES[language]
    assert {id for id in ENGLISH if placeholders(words[id]) != placeholders(ENGLISH[id])} == set()
    assert {id for id, text in words.items() if not all(map(str.isidentifier, placeholders(text)))} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_table_that_is_read_alone_says_the_same_as_the_whole_file(language: str) -> None:
    assert {id: find(id, language) for id in ENGLISH} == CATALOGUES[language]


def test_every_japanese_sentence_is_japanese() -> None:
    japanese = re.compile("[ぁ-んァ-ヶ一-龠]")
    same = {id for id, words in CATALOGUES["ja"].items() if not japanese.search(words)}
    plain = {id for id in same if re.sub(r"\{[^}]*\}|[^A-Za-z]", "", ENGLISH[id])}
    assert plain == {"doctor.python", "doctor.name_python", "field.crontab"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_can_be_said(language: str) -> None:
    for id, template in CATALOGUES[language].items():
        for value in ("x", 1, 1.5):
            said = render(id, dict.fromkeys(placeholders(template), value), language)
            assert "{" not in said
            assert not said.startswith(f"{id} (")


# ── the code ─────────────────────────────────────────────────────────────────────────────────────


def literals() -> Iterator[tuple[str, bool]]:
    """Every id that stands in the source, or the beginning of one that is put together (then True)."""
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                start = str(node.values[0].value)
                if "." in start and " " not in start:
                    yield start, True
            elif isinstance(node, ast.Constant) and ID.fullmatch(str(node.value)):
                yield str(node.value), False
    for path in (SOURCE / "edges" / "viewer" / "static").glob("*.js"):  # the pages of the viewer
        text = path.read_text(encoding="utf-8")
        yield from ((id, False) for id in re.findall(r'"([a-z]+(?:\.[a-z0-9_]+)+)"', text))
        yield from ((start, True) for start in re.findall(r"`([a-z]+\.[a-z0-9_]*)\$\{", text))


LITERALS = {(id, begins) for id, begins in literals() if id.partition(".")[0] in AREAS}
NOT_IDS = {"import.py", "column.cost_", "audit.jsonl"}


def test_every_id_in_the_source_exists() -> None:
    written = {id for id, begins in LITERALS if not begins} - NOT_IDS
    begun = {start for start, begins in LITERALS if begins}
    whole = {id for id in written if not any(start == id for start in begun)}
    assert {id for id in whole if id not in ENGLISH} == set()
    assert {start for start in begun if not any(id.startswith(start) for id in ENGLISH)} == set()
    names = {"event.", "kind.", "category.", "field.", "step.", "reason.", "stage.", "column."}  # of things
    names |= {"cause.", "why.", "archive.", "erase.", "key_source.", "audit.", "policy.", "thread_end."}
    assert {start for start in begun if start.endswith(".")} - {"help.command.", "help.group."} == names


def test_every_id_of_the_catalogue_is_used() -> None:
    written = {id for id, begins in LITERALS if not begins}
    begun = tuple(start for start, begins in LITERALS if begins)
    unused = {id for id in ENGLISH if id not in written and not id.startswith(begun)}
    assert unused == set()


def test_no_error_is_raised_with_a_sentence() -> None:
    names = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, NagoriError)
    }
    own = {"NotFound", "LimitReached", "InvalidConfig", "MemoryClosed", "MemoryErased"}  # carry their own
    bare = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names - own:
                at = 1 if node.func.id == "InvalidInput" else 0
                given = node.args[at]
                constants = [each.value for each in ast.walk(given) if isinstance(each, ast.Constant)]
                texts = [each for each in constants if isinstance(each, str)]
                if isinstance(given, ast.JoinedStr) or any(each not in ENGLISH for each in texts):
                    bare.append(f"{path.name}:{node.lineno}")
    assert bare == []


def test_everything_that_has_a_name_has_a_word() -> None:
    shown = set(EFFECTS) - {"state_changed", "cycle_finished"}
    memory_events = {type for type in shown if find(f"event.{type}", "en")}
    assert {"formed", "recalled", "forgotten"} <= memory_events
    for language in LANGUAGES:
        assert {str(kind) for kind in Kind if not find(f"kind.{kind}", language)} == set()
        assert {str(each) for each in Category if not find(f"category.{each}", language)} == set()


# ── saying ───────────────────────────────────────────────────────────────────────────────────────


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        raise RuntimeError("no")


HOSTILE = [
    Hostile(),
    "{x}",
    "{0.__class__}",
    "%s",
    "\ud800",
    "\x00",
    10**5000,
    b"\xff",
    [[]],
    None,
    "x" * 10**6,
    float("nan"),
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_value_breaks_a_sentence(value: object, language: str) -> None:
    for id, template in ENGLISH.items():
        said = render(id, dict.fromkeys(placeholders(template), value), language)
        assert said
    error = InvalidInput("content", "error.not_text", value=value)
    assert len(str(error)) < 1000
    assert str(Notice("text.plain", text=[Notice("answer.empty")])) == "The answer is empty."
    assert len(error.in_language(language)) < 1000
    assert json.loads(json.dumps(error.notice.to_record()))["id"] == "error.in_field"
    json.dumps(error.notice.to_record(), allow_nan=False).encode()


def test_an_unknown_id_is_shown_with_its_values() -> None:
    assert render("error.never_heard_of", {"n": 3}) == "error.never_heard_of (n=3)"
    assert str(NagoriError("nonsense")) == "nonsense"
    assert str(ModelError("error.timed_out")) == "error.timed_out"
    assert Translator("ja")("error.timed_out", host="h", wrong=1) == "error.timed_out (host='h', wrong=1)"
    assert render("error.text_empty", {}, "xx") == ENGLISH["error.text_empty"]


def test_an_error_is_said_in_both_languages() -> None:
    error = InvalidInput("content", "error.text_empty")
    assert (error.message_id, dict(error.values), error.field) == ("error.text_empty", {}, "content")
    assert str(error) == "content: The text to remember is empty. Give some text."
    assert error.in_language("ja") == "内容: 記憶する文章が空です。文章を指定してください。"
    assert (NotFound("mem_a").id, NotFound("mem_a").message_id) == ("mem_a", "error.memory_not_found")
    assert LimitReached(5, ["mem_a"]).candidates == ("mem_a",)
    config = InvalidConfig([Notice("fault.unknown"), Notice("fault.not_rising")])
    assert config.faults == ("no such setting", "not in rising order")
    assert str(config) == "config: no such setting; not in rising order"


def test_a_message_within_a_message_is_said_in_the_same_language() -> None:
    outer = Notice("error.model_answer", model="m", reason=Notice("answer.not_json"))
    assert str(outer) == "m: The answer is not JSON."
    assert outer.in_language("ja") == "m: 答えが JSON ではありません。"
    assert Notice("text.plain", text=ModelError("error.request_cancelled")).in_language("ja") == (
        "リクエストを取り消しました。"
    )


# ── stored ───────────────────────────────────────────────────────────────────────────────────────


def test_a_record_is_an_id_with_values_and_comes_back() -> None:
    outer = Notice("error.model_answer", model="m", reason=Notice("answer.batch_state", state="late"))
    record = outer.to_record()
    assert record == {
        "id": "error.model_answer",
        "values": {"model": "m", "reason": {"id": "answer.batch_state", "values": {"state": "late"}}},
    }
    back = Notice.from_record(json.loads(json.dumps(record)))
    assert back == outer
    assert hash(back) == hash(outer)
    assert repr(back) == repr(outer)


def test_several_messages_within_one_come_back() -> None:
    error = InvalidConfig([Notice("fault.unknown"), Notice("fault.below", value=1, bound=2)])
    back = Notice.from_record(json.loads(json.dumps(error.notice.to_record())))
    assert str(back) == str(error) == "config: no such setting; 1 is below 2"
    assert back.in_language("ja").endswith(
        "そのような設定はありません; 1 は小さすぎます。2 以上にしてください"
    )


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("the old sentence stays {as} it is", "the old sentence stays {as} it is"),
        ({"id": "no.such", "values": {"n": 1}}, "no.such (n=1)"),
        ({"id": 7}, "{'id': 7}"),
        (["x"], "['x']"),
        (None, "None"),
    ],
)
def test_what_others_have_stored_is_shown_as_it_is(record: object, said: str) -> None:
    assert str(Notice.from_record(record)) == said


def test_a_record_that_never_ends_is_read_to_a_depth() -> None:
    record: dict[str, Any] = {"id": "text.plain", "values": {}}
    for _ in range(50):
        record = {"id": "text.plain", "values": {"text": record}}
    assert str(Notice.from_record(record))


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────


def test_raising_reads_no_file_and_imports_nothing() -> None:
    program = (
        "import sys\nfrom nagori.errors import InvalidInput\nbefore = set(sys.modules)\n"
        "try:\n    raise InvalidInput('a', 'error.text_empty', value=1)\nexcept InvalidInput as error:\n"
        "    error.notice\n"
        "print(sorted(set(sys.modules) - before), 'nagori.messages' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"
