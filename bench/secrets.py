"""Does redaction find secrets, and leave ordinary text alone? `python -m bench.secrets [--each 20] [--text FILE]`.

Every secret is drawn at random from a template when this runs; none was ever valid. Formats that can be
known by their shape are tried bare and inside sentences, code and configuration, in English and Japanese.
Formats without a shape of their own (a hexadecimal key, a password) are tried behind their labels only. A
secret counts as found if no twelve consecutive characters of its random part are left.

Ordinary text is generated as well: sentences, logs, lock files and code in both languages that hold commit
hashes, digests, UUIDs, base64, numbers and paths. A line that is changed is a false alarm. `--text FILE`
does the same for the lines of any file of yours. It fails below 98 % found, or above 0.5 % false alarms.
"""

# ruff: noqa: E501
# Because a template is as it is.

from __future__ import annotations

import argparse
import base64
import re
import string
import sys
import uuid
from collections import Counter
from pathlib import Path
from random import Random

from bench.report import header, machine, python, table, write_json

from nagori.language.redaction import redact_secrets

LEAST_FOUND, MOST_ALARMS = 0.98, 0.005
REMAINDER = 12  # so many consecutive characters of a secret are too many

ALPHABETS = {
    "an": string.ascii_letters + string.digits,
    "low": string.ascii_lowercase + string.digits,
    "UP": string.ascii_uppercase + string.digits,
    "let": string.ascii_letters,
    "hex": string.hexdigits[:16],
    "HEX": "0123456789ABCDEF",
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "_-",
    "b32": string.ascii_uppercase + "234567",
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "d": string.digits,
}

