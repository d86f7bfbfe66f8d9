"""Expected feature counts under a distribution over a few listed labellings. Not here: which labellings."""

from __future__ import annotations

from ..runtime import kernel
from ..tables import scatter_gradient


@kernel
def count_labellings(
    first, last, shapes, kinds, bindings, rows, labellings, off, mass, belief, expected, gradient
):  # fmt: skip
    """Adds Σ_l mass[l, s] F(labellings[l]) of each sequence s.

    labellings [L, flat]: sequence s has its states from off[s] on.   mass [L, S]: where it is 0, states may be unknown.
    belief: zeros up to the end of the longest sequence's local tables, before and after.   expected [shared cells],
    gradient: as inference adds to them.
    """
    for s in range(first, last):
        g = rows.shape[s]
        v0 = shapes.var_off[g]
        for adding in (True, False):  # adds the mass to the beliefs; after counting, resets these to 0
            for n in range(len(labellings)):
                if mass[n, s] == 0.0:
                    continue
                for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
                    at = 0
                    for e in range(shapes.scope_off[f], shapes.scope_off[f + 1]):
                        v = shapes.scope[e]
                        at = at * shapes.card[v0 + v] + labellings[n, off[s] + v]
                    at += shapes.fac_table[f]
                    if at < shapes.local_start:
                        expected[at] += mass[n, s] if adding else 0.0
                    else:
                        belief[at] = belief[at] + mass[n, s] if adding else 0.0
            if adding:
                scatter_gradient(s, shapes, kinds, bindings, rows, belief, expected, gradient)
