"""Training criteria: value and gradient of an objective over a data set. `CRITERIA` is the table of those that run.

To add one: a settings class in `spec.settings`, a class here with the constructor of `Likelihood`, a line in the table.
"""

from __future__ import annotations

from ..registry import Table
from .likelihood import Clamped, Likelihood
from .penalties import weight_precisions

__all__ = ["CRITERIA", "Clamped", "Likelihood", "weight_precisions"]

CRITERIA: Table[type[Likelihood]] = Table("training criterion", {"likelihood": Likelihood})
