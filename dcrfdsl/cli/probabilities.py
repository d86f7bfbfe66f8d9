"""Notes of `train`, `tag` and `show` on how a model decodes, votes and computes probabilities. Not here: doing so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..foundation import figure

if TYPE_CHECKING:
    from ..model import TrainedModel

__all__ = ["probability_notes", "training_notes"]


def decode_words(rule: str, criterion: str) -> str:
    """A decoding rule that follows from the criterion, in words."""
    return f"`{rule}`, which `{criterion}` trains for; a `decode` statement says otherwise"


def probability_notes(model: TrainedModel) -> Iterator[str]:
    """Notes on how probabilities and ranked labellings were computed, if that may surprise."""
    if model.decode == "local":
        yield (
            "note: probabilities and n-best labellings are those of the whole model, and not of the pieces' local "
            "distributions by which `decode local` finds the labels"
        )
    if model.voters is not None:
        yield (
            f"note: probabilities and n-best labellings are those of the mean of the {len(model.voters):,} weight "
            "vectors that vote on the best labelling"
        )
    fit = model.record.calibration
    if model.is_margin and (fit is None or not fit.is_tempered):
        yield (
            f"note: the probabilities are not calibrated: `{model.record.settings['criterion']['method']}` compares "
            "scores only. Train with `--dev DATA`, or use `dcrfdsl calibrate`: both fit their temperature"
        )


def training_notes(model: TrainedModel) -> Iterator[str]:
    """Notes on a trained model beyond its scores."""
    from ..semantics import decode_rule

    rule = decode_rule(model.spec, model.record.stage or None)
    if rule.trained is not None and rule.name == model.decode:
        yield f"note: labels are decoded by {decode_words(rule.name, rule.trained)}, or `--decode` of `tag` and `eval`"
    elif rule.trained is not None:
        yield (
            f"note: labels are decoded by `{model.decode}`: the search for `{rule.name}`, which `{rule.trained}` "
            "trains for, would not fit"
        )
    if model.voters is not None:
        yield (
            f"{len(model.voters):,} weight vectors vote on each labelling, so tagging takes as many times as long; "
            "`voters = N` keeps the N that lasted longest"
        )
    fit = model.record.calibration
    if fit is not None:
        yield (
            f"probabilities: scores times {fit.temperature:.4g}, as fits {fit.sentences:,} held-out sentences best "
            f"(log-likelihood {figure(fit.after)}; of the scores as they are {figure(fit.before)})"
        )
