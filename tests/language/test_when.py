"""Time words: what window each expression means, for whom and when, and which look-alikes mean none."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori.errors import InvalidInput
from nagori.language.temporal import TimeExpression, read_time, said_time

TOKYO, NEW_YORK = ZoneInfo("Asia/Tokyo"), ZoneInfo("America/New_York")
NOWS = {
    "wednesday": datetime(2026, 7, 15, 10, 0, tzinfo=TOKYO),
    "new year": datetime(2026, 1, 1, 9, 0, tzinfo=TOKYO),  # a Thursday
    "leap": datetime(2024, 3, 1, 12, 0, tzinfo=TOKYO),  # a Friday, the day after 29 February
    "last day": datetime(2025, 12, 31, 23, 30, tzinfo=TOKYO),  # a Wednesday; in UTC still the afternoon
    "nyc": datetime(2026, 7, 15, 10, 0, tzinfo=NEW_YORK),
    "spring forward": datetime(2026, 3, 8, 12, 0, tzinfo=NEW_YORK),  # a Sunday of 23 hours
    "fall back": datetime(2026, 11, 1, 0, 30, tzinfo=NEW_YORK),  # a Sunday of 25 hours
    "nyc new year": datetime(2026, 1, 1, 9, 0, tzinfo=NEW_YORK),
}

# text = window in local time: one day, or from..until (half-open, either may be missing), or - for none.
# Behind it: ? not certain, latest, first.
JAPANESE = {
    "wednesday": """
