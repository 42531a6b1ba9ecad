"""The page about PostgreSQL: its program runs, and the address it shows is one."""

import re
import subprocess
import sys
from pathlib import Path

from tests.postgres import Server

from nagori.config.postgres_address import parse_address

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "postgres.md"
SHOWN = "postgresql://nagori:password@db.example/nagori"


def test_the_program_of_the_page_runs(postgres: Server, tmp_path: Path) -> None:
    [program] = [
        body for body in re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL) if "import" in body
    ]
    assert parse_address(SHOWN).has_password
    program = program.replace(SHOWN, postgres.url(folder=str(tmp_path)))
    environment = {"NAGORI_EMBEDDING__PROVIDER": "none", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    assert said.stdout == "The staging server moved to port 8443.\n"


def test_every_option_of_the_page_is_understood() -> None:
    options = re.findall(r"^\| `(\w+)=", PAGE.read_text(), re.MULTILINE)
    assert sorted(set(options)) == ["folder", "schema", "store"]
    address = parse_address("postgresql://host/db?store=postgres&schema=a&folder=/b&sslmode=require")
    assert (address.store, address.schema, address.folder) == ("postgres", "a", "/b")
    assert address.conninfo == "postgresql://host/db?sslmode=require"
