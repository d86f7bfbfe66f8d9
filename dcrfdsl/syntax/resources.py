"""Where the files lie that ship beside the code: the grammar and the templates.

A wheel holds them inside the package; a source checkout (and an editable install) has them at the top level of
the repository. Not here: reading them.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["resource_path"]

PACKAGE = __name__.partition(".")[0]


def resource_path(*parts: str) -> Path:
    """The path of a shipped file or folder: `resource_path("grammar", "dcrf.lark")`, `resource_path("templates")`."""
    package = Path(str(files(PACKAGE)))
    candidates = [package.joinpath(*parts), package.parent.joinpath(*parts)]
    for path in candidates:
        if path.exists():
            return path
    raise FileNotFoundError(f"`{'/'.join(parts)}` is missing from this installation: not in {candidates[0].parent}")
