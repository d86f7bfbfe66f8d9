"""What pages and outputs consist of: blocks, each a paragraph, a table, a heat map, a picture, a listing.

All text in them is text: only `Markup`, made by a library or by charts and drawings, reaches a browser as it is. Not
here: what blocks say, their HTML (`block_html`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

from markupsafe import Markup

SHADES = 6  # of a heat map, on either side of no colour
HUES = 12  # of labels in a style sheet; with more labels they repeat


@dataclass(frozen=True)
class Paragraph:
    """A paragraph.   kind: `note` for what the reader should know before trusting a number."""

    name: ClassVar[str] = "paragraph"
    text: str
    kind: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    name: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class TextTable:
    """A table. head: of the columns.   rows: of cells; the first cell heads its row.   words: which columns hold words,
    and so are not aligned to the right.
    """

    name: ClassVar[str] = "table"
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[int] = (0,)


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

    name: ClassVar[str] = "heat"
    caption: str
    corner: str
    head: Sequence[str]
    rows: Sequence[HeatRow]


@dataclass(frozen=True)
class Picture:
    """A drawing in SVG, and what it shows.   kind: `graph` if its marks say more under a pointer or with focus."""

    name: ClassVar[str] = "picture"
    svg: Markup
    caption: str
    kind: str = ""


@dataclass(frozen=True)
class Listing:
    """Text with highlighting as HTML."""

    name: ClassVar[str] = "listing"
    html: Markup
    caption: str


class Stretch(NamedTuple):
    """One or more words with their labels, at most one a layer. labels: pairs of text and hue; a text may be empty."""

    words: str
    labels: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True)
class LabelledText:
    """A text whose stretches show their labels.   head: what stands before it.   stacked: each stretch is a column of
    its word and its labels; otherwise its one label follows it.
    """

    name: ClassVar[str] = "labelled"
    head: str
    stretches: Sequence[Stretch]
    stacked: bool = False


@dataclass(frozen=True)
class Fold:
    """Blocks that are shown on demand."""

    name: ClassVar[str] = "fold"
    title: str
    blocks: Sequence[Block]


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
