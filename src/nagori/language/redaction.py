"""Redact text before it is stored: private passages, injected memory blocks and secrets [ruling 27].

Every pattern is bounded or anchored, so hostile text costs linear time. A pattern whose trigger does not
occur costs one substring search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from nagori.core.value_object import clean_text
from nagori.language.credentials import EDGE, OPEN_KEYS, PREFIXED, SPOKEN, TOKENS, WRITTEN, is_aws_secret

WITHHELD = "[private]"  # recorded for a prompt that is private as a whole: its answer is not kept


def fit_to_keep(text: str, *, strip: bool = True, redact: bool = True) -> str:
    """`text` as it may be stored: clean, without private passages, injected blocks and secrets. Applying it
    twice changes nothing more."""
    text = clean_text(text)
    if strip:
        text = strip_private(text)
    if redact:
        text, _ = redact_secrets(text)
    return text.strip()


# ── passages that were never meant for memory ────────────────────────────────────────────────────────

# `<private` at a cut-off end or before another tag counts as a tag: in doubt it is removed.
_PRIVATE = r"[<＜](?P<end>/?)private(?=[\s/<>＞]|$)[^<>＜＞]*[>＞]?"
_MEMORIES = r"(?P<tag><(?P<end>/?)memories(?=[\s/<>]|$)(?:[^<>\n]*>)?)"
_OWN_LINES = r"(?:[ \t]*\n[ \t]*- \[[^\n<]*)*"  # `- [2026-05-01][L2] …` as edges/cli/render writes them


def strip_private(text: str) -> str:
    """Text without `<private>` passages (an unclosed one reaches to the end) and injected `<memories>`
    blocks.

    An unclosed `<memories>` loses its tag and the memory lines right after it; the rest belongs to the user.
    """
    return without_memories(_without_private(text))


def _without_private(text: str) -> str:
    marked = ("<" in text or "＜" in text) and "private" in text.casefold()
    return _cut(text, _private_spans(text)) if marked else text


def without_memories(text: str) -> str:
    """Text without injected blocks: a memory that was shown must not be counted as said again."""
    return _cut(text, _memory_spans(text)) if "<" in text and "memories" in text.casefold() else text


def _private_spans(text: str) -> Iterator[tuple[int, int]]:
    depth = start = 0
    for tag in re.finditer(_PRIVATE, text, re.IGNORECASE):
        if tag[0].endswith(("/>", "/＞")):
            if not depth:
                yield tag.span()
        elif not tag["end"]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end()
        else:
            yield tag.span()
    if depth and not _type_argument(text, start):
        yield start, len(text)


def _type_argument(text: str, at: int) -> bool:
    """Whether this is a type such as `List<Private>` in code: right behind a name, and never closed."""
    before = text[at - 1 : at]
    return text.startswith("<Private>", at) and before.isascii() and before.isalnum()


def _memory_spans(text: str) -> Iterator[tuple[int, int]]:
    open_at = own_end = -1
    for tag in re.finditer(f"{_MEMORIES}(?P<own>{_OWN_LINES})", text, re.IGNORECASE):
        if open_at >= 0:
            yield open_at, tag.end("tag") if tag["end"] else own_end
        elif tag["end"]:
            yield tag.span("tag")
        open_at, own_end = (-1, -1) if tag["end"] else tag.span()
    if open_at >= 0:
        yield open_at, own_end


def _cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Remove the spans. A space stays between two pieces, so that they never form a new tag."""
    out: list[str] = []
    at = 0
    for start, end in [*spans, (len(text), len(text))]:
        piece = text[at:start]
        piece = piece.lstrip(" \t" if out else None) if at else piece
        piece = piece.rstrip(" \t") if start < len(text) else piece
        if out and piece and not (out[-1].endswith("\n") or piece.startswith("\n")):
            out.append(" ")
        out += [piece] if piece else []
        at = end
    return "".join(out)


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────

