"""Each criterion × each optimizer × each prior: it trains, or the checker refuses it and names those that do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from template_cases import CASES, Case
from training_cases import many

from dcrfdsl.criteria.criteria_table import CRITERIA as BUILDERS
from dcrfdsl.criteria.criterion import Criterion
from dcrfdsl.criteria.hidden_markov import Hmm
from dcrfdsl.optimizers.auto import SOLVERS
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS as METHODS
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.settings.optimizer_settings import OPTIMIZERS
from dcrfdsl.semantics.settings.prior_settings import PRIORS, Prior
from dcrfdsl.semantics.settings.training_settings import CRITERIA, TRAINED_BY, TREATS, WITHOUT_PENALTY
from dcrfdsl.training.pipeline import fit

# the settings that make an optimizer stop early, and a prior that it treats
FEW = {"sgd": "epochs = 2", "gpd": "epochs = 2", "quickprop": "online = 1, max_iterations = 3"}
PLAIN = "data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y\ninfer exact\n"
CASE = many(replace(CASES["chain"], text=CASES["chain"].text + "infer exact\n"), 2)
PRIOR_SHAPES = {
    "none": "none",
    "gaussian": "gaussian(variance = 2)",
    "lphi": "lphi(phi = 1.5)",
    "laplace": "laplace(scale = 2)",
    "elastic_net": "elastic_net(l1 = 0.2, l2 = 0.1)",
    "group_lasso": "group_lasso(strength = 0.2)",
}


def template(criterion: str, optimizer: str, prior: str) -> Case:
    limits = FEW.get(optimizer, "max_iterations = 3")
    train = f"train {criterion}:\n    optimizer = {optimizer}({limits})\n    prior = {prior}\n"
    if criterion == "rescale":
        train = "train likelihood as first: optimizer = lbfgs(max_iterations = 3)\n" + train.replace(
            "rescale:", "rescale after first:"
        )
    # error rates are trained after single sequences on plain chains only, and moves of an HMM have no features
    return replace(CASE, text=(PLAIN if criterion in ("mce", "hmm") else CASE.text) + train)


def every_kind(kind: type[Criterion]) -> Iterator[type[Criterion]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from every_kind(narrower)


def test_what_runs_takes_the_settings_of_its_name() -> None:
    assert set(BUILDERS) == set(CRITERIA)
    assert all(issubclass(settings, BUILDERS[name].settings) for name, settings in CRITERIA.items())
    assert set(METHODS) == set(OPTIMIZERS)
    assert all(issubclass(settings, METHODS[name].settings) for name, settings in OPTIMIZERS.items())
    assert {kind.solver for kind in every_kind(Criterion)} == set(SOLVERS)
    with pytest.raises(TypeError, match="expected settings CgSettings, not SgdSettings"):
        METHODS["cg"](Hmm(np.zeros(1), np.zeros(1)), np.zeros(1), OPTIMIZERS["sgd"](), lambda step, weights: False)
    for name in ("working_set", "bcfw"):
        with pytest.raises(TypeError, match="a margin problem"):
            METHODS[name](Hmm(np.zeros(1), np.zeros(1)), np.zeros(1), OPTIMIZERS[name](), lambda step, weights: False)


def test_the_tables_are_complete() -> None:
    assert set(TRAINED_BY) == set(CRITERIA)
    assert set(TREATS) == set(OPTIMIZERS)
    assert {name for able in TRAINED_BY.values() for name in able} <= set(OPTIMIZERS)
    assert set(WITHOUT_PENALTY) <= set(TRAINED_BY)
    assert set(PRIOR_SHAPES) == set(PRIORS)
    assert all("none" in shapes for shapes in TREATS.values())  # so that each pair below can be tried without one


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_pair_trains_or_is_refused(criterion: str, optimizer: str) -> None:
    case = template(criterion, optimizer, "none")
    errors = [d for d in check(case.resolved()) if d.severity == "error"]
    able = TRAINED_BY[criterion]
    if optimizer in able:
        assert not errors
        model = fit(case.resolved(), case.corpus(), threads=1)
        assert model.record.iterations > 0 and np.isfinite(model.record.objective)
        assert model.weights.any()
    else:
        (found,) = errors
        assert found.slug == "cannot-train"
        assert f"`{optimizer}`" in found.message and f"`{criterion}`" in found.message
        assert found.help is not None and all(f"`{name}`" in found.help for name in able)


@pytest.mark.parametrize("optimizer", TRAINED_BY["likelihood"])
@pytest.mark.parametrize("name", PRIOR_SHAPES)
def test_a_prior_is_treated_or_refused(name: str, optimizer: str) -> None:
    case = template("likelihood", optimizer, PRIOR_SHAPES[name])
    errors = [d for d in check(case.resolved()) if d.severity == "error"]
    prior = PRIORS[name].model_validate({"phi": 1.5} if name == "lphi" else {})
    assert isinstance(prior, Prior)
    if prior.shape in TREATS[optimizer]:
        assert not errors
        assert np.isfinite(fit(case.resolved(), case.corpus(), threads=1).record.objective)
    else:
        (found,) = errors
        assert found.slug == "prior-not-treated"
        assert f"`{optimizer}`" in found.message and f"`{name}`" in found.message
        # what the help says is a remedy
        able = [other for other in OPTIMIZERS if f"`{other}`" in (found.help or "")]
        remedied = [template("likelihood", other, PRIOR_SHAPES[name]) for other in able]
        remedied = remedied or [template("likelihood", optimizer, "none")]
        assert not [d for other in remedied for d in check(other.resolved()) if d.severity == "error"]


def test_the_prior_of_a_clique_is_looked_at_too() -> None:
    text = CASE.text.replace("y[-1], y:", "y[-1], y as chain:")
    train = "train likelihood:\n    optimizer = cg\n    prior.chain = laplace(scale = 1)\n"
    errors = [d for d in check(replace(CASE, text=text + train).resolved()) if d.severity == "error"]
    assert [d.slug for d in errors] == ["prior-not-treated"]
    assert errors[0].primary is not None and errors[0].primary.span.text == "laplace(scale = 1)"


def test_stages_that_do_not_run_are_not_looked_at() -> None:
    text = CASE.text + "train memm as one: optimizer = iis\ntrain likelihood as two\n"
    assert not [d for d in check(replace(CASE, text=text).resolved()) if d.severity == "error"]
