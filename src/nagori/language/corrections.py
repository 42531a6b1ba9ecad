"""Whether one statement replaces another that was made before: the same matter, another value.

No single word decides. Counted are how near the two are in meaning, and how much nearer than any other statement;
which words they share; whether the new one speaks of a change, sounds like news of one (a head over its vector) or
names the old value; whether both give a value of the same sort (a time, a number, a name) and not the same one; and
how much else is said. The weights are the table `lexicon/corrections.tsv`, learned by `bench/train_corrections.py`
from cases written for it.
"""

# ruff: noqa: E501 — a pattern is easier to read in one piece
from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from math import log1p

from nagori.core.relevance import mentions_change
from nagori.language.learned_heads import head_score
from nagori.language.lexicon import rows
from nagori.language.tokenizer import is_japanese, tokens

LONGEST = 500  # characters: who says more says more than one thing
SHORT, WIDE = 80.0, 2.2  # characters of one short statement; what a Japanese character counts
FARTHEST = 2.0  # spreads by which a lead counts
OF_ANOTHER = -6.0  # log-odds where the two are about different persons, or times


def news_of_change(vector: bytes, model: str | None) -> float | None:
    """How much a statement sounds like news of a change, by its vector: about 0 to 1. None if nothing was
    learned about vectors of this model."""
    score = head_score("updates", vector, model)
    return None if score is None else score / 100


def replacement_odds(old: str, new: str, nearness: float, lead: float, news: float | None = None) -> float:
    """The logarithm of the odds that `new` replaces `old`. `nearness` is the cosine of the two, in spreads
    above that of unrelated texts; `lead` how far it is above that of any other statement and `new`; `news`
    how much `new` sounds like news of a change, if that is known."""
    if _about_others(old[:LONGEST], new[:LONGEST]) or _is_exception(old[:LONGEST], new[:LONGEST]):
        return OF_ANOTHER
    found = correction_features(old[:LONGEST], new[:LONGEST], nearness, lead, news or 0.0)
    # Who says "now" need not sound like news, and the other way round: both sets of weights have a say.
    odds = [_weigh(found, with_news) for with_news in (False, *([True] if news is not None else []))]
    return sum(odds) / len(odds)


def _weigh(found: Mapping[str, float], with_news: bool) -> float:
    weights = _weights(with_news)
    return weights["bias"] + sum(weights[name] * value for name, value in found.items())


def _about_others(old: str, new: str) -> bool:
    """Whether each is about persons of its own: a sister's birthday does not replace a mother's."""
    before, after = _persons(old), _persons(new)
    return bool(before and after) and before.isdisjoint(after)


def _is_exception(old: str, new: str) -> bool:
    """Whether the new one only tells how it is at certain times: "we close at six", "on Saturdays we close at
    two". With a word of change it may tell what now holds at those times."""
    begins = _certain_times().match(new)
    return begins is not None and not _certain_times().search(old) and not mentions_change(new)


@cache
def _certain_times() -> re.Pattern[str]:
    days = "(?:mon|tues|wednes|thurs|fri|satur|sun)days"
    return re.compile(
        rf"\s*(?i:on {days}(?: and {days})?|(?:at|on) (?:the )?weekends?|on (?:public |bank )?holidays"
        r"|in (?:the )?(?:summer|winter|spring|autumn))\b(?! from\b)"
        "|[月火水木金土日]曜日?(?:は|だけ|のみ)|(?:週末|祝日|平日|夏|冬|夏場|冬場)(?:は|だけ|のみ)"
    )


def _persons(text: str) -> set[str]:
    named = _person().finditer(text)
    return {
        _SAME_PERSON.get(word, word)
        for match in named
        for word in [(match[1] or match[2] or match[0]).casefold()]
    }


_SAME_PERSON = {
    **dict.fromkeys(("mum", "mom", "mummy", "mama", "お母さん", "母親"), "mother"),
    **dict.fromkeys(("dad", "daddy", "papa", "お父さん", "父親"), "father"),
    **dict.fromkeys(("grandma", "granny", "おばあちゃん", "祖母"), "grandmother"),
    **dict.fromkeys(("grandpa", "grandad", "granddad", "おじいちゃん", "祖父"), "grandfather"),
    **{"母": "mother", "父": "father", "姉": "お姉", "兄": "お兄", "嫁": "妻", "旦那": "夫", "主人": "夫"},
}


@cache
def _person() -> re.Pattern[str]:
    """Relatives, and people who are named as the owner of something."""
    return re.compile(
        r"(?i:\b(?:mother|mum|mom|mummy|mama|father|dad|daddy|papa|sister|brother|son|daughter|wife|husband|grandmother|grandma"
        r"|granny|grandfather|grandpa|grand?dad|aunt|uncle|cousin|niece|nephew)\b)(?!-in)"
        r"|\b(?!(?:It|He|She|That|There|What|Who|Let|Here|Where|When|How|Why|This|Today|Tomorrow|Yesterday|Everyone|Everything|One"
        r"|Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)(?:day)?['’])([A-Z]\w+)['’]s\b"
        "|お母さん|母親|(?<![祖義叔伯保分酵])母(?![国校語音体])|お父さん|父親|(?<![祖義叔伯神])父|お姉|姉|お兄|兄|(?<!兄)弟(?!子)|(?<!姉)妹|娘|息子|(?<!夫)妻|夫(?!婦)"
        "|嫁|旦那|主人|祖母|祖父|おばあちゃん|おじいちゃん|叔父|叔母|伯父|伯母|いとこ|甥|姪"
        "|([ァ-ヶー]{2,20}|[一-鿿]{1,4})(?:さん|先生|くん|君|ちゃん)の"
    )


