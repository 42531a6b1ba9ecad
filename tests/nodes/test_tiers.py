"""The tiers of a conversation, T1 to T15, each requirement on files with SQLite and on PostgreSQL.

One test for each row, in the order of the requirements; more about each is in the tests of its own part.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.postgres import Server

from nagori import Nagori, Scope, Source
from nagori.config import load
from nagori.core.model import TurnFilter, is_thread_summary
from nagori.core.threads import ThreadEnd
from nagori.edges.integrations.langgraph import recall_node, record_node
from nagori.errors import MemoryErased
from nagori.language.passages import about_tokens
from nagori.services import audit_log
from nagori.testing import FrozenClock, WordEmbedder

KITCHEN = [
    ("We painted the kitchen on Sunday in light green.", "Light green makes a kitchen brighter."),
    ("The paint came from the shop of Ms Mori.", "Her shop in Elm Street mixes colours."),
    ("The kitchen ceiling still needs a second coat of paint.", "Wait a day before the second coat."),
]
TRIP = [("By the way, I booked the night train to Vienna for 3 May.", "It leaves at 21:40.")]
Opener = Callable[..., Nagori]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Opener:
    where: str | Path = tmp_path / "data"
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        where = server.url(store="postgres", folder=str(where))

    def open_memory(**settings: object) -> Nagori:
        config = load(overrides={name.replace("__", "."): value for name, value in settings.items()}).config
        return Nagori.open(where, clock=clock, config=config, embedder=WordEmbedder(), llm=None)

    return open_memory


@pytest.fixture
def memory(opened: Opener) -> Iterator[Nagori]:
    with opened(threads__summaries=True) as memory:
        yield memory


def talk(
    memory: Nagori, clock: FrozenClock, said: list[tuple[str, str]] = KITCHEN, session: str = "s"
) -> None:
    for text, answer in said:
        memory.turn(text, session=session).answer(answer)
        clock.forward(seconds=30)


def end_thread(memory: Nagori, clock: FrozenClock) -> None:
    clock.forward(minutes=11)
    memory.process()


def test_T1_working_memory_is_twelve_turns_with_speakers_counted(memory: Nagori, clock: FrozenClock) -> None:
    for n in range(14):
        memory.turn(f"Brick {n} of the wall is laid.", session="s", speaker=("lumina", "nox")[n % 2])
        clock.forward(seconds=5)
    view = memory.working_memory("s")
    assert [turn.text for turn in view.turns] == [f"Brick {n} of the wall is laid." for n in range(2, 14)]
    assert (view.speakers, view.flushed) == ({"lumina": 7, "nox": 7}, 2)


def test_T2_threads_end_by_cue_words_and_by_pauses(memory: Nagori, clock: FrozenClock) -> None:
    talk(memory, clock, KITCHEN + TRIP)
    assert [t.thread.end for t in memory.threads("s")] == [ThreadEnd.CUE, None]
    clock.forward(minutes=10)
    assert [t.thread.end for t in memory.threads("s")] == [ThreadEnd.CUE, ThreadEnd.IDLE]


def test_T3_an_ended_thread_is_kept_as_summary_keywords_and_vector(
    memory: Nagori, clock: FrozenClock
) -> None:
    talk(memory, clock)
    end_thread(memory, clock)
    [summary] = [each for each in memory.list() if is_thread_summary(each)]
    assert "kitchen" in summary.text.content
    assert len(summary.keywords) > 2
    model = memory.runtime.vectors.active(memory.scope.owner) or ""
    assert memory.runtime.vectors.get(memory.scope.owner, model, [summary.digest])


def test_T4_sessions_survive_a_restart_and_are_logged_for_some_days(
    opened: Opener, clock: FrozenClock, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed (requirements/dev.txt)")
    settings = {"sessions__log_dir": str(tmp_path / "logs"), "sessions__log_days": 7}
    with opened(**settings) as memory:
        talk(memory, clock)
        view, threads = memory.working_memory("s"), memory.threads("s")
    with opened(**settings) as memory:
        assert (memory.working_memory("s"), memory.threads("s")) == (view, threads)
        end_thread(memory, clock)
        assert memory.query_log("select count(*) from turns")[1] == [(6,)]
        clock.forward(days=8)
        memory.cycle()
        assert memory.query_log("select count(*) from turns")[1] == [(0,)]
        assert len(memory.threads("s")) == 1


def test_T5_one_context_has_conversations_sessions_and_profile(memory: Nagori, clock: FrozenClock) -> None:
    talk(memory, clock)
    end_thread(memory, clock)
    memory.remember_many(f"The harbour of Nara has a crane number {n}." for n in range(20))
    found = memory.full_context("Which crane number 7 stands in the harbour?", session="t", tokens=900)
    assert "number 7" in found.past_conversations
    assert found.recent_sessions
    assert "harbour" in found.profile
    assert about_tokens(found.text) <= 900


def test_T6_a_profile_has_topics_speakers_depth_and_preferences(memory: Nagori, clock: FrozenClock) -> None:
    for n, text in enumerate(
        ("Polish the copper kettle.", "The copper kettle whistles.", "A copper kettle.")
    ):
        memory.remember(text, source=Source(session=f"s{n}", turn=n, speaker="Lumina"))
    clock.forward(days=30)
    found = memory.profile()
    assert {topic.name: topic.memories for topic in found.topics}["kettle"] == 3
    assert [(speaker.name, speaker.spoke) for speaker in found.speakers] == [("Lumina", 3)]
    assert found.relationship.days == 30
    assert 0 < found.relationship.depth < 1
    assert found.preferences is not None


def test_T7_the_most_salient_are_consolidated(opened: Opener, clock: FrozenClock) -> None:
    with opened(consolidation__enabled=True) as memory:
        texts = ("Aki plays the piano every Sunday.", "The piano was bought in Kyoto.", "Well, thanks.")
        kept = [memory.remember(text) for text in texts]
        clock.forward(days=1)
        assert memory.cycle().consolidated == 2
        assert memory.show(kept[0].id).coefficient > kept[0].coefficient
        assert memory.show(kept[2].id).coefficient == kept[2].coefficient


def test_T8_association_leads_over_shared_concepts(memory: Nagori) -> None:
    texts = ["Aki plays the piano every Sunday.", "The piano was bought from a shop in Kyoto."]
    for text in texts:
        memory.remember(text)
    assert "piano" in [topic.name for topic in memory.associate("Aki", depth=3).topics]
    assert [each.memory.text.content for each in memory.recall("Aki", spread=2)] == texts


def test_T9_a_document_is_replaced_without_a_gap_and_has_a_source(memory: Nagori, tmp_path: Path) -> None:
    page = tmp_path / "turbine.md"
    for speed in (1, 2):
        page.write_text(f"# Turbine\n\nThe turbine runs at speed {speed}.\n")
        memory.add_knowledge(page, kb="plant")
    [passage] = memory.search_knowledge("turbine speed", kb="plant")
    assert (passage.text, passage.version) == ("The turbine runs at speed 2.", 2)
    assert "turbine.md" in passage.source


def test_T10_policy_summaries_keeps_no_turns_and_full_logs_are_queryable(
    opened: Opener, clock: FrozenClock, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed (requirements/dev.txt)")
    with opened(sessions__log_dir=str(tmp_path / "logs")) as memory:
        talk(memory, clock)
        end_thread(memory, clock)
        sql = "select role, count(*) from turns group by role order by role"
        assert memory.query_log(sql)[1] == [("assistant", 3), ("user", 3)]
    with opened(sessions__policy="summaries") as memory:
        other = memory.with_scope(Scope(user="other"))
        talk(other, clock)
        end_thread(other, clock)
        assert [each.kind.value for each in other.list() if is_thread_summary(each)] == ["summary"]
        said = [
            event for event in other.runtime.journal.read(other.scope.owner) if event.type == "turn_recorded"
        ]
        assert not any(event.data.get("text") for event in said)
        assert not memory.runtime.store.turns(other.scope.owner, TurnFilter())


def test_T11_a_backup_is_proved_by_a_drill(memory: Nagori, clock: FrozenClock, tmp_path: Path) -> None:
    talk(memory, clock)
    end_thread(memory, clock)
    memory.backup(tmp_path / "now.tar")
    report = memory.drill(tmp_path / "now.tar")
    assert (report.matches, report.owners, report.moved) == (True, 1, ())
    assert report.memories >= 1


def test_T12_one_user_is_erased_everywhere_with_a_token_and_an_audit_entry(
    memory: Nagori, clock: FrozenClock
) -> None:
    other = memory.with_scope(Scope(user="other"))
    for each in (memory, other):
        talk(each, clock)
        end_thread(each, clock)
    plan = other.plan_erasure(everything=True)
    assert plan.token
    receipt = other.erase(plan)
    assert receipt.clean
    assert other.runtime.journal.is_erased(other.scope.owner)
    with pytest.raises(MemoryErased):
        other.remember("Again.")
    assert memory.recall("kitchen")
    acts = {entry.act for entry in audit_log.read(memory.runtime.data_dir)}
    assert {"erasure_requested", "erasure_finished"} <= acts


def test_T13_what_was_corrected_is_never_told_from_a_cache(memory: Nagori) -> None:
    many = memory.remember_many(["The kettle is copper.", "The cup is copper.", "The copper pan is new."])
    assert "copper" in {topic.name for topic in memory.profile().topics}
    for each in many:
        memory.edit(each.id, content=each.text.content.replace("copper", "silver"))
    assert "copper" not in {topic.name for topic in memory.profile().topics}
    assert "silver" in {topic.name for topic in memory.profile().topics}
    assert all("silver" in each.memory.text.content for each in memory.recall("silver kettle"))
    assert memory.status().counts.unembedded == 0


def test_T14_a_turn_is_one_call(memory: Nagori) -> None:
    memory.remember("The staging server listens on port 8443.")
    with memory.turn("Which port does the staging server listen on?", session="s") as turn:
        assert "8443" in turn.context.text
        turn.answer("It listens on 8443.")
    assert memory.process() == 0
    assert len(memory.working_memory("s").turns) == 2


def test_T15_langgraph_keeps_working_memory_in_its_state(memory: Nagori) -> None:
    memory.remember("The staging server listens on port 8443.")
    config = {"configurable": {"thread_id": "t1"}}
    said = [SimpleNamespace(type="human", content="Which port does staging listen on?", id="m1")]
    state = recall_node(memory)({"messages": said}, config)
    assert "8443" in state["memory_context"]
    said.append(SimpleNamespace(type="ai", content="It listens on 8443.", id="m2"))
    state |= record_node(memory)({"messages": said}, config)
    assert state["working_memory"]["character_turns"] == {"user": 1, "assistant": 1}


def test_every_row_has_a_test() -> None:
    rows = {match[1] for name in globals() if (match := re.match(r"test_(T\d+)_", name))}
    assert rows == {f"T{n}" for n in range(1, 16)}
