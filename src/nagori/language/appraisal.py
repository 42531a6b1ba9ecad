"""Appraise a text by rules: emotion, category, kind and wishes, from its words alone [ruling 37].

    sentence -> emotion words in their context           -> valence
             -> style (marks, length, particles)         -> arousal
             -> topic                                    -> situation -> intensity, category
             -> what it says about the memory itself     -> protect, correction, kind

Each situation has a band of intensity [E2]. Emotion moves a text within its band, and strong emotion moves it
out of the band. A caller with an embedder may add a position on the axes of feeling (`project`), for
what no word list holds.
"""

# ruff: noqa: E501 — a pattern is easier to read in one piece
from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from math import sqrt, tanh

from nagori.core.decay import Retention, coefficient_of_worth
from nagori.core.model import Category, Emotion, Kind, Valence
from nagori.core.value_object import Value, replace
from nagori.language.learned_heads import head_score
from nagori.language.lexicon import (
    JAPANESE,
    LETTERS,
    Bilingual,
    FeelingHit,
    corrects,
    count,
    english_emotion_rules,
    japanese_emotion_rules,
    kind_of,
    own_words,
    rows,
    signs,
    strip_outer_quotes,
    wants_kept,
)
from nagori.language.lexicon.embedding_axes import (
    Anchor,
    AxisPosition,
    FeelingAxes,
    anchors,
    axes_from,
    project,
)
from nagori.language.tokenizer import normal_form

__all__ = [
    "Anchor",
    "Appraisal",
    "AxisPosition",
    "FeelingAxes",
    "anchors",
    "appraise",
    "axes_from",
    "project",
]

LONGEST = 4000  # characters: only the beginning of a longer text is appraised

# Scores below this count as neutral; an embedding always gives a value, so its limit is higher.
NEUTRAL, NEUTRAL_LEANING = 0.08, 0.16
LEANING_VALENCE, LEANING_AROUSAL = 0.4, 12.0  # contribution of a full leaning
POLITE = 0.1  # an embedding places neutral sentences this far on the positive side
QUESTION = 0.6  # factor for questions: they express less emotion than statements
TAG_FLOOR, MOST_TAGS = 0.25, 4

_SENTENCE_END = re.compile(r"(?<=[。！？!?\n])(?![。！？!?」』)）])|(?<=[.…])\s+")
_ASKS = re.compile(r"[?？]\s*+[」』)）\"”]*+\s*$|(?:ですか|ますか|でしょうか|ませんか|ましたか)[。\s]*$")
_STRETCHED_KANA = re.compile("(?<=[ぁ-ん])[ー〜～]+(?=[ぁ-ん])")
_STRETCHED_LETTER = re.compile(r"([A-Za-z])\1{2,}")
_SHOUTED = re.compile(r"\b[A-Z]{2,}\b[^a-z]{1,3}\b[A-Z]{3,}\b")  # one word in capitals is an abbreviation
_SOFT_END = re.compile("(?:かな|かなぁ?|かも|ね|な|なぁ|っけ|よね|けど|でしょう)[。…‥.\\s]*$")
_HARD_END = re.compile("(?:ぞ|ぜ|やがれ|しろ|んな|じゃねえ|だろ|な！|ろ！|よ！)[！!。\\s]*$")
_ELLIPSIS = re.compile(r"…+|‥+|\.{3,}|。。+|・・+")


class Appraisal(Value):
    """The appraisal of a text."""

    emotion: Emotion
    category: Category
    kind: Kind
    valence_score: float  # -1 to 1
    protect: bool  # the speaker asks to protect it; valid from a user only
    correction: bool  # it corrects an earlier statement


class _TextFeatures(Value):
    """A text after one analysis: its emotion words and its style."""

    text: str
    hits: list[FeelingHit]
    words: float  # a Japanese word is about two characters
    stretched: int
    marks: int  # exclamation marks


def appraise(text: str, *, speaker_role: str = "user", leaning: AxisPosition | None = None) -> Appraisal:
    """Emotion, category, kind and wishes of one text [E2, E3, E4, E19]."""
    reading = _read(strip_outer_quotes(text[:LONGEST]))
    score = _score(reading, leaning)
    strength = _strength(reading.hits)
    arousal = _arousal(reading, leaning)
    kind = kind_of(_statements(reading.text))
    intensity, category = _situation(reading.text, kind, strength, arousal)
    emotion = Emotion(
        intensity=round(intensity, 1),
        valence=_valence(score, leaning is not None),
        arousal=round(arousal, 1),
        tags=_tags(reading.hits),
    )
    protect = speaker_role == "user" and wants_kept(reading.text)
    return Appraisal(emotion, category, kind, round(score, 4), protect, corrects(reading.text))


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────


