"""Remember: store one memory or many, each once.

The id is computed from the words and the scope. Remembering the same again, even in many processes at once,
gives one memory with more mentions.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256

from nagori.core.decay import coefficient_for
from nagori.core.events import Event
from nagori.core.model import (
    THREAD,
    THREAD_ID,
    Category,
    Emotion,
    Filter,
    Kind,
    Level,
    Memory,
    Privacy,
    Scope,
    Source,
    TaskOutcome,
    Text,
    Trust,
    check_vector,
    parse_choice,
    text_digest,
    utc,
)
from nagori.core.serialize import to_record
from nagori.core.storage_types import Vector
from nagori.core.value_object import (
    Value,
    check_bool,
    check_kind,
    check_list,
    default_factory,
    read_metadata,
    read_texts,
    replace,
    split_batches,
)
from nagori.errors import InvalidInput, LimitReached, ModelError, StoreError
from nagori.event_ledger import Decision, read_memories
from nagori.language.lexicon import speaks_of
from nagori.language.redaction import fit_to_keep
from nagori.runtime import Progress, Runtime, no_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.core.value_object import Metadata, Scalar
    from nagori.protocols import Embedder

LONGEST_TEXT = 1_000_000
AT_ONCE = 500
REMEMBERED_INTENSITY = 80.0  # intensity of an explicit memory, above most of what is said in passing
REMEMBERED_EMOTION = Emotion(REMEMBERED_INTENSITY)


class Draft(Value):
    """A memory to be, without an id. `content` is the statement; `trigger` is what led to it. `metadata` is
    the caller's own data: at most 32 keys of 64 characters, texts of 1,000 characters."""

    content: str
    trigger: str = ""
    kind: Kind = Kind.FACT
    category: Category | None = None
    emotion: Emotion = REMEMBERED_EMOTION
    keywords: tuple[str, ...] = ()  # in addition to those found in the text
    created: datetime | None = None
    source: Source = Source()
    trust: Trust = Trust.USER
    privacy: Privacy = Privacy.PUBLIC
    protect: bool = False
    metadata: Metadata = default_factory(dict)
    least_coefficient: float = 0.0  # it fades no faster than this, whatever its category
    outcome: TaskOutcome | None = None  # how the work ended that it was drawn from

    def __post_init__(self) -> None:
        check_choices(self)
        check_kind("source", self.source, Source)
        check_bool("protect", self.protect)
        if self.created is not None:
            object.__setattr__(self, "created", utc(self.created, "created"))
        object.__setattr__(self, "keywords", read_texts("keywords", self.keywords))
        object.__setattr__(self, "metadata", read_metadata(self.metadata))


class Edit(Value):
    """The fields to change; None leaves a field as it is."""

    content: str | None = None
    trigger: str | None = None
    kind: Kind | None = None
    category: Category | None = None
    emotion: Emotion | None = None
    privacy: Privacy | None = None
    metadata: Metadata | None = None  # replaces all metadata
    project: str | None = None  # moves it to this project
    everywhere: bool = False  # makes it the user's own, in every project

    def __post_init__(self) -> None:
        check_choices(self)
        if self.project is not None:
            if self.everywhere:
                raise InvalidInput("project", "error.project_and_everywhere")
            Scope(project=self.project)  # a name that no scope takes is refused
        if self.metadata is not None:
            object.__setattr__(self, "metadata", read_metadata(self.metadata))


def check_choices(asked: Draft | Edit) -> None:
    """Convert plain strings to enum members; refuse others by name."""
    enums = {"kind": Kind, "category": Category, "privacy": Privacy, "trust": Trust, "outcome": TaskOutcome}
    for name, enum in enums.items():
        value = getattr(asked, name, None)
        if value is not None:
            object.__setattr__(asked, name, parse_choice(enum, value, name))
    if asked.emotion is not None:
        check_kind("emotion", asked.emotion, Emotion)


def remember(runtime: Runtime, scope: Scope, draft: Draft) -> Memory:
    """Store one memory. When this returns, it is durable. It may correct or continue another one."""
    kept = remember_many(runtime, scope, [draft])[0]
    if speaks_of(kept.text.content) is None:
        return kept
    from nagori.services.formation import link_to_subject

    return link_to_subject(runtime, scope, kept)


