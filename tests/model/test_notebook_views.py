"""Objects as notebooks show them: well formed, cut where they are long, and hostile texts stay text."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from counting import counted
from notebook_cases import read_output
from report_cases import HOSTILE, colour_pairs, contrast, two_layers

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation import DcrfError, parts_style, printable
from dcrfdsl.foundation.html_blocks import LabelledText, Stretch, notebook_style
from dcrfdsl.graph import FactorGraph, FactorMark, GraphDrawing, VariableMark
from dcrfdsl.graph.drawing import MOST_POSITIONS, first_positions
from dcrfdsl.inference import RunStatus
from dcrfdsl.model import TrainingRecord
from dcrfdsl.model.prediction import MOST_SENTENCES, MOST_TOKENS, Prediction
from dcrfdsl.semantics import load_text
from dcrfdsl.template import Template

MARKS = ("O", "B-X", "I-X", "B-Y", "I-Y")


@pytest.fixture(scope="module")
def trained():
    return two_layers(HOSTILE, states=("P<b>", "Q&amp;"))


def corpus_of(sentences):
    """Sentences of words, without labels that anyone looks at."""
    spec = load_text("data conll(word, chunk)\nlabel chunk in bio(X, Y)\nclique chunk: bias").require()
    return corpus_from_rows([[(word, "O") for word in words] for words in sentences], spec.data)


def labelled(sentences, chunks):
    """A prediction of segments."""
    corpus = corpus_of(sentences)
    codes = np.array([MARKS.index(mark) for mark in chunks], np.int32)
    return Prediction({"chunk": codes}, {"chunk": MARKS}, RunStatus(), np.zeros(corpus.num_sentences), corpus)


# predictions --------------------------------------------------------------------------------------------------------


def marked(output):
    """The texts of marks, each with its label, and the words outside."""
    return output.words.partition("labelled by chunk . ")[2]


def test_segments_are_marked_by_type():
    output = read_output(labelled([["a", "b", "c"], ["d", "e"]], ["B-X", "I-X", "O", "B-Y", "B-Y"]))
    assert marked(output) == "1 a b X c 2 d Y e Y"
    hues = [named["class"] for tag, named in output.tags if tag == "mark"]
    assert hues == ["h0", "h1", "h1"]


def test_a_segment_that_breaks_its_scheme_is_one_all_the_same():
    assert marked(read_output(labelled([["a", "b"], ["c"]], ["I-X", "I-Y", "I-Y"]))) == "1 a X b Y 2 c Y"


def test_every_layer_has_its_labels_below_the_word(trained):
    model, corpus = trained
    prediction = model.predict(corpus)
    output = read_output(prediction)
    stacks = [named for tag, named in output.tags if named.get("class") == "stack"]
    assert len(stacks) == corpus.num_tokens
    chunks, tags = prediction.texts("chunk"), prediction.texts("pos")
    shown = [text for tag, text in labels_of(output)]
    expected = [text for pair in zip(tags, chunks, strict=True) for text in pair]
    assert shown == [text if text != "O" else "·" for text in expected]


def labels_of(output):
    """The texts of labels: everything that stands in `small`, in order."""
    words = [text for text in output.texts if text.strip()]
    start = next(n for n, text in enumerate(words) if text == "1")
    known = {"P<b>", "Q&amp;", "B-X", "I-X", "B-Y", "I-Y", "·"}
    return [(n, text) for n, text in enumerate(words[start:]) if text in known]


def test_hostile_words_and_states_are_text(trained):
    model, corpus = trained
    for shown in (
        model,
        model.predict(corpus),
        model.record,
        model.graph,
        model.spec,
        model.explanations.unrolled(corpus, 1),
    ):
        output = read_output(shown)  # no tag but ours
        assert "\u202e" not in output.text and "\x1b" not in output.text
    text = read_output(model.predict(corpus)).text
    for word in HOSTILE:
        assert printable(word) in text


def test_a_prediction_of_many_sentences_says_what_it_leaves_out():
    number = 10_000
    prediction = labelled([["w", "v"]] * number, ["B-X", "O"] * number)
    prediction._repr_html_()  # what is read once is read
    work = [counted(labelled([["w", "v"]] * n, ["B-X", "O"] * n)._repr_html_)[1] for n in (number // 2, number)]
    assert abs(work[1] - work[0]) < 100
    output = read_output(prediction)
    assert f"{number - MOST_SENTENCES:,} more sentences with {2 * (number - MOST_SENTENCES):,} tokens are left" in (
        output.words
    )
    assert sum(named.get("class") == "number" for _, named in output.tags) == MOST_SENTENCES
    assert len(prediction._repr_html_()) < 40_000 and len(repr(prediction)) < 100


def test_a_long_sentence_is_cut():
    output = read_output(labelled([["w"] * 5000, ["v"]], ["O"] * 5001))
    assert f"… and {5000 - MOST_TOKENS:,} more tokens" in output.words
    assert "1 more sentence with 1 tokens are left out" in output.words


def test_trouble_is_told():
    prediction = replace(labelled([["a"], ["b"]], ["O", "O"]), status=RunStatus(2, 1, impossible=(1,)))
    words = read_output(prediction).words
    assert "No labelling is possible in sentence 2" in words
    assert "did not converge on 1 of 2 sentences" in words


def test_without_words_there_is_a_line():
    prediction = replace(labelled([["a"]], ["O"]), corpus=None)
    assert "<Prediction: chunk of 1 tokens in 1 sentences>" in read_output(prediction).words


def test_no_sentence():
    prediction = replace(labelled([["a"]], ["O"]), corpus=corpus_of([["a"]]).slice(0, 0))
    assert "0 sentences, 0 tokens" in read_output(prediction).words


# models and records -------------------------------------------------------------------------------------------------


def test_a_model_says_what_it_consists_of(trained):
    words = read_output(trained[0]).words
    for part in (
        "label chunk",
        "5 states: B-X",
        "Transitions",
        "Training",
        "Template",
        "strongest 20 of 133 weights",
    ):
        assert part in words
    assert repr(trained[0]) == "<TrainedModel: pos (2 states), chunk (5 states); 133 weights>"


def test_a_record_has_a_curve_for_each_stage(trained):
    output = read_output(trained[0].record)
    charts = [named["aria-label"] for tag, named in output.tags if named.get("class") == "chart"]
    assert [title.rpartition(" ")[2] for title in charts] == ["first", "second"]
    assert len(repr(trained[0].record)) < 150
    assert "says nothing about its training" in read_output(TrainingRecord()).words


@pytest.mark.long
def test_jinja_is_not_needed():
    code = (
        "import sys; sys.modules['jinja2'] = None; sys.path[:0] = ['tests/support']\n"
        "from dcrfdsl.model import TrainingRecord; from dcrfdsl import load_text\n"
        "print(len(TrainingRecord()._repr_html_() + load_text('label t in {A, B}')._repr_html_()) > 999)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "True\n", run.stderr


# templates ----------------------------------------------------------------------------------------------------------


def test_templates_are_highlighted():
    text = 'data conll(word, t)  # "<i>"\nlabel t in {A, B}\nclique t: bias, lower(word)\n'
    resolved = load_text(text)
    output = read_output(resolved.spec)
    assert ("span", {"class": "t-kd"}) in output.tags
    assert "label t in {A, B}\n" in output.text
    assert repr(resolved) == "<Resolved: <ModelSpec: labels t; 1 cliques>>"
    model = Template()
    (word, _), t = model.data("conll", "word", "t"), model.label("t", ["A", "B"])
    model.clique(t, features=[word])
    assert "clique t: word\n" in read_output(model).text


def test_problems_of_a_template_stand_above_it():
    text = read_output(load_text("data conll(word, t)\nlabel t in {A, B}\nclique t: wrod<b>, word")).text
    assert "error[" in text and "help:" in text


def test_a_long_template_is_cut():
    spec = load_text("data conll(word, t)\n" + "".join(f"label t{n} in {{A, B}}\n" for n in range(500))).spec
    assert "more characters are left out" in read_output(spec).words
    assert len(repr(spec)) < 20_000


# graphs -------------------------------------------------------------------------------------------------------------


def test_a_sentence_shows_its_labels(trained):
    model, corpus = trained
    drawing = model.explanations.unrolled(corpus, 3)
    prediction = model.predict(corpus.slice(3, 4))
    assert [mark.shown for mark in drawing.variables if mark.name == "chunk"] == prediction.texts("chunk")
    assert "sentence 4 of" in read_output(drawing).text
    assert repr(drawing).count("\n") == 0 and len(repr(drawing)) < 80


def test_a_sentence_that_is_not_there_is_refused(trained):
    model, corpus = trained
    with pytest.raises(DcrfError, match="no number 15"):
        model.explanations.unrolled(corpus, 15)
    with pytest.raises(ValueError, match="at least 0"):
        model.explanations.unrolled(corpus, -1)


def chain(length):
    variables = tuple(VariableMark("y", t, 2) for t in range(length))
    factors = tuple(FactorMark("pair", t, (t, t + 1)) for t in range(length - 1))
    return GraphDrawing("chain", tuple(map(str, range(length))), variables, factors)


def test_a_long_drawing_keeps_its_first_positions():
    cut = first_positions(chain(100), 7)
    assert cut == chain(7)
    output = read_output(chain(100))
    assert f"{100 - MOST_POSITIONS} more positions and {100 - MOST_POSITIONS} more factors are left out" in output.words
    assert sum(tag == "circle" for tag, _ in output.tags) == MOST_POSITIONS


def test_a_model_graph_is_unrolled_without_data(trained):
    graph = trained[0].graph
    output = read_output(graph)
    length = max(4, graph.sample_lengths[0])
    assert sum(tag == "circle" for tag, _ in output.tags) == 2 * length
    assert f"chain: {length - 1} factors" in output.words


def test_relational_cliques_are_named():
    spec = load_text(
        "data conll(word, t)\nlabel t in {A, B}\nclique t: word\nclique t[i], t[j] where word[i] = word[j] as skip\n"
        "infer trp"
    )
    from dcrfdsl.training import fit

    corpus = corpus_from_rows([[("a", "A"), ("a", "B")]], spec.spec.data)
    model = fit(spec, corpus, threads=1)
    assert "Not drawn: skip ," in read_output(model.graph).words
    assert "skip: 1 factor" in read_output(model.explanations.unrolled(corpus)).words


@pytest.mark.parametrize("size", [0, 1, 3, 9, 20, 5000])
def test_factor_graphs(size):
    scopes = tuple((v, v + 1) for v in range(size - 1))
    graph = FactorGraph((2,) * size, scopes, tuple(np.zeros((2, 2)) for _ in scopes))
    output = read_output(graph)
    circles = sum(tag == "circle" for tag, _ in output.tags)
    assert circles == (size if size <= 20 else 0)
    assert f"{size:,} variables, {max(0, size - 1):,} factors" in output.words
    assert repr(graph) == f"<FactorGraph: {size:,} variables, {max(0, size - 1):,} factors>"


# style --------------------------------------------------------------------------------------------------------------


def test_every_rule_is_held_within_the_output():
    rules = notebook_style().split("\n")
    assert len(rules) > 50
    assert all(".dcrf" in rule.partition("{")[0] or rule.startswith("@media") for rule in rules)
    assert ":root" not in notebook_style() and "light-dark" not in notebook_style()
    for name, (light, dark) in colour_pairs(parts_style()).items():
        assert notebook_style().count(f"--{name}:{light}") == notebook_style().count(f"--{name}:{dark}") == 2


def hues():
    """Colour and opacity of each hue, as #rrggbb."""
    import colorsys
    import re

    for hue, saturation, lightness, alpha in re.findall(
        r"\.h\d+\{background: hsl\((\d+) (\d+)% (\d+)% / ([\d.]+)\)", notebook_style()
    ):
        yield colorsys.hls_to_rgb(int(hue) / 360, int(lightness) / 100, int(saturation) / 100), float(alpha)


@pytest.mark.parametrize(("text", "behind"), [("#000000", 1.0), ("#212121", 1.0), ("#e0e0e0", 0.07), ("#ffffff", 0.0)])
def test_labels_stand_out_in_light_and_dark_notebooks(text, behind):
    """WCAG 2.2, AA, with the notebook's own colour of text on our hue over its background."""
    found = list(hues())
    assert len(found) == 12
    for rgb, alpha in found:
        mixed = "#" + "".join(f"{round(255 * (alpha * c + (1 - alpha) * behind)):02x}" for c in rgb)
        assert contrast(text, mixed) >= 4.5


def test_more_types_than_hues_repeat_them():
    text = LabelledText("1", [Stretch("a", [("X", 25)])]).to_html()
    assert '<mark class="h1">' in text
