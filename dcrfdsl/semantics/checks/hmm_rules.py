"""Rules on `train hmm`: the template must be a hidden Markov model.

Not here: what one is (`semantics.conditions.markov_structure`), what only the data tells (`criteria.hidden_markov`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import Diagnostic
from ..conditions import obstacles
from ..settings import HmmSettings
from .context import LABEL_KINDS, Context, Rule
from .optimizer_rules import stage_views

__all__ = ["RULES"]


def countable(context: Context) -> Iterator[Diagnostic]:
    """Every clique as `hmm` can count it."""
    sites = [site.variable for clique in context.spec.cliques for site in clique.sites]
    if any((entry := context.named(name)) is None or entry.kind not in LABEL_KINDS for name in sites):
        return  # which `names` reports
    for stage in stage_views(context):
        own = stage.settings.criterion
        if isinstance(own, HmmSettings):
            for found in obstacles(context.spec, own.order):
                others = [((*stage.path, "name"), "the criterion")]
                yield context.complaint(
                    "cannot-count", found.message, found.path, found.words, help=found.remedy, others=others
                )


RULES: tuple[Rule, ...] = (countable,)
