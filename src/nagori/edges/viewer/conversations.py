"""Pages about conversations and their people: sessions, the threads of one session, and the profile."""

from __future__ import annotations

from typing import Any

from nagori.app import Nagori
from nagori.edges.locale import Translator
from nagori.edges.viewer.page_data import Fields, memory_rows, minute
from nagori.runtime import Progress, no_progress
from nagori.services.list_threads_and_view_working_memory import SessionInfo, ThreadSummary

MOST_TURNS = 40  # of a thread, the newest
MOST_LETTERS = 2_000  # of a turn


def show_sessions(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """The recent sessions, newest first."""
    return {"sessions": [_session_row(memory, each) for each in memory.sessions()]}


def _session_row(memory: Nagori, each: SessionInfo) -> dict[str, Any]:
    zone = memory.runtime.clock.zone
    return {
        "session": each.session,
        "project": each.project,
        "began": minute(each.began, zone),
        "latest": minute(each.latest, zone),
        "turns": each.turns,
        "threads": each.threads,
        "speakers": list(each.speakers.items()),
    }


def show_threads(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """The threads of one session, newest first, with what is kept of each."""
    session = str(fields.get("session", ""))
    found = memory.threads(session)[::-1] if session else []
    summaries = memory.runtime.store.get(memory.scope, [each.memory for each in found if each.memory])
    rows = {row["id"]: row for row in memory_rows(memory, summaries)}
    return {
        "session": session,
        "threads": [_thread(memory, translator, each, rows) for each in found],
    }


def _thread(
    memory: Nagori, translator: Translator, each: ThreadSummary, rows: dict[str, Any]
) -> dict[str, Any]:
    thread, zone = each.thread, memory.runtime.clock.zone
    shown = thread.turns[-MOST_TURNS:]
    return {
        "id": thread.id,
        "project": thread.domain,
        "began": minute(thread.began, zone),
        "latest": minute(thread.latest, zone),
        "open": thread.end is None,
        "end": translator(f"thread_end.{thread.end.value if thread.end else 'open'}"),
        "summary": rows.get(each.memory) if each.memory else None,
        "count": len(thread.turns),
        "left_out": len(thread.turns) - len(shown),
        "turns": [
            {
                "at": minute(turn.at, zone),
                "role": turn.role,
                "speaker": turn.speaker,
                "text": turn.text[:MOST_LETTERS] + ("…" if len(turn.text) > MOST_LETTERS else ""),
            }
            for turn in shown
        ],
    }


def show_profile(
    memory: Nagori, translator: Translator, fields: Fields, progress: Progress = no_progress
) -> dict[str, Any]:
    """What the memories say about the user."""
    found, zone = memory.profile(), memory.runtime.clock.zone
    known = found.relationship
    return {
        "topics": [{"name": each.name, "memories": each.memories} for each in found.topics],
        "speakers": [
            {"name": each.name, "spoke": each.spoke, "mentions": each.mentions} for each in found.speakers
        ],
        "since": known.since.astimezone(zone).date().isoformat() if known.since else None,
        "days": round(known.days),
        "sessions": known.sessions,
        "personal": known.personal,
        "depth": round(100 * known.depth),
        "memories": found.memories,
    }
