"""Table 1 of McCallum and Sutton (2004): scores, times and tests, beside the paper's columns.

Works on the records that `run` makes: of each row of the table its scores and how many tags of each test sentence are
wrong. McNemar's test is the exact binomial one. Not here: training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table
from running import chance, empty_table
from scipy import stats

Record = Mapping[str, Any]
Row = dict[str, Any]


class Paper(NamedTuple):
    """A row of the paper's table: F1 (named entities) or accuracy (parts of speech) in percent, and time in minutes."""

    train: float
    test: float
    minutes: int


PAPER: Mapping[str, Mapping[str, Paper]] = {
    "ner": {
        "memm": Paper(99.89, 88.90, 60),
        "crf": Paper(99.95, 89.87, 540),
        "nota_scaled": Paper(99.82, 90.47, 335),
    },
    "pos": {
        "memm": Paper(99.1, 88.1, 128),
        "crf": Paper(99.8, 88.1, 840),
        "few_local": Paper(99.08, 88.8, 150),
    },
}

MODELS = {
    "memm": "MEMM (local)",
    "crf": "CRF",
    "plain": "CRF-PT, no NOTA",
    "plain_scaled": "CRF-PT, no NOTA, scale",
    "nota": "CRF-PT, NOTA",
    "nota_local": "CRF-PT, NOTA (local)",
    "nota_scaled": "CRF-PT, NOTA, scale",
    "few": "CRF-PT, some NOTA",
    "few_local": "CRF-PT, some NOTA (local)",
}
MEASURES = {"ner": "F1", "pos": "accuracy"}
AGAINST = ("memm", "crf")  # what every row is tested against


# tests ----------------------------------------------------------------------------------------------------------


def mcnemar_p(first: Sequence[int], second: Sequence[int]) -> float | None:
    """p that two taggers are as likely to label a sentence wholly right; None where they never disagree.

    first, second: wrong tags of each sentence.
    """
    pairs = list(zip(first, second, strict=True))
    one = sum(a == 0 and b > 0 for a, b in pairs)
    other = sum(a > 0 and b == 0 for a, b in pairs)
    if not one + other:
        return None
    return float(stats.binomtest(one, one + other).pvalue)


def paired_p(first: Sequence[int], second: Sequence[int]) -> float | None:
    """p of Student's paired t-test on the number of wrong tags a sentence; None where no difference varies."""
    n = len(first)
    differences = [a - b for a, b in zip(first, second, strict=True)]
    if len(set(differences)) < 2:
        return None
    mean = math.fsum(differences) / n
    variance = math.fsum((d - mean) ** 2 for d in differences) / (n - 1)
    return float(2 * stats.t.sf(abs(mean) / math.sqrt(variance / n), n - 1))


TESTS = {"ner": mcnemar_p, "pos": paired_p}
_NAMES = {
    "ner": "McNemar's test on sentences that are wholly right (exact)",
    "pos": "paired t-test on wrong tags a sentence",
}


# the table ------------------------------------------------------------------------------------------------------


def table1_rows(task: str, records: Mapping[str, Record]) -> list[Row]:
    """A row a model, in the order of `MODELS`; scores in percent, times in seconds.

    records: by model: `train`, `test` (shares in 0–1), `seconds`, `cpu_seconds`, `iterations`, `wrong`.
    """
    test = TESTS[task]
    rows = []
    for model in MODELS:
        if model not in records:
            continue
        own = records[model]
        chances = {
            other: test(own["wrong"], records[other]["wrong"]) if other != model and other in records else None
            for other in AGAINST
        }
        paper = PAPER[task].get(model)
        rows.append(
            {"model": model, "train": 100 * own["train"], "test": 100 * own["test"]}
            | {name: own[name] for name in ("seconds", "cpu_seconds", "iterations")}
            | {"p": chances, "paper": paper._asdict() if paper else None}
        )
    return rows


def table1(task: str, rows: Sequence[Row]) -> Table:
    measure = MEASURES[task]
    table = empty_table(
        "model", f"train {measure}", f"test {measure}", "time (s)", "CPU (s)", "L-BFGS", "p: MEMM", "p: CRF",
        f"paper: train {measure}", f"paper: test {measure}", "paper: time",
        caption=f"p: {_NAMES[task]}", caption_justify="left",
    )  # fmt: skip
    for row in rows:
        paper = row["paper"]
        table.add_row(
            MODELS[row["model"]],
            f"{row['train']:.2f}",
            f"{row['test']:.2f}",
            f"{row['seconds']:.1f}",
            f"{row['cpu_seconds']:.1f}",
            str(row["iterations"]),
            *(chance(row["p"][other]) for other in AGAINST),
            *((f"{paper['train']:.2f}", f"{paper['test']:.2f}", _hours(paper["minutes"])) if paper else ("", "", "")),
        )
    return table


def _hours(minutes: int) -> str:
    return f"{minutes // 60} h {minutes % 60:02d} min"
