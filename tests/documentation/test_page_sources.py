"""Page sources are plain Markdown, and every page stands in the list of its folder, from which the sidebar is made.

Not here: whether links and examples of pages hold (`test_docs`, `test_pages`).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import ROOT, example_modules

DOCS = ROOT / "docs"
(CONTENTS,) = example_modules(DOCS / "_ext", "contents")
SOURCES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "messages", "groups"} & set(path.parts) and path.parent.name != "python"
]
DIRECTIVE = re.compile(r"^[`:]{3,}\{.*$", re.MULTILINE)
FOLDERS = ("tutorial", "how-to", "explanation", "methods", "coming-from", "project")


# The pages of the reference of Python are lists of names for autodoc.
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_a_page_has_no_directive(path: Path) -> None:
    """A code host would show it as it stands."""
    assert DIRECTIVE.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_page_is_listed_once(folder: str) -> None:
    listed = CONTENTS.ITEM.findall((DOCS / folder / "index.md").read_text(encoding="utf-8"))
    pages = [path.stem for path in (DOCS / folder).glob("*.md") if path.stem != "index"]
    assert sorted(listed) == sorted(pages)


def test_the_index_of_python_names_what_its_pages_describe() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference/python").glob("*.md"))
    described = re.findall(r"^\.\. [\w:]+:: (dcrfdsl\.[\w.]+)", pages, re.MULTILINE)
    index, _, _ = (DOCS / "reference/python.md").read_text(encoding="utf-8").partition("<!-- contents -->")
    named = re.findall(r"^(?:`dcrfdsl\.[\w.]+`,? ?)+$", index, re.MULTILINE)
    assert sorted(re.findall(r"`([\w.]+)`", " ".join(named))) == sorted(described)


PAGE = """# All
* [First](first.md): see [other](other.md).

<!-- contents: groups -->

## For you
* [One](one.md), [two](two.md)
* [Away](../away/page.md)

## B & c
* [Three](three.md): [here](#for-you), [host](https://example.org/b.md)
"""


def test_sections_become_pages_of_their_own() -> None:
    assert "```{toctree}\n:hidden:\n\nfirst\ngroups/for-you\ngroups/b--c\n```" in CONTENTS.with_contents(PAGE)
    (_, one), (_, two) = CONTENTS.group_pages(PAGE)
    assert CONTENTS.with_contents(one).endswith("```{toctree}\n:hidden:\n\n../one\n```\n")
    assert one.startswith("# For you\n* [One](../one.md), [two](../two.md)\n* [Away](../../away/page.md)\n")
    assert "[here](../index.md#for-you), [host](https://example.org/b.md)" in two
    assert CONTENTS.with_contents("no comment\n* [One](one.md)") == "no comment\n* [One](one.md)"
