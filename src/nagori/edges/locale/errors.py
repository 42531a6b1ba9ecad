"""What went wrong, in Japanese, by the English templates that errors carry. An error without an entry is told
in English, whole and true."""

from __future__ import annotations

import re
from functools import cache

ERRORS: dict[str, str] = {
    "no model is configured; the rules do its work": "モデルが設定されていません。規則だけで評価しています",
    "no key: set {variable}, or store it with `keyring set nagori {variable}`": (
        "キーがありません。{variable} を設定するか、keyring set nagori {variable} で保存してください"
    ),
    "{name} cannot be started: {reason}": "{name} を起動できません: {reason}",
    "what models cost cannot be written down: {reason}": "モデルの費用を書き留められません: {reason}",
    "there is no program {name}": "{name} というプログラムがありません",
    "a model that nagori asked may not ask nagori": "nagori が呼んだモデルから nagori は使えません",
    "{name} ends with exit code {code}": "{name} が終了コード {code} で終わりました",
    "{model}: {why}": "{model}: {why}",
    "the day's limit for models is reached: {spent:.4f} of {cap:g} dollars": (
        "モデルの1日の上限に達しました（{cap:g} ドル中 {spent:.4f} ドル）"
    ),
    "the full words of {id} are gone: its grace is over": "{id} の全文は保存期間が過ぎて失われました",
    "another {work} is running": "ほかの {work} が動いています",
    "no memory {id!r} here": "記憶 {id} はここにありません",
    "{limit} memories are protected already; release one first": (
        "保護記憶が上限（{limit}件）です。先にどれかを解除してください"
    ),
    "nothing to remember: the text is empty": "覚えるものがありません（空の文章です）",
    "nothing to look for: the text is empty": "探すものがありません（空の文章です）",
    "{n} characters; at most {most}: cut it in pieces": (
        "{n} 文字あります。上限は {most} 文字です。分けてください"
    ),
    "{type} is not a text": "{type} は文章ではありません",
    "{value!r} is none of {choices}": "{value!r} は {choices} のどれでもありません",
    "{value} is still to come; --when is when it was said: put a day that lies ahead into the words": (
        "{value} は未来です。--when は言われた日時です。これからの日付は文章の中に書いてください"
    ),
    "{n} is not at least 0": "{n} は 0 以上ではありません",
    "--levels counts all memories; leave the ids out": "--levels は全記憶を数えます。ID は付けないでください",
    "nothing to change": "変えるところがありません",
    "nothing to undo": "取り消すことがありません",
    "nothing would be left; use forget": "何も残らなくなります。forget を使ってください",
    "not an id": "ID ではありません",
    "{path} was not written by nagori; nothing was touched": (
        "{path} は nagori が書いたものではありません。何も変えていません"
    ),
    "neither systemd nor cron is here; name one of {choices}": (
        "systemd も cron も見つかりません。{choices} のどれかを指定してください"
    ),
    "{path} exists already": "{path} はすでにあります",
    "{path} is not a file": "{path} というファイルはありません",
    "a time without a zone; give it one, e.g. datetime.now().astimezone()": "時刻にタイムゾーンがありません",
    "{value!r} is not an ISO 8601 time": "{value!r} は ISO 8601 の時刻ではありません",
    "{path}: {reason}": "{path}: {reason}",
    "{key!r} is not what it should be; nothing was touched": (
        "{key!r} の形が想定と違います。何も変えていません"
    ),
    "{path}: {key!r} is not what it should be; nothing was touched": (
        "{path}: {key!r} の形が想定と違います。何も変えていません"
    ),
    "{path} leads to {target}, which is no file": "{path} の指す {target} はファイルではありません",
    "{path} leads to {target}, which is not yours": "{path} の指す {target} はあなたのものではありません",
    "{path} is read-only; nothing was touched": "{path} は読み取り専用です。何も変えていません",
    "{path}, line {line}: not JSON ({reason}); nothing was touched": (
        "{path} の {line} 行目: JSON ではありません（{reason}）。何も変えていません"
    ),
    "{path}: not JSON ({reason}); nothing was touched": (
        "{path}: JSON ではありません（{reason}）。何も変えていません"
    ),
    "{path} holds no JSON object; nothing was touched": (
        "{path} の中身は JSON のオブジェクトではありません。何も変えていません"
    ),
    "{path} was changed by somebody else meanwhile; look again": (
        "{path} はその間にほかで変更されました。もう一度見てください"
    ),
    "{package} cannot be found from here": "{package} がここから見つかりません",
    "{host} keeps no settings of a project on this machine alone; leave --project out": (
        "{host} には、このマシンだけに置くプロジェクト設定がありません。--project を外してください"
    ),
    "{path} is not a backup of nagori: {reason}": "{path} は nagori のバックアップではありません: {reason}",
    "{path}: files are missing or strange": "{path}: ファイルが足りないか、余計なものがあります",
    "{path}: {name} is damaged (checksum)": "{path}: {name} が壊れています（チェックサム不一致）",
    "journal {file} at byte {offset}: {reason}": "ジャーナル {file} の {offset} バイト目: {reason}",
    "{n} damaged lines, the first in {file} at byte {offset} ({reason}): "
    "rebuilding would lose what they say. Look at `nagori verify` first.": (
        "壊れた行が {n} 行あります（最初は {file} の {offset} バイト目: {reason}）。"
        "このまま作り直すと、その行の内容が失われます。先に `nagori verify` で確かめてください"
    ),
    "{made} vectors for {texts} texts": "{texts} 件の文章に対してベクトルが {made} 件しかありません",
    "only a journal in files can be saved to a file": (
        "ファイルに保存できるのは、ファイルのジャーナルだけです"
    ),
    "{value!r} is not a text": "{value!r} は文字列ではありません",
    "{value!r} is not true or false": "{value!r} は true か false ではありません",
    "what it was before can no longer be read": "変更前の内容は、もう読み取れません",
    "expected event {after} to be the last one, but {last} is": (
        "最後の出来事は {after} 番のはずですが、{last} 番でした"
    ),
    "the embedder failed ({kind}: {reason})": "埋め込みモデルが失敗しました（{kind}: {reason}）",
    "{value!r} is not the name of a file": "{value!r} はファイル名ではありません",
    "{type} cannot be read": "{type} は読み取れません",
    "empty": "空です",
    "not JSON: {reason}": "JSON ではありません: {reason}",
    "not an object": "オブジェクトではありません",
    "neither a memory nor a relation": "記憶でも関連でもありません",
    "export version {version} is newer than this nagori": (
        "書き出し形式 {version} は、この nagori より新しいものです"
    ),
    "{id} was changed by somebody else meanwhile; look again": (
        "{id} はその間にほかで変更されました。もう一度見てください"
    ),
    "{type} is not a {wanted}": "{type} は {wanted} ではありません",
    "{type} is not a list": "{type} は並び（list など）ではありません",
    "{type} is not a table": "{type} は表（dict）ではありません",
    "{n} is not at least {least}": "{n} は {least} 以上ではありません",
    "{n} keys; at most {most}": "キーが {n} 個あります。上限は {most} 個です",
    "{n} characters; at most {most}": "{n} 文字あります。上限は {most} 文字です",
    "{key!r} is not a name of at most {most} characters": "{key!r} は {most} 文字以内の名前ではありません",
    "{type} is not a text, a number, true, false or None": (
        "{type} は文字列・数・true・false・None のどれでもありません"
    ),
    "a whole number of more than 64 bits": "64 ビットに収まらない整数です",
    "{value!r} is not a number": "{value!r} は数ではありません",
    "{value!r} is not a number from 0 to 1": "{value!r} は 0 から 1 までの数ではありません",
    "{type} is neither a Turn nor a message": "{type} は Turn でもメッセージでもありません",
    "{type} is not a part of a message": "{type} はメッセージの一部ではありません",
    "this memory is closed; open it again": "この記憶は閉じられています。もう一度開いてください",
    "{value} is not above 0": "{value} は 0 より大きくありません",
    "{n} tokens beside the messages leave nothing of {budget}": (
        "メッセージ以外の {n} トークンだけで上限 {budget} に達します"
    ),
    "nested too deeply": "入れ子が深すぎます",
    "line {n} is nested too deeply": "{n} 行目は入れ子が深すぎます",
    "line {n} is not UTF-8": "{n} 行目は UTF-8 ではありません",
    "{value!r} is not a function": "{value!r} は関数ではありません",
    "{value!r} is not a whole number": "{value!r} は整数ではありません",
    "{value!r} is not of the kind of {usual!r}": "{value!r} は {usual!r} と同じ種類の値ではありません",
    "{value!r} is not a list of places": "{value!r} はメッセージの位置の並びではありません",
    "{type} is not a list of messages": "{type} はメッセージの並びではありません",
    "{value!r} has characters that cannot be written": "{value!r} に書き表せない文字が含まれています",
    "{type} is not what prune gave": "{type} は prune が返したものではありません",
    "{value} is still to come; --as-of is a time in the past": (
        "{value} は未来です。--as-of には過去の日時を指定してください"
    ),
    "line {n} is not a JSON object": "{n} 行目は JSON のオブジェクトではありません",
    "not a conversation in this format: {reason}": "この形式の会話ではありません: {reason}",
    "contains control characters": "制御文字が含まれています",
    "not a text of at most 4096 characters": "4096 文字以内の文章ではありません",
    "missing": "ありません",
    "not a list of texts": "文章の並びではありません",
    "no home folder is known; set NAGORI_DATA_DIR and NAGORI_CONFIG": (
        "ホームフォルダが分かりません。NAGORI_DATA_DIR と NAGORI_CONFIG を設定してください"
    ),
    "this SQLite file belongs to another program; nothing was touched": (
        "この SQLite ファイルは別のプログラムのものです。何も触れていません"
    ),
    "{model} is now answered by {other!r}; its vectors cannot be compared with the old ones": (
        "{model} に {other!r} が答えるようになりました。以前のベクトルとは比べられません"
    ),
    "{model} gave {n} vectors for {texts} texts": "{model} は文章 {texts} 件にベクトル {n} 件を返しました",
    "{model} gave something that is no vector": "{model} が返したものはベクトルではありません",
    "{model} gave {n} dimensions instead of {dimension}": (
        "{model} は {dimension} 次元ではなく {n} 次元のベクトルを返しました"
    ),
    "the answer of {host} has no embeddings in it": "{host} の返事に埋め込みがありません",
    "{package} gives no vectors: {reason}": "{package} からベクトルを得られません: {reason}",
    "no embedder to change over to: recall goes by words alone": (
        "切り替え先の埋め込みモデルがありません。語の一致だけで思い出します"
    ),
    "the request was cancelled": "問い合わせを取りやめました",
    "{host} did not answer within {seconds:g} s": "{host} から {seconds:g} 秒以内に返事がありませんでした",
    "{host} refuses the connection; is the server running?": (
        "{host} に接続を拒まれました。サーバーは動いていますか？"
    ),
    "{host} broke off the connection": "{host} との接続が途中で切れました",
    "{host} cannot be reached: {reason}": "{host} に届きません: {reason}",
    "the name {host} cannot be resolved": "{host} という名前のサーバーが見つかりません",
    "no safe connection to {host}: {reason}": "{host} と安全に接続できません: {reason}",
    "what {host} answers is not HTTP": "{host} の返事は HTTP ではありません",
    "{host} sends us elsewhere ({status}); redirects are not followed": (
        "{host} に別の場所へ転送されました（{status}）。転送には従いません"
    ),
    "{host} answers {status}: {message}": "{host} の返事は {status} でした: {message}",
    "{host} does not accept the key ({status}): {message}": (
        "{host} にキーを受け付けてもらえません（{status}）: {message}"
    ),
    "{host} knows no such address or model ({status}): {message}": (
        "{host} にその宛先かモデルがありません（{status}）: {message}"
    ),
    "{host} finds the question too long ({status}): {message}": (
        "{host} には長すぎる問い合わせです（{status}）: {message}"
    ),
    "{host} asks us to wait ({status}): {message}": "{host} に待つよう求められました（{status}）: {message}",
    "{host} is overloaded ({status}): {message}": "{host} は混み合っています（{status}）: {message}",
    "the answer of {host} is longer than {most:,} bytes": (
        "{host} の返事が {most:,} バイトの上限を超えています"
    ),
    "the answer of {host} is not a JSON object": "{host} の返事は JSON のオブジェクトではありません",
    "the address of the server is not one: it begins with https://": (
        "サーバーのアドレスが正しくありません。https:// で始めてください"
    ),
    "{host}: keys and texts travel by https only": "{host}: キーと文章は https でしか送りません",
    "the key for {host} has characters that no key has": "{host} のキーに、キーにはない文字が含まれています",
    "the package sqlite-vec is not installed; pip install sqlite-vec": (
        "sqlite-vec がインストールされていません（pip install sqlite-vec）"
    ),
}


def in_japanese(told: str) -> str:
    """An error that was written down in English, in Japanese; what is not known stays as it is. The parts
    that a template leaves open are told as they stand, and may be errors themselves."""
    if told in ERRORS:
        return ERRORS[told]
    for template, pattern in _patterns():
        if found := pattern.fullmatch(told):
            parts = {name: in_japanese(part) for name, part in found.groupdict().items()}
            return re.sub(r"\{(\w+)[^}]*\}", r"{\1}", ERRORS[template]).format(**parts)
    return told


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Templates that leave something open; those that say most of themselves first."""
    said = {template: len(re.sub(r"\{\w+[^}]*\}", "", template)) for template in ERRORS if "{" in template}
    return [(template, _pattern(template)) for template in sorted(said, key=lambda each: -said[each])]


def _pattern(template: str) -> re.Pattern[str]:
    """What a template can have become."""
    pieces = re.split(r"\{(\w+)[^}]*\}", template)
    seen: set[str] = set()
    out = ""
    for place, piece in enumerate(pieces):
        if place % 2 == 0:
            out += re.escape(piece)
        else:
            out += f"(?P={piece})" if piece in seen else f"(?P<{piece}>.+?)"
            seen.add(piece)
    return re.compile(out, re.DOTALL)
