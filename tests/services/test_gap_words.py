"""What is missing from a window, told by a model: faithfully, once, and never waited for twice."""

import json
from pathlib import Path

import pytest
from tests.models import data_of, helped
from tests.scripted import Scripted

from nagori.language.tokens import estimate_tokens
from nagori.services.window.formats import format_of
from nagori.testing import FrozenClock


def talk(turns: int) -> list[dict[str, str]]:
    said = [{"role": "system", "content": "You are a gardener."}]
    for n in range(turns):
        said.append(
            {"role": "user", "content": f"How do I prune rose number {n}, the one beside the old wall?"}
        )
        said.append({"role": "assistant", "content": f"Cut rose number {n} above an outer bud, in March."})
    return said


def crowded(said: list[dict[str, str]]) -> int:
    """A budget of which the conversation takes nineteen twentieths."""
    return round(sum(m.tokens for m in format_of([], "openai").read(said, estimate_tokens)) / 0.95)


def retelling(body: dict[str, object]) -> str:
    assert data_of(body)["texts"]
    return json.dumps({"summary": "They spoke of pruning roses beside the old wall."})


def test_a_gap_is_told_in_the_models_words_and_only_once(tmp_path: Path, clock: FrozenClock) -> None:
    said = talk(60)
    with Scripted(answer=retelling) as server, helped(tmp_path, server, clock) as memory:
        done = memory.prune(said, budget=crowded(said))
        assert "pruning roses beside the old wall" in str(done.messages)
        asked = len(server.requests)
        again = memory.prune(said, budget=crowded(said), before=done)
        assert again.messages == done.messages
        assert len(server.requests) == asked


@pytest.mark.parametrize("fault", ["500", "hang", "refusal", "garbage"])
def test_a_failing_model_is_waited_for_once(tmp_path: Path, clock: FrozenClock, fault: str) -> None:
    said = talk(400)  # so that there is room for a sentence of the messages themselves
    with Scripted([fault]) as server, helped(tmp_path, server, clock, timeout_seconds=0.4) as memory:
        done = memory.prune(said, budget=crowded(said))
        assert len(server.requests) == 1
        assert done.plan.fits
        assert done.report["summaries"]


def test_words_that_stray_are_not_told(tmp_path: Path, clock: FrozenClock) -> None:
    said = talk(60)
    strange = json.dumps({"summary": "They bought 400 tulips from Wilhelmina."})
    with Scripted(answer=lambda body: strange) as server, helped(tmp_path, server, clock) as memory:
        assert "Wilhelmina" not in str(memory.prune(said, budget=crowded(said)).messages)
