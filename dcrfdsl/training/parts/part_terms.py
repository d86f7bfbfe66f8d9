"""The term of one part in an objective that is a sum over sentences, and the sum of two terms.

A term has no penalty and remembers nothing between evaluations: iterative inference begins its messages anew each time.
So it has the same bits wherever and however often it is computed. Each process keeps the layouts of the parts that it
has met, and makes them again from the compiled part where it has not.

Laying out the data of a part for training takes as long as several evaluations, so it is done once. The layout goes to
a file without a name in the folder of the cache, which ends with the process, however that ends. Opening a criterion
maps it, and closing it frees its memory. Arrays that several parts have in common are stored once. The system keeps in
memory what fits and reads the rest again. Not here: the sum (`summed_criteria`).
"""

from __future__ import annotations

import hashlib
import io
import mmap
import operator
import os
import pickle
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock, local
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...criteria import CRITERIA, Criterion, NumberColumns, ShareCounts, TrainingProblem
from ...data import Corpus, raise_if_any
from ...foundation import WRITING, Floats, clear_os_errors, dataclass
from ...graph import placed_counts
from ...inference import RunStatus
from ...kernels.runtime import aligned_zeros
from ...model import impossible_gold
from ...semantics import NoPrior, TrainSettings
from .part_files import CompiledPart, read_compiled
from .part_runners import SHARED, task_workers

SHARES = "expected shares"  # in place of a criterion
LEAST_BYTES = 1 << 14  # of an array that is mapped; smaller ones are copied
Fields = TypeVar("Fields", bound=tuple[Any, ...])


