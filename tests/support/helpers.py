"""Helpers of several test files: places marked in a text, and files of expected output."""

from __future__ import annotations

import difflib
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
LANGUAGE = ROOT / "tests" / "language"
EXAMPLES = LANGUAGE / "good" / "examples"
SHARED = ROOT.parent / "shared"


def example_modules(folder: Path, *names: str) -> list[ModuleType]:
    """The modules of an example: scripts in one folder that import each other, and no package."""
    for name in names:  # another example may have loaded modules of the same name
        sys.modules.pop(name, None)
    paths = [str(folder), str(folder.parent)]  # modules shared by all examples are beside their folders
    sys.path[:0] = paths
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        for path in paths:
            sys.path.remove(path)
        for name in names:
            sys.modules.pop(name, None)


def marked(text: str) -> tuple[str, tuple[int, int]]:
    """The text without its one pair of `<` and `>`, and the start and end of the part between them.

    >>> marked("a <b> c")
    ('a b c', (2, 3))
    """
    start, end = text.index("<"), text.index(">") - 1
    return text[:start] + text[start + 1 : end + 1] + text[end + 2 :], (start, end)


def items(path: Path) -> list[tuple[str, str]]:
    """The `(title, text)` of each item of a `.dcrfs` file. A line `=== title` begins an item."""
    parts = path.read_text(encoding="utf-8").split("\n=== ")[1:]
    return [(title, text + "\n") for title, _, text in (part.partition("\n") for part in parts)]


def check_golden(path: Path, actual: str, *, update: bool) -> None:
    """Asserts that the output equals the file. `pytest --update-golden` rewrites it; read it before you commit it."""
    if update:
        path.write_text(actual, encoding="utf-8")
        return
    assert path.exists(), f"no expected output in {path.name}; run pytest --update-golden and read what it writes"
    expected = path.read_text(encoding="utf-8")
    assert actual == expected, f"{path.name} expects other output:\n" + "\n".join(
        difflib.unified_diff(expected.splitlines(), actual.splitlines(), "expected", "actual", lineterm="")
    )


def shared(*parts: str) -> Path:
    """A file or folder beside the repository; skips the test if it does not exist."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)}, which does not ship with the project")
    return path
