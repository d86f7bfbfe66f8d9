"""What answers are made of: places as offsets in a text, edits, items of lists. The protocol's forms of them are made
in `lsp_server`. Not here: any question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ..foundation import dataclass


@dataclass(frozen=True)
class Spot:
    """Characters `start` to `end` of a file."""

    path: Path
    start: int
    end: int


@dataclass(frozen=True)
class Edit:
    """`text` in place of the characters `start` to `end`."""

    start: int
    end: int
    text: str


Edits: TypeAlias = Mapping[Path, Sequence[Edit]]


class Refused(Exception):
    """What was asked for would break the template; the text says why, and what to do."""


@dataclass(frozen=True)
class CodeAction:
    """`fixes`: the slug of the problem that it removes and where that stands, "" for a change of form."""

    title: str
    edits: Edits
    fixes: str = ""
    preferred: bool = False
    problem: tuple[int, int] = (0, 0)
    kind: str = "quickfix"


@dataclass(frozen=True)
class HoverText:
    markdown: str
    start: int
    end: int


@dataclass(frozen=True)
class Proposal:
    """A completion: `kind` is the word of the reference for it. `insert` stands for `label` where it differs."""

    label: str
    kind: str
    detail: str = ""
    documentation: str = ""
    insert: str = ""
    rank: int = 0


@dataclass(frozen=True)
class Symbol:
    """A statement in the outline; `start` to `end` is all of it, `name_start` to `name_end` its name."""

    name: str
    kind: str
    detail: str
    start: int
    end: int
    name_start: int
    name_end: int
    children: tuple[Symbol, ...] = ()


@dataclass(frozen=True)
class Fold:
    """Lines that can be hidden below their first one, as offsets in the first and the last."""

    start: int
    end: int
    kind: str = "region"


class Colour(NamedTuple):
    """A word of a kind of the legend."""

    start: int
    end: int
    kind: str
    declares: bool = False
    documents: bool = False


@dataclass(frozen=True)
class SignatureText:
    """`parameters`: their places in `label`, with what each means; `active`: the one at the cursor, or None."""

    label: str
    documentation: str
    parameters: tuple[tuple[int, int, str], ...] = ()
    active: int | None = None


@dataclass(frozen=True)
class InlayText:
    at: int
    text: str
    tooltip: str = field(default="")
