"""The tables of Lafferty, McCallum and Pereira (2001), Section 5, beside what the paper says.

Works on the records of `experiments`. All errors are in percent. Not here: training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.table import Table
from running import empty_table
from sources import least_error

Record = Mapping[str, Any]
Row = dict[str, Any]

PAPER_BIAS = {"crf": 4.6, "memm": 42.0}  # a typical run
PAPER_SPELLING = {"error": -25.0, "unknown": -50.0}  # in percent of the error without it, about
BIAS_NAMES = {"best": "best tagger", "crf": "CRF, algorithm S", "crf_lbfgs": "CRF, L-BFGS", "memm": "MEMM"}
POS_NAMES = {
    "hmm": "HMM",
    "hmm_rare": "HMM, rare words",
    "memm": "MEMM",
    "crf": "CRF",
    "memm+": "MEMM+",
    "crf+": "CRF+",
}


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """mean, sample standard deviation (None of a single value), least and largest."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    deviation = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else None
    return {"mean": mean, "deviation": deviation, "low": min(values), "high": max(values)}


# label bias -------------------------------------------------------------------------------------------------------


def bias_rows(records: Sequence[Record]) -> list[Row]:
    """A row for each probability of `rib` and model: errors by word and by state over the draws.

    least: what the best tagger's error by word is expected to be.
    """
    rows = []
    for share, group in groupby(records, key=lambda record: record["share"]):
        draws = [record["models"] for record in group]
        for model in BIAS_NAMES:
            rows.append(
                {
                    "share": share,
                    "model": model,
                    "draws": len(draws),
                    "words": spread([draw[model]["words"] for draw in draws]),
                    "states": spread([draw[model]["states"] for draw in draws]),
                    "iterations": spread([draw[model].get("iterations", 0) for draw in draws]),
                    "least": 100.0 * least_error(share),
                    "paper": PAPER_BIAS.get(model),
                }
            )
    return rows


def bias_table(rows: Sequence[Row]) -> Table:
    table = empty_table(
        "rib",
        "model",
        "wrong words (%)",
        "range",
        "wrong states (%)",
        "iterations",
        "paper",
        "words − paper",
        left=("model",),
    )
    for row in rows:
        words, paper = row["words"], row["paper"]
        table.add_row(
            f"{row['share']:.2f}",
            BIAS_NAMES[row["model"]] + (f" (expected {row['least']:.2f})" if row["model"] == "best" else ""),
            _mean(words),
            f"{words['low']:.1f} to {words['high']:.1f}",
            _mean(row["states"]),
            f"{row['iterations']['mean']:.0f}" if row["iterations"]["mean"] else "",
            "" if paper is None else f"{paper:.1f}",
            "" if paper is None else f"{words['mean'] - paper:+.1f}",
        )
    return table


# mixed order ------------------------------------------------------------------------------------------------------


def mixed_rows(records: Sequence[Record]) -> list[Row]:
    """A row for each template, kind of source and α: mean errors, and on how many data sets the CRF errs least.

    gain: by how much of the MEMM's mean error the CRF's is less.
    """
    rows = []
    keys = ("form", "supports", "alpha")
    ordered = sorted(records, key=lambda record: (record["form"], record["supports"], record["alpha"]))
    for key, group in groupby(ordered, key=lambda record: tuple(record[name] for name in keys)):
        sets = [{model: own["error"] for model, own in record["models"].items()} for record in group]
        means = {model: math.fsum(errors[model] for errors in sets) / len(sets) for model in sets[0]}
        rows.append(
            dict(zip(keys, key, strict=True))
            | {"sets": len(sets), "means": means}
            | {f"below_{other}": sum(errors["crf"] < errors[other] for errors in sets) for other in ("memm", "hmm")}
            | {"gain": 100.0 * (1.0 - means["crf"] / means["memm"]) if means["memm"] else 0.0}
        )
    return rows


def mixed_table(rows: Sequence[Row]) -> Table:
    headings = ("α", "CRF", "MEMM", "HMM", "CRF < MEMM", "CRF < HMM", "CRF less than MEMM by")
    table = empty_table("weights", "non-zero", *headings, left=("non-zero",))
    for row in rows:
        table.add_row(
            "λ_y'yx" if row["form"] == "edges" else "μ_yx",
            row["supports"],
            f"{row['alpha']:.2f}",
            *(f"{row['means'][model]:.2f}" for model in ("crf", "memm", "hmm")),
            *(f"{row[f'below_{other}']} of {row['sets']}" for other in ("memm", "hmm")),
            f"{row['gain']:.1f} %",
        )
    return table


# parts of speech --------------------------------------------------------------------------------------------------


def pos_rows(records: Sequence[Record]) -> list[Row]:
    """A row a model: errors of all words and of unknown ones over the splits.

    change: of the mean, in percent of that without spelling.
    """
    rows: list[Row] = []
    for model in POS_NAMES:
        own = [record["models"][model] for record in records]
        row: Row = {"model": model, "error": spread([one["error"] for one in own])}
        row["unknown"] = spread([one["unknown"] for one in own])
        plain = {other["model"]: other for other in rows}.get(model.rstrip("+")) if model.endswith("+") else None
        row["change"] = {
            name: 100.0 * (row[name]["mean"] / plain[name]["mean"] - 1.0) if plain and plain[name]["mean"] else None
            for name in PAPER_SPELLING
        }
        rows.append(row)
    return rows


def pos_table(rows: Sequence[Row]) -> Table:
    headings = ("error (%)", "error, unknown words (%)", "by spelling", "paper", "unknown by spelling", "paper")
    table = empty_table("model", *headings)
    for row in rows:
        changes = ((row["change"][name], paper) for name, paper in PAPER_SPELLING.items())
        table.add_row(
            POS_NAMES[row["model"]],
            _mean(row["error"], 2),
            _mean(row["unknown"], 2),
            *("" if own is None else f"{value:+.0f} %" for own, paper in changes for value in (own, paper)),
        )
    return table


def _mean(value: Mapping[str, float | None], digits: int = 1) -> str:
    shown = f"{value['mean']:.{digits}f}"
    return shown if value["deviation"] is None else f"{shown} ± {value['deviation']:.{digits}f}"
