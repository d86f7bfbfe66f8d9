"""Table 1 of Altun and Hofmann (2003): accuracies over draws, beside the paper's, and tests against the CRF.

Works on the records that `run` makes. The accuracy of a draw is the mean over its folds. Intervals are of Student's t
over draws, which share few sentences: 300 of some thousands each. Not here: training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from means import average, interval, mean_of
from rich.table import Table
from running import chance, empty_table

Record = Mapping[str, Any]
Row = dict[str, Any]
T = TypeVar("T")

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


def paired_p(first: Mapping[T, int], second: Mapping[T, int]) -> float | None:
    """p of Student's paired t-test on the number of wrong labels a sentence; None where no difference varies.

    first, second: by sentence, the same sentences.
    """
    if first.keys() != second.keys():
        raise ValueError("the tests are of different sentences")
    return mean_of([first[sentence] - second[sentence] for sentence in first]).p


def _wrong(records: Sequence[Record]) -> dict[tuple[int, int], int]:
    """Wrong labels of each sentence, by draw and number, over all folds."""
    return {(own["seed"], s): wrong for own in records for s, wrong in zip(own["sentences"], own["wrong"], strict=True)}


def _draws(records: Sequence[Record]) -> dict[int, float]:
    """By seed the mean accuracy of its folds, in percent."""
    seeds = sorted({own["seed"] for own in records})
    return {seed: 100 * average([own["accuracy"] for own in records if own["seed"] == seed]) for seed in seeds}


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def rows_of(task: str, records: Sequence[Record]) -> list[Row]:
    """A row a method, in the order of `NAMES`; accuracies in percent. more: than the CRF, over draws; p_sentences: of
    wrong labels a sentence.

    records: of tests, one a method, draw and fold.
    """
    by_method = {name: [own for own in records if own["method"] == name] for name in NAMES}
    rows = []
    for name, own in by_method.items():
        if not own:
            continue
        draws, plain = _draws(own), _draws(by_method[AGAINST])
        compared = name != AGAINST and len(own) == len(by_method[AGAINST]) and draws.keys() == plain.keys()
        more = mean_of([draws[seed] - plain[seed] for seed in draws]) if compared else None
        rows.append(
            {
                "method": name,
                "trainings": len(own),
                "draws": draws,
                "accuracy": mean_of(list(draws.values()))._asdict(),
                "more": None if more is None else more._asdict(),
                "p_sentences": paired_p(_wrong(own), _wrong(by_method[AGAINST])) if compared else None,
                "train_accuracy": 100 * average([record["train_accuracy"] for record in own]),
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
        "method", "accuracy", "paper", "more than CRF", "p: draws", "p: sentences", "training", "weights ≠ 0", "of",
        "CPU (s)", "converged",
    )  # fmt: skip
    for row in rows:
        more = row["more"]
        table.add_row(
            NAMES[row["method"]],
            interval(row["accuracy"]),
            "" if row["paper"] is None else f"{row['paper']:.2f}",
            "" if more is None else interval(more, "+"),
            "" if more is None else chance(more["p"]),
            chance(row["p_sentences"]),
            f"{row['train_accuracy']:.2f}",
            f"{row['nonzero']:,.0f}",
            f"{row['weights']:,.0f}",
            f"{row['cpu_seconds']:.1f}",
            f"{row['converged']} of {row['trainings']}",
        )
    return table


def boosting_rows(records: Sequence[Record], method: str) -> list[Row]:
    """A row for each number of rounds that all trainings of a method have: means over trainings; right: trainings whose
    training labels are all right.
    """
    own = [record["curve"] for record in records if record["method"] == method]
    rounds = sorted(set.intersection(*({point[0] for point in curve} for curve in own)) if own else ())
    rows = []
    for number in rounds:
        points = [point for curve in own for point in curve if point[0] == number]
        rows.append(
            {
                "method": method,
                "rounds": number,
                "accuracy": 100 * average([accuracy for _, _, _, accuracy in points]),
                "log10_risk": average([risk for _, risk, _, _ in points]),
                "wrong": average([wrong for _, _, wrong, _ in points]),
                "right": sum(wrong == 0 for _, _, wrong, _ in points),
                "trainings": len(points),
            }
        )
    return rows


def boosting_table(rows: Sequence[Row]) -> Table:
    """Accuracy and risk by rounds."""
    table = empty_table("method", "rounds", "accuracy", "log₁₀ risk", "wrong training labels", "all right in")
    for row in rows:
        table.add_row(
            NAMES[row["method"]],
            f"{row['rounds']:,}",
            f"{row['accuracy']:.2f}",
            f"{row['log10_risk']:.1f}",
            f"{row['wrong']:.1f}",
            f"{row['right']} of {row['trainings']}",
        )
    return table


def choice_table(records: Sequence[Record]) -> Table:
    """How many trainings chose which settings."""
    table = empty_table("method", "settings: trainings that chose them")
    table.columns[1].justify = "left"
    for name in NAMES:
        chosen = Counter(
            ", ".join(f"{key} = {value}" for key, value in own["settings"]) for own in records if own["method"] == name
        )
        if chosen:
            table.add_row(NAMES[name], "; ".join(f"{text}: {count}" for text, count in chosen.most_common()))
    return table
