"""Check names and marks in the source: `python -m tools.names`; with `--report`, counts and what is strict.

Three rules (CONTRIBUTING.md, "Names"):

1. A class name is defined once in `src/nagori`.
2. No function or class in `core`, `language`, `services` or `app` is a bare participle: `told` says neither
   what is done nor what comes back. `is_known`, `recorded_turns` and `split_passages` do.
3. A mark such as `[ruling 27]`, and a mention of a page below `docs/`, leads to something in `docs/`; in
   tests and benchmarks, too. A document that is not in the project is not mentioned by its number.

The second rule goes by the form of a word, so it is wrong at times. `names_allowed.tsv` lists the exceptions,
each with its reason; an exception that nothing needs any more is a fault, too.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "nagori"
DOCS = ROOT / "docs"
OTHERS = (ROOT / "tests", ROOT / "bench")  # looked through for marks alone
ALLOWED = Path(__file__).with_name("names_allowed.tsv")

# Rooms and modules directly below src/nagori whose names are checked for participles.
CHECKED = ("core", "language", "services", "app")
TEXTS = (".py", ".sql", ".tsv", ".txt", ".toml")


class Fault(NamedTuple):
    """One broken rule and where it is broken."""

    rule: str
    where: str
    message: str


class Definition(NamedTuple):
    """A function, method or class as it stands in a file."""

    path: str  # below src/nagori, with forward slashes
    line: int
    name: str
    is_class: bool

    @property
    def where(self) -> str:
        return f"src/nagori/{self.path}:{self.line}"


def definitions(source: Path) -> Iterator[Definition]:
    """Every function and class below a folder, nested ones included."""
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                below = path.relative_to(source).as_posix()
                yield Definition(below, node.lineno, node.name, isinstance(node, ast.ClassDef))


# ── one class name once ──────────────────────────────────────────────────────────────────────────


def repeated_classes(found: Iterable[Definition]) -> Iterator[Fault]:
    """One fault for each class name that is defined more than once."""
    places: dict[str, list[str]] = defaultdict(list)
    for each in found:
        if each.is_class:
            places[each.name].append(each.where)
    for name, where in sorted(places.items()):
        if len(where) > 1:
            yield Fault("class", where[0], f"class {name} is also defined in {', '.join(where[1:])}")


# ── no bare participle ───────────────────────────────────────────────────────────────────────────

# Participles that no ending gives away. Forms that are also the verb itself (put, set, read, cut) are verbs.
IRREGULAR = """
    been begun bent blown born borne bought bound brought built burnt caught clung dealt done drawn
    dreamt drunk dug felt fled flown fought found gone got grown had heard held hung kept known laid lain led
    leant leapt learnt left lent lit lost made meant met paid said sat sent sewn shone shorn shot shown
    shrunk slept slid smelt sold sought sown spelt spent spilt spoilt sprung spun stood struck stuck stung
    sunk sung swept swollen sworn swum swung taught thought thrown told torn understood undone unknown unmade
    unsaid unseen unsent untold wept won worn wound wrung
"""
# Words that end like a participle and are none.
NO_PARTICIPLE = """
    anything bed being between breed bring ceiling children cling den during eleven embed even evening
    everything exceed fasten feed flatten garden gen golden green happen hasten heighten hundred hyphen
    indeed king kitchen len lengthen listen maiden men morning need nothing often omen open oxen pen ping
    proceed quicken red reed reembed reopen ring screen seed sen seven sharpen shed shorten shred sibling
    sing soften something specimen speed spring sting straighten strengthen string succeed swing ten then
    thing threaten tighten token waken weaken weed when widen wing women worsen
"""
# Words that add nothing to a participle: `told_of`, `left_out` and `said_again` are as bare as `told`.
PARTICLES = """
    about again ahead all already alone anew apart as aside at away back before behind below beside
    between by down each else ever first for from here how in into it itself last later least more most
    much near never next not now of off on once only or others otherwise out over so still than that them
    there these they this those through to together too twice under up upon us we what when where with
    within without yet you
"""


_IRREGULAR, _NO_PARTICIPLE, _PARTICLES = (
    set(words.split()) for words in (IRREGULAR, NO_PARTICIPLE, PARTICLES)
)


def is_participle(word: str) -> bool:
    """Whether a word has the form of a participle, past or present."""
    if word in _NO_PARTICIPLE:
        return False
    return word in _IRREGULAR or (len(word) > 3 and word.endswith(("ed", "en", "ing")))


def words_of(name: str) -> list[str]:
    """`_toldOf`, `told_of` and `ToldOf` are all `told` and `of`."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def is_bare_participle(name: str) -> bool:
    """Whether a name is a participle with nothing beside it that would be a noun or a verb."""
    if name.startswith("__"):  # Python's own: `__missing__`
        return False
    words = words_of(name)
    rest = [word for word in words if word not in _PARTICLES]
    return bool(rest) and is_participle(words[0]) and all(map(is_participle, rest))


class Exemption(NamedTuple):
    """A line of the list of exceptions: a name, where it may stand, and why."""

    name: str
    where: str  # `*`, or a path below src/nagori
    reason: str


