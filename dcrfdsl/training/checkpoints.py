"""Checkpoints: a training that was broken off goes on from the last one, as if nothing had happened.

    every so many seconds, and at a request to stop:  what all layers remember -> one file, whole or not at all
    resume:  file -> the same template, data and settings? -> what each layer remembers

The file has the format of a model file, and no pickle. Deterministic methods reach the same weights to the last bit.
Not here: what a layer remembers (`optimizers.run_state`), what must be the same (`fingerprints`), the file
(`model.file_format`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..foundation import DcrfError, Diagnostic, IncompatibleState, recalled
from ..model import header_of, read_model, write_model
from ..optimizers import NotNow, RunState
from .fingerprints import differences

VERSION = 2  # of what layers remember
_ARRAY = "array of the checkpoint"  # the key of the placeholder of an array


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
        if self._is_closed or self.is_suspended:
            return
        if is_stopping or time.perf_counter() - self._written >= self._checkpoint.seconds:
            try:
                self._write(self.state.snapshot())
            except NotNow:
                pass
            except DcrfError as error:
                self._is_closed, self.failure = True, error.diagnostics[0].message
                return
            self._is_closed = is_stopping

    def _write(self, snapshot: Mapping[str, Any]) -> None:
        arrays: dict[str, NDArray[Any]] = {}
        header = {
            "checkpoint": VERSION, "fingerprint": self._fingerprint, "state": _flattened(snapshot, arrays),
        }  # fmt: skip
        write_model(os.fspath(self._checkpoint.path), arrays, header)
        self._written = time.perf_counter()

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
        raise DcrfError(Diagnostic("no-checkpoint", message, help="train without resuming"))
    header, arrays = read_model(os.fspath(path))
    if header.get("checkpoint") != VERSION or not isinstance(header.get("fingerprint"), dict):
        message = f"`{os.fspath(path)}` is no checkpoint that this version reads"
        raise DcrfError(Diagnostic("cannot-resume", message, help="train without resuming"))
    if different := differences(header["fingerprint"], fingerprint):
        message = f"the checkpoint `{os.fspath(path)}` is of another training: {'; '.join(different)}"
        remedy = "give it what it was begun with, or train without resuming"
        raise DcrfError(Diagnostic("cannot-resume", message, help=remedy))
    try:
        state: dict[str, Any] = _restored(header["state"], arrays)
    except IncompatibleState as error:
        raise _not_sound(path, error.message) from None
    except (KeyError, TypeError, ValueError) as error:
        raise _not_sound(path, str(error)) from None
    return state


def _not_sound(path: str | os.PathLike[str], detail: str) -> DcrfError:
    message = f"`{os.fspath(path)}` is not a sound checkpoint: {detail}"
    return DcrfError(Diagnostic("cannot-resume", message, help="train without resuming"))


# plain values and arrays ----------------------------------------------------------------------------------------------


def _flattened(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """The value as JSON, with a placeholder for each array, which is added to `arrays`."""
    if isinstance(value, np.ndarray):
        name = str(len(arrays))
        arrays[name] = value
        return {_ARRAY: name, "shape": list(value.shape), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): _flattened(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_flattened(item, arrays) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a layer remembers a {type(value).__name__}, which has no place in a checkpoint")


def _restored(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value that `_flattened` took apart."""
    if isinstance(value, dict):
        if _ARRAY in value:
            return recalled(arrays, value[_ARRAY], *value["shape"], dtype=value["dtype"])
        return {key: _restored(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_restored(item, arrays) for item in value]
    return value
