"""What comparisons of numbers and bins may read. Problems are collected by a `TermReader`.

Not here: which terms there are (`term_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..schema import (
    Apply,
    BinProblem,
    Compares,
    Difference,
    Is,
    Number,
    Path,
    Quantity,
    Reference,
    Text,
    missing_mark,
    nodes,
    read_bins,
    reference_names,
)

if TYPE_CHECKING:
    from .term_rules import TermReader, TermType

# Types of terms that have no number -> what such a term is.
NO_NUMBERS: Mapping[str, str] = {"test": "a test", "vector": "a vector"}
SEVERAL: Mapping[str, str] = {"texts": "may have several values", "weighted bag": "is a weighted bag"}


def read_comparison(reader: TermReader, condition: Compares, path: Path) -> None:
    """`length(word) > 3`, `index[j] - index[i] < 20`: both sides must be numbers, the right one may be a constant."""
    for side, at in _sides(condition.left, (*path, "left")):
        read_number(reader, side, at)
    for side, at in _sides(condition.right, (*path, "right")):
        settled = reader.context.spec.settled(side) if isinstance(side, Reference) else side
        if isinstance(settled, Text):
            message = f"`{condition.sign}` compares numbers, and the constant is the text `{settled.value}`"
            reader.complain("not-a-number", message, at, "a text")
        elif not isinstance(settled, Number):
            read_number(reader, side, at)


def _sides(quantity: Quantity, path: Path) -> Iterator[tuple[Reference | Apply, Path]]:
    match quantity:
        case Difference():
            yield quantity.left, (*path, "left")
            yield quantity.right, (*path, "right")
        case Reference() | Apply():
            yield quantity, path


def read_number(reader: TermReader, term: Reference | Apply, path: Path, taker: str = "a comparison") -> TermType:
    """A term whose value must be a number, or a text that is one."""
    kind = reader.term(term, path)
    if kind in ("number", "text", "anything"):
        return kind
    if kind in SEVERAL:
        reader.complain("several-values", f"{taker} takes one number, and this {SEVERAL[kind]}", path, "several values")
    elif kind == "label":
        name = next(reference_names(nodes(term)), "")
        message = f"{taker} takes a number of the data, and `{name}` is what the model predicts"
        remedy = f"list the states, as in `{name} in {{1, 2}}`"
        reader.complain("label-as-argument", message, path, "not observed", remedy)
    else:
        what = NO_NUMBERS.get(kind, f"a {kind}")
        reader.complain("not-a-number", f"{taker} takes a number, and this is {what}", path, what)
    return "anything"


def read_gap_test(reader: TermReader, condition: Is, path: Path) -> None:
    """`temp is missing`: there must be a mark for numbers that are not known."""
    reader.term(condition.term, (*path, "term"))
    if missing_mark(reader.context.spec.data) is None:
        message = "every number of this data has to be there, as `data` does not say how a missing one is written"
        remedy = 'for example `missing = ""` among the options of `data`'
        reader.complain("not-a-text", message, path, "never true", remedy)


def read_bin(reader: TermReader, term: Apply, path: Path) -> None:
    """The numbers of `bin(age, 4)` and `bin(age, 18, 30)`, which are numbers."""
    bins = read_bins(term, reader.context.spec.settled)
    if isinstance(bins, BinProblem):
        reader.complain("bad-argument", bins.message, (*path, "arguments", bins.index), help=bins.help)
