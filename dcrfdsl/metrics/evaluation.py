"""The metrics of `evaluate`: accuracies, segment scores, and counts of tokens that could not be right.

All metrics work on codes. A code is an index into the list of state texts. A gold code may also be `UNSEEN` or
`MISSING`, name a set of codes (`AMBIGUOUS` - its number), or point behind the model's `known` states, at texts that
occur only in the gold. A value that the model does not know counts as wrong; a missing value is not scored; an
ambiguous value is right if the prediction is one of its states, and takes no part in segments. Latent variables and
memories are not scored. Shares lie in 0–1, and are 0 if there is nothing to count. Not here: decoding, printing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from ..data import Corpus, InternedColumn, has_segments, read_cells, split_mark
from ..foundation import DcrfError, Diagnostic, Integers, Ints, Mask, Offsets, Table, data_error, did_you_mean
from ..semantics import Argument, CallSpec, Label, ModelSpec, Reference, Scheme, legal_moves, plain, violations
from .segment_scores import AMBIGUOUS, MISSING, UNSEEN, ratio, segment_counts

__all__ = [
    "METRICS", "Evaluation", "Gold", "Metric", "Values", "confusion", "default_metrics", "encode_gold",
    "evaluate_predictions", "goodness", "measure", "unseen_values",
]  # fmt: skip

Values: TypeAlias = dict[str, float | int]  # keys: the names of the `--json` contract


@dataclass(frozen=True)
class Evaluation:
    """Gold and predicted codes [N] of every scored label, and further inputs of some metrics.

    `states[y]` are the texts of y's codes; the model knows the first `known[y]` of them (all, if y is not a key).
    `sets[y]` are the sets of codes that ambiguous gold values of y allow (none, if y is not a key).
    `oov(column)` [N] marks the tokens whose value did not occur in training. It, `log_likelihood` (nats) and
    `rank_risk` (with the number of sentences for which it is a lower bound) are called only if a metric needs them.
    """

    gold: Mapping[str, Integers]
    predicted: Mapping[str, Integers]
    states: Mapping[str, Sequence[str]]
    sentence_off: Offsets
    known: Mapping[str, int] = field(default_factory=dict)
    oov: Callable[[str], Mask] | None = None
    log_likelihood: Callable[[], float] | None = None
    rank_risk: Callable[[], tuple[float, int]] | None = None
    sets: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)

    @property
    def num_tokens(self) -> int:
        return int(self.sentence_off[-1])

    def known_states(self, label: str) -> Sequence[str]:
        return self.states[label][: self.known.get(label)]

    def scored(self, label: str) -> Mask:
        """[N] whether the gold value is known."""
        mask: Mask = np.asarray(self.gold[label]) != MISSING
        return mask

    def unseen(self, label: str) -> Mask:
        """[N] whether the model does not know the gold value."""
        gold = np.asarray(self.gold[label])
        mask: Mask = (gold == UNSEEN) | (gold >= len(self.known_states(label)))
        several, allowed = self._allowed(label)
        mask[several] = ~allowed.any(axis=1)
        return mask

    def right(self, label: str) -> Mask:
        """[N] whether the prediction is the gold value, or one of the states of an ambiguous gold value."""
        predicted = np.asarray(self.predicted[label], np.int64)
        mask: Mask = (np.asarray(self.gold[label]) == predicted) & ~self.unseen(label)
        several, allowed = self._allowed(label)
        mask[several] = allowed[np.arange(len(several)), predicted[several]] & (predicted[several] >= 0)
        return mask

    def ambiguous(self, label: str) -> Ints:
        """Tokens with an ambiguous gold value."""
        return np.flatnonzero(np.asarray(self.gold[label]) <= AMBIGUOUS)

    def _allowed(self, label: str) -> tuple[Ints, Mask]:
        """Tokens with an ambiguous gold value, [A], and the model's states that each allows, [A, K]."""
        several, num_states = self.ambiguous(label), len(self.known_states(label))
        sets = self.sets.get(label, ())
        table = np.zeros((len(sets), num_states), np.bool_)
        for k, codes in enumerate(sets):
            table[k, [code for code in codes if code < num_states]] = True
        return several, table[AMBIGUOUS - np.asarray(self.gold[label], np.int64)[several]]


