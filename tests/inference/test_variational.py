"""Mean field, tree-reweighted sum-product, Gibbs sampling: bounds, fixed points, frequencies against enumeration."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from model_cases import objective_of, trained
from strategies import FAMILIES, TREES, factor_graphs, random_tables
from template_cases import CASES

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph import FactorGraph
from dcrfdsl.graph.factor_forests import bank_forests
from dcrfdsl.graph.shape_bank import ShapeBank
from dcrfdsl.inference import METHODS, Decoded, Expectations, Workers, infer_graph
from dcrfdsl.kernels.messages.sum_product import node_potentials
from dcrfdsl.kernels.messages.trw import Reweighting, reweighted_beliefs, reweighted_messages, stretch_tables
from dcrfdsl.kernels.tables.wiring import Control
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import (
    EpSettings,
    ExactSettings,
    GbpSettings,
    GibbsSettings,
    MeanFieldSettings,
    TrwSettings,
)
from dcrfdsl.training.pipeline import fit

pytestmark = pytest.mark.long  # their kernels take minutes to compile

SHARED = Path(__file__).parents[2].parent / "shared" / "reference"
needs_reference = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the graphs with known answers are not on this machine"
)

ROUNDING = 1e-9  # relative to the size of log Z
FINE = {"tolerance": 1e-12, "max_iterations": 20_000}
SCALES = {"mild": 1.0, "strong": 4.0, "beyond doubles": 800.0, "flat": 0.0}
ZEROS = {"positive": 0.0, "hard zeros": 0.3}
LOOPS = sorted(set(FAMILIES) - set(TREES))


def family_graph(name, scale=1.0, zeros=0.0, seed=1):
    cards, scopes = FAMILIES[name]
    return FactorGraph(cards, scopes, random_tables(cards, scopes, seed, scale, zeros))


def joint(graph):
    return reference.joint(graph.cards, graph.scopes, graph.log_tables)


def slack(log_z):
    return ROUNDING * (1.0 + abs(log_z))


def expected(p, log_table):
    """Σ p log φ with 0 · -inf = 0."""
    return float((p[p > 0] * log_table[p > 0]).sum())


def entropy(p):
    return -expected(p, np.log(np.where(p > 0, p, 1.0)))


# mean field -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zeros", ZEROS.values(), ids=ZEROS)
@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("family", FAMILIES)
def test_mean_field_is_a_product_with_the_bound_that_it_says(family, scale, zeros):
    """The bound is E_q log φ + H(q), below log Z, and every factor's marginal is the product of its variables'."""
    graph = family_graph(family, scale, zeros)
    result = infer_graph(graph, "mar", MeanFieldSettings(**FINE))
    bound = sum(entropy(q) for q in result.marginals)
    for scope, table, own in zip(graph.scopes, graph.log_tables, result.factor_marginals, strict=True):
        product = np.ones(())
        for v in scope:
            product = np.multiply.outer(product, result.marginals[v])
        np.testing.assert_allclose(own, product, atol=1e-12)
        bound += expected(product, table)
    log_z = reference.log_sum(joint(graph))
    assert result.log_z == pytest.approx(bound, rel=ROUNDING, abs=ROUNDING)
    assert result.log_z <= log_z + slack(log_z)
    assert result.status.converged and result.status.approximate
    np.testing.assert_allclose([q.sum() for q in result.marginals], 1.0, atol=1e-12)


@pytest.mark.parametrize("zeros", ZEROS.values(), ids=ZEROS)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_variable_of_mean_field_wants_to_move(family, zeros):
    """At rest q_v ∝ exp E_q[log φ | x_v] for every variable, computed from the joint table."""
    graph = family_graph(family, 1.0, zeros)
    total = joint(graph)
    q = infer_graph(graph, "mar", MeanFieldSettings(**FINE)).marginals
    for v in range(len(graph.cards)):
        field = np.zeros(graph.cards[v])
        for x in itertools.product(*(range(card) for card in graph.cards)):
            weight = np.prod([q[u][x[u]] for u in range(len(q)) if u != v])
            if weight > 0:
                field[x[v]] += weight * total[x]
        np.testing.assert_allclose(q[v], np.exp(field - reference.log_sum(field)), atol=1e-9)


@settings(max_examples=150, deadline=None)
@given(factor_graphs())
def test_mean_field_bounds_any_graph_from_below(graph):
    log_z = reference.log_sum(joint(graph))
    for method in (MeanFieldSettings(), MeanFieldSettings(damping=0.4, max_iterations=3, seed=5)):
        result = infer_graph(graph, "pr", method)
        assert result.log_z <= log_z + slack(log_z) if np.isfinite(log_z) else result.status.impossible == (0,)
        assert np.isfinite(result.log_z) == np.isfinite(log_z)


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_the_bound_of_mean_field_never_falls(damping):
    graph = family_graph("three chains", 3.0)
    bounds = [
        infer_graph(graph, "pr", MeanFieldSettings(damping=damping, max_iterations=n, tolerance=1e-15)).log_z
        for n in range(1, 15)
    ]
    assert (np.diff(bounds) > -1e-12).all()
    assert bounds[-1] > bounds[0]


# tree-reweighted --------------------------------------------------------------------------------------------------


def one_bank(graph):
    bank = ShapeBank(1)
    bank.add(graph.shape())
    return bank


def acyclic(scopes):
    """Whether the factor graph of these scopes has no loop."""
    links = nx.Graph([(("f", f), v) for f, scope in enumerate(scopes) for v in scope])
    return not scopes or nx.is_forest(links)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", FAMILIES)
def test_forests_have_no_loop_and_hold_every_factor(family, seed):
    graph = family_graph(family)
    pool = bank_forests(one_bank(graph), seed)
    edges = [(f, axis) for f, scope in enumerate(graph.scopes) if len(scope) > 1 for axis in range(len(scope))]
    counts, trees = np.zeros(len(graph.scopes)), len(pool.passes.send_off) - 1
    for first, last in itertools.pairwise(pool.passes.send_off):
        sends = [edges[e] for e in pool.passes.send[first:last]]
        factors = [f for f, _ in sends]
        assert len(set(factors)) == len(factors)
        assert acyclic([graph.scopes[f] for f in factors])
        for i, (f, axis) in enumerate(sends):  # what a factor sums out has heard all that it will hear
            below = set(graph.scopes[f]) - {graph.scopes[f][axis]}
            assert below.isdisjoint(graph.scopes[g][a] for g, a in sends[i + 1 :])
        counts[factors] += 1
    larger = [len(scope) > 1 for scope in graph.scopes]
    np.testing.assert_allclose(pool.appearance, np.where(larger, counts / trees, 1.0))
    assert (pool.appearance > 0).all()


@pytest.mark.parametrize("zeros", ZEROS.values(), ids=ZEROS)
@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("family", TREES)
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_trw_is_exact_on_trees(family, scale, zeros, damping):
    graph = family_graph(family, scale, zeros)
    total = joint(graph)
    result = infer_graph(graph, "mar", TrwSettings(damping=damping, **FINE))
    assert result.status.converged
    assert result.log_z == pytest.approx(reference.log_sum(total), rel=1e-10, abs=1e-10)
    for v, own in enumerate(result.marginals):
        np.testing.assert_allclose(own, reference.marginal(total, (v,)), atol=1e-9)


@settings(max_examples=200, deadline=None)
@given(factor_graphs())
def test_trw_bounds_any_graph_from_above_however_early_it_stops(graph):
    log_z = reference.log_sum(joint(graph))
    for rounds in (1, 2, 300):
        result = infer_graph(graph, "pr", TrwSettings(max_iterations=rounds, tolerance=1e-9, seed=rounds))
        # on loops a contradiction may escape the messages: then the bound is finite, and true
        assert result.log_z >= log_z - slack(log_z) if np.isfinite(log_z) else not np.isnan(result.log_z)


@pytest.mark.parametrize("zeros", ZEROS.values(), ids=ZEROS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_trw_at_rest_is_its_own_free_energy(family, scale, zeros):
    """Σ_f E_b log φ_f + Σ_v H(b_v) − Σ_f ρ_f I(b_f) of beliefs that agree with each other equals the forests' sum."""
    graph = family_graph(family, scale, zeros)
    result = infer_graph(graph, "mar", TrwSettings(**FINE))
    assert result.status.converged
    rho = bank_forests(one_bank(graph), 0).appearance
    assert reference.one_sweep(graph.cards, graph.scopes, graph.log_tables, result.factor_marginals) < 1e-9
    value = sum(entropy(b) for b in result.marginals)
    for scope, table, b, share in zip(graph.scopes, graph.log_tables, result.factor_marginals, rho, strict=True):
        information = sum(entropy(result.marginals[v]) for v in scope) - entropy(b)
        value += expected(b, table) - share * information
    log_z = reference.log_sum(joint(graph))
    assert result.log_z == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert result.log_z >= log_z - slack(log_z)


