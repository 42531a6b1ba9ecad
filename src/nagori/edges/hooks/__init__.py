"""`nagori hook`: read a host's event from standard input and answer on standard output.

    stdin JSON → decode → handlers (one verb) → encode → stdout

It is a new process for every prompt, so every import counts: until a recall is needed, only the standard
library is loaded. It always exits with 0 and within its time. Problems are reported through the host, once
per session: a broken memory never stops the agent.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from nagori.edges.hooks.call_types import Answer, At, Moment
from nagori.edges.hooks.host_payloads_and_replies import HOSTS, guess, moment, reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.config import Config

LONGEST_INPUT = 64 * 1024 * 1024
SECONDS = {At.SESSION_START: 8.0, At.PROMPT: 6.0, At.BEFORE_TOOL: 3.0, At.SESSION_END: 1.0}
USUALLY = 5.0
RESULTS = (At.TOOL_DONE, At.TOOL_FAILED)


class TookTooLong(BaseException):
    """The time is up. Not an Exception, so that no handler on the way catches it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Read, act, answer. Never raises, always exits with 0."""
    gc.disable()  # the process is too short-lived to need it
    try:
        said = answer(list(sys.argv[1:] if arguments is None else arguments), sys.stdin.buffer)
        if said:
            sys.stdout.write(said + "\n")
        sys.stdout.flush()
    except BaseException:  # a closed pipe or no memory: nothing can be reported
        with suppress(BaseException):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def run(arguments: Sequence[str] | None = None) -> None:
    """`main` in a process of its own. Everything is closed and written by then, and clearing the interpreter
    away would take as long as a tenth of a prompt."""
    main(arguments)
    os._exit(0)


def answer(arguments: list[str], source: object) -> str:
    """The output for a host's event."""
    with _in_time(USUALLY):  # a host may never close its end
        payload = _read(source)
    if payload is None:
        return ""
    name = _option(arguments, "--host") or guess(payload)
    if name not in HOSTS:
        name = "raw"
    heard = moment(name, payload, _option(arguments, "--event"))
    return reply(name, heard, _careful(heard)) if heard else ""


def _option(arguments: list[str], name: str) -> str | None:
    at = arguments.index(name) + 1 if name in arguments else len(arguments)
    return arguments[at] if at < len(arguments) else None


def _read(source: object) -> dict[str, object] | None:
    """The JSON object on standard input, or None: any bytes may come."""
    try:
        with _in_time(USUALLY):  # a host may never close our standard input
            data = source.read(LONGEST_INPUT + 1)  # type: ignore[attr-defined]
    except TookTooLong:
        return None
    if len(data) > LONGEST_INPUT:
        return None
    try:
        payload = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _careful(heard: Moment) -> Answer:
    """The answer; on failure a notice; at worst nothing."""
    folder = None
    try:
        with _in_time(SECONDS.get(heard.at, USUALLY)):
            from nagori.config import load
            from nagori.files import data_dir

            config = load().config
            if not config.hooks.enabled:
                return Answer()
            folder = data_dir(os.environ, config.general.data_dir).absolute()
            if heard.at in RESULTS:
                _note_result(heard, config, folder)
            if heard.at is At.TOOL_DONE:  # after every tool: nothing else is imported
                return Answer()
            vector = None
            if heard.at is At.PROMPT:  # before the other imports: it takes as long as all of them
                from nagori.edges.hooks.parallel_embedding import prefetch

                vector = prefetch(heard.text, config)
            from nagori.edges.hooks.handlers import act

            done = act(heard, config, folder, vector)
        _mark(folder, heard, None)
        return done
    except BaseException as trouble:
        with suppress(BaseException):
            return _trouble(heard, folder, trouble)
        return Answer()


def _note_result(heard: Moment, config: Config, folder: Path) -> None:
    """Note what a tool did; the end of the turn makes an event of it."""
    from nagori.services.tool_outcome_log import note_result

    owner = [os.environ.get("NAGORI_TENANT") or "local", os.environ.get("NAGORI_USER") or config.hooks.user]
    about = {"session": heard.session, "agent": heard.agent, "speaker": heard.speaker, "folder": heard.folder}
    about |= {name.lower(): os.environ.get(f"NAGORI_{name}") for name in ("PROJECT", "ROLE", "TASK")}
    head = {"owner": owner, "host": heard.host} | {name: value for name, value in about.items() if value}
    ok = heard.at is At.TOOL_DONE
    note_result(folder, head, (heard.tool or "", heard.target, ok, heard.ms, heard.error), config.privacy)


def _trouble(heard: Moment, folder: Path | None, trouble: BaseException) -> Answer:
    """The notice for the user, once per session and kind of failure."""
    from nagori.edges.hooks.failure_notices import first_time, notice, say
    from nagori.errors import MemoryErased

    if isinstance(trouble, MemoryErased):  # that is as it was asked for
        return Answer()
    told = notice(trouble)
    if folder is not None:
        _mark(folder, heard, json.dumps(told.to_record()))
    return Answer(notice=say(told)) if first_time(folder, heard.session, told) else Answer()


def _mark(folder: Path, heard: Moment, failure: str | None) -> None:
    """For `nagori doctor`: the last call, and its failure."""
    with suppress(OSError):
        place = folder / "hosts"
        name = f"{'failed' if failure else 'fired'}-{heard.at.value.replace(' ', '-')}"
        if failure or not place.is_dir():
            from nagori.files import private_dir

            private_dir(place)
        descriptor = os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, f"{heard.host}\n{failure or ''}\n".encode())
        os.close(descriptor)


@contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    """Raise Late when the time is up; without timers the host's own limit applies."""
    import signal

    if not hasattr(signal, "setitimer"):
        yield
        return

    def late(number: int, frame: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
