"""Names of knowledge bases, and sources in one line."""

import pytest

from nagori.core.knowledge_base import KnowledgePassage, is_knowledge, knowledge_scope
from nagori.errors import InvalidInput


def test_a_knowledge_base_is_an_owner_of_its_own() -> None:
    assert knowledge_scope("t", "手引き.v2").owner == ("t", "kb:手引き.v2")
    assert is_knowledge(("t", "kb:手引き.v2"))
    assert not is_knowledge(("t", "me"))


@pytest.mark.parametrize("name", ["", "a/b", "a b", None, "x" * 65])
def test_other_names_are_refused(name: object) -> None:
    with pytest.raises(InvalidInput):
        knowledge_scope("t", name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("page", "heading", "source"),
    [(None, "", "b: d.md"), (3, "", "b: d.md, p. 3"), (None, "A › B", "b: d.md, A › B")],
)
def test_a_source_is_one_line(page: int | None, heading: str, source: str) -> None:
    assert KnowledgePassage("b", "d.md", 1, heading, page, "text", 1.0, 1.0).source == source
