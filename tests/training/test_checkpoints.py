"""Trainings that are broken off after any iteration and go on: weights, curve and record as without a break."""

from __future__ import annotations

import json
from contextlib import chdir
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from broken_trainings import Broken, breaking_after
from template_cases import sentences

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows, read_corpus
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.optimizers.objective import Iteration
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text
from dcrfdsl.training.checkpoints import Checkpoint
from dcrfdsl.training.pipeline import fit

DATA = "data conll(word, y)\nlabel y\n"
CHAIN = f"{DATA}clique y: bias, word[-1..1]\nclique y[-1], y\ninfer exact\n"
LOOPS = f"{DATA}clique y: bias, word\nclique y[-1], y\nclique y[-2], y\n"
LATENT = f"{DATA}latent z in 2\nclique y, z\nclique z: bias, word\nclique z[-1], z\ninfer exact\n"
SHORT = "max_iterations = 9"
CASES = {
    "auto": f"{CHAIN}train likelihood: optimizer = auto({SHORT}, epochs = 3)\n",
    "converged": f"{CHAIN}train likelihood: prior = gaussian(variance = 0.1)\n",
    "owlqn": f"{CHAIN}train likelihood:\n    prior = laplace\n    optimizer = owlqn({SHORT})\n",
    "proximal": f"{CHAIN}train likelihood:\n    prior = group_lasso\n    optimizer = proximal({SHORT})\n",
    "cg": f"{CHAIN}train likelihood: optimizer = cg({SHORT})\n",
    "quickprop": f"{CHAIN}train likelihood: optimizer = quickprop({SHORT}, online = 3)\n",
    "sgd": f"{CHAIN}train likelihood: optimizer = sgd(epochs = 5)\n",
    "gpd": f"{CHAIN}train mce: optimizer = gpd(epochs = 5)\n",
    "iis": f"{CHAIN}train likelihood:\n    prior = none\n    optimizer = iis({SHORT})\n",
    "perceptron": f"{CHAIN}train perceptron: epochs = 5\n",
    "voted": f"{CHAIN}train perceptron:\n    epochs = 5\n    vote = yes\n",
    "working_set": f"{CHAIN}train hmsvm\n",
    "bcfw": f"{CHAIN}train hmsvm: optimizer = bcfw({SHORT})\n",
    "boosting": f"{CHAIN}train adaboost: rounds = 8\n",
    "mce": f"{CHAIN}train mce: optimizer = lbfgs({SHORT})\n",
    "marginal": f"{CHAIN}train marginal: optimizer = lbfgs({SHORT})\n",
    "exponential": f"{CHAIN}train exponential: optimizer = lbfgs({SHORT})\n",
    "pieces": f"{CHAIN}train pwpl: optimizer = lbfgs({SHORT})\n",
    "nota": f"{CHAIN}train pwpl:\n    nota = above(after = 3)\n    optimizer = lbfgs({SHORT})\n",
    "trp": f"{LOOPS}infer trp\ntrain likelihood: optimizer = lbfgs({SHORT})\n",
    "latent": f"{LATENT}train likelihood:\n    restarts = 3\n    optimizer = lbfgs(max_iterations = 4)\n",
    "stages": f"{CHAIN}train likelihood as ml: optimizer = lbfgs(max_iterations = 4)\ntrain rescale after ml\n",
    "three stages": f"{CHAIN}train likelihood as ml: optimizer = lbfgs(max_iterations = 4)\n"
                    "train mce after ml: optimizer = lbfgs(max_iterations = 4)\ntrain rescale after mce\n",
    "induce": f"{DATA}clique y: bias, word[-1..1]\nclique y[-1], y\ninfer exact\n"
              "train induce as more: rounds = 2\ntrain mce after more: optimizer = lbfgs(max_iterations = 4)\n",
}  # fmt: skip
EVERY_TIME = ("auto", "sgd", "working_set", "trp", "stages", "perceptron")
STRIDES = {"induce": 6}  # iterations between two breaks; 2 where nothing is said


