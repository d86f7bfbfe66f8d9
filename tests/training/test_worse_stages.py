"""A stage that ends worse than it began says so; the prior of `mce` by default leaves a model as good as it was."""

from __future__ import annotations

import numpy as np
import pytest
from template_cases import Case
from training_cases import objective_of

from dcrfdsl.data import Corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.training.pipeline import fit

TEXT = """data conll(word, y)
label y in bio(A)
clique y: bias, word, word[-1], word[1]
clique y[-1], y
infer exact
train likelihood as ml
{stage}
evaluate segments(y), accuracy(y), sentence_accuracy
"""


def drawn(seed: int, sentences: int) -> list[list[tuple[str, str]]]:
    """Segments of one to three words, each of which mostly begins with a letter that tells its label."""
    generator = np.random.default_rng(seed)
    out = []
    for _ in range(sentences):
        rows: list[tuple[str, str]] = []
        while len(rows) < 8:
            inside = generator.random() < 0.4
            for n in range(int(generator.integers(1, 4)) if inside else 1):
                label = ("I-A" if n else "B-A") if inside else "O"
                letter = label[0] if generator.random() < 0.95 else generator.choice(list("BIO"))
                rows.append((f"{letter}{generator.integers(6)}", label))
        out.append(rows)
    return out


def trained(stage: str, dev: Corpus | None = None) -> tuple[TrainedModel, Corpus]:
    case = Case(TEXT.format(stage=stage), drawn(1, 60), None)
    corpus = case.corpus()
    return fit(case.resolved(), corpus, dev=dev, threads=1), corpus


def held_out() -> Corpus:
    return Case(TEXT.format(stage=""), drawn(2, 60), None).corpus()


def f1(model: TrainedModel, corpus: Corpus) -> float:
    return float(model.evaluate(corpus)["segments(y).f1"])


def said(model: TrainedModel) -> list[str]:
    return [note for note in model.record.notes if "worse" in note]


@pytest.mark.parametrize(
    ("loss", "measure"),
    [("fscore(y)", "segments(y).f1"), ("label(y)", "accuracy(y)"), ("sequence", "sentence_accuracy")],
)
def test_mce_with_its_own_prior_does_not_spoil_a_model(loss: str, measure: str) -> None:
    """What it counts does not grow; by a smooth count of errors that may be an error more of 512 tokens."""
    before, corpus = trained("")
    after, _ = trained(f"train mce as errors after ml: loss = {loss}")
    assert after.evaluate(corpus)[measure] >= before.evaluate(corpus)[measure] - 0.005
    assert said(after) == []


def test_a_prior_that_outweighs_the_loss_is_said() -> None:
    """With the variance of a likelihood the ratio of counts is nothing beside the penalty."""
    dev = held_out()
    model, _ = trained("train mce as errors after ml: loss = fscore(y), prior = gaussian(variance = 0.1)", dev)
    loss, score = said(model)
    assert loss.startswith("stage `errors` ends with a worse loss than it began with: ")
    assert "the prior outweighs it" in loss
    start, _ = trained("")
    assert score == (
        f"stage `errors` ends with a worse held-out score than it began with: {f1(model, dev):.4f} after "
        f"{f1(start, dev):.4f}; `patience` keeps the best weights on the way, or leave the stage out"
    )


def test_the_loss_is_that_without_the_penalty() -> None:
    """Of the last weights and of the first ones, by an objective that has no prior."""
    model, _ = trained("train mce as errors after ml: loss = fscore(y), prior = gaussian(variance = 0.1)")
    start, _ = trained("")
    (message,) = said(model)
    shown = [float(number) for number in message.split(": ")[1].split(",")[0].split(" after ")]
    text = TEXT.format(stage="").replace("train likelihood as ml\n", "")
    objective = objective_of(Case(text, drawn(1, 60), None), "mce", "train.loss=fscore(y)", "train.prior=none")
    expected = [objective.value_and_gradient(weights)[0] for weights in (model.weights, start.weights)]
    assert shown == pytest.approx(expected, rel=1e-3)


def test_a_first_stage_says_nothing() -> None:
    case = Case(TEXT.format(stage="").replace("likelihood", "mce(loss = fscore(y))"), drawn(1, 60), None)
    assert said(fit(case.resolved(), case.corpus(), dev=held_out(), threads=1)) == []