# `{an36}` is 36 letters and digits; `{uuid}` a UUID; `{json30}` a base64url JSON object of about that size;
# `{.d18}` is random and no secret.
SHAPED = {
    "github classic": "ghp_{an36}",
    "github oauth": "gho_{an36}",
    "github app": "ghs_{an36}",
    "github refresh": "ghr_{an36}",
    "github fine-grained": "github_pat_{an22}_{an59}",
    "gitlab personal": "glpat-{url20}",
    "gitlab routable": "glpat-{url27}.{low2}.{low9}",
    "gitlab runner": "glrt-{url20}",
    "gitlab deploy": "gldt-{url20}",
    "gitlab trigger": "glptt-{hex40}",
    "gitlab scim": "glsoat-{url20}",
    "slack bot": "xoxb-{d12}-{d12}-{an24}",
    "slack user": "xoxp-{d12}-{d12}-{d12}-{hex32}",
    "slack app": "xapp-1-A{UP10}-{d12}-{hex64}",
    "slack config": "xoxe.xoxp-1-{an146}",
    "slack webhook": "https://hooks.slack.com/services/T{UP10}/B{UP10}/{an24}",
    "stripe live": "sk_live_{an24}",
    "stripe restricted": "rk_live_{an99}",
    "stripe test": "sk_test_{an24}",
    "stripe webhook": "whsec_{an32}",
    "anthropic": "sk-ant-api03-{url93}AA",
    "anthropic admin": "sk-ant-admin01-{url93}AA",
    "anthropic oauth": "sk-ant-oat01-{url93}AA",
    "openai project": "sk-proj-{url74}T3BlbkFJ{url74}",
    "openai legacy": "sk-{an20}T3BlbkFJ{an20}",
    "openai service": "sk-svcacct-{url58}T3BlbkFJ{url58}",
    "openrouter": "sk-or-v1-{hex64}",
    "deepseek": "sk-{hex32}",
    "google api": "AIza{url35}",
    "google client": "GOCSPX-{url28}",
    "google access": "ya29.{url120}",
    "google refresh": "1//0{url60}",
    "pypi": "pypi-AgEIcHlwaS5vcmc{url120}",
    "npm": "npm_{an36}",
    "hugging face": "hf_{let34}",
    "sendgrid": "SG.{url22}.{url43}",
    "sendinblue": "xkeysib-{hex64}-{an16}",
    "mailgun": "key-{hex32}",
    "mailchimp": "{hex32}-us12",
    "twilio": "SK{hex32}",
    "jwt": "eyJ{json20}.eyJ{json60}.{url43}",
    "aws access key": "AKIA{b32x16}",
    "aws session": "ASIA{b32x16}",
    "aws service": "ABIA{b32x16}",
    "alibaba": "LTAI5t{an18}",
    "tencent": "AKID{an32}",
    "shopify admin": "shpat_{hex32}",
    "shopify shared": "shpss_{hex32}",
    "digitalocean": "dop_v1_{hex64}",
    "digitalocean oauth": "doo_v1_{hex64}",
    "telegram": "{d9}:AA{url33}",
    "discord bot": "M{an23}.{url6}.{url38}",
    "discord webhook": "https://discord.com/api/webhooks/{.d18}/{url68}",
    "teams webhook": "https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{hex32}/{uuid}",
    "vault service": "hvs.{url95}",
    "vault batch": "hvb.{url140}",
    "groq": "gsk_{an52}",
    "xai": "xai-{an80}",
    "notion": "ntn_{an46}",
    "notion old": "secret_{an43}",
    "linear": "lin_api_{an40}",
    "docker": "dckr_pat_{url27}",
    "grafana service": "glsa_{an32}_{hex8}",
    "grafana cloud": "glc_{b64x60}",
    "databricks": "dapi{hex32}",
    "azure client": "{an3}8Q~{url34}",
    "azure storage": "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={b64x86}==;EndpointSuffix=core.windows.net",
    "azure bus": "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={b64x43}=",
    "azure sas": "https://acme.blob.core.windows.net/c?sv=2024-01-01&sp=r&sig={b64x43}%3D",
    "azure devops": "{low76}AZDO{low4}",
    "atlassian": "ATATT3xFfGF0{url180}={HEX8}",
    "bitbucket": "ATBB{an32}",
    "sentry org": "sntrys_eyJ{b64x80}_{url43}",
    "sentry user": "sntryu_{hex64}",
    "sentry dsn": "https://{.hex32}:{hex32}@o12345.ingest.sentry.io/67",
    "square": "sq0csp-{url43}",
    "square access": "EAAA{url60}",
    "facebook": "EAAG{an180}",
    "figma": "figd_{url40}",
    "replicate": "r8_{an37}",
    "perplexity": "pplx-{an48}",
    "pulumi": "pul-{hex40}",
    "postman": "PMAK-{hex24}-{hex34}",
    "new relic user": "NRAK-{UP27}",
    "new relic insert": "NRII-{url32}",
    "planetscale": "pscale_tkn_{url43}",
    "planetscale password": "pscale_pw_{url43}",
    "doppler": "dp.pt.{an43}",
    "render": "rnd_{an32}",
    "supabase": "sbp_{hex40}",
    "supabase secret": "sb_secret_{url31}",
    "netlify": "nfp_{an40}",
    "tailscale": "tskey-auth-{an17}-{an32}",
    "langsmith": "lsv2_pt_{hex32}_{hex10}",
    "age": "AGE-SECRET-KEY-1{bech58}",
    "typeform": "tfp_{url59}",
    "rubygems": "rubygems_{hex48}",
    "contentful": "CFPAT-{url43}",
    "buildkite": "bkua_{low40}",
    "circleci": "CCIPAT_{an22}_{hex40}",
    "sourcegraph": "sgp_{hex16}_{hex40}",
    "hubspot": "pat-na1-{uuid}",
    "fly": "FlyV1 fm2_{b64x120}",
    "shippo": "shippo_live_{hex40}",
    "duffel": "duffel_live_{url43}",
    "nvidia": "nvapi-{url64}",
    "fireworks": "fw_{an24}",
    "tavily": "tvly-{an32}",
    "jina": "jina_{an60}",
    "easypost": "EZAK{an54}",
    "terraform": "{an14}.atlasv1.{url67}",
    "nuget": "oy2{low43}",
    "prefect": "pnu_{low36}",
    "posthog": "phx_{an43}",
    "zapier": "https://hooks.zapier.com/hooks/catch/{d7}/{low7}/{low7}",
    "dynatrace": "dt0c01.{UP24}.{UP64}",
    "airtable": "pat{an14}.{hex64}",
    "dropbox": "sl.{url135}",
    "adafruit": "aio_{an28}",
    "1password account": "ops_eyJ{b64x250}",
    "1password key": "A3-{UP6}-{UP6}-{UP5}-{UP5}-{UP5}-{UP5}",
    "cloudflare origin": "v1.0-{hex24}-{hex146}",
    "heroku": "HRKU-AA{url58}",
    "infracost": "ico-{an32}",
    "readme": "rdme_{low70}",
    "plaid": "access-production-{uuid}",
    "flutterwave": "FLWSECK-{hex32}-X",
    "frame.io": "fio-u-{url64}",
    "harness": "pat.{url22}.{hex24}.{an20}",
    "mapbox": "sk.eyJ{url60}.{url22}",
    "openshift": "sha256~{url43}",
    "artifactory": "AKCp{an69}",
    "clojars": "CLOJARS_{hex60}",
    "crates.io": "cio{an32}",
    "defined networking": "dnkey-{url26}-{url52}",
    "octopus": "API-{UP26}",
    "sonar": "squ_{hex40}",
    "pinecone": "pcsk_{an6}_{an63}",
    "resend": "re_{an8}_{an24}",
    "together": "tgp_v1_{url43}",
    "cerebras": "csk-{low48}",
    "elevenlabs": "sk_{hex48}",
    "e2b": "e2b_{hex40}",
    "brave": "BSA{url27}",
    "polar": "polar_oat_{an43}",
    "scalingo": "tk-us-{url48}",
    "yandex": "AQVN{url36}",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\n{b64x64}\n{b64x64}\n{b64x40}\n-----END RSA PRIVATE KEY-----",
    "openssh": "-----BEGIN OPENSSH PRIVATE KEY-----\n{b64x70}\n{b64x70}\n-----END OPENSSH PRIVATE KEY-----",
    "pgp": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{b64x64}\n{b64x64}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
    "putty": "Private-Lines: 2\n{b64x64}\n{b64x30}==\nPrivate-MAC: {hex64}",
    "bcrypt": "$2b$12${an53}",
    "sha512crypt": "$6${an16}${an86}",
    "postgres url": "postgresql://shop:{an16}@db.internal:5432/shop",
    "mongodb url": "mongodb+srv://shop:{an16}@cluster0.example.net/x",
    "redis url": "redis://:{an24}@cache.internal:6379/0",
    "amqp url": "amqp://guest:{an14}@mq.internal:5672/",
    "git url": "https://amy:{an20}@git.example.org/a/b.git",
    "basic header": "Authorization: Basic {b64x32}=",
    "bearer header": "Authorization: Bearer {url40}",
    "api key header": "X-Api-Key: {an32}",
    "cookie header": "Cookie: sessionid={low32}; theme=dark",
    "npmrc": "//registry.example.org/:_authToken={uuid}",
    "otpauth": "otpauth://totp/acme:amy?secret={b32x32}&issuer=acme",
    "wireguard": "[Interface]\nPrivateKey = {b64x43}=",
    "bip32": "xprv9s21ZrQH143K{b58x96}",
    "card": "{card}",
}  # fmt: skip

