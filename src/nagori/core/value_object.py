"""Plain value classes: frozen fields with defaults, bounds and descriptions; and checks of what callers give.

    class Cursor(Value, order=True):
        segment: int = 0
        offset: int = 0

They are created, compared, shown and copied like frozen dataclasses, and type checkers treat them as such.
The difference is the start-up cost. A dataclass generates and compiles code for every class at import, and a
hook is a program that starts at every prompt. Here nothing is generated, which saves a quarter of the whole
import, and creating a value is faster, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from math import isfinite

from nagori.errors import InvalidInput, Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    Some = TypeVar("Some", bound="Value")
    Made = TypeVar("Made")
    Wanted = TypeVar("Wanted")
    Scalar = str | int | float | bool | None
    Metadata = dict[str, Scalar]
else:

    def dataclass_transform(**_):
        return lambda cls: cls


class Setting:
    """A default with bounds and a description; see `setting`."""

    def __init__(
        self,
        default: object,
        doc: str,
        lo: float | None = None,
        hi: float | None = None,
        choices: tuple[str, ...] | None = None,
    ) -> None:
        self.default, self.doc, self.lo, self.hi, self.choices = default, doc, lo, hi, choices


class _DefaultFactory:
    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def default_factory(make: Callable[[], Made]) -> Made:
    """A default that is created for every value: `items: list[str] = default_factory(list)`."""
    return _DefaultFactory(make)  # type: ignore[return-value]


@dataclass_transform(frozen_default=True)
class Value:
    """Base of all plain values. `frozen=False` allows setting fields; `order=True` compares field by
    field."""

    _names: tuple[str, ...] = ()
    _defaults: dict[str, Any] = {}  # noqa: RUF012 - filled once per class, never changed
    _made: dict[str, Callable[[], Any]] = {}  # noqa: RUF012
    _knobs: dict[str, Setting] = {}  # noqa: RUF012
    _checks: bool = False

    def __init_subclass__(cls, *, frozen: bool = True, order: bool = False) -> None:
        own = [name for name in cls.__annotations__ if not name.startswith("_")]
        cls._names = (*cls._names, *(name for name in own if name not in cls._names))
        cls._defaults, cls._made, cls._knobs = dict(cls._defaults), dict(cls._made), dict(cls._knobs)
        for name in own:
            if name in cls.__dict__:
                _take_default(cls, name, cls.__dict__[name])
        cls._checks = cls.__post_init__ is not Value.__post_init__
        if not frozen:
            cls.__setattr__ = object.__setattr__  # type: ignore[method-assign,assignment]
        if order:
            setattr(cls, "__lt__", _before)  # noqa: B010 - a type checker knows it already

    def __init__(self, *values: Any, **named: Any) -> None:
        fields, names = self.__dict__, self._names
        if len(values) != len(names):
            fields.update(self._defaults)
            for name, make in self._made.items():
                fields[name] = make()
        fields.update(zip(names, values))  # noqa: B905 - a cycle creates hundreds of thousands; counted below
        if named:
            fields.update(named)
        if len(fields) != len(names) or len(values) > len(names):
            _raise_for_fields(self, values, named)
        if self._checks:
            self.__post_init__()

    def __post_init__(self) -> None:
        """Checks, in classes that have any."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; make another one with replace()")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self))

    def __iter__(self) -> Iterator[Any]:
        """The fields in order: values unpack like tuples."""
        fields = self.__dict__
        return iter([fields[name] for name in self._names])

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._names)
        return f"{type(self).__name__}({told})"


def replace(value: Some, **changes: Any) -> Some:
    """A copy of `value` with some fields changed, checked like a new one."""
    if not changes.keys() <= value.__dict__.keys():
        _raise_for_fields(value, (), changes)
    other = object.__new__(type(value))
    other.__dict__.update(value.__dict__)
    other.__dict__.update(changes)
    other.__post_init__()
    return other


def build_unchecked(kind: type[Some], fields: dict[str, Any]) -> Some:
    """A value from all its fields, without checks: they were checked when they were stored."""
    value = object.__new__(kind)
    value.__dict__.update(fields)
    return value


def no_observer(name: str, **fields: object) -> None:
    """An observer that ignores all events."""