今日の予定は？ = 2026-07-15
本日の議題 = 2026-07-15
きょうの話 = 2026-07-15
昨日の夕食 = 2026-07-14
きのう何食べた = 2026-07-14
キノウの話 = 2026-07-14
一昨日の会議 = 2026-07-13
おととい会った人 = 2026-07-13
オトトイの件 = 2026-07-13
一昨々日の件 = 2026-07-12
明日の会議 = 2026-07-16
あしたは何時から？ = 2026-07-16
あすの天気 = 2026-07-16
明後日の出張 = 2026-07-17
あさっての予定 = 2026-07-17
しあさっての予約 = 2026-07-18
今朝のニュース = 2026-07-15T04..2026-07-15T12
けさ話したこと = 2026-07-15T04..2026-07-15T12
昨夜の夢 = 2026-07-14T18..2026-07-15T06
昨晩飲んだ酒 = 2026-07-14T18..2026-07-15T06
ゆうべの電話 = 2026-07-14T18..2026-07-15T06
夕べの電話 = 2026-07-14T18..2026-07-15T06
今夜の夕食 = 2026-07-15T18..2026-07-16T06
今晩何する？ = 2026-07-15T18..2026-07-16T06
昨日の朝、何を話した？ = 2026-07-14T04..2026-07-14T12
昨日の夜の話 = 2026-07-14T18..2026-07-15T06
明日の午後の面談 = 2026-07-16T12..2026-07-17
今週の目標 = 2026-07-13..2026-07-20
先週話した店どこだっけ = 2026-07-06..2026-07-13
先々週の件 = 2026-06-29..2026-07-06
来週の予定 = 2026-07-20..2026-07-27
再来週の旅行 = 2026-07-27..2026-08-03
先週の金曜に話した店 = 2026-07-10
先週の土曜 = 2026-07-11
先週の日曜日の試合 = 2026-07-12
先週土曜の夜 = 2026-07-11T18..2026-07-12T06
来週の火曜 = 2026-07-21
今週の金曜の締切 = 2026-07-17
先週末の登山 = 2026-07-11..2026-07-13
今週末どこ行く = 2026-07-18..2026-07-20
来週末の結婚式 = 2026-07-25..2026-07-27
先週の前半 = 2026-07-06..2026-07-09
来週頭に連絡 = 2026-07-20..2026-07-22
週末何してたっけ = 2026-07-11..2026-07-13
次の週末の予定 = 2026-07-18..2026-07-20
土日に読んだ本 = 2026-07-11..2026-07-13
月曜の会議で決めたこと = 2026-07-13
土曜日に会った人 = 2026-07-11
水曜の件 = 2026-07-08
金曜の夜に行った店 = 2026-07-10T18..2026-07-11T06
この前の日曜 = 2026-07-12
次の日曜の予定 = 2026-07-19
今度の土曜 = 2026-07-18
土曜の予定を教えて = 2026-07-18
今月の予算 = 2026-07-01..2026-08-01
先月の売上 = 2026-06-01..2026-07-01
先々月の売上 = 2026-05-01..2026-06-01
来月の旅行 = 2026-08-01..2026-09-01
再来月の予定 = 2026-09-01..2026-10-01
先月の5日 = 2026-06-05
先月末の打ち合わせ = 2026-06-21..2026-07-01
先月の上旬 = 2026-06-01..2026-06-11
今月中旬 = 2026-07-11..2026-07-21
来月下旬 = 2026-08-21..2026-09-01
今月初めの面談 = 2026-07-01..2026-07-11
今年の目標 = 2026-01-01..2027-01-01
去年の誕生日 = 2025-01-01..2026-01-01
昨年の実績 = 2025-01-01..2026-01-01
一昨年の旅行 = 2024-01-01..2025-01-01
おととしの旅行 = 2024-01-01..2025-01-01
来年の計画 = 2027-01-01..2028-01-01
再来年の計画 = 2028-01-01..2029-01-01
今年度の予算 = 2026-04-01..2027-04-01
2024年度の予算 = 2024-04-01..2025-04-01
去年の3月 = 2025-03-01..2025-04-01
去年3月5日の手紙 = 2025-03-05
来年の1月 = 2027-01-01..2027-02-01
去年の年末 = 2025-12-20..2026-01-01
去年末の話 = 2025-12-01..2026-01-01
今年の初めに決めたこと = 2026-01-01..2026-04-01
去年前半の成績 = 2025-01-01..2025-07-01
去年の夏に行った海 = 2025-06-01..2025-09-01
今年の春 = 2026-03-01..2026-06-01
去年の秋 = 2025-09-01..2025-12-01
2023年の冬 = 2023-12-01..2024-03-01
この春始めたこと = 2026-03-01..2026-06-01
昨秋の旅行 = 2025-09-01..2025-12-01
来春の入社 = 2027-03-01..2027-06-01
春に京都へ行った = 2026-03-01..2026-06-01
春頃の話 = 2026-01-14..2026-07-17
夏休みに読んだ本 = 2026-06-01..2026-09-01
秋に行った温泉 = 2025-09-01..2025-12-01
冬の旅行どこだったっけ = 2025-12-01..2026-03-01 ?
3日前に話した店 = 2026-07-12
三日前の話 = 2026-07-12
３日前の話 = 2026-07-12
十日前 = 2026-07-05
百日前 = 2026-04-06
二十一日前の記録 = 2026-06-24
多分3日前 = 2026-07-12
今から3日前 = 2026-07-12
3日くらい前 = 2026-07-12
5日後の予定 = 2026-07-20
数日前に話した件 = 2026-07-09..2026-07-14 ?
一週間前 = 2026-07-05..2026-07-12
二週間前の会議 = 2026-06-28..2026-07-05
3週間後 = 2026-08-02..2026-08-09
1か月前 = 2026-05-31..2026-07-01
3ヶ月前の診察 = 2026-03-31..2026-05-01
3ヵ月前の診察 = 2026-03-31..2026-05-01
3カ月前の診察 = 2026-03-31..2026-05-01
三箇月前の診察 = 2026-03-31..2026-05-01
数ヶ月前に読んだ = 2026-01-15..2026-05-16 ?
半年前に買った = 2025-12-01..2026-03-02
半月前 = 2026-06-25..2026-07-06
一年前の今頃 = 2025-01-01..2026-01-01
3年前の旅行 = 2023-01-01..2024-01-01
1年半前 = 2024-12-31..2025-01-31
十年前の写真 = 2016-01-01..2017-01-01
5年以上前の話 = ..2022-01-01
2時間前に頼んだこと = 2026-07-15T07..2026-07-15T09
30分前の話 = 2026-07-15T09:22:30..2026-07-15T09:37:30
1時間後に起こして = 2026-07-15T10..2026-07-15T12
ここ三日の食事 = 2026-07-12..2026-07-15T10
この1週間の成果 = 2026-07-08..2026-07-15T10
過去1年の支出 = 2025-07-15..2026-07-15T10
直近3か月の推移 = 2026-04-15..2026-07-15T10
ここ数日眠れない = 2026-07-09..2026-07-15T10 ?
2026年3月5日の記録 = 2026-03-05
２０２６年３月５日の記録 = 2026-03-05
二〇二六年三月五日の記録 = 2026-03-05
2026年3月 = 2026-03-01..2026-04-01
2025年の旅行 = 2025-01-01..2026-01-01
1990年代の音楽 = 1990-01-01..2000-01-01
3月5日の手術 = 2026-03-05
三月五日の手術 = 2026-03-05
10月10日の式 = 2025-10-10
3月の旅行 = 2026-03-01..2026-04-01
十二月の旅行 = 2025-12-01..2026-01-01
9月の旅行の予定 = 2026-09-01..2026-10-01
3月上旬 = 2026-03-01..2026-03-11
3月末の送別会 = 2026-03-21..2026-04-01
3月5日の夜 = 2026-03-05T18..2026-03-06T06
2月29日の出来事 = 2024-02-29
2026/3/5の会議 = 2026-03-05
2026-03-05のログ = 2026-03-05
3/5の会議 = 2026-03-05
12/24にもらった物 = 2025-12-24
令和7年の旅行 = 2025-01-01..2026-01-01
令和7年3月の件 = 2025-03-01..2025-04-01
令和元年の話 = 2019-01-01..2020-01-01
平成30年に買った車 = 2018-01-01..2019-01-01
昭和六十年の写真 = 1985-01-01..1986-01-01
R7.3.1の書類 = 2025-03-01
R7年3月の書類 = 2025-03-01..2025-04-01
5日の会議の議事録 = 2026-07-05
20日に話したこと = 2026-06-20
月末の締め、どうなった = 2026-06-25..2026-07-01
月初の会議 = 2026-07-01..2026-07-08
年末に話した抱負 = 2025-12-20..2026-01-01
年始の目標 = 2026-01-01..2026-01-08
年末年始に行った所 = 2025-12-25..2026-01-08
お正月に食べた物 = 2026-01-01..2026-01-08
元日の約束 = 2026-01-01
大晦日の夜 = 2025-12-31
クリスマスにもらった = 2025-12-24..2025-12-26
去年のクリスマス = 2025-12-24..2025-12-26
バレンタインの話 = 2026-02-14
ゴールデンウィークに行った場所 = 2026-04-29..2026-05-07
GWに行った場所 = 2026-04-29..2026-05-07
お盆に帰省した = 2025-08-13..2025-08-17
先週から腰が痛い = 2026-07-06..
3月以降の変更 = 2026-03-01..
2024年以前の契約 = ..2025-01-01
昨日までの作業 = ..2026-07-15
3月から5月まで留学 = 2026-03-01..2026-06-01
3月5日〜3月8日の旅行 = 2026-03-05..2026-03-09
3月頃 = 2026-02-14..2026-04-16
前回の続き = - ? latest
この前の店どこだっけ = - ? latest
最後に会ったのは誰 = - ? latest
さっきの話 = 2026-07-14..2026-07-15T10 ? latest
先ほどの件 = 2026-07-14..2026-07-15T10 ? latest
最近読んだ本 = 2026-04-16..2026-07-15T10 ? latest
近頃の調子 = 2026-04-16..2026-07-15T10 ? latest
今の住所は？ = - ? latest
今どこに住んでる？ = - ? latest
現在の職場 = - ? latest
最初に話した本 = - ? first
初めて会った場所 = - ? first
もともとの計画 = - ? first
以前話した店 = - ?
前に話した店 = - ?
君が前に言ってたこと = - ?
ちょっと前に聞いた = - ?
昔住んでいた街 = - ?
かつての同僚 = - ?
何年も前の話 = - ?
先日の件 = 2026-05-16..2026-07-15T10 ?
この間の店 = 2026-05-16..2026-07-15T10 ?
去年最初に行った店 = 2025-01-01..2026-01-01 first
今、先週の議事録を書いている = 2026-07-06..2026-07-13
去年の話だけど、先週の金曜にも話した = 2026-07-10
「昨日」という曲を先週聴いた = 2026-07-06..2026-07-13
春闘の前の来春の話 = 2027-03-01..2027-06-01
二年半後 = 2028-12-31..2029-01-31
去年の今日は何をしてた = 2025-07-15
去年の今頃 = 2025-06-30..2025-07-31
先月の今頃 = 2026-06-10..2026-06-21
ひと月前 = 2026-05-31..2026-07-01
2、3日前に送ったメール = 2026-07-12..2026-07-14
二三日前 = 2026-07-12..2026-07-14
2~3週間前 = 2026-06-21..2026-07-05
8/15までに提出 = 2026-08-15
6月から5月 = 2026-05-01..2026-06-01
「先週話した店どこ？」 = 2026-07-06..2026-07-13
""",
    "new year": """
