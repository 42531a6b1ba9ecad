"""Classify an utterance by its speech act: statement, question, order, thanks or small talk; and find what it
wishes of the memory itself: keep this, do not keep this, forget that.

Only a statement becomes a memory of its own. A question or an order can be the trigger of a memory; thanks and
small talk are not stored. A text with several acts is a statement if any sentence states something.
"""

# ruff: noqa: E501 — a pattern is easier to read in one piece
from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache

from nagori.core.value_object import Value
from nagori.language.lexicon import JAPANESE, LETTERS, own_words, strip_outer_quotes
from nagori.language.passages import is_chatter
from nagori.language.redaction import WITHHELD
from nagori.language.statement_or_question import ORDER_VERBS
from nagori.language.tokenizer import normal_form

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


def asks_for_several(text: str) -> bool:
    """Whether a question asks for several things, which were probably told on several occasions: "which
    cities …", "what has she painted?", 「何回」."""
    return _several().search(text[:_PASTED]) is not None


_WORD = r"[\w+-]+"


@cache
def _several() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:how (?:many|often)|both|all|several|different|various|multiple|kinds?|types?|ways|in common|besides|other than|each)\b"
        r"|^\W*(?:what|which|where|who|whose|how)\s+(?:has|have|are|were)\b"
        r"|^\W*(?:what|where|who)\s+do(?:es)?\s+[\w']+\s+(?:usually\s+|often\s+)?do\b"
        r"|^\W*what\s+do(?:es)?\b.{1,40}\b(?:like|love|enjoy|hate|dislike|prefer|offer|collect)\b(?!\s+most\b|\s+best\b)"
        r"|^\W*what\s+(?:is|am)\b.{1,40}\s(?:to|of|in|by|at|about|with)\s*\?"  # allergic to, afraid of, good at
        # Within three words after "what": one that ends as plurals do.
        rf"|^\W*(?:what|which)\b(?:\s+{_WORD}){{0,2}}\s+(?:people|children|men|women|"
        rf"(?!does\b|was\b|has\b|this\b|his\b|its\b)[\w+-]{{2,}}(?<![sui])s)\b"
        r"|いくつ|何[回度種人個冊件]|すべて|全部|全て|両方|それぞれ|共通|以外|ほかに|他に|様々|さまざま|いろいろ|色々",
        re.IGNORECASE,
    )


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


# --- wishes ---------------------------------------------------------------------------------------
# Wishes are carried out, so precision comes first: only the speaker's own request to the memory counts. A
# report of a request, a question about the past, a reminder of a task ("don't forget to call"), code and
# quotations do not count. Every pattern is bounded, so hostile text costs linear time.

MOST = 2000  # characters that are read at each end of a text: a wish comes before or after its subject


class WishKind(StrEnum):
    """What should happen to this text (KEEP, NOT_KEEP) or to earlier ones (FORGET)."""

    KEEP = "keep"
    NOT_KEEP = "not_keep"
    FORGET = "forget"
    NONE = "none"


class Wish(Value):
    """A wish. `matter`: the words that name what to forget; `last`: forget the previous statement."""

    kind: WishKind
    matter: str = ""
    last: bool = False
    learned: bool = False  # not by a rule: which of its sentences say it is unknown


NO_WISH = Wish(WishKind.NONE)


def classify_wish(text: str) -> Wish:
    """The wish that a text expresses. Of several, FORGET has priority over NOT_KEEP, and that over KEEP: the
    more private reading is the safer one."""
    if is_withheld(text):
        return Wish(WishKind.NOT_KEEP)
    found = list(_wishes_in(spoken_words(text)))
    order = (WishKind.FORGET, WishKind.NOT_KEEP, WishKind.KEEP)
    return next((wish for kind in order for wish in found if wish.kind is kind), NO_WISH)


def is_withheld(text: str) -> bool:
    """Whether a text was marked as private."""
    return text == WITHHELD or _PRIVATE.search(_ends(text)) is not None


def spoken_words(text: str) -> str:
    """What the user says in a text, without code and quotations; the beginning and the end of a long one."""
    plain = normal_form("NFKC", _ends(text)).replace("’", "'")
    return own_words(_CODE.sub(" … ", strip_outer_quotes(plain)))


def _ends(text: str) -> str:
    return text if len(text) <= 2 * MOST else f"{text[:MOST]}\n{text[-MOST:]}"


def without_wishes(text: str) -> str:
    """What else is said: the sentences that wish nothing of the memory."""
    if len(text) <= 2 * MOST:
        return _sentences_without_wish(text)
    parts = (
        _sentences_without_wish(text[:MOST]),
        text[MOST:-MOST].strip(),
        _sentences_without_wish(text[-MOST:]),
    )
    return " ".join(part for part in parts if part)


def _sentences_without_wish(text: str) -> str:
    parts = (sentence.strip() for sentence in _WISH_SENTENCE.findall(text))
    return " ".join(part for part in parts if part and classify_wish(part).kind is WishKind.NONE)


_PRIVATE = re.compile(r"[<＜]private(?=[\s/>＞])", re.IGNORECASE)
_CODE = re.compile(r"```[^`]{0,4000}```|`[^`\n]{1,200}`|^[ \t]*(?:>|//|#|\$ )[^\n]*", re.MULTILINE)
_WISH_SENTENCE = re.compile(r"[^.!?。\n]{1,600}(?:[.](?=\S)[^.!?。\n]{1,200}){0,3}[.!?。]*")


def _wishes_in(spoken: str) -> Iterator[Wish]:
    told = ""  # the subject of an earlier sentence: "I gave you my number. Delete it"
    for sentence in _WISH_SENTENCE.findall(spoken):
        said = sentence.strip()
        if JAPANESE.search(said):
            yield from _japanese(said)
        elif LETTERS.search(said):
            yield from _english(said, told)
            found = _patterns()["told"].search(said)
            told = _tidy(found["what"]) if found else told


# ── English ──────────────────────────────────────────────────────────────────────────────────────────

