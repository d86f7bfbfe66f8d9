"""Label sequence AdaBoost against its definitions, by every labelling of short sentences; and the rank risk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mce_cases import scores_of
from model_cases import columns, trained, twin_of
from piece_twin import supervised
from risk_cases import risks_of, settings_of, shares_at_start
from scipy.optimize import minimize_scalar
from template_cases import CASES, Case, sentences

from dcrfdsl.cli import run
from dcrfdsl.criteria.boosting_risk import BoostingRisk, build_boosting
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model import model_scores as ranks
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.optimizers.boosting_rounds import minimise_boosting, step_bounds
from dcrfdsl.optimizers.run_state import RunState
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.optimizer_settings import AutoOptimizer
from dcrfdsl.semantics.settings.training_settings import AdaboostSettings
from dcrfdsl.training.pipeline import fit

HEAD = "data conll(word, y)\nlabel y\n"
CHAINS = {  # with the same table between all neighbours, which have a kernel of their own
    "plain chain": Case(HEAD + "clique y: bias, word\nclique y, y[-1] as back\nclique y[-1], y\n", sentences("PQR")),
    "padded chain": Case(HEAD + "clique y: word\nclique y[-1], y with edges = pad\n", sentences("PQ")),
}


def boosted(case: Case, **own: Any) -> tuple[BoostingRisk, Any, list[Any]]:
    """The objective, how boosting from 0 ended, and the weights after each round."""
    given, _ = supervised(case)
    objective, seen = build_boosting(given, settings_of(AdaboostSettings(**own))), []

    def watch(step: Any, weights: Any) -> bool:
        seen.append(weights.copy())
        return False

    start = objective.start(np.zeros(given.parameters.num_weights))
    return objective, minimise_boosting(objective, start, AutoOptimizer(), watch, RunState()), seen


@pytest.mark.long
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


def groups_of(objective: BoostingRisk) -> dict[tuple[int, int], int]:
    """(sentence, weight) -> group."""
    every, found, pair, ranges = objective._every, {}, 0, objective.ranges
    group_of = np.repeat(np.arange(len(ranges.low)), np.diff(ranges.slot_off))
    for s in range(len(every.above.off) - 1):
        for column in every.above.column[every.above.off[s] : every.above.off[s + 1]].tolist():
            for weight in every.order[every.first[column] : every.first[column + 1]].tolist():
                assert ranges.sequence[ranges.slot[pair]] == s
                found[s, weight] = int(group_of[ranges.slot[pair]])
                pair += 1
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["plain chain", "padded chain", "chain", "factorial", "skip chain", "numbers", "segments"]
)
@pytest.mark.parametrize("scale", [0.3, 12.0])
def test_bounds_and_shares_of_each_sentence_are_those_of_its_labellings(name: str, scale: float) -> None:
    """By enumeration; at large weights nearly all the probability is on one labelling."""
    case = CHAINS.get(name) or CASES[name]
    given, weights = supervised(case)
    objective, weights = build_boosting(given, settings_of(AdaboostSettings())), scale * weights
    risk, gradient = objective.value_and_gradient(weights)
    groups, (mass, mean) = groups_of(objective), objective.shares
    shares, at = shares_at_start(case, "uniform"), scores_of(case, weights)
    model, _ = trained(case)
    twins = [twin_of(model.with_weights(unit, model.record), case) for unit in np.eye(len(weights))]
    units = [[twin.joint(columns(case, sentence)) for sentence in case.sentences] for twin in twins]
    expected_mass, expected_mean = np.zeros((2, len(mass)))
    for s, ((scores, right), share) in enumerate(zip(at, shares, strict=True)):
        wrong = np.isfinite(scores)
        wrong[right] = False
        own = share * np.exp(scores[wrong] - scores[right])
        for k, unit in enumerate(units):
            u = unit[s][wrong] - unit[s][right]  # scores are linear
            if (s, k) not in groups:
                assert not u.any()
                continue
            group = groups[s, k]
            assert objective.ranges.off[k] <= group < objective.ranges.off[k + 1]
            assert objective.ranges.low[group] - 1e-9 <= u.min(initial=0.0)
            assert u.max(initial=0.0) <= objective.ranges.high[group] + 1e-9
            expected_mass[group] += own.sum()
            expected_mean[group] += own @ u
    np.testing.assert_allclose(mass, expected_mass, rtol=1e-8, atol=1e-12 * risk)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-7, atol=1e-9 * risk)
    slopes = np.add.reduceat(np.append(expected_mean, 0.0), objective.ranges.off[:-1])
    np.testing.assert_allclose(gradient, np.where(np.diff(objective.ranges.off) > 0, slopes, 0.0), atol=1e-9 * risk)


@pytest.mark.parametrize("name", ["chain", "factorial", "skip chain", "numbers", "segments"])
@pytest.mark.parametrize("scale", [0.0, 0.5, 3.0])
def test_steps_make_the_sum_of_the_bounds_of_all_sentences_least(name: str, scale: float) -> None:
    """Against a general minimiser in one dimension."""
    given, weights = supervised(CASES[name])
    objective, longest = build_boosting(given, settings_of(AdaboostSettings())), 0.7
    risk, _ = objective.value_and_gradient(scale * weights)
    ranges, (mass, mean) = objective.ranges, objective.shares
    found = step_bounds(ranges, mass, mean, risk, longest)
    for k in range(len(weights)):
        own = slice(int(ranges.off[k]), int(ranges.off[k + 1]))
        low, high, m, e = ranges.low[own], ranges.high[own], mass[own] / risk, mean[own] / risk
        varies = (high > low) & (m > 0.0)
        low, high, m, e = low[varies], high[varies], m[varies], e[varies]
        share = (m * high - e) / (high - low)
        share = np.where(share <= 1e-12 * m, 0.0, np.where(share >= (1.0 - 1e-12) * m, m, share))
        falls = (high < 0.0).any() or ((low < 0.0) & (share > 0.0)).any()
        rises = (low > 0.0).any() or ((high > 0.0) & (share < m)).any()

        def bound(step: float, low=low, high=high, m=m, share=share) -> float:  # type: ignore[no-untyped-def]
            return float(1.0 - m.sum() + share @ np.exp(step * low) + (m - share) @ np.exp(step * high))

        if not len(m) or (not falls and not rises):
            assert found.step[k] == 0.0 and found.left[k] == pytest.approx(1.0)
        elif not falls or not rises:
            assert found.step[k] == (longest if falls else -longest)
            assert found.left[k] == pytest.approx(bound(found.step[k]), rel=1e-12)
        else:
            best = minimize_scalar(bound, bracket=(-0.1, 0.1), method="brent", options={"xtol": 1e-10})
            assert found.left[k] <= best.fun * (1.0 + 1e-13)
            assert found.left[k] == pytest.approx(bound(found.step[k]), rel=1e-12)


def wrong_ones(case: Case, weights: Any, shares: list[float]) -> list[tuple[Any, Any]]:
    """Of each sentence the part of the risk of every wrong labelling, and u of every weight for it."""
    at, found, step = scores_of(case, weights), [], 1e-3
    moved = [scores_of(case, weights + step * unit) for unit in np.eye(len(weights))]
    for s, ((scores, right), share) in enumerate(zip(at, shares, strict=True)):
        wrong = np.isfinite(scores)
        wrong[right] = False
        rises = [(own[s][0] - own[s][0][right] - scores + scores[right])[wrong] / step for own in moved]  # linear
        found.append((share * np.exp(scores[wrong] - scores[right]), np.array(rises)))
    return found


@pytest.mark.parametrize("update", ["sequential", "parallel"])
def test_a_feature_that_a_constraint_keeps_from_one_side_takes_the_longest_step(update: Any) -> None:
    """`P` cannot stand at `b`, where it would be wrong: its bound falls for ever. By enumeration."""
    case = Case(
        "data conll(word, y)\nlabel y in {P, Q, R}\nclique y as often: bias\nclique y as seen: word\n"
        "forbid y is P and word is b\n",
        [[("a", "P")], [("b", "Q")]],
    )
    objective, outcome, _ = boosted(case, rounds=3, update=update, tolerance=1e-9, max_step=0.7)
    assert len(outcome.path) == 3 and max(abs(done.step) for done in outcome.path) < 2.0
    start = np.zeros(objective.num_weights)
    risk, _ = objective.value_and_gradient(start)
    found, groups = step_bounds(objective.ranges, *objective.shares, risk, 0.7), groups_of(objective)
    every, one_sided = wrong_ones(case, start, shares_at_start(case, "uniform")), 0
    for k in range(len(start)):
        falls = rises = False
        for s, (part, u) in enumerate(every):
            if (s, k) in groups:
                low, high = objective.ranges.low[groups[s, k]], objective.ranges.high[groups[s, k]]
                falls |= bool(low < 0.0 and part @ (high - u[k]) > 1e-9)  # here low ≤ 0 ≤ high
                rises |= bool(high > 0.0 and part @ (u[k] - low) > 1e-9)
        if falls != rises:
            assert found.step[k] == (0.7 if falls else -0.7)
            one_sided += 1
    assert one_sided > 1


@pytest.mark.parametrize("name", ["chain", "factorial", "numbers"])
def test_one_pair_of_bounds_for_all_sentences_has_steps_in_closed_form(name: str) -> None:
    """Eq. 16 by enumeration: a, the step log(−a L / ((D − a) U)) / (U − L), the bound, and what the risk is."""
    case, longest = CASES[name], 0.7
    given, weights = supervised(case)
    apart, shared = (
        build_boosting(given, settings_of(AdaboostSettings(bounds=bounds, max_step=longest)))
        for bounds in ("sequence", "all")
    )
    weights = 0.4 * weights
    risk, gradient = shared.value_and_gradient(weights)
    other, slope = apart.value_and_gradient(weights)
    assert risk == pytest.approx(other, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-12 * risk)
    found = step_bounds(shared.ranges, *shared.shares, risk, longest)
    tighter = step_bounds(apart.ranges, *apart.shares, risk, longest)
    every, groups = wrong_ones(case, weights, shares_at_start(case, "uniform")), groups_of(apart)
    tested = 0
    for k in range(len(weights)):
        own = [groups[s, k] for s in range(len(every)) if (s, k) in groups]
        low, high = min(apart.ranges.low[own], default=0.0), max(apart.ranges.high[own], default=0.0)
        assert shared.ranges.off[k + 1] - shared.ranges.off[k] == bool(own)
        fires = [every[s] for s in range(len(every)) if (s, k) in groups]
        u = np.concatenate([rises[k] for _, rises in fires] or [np.zeros(0)])
        mass = np.concatenate([part for part, _ in fires] or [np.zeros(0)]) / risk
        assert u.min(initial=0.0) >= low - 1e-9 and u.max(initial=0.0) <= high + 1e-9
        whole, a = float(mass.sum()), float(mass @ (high - u)) / (high - low) if high > low else 0.0
        true = 1.0 - whole + float(mass @ np.exp(found.step[k] * u))
        assert true <= found.left[k] * (1.0 + 1e-9)
        assert tighter.left[k] <= found.left[k] * (1.0 + 1e-9)
        if not low < 0.0 < high or not 1e-9 < a < whole * (1.0 - 1e-9):
            continue
        step = np.log(-a * low / ((whole - a) * high)) / (high - low)
        tested += 1
        assert found.step[k] == pytest.approx(step, rel=1e-5, abs=1e-7)
        promised = 1.0 - whole + a * np.exp(step * low) + (whole - a) * np.exp(step * high)
        assert found.left[k] == pytest.approx(promised, rel=1e-8)
    assert tested > 3


@pytest.mark.parametrize("divide", [False, True])
def test_the_start_that_the_paper_has(divide: bool) -> None:
    """D₀(i, y) = w(T_i) / ((|Y_i| − 1) Σ_j w(T_j)) with w(T) = 0.5 to the power T."""
    case = CASES["chain"]
    given, _ = supervised(case)
    objective = build_boosting(given, settings_of(AdaboostSettings(weight=0.5, divide=divide)))
    every = scores_of(case, np.zeros(given.parameters.num_weights))
    wrong = np.array([float(np.isfinite(scores).sum()) - 1.0 for scores, _ in every])
    importance = np.array([0.5 ** len(sentence) for sentence in case.sentences])
    expected = importance / (wrong * importance.sum()) if divide else importance / (wrong @ importance)
    np.testing.assert_allclose(np.exp(objective.log_weight), expected, rtol=1e-12)
    assert objective.value_and_gradient(np.zeros(objective.num_weights))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("own", [{"bounds": "all"}, {"weight": 0.5, "divide": True}])
@pytest.mark.parametrize("update", ["sequential", "parallel"])
def test_rounds_keep_their_promises_with_the_paper_s_settings(own: Any, update: Any) -> None:
    _, outcome, _ = boosted(CASES["chain"], rounds=12, update=update, tolerance=1e-9, **own)
    before = 1.0
    assert len(outcome.path) > 3
    for done in outcome.path:
        assert done.bound < 1.0 and done.risk <= done.bound * before * (1.0 + 1e-9)
        before = done.risk


@pytest.mark.long
@pytest.mark.parametrize("name", ["chain", "factorial", "numbers"])
def test_a_step_leaves_no_more_than_it_promises(name: str) -> None:
    """By enumeration, of every weight at one point."""
    case = CASES[name]
    given, weights = supervised(case)
    objective = build_boosting(given, settings_of(AdaboostSettings(max_step=0.7)))
    weights = 0.3 * weights
    risk, _ = objective.value_and_gradient(weights)
    found = step_bounds(objective.ranges, *objective.shares, risk, 0.7)
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
        assert found.left[k] <= 1.0 + 1e-12
        assert float((mass * np.exp(found.step[k] * u)).sum()) <= found.left[k] * (1.0 + 1e-9)


@pytest.mark.long
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
    names = [(clique, feature, list(states)) for clique, feature, states, _ in model.explanations.iter_weights()]
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
    found = model.scores.rank_risk(corpus)
    assert found.value * len(case.sentences) == pytest.approx(expected * counted)
    assert found.at_least == 0


def test_a_list_that_ends_early_bounds_the_rank_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(CASES["chain"], text=CASES["chain"].text + "infer exact\nevaluate rank_risk, zero_one_risk\n")
    model, corpus = trained(case, seed=3, scale=2.0)
    exact = model.scores.rank_risk(corpus)
    monkeypatch.setattr(ranks, "MOST", 4)
    monkeypatch.setattr(ranks, "FEWEST", 4)
    found = model.scores.rank_risk(corpus)
    assert 0 < found.at_least < corpus.num_sentences and found.value < exact.value
    scores = model.evaluate(corpus)
    assert (scores["rank_risk"], scores["at_least(rank_risk)"]) == found
    assert scores["zero_one_risk"] > 0.0


def test_sentences_that_are_not_wholly_known_have_no_rank() -> None:
    text = 'data conll(word, y)\nlabel y in {P, Q} with missing = "_"\nclique y: word\nclique y[-1], y\n'
    sentences = [[("a", "P"), ("b", "Q")], [("a", "_"), ("b", "P")]]
    model, corpus = trained(Case(text, sentences, None), scale=1.0)
    found = model.scores.rank_risk(corpus)
    assert found.value > 0.0 and found == model.scores.rank_risk(Case(text, sentences[:1], None).corpus())


def test_less_of_a_risk_is_better() -> None:
    """The dev score of a template whose first metric is a risk rises as the risk falls."""
    for metric in ("zero_one_risk", "hamming_risk", "rank_risk"):
        train = f"infer exact\nevaluate {metric}\ntrain likelihood: optimizer = lbfgs(max_iterations = 8)\n"
        resolved, corpus = load_text(CASES["chain"].text + train), CASES["chain"].corpus()
        model = fit(resolved, corpus, dev=corpus, threads=1)
        assert model.record.curve[-1].dev == pytest.approx(1.0 - float(model.evaluate(corpus)[metric]))