昨日の話 = 2025-12-31
一昨日 = 2025-12-30
先月 = 2025-12-01..2026-01-01
先々月 = 2025-11-01..2025-12-01
去年 = 2025-01-01..2026-01-01
今年 = 2026-01-01..2027-01-01
12月の旅行 = 2025-12-01..2026-01-01
3月の旅行 = 2025-03-01..2025-04-01
正月の話 = 2026-01-01..2026-01-08
大晦日に食べた物 = 2025-12-31
先週の水曜 = 2025-12-24
今週 = 2025-12-29..2026-01-05
今年の冬 = 2025-12-01..2026-03-01
去年の冬 = 2024-12-01..2025-03-01
1か月前 = 2025-11-16..2025-12-17
""",
    "leap": """
昨日 = 2024-02-29
一昨日 = 2024-02-28
先月 = 2024-02-01..2024-03-01
先月末 = 2024-02-21..2024-03-01
366日前 = 2023-03-01
一年前 = 2023-01-01..2024-01-01
2月29日の記念 = 2024-02-29
来年の2月29日 = none
土曜の話 = 2024-02-24
""",
    "last day": """
今日 = 2025-12-31
明日 = 2026-01-01
来月 = 2026-01-01..2026-02-01
来年 = 2026-01-01..2027-01-01
来週の月曜 = 2026-01-05
今夜 = 2025-12-31T18..2026-01-01T06
1時間後 = 2025-12-31T23:30..2026-01-01T01:30
大晦日の話 = 2025-12-31
""",
}
ENGLISH = {
    "nyc": """
