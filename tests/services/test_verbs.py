"""What each verb does, through the public API."""

# mypy: disable-error-code="arg-type,attr-defined"
# Because words stand for members of enums, options are passed on as a dict, parts of modules are replaced.

import math
import os
import stat
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori import (
    AsyncNagori,
    Category,
    Draft,
    Emotion,
    Filter,
    Kind,
    Level,
    Nagori,
    Privacy,
    Scope,
    Source,
    Turn,
)
from nagori.config import load
from nagori.errors import (
    Conflict,
    InvalidInput,
    JournalError,
    LimitReached,
    NotFound,
    Notice,
    SchemaTooNew,
    StoreError,
)
from nagori.stores.memory import MemoryStore
from nagori.testing import FailingPart, FrozenClock, WordEmbedder

# remember


def test_a_memory_is_kept_with_all_it_was_told(memory: Nagori, clock: FrozenClock) -> None:
    born = datetime(2026, 3, 1, 12, tzinfo=UTC)
    kept = memory.with_scope(project="p").remember(
        "リリースは来週の火曜です。",
        trigger="いつ出すの？",
        kind=Kind.DECISION,
        category=Category.DECISION,
        emotion=Emotion(50, "positive", 40, ("hope",)),
        created=born,
        source=Source("s1", 3, "Aki"),
        keywords=("launch",),
    )
    assert memory.show(kept.id) == kept
    assert kept.created == kept.anchor == born
    assert kept.coefficient == pytest.approx(0.93 + 0.04 * 0.5)
    assert kept.project == "p"
    assert memory.recall("launch")[0].terms["words"] == 1


def test_saying_it_again_is_one_memory_mentioned_twice(memory: Nagori) -> None:
    first, second = memory.remember("I like tea."), memory.remember("I like tea.")
    assert first.id == second.id
    assert second.mentions == 2
    assert memory.status().counts.total == 1


def test_saying_it_again_brings_back_what_was_forgotten(memory: Nagori) -> None:
    kept = memory.remember("I like tea.")
    memory.forget(kept.id)
    assert not memory.remember("I like tea.").is_forgotten


def test_the_same_words_in_two_projects_or_sessions_are_two_memories(memory: Nagori) -> None:
    memory.with_scope(project="p").remember("ok")
    memory.with_scope(project="q").remember("ok")
    memory.remember("ok", source=Source(session="s1", turn=1))
    memory.remember("ok", source=Source(session="s1", turn=2))
    assert memory.status().counts.total == 4


def test_remembering_an_edited_text_again_does_not_touch_the_edited_one(memory: Nagori) -> None:
    kept = memory.remember("The code is blue.")
    memory.edit(kept.id, content="The code is red.")
    again = memory.remember("The code is blue.")
    assert again.id != kept.id
    assert memory.show(kept.id).text.content == "The code is red."


def test_many_are_kept_in_one_go(memory: Nagori) -> None:
    seen: list[tuple[int, int]] = []
    kept = memory.remember_many([f"thing {n}" for n in range(1200)], lambda *at: seen.append(at))
    assert len({m.id for m in kept}) == 1200
    assert seen == [(500, 1200), (1000, 1200), (1200, 1200)]
    assert memory.status().counts.total == 1200


def test_private_passages_and_secrets_never_reach_the_disk(memory: Nagori, tmp_path: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    kept = memory.remember(f"the token is {key} <private>my diary</private> and more")
    assert "diary" not in kept.text.content
    memory.close()
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert key.encode() not in everything
    assert b"diary" not in everything


def test_files_are_private(memory: Nagori) -> None:
    memory.remember("x")
    for path in [memory.runtime.data_dir, *memory.runtime.data_dir.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


# bad input


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \n\t　", "empty"),
        ("\x00\x07", "Nothing is left"),
        ("\u202e\u200b", "Nothing is left"),
        ("<private>all of it</private>", "Nothing is left"),
        ("x" * 10_000_000, "10,000,000 characters"),
        (None, "not a text"),
        (b"bytes", "not a text"),
        (42, "not a text"),
    ],
)
def test_bad_text_is_refused_by_name_and_nothing_is_written(
    memory: Nagori, text: object, problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        memory.remember(text)  # type: ignore[arg-type]
    assert caught.value.field == "content"
    assert memory.status().events == 0


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"created": datetime(2026, 1, 1)}, "created"),  # noqa: DTZ001 - naive on purpose
        ({"created": "yesterday"}, "created"),
        ({"kind": "rumour"}, "kind"),
        ({"category": "gossip"}, "category"),
        ({"privacy": "mine"}, "privacy"),
        ({"emotion": "happy"}, "emotion"),
        ({"source": "s1"}, "source"),
    ],
)
def test_bad_fields_are_refused_by_name(memory: Nagori, more: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.remember("text", **more)
    assert caught.value.field == field
    assert memory.status().events == 0


@pytest.mark.parametrize("value", [-1, 101, math.nan, "high", True, None])
def test_an_intensity_outside_0_to_100_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"emotion\.intensity"):
        Emotion(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "  ", "a\x00b", "\ud800", "x" * 257, None, 7])
