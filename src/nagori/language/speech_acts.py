"""Classify an utterance by its speech act: statement, question, order, thanks or small talk.

Only a statement becomes a memory of its own. A question or an order can be the trigger of a memory; thanks and
small talk are not stored. A text with several acts is a statement if any sentence states something.
"""

# ruff: noqa: E501 — a pattern is easier to read in one piece
from __future__ import annotations

import re
from enum import StrEnum

from nagori.language.lexicon import JAPANESE, strip_outer_quotes
from nagori.language.passages import is_chatter
from nagori.language.statement_check import ORDER_VERBS
from nagori.language.tokenizer import normal_form
from nagori.language.wishes import WishKind, classify_wish

LONGEST = 3000  # maximum characters; a longer text is a statement
_PASTED = 600  # maximum characters of an order; a longer sentence is code or a log


class SpeechAct(StrEnum):
    """The kinds of speech acts."""

    STATEMENT = "statement"
    QUESTION = "question"
    ORDER = "order"
    THANKS = "thanks"
    SMALL_TALK = "small_talk"


def speech_act(text: str) -> SpeechAct:
    """The speech act of a whole text. Standing instructions ("always …", "from now on …") and wishes to the
    memory are statements. "ok" or "thanks" beside a question leave it a question."""
    plain = normal_form("NFKC", strip_outer_quotes(text[:LONGEST])).replace("’", "'").strip()
    if len(text) > LONGEST or classify_wish(plain).kind is not WishKind.NONE:
        return SpeechAct.STATEMENT
    acts = [_act(part.strip()) for part in _SENTENCE.findall(plain) if part.strip(" \n.!?。,、…~〜")]
    if not acts:
        return SpeechAct.QUESTION if plain.endswith("?") else SpeechAct.SMALL_TALK
    order = (SpeechAct.STATEMENT, SpeechAct.QUESTION, SpeechAct.ORDER, SpeechAct.THANKS)
    return next((act for act in order if act in acts), SpeechAct.SMALL_TALK)


def is_statement(text: str) -> bool:
    """Whether any sentence states something worth keeping."""
    return speech_act(text) is SpeechAct.STATEMENT


def is_question(text: str) -> bool:
    """Whether it asks something and states nothing."""
    return speech_act(text) is SpeechAct.QUESTION


_SENTENCE = re.compile(r"[^.!?。\n]+(?:[.](?=\S)[^.!?。\n]*)*[.!?。]*|[.!?。]+")


def _act(said: str) -> SpeechAct:
    """The speech act of one sentence."""
    if _is_thanks(said):
        return SpeechAct.THANKS
    if is_chatter(said) or _SMALL.fullmatch(said):
        return SpeechAct.SMALL_TALK
    japanese = bool(JAPANESE.search(said))
    if _STANDING.search(said) or _GENERAL.search(said):
        return SpeechAct.STATEMENT
    if (_asks_in_japanese if japanese else _asks_in_english)(said):
        return SpeechAct.QUESTION
    if japanese and _FAVOUR_JA.search(said):
        return SpeechAct.STATEMENT
    if len(said) <= _PASTED and (_ORDER_JA if japanese else _ORDER_EN).search(said):
        return SpeechAct.ORDER
    return SpeechAct.STATEMENT


