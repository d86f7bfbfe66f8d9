"""Probabilities of margin models: the temperature against enumeration, what it changes and what not, what is said."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import reference
from model_cases import columns, twin_of
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from template_cases import Case, free, never

from dcrfdsl.cli import run
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.foundation.errors.printing import figure
from dcrfdsl.metrics.reliability import best_temperature
from dcrfdsl.model.file_format import read_model, write_model
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.tuning import tune

Floats = NDArray[np.float64]
PERCEPTRON = "train perceptron: epochs = 3\n"
CHAIN = "data conll(word, y)\nlabel y in {P, Q, R}\nclique y: bias, word\nclique y[-1], y\n"
FACTORIAL = (
    "data conll(word, y, z)\nlabel y in {P, Q, R}\nlabel z in {S, T}\nclique y: word\nclique z: word\n"
    "clique y[-1], y\nclique y, z\n"
)
LATENT = (
    "data conll(word, y)\nlabel y in {P, Q, R}\nlatent h in {1, 2}\nclique y: word\nclique h: word\nclique y, h\n"
    "clique h[-1], h\n"
)
MODELS = {
    "chain": CHAIN,
    "constrained": CHAIN + "forbid y[-1] is P and y is P\n",
    "latent": LATENT,
    "factorial": FACTORIAL,
    "mce": CHAIN,
}
STAGES = {"mce": "train mce: psi = 1\n"}


def noisy(count: int, seed: int, *, apart: bool = False, right: float = 0.7) -> list:
    """Words a, b, c with labels P, Q, R (and S, T, S), most of them; `apart`: no P after P."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        sentence: list[tuple[str, ...]] = []
        for _ in range(int(generator.integers(1, 5))):
            word = int(generator.integers(3))
            y, z = (word if generator.random() < right else int(generator.integers(3)) for _ in range(2))
            state = "PQR"[y]
            if apart and state == "P" and sentence and sentence[-1][1] == "P":
                state = "Q"
            sentence.append(("abc"[word], state, "STS"[z]))
        found.append(sentence)
    return found


def case_of(name: str, seed: int, count: int = 25) -> Case:
    rows = noisy(count, seed, apart=name == "constrained")
    if name != "factorial":
        rows = [[row[:2] for row in sentence] for sentence in rows]
    allowed = never("y", "P", "P") if name == "constrained" else free
    return Case(MODELS[name] + STAGES.get(name, PERCEPTRON), rows, allowed)


def trained(name: str) -> tuple[TrainedModel, Case]:
    """A model and its held-out data."""
    case = case_of(name, 0)
    return fit(case.resolved(), case.corpus(), threads=1), case_of(name, 1)


def spaces_of(model: TrainedModel, dev: Case) -> list:
    """Every labelling of each sentence, and the gold labels."""
    twin = twin_of(model, dev)
    tables = [columns(dev, sentence) for sentence in dev.sentences]
    return [(twin.enumerate(table), {label: table[label] for label in model.labels}) for table in tables]


# the temperature --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_the_temperature_makes_held_out_labels_likeliest(name: str) -> None:
    model, dev = trained(name)
    spaces = spaces_of(model, dev)

    def loss(log_t: float) -> float:
        return float(sum(space.loss(math.exp(log_t) * model.weights, gold) for space, gold in spaces))

    expected = minimize_scalar(loss, bounds=(-8, 4), method="bounded", options={"xatol": 1e-7})
    calibrated = model.calibration.calibrated(dev.corpus(), threads=1)
    found = calibrated.record.calibration
    assert found is not None and calibrated.temperature == found.temperature
    assert math.log(found.temperature) == pytest.approx(expected.x, abs=2e-4)
    assert -found.after == pytest.approx(expected.fun, rel=1e-8)
    assert -found.before == pytest.approx(loss(0.0), rel=1e-8)
    assert found.after > found.before and found.sentences == len(dev.sentences)
    assert calibrated.scores.log_likelihood(dev.corpus()) == pytest.approx(found.after)
    np.testing.assert_array_equal(calibrated.weights, model.weights)


