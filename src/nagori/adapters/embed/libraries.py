"""Local embedding models of other packages: `fastembed` and `sentence-transformers`.

The package is imported and its model loaded for the first vector, which takes seconds. The first use may
download the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nagori.adapters.embed.calibrated import CalibratedEmbedder, Rows
from nagori.config.sections import Embedding
from nagori.core.value_object import no_observer
from nagori.errors import ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Observer


def open_fastembed(
    wanted: Embedding, observe: Observer = no_observer, folder: Path | None = None
) -> CalibratedEmbedder | None:
    if not _installed("fastembed", observe):
        return None

    def load() -> Any:
        from fastembed import TextEmbedding  # type: ignore[import-not-found,unused-ignore]

        return TextEmbedding(model_name=wanted.chosen)

    def encode(model: Any, texts: Sequence[str], asking: bool) -> Any:
        return model.query_embed(list(texts)) if asking else model.embed(list(texts))

    return CalibratedEmbedder("fastembed", wanted, folder, _quietly("fastembed", load, encode))


def open_sentence_transformers(
    wanted: Embedding, observe: Observer = no_observer, folder: Path | None = None
) -> CalibratedEmbedder | None:
    if not _installed("sentence_transformers", observe):
        return None

    def load() -> Any:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]

        return SentenceTransformer(wanted.chosen)

    def encode(model: Any, texts: Sequence[str], asking: bool) -> Any:
        return model.encode(list(texts), show_progress_bar=False)

    return CalibratedEmbedder(
        "sentence-transformers", wanted, folder, _quietly("sentence-transformers", load, encode)
    )


def _installed(package: str, observe: Observer) -> bool:
    if find_spec(package) is None:
        observe("embedder.missing", package=package.replace("_", "-"))
        return False
    return True


def _quietly(
    package: str, load: Callable[[], Any], encode: Callable[[Any, Sequence[str], bool], Any]
) -> Callable[[Sequence[str], bool], Rows]:
    """`encode` with a model that is loaded once; errors of the package become ModelError."""
    loaded = cache(load)

    def rows(texts: Sequence[str], asking: bool) -> Rows:
        try:
            return Rows([list(map(float, row)) for row in encode(loaded(), texts, asking)])
        except Exception as trouble:
            reason = f"{type(trouble).__name__}: {trouble}"[:200]
            raise ModelError("error.package_no_vectors", package=package, reason=reason) from trouble

    return rows
