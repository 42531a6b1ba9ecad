"""Nothing private is stored: tags, own blocks, secrets; and who may see what is stored.

Every secret here is put together at run time, so that no scanner finds one in this file.
"""

import string
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori.core.model import strictest_privacy
from nagori.core.visibility import is_visible
from nagori.language.redaction import fit_to_keep, redact_secrets, strip_private

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
LEVELS = ["public", "agent-only", "private"]


def body(alphabet: str, size: int) -> st.SearchStrategy[str]:
    """Characters as a generator of keys would draw them."""
    return st.integers(0, 2**32).map(lambda seed: "".join(Random(seed).choices(alphabet, k=size)))


def prefixed(prefix: str, alphabet: str, size: int) -> st.SearchStrategy[str]:
    return body(alphabet, size).map(lambda rest: prefix + rest)


def jwt() -> st.SearchStrategy[str]:
    parts = [body(ALNUM + "_-", 20)] * 3
    return st.tuples(*parts).map(lambda p: ".".join(("ey" + "J" + p[0], "ey" + "J" + p[1], p[2])))


def luhn(digits: str) -> str:
    """The 15 digits with the check digit of a card."""
    total = sum(sum(divmod(int(d) * 2, 10)) if at % 2 == 0 else int(d) for at, d in enumerate(digits))
    return digits + str(-total % 10)


KINDS: dict[str, st.SearchStrategy[str]] = {
    "aws": prefixed("AK" + "IA", string.ascii_uppercase + "234567", 16),
    "github": st.one_of(prefixed("gh" + "p_", ALNUM, 36), prefixed("github" + "_pat_", ALNUM + "_", 60)),
    "gitlab": prefixed("gl" + "pat-", ALNUM + "_-", 20),
    "slack": prefixed("xo" + "xb-", string.digits + "-" + ALNUM, 40),
    "stripe": st.one_of(prefixed("sk" + "_live_", ALNUM, 24), prefixed("rk" + "_live_", ALNUM, 24)),
    "openai": st.one_of(prefixed("sk" + "-", ALNUM, 48), prefixed("sk" + "-proj-", ALNUM + "_-", 60)),
    "anthropic": prefixed("sk" + "-ant-api03-", ALNUM + "_-", 60),
    "google": prefixed("AI" + "za", ALNUM + "_-", 35),
    "huggingface": prefixed("h" + "f_", ALNUM, 34),
    "npm": prefixed("np" + "m_", ALNUM, 36),
    "pypi": prefixed("py" + "pi-AgEI", ALNUM + "_-", 60),
    "sendgrid": st.tuples(body(ALNUM, 22), body(ALNUM, 43)).map(lambda p: f"S{'G'}.{p[0]}.{p[1]}"),
    "twilio": prefixed("S" + "K", HEX, 32),
    "jwt": jwt(),
    "card": prefixed("4", string.digits, 14).map(luhn),
}
FILLER = st.text(st.sampled_from("abc XYZ 012 .,:;=-_/\n\"'()[]<>日本語のは。パスワード"), max_size=40)


@pytest.mark.parametrize("kind", KINDS)
@examples(60)
@given(data=st.data())
def test_no_secret_leaks_from_any_surroundings(kind: str, data: st.DataObject) -> None:
    secret = data.draw(KINDS[kind])
    before, after = data.draw(FILLER), data.draw(FILLER)
    text, kinds = redact_secrets(f"{before} {secret} {after}")
    assert secret not in text
    assert secret[12:] not in text
    assert kinds


PASSWORD = body(ALNUM + "!@#$%^*+?", 12).filter(lambda p: any(c.isdigit() for c in p) and p[0].isalpha())


@pytest.mark.parametrize(
    "frame",
    [
        "password: {}",
        'password = "{}"',
        "DB_PASSWORD={}",
        '{{"password": "{}", "user": 1}}',
        "pwd={}",
        "パスワードは{}です",
        "パスワード：{}",
        "パスワードは「{}」です",
        "passwd='{}'",
        "my password is {} ok",
        "https://user:{}@example.com/x",
        'password: str = "{}"',
        "x\n  secret_password : {}\n",
    ],
)
@examples(40)
@given(password=PASSWORD)
def test_the_value_of_a_password_goes_and_its_label_stays(frame: str, password: str) -> None:
    label = frame.split("{}", maxsplit=1)[0].replace("{{", "{")
    text, kinds = redact_secrets(frame.format(password))
    assert password not in text
    assert text.startswith(label)
    assert set(kinds) <= {"password", "url"}