@pytest.mark.parametrize("method", [MeanFieldSettings(**FINE), TrwSettings(**FINE)], ids=lambda m: m.method)
@pytest.mark.parametrize("family", LOOPS)
def test_marginals_are_the_derivative_of_the_bound(family, method):
    graph = family_graph(family, 0.7)
    marginals = infer_graph(graph, "mar", method).factor_marginals
    for f, table in enumerate(graph.log_tables):

        def bound(values, f=f, table=table):
            tables = (*graph.log_tables[:f], values.reshape(table.shape), *graph.log_tables[f + 1 :])
            return infer_graph(FactorGraph(graph.cards, graph.scopes, tables), "pr", method).log_z

        numeric = reference.finite_difference(bound, table.ravel().copy())
        np.testing.assert_allclose(marginals[f].ravel(), numeric, atol=1e-6)


# Gibbs sampling ---------------------------------------------------------------------------------------------------

CHAINS = 24


def gibbs_runs(graph, **options):
    """Marginals of many chains [chains, states], and the largest standard error that each one reports."""
    results = [infer_graph(graph, "mar", GibbsSettings(seed=seed, **options)) for seed in range(CHAINS)]
    return np.array([np.concatenate(r.marginals) for r in results]), np.array([r.status.residual for r in results])


@pytest.mark.parametrize("thin", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_gibbs_marginals_are_within_four_standard_errors(family, thin):
    """Independent chains give the error without any guess about how samples hang together."""
    graph = family_graph(family, 1.0)
    total = joint(graph)
    found, reported = gibbs_runs(graph, samples=2000, burn_in=200, thin=thin)
    known = np.concatenate([reference.marginal(total, (v,)) for v in range(len(graph.cards))])
    spread = found.std(axis=0, ddof=1)
    assert (np.abs(found.mean(axis=0) - known) <= 4.0 * spread / np.sqrt(CHAINS) + 1e-12).all()
    # what a single chain says of its error: the spread of the worst marginal, up to a factor
    assert spread.max() <= 2.5 * np.median(reported) + 1e-8
    assert np.median(reported) <= 2.5 * spread.max() + 1e-8


def test_gibbs_counts_factors_as_often_as_they_occur():
    graph = family_graph("factorial", 1.0)
    total = joint(graph)
    result = infer_graph(graph, "mar", GibbsSettings(samples=40_000))
    for scope, own in zip(graph.scopes, result.factor_marginals, strict=True):
        np.testing.assert_allclose(own, reference.marginal(total, scope), atol=0.02)
        assert own.sum() == pytest.approx(1.0)


def test_gibbs_keeps_to_what_is_possible():
    for seed in range(5):
        graph = family_graph("second order", 1.0, 0.3, seed)
        result = infer_graph(graph, "mar", GibbsSettings(samples=300, seed=seed))
        for table, own in zip(graph.log_tables, result.factor_marginals, strict=True):
            assert (own[np.isneginf(table)] == 0.0).all()


def ends_apart(strength):
    """A chain of variables that are nearly always equal: all first, or all second."""
    tie = strength * np.eye(2)
    return FactorGraph((2,) * 6, tuple((v, v + 1) for v in range(5)), (tie,) * 5)


def test_gibbs_says_where_its_chains_do_not_meet():
    """From all first to all second leads only through labellings that are e²⁵ times less likely."""
    assert infer_graph(ends_apart(1.0), "mar", GibbsSettings()).status.converged
    stuck = [infer_graph(ends_apart(25.0), "mar", GibbsSettings(seed=seed)) for seed in range(8)]
    assert sum(not result.status.converged for result in stuck) >= 6  # all chains may begin at the same end
    for result in stuck:
        assert result.status.converged or result.status.residual > 0.2


TIES = {
    "equal": ((2, 2), ((0, 1),), [[1, 0], [0, 3]]),
    "a cycle": ((3, 3), ((0, 1),), [[0, 2, 0], [0, 0, 1], [1, 0, 0]]),
    "one of two, each with a choice": ((4, 4), ((0, 1),), [[1, 2, 0, 0], [2, 1, 0, 0], [0, 0, 1, 2], [0, 0, 2, 2]]),
    "three": ((2, 2, 2), ((0, 1, 2),), [[[2, 0], [0, 0]], [[0, 0], [0, 1]]]),
}


@pytest.mark.parametrize("name", TIES)
def test_gibbs_has_not_converged_where_hard_ties_keep_its_chains_apart(name):
    cards, scopes, table = TIES[name]
    with np.errstate(divide="ignore"):
        graph = FactorGraph(cards, scopes, (np.log(np.array(table, float)),))
    assert not any(infer_graph(graph, "mar", GibbsSettings(samples=500, seed=s)).status.converged for s in range(12))


def test_gibbs_converges_where_a_tie_leaves_one_labelling():
    forced = FactorGraph((2, 2), ((0, 1), (0, 1)), (np.log(np.eye(2) + 1e-300), np.array([[-np.inf, 0.0], [0.0, 0.0]])))
    single = FactorGraph((2, 2), ((0, 1), (1,)), (np.array([[-np.inf, -np.inf], [-np.inf, 0.0]]), np.zeros(2)))
    for graph in (forced, single):
        for seed in range(6):
            assert infer_graph(graph, "mar", GibbsSettings(samples=500, seed=seed)).status.converged


def test_gibbs_rarely_cries_wolf():
    """Of the small families, which mix, hardly any run says that it did not."""
    runs = [infer_graph(family_graph(family), "mar", GibbsSettings(seed=s)) for family in FAMILIES for s in range(8)]
    assert sum(not run.status.converged for run in runs) <= 1


def test_gibbs_has_no_log_z():
    graph = family_graph("chain")
    assert infer_graph(graph, "mar", GibbsSettings(samples=10)).log_z is None
    with pytest.raises(DcrfError, match="`gibbs` gives no estimate of log Z, so it cannot answer `pr`"):
        infer_graph(graph, "pr", GibbsSettings())


def test_the_seed_decides_a_run():
    graph = family_graph("cycle", 2.0)
    one, two, other = (infer_graph(graph, "mar", GibbsSettings(samples=50, seed=seed)) for seed in (3, 3, 4))
    assert np.array_equal(np.concatenate(one.marginals), np.concatenate(two.marginals))
    assert not np.array_equal(np.concatenate(one.marginals), np.concatenate(other.marginals))


# labellings -------------------------------------------------------------------------------------------------------

ALL = [MeanFieldSettings(), TrwSettings(), GbpSettings(), EpSettings(), GibbsSettings(samples=200)]


@pytest.mark.parametrize("method", ALL, ids=lambda m: m.method)
@settings(max_examples=100, deadline=None)
@given(graph=factor_graphs())
def test_labellings_are_possible_and_no_single_change_improves_them(graph, method):
    total = joint(graph)
    result = infer_graph(graph, "map", method)
    if not np.isfinite(total).any():
        assert result.status.impossible == (0,)
        return
    x = tuple(result.assignment.tolist())
    assert result.score == pytest.approx(total[x], rel=1e-12)
    assert np.isfinite(total[x])
    if method.method != "gibbs":
        for v, card in enumerate(graph.cards):
            for state in range(card):
                other = total[(*x[:v], state, *x[v + 1 :])]
                assert other <= total[x] + slack(total[x])


@pytest.mark.parametrize("zeros", ZEROS.values(), ids=ZEROS)
@pytest.mark.parametrize("scale", [1.0, 800.0])
@pytest.mark.parametrize("method", [TrwSettings(**FINE), GibbsSettings(samples=10)], ids=lambda m: m.method)
@pytest.mark.parametrize("family", TREES)
def test_the_best_labelling_of_a_tree_is_found(family, method, scale, zeros):
    graph = family_graph(family, scale, zeros)
    assert infer_graph(graph, "map", method).score == pytest.approx(reference.best(joint(graph))[1])


def test_gibbs_samples_its_way_to_the_best_labelling_of_a_small_graph():
    for seed in range(5):
        graph = family_graph("three chains", 1.0, seed=seed)
        result = infer_graph(graph, "map", GibbsSettings(samples=5000, seed=seed))
        assert result.score == pytest.approx(reference.best(joint(graph))[1])


@pytest.mark.parametrize("method", ALL, ids=lambda m: m.method)
def test_a_graph_that_no_labelling_satisfies_is_reported(method):
    """Three variables of two states, all different: every factor can be satisfied, all together cannot."""
    different = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    graph = FactorGraph((2, 2, 2), ((0, 1), (1, 2), (0, 2)), (different,) * 3)
    result = infer_graph(graph, "map", method)
    assert result.status.impossible == (0,)
    assert result.assignment is None


# data sets --------------------------------------------------------------------------------------------------------


def over(model, corpus, method, threads=1):
    """log Z of each sequence, marginals and status by one method."""
    objective = objective_of(model, corpus, method)
    data, built = objective.data, METHODS[method.method].build(objective.data, method)
    out = Expectations.empty(data, marginals=True, approximate=True)
    potentials = data.potentials(model.weights)

    def run(first, last):
        built.expectations(potentials, first, last, out, np.zeros(0), np.zeros(len(data.hard)))

    Workers(threads).map(run, data.chunks(3))
    decoded = Decoded.empty(data)
    Workers(threads).map(lambda first, last: built.decode(potentials, first, last, decoded), data.chunks(3))
    return out, decoded.labelling


@pytest.mark.parametrize("name", CASES)
def test_bounds_enclose_log_z_of_every_sequence(name):
    model, corpus = trained(CASES[name])
    lower, exact, upper = (
        over(model, corpus, method)[0].log_z for method in (MeanFieldSettings(), ExactSettings(), TrwSettings())
    )
    assert (lower <= exact + 1e-9).all()
    assert (upper >= exact - 1e-9).all()


@pytest.mark.parametrize("method", [MeanFieldSettings(**FINE), TrwSettings(**FINE)], ids=lambda m: m.method)
@pytest.mark.parametrize("name", CASES)
def test_the_gradient_of_training_equals_finite_differences(name, method):
    model, corpus = trained(CASES[name], scale=0.4)
    objective = objective_of(model, corpus, method, precision=0.2)
    _, gradient = objective.value_and_gradient(model.weights)
    assert objective.total_status.converged
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], model.weights, gradient, 1e-6)


