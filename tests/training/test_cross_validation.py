"""`cross_validate`: folds done by hand through `fit` and `evaluate`, what a fold's model sees, and how it ends."""

from __future__ import annotations

import math
import os
import statistics
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from template_cases import CHAIN, sentences

from dcrfdsl import DcrfError, cross_validate, fit, load_text
from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.foundation import Diagnostic
from dcrfdsl.model import TrainedModel
from dcrfdsl.training import CrossValidation, FoldPlan, FoldTraining, fold_numbers

TRAIN = "train likelihood: prior = gaussian(variance = 1), optimizer = lbfgs(max_iterations = 5)\n"
METRICS = "accuracy(y), segments(y, runs), by_state(y), sentence_accuracy, oov_accuracy(y, word), log_likelihood"
TEMPLATE = f"{CHAIN}{TRAIN}evaluate {METRICS}\n"
ROWS = sentences("PQR", count=11, seed=3)


def corpus_of(rows: list[Any], template: str = TEMPLATE) -> Corpus:
    return corpus_from_rows(rows, load_text(template).require().data)


def validated(template: str = TEMPLATE, rows: list[Any] = ROWS, **how: Any) -> CrossValidation:
    return cross_validate(load_text(template), corpus_of(rows, template), **{"threads": 1, "folds": 3, **how})


def test_folds_are_those_done_by_hand_to_the_last_bit() -> None:
    """Each fold is trained and scored here on corpora made of its rows alone."""
    found, resolved = validated(seed=4), load_text(TEMPLATE)
    tags: list[Any] = [None] * len(ROWS)
    for fold in found.folds:
        rest = [row for s, row in enumerate(ROWS) if s not in fold.sentences]
        model = fit(resolved, corpus_of(rest), threads=1)
        held = corpus_of([ROWS[s] for s in fold.sentences])
        assert fold.scores == model.evaluate(held)
        assert (fold.iterations, fold.converged) == (model.record.iterations, model.record.converged)
        texts = iter(model.predict(held).texts("y"))
        for s in fold.sentences:
            tags[s] = [next(texts) for _ in ROWS[s]]
    assert found.predictions == {"y": tuple(tag for sentence in tags for tag in sentence)}
    for name in ("accuracy(y)", "segments(y, runs).f1", "log_likelihood"):
        values = [fold.scores[name] for fold in found.folds]
        assert found.mean[name] == statistics.fmean(values)
        assert found.deviation[name] == pytest.approx(np.std(values, ddof=1))
    assert "tokens" not in found.mean and "by_state(y).P.support" not in found.mean


def test_scores_together_are_those_of_the_predictions() -> None:
    found = validated()
    gold = [y for sentence in ROWS for _, y in sentence]
    right = [one == other for one, other in zip(gold, found.predictions["y"], strict=True)]
    assert found.scores["accuracy(y)"] == sum(right) / len(right)
    assert found.scores["tokens"] == len(gold) and found.scores["sentences"] == len(ROWS)
    assert found.scores["log_likelihood"] == pytest.approx(sum(fold.scores["log_likelihood"] for fold in found.folds))
    table = found.tables["y"].confusion
    assert sum(table.pairs.values()) == len(gold)
    assert found.scores["by_state(y).macro_f1"] == table.scores.macro.f1


@pytest.mark.parametrize(("count", "folds", "seed"), [(11, 3, 0), (11, 3, 1), (6, 6, 0), (2, 2, 5)])
def test_every_sentence_is_in_one_fold(count: int, folds: int, seed: int) -> None:
    corpus = corpus_of(sentences("PQR", count=count))
    found = fold_numbers(corpus, FoldPlan(folds, seed))
    sizes = np.bincount(found, minlength=folds)
    assert sizes.sum() == count and sizes.max() - sizes.min() <= 1 and len(sizes) == folds
    assert found.tolist() == fold_numbers(corpus, FoldPlan(folds, seed)).tolist()


def test_another_seed_deals_other_folds() -> None:
    corpus = corpus_of(ROWS)
    assert len({tuple(fold_numbers(corpus, FoldPlan(3, seed)).tolist()) for seed in range(5)}) > 1


def test_groups_stay_together() -> None:
    """By the value of the first token, as that of a column with the name of the document."""
    rows = [[(f"doc{s // 3}", "P"), ("x", "Q")] for s in range(12)]
    found = fold_numbers(corpus_of(rows), FoldPlan(2, 1, "word"))
    assert [len(set(found[s : s + 3].tolist())) for s in range(0, 12, 3)] == [1, 1, 1, 1]
    assert np.bincount(found).tolist() == [6, 6]
    big = [[("a", "P")]] * 7 + [[("b", "P")], [("c", "Q")], [("d", "Q")]]
    assert sorted(np.bincount(fold_numbers(corpus_of(big), FoldPlan(2, 0, "word"))).tolist()) == [3, 7]


