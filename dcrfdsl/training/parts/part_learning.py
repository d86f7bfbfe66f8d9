"""Learns what data in parts determines before training: states, features, weights, as `untrained_model` does.

    moments  part -> those of numbers         joined: mean and spread of `standardize`, if it is called
    survey   part -> label values, texts      joined: states, vocabularies
    count    part -> keys and their counts    joined: alphabet
    compile  part -> rows, gold labels, the weights that they call for: a file; joined: all weights

Each task reads one part from disk, so that it can run anywhere that reaches the cache. The result is kept in the cache
beside the compiled parts, in a folder named by the hash of all that it depends on: the parts, the template without its
training, files that it names. Not here: files of parts (`part_files`), what runs tasks (`part_runners`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from ... import data, features
from ...criteria import FeatureMoments, add_moments, moments_of_rows, share_tables
from ...foundation import DcrfError, Ints, data_error, dataclass
from ...graph import ModelGraph, Parameters, join_parameters, learn_parameters
from ...model import TrainedModel, TrainingRecord, gold_of
from ...semantics import ModelSpec
from ...syntax import CallSpec
from ..untrained_model import broken_constraints, known_columns, number_columns
from .corpus_parts import CorpusParts
from .part_files import PART_VERSION, CompiledPart, read_compiled, write_part
from .part_runners import PartRunner, task_workers

States = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Surveying:
    """What the first passes share.   registered: the user's functions by name.   learned: by `standardize`, by term."""

    spec: ModelSpec
    parts: CorpusParts
    lexicons: features.Lexicons
    registered: Mapping[str, features.RegisteredFeature]
    threads: int
    learned: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def learner(self) -> features.PartLearner:
        return features.PartLearner(self.spec, self.lexicons, self.registered, self.learned)


def scales_of_part(shared: Surveying, number: int) -> list[features.NumberMoments]:
    """The moments of each number that is brought to scale."""
    return shared.learner.moments(shared.parts.corpus(number))


def survey_part(shared: Surveying, number: int) -> tuple[dict[str, Sequence[str]], features.FeatureSurvey]:
    """The distinct values of each label column, in order of first appearance, and the texts of features."""
    corpus = shared.parts.corpus(number)
    labels: dict[str, Sequence[str]] = {}
    for label in shared.spec.labels:
        column = corpus.columns.get(label.name)
        if isinstance(column, data.InternedColumn):
            labels[label.name] = list(column.values)
    return labels, shared.learner.survey(corpus)


def states_of_parts(
    shared: Surveying, values: Mapping[str, Sequence[str]], directories: Mapping[str, Path]
) -> dict[str, tuple[str, ...]]:
    """The states of all variables.   values: of each label in all parts. DcrfError as `learn_states` raises it."""
    spec = shared.spec
    most = max(map(len, values.values()), default=0)
    columns = {
        name: data.InternedColumn(np.minimum(np.arange(most), len(found) - 1).astype(np.int32), found)
        for name, found in values.items()
    }
    nothing = data.Corpus(shared.parts.file, np.array([0, most]), columns, np.ones(most, np.int64))
    try:
        learned = data.learn_states(spec, nothing, directories)
    except DcrfError:
        for number in range(len(shared.parts.parts)):  # the first part that is wrong by itself knows the line
            data.learn_states(spec, shared.parts.corpus(number), directories)
        raise
    return data.variable_states(spec, learned, directories)


def count_part(shared: tuple[Surveying, features.FeatureSurvey], number: int) -> list[list[features.KeyCounts]]:
    """The keys of a part, for each feature set and template.   shared: with the survey of all parts."""
    surveying, survey = shared
    return surveying.learner.count(surveying.parts.corpus(number), survey, task_workers(surveying.threads).map)


@dataclass(frozen=True, eq=False)
class Compiling:
    """What the third pass shares.   paths: of the compiled parts."""

    spec: ModelSpec
    parts: CorpusParts
    states: States
    extractor: features.FeatureExtractor
    graph: ModelGraph
    paths: tuple[Path, ...]