_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"  # \n in JSON text does not count as a letter
_BODY = "[A-Za-z0-9_-]"
# kind -> trigger substring, and the pattern; group 1 if only a part is removed.
# Removing one secret must not expose another to a second pass: each pattern consumes all letters and
# digits at its end, and those that need an edge come after those that do not.
_KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "github": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        "gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}",
    ),
    "gitlab": (("glpat-",), f"glpat-{_BODY}{{20,}}(?:[.]{_BODY}+)*"),
    "slack": (
        ("xox", "xapp-", "hooks.slack.com"),
        "xox[abceoprs](?:[.]xox[a-z])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}"
        "|hooks[.]slack[.]com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{16,})",
    ),
    "stripe": (("k_live_",), "[sr]k_live_[A-Za-z0-9]{16,}"),
    "anthropic": (("sk-ant-",), f"sk-ant-{_BODY}{{20,}}"),
    "google": (("AIza", "GOCSPX-", "ya29."), f"AIza{_BODY}{{35,}}|(?:GOCSPX-|ya29[.]){_BODY}{{20,}}"),
    "pypi": (("pypi-Ag",), f"pypi-Ag{_BODY}{{30,}}"),
    "openai": (
        ("sk-",),
        f"{_EDGE}sk-(?={_BODY}{{0,60}}[0-9A-Z])"  # sk-learn-… is an ordinary word
        f"(?:(?:proj|svcacct|admin)-|(?:[a-z0-9]{{1,8}}-){{0,3}}(?=[A-Za-z0-9_]{{20}})){_BODY}{{20,}}",
    ),
    "huggingface": (("hf_",), _EDGE + "hf_[A-Za-z0-9]{30,}"),
    "npm": (("npm_",), _EDGE + "npm_[A-Za-z0-9]{36,}"),
    "sendgrid": (("SG.",), f"{_EDGE}SG[.]{_BODY}{{16,}}[.]{_BODY}{{16,}}"),
    "jwt": (("eyJ",), f"(?:(?<!{_BODY})|(?<=\\\\[nrt]))eyJ{_BODY}{{8,}}[.]{_BODY}{{8,}}[.]{_BODY}{{8,}}"),
    "twilio": (("SK",), _EDGE + "SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    "aws": (("AKIA", "ASIA", "ABIA", "ACCA"), _EDGE + "A(?:[KSB]I|CC)A[A-Z0-9]{16,}(?![A-Za-z0-9])"),
}
_LONG_RUN = "[A-Za-z0-9+/=_~.@-]{16}"  # what has no run as long as this holds no token with a prefix
_URL = r"://[^\s/:@\"'<>]{0,128}:([^\s/\"'<>]{1,256})@(?=[A-Za-z0-9\[])"
_AUTH = (
    r"(?i)(?:authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)|bearer)\s{1,3}"
    r"([A-Za-z0-9_.~+/=-]{8,})"
)
_CARD = (
    r"\d(?<![0-9A-Za-z_.-].)(?:\d{3}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}|(?<=3)\d{3}[ -]?\d{6}[ -]?\d{4,5})"
    r"(?![0-9A-Za-z_]|[.-]\d)"
)
_MY_NUMBER = r"(?i)(?:マイナンバー|個人番号|my number)[^\d\n]{0,12}(\d{4}[ -]?\d{4}[ -]?\d{4})(?![ -]?\d)"
_AWS_SECOND_HALF = "(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
_LABEL_HINTS = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "code",
    "パス",
    "暗証番号",
    "秘密鍵",
    "キー",
    "トークン",
)
# A label and its equals sign. `[secret:password]`, which redaction writes, is not a label.
_LABEL = (
    r"(?=[AaBbEeKLlMmPpRrSsTtパ暗秘アト])(?:(?P<pass>(?i:pass(?:word|wd|phrase|code)|pwd)|パスワード|パスフレーズ|暗証番号)"
    r"|(?i:(?:secret|private|api|access|auth|signing|encryption|account|storage|admin|master|licen[cs]e)"
    r"[ _-]?(?:access[_-]?)?key|(?:recovery|backup)[ _-]?code|secret|token)|(?P<env>(?<=[A-Z0-9]_)KEY)"
    r"|秘密鍵|(?:(?i:api)|アクセス)[ ・]?キー|トークン)(?![A-Za-z])"
    r"(?<!\[secret:password)(?!(?<=\[secret):[a-z-]+\])"
    r"(?P<suffix>(?:_[A-Z0-9]{1,20}){0,3})[0-9]{0,2}[\"'`)\]]{0,2}"
    r"(?P<sep>\s{0,3}(?::\s{0,2}(?:str|bytes|[Ss]tring)(?:\s?\|\s?None)?\s{0,2}=|=>|[:=：＝は]=?)|\s{1,3}is\s)"
)
_VALUE = (
    r"[ \t　]{0,3}(?:\"(?P<q1>[^\"\n]{4,400})\"|'(?P<q2>[^'\n]{4,400})'|[「『](?P<q3>[^」』\n]{4,99})[」』]"
    r"|[\"'「]?(?P<bare>(?:[!#-%(-+\--:=?-_a-~]|[&,;](?!\w{0,40}[:=]|\s|$|[\"']))+))"
)


