"""Training data in parts as stages take it: which stages can train on it, and what they may use.

A stage can where its objective is a sum over sentences that its optimizer takes as such: by value and gradient, as the
dual of `hmsvm` by searches of all parts, as a perceptron by passes over each part. Steps after single sentences need
the data itself, so what trains by them is refused. Memory, threads and a cluster are resources of the training. Not
here: learning (`part_learning`), the sums (`summed_criteria`).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ... import semantics
from ...criteria import (
    Criterion,
    ExpectedLikelihood,
    FeatureMoments,
    SharePenalty,
    TrainingProblem,
    number_features,
    share_tables,
)
from ...features import RegisteredFeature
from ...foundation import data_error, dataclass, memory_in_use
from ...graph import Gold
from ...inference import Workers
from ...model import TrainedModel
from .corpus_parts import CorpusParts
from .part_learning import LearnedParts, Numbers, join_moments, learn_parts, moments_of_part
from .part_runners import InTurn, PartRunner, part_runner, require_shared, ship_functions
from .part_shares import PartedCounts
from .part_terms import StageTerms
from .summed_criteria import SummedCriterion, SummedMargins, SummedPerceptron

FULL = ("auto", "lbfgs", "owlqn", "proximal", "cg")  # optimizers that need value and gradient alone
SUMMED = {  # the optimizers of each criterion that is a sum over sentences
    **dict.fromkeys(("likelihood", "mce", "marginal", "exponential", *semantics.PIECES), FULL),
    "hmsvm": ("auto", "working_set"),
    "perceptron": ("auto",),
}
BY_PARTS = {"hmsvm": SummedMargins, "perceptron": SummedPerceptron}


def refuse_unsummed(label: str, settings: semantics.TrainSettings[Any]) -> None:
    """DcrfError unless the objective of a stage is a sum over sentences, and its optimizer takes value and gradient."""
    criterion, optimizer = settings.criterion, settings.optimizer
    is_likely = isinstance(criterion, semantics.PieceSettings) and isinstance(criterion.nota, semantics.LikelyCases)
    if criterion.method not in SUMMED:
        what = f"`{criterion.method}` is no sum over sentences of value and gradient"
    elif isinstance(criterion, semantics.MceSettings) and isinstance(criterion.loss, semantics.MeasureLoss):
        what = f"`{criterion.loss.method}` is a ratio of counts, no sum over sentences"
    elif is_likely:
        what = "cases of NOTA that a model chooses need all data at once"
    elif any(isinstance(prior, semantics.GaussianPrior) and prior.tied_to for prior in settings.clique_priors.values()):
        what = "a prior around another clique needs the features of both at hand"
    elif settings.clique_kernels:
        what = "an observation kernel compares all pairs of positions"
    elif isinstance(criterion, semantics.PerceptronSettings) and criterion.vote:
        what = "the voters of a perceptron come one after another, and parts take their passes side by side"
    elif optimizer.method not in SUMMED[criterion.method]:
        what = f"`{optimizer.method}` steps after single sentences or needs more than value and gradient"
    else:
        return
    message = f"stage `{label}` cannot train on data in parts: {what}"
    remedy = (
        "train by `likelihood`, `mce`, `marginal`, `exponential` or pieces with "
        f"{', '.join(f'`{name}`' for name in FULL)}, by `hmsvm` or `perceptron` with `auto`, or on data in memory: one "
        "file without `--memory`, `--cache`, `--workers` and `--cluster`"
    )
    raise data_error("no-sum-over-parts", message, help=remedy)


def refuse_unsummed_stages(spec: semantics.ModelSpec, stage: str | None) -> None:
    """DcrfError unless a stage, by default the last one, and those before it can train on data in parts."""
    if any(clique.segmental for clique in spec.cliques):
        message = "data in parts is learned token by token, and a `segment` statement needs whole segments of all of it"
        raise data_error("cannot-segment", message, help="train on the data at once, or leave the statement out")
    for entry in semantics.stage_chain(spec, stage):
        refuse_unsummed(entry.label, semantics.stage_settings(spec, entry.label))


@dataclass(frozen=True, eq=False, kw_only=True)
class PartedProblem(TrainingProblem):
    """Training data in parts; the fields of data are empty.   learned: its compiled parts.   fits: of `learn_parts`."""

    learned: LearnedParts
    runner: PartRunner
    fits: Callable[[str], None]

    def summed(self, settings: semantics.TrainSettings[Any]) -> Criterion:
        """The criterion of a stage. DcrfError where it is no sum over sentences."""
        refuse_unsummed(self.stage, settings)
        paths, threads, method = self.learned.paths, self.runner.threads, settings.criterion.method
        own = {one.name: getattr(self, one.name) for one in fields(TrainingProblem)}
        bare = TrainingProblem(**{**own, "extractor": None})
        folder = paths[0].parent if threads else None
        key, firsts = secrets.token_hex(8), self.learned.firsts
        terms = StageTerms(key, folder, paths, firsts, bare, method, settings, threads)
        summed = BY_PARTS.get(method, SummedCriterion)
        criterion = summed(terms, self.runner, self.workers, self.fits, self.extractor)
        tables = share_tables(self.spec, dict(zip(self.graph.variables, self.states, strict=True)))
        if not tables or method != "likelihood":
            return criterion
        penalty = SharePenalty(self.spec, tables, PartedCounts(terms, tables, self.runner))
        penalty.refuse_idle("the data")
        return ExpectedLikelihood(criterion, penalty)

    def feature_moments(self) -> dict[int, FeatureMoments]:
        dense = {} if self.extractor is None else number_features(self.extractor)
        if self.extractor is None or not dense:
            return {}
        paths, sizes = self.learned.paths, {number: self.extractor.sets[number].num_features for number in dense}
        return self.runner.total(moments_of_part, Numbers(paths, sizes, dense), len(paths), None, join_moments)


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
LEAST = 10**8  # bytes that the libraries take before any data is read, about
OPEN_BYTES = 5 * 10**8  # allowed for each further part that is open at the same time
THREADS_A_PART = 4  # more do not find enough to do in one part


def parse_memory(text: str | int) -> int:
    """Bytes of `2GB`, `500M`, `1.5GiB` or a number. DcrfError for anything else."""
    if isinstance(text, int):
        number = text
    else:
        found = _SIZE.fullmatch(text.strip())
        if found is None:
            message = f"`{text}` is no amount of memory"
            raise data_error("bad-setting", message, help="write it as `2GB`, `500MB` or `1.5GiB`")
        base = _UNITS[found[2].upper()]
        number = int(float(found[1]) * (1 << (10 * round(len(str(base)) / 3)) if found[3] else base))
    if number < LEAST:
        message = f"{number:,} bytes of memory are too few: the libraries alone take about {LEAST:,}"
        raise data_error("bad-setting", message, help="write `--memory 2GB`, or what the machine has")
    return number


def _require_memory(parts: CorpusParts, doing: str) -> None:
    """DcrfError if this process uses more memory than it may."""
    if parts.memory is None:
        return
    used, most = memory_in_use(), parse_memory(parts.memory)
    if used > most:
        message = f"{doing} takes {used / 1e9:.2f} GB of memory, and `--memory` allows {most / 1e9:.2f} GB"
        remedy = (
            "allow more; or have fewer features: `with min_count = 2` leaves out those that occur once; or train "
            "by `lbfgs(memory = 3)`, which remembers less"
        )
        raise data_error("out-of-memory", message, help=remedy)


def untrained_on_parts(
    spec: semantics.ModelSpec,
    parts: CorpusParts,
    directories: Mapping[str, Path],
    registered: Mapping[str, RegisteredFeature],
    workers: Workers,
) -> tuple[TrainedModel, PartedProblem]:
    """The model with all weights 0, and its training data in parts."""
    if parts.cluster is not None:
        require_shared(parts.cluster, parts.cache)
        ship_functions(registered)
        runner: PartRunner = part_runner(parts.cluster)
    else:
        at_once = workers.threads // THREADS_A_PART
        if parts.memory is not None:
            at_once = min(at_once, parse_memory(parts.memory) // OPEN_BYTES)
        runner = InTurn(workers.threads, at_once)
    fits = partial(_require_memory, parts)
    learned = learn_parts(spec, parts, directories, registered, runner, fits)
    model = learned.model
    states = tuple(model.states[name] for name in model.graph.variables)
    nothing = Gold(np.zeros((len(states), 0), np.int32), ((),) * len(states))
    return model, PartedProblem(
        model.spec, model.graph, model.parameters, (), {}, np.zeros(1, np.int64), nothing,
        np.zeros(model.num_weights), workers, states=states, extractor=model.extractor, learned=learned,
        runner=runner, fits=fits,
    )  # fmt: skip
