"""Doctor: look at everything a user might have to know about, and say what to do."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping

from nagori.core.events import PASSED_OVER
from nagori.core.values import Value, fresh
from nagori.errors import JournalError, NagoriError
from nagori.runtime import Parts
from nagori.services.maintenance import everybody, lost_folders


class Finding(Value):
    """One check of the doctor: `ok`, `warn` or `fail`, what was seen (a template and its values, so that it
    can be said in another language), and what to do."""

    name: str
    state: str
    template: str
    advice: str = ""
    values: Mapping[str, object] = fresh(dict)

    @property
    def detail(self) -> str:
        return self.template.format(**self.values)


def found(name: str, state: str, template: str, advice: str = "", **values: object) -> Finding:
    """A finding with the values of its template by name."""
    return Finding(name, state, template, advice, values)


def doctor(parts: Parts) -> list[Finding]:
    """Look at everything a user might have to know about."""
    return [
        finding
        for check in (
            _python,
            _folder,
            _journals,
            _lost_folders,
            _store,
            _agreement,
            _embedder,
            _model,
            _clock,
        )
        for finding in check(parts)
    ]


def _python(parts: Parts) -> Iterator[Finding]:
    import apsw

    version = ".".join(map(str, sys.version_info[:3]))
    sqlite = apsw.sqlite_lib_version()
    yield found("python", "ok", "Python {python}, SQLite {sqlite}", python=version, sqlite=sqlite)


def _folder(parts: Parts) -> Iterator[Finding]:
    mode = parts.data_dir.stat().st_mode & 0o777
    if mode & 0o077:
        template, advice = "{path} can be read by others ({mode})", f"chmod 700 {parts.data_dir}"
        yield found("folder", "warn", template, advice, path=parts.data_dir, mode=f"{mode:o}")
    else:
        yield found("folder", "ok", "{path}", path=parts.data_dir)
    free = shutil.disk_usage(parts.data_dir).free
    state, advice = ("ok", "") if free > 100 * 1024**2 else ("warn", "make room")
    yield found("disk", state, "{n:,} MiB free", advice, n=free // 1024**2)


def _journals(parts: Parts) -> Iterator[Finding]:
    for space in everybody(parts):
        verdict = parts.journal.verify(space)
        name = "/".join(space)
        if verdict.sound:
            yield found("journal", "ok", "{space}: {n:,} events, all sound", space=name, n=verdict.events)
        else:
            first = verdict.damage[0]
            yield found(
                "journal",
                "fail",
                "{space}: {n:,} damaged lines, first {file} at byte {offset}: {problem}",
                "restore a backup, or `nagori rebuild --accept-damage`",
                space=name,
                n=len(verdict.damage),
                file=first.file,
                offset=first.offset,
                problem=first.problem,
            )


def _lost_folders(parts: Parts) -> Iterator[Finding]:
    """Journals of which nobody knows whose they are, and turns that could not be read from the spool."""
    for folder in lost_folders(parts, everybody(parts)):
        advice = "put its space.json back from a backup"
        yield found("journal", "fail", "{path}: whose journal this is cannot be read", advice, path=folder)
    waiting = len(list((parts.data_dir / "spool").glob("*.unreadable")))
    if waiting:
        advice = f"look into {parts.data_dir / 'spool'}"
        yield found("journal", "warn", "{n} recorded turns cannot be read", advice, n=waiting)


def _agreement(parts: Parts) -> Iterator[Finding]:
    """Whether the store was made from this journal, and whether all of it could be applied."""
    for space in everybody(parts):
        try:
            parts.ledger.compare(space, parts.store.applied(space), parts.journal.last_seq(space))
            passed_over = parts.store.state(space, PASSED_OVER) or []
        except JournalError as trouble:
            yield found(
                "journal",
                "fail",
                "{trouble}",
                "restore a backup, or `nagori rebuild --accept-damage`",
                trouble=str(trouble),
            )
            continue
        except NagoriError:
            return  # said already, by the check of the store
        if passed_over:
            seq, reason = passed_over[-1]
            template = "{space}: {n} events could not be applied, the last one {seq}: {reason}"
            values = {"space": "/".join(space), "n": len(passed_over), "seq": seq, "reason": reason}
            yield found("journal", "warn", template, "", **values)


def _store(parts: Parts) -> Iterator[Finding]:
    try:
        faults = parts.store.check()
    except NagoriError as trouble:
        faults = [str(trouble)]
    if faults:
        yield found("store", "fail", "{faults}", "nagori rebuild", faults="; ".join(faults[:3]))
    else:
        yield found("store", "ok", "{engine}, sound", engine=parts.store.name)


def _embedder(parts: Parts) -> Iterator[Finding]:
    provider, wished = parts.config.embedding.provider, parts.embedder
    if wished is not None:
        yield found("embedder", "ok", "{model}", model=wished.model)
        yield from _other_models(parts, wished.model)
    elif provider == "none":
        yield found("embedder", "ok", "none, as configured: recall goes by words alone")
    elif provider == "openai":
        name = parts.config.embedding.key_env
        yield found(
            "embedder",
            "warn",
            "no key in {variable}: recall goes by words alone",
            f"set {name}",
            variable=name,
        )
    else:
        extra = {"local": "'nagori[local]'"}.get(provider, provider)
        yield found("embedder", "warn", "not installed: recall goes by words alone", f"pip install {extra}")
    if provider not in ("local", "none"):
        yield found("embedder", "ok", "prompts are answered by words: only the local model is quick enough")


def _other_models(parts: Parts, wished: str) -> Iterator[Finding]:
    """Spaces whose vectors are of another model than the one that is configured."""
    try:
        used = {parts.vectors.active(space) for space in parts.journal.spaces()} - {None, wished}
    except NagoriError:
        return  # said already, by the check of the store
    for name in sorted(filter(None, used)):
        yield found(
            "embedder", "warn", "memories still have the vectors of {model}", "nagori reembed", model=name
        )


def _model(parts: Parts) -> Iterator[Finding]:
    """The language model, as its last answers tell: nobody is asked anything here."""
    from nagori.services.llm.health import Patience

    if parts.llm is None:
        yield found("model", "ok", "none, as configured: rules do its work")
        return
    troubles = {Patience.of(parts, space).trouble for space in parts.journal.spaces()} - {""}
    for trouble in sorted(troubles):
        yield found("model", "warn", "{trouble}", "nagori judge", trouble=trouble)
    if not troubles:
        yield found("model", "ok", "{model}", model=parts.llm.model)


def _clock(parts: Parts) -> Iterator[Finding]:
    now = parts.clock.now()
    try:
        newest = [entry.at for s in parts.journal.spaces() for entry in parts.store.history(s, limit=1)]
    except NagoriError:
        return  # said already, by the check of the store
    ahead = [at for at in newest if at > now]
    if ahead:
        template = "the newest event is from {at}, which is still to come"
        yield found("clock", "warn", template, "set the clock of this machine", at=max(ahead).isoformat())
    else:
        at = now.astimezone(parts.clock.zone).isoformat(timespec="seconds")
        yield found("clock", "ok", "{at}", at=at)