@pytest.mark.parametrize("name", ["chain", "factorial", "segments", "second order"])
def test_gibbs_over_a_data_set_approaches_the_marginals(name):
    model, corpus = trained(CASES[name])
    exact, _ = over(model, corpus, ExactSettings())
    sampled, labelling = over(model, corpus, GibbsSettings(samples=20_000))
    assert np.isnan(sampled.log_z).all()
    np.testing.assert_allclose(sampled.marginals, exact.marginals, atol=0.05)
    assert labelling.min() >= 0


@pytest.mark.parametrize("method", ALL, ids=lambda m: m.method)
def test_the_same_floats_for_any_number_of_threads(method):
    model, corpus = trained(CASES["factorial"])
    (one, first), (two, second) = (over(model, corpus, method, threads) for threads in (1, 3))
    assert np.array_equal(one.log_z, two.log_z, equal_nan=True)
    assert np.array_equal(one.marginals, two.marginals)
    assert np.array_equal(first, second)


def inferring(case, method, more=""):
    """The case's template with another `infer`."""
    lines = [line for line in case.text.splitlines() if not line.startswith("infer")]
    return load_text("\n".join(lines) + f"\ninfer {method}\n{more}")


@pytest.mark.parametrize("method", ["mean_field", "trw", "gbp", "ep"])
def test_a_template_trains_and_tags_by_it(method):
    case = CASES["factorial"]
    model = fit(inferring(case, method), case.corpus(), threads=1)
    assert model.record.inference == method
    marginals, status = model.marginals(case.corpus())
    assert status.approximate and status.converged
    assert all(np.allclose(own.sum(axis=1), 1.0) for own in marginals.values())
    assert all((codes >= 0).all() for codes in model.predict(case.corpus()).codes.values())


