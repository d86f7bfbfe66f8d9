"""The metrics of `evaluate`: accuracies, segment scores, risks; for each sentence, so that sentences can be drawn.

Each metric counts, and makes its values of the counts. Shares lie in 0–1, and are 0 if there is nothing to count. The
counts of each sentence:

    accuracy(y): right, scored tokens       segments(y), segments(y).TYPE: right, predicted, gold segments
    events(y, …), events(y, …).TYPE: the same, where right is what has a match    sov(y), edit(y): score, 1 if it counts
    joint_accuracy: tokens right in all labels, scored ones       sentence_accuracy: sentences without a mistake, scored
    by_state(y).macro_f1, by_type(y).macro_f1: right, predicted and gold of each class

To add a metric: a function that counts, and a line of `METRICS`. Not here: arguments and
synonyms of metrics (`semantics.checks.training_rules`), what is right (`evaluation`), scores of a
corpus (`corpus_scores`), intervals and tests (`significance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..data import Segments
from ..foundation import DcrfError, Floats, Ints, Mask, Offsets, Table, data_error, dataclass, did_you_mean, json_text
from ..semantics import METRICS as METRIC_WORDS, fits_metric, has_segments, metric_usages, plain, unmarked_state
from ..syntax import Argument, CallSpec, Reference
from .class_scores import ClassScores, Confusion, confusion_of, scores_by_type, segments_compared
from .close_segments import close_segments, compared_or_runs, edit_scores, segment_overlaps
from .evaluation import Evaluation
from .segment_scores import MISSING, UNSEEN, SegmentCounts, ratio
from .tallies import Counts, ExactSum, Tally, Values


class SentenceCounts(NamedTuple):
    """name: of the score.   counts [S, C]: of each sentence: right and all, or right, predicted and gold segments; with
    `macro` the last three of one class after another.
    """

    name: str
    counts: Ints
    macro: bool = False

    def score(self, sums: Floats) -> Floats:
        """The share of right ones, F1 or its mean over classes, [...]; 0 where there is nothing.

        sums [..., C]: of counts of sentences.
        """
        if self.macro:
            classes = sums.reshape(*sums.shape[:-1], -1, 3)
            there = (classes[..., 1:].sum(axis=-1) > 0).sum(axis=-1)
            return _quotient(_share_of(classes).sum(axis=-1), there)
        return _share_of(sums)

    @property
    def value(self) -> float:
        """The score of all sentences."""
        return float(self.score(self.counts.sum(axis=0).astype(np.float64)))


def _share_of(sums: Floats) -> Floats:
    """right / all, or 2 right / (predicted + gold), [...]."""
    times = 1.0 if sums.shape[-1] == 2 else 2.0
    return _quotient(times * sums[..., 0], sums[..., 1:].sum(axis=-1))


def _quotient(part: Floats, whole: Floats | Ints) -> Floats:
    shares: Floats = np.divide(part, whole, out=np.zeros(np.shape(part)), where=np.not_equal(whole, 0))
    return shares


# the counts of sentences: of the metric itself first ------------------------------------------------------------------


def _tokens(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    yield SentenceCounts(name, _by_sentence(correct_tokens(evaluation, labels), evaluation.sentence_off))


def _tokens_of_all(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    """The tokens with each of these labels right, among those whose labels are all known.

    Ambiguous counts as known. A token with a missing label is left out: judged by its other labels it would be easier
    than the rest. A label of the sentence counts at each token.
    """
    return _tokens(evaluation.at_every_token(), name, labels)


def _sentences(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    """The sentences without a wrong one of these labels, among those with a scored one."""
    yield SentenceCounts(name, np.stack(correct_sentences(evaluation, labels), axis=1).astype(np.int64))


def _new_words(evaluation: Evaluation, name: str, names: Sequence[str]) -> Iterator[SentenceCounts]:
    if evaluation.oov is not None:
        label, column = names
        new = evaluation.oov(column)
        right, scored = correct_tokens(evaluation, [label])
        yield SentenceCounts(name, _by_sentence((right & new, scored & new), evaluation.sentence_off))


def _wrong_sentences(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    """The sentences with a wrong label, among those with a scored position (Altun 2003 eq. 5)."""
    right, scored = correct_sentences(evaluation, labels)
    yield SentenceCounts(name, np.stack((scored & ~right, scored), axis=1).astype(np.int64))


def _wrong_labels(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    """The wrong labels among all scored labels of all label variables (Altun 2003 eq. 7)."""
    of_labels = (correct_tokens(evaluation, [label]) for label in labels)
    counts = [_by_sentence((scored & ~right, scored), evaluation.sentence_off) for right, scored in of_labels]
    yield SentenceCounts(name, np.sum(counts, axis=0))


def _segments(evaluation: Evaluation, name: str, names: Sequence[str]) -> Iterator[SentenceCounts]:
    """Of all segments of a label, then of each type; with `overlap` or `tolerance`, of those that have a match."""
    option, _, value = names[-1].partition(" = ")
    if value:
        found = close_segments(evaluation, names[0], **{option: float(value)})
    else:
        found = segments_compared(evaluation, names[0], runs=len(names) > 1)
    off, (golds, ours, same, *_, types) = evaluation.sentence_off, found

    def counts(kind: int | None) -> Ints:
        chosen = (ours.start[same & _is(ours, kind)], ours.start[_is(ours, kind)], golds.start[_is(golds, kind)])
        sentences = (np.searchsorted(off, start, side="right") - 1 for start in chosen)
        return np.stack([np.bincount(which, minlength=len(off) - 1) for which in sentences], axis=1).astype(np.int64)

    yield SentenceCounts(name, counts(None))
    for kind in sorted(range(len(types)), key=types.__getitem__):
        if (ours.kind == kind).any() or (golds.kind == kind).any():
            yield SentenceCounts(f"{name}.{types[kind]}", counts(kind))


def _is(segments: Segments, kind: int | None) -> Mask:
    """Which segments are of a type; all without one."""
    return np.ones(len(segments.kind), np.bool_) if kind is None else segments.kind == kind


def _states(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    """Right, predicted and gold tokens of each state; tokens with several gold states or none do not count."""
    (label,) = labels
    gold, predicted = np.asarray(evaluation.gold[label]), np.asarray(evaluation.predicted[label])
    counted = gold >= UNSEEN
    predicted = np.where(predicted < 0, MISSING, predicted)  # what is not predicted is no class
    codes = np.unique(np.concatenate([gold[counted], predicted[counted]]))
    masks = [
        counted & mask
        for code in codes[codes >= UNSEEN].tolist()
        for mask in ((gold == code) & (predicted == code), predicted == code, gold == code)
    ]
    yield SentenceCounts(f"{name}.macro_f1", _by_sentence(masks, evaluation.sentence_off), macro=True)


def _types(evaluation: Evaluation, name: str, names: Sequence[str]) -> Iterator[SentenceCounts]:
    parts = [one.counts for one in _segments(evaluation, name, names)][1:]
    counts = np.concatenate(parts, axis=1) if parts else np.zeros((len(evaluation.sentence_off) - 1, 3), np.int64)
    yield SentenceCounts(f"{name}.macro_f1", counts, macro=True)


def _right_states(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    """Right tokens among those with one gold state, as the confusion matrix counts them."""
    gold = np.asarray(evaluation.gold[labels[0]])
    right, counted = (gold == np.asarray(evaluation.predicted[labels[0]])) & (gold >= 0), gold >= UNSEEN
    yield SentenceCounts(f"{name}.right", _by_sentence((right & counted, counted), evaluation.sentence_off))


def correct_tokens(evaluation: Evaluation, labels: Sequence[str]) -> tuple[Mask, Mask]:
    """[N] whether all these labels are known and right, and whether all are known."""
    right, scored = (np.ones(evaluation.num_tokens, np.bool_) for _ in range(2))
    for label in labels:
        right &= evaluation.right(label)
        scored &= evaluation.scored(label)
    return right & scored, scored


def correct_sentences(evaluation: Evaluation, labels: Sequence[str]) -> tuple[Mask, Mask]:
    """[S] whether a sentence has a known label and no wrong one, and whether it has a known one."""
    wrong, scored = (np.zeros(evaluation.num_tokens, np.bool_) for _ in range(2))
    for label in labels:
        scored |= evaluation.scored(label)
        wrong |= evaluation.scored(label) & ~evaluation.right(label)
    counts = _by_sentence((wrong, scored), evaluation.sentence_off)
    return (counts[:, 0] == 0) & (counts[:, 1] > 0), counts[:, 1] > 0


def _by_sentence(masks: Sequence[Mask], off: Offsets) -> Ints:
    """How many tokens of each sentence each mask marks, [S, masks]."""
    sums = np.zeros((off[-1] + 1, len(masks)), np.int64)
    for number, mask in enumerate(masks):
        np.cumsum(mask, out=sums[1:, number])
    return np.diff(sums[off], axis=0)


def goodness(name: str, value: float) -> float:
    """A value of `measure`, negated for risks so that more is better: training and tuning compare it."""
    return 1.0 - value if name in METRICS and METRICS[name].is_risk else value


def first_metric(metrics: Sequence[CallSpec], states: Mapping[str, Sequence[str]]) -> str:
    """The name of the value that `goodness` compares, as `segments(y).f1` or `1 - hamming_risk`.

    metrics: of the template.   states: the model's, of each scored label.
    """
    call = (tuple(metrics) or default_metrics(states))[0]
    metric, written = METRICS[call.name], written_call(call)[1]
    return f"1 - {written}" if metric.is_risk else written + metric.first


def default_metrics(states: Mapping[str, Sequence[str]]) -> tuple[CallSpec, ...]:
    """The metrics of a template without `evaluate`, given the model's states of each scored label."""
    calls = [_call("segments" if has_segments(texts) else "accuracy", label) for label, texts in states.items()]
    return (*calls, *([_call("joint_accuracy")] if len(states) > 1 else []))


