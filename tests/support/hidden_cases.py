"""Templates with latent variables, missing or ambiguous labels, and every labelling of all their variables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from model_cases import columns, trained, twin_of
from numpy.typing import NDArray
from template_cases import Case

Floats = NDArray[np.float64]

ONE = "data conll(word, y)\nlabel y in {P, Q, R}{how}\n"
TWO = 'data conll(word, y, z)\nlabel y in {P, Q} with missing = "?"\nlabel z in {S, T, U} with ambiguous = "|"\n'
LATENT = ONE.replace("{how}", "") + "latent h in 2\n"
MISSING = ONE.replace("{how}", ' with missing = "?"')
AMBIGUOUS = ONE.replace("{how}", ' with ambiguous = "|"')
CHAIN = "clique y as seen: bias, word\nclique y[-1], y\n"
SKIP = "clique y[i], y[j] where word[i] = word[j] as skip with min_gap = 2\n"
LABELLED = [[("a", "P"), ("b", "Q")], [("b", "R"), ("a", "Q"), ("b", "R")], [("a", "P")]]
PARTLY = [[("a", "P"), ("b", "?")], [("b", "R"), ("a", "Q"), ("b", "?")], [("a", "?")], [("b", "Q")]]
CHOICE = [[("a", "P|Q"), ("b", "Q")], [("b", "R|Q"), ("a", "P|R"), ("b", "R")], [("a", "Q|R")]]


def two_apart(table: Any) -> dict[tuple[int, int], list[str]]:
    words = table["word"]
    return {(i, i + 2): ["bias"] for i in range(len(words) - 2) if words[i] == words[i + 2]}


HIDDEN = {
    "latent": Case(LATENT + "clique y, h\nclique h as seen: word\nclique h[-1], h\n", LABELLED),
    "latent and missing": Case(
        LATENT.replace("R}", 'R} with missing = "?"') + "clique y, h\nclique h as seen: word\n", PARTLY, None
    ),
    "missing": Case(MISSING + CHAIN, PARTLY),
    "ambiguous": Case(AMBIGUOUS + CHAIN, CHOICE),
    "factorial": Case(
        TWO + "clique y as seen: bias, word\nclique z: word\nclique y[-1], y\nclique z[-1], z\nclique y, z\n",
        [[("a", "P", "S"), ("b", "?", "T|U")], [("b", "Q", "S|T"), ("a", "?", "U")], [("a", "?", "T")]],
    ),
    "missing, with skips": Case(MISSING + CHAIN + SKIP, PARTLY, joins={"skip": two_apart}),
    "ambiguous, with skips": Case(AMBIGUOUS + CHAIN + SKIP, CHOICE, joins={"skip": two_apart}),
}


class Enumerated(NamedTuple):
    """Every labelling of a sentence. features: feature counts; wrong: the number of known labels that each contradicts,
    in all and of `y` alone; states: of all variables, flat as in the engine.
    """

    features: Floats
    wrong: NDArray[np.int64]
    of_y: NDArray[np.int64]
    states: NDArray[np.int64]


def may_be(text: str, state: str) -> bool:
    return text == "?" or state in text.split("|")


def enumerate_all(case: Case) -> list[Enumerated]:
    model, _ = trained(case)
    size, sentences = model.num_weights, []
    tables = [columns(case, sentence) for sentence in case.sentences]
    raised = [twin_of(model.with_weights(row, model.record), case) for row in np.eye(size)]
    names, labels = list(model.states), [label.name for label in model.spec.labels]
    for table, sentence in zip(tables, case.sentences, strict=True):
        joint = np.array([twin.joint(table) for twin in raised])  # scores are linear in the weights
        cells = np.argwhere(np.isfinite(joint).all(axis=0))
        wrong = np.zeros((2, len(cells)), np.int64)
        for row, index in enumerate(cells.tolist()):
            for place, state in enumerate(index):
                t, name = place // len(names), names[place % len(names)]
                if name in labels and not may_be(table[name][t], model.states[name][state]):
                    wrong[:, row] += [1, name == "y"]
        features = joint[(slice(None), *cells.T)].T
        sentences.append(Enumerated(features, wrong[0], wrong[1], cells))
        assert len(sentence) * len(names) == cells.shape[1]
    return sentences
