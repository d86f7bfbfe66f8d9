"""Every page of the documentation runs from top to bottom and prints what it shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from page_runner import comment_of, matches, run_page, steps_of

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path
    for path in sorted(DOCS.rglob("*.md"))
    if "_build" not in path.parts and "reference" not in path.parts and steps_of(path.read_text(encoding="utf-8"))
}


def case(name: str, path: Path) -> object:
    """Two pages run every time, all others with the long tests."""
    long = name not in ("index.md", "tutorial/train-and-tag.md")
    return pytest.param(path, id=name, marks=[pytest.mark.long] if long else [])


@pytest.mark.parametrize("path", [case(name, path) for name, path in PAGES.items()])
def test_a_page_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    required = comment_of(path.read_text(encoding="utf-8"), "requires") or ""
    for module in filter(None, map(str.strip, required.split(","))):
        pytest.importorskip(module)
    for program in (comment_of(path.read_text(encoding="utf-8"), "programs") or "").split():
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    run_page(path, ROOT, tmp_path)


PAGE = """
<!-- in: examples/address -->
**`a.dcrf`**

```dcrf
dcrf 1
```
```python
x = 1
print(x, "a", 2.5)
```
```text
1 … 2.5
```
<!-- fails -->
```console
$ echo a \\
  b
a b
$ false
```
```text
not output
```
"""


def test_steps_are_read_off_a_page() -> None:
    file, python, console = steps_of(PAGE)
    assert (file.kind, file.name, file.text) == ("file", "a.dcrf", "dcrf 1\n")
    assert (python.kind, python.shown) == ("python", "1 … 2.5\n")
    assert (console.kind, console.fails, console.line) == ("console", True, 16)
    assert comment_of(PAGE, "in") == "examples/address" and comment_of(PAGE, "long") is None


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nb\nc\n", False),
        ("a … c", "a b c", True),
        ("a\n…\nz", "a\nb\nc\nz", True),
        ("a\n…\nz", "a\nz", True),
        ("a\n…", "a\nb", True),
        ("a…", "b", False),
        ("", "something", False),
        ("a  ", "a", True),
    ],
)
def test_what_is_shown_is_compared(shown: str, printed: str, fits: bool) -> None:
    assert matches(shown, printed) is fits


@pytest.mark.parametrize(
    "page",
    [
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ false\n```\n",
        "<!-- fails -->\n```console\n$ true\n```\n",
        "```python\nprint(1)\n```\n```text\n2\n```\n",
        "```python\nx = \n```\n",
    ],
)
def test_a_page_that_shows_something_else_fails(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    with pytest.raises(AssertionError):
        run_page(tmp_path / "page.md", ROOT, tmp_path)