def test_a_bad_user_name_is_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match=r"scope\.user"):
        Scope(user=name)  # type: ignore[arg-type]


@pytest.mark.parametrize("id", ["nobody", "mem_", "", "%", "mem_%", "' OR 1=1 --", "\x00", None])
def test_unknown_ids_are_not_found(memory: Nagori, id: str) -> None:
    memory.remember("x")
    for verb in (memory.show, memory.forget, memory.undo, memory.why, memory.protect, memory.unprotect):
        with pytest.raises((NotFound, InvalidInput)):
            verb(id)


def test_a_prefix_of_an_id_that_is_too_short_is_refused_as_such(memory: Nagori) -> None:
    kept = memory.remember("The staging server moved to port 8443.")
    for length in (1, 5):
        with pytest.raises(InvalidInput, match="at least 6 characters"):
            memory.show(kept.id[:length])
    assert memory.show(kept.id[:6]).id == kept.id
    with pytest.raises(NotFound):
        memory.show("nope")


def test_a_prefix_that_fits_several_memories_is_refused_as_such(memory: Nagori) -> None:
    kept = memory.remember_many([f"Fact number {n}." for n in range(1100)])  # 1,024 prefixes of six letters
    prefixes = Counter(each.id[:6] for each in kept)
    shared = next(prefix for prefix, n in prefixes.items() if n > 1)
    with pytest.raises(InvalidInput, match=f"(?i)several memories begin with {shared}"):
        memory.show(shared)
    with pytest.raises(NotFound):  # what others have is not told
        memory.with_scope(user="stranger").show(shared)


def test_another_tenants_id_is_not_found_by_any_verb(memory: Nagori) -> None:
    kept = memory.remember("my secret")
    stranger = memory.with_scope(user="stranger")
    for verb in ("show", "forget", "undo", "why", "protect", "unprotect"):
        with pytest.raises(NotFound):
            getattr(stranger, verb)(kept.id)
    with pytest.raises(NotFound):
        stranger.edit(kept.id, content="hijacked")
    assert stranger.recall("secret") == []
    assert list(stranger.export())[1:] == []
    assert memory.show(kept.id) == kept


@examples(150)
@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_is_kept_or_refused_in_words(text: str) -> None:
    store = MemoryStore()
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        memory = Nagori.open(folder, store=store, clock=FrozenClock(), embedder=WordEmbedder())
        try:
            kept = memory.remember(text)
        except InvalidInput:
            assert memory.status().events == 0
            return
        assert memory.show(kept.id) == kept
        before = list(memory.export())
        memory.rebuild()
        assert list(memory.export()) == before


# recall


def test_recall_finds_by_words_and_by_meaning_in_both_languages(memory: Nagori) -> None:
    memory.remember("The staging server is called Heron.")
    memory.remember("来週は京都へ出張です。")
    memory.remember("Lunch was noodles.")
    assert memory.recall("staging server")[0].memory.text.content.startswith("The staging")
    assert memory.recall("京都")[0].memory.text.content.startswith("来週")


