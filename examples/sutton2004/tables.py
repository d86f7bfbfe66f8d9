"""Tables 1 and 3 of Sutton, Rohanimanesh and McCallum (2004): means, deviations and tests, beside the paper's columns.

Works on the records of trainings (`experiment`). Deviations are of the sample (n - 1); tests are Student's, two-sided.
Not here: training; where records come from.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table
from running import chance, empty_table
from scipy import stats

Record = Mapping[str, Any]
Row = dict[str, Any]

# measure -> size -> CRF+CRF, Brill+CRF, FCRF, in percent
PAPER_TABLE1: Mapping[str, Mapping[int, tuple[float | None, float | None, float | None]]] = {
    "pos": {
        223: (86.23, None, 93.12), 447: (90.44, None, 95.43), 670: (92.33, None, 96.34),
        894: (93.56, None, 96.85), 2234: (96.18, None, 97.87), 8936: (98.28, None, 98.92),
    },
    "np": {
        223: (92.67, 93.75, 93.87), 447: (94.09, 94.91, 95.03), 670: (94.72, 95.46, 95.46),
        894: (95.17, 95.75, 95.86), 2234: (96.08, 96.38, 96.51), 8936: (96.98, 97.09, 97.36),
    },
    "joint": {
        223: (81.92, None, 89.19), 447: (86.58, None, 91.85), 670: (88.68, None, 92.86),
        894: (90.06, None, 93.60), 2234: (93.00, None, 94.90), 8936: (95.56, None, 96.48),
    },
    "f1": {
        223: (83.84, 86.02, 86.03), 447: (86.87, 88.56, 88.59), 670: (88.19, 89.65, 89.64),
        894: (89.21, 90.31, 90.55), 2234: (91.07, 91.90, 92.02), 8936: (93.10, 93.33, 93.87),
    },
}  # fmt: skip

# setting -> hours and their deviation, NP F1 (percent) and its deviation, L-BFGS iterations
PAPER_TABLE3: Mapping[str, tuple[float, float, float, float, float]] = {
    "random3": (15.67, 2.90, 88.57, 0.54, 63.6),
    "tree3": (13.85, 11.6, 88.02, 0.55, 32.6),
    "tree": (13.57, 3.03, 88.67, 0.57, 65.8),
    "random": (13.25, 1.51, 88.60, 0.53, 76.0),
    "exact": (20.49, 1.97, 88.63, 0.53, 73.6),
}

MEASURES = {"pos": "POS accuracy", "np": "NP accuracy", "joint": "joint accuracy", "f1": "NP F1"}
COLUMNS = {"crf+crf": "CRF+CRF", "brill+crf": "Brill+CRF", "fcrf": "FCRF"}
METHODS = {
    "random3": "Random (3)", "tree3": "Tree (3)", "tree": "Tree (∞)", "random": "Random (∞)", "exact": "Exact",
}  # fmt: skip


# statistics -----------------------------------------------------------------------------------------------------


class Summary(NamedTuple):
    """`deviation` is None where there are fewer than two values."""

    mean: float
    deviation: float | None
    low: float
    high: float
    size: int


def summary(values: Sequence[float]) -> Summary | None:
    """Mean, deviation of the sample and range; None of nothing."""
    n = len(values)
    if not n:
        return None
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1)) if n > 1 else None
    return Summary(mean, deviation, min(values), max(values), n)


def two_sample_p(first: Sequence[float], second: Sequence[float]) -> float | None:
    """p that two samples of equal variance have the same mean; None where it is not defined."""
    a, b = summary(first), summary(second)
    if a is None or b is None or a.deviation is None or b.deviation is None:
        return None
    freedom = a.size + b.size - 2
    variance = ((a.size - 1) * a.deviation**2 + (b.size - 1) * b.deviation**2) / freedom
    return _p(a.mean - b.mean, math.sqrt(variance * (1 / a.size + 1 / b.size)), freedom, a.mean)


def paired_p(first: Sequence[float], second: Sequence[float]) -> float | None:
    """p that the differences of pairs have mean zero; None where it is not defined."""
    found = summary([a - b for a, b in zip(first, second, strict=True)])
    if found is None or found.deviation is None:
        return None
    return _p(found.mean, found.deviation / math.sqrt(found.size), found.size - 1, first[0])


class Gain(NamedTuple):
    """By how much the second of paired samples is higher: the mean, and Student's interval of 95 %."""

    mean: float
    low: float | None
    high: float | None


def gain(first: Sequence[float], second: Sequence[float]) -> Gain | None:
    """low, high: None of a single pair. None of no pair."""
    found = summary([b - a for a, b in zip(first, second, strict=True)])
    if found is None or found.deviation is None:
        return found and Gain(found.mean, None, None)
    reach = float(stats.t.ppf(0.975, found.size - 1)) * found.deviation / math.sqrt(found.size)
    return Gain(found.mean, found.mean - reach, found.mean + reach)


def _p(difference: float, error: float, freedom: int, scale: float) -> float | None:
    """Two-sided p of t = difference / error. None where values of about `scale` vary by no more than their rounding."""
    if error <= 1e-12 * abs(scale):
        return None
    return float(2 * stats.t.sf(abs(difference) / error, freedom))


# Table 1 --------------------------------------------------------------------------------------------------------


