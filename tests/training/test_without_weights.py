"""Templates that learn nothing: they need no data, and what they say of themselves is true."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dcrfdsl
from dcrfdsl import DcrfError
from dcrfdsl.cli import run
from dcrfdsl.model import load

GIVEN = """data jsonl(word, logits: scores(tag), tag)
label tag in bioes(PER)
clique tag: offset(logits)
"""
STATES = ("O", "B-PER", "I-PER", "E-PER", "S-PER")
NOTE = "note: the template has no weights, so nothing is learned"
# the second token would rather go on with a segment that has not begun
SENTENCE = {"word": ["a", "b"], "logits": [[2.0, 1.0, 0.0, 0.0, 1.5], [0.0, 0.0, 3.0, 2.9, 0.0]]}
MODELS = {  # whatever the criterion: there is nothing for it to do
    "alone": GIVEN,
    "margins": GIVEN + "train hmsvm(loss = hamming(tag))\n",
    "stages": GIVEN + "train pseudolikelihood as one\ntrain likelihood after one:\n    prior = laplace(scale = 1)\n",
    "latent": GIVEN + "train likelihood: optimizer = sgd(epochs = 2)\n",
}


def resolved(text: str) -> dcrfdsl.Resolved:
    return dcrfdsl.load_text(text, "a.dcrf")


@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS)
def test_nothing_is_learned_with_and_without_data(text: str, tmp_path: Path) -> None:
    template = resolved(text)
    data = template.require().data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows([{**SENTENCE, "tag": ["B-PER", "E-PER"]}], data)
    alone, taught = dcrfdsl.fit(template), dcrfdsl.fit(template, corpus)
    for model in (alone, taught):
        assert repr(model.record) == "<TrainingRecord: the template has no weights, so nothing is learned>"
        assert model.num_weights == 0 and model.record.notes == (NOTE,) and not model.record.stage
        assert model.tag(SENTENCE) == ["B-PER", "E-PER"]  # 1 + 2.9 is the best of what is allowed: 2 + 0 is the next
        model.save(tmp_path / "a.model")
        assert load(tmp_path / "a.model").tag(SENTENCE) == ["B-PER", "E-PER"]
    assert (alone.record.tokens, taught.record.tokens) == (0, 2)


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (GIVEN + "clique tag[-1], tag\n", "the weights of 1 of 2 cliques are learned: `clique tag[-1], tag`", "offset"),
        (GIVEN + "clique tag: word, offset(logits)\n", "of 1 of 2 cliques are learned", "offset(COLUMN)"),
        ("data conll(word, tag)\nlabel tag\nclique tag: word\n", "1 of 1 cliques are learned: `clique tag`", "offset"),
        (GIVEN.replace("bioes(PER)", "bioes"), "the states of `tag` are learned", "label tag in {A, B}"),
    ],
)
def test_what_is_learned_needs_data(text: str, message: str, remedy: str) -> None:
    with pytest.raises(DcrfError) as raised:
        dcrfdsl.fit(resolved(text))
    (problem,) = raised.value.diagnostics
    assert problem.slug == "no-training-data" and message in problem.message and remedy in (problem.help or "")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.dcrf").write_text(GIVEN)
    Path("a.jsonl").write_text(json.dumps({**SENTENCE, "tag": ["B-PER", "E-PER"]}) + "\n")
    assert run(["train", "a.dcrf", "-o", "a.model"]) == 0
    assert NOTE in capsys.readouterr().err
    assert run(["check", "a.dcrf", "--data", "a.jsonl"]) == 0
    assert "none: there are no weights to learn" in capsys.readouterr().out
    assert run(["train", "a.dcrf", "-o", "b.model", "--from", "a.model"]) == 1
    assert "idle-start" in capsys.readouterr().err
    assert run(["train", "a.dcrf", "-o", "b.model", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["weights"] == 0 and "objective" not in summary
    assert run(["show", "a.model"]) == 0
    shown = capsys.readouterr()
    assert f"0 weights; {NOTE}" in shown.err
    assert "offset(logits)" in shown.out and "# states of `tag`: B-PER, I-PER, E-PER, S-PER, O" in shown.out
    assert run(["check", "a.dcrf"]) == 0
    checked = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["weights", "0"] in checked and ["tag", "5", "5", "0"] in checked
    assert ["scores", "of", "`tag`:", "B-PER,", "I-PER,", "E-PER,", "S-PER,", "O"] in checked
    assert run(["train", "a.dcrf", "-o", "d.model", "--dev", "a.jsonl"]) == 0
    assert "dev segments(tag).f1 100.00 %" in capsys.readouterr().err
    assert run(["train", "a.dcrf", "-o", "d.model", "--dev", "a.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dev"] == 1.0
    assert run(["why", "a.model", "a.jsonl", "--at", "1"]) == 0
    assert "given logits" in capsys.readouterr().out
    Path("empty.jsonl").write_text("")
    assert run(["tag", "a.model", "empty.jsonl"]) == 0
    assert capsys.readouterr() == ("", "note: there is no token in empty.jsonl, so nothing is tagged\n")
    assert run(["eval", "a.model", "a.jsonl", "--json"]) == 0
    assert '"segments(tag).f1"' in capsys.readouterr().out
    assert run(["train", "a.dcrf", "-o", "c.model", "--memory", "1GB"]) == 2
    Path("b.dcrf").write_text(GIVEN + "clique tag[-1], tag\n")
    assert run(["train", "b.dcrf", "-o", "c.model"]) == 1
    assert "no-training-data" in capsys.readouterr().err and not Path("c.model").exists()


def test_marginals_are_those_of_the_scores() -> None:
    text = "data jsonl(logits: scores(tag), tag)\nlabel tag in {A, B, C}\nclique tag: offset(logits)\n"
    scores = [[0.5, -1.0, 2.0], [0.0, -np.inf, 1.0]]
    found = dcrfdsl.fit(resolved(text)).marginals({"logits": scores})
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert np.allclose([[one[state] for state in "ABC"] for one in found], expected)


@pytest.mark.parametrize("more", ["", "clique tag[-1], tag\n"])
def test_a_gold_label_that_is_impossible(more: str) -> None:
    text = f"data jsonl(logits: scores(tag), tag)\nlabel tag in {{A, B}}\nclique tag: offset(logits)\n{more}"
    template = resolved(text)
    data = template.require().data
    assert data is not None
    rows = [
        {"logits": [[0.0, 1.0], [0.0, -np.inf]], "tag": ["A", "A"]},
        {"logits": [[-np.inf, 1.0], [0.0, -np.inf]], "tag": ["B", "B"]},
    ]
    dcrfdsl.fit(template, dcrfdsl.corpus_from_rows(rows[:1], data))
    with pytest.raises(DcrfError) as raised:
        dcrfdsl.fit(template, dcrfdsl.corpus_from_rows(rows, data))
    (problem,) = raised.value.diagnostics
    assert problem.slug == "impossible-score" and "1 place (line 2)" in problem.message
    assert problem.location == "<rows>:2"
