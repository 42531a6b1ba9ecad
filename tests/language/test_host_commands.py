"""Slash commands of a host: what is nothing to remember, and what is work."""

import pytest

from nagori.language.host_commands import BUILT_IN, is_built_in


@pytest.mark.parametrize("words", ["/clear", "  /model opus", "/compact\nkeep the plan", "/exit "])
def test_a_command_of_the_host_is_known_with_and_without_arguments(words: str) -> None:
    assert is_built_in(words)


@pytest.mark.parametrize(
    "words",
    ["/deploy staging", "/clearance", "/", "clear", "please run /clear", "/usr/bin/env", "/Clear", "", "  "],
)
def test_a_command_of_ones_own_and_a_plain_sentence_are_not_of_the_host(words: str) -> None:
    assert not is_built_in(words)


def test_each_command_is_listed_with_one_slash() -> None:
    assert all(command.rfind("/") == 0 and is_built_in(command) for command in BUILT_IN)
