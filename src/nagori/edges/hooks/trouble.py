"""What went wrong, for the person in front of the host. Loaded only when something did."""

from __future__ import annotations

from nagori.edges.words import Voice, language
from nagori.errors import NagoriError


def notice(trouble: BaseException) -> str:
    """One line: what is wrong, what was kept, what to do."""
    from nagori.edges.hooks import Late

    voice = Voice(language())
    if isinstance(trouble, Late):
        return voice("hook_late")
    if isinstance(trouble, NagoriError):
        return voice("hook_trouble", reason=voice.error(trouble))
    if isinstance(trouble, OSError):
        return voice("hook_trouble", reason=trouble.strerror or type(trouble).__name__)
    return voice("hook_trouble", reason=type(trouble).__name__)
