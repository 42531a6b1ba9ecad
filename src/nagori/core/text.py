"""Text for people and machines: what may be stored, how it is cut into tokens, which words stand out.

One tokeniser for Japanese and English serves full text search and keywords (ruling 20).
It needs no dictionary: text is cut where the script changes, and each script has its own rule.

    ラーメン屋で 3 bowls  ->  らーめん らー ーめ めん 屋 屋で 3 bowl

Tokens hold letters, marks, digits and `_` only, so that FTS5_TOKENIZE never cuts one in two.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from unicodedata import category

from nagori.core._clean import _PICTURE as _PICTURE
from nagori.core._clean import _TONE, normal_form
from nagori.core._clean import clean as clean
from nagori.core._stem import LONGEST, STOP_WORDS, weight_of, words

# Marks belong to words in Indic and Thai; letters newer than SQLite's tables are "unassigned" to it.
FTS5_TOKENIZE = "unicode61 remove_diacritics 0 categories 'L* M* N* Co Cn' tokenchars '_'"

_LATIN, _KANJI, _KATAKANA, _HIRAGANA, _UNSPACED, _OTHER, _EMOJI = range(1, 8)
_HIRA = "\u3041-\u3096"
_KATA = "\u30a1-\u30fa\u31f0-\u31ff"
# The small ka and ke stand for a kanji in 関ヶ原 and 三ヵ月; a katakana word never begins with them.
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af々〆〇ヶヵ"
_ROMAN = "0-9A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3130-\u318f\uac00-\ud7a3"
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0dff"

_FOLD: dict[int, int | str] = {code: code - 0x60 for code in (*range(0x30A1, 0x30F7), 0x30FD, 0x30FE)}
_FOLD |= {
    0x30F7 + place: f"{kana}\u3099" for place, kana in enumerate("わゐゑを")
}  # ヷ has no hiragana of its own
_KANA_DASH = (
    f"[~〜ー](?<=[{_HIRA}{_KATA}].)[~〜ー]*"  # すご〜〜い
    f"|[-‐−](?<=[{_HIRA}{_KATA}].)(?=[{_HIRA}{_KATA}])"  # ラ-メン
)
# Words that ask, point or politely end a sentence say nothing about what is looked for.
_ASKING = frozenset("何誰私僕俺君事教言")
_PARTICLES = "はがをにとのへ"
_POLITE = (
    "(?:でしたっけ|でしょうか|ましたか|でしたか|ませんか|ですかね|ください|でしょう|ですよね|ですか|でした|ました"
    "|ますか|ません|ですね|ですよ|だった|だろう|だっけ|です|ます|っけ|かな|よね|[かねよ])$"
)
_QUESTION = (
    f"(?:^|(?<=[{_PARTICLES}もで]))"
    "(?:どうして|どんな|どっち|いくら|いくつ|どこ|いつ|なに|なん|だれ|どれ|どの|どう|なぜ)"
)


def normalise(text: str) -> str:
    """One spelling for what readers take as the same: width, case, kana script, long marks, whitespace."""
    folded = normal_form("NFKC", normal_form("NFKC", text).casefold())
    return " ".join(_long_marks(folded).translate(_FOLD).split())


def _long_marks(text: str) -> str:
    return text if text.isascii() else re.sub(_KANA_DASH, "ー", text)


class _Scripts(dict[int, str]):
    """The script of every character as one letter, found out when first met.

    A regular expression over these letters is small; one over the scripts' own ranges takes longer to
    compile than a prompt hook may take to answer.
    """

    def __missing__(self, code: int) -> str:
        self[code] = found = _script_of(chr(code))
        return found


_SCRIPTS = _Scripts({ord(sign): sign for sign in "-.'_,+#"} | {ord("’"): "'"})
_RANGES = {  # the first that fits; small letters belong to two scripts
    "0": "09",
    "a": "AZazÀÖØöøɏḀỿ",
    "m": "\u0300\u036f",
    "k": "ヵヶ",
    "K": "\u3400\u4dbf\u4e00\u9fff\uf900\ufaff\U00020000\U000323af々々〆〆〇〇",
    "T": "\u30a1\u30fa\u31f0\u31ff",
    "t": "ヽヾ",
    "w": "ーー",
    "H": "\u3041\u3096",
    "h": "ゝゞ",
    "N": "\u0e00\u0eff\u1000\u109f\u1100\u11ff\u1780\u17ff\u3130\u318f\uac00\ud7a3",
    "S": "\U0001f3fb\U0001f3ff",
    "Q": "\ufe0f\ufe0f",
    "R": "\U0001f1e6\U0001f1ff",
    "P": "\u231a\u23ff\u2600\u27bf\u2b1b\u2b55\U0001f000\U0001faff",
    "Z": "\u200d\u200d",
    " ": "\u3005\u30ff",
}
_MARK_BOUNDS = "\u0483\u0487\u0591\u05bd\u0610\u061a\u064b\u065f\u0670\u0670\u0900\u0963\u0971\u0dff"
_RUN = re.compile(
    r"([a0][a0m]*(?:(?:[-.']|_+|(?<=0),(?=000(?!0)))[a0][a0m]*)*(?:\+\+|\#)?)"
    r"|([Kk]+)|(T[Ttkw]*)|(H[Hhw]*)|(N+)|([Oo][OoMm]*)|(RR|[PSR][QS]*(?:Z[PSR][QS]*)*)"
)


def _script_of(char: str) -> str:
    mark = _within(
        char, "\u0483\u0487\u0591\u05bd\u0610\u061a\u064b\u065f\u0670\u0670\u0900\u0963\u0971\u0dff"
    )
    for letter, bounds in _RANGES.items():
        if _within(char, bounds) and not (letter == "P" and char.isalnum()):  # ❶ is a number
            return letter
    if char.isalnum():
        return "o" if mark else "O"
    return "M" if mark else " "


def _within(char: str, bounds: str) -> bool:
    return any(low <= char <= high for low, high in zip(bounds[::2], bounds[1::2], strict=True))


def _runs(text: str) -> Iterator[tuple[int, str, str, str]]:
    """(script, run, honorific before, okurigana after): お茶 and 食べ are words across scripts."""
    plain = _long_marks(normal_form("NFKC", text))
    for found in _RUN.finditer(plain.translate(_SCRIPTS)):
        script, start, end = found.lastindex or 0, *found.span()
        before = after = ""
        if script == _KANJI:
            before, after = plain[start - 1 : start], plain[end : end + 1]
            before = before if before in ("お", "ご") else ""
            after = after if "\u3041" <= after <= "\u3096" else ""
        yield script, plain[start:end], before, after


def tokens(text: str) -> list[str]:
    """Tokens for the index, in order, with repetitions."""
    out: list[str] = []
    for script, run, before, after in _runs(text):
        if script == _LATIN:
            out += [token for _, token in words(run)]
        else:
            out += _cut(script, run, before, after) if len(run) < LONGEST else _cut_long(script, run)
    return out or _lone_kana(text)


def _lone_kana(text: str) -> list[str]:
    """A single hiragana is grammar beside other text, and a token when there is nothing else."""
    return [char for char in normalise(text) if "\u3041" <= char <= "\u3096"]


@lru_cache(1 << 15)
def _cut(script: int, run: str, before: str, after: str) -> tuple[str, ...]:
    """The tokens of one run of any script but Latin."""
    if script == _KANJI:
        return _kanji(run.translate(_FOLD), before, after)
    if script == _HIRAGANA:
        return () if len(run) == 1 else _grams(run, whole=len(run) <= 6)
    if script == _KATAKANA:
        return _grams(run) if len(run) > 3 else (run.translate(_FOLD),)
    if script == _UNSPACED:
        return _grams("".join(char for char in run if category(char)[0] in "LMN"))
    if script == _EMOJI:  # a skin tone does not make another word
        return ("".join(f"u{ord(char):x}" for char in re.sub(f"(?<=.)[{_TONE}\u200d]", "", run)),)
    return (run.casefold(),)


def _cut_long(script: int, run: str) -> list[str]:
    """A run too long to be a word: in pieces, which overlap so that no pair of characters is lost."""
    step = LONGEST - 2
    pieces = (run[at : at + LONGEST - 1] for at in range(0, len(run) - 1, step))
    return [token for piece in pieces for token in _cut.__wrapped__(script, piece, "", "")]


def _kanji(run: str, before: str, after: str) -> tuple[str, ...]:
    """Every character and every pair: a word of one or two characters is found inside any compound."""
    out = [before + run[0]] if before else []
    for pair in zip(run, run[1:] + after, strict=False):
        out += (pair[0], "".join(pair))
    return tuple(out) if after else (*out, run[-1])


def _grams(run: str, *, whole: bool = True) -> tuple[str, ...]:
    """The run as a word, then its pairs of characters."""
    run = run.translate(_FOLD)
    if len(run) < 3:
        return (run,) if run else ()
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return (run, *pairs) if whole else tuple(pairs)


def query_tokens(text: str) -> list[str]:
    """Distinct tokens to look for: stop words, question words and grammar go unless nothing else is there."""
    found: list[str] = []
    kana: list[str] = []
    for script, run, before, after in _runs(text):
        if script == _LATIN:
            found += [token for surface, token in words(run) if surface not in STOP_WORDS]
        elif script == _HIRAGANA:
            kana += _content(run)
        elif script == _KATAKANA:  # pairs find チーズ inside チーズケーキ, and メダカ written めだか
            found += _grams(run[:LONGEST])
        elif script != _KANJI:
            found += _cut(script, run[:LONGEST], "", "")
        elif (noun := run.lstrip("何")[:LONGEST]) and noun not in _ASKING:
            okurigana = "" if after in _PARTICLES else after
            found += _cut(script, noun, before if noun == run else "", okurigana)
    return list(dict.fromkeys(found or kana or tokens(text)))


def _content(run: str) -> Iterator[str]:
    """The tokens of a hiragana run without its question words, particles and polite ending."""
    bare = re.sub(_POLITE, "", run[:LONGEST])
    for piece in re.split(_QUESTION, bare):
        noun = re.sub(f"[{_PARTICLES}もでや]$", "", piece)
        if len(noun) > 1:
            yield from _grams(noun)


def fts_query(tokens: Iterable[str]) -> str:
    """A MATCH expression that finds any of the tokens; nothing in a token can act as syntax."""
    return " OR ".join('"' + token.replace('"', '""').replace("\0", "") + '"' for token in tokens)


def is_japanese(text: str) -> bool:
    """Do kana and kanji carry the text? One of them weighs as much as four Latin letters."""
    if text.isascii():
        return False
    scripts = normal_form("NFKC", text[:4000]).translate(_SCRIPTS)
    native = sum(map(scripts.count, "KkTH"))
    return native > 0 and native * 4 >= scripts.count("a") + scripts.count("0")


@cache
def _sentence_end() -> re.Pattern[str]:
    # Possessive, and a run of stops is tried from its first one only: hostile text costs linear time.
    close = "[」』）】)\\]\"'”’]*+"
    return re.compile(
        f"[。｡．！？]+{close}(?!(?<=[」』])[とっはがをのにも])"  # 「行く。」と言った is one sentence
        rf"|(?<![.!?])(?P<dot>[.!?]++){close}(?=\s|$|[{_HIRA}{_KATA}{_HAN}])|\n+"
    )


_ABBREVIATION = (
    r"(?:^|[\s(])(?:[A-HJ-Za-z]|[0-9]{1,3}|(?:[A-Za-z]\.)+[A-Za-z]|Mrs?|Ms|Drs?|Prof|St|Jr|Sr|vs|cf|ca|approx|etc|Inc"
    r"|Ltd|Co|Corp|No|Nos|Fig|Figs|Eq|Sec|Vol|pp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|al)$"
)


def sentences(text: str) -> list[str]:
    """Sentences without surrounding space; numbers, versions, addresses and abbreviations stay whole."""
    out, start = [], 0
    for end in _sentence_end().finditer(text):
        if end["dot"] == "." and _dot_inside(text, start, end.start(), end.end()):
            continue
        out.append(text[start : end.end()].strip())
        start = end.end()
    return [sentence for sentence in (*out, text[start:].strip()) if sentence]


def _dot_inside(text: str, start: int, dot: int, end: int) -> bool:
    """Is this full stop part of `Mr.`, `e.g.` or the `1.` of a list? At the end of the text it never is."""
    found = re.search(_ABBREVIATION, text[max(start, dot - 12) : dot])
    if not found or not text[end : end + 20].strip():
        return False
    word = found[0].strip("\n\t (")
    if word.isdigit():
        return not text[start:dot].strip().rstrip("0123456789")
    return word != "No" or text[end : end + 2].strip().isdigit()


# ── the words that stand out ─────────────────────────────────────────────────────────────────────────

_UNIT = "(?:[年日時分週]間?|[ヶか]月間?|[千万億]?円|[月秒千万億人回個本枚歳台件点度階匹杯冊泊名割倍%])"
_COMPARED = 1000  # characters of a keyword in which others are looked for: a longer one is no word
_DULL_LIST = """
    自分 場合 今回 以上 以下 一緒 本当 必要 可能 普通 全部 最近 質問 回答 確認 大丈夫 結局 一応 多分 絶対
    全然 実際 部分 状態 今日 昨日 明日 今朝 今夜 今年 去年 来年 今週 先週 来週 今月 先月 来月
