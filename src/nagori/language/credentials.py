"""What secrets look like: tokens with a documented prefix, command lines and headers, and ordinary sentences.

Only data and shapes; `redaction.py` puts them to use. Every pattern is bounded or anchored, eats all letters
and digits at its end, and leaves `[secret:…]` alone, so that redacting twice changes nothing more.
"""

# ruff: noqa: E501 — a pattern is easier to read in one piece
from __future__ import annotations

import re
from collections.abc import Callable

EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_BODY = "[A-Za-z0-9_-]"

# kind -> what must occur for the pattern to be worth trying, and the pattern; group 1 if only a part goes.
PREFIXED: dict[str, tuple[tuple[str, ...], str]] = {
    "shopify": (
        ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"),
        f"{EDGE}shp(?:at|ca|pa|ss|ua|tka)_[A-Za-z0-9]{{24,}}",
    ),
    "digitalocean": (("_v1_",), f"{EDGE}do[opr]_v1_[A-Za-z0-9]{{32,}}"),
    "telegram": ((":AA",), r"(?:(?<![0-9A-Za-z:])|(?<=\\[nrt]))[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    "discord": (
        (".com/api/webhooks/",),
        r"discord(?:app)?[.]com/api/webhooks/[0-9]{1,24}/([A-Za-z0-9_-]{24,})",
    ),
    "vault": (("hvs.", "hvb.", "hvr."), f"{EDGE}hv[sbr][.]{_BODY}{{20,}}"),
    "groq": (("gsk_",), f"{EDGE}gsk_[A-Za-z0-9]{{32,}}"),
    "xai": (("xai-",), f"{EDGE}xai-{_BODY}{{40,}}"),
    "notion": (("ntn_", "secret_"), f"{EDGE}(?:ntn_[A-Za-z0-9]{{32,}}|secret_[A-Za-z0-9]{{40,}})"),
    "linear": (("lin_",), f"{EDGE}lin_(?:api|oauth|wh)_[A-Za-z0-9]{{24,}}"),
    "docker": (("dckr_",), f"{EDGE}dckr_[a-z]{{2,4}}_{_BODY}{{20,}}"),
    "grafana": (
        ("glsa_", "glc_"),
        f"{EDGE}(?:glsa_[A-Za-z0-9]{{24,}}(?:_[A-Fa-f0-9]{{8,}})?|glc_[A-Za-z0-9+/=]{{32,}})",
    ),
    "databricks": (("dapi",), f"{EDGE}dapi[A-Za-z0-9]{{32,}}(?:-[0-9]+)?"),
    "azure": (
        ("8Q~", "7Q~", "AccountKey", "SharedAccess", "sig="),
        r"(?:(?<![A-Za-z0-9_~.-])|(?<=\\[nrt]))[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,}"
        r"|(?:AccountKey|SharedAccessKey)\s{0,2}=\s{0,2}([A-Za-z0-9+/=]{16,})"
        r"|[?&;]sig=([A-Za-z0-9%+/=_-]{20,})",
    ),
    "gitlab": (
        tuple(f"gl{use}-" for use in ("dt", "rt", "ptt", "soat", "ft", "imt", "agent", "cbt", "ffct", "oas")),
        f"{EDGE}gl(?:dt|rt|ptt|soat|ft|imt|agent|cbt|ffct|oas)-{_BODY}{{20,}}",
    ),
    "atlassian": (
        ("ATATT3", "ATCTT3", "ATBB"),
        f"{EDGE}(?:AT[AC]TT3{_BODY}{{40,}}=*[A-Za-z0-9=]*|ATBB[A-Za-z0-9]{{24,}})",
    ),
    "sentry": (("sntry",), f"{EDGE}sntry[su]_[A-Za-z0-9+/=_-]{{32,}}"),
    "square": (("sq0", "EAAA"), f"{EDGE}(?:sq0[a-z]{{3}}-{_BODY}{{22,}}|EAAA{_BODY}{{56,}})"),
    "webhook": (
        ("whsec_", "hooks.zapier.com", "webhook.office.com"),
        f"{EDGE}whsec_[A-Za-z0-9+/=]{{24,}}"
        r"|hooks[.]zapier[.]com/hooks/catch/([A-Za-z0-9/]{12,})"
        r"|[.]webhook[.]office[.]com/webhookb2/([A-Za-z0-9@/-]{32,})",
    ),
    "putty": (
        ("Private-Lines", "Private-MAC", "Private-Hash"),
        r"Private-Lines:\s{0,3}[0-9]{1,4}(?:\s|\\[nr]){1,4}((?:[A-Za-z0-9+/=]{4,200}(?:\s|\\[nr]){0,4}){1,300})(?=Private-|\s|$|\\|\")"
        r"|Private-(?:MAC|Hash):\s{0,3}([A-Fa-f0-9]{32,})",
    ),
    "hash": (
        ("$2", "$apr1$", "$6$", "$5$", "$argon2"),
        r"\$(?:2[aby]\$[0-9]{2}|apr1|[56]|argon2i?d?)\$[A-Za-z0-9./$=,+]{20,}",
    ),
}


