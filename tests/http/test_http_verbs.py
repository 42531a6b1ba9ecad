"""Every verb over HTTP does what it does in the library, told by the client in the same types."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.http.served import ServedMemory

from nagori import Draft, Filter, Nagori, errors
from nagori.core.model import Emotion, Kind
from nagori.edges.http.client import RemoteNagori
from nagori.edges.http.operations import OPERATIONS

WHEN = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ServedMemory(tmp_path_factory.mktemp("served") / "memory") as started:
        yield started


@pytest.fixture
def remote(server, request) -> RemoteNagori:
    return server.client(user=f"user-{abs(hash(request.node.name))}")


@pytest.fixture
def local(server, remote):
    """The library on the same folder, in the same scope."""
    with Nagori.open(server.folder, embedder=None, llm=None) as opened:
        yield opened.with_scope(user=remote._scope["user"])


def test_a_memory_is_the_same_here_and_there(remote, local):
    made = remote.remember(
        "卵アレルギーがある",
        trigger="食事の話",
        kind="fact",
        category="emotional",
        emotion=Emotion(70.0, tags=("anxiety",)),
        keywords=["食物"],
        created=WHEN,
        metadata={"k": 1, "名前": "v"},
    )
    assert made == local.show(made.id) == remote.show(made.id)
    assert remote.list() == local.list()
    assert remote.list(Filter(kinds=frozenset({Kind.SUMMARY}))) == []
    assert remote.list(Filter(since=WHEN, protected=False, archived=True), limit=1) == [made]
    assert remote.list(older_than=made) == []


def test_recall_answers_as_the_library_does(remote, local):
    remote.remember_many(["The staging server moved to port 8443.", Draft("I like green tea.", created=WHEN)])
    asked = {"mark": False, "min_confidence": 0.0}
    there, here = remote.recall("staging server", **asked), local.recall("staging server", **asked)
    assert [each.id for each in there] == [each.id for each in here] != []
    assert there[0].memory == here[0].memory
    assert there[0].confidence == pytest.approx(here[0].confidence)
    one = remote.recall("tea", 1, filter=Filter(until=datetime(2026, 5, 5, tzinfo=UTC)), **asked)
    assert [each.text for each in one] == ["I like green tea."]


def test_changes_over_http(remote, local):
    one = remote.remember("The office is in Kyoto.")
    other = remote.remember("The office has a garden.")
    assert remote.edit(one.id, content="The office is in Osaka.", version=1).text.content.endswith("Osaka.")
    with pytest.raises(errors.Conflict):
        remote.edit(one.id, content="Elsewhere.", version=1)
    assert remote.edit(one.id, project="acme").project == "acme"
    assert remote.edit(one.id, project=None).project is None
    assert remote.protect(one.id).protected
    assert not remote.unprotect(one.id).protected
    assert remote.link(one.id, other.id, "same_topic") in local.why(one.id).relations
    assert [each.memory.id for each in remote.find_related(one.id)] == [other.id]
    assert [str(each.type) for each in remote.unlink(one.id, other.id)] == ["same_topic"]
    assert remote.feedback(other.id, True).recalls >= 0
    assert remote.archive(other.id).is_archived
    assert not remote.unarchive(other.id).is_archived
    assert remote.forget(other.id).is_forgotten
    back, what = remote.undo(other.id)
    assert not back.is_forgotten
    assert what == "forgotten"
    assert local.show(other.id) == back


def test_looking_over_http_tells_what_the_library_tells(remote, local):
    made = remote.remember("The kick-off is on Monday.", created=WHEN)
    there, here = remote.why(made.id, "kick-off"), local.why(made.id, "kick-off")
    assert (there.memory, there.tier, there.rank, there.decided) == (
        here.memory,
        here.tier,
        here.rank,
        here.decided,
    )
    assert there.history == here.history
    assert [level for level, _ in there.forecast] == [level for level, _ in here.forecast]
    assert remote.log() == local.log()
    assert remote.log(made.id, types=["formed"], limit=1) == local.log(made.id, types=["formed"], limit=1)
    assert remote.as_of(datetime(2030, 1, 1, tzinfo=UTC)) == local.as_of(datetime(2030, 1, 1, tzinfo=UTC))
    assert remote.populations(2, 3) == local.populations(2, 3)
    assert remote.measure() == local.measure()
    assert remote.usage() == local.usage()
    assert remote.status().counts == local.status().counts
    assert remote.status().data_dir == Path(), "where the server keeps its files is no caller's business"


def test_a_conversation_over_http(remote, local):
    turn = remote.turn("My dentist is Dr. Sato.", session="s1", ref="t1")
    remote.turn("My dentist is Dr. Sato.", session="s1", ref="t1")
    turn.answer("I will remember that.")
    assert remote.process() == 2
    assert "Sato" in str(
        remote.context("Who is my dentist?", session="s2", mark=False) or remote.list()[-1].text
    )
    assert remote.session_start("s3", mark=False) == local.session_start("s3", mark=False)
    formed = remote.form(
        [{"role": "user", "content": [{"type": "text", "text": "I moved to Nara."}]}], session="s4"
    )
    assert formed == local.list(Filter(session="s4"))
    assert isinstance(remote.summary("s1"), str)
    assert remote.threads("s1") == local.threads("s1") != []
    assert remote.sessions() == local.sessions() != []
    assert remote.working_memory("s1") == local.working_memory("s1")
    assert remote.profile().topics == local.profile().topics
    asked = "Who is my dentist?"
    for prompt in (asked, "What did I say about my dentist yesterday?"):
        there, here = (each.explain_context(prompt, session="s9") for each in (remote, local))
        assert (there.context, there.question, there.time) == (here.context, here.question, here.time)
        told = [(each.memory, each.outcome, list(each.reasons)) for each in here.candidates]
        assert [(each.memory, each.outcome, list(each.reasons)) for each in there.candidates] == told
    assert remote.full_context(asked, session="s9", mark=False) == local.full_context(
        asked, session="s9", mark=False
    )


def test_the_cycle_over_http(remote, local):
    remote.remember("A thing of the past.", created=datetime(2020, 1, 1, tzinfo=UTC))
    there, here = remote.preview().plan.steps, local.preview().plan.steps
    assert [(step.id, step.act) for step in there] == [(step.id, step.act) for step in here] != []
    assert remote.cycle().done >= 1
    assert remote.preview().plan.steps == []
    assert remote.estimate_appraisal().questions == 0
    assert remote.embed_missing() == 0


def test_export_and_import_over_http(server, remote, local):
    remote.remember("One thing.")
    remote.remember("二つめ")
    lines = [*remote.export()]
    assert lines == [*local.export()]
    assert any("二つめ" in line for line in remote.export("markdown"))
    other = server.client(user="importer")
    assert other.import_(lines).added == 2
    assert other.import_(lines).known == 2


def test_erasing_over_http(server, remote, local):
    made = remote.remember("Something that must go.")
    remote.remember("Something that stays.")
    plan = remote.plan_erasure("memory", made.id)
    assert plan.memories == (made.id,)
    receipt = remote.erase(plan)
    assert receipt.clean
    with pytest.raises(errors.NotFound):
        remote.show(made.id)
    with pytest.raises(errors.Conflict):
        remote.plan_erasure("owner", "somebody else")
    assert remote.erase(remote.plan_erasure("owner", local.scope.user)).clean
    with pytest.raises(errors.MemoryErased):
        remote.remember("Too late.")
    remote.reopen()
    assert remote.list() == []


def test_errors_are_those_of_the_library(remote):
    with pytest.raises(errors.NotFound, match="nothing"):
        remote.show("nothing")
    with pytest.raises(errors.InvalidInput) as wrong:
        remote.remember("   ")
    assert wrong.value.field == "body"
    with pytest.raises(errors.StoreError):
        RemoteNagori.open("http://127.0.0.1:1", key="x").list()
    with pytest.raises(errors.InvalidInput):
        RemoteNagori.open("http://memory.example.org", key="x")
    with pytest.raises(errors.NagoriError):
        RemoteNagori.open(remote._connection._at.geturl(), key="wrong").list()


def test_an_agent_without_a_name_sees_what_is_public(remote, local):
    public = remote.remember("The kettle is green.", privacy="public")
    private = remote.remember("The kettle was a present.", privacy="private")
    for memory in (remote, local):
        unnamed = memory.with_scope(unnamed_agent=True)
        assert [each.id for each in unnamed.list()] == [public.id]
        assert {each.id for each in unnamed.with_scope(unnamed_agent=False).list()} == {public.id, private.id}


def test_a_scope_that_a_key_does_not_know_is_refused(remote):
    with pytest.raises(TypeError, match="tennant"):
        remote.with_scope(tennant="x")


def test_every_route_has_a_verb_of_the_client_or_a_reason():
    without = {
        "prune",
        "list_items",
        "put_item",
        "delete_item",
    }  # pruning is local work; rows are for adapters
    missing = {each.name for each in OPERATIONS if not hasattr(RemoteNagori, each.name)}
    assert missing == without


def test_every_verb_of_the_library_has_a_route_or_a_reason():
    verbs = {name for name in vars(Nagori) if not name.startswith("_")}
    whole_folder = {
        "cycle_all",
        "resume_erasures",
        "verify",
        "rebuild",
        "backup",
        "restore",
        "compact",
        "doctor",
    }
    whole_folder |= {"export_log", "query_log", "mirror_graph"}  # files of the machine, other servers
    whole_folder |= {"encryption", "encrypt", "decrypt", "rotate_keys", "save_keys", "load_keys"}
    whole_folder |= {"plan_reembed", "reembed", "drill"}
    # A knowledge base belongs to a tenant, and a key to a user of it.
    whole_tenant = {"add_knowledge", "search_knowledge", "list_knowledge", "remove_knowledge"}
    by_others = {
        "plan": "preview",
        "items": "list_items",
        "import_drafts": "import_",
        "conversation": "prune",
    }
    not_verbs = {"open", "close", "folder", "with_scope", "runtime", "config"}
    routed = {each.name for each in OPERATIONS} | {"export"}
    assert verbs - routed == whole_folder | whole_tenant | by_others.keys() | not_verbs
