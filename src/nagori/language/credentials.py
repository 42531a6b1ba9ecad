"""What secrets look like: tokens with a documented prefix, command lines and headers, and ordinary sentences.

Only data and shapes; `core/privacy.py` puts them to use. Every pattern is bounded or anchored, eats all letters
and digits at its end, and leaves `[secret:…]` alone, so that redacting twice changes nothing more.
"""

# ruff: noqa: E501 — a pattern is easier to read in one piece
from __future__ import annotations

import re
from collections.abc import Callable

_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_BODY = "[A-Za-z0-9_-]"

# kind -> what must occur for the pattern to be worth trying, and the pattern; group 1 if only a part goes.
PREFIXED: dict[str, tuple[tuple[str, ...], str]] = {
    "shopify": (
        ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"),
        f"{_EDGE}shp(?:at|ca|pa|ss|ua|tka)_[A-Za-z0-9]{{24,}}",
    ),
    "digitalocean": (("_v1_",), f"{_EDGE}do[opr]_v1_[A-Za-z0-9]{{32,}}"),
    "telegram": ((":AA",), r"(?:(?<![0-9A-Za-z:])|(?<=\\[nrt]))[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    "discord": (
        ("discord", "DISCORD", "Discord", "Bot "),
        r"discord(?:app)?[.]com/api/webhooks/[0-9]{1,24}/([A-Za-z0-9_-]{24,})"
        f"|{_EDGE}[MNO][A-Za-z0-9_-]{{22,27}}[.][A-Za-z0-9_-]{{6}}[.][A-Za-z0-9_-]{{27,}}",
    ),
    "vault": (("hvs.", "hvb.", "hvr."), f"{_EDGE}hv[sbr][.]{_BODY}{{20,}}"),
    "groq": (("gsk_",), f"{_EDGE}gsk_[A-Za-z0-9]{{32,}}"),
    "xai": (("xai-",), f"{_EDGE}xai-{_BODY}{{40,}}"),
    "notion": (("ntn_", "secret_"), f"{_EDGE}(?:ntn_[A-Za-z0-9]{{32,}}|secret_[A-Za-z0-9]{{40,}})"),
    "linear": (("lin_",), f"{_EDGE}lin_(?:api|oauth|wh)_[A-Za-z0-9]{{24,}}"),
    "docker": (("dckr_",), f"{_EDGE}dckr_[a-z]{{2,4}}_{_BODY}{{20,}}"),
    "grafana": (
        ("glsa_", "glc_"),
        f"{_EDGE}(?:glsa_[A-Za-z0-9]{{24,}}(?:_[A-Fa-f0-9]{{8,}})?|glc_[A-Za-z0-9+/=]{{32,}})",
    ),
    "databricks": (("dapi",), f"{_EDGE}dapi[A-Za-z0-9]{{32,}}(?:-[0-9]+)?"),
    "azure": (
        ("8Q~", "7Q~", "AccountKey", "SharedAccess", "sig="),
        r"(?:(?<![A-Za-z0-9_~.-])|(?<=\\[nrt]))[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,}"
        r"|(?:AccountKey|SharedAccessKey)\s{0,2}=\s{0,2}([A-Za-z0-9+/=]{16,})"
        r"|[?&;]sig=([A-Za-z0-9%+/=_-]{20,})",
    ),
    "gitlab": (
        tuple(f"gl{use}-" for use in ("dt", "rt", "ptt", "soat", "ft", "imt", "agent", "cbt", "ffct", "oas")),
        f"{_EDGE}gl(?:dt|rt|ptt|soat|ft|imt|agent|cbt|ffct|oas)-{_BODY}{{20,}}",
    ),
    "atlassian": (
        ("ATATT3", "ATCTT3", "ATBB"),
        f"{_EDGE}(?:AT[AC]TT3{_BODY}{{40,}}=*[A-Za-z0-9=]*|ATBB[A-Za-z0-9]{{24,}})",
    ),
    "sentry": (("sntry",), f"{_EDGE}sntry[su]_[A-Za-z0-9+/=_-]{{32,}}"),
    "square": (("sq0", "EAAA"), f"{_EDGE}(?:sq0[a-z]{{3}}-{_BODY}{{22,}}|EAAA{_BODY}{{56,}})"),
    "webhook": (("whsec_", "svix"), f"{_EDGE}whsec_[A-Za-z0-9+/=]{{24,}}"),
    "token": (
        (
            "figd_",
            "r8_",
            "pplx-",
            "pul-",
            "PMAK-",
            "NRAK-",
            "pscale_",
            "dp.",
            "rnd_",
            "sbp_",
            "nfp_",
            "tskey-",
            "lsv2_",
            "AGE-SECRET-KEY-1",
            "tfp_",
            "rubygems_",
            "CFPAT-",
            "bkua_",
            "CCIPAT_",
            "sgp_",
            "pat-",
            "key-",
            "fo1_",
            "shippo_",
            "duffel_",
            "sk_test_",
            "rk_test_",
            "nvapi-",
            "fw_",
            "tvly-",
            "jina_",
            "sk_",
            "EZAK",
            "EZTK",
            ".atlasv1.",
            "pypi-",
            "hooks.zapier.com",
            "oy2",
            "pnu_",
            "phc_",
            "phx_",
        ),
        f"{_EDGE}(?:figd_{_BODY}{{30,}}|r8_[A-Za-z0-9]{{30,}}|pplx-[A-Za-z0-9]{{32,}}|pul-[A-Fa-f0-9]{{40,}}"
        f"|PMAK-[A-Fa-f0-9]{{20,}}-[A-Fa-f0-9]{{20,}}|NRAK-[A-Z0-9]{{24,}}|pscale_(?:tkn|pw|oauth)_{_BODY}{{24,}}"
        f"|dp[.](?:pt|st|ct|sa|scim|audit)[.]{_BODY}{{30,}}|rnd_[A-Za-z0-9]{{28,}}|sbp_[A-Fa-f0-9]{{32,}}"
        f"|nfp_[A-Za-z0-9]{{30,}}|tskey-[a-z]{{2,8}}-{_BODY}{{16,}}|lsv2_[ps][tk]_[A-Za-z0-9_]{{32,}}"
        f"|AGE-SECRET-KEY-1[A-Z0-9]{{40,}}|tfp_{_BODY}{{40,}}|rubygems_[a-f0-9]{{40,}}|CFPAT-{_BODY}{{40,}}"
        f"|bkua_[a-z0-9]{{32,}}|CCIPAT_{_BODY}{{30,}}|sgp_[A-Fa-f0-9_]{{40,}}"
        f"|pat-[a-z]{{2}}[0-9]-[A-Fa-f0-9-]{{36,}}|key-[a-f0-9]{{32,}}(?![A-Za-z0-9])|fo1_{_BODY}{{40,}}"
        f"|shippo_(?:live|test)_[A-Fa-f0-9]{{32,}}|duffel_(?:live|test)_{_BODY}{{32,}}|[sr]k_test_[A-Za-z0-9]{{16,}}"
        f"|nvapi-{_BODY}{{40,}}|fw_[A-Za-z0-9]{{20,}}|tvly-{_BODY}{{24,}}|jina_{_BODY}{{40,}}|sk_[a-f0-9]{{40,}}"
        f"|EZ[AT]K[A-Za-z0-9]{{54,}}|[A-Za-z0-9]{{14}}[.]atlasv1[.]{_BODY}{{60,}}|oy2[a-z0-9]{{43,}}"
        f"|pnu_[A-Za-z0-9]{{36,}}|ph[cx]_[A-Za-z0-9]{{32,}})"
        r"|hooks[.]zapier[.]com/hooks/catch/([A-Za-z0-9/]{12,})",
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


# ── what a value may look like ───────────────────────────────────────────────────────────────────────


def looks_chosen(value: str) -> bool:
    """Like a password: at least two of small letters, capitals inside, digits and signs; or words with
    hyphens. `v1.2`, `12:30`, `3-4`, a path or an amount is none."""
    if value.startswith("[secret") or re.fullmatch(_COMMON, value):
        return False
    kinds = sum(
        bool(re.search(kind, value)) for kind in ("[a-z]", "(?<!^)[A-Z]", "[0-9]", r"[^A-Za-z0-9.,:/'()-]")
    )
    return (kinds > 1 and not value.isdigit()) or bool(
        re.fullmatch(r"[a-z0-9]{3,}(?:-[a-z0-9]{3,}){2,}", value)
    )


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

_QUOTED = r"(?:\"([^\"\n]{3,200})\"|'([^'\n]{3,200})'|([^\s\"'`<>|;&]{3,200}))"
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

_LOCKS = ("door", "gate", "alarm", "unlock", "access", "security", "entry", "safe", "vault", "lock", "garage")
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
    "wifi",
    "wi-fi",
)
_WORD = r"(?:pass ?word|pass ?phrase|pass ?code|passwd|pwd|pw|log-?in|credentials?|(?:secret|api|access|licen[cs]e|activation|private|encryption|signing|wifi|wi-fi)[ -]key|access token|api token|auth token|secret|token|(?:door|gate|alarm|unlock|access|security|entry|safe|vault|lock|garage) (?:code|combination))"
_PLACE = r"(?: (?:for|of|to|on|at|in|into|from) (?:(?:the|our|my|his|her|their|your|that|this) )?[\w.@'’/-]{1,40}(?: (?!is\b|was\b)[\w.@'’/-]{1,24}){0,3}?)?"
_IS = r"(?:(?: (?:is|was|will be|has been|'s|remains|stays|are)|'s|\s?:)(?: (?:now|still|currently|just|simply|again|once more|going to be|changed to|set to|reset to|updated to|called))*|,? (?:changed|set|reset|updated|switched)(?: it)? to)"
_SAID_VALUE = r"\s{1,2}[\"'“‘「`]?([^\s\"'“”‘’`<>「」]{4,64})(?<![.,;:?)])"
_DIGITS = r"([0-9]{4,8})(?![0-9A-Za-z%]|[.,:/-][0-9]| ?(?:bits?|bytes?|chars?|characters?|digits?|days?|times?|users?|people|hours?|minutes?|seconds?|ms|mv|mm|kb|mb|gb|points?|items?|entries|requests?|attempts?|tokens?|words?|euros?|dollars?|yen|years?)\b)"
_LABEL_JA = "(?:パスワード|パスコード|パスフレーズ|パス(?=は|を|が|って|、|:|\uff1a|＝|=)|(?<![A-Za-z])(?:PW|pw|Pw|Pass|pass|PASS)|合言葉|暗証番号|解錠コード|解除コード|解除番号|開錠番号|認証コード|シークレットキー|シークレット|秘密鍵|秘密のキー|アクセスキー|アクセストークン|APIキー|API ?キー|apiキー|トークン|ライセンスキー|暗号鍵|暗号キー|ログイン情報)"
_WHOSE_JA = "(?:\\s?[((][^()()\\n]{1,16}[))])?"
_NOT_JA = "(?![A-Za-z0-9]|\\s{0,1}(?:文字|桁|回|日|個|分|秒|ビット|以上|以下|未満|まで|から(?:変|始)|ごと|年|月|時間|種類|人|件|円|と(?:同じ|いう|違)|の(?:中|ほう|方|機能|画面|設定|管理|仕組|保存|運用|生成)|に(?:保存|書|あ(?:る|り)|入(?:れ|って)|置|ハッシュ|登録し|まとめ|対応)|で(?:管理|保存|生成|暗号|ハッシュ|作|守)|を(?:使|参照|見|利用|経由)|が(?:必要|必須)))"
_VALUE_JA = "[\\s「『\"'`]{0,2}([!-~]{4,64})(?<![.,;:?)\"'`])"
_CODES = tuple(f"{lock} {what}" for lock in _LOCKS for what in ("code", "combination"))
_KEYS = tuple(f"{use}{gap}key" for use in _KEY_USES for gap in (" ", "-"))
SPOKEN: tuple[tuple[str, tuple[str, ...], str, Callable[[str], bool]], ...] = (
    (
        "password",
        ("pass", "pw", "token", "secret", "login", "log-in", "credential", *_KEYS, *_CODES),
        rf"(?i)\b{_WORD}{_PLACE}{_IS}{_SAID_VALUE}",
        looks_chosen,
    ),
    (
        "password",
        ("pass", "pw", *_CODES),
        rf"(?i)\b(?:pass ?word|pass ?phrase|pass ?code|pw|(?:door|gate|alarm|unlock|access|security|entry|safe|vault|lock|garage) (?:code|combination)){_PLACE}{_IS} [\"'“]?{_DIGITS}",
        is_pin,
    ),
    (
        "pin",
        ("pin",),
        rf"(?:\b(?i:my|your|his|her|our|their|the|new|card|sim|bank|atm|phone|debit|tablet|\w+'s) )(?:(?i:card|sim|bank|atm|phone|debit|unlock|secret) )?(?:PIN|pin|Pin)(?: ?(?i:code|number))?{_PLACE}{_IS} [\"'“]?{_DIGITS}|(?<![\w-])PIN(?: ?(?i:code|number))?{_PLACE}{_IS} ?[\"'“]?{_DIGITS}|(?m:^)pin: ?{_DIGITS}",
        is_pin,
    ),
    (
        "password",
        ("pass", "pw"),
        rf"(?i)\b(?:chang|set|reset|updat|switch|rotat)\w{{0,4}} (?:the |my |our |his |her |their |its )?(?:[\w'’.-]{{1,30}} ){{0,3}}(?:pass ?word|pass ?phrase|pass ?code|pw){_PLACE} to{_SAID_VALUE}",
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
        ("パス", "pw", "合言葉", "暗証番号", "コード", "番号"),
        f"(?:パスワード|パスコード|パス(?=は|を|が)|PW|暗証番号|解錠コード|解除コード|解除番号|開錠番号){_WHOSE_JA}(?:は|を|が|って|、|:|=)[\\s「『]{{0,2}}{_DIGITS}{_NOT_JA}",
        is_pin,
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
