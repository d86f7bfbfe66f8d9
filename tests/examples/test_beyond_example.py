"""`examples/beyond`: its templates, the columns that it adds, the arithmetic of its peers, and quick runs."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from helpers import ROOT, example_modules

from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "beyond"

columns, peers, run = example_modules(FOLDER, "columns", "peers", "run")

FRAGMENTS = ("token.dcrf", "opinion.dcrf")  # lists of features that the other templates use
TEMPLATES = sorted(path.name for path in FOLDER.glob("*.dcrf"))
WORDS = {
    "DT": ("the", "this", "a", "every"),
    "NN": ("dog", "cat", "house", "tree", "road", "town", "child", "door"),
    "VBZ": ("sees", "likes", "finds", "takes", "keeps", "knows"),
    "IN": ("in", "on", "by", "near"),
    "NP": ("Ana", "Paz", "Oslo", "Lima"),
}
ORDER = (("DT", "B-NP"), ("NN", "I-NP"), ("VBZ", "B-VP"), ("IN", "B-PP"), ("DT", "B-NP"), ("NN", "I-NP"))
NAMES = {"Ana": "B-PER", "Paz": "B-PER", "Oslo": "B-LOC", "Lima": "B-LOC"}


def chunks(count: int, seed: int) -> list[list[list[str]]]:
    rng = random.Random(seed)
    return [[[rng.choice(WORDS[pos]), pos, chunk] for pos, chunk in ORDER[: rng.choice((3, 6))]] for _ in range(count)]


def names(count: int, seed: int) -> list[list[list[str]]]:
    rng = random.Random(seed)
    found = []
    for rows in chunks(count, seed):
        name = rng.choice(list(NAMES))
        found.append([[name, "NP", NAMES[name]], *([word, pos, "O"] for word, pos, _ in rows)])
    return found


@pytest.fixture
def few_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run.word_clusters.__globals__, "COARSE", 5)


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_templates_are_in_the_canonical_layout_and_check_clean(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(FOLDER / name)]) == 0
    if name in FRAGMENTS:
        return
    for path in FOLDER.glob("*.dcrf"):
        shutil.copyfile(path, tmp_path / path.name)
    for lexicon in ("clusters.txt", "lexicon.txt"):
        (tmp_path / lexicon).write_text("dog\taaab\n", encoding="utf-8")
    assert dcrfdsl_command(["check", str(tmp_path / name), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_every_template_is_used() -> None:
    models = {template for task in run.TASKS.values() for template in task.models.values()}
    assert models | {*FRAGMENTS, "pos.dcrf"} == set(TEMPLATES)
    assert {run.VOTES, *run.VOTERS} <= set(run.TASKS["chunks"].models)


def test_ends_are_marked() -> None:
    rows = [["w", label] for label in ("B-NP", "B-NP", "I-NP", "I-NP", "O", "B-VP", "O", "B-PP", "I-PP")]
    found = [row[-1] for row in columns.with_ends([rows])[0]]
    assert found == ["S-NP", "B-NP", "I-NP", "E-NP", "O", "S-VP", "O", "B-PP", "E-PP"]


def test_a_segment_begins_with_its_beginning() -> None:
    labels = ["I-LOC", "I-LOC", "O", "I-PER", "B-LOC", "I-PER", "I-PER"]
    found = [row[-1] for row in columns.legal([[["w", label] for label in labels]])[0]]
    assert found == ["B-LOC", "I-LOC", "O", "B-PER", "B-LOC", "B-PER", "I-PER"]
    assert peers.spans_of(found) == peers.spans_of(labels)


def test_neighbours_of_the_same_word_are_gathered_within_a_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "SPAN", 1)
    texts = ("In Oslo now", "Oslo is", "far", "of Oslo")
    sentences = [[[word, "P", "O"] for word in text.split()] for text in texts]
    found = [[row[2] for row in rows] for rows in columns.with_neighbours(sentences)]
    assert found == [["-", ">is", "-"], ["<in >now", "-"], ["-"], ["-", "-"]]
    assert all(row[:2] + row[3:] == own for a, b in zip(columns.with_neighbours(sentences), sentences, strict=True)
               for row, own in zip(a, b, strict=True))  # fmt: skip


def test_a_lexicon_keeps_the_first_line_of_a_word() -> None:
    assert sorted(run.tags_of_words("plan NN VB\nred JJ\nplan X\nalone\n").splitlines()) == ["plan\tNN|VB", "red\tJJ"]


def test_a_tag_without_a_tagger_is_the_part_of_speech(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(columns.text_of(chunks(5, 1)), encoding="utf-8")
    assert columns.sentences_of(file) == chunks(5, 1)
    tagged = columns.with_tags(chunks(5, 1), None, 1)
    assert [[word, pos, pos, chunk] for word, pos, chunk in chunks(5, 1)[0]] == tagged[0]


def test_segments_are_those_of_conlleval() -> None:
    spans = peers.spans_of(["I-NP", "I-NP", "B-NP", "O", "B-VP", "I-NP", "B-PP"])
    assert spans == {(0, 2, "NP"), (2, 3, "NP"), (4, 5, "VP"), (5, 6, "NP"), (6, 7, "PP")}
    gold, found = [["B-A", "I-A", "O", "B-B"]], [["B-A", "O", "O", "B-B"]]
    assert peers.f1_of(gold, found) == 50.0
    assert peers.f1_of(gold, gold) == 100.0


def test_attributes_look_at_five_tokens() -> None:
    rows = [["The", "DT", "O"], ["dogs", "NNS", "O"], ["barked", "VBD", "O"]]
    of_first = peers.attributes(rows)[0]
    assert {"w-1=<>", "w0=The", "w0|1=The|dogs", "p2=VBD", "shape=Xx", "suffix=he", "lower=the"} <= set(of_first)
    assert not any(one.startswith("p") and not one.startswith("prefix") for one in peers.attributes([["A", "X"]])[0])


def test_treebanks_are_read_by_layer_and_written(tmp_path: Path) -> None:
    file = tmp_path / "a.conllu"
    file.write_text(
        "# x\n1-2\tIm\t_\n1\tIn\tin\tADP\tIN\t_\t0\n2\tdem\tdem\tDET\tDT\tCase=Dat\t0\n\n", encoding="utf-8"
    )
    assert peers.treebank_rows(file, "xpos") == [[["In", "IN"], ["dem", "DT"]]]
    whole = peers.treebank_rows(file, "all")
    assert whole == [[["In", "ADP\tIN\t_"], ["dem", "DET\tDT\tCase=Dat"]]]
    assert peers.conllu_of(whole).splitlines()[1].split("\t")[:6] == ["2", "dem", "_", "DET", "DT", "Case=Dat"]


def test_what_the_files_do_not_allow_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["chunks", "--train", "a", "--out", str(tmp_path / "a.json")]
    for wrong, says in (
        ([], "--test or --held-out"),
        (["--test", "b", "--held-out", "3"], "--test or --held-out"),
        (["--test", "b", "--tagged", "c"], "go together"),
        (["--test", "b", "--model", "votes"], "no model 'votes' with these files: expected alone"),
    ):
        with pytest.raises(SystemExit):
            run.main([*given, *wrong])
        assert says in capsys.readouterr().err
    with pytest.raises(SystemExit, match="No such file"):
        run.main([*given, "--test", "b"])
    with pytest.raises(SystemExit):
        peers.main(["--out", str(tmp_path / "a.json")])


@pytest.mark.long
@pytest.mark.usefixtures("few_clusters")
def test_a_quick_run_of_the_chunks_votes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, count in (("train", 60), ("test", 20)):
        (tmp_path / name).write_text(columns.text_of(chunks(count, count)), encoding="utf-8")
    (tmp_path / "wsj").write_text(columns.text_of([[row[:2] for row in rows] for rows in chunks(60, 3)]))
    (tmp_path / "lexicon").write_text("dog NN VB\nsees VBZ\n")
    out = tmp_path / "out.json"
    files = [f"--{name}={tmp_path / name}" for name in ("train", "test", "lexicon")]
    command = ["chunks", *files, f"--tagged={tmp_path / 'wsj'}", "--quick", "--threads", "1", "--out", str(out)]
    assert run.main(command) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [one["model"] for one in result["trainings"]] == list(run.TASKS["chunks"].models)
    assert all(rule["f1"] == 100.0 for one in result["trainings"] for rule in one["rules"].values())
    assert "second tagger" in capsys.readouterr().out
    trainings = out.with_suffix(".jsonl").read_text(encoding="utf-8")
    run.main(command)
    assert out.with_suffix(".jsonl").read_text(encoding="utf-8") == trainings  # nothing is trained again


@pytest.mark.long
@pytest.mark.usefixtures("few_clusters")
@pytest.mark.parametrize(("task", "sentences"), [("phrases", chunks), ("names", names)])
def test_a_quick_run_on_held_out_sentences(task: str, sentences: object, tmp_path: Path) -> None:
    assert callable(sentences)
    (tmp_path / "train").write_text(columns.text_of(sentences(80, 1)), encoding="utf-8")
    out = tmp_path / "out.json"
    given = [task, "--train", str(tmp_path / "train"), "--held-out", "20", "--quick", "--threads", "1"]
    assert run.main([*given, "--out", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["complete"] and len(result["trainings"]) == len(run.TASKS[task].models)
    assert all(one["rules"]["joint"]["f1"] == 100.0 for one in result["trainings"])


@pytest.mark.long
def test_a_quick_run_of_the_peers(tmp_path: Path) -> None:
    pytest.importorskip("pycrfsuite")
    pytest.importorskip("sklearn")
    for name, count in (("train", 60), ("test", 20)):
        (tmp_path / name).write_text(columns.text_of(chunks(count, count)), encoding="utf-8")
    out = tmp_path / "out.json"
    given = ["--chunks", str(tmp_path / "train"), str(tmp_path / "test"), "--quick", "--out", str(out)]
    assert peers.main(given) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [one["peer"] for one in result["trainings"]] == ["crfsuite", "sklearn"]
    assert all(one["scores"]["tokens"] > 90.0 for one in result["trainings"])
