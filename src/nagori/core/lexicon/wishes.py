"""What a speaker wants of the memory itself: that something be kept, corrected, or tied to what came before.

All are acted upon, so precision comes first: a wish is an imperative of the speaker's own, not a report,
a question, a memory of a wish, or somebody else's words in quotation marks.
"""

from __future__ import annotations

import re
from functools import cache

from nagori.core.lexicon import Bilingual, cue
from nagori.core.model import RelationType

# An opening mark, or a whole quotation between marks that look the same on both sides.
_QUOTE = re.compile("[「『“]|\"[^\"\n]*\"|(?<![A-Za-z])'[^'\n]{3,}'(?![A-Za-z])")
_CLOSING = {"「": "」", "『": "』", "“": "”"}
_WHOLLY_QUOTED = re.compile('\\s*[「『“"]([^」』”"]*)[」』”"]\\s*')
_SAID = (
    r"(?:said|says|say|told (?:me|us|him|her|them)|tells me|asked|wrote|shouted|whispered|yelled|sang|goes)"
    r"[,:]?$"
)
_SAID_LENGTH = 16  # characters, at least as many as the longest of them
# Where an English imperative can stand: at the start, after a stop, a comma, "please", or a request.
_IMPERATIVE = (
    r"(?:(?:^|[.!?;:,\n—–-]\s{0,2})"
    r"(?:(?:and|so|but|also|ok|okay|oh|hey|just|always|pls|btw|now)[, ]{1,2}){0,3}"
    r"(?:please,? )?(?:always |do |just )?"
    r"|\bplease,? (?:always )?|\b(?:i (?:want|need)|i'd like) you to "
    r"|\byou (?:must|should|have to|need to|'d better) (?:always )?"
    r"|\b(?:make|be) sure (?:to|you|that you) |\b(?:can|could|will|would) you (?:please )?(?:just )?)"
)
# What may follow a Japanese wish: a request, soft particles, the end. 覚えてる？ and 忘れないでいた fail.
_REQUEST = (
    "くれると(?=嬉し|うれし|助か|あり)|く(?:ださい|れ(?:る|ない|ます|ません)?か?)|下さい|(?:ほ|欲)しい(?!と(?:言|い))"
    "|もら(?:いたい|える|えます|えない)|いただ(?:けますか|きたい|けると)|頂け|お願い|頼む"
)
_SOFT = "[ねよなわー〜ぁぇさっ]|のです|です|んだ|けど|が|か"
_ENDING = rf"(?:{_REQUEST})?(?:{_SOFT})*(?:[。.!、,?:\s♪…]|$|お願い|頼|嬉し|うれし|助か|あり)"
_NOT_MEANT = re.compile(
    "忘れないで(?:いて?くれ(?:た|て)|くれてあり)|(?:ほしか|欲しか)った|(?:と|って)(?:言|い[わっう]|頼|伝え|書)"
)


_TIES = {
    "corrected": RelationType.CONTRADICTS,
    "continued": RelationType.CONTINUES,
    "referred": RelationType.REFERENCES,
}


@cache
def _keep() -> Bilingual:
    verbs = cue("keep")
    return Bilingual(
        f"(?P<head>{_IMPERATIVE})(?:{verbs.english.pattern})", f"(?:{verbs.japanese.pattern})(?={_ENDING})"
    )


def unquoted(text: str) -> str:
    """A text that is one quotation and nothing else is meant as said: its marks go."""
    whole = _WHOLLY_QUOTED.fullmatch(text)
    return whole[1] if whole else text


def own_words(text: str) -> str:
    """The text without what others are quoted as saying."""
    last = {mark: text.rfind(closing) for mark, closing in _CLOSING.items()}  # none behind is looked for
    out, done, at = [], 0, 0
    while found := _QUOTE.search(text, at):
        mark, at = found[0], found.end()
        if mark in _CLOSING:
            if last[mark] < at:
                continue
            at = text.index(_CLOSING[mark], at) + 1
        out += [text[done : found.start()], " … "]
        done = at
    return "".join((*out, text[done:]))


def wants_kept(text: str) -> bool:
    """Does the speaker ask that this be remembered [E19]?"""
    spoken = own_words(text)
    if cue("kept").occurs(spoken):
        return True
    asked = _Questions(spoken)
    return any(_is_meant(spoken, found, asked) for found in _keep().found(spoken))


def _is_meant(spoken: str, found: re.Match[str], asked: _Questions) -> bool:
    """Is it the speaker's own imperative, not what someone said and not a question about the past?"""
    if "head" not in found.groupdict():
        return not _NOT_MEANT.match(spoken, found.start())
    end = found.start() + 1
    while end and spoken[end - 1].isspace():
        end -= 1
    if re.search(_SAID, spoken[max(0, end - _SAID_LENGTH) : end], re.IGNORECASE):
        return False
    asks = re.search("(?:can|could|will|would) you", found["head"], re.IGNORECASE)
    return bool(asks) or found.end() not in asked


class _Questions:
    """Whether the English sentence that contains a place ends in a question mark. Places are asked about in
    rising order, so no sentence is read twice."""

    def __init__(self, text: str) -> None:
        self._ends = re.compile(r"[.!?\n]|\Z").finditer(text)
        self._end = next(self._ends)

    def __contains__(self, place: object) -> bool:
        assert isinstance(place, int)
        while self._end.start() < place:
            self._end = next(self._ends)
        return self._end[0] == "?"


def speaks_of(text: str) -> RelationType | None:
    """What a text says of something said before: that it takes it back, carries it on, or mentions it."""
    spoken = own_words(text)
    return next((tie for name, tie in _TIES.items() if cue(name).occurs(spoken)), None)


def corrects(text: str) -> bool:
    """Does the speaker take back or update something said before?"""
    return cue("corrected").occurs(own_words(text))
