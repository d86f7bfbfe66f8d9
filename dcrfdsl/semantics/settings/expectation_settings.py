"""Settings of `ep`, expectation propagation with a tree.

Not here: the other methods of inference (`training_settings`).
"""

from __future__ import annotations

from typing import Literal

from .method_settings import MethodSettings, setting


class EpSettings(MethodSettings):
    """Expectation propagation: the cliques of a spanning tree are kept whole, and every other one is replaced by tables
    along its path through the tree, renewed until marginals agree. Exact on trees, mostly closer than `trp` on loops,
    and slower. With `family = factored` and a `power` of 1, its fixed points are those of `bp`.
    """

    method = "ep"
    source = "Minka 2001, 2004; Minka & Qi 2003"
    example = "infer ep(power = 0.8)"
    family: Literal["tree", "factored"] = setting(
        "tree", "what the approximation keeps whole: a spanning tree of cliques, or no clique at all"
    )
    power: float = setting(1.0, "the share of a clique that is put in at a time; less than 1 is calmer, and rates "
                           "probabilities less extreme", unit="share", gt=0, le=1)  # fmt: skip
    max_iterations: int = setting(200, "it ends after so many sweeps, and says so if it did not converge",
                                  unit="sweeps", ge=1)  # fmt: skip
    tolerance: float = setting(1e-3, "it has converged where no marginal along a path differs by as much from the one "
                               "with the clique itself", unit="absolute", gt=0, lt=1)  # fmt: skip
    damping: float = setting(0.0, "the share of the old tables that new ones keep; more where marginals swing",
                             unit="share", ge=0, lt=1)  # fmt: skip
