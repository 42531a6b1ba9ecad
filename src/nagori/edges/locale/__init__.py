"""Speak the user's language: choose it, and say messages of the catalogues in it.

The words stand in `nagori/locale/*.toml`, by their ids. CONTRIBUTING.md says how to add a message or a
language.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from nagori.errors import NagoriError, Notice
from nagori.messages import ENGLISH, LANGUAGES, find, render


def language(setting: str = "auto", env: Mapping[str, str] = os.environ) -> str:
    """One of `LANGUAGES`: the setting, or else the locale."""
    if setting in LANGUAGES:
        return setting
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if env.get(name):
            return next((known for known in LANGUAGES if env[name].lower().startswith(known)), ENGLISH)
    return ENGLISH


class Translator:
    """Says messages in one language."""

    def __init__(self, language: str = ENGLISH) -> None:
        self.language = language

    def __call__(self, id: str, /, **values: object) -> str:
        return render(id, values, self.language)

    def say(self, message: Notice | NagoriError) -> str:
        """A message or an error as a sentence."""
        return message.in_language(self.language)

    def event(self, type: str) -> str:
        return self._name(f"event.{type}", type)

    def kind(self, kind: str) -> str:
        return self._name(f"kind.{kind}", kind)

    def category(self, category: str) -> str:
        return self._name(f"category.{category}", category)

    def _name(self, id: str, name: str) -> str:
        """The word for something that has a name; one that nobody knows is its own word."""
        return find(id, self.language) or str(name)
