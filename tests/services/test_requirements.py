"""Requirements of the life cycle (L) and of emotional forgetting (E), each test named after its row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from nagori import Category, Emotion, Filter, Kind, Level, Memory, Nagori, Scope, Valence
from nagori.config import load
from nagori.core.events import Event
from nagori.core.llm import Prompt, Reply
from nagori.core.model import RelationType, Text
from nagori.errors import InvalidInput
from nagori.event_ledger import record_turns
from nagori.journals.file import FileJournal
from nagori.language.compression import compress_to_trace
from nagori.services.cycle import CycleReport
from nagori.services.record_turns_or_spool import turn_event
from nagori.services.remember import Draft
from nagori.testing import FrozenClock, WordEmbedder

Open = Callable[..., AbstractContextManager[Nagori]]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock) -> Open:
    """Open the memory of this test with settings, again and again."""

    def open_with(**settings: object) -> Nagori:
        named = {name.replace("__", "."): value for name, value in settings.items()}
        config = load(overrides=named).config
        return Nagori.open(tmp_path, clock=clock, config=config, embedder=WordEmbedder(), llm=None)

    return open_with


@pytest.fixture
def memory(opened: Open) -> Iterator[Nagori]:
    with opened() as memory:
        yield memory


def small_talk(memory: Nagori, text: str, days: float = 0, intensity: float = 40) -> Memory:
    """A memory that fades within days, told so many days ago."""
    created = memory.runtime.clock.now() - timedelta(days=days)
    draft = Draft(
        text, kind=Kind.EPISODE, category=Category.CASUAL, emotion=Emotion(intensity), created=created
    )
    return memory.remember_many([draft])[0]


def nights(memory: Nagori, clock: FrozenClock, number: int) -> None:
    for _ in range(number):
        clock.forward(days=1)
        memory.cycle()


def words_on_disk(folder: Path, words: str) -> list[str]:
    """The files that hold these words."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if words.encode() in path.read_bytes()]


# --- the life cycle -------------------------------------------------------------------------------


def test_l1_the_weekly_law_compresses_below_30_in_week_10(opened: Open, clock: FrozenClock) -> None:
    with opened(retention__law="weekly") as memory:
        id = memory.remember("The kettle in the kitchen is green, and it was a present of Aki.").id
        assert memory.why(id).retention == 50
        clock.forward(days=63)
        memory.cycle()
        assert memory.show(id).level is Level.FULL  # 31.5
        clock.forward(days=7)
        memory.cycle()
        assert memory.show(id).level is Level.SUMMARY  # 29.9


def test_l4_the_archive_says_why_and_until_when_and_how_much_was_saved(
    opened: Open, clock: FrozenClock
) -> None:
    with opened(archive__grace_days=20, capacity__limit=10, capacity__low_water=0.5) as memory:
        faded = small_talk(memory, "A long lorry stood in front of the bakery and nobody could pass it.", 60)
        by_hand = memory.remember("The spare key hangs behind the clock in the hall.")
        memory.archive(by_hand.id)
        many = [memory.remember(f"The cup number {n} stands on shelf {chr(98 + n)}.") for n in range(9)]
        memory.cycle()
        reasons = {one.id: memory.show(one.id).archive_reason for one in (faded, by_hand, *many)}
        assert reasons[faded.id] == "low_importance"
        assert reasons[by_hand.id] == "manual"
        assert "capacity_limit" in reasons.values()
        entry = memory.why(faded.id).archive
        assert entry is not None
        assert entry.score <= 5
        assert entry.retention_until == clock.now() + timedelta(days=20)
        assert 0 < entry.compressed_bytes < entry.original_bytes == len(faded.text.whole.encode())
        clock.forward(days=21)
        memory.cycle()
        later = memory.why(faded.id).archive
        assert later is not None
        assert (later.retention_until, later.original_bytes) == (None, entry.original_bytes)


