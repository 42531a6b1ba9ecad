"""Turn results and errors into JSON replies.

`wire.py` has the form of values. An error is `{"error": {"type", "id", "field",
"values", "message"}}`, as for `--json`; its words are in the caller's language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from nagori import errors
from nagori.edges.http.access import Refused
from nagori.edges.http.wire import to_plain
from nagori.errors import NagoriError, Notice
from nagori.messages import ENGLISH, LANGUAGES

STATUS: tuple[tuple[type[NagoriError], int], ...] = (
    (errors.InvalidInput, 400),
    (errors.NotFound, 404),
    (errors.LimitReached, 409),
    (errors.Conflict, 409),
    (errors.MemoryErased, 410),
    (errors.ModelError, 502),
    (errors.StoreError, 503),
    (errors.JournalError, 503),
    (errors.MemoryClosed, 503),
)
# Input that is right in itself, but not for the memory as it is now.
STATE = frozenset(
    (
        *("error.nothing_to_change", "error.nothing_to_undo", "error.archive_protected"),
        *("error.not_erased", "error.erase_nothing", "error.policy_first"),
        "error.no_agent",  # in the scope of this caller
        *("error.tokens_beside", "error.window", "error.unknown_in_format"),  # for the window as it is set
    )
)
NO_CACHE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def encode(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=to_plain)


def json_reply(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A reply with a JSON body. Nobody on the way may keep it."""
    return Response(encode(value), status, {**NO_CACHE, **(headers or {})}, "application/json")


def status_of(error: NagoriError) -> int:
    if isinstance(error, Refused):
        return error.status
    if error.message_id in STATE:
        return 409
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def error_reply(request: Request, error: Exception) -> Response:
    """The reply to a request that failed. An error that is not ours says nothing about itself."""
    if not isinstance(error, NagoriError):
        error = Refused(500, "error.http_bug")
    status, headers = status_of(error), {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (429, 503):
        headers["retry-after"] = str(int(getattr(error, "wait", None) or 1))
    return json_reply({"error": error_record(error, language_of(request))}, status, headers)


def error_record(error: NagoriError, language: str) -> dict[str, Any]:
    """An error as programs and people read it."""
    record: dict[str, Any] = {
        "type": type(error).__name__,
        "id": error.message_id,
        "field": getattr(error, "field", None),
        "values": Notice(error.message_id, **error.values).to_record()["values"],
        "message": error.in_language(language),
    }
    if isinstance(error, errors.LimitReached):
        record["candidates"] = list(error.candidates)
    return record


def language_of(request: Request) -> str:
    """The first language of Accept-Language that we speak."""
    for wish in request.headers.get("accept-language", "").split(","):
        name = wish.split(";")[0].strip().lower()[:2]
        if name in LANGUAGES:
            return name
    return ENGLISH
