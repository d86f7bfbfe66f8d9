"""Files that ship with the code (the grammar, the templates, words of other tools), and paths of cached files.

A wheel holds them inside the package; a source checkout (and an editable install) has them at the top level of the
repository. Not here: what the words are for.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ..foundation import is_writable, keeping_places


def resource_path(*parts: str) -> Path:
    """The path of a shipped file or folder: `resource_path("grammar", "dcrf.lark")`, `resource_path("templates")`."""
    package = Path(__file__).parents[1]
    candidates = [package.joinpath(*parts), package.parent.joinpath(*parts)]
    for path in candidates:
        if path.exists():
            return path
    raise FileNotFoundError(f"`{'/'.join(parts)}` is missing from this installation: not in {candidates[0].parent}")


@cache
def _pages() -> Sequence[str]:
    return Path(__file__).with_name("other_words.md").read_text(encoding="utf-8").split("\n## ")


@cache
def other_words(kind: str) -> Mapping[str, str]:
    """Words of papers and other tools, and what this language calls it: those below a heading of `other_words.md`."""
    lines = next((page for page in _pages() if page.startswith(f"{kind}\n")), "").splitlines()
    listed = (line[2:].rpartition(": ") for line in lines if line.startswith("* "))
    return {word: ours for ours, _, words in listed for word in words.split(", ")}


def cache_path(stem: str) -> Path:
    """A cache file for this version of Python; nothing is cached if no folder is writable."""
    folder = next(filter(is_writable, keeping_places()), Path(__file__).parent)
    return folder / f"{stem}.{sys.implementation.cache_tag}.cache"
