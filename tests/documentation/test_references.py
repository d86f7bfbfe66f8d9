"""What texts refer to is there: messages, help and docstrings name commands and words that exist; the citation fits."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dcrfdsl
from dcrfdsl.cli import COMMANDS
from dcrfdsl.semantics import EXPLANATIONS
from dcrfdsl.semantics.reference.catalogue import entries_named

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
FILES = sorted((ROOT / "dcrfdsl").rglob("*.py"))
NOWHERE = re.compile(r"the (description of the language|manual|documentation|user guide|reference manual)\b", re.I)
PLACEHOLDERS = {"NAME", "WORD", "SLUG"}


def texts(path: Path) -> Iterator[str]:
    """Every text of a file but its own docstring, with the pieces of formatted ones."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    for statement in module.body[1:] if ast.get_docstring(module) and path.name != "__init__.py" else module.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_texts_refer_to_what_is_there() -> None:
    for path, text in ((file, text) for file in FILES for text in texts(file)):
        assert NOWHERE.search(text) is None, (path, text)
        for command in re.findall(r"`dcrfdsl ([a-z]+)\b", text):
            assert command in {*COMMANDS, "explain"}, (path, text)
        for word in re.findall(r"`dcrfdsl explain (\w+)`", text):
            assert word in PLACEHOLDERS or entries_named(word), (path, text)
        for slug in re.findall(r"check --explain ([\w-]+)", text):
            assert slug in PLACEHOLDERS or slug in EXPLANATIONS, (path, text)


def test_the_citation_fits_the_package() -> None:
    """Its top level is `key: value` lines, whose blocks are indented: the part of YAML that is used."""
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    top: dict[str, str] = {}
    below: dict[str, list[str]] = {}
    for line in lines:
        found = re.fullmatch(r"([a-z-]+):(?: (.+))?", line)
        if found:
            assert found[1] not in top, line
            top[found[1]], below[found[1]] = (found[2] or "").strip('"'), []
        else:
            assert re.fullmatch(r"  \S.*", line) and top, line
            below[list(top)[-1]].append(line.strip())
    assert {"cff-version", "message", "title", "type", "version", "license", "authors", "abstract", "keywords"} == set(
        top
    )
    assert (top["cff-version"], top["type"], top["license"]) == ("1.2.0", "software", "MIT")
    assert top["version"] == dcrfdsl.__version__
    assert below["authors"] == ["- name: dcrfdsl contributors"]
    assert all(keyword.startswith("- ") for keyword in below["keywords"])
    assert not any(": " in value for key, value in top.items() if key != "title")  # YAML would read a mapping


def test_the_changelog_has_versions_and_kinds() -> None:
    headings = re.findall(r"^(##+) (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0][1].split()[0] == dcrfdsl.__version__
    order = ["Added", "Changed", "Fixed", "Removed"]
    kinds: list[str] = []
    for level, title in headings:
        kinds = [] if level == "##" else [*kinds, title]
        assert kinds == [kind for kind in order if kind in kinds]