what's on today? = 2026-07-15
What did we talk about yesterday? = 2026-07-14
yesterday's dinner = 2026-07-14
YESTERDAY = 2026-07-14
the day before yesterday = 2026-07-13
what's tomorrow's plan = 2026-07-16
the day after tomorrow = 2026-07-17
this morning's news = 2026-07-15T04..2026-07-15T12
this afternoon = 2026-07-15T12..2026-07-15T18
this evening = 2026-07-15T17..2026-07-16
what did I dream last night = 2026-07-14T18..2026-07-15T06
tonight's dinner = 2026-07-15T18..2026-07-16T06
yesterday evening = 2026-07-14T17..2026-07-15
tomorrow morning = 2026-07-16T04..2026-07-16T12
this week = 2026-07-13..2026-07-20
last week's meeting = 2026-07-06..2026-07-13
next week = 2026-07-20..2026-07-27
the week before last = 2026-06-29..2026-07-06
the week after next = 2026-07-27..2026-08-03
last month = 2026-06-01..2026-07-01
this month's budget = 2026-07-01..2026-08-01
next month = 2026-08-01..2026-09-01
the month before last = 2026-05-01..2026-06-01
last year = 2025-01-01..2026-01-01
this year = 2026-01-01..2027-01-01
next year = 2027-01-01..2028-01-01
the year before last = 2024-01-01..2025-01-01
in the past week = 2026-07-08..2026-07-15T10
over the past month = 2026-06-15..2026-07-15T10
the past year = 2025-07-15..2026-07-15T10
last decade = 2010-01-01..2020-01-01
early last year = 2025-01-01..2025-05-02
late last month = 2026-06-21..2026-07-01
earlier this week = 2026-07-13..2026-07-15T10
later this month = 2026-07-15T10..2026-08-01
at the end of last month = 2026-06-21..2026-07-01
at the beginning of this year = 2026-01-01..2026-05-02
last weekend = 2026-07-11..2026-07-13
this weekend = 2026-07-18..2026-07-20
next weekend = 2026-07-25..2026-07-27
what did I do over the weekend? = 2026-07-11..2026-07-13
what are the plans for the weekend = 2026-07-18..2026-07-20
last Friday = 2026-07-10
last Saturday = 2026-07-11
last wednesday = 2026-07-08
last Tuesday = 2026-07-14
on Monday = 2026-07-13
what did I say on Sunday? = 2026-07-12
on fri = 2026-07-10
on Sat we hiked = 2026-07-11
last Sun = 2026-07-12
this Friday = 2026-07-17
next Tuesday = 2026-07-21
next Friday's call = 2026-07-24
this past Thursday = 2026-07-09
this coming Monday = 2026-07-20
Friday of last week = 2026-07-10
Monday next week = 2026-07-20
last week on Tuesday = 2026-07-07
Friday night = 2026-07-10T18..2026-07-11T06
last Friday morning = 2026-07-10T04..2026-07-10T12
what will we do on Friday = 2026-07-17
two days ago = 2026-07-13
3 days ago = 2026-07-12
10 days ago = 2026-07-05
one hundred days ago = 2026-04-06
a hundred days ago = 2026-04-06
a couple of days ago = 2026-07-13
a couple days ago = 2026-07-13
a few days ago = 2026-07-09..2026-07-14 ?
several days ago = 2026-07-09..2026-07-14 ?
a week ago = 2026-07-05..2026-07-12
two weeks ago = 2026-06-28..2026-07-05
about three weeks ago = 2026-06-21..2026-06-28
a fortnight ago = 2026-06-28..2026-07-05
a month ago = 2026-05-31..2026-07-01
three months ago = 2026-03-31..2026-05-01
a few months ago = 2026-01-15..2026-05-16 ?
half a year ago = 2025-12-01..2026-03-02
half an hour ago = 2026-07-15T09:22:30..2026-07-15T09:37:30
a year ago = 2025-01-13..2026-01-14
two years ago = 2024-01-14..2025-01-14
a year and a half ago = 2024-12-31..2025-01-31
two and a half years ago = 2023-12-31..2024-01-31
more than two years ago = ..2025-01-14
over a week ago = ..2026-07-12
2 hours ago = 2026-07-15T07..2026-07-15T09
an hour ago = 2026-07-15T08..2026-07-15T10
30 minutes ago = 2026-07-15T09:22:30..2026-07-15T09:37:30
twenty-five years ago = 2001-01-13..2002-01-14
two decades ago = 2001-07-15..2011-07-16
three weeks back = 2026-06-21..2026-06-28
two days from now = 2026-07-17
a week from today = 2026-07-19..2026-07-26
remind me in 3 days = 2026-07-18
in two weeks' time = 2026-07-26..2026-08-02
the last 3 days = 2026-07-12..2026-07-15T10
the past two weeks = 2026-07-01..2026-07-15T10
in the last six months = 2026-01-15..2026-07-15T10
the past few weeks = 2026-06-03..2026-07-15T10 ?
the next two weeks = 2026-07-15T10..2026-07-30
March 5 = 2026-03-05
on March 5th = 2026-03-05
March 5th 2026 = 2026-03-05
March 5, 2025 = 2025-03-05
Mar. 5 = 2026-03-05
mar 5th = 2026-03-05
on march 5 = 2026-03-05
5 March = 2026-03-05
5th of March = 2026-03-05
the 5th of May = 2026-05-05
5 May 2024 = 2024-05-05
December 24 = 2025-12-24
Feb 29 = 2024-02-29
March 5 last year = 2025-03-05
in March = 2026-03-01..2026-04-01
in march = 2026-03-01..2026-04-01
in May = 2026-05-01..2026-06-01
in may = 2026-05-01..2026-06-01
in Mar. = 2026-03-01..2026-04-01
in October = 2025-10-01..2025-11-01
the September meeting = 2025-09-01..2025-10-01
in September we will move = 2026-09-01..2026-10-01
March 2025 = 2025-03-01..2025-04-01
in March of last year = 2025-03-01..2025-04-01
last March = 2026-03-01..2026-04-01
last july = 2025-07-01..2025-08-01
next March = 2027-03-01..2027-04-01
this May = 2026-05-01..2026-06-01
early March = 2026-03-01..2026-03-11
mid March = 2026-03-11..2026-03-21
mid-March = 2026-03-11..2026-03-21
late March = 2026-03-21..2026-04-01
the end of May = 2026-05-21..2026-06-01
early in june 2025 = 2025-06-01..2025-06-11
in 2025 = 2025-01-01..2026-01-01
early 2024 = 2024-01-01..2024-05-02
late 2024 = 2024-09-01..2025-01-01
back in 2019 = 2019-01-01..2020-01-01
in the 1990s = 1990-01-01..2000-01-01
the '90s = 1990-01-01..2000-01-01
2026-03-05 = 2026-03-05
2026/3/5 = 2026-03-05
2026-03 = 2026-03-01..2026-04-01
on 3/25 = 2026-03-25
on 25/3 = 2026-03-25
3/25/2026 = 2026-03-25
25/3/2025 = 2025-03-25
on the 3rd, what did we decide = 2026-07-03
what happened on the 20th? = 2026-06-20
the end of the month = 2026-06-21..2026-07-01
by the end of the month we will ship = 2026-07-21..2026-08-01
the beginning of the year = 2026-01-01..2026-05-02
this spring = 2026-03-01..2026-06-01
last summer = 2025-06-01..2025-09-01
last fall = 2025-09-01..2025-12-01
last winter = 2025-12-01..2026-03-01
next summer = 2027-06-01..2027-09-01
in the winter = 2025-12-01..2026-03-01
in the fall we went to Maine = 2025-09-01..2025-12-01
summer of 2024 = 2024-06-01..2024-09-01
fall 2024 = 2024-09-01..2024-12-01
late summer 2024 = 2024-08-01..2024-09-01
in the summer of last year = 2025-06-01..2025-09-01
last Christmas = 2025-12-24..2025-12-27
at Christmas = 2025-12-24..2025-12-27
Christmas Eve = 2025-12-24
next Christmas = 2026-12-24..2026-12-27
New Year's Eve = 2025-12-31
new year’s day = 2026-01-01
on Halloween = 2025-10-31
Christmas 2024 = 2024-12-24..2024-12-27
the Fourth of July = 2026-07-04
on Valentine's Day = 2026-02-14
since last Monday = 2026-07-13..
since March = 2026-03-01..
after March 5 = 2026-03-06..
since the weekend = 2026-07-11..
before 2024 = ..2024-01-01
until last week = ..2026-07-13
prior to last month = ..2026-06-01
around March 5 = 2026-03-02..2026-03-09
from March to May = 2026-03-01..2026-06-01
between 2020 and 2022 = 2020-01-01..2023-01-01
March 5 - March 8 = 2026-03-05..2026-03-09
last time we met = - ? latest
the most recent visit = - ? latest
the latest on the project = - ? latest
our last conversation = - ? latest
when did I last see her = - ? latest
where do I live now? = - ? latest
what am I currently reading = - ? latest
what am I reading these days = 2026-04-16..2026-07-15T10 ? latest
recently read books = 2026-04-16..2026-07-15T10 ? latest
I was lately tired = 2026-04-16..2026-07-15T10 ? latest
just now = 2026-07-14..2026-07-15T10 ? latest
the first time we met = - ? first
what did I originally plan = - ? first
at first I hated it = - ? first
where we first met = - ? first
have we discussed this before? = - ?
as I mentioned earlier, = - ?
in the past = - ?
a while ago = - ?
a long time ago = - ?
years ago = - ?
the other day = 2026-05-16..2026-07-15T10 ?
previously you said = - ?
the last time I was in Rome, in 2019 = 2019-01-01..2020-01-01 latest
last year, or rather last Friday = 2026-07-10
the song "Yesterday" from last week = 2026-07-06..2026-07-13
now, about last week: what was decided = 2026-07-06..2026-07-13
yesterday and today = 2026-07-14
the end of the week = 2026-07-10..2026-07-13
over the summer = 2026-06-01..2026-09-01
three and a half weeks ago = 2026-06-21
a day and a half ago = 2026-07-13T13..2026-07-14T07
a month and a half ago = 2026-05-28..2026-06-04
this time last year = 2025-06-30..2025-07-31
this day last month = 2026-06-15
two or three weeks ago = 2026-06-21..2026-07-05
2-3 days ago = 2026-07-12..2026-07-14
a day or two ago = 2026-07-13..2026-07-15
the Friday before last = 2026-07-03
I need it by Friday = 2026-07-17
先週のmeetingの話 = 2026-07-06..2026-07-13
last weekのmeeting = 2026-07-06..2026-07-13
""",
    "spring forward": """
