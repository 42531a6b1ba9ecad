"""What is published: a wheel with the package and nothing else, an sdist that can be tested, one version."""

import subprocess
import sys
import sysconfig
import tarfile
import venv
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from tools.build import ROOT, build, tracked_files

import nagori

DATA = {".sql", ".tsv", ".txt", ".toml", ".typed", ".html", ".js", ".css", ".svg"}
DEMO_IN_SOURCE = sorted((ROOT / "src").rglob("demo*"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Sdist and wheel."""
    pytest.importorskip("setuptools", reason="the build backend is not installed")
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(built: tuple[Path, Path]) -> Path:
    return built[1]


def names_in(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_every_module_and_data_file_of_the_source_and_nothing_else(wheel: Path) -> None:
    source = {name.removeprefix("src/") for name in tracked_files() if name.startswith("src/nagori/")}
    assert {Path(name).suffix for name in source} <= DATA | {".py"}, "a new kind of data file: add it here"
    packed = {
        name for name in names_in(wheel) if not name.startswith(f"nagori-{nagori.__version__}.dist-info/")
    }
    assert packed == source
    assert "nagori/py.typed" in packed


@pytest.mark.skipif(bool(DEMO_IN_SOURCE), reason="the demonstration still stands in src")
def test_the_demonstration_is_not_in_the_wheel(wheel: Path) -> None:
    assert [name for name in names_in(wheel) if "demo" in name] == []


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        about = Parser().parsestr(archive.read(name).decode())
        [entry] = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        assert archive.read(entry).decode().split() == [
            "[console_scripts]",
            "nagori",
            "=",
            "nagori.__main__:main",
        ]
    assert about["Version"] == nagori.__version__
    assert about["License-Expression"] == "MIT"
    assert "Typing :: Typed" in about.get_all("Classifier", [])
    assert about["Requires-Python"] == ">=3.11"


def test_the_sdist_can_be_built_tested_and_changed(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    kept = ("bench/", "docs/", "examples/", "plugin/", "requirements/", "src/", "tests/", "tools/")
    needed = {name for name in tracked_files() if name.startswith(kept)}
    assert needed - names == set()
    assert {"CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"} <= names
    assert [name for name in names if name.startswith(("out/", ".venv/")) or name.endswith(".pyc")] == []


def test_the_installed_wheel_works_in_a_fresh_environment_offline(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees the dependencies that are installed here; nagori itself is the wheel's."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False, symlinks=sys.platform != "win32")
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(scripts / "python")
    # The other environment's own .pth files are not read from here, so an editable nagori in it stays unseen.
    [packages] = {Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))}
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--no-compile", "--ignore-installed"]
    quiet = ["--quiet", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "--python", python]
    subprocess.run([*pip, "install", *offline, *quiet, str(wheel)], check=True, timeout=120)
    monkeypatch.delenv("PYTHONPATH", raising=False)  # the source tree is not to be seen
    done = printed([python, "-m", "tools.smoke"])
    assert done.startswith(f"nagori {nagori.__version__} from {packages.resolve()}")


def printed(words: list[str]) -> str:
    """What a program prints; anything but exit code 0 is a failure that says all it knows."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_program_and_package_say_the_same_version() -> None:
    assert printed([sys.executable, "-m", "nagori", "--version"]) == f"nagori {nagori.__version__}\n"


def test_the_version_costs_a_hook_nothing() -> None:
    """`importlib.metadata` takes longer to import than a prompt should wait."""
    code = "import sys, nagori, nagori.edges.hooks; print('importlib.metadata' in sys.modules)"
    assert printed([sys.executable, "-c", code]) == "False\n"
