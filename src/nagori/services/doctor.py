"""Diagnose problems: check the installation and the data, and say what to do."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

from nagori.core.events import PASSED_OVER, TO_ERASE, WAITING_WISHES
from nagori.core.knowledge_base import is_knowledge
from nagori.core.levels import ACTIVE
from nagori.core.model import Scope
from nagori.core.value_object import Value
from nagori.errors import JournalError, NagoriError, Notice
from nagori.protocols import CheckedLLM
from nagori.runtime import Runtime
from nagori.services.redact_journal_and_compact_store import store_bytes
from nagori.services.verify_and_rebuild import all_owners, lost_folders

NEARLY_FULL = 100 * 1024**2  # bytes that are free
CLOCKS_APART = 30.0  # seconds between two machines
LARGE_STORE = 1024**3  # bytes: from this size on the archive should be cleaned


class Finding(Value):
    """One check: `ok`, `warn` or `fail`, the observation (a template with values, for translation), and the
    advice."""

    name: str
    state: str
    seen: Notice
    remedy: Notice | None = None

    @property
    def detail(self) -> str:
        return str(self.seen)

    @property
    def advice(self) -> str:
        return str(self.remedy or "")


def make_finding(
    name: str, state: str, id: str, remedy: Notice | None = None, /, **values: object
) -> Finding:
    """A finding whose message is `id`, with its values by name."""
    return Finding(name, state, Notice(id, **values), remedy)


def run_command(command: str) -> Notice:
    """The advice to run a command."""
    return Notice("doctor.do_run", command=command)


def doctor(runtime: Runtime) -> list[Finding]:
    """All findings."""
    return [
        finding
        for check in (
            _python,
            _folder,
            _database,
            _journals,
            _lost_folders,
            _erasures,
            _store,
            _agreement,
            _capacity,
            _wishes,
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
    yield make_finding("python", "ok", "doctor.python", python=version, sqlite=sqlite)


def _folder(runtime: Runtime) -> Iterator[Finding]:
    mode = runtime.data_dir.stat().st_mode & 0o777
    if mode & 0o077:
        remedy = run_command(f"chmod 700 {runtime.data_dir}")
        yield make_finding(
            "folder", "warn", "doctor.folder_open", remedy, path=runtime.data_dir, mode=f"{mode:o}"
        )
    else:
        yield make_finding("folder", "ok", "doctor.folder", path=runtime.data_dir)
    free = shutil.disk_usage(runtime.data_dir).free
    full = free <= NEARLY_FULL
    make_room = Notice("doctor.do_make_room") if full else None
    yield make_finding("disk", "warn" if full else "ok", "doctor.disk", make_room, n=free // 1024**2)


def _database(runtime: Runtime) -> Iterator[Finding]:
    """The database of a node: version, tables, clock, row-level security, and whether workers do the work."""
    if not hasattr(runtime.journal, "examine"):
        return
    try:
        state = runtime.journal.examine(runtime.clock.now())
    except NagoriError as trouble:
        yield make_finding("database", "fail", "doctor.database_away", None, trouble=trouble.notice)
        return
    yield make_finding("database", "ok", "doctor.database", version=state.server)
    for part, (done, known) in state.steps.items():
        values = {"part": part, "done": done, "known": known}
        if done > known:
            remedy = Notice("doctor.do_update")
            yield make_finding("database", "warn", "doctor.database_newer", remedy, **values)
        else:
            yield make_finding("database", "ok", "doctor.database_tables", **values)
    if not state.is_bound:
        yield make_finding("database", "warn", "doctor.database_unbound", Notice("doctor.do_plain_login"))
    if abs(state.clock_ahead) > CLOCKS_APART:
        remedy = Notice("doctor.do_set_clock")
        yield make_finding("clock", "warn", "doctor.clocks_apart", remedy, seconds=abs(state.clock_ahead))
    if state.overdue and not state.workers:
        remedy = run_command("nagori worker")
        yield make_finding("workers", "warn", "doctor.workers_missing", remedy, n=state.overdue)
    elif state.overdue:
        yield make_finding("workers", "warn", "doctor.workers_late", None, n=state.overdue)
    else:
        yield make_finding("workers", "ok", "doctor.workers", n=state.workers)


def _journals(runtime: Runtime) -> Iterator[Finding]:
    for owner in all_owners(runtime):
        verdict = runtime.journal.verify(owner)
        name = "/".join(owner)
        if verdict.sound:
            yield make_finding("journal", "ok", "doctor.journal_sound", owner=name, n=verdict.events)
        else:
            first = verdict.damage[0]
            yield make_finding(
                "journal",
                "fail",
                "doctor.journal_damaged",
                Notice("doctor.do_restore"),
                owner=name,
                n=len(verdict.damage),
                file=first.file,
                offset=first.offset,
                problem=first.problem,
            )


def _lost_folders(runtime: Runtime) -> Iterator[Finding]:
    """Journals without a known owner, and unreadable files in the spool."""
    for folder in lost_folders(runtime, all_owners(runtime)):
        remedy = Notice("doctor.do_put_back")
        yield make_finding("journal", "fail", "doctor.journal_owner", remedy, path=folder)
    waiting = len(list((runtime.data_dir / "spool").glob("*.unreadable")))
    if waiting:
        remedy = Notice("doctor.do_look", path=runtime.data_dir / "spool")
        yield make_finding("journal", "warn", "doctor.turns_unreadable", remedy, n=waiting)


def _erasures(runtime: Runtime) -> Iterator[Finding]:
    """Erasures that were interrupted."""
    waiting = len(runtime.journal.unfinished_erasures())
    try:
        waiting += sum(bool(runtime.store.state(owner, TO_ERASE)) for owner in runtime.journal.owners())
    except NagoriError:
        return  # reported by the check of the store
    if waiting:
        remedy = run_command("nagori erase --resume")
        yield make_finding("erasure", "warn", "doctor.erasures_unfinished", remedy, n=waiting)


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
                "doctor.journal_mismatch",
                Notice("doctor.do_restore"),
                trouble=trouble.notice,
            )
            continue
        except NagoriError:
            return  # reported by the check of the store
        if passed_over:
            seq, reason = passed_over[-1]
            values = {"owner": "/".join(owner), "n": len(passed_over), "seq": seq}
            reason = Notice.from_record(reason)
            yield make_finding("journal", "warn", "doctor.events_passed_over", **values, reason=reason)


def _capacity(runtime: Runtime) -> Iterator[Finding]:
    """The number of memories against the limit [L6], and the size of the files [E23]."""
    limit, trigger = runtime.config.capacity.limit, runtime.config.capacity.trigger
    for owner in all_owners(runtime):
        if is_knowledge(owner):  # documents are not limited
            continue
        try:
            counts = runtime.store.count(Scope(tenant=owner[0], user=owner[1]))
        except NagoriError:
            return  # reported by the check of the store
        active = sum(counts.levels.get(int(level), 0) for level in ACTIVE)
        values = {"owner": "/".join(owner), "n": active, "limit": limit, "share": active / limit}
        if active >= trigger * limit:
            yield make_finding(
                "capacity", "warn", "doctor.capacity", Notice("doctor.do_raise_capacity"), **values
            )
        else:
            yield make_finding("capacity", "ok", "doctor.capacity", **values)
    size = store_bytes(runtime)
    large = size > LARGE_STORE
    remedy = run_command("nagori compact") if large else None
    yield make_finding("size", "warn" if large else "ok", "doctor.size", remedy, mib=size / 1024**2)


def _wishes(runtime: Runtime) -> Iterator[Finding]:
    """Wishes of users that wait."""
    for owner in all_owners(runtime):
        try:
            waiting = len(runtime.store.state(owner, WAITING_WISHES) or ())
        except NagoriError:
            return  # reported by the check of the store
        if waiting:
            yield make_finding(
                "wishes", "warn", "doctor.wishes", Notice("doctor.do_grant"), owner="/".join(owner), n=waiting
            )


def _store(runtime: Runtime) -> Iterator[Finding]:
    try:
        faults = runtime.store.check()
    except NagoriError as trouble:
        faults = [trouble.notice]
    if faults:  # on a full disk a rebuild would fail, too
        full = shutil.disk_usage(runtime.data_dir).free <= NEARLY_FULL
        remedy = Notice("doctor.do_make_room") if full else run_command("nagori rebuild")
        yield make_finding("store", "fail", "doctor.store_faults", remedy, faults=faults[:3])
    else:
        yield make_finding("store", "ok", "doctor.store_sound", engine=runtime.store.name)


def _embedder(runtime: Runtime) -> Iterator[Finding]:
    provider, wished = runtime.config.embedding.provider, runtime.embedder
    if wished is not None:
        yield make_finding("embedder", "ok", "doctor.embedder", model=wished.model)
        yield from _other_models(runtime, wished.model)
    elif provider == "none":
        yield make_finding("embedder", "ok", "doctor.embedder_none")
    elif provider == "openai":
        name = runtime.config.embedding.key_env
        remedy = Notice("doctor.do_set_variable", variable=name)
        yield make_finding("embedder", "warn", "doctor.embedder_keyless", remedy, variable=name)
    else:
        extra = {"local": "'nagori[local]'"}.get(provider, provider)
        yield make_finding("embedder", "warn", "doctor.embedder_missing", run_command(f"pip install {extra}"))
    if provider not in ("local", "none"):
        yield make_finding("embedder", "ok", "doctor.embedder_slow")


def _other_models(runtime: Runtime, wished: str) -> Iterator[Finding]:
    """Owners whose vectors belong to another model than the configured one."""
    try:
        used = {runtime.vectors.active(owner) for owner in runtime.journal.owners()} - {None, wished}
    except NagoriError:
        return  # said already, by the check of the store
    for name in sorted(filter(None, used)):
        yield make_finding(
            "embedder", "warn", "doctor.embedder_old", run_command("nagori reembed"), model=name
        )


def _model(runtime: Runtime) -> Iterator[Finding]:
    """The state of the language model: its last answers, its key, and whether its address can be reached. It
    is asked nothing."""
    from nagori.services.llm.failure_counts_and_batch_size import ModelHealth

    if runtime.llm is None:
        yield make_finding("model", "ok", "doctor.model_none")
        return
    troubles = {ModelHealth.of(runtime, owner).trouble for owner in runtime.journal.owners()} - {None}
    for trouble in sorted(troubles, key=str):
        yield make_finding(
            "model", "warn", "doctor.model_trouble", run_command("nagori appraise"), trouble=trouble
        )
    fault = runtime.llm.find_fault() if isinstance(runtime.llm, CheckedLLM) else None
    if fault is not None:
        yield make_finding("model", "warn", "doctor.model_fault", None, model=runtime.llm.model, fault=fault)
    elif not troubles:
        yield make_finding("model", "ok", "doctor.model", model=runtime.llm.model)


def _clock(runtime: Runtime) -> Iterator[Finding]:
    now = runtime.clock.now()
    try:
        newest = [entry.at for s in runtime.journal.owners() for entry in runtime.store.history(s, limit=1)]
    except NagoriError:
        return  # said already, by the check of the store
    ahead = [at for at in newest if at > now]
    if ahead:
        remedy = Notice("doctor.do_set_clock")
        yield make_finding("clock", "warn", "doctor.clock_behind", remedy, at=max(ahead).isoformat())
    else:
        at = now.astimezone(runtime.clock.zone).isoformat(timespec="seconds")
        yield make_finding("clock", "ok", "doctor.clock", at=at)
