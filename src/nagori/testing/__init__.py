"""Public test tools: fakes and contract suites for programs that use nagori and for other engines.

`store_contract`, `vector_contract` and `journal_contract` need pytest; the others do not.
"""

from nagori.testing.fakes import FailingPart, FrozenClock, WordEmbedder

__all__ = ["FailingPart", "FrozenClock", "WordEmbedder"]
