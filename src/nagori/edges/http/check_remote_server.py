"""Examine a server from another machine: whether it answers, its version, its clock, and our key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from nagori import __version__
from nagori.edges.http.client import ServerConnection
from nagori.errors import NagoriError, Notice
from nagori.services.doctor import CLOCKS_APART, Finding, make_finding

SECONDS = 10.0  # for each question


def examine_server(url: str, read_key: Callable[[], str]) -> Iterator[Finding]:
    """Findings about a server, in the order in which they matter. The key is sent to `/v1/status` alone, and
    is shown nowhere."""
    try:
        line = ServerConnection(url, "", SECONDS)
        with line.open("GET", "/health") as answer:
            date = answer.headers.get("date")
        version = _version_of(line.ask("GET", "/openapi.json"))
    except NagoriError as trouble:
        yield make_finding("server", "fail", "doctor.server_away", None, url=url, trouble=trouble.notice)
        return
    yield make_finding("server", "ok", "doctor.server", url=url, version=version)
    if version != __version__:
        told = {"url": url, "version": version, "own": __version__}
        yield make_finding("server", "warn", "doctor.server_version", None, **told)
    yield from _compare_clocks(date)
    try:
        line.ask("GET", "/ready")
    except NagoriError as trouble:
        yield make_finding("server", "fail", "doctor.server_not_ready", None, url=url, trouble=trouble.notice)
    try:
        key = read_key()
    except NagoriError as trouble:
        yield make_finding("keys", "fail", "doctor.server_no_key", None, url=url, trouble=trouble.notice)
        return
    try:
        ServerConnection(url, key, SECONDS).ask("GET", "/v1/status")
        yield make_finding("keys", "ok", "doctor.server_key", url=url)
    except NagoriError as trouble:
        if (
            getattr(trouble, "status", None) == 400
        ):  # a key for any user: it is valid, and names nobody itself
            yield make_finding("keys", "ok", "doctor.server_key", url=url)
        else:
            remedy = Notice("doctor.do_new_key")
            values: dict[str, object] = {"url": url, "trouble": trouble.notice}
            yield make_finding("keys", "fail", "doctor.server_key_refused", remedy, **values)


def _version_of(document: Any) -> str:
    try:
        return str(document["info"]["version"])
    except (KeyError, TypeError):  # not a server of ours
        return "?"


def _compare_clocks(date: str | None) -> Iterator[Finding]:
    try:
        ahead = (parsedate_to_datetime(date or "") - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):  # it told no time
        return
    if abs(ahead) > CLOCKS_APART:
        remedy = Notice("doctor.do_set_clock")
        yield make_finding("clock", "warn", "doctor.clocks_apart", remedy, seconds=abs(ahead))
