"""The HTTP client against everything a server can do to it."""

# mypy: disable-error-code="attr-defined,var-annotated"
# Because parts of a module or an engine are looked into; empty lists are filled later.

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from tests.scripted import FAULTS, Scripted, closed_port, elsewhere

from nagori.adapters import deadline_connection
from nagori.adapters.http import post_json
from nagori.errors import ModelError
from nagori.messages import find

KEY = "Bearer kb-5f2c91d07a3e48b6"
SHORT = 0.6  # a deadline that only faults which use it up wait for


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now, self.waits = 0.0, []

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def ask(server: Scripted, path: str = "/v1/messages", **more: Any) -> dict[str, Any]:
    clock = Clock()
    more = {"clock": clock, "wait": clock.wait, **more}
    return post_json(server.url + path, {"model": "m", "input": ["a", "b"]}, {"authorization": KEY}, **more)


def fail(script: list[str], **more: Any) -> tuple[ModelError, int]:
    """The error a script ends in, and how often the server was asked."""
    given = {name: more.pop(name) for name in ("said", "retry_after") if name in more}
    with Scripted(script, **given) as server:
        with pytest.raises(ModelError) as caught:
            ask(server, **more)
        return caught.value, len(server.requests)


def test_a_question_is_answered() -> None:
    with Scripted(answer=lambda body: f"{body['model']} says yes") as server:
        assert ask(server)["content"][0]["text"] == "m says yes"
        (request,) = server.requests
    assert request.body == {"model": "m", "input": ["a", "b"]}
    assert request.headers["authorization"] == KEY
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("fault", ["429", "429 wait", "500", "502", "503", "504", "529", "cut", "reset"])
def test_what_passes_is_tried_again(fault: str) -> None:
    with Scripted([fault, fault, "ok"]) as server:
        assert ask(server)["content"][0]["text"] == "fine"
        assert len(server.requests) == 3


@pytest.mark.parametrize("fault", ["429", "500", "503", "529", "cut", "reset"])
def test_after_the_last_try_it_is_told_and_may_pass(fault: str) -> None:
    error, asked = fail([fault], tries=3)
    assert (error.passing, asked) == (True, 3)


@pytest.mark.parametrize("fault", ["400", "401", "403", "404", "413", "422", "redirect"])
def test_what_will_not_pass_is_asked_once(fault: str) -> None:
    error, asked = fail([fault])
    assert (error.passing, asked) == (False, 1)
    assert error.values["status"] == (307 if fault == "redirect" else int(fault))


@pytest.mark.parametrize("fault", ["garbage", "empty body", "list", "deep", "not http"])
def test_an_answer_that_is_none_is_not_taken(fault: str) -> None:
    error, asked = fail([fault])
    assert asked == 1
    assert "127.0.0.1" in str(error)


def test_a_redirect_carries_the_key_nowhere() -> None:
    with Scripted(["redirect", "ok"]) as server:
        with pytest.raises(ModelError, match="Redirects are not followed"):
            ask(server)
        assert [request.path for request in server.requests] == ["/v1/messages"]


@pytest.mark.parametrize("fault", ["hang", "slow"])
def test_no_server_holds_us_beyond_the_deadline(fault: str) -> None:
    """Both go on for as long as the server lives: that this test ends is what it shows."""
    with Scripted([fault]) as server:
        with pytest.raises(ModelError, match=r"within 0\.6 s") as caught:
            post_json(server.url + "/v1/messages", {}, timeout=SHORT)
        assert len(server.requests) == 1
    assert caught.value.passing


