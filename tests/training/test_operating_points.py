"""`tune` for operating points, and prices of rules found on held-out data alone."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl.cli import run
from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError, DcrfWarning
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training import tune

TEMPLATE = """
data jsonl(word, logits: scores(y), y)
let enter = 0 tune linear(-4, 4)
label y in bio(X)
clique y: offset(logits)
forbid y is B-X with cost = enter
infer exact
evaluate segments(y)
"""
STATES = ("B-X", "I-X", "O")


def noisy(count: int = 60, seed: int = 0) -> list[dict[str, list[object]]]:
    """Sentences of a tokens whose scores are noisy: a bonus for B-X raises recall and lowers precision."""
    generator, found = np.random.default_rng(seed), []
    for _ in range(count):
        gold = ["B-X" if generator.random() < 0.3 else "O" for _ in range(8)]
        scores = [[2.0 * (y == "B-X") - 1.5 + generator.normal(), -9.0, 0.0] for y in gold]
        found.append({"word": ["w"] * 8, "logits": scores, "y": gold})
    return found


def held_out() -> Corpus:
    return corpus_from_rows(noisy(), load_text(TEMPLATE).require().data)


def scores_at(cost: float) -> dict[str, float]:
    """Precision and recall where each token is decided by itself, by hand."""
    right = predicted = gold = 0
    for sentence in noisy():
        for numbers, y in zip(sentence["logits"], sentence["y"], strict=True):
            said = numbers[0] - cost > 0.0  # type: ignore[index]
            right += said and y == "B-X"
            predicted += said
            gold += y == "B-X"
    return {"precision": right / predicted if predicted else 0.0, "recall": right / gold}


def grid(count: int) -> list[float]:
    return np.linspace(-4.0, 4.0, count).round(3).tolist()


def test_a_scale_of_scores_is_tuned_on_held_out_data() -> None:
    """Of two nets the one that is right has to count more."""
    text = """