_FILLER = (
    r"(?:and|so|but|then|also|just|ok|okay|hey|oh|well|actually|now|btw|no|yes|right|sorry|lastly|finally|always|do|on second thought"
    r"|one more thing|before i forget|from (?:here|now) on|important|quick note|reminder|please|pls|plz|kindly|in fact|in that case)"
)
_ASKS_YOU = r"\b(?:can|could|will|would|may i ask you to|can't|won't) you (?:please |kindly |just |also |maybe |perhaps )?"
# Where a request can begin: at the start of a clause, or after words that introduce one.
_HEAD = (
    rf"(?:(?:^|[,:;—–(-] ?)(?:{_FILLER}[,:]? ){{0,4}}"
    rf"|\b(?:please|pls|plz|kindly),? (?:do |just |also |always )?|(?P<asks>{_ASKS_YOU})"
    r"|\bi(?:'d| would)? (?:really )?(?:like|want|need|prefer|ask|love|appreciate it if) (?:for )?you (?:to |could |would )?"
    r"|\byou (?:can|may|might want to|should|must|need to|have to|ought to|'d better|could) (?:please |also |just |now |safely )?(?!'t)"
    r"|\b(?:make|be) sure (?:to|you|that you) |\blet's (?:just |please )?|\bfeel free to |\band (?:please |then )?|\bif you (?:could|would) (?:please )?)"
)
_THIS = r"(?:this|that|it|these|those|the following|what (?:i|follows)|any(?:thing)? of (?:this|that|it|what)|anything (?:i|from)|everything i|all (?:of )?this|the (?:next|following) (?:\w+ )?(?:bit|part|messages?|sentences?|lines?|things?|paragraph|details?)|my next)"
_STOP = r"(?=\s*(?:$|[.,:;!?…—–-]|please\b|pls\b|but\b|for\b(?! (?:loop|the (?:build|test)))|because\b|since\b|down\b|anywhere\b|at all\b|any ?where|from\b|somewhere\b|in (?:mind|your|the record|any)|to (?:your )?(?:memory|yourself)|about\b|i\b|too\b|okay\b|ok\b|either\b|under\b|thing\b|bit\b|one\b|number\b|fact\b|info\w*\b|detail\b|part\b|stuff\b|conversation\b|chat\b|secret\b))"
_MEMORY = r"(?:your |the |any |my |long.term )?(?:memory|memories|notes?|records?|history|profile|knowledge|brain|head|mind|memory (?:file|store|bank))"
_TELL = r"(?:said|told|mentioned|gave|shared|wrote|typed|pasted|sent|talked|discussed|confided|dictated|let slip|revealed)"
_DOCUMENT = r"(?:draft|doc\w*|text|readme|e?mail|slides?|letter|essay|article|paragraph|page|list|table|code|file|repo\w*|script|config\w*|branch|index|db|database|cache|folder|directory|code ?base|form|cv|resume|invoice|report|post|section|intro\w*|title|column|disk|server|cart|basket|playlist|recipe|sheet|spreadsheet)"
_VERBS_AWAY = r"(?:forget|delete|erase|remove|wipe|scrub|purge|strike|drop|discard|unlearn|get rid of|clear|disregard|ignore|never ?mind|destroy|lose|take back|throw (?:away|out)|clean (?:up|out)|expunge|scratch|undo|bin|ditch|cut|take out)"
_WHAT = r"(?P<what>[^.!?\n;]{1,90})"