def redact_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """Text with each secret replaced by `[secret:kind]`, and the kinds that were found."""
    kinds: list[str] = []
    low = text.casefold()
    if "private key" in low:
        text = _without_keys(text, kinds)
    for kind, (triggers, pattern) in _KINDS.items():
        if any(trigger in text for trigger in triggers):
            text = _replace(kind, pattern, text, kinds, _random)
    if re.search(_LONG_RUN, text):
        for kind, (triggers, pattern) in PREFIXED.items():
            if any(trigger in text for trigger in triggers):
                text = _replace(kind, pattern, text, kinds, _random)
        for trigger, pattern in TOKENS:
            if trigger in text:
                text = _replace("token", f"{EDGE}(?:{pattern}){_BODY}*", text, kinds, _random)
    if "aws" in kinds:
        text = _replace("aws", _AWS_SECOND_HALF, text, kinds, is_aws_secret)
    if "://" in low and "@" in low:
        text = _replace("url", _URL, text, kinds, lambda value: not _placeholder(value))
    if "bearer" in low or "authorization" in low:
        text = _replace("auth", _AUTH, text, kinds, lambda value: _classes(value) > 1)
    if any(label in low for label in ("マイナンバー", "個人番号", "my number")):
        text = _replace("my-number", _MY_NUMBER, text, kinds, bool)
    text = _replace("card", _CARD, text, kinds, _card)
    if any(hint in low for hint in _LABEL_HINTS):
        text = _without_assigned(text, kinds)
    for kind, triggers, pattern, shape in (*WRITTEN, *SPOKEN):
        if any(trigger in low for trigger in triggers):
            text = _replace(kind, pattern, text, kinds, _and_not_harmless(shape))
    return text, tuple(dict.fromkeys(kinds))


def _replace(kind: str, pattern: str, text: str, kinds: list[str], real: Callable[[str], bool]) -> str:
    """Replace the group that matched, or the whole match if none did, by `[secret:kind]`."""

    def put(found: re.Match[str]) -> str:
        group = found.lastindex or 0
        if not real(found[group]):
            return found[0]
        kinds.append(kind)
        start, end = (at - found.start() for at in found.span(group))
        return f"{found[0][:start]}[secret:{kind}]{found[0][end:]}"

    return re.sub(pattern, put, text)


