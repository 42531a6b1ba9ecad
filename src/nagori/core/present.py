"""What holds now, among several statements about one matter.

A question for the present ("いまの部署は?", "where does she live these days?") fits the old statement as well
as the new one: both speak of the matter in the same words. What tells the new one apart is that it speaks of
a change, and that the same person had said something on the matter before. Nothing is compared with
anything, so this costs nothing; the two weights were fitted (docs/why/ranking.md).
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from math import exp, log1p

CHANGE, LATER = 0.73, 1.32
MOST = 30  # statements that are looked at: the likeliest

Statement = namedtuple("Statement", "id odds at speaker text")

_PRESENT = (
    "今(?![年月週日朝晩夜回度後])|いま|現在|現時点|最新|最近の|最終的|結局|落ち着い|に決ま|ことにな|になった|どこまで"
    r"|\b(?:now|nowadays|current(?:ly)?|latest|these days|final(?:ly)?|end(?:ed)? up|at the moment|at present"
    r"|any ?more|still|most recent(?:ly)?|so far|up to date|as of)\b"
)
_NUMBER = "[0-9一二三四五六七八九十百千万]"
_CHANGE = (
    "結局|やっぱ|やはり|変更|変え[たるてま]|変わ[っりる]|切り?替え|乗り?換え|移行|延期|延長|前倒し|繰り[上下]げ|ずら[すし]"
    "|ずれ[たてまる]|延ば|伸ば|伸び|早め[たるまて]|キャンセル|中止|取りやめ|取り消|撤回|[やな辞止]め[たてるま]|復活|再開"
    "|戻[しすっり]|にな(?:った|りま|って)|ことにし|にした|にしま|に決|今は|今後|これから|じゃなく|ではなく|[上下]げ[たまて]"
    "|[上下]が[っり]|増え|減[っりら]|縮|新し[いく]|訂正|間違|正しくは|改め|直して|更新|替え|最終的|とうとう|ついに|ようやく"
    rf"|やっと|もう.{{0,12}}ない|{_NUMBER}\S{{0,4}}[からが]{{1,2}}{_NUMBER}\S{{0,4}}[にへ]"
    r"|\b(?:actually|instead|no longer|any ?more|chang(?:ed|ing)|switch(?:ed|ing)|moved|reschedul\w+|"
    r"postpon\w+|pushed (?:back|out)|brought forward|cancel\w+|ended up|turn(?:ed|s) out|now|"
    r"from now on|as of|updat\w+|correction|scratch that|make that|rather than|used to|bumped|"
    r"rais(?:ed|ing)|lower(?:ed|ing)|increas\w+|decreas\w+|reduc(?:ed|ing)|extend(?:ed|ing)?|"
    r"upgrad\w+|migrat\w+|replac\w+|dropped|quit|gave up|went with|decided|new|since then|recently|"
    r"finally|improv\w+|grew|grown|reached)\b"
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.ASCII)  # a Latin word ends where Japanese begins


def asks_for_present(question: str) -> bool:
    """Does it ask how things stand, or how they turned out?"""
    return _compiled(_PRESENT).search(question) is not None


def tells_change(text: str) -> bool:
    """Does it speak of something that is no longer as it was?"""
    return _compiled(_CHANGE).search(text) is not None


def newness(statements: Sequence[Statement]) -> dict[str, float]:
    """What to add to the odds of each: nothing, or more the likelier it replaces what was said before."""
    likeliest = sorted(statements, key=lambda each: (-each.odds, each.id))[:MOST]
    return {each.id: _newness(each, likeliest) for each in likeliest if tells_change(each.text)}


def _newness(statement: Statement, others: Sequence[Statement]) -> float:
    best = others[0].odds
    earlier = (o for o in others if o.speaker == statement.speaker and o.at < statement.at)
    return CHANGE + LATER * log1p(sum(exp((other.odds - best) / 2) for other in earlier))
