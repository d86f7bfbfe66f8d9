"""Random models with every kind of feature over every structure that exported taggers know, and text for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

WORDS = ("a", "b", "Bath", "New", "York", "new", "1984", "é", "É7", "straße", "x-ray", "_", "ABC", "K")
UNSEEN = ("zebra", "İ", "Newer", "٣", "a b", "日本")
PLACES = "New York\nBath\nnew\nNew York Bath a\n"
TITLES = "a\tArticle\nb\tLetter\nnew\tAdjective\nBath\tTown\n"

FEATURES = (
    "word", "word[-2..2]", "lower(word)[-1..1]", "prefix(word, 1..3)", "suffix(word, 2)", "prefix(word, 2)[1]",
    "shape(word)", "shape(word, short = yes)[-1]", "length(word)", "chars(word, 2..3)", "tags", "tags[-1] & word",
    "tags & tags[1]", "temp", "temp[1] & pos", "temp & more & word", "pixels", "pixels[-1] & pos", "word in places",
    "not lower(word) in places", "title(word)", "title(lower(word))[-1] & pos", "span(word, places)",
    "span(lower(word), places)[-1..1]", "span(word, places) is B", "not span(word, places)[1] is I",
    "word = word[-1]", "lower(word) = word", "lower(word)[-1] = lower(word)[1]", "temp = temp[-1]", "first",
    "last[1] & word", "not first", "index", "index[-1] & pos", "word has /[0-9]/", r"word matches /\p{Lu}.*/",
    "word[-1] has /é|ss/i", r"word has /\w$/", "(first or pos[-1] is N)", "not (word[1] is a and word[-1] is b)",
    "pos in {N, V} & word[1]", "pos[-1] is not N", "word & pos & lower(word)[1]",
    "prefix(word, 1..2) & suffix(word, 1..2)",
    "word[-3] & word[3]", "temp[-1]", "(pos = pos[-1] and last)", "(first or temp = temp[1])", "attrs",
    "attrs[-1] & word", "lower(attrs)", "attrs & tags", "attrs & attrs[1]", "attrs has /a/", "temp & attrs",
    "prefix(attrs, 1) & pos[1]", "length(word) > 3", "temp >= 1 & pos", "temp - temp[-1] < 0", "word > 100",
    "extract(word, /[0-9]/) >= 7", "bin(temp, 2)", "bin(more, -0.5, 0.5)[-1..1]", "bin(length(word), 2, 4) & pos",
    "more != 1", "index[1] - index[-1] = 2", "temp < more[1]", "not length(word)[1] <= 2",
    "extract(word, /[0-9]+/)[-1]",
    "(length(word)[-1] > length(word) or first)", "not (temp[1] - temp >= 0.5 and pos is N)", "bin(word, 2) & last",
    "standardize(more)[-1..1] & pos", "scale(temp)", "mean(more[-2..2])[1]", "standardize(mean(more[-1..3]))",
    "mean(standardize(more)[-1..1])", "spread(temp[-1..0]) & word", "bin(slope(more[-2..2]), 3)",
    "change(temp[0..2]) > 0",
    "max(more[-1..1]) - min(more[-1..1])[1] > 0.5", "bin(standardize(length(word)), -1, 1)", "max(index[1..2])",
    "standardize(extract(word, /[0-9]+/))", "standardize(more)[-1] = more", "slope(more[-1..1]) is missing & pos",
    "word in anywhere", "span(word, anywhere)[-1..1]", "rank(word) & pos", "not suffix(word, 3) in anywhere",
)  # fmt: skip

STRUCTURES = {
    "chain": "label y in {A, B, C}\nclique y{pad}: bias, g\nclique y[-1], y\n",
    "segments": "label y in bio(X, Y)\nclique y: bias, g\nclique y[-1], y with edges = pad: bias, h\n",
    "second order": "label y in {A, B, C}\nclique y: g\nclique y[-2], y[-1], y: bias\n"
    "clique y[-1], y with edges = pad: h\n",
    "factorial": "label y in {A, B, C}\nlabel z in {P, Q}\nclique y: g\nclique z: bias, h\n"
    "clique y[-1], y\nclique z[-1], z\nclique y, z: bias, pos\nforbid y is A and z is Q\n",
    "memory": "label y in {A, B, C}\nmemory met = met[-1] or y[-1] is B and word[-1] is a\n"
    "memory kept in {A, B, C} = y[-1] if y[-1] is not C else kept[-1] initially A\n"
    "clique y: g\nclique y[-1], y\nclique y, met: bias, h\nclique y, kept\nrequire y is not A when pos[-1] is V\n",
    "views": 'label y in {NN, NNS, VB}\nview coarse = prefix(y, 1)\nclique y: g\nclique coarse[-1], coarse: bias, h\n'
    "clique coarse, y[1]\n",
    "prices": "label y in {A, B, C}\nclique y: g\nclique y[-1], y: bias, h\n"
    "forbid y[-1] is A and y is B with cost = 0.7\nrequire y is C when pos is N with cost = -0.5\n",
    "runs": "label y in {A, B, C}\nclique y: g\nclique y[-1], y\nruns of y from 2\nruns of y is C from 2 up to 8\n",
    "third order": "label y in {A, B}\nclique y: g\nclique y[-3], y: bias, h\nclique y[-1], y\n",
}  # fmt: skip
STATES = {"segments": {"y": ("B-X", "I-X", "B-Y", "I-Y", "O")}, "factorial": {"y": ("A", "B", "C"), "z": ("P", "Q")}}


@dataclass(frozen=True)
class ExportCase:
    """A model with random weights, and sentences that it was not trained on, as mappings of columns."""

    text: str
    model: TrainedModel
    corpus: Corpus
    sentences: list[dict[str, list[Any]]]


def sentence(rng: np.random.Generator, length: int, words: tuple[str, ...]) -> dict[str, list[Any]]:
    """Random values of all columns."""
    return {
        "word": [words[n] for n in rng.integers(len(words), size=length)],
        "pos": [("N", "V", "D")[n] for n in rng.integers(3, size=length)],
        "tags": [" ".join(rng.permutation(["p", "q", "r"])[: rng.integers(4)].tolist()) for _ in range(length)],
        "temp": rng.integers(0, 3, length).astype(float).tolist(),
        "more": rng.normal(size=length).round(2).tolist(),
        "pixels": rng.normal(size=(length, 2)).round(2).tolist(),
        "attrs": [_items(rng) for _ in range(length)],
    }


def _items(rng: np.random.Generator) -> object:
    """A value of a weighted bag: a text, a list, or a mapping with every kind of value; some weights are 0."""
    mapping = {"a": 0.5, "A": float(rng.integers(-1, 2)), "b": True, "c": "x", "d": {"a": 2, "e": ["f", "g"]}}
    chosen = {name: mapping[name] for name in mapping if rng.random() < 0.5}
    forms = ["a:0.5 a:0.5 A:-1", r"x\:y:2 b", "", ["a", "b", "a"], chosen, chosen, chosen]
    return forms[rng.integers(len(forms))]


def drawn(seed: int, folder: Path, structure: str | None = None) -> ExportCase:
    """The case of a number; structures take turns."""
    rng = np.random.default_rng(seed)
    structure = structure or list(STRUCTURES)[seed % len(STRUCTURES)]
    pick = rng.permutation(len(FEATURES))
    options = ["", " with min_count = 2", " with outside = skip", " with min_count = 2, outside = skip"]
    g = ", ".join(FEATURES[n] for n in pick[:7])
    h = ", ".join(FEATURES[n] for n in pick[7:10])
    labels = [line.split()[1] for line in STRUCTURES[structure].splitlines() if line.startswith("label")]
    cells = ", ".join(
        ("word", "pos", "tags: bag", "temp: float", "more: float", "pixels: vector(2)", "attrs: weighted_bag", *labels)
    )
    text = (
        f'data jsonl({cells})\nlexicon places = "places.txt"\nlexicon title = "titles.txt"\n'
        'lexicon anywhere = "places.txt" with case = ignore\nlexicon rank = "titles.txt" with case = ignore\n'
        f"features g{options[rng.integers(4)]}: {g}\nfeatures h{options[rng.integers(4)]}: {h}\n"
        f"{STRUCTURES[structure].replace('{pad}', ' with edges = pad' if rng.random() < 0.3 else '')}infer exact\n"
        f"decode {['joint', 'marginal'][rng.integers(2)]}\ntrain likelihood: optimizer = lbfgs(max_iterations = 1)\n"
    )
    (folder / "places.txt").write_text(PLACES, encoding="utf-8")
    (folder / "titles.txt").write_text(TITLES, encoding="utf-8")
    resolved = load_text(text, directory=folder)
    data = resolved.require().data
    assert data is not None
    states = STATES.get(structure) or {"y": _states_of(text)}
    training = [sentence(rng, int(rng.integers(1, 8)), WORDS) for _ in range(12)]
    for one in training:
        for label, names in states.items():
            one[label] = _gold(rng, names, one, structure)
    model = fit(resolved, corpus_from_rows(training, data), threads=1, unchecked=True)
    weights = rng.normal(0, (0.3, 1.0, 3.0)[seed % 3], model.num_weights) * (rng.random(model.num_weights) < 0.8)
    model = model.with_weights(weights, model.record)
    new = [sentence(rng, length, (*WORDS, *UNSEEN)) for length in (1, 2, 3, 5, 5, 9)]
    return ExportCase(text, model, corpus_from_rows(new, data, optional=model.labels), new)


def _states_of(text: str) -> tuple[str, ...]:
    return tuple(text.partition("label y in {")[2].partition("}")[0].split(", "))


def _gold(rng: np.random.Generator, names: tuple[str, ...], one: dict[str, list[Any]], structure: str) -> list[str]:
    """Labels that no constraint of the structure forbids."""
    if structure == "segments":
        return ["O" if rng.random() < 0.5 else str(rng.choice(["B-X", "B-Y"])) for _ in one["word"]]
    if structure == "factorial":
        return [names[-2] if names[0] == "P" else str(rng.choice(names)) for _ in one["word"]]
    if structure == "runs":
        return [str(rng.choice(names))] * len(one["word"])
    allowed = names[1:] if structure == "memory" else names
    return [str(rng.choice(allowed)) for _ in one["word"]]
