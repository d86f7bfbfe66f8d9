"""Kinds of factors: a clique template with a pattern of sites outside the sequence, and the entries of its tables.

Not here: where kinds lie in a sequence (`unroll`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..foundation import Floats, Ints
from .templates import CliqueTemplate, Pattern


@dataclass(frozen=True)
class CliqueKind:
    """A template with a pattern of sites outside the sequence: its tables range over the sites inside."""

    template: CliqueTemplate
    pattern: Pattern

    @property
    def cards(self) -> tuple[int, ...]:
        return tuple(c for c, outside in zip(self.template.cards, self.pattern, strict=True) if not outside)

    def full_assignments(self) -> Ints:
        """For each entry of the table, its assignment as weights distinguish them, [size]."""
        template = self.template
        full, counts = template.full_cards, template.weight_cards
        strides = [math.prod(full[i + 1 :]) for i in range(len(full))]
        places = np.zeros(1, np.int64)
        views = template.views or (None,) * len(counts)
        for card, count, view, stride, outside in zip(
            template.cards, counts, views, strides, self.pattern, strict=True
        ):
            inside = np.arange(card) if view is None else view.of
            states = inside if not outside else np.array([count if outside < 0 else count + 1])
            places = (places[:, None] + stride * states[None, :]).ravel()
        return places

    @property
    def size(self) -> int:
        """The entries of its table."""
        return math.prod(self.cards)

    def hard(self) -> Floats:
        """0 for an allowed entry, -inf for a forbidden one, [size]."""
        size = math.prod(self.cards)
        if self.template.allowed is None or any(self.pattern):
            return np.zeros(size)
        return np.where(self.template.allowed.ravel(), 0.0, -np.inf)
