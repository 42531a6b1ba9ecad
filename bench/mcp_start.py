"""Start-up of `nagori mcp` beside a bare server of the SDK: `python -m bench.mcp_start [rounds]`.

From the start of the process to the answer to `tools/list`, on standard input and output; the two take turns.
Needs the package `mcp`.
"""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import sys
import tempfile
import time
from importlib.metadata import version

BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

server.run("stdio")
"""


async def measure(arguments: list[str], env: dict[str, str]) -> float:
    """Seconds until the server has listed its tools."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    began = time.perf_counter()
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=env)
    async with Client(stdio_client(parameters)) as client:
        await client.list_tools()
        return time.perf_counter() - began


def main(rounds: int) -> None:
    """Print the medians and their ratio."""
    bare: list[float] = []
    ours: list[float] = []
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "NAGORI_GENERAL__DATA_DIR": home}
        for _ in range(rounds):
            bare.append(asyncio.run(measure(["-c", BARE], env)))
            ours.append(asyncio.run(measure(["-m", "nagori", "mcp"], env)))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, mcp {version('mcp')}, n = {rounds}")
    for name, times in (("bare server", bare), ("nagori mcp", ours)):
        print(f"{name:12} median {statistics.median(times):.2f} s (fastest {min(times):.2f})")
    medians, fastest = statistics.median(ours) / statistics.median(bare), min(ours) / min(bare)
    print(f"ratio of medians {medians:.2f}, of the fastest {fastest:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
