"""Japanese expressions for dates and parts of the day. Katakana is folded to hiragana: ヶ月 is ゖ月."""

from __future__ import annotations

import re

from nagori.language.temporal import calendar as s
from nagori.language.temporal.calendar import Asker, Rule, Span, kanji, text_after, text_before
from nagori.language.temporal.offsets import JA_NUMBER, number

_PART = "早朝|明け方|朝|午前中?|お?昼|午後|夕方|深夜|夜中|夜|晩"
_HOURS = {
    "早朝": (3, 9), "明け方": (3, 8), "朝": s.MORNING, "午前": (0, 12), "午前中": (0, 12), "昼": (11, 16),
    "お昼": (11, 16), "午後": (12, 24), "夕方": (15, 20), "深夜": (22, 30), "夜中": (22, 30), "夜": s.NIGHT,
    "晩": s.NIGHT,
}  # fmt: skip
_WEEKDAYS = "月火水木金土日"
_ERA_TRIGGERS = " ".join(f"{era}{digit}" for era in "rhs" for digit in "0123456789")


# ── days ─────────────────────────────────────────────────────────────────────────────────────────────

_DAYS = {
    "一昨々日": -3, "一昨昨日": -3, "さきおととい": -3, "先おととい": -3, "一昨日": -2, "おととい": -2,
    "おとつい": -2, "前々日": -2, "昨日": -1,
    "きのう": -1, "今日": 0, "きょう": 0, "本日": 0, "明日": 1, "あした": 1, "あす": 1, "明後日": 2,
    "あさって": 2, "明々後日": 3, "しあさって": 3,
}  # fmt: skip
_NIGHTS = {
    "今朝": (0, "朝"), "けさ": (0, "朝"), "昨夜": (-1, "夜"), "昨晩": (-1, "夜"), "ゆうべ": (-1, "夜"),
    "夕べ": (-1, "夜"), "一昨夜": (-2, "夜"), "一昨晩": (-2, "夜"), "今夜": (0, "夜"), "今晩": (0, "夜"),
    "明朝": (1, "朝"), "明晩": (1, "夜"),
}  # fmt: skip
_NAMES = "子香菜奈美花夏架葉加佳的"  # 今日子, 明日香: what makes a day a name


def _day(found: re.Match[str], asker: Asker) -> Span | None:
    if text_after(found) in _NAMES and text_after(found):
        return None
    if found["night"]:
        offset, part = _NIGHTS[found["night"]]
        return s.hours(s.day(asker, offset), _HOURS[part])
    span = s.day(asker, _DAYS[found["kanji"] or found["kana"]])
    return s.hours(span, _HOURS[found["part"]]) if found["part"] else span


# A word in kana must not be a piece of a longer one: きょう is not in とうきょう, nor あす in あすか.
_KANA_END = "(?=[のはもにで、]|から|まで|って|[^ぁ-んー]|$)"

# ── dates, seasons, feasts ───────────────────────────────────────────────────────────────────────────

_YEAR_WORDS = {"一昨": -2, "昨": -1, "去": -1, "今": 0, "本": 0, "来": 1, "再来": 2}
_ERAS = {
    "令和": (2018, 99), "平成": (1988, 31), "昭和": (1925, 64), "大正": (1911, 15), "明治": (1867, 45),
    "r": (2018, 99), "h": (1988, 31), "s": (1925, 64),
}  # fmt: skip
_MONTH_WORDS = {"先々": -2, "先先": -2, "先": -1, "今": 0, "来": 1, "再来": 2}
_SEASONS = {"春": s.SPRING, "夏": s.SUMMER, "秋": s.AUTUMN, "冬": s.WINTER}
_FEASTS = {  # month, day, how many days
    "年末年始": (12, 25, 14), "年末": (12, 20, 12), "年の瀬": (12, 20, 12), "年始": (1, 1, 7),
    "年明け": (1, 1, 15), "正月": (1, 1, 7), "元日": (1, 1, 1), "元旦": (1, 1, 1), "大晦日": (12, 31, 1),
    "おおみそか": (12, 31, 1), "くりすますいぶ": (12, 24, 1), "くりすます": (12, 24, 2),
    "ばれんたいん": (2, 14, 1), "ほわいとでー": (3, 14, 1), "はろうぃん": (10, 31, 1), "七夕": (7, 7, 1),
    "ひな祭り": (3, 3, 1), "ひなまつり": (3, 3, 1), "節分": (2, 3, 1), "こどもの日": (5, 5, 1),
    "ごーるでんうぃーく": (4, 29, 8), "gw": (4, 29, 8), "お盆": (8, 13, 4), "七五三": (11, 15, 1),
    "文化の日": (11, 3, 1), "勤労感謝の日": (11, 23, 1), "憲法記念日": (5, 3, 1), "みどりの日": (5, 4, 1),
    "昭和の日": (4, 29, 1), "建国記念の日": (2, 11, 1), "建国記念日": (2, 11, 1),
    "天皇誕生日": (2, 23, 1), "山の日": (8, 11, 1),
    "しるばーうぃーく": (9, 19, 5), "年度末": (3, 1, 31), "年度始め": (4, 1, 14), "年度初め": (4, 1, 14),
    "新年度": (4, 1, 30), "梅雨": (6, 5, 45),
}  # fmt: skip
_MONDAYS = {"成人の日": (1, 0, 2), "海の日": (7, 0, 3), "敬老の日": (9, 0, 3), "すぽーつの日": (10, 0, 2),
    "体育の日": (10, 0, 2), "母の日": (5, 6, 2), "父の日": (6, 6, 3)}  # fmt: skip
