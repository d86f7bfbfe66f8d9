"""Compares models on one corpus: scores with bootstrap intervals, and tests of each model against the first.

Scores take sentences as units, which are drawn and exchanged whole: tokens of a sentence are not independent. Not here:
intervals and tests (`metrics.significance`), how they are printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ..data import Corpus
from ..foundation import CORPUS, data_error, require_kind, require_whole
from ..metrics import (
    Evaluation,
    SentenceCounts,
    bootstrap_interval,
    correct_sentences,
    correct_tokens,
    holm,
    label_errors,
    labels_of_runs,
    mcnemar,
    randomisation_test,
    require_level,
    sentence_counts,
)
from ..semantics import has_segments, plain
from ..syntax import CallSpec
from .reporting import ComparedCases, ComparedErrors, ComparedScore, Comparison, ErrorDifference
from .trained_model import TrainedModel

KINDS = (
    "accuracy", "oov_accuracy", "confusion", "by_state", "joint_accuracy", "hamming_risk", "segments", "by_type",
    "events", "sov", "edit", "sentence_accuracy", "zero_one_risk",
)  # fmt: skip


NO_ERROR = "no error"


def compare(
    models: Mapping[str, TrainedModel],
    corpus: Corpus | Mapping[str, Corpus],
    *,
    level: float = 0.95,
    draws: int = 1000,
    exchanges: int = 10_000,
    seed: int = 0,
    confidence: bool = False,
    threads: int | None = None,
) -> Comparison:
    """Compares two models or more on gold data, by the labels that all of them have.

    models: by name; the first one is what the others are tested against.
    corpus: gold data, or by model the same sentences as its template reads them.
    level: of confidence of the intervals, in 0–1.
    draws: of sentences with replacement, for the intervals.
    exchanges: of sentences between two models, for the tests.
    seed: of both; the same seed gives the same numbers.
    confidence: whether the areas under the curves of risk by coverage are computed.
    threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

    Returns a `Comparison`. Raises DcrfError where there are fewer than two models, no common label, or different
    sentences.

    >>> comparison = compare({"first": model, "again": model}, corpus)
    >>> comparison.scores[0].values, comparison.scores[0].p_values
    ((1.0, 1.0), (None, 1.0))
    """
    require_kind(models, Mapping, "models", "models by name: `{'one': first, 'other': second}`")
    for model in models.values():
        require_kind(model, TrainedModel, "models", "models, as `fit` and `load` return them, by name")
    for own in (corpus,) if not isinstance(corpus, Mapping) else corpus.values():
        require_kind(own, Corpus, "corpus", f"{CORPUS}, or one for each model, by name")
    require_whole(draws, "draws")
    require_whole(exchanges, "exchanges")
    require_level(level)
    if len(models) < 2:
        raise data_error("nothing-to-compare", "a comparison takes two models or more", help="name another model")
    if not isinstance(corpus, Corpus) and (without := ", ".join(f"`{name}`" for name in models if name not in corpus)):
        message = f"`corpus` has no data for {without}"
        raise data_error("nothing-to-compare", message, help="give data for each model, by its name")
    corpora = {name: corpus if isinstance(corpus, Corpus) else corpus[name] for name in models}
    _require_same_sentences(corpora)
    labels = tuple(y for y in next(iter(models.values())).labels if all(y in model.labels for model in models.values()))
    if not labels:
        listed = "; ".join(f"{name}: {', '.join(model.labels)}" for name, model in models.items())
        message = f"the models have no label in common ({listed})"
        raise data_error("nothing-to-compare", message, help="compare models of one task")
    evaluations, predictions = [], {}
    for name, model in models.items():
        prediction = model.predict(corpora[name], threads=threads)
        evaluations.append(model.scores.judged(corpora[name], prediction))
        predictions[name] = {label: tuple(prediction.texts(label)) for label in labels}
    metrics = _common_metrics(list(models.values()), evaluations, labels)
    every = [sentence_counts(evaluation, labels, metrics) for evaluation in evaluations]
    # means over classes are left out: two models may know other classes, and then counts cannot be exchanged
    counts = [{one.name: one for one in of_model if not one.macro} for of_model in every]
    first = evaluations[0]
    curves = [
        model.decisions.risk_coverage(corpora[name], threads=threads) for name, model in models.items() if confidence
    ]
    areas = {
        name: tuple(of_model[name].area for of_model in curves)
        for name in (curves[0] if curves else ())
        if all(name in of_model for of_model in curves)
    }
    return Comparison(
        tuple(models),
        labels,
        len(first.sentence_off) - 1,
        first.num_tokens,
        _corrected([_score(name, counts, level, draws, exchanges, seed) for name in _names(counts)]),
        _cases(list(models), evaluations, labels),
        *_errors(list(models), evaluations, labels, labels_of_runs(metrics)),
        _differing(list(predictions.values()), first.sentence_off.tolist()),
        predictions,
        areas,
    )


def _require_same_sentences(corpora: Mapping[str, Corpus]) -> None:
    (name, first), *others = corpora.items()
    for other, corpus in others:
        if not np.array_equal(corpus.sentence_off, first.sentence_off):
            message = (
                f"`{name}` reads {first.num_sentences:,} sentences with {first.num_tokens:,} tokens, "
                f"`{other}` {corpus.num_sentences:,} with {corpus.num_tokens:,}, or cuts them elsewhere"
            )
            raise data_error("other-sentences", message, help="compare models on the same sentences")
    if first.num_tokens == 0:
        message = "there is nothing to compare: the data has no token"
        raise data_error("empty-file", message, help="give it sentences")


def _common_metrics(
    models: Sequence[TrainedModel], evaluations: Sequence[Evaluation], labels: Sequence[str]
) -> list[CallSpec]:
    """The metrics of all templates that all models can be measured by."""
    known = {*labels, *set.intersection(*(set(evaluation.views) for evaluation in evaluations))}
    columns = set.intersection(*(set(model.known_values) for model in models))
    metrics = []
    for call in (call for model in models for call in model.spec.evaluate):
        names = [str(plain(argument.value)) for argument in call.arguments]
        of = names if call.name == "joint_accuracy" else names[:1]
        if set(of) <= known and (call.name != "oov_accuracy" or names[1] in columns):
            metrics.append(call)
    return metrics


def _names(counts: Sequence[Mapping[str, SentenceCounts]]) -> list[str]:
    """The names of all scores in order; one model may find segments of types that another does not."""
    names = {name for one in counts for name in one}  # by token first, sentences last, types behind all segments
    return sorted(names, key=lambda name: (KINDS.index(name.partition("(")[0]), name))


def _score(
    name: str, counts: Sequence[Mapping[str, SentenceCounts]], level: float, draws: int, exchanges: int, seed: int
) -> ComparedScore:
    known = next(one[name] for one in counts if name in one)
    none = SentenceCounts(name, np.zeros_like(known.counts))  # segments of a type that neither gold nor the model has
    every = [one.get(name, none) for one in counts]
    intervals = tuple(bootstrap_interval(one.counts, one.score, level=level, draws=draws, seed=seed) for one in every)
    tests = (
        randomisation_test(every[0].counts, one.counts, one.score, draws=exchanges, seed=seed) for one in every[1:]
    )
    return ComparedScore(name, tuple(one.value for one in every), intervals, (None, *tests), ())


def _corrected(scores: Sequence[ComparedScore]) -> tuple[ComparedScore, ...]:
    """The scores with Holm's correction for the tests of all of them."""
    adjusted = iter(holm([p for one in scores for p in one.p_values if p is not None]))
    return tuple(one._replace(adjusted=(None, *(next(adjusted) for _ in one.p_values[1:]))) for one in scores)


