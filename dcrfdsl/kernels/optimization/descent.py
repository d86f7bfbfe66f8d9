"""The inner loops of optimizers: sums over many long vectors, and steps on the few weights that a batch touches.

The vectors are rows of one array. They are processed in blocks that stay in the cache, and sums of blocks are added in
order, so a range of weights gives the same floats in every thread. Not here: which steps to take (`optimizers`).
"""

from __future__ import annotations

import numpy as np

from ..runtime import fast_inner, fast_kernel, kernel

__all__ = ["adaptive_steps", "combine", "dot", "inner_products", "plain_steps", "secant_steps"]

BLOCK = 512  # weights that are processed together


@fast_kernel
def dot(x, y):
    """Σ x[w] y[w]. Unlike with NumPy, the result does not depend on the number of cores."""
    total = 0.0
    for w in range(len(x)):
        total += x[w] * y[w]
    return total


@fast_inner
def _add(x, y, factor):
    for w in range(len(x)):
        x[w] += factor * y[w]


@fast_kernel
def inner_products(first, last, rows, others):
    """out[i, j] = Σ rows[i, w] others[j, w] over the weights w = first … last − 1."""
    out = np.zeros((len(rows), len(others)))
    for begin in range(first, last, BLOCK):
        end = min(last, begin + BLOCK)
        for i in range(len(rows)):
            for j in range(len(others)):
                out[i, j] += dot(rows[i, begin:end], others[j, begin:end])
    return out


@fast_kernel
def combine(first, last, gradient, scale, changes, of_changes, plain, bend, metric, moves, of_moves, out):
    """out = (plain + bend metric) q + Σ_i of_moves[i] moves[i] with q = scale gradient + Σ_i of_changes[i] changes[i],
    for the weights first … last − 1.   metric [W]: a diagonal matrix; empty for none.
    """
    for begin in range(first, last, BLOCK):
        end = min(last, begin + BLOCK)
        block, bent = out[begin:end], metric[begin:end]
        for w in range(len(block)):
            block[w] = scale * gradient[begin + w]
        for i in range(len(changes)):
            _add(block, changes[i, begin:end], of_changes[i])
        for w in range(len(block)):
            block[w] *= plain + bend * bent[w] if len(bent) > 0 else plain
        for i in range(len(moves)):
            _add(block, moves[i, begin:end], of_moves[i])


@kernel
def adaptive_steps(touched, gradient, share, rate, weights, squares, seen):
    """AdaGrad on the weights touched[i], with the penalty ½ Σ share λ² taken at the new point:

        s ← s + g²        η = rate / √s        λ ← (λ − η g) / (1 + η share)

    share [W].   seen [W]: the gradient is added to it.
    """
    for i in range(len(touched)):
        w, g = touched[i], gradient[i]
        seen[w] += g
        if g != 0.0:
            squares[w] += g * g
            step = rate / np.sqrt(squares[w])
            weights[w] = (weights[w] - step * g) / (1.0 + step * share[w])


@kernel
def plain_steps(touched, gradient, share, step, weights, seen):
    """A gradient step on the weights touched[i], with the penalty ½ Σ share λ² taken at the new point:

        λ ← (λ − step g) / (1 + step share)

    share [W].   seen [W]: the gradient is added to it.
    """
    for i in range(len(touched)):
        w, g = touched[i], gradient[i]
        seen[w] += g
        weights[w] = (weights[w] - step * g) / (1.0 + step * share[w])


@kernel
def secant_steps(gradient, before, growth, step, moves):
    """Fahlman's Quickprop: replaces the last move Δ of each weight in `moves` [W] by the next one; returns Σ g Δ.

        Δ ← Δ g / (g_before − g), at most `growth` times as long,    Δ ← −step g

    the second rule where the weight has not moved, or where the first would not lead downhill.
    """
    slope = 0.0
    for w in range(len(moves)):
        g, last = gradient[w], moves[w]
        fall = before[w] - g
        move = -step * g
        if last != 0.0 and fall * last < 0.0:  # the gradient rises along the move: there is a minimum
            secant = last * g / fall
            limit = growth * abs(last)
            move = min(max(secant, -limit), limit)
        moves[w] = move
        slope += g * move
    return slope
