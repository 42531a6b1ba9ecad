"""Signed tokens of an identity provider (OpenID Connect, JWT) instead of API keys.

A token names its user in `sub` and its tenant in a claim of its own. It is checked against the public keys of
the provider, from a file or an `https` address. Only RS256, ES256 and EdDSA are known, and the key decides
which of them is used: a token cannot choose. `pip install 'nagori[jwt]'` brings `cryptography`.
"""

from __future__ import annotations

import json
import re
import threading
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import HTTPConnection

from nagori.core.model import Scope
from nagori.core.value_object import Value
from nagori.edges.http.access import Access, Grant, Refused, bearer
from nagori.edges.http.client import ServerConnection
from nagori.edges.http.keys import ID_LENGTH, OWNER, PREFIX, digest
from nagori.errors import InvalidInput, NagoriError

LONGEST_TOKEN = 16_384
LEEWAY = 60.0  # seconds that clocks may be apart
FRESH_SECONDS = 300.0  # how long keys are trusted before they are read again
LEAST_WAIT = 10.0  # between two readings because of an unknown key
LEAST_RSA_BITS = 2048
SECONDS = 10.0  # for the provider to answer

Verify = Callable[[bytes, bytes], None]  # signature, what was signed; raises if they do not fit


class TokenRules(Value):
    """Who issues tokens, for whom, and which claim names the tenant."""

    issuer: str
    audience: str
    tenant_claim: str = "tenant"


class SigningKeys:
    """The public keys of a provider, by their names, read again now and then and for an unknown name."""

    def __init__(self, source: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._source, self._clock = source, clock
        self._lock = threading.Lock()
        self._keys: dict[str, tuple[str, Verify]] = {}
        self._read_at = float("-inf")
        try:
            self._read()
        except (OSError, ValueError) as fault:
            raise InvalidInput("jwks", "error.jwks", source=source) from fault

    def find(self, name: str) -> tuple[str, Verify] | None:
        """The algorithm of a key and how to verify with it. While the provider is away, known keys stay."""
        with self._lock:
            age = self._clock() - self._read_at
            if age > FRESH_SECONDS or (name not in self._keys and age > LEAST_WAIT):
                try:
                    self._read()
                except (NagoriError, OSError, ValueError):
                    self._read_at = self._clock() - FRESH_SECONDS + LEAST_WAIT
            return self._keys.get(name)

    def _read(self) -> None:
        if "://" in self._source:
            base, _, path = self._source.partition("://")
            host, slash, rest = path.partition("/")
            document = ServerConnection(f"{base}://{host}", "", SECONDS).ask("GET", slash + rest)
        else:
            document = _read_json(Path(self._source).read_bytes())
        keys = document.get("keys") if isinstance(document, dict) else None
        if not isinstance(keys, list):
            raise InvalidInput("jwks", "error.jwks", source=self._source)
        read = [(each["kid"], _read_key(each)) for each in keys if isinstance(each, dict) and _names(each)]
        self._keys = {name: key for name, key in read if key is not None}
        self._read_at = self._clock()


def _names(key: Mapping[str, Any]) -> bool:
    return isinstance(key.get("kid"), str) and key.get("use", "sig") == "sig"


def _read_key(key: Mapping[str, Any]) -> tuple[str, Verify] | None:
    """What a key is for; None for kinds that are not known here."""
    try:
        kind = (key.get("kty"), key.get("crv"))
        if kind[0] == "RSA":
            algorithm, verify = "RS256", _rsa(key)
        elif kind == ("EC", "P-256"):
            algorithm, verify = "ES256", _ecdsa(key)
        elif kind == ("OKP", "Ed25519"):
            algorithm, verify = "EdDSA", _ed25519(key)
        else:
            return None
    except (KeyError, ValueError, TypeError):
        return None
    return (algorithm, verify) if key.get("alg", algorithm) == algorithm else None


def _rsa(key: Mapping[str, Any]) -> Verify:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

    public = RSAPublicNumbers(_number(key["e"]), _number(key["n"])).public_key()
    if public.key_size < LEAST_RSA_BITS:
        raise ValueError
    return lambda signature, said: public.verify(signature, said, padding.PKCS1v15(), hashes.SHA256())


def _ecdsa(key: Mapping[str, Any]) -> Verify:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    public = ec.EllipticCurvePublicNumbers(_number(key["x"]), _number(key["y"]), ec.SECP256R1()).public_key()

    def verify(signature: bytes, said: bytes) -> None:
        if len(signature) != 64:
            raise ValueError
        pair = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        public.verify(encode_dss_signature(*pair), said, ec.ECDSA(hashes.SHA256()))

    return verify


def _ed25519(key: Mapping[str, Any]) -> Verify:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(_decode(key["x"])).verify


def read_token(token: str, keys: SigningKeys, rules: TokenRules, now: float) -> dict[str, Any]:
    """The claims of a token; Refused unless it is signed by a known key, for us, and valid now."""
    from cryptography.exceptions import InvalidSignature

    try:
        if len(token) > LONGEST_TOKEN:
            raise ValueError
        signed, _, signature = token.rpartition(".")
        first, _, second = signed.partition(".")
        header = _read_json(_decode(first))
        found = keys.find(header["kid"])
        if found is None or header.get("alg") != found[0] or "crit" in header:
            raise ValueError
        found[1](_decode(signature), signed.encode("ascii"))
        claims = _read_json(_decode(second))
        audience = claims["aud"]
        is_ours = claims["iss"] == rules.issuer and (
            rules.audience in audience if isinstance(audience, list) else audience == rules.audience
        )
        if not is_ours or not _is_valid_at(claims, now):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, InvalidSignature):
        raise Refused(401, "error.http_jwt") from None
    return claims


def _is_valid_at(claims: Mapping[str, Any], now: float) -> bool:
    times = [claims["exp"], claims.get("nbf", 0), claims.get("iat", 0)]
    if any(isinstance(each, bool) or not isinstance(each, int | float) for each in times):
        return False
    until, *since = map(float, times)
    return until + LEEWAY > now and max(since) - LEEWAY <= now


class TokenAccess:
    """Callers with a token of the provider; those with an API key are asked as before."""

    def __init__(self, keys: SigningKeys, rules: TokenRules, others: Access) -> None:
        self._keys, self._rules, self._others = keys, rules, others

    def check_origin(self, request: HTTPConnection) -> None:
        self._others.check_origin(request)

    def grant(self, request: HTTPConnection) -> Grant:
        token = bearer(request)
        if token.startswith(PREFIX) or token.count(".") != 2:
            return self._others.grant(request)
        claims = read_token(token, self._keys, self._rules, time.time())
        tenant, user = claims.get(self._rules.tenant_claim), claims.get("sub")
        try:
            Scope(user=user or "", tenant=tenant or "")  # checks the names
        except InvalidInput:
            raise Refused(401, "error.http_jwt") from None
        if tenant == OWNER.tenant:
            raise Refused(401, "error.http_jwt")
        name = digest(f"{tenant}/{user}")[:ID_LENGTH]  # in logs, as the id of a key
        return Grant(name, str(tenant), str(user))


def _decode(text: str) -> bytes:
    """Base64 of a token: without filling, and nothing else in it."""
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", text):
        raise ValueError
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _number(text: str) -> int:
    return int.from_bytes(_decode(text), "big")


def _read_json(raw: bytes) -> dict[str, Any]:
    read = json.loads(raw)
    if not isinstance(read, dict):
        raise ValueError
    return read
