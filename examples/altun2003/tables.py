"""Table 1 of Altun and Hofmann (2003): accuracies over folds, beside the paper's, and tests against the CRF.

Works on the records that `run` makes. Deviations are of the accuracy of a fold, with one degree of freedom less than
folds; folds share training sentences, so they understate how far another draw of sentences would lead. Not here:
training.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from running import chance, empty_table
from scipy import stats

Record = Mapping[str, Any]
Row = dict[str, Any]

# Accuracy in percent. The HMM with overlapping features stands in brackets in the paper.
PAPER: Mapping[str, Mapping[str, float]] = {
    "ner": {
        "hmm": 89.13, "hmm_overlapping": 91.15, "crf": 94.55, "mrf": 94.56, "svm": 94.92, "exp": 94.14, "boost": 92.26,
    },
    "pos": {
        "hmm": 73.60, "hmm_overlapping": 77.22, "crf": 87.12, "mrf": 87.55, "svm": 88.16, "exp": 86.47, "boost": 85.89,
    },
}  # fmt: skip
NAMES = {
    "hmm": "HMM",
    "hmm_overlapping": "HMM, overlapping",
    "crf": "CRF",
    "mrf": "MRF",
    "svm": "SVM",
    "svm_hamming": "SVM, Hamming loss",
    "exp": "EXP",
    "boost": "Boost",
    "boost_steepest": "Boost, steepest",
    "perceptron": "averaged perceptron",
}
AGAINST = "crf"  # what every row is tested against


def deviation(values: Sequence[float]) -> float | None:
    """Standard deviation of a sample; None of a single value."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def paired_p(first: Mapping[int, int], second: Mapping[int, int]) -> float | None:
    """p of Student's paired t-test on the number of wrong labels a sentence; None where no difference varies.

    first, second: by sentence, the same sentences.
    """
    if first.keys() != second.keys():
        raise ValueError("the tests are of different sentences")
    differences = [first[sentence] - second[sentence] for sentence in first]
    spread = deviation(differences)
    if not spread:
        return None
    mean = math.fsum(differences) / len(differences)
    return float(2 * stats.t.sf(abs(mean) / (spread / math.sqrt(len(differences))), len(differences) - 1))


def _wrong(records: Sequence[Record]) -> dict[int, int]:
    """Wrong labels of each sentence over all folds."""
    return {s: wrong for own in records for s, wrong in zip(own["sentences"], own["wrong"], strict=True)}


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def rows_of(task: str, records: Sequence[Record]) -> list[Row]:
    """A row a method, in the order of `NAMES`; accuracies in percent: mean over folds, and deviation.

    records: of tests, one a method and fold.
    """
    by_method = {name: [own for own in records if own["method"] == name] for name in NAMES}
    rows = []
    for name, own in by_method.items():
        if not own:
            continue
        scores = [100 * record["accuracy"] for record in own]
        other = by_method[AGAINST]
        same = len(other) == len(own) and name != AGAINST
        rows.append(
            {
                "method": name,
                "folds": len(own),
                "accuracy": math.fsum(scores) / len(scores),
                "deviation": deviation(scores),
                "train_accuracy": 100 * math.fsum(record["train_accuracy"] for record in own) / len(own),
                "p": paired_p(_wrong(own), _wrong(other)) if same else None,
                "nonzero": _median([record["nonzero"] for record in own]),
                "weights": _median([record["weights"] for record in own]),
                "cpu_seconds": _median([record["cpu_seconds"] for record in own]),
                "converged": sum(record["converged"] for record in own),
                "paper": PAPER[task].get(name),
            }
        )
    return rows


def accuracy_table(rows: Sequence[Row]) -> Table:
    """Accuracies beside the paper's."""
    table = empty_table(
        "method", "accuracy", "±", "p: CRF", "training", "weights ≠ 0", "of", "CPU (s)", "converged", "paper"
    )  # fmt: skip
    for row in rows:
        table.add_row(
            NAMES[row["method"]],
            f"{row['accuracy']:.2f}",
            "" if row["deviation"] is None else f"{row['deviation']:.2f}",
            chance(row["p"]),
            f"{row['train_accuracy']:.2f}",
            f"{row['nonzero']:,.0f}",
            f"{row['weights']:,.0f}",
            f"{row['cpu_seconds']:.1f}",
            f"{row['converged']} of {row['folds']}",
            "" if row["paper"] is None else f"{row['paper']:.2f}",
        )
    return table


def choice_table(records: Sequence[Record]) -> Table:
    """How many folds chose which settings."""
    table = empty_table("method", "settings: folds that chose them")
    table.columns[1].justify = "left"
    for name in NAMES:
        chosen = Counter(
            ", ".join(f"{key} = {value}" for key, value in own["settings"]) for own in records if own["method"] == name
        )
        if chosen:
            table.add_row(NAMES[name], "; ".join(f"{text}: {count}" for text, count in chosen.most_common()))
    return table
