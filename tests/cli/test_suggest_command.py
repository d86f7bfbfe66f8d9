"""`dcrfdsl suggest`: files to annotate in each format, whose labels are those of `tag`; its listing; what it refuses.

Not here: scores and the choice (`tests/model/test_suggestions.py`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dcrfdsl
from dcrfdsl.cli import run

RULES = """label ner in {states}
clique ner: bias, {word}[-1..1]
clique ner[-1], ner
train likelihood: prior = gaussian(variance = 10)
"""
WORDS = [["Ann", "left", "Bath"], ["Bob", "ran"], ["Eve", "saw", "Ann", "Lee"], ["We", "left", "Bath"]]
MARKS = [["B-P", "O", "B-L"], ["B-P", "O"], ["B-P", "O", "B-P", "I-P"], ["O", "O", "B-L"]]


def conllu(words, marks=None):
    rows = [
        f"{n}\t{word}\t_\t{mark}\t_\t_\t_\t_\t_\t_"
        for n, (word, mark) in enumerate(zip(words, marks or "_" * len(words), strict=True), 1)
    ]
    return f"# text = {' '.join(words)}\n" + "".join(f"{row}\n" for row in rows) + "\n"


def text_of(words, marks=None):
    """A line of `spans`, with two blanks between the words, which no token shows."""
    record, at, spans = {"text": "  ".join(words), "id": words[0]}, 0, []
    for word, mark in zip(words, marks or "O" * len(words), strict=True):
        if mark[0] == "I":
            spans[-1][1] = at + len(word)
        elif mark != "O":
            spans.append([at, at + len(word), mark[2:]])
        at += len(word) + 2
    return json.dumps(record | ({} if marks is None else {"label": spans})) + "\n"


def lines(separator):
    def written(words, marks=None):
        rows = zip(words, *(() if marks is None else (marks,)), strict=True)
        return "".join(separator.join(row) + "\n" for row in rows) + "\n"

    return written


def csv(words, marks=None):
    return lines(",")(words, marks)


def jsonl(words, marks=None):
    return json.dumps({"word": words, **({} if marks is None else {"ner": marks})}) + "\n"


def crfsuite(words, marks=None):
    return "".join(f"{mark}\t{word}\n" for word, mark in zip(words, marks or "_" * len(words), strict=True)) + "\n"


def grmm(words, marks=None):
    before = [f"{mark} ---- " for mark in marks] if marks else [""] * len(words)
    return "".join(f"{mark}{word}\n" for word, mark in zip(words, before, strict=True)) + "\n"


def fasta(words, marks=None):
    letters = {"B-P": "P", "I-P": "P", "B-L": "L", "O": "O"}
    of_marks = "".join(letters[mark] for mark in marks) + "\n" if marks else ""
    return f">{words[0]}\n{''.join(word[0] for word in words)}\n{of_marks}"


BIO = "bio(P, L)"
FORMATS = {
    "conll": ("conll(word, ner)", "word", BIO, lines(" "), ""),
    "conllu": ("conllu(word = form, ner = upos)", "word", BIO, conllu, ""),
    "spans": ("spans(word = token, ner = spans)", "word", BIO, text_of, ""),
    "csv": ("csv(word, ner)", "word", BIO, csv, "word,ner\n"),
    "jsonl": ("jsonl(ner, word)", "word", BIO, jsonl, ""),
    "crfsuite": ("crfsuite(ner, word: weighted_bag)", "word", BIO, crfsuite, ""),
    "grmm": ("grmm(ner, word: bag)", "word", BIO, grmm, ""),
    "fasta": ("fasta(word, ner)", "word", "{P, L, O}", fasta, ""),
}


@pytest.fixture(params=FORMATS)
def files(request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A model of a format; a pool of two files without labels, and one with labels."""
    data, word, states, write, head = FORMATS[request.param]
    monkeypatch.chdir(tmp_path)
    Path("t.dcrf").write_text(f"dcrf 1\ndata {data}\n" + RULES.format(states=states, word=word))
    Path("train").write_text(head + "".join(map(write, WORDS, MARKS)))
    Path("one").write_text(head.replace(",ner", "") + "".join(map(write, WORDS[:3])))
    Path("two").write_text(head.replace(",ner", "") + write(WORDS[3]).rstrip("\n"))  # without the end of a sentence
    assert run(["train", "t.dcrf", "train", "-o", "m", "-q"]) == 0
    return request.param


