"""Experiments on models: what a scripted server or program is asked, and what becomes of its answers."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from tests.models import judging, shortening
from tests.scripted import Batches, Json, Request
from tests.settings.lab import LESS, MORE, SERVER, Experiment, Lab, family, from_to

from nagori import Category, Emotion, Kind, Level, Nagori, Turn
from nagori.adapters.embed.openai import open_openai
from nagori.app import AUTO
from nagori.errors import ModelError

# --- embedding ------------------------------------------------------------------------------------


def embed(lab: Lab) -> list[Request]:
    """The requests for vectors when a memory is stored and recalled."""
    server = lab.serve()
    memory = lab.open(embedder=AUTO)
    memory.remember("The kettle is green.")
    memory.recall("green kettle")
    return server.requests


def embedded_texts(lab: Lab) -> list[str]:
    return [text for request in embed(lab) for text in request.body["input"] if "kettle" in text]


def field_of_vectors(name: str) -> Callable[[Lab], Any]:
    return lambda lab: embed(lab)[-1].body.get(name)


def key_of_vectors(lab: Lab) -> str | None:
    lab.patch.setenv("MY_KEY", "sk-mine")
    return embed(lab)[-1].headers.get("authorization")


def paid_vectors(lab: Lab) -> int:
    """How many requests go to a server that is paid for."""
    sent: list[str] = []

    def post(url: str, body: Json, headers: object, **_: object) -> Json:
        sent.append(url)
        rows = [{"index": at, "embedding": [1.0, 0.5]} for at in range(len(body["input"]))]
        return {"data": rows, "model": body["model"], "usage": {"total_tokens": 9}}

    lab.patch.setenv("OPENAI_API_KEY", "sk-mine")
    lab.folder.mkdir()
    embedder = open_openai(lab.config.embedding, folder=lab.folder, post=post)
    assert embedder is not None
    with suppress(ModelError):
        embedder.embed_passages(["The kettle is green."])
    return len(sent)


OPENAI = {"embedding.provider": "openai", "embedding.base_url": f"{SERVER}/v1"}
PLAIN = ["The kettle is green.", "green kettle"]
EMBEDDING = [
    Experiment(
        "embedding.provider",
        "openai",
        lambda lab: len(embed(lab)),
        lambda usual, other: usual == 0 < other,
        {"embedding.base_url": f"{SERVER}/v1"},
    ),
    Experiment(
        "embedding.base_url",
        f"{SERVER}/v1",
        lambda lab: len(embed(lab)),
        lambda usual, other: usual == 0 < other,
        {"embedding.provider": "openai"},
    ),
    Experiment(
        "embedding.model",
        "mine",
        field_of_vectors("model"),
        from_to("text-embedding-3-small", "mine"),
        OPENAI,
    ),
    Experiment("embedding.dimensions", 8, field_of_vectors("dimensions"), from_to(None, 8), OPENAI),
    Experiment("embedding.key_env", "MY_KEY", key_of_vectors, from_to(None, "Bearer sk-mine"), OPENAI),
    *family(
        "embedding",
        embedded_texts,
        [
            ("query_prefix", "ask: ", from_to(PLAIN, [PLAIN[0], f"ask: {PLAIN[1]}"])),
            ("passage_prefix", "told: ", from_to(PLAIN, [f"told: {PLAIN[0]}", PLAIN[1]])),
        ],
        OPENAI,
    ),
    Experiment(
        "embedding.daily_cap_usd",
        0.0,
        paid_vectors,
        lambda usual, other: usual > other == 0,
        {"embedding.provider": "openai"},
    ),
]


# --- what a language model is asked ---------------------------------------------------------------


def without(name: str) -> dict[str, Any]:
    """The settings of the scripted model, but for one."""
    return {key: value for key, value in MODEL.items() if key != name}


def tell(memory: Nagori, count: int = 1) -> None:
    """A conversation of so many turns, three days ago."""
    at = memory.runtime.clock.now() - timedelta(days=3)
    memory.form([Turn(f"Turn {n} about soup.", at, session="s", index=n) for n in range(count)])


def appraise(lab: Lab, count: int = 1, *script: str, **more: Any) -> list[Request]:
    """The requests when the model appraises a conversation."""
    server = lab.serve(*script, **{"answer": judging(), **more})
    memory = lab.open(embedder=None, llm=AUTO)
    tell(memory, count)
    memory.appraise()
    return server.requests


def appraisals(count: int = 1, *script: str, **more: Any) -> Callable[[Lab], int]:
    return lambda lab: len(appraise(lab, count, *script, **more))


def field_of_appraisal(name: str) -> Callable[[Lab], Any]:
    return lambda lab: appraise(lab)[-1].body.get(name)


def key_of_appraisal(lab: Lab) -> str | None:
    lab.patch.setenv("MY_KEY", "sk-mine")
    return appraise(lab)[-1].headers.get("authorization")


def started_program(lab: Lab) -> str:
    """Which program is started to appraise."""
    lab.folder.mkdir()
    bin = lab.folder / "bin"
    bin.mkdir()
    for name in ("claude", "my-claude"):
        program = bin / name
        program.write_text(
            f"#!{sys.executable} -SE\nopen({str(lab.folder / 'started')!r}, 'w').write({name!r})"
        )
        program.chmod(0o755)
    lab.patch.setenv("PATH", str(bin))
    memory = lab.open(embedder=None, llm=AUTO)
    tell(memory)
    memory.appraise()
    return (lab.folder / "started").read_text()


def waits_for_answer(lab: Lab) -> int:
    """How many memories are appraised by a server that thinks for a third of a second."""

    def answer(body: Json) -> str:
        threading.Event().wait(0.3)
        return judging()(body)

    lab.serve(answer=answer)
    memory = lab.open(embedder=None, llm=AUTO)
    tell(memory)
    return memory.appraise().judged


def batch_requests(lab: Lab) -> bool:
    requests = appraise(lab, batches=Batches())
    return any("/batches" in request.path for request in requests)


def expanded_queries(lab: Lab) -> int:
    """Requests during a recall."""
    server = lab.serve(answer=lambda body: json.dumps({"words": ["pot"]}))
    memory = lab.open(embedder=None, llm=AUTO)
    memory.remember("The kettle is green.")
    memory.recall("green kettle")
    return len(server.requests)


def spend_of_day(lab: Lab) -> float:
    server = lab.serve(answer=judging())
    memory = lab.open(embedder=None, llm=AUTO)
    tell(memory)
    memory.appraise()
    assert server.requests
    return memory.status().spent


MODEL = {
    "llm.provider": "openai",
    "llm.base_url": f"{SERVER}/v1",
    "llm.max_attempts": 1,
    "llm.timeout_seconds": 20.0,
}
PRICED = {**MODEL, "llm.price_in": 10.0, "llm.price_out": 10.0}
ASKED = [
    Experiment("llm.provider", "openai", appraisals(), from_to(0, 1), without("llm.provider")),
    Experiment("llm.model", "mine", field_of_appraisal("model"), from_to("claude-haiku-5-5", "mine"), MODEL),
    Experiment("llm.base_url", f"{SERVER}/v1", appraisals(), from_to(0, 1), without("llm.base_url")),
    Experiment("llm.key_env", "MY_KEY", key_of_appraisal, from_to(None, "Bearer sk-mine"), MODEL),
    Experiment(
        "llm.command",
        "my-claude",
        started_program,
        from_to("claude", "my-claude"),
        {"llm.provider": "claude-cli", "llm.timeout_seconds": 20.0},
    ),
    Experiment("llm.temperature", 0.5, field_of_appraisal("temperature"), from_to(0.0, 0.5), MODEL),
    Experiment("llm.max_tokens", 50, field_of_appraisal("max_tokens"), LESS, MODEL),
    Experiment("llm.timeout_seconds", 0.1, waits_for_answer, from_to(1, 0), without("llm.timeout_seconds")),
    Experiment(
        "llm.max_attempts",
        2,
        appraisals(1, "503 wait", retry_after="0"),
        from_to(3, 2),
        without("llm.max_attempts"),
    ),
    Experiment("llm.memories_per_request", 5, appraisals(20), from_to(1, 4), MODEL),
    Experiment("llm.appraise", False, appraisals(), from_to(1, 0), MODEL),
    Experiment("llm.appraise_days", 1.0, appraisals(), from_to(1, 0), MODEL),
    Experiment("llm.use_batch_api", True, batch_requests, from_to(False, True), MODEL),
    Experiment("llm.expand_queries", True, expanded_queries, from_to(0, 1), MODEL),
    Experiment("llm.daily_cap_usd", 0.0, appraisals(), from_to(1, 0), PRICED),
    Experiment("llm.price_in", 20.0, spend_of_day, MORE, MODEL),
    Experiment("llm.price_out", 20.0, spend_of_day, MORE, MODEL),
]


# --- what becomes of memories ---------------------------------------------------------------------

LONG = (
    "We met at the harbour office in Otaru to talk about the new cold store. Ms Mori wants 14 racks and a"
    " second door to the quay. The electrician, Ken, says that the old fuse box from 1987 cannot carry it. We"
    " decided to order the Hitachi compressor and to pay 2,400,000 yen in three parts. The weather was awful"
    " and the ferry late, so everybody was tired and a little cross. Afterwards there was grilled squid."
)


def compress(lab: Lab, *script: str) -> tuple[int, Level]:
    """Requests during a cycle, and the level of a faint memory after it."""
    server = lab.serve(*script, answer=shortening())
    memory = lab.open(embedder=None, llm=AUTO)
    kept = memory.remember(LONG, kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(40))
    memory.cycle()
    return len(server.requests), memory.show(kept.id).level


COMPRESSED = [
    Experiment("llm.compress", False, lambda lab: compress(lab)[0], from_to(1, 0), MODEL),
    Experiment(
        "llm.fallback_after_cycles",
        0,
        lambda lab: compress(lab, "500")[1],
        from_to(Level.FULL, Level.SUMMARY),
        MODEL,
    ),
]

EXPERIMENTS = [*EMBEDDING, *ASKED, *COMPRESSED]
