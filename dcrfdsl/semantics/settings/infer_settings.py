"""Settings of inference methods: one frozen class per method, with its defaults and limits.

`INFERENCE` is the table that the checker and the rooms below share: a method is known if it is listed there. Tolerances
are absolute, of messages that are normalised to sum 1. Not here: criteria (`training_settings`), priors
(`prior_settings`), optimizers (`optimizer_settings`).
"""

from typing import Literal

from ...foundation import Table
from .method_settings import MethodSettings, setting

_MESSAGES = "max_iterations = 500, damping = 0.5, seed = 1"  # of examples


class ExactSettings(MethodSettings):
    """Variable elimination: exact marginals, log Z and labellings, on any graph whose tables fit."""

    method = "exact"
    source = "Sutton 2004, §3.1"
    example = "infer exact"
    max_table: int = setting(
        2**24, "the largest table that it may build; a graph that needs a larger one is refused before anything runs",
        unit="entries, 8 bytes each", ge=1, le=2**30,
    )  # fmt: skip


class _MessagePassing(MethodSettings):
    """Base of methods that send messages, or update marginals, until they rest."""

    tolerance: float = setting(1e-3, "it has converged where no entry of a message, which sums to 1, moves by as much",
                               unit="absolute", gt=0, lt=1)  # fmt: skip
    max_iterations: int = setting(1000, "it ends after so many iterations, and says so if it did not converge",
                                  unit="iterations", ge=1)  # fmt: skip
    damping: float = setting(0.0, "the share of the old message that a new one keeps", unit="share", ge=0, lt=1)
    seed: int = setting(0, "draws spanning trees, or the order of messages", ge=0)


class _TreePassing(_MessagePassing):
    """Base of methods that send messages along random spanning trees."""

    trees: Literal["random", "cover"] = setting(
        "cover", "the spanning tree of each iteration: `random`; or `cover`, which is random too, but edges come first "
        "that have not been in a tree for the longest, never-used ones before all others",
    )  # fmt: skip


class TrpSettings(_TreePassing):
    """Tree-based reparameterization: messages along a new random tree in each iteration. Approximate on loops."""

    method = "trp"
    source = "Sutton 2004, §3.2; Wainwright et al. 2001"
    example = "infer trp(trees = cover, tolerance = 1e-4)"


class BpSettings(_MessagePassing):
    """Belief propagation: messages in an order that `schedule` names. Approximate on graphs with loops."""

    method = "bp"
    source = "Sutton 2004, §3.2"
    example = "infer bp(schedule = residual)"
    schedule: Literal["random", "flood", "residual"] = setting(
        "random", "`random`: all edges one way in a random order, then all the other way; `flood`: all at once; "
        "`residual`: always the message that would change most",
    )  # fmt: skip


class AutoSettings(_TreePassing):
    """`exact` where it is cheap enough, else `trp` with these settings. `check --data` says which, and why."""

    method = "auto"
    example = "infer auto"
    max_table: int = setting(
        2**24, "the largest table of exact inference; where a graph needs a larger one, `trp` is taken",
        unit="entries, 8 bytes each", ge=1, le=2**30,
    )  # fmt: skip


class MeanFieldSettings(_MessagePassing):
    """Naive mean field: a lower bound on log Z. `seed` draws where it starts."""

    method = "mean_field"
    source = "Sutton 2004, §5"
    example = "infer mean_field(tolerance = 1e-5)\ntrain likelihood: infer = exact"
    tolerance: float = setting(1e-3, "it has converged where no marginal moves by as much", unit="absolute", gt=0, lt=1)


class TrwSettings(_MessagePassing):
    """Tree-reweighted sum-product: an upper bound on log Z. `seed` draws the trees."""

    method = "trw"
    source = "Wainwright, Jaakkola & Willsky 2005"
    example = "infer trw(tolerance = 1e-5)"
    tolerance: float = setting(1e-3, "it has converged where no log message moves by as much", unit="nats", gt=0, lt=1)


class GibbsSettings(MethodSettings):
    """Gibbs sampling: marginals as shares of samples. It has no log Z, so it cannot train."""

    method = "gibbs"
    example = "infer gibbs(samples = 2000, burn_in = 200)\ntrain likelihood: infer = exact"
    gives_log_z = False
    samples: int = setting(1000, "sweeps that count", unit="sweeps", ge=1)
    burn_in: int = setting(100, "sweeps before the first that counts", unit="sweeps", ge=0)
    thin: int = setting(1, "of the later sweeps it keeps every n-th", unit="sweeps", ge=1)
    seed: int = setting(0, "draws the samples", ge=0)


class GbpSettings(MethodSettings):
    """Generalised belief propagation: messages between clusters of variables and the regions that they share. log Z is
    the Kikuchi approximation. Closer than `trp` on graphs with short loops, at the cost of larger tables; exact where
    the clusters form a junction tree, as loops of four do on two chains.
    """

    method = "gbp"
    source = "Yedidia, Freeman & Weiss 2005; Heskes 2003"
    example = "infer gbp(clusters = loops, size = 4)"
    clusters: Literal["loops", "join", "factors"] = setting(
        "loops", "`loops`: the factors and the loops without a chord; `join`: a join graph of bounded clusters "
        "(mini-buckets), which is exact from the treewidth + 1 on; `factors`: the factors alone, with the fixed "
        "points of `bp` where no two factors share more than one variable",
    )  # fmt: skip
    size: int = setting(4, "a larger loop is no cluster, and a join makes none that is larger", unit="variables", ge=2,
                        le=20)  # fmt: skip
    max_table: int = setting(2**16, "the same for the table of a cluster; factors are always in one",
                             unit="entries, 8 bytes each", ge=1, le=2**26)  # fmt: skip
    double_loop: Literal["fallback", "always", "never"] = setting(
        "fallback", "the slower algorithm whose steps all lower the free energy: where messages swing though they are "
        "damped, from the start, or not at all",
    )  # fmt: skip
    max_iterations: int = setting(1000, "it ends after so many sweeps, and says so if it did not converge",
                                  unit="sweeps", ge=1)  # fmt: skip
    tolerance: float = setting(1e-3, "it has converged where no log probability of a shared region moves by as much",
                               unit="nats", gt=0, lt=1)  # fmt: skip
    damping: float | None = setting(
        None, "the share of the old message that a new one keeps; by default 0.8, or 0 where no region lies within "
        "another one, as with `factors` and in many junction trees", unit="share", ge=0, lt=1,
    )  # fmt: skip


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


class PrunedSettings(MethodSettings):
    """Pruned sums, from order to order: single labels by their own scores, or by a coarser model (`by`), then pairs,
    triples and quadruples of what survives. Never exact, unless nothing is pruned. One label, with cliques of up to
    four neighbours.
    """

    method = "pruned"
    source = "Müller, Schmid & Schütze 2013, §3"
    example = "infer pruned(threshold = 0.001, keep = 16)"
    by: str | None = setting(
        None, "what decides which single labels survive: the marginals of an earlier training stage, or those of the "
        "model's cliques on single labels and on neighbours that are seen through a view; by default the scores of "
        "single labels",
    )  # fmt: skip
    threshold: float = setting(
        1e-3, "what is less probable is pruned, by the probabilities of its order; 0 prunes nothing by this",
        unit="probability", ge=0, lt=1,
    )  # fmt: skip
    keep: int = setting(16, "of a position so many labels survive, at most", unit="labels", ge=1)
    states: float | None = setting(
        None, "steers the threshold of a sentence to so many labels a position on average, at most; twice as many "
        "pairs, and four times as many triples", unit="labels", gt=0,
    )  # fmt: skip


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
