"""What is done with each part before training: its states and texts, its keys, and what training reads of it.

    survey   part -> label values, texts      joined: states, vocabularies
    count    part -> keys and their counts    joined: alphabet
    compile  part -> rows, gold labels, the weights that they call for: a file; joined: all weights

Each task reads one part from disk, so that it can run anywhere that reaches the cache. Not here: joining (`learning`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...criteria import FeatureMoments, add_moments, moments_of_rows
from ...data import (
    Corpus,
    InternedColumn,
    check_gold,
    encode_labels,
    learn_states,
    raise_if_any,
    variable_states,
)
from ...features import FeatureExtractor, FeatureSurvey, KeyCounts, Lexicons, PartLearner, RegisteredFeature
from ...foundation import DcrfError, Ints
from ...graph import ModelGraph, Parameters, learn_parameters
from ...model import gold_of
from ...semantics import ModelSpec
from ..problem import broken_constraints, number_columns
from .corpus_parts import CorpusParts
from .part_files import CompiledPart, read_compiled, write_compiled
from .part_trees import task_workers

States = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Surveying:
    """What the first pass shares.   registered: the user's functions by name."""

    spec: ModelSpec
    parts: CorpusParts
    lexicons: Lexicons
    registered: Mapping[str, RegisteredFeature]
    threads: int

    @property
    def learner(self) -> PartLearner:
        return PartLearner(self.spec, self.lexicons, self.registered)


def survey_part(shared: Surveying, number: int) -> tuple[dict[str, Sequence[str]], FeatureSurvey]:
    """The distinct values of each label column, in order of first appearance, and the texts of features."""
    corpus = shared.parts.corpus(number)
    labels: dict[str, Sequence[str]] = {}
    for label in shared.spec.labels:
        column = corpus.columns.get(label.name)
        if isinstance(column, InternedColumn):
            labels[label.name] = list(column.values)
    return labels, shared.learner.survey(corpus)


def states_of_parts(
    shared: Surveying, values: Mapping[str, Sequence[str]], directories: Mapping[str, Path]
) -> dict[str, tuple[str, ...]]:
    """The states of all variables.   values: of each label in all parts. DcrfError as `learn_states` raises it."""
    spec = shared.spec
    most = max(map(len, values.values()), default=0)
    columns = {
        name: InternedColumn(np.minimum(np.arange(most), len(found) - 1).astype(np.int32), found)
        for name, found in values.items()
    }
    nothing = Corpus(shared.parts.file, np.array([0, most]), columns, np.ones(most, np.int64))
    try:
        learned = learn_states(spec, nothing, directories)
    except DcrfError:
        for number in range(len(shared.parts.parts)):  # the first part that is wrong by itself knows the line
            learn_states(spec, shared.parts.corpus(number), directories)
        raise
    return variable_states(spec, learned, directories)


@dataclass(frozen=True, eq=False)
class Counting:
    """What the second pass shares.   survey: of all parts."""

    surveying: Surveying
    survey: FeatureSurvey


def count_part(shared: Counting, number: int) -> list[list[KeyCounts]]:
    """The keys of a part, for each feature set and template."""
    corpus = shared.surveying.parts.corpus(number)
    return shared.surveying.learner.count(corpus, shared.survey, task_workers(shared.surveying.threads).map)


@dataclass(frozen=True, eq=False)
class Compiling:
    """What the third pass shares.   paths: of the compiled parts."""

    spec: ModelSpec
    parts: CorpusParts
    states: States
    extractor: FeatureExtractor
    graph: ModelGraph
    paths: tuple[Path, ...]


def compile_part(shared: Compiling, number: int, _: object = None) -> Parameters:
    """Writes what training reads of a part. The weights that it calls for. DcrfError where its gold labels are wrong.

    It needs neither text nor features afterwards.
    """
    spec, corpus, states = shared.spec, shared.parts.corpus(number), shared.states
    labels = encode_labels(spec, states, corpus)
    raise_if_any(check_gold(spec, states, corpus, labels))
    tables = [template.observed for template in shared.graph.coded]
    rows, relations = shared.extractor.everything(corpus, tables)
    gold = gold_of(spec, states, shared.extractor, corpus, labels)
    raise_if_any(broken_constraints(spec, states, shared.graph, corpus, gold, rows))
    num_features = [alphabet.num_features for alphabet in shared.extractor.sets]
    parameters, counts = learn_parameters(
        spec.cliques, shared.graph, rows, num_features, gold, corpus.sentence_off, relations
    )
    compiled = CompiledPart(
        corpus.file, corpus.sentence_off, corpus.token_line, rows, relations, gold, parameters, counts,
        dict(number_columns(corpus).columns),
    )  # fmt: skip
    write_compiled(shared.paths[number], compiled)
    return parameters


@dataclass(frozen=True, eq=False)
class Numbers:
    """The feature sets with numbers: how many features each has, and which are looked at closely."""

    paths: tuple[Path, ...]
    sizes: Mapping[int, int]
    dense: Mapping[int, Ints]


@dataclass(frozen=True, eq=False)
class MomentSum:
    """The moments of these sets over some parts."""

    of_sets: Mapping[int, FeatureMoments]


def moments_of_part(shared: Numbers, number: int, _: None) -> MomentSum:
    """The moments of the features of a part that are numbers."""
    rows = read_compiled(shared.paths[number]).rows
    return MomentSum({n: moments_of_rows(rows[n], shared.sizes[n], dense) for n, dense in shared.dense.items()})


def join_moments(one: MomentSum, other: MomentSum) -> MomentSum:
    """Those of both."""
    return MomentSum({n: add_moments(moments, other.of_sets[n]) for n, moments in one.of_sets.items()})
