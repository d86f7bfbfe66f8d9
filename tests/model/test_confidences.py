"""Confidence in what is predicted, against enumeration; reliability, isotonic regression, calibrated models."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hidden_cases import HIDDEN
from model_cases import columns, trained, twin_of
from sentence_cases import ALONE, CLIQUES, HEAD, LABEL, drawn_sentences
from template_cases import CASES, Case, sentences

from dcrfdsl.cli import run
from dcrfdsl.data.formats.span_tokens import segments_in
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.metrics.reliability import isotonic_fit, reliability_of
from dcrfdsl.model.calibration import KINDS
from dcrfdsl.model.predictor import KEPT_RESTRICTED
from dcrfdsl.model.trained_model import TrainedModel

MARKS = ("B-X", "I-X", "B-Y", "I-Y", "O")
SEGMENTED = Case(
    "data conll(word, y, z)\nlabel y in {" + ", ".join(MARKS) + "}\nlabel z in {P, Q}\nclique y: bias, word\n"
    "clique y[-1], y\nclique y, z: word\n",
    sentences(MARKS, "PQ", count=12, longest=3),
)
MODELS = {
    "segments": CASES["segments"],
    "two layers": SEGMENTED,
    "skip chain": CASES["skip chain"],
    "latent": HIDDEN["latent"],
    "hard constraints": CASES["a constraint across cliques"],
}


def probabilities(model, case, number):
    """Each possible labelling of a sentence by label, and its probability."""
    every = twin_of(model, case).enumerate(columns(case, case.sentences[number]))
    width = len(model.states)
    labellings = [
        {name: [states[code] for code in row[m::width]] for m, (name, states) in enumerate(model.states.items())}
        for row in every.index.tolist()
    ]
    scores = every.scores(model.weights)
    p = np.exp(scores - scores.max())
    return labellings, p / p.sum()


def share(p, holds):
    """The probability of the labellings in which something holds."""
    return pytest.approx(p[np.array(holds, bool)].sum(), rel=1e-9)


# confidence ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_confidence_is_the_probability_of_what_is_predicted(name):
    case = MODELS[name]
    model, corpus = trained(case, scale=1.5)
    every, off = model.calibration.confidences(corpus, threads=1), corpus.sentence_off
    prediction = model.predict(corpus, threads=1)
    for number in range(min(5, corpus.num_sentences)):
        labellings, p = probabilities(model, case, number)
        texts = {label: prediction.texts(label)[off[number] : off[number + 1]] for label in model.labels}
        found = every[number]

        assert found.sentence == share(
            p, [all(one[label] == texts[label] for label in model.labels) for one in labellings]
        )
        segments = []
        for label in model.labels:
            assert found.layers[label] == share(p, [one[label] == texts[label] for one in labellings])
            for t, state in enumerate(texts[label]):
                assert found.tokens[label][t] == share(p, [one[label][t] == state for one in labellings])
            if any("-" in state for state in model.states[label]):
                here = np.array([0, len(texts[label])])
                for first, last, kind in segments_in(texts[label], here)[0]:
                    segments.append((label, kind, first, last))
                    assert found.segments[len(segments) - 1].probability == share(
                        p, [(first, last, kind) in segments_in(one[label], here)[0] for one in labellings]
                    )
        assert [segment[:4] for segment in found.segments] == segments


def test_confidence_is_that_of_the_same_event():
    model, corpus = trained(SEGMENTED, scale=1.5)
    for s, found in enumerate(model.calibration.confidences(corpus)):
        events = ["predicted", "y = predicted", "z = predicted", "z[1] = predicted"]
        events += [f"segment({one.label}, {one.first + 1}, {one.last + 1}, {one.type})" for one in found.segments]
        answers = [one.value for one in model.events.probability(corpus.slice(s, s + 1), events)[0]]
        wanted = [found.sentence, found.layers["y"], found.layers["z"], found.tokens["z"][0]]
        assert answers == pytest.approx([*wanted, *(one.probability for one in found.segments)], rel=1e-9)


def test_sentences_without_a_labelling_have_none():
    case = Case(
        "data conll(word, y)\nlabel y in {P, Q}\nclique y: word\nforbid y is P\nforbid y is Q and word is b\n",
        [[("a", "Q")], [("a", "Q")]],
    )
    model, _ = trained(case)
    impossible, sure = model.calibration.confidences(Case(case.text, [[("b", "Q")], [("a", "Q")]]).corpus())
    assert math.isnan(impossible.sentence) and math.isnan(impossible.tokens["y"][0])
    assert sure.sentence == pytest.approx(1.0)


# reliability --------------------------------------------------------------------------------------------------------


def test_a_worked_example_of_the_expected_calibration_error():
    """Ten predictions in four bins, by hand."""
    p = np.array([0.0, 0.2, 0.25, 0.3, 0.5, 0.6, 0.9, 0.9, 1.0, 1.0])
    right = np.array([0, 1, 0, 0, 1, 1, 1, 0, 1, 1], bool)
    found = reliability_of(p, right, 4)
    assert found.counts.tolist() == [3, 2, 1, 4] and found.right.tolist() == [1, 1, 1, 3]
    assert found.confidence == pytest.approx([0.15, 0.4, 0.6, 0.95])
    assert found.accuracy == pytest.approx([1 / 3, 0.5, 1.0, 0.75])
    gaps = [1 / 3 - 0.15, 0.1, 0.4, 0.2]
    assert found.error == pytest.approx(0.3 * gaps[0] + 0.2 * gaps[1] + 0.1 * gaps[2] + 0.4 * gaps[3])
    assert found.largest_error == pytest.approx(0.4)
    assert found.brier == pytest.approx(((p - right) ** 2).mean())
    halves = reliability_of(p[:4], right[:4], 4) + reliability_of(p[4:], right[4:], 4)
    assert halves.error == pytest.approx(found.error) and halves.total == 10


def test_nothing_to_judge_has_no_error():
    empty = reliability_of(np.zeros(0), np.zeros(0, bool), 3)
    assert empty.total == 0 and math.isnan(empty.error) and math.isnan(empty.brier) and math.isnan(empty.largest_error)


@pytest.mark.parametrize("of", KINDS)
def test_reliability_counts_what_is_right(of):
    model, corpus = trained(SEGMENTED, scale=1.5)
    prediction, off = model.predict(corpus), corpus.sentence_off.tolist()
    judged: list[tuple[float, bool]] = []
    for s, found in enumerate(model.calibration.confidences(corpus)):
        gold = {label: [row[1 + m] for row in SEGMENTED.sentences[s]] for m, label in enumerate(model.labels)}
        ours = {label: prediction.texts(label)[off[s] : off[s + 1]] for label in model.labels}
        if of == "sentences":
            judged.append((found.sentence, gold == ours))
        for label in model.labels:
            if of == "layers":
                judged.append((found.layers[label], gold[label] == ours[label]))
            if of == "tokens":
                same = [a == b for a, b in zip(gold[label], ours[label], strict=True)]
                judged += zip(found.tokens[label].tolist(), same, strict=True)
        if of == "segments":
            there = segments_in(gold["y"], np.array([0, len(gold["y"])]))[0]
            judged += [(one.probability, (one.first, one.last, one.type) in there) for one in found.segments]
    wanted = reliability_of(np.array([p for p, _ in judged]), np.array([right for _, right in judged]), 7)
    found_bins = model.calibration.reliability(corpus, of=of, bins=7)
    assert wanted.total > 5
    np.testing.assert_array_equal(found_bins.counts, wanted.counts)
    np.testing.assert_array_equal(found_bins.right, wanted.right)
    assert found_bins.mass == pytest.approx(wanted.mass) and found_bins.brier == pytest.approx(wanted.brier)
    if of != "sentences":
        parts = [model.calibration.reliability(corpus, of=of, label=label, bins=7) for label in model.labels]
        assert sum(parts[1:], parts[0]).error == pytest.approx(wanted.error)


@pytest.mark.parametrize("of", ["layers", "sentences"])
def test_wholes_are_judged_with_a_label_of_the_sentence(of):
    text = HEAD + LABEL + "".join(CLIQUES[name] for name in ("words", "tie")) + ALONE
    model, corpus = trained(Case(text, drawn_sentences(0, True)), scale=2.0)
    prediction, off = model.predict(corpus), corpus.sentence_off.tolist()
    judged: list[tuple[float, bool]] = []
    for s, (found, rows) in enumerate(
        zip(model.calibration.confidences(corpus), drawn_sentences(0, True), strict=True)
    ):
        same = {
            label: prediction.texts(label)[off[s] : off[s + 1]] == [row[n] for row in rows]
            for n, label in ((1, "intent"), (2, "y"))
        }
        if of == "sentences":
            judged.append((found.sentence, all(same.values())))
        else:
            judged += [(found.layers[label], same[label]) for label in model.labels]
    wanted = reliability_of(np.array([p for p, _ in judged]), np.array([right for _, right in judged]), 5)
    bins = model.calibration.reliability(corpus, of=of, bins=5)
    assert bins.total == len(judged) == len(off[1:]) * (1 if of == "sentences" else 2)
    np.testing.assert_array_equal(bins.right, wanted.right)
    assert bins.mass == pytest.approx(wanted.mass)


def test_what_touches_a_missing_gold_value_is_not_judged():
    text = 'data conll(word, y)\nlabel y in {B-X, I-X, O} with missing = "?"\nclique y: word\n'
    case = Case(text, [[("a", "B-X"), ("b", "O"), ("b", "O")], [("a", "B-X"), ("b", "?"), ("a", "B-X"), ("b", "O")]])
    model, corpus = trained(case, seed=0)
    rows = list(model.explanations.iter_weights())
    sure = {("word=a", ("B-X",)): 9.0, ("word=b", ("O",)): 9.0}
    model = model.with_weights(np.array([sure.get(row[1:3], 0.0) for row in rows]), model.record)
    assert model.calibration.reliability(corpus, of="tokens").total == 6
    assert model.calibration.reliability(corpus, of="sentences").total == 1
    judged = model.calibration.reliability(
        corpus, of="segments"
    )  # of three, the end of the one before `?` is not known
    assert judged.total == 2 and judged.right.sum() == 2


def test_wrong_kinds_are_refused():
    model, corpus = trained(SEGMENTED)
    with pytest.raises(DcrfError, match="no kind of prediction") as caught:
        model.calibration.reliability(corpus, of="segment")
    assert caught.value.diagnostics[0].help == "did you mean `segments`?"
    with pytest.raises(DcrfError, match="no label of the model"):
        model.calibration.reliability(corpus, label="u")
    with pytest.raises(DcrfError, match="not a way to calibrate"):
        model.calibration.calibrated(corpus, method="platt")
    with pytest.raises(ValueError, match="at least 1"):
        model.calibration.reliability(corpus, bins=0)


# isotonic regression ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_isotonic_regression_is_that_of_scikit_learn():
    isotonic = pytest.importorskip("sklearn.isotonic", reason="the extra `sklearn` is not installed")
    generator = np.random.default_rng(4)
    for digits in (1, 2, 9):
        for count in (1, 2, 7, 300):
            p = generator.random(count).round(digits)
            right = generator.random(count) < p**2
            theirs = isotonic.IsotonicRegression(out_of_bounds="clip").fit(p, right)
            grid = np.concatenate([np.linspace(0, 1, 101), p])
            corners, values = isotonic_fit(p, right)
            np.testing.assert_allclose(np.interp(grid, corners, values), theirs.predict(grid), atol=1e-12)
            assert (np.diff(corners) > 0).all() and (np.diff(values) >= 0).all()


def test_isotonic_regression_is_the_best_rising_function():
    """No rising function on a grid of values is better: four points, by trying all."""
    grid, right = np.linspace(0, 1, 7), np.array([1, 0, 1, 0], bool)
    corners, values = isotonic_fit(np.array([0.1, 0.2, 0.6, 0.7]), right)
    found = np.interp([0.1, 0.2, 0.6, 0.7], corners, values)
    assert found == pytest.approx([0.5] * 4)
    best = min(
        ((np.array(f) - right) ** 2).sum()
        for f in np.array(np.meshgrid(*[grid] * 4)).reshape(4, -1).T
        if (np.diff(f) >= 0).all()
    )
    assert ((found - right) ** 2).sum() <= best + 1e-12


# calibrated models --------------------------------------------------------------------------------------------------


def test_isotonic_calibration_makes_confidence_the_share_that_is_right(tmp_path: Path) -> None:
    model, corpus = trained(SEGMENTED, scale=1.5)
    calibrated = model.calibration.calibrated(corpus, method="isotonic", threads=1)
    for of in KINDS:
        before, after = (one.calibration.reliability(corpus, of=of, bins=50) for one in (model, calibrated))
        assert after.brier <= before.brier + 1e-12 and after.total == before.total
        assert after.mass.sum() == pytest.approx(after.right.sum())  # where it was fitted
    assert calibrated.record.calibration is not None
    maps = calibrated.record.calibration.maps
    assert {(one.of, one.label) for one in maps} == {
        ("tokens", "y"), ("tokens", "z"), ("segments", "y"), ("layers", "y"), ("layers", "z"), ("sentences", ""),
    }  # fmt: skip
    # probabilities of the model itself stay
    assert calibrated.events.probability(corpus, "predicted") == model.events.probability(corpus, "predicted")
    assert (calibrated.marginals(corpus)[0]["y"] == model.marginals(corpus)[0]["y"]).all()
    calibrated.save(tmp_path / "m")
    loaded = TrainedModel.load(tmp_path / "m")
    assert loaded.record.calibration == calibrated.record.calibration
    assert loaded.calibration.confidences(corpus)[0].sentence == calibrated.calibration.confidences(corpus)[0].sentence
    # anew: the maps are those of the model without maps
    assert (
        calibrated.calibration.calibrated(corpus, method="isotonic").record.calibration == calibrated.record.calibration
    )


def test_a_temperature_stays_under_maps_and_maps_do_not_stay_under_a_temperature():
    model, corpus = trained(SEGMENTED, scale=1.5)
    tempered = model.calibration.calibrated(corpus)
    both = tempered.calibration.calibrated(corpus, method="isotonic")
    assert both.temperature == tempered.temperature != 1.0 and both.record.calibration.maps
    assert both.calibration.calibrated(corpus).record.calibration == tempered.record.calibration
    assert both.record.calibration.is_tempered and not replace(both.record.calibration, temperature=1.0).is_tempered


def test_data_without_gold_labels_calibrates_nothing():
    model, _ = trained(HIDDEN["missing"])
    unknown = Case(HIDDEN["missing"].text, [[("a", "?")], [("b", "?"), ("a", "?")]])
    with pytest.raises(DcrfError, match="no gold labels to judge by"):
        model.calibration.calibrated(unknown.corpus(), method="isotonic")


# where there are no sums ----------------------------------------------------------------------------------------------

PRUNED = Case(
    "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\nclique y[-2], y[-1], y with states = seen\n"
    "infer pruned(threshold = 0, keep = 100)\n",
    sentences("PQR", longest=3),
)


@pytest.mark.long
def test_wide_models_that_are_pruned_have_confidence_in_tokens_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model, corpus = trained(PRUNED)
    assert model.inference_method == "pruned"
    labellings, p = probabilities(model, PRUNED, 1)  # exact inference fits here, and gives what is no marginal
    text = model.predict(corpus.slice(1, 2)).texts("y")
    assert model.calibration.confidences(corpus)[1].sentence == share(p, [one["y"] == text for one in labellings])
    monkeypatch.setattr("dcrfdsl.inference.largest_table", lambda settings: 1)
    for asked in (lambda: model.calibration.confidences(corpus), lambda: model.events.probability(corpus, "y[1] is P")):
        with pytest.raises(DcrfError, match="`pruned` leaves some out"):
            asked()
    judged = model.calibration.reliabilities(corpus)
    assert judged["tokens"].total == corpus.num_tokens and judged["sentences"].total == 0
    calibrated = model.calibration.calibrated(corpus, method="isotonic").record.calibration
    assert [one.of for one in calibrated.maps] == ["tokens"]


def test_one_sentence_is_asked_as_by_tag() -> None:
    model, corpus = trained(SEGMENTED)
    every = model.calibration.confidences(corpus)
    for number, rows in enumerate(SEGMENTED.sentences):
        words = [row[0] for row in rows]
        alone = model.calibration.confidences(words)
        assert alone.sentence == pytest.approx(every[number].sentence, rel=1e-12)
        assert [one[:4] for one in alone.segments] == [one[:4] for one in every[number].segments]
        np.testing.assert_allclose(alone.tokens["y"], every[number].tokens["y"], rtol=1e-12)
    tagged = model.tag(words)
    other = next(state for state in MARKS if state != tagged["y"][0])
    labellings, p = probabilities(model, SEGMENTED, number)
    given = {"y": [other, *(None for _ in words[1:])]}
    chosen = model.tag(words, given=given)
    possible = np.array([one["y"][0] == other for one in labellings])
    expected = p[[one == chosen for one in labellings]].sum() / p[possible].sum()
    assert model.calibration.confidences(words, given=given).sentence == pytest.approx(expected, rel=1e-9)
    nothing = model.calibration.confidences([])
    assert (nothing.sentence, nothing.layers, nothing.segments) == (1.0, {"y": 1.0, "z": 1.0}, ())
    assert len(nothing.tokens["y"]) == 0


def test_confidence_of_loops_is_an_estimate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES["skip chain"]
    model, corpus = trained(Case(case.text.replace("infer exact", "infer trp"), case.sentences, joins=case.joins))
    assert not model.calibration.confidences(corpus)[1].exact  # marginals are those of the template's method
    monkeypatch.setattr("dcrfdsl.inference.largest_table", lambda settings: 1)
    every = model.calibration.confidences(corpus)
    assert not any(one.exact for one in every) and all(0.0 < one.sentence <= 1.0 for one in every)
    model.save(tmp_path / "m")
    (tmp_path / "t").write_text("\n\n".join("\n".join(row[0] for row in sentence) for sentence in case.sentences))
    assert run(["tag", str(tmp_path / "m"), str(tmp_path / "t"), "--confidence"]) == 0
    assert f"confidence on {corpus.num_sentences} sentences is an estimate" in capsys.readouterr().err


def test_what_is_bound_for_events_is_kept_up_to_a_bound() -> None:
    model, corpus = trained(SEGMENTED)
    sentence, kept = corpus.slice(2, 3), model.structure._restricted
    kept.clear()  # models with other weights share it
    wanted = [model.events.probability(sentence, f"y[1] is {state}")[0].value for state in MARKS]
    assert len(kept) == 1  # each state, and all but it, have the same codes in every event
    for n in range(2, 2 + 2 * KEPT_RESTRICTED):
        some = ", ".join(state for s, state in enumerate(MARKS) if n >> s & 1)
        model.events.probability(sentence, f"y[1] in {{{some}}}")
    assert len(kept) <= KEPT_RESTRICTED
    assert [model.events.probability(sentence, f"y[1] is {state}")[0].value for state in MARKS] == wanted
    assert wanted == pytest.approx(model.marginals(sentence)[0]["y"][0].tolist())
