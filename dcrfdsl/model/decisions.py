"""What may be done with labels unseen: sets that hold the truth as often as promised, thresholds of predictions.

The score of a truth is −log p: of the state of a token, of a gold segment, of all labels of a sentence. Sentences are
exchangeable and their tokens are not, so a sentence scores as its worst token or segment, and promises are about whole
sentences; a promise for a type is about its truths in sentences that have some. A segment counts as no likelier than
its type at any of its tokens, so that candidates are few. Not here: quantiles and curves (`metrics.selection`),
probabilities (`calibration`, `case_sums`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Generic, NamedTuple, NoReturn

import numpy as np

from ..data import Corpus, Segments, encode_labels, mark_table, segments_of, unknown_by_label
from ..foundation import CORPUS, Floats, Ints, Mask, data_error, dataclass, quoted_names, require_kind
from ..inference import Labellings, NBest, Workers
from ..metrics import RiskCoverage, best_cut, conformal_bound, least_count, segments_compared
from ..semantics import OUTSIDE, has_segments
from .calibration import (
    KINDS,
    LabelSegments,
    Model,
    ModelCalibration,
    SegmentConfidence,
    placed_segments,
    predicted_cases,
)
from .case_sums import log_shares
from .predictor import Predictor
from .record import Threshold
from .sentence_tagging import RankedLabels, Sentences

UNITS = ("tokens", "segments", "sentences")  # of which sets can be promised
ASSUMED = (
    "sentences to come are like those that were held out, in any order (exchangeable), and the model was neither "
    "trained nor tuned nor calibrated on these"
)
LESS = 1.0 - 1e-7  # between two ways to compute one probability
FIRST, TIMES, MOST = 8, 8, 1000  # labellings that are listed at first, how many more each time; members of a set


class PromisedSets(NamedTuple):
    """The sets of a sentence. Made by `TrainedModel.sets`.

    tokens: by label, of each token the states that it may have, likeliest first; empty if another kind is promised.
    segments: that there may be, with their probabilities.
    labellings: of the whole sentence, best first.
    whole: False if they were too large and are cut, so that nothing is promised of them.
    """

    tokens: Mapping[str, tuple[tuple[str, ...], ...]]
    segments: tuple[SegmentConfidence, ...]
    labellings: tuple[RankedLabels, ...]
    whole: bool


@dataclass(frozen=True, eq=False)
class ModelDecisions(Generic[Model]):
    """Sets with a promise, operating points, and what is right of the surest predictions. Got as `model.decisions`.

    model: which predicts.
    """

    model: Model

    # sets with a promise ----------------------------------------------------------------------------------------------

    def with_sets(
        self, corpus: Corpus, cover: float, *, of: str = "tokens", by_type: bool = False, threads: int | None = None
    ) -> Model:
        """The same model with sets that hold all truths of a new sentence with probability `cover` at least.

        corpus: held-out gold data; sentences with a label that is missing or ambiguous are left out.
        cover: between 0 and 1.
        of: what the sets hold: `tokens` (states of each), `segments` or `sentences` (labellings).
        by_type: whether each type of segments, or each state, has a promise of its own.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        These are split conformal sets: the promise needs no probabilities that are right, but sentences that are
        exchangeable with the held-out ones. Raises DcrfError for too few sentences, or without probabilities.

        >>> model.decisions.with_sets(corpus, 0.7).sets(corpus)[0].tokens["part"][0]
        ('B-STREET',)
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        units = UNITS if any(map(has_segments, self.model.structure.label_states.values())) else UNITS[::2]
        if of not in units or not 0.0 < cover < 1.0:
            message = f"sets of `{of}` cannot be promised to hold a share of {cover:g}"
            remedy = f"the kinds are {', '.join(quoted_names(units))}; a share is between 0 and 1, such as 0.95"
            raise data_error("bad-argument", message, help=remedy)
        found = []
        for (label, type), worst in self._worst(corpus, of, by_type, Workers(threads)).items():
            bound = conformal_bound(worst, cover)
            least, held = math.exp(-bound) * LESS or None, float((worst <= bound).mean()) if len(worst) else math.nan
            found.append(Threshold("cover", of, label, type, cover, least, held, len(worst)))
        if all(one.least is None for one in found):
            fewest, most = least_count(cover), max((one.count for one in found), default=0)
            few = f"a share of {cover:g} takes {fewest:,} sentences with known labels; `{corpus.file}` has {most:,}"
            impossible = f"in too many sentences of `{corpus.file}` the truth is impossible for the model"
            message = few if most < fewest else impossible
            raise data_error("cannot-calibrate", message, help="promise less or something else, or hold out more data")
        return self._with(found, ["recall", "precision"])

    def _with(self, found: list[Threshold], kept: Sequence[str]) -> Model:
        """The model with these thresholds, and those of its own for other uses."""
        every = (*(one for one in self.model.record.thresholds if one.use in kept), *found)
        return self.model.with_record(replace(self.model.record, thresholds=every))

    @np.errstate(divide="ignore")
    def _worst(self, corpus: Corpus, of: str, by_type: bool, workers: Workers) -> dict[tuple[str, str], Floats]:
        """By label and type the largest −log p of a truth in each sentence that has some."""
        model, found = self.model, dict[tuple[str, str], Floats]()
        codes = encode_labels(model.spec, model.states, corpus).codes
        odd = unknown_by_label(model.spec, model.states, corpus)
        is_known = np.logical_and.reduceat(((codes >= 0) | odd).all(axis=0), corpus.sentence_off[:-1])
        kept, corpus = np.repeat(is_known, corpus.lengths()), corpus.take(np.flatnonzero(is_known))
        codes, odd = np.where(odd, 0, codes)[:, kept], odd[:, kept]
        if not corpus.num_sentences:
            return found
        sentence, predictor = np.repeat(np.arange(corpus.num_sentences), corpus.lengths()), model.prepare(corpus)

        def add(label: str, types: Sequence[str], logs: Floats, at: Ints, kind: Ints) -> None:
            """log p of truths, their sentences and types; -1 of one that the model does not know."""
            surprise = np.nan_to_num(-logs, nan=np.inf, posinf=np.inf)
            for number, type in enumerate(types if by_type else [""]):
                mine, worst = (kind == number) | (not by_type), np.full(corpus.num_sentences, -np.inf)
                np.maximum.at(worst, at[mine], surprise[mine])
                found[label, type] = worst[worst > -np.inf]

        if of == "sentences":
            asked, by_type = predicted_cases(predictor, dict(zip(model.labels, codes, strict=True)), {}, (of,)), False
            logs, sums = log_shares(predictor, asked, model.probability_weights, workers, {})
            if sums.approximate:
                message = "labellings have no exact probabilities in this model, so no set of them can be promised"
                raise data_error("cannot-calibrate", message, help="promise sets of tokens: `--of tokens`")
            logs[sentence[odd.any(axis=0)]] = -np.inf
            add("", (), logs, np.arange(len(logs)), np.zeros(len(logs), np.int64))
            return found
        tables, _ = model.marginals(predictor, threads=workers.threads)
        for m, label in enumerate(model.labels):
            types, of_state = _types(model.states[label])
            if of == "tokens":
                logs = np.log(np.where(odd[m], 0.0, tables[label][np.arange(len(sentence)), codes[m]]))
                add(label, types, logs, sentence, np.where(odd[m], -1, of_state[codes[m]]))
            elif has_segments(model.states[label]):
                marks = mark_table(model.states[label])[:2]
                golds, strange = segments_of(np.where(odd[m], -1, codes[m]), *marks, corpus.sentence_off), odd[m].sum()
                logs = self._segment_logs(predictor, label, golds, _masses(tables[label], of_state), workers)
                at, kind = np.append(sentence[golds.start], sentence[odd[m]]), np.append(golds.kind, [-1] * strange)
                add(label, types[:-1], np.append(logs, [-np.inf] * strange), at, kind)
        return found

    @np.errstate(divide="ignore")
    def _segment_logs(
        self, predictor: Predictor, label: str, found: Segments, masses: Floats, workers: Workers
    ) -> Floats:
        """log p of segments, and at most that of their type at each of their tokens, [n].   masses: [N, types]."""
        codes = {label: np.zeros(len(masses), np.int32)}
        segments = {label: LabelSegments(found, mark_table(self.model.states[label])[2])}
        cases = predicted_cases(predictor, codes, segments, ("segments",))
        logs, _ = log_shares(predictor, cases, self.model.probability_weights, workers, {})
        every = zip(*(part.tolist() for part in found), strict=True)
        least = np.array([masses[start : end + 1, kind].min() for start, end, kind in every])
        of_types: Floats = np.log(least)
        return np.minimum(logs, of_types)

    @property
    def promised(self) -> list[Threshold]:
        """The thresholds of the sets. DcrfError if the model has none."""
        found = [one for one in self.model.record.thresholds if one.use == "cover"]
        return found or _no_promise("no sets with a promise", "--cover 0.95")

    @property
    def points(self) -> list[Threshold]:
        """The operating points of the model. DcrfError if it has none."""
        found = [one for one in self.model.record.thresholds if one.use != "cover"]
        return found or _no_promise("no operating point", "--precision TYPE=0.95")

    def sets(self, predictor: Predictor, workers: Workers) -> list[PromisedSets]:
        """The sets of each sentence; see `TrainedModel.sets`.

        predictor: what `prepare` makes of sentences.
        workers: threads to compute with.
        """
        model, promised, off = self.model, self.promised, predictor.corpus.sentence_off.tolist()
        if promised[0].of == "sentences":
            layout, lists = Sentences(model.spec, model.states, model.labels), self.labellings(predictor, workers)
            return [PromisedSets({}, (), tuple(layout.ranked(one)), one.exact) for one in lists.sentences]
        is_of_tokens = promised[0].of == "tokens"
        none = 0.0 if is_of_tokens else np.inf  # without a bound all states of a type, or no segment
        least = {(one.label, one.type): none if one.least is None else one.least for one in promised}
        tables, _ = model.marginals(predictor, threads=workers.threads)
        columns, segments = dict[str, list[tuple[str, ...]]](), [list[SegmentConfidence]() for _ in off[1:]]
        is_cut = [False] * len(segments)
        for label in dict.fromkeys(one.label for one in promised):
            (types, of_state), states, table = _types(model.states[label]), model.states[label], tables[label]
            bounds = np.array([least.get((label, type), least.get((label, ""), none)) for type in types])
            if is_of_tokens:
                inside, order = table >= bounds[of_state[: len(states)]], (-table).argsort(axis=1, kind="stable")
                columns[label] = [tuple(states[k] for k in order[t] if inside[t, k]) for t in range(off[-1])]
                continue
            masses, every = _masses(table, of_state), list[tuple[int, int, int]]()
            for s, (start, end) in enumerate(pairwise(off)):
                listed = list(islice(_candidates(masses[start:end] >= bounds[:-1]), MOST + 1))
                is_cut[s] |= len(listed) > MOST
                every += [(start + first, start + last, kind) for first, last, kind in listed[:MOST]]
            found = Segments(*np.array(every, np.int64).reshape(-1, 3).T)
            sure = np.exp(self._segment_logs(predictor, label, found, masses, workers))
            for s, one in placed_segments(label, types, found, sure, predictor.corpus.sentence_off):
                if one.probability >= bounds[types.index(one.type)]:
                    segments[s].append(one)
        spans = [slice(*span) for span in pairwise(off)]
        tokens = [{label: tuple(of[span]) for label, of in columns.items()} for span in spans]
        of_sentences = zip(tokens, segments, is_cut, strict=True)
        return [PromisedSets(states, tuple(listed), (), not is_one) for states, listed, is_one in of_sentences]

    def labellings(self, predictor: Predictor, workers: Workers) -> NBest:
        """The labellings of each sentence that are in its set, best first; `exact` where these are all.

        predictor: what `prepare` makes of sentences.
        workers: threads to compute with.
        """
        least, listed = self.promised[0].least or 0.0, list[Labellings]()
        first = self.model.nbest(predictor, FIRST, threads=workers.threads)
        for s, found in enumerate(first.sentences):
            count = FIRST
            while len(found) == count < MOST and found.probability[-1] >= least:
                count = min(MOST, TIMES * count)
                one = self.model.prepare(predictor.corpus.slice(s, s + 1))
                (found,) = self.model.nbest(one, count, threads=workers.threads).sentences
            kept = found.probability >= least
            is_whole = found.exact and not np.isnan(found.probability).any() and (len(found) < MOST or not kept.all())
            codes = {label: own[kept] for label, own in found.codes.items()}
            listed.append(Labellings(codes, found.score[kept], found.probability[kept], is_whole))
        return NBest(tuple(listed), first.status)

    # operating points -------------------------------------------------------------------------------------------------

    def with_points(
        self, corpus: Corpus, *, recall: Mapping[str, float] | None = None,
        precision: Mapping[str, float] | None = None, threads: int | None = None,
    ) -> Model:  # fmt: skip
        """The same model with a threshold for each type that is named: predictions at least as likely are taken unseen.

        corpus: held-out gold data.
        recall: by type of segments, or by state of a label without segments, the share of gold ones that are taken at
            least; `LABEL.TYPE` of several labels. The threshold is the highest one.
        precision: likewise, the share of those taken that are right; the threshold takes the most.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        These are figures of the held-out data, and no promise. Raises DcrfError where no threshold reaches them, for an
        unknown type, and for one that has two shares.

        >>> one = model.decisions.with_points(corpus, precision={"TOWN": 0.9}).decisions.points[0]
        >>> one.type, one.found, one.count
        ('TOWN', 1.0, 3)
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        model, found = self.model, list[Threshold]()
        asked = [(name, "recall", share) for name, share in (recall or {}).items()]
        asked += [(name, "precision", share) for name, share in (precision or {}).items()]
        units = {label: "segments" if has_segments(model.states[label]) else "tokens" for label in model.labels}
        known = {
            type if len(model.labels) == 1 else f"{label}.{type}": (label, type)
            for label, unit in units.items()
            for type in _types(model.states[label])[0][: -1 if unit == "segments" else None]
        }
        for name, measure, target in asked:
            if name not in known or not 0.0 < target <= 1.0 or sum(name == other for other, _, _ in asked) > 1:
                message = f"`{name}` has two shares" if name in known else f"the model has no type `{name}`"
                message = message if 0.0 < target <= 1.0 else f"{target:g} is no {measure}"
                remedy = f"give a type one share, up to 1; the types are {', '.join(quoted_names(tuple(known)))}"
                raise data_error("bad-argument", message, help=remedy)
        wanted = sorted({units[known[name][0]] for name, _, _ in asked})
        judged = {one[0]: one for one in ModelCalibration(model).judged(corpus, wanted, threads)}
        for name, measure, target in asked:
            label, type = known[name]
            _, sure, right, (types, gold) = judged[units[label], label]
            names, golds = list(gold.states[label]), np.asarray(gold.gold[label])
            if units[label] == "segments":
                compared = segments_compared(gold, label)
                names, golds = list(compared.types), compared.golds.kind
            mine, count = types == names.index(type), int((golds == names.index(type)).sum())
            least, taken, share = best_cut(
                RiskCoverage.of(sure[mine], right[mine]), target, count if measure == "recall" else None
            )
            if not share >= target:
                best = f"at most {share:.4f}, from probability {least:.4g} on" if taken else "not known: there are none"
                message = f"the {measure} of `{name}` on `{corpus.file}` is {best}; asked for is {target:g}"
                raise data_error("cannot-calibrate", message, help="ask for less, or train a model that finds more")
            found.append(Threshold(measure, units[label], label, type, target, least * LESS, share, taken))
        return self._with(found, ["cover"])

    def accepts(self, label: str, type: str, probability: float) -> bool | None:
        """Whether a prediction can be taken unseen; None where its type has no operating point.

        label, type: of a segment, or the state of a token.
        probability: as `calibration.confidences` gives it.

        >>> model.decisions.with_points(corpus, precision={"TOWN": 0.9}).decisions.accepts("part", "TOWN", 0.01)
        False
        """
        for one in self.model.record.thresholds:
            if one.use != "cover" and (one.label, one.type) == (label, type):
                return probability >= (one.least or 0.0)
        return None

    def risk_coverage(
        self, corpus: Corpus, *, decode: str | None = None, threads: int | None = None
    ) -> dict[str, RiskCoverage]:
        """What is right of the surest predictions: by `tokens(LABEL)`, `segments(LABEL)` and `sentences`.

        corpus: gold data; what touches a value that is missing or ambiguous is left out.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        """
        judged = ModelCalibration(self.model).judged(corpus, KINDS, threads, decode)
        return {
            f"{kind}({label})" if label else kind: RiskCoverage.of(sure, right)
            for (kind, label), sure, right, _ in judged
            if kind != "layers"
        }


def _no_promise(what: str, option: str) -> NoReturn:
    remedy = f"`dcrfdsl calibrate MODEL DEV {option} -o NEW` finds it on held-out data"
    raise data_error("no-promise", f"the model has {what}", help=remedy)


def _types(states: Sequence[str]) -> tuple[list[str], Ints]:
    """The types of states, `O` last where they mark segments, and the type of each state by its number."""
    if not has_segments(states):
        return list(states), np.arange(len(states))
    mark, kind, names = mark_table(states)
    return [*names, OUTSIDE], np.where(mark > 0, kind, len(names))


def _masses(table: Floats, of_state: Ints) -> Floats:
    """[N, types] the probability of each type of segments at each token."""
    return np.stack(
        [table[:, of_state[: table.shape[1]] == kind].sum(axis=1) for kind in range(of_state.max())], axis=1
    )


def _candidates(allowed: Mask) -> Iterator[tuple[int, int, int]]:
    """First token, last token and type of the segments whose type is allowed throughout.   allowed: [T, types]."""
    for first, kind in np.argwhere(allowed).tolist():
        for last in range(first, len(allowed)):
            if not allowed[last, kind]:
                break
            yield first, last, kind
