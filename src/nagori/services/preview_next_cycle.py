"""Preview a cycle: examples of its steps, the bytes it saves and what a model would cost.

Compressed texts are made by rules and discarded. For a large plan a sample is compressed, and the totals are
estimated from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagori.core.cost_estimate import Tokens
from nagori.core.cycle import CyclePlan, CycleStep
from nagori.core.model import Level, Memory, Scope
from nagori.core.value_object import Value, default_factory, split_batches
from nagori.event_ledger import read_memories
from nagori.language.passages import about_tokens
from nagori.runtime import Runtime
from nagori.services.cycle import compress_memories

EXAMPLES = 3  # examples per kind of step
LOOKED_AT = 500  # maximum number of texts compressed for a preview
AT_ONCE = 100


class PreviewGroup(Value):
    """Examples of one kind of step, with the memories that the scope may see."""

    act: str
    reason: str
    n: int
    examples: list[tuple[CycleStep, Memory]] = default_factory(list)


class Preview(Value):
    """A plan in numbers. Bytes and tokens are totals; `exact` is False if they are estimated from a
    sample."""

    plan: CyclePlan
    kinds: list[PreviewGroup]
    shortened: int = 0  # memories to compress
    looked: int = 0  # number of them in the sample
    before: int = 0  # bytes of their present texts
    after: int = 0
    purged: int = 0  # memories whose full text would be purged
    freed: int = 0  # bytes of these texts
    written: Tokens = Tokens(0.0, 0.0)  # tokens that a model would read and write

    @property
    def exact(self) -> bool:
        return self.looked == self.shortened


def preview(runtime: Runtime, scope: Scope, plan: CyclePlan) -> Preview:
    """The preview of `plan`; nothing is changed."""
    shorten = [step for step in plan.steps if step.act in ("compress", "archive")]
    purge = [step for step in plan.steps if step.act == "purge"]
    tried = _spread(shorten)
    sizes = [size for step, memory in _read(runtime, scope, tried) if (size := _shorter(step, memory))]
    share = len(shorten) / len(tried) if tried else 1.0
    before, after, into, out = (sum(column) for column in zip(*sizes, strict=True)) if sizes else (0, 0, 0, 0)
    gone = [_words(memory) for _, memory in _read(runtime, scope, _spread(purge))]
    return Preview(
        plan=plan,
        kinds=list(_kinds(runtime, scope, plan)),
        shortened=round(len(sizes) * share),
        looked=len(sizes),
        before=round(before * share),
        after=round(after * share),
        purged=len(purge),
        freed=round(sum(gone) / max(1, len(gone)) * len(purge)),
        written=Tokens(into * share, out * share),
    )


def _kinds(runtime: Runtime, scope: Scope, plan: CyclePlan) -> Iterator[PreviewGroup]:
    for (act, reason), n in sorted(plan.counts().items()):
        steps = [step for step in plan.steps if (step.act, step.reason) == (act, reason)]
        seen = {memory.id: memory for memory in runtime.store.get(scope, [s.id for s in steps[:AT_ONCE]])}
        shown = [(step, seen[step.id]) for step in steps[:AT_ONCE] if step.id in seen]
        yield PreviewGroup(act, reason, n, shown[:EXAMPLES])


def _spread(steps: Sequence[CycleStep]) -> list[CycleStep]:
    """At most `LOOKED_AT` steps, spread evenly."""
    if len(steps) <= LOOKED_AT:
        return list(steps)
    return [steps[n * len(steps) // LOOKED_AT] for n in range(LOOKED_AT)]


def _read(runtime: Runtime, scope: Scope, steps: Sequence[CycleStep]) -> Iterator[tuple[CycleStep, Memory]]:
    for bundle in split_batches(steps, AT_ONCE):
        known = read_memories(runtime.store, scope.owner, [step.id for step in bundle])
        yield from ((step, known[step.id]) for step in bundle if step.id in known)


def _shorter(step: CycleStep, memory: Memory) -> tuple[int, int, float, float] | None:
    """Bytes before and after, tokens read and written; None if the compressed text exists already."""
    level = step.level if step.act == "compress" else Level.TRACE
    if level is None or (step.act == "archive" and Level.TRACE in memory.texts):
        return None
    whole, short = memory.texts[min(memory.texts)].whole, compress_memories(memory, level).whole
    sizes = len(memory.text.whole.encode()), len(short.encode())
    return *sizes, about_tokens(whole), about_tokens(short)


def _words(memory: Memory) -> int:
    """Bytes of the texts that a purge removes."""
    kept = {Level.TRACE} & memory.texts.keys()
    gone = memory.texts.keys() - kept if kept else set()
    return sum(len(memory.texts[level].whole.encode()) for level in gone)
