"""Tokenizer for Japanese and English: normalisation, tokens, stems and query tokens.

It needs no dictionary [ruling 20]: text is split where the script changes, and each script has its own rule.

    ラーメン屋で 3 bowls  ->  らーめん らー ーめ めん 屋 屋で 3 bowl

Tokens hold letters, marks, digits and `_` only, so that FTS5_TOKENIZE never splits one.

Stems follow Porter2, the Snowball "English" algorithm; all 42,633 words of its published vocabulary agree.
During its steps a `y` that is a consonant is written `Y`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from unicodedata import category

from nagori.core.value_object import TONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from nagori.core.model import Memory


# Marks belong to words in Indic and Thai; letters newer than SQLite's tables are "unassigned" to it.
FTS5_TOKENIZE = "unicode61 remove_diacritics 0 categories 'L* M* N* Co Cn' tokenchars '_'"
_LATIN, _KANJI, _KATAKANA, _HIRAGANA, _UNSPACED, _OTHER, _EMOJI = range(1, 8)
_HIRA = "\u3041-\u3096"
_KATA = "\u30a1-\u30fa\u31f0-\u31ff"
# The small ka and ke stand for a kanji in 関ヶ原 and 三ヵ月; a katakana word never begins with them.
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af々〆〇ヶヵ"
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0dff"

_FOLD: dict[int, int | str] = {code: code - 0x60 for code in (*range(0x30A1, 0x30F7), 0x30FD, 0x30FE)}
_FOLD |= {
    0x30F7 + place: f"{kana}\u3099" for place, kana in enumerate("わゐゑを")
}  # ヷ has no hiragana of its own
_KANA_DASH = (
    f"[~〜ー](?<=[{_HIRA}{_KATA}].)[~〜ー]*"  # すご〜〜い
    f"|[-‐−](?<=[{_HIRA}{_KATA}].)(?=[{_HIRA}{_KATA}])"  # ラ-メン
)
# Question words, pronouns and polite endings say nothing about the topic.
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
    """One spelling for equivalent text: width, case, kana script, long vowel marks, whitespace."""
    folded = normal_form("NFKC", normal_form("NFKC", text).casefold())
    return " ".join(_long_marks(folded).translate(_FOLD).split())


def _long_marks(text: str) -> str:
    return text if text.isascii() else re.sub(_KANA_DASH, "ー", text)


class _Scripts(dict[int, str]):
    """The script of every character as one letter, determined on first use.

    A regular expression over these letters is small. One over the scripts' own ranges would take longer to
    compile than a prompt hook may take to answer.
    """

    def __missing__(self, code: int) -> str:
        self[code] = found = _script_of(chr(code))
        return found


_SCRIPTS = _Scripts({ord(sign): sign for sign in "-.'_,+#"} | {ord("’"): "'"})
_RANGES = {  # the first match wins; small letters belong to two scripts
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
_RUN = re.compile(
    r"([a0][a0m]*(?:(?:[-.']|_+|(?<=0),(?=000(?!0)))[a0][a0m]*)*(?:\+\+|\#)?)"
    r"|([Kk]+)|(T[Ttkw]*)|(H[Hhw]*)|(N+)|([Oo][OoMm]*)|(RR|[PSR][QS]*(?:Z[PSR][QS]*)*)"
)


def _script_of(char: str) -> str:
    mark = _within(
        char, "\u0483\u0487\u0591\u05bd\u0610\u061a\u064b\u065f\u0670\u0670\u0900\u0963\u0971\u0dff"
    )
    for letter, bounds in _RANGES.items():
        if _within(char, bounds) and not (letter == "P" and char.isalnum()):  # ❶ counts as a number
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
    """A single hiragana is grammar beside other text, and a token if nothing else is there."""
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
    if script == _EMOJI:  # skin tones are ignored
        return ("".join(f"u{ord(char):x}" for char in re.sub(f"(?<=.)[{TONE}\u200d]", "", run)),)
    return (run.casefold(),)


def _cut_long(script: int, run: str) -> list[str]:
    """A run that is too long for a word, in overlapping pieces, so that no pair of characters is lost."""
    step = LONGEST - 2
    pieces = (run[at : at + LONGEST - 1] for at in range(0, len(run) - 1, step))
    return [token for piece in pieces for token in _cut.__wrapped__(script, piece, "", "")]


def _kanji(run: str, before: str, after: str) -> tuple[str, ...]:
    """Every character and every pair, so that words of one or two characters are found inside compounds."""
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
    """Distinct tokens to search for, without stop words, question words and grammar unless nothing else is
    there."""
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


def is_japanese(text: str) -> bool:
    """Whether the text is mainly Japanese. A kana or kanji counts as four Latin letters."""
    if text.isascii():
        return False
    scripts = normal_form("NFKC", text[:4000]).translate(_SCRIPTS)
    native = sum(map(scripts.count, "KkTH"))
    return native > 0 and native * 4 >= scripts.count("a") + scripts.count("0")


# --- questions --------------------------------------------------------------------------------------


_ASKS = (
    *("ですか", "ますか", "ましたか", "でしょうか", "だろうか", "のか", "かな", "かしら", "っけ"),
    *("どうしよ", "どうしよう", "どうする", "どうすべき", "どうすれば", "どうしたら", "どう思う"),
)
_ASKING_ENDS = (*_ASKS, *(f"{end}。" for end in _ASKS))


def asks(text: str) -> bool:
    """Whether a text ends in a question, in either language."""
    end = _without_note(text).rstrip(" \n\t\"'」』）)")[-8:]
    return end.endswith(("?", "？", *_ASKING_ENDS))


ASKING_WORDS = frozenset(
    [
        *("what", "when", "where", "which", "who", "whose", "why", "how", "whats", "whens", "wheres", "whos"),
        *("hows", "what's", "when's", "where's", "who's", "how's"),
    ]
)


def holds_question(text: str) -> bool:
    """Whether a text asks anywhere, also without a question mark: "when was that again, I forgot"."""
    if asks(text) or any(sign in text for sign in ("?", "？", "っけ")):
        return True
    first = text.split(maxsplit=1)[:1]
    if first and first[0].lower().replace("’", "'") in ASKING_WORDS:
        return True
    if text.isascii():
        return False
    return any(map(asks, text.split("。"))) or _asking_word().search(text[-LONGEST_ASKED:]) is not None


LONGEST_ASKED = 80  # characters from the end in which a word that asks counts


@cache
def _asking_word() -> re.Pattern[str]:
    """A Japanese word that asks, in the last sentence: 「どう使い分けるん」. 誰か and いつも do not, nor does
    what only tells what is unknown: 「何をあげるか一緒に考えて」."""
    words = (
        "何|なに|なん(?=で|の|や|だ|か|ぼ)|なんぼ|どこ|いつ|誰|だれ|どれ|どの|どう|どっち|どちら|どんな|どない"
        "|いくら|いくつ|なぜ"
    )
    return re.compile(
        f"(?:{words})(?![かも]|ぞ|せ|にか|とか|やら|より)(?:(?!か[をがはもに、一-龠])[^。\n])*[。]?\\s*$"
    )


def _without_note(text: str) -> str:
    """Without a remark in brackets at the end. Written as a loop, because a pattern would be quadratic."""
    bare = text.rstrip()
    if not bare.endswith("]"):
        return text
    before = bare.rfind("]", 0, -1)
    start = bare.find("[", before + 1)
    return text if start < 0 else bare[:start].rstrip()


# --- normal forms ----------------------------------------------------------------------------------

MOST_MARKS = 30  # per letter, as in Unicode's stream-safe format; no language needs more


def normal_form(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """`text` in a Unicode normal form. Sorting the marks on one letter is quadratic and takes minutes for a
    million of them, so marks after the first `MOST_MARKS` on a letter are dropped."""
    if text.isascii():
        return text
    from unicodedata import normalize  # imported late: a hook that only records does not need its tables

    return normalize(form, _many_marks().sub(_with_few_marks, text))


@cache
def _many_marks() -> re.Pattern[str]:
    """Candidates for too many marks. Other signs match as well and are checked one by one."""
    sign, kana = r"[^\w\s\0-\u02ff]", "[ﾞﾟ]"
    return re.compile(f"(?<!{sign})(?<!{kana})(?:{sign}|{kana}){{{MOST_MARKS + 1},}}")


def _with_few_marks(run: re.Match[str]) -> str:
    from unicodedata import category

    kept: list[str] = []
    marks = 0
    for char in run[0]:
        marks = marks + 1 if category(char)[0] == "M" or char in "ﾞﾟ" else 0
        if marks <= MOST_MARKS:
            kept.append(char)
    return "".join(kept)


# --- words in Latin letters -----------------------------------------------------------------------
# The parts of identifiers, English stop words, English stems.

LONGEST = 64  # characters: a longer run is not a word and must not fill the caches
_STOP = """
    a about above after again against all also am an and any anyone anything are as at be because been before
    being below between both but by can cannot could did do does doing done don down during each either else
    ever every few for from further get gets getting got had has have having he her here hers herself him
    himself his how however i if in into is it its itself just let lets ll maybe me might mine more most much
    must my myself neither no nor not now of off on once only or other others ought our ours ourselves out
    over own please quite rather re really same shall she should since so some someone something still such
    tell than that the their theirs them themselves then there these they thing things this those though
    through thus to too under until up upon us very was we were what whatever when where whether which while
    who whom whose why will with within without would ve yes yet you your yours yourself yourselves aint arent
    cant couldnt didnt doesnt dont hadnt hasnt havent isnt mustnt shouldnt wasnt werent wont wouldnt im ive
    youre youve youll hes shes theyre weve thats whats