def _zeros(shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """An array of zeros, of which nothing is stored."""
    doubles = -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // 8)
    raw: NDArray[Any] = aligned_zeros(doubles).view(np.uint8)
    return raw[: int(np.prod(shape)) * np.dtype(dtype).itemsize].view(dtype).reshape(shape)


class _Pickler(pickle.Pickler):
    """Leaves out arrays of zeros, in which results are gathered, and what single threads keep.

    What all parts share is named by its place in `shared`.
    """

    def __init__(self, out: io.BytesIO, shared: Sequence[Any], **how: Any):
        super().__init__(out, **how)
        self._number = {id(one): number for number, one in enumerate(shared)}

    def persistent_id(self, item: Any) -> int | None:
        return self._number.get(id(item))

    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, local):
            return local, ()
        is_array = type(item) is np.ndarray and item.dtype != object and item.flags.c_contiguous
        if is_array and item.nbytes >= LEAST_BYTES and not item.any():
            return _zeros, (item.shape, item.dtype.str)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote."""

    def __init__(self, code: bytes, shared: Sequence[Any], buffers: Sequence[memoryview]):
        super().__init__(io.BytesIO(code), buffers=buffers)
        self._shared = shared

    def persistent_load(self, number: int) -> Any:
        return self._shared[number]


class MappedCriterionCache:
    """The criteria of some parts on disk. Threads may share it.

    folder: where the file without a name lies; None: among temporary files.   shared: objects that all parts refer to.
    """

    def __init__(self, folder: Path | None, shared: Sequence[Any]):
        self._shared = tuple(shared)
        self._place_name = str(folder or tempfile.gettempdir())
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (it lasts as long as this object)
        self._end, self._lock = 0, Lock()
        self._stored: dict[bytes, tuple[int, int]] = {}  # of each content: where it begins, and its length
        self._parts: dict[int, tuple[bytes, list[tuple[int, int]]]] = {}
        self.hidden: dict[int, bool] = {}  # whether some label of the part is not known

    def __contains__(self, number: int) -> bool:
        return number in self._parts

    def add(self, number: int, criterion: Criterion | ShareCounts) -> bool:
        """Stores the criterion of a part; False if it holds something that cannot be stored."""
        out, buffers = io.BytesIO(), list[pickle.PickleBuffer]()

        def apart(buffer: pickle.PickleBuffer) -> bool:
            is_small = buffer.raw().nbytes < LEAST_BYTES
            if not is_small:
                buffers.append(buffer)
            return is_small  # False: it is stored apart

        try:
            _Pickler(out, self._shared, protocol=5, buffer_callback=apart).dump(criterion)
        except (pickle.PicklingError, AttributeError, TypeError):
            return False
        places = [self._place(buffer.raw()) for buffer in buffers]
        self._parts[number] = out.getvalue(), places
        return True

    def _place(self, content: memoryview) -> tuple[int, int]:
        """Stores bytes, unless they are stored already; where they begin, and their length."""
        digest = hashlib.blake2b(content, digest_size=20).digest()
        with self._lock:
            if digest in self._stored:
                return self._stored[digest]
            start, size, written = self._end, content.nbytes, 0
            with clear_os_errors(self._place_name, WRITING):
                while written < size:
                    written += os.pwrite(self._file.fileno(), content[written:], start + written)
            self._end += -(-size // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
            self._stored[digest] = start, size  # only now: another thread may map it at once
            return start, size

    def open(self, number: int) -> Any:
        """The criterion of a part, whose large arrays lie in the file. What is written to them is forgotten."""
        code, places = self._parts[number]
        buffers = [
            memoryview(mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_COPY, offset=start))
            for start, size in places
        ]
        return _Unpickler(code, self._shared, buffers).load()

    def close(self) -> None:
        """Frees the space on disk."""
        self._parts.clear()
        self._file.close()


MOST_STAGES = 8  # whose layouts a worker of a cluster keeps: those of clients that went away stay


@dataclass(frozen=True, eq=False)
class StageTerms:
    """What the terms of a stage share.

    key: of the stage in this training.   method: the criterion, or `SHARES`.   folder: for layouts; None: that of
    temporary files.   paths: of the compiled parts.   firsts: the number of the first sentence of each.
    problem: without data.   threads: for one part; 0: as the process decides.
    """

    key: str
    folder: Path | None
    paths: tuple[Path, ...]
    firsts: tuple[int, ...]
    problem: TrainingProblem
    method: str
    settings: TrainSettings[Any]
    threads: int

    @property
    def joint(self) -> TrainSettings[Any]:
        """The settings, so that pieces are one objective: those that watch a score are never trained apart."""
        return self.settings.model_copy(update={"patience": 1})

    @property
    def without_prior(self) -> TrainSettings[Any]:
        """The settings of the terms: the sum adds the penalty once."""
        return self.joint.model_copy(update={"prior": NoPrior(), "clique_priors": {}})


class Point(NamedTuple):
    """Where terms are evaluated: weights [W], and how often inference was asked to be more exact."""

    weights: Floats
    sharpened: int = 0


class PartSum(NamedTuple):
    """The terms of some parts: value, gradient [W], how inference ended, and how many parts have unknown labels."""

    value: float
    gradient: Floats
    status: RunStatus
    hidden: int


def problem_of_part(shared: StageTerms, part: CompiledPart, number: int) -> TrainingProblem:
    """Part `number` as criteria take it; the rows of expected shares, the last ones, are for `SHARES` alone."""
    problem, counts = shared.problem, np.zeros(0)
    own = len(part.rows) - len(problem.spec.expectations)
    if shared.method != SHARES:
        counts = placed_counts(problem.parameters, part.parameters, part.counts)
    return replace(
        problem, rows=part.rows if shared.method == SHARES else part.rows[:own], relations=part.relations,
        sentence_off=part.sentence_off, gold=part.gold, counts=counts, workers=task_workers(shared.threads),
        first_sentence=shared.firsts[number],
        numbers=NumberColumns(part.file, part.token_line, part.numbers, whole=False),
    )  # fmt: skip


def term_of_part(shared: StageTerms, number: int, point: Point) -> PartSum:
    """The term of a part. DcrfError where no labelling agrees with the constraints and the known labels."""
    criterion: Criterion = open_term(shared, number)
    for _ in range(point.sharpened):
        criterion.tighten_tolerance()
    value, gradient = criterion.value_and_gradient(np.asarray(point.weights))
    return PartSum(value, gradient, criterion.total_status, _layouts(shared).hidden[number])


def add_each(one: Fields, other: Fields) -> Fields:
    """Two named tuples, added field by field. Neither is changed, as on a cluster one may be asked for again."""
    return type(one)(*map(operator.add, one, other))


# layouts --------------------------------------------------------------------------------------------------------------

_LAYOUTS: OrderedDict[str, MappedCriterionCache] = OrderedDict()  # of this process, by stage
_LOCK = Lock()


def open_term(shared: StageTerms, number: int) -> Any:
    """The term of a part, of which this process forgets what an evaluation changes."""
    layouts = _layouts(shared)
    if number not in layouts:
        part = read_compiled(shared.paths[number])
        problem = problem_of_part(shared, part, number)
        criterion: Criterion | ShareCounts
        if shared.method == SHARES:
            criterion = ShareCounts(problem, shared.without_prior)
        else:
            criterion = CRITERIA[shared.method](problem, shared.without_prior)
            corpus = Corpus(part.file, part.sentence_off, {}, part.token_line)
            raise_if_any(impossible_gold(corpus, criterion.contradictions()))
        layouts.hidden[number] = bool(part.gold.open_sentences(part.sentence_off).any())
        if not layouts.add(number, criterion):
            return criterion
        del part, criterion, problem
    return layouts.open(number)


def _layouts(shared: StageTerms) -> MappedCriterionCache:
    key, problem = f"{shared.key} {os.getpid()}", shared.problem
    with _LOCK:
        if key not in _LAYOUTS:
            while not shared.threads and len(_LAYOUTS) >= MOST_STAGES:
                _LAYOUTS.popitem(last=False)[1].close()
            common = problem.graph, problem.parameters, problem.spec, shared.settings
            _LAYOUTS[key] = MappedCriterionCache(shared.folder, common)
        return _LAYOUTS[key]


def forget_terms(key: str) -> None:
    """Frees the layouts of a stage that has ended."""
    with _LOCK:
        for known in [known for known in _LAYOUTS if known.split()[0] == key]:
            _LAYOUTS.pop(known).close()
    SHARED.clear()
