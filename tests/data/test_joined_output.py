"""The tagged text of several files: no token and no sentence of one runs into the next."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dcrfdsl.data import TaggedOutput, read_corpus, stream_corpus
from dcrfdsl.semantics.resolve.resolution import load_text

CONLLU = "1\t{}\t_\t_\t_\t_\t_\t_\t_\t_"
FILES = {  # two sentences each, with neither a newline nor a blank row at the end
    "conll": ("conll(word, y)", "a\n\nb"),
    "csv": ("csv(word, y)", "word\na\n\nb"),
    "conllu": (
        "conllu(word = form, y = upos)",
        f"{CONLLU.format('a')}\n\n{CONLLU.format('b')}",
    ),
    "jsonl": ("jsonl(word, y)", '{"word": ["a"]}\n{"word": ["b"]}'),
}


@pytest.mark.parametrize("end", ["", "\n", "\n\n"], ids=["bare", "newline", "blank row"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "bom"])
@pytest.mark.parametrize("name", FILES)
def test_joined_outputs_keep_files_apart(name: str, mark: str, newline: str, end: str, tmp_path: Path) -> None:
    statement, text = FILES[name]
    data = load_text(f"data {statement}\nlabel y in {{P, Q}}\nclique y: word").require().data
    assert data is not None
    raw, output, written = (mark + (text + end).replace("\n", newline)).encode(), TaggedOutput(data), b""
    for _ in range(3):
        for chunk in stream_corpus(io.BytesIO(raw), data, optional=("y",)):
            written += output.write(chunk, {"y": ["P"] * chunk.corpus.num_tokens})
    written += output.close()
    path = tmp_path / "all"
    path.write_bytes(written)
    again = read_corpus(path, data, optional=("y",))
    assert again.lengths().tolist() == [1] * 6
    assert [again.columns["word"].text(t) for t in range(6)] == ["a", "b"] * 3
    assert written.count(mark.encode() or b"\n\n\n\n") <= 1
    assert (b"\r\n" in written) == (newline == "\r\n")