_BREAKS = {  # month, day, how many days
    "正月休み": (12, 28, 9), "お盆休み": (8, 8, 11)
}  # fmt: skip
_MONTH_PARTS = {
    "上旬": s.EARLY_MONTH, "初旬": s.EARLY_MONTH, "初め": s.EARLY_MONTH, "はじめ": s.EARLY_MONTH,
    "頭": s.EARLY_MONTH, "中旬": s.MID_MONTH, "半ば": s.MID_MONTH, "なかば": s.MID_MONTH,
    "下旬": s.LATE_MONTH, "終わり": s.LATE_MONTH, "末": s.LATE_MONTH, "前半": (1, 16), "後半": (16, 0),
}  # fmt: skip
_YEAR_PARTS = {
    "前半": (1, 7), "後半": (7, 13), "初め": (1, 4), "はじめ": (1, 4), "初頭": (1, 4), "頭": (1, 4),
    "半ば": s.MID_YEAR, "なかば": s.MID_YEAR, "末": (12, 13), "終わり": (11, 13), "暮れ": (12, 13),
}  # fmt: skip
_YEAR = (
    "(?:(?P<ry>一昨|再来|[昨去今本来])年|(?P<oto>おととし)"
    "|(?P<era>令和|平成|昭和|大正|明治|(?<![a-z0-9])[rhs](?=[0-9]))"
    "(?P<ey>[0-9]{1,2}|[一二三四五六七八九十]{1,3}|元)年"
    "|(?<![0-9.])(?P<y>(?:19|20)[0-9][0-9]|[一二][〇九千][〇一二三四五六七八九十百]{0,5})年)"
)
_THING = (
    f"(?:(?:(?P<rm>先々|先先|再来|[先今来])|(?<![0-9/.])(?P<m>[0-9]{{1,2}}|[一二三四五六七八九十]{{1,2}}))月"
    f"(?:の?(?:(?P<d>[0-9]{{1,2}}|[一二三四五六七八九十]{{1,3}})日(?!間)(?:の?(?P<part>{_PART}))?"
    f"|(?P<mp>{'|'.join(_MONTH_PARTS)})))?"
    f"|(?P<feast>{'|'.join((*_BREAKS, *_MONDAYS, *_FEASTS))})|(?P<season>[春夏秋冬]))"
)
_DATE = f"(?:{_YEAR}(?:(?P<fiscal>度)|(?P<decade>代)|の?(?P<yp>{'|'.join(_YEAR_PARTS)}))?の?)?(?:{_THING})?"


def _date(found: re.Match[str], asker: Asker) -> Span | None:
    if not found[0] or _habit(found) or not _date_ends(found):
        return None
    if found["rm"]:
        return _in_month(found, *s.month_after(asker, _MONTH_WORDS[found["rm"]]))
    if found["season"] and (found["ry"] or found["oto"]):
        offset = _YEAR_WORDS[found["ry"] or "一昨"]
        return s.season_of_relative_year(asker, offset, _SEASONS[found["season"]])
    if (year := _year(found, asker)) is not None:
        return _in_year(found, year) if year else None
    return _bare(found, asker)


def _habit(found: re.Match[str]) -> bool:
    """毎年3月, 毎月5日, 隔週金曜: not one time."""
    led = re.search("(?:毎[年月週日]?|隔週|第[0-9一二三四五])の?$", text_before(found, 5))
    return bool(led) or "いつも" in text_after(found, 6)


def _date_ends(found: re.Match[str]) -> bool:
    """2000年前, 三月号 and 五月雨 are no dates."""
    rest = text_after(found, 2)
    if found[0].endswith("年"):
        return not re.match("[間前後目]|ぶり", rest)
    if found["m"] and found[0].endswith("月"):
        return not re.match("[間号雨病蝿晴堂前後]", rest)
    return True


