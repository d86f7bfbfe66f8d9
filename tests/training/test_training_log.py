"""The log of a training: what its lines hold, that they survive, and that a resumed training adds to them."""

from __future__ import annotations

import json
import logging
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from template_cases import CHAIN, sentences

from dcrfdsl import Checkpoint, DcrfError, TrainedModel, TrainingLog, corpus_from_rows, fit, load_text
from dcrfdsl.cli import run
from dcrfdsl.data import Corpus
from dcrfdsl.model import content_hash
from dcrfdsl.semantics import Resolved, stage_settings

STAGES = (
    "train pseudolikelihood as first: optimizer = lbfgs(max_iterations = 4)\n"
    "train likelihood as second after first: optimizer = lbfgs(max_iterations = 60)\n"
)
OF_ITERATION = {
    "event", "time", "stage", "iteration", "objective", "gradient_norm", "seconds", "dev", "start", "memory_mb",
    "inference", "metric",
}  # fmt: skip


def resolved() -> Resolved:
    return load_text(CHAIN + STAGES)


def data(seed: int = 0) -> Corpus:
    return corpus_from_rows(sentences("PQR", count=8, seed=seed), resolved().require().data)


def lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def events(path: Path) -> list[str]:
    return [line["event"] for line in lines(path)]


def test_every_event_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with TrainingLog(path) as log:
        model = fit(resolved(), data(), dev=data(1), threads=1, log=log)
    first, *rest, last = lines(path)
    assert [first["event"], last["event"]] == ["begin", "end"]
    assert first["format"] == 1 and first["resumed"] is False and first["threads"] == 1
    assert first["data"] == {
        "file": "<rows>", "sentences": 8, "tokens": data().num_tokens, "sha256": content_hash(data()),
    }  # fmt: skip
    assert first["dev"]["sha256"] == content_hash(data(1))
    assert first["versions"].keys() >= {"dcrfdsl", "python", "numpy", "numba"}
    assert [stage["stage"] for stage in first["stages"]] == ["first", "second"]
    spec = load_text(first["template"]).require()
    assert stage_settings(spec, "second") == stage_settings(resolved().spec, "second")
    assert all(datetime.fromisoformat(line["time"]).tzinfo for line in lines(path))

    steps = [line for line in rest if line["event"] == "iteration"]
    assert [line["stage"] for line in rest if line["event"] == "stage"] == ["first", "second"]
    assert rest[0] == {**rest[0], "event": "stage", "stage": "first", "weights": model.num_weights}
    of_second = [step for step in steps if step["stage"] == "second"]
    assert [(step["iteration"], step["objective"], step["dev"]) for step in of_second] == [
        (step.iteration, step.objective, step.dev) for step in model.record.curve
    ]
    assert all(step.keys() <= OF_ITERATION and 1 < step["memory_mb"] < 1e5 for step in steps)
    assert sum(step["inference"]["graphs"] for step in of_second) == 8 * model.record.evaluations
    assert not any(step["inference"]["not_converged"] for step in of_second)
    assert last["outcome"] == "converged" and last["reason"] == model.record.reason
    assert last["objective"] == model.record.objective and last["weights"] == model.num_weights


def test_a_method_that_does_not_converge_is_seen(tmp_path: Path) -> None:
    text = "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\nclique y[-2], y\n"
    text += "infer bp(max_iterations = 1)\n"
    loopy = load_text(f"{text}train likelihood: optimizer = lbfgs(max_iterations = 3)\n")
    corpus = corpus_from_rows(sentences("PQR", count=8, seed=0), loopy.require().data)
    with TrainingLog(tmp_path / "log") as log:
        fit(loopy, corpus, log=log)
    steps = [line["inference"] for line in lines(tmp_path / "log") if line["event"] == "iteration"]
    assert any(step["not_converged"] and step["residual"] > 0 for step in steps)


class Broken(RuntimeError):
    pass


