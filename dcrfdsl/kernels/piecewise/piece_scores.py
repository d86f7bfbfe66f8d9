"""The score tables of pieces: log scores of the joint states of an instance's variables, given all other variables.

Not here: the losses computed from them (`piece_losses`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import LANES, broadcast, exp, fast_inner, inlined, inner, load, store, subtract

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Floats = NDArray[np.float64]

MOST_SITES = 64  # of a piece, and of the variables that it conditions on


class PieceInstances(NamedTuple):
    """The instances of pieces on every shape. Variables and factors are counted from their shape's first."""

    instance_off: Ints  # [G+1]
    template: Small  #    [I]    number of its piece
    over_off: Ints  #     [I+1]
    over: Small  #        [..]   variables that an instance is normalised over; the last one varies fastest
    given_off: Ints  #    [I+1]
    given: Small  #       [..]   variables that it conditions on
    member_off: Ints  #   [I+1]
    member: Small  #      [..]   factors whose score it has
    scale: Floats  #      [..]   … times this
    locked: NDArray[np.bool_]  # [..] factors whose weights it does not train
    filter_off: Ints  #   [I+1]
    filter: Small  #      [..]   factors that decide which values of `given` are possible
    shared: NDArray[np.bool_]  # [I] its score is the same at every position: no features, nothing given


class Workspace(NamedTuple):
    """Memory of one call: scores of joint states (two buffers), strides, states, and results of shared pieces."""

    score: Floats
    stride: Ints
    kept: Small
    done: NDArray[np.bool_]  # [templates]       whether a shared piece was normalised
    log_z: Floats  #           [templates]
    times: Floats  #           [templates]       instances of a shared piece
    where: Ints  #             [templates]       one of them …
    shape: Ints  #             [templates]       … and its shape


@inner
def joint_states(variables, card, v0):
    """Number of joint states of some variables."""
    total = 1
    for v in variables:
        total *= card[v0 + v]
    return total


@inner
def place(f, shapes, v0, over, state, stride):
    """The cell of factor f where the variables `over` are in state 0 and the others as in `state`.

    stride [len(over)]: written; cells from one state of a variable to the next, 0 for variables not in the factor.
    """
    cell, step = shapes.fac_table[f], 1
    for o in range(len(over)):
        stride[o] = 0
    for e in range(shapes.scope_off[f + 1] - 1, shapes.scope_off[f] - 1, -1):
        v = shapes.scope[e]
        is_over = False
        for o in range(len(over)):
            if over[o] == v:
                stride[o] += step
                is_over = True
        if not is_over:
            cell += state[v] * step
        step *= shapes.card[v0 + v]
    return cell


@inner
def _row_start(row, cell, over, card, v0, stride):
    """The cell of the first joint state of row `row`; a row holds all states of the last variable."""
    for o in range(len(over) - 2, -1, -1):
        num_states = card[v0 + over[o]]
        cell += (row % num_states) * stride[o]
        row //= num_states
    return cell


@fast_inner
def _add_scores(value, cell, factor, over, card, v0, stride, score, size):
    """Adds `factor` times a factor's log scores to those of the joint states of `over`."""
    width, step = card[v0 + over[-1]], stride[len(over) - 1]
    for row in range(size // width):
        at = _row_start(row, cell, over, card, v0, stride)
        for j in range(width):
            score[row * width + j] += factor * value[at + j * step]


@fast_inner
def _add_beliefs(belief, cell, factor, over, card, v0, stride, probability, size):
    """Adds `factor` times the probabilities of the joint states of `over` to a factor's table."""
    width, step = card[v0 + over[-1]], stride[len(over) - 1]
    for row in range(size // width):
        at = _row_start(row, cell, over, card, v0, stride)
        for j in range(width):
            belief[at + j * step] += factor * probability[row * width + j]


@inlined
def _exponentiate(score, size, peak):
    """exp(score − peak) in whole registers; overwrites up to a register after the scores."""
    for j in range(size, -(-size // LANES) * LANES):
        score[j] = -np.inf
    taken = broadcast((0,), peak)
    for j in range(0, size, LANES):
        store(score, j, exp(subtract(load((0,), score, j), taken)))


@inner
def normalise(score, size, extra):
    """log(extra + Σ exp score), extra 0 or 1; the scores become probabilities. -inf where nothing is possible."""
    peak = 0.0 if extra else -np.inf
    for j in range(size):
        peak = max(peak, score[j])
    if peak == -np.inf:
        return peak
    _exponentiate(score, size, peak)
    total = np.exp(-peak) if extra else 0.0
    for j in range(size):
        total += score[j]
    for j in range(size):
        score[j] /= total
    return peak + np.log(total)


@inner
def scores(i, g, shapes, pieces, value, state, workspace):
    """Writes the log scores of the joint states of an instance to workspace.score. Returns their number."""
    v0, f0 = shapes.var_off[g], shapes.fac_off[g]
    over = pieces.over[pieces.over_off[i] : pieces.over_off[i + 1]]
    size = joint_states(over, shapes.card, v0)
    for j in range(size):
        workspace.score[j] = 0.0
    for m in range(pieces.member_off[i], pieces.member_off[i + 1]):
        cell = place(f0 + pieces.member[m], shapes, v0, over, state, workspace.stride)
        _add_scores(value, cell, pieces.scale[m], over, shapes.card, v0, workspace.stride, workspace.score, size)
    return size


@inner
def spread(i, g, shapes, pieces, belief, state, workspace, probability, factor, size):
    """Adds `factor` times the probabilities of joint states to the tables of the instance's factors."""
    v0, f0 = shapes.var_off[g], shapes.fac_off[g]
    over = pieces.over[pieces.over_off[i] : pieces.over_off[i + 1]]
    for m in range(pieces.member_off[i], pieces.member_off[i + 1]):
        if not pieces.locked[m]:
            cell = place(f0 + pieces.member[m], shapes, v0, over, state, workspace.stride)
            scale = factor * pieces.scale[m]
            _add_beliefs(belief, cell, scale, over, shapes.card, v0, workspace.stride, probability, size)


@inner
def set_given(joint, given, card, v0, state):
    """Sets the variables `given` to the states of the joint state `joint`. Returns how many of them change."""
    changed = 0
    for n in range(len(given) - 1, -1, -1):
        num_states = card[v0 + given[n]]
        changed += state[given[n]] != joint % num_states
        state[given[n]] = joint % num_states
        joint //= num_states
    return changed
