"""Checkpoints: a training that was broken off goes on from the last one, as if nothing had happened.

    every so many seconds, and at a request to stop:  what all layers remember -> one file, whole or not at all
    resume:  file -> the same template, data and settings? -> what each layer remembers

The file has the format of a model file, and no pickle. Deterministic methods reach the same weights to the last bit.
What must be the same is the fingerprint of a training:

    what a person gives:       template, stages, data, lexicons, files of states, own functions, a model to start from
    what training makes of it: the features and the numbers of their weights; where own functions run, their results

The second part catches what the first cannot see, such as a function that an own function calls. It is said only where
nothing else differs, since most changes of a file show in it too. Not here: what a layer remembers
(`optimizers.run_state`), the file (`model.file_format`).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..criteria import TrainingProblem
from ..data import Corpus
from ..foundation import DcrfError, IncompatibleState, data_error, dataclass, flattened, restored
from ..model import TrainedModel, TrainingData, content_hash, header_of, read_model, write_model
from ..optimizers import NotNow, RunState
from ..semantics import ModelSpec, to_text
from ..syntax import StateFile
from .parts import PartedProblem, read_compiled

_NAMED_ABOVE = ("lexicons", "registered_texts")  # of the metadata of features
_MADE = ("features", "features of the training data")  # the second part of a fingerprint


def fingerprint_of(
    spec: ModelSpec,
    stages: list[str],
    corpus: TrainingData,
    dev: Corpus | None,
    start: TrainedModel | None,
    model: TrainedModel,
    problem: TrainingProblem,
    unlabelled: Corpus | None = None,
) -> dict[str, str]:
    """What must be the same for a training to go on, as texts by name.

    model, problem: as training begins with them.
    """
    own_functions = model.extractor.registered
    return {
        "template": to_text(spec),
        "stages": ", ".join(stages),
        "training data": content_hash(corpus),
        "held-out data": "" if dev is None else content_hash(dev),
        "unlabelled data": "" if unlabelled is None else content_hash(unlabelled),
        "model to start from": "" if start is None else _hash_of([start.weights, model.weights]),
        "version of dcrfdsl": version("dcrfdsl"),
        **dict(_files(model)),
        **{f"feature function `{name}`": one.text_hash for name, one in own_functions.items() if one.text_hash},
        "features": f"{model.num_weights:,} {_hash_of_features(model)}",
        **({"features of the training data": _hash_of(_rows(problem))} if own_functions else {}),
    }


def _files(model: TrainedModel) -> Iterator[tuple[str, str]]:
    """The contents of the files that the template names."""
    spec, lexicons = model.spec, model.extractor.lexicons.by_name
    for declared in spec.lexicons:  # what is looked up, so that blank lines and the ends of lines do not count
        one = lexicons[declared.name]
        yield f"lexicon `{declared.name}` in `{declared.path}`", _hash_of_text([one.entries, one.values])
    for variable in spec.variables:
        if isinstance(variable.domain, StateFile):
            states = _hash_of_text(model.states[variable.name])
            yield f"states of `{variable.name}` in `{variable.domain.path}`", states


def _hash_of_features(model: TrainedModel) -> str:
    """Of all features, states and weights: texts, numbers and assignments."""
    extractor, cliques = model.extractor, model.parameters.cliques
    metadata = {name: value for name, value in extractor.metadata().items() if name not in _NAMED_ABOVE}
    texts = json.dumps([metadata, {name: list(states) for name, states in model.states.items()}])
    arrays = [array for _, array in sorted(extractor.arrays().items())]
    weights = [array for one in cliques for array in (one.bias, one.run_off, one.entry)]
    return _hash_of([np.frombuffer(texts.encode(), np.uint8), *arrays, *weights])


def _rows(problem: TrainingProblem) -> Iterator[NDArray[Any]]:
    """The features of all positions of the training data, and the pairs of relational cliques."""
    parts: Iterable[Any] = [problem]
    if isinstance(problem, PartedProblem):
        parts = map(read_compiled, problem.learned.paths)
    for part in parts:
        for fields in (*part.rows, *part.relations.values()):
            yield from (one for one in fields if isinstance(one, np.ndarray))


def _hash_of(arrays: Iterable[NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.dtype, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _hash_of_text(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def differences(before: Mapping[str, Any], now: Mapping[str, str]) -> list[str]:
    """In words, what is not as it was."""
    names = [name for name in {**now, **before} if str(before.get(name, "")) != now.get(name, "")]
    given = [name for name in names if name not in _MADE]
    found = [_difference(name, str(before.get(name, "")), now.get(name, "")) for name in given or names[:1]]
    if names and not given and _MADE[1] in now:
        found.append("what your feature functions call or read may have changed")
    return found


def _difference(name: str, before: str, now: str) -> str:
    if name == "template":
        return _changed_line(before, now)
    if name == "version of dcrfdsl":
        return f"dcrfdsl {before or '0'} wrote it, and this is {now}"
    if name == "stages":
        return f"it ran the stages {before}, and now {now} would run"
    if name == "features":
        had, has = before.partition(" ")[0] or "0", now.partition(" ")[0]
        counts = f": it had {had} weights, and now there are {has}" if had != has else ""
        return f"the features or their weights are not the same{counts}"
    if not before or not now:
        article = "no" if not before else "" if name.startswith("states") else "a"
        is_there = "none" if not now else "one"
        return f"it had {article} {name}, and now there is {is_there}".replace("  ", " ")
    return f"the {name} {'is' if name.startswith(('model', 'lexicon', 'feature ')) else 'are'} not the same"


def _changed_line(before: str, now: str) -> str:
    """The first line of a template that is not as it was."""
    lines = list(difflib.ndiff(before.splitlines(), now.splitlines()))
    was, became = (
        next((line[2:].strip() for line in lines if line[:2] == mark and line[2:]), "") for mark in ("- ", "+ ")
    )
    if was and became:
        return f"the template or a setting had `{was}` and has `{became}`"
    return f"the template or a setting had `{was}`" if was else f"the template or a setting now has `{became}`"


VERSION = 3  # of what layers remember; before, messages were kept otherwise, and begin anew
READABLE = (2, VERSION)


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a training saves what it needs to go on.

    path: of the file; it is replaced as training goes on.
    seconds: between two checkpoints, at least; a request to stop writes one more.
    resume: whether training goes on from the file; without it, a file that exists is replaced.
    keep: whether the file stays when training has ended by itself, for callers that have yet to save the model.

    >>> model = fit("address.dcrf", corpus, checkpoint=Checkpoint("address.checkpoint"))
    """

    path: str | os.PathLike[str]
    seconds: float = 60.0
    resume: bool = False
    keep: bool = False


