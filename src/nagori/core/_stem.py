"""Words in Latin letters: the parts of identifiers, English stop words, English stems.

Stems follow Porter2, the Snowball "English" algorithm; all 42,633 words of its published vocabulary agree.
While its steps run, a `y` that sounds as a consonant is written `Y`.
"""

import re
from functools import lru_cache

from nagori.core._clean import normal_form

LONGEST = 64  # characters: a longer run is no word, and must not fill the caches

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
# Words whose first region would start too early and melt general into generate, organ into organic.
_LONG_START = re.compile("gener|commun|arsen|past|univers|later|emerg|organ|inter")
_REGION = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]")
# A search finds the earliest place from which the end of the word is reached: the longest suffix.
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
    return (*(pair for pair in dict.fromkeys(found) if pair[1]), *tail)  # nothing stands before a lone n't


def _bare(run: str) -> str:
    """Accents off (café is typed cafe), thousands joined, names with signs spelled out."""
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
    """load_allItems -> load, allItems, all, Items; a digest such as a3f9c1 is one part."""
    found = []
    for piece in re.split("[-._']+", run):
        inner = _CAMEL.findall(piece) if piece.isascii() else []
        digest = not piece.isalpha() and (len(inner) > 3 or any(len(p) == 1 and p.isalpha() for p in inner))
        found += [piece, *(inner if len(inner) > 1 and not digest else ())]
    return [piece for piece in found if piece]


def _token(surface: str) -> tuple[str, str]:
    low = surface.casefold()[:LONGEST]
    return low, stem(low) if low.isascii() and low.isalpha() else low


def weight_of(word: str, at_start: bool) -> int | None:
    """How far a written word stands out: 2 as a name or identifier, 1 as a plain word, None not at all."""
    if len(word) < 2 or re.sub("['’]", "", word.casefold()) in STOP_WORDS or re.fullmatch("[0-9.,:_]+", word):
        return None
    if re.fullmatch("[a-z]+(?:[-'’][a-z]+)*", word):
        return 1 if len(word) > 2 else None
    return 1 if at_start and word.isalpha() and word[1:].islower() else 2


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
    """Does the word end in a short syllable (`hop`, `bed`, `at`)?"""
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
    """Drop -ed and -ing and mend what is left: hoping -> hope, hopping -> hop, failing -> fail."""
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
