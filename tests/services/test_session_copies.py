"""Copies of sessions: Parquet logs by DuckDB, the last day in a real Valkey, and the policy `summaries`.
Losing a copy at any moment changes no answer; what is erased leaves every copy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import seaweedfs
from tests.valkey import PASSWORD, ValkeyServer, start_server, start_tls_server

from nagori import Filter, Kind, Nagori
from nagori.adapters import http, s3
from nagori.adapters.parquet_turn_log import _folder_of
from nagori.adapters.s3 import BucketFiles, parse_bucket
from nagori.config import load
from nagori.core.model import is_thread_summary
from nagori.edges.cli import main
from nagori.errors import InvalidInput, StoreError
from nagori.testing import FrozenClock, WordEmbedder

KITCHEN = [
    ("We painted the kitchen on Sunday in light green.", "Light green makes a kitchen brighter."),
    ("The paint came from the shop of Ms Mori.", "Her shop in Elm Street mixes colours."),
    ("The kitchen ceiling still needs a second coat of paint.", "Wait a day before the second coat."),
]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


class Opener:
    def __init__(self, folder: Path, clock: FrozenClock) -> None:
        self.folder, self.clock = folder, clock

    def __call__(self, **settings: object) -> Nagori:
        named = {f"sessions.{name}": value for name, value in settings.items()}
        return Nagori.open(
            self.folder / "data",
            clock=self.clock,
            config=load(overrides={"threads.summaries": True} | named).config,
            embedder=WordEmbedder(),
            llm=None,
        )


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock) -> Opener:
    return Opener(tmp_path, clock)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    pytest.importorskip("duckdb", reason="duckdb is not installed (requirements/dev.txt)")
    return tmp_path / "logs"


@pytest.fixture
def valkey(monkeypatch: pytest.MonkeyPatch) -> ValkeyServer:
    server = start_server()
    if isinstance(server, str):
        pytest.skip(server)
    server.kill()
    server.start()
    monkeypatch.setenv("VALKEY_PASSWORD", PASSWORD)
    return server


def talk(memory: Nagori, clock: FrozenClock, session: str = "s") -> None:
    for said, answer in KITCHEN:
        turn = memory.turn(said, session=session)
        clock.forward(seconds=20)
        turn.answer(answer)
        clock.forward(seconds=20)
    clock.forward(minutes=11)
    memory.process()


def summaries(memory: Nagori) -> list[str]:
    found = memory.list(Filter(kinds=frozenset({Kind.SUMMARY})))
    return [each.text.content for each in found if is_thread_summary(each)]


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The address of an empty prefix in a real S3 server."""
    pytest.importorskip("duckdb", reason="duckdb is not installed (requirements/dev.txt)")
    server = seaweedfs.start_server()
    if isinstance(server, str):
        pytest.skip(server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", seaweedfs.KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", seaweedfs.SECRET)
    return f"s3://logs/{tmp_path.name}?endpoint={server.endpoint}"


# --- logs -----------------------------------------------------------------------------------------


def test_T10_full_logs_are_parquet_and_queryable(opened: Opener, clock: FrozenClock, logs: Path) -> None:
    with opened(log_dir=str(logs)) as memory:
        talk(memory, clock)
        names, rows = memory.query_log("select role, count(*) as n from turns group by role order by role")
        assert (names, rows) == (["role", "n"], [("assistant", 3), ("user", 3)])
        [(text,)] = memory.query_log("select text from turns where text like '%Mori%'")[1]
        assert text == KITCHEN[1][0]
        assert memory.with_scope(user="somebody").query_log("select * from turns")[1] == []
    files = list(logs.rglob("*.parquet"))
    assert files
    assert {path.stat().st_mode & 0o077 for path in (*files, logs, files[0].parent)} == {0}
    assert not list(logs.rglob("*.new"))


