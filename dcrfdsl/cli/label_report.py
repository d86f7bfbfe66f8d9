"""The tables of labels for people and programs: scores by state and by segment type, confusion matrices.

Not here: counting (`metrics.class_scores`), choosing which are printed (`evaluate_command`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from .report import cell, print_table
from .terminal import terminal

if TYPE_CHECKING:
    from ..metrics import ClassScores, Confusion, LabelTables, ScoreRow

NO_LABEL = "_"  # as `tag` writes it
MOST_STATES = 40  # of a matrix that a person can read
MOST_MISTAKES = 20  # lines of the list that stands in for a larger one


def tables_json(tables: Mapping[str, LabelTables]) -> dict[str, Any]:
    """The tables of each label as JSON."""
    return {
        label: {
            "by_state": _scores_json(one.by_state),
            **({} if one.by_type is None else {"by_type": _scores_json(one.by_type)}),
            "confusion": {
                "states": list(one.confusion.states),
                "counts": one.confusion.matrix.tolist(),
                "unlabelled": one.confusion.unlabelled.tolist(),
            },
        }
        for label, one in tables.items()
    }


def _scores_json(scores: ClassScores) -> dict[str, Any]:
    return {
        "classes": {name: row._asdict() for name, row in scores.rows.items()},
        **{name: row._asdict() for name, row in scores.averages.items()},
    }


def print_by_state(tables: Mapping[str, LabelTables]) -> None:
    """The scores of each state of these labels, with their averages below."""
    for label, one in tables.items():
        print()
        print_table(_scores_table(f"by_state({label})", one.by_state))


def print_by_type(tables: Mapping[str, LabelTables]) -> None:
    """The scores of each segment type of the labels that have segments."""
    for label, one in tables.items():
        if one.by_type is not None:
            print()
            print_table(_scores_table(f"by_type({label})", one.by_type))


def _scores_table(heading: str, scores: ClassScores) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(cell(heading), overflow="fold")
    for name in ("precision", "recall", "f1", "support"):
        table.add_column(name, justify="right")
    for name, row in scores.rows.items():
        table.add_row(cell(name), *_shown(row))
    table.add_row()
    for name, row in scores.averages.items():
        table.add_row(name, *_shown(row), style="dim")
    return table


def _shown(row: ScoreRow) -> list[str]:
    return [*(f"{100 * share:.2f}" for share in row[:3]), f"{row.support:,}"]


def print_confusion(tables: Mapping[str, LabelTables]) -> None:
    """The confusion matrix of each label, or its commonest mistakes if it has many states."""
    for label, one in tables.items():
        print()
        drawn = _matrix(label, one.confusion)
        if drawn is not None:
            print_table(drawn)
            continue
        mistakes = one.confusion.mistakes
        print_table(_mistakes(label, one.confusion))
        if len(mistakes) > MOST_MISTAKES:
            print(f"… and {len(mistakes) - MOST_MISTAKES:,} other confusions")


def _matrix(label: str, confusion: Confusion) -> Table | None:
    """A row for each gold state; None if it is larger than the screen."""
    states = confusion.states
    rows = confusion.matrix.tolist()
    columns = [*states]
    if confusion.unlabelled.any():
        columns.append(NO_LABEL)
        rows = [[*row, more] for row, more in zip(rows, confusion.unlabelled.tolist(), strict=True)]
    heading = f"confusion({label})"
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(cell(heading), no_wrap=True)
    for state in columns:
        table.add_column(cell(state), justify="right", no_wrap=True)
    for gold, (state, row) in enumerate(zip(states, rows, strict=True)):
        table.add_row(cell(state), *(_count(count, is_right=gold == k) for k, count in enumerate(row)))
    if len(states) > MOST_STATES or (sys.stdout.isatty() and not _fits(table)):
        return None
    return table


def _fits(table: Table) -> bool:
    console = terminal(sys.stdout)
    return table.__rich_measure__(console, console.options.update(width=100_000)).maximum <= console.width


def _count(count: int, *, is_right: bool) -> Text:
    return Text(f"{count:,}" if count else ".", style="green" if is_right else "red" if count else "dim")


def _mistakes(label: str, confusion: Confusion) -> Table:
    """The commonest mistakes, with their share of the tokens of the gold state."""
    of_state: dict[str, int] = {name: row.support for name, row in confusion.scores.rows.items()}
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(cell(f"confusion({label})"), overflow="fold")
    table.add_column("predicted", overflow="fold")
    for name in ("count", "% of gold"):
        table.add_column(name, justify="right")
    for gold, predicted, count in confusion.mistakes[:MOST_MISTAKES]:
        share = f"{100 * count / of_state[gold]:.2f}"
        table.add_row(cell(gold), cell(NO_LABEL if predicted is None else predicted), f"{count:,}", share)
    return table