def test_gibbs_tags_and_refuses_to_train():
    case = CASES["factorial"]
    with pytest.raises(DcrfError, match="`gibbs` gives no log Z, so nothing can be trained by it"):
        fit(inferring(case, "gibbs"), case.corpus(), threads=1)
    model = fit(inferring(case, "gibbs", "train likelihood: infer = trp\n"), case.corpus(), threads=1)
    marginals, status = model.marginals(case.corpus())
    assert status.approximate
    assert all(np.allclose(own.sum(axis=1), 1.0) for own in marginals.values())
    tagged = model.predict(case.corpus(), decode="marginal")
    assert all(np.array_equal(tagged.codes[label], own.argmax(axis=1)) for label, own in marginals.items())


# graphs with answers from independent tools -----------------------------------------------------------------------

NAMES = (
    sorted(p.stem for p in (SHARED / "graphs").glob("*.npz") if p.with_suffix(".json").exists())
    if SHARED.is_dir()
    else ["absent"]
)


def stored(name):
    arrays = np.load(SHARED / "graphs" / f"{name}.npz")
    count = int(arrays["nf"])
    graph = FactorGraph(
        tuple(int(c) for c in arrays["cards"]),
        tuple(tuple(int(v) for v in arrays[f"s{k}"]) for k in range(count)),
        tuple(np.asarray(arrays[f"t{k}"], float) for k in range(count)),
    )
    return graph, json.loads((SHARED / "graphs" / f"{name}.json").read_text())


