"""Reading what others wrote: transcripts of Claude Code, notes, the exports of other memories."""

# mypy: disable-error-code="attr-defined,name-defined,var-annotated"
# Because parts of a module or an engine are looked into; empty lists are filled later.

import json
import os
import sqlite3
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.core.model import Kind, Trust
from nagori.edges.cli import main
from nagori.edges.hooks.handlers import project_of
from nagori.edges.importers import claude_code, claude_mem, markdown, mem0
from nagori.edges.importers.fields import moment
from nagori.errors import Notice

GOLDEN = Path(__file__).parent / "fixtures" / "claude-code-golden.jsonl"
SESSION = "0d9c2a61-6f5e-4c1b-9a55-3f1f6f0f7a01"
AT = "2026-04-02T09:{:02d}:00.500+00:00"

Run = Callable[..., dict[str, object]]


def line(type: str, text: object, uuid: str | None = None, **more: object) -> str:
    item = {"type": type, "message": {"role": type, "content": text}, "sessionId": "s1", **more}
    return json.dumps(item | ({"uuid": uuid} if uuid else {}))


def written(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def said(path: Path, **more: object) -> list[str]:
    return [turn.text for turn in claude_code.read(path, **more)]  # type: ignore[arg-type]


# ── a transcript ─────────────────────────────────────────────────────────────────────────────────────


def test_the_golden_transcript_is_heard_as_two_people_would_have_heard_it() -> None:
    skipped = claude_code.SkippedLines()
    heard = list(claude_code.read(GOLDEN, skipped=skipped))
    assert [(t.role.value, t.text, t.at.isoformat(timespec="milliseconds")) for t in heard] == [
        ("user", "The kettle in the workshop is green.", AT.format(1)),
        (
            "assistant",
            "I will look at it.\n\nIt holds two litres.\n\nお湯は九十度です。",
            AT.format(3),
        ),
        ("user", "/fixit 42", AT.format(21)),
        ("assistant", "Number 42 is fixed.", AT.format(23)),
        ("user", "/srv/app/main.py crashes at night", AT.format(24)),
        ("user", "Which port does the heron use?", AT.format(25)),
        ("assistant", "Port 8443.", AT.format(26)),
        ("user", "No time was written here.", AT.format(27)),
        ("user", "half an emoji \ufffd and a zero  are no trouble", "2026-04-02T10:00:00.000+00:00"),
    ]
    assert [turn.index for turn in heard] == list(range(9))
    assert {turn.session for turn in heard} == {SESSION}
    assert heard[1].uri == f"claude-code:{SESSION}#00000000-0000-4000-8000-000000000003"
    assert {turn.speaker for turn in heard} == {None}
    assert (skipped.damaged, skipped.giant) == (6, 0)  # three non-objects, bad UTF-8, zeros, a torn end


def test_nothing_but_words_comes_through() -> None:
    whole = "\n".join(said(GOLDEN))
    loud = GOLDEN.read_bytes().decode("utf-8", "replace")
    for word in (
        *("THINKING", "TOOLUSE", "TOOLRESULT", "SYSTEM", "META", "SIDE", "RECAP", "SYNTHETIC", "APIERROR"),
        *("STDOUT", "BASH", "EXPANDED", "REMINDER", "MEMORY", "IMAGE", "UNKNOWN", "INVALID", "TORN"),
        *("interrupted", "/clear", "/cost"),
    ):
        assert word in loud
        assert word not in whole


def test_reading_can_go_on_where_it_stopped() -> None:
    heard = list(claude_code.read(GOLDEN))
    assert list(claude_code.read(GOLDEN, start=4)) == heard[4:]
    assert list(claude_code.read(GOLDEN, start=99)) == []


def test_a_transcript_says_itself_where_it_comes_from(tmp_path: Path) -> None:
    told = claude_code.about(GOLDEN)
    assert (told.session, told.cwd, told.size) == (SESSION, "/home/mio/kettle", GOLDEN.stat().st_size)
    assert told.first == datetime(2026, 4, 2, 9, tzinfo=UTC)
    silent = written(tmp_path / "abc.jsonl", "nonsense")
    told = claude_code.about(silent)
    assert (told.session, told.cwd, told.first) == ("abc", None, told.last)


def test_a_time_that_is_missing_is_that_of_the_line_before_or_of_the_file(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        line("user", "no time yet"),
        json.dumps({"type": "mode", "timestamp": "2026-05-01T12:00:00+09:00"}),
        line("user", "after a line with a time"),
        line("user", "a time that is none", timestamp="9999-99-99"),
        line("user", "a time before there were computers", timestamp="0001-01-01T00:00:00+14:00"),
    )
    os.utime(path, (1_700_000_000, 1_700_000_000))
    three = datetime(2026, 5, 1, 3, tzinfo=UTC)
    times = [turn.at for turn in claude_code.read(path)]
    assert times == [datetime.fromtimestamp(1_700_000_000, UTC), three, three, three]


@pytest.mark.parametrize(
    ("typed", "heard"),
    [
        ("<command-name>/deploy</command-name>", ["/deploy"]),
        ("<command-name>tools:lint</command-name>\n<command-args>src  </command-args>", ["/tools:lint src"]),
        ("<command-name>/model</command-name><command-args>big</command-args>", []),
        ("/help", []),
        ("/status returns 500 since noon", ["/status returns 500 since noon"]),
        ("/etc/hosts", ["/etc/hosts"]),
        ("what does <command-name> mean?", ["what does <command-name> mean?"]),
        ("an open <system-reminder> stays", ["an open <system-reminder> stays"]),
        ("a <private>quiet</private> word", ["a word"]),
        ("[Request interrupted by user] it says", ["[Request interrupted by user] it says"]),
        ("<ide_opened_file>The user opened x.py</ide_opened_file>", []),
        ("\u200b", []),
    ],
)  # fmt: skip
def test_commands_of_the_program_are_skipped_and_all_else_is_kept(
    typed: str, heard: list[str], tmp_path: Path
) -> None:
    assert said(written(tmp_path / "a.jsonl", line("user", typed))) == heard


def test_an_answer_without_end_goes_on_as_another_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_code, "LONGEST_TURN", 10)
    path = written(tmp_path / "a.jsonl", *(line("assistant", f"part {n}") for n in range(3)))
    assert said(path) == ["part 0", "part 1", "part 2"]