def test_recall_only_marks_and_a_look_does_not(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember("The kettle is green.")
    memory.recall("kettle", mark=False)
    assert memory.show(kept.id).recalled_at is None
    clock.forward(days=1)
    memory.recall("kettle")
    marked = memory.show(kept.id)
    assert marked.recalled_at == clock.now()
    assert marked.awaits_reinforcement
    assert (marked.recalls, marked.anchor, marked.version) == (0, kept.anchor, kept.version)


def test_a_forgotten_memory_is_not_recalled(memory: Nagori) -> None:
    kept = memory.remember("The kettle is green.")
    memory.forget(kept.id)
    assert memory.recall("kettle") == []


def test_a_superseded_memory_ranks_below_the_newer_one(memory: Nagori) -> None:
    from nagori.core.events import Event

    old = memory.remember("The door code is 1111 now.")
    new = memory.remember("The door code is 2222 now.")
    event = Event("superseded", memory.runtime.clock.now(), {"by": new.id}, old.id)
    memory.runtime.ledger.write(memory.scope.owner, lambda: [event])
    assert [r.memory.id for r in memory.recall("door code")] == [new.id, old.id]


def test_the_same_question_gives_the_same_order(memory: Nagori) -> None:
    memory.remember_many([f"note {n} about tea" for n in range(50)])
    orders = {tuple(r.memory.id for r in memory.recall("tea", k=20)) for _ in range(3)}
    assert len(orders) == 1


def test_the_priority_ranking_can_be_chosen_by_name(memory: Nagori) -> None:
    strong = memory.remember("tea in the garden", emotion=Emotion(90))
    weak = memory.remember("tea in the kitchen", emotion=Emotion(10))
    found = memory.recall("tea", ranking="priority")
    assert [r.memory.id for r in found] == [strong.id, weak.id]
    assert found[0].score == pytest.approx(90 * found[0].terms["match"], rel=1e-6)


def test_the_score_ranking_can_be_chosen_in_the_configuration(tmp_path: Path) -> None:
    config = load(overrides={"retrieval.ranking": "score"}).config
    clock = FrozenClock()
    with Nagori.open(tmp_path, config=config, clock=clock, embedder=None) as memory:
        kept = memory.remember("tea", emotion=Emotion(50))
        [found] = memory.recall("tea")
        assert found.memory.id == kept.id
        assert found.score == pytest.approx(0.4 * 0.5 + 0.3 * 1 + 0.2 * 0.5)


@pytest.mark.parametrize(
    ("more", "field"),
    [({"k": 0}, "k"), ({"k": "many"}, "k"), ({"k": True}, "k"), ({"ranking": "best"}, "ranking")],
)
def test_bad_questions_are_refused_by_name(memory: Nagori, more: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.recall("tea", **more)  # type: ignore[arg-type]
    assert caught.value.field == field


@pytest.mark.parametrize("query", ["", "   ", "\x00"])
def test_an_empty_question_is_refused(memory: Nagori, query: str) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        memory.recall(query)


def test_a_filter_narrows_a_recall(memory: Nagori) -> None:
    memory.remember("tea one", kind=Kind.LESSON)
    memory.remember("tea two")
    only = memory.recall("tea", filter=Filter(kinds=frozenset({Kind.LESSON})))
    assert [r.memory.text.content for r in only] == ["tea one"]


def test_without_an_embedder_recall_goes_by_words(tmp_path: Path) -> None:
    with Nagori.open(tmp_path, embedder=None) as memory:
        memory.remember("The kettle is green.")
        assert memory.recall("kettle")[0].terms.keys() >= {"words"}
        assert memory.status().embedder is None


def test_a_missing_embedder_package_is_said_and_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr("nagori.adapters.embed.package_folder", lambda name: None)
    with Nagori.open(tmp_path, observe=lambda name, **_: told.append(name)) as memory:
        memory.remember("The kettle is green.")
        assert memory.recall("kettle")
    assert told.count("embedder.missing") == 1


def test_vectors_missing_after_a_time_without_the_model_are_made_later(tmp_path: Path) -> None:
    with Nagori.open(tmp_path, embedder=None) as memory:
        memory.remember_many([f"thing {n}" for n in range(70)])
    with Nagori.open(tmp_path, embedder=WordEmbedder()) as memory:
        assert memory.status().counts.unembedded == 70
        assert memory.embed_missing() == 70
        assert memory.status().counts.unembedded == 0


def test_a_known_text_is_not_embedded_twice(memory: Nagori) -> None:
    embedder = memory.runtime.embedder
    assert isinstance(embedder, WordEmbedder)
    memory.remember("once")
    calls = embedder.calls
    memory.remember("once")
    memory.rebuild()
    memory.embed_missing()
    assert embedder.calls == calls


# change


def test_an_edit_is_found_by_its_new_words_and_undo_by_its_old_ones(memory: Nagori) -> None:
    kept = memory.remember("The kettle is green.")
    memory.edit(kept.id, content="The teapot is blue.", kind=Kind.LESSON)
    assert memory.recall("teapot")[0].terms["words"] > 0
    assert memory.recall("kettle") == []
    back, what = memory.undo(kept.id)
    assert what == "edited"
    assert (back.text, back.kind) == (kept.text, kept.kind)
    assert memory.recall("kettle")[0].memory.id == kept.id
    assert memory.status().counts.unembedded == 0


def test_changing_the_category_changes_how_fast_it_fades(memory: Nagori) -> None:
    kept = memory.remember("x", kind=Kind.EPISODE, category=Category.CASUAL, emotion=Emotion(50))
    assert memory.edit(kept.id, category=Category.EMOTIONAL).coefficient == pytest.approx(0.9895)


def test_undo_goes_back_step_by_step_and_keeps_what_came_between(memory: Nagori) -> None:
    kept = memory.remember("one")
    memory.edit(kept.id, content="two")
    memory.protect(kept.id)
    memory.recall("two")
    memory.forget(kept.id)
    assert [memory.undo(kept.id)[1] for _ in range(3)] == ["forgotten", "protected", "edited"]
    back = memory.show(kept.id)
    assert (back.text.content, back.protected, back.is_forgotten) == ("one", False, False)
    assert back.recalled_at is not None
    with pytest.raises(InvalidInput, match="nothing to undo"):  # that it was formed is not undone by accident
        memory.undo(kept.id)
    assert not memory.show(kept.id).is_forgotten


def test_there_is_an_end_to_undoing(memory: Nagori) -> None:
    with pytest.raises(InvalidInput, match="nothing to change"):
        memory.edit(memory.remember("x").id)


def test_an_edit_keeps_the_callers_keywords_and_drops_words_that_were_edited_out(memory: Nagori) -> None:
    kept = memory.remember("Alice paints the shed green.", keywords=("Alice", "shed", "household"))
    edited = memory.edit(kept.id, content="Somebody paints the SHED green.")
    assert edited.keywords == ("shed", "household")
    assert not any(hit.terms["words"] for hit in memory.recall("Alice"))
    assert memory.recall("household")[0].id == kept.id


def test_two_who_edit_at_once_do_not_overwrite_each_other(memory: Nagori) -> None:
    from nagori.services import edit_feedback_protect_link_forget_undo

    kept = memory.remember("base")
    seen = memory.show(kept.id)
    memory.edit(kept.id, content="first")
    event = edit_feedback_protect_link_forget_undo.Event(
        "edited", memory.runtime.clock.now(), {"text": {"trigger": "", "content": "2nd"}}, kept.id
    )
    with pytest.raises(Conflict):
        edit_feedback_protect_link_forget_undo.change_seen(memory.runtime, memory.scope, seen, event)
    assert memory.show(kept.id).text.content == "first"


def test_editing_everything_away_is_refused(memory: Nagori) -> None:
    kept = memory.remember("x")
    with pytest.raises(InvalidInput, match="No text would be left"):
        memory.edit(kept.id, content="  ")


# protect


def test_the_fifty_first_protected_memory_needs_a_choice(memory: Nagori, clock: FrozenClock) -> None:
    kept = []
    for n in range(50):
        clock.forward(hours=1)
        kept.append(memory.remember(f"dear {n}", protect=True))
    new = memory.remember("dearest")
    with pytest.raises(LimitReached) as full:
        memory.protect(new.id)
    assert full.value.candidates == tuple(m.id for m in kept)
    with pytest.raises(LimitReached):
        memory.remember("also dear", protect=True)
    assert memory.protect(new.id, release=[kept[0].id]).protected
    assert not memory.show(kept[0].id).protected
    assert memory.status().counts.protected == 50


def test_the_limit_counts_all_projects_of_the_user(tmp_path: Path) -> None:
    config = load(overrides={"protection.max_protected_memories": 1}).config
    with Nagori.open(tmp_path, config=config, embedder=None) as memory:
        memory.with_scope(project="p").remember("a", protect=True)
        with pytest.raises(LimitReached):
            memory.with_scope(project="q").remember("b", protect=True)


def test_protecting_twice_is_once(memory: Nagori) -> None:
    kept = memory.remember("x")
    memory.protect(kept.id)
    events = memory.status().events
    memory.protect(kept.id)
    assert memory.status().events == events


# why, status


def test_why_tells_strength_history_and_forecast(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.remember("The kettle is green.", kind=Kind.EPISODE, emotion=Emotion(100))
    clock.forward(days=30)
    told = memory.why(kept.id[:10], "kettle")
    assert told.retention == pytest.approx(100 * 0.995**30)
    assert told.days == pytest.approx(30)
    assert [event.type for event in told.history] == ["formed"]
    assert [level for level, _ in told.forecast] == [Level.SUMMARY, Level.TRACE, Level.ARCHIVED]
    half = kept.created + timedelta(days=math.log(0.5) / math.log(0.995))
    assert abs(told.forecast[0][1] - half) < timedelta(seconds=1)
    assert told.recollection is not None
    assert memory.why(kept.id, "nothing of the sort xyz").memory.recalled_at is None


# export and import


def test_an_export_comes_back_identical_in_another_house(memory: Nagori, tmp_path: Path) -> None:
    kept = memory.remember("dear", protect=True)
    memory.remember_many([f"thing {n}" for n in range(30)])
    memory.recall("thing")
    memory.forget(memory.remember("gone").id)
    from nagori.core.events import Event

    link = Event(
        "linked", memory.runtime.clock.now(), {"target": memory.list()[0].id, "type": "references"}, kept.id
    )
    memory.runtime.ledger.write(memory.scope.owner, lambda: [link])
    lines = list(memory.export())
    with Nagori.open(tmp_path / "other", embedder=WordEmbedder()) as other:
        report = other.import_(lines)
        assert (report.added, report.relations, report.faults) == (32, 1, [])
        assert list(other.export()) == lines
        assert other.import_(lines).known == 32
        assert list(other.export()) == lines


def test_a_bad_line_is_named_and_the_good_ones_are_taken(memory: Nagori, tmp_path: Path) -> None:
    memory.remember_many(["one", "two"])
    header, one, two = memory.export()
    bad = ["not json", "[1]", '{"memory": {}}', one.replace('"full"', '"x"')[:-20], "", "[" * 100_000]
    future = '{"nagori":"export","version":99}'
    with Nagori.open(tmp_path / "other", embedder=None) as other:
        report = other.import_([header, *bad, two, future])
        assert report.added == 1
        assert [str(fault).split(":")[0] for fault in report.faults] == [
            f"line {n}" for n in (2, 3, 4, 5, 7, 9)
        ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", 5),
        ("created", "2026-01-01T00:00:00"),
        ("created", "soon"),
        ("coefficient", "NaN"),
        ("coefficient", 7),
        ("mentions", -1),
        ("protected", "yes"),
        ("kind", "rumour"),
        ("level", 9),
        ("texts", {}),
        ("texts", {"1": "x"}),
        ("texts", {"1": {"trigger": 1, "content": "x"}}),
        ("emotion", {"intensity": 500}),
        ("emotion", {"colour": "red"}),
        ("emotion", "sad"),
        ("keywords", "tea"),
        ("source", {"turn": "first"}),
    ],
)
def test_a_record_with_a_wrong_field_is_refused_by_its_name(
    memory: Nagori, field: str, value: object
) -> None:
    from nagori.core.serialize import from_record, to_record

    record = to_record(memory.remember("x")) | {field: value}
    with pytest.raises(InvalidInput) as caught:
        from_record(record)
    assert field in caught.value.field


def test_an_import_is_cleaned_like_anything_else(memory: Nagori, tmp_path: Path) -> None:
    memory.remember("PLACEHOLDER")
    key = "ghp_" + "z9Y8" * 9
    lines = [line.replace("PLACEHOLDER", f"{key} <private>x</private> ok") for line in memory.export()]
    with Nagori.open(tmp_path / "other", embedder=None) as other:
        other.import_(lines)
        [taken] = other.list()
    assert key not in taken.text.content
    assert taken.text.content.endswith("ok")


def test_markdown_goes_out_readable_and_notes_come_in(memory: Nagori, tmp_path: Path) -> None:
    memory.remember("I like tea.", trigger="What do you drink?")
    page = list(memory.export("markdown"))
    assert any("What do you drink? → I like tea." in line for line in page)
    notes = ["# Notes", "", "- first note", "* second", "  1. third", "", "A paragraph", "of two lines.", ""]
    with Nagori.open(tmp_path / "other", embedder=None) as other:
        assert other.import_(notes, "markdown").added == 4
        assert {m.text.content for m in other.list()} == {
            "first note",
            "second",
            "third",
            "A paragraph of two lines.",
        }
        assert other.import_(notes, "markdown").known == 4


@pytest.mark.parametrize("verb", ["export", "import_"])
def test_an_unknown_format_is_refused(memory: Nagori, verb: str) -> None:
    with pytest.raises(InvalidInput, match="xml"):
        memory.export("xml") if verb == "export" else memory.import_([], "xml")


# upkeep


def test_rebuilding_gives_a_byte_identical_export(memory: Nagori) -> None:
    for n in range(20):
        memory.remember(f"thing {n}")
    memory.edit(memory.list()[0].id, content="changed")
    memory.forget(memory.list()[1].id)
    memory.with_scope(user="other").remember("not mine")
    before = list(memory.export())
    memory.rebuild()
    assert list(memory.export()) == before
    assert memory.verify().sound
    assert memory.recall("changed")


def test_verify_notices_a_store_that_tells_another_story(memory: Nagori) -> None:
    import apsw

    kept = memory.remember("the truth")
    apsw.Connection(str(memory.runtime.data_dir / "nagori.db")).execute("UPDATE memory SET intensity = 99")
    proof = memory.verify()
    assert proof.differing == [Notice("check.memory_differs", id=kept.id)]
    memory.rebuild()
    assert memory.verify().sound


def test_rebuild_refuses_to_lose_what_damaged_lines_say(memory: Nagori) -> None:
    memory.remember("one")
    memory.remember("two")
    [segment] = memory.runtime.journal.folder(memory.scope.owner).glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"one", b"0ne"))
    with pytest.raises(JournalError, match="damaged"):
        memory.rebuild()
    assert memory.status().counts.total == 2
    assert any(finding.state == "fail" for finding in memory.doctor())
    memory.rebuild(accept_damage=True)
    assert [m.text.content for m in memory.list()] == ["two"]


