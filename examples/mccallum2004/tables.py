"""Table 1 of McCallum and Sutton (2004): scores, times, differences and tests, beside the paper's columns.

Works on the records that `run` makes: of each row of the table and each sentence of the test the counts that its score
is made of. Several draws of training sentences: means, and Student's interval of the paired differences. One training:
the interval of the difference by drawing test sentences (bootstrap), and the paper's test. McNemar's test is the exact
binomial one. Not here: training.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table
from running import chance, empty_table
from scipy import stats

from dcrfdsl.foundation import Floats
from dcrfdsl.metrics import bootstrap_interval

Record = Mapping[str, Any]
Row = dict[str, Any]
LEVEL = 0.95  # of all intervals


class Paper(NamedTuple):
    """A row of the paper's table: F1 (named entities) or accuracy (parts of speech) in percent, and time in minutes."""

    train: float
    test: float
    minutes: int


PAPER: Mapping[str, Mapping[str, Paper]] = {
    "np": {},
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
    "nota_scaled": "CRF-PT, NOTA, scale",
    "nota_local": "CRF-PT, NOTA (local)",
    "few": "CRF-PT, some NOTA",
    "few_scaled": "CRF-PT, some NOTA, scale",
    "few_local": "CRF-PT, some NOTA (local)",
}
MEASURES = {"ner": "F1", "np": "F1", "pos": "accuracy"}
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


# Of one training, the paper's tests.
TESTS = {"ner": mcnemar_p, "np": mcnemar_p, "pos": paired_p}
_NAMES = {
    "ner": "McNemar's test on sentences that are wholly right (exact)",
    "np": "McNemar's test on sentences that are wholly right (exact)",
    "pos": "paired t-test on wrong tags a sentence",
}


# scores and differences ---------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """In percent: the mean, and the bounds of its interval; p that it is 0. None where it is not defined."""

    mean: float
    low: float | None
    high: float | None
    p: float | None


def share(sums: Sequence[int] | Floats) -> Any:
    """The score of sums of counts [..., 2 or 3]: right / all, or 2 right / (predicted + gold); 0 of nothing."""
    totals = np.asarray(sums, np.float64)
    times, whole = (1.0 if totals.shape[-1] == 2 else 2.0), totals[..., 1:].sum(axis=-1)
    found = np.divide(times * totals[..., 0], whole, out=np.zeros(np.shape(whole)), where=whole != 0)
    return found if found.ndim else float(found)


def score_of(row: Record) -> float:
    return 100 * float(share(np.sum(row["counts"], axis=0)))


def of_draws(own: Sequence[float], other: Sequence[float]) -> Difference:
    """own - other of scores of the same draws, with Student's interval."""
    gains = np.array(own) - np.array(other)
    mean, error = float(gains.mean()), float(gains.std(ddof=1)) / math.sqrt(len(gains))
    if error < 1e-12:
        return Difference(mean, mean, mean, None)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(gains) - 1)) * error
    return Difference(mean, mean - reach, mean + reach, float(2 * stats.t.sf(abs(mean) / error, len(gains) - 1)))


def of_one(task: str, own: Record, other: Record) -> Difference:
    """own - other on the same test sentences, which are drawn with replacement for the interval."""
    counts = np.concatenate([own["counts"], other["counts"]], axis=1)
    half = counts.shape[1] // 2
    gain = lambda sums: 100 * (share(sums[..., :half]) - share(sums[..., half:]))  # noqa: E731
    low, high = bootstrap_interval(counts, gain, level=LEVEL)
    return Difference(float(gain(counts.sum(axis=0))), low, high, TESTS[task](own["wrong"], other["wrong"]))


# the table ------------------------------------------------------------------------------------------------------


def table1_rows(task: str, records: Iterable[Record]) -> list[Row]:
    """A row a model, in the order of `MODELS`; scores in percent, times in seconds, means over draws.

    records: of trainings: `draw`, and `rows` by model: sums of `train` counts, `counts` and `wrong` tags of each test
    sentence, `cpu_seconds`, `iterations`.
    """
    found: dict[str, dict[int, Record]] = {}
    for record in records:
        for model, row in record["rows"].items():
            found.setdefault(model, {})[record["draw"]] = row
    rows = []
    for model in MODELS:
        if model not in found:
            continue
        own = found[model]
        against = {}
        for other in AGAINST:
            both = sorted(own.keys() & found.get(other, {}).keys())
            if other == model or not both:
                against[other] = None
            elif len(both) == 1:
                against[other] = of_one(task, own[both[0]], found[other][both[0]])._asdict()
            else:
                scores = [[score_of(found[name][draw]) for draw in both] for name in (model, other)]
                against[other] = of_draws(*scores)._asdict()
        paper = PAPER[task].get(model)
        rows.append(
            {"model": model}
            | {"train": _spread([100 * float(share(row["train"])) for row in own.values()])}
            | {"test": _spread([score_of(row) for row in own.values()])}
            | {name: float(np.mean([row[name] for row in own.values()])) for name in ("cpu_seconds", "iterations")}
            | {"against": against, "paper": paper._asdict() if paper else None}
        )
    return rows


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    """Mean and deviation of the sample."""
    return {"mean": float(np.mean(values)), "deviation": float(np.std(values, ddof=1)) if len(values) > 1 else None}


def table1(task: str, rows: Sequence[Row]) -> Table:
    measure, several = MEASURES[task], any(row["test"]["deviation"] is not None for row in rows)
    by = "Student's interval and paired t-test over draws" if several else f"interval by bootstrap, {_NAMES[task]}"
    table = empty_table(
        "model", f"train {measure}", f"test {measure}", "CPU (s)", "L-BFGS", "to the MEMM", "p", "to the CRF", "p",
        f"paper: train {measure}", f"paper: test {measure}", "paper: time",
        caption=f"differences with intervals of {LEVEL:.0%}: {by}", caption_justify="left",
    )  # fmt: skip
    for row in rows:
        paper = row["paper"]
        table.add_row(
            MODELS[row["model"]],
            f"{row['train']['mean']:.2f}",
            _mean(row["test"]),
            f"{row['cpu_seconds']:.1f}",
            f"{row['iterations']:.0f}",
            *(cell for other in AGAINST for cell in _difference(row["against"][other])),
            *((f"{paper['train']:.2f}", f"{paper['test']:.2f}", _hours(paper["minutes"])) if paper else ("", "", "")),
        )
    return table


def _mean(found: Mapping[str, float | None]) -> str:
    deviation = "" if found["deviation"] is None else f" ± {found['deviation']:.2f}"
    return f"{found['mean']:.2f}{deviation}"


def _difference(found: Mapping[str, float | None] | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    return f"{found['mean']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]", chance(found["p"])


def _hours(minutes: int) -> str:
    return f"{minutes // 60} h {minutes % 60:02d} min"
