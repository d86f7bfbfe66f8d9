"""Settings of priors. A prior on the weights λ is a penalty that is added to the objective of a criterion.

Its `shape` tells which optimizers can handle it. To add one: a class here, a line in `PRIORS`, and its terms in the
room that computes penalties. Not here: which optimizers treat which shape (`trainable`).
"""

import math
from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from .method_settings import LARGEST, LEAST, MethodSettings, Shape, methods_of, setting


class Prior(MethodSettings):
    """Base of priors. strengths: the settings that say how strong the penalty is, each with 1 if it is weaker where
    the number is larger, else -1.
    """

    strengths: ClassVar[Mapping[str, int]] = {}
    usual_shape: ClassVar[Shape] = "none"  # `shape`, where it follows from no setting

    def eased(self, factor: float) -> Self:
        """The prior with every strength that is not written so many times weaker; see `CriterionSettings.ease`."""
        left = [name for name in self.strengths if name not in self.model_fields_set]
        if not left or factor == 1.0 or math.isinf(factor):
            return self
        return self.model_copy(update={name: getattr(self, name) * factor ** self.strengths[name] for name in left})

    @property
    def shape(self) -> Shape:
        """`none`; `quadratic`; `smooth` for any other differentiable penalty; `corner` if it has one
        wherever a weight is zero; `groups` if wherever a whole group of weights is.
        """
        return self.usual_shape


class NoPrior(Prior):
    method = "none"


class GaussianPrior(Prior):
    method = "gaussian"
    strengths = {"variance": 1}
    variance: float = setting(10.0, unit="weight, squared", ge=LEAST, le=LARGEST)
    mean: str = "zero"

    @property
    def shape(self) -> Shape:
        return "quadratic" if self.mean == "zero" else "smooth"

    @property
    def tied_to(self) -> str | None:
        """The clique towards whose weights these are drawn."""
        return None if self.mean in ("zero", "model") else self.mean


class LaplacePrior(Prior):
    method = "laplace"
    usual_shape = "corner"
    strengths = {"scale": 1}
    scale: float = setting(1.0, unit="weight", ge=LEAST, le=LARGEST)


class LphiPrior(Prior):
    method = "lphi"
    strengths = {"C": 1}
    phi: float = setting(2.0, ge=1, le=100)
    C: float = setting(1.0, unit="weight to the power φ", ge=LEAST, le=LARGEST)

    @property
    def shape(self) -> Shape:
        return "corner" if self.phi == 1.0 else "quadratic" if self.phi == 2.0 else "smooth"


class ElasticNetPrior(Prior):
    method = "elastic_net"
    strengths = {"l1": -1, "l2": -1}
    l1: float = setting(0.1, unit="per weight", ge=0, le=LARGEST)
    l2: float = setting(0.05, unit="per weight, squared", ge=0, le=LARGEST)

    @property
    def shape(self) -> Shape:
        return "corner" if self.l1 else "quadratic" if self.l2 else "none"


class GroupLassoPrior(Prior):
    method = "group_lasso"
    usual_shape = "groups"
    strengths = {"strength": -1}
    strength: float = setting(1.0, unit="per weight", ge=LEAST, le=LARGEST)
    groups: Literal["templates", "features"] = "templates"


PRIORS = methods_of("prior", NoPrior, GaussianPrior, LaplacePrior, LphiPrior, ElasticNetPrior, GroupLassoPrior)