def test_a_line_that_is_repeated_is_heard_once_however_long_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_code, "REMEMBERED", 10)
    lines = [line("user", f"turn {n}", f"u{n}") for n in range(15)]
    assert said(written(tmp_path / "a.jsonl", *lines, *lines[-10:])) == [f"turn {n}" for n in range(15)]
    assert said(written(tmp_path / "b.jsonl", line("user", "yes"), line("user", "yes"))) == ["yes", "yes"]


# ── any bytes at all ─────────────────────────────────────────────────────────────────────────────────

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
block = st.fixed_dictionaries({}, optional={"type": st.just("text") | anything, "text": anything})
message = st.fixed_dictionaries({}, optional={"content": anything | st.lists(block), "model": anything})
item = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant"]) | anything},
    optional={
        "message": message | anything,
        **dict.fromkeys(("uuid", "sessionId", "timestamp", "cwd", "isMeta"), anything),
    },
)
garbled = st.lists(item.map(lambda it: json.dumps(it).encode()) | st.binary(), max_size=6).map(b"\n".join)


@given(content=garbled)
def test_no_content_raises_and_every_turn_can_be_stored(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    path.write_bytes(content)
    for index, turn in enumerate(claude_code.read(path)):
        assert turn.index == index
        assert turn.text.strip()
        f"{turn.text}{turn.session}{turn.uri}".encode()  # no lone surrogates
    told = claude_code.about(path)
    f"{told.session}{project_of(told.cwd)}".encode()


@given(content=st.binary())
def test_no_export_of_any_bytes_raises_anything_but_a_sentence(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from nagori.errors import InvalidInput

    path = tmp_path_factory.mktemp("any") / "a.json"
    for begin in (b"", b"SQLite format 3\0", b'{"observations": ['):
        path.write_bytes(begin + content)
        for drafts in (claude_mem.drafts, mem0.drafts, markdown.drafts):
            try:
                list(drafts(path, []))
            except InvalidInput:
                assert drafts is claude_mem.drafts


def test_a_large_file_with_a_giant_line_is_streamed(tmp_path: Path) -> None:
    """50 MB with a line of 20 MB: only one line of the longest is ever held."""
    path = tmp_path / "big.jsonl"
    filler = "x" * 4000
    with path.open("w", encoding="utf-8") as file:
        for n in range(3700):
            file.write(line("user", f"prompt {n}", f"u{n}") + "\n")
            result = [{"type": "tool_result", "content": filler}]
            file.write(line("user", result, f"t{n}") + "\n")
            file.write(line("assistant", filler, f"a{n}") + "\n")
            if n == 2000:
                file.write(line("user", "y" * 20_000_000, "giant") + "\n")
    assert path.stat().st_size > 48_000_000
    skipped = claude_code.SkippedLines()
    tracemalloc.start()
    try:
        count = sum(1 for _ in claude_code.read(path, skipped=skipped))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (count, skipped.giant, skipped.damaged) == (7400, 1, 0)
    assert peak < 40_000_000


# ── finding them ─────────────────────────────────────────────────────────────────────────────────────


def test_transcripts_are_found_oldest_first_and_links_do_not_lead_out(tmp_path: Path) -> None:
    home, outside = tmp_path / "claude", tmp_path / "outside"
    new = written(home / "projects/-a/new.jsonl", "{}")
    old = written(home / "projects/-b/old.jsonl", "{}")
    os.utime(old, (1, 1))
    written(home / "projects/-b/old/subagents/agent-1.jsonl", "{}")
    written(home / "projects/-b/agent-2.jsonl", "{}")
    written(home / "projects/-b/notes.md", "x")
    written(outside / "theirs.jsonl", "{}")
    (home / "projects/-a/link.jsonl").symlink_to(outside / "theirs.jsonl")
    (home / "projects/-c").symlink_to(outside)
    (home / "projects/-a/again.jsonl").symlink_to(new)
    (home / "projects/-a/circle.jsonl").symlink_to(home / "projects/-a/circle.jsonl")
    os.mkfifo(home / "projects/-a/pipe.jsonl")
    assert claude_code.find(home) == [old.resolve(), new.resolve()]
    assert claude_code.find(tmp_path / "nowhere") == []
    assert claude_code.home({"CLAUDE_CONFIG_DIR": str(home), "HOME": "/x"}) == home
    assert claude_code.home({"HOME": "/x"}) == Path("/x/.claude")


def test_a_project_is_the_root_of_its_repository(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/src/deep").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    assert project_of(str(tmp_path / "repo/src/deep")) == str(tmp_path / "repo")
    assert project_of(str(tmp_path / "repo/gone")) == str(tmp_path / "repo/gone")
    assert project_of("C:\\work\\kettle") == "C:\\work\\kettle"
    assert project_of(None) is None
    assert len(project_of("/x" * 500) or "") == 256


# ── other memories ───────────────────────────────────────────────────────────────────────────────────

OBSERVATION = {
    "id": 7,
    "memory_session_id": "m1",
    "project": "kettle",
    "type": "decision",
    "title": "Chose a valve",
    "subtitle": "Unused when there is a story",
    "narrative": "The brass valve won.",
    "facts": '["It costs 4 coins", "It is loud"]',
    "concepts": '["valves"]',
    "created_at_epoch": 1_770_000_000_000,
}
SUMMARY = {
    "id": 7,
    "memory_session_id": "m1",
    "request": "Find a valve",
    "learned": "Brass lasts.",
    "next_steps": "Order it.",
    "created_at": "2026-02-02T02:40:00Z",
}


def database(path: Path, *, wal: bool = False) -> sqlite3.Connection:
    made = sqlite3.connect(path)
    if wal:
        made.execute("PRAGMA journal_mode=WAL")
    for table, row in (("observations", OBSERVATION), ("session_summaries", SUMMARY)):
        made.execute(f"CREATE TABLE {table} ({', '.join(row)})")
        made.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", list(row.values()))
    made.execute("INSERT INTO observations (id, type) VALUES (8, 'change')")
    made.commit()
    return made


@pytest.fixture(params=["database", "live", "export"])
def claude_mem_file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "export":
        empty = {"id": 8, "type": "change"}
        told = {"observations": [OBSERVATION, empty], "summaries": [SUMMARY], "prompts": [], "sessions": []}
        yield written(tmp_path / "export.json", json.dumps(told))
        return
    made = database(tmp_path / "claude-mem.db", wal=request.param == "live")
    if request.param == "database":
        made.close()
    yield tmp_path / "claude-mem.db"
    made.close()


def test_claude_mem_gives_its_observations_and_summaries(claude_mem_file: Path) -> None:
    beside = sorted(claude_mem_file.parent.iterdir())
    faults: list[Notice] = []
    decision, summary = claude_mem.drafts(claude_mem_file, faults)
    assert decision.trigger == "Chose a valve"
    assert decision.content == "The brass valve won.\n- It costs 4 coins\n- It is loud"
    assert (decision.kind, decision.trust) == (Kind.DECISION, Trust.IMPORT)
    assert decision.keywords == ("kettle", "valves")
    assert decision.created == datetime.fromtimestamp(1_770_000_000, UTC)
    assert (decision.source.session, decision.source.uri) == ("m1", "claude-mem:7")
    assert (summary.kind, summary.source.uri) == (Kind.SUMMARY, "claude-mem:summary/7")
    assert summary.content == "learned: Brass lasts.\nnext steps: Order it."
    assert summary.created == datetime(2026, 2, 2, 2, 40, tzinfo=UTC)
    assert len(faults) == 1
    assert "observations 8: content:" in str(faults[0])
    assert sorted(claude_mem_file.parent.iterdir()) == beside


MEM0 = {
    "id": "ab-1",
    "memory": "Mio drinks green tea",
    "user_id": "mio",
    "created_at": "2025-07-20T23:30:36.385000-07:00",
    "updated_at": None,
    "metadata": None,
    "categories": ["food"],
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([MEM0, {"id": "x"}]),
        json.dumps({"results": [MEM0, 5], "count": 2}),
        json.dumps(MEM0) + "\n" + "{torn\n",
        "\ufeff" + json.dumps({"memories": [MEM0, None]}),
    ],
)
def test_mem0_gives_its_memories_in_any_of_its_shapes(text: str, tmp_path: Path) -> None:
    faults: list[Notice] = []
    [draft] = mem0.drafts(written(tmp_path / "mem0.json", text), faults)
    assert (draft.content, draft.keywords, draft.source.uri) == (MEM0["memory"], ("food",), "mem0:ab-1")
    assert draft.created == datetime(2025, 7, 21, 6, 30, 36, 385000, tzinfo=UTC)
    assert draft.trust is Trust.IMPORT
    assert len(faults) == 1
    assert "record 2" in str(faults[0])


def test_notes_keep_the_heading_they_stand_under(tmp_path: Path) -> None:
    page = written(
        tmp_path / "CLAUDE.md", "# Kettle", "", "A plain", "paragraph.", "## Tests", "- run them", "* twice"
    )
    before = page.stat()
    drafts = list(markdown.drafts(page, []))
    assert [(draft.trigger, draft.content) for draft in drafts] == [
        ("Kettle", "A plain paragraph."),
        ("Tests", "run them"),
        ("Tests", "twice"),
    ]  # fmt: skip
    assert {draft.trust for draft in drafts} == {Trust.IMPORT}
    assert drafts[0].source.uri == page.as_uri()
    assert page.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("2026-01-01", "2026-01-01T00:00:00+00:00"),
        (1_700_000_000, "2023-11-14T22:13:20+00:00"),
        (1_700_000_000_000, "2023-11-14T22:13:20+00:00"),
        *[(wrong, None) for wrong in ("soon", None, True, float("nan"), 10**400, [], "0001-01-01")],
    ],
)
def test_times_are_read_in_the_shapes_that_programs_write(value: object, read: str | None) -> None:
    found = moment(value)
    assert (found.isoformat() if found else None) == read


