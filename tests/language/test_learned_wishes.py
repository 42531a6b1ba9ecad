"""Wishes that no rule knows, by what was learned from examples."""

from struct import pack

import pytest
from tests.language.test_wishes import CASES

from nagori.language.learned_wishes import KINDS, decide_wish, understand_wish, wish_model
from nagori.language.speech_acts import NO_WISH, WishKind, classify_wish

MODEL = "multilingual-e5-small-q4"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tuck this away for next time: the key hangs behind the blue door", WishKind.KEEP),
        ("pls hang on to this one, the plumber only answers texts", WishKind.KEEP),
        ("これ控えといて。管理人さんの電話は午後しかつながらない", WishKind.KEEP),
        ("今後もずっとそのつもりでいてね、朝は電話に出られない", WishKind.KEEP),
        ("dont hold on to any of this, im only thinking out loud about the move", WishKind.NOT_KEEP),
        ("just venting so nothing here should go in your notes, the neighbours again", WishKind.NOT_KEEP),
        ("ここからはメモらなくていいんだけど、隣の家がうるさくて", WishKind.NOT_KEEP),
        ("the allotment thing i told you about, get rid of it, we gave the plot back", WishKind.FORGET),
        ("you can let go of what i said about the choir", WishKind.FORGET),
        ("前に話した合唱団のこと、もう記憶から外しといて", WishKind.FORGET),
        ("引っ越しの件、覚えてるなら捨てちゃって", WishKind.FORGET),
        ("please get rid of the old branch once the tests are green", WishKind.NONE),
        ("hang on, the kettle is boiling", WishKind.NONE),
        ("thanks, your support means a lot, I'll keep going!", WishKind.NONE),
        ("領収書は捨てないで箱に入れてある", WishKind.NONE),
        ("We talked about wiping everything from the memory of your old phone.", WishKind.NONE),
        ("前に頼んだ写真を記憶から消す話をした。", WishKind.NONE),
    ],
)
def test_a_wish_in_other_words_is_understood(text: str, kind: WishKind) -> None:
    assert understand_wish(text).kind is kind


def test_what_the_rules_know_stays_known() -> None:
    different = [(text, kind) for text, kind in CASES if understand_wish(text).kind is not kind]
    assert len(different) <= 0.02 * len(CASES), different


def test_a_wish_to_forget_names_what_is_not_part_of_the_wish() -> None:
    text = "the allotment thing i told you about, get rid of it, we gave the plot back"
    assert classify_wish(text) == NO_WISH
    wish = understand_wish(text)
    assert wish.learned
    assert "allot" in wish.matter
    assert "rid" not in wish.matter.split()


def test_only_what_may_be_a_wish_is_embedded() -> None:
    asked: list[str] = []

    def embed(text: str) -> tuple[str, bytes]:
        asked.append(text)
        return MODEL, bytes(4 * 384)

    assert understand_wish("The build takes nine minutes on the old runner.", embed) == NO_WISH
    assert understand_wish("```\nsave it\n```", embed) == NO_WISH
    assert understand_wish("  ", embed) == NO_WISH
    assert asked == []
    understand_wish("tuck this away for next time: the key hangs behind the blue door", embed)
    assert len(asked) == 1


def test_the_vector_counts_if_it_is_of_the_model_that_was_learned_from() -> None:
    text = "tuck this away for next time: the key hangs behind the blue door"
    against = [-weight for weight in wish_model().vector[KINDS.index(WishKind.KEEP)]]
    length = sum(number * number for number in against) ** 0.5
    vector = pack("<384f", *(3 * number / length for number in against))
    assert understand_wish(text, lambda _: (MODEL, vector)) == NO_WISH
    for model, data in (("another", vector), (MODEL, vector[:8]), (None, None)):
        assert understand_wish(text, lambda _, found=(model, data): found).kind is WishKind.KEEP  # type: ignore[misc]


def test_what_a_rule_says_stands() -> None:
    nothing = [-weight for weight in wish_model().vector[KINDS.index(WishKind.KEEP)]]
    vector = pack("<384f", *nothing)
    text = "Remember this: the key hangs behind the blue door."
    assert understand_wish(text, lambda _: (MODEL, vector)) == classify_wish(text)


def test_a_rule_may_mistake_what_was_told_for_what_is_told() -> None:
    shares = {WishKind.KEEP: 0.0, WishKind.NOT_KEEP: 0.1, WishKind.FORGET: 0.9}
    assert decide_wish(WishKind.NOT_KEEP, shares, shares) is WishKind.FORGET
    assert decide_wish(WishKind.KEEP, shares, shares) is WishKind.KEEP
    assert decide_wish(WishKind.NONE, shares, {**shares, WishKind.FORGET: 0.5}) is WishKind.NONE
    assert decide_wish(WishKind.NONE, {**shares, WishKind.FORGET: 0.1}, shares) is WishKind.NONE


def test_what_is_private_is_never_anything_else() -> None:
    text = "<private>tuck this away for next time: the key hangs behind the blue door</private>"
    assert understand_wish(text).kind is WishKind.NOT_KEEP


def test_a_wish_stands_at_either_end_of_a_long_text() -> None:
    paste = "\n".join(f"line {number} of the log" for number in range(500))
    assert understand_wish(f"{paste}\ntuck this away for next time pls").kind is WishKind.KEEP
