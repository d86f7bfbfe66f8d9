"""How a contraction step is laid out: operands, sizes of its four groups of axes, their offset lists.

What the letters mean stands in `contraction`, what the columns are in `tables.wiring`. Not here: running a step.
"""

from __future__ import annotations

from ..runtime import inlined


@inlined
def operands(i, programs):
    """The pattern of step i, and where A, B and C begin."""
    return programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]


@inlined
def group_sizes(pattern, patterns):
    """The sizes of b, l, k and r."""
    dims = patterns.dims
    return dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]


@inlined
def offset_lists(pattern, patterns):
    """Where the lists a_b, a_l, a_k, b_b, b_k and b_r begin in `patterns.offsets`."""
    start = patterns.start
    of_a = start[pattern, 0], start[pattern, 1], start[pattern, 2]
    return of_a[0], of_a[1], of_a[2], start[pattern, 3], start[pattern, 4], start[pattern, 5]
