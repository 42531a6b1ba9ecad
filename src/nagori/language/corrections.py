"""Whether one statement replaces another that was made before: the same matter, another value.

No single word decides. Counted are how near the two are in meaning, which words they share, whether the new
one speaks of a change or names the old value, and whether both give a value of the same sort (a time, a number,
a name) and not the same one. The weights are the table `lexicon/corrections.tsv`, learned by
`bench/train_corrections.py` from cases written for it.
"""

# ruff: noqa: E501 — a pattern is easier to read in one piece
from __future__ import annotations

import re
from functools import cache

from nagori.core.relevance import mentions_change
from nagori.language.lexicon import rows
from nagori.language.tokenizer import is_japanese, tokens

LONGEST = 500  # characters: who says more says more than one thing


def replacement_odds(old: str, new: str, nearness: float) -> float:
    """The logarithm of the odds that `new` replaces `old`. `nearness` is the cosine of the two, in spreads
    above that of unrelated texts."""
    weights = _weights()
    found = correction_features(old[:LONGEST], new[:LONGEST], nearness)
    return weights["bias"] + sum(weights[name] * value for name, value in found.items())


def correction_features(old: str, new: str, nearness: float) -> dict[str, float]:
    """What is counted, by name."""
    before, after = set(tokens(old)), set(tokens(new))
    shared = before & after
    change = float(mentions_change(new) or bool(_change().search(new)))
    any_shared = float(bool(shared))
    return {
        "nearness": nearness,
        "shared": float(len(shared)),
        "share_of_shorter": len(shared) / max(1, min(len(before), len(after))),
        "share_of_new": len(shared) / max(1, len(after)),
        "rest_of_old": len(before - after) / max(1, len(before)),
        "change": change,
        "change_and_shared": change * any_shared,
        "other_value": any_shared * any(_differs(sort, old, new) for sort in _sorts()),
        "old_value": float(_names_old_value(old, new)),
        "japanese": float(is_japanese(new)),
    }


def _differs(sort: re.Pattern[str], old: str, new: str) -> bool:
    """Do both give a value of this sort, and none in common?"""
    before, after = ({value.casefold() for value in sort.findall(text)} for text in (old, new))
    return bool(before and after) and not before & after


def _names_old_value(old: str, new: str) -> bool:
    *_, numbers, names, _ = _sorts()
    return any(value in new for sort in (numbers, names) for value in sort.findall(old))


@cache
def _weights() -> dict[str, float]:
    return {name: float(weight) for name, weight in rows("corrections")}


@cache
def _change() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:now|no longer|any ?more|instead|these days|since (?:last|this|yesterday|the)|from (?:now|next|today)"
        r"|moved?|switch(?:ed)?|changed?|shift(?:ed)?|replaced?|gave up|stopped|quit|dropped|ended up|turned out"
        r"|actually|rather|used to|new(?:er)?|left|retired|took over|takes over|taken over|became|raised|cut|bumped"
        r"|went (?:up|down)|pushed|postponed|extended|brought forward|renamed|again)\b"
        "|変わ|変え|変更|な(?:った|りました|って)|に(?:した|しま)|やめ|辞め|もう|[今い](?:ま)?は|最近|今度|新し|引っ越"
        "|移[っしり]|切り替|乗り換|代わ|替え|交代|延期|延び|ずれ|早ま|上[がげ]|下[がげ]|増え|減[っら]|戻し|やっぱ"
        "|結局|実は|じゃなく|ではなく|から.{1,12}[にへ]|直し|訂正",
        re.IGNORECASE,
    )


@cache
def _sorts() -> tuple[re.Pattern[str], ...]:
    """Sorts of values: weekdays, months, times, numbers, names, colours."""
    small = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    return tuple(
        re.compile(pattern)
        for pattern in (
            r"(?i:\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b)|[月火水木金土日]曜",
            r"(?i:\b(?:january|february|march|april|june|july|august|september|october|november|december)\b)|\d+月",
            r"(?i:\b\d{1,2}(?::\d\d)? ?(?:am|pm|o'clock)\b|\b(?:half past|quarter (?:to|past)|noon|midnight)\b)"
            rf"|\b\d{{1,2}}:\d\d\b|(?i:\b(?:at|till|until|by) (?:{small}|\d{{1,2}})\b)|[\d一二三四五六七八九十]+時",
            rf"\d[\d,.:/]*|(?i:\b(?:{small}|twenty|thirty|forty|fifty|hundred|thousand|half|twice|once|double)\b)"
            "|[一二三四五六七八九十百千万]+(?=[時日月年歳円人つ本枚個回分番号階])",
            r"(?<=[a-z,] )[A-Z][\w'-]+|\b(?:Mr|Mrs|Ms|Dr)\.? [A-Z]\w+|[ァ-ヶー]{2,}|[一-鿿]{1,3}(?:さん|先生|くん|ちゃん)"
            "|[A-Za-z][\\w.-]+(?=[ぁ-ん一-鿿])",
            r"(?i:\b(?:red|blue|green|yellow|black|white|grey|gray|brown|pink|purple|orange|silver|gold)\b)"
            "|[赤青緑黄黒白灰茶紫]",
        )
    )
