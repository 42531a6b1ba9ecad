"""Embeddings from OpenAI or any compatible server (Ollama, vLLM, LM Studio, LiteLLM, …).

The key comes from the variable named by `embedding.key_env`, or from the system's keyring under the same
name; never from the configuration file. A server on this machine needs none. Memory texts leave the machine,
so this is used only if it is configured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nagori.adapters.credentials import key_from
from nagori.adapters.deadline_connection import LOOPBACK
from nagori.adapters.embed.calibrated import CalibratedEmbedder, Rows
from nagori.adapters.http import post_json
from nagori.config.sections import Embedding
from nagori.core.cost_estimate import Tokens, price_of, prices
from nagori.core.value_object import no_observer
from nagori.errors import ModelError
from nagori.language.passages import about_tokens
from nagori.runtime import SystemClock
from nagori.spend import EMBEDDING, SpendBook, SpendEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Observer

PATIENCE = {"timeout": 60.0, "tries": 4}  # for memories, in the background
IMPATIENCE = {"timeout": 10.0, "tries": 2}  # for a query
OWN_HOST = "api.openai.com"


def open_openai(
    wanted: Embedding,
    observe: Observer = no_observer,
    folder: Path | None = None,
    post: Callable[..., Any] = post_json,
) -> CalibratedEmbedder | None:
    """The embedder, or None where its key is missing."""
    host = _host(wanted.base_url)
    key = key_from(wanted.key_env)
    if not key and host not in LOOPBACK:
        observe("embedder.keyless", variable=wanted.key_env)
        return None
    url = wanted.base_url.rstrip("/") + "/embeddings"
    headers = {"authorization": f"Bearer {key}"} if key else {}

    def encode(texts: Sequence[str], asking: bool) -> Rows:
        body: dict[str, Any] = {"model": wanted.chosen, "input": list(texts), "encoding_format": "float"}
        if wanted.dimensions:
            body["dimensions"] = wanted.dimensions
        plain = url.startswith("http:")  # configured explicitly
        how = {"plain": plain, **(IMPATIENCE if asking else PATIENCE)}
        answer = _ask_within_cap(wanted, folder, host, texts, lambda: post(url, body, headers, **how))
        return _rows(answer, host)

    return CalibratedEmbedder("openai", wanted, folder, encode, "" if host == OWN_HOST else f"@{host}")


def _ask_within_cap(
    wanted: Embedding, folder: Path | None, host: str, texts: Sequence[str], ask: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Requests count in the same spend files as a language model's. An unknown model is free on this machine,
    and elsewhere costs as much as the most expensive known one."""
    if folder is None or host in LOOPBACK:
        return ask()
    book, clock, model = SpendBook(folder), SystemClock(), wanted.chosen
    price = price_of(model) or max((p for p in prices() if p.does == "embedding"), key=lambda p: p.input)
    tokens = sum(map(about_tokens, texts))
    now = clock.now()
    hold = book.hold(now, EMBEDDING, model, price.of(Tokens(tokens, 0)), wanted.daily_cap_usd)
    try:
        answer = ask()
    except ModelError as fault:
        spent = 0.0 if fault.turned_away else price.of(Tokens(tokens, 0))
        book.settle(now, hold, SpendEntry(now, EMBEDDING, model, spent, fault=fault.message_id))
        raise
    usage = answer.get("usage")
    read = usage.get("total_tokens") if isinstance(usage, dict) else None
    read = read if isinstance(read, int) and read >= 0 else tokens
    book.settle(now, hold, SpendEntry(now, EMBEDDING, model, price.of(Tokens(read, 0)), read))
    return answer


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _rows(answer: dict[str, Any], host: str) -> Rows:
    """The vectors in the order of the texts, by `index`: a server may reorder them."""
    strange = ModelError("error.no_embeddings", host=host)
    data = answer.get("data")
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise strange
    placed = {row.get("index", at): row.get("embedding") for at, row in enumerate(data)}
    if placed.keys() != set(range(len(data))) or not all(isinstance(row, list) for row in placed.values()):
        raise strange
    return Rows([placed[at] for at in range(len(data))], str(answer.get("model", "")))
