"""By which rule labels are decoded where nobody says it: by the one that the criterion trains for.

A locally normalised model is the product of its pieces' distributions: `local`. Others are joint models, but for the
marginal risk, which is one of single labels.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from template_cases import CASES

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.inference import resolve_decode_rule
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics import to_text
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.implied_settings import decode_rule
from dcrfdsl.training.pipeline import fit

TWO = """data conll(word, pos, chunk)
label pos
label chunk
clique pos as words: word
clique chunk as spans: word
clique pos[-1], pos as moves
clique chunk[-1], chunk as turns
clique pos, chunk as both
"""
RULES = [  # what a template ends with, and the rule
    ("", "joint"),
    ("train likelihood", "joint"),
    ("train memm", "local"),
    ("train memm(order = reverse)", "local"),
    ("train memm(by = slice)", "local"),
    ("train bidirectional", "local"),
    ("train piecewise", "joint"),  # each normalised over all its variables: factors of one joint model
    ("train pseudolikelihood", "joint"),
    ("train pwpl", "joint"),
    ("train marginal", "marginal"),
    ("train mce: loss = label(pos)", "joint"),  # by the best labelling that agrees and the best that does not
    ("train perceptron", "joint"),
    ("train memm as first\ntrain rescale after first", "joint"),  # factors of one joint model are learned
    ("train memm as first\ntrain likelihood after first", "joint"),
    ("train likelihood as first\ntrain memm after first", "local"),
    ("decode joint\ntrain memm", "joint"),
    ("decode local\ntrain pseudolikelihood", "local"),
    ("decode joint\ntrain marginal", "joint"),
    ("train memm: decode = joint", "joint"),
    ("decode joint\ntrain memm: decode = marginal", "marginal"),
    (
        "piece a over pos: words, moves\npiece b over chunk: spans, turns, both\ntrain piecewise(a, b)",
        "local",
    ),  # chunk given earlier ones and the tag
    (
        "piece a over pos: words, moves[1]\npiece b over chunk: spans, turns[1], both\ntrain piecewise(a, b)",
        "local",
    ),  # given later ones
    (
        "piece a over pos: words, moves, both\npiece b over chunk: spans, turns, both\ntrain piecewise(a, b)",
        "joint",
    ),  # each given the other
    (
        "piece a over pos: words, moves\npiece b over chunk: spans, turns[1], both\ntrain piecewise(a, b)",
        "joint",
    ),  # one from the left, one from the right
    ("piece a over pos: words, moves\npiece b over chunk: spans, turns\ntrain piecewise(a, b)", "joint"),  # not all
    (
        "piece a over pos[-1], pos: words, moves, both\npiece b over chunk: spans, turns\ntrain piecewise(a, b)",
        "joint",
    ),  # over two positions
]


@pytest.mark.parametrize(("end", "rule"), RULES, ids=[end.replace("\n", "; ") or "nothing" for end, _ in RULES])
def test_the_rule_is_the_one_that_was_trained_for(end: str, rule: str) -> None:
    spec = load_text(TWO + end + "\n").require()
    assert decode_rule(spec).name == rule
    assert (decode_rule(spec).trained is None) == ("decode" in end or rule == "joint")


@pytest.mark.parametrize(("end", "rule"), [("train memm", "local"), ("train likelihood", "joint")])
def test_the_model_keeps_its_rule(end: str, rule: str, tmp_path: Path) -> None:
    case = CASES["chain"]
    model = fit(load_text(f"{case.text}\n{end}\n"), case.corpus(), dev=case.corpus(), threads=1)
    model.save(tmp_path / "a.model")
    again = TrainedModel.load(tmp_path / "a.model")
    assert (model.decode, again.decode, again.record.decode) == (rule, rule, rule)
    corpus, label = case.corpus(), again.labels[0]
    np.testing.assert_array_equal(
        again.predict(corpus, threads=1).codes[label], again.predict(corpus, threads=1, decode=rule).codes[label]
    )
    first = next(iter(again.evaluate(corpus, threads=1, decode=rule).values()))
    assert again.record.curve[-1].dev == pytest.approx(first)  # the score while training is by the same rule


def test_an_older_file_says_joint_in_its_template() -> None:
    """Files that were written before the rule was kept have their statement in full."""
    case = CASES["chain"]
    model = fit(load_text(f"{case.text}\ndecode joint\ntrain memm\n"), case.corpus(), threads=1)
    older = model.with_weights(model.weights, dataclasses.replace(model.record, decode=""))
    assert older.decode == "joint"


def test_no_rule_is_written_where_none_was() -> None:
    for end in ("train memm", "decode joint\ntrain memm"):
        spec = load_text(TWO + end + "\n").require()
        assert ("decode" in to_text(spec)) == ("decode" in end)
        assert load_text(to_text(spec)).require() == spec


def test_what_does_not_fit_is_decoded_jointly(monkeypatch: pytest.MonkeyPatch) -> None:
    from dcrfdsl.inference.decoding import local_decoding

    case = CASES["chain"]
    model = fit(load_text(f"{case.text}\ntrain memm\n"), case.corpus(), threads=1)
    monkeypatch.setattr(local_decoding, "MOST_SEARCHED", 1)
    assert resolve_decode_rule(model.spec, model.graph, "memm") == "joint"


def test_a_rule_that_does_not_exist() -> None:
    case = CASES["chain"]
    model = fit(load_text(f"{case.text}\ntrain memm\n"), case.corpus(), threads=1)
    with pytest.raises(DcrfError, match="`viterbi` is not a way to decode"):
        model.predict(case.corpus(), decode="viterbi")


# settings -------------------------------------------------------------------------------------------------------------


def test_a_checkpoint_is_no_setting() -> None:
    (found,) = check(load_text(TWO + "train likelihood: checkpoint = 60\n"))
    assert (found.slug, found.severity) == ("unknown-setting", "error")
    assert found.message == "`checkpoint` is not a setting any more"
    assert found.help is not None and "`--checkpoint SECONDS`" in found.help and "`--resume`" in found.help


def test_a_model_file_that_has_one_can_be_used(tmp_path: Path) -> None:
    from dcrfdsl.syntax import Setting
    from dcrfdsl.syntax.nodes import Number

    case = CASES["chain"]
    model = fit(load_text(f"{case.text}\ntrain memm\n"), case.corpus(), threads=1)
    stage = model.spec.stages[0]
    old = (Setting(key=("checkpoint",), value=Number(value=60)),)
    call = stage.criterion.model_copy(update={"settings": old})
    spec = model.spec.model_copy(update={"stages": (stage.model_copy(update={"criterion": call}),)})
    model = dataclasses.replace(model, spec=spec)
    model.save(tmp_path / "a.model")
    assert TrainedModel.load(tmp_path / "a.model").predict(case.corpus(), threads=1).codes


@pytest.mark.parametrize("nota", ["above(0.3, 5)", "above(0.3, after = 5)", "above(threshold = 0.3, after = 5)"])
def test_the_cases_of_nota_may_be_given_by_place(nota: str) -> None:
    from dcrfdsl.semantics.settings.settings_reading import stage_settings

    spec = load_text(TWO + f"train piecewise: nota = {nota}\n").require()
    assert stage_settings(spec).criterion.nota.model_dump() == {"reach": "all", "threshold": 0.3, "after": 5}  # type: ignore[attr-defined]


@pytest.mark.parametrize("nota", ["above(0.3, 5, 6)", "above(after = 5, 0.3)", "sampled(0.1, 2)", "all(0.3)"])
def test_nothing_else_is_given_by_place(nota: str) -> None:
    assert "bad-argument" in [found.slug for found in check(load_text(TWO + f"train piecewise: nota = {nota}\n"))]