def tally_of(evaluation: Evaluation, call: CallSpec) -> Tally:
    """What a metric counts in some sentences. `DcrfError` if it cannot be computed."""
    if call.name not in METRICS:
        guess = METRIC_WORDS.suggest(call.name)
        remedy = f"did you mean `{guess}`?" if guess else f"known metrics: {', '.join(METRICS)}"
        raise metric_error(f"`{call.name}` is not a metric", remedy)
    metric, (names, written) = METRICS[call.name], written_call(call)
    if not fits_metric(call):
        found = written if names else f"{call.name}()"
        expected = " or ".join(f"`{usage}`" for usage in metric_usages(call.name))
        raise metric_error(f"found `{found}`, expected {expected}", None)
    labels = judged_names(call)
    if unknown := [name for name in labels if name not in {*evaluation.views, *evaluation.gold}]:
        guess = did_you_mean(unknown[0], evaluation.gold)
        message = f"`{written}`: `{unknown[0]}` is not a label that is scored"
        raise metric_error(message, f"did you mean `{guess}`?" if guess else None)
    return Tally(written, metric.counts(evaluation.of(labels), call.name, names), metric.values)


def sentence_counts(
    evaluation: Evaluation, labels: Sequence[str], metrics: Sequence[CallSpec] = ()
) -> Iterator[SentenceCounts]:
    """The counts of all common scores of these labels. Types of segments follow their label, in alphabetical order.

    metrics: of the template, whose scores follow where they are of these labels and are not among the common ones;
    `log_likelihood` and `rank_risk`, which are not counts, do not.
    """
    told = set()
    for one in (*_common(evaluation, labels), *_of_metrics(evaluation, labels, metrics)):
        if one.name not in told:
            yield one
        told.add(one.name)


