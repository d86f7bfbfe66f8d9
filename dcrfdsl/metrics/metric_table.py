"""The metrics of `evaluate`: accuracies, segment scores, risks. Each counts, and makes its values of the counts.

Shares lie in 0–1, and are 0 if there is nothing to count. Not here: what is right (`evaluation`), scores of a corpus
(`corpus_scores`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..foundation import DcrfError, Diagnostic, Mask, Offsets, Table, did_you_mean, json_text
from ..semantics import (
    Argument,
    CallSpec,
    Reference,
    fits_metric,
    has_segments,
    metric_usages,
    plain,
    unmarked_state,
)
from .by_sentence import correct_tokens
from .class_scores import ClassScores, Confusion, confusion_of, scores_by_type, segments_compared
from .evaluation import Evaluation
from .segment_scores import SegmentCounts, ratio
from .tallies import Counts, Tally, Values


def goodness(name: str, value: float) -> float:
    """A value of `measure`, negated for risks so that more is better: training and tuning compare it."""
    return 1.0 - value if name in METRICS and METRICS[name].is_risk else value


def first_metric(metrics: Sequence[CallSpec], states: Mapping[str, Sequence[str]]) -> str:
    """The name of the value that `goodness` compares, as `segments(y).f1` or `1 - hamming_risk`.

    metrics: of the template.   states: the model's, of each scored label.
    """
    call = (tuple(metrics) or default_metrics(states))[0]
    names = [str(plain(argument.value)) for argument in call.arguments]
    written = f"{call.name}({', '.join(names)})" if names else call.name
    metric = METRICS[call.name]
    return f"1 - {written}" if metric.is_risk else written + metric.first


def default_metrics(states: Mapping[str, Sequence[str]]) -> tuple[CallSpec, ...]:
    """The metrics of a template without `evaluate`, given the model's states of each scored label."""
    calls = [_call("segments" if has_segments(texts) else "accuracy", label) for label, texts in states.items()]
    return (*calls, *([_call("joint_accuracy")] if len(states) > 1 else []))


def tally_of(evaluation: Evaluation, call: CallSpec) -> Tally:
    """What a metric counts in some sentences. `DcrfError` if it cannot be computed."""
    if call.name not in METRICS:
        guess = METRICS.suggest(call.name)
        remedy = f"did you mean `{guess}`?" if guess else f"known metrics: {', '.join(METRICS)}"
        raise metric_error(f"`{call.name}` is not a metric", remedy)
    metric = METRICS[call.name]
    names = [str(plain(argument.value)) for argument in call.arguments]
    written = f"{call.name}({', '.join(names)})"
    if not fits_metric(metric.takes, names):
        expected = " or ".join(f"`{usage}`" for usage in metric_usages(call.name, metric.takes))
        raise metric_error(f"found `{written}`, expected {expected}", None)
    labels = names if metric.takes[:1] == ("label*",) else names[:1]
    if unknown := [name for name in labels if name not in {*evaluation.views, *evaluation.gold}]:
        guess = did_you_mean(unknown[0], evaluation.gold)
        raise metric_error(
            f"`{written}`: `{unknown[0]}` is not a label that is scored", f"did you mean `{guess}`?" if guess else None
        )
    evaluation = evaluation.of(labels) if labels else evaluation
    return Tally(written if names else call.name, metric.count(evaluation, *names), metric.values)


# what they count --------------------------------------------------------------------------------------------------


def _accuracy(evaluation: Evaluation, label: str) -> Counts:
    return _part(evaluation.right(label), evaluation.scored(label))


def _joint_accuracy(evaluation: Evaluation, *labels: str) -> Counts:
    """The tokens with each of these labels right (of all, if none is named), among those whose labels are all known.

    Ambiguous counts as known. A token with a missing label is left out: judged by its other labels it would be easier
    than the rest. A label of the sentence counts at each token.
    """
    right, scored = correct_tokens(evaluation.at_every_token(), labels or tuple(evaluation.gold))
    return _part(right, scored)