def test_l4_a_journal_with_the_old_reasons_says_the_new_ones(memory: Nagori) -> None:
    one = memory.remember("The kettle is green.")
    event = Event("archived", memory.runtime.clock.now(), {"reason": "ratio"}, one.id, by="cycle")
    memory.runtime.ledger.write(memory.scope.owner, lambda: [event])
    assert memory.show(one.id).archive_reason == "low_importance"
    record = memory.show(one.id).to_dict() | {"archive_reason": "capacity"}
    assert Memory.__name__ in repr(memory.show(one.id))
    from nagori.core.serialize import from_record

    assert from_record(record).archive_reason == "capacity_limit"


def test_l5_what_was_restored_stays_whole_for_a_week(memory: Nagori, clock: FrozenClock) -> None:
    one = small_talk(memory, "a bus passed and the window rattled", 40)
    memory.cycle()
    assert memory.show(one.id).is_archived
    memory.unarchive(one.id)
    for _ in range(6):
        nights(memory, clock, 1)
        assert memory.show(one.id).level is Level.FULL
    nights(memory, clock, 2)
    assert memory.show(one.id).is_archived


def test_l6_the_usage_is_told_and_so_is_what_stays_over_the_limit(opened: Open, clock: FrozenClock) -> None:
    with opened(capacity__limit=10, protection__max_protected_memories=20) as memory:
        for n in range(12):
            memory.remember(f"The protected cup number {n} is on shelf {chr(98 + n)}.", protect=True)
        told = memory.status()
        assert (told.active, told.capacity, told.usage) == (12, 10, 1.2)
        [finding] = [each for each in memory.doctor() if each.name == "capacity"]
        assert finding.state == "warn"
        assert "12 of 10" in finding.detail
        assert memory.plan().over == 2
        assert memory.cycle().plan.over == 2


def test_l6_a_store_below_its_limit_is_well(memory: Nagori) -> None:
    memory.remember("The kettle is green.")
    [finding] = [each for each in memory.doctor() if each.name == "capacity"]
    assert (finding.state, memory.plan().over) == ("ok", 0)


def test_l7_the_log_tells_before_and_after(memory: Nagori, clock: FrozenClock) -> None:
    one = memory.remember("The kettle in the kitchen is green.", category="work", kind="episode")
    clock.forward(days=4)
    memory.recall("kettle kitchen green")
    memory.cycle()
    [line] = memory.log(types=["reinforced"])
    assert line.memories == [one.id]
    assert line.event.data["score_before"] < line.event.data["score_after"]
    assert line.event.data["score_after"] == pytest.approx(memory.why(one.id).retention, abs=0.01)


def test_l7_the_log_is_read_by_type_and_by_time(memory: Nagori, clock: FrozenClock) -> None:
    old = small_talk(memory, "a bus passed and the window rattled", 60)
    memory.cycle()
    begun = clock.forward(days=1)
    new = memory.remember("The kettle is green.")
    memory.forget(new.id)
    assert [line.event.type for line in memory.log(since=begun)] == ["forgotten", "formed"]
    assert [line.event.type for line in memory.log(until=begun, types=["archived", "forgotten"])] == [
        "archived"
    ]
    assert {line.event.type for line in memory.log(old.id)} == {"formed", "archived"}
    assert len(memory.log(limit=1)) == 1
    with pytest.raises(InvalidInput):
        memory.log(types=["no such type"])


def test_l7_the_log_shows_nobody_what_others_may_not_see(memory: Nagori) -> None:
    memory.with_scope(project="/a").remember("The kettle of project A is green.")
    assert memory.with_scope(project="/b").log() == []
    assert len(memory.with_scope(project="/a").log()) == 1
    assert memory.with_scope(user="stranger").log() == []


def test_l8_one_cycle_runs_for_all_users(memory: Nagori, clock: FrozenClock) -> None:
    others = [memory.with_scope(Scope(user=name, tenant=tenant)) for name, tenant in (("b", "x"), ("c", "y"))]
    old = [small_talk(each, "a bus passed and the window rattled", 60) for each in (memory, *others)]
    reports = memory.cycle_all()
    assert set(reports) == {("local", "me"), ("x", "b"), ("y", "c")}
    assert all(isinstance(report, CycleReport) and report.done for report in reports.values())
    for each, one in zip((memory, *others), old, strict=True):
        assert each.show(one.id).is_archived