def _common(evaluation: Evaluation, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    for label in labels:
        yield from _tokens(evaluation, f"accuracy({label})", [label])
        if has_segments(evaluation.known_states(label)):
            yield from _segments(evaluation, f"segments({label})", [label])
    if len(labels) > 1:
        yield from _tokens_of_all(evaluation, "joint_accuracy", labels)
    yield from _sentences(evaluation, "sentence_accuracy", labels)


def _of_metrics(evaluation: Evaluation, labels: Sequence[str], metrics: Sequence[CallSpec]) -> Iterator[SentenceCounts]:
    for call in metrics:
        (names, written), judged, count = written_call(call), judged_names(call), METRICS[call.name].sentences
        sources = {evaluation.views[name].label if name in evaluation.views else name for name in judged}
        if count is not None and sources <= set(labels):
            yield from count(evaluation.of(judged), written, names or labels)


def lacking(evaluation: Evaluation, call: CallSpec) -> str | None:
    """What the data lacks if a metric has nothing to count there, in the words of a message; else None."""
    words, (names, written) = METRICS[call.name].lacking, written_call(call)
    absent = None if words is None else words(evaluation.of(judged_names(call)), *names)
    return None if absent is None else f"`{written}` measures nothing here: {absent}"


def written_call(call: CallSpec) -> tuple[list[str], str]:
    """The arguments of a call as texts, and the call as it is written."""
    values = [(f"{argument.name} = " if argument.name else "", plain(argument.value)) for argument in call.arguments]
    names = [f"{name}{value}" for name, value in values]
    return names, f"{call.name}({', '.join(names)})" if names else call.name


def judged_names(call: CallSpec) -> list[str]:
    """The labels and views that a metric looks at, as its call names them."""
    names = written_call(call)[0]
    return names if METRIC_WORDS[call.name].takes[:1] == ("label*",) else names[:1]


# what can be counted, and counts that are none of sentences -----------------------------------------------------------


def _require_segments(evaluation: Evaluation, metric: str, label: str, runs: str = "") -> None:
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


def _require_known_words(evaluation: Evaluation, metric: str, *names: str) -> None:
    if evaluation.oov is None:
        raise metric_error(f"`{metric}({', '.join(names)})`: the values of the training data are not known here", None)


def _log_likelihood(evaluation: Evaluation) -> Counts:
    if evaluation.log_likelihood is None:
        raise metric_error("`log_likelihood` needs the model's probabilities, and only labels are given", None)
    return (evaluation.log_likelihood(),)


def _rank_risk(evaluation: Evaluation) -> Counts:
    if evaluation.rank_risk is None:
        raise metric_error("`rank_risk` needs the model's scores, and only labels are given", None)
    return evaluation.rank_risk()


# what is absent, in words, where there is nothing to count; else None -------------------------------------------------


def _lacks_all_known(evaluation: Evaluation, *labels: str) -> str | None:
    tokens = evaluation.at_every_token()
    together = np.logical_and.reduce([tokens.scored(label) for label in labels or tokens.gold])
    return None if together.any() else f"no token has known values of all {'these ' * bool(labels)}labels"


def _lacks_some_known(evaluation: Evaluation, *labels: str) -> str | None:
    some = any(evaluation.scored(label).any() for label in labels or evaluation.gold)
    return None if some else f"no token has a known value of {f'`{labels[0]}`' if labels else 'a label'}"


def _lacks_segments(evaluation: Evaluation, label: str, *_: str) -> str | None:
    codes = np.unique(evaluation.gold[label])
    states = (evaluation.states[label][code] for code in codes.tolist() if code >= 0)
    if not any(state != "O" for state in states):
        return f"`{label}` has no segment"
    nothing = np.full(evaluation.num_tokens, -1)
    found = compared_or_runs(replace(evaluation, predicted={label: nothing}), label)
    return None if len(found.golds.start) else f"no segment of `{label}` has two known ends"


def _lacks_new_words(evaluation: Evaluation, label: str, column: str) -> str | None:
    assert evaluation.oov is not None
    some = (evaluation.scored(label) & evaluation.oov(column)).any()
    return None if some else f"training has shown every value of `{column}`"


# the values of counts ---------------------------------------------------------------------------------------------


def _share(name: str, counts: Counts) -> Values:
    part, whole = counts
    return {name: ratio(float(part), whole)}


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
    quoted = partial(json_text, ensure_ascii=False)
    cells = {f"{name}[{quoted(gold)}][{quoted(predicted)}]": count for (gold, predicted), count in ordered}
    return {f"{name}.right": ratio(right, sum(table.pairs.values())), **cells}


def _mean_rank(name: str, counts: Counts) -> Values:
    """The mean over sentences; with it, if any, the number of sentences for which only a lower bound is known."""
    total, sentences, at_least = (float(count) for count in counts)
    value: Values = {name: total / sentences if sentences else 0.0}
    return value | ({f"at_least({name})": int(at_least)} if at_least else {})


@dataclass(frozen=True)
class Metric:
    """A metric of labels, whose `counts` of several parts of some data add up.

    sentences: the counts of each sentence, if they are such; of what, the name of the score, the arguments, all labels
    where none is named.
    values: of name and counts.   first: what the name of the first value ends in.
    is_risk: whether less is better, in 0–1.
    count: the counts of all, if they are not the sums of those of sentences.   check: raises DcrfError if it cannot be
    computed.   lacking: words for what is absent if there is nothing to count.
    """

    sentences: Callable[[Evaluation, str, Sequence[str]], Iterable[SentenceCounts]] | None
    values: Callable[[str, Counts], Values]
    first: str = ""
    is_risk: bool = False
    count: Callable[..., Counts] | None = None
    check: Callable[..., None] | None = None
    lacking: Callable[..., str | None] | None = None

    def counts(self, evaluation: Evaluation, name: str, names: Sequence[str]) -> Counts:
        """What is counted in all sentences."""
        if self.check is not None:
            self.check(evaluation, name, *names)
        if self.count is not None:
            return self.count(evaluation, *names)
        assert self.sentences is not None
        first = next(iter(self.sentences(evaluation, name, names or tuple(evaluation.gold))))
        return tuple(first.counts.sum(axis=0).tolist())


def _mean_of(scores: Callable[[Evaluation, str], Floats]) -> Metric:
    """The mean of a score of each sentence, [S], which is nan where a sentence is left out."""

    def count(evaluation: Evaluation, label: str) -> Counts:
        found = scores(evaluation, label)
        return ExactSum(found[~np.isnan(found)]), int((~np.isnan(found)).sum())

    def of_sentences(evaluation: Evaluation, name: str, names: Sequence[str]) -> Iterator[SentenceCounts]:
        found = scores(evaluation, names[0])
        counts = np.array([np.nan_to_num(found), ~np.isnan(found)], np.float64).T
        yield SentenceCounts(name, counts)  # type: ignore[arg-type]  # scores in place of numbers of right ones

    return Metric(of_sentences, _share, lacking=_lacks_some_known, count=count)


METRICS: Table[Metric] = Table(
    "metric",
    {
        "accuracy": Metric(_tokens, _share, lacking=_lacks_some_known),
        "joint_accuracy": Metric(_tokens_of_all, _share, lacking=_lacks_all_known),
        "sentence_accuracy": Metric(_sentences, _share, lacking=_lacks_some_known),
        "segments": Metric(_segments, _scores_of_segments, ".f1", check=_require_segments, lacking=_lacks_segments),
        "events": Metric(_segments, _scores_of_segments, ".f1", lacking=_lacks_segments),
        "sov": _mean_of(segment_overlaps),
        "edit": _mean_of(edit_scores),
        "by_state": Metric(
            _states, _scores_of_classes, ".macro_f1", lacking=_lacks_some_known,
            count=lambda evaluation, label: (confusion_of(evaluation, label).scores,),
        ),
        "by_type": Metric(
            _types, _scores_of_classes, ".macro_f1", check=_require_segments, lacking=_lacks_segments,
            count=lambda evaluation, label, *runs: (scores_by_type(evaluation, label, runs=bool(runs)),),
        ),
        "confusion": Metric(
            _right_states, _cells, ".right", lacking=_lacks_some_known,
            count=lambda evaluation, label: (confusion_of(evaluation, label),),
        ),
        "oov_accuracy": Metric(_new_words, _share, check=_require_known_words, lacking=_lacks_new_words),
        "log_likelihood": Metric(None, _sum, count=_log_likelihood),
        "zero_one_risk": Metric(_wrong_sentences, _share, is_risk=True, lacking=_lacks_some_known),
        "hamming_risk": Metric(_wrong_labels, _share, is_risk=True, lacking=_lacks_some_known),
        "rank_risk": Metric(None, _mean_rank, is_risk=True, count=_rank_risk),
    },
)  # fmt: skip


def metric_error(message: str, remedy: str | None) -> DcrfError:
    return data_error("bad-metric", message, help=remedy)


def _call(name: str, *labels: str) -> CallSpec:
    return CallSpec(name=name, arguments=tuple(Argument(value=Reference(name=label)) for label in labels))
