"""Loopy models of long sequences: dialogues of two speakers, whose acts depend on the last act and on their own last.

Every turn has an edge to the turn before and one to the speaker's own turn before. The graph has loops, and its width
for elimination is 2 or 3, so exact inference is possible, and messages are the alternative.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
from figures import Figure, seconds_of
from work import ROUNDS, SMOKE, objective

from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

ACTS, DIALOGUES, TURNS = (6, 4, 20) if SMOKE else (41, 200, 200)
TEMPLATE = """
data conll(word, speaker, act)
label act
clique act: bias, word
clique act[-1], act
clique act[i], act[j] as own:
    where speaker[i] = speaker[j]
infer exact
train likelihood: optimizer = lbfgs(max_iterations = 2)
"""


@functools.cache
def dialogues() -> Corpus:
    """Dialogues drawn from the model itself, 60 words for each act."""
    draw = np.random.default_rng(5)
    after, own = draw.random((2, ACTS, ACTS)) ** 6
    words = draw.integers(3000, size=(ACTS, 60))
    sentences = []
    for _ in range(DIALOGUES):
        acts: list[int] = []
        last: dict[str, int] = {}
        rows = []
        for _ in range(int(draw.integers(TURNS - TURNS // 3, TURNS + TURNS // 3))):
            speaker = "AB"[draw.integers(2)]
            shares = np.ones(ACTS)
            if acts:
                shares = shares * after[acts[-1]]
            if speaker in last:
                shares = shares * own[last[speaker]]
            act = int(draw.choice(ACTS, p=shares / shares.sum()))
            acts.append(act)
            last[speaker] = act
            word = draw.choice(words[act]) if draw.random() < 0.6 else draw.integers(3000)
            rows.append((f"w{word}", speaker, f"act{act}"))
        sentences.append(rows)
    data = load_text(TEMPLATE).require().data
    assert data is not None
    return corpus_from_rows(sentences, data)


def dialogue_passes() -> Iterator[Figure]:
    """200 dialogues of 200 turns, 41 acts, an edge to the speaker's own last turn: a pass by messages and exactly."""
    corpus = dialogues()
    weights = fit(load_text(TEMPLATE), corpus).weights
    exact = objective(TEMPLATE, corpus, threads=2)
    messages = objective(TEMPLATE, corpus, threads=2, method="trp")
    scale = itertools.cycle(np.linspace(0.99, 1.0, 5))  # weights that move a little, as from one iteration to the next
    yield Figure(
        "dialogues, trp",
        seconds_of(lambda: messages.value_and_gradient(weights * next(scale)), min(3, ROUNDS)),
        "s",
        "-log p(y|x), penalty and gradient of all dialogues, 2 threads, from the messages of the last pass; the other "
        "side: the same, exactly",
        None,
        seconds_of(lambda: exact.value_and_gradient(weights), min(3, ROUNDS)),
    )
