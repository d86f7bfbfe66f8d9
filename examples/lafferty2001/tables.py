"""The tables of Lafferty, McCallum and Pereira (2001), Section 5, beside what the paper says.

Works on the records of `experiments`. All errors are in percent. Not here: training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from means import average, interval, mean_of
from rich.table import Table
from running import chance, empty_table
from sources import least_error

Record = Mapping[str, Any]
Row = dict[str, Any]

PAPER_BIAS = {"crf": 4.6, "memm": 42.0}  # a typical run
PAPER_SPELLING = {"error": -25.0, "unknown": -50.0}  # in percent of the error without it, about
BIAS_NAMES = {"best": "best tagger", "crf": "CRF, algorithm S", "crf_lbfgs": "CRF, L-BFGS", "memm": "MEMM"}
FORMS = {"edges": "λ_y'yx", "states": "μ_yx"}
PAIRS = (
    ("hmm", "memm"),
    ("crf", "memm"),
    ("crf", "hmm"),
    ("crf", "hmm_rare"),
    ("crf+", "memm+"),
)  # the first errs less
POS_NAMES = {
    "hmm": "HMM",
    "hmm_rare": "HMM, rare words",
    "memm": "MEMM",
    "crf": "CRF",
    "memm+": "MEMM+",
    "crf+": "CRF+",
}


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """mean, half of its interval, p of a mean that is 0 (None of a single value), least and largest."""
    return {**mean_of(values)._asdict(), "low": min(values), "high": max(values)}


def less(first: Sequence[float], second: Sequence[float]) -> dict[str, float | None]:
    """By how much the first ones are below the second ones, which are of the same data."""
    return mean_of([b - a for a, b in zip(first, second, strict=True)])._asdict()


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
                    "above_best": None
                    if model == "best"
                    else less([draw["best"]["words"] for draw in draws], [draw[model]["words"] for draw in draws]),
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
        "more than best",
        "p",
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
            interval(words, digits=1),
            f"{words['low']:.1f} to {words['high']:.1f}",
            "" if row["above_best"] is None else interval(row["above_best"], "+", 1),
            "" if row["above_best"] is None else chance(row["above_best"]["p"]),
            interval(row["states"], digits=1),
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
        means = {model: average([errors[model] for errors in sets]) for model in sets[0]}
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
            FORMS[row["form"]],
            row["supports"],
            f"{row['alpha']:.2f}",
            *(f"{row['means'][model]:.2f}" for model in ("crf", "memm", "hmm")),
            *(f"{row[f'below_{other}']} of {row['sets']}" for other in ("memm", "hmm")),
            f"{row['gain']:.1f} %",
        )
    return table


def mixed_tests(records: Sequence[Record]) -> list[Row]:
    """A row for each template, kind of source and other model: by how much the CRF errs less, over sources.

    The errors of a source are means over α above 0, where the HMM is not the true model.
    """
    rows = []
    keys = ("form", "supports")
    ordered = sorted(records, key=lambda record: (record["form"], record["supports"], record["source"]))
    for key, group in groupby(ordered, key=lambda record: tuple(record[name] for name in keys)):
        sources = [
            [record["models"] for record in own if record["alpha"] > 0]
            for _, own in groupby(group, key=lambda record: record["source"])
        ]
        means = {
            model: [average([one[model]["error"] for one in own]) for own in sources if own]
            for model in ("crf", "memm", "hmm")
        }
        for other in ("memm", "hmm"):
            if means[other]:
                found = less(means["crf"], means[other])
                rows.append(
                    dict(zip(keys, key, strict=True)) | {"other": other, "sources": len(means[other]), "less": found}
                )
    return rows


def mixed_test_table(rows: Sequence[Row]) -> Table:
    table = empty_table(
        "weights",
        "non-zero",
        "the CRF errs less than",
        "sources",
        "by",
        "p",
        left=("non-zero", "the CRF errs less than"),
    )
    for row in rows:
        table.add_row(
            FORMS[row["form"]], row["supports"], row["other"].upper(), str(row["sources"]),
            interval(row["less"], "+"), chance(row["less"]["p"]),
        )  # fmt: skip
    return table


# parts of speech --------------------------------------------------------------------------------------------------


def pos_rows(records: Sequence[Record]) -> list[Row]:
    """A row a model: errors of all words and of unknown ones over the splits.

    change: of each split, in percent of the error without spelling.
    """
    rows: list[Row] = []
    for model in POS_NAMES:
        own = [record["models"][model] for record in records]
        row: Row = {"model": model}
        for name in PAPER_SPELLING:
            row[name] = spread([one[name] for one in own])
        plain = [record["models"].get(model.rstrip("+")) for record in records] if model.endswith("+") else []
        row["change"] = {name: changes(own, plain, name) for name in PAPER_SPELLING}
        rows.append(row)
    return rows


def changes(own: Sequence[Record], plain: Sequence[Record], name: str) -> dict[str, float | None] | None:
    """By how much of the plain error the own one is another, in percent over the splits; None without a plain one."""
    if not plain or not all(one[name] for one in plain):
        return None
    return mean_of([100.0 * (a[name] / b[name] - 1.0) for a, b in zip(own, plain, strict=True)])._asdict()


def pos_table(rows: Sequence[Row]) -> Table:
    headings = ("error (%)", "error, unknown words (%)", "by spelling (%)", "paper", "unknown by spelling (%)", "paper")
    table = empty_table("model", *headings)
    for row in rows:
        cells = []
        for name, paper in PAPER_SPELLING.items():
            own = row["change"][name]
            cells += ["", ""] if own is None else [interval(own, "+", 1), f"about {paper:+.0f}"]
        table.add_row(POS_NAMES[row["model"]], interval(row["error"]), interval(row["unknown"]), *cells)
    return table


def pair_rows(records: Sequence[Record]) -> list[Row]:
    """By how much the first model of each of `PAIRS` errs less, over splits."""
    return [
        {"first": first, "second": second}
        | {
            name: less(*([record["models"][model][name] for record in records] for model in (first, second)))
            for name in PAPER_SPELLING
        }
        for first, second in PAIRS
    ]


def pair_table(rows: Sequence[Row]) -> Table:
    table = empty_table("errs less", "than", "by", "p", "unknown words by", "p", left=("than",))
    for row in rows:
        cells = [cell for name in PAPER_SPELLING for cell in (interval(row[name], "+"), chance(row[name]["p"]))]
        table.add_row(POS_NAMES[row["first"]], POS_NAMES[row["second"]], *cells)
    return table


def spelling_rows(records: Sequence[Record]) -> list[Row]:
    """A row for each spelling that was tried alone, and one for all together: how much less the CRF errs with it."""
    names = list(records[0]["alone"])
    tried = [("all", [record["models"]["crf+"] for record in records])] if names else []
    tried += [(name, [record["alone"][name] for record in records]) for name in names]
    plain = [record["models"]["crf"] for record in records]
    return [
        {"spelling": name}
        | {key: less([one[key] for one in own], [one[key] for one in plain]) for key in PAPER_SPELLING}
        | {"change": {key: changes(own, plain, key) for key in PAPER_SPELLING}}
        for name, own in tried
    ]


def spelling_table(rows: Sequence[Row]) -> Table:
    table = empty_table(
        "spelling", "CRF errs less by", "p", "of its errors (%)", "unknown words by", "p", "of these (%)"
    )
    for row in rows:
        cells = []
        for name in PAPER_SPELLING:
            change = row["change"][name]
            cells += [interval(row[name], "+"), chance(row[name]["p"])]
            cells.append("" if change is None else f"{change['mean']:+.1f}")
        table.add_row(row["spelling"], *cells)
    return table
