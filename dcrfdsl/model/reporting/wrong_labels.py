"""The wrong labels of a corpus, the most confident first, as arrays and as the data of the page's browser.

The data are cut into pages of bounded size. A sentence is there once, whatever the number of its errors:

    labels      name and texts of each label that is scored; codes below index these texts
    sentences   number n, line, words w (null if it has none), by label the codes of the prediction p, and
                {position: gold code} of errors g
    errors      [label, sentence (its place in the list), position, gold, predicted, probability, gold's, why, is new]
    whys        explanations, see `Why`

Probabilities are in thousandths, -1 if there is none. Not here: the page (`page_writer`), explaining (`model`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...data import Corpus, word_column
from ...foundation import Floats, Integers, Ints, Mask, dataclass, json_text, printable
from ...metrics import Evaluation

PAGE_BYTES = 2_400_000  # of the data of one page's browser: with all else the page stays below 3 MB


class Term(NamedTuple):
    """What a feature of a clique adds to a margin, in nats.   at: positions, from 1."""

    score: float
    clique: str
    at: str
    states: str
    feature: str


class Why(NamedTuple):
    """Why an error was made.

    against: the state that the prediction is compared with, the gold one where the model knows it.
    margin: in nats.   terms: the largest ones.   left_out: the number of further terms, and their sum.
    lines: further remarks, and which features decide.
    """

    against: str
    margin: float
    terms: tuple[Term, ...]
    left_out: tuple[int, float]
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ErrorList:
    """The wrong labels, E of them, the most confident first, then in the order of the data.

    labels: names of the labels that are scored.   label: [E] which one is wrong.   token: [E].
    probability, gold_probability: [E] of the label given and of the gold one, NaN if unknown.
    """

    labels: tuple[str, ...]
    label: Ints
    token: Ints
    probability: Floats
    gold_probability: Floats

    def __len__(self) -> int:
        return len(self.token)

    def first(self, most: int) -> ErrorList:
        """The first `most` of them."""
        numbers = self.label[:most], self.token[:most]
        return ErrorList(self.labels, *numbers, self.probability[:most], self.gold_probability[:most])


def error_list(evaluation: Evaluation, marginals: Mapping[str, Floats]) -> ErrorList:
    """The tokens whose label is wrong where gold is known.

    marginals: by label, [N, K] p(y_t = state | x); empty if there are none.
    """
    labels: tuple[str, ...] = tuple(evaluation.gold)
    parts: list[tuple[Ints, Ints, Floats, Floats]] = []
    for number, label in enumerate(labels):
        tokens = np.flatnonzero(evaluation.scored(label) & ~evaluation.right(label))
        gold, predicted = np.asarray(evaluation.gold[label])[tokens], np.asarray(evaluation.predicted[label])[tokens]
        table = marginals.get(label)
        probabilities = _of_states(table, tokens, predicted), _of_states(table, tokens, gold)
        parts.append((np.full(len(tokens), number), tokens, *probabilities))
    label_of, token, probability, of_gold = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((label_of, token, -np.where(np.isnan(probability), -1.0, probability)))
    return ErrorList(labels, label_of[order], token[order], probability[order], of_gold[order])


def _of_states(table: Floats | None, tokens: Ints, states: Integers) -> Floats:
    """The probabilities of a state at each of some tokens; NaN where the model has no such state."""
    found = np.full(len(tokens), np.nan)
    if table is not None:
        known = (states >= 0) & (states < table.shape[1])
        found[known] = table[tokens[known], states[known]]
    return found


def error_pages(
    errors: ErrorList,
    corpus: Corpus,
    evaluation: Evaluation,
    whys: Mapping[int, Why],
    new: Mask | None,
    page_bytes: int = PAGE_BYTES,
) -> Iterator[dict[str, Any]]:
    """The data of each page, one at least.

    whys: explanations by the number of the error.   new: [N] words that training did not have, None if unknown.
    """
    wrong = [evaluation.scored(label) & ~evaluation.right(label) for label in errors.labels]
    page = _Page(errors, corpus, evaluation, new, wrong)
    for number in range(len(errors)):
        if page.errors and page.size > page_bytes:
            yield page.data()
            page = _Page(errors, corpus, evaluation, new, wrong)
        page.add(number, whys.get(number))
    yield page.data()


class _Page:
    """A page of errors that grows. size: about how many bytes it has so far."""

    def __init__(
        self, errors: ErrorList, corpus: Corpus, evaluation: Evaluation, new: Mask | None, wrong: Sequence[Mask]
    ):
        self.all, self.corpus, self.evaluation, self.new, self.wrong = errors, corpus, evaluation, new, wrong
        self.texts = [{state: code for code, state in enumerate(evaluation.states[y])} for y in errors.labels]
        self.sentences: dict[int, int] = {}
        self.rows: list[dict[str, Any]] = []
        self.errors: list[list[int]] = []
        self.whys: list[dict[str, Any]] = []
        self.size = 0

    def add(self, number: int, why: Why | None) -> None:
        """Takes an error, with its sentence if that is not there yet."""
        label, token = int(self.all.label[number]), int(self.all.token[number])
        name = self.all.labels[label]
        sentence = self.corpus.sentence_of(token)
        if sentence not in self.sentences:
            self.sentences[sentence] = len(self.rows)
            self.rows.append(self._sentence(sentence))
            self.size += len(json_text(self.rows[-1]))
        row = self.sentences[sentence]
        position = token - int(self.corpus.sentence_off[sentence])
        if why is not None:
            self.whys.append(
                {
                    "against": printable(why.against),
                    "margin": round(why.margin, 4),
                    "terms": [[round(one.score, 4), *map(printable, one[1:])] for one in why.terms],
                    "left": [why.left_out[0], round(why.left_out[1], 4)],
                    "lines": [printable(line) for line in why.lines],
                }
            )
            self.size += len(json_text(self.whys[-1]))
        self.errors.append(
            [
                label,
                row,
                position,
                self.rows[row]["g"][label][str(position)],
                int(self.evaluation.predicted[name][token]),
                _thousandths(self.all.probability[number]),
                _thousandths(self.all.gold_probability[number]),
                -1 if why is None else len(self.whys) - 1,
                int(self.new is not None and bool(self.new[token])),
            ]
        )
        self.size += 40

    def _sentence(self, sentence: int) -> dict[str, Any]:
        start, end = (int(n) for n in self.corpus.sentence_off[sentence : sentence + 2])
        word = word_column(self.corpus, self.all.labels)
        texts = self.corpus.text_column(word) if word is not None else None
        return {
            "n": sentence + 1,
            "line": int(self.corpus.token_line[start]),
            "w": None if texts is None else [printable(texts.text(t)) for t in range(start, end)],
            "p": [np.asarray(self.evaluation.predicted[y])[start:end].tolist() for y in self.all.labels],
            "g": [self._wrong(number, start, end) for number in range(len(self.all.labels))],
        }

    def _wrong(self, label: int, start: int, end: int) -> dict[str, int]:
        """The gold texts of the sentence's errors, by position: a state's, or what the data say."""
        name, texts = self.all.labels[label], self.texts[label]
        gold = self.evaluation.gold[name]
        codes = {}
        for t in np.flatnonzero(self.wrong[label][start:end]).tolist():
            code = int(gold[start + t])
            said = self.evaluation.gold_text(self.corpus, name, start + t)
            codes[str(t)] = code if code >= 0 else texts.setdefault(said, len(texts))
        return codes

    def data(self) -> dict[str, Any]:
        """What the page's script reads."""
        labels = [
            {"name": printable(name), "texts": [printable(text) for text in texts]}
            for name, texts in zip(self.all.labels, self.texts, strict=True)
        ]
        return {"labels": labels, "sentences": self.rows, "errors": self.errors, "whys": self.whys}


def _thousandths(probability: float) -> int:
    return -1 if np.isnan(probability) else round(1000 * float(probability))