def _and_not_harmless(shape: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda value: shape(value) and not _placeholder(value) and not _harmless().fullmatch(value)


def _without_assigned(text: str, kinds: list[str]) -> str:
    """Redact the values of `password = …`. A value ends where the next label begins, so this is linear."""
    out, at = [], 0
    labels = list(re.finditer(_LABEL, text))
    value_at = re.compile(_VALUE)
    for label, following in zip(labels, [*labels[1:], None], strict=False):
        found = value_at.match(text, label.end(), following.start() if following else len(text))
        if not found or not found.lastgroup:
            continue
        start, value = found.start(found.lastgroup), found[found.lastgroup].rstrip(".)")
        if _is_assigned_secret(label, value, found.lastgroup == "bare", text[found.end() : found.end() + 2]):
            kinds.append("password" if label["pass"] else "credential")
            out += [text[at:start], f"[secret:{kinds[-1]}]"]
            at = start + len(value)
    return "".join((*out, text[at:]))


def _without_keys(text: str, kinds: list[str]) -> str:
    """Redact PEM private keys; an unfinished one loses the lines that look like key material."""
    out, at = [], 0
    close = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
    gap = r"(?:\s|\\[nr]){0,4}"
    loose = re.compile(f"(?:{gap}[A-Za-z0-9+/=]{{16,}})*(?:{gap}[A-Za-z0-9+/]{{1,15}}={{1,2}})?")
    begins = list(re.finditer(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", text))
    for begin, following in zip(begins, [*begins[1:], None], strict=False):
        limit = following.start() if following else len(text)
        end = close.search(text, begin.end(), limit) or loose.match(text, begin.end(), limit)
        out += [text[at : begin.start()], "[secret:pem]"]
        at = end.end() if end else begin.end()
        kinds.append("pem")
    return "".join((*out, text[at:]))


# ── what a real value looks like ─────────────────────────────────────────────────────────────────────


def _classes(value: str) -> int:
    """How many character classes occur: lower case, upper case (beyond the first letter), digits."""
    return sum(bool(re.search(kind, value)) for kind in ("[a-z]", "(?<!^)[A-Z]", "[0-9]"))


def _random(value: str) -> bool:
    """Whether a value looks random. ghp_xxxx and AKIA…EXAMPLE are documentation."""
    return len(set(value.lower())) > 6 and not re.search(r"([^-])\1{7}|EXAMPLE", value)


def _card(written: str) -> bool:
    digits = [int(char) for char in written if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    issuer = "4|5[1-5]|2[2-7]|35|6(?:011|4[4-9]|5)|3[0-8]"
    return (
        bool(re.match(issuer, "".join(map(str, digits)))) and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
    )


@cache
def _placeholders() -> re.Pattern[str]:
    return re.compile(
        r"(?i)\$[{(].*|\$[a-z_]+|%\w*%?|\{.*|\[.*|<.*|(.)\1*|\.\..*|\W+|[x._-]+"
        r"|(?:your|my[-_ ]|example|sample|dummy|fake|placeholder|changeme|redacted|hidden|todo)[a-z_ -]*"
        r"|pass(?:word|wd)?|pwd|secret|token|user|admin|root"
    )


def _placeholder(value: str) -> bool:
    return bool(_placeholders().fullmatch(value))


@cache
def _harmless() -> re.Pattern[str]:
    """Values that are not secrets: code, addresses, amounts, dates, names of algorithms."""
    dot = r"(?:\.|->|::)"
    roots = "self|this|config|cfg|settings|env|os|process|secrets|args|options|data|request|user|ctx|app|var"
    return re.compile(
        rf"[A-Za-z_][\w$]*(?:{dot}[A-Za-z_][\w$]*)*[(\[{{].*"  # os.environ["X"], Optional[str]
        rf"|(?:{roots}){dot}.*|[A-Za-z_]+(?:{dot}[A-Za-z_]+)+"
        r"|[A-Za-z][A-Za-z0-9+.-]*://.*|[~.]{0,2}/[\w./-]+|[a-z0-9._-]+(?:/[a-z0-9._-]+)+"
        r"|[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}(?:T.*)?|[0-9]{1,2}(?::[0-9]{2}){1,2}|v?[0-9]+(?:\.[0-9]+)+"
        r"|[0-9][0-9.,]*-?(?i:[kxsh%]|[kmg]b|ms"
        r"|(?:char|character|digit|token|byte|bit|sec|second|min|minute|hour|day|week|month|year|time)s?)"
        r"|(?i:sha-?[0-9]+|md5|base64|utf-?8|oauth2?|bcrypt|argon2\w*|pbkdf2|ed25519|rsa|aes|1password|bearer|jwt)"
        r"(?:[-_ .].*)?"  # names with underscores; checked before the word itself
        r"|(?=[a-z0-9]+(?:_[a-z0-9]+)*+\Z)(?:[a-z0-9]+_)*(?:password|passwd|pwd|secret|token|key)(?:_[a-z0-9]+)*"
    )


@cache
def _prose() -> re.Pattern[str]:
    return re.compile(
        "(?i)required|optional|string|invalid|expired|missing|correct|incorrect|unknown|default|changed|stored"
        "|encrypted|hashed|plaintext|disabled|enabled|protected|undefined"
        "|[a-z_-]*(?:password|passwd|secret|token)[a-z_-]*|(?:[a-z]+[_-])*(?:key|field|input|label)"
    )


def _is_assigned_secret(label: re.Match[str], value: str, bare: bool, after: str) -> bool:
    """Whether the value after a label is a secret rather than prose, code or a placeholder."""
    separator = label["sep"].strip()
    if len(value) < 4 or " " in value or _placeholder(value):  # a hint: "at least 8 characters"
        return False
    if bare and re.match("で(?![すし])|[にをのとがへも桁文字回]", after):  # パスワードは1Passwordに保存
        return False
    if value.isdigit():
        return bool(label["pass"]) and not label["suffix"] and separator != "is"
    if (bare or not label["pass"]) and _harmless().fullmatch(value) and not is_aws_secret(value):
        return False
    both = bool(re.search("[A-Za-z]", value) and re.search("[0-9]", value))
    if label["env"]:  # WIND_KEY=…; SORT_KEY=created_at2 is a name
        runs = re.findall("[A-Za-z0-9]{12,}", value)
        return any(_random(run) and len(re.findall("[0-9]", run)) >= 3 for run in runs)
    if not label["pass"]:
        return both and len(value) >= 8
    if separator == "is":
        return both and len(value) >= 6
    return _is_plausible_password(label, value, bare, after) if re.fullmatch("[A-Za-z_-]+", value) else True


def _is_plausible_password(label: re.Match[str], value: str, bare: bool, after: str) -> bool:
    """Whether a password of letters is real: in quotes, in `DB_PASSWORD=word` and in 「…は word です」."""
    if len(value) < 6 or _prose().fullmatch(value):
        return False
    if re.fullmatch("[a-z]{3,}(?:-[a-z]{3,}){2,}", value):  # words joined by hyphens
        return True
    name = label["pass"].isascii() and label["pass"].isupper()
    of_a_name = label.string[label.start() - 1 : label.start()] == "_"  # DB_PASSWORD: in YAML
    shell = name and (label["sep"] == "=" or (of_a_name and label["sep"] == ":"))
    said = label["sep"].strip() == "は" and re.match("で[すし]|だ|。|\\s|$", after) is not None
    return not bare or shell or said


# --- questions after secrets ----------------------------------------------------------------------


_SECRETS = (
    *("pass", "key", "token", "credential", "pin", "cvv", "secret", " code", "combination"),
    *("パス", "暗証", "合言葉", "キー", "シークレット", "秘密", "トークン", "解錠", "解除", "開錠"),
    *("k_live_", "k_test_", "鍵", "庫の番号", "ボックスの番号", "ロックの番号", "ダイヤルの番号"),
)


def asks_for_secret(text: str) -> bool:
    """Does it ask for a password, key or token? None is kept, so none can be told."""
    low = text.lower()  # the pattern takes milliseconds to compile, and most prompts name no such thing
    return any(word in low for word in _SECRETS) and _asks_for_secret().search(text) is not None


@cache
def _asks_for_secret() -> re.Pattern[str]:
    lock = "(?:door|gate|alarm|keypad|safe|vault|padlock|lock(?:er)?|garage|entry)"
    named = (
        r"(?:pass ?(?:word|code|phrase)s?|(?:api|access|secret|licen[cs]e|private|signing) ?keys?|tokens?"
        rf"|credentials?|pins?(?: code)?|cvv|secrets?|(?:{lock} ){{1,2}}(?:code|combination)"
        r"|(?-i:[A-Z][A-Z0-9_]{1,40}_(?:KEY|TOKEN|SECRET|PASS(?:WORD)?|PWD))"
        rf"|(?:the|that|our|my) (?:[\w'’.-]{{1,20}} ){{0,2}}?(?!(?:{OPEN_KEYS}) )[\w'’.-]{{2,30}} key"
        r"(?=[?,.]|$| (?:again|that|i|we|you|for|from)\b))"
    )
    asked = (
        r"(?:what(?:'s|s| is| was| were| are)|what did (?:i|we|you) say|which (?:is|was)|remind me of"
        r"|(?:tell|give|show|send|paste|read) me|do you (?:know|have|remember|recall))"
    )
    kept = "(?:キーボックス|(?:鍵|キー)の?ボックス|[一-龠]庫|(?:オート|スマート)ロック|ダイヤル)の?番号"
    secret = (
        "(?:パスワード|パスコード|暗証番号|合言葉|アクセスキー|シークレット(?:キー)?|秘密鍵|トークン|APIキー"
        f"|(?:解錠|解除|開錠)(?:コード|番号)|(?:テスト|本番|署名|API)の?鍵|[sprw]k_(?:live|test)_|{kept})"
    )
    japanese = (
        f"{secret}"
        "(?!の?(?:方式|形式|種類|仕組み|期限|有効期|寿命|上限|消費|長さ|数|更新|検証|設計|置き場|保存先|発行元))[^。\n]{0,30}(?:何|なん|教え|おしえ|出して|覚えて|っけ|わかる|ちょうだい|貼って|見せて|いくつ|なんぼ|[?？])"
        f"|{secret}[^\n]{{0,40}}続き"
    )
    # A token limit is no secret.
    about = "bucket|limit|count|budget|manager|rotation|polic|format|method|scheme|type|lifetime|expir|length"
    return re.compile(
        rf"\b{asked}\b[^.?!\n]{{0,60}}\b{named}\b(?! (?:{about}))"
        rf"|\b{named}\b(?! (?:{about}))[^.?!\n]{{0,30}}\bagain\b[^.\n]{{0,40}}\?"
        rf"|\b{named}\b(?! (?:{about}))[^.?!\n]{{0,40}}\b(?:which|what)(?: one)? (?:was|is) (?:it|that)\b"
        rf"|^(?:[\w'’-]{{1,20}} ){{0,4}}{named}\?|{japanese}",
        re.IGNORECASE,
    )