def _read(text: str) -> _TextFeatures:
    pattern, faces = signs()
    shown = [faces[found[0]] for found in pattern.finditer(text)]
    plain = normal_form("NFKC", pattern.sub(" ", text) if shown else text).replace("’", "'")
    spoken, stretched = _collapse_stretching(plain)
    hits = [FeelingHit(feeling, feeling.valence, 0, 0) for feeling in shown]
    for sentence in _SENTENCE_END.split(spoken):
        if sentence:
            hits += _hits_of(sentence)
    native = len(JAPANESE.findall(spoken))
    words = native / 2 + sum(1 for _ in re.finditer(r"[A-Za-z0-9']+", spoken))
    return _TextFeatures(plain, hits, words, stretched, plain.count("!"))


def _collapse_stretching(text: str) -> tuple[str, int]:
    """The text with stretched words (すごーい, soooo) in their listed form, and the number of stretches."""
    text, kana = _STRETCHED_KANA.subn("", text)
    text, letters = _STRETCHED_LETTER.subn(r"\1\1", text)
    return text, kana + letters


def _hits_of(sentence: str) -> list[FeelingHit]:
    hits = english_emotion_rules.read(sentence) if LETTERS.search(sentence) else []
    if JAPANESE.search(sentence):
        hits = hits + japanese_emotion_rules.read(sentence)
    if hits and _ASKS.search(sentence):
        return [hit.times(QUESTION) for hit in hits]
    return hits


def _statements(text: str) -> str:
    """The speaker's own statements, without questions and quotations."""
    parts = _SENTENCE_END.split(own_words(text))
    return " ".join(part for part in parts if part and not _ASKS.search(part))


# ── feeling ──────────────────────────────────────────────────────────────────────────────────────────


def _score(reading: _TextFeatures, leaning: AxisPosition | None) -> float:
    """Valence, -1 to 1. One negative word weighs less in a long text and among positive words."""
    total = sum(hit.valence for hit in reading.hits)
    weight = sum(abs(hit.valence) for hit in reading.hits)
    score = total / (0.5 * weight + 0.3 * sqrt(reading.words + 4))
    if leaning is not None:
        score += LEANING_VALENCE * (leaning.valence - POLITE)
    return max(-1.0, min(1.0, score))


def _valence(score: float, leant: bool) -> Valence:
    limit = NEUTRAL_LEANING if leant else NEUTRAL
    if abs(score) < limit:
        return Valence.NEUTRAL
    return Valence.POSITIVE if score > 0 else Valence.NEGATIVE


def _strength(hits: list[FeelingHit]) -> float:
    """Strength of the strongest emotions, 0 to about 1.5; the second adds less than the first."""
    felt = sorted((abs(hit.valence) for hit in hits), reverse=True)
    return sum(value * share for value, share in zip(felt, (1.0, 0.4, 0.2), strict=False))


def _arousal(reading: _TextFeatures, leaning: AxisPosition | None) -> float:
    """Arousal, 0 to 100, from strong words and from the style."""
    text, hits = reading.text, reading.hits
    lift = sum((hit.feeling.arousal - 45) * min(1.0, 0.3 + abs(hit.valence)) for hit in hits)
    arousal = 38.0 + 24.0 * tanh(lift / sqrt(reading.words + 4) / 30)
    arousal += (24.0 if reading.words < 6 else 16.0) * sqrt(min(reading.marks, 3))
    arousal += 5.0 * min(2, reading.stretched)
    arousal += 6.0 * bool(_SHOUTED.search(text))
    arousal -= 8.0 * bool(_ELLIPSIS.search(text)) + 3.0 * (reading.words > 40)
    if not reading.marks and _SOFT_END.search(text):
        arousal -= 5.0
    arousal += 6.0 * bool(_HARD_END.search(text))
    if leaning is not None:
        arousal += LEANING_AROUSAL * leaning.arousal
    return max(0.0, min(100.0, arousal))


def _tags(hits: list[FeelingHit]) -> tuple[str, ...]:
    """The emotion tags, strongest first; a negated emotion has no tag."""
    weights: dict[str, float] = {}
    for hit in hits:
        for tag in () if hit.negated else hit.feeling.tags:
            felt = max(abs(hit.valence), 0.35 if abs(hit.feeling.valence) < 0.2 else 0.0)
            weights[tag] = weights.get(tag, 0.0) + felt
    named = [tag for tag, weight in weights.items() if weight >= TAG_FLOOR]
    return tuple(sorted(named, key=lambda tag: -weights[tag])[:MOST_TAGS])


