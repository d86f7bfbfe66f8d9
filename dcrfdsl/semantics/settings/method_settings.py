"""What the settings of every method have in common: inference, priors, optimizers, criteria.

Criteria say what they offer to an optimizer, and optimizers what they need: see `trainable`. Not here: any method, and
the tables that list them (`training_settings`, `prior_settings`, `optimizer_settings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from ...errors import Table
from ..schema import Frozen

__all__ = ["Access", "CriterionSettings", "MethodSettings", "OptimizerSettings", "Shape", "setting"]

Shape = Literal["none", "quadratic", "smooth", "corner"]
# Value and gradient of all data; gradients of single sequences; exact expectations of counts, of the likelihood alone;
# the labellings that violate a margin most.
Access = Literal["gradient", "sequences", "counts", "margins"]


def setting(default: Any, meaning: str, *, unit: str = "", **limits: Any) -> Any:
    """A field with what the reference says of it.   limits: `gt`, `ge`, `lt`, `le`."""
    return Field(default=default, description=meaning, json_schema_extra={"unit": unit} if unit else None, **limits)


class MethodSettings(Frozen):
    """Base: `method` is the name in a template.

    The first paragraph of a method's docstring and the meanings of its settings are what `dcrfdsl explain` and the
    reference say. `source`: paper and equation. `example`: lines of a template that use it. `gives_log_z`: of
    inference, whether it estimates or bounds log Z, without which nothing can be trained.
    """

    method: ClassVar[str]
    source: ClassVar[str] = ""
    example: ClassVar[str] = ""
    names: ClassVar[str] = ""  # the field that unnamed arguments go to: names of pieces, for example
    positional: ClassVar[tuple[str, ...]] = ()  # fields whose values may be given by their place
    methods: ClassVar[Mapping[str, Table[type[MethodSettings]]]] = {}  # fields whose values are methods of a table
    gives_log_z: ClassVar[bool] = True


class CriterionSettings(MethodSettings):
    """Base of criteria.

    offers: what optimizers can have of it; nothing, where it brings steps of its own that `auto` takes.   takes_prior:
    whether a penalty is part of it.   margin: whether scores are only compared with each other, so that exp g(y) / Z is
    no probability until it is calibrated.   decode: how its models are decoded where the stage does not say.
    """

    offers: ClassVar[tuple[Access, ...]] = ("gradient",)
    takes_prior: ClassVar[bool] = True
    margin: ClassVar[bool] = False
    decode: ClassVar[str | None] = None

    @property
    def passes(self) -> tuple[int, int] | None:
        """How many iterations there will be, at least and at most, where these settings say so."""
        return None


class OptimizerSettings(MethodSettings):
    """Base of optimizers.   needs: what it must have of a criterion, None where it takes whatever there is.   treats:
    the shapes of penalties that it can cope with.
    """

    needs: ClassVar[Access | None] = "gradient"
    treats: ClassVar[tuple[Shape, ...]] = ("none", "quadratic", "smooth")

    @property
    def passes(self) -> tuple[int, int] | None:
        """How many iterations there will be, at least and at most, where these settings say so."""
        return None
