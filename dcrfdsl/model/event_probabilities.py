"""Probabilities of more than one label: of events, which are conditions over the labels of a sentence, and of cliques.

    P(event | x) = Σ over the disjoint cases of the event of exp(log Z of the case − log Z)

Whichever of the event and its complement is less likely is summed, in log space, so that probabilities near 0 and
near 1 keep their digits. Not here: what an event means (`label_events`), sums over cases (`case_sums`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, overload

import numpy as np

from ..data import Corpus, EncodedLabels, encode_labels, unknown_by_label
from ..foundation import DcrfError, cached_property, data_error, dataclass, require_kind, require_list
from ..inference import CliqueMarginal, RunStatus, Workers
from ..semantics import ALL, NONE, LabelDiagrams, event_problem
from ..syntax import Condition
from .case_sums import CaseSums, log_shares
from .label_events import EventReader, Known
from .predicting_model import PredictingModel
from .prediction import no_labelling
from .predictor import Predictor
from .sentence_tagging import Given, Sentence

MOST_CASES = 10_000  # of one event in one sentence
MOST_ENTRIES = 2**20  # states in the cases that are held at once; the digits of larger ones are those of 1 − P
HALF = np.log(0.5)


class EventProbability(NamedTuple):
    """The probability of an event in a sentence. Made by `model.events.probability`.

    event: as it was asked for.
    value: P(event | sentence).
    log: its natural logarithm, exact to the last digits where the event is almost impossible.
    log_not: that of 1 − value, exact where the event is almost certain.
    exact: whether exact inference gave it; else messages on loops estimated it.
    converged: whether these converged.
    """

    event: str
    value: float
    log: float
    log_not: float
    exact: bool
    converged: bool


@dataclass(frozen=True)
class _Question:
    """An event in one sentence. cases: how many the event has (`ALL`), and its complement (`NONE`)."""

    sentence: int
    diagrams: LabelDiagrams
    node: int
    cases: Mapping[int, int]

    @cached_property
    def depth(self) -> int:
        """How many places a case may have, at most."""
        return self.diagrams.depth(self.node)

    @property
    def size(self) -> int:
        """States in the cases that may be summed, at most."""
        counts = self.cases.values()
        return (sum(counts) if self.other_fits else min(counts)) * self.depth

    @property
    def other_fits(self) -> bool:
        """Whether the other side may be summed too."""
        most = max(self.cases.values())
        return most <= MOST_CASES and most * self.depth <= MOST_ENTRIES


@dataclass(frozen=True, eq=False)
class ModelEvents:
    """Probabilities of more than one label: of events and of clique instances. Got as `model.events`.

    model: which predicts.   reader: reads its events.
    """

    model: PredictingModel
    reader: EventReader

    @overload
    def probability(
        self, sentence: Sentence, event: str, *, given: Given | None = None, threads: int | None = None
    ) -> EventProbability: ...
    @overload
    def probability(
        self, sentence: Sentence, event: list[str], *, given: Given | None = None, threads: int | None = None
    ) -> list[EventProbability]: ...
    @overload
    def probability(
        self, sentence: Corpus | Predictor, event: str, *, given: EncodedLabels | None = None,
        threads: int | None = None,
    ) -> list[EventProbability]: ...  # fmt: skip
    @overload
    def probability(
        self, sentence: Corpus | Predictor, event: list[str], *, given: EncodedLabels | None = None,
        threads: int | None = None,
    ) -> list[list[EventProbability]]: ...  # fmt: skip
    def probability(
        self,
        sentence: Sentence | Corpus | Predictor,
        event: str | list[str],
        *,
        given: Given | EncodedLabels | None = None,
        threads: int | None = None,
    ) -> EventProbability | list[EventProbability] | list[list[EventProbability]]:
        """The probability that an event holds: a condition over the labels of a sentence.

        sentence: as `tag` takes it, or a corpus, or what `prepare` makes of one.
        event: a text, or a list of texts. Positions count from 1, as in `dcrfdsl why`.
        given: labels known beforehand, as for `tag`; with a corpus as for `predict`.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        An event is a condition of the language in which each label has a position (`y[3] is A and not y[4] in {B, C}`).
        `segment(y, 3, 5, LOC)` says that positions 3 to 5 are exactly one segment; `y = predicted`, `y[3] = predicted`
        and `predicted` that a label, one position or the whole sentence is as `predict` has it, and with `gold` as the
        data has it. Latent variables are summed out, or may be named.

        Returns an `EventProbability`; a list of them for a list of events; for a corpus a list with one of these for
        each sentence. Exact wherever exact inference fits, else estimated by messages, which `exact` says. Raises
        DcrfError for a text that is no event of the model, a position outside of a sentence, an event that falls into
        too many cases, or a sentence without any possible labelling.

        >>> moved = model.events.probability(["9", "Bath", "Lane"], "part[2] is I-STREET and part[3] is I-STREET")
        >>> round(moved.value, 2), moved.exact
        (0.53, True)
        >>> both = model.events.probability(["9", "Bath", "Lane"], ["segment(part, 2, 2, TOWN)", "predicted"])
        >>> [round(one.value, 2) for one in both]
        [0.05, 0.53]
        """
        texts = [event] if isinstance(event, str) else event
        require_list(texts, "event", "events, or one event as a text")
        for text in texts:
            require_kind(text, str, "event", "a text such as `y[3] is A`, or a list of such texts")
        events = [self.reader.read(text) for text in texts]
        predictor = self.model.prepare(sentence, given)
        if predictor is None:
            raise data_error("no-such-position", "the sentence has no token", help="give one with tokens")
        of_sentences = self._probabilities(predictor, events, list(texts), Workers(threads))
        answers = [one[0] for one in of_sentences] if isinstance(event, str) else of_sentences
        return answers if isinstance(sentence, Corpus | Predictor) else answers[0]

    def clique_marginals(
        self, corpus: Corpus, *, given: EncodedLabels | None = None
    ) -> Iterator[tuple[tuple[CliqueMarginal, ...], RunStatus]]:
        """Yields for each sentence the probabilities p(y_c | x) of every clique instance, and how inference ended.

        corpus: the sentences.
        given: labels known beforehand, as for `predict`.

        A `CliqueMarginal` has the clique's name, its `sites` as (label, position from 0), and a `table` with an axis a
        site.

        >>> cliques, status = next(model.events.clique_marginals(corpus))
        >>> cliques[-1].sites, cliques[-1].table.shape
        ((('part', 3), ('part', 4)), (5, 5))
        """
        return self.model.prepare(corpus, given).clique_marginals(self.model.probability_weights)

    def _probabilities(
        self, predictor: Predictor, events: Sequence[Condition], texts: Sequence[str], workers: Workers
    ) -> list[list[EventProbability]]:
        """Of each sentence the probability of each event."""
        needed = frozenset().union(*map(self.reader.needed, events))
        labellings = {name: _LABELLINGS[name](self.model, predictor, workers) for name in sorted(needed)}
        lengths, off = predictor.corpus.lengths().tolist(), predictor.corpus.sentence_off.tolist()
        out: list[list[EventProbability]] = []
        waiting: list[_Question] = []
        entries = 0
        for s, length in enumerate(lengths):
            known = {
                name: {label: sets[off[s] : off[s] + length] for label, sets in of_labels.items()}
                for name, of_labels in labellings.items()
            }
            try:
                asked = list(self._questions(predictor, events, s, length, known))
            except DcrfError as error:
                raise _in_sentence(error, predictor.corpus, s) from None
            waiting += asked
            entries += sum(question.size for question in asked)
            if s + 1 == len(lengths) or entries > MOST_ENTRIES:
                answers = iter(self._answers(predictor, waiting, workers))
                out += [[EventProbability(text, *next(answers)) for text in texts] for _ in range(len(out), s + 1)]
                waiting, entries = [], 0
        return out

    def _questions(
        self, predictor: Predictor, events: Sequence[Condition], sentence: int, length: int, known: Known
    ) -> Iterator[_Question]:
        """The events in one sentence. DcrfError for one that has too many cases."""
        diagrams = LabelDiagrams(predictor.structure.graph.cards)
        for event in events:
            node = self.reader.diagram(event, length, known, diagrams)
            cases = {end: diagrams.count(node, end) for end in (ALL, NONE)}
            if min(cases.values()) > MOST_CASES:
                message = f"the event falls into {min(cases.values()):,} cases, and at most {MOST_CASES:,} are summed"
                remedy = "ask for an event of fewer positions at once, or for several events"
                raise event_problem(event, "reads-too-much", message, help=remedy)
            yield _Question(sentence, diagrams, node, cases)

    def _answers(
        self, predictor: Predictor, questions: Sequence[_Question], workers: Workers
    ) -> list[tuple[float, float, float, bool, bool]]:
        """Of each question value, log, log_not, exact, converged. DcrfError if a sentence has no labelling."""
        log = {end: np.full(len(questions), np.nan) for end in (ALL, NONE)}
        log_z: dict[int, float] = {}

        def add(asked: Sequence[tuple[int, int]]) -> CaseSums:
            """Sums the cases of some questions' sides."""
            parts = [
                (questions[n].sentence, list(questions[n].diagrams.cases(questions[n].node, side))) for n, side in asked
            ]
            logs, sums = log_shares(predictor, parts, self.model.probability_weights, workers, log_z)
            for (n, side), value in zip(asked, logs.tolist(), strict=True):
                log[side][n] = value
            return sums

        smaller = [(n, ALL if one.cases[ALL] <= one.cases[NONE] else NONE) for n, one in enumerate(questions)]
        first = add(smaller)
        # a larger part of the probability loses digits, and estimates need both parts
        larger = [
            (n, NONE if side == ALL else ALL)
            for n, side in smaller
            if questions[n].other_fits and (first.approximate or log[side][n] > HALF)
        ]
        second, corpus = add(larger), predictor.corpus
        if lost := [s for s, own in log_z.items() if own == -np.inf]:
            raise no_labelling(corpus, lost)
        approximate, converged = first.approximate or second.approximate, (first.status + second.status).converged
        both = (_both(*logs, approximate) for logs in zip(log[ALL].tolist(), log[NONE].tolist(), strict=True))
        return [(float(np.exp(one)), one, other, not approximate, converged) for one, other in both]


