"""`examples/spacy_service`: the entities over HTTP are those of the model, and bad requests are refused in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, example_modules

from dcrfdsl import TrainedModel, fit, load_template, read_corpus

spacy = pytest.importorskip("spacy", reason="needs spaCy: pip install -e '.[spacy]'")
pytest.importorskip("starlette", reason="the extra `serve` is not installed")
testclient = pytest.importorskip("starlette.testclient", reason="needs httpx")

service, runner = example_modules(ROOT / "examples" / "spacy_service", "service", "run")


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    template = load_template(ROOT / "examples/address/address.dcrf")
    return fit(template, read_corpus(ROOT / "examples/address/address.txt", template.require().data))


@pytest.fixture(scope="module")
def path(model: TrainedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    model.save(file := tmp_path_factory.mktemp("spacy_service") / "address.model")
    return file


@pytest.fixture(scope="module")
def client(path: Path) -> Iterator[Any]:
    with testclient.TestClient(service.make_app(service.make_pipeline(path))) as client:
        yield client


def test_entities_are_those_of_the_model(client: Any, model: TrainedModel) -> None:
    texts = ["9 Bath Lane, Oxford", "", "Mill Road. Bath."]
    answer = client.post("/annotate", json={"texts": texts})
    assert answer.status_code == 200
    found = answer.json()["entities"]
    assert [len(of_text) for of_text in found][1] == 0
    expected = model.calibration.confidences(["9", "Bath", "Lane", ",", "Oxford"]).segments
    assert [one["label"] for one in found[0]] == [one.type for one in expected]
    assert [one["confidence"] for one in found[0]] == pytest.approx([one.probability for one in expected])
    for text, of_text in zip(texts, found, strict=True):
        assert [one["text"] for one in of_text] == [text[one["start"] : one["end"]] for one in of_text]
        assert {one["accepted"] for one in of_text} <= {None}


def test_entities_say_whether_they_can_be_taken_unseen(model: TrainedModel, tmp_path: Path) -> None:
    """One type has an operating point, which its sentences reach and a probability below does not."""
    corpus = read_corpus(ROOT / "examples/address/address.txt", model.spec.data)
    pointed = model.decisions.with_points(corpus, precision={"TOWN": 0.9})
    pointed.save(file := tmp_path / "pointed.model")
    (least,) = (one.least for one in pointed.decisions.points)
    with testclient.TestClient(service.make_app(service.make_pipeline(file))) as client:
        (found,) = client.post("/annotate", json={"texts": ["9 Bath Lane, Oxford"]}).json()["entities"]
    accepted = {one["label"]: one["accepted"] for one in found}
    assert accepted == {one["label"]: one["confidence"] >= least if one["label"] == "TOWN" else None for one in found}
    assert accepted["TOWN"] is not None


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "not JSON"),
        (b'["a"]', 400, "expected"),
        (b'{"texts": "a"}', 400, "expected"),
        (b'{"texts": [1]}', 400, "expected"),
        (b'{"texts": ["Bath \\ud83d"]}', 400, "half of a surrogate pair"),
        (b'{"texts": ["' + b"a" * 100_001 + b'"]}', 413, "at most 1,000 texts"),
    ],
)
def test_bad_requests_are_refused_in_words(client: Any, body: bytes, status: int, message: str) -> None:
    answer = client.post("/annotate", content=body)
    assert answer.status_code == status and message in answer.json()["error"]


def test_other_paths_are_refused(client: Any) -> None:
    assert client.get("/annotate").status_code == 405
    assert client.post("/tag", json={}).status_code == 404


def test_a_kept_pipeline_answers_the_same(path: Path, tmp_path: Path) -> None:
    runner.main([str(path), "--keep", str(tmp_path / "kept")])
    text = "9 Bath Lane, Oxford"
    kept, made = spacy.load(tmp_path / "kept"), service.make_pipeline(path)
    assert service.entities(kept(text)) == service.entities(made(text)) != []
