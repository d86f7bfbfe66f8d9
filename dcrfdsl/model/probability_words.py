"""Notes on the probabilities of a model, where they may surprise. Not here: probabilities themselves (`predictor`)."""

from __future__ import annotations

from collections.abc import Iterator

from .tagging_model import TaggingModel


def probability_notes(model: TaggingModel) -> Iterator[str]:
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
    if model.keeps_once_by_search:
        yield (
            f"note: probabilities are those of the model without `once {model.spec.onces[0].label}`, which decoding "
            "alone keeps to; n-best labellings have none"
        )
    fit = model.record.calibration
    if model.is_margin and (fit is None or not fit.is_tempered):
        yield (
            f"note: the probabilities are not calibrated: `{model.record.settings['criterion']['method']}` compares "
            "scores only. Train with `--dev DATA`, or use `dcrfdsl calibrate`: both fit their temperature"
        )
