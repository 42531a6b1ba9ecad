"""Write the pages that the code can tell by itself: `python -m docs.generate`.

With `--check` nothing is written; it fails when a page no longer says what the code says.
"""

from __future__ import annotations

import ast
import enum
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import FunctionType
from typing import Any

from docs import async_verbs

import nagori
from nagori import config, errors
from nagori.core import levels

DOCS = Path(__file__).resolve().parent
NOTE = "<!-- Written by `python -m docs.generate`. Change the code, not this page. -->\n"
WIDTH = 80
# Ids of requirements and rulings help those who read the source, and nobody else.
TAGS = re.compile(r" ?\[(?:rulings? [^\]]*|[A-Z]\d+[^\]]*)\]")
LATER = "The other verbs are those of `Nagori`, with the same arguments and results; `await` them.\n"


def pages() -> dict[str, str]:
    """Every generated file by its path below `docs/`."""
    return {
        "reference/settings.md": settings(),
        "reference/settings.ja.md": settings_ja(),
        "reference/commands.md": commands(),
        "reference/errors.md": errors_page(),
        "reference/api.md": api(),
        "reference/life.md": life_page(),
        "reference/config.schema.json": _plain(json.dumps(config.schema(), ensure_ascii=False, indent=2))
        + "\n",
        **pictures(),
        "house.md": house(),
    }


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


def settings() -> str:
    """Every setting, section by section."""
    out = [
        NOTE,
        "# Settings\n",
        "([日本語](settings.ja.md))\n",
        "`nagori config` prints every setting with its value and the origin of that value.\n",
        "Sources, in rising precedence: the defaults below, `config.toml` (in the platform's configuration "
        "folder, or the file named by `--config` or `NAGORI_CONFIG`), the environment, the caller.\n",
        "In the environment a setting is `NAGORI_SECTION__KEY`: `retrieval.top_k` is "
        "`NAGORI_RETRIEVAL__TOP_K`. Short names: "
        + ", ".join(f"`{name}` for `{key}`" for name, key in config.SHORT_NAMES.items())
        + ". "
        + ", ".join(f"`{name}`" for name in config.NOT_SETTINGS)
        + " select the file, the scope and what is disabled; they are not settings.\n",
        "An unknown or invalid setting is an error that names it; all errors are reported at once. "
        "With [config.schema.json](config.schema.json) an editor can check the file while you type.\n",
        "Every setting has an effect: for each there is a test that fails without it "
        "(`tests/settings`). A setting that was renamed or removed is an error that says so.\n",
    ]
    whole = config.Config()
    for section, group in groupby(config.describe(), lambda setting: setting.key.partition(".")[0]):
        about = _first_line(type(getattr(whole, section)))
        out += [f"## {section}\n", f"{about}\n", "| setting | type | default | bounds | meaning |"]
        out += ["|---|---|---|---|---|"]
        for key, type_, default, bounds, doc in group:
            out.append(f"| `{key}` | {type_} | {_value(default)} | {_cell(bounds)} | {_cell(_plain(doc))} |")
        out.append("")
    return _page(out)


def settings_ja() -> str:
    """The same in Japanese; descriptions come from settings.ja.toml."""
    words = tomllib.loads((DOCS / "settings.ja.toml").read_text(encoding="utf-8"))
    out = [
        NOTE,
        "# 設定\n",
        "([English](settings.md))\n",
        "`nagori config` は、すべての設定について、いまの値と、その値がどこから来たかを表示します。\n",
        "値は次の順に読み、あとのものが優先されます: 下の既定値、`config.toml`（OS の設定フォルダー。"
        "`--config` か `NAGORI_CONFIG` で別のファイルも選べます）、環境変数、呼び出し側の指定。\n",
        "環境変数の名前は `NAGORI_SECTION__KEY` です。たとえば `retrieval.top_k` は "
        "`NAGORI_RETRIEVAL__TOP_K` になります。短い名前もあります: "
        + "、".join(f"`{name}`（`{key}`）" for name, key in config.SHORT_NAMES.items())
        + "。"
        + "、".join(f"`{name}`" for name in config.NOT_SETTINGS)
        + " は設定ではなく、ファイルやユーザーなどの選択に使います。\n",
        "存在しない設定名や範囲外の値はエラーになり、問題はまとめて報告されます。"
        "[config.schema.json](config.schema.json) を使うと、書きながらエディタで確かめられます。\n",
        "すべての設定が実際に効くことを、設定ごとのテストで確かめています（`tests/settings`）。"
        "名前が変わった設定や、なくなった設定を書くと、そのことがエラーに出ます。\n",
    ]
    for section, group in groupby(config.describe(), lambda setting: setting.key.partition(".")[0]):
        out += [f"## {section}\n", f"{words['sections'][section]}\n"]
        out += ["| 設定 | 型 | 既定値 | 範囲 | 意味 |", "|---|---|---|---|---|"]
        for key, type_, default, bounds, _ in group:
            value, limits = _value(default, "空"), _cell(bounds.replace(" to ", " 〜 "))
            meaning = _cell(words["settings"][key])
            out.append(f"| `{key}` | {TYPES_JA[type_]} | {value} | {limits} | {meaning} |")
        out.append("")
    return _page(out)


