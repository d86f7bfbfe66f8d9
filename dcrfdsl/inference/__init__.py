"""Inference: methods over data sets (`METHODS`), and over one graph with explicit tables (`infer_graph`)."""

from .methods import METHODS, Expectations, SequenceMethod, Workers, choose_method
from .potentials import Binder, BoundData, Potentials
from .single import SINGLE_METHODS, infer_graph
from .status import GraphResult, RunStatus

__all__ = [
    "METHODS", "SINGLE_METHODS", "Binder", "BoundData", "Expectations", "GraphResult", "Potentials", "RunStatus",
    "SequenceMethod", "Workers", "choose_method", "infer_graph",
]  # fmt: skip
