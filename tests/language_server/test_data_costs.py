"""States and weights from a data file: by the function, and as hints of the server."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_client import LspClient

from dcrfdsl import load_template, read_corpus
from dcrfdsl.language_server.data_costs import measured
from dcrfdsl.language_server.editor_session import read_settings
from dcrfdsl.training import fit

TEXT = (
    "data conll(word, y)\nlabel y\nclique y as words: word\nclique y[-1], y\n"
    "clique y[-1], y as padded with edges = pad\ntrain likelihood\n"
)
DATA = "a A\nb B\nc C\n\na B\nb C\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.dcrf").write_text(TEXT)
    (tmp_path / "train.txt").write_text(DATA)
    return tmp_path


def test_weights_are_those_of_a_trained_model(folder: Path) -> None:
    answer = measured(TEXT, folder / "a.dcrf", folder / "train.txt", {})
    assert answer["states"] == {"y": ["A", "B", "C"]}
    assert {name: cost[:2] for name, cost in answer["cliques"].items()} == {
        "words": ["3", 3], "y[-1], y": ["3 × 3", 9], "padded": ["5 × 5", 25],
    }  # fmt: skip
    resolved = load_template(folder / "a.dcrf")
    data = resolved.require().data
    assert data is not None
    model = fit(resolved, read_corpus(folder / "train.txt", data))
    assert sum(cost[2] for cost in answer["cliques"].values()) == len(model.weights)
    assert answer["cliques"]["words"][2] == 5  # pairs of a word and a state that the data shows


def test_what_data_cannot_tell(folder: Path) -> None:
    path = folder / "a.dcrf"
    assert measured(TEXT, path, folder / "none.txt", {})["problem"]
    broken = measured(TEXT + "clique y: wrd\n", path, folder / "train.txt", {})
    assert broken["states"] and not broken["cliques"]
    assert broken["problem"] == "the template has errors"
    (folder / "train.txt").write_text("a\nb c d\n")
    assert "train.txt" in measured(TEXT, path, folder / "train.txt", {})["problem"]
    assert measured("label y", path, folder / "train.txt", {})["states"] == {}


def test_settings(folder: Path) -> None:
    (folder / "own.py").write_text("import dcrfdsl\n\n@dcrfdsl.feature\ndef shape_of(word):\n    return word\n")
    path = folder / "a.dcrf"
    given_data = ("train.txt", {"a*.dcrf": "train.txt"}, {"b*": "train.txt"}, "gone.txt", 3)
    cases = [*zip(({"data": one} for one in given_data), (True, True, False, False, False), strict=True)]
    cases += [({}, False), ({"dcrf": {"data": "train.txt"}}, True)]
    assert read_settings(None, folder) == read_settings([], folder) == read_settings({}, folder)
    for given, found in cases:
        assert (read_settings(given, folder).data_of(path, TEXT) is not None) == found, given
    assert read_settings({}, folder).data_of(path, "# data: train.txt\n" + TEXT) == folder / "train.txt"
    assert read_settings({"features": ["own.py", "gone.py"]}, folder).own_functions() == ("shape_of",)


@pytest.mark.long
def test_hints_of_the_server(folder: Path) -> None:
    """They come after the data is read, and go when the text has changed."""
    with LspClient(folder, options={"data": "train.txt"}) as client:
        uri = client.open("a.dcrf", TEXT)
        client.wait_for(lambda: {"request": "workspace/inlayHint/refresh"} in client.published, 300)
        places = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
        whole = {"textDocument": {"uri": uri}, "range": places}
        hints = client.ask("textDocument/inlayHint", whole)
        assert [hint["label"] for hint in hints][:2] == ["3 states, 5 weights", "3 × 3 states, 9 weights"]
        assert hints[0]["position"] == {"line": 2, "character": 23}
        hover = client.ask("textDocument/hover", client.at(uri, "words"))
        assert "3 states, 3 entries, 5 weights, by `train.txt`" in hover["contents"]["value"]
        client.append(uri, "forbid y is ")
        states = client.ask("textDocument/completion", client.at(uri, "forbid y is ", shift=12))
        assert [item["label"] for item in states["items"]][:3] == ["A", "B", "C"]
        assert client.ask("textDocument/inlayHint", whole) == []