def _year(found: re.Match[str], asker: Asker) -> int | None:
    """The year it names; None without one, 0 when there is no such year."""
    if found["ry"] or found["oto"]:
        return asker.now.year + _YEAR_WORDS[found["ry"] or "一昨"]
    if found["era"]:
        base, longest = _ERAS[found["era"]]
        count = 1 if found["ey"] == "元" else number(found["ey"])
        return base + count if 1 <= count <= longest else 0
    if found["y"]:
        return year if 1900 <= (year := number(found["y"])) < 2100 else 0
    return None


def _in_year(found: re.Match[str], year: int) -> Span | None:
    if found["m"]:
        return _in_month(found, year, number(found["m"]))
    if found["season"]:
        return s.season(year, _SEASONS[found["season"]])
    if found["feast"]:
        return _feast(found["feast"], year)
    if found["yp"]:
        return s.of_year(year, _YEAR_PARTS[found["yp"]])
    if found["fiscal"]:
        return s.months(year, 4, 12)
    return s.years(year, 10 if found["decade"] else 1)


def _in_month(found: re.Match[str], year: int, month: int) -> Span | None:
    if not 1 <= month <= 12:
        return None
    if found["d"]:
        span = s.date(year, month, number(found["d"]))
        return s.hours(span, _HOURS[found["part"]]) if found["part"] else span
    return s.of_month(year, month, _MONTH_PARTS[found["mp"]]) if found["mp"] else s.months(year, month)


def _feast(name: str, year: int) -> Span:
    if name in _MONDAYS:
        month, weekday, number = _MONDAYS[name]
        return s.nth_weekday(year, month, weekday, number)
    month, begins, count = (_FEASTS | _BREAKS)[name]
    start = s.date(year, month, begins).since
    assert start
    return s.days(start, count)


def _bare(found: re.Match[str], asker: Asker) -> Span | None:
    """Without a year: the one that fits best, if it is a time at all."""
    if found["m"]:
        month = number(found["m"])
        if not 1 <= month <= 12:
            return None
        return s.yearly(asker, lambda year: _in_month(found, year, month) or s.years(year))
    if found["feast"]:
        refused = (found["feast"] == "お盆" and re.match("[をで]|に[のせ載乗置]", text_after(found, 2))) or (
            found["feast"] == "gw" and re.search("[a-z0-9]", text_before(found) + text_after(found))
        )
        return None if refused else s.yearly(asker, lambda year: _feast(found["feast"], year))
    return _bare_season(found, asker)


def _bare_season(found: re.Match[str], asker: Asker) -> Span | None:
    """春に, 春頃 are times; 春の may be any spring's; 春子 and 青春 are none."""
    follows = re.match("に|頃|ごろ|先に|休み|から|まで|の(?=.)", text_after(found, 3))
    if not follows or kanji(text_before(found)) or re.match("にな|には|に咲", text_after(found, 2)):
        return None
    span = s.yearly(asker, lambda year: s.season(year, _SEASONS[found["season"]]))
    return span and Span(span.since, span.until, certain=follows[0] != "の")


def _season_word(found: re.Match[str], asker: Asker) -> Span | None:
    """この夏, 昨秋, 来春."""
    if text_after(found) and text_after(found) in "子日樹闘分至季菜美":  # 来春闘, この春日さん
        return None
    offset = {"昨": -1, "来": 1}.get(found[1], 0)
    return s.season_of_relative_year(asker, offset, _SEASONS[found[2]])


# ── weeks and their days ─────────────────────────────────────────────────────────────────────────────

_WEEKS = {"先々": -2, "先先": -2, "先": -1, "今": 0, "来": 1, "再来": 2}
_WEEK_PARTS = {"前半": (0, 3), "初め": (0, 2), "はじめ": (0, 2), "頭": (0, 2), "半ば": (2, 2), "後半": (3, 4)}


def _week(found: re.Match[str], asker: Asker) -> Span | None:
    weeks = _WEEKS[found["rw"]]
    if found["wd"]:
        span = s.weekday(asker, _WEEKDAYS.index(found["wd"]), weeks)
        return s.hours(span, _HOURS[found["part"]]) if found["part"] else span
    if found["end"]:
        return s.weekend(asker, weeks)
    span = s.week(asker, weeks)
    if not found["wp"]:
        return None if text_after(found).startswith("間") else span
    skip, count = _WEEK_PARTS[found["wp"]]
    return s.days(s.weekday(asker, skip, weeks).since or asker.today, count)


