"""Models of our own written for CRFsuite, and models of CRFsuite as our own: the same labels and probabilities."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcrfdsl import DcrfError, TrainedModel, corpus_from_rows, fit, load_text
from dcrfdsl.crfsuite import Tagger, crfsuite_items, write_crfsuite_model
from dcrfdsl.data import Corpus

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `test`")

ROWS = [
    [("The", 3, "DT", "B-é"), ("dog", 3, "NN", "I:x"), ("ran", 3, "VB", "O")],
    [("A", 1, "DT", "B-é"), ("a:b", 3, "NN", "I:x"), ("c\\d", 3, "NN", "O"), ("é", 1, "NN", "B-é")],
    [("Dogs", 4, "NN", "B-é"), ("walk", 4, "VB", "O")],
]
COLUMNS = "data conll(word, size: float, pos, tag)\nlabel tag\n"
QUICK = "\ntrain likelihood: prior = gaussian(variance = 2)"
CHAINS = {
    "columns": "clique tag: word[-1..1], pos & word, size, lower(word)\nclique tag[-1], tag",
    "bias": "clique tag: bias, word\nclique tag[-1], tag with states = seen",
    "views": "view kind = prefix(tag, 1)\nclique kind: word\nclique tag: pos\nclique kind[-1], tag\nclique tag, tag[1]",
    "tests": "clique tag with states = all: word has /[A-Z]/, word is dog, suffix(word, 1..2)\nclique tag[-1], tag",
    "no moves": "clique tag: word, pos",
    "no features": "clique tag: bias\nclique tag[-1], tag",
}


def trained(cliques: str, rows: list[Any] = ROWS, columns: str = COLUMNS) -> tuple[TrainedModel, Corpus]:
    """A model with weights that are not rounded by convergence, and its data."""
    resolved = load_text(columns + cliques + QUICK)
    corpus = corpus_from_rows(rows, resolved.require().data)
    model = fit(resolved, corpus, threads=1)
    weights = model.weights + np.random.default_rng(1).normal(size=model.num_weights)
    return model.with_weights(weights, model.record), corpus


def check_agrees(model: TrainedModel, corpus: Corpus, path: Path, sequences: list[Any]) -> None:
    """CRFsuite, having opened the file, gives the model's labels and marginals."""
    theirs, ours = pycrfsuite.Tagger(), Tagger()
    theirs.open(str(path))
    ours.open(path)
    label = model.labels[0]
    labels = model.predict(corpus, threads=1).texts(label)
    marginals, _ = model.marginals(corpus, threads=1)
    off = corpus.sentence_off.tolist()
    assert theirs.labels() == list(model.states[label])
    for items, (start, end) in zip(sequences, itertools.pairwise(off), strict=True):
        assert theirs.tag(items) == ours.tag(items) == labels[start:end]
        for tagger in (theirs, ours):
            tagger.set(items)
            found = [[tagger.marginal(state, t) for state in tagger.labels()] for t in range(end - start)]
            assert found == pytest.approx(marginals[label][start:end], abs=1e-9)


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_is_written_for_crfsuite(tmp_path: Path, name: str) -> None:
    model, corpus = trained(CHAINS[name])
    write_crfsuite_model(model, tmp_path / "m")
    check_agrees(model, corpus, tmp_path / "m", crfsuite_items(model, corpus))


REFUSED = {
    "CRFsuite has one label, and this model has `tag`, `pos`": "label pos\nclique tag: word\nclique pos: word",
    "CRFsuite has no latent variables or memories such as `h`": "latent h in 2\nclique tag, h\nclique h: word",
    "CRFsuite has no constraints such as": "clique tag: word\nforbid tag is O and word is dog",
    "clique `moves` has impossible ones": "clique tag[-1], tag as moves\nforbid tag[-1] is O and tag is O",
    "CRFsuite has no weights of the start or end": "clique tag: word\nclique tag[-1], tag with edges = pad",
    "CRFsuite has no features of two labels": "clique tag: word\nclique tag[-1], tag: pos",
    "CRFsuite has cliques of one label and of two neighbours": "clique tag: word\nclique tag[-2], tag",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_crfsuite_does_not_have_is_said(tmp_path: Path, words: str) -> None:
    model, _ = trained(REFUSED[words])
    with pytest.raises(DcrfError, match="not-for-crfsuite") as error:
        write_crfsuite_model(model, tmp_path / "m")
    assert words in str(error.value)
    assert not (tmp_path / "m").exists()
