"""The nouns of a hook: what a host says (`Moment`), what we say back (`Answer`).

Hosts have thirty names for a dozen moments. Everything behind this file knows only these.
"""

from __future__ import annotations

from enum import StrEnum

from nagori.core.values import Value


class At(StrEnum):
    """When a host calls."""

    SESSION_START = "session start"
    PROMPT = "prompt"
    BEFORE_TOOL = "before tool"
    TOOL_DONE = "tool done"
    TOOL_FAILED = "tool failed"
    TURN_END = "turn end"
    SUBAGENT_END = "subagent end"
    BEFORE_COMPACTION = "before compaction"
    COMPACTED = "compacted"
    SESSION_END = "session end"


class Moment(Value):
    """One call of a host. `text` is what was said: the prompt, the answer, the recap."""

    at: At
    event: str  # the host's own name for it
    host: str
    session: str
    folder: str | None = None  # where the user works
    text: str = ""
    ref: str | None = None  # the host's own name for this turn
    speaker: str | None = None  # a subagent
    transcript: str | None = None
    tool: str | None = None
    target: str = ""  # what the tool was used on: a file, a command
    error: str = ""
    source: str | None = None  # how a session began


class Answer(Value):
    """What the host may show: `context` to the model, `notice` to the user."""

    context: str = ""
    notice: str = ""


SILENCE = Answer()