# --- emotional forgetting -------------------------------------------------------------------------


def test_e9_ratios_touch_nothing_younger_than_a_day(memory: Nagori, clock: FrozenClock) -> None:
    for n in range(160):
        memory.remember(f"Box number {n} weighs {n * 3} kg and stands in row {chr(97 + n % 26)}{n}.")
    memory.cycle()
    assert memory.status().counts.levels == {1: 160}
    clock.forward(days=2)
    memory.cycle()
    assert memory.status().counts.levels[1] < 160


def linked_pair(memory: Nagori) -> tuple[Memory, Memory]:
    one, other = (memory.remember(text) for text in ("The kettle is green.", "It was bought in Rome."))
    memory.link(other.id, one.id, "continues")
    return one, other


@pytest.mark.parametrize("verb", ["archive", "forget"])
def test_e10_no_relation_leads_to_what_is_archived_or_forgotten(memory: Nagori, verb: str) -> None:
    one, other = linked_pair(memory)
    getattr(memory, verb)(one.id)
    assert memory.why(other.id).relations == []
    night = memory.cycle()
    assert night.unlinked == 1
    assert memory.runtime.store.relations(memory.scope, [one.id, other.id]) == []
    assert [line.event.type for line in memory.log(types=["unlinked"])] == ["unlinked"]
    assert memory.cycle().unlinked == 0
    assert memory.verify().sound


def test_e11_what_is_injected_from_the_archive_asks_for_revival(memory: Nagori, clock: FrozenClock) -> None:
    text = "The ramen place Nishiyama in Sapporo belongs to Mr. Sasaki."
    one = small_talk(memory, text, 60)
    memory.cycle()
    context = memory.context("who owns the ramen place Nishiyama in Sapporo", session="t")
    assert "[archived]" in context.text
    assert memory.show(one.id).revival_at is not None
    nights(memory, clock, 1)
    assert memory.show(one.id).level is Level.TRACE


@pytest.mark.parametrize("mode", ["AND", "OR"])
def test_e12_a_condition_that_is_switched_off_deletes_nothing(
    opened: Open, clock: FrozenClock, mode: str
) -> None:
    rules = {
        "archive__auto_delete_enabled": True,
        "archive__delete_condition_mode": mode,
        "archive__delete_require_zero_recall": False,
        "archive__retention_days": 30,
    }
    with opened(**rules) as memory:
        deed = memory.remember("The deed of the house is in the blue folder.", emotion=Emotion(95))
        memory.archive(deed.id)
        small = small_talk(memory, "a bus passed and the window rattled", 60, intensity=10)
        memory.cycle()
        clock.forward(days=31)
        memory.cycle()
        assert memory.show(deed.id).is_archived
        assert small.id not in {one.id for one in memory.list(Filter(archived=True, forgotten=True))}


def test_e12_deletion_leaves_no_word_on_the_disk(opened: Open, clock: FrozenClock, tmp_path: Path) -> None:
    rules = {"archive__auto_delete_enabled": True, "archive__retention_days": 30}
    with opened(**rules) as memory:
        memory.turn("The zeppelin landed at quarter past nine, how odd.", session="s")
        memory.process()
        small_talk(memory, "The zeppelin smelled of marzipan.", 60, intensity=10)
        memory.cycle()
        assert words_on_disk(tmp_path, "marzipan")
        clock.forward(days=31)
        memory.cycle()
        memory.cycle()
        memory.compact()
        assert not words_on_disk(tmp_path, "marzipan")
        assert not any(
            "marzipan" in str(event.data) for event in FileJournal(tmp_path / "journal").read(("local", "me"))
        )


