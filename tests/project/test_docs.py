"""The documents keep their word: links lead somewhere, examples run and print what is shown, nothing is left out."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import dcrfdsl

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
PACKAGE = ROOT / "dcrfdsl"
README, DOCS = ROOT / "README.md", ROOT / "docs"
DOCUMENTS = sorted(
    path
    for path in DOCS.rglob("*.md")
    if "_build" not in path.parts
    and (path.parent != DOCS / "reference" or path.name in ("index.md", "language.md", "python.md"))
    and "messages" not in path.parts
)
PAGES = (README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCUMENTS,
         *sorted(ROOT.glob("examples/*/README.md")))  # fmt: skip
GENERATED = (
    *(f"reference/{name}.md" for name in ("statements", "features", "data", "inference", "criteria", "optimizers",
                                          "metrics", "commands")),
    "reference/messages",
)  # fmt: skip
ROOMS = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)
BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def page(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def prose(path: Path) -> str:
    return BLOCK.sub("", page(path))


def blocks(path: Path, language: str = "") -> list[str]:
    return [text for found, text in BLOCK.findall(page(path)) if found == language]


def anchors(path: Path) -> set[str]:
    """The places of a page that a link can name, as GitHub makes them of its headings."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links() -> Iterator[tuple[Path, str]]:
    for path in PAGES:
        yield from ((path, target) for target in LINK.findall(prose(path)) if "://" not in target)


def test_links_lead_somewhere() -> None:
    for path, target in links():
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        if path.is_relative_to(DOCS) and any(there.is_relative_to(DOCS / page) for page in GENERATED):
            continue  # it is there once the documentation is built, and Sphinx judges the link
        assert there.exists(), (path, target)
        assert not anchor or anchor in anchors(there), (path, target)


def test_what_readers_are_sent_to_is_in_the_source_distribution() -> None:
    included = tomllib.loads(page(ROOT / "pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    always = {"README.md", "LICENSE", "pyproject.toml"}
    targets = {
        (path.parent / target.partition("#")[0]).resolve().relative_to(ROOT).parts[0] for path, target in links()
    }
    assert {f"/{top}" for top in targets - always} <= set(included)


def test_the_readme_is_short() -> None:
    assert len(README.read_bytes()) < 9000


def test_the_architecture_names_every_room() -> None:
    text = page(DOCS / "project/architecture.md")
    rooms = {"/".join(room.relative_to(PACKAGE).parts) for room in ROOMS}
    assert {room for room in rooms if f"`{room}/`" not in text} == set()


# templates and programs -----------------------------------------------------------------------------------------------


def templates() -> Iterator[tuple[str, str]]:
    for path in (README, *DOCUMENTS):
        for n, block in enumerate(blocks(path), 1):
            if block.startswith("dcrf 1\n"):
                yield f"{path.stem}-{n}", block


@pytest.mark.parametrize("template", list(dict(templates()).values()), ids=list(dict(templates())))
def test_a_template_has_no_mistake(template: str) -> None:
    assert [d.message for d in dcrfdsl.check(dcrfdsl.load_text(template)) if d.severity != "note"] == []


def steady(text: str) -> str:
    """Without what differs from run to run and from machine to machine: times, and how near 0 a bound is."""
    return re.sub(r"in [\d.]+ s", "in … s", re.sub(r"at most [\d.e+-]+ above", "at most … above", text))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(ROOT / "examples/address", tmp_path_factory.mktemp("readme") / "address"))


@pytest.mark.long
def test_the_example_of_the_readme_prints_what_it_shows(address: Path) -> None:
    """A prompt is followed by what the command prints; `dcrfdsl` is the one under test."""
    (block,) = (block for block in blocks(README) if block.startswith("$ "))
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = step.partition("\n")
        script = f'dcrfdsl() {{ "{sys.executable}" -c "from dcrfdsl.cli import main; main()" "$@"; }}; {command}'
        run = subprocess.run(["bash", "-c", script], cwd=address, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        printed = steady(run.stdout + run.stderr).splitlines()
        assert [line for line in steady(shown).splitlines() if line not in printed] == []


@pytest.mark.long
def test_the_program_of_the_readme_runs(address: Path) -> None:
    (program,) = blocks(README, "python")
    run = subprocess.run([sys.executable, "-c", program], cwd=address, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "clique part[-1], part\n" in run.stdout
    assert "'segments(part).f1': 1.0" in run.stdout
