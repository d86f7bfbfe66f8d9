"""Base classes of the settings of all methods: inference, priors, optimizers, criteria.

A criterion declares what it offers to an optimizer, and an optimizer what it needs: see `trainable`. Not here: any
method, or the tables that list them (`training_settings`, `prior_settings`, `optimizer_settings`).

These files do without `from __future__ import annotations`: pydantic would read the annotations of a base class from
texts for each of 80 subclasses, which takes 20 ms of every command.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ...foundation import Table
from ...syntax import other_words

# Beyond these limits sums overflow or nothing moves; no problem of any scale needs them.
LEAST, LARGEST = 1e-12, 1e12  # rates, and the scales of penalties
LONGEST = 1e6  # steps, costs and sharpness

Shape = Literal["none", "quadratic", "smooth", "corner", "groups"]
# gradient: value and gradient over all data. sequences: gradients of single sequences. counts: exact expected counts,
# which only the likelihood offers. margins: the labellings that violate a margin most.
Access = Literal["gradient", "sequences", "counts", "margins"]


def setting(default: Any, *, unit: str = "", **limits: Any) -> Any:
    """A field with the unit that the reference gives it.   limits: `gt`, `ge`, `lt`, `le`."""
    return Field(default=default, json_schema_extra={"unit": unit} if unit else None, **limits)


class Frozen(BaseModel):
    """Base class of settings: immutable, without undeclared keys.

    The validator of a class is built on first use: a command needs only a few of these classes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class MethodSettings(Frozen):
    """Base: `method` is the name in a template.

    What a method does, its source, the meanings of its settings and its examples stand on its page in
    `reference/words.md`. `gives_log_z`: of inference, whether it estimates or bounds log Z, without which nothing can
    be trained.
    """

    method: ClassVar[str]
    names: ClassVar[str] = ""  # the field that unnamed arguments go to: names of pieces, or methods if `methods` has it
    texts: ClassVar[str] = ""  # the field that unnamed texts go to
    positional: ClassVar[tuple[str, ...]] = ()  # fields whose values may be given by their place
    methods: ClassVar[Mapping[str, Table[type[Any]]]] = {}  # fields whose values are methods of a table
    idle_beside: ClassVar[Mapping[str, tuple[str, Any]]] = {}  # fields without effect where another one has a value
    gives_log_z: ClassVar[bool] = True

    @property
    def passes(self) -> tuple[int, int] | None:
        """How many iterations there will be, at least and at most, where these settings say so."""
        return None


AnyMethod = TypeVar("AnyMethod", bound=MethodSettings)


def methods_of(kind: str, *classes: type[AnyMethod]) -> Table[type[AnyMethod]]:
    """The table of these methods, with the words of other tools for them."""
    return Table(kind, {one.method: one for one in classes}, other_words(kind))


class CriterionSettings(MethodSettings):
    """Base of criteria.

    offers: what an optimizer can ask of it; empty if the criterion has a solver of its own, which `auto` selects.
    takes_prior: whether a penalty is part of the objective.   margin: whether training only compares scores.
    decode: the rule that decodes its models if neither the
    stage nor the `decode` statement names one.
    """

    offers: ClassVar[tuple[Access, ...]] = ("gradient",)
    takes_prior: ClassVar[bool] = True
    margin: ClassVar[bool] = False
    decode: ClassVar[str | None] = None

    @property
    def is_biased(self) -> bool:
        """Whether exp g(y) / Z is no probability until it is calibrated."""
        return self.margin

    @property
    def ease(self) -> float:
        """How many times weaker a penalty is here than beside a likelihood, which is in nats, if its strength is not
        written. Infinite: there is none by default, and one that is written is as beside a likelihood.
        """
        return 1.0


class OptimizerSettings(MethodSettings):
    """Base of optimizers. needs: what a criterion must offer; None if any criterion will do.   treats: the shapes of
    penalties that it can handle.
    """

    needs: ClassVar[Access | None] = "gradient"
    treats: ClassVar[tuple[Shape, ...]] = ("none", "quadratic", "smooth")