data jsonl(wrong: scores(y), right: scores(y), y)
let trust = 1 tune among(0.5, 2, 0.25)
label y in {P, Q}
clique y: offset(wrong), offset(right, scale = trust)
infer exact
evaluate accuracy(y)
"""
    row = {"wrong": [[0.0, 1.0], [1.0, 0.0]], "right": [[1.0, 0.0], [0.0, 1.0]], "y": ["P", "Q"]}
    dev = corpus_from_rows([row], load_text(text).require().data)
    model = tune(load_text(text), None, dev)
    assert model.record.tuning is not None and model.record.tuning["values"] == {"trust": 2}
    assert model.evaluate(dev)["accuracy(y)"] == 1.0
    probability = 1.0 / (1.0 + np.exp(-1.0))  # of scores that differ by 2 · 1 − 1
    np.testing.assert_allclose(model.marginals(dev)[0]["y"][0], [probability, 1.0 - probability], rtol=1e-12)


def test_the_best_precision_of_all_with_enough_recall() -> None:
    """`I-X` never counts here, so that what is best follows from each token alone."""
    model = tune(
        load_text(TEMPLATE), None, held_out(), trials=17,
        best="segments(y).precision", at_least={"segments(y).recall": 0.95},
    )  # fmt: skip
    by_hand = {cost: scores_at(cost) for cost in grid(17)}
    kept = {cost: one for cost, one in by_hand.items() if one["recall"] >= 0.95}
    assert 0 < len(kept) < len(by_hand)
    best = max(kept, key=lambda cost: kept[cost]["precision"])
    assert model.record.tuning["values"]["enter"] == pytest.approx(best)
    found = model.evaluate(held_out())
    assert found["segments(y).recall"] == pytest.approx(by_hand[best]["recall"])
    assert found["segments(y).precision"] == pytest.approx(by_hand[best]["precision"])
    assert found["segments(y).recall"] >= 0.95
    for trial in model.record.tuning["trials"]:
        assert trial["bounded"] == pytest.approx({"segments(y).recall": by_hand[trial["values"]["enter"]]["recall"]})


def test_by_default_the_first_metric_decides() -> None:
    model = tune(load_text(TEMPLATE), None, held_out(), trials=9)
    f1 = {
        cost: 2 * one["precision"] * one["recall"] / max(one["precision"] + one["recall"], 1e-9)
        for cost, one in ((cost, scores_at(cost)) for cost in grid(9))
    }
    assert model.record.tuning["values"]["enter"] == pytest.approx(max(f1, key=f1.__getitem__))
    assert model.record.tuning["metric"] == "segments(y).f1"


@pytest.mark.parametrize(("ends", "is_told"), [("-4, 4", False), ("-4, -2", True)])
def test_a_best_value_at_an_end_of_its_range_is_told(ends: str, is_told: bool) -> None:
    model = tune(load_text(TEMPLATE.replace("-4, 4", ends)), None, held_out(), trials=5)
    said = "note: the best `enter` is -2, an end of its range: a wider range may hold a better one"
    assert (said in model.record.notes) == is_told and ("an end of" in str(model.record.notes)) == is_told


def test_out_of_reach_is_said_and_the_nearest_is_chosen() -> None:
    bounds = {"segments(y).precision": 0.99, "segments(y).recall": 0.99}
    with pytest.warns(DcrfWarning, match="no trial has"):
        model = tune(load_text(TEMPLATE), None, held_out(), trials=9, at_least=bounds)
    lacking = {c: sum(max(0.0, 0.99 - x) for x in scores_at(c).values()) for c in grid(9)}
    assert model.record.tuning["values"]["enter"] == pytest.approx(min(lacking, key=lacking.__getitem__))


def test_the_command_does_not_call_the_nearest_trial_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template, dev, out = (tmp_path / name for name in ("tags.dcrf", "dev.jsonl", "tags.model"))
    template.write_text(TEMPLATE.replace("linear(-4, 4)", "linear(1, 2)"))
    dev.write_text("".join(json.dumps(one) + "\n" for one in noisy()))
    command = ["train", str(template), "-o", str(out), "--dev", str(dev), "--tune", "--trials", "2"]
    assert run([*command, "--at-least", "segments(y).recall=0.999"]) == 0
    said = capsys.readouterr().err
    assert "enter = 1: nearest to segments(y).recall of at least 0.999 on the held-out data" in said
    assert "out-of-reach" in said and "best by" not in said
    assert run([*command, "--at-least", "segments(y).recall=99"]) == 1
    said = capsys.readouterr().err
    assert "`segments(y).recall` is a share, from 0 to 1, and cannot be at least 99" in said and "write 0.99" in said


@pytest.mark.parametrize("bound", [-0.1, 1.5, float("nan")])
def test_a_bound_is_a_share(bound: float) -> None:
    with pytest.raises(DcrfError, match="from 0 to 1"):
        tune(load_text(TEMPLATE), None, held_out(), trials=2, at_least={"segments(y).recall": bound})


@pytest.mark.parametrize("names", [{"best": "segments(y).recal"}, {"at_least": {"recall": 0.5}}])
def test_a_score_that_there_is_not_is_refused(names: dict[str, object]) -> None:
    with pytest.raises(DcrfError) as caught:
        tune(load_text(TEMPLATE), None, held_out(), trials=2, **names)  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].slug == "unknown-metric"


def test_the_command_needs_held_out_data_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template, dev, out = (tmp_path / name for name in ("tags.dcrf", "dev.jsonl", "tags.model"))
    template.write_text(TEMPLATE)
    dev.write_text("".join(json.dumps(one) + "\n" for one in noisy()))
    options = ["--tune", "--trials", "9", "--best", "segments(y).precision", "--at-least", "segments(y).recall=0.9"]
    assert run(["train", str(template), "-o", str(out), "--dev", str(dev), *options]) == 0
    said = capsys.readouterr().err
    assert "with segments(y).recall of at least 0.9" in said
    recall = 100 * scores_at(-4.0)["recall"]
    assert f", segments(y).recall {recall:.2f} %, " in said  # in the line of the trial
    header, first = (
        line.split() for line in said.splitlines() if line.split()[:1] in (["trial"], ["1"]) and ":" not in line
    )
    assert header == ["trial", "enter", "dev", "segments(y).recall", "time"] and first[3] == f"{recall:.2f}"
    assert run(["train", str(template), "-o", str(out), "--dev", str(dev), *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["bounded"] == {"segments(y).recall": recall / 100}
    assert run(["eval", str(out), str(dev)]) == 0
    assert run(["train", str(template), "-o", str(out), "--dev", str(dev), "--tune", "--at-least", "recall"]) == 2
    assert run(["train", str(template), "-o", str(out), "--at-least", "recall=0.5"]) == 2


def test_prices_are_found_beside_learned_weights() -> None:
    text = TEMPLATE.replace("clique y: offset(logits)", "clique y: bias, offset(logits)")
    corpus = held_out()
    model = tune(load_text(text), corpus.slice(0, 40), corpus.slice(40, 60), trials=3)
    values = [trial["values"]["enter"] for trial in model.record.tuning["trials"]]
    assert values == list(itertools.islice(grid(3), 3))