def measure(evaluation: Evaluation, metrics: Sequence[CallSpec] = ()) -> Values:
    """The value of each of `metrics` (default: `default_metrics`) in order, then `tokens`, `sentences` and
    `unseen_labels` (tokens whose gold value the model does not know, summed over labels). `DcrfError` if a metric
    cannot be computed.
    """
    values: Values = {}
    for call in metrics or default_metrics({label: evaluation.known_states(label) for label in evaluation.gold}):
        values |= _computed(evaluation, call)
    values["tokens"] = evaluation.num_tokens
    values["sentences"] = len(evaluation.sentence_off) - 1
    values["unseen_labels"] = sum(int(np.count_nonzero(evaluation.unseen(label))) for label in evaluation.gold)
    return values


def goodness(name: str, value: float) -> float:
    """A value of `measure`, negated for risks so that more is better: training and tuning compare it."""
    return 1.0 - value if name in METRICS and METRICS[name].is_risk else value


def default_metrics(states: Mapping[str, Sequence[str]]) -> tuple[CallSpec, ...]:
    """The metrics of a template without `evaluate`, given the model's states of each scored label."""
    calls = [_call("segments" if has_segments(texts) else "accuracy", label) for label, texts in states.items()]
    return (*calls, *([_call("joint_accuracy")] if len(states) > 1 else []))


def evaluate_predictions(
    spec: ModelSpec,
    corpus: Corpus,
    predicted: Mapping[str, Integers],
    states: Mapping[str, Sequence[str]],
    *,
    known_values: Callable[[str], Collection[str]] | None = None,
    log_likelihood: Callable[[], float] | None = None,
    rank_risk: Callable[[], tuple[float, int]] | None = None,
) -> Values:
    """`measure` on the gold labels of `corpus` by the metrics of `spec`, and the counts that qualify them.

    `predicted[y]` [N] are codes of the model's `states[y]`, -1 where nothing was predicted. `known_values(column)` are
    the values of the training data.
    Beside the metrics: `illegal_moves(y)` if y has a scheme; if y is declared with `missing` or `ambiguous`,
    `not_scored(y)` (tokens without a gold value); with `ambiguous`, `ambiguous(y)` (tokens with several, which segments
    leave out); `not_scored(joint_accuracy)` if some label is partly known.
    Raises DcrfError if a metric cannot be computed or a label has no column.
    """
    golds: dict[str, Gold] = {}
    for label in spec.labels:
        if not isinstance(corpus.columns.get(label.name), InternedColumn):
            raise data_error("missing-column", f"label `{label.name}` has no gold values here", file=corpus.file)
        golds[label.name] = encode_gold(label, states[label.name], corpus)

    def oov(column: str) -> Mask:
        texts = corpus.columns.get(column)
        if known_values is None or not isinstance(texts, InternedColumn):
            guess = did_you_mean(column, corpus.columns)
            remedy = f"did you mean `{guess}`?" if guess else None
            raise _metric_error(f"`oov_accuracy`: `{column}` is no column of texts", remedy)
        return unseen_values(texts, known_values(column))

    evaluation = Evaluation(
        gold={name: gold.codes for name, gold in golds.items()},
        predicted=predicted,
        states={name: gold.states for name, gold in golds.items()},
        sentence_off=corpus.sentence_off,
        known={name: len(states[name]) for name in golds},
        oov=oov,
        log_likelihood=log_likelihood,
        rank_risk=rank_risk,
        sets={name: gold.sets for name, gold in golds.items()},
    )
    values = measure(evaluation, spec.evaluate)
    for label in spec.labels:
        if isinstance(label.domain, Scheme):
            allowed = legal_moves(label.domain.name, states[label.name])
            broken = violations(allowed, np.asarray(predicted[label.name]), corpus.sentence_off)
            values[f"illegal_moves({label.name})"] = len(broken)
    return values | _left_out(spec, evaluation, joint="joint_accuracy" in values)


def _left_out(spec: ModelSpec, evaluation: Evaluation, *, joint: bool) -> Values:
    """The number of tokens that the metrics of partly known labels leave out."""
    values: Values = {}
    partial = [label for label in spec.labels if label.missing is not None or label.ambiguous is not None]
    for label in partial:
        values[f"not_scored({label.name})"] = int(np.count_nonzero(~evaluation.scored(label.name)))
        if label.ambiguous is not None:
            values[f"ambiguous({label.name})"] = len(evaluation.ambiguous(label.name))
    if joint and partial:
        scored = np.logical_and.reduce([evaluation.scored(label) for label in evaluation.gold])
        values["not_scored(joint_accuracy)"] = int(np.count_nonzero(~scored))
    return values


# codes ------------------------------------------------------------------------------------------------------------


