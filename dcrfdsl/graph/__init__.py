"""Graphs: unrolling templates, wiring for kernels, elimination orders, spanning forests, `.uai` files."""

from .factor_graph import FactorGraph
from .parameters import Parameters, learn_parameters
from .templates import CliqueTemplate, assignment_states, clique_templates
from .uai import read_uai, read_uai_evidence
from .unroll import ModelGraph

__all__ = [
    "CliqueTemplate", "FactorGraph", "ModelGraph", "Parameters", "assignment_states", "clique_templates",
    "learn_parameters", "read_uai", "read_uai_evidence",
]  # fmt: skip