# Formats without a shape of their own: the value, and the names by which people and programs call it.
LABELLED = {
    "aws secret": ("{b64x40}", ("AWS_SECRET_ACCESS_KEY", "aws_secret_access_key", "AWS secret access key", "AWSのシークレットアクセスキー")),
    "datadog": ("{hex32}", ("DD_API_KEY", "datadog_api_key", "Datadog API key", "DatadogのAPIキー")),
    "algolia": ("{hex32}", ("ALGOLIA_ADMIN_KEY", "algolia_api_key", "Algolia API key", "AlgoliaのAPIキー")),
    "heroku uuid": ("{uuid}", ("HEROKU_API_KEY", "heroku_api_key", "Heroku API key", "HerokuのAPIキー")),
    "mistral": ("{an32}", ("MISTRAL_API_KEY", "mistral_api_key", "Mistral API key", "MistralのAPIキー")),
    "cohere": ("{an40}", ("COHERE_API_KEY", "cohere_api_key", "Cohere API key", "CohereのAPIキー")),
    "azure openai": ("{hex32}", ("AZURE_OPENAI_API_KEY", "azure_openai_api_key", "Azure OpenAI API key", "Azure OpenAIのAPIキー")),
    "line channel": ("{b64x160}=", ("LINE_CHANNEL_ACCESS_TOKEN", "channel_access_token", "LINE channel access token", "LINEのチャネルアクセストークン")),
    "line secret": ("{hex32}", ("LINE_CHANNEL_SECRET", "channel_secret", "LINE channel secret", "LINEのチャネルシークレット")),
    "okta": ("00{url40}", ("OKTA_API_TOKEN", "okta_api_token", "Okta API token", "OktaのAPIトークン")),
    "cloudflare": ("{url40}", ("CLOUDFLARE_API_TOKEN", "cloudflare_api_token", "Cloudflare API token", "CloudflareのAPIトークン")),
    "vercel": ("{an24}", ("VERCEL_TOKEN", "vercel_token", "Vercel token", "Vercelのトークン")),
    "client secret": ("{url32}", ("OAUTH_CLIENT_SECRET", "client_secret", "OAuth client secret", "OAuthのクライアントシークレット")),
    "refresh token": ("{url48}", ("REFRESH_TOKEN", "refresh_token", "refresh token", "リフレッシュトークン")),
    "django": ("{an50}", ("DJANGO_SECRET_KEY", "SECRET_KEY", "Django secret key", "Djangoのシークレットキー")),
    "session secret": ("{hex64}", ("SESSION_SECRET", "session_secret", "session secret", "セッションのシークレット")),
    "jwt secret": ("{b64x43}=", ("JWT_SECRET", "jwt_secret", "JWT signing key", "JWTの署名キー")),
    "encryption key": ("{hex64}", ("ENCRYPTION_KEY", "encryption_key", "encryption key", "暗号化キー")),
    "ethereum": ("0x{hex64}", ("ETH_PRIVATE_KEY", "private_key", "wallet private key", "ウォレットの秘密鍵")),
    "database password": ("{an16}", ("DB_PASSWORD", "db_password", "database password", "データベースのパスワード")),
    "admin password": ("{word}{d4}!", ("ADMIN_PASSWORD", "admin_password", "admin password", "管理者パスワード")),
    "wifi password": ("{word}-{word}-{d3}", ("WIFI_PASSWORD", "wifi_password", "wifi password", "Wi-Fiのパスワード")),
    "passphrase": ("{word}-{word}-{word}-{word}", ("GPG_PASSPHRASE", "passphrase", "passphrase", "パスフレーズ")),
    "pin": ("{pin}", ("PIN", "pin_code", "card PIN", "暗証番号")),
    "twitch": ("{low30}", ("TWITCH_CLIENT_SECRET", "twitch_client_secret", "Twitch client secret", "Twitchのクライアントシークレット")),
    "webhook secret": ("{hex40}", ("WEBHOOK_SECRET", "webhook_secret", "webhook secret", "Webhookのシークレット")),
    "access token": ("{hex40}", ("ACCESS_TOKEN", "access_token", "access token", "アクセストークン")),
    "storage key": ("{b64x86}==", ("AZURE_STORAGE_KEY", "storage_account_key", "storage account key", "ストレージアカウントキー")),
    "license key": ("{UP5}-{UP5}-{UP5}-{UP5}", ("LICENSE_KEY", "license_key", "license key", "ライセンスキー")),
    "recovery code": ("{low5}-{low5}", ("RECOVERY_CODE", "recovery_code", "recovery code", "リカバリーコード")),
}  # fmt: skip

