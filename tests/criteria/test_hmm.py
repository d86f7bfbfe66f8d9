"""`train hmm`: its weights are log probabilities of counts, which are taken here by plain loops over tokens."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import dcrfdsl
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics.checks.checker import check

Tokens = Sequence[tuple[str, ...]]
DATA = "data conll(word, pos, y)\nlabel y\n"
START, STOP = "<", ">"

SENTENCES: list[list[tuple[str, str, str]]] = [
    [("the", "D", "B"), ("dog", "N", "I"), ("runs", "V", "O")],
    [("a", "D", "B"), ("dog", "N", "I")],
    [("runs", "V", "O"), ("the", "D", "B"), ("cat", "N", "I"), ("runs", "V", "O")],
    [("dog", "N", "B")],
    [("runs", "N", "O"), ("runs", "V", "O"), ("the", "D", "B")],
]
STATES = ("B", "I", "O")
OTHERS = [  # `new` and `P` are not in training
    [("the", "D", "B"), ("new", "P", "I"), ("dog", "V", "O")],
    [("new", "N", "O")],
    [("a", "P", "B"), ("cat", "D", "B"), ("runs", "N", "I"), ("dog", "N", "O")],
]


def trained(text: str, sentences: Any = None) -> tuple[dcrfdsl.TrainedModel, Callable[[Any], Any]]:
    resolved = dcrfdsl.load_text(text)
    data = resolved.require().data
    assert data is not None

    def corpus(rows: Any) -> Any:
        return dcrfdsl.corpus_from_rows(rows, data)

    return dcrfdsl.fit(resolved, corpus(SENTENCES if sentences is None else sentences), threads=1), corpus


def share(count: int, total: int, outcomes: int, smoothing: float) -> float:
    return math.log((count + smoothing) / (total + smoothing * outcomes))


# what is counted, by hand ------------------------------------------------------------------------------------------


def labels(sentence: Tokens) -> list[str]:
    return [token[-1] for token in sentence]


def padded_moves(path: Sequence[str], s: float) -> float:
    """log p(y_0 | <) Π p(y | y') p(> | y)"""
    moves = Counter(pair for own in SENTENCES for pair in itertools.pairwise([START, *labels(own), STOP]))
    before = Counter(one for own in SENTENCES for one in [START, *labels(own)])
    total = 0.0
    for a, b in itertools.pairwise([START, *path, STOP]):
        outcomes = len(STATES) if a == START else len(STATES) + 1
        total += share(moves[a, b], before[a], outcomes, s)
    return total


def open_moves(path: Sequence[str], s: float) -> float:
    """log p(y_0) Π p(y | y')"""
    first = Counter(labels(own)[0] for own in SENTENCES)
    moves = Counter(pair for own in SENTENCES for pair in itertools.pairwise(labels(own)))
    before = Counter(one for own in SENTENCES for one in labels(own)[:-1])
    total = share(first[path[0]], len(SENTENCES), 3, s)
    return total + sum(share(moves[a, b], before[a], 3, s) for a, b in itertools.pairwise(path))


def second_order(path: Sequence[str], s: float) -> float:
    """log p(y_0) p(y_1 | y_0) Π p(y | y'', y')"""
    total = share(Counter(labels(own)[0] for own in SENTENCES)[path[0]], len(SENTENCES), 3, s)
    if len(path) > 1:
        seconds = Counter(tuple(labels(own)[:2]) for own in SENTENCES if len(own) > 1)
        firsts = Counter(labels(own)[0] for own in SENTENCES if len(own) > 1)
        total += share(seconds[path[0], path[1]], firsts[path[0]], 3, s)
    threes = Counter(tuple(labels(own)[t - 2 : t + 1]) for own in SENTENCES for t in range(2, len(own)))
    pairs = Counter(tuple(labels(own)[t - 2 : t]) for own in SENTENCES for t in range(2, len(own)))
    for t in range(2, len(path)):
        total += share(threes[tuple(path[t - 2 : t + 1])], pairs[tuple(path[t - 2 : t])], 3, s)
    return total


def backward(path: Sequence[str], s: float) -> float:
    """log p(y_T) Π p(y | the next one)"""
    last = Counter(labels(own)[-1] for own in SENTENCES)
    moves = Counter(pair for own in SENTENCES for pair in itertools.pairwise(labels(own)))
    after = Counter(one for own in SENTENCES for one in labels(own)[1:])
    total = share(last[path[-1]], len(SENTENCES), 3, s)
    return total + sum(share(moves[a, b], after[b], 3, s) for a, b in itertools.pairwise(path))


def apart(path: Sequence[str], s: float) -> float:
    own = Counter(one for sentence in SENTENCES for one in labels(sentence))
    return sum(share(own[y], own.total(), 3, s) for y in path)


Read = Callable[[Tokens, int], str | None]


def word(sentence: Tokens, t: int) -> str | None:
    return sentence[t][0]


def pos_before(sentence: Tokens, t: int) -> str | None:
    return sentence[t - 1][1] if t else START


def is_short(sentence: Tokens, t: int) -> str | None:
    return "yes" if len(sentence[t][0]) < 4 else None


def frequent(sentence: Tokens, t: int) -> str | None:
    often = Counter(token[0] for own in SENTENCES for token in own)
    return sentence[t][0] if often[sentence[t][0]] >= 2 else None


def emitted(read: Read, sentence: Tokens, path: Sequence[str], s: float, once: bool = False) -> float:
    """Σ log p(value | y); all values that training does not show are one more outcome, and so is no value.

    once: that outcome is counted for each value that training shows once, too.
    """
    seen = [(read(own, t), own[t][-1]) for own in SENTENCES for t in range(len(own))]
    values = {value for value, _ in seen if value is not None}
    of_state = Counter(y for _, y in seen)
    count = Counter((value if value in values else None, y) for value, y in seen)
    if once:
        often = Counter(value for value, _ in seen)
        again = [(None, y) for value, y in seen if often[value] == 1]
        count.update(again)
        of_state.update(y for _, y in again)
    total = 0.0
    for t, y in enumerate(path):
        value = read(sentence, t)
        total += share(count[value if value in values else None, y], of_state[y], len(values) + 1, s)
    return total


# (cliques, settings, the moves, what is emitted, smoothing of moves and of emissions)
Model = tuple[str, str, Callable[[Sequence[str], float], float], tuple[Read, ...], float, float]
MODELS: dict[str, Model] = {
    "a chain with ends": (
        "clique y: bias, word\nclique y[-1], y with edges = pad\n", "", padded_moves, (word,), 0.1, 0.1,
    ),
    "a chain without ends": (
        "clique y: bias, word\nclique y[-1], y\n", "smoothing = 0.5", open_moves, (word,), 0.5, 0.5,
    ),
    "moves have a smoothing of their own": (
        "clique y: bias, word\nclique y[-1], y\n", "smoothing = 0.01, moves = 1", open_moves, (word,), 1.0, 0.01,
    ),
    "later labels first": (
        "clique y: bias, word\nclique y[-1], y\n", "order = reverse", backward, (word,), 0.1, 0.1,
    ),
    "second order": (
        "clique y: bias, word\nclique y[-1], y\nclique y[-2], y[-1], y\n", "", second_order, (word,), 0.1, 0.1,
    ),
    "no moves": ("clique y: bias, word\n", "", apart, (word,), 0.1, 0.1),
    "no emissions": ("clique y[-1], y with edges = pad\n", "", padded_moves, (), 0.1, 0.1),
    "the first feature at its place": (
        "clique y: bias, pos[-1], word, pos\nclique y[-1], y\n", "", open_moves, (word,), 0.1, 0.1,
    ),
    "overlapping": (
        "clique y: bias, word, pos[-1]\nclique y[-1], y\n", "overlapping = yes", open_moves,
        (word, pos_before), 0.1, 0.1,
    ),
    "two cliques emit": (
        "clique y: bias, word\nclique y: bias, pos[-1]\nclique y[-1], y\n", "overlapping = yes", open_moves,
        (word, pos_before), 0.1, 0.1,
    ),
    "a test": (
        "clique y with states = all: bias, word matches /.{1,3}/\nclique y[-1], y\n", "", open_moves,
        (is_short,), 0.1, 0.1,
    ),
    "what is new is as likely as what is there once": (
        "clique y with states = all: bias, word\nclique y[-1], y\n", "unseen = once", open_moves, (word,), 0.1, 0.1,
    ),
    "rare words are as good as unseen ones": (
        "features q with min_count = 2: word\nclique y with states = all: bias, q\nclique y[-1], y\n", "", open_moves,
        (frequent,), 0.1, 0.1,
    ),
}  # fmt: skip


def log_joint(model: Model, sentence: Tokens, path: Sequence[str]) -> float:
    _, _, moves, reads, of_moves, of_emissions = model
    once = "unseen = once" in model[1]
    return moves(path, of_moves) + sum(emitted(read, sentence, path, of_emissions, once) for read in reads)


def template(model: Model) -> str:
    return DATA + model[0] + "infer exact\ntrain hmm" + (f": {model[1]}\n" if model[1] else "\n")


def paths(length: int) -> Iterator[tuple[str, ...]]:
    return itertools.product(STATES, repeat=length)


@pytest.mark.parametrize("name", MODELS)
def test_the_objective_is_the_joint_probability_of_the_training_data(name: str) -> None:
    model, _ = trained(template(MODELS[name]))
    expected = sum(log_joint(MODELS[name], own, labels(own)) for own in SENTENCES)
    assert -model.record.objective == pytest.approx(expected, abs=1e-9)
    assert model.record.converged and model.record.iterations == 1


@pytest.mark.parametrize("name", MODELS)
def test_best_labels_and_marginals_are_those_of_the_counted_probabilities(name: str) -> None:
    model, corpus = trained(template(MODELS[name]))
    given = corpus(OTHERS)
    found, best = model.marginals(given, threads=1)[0]["y"], model.predict(given, threads=1).texts("y")
    assert set(model.states["y"]) == set(STATES)
    at = 0
    for sentence in OTHERS:
        joint = {path: log_joint(MODELS[name], sentence, path) for path in paths(len(sentence))}
        total = math.log(sum(map(math.exp, joint.values())))
        for t in range(len(sentence)):
            for state in STATES:
                expected = sum(math.exp(own - total) for path, own in joint.items() if path[t] == state)
                assert found[at + t, model.states["y"].index(state)] == pytest.approx(expected, abs=1e-9)
        chosen = tuple(best[at : at + len(sentence)])
        assert joint[chosen] == pytest.approx(max(joint.values()), abs=1e-9)
        at += len(sentence)


def test_labels_of_a_position_are_given_those_declared_before() -> None:
    """p(y | y') p(z | y): the factorial model of two labels, of which one emits."""
    text = "data conll(word, y, z)\nlabel y\nlabel z\nclique y[-1], y with edges = pad\nclique y, z\n"
    text += "clique z: bias, word\n"
    given = [[(w, y, p) for w, p, y in own] for own in SENTENCES]
    model, _ = trained(text + "infer exact\ntrain hmm\n", given)
    tags = ("D", "N", "V")
    both = Counter((y, z) for own in given for _, y, z in own)
    emitted_by = Counter((z, w) for own in given for w, _, z in own)
    of_y, of_z = Counter(y for own in given for _, y, _ in own), Counter(z for own in given for _, _, z in own)
    words = {w for own in given for w, _, _ in own}
    expected = 0.0
    for own in given:
        expected += padded_moves([y for _, y, _ in own], 0.1)
        for w, y, z in own:
            expected += share(both[y, z], of_y[y], len(tags), 0.1) + share(
                emitted_by[z, w], of_z[z], len(words) + 1, 0.1
            )
    assert -model.record.objective == pytest.approx(expected, abs=1e-9)


def test_moves_that_a_scheme_forbids_have_no_share() -> None:
    text = "data conll(word, pos, y)\nlabel y in bio(X)\nclique y[-1], y with edges = pad\n"
    rows = [[("a", "", "B-X"), ("b", "", "I-X"), ("c", "", "O")]]
    model, _ = trained(text + "infer exact\ntrain hmm: smoothing = 1\n", rows)
    # of B, I, O and the end after B and after I; of B, O and the end after O. That no sequence begins with I is a
    # constraint of its own: I keeps its share there, which is the same for all sequences.
    expected = math.log(2 / 4) + math.log(2 / 5) + math.log(2 / 5) + math.log(2 / 4)
    assert model.record.objective == pytest.approx(-expected)


def test_a_model_file_keeps_it(tmp_path: Any) -> None:
    model, corpus = trained(template(MODELS["overlapping"]))
    model.save(tmp_path / "hmm.model")
    again = dcrfdsl.load(tmp_path / "hmm.model")
    given = corpus(OTHERS)
    np.testing.assert_array_equal(again.marginals(given, threads=1)[0]["y"], model.marginals(given, threads=1)[0]["y"])
    assert again.record.end == f"objective {model.record.objective:.4f}"


REFUSED = {
    "features of moves": ("clique y: bias, word\nclique y[-1], y: bias, word\n", "", "`y[-1], y` is of several"),
    "two distributions": (
        "label z\nclique y\nclique z\nclique z[-1], z\nclique y, z\n", "", "`z` has those of `z[-1], z` and `y, z`",
    ),
    "no distribution": ("label z\nclique z, y\nclique y\n", "order = reverse", "no distribution of `z`"),
    "not at the start": ("clique y[-1], y\n", "", "does not lie at the ends"),
    "no bias": ("clique y: word\nclique y[-1], y\n", "", "needs a bias in `y`"),
    "numbers": ("clique y: bias, h\nclique y[-1], y\n", "", "`h` is a number"),
    "latent": ("latent h2 in 2\nclique y\nclique h2, y\n", "", "`h2` is a latent variable"),
    "memory": ("memory m = y[-1] is B initially no\nclique y\nclique m, y\n", "", "`m` is a memory"),
    "relational": ("clique y\nclique y[i], y[j] where word[i] = word[j]\n", "", "positions that the data chooses"),
    "seen moves": ("clique y\nclique y[-1], y with states = seen\n", "", "leaves out what was not seen"),
}  # fmt: skip


@pytest.mark.parametrize("clique", ["y", "y as em"])
def test_the_remedy_for_a_missing_bias_is_the_clique_as_written(clique: str) -> None:
    text = f"data conll(word, y)\nlabel y\nclique {clique}: word\nclique y[-1], y\ntrain hmm\n"
    (found,) = [d for d in check(dcrfdsl.load_text(text)) if d.slug == "cannot-count"]
    assert found.help == f"add it, as in `clique {clique}: bias, …`"


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_hidden_markov_model_is_refused_by_the_checker_and_by_training(name: str) -> None:
    cliques, settings, expected = REFUSED[name]
    resolved = dcrfdsl.load_text(
        "data conll(word, z, h: float, y)\nlabel y\n"
        + cliques
        + "train hmm"
        + (f": {settings}\n" if settings else "\n")
    )
    found = [d for d in check(resolved) if d.slug == "cannot-count"]
    assert len(found) == 1 and expected in found[0].message and found[0].help
    data = resolved.require(unchecked=True).data
    assert data is not None
    rows = [[("a", "D", 1.0, "B"), ("b", "N", 0.5, "I")], [("a", "D", 1.0, "B")]]
    with pytest.raises(DcrfError, match=expected.replace("[", r"\[").replace("]", r"\]")):
        dcrfdsl.fit(resolved, dcrfdsl.corpus_from_rows(rows, data), threads=1, unchecked=True)


ONLY_DATA_TELLS = {
    "missing labels": ('label y with missing = "_"\nclique y: bias, word\n', "missing or ambiguous"),
    "a test without weights for all": ("label y\nclique y: bias, word is a\n", "states = all"),
    "several values": ("label y\nclique y: bias, bag\n", "has several"),
    "no feature at the place": ("label y\nclique y: bias, word[-1]\n", "overlapping = yes"),
    "states that are not in the data": ("label y in {B, I, O, X}\nclique y: bias, word\n", "not in the data"),
}


@pytest.mark.parametrize("name", ONLY_DATA_TELLS)
def test_what_only_the_data_tells_is_refused_by_training(name: str) -> None:
    text, expected = ONLY_DATA_TELLS[name]
    resolved = dcrfdsl.load_text('data conll(word, bag: bag, y, separator = "\\t")\n' + text + "train hmm\n")
    data = resolved.require().data
    assert data is not None
    rows = [[("a", "x y", "B"), ("b", "x", "I")], [("c", "z", "O"), ("a", "z", "_" if "missing" in name else "O")]]
    with pytest.raises(DcrfError, match=expected):
        dcrfdsl.fit(resolved, dcrfdsl.corpus_from_rows(rows, data), threads=1)
