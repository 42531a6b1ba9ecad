"""Data types of a hook: a host's call (`Moment`) and our answer (`Answer`).

Hosts have thirty names for a dozen events. All other modules know only these.
"""

from __future__ import annotations

from enum import StrEnum

from nagori.core.value_object import Value

QUICK = "local"  # the only embedder that is fast enough for a hook


class At(StrEnum):
    """The kinds of calls."""

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
    event: str  # the host's event name
    host: str
    session: str
    folder: str | None = None  # working folder
    text: str = ""
    ref: str | None = None  # the host's id of this turn
    speaker: str | None = None  # a subagent, by its type
    agent: str | None = None  # the id of that subagent
    transcript: str | None = None
    tool: str | None = None
    target: str = ""  # target of the tool: a file, a command
    error: str = ""
    source: str | None = None  # how the session started
    ms: int = 0  # how long the tool took


class Answer(Value):
    """The answer: `context` for the model, `notice` for the user."""

    context: str = ""
    notice: str = ""


SILENCE = Answer()