def _weekday(found: re.Match[str], asker: Asker) -> Span | None:
    if _habit(found) or re.match("大工|学校|版|ろーど|日?生まれ", text_after(found, 4)):
        return None
    lean = asker.lean
    if found["way"]:
        lean = s.FUTURE if found["way"] in ("次の", "今度の") else s.PAST
    span = s.near_weekday(asker, _WEEKDAYS.index(found["wd"]), lean)
    return s.hours(span, _HOURS[found["part"]]) if found["part"] else span


def _weekend(found: re.Match[str], asker: Asker) -> Span | None:
    if _habit(found) or kanji(text_before(found)):
        return None
    lean = {"次の": s.FUTURE, "今度の": s.FUTURE, "この前の": s.PAST}.get(found[1], asker.lean)
    return s.occurs(asker, lambda at: s.weekend(asker, at), 0, lean)


# ── days of an unnamed month ─────────────────────────────────────────────────────────────────────────


def _of_some_month(found: re.Match[str], asker: Asker) -> Span | None:
    part = (25, 0) if found[0] == "月末" else (1, 8)
    if _habit(found) or kanji(text_before(found)) or text_before(found).isdecimal():
        return None
    return s.monthly(asker, lambda year, month: s.of_month(year, month, part))


def _number_day(found: re.Match[str], asker: Asker) -> Span | None:
    """3日に, 3日の会議: the 3rd. 3日に一度, 3日の間, 一日の終わり: amounts."""
    rest = text_after(found, 4)
    if _habit(found) or kanji(text_before(found)) or text_before(found) in tuple("0123456789./-月の"):
        return None
    if re.match(
        "に(?:[約何及0-9一二三四五六七八九十]|また|わた)|の(?:[間内旅休遅差終]|うち|猶予|期限)", rest
    ):
        return None
    if found[1] == "一" or (found[1] == "1" and rest.startswith("の")):
        return None
    return s.monthly(asker, lambda year, month: s.date(year, month, number(found[1])))


# 3/5 of something, or three of five.
_OF_SOMETHING = (
    "の(?:確率|割合|さいず|大き|量|時間|人|値)|に[減削縮増分]|以[上下]|[倍個人名件回問点枚本台冊杯分秒完済合]"
)


def _slash_date(found: re.Match[str], asker: Asker) -> Span | None:
    """3/5 is the fifth of March in Japanese, if the sentence treats it as a day."""
    rest = text_after(found, 4)
    if not re.search("[ぁ-ん]", found.string) or re.match(_OF_SOMETHING, rest):
        return None
    if re.search("(?:比|率|割合|縮尺|分数)[はがをもで]?$|(?:約|残り|の)$", text_before(found, 4)):
        return None
    return s.yearly(asker, lambda year: s.date(year, int(found[1]), int(found[2])))


_DIGIT = {"一": 1, "二": 2, "三": 3, "四": 4}


def _quarter(found: re.Match[str], asker: Asker) -> Span | None:
    """第3四半期, Q3: of the calendar; with 年度 of the fiscal year, which begins in April."""
    if found["q"] and not re.search("[ぁ-んァ-ヶ一-龠]", found.string):
        return None
    written = found["n"] or found["q"]
    number = _DIGIT.get(written) or int(written)
    begins = 4 if "年度" in found[0] else 1
    if found["y"]:
        return s.quarter(int(found["y"]), number, begins)
    return s.yearly(asker, lambda year: s.quarter(year, number, begins))


def _half_year(found: re.Match[str], asker: Asker) -> Span | None:
    """上半期: April to September, as Japanese firms count."""
    number = 1 if found["half"] == "上" else 2
    if found["y"]:
        return s.half_year(int(found["y"]), number, 4)
    if found["ry"]:
        begins = asker.now.year - (asker.now.month < 4) + _YEAR_WORDS[found["ry"]]
        return s.half_year(begins, number, 4)
    return s.yearly(asker, lambda year: s.half_year(year, number, 4))