today = 2026-03-08
yesterday = 2026-03-07
tomorrow = 2026-03-09
last Saturday = 2026-03-07
last weekend = 2026-02-28..2026-03-02
this weekend = 2026-03-07..2026-03-09
over the weekend = 2026-03-07..2026-03-09
this week = 2026-03-02..2026-03-09
12 hours ago = 2026-03-07T20..2026-03-08T03
next Monday = 2026-03-09
この一週間 = 2026-03-01..2026-03-08T12
昨日 = 2026-03-07
""",
    "fall back": """
today = 2026-11-01
yesterday = 2026-10-31
on Halloween = 2026-10-31
last month = 2026-10-01..2026-11-01
this month = 2026-11-01..2026-12-01
last night = 2026-10-31T18..2026-11-01T06
a month ago = 2026-09-16..2026-10-17
""",
    "nyc new year": """
yesterday = 2025-12-31
last month = 2025-12-01..2026-01-01
last year = 2025-01-01..2026-01-01
in December = 2025-12-01..2026-01-01
this winter = 2025-12-01..2026-03-01
last winter = 2024-12-01..2025-03-01
last Friday = 2025-12-26
a year ago = 2024-07-02..2025-07-03
New Year's Eve = 2025-12-31
last Christmas = 2025-12-24..2025-12-27
""",
}


def rows(tables: dict[str, str]) -> list[tuple[str, str, str]]:
    out = []
    for now, table in tables.items():
        for line in table.strip().splitlines():
            text, expected = line.rsplit(" = ", 1)
            out.append((now, text, expected))
    return out


def shown(wish: TimeExpression | None, zone: ZoneInfo) -> str:
    """The wish in the words of the tables."""
    if wish is None:
        return "none"
    window = f"{_edge(wish.since, zone)}..{_edge(wish.until, zone)}"
    if wish.since and wish.until and window.count("T") == 0:
        begin, end = (edge.astimezone(zone).date() for edge in (wish.since, wish.until))
        window = str(begin) if end - begin == timedelta(days=1) else window
    marks = (" ?" * (not wish.certain)) + " latest" * wish.latest + " first" * wish.earliest
    return ("-" if window == ".." else window) + marks


def _edge(edge: datetime | None, zone: ZoneInfo) -> str:
    if edge is None:
        return ""
    local = edge.astimezone(zone).replace(tzinfo=None)
    text = local.isoformat()
    if text.endswith("T00:00:00"):
        return text[:10]
    return text.removesuffix(":00").removesuffix(":00")


@pytest.mark.parametrize(("now", "text", "expected"), rows(JAPANESE) + rows(ENGLISH))
def test_every_expression_means_its_window(now: str, text: str, expected: str) -> None:
    zone = NOWS[now].tzinfo
    assert isinstance(zone, ZoneInfo)
    assert shown(read_time(text, NOWS[now], zone), zone) == expected


def test_the_tables_are_as_long_as_promised() -> None:
    assert len(rows(JAPANESE)) >= 150
    assert len(rows(ENGLISH)) >= 150


NO_TIME = """
いつ会ったっけ？
それはいつ？
今後の方針を決めたい
今度一緒に行こう
今まで何人と話した？
今すぐ直して
今井さんの電話番号
日本の首都
月が綺麗ですね
月の裏側
駅前の薬局
目の前にある
家の前に車がある
寝る前に歯を磨く
その前に確認して
前に進もう
春子さんの連絡先
青春の思い出
春日部に住んでいる
秋葉原の店
冬子と夏美
三日間の出張
3日間の休み
2週間かかる
3か月間の契約
三年間付き合った
3日に一度運動する
1日に3回飲む薬
一日の終わりに日記を書く
3日のうちに返事をする
毎週月曜は定休日
毎年3月は忙しい
毎月5日の支払い
毎朝走る
第三金曜は休み
日曜の朝はいつもパンケーキ
予算は3/4に削減
締切の3日前に通知して
試験二日前は眠れない
出発から三日後に着く
その三日後に別れた
開業の半年前に辞めた
来春闘の方針
3日間に3日のうち
R4.3.1 is out
第3日に
1日の摂取量
何年前の話？
2000年前の遺跡
三月号を買う
五月雨の句
五月病になりそう
今日子さんの誕生日
明日香村の地図
お盆を洗う
お盆に載せて運ぶ
5GWの発電所
1/2の確率
3/5
日曜大工が趣味
最後に、まとめてください
最初から読む
はじめまして
昔話を聞かせて
それ以前の問題
現在地はどこ
人生100年
あすかさんの好物
とうきょうの地図
きょうだいは何人？
13月の件
平成99年の件
2026年13月
6月31日の件
3時間の睡眠
0.5年前
「昨日」という曲の歌詞
『去年の夏』の作者は？
春になると鼻がむずむずする
You may come in
It may rain, may it not
May I ask something?
this may be wrong
they march in step
the march was long
Let's march 5 miles
5 may come along
March 5 miles a day
prices fall to zero
this fall from grace
wait a second
I came second
give me two seconds
leaves fall down
prices fall in love
don't fall asleep
the fall of Rome
in the fall of Rome
the sun is hot
we sat on the sofa
the cat sat there
he wed her
at last it worked
the last one on the list
my last name
will the battery last long
how does it know
every now and then
from now on use tabs
for now it is fine
now that we are here
Now, let us begin
3 hours of sleep
a 3 day trip
it took two weeks
finished in two hours
two weeks of vacation
the last three days of school
the last year of college
every Monday
on Mondays we rest
each Friday
Black Friday deals
When did we meet?
when was it
on 3/5
5/3/2026
1/2 cup of sugar
24/7 support
version 2.3.4
PyCharm 2024.1
the years 2024-2025
enjoy the weekend
released as 1.20.3
write it in 2000 words
a limit of 2048
port 2000
2000 people
the day before the exam
the 3rd floor
on the 3rd floor
three days later
two weeks before the deadline
before lunch
before I forget
never before
by noon at the latest
love at first sight
Merry Christmas
the Christmas tree
a spring mattress
hot spring
the hot summer dress
an august body
April said hello
Jan called me
in today's world
Feb 30
March 32
the song "Yesterday"
run `date -d yesterday` here
0 days ago
1.5 years ago
"""


@pytest.mark.parametrize("text", NO_TIME.strip().splitlines())
def test_lookalikes_mean_no_time(text: str) -> None:
    assert read_time(text, NOWS["wednesday"], TOKYO) is None


SAID = {  # at the wednesday
    "3月に引っ越した": "2026-03-01..2026-04-01",
    "9月に引っ越す予定": "2026-09-01..2026-10-01",
    "9月に引っ越す": "2026-09-01..2026-10-01",
    "12月生まれ": "2026-12-01..2027-01-01",
    "昨日手術をした": "2026-07-14",
    "来月結婚する": "2026-08-01..2026-09-01",
    "金曜に歯医者": "2026-07-17",
    "月曜に歯医者": "2026-07-13",
    "水曜は燃えるゴミ": "2026-07-15",
    "金曜に歯医者へ行った": "2026-07-10",
    "My surgery is on July 20": "2026-07-20",
    "I went to Rome in September": "2025-09-01..2025-10-01",
    "My dentist appointment is on Friday": "2026-07-17",
    "I will visit him in 3 days": "2026-07-18",
    "I was born in 1990": "1990-01-01..1991-01-01",
    "猫が好き": "none",
    "I like cats": "none",
}


@pytest.mark.parametrize(("text", "expected"), SAID.items())
def test_a_statement_speaks_of_the_nearest_date_or_follows_its_tense(text: str, expected: str) -> None:
    assert shown(said_time(text, NOWS["wednesday"], TOKYO), TOKYO) == expected


PHRASES = {
    "ねえ、先週の金曜に話した店は？": "先週の金曜",
    "What did we say LAST Friday about it?": "LAST Friday",
    "３月以降の変更": "3月以降",
    "since March we run": "since March",
    "この前の店": "この前",
    "between 2020 and 2022": "2020 and 2022",
}


@pytest.mark.parametrize(("text", "phrase"), PHRASES.items())
def test_the_words_that_were_read_are_told(text: str, phrase: str) -> None:
    wish = read_time(text, NOWS["wednesday"], TOKYO)
    assert wish
    assert wish.phrase == phrase


@pytest.mark.parametrize("read", [read_time, said_time])
def test_a_time_without_a_zone_is_refused(read) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput):
        read("昨日", datetime(2026, 7, 15), TOKYO)  # noqa: DTZ001


def test_the_day_is_the_askers_own() -> None:
    moment = datetime(2026, 7, 15, 1, 0, tzinfo=UTC)  # still the 14th in New York
    assert shown(read_time("yesterday", moment, NEW_YORK), NEW_YORK) == "2026-07-13"
    assert shown(read_time("yesterday", moment, TOKYO), TOKYO) == "2026-07-14"


@pytest.mark.parametrize(("now", "length"), [("spring forward", 23), ("fall back", 25), ("nyc", 24)])
def test_a_day_is_as_long_as_the_clocks_make_it(now: str, length: int) -> None:
    wish = read_time("today", NOWS[now], NEW_YORK)
    assert wish
    assert wish.since
    assert wish.until
    assert wish.until - wish.since == timedelta(hours=length)
    assert wish.since.tzinfo is UTC


# ── promises for any text, any day ───────────────────────────────────────────────────────────────────

moments = st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
zones = st.sampled_from(
    ["Asia/Tokyo", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Europe/London"]
)
PIECES = sorted({text for _, text, _ in rows(JAPANESE) + rows(ENGLISH)}) + list(
    "0123456789年月日週前後のから~/.-「」\"'"
)
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=6).map("".join))


@examples(500)
@given(texts, moments, zones)
@example("明日今朝", NOWS["nyc"], "Asia/Tokyo")
@example("9999年前", NOWS["nyc"], "Asia/Tokyo")
@example("9999年後と9999週間前と9999 years ago", NOWS["nyc"], "Asia/Tokyo")
@example("10/0に、0/0に、32日に", NOWS["nyc"], "Asia/Tokyo")
@example("٣日前 ３⁄５ ㍻30年", NOWS["nyc"], "Asia/Tokyo")
@example("千百十日前 〇〇日前 十十日前", NOWS["nyc"], "Asia/Tokyo")
def test_any_text_is_read_without_failing_and_always_alike(text: str, now: datetime, zone: str) -> None:
    for read in (read_time, said_time):
        wish = read(text, now, ZoneInfo(zone))
        assert wish == read(text, now, ZoneInfo(zone))
        if wish and wish.since and wish.until:
            assert wish.since <= wish.until
        assert wish is None or wish.phrase


DAY_WORDS = {
    "昨日": -1,
    "今日": 0,
    "明日": 1,
    "一昨日": -2,
    "明後日": 2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
}


@given(st.sampled_from(sorted(DAY_WORDS)), moments, zones)
def test_a_day_word_is_one_local_day_whatever_the_clocks_do(word: str, now: datetime, zone: str) -> None:
    assert whole_day(read_time(word, now, ZoneInfo(zone)), ZoneInfo(zone)) == local_day(
        now, zone, DAY_WORDS[word]
    )


@given(st.integers(1, 400), moments, zones, st.sampled_from(["{}日前", "{} days ago", "{}日前に行った店"]))
def test_so_many_days_ago_is_that_local_day(count: int, now: datetime, zone: str, form: str) -> None:
    assert whole_day(read_time(form.format(count), now, ZoneInfo(zone)), ZoneInfo(zone)) == local_day(
        now, zone, -count
    )


def local_day(now: datetime, zone: str, offset: int) -> date:
    return now.astimezone(ZoneInfo(zone)).date() + timedelta(days=offset)


def whole_day(wish: TimeExpression | None, zone: ZoneInfo) -> date:
    """The day a window covers exactly: its first and last instant lie in it, their neighbours do not."""
    assert wish
    assert wish.since
    assert wish.until
    tick = timedelta(microseconds=1)
    inside = {edge.astimezone(zone).date() for edge in (wish.since, wish.until - tick)}
    outside = {edge.astimezone(zone).date() for edge in (wish.since - tick, wish.until)}
    assert len(inside) == 1
    assert not inside & outside
    return inside.pop()


KANJI = "〇一二三四五六七八九"


@given(st.integers(1, 400), moments)
def test_kanji_numerals_count_like_digits(count: int, now: datetime) -> None:
    hundreds, tens, ones = count // 100, count // 10 % 10, count % 10
    written = "".join((
        ("" if hundreds == 1 else KANJI[hundreds]) + "百" if hundreds else "",
        ("" if tens == 1 else KANJI[tens]) + "十" if tens else "",
        KANJI[ones] if ones else "",
    ))  # fmt: skip
    spoken, counted = (read_time(f"{number}日前", now, TOKYO) for number in (written, count))
    assert spoken
    assert counted
    assert (spoken.since, spoken.until) == (counted.since, counted.until)


HOSTILE = ["1" * 100_000, "一" * 100_000, "前の" * 50_000, "last " * 20_000, "「" * 100_000,
           "march 5 " * 12_500,
           " " * 100_000, "2026年" * 20_000, "3月5日から" * 16_000, "ﷺ" * 100_000, "年月日" * 33_000,
           "a few " * 16_000, "early mid late end of the " * 4_000]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:8])
def test_hostile_text_is_read_like_its_beginning(text: str) -> None:
    """A step that is not linear would never finish here."""
    assert read_time(text, NOWS["nyc"], TOKYO) == read_time(text[:2000], NOWS["nyc"], TOKYO)


def test_a_zone_may_be_a_plain_offset() -> None:
    zone = timezone(timedelta(hours=9))
    wish = read_time("昨日", NOWS["wednesday"], zone)
    assert wish
    assert wish.since == datetime(2026, 7, 13, 15, tzinfo=UTC)


# --- words that people use and that were missing ----------------------------------------------------

MISSING = {
    "wednesday": """
