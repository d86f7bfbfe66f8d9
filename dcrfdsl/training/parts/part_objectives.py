"""The term of one part in an objective that is a sum over sentences, and the sum of two terms.

A term has no penalty and remembers nothing between evaluations: iterative inference begins its messages anew each time.
So it has the same bits wherever and however often it is computed. Each process keeps the layouts of the parts that it
has met, and makes them again from the compiled part where it has not. Not here: the sum (`summed_criterion`).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ...criteria import CRITERIA, Criterion, NumberColumns, TrainingProblem
from ...data import Corpus, raise_if_any
from ...foundation import Floats
from ...graph import Gold, ModelGraph, Parameters, placed_counts
from ...inference import RunStatus
from ...model import impossible_gold
from ...semantics import ModelSpec, NoPrior, TrainSettings
from .criterion_spool import MappedCriterionCache
from .part_files import CompiledPart, read_compiled
from .part_trees import task_workers

MOST_STAGES = 8  # whose layouts a worker of a cluster keeps: those of clients that went away stay


@dataclass(frozen=True, eq=False)
class StageTerms:
    """What the terms of a stage share.

    key: of the stage in this training.   method: the criterion.   folder: for layouts; None: that of temporary files.
    paths: of the compiled parts.   firsts: the number of the first sentence of each.   weights, start, earlier: as in
    `TrainingProblem`.   threads: for one part; 0: as the process decides.
    """

    key: str
    folder: Path | None
    paths: tuple[Path, ...]
    firsts: tuple[int, ...]
    spec: ModelSpec
    graph: ModelGraph
    parameters: Parameters
    states: tuple[tuple[str, ...], ...]
    method: str
    settings: TrainSettings[Any]
    stage: str
    weights: Floats
    start: Floats | None
    earlier: Mapping[str, Floats]
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
    """The terms of some parts: value, gradient [W], how inference ended, and whether some label is not known."""

    value: float
    gradient: Floats
    status: RunStatus
    is_hidden: bool


def supervision_of(shared: StageTerms, part: CompiledPart, number: int) -> TrainingProblem:
    """Part `number` as criteria take it."""
    counts = placed_counts(shared.parameters, part.parameters, part.counts)
    return replace(no_data(shared), rows=part.rows, relations=part.relations, sentence_off=part.sentence_off,
                   gold=part.gold, counts=counts, first_sentence=shared.firsts[number],
                   numbers=NumberColumns(part.file, part.token_line, part.numbers, whole=False))  # fmt: skip


def no_data(shared: StageTerms) -> TrainingProblem:
    """What criteria take beside data."""
    nothing = Gold(np.zeros((len(shared.states), 0), np.int32), ((),) * len(shared.states))
    return TrainingProblem(
        shared.spec, shared.graph, shared.parameters, (), {}, np.zeros(1, np.int64), nothing,
        np.zeros(shared.parameters.num_weights), task_workers(shared.threads), stage=shared.stage,
        weights=shared.weights, states=shared.states, earlier=shared.earlier, start=shared.start,
    )  # fmt: skip


def term_of_part(shared: StageTerms, number: int, point: Point) -> PartSum:
    """The term of a part. DcrfError where no labelling agrees with the constraints and the known labels."""
    criterion = open_term(shared, number)
    for _ in range(point.sharpened):
        criterion.tighten_tolerance()
    value, gradient = criterion.value_and_gradient(np.asarray(point.weights))
    return PartSum(value, gradient, criterion.total_status, _LAYOUTS.is_hidden(shared, number))


def open_term(shared: StageTerms, number: int) -> Criterion:
    """The term of a part as a criterion, of which this process forgets what an evaluation changes."""
    criterion: Criterion = _LAYOUTS.open(shared, number)
    return criterion


def add_terms(one: PartSum, other: PartSum) -> PartSum:
    """The sum of two terms. Neither is changed, as on a cluster one may be asked for again."""
    is_hidden = one.is_hidden or other.is_hidden
    return PartSum(one.value + other.value, one.gradient + other.gradient, one.status + other.status, is_hidden)


def forget_terms(key: str) -> None:
    """Frees the layouts of a stage that has ended."""
    _LAYOUTS.forget(key)


class _Layouts:
    """The layouts of this process, by stage."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._spools: OrderedDict[str, MappedCriterionCache] = OrderedDict()

    def _spool(self, shared: StageTerms) -> MappedCriterionCache:
        key = f"{shared.key} {os.getpid()}"
        with self._lock:
            if key not in self._spools:
                while not shared.threads and len(self._spools) >= MOST_STAGES:
                    self._spools.popitem(last=False)[1].close()
                self._spools[key] = MappedCriterionCache(
                    shared.folder, [shared.graph, shared.parameters, shared.spec, shared.settings]
                )
            return self._spools[key]

    def open(self, shared: StageTerms, number: int) -> Criterion:
        """The term of a part as a criterion."""
        spool = self._spool(shared)
        if number not in spool:
            part = read_compiled(shared.paths[number])
            criterion = CRITERIA[shared.method](supervision_of(shared, part, number), shared.without_prior)
            corpus = Corpus(part.file, part.sentence_off, {}, part.token_line)
            raise_if_any(impossible_gold(corpus, criterion.contradictions()))
            spool.hidden[number] = bool((part.gold.codes < 0).any())
            if not spool.add(number, criterion):
                return criterion
            del part, criterion
        return spool.open(number)

    def is_hidden(self, shared: StageTerms, number: int) -> bool:
        """Whether some label of the part is not known."""
        return self._spool(shared).hidden[number]

    def forget(self, key: str) -> None:
        with self._lock:
            for known in [known for known in self._spools if known.split()[0] == key]:
                self._spools.pop(known).close()


_LAYOUTS: Any = _Layouts()