def test_a_destroyed_store_is_set_aside_and_made_anew(memory: Nagori) -> None:
    memory.remember("precious")
    memory.runtime.store.close()
    database = memory.runtime.data_dir / "nagori.db"
    database.write_bytes(b"this is not a database at all" * 100)
    with pytest.raises(StoreError, match="nagori rebuild"):
        memory.list()
    assert any(finding.advice == "nagori rebuild" for finding in memory.doctor())
    memory.rebuild()
    assert [m.text.content for m in memory.list()] == ["precious"]
    assert list(memory.runtime.data_dir.glob("nagori.db*.damaged-*"))


def test_a_deleted_store_comes_back_by_itself(memory: Nagori) -> None:
    memory.remember("precious")
    memory.runtime.store.close()
    for path in memory.runtime.data_dir.glob("nagori.db*"):
        path.unlink()
    with Nagori.open(memory.runtime.data_dir, embedder=WordEmbedder()) as again:
        assert again.recall("precious")[0].memory.text.content == "precious"


def test_a_newer_store_is_refused_and_left_alone(memory: Nagori) -> None:
    import apsw

    memory.remember("x")
    memory.runtime.store.close()
    path = memory.runtime.data_dir / "nagori.db"
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.close()
    before = path.read_bytes()
    with Nagori.open(memory.runtime.data_dir, embedder=None) as newer:
        with pytest.raises(SchemaTooNew, match="Upgrade"):
            newer.list()
        with pytest.raises(SchemaTooNew):
            newer.rebuild()
    assert path.read_bytes() == before


