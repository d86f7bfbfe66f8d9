"""Priors on groups of weights: the penalty by names of weights, what training leaves, and other settings beside it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from template_cases import Case, sentences
from training_cases import problem_of

from dcrfdsl.cli import run
from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.model import TrainedModel, load as load_model
from dcrfdsl.optimizers.corners import Corners
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
TEXT = """data conll(word, y)
label y
clique y as words: bias, word[-1..1], word & word[1]
clique y[-1], y as chain: bias, word
"""
ROWS = sentences(("P", "Q", "R"), count=14, words="abcd", longest=6)
Name = tuple[str, str, tuple[str, ...]]


def trained(train: str, text: str = TEXT, **where: Any) -> TrainedModel:
    spec = load_text(f"{text}train {train}\n").require()
    return fit(spec, corpus_from_rows(ROWS, spec.data), **{"threads": 1, **where})


def template(feature: str) -> str:
    """`word[-1] & word` of `word[-1]=a & word=b`."""
    return " & ".join(part.partition("=")[0] for part in feature.split(" & "))


def group(name: Name, kind: str) -> tuple[str, str]:
    clique, feature, _ = name
    return (clique, template(feature)) if kind == "templates" else (clique, feature)


def penalty_by_name(weights: Floats, names: Sequence[Name], priors: dict[str, tuple[float, str]]) -> float:
    """Σ_g strength √|g| ‖λ_g‖ over cliques with such a prior; Σ λ² / 4 over the others."""
    groups, rest = defaultdict(list), 0.0
    for name, weight in zip(names, weights.tolist(), strict=True):
        if name[0] in priors:
            groups[group(name, priors[name[0]][1])].append(weight)
        else:
            rest += weight**2 / 4.0
    return rest + sum(
        priors[clique][0] * np.sqrt(len(own)) * float(np.linalg.norm(own)) for (clique, _), own in groups.items()
    )


PRIORS = {
    "templates": ("prior = group_lasso(strength = 0.7)", dict.fromkeys(("words", "chain"), (0.7, "templates"))),
    "features": (
        "prior = group_lasso(strength = 0.7, groups = features)",
        dict.fromkeys(("words", "chain"), (0.7, "features")),
    ),
    "one clique": (
        "prior = gaussian(variance = 2), prior.words = group_lasso(strength = 1.5)", {"words": (1.5, "templates")},
    ),
    "two kinds": (
        "prior = group_lasso(strength = 0.2), prior.chain = group_lasso(strength = 3, groups = features)",
        {"words": (0.2, "templates"), "chain": (3.0, "features")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("criterion", ["likelihood", "pwpl"])
@pytest.mark.parametrize("case", PRIORS)
def test_the_penalty_and_its_gradient(case: str, criterion: str) -> None:
    written, priors = PRIORS[case]
    problem, settings = problem_of(Case(TEXT, ROWS, None), f"{criterion}: {written}")
    free_problem, free_settings = problem_of(Case(TEXT, ROWS, None), f"{criterion}: prior = none")
    objective = CRITERIA[criterion](problem, settings)
    free = CRITERIA[criterion](free_problem, free_settings)
    names = [
        name[:3] for name in trained("likelihood: optimizer = lbfgs(max_iterations = 1)").explanations.iter_weights()
    ]
    weights = np.random.default_rng(0).normal(size=len(names))
    weights[[group(name, "templates") == ("words", "word[1]") for name in names]] = 0.0  # a group in its corner
    (value, gradient), (plain, slope) = objective.value_and_gradient(weights), free.value_and_gradient(weights)
    assert value - plain == pytest.approx(penalty_by_name(weights, names, priors), rel=1e-10)
    for k in np.flatnonzero(weights).tolist()[::7]:
        unit = np.eye(len(names))[k] * 1e-5
        ends = [penalty_by_name(weights + side * unit, names, priors) for side in (1, -1)]
        assert gradient[k] - slope[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)
    np.testing.assert_allclose(gradient[weights == 0.0], slope[weights == 0.0], atol=1e-12)
    assert objective.gap(gradient) is None and objective.batches() is None


@pytest.mark.parametrize("kind", ["templates", "features"])
def test_whole_groups_are_zero_and_the_model_says_which(kind: str, tmp_path: Path, capsys: Any) -> None:
    model = trained(f"likelihood: prior = group_lasso(strength = 1.2, groups = {kind})")
    assert model.record.converged
    groups = defaultdict(list)
    for *name, weight in model.explanations.iter_weights():
        groups[group((name[0], name[1], name[2]), kind)].append(weight)
    left = {key for key, weights in groups.items() if any(weights)}
    assert 0 < len(left) < len(groups)
    assert all(all(weights) for key, weights in groups.items() if key in left)
    assert any(f"left {len(left)} of {len(groups)} groups" in note for note in model.record.notes)

    path = tmp_path / "a.model"
    model.save(path)
    counts = defaultdict(lambda: [0, 0])
    for clique, feature, _, weight in model.explanations.iter_weights():
        counts[clique, template(feature)][0] += 1
        counts[clique, template(feature)][1] += weight != 0.0
    for one in (model, load_model(path)):
        assert {
            (row.clique, row.template): [row.weights, row.used] for row in one.explanations.weights_by_template()
        } == counts
    assert run(["show", str(path), "--templates", "--json"]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(row["clique"], row["template"]): [row["weights"], row["used"]] for row in shown} == counts
    assert run(["show", str(path), "--templates"]) == 0
    assert "word & word[1]" in capsys.readouterr().out


def test_training_says_what_is_left(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "a.dcrf").write_text(f"{TEXT}train likelihood: prior = group_lasso(strength = 1000)\n")
    (tmp_path / "a.txt").write_text("\n\n".join("\n".join(" ".join(row) for row in rows) for rows in ROWS))
    assert run(["train", str(tmp_path / "a.dcrf"), str(tmp_path / "a.txt"), "-o", str(tmp_path / "a.model")]) == 0
    said = capsys.readouterr().err
    assert (
        "note: `group_lasso` left 0 of 7 groups of weights; 0 as a whole: `bias` of `words`" in said
        and "warning" not in said
    )


def test_the_same_bits_for_any_number_of_threads() -> None:
    models = [trained("likelihood: prior = group_lasso(strength = 0.5)", threads=n) for n in (1, 2, 3)]
    assert all(np.array_equal(model.weights, models[0].weights) for model in models)


def test_pieces_apart_have_the_optimum_of_pieces_together() -> None:
    text = TEXT + "piece first over y: words\npiece second over y[-1], y: chain\n"
    more = "prior = group_lasso(strength = 0.4), optimizer = proximal(tolerance = 1e-8)"
    apart = trained(f"piecewise(first, second): {more}", text)
    assert "parts" in apart.record.inference
    problem, settings = problem_of(Case(text, ROWS, None), f"piecewise(first, second): {more}, patience = 9")
    together = CRITERIA["piecewise"](problem, settings)
    value, gradient = together.value_and_gradient(apart.weights)
    assert value == pytest.approx(apart.record.objective, rel=1e-10)
    assert together.groups is not None
    least = Corners(together.l1, together.groups).least(apart.weights, gradient)
    assert np.abs(least).max() < 1e-5


def test_the_largest_weights_of_the_groups_that_are_left() -> None:
    more = "prior = group_lasso(strength = 0.5), optimizer = proximal(tolerance = 1e-7)"
    everything, few = trained(f"likelihood: {more}"), trained(f"likelihood: {more}, keep = 10")
    kept = set(np.argsort(-np.abs(everything.weights), kind="stable")[:10].tolist())
    assert set(np.flatnonzero(few.weights).tolist()) <= kept
    assert few.record.converged and "10 of" in few.record.reason


def test_features_below_a_cut_off_are_in_no_group() -> None:
    text = TEXT.replace("word & word[1]", "often")
    text = text.replace("clique y as", "features often with min_count = 4: word & word[1]\nclique y as")
    model = trained("likelihood: prior = group_lasso(strength = 0.5)", text)
    found = {row.template: row.weights for row in model.explanations.weights_by_template() if row.clique == "words"}
    whole = {row.template: row.weights for row in trained("likelihood", TEXT).explanations.weights_by_template()}
    assert found["bias"] == 3 and found.get("word & word[1]", 0) < whole["word & word[1]"]
    assert model.record.converged


def test_induced_features_are_a_template_of_their_own() -> None:
    text = TEXT.replace("word & word[1]", "word[2]")
    spec = load_text(
        f"{text}train induce as more: rounds = 1, per_round = 8\n"
        "train likelihood after more: prior = group_lasso(strength = 0.3)\n"
    ).require()
    model = fit(spec, corpus_from_rows(ROWS, spec.data), threads=1)
    rows = {row.template: row for row in model.explanations.weights_by_template() if row.clique == "words"}
    assert rows["induced features"].weights > 0
    assert sum(row.weights for row in model.explanations.weights_by_template()) == model.num_weights
    assert model.record.converged
