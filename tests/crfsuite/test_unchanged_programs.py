"""Programs written for python-crfsuite run unchanged with `dcrfdsl.crfsuite` in its place."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from crfsuite_cases import KINDS
from us_addresses import addresses

import dcrfdsl.crfsuite

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `test`")


def with_ours(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """The program imported anew, with our module under the name of theirs."""
    return imported_with(monkeypatch, name, dcrfdsl.crfsuite)


def imported_with(monkeypatch: pytest.MonkeyPatch, name: str, tagging: ModuleType) -> ModuleType:
    """The program imported anew, with a module under the name `pycrfsuite`."""
    if (found := importlib.util.find_spec(name)) is None or found.origin is None:
        pytest.skip(f"{name} is in the extra `bench`")
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "pycrfsuite", tagging)
    program = importlib.import_module(name)
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == name]:
        monkeypatch.setitem(sys.modules, loaded, sys.modules[loaded])  # taken out again after the test
    return program


def test_usaddress_tags_five_hundred_addresses_identically(monkeypatch: pytest.MonkeyPatch) -> None:
    usaddress = with_ours(monkeypatch, "usaddress")
    theirs = pycrfsuite.Tagger()
    theirs.open(str(Path(usaddress.__file__).parent / usaddress.MODEL_FILE))
    assert isinstance(usaddress.TAGGER, dcrfdsl.crfsuite.Tagger)
    for number, address in enumerate(addresses(500)):
        tokens = usaddress.tokenize(address)
        items = usaddress.tokens2features(tokens)
        labels = theirs.tag(items)
        assert usaddress.parse(address) == list(zip(tokens, labels, strict=True))
        assert usaddress.TAGGER.probability(labels) == pytest.approx(theirs.probability(labels), rel=1e-9)
        if number % 10 == 0:
            theirs.set(items)
            cells = [(label, t) for label in theirs.labels() for t in range(len(tokens))]
            expected = np.array([theirs.marginal(*cell) for cell in cells])
            assert np.abs([usaddress.TAGGER.marginal(*cell) for cell in cells] - expected).max() < 1e-9


def test_probablepeople_tags_names_identically(monkeypatch: pytest.MonkeyPatch) -> None:
    people = with_ours(monkeypatch, "probablepeople")
    for kind, file in people.MODEL_FILES.items():
        theirs = pycrfsuite.Tagger()
        theirs.open(str(Path(people.__file__).parent / file))
        for name in ("Mr. Guido van Rossum", "ACME Corp.", "Dr. Ana-María Łuczak, PhD and Bob", "The Smith LLC", "x"):
            tokens = people.tokenize(name)
            labels = theirs.tag(people.tokens2features(tokens))
            assert people.parse(name, kind) == list(zip(tokens, labels, strict=True))


def test_parserator_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    with_ours(monkeypatch, "parserator")
    for part in ("parserator.training", "parserator.spotcheck"):
        assert importlib.import_module(part).pycrfsuite is dcrfdsl.crfsuite


def test_parserators_own_training_makes_the_same_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It trains on pairs of token and label, and asks a module for the features."""
    sentences = [(None, list(zip(items, labels, strict=True))) for items, labels in KINDS["nested"](5)]
    program = SimpleNamespace(tokens2features=list)  # the tokens are the features
    losses = []
    for module in (dcrfdsl.crfsuite, pycrfsuite):
        imported_with(monkeypatch, "parserator", module)
        training = importlib.import_module("parserator.training")
        training.trainModel(sentences, program, str(tmp_path / module.__name__))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(tmp_path / module.__name__))
        losses.append([tagger.tag(items) and tagger.probability(labels) for items, labels in KINDS["nested"](5)])
    np.testing.assert_allclose(*losses, rtol=1e-4)


def test_sklearn_crfsuite_reaches_the_same_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = zip(*KINDS["weighted"](6, 60), strict=True)
    found = []
    for module in (dcrfdsl.crfsuite, pycrfsuite):
        program = imported_with(monkeypatch, "sklearn_crfsuite", module)
        crf = program.CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=200, all_possible_transitions=True)
        crf.fit(X, y)
        found.append((crf.training_log_.last_iteration["loss"], crf.predict(X), crf.classes_))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-3)
    assert [list(labels) for labels in found[0][1]] == [list(labels) for labels in found[1][1]]
    assert found[0][2] == found[1][2]
