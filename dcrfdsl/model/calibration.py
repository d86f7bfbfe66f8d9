"""How sure a model is of what it predicts, how far that is true, and calibration. Got as `model.calibration`.

A segment, a layer or a sentence is an event, so its probability is a ratio of two sums over labellings (`case_sums`).
The temperature τ of p(y | x) ∝ exp(τ Σ log φ) is the one that makes the gold labels of held-out data likeliest. Not
here: bins (`metrics.reliability`), the search for a temperature (`optimizers`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import accumulate, pairwise
from typing import Generic, NamedTuple, TypeVar, overload

import numpy as np

from ..data import Corpus, EncodedLabels, Segments, mark_table, segments_of
from ..foundation import (
    CORPUS,
    Codes,
    Floats,
    Ints,
    Mask,
    Offsets,
    data_error,
    dataclass,
    did_you_mean,
    quoted_names,
    require_kind,
    require_whole,
    spelling_remedy,
)
from ..graph import scaled_weights
from ..inference import Workers
from ..metrics import AMBIGUOUS, Evaluation, Reliability, best_temperature, isotonic_fit, known_segments, reliability_of
from ..semantics import Case, LabelDiagrams, has_segments
from .case_sums import Part, log_shares
from .explanation import label_asked
from .label_events import segment_set
from .model_scores import ModelScores
from .predicting_model import PredictingModel
from .prediction import Prediction
from .predictor import Predictor
from .record import Calibration, ConfidenceMap
from .sentence_tagging import Given, Sentence

KINDS = ("tokens", "segments", "layers", "sentences")  # of what is predicted
CALIBRATIONS = ("temperature", "isotonic")
# The meaning of a temperature of 0 or infinity, which is not usable.
NO_TEMPERATURE = {
    0.0: "its labels score no better than any others",
    math.inf: "no labelling of any sentence scores above the gold one",
}

Model = TypeVar("Model", bound=PredictingModel)


class SegmentConfidence(NamedTuple):
    """A predicted segment and its probability.

    label: whose segment it is.
    type: of the segment.
    first, last: its positions, from 0.
    probability: that exactly this segment is there.
    """

    label: str
    type: str
    first: int
    last: int
    probability: float


class Confidence(NamedTuple):
    """How sure the model is of the labels that it predicts for a sentence. Made by `TrainedModel.confidences`.

    sentence: the probability of all of them together.
    layers: by label, of all its states together.
    tokens: by label [T], of each state by itself.
    segments: the predicted segments, label by label and from left to right.
    exact: whether exact inference gave them all. Where it fits, it gives those of segments, layers and sentences; those
        of tokens are marginals, by the method of the template.
    """

    sentence: float
    layers: Mapping[str, float]
    tokens: Mapping[str, Floats]
    segments: tuple[SegmentConfidence, ...]
    exact: bool


@dataclass(frozen=True, eq=False)
class PredictedProbabilities:
    """Probabilities of what is predicted, by kind (`KINDS`) and label; the label of whole sentences is empty."""

    probabilities: Mapping[tuple[str, str], Floats]  # [N], [segments] or [S]
    segments: Mapping[str, LabelSegments]
    exact: bool  # whether exact inference gave them


@dataclass(frozen=True, eq=False)
class ModelCalibration(Generic[Model]):
    """How sure a model is of what it predicts, how far that is true, and models with better probabilities.

    Got as `model.calibration`.

    model: which predicts.
    """

    model: Model

    @overload
    def confidences(
        self, sentences: Corpus | Predictor, *, prediction: Prediction | None = None,
        given: EncodedLabels | None = None, threads: int | None = None,
    ) -> list[Confidence]: ...  # fmt: skip
    @overload
    def confidences(
        self, sentences: Sentence, *, prediction: Prediction | None = None, given: Given | None = None,
        threads: int | None = None,
    ) -> Confidence: ...  # fmt: skip
    def confidences(
        self,
        sentences: Corpus | Predictor | Sentence,
        *,
        prediction: Prediction | None = None,
        given: EncodedLabels | Given | None = None,
        threads: int | None = None,
    ) -> Confidence | list[Confidence]:
        """How sure the model is of the labels that it predicts: of each token, segment, layer and sentence.

        sentences: a corpus, or what `prepare` makes of one; or a sentence as `tag` takes it.
        prediction: what `predict` gave for them, if that is known.
        given: labels known beforehand, as for `predict`; with one sentence as for `tag`.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        Returns a `Confidence` for each sentence, for one sentence its own. `exact` says whether exact inference gave
        it. A model that is calibrated by `isotonic` gives the shares of such predictions that were right on held-out
        data. NaN in a sentence without any possible labelling. Raises DcrfError if inference prunes and exact inference
        does not fit.

        >>> first = model.calibration.confidences(corpus)[0]
        >>> [(one.type, one.first, one.last) for one in first.segments]
        [('STREET', 0, 2), ('TOWN', 4, 4)]
        >>> 0.0 < first.sentence < first.segments[0].probability < 1.0
        True
        >>> model.calibration.confidences(["9", "Bath", "Lane"]).segments[0][:4]
        ('part', 'STREET', 0, 2)
        """
        predictor = self.model.prepare(sentences, given)
        if predictor is None:  # there is no label that could be wrong
            nothing = {label: np.zeros(0) for label in self.model.labels}
            return Confidence(1.0, dict.fromkeys(self.model.labels, 1.0), nothing, (), True)
        prediction = self.model.predict(predictor, threads=threads) if prediction is None else prediction
        parts = self.probabilities_of(predictor, prediction, KINDS, Workers(threads))
        off = predictor.corpus.sentence_off
        of_segments: list[list[SegmentConfidence]] = [[] for _ in range(len(off) - 1)]
        for label, (found, types) in parts.segments.items():
            for s, one in placed_segments(label, types, found, parts.probabilities["segments", label], off):
                of_segments[s].append(one)
        every = [
            Confidence(
                float(parts.probabilities["sentences", ""][s]),
                {label: float(parts.probabilities["layers", label][s]) for label in self.model.labels},
                {label: parts.probabilities["tokens", label][start:end] for label in self.model.labels},
                tuple(of_segments[s]),
                parts.exact,
            )
            for s, (start, end) in enumerate(pairwise(off.tolist()))
        ]
        return every if isinstance(sentences, Corpus | Predictor) else every[0]

    def probabilities_of(
        self, predictor: Predictor, prediction: Prediction, kinds: Sequence[str], workers: Workers
    ) -> PredictedProbabilities:
        """Calibrated probabilities of the parts of these kinds."""
        off = predictor.corpus.sentence_off
        segments = {}
        for label in self.model.labels:
            if has_segments(states := self.model.states[label]):
                mark, kind_of, types = mark_table(states)
                segments[label] = LabelSegments(segments_of(prediction.codes[label], mark, kind_of, off), types)
        shares: dict[tuple[str, str], Floats] = {}
        exact = True
        if "tokens" in kinds:
            tables, status = self.model.marginals(predictor, threads=workers.threads)
            for label in self.model.labels:
                of_tokens = tables[label][np.arange(off[-1]), prediction.codes[label]]
                for s in status.impossible:
                    of_tokens[off[s] : off[s + 1]] = np.nan
                shares["tokens", label] = of_tokens
            exact = not status.approximate
        # the only layer is the sentence
        is_same = len(self.model.labels) == 1 and {"layers", "sentences"} <= set(kinds)
        whole = [kind for kind in kinds if kind != "tokens" and not (is_same and kind == "layers")]
        if whole:
            cases = predicted_cases(predictor, prediction.codes, segments, whole)
            logs, sums = log_shares(predictor, cases, self.model.probability_weights, workers, {})
            exact &= not sums.approximate
            names: list[tuple[str, str, int]] = [("sentences", "", len(off) - 1)] if "sentences" in whole else []
            names += [("layers", label, len(off) - 1) for label in self.model.labels if "layers" in whole]
            names += [("segments", label, len(of.found.start)) for label, of in segments.items() if "segments" in whole]
            ends = list(accumulate((count for _, _, count in names), initial=0))
            for (kind, label, _), (start, end) in zip(names, pairwise(ends), strict=True):
                shares[kind, label] = np.exp(np.minimum(logs[start:end], 0.0))
        if is_same:
            shares["layers", self.model.labels[0]] = shares["sentences", ""]
        calibration = self.model.record.calibration
        maps = {(one.of, one.label): one for one in (() if calibration is None else calibration.maps)}
        for key in shares.keys() & maps.keys():
            shares[key] = np.interp(shares[key], maps[key].corners, maps[key].values)
        return PredictedProbabilities(shares, segments, exact)

    def reliability(
        self,
        corpus: Corpus,
        *,
        of: str = "tokens",
        label: str | None = None,
        bins: int = 10,
        threads: int | None = None,
    ) -> Reliability:
        """How often predictions of each probability are right: the bins of a reliability diagram.

        corpus: gold data, best none that the model was trained or calibrated on.
        of: what is judged: `tokens`, `segments`, `layers` or `sentences` that are predicted.
        label: of this label alone; by default of all.
        bins: how many, of equal width.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        Returns a `Reliability`: `counts`, `confidence` and `accuracy` of each bin, the expected calibration `error`.
        What touches a gold value that is missing or ambiguous is left out. Raises DcrfError for another kind or label.

        >>> judged = model.calibration.reliability(corpus, of="segments", bins=5)
        >>> judged.total, judged.counts.shape
        (6, (5,))
        """
        if of not in KINDS:
            remedy = spelling_remedy(did_you_mean(of, KINDS), f"the kinds are {', '.join(quoted_names(KINDS))}")
            raise data_error("unknown-method", f"`{of}` is no kind of prediction", help=remedy)
        return self.reliabilities(corpus, bins=bins, threads=threads, kinds=(of,), label=label)[of]

    def reliabilities(
        self, corpus: Corpus, *, bins: int = 10, threads: int | None = None, kinds: Sequence[str] = KINDS,
        label: str | None = None,
    ) -> dict[str, Reliability]:  # fmt: skip
        """`reliability` of several kinds of prediction, by default all, by their names: sooner than a call each.

        corpus: gold data.
        bins: how many, of equal width.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        kinds, label: those wanted, as for `reliability`.

        >>> sorted(model.calibration.reliabilities(corpus))
        ['layers', 'segments', 'sentences', 'tokens']
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_whole(bins, "bins")
        wanted = None if label is None else label_asked(self.model.labels, label)
        found = {kind: reliability_of(np.zeros(0), np.zeros(0, np.bool_), bins) for kind in kinds}
        for (kind, name), probabilities, right, _ in self.judged(corpus, kinds, threads):
            if wanted in (None, name):
                found[kind] += reliability_of(probabilities, right, bins)
        return found

    def judged(
        self, corpus: Corpus, kinds: Sequence[str], threads: int | None, decode: str | None = None
    ) -> Iterator[tuple[tuple[str, str], Floats, Mask, Judged]]:
        """Of each kind and label the probabilities of what is predicted, whether it is right, and what judged it;
        without what cannot be judged.

        corpus: gold data.
        kinds: of predictions; of all kinds those that there are.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        decode: as in a template; by default the model's own.
        """
        predictor = self.model.prepare(corpus)
        kinds = kinds if kinds != KINDS or predictor.structure.sums_fit else ("tokens",)  # all that there are
        prediction = self.model.predict(predictor, threads=threads, decode=decode)
        parts = self.probabilities_of(predictor, prediction, kinds, Workers(threads))
        evaluation = ModelScores(self.model).judged(corpus, prediction)
        for (kind, label), probabilities in parts.probabilities.items():
            right, known = _verdicts(evaluation, (kind, label), self.model.labels, parts.segments)
            kept = known & np.isfinite(probabilities)
            types = parts.segments[label].found.kind if kind == "segments" else prediction.codes.get(label, right)
            judged = Judged(types[kept] if len(types) == len(kept) else kept, evaluation)
            yield (kind, label), probabilities[kept], right[kept], judged

    def calibrated(self, corpus: Corpus, *, method: str = "temperature", threads: int | None = None) -> Model:
        """The same model with probabilities that fit held-out data.

        corpus: held-out gold data.
        method: `temperature` or `isotonic`.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        `temperature` is one factor for all scores, given ones and prices of rules too, which makes the gold labels
        likeliest. It changes all probabilities, and labels that these decode (by `marginal`, or over latent variables),
        but not the best labelling. `isotonic` fits a rising function of the probability of each kind of prediction: of
        tokens, segments, layers and sentences, label by label. It changes what `confidences` says, and nothing else; a
        temperature that the model has stays. Sets and operating points that the model has are dropped by either.
        Raises DcrfError for another method, if there is no best temperature or nothing to judge, or inference gives no
        log Z.

        >>> data = model.spec.data
        >>> dev = corpus_from_rows([[("Bath", "B-TOWN")], [("Oxford", "O")], [("Mill", "B-STREET")]], data)
        >>> calibrated = model.calibration.calibrated(dev)
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        if method not in CALIBRATIONS:
            message = f"`{method}` is not a way to calibrate"
            raise data_error("unknown-method", message, help=f"the ways are {', '.join(quoted_names(CALIBRATIONS))}")
        fitted = self._isotonic(corpus, threads) if method == "isotonic" else self._tempered(corpus, threads)
        return self.model.with_record(replace(self.model.record, calibration=fitted, thresholds=()))

    def _tempered(self, corpus: Corpus, threads: int | None) -> Calibration:
        """The best temperature, and the log-likelihoods before and after. DcrfError if there is no best one."""
        scores, weights = ModelScores(self.model), partial(scaled_weights, self.model.graph, self.model.weights)
        scores.require_log_z("no probability")
        log_probabilities = scores.gold_log_probabilities(corpus, Workers(threads))
        temperature = best_temperature(lambda tau: float(log_probabilities(weights(tau)).sum()))
        before = log_probabilities(self.model.weights)
        after = before if temperature in NO_TEMPERATURE else log_probabilities(weights(temperature))
        why = NO_TEMPERATURE.get(temperature) if len(before) else "the model can give its labels to no sentence"
        if why is not None:
            message = f"probabilities cannot be calibrated on `{corpus.file}`: {why}"
            raise data_error("cannot-calibrate", message, help="calibrate on other data, or more of it")
        return Calibration(temperature, float(before.sum()), float(after.sum()), len(after))

    def _isotonic(self, corpus: Corpus, threads: int | None) -> Calibration:
        before = self.model.record.calibration or Calibration(1.0, 0.0, 0.0, corpus.num_sentences)
        plain = self.model.with_record(replace(self.model.record, calibration=replace(before, maps=())))
        maps = []
        for (of, label), probabilities, right, _ in ModelCalibration(plain).judged(corpus, KINDS, threads):
            if len(probabilities):
                corners, values = (tuple(part.tolist()) for part in isotonic_fit(probabilities, right))
                maps.append(ConfidenceMap(of, label, corners, values, len(probabilities)))
        if not maps:
            message = f"probabilities cannot be calibrated on `{corpus.file}`: it has no gold labels to judge by"
            raise data_error("cannot-calibrate", message, help="calibrate on other data, or more of it")
        return replace(before, maps=tuple(maps))


def _verdicts(
    evaluation: Evaluation, key: tuple[str, str], labels: Sequence[str], segments: Mapping[str, LabelSegments]
) -> tuple[Mask, Mask]:
    """Whether each prediction of a kind and label is right, and whether that is known."""
    (kind, label), off = key, evaluation.sentence_off
    of = [label] if label else list(labels)
    if kind in ("layers", "sentences"):  # wholes, whose tokens all have a label of the sentence
        evaluation = evaluation.at_every_token()
    if kind == "segments":
        mark, kinds, _ = mark_table(evaluation.states[label])  # the model's states come first, and so do their types
        found, sets = segments[label].found, evaluation.sets.get(label, ())
        judged = known_segments(evaluation.gold[label], found, mark, kinds, off, sets)
        return judged.right, ~judged.open
    known = np.logical_and.reduce([evaluation.scored(name) & (evaluation.gold[name] > AMBIGUOUS) for name in of])
    right = np.logical_and.reduce([evaluation.right(name) for name in of])
    if kind == "tokens":
        return right, known
    return np.logical_and.reduceat(right, off[:-1]), np.logical_and.reduceat(known, off[:-1])


class Judged(NamedTuple):
    """types: of predicted segments, or states of tokens, by their numbers; [n].   evaluation: with the gold labels."""

    types: Ints | Codes | Mask
    evaluation: Evaluation


def placed_segments(
    label: str, types: Sequence[str], found: Segments, sure: Floats, off: Offsets
) -> Iterator[tuple[int, SegmentConfidence]]:
    """Segments [n] with the numbers of their sentences, and as positions in these.   sure: their probabilities, [n]."""
    at = np.searchsorted(off, found.start, side="right") - 1
    places = (column.tolist() for column in (at, found.start - off[at], found.end - off[at], found.kind, sure))
    for s, first, last, kind, probability in zip(*places, strict=True):
        yield s, SegmentConfidence(label, types[kind], first, last, probability)


class LabelSegments(NamedTuple):
    """The predicted segments of one label in a corpus, and the names of their types."""

    found: Segments
    types: Sequence[str]


def predicted_cases(
    predictor: Predictor, codes: Mapping[str, Codes], segments: Mapping[str, LabelSegments], kinds: Sequence[str]
) -> list[Part]:
    """The cases of each sentence, then of each layer, then of each segment, label by label; only of these kinds.

    codes: by label [N], what is predicted.   segments: of the labels that have some.
    """
    structure, off = predictor.structure, predictor.corpus.sentence_off.tolist()
    numbers = {label: m for m, label in enumerate(structure.states) if label in codes}
    spans = list(pairwise(off))

    @cache
    def of_segment(label: str, length: int, kind: str, has_left: bool, has_right: bool) -> list[Case]:
        """The cases of a segment that begins the sentence, or comes after one token, and may go on after it."""
        diagrams, first = LabelDiagrams(structure.graph.cards), int(has_left)
        segment, end = (first, first + length - 1, kind), first + length
        node = segment_set(diagrams, numbers[label], structure.states[label], segment, end + has_right)
        return list(diagrams.cases(node))

    def whole(labels: Sequence[str]) -> list[Part]:
        listed = {label: codes[label].tolist() for label in labels}
        return [
            (s, [{(t - start, numbers[label]): 1 << listed[label][t] for label in labels for t in range(start, end)}])
            for s, (start, end) in enumerate(spans)
        ]

    parts = whole(tuple(numbers)) if "sentences" in kinds else []
    for label in numbers if "layers" in kinds else ():
        parts += whole((label,))
    for label, (found, types) in segments.items() if "segments" in kinds else ():
        of = (np.searchsorted(predictor.corpus.sentence_off, found.start, side="right") - 1).tolist()
        for s, first, last, kind in zip(of, found.start.tolist(), found.end.tolist(), found.kind.tolist(), strict=True):
            start, end = spans[s]
            cases = of_segment(label, last - first + 1, types[kind], first > start, last + 1 < end)
            shift = first - start - (first > start)
            parts.append((s, [{(t + shift, v): bits for (t, v), bits in case.items()} for case in cases]))
    return parts


def probability_notes(model: PredictingModel) -> Iterator[str]:
    """Notes on how probabilities and ranked labellings were computed, if that may surprise."""
    if model.inference_method == "pruned":
        yield "note: probabilities of single labels are those among the labellings that `pruned` leaves"
    if model.decode == "local":
        yield (
            "note: probabilities and n-best labellings are those of the whole model, and not of the pieces' local "
            "distributions by which `decode local` finds the labels"
        )
    if model.voters is not None:
        yield (
            f"note: probabilities and n-best labellings are those of the mean of the {len(model.voters):,} weight "
            "vectors that vote on the best labelling"
        )
    if model.keeps_once_by_search:
        yield (
            f"note: probabilities are those of the model without `once {model.spec.onces[0].label}`, which decoding "
            "alone keeps to; n-best labellings have none"
        )
    fit = model.record.calibration
    if model.is_margin and (fit is None or not fit.is_tempered):
        criterion = model.record.settings["criterion"]
        why = "trained with costs, which bias them" if criterion.get("cost") else "compares scores only"
        yield (
            f"note: the probabilities are not calibrated: `{criterion['method']}` {why}. Train with `--dev DATA`, or "
            "use `dcrfdsl calibrate`: both fit their temperature"
        )
