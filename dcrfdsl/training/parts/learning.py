"""Learns what data in parts determines before training: states, features, weights; equal to what `problem` learns.

The result is kept in the cache beside the compiled parts, in a folder named by the hash of all that it depends on: the
parts, the template without its training, files that it names. Not here: what is done with one part (`part_tasks`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from ...features import FeatureSurvey, RegisteredFeature, join_surveys, load_lexicons
from ...foundation import DcrfError, Diagnostic
from ...graph import ModelGraph, join_parameters
from ...model import TrainedModel, TrainingRecord
from ...semantics import CallSpec, Label, Latent, Memory, ModelSpec
from ..problem import known_columns
from .corpus_parts import CorpusParts
from .part_files import PART_VERSION
from .part_tasks import Compiling, Counting, Surveying, compile_part, count_part, states_of_parts, survey_part
from .part_trees import PartRunner


@dataclass(frozen=True, eq=False)
class LearnedParts:
    """A model with weights of 0, and the compiled parts of its training data, in order.

    firsts: the number of the first sentence of each part.
    """

    model: TrainedModel
    paths: tuple[Path, ...]
    firsts: tuple[int, ...]


def learn_parts(
    spec: ModelSpec,
    parts: CorpusParts,
    directories: Mapping[str, Path],
    registered: Mapping[str, RegisteredFeature],
    runner: PartRunner,
    fits: Callable[[str], None] = lambda doing: None,
) -> LearnedParts:
    """Learns states, features and weights, or finds them in the cache.

    fits: called after each part with what is being done; raises DcrfError if too much memory is in use.
    """
    lexicons = load_lexicons(spec, directories)
    surveying = Surveying(spec, parts, lexicons, registered, runner.threads)
    folder = parts.cache / f"compiled-{_key(surveying, directories)}"
    paths = tuple(folder / f"part-{number:05}" for number in range(len(parts.parts)))
    firsts = tuple(accumulate((part.num_sentences for part in parts.parts[:-1]), initial=0))
    kept = folder / "learned"
    if kept.exists() and all(path.exists() for path in paths):
        try:
            model = TrainedModel.load(kept, registered=registered, unchecked=True)
            return LearnedParts(_current(model, spec, parts), paths, firsts)
        except DcrfError:
            pass  # it is learned anew
    folder.mkdir(parents=True, exist_ok=True)
    count = len(parts.parts)
    labels: dict[str, dict[str, None]] = {}

    def surveys() -> Iterator[FeatureSurvey]:
        for values, survey in runner.each(survey_part, surveying, count):
            for name, found in values.items():
                labels.setdefault(name, {}).update(dict.fromkeys(found))
            yield survey
            fits("reading texts")

    survey = join_surveys(surveys())
    states = states_of_parts(surveying, {name: list(found) for name, found in labels.items()}, directories)
    learner = surveying.learner
    joined = learner.joined()
    for counted in runner.each(count_part, Counting(surveying, survey), count):
        learner.add(joined, counted)
        fits("counting features")
    extractor = learner.extractor(joined, survey)
    del joined
    graph = ModelGraph.of(spec, states, extractor.set_of_clique, extractor.bias_of_clique)
    compiling = Compiling(spec, parts, states, extractor, graph, paths)
    parameters = runner.total(compile_part, compiling, count, None, join_parameters)
    fits("compiling features")
    model = TrainedModel(
        spec, states, extractor, {}, graph, parameters, np.zeros(parameters.num_weights), TrainingRecord()
    )
    replace(model, spec=_bare(spec)).save(kept)
    return LearnedParts(_current(model, spec, parts), paths, firsts)


def _current(model: TrainedModel, spec: ModelSpec, parts: CorpusParts) -> TrainedModel:
    """The model with the training that the template asks for now."""
    known = {name: parts.values_of(name) for name in known_columns(spec)}
    return TrainedModel(
        spec, model.states, model.extractor, known, model.graph, model.parameters, model.weights, TrainingRecord()
    )


def _key(surveying: Surveying, directories: Mapping[str, Path]) -> str:
    """A hash of all that states, features and weights depend on."""
    spec = surveying.spec
    content = [PART_VERSION, surveying.parts.sha256, _bare(spec).model_dump(mode="json")]
    digest = hashlib.sha256(json.dumps(content).encode())
    for name, array in sorted(surveying.lexicons.arrays().items()):
        digest.update(name.encode())
        digest.update(array.tobytes())
    variables: tuple[Label | Latent | Memory, ...] = (*spec.labels, *spec.latents, *spec.memories)
    for variable in variables:
        path = getattr(variable.domain, "path", None)
        if path is not None:
            digest.update(_bytes_of(directories.get(variable.name, Path()) / path))
    if surveying.registered:  # what they compute may change while their names stay
        digest.update(secrets.token_bytes(16))
    return digest.hexdigest()[:32]


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"cannot read the states in `{path}`: {error.strerror}"
        raise DcrfError(Diagnostic("missing-states", message, location=str(path))) from None


def _bare(spec: ModelSpec) -> ModelSpec:
    """The specification without training and evaluation, on which neither states nor features nor weights depend."""
    nothing = {"stages": (), "evaluate": (), "doc": (), "infer": CallSpec(name="auto"), "decode": None}
    return spec.model_copy(update=nothing)