def test_models_see_nothing_of_their_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sentence has a word and a state of its own: no model knows those of its fold, by no name and no value."""
    rows = [[(f"word{s}", f"Y{s}"), ("the", "P"), (f"other{s}", "Q")] for s in range(6)]
    models: list[TrainedModel] = []

    def kept(*arguments: Any, **options: Any) -> TrainedModel:
        models.append(fit(*arguments, **options))
        return models[-1]

    monkeypatch.setattr("dcrfdsl.training.cross_validation.fit", kept)
    found = validated(rows=rows)
    assert len(models) == 3
    for fold, model in zip(found.folds, models, strict=True):
        unseen = {f"{kind}{s}" for s in fold.sentences for kind in ("word", "other", "Y")}
        assert unseen.isdisjoint(model.states["y"])
        assert unseen.isdisjoint(model.known_values["word"])
        named = " ".join(str(weight) for weight in model.explanations.iter_weights())
        assert "the" in named and not any(name in named for name in unseen)


def test_a_state_that_only_its_fold_has_counts_as_wrong() -> None:
    rows = [*[[("a", "P"), ("b", "Q")]] * 5, [("a", "NEW"), ("b", "Q")]]
    found = validated(rows=rows)
    assert found.scores["unseen_labels"] == 1
    assert found.scores["accuracy(y)"] == 11 / 12
    assert found.scores["by_state(y).NEW.recall"] == 0.0 and found.scores["by_state(y).NEW.support"] == 1
    (fold,) = (fold for fold in found.folds if 5 in fold.sentences)
    assert fold.scores["unseen_labels"] == 1
    assert math.isnan(found.deviation["by_state(y).NEW.recall"])  # one fold alone has it


def test_folds_that_are_scored_by_other_metrics_have_their_common_ones_together() -> None:
    """Without `evaluate` the metrics go by the states, and the states by the fold."""
    template = CHAIN + TRAIN
    rows = [*[[("a", "B-X"), ("b", "O")]] * 5, [("a", "odd"), ("b", "O")]]
    found = validated(template, rows=rows)
    kinds = [{name for name in fold.scores if "(" in name} for fold in found.folds]
    assert len({frozenset(kind) for kind in kinds}) == 2
    assert "accuracy(y)" not in found.scores and "segments(y).f1" not in found.scores
    assert found.scores["tokens"] == 12 and found.tables["y"].by_type is None


def test_jobs_change_nothing() -> None:
    plain, reported = validated(seed=1), list[int]()
    together = validated(seed=1, jobs=2, on_fold=lambda fold: reported.append(fold.number))
    with ThreadPoolExecutor(2) as pool:
        in_threads = validated(seed=1, jobs=pool)
    for other in (together, in_threads):
        assert (other.scores, other.predictions, other.tables) == (plain.scores, plain.predictions, plain.tables)
        assert [fold.scores for fold in other.folds] == [fold.scores for fold in plain.folds]
    assert reported == [1, 2, 3]


def test_a_process_that_dies_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FoldTraining, "run_elsewhere", lambda *_, **__: os._exit(9))
    with pytest.raises(DcrfError, match="trained a fold has died") as caught:
        validated(jobs=2)
    assert caught.value.diagnostics[0].slug == "lost-trial"


def test_an_error_of_a_training_says_which_fold_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> TrainedModel:
        raise DcrfError(Diagnostic("empty-file", "a problem of sentence 1"))

    monkeypatch.setattr("dcrfdsl.training.cross_validation.fit", failing)
    for jobs in (1, 2):
        with pytest.raises(DcrfError, match="without fold 1: a problem of sentence 1"):
            validated(jobs=jobs)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stop_ends_it_without_a_result(jobs: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        validated(jobs=jobs, should_stop=lambda: True)


def test_the_stage_is_the_one_that_is_asked_for() -> None:
    template = CHAIN + "train pseudolikelihood as first: prior = none\n" + TRAIN.replace(":", " as second:", 1)
    found = validated(template, stage="first")
    assert found.stage == "first" and validated(template).stage == "second"
    assert found.scores["accuracy(y)"] == cross_validate_by_hand(template, "first")


def cross_validate_by_hand(template: str, stage: str) -> float:
    corpus, resolved = corpus_of(ROWS, template), load_text(template)
    fold_of, right = fold_numbers(corpus, FoldPlan(3)), 0
    for fold in range(3):
        model = fit(resolved, corpus.take(np.flatnonzero(fold_of != fold)), stage=stage, threads=1)
        held = corpus.take(np.flatnonzero(fold_of == fold))
        right += round(model.evaluate(held)["accuracy(y)"] * held.num_tokens)
    return right / corpus.num_tokens


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "more folds than sentences": ({"folds": 12}, DcrfError, "there are 12 folds for 11 sentences"),
    "more folds than groups": ({"group": "word", "folds": 9}, DcrfError, "groups by `word`"),
    "no such column": ({"group": "wrd"}, DcrfError, "did you mean `word`"),
    "one fold": ({"folds": 1}, ValueError, "at least 2"),
    "no number": ({"folds": 2.5}, TypeError, "whole number"),
    "no jobs": ({"jobs": 0}, ValueError, "at least 1"),
    "no such stage": ({"stage": "x"}, DcrfError, "stage"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_one_message(name: str) -> None:
    how, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        validated(**how)
