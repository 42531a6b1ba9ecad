"""What a text says of earlier ones: taken back, carried on, mentioned, or nothing."""

import pytest

from nagori.core.model import RelationType
from nagori.language.lexicon import speaks_of

SAID = {
    RelationType.CONTINUES: """
        Continuing from yesterday: the parser now reads comments.
        Picking up where we stopped, the second shelf is painted.
        A follow-up on the heating: the plumber comes on Monday.
        Where were we? I had just bought the seeds.
        Back to the login bug: it was the cookie.
        To return to our plan, we take the early train.
        昨日の続きです。棚の塗装が終わりました。
        前回から引き続き、庭の話をします。
        続報です。配管工は月曜日に来ます。
        話を戻すと、来月の旅行は京都にする。
        この前の続きだけど、種を買った。
    """,
    RelationType.REFERENCES: """
        As I mentioned, the boiler is older than the house.
        The roof we talked about is leaking again.
        I told you about my knee last week; it is better.
        Remember when we hiked along the coast?
        Regarding the invoice, I paid it.
        That violin teacher you told me about has a free hour.
        前に話した犬が元気になった。
        先日お伝えした見積もりが届きました。
        例の契約だけど、延びそうだ。
        見積もりの件ですが、返事が来ました。
        さっき言った店は駅の裏にある。
    """,
    RelationType.CONTRADICTS: """
        Correction: the train leaves at nine.
        訂正します。電車は九時です。
    """,
    None: """
        I like tea in the morning.
        We went back to the hotel after dinner.
        She kept the receipt before she left.
        He said "as I mentioned, it is closed" and hung up.
        The film was a sequel nobody wanted.
        I recall nothing of that evening.
        お茶が好きです。
        続きを読む時間がない。
        その件は終わりました。
        この件は来週にしよう。
        彼は「前に話した通り」と書いた。
        雨が続いています。
    """,
}
CASES = [(line.strip(), tie) for tie, lines in SAID.items() for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("text", "tie"), CASES)
def test_what_a_text_speaks_of(text: str, tie: RelationType | None) -> None:
    assert speaks_of(text) is tie
