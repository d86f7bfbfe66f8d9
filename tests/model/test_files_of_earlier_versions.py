"""Model files, checkpoints and exported taggers that earlier versions wrote answer as they did then.

How the files were made is in `files_of_earlier_versions/make.py`. One answer was renewed: the log-likelihood of the
model `pruned by a stage`, once among the labellings that pruning leaves, is among all where exact inference fits.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files_of_earlier_versions.answers import FUNCTIONS, answers_of

import dcrfdsl

FILES = Path(__file__).parent / "files_of_earlier_versions"
VERSIONS = sorted(path.parent.name for path in FILES.glob("*/cases.json"))
EXACT = 1e-9
CONTINUED = 1e-6  # of weights, which another machine may sum in another order
# Nothing can be learned from this data, so the least is at zero weights. Where the gap lets the training end depends on
# how sums are rounded. Messages of the checkpoint are not taken over: they begin anew, and end within their tolerance.
WITHIN_THE_GAP = {"train hmsvm": 3e-4, "train likelihood, trp": 5e-5}


@functools.cache
def cases(version: str, kind: str) -> dict[str, Any]:
    of_version = json.loads((FILES / version / "cases.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = of_version[kind]
    return found


def every(kind: str) -> list[Any]:
    return [
        pytest.param(version, name, id=f"{version} {name}") for version in VERSIONS for name in cases(version, kind)
    ]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all versions, each kind in a folder `VERSION/KIND`."""
    folder = tmp_path_factory.mktemp("files")
    for version in VERSIONS:
        for archive in (FILES / version).glob("*.tar.xz"):
            with tarfile.open(archive) as tar:
                tar.extractall(folder / version / archive.name.removesuffix(".tar.xz"), filter="data")
    return folder


def assert_same(found: Any, expected: Any, where: str = "") -> None:
    """Texts and whole numbers are equal, other numbers to `EXACT`. What is found may know more variables."""
    if isinstance(expected, dict):
        assert found.keys() >= expected.keys(), where
        for key, value in expected.items():
            assert_same(found[key], value, f"{where} {key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for n, value in enumerate(expected):
            assert_same(found[n], value, f"{where}[{n}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=EXACT, abs=EXACT), where
    else:
        assert found == expected, where


@pytest.mark.parametrize(("version", "name"), every("models"))
def test_a_model_file_answers_as_it_did(version: str, name: str, unpacked: Path) -> None:
    case = cases(version, "models")[name]
    model = dcrfdsl.load(unpacked / version / "models" / f"{name}.model", registered=FUNCTIONS)
    assert_same(json.loads(json.dumps(answers_of(model, case["train"], case["new"]))), case["answers"])


@pytest.mark.parametrize(("version", "name"), every("checkpoints"))
def test_a_training_goes_on_from_a_checkpoint(version: str, name: str, unpacked: Path) -> None:
    """To the weights that it would have had without a break. Another version says that it cannot."""
    case = cases(version, "checkpoints")[name]
    resolved = dcrfdsl.load_text(case["template"])
    data = resolved.require().data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows(case["train"], data)
    path = unpacked / version / "checkpoints" / f"{name}.checkpoint"
    checkpoint = dcrfdsl.Checkpoint(path, resume=True)
    if version != dcrfdsl.__version__:
        with pytest.raises(dcrfdsl.DcrfError, match="version of dcrfdsl"):
            dcrfdsl.fit(resolved, corpus, threads=1, checkpoint=checkpoint)
        return
    model = dcrfdsl.fit(resolved, corpus, threads=1, checkpoint=checkpoint)
    near = WITHIN_THE_GAP.get(name, CONTINUED)
    np.testing.assert_allclose(model.weights, case["weights"], rtol=CONTINUED, atol=near)


@pytest.mark.parametrize("version", VERSIONS)
def test_exported_taggers_run_without_the_package(version: str, unpacked: Path) -> None:
    own = cases(version, "taggers")
    reader = [sys.executable, FILES / "read_taggers.py", unpacked / version / "taggers"]
    run = subprocess.run(reader, input=json.dumps(own), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    for name, case in own.items():
        assert_same(found[name], case["answers"], name)
