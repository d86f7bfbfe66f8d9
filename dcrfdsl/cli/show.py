"""`dcrfdsl show`: what a model has learned and where it comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from .console import Json, Quiet, Talk
from .probabilities import training_notes

if TYPE_CHECKING:
    from ..model import TrainedModel

__all__ = ["show"]


def show(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")],
    clique: Annotated[
        str | None, typer.Option("--clique", metavar="NAME", help="Only this clique; * and ? match.")
    ] = None,
    feature: Annotated[
        str | None, typer.Option("--feature", metavar="TEXT", help="Only features that contain this text.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="The N strongest weights.")] = 20,
    template: Annotated[bool, typer.Option("--template", help="Print the model's template instead.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what a model has learned.

    The strongest weights by clique and feature, and how the model was trained.

    \b
    Example:
      dcrfdsl show chunk.model
      dcrfdsl show chunk.model --clique words --feature "word=the" --top 50
      dcrfdsl show chunk.model --template > chunk.dcrf
    """
    from ..model import TrainedModel
    from ..report import print_table, weights_table

    trained = TrainedModel.load(model)
    if template:
        from ..spec.unparse import to_text

        print(to_text(trained.spec), end="")
        return
    rows = trained.strongest_weights(top, clique, feature)
    if as_json:
        for name, text, states, weight in rows:
            print(json.dumps({"clique": name, "feature": text, "states": list(states), "weight": weight}))
        return
    _describe(trained, Talk(quiet))
    print_table(weights_table(rows))


def _describe(trained: TrainedModel, talk: Talk) -> None:
    """Where the model comes from, in a few lines beside the data."""
    for line in trained.spec.doc:
        talk(line)
    record = trained.record
    talk(
        f"{trained.num_weights:,} weights; stage `{record.stage}`: {record.end} after "
        f"{record.iterations} iterations, {'converged' if record.converged else 'not converged'}"
    )
    for note in training_notes(trained):
        talk(note)
    talk()
