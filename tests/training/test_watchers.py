"""Callbacks for programs that watch a training: what they give to a bar and to a writer of scalars."""

from __future__ import annotations

from typing import Any

import pytest

import dcrfdsl
from dcrfdsl.optimizers.objective import Iteration

TEMPLATE = "data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y\ntrain likelihood\n"
ROWS = [[("a", "P"), ("b", "Q")], [("b", "Q")]]


class Recorder:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def update(self, n: int = 1) -> None:
        self.calls.append(("update", n))

    def set_postfix(self, values: Any = None, refresh: bool = True) -> None:
        self.calls.append(("shown", values, refresh))

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        self.calls.append((tag, value, step))


def trained(on_iteration: Any) -> dcrfdsl.TrainedModel:
    resolved = dcrfdsl.load_text(TEMPLATE)
    corpus = dcrfdsl.corpus_from_rows(ROWS, resolved.require().data)
    return dcrfdsl.fit(resolved, corpus, dev=corpus, on_iteration=on_iteration, threads=1)


def test_a_bar_moves_once_an_iteration() -> None:
    bar = Recorder()
    record = trained(dcrfdsl.progress_bar(bar)).record
    assert bar.calls.count(("update", 1)) == record.iterations
    last = [call for call in bar.calls if call[0] == "shown"][-1]
    assert last == ("shown", {"objective": f"{record.objective:.6g}", "dev accuracy(y)": "1.0000"}, False)


def test_scalars_are_those_of_the_curve() -> None:
    writer = Recorder()
    curve = trained(dcrfdsl.scalar_writer(writer, "run/")).record.curve
    named = {
        name: [(value, step) for tag, value, step in writer.calls if tag == f"run/{name}"]
        for name in ("objective", "gradient_norm", "dev", "gap")
    }
    assert named["objective"] == [(step.objective, step.iteration) for step in curve]
    assert named["dev"] == [(step.dev, step.iteration) for step in curve]
    assert named["gap"] == []


def test_starts_have_names_of_their_own_and_other_objects_are_refused() -> None:
    writer = Recorder()
    dcrfdsl.scalar_writer(writer)(Iteration(4, 2.5, None, 0.1, start=2, gap=0.5))
    assert writer.calls == [("objective/2", 2.5, 4), ("gap/2", 0.5, 4)]
    with pytest.raises(TypeError, match="add_scalar"):
        dcrfdsl.scalar_writer(object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="update"):
        dcrfdsl.progress_bar(3)  # type: ignore[arg-type]