def _relative_term(found: re.Match[str], asker: Asker) -> Span | None:
    """前期, 今期 are fiscal years; 前四半期, 今四半期 quarters."""
    offset = {"前": -1, "先": -1, "来": 1}.get(found["side"], 0)
    if found["unit"] == "四半期":
        year, month = s.month_after(asker, 3 * offset)
        return s.quarter(year, (month - 1) // 3 + 1)
    if kanji(text_before(found)) or re.search("(?:学期|大学|授業|講義|履修|課程)の$", text_before(found, 4)):
        return None  # of a school year, which everyone divides in another way
    return s.months(asker.now.year - (asker.now.month < 4) + offset, 4, 12)


def _week_edge(found: re.Match[str], asker: Asker) -> Span | None:
    skip, count = (2, 2) if found["part"] == "半ば" else (0, 2)
    if found["side"]:
        weeks = _WEEKS[found["side"]]
        return s.days(s.weekday(asker, skip, weeks).since or asker.today, count)
    return s.occurs(asker, lambda at: s.days(s.weekday(asker, skip, at).since or asker.today, count), 0)


def _month_third(found: re.Match[str], asker: Asker) -> Span | None:
    """中旬 of an unnamed month: of this one, or of the one that has just ended."""
    part = {"上": s.EARLY_MONTH, "下": s.LATE_MONTH}.get(found["third"] or "中", s.MID_MONTH)
    return s.monthly(asker, lambda year, month: s.of_month(year, month, part))


def _era_date(found: re.Match[str], asker: Asker) -> Span | None:
    """R7.3.1; outside Japanese text this is a version of something."""
    base, longest = _ERAS[found[1]]
    if not re.search("[ぁ-ん]", found.string) or not 1 <= int(found[2]) <= longest:
        return None
    return s.date(base + int(found[2]), int(found[3]), int(found[4]))


_KANJI_DAYS = "|".join(word for word in _DAYS if kanji(word[0]))
_KANA_DAYS = "|".join(word for word in _DAYS if not kanji(word[0]))

RULES = (
    Rule(
        "昨 今日 本日 明 前々日 今朝 今夜 今晩 夕べ おととい おとつい きのう きょう あした あす あさって"
        " けさ ゆうべ",
        f"(?:(?P<kanji>{_KANJI_DAYS})|(?<![ぁ-んー])(?P<kana>{_KANA_DAYS}){_KANA_END})(?:の?(?P<part>{_PART}))?"
        f"|(?P<night>{'|'.join(_NIGHTS)})",
        _day,
    ),
    Rule("年 月 春 夏 秋 冬 おととし おおみそか の日 " + " ".join((*_FEASTS, *_BREAKS)), _DATE, _date),
    Rule("春 夏 秋 冬", "(この|[昨今来])([春夏秋冬])", _season_word),
    Rule(
        "先週 先々週 先先週 今週 来週",
        "(?P<rw>先々|先先|再来|[先今来])週(?:の?(?:(?P<wd>[月火水木金土日])曜日?(?:の?(?P<part>"
        f"{_PART}))?|(?P<end>週?末|土日)|(?P<wp>{'|'.join(_WEEK_PARTS)})))?",
        _week,
    ),
    Rule(
        "曜",
        "(?P<way>次の|今度の|この前の|この間の|こないだの|前の)?(?P<wd>[月火水木金土日])曜日?"
        f"(?:の?(?P<part>{_PART}))?",
        _weekday,
    ),
    Rule("週末 土日", "(次の|今度の|この前の)?(?:週末|土日)", _weekend),
    Rule("月末 月初", "月末|月初め?", _of_some_month),
    Rule("日に 日の", f"({JA_NUMBER})日(?=[にの])", _number_day),
    Rule(
        "/",
        r"(?<![0-9/.a-z])([0-9]{1,2})/([0-9]{1,2})"
        "(?= ?(?:[にのはがをと~〜(、,?]|って|から|まで|頃|ごろ|[一-龠]|$))",
        _slash_date,
    ),
    Rule(
        "四半期 q",
        "(?:(?P<y>[0-9]{4})年?度?の?)?"
        "(?:第(?P<n>[1-4一二三四])四半期|(?<![a-z0-9])q(?P<q>[1-4])(?![0-9a-z]))",
        _quarter,
    ),
    Rule(
        "半期",
        "(?:(?P<y>[0-9]{4})年?度?の?|(?P<ry>昨|去|今|本|来)年?度?の?)?(?P<half>上|下)半期",
        _half_year,
    ),
    Rule("四半期 期", "(?P<side>前|先|今|当|来)(?P<unit>四半期|期)(?![間待日末限])", _relative_term),
    Rule("週明け 週頭 週初め 週半ば", "(?P<side>先|今|来)?週の?(?P<part>明け|頭|初め|半ば)", _week_edge),
    Rule(
        "月半ば 月の半ば 上旬 中旬 下旬",
        "(?<![0-9一二三四五六七八九十先今来々月の])(?:月の?半ば|(?P<third>[上中下])旬)",
        _month_third,
    ),
    Rule(
        _ERA_TRIGGERS,
        r"(?<![a-z0-9])([rhs])([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{1,2})(?![0-9./-])",
        _era_date,
    ),
)
