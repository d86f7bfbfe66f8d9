"""Settings of `gbp`, which sends messages between clusters of variables and the regions that they share.

Not here: the other methods of inference, and the table that lists all (`training_settings`).
"""

from __future__ import annotations

from typing import Literal

from .method_settings import MethodSettings, setting


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