"""
_DULL = frozenset(_DULL_LIST.split()) | _ASKING


@cache
def _candidate() -> re.Pattern[str]:
    return re.compile(
        f"(?P<amount>[0-9][0-9.,:]{{0,20}}{_UNIT}(?:[0-9]{{1,9}}{_UNIT})*)"
        rf"|(?P<ascii>(?:[~.]?/)?[{_ROMAN}_][{_ROMAN}_./@:'’~+#-]*)"
        f"|(?P<kana>[{_KATA}][{_KATA}ー]+(?:[・=][{_KATA}][{_KATA}ー]+)*)"
        f"|(?P<han>[{_HAN}]{{2,6}})"
        f"|(?P<one>[{_HAN}](?=[{_PARTICLES}もで]|\\W|$))"
        f"|(?<![{_HAN}{_HIRA}])(?:(?P<kana_only>[{_HIRA}][{_HIRA}ー]+?)(?=[{_PARTICLES}]|\\W|$)"
        f"|[{_HIRA}][{_HIRA}ー]*+)"  # no word ends in this run: it is not tried again from its middle
    )


def keywords(text: str, limit: int = 5) -> list[str]:
    """Readable words, most salient first: names, terms and amounts, then what is said often and early."""
    plain = normal_form("NFKC", text)
    rank: dict[str, list[int]] = {}
    shown: dict[str, str] = {}
    for found in _candidate().finditer(plain):
        for word, weight in _weighed(found, plain):
            key = normalise(word)
            seen = rank.setdefault(key, [0, 0, -len(rank)])
            seen[:2] = max(seen[0], weight), seen[1] + 1
            shown.setdefault(key, word)
    best = sorted(rank, key=rank.__getitem__, reverse=True)
    if best and rank[best[0]][0]:
        best = [key for key in best if rank[key][0]]
    return [shown[key] for key in _without_overlaps(best, limit)]


def _without_overlaps(keys: Iterable[str], limit: int) -> list[str]:
    kept: list[str] = []
    for key in keys:
        if len(kept) >= limit:
            break
        if not any(key in other[:_COMPARED] or other in key for other in kept):
            kept.append(key)
    return kept


def _weighed(found: re.Match[str], plain: str) -> Iterator[tuple[str, int]]:
    """The words of one candidate with their weight: 2 stands out by form, 1 is ordinary, 0 a last resort."""
    word, group = found[0], found.lastgroup
    if group != "ascii":
        if group and word not in _DULL:
            yield word, {"kana_only": 0, "one": 1}.get(group, 2)
        return
    word = re.sub("^[a-zA-Z]+://([^/]+).*", r"\1", word).rstrip("./:'’~+-") or word
    path = word.count("/") > 1 or (re.search(r"^/|\.[A-Za-z0-9]{1,5}$", word) and "/" in word)
    at_start = plain[max(0, found.start() - 3) : found.start()].rstrip(" ")[-1:] in '\n.!?:;"“(「。！？•*#>-'
    for piece in [word] if path else re.split("[/:]", word):
        piece = re.sub("['’]s$", "", piece)
        if (weight := weight_of(piece, at_start)) is not None:
            yield piece, weight


def asks(text: str) -> bool:
    """Whether a text ends in a question, in either language."""
    end = _without_note(text).rstrip(" \n\t\"'」』）)")[-8:]
    return end.endswith(("?", "？")) or bool(
        re.search(r"(?:ですか|ますか|ましたか|でしょうか|のか|かな|っけ)。?$", end)
    )


def _without_note(text: str) -> str:
    """Without a remark in brackets at the end. By hand, because a pattern would look for the end of every
    bracket and every run of blanks anew."""
    bare = text.rstrip()
    if not bare.endswith("]"):
        return text
    before = bare.rfind("]", 0, -1)
    start = bare.find("[", before + 1)
    return text if start < 0 else bare[:start].rstrip()