WRONG = {  # options -> the message
    "--resume": "no-checkpoint", "--from a.txt": "not-a-model", "--from b.model": "no-file",
    "--tune --dev a.txt --resume": "idle-option", "--tune --dev a.txt --from a.model": "idle-option",
}  # fmt: skip


def data_of(resolved: Resolved, seed: int = 0) -> Corpus:
    return corpus_from_rows(sentences("PQR", count=70, seed=seed, words="abcdef"), resolved.require().data)


def plain(model: TrainedModel) -> dict[str, Any]:
    """The record without times."""
    record = json.loads(json.dumps(asdict(model.record)))

    def timeless(one: dict[str, Any]) -> dict[str, Any]:
        curve = [Iteration(*step)._replace(seconds=0.0) for step in one["curve"]]
        before = [timeless(earlier) for earlier in one.get("before", ())]
        return {**one, "seconds": 0.0, "curve": curve, "before": before}

    return timeless(record)


def broken_off(resolved: Resolved, path: Path, count: int, **how: Any) -> None:
    """Trains until `count` iterations are done; from then on no checkpoint is written."""
    with pytest.raises(Broken):
        fit(
            resolved,
            data_of(resolved),
            on_iteration=breaking_after(count),
            checkpoint=Checkpoint(path, seconds=0.0),
            **how,
        )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in EVERY_TIME else pytest.mark.long) for name in CASES]
)
def test_a_training_goes_on_as_if_it_had_not_been_broken_off(name: str, tmp_path: Path) -> None:
    resolved = load_text(CASES[name])
    path = tmp_path / "checkpoint"
    dev = data_of(resolved, 5) if name in ("auto", "stages") else None
    whole = fit(resolved, data_of(resolved), dev=dev)
    curve = [*whole.record.curve, *(step for before in whole.record.before for step in before["curve"])]
    exact = 0
    for count in range(1, len(curve), STRIDES.get(name, 2)):
        broken_off(resolved, path, count, dev=dev)
        if not path.exists():
            continue  # no iteration so far that training could go on from
        again = fit(resolved, data_of(resolved), dev=dev, checkpoint=Checkpoint(path, resume=True))
        assert not path.exists()
        assert plain(again) == plain(whole), f"broken off after {count} iterations"
        assert np.array_equal(again.weights, whole.weights)
        for label, codes in whole.predict(data_of(resolved, 3)).codes.items():
            assert np.array_equal(again.predict(data_of(resolved, 3)).codes[label], codes)
        exact += 1
    assert exact


def refusal(tmp_path: Path, text: str, **how: Any) -> str:
    """The message when a training of `auto`, broken off, is to go on with this template."""
    broken_off(load_text(CASES["auto"]), tmp_path / "checkpoint", 4)
    resolved = load_text(text)
    data = how.pop("data", data_of(resolved))
    with pytest.raises(DcrfError) as refused:
        fit(resolved, data, checkpoint=Checkpoint(tmp_path / "checkpoint", resume=True), **how)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.slug == "cannot-resume" and diagnostic.help
    return diagnostic.message


def test_another_training_does_not_go_on_from_it(tmp_path: Path) -> None:
    text = CASES["auto"]
    resolved = load_text(text)
    assert "training data are not the same" in refusal(tmp_path, text, data=data_of(resolved, 1))
    assert "had no held-out data, and now there is one" in refusal(tmp_path, text, dev=data_of(resolved, 1))
    changed = refusal(tmp_path, text.replace("epochs = 3", "epochs = 4"))
    assert "epochs = 3" in changed and "epochs = 4" in changed
    assert "lower(word)" in refusal(tmp_path, text.replace("bias,", "bias, lower(word),"))
    assert "model to start from" in refusal(tmp_path, text, start=fit(resolved, data_of(resolved)))