def test_something_is_remembered_although_the_store_is_destroyed(memory: Nagori) -> None:
    """A broken memory never stops the agent: the journal takes it, a rebuild finds it."""
    memory.remember("before")
    memory.runtime.store.close()
    (memory.runtime.data_dir / "nagori.db").write_bytes(b"garbage" * 500)
    assert memory.remember("meanwhile").text.content == "meanwhile"
    assert memory.remember("before").text.content == "before"
    memory.rebuild()
    assert {(m.text.content, m.mentions) for m in memory.list()} == {("before", 2), ("meanwhile", 1)}


def test_an_event_is_kept_although_the_store_cannot_be_written(tmp_path: Path) -> None:
    told: list[str] = []
    store = MemoryStore()
    memory = Nagori.open(
        tmp_path,
        store=FailingPart(store, "commit", 1, lambda: StoreError("disk full")),  # type: ignore[arg-type]
        embedder=WordEmbedder(),
        observe=lambda name, **_: told.append(name),
    )
    kept = memory.remember("precious")
    assert kept.text.content == "precious"
    assert "store.behind" in told
    assert memory.show(kept.id).text.content == "precious"  # caught up by itself


@pytest.mark.parametrize("method", ["commit", "applied", "get", "vectors.get", "count"])
def test_the_nth_store_failure_never_loses_what_was_acknowledged(tmp_path: Path, method: str) -> None:
    """SQLite's way: fail the 1st, 2nd, 3rd … call until a run finishes clean; then look."""
    for at in range(1, 60):
        store = MemoryStore()
        failing = FailingPart(store, method, at, lambda: StoreError("injected"))
        memory = Nagori.open(tmp_path / str(at), store=failing, embedder=WordEmbedder())  # type: ignore[arg-type]
        acknowledged = []
        for text in ("one", "two", "three"):
            try:
                acknowledged.append(memory.remember(text).text.content)
            except StoreError:
                continue
        clean = Nagori.open(tmp_path / str(at), store=MemoryStore(), embedder=WordEmbedder())
        assert set(acknowledged) <= {m.text.content for m in clean.list()}
        assert clean.verify().sound
        if failing.called < at:
            assert acknowledged == ["one", "two", "three"]
            return
    raise AssertionError("never finished clean")


