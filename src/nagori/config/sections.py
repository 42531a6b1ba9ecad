"""Sections whose room is not built yet. When it is, a section moves there, beside the formulas it steers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nagori.core.knobs import knob
from nagori.core.values import Value


class General(Value):
    """Language and place."""

    language: str = knob("auto", "of words for people; auto: from the locale", choices=("auto", "ja", "en"))
    data_dir: str = knob("", "folder of memories, absolute or ~/…; empty: the platform's own place")

    def faults(self) -> Iterator[str]:
        """A relative folder would be another one in every project a hook is called from."""
        if self.data_dir and not self.data_dir.startswith("~/") and not Path(self.data_dir).is_absolute():
            yield f"data_dir: {self.data_dir!r} is not absolute"


class Embedding(Value):
    """001 `embedding`, with a default that needs neither key nor network [ruling 37]."""

    provider: str = knob("local", "who makes vectors", choices=("local", "none", "openai"))
    model: str = knob("multilingual-e5-small", "name of the model")
    dimensions: int = knob(384, "length of its vectors", lo=1, hi=65536)


class Llm(Value):
    """001 `llm`, off until asked for [rulings 37, 38]."""

    provider: str = knob(
        "none", "who writes summaries; none: rules do", choices=("none", "anthropic", "openai", "command")
    )
    model: str = knob("claude-haiku-4-5", "name of the model")
    temperature: float = knob(0.0, "0: as repeatable as it gets", lo=0.0, hi=2.0)
    max_tokens: int = knob(1024, "longest answer, in tokens", lo=1, hi=10**6)
    daily_cap_usd: float = knob(
        1.0, "spend no more in a day; about 001's own yearly estimate", lo=0.0, hi=10**6
    )


class Working(Value):
    """002 §3.1: working memory [T1]."""

    turns: int = knob(12, "turns of a thread kept at hand", lo=1, hi=10_000)


class Threads(Value):
    """002 §3.2: where one thread ends and the next begins [T2]."""

    similarity: float = knob(0.75, "a turn less similar than this begins a thread", lo=-1.0, hi=1.0)
    idle_minutes: float = knob(10.0, "a pause as long as this ends one", lo=0.0, hi=10**6)


class Sessions(Value):
    """002 §4: the session tier [T4, ruling 33]."""

    hot_hours: float = knob(24.0, "archived from the cache after", lo=0.0, hi=8760.0)
    keep_hours: float = knob(48.0, "gone from the cache after", lo=0.0, hi=8760.0)
    days: float = knob(30.0, "gone from the session archive after", lo=0.0, hi=36500.0)

    def faults(self) -> Iterator[str]:
        """What leaves the cache must have been archived before."""
        if self.keep_hours < self.hot_hours:
            yield f"keep_hours: {self.keep_hours} is below hot_hours ({self.hot_hours})"


class Privacy(Value):
    """What is removed before anything is stored [ruling 27]."""

    strip_private: bool = knob(True, "drop <private>…</private>")
    redact_secrets: bool = knob(True, "drop keys, tokens and passwords")


class Hooks(Value):
    """What a program that calls us may ask for."""

    enabled: bool = knob(True, "listen to hosts at all; programs that nagori starts itself turn it off")
    worker: bool = knob(True, "start a worker in the background when there is work for it")
    user: str = knob("me", "whose memory a host's conversations go to")
    most: int = knob(6, "at most so many memories for a prompt", lo=0, hi=100)
    floor: float = knob(0.25, "least certainty of what is told unasked", lo=0.0, hi=1.0)
    brief: int = knob(10, "at most so many protected memories when a session starts", lo=0, hi=50)
    brief_tokens: int = knob(600, "at most so many tokens when a session starts", lo=0, hi=10**5)
    before_tool: bool = knob(False, "be called before every tool as well; `nagori init` writes it")
