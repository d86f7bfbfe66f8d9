"""The best move along a chain: the highest sum, and of equal ones the lowest state, beside a loop in Python."""

from __future__ import annotations

import numpy as np
import pytest

from dcrfdsl.kernels.chain.viterbi import Lattice, best_but
from dcrfdsl.kernels.runtime import aligned_zeros, block_registers, entry, padded

NUMBERS, MOVES, STATES = np.zeros(0), np.zeros((0, 0), np.bool_), np.zeros(0, np.int32)


@entry
def found(but, start, scores, further, lattice, out):
    peak, state = best_but(but, start, scores, 0, further, 0, lattice)
    out[0], out[1] = peak, float(state)


@pytest.mark.parametrize("states", [1, 2, 7, 8, 9, 22, 33, 70])
def test_the_best_move_is_the_highest_and_of_equal_ones_the_lowest(states: int) -> None:
    width, draw = padded(states), np.random.default_rng(states)
    registers = (0,) * block_registers(states)
    lattice = Lattice(
        registers, 1, states, width, NUMBERS, NUMBERS, MOVES, STATES, NUMBERS, NUMBERS, NUMBERS, NUMBERS, 0
    )
    for trial in range(40):
        scores, further, out = aligned_zeros(width), aligned_zeros(width), np.zeros(2)
        scores[:], further[:] = -np.inf, 3.0
        scores[:states] = draw.integers(0, 3, states)  # many are equal
        scores[:states][draw.random(states) < 0.2] = -np.inf
        further[:states] = draw.integers(-1, 2, states)
        but = int(draw.integers(-1, states)) if trial else -1
        total = 0.5 + scores[:states] + further[:states]
        if but >= 0:
            total[but] = -np.inf
        found(float(but), 0.5, scores, further, lattice, out)
        assert out[0] == total.max()
        assert out[1] == (total.argmax() if total.max() > -np.inf else 0)
