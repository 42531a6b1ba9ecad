"""Verify, rebuild, doctor: prove that all is well, and mend what can be mended."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping

from nagori.core.bookkeeping import Space, Vector
from nagori.core.fold import fold
from nagori.core.values import Value, batched, fresh
from nagori.errors import JournalError, ModelError, NagoriError, SchemaTooNew, StoreError
from nagori.journal import Verdict
from nagori.parts import Parts, Progress, no_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Embedder

EMBED_AT_ONCE = 32
LOOK_AT_ONCE = 1000


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


class Proof(Value, frozen=False):
    """What `verify` found."""

    journals: list[Verdict] = fresh(list)
    store: list[str] = fresh(list)
    differing: list[str] = fresh(list)

    @property
    def sound(self) -> bool:
        return not (self.store or self.differing) and all(journal.sound for journal in self.journals)


def verify(parts: Parts, progress: Progress = no_progress) -> Proof:
    """Read every line of every journal, check the store, and compare it with the journal told anew."""
    proof = Proof()
    spaces = parts.journal.spaces()
    for number, space in enumerate(spaces):
        with parts.journal.locked(space):
            proof.journals.append(parts.journal.verify(space))
            proof.differing += _differences(parts, space)
        progress(number + 1, len(spaces) + 1)
    proof.store = parts.store.check()
    progress(len(spaces) + 1, len(spaces) + 1)
    return proof


def rebuild(parts: Parts, progress: Progress = no_progress, *, accept_damage: bool = False) -> int:
    """Throw the derived state away and tell the journal again; the number of events told."""
    spaces = parts.journal.spaces()
    if not accept_damage:
        for space in spaces:
            _refuse_damage(parts.journal.verify(space))
    told = 0
    for number, space in enumerate(spaces):
        try:
            with parts.store.renewed(space):
                told += parts.ledger.catch_up(space)
        except SchemaTooNew:
            raise
        except StoreError as trouble:
            # Too damaged to renew in place. The other spaces lived in the same file: they come along.
            aside = parts.store.start_over(parts.clock.now().strftime("%Y%m%dT%H%M%S"))
            parts.tell("store.set_aside", path=aside, reason=str(trouble))
            return sum(parts.ledger.catch_up(each) for each in spaces)
        progress(number + 1, len(spaces))
    return told


def embed_missing(parts: Parts, space: Space, progress: Progress = no_progress) -> int:
    """Give vectors to memories that have none: after a rebuild, a crash, or a time without the model. One
    that fails is told, and the rest waits for the next time."""
    embedder = parts.embedder_for(space)
    try:
        return _embed_missing(parts, space, embedder, progress) if embedder else 0
    except ModelError as trouble:
        parts.tell("embedder.silent", error=trouble)
        return 0


def _embed_missing(parts: Parts, space: Space, embedder: Embedder, progress: Progress) -> int:
    done = 0
    while waiting := parts.store.unembedded(space, embedder.model, EMBED_AT_ONCE):
        data = embedder.embed_passages([memory.searchable for memory in waiting])
        vectors = {
            memory.id: Vector(embedder.model, memory.digest, vector)
            for memory, vector in zip(waiting, data, strict=True)
        }
        if not parts.store.add_vectors(space, vectors):
            break  # all of them changed meanwhile; whoever changed them embeds them
        done += len(waiting)
        progress(done, 0)
    if parts.store.model_in_use(space) != embedder.model:
        parts.store.use_model(space, embedder.model)  # the old model is out of reach: this one serves now
    return done


def doctor(parts: Parts) -> list[Finding]:
    """Look at everything a user might have to know about."""
    return [
        finding
        for check in (_python, _folder, _journals, _store, _embedder, _model, _clock)
        for finding in check(parts)
    ]


def _differences(parts: Parts, space: Space) -> list[str]:
    """Memories that the store and the journal tell differently. Nobody writes meanwhile."""
    told = fold((placed.event for placed in parts.journal.read(space)), {}).memories
    parts.ledger.apply_waiting(space)
    differing = []
    for ids in batched(told, LOOK_AT_ONCE):
        kept = parts.store.look(space, ids)
        differing += [id for id in ids if kept.get(id) != told[id]]
    return [f"{id}: the store does not agree with the journal" for id in differing]


def _refuse_damage(verdict: Verdict) -> None:
    if not verdict.sound:
        first = verdict.damage[0]
        raise JournalError(
            "{n} damaged lines, the first in {file} at byte {offset} ({reason}): "
            "rebuilding would lose what they say. Look at `nagori verify` first.",
            n=len(verdict.damage),
            file=first.file,
            offset=first.offset,
            reason=first.problem,
        )


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
    for space in parts.journal.spaces():
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
        used = {parts.store.model_in_use(space) for space in parts.journal.spaces()} - {None, wished}
    except NagoriError:
        return  # said already, by the check of the store
    for name in sorted(filter(None, used)):
        yield found(
            "embedder", "warn", "memories still have the vectors of {model}", "nagori reembed", model=name
        )


def _model(parts: Parts) -> Iterator[Finding]:
    """The language model, as its last answers tell: nobody is asked anything here."""
    from nagori.services.patience import Patience

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
        newest = [entry.at for s in parts.journal.spaces() for entry in parts.store.last_log(s, 1)]
    except NagoriError:
        return  # said already, by the check of the store
    ahead = [at for at in newest if at > now]
    if ahead:
        template = "the newest event is from {at}, which is still to come"
        yield found("clock", "warn", template, "set the clock of this machine", at=max(ahead).isoformat())
    else:
        at = now.astimezone(parts.clock.zone).isoformat(timespec="seconds")
        yield found("clock", "ok", "{at}", at=at)