_STANDING = re.compile(
    r"\b(?:always|never|from now on|from here on|in (?:the )?future|every time|whenever|by default|each time|as a rule)\b"
    r"|いつも|必ず|今後|これからは|毎回|以後|次から|次回から|常に|原則"
    r"|^(?:please )?(?:don't|do not|avoid) (?!worry|bother|mind|panic|know|think|stop|be |you |i |we )\w+"
    r"|(?:し|使わ|入れ|触ら|送ら|変え|消さ|書か)ないで(?:ください|ね|よ|ほしい)?[。!]*$|禁止(?:です|で|だ)?[。!]*$",
    re.IGNORECASE,
)
# An order that is not about one occasion but about how to write, name or answer in general.
_GENERAL = re.compile(
    r"^(?:please )?(?:use|write|call|answer|reply|address|format|prefer|avoid|spell|name|keep|put)\b[^.!?\n]{0,80}\b(?:everything|everywhere|anywhere|in (?:this|our|the) (?:repo|project|house|team|codebase)|for (?:us|this (?:repo|project|house|client|team))|unless|when i (?:ask|write|say)|if i (?:ask|write|say))\b"
    "|^(?!.{0,30}(?:この|これ|それ|その|今|さっき|もう一度|もう一回|ここ|あれ))[^、。!?]{1,20}(?:は|には)[^。!?]{1,40}(?:ください|下さい|お願い(?:します)?|ほしい(?:です)?)[。!ね]*$|(?:で|って|と)呼んで(?:ください|ほしい|ね|よ|$|。)|(?:敬語|タメ口|丁寧語|敬体|常体|標準語|関西弁|です・?ます)[^。]{0,8}(?:で|に|なしで)",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:(?:ok|okay|great|perfect|awesome|cool|nice|good|wow|oh|ah|alright|excellent|lovely|brilliant|amazing|yes|yep|yeah|no|hey|and|well|super),? ){0,3}"
    r"(?:many |a thousand |a million |huge |big )?(?:thanks?(?: you)?|thx|ty|tysm|cheers|much appreciated|i appreciate (?:it|that|this|your help)|appreciate it|thank god)"
    r"(?:[, ]{1,2}(?:so|very|much|a lot|a bunch|a million|again|for (?:the|your|all|that|this|everything|helping|it)\b[^.!?]{0,60}|everyone|man|mate|dear|buddy|that (?:helps|helped|worked|works|was)[^.!?]{0,40}|you're (?:the best|great|a star|a lifesaver)|really|in advance|to you|anyway|that's (?:it|all|great|perfect)[^.!?]{0,20}|bye|guys|then|too)){0,5}"
    r"|you're (?:the best|a (?:star|lifesaver|legend)|amazing|awesome)|you rock|that (?:helps|helped)(?: a lot| so much| me)?",
    re.IGNORECASE,
)
_THANKS_JA = re.compile(
    "(?:(?:本当に|ほんとに|ほんと|マジで|いつも|色々|いろいろ|どうも|わざわざ|早速|教えてくれて|手伝ってくれて|直してくれて|助けてくれて|お?返事|ご?回答|ご?対応|やっぱり|了解です?|なるほど|おお|わあ|はい|うん|よかった|完璧|すごい)[、,!。\\s]*){0,4}"
    "(?:ありがと(?:う(?:ございま(?:す|した))?|ー+|ね)?|サンキュー?|さんきゅー?|感謝(?:です|します|しています)?|助か(?:った|りました|ります|る)|恩に着ます|あざす|あざっす)"
    "(?:[、,!。\\sねよーわ〜~♪]|本当に|ほんとに|とても|すごく|すごい|また(?:お願いします|よろしく)?|ありがと(?:う(?:ございま(?:す|した))?)?|助か(?:った|りました|ります)|ございま(?:す|した)|です|でした|それで(?:いい|大丈夫)(?:です)?)*"
)


def _is_thanks(said: str) -> bool:
    bare = said.strip(" .!?。~〜…,、\n:)(^_☺🙏")
    return len(bare) <= 140 and bool(_THANKS.fullmatch(bare) or _THANKS_JA.fullmatch(bare))


_SMALL = re.compile(
    r"(?:(?:ha){2,}h?|lo+l|lmao|rofl|hm+|uh+|ah+|oh+|aw+|wow+|yay+|phew|argh+|ugh+|omg|brb|gtg|afk|one (?:sec|second|moment|minute)|just a (?:sec|second|moment|minute)|hang on|hold on|wait|let me (?:think|see|check)|good (?:morning|afternoon|evening|night|point|idea|question|job|work)|how are you(?: doing)?(?: today)?|see you(?: (?:later|soon|tomorrow|then))?|talk (?:to you )?(?:later|soon|tomorrow)|have a (?:nice|good|great) (?:day|one|evening|weekend|night)|(?:that's |it's |this is |that was )?(?:so |very |really |pretty |too )?(?:funny|cool|great|nice|awesome|perfect|fine|hilarious|amazing|good|interesting|neat|sweet|wild|crazy|beautiful|lovely)|no (?:worries|problem)|never mind|nevermind|my bad|sorry(?: about that)?|oops|makes sense|i see|fair enough|of course|absolutely|agreed|indeed|whatever|yes please|no thanks?|bye(?: bye)?|hello(?: there| again)?|hi(?: there| again)?|hey(?: there)?|you too|same here|me too|k+|ok+|okay|works? (?:for me|now)|it works|i'm back|back)[\s.!?~,:)(]*"
    "|(?:草|笑+|w+|えへへ|うふふ|ふふ|はは+|へえ+|へー+|ほう|ふーん|おお+|わあ+|わーい|やった[ー!]*|うーん+|んー+|えっと|ちょっと待って(?:ね|ください)?|待って(?:ね|ください)?|少々お待ちください|元気\\??|元気ですか|お元気ですか|また(?:ね|明日|後で|あとで)|じゃあ(?:ね|また)|行ってきます|ただいま|おかえり|いってらっしゃい|よい(?:週末|一日)を|いい(?:ね|感じ|ですね)|面白い(?:ね)?|おもしろい|すごい(?:ね|です)?|さすが|たしかに|確かに|そうだね|そうですね|そっか|まあいいや|なんでもない|ごめん(?:なさい|ね)?|失礼しました|気にしないで|大丈夫(?:です)?|うける|ウケる|やばい|疲れた|眠い)[。!?ー〜~…wｗ笑、\\s]*",
    re.IGNORECASE,
)

