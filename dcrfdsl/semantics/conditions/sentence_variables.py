"""Labels of whole sentences, and the cliques over nothing else. Not here: what may not stand beside them (`checks`)."""

from __future__ import annotations

from ..schema import CliqueSpec, ModelSpec
from .condition_tables import view_label


def sentence_labels(spec: ModelSpec) -> frozenset[str]:
    """The labels that are declared `for sentence`, and their views."""
    labels = {label.name for label in spec.labels if label.per == "sentence"}
    return frozenset(labels | {view.name for view in spec.views if labels and view_label(spec, view) in labels})


def is_of_sentence(spec: ModelSpec, clique: CliqueSpec) -> bool:
    """Whether a clique is over labels of the sentence alone: it lies once in it, and reads all of its positions."""
    return sentence_labels(spec).issuperset(site.variable for site in clique.sites)
