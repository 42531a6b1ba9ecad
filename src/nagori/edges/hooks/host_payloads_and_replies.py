"""Decode the events of each host and encode the answers.

A new host is one entry: its events, its fields, its answer format. Missing fields and wrong types count as
absent. An unknown event gets no answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from nagori.core.value_object import Value, clean_text
from nagori.edges.hooks.call_types import Answer, At, Moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Payload = Mapping[str, Any]

LONGEST = 1_000_000  # maximum characters of one text
MOST_MS = 10**9
TARGETS = (
    "file_path",
    "notebook_path",
    "path",
    "command",
    "pattern",
    "url",
    "query",
    "prompt",
    "description",
)


class HostFormat(Value):
    """How to decode and answer one host. `fields` list where a value may be, the first match wins; a dot
    descends into an object."""

    events: Mapping[str, At]
    fields: Mapping[str, tuple[str, ...]]
    answer: Callable[[str, Moment, Answer], Payload]


# --- reading --------------------------------------------------------------------------------------

USUAL = {
    "event": ("hook_event_name", "hookEventName", "event"),
    "session": ("session_id", "sessionId", "conversation_id", "thread_id"),
    "folder": ("cwd", "workspace_root"),
    "prompt": ("prompt",),
    "answer": ("last_assistant_message", "prompt_response", "text", "response"),
    "ref": ("prompt_id", "turn_id", "generation_id"),
    "summary": ("compact_summary", "summary"),
    "transcript": ("transcript_path", "transcriptPath"),
    "speaker": ("agent_type", "agentType", "subagent_type"),
    "agent": ("agent_id", "agentId"),
    "tool": ("tool_name", "toolName"),
    "error": ("error", "error_message"),
    "source": ("source", "reason"),
}
GEMINI = USUAL | {"error": ("tool_response.error.message", "tool_response.error")}
CURSOR = USUAL | {"answer": ("text", "summary")}  # of the agent, or of a subagent
COPILOT = USUAL | {"speaker": ("agentName",)}
SAID = {
    At.PROMPT: "prompt",
    At.TURN_END: "answer",
    At.SUBAGENT_END: "answer",
    At.COMPACTED: "summary",
}


def moment(name: str, payload: Payload, event: str | None = None) -> Moment | None:
    """The call in a payload, or None if it does not concern us."""
    host = HOSTS[name]

    def said(field: str, most: int = LONGEST) -> str:
        for place in host.fields[field]:
            value = _value_at(payload, place)
            if isinstance(value, str) and value:
                return _whole(value[:most])
        return ""

    def short(field: str, most: int = 200) -> str:
        """A storable short text: a lone surrogate would keep the whole turn out of the journal."""
        return " ".join(clean_text(said(field, most)).split())

    called = event or said("event", 100)
    at = host.events.get(called)
    session = short("session")
    if at is None or not session:
        return None
    if at is At.PROMPT and payload.get("agent_id"):
        return None  # a model's instruction to a subagent, not a user's words
    failed = said("error", 20_000)
    if at is At.TOOL_DONE and failed:  # hosts with one event for success and failure
        at = At.TOOL_FAILED
    folders = payload.get("workspace_roots")
    first = folders[0] if isinstance(folders, list) and folders and isinstance(folders[0], str) else None
    return Moment(
        at=at,
        event=called,
        host=name,
        session=session,
        folder=said("folder", 4096) or first,
        text=said(SAID[at]) if at in SAID else "",
        ref=short("ref") or None,
        speaker=short("speaker", 100) or None,
        agent=short("agent", 100) or None,
        transcript=clean_text(said("transcript", 4096)) or None,
        tool=short("tool", 100) or None,
        target=_target(payload.get("tool_input") or payload.get("toolArgs")),
        error=failed,
        source=said("source", 100) or None,
        ms=_milliseconds(payload),
    )


def _milliseconds(payload: Payload) -> int:
    """How long a tool took; 0 if the host does not say."""
    value = payload.get("duration_ms", payload.get("duration"))
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_MS
    return int(value) if known else 0


def _value_at(payload: object, place: str) -> object:
    """The value at a path such as `tool_response.error`."""
    for name in place.split("."):
        payload = payload.get(name) if isinstance(payload, dict) else None
    return payload


def _whole(text: str) -> str:
    """`text` as it can be stored: JSON may contain half a surrogate pair."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _target(tool_input: object) -> str:
    """The target of a tool call, in one line."""
    if isinstance(tool_input, str) and tool_input.startswith("{"):  # Copilot: JSON in a string
        try:
            tool_input = json.loads(tool_input)
        except (ValueError, RecursionError):
            return ""
    if not isinstance(tool_input, dict):
        return ""
    for name in TARGETS:
        value = tool_input.get(name)
        if isinstance(value, str) and value.strip():
            return _whole(" ".join(value[:2000].split())[:300])
    return ""