# ── questions ────────────────────────────────────────────────────────────────────────────────────────

_ASKS_EN = re.compile(
    r"^(?:(?:and|so|but|hey|ok|okay|also|well|hm+|wait|now|then|oh|quick question|question|btw|by the way|sorry|one more(?: thing| question)?|actually)[,:]? ){0,3}"
    r"(?:what(?:'s|'re|'d)?|which|who(?:'s|se)?|where(?:'s)?|when(?! (?:i|we|you|the|he|she|it|they|my|our)\b)|why|how(?:'s)?|(?:is|are|was|were|do|does|did|have|has|can|could|should|would|will|am|isn't|aren't|don't (?:you|we|i)|doesn't|didn't|can't|won't|shouldn't) (?:it|this|that|these|those|there|the|a|an|i|we|you|he|she|they|my|your|our|any|anyone|anybody|somebody|someone|\w+)|any (?:idea|chance|news|update|suggestions?|thoughts?|luck)|got any|anyone know|wondering (?:if|whether|how|what|why)|i wonder (?:if|whether|how|what|why)|do you know|tell me (?:what|why|how|who|where|when|which|if|about|whether)|remind me (?:what|how|who|where|when|which|why))\b",
    re.IGNORECASE,
)
_NO_ASK_EN = re.compile(
    r"^(?:(?:can|could|would|will) you (?:believe|imagine)\b(?!.*\?)|guess what|what a|how (?:nice|lovely|funny|odd|weird|cool)|which (?:is|was|means)|who knew|when (?:i|we|you)|is (?:what|why|how)|have (?:a|to|you)|do (?:not|it|this|that)\b(?!.*\?)|will do|can do)\b",
    re.IGNORECASE,
)


def _asks_in_english(said: str) -> bool:
    """Whether it ends with a question mark or begins like a question. "Could you …?" is an order."""
    ends = said.rstrip(" \"')]").endswith("?")
    if _REQUEST_EN.search(said):
        return False
    return ends or (bool(_ASKS_EN.search(said)) and not _NO_ASK_EN.search(said))


_ASKS_JA = re.compile(
    "(?:ですか|ますか|ましたか|ませんか|でしょうか|だろうか|のか|かな(?:あ|ぁ)?|かしら|っけ|だっけ|んだろう|なのか|どうだろう|なん(?:だっけ|ですか|だろう|なの)|(?<!ぶ)どう(?:だ|です|なの)?(?:っけ|か|かな|の)?|(?:何|なに|どこ|いつ|だれ|誰|どれ|どっち|どちら|どのくらい|いくら|いくつ|何時|何番)(?:だ|です|なの|でした|だった)?(?:っけ|か|かな|の)?)[。\\s]*$"
    "|(?:を|が|は|か|って|のか|方法|やり方|理由|意味|場所|名前)(?:を|も|だけ)?(?:もう一度)?(?:教えて|おしえて)(?:ください|下さい|くれ(?:る|ない|ます|ません)?か?|もらえ(?:る|ます|ない|ません)か?|ほしい(?:です)?|欲しい(?:です)?|ね|よ|$|。)|(?:知りたい|聞きたい|わかる|分かる)(?:です|んだけど|んですが|な)?[。?]*$"
)


def _asks_in_japanese(said: str) -> bool:
    ends = said.rstrip(" \"'」』)笑w").endswith("?")
    return not _REQUEST_JA.search(said) and (ends or bool(_ASKS_JA.search(said)))


# ── orders ───────────────────────────────────────────────────────────────────────────────────────────

