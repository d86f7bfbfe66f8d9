"""Tables 1 and 2 of Suzuki, McDermott and Isozaki (2006), beside the paper's, and its tests.

Works on the records that `run` makes. McNemar's test is the exact binomial one. Not here: training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from means import average, interval, mean_of
from rich.table import Table
from running import chance, empty_table
from scipy import stats

Record = Mapping[str, Any]
Row = dict[str, Any]


class Paper(NamedTuple):
    """A row of the paper's tables: n of C = 10ⁿ, segment F1 and sentence accuracy in percent."""

    n: int | None
    f1: float
    sentence: float


# Named entities are the paper's English ones; here they are Spanish.
PAPER: Mapping[str, Mapping[str, Paper]] = {
    "chunk": {
        "ml": Paper(None, 93.19, 56.26),
        "map": Paper(0, 93.71, 59.15),
        "mce_log": Paper(3, 93.92, 60.19),
        "mce_sig": Paper(3, 93.85, 60.14),
        "mce_f": Paper(5, 93.96, 60.44),
        "mce_sig_map": Paper(3, 93.97, 60.59),
        "mce_f_map": Paper(5, 94.03, 60.74),
    },
    "ner": {
        "ml": Paper(None, 82.39, 75.71),
        "map": Paper(0, 83.79, 77.39),
        "mce_log": Paper(3, 84.30, 78.02),
        "mce_sig": Paper(3, 83.82, 77.52),
        "mce_f": Paper(4, 84.72, 78.72),
        "mce_sig_map": Paper(3, 84.57, 77.71),
        "mce_f_map": Paper(4, 85.29, 79.26),
    },
}
NAMES = {
    "ml": "ML",
    "map": "MAP",
    "mce_log": "MCE (log)",
    "mce_sig": "MCE (sig)",
    "mce_f": "MCE-F",
    "mce_sig_map": "MCE (sig), from MAP",
    "mce_f_map": "MCE-F, from MAP",
}
AGAINST = ("ml", "map")  # what every row is tested against
COMPARED = ("map", "mce_f_map", "mce_f")  # over cuts: the first with the others


def mcnemar_p(first: Iterable[int], second: Iterable[int]) -> float | None:
    """p that two taggers are as likely to be right; None where they are wrong in the same cases.

    first, second: the cases in which each is wrong.
    """
    one, other = set(first), set(second)
    alone = len(one - other)
    differing = len(one ^ other)
    return float(stats.binomtest(alone, differing).pvalue) if differing else None


def score_rows(task: str, records: Sequence[Record]) -> list[Row]:
    """A row a record of the test set, in the order of `NAMES`, scores in percent; p: against ML and MAP."""
    plain = {record["method"]: record for record in records if record["method"] in AGAINST}
    rows = []
    for own in sorted(records, key=lambda own: list(NAMES).index(own["method"])):
        chances: dict[str, dict[str, float | None]] = {
            other: {
                kind: mcnemar_p(own[f"wrong_{kind}"], plain[other][f"wrong_{kind}"]) for kind in ("labels", "sentences")
            }
            for other in AGAINST
            if other in plain and other != own["method"]
        }
        rows.append(
            {name: own[name] for name in ("method", "n", "optimizer", "iterations", "seconds", "cpu_seconds")}
            | {name: 100 * own["scores"][name] for name in ("f1", "sentence")}
            | {f"train_{name}": 100 * own["train_scores"][name] for name in ("f1", "sentence")}
            | {"p": chances, "paper": PAPER[task][own["method"]]._asdict()}
        )
    return rows


def score_table(rows: Sequence[Row]) -> Table:
    """Scores beside the paper's."""
    table = empty_table(
        "method", "optimizer", "n", "F1", "sentence", "train F1", "train sentence", "iterations", "CPU (s)",
        "paper: n", "paper: F1", "paper: sentence", left=("optimizer",),
    )  # fmt: skip
    for row in rows:
        paper = row["paper"]
        table.add_row(
            NAMES[row["method"]],
            row["optimizer"],
            _power(row["n"]),
            *(f"{row[name]:.2f}" for name in ("f1", "sentence", "train_f1", "train_sentence")),
            str(row["iterations"]),
            f"{row['cpu_seconds']:.0f}",
            _power(paper["n"]),
            f"{paper['f1']:.2f}",
            f"{paper['sentence']:.2f}",
        )
    return table


def test_table(rows: Sequence[Row]) -> Table:
    """McNemar's tests of each row against ML and MAP."""
    tests = [(other, kind) for other in AGAINST for kind in ("labels", "sentences")]
    table = empty_table(
        "method", "optimizer", *(f"{NAMES[other]}: {kind}" for other, kind in tests), left=("optimizer",)
    )
    for row in rows:
        if row["method"] not in AGAINST:
            table.add_row(
                NAMES[row["method"]],
                row["optimizer"],
                *(chance(row["p"].get(other, {}).get(kind)) for other, kind in tests),
            )
    return table


def dev_table(records: Sequence[Record]) -> Table:
    """What each C that was tried scores on the development data."""
    table = empty_table("method", "n", "F1", "sentence", "train F1", "objective", "iterations", "CPU (s)")
    for own in records:
        table.add_row(
            NAMES[own["method"]],
            _power(own["n"]),
            *(f"{100 * own['scores'][name]:.2f}" for name in ("f1", "sentence")),
            f"{100 * own['train_scores']['f1']:.2f}",
            f"{own['objective']:.5g}",
            str(own["iterations"]),
            f"{own['cpu_seconds']:.0f}",
        )
    return table


MEASURES = {
    "dev_f1": ("scores", "f1"),
    "f1": ("test_scores", "f1"),
    "sentence": ("test_scores", "sentence"),
}  # of a cut: which scores


def cut_rows(cuts: Sequence[Mapping[str, Record]]) -> list[Row]:
    """A row a method of `COMPARED`: means over cuts in percent, and how much more than MAP.

    dev_f1 is of the sentences that choose C, f1 and sentence are of the test set.
    """
    rows = []
    for name in (name for name in COMPARED if cuts and name in cuts[0]):
        row: Row = {"method": name, "n": [cut[name]["n"] for cut in cuts], "more": {}}
        for measure, (scores, key) in MEASURES.items():
            own, plain = ([100 * cut[one][scores][key] for cut in cuts] for one in (name, COMPARED[0]))
            row[measure] = mean_of(own)._asdict()
            if name != COMPARED[0]:
                row["more"][measure] = mean_of([a - b for a, b in zip(own, plain, strict=True)])._asdict()
        row["train_f1"] = average([100 * cut[name]["train_scores"]["f1"] for cut in cuts])
        rows.append(row)
    return rows


def cut_table(rows: Sequence[Row]) -> Table:
    """± is the interval over cuts, p of a paired t-test."""
    headings = ("held-out F1", "more", "p", "test F1", "more", "p", "sentence", "more", "p", "train F1")
    table = empty_table("method", "n", *headings)
    for row in rows:
        cells = []
        for measure in MEASURES:
            more = row["more"].get(measure)
            cells += [interval(row[measure]), *(("", "") if more is None else (interval(more, "+"), chance(more["p"])))]
        table.add_row(NAMES[row["method"]], ", ".join(map(str, row["n"])), *cells, f"{row['train_f1']:.2f}")
    return table


def _power(n: int | None) -> str:
    return "" if n is None else str(n)
