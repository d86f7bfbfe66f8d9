"""A later part of `TrainedModel`: how sure it is of what it predicts, how far that is true, and calibration.

Not here: the probabilities of parts (`confidences`), bins (`metrics.reliability`), the search for a temperature
(`calibration`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Self, overload

import numpy as np

from ..data import Corpus, EncodedLabels, mark_table
from ..foundation import (  # fmt: skip
    CORPUS,
    DcrfError,
    Diagnostic,
    Floats,
    Mask,
    data_error,
    did_you_mean,
    require_kind,
    require_whole,
)
from ..inference import Workers
from ..metrics import AMBIGUOUS, Evaluation, Reliability, isotonic_fit, known_segments, reliability_of
from .calibration import calibration_of
from .case_sums import sums_fit
from .confidences import KINDS, Confidence, LabelSegments, SegmentConfidence, label_segments, log_shares, part_cases
from .explanation import label_asked
from .prediction import Prediction
from .predictor import Predictor
from .record import Calibration, ConfidenceMap
from .scoring_model import ScoringModel
from .sentence_tagging import Given, Sentence

CALIBRATIONS = ("temperature", "isotonic")


@dataclass(frozen=True, eq=False)
class _Parts:
    """Probabilities of what is predicted, by kind (`KINDS`) and label; the label of whole sentences is empty."""

    probabilities: Mapping[tuple[str, str], Floats]  # [N], [segments] or [S]
    segments: Mapping[str, LabelSegments]
    exact: bool  # whether exact inference gave them


class CalibratedModel(ScoringModel):
    """A model that says how sure it is, and is calibrated; see `TrainedModel`."""

    # how sure it is -----------------------------------------------------------------------------------------------

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

        sentences: a corpus, or what `on` makes of one; or a sentence as `tag` takes it.
        prediction: what `predict` gave for them, if that is known.
        given: labels known beforehand, as for `predict`; with one sentence as for `tag`.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        Returns a `Confidence` for each sentence, for one sentence its own. `exact` says whether exact inference gave
        it. A model that is calibrated by `isotonic` gives the shares of such predictions that were right on held-out
        data. NaN in a sentence without any possible labelling. Raises DcrfError if inference prunes and exact inference
        does not fit.

        >>> first = model.confidences(corpus)[0]
        >>> [(one.type, one.first, one.last) for one in first.segments]
        [('STREET', 0, 2), ('TOWN', 4, 4)]
        >>> 0.0 < first.sentence < first.segments[0].probability < 1.0
        True
        >>> model.confidences(["9", "Bath", "Lane"]).segments[0][:4]
        ('part', 'STREET', 0, 2)
        """
        if isinstance(sentences, Predictor):
            return self._confidences(sentences, prediction, threads)
        if isinstance(sentences, Corpus):
            return self._confidences(self.prepare(sentences, given), prediction, threads)  # type: ignore[arg-type]
        predictor = self._on_sentence(sentences, given)  # type: ignore[arg-type]
        if predictor is None:  # of nothing one is sure
            nothing = {label: np.zeros(0) for label in self.labels}
            return Confidence(1.0, dict.fromkeys(self.labels, 1.0), nothing, (), True)
        return self._confidences(predictor, prediction, threads)[0]

    def _confidences(
        self, predictor: Predictor, prediction: Prediction | None, threads: int | None
    ) -> list[Confidence]:
        """A `Confidence` for each sentence."""
        prediction = self.predict(predictor, threads=threads) if prediction is None else prediction
        parts = self._parts(predictor, prediction, KINDS, Workers(threads))
        off = predictor.corpus.sentence_off
        of_segments: list[list[SegmentConfidence]] = [[] for _ in range(len(off) - 1)]
        for label, (found, types) in parts.segments.items():
            sentence = np.searchsorted(off, found.start, side="right") - 1
            for s, start, end, kind, probability in zip(
                sentence.tolist(), (found.start - off[sentence]).tolist(), (found.end - off[sentence]).tolist(),
                found.kind.tolist(), parts.probabilities["segments", label].tolist(), strict=True,
            ):  # fmt: skip
                of_segments[s].append(SegmentConfidence(label, types[kind], start, end, probability))
        return [
            Confidence(
                float(parts.probabilities["sentences", ""][s]),
                {label: float(parts.probabilities["layers", label][s]) for label in self.labels},
                {label: parts.probabilities["tokens", label][start:end] for label in self.labels},
                tuple(of_segments[s]),
                parts.exact,
            )
            for s, (start, end) in enumerate(pairwise(off.tolist()))
        ]

    def _parts(self, predictor: Predictor, prediction: Prediction, kinds: Sequence[str], workers: Workers) -> _Parts:
        """Calibrated probabilities of the parts of these kinds."""
        off = predictor.corpus.sentence_off
        segments = {}
        for label in self.labels:
            found = label_segments(self.states[label], prediction.codes[label], off)
            if found is not None:
                segments[label] = found
        shares: dict[tuple[str, str], Floats] = {}
        exact = True
        if "tokens" in kinds:
            tables, status = self.marginals(predictor, threads=workers.threads)
            for label in self.labels:
                of_tokens = tables[label][np.arange(off[-1]), prediction.codes[label]]
                for s in status.impossible:
                    of_tokens[off[s] : off[s + 1]] = np.nan
                shares["tokens", label] = of_tokens
            exact = not status.approximate
        is_same = len(self.labels) == 1 and {"layers", "sentences"} <= set(kinds)  # the only layer is the sentence
        whole = [kind for kind in kinds if kind != "tokens" and not (is_same and kind == "layers")]
        if whole:
            cases = part_cases(predictor, prediction.codes, segments, whole)
            logs, exact_sums = log_shares(predictor, cases, self._log_potentials, workers)
            exact &= exact_sums
            names: list[tuple[str, str, int]] = [("sentences", "", len(off) - 1)] if "sentences" in whole else []
            names += [("layers", label, len(off) - 1) for label in self.labels if "layers" in whole]
            names += [("segments", label, len(of.found.start)) for label, of in segments.items() if "segments" in whole]
            ends = list(accumulate((count for _, _, count in names), initial=0))
            for (kind, label, _), (start, end) in zip(names, pairwise(ends), strict=True):
                shares[kind, label] = np.exp(logs[start:end])
        if is_same:
            shares["layers", self.labels[0]] = shares["sentences", ""]
        maps = {(one.of, one.label): one for one in self._maps}
        for key in shares.keys() & maps.keys():
            shares[key] = np.interp(shares[key], maps[key].corners, maps[key].values)
        return _Parts(shares, segments, exact)

    @property
    def _maps(self) -> tuple[ConfidenceMap, ...]:
        return () if self.record.calibration is None else self.record.calibration.maps

    # how far that is true -----------------------------------------------------------------------------------------

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

        >>> judged = model.reliability(corpus, of="segments", bins=5)
        >>> judged.total, judged.counts.shape
        (6, (5,))
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_whole(bins, "bins")
        _require_kind_of(of)
        wanted = None if label is None else label_asked(self.labels, label)
        total = reliability_of(np.zeros(0), np.zeros(0, np.bool_), bins)
        for name, probabilities, right in self._judged(corpus, (of,), threads):
            if wanted in (None, name[1]):
                total += reliability_of(probabilities, right, bins)
        return total

    def reliabilities(self, corpus: Corpus, *, bins: int = 10, threads: int | None = None) -> dict[str, Reliability]:
        """`reliability` of every kind of prediction, of all labels, by its name: sooner than a call each.

        corpus: gold data.
        bins: how many, of equal width.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        >>> sorted(model.reliabilities(corpus))
        ['layers', 'segments', 'sentences', 'tokens']
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_whole(bins, "bins")
        found = {kind: reliability_of(np.zeros(0), np.zeros(0, np.bool_), bins) for kind in KINDS}
        for (kind, _), probabilities, right in self._judged(corpus, KINDS, threads):
            found[kind] += reliability_of(probabilities, right, bins)
        return found

    def _judged(
        self, corpus: Corpus, kinds: Sequence[str], threads: int | None
    ) -> Iterator[tuple[tuple[str, str], Floats, Mask]]:
        """Of each kind and label the probabilities of what is predicted, and whether it is right; without what cannot
        be judged.
        """
        predictor = self.prepare(corpus)
        kinds = kinds if kinds != KINDS or sums_fit(predictor) else ("tokens",)  # all that there are
        prediction = self.predict(predictor, threads=threads)
        parts = self._parts(predictor, prediction, kinds, Workers(threads))
        evaluation = self.judged(corpus, prediction)
        for key, probabilities in parts.probabilities.items():
            right, known = _verdicts(evaluation, key, self.labels, parts.segments)
            kept = known & np.isfinite(probabilities)
            yield key, probabilities[kept], right[kept]

    # calibration --------------------------------------------------------------------------------------------------

    def calibrated(self, corpus: Corpus, *, method: str = "temperature", threads: int | None = None) -> Self:
        """The same model with probabilities that fit held-out data.

        corpus: held-out gold data.
        method: `temperature` or `isotonic`.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        `temperature` is one factor for all scores, which makes the gold labels likeliest. It changes all probabilities,
        and labels that these decode (by `marginal`, or over latent variables), but not the best labelling. `isotonic`
        fits a rising function of the probability of each kind of prediction: of tokens, segments, layers and sentences,
        label by label. It changes what `confidences` says, and nothing else; a temperature that the model has stays.
        Raises DcrfError for another method, if there is no best temperature or nothing to judge, or inference gives no
        log Z.

        >>> data = model.spec.data
        >>> dev = corpus_from_rows([[("Bath", "B-TOWN")], [("Oxford", "O")], [("Mill", "B-STREET")]], data)
        >>> calibrated = model.calibrated(dev)
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        if method not in CALIBRATIONS:
            message = f"`{method}` is not a way to calibrate"
            raise DcrfError(Diagnostic("unknown-method", message, help=f"the ways are {_listed(CALIBRATIONS)}"))
        fitted = self._isotonic(corpus, threads) if method == "isotonic" else self._tempered(corpus, threads)
        return self.with_record(replace(self.record, calibration=fitted))

    def _tempered(self, corpus: Corpus, threads: int | None) -> Calibration:
        self._require_log_z("no probability")
        log_probabilities = self._log_probabilities_of(corpus, Workers(threads))
        return calibration_of(log_probabilities, self.weights, corpus.file)

    def _isotonic(self, corpus: Corpus, threads: int | None) -> Calibration:
        before = self.record.calibration or Calibration(1.0, 0.0, 0.0, corpus.num_sentences)
        plain = self.with_record(replace(self.record, calibration=replace(before, maps=())))
        maps = []
        for (of, label), probabilities, right in plain._judged(corpus, KINDS, threads):
            if len(probabilities):
                corners, values = (tuple(part.tolist()) for part in isotonic_fit(probabilities, right))
                maps.append(ConfidenceMap(of, label, corners, values, len(probabilities)))
        if not maps:
            message = f"probabilities cannot be calibrated on `{corpus.file}`: it has no gold labels to judge by"
            raise data_error("cannot-calibrate", message, help="calibrate on other data, or more of it")
        return replace(before, maps=tuple(maps))


def _require_kind_of(of: str) -> None:
    if of not in KINDS:
        guess = did_you_mean(of, KINDS)
        remedy = f"did you mean `{guess}`?" if guess else f"the kinds are {_listed(KINDS)}"
        raise DcrfError(Diagnostic("unknown-method", f"`{of}` is no kind of prediction", help=remedy))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


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
