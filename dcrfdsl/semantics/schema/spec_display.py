"""Specifications as notebooks show them: messages, and the canonical template with highlighting.

Not here: what a model costs, which needs rooms above this one (`cli.cost_table`; `%load_ext dcrfdsl` shows it).
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from ...foundation import Block, Diagnostic, Listing, Paragraph, notebook_html, printable_lines, render_all
from ...syntax import highlighted

MOST_LINES = 400  # of a template in a notebook
MOST_CHARACTERS = 60_000
MOST_MESSAGES = 50


def template_listing(text: str) -> Listing:
    """The text of a template with highlighting."""
    return Listing(Markup(highlighted(printable_lines(text))), "The template of the model")


def template_blocks(text: str) -> list[Block]:
    """The beginning of a template with highlighting, and how much is left out."""
    lines = text.splitlines(keepends=True)
    shown = "".join(lines[:MOST_LINES])[:MOST_CHARACTERS]
    blocks: list[Block] = [template_listing(shown)]
    if len(shown) < len(text):
        blocks.append(Paragraph(f"{len(text) - len(shown):,} more characters are left out.", kind="note"))
    return blocks


def message_blocks(diagnostics: Sequence[Diagnostic]) -> list[Block]:
    """Messages as the command prints them, errors first; the first of them if they are many."""
    if not diagnostics:
        return []
    ordered = sorted(diagnostics, key=lambda one: one.severity != "error")
    blocks: list[Block] = [Listing(escape(printable_lines(render_all(ordered[:MOST_MESSAGES]))), "Messages")]
    if len(ordered) > MOST_MESSAGES:
        blocks.append(Paragraph(f"{len(ordered) - MOST_MESSAGES:,} more messages are left out.", kind="note"))
    return blocks


def template_html(text: str, diagnostics: Sequence[Diagnostic] = ()) -> str:
    """What was said of a template, and its canonical text, as the output of a notebook."""
    return notebook_html([*message_blocks(diagnostics), *template_blocks(text)])
