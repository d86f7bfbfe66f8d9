"""Scores of the labels that a model predicts for a corpus with gold labels, whole or part by part.

    part of a corpus, predicted codes -> tallies;   tallies + tallies -> tallies;   tallies -> scores

A metric that has nothing to count in the data has the value 0 or 1, which means nothing: there is a warning for it. Not
here: the metrics (`metric_table`), decoding, printing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..data import Corpus, InternedColumn
from ..foundation import Diagnostic, Integers, Mask, data_error, did_you_mean
from ..semantics import ModelSpec, legal_moves, violations
from ..syntax import CallSpec, Scheme
from .class_scores import segments_compared
from .evaluation import Evaluation, Gold, View, encode_gold, unseen_values
from .metric_table import default_metrics, lacking, metric_error, tally_of, written_call
from .tallies import Counts, Tally, Values

NO_VIEWS: Mapping[str, View] = MappingProxyType({})


def prediction_tallies(spec: ModelSpec, evaluation: Evaluation) -> list[Tally]:
    """What the metrics of `spec` count on gold and predicted labels, and the counts that qualify them.

    Beside the metrics: `illegal_moves(y)` if y has a scheme; if y is declared with `missing` or another option of what
    is not known, `not_scored(y)` (tokens without a gold value), and `not_scored(segments(y))` and
    `not_judged(segments(y))` (gold and predicted segments that unknown labels leave open) where a metric counts
    segments; with `ambiguous` or `source`, `ambiguous(y)` (tokens with several states); with `soft`, `likeliest(y)`
    (tokens judged by the likeliest state); `not_scored(joint_accuracy)` if some label is partly known.
    Raises DcrfError if a metric cannot be computed.
    """
    tallies = metric_tallies(evaluation, spec.evaluate)
    for label in spec.labels:
        if isinstance(label.domain, Scheme):
            allowed = legal_moves(label.domain.name, evaluation.known_states(label.name))
            broken = violations(allowed, np.asarray(evaluation.predicted[label.name]), evaluation.sentence_off)
            tallies.append(_number(f"illegal_moves({label.name})", len(broken)))
    return [*tallies, *_left_out(spec, evaluation)]


def evaluation_of(
    spec: ModelSpec,
    corpus: Corpus,
    predicted: Mapping[str, Integers],
    states: Mapping[str, Sequence[str]],
    views: Mapping[str, View] = NO_VIEWS,
    known_values: Callable[[str], Collection[str]] | None = None,
) -> Evaluation:
    """Gold and predicted labels of a corpus. DcrfError if a label has no column.

    `predicted[y]` [N] are codes of the model's `states[y]`, -1 where nothing was predicted. `views` are those that a
    metric may name. `known_values(column)` are the values of the training data.
    """

    def oov(column: str) -> Mask:
        texts = corpus.columns.get(column)
        if known_values is None or not isinstance(texts, InternedColumn):
            guess = did_you_mean(column, corpus.columns)
            remedy = f"did you mean `{guess}`?" if guess else None
            raise metric_error(f"`oov_accuracy`: `{column}` is no column of texts", remedy)
        return unseen_values(texts, known_values(column))

    golds: dict[str, Gold] = {}
    for label in spec.labels:
        if not isinstance(corpus.columns.get(label.name), InternedColumn):
            raise data_error("missing-column", f"label `{label.name}` has no gold values here", file=corpus.file)
        golds[label.name] = encode_gold(label, states[label.name], corpus)
    return Evaluation(
        gold={name: gold.codes for name, gold in golds.items()},
        predicted=predicted,
        states={name: gold.states for name, gold in golds.items()},
        sentence_off=corpus.sentence_off,
        known={name: len(states[name]) for name in golds},
        oov=oov,
        sets={name: gold.sets for name, gold in golds.items()},
        views=views,
        of_sentence=tuple(label.name for label in spec.labels if label.per == "sentence"),
        told_at={name: gold.told_at for name, gold in golds.items() if gold.told_at is not None},
        soft={name: gold.soft for name, gold in golds.items()},
    )


def metric_tallies(evaluation: Evaluation, metrics: Sequence[CallSpec]) -> list[Tally]:
    """What each of `metrics` (without any: `default_metrics`) counts, in order, then `tokens`, `sentences` and
    `unseen_labels` (tokens whose gold value the model does not know, summed over labels). `DcrfError` if a metric
    cannot be computed.
    """
    unseen = sum(int(np.count_nonzero(evaluation.unseen(label))) for label in evaluation.gold)
    return [
        *(tally_of(evaluation, call) for call in metrics or default_metrics(evaluation.known_texts)),
        _number("tokens", evaluation.num_tokens),
        _number("sentences", len(evaluation.sentence_off) - 1),
        _number("unseen_labels", unseen),
    ]


def _left_out(spec: ModelSpec, evaluation: Evaluation) -> list[Tally]:
    """The number of tokens that the metrics of partly known labels leave out."""
    tallies, counts = [], dict[str, int]()
    marks = {label.name: (label.missing, label.ambiguous, label.source, label.soft) for label in spec.labels}
    partial = [label for label in spec.labels if any(mark is not None for mark in marks[label.name])]
    for label in partial:
        without = ~evaluation.scored(label.name)
        if label.per == "sentence":  # sentences, not tokens
            without = without[evaluation.sentence_off[:-1][np.diff(evaluation.sentence_off) > 0]]
        tallies.append(_number(f"not_scored({label.name})", int(np.count_nonzero(without))))
        if label.soft is not None:
            tallies.append(_number(f"likeliest({label.name})", evaluation.soft[label.name]))
        if label.ambiguous is not None or label.source is not None:
            tallies.append(_number(f"ambiguous({label.name})", len(evaluation.ambiguous(label.name))))
    metrics = spec.evaluate or default_metrics(evaluation.known_texts)
    for call in metrics if partial else ():
        counts |= _left_out_of(call, evaluation, {label.name for label in partial})
    return [*tallies, *(_number(name, count) for name, count in counts.items())]


def _left_out_of(call: CallSpec, evaluation: Evaluation, partial: Collection[str]) -> dict[str, int]:
    """What a metric of segments or of several labels leaves out, as not all labels are known."""
    names, written = written_call(call)
    written = written.removeprefix(call.name)
    if call.name == "joint_accuracy":
        tokens = evaluation.of(names).at_every_token()
        scored = np.logical_and.reduce([tokens.scored(label) for label in names or evaluation.gold])
        return {f"not_scored(joint_accuracy{written})": int(np.count_nonzero(~scored))}
    if call.name not in ("segments", "by_type"):
        return {}
    view = evaluation.views.get(names[0])
    if (view.label if view else names[0]) not in partial:
        return {}
    compared = segments_compared(evaluation.of(names[:1]), names[0], runs=len(names) > 1)
    return {
        f"not_scored(segments{written})": len(compared.unsure.start),
        f"not_judged(segments{written})": len(compared.open.start),
    }


def _number(name: str, count: int) -> Tally:
    return Tally(name, (count,), _as_it_is)


def _as_it_is(name: str, counts: Counts) -> Values:
    return {name: counts[0]}


# metrics that have nothing to count ---------------------------------------------------------------------------------


def empty_metric_warnings(evaluation: Evaluation, metrics: Sequence[CallSpec], file: str) -> list[Diagnostic]:
    """A warning for each of `metrics` (without any: `default_metrics`) that has nothing to count in the data of a file.

    It goes by the gold labels alone.
    """
    absent = (lacking(evaluation, call) for call in metrics or default_metrics(evaluation.known_texts))
    return [
        Diagnostic("metric-of-nothing", message, severity="warning", location=file)
        for message in absent
        if message is not None
    ]
