"""The command line: the library's verbs, one command each. `--json` for machines, tables for people.

Exit codes: 0 done · 1 a check found faults · 2 bad input · 3 not found · 4 limit reached · 5 conflict ·
6 store · 7 journal · 70 a bug of ours · 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from nagori import __version__
from nagori.app import Nagori
from nagori.config import Config, Loaded, load, rows, schema
from nagori.core import decay
from nagori.core.model import Category, Emotion, Filter, Kind, Level, Memory, Privacy, Scope, Source, Valence
from nagori.core.record import to_record
from nagori.edges import render
from nagori.edges.words import Voice, language
from nagori.errors import InvalidInput, LimitReached, NagoriError
from nagori.parts import Progress, no_progress
from nagori.services.remember import TOLD

BUG, INTERRUPTED = 70, 130

app = typer.Typer(
    name="nagori",
    help="Long-term memory that forgets like a person and loses nothing. 名残",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@dataclass
class Session:
    """What the options before the command said."""

    data_dir: Path | None
    scope: Scope
    loaded: Loaded
    voice: Voice
    out: Console
    err: Console

    @property
    def config(self) -> Config:
        return self.loaded.config

    @contextmanager
    def memory(self) -> Iterator[Nagori]:
        with Nagori.open(self.data_dir, scope=self.scope, config=self.config, tell=self.listen) as opened:
            yield opened

    def listen(self, name: str, **fields: object) -> None:
        """What the user should know although nothing failed."""
        if name == "embedder.missing" and self._first_time("lexical-only"):
            self.err.print(self.voice("lexical_only"), style="dim")
        elif name == "store.behind":
            self.err.print(self.voice("behind", reason=fields["reason"]), style="yellow")
        elif name == "store.set_aside":
            self.err.print(self.voice("set_aside", path=fields["path"]), style="yellow")

    def _first_time(self, what: str) -> bool:
        """Whether `what` was never said on this machine; says so only once."""
        folder = Nagori.folder(self.data_dir, self.config)
        try:
            (folder / f".told-{what}").touch(mode=0o600, exist_ok=False)
        except OSError:
            return False
        return True

    def say(self, name: str, **values: object) -> None:
        self.out.print(self.voice(name, **values), highlight=False, markup=False)


class Format(StrEnum):
    JSONL = "jsonl"
    MARKDOWN = "markdown"


Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Id = Annotated[str, typer.Argument(help="Id of a memory, or the beginning of one.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nagori {__version__}")
        raise typer.Exit


@app.callback()
def prepare(
    context: typer.Context,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the memories.")] = None,
    user: Annotated[str, typer.Option(envvar="NAGORI_USER", help="Whose memories.")] = "me",
    tenant: Annotated[str, typer.Option(envvar="NAGORI_TENANT", help="Of which organisation.")] = "local",
    project: Annotated[str | None, typer.Option(envvar="NAGORI_PROJECT", help="Only this project's.")] = None,
    agent: Annotated[str | None, typer.Option(envvar="NAGORI_AGENT", help="Ask as this agent.")] = None,
    role: Annotated[str | None, typer.Option(envvar="NAGORI_ROLE", help="Role of that agent.")] = None,
    lang: Annotated[str | None, typer.Option(help="ja or en; default: your locale.")] = None,
    config: Annotated[Path | None, typer.Option(help="Configuration file.")] = None,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help="Show the version.")
    ] = False,
) -> None:
    overrides = {"general.language": lang} if lang else None
    loaded = load(config, overrides=overrides)
    context.obj = Session(
        data_dir=data_dir,
        scope=Scope(user=user, tenant=tenant, project=project, agent=agent, role=role),
        loaded=loaded,
        voice=Voice(language(loaded.config.general.language)),
        out=Console(soft_wrap=False),
        err=Console(stderr=True),
    )


# --- keeping ----------------------------------------------------------------------------------------


@app.command()
def remember(
    context: typer.Context,
    text: Annotated[list[str], typer.Argument(help="What to remember; - reads standard input.")],
    trigger: Annotated[str, typer.Option(help="What set it off.")] = "",
    kind: Annotated[Kind, typer.Option(help="What it is.")] = Kind.FACT,
    category: Annotated[Category | None, typer.Option(help="How fast it fades.")] = None,
    intensity: Annotated[float, typer.Option(help="How much it moved you, 0-100.")] = TOLD,
    valence: Annotated[Valence, typer.Option(help="How it felt.")] = Valence.NEUTRAL,
    arousal: Annotated[float, typer.Option(help="How exciting it was, 0-100.")] = 30.0,
    tag: Annotated[list[str] | None, typer.Option(help="Emotion; may be given again.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    session: Annotated[str | None, typer.Option(help="In which conversation.")] = None,
    privacy: Annotated[Privacy, typer.Option(help="Which agents may see it.")] = Privacy.PUBLIC,
    protect: Annotated[bool, typer.Option("--protect", help="Never let it fade.")] = False,
    when: Annotated[str | None, typer.Option(help="When it was said, ISO 8601; default: now.")] = None,
    as_json: Json = False,
) -> None:
    """Remember something."""
    session_ = _session(context)
    content = sys.stdin.read() if text == ["-"] else " ".join(text)
    draft: dict[str, Any] = {
        "trigger": trigger,
        "kind": kind,
        "category": category,
        "emotion": Emotion(intensity, valence, arousal, tuple(tag or ())),
        "source": Source(session=session, speaker=speaker),
        "privacy": privacy,
        "protect": protect,
        "created": _time(when) if when else None,
    }
    with session_.memory() as memory:
        kept = _making_room(session_, memory, lambda: memory.remember(content, **draft))
    if as_json:
        _print_json({"memory": to_record(kept)})
    elif kept.mentions > 1:
        session_.say("mentioned", id=kept.id, n=kept.mentions)
    else:
        session_.say("kept", id=kept.id)


# --- finding ----------------------------------------------------------------------------------------


@app.command()
def recall(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(help="What you want to know.")],
    k: Annotated[int | None, typer.Option("-k", help="At most so many.")] = None,
    kind: Annotated[list[Kind] | None, typer.Option(help="Only this kind; may be given again.")] = None,
    since: Annotated[str | None, typer.Option(help="Not older than (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Older than (ISO 8601).")] = None,
    ranking: Annotated[str | None, typer.Option(help="fused, priority or score.")] = None,
    look: Annotated[bool, typer.Option("--look", help="Only look: do not strengthen what is found.")] = False,
    as_json: Json = False,
) -> None:
    """Recall what answers a question, best first."""
    session = _session(context)
    filter = Filter(
        kinds=frozenset(kind) if kind else None,
        since=_time(since) if since else None,
        until=_time(until) if until else None,
    )
    with session.memory() as memory:
        found = memory.recall(" ".join(query), k, filter=filter, ranking=ranking, mark=not look)
        zone = memory.parts.clock.zone
    if as_json:
        _print_json({"results": [render.recollection_json(r) for r in found]})
    elif not found:
        session.say("nothing")
    else:
        lines = ((r.memory, r.retention, r.score) for r in found)
        session.out.print(render.memory_table(lines, session.voice, zone))


@app.command()
def show(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Show one memory, whole."""
    session = _session(context)
    with session.memory() as memory:
        found = memory.show(id)
        zone = memory.parts.clock.zone
        strength = _strength(memory, found)
    if as_json:
        _print_json({"memory": to_record(found)})
    else:
        session.out.print(render.memory_view(found, strength, session.voice, zone))