@pytest.mark.parametrize("best", [3e-7, 0.2, 1.0, 40.0, 5e6])
def test_a_temperature_is_found_at_any_scale(best: float) -> None:
    found = best_temperature(lambda t: 3.0 * math.log(t / best) - 3.0 * t / best)  # the derivative is 3/t − 3/best
    assert found == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize(
    ("curve", "end"),
    [
        (lambda t: -1.0 / t, math.inf),
        (lambda t: -math.log1p(math.exp(-min(t, 700.0))), math.inf),  # level from where it is 0 in floats
        (lambda t: -t, 0.0),
        (lambda t: -5.0 - t * t, 0.0),  # level from where t² is nothing beside 5
        (lambda t: -7.0, math.inf),
    ],
)
def test_no_temperature_is_found_where_none_is_best(curve, end: float) -> None:  # type: ignore[no-untyped-def]
    assert best_temperature(curve) == end


@pytest.mark.long
def test_sentences_that_cannot_be_labelled_as_they_are_do_not_count() -> None:
    model, dev = trained("constrained")
    more = replace(dev, sentences=[*dev.sentences, [("a", "P"), ("a", "P")], [("b", "?")]])
    found, expected = (model.calibration.calibrated(own.corpus(), threads=1).record.calibration for own in (more, dev))
    assert found == expected


# what it changes --------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_marginals_and_probabilities_are_those_at_the_temperature(name: str) -> None:
    plain, dev = trained(name)
    model, corpus = plain.calibration.calibrated(dev.corpus(), threads=1), dev.corpus()
    marginals, _ = model.marginals(corpus)
    best = model.nbest(corpus, 3)
    for s, (space, _) in enumerate(spaces_of(model, dev)):
        weights = model.temperature * model.weights
        total, start = space.joint(weights), corpus.sentence_off[s]
        for t in range(space.length):
            for m, variable in enumerate(model.states):
                own = reference.marginal(total, (t * len(model.states) + m,))
                np.testing.assert_allclose(marginals[variable][start + t], own, atol=1e-9)
        scores = space.labellings(weights, model.labels)
        for rank, probability in enumerate(best.sentences[s].probability.tolist()):
            labelling = np.array([best.sentences[s].codes[label][rank] for label in model.labels]).T.ravel()
            expected = scores[tuple(labelling.tolist())]
            assert probability == pytest.approx(math.exp(expected - reference.log_sum(total)))
            assert best.sentences[s].score[rank] == pytest.approx(expected / model.temperature)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "latent"])
def test_the_best_labelling_and_its_score_stay_as_they_are(name: str) -> None:
    model, dev = trained(name)
    before, after = (
        own.predict(dev.corpus()) for own in (model, model.calibration.calibrated(dev.corpus(), threads=1))
    )
    np.testing.assert_array_equal(before.scores, after.scores)
    for label in model.labels:
        np.testing.assert_array_equal(before.codes[label], after.codes[label])


def test_with_latent_variables_the_likeliest_labelling_is_found() -> None:
    plain, dev = trained("latent")
    model = plain.with_weights(  # a temperature at which sums over the latent variable matter
        3.0 * plain.weights, plain.record
    ).calibration.calibrated(dev.corpus(), threads=1)
    best, found = model.nbest(dev.corpus(), 1), model.predict(dev.corpus())
    off = dev.corpus().sentence_off
    for s, own in enumerate(best.sentences):
        np.testing.assert_array_equal(found.codes["y"][off[s] : off[s + 1]], own.codes["y"][0])
    np.testing.assert_allclose(found.scores, [own.score[0] for own in best.sentences])