def in_a_child(act: Callable[[], None]) -> str:
    """What `act` raised, in a process of its own: "" or the error's class and words."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        told = ""
        try:
            act()
        except BaseException as error:
            told = f"{type(error).__name__} {error}"
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        told = answer.read()
    os.waitpid(child, 0)
    return told


def test_a_read_only_folder_is_a_clear_error(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    config = load().config
    with Nagori.open(folder, config=config, embedder=None) as memory:
        kept = memory.remember("before")

    def as_nobody() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        Nagori.open(folder, config=config, embedder=None).remember("x")

    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    tmp_path.chmod(0o755)
    told = in_a_child(as_nobody)
    assert told.startswith(("JournalError", "StoreError")), told
    assert "ermission denied" in told
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    with Nagori.open(folder, embedder=None) as memory:
        assert [m.id for m in memory.list()] == [kept.id]


def test_a_full_disk_is_a_clear_error_and_loses_nothing(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for the full disk: every write beyond it fails."""
    import resource
    import signal

    folder = tmp_path / "data"
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        memory.remember("before")

    def until_full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        with Nagori.open(folder, embedder=WordEmbedder()) as memory:
            for n in range(10_000):
                memory.remember(f"thing {n} " + "x" * 100)
                (tmp_path / "acknowledged").write_text(str(n))

    told = in_a_child(until_full)
    assert told.startswith(("JournalError", "StoreError")), told
    acknowledged = int((tmp_path / "acknowledged").read_text())
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        assert memory.verify().sound
        kept = {m.text.content.split(" x")[0] for m in memory.list(limit=10_000)}
        assert {f"thing {n}" for n in range(acknowledged + 1)} <= kept
        memory.remember("there is room again")