@app.command("list")
def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="At most so many.")] = 20,
    kind: Annotated[list[Kind] | None, typer.Option(help="Only this kind; may be given again.")] = None,
    level: Annotated[list[int] | None, typer.Option(min=1, max=4, help="Only this level.")] = None,
    protected: Annotated[bool, typer.Option("--protected", help="Only protected ones.")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="The archive too.")] = False,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="Forgotten ones too.")] = False,
    as_json: Json = False,
) -> None:
    """List memories, newest first."""
    session = _session(context)
    filter = Filter(
        kinds=frozenset(kind) if kind else None,
        levels=frozenset(map(Level, level)) if level else None,
        protected=True if protected else None,
        archived=archived or bool(level and Level.ARCHIVED in level),
        forgotten=forgotten,
    )
    with session.memory() as memory:
        found = memory.list(filter, limit=limit)
        zone = memory.parts.clock.zone
        lines = [(m, _strength(memory, m), None) for m in found]
    if as_json:
        _print_json({"memories": [to_record(m) for m in found]})
    elif not found:
        session.say("empty")
    else:
        session.out.print(render.memory_table(lines, session.voice, zone))


@app.command()
def why(
    context: typer.Context,
    id: Id,
    query: Annotated[str | None, typer.Option("--for", help="How does it rank for this question?")] = None,
    as_json: Json = False,
) -> None:
    """Explain a memory: its strength, its history, when it will fade."""
    session = _session(context)
    with session.memory() as memory:
        told = memory.why(id, query)
        zone = memory.parts.clock.zone
    if as_json:
        _print_json(render.explanation_json(told))
    else:
        session.out.print(render.explanation_view(told, session.voice, zone, asked=query is not None))


