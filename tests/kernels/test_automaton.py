"""Automata against dense matrices over all pairs of states: log Z, marginals, expected counts, best labellings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dense_automata import INF, LENGTHS, NOTHING, Dense, Machine, Sentences, machine, reached_by, sentences

from dcrfdsl.kernels.automaton import (
    AutomatonTables,
    AutomatonTotals,
    automaton_decode,
    automaton_expectations,
    automaton_of,
    linear_tables,
    sums_of_automaton,
    workspace_of_automaton,
)
from dcrfdsl.kernels.runtime import IMPOSSIBLE, OK, UNDERFLOW
from dcrfdsl.kernels.tables import Ragged


def answers(data: Sentences, made: Machine, weights: np.ndarray, *, first=0, last=None, share=NOTHING):
    """What the kernels say: log Z, status, marginals, gradient [W], sums, best scores, best labellings."""
    bound, count = data.packed, len(LENGTHS)
    last = count if last is None else last
    potentials = bound.potentials(weights)
    workspace = workspace_of_automaton(made.automaton, max(LENGTHS))
    log_z, status, score = np.zeros(count), np.zeros(count, np.int8), np.zeros(count)
    marginals = np.zeros(int(bound.marginal_off[-1]))
    cells, sums = np.zeros(bound.num_cells), sums_of_automaton(made.automaton)
    linear = linear_tables(made.automaton, made.tables)
    assert linear is not None
    automaton_expectations(
        first, last, made.automaton, linear, bound.problem, potentials.weights, AutomatonTotals(cells, sums),
        log_z, status, Ragged(marginals, bound.marginal_off), workspace, share,
    )  # fmt: skip
    labelling = np.zeros(int(bound.labelling_off[-1]), np.int32)
    automaton_decode(
        first, last, made.automaton, made.tables, bound.problem, potentials.weights, score, bound.ragged(labelling),
        workspace,
    )  # fmt: skip
    cell_of = bound.cell_of_weight()
    gradient = np.where(cell_of >= 0, cells[cell_of], 0.0)
    return log_z, status, marginals, gradient, sums, score, labelling


def check(data: Sentences, made: Machine, *, scale: float = 1.0, tolerance: float = 1e-9) -> np.ndarray:
    """All answers against `Dense`; returns the status of each sentence."""
    weights = np.random.default_rng(3).normal(0, scale, data.num_weights)
    dense = Dense(data, made, weights)
    log_z, status, marginals, gradient, sums, score, labelling = answers(data, made, weights)
    expected = np.zeros(data.num_weights)
    totals = [np.zeros_like(x) for x in sums]
    for s, length in enumerate(LENGTHS):
        best, path = dense.best(s)
        assert score[s] == pytest.approx(best, rel=tolerance)
        part = labelling[data.packed.labelling_off[s] : data.packed.labelling_off[s + 1]].reshape(length, -1)
        if best == -INF:
            assert status[s] == IMPOSSIBLE
            assert log_z[s] == -INF
            assert (part == -1).all()
            continue
        assert (part == path).all()
        if status[s] == UNDERFLOW:
            continue
        want, states, pairs = dense.sums(s)
        assert status[s] == OK
        assert log_z[s] == pytest.approx(want, rel=tolerance, abs=tolerance)
        found = marginals[data.packed.marginal_off[s] : data.packed.marginal_off[s + 1]].reshape(length, -1)
        rows = np.zeros_like(found)
        starts = np.cumsum(data.cards) - data.cards
        for k, v in itertools.product(range(len(made.labels)), range(len(data.cards))):
            rows[:, starts[v] + made.labels[k, v]] += states[:, k]
        np.testing.assert_allclose(found, rows, rtol=tolerance, atol=1e-12)
        for t in range(length):
            for v, weight, label in data.rows(s, t):
                expected[weight] += rows[t, starts[v] + label]
        moves = np.zeros((made.automaton.classes, len(made.labels)))
        np.add.at(moves, dense.class_of, pairs)
        counts = states.sum(axis=0), states[0], states[-1], moves[made.automaton.source, made.automaton.target]
        for total, count in zip(totals, counts, strict=True):
            total += count
    np.testing.assert_allclose(gradient, expected, rtol=tolerance, atol=1e-11)
    for found, total in zip(sums, totals, strict=True):
        np.testing.assert_allclose(found, total, rtol=tolerance, atol=1e-11)
    return status


def drawn_pairs(states: int, count: int, seed: int = 1) -> list[tuple[int, int]]:
    cells = np.random.default_rng(seed).choice(states * states, count, replace=False)
    return [(int(c) // states, int(c) % states) for c in cells]


def first_order(states: int, moves: int, **options) -> tuple[Sentences, Machine]:
    """A chain whose table is 1 but for some moves."""
    data = sentences(states)
    everywhere = np.zeros(states, int)
    return data, machine(data, np.arange(states), drawn_pairs(states, moves), everywhere, everywhere, **options)


def second_order(labels: int, **options) -> tuple[Sentences, Machine]:
    """States are pairs of neighbouring labels; some trigrams have a potential."""
    data = sentences(labels)
    pairs = list(itertools.product(range(labels), repeat=2))
    triples = [(i, j) for i, (_, b) in enumerate(pairs) for j, (c, _) in enumerate(pairs) if b == c]
    keep = np.random.default_rng(2).random(len(triples)) < 0.5
    before, after = np.array(pairs).T
    moves = [move for move, kept in zip(triples, keep, strict=True) if kept]
    return data, machine(data, after, moves, after, before, **options)


def with_classes(**options) -> tuple[Sentences, Machine]:
    """Twelve states in five classes, one of which is empty, with groups of classes."""
    data = sentences(6)
    class_of = np.array([0, 1, 1, 3, 0, 0, 4, 4, 3, 1, 0, 4])
    moves = [(c, j) for c, j in drawn_pairs(12, 60) if c < 5]
    groups = [0, 1, 0, -1, 1], [0, 1, 1, -1, 0, 0, 1, 1, 0, -1, 0, 1]
    return data, machine(data, np.arange(12) % 6, moves, *groups, classes=class_of, **options)


@pytest.mark.parametrize(("states", "moves"), [(1, 0), (1, 1), (2, 1), (5, 0), (5, 7), (9, 81), (23, 60)])
def test_chains(states: int, moves: int) -> None:
    data, made = first_order(states, moves)
    assert (check(data, made) == OK).all()


@pytest.mark.parametrize("size", [40.0, -40.0])
def test_sums_that_cancel(size: float) -> None:
    """Moves that lower the background by e^40, from states that hold nearly all mass."""
    data, made = first_order(9, 40, tables=lambda t, _: t._replace(transition=t.transition + size))
    assert (check(data, made, scale=6.0) == OK).all()


def test_forbidden_moves() -> None:
    """A listed move of weight -inf is impossible though its group is not."""

    def forbid(tables, draw):
        forbidden = draw.random(len(tables.transition)) < 0.6
        return tables._replace(transition=np.where(forbidden, -INF, tables.transition))

    data, made = first_order(6, 30, tables=forbid)
    assert (check(data, made, scale=8.0) == OK).all()


def test_no_groups() -> None:
    data = sentences(7)
    nowhere = np.full(7, -1)
    cycle = [(k, (k + 1) % 7) for k in range(7)] + [(0, 3), (4, 4)]
    check(data, machine(data, np.arange(7), cycle, nowhere, nowhere))


def test_impossible_sentences() -> None:
    """Sentences of more than three words have no labelling; those beside them do."""
    data = sentences(4)
    nowhere = np.full(4, -1)
    made = machine(
        data, np.arange(4), [(0, 1), (1, 2), (2, 3)], nowhere, nowhere,
        tables=lambda t, _: t._replace(first=np.array([0.0, -INF, -INF, -INF])),
    )  # fmt: skip
    assert check(data, made).tolist() == [OK if length <= 4 else IMPOSSIBLE for length in LENGTHS]


def test_impossible_ends() -> None:
    data, made = first_order(
        5, 9, tables=lambda t, _: t._replace(last=np.array([0.5, -INF, -INF, 1.0, -INF]), state=t.state + 2)
    )
    assert (check(data, made) == OK).all()


@pytest.mark.parametrize("size", [0.0, 40.0, -40.0])
def test_second_order(size: float) -> None:
    data, made = second_order(4, tables=lambda t, _: t._replace(transition=t.transition + size))
    assert (check(data, made, scale=3.0) == OK).all()


@pytest.mark.parametrize("size", [0.0, 40.0, -40.0])
def test_classes_of_states(size: float) -> None:
    data, made = with_classes(tables=lambda t, _: t._replace(transition=t.transition + size))
    assert (check(data, made, scale=3.0) == OK).all()


def test_forbidden_moves_of_classes() -> None:
    def forbid(tables, draw):
        return tables._replace(transition=np.where(draw.random(len(tables.transition)) < 0.7, -INF, tables.transition))

    check(*with_classes(tables=forbid, seed=5), scale=5.0)


def test_states_in_another_order_than_their_classes() -> None:
    """A class for each state, numbered otherwise: the same answers."""
    data, made = first_order(23, 60)
    a, order = made.automaton, np.random.default_rng(4).permutation(23)
    moves = np.lexsort((order[a.source], a.target))
    turned = automaton_of(
        made.labels, data.cards, a.scored, np.zeros(1, int), order[a.source][moves], a.target[moves], a.source_group,
        reached_by([0] * 23), order,
    )  # fmt: skip
    tables = made.tables._replace(transition=made.tables.transition[moves])
    assert (check(data, Machine(made.labels, turned, tables)) == OK).all()


def test_two_variables() -> None:
    """A label and a memory that does not know all pairs, with features of both."""
    data = sentences(3, 4)
    labels = np.array([(a, b) for a in range(3) for b in range(4) if (a, b) != (1, 2)])
    moves = [(i, j) for i, (a, b) in enumerate(labels) for j, (c, d) in enumerate(labels) if d == (b + a) % 4]
    nowhere = np.full(len(labels), -1)
    check(data, machine(data, labels, moves, nowhere, nowhere))


def test_groups_that_overlap_partly() -> None:
    """States with a source group, a target group, both or none."""
    data = sentences(8)
    made = machine(
        data, np.arange(8), drawn_pairs(8, 30), [0, 1, -1, 0, 2, 1, -1, 2], [1, 1, 0, -1, -1, 2, 0, -1], scale=3.0
    )
    check(data, made, scale=5.0)


@pytest.mark.parametrize("size", [0.0, 40.0, -40.0])
def test_states_that_several_groups_reach(size: float) -> None:
    """What is left of contexts that were not seen: a state for each label, reached from many groups."""
    data = sentences(8)
    made = machine(
        data, np.arange(8), drawn_pairs(8, 30), [0, 1, 2, 0, 2, 1, -1, 2],
        [[0, 1], [0, 1, 2], 0, -1, [1, 2], 2, [0, 1], 1],
        tables=lambda t, _: t._replace(transition=t.transition + size),
    )  # fmt: skip
    assert (check(data, made, scale=3.0) == OK).all()


def test_a_group_of_impossible_states() -> None:
    """State 0 belongs to no group; no state of group 1 can occur."""

    def forbid(tables, draw):
        return tables._replace(state=np.array([5.0, 0.0, 0.5, -INF, -INF, 0.2]))

    data = sentences(6)
    groups = [-1, 0, 0, 1, 1, 0], [1, 0, 0, 0, 1, 1]
    check(data, machine(data, np.arange(6), [(1, 0), (0, 2), (2, 4), (5, 5)], *groups, tables=forbid))


def test_ties() -> None:
    """All labellings are equally good: the lowest state wins everywhere."""
    data, made = first_order(6, 12, tables=lambda t, _: AutomatonTables(*(0 * x for x in t)))
    *_, score, labelling = answers(data, made, np.zeros(data.num_weights))
    assert not score.any()
    assert not labelling.any()


def test_large_scores() -> None:
    """What linear space does not hold is left to the general path; what is answered is right."""
    data, made = first_order(9, 30, scale=20.0)
    status = check(data, made, scale=60.0)
    assert (status == UNDERFLOW).any()
    assert (status == OK).any()


def test_neighbours_do_not_matter() -> None:
    """Each sentence has the same bits whatever sentences are computed with it; sums have their shares."""
    data, made = first_order(23, 60)
    weights = np.random.default_rng(3).normal(0, 1.0, data.num_weights)
    whole = answers(data, made, weights)
    for first, last in [(0, 3), (3, 4), (4, 15), (15, len(LENGTHS))]:
        part = answers(data, made, weights, first=first, last=last)
        assert (part[0][first:last] == whole[0][first:last]).all()
        assert (part[5][first:last] == whole[5][first:last]).all()
        begin, end = data.packed.marginal_off[[first, last]]
        assert (part[2][begin:end] == whole[2][begin:end]).all()
    shared = answers(data, made, weights, share=np.full(len(LENGTHS), 0.25))
    np.testing.assert_allclose(shared[3], 0.25 * whole[3], rtol=1e-12)
    np.testing.assert_allclose(shared[4].transition, 0.25 * whole[4].transition, rtol=1e-12)


def test_disordered_transitions() -> None:
    with pytest.raises(ValueError, match="not ordered"):
        automaton_of(
            np.zeros((2, 1)), np.array([1]), NOTHING, NOTHING, np.array([1, 0]), np.array([0, 0]), np.zeros(2),
            reached_by([0, 0]),
        )  # fmt: skip


def test_first_and_last_positions_need_not_be_counted():
    """Everything else is then the same to the last bit."""
    for data, made in (second_order(4), with_classes()):
        weights = np.random.default_rng(3).normal(0, 1.0, data.num_weights)
        every = answers(data, made, weights)
        fewer = answers(data, made._replace(automaton=made.automaton._replace(counts_ends=False)), weights)
        assert every[4].first.any() and every[4].last.any()
        assert not fewer[4].first.any() and not fewer[4].last.any()
        for one, other in zip((*every[:4], *every[5:]), (*fewer[:4], *fewer[5:]), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(every[4].state, fewer[4].state)
        np.testing.assert_array_equal(every[4].transition, fewer[4].transition)


def test_what_reads_the_same_stands_together():
    """States of a block that are reached from the same classes; classes of a group that lead to the same states."""
    data, labels = sentences(12), np.arange(12)
    moves = [(i, j) for i in range(12) for j in range(12) if i % 3 == j // 4]
    made = machine(data, labels, moves, labels // 4 - 1, labels % 2 - 1)
    a = made.automaton
    into = [(int(a.block_of[k]), k // 4) for k in a.into_state.tolist()]
    out = [(int(a.source_group[c]), c % 3) for c in a.out_class.tolist()]
    assert len(set(out)) < len(out)
    for found in (into, out):
        assert len(list(itertools.groupby(found))) == len(set(found))
    groups = [group for group, _ in out]
    assert len(list(itertools.groupby(groups))) == len(a.run_off) - 1 == len(set(groups)) == 3
    assert (check(data, made) == OK).all()


def test_pairs_of_states_share_slots_and_keep_every_transition():
    """Of each step, the slots with a transition of its own are its transitions, from the same sources."""
    for _, made in (first_order(20, 150), second_order(5), with_classes()):
        a = made.automaton
        slots, places, columns = [], 0, a.into_step.reshape(a.states, -1)
        begin, shared = 0, 0
        for block, alone in enumerate(a.pairs_end):
            first, end = a.block_off[block], a.block_off[block + 1]
            assert first <= alone <= end
            assert (alone - first) % 2 == 0
            for n in range(first, end):
                is_first, is_second = n < alone and (n - first) % 2 == 0, n < alone and (n - first) % 2 == 1
                if is_second:
                    assert columns[n, 0] == columns[n - 1, 0]
                else:
                    at, width = a.slot_at[begin : columns[n, 0]], 2 if is_first else 1
                    moves = a.slot_move[places : places + width * len(at)].reshape(-1, width)
                    begin, places = int(columns[n, 0]), places + moves.size
                    slots += [(n + side, at, moves[:, side]) for side in range(width)]
                    shared += width - 1
        assert (begin, places) == (len(a.slot_at), len(a.slot_move))
        assert sorted(n for n, _, _ in slots) == list(range(a.states))
        for n, at, moves in slots:
            own = moves < len(a.source)
            np.testing.assert_array_equal(moves[own], np.arange(a.into_off[n], a.into_off[n + 1]))
            np.testing.assert_array_equal(at[own], a.into_at[a.into_off[n] : a.into_off[n + 1]])
        assert shared > 0