def split_batches(items: Iterable[Made], size: int) -> Iterator[list[Made]]:
    """`items` in lists of at most `size`."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def fields_of(value: Value | type[Value]) -> tuple[str, ...]:
    """The names of the fields, in order."""
    return value._names


def _take_default(cls: type[Value], name: str, default: object) -> None:
    if isinstance(default, Setting):
        cls._knobs[name] = default
        default = default.default
    if isinstance(default, _DefaultFactory):
        cls._made[name] = default.make
        delattr(cls, name)
    else:
        cls._defaults[name] = default
        setattr(cls, name, default)


def _before(self: Value, other: Value) -> bool:
    return tuple(self) < tuple(other)


def _raise_for_fields(value: Value, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raise the same TypeError as Python for a wrong call."""
    names, who = value._names, type(value).__name__
    if len(values) > len(names):
        raise TypeError(f"{who}() takes {len(names)} positional arguments but {len(values)} were given")
    for name in named:
        if name not in names:
            raise TypeError(f"{who}() got an unexpected keyword argument {name!r}")
    missing = [repr(name) for name in names if name not in value.__dict__]
    raise TypeError(f"{who}() missing {len(missing)} required arguments: {', '.join(missing)}")


# --- settings -------------------------------------------------------------------------------------
# A setting is a field with bounds and a description. Sections stand beside the formulas that use them;
# `nagori.config` collects them.


