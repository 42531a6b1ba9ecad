"""Plain values behave like frozen dataclasses, with better manners at start-up."""

# mypy: disable-error-code="call-arg"
# Because wrong calls are what is tested.

import pytest

from nagori.core.value_object import (
    Value,
    build_unchecked,
    default_factory,
    fields_of,
    replace,
    split_batches,
)


class Point(Value, order=True):
    x: int
    y: int = 0


class Labelled(Point):
    label: str = "here"


class Bag(Value, frozen=False):
    things: list[str] = default_factory(list)


class Positive(Value):
    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(self.n)


def test_fields_come_by_place_by_name_and_by_default() -> None:
    assert Point(1) == Point(1, 0) == Point(y=0, x=1)
    assert Labelled(1, label="there") == Labelled(1, 0, "there")
    assert fields_of(Labelled) == ("x", "y", "label")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Point(), "missing 1 required arguments: 'x'"),
        (lambda: Point(y=2), "missing 1 required arguments: 'x'"),
        (lambda: Point(1, 2, 3), "takes 2 positional arguments but 3 were given"),
        (lambda: Point(1, z=3), "unexpected keyword argument 'z'"),
        (lambda: replace(Point(1), z=3), "unexpected keyword argument 'z'"),
    ],
)
def test_a_wrong_call_is_told_in_pythons_words(call: object, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call()  # type: ignore[operator]


def test_values_are_equal_and_alike_by_their_fields_and_class() -> None:
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1, 2) != Point(2, 1)
    assert Point(1, 0) != Labelled(1, 0)
    assert Point(1) != (1, 0)
    assert repr(Point(1)) == "Point(x=1, y=0)"
    assert Point(1, 5) < Point(2, 0)
    assert tuple(Point(3, 4)) == (3, 4)


def test_a_value_is_frozen_unless_it_says_otherwise() -> None:
    with pytest.raises(AttributeError, match="frozen"):
        Point(1).x = 2  # type: ignore[misc]
    bag = Bag()
    bag.things = ["x"]
    assert bag.things == ["x"]


def test_a_fresh_default_is_every_values_own() -> None:
    Bag().things.append("x")
    assert Bag().things == []


def test_a_replaced_value_is_checked_like_a_new_one() -> None:
    assert replace(Point(1), y=5) == Point(1, 5)
    with pytest.raises(ValueError, match="-1"):
        replace(Positive(1), n=-1)


def test_a_value_made_of_its_fields_is_not_checked_again() -> None:
    assert build_unchecked(Point, {"x": 1, "y": 5}) == Point(1, 5)
    assert build_unchecked(Positive, {"n": -1}).n == -1


def test_things_come_in_batches() -> None:
    assert list(split_batches(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(split_batches([], 2)) == []
