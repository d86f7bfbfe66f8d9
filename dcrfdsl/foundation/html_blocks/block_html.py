"""Blocks as HTML, a function a kind of block, for pages and for outputs of notebooks.

Every text is escaped, characters that act are shown as escapes, and no attribute holds a style or a script. Not here:
which blocks there are (`page_blocks`), style sheets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from markupsafe import Markup, escape

from ..errors import printable_lines
from .page_blocks import (
    HUES,
    Block,
    Cell,
    Fold,
    Heading,
    HeatTable,
    LabelledText,
    Listing,
    Paragraph,
    Picture,
    Stretch,
    TextTable,
)


def block_html(block: Block) -> Markup:
    """The block as HTML."""
    return _SHOWN[block.name](block)


def _text(text: str) -> Markup:
    return escape(printable_lines(text))


def _joined(parts: Iterable[Markup], between: str = "") -> Markup:
    return Markup(between).join(parts)


def _paragraph(block: Paragraph) -> Markup:
    """Words between backquotes are code."""
    parts = [
        Markup("<code>{}</code>").format(_text(part)) if number % 2 else _text(part)
        for number, part in enumerate(block.text.split("`"))
    ]
    kind = Markup(' class="note"') if block.kind == "note" else ""
    return Markup("<p{}>{}</p>").format(kind, _joined(parts))


def _heading(block: Heading) -> Markup:
    return Markup('<h3 dir="auto">{}</h3>').format(_text(block.text))


def _region(caption: str, inner: Markup, role: str = "region") -> Markup:
    """A part that scrolls sideways by itself, also with the keyboard."""
    whole = Markup('<div class="wide" tabindex="0" role="{}" aria-label="{}">{}</div>')
    return whole.format(role, _text(caption), inner)


def _table(block: TextTable) -> Markup:
    def of_words(column: int) -> Markup:
        return Markup(' class="w"') if column in block.words else Markup("")

    head = _joined(
        Markup('<th scope="col"{}>{}</th>').format(of_words(column), _text(text))
        for column, text in enumerate(block.head)
    )

    def cell(column: int, text: str) -> Markup:
        if column == 0:
            return Markup('<th scope="row"{}><bdi>{}</bdi></th>').format(of_words(0), _text(text))
        inner = Markup("<bdi>{}</bdi>").format(_text(text)) if column in block.words else _text(text)
        return Markup("<td{}>{}</td>").format(of_words(column), inner)

    rows = (_joined(cell(column, text) for column, text in enumerate(row)) for row in block.rows)
    return _region(block.caption, _whole_table(block.caption, head, rows))


def _whole_table(caption: str, head: Markup, rows: Iterable[Markup], kind: str = "") -> Markup:
    whole = Markup("<table{}>\n<caption>{}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>{}\n</tbody>\n</table>")
    lines = _joined(Markup("\n<tr>{}</tr>").format(row) for row in rows)
    return whole.format(Markup(' class="{}"').format(kind) if kind else "", _text(caption), head, lines)


def _heat(block: HeatTable) -> Markup:
    corner = Markup('<th scope="col" class="w corner">{}</th>').format(_text(block.corner))
    heads = (Markup('<th scope="col"><bdi>{}</bdi></th>').format(_text(text)) for text in block.head)

    def cell(one: Cell) -> Markup:
        shade = Markup(' class="{}"').format(one.shade) if one.shade else ""
        return Markup("<td{}>{}</td>").format(shade, _text(one.text))

    rows = (
        Markup('<th scope="row" class="w"><bdi>{}</bdi></th>{}').format(_text(row.head), _joined(map(cell, row.cells)))
        for row in block.rows
    )
    return _region(block.caption, _whole_table(block.caption, _joined([corner, *heads]), rows, "heat"))


def _picture(block: Picture) -> Markup:
    """The panel of a graph shows, in pages with a script, what a pointer would bring up."""
    graph = block.kind == "graph"
    panel = Markup('<pre class="panel" aria-live="polite" hidden></pre>\n') if graph else ""
    whole = Markup("<figure{}>\n{}\n{}<figcaption>{}</figcaption>\n</figure>")
    region = _region(block.caption, block.svg, "group" if graph else "region")
    return whole.format(Markup(' class="graph"') if graph else "", region, panel, _text(block.caption))


def _listing(block: Listing) -> Markup:
    return _region(block.caption, Markup('<pre class="listing"><code>{}</code></pre>').format(block.html))


def _labelled(block: LabelledText) -> Markup:
    shown = _stacked if block.stacked else _marked
    head = Markup('<span class="number">{}</span>').format(_text(block.head))
    kind = "labelled stacks" if block.stacked else "labelled"
    parts = _joined([head, *map(shown, block.stretches)], " ")
    return Markup('<div class="{}" dir="auto">{}</div>').format(kind, parts)


def _marked(stretch: Stretch) -> Markup:
    """Words, marked and followed by their label if they have one."""
    words = Markup("<bdi>{}</bdi>").format(_text(stretch.words))
    for text, hue in stretch.labels:
        if text:
            whole = Markup('<mark class="h{}">{} <small>{}</small></mark>')
            return whole.format(hue % HUES, words, _text(text))
    return words


def _stacked(stretch: Stretch) -> Markup:
    """A column: the word, and below it a label for each layer, or room for it."""
    words = Markup("<bdi>{}</bdi>").format(_text(stretch.words))
    labels = (
        Markup(' <mark class="h{}"><small>{}</small></mark>').format(hue % HUES, _text(text))
        if text
        else Markup(" <small>·</small>")
        for text, hue in stretch.labels
    )
    return Markup('<span class="stack">{}{}</span>').format(words, _joined(labels))


def _fold(block: Fold) -> Markup:
    inner = _joined(Markup("\n{}").format(block_html(one)) for one in block.blocks)
    return Markup("<details><summary>{}</summary>{}\n</details>").format(_text(block.title), inner)


_SHOWN: Mapping[str, Callable[[Any], Markup]] = {
    Paragraph.name: _paragraph,
    Heading.name: _heading,
    TextTable.name: _table,
    HeatTable.name: _heat,
    Picture.name: _picture,
    Listing.name: _listing,
    LabelledText.name: _labelled,
    Fold.name: _fold,
}