_FORGET = (
    rf"{_HEAD}(?:forget|disregard|ignore) (?:that )?i (?:ever |even |just )?{_TELL}(?: you| to you)?(?: (?:about|that|of))? ?(?P<what>[^.!?\n;]{{0,90}})",
    # what I said about X; the X I gave you; everything I told you
    rf"{_HEAD}{_VERBS_AWAY} (?:about |out )?(?:(?:what|everything|anything|all|whatever|the (?P<noun>[\w' -]{{1,40}}?)|my (?P<noun2>[\w' -]{{1,40}}?)|that) )(?:that |which )?(?:i|we)(?:'ve|'d| have| had)? (?:just |once |ever |already |also |previously |earlier )?{_TELL}(?: to)?(?: you)?(?: (?:earlier|before|just now|yesterday))?(?: (?:about|of|on|regarding|concerning) {_WHAT})?",
    rf"{_HEAD}(?:un-?remember|un-?know) {_WHAT}",
    rf"{_HEAD}{_VERBS_AWAY} (?:all |any |every |the |your |those )*(?:records?|memor(?:y|ies)|notes|traces?|mentions?|knowledge) (?:of|about|on|regarding) (?![^.!?\n]{{0,60}}\b(?:from|in|of|on) (?:the|this|my|that|our) {_DOCUMENT}\b)(?!(?:the|this|that) {_DOCUMENT}|type\b){_WHAT}",
    r"\byou no longer (?:need|have) to (?:know|remember|keep|hold on to) (?P<what>[^.!?\n;]{1,60})",
    rf"^(?:and |so |also |oh )?(?=(?:that|the|what|everything|all|my|our) )(?![^.!?\n]{{0,70}}\b{_DOCUMENT}\b)(?=[^,:.!?]{{0,60}}(?:\b(?:i|we) (?:just )?{_TELL}|\beverything about|\ball about|\b(?:story|thing|part|bit|info\w*|details?|stuff|matter|conversation) (?:about|of|on|with)|\b(?:my|our) ))(?P<what>[^.!?,:;\n]{{3,70}})[,:—–-] ?(?:please |just |you can |you may |could you |can you |now ){{0,3}}(?:forget|delete|erase|wipe|remove|purge|drop|scrub) (?:about )?(?:it|that|them|all of (?:it|that)|this)(?: all)?(?: please| from (?:your )?(?:memory|notes|mind))?[.!?]*$",
    # everything you know about X
    rf"{_HEAD}{_VERBS_AWAY} (?:about )?(?:everything|anything|all|what|whatever|the (?:things?|stuff|facts?|info\w*|data|notes?)) (?:that )?you(?:'ve| have)? (?:know|remember|saved|stored|learn(?:ed|t)|kept|noted|recorded|got|have|hold|picked up)(?: (?:about|on|of|from|regarding) {_WHAT})?",
    # the thing about X
    rf"{_HEAD}(?:forget|strike|drop|erase|delete|wipe|remove|scrub|unlearn|lose|disregard|purge) (?:about )?(?:the|that|my) (?:whole |entire |old )?(?:thing|bit|part|stuff|story|note|memory|entry|fact|info\w*|remark|comment|business|matter|conversation|chat|talk|rant)s? (?:about|on|with|regarding|concerning|of|where|that|from) (?![^.!?\n]{{0,60}}\b(?:from|in|of) (?:the|this|my|that|our) {_DOCUMENT}\b){_WHAT}",
    rf"{_HEAD}{_VERBS_AWAY} (?:everything|all|anything|whatever) (?:there is )?(?:about|on|regarding|concerning|to do with|related to|connected with) (?![^.!?\n]{{0,60}}\b(?:from|in|of) (?:the|this|my|that|our) {_DOCUMENT}\b)(?=(?:my|our|me|us|him|her|them|the|that)\b|(?-i:[A-Z])){_WHAT}",
    # X from your memory
    rf"{_HEAD}{_VERBS_AWAY} (?:about )?(?P<what>[^.!?\n;]{{1,70}}?) (?:from|out of|off) (?:(?:your|the) (?:memory|memories|notes|records?|mind|head|brain|knowledge)\b|(?:what|whatever|everything) you (?:have|know|keep|store))",
    # that I wanted X; about X; my X
    rf"{_HEAD}(?:unlearn|forget) (?:that )(?=(?:i|we|my|our|he|she|they)\b){_WHAT}",
    rf"{_HEAD}forget (?:all )?about (?!it\b|that\b|this\b|the (?:tests?|bug|error|build|rest)\b){_WHAT}(?<!\?)",
    rf"{_HEAD}forget (?=(?:my|our|his|her|their|everything|all) ){_WHAT}",
    rf"{_HEAD}forget (?=(?:the|that) (?:address|(?:phone )?number|name|password|pin|code|date|story|conversation|diagnosis|salary|secret)\b){_WHAT}",
    rf"{_HEAD}(?:take back|undo|forget|erase|wipe|delete) (?:everything|all|anything|the (?:talk|chat|conversation)) (?:we (?:said|discussed) )?(?:from|of|since) (?![^.!?\n]{{0,40}}\b{_DOCUMENT}\b){_WHAT}",
    rf"\bi(?:'d like to| want to| would like to| hereby)? take back what i {_TELL}(?: you)?(?: (?:about|on) {_WHAT})?",
    # I don't want you to know X any longer
    r"\bi (?:don't|do not|no longer) want you to (?:know|remember|have|keep|hold(?: on to)?) (?P<what>[^.!?\n;]{1,60}?) (?:any ?more|any longer|in there|after all|now)",
    r"\bi no longer want you to (?:know|remember|have|keep) (?P<what>[^.!?\n;]{1,60})",
    r"\bi(?:'d| would) rather you (?:didn't|did not|forgot|not) ?(?:have|know|remember|keep|hold)? ?(?P<what>[^.!?\n;]{1,60}?)(?: (?:any ?more|any longer|in there|in your memory)|(?=[.!]|$))(?<!this)(?<!that)(?<! it)",
    rf"{_HEAD}(?:stop|quit) (?:remembering|bringing up|reminding me (?:of|about)) {_WHAT}",
    r"\byou (?:don't|do not) (?:need|have) to (?:know|remember|keep) (?P<what>[^.!?\n;]{1,60}?) (?:any ?more|any longer)",
)
_FORGET_LAST = (
    r"(?:^|[,;—–-] ?)(?:(?:no|oh|ok|okay|actually|sorry|wait|hm+|please|and|ah|well|erm?|um)[,.]? ){0,3}(?:scratch|strike) that(?=$|[ ]*[,.!…;:—–-]| please| last| from the record| i\b)",
    rf"{_HEAD}(?:forget|erase|delete|wipe|scratch|strike|unhear|unsee|take back|remove|purge) (?:that|this|what i (?:just )?(?:said|wrote|told you)|my last (?:message|sentence|remark|words)|(?:that|the|my) last (?:thing|bit|part|message|sentence|remark|one|line))(?: (?:i (?:just )?(?:said|wrote|told you)|just now))?(?: from your (?:memory|notes|mind))(?=$|[ ]*[,.!…])",
    rf"{_HEAD}(?:forget|erase|delete|wipe|scratch|strike|take back|purge) (?:what i just (?:said|wrote|told you)|my last (?:message|sentence|remark|words)|(?:that|the|my) last (?:thing|bit|remark|message) i (?:said|wrote|told you|sent)|the last thing i (?:said|wrote|told you))\b",
    r"(?:\bplease,? |\b(?:can|could|would|will) you (?:please |just )?)forget (?:that|this|what i (?:just )?said)(?=\s*(?:$|[.!?…]|please|right away|again))",
    r"\b(?:let's |please |just )?(?:pretend|act as if|imagine) (?:that )?(?:i (?:never|didn't|hadn't|had never) (?:said?|say|tell|told|mention\w*|bring|brought|written?|typed?)|you (?:never|didn't) (?:hear|heard|read|see))\b",
    r"\bi (?:never|didn't) (?:say|said) that, (?:ok|okay|right|got it)",
)
_NO = r"(?:do not|don't|dont|never|no need to|needn't|need not|there's no need to|you (?:don't|do not|needn't|shouldn't|mustn't|must not|should not) ?(?:have to|need to)?|please not|rather (?:you )?(?:not|didn't)|i (?:don't|do not) want you to|i(?:'d| would) (?:prefer|rather) (?:that |if )?you (?:not|didn't|don't)(?: to)?|(?:would|could) you not|avoid|refrain from|try not to|(?:better )?not to)"
_NOT_KEEP = (
    rf"(?:^|[,:;—–(-] ?|\b(?:please|pls|and|so|but|just|then|or|hey|ok|okay),? |\bi |\b){_NO} (?:please |ever |actually |bother (?:to )?|even )?(?:remember(?:ing)?|memori[sz](?:e|ing)) (?:{_THIS}|any|my)\b(?! (?:way|time))",
    rf"{_NO} (?:please |ever |actually |bother (?:to )?|even )?(?:sav(?:e|ing)|stor(?:e|ing)|keep(?:ing)?|record(?:ing)?|retain(?:ing)?|log(?:ging)?|not(?:e|ing)(?: down)?|jot(?:ting)?(?: down)?|writ(?:e|ing)(?: down)?|hold(?:ing)? on to|hang(?:ing)? on to|archiv(?:e|ing)|persist(?:ing)?|fil(?:e|ing)|tak(?:e|ing) (?:any )?notes? (?:of|on|about)|mak(?:e|ing) (?:a |any )?notes? (?:of|on|about)|learn(?:ing)? from) {_THIS}{_STOP}(?! (?:down )?(?:in|as|to) (?:a |an |the )?(?:file|{_DOCUMENT}))",
    rf"{_NO} (?:please |ever )?(?:take|make|keep) (?:any )?notes?\b{_STOP}|\bno (?:notes|records|note.taking|logging|memory|saving)\b(?=,? (?:please|for this|of this|on this|from this)|$|[.!,:])",
    rf"{_NO} (?:please |ever )?(?:add|put|commit|save|store|keep|write|record|enter|let) (?:{_THIS}|any of \w+|my [\w ]{{1,30}}) (?:in|into|to|on|get into) {_MEMORY}\b",
    rf"{_NO} (?:please |ever )?(?:keep|make|create|have|leave) (?:a |any )?(?:record|log|note|trace|memory|copy)s? of (?:this|that|it|what|our|any)\b|{_NO} (?:please |ever |even )?(?:sav(?:e|ing)|stor(?:e|ing)|keep(?:ing)?|record(?:ing)?|retain(?:ing)?|log(?:ging)?|remember(?:ing)?|not(?:e|ing)(?: down)?|writ(?:e|ing)(?: down)?) (?:what|anything|any of what) (?:i|i'm|i'll|we|we're|follows|comes)\b",
    r"\b(?:i'd|i would|we'd) (?:rather|prefer(?: it)?)(?: that| if)? (?:this|that|it|these)(?: chat| conversation| one| bit| part)? (?:was not|wasn't|weren't|not be|is not|isn't|were not|not) (?:\w+ )?(?:saved|stored|kept|remembered|recorded|noted|logged|retained|written down)\b|^(?:\w+,? ){0,2}between (?:you and me|us|ourselves)\b|(?:^|[,;] ?|\bplease )(?:skip|stop|avoid) (?:saving|storing|recording|logging|remembering|noting) (?:this|that|it)(?: one| bit| part)?(?=[ ]*(?:[.,:!]|$|please))",
    r"\b(?:that|which) you (?:won't|shouldn't|don't|mustn't|must not|will not|should not|needn't) (?:ever )?(?:remember|store|save|keep|record|note|retain)\b|(?:^|[,;] ?|\bplease )(?:make|keep|take|leave) no (?:record|note|notes|records|trace|memory|log)s?\b(?= of (?:this|that|it|what|our)|[ ]*(?:[.,!:]|$)|please)",
    r"(?<!for the record, )\boff[ -](?:the[ -])?(?:record|books)\b(?! (?:feature|mode is|messaging))|\bnot (?:for|on) the record\b|\bisn't (?:for|on) the record\b|\b(?:not|isn't|none of (?:it|this|that)|nothing) (?:\w+ ){0,4}(?:for|in|into|to go in(?:to)?) your (?:memory|notes|records?|files)\b",
    r"\b(?:this|that|it|what i (?:say|tell you)|all of (?:this|it)|everything i say|the following) (?:\w+ ){0,2}?(?:stays?|remains?|must stay|has to stay|is|'s|should stay) (?:strictly |just |only |purely )?(?:between (?:us|you and me|the two of us|ourselves)|in this (?:room|chat|conversation|session)|here)\b(?!')|\bkeep (?:this|that|it) (?:strictly |just )?(?:between (?:us|you and me|the two of us|ourselves)|to yourself|off the record|out of (?:your |the )?(?:memory|notes|record\w*|history))|\b(?:just|strictly|purely|only) between (?:us|you and me|the two of us|ourselves)\b|\bthis goes no further\b|\bfor your (?:ears|eyes) only\b",
    r"\b(?:just|only|purely) for (?:this|the current|today's|our current) (?:one )?(?:chat|conversation|session|talk|exchange|question|answer)\b|\bfor this (?:chat|conversation|session) only\b|\b(?:valid|relevant|only) (?:in|for) this (?:chat|conversation|session) only\b",
    rf"\bi (?:don't|do not|wouldn't|never) want (?:{_THIS}|any of \w+|my \w+) (?:to be )?(?:saved|stored|kept|remembered|recorded|noted|logged|retained|written down|on file|in your|on record)",
    r"\b(?:nothing|none|not (?:a word|any)) (?:of|from|about|in) (?:this|that|it|what i (?:say|tell you))\b[^.!?\n]{0,30}\b(?:kept|saved|stored|remembered|recorded|noted|logged|retained|written down)\b",
    r"\b(?:this|that|it|these|what (?:i say|follows))(?: (?:message|part|bit|one|chat|conversation|info\w*))? (?:must|should|is|does|need|shall|can)(?: not|n't)(?: to)?(?: be)? (?:kept|saved|stored|remembered|recorded|noted|logged|retained|written down|leave this (?:chat|room)|go (?:in|into) your|to be (?:kept|saved|stored|remembered|recorded|noted|logged|retained))\b",
    rf"{_HEAD}(?:leave|keep|skip|omit|exclude) (?:(?:{_THIS}|my \w+)(?: one| bit| part| thing| message)? )?(?:out of|from|off) {_MEMORY}\b|{_HEAD}(?:ignore|skip) (?:{_THIS}) (?:for|in) {_MEMORY}\b",
    r"\bwithout (?:you(?:r)? )?(?:\w+ )?(?:storing|saving|recording|remembering|keeping|logging|noting|retaining) (?:it|this|that|any|anything|a thing)\b(?! (?:in|as|to) (?:a|an|the|disk))|\bwithout (?:a |any )?(?:record|trace) of (?:it|this)\b",
    rf"{_HEAD}(?:forget|delete|erase|discard|drop) (?:this|it|that|everything) (?:right away|right after|afterwards?|immediately|as soon as|once (?:you|we)|when (?:we|you)|after (?:this|you|we|answering|the chat)|straight away|later)\b|\bthen forget (?:it|this|that|about it|everything|all of it)\b",
    r"\b(?:incognito|private mode|go dark)\b(?=,? (?:please|for)|[ ]*[:.!]|$)|\bno need to (?:remember|keep|save|store|record|note|memori[sz]e|retain|write down|log) (?:any of |all of )?(?:this|that|it|the (?:next|following|rest)|what|these|my)\b(?! (?:file|variable|column|branch))",
)
_KEEP = (
    rf"{_HEAD}(?:always )?(?:remember|memori[sz]e) (?!to\b(?! (?:always|never|not))|when\b|what (?:we|i|you|he|she|they|it|happened)\b|how\b|where\b|who\b|the (?:time|good old|days)\b|me to\b|nothing\b|anything\b|seeing|being|having|that (?:time|one time|day|night|film|movie|song|guy|feeling|scene)\b|(?:it|that|this) (?:well|vividly|clearly|fondly)|him to|her to)(?=that\b|this\b|it\b|these\b|my\b|our\b|i\b|i'm\b|we\b|for\b|the\b(?=[^.!?\n]{{3,60}}\b(?:is|are|was|has|have|can|can't|must|needs?|should|will|doesn't|don't|goes|comes|opens|closes|lives|\w+[a-z]s)\b)|to (?:always|never|not)|he\b|she\b|they\b|his\b|her\b|all\b|not to\b|\w+(?:'s)? (?:is|are|has|was|can|does|means|needs|goes|lives|prefers|likes)\b|[\"“…])|{_HEAD}(?:remember|memori[sz]e):|{_HEAD}remember, (?=i\b|i'm\b|my\b|our\b|we\b)|\bremember (?:this|that|it)(?: (?:for (?:me|later|next time|the future)|please|forever|from now on))",
    rf"{_HEAD}(?:make|take|keep) (?:a |an |yourself a )?(?:mental |quick |permanent |little |brief )?(?:note|record)(?: (?:of (?:this|that|it|my|the fact)|that|for (?:later|next time|yourself|me|the future)|somewhere)\b|[:,.!]|$)|{_HEAD}(?:note|take note) (?:that|this|it|down that|of this|of the fact|for (?:later|next time|the future|yourself))\b(?! (?:function|method|file|line|variable))|{_HEAD}(?:please )?note:",
    rf"{_HEAD}(?:keep|bear|have) (?:\w+ )?in mind\b(?! (?:when you (?:fix|write|refactor) (?:this|that)))|{_HEAD}(?:keep|bear) (?:this|that|it|these|the fact|my [\w ]{{1,30}}|our [\w ]{{1,30}}) in mind\b",
    rf"{_HEAD}(?:jot|write|put|note|get) (?:this|that|these|it|the following|my [\w ]{{1,30}}|(?:this|that) one) down\b(?! (?:as|in|into|on) (?:an?|the)\b)|{_HEAD}(?:jot|write|note) down (?:that\b|this\b(?! (?:function|as))|my\b|i\b|for (?:later|me|next time))",
    rf"{_HEAD}(?:save|store|keep|retain|log|record|hang on to|hold on to|file|preserve|archive|park) (?:this|that|it|these|the following|this \w+)(?: (?:one|fact|number|info\w*|detail|date|address|name|away))?(?: (?:away|safe|handy|somewhere|permanently|forever|long term))?(?=\s*(?:[:,](?! ?(?:then|and|but|or|as|in|to)\b)|(?:\w+ ){{0,2}}\w+:|for (?:me|later|next|future|the future|good|another|whenever)|in (?:your |long.term )?(?:memory|mind|notes|head)|to (?:your )?(?:memory|notes)|please\s*[:,]|forever|, please))",
    rf"{_HEAD}(?:save|store|remember|memo|keep|record)(?: please| pls)?: ?(?=\w+(?:'s)? \w+)(?![/\w.]+\.\w{{1,4}}$)",
    rf"{_HEAD}(?:put|add|commit|save|store|write|enter|file|get) (?:{_THIS}|my [\w ]{{1,30}}|the fact)? ?(?:that [\w' ]{{1,60}} )?(?:in|into|to|on|under) (?:your |long.term |permanent |my )(?:long.term |permanent )?(?:memory|memories|notes|records?|profile|knowledge|head|file)\b|{_HEAD}commit (?:{_THIS}|my [\w ]{{1,30}}) to memory",
    rf"{_HEAD}(?:never|don't(?: you)?(?: ever| dare)?|do not(?: ever)?|dont) forget (?:this|that|it|what i (?:said|told)|my|our|i'm|i am|we're|we are|i (?:can't|cannot|don't|only|never|have|need|like|hate|prefer)|(?:he|she|they)(?:'s|'re| is| are)|\w+ (?:is|are|has) )\b(?! (?:file|semicolon|comma|import|line|part|flag|test|bracket))|{_HEAD}(?:never|don't(?: ever)?|do not) forget[:,] ?\w",
    r"\bdon't (?:ever )?(?:let me|let us|you let me) forget (?:that|this|my|our|about|the|\w+'s|i|we)\b(?! to\b)|\bhelp me remember (?:that|this)\b|\bremind (?:me|yourself) (?:from now on|in future|every time|always|in future chats?) ",
    r"(?:^|[,:;.—–(-] ?|\b(?:and|so|but|just|fyi) )(?:(?:so|and|just|also|ok|okay|fyi),? )?for (?:future|later|your|my) (?:reference|chats?|conversations?|sessions?|use|records?|memory|information going forward)\b|(?:^|[,:;—–-] ?)(?:for|as of) (?:next time|all future (?:chats|sessions|conversations|work)|the (?:future|long term)|later)[,:]|\b(?:know|knows|so you know) (?:this |it |that )?(?:for next time|from now on|permanently|for good|in (?:the )?future)\b",
    r"\bso (?:that )?you(?:'ve got| have) (?:it|this|that) (?:on (?:file|record)|in (?:memory|mind)|written down|noted)\b|^(?:\w+ ){0,2}note (?:for|to) (?:you|yourself|self|your memory)\b|\bif you (?:could |would )?(?:remember(?:ed)?|ke(?:ep|pt) (?:\w+ )?in mind|noted?|made a note|ke(?:ep|pt) a note)(?: of)? (?:that|this|my|our|i)\b|(?:^|[,;] ?|\bso )to (?:remember|keep in mind|note|memori[sz]e): |\bi want (?:this|that|it) (?:to be )?(?:remembered|kept|noted|saved|stored|recorded|on record|written down)(?=[ ]*(?:[:,.!]|$|for ))|\b(?:thing|something|fact|point|detail|one) (?:for you )?to (?:remember|keep in mind|note|memori[sz]e)(?: for \w+ ?\w*)? ?[:,—–-]",
    rf"{_HEAD}(?:don't|do not|never) lose (?:this|that|it|track of (?:this|that|the fact))(?=[ ]*(?:[:,.!]|$))|{_HEAD}keep track of (?:the fact|this|that|my)\b|{_HEAD}(?:save|add|store|commit|write|put) (?:this |that |it )?(?:to|in|into) (?:your |long.term )?(?:memory|notes)(?: that\b|[ ]*[:,])|{_HEAD}(?:store|save|note|record|remember) (?:my|our) [\w ]{{1,30}}:|\bfrom (?:now|here) on,? (?:please )?remember\b",
    r"\byou(?:'ll| will)? (?:should|must|need to|have to|ought to|'d better|want to) (?:always |really )?(?:know|remember|keep in mind|bear in mind|note) (?:this|that|my|from now|for|about my)\b|\bi(?:'d like| want| need|'d love) (?:for )?you to (?:always )?(?:know|remember|memori[sz]e|retain|keep|note|never forget) (?:this|that|my|it|about my|i\b|for|in mind)\b(?! (?:function|file|variable|any))",
    r"\bi(?:'ll| will|'m going to|'m gonna) (?:need|want|be needing|ask (?:you )?(?:for|about)|come back to|refer to) (?:this|that|it|these) (?:again|later|in (?:a few|spring|summer|autumn|fall|winter|january|february|march|april|may|june|july|august|september|october|november|december|future|the future|\w+ (?:weeks|months))|next|another|more often|some day)\b|\bthis (?:is|one's|one is) (?:worth|important to|something to|one to) (?:remember(?:ing)?|keep(?:ing)?|not(?:e|ing)|hold(?:ing)? on to)\b|\bworth remembering:",
)
_TOLD = (
    rf"\bi(?:'ve| have)? (?:once |already |just )?{_TELL} (?:you )?(?:about )?(?P<what>[^.!?\n;,]{{1,60}})"
)
_THAT_AWAY = rf"{_HEAD}(?:forget|delete|erase|remove|wipe|scrub|purge|get rid of|drop|discard|lose) (?:it|that|them|those|all that)\b(?! (?:from|in|file|line))"
_ABOUT_FIRST = r"^(?:about|regarding|as for|concerning) (?P<what>[^.!?\n,:;]{1,60})[:,] ?[^.!?\n]{0,40}\b(?:don't want you to (?:know|remember|have|keep)|(?:please )?(?:forget|erase|delete|wipe|scrub|drop) (?:it|that|all of (?:it|that)|everything))\b"
# After these words an imperative is somebody else's, or part of a report or a question.
_REPORTED = re.compile(
    r"(?:\b(?:said|says|say|tells?|told|ask(?:s|ed)?|wrote|shout(?:s|ed)|yell(?:s|ed)|sings?|sang|goes|reads?|warn(?:s|ed)|begged|means?|called|titled|lyrics?)"
    r"(?: (?:me|us|him|her|them|you|to|that|everyone|people|we|i|should|must|the \w+)){0,5}[,:]? ?|\bhow (?:do|can|to|would|does|should) [^.!?]{0,40}|\b(?:function|method|button|command|option|flag|checkbox|setting|endpoint|song|film|book|poem) )$",
    re.IGNORECASE,
)
# A question about the memory, not a request to it. "Can you …?" and "can we …?" are requests.
_ASKED = re.compile(
    r"^(?:(?:and|so|but|hey|ok|okay|also|well|hm+|wait),? )?(?:do(?! not\b)|did|does|didn't|doesn't|have|has|had|was|were|why|where|who|whose|how"
    r"|when (?:did|do|does|will|was)|what(?:'s| is| was| did| do| does| are| were| should| would| happens)|which|is|are|should i|should we|can i|could i)\b",
    re.IGNORECASE,
)
_KINDLY = re.compile(
    r"\b(?:(?:can|could|will|would|can't|won't) (?:you|we)|please|pls|ok|okay|right|alright|deal)\b",
    re.IGNORECASE,
)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """The English patterns, compiled on first use."""
    listed = {
        "forget_last": "|".join(_only_first_group(_FORGET_LAST)),
        "not_keep": "|".join(_only_first_group(_NOT_KEEP)),
        "keep": "|".join(_only_first_group(_KEEP)),
        "told": _TOLD,
        "that_away": _THAT_AWAY,
        "about_first": _ABOUT_FIRST,
    }
    listed |= {f"forget{number}": pattern for number, pattern in enumerate(_FORGET)}
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in listed.items()}