_POLITE_EN = r"(?:(?:and|so|but|hey|ok|okay|also|well|now|then|oh|great|perfect|nice|good|cool|right|alright|yes|yep|no|sorry|actually|first|next|finally|btw|for now|again|just|please|pls|plz|kindly|quickly|go ahead and|go and)[,:;]? ){0,5}"
_REQUEST_EN = re.compile(
    rf"^{_POLITE_EN}(?:(?:can|could|would|will|can't|won't) you (?:please |pls |just |also |maybe |quickly |kindly |now ){{0,3}}(?!remember\b|recall\b|believe\b|imagine\b|tell me (?:what|who|where|when|which|why|how|if)|say\b)(?:{ORDER_VERBS})\b|would you mind \w+ing|i(?:'d like| want| need) you to (?!know|remember)|let's (?!go with|use|stick|drop|adopt|switch|keep (?!going)|call|move to|settle)\w+|would be (?:great|nice) if you)",
    re.IGNORECASE,
)
_ORDER_EN = re.compile(
    rf"^{_POLITE_EN}(?:don't (?:change|touch|add|remove|worry|run|commit|push|delete|do)\b|(?:{ORDER_VERBS})\b(?! (?:is|are|was|were|has|have|fails?|failed|works?|takes?|took|does|did|will|can|should|must|needs?|keeps?|runs?|times?|seems?|looks?|at \d|s\b)\b)(?! (?!(?:the|that|if|whether|all|my|our|your|this|these|those|it|what|why|how|which|who|where|a|an|me|us|them|and|only|every\w*)\b)(?:\w+ ){{1,4}}(?:is|are|was|were|all|must|has|have|end|ends|takes?|goes|go)\b)(?![-:=(_./]|'))|{_REQUEST_EN.pattern}",
    re.IGNORECASE,
)
_REQUEST_JA = re.compile(
    "(?:て|で)(?:くれ(?:る|ない|ます|ません)|もらえ(?:る|ない|ます|ません)|いただけ(?:る|ない|ます|ません)|頂け(?:る|ます|ません)|もらって(?:も)?いい(?:です)?)(?:か|かな|でしょうか)?[?。\\s]*$"
)
# Somebody else does it for the speaker: 兄が送ってくれる. Without the one who does it, it is a request.
_FAVOUR_JA = re.compile(
    "(?:が|(?:さん|先生|くん|ちゃん|母|父|夫|妻|主人|兄|姉|弟|妹|祖母|祖父)[はも])(?![^。]*ように)[^。、?が]{0,20}[てで](?:くれる|くれます|くれてる|くれている|もらえる|もらえます)(?:こと|よう)?(?:に(?:なった|なりました|なって(?:る|います)))?[。!ー\\s]*$"
)
_ORDER_JA = re.compile(
    "(?:(?<!につい)(?<!対し)(?<!とし)(?<!によっ)(?!だって|んだって)(?<!だ)(?:し|き|い|っ|ん|え|け|せ|て|め|れ|べ|げ|り|み|ち|び|ぎ|出|見|来|直|戻|消|試)(?:て|で)|といて|どいて)(?:ください|下さい|くれ(?:る|ない|ます|ません)?(?:か|かな)?|もらえ(?:る|ない|ます|ません)?(?:か|かな)?|もらって(?:も)?いい(?:です)?(?:か|かな)?|いただけ(?:る|ない|ます|ません)(?:か|でしょうか)?|ちょうだい|みて(?:ください|くれる|ね|よ)?|おいて(?:ください|くれる|ね|よ)?|ほしい(?:です|な)?|欲しい(?:です)?|ね|よ|な|や)?[。!?~〜ーね\\s]*$"
    "|(?:を|に|の|で)?(?:お願い(?:します|できますか|ね)?|頼む|頼みます|よろしく)[。!~〜ー\\s]*$|(?:しろ|せよ|やれ|出せ|直せ|見せろ|進めろ|なさい|ましょう|よう)[。!]*$|^(?:次|続き|もう一回|もう一度|やり直し|再実行|却下|ストップ|停止|中止|実行|修正|確認)[。!\\s]*$"
)


_REJECTION = re.compile(
    r"^(?:no|nope|wrong|incorrect)\b(?=[\s,.!:;-]|$)(?! (?:problem|worries|need|doubt|one|thanks))"
    r"|^(?:that|this|it)(?:'s| is| was)(?: still| just)? (?:not (?:right|correct|true|it|what i)|wrong|incorrect|false)\b"
    r"|^(?:that|this|it) (?:didn't|doesn't|did not|does not) (?:work|help)\b"
    r"|^(?:いや|いえ|違う|違います|ちがう|ちがいます|間違い|間違って|まちがい|まちがって|そうじゃな|そうではな|それは違|それは間違|動かな|だめ|ダメ|駄目)",
    re.IGNORECASE,
)


def rejects_answer(text: str) -> bool:
    """Whether a prompt begins by rejecting the answer before it: "no, that's wrong", 「違います」."""
    plain = normal_form("NFKC", strip_outer_quotes(text[:200])).replace("’", "'").strip()
    return _REJECTION.search(plain) is not None
