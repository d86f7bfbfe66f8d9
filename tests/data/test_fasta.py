"""The format `fasta`: sequences and labels of records, what is refused, and predictions as lines of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from dcrfdsl import DcrfError, load_text, read_corpus
from dcrfdsl.cli import run
from dcrfdsl.data import repeated, stream_corpus

DATA = "data fasta(aa, y)\nlabel y\nclique y: bias, aa\nclique y[-1], y\n"
LABELLED = ">P1 | TM\nMKV\niiM\n\n>P2 nothing below\n>P3\r\nA\r\no\r\n>P4\nMM\nMM"
BARE = ">P1\nMKV\nAA\n\n>P2\n>P3\nK\n"


def sentences(text: str, path: Path, **how) -> list[dict[str, str]]:
    path.write_bytes(text.encode())
    corpus = read_corpus(path, load_text(DATA).require().data, **how)
    return [
        {name: "".join(map(column.text, range(a, b))) for name, column in corpus.columns.items()}
        for a, b in zip(corpus.sentence_off, corpus.sentence_off[1:], strict=False)
    ]


def test_records_are_sentences(tmp_path):
    found = [{"aa": "MKV", "y": "iiM"}, {"aa": "A", "y": "o"}, {"aa": "MM", "y": "MM"}]
    for how in ({}, {"required": ["y"]}, {"optional": ["y"]}):
        assert sentences(LABELLED, tmp_path / "a.3line", **how) == found
    # without labels the lines are one sequence, and the first record decides
    assert sentences(BARE, tmp_path / "b.fa", optional=["y"]) == [{"aa": "MKVAA"}, {"aa": "K"}]
    assert sentences("", tmp_path / "c.fa") == []


def test_a_sequence_over_lines_of_one_length_looks_like_labels(tmp_path):
    path, data = tmp_path / "a.fa", load_text(DATA).require().data
    for text, warned in ((">P1\nMKV\nAIL\n", True), (LABELLED, False), (BARE, False)):
        path.write_text(text)
        warnings = read_corpus(path, data, optional=["y"]).warnings
        said = f"{path}: line 1: the lines of this record have one length"
        assert [one.startswith(said) for one in warnings] == [True] * warned
    path.write_text(">P1\nMKV\nAIL\n")
    assert not read_corpus(path, data).warnings


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (">a\nMKV\niiM\n>b\nMK\ni\n", 4, "lines of 2, 1 characters"),
        (">a\nMKV\niiM\n>b\nMK\nMK\nMK\n", 4, "lines of 2, 2, 2 characters"),
        (BARE, 1, "lines of 3, 2 characters, expected `aa y`"),
        ("MKV\niiM\n>b\nMK\nii\n", 1, "a sequence without a name"),
    ],
)
def test_what_is_no_record_is_refused(text, line, says, tmp_path):
    with pytest.raises(DcrfError) as raised:
        sentences(text, tmp_path / "bad.fa", required=["y"])
    (found,) = raised.value.diagnostics
    assert found.slug == "column-count" and says in found.message and found.help
    assert found.location == f"{tmp_path / 'bad.fa'}:{line}"


def test_tag_adds_lines_to_the_record(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("t.dcrf").write_text(DATA)
    Path("a.fa").write_bytes(LABELLED.encode())
    Path("b.fa").write_text(BARE)
    assert run(["train", "t.dcrf", "a.fa", "-o", "m", "-q"]) == 0
    assert run(["eval", "m", "a.fa"]) == 0
    capfd.readouterr()
    assert run(["tag", "m", "b.fa"]) == 0
    one, other = (found.split("\n") for found in capfd.readouterr().out.removesuffix("\n").split("\n\n"))
    assert one[:3] == [">P1", "MKV", "AA"] and len(one[3]) == 5 and set(one[3]) <= set("iMo")
    assert other[:3] == [">P2", ">P3", "K"] and len(other[3]) == 1
    assert run(["tag", "m", "a.fa", "--confidence"]) == 0
    lines = capfd.readouterr().out.split("\n")
    assert lines[0].startswith(">P1 | TM probability=0.") and lines[1:3] == ["MKV", "iiM"]
    assert len(lines[3]) == 3 and len(lines[4].split(" ")) == 3 and lines[5:7] == ["", ">P2 nothing below"]
    Path("two.fa").write_text(">P1\nMKV\nAAA\n")
    assert run(["tag", "m", "two.fa"]) == 0  # which looks like a sequence and its labels
    assert capfd.readouterr().err.startswith("warning: two.fa: line 1: the lines of this record have one length")
    assert run(["convert", "a.fa", "--from", "fasta(aa, y)", "--to", "jsonl(aa, y)", "-o", "c.jsonl", "-q"]) == 0
    assert Path("c.jsonl").read_text().startswith('{"aa": ["M", "K", "V"], "y": ["i", "i", "M"]}\n')


def test_copies_of_records_hold_one_record_each(tmp_path):
    (tmp_path / "f").write_text(">a\nMK\n>b\nKKM\n>c\nM\n")
    data = load_text("data fasta(aa, y)\nlabel y\n").spec.data
    chunk = next(stream_corpus(tmp_path / "f", data, optional=["y"], flush=False))
    assert chunk.corpus.num_sentences == 2  # the last record comes in a chunk of its own
    assert repeated(chunk, [2, 1]).block.text.decode() == ">a\nMK\n>a\nMK\n>b\nKKM\n"
    assert repeated(chunk, [0, 1], alone=True).block.text.decode().rstrip("\n") == ">b\nKKM"
