"""Run the test suites of other projects on our classes: `python -m tools.suites out/suites`.

The folder holds one subfolder for each suite, with a script `run` that takes the class under test from the
environment, and after its script `get` the untouched upstream tests. `out/suites-venv` has the packages that
their `requirements.txt` name, `langmem`, `mcp`, `mem0ai`, `mem0-cli`, `schemathesis` and those of nagori; the
MCP suites need Node packages in `npm`. What is not there is skipped and says so. The counts are printed as
the suites print them.
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
from collections.abc import Iterator, Mapping
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
}
COUNTS = re.compile(r"^.*(?:\d+ passed|checks? passed|answers agree|conform|\d+ generated).*$", re.MULTILINE)


def main(folder: str) -> int:
    """Run what is there; returns the number of suites with failures."""
    suites = Path(folder).absolute()
    if not suites.is_dir() or not PYTHON.exists():
        print(f"skipped: {suites} or {PYTHON} is not there")
        return 0
    results = [_run(suites / name, ["./run"], settings) for name, settings in SUITES.items()]
    langmem = {"SUT": SUITES["langgraph-store"]["SUT"]}
    results.append(_run(suites / "langgraph-store", [str(PYTHON), "langmem_consumer.py"], langmem))
    results.append(_run(ROOT, [str(PYTHON), "-c", CONFORMANCE], {}))
    with _http_server(HTTP_PORT) as (url, token):
        client = {"URL": url, "KEY": token}
        results.append(_run(suites / "mem0-platform", [str(PYTHON), "python_client.py"], client))
        described = {"URL": f"{url}/openapi.json", "KEY": token, "EXAMPLES": os.environ.get("EXAMPLES", "25")}
        results.append(_run(suites / "http-openapi", ["./run"], described))
    if (suites / "npm").is_dir():
        with _server(PORT) as url:
            results.append(_run(suites / "mcp-conformance", ["./run"], {"URL": url}))
        command = f"{PYTHON} -m nagori mcp --dropin"
        differential = [str(PYTHON), "differential.py", os.environ.get("SEQUENCES", SEQUENCES)]
        where = {"SERVER": command, "HOME_VAR": "NAGORI_GENERAL__DATA_DIR"}
        results.append(_run(suites / "mcp-memory-dropin", differential, where))
    else:
        print(f"skipped: MCP suites ({suites / 'npm'} is not there)")
    return sum(not well for well in results)


CONFORMANCE = """
import asyncio, sys
from pathlib import Path
sys.path += map(str, Path("out/e2e-venv").absolute().glob("lib/*/site-packages"))
from claude_agent_sdk.testing import run_session_store_conformance
from nagori.edges.integrations.claude_sessions import NagoriSessionStore
asyncio.run(run_session_store_conformance(NagoriSessionStore))
print("Claude SessionStore: all contracts conform")
"""


def _run(folder: Path, command: list[str], settings: Mapping[str, str]) -> bool:
    """Run one suite and print its counts; returns whether it passed."""
    name = folder.name if command[-1] != CONFORMANCE else "claude-agent-sdk"
    if not folder.is_dir():
        print(f"skipped: {folder} is not there")
        return True
    env = {**os.environ, **settings, "PY": str(PYTHON), "PYTHONPATH": str(ROOT / "src")}
    env["EXTRA"] = str(ROOT / "src")
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    told = COUNTS.findall(done.stdout) or [(done.stdout + done.stderr)[-2000:]]
    print(f"{name.splitlines()[0]}: " + " | ".join(line.strip() for line in told), flush=True)
    for line in re.findall(r"^(?:FAILED|warning).*$", done.stdout, re.MULTILINE):
        print(f"  {line[:200]}")
    return done.returncode == 0


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
