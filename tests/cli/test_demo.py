"""`dcrfdsl demo`: its data, the model that it compares with, its picture, and a short run of the whole."""

from __future__ import annotations

import importlib.util
import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from dcrfdsl.cli import demo_command as demo, run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_template, load_text
from dcrfdsl.syntax import resource_path

SPEC = load_template(Path(__file__).parents[2] / "templates" / "morphology.dcrf").require()
LABELS = ("upos", "case", "number", "poss")
Captured = pytest.CaptureFixture[str]


def test_separate_chains_are_the_model_without_ties() -> None:
    chains = demo.separate_chains(SPEC)
    assert chains.labels == SPEC.labels and chains.data == SPEC.data
    scopes = [[site.variable for site in clique.sites] for clique in chains.cliques]
    assert sorted(scopes) == sorted([label] * n for label in LABELS for n in (1, 2))


def test_the_picture_has_every_variable_and_every_tie() -> None:
    picture = demo.drawn(SPEC)
    assert re.findall(r"\w+\[\d\]", picture) == [f"{label}[{t}]" for label in LABELS for t in range(3)]
    assert picture.count(" --- ") == 8
    assert picture.endswith("upos - case, upos - number, upos - poss, case - number, poss - case")


def test_without_the_wheel_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.files", absent)
    assert run(["demo"]) == 1
    assert "pip install -e '.[demo]'" in capsys.readouterr().err


def test_a_slice_is_as_if_only_its_sentences_had_been_read() -> None:
    data = load_text("dcrf 1\ndata conll(word, tag)\nlabel tag\nclique tag: word\n").spec.data
    assert data is not None
    rows = [[("a", "X"), ("b", "Y")], [("c", "Z")], [("b", "Z"), ("d", "Y"), ("b", "Z")]]
    part = corpus_from_rows(rows, data).slice(1, 3)
    alone = corpus_from_rows(rows[1:], data)
    assert part.sentence_off.tolist() == alone.sentence_off.tolist() == [0, 1, 4]
    for name in ("word", "tag"):
        own, expected = part.text_column(name), alone.text_column(name)
        assert list(own.values) == list(expected.values)
        assert own.codes.tolist() == expected.codes.tolist()


def test_a_short_run_shows_both_models_and_a_tagged_sentence(capsys: Captured) -> None:
    if importlib.util.find_spec("turkish_treebanks") is None:
        pytest.skip("needs the extra `demo`")
    assert run(["demo", "--sentences", "3", "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    opening, *_ = err.partition("\ntraining:")
    assert opening.startswith("data: web.conllu of the package turkish-treebanks") and "warning" not in opening
    named = re.findall(r"`dcrfdsl new (\w+)`", opening)  # what a wheel has, too
    assert named == ["morphology"] and resource_path("templates", f"{named[0]}.dcrf").is_file()
    scores = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.startswith(("accuracy", "joint"))}
    assert list(scores) == [*(f"accuracy({label})" for label in LABELS), "joint_accuracy"]
    assert all(0 < float(value) < 100 for row in scores.values() for value in row)
    assert re.search(r"word +upos +case +number +poss", out)
