"""Checkpoints that do not fit: what has changed since is named, and a damaged file refused in one line."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from broken_trainings import Broken, breaking_after
from template_cases import sentences

from dcrfdsl import Checkpoint, DcrfError, RegisteredFeature, corpus_from_rows, fit, load_template, open_parts
from dcrfdsl.model.file_format import read_model, write_model
from dcrfdsl.semantics.resolve.resolution import Resolved

TEMPLATE = """dcrf 1
data conll(word, y)
label y in "states.txt"
lexicon L = "words.txt"
clique y: bias, word, L(word), kind(word)
clique y[-1], y
infer exact
"""
KIND = "import dcrfdsl\n\ndef part(word):\n    return {part}\n\n@dcrfdsl.feature\ndef kind(word):\n    return {kind}\n"
FILES = {
    "states.txt": "P\nQ\nR\n", "words.txt": "a\tfirst\nb\tsecond\n",
    "own.py": KIND.format(part="word < 'c'", kind="'low' if part(word) else 'high'"),
}  # fmt: skip
SHORT = "train likelihood: optimizer = lbfgs(max_iterations = 6)\n"
STAGES = {
    "auto": "train likelihood: optimizer = auto(max_iterations = 9, epochs = 3)\n",
    "lbfgs": SHORT,
    "two stages": f"{SHORT.replace(':', ' as ml:')}train mce after ml: optimizer = lbfgs(max_iterations = 6)\n",
    "sgd": "train likelihood: optimizer = sgd(epochs = 8)\n",
    "perceptron": "train perceptron: epochs = 6\n",
    "voted": "train perceptron:\n    epochs = 6\n    vote = yes\n",
    "working_set": "train hmsvm\n",
}
CHANGES = {  # a file and its new text -> what the message says
    "a lexicon of another size": ("words.txt", "a\tfirst\n", "the lexicon `L` in `words.txt` is not the same"),
    "a lexicon as large": ("words.txt", "a\tsecond\nb\tfirst\n", "the lexicon `L` in `words.txt` is not the same"),
    "more states": ("states.txt", "P\nQ\nR\nS\n", "the states of `y` in `states.txt` are not the same"),
    "a function with other features": (
        "own.py", KIND.format(part="word < 'c'", kind="word"), "the feature function `kind` is not the same"),
    "a function with as many": (
        "own.py", KIND.format(part="word < 'c'", kind="'high' if part(word) else 'low'"),
        "the feature function `kind` is not the same"),
    "what a function calls": (
        "own.py", KIND.format(part="word < 'b'", kind="'low' if part(word) else 'high'"),
        "what your feature functions call or read may have changed"),
    "what a function calls, with other features": (
        "own.py", KIND.format(part="True", kind="'low' if part(word) else 'high'"),
        "the features or their weights are not the same: it had"),
}  # fmt: skip


class Training:
    """A training in a folder, which is broken off after some iterations and goes on."""

    def __init__(self, folder: Path, stages: str):
        self.folder, self.path = folder, folder / "checkpoint"
        for name, text in {**FILES, "t.dcrf": TEMPLATE + stages}.items():
            (folder / name).write_text(text)

    @property
    def template(self) -> Resolved:
        return load_template(self.folder / "t.dcrf")

    @property
    def registered(self) -> dict[str, RegisteredFeature]:
        return {"kind": runpy.run_path(str(self.folder / "own.py"))["kind"]}

    def data(self) -> Any:
        rows = sentences("PQR", count=50, seed=0, words="abcdef")
        return corpus_from_rows(rows, self.template.require().data)

    def run(self, **how: Any) -> np.ndarray:
        return fit(self.template, self.data(), registered=self.registered, **how).weights

    def break_off(self, count: int) -> None:
        """Trains until `count` iterations are done; the checkpoint is of the last but one."""
        with pytest.raises(Broken):
            self.run(on_iteration=breaking_after(count), checkpoint=Checkpoint(self.path, seconds=0.0))

    def resume(self) -> np.ndarray:
        return self.run(checkpoint=Checkpoint(self.path, resume=True))

    def refusal(self) -> str:
        with pytest.raises(DcrfError) as refused:
            self.resume()
        (diagnostic,) = refused.value.diagnostics
        assert diagnostic.slug == "cannot-resume" and diagnostic.help
        return diagnostic.message


class InParts(Training):
    """The same on data in two parts."""

    def data(self) -> Any:
        files = []
        for number in range(2):
            rows = sentences("PQR", count=25, seed=number, words="abcdef")
            files.append(self.folder / f"{number}.txt")
            files[-1].write_text("\n".join("".join(f"{word} {y}\n" for word, y in row) for row in rows))
        return open_parts(files, self.template.require(), cache=self.folder / "cache")


@pytest.mark.parametrize("kind", [Training, InParts])
def test_what_has_changed_is_named(kind: type[Training], tmp_path: Path) -> None:
    training = kind(tmp_path, SHORT)
    training.break_off(3)
    for name, (file, text, expected) in CHANGES.items():
        (tmp_path / file).write_text(text)
        message = training.refusal()
        assert expected in message and message.count("the same") == 1, name
        (tmp_path / file).write_text(FILES[file])
    whole = training.run()
    assert np.array_equal(training.resume(), whole)


@pytest.mark.parametrize("stages", ["two stages", "sgd", "perceptron"])
def test_every_optimizer_refuses(stages: str, tmp_path: Path) -> None:
    training = Training(tmp_path, STAGES[stages])
    training.break_off(3)
    (tmp_path / "words.txt").write_text("a\tsecond\nb\tfirst\n")
    assert "the lexicon `L` in `words.txt` is not the same" in training.refusal()


def test_what_changes_nothing_does_not_hinder(tmp_path: Path) -> None:
    training = Training(tmp_path, SHORT)
    whole = training.run()
    training.break_off(3)
    (tmp_path / "words.txt").write_text("\na\tfirst\n\nb\tsecond\r\n")
    text = FILES["own.py"].replace("import dcrfdsl", "from dcrfdsl import feature").replace("@dcrfdsl.f", "@f")
    (tmp_path / "own.py").write_text(text + "\n\n@feature\ndef idle(word):\n    return word\n")
    assert np.array_equal(training.resume(), whole)


def test_a_function_without_a_source_is_told_by_its_results(tmp_path: Path) -> None:
    class Made(Training):
        ending = "a"

        @property
        def registered(self) -> dict[str, RegisteredFeature]:
            scope: dict[str, Callable[[str], str]] = {}
            exec(f"def kind(word):\n    return 'low' if word < '{self.ending}' else 'high'", scope)
            return {"kind": RegisteredFeature("kind", scope["kind"])}

    training = Made(tmp_path, SHORT)
    training.ending = "c"
    training.break_off(3)
    training.ending = "d"
    assert "the features of the training data are not the same" in training.refusal()


# damage ---------------------------------------------------------------------------------------------------------------

CHANGED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "longer": lambda array: np.concatenate([array, array, np.zeros(3, array.dtype).reshape(3, *[1] * (array.ndim - 1))])
    if array.ndim == 1 else np.concatenate([array, array]),
    "shorter": lambda array: array[: len(array) // 2],
    "one": lambda array: array[:1],
    "none": lambda array: array[:0],
    "narrow": lambda array: array.astype(np.float32 if array.dtype == np.float64 else np.int64),
}  # fmt: skip


@pytest.mark.parametrize("stages", [name if name in ("auto", "voted") else pytest.param(name, marks=pytest.mark.long)
                                    for name in STAGES])  # fmt: skip
@pytest.mark.parametrize("is_described", [False, True], ids=["", "described"])
def test_changed_arrays_are_refused(stages: str, is_described: bool, tmp_path: Path) -> None:
    """is_described: whether the header is changed as well, so that layers see the array."""
    training = Training(tmp_path, STAGES[stages])
    training.break_off(5)
    header, arrays = read_model(training.path)
    for name, array in arrays.items():
        for how, change in CHANGED.items():
            other = np.ascontiguousarray(change(array))
            if other.shape == array.shape and other.dtype == array.dtype:
                continue
            described = _described(header, name, other) if is_described else header
            write_model(training.path, {**arrays, name: other}, described)
            assert "is not a sound checkpoint: " in training.refusal(), (name, how)
    write_model(training.path, arrays, header)
    assert np.array_equal(training.resume(), training.run())


def _described(value: Any, name: str, array: np.ndarray) -> Any:
    """The header with another shape and dtype of an array."""
    if isinstance(value, dict):
        if value.get("array of the checkpoint") == name:
            return {**value, "shape": list(array.shape), "dtype": str(array.dtype)}
        return {key: _described(item, name, array) for key, item in value.items()}
    return [_described(item, name, array) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("stages", ["working_set", "voted"])
def test_numbers_out_of_bounds_are_refused(stages: str, tmp_path: Path) -> None:
    training = Training(tmp_path, STAGES[stages])
    training.break_off(5)
    header, arrays = read_model(training.path)
    seen = 0
    for name, array in arrays.items():
        if array.dtype == np.int32 and array.size:  # numbers of weights
            write_model(training.path, {**arrays, name: np.full_like(array, 1 << 30)}, header)
            assert "expected 0 to" in training.refusal()
            seen += 1
    assert seen