"""

STOP_WORDS = frozenset(_STOP.split())
_WHOLE = {
    "skis": "ski", "skies": "sky", "idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli",
    "only": "onli", "singly": "singl", "sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas",
    "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}  # fmt: skip

_NAMES = {"c++": "cpp", "c#": "csharp", "f#": "fsharp"}
_CLITIC = re.compile("(n't|'(?:s|re|ll|ve|d|m))$", re.IGNORECASE)
_SHORTENED = {"wo": "will", "ca": "can", "sha": "shall"}
_CAMEL = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_VOWELS = frozenset("aeiouy")

# Words whose first region would start too early and merge general with generate, organ with organic.
_LONG_START = re.compile("gener|commun|arsen|past|univers|later|emerg|organ|inter")
_REGION = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]")

# A search finds the earliest position from which the word's end is reached: the longest suffix.
_STEP_1A = re.compile("(sses|ied|ies|us|ss|s)$")
_STEP_1B = re.compile("(eedly|ingly|edly|eed|ing|ed)$")
_STEP_2 = {
    "tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent", "izer": "ize",
    "ization": "ize", "ational": "ate", "ation": "ate", "ator": "ate", "alism": "al", "aliti": "al",
    "alli": "al", "fulness": "ful", "ousli": "ous", "ousness": "ous", "iveness": "ive", "iviti": "ive",
    "biliti": "ble", "bli": "ble", "fulli": "ful", "lessli": "less", "ogi": "og", "ogist": "og", "li": "",
}  # fmt: skip

_STEP_3 = {
    "tional": "tion", "ational": "ate", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic",
    "ful": "", "ness": "", "ative": "",
}  # fmt: skip

_SUFFIX_2, _SUFFIX_3 = (re.compile(f"({'|'.join(step)})$") for step in (_STEP_2, _STEP_3))
_SUFFIX_4 = re.compile("(al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ism|ate|iti|ous|ive|ize|ion)$")


def words(run: str) -> tuple[tuple[str, str], ...]:
    """(surface, token) for a run of Latin letters, digits and connectors: the whole, then its parts."""
    return _words(run) if len(run) < LONGEST else _words.__wrapped__(run)


@lru_cache(1 << 15)
def _words(run: str) -> tuple[tuple[str, str], ...]:
    if run.isalpha() and run.isascii() and (run[1:].islower() or run.isupper()):
        return (_token(run),)
    run, tail = _without_clitic(_bare(run))
    whole = re.sub("[-._]+", "_", run.replace("'", "").casefold())[:LONGEST]
    found = [_token(whole)]
    if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", run):
        found += [(whole, whole), *(_token(part) for part in _parts(run))]
    return (*(pair for pair in dict.fromkeys(found) if pair[1]), *tail)  # a lone n't has nothing before it


def _bare(run: str) -> str:
    """Without accents (café is typed cafe), thousands joined, names with signs spelled out."""
    if not run.isascii():
        flat = normal_form("NFD", run.replace("’", "'"))
        run = "".join(char for char in flat if char.isalnum() or char in "_-.',+#")
    if run.endswith(("+", "#")):
        run = _NAMES.get(run.casefold(), run.rstrip("+#"))
    if re.fullmatch("[A-Z]{2,}s", run):  # GPUs
        run = run[:-1]
    return run.replace(",", "")


def _without_clitic(run: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """user's -> user, we'll -> we, can't -> can not."""
    cut = _CLITIC.search(run)
    if not cut:
        return run, ()
    base = run[: cut.start()]
    if cut[1][0] == "'":
        return base, ()
    return _SHORTENED.get(base.casefold(), base), (("not", "not"),)


