"""What training says of itself is true of that training: its record, its lines, its figures, its estimates."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from template_cases import CASES

from dcrfdsl.cli.training_progress import LiveProgress, PlainProgress, TrainingProgress, iteration_json
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.foundation.errors.printing import figure
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.optimizers import dual_problem
from dcrfdsl.optimizers.objective import Iteration
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.time_estimate import training_seconds
from dcrfdsl.training.training_logs import write_curve


def trained(end: str, case: str = "chain") -> TrainedModel:
    return fit(load_text(f"{CASES[case].text}\n{end}\n"), CASES[case].corpus(), threads=1)


# the gap and the gradient -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["working_set", "bcfw", "bcfw(average = yes)"])
def test_no_gap_is_below_0(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where primal and dual agree, their difference may round to less."""
    exact = dual_problem.primal_and_gap
    monkeypatch.setattr(dual_problem, "primal_and_gap", lambda *given: (exact(*given)[0], -4.4e-16))
    record = trained(f"train hmsvm(optimizer = {optimizer})").record
    assert record.gap == 0.0 and "(at most 0 above the least)" in record.end
    assert all(step.gap == 0.0 for step in record.curve)


@pytest.mark.parametrize("optimizer", ["working_set", "bcfw"])
def test_a_margin_has_a_gap_and_no_gradient(optimizer: str, tmp_path: Path) -> None:
    model = trained(f"train hmsvm(optimizer = {optimizer}(max_iterations = 30))")
    record = model.record
    assert record.gradient_norm is None and record.gap is not None
    for step in record.curve:
        assert step.gradient_norm is None and step.gap is not None
        assert iteration_json(step).keys() == {"iteration", "objective", "gap", "seconds"}
    assert "above the least" in record.end and "gradient" not in record.end
    model.save(tmp_path / "a.model")
    assert TrainedModel.load(tmp_path / "a.model").record == record
    write_curve(tmp_path / "a.jsonl", record)
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [(row["gradient_norm"], row["gap"]) for row in rows] == [(None, step.gap) for step in record.curve]


def test_a_gradient_has_no_gap_of_a_dual() -> None:
    for step in trained("train likelihood").record.curve:
        assert step.gradient_norm is not None and step.gap is None
        assert iteration_json(step).keys() == {"iteration", "objective", "gradient_norm", "seconds"}


def test_an_older_record_says_by_not_a_number_that_there_is_no_gradient() -> None:
    from dcrfdsl.model.record import TrainingRecord

    stored = {"gradient_norm": float("nan"), "notes": [], "before": [], "curve": [[1, 2.0, 0.5, 0.1, None, 0]]}
    found = TrainingRecord.restore(stored)
    assert found.gradient_norm is None and found.curve == (Iteration(1, 2.0, 0.5, 0.1),)


def test_progress_names_what_it_shows() -> None:
    for step, words in (
        (Iteration(1, 2.0, None, 0.1, gap=0.25), ", gap 0.25, "),
        (Iteration(1, 2.0, 0.25, 0.1), ", gradient 0.25, "),
        (Iteration(1, 2.0, None, 0.1), "objective 2.0000, 0.1 s"),
    ):
        stream = io.StringIO()
        PlainProgress(stream)(step)
        assert words in stream.getvalue()


def test_time_left_is_that_of_all_starts() -> None:
    progress = TrainingProgress().aim(1e-300, 10, starts=3)
    for n in range(1, 6):
        progress(Iteration(n, 1.0 / n, 0.5**n, 10.0 * n, start=1))
    alone = TrainingProgress().aim(1e-300, 10)
    for n in range(1, 6):
        alone(Iteration(n, 1.0 / n, 0.5**n, 10.0 * n))
    assert alone.estimate() in ("", "about 50.0 s left")
    assert progress.estimate() in ("", "about 4 min 10 s left")


@pytest.mark.parametrize("progress", [PlainProgress, LiveProgress])
def test_a_stream_that_is_gone_does_not_stop_training(progress: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = progress(io.StringIO()) if progress is PlainProgress else TrainingProgress()

    def fail(step: Iteration) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(shown, "show", fail)
    shown(Iteration(1, 1.0, 1.0, 1.0))
    shown(Iteration(2, 1.0, 1.0, 1.0))
    assert len(shown.steps) == 2


# the record ---------------------------------------------------------------------------------------------------------


SETTINGS = [  # what a template ends with; path and value in the record
    ("train mce: loss = label(y)", ("criterion", "loss", "method"), "label"),
    ("train mce: smoothing = sigmoid(alpha = 2)", ("criterion", "smoothing"), {"method": "sigmoid", "alpha": 2.0}),
    ("train hmsvm(loss = hamming(y))", ("criterion", "loss", "method"), "hamming"),
    ("train piecewise: nota = sampled(0.5)", ("criterion", "nota", "rate"), 0.5),
    ("train likelihood: prior = laplace(scale = 2), patience = 3", ("prior",), {"method": "laplace", "scale": 2.0}),
    ("train likelihood: prior = gaussian(variance = 2), patience = 3", ("patience",), 3),
    ("train likelihood: infer = trp(tolerance = 1e-5)", ("infer", "tolerance"), 1e-5),
]


@pytest.mark.parametrize(("end", "path", "value"), SETTINGS, ids=[end for end, *_ in SETTINGS])
def test_the_record_holds_every_setting(end: str, path: tuple[str, ...], value: Any, tmp_path: Path) -> None:
    from dcrfdsl.model.record import settings_record
    from dcrfdsl.semantics.settings.settings_reading import stage_settings

    label = next(iter(CASES["chain"].gold)) if hasattr(CASES["chain"], "gold") else "y"
    spec = load_text(f"{CASES['chain'].text}\n{end}\n".replace("(y)", f"({label})")).require()
    found: Any = json.loads(json.dumps(settings_record(stage_settings(spec))))
    for key in path:
        found = found[key]
    if isinstance(value, dict):
        assert value.items() <= found.items()
    else:
        assert found == value


# figures and estimates ----------------------------------------------------------------------------------------------

FIGURES = [(3395.53121, "3395.5312"), (2.5, "2.5000"), (-12.0, "-12.0000"), (0.105421, "0.10542"), (3.1e-7, "3.1e-07"),
           (0.0, "0"), (float("nan"), "nan")]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), FIGURES)