def table1_rows(records: Iterable[Record]) -> list[Row]:
    """A row a measure and size; scores in percent. `p` is of the two-sample test between CRF+CRF and FCRF.

    gain: of FCRF over CRF+CRF, paired by subset, with its interval and `p_paired`.
    """
    scores: dict[tuple[str, int, str], dict[int, float]] = {}
    for record in records:
        for measure, score in record["scores"].items():
            scores.setdefault((measure, record["size"], record["model"]), {})[record["subset"]] = 100 * score
    rows = []
    for measure in MEASURES:
        for size in sorted({size for _, size, _ in scores}):
            by_subset = {model: scores.get((measure, size, model), {}) for model in COLUMNS}
            found = {model: [*own.values()] for model, own in by_subset.items()}
            both = sorted(by_subset["crf+crf"].keys() & by_subset["fcrf"].keys())
            pairs = [[by_subset[model][subset] for subset in both] for model in ("crf+crf", "fcrf")]
            gained = gain(*pairs)
            paper = PAPER_TABLE1[measure].get(size, (None, None, None))
            rows.append(
                {"measure": measure, "size": size}
                | {model: _plain(summary(values)) for model, values in found.items()}
                | {"p": two_sample_p(found["crf+crf"], found["fcrf"]), "p_paired": paired_p(*pairs)}
                | {"gain": gained and gained._asdict()}
                | {"paper": dict(zip(COLUMNS, paper, strict=True))}
            )
    return rows


def table1(rows: Sequence[Row]) -> Table:
    table = empty_table(
        "measure",
        "sentences",
        *COLUMNS.values(),
        "FCRF − CRF+CRF",
        "p",
        "p, paired",
        *(f"paper: {name}" for name in COLUMNS.values()),
    )
    for row in rows:
        table.add_row(
            MEASURES[row["measure"]],
            str(row["size"]),
            *(_spread(row[model]) for model in COLUMNS),
            _gain(row["gain"]),
            chance(row["p"]),
            chance(row["p_paired"]),
            *(_number(row["paper"][model]) for model in COLUMNS),
        )
    return table


# Table 3 --------------------------------------------------------------------------------------------------------


def table3_rows(records: Collection[Record]) -> list[Row]:
    """A row a setting of inference; F1 in percent. Tests are paired by subset, against exact inference."""
    by_setting = {
        setting: {record["subset"]: record for record in records if record["setting"] == setting} for setting in METHODS
    }
    exact = by_setting["exact"]
    rows = []
    for setting, found in by_setting.items():
        if not found:
            continue
        pairs = [(found[subset], exact[subset]) for subset in sorted(found.keys() & exact.keys())]
        row: Row = {"setting": setting}
        for name, value in _TIMED.items():
            row[name] = _plain(summary([value(record) for record in found.values()]))
        for name in ("seconds", "cpu_seconds", "f1"):
            value = _TIMED[name]
            other = setting != "exact"
            row[f"p_{name}"] = paired_p([value(a) for a, _ in pairs], [value(b) for _, b in pairs]) if other else None
        rows.append(row | {"paper": dict(zip(_PAPER_COLUMNS, PAPER_TABLE3[setting], strict=True))})
    return rows


_PAPER_COLUMNS = ("hours", "hours_deviation", "f1", "f1_deviation", "iterations")
_TIMED = {
    "seconds": lambda record: float(record["seconds"]),
    "cpu_seconds": lambda record: float(record["cpu_seconds"]),
    "f1": lambda record: 100 * float(record["scores"]["f1"]),
    "iterations": lambda record: float(record["iterations"]),
    "evaluations": lambda record: float(record["evaluations"]),
}


def table3(rows: Sequence[Row]) -> Table:
    table = empty_table(
        "method", "time (s)", "p", "CPU (s)", "p", "NP F1", "p", "L-BFGS", "gradients",
        "paper: time (h)", "paper: NP F1", "paper: L-BFGS",
    )  # fmt: skip
    for row in rows:
        paper = row["paper"]
        table.add_row(
            METHODS[row["setting"]],
            _spread(row["seconds"], 1),
            chance(row["p_seconds"]),
            _spread(row["cpu_seconds"], 1),
            chance(row["p_cpu_seconds"]),
            _spread(row["f1"]),
            chance(row["p_f1"]),
            _spread(row["iterations"], 1),
            _spread(row["evaluations"], 1),
            f"{paper['hours']:.2f} ± {paper['hours_deviation']:.2f}",
            f"{paper['f1']:.2f} ± {paper['f1_deviation']:.2f}",
            f"{paper['iterations']:.1f}",
        )
    return table


# cells ----------------------------------------------------------------------------------------------------------


def _plain(found: Summary | None) -> dict[str, float | None] | None:
    return found._asdict() if found else None


def _spread(found: Mapping[str, float | None] | None, digits: int = 2) -> str:
    if found is None:
        return ""
    deviation = "" if found["deviation"] is None else f" ± {found['deviation']:.{digits}f}"
    return f"{found['mean']:.{digits}f}{deviation}"


def _gain(found: Mapping[str, float | None] | None) -> str:
    if found is None:
        return ""
    interval = "" if found["low"] is None else f" [{found['low']:+.2f}, {found['high']:+.2f}]"
    return f"{found['mean']:+.2f}{interval}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
