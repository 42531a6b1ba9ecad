"""The real model as a server of its own process, and a memory that asks it."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from nagori.app import Nagori
from nagori.config import load
from nagori.config.sections import Llm
from nagori.core.llm import Prompt, Reply
from nagori.core.value_object import replace

from .install import MODEL, NAME, VENV

SECONDS = 120  # until it stands
# Its threads wait for each other actively: on a busy machine one is a dozen times faster than two of two.
THREADS = max(1, (os.cpu_count() or 2) // 2)


@contextmanager
def served(threads: int = THREADS) -> Iterator[str]:
    """The address of the running model; the process is gone afterwards."""
    words = [
        str(VENV / "bin" / "python"),
        str(Path(__file__).with_name("serve.py")),
        str(MODEL),
        str(threads),
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, text=True, **pipes)  # type: ignore[call-overload]
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    try:
        address = process.stdout.readline().strip()
        timer.cancel()
        if not address.startswith("http://127.0.0.1:"):
            raise RuntimeError(f"the model's server did not stand up within {SECONDS} s")
        yield f"{address}/v1"
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def asking(folder: Path, base: str, clock: Any, embedder: Any = None, **more: Any) -> Nagori:
    """A memory whose model is the real one. It is slow, and a busy machine makes it slower."""
    given = {"model": NAME, "key_env": "NO_KEY_HERE", "timeout_seconds": 1800.0, "max_attempts": 1, **more}
    llm = Llm(provider="openai", base_url=base, **given)
    return Nagori.open(folder, config=replace(load(env={}).config, llm=llm), clock=clock, embedder=embedder)


@dataclass
class Heard:
    """What came back to a memory from its model, for counting and for people to look at."""

    replies: list[Reply] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def of(cls, memory: Nagori) -> Heard:
        heard, llm = cls(), memory.runtime.llm
        assert llm is not None
        complete = llm.complete

        def told(prompt: Prompt, schema: Any = None, max_tokens: int = 1024) -> Reply:
            begun = perf_counter()
            try:
                reply = complete(prompt, schema, max_tokens)
            finally:
                heard.seconds += perf_counter() - begun
            heard.replies.append(reply)
            return reply

        llm.complete = told  # type: ignore[method-assign]
        return heard

    @property
    def read(self) -> int:
        return sum(reply.input_tokens for reply in self.replies)

    @property
    def written(self) -> int:
        return sum(reply.output_tokens for reply in self.replies)