def _only_first_group(patterns: tuple[str, ...]) -> list[str]:
    """The patterns without the group `asks`: in one pattern a group name may occur only once."""
    return [pattern.replace("(?P<asks>", "(?:") for pattern in patterns]


def _english(said: str, told: str) -> Iterator[Wish]:
    patterns = _patterns()
    if found := patterns["about_first"].search(said):
        yield Wish(WishKind.FORGET, _tidy(found["what"]))
    if told and _is_request(said, patterns["that_away"]):
        yield Wish(WishKind.FORGET, told)
    if _is_request(said, patterns["forget_last"]):
        yield Wish(WishKind.FORGET, last=True)
    for number in range(len(_FORGET)):
        if found := _is_request(said, patterns[f"forget{number}"]):
            named = found.groupdict()
            matter = named.get("what") or named.get("noun") or named.get("noun2") or ""
            matter = "" if matter.strip(" .!,").lower() in _NOTHING_NAMED else _tidy(matter)
            yield Wish(WishKind.FORGET, matter, last=not matter)
    for kind in (WishKind.NOT_KEEP, WishKind.KEEP):
        if _is_request(said, patterns[kind]):
            yield Wish(kind)


_NOTHING_NAMED = ("", "it", "that", "this", "anything", "so", "about it", "about that")


