"""The interface of a data format, and the decisions that all formats make in the same way.

A file has all declared columns, or all but the optional ones (labels, when tagging). Its first line decides which, and
the other lines must agree. Not here: the formats themselves.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ..foundation import DcrfError, Diagnostic, data_error, did_you_mean
from ..semantics import FORMATS, Argument, Column, DataSpec, Text, plain
from .column_blocks import Block
from .columns import Parsed


@dataclass(frozen=True)
class Wanted:
    """The columns to read from one file: `required` ones must exist, `optional` ones may be missing, all together.

    So may the `spare` ones, by themselves: `data.readers` sees to that where a file does not tell columns by number.
    gold: whether the optional columns matter. If so, sentences are left out whose annotation somebody rejected.
    """

    file: str
    data: DataSpec
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    spare: frozenset[str] = frozenset()
    gold: bool = True

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.data.columns

    @property
    def without_optional(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.name not in self.optional)

    def without(self, left_out: frozenset[str]) -> tuple[Column, ...]:
        """The columns but these."""
        return tuple(column for column in self.columns if column.name not in left_out)

    def check_names(self) -> None:
        """`DcrfError` if a required column is not declared."""
        declared = [column.name for column in self.columns]
        for name in sorted(self.required.difference(declared)):
            guess = did_you_mean(name, declared)
            listed = " ".join(declared)
            raise data_error(
                "missing-column",
                f"column `{name}` is needed, but the data are declared as `{listed}`",
                file=self.file,
                help=f"did you mean `{guess}`?" if guess else f"add `{name}` to the `data` statement",
            )


class Reader(Protocol):
    """Reads one file, block by block, and keeps the decisions of its first line from block to block."""

    bytes_per_token: ClassVar[int]  # an estimate, used to cut blocks of about a wanted number of tokens
    warnings: list[str]

    def __init__(self, wanted: Wanted): ...

    def cut(self, text: bytes) -> int:
        """Number of bytes of `text` up to its last sentence end; 0 if it has none."""
        ...

    def parse(self, block: Block) -> Parsed: ...


def absent_columns(names: Collection[str], wanted: Wanted, line: int, actual: str) -> DcrfError:
    """The error for required columns missing from the file; `actual` says which columns it has."""
    listed = ", ".join(f"`{name}`" for name in names)
    plural = "columns" if len(names) > 1 else "column"
    declared = " ".join(column.name for column in wanted.columns)
    message = f"{plural} {listed} missing: {actual}, expected `{declared}`"
    return data_error("missing-column", message, file=wanted.file, line=line)


def text_options(data: DataSpec) -> dict[str, str]:
    """The options of the `data` statement as texts; `DcrfError` for one that its format does not have or cannot use."""
    known, options = FORMATS[data.format].options, dict[str, str]()
    for option in data.options:
        name, value = option.name or "", plain(option.value)
        if name not in known:
            guess = did_you_mean(name, known)
            remedy = f"did you mean `{guess}`?" if guess else None
            raise DcrfError(Diagnostic("unknown-setting", f"`{data.format}` has no option `{name}`", help=remedy))
        fits, words = known[name]
        if not isinstance(value, str) or not fits(value):
            raise DcrfError(Diagnostic("bad-setting", f"`{name}` of `{data.format}`: expected {words}"))
        options[name] = value
    return options


def with_predictions_apart(data: DataSpec) -> DataSpec:
    """The statement with predictions beside the gold of the file. `DcrfError` if its format has no choice there."""
    if _CHOICE not in FORMATS[data.format].options:
        message = f"predictions in `{data.format}` are beside the gold in any case"
        raise DcrfError(Diagnostic("idle-apart", message, help="leave out `--apart`"))
    others = tuple(option for option in data.options if option.name != _CHOICE)
    apart = Argument(name=_CHOICE, value=Text(value=_APART[data.format]))
    return data.model_copy(update={"options": (*others, apart)})


def with_gold_kept(data: DataSpec) -> DataSpec:
    """The same where the format has a choice, else the statement as it is."""
    return with_predictions_apart(data) if _CHOICE in FORMATS[data.format].options else data


_CHOICE = "predictions"
_APART = {"conllu": "misc", "spans": "apart"}
