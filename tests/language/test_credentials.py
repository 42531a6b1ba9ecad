"""Secrets in ordinary words, on command lines, behind documented prefixes; and what only looks like one."""

import pytest

from nagori.language.redaction import redact_secrets

R = "k3Jd8sLq2ZpX7vBn4mTy6WcR1fHg9aQe0uIo5"  # random letters to build values from
HEX = "3f9a1c7e5b2d8046e1f3a9c5d7b20e48a6c4f1d39b7e5a2c8d0f6b1e4a3c9d57"


def tokens() -> list[str]:
    return [
        f"shpat_{HEX[:32]}",
        f"shpss_{HEX[:32]}",
        f"dop_v1_{HEX}",
        f"748201935:AA{R[:33]}",
        f"Bot MT{R[:22]}.Gh3k2p.{R[:30]}",
        f"hvs.{R[:28]}",
        f"gsk_{R}{R[:15]}",
        f"xai-{R}{R}",
        f"ntn_{R[:36]}",
        f"secret_{R}{R[:8]}",
        f"lin_api_{R[:34]}",
        f"dckr_pat_{R[:27]}",
        f"glsa_{R[:32]}_{HEX[:8]}",
        f"dapi{HEX[:32]}",
        f"Abc8Q~{R[:34]}",
        f"gldt-{R[:20]}",
        f"ATATT3{R}{R}",
        f"sntrys_{R}{R}",
        f"sq0csp-{R[:36]}",
        f"whsec_{R[:32]}",
        f"figd_{R}",
        f"r8_{R}",
        f"pplx-{R}{R[:10]}",
        f"PMAK-{HEX[:24]}-{HEX[:34]}",
        f"NRAK-{R[:27].upper()}",
        f"dp.pt.{R}{R[:6]}",
        f"sbp_{HEX[:40]}",
        f"tskey-auth-{R[:16]}-{R[:20]}",
        f"lsv2_pt_{HEX[:32]}_{HEX[:10]}",
        f"pat-na1-{HEX[:8]}-{HEX[8:12]}-{HEX[12:16]}-{HEX[16:20]}-{HEX[20:32]}",
        f"sk_test_{R[:24]}",
        f"nvapi-{R}{R}",
        f"sgp_{HEX[:40]}",
        f"rubygems_{HEX[:48]}",
        f"AGE-SECRET-KEY-1{R.upper()}{R.upper()[:20]}",
        f"$2b$12${R}{R[:16]}",
        f"pscale_tkn_{R}",
    ]


@pytest.mark.parametrize("token", tokens())
@pytest.mark.parametrize(
    "frame", ["{}", "use {} for the job", "「{}」です", "X: '{}', then stop", "the line\\n{} ends"]
)
def test_tokens_with_a_documented_prefix_go(frame: str, token: str) -> None:
    text, kinds = redact_secrets(frame.format(token))
    assert token not in text
    assert kinds
    assert redact_secrets(text) == (text, ())


WRITTEN = """
DB_PASS=§hunter22§
REDIS_PASS: §tiger-Lily9§
export SMTP_PW="§Blau.wal77§"
mydb restore --password §correcthorse§
tool login --user amy --password=§s3cr3t§
tool --db-password §Grün4711x§
deploy --api-key §9fK2mQ7xPa§
curl -u deploy:§Wint3rmute§ https://example.org/x
curl -s --user "amy:§pa55phrase§" https://example.org
http -a amy:§0ldm4nSea§ GET example.org
sshpass -p §rosebud99§ ssh box
mysql -h db -u root -p§Toor1234§ shop
redis-cli -h cache -a §f00bar77§ ping
Cookie: §session=9f3aK27dQx81; theme=dark§
Set-Cookie: §sid=8812AbCdEf001122; Path=/§
DefaultEndpointsProtocol=https;AccountName=x;AccountKey=§k3Jd8sLq2ZpX7vBn4mTy6WcR1fHg9aQe==§
https://x.blob.example.net/c?sv=2022&sig=§k3Jd8sLq2ZpX7vBn4mTy6WcR1f%3D§
machine git.example.org login amy password §Otter88§
db.example.org:5432:shop:amy:§Walnut42§
{"auths": {"r.example.org": {"auth": "§YW15OldhbG51dDQyWXl5§"}}}
pw: §Kastanie7§
pass: §Kastanie7!§
my_pass = "§Kastanie7§"
PW=§Kastanie77§
discord.com/api/webhooks/1234567890/§k3Jd8sLq2ZpX7vBn4mTy6WcR1fHg9aQe0§
"""
SPOKEN = """
the password for staging is §Otter-88x§
The password for the guest wifi is §sunny2day§
our wifi password is now §Pine_cone5§
my PIN is §4821§
the pin for the garage is §0912§
his card PIN: §7730§
PIN is §88214§
I changed the admin password to §Falcon#77§
we reset the root password of the test box to §b1ueWhale§
the alarm code is §5512§
the door code for the office is §44871§
use §Tr0ub4dor§ as the password
log in with amy / §Wonder1and§
the api key for the map is §9fk2mq7xpa§
My passphrase is §tulip-garden-orchid§
§Qwertz!23§ is the admin password
the passcode to the tablet is §90210§
the key box code is §4821§
the lockbox combination is §90210§
the QuickLingo key is §7c2e-5d1b-88a0-bb32:fx§
the password's §Mellon99§
パスワードは§Kawa3mizu§です
シークレットキーは§k3Jd8sLq2Z§です
パスワードを§Falcon77x§に変えた
ステージングのパスワードを「§Otter88x§」に変更しました
PWは§neko2525§ね
PINは§4821§です
暗証番号は§0912§だよ
wifiのパスは§sunny2day§
パスコードは§90210§
合言葉は§Mochi-77x§です
APIキーは§9fk2mq7xpa§
アクセストークンが§k3Jd8sLq2Zp§になった
解錠コードは§44871§です
キーボックスの番号は§4821§です
鍵のボックスの番号、§0912§だよ
金庫の番号は§90210§ね
「§Wonder1and§」がパスワードです
パスワード(管理画面)は§Hana#2614§です
"""