def remember_many(
    runtime: Runtime,
    scope: Scope,
    drafts: Iterable[Draft],
    progress: Progress = no_progress,
    origins: Mapping[int, Sequence[int]] | None = None,
) -> list[Memory]:
    """Store many memories in batches; each batch is atomic. `origins`: the events of the source turns, by
    index of the draft."""
    kept: list[Memory] = []
    total = len(drafts) if isinstance(drafts, Sequence) else 0
    for bundle in split_batches(check_list("drafts", drafts), AT_ONCE):
        memories = [compose(runtime, scope, check_kind("drafts", draft, Draft)) for draft in bundle]
        places = enumerate(memories, len(kept))
        turns = {memory.id: origins[n] for n, memory in places if n in origins} if origins else {}
        kept += store_memories(runtime, scope, memories, origins=turns)
        progress(len(kept), total)
    return kept


def compose(runtime: Runtime, scope: Scope, draft: Draft) -> Memory:
    """The memory for a draft: cleaned, redacted, with its initial intensity and coefficient."""
    text = Text(safe_text(runtime, draft.trigger, "trigger"), safe_text(runtime, draft.content, "content"))
    if not text.whole:
        said = (draft.trigger + draft.content).strip()
        raise InvalidInput("content", "error.text_all_private" if said else "error.text_empty")
    born = draft.created or runtime.clock.now()
    coefficient = coefficient_for(
        draft.category, draft.emotion.intensity, draft.kind, runtime.config.retention
    )
    memory = Memory(
        id="",
        created=born,
        anchor=born,
        texts={Level.FULL: text},
        kind=draft.kind,
        category=draft.category,
        emotion=draft.emotion,
        coefficient=max(coefficient, draft.least_coefficient),
        keywords=draft.keywords,
        trust=draft.trust,
        privacy=draft.privacy,
        project=scope.project,
        agent=scope.agent,
        role=scope.role,
        source=draft.source,
        protected=draft.protect,
        task=scope.task,
        outcome=draft.outcome,
        metadata=safe_metadata(runtime, draft.metadata),
    )
    return replace(memory, id=identify(memory))


def safe_metadata(runtime: Runtime, metadata: Metadata) -> Metadata:
    """`metadata` after cleaning and redaction."""
    safe = {redact_text(runtime, key): _safe_value(runtime, key, value) for key, value in metadata.items()}
    return read_metadata(safe)


