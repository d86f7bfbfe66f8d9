"""Links to files beside the documentation: on a repository's page they lead there, in the built pages they download.

A Markdown page is not for downloading. Like a folder it is named in words alone, which say where it lies.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)\)")


def _rewrite(app: Sphinx, document: str, source: list[str]) -> None:
    """Names each file outside by `path:`, which downloads it, but for folders and pages."""
    here = Path(app.srcdir, document).parent

    def changed(link: re.Match[str]) -> str:
        text, target = link.groups()
        there = (here / target).resolve()
        if there.is_relative_to(app.srcdir):
            return link[0]
        if there.suffix == ".md":
            named = there.parent.as_posix().endswith(text.strip("`"))  # by its folder, as examples are
            return text if named else f"{text} (`{there.relative_to(app.srcdir.parent)}`)"
        return text if there.is_dir() else f"[{text}](path:{target})"

    source[0] = LINK.sub(changed, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", _rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