def test_pointwise_decoding_and_samples_go_by_the_temperature() -> None:
    plain, dev = trained("chain")
    model, corpus = plain.calibration.calibrated(dev.corpus(), threads=1), dev.corpus()
    scaled = plain.with_weights(model.temperature * plain.weights, plain.record)
    likeliest = model.marginals(corpus)[0]["y"].argmax(axis=1)
    np.testing.assert_array_equal(model.predict(corpus, decode="marginal").codes["y"], likeliest)
    np.testing.assert_array_equal(model.sample(corpus, 50).codes["y"], scaled.sample(corpus, 50).codes["y"])
    assert not np.array_equal(model.sample(corpus, 50).codes["y"], plain.sample(corpus, 50).codes["y"])
    pairs = zip(model.events.clique_marginals(corpus), scaled.events.clique_marginals(corpus), strict=True)
    for (own, _), (expected, _) in pairs:
        for one, other in zip(own, expected, strict=True):
            np.testing.assert_array_equal(one.table, other.table)


# training ---------------------------------------------------------------------------------------------------------


def test_training_calibrates_a_margin_model_on_held_out_data_alone() -> None:
    case, dev = case_of("chain", 0), case_of("chain", 1)
    expected = fit(case.resolved(), case.corpus(), threads=1).calibration.calibrated(dev.corpus(), threads=1)
    model = fit(case.resolved(), case.corpus(), dev=dev.corpus(), threads=1)
    assert model.record.calibration == expected.record.calibration
    likelihood = replace(case, text=CHAIN)
    untouched = fit(likelihood.resolved(), case.corpus(), dev=dev.corpus(), threads=1)
    assert untouched.record.calibration is None and untouched.temperature == 1.0 and not untouched.is_margin


def test_the_last_stage_decides() -> None:
    case, dev = case_of("chain", 0), case_of("chain", 1)
    case = replace(case, text=CHAIN + "train perceptron as one\ntrain likelihood as two after one\n")
    model = fit(case.resolved(), case.corpus(), dev=dev.corpus(), threads=1)
    assert model.record.calibration is None


def test_tuning_calibrates_the_model_that_it_keeps() -> None:
    case, dev = case_of("chain", 0), case_of("chain", 1)
    text = "let n = 2 tune among(2, 3)\n" + CHAIN + "train perceptron:\n    epochs = n\n    vote = yes\n"
    resolved = replace(case, text=text).resolved()
    model = tune(resolved, case.corpus(), dev.corpus(), search="grid", trials=2, seed=0, threads=1)
    assert model.record.calibration is not None and model.voters is not None


RIGHT = [[("a", "P"), ("b", "Q")], [("c", "R")], [("b", "Q")]]
WRONG = [[(word, {"P": "Q", "Q": "R", "R": "P"}[y]) for word, y in sentence] for sentence in RIGHT]
UNKNOWN = [[("a", "?")]]


@pytest.mark.parametrize(
    ("held_out", "why"),
    [
        (RIGHT, "no labelling of any sentence scores above the gold one"),
        (WRONG, "its labels score no better than any others"),
        (UNKNOWN, "the model can give its labels to no sentence"),
    ],
    ids=["right", "wrong", "unknown"],
)
def test_data_that_shows_no_temperature_leaves_it_at_one(held_out: list, why: str) -> None:
    case = Case(CHAIN + PERCEPTRON, RIGHT)
    corpus = replace(case, sentences=held_out).corpus()
    model = fit(case.resolved(), case.corpus(), threads=1)
    with pytest.raises(DcrfError, match=why) as caught:
        model.calibration.calibrated(corpus)
    assert [diagnostic.slug for diagnostic in caught.value.diagnostics] == ["cannot-calibrate"]
    kept = fit(case.resolved(), case.corpus(), dev=corpus, threads=1)
    assert kept.temperature == 1.0 and any(why in note for note in kept.record.notes)


# files and commands -----------------------------------------------------------------------------------------------


