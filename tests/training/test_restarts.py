"""Restarts side by side: the model of restarts one after another, and how they end."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dcrfdsl
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.checkpoints import Checkpoint
from dcrfdsl.training.pipeline import TrainingRequest, train_model
from dcrfdsl.training.stage import Observers, Stage

TEXT = """
data conll(word, y)
label y
latent z in 2
clique y, z: bias
clique z: bias, word
clique z[-1], z
infer exact
train likelihood: restarts = 3, seed = 2, optimizer = lbfgs(max_iterations = 6)
"""
ROWS = [[(f"w{(i * j) % 5}", "PQ"[(i + j) % 3 == 0]) for j in range(1, 6)] for i in range(8)]


def trained(jobs: int, **observers: object) -> TrainedModel:
    resolved = load_text(TEXT)
    corpus = dcrfdsl.corpus_from_rows(ROWS, resolved.require().data)
    checkpoint = observers.pop("checkpoint", None)
    asked = TrainingRequest(threads=2, observers=Observers(**observers), checkpoint=checkpoint, jobs=jobs)
    return train_model(resolved, corpus, asked)


def test_runs_side_by_side_give_the_model_of_runs_in_turn() -> None:
    curves = [list[object]() for _ in range(3)]
    models = [trained(jobs, on_iteration=curve.append) for jobs, curve in zip((1, 2, 5), curves, strict=True)]
    for model, curve in zip(models[1:], curves[1:], strict=True):
        np.testing.assert_array_equal(model.weights, models[0].weights)
        assert replace(model.record, seconds=0.0, curve=()) == replace(models[0].record, seconds=0.0, curve=())
        assert [step._replace(seconds=0.0) for step in curve] == [step._replace(seconds=0.0) for step in curves[0]]


def test_they_stop_and_go_on_from_the_runs_that_have_ended(tmp_path: Path) -> None:
    whole, seen = trained(1), list[object]()
    saved = Checkpoint(tmp_path / "checkpoint", seconds=0.0)
    polls = itertools.count()  # two begin at the first, and it stops at the second
    trained(2, on_iteration=seen.append, should_stop=lambda: next(polls) > 0, checkpoint=saved)
    assert saved.path.exists()
    assert {step.start for step in seen} <= {1, 2}
    resumed = trained(2, checkpoint=Checkpoint(saved.path, resume=True))
    assert resumed.record.objective <= whole.record.objective + 1e-9


def test_a_process_that_dies_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stage, "run", lambda *_: os._exit(9))
    with pytest.raises(DcrfError) as caught:
        trained(2)
    assert caught.value.diagnostics[0].slug == "lost-restart"
