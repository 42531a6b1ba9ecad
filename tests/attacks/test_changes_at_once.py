"""A11 and A16: a change of one thing leaves the others, and nobody's change is lost."""

import threading
from pathlib import Path

import pytest

from nagori import Filter, Level, Nagori
from nagori.errors import Conflict, InvalidInput
from nagori.testing import FrozenClock, WordEmbedder

WORDS = (
    "The staging server moved from the cellar to the second floor as the cellar was flooded twice in May, "
    "and since then it is reached over port 8443 instead of 443, with the certificate of the old machine."
)


@pytest.mark.parametrize("how", ["archive", "fade"])
def test_an_edit_of_the_trigger_alone_keeps_the_full_words_of_a_compressed_memory(
    memory: Nagori, clock: FrozenClock, how: str
) -> None:
    kept = memory.remember(WORDS, emotion=memory_emotion())  # type: ignore[arg-type]
    if how == "archive":
        memory.archive(kept.id)
    else:
        for _ in range(60):
            clock.forward(days=10)
            memory.cycle()
            if memory.show(kept.id).level is not Level.FULL:
                break
    before = memory.show(kept.id)
    assert before.level is not Level.FULL
    assert before.text.content != WORDS
    after = memory.edit(kept.id, trigger="servers")
    assert after.texts[Level.FULL].content == WORDS
    assert after.texts[Level.FULL].trigger == "servers"
    assert memory.undo(kept.id)[0].texts[Level.FULL].content == WORDS
    memory.rebuild()
    assert memory.show(kept.id).texts[Level.FULL].content == WORDS


def memory_emotion() -> object:
    from nagori import Emotion

    return Emotion(20.0)


def test_an_edit_of_what_somebody_changed_since_it_was_seen_is_a_conflict(memory: Nagori) -> None:
    seen = memory.remember("counter 0")
    memory.edit(seen.id, version=seen.version, content="counter 1")
    with pytest.raises(Conflict):
        memory.edit(seen.id, version=seen.version, content="counter 2")
    assert memory.show(seen.id).text.content == "counter 1"


@pytest.mark.parametrize("version", [True, "1", 1.0, -1, 2**70, [], b"1"])
def test_a_version_that_is_no_version_is_refused(memory: Nagori, version: object) -> None:
    seen = memory.remember("counter 0")
    with pytest.raises((InvalidInput, Conflict)):
        memory.edit(seen.id, version=version, content="counter 1")  # type: ignore[arg-type]
    assert memory.show(seen.id).text.content == "counter 0"


def test_four_threads_that_increment_with_versions_end_exactly(tmp_path: Path) -> None:
    service = Nagori.open(tmp_path / "data", embedder=WordEmbedder())
    id = service.remember("counter 0").id
    faults = list[BaseException]()

    def increment(memory: Nagori) -> None:
        done = 0
        try:
            while done < 50:
                seen = memory.show(id)
                number = int(seen.text.content.split()[1])
                try:
                    memory.edit(id, version=seen.version, content=f"counter {number + 1}")
                except Conflict:
                    continue
                done += 1
        except BaseException as fault:
            faults.append(fault)

    others = [service, service, *(Nagori.open(tmp_path / "data", embedder=WordEmbedder()) for _ in range(2))]
    threads = [threading.Thread(target=increment, args=(each,)) for each in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert faults == []
    assert service.show(id).text.content == "counter 200"
    service.rebuild()
    assert service.list(Filter(archived=True))[0].text.content == "counter 200"
    for each in others:
        each.close()
