"""Models of our own written for CRFsuite, and models of CRFsuite as our own: the same labels and probabilities."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcrfdsl import DcrfError, TrainedModel, corpus_from_rows, fit, load, load_text
from dcrfdsl.cli import run
from dcrfdsl.cli.console import Talk
from dcrfdsl.cli.convert_command import convert_model
from dcrfdsl.crfsuite import (
    CrfsuiteModel,
    ItemSequence,
    Tagger,
    crfsuite_items,
    crfsuite_model_of,
    native_model,
    read_crfsuite,
    write_crfsuite_model,
)
from dcrfdsl.data import Corpus
from dcrfdsl.data.weighted_bags import escaped, unescaped

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `test`")
from crfsuite_cases import KINDS, nested_items, trained_file  # noqa: E402

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


BAGS = "data crfsuite(tag, attributes: weighted_bag)\nlabel tag\n"


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_a_bag_are_attributes_unchanged(tmp_path: Path, kind: str) -> None:
    sequences = KINDS[kind](2)
    rows = [
        [{"attributes": item, "tag": tag} for item, tag in zip(items, tags, strict=True)] for items, tags in sequences
    ]
    model, corpus = trained("clique tag: attributes\nclique tag[-1], tag with states = seen", rows, BAGS)
    assert write_crfsuite_model(model, tmp_path / "m") == ()
    check_agrees(model, corpus, tmp_path / "m", [items for items, _ in sequences])
    check_agrees(model, corpus, tmp_path / "m", crfsuite_items(model, corpus))


def test_remarks_say_what_items_must_have(tmp_path: Path) -> None:
    model, _ = trained("clique tag: bias, word\nclique tag[-1], tag\ndecode marginal")
    words = " ".join(remark.message for remark in write_crfsuite_model(model, tmp_path / "m"))
    assert "an attribute `bias`" in words and "crfsuite_items" in words and "decoded by `marginal`" in words


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


# and back -----------------------------------------------------------------------------------------------------------


def read_back(tmp_path: Path, sequences: list[Any], **params: Any) -> tuple[CrfsuiteModel, TrainedModel]:
    """A model that python-crfsuite trains, as CRFsuite's and as our own, saved and loaded."""
    read = read_crfsuite(trained_file(tmp_path / "m", sequences, **params))
    native_model(read, "m").save(tmp_path / "native.model")
    return read, load(tmp_path / "native.model")


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_crfsuite_is_one_of_our_own(tmp_path: Path, kind: str) -> None:
    _, model = read_back(tmp_path, KINDS[kind](3), **{"feature.possible_transitions": kind == "strings"})
    inputs = [items for items, _ in KINDS[kind](4, 40)]
    rows = [[{"attributes": item} for item in items] for items in inputs]
    data = model.spec.data
    assert data is not None
    check_agrees(model, corpus_from_rows(rows, data, optional=["y"]), tmp_path / "m", inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_way_there_and_back_keeps_every_weight(tmp_path: Path, kind: str) -> None:
    read, model = read_back(tmp_path, KINDS[kind](3), c1=0.02)
    again = crfsuite_model_of(model)

    def named(one: CrfsuiteModel) -> tuple[dict[Any, float], dict[Any, float]]:
        parts = zip(one.state_attributes, one.state_labels, one.state_weights, strict=True)
        moves = zip(one.transition_from, one.transition_to, one.transition_weights, strict=True)
        return (
            {(one.attributes[attribute], one.labels[label]): weight for attribute, label, weight in parts},
            {(one.labels[left], one.labels[right]): weight for left, right, weight in moves},
        )

    assert (tuple(again.labels), named(again)) == (tuple(read.labels), named(read))


def test_a_model_without_moves_or_attributes(tmp_path: Path) -> None:
    sequences = [([["a"]], ["x"]), ([["b"]], ["y"])]
    read, model = read_back(tmp_path, sequences)
    assert not len(read.transition_weights)
    none = np.zeros(0, np.int32)
    empty = native_model(CrfsuiteModel(["x", "y"], [], none, none, np.zeros(0), none, none, np.zeros(0)))
    for one, labels in ((model, ["y", "x"]), (empty, ["x", "x"])):
        assert one.spec.data is not None
        corpus = corpus_from_rows([[{"attributes": ["b"]}, {"attributes": ["a"]}]], one.spec.data, optional=["y"])
        assert one.predict(corpus, threads=1).texts("y") == labels


def test_the_command_converts_a_model_that_tags(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = trained_file(tmp_path / "m.crfsuite", nested_items(1))
    convert_model(str(tmp_path / "m.crfsuite"), None, Talk(False))
    assert "m.model written" in capfd.readouterr().err
    inputs = [ItemSequence(items) for items, _ in nested_items(2)]
    lines = [
        "\t".join(["_", *(f"{escaped(name)}:{value!r}" for name, value in item.items())])
        for sequence in inputs
        for item in (*sequence.items(), {})
    ]
    text = "\n".join("" if line == "_" else line for line in lines)
    (tmp_path / "data").write_text(text, encoding="utf-8")
    assert run(["tag", str(tmp_path / "m.model"), str(tmp_path / "data")]) == 0
    tagged = [line.split("\t")[0] for line in capfd.readouterr().out.splitlines() if line]
    tagger = Tagger()
    tagger.open_inmemory(content)
    assert [unescaped(label) for label in tagged] == [label for sequence in inputs for label in tagger.tag(sequence)]
    with pytest.raises(DcrfError, match="file-exists"):
        convert_model(str(tmp_path / "m.crfsuite"), None, Talk(False))