def test_there_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    resolved = load_text(CASES["auto"])
    with pytest.raises(DcrfError, match="there is no checkpoint"):
        fit(resolved, data_of(resolved), checkpoint=Checkpoint(tmp_path / "checkpoint", resume=True))
    fit(resolved, data_of(resolved)).save(tmp_path / "model")
    with pytest.raises(DcrfError, match="is no checkpoint"):
        fit(resolved, data_of(resolved), checkpoint=Checkpoint(tmp_path / "model", resume=True))
    (tmp_path / "cut").write_bytes((tmp_path / "model").read_bytes()[:-100])
    with pytest.raises(DcrfError, match="ends after"):
        fit(resolved, data_of(resolved), checkpoint=Checkpoint(tmp_path / "cut", resume=True))


def test_a_checkpoint_is_no_model(tmp_path: Path) -> None:
    broken_off(load_text(CASES["auto"]), tmp_path / "checkpoint", 4)
    with pytest.raises(DcrfError, match="is a checkpoint of a training") as refused:
        TrainedModel.load(tmp_path / "checkpoint")
    assert refused.value.diagnostics[0].slug == "not-a-model"


def test_a_request_to_stop_leaves_a_checkpoint_and_a_model(tmp_path: Path) -> None:
    resolved, path = load_text(CASES["stages"]), tmp_path / "checkpoint"
    whole = fit(resolved, data_of(resolved))
    count = 0

    def is_third() -> bool:
        nonlocal count
        count += 1
        return count >= 3

    stopped = fit(resolved, data_of(resolved), should_stop=is_third, checkpoint=Checkpoint(path))
    assert not stopped.record.converged and path.exists()
    again = fit(resolved, data_of(resolved), checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(again.weights, whole.weights) and not path.exists()


def test_a_checkpoint_that_cannot_be_written_ends_no_training(tmp_path: Path) -> None:
    resolved = load_text(CASES["auto"])
    model = fit(resolved, data_of(resolved), checkpoint=Checkpoint(tmp_path / "gone" / "checkpoint", seconds=0.0))
    assert model.record.iterations == 9
    assert any("no checkpoint could be written" in note for note in model.record.notes)


def test_the_command_goes_on_and_says_where_it_could(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CASES["auto"]
    (tmp_path / "a.dcrf").write_text(text)
    rows = sentences("PQR", count=70, seed=0, words="abcdef")
    (tmp_path / "a.txt").write_text("\n".join("".join(f"{word} {y}\n" for word, y in row) for row in rows))
    with chdir(tmp_path):
        line = ["train", "a.dcrf", "a.txt", "-o", "a.model"]
        resolved = load_text(text)
        corpus = read_corpus(Path("a.txt"), resolved.require().data)
        whole = fit(resolved, corpus)

        def stop(step: Iteration) -> None:
            if step.iteration == 5:
                raise Broken

        with pytest.raises(Broken):
            fit(resolved, corpus, on_iteration=stop, checkpoint=Checkpoint("a.model.checkpoint", seconds=0.0))
        broken_off = Path("a.model.checkpoint").read_bytes()
        assert run([*line, "--resume", "--curve", "a.csv"]) == 0
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.dcrf", "a.model", "a.txt"]
        assert np.array_equal(TrainedModel.load("a.model").weights, whole.weights)
        assert len(Path("a.csv").read_text().splitlines()) == len(whole.record.curve) + 1
        assert "--resume" not in capsys.readouterr().err
        Path("a.model.checkpoint").write_bytes(broken_off[:-9])
        assert run(line) == 0
        assert "`--resume` goes on from it" in capsys.readouterr().err
        assert run([*line, "--from", "a.model"]) == 0
        for wrong, slug in WRONG.items():
            assert run([*line, *wrong.split()]) == 1
            assert f"error[{slug}]" in capsys.readouterr().err
