"""Belief propagation that oscillates: which graphs are damped, where they come to rest, and which are left alone."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import reference
from strategies import FAMILIES, random_tables

from dcrfdsl.graph import FactorGraph
from dcrfdsl.inference import infer_graph
from dcrfdsl.inference.run_status import RunStatus
from dcrfdsl.kernels.messages.propagation import PATIENCE
from dcrfdsl.semantics.settings.infer_settings import BpSettings, TrpSettings

SHARED = Path(__file__).parents[2].parent / "shared" / "reference" / "graphs"
NAMES = sorted(path.stem for path in SHARED.glob("*.json") if path.with_suffix(".npz").exists()) or ["absent"]
FINE = {"tolerance": 1e-10, "max_iterations": 5000}
METHODS = {
    "trp": TrpSettings(**FINE),
    "random": BpSettings(schedule="random", **FINE),
    "flood": BpSettings(schedule="flood", **FINE),
    "residual": BpSettings(schedule="residual", **FINE),
}


def tie(strength):
    """A pair that likes to be equal (or, below 0, to differ)."""
    return strength * np.array([[1.0, -1.0], [-1.0, 1.0]])


def tied(count, pairs, strength):
    """Variables of two states; each leans a little its own way."""
    leaning = [np.array([0.1 * (v + 1), 0.0]) for v in range(count)]
    tables = [tie(strength)] * len(pairs)
    return FactorGraph((2,) * count, (*pairs, *((v,) for v in range(count))), (*tables, *leaning))


def all_differ(count, strength):
    """Every pair wants to differ, which two states do not allow."""
    return tied(count, list(itertools.combinations(range(count), 2)), -strength)


def ring(count, strength):
    """Neighbours want to differ, which a ring of odd length does not allow."""
    return tied(count, [(v, (v + 1) % count) for v in range(count)], -strength)


ALL = tuple(METHODS)
# task, graph, schedules under which it oscillates by itself
OSCILLATING = {
    "sums, four differ": ("mar", all_differ(4, 1.0), ("trp", "random", "flood")),
    "sums, five differ": ("mar", all_differ(5, 1.0), ALL),
    "sums, six differ": ("mar", all_differ(6, 1.0), ALL),
    "maxima, three differ": ("map", all_differ(3, 0.5), ALL),
    "maxima, ring of five": ("map", ring(5, 3.0), ALL),
    "maxima, six differ": ("map", all_differ(6, 1.0), ALL),
}
CASES = [(name, schedule) for name, (_, _, schedules) in OSCILLATING.items() for schedule in schedules]


@pytest.mark.parametrize(("name", "schedule"), CASES)
def test_a_run_that_oscillates_is_damped_until_it_rests(name, schedule):
    """At a fixed point: sums agree with each other there, and a run with damping from the start finds the same.

    Maxima tie at their fixed point, so the labellings read off there may differ, but they are whole ones.
    """
    task, graph, _ = OSCILLATING[name]
    result = infer_graph(graph, task, METHODS[schedule])
    assert (result.status.converged, result.status.damped) == (True, 1)
    from_the_start = infer_graph(graph, task, METHODS[schedule].model_copy(update={"damping": 0.9}))
    assert from_the_start.status.converged
    if task == "mar":
        assert result.log_z == pytest.approx(from_the_start.log_z, abs=1e-8)
        assert reference.one_sweep(graph.cards, graph.scopes, graph.log_tables, result.factor_marginals) < 1e-8
    else:
        total = reference.joint(graph.cards, graph.scopes, graph.log_tables)
        assert result.score == pytest.approx(total[tuple(result.assignment)])
        assert from_the_start.score == pytest.approx(total[tuple(from_the_start.assignment)])


@pytest.mark.parametrize(("name", "schedule"), CASES)
def test_it_oscillates_as_long_as_nothing_is_damped(name, schedule):
    task, graph, _ = OSCILLATING[name]
    status = infer_graph(graph, task, METHODS[schedule].model_copy(update={"max_iterations": PATIENCE - 1})).status
    assert (status.converged, status.damped) == (False, 0)
    assert status.residual > 1e-3


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_that_converges_by_itself_is_left_alone(family, method):
    cards, scopes = FAMILIES[family]
    graph = FactorGraph(cards, scopes, random_tables(cards, scopes, 3))
    status = infer_graph(graph, "mar", method).status
    assert (status.converged, status.damped) == (True, 0)


def test_statuses_add_up():
    one, other = RunStatus(3, damped=2, impossible=(1,)), RunStatus(4, damped=1, impossible=(1, 2))
    assert (one + other).damped == 3
    assert (one + other).impossible == (1, 2)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the graphs with known answers are not on this machine")
@pytest.mark.parametrize("name", NAMES)
def test_known_graphs_are_damped_where_another_tool_oscillates(name):
    """Another tool's flooding, without damping, says which of the graphs do not come to rest by themselves."""
    arrays, answers = np.load(SHARED / f"{name}.npz"), json.loads((SHARED / f"{name}.json").read_text())
    if "libdai_PARALL" not in answers["loopy_bp"]["schedules"]:
        pytest.skip("no stored run")
    count = int(arrays["nf"])
    graph = FactorGraph(
        tuple(int(c) for c in arrays["cards"]),
        tuple(tuple(int(v) for v in arrays[f"s{k}"]) for k in range(count)),
        tuple(np.asarray(arrays[f"t{k}"], float) for k in range(count)),
    )
    status = infer_graph(graph, "mar", METHODS["flood"]).status
    rests = answers["loopy_bp"]["schedules"]["libdai_PARALL"]
    assert bool(status.damped) == (not rests["converged"] if isinstance(rests, dict) else not rests)