def test_a_folder_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("hello")
    with pytest.raises((StoreError, JournalError, InvalidInput)):
        Nagori.open(tmp_path / "data", embedder=None).remember("x")


def test_the_doctor_finds_a_healthy_house_healthy(memory: Nagori) -> None:
    memory.remember("x")
    assert {finding.state for finding in memory.doctor()} == {"ok"}


def test_the_doctor_sees_open_folders_and_clocks_that_went_back(memory: Nagori, clock: FrozenClock) -> None:
    memory.remember("x")
    memory.runtime.data_dir.chmod(0o755)
    clock.forward(days=-10)
    assert {f.name for f in memory.doctor() if f.state == "warn"} == {"folder", "clock"}


# backup


def test_a_backup_restores_to_the_same_export(memory: Nagori, tmp_path: Path, clock: FrozenClock) -> None:
    memory.remember_many([f"thing {n}" for n in range(30)])
    memory.with_scope(user="other").remember("theirs")
    before = list(memory.export())
    saved = memory.backup(tmp_path / "b.tar")
    assert saved.events == 31
    assert stat.S_IMODE((tmp_path / "b.tar").stat().st_mode) == 0o600
    memory.remember("after the backup")
    memory.runtime.store.close()
    aside = Nagori.restore(tmp_path / "b.tar", memory.runtime.data_dir, clock.now())
    assert aside is not None
    assert aside.is_dir()
    with Nagori.open(memory.runtime.data_dir, embedder=WordEmbedder()) as restored:
        assert list(restored.export()) == before
        assert restored.verify().sound
        assert restored.status().counts.unembedded == 0
        modes = {stat.S_IMODE(p.stat().st_mode) for p in restored.runtime.data_dir.rglob("*") if p.is_file()}
    assert modes == {0o600}


def test_a_backup_taken_while_others_write_is_a_committed_prefix(tmp_path: Path) -> None:
    import threading

    folder = tmp_path / "data"
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        memory.remember("first")
        stop = threading.Event()

        def write() -> None:
            n = 0
            while not stop.is_set():
                memory.remember(f"thing {n}")
                n += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for n in range(5):
                memory.backup(tmp_path / f"{n}.tar")
        finally:
            stop.set()
            writer.join()
        story = list(memory.runtime.journal.read(("local", "me")))
    for n in range(5):
        Nagori.restore(tmp_path / f"{n}.tar", tmp_path / f"restored{n}", datetime.now(UTC))
        with Nagori.open(tmp_path / f"restored{n}", embedder=WordEmbedder()) as restored:
            assert restored.verify().sound
            kept = list(restored.runtime.journal.read(("local", "me")))
            assert kept == story[: len(kept)]
            assert kept


@pytest.mark.parametrize("spot", [0.01, 0.2, 0.5, 0.8])
def test_a_damaged_backup_is_refused_and_nothing_is_touched(
    memory: Nagori, tmp_path: Path, clock: FrozenClock, spot: float
) -> None:
    memory.remember_many([f"thing {n}" for n in range(200)])
    memory.backup(tmp_path / "b.tar")
    data = bytearray((tmp_path / "b.tar").read_bytes())
    data[int(len(data) * spot)] ^= 0xFF
    (tmp_path / "bad.tar").write_bytes(data)
    with pytest.raises(InvalidInput):
        Nagori.restore(tmp_path / "bad.tar", memory.runtime.data_dir, clock.now())
    assert memory.verify().sound
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.tar", "bad.tar", "data"]


