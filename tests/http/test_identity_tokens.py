"""Tokens of an identity provider: a good one opens the memory of its user, any other one opens nothing."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import random
import threading
import time
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.http.calls import Caller

from nagori.app import Nagori
from nagori.edges.http.access import Grant
from nagori.edges.http.app import create_app
from nagori.edges.http.identity_tokens import LEAST_WAIT, SigningKeys, TokenAccess, TokenRules
from nagori.edges.http.keys import KeyAccess, KeyTable
from nagori.errors import InvalidInput

crypto = pytest.importorskip(
    "cryptography", reason="cryptography is not installed; pip install 'nagori[jwt]'"
)

from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa  # noqa: E402
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature  # noqa: E402

RULES = TokenRules("https://id.example.org", "nagori")


def b64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value: int) -> str:
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Provider:
    """An identity provider with one key of each kind."""

    def __init__(self) -> None:
        self.rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.ed = ed25519.Ed25519PrivateKey.generate()

    def keys(self, prefix: str = "") -> list[dict[str, str]]:
        of_rsa, of_ec = self.rsa.public_key().public_numbers(), self.ec.public_key().public_numbers()
        raw = self.ed.public_key().public_bytes_raw()
        point = {"x": b64(of_ec.x.to_bytes(32, "big")), "y": b64(of_ec.y.to_bytes(32, "big"))}
        return [
            {"kid": f"{prefix}RS256", "kty": "RSA", "n": number(of_rsa.n), "e": number(of_rsa.e)},
            {"kid": f"{prefix}ES256", "kty": "EC", "crv": "P-256", **point, "alg": "ES256", "use": "sig"},
            {"kid": f"{prefix}EdDSA", "kty": "OKP", "crv": "Ed25519", "x": b64(raw)},
        ]

    def sign(self, algorithm: str, said: bytes) -> bytes:
        if algorithm == "RS256":
            return self.rsa.sign(said, padding.PKCS1v15(), hashes.SHA256())
        if algorithm == "EdDSA":
            return self.ed.sign(said)
        r, s = decode_dss_signature(self.ec.sign(said, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def token(
        self, algorithm: str = "EdDSA", header: dict[str, Any] | None = None, prefix: str = "", **claims: Any
    ) -> str:
        now = time.time()
        said = {
            "iss": RULES.issuer,
            "aud": "nagori",
            "sub": "aki",
            "tenant": "acme",
            "exp": now + 300,
            "iat": now,
        }
        said = {name: value for name, value in {**said, **claims}.items() if value is not None}
        top = {"alg": algorithm, "kid": f"{prefix}{algorithm}", "typ": "JWT", **(header or {})}
        signed = f"{b64(json.dumps(top).encode())}.{b64(json.dumps(said).encode())}"
        return f"{signed}.{b64(self.sign(algorithm, signed.encode()))}"


@pytest.fixture(scope="module")
def provider() -> Provider:
    return Provider()


@pytest.fixture
def served(tmp_path: Path, provider: Provider):
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": provider.keys()}), encoding="utf-8")
    with Nagori.open(tmp_path / "memory", embedder=None, llm=None) as memory:
        keys = KeyTable(memory)
        secret, _ = keys.add("laptop", Grant("", "acme", "aki"))
        access = TokenAccess(SigningKeys(str(file)), RULES, KeyAccess(keys))
        memory.with_scope(tenant="acme", user="aki").remember("The office is in Kyoto.")
        memory.with_scope(tenant="globex", user="aki").remember("The canary of globex.")
        yield create_app(memory, access), secret


def status(app: Any, token: str, **headers: str) -> int:
    return Caller(app, token).get("/v1/memories", headers=headers).status


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_a_good_token_opens_the_memory_of_its_user(served, provider: Provider, algorithm: str) -> None:
    app, secret = served
    reply = Caller(app, provider.token(algorithm)).get("/v1/memories")
    assert "Kyoto" in reply.body.decode()
    assert "globex" not in reply.body.decode()
    assert Caller(app, provider.token(algorithm, sub="ben")).get("/v1/memories").json == []
    assert status(app, provider.token(algorithm, aud=["other", "nagori"])) == 200
    assert status(app, provider.token(algorithm), **{"nagori-user": "ben"}) == 403
    assert status(app, secret) == 200  # keys go on beside tokens


def test_no_other_token_opens_anything(served, provider: Provider) -> None:
    app, _ = served
    now, good, other = time.time(), provider.token(), Provider()
    head, body, signature = good.split(".")
    public = provider.rsa.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    confused = f"{b64(json.dumps({'alg': 'HS256', 'kid': 'RS256'}).encode())}.{body}"
    mac = b64(hmac.new(public, confused.encode(), hashlib.sha256).digest())
    none = b64(json.dumps({"alg": "none", "kid": "EdDSA"}).encode())
    bad = [
        f"{confused}.{mac}",
        f"{none}.{body}.",
        f"{none}.{body}.{signature}",
        f"{head}.{body}.",
        f"{head}.{b64(json.dumps({'sub': 'aki', 'tenant': 'globex'}).encode())}.{signature}",
        other.token(),
        provider.token(header={"kid": "RS256"}),
        provider.token(header={"alg": "RS256"}),
        provider.token(header={"kid": None}),
        provider.token(header={"kid": "unknown"}),
        provider.token(header={"crit": ["exp"]}),
        *(provider.token(exp=value) for value in (now - 3600, None, "never", True)),
        provider.token(nbf=now + 3600),
        provider.token(iat=now + 3600),
        *(provider.token(iss=value) for value in ("https://evil.example", None, RULES.issuer + "/")),
        *(provider.token(aud=value) for value in ("other", None, ["other"], "nagori2", {"nagori": 1})),
        *(provider.token(tenant=value) for value in (None, "", 7, "a\0b", ["globex"], "nagori:server")),
        *(provider.token(sub=value) for value in (None, "", 7, "\n")),
        provider.token(more="x" * 20_000),
        "..",
        "a.b.c",
        f"{good}.",
        f".{good}",
    ]
    for token in bad:
        assert status(app, token) == 401, token[:200]
    drawn, letters = random.Random(5), "abcXYZ019-_"
    for _ in range(300):
        where = drawn.randrange(len(good))
        changed = good[:where] + drawn.choice(letters) + good[where + 1 :]
        if changed[:-1] != good[:-1]:  # the last letter has bits that mean nothing
            assert status(app, changed) == 401, changed


def test_new_keys_are_found_and_old_ones_go(tmp_path: Path, provider: Provider) -> None:
    file, now = tmp_path / "jwks.json", [0.0]
    file.write_text(json.dumps({"keys": provider.keys()}), encoding="utf-8")
    keys = SigningKeys(str(file), lambda: now[0])
    assert keys.find("EdDSA")
    file.write_text(json.dumps({"keys": provider.keys("new-")}), encoding="utf-8")
    assert keys.find("new-EdDSA") is None  # not asked for again at once, however many tokens name it
    now[0] += LEAST_WAIT + 1
    assert keys.find("new-EdDSA")
    assert keys.find("EdDSA") is None
    file.write_text("not JSON", encoding="utf-8")
    now[0] += 1000
    assert keys.find("new-EdDSA")


def test_weak_and_unknown_keys_are_not_used(tmp_path: Path, provider: Provider) -> None:
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024).public_key().public_numbers()
    good = provider.keys()[2]
    written = [
        {"kid": "weak", "kty": "RSA", "n": number(weak.n), "e": number(weak.e)},
        {"kid": "secret", "kty": "oct", "k": "AAAA"},
        {**good, "kid": "for encryption", "use": "enc"},
        {**good, "kid": "other algorithm", "alg": "RS256"},
        {**good, "kid": "broken", "x": "!!"},
        {**good, "kid": 7},
        "no key",
    ]
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": written}), encoding="utf-8")
    keys = SigningKeys(str(file))
    assert [keys.find(str(each["kid"])) for each in written[:5]] == [None] * 5  # type: ignore[index]
    for content in ("{}", "[]", "no", '{"keys": 1}'):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(InvalidInput):
            SigningKeys(str(file))
    with pytest.raises(InvalidInput):
        SigningKeys(str(tmp_path / "nowhere"))


def test_keys_come_from_an_address_too(provider: Provider) -> None:
    document = json.dumps({"keys": provider.keys()}).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/keys?v=1" else 404)
            self.end_headers()
            self.wfile.write(document)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            assert SigningKeys(f"http://127.0.0.1:{server.server_port}/keys?v=1").find("RS256")
        finally:
            server.shutdown()
    with pytest.raises(InvalidInput):
        SigningKeys("http://id.example.org/keys")  # not over plain HTTP to another machine
