"""Data types: memory, text, emotion, scope, source, filters and search results.

A memory has three axes that are never combined into one number:
  retention  how strong it still is        (intensity, coefficient, anchor → `decay`)
  validity   whether it still holds        (superseded_by)
  trust      who said it                   (trust)
It also has a kind (*what* it is) and a level (*how much* is left). These types do not know where a memory is
stored.

Times are aware and kept in UTC; naive ones are refused.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntEnum, StrEnum
from math import isfinite

from nagori.core.sha256_without_openssl import sha256
from nagori.core.value_object import (
    Value,
    check_list,
    check_text,
    check_whole,
    default_factory,
    read_texts,
    replace,
)
from nagori.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeVar

    from nagori.core.value_object import Metadata

    Choice = TypeVar("Choice", bound=StrEnum)
    Made = TypeVar("Made")
    # The enums below as literals for callers; a type checker refuses any other value.
    KindName = Literal["episode", "fact", "decision", "lesson", "summary"]
    CategoryName = Literal["casual", "work", "decision", "emotional"]
    TrustName = Literal["user", "assistant", "tool", "import"]
    PrivacyName = Literal["private", "agent-only", "public"]
    OutcomeName = Literal["success", "failure"]
    RelationName = Literal["continues", "references", "derived_from", "contradicts", "same_topic"]


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_NAME = 256
DAY = timedelta(days=1)
LARGEST_COUNT = 10**12  # maximum of any count; far below a database's largest integer
LARGEST_TOLD = 10**9  # maximum of a count in an imported record; the cycle can still add to it


def parse_choice(enum: type[Choice], value: object, field_name: str) -> Choice:
    """`value` as a member of `enum`; InvalidInput lists the valid values."""
    try:
        if not isinstance(value, str):  # the enum's own error would print the value
            raise ValueError
        return enum(value)
    except ValueError:
        choices = ", ".join(str(member.value) for member in enum)
        raise InvalidInput(field_name, "error.not_choice", value=value, choices=choices) from None


class Kind(StrEnum):
    """What a memory is. Facts decay slowest; see `decay.coefficient_for`."""

    EPISODE = "episode"  # something that was said or happened
    FACT = "fact"  # identity, health, preference, relationship, standing instruction
    DECISION = "decision"
    LESSON = "lesson"  # what worked, what failed
    SUMMARY = "summary"  # of a session or a thread


class Level(IntEnum):
    """How much is left of a memory [E6]."""

    FULL = 1
    SUMMARY = 2
    TRACE = 3
    ARCHIVED = 4


class Category(StrEnum):
    """Context categories. Each has its own range of decay coefficients [E4]."""

    CASUAL = "casual"
    WORK = "work"
    DECISION = "decision"
    EMOTIONAL = "emotional"


class Valence(StrEnum):
    POSITIVE = "positive"
    NEGATIVE = "negative"
    NEUTRAL = "neutral"


class Trust(StrEnum):
    """Who said it."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    IMPORT = "import"


class TaskOutcome(StrEnum):
    """How the work ended that a lesson was drawn from."""

    SUCCESS = "success"
    FAILURE = "failure"


class Privacy(StrEnum):
    """Which agents of the same user may see a memory."""

    PRIVATE = "private"  # the agent that formed it
    AGENT_ONLY = "agent-only"  # agents of the same role
    PUBLIC = "public"  # every agent of this user


class RelationType(StrEnum):
    """The five relations. Their meaning and direction never change."""

    CONTINUES = "continues"  # source carries on where target stopped
    REFERENCES = "references"  # source mentions target
    DERIVED_FROM = "derived_from"  # source was made from target
    CONTRADICTS = "contradicts"  # source corrects target
    SAME_TOPIC = "same_topic"  # no direction of meaning; the newer one is the source


TAGS = frozenset(
    (
        *("joy", "satisfaction", "relief", "excitement", "gratitude", "pride", "hope", "love", "curiosity"),
        *("sadness", "anger", "frustration", "anxiety", "fear", "disgust", "regret", "loneliness", "guilt"),
        *("resignation", "nostalgia", "surprise", "confusion", "determination"),
    )
)


