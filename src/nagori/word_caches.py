"""Caches of words: a program that stays remembers what it did with words; what is erased leaves them, too."""

from __future__ import annotations

import sys
from functools import lru_cache

_Cached = type(lru_cache(len))


def clear_word_caches() -> None:
    """Empty the caches that hold what users said: those with a limit. The others hold our own tables."""
    for name, module in list(sys.modules.items()):
        if name.startswith("nagori."):
            for each in list(vars(module).values()):
                if isinstance(each, _Cached) and each.cache_parameters()["maxsize"] is not None:
                    each.cache_clear()
