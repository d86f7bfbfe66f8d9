"""Figures as axes of matplotlib: what is drawn are the model's numbers, into the axes that are given."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

import dcrfdsl

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")
plot = pytest.importorskip("dcrfdsl.plot")

TEXT = """data conll(word, y, z)
label y
label z
clique y: bias, word
clique z: bias, word
clique y[-1], y as moves
clique y, z as tie
train likelihood as second: optimizer = lbfgs(max_iterations = 5)
"""
ROWS = [[("a", "$P$", "u"), ("b$", "_Q", "v"), ("c", f"R{n}", "u")] for n in range(7)]


@pytest.fixture(scope="module")
def trained():
    resolved = dcrfdsl.load_text(TEXT)
    corpus = dcrfdsl.corpus_from_rows(ROWS, resolved.require().data)
    return dcrfdsl.fit(resolved, corpus), corpus


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    figure.savefig(io.BytesIO(), format="svg")  # texts and numbers can be drawn
    pyplot.close("all")


def test_posteriors_are_bars_of_the_probabilities(trained, ax):
    model, corpus = trained
    assert plot.posteriors(model, corpus.slice(2, 3), "y", ax=ax) is ax
    table = model.marginals(corpus.slice(2, 3))[0]["y"]
    kept = np.sort(np.argsort(-table.sum(axis=0), kind="stable")[:5])
    heights = [[bar.get_height() for bar in group] for group in ax.containers]
    assert np.array(heights[:5]) == pytest.approx(table[:, kept].T)
    assert np.sum(heights, axis=0) == pytest.approx(np.ones(3))  # the others have the sixth colour
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["others", *(model.states["y"][k].replace("$", r"\$") for k in reversed(kept.tolist()))]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", r"b\$", "c"]


def test_posteriors_of_many_positions_are_areas(trained, ax):
    model, _ = trained
    plot.posteriors(model, [("a", "b$")[n % 2] for n in range(80)], "z", ax=ax)
    assert len(ax.collections) == 2 and not ax.containers
    top = ax.collections[-1].get_paths()[0].vertices
    assert (top[:, 1].max(), top[:, 0].min(), top[:, 0].max()) == pytest.approx((1.0, 1.0, 80.0))


def test_reliability_has_a_bar_a_bin(trained, ax):
    model, corpus = trained
    judged = model.calibration.reliability(corpus, bins=4)
    assert plot.reliability(judged, ax=ax) is ax
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(np.nan_to_num(judged.accuracy).tolist())


def test_risk_is_drawn_over_coverage(trained, ax):
    model, corpus = trained
    curve = model.decisions.risk_coverage(corpus)["tokens(y)"]
    assert plot.risk_coverage(curve, ax=ax) is ax
    (line,) = ax.lines
    assert line.get_ydata() == pytest.approx(curve.risks)
    assert line.get_xdata() == pytest.approx(np.arange(1, 22) / 21)


def test_learning_curves_are_those_of_the_record(trained, ax):
    model, _ = trained
    for stage in (None, "second"):
        plot.learning_curve(model, stage, ax=ax)
    (record,) = model.record.stages
    expected = [(point[0], point[1]) for point in record["curve"]]
    assert len(expected) == 5
    for line in ax.lines:
        assert line.get_xydata() == pytest.approx(np.array(expected))
    plot.learning_curve(model, held_out=True, ax=ax)  # without such data there is no point


def test_transitions_are_the_weights(trained, ax):
    model, _ = trained
    assert plot.transitions(model, "moves", ax=ax) is ax
    weights = {row[2]: row[3] for row in model.explanations.iter_weights() if row[0] == "moves"}
    image = np.asarray(ax.images[0].get_array().filled(np.nan))
    states = [
        [label.get_text().replace(r"\$", "$") for label in labels]
        for labels in (ax.get_yticklabels(), ax.get_xticklabels())
    ]
    assert len(weights) > 4
    for (a, b), weight in weights.items():
        assert image[states[0].index(a), states[1].index(b)] == pytest.approx(weight)
    plot.transitions(model)  # of the first clique, into a figure of its own


def test_an_unrolled_graph_has_every_mark(trained, ax):
    model, corpus = trained
    drawing = model.explanations.unrolled(corpus, 0)
    assert plot.unrolled(drawing, ax=ax) is ax
    marks = [line.get_marker() for line in ax.lines]
    assert (marks.count("o"), marks.count("s")) == (len(drawing.variables), len(drawing.factors))
    assert len(ax.patches) == sum(len(factor.variables) for factor in drawing.factors)
    assert len(ax.get_legend().get_texts()) == len(drawing.cliques())


@pytest.mark.parametrize(
    ("call", "slug"),
    [
        (lambda m, c: plot.posteriors(m, c.slice(0, 1)), "no-such-label"),
        (lambda m, c: plot.posteriors(m, c, "y"), "no-such-sentence"),
        (lambda m, c: plot.posteriors(m, c.slice(0, 0), "y"), "no-such-sentence"),
        (lambda m, c: plot.learning_curve(m, "secnd"), "unknown-stage"),
        (lambda m, c: plot.transitions(m, "move"), "unknown-clique"),
    ],
)
def test_what_cannot_be_drawn_is_refused(trained, call, slug):
    with pytest.raises(dcrfdsl.DcrfError) as caught:
        call(*trained)
    assert caught.value.diagnostics[0].slug == slug
    pyplot.close("all")


def test_without_the_library_it_says_what_to_install():
    program = "import sys; sys.modules['matplotlib'] = None; from dcrfdsl import plot; plot.unrolled"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "missing-package" in done.stderr and "pip install -e '.[plot]'" in done.stderr