@needs_reference
@pytest.mark.parametrize("name", NAMES)
def test_known_graphs_lie_between_the_bounds(name):
    graph, answers = stored(name)
    log_z = answers["exact"]["logZ"]
    below = infer_graph(graph, "mar", MeanFieldSettings(tolerance=1e-10, max_iterations=5000))
    above = infer_graph(graph, "mar", TrwSettings(tolerance=1e-6))
    assert below.log_z <= log_z + slack(log_z)
    assert above.log_z >= log_z - slack(log_z)
    best = answers["map"]["score"]
    for method in ALL:
        assert infer_graph(graph, "map", method).score <= best + slack(best)


def known_marginals(answers):
    return [np.array(own) for own in answers["exact"]["var_marginals"]]


@needs_reference
@pytest.mark.parametrize("name", NAMES)
def test_gibbs_of_known_graphs_is_within_four_standard_errors_by_effective_sample_size(name):
    """Runs of other seeds say how many independent draws a run's marginals are worth: p (1 − p) / variance.

    The least of a variable's states counts for all of them, and it is at most the number of samples. Where runs say
    that their chains disagree, some are far off.
    """
    graph, answers = stored(name)
    if any(np.isneginf(table).any() for table in graph.log_tables):
        pytest.skip("with hard zeros single changes need not reach every labelling")
    samples = 600
    runs = [infer_graph(graph, "mar", GibbsSettings(samples=samples, burn_in=300, seed=s)) for s in range(CHAINS)]
    found = [np.array(own) for own in zip(*(run.marginals for run in runs), strict=True)]
    if sum(not run.status.converged for run in runs) > CHAINS / 4:
        gaps = [np.abs(own - known).max() for own, known in zip(found, known_marginals(answers), strict=True)]
        assert max(gaps) > 0.1
        return
    for own, known in zip(found, known_marginals(answers), strict=True):
        spread = known * (1.0 - known)
        worth = [p / v for p, v in zip(spread, own.var(axis=0, ddof=1), strict=True) if v > 0]
        errors = np.sqrt(spread / (min([samples, *worth]) * CHAINS))
        assert (np.abs(own.mean(axis=0) - known) <= 4.0 * errors + 1e-9).all()


