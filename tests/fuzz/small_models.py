"""Small models of every kind that a model file can hold, each trained in a second or two, and a sentence to tag.

Together they have: a scheme, a view, a memory, a latent variable, joined pairs, a constraint on observations, a
lexicon, numbers, vectors and bags; voters, support vectors, a boosting path, induced features, earlier stages,
calibration. Not here: their use.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit


@dataclass(frozen=True)
class Small:
    """A template, and for each column the values from which its data is drawn."""

    template: str
    columns: tuple[tuple[str, ...], ...]
    dev: bool = False

    def sentences(self, count: int = 12, longest: int = 5) -> list[list[tuple[str, ...]]]:
        generator = np.random.default_rng(5)
        lengths = generator.integers(1, longest + 1, count)
        return [
            [tuple(values[generator.integers(len(values))] for values in self.columns) for _ in range(length)]
            for length in lengths
        ]


_WORDS, _TAGS = ("a", "b", "Cé", "d1", "a"), ("P", "Q", "R")
_CHAIN = "data conll(word, y)\nlabel y\nclique y: bias, word[-1..1]\nclique y[-1], y: bias, word\n"

SMALL: dict[str, Small] = {
    "everything observed": Small(
        'lexicon names = "names.txt"\nlexicon kinds = "kinds.txt"\n'
        "data conll(word, size:float, bits:vector(2), more:bag, y)\n"
        "label y in {P, Q, R} with others = P\n"
        "features token with min_count = 2: lower(word)[-1..1], prefix(word, 1..2), word & more, kinds(word)\n"
        "clique y: bias, token, size, bits, word in names, word has /[0-9]/, word = word[1], first\n"
        "clique y[-1], y with edges = pad: bias, shape(word)\n"
        "forbid y is R and word is b\n"
        "infer exact\ntrain likelihood as one\n"
        "train likelihood as two after one: optimizer = lbfgs(max_iterations = 3)\n"
        "evaluate accuracy(y), oov_accuracy(y, word)\n",
        (_WORDS, ("0.5", "-1", "2e1"), ("01", "1,0.5", "0,0"), ("x", "z", "w"), ("P", "Q", "P")),
    ),
    "hidden and joined": Small(
        "data conll(word, y)\nlabel y in bio(X)\nlatent h in 2\n"
        "memory m in {P, Q} = Q if y[-1] is O else m[-1] initially P\n"
        "view coarse = prefix(y, 1)\n"
        "clique y: bias, word\nclique coarse, h: bias\nclique y[-1], y\nclique m, y\n"
        "clique y[i], y[j] as skip:\n    where word[i] = word[j]\n    with max_gap = 3, link = next\n"
        "    bias, word[i]\n"
        "infer trp(max_iterations = 20)\ntrain likelihood: optimizer = lbfgs(max_iterations = 4)\n",
        (_WORDS, ("O", "B-X", "O")),
    ),
    "voters": Small(_CHAIN + "train perceptron: vote = yes, epochs = 2\n", (_WORDS, _TAGS)),
    "boosted": Small(
        _CHAIN + "infer exact\ntrain likelihood as begin: optimizer = lbfgs(max_iterations = 2)\n"
        "train adaboost as boost after begin: rounds = 5, tolerance = 0\n",
        (_WORDS, _TAGS),
    ),
    "supports": Small(
        "data conll(word, y)\nlabel y\nclique y as seen: bias, word[-1..1]\nclique y[-1], y\n"
        "infer exact\ntrain hmsvm: C = 2, kernel.seen = rbf(gamma = 1), optimizer = bcfw(max_iterations = 30)\n",
        (_WORDS, _TAGS),
        dev=True,
    ),
    "induced": Small(
        "data conll(b1, b2, b3, y)\nlabel y\nclique y: b1, b2, b3\nclique y[-1], y\n"
        "infer exact\ntrain induce(likelihood): rounds = 2, per_round = 6\n",
        (("0", "1"), ("0", "1"), ("0", "1"), _TAGS),
    ),
}


def train_small(name: str, folder: Path) -> tuple[TrainedModel, str]:
    """The model, and sentences without labels in its data format. `folder`: the place for its lexicons."""
    small = SMALL[name]
    (folder / "names.txt").write_text("a\nCé\n")
    (folder / "kinds.txt").write_text("a\tvowel\nb\tconsonant\n")
    resolved = load_text(small.template, directory=folder)
    spec = resolved.require()
    assert spec.data is not None
    sentences = small.sentences()
    corpus = corpus_from_rows(sentences, spec.data)
    model = fit(resolved, corpus, threads=1, dev=corpus if small.dev else None)
    labels = {label.name for label in spec.labels}
    kept = [n for n, column in enumerate(spec.data.columns) if column.name not in labels]
    lines = ["\n".join(" ".join(row[n] for n in kept) for row in sentence) for sentence in sentences[:4]]
    return model, "\n\n".join(lines) + "\n"
