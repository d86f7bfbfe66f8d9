"""Settings of pruned inference. Not here: the other methods (`training_settings`)."""

from __future__ import annotations

from .method_settings import MethodSettings, setting


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
