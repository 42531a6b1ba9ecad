"""Routes that answer piece by piece: the export, and what happens to memories as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import islice
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from nagori.app import Nagori
from nagori.edges.http.access import Refused
from nagori.edges.http.replies import NO_CACHE, encode
from nagori.edges.http.verb_runner import authenticated, in_thread, run_verb
from nagori.errors import InvalidInput, NagoriError

LINES_AT_ONCE = 200
EVENTS_AT_ONCE = 200
MOST_STREAMS = 100  # of events, for one server
POLL_SECONDS = 1.0
CHECK_POLLS = 15  # polls between two looks at the key, and between two signs of life


async def export(request: Request) -> Response:
    """All memories, line by line."""
    format = request.query_params.get("format", "jsonl")
    lines = await run_verb(request, lambda memory: memory.export(format))  # type: ignore[arg-type]
    kind = "text/markdown" if format == "markdown" else "application/x-ndjson"
    return StreamingResponse(_pieces(request, lines), headers=NO_CACHE, media_type=f"{kind}; charset=utf-8")


async def _pieces(request: Request, lines: Iterator[str]) -> AsyncIterator[bytes]:
    while piece := await in_thread(request, lambda: [*islice(lines, LINES_AT_ONCE)]):
        yield "".join(f"{line}\n" for line in piece).encode()


async def events(request: Request) -> Response:
    """What happens to the caller's memories from now on, or after the event `Last-Event-ID`. An event names
    the memories; it holds none of their words."""
    state = request.app.state
    state.streams = getattr(state, "streams", 0)
    if state.streams >= MOST_STREAMS:
        raise Refused(429, "error.http_streams", n=MOST_STREAMS)
    memory = await authenticated(request)
    last = request.headers.get("last-event-id") or request.query_params.get("after")
    if last is not None and not (last.isascii() and last.isdecimal() and len(last) < 16):
        raise InvalidInput("after", "error.not_count", value=last)
    start = await in_thread(request, lambda: memory.runtime.journal.last_seq(memory.scope.owner))
    stream = _events(request, memory, start if last is None else int(last))
    return StreamingResponse(stream, headers=NO_CACHE, media_type="text/event-stream")


async def _events(request: Request, memory: Nagori, last: int) -> AsyncIterator[bytes]:
    state = request.app.state
    state.streams += 1
    try:
        for poll in range(10**9):
            if poll % CHECK_POLLS == 0:
                memory = await authenticated(request)  # a revoked key ends the stream
                yield b": alive\n\n"
            for seq, event in await in_thread(request, partial(read_events, memory, last)):
                yield b"id: %d\ndata: %s\n\n" % (seq, encode(event))
                last = seq
            if await request.is_disconnected():
                return
            await anyio.sleep(POLL_SECONDS)
    except NagoriError:
        return
    finally:
        state.streams -= 1


def read_events(memory: Nagori, after: int) -> list[tuple[int, dict[str, Any]]]:
    """The visible events after a number, oldest first."""
    if memory.runtime.journal.last_seq(memory.scope.owner) <= after:
        return []
    found = [each for each in memory.log(limit=EVENTS_AT_ONCE) if each.event.seq > after]
    return [
        (
            each.event.seq,
            {
                "seq": each.event.seq,
                "type": each.event.type,
                "at": each.event.at,
                "memories": [*each.memories],
            },
        )
        for each in reversed(found)
    ]


STREAMS = (Route("/v1/export", export), Route("/v1/events", events))
