"""What five people did with data of their own, as pages that run from top to bottom: `people/NAME.md`."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_runner import run_page, steps_of

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
PAGES = sorted((Path(__file__).parent / "people").glob("*.md"))
SHORT = ("sensors", "titles")  # the models of the others train for longer


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem, marks=[] if p.stem in SHORT else [pytest.mark.long]) for p in PAGES]
)
def test_a_person_gets_what_the_page_shows(path: Path, tmp_path: Path) -> None:
    assert any(step.kind == "console" for step in steps_of(path.read_text(encoding="utf-8")))
    run_page(path, ROOT, tmp_path)