class Gold(NamedTuple):
    """Gold labels as codes, [N]; `states` are those of the model, then the texts that occur only in the gold.

    `sets` are the codes that ambiguous values allow: at least two, and not all of the model's states.
    """

    codes: Ints
    states: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]


def encode_gold(label: Label, states: Sequence[str], corpus: Corpus) -> Gold:
    """The gold values of `label` as codes of the model's `states`; other texts get the codes after them.

    `others` of the label takes values that are not states. A set of all states of the model counts as missing.
    Raises DcrfError if the column is absent or a set has an empty member.
    """
    code_of = {text: code for code, text in enumerate(states)}
    number_of: dict[tuple[int, ...], int] = {}
    readings = read_cells(label, frozenset(states), corpus)
    of_value = np.full(len(readings), MISSING, np.int64)
    for n, reading in enumerate(readings):
        texts = [text if text in code_of or label.others is None else label.others for text in reading]
        codes = sorted({code_of.setdefault(text, len(code_of)) for text in texts})
        if len(codes) == 1:
            of_value[n] = codes[0]
        elif codes and not set(codes).issuperset(range(len(states))):
            of_value[n] = AMBIGUOUS - number_of.setdefault(tuple(codes), len(number_of))
    return Gold(of_value[corpus.text_column(label.name).codes], tuple(code_of), tuple(number_of))


def unseen_values(column: InternedColumn, seen: Collection[str]) -> Mask:
    """[N] tokens whose value of `column` is not among `seen`."""
    known = set(seen)
    new = np.fromiter((text not in known for text in column.values), np.bool_, len(column.values))
    mask: Mask = new[column.codes]
    return mask


def confusion(gold: Integers, predicted: Integers, num_states: int) -> Ints:
    """How often gold state a was labelled b, [K, K]; gold values outside 0 … K-1 are left out."""
    gold, predicted = np.asarray(gold, np.int64), np.asarray(predicted, np.int64)
    inside = (gold >= 0) & (gold < num_states)
    pairs = np.bincount(gold[inside] * num_states + predicted[inside], minlength=num_states**2)
    return pairs.reshape(num_states, num_states)


# the metrics ------------------------------------------------------------------------------------------------------


def _accuracy(evaluation: Evaluation, label: str) -> Values:
    return {f"accuracy({label})": _share(evaluation.right(label), evaluation.scored(label))}


def _joint_accuracy(evaluation: Evaluation) -> Values:
    """The share of tokens with every label right, among those whose labels are all known (ambiguous counts as known).

    A token with a missing label is left out: judged by its other labels it would be easier than the rest.
    """
    right, scored = (np.ones(evaluation.num_tokens, np.bool_) for _ in range(2))
    for label in evaluation.gold:
        right &= evaluation.right(label)
        scored &= evaluation.scored(label)
    return {"joint_accuracy": _share(right, scored)}


def _sentence_accuracy(evaluation: Evaluation) -> Values:
    """The share of sentences without a wrong label, among those with a scored position."""
    wrong, scored = (np.zeros(evaluation.num_tokens, np.bool_) for _ in range(2))
    for label in evaluation.gold:
        scored |= evaluation.scored(label)
        wrong |= evaluation.scored(label) & ~evaluation.right(label)
    off = evaluation.sentence_off
    return {"sentence_accuracy": _share(~_any_by_sentence(wrong, off), _any_by_sentence(scored, off))}


def _segments(evaluation: Evaluation, label: str) -> Values:
    unmarked = next((state for state in evaluation.known_states(label) if split_mark(state) is None), None)
    key = f"segments({label})"
    if unmarked is not None:
        raise _metric_error(
            f"`{key}`: state `{unmarked}` marks no segment",
            f"states have to be O, B-X, I-X, E-X or S-X; or use `accuracy({label})`",
        )
    states, predicted = evaluation.states[label], np.asarray(evaluation.predicted[label])
    outside = list(states).index("O") if "O" in states else 0
    counts = segment_counts(
        evaluation.gold[label], np.where(predicted >= 0, predicted, outside), states, evaluation.sentence_off
    )
    return {f"{key}.f1": counts.f1, f"{key}.precision": counts.precision, f"{key}.recall": counts.recall}


def _oov_accuracy(evaluation: Evaluation, label: str, column: str) -> Values:
    key = f"oov_accuracy({label}, {column})"
    if evaluation.oov is None:
        raise _metric_error(f"`{key}`: the values of the training data are not known here", None)
    return {key: _share(evaluation.right(label), evaluation.scored(label) & evaluation.oov(column))}


