"""Every error nagori raises on purpose, by whose fault it is.

    NagoriError
    ├── InvalidInput        the caller's: a field is wrong (`field` names it)            exit 2
    │   └── InvalidConfig   … in the configuration; carries every fault at once
    ├── NotFound            the caller's: no such memory in this scope                   exit 3
    ├── LimitReached        a limit that only a person can lift (protected memories)     exit 4
    ├── Conflict            somebody else changed it first; read again and decide        exit 5
    ├── StoreError          the disk's: the store cannot be read or written              exit 6
    │   ├── StoreDamaged    … because its content is damaged
    │   └── SchemaTooNew    … because a newer nagori wrote it
    ├── JournalError        the disk's: the journal cannot be read or written            exit 7
    │   ├── JournalMismatch … it is not the journal that the store was made from
    │   └── JournalTooNew   … because a newer nagori wrote it
    ├── ModelError          a model's or its server's: no answer                         exit 8
    │   └── UnusableAnswer  … an answer, but none to be used
    └── MemoryClosed        the caller's: it was closed before                           exit 1

A missing model or library is no error: the answer gets plainer and says so. A ModelError reaches a person
only where the model itself was asked for; elsewhere there is another way, and what failed is told.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_SHOWN = 200  # characters of a wrong value in a message


def short(value: object) -> str:
    """A wrong value as a message shows it, whatever it is."""
    shown = repr(_presentable(value))
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"


def _presentable(value: object) -> object:
    """The value, unless it cannot be written out: Python refuses to for numbers of thousands of digits."""
    try:
        repr(value)
    except Exception:  # anybody's object
        return f"a {type(value).__name__}"
    return value


class NagoriError(Exception):
    """Base of all errors raised on purpose.

    `template` and `values` are the message in its two parts, so that it can be said in another language.
    """

    exit_code = 1

    def __init__(self, template: str, **values: object) -> None:
        self.template = template
        self.values = {name: _presentable(value) for name, value in values.items()}
        super().__init__(template.format(**self.values) if values else template)


class InvalidInput(NagoriError):
    """A value from the caller is wrong; `field` says which."""

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
    """The protected memories are full; `candidates` are the ids that could be released, oldest first."""

    exit_code = 4

    def __init__(self, limit: int, candidates: Sequence[str]) -> None:
        super().__init__("{limit} memories are protected already; release one first", limit=limit)
        self.limit = limit
        self.candidates = tuple(candidates)


class Conflict(NagoriError):
    """The state moved between reading and writing."""

    exit_code = 5


class StoreError(NagoriError):
    """The store cannot be read or written."""

    exit_code = 6


class StoreDamaged(StoreError):
    """The content of the store is damaged; it can be rebuilt from the journal."""


class SchemaTooNew(StoreError):
    """The store was written by a newer nagori; nothing was touched."""


class JournalError(NagoriError):
    """The journal cannot be read or written."""

    exit_code = 7


class JournalMismatch(JournalError):
    """The journal is shorter than the store knows it, or another one; nothing was touched."""


class JournalTooNew(JournalError):
    """The journal holds events this version does not know; nothing was touched."""


class ModelError(NagoriError):
    """A language model or an embedding server did not answer.

    `passing` says whether asking again later may help; `wait` is how long the server asked us to wait;
    `unasked`: the question never arrived.
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
        """Whether nobody can have been paid: the question never arrived, or a status refused it."""
        return self.unasked or not self.passing or "status" in self.values


class UnusableAnswer(ModelError):
    """A model answered, but with nothing that could be used: a refusal, half an answer, another shape. Its
    tokens were paid for, as many as the server says."""

    input_tokens = 0
    output_tokens = 0


class MemoryClosed(NagoriError):
    """A verb was called after `close`."""

    def __init__(self) -> None:
        super().__init__("this memory is closed; open it again")
