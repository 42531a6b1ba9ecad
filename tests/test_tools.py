"""The checks of the project itself: names, marks, releases, workflow files."""

from pathlib import Path

import pytest
from tools import commits, names, release, workflows

# ── names ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    ["told", "_told", "kept", "_Found", "Asked", "waiting", "taken", "told_of", "_said_again", "left_out"],
)
def test_a_participle_alone_is_bare(name: str) -> None:
    assert names.is_bare_participle(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "is_known",
            "was_told",
            "recorded_turns",
            "split_passages",
            "embed",
            "token",
            "open",
            "when",
            "read",
        ),
        *("string", "Rung", "shorten", "strengthen", "__missing__", "put", "HTTPServer", "as_told", "x1"),
    ],
)
def test_a_verb_or_a_noun_makes_a_name(name: str) -> None:
    assert not names.is_bare_participle(name)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small source tree with one fault of each kind, and its docs."""
    source = tmp_path / "src" / "nagori"
    for path, text in {
        "core/model.py": '"""Nouns [E6]."""\nclass Turn: ...\ndef told(): ...\ndef decide(): ...\n',
        "edges/chart.py": f'"""Ruled in docs/design/{"gone"}.md."""\nclass Turn: ...\ndef told(): ...\n',
        "../../tests/test_chart.py": f'"""As in 00{3} §4."""\n',
        "app.py": '"""See [ruling 27] and [rulings 27 and 31]."""\n',
    }.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text, encoding="utf-8")
    (tmp_path / "docs" / "design").mkdir(parents=True)
    page = "# Rulings\n\n## Ruling 27: who sees what\n\n## C1 The window\n"
    (tmp_path / "docs" / "design" / "rulings.md").write_text(page, encoding="utf-8")
    return tmp_path


def found_in(tree: Path, allowed: str = "") -> list[tuple[str, str]]:
    listed = tree / "allowed.tsv"
    listed.write_text(allowed, encoding="utf-8")
    faults = names.faults(tree / "src" / "nagori", tree / "docs", listed, [tree / "tests"])
    return [(fault.rule, fault.where.removeprefix("src/nagori/")) for fault in faults]


def test_every_fault_is_found_where_it_is(tree: Path) -> None:
    assert found_in(tree) == [
        ("class", "core/model.py:2"),
        ("participle", "core/model.py:3"),  # in edges a participle is not looked for
        ("mark", "app.py:1"),  # ruling 31, nobody explains it
        ("mark", "core/model.py:1"),
        ("mark", "edges/chart.py:1"),
        ("mark", "tests/test_chart.py:1"),
    ]


def test_an_exception_needs_a_reason_and_a_use(tree: Path) -> None:
    assert ("participle", "core/model.py:3") not in found_in(
        tree, "told\tcore/model.py\tthe name of an event\n"
    )
    assert ("participle", "core/model.py:3") in found_in(tree, "told\tcore/other.py\tthe name of an event\n")
    assert ("participle", "tools/names_allowed.tsv") in found_in(tree, "kept\t*\tthe name of an event\n")
    with pytest.raises(SystemExit, match="a reason"):
        found_in(tree, "told\t*\n")


def test_one_mark_may_name_several_things() -> None:
    assert names.labels_of("E6, ruling 37") == ["e6", "ruling 37"]
    assert names.labels_of("rulings 27 and 31") == ["ruling 27", "ruling 31"]
    assert names.labels_of("C2, section 4") == ["c2"]


def test_a_report_counts_and_fails_for_strict_rules_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names.main(["--report"]) == 0
    assert "class names defined more than once" in capsys.readouterr().out
    monkeypatch.setattr(names, "faults", lambda: [names.Fault("mark", "app.py:1", "E99 is lost")])
    assert names.main(["--report"]) == 1
    assert "app.py:1: E99 is lost" in capsys.readouterr().out


# ── releases ─────────────────────────────────────────────────────────────────────────────────────

READY = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-03-01\n\n### Added\n\n- All of it.\n"


def test_a_release_needs_its_tag_its_version_and_its_section() -> None:
    assert list(release.find_faults("v1.2.0", "1.2.0", READY)) == []
    assert len(list(release.find_faults("v1.3.0", "1.2.0", READY))) == 1
    assert len(list(release.find_faults("v1.3.0", "1.3.0", READY))) == 1
    waiting = READY.replace("[Unreleased]\n", "[Unreleased]\n\n- More.\n")
    assert len(list(release.find_faults("v1.2.0", "1.2.0", waiting))) == 1
    empty = READY.partition("### Added")[0]
    assert len(list(release.find_faults("v1.2.0", "1.2.0", empty))) == 1


def test_the_version_is_read_without_importing_the_package() -> None:
    import nagori

    assert release.read_version() == nagori.__version__


# ── workflow files ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", workflows.find_files(), ids=lambda path: path.name)
def test_a_workflow_pins_its_actions_and_holds_no_secret(path: Path) -> None:
    assert list(workflows.find_faults(path)) == []


@pytest.mark.parametrize(
    "line",
    [
        "      - uses: actions/checkout",
        "      - uses: actions/checkout@main",
        "      - uses: pypa/gh-action-pypi-publish@release/v1",
        "          password: ${{ secrets.TOKEN }}",
        "          repository-url: https://packages.example/legacy/",
        "      - run: pip install --index-url https://packages.example/simple x",
    ],
)
def test_a_loose_pin_a_secret_or_an_address_is_a_fault(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.yml"
    path.write_text(f"permissions:\n  contents: read\n{line}\n", encoding="utf-8")
    assert len(list(workflows.find_faults(path))) == 1


def test_actionlint_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code = workflows.run_actionlint(workflows.find_files())
    if code is None:
        pytest.skip(workflows.MISSING)
    assert code == 0, capsys.readouterr().out


# ── commits ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("message", "faults"),
    [
        ("stores: refuse a newer schema\n\nAn old program would read it wrongly.\n# comment\n", 0),
        ("tests, docs: say what is slow", 0),
        ("Merge branch 'stores'", 0),
        ("Refuse a newer schema", 1),
        ("stores: refuse a newer schema.", 1),
        ("stores: refuse a newer schema\nwithout an empty line", 1),
        ("stores: " + "x" * 100, 1),
        ("", 1),
    ],
)
def test_a_commit_message_names_its_area_and_what_changes(message: str, faults: int) -> None:
    assert len(list(commits.find_faults(message))) == faults
