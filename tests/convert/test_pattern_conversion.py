"""Templates of CRF++ and Wapiti converted: as many weights and the same optimum as the tools, and what is said."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import re2
from foreign_twin import (
    crfpp_lines,
    crfpp_string,
    crfpp_weights,
    search,
    sentences_of,
    wapiti_lines,
    wapiti_string,
    wapiti_weights,
)
from helpers import ROOT, SHARED
from hypothesis import given, settings, strategies as st

from dcrfdsl.convert import Conversion, convert_template
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import RegexProblem, parse, wapiti_regex
from dcrfdsl.training import assemble, fit

HERE = Path(__file__).parent
CRFPP = sorted((HERE / "crfpp").iterdir())
WAPITI = sorted((HERE / "wapiti").iterdir())
NAMES = ["word", "pos", "chunk"]
RECIPES = ROOT / "docs" / "coming-from" / "data" / "train.txt"
CONLL = SHARED / "data" / "conll2000" / "train.txt"

Sentences = list[list[list[str]]]


def converted(path: Path) -> Conversion:
    return convert_template(path.read_bytes().decode(), name=path.name, tool=path.parent.name, columns=NAMES)


def rows(sentences: Sentences) -> list[list[tuple[str, ...]]]:
    return [[tuple(row) for row in sentence] for sentence in sentences]


def weights_of(template: str, sentences: Sentences) -> int:
    spec = load_text(template).require()
    return assemble(spec, corpus_from_rows(rows(sentences), spec.data), {}, {}).learn_parameters()[0].num_weights


def occurrences_here(template: str, sentences: Sentences) -> tuple[Counter, Counter]:
    """The tokens where each feature of the labels fires, and where each of the pairs."""
    spec = load_text(template).require()
    assembly = assemble(spec, corpus_from_rows(rows(sentences), spec.data), {}, {})
    found: tuple[Counter, Counter] = (Counter(), Counter())
    everywhere = frozenset(range(assembly.corpus.num_tokens))
    for clique, template_of in zip(spec.cliques, assembly.graph.templates, strict=True):
        of = found[len(clique.sites) - 1]
        of.update([everywhere] * template_of.has_bias)
        if template_of.feature_set >= 0:
            part = assembly.rows[template_of.feature_set]
            where: dict[int, set[int]] = {}
            for token in range(assembly.corpus.num_tokens):
                for feature in part.feature[part.row_off[token] : part.row_off[token + 1]].tolist():
                    where.setdefault(feature, set()).add(token)
            of.update(map(frozenset, where.values()))
    return found


def occurrences_there(tool: str, text: str, sentences: Sentences) -> tuple[Counter, Counter]:
    """The same for the strings of the tool."""
    lines, string = {"crfpp": (crfpp_lines, crfpp_string), "wapiti": (wapiti_lines, wapiti_string)}[tool]
    where: dict[str, set[int]] = {}
    token = 0
    for sentence in sentences:
        for t in range(len(sentence)):
            for line in lines(text):
                where.setdefault(string(line, sentence, t), set()).add(token)
            token += 1
    labels = Counter(frozenset(tokens) for string, tokens in where.items() if string[0] in "Uu*")
    return labels, Counter(frozenset(tokens) for string, tokens in where.items() if string[0] in "Bb*")


def expected(path: Path, sentences: Sentences) -> int:
    text = path.read_text(encoding="utf-8")
    return sum(crfpp_weights(text, sentences)) if path.parent.name == "crfpp" else wapiti_weights(text, sentences)


@pytest.fixture(scope="module")
def wapiti() -> str:
    """The command of the CRF tool; a web scanner has the same name."""
    command = shutil.which("wapiti")
    said = subprocess.run([command, "--version"], capture_output=True, text=True) if command else None
    if command is None or said is None or "Wapiti v1" not in said.stdout + said.stderr:
        pytest.skip("Wapiti, the CRF tool, is not installed")
    return command


# as many weights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CRFPP + WAPITI, ids=lambda path: path.stem)
def test_features_fire_where_the_strings_of_the_tool_stand(path: Path) -> None:
    sentences = sentences_of(RECIPES, 100)
    made, text = converted(path), path.read_text(encoding="utf-8")
    assert made.complete
    assert occurrences_here(made.template, sentences) == occurrences_there(path.parent.name, text, sentences)
    assert weights_of(made.template, sentences) == expected(path, sentences)


@pytest.mark.long
@pytest.mark.skipif(not CONLL.exists(), reason="the CoNLL-2000 data is not here")
@pytest.mark.parametrize("path", CRFPP + WAPITI, ids=lambda path: path.stem)
def test_there_are_as_many_weights_on_real_text(path: Path) -> None:
    sentences = sentences_of(CONLL, 100)
    assert weights_of(converted(path).template, sentences) == expected(path, sentences)


@pytest.mark.long
@pytest.mark.parametrize("path", WAPITI, ids=lambda path: path.stem)
def test_wapiti_counts_as_many_features_and_ends_as_low(path: Path, wapiti: str, tmp_path: Path) -> None:
    sentences = sentences_of(RECIPES, 100)
    command = [wapiti, "train", "-w", "5000", "-o", "100", "-p", str(path), str(RECIPES), str(tmp_path / "model")]
    said = subprocess.run(command, capture_output=True, text=True).stderr
    count, objective = re.search(r"nb features: (\d+)", said), re.findall(r"obj=([0-9.]+)", said)[-1]
    model = fit(load_text(converted(path).template), corpus_from_rows(rows(sentences), columns_of(path)))
    assert count is not None and model.num_weights == int(count[1])
    assert model.record.objective == pytest.approx(float(objective), abs=0.011)  # it prints two decimals


@pytest.mark.long
@pytest.mark.parametrize("path", [path for path in CRFPP if "moves" not in path.stem], ids=lambda path: path.stem)
def test_crfsuite_with_the_strings_of_crfpp_ends_as_low(path: Path, tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `bench`")
    sentences, lines = sentences_of(RECIPES, 100), crfpp_lines(path.read_text(encoding="utf-8"))
    labels = [line for line in dict.fromkeys(lines) if line.startswith("U")]
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence in sentences:
        items = [[crfpp_string(line, sentence, t) for line in labels] for t in range(len(sentence))]
        trainer.append(items, [row[-1] for row in sentence])
    every = {"feature.possible_states": True, "feature.possible_transitions": True}
    trainer.set_params({"c2": 0.5, "epsilon": 1e-9, "delta": 1e-12, **every})
    trainer.train(str(tmp_path / "peer"))
    model = fit(load_text(converted(path).template), corpus_from_rows(rows(sentences), columns_of(path)))
    theirs = trainer.logparser
    assert model.num_weights == theirs.featgen_num_features
    assert model.record.objective == pytest.approx(theirs.last_iteration["loss"], abs=1e-4)


def columns_of(path: Path):
    return load_text(converted(path).template).require().data


# random patterns ------------------------------------------------------------------------------------------------------

REGEXES = [r"\d", r"^\u", r".?.?$", r"^.?.?", r"\l\l", r"-\a*$", r"^\w*$", r"\p", r"b?c", r"^a*", r"\U$", "[", ".*"]
TOKENS = st.sampled_from(["a", "b", "C", "abc", "Bc", "a-b", "x1", "12", "-", "CC", "é", "[b]"])
MACROS = st.builds(
    lambda command, row, column, regex: (
        f"%{command}[{row},{column}]" if command in "xX" else f'%{command}[{row},{column},"{regex}"]'
    ),
    st.sampled_from("xXtTmM"), st.integers(-3, 3), st.integers(0, 1), st.sampled_from(REGEXES),
)  # fmt: skip
PATTERNS = st.lists(st.tuples(st.sampled_from("uub*"), st.lists(MACROS, max_size=3)), min_size=1, max_size=4)
SENTENCES = st.lists(
    st.lists(st.tuples(TOKENS, TOKENS, st.sampled_from("XY")).map(list), min_size=1, max_size=5), min_size=1, max_size=4
)


@settings(max_examples=25)
@given(PATTERNS, SENTENCES)
def test_random_patterns_fire_as_their_strings_where_no_remark_says_otherwise(patterns, sentences) -> None:
    text = "".join(f"{kind}{n}:{'/'.join(macros)}\n" for n, (kind, macros) in enumerate(patterns))
    made = convert_template(text, tool="wapiti", columns=NAMES)
    assert made.complete
    if not any(remark.slug == "converts-differently" for remark in made.remarks):
        assert occurrences_here(made.template, sentences) == occurrences_there("wapiti", text, sentences)


PIECES = st.sampled_from([*"abA1-_$^[](+.", *(rf"\{c}" for c in "adlpsuwADLPSUW.*?$^\\")])
EXPRESSIONS = st.lists(st.tuples(PIECES, st.sampled_from(["", "", "*", "?"])), max_size=5).map(
    lambda parts: "".join(piece + repeat for piece, repeat in parts)
)


@settings(max_examples=150)
@given(st.sampled_from(["", "^"]), EXPRESSIONS, st.sampled_from(["", "$"]), st.text("abA1-_$^[](+. ", max_size=6))
def test_regular_expressions_match_what_they_match_in_wapiti(start: str, body: str, end: str, text: str) -> None:
    regex = start + body + end
    try:
        ours = wapiti_regex(regex)
    except RegexProblem:
        return
    found = re2.search(ours.pattern, text) if ours.pattern else re2.search("^", text)
    assert (None if found is None else found.group()) == search(regex, text)
    if ours.always and text:
        assert found is not None


# what is said ---------------------------------------------------------------------------------------------------------

SAID = {
    "crfpp": {
        "U00:%x[0,0]\nX\n": [("bad-foreign-line", 2, 1)],
        "U00:%x[0,0]\nU01:%x[0]\n": [("bad-foreign-line", 2, 5)],
        "U00:%x[0,7]\nB\n": [("bad-foreign-line", 1, 5)],
        "U00:%x[0,2]\nB\n": [("bad-foreign-line", 1, 5)],
        "U00:%x[@1,0]\nB\n": [("bad-foreign-line", 1, 5)],
        'U00:%t[0,0,"a"]\nB\n': [("bad-foreign-line", 1, 5)],
        "U00:%x[0,0]%x[1,0]\n": [("converts-differently", 1, 5)],
        "U00:%x[0,0]\nU00:%x[1,0]\n": [("converts-differently", 2, 1)],
        "U00:%x[0,0]\n\nU00:%x[0,0]\n": [("converts-differently", 3, 1)],
        "B01:%x[0,0]\n": [("converts-differently", 1, 1)],
        "UNIGRAM U0:%F[0]\nU00:%x[0,0]\n": [("not-converted", 1, 1)],
        "U00:%x[0,0]/%x[0,0]\nU01\nU02:\nB\n": [],
    },
    "wapiti": {
        "u:%x[@1,0]\nb\n": [("not-converted", 1, 3)],
        "u:%x[@-1,0]\nb\n": [("not-converted", 1, 3)],
        "u:%x[*0,0]\nb\n": [("not-converted", 1, 3)],
        "u:%t[0,0]\nb\n": [("bad-foreign-line", 1, 3)],
        'u:%x[0,0,"a"]\nb\n': [("bad-foreign-line", 1, 3)],
        'u:%t[0,0,"*"]\nb\n': [("bad-foreign-line", 1, 3)],
        'u:%t[0,0,"a\\"]\nb\n': [("bad-foreign-line", 1, 3)],
        'u:%t[0,0,"#"]\nb\n': [("bad-foreign-line", 1, 3)],
        "u:%y[0,0]\nb\n": [("bad-foreign-line", 1, 3)],
        "c:%x[0,0]\nb\n": [("bad-foreign-line", 1, 1)],
        "u:%x[-6,0]\n": [("converts-differently", 1, 3)],
        'u:%t[-2,0,"2"]\n': [],
        'u:%t[-9,0,"2"]\n': [("converts-differently", 1, 3)],
        'u:%m[-2,0,"^.?.?"]\n': [("converts-differently", 1, 3)],
        'u:%m[-1,0,"\\d"]\n': [("converts-differently", 1, 3)],
        'u:%m[-1,0,"\\u"]\n': [],
        'u:%m[1,0,".?.?$"]\n': [],
        'u:%m[-1,0,"\\u"]/%x[0,0]\n': [("converts-differently", 1, 3)],
        'u:%t[0,0,"[A-Z]"]\n': [("literal-marks", 1, 3)],
        'u:%m[0,0,"^\\u*"]\n': [("lazy-repetition", 1, 3)],
        "u" + "/".join(f'%t[{n},0,"a"]' for n in range(7)) + "\nb\n": [("not-converted", 1, 1)],
        "U:%x[0,0]\nu:%x[1,0]\n": [("converts-differently", 2, 1)],
        'u:w=%x[ 0, 0 ] # comment\n*:c=%T[+1,0,"\\""]\n': [],
    },
}


@pytest.mark.parametrize(
    ("tool", "text", "said"), [(tool, text, said) for tool, cases in SAID.items() for text, said in cases.items()]
)
def test_what_is_left_out_or_counts_differently_is_said_with_its_place(tool: str, text: str, said: list) -> None:
    made = convert_template(text, tool=tool, columns=NAMES)
    places = [(r.slug, r.primary.span.line, r.primary.span.column) for r in made.remarks if r.primary is not None]
    assert places == said
    assert made.complete is all(r.severity != "error" for r in made.remarks)
    for remark in made.remarks:
        if remark.severity == "error":
            assert f"#   line {remark.primary.span.line}: " in made.template
    load_text(made.template).require()


@pytest.mark.parametrize("tool", ["crfpp", "wapiti"])
def test_large_files_take_no_longer_than_their_length_asks_for(tool: str) -> None:
    made = convert_template("".join(f"U{n}:%x[0,0]\n" for n in range(200)), tool=tool)
    assert made.template.count("clique") == 200
    made = convert_template("U0:%x[0,0]\nU:" + '%t[0,0,"' * 100_000, tool=tool)
    assert [remark.slug for remark in made.remarks if remark.severity == "error"] == ["bad-foreign-line"]


def test_a_line_without_anything_to_convert_leaves_no_template() -> None:
    with pytest.raises(DcrfError, match="no line that can be converted"):
        convert_template("u:%x[@1,0]\n", tool="wapiti")


@settings(max_examples=80)
@given(
    st.text(st.sampled_from('UuBb*:%xXtTmM[],"\\0123-+@#/a(){}.?$^\n\t'), max_size=60),
    st.sampled_from(["crfpp", "wapiti"]),
)
def test_any_text_is_a_template_or_an_error(text: str, tool: str) -> None:
    try:
        made = convert_template(text, tool=tool)
    except DcrfError as error:
        assert error.diagnostics
        return
    parse(made.template)
    assert not [problem for problem in load_text(made.template).diagnostics if problem.severity == "error"]


# columns, tools -------------------------------------------------------------------------------------------------------


def test_columns_have_given_or_made_up_names() -> None:
    text = "U00:%x[0,0]\nU01:%x[0,1]\nB\n"
    assert "data conll(word, column1, tag)" in convert_template(text).template
    assert "data conll(word, column1, column2, tag)" in convert_template(text, data_columns=4).template
    named = convert_template(text, columns=["label", "a", "b"], label="b").template
    assert "data conll(label, a, b)\nlabel b\n" in named and "    label\n" not in named
    for columns, label in ((["a"], None), (["a", "a", "b"], None), (["a", "not", "b"], None), (["a", "b c"], None)):
        with pytest.raises(DcrfError):
            convert_template(text, columns=columns, label=label, data_columns=len(columns) + 1)
    with pytest.raises(DcrfError, match="none of the columns"):
        convert_template(text, columns=NAMES, label="tag")
    for columns in (NAMES, None):
        with pytest.raises(DcrfError, match="bad-columns"):
            convert_template(text, columns=columns, label="")


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("U00:%x[0,0]\nB\n", "crfpp"),
        ("# comment\nU1\nB\n", "crfpp"),
        ("u:%x[0,0]\nb\n", "wapiti"),
        ("*\n", "wapiti"),
        ('U:%t[0,0,"a"]\nB\n', "wapiti"),
        ("U:%X[0,0]\n", "wapiti"),
        ("U:%x[ 0,0]\n", "wapiti"),
        ("new ACRF.BigramTemplate (0)\n", "grmm"),
        ("{'c1': 0.1}", "sklearn-crfsuite"),
        ("sklearn_crfsuite.CRF(c1=0.1)", "sklearn-crfsuite"),
    ],
)
def test_the_tool_is_guessed(text: str, tool: str) -> None:
    assert convert_template(text).tool == tool


@pytest.mark.parametrize("text", ["", "dcrf 1\ndata conll(word, y)\n", "The DT B-NP\ncat NN I-NP\n", "\0\1"])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(DcrfError) as error:
        convert_template(text)
    assert error.value.diagnostics[0].slug == "unknown-tool"
