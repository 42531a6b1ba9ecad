"""What the doctor says, in Japanese: names of checks, what was seen, what to do."""

from __future__ import annotations

from nagori.services.doctor import Finding

NAMES = {
    "python": "Python",
    "folder": "場所",
    "disk": "ディスク",
    "journal": "ジャーナル",
    "store": "ストア",
    "embedder": "埋め込み",
    "model": "言語モデル",
    "clock": "時計",
    "hooks": "組み込み",
    "rehearsal": "試し",
    "last call": "最近の呼び出し",
    "worker": "作業係",
    "nights": "夜の処理",
}

SEEN = {
    "{path} can be read by others ({mode})": "{path} はほかの人にも読めます（{mode}）",
    "{n:,} MiB free": "空き {n:,} MiB",
    "{owner}: {n:,} events, all sound": "{owner}: {n:,} 件の出来事、すべて健全",
    "{owner}: {n:,} damaged lines, first {file} at byte {offset}: {problem}": (
        "{owner}: 壊れた行が {n:,} 行。最初は {file} の {offset} バイト目: {problem}"
    ),
    "{path}: whose journal this is cannot be read": "{path}: だれのジャーナルか読み取れません",
    "{n} recorded turns cannot be read": "記録した発言のうち {n} 件が読み取れません",
    "{owner}: {n} events could not be applied, the last one {seq}: {reason}": (
        "{owner}: 反映できない出来事が {n} 件あります。最後は {seq} 番: {reason}"
    ),
    "{engine}, sound": "{engine}、健全",
    "none, as configured: recall goes by words alone": "なし（設定どおり）。語の一致だけで思い出します",
    "no key in {variable}: recall goes by words alone": (
        "{variable} にキーがありません。語の一致だけで思い出します"
    ),
    "prompts are answered by words: only the local model is quick enough": (
        "プロンプトには語の一致だけで答えます（十分に速いのは同梱のモデルだけです）"
    ),
    "memories still have the vectors of {model}": "記憶の一部はまだ {model} のベクトルです",
    "none, as configured: rules do its work": "なし（設定どおり）。規則が代わりをします",
    "not installed: recall goes by words alone": "入っていません。語の一致だけで思い出します",
    "the newest event is from {at}, which is still to come": "最新の出来事が未来の日時（{at}）です",
    "{hosts}: the launcher is missing or calls another environment": (
        "{hosts}: 起動用ファイルがないか、別の環境を呼んでいます"
    ),
    "a fact told in one session came back in the next": "前の会話で伝えたことを、次の会話で思い出せました",
    "{kinds} runs the cycle every night; the last one was {hours:.0f} hours ago": (
        "{kinds} が毎晩実行します。前回は {hours:.0f} 時間前"
    ),
    "{kinds} runs the cycle every night; there was none yet": (
        "{kinds} が毎晩実行します。まだ一度もありません"
    ),
    "{kinds} was told to run the cycle, but is not switched on": (
        "{kinds} に書き込み済みですが、有効になっていません"
    ),
    "nothing is scheduled; the worker does it when a program calls; the last one was {hours:.0f} hours ago": (
        "予約はありません。プログラムから呼ばれたときに作業係が行います。前回は {hours:.0f} 時間前"
    ),
    "nothing is scheduled; the worker does it when a program calls; there was none yet": (
        "予約はありません。プログラムから呼ばれたときに作業係が行います。まだ一度もありません"
    ),
    "nothing runs the cycle; the last one was {hours:.0f} hours ago": (
        "実行するものがありません。前回は {hours:.0f} 時間前"
    ),
    "nothing runs the cycle; there was none yet": "実行するものがありません。まだ一度もありません",
}

ADVICE = {
    "make room": "空きを作ってください",
    "restore a backup, or `nagori rebuild --accept-damage`": (
        "バックアップから復元するか、nagori rebuild --accept-damage を実行してください"
    ),
    "set the clock of this machine": "このコンピューターの時計を合わせてください",
}


def said(finding: Finding, language: str) -> tuple[str, str, str]:
    """Name, detail and advice in a language. What is a value or a command is the same in both."""
    if language != "ja":
        return finding.name, finding.detail, finding.advice
    values = {name: _told(value) for name, value in finding.values.items()}
    detail = SEEN.get(finding.template, finding.template).format(**values)
    return NAMES.get(finding.name, finding.name), detail, ADVICE.get(finding.advice, finding.advice)


def _told(value: object) -> object:
    """An error among the values is told in Japanese too."""
    from nagori.edges.locale.errors import in_japanese

    return in_japanese(value) if isinstance(value, str) else value
