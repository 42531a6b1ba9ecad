"""Prune a conversation to its budget [C1-C9].

`core.window` makes the plan. This module reads the messages, records those that leave, so that they become
memories (`remember_evicted_messages`), fills the gaps with texts (`gaps`), and returns the caller's own
objects. It changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from logging import getLogger
from math import ceil, isfinite
from operator import is_
from typing import Any
from uuid import uuid4
from zlib import crc32

from nagori.core.model import Memory, Scope
from nagori.core.value_object import Value, check_bool, default_factory, replace
from nagori.core.window import Window
from nagori.core.window.messages import SYSTEM, Message
from nagori.core.window.plan import NOTHING, Band, Fold, Plan, band_of, plan_window
from nagori.errors import InvalidInput, JournalError, NagoriError
from nagori.language.extractive_gist import FEATURES
from nagori.language.tokens import estimate_tokens
from nagori.runtime import Runtime
from nagori.services.window.formats import Count, Format, detect_format, format_of
from nagori.services.window.gaps import Words, is_notice, prices, view
from nagori.services.window.remember_evicted_messages import form_later, form_messages, record_messages

LOG = getLogger("nagori.window")
MOST_WORDS = 500  # gaps whose words are carried along
LONGEST_SESSION = 4096  # characters, as in every source of a memory
AGAIN = 6  # times that a plan is made anew because the provider counts more


class PruneRequest(Value):
    """The options of one pruning."""

    rules: Window
    count: Count
    format: str | None = None
    session: str | None = None
    pins: frozenset[int] = frozenset()  # places of messages that stay whatever they are
    beside: int = 0  # tokens that are sent beside the messages: a system prompt, the tools
    remember: bool = True
    provider: Callable[[list[Any]], int | None] | None = None  # counts whole messages as the provider does

    def __post_init__(self) -> None:
        if self.provider is not None and not callable(self.provider):
            raise InvalidInput("provider", "error.not_function", value=self.provider)
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


def with_session(asked: PruneRequest) -> PruneRequest:
    """Give a session without a name a new one, so that two with the same beginning stay apart."""
    return asked if asked.session else replace(asked, session=f"window-{uuid4().hex[:12]}")


def read_messages(messages: object) -> list[Any]:
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


class PruneResult(Value):
    """The messages to send, and what was done. Pass it as `before` the next time: then only new messages are
    read, and unchanged gaps keep their texts."""

    messages: list[Any]
    band: Band
    plan: Plan
    newly: int  # messages that left the window this time
    remembered: int  # messages recorded to become memories
    session: str
    originals: list[Any] = default_factory(list)
    marks: list[int] = default_factory(list)  # what the originals were like when they were read
    read: list[Message] = default_factory(list)
    earlier: Plan = NOTHING  # the plan that this one went on from
    words: dict[str, str] = default_factory(dict)  # of gaps, by what is in them
    unkept: frozenset[int] = frozenset()  # not written down yet: the journal could not be written
    kept: frozenset[int] = frozenset()  # left out, whole or in part, and written down
    fold: Fold | None = None  # the window as it stands, to go on from
    places: Sequence[int] = ()  # of the messages that are in the window
    gap_words: Mapping[Any, str] = {}  # of the gaps of this plan
    format: str = ""  # the format that the messages are surely of

    @property
    def was_pruned(self) -> bool:
        """Whether anything left the window this time."""
        return bool(self.newly)

    @property
    def report(self) -> dict[str, Any]:
        """The figures, for logs and people [C6]."""
        notices = sum(map(is_notice, self.gap_words.values()))
        return {
            "pruned": self.was_pruned,
            "band": self.band.name.lower(),
            "messages": len(self.originals),
            "left_out": len(self.plan.dropped),
            "newly_left_out": self.newly,
            "cut": len(self.plan.cut),
            "tokens_before": self.plan.arrived,
            "tokens": self.plan.tokens,
            "summaries": len(self.gap_words) - notices,
            "notices": notices,
            "remembered": self.remembered,
            "unkept": len(self.unkept),
            "fits": self.plan.fits,
            "session": self.session,
        }


def prune(
    runtime: Runtime,
    scope: Scope,
    messages: Sequence[Any],
    asked: PruneRequest,
    before: PruneResult | None = None,
    record: bool = False,
) -> PruneResult:
    """Prune a conversation to its budget. Messages that leave are recorded first. With `record`, all new
    messages are recorded before that."""
    if not isinstance(before, PruneResult | None):
        raise InvalidInput("before", "error.type_not_pruned", type=type(before).__name__)
    runtime.ensure_open()
    asked = replace(asked, provider=_safe_provider(asked.provider, runtime))
    work = _Work(runtime, scope, read_messages(messages), asked, before)
    if record and asked.remember:
        work.record_new_messages()
    done = work.run()
    _tell(runtime, done, work.rules)
    return done


def keep_rest(runtime: Runtime, scope: Scope, done: PruneResult) -> list[Memory]:
    """Remember the messages that are still in the window, because the conversation has ended."""
    rest = {at: read for at, read in enumerate(done.read) if at not in done.plan.dropped}
    said = {at: read for at, read in rest.items() if read.role != SYSTEM}
    return form_messages(runtime, scope, record_messages(runtime, scope, done.session, said))


class _Work:
    """One conversation while it is pruned."""

    def __init__(
        self,
        runtime: Runtime,
        scope: Scope,
        originals: list[Any],
        asked: PruneRequest,
        before: PruneResult | None,
    ) -> None:
        self.runtime, self.scope, self.originals, self.asked = runtime, scope, originals, asked
        self.rules = _rules(asked)
        self.told = dict(before.words) if before else {}
        self.marks, same = _marks(originals, before)
        if before and same is None:
            before = None  # another conversation, or another past
        seen = before.plan.count if before and same == before.plan.count else 0
        self.format = asked.format or _detect(originals[seen:], before.format if before and seen else "")
        self.form = format_of((), self.format or None)
        if before and before.format != self.format:
            before, same = None, None  # its messages are read in another way now
        self.before, self.same = before, same or 0
        self.read = _read(self.form, originals, asked, before.read[: self.same] if before else [])
        self.session = asked.session or (before.session if before else _session(self.read))
        self.old = _latest(before, self.same, asked.pins) if before else NOTHING
        self.left = before.plan.dropped if before else frozenset[int]()
        self.kept_before = (
            _recorded_messages(before, self.marks, self.session) if before else frozenset[int]()
        )
        self.kept = 0
        self.unkept = before.unkept if before else frozenset[int]()

    def record_new_messages(self) -> None:
        """Record new and changed messages in the journal before anything else."""
        self._record({at: self.read[at] for at in range(self.same, len(self.read))})

    def run(self) -> PruneResult:
        """Prune until the provider's own count, if there is one, is within the budget. As long as it is not,
        our counts are scaled up."""
        provider, larger = self.asked.provider, 1.0
        if provider and (found := provider(self.originals)) is not None:
            larger = _ratio(found, self.read)
        for _ in range(AGAIN):
            done = self._once(larger)
            seen = provider(done.messages) if provider else None
            if seen is None or seen <= self.rules.budget or not done.plan.fits:
                break
            larger *= 1.02 * seen / self.rules.budget
        return done

    def _once(self, larger: float) -> PruneResult:
        scaled = [_scale_tokens(message, larger) for message in self.read] if larger != 1.0 else self.read
        fold = self._fold(larger)
        plan = plan_window(scaled, self.rules, prices(self.asked.count, larger), self.old, FEATURES, fold)
        self._keep(plan)
        band = band_of(plan.arrived, self.rules)
        same = self.before.gap_words if self.before and self.same == self.before.plan.count else {}
        words = Words(
            self.runtime, self.read, self.asked.count, self.told, band is Band.CROWDED, larger, same
        )
        places = fold.places() if fold.plan is plan else range(len(self.read))
        sent = view(self.form, self.originals, self.read, plan, words, self.asked.count, larger, places)
        return PruneResult(
            messages=list(sent),
            band=band,
            plan=plan,
            newly=0 if plan.dropped is self.left else len(plan.dropped - self.left),
            remembered=self.kept,
            session=self.session,
            originals=self.originals,
            marks=self.marks,
            read=self.read,
            earlier=self.old,
            words=dict([*(self.told | words.used).items()][-MOST_WORDS:]),
            unkept=self.unkept,
            kept=self._recorded_places(plan),
            fold=fold if fold.plan is plan else None,
            places=[at for at in places if at not in plan.dropped],
            gap_words=words.told,
            format=self.format,
        )

    def _fold(self, larger: float) -> Fold:
        """The fold of the last pruning, if it can continue; otherwise a new one."""
        last = self.before.fold if self.before else None
        if last is not None and last.goes_on(self.old, self.rules, prices(self.asked.count, larger)):
            return last
        return Fold(FEATURES)

    def _is_as_before(self, plan: Plan) -> bool:
        """Whether no message has left since the last pruning. Then older messages need not be read again."""
        before = self.before
        return before is not None and plan.dropped is self.left and self.kept_before is before.kept

    def _recorded_places(self, plan: Plan) -> frozenset[int]:
        if self._is_as_before(plan) and not self.unkept and plan.cut.keys() <= self.kept_before:
            return self.kept_before
        return (plan.dropped | plan.cut.keys()) - self.unkept

    def _keep(self, plan: Plan) -> None:
        """Record the messages that leave, whole or in part, before they are dropped. If the journal cannot be
        written, the conversation goes on, and they are recorded the next time."""
        past = plan.cut.keys() if self._is_as_before(plan) else {*plan.dropped, *plan.cut}
        leaving = (past - self.kept_before) | self.unkept
        ours = set(self.told.values()) if leaving else ()  # our own words, handed back, tell nothing new
        messages = {at: self.read[at] for at in leaving if self.read[at].text not in ours}
        if messages and self.asked.remember:
            turns = self._record(messages)
            form_later(self.runtime, self.scope, turns)
            self.kept += len(turns)

    def _record(self, messages: Mapping[int, Message]) -> list[str]:
        try:
            turns = record_messages(self.runtime, self.scope, self.session, messages)
        except JournalError as trouble:
            self.unkept |= messages.keys()
            self.runtime.observe("window.not_kept", reason=trouble.notice, messages=len(messages))
            LOG.warning("not kept: %s", trouble)
            return []
        self.unkept -= messages.keys()
        return turns


def safe_counter(count: Count, runtime: Runtime) -> Count:
    """A caller's counter that always returns a whole number. If it fails, tokens are estimated."""
    if not callable(count):
        raise InvalidInput("count", "error.not_function", value=count)
    failed: list[str] = []

    def count_tokens(text: str) -> int:
        try:
            return _whole(count(text))
        except Exception as fault:  # whatever a caller's function may raise
            if not failed:
                failed.append(type(fault).__name__)
                runtime.observe("window.counter_failed", reason=failed[0])
                LOG.warning("the counter failed (%s): tokens are estimated", failed[0])
            return estimate_tokens(text)

    return count_tokens


