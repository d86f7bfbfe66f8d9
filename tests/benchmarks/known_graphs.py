"""Approximate inference and proofs on the factor graphs with known answers, if they lie beside the repository.

Errors are means of |p - exact| over all probabilities of single variables. Trees are left out of what compares
approximations, as all methods are exact there. Not here: that answers are right, which `tests/inference` holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from figures import Figure, Skip, at_most, times_faster
from work import SHARED, SMOKE

from dcrfdsl.foundation import Floats
from dcrfdsl.graph import FactorGraph
from dcrfdsl.inference import SearchLimits, bounded_labelling, infer_graph
from dcrfdsl.inference.run_status import GraphResult
from dcrfdsl.semantics import EpSettings, GbpSettings, MethodSettings
from dcrfdsl.semantics.settings.infer_settings import BpSettings, TrpSettings

SLACK = 1e-9
FEW = ("chain_T5_K2", "cycle7_K4")  # of a short run
FINE = 1e-10  # a run that is this near to rest is at its fixed point
ITERATIONS = 5000
SEEDS = range(1 if SMOKE else 5)
GBP = GbpSettings(tolerance=1e-5, max_iterations=ITERATIONS)
JOIN = GbpSettings(clusters="join", size=6, tolerance=1e-5, max_iterations=ITERATIONS)
EP = EpSettings(tolerance=1e-5, max_iterations=ITERATIONS)
TRP = TrpSettings(tolerance=1e-5, max_iterations=ITERATIONS)
BP = BpSettings(tolerance=1e-5, max_iterations=ITERATIONS)


class Known(NamedTuple):
    """A graph and what other tools say of it."""

    name: str
    graph: FactorGraph
    answers: dict[str, Any]


def _known() -> Iterator[Known]:
    paths = sorted((SHARED / "reference" / "graphs").glob("*.npz"))
    if not paths:
        raise Skip("the graphs with known answers are not beside the repository, at ../shared/reference/graphs")
    for path in paths if not SMOKE else [path for path in paths if path.stem in FEW]:
        arrays, count = np.load(path), range(int(np.load(path)["nf"]))
        graph = FactorGraph(
            tuple(map(int, arrays["cards"])),
            tuple(tuple(map(int, arrays[f"s{k}"])) for k in count),
            tuple(np.asarray(arrays[f"t{k}"], float) for k in count),
        )
        yield Known(path.stem, graph, json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))


def _loops() -> Iterator[Known]:
    """The graphs with loops: links of variables and of larger factors are no fewer than in a tree."""
    for known in _known():
        scopes = {tuple(sorted(scope)) for scope in known.graph.scopes if len(scope) > 1}
        if _has_loop(len(known.graph.cards), scopes):
            yield known


def _has_loop(variables: int, scopes: set[tuple[int, ...]]) -> bool:
    above = list(range(variables + len(scopes)))

    def top(node: int) -> int:
        while above[node] != node:
            node = above[node]
        return node

    for number, scope in enumerate(sorted(scopes)):
        for v in scope:
            one, other = top(v), top(variables + number)
            if one == other:
                return True
            above[one] = other
    return False


def _errors(known: Known, method: MethodSettings) -> tuple[float, float, bool, int]:
    """Mean error of probabilities, error of log Z, whether it says that it converged, iterations."""
    found, exact = infer_graph(known.graph, "mar", method), known.answers["exact"]
    assert found.log_z is not None
    error = float(abs(_probabilities(found) - np.concatenate(exact["var_marginals"])).mean())
    return error, found.log_z - exact["logZ"], found.status.converged, found.status.iterations


def _probabilities(result: GraphResult) -> Floats:
    """Of all states of all variables, one after the other."""
    assert result.marginals is not None
    return np.concatenate(result.marginals)


def _said(run: tuple[float, float, bool, int]) -> str:
    return f"{run[0]:.1e}, log Z {run[1]:+.1e}, {run[3]:,} iterations" + ("" if run[2] else ", NOT converged")


def clusters_of_graphs() -> Iterator[Figure]:
    """Mean error of marginals by `gbp` and `ep` beside `trp`, on the known graphs with loops."""
    means: dict[str, list[float]] = {"gbp": [], "gbp join": [], "ep": [], "trp": []}
    at_rest = dict.fromkeys(means, 0)
    for known in _loops():
        runs = {name: _errors(known, of) for name, of in zip(means, (GBP, JOIN, EP, TRP), strict=True)}
        words = "; ".join(f"{name} {_said(run)}" for name, run in runs.items())
        words += f"; bp {_said(_errors(known, BP))}"
        for name, run in runs.items():
            means[name].append(run[0])
            at_rest[name] += run[2]
        target = times_faster(3.0) if known.name.startswith("grid") else None
        name = f"{known.name}: `gbp`" + ", peer `trp`" * (target is not None)
        yield Figure(name, runs["gbp"][0], "mean error", words, target, runs["trp"][0] if target else None)
    for name, errors in means.items():
        yield Figure(
            f"{len(errors)} graphs with loops: `{name}`", float(np.mean(errors)), "mean error",
            f"{at_rest[name]} of {len(errors)} say that they converged; worst {max(errors):.1e}; peer `trp`",
            None, float(np.mean(means["trp"])),
        )  # fmt: skip


def bounds_of_graphs() -> Iterator[Figure]:
    """How many best labellings of the known graphs are proven, by the bound alone and by search, and wrong proofs."""
    proven = {"the bound alone": 0, "branch and bound": 0}
    still_open: dict[str, list[str]] = {name: [] for name in proven}
    wrong = broken = count = 0
    for known in _known():
        best, count = known.answers["map"]["score"], count + 1
        for name, limits in zip(proven, (SearchLimits(200, 1), SearchLimits(200, 2000)), strict=True):
            found = bounded_labelling(known.graph, limits)
            slack = SLACK * max(1.0, abs(best))
            proven[name] += bool(found.is_best)
            wrong += bool(found.is_best and abs(found.score - best) > slack)
            broken += bool(found.bound < best - slack)
            if not found.is_best:
                still_open[name].append(f"{known.name}, gap {found.gap:.2g}")
    for name, times in proven.items():
        words = "; ".join(still_open[name]) or "none"
        yield Figure(f"proven by {name}", times, f"of {count}", f"best labellings; open: {words}")
    yield Figure("wrong proofs", wrong, "", "labellings that are called the best and are not", at_most(0))
    yield Figure("bounds below the best", broken, "", "of both", at_most(0))


def trees_of_graphs() -> Iterator[Figure]:
    """Iterations of `trp` on the known graphs with loops, by new random trees, by `cover`, and by `bp`."""
    methods = {
        "trp(trees = random)": TrpSettings(trees="random", tolerance=FINE, max_iterations=ITERATIONS),
        "trp(trees = cover)": TrpSettings(trees="cover", tolerance=FINE, max_iterations=ITERATIONS),
        "bp(schedule = random)": BpSettings(schedule="random", tolerance=FINE, max_iterations=ITERATIONS),
        "bp(schedule = flood)": BpSettings(schedule="flood", tolerance=FINE, max_iterations=ITERATIONS),
    }
    taken: dict[str, list[list[int]]] = {name: [] for name in methods}
    apart, rests, graphs = 0, 0, list(_loops())
    for known in graphs:
        points = [np.concatenate(p["var_marginals"]) for p in known.answers["loopy_bp"]["fixed_points"]]
        for name, of in methods.items():
            runs = [infer_graph(known.graph, "mar", of.model_copy(update={"seed": seed})) for seed in SEEDS]
            ended = [run for run in runs if run.status.converged]
            rests += len(ended)
            gaps = [min((abs(_probabilities(run) - p).max() for p in points), default=1.0) for run in ended]
            apart += sum(bool(gap > 1e-6) for gap in gaps)
            taken[name].append([run.status.iterations for run in ended])
    for name, of_graphs in taken.items():
        medians = [float(np.median(runs)) if runs else float("nan") for runs in of_graphs]
        each = ", ".join(f"{known.name} {median:.0f}" for known, median in zip(graphs, medians, strict=True))
        yield Figure(
            name, float(np.nanmedian(medians)), "iterations",
            f"to {FINE:g}: median over graphs of the median over seeds; {sum(map(len, of_graphs))} of "
            f"{len(graphs) * len(SEEDS)} runs converged: {each}",
        )  # fmt: skip
    yield Figure("runs apart from known fixed points", apart, f"of {rests}", "that say that they converged", at_most(0))