@pytest.mark.parametrize(
    "frame",
    [
        "token: {}",
        "API_KEY={}",
        "api_key = '{}'",
        "APIキーは{}",
        "秘密鍵：{}",
        "client_secret={}&x=1",
        "Authorization: Bearer {}",
        "Authorization: Basic {}",
        "access_key: {}",
        "apikey={}",
        '"secret": "{}"',
    ],
)
@examples(40)
@given(value=body(ALNUM, 24))
def test_the_value_of_a_token_or_key_goes(frame: str, value: str) -> None:
    assume(any(c.isdigit() for c in value) and any(c.isalpha() for c in value))
    assert value not in redact_secrets(frame.format(value))[0]


@pytest.mark.parametrize(
    "text",
    [
        "WEATHER_KEY=b41c07fe9a2d58e6c3",
        "MAPS_KEY: b41c07fe9a2d58e6c3",
        "it looks like this: wx_live_b41c07fe9a2d58e6c3, and says 401",
        "TIDES_URL=https://api.example/v2\nTIDES_KEY=td_live_b41c07fe9a2d58e6c3",
    ],
)
def test_a_key_of_any_service_goes(text: str) -> None:
    assert "b41c07fe9a2d58e6c3" not in redact_secrets(text)[0]


def test_an_aws_secret_beside_its_key_id_goes_without_a_label() -> None:
    key, other = "AK" + "IA" + "QWERTYUIOP234567", "aB3/" * 10
    assert redact_secrets(f"{key}\n{other}") == ("[secret:aws]\n[secret:aws]", ("aws",))
    assert redact_secrets(other) == (other, ())


def test_private_keys_go_whole_or_torn() -> None:
    begin, end = "-----BEGIN RSA PRI" + "VATE KEY-----", "-----END RSA PRI" + "VATE KEY-----"
    lines = "\n".join(["MIIEabcdefghijklmnopqrstuvwxyz0123456789"] * 3)
    assert redact_secrets(f"a {begin}\n{lines}\n{end} b") == ("a [secret:pem] b", ("pem",))
    assert redact_secrets(f"a {begin}\n{lines}\nand then we left") == (
        "a [secret:pem]\nand then we left",
        ("pem",),
    )
    assert redact_secrets(begin.replace("PRIVATE", "PUBLIC") + lines)[1] == ()


def test_a_slack_webhook_keeps_its_host() -> None:
    url = "https://hooks.slack" + ".com/services/"
    text, kinds = redact_secrets(url + "T12AB34CD/B98ZY76XW/abcDEF123ghiJKL456mnoPQR")
    assert (text, kinds) == (url + "[secret:slack]", ("slack",))


def test_my_number_goes_only_with_its_label() -> None:
    assert redact_secrets("マイナンバーは1234-5678-9012です")[0] == "マイナンバーは[secret:my-number]です"
    assert redact_secrets("注文番号は1234-5678-9012です")[1] == ()


@pytest.mark.parametrize("written", ["4111 1111 1111 1111", "4111-1111-1111-1111", "カ4111111111111111。"])
def test_card_numbers_go_by_their_check_digit(written: str) -> None:
    assert redact_secrets(written)[1] == ("card",)
    assert redact_secrets(written.replace("4111", "4112", 1))[1] == ()


BENIGN = [
    "the password is stored in the vault",
    "password: required",
    "token: 1500 tokens",
    "パスワードは忘れました",
    'password = os.environ["X"]',
    "password=${VAR}",
    "token: <your-token>",
    "password: ****",
    "max_tokens=4096",
    "password: str",
    "token: Optional[str] = None",
    "secret: kubernetes/prod-db-1",
    "password=password",
    "def login(user, password=None, token=token): ...",
    "パスワードは1Passwordに保存しています",
    "パスワードはBitwardenで管理",
    "パスワードは8文字以上にしてください",
    "暗証番号は4桁です",
    "パスワードは必須です",
    "Authorization: Bearer <token>",
    "Authorization: Basic authentication is off",
    "https://user:password@host/",
    "https://example.com:8080/a@b",
    "https://${USER}:${PASS}@host",
    "token=self.token2",
    "ssh://git@github.com:22/x",
    "the password is base64-encoded",
    "password: config.db.password1",
    "AKIAIOSFODNN7" + "EXAMPLE",
    "ghp_" + "x" * 36,
    "sk-learn-compatible-estimators-are-nice",
    "a task-management-system-for-everyone",
    "token_type: bearer",
    "order 1234 5678 9012 3456",
    "PASSWORD_MIN_LENGTH=12345",
    "api key: see README.md",
    "token: 2024-05-01T10:00:00Z",
    "secretary: John123456",
    '"password": "Enter your password"',
    "session token is 32 bytes",
    "the secret is out",
    "key: value",
    "sha 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "550e8400-e29b-41d4-a716-446655440000",
    "at 1700000000000 ms",
    "npm_config_registry=https://r.example",
    "password: string (min 8)",
    "const token = await getToken2(user)",
    "password is 12 characters",
    "pi 3.141592653589793",
    "token = tokens[0]",
    "`password: {password}`",
    "secret: [REDACTED]",
    "パスワード：********",
    "トークンは1500個",
    "the access key: rotate it monthly",
    "eyJust a word",
    "xoxo love",
    "SK is Slovakia",
    "SG. is Singapore",
    "Bearer authentication is required here",
    "password: null, token: undefined",
    "AIzawa is a name",
    "passcode: v1.2.3",
    "pwd: /home/user/src1",
    "the password is sha256-hashed",
    "password: 8-characters",
    "SORT_KEY=created_at_2024",
    "CACHE_KEY=user:1234:profile",
    "S3_KEY=backups/2026-01-04.tar.gz",
    "PARTITION_KEY=tenant_id_v2",
]