def _log_likelihood(evaluation: Evaluation) -> Values:
    if evaluation.log_likelihood is None:
        raise _metric_error("`log_likelihood` needs the model's probabilities, and only labels are given", None)
    return {"log_likelihood": evaluation.log_likelihood()}


def _zero_one_risk(evaluation: Evaluation) -> Values:
    """The share of sentences with a wrong label, among those with a scored position (Altun 2003 eq. 5)."""
    off = evaluation.sentence_off
    scored = np.logical_or.reduce([evaluation.scored(label) for label in evaluation.gold])
    wrong = np.logical_or.reduce([evaluation.scored(y) & ~evaluation.right(y) for y in evaluation.gold])
    return {"zero_one_risk": _share(_any_by_sentence(wrong, off), _any_by_sentence(scored, off))}


def _hamming_risk(evaluation: Evaluation) -> Values:
    """The share of wrong labels among all scored labels of all label variables (Altun 2003 eq. 7)."""
    scored = np.concatenate([evaluation.scored(label) for label in evaluation.gold])
    right = np.concatenate([evaluation.right(label) for label in evaluation.gold])
    return {"hamming_risk": _share(~right, scored)}


def _rank_risk(evaluation: Evaluation) -> Values:
    """See `model.rank_risk`; with it, if any, the number of sentences for which only a lower bound is known."""
    if evaluation.rank_risk is None:
        raise _metric_error("`rank_risk` needs the model's scores, and only labels are given", None)
    value, at_least = evaluation.rank_risk()
    return {"rank_risk": value} | ({"at_least(rank_risk)": at_least} if at_least else {})


@dataclass(frozen=True)
class Metric:
    """`takes` names the arguments of the call, a label first.   is_risk: whether less is better, in 0–1."""

    takes: tuple[str, ...]
    compute: Callable[..., Values]
    is_risk: bool = False


METRICS: Table[Metric] = Table(
    "metric",
    {
        "accuracy": Metric(("label",), _accuracy),
        "joint_accuracy": Metric((), _joint_accuracy),
        "sentence_accuracy": Metric((), _sentence_accuracy),
        "segments": Metric(("label",), _segments),
        "oov_accuracy": Metric(("label", "column"), _oov_accuracy),
        "log_likelihood": Metric((), _log_likelihood),
        "zero_one_risk": Metric((), _zero_one_risk, is_risk=True),
        "hamming_risk": Metric((), _hamming_risk, is_risk=True),
        "rank_risk": Metric((), _rank_risk, is_risk=True),
    },
    {
        "f1": "segments",
        "fscore": "segments",
        "conlleval": "segments",
        "chunks": "segments",
        "likelihood": "log_likelihood",
    },
)


def _computed(evaluation: Evaluation, call: CallSpec) -> Values:
    if call.name not in METRICS:
        guess = METRICS.suggest(call.name)
        remedy = f"did you mean `{guess}`?" if guess else f"known metrics: {', '.join(METRICS)}"
        raise _metric_error(f"`{call.name}` is not a metric", remedy)
    metric = METRICS[call.name]
    names = [str(plain(argument.value)) for argument in call.arguments]
    written = f"{call.name}({', '.join(names)})"
    if len(names) != len(metric.takes):
        expected = f"{call.name}({', '.join(metric.takes)})" if metric.takes else call.name
        raise _metric_error(f"found `{written}`, expected `{expected}`", None)
    if names and names[0] not in evaluation.gold:
        guess = did_you_mean(names[0], evaluation.gold)
        raise _metric_error(
            f"`{written}`: `{names[0]}` is not a label that is scored", f"did you mean `{guess}`?" if guess else None
        )
    return metric.compute(evaluation, *names)


def _call(name: str, *labels: str) -> CallSpec:
    return CallSpec(name=name, arguments=tuple(Argument(value=Reference(name=label)) for label in labels))


def _metric_error(message: str, remedy: str | None) -> DcrfError:
    return DcrfError(Diagnostic("bad-metric", message, help=remedy))


def _any_by_sentence(mask: Mask, sentence_off: Offsets) -> Mask:
    """[S] whether the sentence has a marked token."""
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
    return before[sentence_off[1:]] > before[sentence_off[:-1]]


def _share(right: Mask, asked: Mask) -> float:
    return ratio(int(np.count_nonzero(right & asked)), int(np.count_nonzero(asked)))
