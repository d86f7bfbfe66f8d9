"""Rules on `train hmm`: the template must be a hidden Markov model.

Not here: its definition (`semantics.conditions.markov_structure`), facts that need data (`criteria.hidden_markov`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import Diagnostic
from ..conditions import obstacles
from ..settings import HmmSettings
from .context import LABEL_KINDS, Context, Rule
from .optimizer_rules import stage_views


def countable(context: Context) -> Iterator[Diagnostic]:
    """Every clique must be one that `hmm` can count."""
    sites = [site.variable for clique in context.spec.cliques for site in clique.sites]
    if any((entry := context.named(name)) is None or entry.kind not in LABEL_KINDS for name in sites):
        return  # `name_rules` reports it
    for stage in stage_views(context):
        criterion = stage.settings.criterion
        if isinstance(criterion, HmmSettings):
            for obstacle in obstacles(context.spec, criterion.order):
                others = [((*stage.path, "name"), "the criterion")]
                yield context.complaint(
                    "cannot-count", obstacle.message, obstacle.path, obstacle.words, help=obstacle.remedy, others=others
                )


RULES: tuple[Rule, ...] = (countable,)
