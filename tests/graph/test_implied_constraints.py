"""Weights of wide cliques: one for each joint state that occurs in some labelling, and for no other, by enumeration."""

from __future__ import annotations

import itertools

import pytest

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

LONG = 6


def bio(before: str, after: str) -> bool:
    return not after.startswith("I-") or before[1:] == after[1:]


def cycle(before: str, after: str) -> bool:
    return after == {"A": "B", "B": "C", "C": "A"}[before]


# by name: the label's states, its statements, whether a move is legal, and the offsets of the clique
CASES = {
    "three in a row": ("bio(X, Z)", "", bio, (-2, -1, 0)),
    "with a gap": ("bio(X, Z)", "", bio, (-3, -1, 0)),
    "two steps apart": ("{A, B, C}", "require y is B when y[-1] is A\nrequire y is C when y[-1] is B\n"
                        "require y is A when y[-1] is C\n", cycle, (-2, 0)),
    "ahead": ("bio(X, Z)", "", bio, (0, 1, 2)),
    "on both sides": ("bio(X)", "", bio, (-1, 0, 1)),
}  # fmt: skip


def gold_of(states: list[str], legal) -> list[str]:
    chain = next(
        one for one in itertools.product(states, repeat=LONG)
        if all(map(legal, one, one[1:])) and not one[0].startswith("I-")
    )  # fmt: skip
    return list(chain)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("edges", ["", " with edges = pad"])
def test_a_joint_state_has_a_weight_if_some_labelling_shows_it(name, edges):
    domain, statements, legal, offsets = CASES[name]
    sites = ", ".join(f"y[{o}]" if o else "y" for o in offsets)
    text = (
        f"data conll(word, y)\nlabel y in {domain}\nclique y: bias, word\nclique {sites} as wide{edges}\n{statements}"
    )
    resolved = load_text(text + "infer exact\ntrain likelihood: optimizer = lbfgs(max_iterations = 1)\n")
    states = {"bio(X, Z)": ["B-X", "I-X", "B-Z", "I-Z", "O"], "bio(X)": ["B-X", "I-X", "O"]}.get(domain, list("ABC"))
    corpus = corpus_from_rows([[("a", y) for y in gold_of(states, legal)]], resolved.require().data)
    model = fit(resolved, corpus, threads=1)
    found = {joint for clique, _, joint, _ in model.explanations.iter_weights() if clique == "wide"}
    possible = set()
    for labelling in itertools.product(states, repeat=LONG):
        if labelling[0].startswith("I-") or not all(map(legal, labelling, labelling[1:])):
            continue
        for anchor in range(-max(offsets) - 1, LONG - min(offsets) + 1):
            places = [anchor + o for o in offsets]
            joint = tuple(
                labelling[t] if 0 <= t < LONG else ("START" if t < 0 else "STOP") for t in places
            )  # fmt: skip
            inside = [0 <= t < LONG for t in places]
            if all(inside) or (edges and any(inside)):
                possible.add(joint)
    assert found >= possible
    within = {joint for joint in found if "START" not in joint and "STOP" not in joint}
    assert within <= possible  # what lies at an end alone is not looked at


def test_states_that_training_does_not_know_have_weights_where_they_are_possible():
    text = (
        'data conll(word, y)\nlabel y in bio(X, Z) with missing = "_"\nclique y: word\n'
        "clique y[-2], y[-1], y as wide: word\n"
        "infer exact\ntrain likelihood: optimizer = lbfgs(max_iterations = 1)\n"
    )
    resolved = load_text(text)
    rows = [[("a", "B-X"), ("a", "_"), ("b", "_"), ("a", "O")]]
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
    joint = {states for clique, _, states, _ in model.explanations.iter_weights() if clique == "wide"}
    assert joint
    assert all(bio(a, b) for one in joint for a, b in itertools.pairwise(one))
