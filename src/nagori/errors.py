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
    ├── MemoryErased        this owner's memory was erased; writes are refused           exit 9
    ├── EncryptionError     a key is missing or wrong, or a library for it               exit 10
    └── MemoryClosed        the caller's: it was closed before                           exit 1

A missing model or library is not an error: the answer is simpler and says so. A ModelError is raised only
where the model itself was requested; elsewhere there is a fallback, and the failure is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 2**63  # of a whole number in a record
LONGEST = 1000  # characters of a text in a record
DEEPEST = 4  # messages within messages in a record


class Notice:
    """A message that is not said yet: its id in the catalogues (`locale/*.toml`) and the values of its words.

    This is what is stored and logged. `str()` says it in English, `in_language` in another language.
    """

    __slots__ = ("id", "values")

    def __init__(self, id: str, /, **values: object) -> None:
        self.id = id
        self.values: Mapping[str, object] = values

    def in_language(self, language: str) -> str:
        """The sentence in a language."""
        from nagori.messages import render

        return render(self.id, self.values, language)

    def to_record(self) -> dict[str, Any]:
        """The message as JSON can hold it."""
        return {"id": self.id, "values": {name: _plain(value) for name, value in self.values.items()}}

    @classmethod
    def from_record(cls, record: object, depth: int = 0) -> Notice:
        """The message of a record. Older versions stored finished sentences: they are shown as they are."""
        if isinstance(record, dict) and isinstance(record.get("id"), str) and depth < DEEPEST:
            values = record.get("values")
            if isinstance(values, dict):
                inner = {str(name): cls._from_plain(value, depth + 1) for name, value in values.items()}
                return cls(record["id"], **inner)
        return cls("text.plain", text=record if isinstance(record, str) else repr(record))

    @classmethod
    def _from_plain(cls, value: object, depth: int) -> object:
        if isinstance(value, list):
            return tuple(cls._from_plain(each, depth) for each in value)
        return cls.from_record(value, depth) if isinstance(value, dict) else value

    def __str__(self) -> str:
        return self.in_language("en")

    def __repr__(self) -> str:
        return f"Notice({self.id!r}, {dict(self.values)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Notice) and (self.id, self.values) == (other.id, other.values)

    def __hash__(self) -> int:
        return hash((self.id, *self.values))


def _plain(value: object) -> Any:
    """A value as JSON can hold it: a number, a short text, another message's record, or several of them."""
    if isinstance(value, tuple | list) and all(isinstance(each, Notice) for each in value):
        return [each.to_record() for each in value]
    if isinstance(value, NagoriError):
        value = value.notice
    if isinstance(value, Notice):
        return value.to_record()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -LARGEST <= value < LARGEST:
        return int(value)
    if isinstance(value, float) and abs(value) < float("inf"):
        return float(value)
    from nagori.messages import short

    text = str.__str__(value) if isinstance(value, str) else short(value)
    return text[:LONGEST].encode("utf-8", "replace").decode()


class NagoriError(Exception):
    """Base of all errors raised on purpose.

    `message_id` names the message in the catalogues and `values` are what its words leave open. `str()` says
    it in English, `in_language` in another language; `notice` is what may be stored and logged.
    """

    exit_code = 1

    def __init__(self, message_id: str, /, **values: object) -> None:
        super().__init__(message_id)
        self.message_id = message_id
        self.values: Mapping[str, object] = values

    @property
    def notice(self) -> Notice:
        """The message without the error around it."""
        return Notice(self.message_id, **self.values)

    def in_language(self, language: str) -> str:
        """The sentence in a language."""
        return self.notice.in_language(language)

    def __str__(self) -> str:
        return self.in_language("en")


class InvalidInput(NagoriError):
    """A value from the caller is wrong; `field` names it."""

    exit_code = 2

    def __init__(self, field: str, message_id: str, /, **values: object) -> None:
        super().__init__(message_id, **values)
        self.field = field

    @property
    def notice(self) -> Notice:
        return Notice("error.in_field", field=FieldName(self.field), problem=self.problem)

    @property
    def problem(self) -> Notice:
        """What is wrong, without the name of the field."""
        return super().notice


class FieldName(str):
    """The name of a field, which a language may have a word for."""

    __slots__ = ()

    def in_language(self, language: str) -> str:
        from nagori.messages import find

        return find(f"field.{self}", language) or str(self)


class InvalidConfig(InvalidInput):
    """The configuration has faults; `faults` lists all of them."""

    def __init__(self, faults: Sequence[Notice]) -> None:
        super().__init__("config", "error.config", faults=tuple(faults))
        self.notices = tuple(faults)

    @property
    def faults(self) -> tuple[str, ...]:
        """Every fault as a sentence."""
        return tuple(map(str, self.notices))


class NotFound(NagoriError):
    """No memory with this id in this scope."""

    exit_code = 3

    def __init__(self, id: str) -> None:
        super().__init__("error.memory_not_found", id=id)
        self.id = id


class LimitReached(NagoriError):
    """The limit of protected memories is reached; `candidates` are the ids that could be released, oldest
    first."""

    exit_code = 4

    def __init__(self, limit: int, candidates: Sequence[str]) -> None:
        super().__init__("error.protection_full", limit=limit)
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
        message_id: str,
        /,
        *,
        passing: bool = True,
        wait: float | None = None,
        unasked: bool = False,
        **values: object,
    ) -> None:
        super().__init__(message_id, **values)
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
        super().__init__("error.memory_closed")


class MemoryErased(NagoriError):
    """The memory of this owner was erased. Writes are refused until it is reopened, empty."""

    exit_code = 9

    def __init__(self) -> None:
        super().__init__("error.memory_erased")


class EncryptionError(NagoriError):
    """The data is encrypted, and its key is missing or wrong, or a library for it is missing."""

    exit_code = 10
