"""API keys, from the environment or from the system's keyring if `keyring` is installed.

They are read for each request and stored nowhere.
"""

from __future__ import annotations

import os

from nagori.errors import ModelError


def key_from(variable: str) -> str | None:
    """The key named `variable`; None if there is none."""
    return os.environ.get(variable, "").strip() or _from_keyring(variable) if variable else None


def needed_key(variable: str) -> str:
    """The key named `variable`; ModelError says where it was expected."""
    key = key_from(variable)
    if key is None:
        raise ModelError(
            "error.key_missing",
            variable=variable,
            passing=False,
        )
    return key


def _from_keyring(variable: str) -> str | None:
    try:
        import keyring  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    try:
        return (keyring.get_password("nagori", variable) or "").strip() or None
    except Exception:  # a keyring can fail in many ways; all count as: no key
        return None
