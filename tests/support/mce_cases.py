"""Shared by the tests of error rates: templates with segments, and every labelling of a sentence with its score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from model_cases import columns, gold_of, trained, twin_of
from template_cases import Case
from template_twin import Enumerated

from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.semantics.settings.loss_settings import MceSettings, SmoothingSettings
from dcrfdsl.semantics.settings.prior_settings import NoPrior
from dcrfdsl.semantics.settings.training_settings import TrainSettings


def settings_of(**criterion: Any) -> TrainSettings:
    return TrainSettings(criterion=MceSettings(**criterion), prior=NoPrior(), infer=ExactSettings())


def scores_of(case: Case, weights: Any) -> list[tuple[Any, tuple[int, ...]]]:
    """For every sentence the log potential of each labelling, and the index of the right one."""
    return [(labellings.joint(weights), right) for labellings, right in case.once("labellings", lambda: _all_of(case))]


def _all_of(case: Case) -> list[tuple[Enumerated, tuple[int, ...]]]:
    """The labellings of each sentence with the features that fire on them, and the index of the right one."""
    model, _ = trained(case)
    twin, found = twin_of(model, case), []
    for sentence in case.sentences:
        table = columns(case, sentence)
        gold = gold_of(model, table)
        right = tuple(model.states[name].index(gold[name][t]) for t in range(len(sentence)) for name in model.states)
        found.append((twin.enumerate(table), right))
    return found


def smooth(settings: SmoothingSettings, d: float, beta: float = 0.0) -> float:
    z = settings.alpha * d + (beta if settings.beta is None else settings.beta)
    logistic = float(np.logaddexp(0.0, z))
    return math.exp(z - logistic) if settings.method == "sigmoid" else logistic / settings.alpha


HEADER = "data conll(word, y)\nlabel y in {scheme}(A, B)\nclique y: bias, word\nclique y[-1], y\n"
BIO = [
    [("p", "B-A"), ("q", "I-A"), ("p", "B-A"), ("r", "O")],
    [("q", "O"), ("r", "B-B"), ("p", "I-B"), ("q", "I-B")],
    [("r", "O"), ("q", "B-A")],
    [("q", "B-B")],
]
BIOES = [
    [("p", "B-A"), ("q", "E-A"), ("p", "S-A")],
    [("q", "O"), ("r", "B-B"), ("p", "E-B")],
    [("r", "S-B")],
    [("p", "O"), ("q", "B-A"), ("r", "I-A"), ("p", "E-A")],
]
PAIR = "data conll(word, y, z)\nlabel y in bio(A)\nlabel z in bio(B)\nclique y: bias, word\nclique z: bias, word\n" \
       "clique y[-1], y\nclique z[-1], z\nclique y, z\n"  # fmt: skip
PAIRS = [
    [("p", "B-A", "O"), ("q", "I-A", "B-B"), ("r", "O", "I-B")],
    [("r", "O", "B-B"), ("p", "B-A", "B-B")],
]

SEGMENTED = {
    "bio": Case(HEADER.format(scheme="bio"), BIO, None),
    "bioes": Case(HEADER.format(scheme="bioes"), BIOES, None),
    "two labels": Case(PAIR, PAIRS, None),
    "second order": Case(HEADER.format(scheme="bio") + "clique y[-2], y\n", BIO, None),
    "skip": Case(HEADER.format(scheme="bio") + "clique y[i], y[j] where word[i] = word[j] as skip with min_gap = 2\n",
                 BIO, None),
}  # fmt: skip


def segments(labels: list[str]) -> set[tuple[int, int, str]]:
    """The segments of a legal labelling: from each B or S to the last label that continues it."""
    segments_seen = set()
    for t, label in enumerate(labels):
        if label[0] in "BS":
            end = t
            while label[0] == "B" and end + 1 < len(labels) and labels[end + 1][0] in "IE":
                end += 1
            segments_seen.add((t, end, label[2:]))
    return segments_seen


def goes_on(labels: list[str], last: int) -> bool:
    """Whether the segment at `last` continues after it."""
    return labels[last][0] in "BI" and last + 1 < len(labels) and labels[last + 1][0] in "IE"


def labellings_of(
    case: Case, weights: Any
) -> list[tuple[dict[str, list[str]], list[tuple[dict[str, list[str]], float]]]]:
    """For every sentence the gold labels, and every labelling with its score."""
    model, _ = trained(case)
    model = model.with_weights(weights, model.record)
    twin, sentences = twin_of(model, case), []
    names = list(model.states)
    for sentence in case.sentences:
        table = columns(case, sentence)
        scores = twin.joint(table)
        every = [
            (
                {name: [model.states[name][index[t * len(names) + m]] for t in range(len(sentence))]
                 for m, name in enumerate(names)},
                float(scores[index]),
            )
            for index in np.argwhere(np.isfinite(scores)).tolist()
            for index in [tuple(index)]
        ]  # fmt: skip
        sentences.append((gold_of(model, table), every))
    return sentences


def labellings_with_hidden(case: Case, weights: Any) -> list[tuple[list[str], Any]]:
    """Like `labellings_of`, for templates in which not every label is known."""
    model, _ = trained(case)
    twin = twin_of(model.with_weights(weights, model.record), case)
    names, sentences = list(model.states), []
    for sentence in case.sentences:
        scores = twin.joint(columns(case, sentence))
        every = []
        for index in map(tuple, np.argwhere(np.isfinite(scores)).tolist()):
            labels = {
                name: [model.states[name][index[t * len(names) + m]] for t in range(len(sentence))]
                for m, name in enumerate(names)
            }
            every.append((labels, float(scores[index])))
        sentences.append(([row[1] for row in sentence], every))
    return sentences