WORDS = ("tulip", "otter", "marble", "falcon", "pepper", "walnut", "harbor", "velvet", "comet", "maple")

AROUND = {
    "bare": ("{}",),
    "English": (
        "Please use {} for the deployment.",
        "I pasted it again: {} and it still fails with 401.",
        "She sent me {} by mail; we should rotate it.",
    ),
    "Japanese": (
        "デプロイには {} を使ってください。",
        "昨日もらったのは「{}」です。",
        "これ→{}←で試したけど動かない",
    ),
    "code": (
        'client = Client("{}")',
        "$ export X='{}' && make deploy",
        '{{"level": "info", "value": "{}"}}',
        "- name: deploy\n  value: {}\n",
    ),
}
BEHIND = {  # places 0: variable, 1: field, 2: English name, 3: Japanese name
    "variable": ("{0}={v}", "export {0}='{v}'", "{0}: {v}", 'os.environ["{0}"] = "{v}"'),
    "field": ('{{"{1}": "{v}"}}', "{1} = '{v}'", "{1}: {v}", "curl -d {1}={v} https://example.org"),
    "English": ("The {2} is {v}.", "our {2} for staging is {v}, keep it", "{2}: {v}", "I changed the {2} to {v} today."),
    "Japanese": ("{3}は{v}です。", "{3}：{v}", "{3}を{v}に変更しました", "新しい{3}は「{v}」です"),
}  # fmt: skip