def test_e16_related_memories_come_strongest_first_and_newest_where_they_are_alike(
    opened: Open, clock: FrozenClock
) -> None:
    with opened() as memory:
        hub = memory.remember("The kettle is green.")
        strengths = {"faint": 30, "older": 70, "newer": 68, "strong": 95}
        ids = {}
        for name, intensity in strengths.items():
            clock.forward(minutes=1)
            ids[memory.remember(f"Something {name} about it.", emotion=Emotion(intensity)).id] = name
        for id in ids:
            memory.link(id, hub.id, "references")
        told = [ids[each.memory.id] for each in memory.find_related(hub.id)]
        assert told == ["strong", "newer", "older", "faint"]
        assert [relation.source for relation in memory.why(hub.id).relations] == [
            id for name in told for id, other in ids.items() if other == name
        ]
    with opened(relations__score_proximity_threshold=0) as memory:
        assert [ids[each.memory.id] for each in memory.find_related(hub.id)] == [
            "strong",
            "older",
            "newer",
            "faint",
        ]


def test_e16_links_are_made_and_cut_by_hand(memory: Nagori) -> None:
    one, other = linked_pair(memory)
    assert memory.link(other.id, one.id, "continues").type is RelationType.CONTINUES  # again: nothing new
    memory.link(one.id, other.id, "same_topic")
    assert len(memory.why(one.id).relations) == 2
    assert [relation.type for relation in memory.unlink(one.id, other.id, "continues")] == ["continues"]
    assert len(memory.unlink(one.id, other.id)) == 1
    assert memory.why(one.id).relations == []
    memory.rebuild()
    assert memory.why(one.id).relations == []


def test_e16_a_link_that_makes_no_sense_is_refused(opened: Open) -> None:
    with opened(relations__max_relations_per_memory=1) as memory:
        one, other = linked_pair(memory)
        third = memory.remember("Ken was there, too.")
        with pytest.raises(InvalidInput, match="itself"):
            memory.link(one.id, one.id)
        with pytest.raises(InvalidInput, match="maximum"):
            memory.link(third.id, one.id)
        memory.archive(other.id)
        with pytest.raises(InvalidInput, match="archived"):
            memory.link(third.id, other.id)


@pytest.mark.parametrize(("depth", "answers"), [(0, 1), (1, 2), (2, 3)])
def test_e16_recall_follows_so_many_links(opened: Open, depth: int, answers: int) -> None:
    with opened(relations__relation_traversal_depth=depth) as memory:
        _, other = linked_pair(memory)
        third = memory.remember("Ken was there, too.")
        memory.link(third.id, other.id, "continues")
        assert len(memory.recall("green kettle")) == answers


def test_e23_compact_gives_space_back(memory: Nagori) -> None:
    text = " ".join(f"word{n}" for n in range(300))
    kept = memory.remember_many([f"{n} {text}" for n in range(200)])
    events = [Event("deleted", memory.runtime.clock.now(), {}, one.id, by="cycle") for one in kept[1:]]
    memory.runtime.ledger.write(memory.scope.owner, lambda: events)
    done = memory.compact()
    assert done.after < done.before / 2
    assert memory.verify().sound
    assert memory.recall("word7")


def test_e23_a_large_store_is_told(memory: Nagori, monkeypatch: pytest.MonkeyPatch) -> None:
    from nagori.services import doctor

    def size() -> tuple[str, str]:
        [finding] = [each for each in memory.doctor() if each.name == "size"]
        return finding.state, finding.advice

    assert size() == ("ok", "")
    monkeypatch.setattr(doctor, "LARGE_STORE", 1000)
    state, advice = size()
    assert state == "warn"
    assert "nagori compact" in advice


# --- recall -----------------------------------------------------------------------------------------


def say(memory: Nagori, clock: FrozenClock, user: str, assistant: str = "", session: str = "s") -> None:
    turn = memory.turn(user, session=session)
    clock.forward(seconds=20)
    if assistant:
        turn.answer(assistant)
    memory.process()
    clock.forward(minutes=3)


