"""What converted templates consist of: names of columns, and their text in the canonical layout.

Tools number their columns, so names come from the user, from a data file, or are made up. Not here: reading data
(`data`), of which only the first line is looked at; which features there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..foundation import DcrfError, Diagnostic, dataclass, printable, shortened
from ..syntax import RESERVED, format_template, parse

LABEL = "tag"
GRMM_SEPARATOR = "----"  # between the labels and the features of a line
MOST = 1000  # columns of a data file
UNUSABLE = RESERVED | {"bias", "first", "last", "lower", "extract"}  # which templates made here use


@dataclass(frozen=True)
class Columns:
    """names: of all columns, in the order of the file; label: one of them; given: whether a person named them."""

    names: tuple[str, ...]
    label: str
    given: bool

    def problem(self, number: int) -> str | None:
        """Why column `number` cannot be a feature."""
        if number >= len(self.names):
            columns = "column" if len(self.names) == 1 else "columns"
            return f"there is no column {number}: the data have {len(self.names)} {columns}, counted from 0"
        return f"column {number} is the label `{self.label}`" if self.names[number] == self.label else None


def chain_columns(
    names: Sequence[str] | None, label: str | None, data_columns: int | None, highest: int
) -> tuple[Columns, Diagnostic | None]:
    """The columns of a template whose highest number is `highest`, and a note if their names are made up.

    names: by a person; data_columns: how many the data have. Raises `DcrfError` if these do not agree.
    """
    if names is not None:
        checked_names(names)
        if len(names) < 2:
            raise _error("bad-columns", "one column is named, and a label and a feature need two", "name every column")
        if data_columns is not None and data_columns != len(names):
            message = f"the data have {data_columns} columns, and {len(names)} are named"
            raise _error("bad-columns", message, "name every column, the label too")
        chosen = names[-1] if label is None else label
        if chosen not in names:
            raise _error("bad-columns", f"the label `{chosen}` is none of the columns {', '.join(names)}")
        return Columns(tuple(names), chosen, True), None
    count = highest + 2 if data_columns is None else data_columns
    last = LABEL if label is None else label
    checked_names((last,))
    made = ("word", *(f"column{n}" for n in range(1, count - 1)))[: count - 1]
    taken = tuple(name if name != last else f"{name}0" for name in made)
    columns = Columns((*taken, last), last, False)
    known = "" if data_columns is not None else ", as the template reads no more"
    message = f"the data are taken to have the columns {', '.join(columns.names)}{known}; the last is the label"
    help = "`--columns word,pos,chunk` names them" + ("" if data_columns else "; `--data FILE` counts them")
    return columns, Diagnostic("made-up-columns", message, help=help, severity="note")


def checked_names(names: Iterable[str]) -> None:
    """Raises `DcrfError` if a name cannot name a column, or stands twice."""
    seen: set[str] = set()
    for name in names:
        if not re.fullmatch(r"[^\W\d]\w*", name):
            raise _error("bad-columns", f"`{shortened(name)}` cannot name a column", "use letters, digits and `_`")
        if name in UNUSABLE:
            raise _error("bad-columns", f"`{name}` has a meaning of its own in a template", f"use `{name}_`")
        if name in seen:
            raise _error("bad-columns", f"two columns are named `{name}`")
        seen.add(name)


def columns_of_data(text: str, name: str) -> int:
    """How many columns a data file has, by the first line of `text` that is not blank; of GRMM's data, how many labels.

    Raises `DcrfError` if there is no line, or only one column.
    """
    for line in text.splitlines():
        if line.strip():
            cells = line.split()
            if GRMM_SEPARATOR in cells[1:]:
                return cells.index(GRMM_SEPARATOR)
            count = len(cells)
            if not 2 <= count <= MOST:
                message = f"`{name}` has {count} column{'s' * (count != 1)}, and a label and a feature need two"
                raise _error("bad-columns", message, "a line is a token, and white space splits its columns")
            return count
    raise _error("bad-columns", f"`{name}` has no line to count columns on")


def fresh_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, or with a number behind it, so that it is not `taken`; it is from then on."""
    name, number = wanted, 2
    while name in taken or name in UNUSABLE:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name


def _error(slug: str, message: str, help: str | None = None) -> DcrfError:
    return DcrfError(Diagnostic(slug, message, help=help))


# the text ------------------------------------------------------------------------------------------------------------


LONG_LIST = 60  # characters of features on the line of a statement


def listed_statement(head: str, features: Sequence[str]) -> str:
    """A statement with a list: `clique tag as unigrams with states = all`, and its features as texts."""
    if not features:
        return f"{head}\n"
    listed = ", ".join(features)
    if len(listed) <= LONG_LIST:
        return f"{head}: {listed}\n"
    return "".join([f"{head}:\n", *(f"    {feature}\n" for feature in features)])


def template_text(headline: str, statements: Sequence[Sequence[str]], left_out: Iterable[str] = ()) -> str:
    """A template: its doc comment, the lines that could not be converted as comments, and blocks of statements."""
    left = [f"#   {printable(line)}\n" for line in left_out]
    blocks = ["".join(block) for block in (["# Not converted:\n", *left] if left else (), *statements) if block]
    text = f"dcrf 1\n## {printable(headline)}\n\n" + "\n".join(blocks)
    return format_template(parse(text, "<converted>"))
