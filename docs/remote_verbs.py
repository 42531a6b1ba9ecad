"""Write the verbs of `RemoteNagori` from those of `Nagori`: `python -m docs.remote_verbs`.

Each one that has a route gets the signature of its twin, without `progress`, and one line, which sends its
arguments. With `--check` nothing is written; it fails when `client.py` no longer agrees.
"""

from __future__ import annotations

import ast
import re
import sys

from docs.async_verbs import SOURCE, argument_names, first_sentence, format_code, node_text, read_verbs

PATH = SOURCE / "edges" / "http" / "client.py"
LINE = re.compile(r"^# --- written by `python -m docs\.remote_verbs`.*\n", re.MULTILINE)
LOCAL = ("progress", "stop")  # functions of the caller stay with the caller
HEAD = '''

class RemoteNagori(_RemoteMemory):
    """The verbs of `Nagori` on a server.

    A write with `once`, a text of your own choice, is carried out once, however often it is sent.

    >>> memory = RemoteNagori.open("https://memory.example.org", key="nagori_…")      # doctest: +SKIP
    ... memory.recall("Where is staging?")
    """
'''


def regenerate() -> str:
    """`client.py` as it should be."""
    from nagori.edges.http.operations import OPERATIONS

    written = PATH.read_text(encoding="utf-8")
    line = LINE.search(written)
    assert line, "client.py has lost the line above its verbs"
    by_hand = set(re.findall(r"^    def (\w+)\(", written[: line.start()], re.MULTILINE))
    routes = {each.name: each for each in OPERATIONS if each.name not in by_hand}
    verbs = [verb for verb in read_verbs() if verb.name in routes and verb.name != "prune"]
    methods = [
        _method(verb, routes[verb.name].method, routes[verb.name].path, routes[verb.name].once)
        for verb in verbs
    ]
    return format_code(written[: line.end()] + HEAD + "\n".join(methods), PATH)


def _method(verb: ast.FunctionDef, method: str, path: str, once: bool) -> str:
    arguments = verb.args
    kept = [place for place, each in enumerate(arguments.args) if each.arg not in LOCAL]
    spare = len(arguments.args) - len(arguments.defaults)
    arguments.defaults = [arguments.defaults[place - spare] for place in kept if place >= spare]
    arguments.args = [arguments.args[place] for place in kept]
    names = [name for name in argument_names(arguments) if name not in LOCAL]
    if once:
        arguments.kwonlyargs.append(ast.arg("once", ast.parse("str | None", mode="eval").body))
        arguments.kw_defaults.append(ast.Constant(None))
        names.append("once")
    kind = node_text(verb.returns)
    sent = "".join(f", {name}={name}" for name in names)
    call = f'self._call("{method}", "{path}", {kind}{sent})'
    body = (
        f"        {call}\n" if kind == "None" else f"        answer: {kind} = {call}\n        return answer\n"
    )
    return (
        f"    def {verb.name}({node_text(arguments)}) -> {kind}:\n"
        f'        """{first_sentence(verb)}"""\n{body}'
    )


def main(arguments: list[str]) -> int:
    code = regenerate()
    if PATH.read_text(encoding="utf-8") == code:
        return 0
    if "--check" in arguments:
        print(f"{PATH.name}: not what app.py says; run python -m docs.remote_verbs")
        return 1
    PATH.write_text(code, encoding="utf-8", newline="\n")
    print("src/nagori/edges/http/client.py: written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