# ── situation ────────────────────────────────────────────────────────────────────────────────────────


def _situation(text: str, kind: Kind, strength: float, arousal: float) -> tuple[float, Category]:
    """The intensity of the situation [E2], and its category [E4]."""
    work, personal = count("work", text), count("personal", text)
    intimate = personal > 0 and personal * 2 > work
    if count("trauma", text) and count("self", text) and not work:
        return min(100.0, 86.0 + 8.0 * strength), Category.EMOTIONAL
    if intimate and strength >= 0.75:
        return min(85.0, 70.0 + 14.0 * (strength - 0.75)), Category.EMOTIONAL
    if intimate:
        return 51.0 + 18.0 * strength, Category.DECISION if kind is Kind.DECISION else Category.EMOTIONAL
    excess = max(0.0, strength - 0.45) * (0.6 + arousal / 150)
    if kind is Kind.DECISION:
        return min(80.0, 43.0 + 4.0 * min(strength, 1.0) + 25.0 * excess), Category.DECISION
    chore = count("chore", text)
    if chore and work < 2:
        return 18.0 + 20.0 * excess + 4.0 * min(strength, 1.0), Category.WORK if work else Category.CASUAL
    if work:
        return min(70.0, 33.0 + 4.0 * min(strength, 1.0) + 25.0 * excess), Category.WORK
    return min(84.0, 22.0 + 20.0 * strength + 35.0 * excess), _loose_category(strength, arousal)


def _loose_category(strength: float, arousal: float) -> Category:
    """The category of a text without a topic: casual, unless its emotion is strong."""
    return Category.EMOTIONAL if strength >= 0.7 and arousal >= 60 else Category.CASUAL


# --- importance -----------------------------------------------------------------------------------
# How long a thoughtful person would want a statement kept: from what is said, not how loudly.
#
#     text   -> rules over both languages: what lasts, what goes on only now  -> 0 to 100, kind, reasons
#     vector -> a small linear head over the bundled embedder's vectors       -> 0 to 100, joined with it
#
# The rules are the table `lexicon/lasting.tsv`, the head is `lexicon/importance.tsv`, learned by
# `bench/train_importance.py` from statements written for it. Either table is read when first needed.

MATTER_WITHIN = 1500  # characters: what matters is said by then
BASE = 42.0  # of a statement of which no rule knows anything
HEAD_SHARE = 0.75  # of the score, where there is a vector
LONG = 50.0  # scores from here on are worth keeping for months
LOUD = -6.0  # two exclamation marks, words in capitals: a moment's feeling
WORDY, WORDY_WORDS = -5.0, 20.0  # facts are told in few words
SHORT, SHORT_WORDS = -14.0, 2.5  # too few words to state anything


class Matter(StrEnum):
    """What kind of thing a statement tells, by how long such things matter."""

    STANDING = "standing"  # facts, values, persons in charge, rules: as long as they hold
    PREFERENCE = "preference"
    DECISION = "decision"
    LIFE_EVENT = "life_event"
    PLAN = "plan"
    EPISODE = "episode"  # something that happened
    MOMENT = "moment"  # what goes on right now
    SMALL_TALK = "small_talk"


_MATTERS = {
    "health": Matter.STANDING,
    "identity": Matter.STANDING,
    "rule": Matter.STANDING,
    "value": Matter.STANDING,
    "preference": Matter.PREFERENCE,
    "decision": Matter.DECISION,
    "event": Matter.LIFE_EVENT,
    "date": Matter.PLAN,
    "moment": Matter.MOMENT,
    "once": Matter.EPISODE,
    "mood": Matter.SMALL_TALK,
    "loud": Matter.SMALL_TALK,
    "short": Matter.SMALL_TALK,
}


class Worth(Value):
    """How long a statement is worth keeping, and why."""

    kind: Matter
    score: float  # 0 to 100
    reasons: tuple[str, ...]  # groups of rules that spoke, the weightiest first; "vector" if one was used


