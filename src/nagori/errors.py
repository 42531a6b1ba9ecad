"""All errors that nagori raises on purpose, by whose fault it is.

    NagoriError
    ├── InvalidInput        the caller's: a field is wrong (`field` names it)            exit 2
    │   └── InvalidConfig   … in the configuration; lists every fault at once
    ├── NotFound            the caller's: no such memory in this scope                   exit 3
    ├── LimitReached        a limit that only a person can lift (protected memories)     exit 4
    ├── Conflict            the memory was changed meanwhile; read it again              exit 5
    ├── StoreError          the disk's: the store cannot be read or written              exit 6
    │   ├── StoreDamaged    … because its content is damaged
    │   └── SchemaTooNew    … because a newer nagori wrote it
    ├── JournalError        the disk's: the journal cannot be read or written            exit 7
    │   ├── JournalMismatch … it is not the journal that the store was made from
    │   └── JournalTooNew   … because a newer nagori wrote it
    ├── ModelError          a model's or its server's: no answer                         exit 8
    │   └── Unusable        … an unusable answer
    └── MemoryClosed        the caller's: it was closed before                           exit 1

A missing model or library is not an error: the answer is simpler and says so. A ModelError is raised only
where the model itself was requested; elsewhere there is a fallback, and the failure is reported.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_SHOWN = 200  # maximum characters of a wrong value in a message


def short(value: object) -> str:
    """A wrong value in short form, for a message."""
    shown = repr(_presentable(value))
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"


def _presentable(value: object) -> object:
    """The value, unless it cannot be printed: Python refuses numbers with thousands of digits."""
    try:
        repr(value)
    except Exception:  # any object
        return f"a {type(value).__name__}"
    return value


class NagoriError(Exception):
    """Base of all errors raised on purpose.

    `template` and `values` are the two parts of the message, so that it can be translated.
    """

    exit_code = 1

    def __init__(self, template: str, **values: object) -> None:
        self.template = template
        self.values = {name: _presentable(value) for name, value in values.items()}
        super().__init__(template.format(**self.values) if values else template)


class InvalidInput(NagoriError):
    """A value from the caller is wrong; `field` names it."""

    exit_code = 2

    def __init__(self, field: str, problem: str, **values: object) -> None:
        super().__init__(problem, **values)
        self.field = field

    def __str__(self) -> str:
        return f"{self.field}: {super().__str__()}"


class InvalidConfig(InvalidInput):
    """The configuration has faults; all of them are listed."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("config", "; ".join(faults))
        self.faults = tuple(faults)


class NotFound(NagoriError):
    """No memory with this id in this scope."""

    exit_code = 3

    def __init__(self, id: str) -> None:
        super().__init__("no memory {id!r} here", id=id)
        self.id = id


class LimitReached(NagoriError):
    """The limit of protected memories is reached; `candidates` are the ids that could be released, oldest
    first."""

    exit_code = 4

    def __init__(self, limit: int, candidates: Sequence[str]) -> None:
        super().__init__("{limit} memories are protected already; release one first", limit=limit)
        self.limit = limit
        self.candidates = tuple(candidates)


class Conflict(NagoriError):
    """The memory or the journal changed between reading and writing."""

    exit_code = 5


class StoreError(NagoriError):
    """The store cannot be read or written."""

    exit_code = 6


class StoreDamaged(StoreError):
    """The content of the store is damaged; it can be rebuilt from the journal."""


class SchemaTooNew(StoreError):
    """The store was written by a newer nagori; nothing was changed."""


class JournalError(NagoriError):
    """The journal cannot be read or written."""

    exit_code = 7


class JournalMismatch(JournalError):
    """The journal is shorter than the store expects, or another one; nothing was changed."""


class JournalTooNew(JournalError):
    """The journal holds events that this version does not know; nothing was changed."""


class ModelError(NagoriError):
    """A language model or an embedding server did not answer.

    `passing`: trying again later may help. `wait`: how long the server asked us to wait. `unasked`: the
    request never arrived.
    """

    exit_code = 8

    def __init__(
        self,
        template: str,
        *,
        passing: bool = True,
        wait: float | None = None,
        unasked: bool = False,
        **values: object,
    ) -> None:
        super().__init__(template, **values)
        self.passing = passing
        self.wait = wait
        self.unasked = unasked

    @property
    def turned_away(self) -> bool:
        """Whether nothing can have been charged: the request never arrived, or it was refused."""
        return self.unasked or not self.passing or "status" in self.values


class UnusableAnswer(ModelError):
    """A model gave an unusable answer: a refusal, an incomplete answer, a wrong format. Its tokens were
    charged, as many as the server reports."""

    input_tokens = 0
    output_tokens = 0


class MemoryClosed(NagoriError):
    """A verb was called after `close`."""

    def __init__(self) -> None:
        super().__init__("this memory is closed; open it again")