def test_e14_a_chat_keeps_no_built_in_command(memory: Nagori) -> None:
    chat = [
        {"role": "user", "content": "/clear"},
        {"role": "assistant", "content": "(cleared)"},
        {"role": "user", "content": "/model opus"},
        {"role": "user", "content": "/deploy staging with the blue settings"},
        {"role": "assistant", "content": "The staging server runs with the blue settings."},
    ]
    memory.form(chat, session="s")
    kept = {one.text.whole for one in memory.list()}
    assert kept == {
        "/deploy staging with the blue settings",
        "The staging server runs with the blue settings.",
    }


def test_e17_a_category_is_preferred(memory: Nagori) -> None:
    one = memory.remember("The kettle budget is settled.", category="decision", kind="decision")
    other = memory.remember("The kettle budget is boring.", category="casual")
    for category, first in ((Category.DECISION, one), (Category.CASUAL, other)):
        found = memory.recall("kettle budget", category=category, mark=False)
        assert found[0].id == first.id


def test_e17_the_mood_of_what_was_shown_carries_over(memory: Nagori, clock: FrozenClock) -> None:
    sad = Emotion(80, Valence.NEGATIVE, 70, ("sadness",))
    glad = Emotion(80, Valence.POSITIVE, 70, ("joy",))
    memory.remember("The boat trip ended in the storm.", emotion=sad)
    same, other = (
        memory.remember(f"The {n} cup broke.", emotion=felt) for n, felt in (("red", sad), ("blue", glad))
    )
    assert memory.context("how did the boat trip in the storm end", session="s")
    terms = {r.id: r.terms["resonance"] for r in memory.recall("cup broke", session="s", mark=False)}
    assert terms[same.id] > terms[other.id]
    strangers = memory.recall("cup broke", session="t", mark=False)
    assert {r.terms["resonance"] for r in strangers} == {1.0}


def test_e18_priority_tells_nothing_that_is_about_something_else(opened: Open) -> None:
    with opened(retrieval__ranking="priority") as memory:
        for month in range(6):
            memory.remember(f"庭の柿の木の剪定は{month + 1}月に済ませた。", emotion=Emotion(95))
        assert memory.recall("How do I configure nginx as a reverse proxy?") == []
        assert not memory.context("How do I configure nginx as a reverse proxy?", session="s")
        found = memory.recall("柿の木の剪定")
        assert found
        assert all(each.confidence is not None for each in found)
        assert memory.context("柿の木の剪定はいつ済ませた？", session="s")


def test_e18_the_relevance_threshold_holds_for_what_is_injected(opened: Open) -> None:
    with opened(retrieval__ranking="priority", retrieval__relevance_threshold=1000.0) as memory:
        memory.remember("The kettle in the kitchen is green.")
        assert memory.recall("green kettle in the kitchen") == []
        assert not memory.context("which kettle is green in the kitchen", session="s")


@pytest.mark.parametrize("most", [1, 3])
def test_e20_top_k_is_obeyed_by_what_is_injected(opened: Open, most: int) -> None:
    with opened(retrieval__top_k=most) as memory:
        for colour in ("green", "blue", "red", "white", "black"):
            memory.remember(f"One kettle in the kitchen is {colour}, a present of {colour[::-1]}.")
        assert len(memory.context("which kettles are in the kitchen", session="s").memories) == most


@pytest.mark.parametrize(
    "prompt", ["/compact MongoDB catalogue", "/model MongoDB", "/clear", "/review MongoDB"]
)
def test_e22_a_built_in_command_injects_nothing(memory: Nagori, prompt: str) -> None:
    memory.remember("We use MongoDB in production for the catalogue.")
    assert not memory.context(prompt, session="s")
    assert memory.context("/ask what do we use MongoDB for in production", session="s")


def test_e19_a_wish_with_a_colon_is_heard_and_one_too_many_waits(opened: Open, clock: FrozenClock) -> None:
    with opened(protection__max_protected_memories=1) as memory:
        say(memory, clock, "これは絶対に忘れないで：父の命日は3月9日")
        assert memory.status().counts.protected == 1
        say(memory, clock, "これは絶対に忘れないで：金庫の鍵は青い箱にある", session="t")
        assert memory.status().counts.protected == 1
        assert memory.status().waiting_wishes == 1
        assert [each.state for each in memory.doctor() if each.name == "wishes"] == ["warn"]
        assert "asked to protect" in memory.session_start("next").text


