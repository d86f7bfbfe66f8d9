"""Programs written for python-crfsuite run unchanged with `dcrfdsl.crfsuite` in its place."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from us_addresses import addresses

import dcrfdsl.crfsuite

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `test`")


def with_ours(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """The program imported anew, with our module under the name of theirs."""
    if (found := importlib.util.find_spec(name)) is None or found.origin is None:
        pytest.skip(f"{name} is in the extra `bench`")
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "pycrfsuite", dcrfdsl.crfsuite)
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
