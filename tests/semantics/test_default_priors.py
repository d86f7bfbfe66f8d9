"""Priors that are not written fit the scale of their criterion; what is written means what it says."""

from __future__ import annotations

import pytest

from dcrfdsl.semantics import stage_settings, to_text
from dcrfdsl.semantics.reference.method_entries import method_entries
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.implied_settings import with_defaults
from dcrfdsl.semantics.settings.prior_settings import (
    PRIORS,
    ElasticNetPrior,
    GaussianPrior,
    GroupLassoPrior,
    LaplacePrior,
    LphiPrior,
    NoPrior,
    Prior,
)
from dcrfdsl.semantics.settings.training_settings import CRITERIA, TrainSettings

HEAD = "data conll(word, chunk)\nlabel chunk in bio(NP)\nclique chunk as words: word\nclique chunk[-1], chunk\n"


def settings(train: str) -> TrainSettings:
    return stage_settings(load_text(HEAD + train + "\n", "a.dcrf").require())


USUAL = [
    ("likelihood", GaussianPrior(variance=10.0)),
    ("marginal", GaussianPrior(variance=10.0)),
    ("piecewise", GaussianPrior(variance=10.0)),
    ("exponential(weight = 1)", GaussianPrior(variance=10.0)),
    ("exponential", NoPrior()),
    ("exponential(weight = 0.5)", NoPrior()),
    ("mce", GaussianPrior(variance=1000.0)),
    ("mce(loss = label(chunk))", GaussianPrior(variance=1000.0)),
    ("mce(loss = balanced_accuracy(chunk))", GaussianPrior(variance=1000.0)),
    *((f"mce(loss = {loss}(chunk))", GaussianPrior(variance=1e5)) for loss in ("fscore", "precision", "recall")),
]


@pytest.mark.parametrize(("criterion", "expected"), USUAL)
def test_the_prior_that_is_not_written(criterion: str, expected: Prior) -> None:
    assert settings(f"train {criterion}").prior == expected


WRITTEN = [
    ("gaussian(variance = 10)", GaussianPrior(variance=10.0)),
    ("gaussian", GaussianPrior(variance=1e5)),
    ("gaussian(mean = model)", GaussianPrior(variance=1e5, mean="model")),
    ("laplace(scale = 1)", LaplacePrior(scale=1.0)),
    ("laplace", LaplacePrior(scale=1e4)),
    ("lphi(phi = 1.5)", LphiPrior(phi=1.5, C=1e4)),
    ("elastic_net(l1 = 0.1)", ElasticNetPrior(l1=0.1, l2=0.05 / 1e4)),
    ("group_lasso", GroupLassoPrior(strength=1e-4)),
    ("none", NoPrior()),
]


@pytest.mark.parametrize(("prior", "expected"), WRITTEN)
def test_only_a_strength_that_is_not_written_fits_the_criterion(prior: str, expected: Prior) -> None:
    found = settings(f"train mce: loss = fscore(chunk), prior = {prior}, prior.words = {prior}")
    for one in (found.prior, found.clique_priors["words"]):
        assert type(one) is type(expected)
        assert dict(one) == pytest.approx(dict(expected)) if "mean" not in dict(one) else one == expected
    beside = settings(f"train likelihood: prior = {prior}").prior
    assert beside == PRIORS[beside.method](**{name: dict(beside)[name] for name in beside.model_fields_set})


def test_every_strength_is_eased() -> None:
    """A field with `strength` in its unit, and no other: penalties become as many times weaker."""
    for kind in PRIORS.values():
        prior = kind()
        for name, way in kind.strengths.items():
            assert getattr(prior.eased(100.0), name) == pytest.approx(getattr(prior, name) * 100.0**way)


def test_the_template_written_out_has_it() -> None:
    spec = load_text(f"{HEAD}train mce: loss = fscore(chunk), prior.words = laplace\n", "a.dcrf").require()
    text = to_text(with_defaults(spec))
    assert "prior = gaussian(variance = 100000" in text and "prior.words = laplace(scale = 10000" in text
    again = stage_settings(load_text(text, "a.dcrf").require())
    assert again.prior == stage_settings(spec).prior


def test_the_reference_says_it() -> None:
    facts = {entry.name: entry.text for entry in method_entries() if entry.kind == CRITERIA.kind}
    assert "`gaussian(variance = 1000)`" in facts["mce"] and "`gaussian(variance = 1e5)`" in facts["mce"]
    assert "by default `none`, and `gaussian(variance = 10)` with `weight = 1`" in facts["exponential"]
    assert all(("by default" in text) == CRITERIA[name].takes_prior for name, text in facts.items())
