"""The mirror of memories, concepts and relations in a graph server that speaks Bolt (Neo4j, ArcadeDB, …).

    (:NagoriMemory)-[:MENTIONS {weight}]->(:NagoriConcept)
    (:NagoriMemory)-[:CONTINUES|REFERENCES|DERIVED_FROM|CONTRADICTS|SAME_TOPIC]->(:NagoriMemory)

A copy, by the official driver `neo4j`: nothing is ever answered from it. Every node carries a digest of its
owner, and only nodes with one of our two labels are touched: the server may hold other graphs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from urllib.parse import unquote, urlsplit

from nagori.core.model import RelationType
from nagori.core.spreading_activation import MirroredMemory
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value
from nagori.errors import InvalidInput, StoreError

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
TIMEOUT = 5.0
AT_ONCE = 1_000  # nodes of one deletion
INDEXES = (
    "CREATE INDEX nagori_memory_key IF NOT EXISTS FOR (n:NagoriMemory) ON (n.key)",
    "CREATE INDEX nagori_memory_owner IF NOT EXISTS FOR (n:NagoriMemory) ON (n.owner)",
    "CREATE INDEX nagori_concept_key IF NOT EXISTS FOR (n:NagoriConcept) ON (n.key)",
    "CREATE INDEX nagori_concept_owner IF NOT EXISTS FOR (n:NagoriConcept) ON (n.owner)",
)
PUT = "UNWIND $rows AS row MERGE (m:NagoriMemory {key: row.key}) SET m = row.fields"
CUT = "UNWIND $rows AS row MATCH (:NagoriMemory {key: row.key})-[r]->() DELETE r"
NAME = """UNWIND $rows AS row MERGE (c:NagoriConcept {key: row.key})
          SET c.owner = $owner, c.name = row.name"""
MENTION = """UNWIND $rows AS row MATCH (m:NagoriMemory {key: row.memory})
             MATCH (c:NagoriConcept {key: row.concept})
             MERGE (m)-[r:MENTIONS]->(c) SET r.weight = row.weight"""
# The other end may come later: until then it is a node without a version, which the next run fills.
RELATE = """UNWIND $rows AS row MATCH (m:NagoriMemory {{key: row.memory}})
            MERGE (t:NagoriMemory {{key: row.target}}) ON CREATE SET t.owner = $owner, t.id = row.id
            MERGE (m)-[:{type}]->(t)"""
UNMENTIONED = "MATCH (c:NagoriConcept {owner: $owner}) WHERE NOT (c)<-[:MENTIONS]-() DETACH DELETE c"


class GraphAddress(Value):
    """Where a graph server is: the address for the driver, the user, and the database."""

    uri: str
    user: str
    database: str | None


def parse_graph(address: str) -> GraphAddress:
    """The parts of `bolt+s://user@host:7687/database`; InvalidInput if there is anything else in it."""
    try:
        parts = urlsplit(address)
        known = parts.scheme in SCHEMES and parts.hostname and (parts.port or True)
    except ValueError:
        known = False
    database = parts.path.strip("/") if known else ""
    if not known or parts.query or parts.fragment or parts.password or "/" in database:
        raise InvalidInput("graph.mirror", "error.not_graph")
    place = parts.netloc.rpartition("@")[2]
    return GraphAddress(f"{parts.scheme}://{place}", unquote(parts.username or ""), database or None)


class BoltGraph:
    """A connection to one server."""

    def __init__(self, at: GraphAddress, password: str | None = None) -> None:
        try:
            import neo4j
        except ImportError:
            raise StoreError("error.neo4j_missing") from None
        self._faults = (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError)
        self._refused: type[Exception] = neo4j.exceptions.Neo4jError
        self._database, self._indexed = at.database, False
        self._driver: Any = neo4j.GraphDatabase.driver(
            at.uri,
            auth=(at.user, password or "") if at.user else None,
            connection_timeout=TIMEOUT,
            connection_acquisition_timeout=TIMEOUT,
            max_transaction_retry_time=TIMEOUT,
            telemetry_disabled=True,
        )

    def versions(self, owner: Owner) -> dict[str, str]:
        """The memories in the mirror, and the version of each; "" for one that is not complete."""
        rows = "MATCH (m:NagoriMemory {owner: $owner}) RETURN m.id, m.version"
        return {str(id): version or "" for id, version in self._write([(rows, {"owner": _digest(owner)})])}

    def put(self, owner: Owner, memories: Sequence[MirroredMemory]) -> None:
        """Write memories with what they mention and what they are related to, all or none."""
        mine = _digest(owner)
        rows = [{"key": f"{mine}:{m.id}", "fields": _fields(mine, m)} for m in memories]
        names = sorted({name for memory in memories for name in memory.concepts})
        concepts = [{"key": f"{mine}:{name}", "name": name} for name in map(_plain, names)]
        mentions = [
            {"memory": f"{mine}:{m.id}", "concept": f"{mine}:{_plain(name)}", "weight": weight}
            for m in memories
            for name, weight in m.concepts.items()
        ]
        work: list[tuple[str, dict[str, Any]]] = [
            (PUT, {"rows": rows}),
            (CUT, {"rows": rows}),
            (NAME, {"rows": concepts, "owner": mine}),
            (MENTION, {"rows": mentions}),
        ]
        for type in RelationType:
            ends = [(m.id, other) for m in memories for of, other in m.relations if of is type]
            related = [{"memory": f"{mine}:{one}", "target": f"{mine}:{two}", "id": two} for one, two in ends]
            if related:
                work.append((RELATE.format(type=type.name), {"rows": related, "owner": mine}))
        self._write(work)

    def remove(self, owner: Owner, ids: Collection[str]) -> int:
        """Remove these memories, and concepts that nothing mentions any more; returns the number of
        memories."""
        mine, removed, all_ids = _digest(owner), 0, sorted(ids)
        delete = "UNWIND $keys AS key MATCH (m:NagoriMemory {key: key}) DETACH DELETE m RETURN count(*)"
        for first in range(0, len(all_ids), AT_ONCE):
            keys = [f"{mine}:{id}" for id in all_ids[first : first + AT_ONCE]]
            found = self._write([(delete, {"keys": keys})])
            removed += int(found[0][0])
        self._write([(UNMENTIONED, {"owner": mine})])
        return removed

    def erase(self, owner: Owner) -> int:
        """Remove everything of an owner; returns the number of nodes."""
        mine, removed = {"owner": _digest(owner), "most": AT_ONCE}, 0
        for label in ("NagoriMemory", "NagoriConcept"):
            rows = f"MATCH (n:{label} {{owner: $owner}}) WITH n LIMIT $most DETACH DELETE n RETURN count(*)"
            while count := int(self._write([(rows, mine)])[0][0]):
                removed += count
        return removed

    def close(self) -> None:
        """End the connection."""
        self._driver.close()

    def _write(self, work: Sequence[tuple[str, Mapping[str, Any]]]) -> list[tuple[Any, ...]]:
        """Run statements in one transaction; returns the rows of the last one."""

        def run(transaction: Any) -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = []
            for statement, values in work:
                rows = [tuple(record.values()) for record in transaction.run(statement, values)]
            return rows

        with self._reported(), self._driver.session(database=self._database) as session:
            self._index(session)
            return session.execute_write(run)  # type: ignore[no-any-return]

    def _index(self, session: Any) -> None:
        """Indexes save time; a server with another way to declare them works without."""
        for statement in INDEXES if not self._indexed else ():
            try:
                session.run(statement).consume()
            except self._refused as fault:
                if not str(getattr(fault, "code", "")).startswith("Neo.ClientError.Statement"):
                    raise
        self._indexed = True

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """A fault of the server as an error without its address and without the words of a memory."""
        try:
            yield
        except self._faults as fault:
            reason = getattr(fault, "code", None) or type(fault).__name__
            raise StoreError("error.graph_failed", reason=reason) from None


def _digest(owner: Owner) -> str:
    return sha256("\x1f".join(owner).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _fields(owner: str, memory: MirroredMemory) -> dict[str, Any]:
    told = {name: _plain(value) for name, value in memory.fields.items()}
    return {"key": f"{owner}:{memory.id}", "owner": owner, "id": memory.id, "version": memory.version, **told}


def _plain(text: str) -> str:
    """A text as UTF-8 can hold it."""
    return text.encode("utf-8", "replace").decode()
