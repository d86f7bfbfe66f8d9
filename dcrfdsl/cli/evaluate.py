"""`dcrfdsl eval`: how well a model tags data whose labels are known."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .console import Features, Json, Quiet, Talk
from .inputs import read_features, read_gold

__all__ = ["evaluate"]

# What is no share between 0 and 1, even where its value is a float.
_NO_SHARES = ("log_likelihood", "illegal_moves")


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Data with labels; - is stdin.")],
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score a model on labelled data.

    By the metrics that its template names.

    \b
    Example:
      dcrfdsl eval chunk.model test.txt
      dcrfdsl eval chunk.model test.txt --json
    """
    from ..model import TrainedModel
    from ..report import print_table, scores_table

    trained = TrainedModel.load(model, registered=read_features(features))
    corpus = read_gold(data, trained.spec, Talk(quiet))
    scores = trained.evaluate(corpus)
    if as_json:
        print(json.dumps(scores))
        return
    shares = {name: value for name, value in scores.items() if isinstance(value, float) and not _is_no_share(name)}
    print_table(scores_table(shares))
    print()
    for name, value in scores.items():
        if name not in shares:
            print(f"{name.replace('_', ' ')}: {value:,}")


def _is_no_share(name: str) -> bool:
    return name.partition("(")[0] in _NO_SHARES
