"""Read the address of a PostgreSQL database, such as `postgresql://user@host/database?store=postgres`."""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode, urlsplit

from nagori.core.value_object import Value
from nagori.errors import InvalidInput

SCHEMES = ("postgresql", "postgres")
STORES = ("sqlite", "postgres")


class Address(Value):
    """A PostgreSQL address as the driver takes it, and what only we understand of it."""

    conninfo: str
    schema: str = "nagori"
    store: str = "sqlite"  # a local fold, or the whole store in the database
    folder: str = ""  # of the local fold

    @property
    def shown(self) -> str:
        """Where it leads, without login and options."""
        parts = urlsplit(self.conninfo)
        query = dict(parse_qsl(parts.query))
        host = parts.hostname or query.get("host", "") or "localhost"
        port = f":{parts.port}" if parts.port else ""
        return f"{host}{port}{parts.path}"

    @property
    def label(self) -> str:
        """A folder name for what belongs to this database alone."""
        database = re.sub(r"[^a-z0-9_]", "", urlsplit(self.conninfo).path.lower())[:40]
        return f"{database or 'default'}-{sha256(f'{self.shown}?{self.schema}'.encode()).hexdigest()[:12]}"

    @property
    def has_password(self) -> bool:
        parts = urlsplit(self.conninfo)
        return parts.password is not None or "password" in dict(parse_qsl(parts.query))


def parse_address(text: str) -> Address:
    """Read an address. What cannot be read is not repeated in the error, because it may hold a password."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - ValueError if it is none
    except ValueError:
        raise InvalidInput("address", "error.postgres_address") from None
    torn = parts.netloc.count("@") > 1 or "@" in parts.path + parts.query or parts.fragment
    if torn or parts.scheme not in SCHEMES or not text.startswith(f"{parts.scheme}://"):
        raise InvalidInput("address", "error.postgres_address")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    own = {name: options.pop(name) for name in ("schema", "store", "folder") if name in options}
    if own.get("store", "sqlite") not in STORES:
        raise InvalidInput("address", "error.postgres_store", value=own["store"])
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", own.get("schema", "nagori")):
        raise InvalidInput("address", "error.postgres_schema", value=own["schema"])
    query = f"?{urlencode(options)}" if options else ""
    return Address(f"{parts.scheme}://{parts.netloc}{parts.path}{query}", **own)
