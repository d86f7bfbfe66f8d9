"""Notes of `train` and `show` on how a model decodes, votes and computes probabilities. Not here: doing so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..foundation import figure

if TYPE_CHECKING:
    from ..model import TrainedModel


def decode_words(rule: str, criterion: str) -> str:
    """A decoding rule that follows from the criterion, in words."""
    return f"`{rule}`, which `{criterion}` trains for; a `decode` statement says otherwise"


def earlier_notes(model: TrainedModel, stage: str | None) -> list[str]:
    """The notes of the record on the stages before the last one.   stage: the last one, as it was asked for."""
    from ..semantics import stage_chain

    count = len(stage_chain(model.spec, stage)) - 1
    return [note for record in model.record.before[-count:] for note in record["notes"]] if count else []


def training_notes(model: TrainedModel) -> Iterator[str]:
    """Notes on a trained model beyond its scores."""
    from ..semantics import decode_rule, once_words

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
    if model.keeps_once_by_search:
        yield f"note: `once {model.spec.onces[0].label}` is {once_words(model.spec, model.states)}"
    fit = model.record.calibration
    if fit is not None:
        yield (
            f"probabilities: scores times {fit.temperature:.4g}, as fits {fit.sentences:,} held-out sentences best "
            f"(log-likelihood {figure(fit.after)}; of the scores as they are {figure(fit.before)})"
        )
