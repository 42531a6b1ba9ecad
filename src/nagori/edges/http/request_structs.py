"""What requests may say: a struct for each, with the bounds that the OpenAPI document tells."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec

from nagori.core.events import EFFECTS
from nagori.core.knowledge_base import BASE_NAME
from nagori.core.model import (
    LARGEST_COUNT,
    LONGEST_NAME,
    TAGS,
    Category,
    Emotion,
    Filter,
    Kind,
    Level,
    Privacy,
    RelationType,
    Source,
    TaskOutcome,
    Trust,
)
from nagori.core.value_object import LARGEST, LONGEST_KEY, LONGEST_VALUE, MOST, MOST_KEYS
from nagori.services.remember import Draft
from nagori.services.share_lessons_between_agents import MOST_LESSONS

MOST_DRAFTS = 500  # in one write
MOST_ROWS = 1000  # in one answer
MOST_DAYS = 36_525
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
HIDDEN = (  # blanks, and what `clean_text` removes where it stands alone
    r"\s\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
Words = Annotated[str, msgspec.Meta(pattern=f"[^{HIDDEN}]")]
NO_NUL = r"[^\u0000]*"  # no database stores one in a name; in texts it is replaced
Id = Annotated[str, msgspec.Meta(pattern=rf"^{NO_NUL}[^\s\u0000]{NO_NUL}$")]
Plain = Annotated[str, msgspec.Meta(pattern=f"^{NO_NUL}$")]
Name = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[^\u0000-\u001f\u007f]*[^\s\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*$",
        max_length=LONGEST_NAME,
    ),
]
Page = Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Percent = Annotated[float, msgspec.Meta(ge=0.0, le=100.0)]
Key = Annotated[str, msgspec.Meta(pattern=r"^\w[\w .:/@-]*$", max_length=LONGEST_KEY)]
Short = Annotated[str, msgspec.Meta(pattern=f"^{NO_NUL}$", max_length=LONGEST_VALUE)]
Scalars = Annotated[dict[Key, Short | int | float | bool | None], msgspec.Meta(max_length=MOST_KEYS)]
Label = Annotated[str, msgspec.Meta(pattern=f"^{NO_NUL}$", max_length=4096)]
Base = Annotated[str, msgspec.Meta(pattern=f"^{BASE_NAME}$")]


class RequestBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a request may say."""


# --- parts of requests ----------------------------------------------------------------------------


Tag = StrEnum("Tag", {tag: tag for tag in sorted(TAGS)})  # type: ignore[misc]


class EmotionBody(RequestBody):
    intensity: Percent = 35.0
    valence: Literal["positive", "negative", "neutral"] = "neutral"
    arousal: Percent = 30.0
    tags: list[Tag] = []

    def read(self) -> Emotion:
        return Emotion(**arguments(self))


class SourceBody(RequestBody):
    session: Label | None = None
    turn: Annotated[int, msgspec.Meta(ge=-LARGEST_COUNT, le=LARGEST_COUNT)] | None = None
    speaker: Label | None = None
    uri: Label | None = None

    def read(self) -> Source:
        return Source(**arguments(self))


class FilterBody(RequestBody):
    kinds: list[Kind] | None = None
    levels: list[Level] | None = None
    categories: list[Category] | None = None
    since: Moment | None = None
    until: Moment | None = None
    session: Plain | None = None
    protected: bool | None = None
    archived: bool = False
    forgotten: bool = False
    prefix: Plain | None = None

    def read(self) -> Filter:
        return Filter(**{name: getattr(self, name) for name in FilterBody.__struct_fields__})


class PlanErasure(RequestBody):
    """The memories of a user, of a project or a session, one memory by its id, or what is about something.
    Whoever erases everything of a user says the user's name."""

    kind: Literal["owner", "project", "session", "memory", "about"]
    name: Name


class ErasurePlanBody(msgspec.Struct):
    """A plan as it was answered; only its target and its token are read."""

    target: PlanErasure
    token: str


class PartBody(msgspec.Struct):
    """A part of a message. Pictures, calls and the like have no text and are passed over."""

    text: str = ""

    def read(self) -> dict[str, str]:
        return {"text": self.text}


class MessageBody(RequestBody):
    role: Literal["user", "assistant", "tool", "import", "system", "developer"]
    content: str | list[str | PartBody] | None = None
    name: Plain | None = None
    at: Moment | None = None


# --- requests -------------------------------------------------------------------------------------


class Nothing(RequestBody):
    pass


class ById(RequestBody):
    id: Id


class ShowMemory(RequestBody):
    id: Id
    forgotten: bool = False


class Remember(RequestBody):
    content: Words
    trigger: str = ""
    kind: Kind = Kind.FACT
    category: Category | None = None
    emotion: EmotionBody | None = None
    keywords: list[Plain] = []
    created: Moment | None = None
    source: SourceBody | None = None
    trust: Trust = Trust.USER
    privacy: Privacy = Privacy.PUBLIC
    protect: bool = False
    metadata: Scalars | None = None

    def read(self) -> Draft:
        return Draft(**{**arguments(self), "keywords": tuple(self.keywords)})


class RememberMany(RequestBody):
    drafts: Annotated[list[Remember], msgspec.Meta(max_length=MOST_DRAFTS)]


class Form(RequestBody):
    turns: list[MessageBody]
    session: Plain | None = None


class RecordTurn(RequestBody):
    text: Words
    session: Id
    role: Trust = Trust.USER
    speaker: Plain | None = None
    at: Moment | None = None
    ref: Plain | None = None