@pytest.mark.parametrize("marked", [*WRITTEN.strip().splitlines(), *SPOKEN.strip().splitlines()])
def test_the_value_goes_and_the_words_around_it_stay(marked: str) -> None:
    before, value, after = marked.split("§")
    text, kinds = redact_secrets(before + value + after)
    assert value not in text
    assert kinds
    assert text.startswith(before)
    assert text.endswith(after)
    assert redact_secrets(text) == (text, ())


BENIGN = """
the password policy is 12 characters
The password for staging is in the vault.
the password for prod is stored in 1Password
Passwords are rotated every 90 days.
the password is required
the password is wrong, try again
my password is too weak
the password field is disabled
I forgot the password for the shop.
The password must have 8-64 characters.
we reset the password last week
I changed my password to something longer
he changed the password to a passphrase
the password hash is bcrypt
passwords are hashed with argon2id
the pin is bent
pin 13 is the LED
the pin on the left is 5V
GPIO pin: 17
a pin number of 4 digits
PIN entry fails after 3 attempts
the PIN has 4 digits
my pin is four digits long
the pin in the map is 2024 meters away
the pin for the logo is cute
pin: 1.2.3
we pinned node: 20.11.1
the access code is in the letter
the door code changes every month
the alarm code is four digits
the security code is on the back of the card
error code is 4041
the login for the portal is broken
the login page is at /login
log in with Google
log in with amy and then click Save
sign in as root / admin
use it as a password manager
use bcrypt for the password
use 12 characters for the password
with caution for the password
the token for CI is expired
the token is refreshed every 15m
a token is about 4 characters
token: 4096
the api key for the map is missing
the API key is read from MAP_KEY
the secret to good bread is time
the secret is patience
her secret is safe with me
the secret for the webhook is rotated weekly
pass: 12, fail: 3
tests: pass
pass = true
the mountain pass: 2100m
passes: 41
PASS: test_login
PASS test_a (0.2s)
a boarding pass is needed
--pass-through
--password-file /run/x
--token-limit 4000
use --password to be asked
--password "$PW"
--password $DB_PASSWORD
docker run --user 1000:1000 app
curl -u "$USER:$TOKEN" https://example.org
curl -s https://example.org/a:b
mysql -u root -p shop
mkdir -p build/cache
cp -pr a b
cookie: chocolate chip
Cookies are sent with SameSite=Lax.
the cookie banner: accept
AccountKey is missing
Private-Lines are explained below
12:30:45:foo:bar
src/a.py:12:3:error:unused
the wifi password is on the fridge
the wifi is called pinecone
the vault is at hvs
discord is down
my dapi tests pass
the groq api is fast
the combination is unusual
the safe combination was lost
credentials are in the keychain
the license key is printed on the box
the primary key is user_id_v2
the cache key is tiles:v2:zoom12
the partition key was order-2024-000123
the encryption key is 256-bit
encryption key: AES-256
her login is amy
login: amy
password manager: bitwarden
passphrase: at least six words
password = os.environ["X"]
const password = getPassword()
password: string
pw = read_password()
pw is short for password
if pw == other: return
パスワードは教えない
パスワードは定期的に変えている
パスワードを忘れた
パスワードをリセットした
パスワードは8文字以上です
パスワードは12桁です
パスワードは1Passwordに保存している
パスワードを変えたほうがいい
パスワードはbcryptでハッシュ化
パスワードはKeePassで管理
パスワードは誰にも言わない
パスワードを4回間違えた
暗証番号は4桁
暗証番号は教えられません
暗証番号を3回間違えた
PINは4桁です
ピンは13番です
トークンは15分で切れる
トークンは4096個まで
シークレットキーはVaultで管理
シークレットキーを再発行した
秘密鍵は誰にも渡さない
APIキーは環境変数から読む
APIキーはMAP_KEYに入れる
パスはsrc/app/main.pyです
パスは/usr/local/binです
パスを通した
ファイルのパスは./data/x.csv
合言葉は山と川
認証コードはメールで届く
エラーコードは4041です
郵便番号は1234567です
電話番号は0312345678です
会員番号は88214です
倉庫の番号は12です
PWを変更した
PWはなしで
"""


@pytest.mark.parametrize("text", BENIGN.strip().splitlines())
def test_what_only_sounds_like_a_secret_stays(text: str) -> None:
    assert redact_secrets(text) == (text, ())


def test_a_putty_key_loses_its_private_half() -> None:
    lines = "\n".join(R + R[:27] for _ in range(6))
    key = (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: laptop\nPublic-Lines: 1\nAAAAC3Nz\n"
        f"Private-Lines: 6\n{lines}\nPrivate-MAC: {HEX}\n"
    )
    text, kinds = redact_secrets(key)
    assert R not in text
    assert HEX not in text
    assert "Comment: laptop" in text
    assert kinds == ("putty",)
    assert redact_secrets(text) == (text, ())