def test_small_figures_keep_their_digits(value: float, text: str) -> None:
    assert figure(value) == text


def test_a_small_objective_is_not_zero() -> None:
    from dataclasses import replace

    record = replace(trained("train likelihood").record, objective=4.2e-7, gap=None, gradient_norm=None)
    assert record.end == "objective 4.2e-07"


@pytest.mark.parametrize("end", ["train likelihood", "train perceptron: epochs = 4", "train memm", "train hmm"])
def test_the_time_of_a_training_is_a_range(end: str) -> None:
    resolved: Resolved = load_text(f"{CASES['chain'].text}\n{end}\n")
    found = training_seconds(resolved, CASES["chain"].corpus(), relative_cost=lambda sample: 1.0, threads=1)
    assert found is None or 0.0 < found.least <= found.likely <= found.most


def test_a_sample_that_would_take_long_is_not_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    from dcrfdsl.training import time_estimate

    monkeypatch.setattr(time_estimate, "train_model", lambda *_: pytest.fail("a sample was trained"))
    resolved: Resolved = load_text(f"{CASES['chain'].text}\ntrain likelihood: optimizer = lbfgs(max_iterations = 10)\n")
    found = training_seconds(resolved, CASES["chain"].corpus(), relative_cost=lambda _: 1.0, evaluation=1e4, threads=1)
    assert found is not None and found.likely == 1e5 and found.least < found.likely < found.most


@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_iterations_are_read_off_the_fall_of_the_gradient(rate: float) -> None:
    from dcrfdsl.semantics import LbfgsSettings
    from dcrfdsl.training import time_estimate

    norms = [100.0 * rate**n for n in range(12)]
    wanted = math.log(1e-5) / math.log(rate)
    assert time_estimate._until(norms, LbfgsSettings(tolerance=1e-5)) == pytest.approx(wanted, abs=3)
    assert time_estimate._until(norms[:3], LbfgsSettings()) is None


def test_the_pace_leaves_compiling_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.event import install_listener, trigger_event

    from dcrfdsl.training import time_estimate

    now = 100.0
    monkeypatch.setattr(time_estimate.time, "perf_counter", lambda: now)
    watch = time_estimate._Watch()
    watch.begin("likelihood")
    with install_listener("numba:compile", watch.clock):
        for compiling in (50.0, 7.0, 0.0):
            with trigger_event("numba:compile"), trigger_event("numba:compile"):  # of a function within another
                now += compiling
            now += 2.0
            watch.add(Iteration(1, 0.0, None, 0.0))
    assert watch.pace("likelihood") == 2.0


def test_hmm_says_all_that_is_wrong() -> None:
    """One DcrfError with everything, by the Python door too, where the checker may not have been asked."""
    from piece_twin import supervised

    from dcrfdsl.criteria.hidden_markov import build_hmm
    from dcrfdsl.semantics.settings.training_settings import HmmSettings, TrainSettings

    given, _ = supervised(CASES["skip"] if "skip" in CASES else CASES["chain"])
    from dataclasses import replace

    cliques = tuple(clique.model_copy(update={"sites": (*clique.sites, clique.sites[0].model_copy(
        update={"variable": "nobody"}))}) for clique in given.spec.cliques)  # fmt: skip
    spec = given.spec.model_copy(update={"cliques": cliques})
    with pytest.raises(DcrfError) as caught:
        build_hmm(replace(given, spec=spec), TrainSettings(criterion=HmmSettings()))
    assert caught.value.diagnostics and all(found.slug == "cannot-count" for found in caught.value.diagnostics)


def test_positions_are_counted_from_one() -> None:
    from dcrfdsl.data import corpus_from_rows
    from dcrfdsl.features.values.distinct_values import position_of
    from dcrfdsl.template import term_functions as functions

    model = load_text("data conll(word, tag)\nlabel tag\nclique tag: word\n").require()
    assert model.data is not None
    corpus = corpus_from_rows([[("a", "X"), ("b", "X")]], model.data)
    source = position_of("index", corpus)
    assert [source.values[code] for code in np.asarray(source.codes)] == ["1", "2"]
    assert "from 1" in (Path(functions.__file__).read_text())
