"""Docstrings of the package are plain text with backquotes: here they become what Sphinx reads.

`name` becomes a literal, and lines such as `path: of the file.` a list of parameters. Doctests stay as they are.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

PARAMETERS = re.compile(r"([a-z]\w*(?:, [a-z]\w*)*):\s+(.+)")
LITERAL = re.compile(r"`([^`]+)`(\w?)")
MARKS = re.compile(r"[\\*|]|_(?!\w)")


def _marked(text: str) -> str:
    """A paragraph with literals, and every other mark of reST escaped."""
    out, end = [], 0
    for literal in LITERAL.finditer(text):
        out.append(MARKS.sub(r"\\\g<0>", text[end : literal.start()]))
        out.append(f"``{literal[1]}``" + (f"\\ {literal[2]}" if literal[2] else ""))
        end = literal.end()
    out.append(MARKS.sub(r"\\\g<0>", text[end:]))
    return "".join(out)


def _parameters(lines: list[str]) -> list[str]:
    """One field for each parameter; lines that are indented go on with the one before."""
    fields: list[tuple[list[str], str]] = []
    for line in lines:
        found = PARAMETERS.fullmatch(line)
        if found and not line[0].isspace():
            fields.append((found[1].split(", "), found[2]))
        else:
            names, text = fields.pop()
            fields.append((names, f"{text} {line.strip()}"))
    return [f":param {name}: {_marked(text)}" for names, text in fields for name in names]


def plain(lines: list[str]) -> list[str]:
    """The docstring as reST, paragraph by paragraph."""
    out: list[str] = []
    for block in "\n".join(lines).strip("\n").split("\n\n"):
        paragraph = block.strip("\n").split("\n")
        if paragraph[0].lstrip().startswith(">>>"):
            out += paragraph
        elif PARAMETERS.fullmatch(paragraph[0]):
            out += _parameters(paragraph)
        else:
            out += _marked("\n".join(line.strip() for line in paragraph)).split("\n")
        out.append("")
    return out


def _process(app: Sphinx, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
    if name.startswith("dcrfdsl"):
        lines[:] = plain(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