def _sentence_accuracy(evaluation: Evaluation, *labels: str) -> Counts:
    """The sentences without a wrong one of these labels (of all, if none is named), among those with a scored one."""
    wrong, scored = (np.zeros(evaluation.num_tokens, np.bool_) for _ in range(2))
    for label in labels or evaluation.gold:
        scored |= evaluation.scored(label)
        wrong |= evaluation.scored(label) & ~evaluation.right(label)
    off = evaluation.sentence_off
    return _part(~_any_by_sentence(wrong, off), _any_by_sentence(scored, off))


def _segments(evaluation: Evaluation, label: str, runs: str = "") -> Counts:
    _require_segments(evaluation, "segments", label, runs)
    return segments_compared(evaluation, label, runs=bool(runs)).counts


def _by_type(evaluation: Evaluation, label: str, runs: str = "") -> Counts:
    _require_segments(evaluation, "by_type", label, runs)
    return (scores_by_type(evaluation, label, runs=bool(runs)),)


def _require_segments(evaluation: Evaluation, metric: str, label: str, runs: str) -> None:
    """DcrfError unless the states of a label have the marks of segments, or, for runs of a state, none."""
    known = evaluation.known_states(label)
    if runs and has_segments(known):
        message = f"`{metric}({label}, runs)`: `runs` is for states without marks, and `{label}` marks its segments"
        raise metric_error(message, f"write `{metric}({label})`")
    unmarked = unmarked_state(known)
    if not runs and unmarked is not None:
        raise metric_error(
            f"`{metric}({label})`: state `{unmarked}` marks no segment",
            f"states have to be O and marks such as B-X and I-X; or use `accuracy({label})`, or "
            f"`{metric}({label}, runs)`, where a run of one state is a segment",
        )


def _by_state(evaluation: Evaluation, label: str) -> Counts:
    return (confusion_of(evaluation, label).scores,)


def _confusion(evaluation: Evaluation, label: str) -> Counts:
    return (confusion_of(evaluation, label),)


def _oov_accuracy(evaluation: Evaluation, label: str, column: str) -> Counts:
    if evaluation.oov is None:
        name = f"oov_accuracy({label}, {column})"
        raise metric_error(f"`{name}`: the values of the training data are not known here", None)
    return _part(evaluation.right(label), evaluation.scored(label) & evaluation.oov(column))


def _log_likelihood(evaluation: Evaluation) -> Counts:
    if evaluation.log_likelihood is None:
        raise metric_error("`log_likelihood` needs the model's probabilities, and only labels are given", None)
    return (evaluation.log_likelihood(),)


def _zero_one_risk(evaluation: Evaluation) -> Counts:
    """The sentences with a wrong label, among those with a scored position (Altun 2003 eq. 5)."""
    off = evaluation.sentence_off
    scored = np.logical_or.reduce([evaluation.scored(label) for label in evaluation.gold])
    wrong = np.logical_or.reduce([evaluation.scored(y) & ~evaluation.right(y) for y in evaluation.gold])
    return _part(_any_by_sentence(wrong, off), _any_by_sentence(scored, off))


def _hamming_risk(evaluation: Evaluation) -> Counts:
    """The wrong labels among all scored labels of all label variables (Altun 2003 eq. 7)."""
    scored = np.concatenate([evaluation.scored(label) for label in evaluation.gold])
    right = np.concatenate([evaluation.right(label) for label in evaluation.gold])
    return _part(~right, scored)


def _rank_risk(evaluation: Evaluation) -> Counts:
    """See `model.rank_risk`."""
    if evaluation.rank_risk is None:
        raise metric_error("`rank_risk` needs the model's scores, and only labels are given", None)
    return evaluation.rank_risk()


# the values of counts ---------------------------------------------------------------------------------------------


def _share(name: str, counts: Counts) -> Values:
    part, whole = counts
    return {name: ratio(part, whole)}


def _sum(name: str, counts: Counts) -> Values:
    return {name: float(counts[0])}


def _scores_of_segments(name: str, counts: Counts) -> Values:
    segments = SegmentCounts(*counts)
    return {f"{name}.f1": segments.f1, f"{name}.precision": segments.precision, f"{name}.recall": segments.recall}


