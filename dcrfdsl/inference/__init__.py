"""Inference: methods over data sets (`METHODS`), and over one graph with explicit tables (`infer_graph`)."""

from .methods import (
    METHODS,
    Expectations,
    ExpectingMethod,
    MixedMethod,
    SequenceMethod,
    Workers,
    choose_method,
    mixed_method,
)
from .potentials import Binder, BoundData, Potentials
from .single import SINGLE_METHODS, infer_graph
from .status import GraphResult, RunStatus

__all__ = [
    "METHODS",
    "SINGLE_METHODS",
    "Binder",
    "BoundData",
    "Expectations",
    "ExpectingMethod",
    "GraphResult",
    "MixedMethod",
    "Potentials",
    "RunStatus",
    "SequenceMethod",
    "Workers",
    "choose_method",
    "infer_graph",
    "mixed_method",
]  # fmt: skip
