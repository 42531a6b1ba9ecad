"""What somebody must not eat or drink, and the prompts for which that matters.

"What shall I cook tonight" shares neither words nor much meaning with "he's coeliac", yet nothing that is known
matters more to it. So both sides are recognised by words of their own, in English and Japanese.
"""

# ruff: noqa: E501 — a pattern is easier to read in one piece
from __future__ import annotations

import re
from functools import cache

DIET_WORDS = (
    "allergic allergy intolerant coeliac celiac gluten lactose vegetarian vegan cannot eat must not drink"
    " アレルギー 食べられない 飲めない 食べちゃだめ 控える"
)
LONGEST = 2_000  # characters that are looked at: a pasted text is not about a meal


def is_about_food(prompt: str, *, at_home: bool = True) -> bool:
    """Whether a prompt is about something to eat or drink, and not about what was eaten before. At work
    (`at_home` is false) a menu or a recipe may be something else."""
    text = prompt[:LONGEST]
    named = _pattern(_FOOD).search(text) or (at_home and _pattern(_FOOD_AT_HOME).search(text))
    return bool(named) and (limits_diet(text) or not _pattern(_BEFORE).search(text))


def limits_diet(statement: str) -> bool:
    """Whether a statement says what somebody must not, cannot or does not eat or drink."""
    return _pattern(_DIET).search(statement[:LONGEST]) is not None


@cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


_BEFORE = r"\b(?:was|were|did|had|last (?:night|week|time)|yesterday)\b|っけ|でした|だった|ましたか|昨日|先週"
_FOOD = (
    r"\b(?:eats?|eating|foods?|meals?|lunch|dinner|breakfast|brunch|supper|snacks?|desserts?|restaurants?|take-?away|take-?out"
    r"|cater(?:ing|er)|grocer(?:y|ies)|buffet|picnic|barbecue|potluck|lunch ?box|allerg(?:y|ies|ic)|diet(?:ary)?)\b"
    "|料理|食べ|召し上が|食事|ごはん|ご飯|昼食|夕食|朝食|夕飯|昼飯|弁当|献立|おやつ|お菓子|外食|飲み会|宴会|会食|ケーキ|給食|差し入れ|手土産|居酒屋|食材|ランチ|ディナー|スイーツ|アレルギー"
)
_FOOD_AT_HOME = r"\b(?:recipes?|menus?|cook(?:s|ing)?|bak(?:e|es|ing)|dish(?:es)?|cakes?|sweets|chocolates?|can(?:'t|not) have)\b|レシピ|レストラン"
# "Can't eat another bite" is no diet: who is full says how much, not what.
_DIET = (
    r"\b(?:allerg(?:y|ies|ic)|anaphyla\w+|epi-?pen|intoleran(?:t|ce)|co?eliac|lactose|gluten|vegetarian|vegan|pescatarian|halal"
    r"|kosher|warfarin|low[- ](?:salt|sodium|sugar|carb))\b"
    r"|\b(?:can(?:'t|not| not)|must ?n'?t|must not|may not|(?:is|are|am|'s|'m|'re) not allowed(?: to)?|(?:isn|aren)'t allowed(?: to)?"
    r"|(?:does|do)(?:n'?t| not)|never|no longer|not supposed to|stay(?:s)? off|has to avoid|have to avoid|should(?:n'?t| not))"
    r" (?:i |he |she |we |they |you )?(?:ever |really )?(?:eat|drink|have|touch|stomach|digest)\b(?! (?:another|any ?more|that much|so much|time|to|a (?:clue|choice|minute|second|problem)))"
    "|アレルギー|アナフィラキシー|エピペン|不耐症|グルテン|乳糖|除去食|ベジタリアン|ヴィーガン|ビーガン|菜食|ハラ[ルー]|ワーファリン|ワルファリン"
    "|(?:減塩|塩分|糖質|カロリー|タンパク|たんぱく)[^。]{0,6}(?:制限|控え|食)|(?:食べ|飲め|飲ま|口にでき|いただけ|召し上が)(?:られ|れ)?(?:ない|ません|なく)(?!？|\\?)"
    "|(?:食べ|飲ん)(?:ちゃ|ては)?(?:だめ|ダメ|駄目|いけない|いけません)|(?:食べる|飲む)と[^。]{0,12}(?:かゆ|痒|じんましん|蕁麻疹|腫れ|苦しく|お腹)"
)
