"""A tagger shaped like `pycrfsuite.Tagger`: it opens CRFsuite's model files and labels sequences of items.

Not here: reading the file (`model_file`), scores, best labels and sums (`scoring`).
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..foundation import Diagnostic, Floats, Ints, cached_property, write_whole
from . import model_file
from .items import Item, ItemSequence

if TYPE_CHECKING:
    from .scoring import Scorer


class Tagger:
    """Labels sequences of items with a CRFsuite model.

    Methods and errors are those of `pycrfsuite.Tagger`. Beyond it, threads may share a tagger: each has its own current
    sequence, and a thread without one sees the sequence that was set last. A value that is infinite or no number is a
    ValueError, as in training, and has no labels. A tagger can be pickled, its model and current sequence with it.

    >>> tagger = Tagger()
    >>> tagger.labels()
    Traceback (most recent call last):
    ValueError: The tagger is not opened
    """

    def __init__(self) -> None:
        self._opened: _Opened | None = None
        self._own = threading.local()
        self._last: _Current | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The model as the content of a file, which is read again, and the scores of the current sequence."""
        if self._opened is None:
            return {}
        current = self._current()
        opened = self._opened
        scores = None if current is None else current.cells[:, : len(opened.labels)]
        content = model_file.crfsuite_bytes(opened.model)
        return {"content": content, "name": opened.name, "header": opened.header, "scores": scores}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Tagger.__init__(self)
        if state:
            self._opened = _Opened(state["content"], state["name"])
            self._opened.header = state["header"]
            if state["scores"] is not None:
                scorer, given = self._opened.scorer, state["scores"]
                padding = scorer.moves.width - given.shape[1]
                self._last = _Current(scorer, np.pad(given, ((0, 0), (0, padding))))

    # files --------------------------------------------------------------------------------------------------------

    def open(self, name: str | bytes | Path) -> contextlib.closing[Tagger]:
        """Opens a model file; `with tagger.open(name): …` closes it again.

        OSError if it cannot be read, ValueError (a `ModelFileError`) if it is no CRFsuite model or a damaged one.
        """
        with open(name, "rb") as stream:
            content = stream.read()
        return self._open(content, name.decode(errors="replace") if isinstance(name, bytes) else str(name))

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Opens a model from the content of its file. ValueError if it is no CRFsuite model or a damaged one."""
        if not isinstance(value, bytes):
            raise TypeError(f"Argument 'value' has incorrect type (expected bytes, got {type(value).__name__})")
        return self._open(value, "<bytes>")

    def _open(self, content: bytes, name: str) -> contextlib.closing[Tagger]:
        self.close()
        self._opened = _Opened(content, name)
        return contextlib.closing(self)

    def close(self) -> None:
        """Closes the model, and forgets the current sequence."""
        self._opened = self._last = None
        self._own = threading.local()

    # tagging ------------------------------------------------------------------------------------------------------

    def set(self, xseq: Iterable[Item] | ItemSequence) -> None:
        """Makes a sequence of items the current one, for `tag`, `probability` and `marginal`.

        TypeError for items of another kind, ValueError for a value that is infinite or no number.
        """
        scorer = self._model().scorer
        self._own.current = self._last = _Current(scorer, scorer.scores_of([xseq])[1])

    def tag(self, xseq: Iterable[Item] | ItemSequence | None = None) -> list[str]:
        """The best labels of a sequence of items; of the current one if none is given."""
        if xseq is not None:
            self.set(xseq)
        opened, current = self._model(), self._current()
        return [] if current is None else opened.texts(np.array([0, len(current)]), current.cells.copy())[0]

    def tag_all(self, xseqs: Iterable[Iterable[Item] | ItemSequence]) -> list[list[str]]:
        """The best labels of each sequence, as `tag` has them, in less than half the time. The current sequence stays.

        Raises as `tag` does, and then there are no labels.
        """
        opened = self._model()
        return [labels for batch in opened.scorer.batches(xseqs) for labels in opened.texts(*batch)]

    def probability(self, yseq: Iterable[str]) -> float:
        """The probability of a labelling of the current sequence; 0 if the sequence is empty.

        ValueError if there are more or fewer labels than items, RuntimeError if the model does not have one of them.
        """
        opened, current = self._model(), self._current()
        labels = list(yseq)
        if current is None or not len(current):
            return 0.0
        if len(labels) != len(current):
            lengths = f"|x| = {len(current)}, |y| = {len(labels)}"
            raise ValueError(f"The numbers of items and labels differ: {lengths}")
        return current.probability([opened.number_of(label) for label in labels])

    def marginal(self, y: str, pos: int) -> float:
        """The marginal probability of a label at a position, counted from 0, of the current sequence.

        0 if the sequence is empty. ValueError if it has no such position, RuntimeError if the model does not have the
        label.
        """
        opened, current = self._model(), self._current()
        if current is None or not len(current):
            return 0.0
        rows, position = current.marginals, int(pos)
        if not 0 <= position < len(rows):
            raise ValueError(f"The position, {position} is out of range of {len(rows)}")
        return rows[position][opened.number_of(y)]

    # what is inside -----------------------------------------------------------------------------------------------

    def labels(self) -> list[str]:
        """The labels of the model, by number."""
        return list(self._model().labels)

    def dump(self, filename: str | Path | None = None) -> None:
        """Writes the model as text to a file, or to the standard output."""
        lines = model_file.dump_lines(*self._content())
        if filename is None:
            sys.stdout.writelines(lines)
        else:
            write_whole(filename, ["".join(lines).encode()])

    def info(self) -> model_file.ParsedDump:
        """The content of the model: header, labels, attributes and weights, as dicts."""
        return model_file.parsed_dump(*self._content())

    def _content(self) -> tuple[model_file.CrfsuiteModel, dict[str, str]]:
        if self._opened is None:
            raise RuntimeError("Tagger is closed")
        return self._opened.model, self._opened.header

    # ----------------------------------------------------------------------------------------------------------------

    def _model(self) -> _Opened:
        if self._opened is None:
            raise ValueError("The tagger is not opened")
        return self._opened

    def _current(self) -> _Current | None:
        """This thread's sequence, or that of the thread that set one last."""
        return cast("_Current | None", getattr(self._own, "current", self._last))