TYPES_JA = {
    "a text": "文字列",
    "a number": "数値",
    "a whole number": "整数",
    "true or false": "真偽値",
    "a list of texts": "文字列のリスト",
}


def _value(value: object, empty: str = "empty") -> str:
    if isinstance(value, tuple):
        return ", ".join(f"`{_cell(str(part))}`" for part in value)
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{_cell(shown)}`" if shown else empty


# ── commands ─────────────────────────────────────────────────────────────────────────────────────


def commands() -> str:
    """`--help` of every command, as a terminal of 80 columns shows it."""
    from nagori.edges import cli

    names = [name for commands in cli.COMMANDS.values() for name in commands]
    codes = (cli.__doc__ or "").partition("Exit codes: ")[2]
    out = [
        NOTE,
        "# Commands\n",
        "Every command is one verb of [the library](api.md). With `--json` the answer is for machines.\n",
        f"Exit codes: {' '.join(codes.split())}\n",
        f"```text\n{_help(cli.app)}```\n",
    ]
    for name in names:
        out += [f"## nagori {name}\n", f"```text\n{_help(cli.app, name)}```\n"]
    return _page(out)


def _help(app: Any, *command: str) -> str:
    from typer.testing import CliRunner

    plain = {"COLUMNS": str(WIDTH), "TERM": "dumb", "NO_COLOR": "1", "_TYPER_FORCE_DISABLE_TERMINAL": "1"}
    done = CliRunner(env=plain).invoke(
        app, [*command, "--help"], prog_name="nagori", terminal_width=WIDTH, color=False
    )
    assert done.exit_code == 0, done.output
    return "\n".join(line.rstrip() for line in done.output.strip().split("\n")) + "\n"


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


def errors_page() -> str:
    """Every error class with its exit code."""
    tree = inspect.cleandoc(errors.__doc__ or "")
    out = [
        NOTE,
        "# Errors\n",
        "All errors that nagori raises on purpose are a `NagoriError`. The command line turns one into one "
        "sentence (in your language) and an exit code; with `--json` into "
        '`{"error": {"type": …, "id": …, "field": …, "message": …}}`.\n',
        "`message_id` names the message and `values` are what its words leave open. Words may change; ids "
        "stay. "
        '`str(error)` is English, `error.in_language("ja")` Japanese.\n',
        f"```text\n{tree}\n```\n",
        "| class | exit code | meaning |",
        "|---|---|---|",
    ]
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.NagoriError):
            out.append(f"| `{name}` | {kind.exit_code} | {_cell(_one_line(inspect.getdoc(kind)))} |")
    out += [
        "",
        "## Messages\n",
        "What is not raised but answered (a finding of `doctor`, a fault of `verify` or `import_`, the "
        "trouble of a model) is a `nagori.errors.Notice`. It has an `id` and `values`; `str()` says it in "
        "English, `in_language` in another language, and `to_record` gives what is stored.\n",
        "| id | words |",
        "|---|---|",
    ]
    catalogue = tomllib.loads((async_verbs.SOURCE / "locale" / "en.toml").read_text(encoding="utf-8"))
    out += [f"| `error.{name}` | {_cell(words)} |" for name, words in catalogue["error"].items()]
    return _page([*out, ""])


# ── the library ──────────────────────────────────────────────────────────────────────────────────


def api() -> str:
    """Public names and verbs, with signatures and docstrings as the source has them."""
    out = [
        NOTE,
        "# The library\n",
        "Everything below is imported from `nagori`; what is not here is not public. Errors are on "
        "[their own page](errors.md), fakes and contract suites in `nagori.testing`.\n",
    ]
    for name in sorted(nagori.__all__, key=lambda name: (name != "Nagori", name.lower())):
        thing = getattr(nagori, name)
        if isinstance(thing, type):
            out += _class_section(name, thing)
        elif isinstance(thing, FunctionType):
            out += [f"## {name}\n", f"```text\n{_signature(thing)}\n```\n", f"{_doc(thing)}\n"]
    out += ["# Short names in signatures\n", "```text\n" + "\n".join(_aliases()) + "\n```\n"]
    out += [
        "# What verbs take and return\n",
        "These classes are not exported from `nagori`; verbs take and return them.\n",
    ]
    for kind in _answers():
        out += _class_section(kind.__name__, kind)
    return _page(out)


def _aliases() -> Iterator[str]:
    """What the signatures above shorten, as the source has it."""
    for name in ("core/model.py", "core/value_object.py", "app.py"):
        tree = ast.parse((async_verbs.SOURCE / name).read_text(encoding="utf-8"))
        hidden = [node for node in tree.body if isinstance(node, ast.If)]
        for node in (inner for block in hidden for inner in block.body):
            if isinstance(node, ast.Assign) and "TypeVar" not in ast.unparse(node):
                yield ast.unparse(node)


TAKEN = ("RecallRequest", "Edit")
ANSWERED = (
    *("Explanation", "Status", "Counts", "Measures", "Usage"),
    *("Proof", "Verdict", "Damage", "Finding", "ImportReport", "BackupReport"),
)


def _answers() -> list[type]:
    """The classes above, wherever among these rooms they live."""
    from importlib import import_module
    from pkgutil import iter_modules

    from nagori import core, services

    rooms = [f"{room.__name__}.{it.name}" for room in (services, core) for it in iter_modules(room.__path__)]
    homes = [vars(import_module(name)) for name in ("nagori.journals.file", *rooms)]
    known = {
        name: kind
        for home in homes
        for name, kind in home.items()
        if isinstance(kind, type) and kind.__module__ == home["__name__"]
    }
    return [known[name] for name in (*TAKEN, *ANSWERED)]


def _class_section(name: str, kind: type) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"{_doc(kind)}\n"
    if issubclass(kind, enum.Enum) or _annotations(kind):
        yield "```text\n" + "\n".join(_declared(kind)) + "\n```\n"
    for verb, method in _public_methods(kind):
        yield f"### {name}.{verb}\n"
        yield f"```text\n{_signature(method)}\n```\n"
        yield f"{_doc(method)}\n"
    if kind is nagori.AsyncNagori:
        yield LATER
    properties = [key for key, value in vars(kind).items() if isinstance(value, property)]
    told = [(key, _doc(getattr(kind, key))) for key in properties if not key.startswith("_")]
    if told:
        yield "| property | meaning |\n|---|---|"
        yield from (f"| `{key}` | {_cell(doc)} |" for key, doc in told)
        yield ""


def _public_methods(kind: type) -> Iterator[tuple[str, FunctionType]]:
    for name, value in vars(kind).items():
        function = getattr(value, "__func__", value)
        if kind is nagori.AsyncNagori and name not in async_verbs.OTHERS:
            continue  # its signature is that of the sync verb
        if not name.startswith("_") and isinstance(function, FunctionType):
            yield name, function


def _signature(function: FunctionType) -> str:
    """`name(arguments) -> answer` as written in the source, so that no default shows an address."""
    import textwrap

    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    node = tree.body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    bound = "staticmethod" not in [ast.unparse(decorator) for decorator in node.decorator_list]
    arguments = [part for part in _arguments(node.args) if not (bound and part in ("self", "cls"))]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    start = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    line = f"{start}{node.name}({', '.join(arguments)}){returns}"
    if len(line) <= 100:
        return line
    return f"{start}{node.name}(\n" + "".join(f"    {part},\n" for part in arguments) + f"){returns}"


def _arguments(args: ast.arguments) -> Iterator[str]:
    given = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(given) - len(args.defaults)) + [*args.defaults]
    yield from map(_argument, given, defaults)
    if args.vararg:
        yield f"*{_argument(args.vararg, None)}"
    elif args.kwonlyargs:
        yield "*"
    yield from map(_argument, args.kwonlyargs, args.kw_defaults)
    if args.kwarg:
        yield f"**{_argument(args.kwarg, None)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default is not None else "")


def _annotations(kind: type) -> dict[str, Any]:
    return dict(vars(kind).get("__annotations__", {}))


def _declared(kind: type) -> Iterator[str]:
    """The fields of a dataclass or the members of an enum, with their comments, from the source."""
    lines = inspect.getsource(kind).split("\n")
    if kind is config.Config:  # a hundred settings have a page of their own
        yield from (f"{name}: {section}" for name, section in _annotations(kind).items())
        return
    tree = ast.parse("\n".join(lines))
    assert isinstance(tree.body[0], ast.ClassDef)
    for node in tree.body[0].body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            yield from (
                _plain(line.removeprefix("    ")) for line in lines[node.lineno - 1 : node.end_lineno]
            )


# ── the life of a memory ─────────────────────────────────────────────────────────────────────────


def life_page() -> str:
    """The levels and the moves between them."""
    thresholds, shares = levels.Levels(), levels.Compression()
    out = [
        NOTE,
        "# The life of a memory\n",
        "Retention (shown as strength) is 0–100 and is always computed from stored facts and the present "
        "time; see [forgetting](../why/forgetting.md). The level says how much of a memory is shown.\n",
        "| level | name | while its retention is above | largest share | what is shown |",
        "|---|---|---|---|---|",
    ]
    for rung in levels.LEVELS:
        threshold = f"{getattr(thresholds, rung.threshold):g}" if rung.threshold else "–"
        share = f"{getattr(shares, rung.ratio):.0%}"
        name = rung.level.name.lower()
        out.append(f"| {int(rung.level)} | {name} | {threshold} | {share} | {rung.keeps} |")
    out += [
        "",
        "A protected memory keeps its level whatever its retention. Shares apply from "
        f"{shares.min_population} memories on.\n",
        "Every memory starts at level 1. `nagori why` shows its forecast; `nagori cycle` makes the moves.\n",
        "## Transitions\n",
        "| act | by | from → to | when |",
        "|---|---|---|---|",
    ]
    for move in levels.TRANSITIONS:
        ends = [f"{_place(at)} → {' or '.join(map(_place, to))}" for at, to in move.ends.items()]
        where = ", ".join(ends) if move.moves else ", ".join(map(_place, move.ends)) + " (it stays)"
        out.append(f"| {move.act} | {' or '.join(move.by)} | {where} | {_plain(move.when)} |")
    out += [
        "",
        "`nagori undo` reverts them; words that were purged or deleted do not come back.\n",
        f"```mermaid\n{levels.diagram()}```\n",
    ]
    return _page(out)


def _place(level: enum.Enum | None) -> str:
    return "forgotten" if level is None else level.name.lower()


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────


def pictures() -> dict[str, str]:
    """How memories fade: the curves of the law itself, drawn by the code that draws them for users."""
    from datetime import UTC, datetime, timedelta

    from nagori.core.decay import coefficient_for
    from nagori.core.model import Category, Emotion, Kind, Level, Memory, Text
    from nagori.edges.charts import ChartAxes, series_of
    from nagori.edges.charts.decay_curve_svg import svg_chart

    whole, birth = config.Config(), datetime(2026, 1, 1, tzinfo=UTC)

    def memory(intensity: float, category: Category | None, kind: Kind = Kind.EPISODE) -> Memory:
        return Memory(
            id="mem_picture",
            created=birth,
            anchor=birth,
            texts={Level.FULL: Text("", "picture")},
            kind=kind,
            category=category,
            emotion=Emotion(intensity),
            coefficient=coefficient_for(category, intensity, kind, whole.retention),
        )

    days = 180
    recalled = [birth + timedelta(days=n) for n in (20, 60)]
    told: list[tuple[str, Memory, list[datetime]]] = [
        ("small talk", memory(40, Category.CASUAL), []),
        ("a day at work", memory(60, Category.WORK), []),
        ("a decision", memory(75, Category.DECISION), []),
        ("the same decision, recalled twice", memory(75, Category.DECISION), recalled),
        ("a fact told calmly", memory(60, None, Kind.FACT), []),
        ("an emotional event", memory(90, Category.EMOTIONAL), []),
    ]
    series = [series_of(it, whole, birth, days, 0.25, times, label) for label, it, times in told]
    axes = ChartAxes(days=days, ticks=(1, 7, 14, 30, 60, 90, 120, 180), early=True)
    return {"pictures/decay.svg": svg_chart(series, "How memories decay, and what recall does", axes)}


# ── the tree ─────────────────────────────────────────────────────────────────────────────────────

TREE_STARTS = "<!-- tree: written by `python -m docs.generate` from the docstrings of the modules -->\n"
TREE_ENDS = "<!-- tree: end -->\n"
WIDEST_NAME = 24


def house() -> str:
    """The tour of the house as it is written by hand, with the tree of today in its place."""
    text = (DOCS / "house.md").read_text(encoding="utf-8")
    before, start, rest = text.partition(TREE_STARTS)
    _, end, after = rest.partition(TREE_ENDS)
    if not (start and end):
        raise SystemExit(
            "docs/house.md has no place for the tree; put these two lines where it belongs:\n"
            f"{TREE_STARTS}{TREE_ENDS}"
        )
    package = Path(nagori.__file__).parent
    shown = "\n".join([_row(0, "nagori/", _summary(package / "__init__.py")), *_tree(package, 1)])
    return f"{before}{start}\n```text\n{shown}\n```\n\n{end}{after}"


def _tree(folder: Path, depth: int) -> Iterator[str]:
    """A line for each module, each folder below with its own modules, and each kind of data beside them."""
    for module in sorted(folder.glob("*.py")):
        if module.name != "__init__.py":
            yield _row(depth, module.name, _summary(module))
    for below in sorted(path for path in folder.iterdir() if path.is_dir() and any(_sources(path))):
        yield _row(depth, f"{below.name}/", _summary(below / "__init__.py"))
        yield from _tree(below, depth + 1)
    kinds = sorted({path.suffix for path in folder.iterdir() if path.is_file()} - {".py", ".typed", ""})
    for kind in kinds:
        names = sorted(path.stem for path in folder.glob(f"*{kind}"))
        yield _row(depth, f"*{kind}", ", ".join(names))


def _sources(folder: Path) -> Iterator[Path]:
    """Files that somebody wrote, in a folder or deeper."""
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _row(depth: int, name: str, about: str) -> str:
    return f"{'  ' * depth + name:{WIDEST_NAME}}  {about}".rstrip()


def _summary(module: Path) -> str:
    """The first sentence of a module's docstring, without its full stop; nothing for a folder of data."""
    if not module.exists():
        return ""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    first = re.match(r".*?[.!?。](?=\s|$)|.+", _one_line(docstring.partition("\n\n")[0]))
    return first[0].removesuffix(".") if first else ""


# ── words ────────────────────────────────────────────────────────────────────────────────────────


def _plain(text: str) -> str:
    return TAGS.sub("", text)


def _doc(thing: object) -> str:
    """A docstring as Markdown: without tags, examples as code."""
    text = re.sub(" +# doctest:.*", "", _plain(inspect.getdoc(thing) or ""))
    head, mark, example = text.partition(">>>")
    return head.strip() + (f"\n\n```text\n{mark}{example.rstrip()}\n```" if mark else "")


def _first_line(kind: type) -> str:
    return _plain((kind.__doc__ or "").partition("\n")[0])


def _one_line(text: str | None) -> str:
    return _plain(" ".join((text or "").split()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _page(parts: list[str]) -> str:
    return re.sub("\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def main(arguments: list[str]) -> int:
    check, stale = "--check" in arguments, []
    for name, text in pages().items():
        path = DOCS / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    for name in stale:
        print(f"docs/{name}: {'not what the code says; run python -m docs.generate' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
