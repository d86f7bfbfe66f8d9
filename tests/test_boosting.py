"""Label sequence AdaBoost against its definitions, by every labelling of short sentences; and the rank risk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mce_cases import scores_of
from piece_twin import supervised
from risk_cases import risks_of, settings_of, shares_at_start
from template_cases import CASES, Case
from test_criteria import trained

from dcrfdsl import ranks
from dcrfdsl.cli import run
from dcrfdsl.criteria.boosting import Boosting, build_boosting
from dcrfdsl.errors import DcrfError
from dcrfdsl.model import TrainedModel
from dcrfdsl.optimizers.boosting import minimise_boosting, promises
from dcrfdsl.spec.resolve import load_text
from dcrfdsl.spec.risks import AdaboostSettings
from dcrfdsl.training import fit


def boosted(case: Case, **own: Any) -> tuple[Boosting, Any, list[Any]]:
    """The objective, how boosting from 0 ended, and the weights after each round."""
    given, _ = supervised(case)
    objective, seen = build_boosting(given, settings_of(AdaboostSettings(**own))), []

    def watch(step: Any, weights: Any) -> bool:
        seen.append(weights.copy())
        return False

    start = objective.start(np.zeros(given.parameters.num_weights))
    return objective, minimise_boosting(objective, start, watch), seen


@pytest.mark.parametrize("weight", ["uniform", 0.6, 1.0])
@pytest.mark.parametrize("update", ["sequential", "parallel", "steepest"])
@pytest.mark.parametrize("name", ["chain", "factorial", "second order", "skip chain", "numbers", "segments"])
def test_boosting_keeps_its_promises(name: str, update: Any, weight: Any) -> None:
    """The risk falls in each round to no more than promised; proposition 6: the promises bound the rank risk."""
    case = CASES[name]
    _, outcome, seen = boosted(case, rounds=25, update=update, weight=weight, tolerance=1e-9)
    shares, before, bound = shares_at_start(case, weight), 1.0, 1.0
    assert len(outcome.path) == len(seen) > 3
    for done, weights in zip(outcome.path, seen, strict=True):
        rank, exponential = risks_of(case, weights, shares)
        assert done.risk == pytest.approx(exponential, rel=1e-8)
        assert done.bound < 1.0 and done.risk <= done.bound * before * (1.0 + 1e-9)
        before, bound = done.risk, bound * done.bound
        assert rank <= exponential * (1.0 + 1e-9) <= bound * (1.0 + 1e-8)


@pytest.mark.parametrize("name", ["chain", "factorial", "numbers"])
def test_the_promise_is_the_least_of_its_bound(name: str) -> None:
    """a_k, L and U by enumeration, the step by trying many."""
    case = CASES[name]
    given, weights = supervised(case)
    objective = build_boosting(given, settings_of(AdaboostSettings(max_step=0.7)))
    weights = 0.3 * weights
    risk, gradient = objective.value_and_gradient(weights)
    low, high = objective.bounds
    found = promises(low, high, gradient / risk, 1.0, 0.7)
    shares, size, step = shares_at_start(case, "uniform"), len(weights), 1e-3
    at = scores_of(case, weights)
    for k in range(0, size, max(1, size // 25)):
        moved = weights.copy()
        moved[k] += step
        differences, masses = [], []
        for (scores, right), (raised, _), share in zip(at, scores_of(case, moved), shares, strict=True):
            wrong = np.isfinite(scores)
            wrong[right] = False
            differences.append(((raised - raised[right]) - (scores - scores[right]))[wrong] / step)  # scores are linear
            masses.append(share * np.exp(scores[wrong] - scores[right]))
        u, mass = np.concatenate(differences), np.concatenate(masses) / risk
        assert low[k] - 1e-9 <= u.min() and u.max() <= high[k] + 1e-9
        share = float((mass * (high[k] - u)).sum()) / (high[k] - low[k])
        trials = np.linspace(-0.7, 0.7, 2801) if low[k] >= 0 or high[k] <= 0 else np.linspace(-6, 6, 24001)
        bounds = share * np.exp(trials * low[k]) + (1.0 - share) * np.exp(trials * high[k])
        assert found.left[k] <= bounds.min() * (1.0 + 1e-12)
        assert found.left[k] == pytest.approx(bounds.min(), rel=1e-4) or abs(found.step[k]) > 6
        assert float((mass * np.exp(found.step[k] * u)).sum()) <= found.left[k] * (1.0 + 1e-9)


@pytest.mark.parametrize("name", ["chain", "numbers"])
def test_the_steepest_update_ends_near_the_least_risk_of_its_weight(name: str) -> None:
    """By enumeration: none of ten others is steeper; half the step and twice the step leave more of the risk."""
    case, nudge, longest = CASES[name], 1e-5, 2.5
    _, outcome, seen = boosted(case, rounds=4, update="steepest", tolerance=1e-9, max_step=longest)
    shares, before = shares_at_start(case, "uniform"), np.zeros_like(seen[0])
    others = np.random.default_rng(0).choice(len(before), 10)

    def risk(weights: Any) -> float:
        return risks_of(case, weights, shares)[1]

    for done, after in zip(outcome.path, seen, strict=True):
        units = np.eye(len(before))[[done.weight, *others.tolist()]]
        slopes = np.abs([risk(before + nudge * own) - risk(before - nudge * own) for own in units])
        assert slopes[0] >= slopes.max() * (1.0 - 1e-5)
        step = after - before
        assert np.flatnonzero(step).tolist() == [done.weight] and abs(done.step) <= longest
        assert risk(before + 0.5 * step) > done.risk
        assert risk(before + 2.0 * step) > done.risk or abs(done.step) == longest
        before = after


@pytest.mark.parametrize("name", ["chain", "factorial"])
def test_a_boosted_model_is_sparse_and_can_be_cut(name: str, tmp_path: Path) -> None:
    case = replace(CASES[name], text=CASES[name].text + "infer exact\ntrain adaboost: rounds = 12, tolerance = 0\n")
    model = fit(case.resolved(), case.corpus(), threads=1)
    assert 0 < np.count_nonzero(model.weights) <= 12 < model.num_weights
    model.save(tmp_path / "boosted.model")
    again = TrainedModel.load(tmp_path / "boosted.model")
    assert again.record.path == model.record.path and len(model.record.path) == 12
    for rounds in (0, 1, 5, 12):
        short = replace(case, text=case.text.replace("rounds = 12", f"rounds = {max(rounds, 1)}"))
        expected = fit(short.resolved(), short.corpus(), threads=1).weights if rounds else np.zeros(model.num_weights)
        np.testing.assert_allclose(again.at_round(rounds).weights, expected, atol=1e-12)
        assert np.count_nonzero(again.at_round(rounds).weights) <= rounds
    with pytest.raises(DcrfError, match="has 12 rounds of boosting, and round 13"):
        model.at_round(13)


def test_the_path_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = replace(CASES["chain"], text=CASES["chain"].text + "train adaboost: rounds = 6, tolerance = 0\n")
    model, file = fit(case.resolved(), case.corpus(), threads=1), str(tmp_path / "boosted.model")
    model.save(file)
    (tmp_path / "data.txt").write_text("\n\n".join("\n".join(" ".join(row) for row in own) for own in case.sentences))
    assert run(["show", file, "--path", "--json"]) == 0
    rounds = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(own["round"], own["weight"], own["risk"]) for own in rounds] == [
        (n, done.weight, done.risk) for n, done in enumerate(model.record.path, 1)
    ]
    names = [(clique, feature, list(states)) for clique, feature, states, _ in model.show_weights()]
    assert all((own["clique"], own["feature"], own["states"]) == names[own["weight"]] for own in rounds)
    assert run(["show", file, "--path"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert run(["eval", file, str(tmp_path / "data.txt"), "--rounds", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == model.at_round(2).evaluate(case.corpus())
    assert run(["tag", file, str(tmp_path / "data.txt"), "--rounds", "7"]) == 1
    assert "6 rounds of boosting" in capsys.readouterr().err


def test_a_model_boosted_in_parallel_cannot_be_cut() -> None:
    text = CASES["chain"].text + "train adaboost:\n    rounds = 3\n    update = parallel\n"
    model = fit(replace(CASES["chain"], text=text).resolved(), CASES["chain"].corpus(), threads=1)
    with pytest.raises(DcrfError, match="all weights moved"):
        model.at_round(2)


def test_boosting_after_another_stage_goes_on_from_it() -> None:
    train = "train likelihood as first\ntrain adaboost as second after first: rounds = 4, tolerance = 0\n"
    case = replace(CASES["chain"], text=CASES["chain"].text + train)
    model = fit(case.resolved(), case.corpus(), threads=1)
    first = fit(case.resolved(), case.corpus(), threads=1, stage="first")
    np.testing.assert_allclose(model.at_round(0).weights, first.weights, atol=1e-12)


def test_boosting_needs_labels_that_are_known() -> None:
    text = 'data conll(word, y)\nlabel y in {P, Q} with missing = "_"\nclique y: word\n'
    given, _ = supervised(Case(text, [[("a", "P")], [("a", "_"), ("b", "Q")]], None))
    with pytest.raises(DcrfError, match="in sentence 2 some are not"):
        build_boosting(given, settings_of(AdaboostSettings()))


# the rank risk -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("name", ["chain", "factorial", "second order", "skip chain", "segments", "padded chain"])
def test_the_rank_risk(name: str, scale: float) -> None:
    case = replace(CASES[name], text=CASES[name].text.replace("infer exact\n", "") + "infer exact\n")
    model, corpus = trained(case, seed=3, scale=scale)
    expected, _ = risks_of(case, model.weights, shares_at_start(case, "uniform"))
    counted = sum(np.isfinite(scores).sum() > 1 for scores, _ in scores_of(case, model.weights))
    found = model.rank_risk(corpus)
    assert found.value * len(case.sentences) == pytest.approx(expected * counted)
    assert found.at_least == 0


def test_a_list_that_ends_early_bounds_the_rank_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(CASES["chain"], text=CASES["chain"].text + "infer exact\nevaluate rank_risk, zero_one_risk\n")
    model, corpus = trained(case, seed=3, scale=2.0)
    exact = model.rank_risk(corpus)
    monkeypatch.setattr(ranks, "MOST", 4)
    monkeypatch.setattr(ranks, "FEWEST", 4)
    found = model.rank_risk(corpus)
    assert 0 < found.at_least < corpus.num_sentences and found.value < exact.value
    scores = model.evaluate(corpus)
    assert (scores["rank_risk"], scores["at_least(rank_risk)"]) == found
    assert scores["zero_one_risk"] > 0.0


def test_sentences_that_are_not_wholly_known_have_no_rank() -> None:
    text = 'data conll(word, y)\nlabel y in {P, Q} with missing = "_"\nclique y: word\nclique y[-1], y\n'
    sentences = [[("a", "P"), ("b", "Q")], [("a", "_"), ("b", "P")]]
    model, corpus = trained(Case(text, sentences, None), scale=1.0)
    found = model.rank_risk(corpus)
    assert found.value > 0.0 and found == model.rank_risk(Case(text, sentences[:1], None).corpus())


def test_less_of_a_risk_is_better() -> None:
    """The dev score of a template whose first metric is a risk rises as the risk falls."""
    for metric in ("zero_one_risk", "hamming_risk", "rank_risk"):
        train = f"infer exact\nevaluate {metric}\ntrain likelihood: optimizer = lbfgs(max_iterations = 8)\n"
        resolved, corpus = load_text(CASES["chain"].text + train), CASES["chain"].corpus()
        model = fit(resolved, corpus, dev=corpus, threads=1)
        assert model.record.curve[-1].dev == pytest.approx(1.0 - float(model.evaluate(corpus)[metric]))
