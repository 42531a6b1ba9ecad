"""Serve the viewer: its files, the words of its language, its pages and what its buttons do.

Files and words are the same for everybody and need no token. Everything else asks `run_verb` who is calling.
Host and Origin were checked before (`http.app.Guard`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from nagori.edges.http.access import Refused
from nagori.edges.http.app import authenticated, run_verb
from nagori.edges.http.replies import NO_CACHE, json_reply, language_of
from nagori.edges.locale import Translator
from nagori.edges.viewer.changes import CHANGES
from nagori.edges.viewer.pages import PAGES, Fields, show_health
from nagori.errors import InvalidInput, NagoriError
from nagori.messages import LANGUAGES, table
from nagori.services.doctor import Finding

Findings = Callable[[], Sequence[Finding]]  # about this machine: hosts, scheduler

TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
# Nothing but our own files runs; nothing is loaded from or sent to anywhere else; nobody may frame the page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
FILE_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}
# Tables of the catalogue that the page says itself. Sentences with numbers in them are said here.
TABLES = ("view", "level", "kind", "category", "step", "chart")
LOOK_SECONDS = 0.5  # between two looks at the journal for a page that follows it
BEAT = 30  # looks after which the connection is used although nothing happened


def no_findings() -> Sequence[Finding]:
    """Nothing is known about the machine of the server."""
    return ()


def make_routes(findings: Findings = no_findings) -> list[BaseRoute]:
    """The routes of the viewer, for `create_app`."""

    async def health(request: Request) -> Response:
        translator = Translator(language_of(request))
        shown = await run_verb(request, lambda memory: show_health(memory, translator, findings()))
        return json_reply(shown)

    return [
        Route("/view", _redirect),
        Route("/view/api/words", _words),
        Route("/view/api/live", _follow),
        Route("/view/api/health", health),
        Route("/view/api/{name}", _page, methods=["GET", "POST"]),
        Route("/view/api/do/{name}", _change, methods=["POST"]),
        Route("/view/{name:path}", _file),
    ]


# --- files and words ------------------------------------------------------------------------------


@cache
def static_files() -> Mapping[str, bytes]:
    """The files of the page by name. Only these are served, so no name can lead elsewhere."""
    root = files("nagori.edges.viewer").joinpath("static")
    folders = {"": root, "vendor/": root.joinpath("vendor")}
    return {
        prefix + each.name: each.read_bytes()
        for prefix, folder in folders.items()
        for each in folder.iterdir()
        if each.is_file()
    }


async def _redirect(request: Request) -> Response:
    return RedirectResponse("/view/", headers=FILE_HEADERS)


async def _file(request: Request) -> Response:
    name = request.path_params["name"] or "index.html"
    content = static_files().get(name)
    if content is None:
        raise Refused(404, "error.http_path")
    return Response(content, 200, FILE_HEADERS, TYPES[name[name.rfind(".") :]])


async def _words(request: Request) -> Response:
    """The words of the page in the caller's language, and the names of all languages."""
    language = language_of(request)
    words = {f"{name}.{key}": text for name in TABLES for key, text in table(language, name).items()}
    names = {each: Translator(each)("view.language_name") for each in LANGUAGES}
    return json_reply({"language": language, "languages": names, "words": words})


# --- pages and changes ----------------------------------------------------------------------------


async def _page(request: Request) -> Response:
    show = PAGES.get(request.path_params["name"])
    if show is None:
        raise Refused(404, "error.http_path")
    fields = dict(request.query_params) if request.method == "GET" else await _fields(request)
    translator = Translator(language_of(request))
    return json_reply(await run_verb(request, lambda memory: show(memory, translator, fields)))


async def _change(request: Request) -> Response:
    change = CHANGES.get(request.path_params["name"])
    if change is None:
        raise Refused(404, "error.http_path")
    fields = await _fields(request)
    translator = Translator(language_of(request))
    return json_reply(await run_verb(request, lambda memory: change(memory, translator, fields)))


async def _fields(request: Request) -> Fields:
    """The fields of a request. A form of another page cannot send this type."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise InvalidInput("body", "error.not_object")
    try:
        fields: Any = msgspec.json.decode(await request.body())
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise InvalidInput("body", "error.http_body", reason=str(fault)) from None
    if not isinstance(fields, dict):
        raise InvalidInput("body", "error.not_object")
    return fields


# --- what happens while the page is open ----------------------------------------------------------


async def _follow(request: Request) -> Response:
    """A stream of events (SSE): the number of the newest event of the journal, whenever it changes."""
    await authenticated(request)
    headers = {**NO_CACHE, "x-accel-buffering": "no"}
    return StreamingResponse(_newest_events(request), headers=headers, media_type="text/event-stream")


async def _newest_events(request: Request) -> AsyncIterator[str]:
    last, looks = -1, 0
    try:
        memory = await authenticated(request)
        while not getattr(request.app.state, "closing", False):
            newest = await anyio.to_thread.run_sync(memory.runtime.journal.last_seq, memory.scope.owner)
            looks += 1
            if newest != last:
                yield f"event: changed\ndata: {newest}\n\n"
                last = newest
            elif looks % BEAT == 0:
                memory = await authenticated(request)  # a key that was revoked ends here
                yield ": beat\n\n"
            await anyio.sleep(LOOK_SECONDS)
    except NagoriError:  # closed, or no longer allowed: the page asks again and is told
        return
