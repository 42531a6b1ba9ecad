"""A model's shorter words: taken if they stand for their source, waited for if they fail."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums, or options are passed on as a dict.

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.models import data_of, helped, shortening
from tests.scripted import Scripted

from nagori import Category, Emotion, Kind, Level, Memory, Nagori, Turn
from nagori.services.llm.failure_counts_and_batch_size import ModelHealth
from nagori.testing import FrozenClock, WordEmbedder

LONG = (
    "We met at the harbour office in Otaru to talk about the new cold store. Ms Mori wants 14 racks and a"
    " second door to the quay. The electrician, Ken, says that the old fuse box from 1987 cannot carry it. We"
    " decided to order the Hitachi compressor and to pay 2,400,000 yen in three parts. The weather was awful"
    " and the ferry late, so everybody was tired and a little cross. Afterwards there was grilled squid."
)
LONG_JA = (
    "小樽の港の事務所で新しい冷蔵倉庫について話し合った。森さんは棚を14台と、岸壁側にもう一つの扉がほしいと言っている。"
    "電気屋の健さんによると、1987年の古い配電盤では持たないらしい。結局、日立のコンプレッサーを注文し、240万円を三回に分けて"
    "払うことに決めた。天気はひどく、フェリーも遅れて、みんな疲れて少し不機嫌だった。帰りに焼きイカを食べたが、ここ何年かで"
    "一番おいしかった。そのあと雪の中を駅まで長い道を歩いて帰り、来週もう一度集まることにした。とても長い一日だったと思う。"
)


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted(answer=shortening()) as running:
        yield running


def opened(folder: Path, server: Scripted, clock: FrozenClock, **more: object) -> Nagori:
    return helped(folder, server, clock, WordEmbedder(), **more)


def kept(memory: Nagori, text: str = LONG, intensity: float = 40) -> Memory:
    return memory.remember(text, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(intensity))


def night(memory: Nagori, clock: FrozenClock) -> object:
    clock.forward(days=1)
    return memory.cycle()


def test_the_models_words_are_what_is_left(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    with opened(tmp_path, server, clock) as memory:
        one = kept(memory)
        done = memory.cycle()
        now = memory.show(one.id)
        assert now.level is Level.SUMMARY
        assert now.text.content == LONG.split(". ")[0] + "."
        assert now.texts[Level.FULL].content == LONG
        assert (done.by_model, done.waiting) == (1, {})
        assert memory.recall("cold store in Otaru")[0].memory.id == one.id
        assert memory.status().counts.unembedded == 0


def test_a_japanese_memory_stays_japanese(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    words = "小樽で会合。日立のコンプレッサーを注文し、240万円を三回払いに決定。"
    server.answer = shortening(lambda text: words)
    with opened(tmp_path, server, clock) as memory:
        one = kept(memory, LONG_JA)
        memory.cycle()
        assert memory.show(one.id).text.content == words
        assert "記憶を短くします" in server.requests[0].body["messages"][0]["content"]


def test_a_trace_is_made_of_words_that_stood_there(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    words = ["Otaru", "cold store", "Hitachi compressor", "Sapporo", "14 racks", "  "]
    server.answer = lambda body: json.dumps(
        {"items": [{"i": each["i"], "trigger": [], "content": words} for each in data_of(body)]}
    )
    with opened(tmp_path, server, clock) as memory:
        one = kept(memory, intensity=15)
        memory.cycle()
        assert memory.show(one.id).text.content == "Otaru, cold store, Hitachi compressor, 14 racks"


def test_what_is_short_already_is_not_worth_a_question(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    with opened(tmp_path, server, clock) as memory:
        kept(memory, "The ferry was late.")
        memory.cycle()
        assert server.requests == []


def test_many_go_into_one_question(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    with opened(tmp_path, server, clock) as memory:
        for n in range(16):
            kept(memory, f"Report {n}. {LONG}")
        memory.cycle()
        assert len(server.requests) == 2


def test_a_question_is_put_in_the_language_of_its_memories(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    with opened(tmp_path, server, clock) as memory:
        for text in (LONG, LONG_JA, f"Once more. {LONG}", f"もう一度。{LONG_JA}"):
            kept(memory, text)
        memory.cycle()
        asked = [request.body["messages"] for request in server.requests]
        assert [len(json.loads(data["content"])) for _, data in asked] == [2, 2]
        assert ["shorten memories" in task["content"] for task, _ in asked] == [True, False]


def test_a_summary_that_bears_anothers_number_is_not_taken(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    """No name or number gives it away: both are about nothing but kanji."""
    texts = {
        "屋根": "屋根の修理が夕方に終わった。北側の瓦が多く割れていて、下地の板も腐っていたそうだ。" * 3,
        "合格": "娘が第一志望の高校に合格した。家族みんなで泣いて喜び、夜は祖父母も呼んで祝った。" * 3,
    }
    firsts = [text.split("。")[0] + "。" for text in texts.values()]

    def crossed(body: dict[str, object]) -> str:
        asked = data_of(body)
        said = [next(first for first in firsts if first in each["content"]) for each in asked]
        items = [
            {"i": each["i"], "trigger": "", "content": one}
            for each, one in zip(asked, said[::-1], strict=True)
        ]
        return json.dumps({"items": items}, ensure_ascii=False)

    server.answer = crossed
    with opened(tmp_path, server, clock) as memory:
        both = [kept(memory, text) for text in texts.values()]
        assert set(memory.cycle().waiting) == {each.id for each in both}
        server.answer = shortening()
        memory.cycle()
        assert [memory.show(each.id).text.content for each in both] == [
            first.rstrip("。") + "." for first in firsts
        ]


# --- when it goes wrong

SAYS: dict[str, Callable[[str], str]] = {
    "nothing": lambda text: "",
    "a refusal": lambda text: "I'm sorry, but I cannot shorten this text.",
    "longer text": lambda text: text + " And so on, and so on.",
    "most of it again": lambda text: text[: len(text) * 3 // 4],
    "another language": lambda text: "小樽で冷蔵倉庫の話をした。",
    "French": lambda text: "Nous avons parlé du nouvel entrepôt frigorifique au bureau du port.",
    "an invented number": lambda text: "We met in Otaru and ordered 15 racks.",
    "an invented name": lambda text: "We met in Otaru; then Takeshi ordered the racks.",
}


@pytest.mark.parametrize("what", SAYS)
def test_words_that_do_not_stand_for_their_source_are_not_taken(
    tmp_path: Path, server: Scripted, clock: FrozenClock, what: str
) -> None:
    server.answer = shortening(SAYS[what])
    with opened(tmp_path, server, clock, fallback_after_cycles=2) as memory:
        one = kept(memory)
        done = memory.cycle()
        assert list(done.waiting) == [one.id]
        assert done.left == [one.id]
        assert memory.show(one.id) == one  # as it was
        server.answer = shortening()
        memory.cycle()  # asked again
        assert memory.show(one.id).level is Level.SUMMARY


@pytest.mark.parametrize(
    "fault", ["hang", "500", "401", "cut", "garbage", "empty body", "empty answer", "refusal", "truncated"]
)
def test_while_the_model_does_not_answer_the_memory_stays_whole_and_the_night_goes_on(
    tmp_path: Path, server: Scripted, clock: FrozenClock, fault: str
) -> None:
    with opened(tmp_path, server, clock, timeout_seconds=0.5) as memory:
        many = [kept(memory, f"Report {n}. {LONG}") for n in range(20)]
        short = kept(memory, "The ferry was late.")
        server.script = [fault]
        done = memory.cycle()
        assert len(server.requests) <= 3  # an ill model is left alone for the night
        assert set(done.waiting) == {each.id for each in many}
        assert all(memory.show(each.id) == each for each in many)
        assert memory.show(short.id).level is Level.SUMMARY
        assert ModelHealth.of(memory.runtime, memory.scope.owner).trouble
        server.script = ["ok"]
        assert memory.cycle().waiting == {}
        assert {memory.show(each.id).level for each in many} == {Level.SUMMARY}
        assert all(memory.show(each.id).texts[Level.FULL] == each.text for each in many)
        assert ModelHealth.of(memory.runtime, memory.scope.owner).trouble is None


def test_a_model_that_is_gone_for_good_holds_up_nothing(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    server.script = ["500"]
    with opened(tmp_path, server, clock, fallback_after_cycles=2) as memory:
        one = kept(memory)
        levels = []
        for _ in range(3):
            memory.cycle()
            levels.append(memory.show(one.id).level)
        assert levels == [Level.FULL, Level.FULL, Level.SUMMARY]
        assert memory.show(one.id).texts[Level.FULL].content == LONG


def test_what_is_put_away_does_not_wait(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    server.script = ["500"]
    with opened(tmp_path, server, clock) as memory:
        one = kept(memory, intensity=1)
        memory.cycle()
        now = memory.show(one.id)
        assert now.is_archived
        assert Level.TRACE in now.texts


def test_one_bad_item_costs_only_itself(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    server.answer = shortening(lambda text: "" if "Report 3" in text else text.split(". ")[1] + ".")
    with opened(tmp_path, server, clock) as memory:
        many = [kept(memory, f"Report {n}. {LONG}") for n in range(6)]
        done = memory.cycle()
        assert list(done.waiting) == [many[3].id]
        assert done.by_model == 5


def test_switched_off_the_rules_shorten(tmp_path: Path, server: Scripted, clock: FrozenClock) -> None:
    with opened(tmp_path, server, clock, compress=False) as memory:
        one = kept(memory)
        memory.cycle()
        assert memory.show(one.id).level is Level.SUMMARY
        assert server.requests == []


# --- sessions, and other words for a question


def said(memory: Nagori, texts: list[str]) -> None:
    at = memory.runtime.clock.now()
    memory.form(Turn(text, at, session="s", index=place) for place, text in enumerate(texts))


def test_a_session_can_be_told_in_the_models_words(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    with opened(tmp_path, server, clock) as memory:
        said(memory, LONG.split(". "))
        server.answer = lambda body: json.dumps({"summary": "Hitachi compressor ordered for the cold store."})
        assert memory.summary("s", 40, model=True) == "Hitachi compressor ordered for the cold store."
        server.answer = lambda body: json.dumps({"summary": "Mitsubishi compressor ordered."})
        own = memory.summary("s", 40)
        assert memory.summary("s", 40, model=True) == own != ""
        server.script = ["500"]
        assert memory.summary("s", 40, model=True) == own
        assert len(server.requests) == 3
        assert memory.summary("s", 4000, model=True)  # short enough as it is
        assert len(server.requests) == 3


def test_other_words_find_what_the_question_does_not_name(
    tmp_path: Path, server: Scripted, clock: FrozenClock
) -> None:
    server.answer = lambda body: json.dumps({"words": ["fridge", "compressor"]})
    with helped(tmp_path, server, clock, expand_queries=True) as memory:
        one = memory.remember("The compressor is loud.")
        assert [r.memory.id for r in memory.recall("Which machine hums?", min_confidence=0.0)] == [one.id]
        server.script = ["500"]
        assert memory.recall("Which machine hums?", min_confidence=0.0) == []
    with helped(tmp_path, server, clock) as plain:
        assert plain.recall("Which machine hums?", min_confidence=0.0) == []
        assert len(server.requests) == 2