def read_allowed(path: Path = ALLOWED) -> list[Exemption]:
    """The exceptions; a line without a reason is refused."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    wrong = [row for row in rows if len(row) != 3 or not all(cell.strip() for cell in row)]
    if wrong:
        raise SystemExit(f"{path.name}: each line needs a name, a place and a reason: {wrong[0]}")
    return [Exemption(*row) for row in rows]


def bare_participles(found: Iterable[Definition], allowed: Iterable[Exemption]) -> Iterator[Fault]:
    """One fault for each definition in the checked rooms, and one for each exception without a use."""
    unused = {(each.name, each.where): each for each in allowed}
    known = set(unused)
    for each in found:
        if re.split(r"[/.]", each.path)[0] not in CHECKED or not is_bare_participle(each.name):
            continue
        keys = {(each.name, "*"), (each.name, each.path)} & known
        for key in keys:
            unused.pop(key, None)
        if not keys:
            yield Fault("participle", each.where, f"{each.name} is a bare participle")
    for each_unused in unused.values():
        message = f"the exception {each_unused.name} ({each_unused.where}) is needed by nothing"
        yield Fault("participle", f"tools/{ALLOWED.name}", message)


# ── no mark that points nowhere ──────────────────────────────────────────────────────────────────

MARK = re.compile(r"\[((?:rulings? \d|[A-Z]\d)[^\]\n]*)\](?!\()|\((rulings? \d[^)\n]*)\)")
# One mark may hold several: `[E6, ruling 37]`, `[C1-C9]`, `[rulings 27 and 31]`.
LABEL = re.compile(r"\b(?:(rulings?) )?([A-Z]?\d+)\b")
PAGE = re.compile(r"\bdocs/[\w/.-]+\.md(?:#[\w-]+)?")
DOCUMENT = re.compile(r"(?<![\d,.])00[0-4](?:'s\b| §)")


def labels_of(mark: str) -> list[str]:
    """What a mark names, in small letters: `[E6, ruling 37]` names `e6` and `ruling 37`."""
    is_ruling, labels = False, []
    for word, number in LABEL.findall(mark):
        is_ruling = bool(word) or (is_ruling and number.isdigit())
        if is_ruling or not number.isdigit():
            labels.append(f"ruling {number}" if is_ruling else number.lower())
    return labels


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page: its headings as GitHub writes them, and explicit ids."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def known_labels(docs: Path) -> set[str]:
    """What `docs/design/` explains, by anchors and by beginnings of headings (`## Ruling 27: …`)."""
    slugs = {slug for page in (docs / "design").rglob("*.md") for slug in anchors_of(page)}
    starts = (re.match(r"ruling-\d+|[a-z]\d+", slug) for slug in slugs)
    return {start[0].replace("-", " ") for start in starts if start}


def lost_marks(folders: Iterable[Path], docs: Path) -> Iterator[Fault]:
    """One fault for each mark whose label no design page explains, and for each page that is not there."""
    known = known_labels(docs)
    for path in (each for folder in folders for each in sorted(folder.rglob("*")) if each.suffix in TEXTS):
        text = path.read_text(encoding="utf-8", errors="replace")
        below = path.relative_to(docs.parent).as_posix()
        for found in MARK.finditer(text):
            mark = found[1] or found[2]
            if missing := [label for label in labels_of(mark) if label not in known]:
                yield Fault(
                    "mark", _line(below, text, found), f"[{mark}]: {', '.join(missing)} points nowhere"
                )
        for found in PAGE.finditer(text):
            page, _, anchor = found[0].partition("#")
            target = docs.parent / page
            if not target.is_file() or (anchor and anchor not in anchors_of(target)):
                yield Fault("mark", _line(below, text, found), f"{found[0]} is not there")
        for found in DOCUMENT.finditer(text):
            yield Fault("mark", _line(below, text, found), f"{found[0]}: a document outside the project")


def _line(below: str, text: str, found: re.Match[str]) -> str:
    return f"{below}:{text.count(chr(10), 0, found.start()) + 1}"


# ── all of it ────────────────────────────────────────────────────────────────────────────────────

RULES = {
    "class": "class names defined more than once",
    "participle": "bare participles in " + ", ".join(CHECKED),
    "mark": "marks that point nowhere",
}
# `make check` fails for these. To make all of them strict: STRICT = tuple(RULES)
STRICT = tuple(RULES)


def faults(
    source: Path = SOURCE, docs: Path = DOCS, allowed: Path = ALLOWED, others: Iterable[Path] = OTHERS
) -> list[Fault]:
    """Every fault, rule by rule."""
    found = list(definitions(source))
    return [
        *repeated_classes(found),
        *bare_participles(found, read_allowed(allowed)),
        *lost_marks([source, *others], docs),
    ]


def main(arguments: list[str]) -> int:
    """Print the faults and how many there are; exit code 1 if there are any, with `--report` strict ones."""
    parser = argparse.ArgumentParser(prog="python -m tools.names", description=RULES_TEXT)
    parser.add_argument(
        "--report", action="store_true", help=f"count all, but fail only for: {', '.join(STRICT)}"
    )
    options = parser.parse_args(arguments)
    found = faults()
    serious = [fault for fault in found if fault.rule in STRICT or not options.report]
    for fault in serious:
        print(f"{fault.where}: {fault.message}")
    for rule, meaning in RULES.items():
        print(f"{sum(fault.rule == rule for fault in found):5} {meaning}")
    return 1 if serious else 0


RULES_TEXT = "Check names and marks in src/nagori: " + "; ".join(RULES.values()) + "."

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