@pytest.mark.parametrize("text", BENIGN)
def test_what_only_looks_like_a_secret_is_kept(text: str) -> None:
    assert (fit_to_keep(text), redact_secrets(text)) == (text, (text, ()))


# ── marked passages ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <private>x</private> b", "a b"),
        ("a<PRIVATE why='y'>x\nz</Private>b", "a b"),
        ("a <private>x <private>y</private> z</private> b", "a b"),
        ("a <private>to the end", "a"),
        ("a <private", "a"),
        ("a ＜private＞x＜/private＞ b", "a b"),
        ("a </private> b", "a b"),
        ("a <private/> b", "a b"),
        ("a\n<private>x</private>\nb", "a\n\nb"),
        ("<privateer> and <private_x>", "<privateer> and <private_x>"),
        ("the private key < the public one", "the private key < the public one"),
        ("<memories count=2>\n- [2026-05-01][L2] x\n</memories>\nhello", "hello"),
        ("<memories>\n- [2026-05-01][L2] x\n- [2026-05-02][L1] y\nhello", "hello"),
        ("<memories> torn, hello <memories>z</memories> you", "torn, hello you"),
        ("my memories < yours", "my memories < yours"),
    ],
)
def test_private_passages_and_own_blocks_leave_no_trace(text: str, expected: str) -> None:
    assert strip_private(text) == expected


def test_what_is_marked_and_what_is_secret_is_not_kept() -> None:
    text = "<private>a</private><memories>b</memories> password: " + "hunter" + "2x"
    assert fit_to_keep(text) == "password: [secret:password]"


PIECES = [
    "<private>",
    "</private>",
    "<private",
    "<memories>",
    "</memories>",
    "<memories",
    ">",
    "<",
    "/",
    " ",
    "\n",
    "private",
    "\n- [x] y",
    "password",
    ": ",
    "=",
    '"',
    "'",
    "は",
    "token",
    "secret",
    "[secret:",
    "]",
    "hunter2x",
    "abc",
    "4111",
    "://u:",
    "@h",
    "Bearer ",
    "AKIA" + "QWERTYUIOP234567",
    "ghp" + "_" + "a1B2c3D4e5F6" * 3,
    "sk" + "-" + "aB1" * 16,
    ".",
    "4111 1111 1111 1111",
    "-----BEGIN PRI" + "VATE KEY-----",
    "-----END PRI" + "VATE KEY-----",
    "_X",
    "&",
    ",",
    "\\n",
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=14).map("".join))
@examples(1500)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = fit_to_keep(text)
    assert fit_to_keep(once) == once


@given(st.text(st.characters(exclude_categories=()), max_size=60), st.text(max_size=20))
def test_nothing_inside_a_private_passage_survives(outside: str, inside: str) -> None:
    assume("private" not in inside)
    assert "XYZZY" not in strip_private(f"{outside}<private>{inside}XYZZY</private>")
    assume("<" not in outside and "＜" not in outside)
    assert strip_private(outside + "<private>" + "XYZZY") == outside.rstrip(" \t")