def test_a_resolver_that_hangs_does_not_hold_us_either(monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()
    monkeypatch.setattr(deadline_connection.socket, "getaddrinfo", lambda *_, **__: done.wait(60))
    with pytest.raises(ModelError, match=r"within 0\.6 s"):
        post_json("https://example.org/", {}, timeout=SHORT)
    done.set()


@pytest.mark.parametrize("fault", ["10 MB", "endless"])
def test_an_answer_that_is_too_long_is_refused(fault: str) -> None:
    error, asked = fail([fault])
    assert "longer than 8,000,000 bytes" in str(error)
    assert asked == 1


def test_waits_grow_and_differ() -> None:
    clock = Clock()
    error, _ = fail(["503"], tries=6, timeout=1000, clock=clock, wait=clock.wait)
    assert error.passing
    assert 0.5 * (0.5 + 1 + 2 + 4 + 8) <= clock.now <= 0.5 + 1 + 2 + 4 + 8


def test_the_server_says_how_long_to_wait() -> None:
    clock = Clock()
    with Scripted(["429 wait", "ok"], retry_after="7") as server:
        ask(server, clock=clock, wait=clock.wait)
    assert clock.now == pytest.approx(7.0)


def test_it_may_say_it_with_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    error, asked = fail(["503 wait"], retry_after=later)
    assert asked == 1
    assert error.wait == pytest.approx(7200, abs=120)


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    clock = Clock()
    error, asked = fail(["429 wait"], retry_after="3600", timeout=30, clock=clock, wait=clock.wait)
    assert (error.wait, error.passing, asked, clock.waits) == (3600.0, True, 1, [])


@pytest.mark.parametrize("asked", ["soon", "-5", "nan", "", "1e9", "Mon, 99 Foo"])
def test_a_wait_that_means_nothing_is_passed_over(asked: str) -> None:
    with Scripted(["429 wait", "ok"], retry_after=asked) as server:
        assert ask(server)
        assert len(server.requests) == 2


def test_whoever_cancels_is_heard_before_and_while_waiting() -> None:
    with Scripted() as server:
        with pytest.raises(ModelError, match="cancelled"):
            ask(server, cancelled=lambda: True)
        assert server.requests == []
    clock = Clock()
    error, asked = fail(
        ["429 wait"],
        retry_after="20",
        clock=clock,
        wait=clock.wait,
        cancelled=lambda: clock.now > 1,
    )
    assert "cancelled" in str(error)
    assert asked == 1
    assert clock.now < 2


# ── the way there ────────────────────────────────────────────────────────────────────────────────


def test_a_name_nobody_has_is_told() -> None:
    with pytest.raises(ModelError, match=r"The name nobody\.invalid cannot be resolved"):
        post_json(elsewhere(), {})


def test_a_name_that_cannot_be_one_is_told() -> None:
    with pytest.raises(ModelError, match="cannot be resolved"):
        post_json(f"https://{'a' * 70}.invalid/", {})


def test_a_port_nobody_listens_at_is_told_after_all_tries() -> None:
    clock = Clock()
    with pytest.raises(ModelError, match="Is the server running"):
        post_json(closed_port(), {}, clock=clock, wait=clock.wait)
    assert clock.waits


def test_a_network_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(deadline_connection.socket.socket, "connect", unreachable)
    with pytest.raises(ModelError, match="cannot be reached: Network is unreachable"):
        post_json("https://127.0.0.1/", {})


def test_a_server_that_speaks_no_tls_is_told() -> None:
    with Scripted() as server, pytest.raises(ModelError, match="no safe connection") as caught:
        post_json(server.url.replace("http:", "https:"), {}, timeout=5)
    assert not caught.value.passing


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "example.org",
        "https://",
        "",
        "https://me:secret@example.org/",
        "https://example.org:port/",
        "https://example.org/a b",
        "https://example.org/鍵",
        "https://example.org/\r\nx: y",
        "https://[::1/",
    ],
)
def test_an_address_that_is_none_is_not_asked(url: str) -> None:
    with pytest.raises(ModelError, match="The address of the server") as caught:
        post_json(url, {})
    assert not caught.value.passing
    assert "secret" not in str(caught.value)


def test_texts_travel_plainly_only_where_that_was_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="https only"):
        post_json("http://models.example/v1", {})
    with Scripted() as server:
        there = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", int(server.url.split(":")[2])))]
        monkeypatch.setattr(deadline_connection.socket, "getaddrinfo", lambda *_, **__: there)
        assert post_json("http://models.example/v1/messages", {}, plain=True)["type"] == "message"