@pytest.mark.parametrize(("error", "outcome"), [(Broken("by hand"), "failed"), (KeyboardInterrupt(), "interrupted")])
def test_what_ends_a_training_is_the_last_line(tmp_path: Path, error: BaseException, outcome: str) -> None:
    path = tmp_path / "log.jsonl"

    def stop(step: object) -> None:
        raise error

    with pytest.raises(type(error)), TrainingLog(path) as log:
        fit(resolved(), data(), on_iteration=stop, log=log)
    last = lines(path)[-1]
    assert (last["event"], last["outcome"]) == ("end", outcome)
    assert last["error"] == ("Broken: by hand" if outcome == "failed" else "KeyboardInterrupt")


def test_a_resumed_training_adds_to_the_log(tmp_path: Path) -> None:
    """Every iteration of the undisturbed training stands there, and where one stands twice, it is the same."""
    path, checkpoint = tmp_path / "log.jsonl", tmp_path / "checkpoint"
    seen: list[int] = []
    with TrainingLog(path) as log:
        fit(
            resolved(), data(), threads=1, log=log,
            on_iteration=lambda step: seen.append(step.iteration), should_stop=lambda: len(seen) == 9,
            checkpoint=Checkpoint(checkpoint, seconds=0.0),
        )  # fmt: skip
    before = lines(path)
    assert before[-1]["outcome"] == "stopped"
    with open(path, "a") as stream:
        stream.write('{"event": "itera')  # the training was killed as it wrote
    with TrainingLog(path, append=True) as log:
        model = fit(resolved(), data(), threads=1, log=log, checkpoint=Checkpoint(checkpoint, resume=True))
    after = lines(path)
    assert after[: len(before)] == before
    assert after[len(before)]["event"] == "begin" and after[len(before)]["resumed"] is True
    found: dict[int, float] = {}
    for line in after:
        if line["event"] == "iteration" and line["stage"] == "second":
            assert found.setdefault(line["iteration"], line["objective"]) == line["objective"]
    assert found == {step.iteration: step.objective for step in model.record.curve}
    resumed = [line for line in after[len(before) :] if line["event"] == "iteration"]
    assert all(line["inference"]["graphs"] <= 8 * 30 for line in resumed)  # not those before the break again


def test_a_full_disk_ends_the_log_and_not_the_training(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with TrainingLog("/dev/full") as log:
        model = fit(resolved(), data(), log=log)
        assert log.failure is not None
    assert math.isfinite(model.record.objective)


def test_one_training_a_log(tmp_path: Path) -> None:
    with TrainingLog(tmp_path / "log"), pytest.raises(DcrfError, match="another training is writing its log"):
        TrainingLog(tmp_path / "log").__enter__()


def test_logging_hears_of_stages(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="dcrfdsl"):
        fit(resolved(), data())
    said = [record.getMessage() for record in caplog.records]
    assert [line.split(" after")[0].split(":")[0] for line in said] == [
        "stage first begins", "stage first ends", "stage second begins", "stage second ends",
    ]  # fmt: skip


# the command --------------------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.dcrf").write_text(CHAIN + STAGES)
    rows = sentences("PQR", count=8, seed=0)
    Path("train.txt").write_text("\n".join("".join(f"{' '.join(token)}\n" for token in row) for row in rows))
    return tmp_path


def test_the_command_writes_the_log(here: Path) -> None:
    assert run(["train", "a.dcrf", "train.txt", "-o", "a.model", "-q", "--log", "log.jsonl"]) == 0
    assert events(here / "log.jsonl")[0] == "begin" and lines(here / "log.jsonl")[-1]["outcome"] == "converged"
    assert TrainedModel.load("a.model").record.iterations == lines(here / "log.jsonl")[-1]["iterations"]
    assert run(["train", "a.dcrf", "train.txt", "-o", "a.model", "-q", "--log", "log.jsonl"]) == 0
    assert events(here / "log.jsonl").count("begin") == 1  # a new training begins a new log


WRONG = {
    "a folder": (["--log", "."], 1, "."),
    "the model": (["--log", "a.model"], 2, "`--log` name one file twice"),
    "the data": (["--log", "train.txt"], 1, "error[output-is-input]"),
    "a search": (["--log", "l", "--tune", "--dev", "train.txt"], 1, "error[idle-option]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_log_that_cannot_be_is_one_message(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more, code, words = WRONG[case]
    assert run(["train", "a.dcrf", "train.txt", "-o", "a.model", *more]) == code
    assert words in capsys.readouterr().err
    assert not Path("a.model").exists()
