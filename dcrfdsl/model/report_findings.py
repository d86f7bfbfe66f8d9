"""What a report says of a model on data: it predicts, explains the errors, and gathers weights and the record.

    model, data ──> labels, probabilities ──> errors, explanations, drawn sentences ──> `Findings`

Not here: the page and its sections (`reporting`), what a model's weights and record are (`model_summary`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..data import Corpus, InternedColumn, word_column
from ..foundation import DcrfError, Floats, Mask, data_error
from ..inference import RunStatus
from ..metrics import Evaluation, unseen_values
from ..semantics import is_implied, to_text
from .calibration import probability_notes
from .explanation import contribution_words, explain_label, explanation_remarks, explanation_verdict
from .model_explanations import missing_sentence, sentence_drawing
from .model_scores import ModelScores
from .model_summary import identity_of, strong_weights, transition_weights
from .predicting_model import PredictingModel
from .prediction import Prediction, runs_that_fit
from .predictor import Predictor
from .reporting import Comparison, DrawnSentence, ErrorList, Findings, Sampling, Term, Why, error_list

MOST_TERMS = 8  # of an explanation
DRAWN_LENGTH, MOST_DRAWN = 25, 3  # tokens of a sentence that is drawn unasked, and how many are
LIKELIEST = 5  # states of a variable whose probabilities a drawing tells


class ReportChoices(NamedTuple):
    """What a report takes in. errors: how many are listed at most.   explained: how many of them are explained.
    sentences: numbers of those that are drawn, from 0; empty for those with the most confident errors.
    sampling: of the intervals.   comparison: with other models.
    """

    errors: int = 20_000
    explained: int = 100
    sentences: tuple[int, ...] = ()
    sampling: Sampling = Sampling()
    comparison: Comparison | None = None


class _Labelled(NamedTuple):
    """The corpus with its labels.   marginals: by variable, empty if there are none."""

    model: PredictingModel
    corpus: Corpus
    evaluation: Evaluation
    marginals: Mapping[str, Floats]

    def sentence(self, number: int) -> Predictor:
        return self.model.prepare(self.corpus.slice(number, number + 1))


def findings_on(
    model: PredictingModel,
    corpus: Corpus,
    prediction: Prediction,
    values: Mapping[str, float | int],
    choices: ReportChoices,
    threads: int | None,
) -> Findings:
    """What a report says of the labels of a corpus. DcrfError where gold labels do not fit the model.

    prediction: what the model gives `corpus`.   values: the scores of the template's metrics.
    """
    evaluation = ModelScores(model).judged(corpus, prediction)
    marginals, notes = _marginals(model, corpus, threads)
    labelled = _Labelled(model, corpus, evaluation, marginals)
    errors = error_list(evaluation, {label: marginals[label] for label in model.labels if marginals})
    listed = errors.first(choices.errors)
    word = word_column(corpus, model.labels)
    count = len(prediction.status.impossible)
    impossible = [f"no labelling is possible in {count:,} sentence{'s' * (count != 1)}; nothing is right there"] * (
        count > 0
    )
    return Findings(
        corpus=corpus,
        evaluation=evaluation,
        values=values,
        metrics=model.spec.evaluate,
        terms=ModelScores(model).sentence_terms(corpus, threads=threads),
        sampling=choices.sampling,
        marginals={label: marginals[label] for label in model.labels if marginals},
        errors=listed,
        whys=dict(_whys(labelled, listed, choices.explained)),
        num_errors=len(errors),
        new=_new_words(model, corpus, word),
        weights=strong_weights(model),
        transitions=transition_weights(model),
        sentences=[_drawn(labelled, number) for number in choices.sentences or _unasked(corpus, listed)],
        stages=model.record.stages,
        trials=model.record.tuning.get("trials", ()),
        identity=identity_of(model, corpus, choices.sampling.seed),
        template=to_text(model.spec),
        notes=[
            *impossible,
            *_convergence(prediction.status, "the labels"),
            *(one.message for one in ModelScores(model).empty_metrics(corpus)),
            *notes,
        ],
        comparison=choices.comparison,
    )


def check_choices(choices: ReportChoices, corpus: Corpus) -> None:
    """DcrfError where there is nothing to report, or no such sentence to draw."""
    if not corpus.num_tokens:
        raise data_error("empty-file", "there is nothing to report: the data has no token", file=corpus.file)
    for number in choices.sentences:
        if not 0 <= number < corpus.num_sentences:
            raise missing_sentence(corpus, number)


def _marginals(model: PredictingModel, corpus: Corpus, threads: int | None) -> tuple[Mapping[str, Floats], list[str]]:
    """p(y_t = state | x) of every variable, and notes on them; none under methods without probabilities."""
    compared = sum(kernel.size for kernel in model.extractor.observation_kernels)
    tables: list[dict[str, Floats]] = []
    status = RunStatus()
    try:
        for run in runs_that_fit(corpus, compared):
            of_run, how = model.marginals(corpus.slice(*run), threads=threads)
            tables.append(of_run)
            status += replace(how, impossible=())
    except DcrfError as error:
        return {}, [f"there are no probabilities: {error.diagnostics[0].message}"]
    notes = [note.removeprefix("note: ") for note in probability_notes(model)]
    marginals = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    return marginals, [*notes, *_convergence(status, "the probabilities")]


def _convergence(status: RunStatus, what: str) -> list[str]:
    if status.converged:
        return []
    return [f"inference did not converge on {status.not_converged:,} of {status.graphs:,} sentences for {what}"]


def _new_words(model: PredictingModel, corpus: Corpus, word: str | None) -> Mask | None:
    """[N] tokens whose word training did not have; None unless the model keeps these words, as for `oov_accuracy`."""
    column = corpus.columns.get(word) if word is not None else None
    if word is None or word not in model.known_values or not isinstance(column, InternedColumn):
        return None
    return unseen_values(column, model.known_values[word])


def _whys(labelled: _Labelled, errors: ErrorList, most: int) -> Iterator[tuple[int, Why]]:
    """The number of an error, and why it was made, for the first errors."""
    sentences: dict[int, Predictor] = {}
    for number in range(min(most, len(errors))):
        token, label = int(errors.token[number]), errors.labels[int(errors.label[number])]
        sentence = labelled.corpus.sentence_of(token)
        if sentence not in sentences:
            sentences[sentence] = labelled.sentence(sentence)
        why = _why(labelled, sentences[sentence], label, token, token - int(labelled.corpus.sentence_off[sentence]))
        if why is not None:
            yield number, why


def _why(labelled: _Labelled, sentence: Predictor, label: str, token: int, position: int) -> Why | None:
    """Why a label was given and not the gold one, or else not the likeliest other one; None if there is nothing to say.

    sentence: the one of the token.   position: of the token in it.
    """
    states = labelled.model.states
    chosen, gold = int(labelled.evaluation.predicted[label][token]), int(labelled.evaluation.gold[label][token])
    against = states[label][gold] if 0 <= gold < len(states[label]) else None
    if chosen < 0 or (against is None and not labelled.marginals):
        return None
    probabilities = labelled.marginals[label][token] if labelled.marginals else np.zeros(len(states[label]))
    try:
        explained = explain_label(sentence, labelled.model.weights, label, position, chosen, probabilities, against)
    except DcrfError as error:
        return Why(against or "", 0.0, (), (0, 0.0), (error.diagnostics[0].message,))
    terms, rest = explained.contributions[:MOST_TERMS], explained.contributions[MOST_TERMS:]
    words = tuple(Term(one.score, *contribution_words(one)) for one in terms)
    lines = (*explanation_remarks(explained), *explanation_verdict(explained))
    return Why(explained.runner_up, explained.margin, words, (len(rest), sum(one.score for one in rest)), lines)


def _unasked(corpus: Corpus, errors: ErrorList) -> Sequence[int]:
    """Short sentences with the most confident errors, or else the first short ones."""
    lengths = corpus.lengths()
    with_errors = dict.fromkeys(corpus.sentence_of(token) for token in errors.token[:1000].tolist())
    candidates = (*with_errors, *np.flatnonzero(lengths[:1000] > 0).tolist())
    short = [s for s in dict.fromkeys(candidates) if lengths[s] <= DRAWN_LENGTH]
    return short[: MOST_DRAWN if with_errors else 1]


def _drawn(labelled: _Labelled, number: int) -> DrawnSentence:
    """The unrolled graph of a sentence, whose circles tell the probabilities."""
    model, first = labelled.model, int(labelled.corpus.sentence_off[number])

    def told(name: str, position: int) -> tuple[str, tuple[str, ...], str]:
        return _circle(labelled, name, first + position)

    drawing = sentence_drawing(model, labelled.corpus, number, told)
    head = ["position", "word", *(part for label in model.labels for part in (label, "gold, if other", "probability"))]
    lines = [
        [str(t + 1), drawing.words[t], *(cell for y in model.labels for cell in _label_cells(labelled, y, first + t))]
        for t in range(len(drawing.words))
    ]
    return DrawnSentence(number + 1, drawing, head, lines)


def _circle(labelled: _Labelled, variable: str, token: int) -> tuple[str, tuple[str, ...], str]:
    """What the circle of a variable says: its label, or its likeliest state; the probabilities of its states; and
    whether its label is wrong.
    """
    states, lines = labelled.model.states[variable], []
    shown, gold = "", ""
    if variable in labelled.evaluation.predicted:
        shown, gold, _ = _label_cells(labelled, variable, token)
        lines.append(f"labelled {shown}, gold {gold}" if gold else f"labelled {shown}")
    if labelled.marginals and not is_implied(variable):
        probabilities = labelled.marginals[variable][token]
        likeliest = np.argsort(-probabilities, kind="stable")[:LIKELIEST].tolist()
        shown = shown or states[likeliest[0]]
        lines += [f"{states[k]} {probabilities[k]:.4f}" for k in likeliest]
    return shown, tuple(lines), "wrong" if gold else ""


def _label_cells(labelled: _Labelled, label: str, token: int) -> tuple[str, str, str]:
    """The label of a token, the gold one where it differs, and the probability of the label."""
    evaluation = labelled.evaluation
    code = int(evaluation.predicted[label][token])
    wrong = evaluation.scored(label)[token] and not evaluation.right(label)[token]
    probability = f"{labelled.marginals[label][token, code]:.4f}" if labelled.marginals and code >= 0 else ""
    shown = evaluation.states[label][code] if code >= 0 else "nothing"
    return shown, evaluation.gold_text(labelled.corpus, label, token) if wrong else "", probability