def draw(template: str, rng: Random) -> tuple[str, list[str]]:
    """A secret, and its random parts."""
    parts: list[str] = []

    def part(found: re.Match[str]) -> str:
        made = one_part(found[2], rng)
        parts.extend([made] if not found[1] else [])
        return made

    return re.sub(r"\{(\.?)([A-Za-z0-9]+)\}", part, template), parts


def one_part(name: str, rng: Random) -> str:
    if name == "uuid":
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))
    if name == "word":
        return rng.choice(WORDS)
    if name == "pin":
        return f"{rng.randrange(2100, 9999)}"
    if name == "card":
        return card(rng)
    if name.startswith("json"):
        whole = '{"sub":"' + "".join(rng.choices(ALPHABETS["an"], k=int(name[4:]))) + '"}'
        return base64.urlsafe_b64encode(whole.encode()).decode().rstrip("=").removeprefix("eyJ")
    found = re.fullmatch(r"(b64|b58|b32|[A-Za-z]+)x?([0-9]+)", name)
    assert found, name
    return "".join(rng.choices(ALPHABETS[found[1]], k=int(found[2])))


def card(rng: Random) -> str:
    digits = [4, *(rng.randrange(10) for _ in range(14))]
    total = sum(digit if at % 2 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(digits))
    number = "".join(map(str, digits)) + str(-total % 10)
    return " ".join(number[at : at + 4] for at in range(0, 16, 4))


def is_found(parts: list[str], redacted: str) -> bool:
    """Whether nothing of the random parts is left that could be used."""
    whole = [part for part in parts if len(part) < REMAINDER]
    long = [part for part in parts if len(part) >= REMAINDER]
    windows = (part[at : at + REMAINDER] for part in long for at in range(len(part) - REMAINDER + 1))
    if any(window in redacted for window in windows):
        return False
    return bool(long) or not all(part in redacted for part in whole)


def secrets(each: int, rng: Random) -> list[tuple[str, str, str, list[str]]]:
    """Format, surroundings, text and the random parts in it."""
    made = []
    for name, template in SHAPED.items():
        for around, frames in AROUND.items():
            for _ in range(each):
                secret, parts = draw(template, rng)
                if around == "code" and "\n" in secret:
                    secret = secret.replace("\n", "\\n")
                made.append((name, around, rng.choice(frames).format(secret), parts))
    for name, (template, labels) in LABELLED.items():
        for behind, frames in BEHIND.items():
            for _ in range(each):
                value, parts = draw(template, rng)
                made.append((name, f"label, {behind}", rng.choice(frames).format(*labels, v=value), parts))
    return made


# ── ordinary text ────────────────────────────────────────────────────────────────────────────────────