def _safe_provider(
    provider: Callable[[list[Any]], int | None] | None, runtime: Runtime
) -> Callable[[list[Any]], int | None] | None:
    """A provider's counter that returns None if it fails. Then our own count is used."""
    if provider is None:
        return None

    def count_tokens(messages: list[Any]) -> int | None:
        try:
            return _whole(provider(messages))
        except Exception as fault:  # a network, a quota: whatever a provider may raise
            runtime.observe("window.counter_failed", reason=type(fault).__name__)
            LOG.warning("the provider's counter failed (%s)", type(fault).__name__)
            return None

    return count_tokens


def _whole(found: Any) -> int:
    """A number of tokens as a whole number; ValueError for anything else."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found) or found < 0:
        raise ValueError(f"{found!r} is not a number of tokens")
    return ceil(found)


def _marks(originals: Sequence[Any], before: PruneResult | None) -> tuple[list[int], int | None]:
    """The checksums of all messages, and how many of the first are unchanged; None for another conversation.
    If the objects are the same, only those in the window are checked: dropped messages do not change, and so
    a conversation of thousands costs no more than one of a hundred."""
    if before is None or len(before.originals) > len(originals):
        return list(map(_mark, originals)), None
    marks = list(before.marks)
    places: Sequence[int] = range(len(marks))
    same = len(marks)
    if all(map(is_, before.originals, originals)):
        places = before.places
    elif before.originals != originals[:same]:
        return list(map(_mark, originals)), None
    for at in places:
        marks[at] = _mark(originals[at])
        if marks[at] != before.marks[at]:
            same = min(same, at)
    return [*marks, *map(_mark, originals[len(marks) :])], same


def _mark(original: Any) -> int:
    """The checksum of a message. A streamed answer changes an object that was read already; comparing the
    object with itself would not show that."""
    try:
        return crc32(repr(original).encode("utf-8", "replace"))
    except RecursionError as fault:
        raise InvalidInput("messages", "error.nested_too_deeply") from fault
    except Exception as fault:  # anybody's object
        raise InvalidInput("messages", "error.type_unreadable", type=type(original).__name__) from fault


def _latest(before: PruneResult, same: int, pins: frozenset[int]) -> Plan:
    """The last plan whose messages are unchanged and that dropped none of the pinned ones."""
    plans = (before.plan, before.earlier)
    return next((plan for plan in plans if plan.count <= same and not pins & plan.dropped), NOTHING)


def _recorded_messages(before: PruneResult, marks: Sequence[int], session: str) -> frozenset[int]:
    """The messages that were recorded when they left, and have not changed since."""
    if session != before.session:
        return frozenset()
    if before.marks == marks[: len(before.marks)]:
        return before.kept
    return frozenset(at for at in before.kept if before.marks[at] == marks[at])


def _rules(asked: PruneRequest) -> Window:
    rules = asked.rules
    if asked.beside >= rules.budget:
        values = {"n": asked.beside, "budget": rules.budget}
        raise InvalidInput("beside", "error.tokens_beside", **values)
    return replace(rules, budget=rules.budget - asked.beside)


@contextmanager
def _refuse_faults() -> Iterator[None]:
    """Turn any error of a caller's object into InvalidInput."""
    try:
        yield
    except NagoriError:
        raise
    except Exception as fault:  # not theirs, or endless
        raise InvalidInput("messages", "error.not_conversation", reason=fault) from fault


