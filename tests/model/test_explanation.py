"""Explanations of predictions: labellings, margins and contributions, against enumeration."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from model_cases import columns, trained, twin_of
from template_cases import CASES, Case, sentences

from dcrfdsl.cli import run
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model import explanation

MEMORY = Case(
    "data conll(word, y)\nlabel y\nmemory last in states(y) = y[-1] if y[-1] is not O else last[-1] initially O\n"
    "clique y: bias, word\nclique y, last: bias\n",
    sentences("POQ"),
)
KINDS = {**CASES, "a memory": MEMORY}


def questions(model, case, number):
    """(joint scores, position, label, axis) of every label at every position of a sentence; -inf: impossible."""
    joint = twin_of(model, case).joint(columns(case, case.sentences[number]))
    width = len(model.states)
    for axis in range(joint.ndim):
        name = list(model.states)[axis % width]
        if name in model.labels:
            yield joint, axis // width, name, axis


@pytest.mark.parametrize("name", KINDS)
def test_contributions_sum_to_the_difference_of_the_best_labellings(name):
    case, asked = KINDS[name], 0
    model, corpus = trained(case, scale=1.5)
    for number in range(min(4, corpus.num_sentences)):
        sentence = corpus.slice(number, number + 1)
        for joint, position, label, axis in questions(model, case, number):
            best = joint.max(axis=tuple(a for a in range(joint.ndim) if a != axis))
            if np.isfinite(best).sum() < 2:
                with pytest.raises(DcrfError, match="only possible state"):
                    model.explain(sentence, position, label=label)
                continue
            why = model.explain(sentence, position, label=label)
            states = model.states[label]
            margin = best[states.index(why.chosen)] - best[states.index(why.runner_up)]
            assert why.exact
            assert why.margin == pytest.approx(margin, abs=1e-9)
            assert sum(one.score for one in why.contributions) == pytest.approx(margin, abs=1e-9)
            assert why.chosen == model.predict(sentence).texts(label)[position]
            for labelling, state in zip(why.labellings, (why.chosen, why.runner_up), strict=True):
                codes = [model.states[v].index(labelling[v][t]) for t in range(sentence.num_tokens) for v in labelling]
                assert joint[tuple(codes)] == pytest.approx(best[states.index(state)], abs=1e-9)
                assert labelling[label][position] == state
            asked += 1
    assert asked > 2


@pytest.mark.parametrize("name", ["chain", "factorial", "skip chain", "numbers", "a view that ties weights"])
def test_contributions_are_values_times_weights_of_the_model(name):
    case = CASES[name]
    model, corpus = trained(case)
    weights = {
        (clique, feature, states): weight for clique, feature, states, weight in model.explanations.iter_weights()
    }
    why = model.explain(corpus.slice(3, 4), 1, label=model.labels[0])
    for one in why.contributions:
        both = [weights.get((one.clique, one.feature, states), 0.0) for states in one.states]
        assert one.weights == pytest.approx(both)
        assert one.score == pytest.approx(one.value * (both[0] - both[1]))


@pytest.mark.parametrize("name", ["chain", "second order", "factorial"])
def test_without_the_decisive_features_the_label_falls(name):
    case, fallen = CASES[name], 0
    for seed in range(8):
        model, corpus = trained(case, seed=seed)
        for number in range(1, 4):
            why = model.explain(corpus.slice(number, number + 1), 1, label=model.labels[0])
            if not why.decisive:
                observed = [one.score for one in why.contributions if one.feature != "bias" and one.score > 0]
                assert sum(observed) <= why.margin + 1e-9
                continue
            fallen += 1
            gain = [one.score for one in why.decisive]
            assert sum(gain) > why.margin >= sum(gain[:-1])
            left = [one for one in why.contributions if one not in why.decisive]
            assert sum(one.score for one in left) < 0
            assert why.without != why.chosen or len(model.states[why.label]) > 2 or why.changes
    assert fallen > 3


def test_memories_have_contributions():
    model, corpus = trained(MEMORY)
    why = model.explain(corpus.slice(3, 4), 0)
    assert set(why.labellings[0]) == {"y", "last"}
    assert "y, last" in {one.clique for one in why.contributions}


def test_another_state_may_be_named():
    model, corpus = trained(CASES["chain"])
    sentence = corpus.slice(2, 3)
    chosen = model.predict(sentence).texts("y")[0]
    for state in model.states["y"]:
        if state == chosen:
            with pytest.raises(DcrfError, match="is what the model chooses there"):
                model.explain(sentence, 0, against=state)
        else:
            assert model.explain(sentence, 0, against=state).runner_up == state


def test_wide_graphs_are_explained_by_messages(monkeypatch):
    monkeypatch.setattr(explanation, "largest_table", lambda settings: 1)
    model, corpus = trained(CASES["skip chain"])
    for number in range(1, corpus.num_sentences):
        why = model.explain(corpus.slice(number, number + 1), 1, label=model.labels[0])
        assert not why.exact
        assert why.margin == pytest.approx(sum(one.score for one in why.contributions), abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        ({"position": 9}, "no-such-position"),
        ({"position": 0, "label": "x"}, "no-such-label"),
        ({"position": 0, "against": "Z"}, "no-such-state"),
    ],
)
def test_wrong_questions_are_refused(arguments, slug):
    model, corpus = trained(CASES["chain"])
    with pytest.raises(DcrfError) as caught:
        model.explain(corpus.slice(1, 2), **arguments)
    assert caught.value.diagnostics[0].slug == slug


def test_a_sentence_without_a_labelling_has_no_other_state_to_ask_for():
    text = "data conll(word, y)\nlabel y in {P, Q}\nclique y: word\nforbid y is P\nforbid y is Q and word is b\n"
    model, _ = trained(Case(text, [[("a", "Q")], [("a", "Q")]]))
    with pytest.raises(DcrfError, match="no labelling satisfies the constraints of the model"):
        model.explain([("b",)], 0)


def test_one_sentence_only():
    model, corpus = trained(CASES["chain"])
    with pytest.raises(DcrfError, match="takes one sentence"):
        model.explain(corpus, 0)


# the command --------------------------------------------------------------------------------------------------------


def test_the_command_says_what_python_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, corpus = trained(CASES["chain"])
    model.save(tmp_path / "m")
    rows = CASES["chain"].sentences
    (tmp_path / "t.txt").write_text("\n\n".join("\n".join(" ".join(row) for row in sentence) for sentence in rows))
    assert run(["why", str(tmp_path / "m"), str(tmp_path / "t.txt"), "-n", "3", "--at", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    why = model.explain(corpus.slice(2, 3), 1)
    assert (answer["chosen"], answer["runner_up"], answer["position"]) == (why.chosen, why.runner_up, 2)
    assert answer["margin"] == pytest.approx(why.margin)
    assert [one["score"] for one in answer["contributions"]] == pytest.approx([one.score for one in why.contributions])
    assert run(["why", str(tmp_path / "m"), str(tmp_path / "t.txt"), "-n", "3", "--at", "2", "--top", "1"]) == 0
    shown = capsys.readouterr().out
    assert f"{why.margin:+.2f}" in shown and why.contributions[0].feature in shown
    assert run(["why", str(tmp_path / "m"), str(tmp_path / "t.txt"), "-n", "99", "--at", "2"]) == 1
    assert "no-such-sentence" in capsys.readouterr().err
    assert run(["why", str(tmp_path / "m"), str(tmp_path / "t.txt"), "--at", "99"]) == 1
    assert "no-such-position" in capsys.readouterr().err
