"""The nine tools of the official MCP memory server, with the same answers, on items.

A graph is a list of entities and a list of relations. The official server keeps one graph in each file
(`MEMORY_FILE_PATH`); here the name of the file names the graph, and an existing file is taken over once.
"""

# Annotations are read when a tool is registered, so they are not postponed here.

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field

from nagori.app import Nagori
from nagori.edges.mcp import Served
from nagori.edges.mcp.tools import READS, REMOVES, new_server, tell_change
from nagori.services.key_value_items import ItemDelete, ItemPut, read_value

SPACE = "mcp_memory"
ENTITIES, RELATIONS = "entities", "relations"
RESOURCE = "memory://knowledge-graph"
ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
INSTRUCTIONS = "A knowledge graph of entities, their observations and relations, kept across sessions."


class Entity(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str = Field(description="The name of the entity")
    entityType: str = Field(description="The type of the entity")
    observations: list[str] = Field(description="An array of observation contents of the entity")


class Link(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    source: str = Field(alias="from", description="The name of the entity where the relation starts")
    to: str = Field(description="The name of the entity where the relation ends")
    relationType: str = Field(description="The type of the relation")


class Addition(BaseModel):
    entityName: str = Field(description="The entity to add the observations to")
    contents: list[str] = Field(description="An array of observation contents to add")


class Deletion(BaseModel):
    entityName: str = Field(description="The entity with the observations")
    observations: list[str] = Field(description="An array of observations to delete")


class Graph:
    """The rows of the graph, in the order in which they were created."""

    def __init__(self, memory: Nagori, name: str) -> None:
        self.entities = _Rows(memory, (SPACE, name, ENTITIES))
        self.relations = _Rows(memory, (SPACE, name, RELATIONS))

    def select(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Entities, and the relations with at least one end among them."""
        entities = [entity for entity in self.entities.values if wanted(entity)]
        names = {entity["name"] for entity in entities}
        relations = [row for row in self.relations.values if row["from"] in names or row["to"] in names]
        return {"entities": entities, "relations": relations}

    def find(self, name: str) -> dict[str, Any] | None:
        return next((entity for entity in self.entities.values if entity["name"] == name), None)

    def whole(self) -> dict[str, Any]:
        return {"entities": self.entities.values, "relations": self.relations.values}

    def changes(self) -> list[ItemPut | ItemDelete]:
        return [*self.entities.changes(), *self.relations.changes()]


class _Rows:
    """Rows as they were read, and as they should be."""

    def __init__(self, memory: Nagori, place: tuple[str, ...]) -> None:
        self._place = place
        self._items = memory.items.list(self._place)
        self._read = [read_value(item) for item in self._items]
        self.values: list[dict[str, Any]] = [*self._read]

    def changes(self) -> list[ItemPut | ItemDelete]:
        """What must be written so that the rows are as they should be."""
        before = {item.key: item.value for item in self._items}
        keys = {id(value): item.key for item, value in zip(self._items, self._read, strict=True)}
        last = max((int(key) for key in before), default=-1)
        made: list[ItemPut | ItemDelete] = []
        kept: set[str] = set()
        for value in self.values:
            key = keys.get(id(value))
            if key is None:
                last += 1
                key = f"{last:012d}"
                made.append(ItemPut(self._place, key, value))
            elif json.loads(before[key]) != value:
                made.append(ItemPut(self._place, key, value))
            kept.add(key)
        return [*made, *(ItemDelete(self._place, key) for key in before if key not in kept)]


def _change(ctx: Context, work: Callable[[Graph], Any]) -> Any:
    """Change the graph under the owner's lock; returns what `work` returned."""
    memory, name = _graph_of(ctx)
    results: list[Any] = []

    def decide() -> Sequence[ItemPut | ItemDelete]:
        graph = Graph(memory, name)
        results[:] = [work(graph)]
        return graph.changes()

    memory.items.change(decide)
    tell_change(ctx, RESOURCE)
    return results[0]


def _graph_of(ctx: Context) -> tuple[Nagori, str]:
    served = ctx.request_context.lifespan_context
    assert isinstance(served, Served)
    return served.memory, served.graph


def _answer(shown: Any, structured: dict[str, Any]) -> CallToolResult:
    text = shown if isinstance(shown, str) else json.dumps(shown, indent=2, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)


def _done(what: str) -> CallToolResult:
    return _answer(what, {"success": True, "message": what})


# --- tools ----------------------------------------------------------------------------------------


def create_entities(ctx: Context, entities: list[Entity]) -> CallToolResult:
    """Create multiple new entities in the knowledge graph"""

    def create(graph: Graph) -> list[dict[str, Any]]:
        known = {entity["name"] for entity in graph.entities.values}
        fresh = [entity.model_dump() for entity in entities if entity.name not in known]
        graph.entities.values += fresh
        return fresh

    made = _change(ctx, create)
    return _answer(made, {"entities": made})


def create_relations(ctx: Context, relations: list[Link]) -> CallToolResult:
    """Create multiple new relations between entities in the knowledge graph. Relations should be in active
    voice"""

    def create(graph: Graph) -> list[dict[str, Any]]:
        known = [*graph.relations.values]
        fresh = [row for relation in relations if (row := relation.model_dump(by_alias=True)) not in known]
        graph.relations.values += fresh
        return fresh

    made = _change(ctx, create)
    return _answer(made, {"relations": made})


def add_observations(ctx: Context, observations: list[Addition]) -> CallToolResult:
    """Add new observations to existing entities in the knowledge graph"""

    def add(graph: Graph) -> list[dict[str, Any]]:
        results = []
        for each in observations:
            entity = graph.find(each.entityName)
            if entity is None:
                raise ToolError(f"Entity with name {each.entityName} not found")
            fresh = [content for content in each.contents if content not in entity["observations"]]
            entity["observations"] += fresh
            results.append({"entityName": each.entityName, "addedObservations": fresh})
        return results

    added = _change(ctx, add)
    return _answer(added, {"results": added})


def delete_entities(ctx: Context, entityNames: list[str]) -> CallToolResult:
    """Delete multiple entities and their associated relations from the knowledge graph"""

    def delete(graph: Graph) -> None:
        gone = set(entityNames)
        graph.entities.values = [row for row in graph.entities.values if row["name"] not in gone]
        graph.relations.values = [
            row for row in graph.relations.values if row["from"] not in gone and row["to"] not in gone
        ]

    _change(ctx, delete)
    return _done("Entities deleted successfully")


def delete_observations(ctx: Context, deletions: list[Deletion]) -> CallToolResult:
    """Delete specific observations from entities in the knowledge graph"""

    def delete(graph: Graph) -> None:
        for each in deletions:
            if entity := graph.find(each.entityName):
                entity["observations"] = [
                    said for said in entity["observations"] if said not in each.observations
                ]

    _change(ctx, delete)
    return _done("Observations deleted successfully")


def delete_relations(ctx: Context, relations: list[Link]) -> CallToolResult:
    """Delete multiple relations from the knowledge graph"""

    def delete(graph: Graph) -> None:
        gone = [relation.model_dump(by_alias=True) for relation in relations]
        graph.relations.values = [row for row in graph.relations.values if row not in gone]

    _change(ctx, delete)
    return _done("Relations deleted successfully")


def read_graph(ctx: Context) -> CallToolResult:
    """Read the entire knowledge graph"""
    graph = Graph(*_graph_of(ctx)).whole()
    return _answer(graph, graph)


def search_nodes(ctx: Context, query: str) -> CallToolResult:
    """Search for nodes in the knowledge graph based on a query"""
    wanted = query.lower()

    def matches(entity: dict[str, Any]) -> bool:
        texts = (entity["name"], entity["entityType"], *entity["observations"])
        return any(wanted in text.lower() for text in texts)

    found = Graph(*_graph_of(ctx)).select(matches)
    return _answer(found, found)


def open_nodes(ctx: Context, names: list[str]) -> CallToolResult:
    """Open specific nodes in the knowledge graph by their names"""
    wanted = set(names)
    found = Graph(*_graph_of(ctx)).select(lambda entity: entity["name"] in wanted)
    return _answer(found, found)


# --- the server -----------------------------------------------------------------------------------

TOOLS: dict[Callable[..., CallToolResult], ToolAnnotations] = {
    create_entities: ADDS,
    create_relations: ADDS,
    add_observations: ADDS,
    delete_entities: REMOVES,
    delete_observations: REMOVES,
    delete_relations: REMOVES,
    read_graph: READS,
    search_nodes: READS,
    open_nodes: READS,
}


def make_dropin(served: Served) -> MCPServer[Served]:
    """The server with the nine tools."""
    import_graph(served.memory, served.graph)
    server = new_server("memory-server", INSTRUCTIONS, served)
    for tool, annotations in TOOLS.items():
        title = tool.__name__.replace("_", " ").title()
        server.add_tool(tool, title=title, annotations=annotations)

    def read_knowledge_graph() -> str:
        """The entire knowledge graph as JSON"""
        return json.dumps(Graph(served.memory, served.graph).whole(), indent=2, ensure_ascii=False)

    add = server.resource(RESOURCE, name="knowledge-graph", mime_type="application/json")
    add(read_knowledge_graph)
    return server


def import_graph(memory: Nagori, name: str) -> int:
    """Take over a file of the official server, if the graph of its name is empty; returns the number of
    rows."""
    path = Path(name) if name else None
    if path is None or not path.is_file() or memory.items.list((SPACE, name), limit=1):
        return 0
    rows: list[ItemPut] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            row = json.loads(line)
            table, model = (ENTITIES, Entity) if row.get("type") == "entity" else (RELATIONS, Link)
            value = model.model_validate(row).model_dump(by_alias=True)
            rows.append(ItemPut((SPACE, name, table), f"{len(rows):012d}", value))
    memory.items.change(lambda: rows)
    return len(rows)