def _is_request(said: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The first match that is the speaker's own request."""
    if _ASKED.match(said) or (said.endswith("?") and not _KINDLY.search(said)):
        return None
    return next(
        (found for found in pattern.finditer(said) if not _REPORTED.search(said, 0, _clause(found))), None
    )


def _clause(found: re.Match[str]) -> int:
    """Where the request begins, after the punctuation before it."""
    return found.start() + len(found[0]) - len(found[0].lstrip(" ,:;—–(-"))


_TAIL = re.compile(
    r"(?: (?:isn't|wasn't|is not|was not|is wrong|was wrong|is no longer|was a)\b.*|[,—–-] ?(?:please|pls|it|that|this|i|we|she|he|they|and|because|since|as|the|which|thanks|ok|okay|you|not|there)\b.*|\b(?:please|pls|any ?more|any longer|in there|thanks|right now|for good|once|earlier|will you|would you|ok|okay)\b.*)$",
    re.IGNORECASE,
)


_LEAD = re.compile(
    rf"^(?:(?:everything|all|anything|what|that thing|the thing|that|the (?:story|thing|part|bit|details?|stuff|matter)|about|i|we|you|{_TELL}|of|on|regarding|just|once|my) (?=\w)){{1,6}}(?<!\bmy )(?<!\bi )(?<!\bwe )|^about ",
    re.IGNORECASE,
)


def _tidy(words: str) -> str:
    """The subject without leading and trailing words that do not name it."""
    return _LEAD.sub("", _TAIL.sub("", words).strip()).strip(" ,.:;!?…—–-\"'、。")


# ── Japanese ─────────────────────────────────────────────────────────────────────────────────────────

_POLITE = "(?:ください|下さい|くれ(?!て|た(?!ら)|なくて|なかった)(?:る|ない|ますか|ませんか|ます|ません|たら|ると)?|(?:ほ|欲)しい|もら(?:える|えます|えない|えません|えたら|えると|いたい|っていい)|いただ(?:け|き)|頂(?:け|き)|ちょうだい|頂戴|お願い|おくれ|な(?![いかくき])|ね|よ|や|さい|の)"
_END = f"(?={_POLITE}|[。!?、,:…\\s♪~〜ー]|$|けど|から|って(?:ば|お願い))"
_FINISH = f"(?={_POLITE}|[。!?:…♪~〜ー]|$)"
# Verbs that always mean remembering (_STRONG), and those that need a sign that memory is meant (_WEAK).
_STRONG = (
    "(?:覚え|おぼえ)(?:て(?:おいて|といて|いて|て|って)|といて|とけ|とって|ててください|ておけ|てください|て)"
    "|(?:記憶|暗記)し(?:て(?:おいて|といて|いて|て)?|といて|とけ)|(?:記憶|メモリー?|頭|脳内|心|頭の片隅)に(?:とめ|留め|とど|入れ|いれ|残し|置い|刻ん|叩き込ん|保存し|記録し)(?:て(?:おいて|といて|いて)?|といて|で(?:おいて)?|どいて|とど?いて|めて(?:おいて)?|めといて)"
    "|(?:メモ|めも)(?:し|っ|を?(?:取|と)っ)(?:て(?:おいて|といて|て)?|といて|とけ)|(?:控え|ひかえ)(?:て(?:おいて|といて)|といて|とけ|てください|てて)"
    "|インプットし(?:て(?:おいて|といて)|といて)|書き(?:留|と)め(?:て(?:おいて|といて)?|といて)|念頭に(?:置|お)い(?:て(?:おいて|といて)?|といて)|肝に銘じ(?:て(?:おいて)?|といて)"
    "|(?:以後|今後|次回?から|これから|この先|以降)[^。]{0,16}前提(?:に|で|として)(?:して|進めて|考えて|話して|お願い|しといて|しておいて)|前提に(?:しておいて|しといて)"
)
_WEAK = "(?:保存|記録|保管|登録|キープ|ストック|ブックマーク)(?:し(?:て(?:おいて|といて|て)?|といて)|よろ|頼む|お願い)|残し(?:て(?:おいて|といて)|といて)|(?:取|と)って(?:おいて|といて)|書い(?:ておいて|といて)|押さえ(?:ておいて|といて)|把握し(?:ておいて|といて)|知って(?:おいて|といて)|ファイルし(?:ておいて|といて)"
_SIGN = "これ|この(?:こと|話|件|情報|番号|数字|ルール|設定は|内容|点)|それ|今(?:の|から|言)|以下|次の|大事|大切|重要|念のため|また(?:聞|使|後)|あとで(?:聞|使)|後で(?:聞|使)|今後|次回|次から|これから|ずっと|忘れ(?:そう|る)|(?:って|という)こと|(?:うち|私|僕|俺|わたし|自分|家族)の|備忘|リマインド用|長期|メモリ|記憶"
_THINGS = "README|コメント|紙に|ボードに|ファイル|画像|写真|コード|データ(?:を|は)|設定を|形式|フォルダ|ディスク|テーブル|変数|文書|議事録|名前を(?:付|つ)けて|コミット|ブランチ|動画|スクショ|ドライブ|クラウド|バックアップ|PDF|CSV|JSON|Excel|エクセル|席|予約|ログ(?:を|に)|キャッシュ|セーブ|カート|履歴書|下書き"
_DONT_FORGET = "(?:忘れ|わすれ)(?:ないで(?:おいて)?|ないように(?:頼む|お願い|して(?=ね|よ|おいて|ください|。|$))|んといて|んとって|るな|ちゃだめ|ちゃダメ|たらあかん|てはいけ|ずに(?:い|ね|お願い|$|。)|ずにいて|なく)"
_JA_TASK = "(?:[うくすつぬむるぐぶ]|し|り|き|み|ち|び|ぎ|い|え|け|せ|て|め|れ|べ|げ)の(?:を|は|も|だけは)?(?:絶対(?:に)?)?$"
_JA_KEEP_DIRECT = re.compile(f"(?<!よく)(?<!よう)(?:{_STRONG}){_FINISH}|(?:{_STRONG})(?=、)")
_JA_KEEP_WEAK = re.compile(f"(?:{_WEAK}){_END}")
_JA_DONT_FORGET = re.compile(f"{_DONT_FORGET}{_END}")
_JA_CONTENT = re.compile(
    "(?:って|と|こと(?:は|を|だけは)?|これ(?:は|だけは|、)?|それ(?:は|だけは)?|この[^、。]{1,12}(?:は|だけは)?|(?:絶対|ずっと|一生|今後も|どうか|頼むから)(?:に)?|[、:]|^)(?:も|は)?(?:絶対(?:に)?|ずっと|どうか)?$"
)

_ENDS = "(?=ください|下さい|ほし|欲し|くれ|もら|いただ|頂|お願い|おいて|ちょうだい|ね|よ|な|[。!?、…\\s]|$)"
_JA_NOT_KEEP = re.compile(
    f"(?:覚え|おぼえ)(?:(?:て(?:おか|い|くれ|もらわ|いただか)?|とか)?(?:なくて|なくても)(?:も)?(?:いい(?!よう)|よい(?!よう)|良い(?!よう)|結構|大丈夫|構わ|OK|ok|問題)|ないで{_ENDS}|(?:て)?(?:おか|とか)ないで{_ENDS}|る必要(?:は|も|とか)?(?:な|ありません|ねえ)|んといて|んで(?:い|え|よ)|るな(?:よ|[。!]|$)|ずに(?:いて|おいて))"
    f"|(?:記憶|メモリー?|頭|ログ|履歴|記録|メモ)(?:に|には|にも)(?:は|も)?(?:入れ|残さ|残し|留め|とどめ|保存し|書か|書き込ま|載せ|加え)(?:ないで{_ENDS}|なくて(?:いい|よい|大丈夫|結構|OK)|んといて|んとって|ない(?:よう|形|で|方|こと)|ず(?:に|$|、)|たくない|ちゃだめ)"
    f"|(?:記録|記憶|保存|メモ|学習|登録|記帳)(?:とか|や|など|も|は|を|に|って)?[^。、]{{0,8}}?(?:しないで{_ENDS}|しなくて(?:も)?(?:いい|よい|良い|大丈夫|結構|OK|構)|せんといて|せんで(?:い|え|よ)|せずに(?:聞|お願い|答え|頼)|なしで|なし(?:$|で|。)|しない(?:よう|形|方向|で(?:ください|ほしい|お願い|ね|$|。))|不要(?:です|で|だ|。|$)|無用|禁止(?:で|ね|です|。|$)|NG|(?:取|と)らないで|(?:取|と)らなくて|らないで{_ENDS}|らなくて(?:も)?(?:いい|よい|大丈夫|結構|OK)|使わないで{_ENDS}|回さないで{_ENDS}|いらない(?:から|よ|です|。|$)|は(?:いい|要らない)(?:から|よ|です|。|$)|厳禁)"
    f"|(?:控え|書き(?:留|と)め|書き残さ|残さ|残して(?:おか|お)|取っておか|とっておか|持ち越さ|引き継が)(?:ないで{_ENDS}|なくて(?:も)?(?:いい|よい|大丈夫|結構|OK|構)|んといて|ない(?:よう|形|で(?:ください|ほしい|お願い))|なくて)|残したくない|残さず(?:に)?(?:お願い|聞|$|。)"
    "|オフレコ|内密に|誰にも言わないで|ここだけ(?:の(?:話|こと|内緒|秘密)|で(?:。|$|お願い|ね)|に(?:して|しといて|しておいて))|(?:この|今の)(?:場|会話|チャット|やり取り|やりとり|セッション)(?:だけ|限り|かぎり)|他言(?:無用|しないで)|(?:内緒|ないしょ|秘密)(?:の話|に(?:して|しといて|しておいて)|で(?:お願い|頼)|だよ|ね)|聞き流し(?:て|といて)|口外(?:しないで|無用|禁止)|(?:答え|回答し|使っ|終わっ|済ん|聞い)たら(?:すぐ|全部|もう|ぜんぶ)?(?:忘れ|消し|捨て)(?:て|といて)|(?:これ|この話|今から(?:言|話)[^。、]{0,8})(?:は|、)?(?:すぐ|聞いたら)?忘れて(?:いい|OK|くれていい|ください|ね|くれ)|一時的なものだから覚え"
)
_JA_PAST_SAID = "(?:言った|いった|言ってた|言いました|話した|話してた|話しました|教えた|教えてた|教えました|伝えた|お伝えした|伝えました|書いた|送った|貼った|打った|入力した|相談した|聞かせた|渡した|共有した|しゃべった|喋った|打ち明けた|見せた|頼んだ|言っ(?:ちゃった|てしまった))"
_JA_BEFORE = "(?:さっき|先ほど|さきほど|先程|前(?:に|回|の|言)?|この前|こないだ|この間|昨日|きのう|おととい|一昨日|昨夜|昨晩|今朝|先週|先日|先月|以前|去年|昔|例の|あの|最初に|月曜|火曜|水曜|木曜|金曜|土曜|日曜|今(?:の|言|話))"
_JA_TOPIC = "(?:話|件|こと|事|情報|データ|記録|メモ|発言|内容|名前|住所|番号|電話番号|記憶|愚痴|相談|予定|年収|体重|病気|病名|学校|会社|秘密|約束|悩み)"
_JA_AWAY = (
    "(?:(?:忘れ|わすれ)(?:て(?!い(?:る|た|ない|ま)|た|る|しま|き|なかった|ば)|ちゃって|といて|ろ|去って)|(?:消し|けし|削除し|消去し|破棄し|抹消し|除去し|除外し|取り消し|撤回し|捨て|外し|はずし|クリアし|リセットし|葬っ|手放し)(?:て(?!い(?:る|た|ない|ま)|た|る|しま|も(?!ら)|ば)|といて)"
    "|(?:削除|消去|破棄|抹消|除去|撤回|取り消し|リセット)(?:で(?=お願い|頼)|を?(?=お願い|頼|よろ)|希望)|(?:な|無)かったことに(?:し(?:て|といて|ておいて|よう|たい)|お願い)|(?:なし|ナシ|無し)(?:で|にして|に|ね|!|。|$)|持って(?:おか|い)ないで|白紙に(?:して|戻して)|(?:取り消し|撤回し)(?:ます|とく)|聞かなかったことに(?:して|しといて))"
)
_JA_FORGET = re.compile(_JA_AWAY + f"(?P<end>{_POLITE}|おいて|いい|[。!?、,…\\s♪~〜ー]|$)")
_JA_CODE = "ファイル|コミット|ブランチ|行目|段落|関数|変数|コード|フォルダ|テーブル|画像|コンテナ|タブ|ウィンドウ|キャッシュ|ログ|カラム|列|セル|スライド|ボタン|レコード|ディレクトリ|インデックス|クッキー|写真|動画|アプリ|通知|コメントアウト|空白|改行|引数|テスト|import|章|見出し|文章|文を|タスク|電気|火を|テレビ|アラーム|予約|注文|ゴミ|シミ|汚れ"
_JA_REFERS = re.compile(
    f"{_JA_PAST_SAID}|記憶(?:から|の中|も|ごと)|メモリー?(?:から|ー)|頭から|覚えて(?:る|い)|メモして(?:た|い)|保存して(?:た|い)る|(?:私|僕|俺|うち|自分|わたし|夫|妻|娘|息子|彼氏|彼女|元夫|元妻|元カレ|元カノ|母|父|家族)(?:の|に(?:関|つ)|について)[^。、]{{0,14}}{_JA_TOPIC}|に(?:関する|ついて(?:の|は)?)[^。、]{{0,8}}(?:こと|話|情報|記憶|全部|ぜんぶ|すべて)|{_JA_BEFORE}[^。、]{{0,20}}{_JA_TOPIC}|(?:の|た)(?:話|件|発言|愚痴|相談|打ち明け話)(?:は|を|、|も|って|なんだけど|ですが|だけど)?"
)
_JA_LAST = re.compile(
    "^(?:あ、?|ごめん、?|すみません、?|やっぱり?、?|いや、?|ちょっと、?|あっ、?|すまん、?|待って、?)*(?:今|いま|さっき|先ほど|直前|最後)(?:の|言った(?:の|こと|やつ)|話した(?:の|こと)|書いた(?:の|こと)|のこと|の発言|の話|の一言|のメッセージ|のやつ)(?:は|を|、|も|って)?(?:全部|ぜんぶ|やっぱり?|もう)?(?:なし|ナシ|無し|忘れて|取り消し|消し|撤回|削除|なかったこと|無かったこと|聞かなかったこと|ノーカン)|^(?:やっぱり?)?(?:今|さっき)の(?:は)?(?:ノーカン|撤回)"
)
_JA_REPORT = re.compile(
    "(?:って|と|よう(?:に)?)(?:言|い(?:わ|っ[てた])|頼|書い|書か|伝え|怒|注意|叱|思|歌|いう(?:の|曲|本|映画|人|意味|関数|コマンド|ボタン|機能))|(?:という|って(?:曲|本|映画|歌|名前|機能|関数|いう))|(?:方法|やり方|コツ|コマンド|手順|仕方)"
)
_JA_QUESTION = re.compile(
    "(?:の|か|かな|っけ|ある|いい|いいの|べき|よね|どう|でしょうか|ますか|ですか|る|た|ない)\\s*[?]+$|(?:ですか|ますか|でしょうか|っけ|かな|かね|だろうか|だろう)[。?!]*$"
)
_JA_ASKS_KINDLY = re.compile(
    "(?:くれ(?:る|ない|ます|ません)?|もらえ(?:る|ない|ます|ません)?|いただけ(?:る|ない|ます|ません)|頂け(?:る|ます|ません)|ほしいん(?:だけど|ですが)|聞いて(?:くれる|もらえる)|お願い(?:できる|できます)|いい)(?:か|かな|でしょうか|の)?\\s*[?。!]*$"
)
_JA_LEADS = re.compile(
    f"^(?:(?:ごめん|すみません|あと|で|えっと|あの(?=、)|やっぱり?|悪いけど|お願い|それと|ところで|ちなみに)(?:、|。|,| ))*|^(?:{_JA_BEFORE}(?:ね|さ|も)?(?:に|の|は)?、?)?(?:私が|僕が|俺が)?{_JA_PAST_SAID}|^覚えてる|^保存してる|^{_JA_BEFORE}(?:の|、)?(?=[^、。はを]{{2}})"
)
_JA_EARLIER = re.compile(f"{_JA_BEFORE}|{_JA_PAST_SAID}")
_JA_TOPIC_END = re.compile("、(?=[^、]{1,20}$)|(?:は|を)(?=[^ぁ-ん]|もう|ぜんぶ)")
_JA_TRAILS = re.compile(
    "(?:(?:を|は|、|も|って|なんだけど|ですが|だけど|のこと|の話|の件|の記録|のデータ|の情報|に関すること|に関する(?:話|情報|記憶)|についての?(?:話|こと|情報)?|全部|ぜんぶ|すべて|もう|ちゃんと|やっぱり?|記憶から|メモリー?から|頭から|記憶からも|間違いだったから|と思うけど|、あれ|という話|を話した|って話|の話をした|ことは|いったん|一旦|きれいに|完全に|メモしてたら|(?:を)?言ったけど|(?:を)?話したけど|を教えたけど)\\s*)+$"
)


def _japanese(said: str) -> Iterator[Wish]:
    asked = bool(_JA_QUESTION.search(said)) and not _JA_ASKS_KINDLY.search(said)
    if asked:
        return
    last = _JA_LAST.search(said)
    if last and not _JA_REPORT.search(said, last.end()):
        yield Wish(WishKind.FORGET, last=True)
    for found in _JA_FORGET.finditer(said):
        before = said[: found.start()]
        if _JA_REPORT.match(said, found.end()):
            continue
        if found[0].startswith("聞かなかった"):
            matter = _matter(before)
            yield Wish(WishKind.FORGET, matter, last=not matter)
        elif found["end"] == "いい" and not _JA_EARLIER.search(before):
            yield Wish(WishKind.NOT_KEEP)
        elif _names_what_was_told(before, found):
            yield Wish(WishKind.FORGET, _matter(before))
    not_kept = _JA_NOT_KEEP.search(said)
    if not_kept and not _JA_REPORT.match(said, not_kept.end()):
        yield Wish(WishKind.NOT_KEEP)
    if any(not _JA_REPORT.match(said, found.end()) for found in _keeps(said)):
        yield Wish(WishKind.KEEP)


def _names_what_was_told(before: str, found: re.Match[str]) -> bool:
    """Whether it names something that was said or is remembered, not a file or a line of code."""
    clause = before[-80:]
    told = re.search(f"{_JA_PAST_SAID}|記憶|メモリー?から|覚えて", clause)
    if re.search(_JA_CODE, clause) and not told:
        return False
    if found[0].startswith(("忘れ", "わすれ", "なかった", "無かった")) and found["end"] not in (
        "、",
        ",",
        "な",
    ):
        # "…は忘れて", "…、忘れて": any topic; but "傘を忘れて" is a report
        return bool(
            _JA_REFERS.search(clause)
            or (re.search("(?:は|のこと(?:は|を)?|、|も|全部|ぜんぶ|すべて)$", clause) and len(clause) > 2)
        )
    return bool(_JA_REFERS.search(clause))


def _keeps(said: str) -> Iterator[re.Match[str]]:
    for found in _JA_KEEP_DIRECT.finditer(said):
        follows = said[found.end() : found.end() + 1]
        if follows != "、" or re.search("(?:おいて|といて|とけ|てて)$", found[0]):
            yield found
    signed, thing = re.search(_SIGN, said), re.search(_THINGS, said)
    for found in _JA_KEEP_WEAK.finditer(said):
        if signed and not thing:
            yield found
    for found in _JA_DONT_FORGET.finditer(said):
        before = said[: found.start()]
        if not re.search(_JA_TASK, before) and _JA_CONTENT.search(before):
            yield found


def _matter(before: str) -> str:
    """The subject before the verb, without words such as "what I said about"."""
    clause = whole = re.split("[。!?]", before)[-1][-80:]
    while (shorter := _JA_LEADS.sub("", _JA_TRAILS.sub("", clause))) != clause:
        clause = shorter
    clause = _JA_TRAILS.sub("", _JA_TOPIC_END.split(clause, maxsplit=1)[0])
    if clause in ("", "件", "話", "こと", "の", "それ", "これ", "あれ", "内容", "発言"):
        clause = _JA_TRAILS.sub("", whole)
    found = clause.strip(" 、。,…のをはも")
    return "" if found in ("あれ", "それ", "これ", "今", "さっき") else found
