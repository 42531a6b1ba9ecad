"""How far the worker has come in a journal, and what it must know to go on.

Derived, like everything but the journal: if the file is lost the journal is read again from its beginning,
which gives every turn the same number and the same id, so nothing is kept twice.
"""

from __future__ import annotations

import json
from pathlib import Path
from zlib import crc32

from nagori.core.bookkeeping import START, Cursor
from nagori.core.values import Value, fresh
from nagori.paths import write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "drained.json"
REMEMBERED = 50  # turns of a session by which one told twice is known
MOST_SESSIONS = 500


class Talk(Value, frozen=False):
    """A session as far as it was heard."""

    turns: int = 0
    seen: list[int] = fresh(list)
    unanswered: dict[str, Any] | None = None  # the last prompt, until its answer is heard

    def is_new(self, ref: str, speaker: str, text: str) -> bool:
        """Whether this was not heard before: two hooks for one event say the same, and so does a line that
        was taken in twice because a crash came in between. `ref` is the turn's name, or else its time."""
        mark = crc32(f"{ref}\x1f{speaker}\x1f{text}".encode("utf-8", "surrogatepass"))
        if mark in self.seen:
            return False
        self.seen = [*self.seen, mark][-REMEMBERED:]
        return True


class Drained(Value, frozen=False):
    path: Path
    cursor: Cursor = START
    talks: dict[str, Talk] = fresh(dict)

    @classmethod
    def of(cls, folder: Path) -> Drained:
        path = folder / FILE
        try:
            known = json.loads(path.read_bytes())
            talks = {
                str(name): Talk(int(talk["turns"]), [int(mark) for mark in talk["seen"]], talk["unanswered"])
                for name, talk in known["talks"].items()
            }
            return cls(path, Cursor(*map(int, known["cursor"])), talks)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(path)

    def talk(self, session: str) -> Talk:
        """The session, moved to the end: who spoke last is remembered longest."""
        talk = self.talks.pop(session, None) or Talk()
        self.talks[session] = talk
        if len(self.talks) > MOST_SESSIONS:  # here, so that reading all again forgets the same ones
            del self.talks[next(iter(self.talks))]
        return talk

    def save(self) -> None:
        said = {
            "cursor": [self.cursor.segment, self.cursor.offset, self.cursor.seq],
            "talks": {
                name: {"turns": talk.turns, "seen": talk.seen, "unanswered": talk.unanswered}
                for name, talk in self.talks.items()
            },
        }
        write_private(self.path, json.dumps(said).encode())
