"""Code within a line breaks at its blanks alone: `--option` stays whole on a narrow screen.

The style sheet says so for all code but that with a long word, which is marked here and breaks anywhere. CSS cannot
tell the two apart.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 24  # characters; a telephone shows about 40 on a line


def _mark(app: Sphinx, document: nodes.document, name: str) -> None:
    for code in document.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) > LONGEST:
            code["classes"].append("long-code")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
