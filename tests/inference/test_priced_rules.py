"""Rules with a price: every place that breaks one lowers the score by the price, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.resolve.specs_as_text import to_text
from dcrfdsl.training.pipeline import fit

HEAD = "data conll(word, y)\nlet enter = 0.7\nlabel y in {P, Q}\nclique y: bias, word\nclique y[-1], y\n"
RULES = {  # the rules, and what the places of a labelling cost
    "moves, by a constant": (
        "forbid y[-1] is P and y is Q as moving with cost = enter\n",
        lambda y, w, t: 0.7 * (t > 0 and (y[t - 1], y[t]) == ("P", "Q")),
    ),
    "what is observed": (
        "require y is P when word is a with cost = 1.5\n", lambda y, w, t: 1.5 * (w[t] == "a" and y[t] == "Q")
    ),
    "a reward": (
        "forbid y is Q and y[-1] is Q with cost = -0.25\n", lambda y, w, t: -0.25 * (t > 0 and y[t - 1] == y[t] == "Q")
    ),
    "far apart, beside a law": (
        "forbid y[-2] is P and y is P with cost = 2\nforbid y[-1] is P and y is P when word is a\n",
        lambda y, w, t: 2.0 * (t > 1 and y[t - 2] == y[t] == "P")
        + (np.inf if t and y[t - 1] == y[t] == "P" and w[t] == "a" else 0.0),
    ),
    "two at once": (
        "forbid y is P with cost = 0.5\nrequire y is P with cost = 0.25\n",
        lambda y, w, t: 0.5 if y[t] == "P" else 0.25,
    ),
}  # fmt: skip
WORDS, GOLD = "abac", "PQQP"  # breaks `moving`


def trained(rules: str, infer: str = "exact") -> TrainedModel:
    resolved = load_text(f"{HEAD}{rules}infer {infer}\n")
    assert not [one for one in check(resolved) if one.severity == "error"]
    rows = [list(zip(WORDS, GOLD, strict=True))]
    return fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)


@pytest.mark.parametrize("infer", ["exact", "auto", "bp(tolerance = 1e-12)"])
@pytest.mark.parametrize("name", RULES)
def test_each_place_costs_its_price(name: str, infer: str) -> None:
    rules, cost = RULES[name]
    if infer.startswith("bp") and "y[-" in rules:
        pytest.skip("a factor beside that of the moves is a loop")
    model = trained(rules, infer)
    weight = {(clique, feature, states): w for clique, feature, states, w in model.explanations.iter_weights()}

    def score(y: tuple[str, ...]) -> float:
        total = 0.0
        for t, word in enumerate(WORDS):
            total += sum(weight.get(("y", feature, (y[t],)), 0.0) for feature in ("bias", f"word={word}"))
            total += weight.get(("y[-1], y", "bias", y[t - 1 : t + 1]), 0.0) if t else 0.0
            total -= cost(y, WORDS, t)
        return total

    labellings = list(itertools.product("PQ", repeat=len(WORDS)))
    scores = np.array([score(y) for y in labellings])
    shares = np.exp(scores - np.logaddexp.reduce(scores))
    corpus = corpus_from_rows([list(zip(WORDS, GOLD, strict=True))], model.spec.data)
    found = model.marginals(corpus)[0]["y"][:, 0]
    wanted = [sum(p for y, p in zip(labellings, shares, strict=True) if y[t] == "P") for t in range(len(WORDS))]
    np.testing.assert_allclose(found, wanted, atol=1e-8)
    best = labellings[int(scores.argmax())]
    assert tuple(model.predict(corpus).texts("y")) == best
    assert model.scores.log_likelihood(corpus) == pytest.approx(np.log(shares[labellings.index(tuple(GOLD))]))
    explained = model.explain(corpus, 1)
    first, second = (tuple(one["y"]) for one in explained.labellings)
    assert explained.margin == pytest.approx(score(first) - score(second))
    assert sum(one.score for one in explained.contributions) == pytest.approx(explained.margin)


def test_a_law_that_gold_labels_break_is_refused_and_a_price_is_not() -> None:
    trained("forbid y[-1] is P and y is Q with cost = enter\n")
    with pytest.raises(DcrfError) as caught:
        trained("forbid y[-1] is P and y is Q\n")
    assert caught.value.diagnostics[0].slug == "broken-constraint"


def test_a_priced_rule_is_never_judged_superfluous() -> None:
    """What a law forbids already, or leaves no labelling, may have a price."""
    rules = "forbid y is P or y is Q with cost = 1\nforbid y is P with cost = 1\nforbid y is P with cost = 2\n"
    assert not check(load_text(HEAD.replace("let enter = 0.7\n", "") + rules))


def test_text_and_json_keep_the_price() -> None:
    rules = "forbid y[-1] is P and y is Q as moving with cost = enter\nrequire y is P when word is a with cost = 1.5\n"
    spec = load_text(HEAD + rules).require()
    assert rules in to_text(spec)
    assert type(spec).model_validate_json(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("written", "slug"),
    [
        ("high", "unknown-name"),
        ("word", "unknown-name"),
        ("yes", "unknown-name"),
        ('"1"', "bad-setting"),
        ("/1/", "bad-setting"),
    ],
)
def test_a_price_is_a_number(written: str, slug: str) -> None:
    found = check(load_text(f"{HEAD}forbid y is P with cost = {written}\n"))
    assert found[0].slug == slug


def test_a_constant_of_a_price_is_a_number() -> None:
    found = check(load_text(f"let word_cost = P\n{HEAD}forbid y is P with cost = word_cost\n"))
    assert (found[0].slug, found[0].severity) == ("bad-setting", "error")
