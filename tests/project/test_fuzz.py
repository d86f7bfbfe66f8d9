"""Fuzzing itself: cases are made again by name, what is wrong is found and made smaller, workers are replaced."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzz import command, worker
from fuzz.cases import Fuzzer, Name, Wrong
from fuzz.grammar import Draw
from fuzz.limits import METHODS, arguments_of
from fuzz.material import Material
from fuzz.runner import Report
from fuzz.templates import Templates
from fuzz.worker import Request
from helpers import ROOT

from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    found = Templates.__new__(Templates)  # no kernels are compiled
    found.room = tmp_path_factory.mktemp("room")
    found.material = Material.gathered(found.room)
    return found


def test_a_name_makes_the_same_case_again(templates: Templates) -> None:
    for number in range(30):
        name = Name.of(f"templates-7-{number}")
        cases = {templates.make(name.generators()[0]) for _ in range(2)}
        assert len(cases) == 1
    with pytest.raises(ValueError, match="named like"):
        Name.of("templates")


def test_many_drawn_templates_are_clean() -> None:
    """Else nothing would be trained."""
    texts = ["\n".join(Draw(np.random.default_rng(n)).template()) + "\n" for n in range(40)]
    clean = [text for text in texts if all(d.severity != "error" for d in check(load_text(text)))]
    assert len(clean) >= 16


def test_every_method_and_setting_is_drawn() -> None:
    """A new one needs no line in the generators."""
    for kind, table in METHODS.items():
        for name, method in table.items():
            draw = Draw(np.random.default_rng(0))
            found = arguments_of(draw, method, sound=True, all_of_them=True)
            keys = {text.partition(" = ")[0] for text in found}
            assert keys == set(method.model_fields) - {method.names}, (kind, name)


# a kind with known faults -------------------------------------------------------------------------------------------


class Planted(Fuzzer[str]):
    """Letters; each stands for a way to fail."""

    def make(self, rng: np.random.Generator) -> str:
        return "".join(rng.choice(list("abc"), 8))

    def attempt(self, case: str, rng: np.random.Generator) -> str:
        if "x" in case:
            raise IndexError(case)
        if "w" in case:
            raise Wrong("a w", case)
        if "m" in case:
            raise MemoryError
        if "k" in case:
            os.kill(os.getpid(), signal.SIGKILL)
        while "s" in case:
            pass
        return "clean"


@pytest.mark.parametrize(
    ("case", "word", "kind"),
    [("aa", "clean", None), ("ax", "crash", "IndexError"), ("w", "wrong", "a w"), ("m", "memory", "memory"),
     ("s", "slow", "slow"), ("k", "died", "SIGKILL")],
)  # fmt: skip
def test_each_way_to_fail_is_told_from_the_others(
    case: str, word: str, kind: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "SECONDS", 0.2)
    before = signal.signal(signal.SIGPROF, worker._too_slow)
    try:
        request = Request(Name("planted", 0, 0), case, is_given=True, apart=True)
        found = worker._answer(Planted(tmp_path), request)
    finally:
        signal.signal(signal.SIGPROF, before)
    assert (found.word, found.kind) == (word, kind)
    pickle.dumps(found)


def test_a_template_is_made_smaller(templates: Templates) -> None:
    text = "data conll(word, y)\nlabel y\nclique y: word, pos\n"
    smaller = list(templates.smaller(text))
    assert "data conll(word, y)\nlabel y\n" in smaller
    assert all(len(other) < len(text) for other in smaller)


# the exit code --------------------------------------------------------------------------------------------------------


def test_workers_that_cannot_begin_are_told_from_nothing_found(tmp_path: Path) -> None:
    (tmp_path / "dcrfdsl.py").write_text("raise ImportError('no such package')\n")
    words = [sys.executable, "tests/fuzz", "--only", "templates", "--cases", "1"]
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (
        2,
        "templates: the worker for templates cannot begin: its error is above\n",
    )
    assert "no such package" in done.stderr


def test_a_run_without_a_case_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run", lambda kind, *rest: Report(kind))
    monkeypatch.setattr(sys, "argv", ["tests/fuzz", "--only", "data"])
    assert command.main() == 1
