"""Tell statements from questions and orders at a quick look, for the prompt hook.

`speech_acts` reads more exactly, but its patterns take a tenth of a second to compile, and a hook is a new process
for every prompt.
"""

# ruff: noqa: E501 — a list of words is easier to read in one piece
from __future__ import annotations

import re

from nagori.language.tokenizer import ASKING_WORDS, asks

LONGEST = 3000  # characters: whoever says more states something
ORDER_VERBS = "add|adjust|analy[sz]e|apply|arrange|book|build|bump|calculate|change|check|clean|close|combine|commit|compare|compile|compute|continue|convert|copy|correct|count|create|debug|define|delete|deploy|describe|design|disable|display|do|double-check|download|draft|draw|edit|email|enable|estimate|explain|export|extend|extract|fetch|fill|find|finish|fix|format|generate|get|give|go|group|guess|have|help|highlight|implement|import|improve|include|insert|install|investigate|invert|join|keep going|lint|list|load|look|make|merge|modify|move|open|optimi[sz]e|order|paraphrase|paste|pick|plan|plot|polish|post|predict|prepare|print|proceed|proofread|publish|pull|push|put|query|quote|rank|read|rebase|redo|reduce|refactor|reformat|remove|rename|reorder|repeat|rephrase|replace|research|reset|restart|restore|retry|return|revert|review|rewrite|rollback|roll back|rotate|run|save|scan|schedule|search|select|send|set|shorten|show|simplify|solve|sort|split|squash|start|stop|suggest|sum|summari[sz]e|swap|switch|take|tell|test|throw|tidy|transform|translate|trim|try|turn|undo|unify|update|upgrade|upload|use|validate|verify|visuali[sz]e|walk|wait|write"
_ASKING = frozenset(
    [
        "what",
        "what's",
        "which",
        "who",
        "who's",
        "whose",
        "where",
        "where's",
        "when",
        "why",
        "how",
        "how's",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "can",
        "could",
        "should",
        "would",
        "will",
        "isn't",
        "aren't",
        "doesn't",
        "didn't",
        "any",
        "let's",
    ]
)
_POLITE = frozenset(
    [
        "and",
        "so",
        "but",
        "hey",
        "ok",
        "okay",
        "also",
        "well",
        "now",
        "then",
        "oh",
        "great",
        "perfect",
        "nice",
        "good",
        "cool",
        "right",
        "alright",
        "yes",
        "yep",
        "no",
        "sorry",
        "actually",
        "first",
        "next",
        "finally",
        "btw",
        "again",
        "just",
        "please",
        "pls",
        "plz",
        "kindly",
        "quickly",
    ]
)
_STANDING = (
    "always",
    "never",
    "from now on",
    "every time",
    "by default",
    "必ず",
    "いつも",
    "今後",
    "これからは",
    "常に",
)
_ORDER_JA = (
    "(?:て|で)(?:ください|下さい|くれ(?:る|ない|ます|ません)?か?|ね|よ)[。!！]*$"
    "|(?<!ま)(?<!の)(?<!後)(?<!と)(?<!れ)(?:て|で)[。!！]*$|(?:お願い(?:します)?|頼む)[。!！]*$"
)
_ASKS_JA = "(?:誰|だれ|いつ|どれ|どこ|どっち|いくつ|いくら|何|なに)(?:だった|でした|です|だ)?[。]*$"
_QUESTION_MARK = re.compile(r"？|\?(?=[\s\"'」』）)]|$|[^\x00-\x7f])")  # not the one in an address
_ENDS = re.compile("(?<=[.!?。！？])\\s*|\n")


def looks_like_statement(text: str) -> bool:
    """Whether any sentence of a text seems to state something."""
    if len(text) > LONGEST:
        return True
    return any(_states(part.strip()) for part in _ENDS.split(text) if part and part.strip(" .!?。！？…"))


def asks_in_passing(text: str) -> bool:
    """Whether any sentence of a text asks, the last one also without a question mark: "subbase is 150 mm. how
    much gravel", "which bolt? the old one broke"."""
    if len(text) > LONGEST:
        return asks(text)
    parts = [part for part in _ENDS.split(text) if part and part.strip(" .!?。！？…")]
    if _QUESTION_MARK.search(text) or any(asks(part) for part in parts if part[-1] not in "?？"):
        return True
    words = parts[-1].lower().replace("’", "'").split() if parts else []
    return next((word in ASKING_WORDS for word in words if word.strip(",:;.!") not in _POLITE), False)


def _states(said: str) -> bool:
    low = said.lower()
    if any(word in low for word in _STANDING):
        return True
    if asks(said) or (not said.isascii() and re.search(f"{_ASKS_JA}|{_ORDER_JA}", said)):
        return False
    words = low.split()
    while words and words[0].strip(",:;.!") in _POLITE:
        words.pop(0)
    first = words[0].strip(",:;.!") if words else ""
    return bool(first) and first not in _ASKING and first not in _orders()


_known_orders: set[str] = set()


def _orders() -> set[str]:
    if not _known_orders:
        spelt = ORDER_VERBS.replace("[sz]", "s") + "|" + ORDER_VERBS.replace("[sz]", "z")
        _known_orders.update(verb for verb in spelt.split("|") if " " not in verb)
    return _known_orders
