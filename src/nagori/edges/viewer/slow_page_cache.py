"""Pages that take long on a large memory: computed beside the requests, kept while they hold.

A request gets the answer of the last time at once. If something happened since, a thread computes a new one,
and the page asks again until it is there. So no request waits for a pass over everything.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import date
from itertools import islice
from typing import Any

from nagori.app import Nagori
from nagori.edges.locale import Translator
from nagori.edges.viewer.page_data import Fields
from nagori.runtime import Progress

Version = tuple[int, date, int, int]  # the last event; the day, the hour and the tenth of minutes
Compute = Callable[[Nagori, Translator, Fields, Progress], dict[str, Any]]

MOST_KEPT = 100  # answers, for all callers
PATIENCE = 0.4  # seconds that a request waits for a first answer
GLANCE = 0.05  # seconds that it waits for a new one when there is an old one
REST = 20  # an answer is used at least so many times as long as it took to compute
GIVE_WAY = 0.005  # seconds of rest at each step of the work
MINUTES = 10  # an answer that depends on the time is computed again after these
# After these an old answer may show what is gone, corrected or private by now: nobody gets it any more.
TAKES_AWAY = frozenset({"forgotten", "deleted", "purged", "redacted", "erased", "edited", "undone", "linked"})
MOST_READ = 500  # events since an answer; after more of them it counts as outdated, too


class BackgroundPage:
    """A page of the viewer whose answers are computed by a thread of their own, one at a time.

    An answer says whether it is `fresh`. One that is not holds what was computed before, if anything, and
    the `share` of the work that is done. With the field `wait` the request waits for a fresh one."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        self._tasks: OrderedDict[object, _Task] = OrderedDict()
        self._lock, self._working = threading.Lock(), threading.Lock()

    def __call__(self, memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
        wait = bool(fields.get("wait"))
        asked = {name: value for name, value in fields.items() if name != "wait"}
        version = _version(memory)
        task = self._find_task(memory, translator, asked, version, wait)
        task.done.wait(None if wait else GLANCE if task.answer else PATIENCE)
        if task.fault is not None:
            raise task.fault
        return {**(task.answer or {}), "fresh": task.done.is_set(), "share": task.share}

    def _find_task(
        self, memory: Nagori, translator: Translator, fields: Fields, version: Version, wait: bool
    ) -> _Task:
        """The answer that is there or under way, or else a new one."""
        key = (memory.scope, translator.language, tuple(sorted((k, str(v)) for k, v in fields.items())))
        with self._lock:
            task = self._tasks.get(key)
            if task is not None and task.version != version and _took_away(memory, task.version[0]):
                task = None
            if task is None or task.is_stale(version, wait):
                task = self._tasks[key] = _Task(version, task.answer if task else None)
                work = (task, memory, translator, fields)
                threading.Thread(target=self._work, args=work, daemon=True).start()
            self._tasks.move_to_end(key)
            while len(self._tasks) > MOST_KEPT:
                self._tasks.popitem(last=False)
        return task

    def _work(self, task: _Task, memory: Nagori, translator: Translator, fields: Fields) -> None:
        with self._working:
            started = time.monotonic()
            try:
                task.answer = self._compute(memory, translator, fields, task.note)
            except Exception as fault:  # told to whoever asked, like that of any page
                task.fault = fault
            finally:
                ended = time.monotonic()
                task.rests_until = ended + REST * (ended - started)
                task.done.set()


class _Task:
    """An answer that is being computed, or was. `answer` is that of the last time until then."""

    def __init__(self, version: Version, answer: dict[str, Any] | None) -> None:
        self.version, self.answer = version, answer
        self.share, self.rests_until = 0.0, 0.0
        self.fault: Exception | None = None
        self.done = threading.Event()

    def is_stale(self, version: Version, now: bool) -> bool:
        """Whether it has to be computed again: with `now` as soon as something happened, else not before it
        has rested."""
        if not self.done.is_set():
            return False
        rested = now or time.monotonic() >= self.rests_until
        return self.fault is not None or (version != self.version and rested)

    def note(self, done: int, total: int) -> None:
        """Keep the share that is done, and let requests go first: threads of Python take turns."""
        self.share = done / max(1, total)
        time.sleep(GIVE_WAY)


def _took_away(memory: Nagori, seq: int) -> bool:
    """Whether something was taken away after the event with this number."""
    newer = memory.runtime.journal.read(memory.scope.owner, seq)
    events = list(islice(newer, MOST_READ))
    gone = memory.runtime.journal.last_seq(memory.scope.owner) < seq  # all of it was erased
    return gone or len(events) == MOST_READ or any(event.type in TAKES_AWAY for event in events)


def _version(memory: Nagori) -> Version:
    """What an answer depends on: the events so far and, roughly, the time."""
    clock = memory.runtime.clock
    now = clock.now().astimezone(clock.zone)
    return (memory.runtime.journal.last_seq(memory.scope.owner), now.date(), now.hour, now.minute // MINUTES)
