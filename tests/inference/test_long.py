"""Long sequences: programs laid out by periods, and inference block by block, give what short ways give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.graph import CliqueTemplate, ModelGraph
from dcrfdsl.graph.contraction_programs import ContractionProgram
from dcrfdsl.graph.sequence_programs import ProgramBuilder, RepeatedProgram
from dcrfdsl.graph.templates import LAST
from dcrfdsl.inference import METHODS, Binder, Decoded, Expectations
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.training.pipeline import fit

pytestmark = pytest.mark.long

LENGTHS = (*range(1, 31), 47, 48, 49, 50, 200)
EXACT = 1e-10

# wiring -------------------------------------------------------------------------------------------------------------


def clique(*sites, local=False, **more):
    """A template over sites (variable, offset, states)."""
    variables, offsets, cards = zip(*sites, strict=True)
    return CliqueTemplate("clique", 0, variables, offsets, cards, feature_set=0 if local else -1, **more)


def node(variable, states, **more):
    return clique((variable, 0, states), **more)


def step(variable, states, back=1, **more):
    return clique((variable, -back, states), (variable, 0, states), **more)


UNARY, MOVE = node(0, 3, local=True), step(0, 3)
TRIPLE = ((0, -2, 3), (0, -1, 3), (0, 0, 3))
GRAPHS = {
    "chain": ((3,), (UNARY, MOVE)),
    "chain without unaries": ((3,), (MOVE,)),
    "no clique": ((3,), ()),
    "features on both": ((3,), (UNARY, step(0, 3, local=True))),
    "padded": ((3,), (UNARY, step(0, 3, local=True, pad=True))),
    "second order": ((3,), (UNARY, MOVE, clique(*TRIPLE))),
    "second order, padded, with features": ((3,), (UNARY, clique(*TRIPLE, local=True, pad=True))),
    "sites in another order": ((3,), (UNARY, clique((0, 0, 3), (0, -2, 3), (0, -1, 3)), clique((0, 1, 3), (0, 0, 3)))),
    "a gap": ((2,), (node(0, 2, local=True), step(0, 2, back=3))),
    "only a gap, so three chains": ((2,), (step(0, 2, back=3, local=True),)),
    "looks ahead": ((3,), (node(0, 3, local=True), clique((0, 0, 3), (0, 2, 3), local=True))),
    "factorial": ((4, 3), (node(0, 4, local=True), node(1, 3, local=True), step(0, 4), step(1, 3),
                           clique((0, 0, 4), (1, 0, 3)))),
    "factorial, crosswise": ((2, 3, 2), (step(0, 2), step(1, 3, local=True), clique((0, -1, 2), (2, 0, 2)),
                                         clique((1, 0, 3), (2, -2, 2), local=True), node(2, 2, local=True, pad=True))),
    "a variable in no clique": ((3, 2), (UNARY, MOVE)),
    "states of one": ((1, 3), (step(0, 1), node(1, 3, local=True), clique((0, 0, 1), (1, -1, 3)), step(1, 3))),
    "first and last": ((3,), (UNARY, MOVE, node(0, 3, position=0), node(0, 3, position=LAST, local=True))),
    "at the third": ((3,), (UNARY, MOVE, clique(*TRIPLE, position=2, local=True))),
    "same sites twice": ((3,), (UNARY, node(0, 3), MOVE, clique((0, 0, 3), (0, -1, 3), local=True))),
}  # fmt: skip


def graph_of(name):
    cards, templates = GRAPHS[name]
    return ModelGraph(tuple(f"v{m}" for m in range(len(cards))), cards, templates, len(cards))


def instances_of(graph, length):
    """(kind, anchor, variables) of every factor, clique by clique, from left to right: one anchor after the other."""
    for number, template in enumerate(graph.templates):
        for anchor in template.anchors(length):
            pattern = template.pattern(anchor, length)
            if 0 in pattern:
                sites = zip(template.variables, template.offsets, pattern, strict=True)
                scope = tuple((anchor + o) * len(graph.cards) + v for v, o, outside in sites if not outside)
                yield graph.kind_of(number, pattern), anchor, scope


@pytest.mark.parametrize("name", GRAPHS)
def test_a_shape_holds_the_instances_in_order(name):
    graph = graph_of(name)
    for length in LENGTHS:
        shape = graph.shape(length)
        arrays = shape.arrays()
        expected = list(instances_of(graph, length))
        assert list(zip(shape.kinds, shape.anchors, shape.scopes, strict=True)) == expected
        assert arrays.kind.tolist() == [kind for kind, _, _ in expected]
        assert arrays.anchor.tolist() == [anchor for _, anchor, _ in expected]
        assert arrays.scope.tolist() == [v for _, _, scope in expected for v in scope]
        assert arrays.arity.tolist() == [len(scope) for _, _, scope in expected]
        assert arrays.table.tolist() == list(shape.tables)


@pytest.mark.parametrize("name", GRAPHS)
def test_local_tables_fill_their_part_of_the_arena_position_by_position(name):
    graph = graph_of(name)
    for length in LENGTHS:
        factors = graph.shape(length).arrays()
        firsts = [min(scope) // len(graph.cards) for scope in graph.shape(length).scopes]
        local = [
            (at, size, first)
            for at, size, first in zip(factors.table.tolist(), factors.size.tolist(), firsts, strict=True)
            if at >= graph.num_shared
        ]
        at, position = graph.num_shared, 0
        for place, size, first in sorted(local):
            assert place == at and first >= position
            at, position = at + size, first
        assert at == graph.shape(length).local_end(graph.num_shared)


def assert_same_program(one: ContractionProgram, other: ContractionProgram) -> None:
    for name in ContractionProgram.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_program_laid_out_by_periods_is_the_one_built_step_by_step(name):
    graph = graph_of(name)
    builder = ProgramBuilder(graph.num_shared, graph.elimination_order, graph.shape)
    for length in LENGTHS:
        shape = graph.shape(length)
        program = builder.build(shape)
        laid = program.laid_out()
        assert_same_program(laid, builder.build_in_steps(shape))
        assert (program.arena_start, program.arena_end) == (laid.arena_start, laid.arena_end)
    assert isinstance(program, RepeatedProgram)


def test_what_lies_at_one_position_far_inside_is_not_lost():
    """The short sequences that a period is looked for in do not have it."""
    graph = graph_of("at the third")
    far = graph.shape(60)
    moved = [run for run in far.runs if run.count == 1 and run.anchor == 2]
    assert len(moved) == 1

    def unroll(length):
        """The template without its one clique at the third position."""
        return replace(graph.shape(length), runs=tuple(run for run in graph.shape(length).runs if run not in moved))

    builder = ProgramBuilder(graph.num_shared, graph.elimination_order, unroll)
    assert_same_program(builder.build(far).laid_out(), builder.build_in_steps(far))


def test_an_order_that_is_not_from_left_to_right_is_followed():
    graph = graph_of("factorial")

    def second_first(shape):
        return [*range(1, len(shape.cards), 2), *range(0, len(shape.cards), 2)]

    builder = ProgramBuilder(graph.num_shared, second_first, graph.shape)
    shape = graph.shape(8)
    assert_same_program(builder.build(shape).laid_out(), builder.build_in_steps(shape))


# inference ----------------------------------------------------------------------------------------------------------

HEAD = "data conll(word, y, z)\nlabel y\n"
TAIL = "infer exact\ntrain likelihood: optimizer = lbfgs(max_iterations = 1)\n"
CHAIN = f"{HEAD}clique y: bias, word\nclique y[-1], y\n{TAIL}"
SPECS = {
    "chain": CHAIN,
    "padded, features on both": f"{HEAD}clique y: bias, word\nclique y[-1], y with edges = pad: bias, word\n{TAIL}",
    "second order": f"{HEAD}clique y: word\nclique y[-1], y\nclique y[-2], y[-1], y: bias, word[-1]\n{TAIL}",
    "factorial": (
        f"{HEAD}label z\nclique y: bias, word\nclique z: word\nclique y[-1], y\nclique z[-1], z\nclique y, z\n{TAIL}"
    ),
    "no link between positions": f"{HEAD}clique y: bias, word\n{TAIL}",
}


def rows(length, seed=0):
    """A sentence of (word, y, z)."""
    draw = np.random.default_rng(seed).integers
    return [(f"w{draw(9)}", f"Y{draw(4)}", f"Z{draw(3)}") for _ in range(length)]


@pytest.fixture(scope="module")
def models():
    """A model of each specification with random weights, which may be scaled."""
    known = {}

    def make(name, scale=1.0):
        if name not in known:
            resolved = load_text(SPECS[name])
            known[name] = fit(resolved, corpus_from_rows([rows(80)], resolved.require().data), threads=1)
        model = known[name]
        weights = np.random.default_rng(1).normal(0, scale, model.num_weights)
        return model.with_weights(weights, model.record)

    return make


def bind(model, lengths):
    corpus = corpus_from_rows([rows(length, length) for length in lengths], model.spec.data)
    binder = Binder(model.graph, model.parameters, programs=True)
    return binder.bind(model.extractor.extract(corpus), corpus.sentence_off), corpus


def infer(model, data):
    """Expectations, gradient, expected shared tables and best labelling."""
    method, potentials = METHODS["exact"].build(data, ExactSettings()), data.potentials(model.weights)
    out, best = Expectations.empty(data, marginals=True), Decoded.empty(data)
    gradient, expected = np.zeros(model.num_weights), np.zeros(data.shapes.local_start)
    method.expectations(potentials, 0, data.num_sequences, out, gradient, expected)
    method.decode(potentials, 0, data.num_sequences, best)
    return out, gradient, expected, best.score, best.labelling


@pytest.mark.long
@pytest.mark.parametrize("cells", [1, 100, 1000])
@pytest.mark.parametrize("scale", [1.0, 400.0], ids=["linear", "log space"])
@pytest.mark.parametrize("name", SPECS)
def test_block_by_block_is_as_in_one_piece(models, name, scale, cells):
    model = models(name, scale)
    data, _ = bind(model, [3, 260, 31, 1])
    whole, *rest = infer(model, data)
    assert bool(whole.redone.any()) == (scale > 1)
    assert len(data.bank.program_arrays().block) == 0
    data, _ = bind(model, [3, 260, 31, 1])
    data.bank.whole, data.bank.block = 0, cells
    assert (np.diff(data.bank.program_arrays().block_off) > 0).all()
    blocked, *blocked_rest = infer(model, data)
    np.testing.assert_array_equal(blocked.status, whole.status)
    np.testing.assert_array_equal(blocked.redone, whole.redone)
    np.testing.assert_allclose(blocked.log_z, whole.log_z, rtol=EXACT)
    np.testing.assert_allclose(blocked.marginals, whole.marginals, rtol=0, atol=EXACT)
    for own, known in zip(blocked_rest, rest, strict=True):
        np.testing.assert_allclose(own, known, rtol=EXACT, atol=EXACT)


def test_block_by_block_a_contradiction_is_found(models):
    model = models("chain")
    data, _ = bind(model, [40])
    data.bank.whole, data.bank.block = 0, 100
    hard = np.full_like(data.hard, -np.inf)
    hard[0] = 0.0  # the constant 1
    out, gradient, _, score, labelling = infer(model, replace(data, hard=hard))
    assert out.summary().impossible == (0,)
    assert out.log_z[0] == score[0] == -np.inf
    assert (labelling == -1).all() and not gradient.any()


def chain_tables(model, sentence):
    """Log scores of a chain as numbers say them: unary [T, states] and move [states, states]."""
    number = {state: x for x, state in enumerate(model.states["y"])}
    unary = {word: np.zeros(len(number)) for word, _, _ in sentence}
    move = np.zeros((len(number), len(number)))
    for _, feature, states, weight in model.explanations.iter_weights():
        x = tuple(number[state] for state in states)
        if len(x) == 2:
            move[x] += weight
        for word in unary:
            if len(x) == 1 and (feature == "bias" or feature.endswith(f"={word}")):
                unary[word][x] += weight
    return np.array([unary[word] for word, _, _ in sentence]), move


def log_sum(values, axis):
    top = values.max(axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.exp(values - top).sum(axis=axis))


@pytest.mark.parametrize("block", [None, 2000])
def test_a_chain_of_5000_positions_equals_forward_and_backward(models, block):
    model = models("chain")
    data, _ = bind(model, [5000])
    if block is not None:
        data.bank.whole, data.bank.block = 0, block
    unary, move = chain_tables(model, rows(5000, 5000))
    assert np.ptp(unary) > 1 and np.ptp(move) > 1
    alpha, beta, best = unary.copy(), np.zeros_like(unary), unary.copy()
    for t in range(1, len(unary)):
        alpha[t] += log_sum(alpha[t - 1][:, None] + move, 0)
        best[t] += (best[t - 1][:, None] + move).max(axis=0)
    for t in range(len(unary) - 2, -1, -1):
        beta[t] = log_sum(move + (unary[t + 1] + beta[t + 1])[None, :], 1)
    log_z = log_sum(alpha[-1], 0)
    labels = [int(best[-1].argmax())]
    for t in range(len(unary) - 2, -1, -1):
        labels.append(int((best[t] + move[:, labels[-1]]).argmax()))

    out, _, _, score, labelling = infer(model, data)
    assert out.log_z[0] == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(out.marginals.reshape(unary.shape), np.exp(alpha + beta - log_z), atol=1e-9)
    assert score[0] == pytest.approx(best[-1].max(), rel=1e-12)
    assert labelling.tolist() == labels[::-1]


def test_memory_is_linear_in_the_length():
    """Bytes of the wiring a position, and arena cells at once: the arena is that of a block however long it is."""
    graph = graph_of("chain")

    def measured(length):
        bank = graph.bank(programs=True)
        bank.whole, bank.block = 2**12, 2**10
        bank.add(graph.shape(length))
        programs = bank.program_arrays()
        arrays = [*bank.shape_arrays(), *programs]
        return sum(own.nbytes for own in arrays if isinstance(own, np.ndarray)), int(programs.workspace[0])

    one, two = measured(20_000), measured(40_000)
    assert two[0] < 2.01 * one[0] and one[0] < 400 * 20_000
    assert two[1] == one[1] < 2**12
