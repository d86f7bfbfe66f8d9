"""Settings of priors. A prior on the weights λ is a penalty that is added to the objective of a criterion.

Its `shape` tells which optimizers can handle it. To add one: a class here, a line in `PRIORS`, and its terms in the
room that computes penalties. Not here: which optimizers treat which shape (`trainable`).
"""

from __future__ import annotations

from abc import abstractmethod

from pydantic import Field

from ...errors import Table
from .method_settings import MethodSettings, Shape

__all__ = ["PRIORS", "ElasticNetPrior", "GaussianPrior", "LaplacePrior", "LphiPrior", "NoPrior", "Prior"]


class Prior(MethodSettings):
    """Base of priors."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """`none`; `quadratic`; `smooth` for any other differentiable penalty; `corner` if it has one at zero."""


class NoPrior(Prior):
    """Maximum likelihood: no penalty."""

    method = "none"

    @property
    def shape(self) -> Shape:
        return "none"


class GaussianPrior(Prior):
    """Penalty ‖λ‖² / 2v with the variance v (Sutton 2004 §3.3)."""

    method = "gaussian"
    variance: float = Field(default=10.0, gt=0)

    @property
    def shape(self) -> Shape:
        return "quadratic"


class LaplacePrior(Prior):
    """Penalty ‖λ‖₁ / b with the scale b: weights become exactly zero."""

    method = "laplace"
    scale: float = Field(default=1.0, gt=0)

    @property
    def shape(self) -> Shape:
        return "corner"


class LphiPrior(Prior):
    """Penalty Σ |λ|^φ / φC (Suzuki 2006 eq. 2): Gaussian with variance C at φ = 2, Laplace with scale C at φ = 1."""

    method = "lphi"
    phi: float = Field(default=2.0, ge=1, le=100)
    C: float = Field(default=1.0, gt=0)

    @property
    def shape(self) -> Shape:
        return "corner" if self.phi == 1.0 else "quadratic" if self.phi == 2.0 else "smooth"


class ElasticNetPrior(Prior):
    """Penalty l1 ‖λ‖₁ + l2 ‖λ‖²."""

    method = "elastic_net"
    l1: float = Field(default=0.1, ge=0)
    l2: float = Field(default=0.05, ge=0)

    @property
    def shape(self) -> Shape:
        return "corner" if self.l1 else "quadratic" if self.l2 else "none"


PRIORS: Table[type[Prior]] = Table(
    "prior",
    {s.method: s for s in (NoPrior, GaussianPrior, LaplacePrior, LphiPrior, ElasticNetPrior)},
    {"l2": "gaussian", "l1": "laplace", "ridge": "gaussian", "lasso": "laplace"},
)
