"""Passes over the sequences of a chain, one after the other, that change the weights after each sequence.

`mistake_pass` decodes a sequence and moves the weights by the difference δ of the features of its gold labelling and of
the best one, where these differ, in the manner of a rule:

    PERCEPTRON           λ ← λ + δ                                              Collins 2002
    PASSIVE_AGGRESSIVE   λ ← λ + τ δ,  τ as the loss ℓ, ‖δ‖² and C say          Crammer et al. 2006, §3 and §4
    CONFIDENCE           µ ← µ + ℓ Σδ / (γ + δᵀΣδ),  Σ⁻¹ ← Σ⁻¹ + diag(δ²) / γ    Mejer & Crammer 2010 (AROW)

`gradient_pass` steps along the gradient of each sequence's log-likelihood under an L2 penalty (Shalev-Shwartz, Singer &
Srebro 2007, Pegasos). Features are pairs of an attribute and a label, and pairs of labels. Not here: the order of the
sequences, the learning rate at the start, when to stop.
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Codes, Floats, Offsets
from ..runtime import kernel

PERCEPTRON, PASSIVE_AGGRESSIVE, CONFIDENCE = 0, 1, 2


class AttributeChain(NamedTuple):
    """S sequences of N items with L labels, and R + P features: R of pairs of labels, then P of attributes and labels.

    The features of attribute a are R + state_off[a] to R + state_off[a + 1] (excluded).
    """

    sequence_off: Offsets  # [S+1]  items of each sequence
    labels: Codes  #         [N]    gold labels
    item_off: Offsets  #     [N+1]  attributes of each item
    attributes: Codes  #     [M]
    values: Floats  #        [M]
    state_off: Offsets  #    [A+1]
    state_labels: Codes  #   [P]
    moves: Offsets  #        [L, L] the feature of a pair of labels, -1 for none


@kernel
def _score_items(chain, s, weights, scale, scores, between):
    """Fills scores [T, L] of the items of sequence s, and between [L, L], at scale · weights."""
    num_labels = len(between)
    shift = len(weights) - len(chain.state_labels)
    for i in range(num_labels):
        for j in range(num_labels):
            k = chain.moves[i, j]
            between[i, j] = scale * weights[k] if k >= 0 else 0.0
    start = chain.sequence_off[s]
    for t in range(chain.sequence_off[s + 1] - start):
        scores[t, :] = 0.0
        for m in range(chain.item_off[start + t], chain.item_off[start + t + 1]):
            a = chain.attributes[m]
            value = scale * chain.values[m]
            for k in range(chain.state_off[a], chain.state_off[a + 1]):
                scores[t, chain.state_labels[k]] += weights[shift + k] * value


@kernel
def _best_labels(scores, between, length, came, best):
    """Fills best [T] with the best labelling, of equal ones the first from the right; returns its score."""
    num_labels = len(between)
    last, now = scores[0].copy(), np.empty(num_labels)
    for t in range(1, length):
        for j in range(num_labels):
            highest, source = -np.inf, 0
            for i in range(num_labels):
                score = last[i] + between[i, j]
                if score > highest:
                    highest, source = score, i
            now[j] = highest + scores[t, j]
            came[t, j] = source
        last[:] = now
    at = 0
    for j in range(1, num_labels):
        if last[j] > last[at]:
            at = j
    highest = last[at]
    for t in range(length - 1, -1, -1):
        best[t] = at
        at = came[t, at]
    return highest


@kernel
def _add(delta, met, touched, num, s, k, amount):
    """Adds to δ_k, which is 0 before the first time in sequence s; returns how many features were touched."""
    if met[k] != s:
        met[k] = s
        delta[k] = 0.0
        touched[num] = k
        num += 1
    delta[k] += amount
    return num


@kernel
def _difference(chain, s, best, delta, met, touched):
    """Fills δ [W], the features of the gold labels less those of `best`, at the features `touched`.

    met [W]: the last sequence that touched each feature.   Returns how many features are touched.
    """
    shift = len(delta) - len(chain.state_labels)
    start = chain.sequence_off[s]
    num = 0
    for t in range(chain.sequence_off[s + 1] - start):
        gold, found = chain.labels[start + t], best[t]
        if t > 0:
            move = chain.moves[chain.labels[start + t - 1], gold]
            found_move = chain.moves[best[t - 1], found]
            if move != found_move:
                if move >= 0:
                    num = _add(delta, met, touched, num, s, move, 1.0)
                if found_move >= 0:
                    num = _add(delta, met, touched, num, s, found_move, -1.0)
        if gold != found:
            for m in range(chain.item_off[start + t], chain.item_off[start + t + 1]):
                a = chain.attributes[m]
                for k in range(chain.state_off[a], chain.state_off[a + 1]):
                    if chain.state_labels[k] == gold:
                        num = _add(delta, met, touched, num, s, shift + k, chain.values[m])
                    elif chain.state_labels[k] == found:
                        num = _add(delta, met, touched, num, s, shift + k, -chain.values[m])
    return num


@kernel
def _room_for_differences(chain):
    """The most features that a sequence can touch."""
    most = 0
    for s in range(len(chain.sequence_off) - 1):
        first, last = chain.sequence_off[s], chain.sequence_off[s + 1]
        most = max(most, 2 * (chain.item_off[last] - chain.item_off[first] + last - first))
    return most


@kernel
def mistake_pass(chain, order, rule, kind, strength, by_errors, weights, second, count):
    """One pass in the `order` of sequences; changes `weights` [W] and `second` [W]. Returns loss and count.

    second: the sum of count · step of each weight, so that weights − second / count are the mean of the weights after
    each sequence; for CONFIDENCE the variances Σ.   count: of sequences, from 1 on.   kind: for PASSIVE_AGGRESSIVE the
    variant, 0 without slack, 1 or 2.   strength: C, or γ.   by_errors: whether the margin grows with the root of the
    number of wrong labels.
    """
    num_labels = len(chain.moves)
    longest = 1
    for s in range(len(order)):
        longest = max(longest, chain.sequence_off[s + 1] - chain.sequence_off[s])
    scores, between = np.empty((longest, num_labels)), np.empty((num_labels, num_labels))
    came, best = np.zeros((longest, num_labels), np.int64), np.empty(longest, np.int64)
    delta, met = np.zeros(len(weights)), np.full(len(weights), -1, np.int64)
    touched = np.empty(_room_for_differences(chain), np.int64)
    total = 0.0
    for s in order:
        start = chain.sequence_off[s]
        length = chain.sequence_off[s + 1] - start
        _score_items(chain, s, weights, 1.0, scores, between)
        highest = _best_labels(scores, between, length, came, best)
        wrong = 0
        of_gold = 0.0
        for t in range(length):
            gold = chain.labels[start + t]
            wrong += best[t] != gold
            of_gold += scores[t, gold]
            if t > 0:
                of_gold += between[chain.labels[start + t - 1], gold]
        if wrong > 0:
            num = _difference(chain, s, best, delta, met, touched)
            norm = 0.0
            for k in touched[:num]:
                norm += delta[k] * delta[k] * (second[k] if rule == CONFIDENCE else 1.0)
            if rule == PERCEPTRON:
                loss, step = wrong / length, 1.0
            elif rule == PASSIVE_AGGRESSIVE:
                loss = highest - of_gold + (np.sqrt(wrong) if by_errors else 1.0)
                step = _aggressive_step(kind, strength, loss, norm)
            else:
                loss = highest - of_gold + wrong
                step = loss / (strength + norm)
            total += loss
            for k in touched[:num]:
                if rule == CONFIDENCE:
                    weights[k] += step * second[k] * delta[k]
                    second[k] = 1.0 / (1.0 / second[k] + delta[k] * delta[k] / strength)
                else:
                    weights[k] += step * delta[k]
                    second[k] += step * count * delta[k]
        count += 1
    return total, count


@kernel
def _aggressive_step(kind, strength, loss, norm):
    """τ: how far the weights move along δ, whose squared norm is `norm`."""
    if norm == 0.0:
        return 0.0
    if kind == 2:
        return loss / (norm + 1.0 / (2.0 * strength))
    return min(strength, loss / norm) if kind == 1 else loss / norm


@kernel
def gradient_pass(chain, order, weights, decay, time):
    """One pass of stochastic gradient descent in the `order` of sequences. Changes `weights` [W].

    The penalty of each sequence is ½ decay ‖λ‖².   time: t of the first step; the learning rate of step t is
    1 / (decay · t).   Returns the sum of −log p of each sequence before its step, but after the penalty's part of it.
    """
    num_labels = len(chain.moves)
    shift = len(weights) - len(chain.state_labels)
    longest = 1
    for s in order:
        longest = max(longest, chain.sequence_off[s + 1] - chain.sequence_off[s])
    scores, between = np.empty((longest, num_labels)), np.empty((num_labels, num_labels))
    forward, backward = np.empty((longest, num_labels)), np.empty((longest, num_labels))
    totals = np.empty(longest)
    total, scale = 0.0, 1.0  # the weights are scale times what the array holds
    for s in order:
        start = chain.sequence_off[s]
        length = chain.sequence_off[s + 1] - start
        step = 1.0 / (decay * time)
        time += 1.0
        scale *= 1.0 - step * decay
        _score_items(chain, s, weights, scale, scores, between)
        of_gold = 0.0
        for t in range(length):
            of_gold += scores[t, chain.labels[start + t]]
            if t > 0:
                of_gold += between[chain.labels[start + t - 1], chain.labels[start + t]]
        total += scaled_sums(scores, between, length, forward, backward, totals) - of_gold
        gain = step / scale
        for t in range(length):
            gold = chain.labels[start + t]
            for m in range(chain.item_off[start + t], chain.item_off[start + t + 1]):
                a = chain.attributes[m]
                value = gain * chain.values[m]
                for k in range(chain.state_off[a], chain.state_off[a + 1]):
                    j = chain.state_labels[k]
                    weights[shift + k] += value * ((j == gold) - forward[t, j] * backward[t, j] * totals[t])
            if t > 0:
                before = chain.labels[start + t - 1]
                for i in range(num_labels):
                    for j in range(num_labels):
                        k = chain.moves[i, j]
                        if k >= 0:
                            p = forward[t - 1, i] * between[i, j] * scores[t, j] * backward[t, j]
                            weights[k] += gain * ((i == before and j == gold) - p)
    for k in range(len(weights)):
        weights[k] *= scale
    return total


@kernel
def scaled_sums(scores, between, length, forward, backward, totals):
    """log Z by scaled sums (Rabiner 1989 §V.A), which also fills forward and backward [T, L] and their scale [T].

    Replaces `scores` and `between` by their exponentials, each relative to a maximum. The marginal of label j at t is
    forward · backward · totals[t]; that of labels i, j at t-1 and t is forward · between · scores · backward.
    """
    num_labels = len(between)
    log_z = 0.0
    peak = between.max()
    between[:] = np.exp(between - peak)
    log_z += peak * (length - 1)
    for t in range(length):
        peak = scores[t].max()
        scores[t] = np.exp(scores[t] - peak)
        log_z += peak
        for j in range(num_labels):
            amount = 1.0
            if t > 0:
                amount = 0.0
                for i in range(num_labels):
                    amount += forward[t - 1, i] * between[i, j]
            forward[t, j] = amount * scores[t, j]
        totals[t] = forward[t].sum()
        forward[t] /= totals[t]
        log_z += np.log(totals[t])
    backward[length - 1] = 1.0 / totals[length - 1]
    for t in range(length - 2, -1, -1):
        for i in range(num_labels):
            amount = 0.0
            for j in range(num_labels):
                amount += between[i, j] * scores[t + 1, j] * backward[t + 1, j]
            backward[t, i] = amount / totals[t]
    return log_z
