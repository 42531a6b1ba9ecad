"""Public: fakes and contract suites for those who build on nagori or write another engine.

`store_contract`, `vector_contract` and `journal_contract` need pytest; nothing else here does.
"""

from nagori.testing.fakes import FailingPart, FrozenClock, WordEmbedder

__all__ = ["FailingPart", "FrozenClock", "WordEmbedder"]
