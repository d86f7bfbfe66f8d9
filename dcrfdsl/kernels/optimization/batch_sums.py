"""Batches: the weights that a run of sequences touches, and the gradient of the run.

Not here: the cut into batches (`criteria.batches`), steps (`descent`).
"""

from __future__ import annotations

import numpy as np

from ..runtime import kernel


@kernel
def firing_runs(first, last, shapes, kinds, rows, seen):
    """The features that fire in the sequences first … last − 1, each once, as indices into `Bindings.run_off`.

    seen [features of all cliques]: all False, before and after.
    """
    fired = np.empty(len(seen), np.int64)
    num_fired = 0
    for s in range(first, last):
        g = rows.shape[s]
        for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
            k = shapes.fac_kind[f]
            if shapes.fac_table[f] < shapes.local_start or kinds.fixed[k]:
                continue
            row = rows.first_row[kinds.feature_set[k], s] + shapes.fac_anchor[f]
            for i in range(rows.row_off[row], rows.row_off[row + 1]):
                run = kinds.run_base[k] + rows.feature[i]
                if not seen[run]:
                    seen[run] = True
                    fired[num_fired] = run
                    num_fired += 1
    for i in range(num_fired):
        seen[fired[i]] = False
    return fired[:num_fired].copy()


@kernel
def list_touched(num_bias, runs, run_off):
    """The numbers of the bias weights, then of the weights of the features `runs`, [weights] int32."""
    total = num_bias
    for r in runs:
        total += run_off[r + 1] - run_off[r]
    out = np.empty(total, np.int32)
    for w in range(num_bias):
        out[w] = w
    at = num_bias
    for r in runs:
        for e in range(run_off[r], run_off[r + 1]):
            out[at] = num_bias + e
            at += 1
    return out


@kernel
def collect_touched(touched, cell_of, partial, counted, counts, weights, out):
    """out[i] = Σ_r partial[r, cell of touched[i]], less counts[j] at i = counted[j]. Sets the cells to zero.

    Returns Σ counts λ.
    """
    for i in range(len(touched)):
        total = 0.0
        cell = cell_of[touched[i]]
        if cell >= 0:
            for r in range(len(partial)):
                total += partial[r, cell]
                partial[r, cell] = 0.0
        out[i] = total
    score = 0.0
    for j in range(len(counted)):
        out[counted[j]] -= counts[j]
        score += counts[j] * weights[touched[counted[j]]]
    return score


@kernel
def copy_to_cells(touched, cell_of, weights, cells):
    """Copies the touched weights to their cells."""
    for i in range(len(touched)):
        cell = cell_of[touched[i]]
        if cell >= 0:
            cells[cell] = weights[touched[i]]
