"""Documents without a token: what is total on nothing gives nothing, in every format and by every door."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import dcrfdsl
from dcrfdsl import DcrfError, corpus_from_frame, corpus_from_rows, fit, load_text, read_corpus
from dcrfdsl.cli import run

REST = "\nlabel y in {A, B}\nclique y: word\nclique y[-1], y\n"
SPANS = "\nlabel y in bio(P)\nclique y: word\nclique y[-1], y\n"
CONLLU = "1\ta\t_\tA\t_\t_\t_\t_\t_\t_\n2\tb\t_\tB\t_\t_\t_\t_\t_\t_\n\n"

FORMATS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    # template, a document, and documents without a token
    "conll": ("data conll(word, y)" + REST, "a A\nb B\n\n", ("", "\n", "\ufeff")),
    "conllu": ("data conllu(word = form, y = upos)" + REST, CONLLU, ("", "# nothing\n\n")),
    "csv": ("data csv(word, y)" + REST, "word,y\na,A\nb,B\n", ("word,y\n", "word,y", "word,y\n,\n")),
    "tsv": ("data tsv(word, y)" + REST, "word\ty\na\tA\nb\tB\n", ("word\ty\n",)),
    "jsonl": (
        "data jsonl(word, y)" + REST, '{"word": ["a", "b"], "y": ["A", "B"]}\n', ("", '{"word": [], "y": []}\n'),
    ),
    "spans": (
        "data spans(word = token, y = spans)" + SPANS,
        '{"text": "a b", "label": [[0, 1, "P"]]}\n', ("", '{"text": ""}\n'),
    ),
    "crfsuite": (
        "data crfsuite(y, word: weighted_bag)" + REST, "A\ta\nB\tb\n\n", ("", "\n"),
    ),
    "grmm": ("data grmm(y, word: bag)" + REST, "A ---- a\nB ---- b\n\n", ("", "\n")),
}  # fmt: skip


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tagged(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    capfd.readouterr()
    assert run(["tag", "a.model", *arguments]) == 0, capfd.readouterr().err
    return capfd.readouterr().out


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_document_among_others_changes_nothing(
    format: str, room: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    template, text, empties = FORMATS[format]
    Path("a.dcrf").write_text(template)
    Path("a.txt").write_text(text)
    assert run(["train", "a.dcrf", "a.txt", "-o", "a.model", "-q"]) == 0
    for empty in empties:
        Path("none.txt").write_text(empty)
        records = tagged(capfd, "a.txt", "a.txt", "--json")
        assert tagged(capfd, "a.txt", "none.txt", "a.txt", "--json") == records
        assert tagged(capfd, "none.txt", "a.txt", "a.txt", "--json", "--jobs", "2").replace("none", "a") == records
        assert tagged(capfd, "none.txt", "--json") == ""
        words = tagged(capfd, "a.txt", "a.txt").split()
        assert [word for word in tagged(capfd, "a.txt", "none.txt", "a.txt").split() if word in words or "P" in word]
        for option in ([], ["--marginals"], ["--confidence"], ["--nbest", "2"], ["--pretty"], ["--given"]):
            assert "a" not in set(tagged(capfd, "none.txt", *option).split()), option
        assert run(["eval", "a.model", "none.txt"]) == 1
        assert "there is nothing to score" in capfd.readouterr().err
        assert run(["train", "a.dcrf", "none.txt", "-o", "b.model"]) == 1
        assert "error[empty-file]: " in capfd.readouterr().err
        assert run(["check", "a.dcrf", "--data", "none.txt"]) == 1
        assert "error[empty-file]: `none.txt` holds no sentence" in capfd.readouterr().err


def test_names_of_columns_alone_get_those_of_the_predictions(room: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.dcrf").write_text(FORMATS["csv"][0])
    Path("a.txt").write_text(FORMATS["csv"][1])
    assert run(["train", "a.dcrf", "a.txt", "-o", "a.model", "-q"]) == 0
    Path("names.csv").write_text("word\n")
    assert tagged(capfd, "names.csv") == "word,predicted_y\n"
    assert tagged(capfd, "names.csv", "--nbest", "3") == "word,predicted_y,predicted_rank,predicted_probability\n"
    Path("words.csv").write_text("word\na\n")
    assert tagged(capfd, "names.csv", "words.csv") == "word,predicted_y\n\na,A\n"


@pytest.mark.parametrize("target", ["conll", "csv", "jsonl", "conllu(word = form, y = upos)", "crfsuite(y, word)"])
@pytest.mark.parametrize("source", ["conll", "csv", "jsonl", "conllu"])
def test_nothing_is_converted_to_nothing(
    source: str, target: str, room: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    template, _, empties = FORMATS[source]
    Path("a.dcrf").write_text(template)
    for empty in empties:
        Path("none.txt").write_text(empty)
        assert run(["convert", "none.txt", "--template", "a.dcrf", "--to", target]) == 0
        assert capfd.readouterr().out == ("word,y\n" if target == "csv" else "")
        assert run(["convert", "none.txt", "--template", "a.dcrf", "--to", target, "-o", "out"]) == 0
        Path("out").unlink()
        assert "0 sentences, 0 tokens" in capfd.readouterr().err


@pytest.mark.parametrize("by_sentence", [True, False])
def test_a_table_without_rows(by_sentence: bool, room: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    text = pyarrow.list_(pyarrow.string()) if by_sentence else pyarrow.string()
    schema = pyarrow.schema([("s", pyarrow.int64()), ("word", text), ("y", text)])
    value = (lambda text: [text]) if by_sentence else str
    full = pyarrow.table({"s": [1, 2], "word": [value("a"), value("b")], "y": [value("A"), value("B")]}, schema=schema)
    parquet.write_table(full, "a.parquet")
    parquet.write_table(schema.empty_table(), "none.parquet")
    statement = "data parquet(word, y)" if by_sentence else 'data parquet(word, y, sentence = "s")'
    Path("a.dcrf").write_text(statement + REST)
    assert run(["train", "a.dcrf", "a.parquet", "-o", "a.model", "-q"]) == 0
    for files in (["none.parquet"], ["none.parquet", "a.parquet"], ["a.parquet", "none.parquet"]):
        capfdbinary.readouterr()
        assert run(["tag", "a.model", *files]) == 0
        out = parquet.read_table(io.BytesIO(capfdbinary.readouterr().out))
        assert out.schema.field("predicted_y").type == text
        assert out.num_rows == 2 * (len(files) - 1)


def test_programs_get_nothing_of_nothing() -> None:
    resolved = load_text("data conll(word, size: float, y)" + REST.replace("y: word", "y: word, size"))
    spec = resolved.require()
    assert spec.data is not None
    model = fit(resolved, corpus_from_rows([[("a", 1.0, "A"), ("b", 2.0, "B")]], spec.data))
    nothing = corpus_from_rows([], spec.data)
    assert (nothing.num_sentences, nothing.num_tokens, list(nothing.columns)) == (0, 0, ["word", "size", "y"])
    assert model.tag_all([]) == [] == model.predict(nothing).texts("y")
    assert model.marginals(nothing)[0]["y"].shape == (0, 2)
    assert not model.nbest(nothing, 3).sentences and not model.calibration.confidences(nothing)
    assert not model.events.probability(nothing, "y[1] is A") and model.scores.log_likelihood(nothing) == 0.0
    assert model.sample(nothing, 2).codes["y"].shape == (2, 0)
    with pytest.raises(DcrfError, match="nothing to train on"):
        fit(resolved, nothing)
    (problem,) = dcrfdsl.check(resolved, nothing)
    assert (problem.slug, problem.severity) == ("empty-file", "error")


def test_a_frame_and_a_file_without_rows(room: Path) -> None:
    pandas = pytest.importorskip("pandas")
    data = load_text("data csv(word, size: float, more: weighted_bag, bits: vector(2), y)" + REST).spec.data
    assert data is not None
    frame = pandas.DataFrame({name: [] for name in ("sentence", "word", "size", "more", "bits", "y")})
    Path("none.csv").write_text("word,size,more,bits,y\n")
    for corpus in (
        corpus_from_frame(frame, data),
        read_corpus("none.csv", data),
        corpus_from_rows([[], {"word": []}][:1], data),
    ):
        assert corpus.num_tokens == corpus.num_sentences == 0
        assert corpus.columns["bits"].slice(0, 0).values.shape == (0, 2)  # type: ignore[union-attr]
        assert np.array_equal(corpus.take([]).lengths(), [])


def test_records_of_nothing_are_no_lines(room: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The sentences of a later file keep their numbers."""
    Path("a.dcrf").write_text(FORMATS["conll"][0])
    Path("a.txt").write_text(FORMATS["conll"][1])
    Path("none.txt").write_text("")
    assert run(["train", "a.dcrf", "a.txt", "-o", "a.model", "-q"]) == 0
    lines = tagged(capfd, "none.txt", "a.txt", "none.txt", "a.txt", "--json").splitlines()
    assert [json.loads(line)["sentence"] for line in lines] == [1, 2]
