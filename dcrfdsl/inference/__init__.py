"""Inference: methods over data sets (`METHODS`), and over one graph with explicit tables (`infer_graph`)."""

from .bound.potentials import Binder, BoundData, Potentials
from .methods.message_methods import (
    METHODS,
    Expectations,
    ExpectingMethod,
    MixedMethod,
    SequenceMethod,
    Workers,
    choose_method,
    mixed_method,
)
from .methods.single_graph import SINGLE_METHODS, infer_graph
from .run_status import GraphResult, RunStatus

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