def _detect(originals: Sequence[Any], last: str) -> str:
    with _refuse_faults():
        return detect_format(originals, last)


def _read(form: Format, originals: Sequence[Any], asked: PruneRequest, known: list[Message]) -> list[Message]:
    with _refuse_faults():
        read = [*known, *form.read(originals, asked.count, len(known))]
    for at in asked.pins:
        if -len(read) <= at < len(read):
            read[at] = replace(read[at], pinned=True)
    return read


def _ratio(found: int, read: Sequence[Message]) -> float:
    """The ratio of a provider's count to ours."""
    ours = sum(message.tokens for message in read)
    return max(0.1, found / ours) if ours else 1.0


def _scale_tokens(message: Message, larger: float) -> Message:
    return replace(message, tokens=ceil(message.tokens * larger), fixed=ceil(message.fixed * larger))


def _session(read: Sequence[Message]) -> str:
    """A name for a conversation without one, made from its first messages."""
    first = "\x1f".join(message.text[:2000] for message in read[:3])
    return f"window-{sha256(first.encode('utf-8', 'replace')).hexdigest()[:12]}"


def _tell(runtime: Runtime, done: PruneResult, rules: Window) -> None:
    """Report figures, never text of messages [C6]."""
    fields = {"tokens": done.plan.arrived, "budget": rules.budget, "band": done.band.name.lower()}
    if done.was_pruned:
        runtime.observe("window.pruned", **fields, left=done.plan.tokens, messages=done.newly)
        LOG.info("pruned %s", {**fields, "left": done.plan.tokens, "messages": done.newly})
    elif done.band is not Band.ROOMY:
        runtime.observe("window.filling", **fields)
        LOG.info("filling %s", fields)
