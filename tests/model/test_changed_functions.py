"""A model that is loaded with another text of a feature function says so: in Python, and in commands."""

from __future__ import annotations

import pickle
import runpy
import warnings
from pathlib import Path

import pytest

from dcrfdsl import DcrfWarning, RegisteredFeature, corpus_from_rows, fit, load, load_template
from dcrfdsl.cli import run

TEMPLATE = "dcrf 1\ndata conll(word, y)\nlabel y in {P, Q}\nclique y: bias, ends(word)\n"
OWN = "from dcrfdsl import feature\n\n@feature\ndef ends(word):\n    return word[-2:]\n"
SAME = {
    "as it was": OWN,
    "other lines around it": OWN.replace("from", "# mine\nfrom") + "\n\n@feature\ndef idle(word):\n    return word\n",
    "another decorator": OWN.replace("from dcrfdsl import feature", "import dcrfdsl").replace("@f", "@dcrfdsl.f"),
    "blanks at ends of lines": OWN.replace("\n", "  \n"),
}
OTHER = OWN.replace("[-2:]", "[:2]")


def own(folder: Path, text: str) -> dict[str, RegisteredFeature]:
    (folder / "own.py").write_text(text)
    return {"ends": runpy.run_path(str(folder / "own.py"))["ends"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.dcrf").write_text(TEMPLATE)
    (tmp_path / "a.txt").write_text("ab P\nba Q\n\nbb Q\n")
    template = load_template(tmp_path / "t.dcrf")
    corpus = corpus_from_rows([[("ab", "P"), ("ba", "Q")], [("bb", "Q")]], template.require().data)
    fit(template, corpus, registered=own(tmp_path, OWN)).save(tmp_path / "a.model")
    return tmp_path


def test_another_text_is_told_wherever_the_model_goes(folder: Path) -> None:
    other = own(folder, OTHER)
    with pytest.warns(DcrfWarning, match="the feature function `ends` is not the one that") as told:
        model = load(folder / "a.model", registered=other)
    assert told[0].filename == __file__
    model.save(folder / "again.model")
    with pytest.warns(DcrfWarning, match="changed-feature-function"):
        load(folder / "again.model", registered=other)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DcrfWarning)
        pickle.dumps(model.extractor.metadata())
        load(folder / "again.model", registered=own(folder, OWN))


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_the_same_text_is_not_told(text: str, folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DcrfWarning)
        load(folder / "a.model", registered=own(folder, text))


def test_nothing_is_told_of_functions_without_a_text(folder: Path) -> None:
    scope: dict = {}
    exec("def ends(word):\n    return word[:2]", scope)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DcrfWarning)
        load(folder / "a.model", registered={"ends": RegisteredFeature("ends", scope["ends"])})


@pytest.mark.parametrize("command", ["tag", "eval"])
def test_commands_say_it(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = [command, str(folder / "a.model"), str(folder / "a.txt"), "--features", str(folder / "own.py"), "-q"]
    assert run(line) == 0 and "warning" not in capsys.readouterr().err
    own(folder, OTHER)
    assert run(line) == 0
    told = capsys.readouterr().err
    assert told.startswith("warning[changed-feature-function]: the text of the feature function `ends` is not the one")
    assert "= help: " in told
