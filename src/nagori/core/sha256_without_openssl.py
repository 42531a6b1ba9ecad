"""SHA-256 without `hashlib`, which loads OpenSSL and would slow down a hook."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256  # before Python 3.12
        except ImportError:  # pragma: no cover - an interpreter built without them
            from hashlib import sha256

__all__ = ["sha256"]
