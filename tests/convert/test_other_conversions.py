"""GRMM's models and sklearn-crfsuite's parameters converted, and the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dcrfdsl.cli import run
from dcrfdsl.convert import convert_template
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import parse
from dcrfdsl.training import assemble

Captured = pytest.CaptureFixture[str]

# GRMM -----------------------------------------------------------------------------------------------------------------

FACTORIAL = """new ACRF.BigramTemplate (0)
new ACRF.BigramTemplate (1)  // chunks
new ACRF.PairwiseFactorTemplate (0,1)
"""
ROWS = [
    [("DT", "B", "W=the LOW"), ("NN", "I", "W=baker LOW"), ("VB", "O", "W=kneads LOW")],
    [("NN", "B", "W=Flour CAP"), ("VB", "O", "W=feeds LOW")],
]


def seen(rows: list, sites: Callable[[list, int], tuple | None]) -> int:
    """How many pairs of a feature and an assignment the gold labels show."""
    pairs = {
        (assignment, feature)
        for sentence in rows
        for t in range(len(sentence))
        if (assignment := sites(sentence, t)) is not None
        for feature in sentence[t][2].split()
    }
    return len(pairs)


def test_a_factorial_model_of_grmm_has_the_weights_of_its_templates() -> None:
    made = convert_template(FACTORIAL, columns=["pos", "chunk", "marks"])
    assert made.tool == "grmm" and made.complete and not made.remarks
    assert "data grmm(pos, chunk, marks: bag)\n" in made.template
    spec = load_text(made.template).require()
    count = assemble(spec, corpus_from_rows(ROWS, spec.data), {}, {}).learn_parameters()[0].num_weights
    defaults = 3 * 3 + 3 * 3 + 3 * 3  # three parts of speech, three chunks
    features = (
        seen(ROWS, lambda s, t: (s[t][0], s[t + 1][0]) if t + 1 < len(s) else None)
        + seen(ROWS, lambda s, t: (s[t][1], s[t + 1][1]) if t + 1 < len(s) else None)
        + seen(ROWS, lambda s, t: (s[t][0], s[t][1]))
    )
    assert count == defaults + features


@pytest.mark.parametrize(
    ("line", "slug"),
    [
        ("new ACRF.UnigramTemplate (0)", None),
        ("new cc.mallet.grmm.learning.ACRF.BigramTemplate(0);", None),
        ("new SimilarTokensTemplate (0)", "not-converted"),
        ("new ACRF.PairwiseFactorTemplate (0)", "bad-foreign-line"),
        ("new ACRF.PairwiseFactorTemplate (1,1)", "not-converted"),
        ("new ACRF.BigramTemplate (x)", "bad-foreign-line"),
        ("new ACRF.BigramTemplate (999)", "bad-foreign-line"),
        ("interpreter.exit()", "bad-foreign-line"),
        ("new ACRF.BigramTemplate (0)", "converts-differently"),
    ],
)
def test_lines_of_grmm_that_are_not_converted_are_said(line: str, slug: str | None) -> None:
    made = convert_template(f"new ACRF.BigramTemplate (0)\n{line}\n", columns=["pos"])
    repeated = "BigramTemplate" in line and slug is None
    assert [remark.slug for remark in made.remarks] == [slug or "converts-differently"] * (slug is not None or repeated)
    parse(made.template)


def test_names_of_labels_are_made_up_or_must_be_enough() -> None:
    assert "data grmm(label0, label1, marks: bag)" in convert_template(FACTORIAL).template
    assert "data grmm(label0, label1, label2, marks: bag)" in convert_template(FACTORIAL, data_columns=3).template
    assert "data grmm(a, b, marks: bag)" in convert_template(FACTORIAL, columns=["a", "b"]).template
    for columns, data_columns in ((["a"], None), (["a", "b"], 3), (None, 1), (["a", "a"], None)):
        with pytest.raises(DcrfError):
            convert_template(FACTORIAL, columns=columns, data_columns=data_columns)


# sklearn-crfsuite -----------------------------------------------------------------------------------------------------

PARAMETERS = {
    "{}": ("prior = elastic_net(l1 = 0, l2 = 1)", "states = seen", ""),
    "CRF()": ("prior = elastic_net(l1 = 0, l2 = 1)", "states = seen", ""),
    'sklearn_crfsuite.CRF(\n    algorithm="lbfgs",\n    c1=0.1, c2=1e-3,\n    max_iterations=100,\n)': (
        "prior = elastic_net(l1 = 0.1, l2 = 0.001)", "optimizer = owlqn(max_iterations = 100)", "",
    ),
    '{"algorithm": "lbfgs", "c2": 0.5, "num_memories": 6, "all_possible_transitions": true, "verbose": null}': (
        "optimizer = lbfgs(memory = 6)", "transitions with states = all", "",
    ),
    "{'c1': 0, 'c2': 0, 'all_possible_states': True}": ("prior = none", "as states with states = all: attributes", ""),
    "{'algorithm': 'l2sgd', 'c2': 0.1}": ("optimizer = sgd(epochs = 1000)", "l2 = 0.1", ""),
    "dict(algorithm='ap', max_iterations=20)": ("train perceptron: epochs = 20", "", ""),
    "{'algorithm': 'pa', 'c': 2}": ("train likelihood\n", "# ", "not-converted"),
    "{'min_freq': 2.5}": ("with min_count = 3: attributes", ": frequent", "converts-differently"),
    "{'epsilon': 1e-5}": ("train likelihood", "", "converts-differently"),
    "{'c1': -1}": ("train likelihood", "# ", "bad-foreign-line"),
    "{'c1': [1]}": ("train likelihood", "", "bad-foreign-line"),
    "{'c1': alpha}": ("train likelihood", "", "not-converted"),
    "{'c3': 1}": ("train likelihood", "", "bad-foreign-line"),
    "{'c': 1}": ("train likelihood", "", "not-converted"),
}  # fmt: skip


@pytest.mark.parametrize("text", PARAMETERS)
def test_parameters_become_statements(text: str) -> None:
    first, second, slug = PARAMETERS[text]
    made = convert_template(text)
    assert made.tool == "sklearn-crfsuite"
    assert first in made.template and second in made.template
    assert [remark.slug for remark in made.remarks] == [slug] * bool(slug)
    assert not [problem for problem in load_text(made.template).diagnostics if problem.severity == "error"]


def test_a_wrong_parameter_is_marked() -> None:
    made = convert_template("\n{'c1': 0.5,\n 'é': 1, 'c4': 'é'}", name="crf.py")
    assert [str(remark.primary.span) for remark in made.remarks if remark.primary] == ["crf.py:3:2", "crf.py:3:10"]
    assert [remark.primary.span.text for remark in made.remarks if remark.primary] == ["'é': 1", "'c4': 'é'"]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{'a': }",
        "{1, 2}",
        "CRF(1)",
        "CRF(**x)",
        "[]",
        "{" * 500,
        "{**a}",
        "{'c1': 1}; 2",
        "{" + "'c1': 1," * 20_000 + "}",
    ],
)
def test_anything_but_a_dict_is_one_error(text: str) -> None:
    with pytest.raises(DcrfError) as error:
        convert_template(text, tool="sklearn-crfsuite")
    assert len(error.value.diagnostics) == 1


@given(
    st.text(st.sampled_from("{}()[]'\":,c1 .0-*\\\nCRFé"), max_size=40), st.sampled_from(["grmm", "sklearn-crfsuite"])
)
def test_any_text_is_converted_or_an_error(text: str, tool: str) -> None:
    try:
        parse(convert_template(text, tool=tool).template)
    except DcrfError as error:
        assert error.diagnostics


# the command ----------------------------------------------------------------------------------------------------------

CHUNKS = "U00:%x[0,0]\nU01:%x[0,1]\nB\n"


def test_the_command_writes_a_template(tmp_path: Path, capsys: Captured) -> None:
    source, data, made = tmp_path / "template", tmp_path / "train.txt", tmp_path / "chunk.dcrf"
    source.write_text(CHUNKS)
    data.write_text("\nThe DT B-NP\ncat NN I-NP\n\n")
    assert run(["convert", str(source), "--columns", "word, pos,chunk", "-o", str(made)]) == 0
    said = capsys.readouterr()
    assert said.out == "" and "written; next" in said.err and "[guessed-tool]" in said.err
    assert "data conll(word, pos, chunk)" in made.read_text()
    assert run(["check", str(made), "--data", str(data)]) == 0
    capsys.readouterr()
    assert run(["convert", str(source), "-o", str(made)]) == 1  # it is there already
    assert "[file-exists]" in capsys.readouterr().err
    assert run(["convert", str(source), "--data", str(data), "--from", "crfpp", "-q"]) == 0
    said = capsys.readouterr()
    assert "data conll(word, column1, tag)" in said.out and said.err == ""


def test_lines_that_are_left_out_end_in_1_and_the_rest_is_written(tmp_path: Path, capsys: Captured) -> None:
    source, made = tmp_path / "patterns", tmp_path / "chunk.dcrf"
    source.write_text("u:w=%x[0,0]\nu:first=%x[@1,0]\nb\n")
    assert run(["convert", str(source), "--columns", "word,chunk", "-o", str(made), "--quiet"]) == 1
    assert "patterns:2:9" in capsys.readouterr().err
    assert "#   line 2: u:first=%x[@1,0]\n" in made.read_text() and load_text(made.read_text()).require()


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        (["--to", "jsonl", "--columns", "word"], "idle-option"),
        (["--to", "jsonl", "--label", "word"], "idle-option"),
        (["--from", "crf++"], "unknown-tool"),
        (["--columns", "word"], "bad-columns"),
        (["--columns", "word,in,y"], "bad-columns"),
        (["--data", "empty"], "bad-columns"),
        (["--data", "absent"], "file-error"),
    ],
)
def test_a_wrong_option_is_one_error(
    arguments: list[str], slug: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "template").write_text("U00:%x[0,1]\nB\n")
    (tmp_path / "empty").write_text("\n")
    assert run(["convert", "template", *arguments]) == 1
    assert f"error[{slug}]" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--columns", "word"], ["--from", "crfpp"], ["--to", "jsonl"]])
def test_an_option_that_a_model_has_no_use_for_is_refused(
    arguments: list[str], tmp_path: Path, capsys: Captured
) -> None:
    model = tmp_path / "old.crfsuite"
    model.write_bytes(b"lCRF" + bytes(60))
    assert run(["convert", str(model), *arguments]) == 1
    assert "error[idle-option]" in capsys.readouterr().err


def test_a_model_of_crfsuite_in_place_of_ours_is_told_how_to_convert(tmp_path: Path, capsys: Captured) -> None:
    model = tmp_path / "old.crfsuite"
    model.write_bytes(b"lCRF" + bytes(60))
    assert run(["show", str(model)]) == 1
    assert f"help: it is a model of CRFsuite: dcrfdsl convert {model}" in capsys.readouterr().err
