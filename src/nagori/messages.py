"""Find the words of a message: every sentence for people stands in a catalogue, by its id and language.

The catalogues are `locale/en.toml` and `locale/ja.toml`. A message is `<table>.<name>` there; what stands in
braces is filled in from its values. Nothing is read before something is said, and then only the table that
holds it. An id that no catalogue knows is shown as it is, with its values: words never raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

ENGLISH = "en"
LANGUAGES = (ENGLISH, "ja")
LONGEST_SHOWN = 200  # characters of a wrong value in a message


def render(id: str, values: Mapping[str, object], language: str = ENGLISH) -> str:
    """The sentence of an id in a language, with its values; in English where the language lacks it."""
    template = find(id, language)
    if template is None:
        template = find(id, ENGLISH)
    if template is None:
        return _show_bare(id, values)
    try:
        return template.format_map({name: _Shown(value, language) for name, value in values.items()})
    except Exception:  # a value that the sentence wants was not given
        return _show_bare(id, values)


def find(id: str, language: str) -> str | None:
    """The words of an id as the catalogue has them, or None."""
    table, _, name = id.rpartition(".")
    return _table(language, table).get(name)


def table(language: str, name: str) -> Mapping[str, str]:
    """All words of one table of a catalogue, by their names."""
    return _table(language, name)


def short(value: object) -> str:
    """A wrong value as a message shows it, whatever it is."""
    try:
        shown = repr(value)
    except Exception:  # anybody's object; Python refuses numbers of thousands of digits, too
        shown = f"<{type(value).__name__}>"
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"


def _show_bare(id: str, values: Mapping[str, object]) -> str:
    shown = ", ".join(f"{name}={short(value)}" for name, value in values.items())
    return f"{id} ({shown})" if shown else id


class _Shown:
    """A value inside a sentence: a message is said in the language of the sentence, and nothing raises."""

    def __init__(self, value: object, language: str) -> None:
        self._value, self._language = value, language

    def __str__(self) -> str:
        value = self._value
        try:
            if isinstance(value, tuple | list) and all(hasattr(each, "in_language") for each in value):
                return "; ".join(each.in_language(self._language) for each in value)
            say = getattr(value, "in_language", None)
            return str(value if say is None else say(self._language))
        except Exception:  # anybody's object
            return short(value)

    def __repr__(self) -> str:
        return short(self._value)

    def __format__(self, spec: str) -> str:
        if spec:
            try:
                return format(self._value, spec)
            except Exception:  # not a number after all
                return str(self)
        return str(self)


@lru_cache(maxsize=128)
def _table(language: str, table: str) -> dict[str, str]:
    """One table of a catalogue; reading all of them would take a command longer than what it says."""
    _, start, rest = _catalogue(language).partition(f"\n[{table}]\n")
    if not start:
        return {}
    import tomllib

    found = tomllib.loads(rest.partition("\n[")[0])
    return {name: words for name, words in found.items() if isinstance(words, str)}


@cache
def _catalogue(language: str) -> str:
    from importlib.resources import files

    if language not in LANGUAGES:
        return ""
    return "\n" + files("nagori").joinpath("locale", f"{language}.toml").read_text("utf-8")