def test_T10_full_logs_in_a_bucket_are_queryable_and_made_again(
    opened: Opener, clock: FrozenClock, bucket: str
) -> None:
    with opened(log_dir=bucket) as memory:
        files = BucketFiles(parse_bucket(bucket))
        talk(memory, clock)
        assert memory.query_log("select count(*) from turns")[1] == [(6,)]
        assert memory.with_scope(user="somebody").query_log("select * from turns")[1] == []
        folder = _folder_of(memory.scope.owner)
        [name] = files.names(folder)
        files.delete(folder, name)
        assert memory.query_log("select count(*) from turns")[1] == [(6,)]
        mori = next(each for each in memory.list() if "Mori" in each.text.whole and each.kind != "summary")
        memory.erase(memory.plan_erasure(memory=mori.id))
        assert memory.query_log("select * from turns where text like '%Mori%'")[1] == []
        assert memory.query_log("select count(*) from turns")[1] == [(4,)]
        memory.erase(memory.plan_erasure(everything=True))
        assert files.names(folder) == []


def test_many_files_in_a_bucket_are_listed_page_by_page(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = BucketFiles(parse_bucket(bucket))

    def write(path: Path) -> None:
        path.write_bytes(b"x")

    for n in range(5):
        files.put("a", f"turns {n}+é.parquet", write)
    files.put("ab", "other", write)
    real, asked = http.fetch, list[str]()

    def fewer(method: str, url: str, headers: dict[str, str], *rest: Any, **more: Any) -> bytes:
        asked.append(url)
        return real(method, url, headers, *rest, **more)

    monkeypatch.setattr(s3, "fetch", fewer)
    monkeypatch.setattr(s3, "PAGE", 2)
    assert files.names("a") == [f"turns {n}+é.parquet" for n in range(5)]
    assert len(asked) == 3


def test_a_bucket_that_cannot_be_reached_costs_only_the_copy(
    opened: Opener, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed (requirements/dev.txt)")
    address = "s3://logs/a?endpoint=http://127.0.0.1:1"
    with opened(log_dir=address) as memory:
        talk(memory, clock)  # without keys
        with pytest.raises(StoreError) as caught:
            memory.query_log("select 1")
        assert caught.value.message_id == "error.bucket_failed"
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a-key-that-is-not-shown")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "neither-is-this")
        with pytest.raises(StoreError) as caught:
            memory.query_log("select 1")
        assert "not-shown" not in str(caught.value)
        assert memory.recall("Which colour has the kitchen?")


@pytest.mark.parametrize(
    "address",
    [
        "s3://",
        "s3://Bucket/a",
        "s3://logs/a?endpoint=https://host/path",
        "s3://logs/a?secret=x",
        "s3://user:password@logs/a",
        "s3://logs/a#b",
        "s3://logs/a?region=EU%20",
        "s3://logs/a?region",
    ],
)
def test_what_is_no_address_of_a_bucket_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_bucket(address)
    assert "password" not in str(caught.value)


def test_T4_turns_leave_the_log_after_its_days_and_the_memory_keeps_them(
    opened: Opener, clock: FrozenClock, logs: Path
) -> None:
    with opened(log_dir=str(logs), log_days=7) as memory:
        talk(memory, clock)
        clock.forward(days=5)
        memory.turn("The new lamp hangs over the table.", session="later").answer("Good.")
        memory.process()
        memory.cycle()
        assert memory.query_log("select count(*) from turns")[1] == [(8,)]
        clock.forward(days=3)
        memory.cycle()
        assert memory.query_log("select distinct session from turns")[1] == [("later",)]
        clock.forward(days=5)
        memory.cycle()
        assert memory.query_log("select count(*) from turns")[1] == [(0,)]
        assert not list(logs.rglob("*.parquet"))
        assert memory.recall("Which colour has the kitchen?")
        assert len(memory.threads("s")) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "copy turns to '{folder}/stolen.csv'",
        "select * from read_csv('/etc/passwd')",
        "select * from read_parquet('{folder}/**/*.parquet')",
        "select 1; drop table turns",
        "insert into turns select * from turns",
        "set enable_external_access = true",
        "attach '{folder}/other.db'",
        "install httpfs",
        "select * from nowhere",
        "select",
    ],
)
def test_T10_a_query_reaches_nothing_else(
    opened: Opener, clock: FrozenClock, logs: Path, sql: str, tmp_path: Path
) -> None:
    with opened(log_dir=str(logs)) as memory:
        talk(memory, clock)
        before = bytes_in(logs)
        with pytest.raises(InvalidInput):
            memory.query_log(sql.replace("{folder}", str(logs)))
        assert bytes_in(logs) == before
        assert not (logs / "stolen.csv").exists()


