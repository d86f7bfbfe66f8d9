"""Where the files lie that ship beside the code, the grammar and the templates, and what is kept between processes.

A wheel holds them inside the package; a source checkout (and an editable install) has them at the top level of
the repository. Not here: reading them.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["cache_path", "resource_path"]


def resource_path(*parts: str) -> Path:
    """The path of a shipped file or folder: `resource_path("grammar", "dcrf.lark")`, `resource_path("templates")`."""
    package = Path(__file__).parents[1]
    candidates = [package.joinpath(*parts), package.parent.joinpath(*parts)]
    for path in candidates:
        if path.exists():
            return path
    raise FileNotFoundError(f"`{'/'.join(parts)}` is missing from this installation: not in {candidates[0].parent}")


def cache_path(stem: str) -> Path:
    """A file of this version of Python to keep something in: beside the compiled modules, else in the user's cache."""
    folder = Path(__file__).with_name("__pycache__")
    if not os.access(folder if folder.is_dir() else folder.parent, os.W_OK):
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dcrfdsl"
    with suppress(OSError):  # then nothing is kept
        folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{stem}.{sys.implementation.cache_tag}.cache"