class Scope(Value):
    """The owner of a memory, and who is asking.

    `tenant` and `user` identify the owner: no operation crosses them, and erasing a user erases exactly this
    pair. `project`, `agent` and `role` narrow what is visible. A memory without a project belongs to all
    projects of its user. A scope without an agent is the user, who sees everything, unless `unnamed_agent`
    says that an agent without a name asks, as the main session of a host does: it sees what is public. `task`
    is what the caller works on: it hides nothing, but memories of the same task are recalled first, and
    outcomes are compared within it.
    """

    user: str = "me"
    tenant: str = "local"
    project: str | None = None
    agent: str | None = None
    role: str | None = None
    task: str | None = None
    unnamed_agent: bool = False

    def __post_init__(self) -> None:
        for name in ("user", "tenant"):
            _check_name(f"scope.{name}", getattr(self, name))
        for name in ("project", "agent", "role", "task"):
            value = getattr(self, name)
            if value is not None:
                _check_name(f"scope.{name}", value)
        if not isinstance(self.unnamed_agent, bool):
            raise InvalidInput("scope.unnamed_agent", "error.not_bool", value=self.unnamed_agent)

    @property
    def owner(self) -> tuple[str, str]:
        """Tenant and user: the unit of ownership and erasure."""
        return (self.tenant, self.user)

    @property
    def is_user(self) -> bool:
        """Whether the user asks, and not an agent in their name."""
        return self.agent is None and self.role is None and not self.unnamed_agent

    @property
    def is_whole(self) -> bool:
        """Whether it sees everything of its owner."""
        return self.project is None and self.is_user