def _cases(
    models: Sequence[str], evaluations: Sequence[Evaluation], labels: Sequence[str]
) -> tuple[ComparedCases, ...]:
    units = {f"tokens({label})": [correct_tokens(one, [label])[0] for one in evaluations] for label in labels}
    units["sentences"] = [correct_sentences(one, labels)[0] for one in evaluations]
    cases = []
    for unit, (first, *others) in units.items():
        for name, other in zip(models[1:], others, strict=True):
            only_first, only_other = int((first & ~other).sum()), int((other & ~first).sum())
            cases.append(ComparedCases(unit, name, only_first, only_other, mcnemar(only_first, only_other), 1.0))
    adjusted = holm([one.p_value for one in cases])
    return tuple(one._replace(adjusted=p) for one, p in zip(cases, adjusted, strict=True))


def _errors(
    models: Sequence[str], evaluations: Sequence[Evaluation], labels: Sequence[str], runs: set[str]
) -> tuple[tuple[ComparedErrors, ...], tuple[ErrorDifference, ...]]:
    """How often each model makes which error, and how often another one errs differently than the first."""
    errors, differences = list[ComparedErrors](), list[ErrorDifference]()
    for label in labels:
        of_segments = label in runs or any(has_segments(one.known_states(label)) for one in evaluations)
        found = [label_errors(one, label, of_segments=of_segments, runs=label in runs) for one in evaluations]
        counts = [Counter((place[2], error) for place, error in one.items()) for one in found]
        of_label = [ComparedErrors(label, *key, tuple(one[key] for one in counts)) for key in set().union(*counts)]
        errors += sorted(of_label, key=lambda one: (-sum(one.counts), one))
        first, *others = found
        for name, other in zip(models[1:], others, strict=True):
            pairs = Counter(
                (place[2], name, first.get(place, NO_ERROR), other.get(place, NO_ERROR)) for place in {**first, **other}
            )
            differences += [ErrorDifference(label, *key, n) for key, n in pairs.items() if key[2] != key[3]]
    return tuple(errors), tuple(sorted(differences, key=lambda one: (-one.places, one)))


def _differing(predictions: Sequence[Mapping[str, tuple[str, ...]]], off: Sequence[int]) -> tuple[int, ...]:
    first, *others = predictions
    return tuple(
        s
        for s, (start, end) in enumerate(pairwise(off))
        if any(first[y][start:end] != other[y][start:end] for other in others for y in first)
    )