@pytest.mark.parametrize("content", [b"", b"not a tar", os.urandom(5000)])
def test_something_else_is_no_backup(tmp_path: Path, clock: FrozenClock, content: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(InvalidInput, match="not a backup"):
        Nagori.restore(tmp_path / "x.tar", tmp_path / "data", clock.now())
    assert not (tmp_path / "data").exists()


def test_a_backup_never_overwrites(memory: Nagori, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_text("mine")
    with pytest.raises(InvalidInput, match="exists"):
        memory.backup(tmp_path / "b.tar")


# agents and async


def test_what_an_agent_keeps_private_only_it_and_the_user_see(memory: Nagori) -> None:
    coder = memory.with_scope(agent="a1", role="coder")
    coder.remember("draft idea", privacy=Privacy.PRIVATE)
    assert coder.recall("draft")
    assert memory.recall("draft")
    assert memory.with_scope(agent="a2", role="coder").recall("draft") == []


def test_every_verb_can_be_awaited(tmp_path: Path) -> None:
    import asyncio

    async def live() -> None:
        async with AsyncNagori.open(tmp_path, embedder=WordEmbedder()) as memory:
            kept = await memory.remember("The kettle is green.")
            found = await asyncio.gather(*(memory.recall("kettle") for _ in range(8)))
            assert all(r[0].memory.id == kept.id for r in found)
            assert len(await memory.export()) == 2
            assert (await memory.with_scope(user="other").recall("kettle")) == []
            with pytest.raises(NotFound):
                await memory.show("nobody")
            with pytest.raises(AttributeError):
                memory.no_such_verb  # noqa: B018

    asyncio.run(live())


def test_drafts_can_be_given_ready_made(memory: Nagori) -> None:
    [kept] = memory.remember_many([Draft("tea", kind=Kind.LESSON)])
    assert kept.kind is Kind.LESSON


# form


def turns(*texts: str, role: str = "user") -> list[Turn]:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    return [
        Turn(text, at + timedelta(minutes=n), "s1", n, "Aki", role)
        for n, text in enumerate(texts)  # type: ignore[arg-type]
    ]


def test_a_conversation_becomes_a_memory_a_turn(memory: Nagori) -> None:
    kept = memory.form(turns("I am allergic to peanuts.", "やった、できた！", "We decided to use SQLite."))
    assert [m.kind for m in kept] == [Kind.FACT, Kind.EPISODE, Kind.DECISION]
    assert kept[1].emotion.valence == "positive"
    assert kept[2].category is Category.DECISION
    assert [(m.source.session, m.source.turn, m.source.speaker) for m in kept] == [
        ("s1", n, "Aki") for n in range(3)
    ]
    assert kept[0].created == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_the_same_conversation_read_again_adds_nothing(memory: Nagori) -> None:
    said = turns("I like tea.", "お茶が好きです。")
    memory.form(said)
    events = memory.status().events
    memory.form(said)
    assert memory.status().events == events
    assert {m.mentions for m in memory.list()} == {1}


def test_a_wish_read_again_is_not_wished_again(memory: Nagori) -> None:
    wish = turns("Please remember this: the spare key is with Aiko.")
    [kept] = memory.form(wish)
    memory.unprotect(kept.id)
    memory.form(wish)
    assert not memory.show(kept.id).protected


def test_a_private_passage_longer_than_a_piece_is_removed_whole(memory: Nagori) -> None:
    secret = " ".join(f"The quiet matter number {n} is nobody's business." for n in range(100))
    memory.form(turns(f"I like tea. <private>{secret}</private> And cake.", "<private>all of it</private>"))
    assert [m.text.content for m in memory.list()] == ["I like tea. And cake."]


def test_a_long_message_is_found_by_its_passage(memory: Nagori) -> None:
    page = "\n".join(f"Paragraph {n} speaks of nothing in particular, at some length." for n in range(60))
    memory.form(turns(page + "\nThe heron nests behind the old mill.", role="assistant"))
    assert len(memory.list()) > 3
    best = memory.recall("Where does the heron nest?")[0].memory
    assert "heron" in best.text.content
    assert len(best.text.content) <= 1040


def test_only_a_user_can_wish_for_protection(memory: Nagori) -> None:
    wish = "Please remember this: the door code is 4711."
    assert memory.form(turns(wish))[0].protected
    tool = Turn(wish + " Always.", datetime(2026, 3, 2, tzinfo=UTC), "s2", 0, None, "tool")  # type: ignore[arg-type]
    assert not memory.form([tool])[0].protected


def test_a_wish_beyond_the_limit_keeps_the_words_and_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    config = load(overrides={"protection.max_protected_memories": 1}).config
    with Nagori.open(
        tmp_path, config=config, embedder=None, observe=lambda name, **_: told.append(name)
    ) as memory:
        memory.remember("dear", protect=True)
        [kept] = memory.form(turns("Don't forget that I park on level 3."))
        assert not kept.protected
        assert "protection.full" in told


def test_the_answer_that_follows_a_matching_question_is_recalled(memory: Nagori) -> None:
    memory.form(
        turns(
            "What did you have for lunch?",
            "Noodles, as usual.",
            "By the way, what is your favourite colour?",
            "Green, it always was.",
            "Nice weather today.",
        )
    )
    found = [r.memory.text.content for r in memory.recall("favourite colour", k=3)]
    assert "Green, it always was." in found