@app.command()
def status(context: typer.Context, as_json: Json = False) -> None:
    """How many memories there are, how large, how well."""
    session = _session(context)
    with session.memory() as memory:
        told = memory.status()
        zone = memory.parts.clock.zone
    if as_json:
        _print_json(render.status_json(told))
    else:
        session.out.print(render.status_view(told, session.voice, zone))


# --- changing ---------------------------------------------------------------------------------------


@app.command()
def edit(
    context: typer.Context,
    id: Id,
    text: Annotated[
        list[str] | None, typer.Argument(help="The corrected text; - reads standard input.")
    ] = None,
    trigger: Annotated[str | None, typer.Option(help="What set it off.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="What it is.")] = None,
    category: Annotated[Category | None, typer.Option(help="How fast it fades.")] = None,
    privacy: Annotated[Privacy | None, typer.Option(help="Which agents may see it.")] = None,
    as_json: Json = False,
) -> None:
    """Correct a memory."""
    session = _session(context)
    content = None
    if text:
        content = sys.stdin.read() if text == ["-"] else " ".join(text)
    with session.memory() as memory:
        changed = memory.edit(
            id, content=content, trigger=trigger, kind=kind, category=category, privacy=privacy
        )
    _told(session, changed, as_json, "edited")


@app.command()
def protect(
    context: typer.Context,
    id: Id,
    release: Annotated[list[str] | None, typer.Option(help="Let this one fade instead.")] = None,
    as_json: Json = False,
) -> None:
    """Never let a memory fade."""
    session = _session(context)
    with session.memory() as memory:
        kept = _making_room(session, memory, lambda: memory.protect(id, release or ()))
        n = memory.status().counts.protected
    limit = session.config.protection.max_protected_memories
    _told(session, kept, as_json, "protected", n=n, limit=limit)


@app.command()
def unprotect(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Let a protected memory fade again."""
    session = _session(context)
    with session.memory() as memory:
        _told(session, memory.unprotect(id), as_json, "unprotected")


@app.command()
def forget(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Hide a memory from every recall; undo brings it back."""
    session = _session(context)
    with session.memory() as memory:
        _told(session, memory.forget(id), as_json, "forgotten")


@app.command()
def undo(context: typer.Context, id: Id, as_json: Json = False) -> None:
    """Take back the last change of a memory."""
    session = _session(context)
    with session.memory() as memory:
        back, what = memory.undo(id)
    _told(session, back, as_json, "undone", what=session.voice.event(what))


# --- leaving and coming -----------------------------------------------------------------------------


@app.command()
def export(
    context: typer.Context,
    path: Annotated[Path | None, typer.Argument(help="File to write; default: standard output.")] = None,
    format: Annotated[
        Format, typer.Option(help="jsonl is complete, markdown is for reading.")
    ] = Format.JSONL,
    as_json: Json = False,
) -> None:
    """Write out every memory."""
    session = _session(context)
    if path is not None and path.exists():
        raise InvalidInput("path", "{path} exists already", path=path)
    with session.memory() as memory:
        count = 0
        with _written(path) as write:
            for count, line in enumerate(memory.export(format), 1):  # noqa: B007 - counts
                write(line + "\n")
    if path is not None:
        _print_json({"path": str(path), "lines": count}) if as_json else session.say(
            "exported", n=count, path=path
        )


@app.command("import")
def import_(
    context: typer.Context,
    path: Annotated[
        Path, typer.Argument(help="File that export wrote, or notes in Markdown; - reads standard input.")
    ],
    format: Annotated[Format | None, typer.Option(help="Default: from the file's name.")] = None,
    as_json: Json = False,
) -> None:
    """Take memories in."""
    session = _session(context)
    markdown = path.suffix.lower() in (".md", ".markdown")
    chosen = format or (Format.MARKDOWN if markdown else Format.JSONL)
    with session.memory() as memory, _lines(path) as lines, _progress(session) as progress:
        report = memory.import_(lines, chosen, progress)
    if as_json:
        counts = {"added": report.added, "known": report.known, "relations": report.relations}
        _print_json({**counts, "faults": report.faults})
    else:
        session.say("imported", added=report.added, known=report.known, relations=report.relations)
        for fault in report.faults:
            session.err.print(session.voice("not_taken", fault=fault), style="red", markup=False)
    if report.faults:
        raise typer.Exit(1)


# --- upkeep -----------------------------------------------------------------------------------------


@app.command()
def verify(context: typer.Context, as_json: Json = False) -> None:
    """Prove that journal and store are sound and agree."""
    session = _session(context)
    with session.memory() as memory, _progress(session) as progress:
        proof = memory.verify(progress)
    damage = [f"{d.file} +{d.offset}: {d.problem}" for journal in proof.journals for d in journal.damage]
    faults = [*damage, *proof.store, *proof.differing]
    events = sum(journal.events for journal in proof.journals)
    if as_json:
        _print_json({"sound": proof.sound, "events": events, "faults": faults})
    elif proof.sound:
        session.say("sound", events=f"{events:,}")
    else:
        session.say("unsound", n=len(faults))
        for fault in faults[:50]:
            session.out.print(f"  {fault}", style="red", markup=False)
    if not proof.sound:
        raise typer.Exit(1)


@app.command()
def rebuild(
    context: typer.Context,
    accept_damage: Annotated[
        bool, typer.Option("--accept-damage", help="Go on although journal lines are damaged.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make the store anew from the journal."""
    session = _session(context)
    with session.memory() as memory, _progress(session) as progress:
        told = memory.rebuild(progress, accept_damage=accept_damage)
        vectors = memory.embed_missing(progress)
    if as_json:
        _print_json({"events": told, "vectors": vectors})
    else:
        session.say("rebuilt", n=f"{told:,}")
        if vectors:
            session.say("embedded", n=f"{vectors:,}")


@app.command()
def backup(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="File to write.")],
    as_json: Json = False,
) -> None:
    """Save everything in one checked file, while others go on writing."""
    session = _session(context)
    with session.memory() as memory, _progress(session) as progress:
        saved = memory.backup(path, progress)
    if as_json:
        _print_json({"path": str(saved.path), "bytes": saved.bytes, "events": saved.events})
    else:
        size = render.size(saved.bytes)
        session.say("saved", path=saved.path, events=f"{saved.events:,}", size=size)


@app.command()
def restore(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A file that backup wrote.")],
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put a backup in place; what was there is kept aside."""
    session = _session(context)
    folder = Nagori.folder(session.data_dir, session.config)
    if not path.is_file():
        raise InvalidInput("path", "{path} is not a file", path=path)
    occupied = folder.exists() and any(folder.iterdir())
    if occupied and not yes and not typer.confirm(session.voice("overwrite", path=folder)):
        session.say("stopped")
        raise typer.Exit(2)
    aside = Nagori.restore(path, folder, datetime.now().astimezone())
    if as_json:
        _print_json({"restored": str(folder), "aside": str(aside) if aside else None})
        return
    session.say("restored", path=path)
    if aside:
        session.say("aside", path=aside)


@app.command()
def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Look at everything that could be wrong, and say what to do."""
    session = _session(context)
    with session.memory() as memory:
        findings = memory.doctor()
    if as_json:
        keys = ("name", "state", "detail", "advice")
        _print_json({"findings": [{key: getattr(f, key) for key in keys} for f in findings]})
    else:
        session.out.print(render.findings_view(findings))
    if any(finding.state == "fail" for finding in findings):
        raise typer.Exit(1)


@app.command()
def config(
    context: typer.Context,
    show_schema: Annotated[bool, typer.Option("--schema", help="The JSON schema of the file.")] = False,
    as_json: Json = False,
) -> None:
    """Every setting, its value, and where the value came from."""
    session = _session(context)
    if show_schema:
        _print_json(schema())
    elif as_json:
        _print_json({key: {"value": value, "origin": origin} for key, value, origin in rows(session.loaded)})
    else:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("key", "value", "origin"):
            table.add_column(session.voice(name), overflow="fold")
        for key, value, origin in rows(session.loaded):
            style = "" if origin == "default" else "bold"
            table.add_row(key, str(value), f"[dim]{origin}[/]", style=style)
        session.out.print(table)


# --- how it is done ---------------------------------------------------------------------------------


def main() -> NoReturn:
    """The one error boundary: every error becomes a sentence and an exit code."""
    as_json = "--json" in sys.argv
    try:
        code = app(standalone_mode=False) or 0  # a command that stops early hands its code back
    except typer.Abort:
        code = INTERRUPTED
    except NagoriError as error:
        code = error.exit_code
        _complain(error, as_json)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # `nagori export | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        code = _click_error(error) or _bug(error)
    sys.stdout.flush()
    sys.exit(code)


def _complain(error: NagoriError, as_json: bool) -> None:
    if as_json:
        field = getattr(error, "field", None)
        _print_json({"error": {"type": type(error).__name__, "field": field, "message": str(error)}})
        return
    console, voice = Console(stderr=True), Voice(_early_language())
    console.print(f"nagori: {voice.error(error)}", style="red", markup=False, highlight=False)
    if isinstance(error, LimitReached):
        console.print("  --release " + " | --release ".join(error.candidates[:5]), markup=False)


def _early_language() -> str:
    """The language when an error came before the settings were read."""
    argv = sys.argv
    chosen = (
        argv[argv.index("--lang") + 1] if "--lang" in argv[:-1] else os.environ.get("NAGORI_LANG", "auto")
    )
    return language(chosen)


def _click_error(error: Exception) -> int:
    """A wrong option or argument: the parser knows best how to say it."""
    show = getattr(error, "show", None)
    if show is None:
        return 0
    show()
    return 2


def _bug(error: Exception) -> int:
    import traceback

    traceback.print_exception(error)
    print(f"\nnagori {__version__}: {Voice(_early_language())('bug')}", file=sys.stderr)
    return BUG


def _session(context: typer.Context) -> Session:
    session = context.obj
    assert isinstance(session, Session)
    return session


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _told(session: Session, memory: Memory, as_json: bool, sentence: str, **values: object) -> None:
    if as_json:
        _print_json({"memory": to_record(memory)})
    else:
        session.say(sentence, id=memory.id, **values)


def _time(text: str) -> datetime:
    """An ISO 8601 time; without a zone it is the user's own."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise InvalidInput("created", "{value!r} is not an ISO 8601 time", value=text) from None


def _strength(memory: Nagori, one: Memory) -> float:
    config = memory.parts.config
    return decay.retention(one, memory.parts.clock.now(), config.retention, config.weekly)


def _making_room(session: Session, memory: Nagori, act: Callable[[], Memory]) -> Memory:
    """Do `act`; when the protected memories are full and a person is there, ask which one may fade."""
    try:
        return act()
    except LimitReached as full:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        zone = memory.parts.clock.zone
        candidates = [memory.show(id) for id in full.candidates]
        session.err.print(session.voice("full", limit=full.limit), highlight=False)
        for number, candidate in enumerate(candidates, 1):
            when = render.day(candidate.created, zone)
            session.err.print(
                f"  {number}. [{when}] {render.one_line(candidate, 70)}", markup=False, highlight=False
            )
        answer = typer.prompt(session.voice("choose"), default="", show_default=False, err=True)
        if not answer.isdigit() or not 0 < int(answer) <= len(candidates):
            raise
        memory.unprotect(candidates[int(answer) - 1].id)
        return act()


@contextmanager
def _written(path: Path | None) -> Iterator[Callable[[str], object]]:
    """Standard output, or a private file that appears whole or not at all."""
    if path is None:
        yield sys.stdout.write
        return
    from nagori.paths import open_private

    unfinished = path.with_name(path.name + ".part")
    try:
        descriptor = open_private(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file.write
        unfinished.replace(path)
    except OSError as fault:
        raise InvalidInput("path", "{path}: {reason}", path=path, reason=fault.strerror) from fault


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[str]]:
    if str(path) == "-":
        yield iter(sys.stdin)
        return
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield file
    except OSError as fault:
        raise InvalidInput("path", "{path}: {reason}", path=path, reason=fault.strerror) from fault


@contextmanager
def _progress(session: Session) -> Iterator[Progress]:
    """A bar on the terminal, or nothing where nobody looks."""
    if not session.err.is_terminal:
        yield no_progress
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    with Bar(
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=session.err, transient=True
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


if __name__ == "__main__":
    main()
