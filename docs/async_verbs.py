"""Write the verbs of `AsyncNagori` from those of `Nagori`: `python -m docs.async_verbs`.

Each one has the signature of its twin and one line, which hands it to a thread. With `--check` nothing is
written; it fails when `aio.py` no longer agrees with `app.py`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "nagori"
LINE = re.compile(r"^# --- written by `python -m docs\.async_verbs`.*\n", re.MULTILINE)
HEAD = '''

class AsyncNagori(_AsyncMemory):
    """`await memory.recall(…)`: the verbs of `Nagori`, awaited.

    >>> async with AsyncNagori.open("/tmp/example") as memory:      # doctest: +SKIP
    ...     await memory.remember("The staging server moved to port 8443.")
    """
'''
BY_HAND = ("close", "runtime", "config", "items")  # by hand in aio.py, or no caller's business
# How a verb that is more than a call in a thread answers; {arguments} are those of the verb.
OTHERS = {
    "open": ("def", "PendingOpen[Self]", "PendingOpen(cls, partial(Nagori.open, {arguments}))"),
    "folder": ("def", "Path", "Nagori.folder({arguments})"),
    "with_scope": ("def", "Self", "type(self)(self._memory.with_scope({arguments}), self._workers)"),
    "restore": ("async def", "Path | None", "await asyncio.to_thread(Nagori.restore, {arguments})"),
    "load_keys": ("async def", "None", "await asyncio.to_thread(Nagori.load_keys, {arguments})"),
    "turn": (
        "async def",
        "AsyncTurn",
        "AsyncTurn(await self._workers.run(self._memory.turn, {arguments}), self._workers)",
    ),
    "conversation": (
        "async def",
        "AsyncConversation",
        "AsyncConversation(await self._workers.run(self._memory.conversation, {arguments}), self._workers)",
    ),
    # A thread cannot hand out one line at a time.
    "export": (
        "async def",
        "Sequence[str]",
        "await self._workers.run(lambda: tuple(self._memory.export({arguments})))",
    ),
}


def regenerate() -> str:
    """`aio.py` as it should be."""
    written = (SOURCE / "aio.py").read_text(encoding="utf-8")
    line = LINE.search(written)
    assert line, "aio.py has lost the line above its verbs"
    code = written[: line.end()] + HEAD + "\n".join(map(_method, read_verbs()))
    return format_code(code, SOURCE / "aio.py")


def read_verbs() -> list[ast.FunctionDef]:
    tree = ast.parse((SOURCE / "app.py").read_text(encoding="utf-8"))
    [kind] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Nagori"]
    found = [node for node in kind.body if isinstance(node, ast.FunctionDef)]
    return [verb for verb in found if not verb.name.startswith("_") and verb.name not in BY_HAND]


def _method(verb: ast.FunctionDef) -> str:
    name = verb.name
    plain = (
        "async def",
        node_text(verb.returns),
        f"await self._workers.run(self._memory.{name}, {{arguments}})",
    )
    start, returns, answer = OTHERS.get(name, plain)
    call = answer.format(arguments=_passed_on(verb.args)).replace(", )", ")")
    decorators = "".join(f"    @{node_text(decorator)}\n" for decorator in verb.decorator_list)
    return (
        f"{decorators}    {start} {name}({node_text(verb.args)}) -> {returns}:\n"
        f'        """{first_sentence(verb)}"""\n'
        f"        return {call}\n"
    )


def first_sentence(verb: ast.FunctionDef) -> str:
    document = " ".join((ast.get_docstring(verb) or "").split())
    sentence = re.split(r"(?<=\.) (?=[A-Z`])", document, maxsplit=1)[0]
    return textwrap.fill(sentence, 98).replace("\n", "\n        ")


def _passed_on(arguments: ast.arguments) -> str:
    """The arguments of a verb, as it gives them to its twin."""
    by_name = {argument.arg for argument in arguments.kwonlyargs}
    return ", ".join(f"{name}={name}" if name in by_name else name for name in argument_names(arguments))


def argument_names(arguments: ast.arguments) -> list[str]:
    """The arguments of a verb, in order."""
    given = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)]
    return [name for name in given if name not in ("self", "cls")]


def node_text(node: ast.AST | None) -> str:
    return ast.unparse(node) if node is not None else "None"


def format_code(code: str, path: Path) -> str:
    """Code as ruff formats it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(path), "-"]
    done = subprocess.run(command, input=code, capture_output=True, text=True, encoding="utf-8", check=True)  # noqa: S603
    return done.stdout


def main(arguments: list[str]) -> int:
    path, code = SOURCE / "aio.py", regenerate()
    if path.read_text(encoding="utf-8") == code:
        return 0
    if "--check" in arguments:
        print("src/nagori/aio.py: not what app.py says; run python -m docs.async_verbs")
        return 1
    path.write_text(code, encoding="utf-8", newline="\n")
    print("src/nagori/aio.py: written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