class Emotion(Value):
    """An emotion [E2, E3]: intensity, valence, arousal and tags."""

    intensity: float = 35.0
    valence: Valence = Valence.NEUTRAL
    arousal: float = 30.0
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("intensity", "arousal"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
                raise InvalidInput(f"emotion.{name}", "error.not_percent", value=value)
            object.__setattr__(self, name, float(value))
        object.__setattr__(self, "valence", parse_choice(Valence, self.valence, "emotion.valence"))
        tags = read_texts("emotion.tags", self.tags)
        unknown = sorted(set(tags) - TAGS)
        if unknown:
            raise InvalidInput("emotion.tags", "error.unknown_tags", tags=", ".join(unknown))
        object.__setattr__(self, "tags", tags)


class Text(Value):
    """The text of a memory at one level: its trigger, and its content."""

    trigger: str
    content: str

    @property
    def whole(self) -> str:
        """Trigger and content as one text, for search and embedding."""
        return f"{self.trigger}\n{self.content}".strip()

    def __str__(self) -> str:
        return self.whole


# Why a memory is in the archive, in the words of its document. Version 0.1 stored the cycle's own reasons.
ARCHIVE_REASONS = {"score": "low_importance", "ratio": "low_importance", "capacity": "capacity_limit"}


class Source(Value):
    """The turn that a memory was formed from. It prevents forming it twice."""

    session: str | None = None
    turn: int | None = None
    speaker: str | None = None
    uri: str | None = None

    def __post_init__(self) -> None:
        for name in ("session", "speaker", "uri"):
            value = getattr(self, name)
            if value is not None and len(check_text(f"source.{name}", value)) > 4096:
                raise InvalidInput(f"source.{name}", "error.not_short_text", most=4096)
        if self.turn is not None:
            check_whole("source.turn", self.turn, -LARGEST_COUNT, LARGEST_COUNT)


class Turn(Value):
    """A turn of a conversation. `role` is user, assistant, tool or import. `ref` is the id that its program
    gave it; without one the time tells turns apart."""

    text: str
    at: datetime
    session: str | None = None
    index: int | None = None  # its place in the session
    speaker: str | None = None
    role: Trust = Trust.USER
    uri: str | None = None
    ref: str | None = None

    def __post_init__(self) -> None:
        check_text("turn.text", self.text)
        if self.index is not None:
            check_whole("turn.index", self.index, -LARGEST_COUNT, LARGEST_COUNT)
        object.__setattr__(self, "at", utc(self.at, "turn.at"))
        object.__setattr__(self, "role", parse_choice(Trust, self.role, "turn.role"))
        Source(self.session, self.index, self.speaker, self.uri)  # the source of the memories formed from it


class Credit(Value):
    """What was observed about one memory [S7]: the number of turns in which it was used, shown and ignored,
    or withheld, and the sums of their outcomes, each less the usual outcome of its task. Older turns count
    less. `unused` counts in a row."""

    used: float = 0.0
    ignored: float = 0.0
    withheld: float = 0.0
    used_sum: float = 0.0
    ignored_sum: float = 0.0
    withheld_sum: float = 0.0
    unused: int = 0
    saved: float = 0.0  # seconds that turns with it took less than usual, in all

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise InvalidInput(f"credit.{name}", "error.not_number", value=value)
            if not abs(value) <= LARGEST_COUNT:
                raise InvalidInput(f"credit.{name}", "error.out_of_range", value=value)
            object.__setattr__(self, name, int(value) if name == "unused" else float(value))

    @property
    def showings(self) -> float:
        return self.used + self.ignored


NO_CREDIT = Credit()
_DEEPEST_FIRST = (Level.TRACE, Level.SUMMARY, Level.FULL)


class _Derivable:
    """Room for what follows from a value, beside its fields: it is not copied and not compared."""

    __slots__ = ("_derived",)


class Memory(Value, _Derivable):
    """One memory. `version` counts its changes; code that computes outside a lock compares it before
    writing."""

    id: str
    created: datetime
    anchor: datetime  # age counts from here; reinforcement moves it towards now [ruling 1]
    texts: dict[Level, Text]
    kind: Kind = Kind.EPISODE
    category: Category | None = None
    level: Level = Level.FULL
    emotion: Emotion = Emotion()
    coefficient: float = 0.995
    keywords: tuple[str, ...] = ()
    trust: Trust = Trust.USER
    privacy: Privacy = Privacy.PUBLIC
    project: str | None = None
    agent: str | None = None
    role: str | None = None
    source: Source = Source()
    protected: bool = False
    mentions: int = 1
    recalls: int = 0  # number of reinforcements
    recalled_at: datetime | None = None  # last recall; newer than `reinforced_at`: due for reinforcement
    reinforced_at: datetime | None = None
    superseded_by: str | None = None
    appraised_by: str | None = None  # a model's name, or "user"; None: appraised by rules
    archived_at: datetime | None = None
    archive_reason: str | None = None  # low_importance, capacity_limit or manual [L4]
    keep_until: datetime | None = None
    revival_at: datetime | None = None  # a recall requested its revival
    forgotten_at: datetime | None = None
    version: int = 1
    task: str | None = None  # what its agent worked on
    outcome: TaskOutcome | None = None  # how that ended
    credit: Credit = NO_CREDIT
    metadata: Metadata = default_factory(dict)  # the caller's own data; nagori does not read it

    def __post_init__(self) -> None:
        for name in ("created", "anchor"):
            object.__setattr__(self, name, utc(getattr(self, name), name))

    @property
    def text(self) -> Text:
        """The text at the present level; an archived memory shows its shortest text."""
        for level in _DEEPEST_FIRST:
            if level <= self.level and level in self.texts:
                return self.texts[level]
        raise InvalidInput("memory.texts", "error.memory_without_text", id=self.id)

    @property
    def fullest(self) -> Text:
        """The most that is still kept of it, whatever is shown at its level."""
        return self.texts[min(self.texts)]

    @property
    def searchable(self) -> str:
        """The text that search uses: who said it, and the fullest text that is kept. Forgetting decides how
        much is shown, not what can be found."""
        speaker = f"{self.source.speaker}: " if self.source.speaker else ""
        return speaker + self.fullest.whole

    @property
    def digest(self) -> bytes:
        """The digest of the searchable text. A vector of another text has another digest."""
        return text_digest(self.searchable)

    @property
    def is_archived(self) -> bool:
        return self.level is Level.ARCHIVED

    @property
    def is_forgotten(self) -> bool:
        return self.forgotten_at is not None

    @property
    def awaits_reinforcement(self) -> bool:
        """Whether it was recalled since the last cycle [E5]."""
        if self.recalled_at is None:
            return False
        return self.reinforced_at is None or self.recalled_at > self.reinforced_at

    def evolve(self, **changes: object) -> Memory:
        """A copy with `changes`, one version later."""
        return replace(self, version=self.version + 1, **changes)

    def to_dict(self) -> dict[str, Any]:
        """All its fields as plain data, ready for JSON, in the format of an export."""
        from nagori.core.serialize import to_record

        return to_record(self)

    def __repr__(self) -> str:
        return f"<Memory {_headline(self)}>"

    def _repr_html_(self) -> str:
        return _as_html(self, ())


def derive(memory: Memory, compute: Callable[[Memory], Made]) -> Made:
    """What `compute` returns for this memory, computed once: a server ranks the same memories again and
    again. It is gone when the memory is. Only for small results."""
    known: dict[object, Any] = getattr(memory, "_derived", None) or {}
    if compute not in known:
        known[compute] = compute(memory)
        object.__setattr__(memory, "_derived", known)
    result: Made = known[compute]
    return result


class Relation(Value, order=True):
    source: str
    target: str
    type: RelationType


class Filter(Value):
    """Which memories to select. Empty selects everything that is not archived or forgotten. Plain names and
    numbers become members of their enums."""

    kinds: frozenset[Kind] | None = None
    levels: frozenset[Level] | None = None
    categories: frozenset[Category] | None = None
    since: datetime | None = None
    until: datetime | None = None
    session: str | None = None
    protected: bool | None = None
    archived: bool = False  # include the archive
    forgotten: bool = False  # include forgotten ones
    prefix: str | None = None  # ids with this prefix
    unappraised: bool = False  # only turns at full level that only rules have appraised
    unembedded: str | None = None  # only those without a vector of this model for their present text

    def __post_init__(self) -> None:
        for name, enum in (("kinds", Kind), ("categories", Category), ("levels", Level)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _choices(getattr(self, name), enum, f"filter.{name}"))
        for name in ("since", "until"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, utc(getattr(self, name), f"filter.{name}"))
        for name in ("session", "prefix", "unembedded"):
            if getattr(self, name) is not None:
                check_text(f"filter.{name}", getattr(self, name))
        for name in ("protected", "archived", "forgotten", "unappraised"):
            value = getattr(self, name)
            if not (isinstance(value, bool) or (value is None and name == "protected")):
                raise InvalidInput(f"filter.{name}", "error.not_bool", value=value)


def _choices(values: Any, enum: Any, name: str) -> frozenset[Any]:
    """Members of an enum."""
    if isinstance(values, frozenset) and all(type(value) is enum for value in values):
        return values
    if not issubclass(enum, IntEnum):
        return frozenset(parse_choice(enum, value, name) for value in check_list(name, values))
    whole = [check_whole(name, value, min(enum), max(enum)) for value in check_list(name, values)]
    return frozenset(map(enum, whole))


THREAD = "thread:"  # how the source of a thread's summary begins
THREAD_ID = "thr_"  # how its id begins, so that a search knows it without reading it


def is_thread_summary(memory: Memory) -> bool:
    """Whether a memory is the summary of a thread. Its sources tell the same in full."""
    return memory.id.startswith(THREAD_ID)


ALIVE = Filter()


class TurnFilter(Value):
    """Which recorded turns to select."""

    session: str | None = None
    pending: bool = False  # only unprocessed ones
    after: int = 0  # only events after this number
    seqs: tuple[int, ...] | None = None  # only these events
    ids: tuple[str, ...] | None = None  # only these turns turns
    first: int | None = None  # at most this many, from the start
    last: int | None = None  # at most this many, from the end


class Item(Value):
    """A row that another program keeps here, exactly as it gave it, addressed by `namespace` and `key`.
    Decay, compression and redaction of secrets never touch it. `value` is JSON text. An item with a `ttl`
    expires that long after it was written or renewed."""

    namespace: tuple[str, ...]
    key: str
    value: str
    created: datetime
    updated: datetime
    ttl: timedelta | None = None
    expires: datetime | None = None

    @property
    def id(self) -> str:
        return item_id(self.namespace, self.key)


class ItemFilter(Value):
    """Which items to select, and in which order: "key" (namespace, then key), "last" (the same, backwards) or
    "newest" (by `updated`)."""

    prefix: tuple[str, ...] = ()  # namespaces that begin with these labels
    ids: tuple[str, ...] | None = None  # only these
    valid_at: datetime | None = None  # only those that have not expired by then
    expired_at: datetime | None = None  # only those that have
    order: Literal["key", "last", "newest"] = "key"
    limit: int | None = None
    offset: int = 0


def item_id(namespace: Sequence[str], key: str) -> str:
    """The id of an item: it names the item in the journal without its words."""
    place = "\x1f".join([f"{len(label)}:{label}" for label in (*namespace, key)])
    return f"item_{sha256(place.encode()).hexdigest()[:32]}"


class Hit(Value):
    """One search result. A higher score is nearer, in every store."""

    id: str
    score: float


class Recollection(Value):
    """A recalled memory with its score; `terms` are the named parts of the score. Of the best answers the
    fullest words that are kept are told (`in_full`), of the others what their level shows [ruling 42]."""

    memory: Memory
    score: float
    retention: float
    terms: dict[str, float] = default_factory(dict)
    in_full: bool = False

    @property
    def id(self) -> str:
        """The id of the memory."""
        return self.memory.id

    @property
    def shown_text(self) -> Text:
        """What is told of the memory."""
        return self.memory.fullest if self.in_full else self.memory.text

    @property
    def text(self) -> str:
        """What is told of the memory, trigger and content."""
        return self.shown_text.whole

    @property
    def created(self) -> datetime:
        """When it was said or happened, in UTC."""
        return self.memory.created

    @property
    def confidence(self) -> float | None:
        """Confidence, 0 to 1, that the memory is about the question; None where the ranking computes none."""
        return self.terms.get("confidence")

    def to_dict(self) -> dict[str, Any]:
        """All its fields as plain data, ready for JSON."""
        return {
            "memory": self.memory.to_dict(),
            "score": self.score,
            "confidence": self.confidence,
            "retention": self.retention,
            "terms": dict(self.terms),
            "in_full": self.in_full,
            "text": self.text,
        }

    def __repr__(self) -> str:
        return f"<Recollection {self.score:.2f} {_headline(self.memory)}>"

    def _repr_html_(self) -> str:
        sure = () if self.confidence is None else (f"confidence {self.confidence:.2f}",)
        return _as_html(self.memory, (f"score {self.score:.2f}", *sure))


HEADLINE_LENGTH = 60  # characters of a memory in a short `repr`


def _headline(memory: Memory) -> str:
    """Id, day and beginning of a memory: one readable line in a terminal."""
    words = " ".join(memory.text.whole.split()) if memory.texts else ""
    short = words if len(words) <= HEADLINE_LENGTH else words[: HEADLINE_LENGTH - 1] + "…"
    return f"{memory.id} {memory.created.date().isoformat()} {short!r}"


def _as_html(memory: Memory, more: tuple[str, ...]) -> str:
    """A memory as HTML for a notebook. All its text is escaped."""
    from html import escape

    facts = (memory.id, memory.created.date().isoformat(), str(memory.kind), memory.level.name.lower(), *more)
    words = escape(memory.text.whole).replace("\n", "<br>")
    return f"<div><p>{words}</p><small>{escape(' · '.join(facts))}</small></div>"


def to_micros(time: datetime | None) -> int | None:
    """Microseconds since 1970: exact, sortable, independent of the zone."""
    return (time - EPOCH) // timedelta(microseconds=1) if time else None


def from_micros(count: int | None) -> Any:
    """The time for a number of microseconds. Returns Any, because nullable columns are read as non-nullable
    ones."""
    return EPOCH + timedelta(microseconds=count) if count is not None else None


def check_vector(data: bytes, dimension: int | None) -> int:
    """The dimension of a vector; InvalidInput for a wrong one, for NaN and infinity, and for the zero
    vector."""
    if not isinstance(data, bytes) or not data or len(data) % 4:
        raise InvalidInput("vector", "error.vector_bytes")
    numbers = array("f", data)
    if dimension is not None and len(numbers) != dimension:
        raise InvalidInput("vector", "error.vector_dimension", n=len(numbers), dimension=dimension)
    if not all(map(isfinite, numbers)):
        raise InvalidInput("vector", "error.vector_not_finite")
    if not any(numbers):
        raise InvalidInput("vector", "error.vector_zero")
    return len(numbers)


def text_digest(text: str) -> bytes:
    """A short digest of a text, the same on every machine."""
    return sha256(text.encode()).digest()[:16]


def utc(moment: datetime, name: str = "time") -> datetime:
    """`from_micros` in UTC. Naive times are refused, because a guessed zone is wrong twice a year."""
    if not isinstance(moment, datetime):
        raise InvalidInput(name, "error.not_datetime", value=moment)
    if moment.tzinfo is UTC:
        return moment
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise InvalidInput(name, "error.time_without_zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(name, "error.time_not_utc", value=moment) from None


def days_between(earlier: datetime, later: datetime) -> float:
    """Elapsed days, never negative, even if a clock jumped back."""
    return max(0.0, (utc(later) - utc(earlier)) / DAY)


def _check_name(field_name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(field_name, "error.not_name", value=value)
    if len(value) > LONGEST_NAME:
        raise InvalidInput(field_name, "error.name_too_long", most=LONGEST_NAME)
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in value):
        raise InvalidInput(field_name, "error.control_characters")


# --- what every store can hold ---------------------------------------------------------------------


def check_memory(memory: Memory) -> None:
    """InvalidInput unless every store can hold all its values and it has text to show."""
    for name in ("mentions", "recalls", "version"):
        check_count(name, getattr(memory, name))
    for name in ("id", "superseded_by", "appraised_by", "archive_reason", "project", "agent", "role", "task"):
        _check_string(name, getattr(memory, name))
    source, emotion = memory.source, memory.emotion
    for name in ("session", "speaker", "uri"):
        _check_string(f"source.{name}", getattr(source, name))
    if source.turn is not None:
        check_count("source.turn", source.turn, -LARGEST_COUNT)
    if memory.protected is not True and memory.protected is not False:
        raise InvalidInput("protected", "error.not_bool", value=memory.protected)
    if not (isinstance(memory.coefficient, float) and 0 < memory.coefficient <= 1):
        raise InvalidInput("coefficient", "error.out_of_range", value=memory.coefficient)
    if not (isinstance(emotion.intensity, float) and isinstance(emotion.arousal, float)):
        raise InvalidInput("emotion", "error.emotion_numbers")
    for word in memory.keywords:
        if word is None or not isinstance(memory.keywords, tuple):
            raise InvalidInput("keywords", "error.keywords_type")
        _check_string("keywords", word)
    if memory.metadata:
        from nagori.core.value_object import read_metadata

        read_metadata(memory.metadata)
    for text in memory.texts.values():
        _check_string("trigger", text.trigger)
        _check_string("content", text.content)
    memory.text  # noqa: B018 - InvalidInput if it has no text at its level


def check_turn(turn: Value) -> None:
    """InvalidInput unless every store can hold this recorded turn."""
    for name, value in vars(turn).items():
        if name in ("seq", "index"):
            if value is not None:
                check_count(name, value, -LARGEST_COUNT)
        elif name not in ("at", "processed"):
            _check_string(name, value)


def check_item(item: Item) -> None:
    """InvalidInput unless every store can hold this item."""
    for label in (*item.namespace, item.key):
        if not isinstance(label, str):
            raise InvalidInput("item", "error.not_text", value=label)
        _check_string("item", label)
    if not isinstance(item.value, str):
        raise InvalidInput("item", "error.not_text", value=item.value)
    _check_string("item", item.value)


def check_count(name: str, value: object, least: int = 0) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_COUNT:
        raise InvalidInput(name, "error.not_count", value=value)


def _check_string(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidInput(name, "error.not_text", value=value)
    if "\0" in value:
        raise InvalidInput(name, "error.nul_character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInput(name, "error.lone_surrogate") from None


_PRIVACY_LEVELS = ("public", "agent-only", "private")


def strictest_privacy(levels: Iterable[str]) -> str:
    """The privacy of something derived from all of these: the strictest of them."""
    return max(
        (level if level in _PRIVACY_LEVELS else "private" for level in levels),
        key=_PRIVACY_LEVELS.index,
        default="public",
    )
