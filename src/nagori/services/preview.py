"""What a night would do, looked at before it is done: examples, what its shorter words save and cost.

The words are made by rules and thrown away again. Of a large plan a sample is looked at, spread over all of
it, and the rest is reckoned from that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagori.core.cycle import Plan, Step
from nagori.core.model import Level, Memory, Scope
from nagori.core.pricing import Tokens
from nagori.core.values import Value, batched, fresh
from nagori.language.passages import about_tokens
from nagori.ledger import look
from nagori.runtime import Parts
from nagori.services.cycle import shorter

EXAMPLES = 3  # of each kind of step
LOOKED_AT = 500  # texts that are shortened for a preview, at most
AT_ONCE = 100


class Kind(Value):
    """Some of the steps of one kind, with their memories as far as the scope sees them."""

    act: str
    reason: str
    n: int
    examples: list[tuple[Step, Memory]] = fresh(list)


class Preview(Value):
    """A plan in numbers. Bytes and tokens are of all that would be shortened, or `exact` is False."""

    plan: Plan
    kinds: list[Kind]
    shortened: int = 0  # memories that would get shorter words
    looked: int = 0  # of which so many were tried
    before: int = 0  # bytes of the words that are shown now
    after: int = 0
    purged: int = 0  # memories whose fuller words would go for good
    freed: int = 0  # bytes of those
    written: Tokens = Tokens(0.0, 0.0)  # what a model would read and write for it

    @property
    def exact(self) -> bool:
        return self.looked == self.shortened


def preview(parts: Parts, scope: Scope, plan: Plan) -> Preview:
    """What `plan` comes to; nothing is done."""
    shorten = [step for step in plan.steps if step.act in ("fade", "archive")]
    purge = [step for step in plan.steps if step.act == "purge"]
    tried = _spread(shorten)
    sizes = [size for step, memory in _read(parts, scope, tried) if (size := _shorter(step, memory))]
    share = len(shorten) / len(tried) if tried else 1.0
    before, after, into, out = (sum(column) for column in zip(*sizes, strict=True)) if sizes else (0, 0, 0, 0)
    gone = [_words(memory) for _, memory in _read(parts, scope, _spread(purge))]
    return Preview(
        plan=plan,
        kinds=list(_kinds(parts, scope, plan)),
        shortened=round(len(sizes) * share),
        looked=len(sizes),
        before=round(before * share),
        after=round(after * share),
        purged=len(purge),
        freed=round(sum(gone) / max(1, len(gone)) * len(purge)),
        written=Tokens(into * share, out * share),
    )


def _kinds(parts: Parts, scope: Scope, plan: Plan) -> Iterator[Kind]:
    for (act, reason), n in sorted(plan.counts().items()):
        steps = [step for step in plan.steps if (step.act, step.reason) == (act, reason)]
        seen = {memory.id: memory for memory in parts.store.get(scope, [s.id for s in steps[:AT_ONCE]])}
        shown = [(step, seen[step.id]) for step in steps[:AT_ONCE] if step.id in seen]
        yield Kind(act, reason, n, shown[:EXAMPLES])


def _spread(steps: Sequence[Step]) -> list[Step]:
    """At most `LOOKED_AT` of them, from everywhere."""
    if len(steps) <= LOOKED_AT:
        return list(steps)
    return [steps[n * len(steps) // LOOKED_AT] for n in range(LOOKED_AT)]


def _read(parts: Parts, scope: Scope, steps: Sequence[Step]) -> Iterator[tuple[Step, Memory]]:
    for bundle in batched(steps, AT_ONCE):
        known = look(parts.store, scope.space, [step.id for step in bundle])
        yield from ((step, known[step.id]) for step in bundle if step.id in known)


def _shorter(step: Step, memory: Memory) -> tuple[int, int, float, float] | None:
    """Bytes before and after, tokens read and written; None for what has its short words already."""
    level = step.level if step.act == "fade" else Level.TRACE
    if level is None or (step.act == "archive" and Level.TRACE in memory.texts):
        return None
    whole, short = memory.texts[min(memory.texts)].whole, shorter(memory, level).whole
    sizes = len(memory.text.whole.encode()), len(short.encode())
    return *sizes, about_tokens(whole), about_tokens(short)


def _words(memory: Memory) -> int:
    """Bytes of the words that a purge takes."""
    kept = {Level.TRACE} & memory.texts.keys()
    gone = memory.texts.keys() - kept if kept else set()
    return sum(len(memory.texts[level].whole.encode()) for level in gone)