@pytest.mark.parametrize(
    "unit",
    [
        "<private ",
        "<private>",
        "<memories>",
        "<memories>\n- [",
        "ghp_",
        "eyJ",
        "eyJa-",
        "eyJaaaaaaaaa.",
        "sk-",
        "-sk-a",
        "password=",
        "token=",
        "token: token: ",
        "パスワードは",
        "password「",
        "://a:",
        "Bearer ",
        "AKIA",
        "4",
        "4 ",
        "SG.a",
        "-----BEGIN PRI" + "VATE KEY-----",
        "-----BEGIN ",
        "key_A",
        "マイナンバー",
        "xoxb-",
        "a1/",
        "pass",
        "secret:\t",
        "A_",
    ],
)
@pytest.mark.parametrize("prefix", ["", "password: token= private key memories < @ :// bearer マイナンバー "])
def test_hostile_repetition_is_redacted_for_good(unit: str, prefix: str) -> None:
    """A step that is not linear would never finish here."""
    safe = fit_to_keep(prefix + unit * (100_000 // len(unit)))
    assert fit_to_keep(safe) == safe


# ── who may see ──────────────────────────────────────────────────────────────────────────────────────

NAME = st.sampled_from([None, "a", "b"])


def seen(
    level: str,
    owner: tuple[str | None, str | None],
    asker: tuple[str | None, str | None],
    unnamed_agent: bool = False,
) -> bool:
    return is_visible(
        level,
        owner_agent=owner[0],
        owner_role=owner[1],
        asker_agent=asker[0],
        asker_role=asker[1],
        unnamed_agent=unnamed_agent,
    )


@pytest.mark.parametrize(
    ("level", "owner", "asker", "expected"),
    [
        ("public", ("a", "coder"), ("b", "tester"), True),
        ("private", ("a", "coder"), ("a", "tester"), True),
        ("private", ("a", "coder"), ("b", "coder"), False),
        ("private", (None, None), ("a", "coder"), False),
        ("private", ("a", "coder"), (None, None), True),
        ("private", (None, None), (None, None), True),
        ("agent-only", ("a", "coder"), ("b", "coder"), True),
        ("agent-only", ("a", "coder"), ("b", "tester"), False),
        ("agent-only", ("a", None), ("b", None), False),
        ("agent-only", (None, None), ("b", "coder"), False),
        ("agent-only", ("a", "coder"), (None, None), True),
        ("no such level", ("a", "coder"), ("b", "coder"), False),
    ],
)
def test_a_memory_is_seen_by_those_it_is_meant_for(
    level: str, owner: tuple[str | None, str | None], asker: tuple[str | None, str | None], expected: bool
) -> None:
    assert seen(level, owner, asker) is expected


@pytest.mark.parametrize("owner", [("a", "coder"), (None, "coder"), (None, None)])
def test_an_agent_without_a_name_sees_what_is_public(owner: tuple[str | None, str | None]) -> None:
    shown = [seen(level, owner, (None, None), unnamed_agent=True) for level in LEVELS]
    assert shown == [level == "public" for level in LEVELS]
    assert seen("private", ("a", "coder"), ("a", None), unnamed_agent=True)  # it has a name


@given(st.tuples(NAME, NAME), st.tuples(NAME, NAME))
def test_a_stricter_level_never_shows_more(
    owner: tuple[str | None, str | None], asker: tuple[str | None, str | None]
) -> None:
    shown: list[bool] = [seen(level, owner, asker) for level in LEVELS]
    assert shown == sorted(shown, reverse=True)


@given(st.lists(st.sampled_from(LEVELS)))
def test_what_is_derived_is_as_private_as_its_most_private_source(levels: list[str]) -> None:
    rank: Callable[[str], int] = LEVELS.index
    assert strictest_privacy(levels) == max(levels, key=rank, default="public")
    assert strictest_privacy([*levels, "typo"]) == "private"


def test_a_type_argument_in_code_is_no_private_passage() -> None:
    code = "class Box(List<Private>): keep all of this"
    assert strip_private(code) == code
    assert strip_private("note<private>secret</private> rest").strip() == "note rest"
    assert "secret" not in strip_private("note <private> secret to the end")


def test_a_password_of_letters_only_is_believed_where_it_is_surely_one() -> None:
    for text in ("DB_PASSWORD=swordfish", "パスワードはswordfishです", 'password: "swordfish"'):
        assert "swordfish" not in redact_secrets(text)[0], text
    for text in ("password: required", "the password: optional field", "PASSWORD=none"):
        assert redact_secrets(text)[0] == text


def test_an_empty_tag_inside_a_private_passage_ends_nothing() -> None:
    assert strip_private("a <private>b <private/> c</private> d").split() == ["a", "d"]


def test_what_may_be_written_down_is_chosen_rule_by_rule() -> None:
    text = "a\x00 <private>diary</private> password: hunter2-Xk9!q "
    assert fit_to_keep(text).startswith("a ")
    assert "diary" not in fit_to_keep(text)
    assert "diary" in fit_to_keep(text, strip=False)
    assert "hunter2-Xk9!q" not in fit_to_keep(text)
    assert "hunter2-Xk9!q" in fit_to_keep(text, redact=False)
    assert "\x00" not in fit_to_keep(text, strip=False, redact=False)