ORDINARY = (
    "Fixed in commit {hex40}, see the log.",
    "git checkout {hex7} && git log --oneline",
    "commit {hex40}\nAuthor: Amy <amy@example.org>\nDate: Mon Mar 2 10:11:12 2026 +0900",
    "index {hex7}..{hex7} 100644",
    "Merge branch 'main' of github.com:acme/app ({hex8})",
    "コミット {hex40} で直しました。",
    "ハッシュは {hex64} でした。",
    "sha256:{hex64}",
    "image: registry.example.org/acme/app@sha256:{hex64}",
    "{hex32}  backup.tar.gz",
    "{hex64}  nagori-1.0.tar.gz",
    "md5 of the file is {hex32}",
    'ETag: "{hex32}"',
    "--hash=sha256:{hex64} \\",
    '"integrity": "sha512-{b64x86}==",',
    '<script src="a.js" integrity="sha384-{b64x64}" crossorigin="anonymous"></script>',
    "The request id is {uuid}, please look it up.",
    "request_id={uuid} status=200 took=12ms",
    "リクエストIDは{uuid}です。",
    "セッション {uuid} は正常に終了しました。",
    '{"id": "{uuid}", "name": "otter", "created": "2026-03-02T10:11:12Z"}',
    "INSERT INTO orders VALUES ('{uuid}', 42, 'shipped');",
    "primary key: {uuid}",
    "the primary key is {uuid}",
    "idempotency key is {uuid}",
    "cache key: {hex32}",
    "the cache key is user:{d6}:{hex8}",
    "partition key: tenant-{d4}",
    "sort key = order#{d6}",
    "foreign key orders_customer_id_fk on customers",
    "key: value, other: {d4}",
    "translation key: checkout.button.submit",
    "the public key is ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64x43} amy@laptop",
    "ssh-rsa AAAAB3NzaC1yc2E{b64x180} build@ci",
    "-----BEGIN CERTIFICATE-----\n{b64x64}\n{b64x64}\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n{b64x64}\n-----END PUBLIC KEY-----",
    "fingerprint SHA256:{b64x43}",
    "data:image/png;base64,iVBORw0KGgo{b64x120}",
    "The attachment begins with {b64x60}== and goes on.",
    "添付は {b64x64}= から始まります。",
    '"payload": "{b64x88}==",',
    "https://example.org/watch?v={url11}",
    "https://example.org/d/{url44}/edit?usp=sharing",
    "https://cdn.example.org/assets/app.{hex20}.js",
    "https://acme.example.org/p/{uuid}",
    "arn:aws:iam::{d12}:role/deploy",
    "s3://acme-logs/2026/03/02/{hex16}.gz",
    "/var/lib/docker/overlay2/{hex64}/merged",
    "/home/amy/.cache/pip/http/{hex2}/{hex2}/{hex56}",
    "container {hex12} exited with code 1",
    "trace_id={hex32} span_id={hex16}",
    "traceparent: 00-{hex32}-{hex16}-01",
    "0x{hex40} is the contract's address",
    "transaction 0x{hex64} was mined in block {d8}",
    "the color is #{hex6}, the border #{hex3}",
    "order {d10} ships on 2026-03-0{d1}",
    "注文番号は{d10}です。",
    "追跡番号 {d4}-{d4}-{d4} で確認できます。",
    "電話番号は03-{d4}-{d4}です。",
    "my phone number is +81 90 {d4} {d4}",
    "ISBN 978-4-{d6}-{d2}-{d1}",
    "invoice INV-2026-{d6} over 12,{d3} yen",
    "ticket ABC-{d5} is blocked by ABC-{d4}",
    "version 3.{d2}.{d1} build {d6}",
    "the mac address is {hex2}:{hex2}:{hex2}:{hex2}:{hex2}:{hex2}",
    "fe80::{hex4}:{hex4}:{hex4}:{hex4} on eth0",
    "latitude 35.{d6}, longitude 139.{d6}",
    "epoch {d10}, that is {d13} in milliseconds",
    "the tokens were 4{d3} in and 1{d2} out",
    "max_tokens={d4}, temperature=0.{d1}",
    "トークン数は{d4}でした",
    "a token costs 0.0000{d2} dollars",
    "the token bucket refills {d3} per minute",
    "csrf protection is on; the token is checked on every form",
    "the password must have {d2} characters and one digit",
    "パスワードは{d2}文字以上にしてください。",
    "the secret of good bread is time and {d2} hours of rest",
    "private key generation takes {d2} seconds on this laptop",
    "秘密鍵の生成に{d2}秒かかる",
    "API key rotation happens every {d2} days",
    "APIキーは{d2}日ごとに更新する",
    "api_key = os.environ['ACME_KEY']",
    "token = get_token(user_id={d4})",
    "const secret = process.env.SESSION_SECRET",
    "password_hash = hasher.hash(password)",
    "def test_{word}_{word}_{hex8}(): ...",
    "class {let8}{let6}Factory<T extends {let7}>",
    "{let12}{let9}.getInstance().{let10}();",
    "k8s pod web-{low9}-{low5} restarted",
    "pod/api-{hex10}-{low5} 1/1 Running",
    "nix store path /nix/store/{low32}-hello-2.12",
    "user-agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101",
    "blob:https://example.org/{uuid}",
    "message-id: <{low16}.{low8}@mail.example.org>",
    "gAAAAAB is how a Fernet token begins, and {b64x24} is not one",
    "checksum: {b64x43}=",
    "etag W/\"{low8}-{url27}\"",
    "job {hex8}-{hex4} finished in 1{d1}.{d2} s",
    "build #{d4} of {word}-{word} passed on {hex7}",
    "layer {hex12}: Pull complete",
    "conda-build h{hex7}_0",
    "Cargo.lock: checksum = \"{hex64}\"",
    "go.sum: example.org/x v1.{d1}.0 h1:{b64x43}=",
    "resolution: \"{word}@npm:^1.{d1}.0\"\n  checksum: 10c0/{hex128}",
    "room code {word}-{d2}, table {d2}",
    "the {word} and the {word} met at {d2}:{d2}",
    "{word}さんは{d2}日に{word}へ行った。",
    "今日は{d2}ページ読んで、{d2}分走った。",
    "{word} pass: {d2} ok, {d1} failed",
    "gate code reviews take {d2} minutes",
    "sk-learn-{word}-{word} is a package of ours",
    "the branch is feat/{word}-{word}-{hex7}",
    "see key-{word}-binding in the docs",
    "re_{word}_{word} is a regex helper",
    "pat-{word} and pat-{word} are patterns",
    "api-{word}-{word}.example.org answers in {d2} ms",
    "sl.{word} is a train number, sl.{d3} too",
)  # fmt: skip