おとついの電話 = 2026-07-13
先おとといの件 = 2026-07-12
4/10 の会議 = 2026-04-10
4/10、何した？ = 2026-04-10
4/10って何を話した？ = 2026-04-10
4/10〜4/12の出張のこと = 2026-04-10..2026-04-13
お盆休みに行った宿 = 2025-08-08..2025-08-19
ゴールデンウィークの旅行 = 2026-04-29..2026-05-07
シルバーウィークに登った山 = 2025-09-19..2025-09-24
母の日に贈った花 = 2026-05-10
父の日のプレゼント = 2026-06-21
敬老の日に会った人 = 2025-09-15
文化の日の話 = 2025-11-03
節分に食べたもの = 2026-02-03
七五三の写真 = 2025-11-15
年度末の打ち合わせ = 2026-03-01..2026-04-01
年度初めに決めたこと = 2026-04-01..2026-04-15
上半期の目標 = 2026-04-01..2026-10-01
昨年度の下半期の数字 = 2025-10-01..2026-04-01
第2四半期の売上の話 = 2026-04-01..2026-07-01
前四半期の結果 = 2026-04-01..2026-07-01
今期の予算の話 = 2026-04-01..2027-04-01
週明けの打ち合わせで話したこと = 2026-07-13..2026-07-15
先週半ばの件 = 2026-07-08..2026-07-10
中旬に決めたこと = 2026-07-11..2026-07-21
今しがた言ったこと = 2026-07-14..2026-07-15T10 ? latest
このところの調子 = 2026-04-16..2026-07-15T10 ? latest
最新の見積もり = - ? latest
当時の担当者 = - ?
the night before last = 2026-07-13T18..2026-07-14T06
two weekends ago = 2026-07-04..2026-07-06
two sundays ago = 2026-07-05
a couple of Fridays ago = 2026-07-03
the second week of may = 2026-05-08..2026-05-15
in the last week of February 2025 = 2025-02-25..2025-03-01
梅雨のころ = 2026-06-05..2026-07-20
what we said in Q2 = 2026-04-01..2026-07-01
the third quarter of 2025 = 2025-07-01..2025-10-01
the results of last quarter = 2026-04-01..2026-07-01
in H1 2026 = 2026-01-01..2026-07-01
in the first half of the year = 2026-01-01..2026-07-01
our FY25 numbers = 2025-01-01..2026-01-01
what did I cook for Thanksgiving = 2025-11-27
at Easter we met = 2026-04-03..2026-04-07
on Labor Day = 2025-09-01
on Memorial Day we drove = 2026-05-25
what I bought on Black Friday = 2025-11-28
for Mother's Day I got = 2026-05-10
during the summer holidays of 2025 = 2025-07-01..2025-09-01
over the holidays = 2025-12-20..2026-01-03
a year ago today = 2025-07-15
on 10.4.2025 = 2025-04-10
our previous meeting = - ? latest
2025年第3四半期の売上 = 2025-07-01..2025-10-01
2025年度第3四半期の売上 = 2025-10-01..2026-01-01
2025年上半期の売上 = 2025-04-01..2025-10-01
2025年度下半期の売上 = 2025-10-01..2026-04-01
the talk we had fortnight ago = 2026-06-28..2026-07-05
""",
}


@pytest.mark.parametrize(("now", "text", "expected"), rows(MISSING))
def test_e17_every_time_word_that_people_use_is_read(now: str, text: str, expected: str) -> None:
    test_every_expression_means_its_window(now, text, expected)


@pytest.mark.parametrize(
    "text",
    [
        "前々回の会議",
        "前の前の会議",
        "the time before last",
        "our last but one meeting",
        "the meeting before last",
    ],
)
def test_e17_the_occasion_before_the_last_is_understood(text: str) -> None:
    found = read_time(text, NOWS["wednesday"], TOKYO)
    assert found is not None
    assert (found.before_last, found.latest) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "進捗は3/5です",
        "1/3以上の人",
        "確率は1/6です",
        "テストは3/5完了",
        "Q3 is a sports car",
        "待期間の話",
        "3/5人が賛成",
        "約3/5が残った",
        "割合の3/5を使う",
        "大学前期の話",
        "the first half of the match",
    ],
)
def test_e17_lookalikes_of_these_words_mean_no_time(text: str) -> None:
    assert read_time(text, NOWS["wednesday"], TOKYO) is None


@pytest.mark.parametrize(
    "text", ["比は1/3に決めた", "割合を1/4にした", "学期の前期に取った科目", "大学の前期の成績"]
)
def test_shares_and_school_terms_name_no_date(text: str) -> None:
    assert read_time(text, datetime(2026, 6, 1, tzinfo=UTC), UTC) is None
