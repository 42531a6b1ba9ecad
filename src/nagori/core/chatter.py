"""Words that keep a conversation going and say nothing by themselves: "ok, go ahead", はい、続けて。

Nobody wants to be reminded of them, and they remind of nothing.
"""

from __future__ import annotations

from functools import cache

_WORDS = """
    thanks|thank you|thank|thx|ty|you|ok|okay|k|yes|yep|yeah|yup|no|nope|sure|hi|hello|hey|bye|good
    great|nice|cool|perfect|awesome|excellent|fine|right|exactly|understood|got it|done|go ahead
    go on|go|ahead|continue|proceed|next|please|so|much|very|morning|evening|night|well|and|then|it
    do it|lgtm|ship it|sounds good|looks good|to me|wow|hmm|oh|ah|all|now|again|try
    ありがとうございました|ありがとうございます|ありがとう|どうも|はい|うん|ええ|いいえ|いや
    了解です|了解しました|了解|りょ|承知しました|承知|わかりました|分かりました|わかった|分かった
    なるほど|いいね|いいです|いいよ|すごい|完璧|オーケー|おけ|お願いします|お願い
    よろしくお願いします|よろしく|続けてください|続けて|続き|次|進めてください|進めて|どうぞ
    すみません|ごめん|おはようございます|おはよう|こんにちは|こんばんは|おやすみ|お疲れ様です
    お疲れさま|お疲れ様|お疲れ|助かりました|助かる|です|ます|ね|よ|な|じゃあ|では|それで|大丈夫です
    大丈夫|そう|ですね|やって|やってください|して|もう一度|を|で
"""
_LONGEST = 60  # characters: whoever says more says something


@cache
def _listed() -> list[str]:
    """Longest first; a pattern of so many words would cost a hook milliseconds to compile."""
    words = [word.strip() for line in _WORDS.split("\n") for word in line.split("|")]
    return sorted(filter(None, words), key=len, reverse=True)


def is_chatter(text: str) -> bool:
    """Whether a text consists of such words alone."""
    rest = text.strip().casefold()
    if len(rest) > _LONGEST:
        return False
    while rest:
        if not rest[0].isalnum():
            rest = rest[1:]
            continue
        word = next((word for word in _listed() if _begins(rest, word)), None)
        if word is None:
            return False
        rest = rest[len(word) :]
    return True


def _begins(text: str, word: str) -> bool:
    """With this word, not with a longer one; Japanese has no ends of words to look for."""
    after = text[len(word) : len(word) + 1]
    return text.startswith(word) and not (word.isascii() and after.isascii() and after.isalnum())
