"""Start-up of `nagori mcp` beside a bare server of the SDK: `python -m bench.mcp_start [rounds]`.

From the start of the process to the answer to `tools/list`, on standard input and output; the two take turns.
The last line says what the list of tools costs a model. Needs the package `mcp`.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from nagori.adapters.tokens import open_counter

BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

server.run("stdio")
"""


async def measure(arguments: list[str], env: dict[str, str]) -> tuple[float, Sequence[Any]]:
    """Seconds until the server has listed its tools, and the tools."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    began = time.perf_counter()
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=env)
    async with Client(stdio_client(parameters)) as client:
        listed = await client.list_tools()
        return time.perf_counter() - began, listed.tools


def count_tokens(tools: Sequence[Any]) -> int:
    """The tokens of what clients show a model: name, description and arguments of each tool."""
    shown = [(tool.name, tool.description, tool.input_schema) for tool in tools]
    return open_counter("gpt-4o")(json.dumps(shown, ensure_ascii=False))


def main(rounds: int) -> None:
    """Print the medians and their ratio."""
    bare: list[float] = []
    ours: list[float] = []
    tools: Sequence[Any] = ()
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "NAGORI_GENERAL__DATA_DIR": home}
        for _ in range(rounds):
            bare.append(asyncio.run(measure(["-c", BARE], env))[0])
            seconds, tools = asyncio.run(measure(["-m", "nagori", "mcp"], env))
            ours.append(seconds)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, mcp {version('mcp')}, n = {rounds}")
    for name, times in (("bare server", bare), ("nagori mcp", ours)):
        print(f"{name:12} median {statistics.median(times):.2f} s (fastest {min(times):.2f})")
    medians, fastest = statistics.median(ours) / statistics.median(bare), min(ours) / min(bare)
    print(f"ratio of medians {medians:.2f}, of the fastest {fastest:.2f}")
    print(f"{len(tools)} tools, {count_tokens(tools)} tokens (names, descriptions, arguments)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