@needs_reference
@pytest.mark.parametrize("name", NAMES)
def test_gibbs_says_of_known_graphs_whether_it_mixes(name):
    """A run whose chains agree is within four of the standard errors that it reports, hard zeros or not."""
    graph, answers = stored(name)
    result = infer_graph(graph, "mar", GibbsSettings(samples=4000))
    gap = max(np.abs(own - known).max() for own, known in zip(result.marginals, known_marginals(answers), strict=True))
    assert not result.status.converged or gap <= 4.0 * result.status.residual + 1e-9


@needs_reference
@pytest.mark.parametrize("name", NAMES)
def test_mean_field_reaches_a_known_optimum(name):
    """Where nine starts of another tool found one optimum, ours is it; elsewhere one of those."""
    graph, answers = stored(name)
    known = answers.get("mean_field")
    if known is None or "do_not_use" in known:
        pytest.skip("no stored answer")
    result = infer_graph(graph, "mar", MeanFieldSettings(tolerance=1e-12, max_iterations=20_000))
    assert result.status.converged
    if known["unique_in_9_starts"]:
        assert result.log_z == pytest.approx(known["best_elbo"], rel=1e-9)
        for own, other in zip(result.marginals, known["best_var_marginals"], strict=True):
            np.testing.assert_allclose(own, other, atol=1e-5)
    else:
        assert result.log_z >= min(known["elbos"]) - slack(known["best_elbo"])


