"""The canonical layout as edits of single lines, so that the cursor and folded blocks stay where they are.

It is what `dcrfdsl fmt` writes; a text with a syntax error is left alone. Not here: the layout (`syntax.format`).
"""

from __future__ import annotations

import difflib

from ..syntax import format_template, parse_partial
from .answers import Edit


def layout_edits(text: str) -> tuple[Edit, ...]:
    """The edits; none if the text has a syntax error, or is in this layout. Line ends stay what they are."""
    template, problems = parse_partial(text, places=False)
    if problems:
        return ()
    new = format_template(template)
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
    before, after = text.splitlines(keepends=True), new.splitlines(keepends=True)
    offsets = [0]
    for line in before:
        offsets.append(offsets[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return tuple(
        Edit(offsets[first], offsets[last], "".join(after[start:end]))
        for kind, first, last, start, end in matcher.get_opcodes()
        if kind != "equal"
    )
