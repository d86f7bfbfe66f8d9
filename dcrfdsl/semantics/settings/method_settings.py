"""What the settings of every method have in common: inference, priors, optimizers, criteria.

Not here: any method, and the tables that list them (`settings`, `priors`, `optimizers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ...registry import Table
from ..schema import Frozen

__all__ = ["MethodSettings"]


class MethodSettings(Frozen):
    """Base: `method` is the name in a template.

    `gives_log_z`: of inference, whether it estimates or bounds log Z, without which nothing can be trained.
    `margin`: of criteria, whether scores are only compared with each other, so that exp g(y) / Z is no probability
    until it is calibrated.
    """

    method: ClassVar[str]
    names: ClassVar[str] = ""  # the field that unnamed arguments go to: names of pieces, for example
    positional: ClassVar[tuple[str, ...]] = ()  # fields whose values may be given by their place
    methods: ClassVar[Mapping[str, Table[type[MethodSettings]]]] = {}  # fields whose values are methods of a table
    gives_log_z: ClassVar[bool] = True
    margin: ClassVar[bool] = False
    decode: ClassVar[str | None] = None  # of a criterion: how its models are decoded where the stage does not say