# ── the command ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`run("list")` as if typed with --json: its exit code and its answer."""
    monkeypatch.setenv("NAGORI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)

    def typed(*words: object) -> dict[str, object]:
        monkeypatch.setattr(sys, "argv", ["nagori", *map(str, words), "--json"])
        with pytest.raises(SystemExit) as stop:
            main()
        out, _ = capsys.readouterr()
        return {"code": stop.value.code, **json.loads(out)}

    return typed


def counts(answer: dict[str, object]) -> tuple[object, ...]:
    return tuple(answer[name] for name in ("code", "transcripts", "added", "known", "skipped"))


def listed(run: Run, *options: object) -> dict[str, dict[str, object]]:
    answer = run(*options, "list")
    return {m["texts"]["1"]["content"]: m for m in answer["memories"]}  # type: ignore[index,attr-defined]


def test_all_old_transcripts_come_in_each_into_its_project_and_only_once(
    run: Run, own_home: Path, tmp_path: Path
) -> None:
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "sub").mkdir()
    folder = own_home / ".claude" / "projects"
    growing = written(folder / "-r/one.jsonl", line("user", "Tea at four.", "u1", cwd=str(repo / "sub")))
    (folder / "-k").mkdir()
    (folder / "-k/two.jsonl").write_bytes(GOLDEN.read_bytes())
    assert counts(run("import", "--from", "claude-code")) == (0, 2, 10, 0, 6)
    assert counts(run("import", "--from", "claude-code")) == (0, 2, 0, 10, 6)
    memories = listed(run)
    assert memories["Tea at four."]["project"] == str(repo)
    assert memories["/fixit 42"]["project"] == "/home/mio/kettle"
    assert {m["mentions"] for m in memories.values()} == {1}
    with growing.open("a", encoding="utf-8") as file:
        file.write(line("assistant", "Noted.", "a1") + "\n" + line("user", "Cake too.", "u2") + "\n")
    assert counts(run("import", "--from", "claude-code", growing)) == (0, 1, 2, 1, 0)
    assert set(listed(run, "--project", repo)) == {"Tea at four.", "Noted.", "Cake too."}


