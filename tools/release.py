"""Check that a release can be made: `python -m tools.release v1.2.3`; without a tag, of the version as it is.

Tag, `nagori.__version__` and a dated section of CHANGELOG.md must agree, and nothing may be left under
"Unreleased". Only files are read: the package need not be installed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def read_version(root: Path = ROOT) -> str:
    """`nagori.__version__` as written, the one source of the version."""
    tree = ast.parse((root / "src" / "nagori" / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    raise SystemExit("src/nagori/__init__.py has no __version__")


def read_sections(changelog: str) -> dict[str, str]:
    """The text below each heading of the changelog, by what stands after `## `."""
    parts = re.split(r"^## (.+)$", changelog, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (text.strip() for text in parts[1::2]), strict=True))


def find_faults(tag: str, version: str, changelog: str) -> Iterator[str]:
    """What is not ready, one sentence each."""
    if tag != f"v{version}":
        yield f"The tag {tag} is not v{version}, the version in src/nagori/__init__.py."
    sections = read_sections(changelog)
    dated = re.compile(rf"\[{re.escape(version)}\] - \d{{4}}-\d{{2}}-\d{{2}}")
    text = next((text for heading, text in sections.items() if dated.fullmatch(heading)), None)
    if text is None:
        yield f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD`."
    elif not text:
        yield f"The section of {version} in CHANGELOG.md is empty."
    if sections.get("[Unreleased]"):
        yield f"CHANGELOG.md still has entries under Unreleased; move them to {version}."


def main(arguments: list[str]) -> int:
    """Print what is not ready; exit code 1 if anything is."""
    version = read_version()
    tag = arguments[0] if arguments else f"v{version}"
    faults = list(find_faults(tag, version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    print("\n".join(faults) or f"{tag} can be released.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
