"""Clauses that only ask to keep the rest of a text."""

import pytest

from nagori.language.requests_to_keep import without_plea


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("No sesame for Ida. don't forget that one please", "No sesame for Ida."),
        (
            "ok so remember this please, it matters: the boiler is under the stairs",
            "the boiler is under the stairs",
        ),
        ("the gate sticks, please remember it", "the gate sticks,"),
        ("鍵は植木鉢の下。これ絶対忘れないでほしい", "鍵は植木鉢の下。"),
        ("これは覚えといてほしいんだけど、鍵は植木鉢の下", "鍵は植木鉢の下"),
        ("remember that the gate sticks", "remember that the gate sticks"),
        ("don't forget this", "don't forget this"),
        ("鍵の場所を覚えといて", "鍵の場所を覚えといて"),
    ],
)
def test_a_clause_that_only_points_at_the_rest_is_left_out(text: str, left: str) -> None:
    assert without_plea(text) == left