def _in_sentence(error: DcrfError, corpus: Corpus, sentence: int) -> DcrfError:
    """The error with the place of the sentence, where there are several."""
    if corpus.num_sentences == 1:
        return error
    place = f"{corpus.file}:{corpus.token_line[corpus.sentence_off[sentence]]}"
    return DcrfError([replace(each, message=f"{each.message} (the one at {place})") for each in error.diagnostics])


def _both(log: float, log_not: float, approximate: bool) -> tuple[float, float]:
    """log P of the event and of its complement: of the likelier one by the other, which has the digits."""
    if approximate and not np.isnan(log + log_not):  # two estimates, which need not sum to 1
        total = np.logaddexp(log, log_not)
        return float(log - total), float(log_not - total)
    if np.isnan(log) or log_not < log:
        return _log_rest(log_not), min(log_not, 0.0)
    return min(log, 0.0), _log_rest(log)


def _log_rest(log: float) -> float:
    """log(1 − exp(log)), Mächler's formula; exp(log) may exceed 1 by rounding."""
    if log >= 0.0:
        return -np.inf
    return float(np.log(-np.expm1(log)) if log > HALF else np.log1p(-np.exp(log))) + 0.0  # no -0.0


def _predicted(model: PredictingModel, predictor: Predictor, workers: Workers) -> dict[str, list[int]]:
    """Of each label and token its predicted state, as a set of states."""
    prediction = model.predict(predictor, threads=workers.threads)
    return {label: [1 << code for code in codes.tolist()] for label, codes in prediction.codes.items()}


def _gold(model: PredictingModel, predictor: Predictor, workers: Workers) -> dict[str, list[int]]:
    """Of each label and token the states that the data allows; none where its value is no state."""
    absent = [label for label in model.labels if label not in predictor.corpus.columns]
    if absent:
        message = f"the data has no column `{absent[0]}`, so there are no gold labels"
        raise data_error("no-gold", message, help="give labelled data, or ask about `predicted`")
    encoded = encode_labels(model.spec, model.states, predictor.corpus)
    unknown = unknown_by_label(model.spec, model.states, predictor.corpus)
    allowed = {}
    for m, label in enumerate(model.labels):
        every = (1 << len(model.states[label])) - 1
        sets = [sum(1 << state for state in states) for states in encoded.sets[m]]
        allowed[label] = [
            1 << code if code >= 0 else sets[-2 - code] if code < -1 else 0 if strange else every
            for code, strange in zip(encoded.codes[m].tolist(), unknown[m].tolist(), strict=True)
        ]
    return allowed


_LABELLINGS = {"gold": _gold, "predicted": _predicted}
