"""The format `npz`: archives of NumPy, in and out. Scores are in `test_given_scores`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcrfdsl
from dcrfdsl import DcrfError
from dcrfdsl.cli import run
from dcrfdsl.data import read_corpus

TEMPLATE = """data npz(word, size: float, vec: vector(2), y)
label y
clique y: word, size, vec
clique y[-1], y
"""
ARRAYS: dict[str, Any] = {
    "word": np.array(["a", "bé", "c", "d"]),
    "size": np.array([0.5, 1, 2, 3], np.float16),
    "vec": np.arange(8).reshape(4, 2),
    "y": np.array(["P", "Q", "P", "Q"]),
    "lengths": np.array([3, 0, 1]),
    "other": np.zeros((7, 7)),
}


def data() -> Any:
    return dcrfdsl.load_text(TEMPLATE, "a.dcrf").require().data


def saved(path: Path, **changes: Any) -> Path:
    """The archive with other arrays; None leaves one out."""
    np.savez(path, **{name: array for name, array in {**ARRAYS, **changes}.items() if array is not None})
    return path


def padded(name: str) -> Any:
    array = ARRAYS[name]
    out = np.zeros((3, 4, *array.shape[1:]), array.dtype)
    out[0, :3], out[2, :1] = array[:3], array[3:]
    return out


@pytest.mark.parametrize("changes", [{}, {name: padded(name) for name in ("word", "size", "vec", "y")},
                                     {"vec": padded("vec"), "y": np.array([b"P", b"Q", b"P", b"Q"])}])  # fmt: skip
def test_an_archive_is_read(changes: dict[str, Any], tmp_path: Path) -> None:
    corpus = read_corpus(saved(tmp_path / "a.npz", **changes), data())
    assert corpus.sentence_off.tolist() == [0, 3, 4] and corpus.token_line.tolist() == [1, 1, 1, 3]
    assert [corpus.text_column("word").text(t) for t in range(4)] == ["a", "bé", "c", "d"]
    assert [corpus.text_column("y").text(t) for t in range(4)] == ["P", "Q", "P", "Q"]
    assert np.array_equal(corpus.columns["size"].values, [0.5, 1, 2, 3])
    assert np.array_equal(corpus.columns["vec"].values, ARRAYS["vec"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths": None}, "no array `lengths`"),
        ({"lengths": np.array([3.0, 1.0])}, "one whole number from 0 for each sentence, and is of type float64"),
        ({"lengths": np.array([2, -1])}, "one whole number from 0"),
        ({"word": None}, "column `word` missing: the archive has"),
        ({"word": np.array(["a", "b"])}, "expected [4] for all tokens in turn, or [3, 3] for padded sentences"),
        ({"vec": np.zeros((4, 3))}, "found 3 numbers"),
        ({"vec": np.zeros(4)}, "shape [4], expected [4, numbers] for all tokens in turn"),
        ({"size": np.array([0, 1, 2, np.nan])}, "found `nan`"),
        ({"word": np.array(["a", None, "b", "c"], object)}, "it holds Python objects"),
        ({"y": np.arange(4)}, "found `0`, expected a text"),
    ],
)
def test_what_cannot_be_read(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DcrfError) as raised:
        read_corpus(saved(tmp_path / "a.npz", **changes), data())
    (problem,) = raised.value.diagnostics
    assert message in problem.message, problem.message
    assert str(tmp_path / "a.npz") in (problem.location or "")


@pytest.mark.parametrize("content", [b"", b"word y", b"PK\x03\x04 and no more"])
def test_what_is_no_archive(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(DcrfError) as raised:
        read_corpus(tmp_path / "a.npz", data())
    assert raised.value.diagnostics[0].slug == "bad-archive"


def test_a_single_array_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(DcrfError, match="it is a single array"):
        read_corpus(tmp_path / "a.npy", data())


def test_tagging_and_converting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "a.npz")
    Path("a.dcrf").write_text(TEMPLATE)
    assert run(["train", "a.dcrf", "a.npz", "-o", "a.model", "-q"]) == 0
    assert run(["tag", "a.model", "a.npz", "-o", "tagged.npz"]) == 0
    tagged = np.load(io.BytesIO(Path("tagged.npz").read_bytes()))
    assert tagged["lengths"].tolist() == [3, 0, 1] and tagged["predicted_y"].tolist() == ["P", "Q", "P", "Q"]
    assert run(["tag", "a.model", "a.npz", "a.npz", "--nbest", "2", "-o", "two.npz"]) == 0
    two = np.load(io.BytesIO(Path("two.npz").read_bytes()))
    assert two["lengths"].tolist() == [3, 3, 0, 1, 1] * 2
    assert two["predicted_y"][[0, 1, 2, 6]].tolist() == ["P", "Q", "P", "Q"] and len(two["predicted_y"]) == 16
    assert run(["convert", "a.npz", "-o", "a.jsonl", "--to", "jsonl"]) == 0
    assert run(["convert", "a.jsonl", "-o", "b.npz", "--to", "npz"]) == 0
    corpus = read_corpus("b.npz", data())
    assert corpus.sentence_off.tolist() == [0, 3, 4] and corpus.token_line.tolist() == [1, 1, 1, 2]
    assert np.array_equal(corpus.columns["vec"].values, ARRAYS["vec"])