def compile_part(shared: Compiling, number: int, _: object = None) -> Parameters:
    """Writes what training reads of a part. The weights that it calls for. DcrfError where its gold labels are wrong.

    It needs neither text nor features afterwards.
    """
    spec, corpus, states = shared.spec, shared.parts.corpus(number), shared.states
    labels = data.encode_labels(spec, states, corpus, trains=True)
    data.raise_if_any(data.check_gold(spec, states, corpus, labels))
    tables = [template.reads for template in shared.graph.coded]
    rows, relations = shared.extractor.everything(corpus, tables)
    gold = gold_of(spec, states, shared.extractor, corpus, labels)
    data.raise_if_any(broken_constraints(spec, states, shared.graph, corpus, gold, rows))
    num_features = [alphabet.num_features for alphabet in shared.extractor.sets]
    parameters, counts = learn_parameters(
        spec.cliques, shared.graph, rows, num_features, gold, corpus.sentence_off, relations
    )
    values = shared.extractor.values(corpus)
    rows = (*rows, *shared.extractor.code_rows(values, [table.observed for table in share_tables(spec, states)]))
    compiled = CompiledPart(
        corpus.file, corpus.sentence_off, corpus.token_line, rows, relations, gold, parameters, counts,
        number_columns(corpus).columns,
    )  # fmt: skip
    write_part(shared.paths[number], compiled)
    return parameters


@dataclass(frozen=True, eq=False)
class Numbers:
    """The feature sets with numbers: how many features each has, and which are looked at closely."""

    paths: tuple[Path, ...]
    sizes: Mapping[int, int]
    dense: Mapping[int, Ints]


def moments_of_part(shared: Numbers, number: int, _: None) -> dict[int, FeatureMoments]:
    """The moments of the features of a part that are numbers, by feature set."""
    rows = read_compiled(shared.paths[number]).rows
    return {n: moments_of_rows(rows[n], shared.sizes[n], dense) for n, dense in shared.dense.items()}


def join_moments(one: dict[int, FeatureMoments], other: dict[int, FeatureMoments]) -> dict[int, FeatureMoments]:
    return {n: add_moments(moments, other[n]) for n, moments in one.items()}


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
    registered: Mapping[str, features.RegisteredFeature],
    runner: PartRunner,
    fits: Callable[[str], None],
) -> LearnedParts:
    """Learns states, features and weights, or finds them in the cache.

    fits: called after each part with what is being done; raises DcrfError if too much memory is in use.
    """
    lexicons = features.load_lexicons(spec, directories)
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
    if any(features.learned_terms(spec)):
        scales = surveying.learner.scales(runner.each(scales_of_part, surveying, count))
        surveying = replace(surveying, learned=scales)

    def surveys() -> Iterator[features.FeatureSurvey]:
        for values, survey in runner.each(survey_part, surveying, count):
            for name, found in values.items():
                labels.setdefault(name, {}).update(dict.fromkeys(found))
            yield survey
            fits("reading texts")

    survey = features.join_surveys(surveys())
    states = states_of_parts(surveying, {name: list(found) for name, found in labels.items()}, directories)
    spec = features.with_mapped_views(spec, states, registered)

    def counts() -> Iterator[list[list[features.KeyCounts]]]:
        for counted in runner.each(count_part, (surveying, survey), count):
            yield counted
            fits("counting features")

    extractor = surveying.learner.extractor(counts(), survey)
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
    return replace(model, spec=spec, known_values=known, record=TrainingRecord())


def _key(surveying: Surveying, directories: Mapping[str, Path]) -> str:
    """A hash of all that states, features and weights depend on."""
    spec = surveying.spec
    content = [PART_VERSION, surveying.parts.sha256, _bare(spec).model_dump(mode="json")]
    digest = hashlib.sha256(json.dumps(content).encode())
    for name, array in sorted(surveying.lexicons.arrays().items()):
        digest.update(name.encode())
        digest.update(array.tobytes())
    for variable in spec.variables:
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
        raise data_error("missing-states", message, file=str(path)) from None


def _bare(spec: ModelSpec) -> ModelSpec:
    """The specification without training and evaluation, on which neither states nor features nor weights depend."""
    nothing = {"stages": (), "evaluate": (), "doc": (), "infer": CallSpec(name="auto"), "decode": None}
    return spec.model_copy(update=nothing)