def test_a_resumed_session_that_copied_its_past_adds_only_what_is_new(run: Run, tmp_path: Path) -> None:
    past = [line("user", "Tea at four.", "u1"), line("assistant", "Noted.", "a1")]
    written(tmp_path / "projects/-p/one.jsonl", *past)
    os.utime(tmp_path / "projects/-p/one.jsonl", (1, 1))
    renamed = [text.replace('"s1"', '"s2"') for text in past]
    written(tmp_path / "projects/-p/two.jsonl", *renamed, line("user", "Cake at five.", "u2", sessionId="s2"))
    assert counts(run("import", "--from", "claude-code", tmp_path)) == (0, 2, 3, 0, 0)
    assert counts(run("import", "--from", "claude-code", tmp_path)) == (0, 2, 0, 3, 0)


def test_a_project_that_is_named_wins_over_where_it_took_place(run: Run) -> None:
    run("--project", "mine", "import", "--from", "claude-code", GOLDEN)
    assert {m["project"] for m in listed(run).values()} == {"mine"}


def test_many_turns_are_formed_in_bundles(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nagori.edges.importers import run as importing

    monkeypatch.setattr(importing, "BUNDLE", 50)
    path = written(tmp_path / "a.jsonl", *(line("user", f"Fact number {n}.", f"u{n}") for n in range(30)))
    assert counts(run("import", "--from", "claude-code", path)) == (0, 1, 30, 0, 0)


def test_a_turn_that_cannot_be_taken_is_named_and_the_others_are_taken(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nagori.errors import InvalidInput
    from nagori.services import formation

    compose = formation.compose

    def picky(parts: object, scope: object, draft: formation.Draft) -> object:
        if "sour" in draft.content:
            raise InvalidInput("content", "missing")
        return compose(parts, scope, draft)  # type: ignore[arg-type]

    monkeypatch.setattr(formation, "compose", picky)
    path = written(tmp_path / "a.jsonl", *(line("user", word, word) for word in ("sweet", "sour", "salty")))
    answer = run("import", "--from", "claude-code", path)
    assert counts(answer) == (1, 1, 2, 0, 0)
    assert answer["faults"] == ["claude-code:s1#sour: content: missing"]


def test_other_memories_come_in_by_the_command_and_only_once(
    run: Run, claude_mem_file: Path, tmp_path: Path
) -> None:
    export = written(tmp_path / "mem0.json", json.dumps([MEM0]))
    page = written(tmp_path / "CLAUDE.md", "## Tests", "- run them")
    for known in (0, 1):
        for origin, path, n in (("claude-mem", claude_mem_file, 2), ("mem0", export, 1), ("notes", page, 1)):
            answer = run("import", "--from", origin, path)
            assert (answer["added"], answer["known"]) == ((0, n) if known else (n, 0))
            assert answer["code"] == len(answer["faults"])  # type: ignore[arg-type]
    memories = listed(run)
    assert memories[str(MEM0["memory"])]["created"].startswith("2025-07-21T06:30:36")  # type: ignore[attr-defined]
    assert {(m["trust"], m["mentions"]) for m in memories.values()} == {("import", 1)}


def test_our_own_files_come_in_as_before_and_several_at_once(run: Run, tmp_path: Path) -> None:
    pages = [written(tmp_path / f"{n}.md", f"- Fact {n} of a page.") for n in range(2)]
    answer = run("import", *pages)
    assert answer == {"code": 0, "added": 2, "known": 0, "relations": 0, "faults": []}


@pytest.mark.parametrize(
    "words", [[], ["--from", "mem0"], ["--from", "mem0", "x"], ["--from", "claude-code", "x"]]
)
def test_a_file_that_is_missing_is_bad_input(words: list[str], run: Run) -> None:
    answer = run("import", *words)
    assert answer["code"] == 2
    assert answer["error"]["field"] == "path"  # type: ignore[index]
