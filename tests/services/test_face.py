"""The public face: metadata, messages, closing, refusals, settings; sync and async."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import nagori
from nagori import AsyncNagori, Config, Draft, Filter, Nagori, Scope, Window, load_config
from nagori.errors import InvalidConfig, InvalidInput, MemoryClosed, NagoriError
from nagori.messages import find
from nagori.stores.memory import MemoryStore
from nagori.stores.sqlite import SqliteStore
from nagori.testing import FrozenClock, WordEmbedder

NAIVE = datetime(2026, 3, 1)  # noqa: DTZ001
GIVEN = {"ticket": 4711, "urgent": True, "author": "秋", "score": 0.25, "closed": None}


def open_all(folder: Path) -> list[Nagori]:
    """One memory on each store."""
    stores = [SqliteStore(folder / "a.db"), MemoryStore()]
    return [
        Nagori.open(folder / str(n), store=store, embedder=None, clock=FrozenClock())  # type: ignore[arg-type]
        for n, store in enumerate(stores)
    ]


# --- printing


def test_explanation_status_and_cycle_are_readable_when_printed(memory: Nagori) -> None:
    kept = memory.remember("The kettle\x1b[2J leaks.", kind="fact", category="work")
    memory.protect(memory.remember("Tea.").id)
    first, *lines = str(memory.why(kept.id)).splitlines()
    assert first == repr(kept)
    assert "\x1b" not in first
    assert lines[:3] == ["strength 80, full", "intensity 80, work", "strength 80 = 80 × 0.995 ^ 0.0 (days)"]
    assert lines[3].startswith("Importance 0.42: good outcomes 0.50, reuse 0.00")
    assert [line.split(": ")[0] for line in lines[4:7]] == [
        "becomes a summary",
        "becomes a trace",
        "goes to the archive",
    ]
    assert lines[7:] == ["history:", f"  {kept.created:%Y-%m-%d %H:%M}  formed"]
    assert str(memory.status()).splitlines() == [
        "memories: 2 (full 2)",
        "protected: 1",
        "events: 3",
        "embedder: words-64",
        f"folder: {memory.status().data_dir}",
    ]
    assert str(memory.cycle()) == "There is nothing to do."
    memory.recall("tea")
    assert str(memory.cycle()) == "1 steps done, 0 left for the next cycle.\n  reinforce: 1"
    assert "protected. It does not fade" in str(memory.why(memory.list(Filter(protected=True))[0].id))


# --- metadata


def test_metadata_stays_with_its_memory_wherever_that_goes(tmp_path: Path) -> None:
    for memory in open_all(tmp_path):
        kept = memory.remember("tea", metadata=GIVEN)  # type: ignore[arg-type]
        assert kept.metadata == memory.show(kept.id).metadata == GIVEN
        assert [type(kept.metadata[key]) for key in GIVEN] == list(map(type, GIVEN.values()))
        assert memory.recall("tea")[0].to_dict()["memory"]["metadata"] == GIVEN
        memory.rebuild()
        assert memory.show(kept.id).metadata == GIVEN
        lines = list(memory.export())
        other = memory.with_scope(user="other")
        assert other.import_(lines).added == 1
        assert other.list()[0].metadata == GIVEN
        memory.close()


def test_what_a_caller_does_to_a_table_afterwards_changes_nothing(memory: Nagori) -> None:
    given: dict[str, Any] = {"a": 1}
    kept = memory.remember("tea", metadata=given)
    given["a"] = 2
    assert memory.show(kept.id).metadata == {"a": 1}


def test_metadata_can_be_replaced_and_brought_back(tmp_path: Path) -> None:
    for memory in open_all(tmp_path):
        kept = memory.remember("tea", metadata={"a": 1})
        assert memory.edit(kept.id, metadata={"b": 2}).metadata == {"b": 2}
        assert memory.edit(kept.id, content="green tea").metadata == {"b": 2}
        memory.undo(kept.id)
        assert memory.undo(kept.id)[0].metadata == {"a": 1}
        assert memory.edit(kept.id, metadata={}).metadata == {}
        with pytest.raises(InvalidInput, match="nothing to change"):
            memory.edit(kept.id, metadata={})
        memory.close()


def test_secrets_in_metadata_are_removed_like_those_in_text(memory: Nagori, tmp_path: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    kept = memory.remember(
        "the build",
        metadata={
            "note": f"use {key} <private>my diary</private>",
            "password": "Winter2031x",
            "card": 4111111111111111,
            key: "x",
            "count": 12,
        },
    )
    assert kept.metadata == {
        "note": "use [secret:github]",
        "password": "[secret:password]",
        "card": "[secret:card]",
        "[secret:github]": "x",
        "count": 12,
    }
    line = next(line for line in memory.export() if kept.id in line).replace(
        "[secret:password]", "Summer1999y"
    )
    other = memory.with_scope(user="other")
    other.import_([line])
    assert other.list()[0].metadata["password"] == "[secret:password]"
    memory.close()
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (key, "diary", "Winter2031x", "4111111111111111", "Summer1999y"):
        assert secret.encode() not in everything


def test_drafts_carry_metadata_and_bad_ones_are_refused_by_name(memory: Nagori) -> None:
    [kept] = memory.remember_many([Draft("tea", metadata={"a": 1})])
    assert kept.metadata == {"a": 1}
    with pytest.raises(InvalidInput, match=r"metadata\.a: list"):
        memory.remember("coffee", metadata={"a": []})  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match="metadata: str is not a table"):
        memory.edit(kept.id, metadata="a")  # type: ignore[arg-type]


# --- messages


MESSAGES = [
    {"role": "system", "content": "You are kind."},
    {"role": "user", "content": "My cat is called Tama.", "name": "Aki"},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "assistant", "content": [{"type": "text", "text": "Tama is a lovely name for a cat."}]},
    {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {}},
            "I moved to Kyoto.",
            {"type": "text", "text": "In May."},
        ],
    },
]


def test_messages_of_a_chat_become_memories(memory: Nagori, clock: FrozenClock) -> None:
    kept = memory.form(MESSAGES, session="chat")  # type: ignore[arg-type]
    assert [(m.text.content, str(m.trust), m.source.turn) for m in kept] == [
        ("My cat is called Tama.", "user", 1),
        ("Tama is a lovely name for a cat.", "assistant", 3),
        ("I moved to Kyoto.\nIn May.", "user", 4),
    ]
    assert kept[0].source.speaker == "Aki"
    assert kept[0].created == clock.now()


def test_a_chat_told_again_and_longer_adds_only_what_is_new(memory: Nagori, clock: FrozenClock) -> None:
    memory.form(MESSAGES, session="chat")  # type: ignore[arg-type]
    clock.forward(days=1)
    events = memory.status().events
    memory.form(MESSAGES, session="chat")  # type: ignore[arg-type]
    assert memory.status().events == events
    memory.form([*MESSAGES, {"role": "user", "content": "I like green tea."}], session="chat")  # type: ignore[list-item]
    assert len(memory.list()) == 4
    assert {m.mentions for m in memory.list()} == {1}


def test_a_message_may_say_when_it_was_said(memory: Nagori) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    [kept] = memory.form([{"role": "user", "content": "I like tea.", "at": at}])
    assert kept.created == at
    assert kept.source.session is None


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        (
            [{"role": "wizard", "content": "x"}],
            "role: 'wizard' is not one of user, assistant, tool, import, system",
        ),
        ([{"content": "x"}], "role: None is not one of"),
        ([{"role": ["user"], "content": "x"}], "role: .* is not one of"),
        ([{"role": "user", "content": 7}], "content: int is not a list"),
        ([{"role": "user", "content": [7]}], "content: int is not a part"),
        ([{"role": "user", "content": [{"text": 7}]}], "content.text: int is not a text"),
        ([{"role": "user", "content": "x", "name": 7}], "name: int is not a text"),
        ([{"role": "user", "content": "x", "at": NAIVE}], "at: This is a time without a zone"),
        ({"role": "user", "content": "x"}, "turns: dict is not a list"),
        ("hello", "turns: str is not a list"),
        ([7], "turns: int is neither a Turn nor a message"),
    ],
)
def test_what_is_no_message_is_refused_by_name(memory: Nagori, turns: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        memory.form(turns)


# --- refusals


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.remember("x", keywords="abc"), "keywords: str is not a list"),
        (lambda m: m.remember("x", kind="rumour"), "kind: 'rumour' is not one of episode, fact"),
        (lambda m: m.remember("x", trust="gossip"), "trust: 'gossip' is not one of user, assistant"),
        (lambda m: m.remember("x", created=NAIVE), "created: This is a time without a zone"),
        (lambda m: m.remember("x", protect=1), "protect: 1 is not true or false"),
        (lambda m: m.remember_many("abc"), "drafts: str is not a list"),
        (lambda m: m.remember_many([7]), "drafts: int is not a Draft"),
        (lambda m: m.import_("{}"), "lines: str is not a list"),
        (lambda m: m.import_drafts("x"), "drafts: str is not a list"),
        (lambda m: m.turn("x", session="s", at=NAIVE), "at: This is a time without a zone"),
        (lambda m: m.turn("x", session="s", role="wizard"), "role: 'wizard' is not one of user"),
        (lambda m: m.turn("x", session="s", speaker=7), "speaker: int is not a text"),
        (lambda m: m.context(7), "prompt: int is not a text"),
        (lambda m: m.context("x", session=None), "session: NoneType is not a text"),
        (lambda m: m.recall(7), "query: int is not a text"),
        (lambda m: m.recall("x", 0), "k: It must be at least 1, not 0"),
        (lambda m: m.recall("x", True), "k: True is not a whole number"),
        (lambda m: m.recall("x", tokens=-1), "tokens: It must be at least 0, not -1"),
        (lambda m: m.recall("x", min_confidence=2), "min_confidence: 2 is not a number from 0 to 1"),
        (lambda m: m.recall("x", min_confidence="high"), "floor: 'high' is not a number"),
        (lambda m: m.recall("x", min_confidence=True), "floor: True is not a number"),
        (lambda m: m.recall("x", mark=None), "mark: None is not true or false"),
        (lambda m: m.recall("x", filter="fact"), "filter: str is not a Filter"),
        (lambda m: m.recall("x", mood="happy"), "mood: str is not a Emotion"),
        (lambda m: m.recall("x", session=7), "session: int is not a text"),
        (lambda m: m.recall("x", ranking="best"), "ranking: 'best' is not one of fused"),
        (lambda m: m.summary(7), "session: int is not a text"),
        (lambda m: m.summary("s", True), "tokens: True is not a whole number"),
        (lambda m: m.list(limit=0), "limit: It must be at least 1, not 0"),
        (lambda m: m.list("fact"), "filter: str is not a Filter"),
        (lambda m: m.list(older_than="mem_a"), "older_than: str is not a Memory"),
        (lambda m: m.as_of(NAIVE), "moment: This is a time without a zone"),
        (lambda m: m.appraise(NAIVE), "since: This is a time without a zone"),
        (lambda m: m.estimate_appraisal(NAIVE), "since: This is a time without a zone"),
        (lambda m: m.edit("mem_a", privacy="mine"), "privacy: 'mine' is not one of private"),
        (lambda m: m.edit("mem_a", content="x", version="1"), "version: '1' is not a whole number"),
        (lambda m: m.feedback("mem_a", "good"), "good: 'good' is not true or false"),
        (lambda m: m.feedback("mem_a", 1), "good: 1 is not true or false"),
        (lambda m: m.protect(m.remember("x").id, "mem_x"), "release: str is not a list"),
        (lambda m: m.prune([], pins="12"), "pins: '12' is not a list of positions"),
        (lambda m: m.prune([], pins=b"12"), "pins: b'12' is not a list of positions"),
        (lambda m: m.prune([], preset="wild"), "'wild' is not one of balanced"),
        (lambda m: m.prune([], window={"gap": 3}), "window: dict is not a Window"),
        (lambda m: m.prune([], remember="yes"), "remember: 'yes' is not true or false"),
        (lambda m: m.export("yaml"), "format: 'yaml' is not one of jsonl, markdown"),
        (lambda m: m.with_scope("aki"), "scope: str is not a Scope"),
        (lambda m: m.with_scope(user=None), "scope.user: None is not a name"),
        (lambda m: m.restore("x", "y", NAIVE), "stamp: This is a time without a zone"),
    ],
)
def test_wrong_arguments_are_refused_by_name(
    memory: Nagori, call: Callable[[Any], object], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        call(memory)
    assert find(caught.value.message_id, "ja")  # it can be said in Japanese


def test_a_misspelt_option_is_python_s_own_error(memory: Nagori) -> None:
    with pytest.raises(TypeError, match="knd"):
        memory.remember("x", knd="fact")  # type: ignore[call-arg]


# --- views, windows


def test_a_view_changes_what_is_given_and_keeps_the_rest(memory: Nagori) -> None:
    there = memory.with_scope(project="garden", agent="a1")
    assert there.with_scope(agent=None).scope == Scope(project="garden")
    assert there.with_scope(Scope(user="aki"), role="cook").scope == Scope(user="aki", role="cook")
    assert there.config is memory.config


def test_the_whole_window_can_be_given(memory: Nagori) -> None:
    said = [{"role": "user", "content": f"On day {n} it rained and nothing grew."} for n in range(80)]
    done = memory.prune(said, window=Window(budget=400), remember=False)
    assert done.plan.tokens <= 400
    smaller = memory.prune(said, window=Window(budget=400), budget=300, remember=False)
    assert smaller.plan.tokens <= 300


# --- closing

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "remember_many": (["x"],),
    "form": ([],),
    "turn": ("x",),
    "feedback": ("mem_a", True),
    "as_of": (datetime(2026, 1, 1, tzinfo=UTC),),
    "prune": ([],),
    "import_": ([],),
    "import_drafts": ([],),
}
NO_MEMORY = {
    "open",
    "folder",
    "restore",
    "load_keys",
    "close",
    "runtime",
    "config",
    "items",
}  # need none, or end it
VERBS = sorted(name for name in vars(Nagori) if not name.startswith("_") and name not in NO_MEMORY)


def arguments(name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    needed = [
        each
        for each in inspect.signature(getattr(Nagori, name)).parameters.values()
        if each.default is each.empty and each.name != "self" and each.kind is not each.KEYWORD_ONLY
    ]
    named = {name: {"session": "s"} for name in ("turn", "record_tools")}
    named |= {name: {"kb": "x"} for name in ("add_knowledge", "remove_knowledge")}
    return ARGUMENTS.get(name, ("x",) * len(needed)), named.get(name, {})


@pytest.mark.parametrize("name", VERBS)
def test_after_closing_every_verb_says_so(memory: Nagori, name: str) -> None:
    memory.close()
    memory.close()
    args, more = arguments(name)
    with pytest.raises(MemoryClosed, match="This memory is closed"):
        getattr(memory, name)(*args, **more)


def test_what_a_memory_gave_out_is_closed_with_it(memory: Nagori) -> None:
    view, talk, turn = (
        memory.with_scope(user="other"),
        memory.conversation(),
        memory.turn("hello", session="s"),
    )
    lines = memory.export()
    memory.close()
    for call in (
        lambda: view.recall("x"),
        lambda: talk.add({"role": "user", "content": "hi"}),
        lambda: talk.recall("x"),
        lambda: turn.answer("hi"),
        lambda: list(lines),
        memory.__enter__,
        lambda: memory.config,
        lambda: memory.items,
    ):
        with pytest.raises(MemoryClosed):
            call()
    assert issubclass(MemoryClosed, NagoriError)


@pytest.mark.parametrize("name", VERBS)
def test_after_closing_every_async_verb_says_so(tmp_path: Path, name: str) -> None:
    async def story() -> None:
        memory = await AsyncNagori.open(tmp_path, embedder=None)
        await memory.close()
        await memory.close()
        args, more = arguments(name)
        with pytest.raises(MemoryClosed, match="This memory is closed"):
            await getattr(memory, name)(*args, **more)
        with pytest.raises(MemoryClosed):
            async with memory:
                pass

    asyncio.run(story())


def test_closing_waits_for_the_verbs_that_were_begun(tmp_path: Path) -> None:
    async def story() -> None:
        async with AsyncNagori.open(tmp_path, embedder=None) as memory:
            texts = [f"The box {n} stands in room {n}." for n in range(20)]
            begun = [asyncio.create_task(memory.remember(text)) for text in texts]
            await asyncio.sleep(0)
        assert len(await asyncio.gather(*begun)) == 20
        async with AsyncNagori.open(tmp_path, embedder=None) as again:
            assert len(await again.list()) == 20

    asyncio.run(story())


def test_who_cancels_is_free_at_once_and_what_was_begun_is_kept(tmp_path: Path) -> None:
    class Slow(WordEmbedder):
        begun, go_on, done = threading.Event(), threading.Event(), threading.Event()

        def embed_passages(self, texts: Any) -> Any:
            self.begun.set()
            self.go_on.wait(20)
            self.done.set()
            return super().embed_passages(texts)

    async def story() -> None:
        async with AsyncNagori.open(tmp_path, embedder=Slow()) as memory:
            task = asyncio.create_task(memory.remember("The kettle is green."))
            await asyncio.to_thread(Slow.begun.wait, 20)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not Slow.done.is_set()
            Slow.go_on.set()
        with Nagori.open(tmp_path, embedder=None) as again:
            assert [m.text.content for m in again.list()] == ["The kettle is green."]

    asyncio.run(story())


def test_a_memory_that_nobody_waits_for_any_more_is_closed(tmp_path: Path) -> None:
    closed, go_on = threading.Event(), threading.Event()

    class Store(MemoryStore):
        def close(self) -> None:
            closed.set()

    class Later(AsyncNagori):
        pass

    def open_later(*args: Any, **more: Any) -> Nagori:
        go_on.wait(20)
        return Nagori.open(*args, **more)

    async def story() -> None:
        opening = Later.open(tmp_path, store=Store(), embedder=None)
        opening._open = lambda: open_later(tmp_path, store=Store(), embedder=None)

        async def wait() -> None:
            await opening

        task = asyncio.create_task(wait())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert await asyncio.to_thread(closed.wait, 20)

    asyncio.run(story())


def test_an_async_memory_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    async def story() -> None:
        with pytest.raises(NagoriError):
            async with AsyncNagori.open(tmp_path / "file" / "below"):
                pass

    asyncio.run(story())


# --- settings


def test_settings_are_changed_in_code_and_checked(tmp_path: Path) -> None:
    config = Config().evolve(
        {"retrieval.top_k": 2, "window.preset": "conservative", "hooks.min_confidence": 0.2}
    )
    assert (config.retrieval.top_k, config.window.budget, config.hooks.min_confidence) == (2, 6000, 0.2)
    assert Config().retrieval.top_k == 5
    assert config.evolve({"retrieval.top_k": 3}).window.budget == 6000
    with pytest.raises(InvalidConfig, match=r"window\.bugdet: no such setting; did you mean window\.budget"):
        config.evolve({"window.bugdet": 1})
    with pytest.raises(InvalidConfig, match=r"retrieval\.top_k: 1\.5 is not a whole number"):
        config.evolve({"retrieval.top_k": 1.5})
    with pytest.raises(InvalidConfig, match=r"retrieval\.top_k: 0 is below 1"):
        config.evolve({"retrieval.top_k": 0})
    with Nagori.open(tmp_path, config=config, embedder=None) as memory:
        memory.remember_many([f"tea of day {n}, with sugar number {n * 7}" for n in range(6)])
        assert len(memory.recall("tea")) == 2


def test_the_settings_of_the_machine_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_RETRIEVAL__TOP_K", "9")
    assert load_config().retrieval.top_k == 9
    assert load_config(changes={"retrieval.top_k": 4}).retrieval.top_k == 4
    (tmp_path / "c.toml").write_text("[hooks]\nmax_memories = 3\n")
    assert load_config(tmp_path / "c.toml").hooks.max_memories == 3


def test_the_package_shows_its_names_and_no_others() -> None:
    assert set(dir(nagori)) == set(nagori.__all__)
    assert all(hasattr(nagori, name) for name in nagori.__all__)
    with pytest.raises(AttributeError, match="Nagoria"):
        nagori.Nagoria  # type: ignore[attr-defined]  # noqa: B018


def test_a_context_is_printed_as_its_text(memory: Nagori) -> None:
    memory.remember("The staging server moved to port 8443.")
    context = memory.context("Where is the staging server?", session="s")
    assert "8443" in str(context)
    assert str(context) == context.text
    assert memory.list(Filter(since=datetime(2020, 1, 1, tzinfo=UTC)))
