"""What decoding a corpus gives, and the ways to decode that are refused. Not here: decoding (`predictor`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..foundation import Codes, DcrfError, Diagnostic, Floats
from ..graph import ModelGraph
from ..inference import RunStatus, SearchLimits, SingleRunDecoder
from ..semantics import bounding_decoding


class Decoded(NamedTuple):
    """The codes [N] of each label, the status of inference, the score of each sentence [S], and the bounds on it [S]
    where the rule gives any (see `Prediction`).
    """

    codes: list[Codes]
    status: RunStatus
    scores: Floats
    bounds: Floats | None = None


def checked_rule(mode: str, decoder: SingleRunDecoder | None, graph: ModelGraph, method: str) -> SearchLimits | None:
    """The limits of the search that a way to decode asks for, if it does.

    Raises DcrfError for an unknown one, one that does not keep to `once` where decoding has to, or gives no bounds.
    decoder: of rules that the graph does not have.   method: of inference.
    """
    bounding = bounding_decoding(mode)
    if decoder is not None and mode != "joint":
        message = f"`decode {mode}` does not keep to {decoder.statement}, whose types are too many to be in the graph"
        raise DcrfError(Diagnostic("once-not-exact", message, help="use `decode joint`, or bind fewer by `except`"))
    if bounding is None:
        return None
    if graph.num_latents:
        latent = graph.variables[graph.latents[0]]
        message = f"`decode {mode}` bounds the score of a labelling, and `latent {latent}` is summed out of it"
        raise DcrfError(Diagnostic("no-bound", message, help="use `decode joint` or `decode marginal`"))
    if method == "pruned":
        message = f"`decode {mode}` needs the potentials of all labels, and `infer pruned` leaves most of them out"
        raise DcrfError(Diagnostic("no-bound", message, help="use `decode joint`"))
    return SearchLimits(bounding.iterations, bounding.most_nodes)


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
