"""Record requests to models and their cost: one private file per day, without memory texts.

    hold     before a request: reserve its maximum cost
    settle   after it: the real cost, or the error

The daily limit is strict: a request that could exceed it is not made. A process that dies in between leaves
its reservation, so the count is never too low. All processes of a machine share the files, under one lock;
days are UTC days.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from nagori.core.value_object import Value, default_factory
from nagori.errors import JournalError, ModelError
from nagori.files import open_private, private_dir, wait_for_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "spend"
LOCK_PATIENCE = 10.0
EMBEDDING = "embedding"
SETTLED_WITHIN = 40  # days: a batch may wait until the next work session
KEPT_DAYS = 400  # more than a year can be reported


class SpendEntry(Value):
    """One request: settled, or still reserved (then `usd` is its maximum cost)."""

    at: datetime
    stage: str
    model: str
    usd: float
    input_tokens: int = 0
    output_tokens: int = 0
    fault: str | None = None  # id of the message; its values may hold anybody's words
    settled: bool = True


class SpendTotal(Value, frozen=False):
    """The total of requests of one kind."""

    questions: int = 0
    faults: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    def add(self, asked: SpendEntry) -> None:
        self.questions += 1
        self.faults += asked.fault is not None
        self.input_tokens += asked.input_tokens
        self.output_tokens += asked.output_tokens
        self.usd += asked.usd


class SpendDay(Value):
    """The requests of a day, by stage and model."""

    day: date
    sums: dict[tuple[str, str], SpendTotal] = default_factory(dict)

    @property
    def usd(self) -> float:
        return sum(each.usd for each in self.sums.values())

    @property
    def questions(self) -> int:
        return sum(each.questions for each in self.sums.values())


class SpendBook:
    """The spend files of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER

    def hold(self, now: datetime, stage: str, model: str, usd: float, cap: float) -> str:
        """Reserve `usd` before a request; ModelError if the daily limit would be exceeded or it cannot be
        written."""
        name = uuid4().hex[:12]
        with self._locked():
            if usd > 0 and usd > self.left(now, stage, cap):
                spent, wait = cap - self.left(now, stage, cap), _until_tomorrow(now)
                raise ModelError("error.daily_cap", spent=spent, cap=cap, wait=wait, unasked=True)
            self._write(now, {"hold": name, "stage": stage, "model": model, "usd": usd})
        return name

    def left(self, now: datetime, stage: str, cap: float) -> float:
        """What may still be spent today."""
        return cap - sum(asked.usd for asked in self.asked(now.date()) if _shares_cap(asked.stage, stage))

    def settle(self, now: datetime, hold: str, asked: SpendEntry) -> None:
        """Settle a reservation; the cost counts for the day of the request. If it cannot be written, the
        reservation stays and the count is too high."""
        told = {"in": asked.input_tokens, "out": asked.output_tokens, "usd": asked.usd, "fault": asked.fault}
        line = {"settles": hold, "stage": asked.stage, "model": asked.model, **told}
        with suppress(ModelError), self._locked():
            days = (now.date() - timedelta(days=back) for back in range(SETTLED_WITHIN))
            self._write(now, line, next((day for day in days if self._has(day, hold)), now.date()))

    def asked(self, day: date) -> list[SpendEntry]:
        """All requests of a day, in order."""
        held: dict[str, SpendEntry] = {}
        for line in self._lines(day):
            try:
                name = line.get("settles") or line["hold"]
                held[name] = SpendEntry(
                    datetime.fromisoformat(line["at"]),
                    str(line["stage"]),
                    str(line["model"]),
                    max(0.0, float(line["usd"])),
                    int(line.get("in", 0)),
                    int(line.get("out", 0)),
                    line.get("fault"),
                    "settles" in line,
                )
            except (KeyError, TypeError, ValueError):
                continue  # a torn line; its reservation still counts
        return list(held.values())

    def days(self, last: date, count: int) -> list[SpendDay]:
        """The days up to `last` with requests, oldest first."""
        found = []
        for back in range(count - 1, -1, -1):
            day = SpendDay(last - timedelta(days=back))
            for asked in self.asked(day.day):
                day.sums.setdefault((asked.stage, asked.model), SpendTotal()).add(asked)
            if day.sums:
                found.append(day)
        return found

    # --- files ------------------------------------------------------------------------------------

    def _path(self, day: date) -> Path:
        return self._folder / f"{day.isoformat()}.jsonl"

    def _has(self, day: date, hold: str) -> bool:
        return any(line.get("hold") == hold for line in self._lines(day))

    def _lines(self, day: date) -> Iterator[dict[str, Any]]:
        try:
            text = self._path(day).read_text("utf-8", "replace")
        except OSError:
            return
        for line in text.splitlines():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value

    def _write(self, now: datetime, line: dict[str, Any], day: date | None = None) -> None:
        path = self._path(day or now.date())
        if not path.exists():
            self._sweep(now.date())
        descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            # Start on a new line, in case a crash left an unfinished one.
            os.write(descriptor, b"\n" + json.dumps({"at": now.isoformat(), **line}).encode() + b"\n")
        finally:
            os.close(descriptor)

    def _sweep(self, today: date) -> None:
        oldest = (today - timedelta(days=KEPT_DAYS)).isoformat()
        for path in self._folder.glob("????-??-??.jsonl"):
            if path.stem < oldest:
                path.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            private_dir(self._folder)
            descriptor = open_private(self._folder / "lock", os.O_RDWR | os.O_CREAT)
            try:
                wait_for_lock(descriptor, LOCK_PATIENCE)
                yield
            finally:
                os.close(descriptor)
        except (OSError, JournalError) as fault:
            told = "error.spend_unwritable"
            raise ModelError(told, reason=getattr(fault, "strerror", None) or fault, unasked=True) from None


def _shares_cap(one: str, other: str) -> bool:
    """Whether two stages share a limit. Embeddings have their own, so that a busy language model does not
    affect search."""
    return (one == EMBEDDING) == (other == EMBEDDING)


def _until_tomorrow(now: datetime) -> float:
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - now).total_seconds()