def setting(
    default: Any,
    doc: str,
    *,
    lo: float | None = None,
    hi: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> Any:
    """A setting with its default, meaning and bounds (inclusive)."""
    if isinstance(default, dict | list):  # no two sections share one object
        from copy import deepcopy
        from functools import partial

        default = default_factory(partial(deepcopy, default))
    return Setting(default, doc, lo, hi, choices)


class SettingLeaf(Value):
    """One single setting."""

    key: str  # dotted
    type: str  # as it is written in the section
    knob: Setting
    value: object


def leaves(section: Value, prefix: str = "") -> Iterator[SettingLeaf]:
    """Every single setting below `section`."""
    for name in section._names:
        value = getattr(section, name)
        if isinstance(value, Value):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield SettingLeaf(prefix + name, type(section).__annotations__[name], section._knobs[name], value)


def find_faults(section: Value, prefix: str) -> Iterator[Notice]:
    """A message for every value of `section` that is outside its bounds."""
    for key, _, knob, value in leaves(section, f"{prefix}."):
        if knob.choices and value not in knob.choices:
            yield fault_of(key, "fault.not_choice", value=repr(value), choices=", ".join(knob.choices))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _out_of_bounds(key, value, knob)


def _out_of_bounds(key: str, value: float, knob: Setting) -> Iterator[Notice]:
    if value != value:
        yield fault_of(key, "fault.nan")
    elif knob.lo is not None and value < knob.lo:
        yield fault_of(key, "fault.below", value=value, bound=knob.lo)
    elif knob.hi is not None and value > knob.hi:
        yield fault_of(key, "fault.above", value=value, bound=knob.hi)


def fault_of(key: str, id: str, **values: object) -> Notice:
    """What is wrong with a setting; `id` is a message of the table `fault`."""
    return Notice("fault.setting_anywhere", key=key, problem=Notice(id, **values))


def fault_beyond(key: str, id: str, value: float, other: str, bound: float) -> Notice:
    """A setting that contradicts another one."""
    return fault_of(key, id, value=value, other=other, bound=bound)


def clamp_unit(value: float) -> float:
    """`value` clipped to 0–1; NaN counts as 0."""
    return min(1.0, max(0.0, value))


# --- arguments of callers -------------------------------------------------------------------------
# Python accepts a string as a list of characters, True as 1 and 0 as False. Such mistakes go unnoticed for
# weeks, so a wrong type is refused at once, by the argument's name.

MOST_KEYS, LONGEST_KEY, LONGEST_VALUE = 32, 64, 1000  # of the metadata of one memory
MOST = 2**31  # of anything that a caller may ask for
LARGEST = 2**63  # of a whole number that every store and every reader of JSON can hold


def check_text(name: str, value: object) -> str:
    """The value, which is a text that can be written."""
    if not isinstance(value, str):
        raise InvalidInput(name, "error.type_not_text", type=type(value).__name__)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInput(name, "error.lone_surrogate") from None
    return value


def check_bool(name: str, value: object) -> None:
    """InvalidInput unless it is True or False."""
    if value is not True and value is not False:
        raise InvalidInput(name, "error.not_bool", value=value)


def check_whole(name: str, value: object, least: int = 0, most: int = MOST) -> int:
    """The value, which is a whole number within bounds."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(name, "error.not_whole", value=value)
    if value < least:
        raise InvalidInput(name, "error.below_least", n=value, least=least)
    if value > most:
        raise InvalidInput(name, "error.above_most", n=value, most=most)
    return value


def check_number(name: str, value: object) -> float:
    """The value, which is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise InvalidInput(name, "error.not_number", value=value)
    return value


def check_kind(name: str, value: object, kind: type[Wanted]) -> Wanted:
    """The value, which is a `kind`."""
    if not isinstance(value, kind):
        values = {"type": type(value).__name__, "wanted": kind.__name__}
        raise InvalidInput(name, "error.type_not_kind", **values)
    return value


def check_list(name: str, value: Any) -> Iterable[Any]:
    """The value, which is several things; one text, or one table, is refused."""
    if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
        raise InvalidInput(name, "error.type_not_list", type=type(value).__name__)
    return value


def read_texts(name: str, value: Any) -> tuple[str, ...]:
    """The texts of a list."""
    check_list(name, value)
    texts = tuple(value)
    for text in texts:
        check_text(name, text)
    return texts


def read_metadata(value: object, name: str = "metadata") -> Metadata:
    """A table of a caller's own, as it may be kept: small, plain, in the order of its keys."""
    if not isinstance(value, Mapping):
        raise InvalidInput(name, "error.type_not_table", type=type(value).__name__)
    if len(value) > MOST_KEYS:
        raise InvalidInput(name, "error.too_many_keys", n=len(value), most=MOST_KEYS)
    for key, one in value.items():
        _check_key(name, key)
        _check_scalar(f"{name}.{key}", one)
    return {key: value[key] for key in sorted(value)}


def _check_key(name: str, key: object) -> None:
    check_text(f"{name}.{key!r}", key)
    text = str(key)
    if not text.strip() or len(text) > LONGEST_KEY or not text.isprintable():
        raise InvalidInput(name, "error.key_name", key=text, most=LONGEST_KEY)


def _check_scalar(name: str, value: object) -> None:
    if isinstance(value, str):
        if len(value) > LONGEST_VALUE:
            raise InvalidInput(name, "error.value_too_long", n=len(value), most=LONGEST_VALUE)
        if "\0" in value or not _is_writable(value):
            raise InvalidInput(name, "error.unwritable", value=value)
    elif isinstance(value, float):
        if not isfinite(value):
            raise InvalidInput(name, "error.not_number", value=value)
    elif isinstance(value, int):
        if not -LARGEST <= value < LARGEST:
            raise InvalidInput(name, "error.whole_too_large")
    elif value is not None:
        raise InvalidInput(name, "error.type_not_scalar", type=type(value).__name__)


def _is_writable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


# --- text ---------------------------------------------------------------------------------------------

PICTURE = "\u231a-\u23ff\u2600-\u27bf\u2b1b-\u2b55\U0001f000-\U0001faff"
TONE = "\ufe0f\U0001f3fb-\U0001f3ff"
# What has variants, which a variation selector behind it chooses.
VARIED = f"0-9#*\u00a9\u00ae\u203c-\u205f\u2070-\u2bff\u3000-\u3163\u3165-\u9fff\uf900-\ufaff{PICTURE}"


# Letters and signs of Western languages and of Japanese, among which nothing is hidden. The pattern of what
# is hidden takes longer to compile than a prompt takes to be read.
_ORDINARY = "[\n -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u3000-\u3163\u4e00-\u9fff\uff01-\uff9f]*"


def clean_text(text: str, *, field: str = "text") -> str:
    """Text that is safe to store and show: without lone surrogates, control characters, hidden direction
    marks and words in invisible characters."""
    if not isinstance(text, str):
        raise TypeError(f"{field} must be str, not {type(text).__name__}")
    if (text.isascii() and text.isprintable()) or re.fullmatch(_ORDINARY, text):
        return text
    if re.search("[\ud800-\udfff]", text):  # surrogate pairs are joined, a lone half becomes U+FFFD
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    lines = re.sub("\r\n?|[\u2028\u2029]", "\n", text)
    return _unwanted_characters().sub(lambda found: found["flag"] or "", lines)


@cache
def _unwanted_characters() -> re.Pattern[str]:
    """Control characters, direction marks, and what is invisible: a model reads it although nobody sees it. A
    joiner stays only between two emoji, letters as tags only in the flag of a region, and one variation
    selector only behind what has variants: an ideograph, an emoji, a sign, a digit, a Mongolian letter."""
    return re.compile(
        "(?P<flag>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)"
        "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f"
        "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
        "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
        f"|(?<![{PICTURE}])(?<![{VARIED}]\ufe0f)\u200d|\u200d(?![{PICTURE}])"
        "|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
        f"|(?<![{VARIED}])[\ufe00-\ufe0f]"
        "|(?<![\u1820-\u18aa])[\u180b-\u180d\u180f]"
    )