def _scores_of_classes(name: str, counts: Counts) -> Values:
    """Averages, the macro F1 first; then of each class, in alphabetical order: parts may show classes in any order."""
    (classes,) = counts
    assert isinstance(classes, ClassScores)
    values: Values = {f"{name}.macro_f1": classes.macro.f1}
    for average, row in classes.averages.items():
        values |= {f"{name}.{average}_{part}": getattr(row, part) for part in ("precision", "recall", "f1")}
    for state, row in classes.in_alphabetical_order().rows.items():
        values |= {f"{name}.{state}.{part}": value for part, value in row._asdict().items()}
    return values


def _cells(name: str, counts: Counts) -> Values:
    """The share of right tokens, and the cells that are not 0. Names are quoted, as a state may hold any character."""
    (table,) = counts
    assert isinstance(table, Confusion)
    right = sum(count for (gold, predicted), count in table.pairs.items() if gold == predicted)
    ordered = sorted(table.pairs.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    cells = {f"{name}[{_quoted(gold)}][{_quoted(predicted)}]": count for (gold, predicted), count in ordered}
    return {f"{name}.right": ratio(right, sum(table.pairs.values())), **cells}


def _quoted(state: str | None) -> str:
    return json_text(state, ensure_ascii=False)


def _mean_rank(name: str, counts: Counts) -> Values:
    """The mean over sentences; with it, if any, the number of sentences for which only a lower bound is known."""
    total, sentences, at_least = (float(count) for count in counts)
    value: Values = {name: total / sentences if sentences else 0.0}
    return value | ({f"at_least({name})": int(at_least)} if at_least else {})


@dataclass(frozen=True)
class Metric:
    """`takes` names the arguments of the call, a label first; those that may be left out end in `?`, and after the
    first they are words; `label*` stands for any number of labels.   count: of some sentences and the arguments; counts
    of several parts add up.   values: of name and counts.   first: what the name of the first value ends in.
    is_risk: whether less is better, in 0–1.
    """

    takes: tuple[str, ...]
    count: Callable[..., Counts]
    values: Callable[[str, Counts], Values] = _share
    first: str = ""
    is_risk: bool = False


METRICS: Table[Metric] = Table(
    "metric",
    {
        "accuracy": Metric(("label",), _accuracy),
        "joint_accuracy": Metric(("label*",), _joint_accuracy),
        "sentence_accuracy": Metric(("label?",), _sentence_accuracy),
        "segments": Metric(("label", "runs?"), _segments, _scores_of_segments, ".f1"),
        "by_state": Metric(("label",), _by_state, _scores_of_classes, ".macro_f1"),
        "by_type": Metric(("label", "runs?"), _by_type, _scores_of_classes, ".macro_f1"),
        "confusion": Metric(("label",), _confusion, _cells, ".right"),
        "oov_accuracy": Metric(("label", "column"), _oov_accuracy),
        "log_likelihood": Metric((), _log_likelihood, _sum),
        "zero_one_risk": Metric((), _zero_one_risk, is_risk=True),
        "hamming_risk": Metric((), _hamming_risk, is_risk=True),
        "rank_risk": Metric((), _rank_risk, _mean_rank, is_risk=True),
    },
    {
        "f1": "segments",
        "fscore": "segments",
        "conlleval": "segments",
        "chunks": "segments",
        "likelihood": "log_likelihood",
        "classification_report": "by_state",
        "macro_f1": "by_state",
        "confusion_matrix": "confusion",
    },
)


def metric_error(message: str, remedy: str | None) -> DcrfError:
    return DcrfError(Diagnostic("bad-metric", message, help=remedy))


def _call(name: str, *labels: str) -> CallSpec:
    return CallSpec(name=name, arguments=tuple(Argument(value=Reference(name=label)) for label in labels))


def _any_by_sentence(mask: Mask, sentence_off: Offsets) -> Mask:
    """[S] whether the sentence has a marked token."""
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
    return before[sentence_off[1:]] > before[sentence_off[:-1]]


def _part(right: Mask, asked: Mask) -> Counts:
    return int(np.count_nonzero(right & asked)), int(np.count_nonzero(asked))
