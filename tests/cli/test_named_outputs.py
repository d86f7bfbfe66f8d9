"""Where outputs go by `-o`, `-o -` and without it; data of several files; and from where positions count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dcrfdsl.cli import run
from dcrfdsl.model.trained_model import TrainedModel

TEMPLATE = (
    "data conll(word, tag)\nlabel tag\nclique tag: bias, word\nclique tag[-1], tag\ninfer exact\n"
    "train likelihood: optimizer = lbfgs(max_iterations = 5)\n"
)
FILES = {
    "a.dcrf": TEMPLATE,
    "data": "the D\ndog N\n\na D\ncat N\n\n",
    "more": "a D\ndog V\n\nthe D\ncat N\n\ndog N\n",
    "folder/2": "a D\ndog V\n\n",
    "folder/1": "the D\ncat N\n\ndog N\n",
    "folder/.hidden": "no data\n",
}
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name, text in FILES.items():
        Path(name).write_text(text)
    assert run(["train", "a.dcrf", "data", "-o", "a.model", "-q"]) == 0
    capsys.readouterr()
    return tmp_path


def printed(capsys: Captured, *words: str, code: int = 0) -> str:
    assert run(list(words)) == code, capsys.readouterr().err
    return capsys.readouterr().out


# outputs ------------------------------------------------------------------------------------------------------------

TAG = ("tag", "a.model", "data", "more", "-q")
TO_STDOUT = {
    "new": ("new", "linear_chain", "-q"),
    "unroll": ("unroll", "a.dcrf", "data", "-q"),
    "convert": ("convert", "data", "--from", "conll(word, tag)", "--to", "csv(word, tag)", "-q"),
    "tag": TAG,
    "tag --json": (*TAG, "--json"),
    "tag --nbest": (*TAG, "--nbest", "2"),
    "tag --pretty": (*TAG, "--pretty"),
    "tag --jobs": (*TAG, "--jobs", "2"),
}


@pytest.mark.parametrize("case", TO_STDOUT)
def test_a_file_gets_what_stdout_gets(case: str, here: Path, capsys: Captured) -> None:
    words = TO_STDOUT[case]
    expected = printed(capsys, *words)
    assert expected and printed(capsys, *words, "-o", "-") == expected
    assert not Path("-").exists()
    assert printed(capsys, *words, "-o", "out") == "" and Path("out").read_text() == expected


TO_FILES = {
    "train": ("train", "a.dcrf", "data", "-o"),
    "train --curve": ("train", "a.dcrf", "data", "-o", "b.model", "--curve"),
    "train --log": ("train", "a.dcrf", "data", "-o", "b.model", "--log"),
    "cv": ("cv", "a.dcrf", "data", "--folds", "2", "-o"),
    "report": ("report", "a.model", "data", "-o"),
    "calibrate": ("calibrate", "a.model", "data", "-o"),
    "calibrate --diagram": ("calibrate", "a.model", "data", "--diagram"),
    "export": ("export", "a.model", "-o"),
    "export --format model": ("export", "a.model", "--format", "model", "-o"),
}


@pytest.mark.parametrize("case", TO_FILES)
def test_binary_outputs_are_not_written_to_stdout(case: str, here: Path, capsys: Captured) -> None:
    assert run([*TO_FILES[case], "-"]) == 2
    out, error = capsys.readouterr()
    assert out == "" and "this is not written to stdout" in error and "`./-`" in error
    assert not Path("-").exists()


def test_a_file_may_be_called_like_stdout(here: Path) -> None:
    assert run(["train", "a.dcrf", "data", "-o", "./-", "-q"]) == 0
    assert TrainedModel.load(here / "-").num_weights > 0


def test_a_model_of_crfsuite_does_not_go_to_stdout(here: Path, capsys: Captured) -> None:
    assert run(["export", "a.model", "--format", "crfsuite", "-o", "a.crfsuite", "-q"]) == 0
    assert run(["convert", "a.crfsuite", "-o", "-"]) == 1
    assert "a model is not written to stdout" in capsys.readouterr().err
    assert not Path("a.crfsuite.model").exists()


def test_a_file_of_tags_is_there_when_all_is_tagged(here: Path, capsys: Captured) -> None:
    Path("bad").write_text("the D\n\nthe D N\n")
    Path("out").write_text("before\n")
    assert run([*TAG, "bad", "-o", "out"]) == 1 and Path("out").read_text() == "before\n"
    assert run(["tag", "a.model", "data", "-o", "data"]) == 1 and Path("data").read_text() == FILES["data"]
    assert run([*TAG, "-o", "no/out"]) == 1 and run([*TAG, "-o", "folder"]) == 1
    assert run([*TAG, "-o", "out", "--flush"]) == 1
    errors = capsys.readouterr().err
    assert errors.count("error[") == 5 and "error[output-is-input]" in errors and "`--flush` does nothing" in errors
    assert sorted(path.name for path in here.iterdir() if path.name.startswith(".")) == []


# several files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("files", [("data", "more"), ("data", "folder"), ("folder", "data")])
def test_scores_of_several_files_are_those_of_one(files: tuple[str, ...], here: Path, capsys: Captured) -> None:
    texts = [FILES[name] for name in files if name in FILES]
    inside = FILES["folder/1"] + "\n" + FILES["folder/2"]
    texts.insert(files.index("folder") if "folder" in files else len(texts), inside if "folder" in files else "")
    Path("all").write_text("\n".join(texts))
    details = ("--by-label", "--confusion", "--json", "-q")
    several = printed(capsys, "eval", "a.model", *files, *details)
    assert json.loads(several) == json.loads(printed(capsys, "eval", "a.model", "all", *details))
    assert json.loads(several)["sentences"] == 5
    several = printed(capsys, "cv", "a.dcrf", *files, "--folds", "2", "--json", "-q")
    left, right = (
        json.loads(text) for text in (several, printed(capsys, "cv", "a.dcrf", "all", "--folds", "2", "--json", "-q"))
    )
    assert left["stages"][0]["scores"] == right["stages"][0]["scores"] and left["tokens"] == right["tokens"]
    for source, target in ((files, "one"), (("all",), "two")):
        assert run(["cv", "a.dcrf", *source, "--folds", "2", "-q", "-o", target]) == 0
    assert Path("one").read_text().split() == Path("two").read_text().split()


def test_a_message_names_its_file(here: Path, capsys: Captured) -> None:
    out = printed(capsys, "eval", "a.model", "data", "more", "--errors", "9", "-q")
    assert "sentence 3, more:1" in out


def test_standard_input_is_read_once(here: Path, capsys: Captured) -> None:
    for words in (("eval", "a.model", "-", "-"), ("cv", "a.dcrf", "-", "-")):
        assert run(list(words)) == 2
        assert "can be given once only" in capsys.readouterr().err


# positions ----------------------------------------------------------------------------------------------------------


def test_positions_of_commands_count_from_one(here: Path, capsys: Captured) -> None:
    line = printed(capsys, "tag", "a.model", "data", "--json", "--clique-marginals", "-q").splitlines()[0]
    sites = [clique["sites"] for clique in json.loads(line)["cliques"]]
    assert sorted(site for both in sites for site in both) == [["tag", 1]] * 2 + [["tag", 2]] * 2
    assert [["tag", 1], ["tag", 2]] in sites