def _parts(run: str) -> list[str]:
    """load_allItems -> load, allItems, all, Items; a digest such as a3f9c1 stays one part."""
    found = []
    for piece in re.split("[-._']+", run):
        inner = _CAMEL.findall(piece) if piece.isascii() else []
        digest = not piece.isalpha() and (len(inner) > 3 or any(len(p) == 1 and p.isalpha() for p in inner))
        found += [piece, *(inner if len(inner) > 1 and not digest else ())]
    return [piece for piece in found if piece]


def _token(surface: str) -> tuple[str, str]:
    low = surface.casefold()[:LONGEST]
    return low, stem(low) if low.isascii() and low.isalpha() else low


def stem(word: str) -> str:
    """The Porter2 stem of one lower-case word."""
    if len(word) < 3 or word in _WHOLE:
        return _WHOLE.get(word, word)
    marked = re.sub(r"^y|(?<=[aeiouy])y", "Y", word)
    r1, r2 = _regions(marked)
    marked = _plural(marked)
    marked = _past(marked, r1)
    if marked[-1] in "yY" and len(marked) > 2 and marked[-2] not in _VOWELS:
        marked = marked[:-1] + "i"
    marked = _step2(marked, r1)
    marked = _step3(marked, r1, r2)
    marked = _step4(marked, r2)
    return _final(marked, r1, r2).lower()