class Checkpointing:
    """Writes the checkpoints of one training.   state: the layers, and what they remembered if training goes on."""

    def __init__(self, checkpoint: Checkpoint, fingerprint: Mapping[str, str]):
        self._checkpoint, self._fingerprint = checkpoint, dict(fingerprint)
        self.state = RunState(_read(checkpoint.path, fingerprint) if checkpoint.resume else None)
        self._written = time.perf_counter()
        self._is_closed = False
        self.failure: str | None = None  # why none could be written; training goes on without
        self.is_suspended = False  # while a stage that has ended runs once more, to build what later stages need

    def after_iteration(self, is_stopping: bool) -> None:
        """Writes a checkpoint if it is time, or if training is about to stop; later stages then write none."""
        is_time = is_stopping or time.perf_counter() - self._written >= self._checkpoint.seconds
        if self._is_closed or self.is_suspended or not is_time:
            return
        arrays: dict[str, NDArray[Any]] = {}
        self._is_closed = is_stopping
        try:
            state = flattened(self.state.snapshot(), arrays)
            header = {"checkpoint": VERSION, "fingerprint": self._fingerprint, "state": state}
            write_model(os.fspath(self._checkpoint.path), arrays, header)
            self._written = time.perf_counter()
        except NotNow:
            pass
        except DcrfError as error:
            self._is_closed, self.failure = True, error.diagnostics[0].message

    def refusal(self, unfit: IncompatibleState) -> DcrfError:
        """The error for a checkpoint of which a layer cannot go on from what it is said to have remembered."""
        return _not_sound(self._checkpoint.path, unfit.message)

    def end(self) -> None:
        """Training has ended; unless it was asked to stop, or the caller keeps the file, nothing of it stays."""
        if not self._is_closed and not self._checkpoint.keep:
            remove_checkpoint(self._checkpoint.path)


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Whether a file says of itself that it is a checkpoint, of this version or another."""
    return "checkpoint" in (header_of(Path(path)) or {})


def remove_checkpoint(path: str | os.PathLike[str]) -> None:
    """Removes the file if it is a checkpoint: training may have written none, and the file be the user's own."""
    if is_checkpoint(path):
        Path(path).unlink(missing_ok=True)


def _read(path: str | os.PathLike[str], fingerprint: Mapping[str, str]) -> dict[str, Any]:
    """What layers remembered. DcrfError if there is no such file, or if it is of another training."""
    if not os.path.exists(path):
        message = f"there is no checkpoint `{os.fspath(path)}`: no training was broken off, or it was too soon"
        raise data_error("no-checkpoint", message, help="train without resuming")
    header, arrays = read_model(os.fspath(path))
    if header.get("checkpoint") not in READABLE or not isinstance(header.get("fingerprint"), dict):
        message = f"`{os.fspath(path)}` is no checkpoint that this version reads"
        raise data_error("cannot-resume", message, help="train without resuming")
    if different := differences(header["fingerprint"], fingerprint):
        message = f"the checkpoint `{os.fspath(path)}` is of another training: {'; '.join(different)}"
        remedy = "give it what it was begun with, or train without resuming"
        raise data_error("cannot-resume", message, help=remedy)
    try:
        state: dict[str, Any] = restored(header["state"], arrays)
    except IncompatibleState as error:
        raise _not_sound(path, error.message) from None
    except (KeyError, TypeError, ValueError) as error:
        raise _not_sound(path, str(error)) from None
    return state


def _not_sound(path: str | os.PathLike[str], detail: str) -> DcrfError:
    message = f"`{os.fspath(path)}` is not a sound checkpoint: {detail}"
    return data_error("cannot-resume", message, help="train without resuming")
