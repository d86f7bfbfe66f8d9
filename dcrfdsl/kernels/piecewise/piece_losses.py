"""Losses of the pieces of a parameter independence diagram: each normalised over its variables, given the known rest.

    Σ_π [ log Σ_{y_π} exp s_π(y_π, y*_N) − log Σ_{y_π as known} exp s_π(y_π, y*_N) ],    s_π: log scores of its cliques

(McCallum & Sutton 2004 §2.) Where every variable of a piece is known, the second term is the score of the gold labels.
With NOTA ("none of the above", §3) each piece has one more joint outcome of potential 1. Under other values y' of the
variables that the piece conditions on, this outcome is the right one:

    log(1 + Σ_{y_π} exp s_π(y_π, y*_N)) − s_π(y*_π, y*_N) + Σ_{y' ≠ y*_N} log(1 + Σ_{y_π} exp s_π(y_π, y'))

Where variables of a piece, or that it conditions on, have a distribution instead of a known state, the loss is the mean
over the product q of the distributions, without the joint states that constraints forbid:

    Σ_{y_N} Σ_{y_π} q(y_π, y_N) [ log Σ_{y'_π} exp s_π(y'_π, y_N) − s_π(y_π, y_N) ]

All joint states of a piece are enumerated, so pieces must be small. Not here: which instances there are
(`graph.piece_instances`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32, Mask
from ..runtime import LANES, broadcast, exp, fast_inner, inlined, inner, kernel, load, store, subtract
from ..tables import add_run, copy_run, fill_tables, scatter_gradient

MOST_SITES = 64  # of a piece, and of the variables that it conditions on
SOFT = -2  # the state of a variable that has a distribution


class PieceInstances(NamedTuple):
    """The instances of pieces on every shape. Variables and factors are counted from their shape's first."""

    instance_off: Ints  # [G+1]
    template: Ints32  #   [I]    number of its piece
    over_off: Ints  #     [I+1]
    over: Ints32  #       [..]   variables that an instance is normalised over; the last one varies fastest
    given_off: Ints  #    [I+1]
    given: Ints32  #      [..]   variables that it conditions on
    member_off: Ints  #   [I+1]
    member: Ints32  #     [..]   factors whose score it has
    scale: Floats  #      [..]   … times this
    locked: Mask  #       [..] factors whose weights it does not train
    filter_off: Ints  #   [I+1]
    filter: Ints32  #     [..]   factors that decide which values of `given` are possible
    shared: Mask  #       [I] its score is the same at every position: no features, nothing given


