"""Prune: a conversation as it is sent, when not all of it fits [C1-C9].

The plan is `core.window`'s. Here messages are read, what leaves the window is kept (`evict`), gaps get
their words (`gaps`), and the caller's own objects are put together again. Nothing of the caller's is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from math import ceil
from typing import Any
from zlib import crc32

from nagori.core.arguments import check_bool
from nagori.core.model import Memory, Scope
from nagori.core.values import Value, default_factory, replace
from nagori.core.window import Window
from nagori.core.window.messages import SYSTEM, Message
from nagori.core.window.plan import NOTHING, Band, Plan, band_of, plan_window
from nagori.errors import InvalidInput, JournalError
from nagori.language.tokenizer import query_tokens
from nagori.runtime import Runtime
from nagori.services.window.evict import leave
from nagori.services.window.formats import Count, Format, format_of
from nagori.services.window.gaps import Words, prices, view

MOST_WORDS = 500  # gaps whose words are carried along
LONGEST_SESSION = 4096  # characters, as in every source of a memory
AGAIN = 6  # times that a plan is made anew because the provider counts more


class Pruning(Value):
    """How a conversation shall be pruned."""

    rules: Window
    count: Count
    format: str | None = None
    session: str | None = None
    pins: frozenset[int] = frozenset()  # places of messages that stay whatever they are
    beside: int = 0  # tokens that are sent beside the messages: a system prompt, the tools
    remember: bool = True
    provider: Callable[[list[Any]], int] | None = None  # counts whole messages as the provider does

    def __post_init__(self) -> None:
        for name in ("count", "provider"):
            value = getattr(self, name)
            if not (callable(value) or (name == "provider" and value is None)):
                raise InvalidInput(name, "error.not_function", value=value)
        check_bool("remember", self.remember)
        if not _is_whole(self.beside):
            raise InvalidInput("beside", "error.not_whole", value=self.beside)
        if self.beside < 0:
            raise InvalidInput("beside", "error.below_least", n=self.beside, least=0)
        _check_session(self.session)


def places(pins: object) -> frozenset[int]:
    """Places of messages, as a caller gives them."""
    if isinstance(pins, Iterable) and not isinstance(pins, str | bytes | Mapping):
        found = list(pins)
        if all(map(_is_whole, found)):
            return frozenset(found)
    raise InvalidInput("pins", "error.not_places", value=pins)


def listed(messages: object) -> list[Any]:
    """The messages that a caller gives, in a list of our own."""
    if isinstance(messages, Iterable) and not isinstance(messages, str | bytes | Mapping):
        return list(messages)
    raise InvalidInput("messages", "error.type_not_messages", type=type(messages).__name__)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_session(session: object) -> None:
    if session is None:
        return
    if not isinstance(session, str) or len(session) > LONGEST_SESSION:
        raise InvalidInput("session", "error.not_short_text", most=4096)
    if any("\ud800" <= sign <= "\udfff" for sign in session):
        raise InvalidInput("session", "error.unwritable", value=session)


class Pruned(Value):
    """What to send, and what was done. Give it back as `before` next time: then only what is new is read,
    and gaps that were told keep their words."""

    messages: list[Any]
    band: Band
    plan: Plan
    newly: int  # messages that left the window this time
    remembered: int  # memories made of them
    session: str
    originals: list[Any] = default_factory(list)
    marks: list[int] = default_factory(list)  # what the originals were like when they were read
    read: list[Message] = default_factory(list)
    earlier: Plan = NOTHING  # the plan that this one went on from
    words: dict[str, str] = default_factory(dict)  # of gaps, by what is in them
    unkept: frozenset[int] = frozenset()  # left out but not yet written down: the journal could not be

    @property
    def pruned(self) -> bool:
        """Whether anything left the window this time."""
        return bool(self.newly)

    @property
    def report(self) -> dict[str, Any]:
        """The figures, for logs and people [C6]."""
        gaps = self.plan.gaps
        return {
            "pruned": self.pruned,
            "band": self.band.name.lower(),
            "messages": len(self.originals),
            "left_out": len(self.plan.dropped),
            "newly_left_out": self.newly,
            "cut": len(self.plan.cut),
            "tokens_before": self.plan.arrived,
            "tokens": self.plan.tokens,
            "summaries": sum(gap.summarised for gap in gaps),
            "notices": sum(not gap.summarised for gap in gaps),
            "remembered": self.remembered,
            "unkept": len(self.unkept),
            "fits": self.plan.fits,
            "session": self.session,
        }


def prune(
    runtime: Runtime, scope: Scope, messages: Sequence[Any], asked: Pruning, before: Pruned | None = None
) -> Pruned:
    """The conversation within its budget. What leaves it is remembered before it is left out."""
    if not isinstance(before, Pruned | None):
        raise InvalidInput("before", "error.type_not_pruned", type=type(before).__name__)
    work = _Work(runtime, scope, listed(messages), asked, before)
    done = work.done()
    _tell(runtime, done, work.rules)
    return done


def keep_rest(runtime: Runtime, scope: Scope, done: Pruned) -> list[Memory]:
    """Remember what is still in the window, too: the conversation has ended."""
    rest = {at: read for at, read in enumerate(done.read) if at not in done.plan.dropped}
    return leave(runtime, scope, done.session, {at: read for at, read in rest.items() if read.role != SYSTEM})


class _Work:
    """One conversation while it is pruned."""

    def __init__(
        self, runtime: Runtime, scope: Scope, originals: list[Any], asked: Pruning, before: Pruned | None
    ) -> None:
        self.runtime, self.scope, self.originals, self.asked = runtime, scope, originals, asked
        self.rules = _rules(asked)
        self.form = format_of(originals, asked.format)
        self.told = dict(before.words) if before else {}
        self.marks = list(map(_mark, originals))
        if before and before.originals != originals[: before.plan.count]:
            before = None  # another conversation, or another past
        same = _unchanged(before.marks, self.marks) if before else 0
        self.read = _read(self.form, originals, asked, before.read[:same] if before else [])
        self.session = asked.session or (before.session if before else _session(self.read))
        self.old = _latest(before, same, asked.pins) if before else NOTHING
        self.left = before.plan.dropped if before else frozenset[int]()
        self.kept_before = _kept(before, self.marks, self.session) if before else frozenset[int]()
        self.kept = 0
        self.unkept = before.unkept if before else frozenset[int]()

    def done(self) -> Pruned:
        """A provider that counts for itself has the last word: as long as it finds too many tokens, ours are
        taken to be larger."""
        provider, larger = self.asked.provider, 1.0
        if provider:
            larger = _ratio(provider(self.originals), self.read)
        for _ in range(AGAIN):
            done = self._once(larger)
            found = provider(done.messages) if provider else 0
            if found <= self.rules.budget or not done.plan.fits:
                break
            larger *= 1.02 * found / self.rules.budget
        return done

    def _once(self, larger: float) -> Pruned:
        scaled = [_scaled(message, larger) for message in self.read] if larger != 1.0 else self.read
        plan = plan_window(scaled, self.rules, prices(self.asked.count, larger), self.old, query_tokens)
        self._keep(plan)
        band = band_of(plan.arrived, self.rules)
        model = band is Band.CROWDED
        words = Words(self.runtime, self.read, self.asked.count, self.told, model, larger)
        sent = view(self.form, self.originals, self.read, plan, words, self.asked.count, larger)
        return Pruned(
            messages=list(sent),
            band=band,
            plan=plan,
            newly=len(plan.dropped - self.left),
            remembered=self.kept,
            session=self.session,
            originals=self.originals,
            marks=self.marks,
            read=self.read,
            earlier=self.old,
            words=dict([*(self.told | words.used).items()][-MOST_WORDS:]),
            unkept=self.unkept,
        )

    def _keep(self, plan: Plan) -> None:
        """Before anything else is done with them, the messages that leave, whole or in part, are kept. A
        journal that cannot be written stops no conversation: they are kept the next time."""
        leaving = ({*plan.dropped, *plan.cut} - self.kept_before) | self.unkept
        ours = set(self.told.values())  # a host may hand our own words back to us: they tell nothing new
        messages = {at: self.read[at] for at in leaving if self.read[at].text not in ours}
        if not messages or not self.asked.remember:
            return
        try:
            self.kept += len(leave(self.runtime, self.scope, self.session, messages))
            self.unkept = frozenset()
        except JournalError as trouble:
            self.unkept = frozenset(messages)
            self.runtime.observe("window.not_kept", reason=trouble.notice, messages=len(messages))


def _mark(original: Any) -> int:
    """What a message is like now. Who streams an answer fills in a message that was read already, and an
    object that is compared with itself has never changed."""
    try:
        return crc32(repr(original).encode("utf-8", "replace"))
    except RecursionError as fault:
        raise InvalidInput("messages", "error.nested_too_deeply") from fault
    except Exception as fault:  # anybody's object
        raise InvalidInput("messages", "error.type_unreadable", type=type(original).__name__) from fault


def _unchanged(before: Sequence[int], now: Sequence[int]) -> int:
    """How many messages from the beginning are as they were."""
    pairs = zip(before, now, strict=False)
    return next((at for at, (old, new) in enumerate(pairs) if old != new), len(before))


def _latest(before: Pruned, same: int, pins: frozenset[int]) -> Plan:
    """The last plan of messages that are all as they were, and of which none is wanted back."""
    plans = (before.plan, before.earlier)
    return next((plan for plan in plans if plan.count <= same and not pins & plan.dropped), NOTHING)


def _kept(before: Pruned, marks: Sequence[int], session: str) -> frozenset[int]:
    """Messages that were written down when they left, and say the same still."""
    left = {*before.plan.dropped, *before.plan.cut} if session == before.session else ()
    return frozenset(at for at in left if before.marks[at] == marks[at])


def _rules(asked: Pruning) -> Window:
    rules = asked.rules
    if asked.beside >= rules.budget:
        values = {"n": asked.beside, "budget": rules.budget}
        raise InvalidInput("beside", "error.tokens_beside", **values)
    return replace(rules, budget=rules.budget - asked.beside)


def _read(form: Format, originals: Sequence[Any], asked: Pruning, known: list[Message]) -> list[Message]:
    try:
        read = [*known, *form.read(originals, asked.count, len(known))]
    except (AttributeError, TypeError, ValueError, RecursionError) as fault:  # not theirs, or endless
        raise InvalidInput("messages", "error.not_conversation", reason=fault) from fault
    for at in asked.pins:
        if 0 <= at < len(read):
            read[at] = replace(read[at], pinned=True)
    return read


def _ratio(found: int, read: Sequence[Message]) -> float:
    """How much more a provider counts than we do."""
    ours = sum(message.tokens for message in read)
    return max(0.1, found / ours) if ours else 1.0


def _scaled(message: Message, larger: float) -> Message:
    return replace(message, tokens=ceil(message.tokens * larger), fixed=ceil(message.fixed * larger))


def _session(read: Sequence[Message]) -> str:
    """A name for a conversation that has none: its beginning tells it from others."""
    first = "\x1f".join(message.text[:2000] for message in read[:3])
    return f"window-{sha256(first.encode('utf-8', 'replace')).hexdigest()[:12]}"


def _tell(runtime: Runtime, done: Pruned, rules: Window) -> None:
    """Figures only, never words [C6]."""
    fields = {"tokens": done.plan.arrived, "budget": rules.budget, "band": done.band.name.lower()}
    if done.pruned:
        runtime.observe("window.pruned", **fields, left=done.plan.tokens, messages=done.newly)
    elif done.band is not Band.ROOMY:
        runtime.observe("window.filling", **fields)
