"""What the tools of the MCP server return: the part of a result that a model needs, as structured output."""

# Annotations are read when a tool is registered, so they are not postponed here.

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from nagori.core.model import Memory

LONGEST_LISTED = 2_000  # characters of a memory in an answer
KindName = Literal["episode", "fact", "decision", "lesson", "summary"]


class Shown(BaseModel):
    """A memory."""

    id: str
    text: str = Field(
        description="What is left of it; older memories are shorter. One that ends with … is cut: the"
        " resource memory://{id} has it whole."
    )
    at: datetime = Field(description="When it was said or happened.")
    kind: KindName
    said_by: str = Field(description="user, assistant, tool or import")
    level: str = Field(description="full, summary, trace or archived")
    project: str | None = None
    protected: bool = False
    superseded_by: str | None = Field(None, description="The newer memory that holds instead.")
    confidence: float | None = Field(None, description="0 to 1: how surely it is about the question.")


class Shortlist(BaseModel):
    """Memories, best or newest first."""

    memories: list[Shown]


class Block(BaseModel):
    """Text to read before answering; empty if nothing fits."""

    text: str
    ids: list[str]


class Reasons(BaseModel):
    """Why a memory is as it is."""

    memory: Shown
    retention: float = Field(description="0 to 100: how strong it is now.")
    days: float = Field(description="Its age since it was last reinforced.")
    forecast: list[str] = Field(description="When it will become shorter, if nobody recalls it.")
    history: list[str] = Field(description="What happened to it, oldest first.")
    related: list[str] = Field(description="Ids of related memories.")


class Forgotten(BaseModel):
    """What was forgotten; or the memories that could be meant, if nothing was."""

    forgotten: Shown | None = None
    candidates: list[Shown] = []


class Passage(BaseModel):
    """A passage of a document, and where it stands."""

    text: str
    source: str = Field(description="Knowledge base, document, page and headings: name it in your answer.")
    confidence: float = Field(description="0 to 1: how surely it is about the question.")


class Passages(BaseModel):
    """Passages, best first; if there are none, the knowledge bases that exist."""

    passages: list[Passage]
    bases: list[str] = []


class SessionShown(BaseModel):
    """A conversation of the last time."""

    session: str
    latest: datetime
    turns: int
    threads: int = Field(description="How many topics it had, one after the other.")
    about: str = Field(description="A few of its own sentences; empty if nothing was worth keeping.")


class ProfileShown(BaseModel):
    """What the memories tell about the user."""

    topics: list[str] = Field(description="What most memories speak of, most first.")
    people: list[str] = Field(description="Who spoke by name, most first.")
    since: datetime | None = Field(description="When the first of them was made.")
    memories: int
    sessions: list[SessionShown] = Field(description="The last ones, newest first.")


def show(
    memory: Memory, confidence: float | None = None, *, whole: bool = False, text: str | None = None
) -> Shown:
    """A memory as a client sees it, in the words that its level shows or in `text`. A long one is cut unless
    it is asked for by its id: clients refuse large answers."""
    text = memory.text.whole if text is None else text
    cut = not whole and len(text) > LONGEST_LISTED
    return Shown(
        id=memory.id,
        text=f"{text[:LONGEST_LISTED]}…" if cut else text,
        at=memory.created,
        kind=str(memory.kind),  # type: ignore[arg-type]
        said_by=str(memory.trust),
        level=memory.level.name.lower(),
        project=memory.project,
        protected=memory.protected,
        superseded_by=memory.superseded_by,
        confidence=confidence,
    )