def _regions(word: str) -> tuple[int, int]:
    """Where R1 and R2 begin: after the first, then the second, consonant that follows a vowel."""
    first = _LONG_START.match(word) or _REGION.match(word)
    if not first:
        return len(word), len(word)
    second = _REGION.match(word, first.end())
    return first.end(), second.end() if second else len(word)


def _short_end(word: str) -> bool:
    """Whether the word ends in a short syllable (`hop`, `bed`, `at`)."""
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    if len(word) < 2:
        return False
    before, vowel, last = word[-3], word[-2], word[-1]
    closed = last not in _VOWELS and last not in "wxY"
    return word == "past" or (closed and vowel in _VOWELS and before not in _VOWELS)


def _plural(word: str) -> str:
    found = _STEP_1A.search(word)
    suffix = found[1] if found else ""
    if suffix == "sses":
        return word[:-2]
    if suffix in ("ied", "ies"):
        return word[:-2] if len(word) > 4 else word[:-1]
    if suffix == "s" and not _VOWELS.isdisjoint(word[:-2]):
        return word[:-1]
    return word


def _past(word: str, r1: int) -> str:
    """Remove -ed and -ing and restore the stem: hoping -> hope, hopping -> hop, failing -> fail."""
    found = _STEP_1B.search(word)
    if not found:
        return word
    suffix, left = found[1], word[: found.start()]
    if suffix in ("eed", "eedly"):
        if left in ("proc", "exc", "succ"):
            return word
        return left + "ee" if found.start() >= r1 else word
    if suffix == "ing":
        if left in ("inn", "out", "cann", "herr", "earr", "even"):
            return word
        if len(left) == 2 and left[1] in "yY" and left[0] not in _VOWELS:
            return left[0] + "ie"
    if _VOWELS.isdisjoint(left):
        return word
    return _mend(left, r1)


def _mend(left: str, r1: int) -> str:
    if left.endswith(("at", "bl", "iz")):
        return left + "e"
    if left[-1] in "bdfgmnprt" and left[-2:-1] == left[-1]:
        return left if len(left) == 3 and left[0] in "aeo" else left[:-1]
    return left + "e" if len(left) <= r1 and _short_end(left) else left


def _step2(word: str, r1: int) -> str:
    found = _SUFFIX_2.search(word)
    if not found or found.start() < r1:
        return word
    left, suffix = word[: found.start()], found[1]
    if suffix == "li" and left[-1:] not in tuple("cdeghkmnrt"):
        return word
    if suffix == "ogi" and not left.endswith("l"):
        return word
    return left + _STEP_2[suffix]


def _step3(word: str, r1: int, r2: int) -> str:
    found = _SUFFIX_3.search(word)
    if not found or found.start() < (r2 if found[1] == "ative" else r1):
        return word
    return word[: found.start()] + _STEP_3[found[1]]


def _step4(word: str, r2: int) -> str:
    found = _SUFFIX_4.search(word)
    if not found or found.start() < r2:
        return word
    left = word[: found.start()]
    if found[1] == "ion" and not left.endswith(("s", "t")):
        return word
    return left


def _final(word: str, r1: int, r2: int) -> str:
    end = len(word) - 1
    if word.endswith("e") and (end >= r2 or (end >= r1 and not _short_end(word[:-1]))):
        return word[:-1]
    if word.endswith("ll") and end >= r2:
        return word[:-1]
    return word


def index_words(memory: Memory) -> list[str]:
    """The tokens of a memory for full-text search; every store indexes exactly these."""
    return tokens(memory.searchable) + [token for word in memory.keywords for token in tokens(word)]
