"""Outputs that are inputs are refused by every command, and training removes only what it wrote itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dcrfdsl.cli import run
from dcrfdsl.cli.command_files import Output, refuse_clash
from dcrfdsl.foundation import DcrfError

TEMPLATE = "data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y\ninfer exact\ntrain likelihood\n"
USING = (
    'use "t.dcrf"\nlexicon L = "l.txt"\nlatent h in "states.txt"\nclique y: word in L\nclique h, y\nclique h: word\n'
    "train likelihood: restarts = 2\n"
)
TEXT = "a P\nb Q\n\nb P\na P\n\na Q\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("model")
    (folder / "t.dcrf").write_text(TEMPLATE)
    (folder / "d.txt").write_text(TEXT)
    arguments = ["train", folder / "t.dcrf", folder / "d.txt", "-o", folder / "m.model", "-q"]
    assert run([str(argument) for argument in arguments]) == 0
    return (folder / "m.model").read_bytes()


@pytest.fixture
def here(model: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.dcrf").write_text(TEMPLATE)
    (tmp_path / "using.dcrf").write_text(USING)
    (tmp_path / "l.txt").write_text("a\n")
    (tmp_path / "states.txt").write_text("S\nT\n")
    (tmp_path / "d.txt").write_text(TEXT)
    (tmp_path / "gold.txt").write_text(TEXT)
    (tmp_path / "m.model").write_bytes(model)
    (tmp_path / "q.py").write_text("import dcrfdsl\n\n\n@dcrfdsl.feature\ndef f(word):\n    return word\n")
    (tmp_path / "d.tsv").write_text("word\ty\na\tP\n")
    (tmp_path / "tagger.npz").write_text(TEXT)
    for name in ("data", "n.parts"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(TEXT)
        (tmp_path / name / "b.txt").write_text(TEXT)
    for name in ("n.checkpoint", "n.parts.txt", "page-12.txt"):
        (tmp_path / name).write_text(TEXT)
    os.link("d.txt", "hard.txt")
    os.symlink("d.txt", "soft.txt")
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


CLASHES = [
    "train t.dcrf d.txt -o d.txt",
    "train t.dcrf d.txt -o hard.txt",
    "train t.dcrf d.txt -o soft.txt",
    "train t.dcrf soft.txt -o x --log d.txt",
    "train t.dcrf data -o data/a.txt",
    "train t.dcrf data -o x --curve data/b.txt",
    "train t.dcrf d.txt -o x --dev gold.txt --log gold.txt",
    "train t.dcrf d.txt -o x --features q.py --log q.py",
    "train t.dcrf d.txt -o q.py --features q.py",
    "train t.dcrf d.txt -o x --from m.model --log m.model",
    "train using.dcrf d.txt -o l.txt",
    "train using.dcrf d.txt -o t.dcrf",
    "train using.dcrf d.txt -o states.txt",
    "train t.dcrf n.parts -o n",
    "train t.dcrf d.txt -o n --memory 2GB --dev n.parts",
    "train t.dcrf n.checkpoint -o n",
    "train t.dcrf d.txt -o n --dev n.checkpoint",
    "train t.dcrf d.txt -o n --from n.checkpoint --resume",
    "cv using.dcrf d.txt -o l.txt",
    "cv t.dcrf d.txt -o q.py --features q.py",
    "unroll t.dcrf d.txt -o d.txt",
    "unroll t.dcrf d.txt -o t.dcrf",
    "unroll using.dcrf d.txt -o l.txt",
    "unroll t.dcrf d.txt -o q.py --features q.py",
    "report m.model gold.txt -o gold.txt",
    "report m.model gold.txt -o m.model",
    "report m.model gold.txt -o q.py --features q.py",
    "report m.model page-12.txt -o page.txt",
    "export m.model --format model --dev gold.txt -o gold.txt",
    "export m.model --format model --features q.py -o q.py",
    "export m.model --features q.py -o q.py",
    "export m.model --format crfsuite -o m.model",
    "export m.model --dev tagger.npz -o tagger.py",
    "export m.model --dev tagger.npz -o .",
    "calibrate m.model gold.txt -o gold.txt",
    "calibrate m.model gold.txt -o x --features q.py --diagram q.py",
    "calibrate m.model gold.txt --diagram m.model",
    "convert d.tsv --to jsonl -o d.tsv",
    "convert d.txt --template t.dcrf --to jsonl -o t.dcrf",
    "convert l.txt --from crfpp --columns word,y -o l.txt",
]


@pytest.mark.parametrize("line", CLASHES)
def test_an_output_that_is_an_input_is_refused(line: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(here)
    assert run(line.split()) == 1
    err = capsys.readouterr().err
    assert err.startswith("error[output-is-input]: ") and err.count("error[") == 1
    assert contents(here) == before


TWICE = [
    "train t.dcrf d.txt -o x --log x.checkpoint",
    "train t.dcrf d.txt -o x --curve ./x",
    "train t.dcrf data -o x --log x.parts",
    "train t.dcrf data -o x --cache x",
    "calibrate m.model gold.txt -o x --diagram x",
]


@pytest.mark.parametrize("line", TWICE)
def test_two_outputs_are_two_files(line: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(here)
    assert run(line.split()) == 2
    assert "name one file twice" in capsys.readouterr().err
    assert contents(here) == before


def test_names_that_no_file_has_clash_with_nothing() -> None:
    refuse_clash([Output("-o", "new"), Output("--log", None)], ["-", None, "", "not there", "a\0b"])
    with pytest.raises(DcrfError, match="is an input of this command"):
        refuse_clash([Output("-o", ".")], ["."])


def test_a_model_may_be_trained_on_from_itself(here: Path) -> None:
    assert run(["train", "t.dcrf", "d.txt", "-o", "m.model", "--from", "m.model", "-q"]) == 0
    assert run(["export", "m.model", "--format", "model", "-o", "m.model", "-q"]) == 0


def test_training_leaves_what_it_did_not_write(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(here / "n.parts")
    (here / "n.checkpoint").unlink()
    assert run(["train", "t.dcrf", "d.txt", "gold.txt", "-o", "n", "-q"]) == 0
    assert run(["train", "t.dcrf", "n.parts/a.txt", "n.parts/b.txt", "-o", "n", "-q"]) == 0
    assert run(["train", "t.dcrf", "d.txt", "gold.txt", "-o", "other", "-q"]) == 0
    assert contents(here / "n.parts") == before
    assert {path.name for path in (here / "n.parts").iterdir()} == {"a.txt", "b.txt"}
    assert not (here / "other.parts").exists()
    assert not capsys.readouterr().err


@pytest.mark.parametrize("kind", ["text", "folder", "model", "empty"])
def test_a_file_in_the_place_of_the_checkpoint_is_refused(
    kind: str, here: Path, model: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    place = here / "x.checkpoint"
    if kind == "folder":
        place.mkdir()
    else:
        place.write_bytes({"text": b"precious\n", "model": model, "empty": b""}[kind])
    before = contents(here)
    assert run(["train", "t.dcrf", "d.txt", "-o", "x", "--checkpoint", "0", "-q"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error[file-exists]: `x.checkpoint` is no checkpoint") and err.count("error[") == 1
    assert contents(here) == before and place.exists() and not (here / "x").exists()


def test_a_name_that_is_empty_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(here)
    for options in ("-o x --cache", "-o x --log", "-o", "-o x --dev", "-o x --from", "-o x --features"):
        assert run(["train", "t.dcrf", "d.txt", *options.split(), ""]) == 2, options
        assert "the name is empty" in capsys.readouterr().err
    for line in ("train t.dcrf d.txt  -o x", "check t.dcrf --data ", "export m.model -o ", "convert l.txt --data "):
        assert run(line.split(" ")) == 2, line
        assert "the name is empty" in capsys.readouterr().err
    assert contents(here) == before
