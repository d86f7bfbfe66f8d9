"""Cross-validates a coupled model beside its two chains apart, with scikit-learn.

    python examples/sklearn/run.py --out result.json

Both taggers see the same folds. The variance of each is chosen within the training part of a fold, by a search of its
own. Not here: the models (`coupled.dcrf`, `chains.dcrf`), the invented data (`invented`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from invented import sentences
from rich.table import Table
from running import add_options, empty_table, exit_status, parser_of, refusals, say, write
from scipy.stats import t as student
from sklearn.model_selection import GridSearchCV, RepeatedKFold, cross_validate

from dcrfdsl.cli.report import print_table
from dcrfdsl.sklearn import SequenceTagger

HERE = Path(__file__).parent
MODELS: Mapping[str, str] = {"coupled": "coupled.dcrf", "apart": "chains.dcrf"}
METRICS: Mapping[str, str] = {
    "segments(entity).f1": "entities, F1",
    "accuracy(pos)": "parts of speech",
    "joint_accuracy": "both right",
}
SENTENCES, FOLDS, REPEATS, POINTS = 200, 5, 2, 4
QUICK_SENTENCES, QUICK_FOLDS = 60, 3
INNER_FOLDS = 3


def scores_of(search: GridSearchCV, X: Sequence[Any], y: Sequence[Any]) -> dict[str, float]:
    """A scorer of all metrics of the template."""
    measured = search.best_estimator_.evaluate(X, y)
    return {name: float(measured[name]) for name in METRICS}


def corrected_p(differences: Sequence[float], folds: int) -> float:
    """The p of a paired t-test of differences between two models over all folds and repeats.

    Folds share most of their training data, which a plain t-test ignores. So the variance is multiplied by
    1/n + test/train instead of 1/n: Nadeau and Bengio, "Inference for the generalization error" (2003).
    """
    n, spread = len(differences), float(np.var(differences, ddof=1))
    if spread == 0.0:
        return 1.0 if not any(differences) else 0.0
    statistic = float(np.mean(differences)) / np.sqrt(spread * (1 / n + 1 / (folds - 1)))
    return float(2 * student.sf(abs(statistic), n - 1))


def reproduce(
    X: Sequence[Any], y: Sequence[Any], *, folds: int, repeats: int, seed: int, jobs: int, threads: int | None
) -> dict[str, Any]:
    """Scores of each model on each fold, the variances that were chosen, and tests of the differences."""
    outer = RepeatedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    scores: dict[str, dict[str, list[float]]] = {}
    chosen: dict[str, list[float]] = {}
    for name, template in MODELS.items():
        tagger = SequenceTagger(HERE / template, threads=threads)
        search = GridSearchCV(tagger, tagger.param_grid(POINTS), cv=INNER_FOLDS)
        found = cross_validate(search, X, y, cv=outer, scoring=scores_of, n_jobs=jobs, return_estimator=True)
        scores[name] = {metric: found[f"test_{metric}"].tolist() for metric in METRICS}
        chosen[name] = [own.best_params_["variance"] for own in found["estimator"]]
    p = {
        metric: corrected_p(np.subtract(scores["coupled"][metric], scores["apart"][metric]).tolist(), folds)
        for metric in METRICS
    }
    sizes = {"sentences": len(X), "folds": folds, "repeats": repeats, "seed": seed}
    return {"complete": True, **sizes, "scores": scores, "chosen": chosen, "p": p}


def table(result: Mapping[str, Any]) -> Table:
    """Means over the folds in percent, their deviations, and the variances."""
    shown = empty_table("model", *(part for name in METRICS.values() for part in (name, "±")), "variances chosen")
    for name, scores in result["scores"].items():
        cells = [f"{100 * part:.1f}" for own in scores.values() for part in (np.mean(own), np.std(own, ddof=1))]
        shown.add_row(name, *cells, ", ".join(f"{value:g}" for value in sorted(set(result["chosen"][name]))))
    shown.add_row("p", *(part for p in result["p"].values() for part in (f"{p:.4f}", "")), "")
    return shown


def show(result: Mapping[str, Any]) -> None:
    say(f"{result['sentences']} sentences, {result['folds']} folds, repeats: {result['repeats']}")
    print_table(table(result))


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="lines `word pos entity`; default: invented sentences"
    )
    parser.add_argument("--folds", type=int, default=FOLDS, metavar="N", help=f"default: {FOLDS}")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N", help=f"default: {REPEATS}")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="folds at once (default: 1)")
    add_options(parser, quick="few sentences, three folds, once", seed="of the sentences and of the folds")
    options = parser.parse_args(argv)
    folds, repeats = (QUICK_FOLDS, 1) if options.quick else (options.folds, options.repeats)
    if folds < 2 or repeats < 1:
        parser.error("give at least two folds, and one repeat")
    with refusals(ValueError):
        if options.data is not None:
            X, y = SequenceTagger(HERE / MODELS["apart"]).read(options.data)
        else:
            X, y = map(
                list, zip(*sentences(QUICK_SENTENCES if options.quick else SENTENCES, options.seed), strict=True)
            )
        result = reproduce(
            X, y or [], folds=folds, repeats=repeats, seed=options.seed, jobs=options.jobs, threads=options.threads
        )
    write(result, options.out)
    show(result)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