def test_the_temperature_is_in_the_model_file_and_a_file_without_one_is_read(tmp_path: Path) -> None:
    plain, dev = trained("chain")
    model = plain.calibration.calibrated(dev.corpus(), threads=1)
    model.save(tmp_path / "new.model")
    assert TrainedModel.load(tmp_path / "new.model").record.calibration == model.record.calibration
    header, arrays = read_model(tmp_path / "new.model")
    assert header["record"].pop("calibration")["temperature"] == model.temperature
    write_model(tmp_path / "old.model", arrays, header)
    assert TrainedModel.load(tmp_path / "old.model").temperature == 1.0


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "margin.dcrf").write_text(CHAIN + PERCEPTRON)
    (tmp_path / "likely.dcrf").write_text(CHAIN)
    for name, seed in (("train.txt", 0), ("dev.txt", 1)):
        rows = case_of("chain", seed).sentences
        (tmp_path / name).write_text("\n".join("".join(f"{word} {y}\n" for word, y in own) for own in rows))
    return tmp_path


def test_train_says_what_it_fitted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "margin.dcrf", "train.txt", "-o", "a.model", "--dev", "dev.txt"]) == 0
    said = capsys.readouterr().err
    found = TrainedModel.load("a.model").record.calibration
    assert found is not None
    assert f"scores times {found.temperature:.4g}" in said
    assert figure(found.after) in said and figure(found.before) in said
    assert run(["train", "margin.dcrf", "train.txt", "-o", "a.model", "--dev", "dev.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["temperature"] == found.temperature
    assert run(["show", "a.model"]) == 0
    assert f"scores times {found.temperature:.4g}" in capsys.readouterr().err
    assert run(["tag", "a.model", "dev.txt", "--marginals"]) == 0
    assert "calibrated" not in capsys.readouterr().err


@pytest.mark.parametrize(("template", "says"), [("margin", 1), ("likely", 0)])
@pytest.mark.parametrize("option", [["--marginals"], ["--nbest", "2"], ["--clique-marginals", "--json"], []])
def test_tag_says_once_that_probabilities_are_not_calibrated(
    here: Path, capsys: pytest.CaptureFixture[str], template: str, says: int, option: list[str]
) -> None:
    assert run(["train", f"{template}.dcrf", "train.txt", "-o", "a.model", "--quiet"]) == 0
    assert run(["tag", "a.model", "dev.txt", *option]) == 0
    assert capsys.readouterr().err.count("not calibrated") == says * bool(option)


@pytest.mark.parametrize("shape", ["even", "steep on one side", "flat", "with a kink"])
@pytest.mark.parametrize("best", [0.03, 0.9, 1.0, 17.0])
def test_the_search_is_as_good_and_as_fast_as_that_of_scipy(best: float, shape: str) -> None:
    """Brent's method on four shapes of curves: the same τ, and at most a few more likelihoods computed."""
    curves = {
        "even": lambda x: (x - math.log(best)) ** 2,
        "steep on one side": lambda x: math.exp(3.0 * (x - math.log(best))) - 3.0 * (x - math.log(best)),
        "flat": lambda x: 5.0 + (x - math.log(best)) ** 4,
        "with a kink": lambda x: abs(x - math.log(best)) + 0.1 * (x - math.log(best)) ** 2,
    }
    calls: list[float] = []

    def likelihood(t: float) -> float:
        calls.append(t)
        return -curves[shape](math.log(t))

    found = best_temperature(likelihood)
    start = 2.0 * round(math.log(best) / 2.0)
    bracket = (start - 2.0, start, start + 2.0)
    theirs = minimize_scalar(curves[shape], bracket=bracket, method="brent", options={"xtol": 1e-6})
    slack = 5e-6 if shape == "with a kink" else 1e-10 * (1.0 + abs(theirs.fun))
    assert curves[shape](math.log(found)) <= theirs.fun + slack
    assert len(calls) <= 1.5 * theirs.nfev + 6  # which encloses the minimum first