# Tokens of one prefix each, called by the name of nobody: trigger, and what follows the edge. Each is compiled
# only where its trigger occurs.
TOKENS: tuple[tuple[str, str], ...] = (
    ("_live_", "[a-z]{2,8}_live_[A-Za-z0-9]{14,}"),  # as many smaller vendors write them
    ("figd_", f"figd_{_BODY}{{30,}}"),
    ("r8_", "r8_[A-Za-z0-9]{30,}"),
    ("pplx-", "pplx-[A-Za-z0-9]{32,}"),
    ("pul-", "pul-[A-Fa-f0-9]{40,}"),
    ("PMAK-", "PMAK-[A-Fa-f0-9]{20,}-[A-Fa-f0-9]{20,}"),
    ("NR", f"NR(?:AK|II|IQ|JS|RA|SP|AA)-{_BODY}{{19,}}"),
    ("pscale_", f"pscale_(?:tkn|pw|oauth)_{_BODY}{{24,}}"),
    ("dp.", f"dp[.](?:pt|st|ct|sa|scim|audit)[.]{_BODY}{{30,}}"),
    ("rnd_", "rnd_[A-Za-z0-9]{28,}"),
    ("sbp_", "sbp_[A-Fa-f0-9]{32,}"),
    ("sb_secret_", f"sb_secret_{_BODY}{{20,}}"),
    ("nfp_", "nfp_[A-Za-z0-9]{30,}"),
    ("tskey-", f"tskey-[a-z]{{2,8}}-{_BODY}{{16,}}"),
    ("lsv2_", "lsv2_[ps][tk]_[A-Za-z0-9_]{32,}"),
    ("AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    ("tfp_", f"tfp_{_BODY}{{40,}}"),
    ("rubygems_", "rubygems_[a-f0-9]{40,}"),
    ("CFPAT-", f"CFPAT-{_BODY}{{40,}}"),
    ("bkua_", "bkua_[a-z0-9]{32,}"),
    ("CCIPAT_", f"CCIPAT_{_BODY}{{30,}}"),
    ("sgp_", "sgp_[A-Fa-f0-9_]{40,}"),
    ("pat-", "pat-[a-z]{2}[0-9]-[A-Fa-f0-9-]{36,}"),
    ("key-", "key-[a-f0-9]{32,}(?![A-Za-z0-9])"),
    ("fo1_", f"fo1_{_BODY}{{40,}}"),
    ("fm1", "fm1[ar]?_[A-Za-z0-9+/=_,-]{40,}"),
    ("fm2_", "fm2_[A-Za-z0-9+/=_,-]{40,}"),
    ("shippo_", "shippo_(?:live|test)_[A-Fa-f0-9]{32,}"),
    ("duffel_", f"duffel_(?:live|test)_{_BODY}{{32,}}"),
    ("k_test_", "[sr]k_test_[A-Za-z0-9]{16,}"),
    ("nvapi-", f"nvapi-{_BODY}{{40,}}"),
    ("fw_", "fw_[A-Za-z0-9]{20,}"),
    ("tvly-", f"tvly-{_BODY}{{24,}}"),
    ("jina_", f"jina_{_BODY}{{40,}}"),
    ("sk_", "sk_[a-f0-9]{40,}"),
    ("EZ", "EZ[AT]K[A-Za-z0-9]{54,}"),
    (".atlasv1.", f"[A-Za-z0-9]{{14}}[.]atlasv1[.]{_BODY}{{60,}}"),
    ("oy2", "oy2[a-z0-9]{43,}"),
    ("pnu_", "pnu_[A-Za-z0-9]{36,}"),
    ("ph", "ph[cx]_[A-Za-z0-9]{32,}"),
    ("1//0", f"1//0{_BODY}{{40,}}"),
    ("xkeysib-", "xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16,}"),
    ("-us", "[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])"),
    ("LTAI", "LTAI[A-Za-z0-9]{12,}"),
    ("AKID", "AKID[A-Za-z0-9]{32,}"),
    (
        ".",
        f"[MNO](?=[A-Za-z_-]{{0,26}}[0-9]){_BODY}{{22,27}}[.]{_BODY}{{6}}[.]{_BODY}{{27,}}",
    ),  # Discord's bots
    ("AZDO", "[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
    ("EAA", "EAA[A-Z][A-Za-z0-9]{80,}"),
    ("dt0", "dt0[a-z][0-9]{2}[.][A-Z0-9]{24}[.][A-Z0-9]{64,}"),
    ("pat", "pat[A-Za-z0-9]{14}[.][a-f0-9]{64,}"),
    ("at.", f"[ps]at[.]{_BODY}{{22}}[.][0-9a-f]{{24}}[.][A-Za-z0-9]{{20,}}"),
    ("sl.", f"sl[.](?:u[.])?{_BODY}{{100,}}"),
    ("aio_", "aio_[A-Za-z0-9]{28,}"),
    ("ops_eyJ", "ops_eyJ[A-Za-z0-9+/=_-]{60,}"),
    (
        "A3-",
        "A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?![A-Za-z0-9])",
    ),
    ("v1.0-", "v1[.]0-[a-f0-9]{24}-[a-f0-9]{64,}"),
    ("HRKU-", f"HRKU-{_BODY}{{36,}}"),
    ("ico-", "ico-[A-Za-z0-9]{32,}"),
    ("rdme_", "rdme_[a-z0-9]{60,}"),
    ("access-", "access-(?:sandbox|development|production)-[0-9a-f-]{36,}"),
    ("FLWSECK", "FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    ("fio-u-", f"fio-u-{_BODY}{{40,}}"),
    ("sk.eyJ", f"sk[.]eyJ{_BODY}{{30,}}[.]{_BODY}{{20,}}"),
    ("sha256~", f"sha256~{_BODY}{{43,}}"),
    ("AKCp", "AKCp[A-Za-z0-9]{60,}"),
    ("CLOJARS_", "CLOJARS_[A-Za-z0-9]{60,}"),
    ("cio", "cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("dnkey-", f"dnkey-{_BODY}{{60,}}"),
    ("API-", "API-(?=[A-Z]{0,24}[0-9])[A-Z0-9]{25,}"),
    ("sq", "sq[upa]_[a-f0-9]{40,}"),
    ("pcsk_", "pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,}"),
    ("re_", "re_(?=[A-Za-z_]{0,30}[0-9])[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("tgp_v1_", f"tgp_v1_{_BODY}{{40,}}"),
    ("csk-", "csk-[a-z0-9]{40,}"),
    ("e2b_", "e2b_[a-f0-9]{40,}"),
    ("BSA", f"BSA(?=[A-Za-z_-]{{0,26}}[0-9]){_BODY}{{27}}(?!{_BODY})"),
    ("polar_", "polar_(?:oat|pat|at_[ou]|rt_[ou])_[A-Za-z0-9]{30,}"),
    ("tk-us-", f"tk-us-{_BODY}{{40,}}"),
    ("AQVN", f"AQVN{_BODY}{{35,}}"),
    ("prv", "[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
)


# ── what a value may look like ───────────────────────────────────────────────────────────────────────


def looks_chosen(value: str) -> bool:
    """Like a password: at least two of small letters, capitals inside, digits and signs; or words with
    hyphens. `v1.2`, `12:30`, `3-4`, a path or an amount is none."""
    if value.startswith("[secret") or (re.fullmatch(_COMMON, value) and not is_aws_secret(value)):
        return False
    kinds = sum(
        bool(re.search(kind, value)) for kind in ("[a-z]", "(?<!^)[A-Z]", "[0-9]", r"[^A-Za-z0-9.,:/'()-]")
    )
    return (kinds > 1 and not value.isdigit()) or bool(
        re.fullmatch(r"[a-z0-9]{3,}(?:-[a-z0-9]{3,}){2,}", value)
    )


def looks_generated(value: str) -> bool:
    """Like nothing but a password: eight characters and more with letters, digits and a sign, or with small
    letters, capitals and two digits. It needs no verb before it."""
    if len(value) < 8 or not looks_chosen(value) or not re.search("[0-9]", value):
        return False
    if re.search("[A-Za-z]", value) and re.search("[!#$%&*+=?@^~]", value):
        return True
    return bool(re.fullmatch("(?=.*[a-z])(?=.*[A-Z].*)(?=.*[0-9].*[0-9])[A-Za-z0-9]{10,}", value))


def looks_issued(value: str) -> bool:
    """Like a key that a service issued: letters and digits by turns, and no words."""
    return bool(
        re.fullmatch("[A-Za-z0-9:_-]{12,}", value)
        and len(re.findall("(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])", value)) >= 4
    )


def is_aws_secret(value: str) -> bool:
    """Forty characters of base64 of all kinds. Half of Amazon's secret keys hold a slash and look like a path."""
    return bool(re.fullmatch("(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9/+]{40}", value))


def looks_like_a_value(value: str) -> bool:
    """Behind a flag or an equals sign nearly everything is one, but not another flag or a variable."""
    return not re.fullmatch(
        r"\[secret.*|[-$%<{*].*|[.*]+|(?:true|false|none|null|yes|no|on|off|ok|file|env|stdin|prompt)",
        value,
        re.IGNORECASE,
    )


def is_pin(value: str) -> bool:
    """Four to eight digits that are no year of these times."""
    return not re.fullmatch("(?:19|20)[0-9]{2}", value)


def is_signed(value: str) -> bool:
    """A cookie of a session: long, and no mere setting."""
    return len(value) >= 12 and not value.startswith("[secret") and bool(re.search("[0-9A-Z]", value))


_COMMON = (
    r"[0-9]{1,4}(?:[-/.:][0-9]{1,4}){1,3}(?:[apAP][mM])?|v?[0-9]+(?:\.[0-9a-z]+)+|[0-9.,]+(?:[a-zA-Z%]{1,3}|th|st|nd|rd)?"
    r"|[a-z]+(?:'[a-z]+)?|[A-Z]?[a-z]+-[a-z]+|[0-9]+-(?:digit|character|char|day|bit|word|letter|hour|minute|month|year)s?"
    r"|(?i:sha-?[0-9]+|md5|base64|utf-?8|oauth2?|bcrypt|argon2\w*|pbkdf2|rsa[0-9-]*|aes[0-9-]*|1password|keepass\w*|bitwarden|lastpass|keychain|ldap|sso|mfa|2fa|totp)"
    r"|[~.]{0,2}/[\w./-]+|[\w-]+(?:/[\w.-]+)+|[A-Za-z_][\w.]*\(.*|\w+\.(?:com|net|org|io|txt|md|json|ya?ml|env|py|js)|[A-Z][A-Z0-9_]+|[a-z]+_[a-z_]+|https?:.*"
)

# ── command lines, headers, configuration ────────────────────────────────────────────────────────────

_SHELL = r"[\"']?([^\s\"'`<>|;&,)]{3,200})"
WRITTEN: tuple[tuple[str, tuple[str, ...], str, Callable[[str], bool]], ...] = (
    (
        "password",
        ("--",),
        rf"(?i)--(?:[a-z]+-)?(?:password|passwd|passphrase|passcode|pass|pw|pwd)(?:=|[ \t]{{1,3}}){_SHELL}",
        looks_like_a_value,
    ),
    (
        "credential",
        ("--",),
        r"(?i)--(?:[a-z]+-){0,2}(?:token|secret|api-?key|access-?key|secret-?key|auth)(?:=|[ \t]{1,3})[\"']?([^\s\"'`<>|;&,)]{8,200})",
        lambda value: looks_like_a_value(value) and looks_chosen(value),
    ),
    (
        "password",
        ("curl", "wget", "http -a", "http --auth", "https -a", "xh -a"),
        r"(?:\bcurl|\bwget|\bhttps?|\bxh)\b[^\n|]{0,300}?[ \t](?:-u|--user|-a|--auth)(?:[ =]|[ \t]{1,3})?[\"']?[^\s:\"'/]{1,64}:([^\s\"'@]{3,128})",
        looks_like_a_value,
    ),
    (
        "password",
        ("sshpass", "mysql", "mariadb", "redis-cli", "unzip", "7z"),
        r"\b(?:sshpass[ \t]{1,3}-p[ \t]{0,3}|(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|]{0,120}?[ \t]-p|redis-cli\b[^\n|]{0,120}?[ \t]-a[ \t]{1,3}|unzip\b[^\n|]{0,60}?[ \t]-P[ \t]{1,3}|7z\b[^\n|]{0,60}?[ \t]-p)[\"']?([^\s\"']{4,128})",
        looks_like_a_value,
    ),
    (
        "cookie",
        ("cookie",),
        r"(?i)\b(?:set-)?cookie[\"']?\s{0,2}[:=]\s{0,2}[\"']?([^\s=;,\"']{1,64}=[^\n\"']{4,2000})",
        is_signed,
    ),
    (
        "password",
        ("pass", "pw", "pin"),
        r"(?:(?<=[A-Z0-9]_)|(?<![A-Za-z0-9_]))(?:PASS|PW|PASSWD|PASSPHRASE)[\"']?(?:\s{0,2}=|(?<=_PASS):|(?<=_PW):)\s{0,2}[\"']?([^\s\"'`<>;,)]{4,128})",
        lambda value: looks_like_a_value(value) and not re.fullmatch(r"[0-9]{1,5}|[A-Za-z]{1,5}", value),
    ),
    (
        "password",
        ("pass", "pw"),
        r"(?:(?<=[a-z0-9][_.-])|(?<![A-Za-z0-9_.-]))(?i:pass|pw)(?:[\"']?\s{0,2}[=:：]\s{0,2}[\"']?|(?=[ぁ-ん])(?:は|が)\s?)([!#-&(-~]{4,128})(?<![.,;:)?])",
        looks_chosen,
    ),
    (
        "pin",
        ("pin",),
        r"(?:(?<![A-Za-z])PIN(?:_?(?:CODE|NUMBER))?|(?<![A-Za-z])pin_?(?:code|number))[\"'\])]{0,3}\s{0,2}[:=]\s{0,2}[\"']?([0-9]{4,8})(?![0-9A-Za-z.])",
        is_pin,
    ),
    (
        "password",
        ("login",),
        r"(?i)\blogin\s{1,4}[^\s]{1,64}\s{1,4}password\s{1,4}([^\s]{3,128})",
        looks_like_a_value,
    ),
    (
        "password",
        (":54", ":64", ":*:"),
        r"(?m)^[A-Za-z0-9.*-]{1,80}:(?:[0-9]{2,5}|\*):[^:\s]{1,64}:[^:\s/]{1,64}:([^\s:]{4,128})$",
        looks_like_a_value,
    ),
    (
        "credential",
        ("auth",),
        r"[\"']_?auth[\"']\s{0,2}:\s{0,2}[\"']([A-Za-z0-9+/=]{16,400})[\"']|(?m:^|[:/])_auth\s{0,2}=\s{0,2}\"?([A-Za-z0-9+/=]{16,400})",
        looks_like_a_value,
    ),
)

# ── ordinary sentences ───────────────────────────────────────────────────────────────────────────────

_LOCKS = (
    *("door", "gate", "alarm", "unlock", "access", "security", "entry", "safe", "vault", "lock", "garage"),
    *("lockbox", "lock box", "key box", "keybox", "key safe", "keypad", "padlock"),
)
# Keys that are no secret, by the word before them.
OPEN_KEYS = (
    r"primary|foreign|partition|cache|sort|join|dedup\w*|idempotency|candidate|composite|natural|surrogate|hash"
    r"|range|shard\w*|shortcut|hot|home|end|arrow|escape|enter|return|shift|control|ctrl|alt|tab|option|command"
    r"|function|fn|major|minor|public|host|answer|translation|config\w*|json|yaml|dict\w*|map|object|s3|redis|row"
    r"|group\w*|order\w*|routing|message|index|lookup|search|feature|low|other|next|same|new|old|only|right|wrong"
    r"|house|car|van|front|back|spare|flat|office|shed|garage|door|gate|bike|master"
)
_KEY_USES = (
    "secret",
    "api",
    "access",
    "license",
    "licence",
    "activation",
    "private",
    "encryption",
    "signing",
    "account",
    "master",
    "admin",
    "wifi",
    "wi-fi",
)
_WORD = r"(?:pass ?word|pass ?phrase|pass ?code|passwd|pwd|pw|log-?in|credentials?|(?:secret|api|access|licen[cs]e|activation|private|encryption|signing|account|master|admin|wifi|wi-fi)[ -]key|(?:recovery|backup) codes?|access token|api token|auth token|secret|token|(?:"
_WORD += rf"{'|'.join(_LOCKS)}) (?:code|combination))"
_PLACE = r"(?: (?:for|of|to|on|at|in|into|from) (?:(?:the|our|my|his|her|their|your|that|this) )?[\w.@'’/-]{1,40}(?: (?!is\b|was\b)[\w.@'’/-]{1,24}){0,3}?)?"
_IS = r"(?:(?: (?:is|was|will be|has been|'s|remains|stays|are)|'s|\s?:)(?: (?:now|still|currently|just|simply|again|once more|going to be|changed to|set to|reset to|updated to|called))*|,? (?:changed|set|reset|updated|switched)(?: it)? to)"
_SAID_VALUE = r"\s{1,2}[\"'“‘「`]?([^\s\"'“”‘’`<>「」]{4,512})(?<![.,;:?)])"
_DIGITS = r"([0-9]{4,8})(?![0-9A-Za-z%]|[.,:/-][0-9]| ?(?:bits?|bytes?|chars?|characters?|digits?|days?|times?|users?|people|hours?|minutes?|seconds?|ms|mv|mm|kb|mb|gb|points?|items?|entries|requests?|attempts?|tokens?|words?|euros?|dollars?|yen|years?)\b)"
_LABEL_JA = "(?:パスワード|パスコード|パスフレーズ|(?:リカバリー|バックアップ|復旧)コード|(?:暗号化|アカウント|署名|マスター|管理者)キー|パス(?=は|を|が|って|、|:|\uff1a|＝|=)|(?<![A-Za-z])(?:PW|pw|Pw|Pass|pass|PASS)|合言葉|暗証番号|解錠コード|解除コード|解除番号|開錠番号|認証コード|シークレットキー|シークレット|秘密鍵|秘密のキー|アクセスキー|アクセストークン|APIキー|API ?キー|apiキー|トークン|ライセンスキー|署名鍵|暗号化鍵|暗号鍵|暗号キー|ログイン情報)"
_WHOSE_JA = "(?:\\s?[((][^()()\\n]{1,16}[))])?"
_NOT_JA = "(?![A-Za-z0-9]|\\s{0,1}(?:文字|桁|回|日|個|分|秒|ビット|以上|以下|未満|まで|から(?:変|始)|ごと|年|月|時間|種類|人|件|円|と(?:同じ|いう|違)|の(?:中|ほう|方|機能|画面|設定|管理|仕組|保存|運用|生成)|に(?:保存|書|あ(?:る|り)|入(?:れ|って)|置|ハッシュ|登録し|まとめ|対応)|で(?:管理|保存|生成|暗号|ハッシュ|作|守)|を(?:使|参照|見|利用|経由)|が(?:必要|必須)))"
_VALUE_JA = "[\\s「『\"'`]{0,2}([!-~]{4,512})(?<![.,;:?)\"'`])"
_CODES = tuple(f"{lock} {what}" for lock in _LOCKS for what in ("code", "combination"))
_KEYS = tuple(f"{use}{gap}key" for use in _KEY_USES for gap in (" ", "-"))
_NAMES = ("pass", "pw", "token", "secret", "recovery code", "backup code", *_KEYS, *_CODES)
SPOKEN: tuple[tuple[str, tuple[str, ...], str, Callable[[str], bool]], ...] = (
    (
        "password",
        (*_NAMES, "login", "log-in", "credential"),
        rf"(?i)\b{_WORD}{_PLACE}{_IS}{_SAID_VALUE}",
        looks_chosen,
    ),
    (
        "password",
        ("pass", "pw", *_CODES),
        rf"(?i)\b(?:pass ?word|pass ?phrase|pass ?code|pw|(?:{'|'.join(_LOCKS)}) (?:code|combination)){_PLACE}{_IS} [\"'“]?{_DIGITS}",
        is_pin,
    ),
    (
        "pin",
        ("pin",),
        rf"(?:\b(?i:my|your|his|her|our|their|the|new|card|sim|bank|atm|phone|debit|tablet|\w+'s) )(?:(?i:card|sim|bank|atm|phone|debit|unlock|secret) )?(?:PIN|pin|Pin)(?: ?(?i:code|number))?{_PLACE}{_IS} [\"'“]?{_DIGITS}|(?<![\w-])PIN(?: ?(?i:code|number))?{_PLACE}{_IS} ?[\"'“]?{_DIGITS}|(?m:^)pin: ?{_DIGITS}|\b(?:[Cc]hang|[Ss]et|[Rr]eset)\w{{0,4}} [^.\n]{{0,40}}?\b(?:PIN|pin)(?: ?(?i:code|number))?{_PLACE} to {_DIGITS}",
        is_pin,
    ),
    (
        "password",
        _NAMES,
        rf"(?i)\b(?:chang|set|reset|updat|switch|rotat)\w{{0,4}} (?:the |my |our |his |her |their |its )?(?:[\w'’.-]{{1,30}} ){{0,3}}?{_WORD}{_PLACE} to{_SAID_VALUE}",
        looks_chosen,
    ),
    (
        "password",
        ("pass", "pw"),
        r"(?i)\b(?:use|using|try|type|enter|with) [\"'“`]?([^\s\"'“”`<>]{4,64})[\"'”`]? (?:as|for) (?:the |my |our |a |your )?(?:\w{1,20} ){0,2}(?:pass ?word|pass ?phrase|pass ?code|pw)\b",
        looks_chosen,
    ),
    (
        "password",
        ("pass", "pw"),
        r"(?i)(?<!\S)[\"'“`]?([^\s\"'“”`<>]{6,64})[\"'”`]? (?:is|was) (?:the|my|our|his|her) (?:\w{1,20} ){0,2}(?:pass ?word|pass ?phrase|pass ?code|pw)\b",
        looks_chosen,
    ),
    (
        "password",
        ("log in", "login", "logged in", "logging in", "sign in", "signed in"),
        r"(?i)\b(?:log|sign)(?:ged|ging|ing)? ?in (?:with|as|using) [\"'“`]?[\w.@+-]{2,64}[\"'”`]?(?: ?/ ?| and | : |:)[\"'“`]?([^\s\"'“”`<>]{4,64})(?<![.,;:?)])",
        looks_chosen,
    ),
    (
        "password",
        (
            "パス",
            "pw",
            "pass",
            "合言葉",
            "暗証番号",
            "シークレット",
            "鍵",
            "キー",
            "トークン",
            "コード",
            "番号",
            "ログイン情報",
        ),
        f"{_LABEL_JA}{_WHOSE_JA}(?:は|を|が|って|、|:|\uff1a|=|＝|も)(?:全部|ぜんぶ|いま|今|確か|たしか|現在|今は|とりあえず)?{_VALUE_JA}{_NOT_JA}",
        looks_chosen,
    ),
    (
        "password",
        ("パス", "合言葉", "キー", "トークン", "pass", "key", "token"),
        r"(?:(?<![\w/+=.-])(?i:pass ?(?:word|phrase|code)|(?:api|access|secret) key|token)\s{1,2}[\"'“`]?"
        r"|(?:パスワード|パスコード|パスフレーズ|合言葉|(?:シークレット|アクセス|API) ?キー|トークン)[\s「『\"'`]{0,2})"
        r"([A-Za-z0-9][!-~]{7,127})(?<![.,;:?)\"'`])(?![A-Za-z0-9])",
        looks_generated,
    ),
    (
        "password",
        ("パス", "pw", "合言葉", "暗証番号", "コード", "番号"),
        f"(?:パスワード|パスコード|パス(?=は|を|が)|PW|暗証番号|解錠コード|解除コード|解除番号|開錠番号){_WHOSE_JA}(?:は|を|が|って|、|:|=)[\\s「『]{{0,2}}{_DIGITS}{_NOT_JA}",
        is_pin,
    ),
    (
        "password",
        ("番号",),
        f"(?:キーボックス|(?:鍵|キー)の?ボックス|金庫|薬品庫|(?:オート|スマート)ロック|南京錠|ダイヤル(?:錠|キー|ロック)?)の?番号{_WHOSE_JA}(?:は|を|が|って|、|:|=)(?:いま|今|確か|たしか)?[\\s「『]{{0,2}}{_DIGITS}{_NOT_JA}",
        is_pin,
    ),
    (
        "credential",
        (" key",),
        rf"(?i)\b(?!(?:{OPEN_KEYS}) )[\w'’.-]{{2,30}} key{_PLACE}{_IS}{_SAID_VALUE}",
        looks_issued,
    ),
    (
        "pin",
        ("pin", "ピン", "暗証"),
        f"(?:(?<![A-Za-z])(?:PIN|Pin|pin)(?:コード|番号)?|ピンコード|暗証番号){_WHOSE_JA}(?:は|を|が|って|、|:|=)[\\s「『]{{0,2}}{_DIGITS}{_NOT_JA}",
        is_pin,
    ),
    (
        "password",
        ("パス", "pw"),
        "[「『]?([!-~]{6,64})[」』]?(?:が|って|という|っていう|を)(?:\\S{0,8})?(?:パスワード|パスコード|PW)(?:だ|です|に(?:し|設定|変)|$|。|ね|よ)",
        looks_chosen,
    ),
)