def test_e19_of_two_wishes_at_once_the_one_that_fits_is_granted(opened: Open, clock: FrozenClock) -> None:
    with opened(protection__max_protected_memories=2) as memory:
        memory.remember("父の命日は3月9日", protect=True)
        memory.turn("これは絶対に忘れないで：金庫の鍵は青い箱にある", session="a")
        memory.turn("これは絶対に忘れないで：ピアノの調律は高木さんに頼む", session="b")
        memory.process()
        assert memory.status().counts.protected == 2
        assert memory.status().waiting_wishes == 1


def test_e19_a_protected_memory_is_not_archived_by_hand(memory: Nagori) -> None:
    one = memory.remember("父の命日は3月9日", protect=True)
    with pytest.raises(InvalidInput, match="protected"):
        memory.archive(one.id)
    memory.forget(one.id)
    assert memory.status().counts.protected == 0  # it holds no place


def test_e13_a_large_import_needs_no_confirmation_and_a_clock_that_jumps_does(
    tmp_path: Path, clock: FrozenClock
) -> None:
    def talk(word: str, days: float) -> list[Draft]:
        born = clock.now() - timedelta(days=days)
        how: dict[str, Any] = {
            "kind": Kind.EPISODE,
            "category": Category.CASUAL,
            "created": born,
        }
        return [
            Draft(f"{word} number {n} about {chr(97 + n % 26)}{n}", emotion=Emotion(40), **how)
            for n in range(1000)
        ]

    with Nagori.open(tmp_path, clock=clock, config=load().config, embedder=None, llm=None) as memory:
        memory.remember_many(talk("old talk", 80))
        plan = memory.plan()
        assert plan.moves > 400
        assert not plan.asks
        assert memory.cycle(plan).done
        memory.remember_many(talk("new talk", 0))
        memory.cycle()
        clock.forward(days=700)
        assert memory.plan().asks
        [stopped] = memory.cycle_all().values()
        assert "would move" in str(stopped)
        assert memory.status().stopped_moves > 400
        memory.cycle()
        assert memory.status().stopped_moves == 0


# --- compression ------------------------------------------------------------------------------------


class FixedAnswer:
    """A language model that gives one answer."""

    model = "fixed"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def complete(self, prompt: Prompt, schema: object = None, max_tokens: int = 1024) -> Reply:
        return Reply(json.dumps(self.answer), self.model)


def test_l3_a_short_text_is_given_to_the_model_and_shrinks_by_more_than_70_percent(
    tmp_path: Path, clock: FrozenClock
) -> None:
    lunch = "今日のランチは駅前のラーメン屋に行った。味噌ラーメンが美味しかった。次回は塩ラーメンを試したい。"
    config = load(overrides={"llm.provider": "openai", "llm.base_url": "http://127.0.0.1:9/v1"}).config
    model = FixedAnswer({"items": [{"i": 0, "trigger": [], "content": ["駅前", "ラーメン屋", "味噌"]}]})
    with Nagori.open(tmp_path, clock=clock, config=config, embedder=None, llm=model) as memory:
        one = small_talk(memory, lunch, 4)
        night = memory.cycle()
        now = memory.show(one.id)
        assert night.by_model == 1
        assert now.text.content == "駅前, ラーメン屋, 味噌"
        assert 1 - night.bytes_after / night.bytes_before > 0.7


