"""What is known of a model and its labels for some data, from which the sections of a report are made; and sections.

The model fills it in (`model.report_findings`); nothing here knows how to predict. Not here: words and tables
(`quality_sections`, `model_sections`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from ...data import Corpus
from ...foundation import Block, Floats, Mask, dataclass
from ...graph import GraphDrawing
from ...metrics import Evaluation
from ...syntax import CallSpec
from .compared_models import Comparison
from .wrong_labels import ErrorList, Why


@dataclass(frozen=True)
class ErrorBrowser:
    """The place of the error browser, which the page's script fills from its data.   num_errors: on this page."""

    labels: Sequence[str]
    num_errors: int


@dataclass(frozen=True)
class Section:
    """A section of the page. anchor: its address in the page."""

    anchor: str
    title: str
    blocks: Sequence[Block | ErrorBrowser] = field(default=())


class StrongWeights(NamedTuple):
    """The strongest weights of a clique: rows of (feature, states of its sites, weight), of `total` weights."""

    clique: str
    total: int
    rows: Sequence[tuple[str, tuple[str, ...], float]]


class TransitionWeights(NamedTuple):
    """The bias weights of a clique of two sites.   sites: their names.   states: of either site.   weights: [A, B], NaN
    where a pair of states has none.   left_out: how many states of either site are not shown.
    """

    clique: str
    sites: tuple[str, str]
    states: tuple[Sequence[str], Sequence[str]]
    weights: Floats
    left_out: tuple[int, int]


class DrawnSentence(NamedTuple):
    """The unrolled graph of a sentence.   number: from 1.   rows: position, word, then by label gold, predicted and its
    probability; head: of these columns.
    """

    number: int
    drawing: GraphDrawing
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


class Sampling(NamedTuple):
    """Of the bootstrap intervals: confidence in 0–1, number of draws, seed."""

    level: float = 0.95
    draws: int = 1000
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Findings:
    """A model on data with labels.

    corpus, evaluation: the data, and gold beside predicted labels.
    values: the metrics of the template by name, as `evaluate` gives them.   metrics: these metrics.
    terms: of sums and means over sentences among them, `log_likelihood` and `rank_risk`, [n].
    sampling: of the intervals.
    marginals: by label, [N, K] p(y_t = state | x); empty if there are none, which `notes` then explain.
    errors, whys: wrong labels and explanations by their number.   num_errors: how many there are, with those left out.
    new: [N] words that training did not have; None if unknown.
    stages: the fields of the records of training, the first stage first.   trials: of a search of constants, likewise.
    identity: pairs of what and which, for the record.
    notes: what the reader should know before trusting a number.
    comparison: with other models on the same data, if there is one.
    """

    corpus: Corpus
    evaluation: Evaluation
    values: Mapping[str, float | int]
    metrics: Sequence[CallSpec]
    terms: Mapping[str, Floats]
    sampling: Sampling
    marginals: Mapping[str, Floats]
    errors: ErrorList
    whys: Mapping[int, Why]
    num_errors: int
    new: Mask | None
    weights: Sequence[StrongWeights]
    transitions: Sequence[TransitionWeights]
    sentences: Sequence[DrawnSentence]
    stages: Sequence[Mapping[str, Any]]
    trials: Sequence[Mapping[str, Any]]
    identity: Sequence[tuple[str, str]]
    template: str
    notes: Sequence[str] = field(default=())
    comparison: Comparison | None = None
