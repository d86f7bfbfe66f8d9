"""What decoding a corpus gives, and the ways to decode that are refused. Not here: decoding (`predictor`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..foundation import Codes, DcrfError, Diagnostic, Floats
from ..inference import RunStatus, SingleRunDecoder
from ..semantics import DECODINGS

__all__ = ["Decoded", "check_rule", "possible_scores", "refuse_samples"]


class Decoded(NamedTuple):
    """The codes [N] of each label, the status of inference, and the score of each sentence [S] (see `Prediction`)."""

    codes: list[Codes]
    status: RunStatus
    scores: Floats


def check_rule(mode: str, decoder: SingleRunDecoder | None) -> None:
    """DcrfError for an unknown way to decode, or one that does not keep to `once` where decoding has to.

    decoder: of rules that the graph does not have.
    """
    if mode not in DECODINGS:
        known = ", ".join(f"`{name}`" for name in DECODINGS)
        message = f"`{mode}` is not a way to decode"
        raise DcrfError(Diagnostic("unknown-method", message, help=f"the ways to decode are {known}"))
    if decoder is not None and mode != "joint":
        message = f"`decode {mode}` does not keep to {decoder.statement}, whose types are too many to be in the graph"
        raise DcrfError(Diagnostic("once-not-exact", message, help="use `decode joint`, or bind fewer by `except`"))


def refuse_samples(decoder: SingleRunDecoder | None) -> None:
    """DcrfError if labellings cannot be drawn from the model with its rules."""
    if decoder is not None:
        message = f"labellings that keep to {decoder.statement} cannot be drawn: its types are too many for the graph"
        raise DcrfError(Diagnostic("once-not-exact", message, help="bind fewer by `except`, or take n-best labellings"))


def possible_scores(log_z: Floats) -> Floats:
    """The scores, [S], nan in place of -inf: no labelling is possible there."""
    if len(log_z) == 1 and log_z[0] > -np.inf:
        return log_z
    return np.where(np.isneginf(log_z), np.nan, log_z)