def test_the_file_has_the_labels_of_tag_in_their_places_best_first(files, capsys) -> None:
    assert run(["suggest", "m", "one", "two", "--json", "-o", "next"]) == 0
    said = capsys.readouterr()
    listed = [json.loads(line) for line in said.out.splitlines()]
    assert [one["rank"] for one in listed] == [1, 2, 3, 4] and {one["file"] for one in listed} == {"one", "two"}
    assert "next written: 4 of 4 sentences, 12 tokens" in said.err and "these are all" in said.err
    assert "has labels" not in said.err
    model = dcrfdsl.load("m")
    annotated = dcrfdsl.read_corpus("next", model.spec.data, required=["ner"])  # as training reads it
    pool = dcrfdsl.read_corpus("train", model.spec.data)
    order = [one["sentence"] - 1 for one in listed]
    assert annotated.lengths().tolist() == [len(WORDS[n]) for n in order]
    wanted = model.predict(pool.take(order)).texts("ner")
    column = annotated.text_column("ner")
    assert [column.text(n) for n in range(annotated.num_tokens)] == wanted
    text = Path("next").read_text()
    for n in order:
        kept = {"conllu": f"# text = {' '.join(WORDS[n])}", "spans": f'"id": "{WORDS[n][0]}"'}
        assert kept.get(files, "") in text

    if files == "fasta":  # in which the lines of labels have no name
        assert run(["suggest", "m", "train"]) == 1 and "records have labels already" in capsys.readouterr().err
        return
    assert run(["suggest", "m", "train", "--count", "2", "-q"]) == 0
    Path("again").write_text(capsys.readouterr().out)
    assert dcrfdsl.read_corpus("again", model.spec.data, required=["ner"]).num_sentences == 2


def test_label_studio_gets_predictions(files, capsys) -> None:
    if files == "fasta":
        assert run(["suggest", "m", "one", "--label-studio"]) == 1
        assert "not-a-segment" in capsys.readouterr().err
        return
    if files in ("crfsuite", "grmm"):  # whose data have no words
        assert run(["suggest", "m", "one", "--label-studio", "-q"]) == 1
        assert "missing-column" in capsys.readouterr().err
        return
    assert run(["suggest", "m", "train", "--label-studio", "-q"]) == 0
    tasks = json.loads(capsys.readouterr().out)
    assert len(tasks) == 4
    between, found = {"spans": "  "}.get(files, " "), {}
    for task in tasks:
        text = task["data"]["text"]
        (prediction,) = task["predictions"]
        assert prediction["model_version"] == "dcrfdsl" and "annotations" not in task
        for result in prediction["result"]:
            value = result["value"]
            assert (result["from_name"], result["to_name"], result["type"]) == ("label", "text", "labels")
            assert text[value["start"] : value["end"]] == value["text"]
        found[text] = [(one["value"]["text"], *one["value"]["labels"]) for one in prediction["result"]]
    assert found[between.join(WORDS[2])] == [("Eve", "P"), (between.join(["Ann", "Lee"]), "P")]


def test_what_it_says_and_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.dcrf").write_text("dcrf 1\ndata conll(word, ner)\n" + RULES.format(states=BIO, word="word"))
    Path("train").write_text("".join(map(lines(" "), WORDS, MARKS)))
    Path("empty").write_text("\n")
    assert run(["train", "t.dcrf", "train", "-o", "m", "-q"]) == 0
    capsys.readouterr()
    for call, code, words in (
        (
            ["train", "-o", "x", "--longest", "2"],
            0,
            ["has labels, which are not", "3 of 4 sentences are longer than 2"],
        ),
        (["train", "--longest", "1"], 1, ["4 of 4 sentences are longer than 1", "no-labelling"]),
        (["empty"], 1, ["empty-file", "no token in empty"]),
        (["train", "--by", "entrpoy"], 1, ["did you mean `entropy`?"]),
        (["train", "--diversity", "-1"], 1, ["bad-argument", "found -1.0"]),
        (["train", "--count", "0"], 2, ["--count"]),
        (["train", "-o", "train"], 1, ["output-is-input"]),
    ):
        assert run(["suggest", "m", *call]) == code
        said = capsys.readouterr().err
        assert all(part in said for part in words), said