def test_T10_an_agent_may_not_query_and_without_a_folder_there_is_no_log(opened: Opener) -> None:
    with opened() as memory:
        with pytest.raises(InvalidInput, match="log_dir"):
            memory.export_log()
        with pytest.raises(InvalidInput):
            memory.with_scope(agent="nox").query_log("select 1")


def test_deleted_log_files_are_written_again(opened: Opener, clock: FrozenClock, logs: Path) -> None:
    with opened(log_dir=str(logs)) as memory:
        talk(memory, clock)
        usual = memory.query_log("select * from turns order by seq")
        answers = [found.text for found in memory.recall("kitchen paint")]
        for path in logs.rglob("*.parquet"):
            path.unlink()
        assert [found.text for found in memory.recall("kitchen paint")] == answers
        assert memory.query_log("select * from turns order by seq") == usual


def test_what_is_erased_leaves_the_logs(opened: Opener, clock: FrozenClock, logs: Path) -> None:
    with opened(log_dir=str(logs)) as memory:
        talk(memory, clock)
        memory.turn("The harp stands in the attic.", session="other").answer("It needs new strings.")
        memory.process()
        memory.erase(memory.plan_erasure(session="s"))
        assert memory.query_log("select distinct session from turns")[1] == [("other",)]
        memory.erase(memory.plan_erasure(everything=True))
    assert [path for path in logs.rglob("*") if path.is_file()] == []


def test_a_withheld_turn_never_reaches_the_logs(opened: Opener, clock: FrozenClock, logs: Path) -> None:
    with opened(log_dir=str(logs)) as memory:
        turn = memory.turn("My locker number is 5521, do not remember this please.", session="s")
        turn.answer("I will not.")
        memory.process()
        assert memory.query_log("select count(*) from turns where text like '%5521%'")[1] == [(0,)]


