"""Serve the viewer: its files, the words of its language, its pages and what its buttons do.

Files and words are the same for everybody and need no token. Everything else asks `run_verb` who is calling.
Host and Origin were checked before (`http.app.Guard`). What happens meanwhile is told by `/v1/events`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from nagori.app import Nagori
from nagori.edges.http.access import Refused
from nagori.edges.http.replies import json_reply, language_of
from nagori.edges.http.verb_runner import run_verb
from nagori.edges.locale import Translator
from nagori.edges.viewer.actions import CHANGES
from nagori.edges.viewer.connections import show_connections
from nagori.edges.viewer.conversations import show_profile, show_sessions, show_threads
from nagori.edges.viewer.knowledge import show_knowledge
from nagori.edges.viewer.levels_plan_costs import show_costs, show_levels, show_life, show_plan, show_policy
from nagori.edges.viewer.page_data import (
    Fields,
    show_context,
    show_frame,
    show_health,
    show_memory,
    show_timeline,
)
from nagori.edges.viewer.slow_page_cache import BackgroundPage, Compute
from nagori.errors import InvalidInput
from nagori.messages import LANGUAGES, table
from nagori.services.doctor import Finding

Findings = Callable[[], Sequence[Finding]]  # about this machine: hosts, scheduler
Answer = Callable[[Nagori, Translator, Fields], dict[str, Any]]

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
# What concerns everything of a user, as under /v1.
WHOLE = frozenset({"plan", "policy", "policy_back", "policy_off", "cycle", "erasure", "erase"})
PAGES: Mapping[str, Answer] = {
    "frame": show_frame,
    "timeline": show_timeline,
    "context": show_context,
    "memory": show_memory,
    "sessions": show_sessions,
    "threads": show_threads,
    "life": show_life,
    "policy": show_policy,
}
LONG_PAGES: Mapping[str, Compute] = {  # they look at every memory, or at many
    "plan": show_plan,
    "levels": show_levels,
    "profile": show_profile,
    "connections": show_connections,
}
# What concerns all users of a machine or of a tenant, for the person at the machine.
MACHINE_PAGES: Mapping[str, Answer] = {"costs": show_costs, "knowledge": show_knowledge}


def no_findings() -> Sequence[Finding]:
    """Nothing more is known about this machine."""
    return ()


def make_routes(findings: Findings | None = None) -> list[BaseRoute]:
    """The routes of the viewer, for `create_app`. With `findings` the pages about this machine are among
    them, its health and costs; a server with many users leaves them out."""
    pages: dict[str, Answer] = {**PAGES, **{name: BackgroundPage(each) for name, each in LONG_PAGES.items()}}
    if findings is not None:
        pages |= {**MACHINE_PAGES, "health": _health(findings)}

    async def page(request: Request) -> Response:
        name = request.path_params["name"]
        fields = dict(request.query_params) if request.method == "GET" else await _fields(request)
        shown = await _answer(request, pages, name, fields)
        return json_reply({**shown, "pages": sorted(pages)} if name == "frame" else shown)

    return [
        Route("/view", _redirect),
        Route("/view/api/words", _words),
        Route("/view/api/{name}", page, methods=["GET", "POST"]),
        Route("/view/api/do/{name}", _change, methods=["POST"]),
        Route("/view/{name:path}", _file),
    ]


def _health(findings: Findings) -> Answer:
    return lambda memory, translator, fields: show_health(memory, translator, findings())


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


async def _change(request: Request) -> Response:
    return json_reply(await _answer(request, CHANGES, request.path_params["name"], await _fields(request)))


async def _answer(
    request: Request, answers: Mapping[str, Answer], name: str, fields: Fields
) -> dict[str, Any]:
    """What a page shows or a change did, for whoever is calling."""
    answer = answers.get(name)
    if answer is None:
        raise Refused(404, "error.http_path")
    translator = Translator(language_of(request))
    return await run_verb(request, lambda memory: answer(memory, translator, fields), whole=name in WHOLE)


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