def ordinary(each: int, rng: Random) -> list[tuple[str, str]]:
    return [(frame, draw(frame, rng)[0]) for frame in ORDINARY for _ in range(each)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.secrets")
    parser.add_argument("--each", type=int, default=20, help="secrets of each format in each surrounding")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--text", type=Path, action="append", default=[], help="a file of ordinary lines")
    parser.add_argument("--show", type=int, default=12, help="so many misses and false alarms")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rng = Random(asked.seed)
    made = secrets(asked.each, rng)
    missed = [case for case in made if not is_found(case[3], redact_secrets(case[2])[0])]
    plain = ordinary(5 * asked.each, rng)
    for path in asked.text:
        with path.open(encoding="utf-8", errors="replace") as lines:
            plain += [(path.name, line) for line in lines if line.strip()]
    alarms = [(frame, text, kinds) for frame, text in plain if (kinds := redact_secrets(text)[1])]
    whole, lost = (Counter(around for _, around, *_ in cases) for cases in (made, missed))
    found, alarmed = 1 - len(missed) / len(made), len(alarms) / len(plain)
    for line in header({"machine": machine(Path.cwd()), "python": python(), "seed": str(asked.seed)}):
        print(line)
    print(f"formats  {len(SHAPED)} known by shape, {len(LABELLED)} by label\n")
    rows = [[around, f"{n:,}", f"{100 * (1 - lost[around] / n):.2f} %"] for around, n in whole.items()]
    rows.append(["all", f"{len(made):,}", f"{100 * found:.2f} %"])
    print(table(["surroundings", "secrets", "found"], rows, ("surroundings",)))
    print(f"\nfalse alarms: {len(alarms)} of {len(plain):,} ordinary texts, {100 * alarmed:.2f} %")
    for name, times in Counter(name for name, *_ in missed).most_common(asked.show):
        around, text = next((around, text) for each, around, text, _ in missed if each == name)
        print(f"  missed {times} × {name}, for example ({around}): {text[:150]!r}")
    for frame, times in Counter(frame for frame, *_ in alarms).most_common(asked.show):
        text, kinds = next((text, kinds) for each, text, kinds in alarms if each == frame)
        print(f"  alarm {times} × {kinds}: {text[:150]!r}")
    if asked.json:
        write_json(asked.json, {"found": found, "alarms": alarmed, "secrets": len(made), "texts": len(plain)})
    sys.exit(found < LEAST_FOUND or alarmed > MOST_ALARMS)


if __name__ == "__main__":
    main()