def test_the_command_queries_and_refuses(
    opened: Opener, clock: FrozenClock, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("NAGORI_SESSIONS__LOG_DIR", str(logs))
    monkeypatch.setenv("NAGORI_DATA_DIR", str(opened.folder / "data"))
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    with opened(log_dir=str(logs)) as memory:
        talk(memory, clock)

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["nagori", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0)

    assert run("logs", "query", "select count(*) as n, max(said_at) as t from turns", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["columns"] == ["n", "t"]
    assert told["rows"][0][0] == 6
    assert run("logs", "query", "select role from turns limit 1") == 0
    assert run("logs", "export") == 0
    assert run("logs", "query", "drop table turns") == 2
    assert run("logs", "query") == 2


# --- the policy -----------------------------------------------------------------------------------


def test_T10_with_the_policy_summaries_only_the_summary_stays(
    opened: Opener, clock: FrozenClock, tmp_path: Path
) -> None:
    with opened(policy="summaries") as memory:
        memory.turn("I am allergic to peanuts, always.", session="s").answer("I see.")
        talk(memory, clock)
        [summary] = summaries(memory)
        left = {each.kind for each in memory.list()}
        assert Kind.EPISODE not in left
        assert any("peanuts" in each.text.whole for each in memory.list() if each.kind is Kind.FACT)
        assert memory.threads("s") == []
        quoted = [said for pair in KITCHEN for said in pair if said in summary]
        gone = [said for pair in KITCHEN for said in pair if said not in summary]
        assert quoted
        assert gone
        journal = bytes_in(tmp_path / "data" / "journal")
        assert not [said for said in gone if said.encode() in journal]
        assert "kitchen" in memory.context("What did we do in the kitchen in light green?").text
        memory.process()
        assert summaries(memory) == [summary]


def test_a_short_thread_keeps_its_words(opened: Opener, clock: FrozenClock) -> None:
    with opened(policy="summaries") as memory:
        memory.turn("The harp stands in the attic.", session="s").answer("Good to know.")
        clock.forward(minutes=11)
        memory.process()
        assert memory.recall("Where is the harp?")


# --- the cache ------------------------------------------------------------------------------------


def test_T4_the_last_day_is_in_valkey_by_exact_keys(
    opened: Opener, clock: FrozenClock, valkey: ValkeyServer
) -> None:
    with opened(cache=valkey.url) as memory:
        talk(memory, clock)
        cache, owner = memory.runtime.session_cache, memory.scope.owner
        assert cache is not None
        [record] = cache.threads(owner)
        assert record["summary"] == summaries(memory)[0]
        assert record["keywords"]
        assert len(record["embedding"]) == WordEmbedder().dimension
        assert cache.threads(("local", "somebody")) == []
        clock.forward(hours=25)
        memory.process()
        assert cache.threads(owner) == []
        assert summaries(memory)  # the long term has it


def test_T4_losing_valkey_at_any_moment_changes_no_answer(
    opened: Opener, clock: FrozenClock, valkey: ValkeyServer
) -> None:
    with opened(cache=valkey.url) as memory:
        talk(memory, clock)
        usual = [found.text for found in memory.recall("kitchen paint")]
        valkey.kill()
        talk(memory, clock, "while it was away")
        assert usual[0] in [found.text for found in memory.recall("kitchen paint")]
        cache = memory.runtime.session_cache
        assert cache is not None
        with pytest.raises(StoreError) as trouble:
            cache.threads(memory.scope.owner)
        assert PASSWORD not in str(trouble.value)
        valkey.start()
        memory.process()
        assert len(cache.threads(memory.scope.owner)) == 2


def test_what_is_forgotten_or_erased_leaves_valkey(
    opened: Opener, clock: FrozenClock, valkey: ValkeyServer
) -> None:
    with opened(cache=valkey.url) as memory:
        talk(memory, clock)
        cache, owner = memory.runtime.session_cache, memory.scope.owner
        assert cache is not None
        [mori] = [each for each in memory.list() if "Mori" in each.text.whole and each.kind != "summary"]
        memory.forget(mori.id)
        memory.process()
        assert cache.threads(owner) == []
        memory.undo(mori.id)
        memory.process()
        assert len(cache.threads(owner)) == 1
        valkey.kill()
        plan = memory.plan_erasure(everything=True)
        with pytest.raises(StoreError):
            memory.erase(plan)
        valkey.start()
        assert memory.resume_erasures()
        assert cache.threads(owner) == []


def test_T4_the_acl_keeps_foreign_keys_and_dangerous_commands_away(valkey: ValkeyServer) -> None:
    import valkey as client

    server = client.Valkey.from_url(valkey.url.replace("redis://", "valkey://"), password=PASSWORD)
    for command in (("SET", "other", "1"), ("KEYS", "*"), ("FLUSHALL",)):
        with pytest.raises(client.ValkeyError):
            server.execute_command(*command)
    server.close()
    nobody = client.Valkey(port=valkey.port)
    with pytest.raises(client.ValkeyError):
        nobody.ping()
    nobody.close()


@pytest.mark.slow
def test_T12_the_cache_is_written_over_tls_and_only_to_a_server_with_a_known_certificate(
    opened: Opener, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_tls_server()
    if isinstance(server, str):
        pytest.skip(server)
    monkeypatch.setenv("VALKEY_PASSWORD", PASSWORD)
    with opened(cache=server.url) as memory:
        talk(memory, clock)
        [record] = memory.runtime.session_cache.threads(memory.scope.owner)  # type: ignore[union-attr]
        assert "kitchen" in record["summary"]
    other = server.url.replace("ca.pem", "other.pem")
    plain = f"redis://nagori@127.0.0.1:{server.port}/0"
    for address in (other, plain, server.url.partition("?")[0]):
        with opened(cache=address) as memory:
            with pytest.raises(StoreError) as caught:
                memory.runtime.session_cache.threads(memory.scope.owner)  # type: ignore[union-attr]
            assert PASSWORD not in str(caught.value)
            assert memory.recall("Which colour has the kitchen?")  # no answer depends on it