def updates_subject(old: str, new: str) -> bool:
    """Whether a statement gives the subject of an older one another value and has a word for change: "my boss
    is A", "my boss is B now"."""
    subjects = [_subject().match(text.strip().casefold()) for text in (old, new)]
    named = [found.group() for found in subjects if found]
    return len(named) == 2 and named[0] == named[1] and mentions_change(new)


@cache
def _subject() -> re.Pattern[str]:
    """The beginning of a statement, up to the verb or particle after its subject."""
    return re.compile(
        r"(?:my|our|the|his|her|their)(?: [\w'-]+){1,4}? (?:is|are|was|were)\b|[^。、\s]{2,20}?は"
    )


def correction_features(old: str, new: str, nearness: float, lead: float, news: float) -> dict[str, float]:
    """What is counted, by name."""
    before, after = set(tokens(old)), set(tokens(new))
    shared = before & after
    changes = len(_change().findall(new)) or int(mentions_change(new))
    any_shared, change = float(bool(shared)), float(changes > 0)
    values = [_values(sort, old, new) for sort in _sorts()]
    adds = any(one & other and other - one for one, other in values)
    return {
        "nearness": nearness,
        "lead": max(-FARTHEST, min(FARTHEST, lead)),
        "shared": float(len(shared)),
        "share_of_shorter": len(shared) / max(1, min(len(before), len(after))),
        "share_of_new": len(shared) / max(1, len(after)),
        "rest_of_old": len(before - after) / max(1, len(before)),
        "news": news,
        "change": change,
        "change_and_shared": change * any_shared,
        "several_changes": float(changes > 1),
        "other_value": any_shared * any(one and other and not one & other for one, other in values),
        "added_value": change * adds,
        "same_value": float(any(one & other for one, other in values) and not adds),
        "old_value": float(_names_old_value(old, new)),
        "length_of_old": _length(old),
        "length_of_new": _length(new),
        "japanese": float(is_japanese(new)),
    }


def _values(sort: re.Pattern[str], old: str, new: str) -> tuple[set[str], set[str]]:
    """The values of this sort in either."""
    before, after = ({value.casefold() for value in sort.findall(text)} for text in (old, new))
    return before, after


def _length(text: str) -> float:
    """How much is said beyond one short statement."""
    return log1p(max(0.0, len(text) * (WIDE if is_japanese(text) else 1.0) - SHORT) / SHORT)


def _names_old_value(old: str, new: str) -> bool:
    *_, numbers, names, _ = _sorts()
    return any(value in new for sort in (numbers, names) for value in sort.findall(old))


@cache
def _weights(with_news: bool) -> dict[str, float]:
    return {name: float(known if with_news else unknown) for name, known, unknown in rows("corrections")}


@cache
def _change() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:now|no longer|no more|any ?more|any longer|instead|these days|since (?:last|this|yesterday|the)|as of|starting"
        r"|from (?:now|here|next|today)|moved?|switch(?:ed)?|changed?|shift(?:ed)?|replac(?:ed|es)|gave up|stopped|quit|dropped"
        r"|cancell?ed|retired|resigned|ended up|turned (?:into|out)|actually|after all|rather|used to|new(?:er)?|left|took over"
        r"|takes over|taken over|stands? in|successor|became|raised|lowered|cut|bumped|doubled|halved|went (?:up|down)|up to \d"
        r"|down to|pushed|postponed|rescheduled|extended|brought forward|renamed|upgraded|downgraded|migrated|converted"
        r"|transferred|swapped|lifted|rolled out|closed|shut|expired|(?:is|are) (?:out|gone)|gone over|again|only)\b"
        "|変わ|変え|変更|な(?:った|りました|って)|に(?:した|しま|決め)|こと(?:にな|にし)|ようにな|やめ|辞め|止め|もう|[今い](?:ま)?は|最近|今度"
        "|新し|引っ?越|移[っしりる]|移[行転管]|切り替|切った|乗り換|入れ替|入り直|代わ|[替換]え|替わ|交[代換]|引き継|後任|転[職校勤]|異動|退職|引退"
        "|解約|廃止|閉[めじ鎖]|延期|延び|延長|ずれ|ずらし|早ま|前倒し|上[がげ]|下[がげ]|増[えや]|減[っら]|戻[しっ]|やっぱ|結局|実は|[じで](?:ゃ|は)?なく"
        "|から.{1,12}[にへ]|からは|以降|直し|訂正",
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
            r"(?i:\b(?:january|february|march|april|june|july|august|september|october|november|december)\b)|\d{1,4}月",
            r"(?i:\b\d{1,2}(?::\d\d)? ?(?:am|pm|o'clock)\b|\b(?:half past|quarter (?:to|past)|noon|midnight)\b)"
            rf"|\b\d{{1,2}}:\d\d\b|(?i:\b(?:at|till|until|by) (?:{small}|\d{{1,2}})\b)|[\d一二三四五六七八九十]{{1,8}}時",
            rf"\d[\d,.:/]*|(?i:\b(?:{small}|twenty|thirty|forty|fifty|hundred|thousand|half|twice|once|double)\b)"
            "|[一二三四五六七八九十百千万]{1,12}(?=[時日月年歳円人つ本枚個回分番号階])",
            r"(?<=[a-z,] )[A-Z][\w'-]+|\b(?:Mr|Mrs|Ms|Dr)\.? [A-Z]\w+|[ァ-ヶー]{2,}|[一-鿿]{1,3}(?:さん|先生|くん|ちゃん)"
            "|[A-Za-z][\\w.-]{1,40}(?=[ぁ-ん一-鿿])",
            r"(?i:\b(?:red|blue|green|yellow|black|white|grey|gray|brown|pink|purple|orange|silver|gold)\b)"
            "|[赤青緑黄黒白灰茶紫]",
        )
    )
