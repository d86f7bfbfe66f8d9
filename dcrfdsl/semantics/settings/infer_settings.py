"""Settings of inference methods: one frozen class per method, with its defaults and limits.

`INFERENCE` is the table that the checker and the rooms below share: a method is known if it is listed there. Tolerances
are absolute, of messages that are normalised to sum 1. Not here: criteria (`training_settings`), priors
(`prior_settings`), optimizers (`optimizer_settings`).
"""

from typing import Literal

from ...foundation import Table
from .method_settings import MethodSettings, setting


class ExactSettings(MethodSettings):
    """Variable elimination: exact marginals, log Z and labellings, on any graph whose tables fit."""

    method = "exact"
    max_table: int = setting(2**24, unit="entries, 8 bytes each", ge=1, le=2**30)


class _MessagePassing(MethodSettings):
    """Base of methods that send messages, or update marginals, until they rest."""

    tolerance: float = setting(1e-3, unit="absolute", gt=0, lt=1)
    max_iterations: int = setting(1000, unit="iterations", ge=1)
    damping: float = setting(0.0, unit="share", ge=0, lt=1)
    seed: int = setting(0, ge=0)


class _TreePassing(_MessagePassing):
    """Base of methods that send messages along random spanning trees."""

    trees: Literal["random", "cover"] = "cover"


class TrpSettings(_TreePassing):
    """Tree-based reparameterization: messages along a new random tree in each iteration. Approximate on loops."""

    method = "trp"


class BpSettings(_MessagePassing):
    """Belief propagation: messages in an order that `schedule` names. Approximate on graphs with loops."""

    method = "bp"
    schedule: Literal["random", "flood", "residual"] = "random"


class AutoSettings(_TreePassing):
    """`exact` where it is cheap enough, else `trp` with these settings. `check --data` says which, and why."""

    method = "auto"
    max_table: int = setting(2**24, unit="entries, 8 bytes each", ge=1, le=2**30)


class MeanFieldSettings(_MessagePassing):
    """Naive mean field: a lower bound on log Z. `seed` draws where it starts."""

    method = "mean_field"
    tolerance: float = setting(1e-3, unit="absolute", gt=0, lt=1)


class TrwSettings(_MessagePassing):
    """Tree-reweighted sum-product: an upper bound on log Z. `seed` draws the trees."""

    method = "trw"
    tolerance: float = setting(1e-3, unit="nats", gt=0, lt=1)


class GibbsSettings(MethodSettings):
    """Gibbs sampling: marginals as shares of samples. It has no log Z, so it cannot train."""

    method = "gibbs"
    gives_log_z = False
    samples: int = setting(1000, unit="sweeps", ge=1)
    burn_in: int = setting(100, unit="sweeps", ge=0)
    thin: int = setting(1, unit="sweeps", ge=1)
    seed: int = setting(0, ge=0)


class GbpSettings(MethodSettings):
    """Generalised belief propagation: messages between clusters of variables and the regions that they share. log Z is
    the Kikuchi approximation. Closer than `trp` on graphs with short loops, at the cost of larger tables; exact where
    the clusters form a junction tree, as loops of four do on two chains.
    """

    method = "gbp"
    clusters: Literal["loops", "join", "factors"] = "loops"
    size: int = setting(4, unit="variables", ge=2, le=20)
    max_table: int = setting(2**16, unit="entries, 8 bytes each", ge=1, le=2**26)
    double_loop: Literal["fallback", "always", "never"] = "fallback"
    max_iterations: int = setting(1000, unit="sweeps", ge=1)
    tolerance: float = setting(1e-3, unit="nats", gt=0, lt=1)
    damping: float | None = setting(None, unit="share", ge=0, lt=1)


class EpSettings(MethodSettings):
    """Expectation propagation: the cliques of a spanning tree are kept whole, and every other one is replaced by tables
    along its path through the tree, renewed until marginals agree. Exact on trees, mostly closer than `trp` on loops,
    and slower. With `family = factored` and a `power` of 1, its fixed points are those of `bp`.
    """

    method = "ep"
    family: Literal["tree", "factored"] = "tree"
    power: float = setting(1.0, unit="share", gt=0, le=1)
    max_iterations: int = setting(200, unit="sweeps", ge=1)
    tolerance: float = setting(1e-3, unit="absolute", gt=0, lt=1)
    damping: float = setting(0.0, unit="share", ge=0, lt=1)


class PrunedSettings(MethodSettings):
    """Pruned sums, from order to order: single labels by their own scores, or by a coarser model (`by`), then pairs,
    triples and quadruples of what survives. Never exact, unless nothing is pruned. One label, with cliques of up to
    four neighbours.
    """

    method = "pruned"
    by: str | None = None
    threshold: float = setting(1e-3, unit="probability", ge=0, lt=1)
    keep: int = setting(16, unit="labels", ge=1)
    states: float | None = setting(None, unit="labels", gt=0)


INFERENCE: Table[type[MethodSettings]] = Table(
    "inference method",
    {
        s.method: s
        for s in (
            ExactSettings, TrpSettings, BpSettings, AutoSettings, MeanFieldSettings, TrwSettings, GbpSettings,
            EpSettings,
            GibbsSettings, PrunedSettings,
        )
    },
    {
        "kikuchi": "gbp", "expectation_propagation": "ep", "power_ep": "ep", "cvm": "gbp", "loopy": "bp",
        "belief_propagation": "bp", "lbp": "bp", "viterbi": "exact", "junction_tree": "exact",
        "forward_backward": "exact", "beam": "pruned", "coarse_to_fine": "pruned",
    },
)  # fmt: skip