@needs_reference
@pytest.mark.parametrize("name", NAMES)
def test_trw_at_stored_appearances_gives_the_stored_bound(name):
    graph, answers = stored(name)
    known = answers.get("trw")
    if known is None or "do_not_use" in known:
        pytest.skip("no stored answer")
    bank = one_bank(graph)
    shapes, edges = bank.shape_arrays(), bank.edge_arrays()
    sizes = [table.size if table.ndim > 1 else 0 for table in graph.log_tables]
    off = np.cumsum([0, *sizes[:-1]])
    logs = np.concatenate([[0.0], *(table.ravel() for table in graph.log_tables)])
    node, peak, fits = np.zeros(sum(graph.cards)), np.zeros(len(sizes)), np.zeros(len(sizes), np.bool_)
    message = np.zeros(int(edges.messages[0]))
    reweighting = Reweighting(np.array(known["rho"]), off, np.zeros((2, sum(sizes))), peak, fits)
    taken, _ = node_potentials(0, shapes, logs, True, node)
    stretch_tables(0, shapes, logs, reweighting)
    converged, *_ = reweighted_messages(
        0, shapes, edges, reweighting, node, Control(1e-11, 20_000, 0.5, 0), False, False, message
    )
    assert converged
    var_belief, belief = np.zeros_like(node), np.zeros_like(logs)
    scratch = np.zeros(max(sizes))
    log_z = reweighted_beliefs(0, shapes, edges, reweighting, node, message, var_belief, belief, scratch)
    assert log_z + taken == pytest.approx(known["logZ"], rel=1e-9)
    np.testing.assert_allclose(var_belief, np.concatenate(known["var_marginals"]), atol=1e-7)