class PromptContext(RequestBody):
    prompt: str
    session: Plain = ""
    project: Name | None = None
    mark: bool = True


class ExplainContext(RequestBody):
    prompt: str
    session: str = ""
    project: Name | None = None


class WholeContext(RequestBody):
    prompt: str
    session: Plain = ""
    tokens: Natural | None = None
    knowledge: list[Base] = []
    mark: bool = True


class ThreadsOf(RequestBody):
    session: Plain | None = None


class OfSession(RequestBody):
    session: Plain


class SessionStart(RequestBody):
    session: Plain = ""
    project: Name | None = None
    mark: bool = True


class Recall(RequestBody):
    query: Words
    k: Page | None = None
    filter: FilterBody | None = None
    ranking: Literal["fused", "priority", "score"] | None = None
    mood: EmotionBody | None = None
    session: Plain | None = None
    tokens: Positive | None = None
    min_confidence: Share | None = None
    mark: bool = True
    category: Category | None = None
    spread: Annotated[int, msgspec.Meta(ge=0, le=3)] = 0


class Associate(RequestBody):
    query: Words
    k: Page = 10
    depth: Annotated[int, msgspec.Meta(ge=1, le=3)] = 3
    filter: FilterBody | None = None


class ListMemories(FilterBody):
    limit: Page = 100
    older_than: Id | None = None


class AsOf(FilterBody, kw_only=True):
    moment: Moment


class Why(RequestBody):
    id: Id
    query: Words | None = None


EventType = StrEnum("EventType", {type: type for type in sorted(EFFECTS)})  # type: ignore[misc]


class Log(RequestBody):
    id: Id | None = None
    types: list[EventType] = []
    since: Moment | None = None
    until: Moment | None = None
    limit: Page = 50


class Populations(RequestBody):
    past: Annotated[int, msgspec.Meta(ge=0, le=MOST_DAYS)] | None = None
    ahead: Annotated[int, msgspec.Meta(ge=0, le=MOST_DAYS)] = 0


class Summary(RequestBody):
    session: Plain
    tokens: Natural = 200
    model: bool = False


class Prune(RequestBody):
    messages: list[dict[str, Any]]
    session: Plain | None = None
    budget: Positive | None = None
    preset: Literal["balanced", "conservative", "aggressive"] | None = None
    strategy: Literal["scored", "sliding", "session", "topic"] | None = None
    target: Share | None = None
    format: (
        Literal["openai", "anthropic", "responses", "langchain", "pydantic_ai", "gemini", "sharegpt"] | None
    ) = None
    model: str | None = None
    beside: Natural = 0
    pins: list[Natural] = []
    remember: bool = True


class EditMemory(RequestBody):
    id: Id
    content: Words | None = None
    trigger: str | None = None
    kind: Kind | None = None
    category: Category | None = None
    emotion: EmotionBody | None = None
    privacy: Privacy | None = None
    metadata: Scalars | None = None
    project: Name | msgspec.UnsetType | None = msgspec.UNSET
    version: Positive | None = None


class GiveFeedback(RequestBody):
    id: Id
    good: bool


class Protect(RequestBody):
    id: Id
    release: list[Plain] = []


class LinkMemories(RequestBody):
    id: Id
    other: Id
    type: RelationType = RelationType.REFERENCES


class UnlinkMemories(RequestBody):
    id: Id
    other: Id
    type: RelationType | None = None


class RunCycle(RequestBody):
    confirmed: bool = False


class Since(RequestBody):
    since: Moment | None = None


class Erase(RequestBody):
    plan: ErasurePlanBody


class Import(RequestBody):
    lines: list[str]
    format: Literal["jsonl", "markdown"] = "jsonl"


class ToolUse(RequestBody):
    tool: Id
    target: Plain
    ok: bool
    ms: Natural = 0
    error: Plain = ""
    times: Annotated[int, msgspec.Meta(ge=1, le=MOST_DRAFTS)] = 1


class RecordTools(RequestBody):
    results: Annotated[list[ToolUse], msgspec.Meta(max_length=MOST_DRAFTS)]
    session: Id


class ShareLessons(RequestBody):
    lessons: Annotated[list[Words], msgspec.Meta(min_length=1, max_length=MOST_LESSONS)]
    outcome: TaskOutcome | None = None
    privacy: Privacy = Privacy.AGENT_ONLY
    task: Name | None = None


class ListItems(RequestBody):
    prefix: list[Plain] = []
    order: Literal["key", "last", "newest"] = "key"
    limit: Page | None = None
    offset: Natural = 0


class PutItem(RequestBody):
    namespace: list[Plain]
    key: Plain
    value: Any
    ttl_seconds: Annotated[float, msgspec.Meta(gt=0, le=10**9)] | None = None


class DeleteItem(RequestBody):
    namespace: list[Plain]
    key: Plain


def arguments(body: msgspec.Struct) -> dict[str, Any]:
    """What a request said, as arguments of a verb. What it left out is left to the verb."""
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    return {
        name: _argument(value)
        for name, value in given.items()
        if value is not None and value is not msgspec.UNSET
    }


def _argument(value: Any) -> Any:
    if isinstance(value, list):
        return [_argument(each) for each in value]
    if isinstance(value, dict):  # to JSON a number is a number; beyond 64 bits it is no whole one here
        return {name: float(each) if _is_huge(each) else each for name, each in value.items()}
    return value.read() if hasattr(value, "read") else value


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and not -LARGEST <= value < LARGEST
