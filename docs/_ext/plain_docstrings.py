"""Docstrings of the package are plain text with backquotes: here they become what Sphinx reads.

`name` becomes a literal, and lines such as `path: of the file.` a list of parameters. Of a class that users get, and do
not make, they are its attributes, as they are where a class takes nothing of that name. Doctests stay as they are. Not
here: signatures (`plain_signatures`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sphinx.application import Sphinx

PARAMETERS = re.compile(r"([a-z]\w*(?:, [a-z]\w*)*):\s+(.+)")
SEVERAL = re.compile(r"\s{3,}(?=[a-z]\w*(?:, [a-z]\w*)*:\s)")  # `program: a file.   bytes: its size.` on one line
LONGEST = 40  # characters of a type beside its attribute
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


def _fields(lines: list[str]) -> Iterator[tuple[list[str], str]]:
    """The names of each field and what is said of them; lines that are indented go on with the one before."""
    fields: list[tuple[list[str], str]] = []
    for line in lines:
        first, *others = SEVERAL.split(line.strip())
        for n, part in enumerate([first, *others]):
            found = PARAMETERS.fullmatch(part)
            if found and (n or not line[0].isspace()):
                fields.append((found[1].split(", "), found[2].strip()))
            else:
                names, text = fields.pop()
                fields.append((names, f"{text} {part.strip()}"))
    yield from fields


def plain(
    lines: list[str], taken: Collection[str] | None = None, types: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """The docstring as reST, paragraph by paragraph.   taken: what a class takes; other names are its attributes, and
    `types` has their types.

    All parameters stand in one list, where the first of them stand: Sphinx writes their types into every list.
    """
    blocks: list[list[str]] = []
    parameters: list[str] = []
    for block in "\n".join(lines).strip("\n").split("\n\n"):
        paragraph = block.strip("\n").split("\n")
        if paragraph[0].lstrip().startswith(">>>"):
            blocks.append(paragraph)
        elif PARAMETERS.fullmatch(SEVERAL.split(paragraph[0])[0]):
            attributes: list[str] = []
            for names, text in _fields(paragraph):
                if taken is None or set(names) <= set(taken):
                    if not parameters:
                        blocks.append(parameters)
                    parameters += [f":param {name}: {_marked(text)}" for name in names]
                else:
                    shown = [f"``{name}``" + (f" ({types[name]})" if name in types else "") for name in names]
                    attributes.append(f"* {', '.join(shown)}: {_marked(text)}")
            if attributes:
                blocks += [["Its attributes:"], attributes]
        else:
            blocks.append(_marked("\n".join(line.strip() for line in paragraph)).split("\n"))
    return [line for block in blocks for line in (*block, "")]


def is_made(kind: type) -> bool:
    """Whether users make objects of a class: its docstring then shows how, and that of exceptions need not."""
    docstring = inspect.getdoc(kind) or ""
    return issubclass(kind, BaseException) or bool(re.search(rf"^(?:>>>|\.\.\.).*\b{kind.__name__}\(", docstring, re.M))


def _types(kind: type) -> dict[str, str]:
    """The types of attributes as the source has them, but for those that are long or private."""
    found = {}
    for name, hint in inspect.get_annotations(kind).items():
        text = str(getattr(hint, "__forward_arg__", hint))
        if len(text) <= LONGEST and not re.search(r"\b_|[<(]", text):
            found[name] = f"``{text}``"
    return found


def _taken(kind: type) -> set[str]:
    """The names of what a class takes: by its signature, and by `__init__` where `__new__` takes anything."""
    names: set[str] = set()
    for function in (kind, inspect.getattr_static(kind, "__init__")):
        try:
            names.update(inspect.signature(function).parameters)
        except (TypeError, ValueError):  # some classes of C have none
            continue
    return names


def _process(app: Sphinx, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
    if name.startswith("dcrfdsl"):
        if not isinstance(item, type):
            lines[:] = plain(lines)
        elif is_made(item):
            lines[:] = plain(lines, _taken(item))
        else:
            lines[:] = plain(lines, (), _types(item))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
