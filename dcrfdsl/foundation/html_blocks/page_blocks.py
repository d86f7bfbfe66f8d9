"""What pages and outputs of notebooks consist of, and its HTML: paragraphs, tables, heat maps, pictures, listings.

All text in a block is text: only `Markup`, made by a library or by charts and drawings, reaches a browser as it is.
Every text is escaped, characters that act are shown as escapes, and no attribute holds a style or a script. Not here:
what blocks say, style sheets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from markupsafe import Markup, escape

from ..errors import printable_lines
from ..late_dataclass import dataclass

SHADES = 6  # of a heat map, on either side of no colour
HUES = 12  # of labels in a style sheet; with more labels they repeat


@dataclass(frozen=True)
class Paragraph:
    """A paragraph.   kind: `note` for what the reader should know before trusting a number."""

    text: str
    kind: str = ""

    def to_html(self) -> Markup:
        """Words between backquotes are code."""
        parts = [
            Markup("<code>{}</code>").format(_text(part)) if number % 2 else _text(part)
            for number, part in enumerate(self.text.split("`"))
        ]
        kind = Markup(' class="note"') if self.kind == "note" else ""
        return Markup("<p{}>{}</p>").format(kind, _joined(parts))


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    text: str

    def to_html(self) -> Markup:
        return Markup('<h3 dir="auto">{}</h3>').format(_text(self.text))


@dataclass(frozen=True)
class TextTable:
    """A table. head: of the columns.   rows: of cells; the first cell heads its row.   words: which columns hold words,
    and so are not aligned to the right.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[int] = (0,)

    def to_html(self) -> Markup:
        def of_words(column: int) -> Markup:
            return Markup(' class="w"') if column in self.words else Markup("")

        head = _joined(
            Markup('<th scope="col"{}>{}</th>').format(of_words(column), _text(text))
            for column, text in enumerate(self.head)
        )

        def cell(column: int, text: str) -> Markup:
            if column == 0:
                return Markup('<th scope="row"{}><bdi>{}</bdi></th>').format(of_words(0), _text(text))
            inner = Markup("<bdi>{}</bdi>").format(_text(text)) if column in self.words else _text(text)
            return Markup("<td{}>{}</td>").format(of_words(column), inner)

        rows = (_joined(cell(column, text) for column, text in enumerate(row)) for row in self.rows)
        return _region(self.caption, _whole_table(self.caption, head, rows))


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map: its text, and its colour: a shade's name of the style sheet, empty for none."""

    text: str
    shade: str = ""


@dataclass(frozen=True)
class HeatRow:
    """A row of a heat map."""

    head: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class HeatTable:
    """A table whose cells are coloured by their numbers, which they show too.

    corner: what rows and columns are.   head: of the columns.
    """

    caption: str
    corner: str
    head: Sequence[str]
    rows: Sequence[HeatRow]

    def to_html(self) -> Markup:
        corner = Markup('<th scope="col" class="w corner">{}</th>').format(_text(self.corner))
        heads = (Markup('<th scope="col"><bdi>{}</bdi></th>').format(_text(text)) for text in self.head)

        def cell(one: Cell) -> Markup:
            shade = Markup(' class="{}"').format(one.shade) if one.shade else ""
            return Markup("<td{}>{}</td>").format(shade, _text(one.text))

        rows = (
            Markup('<th scope="row" class="w"><bdi>{}</bdi></th>{}').format(
                _text(row.head), _joined(map(cell, row.cells))
            )
            for row in self.rows
        )
        return _region(self.caption, _whole_table(self.caption, _joined([corner, *heads]), rows, "heat"))


@dataclass(frozen=True)
class Picture:
    """A drawing in SVG, and what it shows.   kind: `graph` if its marks say more under a pointer or with focus."""

    svg: Markup
    caption: str
    kind: str = ""

    def to_html(self) -> Markup:
        """The panel of a graph shows, in pages with a script, what a pointer would bring up."""
        graph = self.kind == "graph"
        panel = Markup('<pre class="panel" aria-live="polite" hidden></pre>\n') if graph else ""
        whole = Markup("<figure{}>\n{}\n{}<figcaption>{}</figcaption>\n</figure>")
        region = _region(self.caption, self.svg, "group" if graph else "region")
        return whole.format(Markup(' class="graph"') if graph else "", region, panel, _text(self.caption))


@dataclass(frozen=True)
class Listing:
    """Text with highlighting as HTML."""

    html: Markup
    caption: str

    def to_html(self) -> Markup:
        return _region(self.caption, Markup('<pre class="listing"><code>{}</code></pre>').format(self.html))


class Stretch(NamedTuple):
    """One or more words with their labels, at most one a layer. labels: pairs of text and hue; a text may be empty."""

    words: str
    labels: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True)
class LabelledText:
    """A text whose stretches show their labels.   head: what stands before it.   stacked: each stretch is a column of
    its word and its labels; otherwise its one label follows it.
    """

    head: str
    stretches: Sequence[Stretch]
    stacked: bool = False

    def to_html(self) -> Markup:
        shown = _stacked if self.stacked else _marked
        head = Markup('<span class="number">{}</span>').format(_text(self.head))
        kind = "labelled stacks" if self.stacked else "labelled"
        parts = _joined([head, *map(shown, self.stretches)], " ")
        return Markup('<div class="{}" dir="auto">{}</div>').format(kind, parts)


@dataclass(frozen=True)
class Fold:
    """Blocks that are shown on demand."""

    title: str
    blocks: Sequence[Block]

    def to_html(self) -> Markup:
        inner = _joined(Markup("\n{}").format(one.to_html()) for one in self.blocks)
        return Markup("<details><summary>{}</summary>{}\n</details>").format(_text(self.title), inner)


Block: TypeAlias = Paragraph | Heading | TextTable | HeatTable | Picture | Listing | LabelledText | Fold


def whole_shade(share: float, colour: str) -> str:
    """The shade of a number from 0 to 1 in a colour of the style sheet: `hit` or `miss`."""
    return f"{colour}{min(SHADES, 1 + int(share * SHADES))}" if share > 0 else ""


def signed_shade(share: float) -> str:
    """The shade of a number from -1 to 1: `less1` … `less6` below 0, `more1` … `more6` above it."""
    level = min(SHADES, round(abs(share) * SHADES))
    return f"{'more' if share > 0 else 'less'}{level}" if level else ""


def inline_svg(picture: str) -> Markup:
    """A drawing, whose texts are escaped, as part of a page, which needs no namespace."""
    return Markup(picture.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1))


# HTML -----------------------------------------------------------------------------------------------------------------


def _text(text: str) -> Markup:
    return escape(printable_lines(text))


def _joined(parts: Iterable[Markup], between: str = "") -> Markup:
    return Markup(between).join(parts)


def _region(caption: str, inner: Markup, role: str = "region") -> Markup:
    """A part that scrolls sideways by itself, also with the keyboard."""
    whole = Markup('<div class="wide" tabindex="0" role="{}" aria-label="{}">{}</div>')
    return whole.format(role, _text(caption), inner)


def _whole_table(caption: str, head: Markup, rows: Iterable[Markup], kind: str = "") -> Markup:
    whole = Markup("<table{}>\n<caption>{}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>{}\n</tbody>\n</table>")
    lines = _joined(Markup("\n<tr>{}</tr>").format(row) for row in rows)
    return whole.format(Markup(' class="{}"').format(kind) if kind else "", _text(caption), head, lines)


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
