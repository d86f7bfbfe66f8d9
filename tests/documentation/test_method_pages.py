"""A page about a paper has its equations, the template, modules and tests by name, and results beside the paper's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import ROOT

PAGES = sorted(path for path in (ROOT / "docs" / "methods").glob("*.md") if path.name != "index.md")
PLACES = ("", "dcrfdsl/", "tests/inference/")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_method_page_has_four_sections(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    equations, _, results = text.partition("\n## Results beside the paper's\n")
    assert "\n## Equations and template lines\n" in equations and equations.count("$$") >= 2
    assert "```dcrf" in equations
    assert re.search(r"^\| .*\bpaper\b", results, re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_names_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*`tests/.*$", text, re.MULTILINE)
    assert len(rows) >= 8
    named = [name for row in rows for name in re.findall(r"`([\w/]+(?:\.py|/))`", row)]
    assert [name for name in named if not any((ROOT / place / name).exists() for place in PLACES)] == []
    for test, file in re.findall(r"`(test_\w+)` in `(\S+\.py)`", text):
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")