class Workspace(NamedTuple):
    """Memory of one call: scores of joint states (two buffers), strides, states, and results of shared pieces."""

    score: Floats
    stride: Ints
    kept: Ints32
    done: Mask  #    [templates]       whether a shared piece was normalised
    log_z: Floats  # [templates]
    times: Floats  # [templates]       instances of a shared piece
    where: Ints  #   [templates]       one of them …
    shape: Ints  #   [templates]       … and its shape


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
def _move(table, cell, factor, over, card, v0, stride, joint, size, scatters):
    """Adds `factor` times a factor's `table` to the numbers of joint states; with `scatters` the other way."""
    width, step = card[v0 + over[-1]], stride[len(over) - 1]
    for row in range(size // width):
        at = _row_start(row, cell, over, card, v0, stride)
        for j in range(width):
            if scatters:
                table[at + j * step] += factor * joint[row * width + j]
            else:
                joint[row * width + j] += factor * table[at + j * step]


@inlined
def _exponentiate(score, size, peak):
    """exp(score − peak) in whole registers; overwrites up to a register after the scores."""
    score[size : -(-size // LANES) * LANES] = -np.inf
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
        _move(value, cell, pieces.scale[m], over, shapes.card, v0, workspace.stride, workspace.score, size, False)
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
            _move(belief, cell, scale, over, shapes.card, v0, workspace.stride, probability, size, True)


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


# losses ---------------------------------------------------------------------------------------------------------------

NONE, ALL, ONE, SAMPLED, LISTED = range(5)  # other cases in which NOTA is right; ONE: one variable changed


class Cases(NamedTuple):
    """The cases in which NOTA is the right outcome, besides the known case."""

    mode: int
    rate: float  #    share of the cases to sample (SAMPLED)
    seed: int
    instance: Ints  # [S+1]  where the instances of each sequence are counted from …; the number of each (SAMPLED)
    case_off: Ints  # [n+1]  … and where the cases of an instance lie, if they are listed
    case: Ints  #     [..]   joint values of the variables that the instance conditions on


class TablePlaces(NamedTuple):
    """Where the tables of local distributions lie."""

    start: Ints  #     [..]   of each shape's instances, then of its constraints, from the sequence's first cell on
    start_off: Ints  # [G+1]
    table_off: Ints  # [n+1]  the first cell of each sequence of a run


@inner
def _keep_known(over, card, v0, state, may, may_at, state_off, score, size):
    """Gives -inf to the joint states that contradict the known labels, or the possible ones of unknown variables."""
    for joint in range(size):
        rest, keeps = joint, True
        for o in range(len(over) - 1, -1, -1):
            v = over[o]
            num_states = card[v0 + v]
            digit = rest % num_states
            rest //= num_states
            if state[v] >= 0:
                keeps &= digit == state[v]
            else:
                keeps &= may[may_at + state_off[v0 + v] + digit] > 0
        if not keeps:
            score[joint] = -np.inf


@inner
def _gold_joint(over, card, v0, state):
    """The known joint state of the variables `over`, -1 if one of them is unknown."""
    joint = 0
    for v in over:
        if state[v] < 0:
            return -1
        joint = joint * card[v0 + v] + state[v]
    return joint


@inner
def _known_case(i, g, shapes, pieces, value, belief, state, may, may_at, nota, workspace, importance):
    """The loss of an instance in the known case, `importance` times; adds as many times its expectations less the known
    counts to the beliefs.
    """
    v0 = shapes.var_off[g]
    over = pieces.over[pieces.over_off[i] : pieces.over_off[i + 1]]
    size = scores(i, g, shapes, pieces, value, state, workspace)
    gold = _gold_joint(over, shapes.card, v0, state)
    score = workspace.score
    if gold >= 0:
        loss = -score[gold]
    else:
        known = score[-(-size // LANES) * LANES :]
        copy_run(score, 0, size, known)
        _keep_known(over, shapes.card, v0, state, may, may_at, shapes.state_off, known, size)
        loss = -normalise(known, size, False)
    log_z = normalise(score, size, nota)
    if loss == np.inf or log_z == -np.inf:
        return np.inf
    if gold >= 0:
        score[gold] -= 1.0
    else:
        spread(i, g, shapes, pieces, belief, state, workspace, score[-(-size // LANES) * LANES :], -importance, size)
    spread(i, g, shapes, pieces, belief, state, workspace, score, importance, size)
    return importance * (loss + log_z)


@inner
def _is_possible(i, g, shapes, pieces, value, state, workspace):
    """Whether the values of the variables that the instance conditions on break no hard constraint."""
    v0, f0 = shapes.var_off[g], shapes.fac_off[g]
    nothing = pieces.over[:0]
    for m in range(pieces.filter_off[i], pieces.filter_off[i + 1]):
        if value[place(f0 + pieces.filter[m], shapes, v0, nothing, state, workspace.stride)] == -np.inf:
            return False
    return True


@inner
def _has_soft(variables, state):
    """Whether one of some variables has a distribution."""
    found = False
    for v in variables:
        found |= state[v] == SOFT
    return found


@inner
def _share(joint, variables, card, v0, state, may, may_at, state_off):
    """The probability that distributions and known states give to a joint state of some variables."""
    share = 1.0
    for n in range(len(variables) - 1, -1, -1):
        v = variables[n]
        digit = joint % card[v0 + v]
        joint //= card[v0 + v]
        if state[v] >= 0:
            share *= digit == state[v]
        else:
            share *= may[may_at + state_off[v0 + v] + digit]
    return share


@inner
def _soft_case(i, g, shapes, pieces, value, belief, state, may, may_at, workspace, importance):
    """As `_known_case`, in the mean over distributions of the variables of the instance and of its condition.

    The first turn sums the probability of what no constraint forbids, by which the second one divides.
    """
    v0, card = shapes.var_off[g], shapes.card
    over = pieces.over[pieces.over_off[i] : pieces.over_off[i + 1]]
    given = pieces.given[pieces.given_off[i] : pieces.given_off[i + 1]]
    kept, total, loss = workspace.kept, 0.0, 0.0
    for n in range(len(given)):
        kept[n] = state[given[n]]
    for turn in range(2):
        for joint in range(joint_states(given, card, v0)):
            for n in range(len(given)):
                state[given[n]] = kept[n]
            share = _share(joint, given, card, v0, state, may, may_at, shapes.state_off)
            if share == 0.0:
                continue
            set_given(joint, given, card, v0, state)
            if not _is_possible(i, g, shapes, pieces, value, state, workspace):
                continue
            size = scores(i, g, shapes, pieces, value, state, workspace)
            score, mass = workspace.score, 0.0
            known = score[-(-size // LANES) * LANES :]
            for j in range(size):
                known[j] = 0.0
                if score[j] > -np.inf:
                    known[j] = _share(j, over, card, v0, state, may, may_at, shapes.state_off)
                    mass += known[j]
            if turn == 0:
                total += share * mass
            elif mass > 0.0:
                factor = importance * share / total
                for j in range(size):
                    if known[j] > 0.0:
                        loss -= factor * known[j] * score[j]
                spread(i, g, shapes, pieces, belief, state, workspace, known, -factor, size)
                loss += factor * mass * normalise(score, size, False)
                spread(i, g, shapes, pieces, belief, state, workspace, score, factor * mass, size)
        if total == 0.0:
            loss = np.inf
            break
    for n in range(len(given)):
        state[given[n]] = kept[n]
    return loss


@inner
def _shared_case(i, g, shapes, pieces, value, belief, state, workspace, importance):
    """As `_known_case`, for an instance with the same scores at every position: normalised once, spread at the end."""
    v0, f0, p = shapes.var_off[g], shapes.fac_off[g], pieces.template[i]
    over = pieces.over[pieces.over_off[i] : pieces.over_off[i + 1]]
    if not workspace.done[p]:
        size = scores(i, g, shapes, pieces, value, state, workspace)
        workspace.log_z[p] = normalise(workspace.score, size, False)
        workspace.done[p], workspace.where[p], workspace.shape[p] = True, i, g
    workspace.times[p] += importance
    loss = workspace.log_z[p]
    for m in range(pieces.member_off[i], pieces.member_off[i + 1]):
        cell = place(f0 + pieces.member[m], shapes, v0, over, state, workspace.stride)
        for o in range(len(over)):
            cell += state[over[o]] * workspace.stride[o]
        loss -= pieces.scale[m] * value[cell]
        if not pieces.locked[m]:
            belief[cell] -= importance * pieces.scale[m]
    return importance * loss


@inner
def _spread_shared(shapes, pieces, value, belief, state, workspace):
    """Adds the expectations of all shared instances to the shared cells."""
    for p in range(len(workspace.done)):
        if workspace.done[p]:
            i, g = workspace.where[p], workspace.shape[p]
            size = scores(i, g, shapes, pieces, value, state, workspace)
            normalise(workspace.score, size, False)
            spread(i, g, shapes, pieces, belief, state, workspace, workspace.score, workspace.times[p], size)


@inner
def _other_case(i, g, shapes, pieces, value, belief, state, workspace, importance):
    """The loss of an instance in a case where NOTA is right, `importance` times."""
    size = scores(i, g, shapes, pieces, value, state, workspace)
    loss = normalise(workspace.score, size, True)
    spread(i, g, shapes, pieces, belief, state, workspace, workspace.score, importance, size)
    return importance * loss


@inner
def _is_drawn(rate, seed, s, i, joint):
    """True with probability `rate`, as a hash of the arguments (one step of SplitMix64 for each)."""
    x = np.uint64(seed)
    for part in (s, i, joint):
        x = (x ^ np.uint64(part)) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return np.float64(x >> np.uint64(11)) * 2.0**-53 < rate


@inner
def _other_cases(s, i, g, shapes, pieces, cases, value, belief, state, workspace, importance):
    """The losses of an instance in all cases but the known one."""
    v0, card = shapes.var_off[g], shapes.card
    given = pieces.given[pieces.given_off[i] : pieces.given_off[i + 1]]
    kept = workspace.kept
    for n in range(len(given)):
        kept[n] = state[given[n]]
    loss, local = 0.0, i - pieces.instance_off[g]
    number = cases.instance[s] + local
    listed = cases.mode == LISTED
    first = cases.case_off[number] if listed else 0
    last = cases.case_off[number + 1] if listed else joint_states(given, card, v0)
    for c in range(first, last):
        joint = cases.case[c] if listed else c
        for n in range(len(given)):
            state[given[n]] = kept[n]
        changed = set_given(joint, given, card, v0, state)
        if changed == 0 or (cases.mode == ONE and changed > 1):
            continue
        if cases.mode == SAMPLED and not _is_drawn(cases.rate, cases.seed, number - local, local, joint):
            continue
        if _is_possible(i, g, shapes, pieces, value, state, workspace):
            loss += _other_case(i, g, shapes, pieces, value, belief, state, workspace, importance)
    for n in range(len(given)):
        state[given[n]] = kept[n]
    return loss


@kernel
def _memory(first, last, shapes, rows, log_base, largest, templates):
    """Tables, whose shared cells are filled in, states of variables, and a workspace for the sequences of a run."""
    most, count = shapes.local_start, 0
    for s in range(first, last):
        g = rows.shape[s]
        most = max(most, shapes.local_end[g])
        count = max(count, shapes.var_off[g + 1] - shapes.var_off[g])
    value = np.empty(most)
    copy_run(log_base, 0, shapes.local_start, value)
    workspace = Workspace(
        np.empty(2 * (largest + LANES)), np.empty(MOST_SITES, np.int64), np.empty(MOST_SITES, np.int32),
        np.zeros(templates, np.bool_), np.zeros(templates), np.zeros(templates), np.zeros(templates, np.int64),
        np.zeros(templates, np.int64),
    )  # fmt: skip
    return value, np.zeros(count, np.int32), workspace


@kernel
def piece_expectations(
    first, last, problem, pieces, cases, potentials, labelling, may, importance, largest, totals, loss
):
    """The sum of the losses of all pieces of each sequence into loss [S]; adds the gradients to the totals.

    The loss is inf where the known states of a piece are impossible.   labelling: known states, -1 where unknown, SOFT;
    `may`, laid out as marginals, then says which states are possible, or how probable they are.   importance: the
    factor of each instance, sequence by sequence; 1 if empty.   largest: joint states of the largest piece.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    templates = 0
    for p in pieces.template:
        templates = max(templates, p + 1)
    value, state, workspace = _memory(first, last, shapes, rows, log_base, largest, templates)
    belief = np.zeros(len(value))
    for s in range(first, last):
        g = rows.shape[s]
        copy_run(labelling.value, labelling.off[s], shapes.var_off[g + 1] - shapes.var_off[g], state)
        belief[shapes.local_start : shapes.local_end[g]] = 0.0
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
        total = 0.0
        for i in range(pieces.instance_off[g], pieces.instance_off[g + 1]):
            factor = 1.0
            if len(importance.value) > 0:
                factor = importance.value[importance.off[s] + i - pieces.instance_off[g]]
                if factor == 0.0:
                    continue
            over = pieces.over[pieces.over_off[i] : pieces.over_off[i + 1]]
            gold = _gold_joint(over, shapes.card, shapes.var_off[g], state)
            if pieces.shared[i] and gold >= 0 and cases.mode == NONE:
                total += _shared_case(i, g, shapes, pieces, value, belief, state, workspace, factor)
                continue
            given = pieces.given[pieces.given_off[i] : pieces.given_off[i + 1]]
            if _has_soft(over, state) or _has_soft(given, state):
                total += _soft_case(
                    i, g, shapes, pieces, value, belief, state, may.value, may.off[s], workspace, factor
                )
                continue
            nota = cases.mode != NONE
            total += _known_case(
                i, g, shapes, pieces, value, belief, state, may.value, may.off[s], nota, workspace, factor
            )
            if nota:
                total += _other_cases(s, i, g, shapes, pieces, cases, value, belief, state, workspace, factor)
        loss[s] = total
        scatter_gradient(s, shapes, kinds, bindings, rows, belief, totals.expected, totals.gradient)
    _spread_shared(shapes, pieces, value, belief, state, workspace)
    add_run(belief, 0, shapes.local_start, totals.expected)


@kernel
def likely_cases(shapes, rows, pieces, marginals, marginal_off, labelling, off, threshold):
    """The likely cases: joint values of the variables that an instance conditions on, other than the known ones, whose
    product of marginals exceeds `threshold`. Returns the fields `instance`, `case_off` and `case` of `Cases`.
    """
    count = len(rows.shape)
    instance = np.zeros(count + 1, np.int64)
    for s in range(count):
        g = rows.shape[s]
        instance[s + 1] = instance[s] + pieces.instance_off[g + 1] - pieces.instance_off[g]
    case_off, case = np.zeros(instance[-1] + 1, np.int64), np.empty(1024, np.int64)
    num_cases, number = 0, 0
    for s in range(count):
        g = rows.shape[s]
        v0 = shapes.var_off[g]
        for i in range(pieces.instance_off[g], pieces.instance_off[g + 1]):
            given = pieces.given[pieces.given_off[i] : pieces.given_off[i + 1]]
            for joint in range(joint_states(given, shapes.card, v0)):
                rest, probability, is_known = joint, 1.0, True
                for n in range(len(given) - 1, -1, -1):
                    card = shapes.card[v0 + given[n]]
                    digit = rest % card
                    rest //= card
                    is_known &= digit == labelling[off[s] + given[n]]
                    probability *= marginals[marginal_off[s] + shapes.state_off[v0 + given[n]] + digit]
                if probability > threshold and not is_known:
                    if num_cases == len(case):
                        longer = np.empty(2 * num_cases, np.int64)
                        copy_run(case, 0, num_cases, longer)
                        case = longer
                    case[num_cases] = joint
                    num_cases += 1
            number += 1
            case_off[number] = num_cases
    return instance, case_off, case[:num_cases].copy()


@inner
def _local_table(i, g, shapes, pieces, value, state, workspace, out, at):
    """Writes log p̃ of the instance for every joint state of the variables that it conditions on."""
    v0, card = shapes.var_off[g], shapes.card
    given = pieces.given[pieces.given_off[i] : pieces.given_off[i + 1]]
    for joint in range(joint_states(given, card, v0)):
        set_given(joint, given, card, v0, state)
        size = scores(i, g, shapes, pieces, value, state, workspace)
        peak = -np.inf
        for j in range(size):
            peak = max(peak, workspace.score[j])
        total = 0.0
        for j in range(size):
            total += np.exp(workspace.score[j] - peak) if peak > -np.inf else 0.0
        log_z = peak + np.log(total) if peak > -np.inf else 0.0
        for j in range(size):
            out[at + j] = workspace.score[j] - log_z
        at += size


@kernel
def piece_tables(first, last, problem, pieces, potentials, is_constraint, places, largest, out):
    """log p̃(y_π | y_N, x) of every instance, as a table over (given…, over…), and the tables of hard constraints.

    is_constraint [K].   Tables are -inf for values of the given variables under which nothing is possible.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    start, start_off, table_off = places
    value, state, workspace = _memory(first, last, shapes, rows, log_base, largest, 0)
    for s in range(first, last):
        g = rows.shape[s]
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
        origin, p = table_off[s - first], start_off[g]
        for i in range(pieces.instance_off[g], pieces.instance_off[g + 1]):
            _local_table(i, g, shapes, pieces, value, state, workspace, out, origin + start[p])
            p += 1
        for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
            if is_constraint[shapes.fac_kind[f]]:
                copy_run(value, shapes.fac_table[f], shapes.fac_size[f], out[origin + start[p] :])
                p += 1
