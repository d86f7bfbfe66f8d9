"""Exact inference on lists of candidates beside the dense pass: tag dictionaries, and labels that are partly known.

Corpora are generated: each word is of a kind, and the dictionary says which labels a kind may have. Both sides have the
same features, weights and sentences, and one thread. Their answers are the same (`tests/inference/test_pruned.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from automata import median_seconds
from figures import Figure, Target, times_faster
from numpy.typing import NDArray
from work import SMOKE, criterion_of, objective, resolved_of

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.semantics.settings.settings_reading import stage_settings

KINDS = 30  # of words
Kinds = list[NDArray[np.int64]]  # the labels of each


def _kinds(labels: int, left: int, draw: np.random.Generator) -> Kinds:
    return [np.sort(draw.choice(labels, size=left, replace=False)) for _ in range(KINDS)]


def _names(labels: NDArray[np.int64], joint: str) -> str:
    return joint.join(f"L{label:03}" for label in labels)


def _template(labels: int, order: int, kinds: Kinds | None) -> str:
    """A chain; with `kinds` the dictionary decides what is possible, without them the labels may be ambiguous."""
    lines = [
        "data conll(word, kind, y)",
        f"label y in {{{_names(np.arange(labels), ', ')}}}" + ("" if kinds else ' with ambiguous = "|"'),
        "clique y: bias, word, word[-1]",
        "clique y[-1], y",
        *(["clique y[-2], y[-1], y with states = seen"] if order == 2 else []),
        *(f'require y in {{{_names(of, ", ")}}} when kind is "k{n}"' for n, of in enumerate(kinds or [])),
        "infer exact",
        "train likelihood: prior = gaussian(variance = 5)",
    ]
    return "\n".join(lines) + "\n"


def _corpus(source: str, kinds: Kinds, sentences: int, draw: np.random.Generator, *, ambiguous: bool) -> Corpus:
    out = []
    for _ in range(20 if SMOKE else sentences):
        sentence = []
        for _ in range(int(draw.integers(5, 30))):
            n = int(draw.integers(KINDS))
            label = _names(kinds[n], "|") if ambiguous else f"L{int(draw.choice(kinds[n])):03}"
            sentence.append((f"w{n}-{draw.integers(40)}", f"k{n}", label))
        out.append(sentence)
    return corpus_from_rows(out, resolved_of(source).require().data)


def _beside(labels: int, order: int, left: int, sentences: int, target: Target | None) -> Figure:
    """A pass on the lists that a dictionary leaves beside the dense form of the same model."""
    draw = np.random.default_rng(0)
    kinds = _kinds(labels, left, draw)
    source = _template(labels, order, kinds)
    corpus = _corpus(source, kinds, sentences, draw, ambiguous=False)
    ours, dense = (objective(source, corpus, threads=1) for _ in range(2))
    _take_lists(ours)
    dense.method.candidates = None
    weights = draw.normal(0, 0.3, ours.num_weights)
    seconds = median_seconds([functools.partial(one.value_and_gradient, weights) for one in (ours, dense)])
    form = "an automaton" if dense.method.automaton else "the chain's kernel" if dense.method.chain else "programs"
    return Figure(
        f"{labels} labels, order {order}, {left} left", seconds[0], "s",
        f"-log p(y|x) and gradient, one thread, processor time, {corpus.num_tokens:,} tokens, lists of {left} labels; "
        f"peer: the same by {form}",
        target, seconds[1],
    )  # fmt: skip


def _take_lists(found: Likelihood) -> None:
    if found.method.candidates is None:
        raise RuntimeError("the model is not computed on lists")


def tag_dictionary() -> Iterator[Figure]:
    """A tag dictionary that leaves 4 to 16 labels: a pass on the lists beside the dense one."""
    yield _beside(121, 1, 4, 300, times_faster(1.2))
    yield _beside(400, 1, 4, 60, times_faster(4))
    yield _beside(400, 1, 16, 60, times_faster(2))
    yield _beside(45, 2, 4, 100, times_faster(1.5))


def partly_known() -> Iterator[Figure]:
    """Labels known up to 4 of 121 or 400 (`ambiguous`): their clamped pass on lists beside the dense one."""
    for labels, sentences, target in ((121, 300, 1.2), (400, 60, 4)):
        draw = np.random.default_rng(0)
        kinds = _kinds(labels, 4, draw)
        source = _template(labels, 1, None)
        corpus = _corpus(source, kinds, sentences, draw, ambiguous=True)
        settings = stage_settings(resolved_of(source).require())
        ours, dense = (criterion_of(source, corpus, settings, threads=1) for _ in range(2))
        for one in (ours, dense):
            if one.clamped.method.candidates is None:
                raise RuntimeError("known labels do not become lists")
        dense.clamped.method.candidates = None
        weights, gradient = draw.normal(0, 0.3, ours.num_weights), np.zeros(ours.num_weights)
        seconds = median_seconds(
            [functools.partial(one._subtract_clamped, one.clamped, weights, gradient) for one in (ours, dense)]
        )
        yield Figure(
            f"{labels} labels, known up to 4", seconds[0], "s",
            f"log Z and counts given what is known, one thread, processor time, {corpus.num_tokens:,} tokens, lists of "
            f"4 labels; peer: the same by the chain's kernel",
            times_faster(target), seconds[1],
        )  # fmt: skip
