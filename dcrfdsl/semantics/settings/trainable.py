"""Which optimizers can train which criterion, and which penalties each of them can treat: the two tables.

A new criterion gets a line in `TRAINED_BY`; the checker refuses every other optimizer and names these. A new optimizer
gets a line in `TREATS`, and joins the groups below that it needs no more than. Not here: the words of the complaint
(`check.optimizers`).
"""

from __future__ import annotations

from collections.abc import Mapping

from .piece_shorthands import PIECES
from .prior_settings import Shape

__all__ = ["SMOOTH", "STEPWISE", "TRAINED_BY", "TREATS", "WITHOUT_PENALTY"]

SMOOTH = ("auto", "lbfgs", "owlqn", "cg")  # they need the value and the gradient
STEPWISE = ("sgd", "gpd", "quickprop")  # they need the gradient of single sequences as well
SCALING = ("iis",)  # it needs exact expectations of counts, and nothing but the likelihood has its optimum there
DUAL = ("working_set", "bcfw")  # they need the labellings that violate a margin most

TRAINED_BY: Mapping[str, tuple[str, ...]] = {
    "likelihood": (*SMOOTH, *STEPWISE, *SCALING),
    **dict.fromkeys(PIECES, (*SMOOTH, *STEPWISE)),
    "rescale": SMOOTH,
    "mce": (*SMOOTH, *STEPWISE),
    "induce": SMOOTH,
    "perceptron": ("auto",),  # it brings steps of its own
    "marginal": SMOOTH,
    "exponential": SMOOTH,
    "adaboost": ("auto",),  # it brings steps of its own
    "hmm": ("auto",),  # it counts
    "hmsvm": ("auto", *DUAL),
}
WITHOUT_PENALTY = ("rescale", "perceptron", "adaboost", "hmm", "hmsvm")  # criteria that no prior is part of

TREATS: Mapping[str, tuple[Shape, ...]] = {
    "auto": ("none", "quadratic", "smooth", "corner"),
    "owlqn": ("none", "quadratic", "smooth", "corner"),
    "lbfgs": ("none", "quadratic", "smooth"),
    "cg": ("none", "quadratic", "smooth"),
    "sgd": ("none", "quadratic"),
    "gpd": ("none", "quadratic"),
    "quickprop": ("none", "quadratic"),
    "iis": ("none",),
    "working_set": ("none",),
    "bcfw": ("none",),
}
