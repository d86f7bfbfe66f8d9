"""Warnings for metrics that have nothing to count in the data: their value is 0 or 1 and means nothing.

Not here: the metrics (`metric_table`), which are 0 if there is nothing to count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ..data import Corpus, InternedColumn
from ..foundation import Diagnostic
from ..semantics import ModelSpec, plain
from .class_scores import segments_compared
from .evaluation import Evaluation, View, encode_gold, unseen_values
from .metric_table import default_metrics


def empty_metric_warnings(
    spec: ModelSpec,
    corpus: Corpus,
    states: Mapping[str, Sequence[str]],
    known_values: Callable[[str], Collection[str]],
    views: Mapping[str, View],
) -> list[Diagnostic]:
    """A warning for each metric of `spec` that has nothing to count in a corpus with gold labels.

    states: of each label, those of the model.   known_values: the values of a column in the training data.
    views: those that a metric may name.
    """
    if not all(isinstance(corpus.columns.get(label.name), InternedColumn) for label in spec.labels):
        return []  # measuring reports this itself
    golds = {label.name: encode_gold(label, states[label.name], corpus) for label in spec.labels}
    evaluation = Evaluation(
        gold={name: gold.codes for name, gold in golds.items()},
        predicted={},
        states={name: gold.states for name, gold in golds.items()},
        sentence_off=corpus.sentence_off,
        known={name: len(states[name]) for name in golds},
        sets={name: gold.sets for name, gold in golds.items()},
        oov=lambda column: unseen_values(corpus.text_column(column), known_values(column)),
        views=views,
    )
    warnings = []
    for call in spec.evaluate or default_metrics({name: states[name] for name in golds}):
        names = [str(plain(argument.value)) for argument in call.arguments]
        labels = names if call.name == "joint_accuracy" else names[:1]
        judged = evaluation.of(labels) if labels else evaluation
        lacking = _LACKING[call.name](judged, *names) if call.name in _LACKING else None
        if lacking is not None:
            written = f"{call.name}({', '.join(names)})" if names else call.name
            message = f"`{written}` measures nothing here: {lacking}"
            warnings.append(Diagnostic("metric-of-nothing", message, severity="warning", location=corpus.file))
    return warnings


def _known(evaluation: Evaluation, label: str) -> str | None:
    return None if evaluation.scored(label).any() else f"no token has a known value of `{label}`"


def _all_known(evaluation: Evaluation, *labels: str) -> str | None:
    tokens = evaluation.at_every_token()
    together = np.logical_and.reduce([tokens.scored(label) for label in labels or tokens.gold])
    return None if together.any() else f"no token has known values of all {'these ' * bool(labels)}labels"


def _some_known(evaluation: Evaluation, *labels: str) -> str | None:
    some = any(evaluation.scored(label).any() for label in labels or evaluation.gold)
    return None if some else f"no token has a known value of {f'`{labels[0]}`' if labels else 'a label'}"


def _segments(evaluation: Evaluation, label: str, runs: str = "") -> str | None:
    codes = np.unique(evaluation.gold[label])
    states = (evaluation.states[label][code] for code in codes.tolist() if code >= 0)
    if not any(state != "O" for state in states):
        return f"`{label}` has no segment"
    nothing = np.full(evaluation.num_tokens, -1)
    found = segments_compared(replace(evaluation, predicted={label: nothing}), label, runs=bool(runs))
    return None if len(found.golds.start) else f"no segment of `{label}` has two known ends"


def _unknown_words(evaluation: Evaluation, label: str, column: str) -> str | None:
    assert evaluation.oov is not None
    some = (evaluation.scored(label) & evaluation.oov(column)).any()
    return None if some else f"training has shown every value of `{column}`"


# For each metric that can have nothing to count: the words for what is absent, or None.
_LACKING: Mapping[str, Callable[..., str | None]] = MappingProxyType(
    {
        "accuracy": _known,
        "joint_accuracy": _all_known,
        "sentence_accuracy": _some_known,
        "segments": _segments,
        "by_state": _known,
        "by_type": _segments,
        "confusion": _known,
        "oov_accuracy": _unknown_words,
        "zero_one_risk": _some_known,
        "hamming_risk": _some_known,
    }
)
