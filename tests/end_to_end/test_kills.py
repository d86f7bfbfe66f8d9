"""`dcrfdsl train` that is killed at random moments and goes on by `--resume`: the model is the one without a break.

`DCRFDSL_KILLS` is how often each kind of training is killed; by default a few times.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from template_cases import sentences

from dcrfdsl.model.trained_model import TrainedModel

KILLS = int(os.environ.get("DCRFDSL_KILLS", "3"))
CHAIN = "data conll(word, y)\nlabel y\nclique y: bias, word[-1..1], word[-1] & word\nclique y[-1], y\n"
SLOW = "prior = gaussian(variance = 100)\n    optimizer = lbfgs(tolerance = 1e-9, max_iterations = 150)\n"
KINDS = {
    "chain": f"{CHAIN}infer exact\ntrain likelihood:\n    {SLOW}",
    "trp": f"{CHAIN}clique y[-2], y\ninfer trp\ntrain likelihood:\n    prior = gaussian(variance = 100)\n"
           "    optimizer = lbfgs(tolerance = 1e-6, max_iterations = 80)\n",
    "hmsvm": f"{CHAIN}infer exact\ntrain hmsvm:\n    C = 10\n    tolerance = 1e-4\n",
    "stages": f"{CHAIN}infer exact\ntrain likelihood as ml:\n    {SLOW}train perceptron as p after ml: epochs = 30\n"
              f"train likelihood as again after p:\n    {SLOW}",
}  # fmt: skip


def training(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    program = "from dcrfdsl.cli import main; main()"
    arguments = ["train", "t.dcrf", "t.txt", "-o", "t.model", "-q", "--checkpoint", "0", "--threads", "1", *options]
    with open(folder.parent / "errors.txt", "wb") as errors:
        return subprocess.Popen([sys.executable, "-c", program, *arguments], cwd=folder, stderr=errors)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("kind", KINDS)
def test_a_training_that_is_killed_goes_on(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "t.dcrf").write_text(KINDS[kind])
    rows = sentences("PQRST", count=40, seed=0, words="abcdefghijklmnop")
    (folder / "t.txt").write_text("\n\n".join("\n".join(" ".join(token) for token in row) for row in rows) + "\n")
    model, checkpoint = folder / "t.model", folder / "t.model.checkpoint"
    for _ in range(2):  # first with kernels to compile
        begun = time.perf_counter()
        assert training(folder).wait() == 0
    duration = time.perf_counter() - begun
    whole = TrainedModel.load(model)
    model.unlink()
    draw, killed, resumed = random.Random(kind), 0, 0
    while killed < KILLS or not model.exists():
        if model.exists():
            model.unlink()  # it ended before it was to be killed
        resumed += checkpoint.exists()
        process = training(folder, *(["--resume"] if checkpoint.exists() else []))
        while killed == 0 and process.poll() is None and not checkpoint.exists():
            time.sleep(0.001)  # the first time as soon as there is something to go on from
        try:
            wait = 0.0 if killed == 0 else draw.uniform(0.4, 1.0) * duration
            process.wait(wait if killed < KILLS else None)
            assert process.returncode == 0, (tmp_path / "errors.txt").read_text()
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
        left = {path.name for path in folder.iterdir() if not path.name.startswith(".dcrfdsl-")}
        assert left <= {"t.dcrf", "t.txt", "t.model", "t.model.checkpoint"}
    assert resumed
    again = TrainedModel.load(model)
    assert np.array_equal(again.weights, whole.weights)
    assert len(again.record.curve) == len(whole.record.curve)
    assert {path.name for path in folder.iterdir()} == {"t.dcrf", "t.txt", "t.model"}