def _safe_value(runtime: Runtime, key: str, value: Scalar) -> Scalar:
    """Check a value by itself and together with its key: {"password": "…"} is a secret by its key."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    written = str(value)
    alone = redact_text(runtime, written)
    label = f"{key}: "
    labelled = redact_text(runtime, label + alone)
    safe = labelled.removeprefix(label) if labelled.startswith(label) else alone
    return value if safe == written else safe


def safe_text(runtime: Runtime, text: str, name: str) -> str:
    """`text` after redaction and cleaning; InvalidInput if nothing is left or it is too long."""
    if not isinstance(text, str):
        raise InvalidInput(name, "error.type_not_text", type=type(text).__name__)
    if len(text) > LONGEST_TEXT:
        counts = {"n": f"{len(text):,}", "most": f"{LONGEST_TEXT:,}"}
        raise InvalidInput(name, "error.text_too_long", **counts)
    return redact_text(runtime, text)


def redact_text(runtime: Runtime, text: str) -> str:
    """`text` after redaction and cleaning, of any length."""
    rules = runtime.config.privacy
    return fit_to_keep(text, strip=rules.strip_private, redact=rules.redact_secrets)


def identify(memory: Memory, again: int = 0) -> str:
    """The id, from the words and the scope; `again` > 0 if that id is taken."""
    text, source = memory.texts[Level.FULL], memory.source
    belongs = (memory.project, memory.agent, memory.role, memory.privacy, source.session, source.turn)
    said = (source.speaker, text.trigger, text.content, again or "")
    digest = sha256("\x1f".join(f"{part}" for part in (*belongs, *said)).encode()).digest()
    of_thread = memory.kind is Kind.SUMMARY and (source.uri or "").startswith(THREAD)
    return (THREAD_ID if of_thread else "mem_") + b32encode(digest[:10]).decode().lower()


def store_memories(
    runtime: Runtime,
    scope: Scope,
    memories: Sequence[Memory],
    vectors: Mapping[str, Vector] | None = None,
    origins: Mapping[str, Sequence[int]] | None = None,
) -> list[Memory]:
    """Store one batch atomically; returns the memories as they are now. `origins`: the events of their source
    turns."""
    vectors = embed(runtime, scope, memories) if vectors is None else vectors
    turns = {id: {"turns": list(seqs)} for id, seqs in (origins or {}).items()}

    def decide() -> Decision:
        now, events = runtime.clock.now(), list[Event]()
        ensure_room(runtime, scope, sum(m.protected for m in memories))
        known = find_known(runtime, scope, [m.id for m in memories])
        chosen = []
        for memory in memories:
            place = _place(runtime, scope, memory, known)
            chosen.append(place)
            if place.id not in known:
                known[place.id] = place
                data = {"memory": to_record(place), **turns.get(memory.id, {})}
                events.append(Event("formed", now, data, place.id))
                continue
            if memory.source.turn is not None:  # a turn that is read twice was said once
                continue
            events.append(Event("repeated", now, turns.get(memory.id, {}), place.id))
            if memory.protected and not known[place.id].protected:
                events.append(Event("protected", now, {}, place.id))
        return Decision(events, chosen)

    # Without reading the store: forming a known memory counts as a repetition.
    chosen: list[Memory] = runtime.ledger.write(scope.owner, decide, vectors, blind=True).result
    now_known = find_known(runtime, scope, [m.id for m in chosen])
    return [now_known.get(m.id, m) for m in chosen]


def _place(runtime: Runtime, scope: Scope, memory: Memory, known: dict[str, Memory]) -> Memory:
    """The memory with its final id. If the memory with this id was edited since, a new id is used."""
    again = 0
    while (other := known.get(memory.id)) and other.texts.get(Level.FULL) != memory.texts[Level.FULL]:
        again += 1
        memory = replace(memory, id=identify(memory, again))
        known |= find_known(runtime, scope, [memory.id])
    return memory


def find_known(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> dict[str, Memory]:
    """The memories with these ids; empty if the store cannot be read."""
    try:
        return read_memories(runtime.store, scope.owner, ids)
    except StoreError:
        return {}


def embed(
    runtime: Runtime, scope: Scope, memories: Sequence[Memory], known: Mapping[str, Vector] | None = None
) -> dict[str, Vector]:
    """Vectors for memories, by id; `known` are those of texts that were embedded before."""
    made = dict(known or {})
    made |= embed_texts(runtime, scope, [m.searchable for m in memories if m.searchable not in made])
    return {m.id: made[m.searchable] for m in memories if m.searchable in made}


def embed_texts(runtime: Runtime, scope: Scope, texts: Sequence[str]) -> dict[str, Vector]:
    """Vectors of texts: known ones from the store, the others computed. Outside any lock. What an embedder
    fails to give is given later (`embed_missing`); a memory is kept all the same."""
    digests = {text_digest(text): text for text in texts}
    known: dict[bytes, bytes] = {}
    try:
        embedder = runtime.embedder_for(scope.owner)
        if embedder is not None:
            known = runtime.vectors.get(scope.owner, embedder.model, list(digests))
    except StoreError:
        embedder = runtime.embedder
    if embedder is None:
        return {}
    missing = [digest for digest in digests if digest not in known]
    known |= zip_vectors(runtime, embedder, missing, [digests[digest] for digest in missing])
    return {
        text: Vector(embedder.model, digest, known[digest])
        for digest, text in digests.items()
        if digest in known
    }


def zip_vectors(
    runtime: Runtime, embedder: Embedder, digests: Sequence[bytes], texts: Sequence[str]
) -> dict[bytes, bytes]:
    """Vectors of texts by digest. A fault of the embedder affects nothing else: missing and invalid vectors
    are reported and left out."""
    if not texts:
        return {}
    try:
        made = make_vectors(embedder, texts)
    except ModelError as trouble:
        runtime.observe("embedder.silent", error=trouble)
        return {}
    return dict(zip(digests, made, strict=True))


def ensure_room(runtime: Runtime, scope: Scope, more: int) -> None:
    """LimitReached if `more` protected memories exceed the limit; the error lists candidates to release,
    oldest first."""
    limit = runtime.config.protection.max_protected_memories
    whole = Scope(user=scope.user, tenant=scope.tenant)  # the limit counts per user, not per project
    if more > 0 and runtime.store.count(whole).protected + more > limit:
        protected = runtime.store.find(scope, Filter(protected=True), limit=limit)
        raise LimitReached(limit, [memory.id for memory in reversed(protected)])


def make_vectors(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """One valid vector per text; ModelError for any fault of the embedder."""
    try:
        made = list(embedder.embed_passages(texts))
        for data in made:
            check_vector(data, embedder.dimension)
    except ModelError:
        raise
    except Exception as trouble:  # an embedder may be anybody's code
        from nagori.messages import short

        kind, reason = type(trouble).__name__, short(trouble)
        raise ModelError("error.embedder_failed", kind=kind, reason=reason) from trouble
    if len(made) != len(texts):
        raise ModelError("error.vectors_missing", made=len(made), texts=len(texts))
    return made