class _Opened:
    """An opened model."""

    def __init__(self, content: bytes, name: str):
        self.name = name
        self.model: model_file.CrfsuiteModel = model_file.read_crfsuite(content, name)
        self.header = model_file.header_of(content)
        self.labels = [_label(label, name) for label in self.model.labels]
        self._numbers = {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def scorer(self) -> Scorer:
        """The model as kernels read it; they are loaded by whoever tags."""
        from .scoring import Scorer

        return Scorer(self.model)

    def texts(self, sequence_off: Ints, cells: Floats) -> list[list[str]]:
        """The best labels of each sequence; the scores [N, width] are overwritten."""
        found = list(map(self.labels.__getitem__, self.scorer.best_labels(sequence_off, cells).tolist()))
        return [found[first:last] for first, last in pairwise(sequence_off.tolist())]

    def number_of(self, label: Any) -> int:
        """The number of a label. TypeError if it is no text, RuntimeError if the model does not have it."""
        number = self._numbers.get(label) if isinstance(label, str) else None
        if number is not None:
            return number
        text = bytes(label).decode(errors="surrogateescape") if isinstance(label, (bytes, bytearray)) else label
        if not isinstance(text, str):
            raise TypeError(f"expected str or bytes as a label, {type(label).__name__} found")
        if text not in self._numbers:
            raise RuntimeError(f"Failed to convert into label identifier: {text}")
        return self._numbers[text]


def _label(label: str | bytes, name: str) -> str:
    if isinstance(label, str):
        return label
    message = f"the label {label!r} of `{name}` is not UTF-8"
    raise model_file.ModelFileError(
        Diagnostic("not-utf8", message, location=name, help="train the model on data in UTF-8")
    )


class _Current:
    """A sequence of items under a model, and what has been computed of it."""

    def __init__(self, scorer: Scorer, cells: Floats):
        self._scorer = scorer
        self.cells = cells  # [T, width] scores

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def sums(self) -> tuple[float, Floats]:
        """(log Z, marginals [T, L])"""
        return self._scorer.sums_of(self.cells)

    @cached_property
    def marginals(self) -> list[list[float]]:
        """[T][L]: a program that asks for one asks for all, and lists are faster to read."""
        return cast("list[list[float]]", self.sums[1].tolist())

    def probability(self, path: list[int]) -> float:
        """The probability of a labelling."""
        return math.exp(self._scorer.path_score(self.cells, path) - self.sums[0])
