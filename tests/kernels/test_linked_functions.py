"""Functions that only kernels call: linked into their callers, kept for later ones, and refused to Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT

pytestmark = pytest.mark.long  # which start processes

MODULE = """
from numba.core import event
from dcrfdsl.kernels.runtime import inner, inlined, kernel

@inlined
def half(x):
    return x / 2

@inner
def quarters(values, out):
    for n in range(len(values)):
        if values[n] < 0:
            raise ValueError("negative")
        out[n] = half(half(values[n]))

@kernel
def first(values, out):
    quarters(values, out)
    return out.sum()

@kernel
def second(values, out):
    quarters(values, out)
    return out.max()

compiled = []

class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass

event.register("numba:compile", Listener())
"""
CALL = "import linked, numpy as np; values = np.array([4.0, 8.0]); "


def said(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}", "NUMBA_CACHE_DIR": str(folder / "kept")}
    environment |= {"NUMBA_DISABLE_JIT": "0"}
    return subprocess.run([sys.executable, "-c", CALL + program], capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("linked")
    (path / "linked.py").write_text(MODULE)
    return path


def test_a_later_caller_links_what_is_kept(folder: Path) -> None:
    """The second process compiles the other kernel alone; the third one nothing."""
    words = "print({}(values, np.zeros(2)), *[name for name in linked.compiled if hasattr(linked, name)])"
    assert said(folder, words.format("linked.first")).stdout.split() == ["3.0", "first", "quarters", "half"]
    assert said(folder, words.format("linked.second")).stdout.split() == ["2.0", "second"]
    assert said(folder, words.format("linked.second")).stdout.split() == ["2.0"]


def test_errors_come_through_callers(folder: Path) -> None:
    assert "ValueError: negative" in said(folder, "linked.first(-values, np.zeros(2))").stderr


def test_python_cannot_call_them(folder: Path) -> None:
    done = said(folder, "linked.quarters(values, np.zeros(2))")
    assert done.returncode == 1 and "SystemError" in done.stderr
