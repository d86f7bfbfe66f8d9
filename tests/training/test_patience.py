"""Early stopping on held-out data, for every optimizer; and learning curves, in the record and in files."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from template_cases import CASES, CHAIN, sentences

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.optimizers.objective import Iteration
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text
from dcrfdsl.semantics.settings.training_settings import CRITERIA
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.training_logs import write_curve

TEXT = f"{CHAIN}infer exact\n"
PATIENCE = 3
# What each is given so that it goes on past its best point, on noise that fits no other noise.
TRAINED_BY = {
    **{name: f"likelihood: prior = none, optimizer = {name}(max_iterations = 40)" for name in
       ("auto", "lbfgs", "owlqn", "proximal", "cg", "iis")},
    "quickprop": "likelihood: prior = none, optimizer = quickprop(max_iterations = 40, online = 2)",
    **{name: f"likelihood: prior = none, optimizer = {name}(epochs = 25)" for name in ("sgd", "gpd")},
    "perceptron's own": "perceptron: epochs = 25",
    "perceptron's own, the last weights": "perceptron: epochs = 25, average = no",
    "bcfw": "hmsvm: optimizer = bcfw(max_iterations = 35), C = 100",
    "working_set": "hmsvm: optimizer = working_set(max_iterations = 40), C = 100",
    "pieces": "pwpl: prior = none, optimizer = lbfgs(max_iterations = 40)",
    "pieces one by one": "pwpl: prior = none, optimizer = sgd(epochs = 25)",
    "pieces whose cases are chosen on the way":
        "pwpl: prior = none, nota = above(after = 2), optimizer = lbfgs(max_iterations = 40)",
}  # fmt: skip


def noise(resolved: Resolved, seed: int) -> Corpus:
    return corpus_from_rows(sentences("PQR", count=70, seed=seed, words="abcdefgh"), resolved.require().data)


def trained(train: str, *, patience: int | None = PATIENCE, seed: int = 9, **how: Any) -> TrainedModel:
    block = train.replace(": ", ":\n    ").replace("), ", ")\n    ").replace("none, ", "none\n    ")
    line = "" if patience is None else f"    patience = {patience}\n"
    resolved = load_text(f"{TEXT}train {block}\n{line}")
    return fit(resolved, noise(resolved, 0), dev=noise(resolved, seed), threads=1, **how)


def scores(model: TrainedModel) -> list[float]:
    return [step.dev for step in model.record.curve if step.dev is not None]


def test_every_optimizer_is_looked_at() -> None:
    assert set(OPTIMIZERS) <= set(TRAINED_BY)
    assert all(train.partition(":")[0] in CRITERIA for train in TRAINED_BY.values())


@pytest.mark.parametrize("name", TRAINED_BY)
def test_patience_stops_and_keeps_the_best_weights(name: str) -> None:
    model = trained(TRAINED_BY[name])
    found = scores(model)
    best = int(np.argmax(found))
    assert len(found) == best + 1 + PATIENCE
    dev = noise(load_text(TEXT), 9)
    assert next(iter(model.evaluate(dev).values())) == found[best]
    assert not model.record.converged
    assert f"weights of iteration {best + 1} kept" in model.record.reason
    assert f"no better dev score for {PATIENCE} iterations" in model.record.reason


@pytest.mark.parametrize("name", TRAINED_BY)
def test_the_best_weights_are_kept_where_training_ends_by_itself(name: str) -> None:
    """Convergence, a limit, or the last pass comes before patience runs out."""
    model = trained(TRAINED_BY[name], patience=1000)
    found = scores(model)
    assert found[-1] < max(found)
    assert next(iter(model.evaluate(noise(load_text(TEXT), 9)).values())) == max(found)
    assert "kept" in model.record.reason and "no better dev score" not in model.record.reason


def test_the_optimum_stays_where_no_earlier_weights_were_better() -> None:
    """On the training data itself the optimum is among the best; equal scores before it do not count."""
    case = CASES["chain"]
    resolved = load_text(f"{case.text}train likelihood: prior = gaussian(variance = 10), patience = 1000\n")
    model = fit(resolved, case.corpus(), dev=case.corpus(), threads=1)
    assert scores(model)[-1] == max(scores(model))
    assert model.record.converged


def test_without_patience_the_last_weights_stay() -> None:
    model = trained(TRAINED_BY["lbfgs"], patience=None)
    assert next(iter(model.evaluate(noise(load_text(TEXT), 9)).values())) == scores(model)[-1] < max(scores(model))


def test_patience_without_held_out_data_is_said_to_be_idle() -> None:
    case = CASES["chain"]
    resolved = load_text(f"{case.text}train likelihood: patience = 2\n")
    assert any("`patience`" in note for note in fit(resolved, case.corpus(), threads=1).record.notes)
    assert not fit(resolved, case.corpus(), dev=case.corpus(), threads=1).record.notes


def test_a_stop_before_the_objective_changes_is_a_stop() -> None:
    """`nota = above(after = 10)` goes on in a second part, which a request to stop must not begin."""
    seen: list[Iteration] = []
    train = "pwpl: prior = none, nota = above(after = 10), optimizer = lbfgs(max_iterations = 40)"
    trained(train, patience=None, on_iteration=seen.append, should_stop=lambda: len(seen) >= 2)
    assert len(seen) == 2


# learning curves ----------------------------------------------------------------------------------------------------

STAGES = f"{CHAIN}train likelihood as one: optimizer = lbfgs(max_iterations = 3)\ntrain memm as two after one\n"


def test_the_record_keeps_what_was_reported(tmp_path: Path) -> None:
    seen: list[Iteration] = []
    resolved = load_text(STAGES)
    model = fit(resolved, noise(resolved, 0), dev=noise(resolved, 1), threads=1, on_iteration=seen.append)
    assert (*(Iteration(*step) for step in model.record.before[0]["curve"]), *model.record.curve) == tuple(seen)
    assert len(model.record.before[0]["curve"]) == 3
    model.save(tmp_path / "model")
    assert TrainedModel.load(tmp_path / "model").record == replace(
        model.record, before=TrainedModel.load(tmp_path / "model").record.before
    )


def test_starts_are_told_apart() -> None:
    text = CHAIN.replace("label y\n", "label y\nlatent h in 2\n") + "clique h, y\n"
    resolved = load_text(f"{text}train likelihood: restarts = 2, optimizer = lbfgs(max_iterations = 3)\n")
    model = fit(resolved, noise(resolved, 0), threads=1)
    assert [(step.start, step.iteration) for step in model.record.curve] == [(s, i) for s in (1, 2) for i in (1, 2, 3)]
    assert all(step.dev is None for step in model.record.curve)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DCRFDSL_THREADS", "1")
    (tmp_path / "a.dcrf").write_text(STAGES)
    rows = sentences("PQR", count=8)
    (tmp_path / "train.txt").write_text("\n".join("".join(f"{' '.join(row)}\n" for row in own) for own in rows))
    return tmp_path


COMMAND = ("train", "a.dcrf", "train.txt", "-o", "a.model", "--json", "--dev", "train.txt", "--curve")
COLUMNS = ("iteration", "objective", "gradient_norm", "seconds", "dev")


@pytest.mark.parametrize("name", ["curve.csv", "curve.jsonl"])
def test_the_file_says_what_json_lines_say(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND, name]) == 0
    *steps, _ = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    text = Path(name).read_text()
    rows: list[dict[str, Any]] = (
        list(csv.DictReader(text.splitlines())) if name.endswith("csv") else list(map(json.loads, text.splitlines()))
    )
    assert list(rows[0]) == ["stage", "start", *COLUMNS, "gap", "metric"]
    assert [row["stage"] for row in rows] == ["one"] * 3 + ["two"] * (len(rows) - 3)
    assert [[float(row[column]) for column in COLUMNS] for row in rows] == [
        [step[column] for column in COLUMNS] for step in steps
    ]
    assert {one["metric"] for one in (*rows, *steps)} == {"accuracy(y)"}


def test_a_score_that_is_not_there_is_empty(here: Path) -> None:
    resolved = load_text(STAGES)
    model = fit(resolved, noise(resolved, 0), threads=1)
    write_curve(Path("curve.csv"), model.record)
    write_curve(Path("curve.jsonl"), model.record)
    assert {row["dev"] for row in csv.DictReader(Path("curve.csv").read_text().splitlines())} == {""}
    assert {json.loads(line)["dev"] for line in Path("curve.jsonl").read_text().splitlines()} == {None}


REFUSED = {
    "curve.txt": ("unknown-format", "end its name in .csv or .jsonl"),
    "no/curve.csv": ("no-such-directory", "there is no directory `no`"),
    "train.csv": ("output-is-input", "`train.csv` is an input"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_written_is_refused_before_training(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slug, words = REFUSED[name]
    (here / "train.csv").write_text((here / "train.txt").read_text())
    assert run(["train", "a.dcrf", "train.csv", "-o", "a.model", "--curve", name]) == 1
    err = capsys.readouterr().err
    assert f"error[{slug}]" in err and words in err
    assert not Path("a.model").exists()


def test_a_format_that_is_unknown_raises(tmp_path: Path) -> None:
    with pytest.raises(DcrfError, match=r"curve\.xml"):
        write_curve(tmp_path / "curve.xml", fit(load_text(STAGES), noise(load_text(STAGES), 0), threads=1).record)


def test_help_describes_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())  # lines end where the screen does
    assert "--curve FILE" in out
    assert "stage, start, iteration, objective, gradient_norm, seconds, dev" in out


def test_the_likelihood_of_held_out_data_can_be_the_score() -> None:
    resolved = load_text(f"{TEXT}train likelihood: optimizer = lbfgs(max_iterations = 5)\nevaluate log_likelihood\n")
    dev = noise(resolved, 9)
    model = fit(resolved, noise(resolved, 0), dev=dev, threads=1)
    assert scores(model)[-1] == pytest.approx(model.scores.log_likelihood(dev), rel=1e-12)
    assert len(set(scores(model))) == len(scores(model))