# ── TLS ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """One's own authority: a certificate for localhost that nobody else knows."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl program to make a certificate with")
    made = tmp_path / "own.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(made), "-out", str(tmp_path / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )
    made.write_bytes(made.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    return made


@pytest.fixture
def secure(certificate: Path) -> Iterator[Scripted]:
    with Scripted() as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        inner = server._server
        inner.socket = context.wrap_socket(inner.socket, server_side=True, do_handshake_on_connect=False)
        yield server


def port_of(server: Scripted) -> str:
    return server.url.rsplit(":", 1)[1]


def test_a_stranger_is_not_trusted(secure: Scripted) -> None:
    with pytest.raises(ModelError, match="no safe connection to localhost: self-signed") as caught:
        post_json(f"https://localhost:{port_of(secure)}/v1/messages", {}, {"authorization": KEY}, timeout=5)
    assert not caught.value.passing
    assert secure.requests == []


def test_ones_own_authority_is_trusted_for_its_own_name(
    secure: Scripted, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    path = f":{port_of(secure)}/v1/messages"
    assert post_json(f"https://localhost{path}", {}, timeout=5)["type"] == "message"
    with pytest.raises(ModelError, match="no safe connection"):
        post_json(f"https://127.0.0.1{path}", {}, timeout=5)


class Tunnel:
    """A proxy that knows CONNECT, and leads everything to one port of this machine."""

    def __init__(self, port: int) -> None:
        self.port, self.heads = port, []
        self.door = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        ours, _ = self.door.accept()
        self.heads.append(ours.recv(4096).decode())
        theirs = socket.create_connection(("127.0.0.1", self.port))
        ours.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        back = threading.Thread(target=self.carry, args=(theirs, ours), daemon=True)
        back.start()
        self.carry(ours, theirs)
        back.join()
        ours.close()
        theirs.close()
        self.door.close()

    @staticmethod
    def carry(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(4096):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def test_the_environments_proxy_is_a_tunnel_and_sees_no_key(
    secure: Scripted, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tunnel = Tunnel(int(port_of(secure)))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setattr(deadline_connection, "LOOPBACK", ())
    monkeypatch.setenv("https_proxy", f"http://me:word@127.0.0.1:{tunnel.door.getsockname()[1]}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    post_json("https://localhost/v1/messages", {}, {"authorization": KEY}, timeout=5)
    (head,) = tunnel.heads
    assert head.startswith("CONNECT localhost:443")
    assert "proxy-authorization: Basic bWU6d29yZA==" in head
    assert KEY not in head
    assert secure.requests[0].headers["authorization"] == KEY


@pytest.mark.parametrize("named", ["", "socks5://127.0.0.1:1", "https://127.0.0.1:1"])
def test_a_proxy_we_cannot_use_is_none(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", named)
    assert deadline_connection._proxy("example.org") is None


def test_no_proxy_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", "example.org")
    assert deadline_connection._proxy("api.example.org") is None
    assert deadline_connection._proxy("localhost") is None
    proxy = deadline_connection._proxy("example.net")
    assert proxy is not None
    assert (proxy.hostname, proxy.port) == ("proxy.example", 3128)


# ── what is shown ────────────────────────────────────────────────────────────────────────────────

SAYINGS: dict[str, Callable[[str], str]] = {
    "the key": lambda key: f"Incorrect key: {key.split()[1]} is not known",
    "the header": lambda key: f"bad header Authorization: {key}",
    "another's key": lambda key: "key sk-ant-api03-Zx81kQpLm93TtYv0aBcD-77 is over its limit",
    "controls": lambda key: "\x1b[31mred\x07\r\nBcc: x\x00\u202e",
    "too much": lambda key: "word " * 10_000,
    "a key at the edge": lambda key: "." * 190 + key.split()[1],
}


@pytest.mark.parametrize("saying", SAYINGS)
def test_what_the_server_says_is_shown_short_and_without_secrets(saying: str) -> None:
    error, _ = fail(["401"], said=SAYINGS[saying](KEY))
    shown = str(error.values["message"])
    everything = f"{error} {error!r} {error.values} {error.args}"
    assert len(shown) <= 200
    assert shown.isprintable()
    assert "kb-5f" not in everything
    assert "Zx81kQpLm93" not in everything


@pytest.mark.parametrize("key", ["kb-secret-1\r\nx: y", "kb-secret-1\x00", "kb-secret-1‐", "鍵"])
def test_a_key_that_cannot_be_sent_is_not_repeated(key: str) -> None:
    with pytest.raises(ModelError, match="characters that no key has") as caught:
        post_json(closed_port(), {}, {"x-api-key": key})
    assert "secret" not in f"{caught.value!r} {caught.value.__context__!r}"


def test_a_newline_after_the_key_is_forgiven() -> None:
    with Scripted() as server:
        post_json(server.url + "/v1/messages", {}, {"x-api-key": "kb-secret-1\n"})
        assert server.requests[0].headers["x-api-key"] == "kb-secret-1"


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_ends_in_an_answer_or_a_model_error(fault: str) -> None:
    of_vectors = any(word in fault for word in ("vector", "dimension", "index"))
    path = "/v1/embeddings" if of_vectors else "/v1/messages"
    told = ""
    with Scripted([fault]) as server:
        try:
            post_json(server.url + path, {"input": ["a", "b"]}, timeout=SHORT, tries=1)
        except ModelError as error:
            told = error.message_id
    assert not told or find(told, "ja")