def importance(text: str, vector: bytes | None = None, *, model: str | None = None) -> Worth:
    """How long this statement should last. A vector counts if it is one the head was learned for: of its
    size, and of its model where the model is named."""
    weights = _weights(text)
    scored = BASE + sum(weights.values())
    reasons = sorted(weights, key=lambda group: -abs(weights[group]))
    leaning = None if vector is None else head_score("importance", vector, model)
    if leaning is not None:
        leaning = max(0.0, min(100.0, leaning))
        scored = (1 - HEAD_SHARE) * max(0.0, min(100.0, scored)) + HEAD_SHARE * leaning
        reasons.append("vector")
    score = round(max(0.0, min(100.0, scored)), 1)
    return Worth(_kind(weights, score), score, tuple(reasons))


def _kind(weights: dict[str, float], score: float) -> Matter:
    """What the weightiest group on the winning side stands for."""
    lasting = score >= LONG
    sided = {
        group: weight for group, weight in weights.items() if group in _MATTERS and (weight > 0) == lasting
    }
    if sided:
        return _MATTERS[max(sided, key=lambda group: abs(sided[group]))]
    return Matter.STANDING if lasting else Matter.EPISODE


# --- strength at birth -----------------------------------------------------------------------------

SMALL_TALK = 30.0  # scores below this are small talk: it keeps its days
LEAST_INTENSITY = 70.0  # of what is worth keeping: whole for a month at the least coefficient
FEELING = 0.04  # what a point of felt intensity adds: loudness is not importance
SMALL_INTENSITY = (12.0, 26.0)  # of small talk at scores 0 and `SMALL_TALK`
_KINDS = {Matter.STANDING: Kind.FACT, Matter.PREFERENCE: Kind.FACT, Matter.DECISION: Kind.DECISION}


class Birth(Value):
    """What a memory is born with."""

    kind: Kind
    category: Category
    emotion: Emotion
    coefficient: float  # the least; its category may give it a higher one


def weigh(felt: Appraisal, worth: Worth, retention: Retention) -> Birth:
    """Kind, category and strength from what is said; feeling adds a little. The formula of decay turns them
    into days."""
    if worth.score < SMALL_TALK:
        low, high = SMALL_INTENSITY
        intensity = low + (high - low) * worth.score / SMALL_TALK + FEELING * felt.emotion.intensity
        category = Category.CASUAL if felt.category is Category.EMOTIONAL else felt.category
        return Birth(Kind.EPISODE, category, _with_intensity(felt.emotion, intensity), 0.0)
    share = (worth.score - SMALL_TALK) / (100.0 - SMALL_TALK)
    intensity = LEAST_INTENSITY + (95.0 - LEAST_INTENSITY) * share + FEELING * felt.emotion.intensity
    kind = felt.kind
    if kind is Kind.EPISODE and worth.score >= LONG:
        kind = _KINDS.get(worth.kind, kind)
    emotion = _with_intensity(felt.emotion, intensity)
    return Birth(kind, felt.category, emotion, coefficient_of_worth(share, retention))


def _with_intensity(emotion: Emotion, intensity: float) -> Emotion:
    return replace(emotion, intensity=round(min(100.0, intensity), 1))


# --- the user's own matter, or the project's ------------------------------------------------------
# Who somebody is, their family and health and how they like to work are theirs in every project; hosts,
# decisions and conventions belong to the project they were told in [ruling 47]. In doubt it is the project's:
# what one client said must not be told in the work for another.

