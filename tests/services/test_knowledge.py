"""Knowledge bases [T9]: documents in passages, with versions and sources, replaced without a gap."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nagori import Nagori, Scope
from nagori.config import Config
from nagori.core.knowledge_base import Document, Section
from nagori.errors import InvalidInput
from nagori.services import knowledge_base
from nagori.testing import FrozenClock, WordEmbedder

GUIDE = """Before the first heading.

# Network

The router listens on port 8443.

## Cables

Use blue cables in the cellar.

```text
# no heading
```

# Kitchen

The kettle is descaled in May.
"""
PAGE = """<html><head><title>T</title><style>p {}</style></head><body><nav>menu</nav>
<h1>Heating</h1><p>The boiler is <b>checked</b> in autumn.</p><script>alert("x")</script>
<h3>Filters</h3><ul><li>Filter one</li><li>Filter two</li></ul></body></html>"""


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    with Nagori.open(
        tmp_path / "data", clock=clock, config=Config(), embedder=WordEmbedder(), llm=None
    ) as memory:
        yield memory


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "guide.md").write_text(GUIDE)
    (folder / "sub" / "page.html").write_text(PAGE)
    (folder / "notes.txt").write_text("裏口の鍵は植木鉢の下にあります。", encoding="cp932")
    (folder / ".hidden.md").write_text("# secret")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def words_on_disk(folder: Path, words: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def test_t9_documents_are_found_with_their_sources(memory: Nagori, docs: Path) -> None:
    report = memory.add_knowledge(docs, kb="manuals")
    assert report.added == ("guide.md", "notes.txt", "sub/page.html")
    [first, *_] = memory.search_knowledge("Which cables are in the cellar?", kb="manuals")
    assert first.source == "manuals: guide.md, Network › Cables"
    assert "# no heading" in first.text
    [boiler, *_] = memory.search_knowledge("When is the boiler checked?")
    assert (boiler.document, boiler.heading, boiler.version) == ("sub/page.html", "Heating", 1)
    assert "alert" not in boiler.text
    assert "menu" not in boiler.text
    [filters, *_] = memory.search_knowledge("Filter two")
    assert (filters.heading, filters.text) == ("Heating › Filters", "Filter one\nFilter two")
    [key, *_] = memory.search_knowledge("裏口の鍵はどこ？", kb="manuals")
    assert key.document == "notes.txt"


def test_t9_pages_of_a_pdf_are_named(memory: Nagori, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed: no PDF is read")
    writer = pypdf.PdfWriter()
    for text in ("The pump is green.", "", "The valve is red."):
        writer.add_page(_page(pypdf, text))
    writer.write(tmp_path / "plant.pdf")
    assert memory.add_knowledge(tmp_path / "plant.pdf", kb="plant").added == ("plant.pdf",)
    [first, *_] = memory.search_knowledge("What colour is the valve?")
    assert first.source == "plant: plant.pdf, p. 3"
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    [(name, reason)] = memory.add_knowledge(tmp_path / "broken.pdf", kb="plant").failed
    assert name == "broken.pdf"
    assert reason


def _page(pypdf: object, text: str) -> object:
    """A page with one line of text, as PDF draws it."""
    from pypdf import PageObject
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    page = PageObject.create_blank_page(width=300, height=300)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    fonts = DictionaryObject({NameObject("/F1"): font})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = DecodedStreamObject()
    stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
    page[NameObject("/Contents")] = stream
    return page


def test_t9_only_what_changed_is_read_again_and_gets_a_new_version(
    memory: Nagori, docs: Path, clock: FrozenClock
) -> None:
    memory.add_knowledge(docs, kb="manuals")
    before = memory.runtime.journal.last_seq(("local", "kb:manuals"))
    report = memory.add_knowledge(docs, kb="manuals")
    assert (report.added, report.replaced) == ((), ())
    assert memory.runtime.journal.last_seq(("local", "kb:manuals")) == before
    clock.forward(days=1)
    (docs / "guide.md").write_text(GUIDE.replace("8443", "9443"))
    report = memory.add_knowledge(docs, kb="manuals")
    assert (report.added, report.replaced) == ((), ("guide.md",))
    versions = {info.name: info.version for info in memory.list_knowledge(kb="manuals")}
    assert versions == {"guide.md": 2, "notes.txt": 1, "sub/page.html": 1}
    found = memory.search_knowledge("router port", kb="manuals", k=20)
    assert [each.version for each in found if "port 9443" in each.text] == [2]
    assert not [each for each in found if "port 8443" in each.text]
    clock.forward(days=1)
    (docs / "guide.md").write_text(GUIDE)  # the first version again
    assert memory.add_knowledge(docs, kb="manuals").replaced == ("guide.md",)
    assert "port 8443" in memory.search_knowledge("router port", kb="manuals")[0].text


def test_words_of_former_versions_leave_every_file(
    memory: Nagori, docs: Path, clock: FrozenClock, tmp_path: Path
) -> None:
    (docs / "guide.md").write_text(GUIDE + "\nThe zanzibar valve is shut.\n")
    memory.add_knowledge(docs, kb="manuals")
    assert words_on_disk(tmp_path / "data", "zanzibar")
    clock.forward(days=1)
    (docs / "guide.md").write_text(GUIDE)
    memory.add_knowledge(docs, kb="manuals")
    assert words_on_disk(tmp_path / "data", "zanzibar") == []


def test_a_removed_document_is_gone_with_its_words(memory: Nagori, docs: Path, tmp_path: Path) -> None:
    memory.add_knowledge(docs, kb="manuals")
    gone = memory.remove_knowledge("guide.md", kb="manuals")
    assert (gone.name, gone.version) == ("guide.md", 1)
    assert [info.name for info in memory.list_knowledge()] == ["notes.txt", "sub/page.html"]
    assert words_on_disk(tmp_path / "data", "descaled") == []
    with pytest.raises(InvalidInput):
        memory.remove_knowledge("guide.md", kb="manuals")


def test_a_whole_base_is_erased_like_any_owner(memory: Nagori, docs: Path, tmp_path: Path) -> None:
    memory.remember("The cat is called Miu.")
    memory.add_knowledge(docs, kb="manuals")
    base = memory.with_scope(Scope(user="kb:manuals"))
    base.erase(base.plan_erasure(everything=True))
    assert words_on_disk(tmp_path / "data", "descaled") == []
    assert words_on_disk(tmp_path / "data", "guide.md") == []
    assert memory.recall("Miu")


def test_no_cycle_visits_a_knowledge_base(memory: Nagori, docs: Path, clock: FrozenClock) -> None:
    memory.add_knowledge(docs, kb="manuals")
    clock.forward(days=4000)
    assert ("local", "kb:manuals") not in memory.cycle_all(confirmed=True)
    base = memory.with_scope(Scope(user="kb:manuals"))
    base.cycle()
    assert {each.level for each in base.list()} == {1}
    assert memory.search_knowledge("kettle")


def test_documents_are_no_reason_to_warn_of_the_capacity(tmp_path: Path, docs: Path) -> None:
    config = Config().evolve({"capacity.limit": 2})
    with Nagori.open(tmp_path / "data", config=config, embedder=None, llm=None) as memory:
        memory.add_knowledge(docs, kb="manuals")
        assert [
            each.state for each in memory.doctor() if each.name == "capacity" and each.state != "ok"
        ] == []


def test_bases_and_memories_are_kept_apart(memory: Nagori, docs: Path) -> None:
    memory.add_knowledge(docs / "guide.md", kb="one")
    memory.add_knowledge(docs / "sub", kb="two")
    assert memory.recall("kettle descaled", mark=False) == []
    assert {each.base for each in memory.search_knowledge("boiler", kb="one")} <= {"one"}
    assert memory.search_knowledge("When is the boiler checked?")[0].base == "two"
    other = memory.with_scope(tenant="elsewhere")
    assert other.list_knowledge() == []
    assert other.search_knowledge("kettle") == []


def test_secrets_are_not_kept(memory: Nagori, tmp_path: Path) -> None:
    (tmp_path / "setup.md").write_text("# Keys\n\nThe key is ghp_" + "a1B2" * 9 + " today.\n")
    memory.add_knowledge(tmp_path / "setup.md", kb="manuals")
    assert "ghp_a1B2" not in memory.search_knowledge("key")[0].text


@pytest.mark.parametrize("name", ["", "a/b", "a b", "x" * 65, "..\0"])
def test_a_name_that_is_none_is_refused(memory: Nagori, docs: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        memory.add_knowledge(docs, kb=name)


def test_faulty_files_are_reported_and_stop_no_other(
    memory: Nagori, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "empty.md").write_text("# Only a heading\n")
    (docs / "large.txt").write_text("x" * 5_000)
    monkeypatch.setattr("nagori.adapters.documents.LARGEST_FILE", 4_000)
    report = memory.add_knowledge(docs, kb="manuals")
    assert [name for name, _ in report.failed] == ["empty.md", "large.txt"]
    assert "guide.md" in report.added
    with pytest.raises(InvalidInput):
        memory.add_knowledge(docs / "nothing.md", kb="manuals")
    assert memory.add_knowledge(docs / "picture.png", kb="manuals").failed


def test_a_link_out_of_the_folder_is_not_followed(memory: Nagori, docs: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("# Outside\n\nNot yours.\n")
    (docs / "inside.md").symlink_to(tmp_path / "outside.md")
    assert "inside.md" not in memory.add_knowledge(docs, kb="manuals").added


def version(number: int) -> Document:
    sections = tuple(
        Section(f"Part {n}", f"The turbine number {n} runs at speed {number}.") for n in range(5)
    )
    return Document("turbine.md", f"digest {number}", sections)


def test_t9_a_query_sees_one_version_and_never_none_while_documents_are_replaced(
    memory: Nagori, clock: FrozenClock
) -> None:
    runtime, done, faults = memory.runtime, threading.Event(), list[str]()
    knowledge_base.add_document(runtime, "local", "plant", version(0))

    def ask() -> None:
        while not done.is_set():
            found = memory.search_knowledge("turbine speed", kb="plant", k=20)
            speeds = {each.text.rsplit(" ", 1)[1] for each in found}
            if len(speeds) != 1 or len(found) != 5 or len({each.version for each in found}) != 1:
                faults.append(f"{speeds}, {len(found)} passages")

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    try:
        for number in range(1, 16):
            clock.forward(seconds=1)
            knowledge_base.add_document(runtime, "local", "plant", version(number))
    finally:
        done.set()
        for asker in askers:
            asker.join()
    assert faults == []
    assert memory.search_knowledge("turbine speed", kb="plant")[0].version == 16


def test_the_same_version_twice_at_once_is_added_once(memory: Nagori) -> None:
    results = list[object]()

    def add() -> None:
        results.append(knowledge_base.add_document(memory.runtime, "local", "plant", version(1)))

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(result is not None for result in results) == 1
    assert len(memory.search_knowledge("turbine", kb="plant", k=20)) == 5
