"""Every criterion under every inference on every family of graphs: it trains, or it is refused in words.

CI runs this file once more with interpreted kernels, where an index out of its array is an error.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from template_cases import Case
from training_cases import objective_of

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import INFERENCE
from dcrfdsl.semantics.settings.training_settings import CRITERIA
from dcrfdsl.training.pipeline import fit

ROOT = Path(__file__).parents[2]
Rows = list[list[tuple[str, ...]]]

KNOWN: Rows = [
    [("p", "a", "N"), ("q", "b", "O"), ("p", "b", "N")],
    [("q", "a", "O"), ("r", "b", "N")],
    [("r", "b", "O")],
    [("p", "a", "N"), ("p", "b", "O"), ("q", "a", "N"), ("r", "b", "O")],
]
UNKNOWN: Rows = [
    [("p", "_", "N"), ("q", "b", "_"), ("p", "b", "N")],
    [("q", "a", "O"), ("r", "_", "N")],
    [("r", "b", "O")],
    [("p", "a", "N"), ("p", "_", "O"), ("q", "a", "_"), ("r", "b", "O")],
]
SEGMENTS: Rows = [[(word, "B-A" if n % 2 else "O", y) for n, (word, y, _) in enumerate(s)] for s in KNOWN]
ONE = "data conll(word, y, z)\nlabel y\nclique y: bias, word\nclique y[-1], y\n"
TWO = (
    "data conll(word, y, z)\nlabel y\nlabel z\nclique y: bias, word\nclique z: bias, word\n"
    "clique y[-1], y\nclique z[-1], z\nclique y, z\n"
)


def partly(text: str) -> str:
    return text.replace("label y", 'label y with missing = "_"').replace("label z", 'label z with missing = "_"')


GRAPHS = {
    "chain": (ONE, KNOWN),
    "second order": (ONE + "clique y[-2], y[-1], y\n", KNOWN),
    "factorial": (TWO, KNOWN),
    "loopy": (TWO + "clique y[-1], z\nclique y[-2], y\n", KNOWN),
    "skip": (ONE + "clique y[i], y[j] as skip:\n    where word[i] = word[j]\n", KNOWN),
    "latent": (ONE + "latent h in 2\nclique h, y\nclique h: bias, word\nclique h[-1], h\n", KNOWN),
    "missing": (partly(ONE), UNKNOWN),
    "loopy missing": (partly(TWO) + "clique y[-2], y\n", UNKNOWN),
    "memory": (ONE + "memory m in states(y) = y[-1] initially a\nclique y, m\n", KNOWN),
    "segments": (ONE.replace("label y", "label y in bio(A)"), SEGMENTS),
}
FEW = "optimizer = lbfgs(max_iterations = 2)"
TRAIN = {
    **{name: f"{name}: {FEW}" for name in ("likelihood", "piecewise", "memm", "pseudolikelihood", "pwpl")},
    "likelihood of costs": f"likelihood: cost = hamming, {FEW}",
    "bidirectional": f"bidirectional: {FEW}",
    "induce": f"induce: rounds = 1, {FEW}",
    "rescale": f"likelihood as first: {FEW}\ntrain rescale after first: {FEW}",
    "perceptron": "perceptron",
    "mce": f"mce: {FEW}",
    "mce of labels": f"mce: loss = label(y), {FEW}",
    "mce of sequences": f"mce: loss = sequence, {FEW}",
    "mce by sums": f"mce: loss = sequence, psi = 1, {FEW}",
    "mce of differences": f"mce: loss = sequence, measure = difference, {FEW}",
    "marginal": f"marginal: {FEW}",
    "exponential": f"exponential: {FEW}",
    "adaboost": "adaboost: rounds = 2",
    "hmsvm": "hmsvm",
    "hmsvm of labellings": "hmsvm: slack = labelling",
    "hmsvm by blocks": "hmsvm: optimizer = bcfw(max_iterations = 5)",
    "hmm": "hmm",
}
OTHERS = [name for name in INFERENCE if name not in ("exact", "trp")]


def trained(graph: str, infer: str, train: str, rows: Rows | None = None) -> TrainedModel | list[str]:
    """The model, or the slugs of what the checker or training said instead."""
    text, own_rows = GRAPHS[graph]
    resolved = load_text(f"{text}infer {infer}\ntrain {train}\n")
    errors = [found.slug for found in check(resolved) if found.severity == "error"]
    if errors:
        return errors
    corpus = corpus_from_rows(own_rows if rows is None else rows, resolved.require().data)
    try:
        model = fit(resolved, corpus, threads=1)
    except DcrfError as error:
        return [diagnostic.slug for diagnostic in error.diagnostics]
    model.predict(corpus)
    return model


def test_the_tables_are_complete() -> None:
    assert {train.split(":")[0].split()[0] for train in TRAIN.values()} | {"rescale"} == set(CRITERIA)
    assert {"exact", "trp"} <= set(INFERENCE)


REFUSED = {  # by the checker, before any data is read
    "memm": {"skip", "latent"},
    "bidirectional": {"skip", "latent"},
    "pseudolikelihood": {"latent"},
    "pwpl": {"latent", "skip"},
    "adaboost": {"latent"},
    "hmm": {"factorial", "loopy", "skip", "latent", "loopy missing", "memory"},
}


@pytest.mark.parametrize("train", TRAIN)
def test_the_checker_refuses_what_cannot_be_and_nothing_else(train: str) -> None:
    for infer in ("exact", "trp"):
        lists = train == "hmsvm of labellings" and infer == "trp"
        for graph, (text, _) in GRAPHS.items():
            found = check(load_text(f"{text}infer {infer}\ntrain {TRAIN[train]}\n"))
            errors = [own for own in found if own.severity == "error"]
            assert bool(errors) == (lists or graph in REFUSED.get(train, ())), (graph, infer, errors)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("train", TRAIN)
def test_a_combination_trains_or_is_refused(train: str, graph: str) -> None:
    for infer in ("exact", "trp"):
        found = trained(graph, infer, TRAIN[train])
        if isinstance(found, TrainedModel):
            assert np.isfinite(found.weights).all()
        else:
            assert found, infer


@pytest.mark.long
@pytest.mark.parametrize("infer", OTHERS)
@pytest.mark.parametrize("graph", ["factorial", "latent"])
def test_other_methods_train_or_are_refused(graph: str, infer: str) -> None:
    for train in ("likelihood", "mce of sequences", "exponential", "marginal", "perceptron"):
        found = trained(graph, infer, TRAIN[train])
        assert not isinstance(found, TrainedModel) or np.isfinite(found.weights).all()


# sums over all wrong labellings --------------------------------------------------------------------------------------

SUMS = ("mce by sums", "mce of differences", "exponential", "adaboost")


@pytest.mark.parametrize(("train", "graph"), list(itertools.product(SUMS, ("chain", "loopy", "skip"))))
def test_what_needs_sums_takes_exact_inference_by_itself(train: str, graph: str) -> None:
    exact, other = trained(graph, "exact", TRAIN[train]), trained(graph, "trp", TRAIN[train])
    assert isinstance(exact, TrainedModel) and isinstance(other, TrainedModel)
    assert np.array_equal(exact.weights, other.weights)
    (note,) = set(other.record.notes) - set(exact.record.notes)
    assert "trained under `exact` and not `trp`" in note
    resolved = load_text(f"{GRAPHS[graph][0]}infer trp\ntrain {TRAIN[train]}\n")
    (said,) = check(resolved)
    assert (said.slug, said.severity) == ("needs-exact", "note")


@pytest.mark.parametrize("train", SUMS)
@pytest.mark.parametrize("graph", ["loopy", "skip"])
def test_what_needs_sums_is_refused_where_exact_inference_does_not_fit(graph: str, train: str) -> None:
    text, rows = GRAPHS[graph]
    resolved = load_text(f"{text}infer auto(max_table = 2)\ntrain {TRAIN[train]}\n")
    with pytest.raises(DcrfError) as caught:
        fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
    (found,) = caught.value.diagnostics
    assert found.slug == "needs-exact"
    assert found.help is not None and ("`psi = inf`" in found.help) == (train == "mce by sums")


HIDDEN = ("latent", "missing", "loopy missing")


@pytest.mark.long
@pytest.mark.parametrize("graph", HIDDEN)
def test_error_rates_of_sequences_complete_what_is_hidden_under_messages(graph: str) -> None:
    """Exactly, where that fits. The rival that messages find scores at most as much as the best one, and so no sentence
    looks worse than it is.
    """
    assert isinstance(trained(graph, "trp", TRAIN["mce of sequences"]), TrainedModel)
    text, rows = GRAPHS[graph]
    exact, other = (
        objective_of(Case(f"{text}infer {infer}\n", rows), "mce", "train.loss=sequence", "train.prior=none")
        for infer in ("exact", "trp")
    )
    generator = np.random.default_rng(0)
    for _ in range(5):
        weights = generator.normal(size=exact.num_weights)
        assert other.value_and_gradient(weights)[0] <= exact.value_and_gradient(weights)[0] + 1e-9


def test_what_is_hidden_is_completed_by_messages_where_exact_inference_does_not_fit() -> None:
    found = trained("missing", "auto(max_table = 1)", TRAIN["mce of sequences"])
    assert isinstance(found, TrainedModel) and np.isfinite(found.record.objective)


# bounds --------------------------------------------------------------------------------------------------------------

OUTSIDE = """
import numpy as np
from dcrfdsl.kernels.runtime.compilation import kernel
from dcrfdsl.kernels.runtime.machine_vectors import LANES, load, load_part, repeat, total
@kernel
def whole(array, at): return total(load((0,), array, at))
@kernel
def part(array, at, count): return total(load_part((0,), array, at, count))
@kernel
def one(array, at): return total(repeat((0,), array, at))
@kernel
def element(array, at): return array[at]
array = np.ones(LANES)
assert whole(array, 0) == one(array, LANES - 1) == LANES and part(array, LANES - 1, 1) == 1 and part(array, 9, 0) == 0
for task in (lambda: whole(array, 1), lambda: whole(array, -1), lambda: part(array, 1, LANES),
             lambda: one(array, LANES), lambda: element(array, LANES)):
    try:
        task()
    except IndexError:
        print("caught")
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "settings", [{"NUMBA_DISABLE_JIT": "0", "NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_DISABLE_JIT": "1"}], ids=str
)
def test_bounds_of_elements_and_registers_are_checked(settings: dict[str, str]) -> None:
    """In compiled code on request, in interpreted kernels always."""
    own = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    done = subprocess.run([sys.executable, "-c", OUTSIDE], env=own, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["caught"] * 5