def test_e7_the_prompts_name_what_must_survive() -> None:
    folder = files("nagori.services.llm") / "prompts"
    english, japanese = ((folder / f"summary.{name}.txt").read_text("utf-8") for name in ("en", "ja"))
    for words in ("proper nouns", "technical terms", "how the user took it", "topic or the question"):
        assert words in english
    for words in ("固有名詞", "専門用語", "ユーザーの反応", "話題や質問"):
        assert words in japanese


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Correction: the staging server moved, it listens on port 9443, not 8443.", "not 8443"),
        (
            "We switched our database from MySQL to PostgreSQL because of the licence.",
            "from MySQL to PostgreSQL",
        ),
        ("mainブランチに直接pushしないで。", "pushしないで"),
        ("ステージングのポートは8443番ではなく9443番に変わりました。", "8443番ではなく9443番"),
    ],
)
def test_e7_a_trace_keeps_negation_and_direction(text: str, kept: str) -> None:
    assert kept in compress_to_trace(Text("", text), Emotion()).content
    long = f"{text} {'The weather was nice and we talked about the garden for a while. ' * 5}"
    trace = compress_to_trace(Text("", long), Emotion()).content
    assert kept in trace
    assert len(trace) <= 125


# --- what lasts -------------------------------------------------------------------------------------

IMPORTANT = (
    "データベースはPostgreSQLに決めた",
    "Production DB host is db1.internal:5432",
    "Our daughter was born on Sunday",
    "Grandma died this morning.",
    "I got fired today",
    "流産した",
    "震災で家を失った",
    "いじめられていた過去がある",
    "鬱で会社を休んでいる",
    "じゃあそれで決まり。SQLiteにする。",
    "OK, final answer: we ship on Monday",
    "I was diagnosed with diabetes",
    "We have two dogs",
)


@pytest.mark.parametrize("said", IMPORTANT)
def test_e2_what_matters_stays_whole_for_a_month_and_active_for_three(
    tmp_path: Path, clock: FrozenClock, said: str
) -> None:
    with Nagori.open(tmp_path, clock=clock, config=load().config, embedder=None, llm=None) as memory:
        say(memory, clock, said)
        [kept] = memory.list()
        ahead = dict(memory.why(kept.id).forecast)
        assert ahead[Level.SUMMARY] - clock.now() > timedelta(days=30)
        assert ahead[Level.ARCHIVED] - clock.now() > timedelta(days=90)


@pytest.mark.parametrize("said", ["Awesome, it works!!", "ありがとう！最高！"])
def test_e2_what_is_only_loud_goes_in_days(tmp_path: Path, clock: FrozenClock, said: str) -> None:
    with Nagori.open(tmp_path, clock=clock, config=load().config, embedder=None, llm=None) as memory:
        say(memory, clock, said)
        for kept in memory.list():
            ahead = dict(memory.why(kept.id).forecast)
            assert ahead[Level.ARCHIVED] - clock.now() < timedelta(days=30)


def test_e14_a_question_and_its_answer_are_one_memory_with_an_arrow(
    memory: Nagori, clock: FrozenClock
) -> None:
    say(memory, clock, "ステージングのポート番号は何番にしましたか？", "8443番です。")
    [kept] = memory.list()
    assert (kept.text.trigger, kept.text.content) == (
        "ステージングのポート番号は何番にしましたか？",
        "8443番です。",
    )
    told = memory.context("ステージングのポート番号を教えて", session="later").text
    assert "何番にしましたか？ → 8443番です。" in told


def test_e16_the_summary_of_a_session_is_derived_from_its_memories(
    memory: Nagori, clock: FrozenClock
) -> None:
    say(memory, clock, "The staging server listens on port 8443.")
    say(memory, clock, "We deploy on Fridays only.")
    event = turn_event(
        memory.scope,
        memory.runtime.config.privacy,
        text="They talked about the staging server and about deployments.",
        role="summary",
        at=clock.now(),
        session="s",
    )
    assert event is not None
    record_turns(memory.runtime.journal, memory.scope.owner, [event])
    memory.process()
    [recap] = memory.list(Filter(kinds=frozenset({Kind.SUMMARY})))
    sources = {each.memory.text.content for each in memory.find_related(recap.id)}
    assert sources == {"The staging server listens on port 8443.", "We deploy on Fridays only."}
    assert {each.relation.type for each in memory.find_related(recap.id)} == {RelationType.DERIVED_FROM}
