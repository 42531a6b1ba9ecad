"""MCP server: the memory's verbs as tools, resources and prompts for any program that speaks MCP.

`nagori mcp` serves one client on standard input and output, `nagori mcp --http` many on a local port. The
tools are in `tools.py`; `dropin.py` has those of the official memory server instead. Only these modules
import the SDK, which is optional (`nagori[mcp]`).
"""

from __future__ import annotations

from nagori.app import Nagori
from nagori.core.value_object import Value
from nagori.edges.locale import Translator


class Served(Value):
    """What the tools of a server work with. `project` is fixed; without one the client's roots decide.
    `graph` names the graph of the drop-in server."""

    memory: Nagori
    translator: Translator
    project: str | None = None
    graph: str = ""
