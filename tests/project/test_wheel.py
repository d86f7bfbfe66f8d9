"""What is uploaded and installed is what was tested: the source archive, the wheel, the wheel in an empty directory.

Whether a newcomer's first commands work with nothing but the wheel and its dependencies, in an environment of each
interpreter, is for `first_commands.py`, which needs a network.
"""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]


def call(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def built(kind: str, out: Path) -> Path:
    call(sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (made,) = (path for path in out.iterdir() if path.name.endswith((".whl", ".tar.gz")))
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("sdist", tmp_path_factory.mktemp("archive"))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as content:
        (name,) = (name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(content.read(name))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel; what it depends on is borrowed from this one, without a network."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=True)
    pip = (sys.executable, "-m", "pip", "--python", home / "bin/python")
    call(*pip, "install", "--no-deps", "--no-index", "--disable-pip-version-check", wheel, cwd=home)
    (site,) = home.glob("lib/python*/site-packages")
    site.joinpath("borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_wheel_ships_grammar_and_templates(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("grammar", "templates"):
        shipped = {f"dcrfdsl/{folder}/{path.name}" for path in (ROOT / folder).iterdir() if path.is_file()}
        assert shipped
        assert shipped <= names
    page = {f"dcrfdsl/model/reporting/page/{path.name}" for path in (ROOT / "dcrfdsl/model/reporting/page").iterdir()}
    assert page and page <= names
    assert not [name for name in names if name.startswith(("tests/", "examples/"))]


def test_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    files = [path for path in (ROOT / "dcrfdsl").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.suffix for path in files} > {".py", ".pyi", ".md", ".css", ".js"}
    missing = {path.relative_to(ROOT).as_posix() for path in files} - set(zipfile.ZipFile(wheel).namelist())
    assert not missing


def test_the_archive_alone_builds_the_same_wheel(archive: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as content:
        content.extractall(tmp_path, filter="data")
    (tree,) = (path for path in tmp_path.iterdir() if path.is_dir())
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, tree, cwd=tmp_path)
    with zipfile.ZipFile(tmp_path / wheel.name) as own, zipfile.ZipFile(wheel) as other:
        assert {name: own.read(name) for name in own.namelist()} == {
            name: other.read(name) for name in other.namelist()
        }


def test_an_index_takes_both(archive: Path, wheel: Path, tmp_path: Path) -> None:
    said = call(sys.executable, "-m", "twine", "check", "--strict", archive, wheel, cwd=tmp_path)
    assert said.count("PASSED") == 2


def test_links_of_the_long_description_lead_to_files_of_the_repository(metadata: Message) -> None:
    urls = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL", []))
    assert set(urls) == {"Repository", "Documentation", "Issues", "Changelog"}
    text = metadata.get_payload()
    assert isinstance(text, str) and metadata["Description-Content-Type"] == "text/markdown"
    inline = [part for token in MarkdownIt("commonmark").parse(text) for part in token.children or ()]
    links = [str(part.attrs.get("href") or part.attrs["src"]) for part in inline if part.type in ("link_open", "image")]
    assert len(links) == len(re.findall(r"\]\(", (ROOT / "README.md").read_text(encoding="utf-8"))) > 20
    for link in links:
        found = re.fullmatch(rf"{re.escape(urls['Repository'])}/(?:tree|raw)/v[^/]+/(.+)", link)
        assert found is not None and ROOT.joinpath(found[1]).exists(), link


def test_metadata_says_what_was_tested(metadata: Message) -> None:
    stated = {line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if "Python :: 3." in line}
    workflow = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert stated == set(re.findall(r'"(3\.\d+)"', workflow))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["Requires-Python"] == project["requires-python"] == f">={min(stated, key=lambda one: int(one[2:]))}"
    assert metadata["License-Expression"] == "MIT"


@pytest.mark.long
def test_installed_package_uses_its_own_grammar_and_templates(installed: Path, tmp_path: Path) -> None:
    place = call(installed / "python", "-c", "import dcrfdsl; print(dcrfdsl.__file__)", cwd=tmp_path)
    assert place.startswith(str(installed.parent))
    listed = call(installed / "dcrfdsl", "new", cwd=tmp_path).splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ")]
    assert sorted(names) == sorted(path.stem for path in (ROOT / "templates").glob("*.dcrf"))
    call(installed / "dcrfdsl", "new", "linear_chain", "-o", "mine.dcrf", cwd=tmp_path)
    call(installed / "dcrfdsl", "check", "mine.dcrf", cwd=tmp_path)
