"""`dcrfdsl show`: the weights of a model, and how it was trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..foundation import data_error, json_text
from .console import Features, Json, Quiet, Talk, refuse
from .inputs import load_model, read_features
from .options import Argument, Option
from .probabilities import training_notes

if TYPE_CHECKING:
    from ..model import TrainedModel


def show(
    model: Annotated[str, Argument("MODEL", help="Model file.")],
    clique: Annotated[str | None, Option("--clique", metavar="NAME", help="Only this clique; * and ? match.")] = None,
    containing: Annotated[
        str | None, Option("--containing", metavar="TEXT", help="Only features whose names contain this text.")
    ] = None,
    top: Annotated[int, Option("--top", min=1, metavar="N", help="The N strongest weights.")] = 20,
    path: Annotated[bool, Option("--path", help="The rounds of boosting, from the first on.")] = False,
    templates: Annotated[
        bool, Option("--templates", help="How many weights each feature template has, and how many are not 0.")
    ] = False,
    template: Annotated[bool, Option("--template", help="Print the model's template instead.")] = False,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what a model has learned.

    The strongest weights by clique and feature, and how the model was trained.

    \b
    Example:
      dcrfdsl show chunk.model
      dcrfdsl show chunk.model --clique words --containing "word=the" --top 50
      dcrfdsl show chunk.model --templates
      dcrfdsl show chunk.model --template > chunk.dcrf
      dcrfdsl show boosted.model --path
    """
    from .report import print_table, weights_table

    instead = {"--template": template, "--path": path, "--templates": templates}
    asked = [option for option, is_given in instead.items() if is_given]
    if template and as_json:
        asked.append("--json")
    if len(asked) > 1:
        refuse("idle-option", f"`{asked[0]}` has no place for `{asked[1]}`", "leave out one of them")
    trained = load_model(model, read_features(features))
    if template:
        from ..semantics import to_text

        print(to_text(trained.spec), end="")
        return
    if path:
        _path(trained, as_json)
        return
    if templates:
        _templates(trained, as_json)
        return
    rows = trained.strongest_weights(top, clique, containing)
    if as_json:
        for name, text, states, weight in rows:
            print(json_text({"clique": name, "feature": text, "states": list(states), "weight": weight}))
        return
    talk = Talk(quiet)
    _describe(trained, talk)
    if not rows and containing is not None:
        talk(f"no feature of a weight contains `{containing}`")
        return
    print_table(weights_table(rows))


def _templates(trained: TrainedModel, as_json: bool) -> None:
    """Prints a line for each feature template, with its number of weights and of those that are not 0."""
    from .report import print_table, templates_table

    found = trained.weights_by_template()
    if not as_json:
        print_table(templates_table(found))
        return
    for row in found:
        print(json_text(row._asdict()))


def _path(trained: TrainedModel, as_json: bool) -> None:
    """Prints each round of boosting: the bound on the risk, the risk after the round, and the weight that it moved."""
    from .report import path_table, print_table

    rounds = [
        {"round": number, **done._asdict(), "clique": clique, "feature": text, "states": list(states)}
        for number, (done, clique, text, states) in enumerate(trained.boosting_path(), 1)
    ]
    if not rounds:
        raise data_error("no-such-round", "the model has no rounds of boosting", help="train it by `adaboost`")
    if not as_json:
        print_table(path_table(rounds))
        return
    for row in rounds:
        print(json_text(row))


def _describe(trained: TrainedModel, talk: Talk) -> None:
    """Says in a few lines on stderr how the model was trained."""
    for line in trained.spec.doc:
        talk(line)
    record = trained.record
    how = (
        f"stage `{record.stage}`: {record.end} after {record.iterations} iterations, "
        f"{'converged' if record.converged else 'not converged'}"
        if record.stage
        else "; ".join(record.notes) or "not trained"  # a model that was converted has no stage
    )
    talk(f"{trained.num_weights:,} weights; {how}")
    if record.start is not None:
        talk(record.start.description)
    for note in training_notes(trained):
        talk(note)
    talk()