_AT_HOME = r"\bour (?=(?:\w+ )?(?:sons?|daughters?|kids?|child(?:ren)?|baby|famil\w+|wedding|dogs?|cats?|house|flat|home|parents)\b)"
_OF_PROJECT = (
    r"[`\\]|\w/\w|\w_\w|\w\.\w+\(|::|->|=>|https?:|\b\w+\.(?:py|js|ts|md|json|toml|yaml|yml|txt|csv|sql|sh)\b"
    r"|\b(?:repo(?:s|sitory)?|projects?|code ?base|deploy\w*|staging|prod(?:uction)?|servers?|services?|apis?|endpoints?"
    r"|databases?|db|schemas?|migrations?|clusters?|ports?|hosts?|containers?|docker\w*|pipelines?|releases?|sprints?"
    r"|clients?|customers?|we|we're|our|ours|team|this (?:app|file|code|paper|chapter|thesis|draft|report|manuscript"
    r"|site|shop|song|book))\b",
    "リポジトリ|プロジェクト|デプロイ|ステージング|本番|サーバ|サービス|データベース|ポート|ホスト|コンテナ|リリース|スプリント"
    "|顧客|クライアント|取引先|我々|チーム|弊社|当社|設定|この(?:コード|アプリ|ファイル|論文|原稿|資料|章|件|案件|曲|本)"
    "|[a-z0-9]_[a-z0-9]|[a-z]/[a-z]",
)
_OF_WORK = (
    r"\b(?:branch(?:es)?|commits?|merg\w+|builds?|tickets?|pull requests?|prs?|modules?|functions?|class(?:es)?|tests?"
    r"|configs?|tables?)\b",
    "ブランチ|コミット|マージ|ビルド|チケット|関数|テスト|テーブル",
)
_HABIT = (
    r"\bi (?:always|never|usually|generally|normally) (?:want|prefer|use|like|write|need|work|read)\b"
    r"|\bi (?:prefer|like|want) (?:my|all|every)\b",
    "(?:私|わたし|僕|俺|自分)[^。]{0,20}(?:いつも|必ず|常に|毎回)|いつも[^。]{0,30}(?:派|したい|ほしい|欲しい)",
)
_OF_PERSON = (
    r"\b(?:i|i'm|i've|i'd|my|me|mine|myself)\b",
    "私|わたし|僕|ぼく|俺|自分|妻|夫|旦那|嫁|主人|母|父|娘|息子|兄|姉|弟|妹|祖母|祖父|子ども|子供|うちの(?:犬|猫|子)",
)
_HOW_TO_ANSWER = (
    r"\b(?:call|address) me\b|\b(?:answers?|replies|reply|respond\w*|responses?|explain\w*|explanations?|feedback"
    r"|speak|talk|write) (?:to me |me )?(?:\w+ ){0,3}(?:in|with|without|briefly|short|shorter|plain|blunt\w*|direct\w*"
    r"|first|only|politely|formally|casually)\b",
    "(?:返事|回答|答え|説明|口調|敬語|文体|話し方)[^。]{0,12}(?:で|に|は|を|から)|(?:と|って)呼んで|(?:日本語|英語)で(?:答|返|説明|話)",
)
_PERSONAL = frozenset({"health", "identity", "preference", "event"})


def is_personal(text: str, worth: Worth) -> bool:
    """Whether a statement of the user is about themselves, wherever they work."""
    plain = normal_form("NFKC", text[:MATTER_WITHIN]).replace("’", "'").lower()
    plain = re.sub(_AT_HOME, "my ", plain)
    if _bilingual(_OF_PROJECT).occurs(plain):
        return False
    if _bilingual(_HOW_TO_ANSWER).occurs(plain) or _bilingual(_HABIT).occurs(plain):
        return True
    if _bilingual(_OF_WORK).occurs(plain):
        return False
    return not _PERSONAL.isdisjoint(worth.reasons) and _bilingual(_OF_PERSON).occurs(plain)


@cache
def _bilingual(sides: tuple[str, str]) -> Bilingual:
    return Bilingual(*sides)


# --- rules of importance ---------------------------------------------------------------------------

_CAPITALS = re.compile(r"\b[A-Z]{3,}\b[^a-z]{1,3}\b[A-Z]{2,}\b|\b[A-Z]{2,}\b[^a-z]{1,3}\b[A-Z]{3,}\b")


def _weights(text: str) -> dict[str, float]:
    """Group -> its weight in this text: that of its strongest rule."""
    plain = normal_form("NFKC", strip_outer_quotes(text[:MATTER_WITHIN])).replace("’", "'").strip()
    found: dict[str, float] = {}
    for group, weight, pattern in _rules():
        if abs(weight) > abs(found.get(group, 0.0)) and pattern.occurs(plain):
            found[group] = weight
    words = len(JAPANESE.findall(plain)) / 2 + sum(1 for _ in re.finditer(r"[A-Za-z0-9']+", plain))
    if plain.count("!") > 1 or _CAPITALS.search(plain):
        found["loud"] = LOUD
    if words > WORDY_WORDS:
        found["wordy"] = WORDY
    elif words < SHORT_WORDS and not any(weight > 0 for weight in found.values()):
        found["short"] = SHORT
    return found


@cache
def _rules() -> tuple[tuple[str, float, Bilingual], ...]:
    """The table with one pattern for each group, weight and language."""
    joined: dict[tuple[str, float], tuple[list[str], list[str]]] = {}
    for group, weight, pattern in rows("lasting"):
        sides = joined.setdefault((group, float(weight)), ([], []))
        sides[bool(JAPANESE.search(pattern))].append(pattern)
    return tuple(
        (group, weight, Bilingual("|".join(english_emotion_rules), "|".join(japanese_emotion_rules)))
        for (group, weight), (english_emotion_rules, japanese_emotion_rules) in joined.items()
    )