def guess(payload: Payload) -> str:
    """The host, recognised by its specific fields."""
    if "conversation_id" in payload or "workspace_roots" in payload:
        return "cursor"
    if "sessionId" in payload:
        return "copilot"
    event = payload.get("hook_event_name")
    if isinstance(event, str) and event in GEMINI_EVENTS and event not in CLAUDE_EVENTS:
        return "gemini"
    if "turn_id" in payload and "model" in payload:
        return "codex"
    return "claude-code" if "hook_event_name" in payload else "raw"


# --- answering ------------------------------------------------------------------------------------


def reply(name: str, moment: Moment, answer: Answer) -> str:
    """The output: one line of JSON, or nothing."""
    said = HOSTS[name].answer(moment.event, moment, answer)
    return json.dumps(said, ensure_ascii=True) if said else ""


def _claude(event: str, moment: Moment, answer: Answer) -> Payload:
    said: dict[str, Any] = {}
    if answer.notice:
        said["systemMessage"] = answer.notice
    if answer.context and moment.at in (At.SESSION_START, At.PROMPT, At.BEFORE_TOOL):
        said["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": answer.context}
    return said


def _gemini(event: str, moment: Moment, answer: Answer) -> Payload:
    return _claude(event, moment, answer) or {"suppressOutput": True}  # this host always expects JSON


def _cursor(event: str, moment: Moment, answer: Answer) -> Payload:
    if moment.at is At.PROMPT:
        return {"continue": True}  # this event takes neither context nor notice
    return {"additional_context": answer.context} if answer.context else {}


def _copilot(event: str, moment: Moment, answer: Answer) -> Payload:
    return {"additionalContext": answer.context} if answer.context else {}


def _raw(event: str, moment: Moment, answer: Answer) -> Payload:
    return {"context": answer.context, "notice": answer.notice}


# --- the table ------------------------------------------------------------------------------------

CLAUDE_EVENTS = {
    "SessionStart": At.SESSION_START,
    "UserPromptSubmit": At.PROMPT,
    "PreToolUse": At.BEFORE_TOOL,
    "PostToolUse": At.TOOL_DONE,
    "PostToolUseFailure": At.TOOL_FAILED,
    "Stop": At.TURN_END,
    "SubagentStop": At.SUBAGENT_END,
    "PreCompact": At.BEFORE_COMPACTION,
    "PostCompact": At.COMPACTED,
    "SessionEnd": At.SESSION_END,
}
GEMINI_EVENTS = {
    "SessionStart": At.SESSION_START,
    "BeforeAgent": At.PROMPT,
    "BeforeTool": At.BEFORE_TOOL,
    "AfterTool": At.TOOL_DONE,
    "AfterAgent": At.TURN_END,
    "PreCompress": At.BEFORE_COMPACTION,
    "SessionEnd": At.SESSION_END,
}
CURSOR_EVENTS = {
    "sessionStart": At.SESSION_START,
    "beforeSubmitPrompt": At.PROMPT,
    "preToolUse": At.BEFORE_TOOL,
    "postToolUse": At.TOOL_DONE,
    "postToolUseFailure": At.TOOL_FAILED,
    "afterAgentResponse": At.TURN_END,
    "subagentStop": At.SUBAGENT_END,
    "preCompact": At.BEFORE_COMPACTION,
    "sessionEnd": At.SESSION_END,
}
COPILOT_EVENTS = {
    "sessionStart": At.SESSION_START,
    "userPromptSubmitted": At.PROMPT,
    "preToolUse": At.BEFORE_TOOL,
    "postToolUse": At.TOOL_DONE,
    "postToolUseFailure": At.TOOL_FAILED,
    "agentStop": At.TURN_END,
    "subagentStop": At.SUBAGENT_END,
    "preCompact": At.BEFORE_COMPACTION,
    "sessionEnd": At.SESSION_END,
}
HOSTS: dict[str, HostFormat] = {
    "claude-code": HostFormat(CLAUDE_EVENTS, USUAL, _claude),
    "codex": HostFormat(CLAUDE_EVENTS, USUAL, _claude),
    "gemini": HostFormat(GEMINI_EVENTS, GEMINI, _gemini),
    "cursor": HostFormat(CURSOR_EVENTS, CURSOR, _cursor),
    "copilot": HostFormat(COPILOT_EVENTS, COPILOT, _copilot),
    "raw": HostFormat({at.value: at for at in At} | CLAUDE_EVENTS, USUAL, _raw),
}
