"""nagori as a memory to be scored on lives: what an agent is given days and months after somebody told it.

`class Memory` is what the scorer asks for. It uses the public verbs alone (`turn`, `process`,
`session_start`, `context`, `cycle`, `why`, `list`), with the real local embedder and a clock that stands
where the life is.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from nagori import Filter, Level, Nagori
from nagori.config import Config
from nagori.core.model import Memory as Kept
from nagori.testing import FrozenClock

FOREVER = float("inf")
MANY = 1_000_000
START = "\f"  # before it what the session start gave, after it what the prompt brought
CACHE = Path(os.environ.get("LIVES_CACHE", Path(__file__).parent.parent / "out" / "lives"))


class CachedEmbedder:
    """The bundled embedder; a text's vector is computed once and kept on disk."""

    def __init__(self) -> None:
        from nagori.adapters.embed import open_embedder

        real = open_embedder(Config().embedding)
        assert real is not None, "the local embedder is not installed"
        self._real = real
        self.model, self.dimension, self.unrelated = real.model, real.dimension, real.unrelated
        CACHE.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(CACHE / "vectors.db", timeout=60, isolation_level=None)
        self._db.execute("CREATE TABLE IF NOT EXISTS v (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID")

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        return [self._vector("p", text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        return self._vector("q", text)

    def _vector(self, how: str, text: str) -> bytes:
        key = hashlib.sha256(f"{how}{text}".encode("utf-8", "replace")).digest()
        row = self._db.execute("SELECT v FROM v WHERE k = ?", (key,)).fetchone()
        if row:
            return bytes(row[0])
        vector = self._real.embed_query(text) if how == "q" else self._real.embed_passages([text])[0]
        self._db.execute("INSERT OR IGNORE INTO v VALUES (?, ?)", (key, vector))
        return vector


_EMBEDDER: list[CachedEmbedder] = []


def _embedder() -> CachedEmbedder:
    if not _EMBEDDER:
        _EMBEDDER.append(CachedEmbedder())
    return _EMBEDDER[0]


class Memory:
    """One life in one folder."""

    def __init__(self, folder: str, timezone: str) -> None:
        self.told: list[str] = []  # what the memory says it did
        self.clock = FrozenClock(zone=ZoneInfo(timezone))
        self.memory = Nagori.open(
            folder,
            clock=self.clock,
            config=Config(),
            embedder=self.embedder(),  # type: ignore[arg-type]
            llm=None,
            observe=lambda what, **_: self.told.append(what),  # type: ignore[arg-type]
        )
        self.begun: set[str] = set()

    def embedder(self) -> CachedEmbedder | None:
        return _embedder()

    def close(self) -> None:
        self.memory.close()

    # --- the life

    def tell(self, at: datetime, session: str, project: str | None, user: str, assistant: str) -> None:
        here = self._at(at, project)
        if session not in self.begun:
            self.begun.add(session)
            here.session_start(session)
        turn = here.turn(user, session=session)
        here.context(user, session=session)
        self._at(at + timedelta(seconds=40), project)
        turn.answer(assistant)
        here.process()

    def end_session(self, at: datetime, session: str, project: str | None) -> None:
        self._at(at, project).process()

    def night(self, at: datetime) -> None:
        self._at(at).cycle()

    def context(self, at: datetime, session: str, project: str | None, prompt: str) -> str:
        here = self._at(at, project)
        start = here.session_start(session).text  # noted, as a host does: nothing is told twice
        return f"{start}{START}{here.context(prompt, session=session, mark=False).text}"

    def size(self) -> int:
        return sum(len(each.text.whole) for each in self._all())

    # --- single statements

    def lifetime(self, text: str, at: datetime) -> float:
        """Days until the longest-lived part of it is archived, if nobody recalls it."""
        self.tell(at, "single", None, text, "OK.")
        kept = [each for each in self._all() if each.trust == "user"]
        return max((self._days(each, at) for each in kept), default=0.0)

    def _days(self, each: Kept, at: datetime) -> float:
        leaves = None if each.protected else dict(self.memory.why(each.id).forecast).get(Level.ARCHIVED)
        return FOREVER if leaves is None else (leaves - at) / timedelta(days=1)

    def wish(self, text: str, at: datetime) -> str:
        """What the memory does about it: something is gone, something is protected, the turn is not kept."""
        before = {each.id for each in self._all()}
        self.told.clear()
        self.tell(at, "w1", None, text, "OK.")
        after = {each.id: each for each in self._all()}
        if before - after.keys():
            return "forget"
        if any(each.protected for each in after.values()):
            return "keep"
        return "not_keep" if "wish.not_kept" in self.told else "none"

    def outdated(self) -> list[str]:
        return [each.texts[min(each.texts)].whole for each in self._all() if each.superseded_by]

    # --- how

    def _at(self, at: datetime, project: str | None = None) -> Nagori:
        self.clock.set(at.astimezone(UTC))
        return self.memory.with_scope(project=f"/projects/{project}" if project else None)

    def _all(self) -> list[Kept]:
        return self.memory.list(Filter(), limit=MANY)


class ByWords(Memory):
    """The same without an embedder."""

    def embedder(self) -> None:
        return None
