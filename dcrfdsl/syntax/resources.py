"""Paths of the files that ship with the code (the grammar and the templates), and of cached files.

A wheel holds them inside the package; a source checkout (and an editable install) has them at the top level of the
repository. Not here: reading them.
"""

from __future__ import annotations

import sys
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


def cache_path(stem: str) -> Path:
    """A cache file for this version of Python; nothing is cached if no folder is writable."""
    folder = next(filter(is_writable, keeping_places()), Path(__file__).parent)
    return folder / f"{stem}.{sys.implementation.cache_tag}.cache"
