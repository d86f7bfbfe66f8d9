"""Figures of models as axes of matplotlib: drawn into `ax`, or into axes of a new figure, which are returned.

Titles, sizes, fonts and files are the program's, and colours those of the style in force. Not here: the numbers
(`model`), the pictures of reports, which need no library (`model.reporting`).
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import word_column
from ..foundation import data_error, needed
from ..graph import DrawingLayout, GraphDrawing, edge_knee
from ..metrics import Reliability, RiskCoverage
from ..model import Predictor, label_asked, largest_states, transition_weights
from ..optimizers import Iteration

with needed("matplotlib", extra="plot"):
    from matplotlib import pyplot
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..model import TrainedModel

MOST_BARS = 60  # positions of a sentence; more are areas


def posteriors(model: TrainedModel, sentence: Any, label: str | None = None, *, ax: Axes | None = None) -> Axes:
    """The probabilities of a label's states: stacked bars over words, or areas over many positions. DcrfError for
    another label or number of sentences.   sentence: as `model.tag` takes it, or a corpus of one.   label: any if there
    are several.
    """
    label, predictor = label_asked(model.labels, label), model.prepare(sentence)
    if not isinstance(predictor, Predictor) or predictor.corpus.num_sentences != 1 or not predictor.corpus.num_tokens:
        raise data_error("no-such-sentence", "this draws one sentence, with a token at least", help="give it one")
    states, table = largest_states(model.states[label], model.marginals(predictor, threads=1)[0][label])
    axes, at, word = ax or pyplot.subplots()[1], np.arange(len(table)), word_column(predictor.corpus, model.labels)
    if len(table) > MOST_BARS:
        marks: list[Any] = axes.stackplot(at + 1, table.T)
        axes.set_xlabel("position")
    else:
        feet = np.cumsum(table, axis=1) - table
        marks = [axes.bar(at, share, bottom=foot, width=0.92) for share, foot in zip(table.T, feet.T, strict=True)]
        if word is not None:
            texts = map(predictor.corpus.text_column(word).text, at.tolist())
            axes.set_xticks(at, list(map(_shown, texts)), rotation=50, ha="right")
    axes.set(ylabel=f"probability of {_shown(label)}", ylim=(0.0, 1.0))
    _legend(axes, states[::-1], marks[::-1])
    return axes


def reliability(judged: Reliability, *, ax: Axes | None = None) -> Axes:
    """The share of right predictions by their probability, beside the diagonal of perfect calibration."""
    axes = ax or pyplot.subplots()[1]
    axes.bar(judged.edges[:-1], np.nan_to_num(judged.accuracy), width=np.diff(judged.edges), align="edge", alpha=0.5)
    axes.plot(judged.confidence, judged.accuracy, "o", color="C0")
    axes.plot([0.0, 1.0], [0.0, 1.0], "--", color="gray")
    axes.set(xlabel="probability", ylabel="share that is right", xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    return axes


def risk_coverage(curve: RiskCoverage, *, ax: Axes | None = None) -> Axes:
    """The share of wrong ones among the surest predictions (risk), by their share of all predictions (coverage)."""
    axes, size = ax or pyplot.subplots()[1], max(1, len(curve.risks))
    axes.plot(np.arange(1, len(curve.risks) + 1) / size, curve.risks)
    axes.set(xlabel="coverage", ylabel="risk", xlim=(0.0, 1.0))
    axes.set_ylim(bottom=0.0)
    return axes


def learning_curve(
    model: TrainedModel, stage: str | None = None, *, held_out: bool = False, ax: Axes | None = None
) -> Axes:
    """The objective of a stage, by default the last one, by iteration; or the score on held-out data. A line for each
    start. DcrfError if there is no such stage.
    """
    stages = {record["stage"]: record for record in model.record.stages if stage in (None, record["stage"])}
    if not stages:
        raise data_error("unknown-stage", f"the model has no training stage{f' `{stage}`' if stage else ''}")
    curve = [Iteration(*point) for point in stages.popitem()[1].get("curve", ())]
    axes, several = ax or pyplot.subplots()[1], len({point.start for point in curve}) > 1
    for start, points in groupby(curve, key=lambda point: point.start):
        pairs = [(point.iteration, point.dev if held_out else point.objective) for point in points]
        axes.plot(*np.array([pair for pair in pairs if pair[1] is not None]).reshape(-1, 2).T, label=f"start {start}")
    axes.set(xlabel="iteration", ylabel="score on held-out data" if held_out else "objective, in nats")
    if several:
        axes.legend()
    return axes


def transitions(model: TrainedModel, clique: str | None = None, *, ax: Axes | None = None) -> Axes:
    """The weights of a clique of two labels for pairs of states alone, as a heat map; by default of the first such
    clique. DcrfError if there is none.
    """
    found = next((one for one in transition_weights(model) if clique in (None, one.clique)), None)
    if found is None:
        raise data_error("unknown-clique", f"no clique {clique or 'of the model'} has weights of two labels alone")
    axes, largest = ax or pyplot.subplots()[1], float(np.nanmax(np.abs(found.weights), initial=1e-12))
    axes.set_facecolor("lightgray")  # where a pair has no weight
    image = axes.imshow(found.weights, cmap="RdBu", vmin=-largest, vmax=largest)
    axes.figure.colorbar(image, ax=axes, label="weight")
    rows, columns = (list(map(_shown, states)) for states in found.states)
    axes.set_xticks(range(len(columns)), columns, rotation=50, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.set(ylabel=found.sites[0], xlabel=found.sites[1])
    return axes


def unrolled(drawing: GraphDrawing, *, ax: Axes | None = None) -> Axes:
    """The factor graph of a sentence: circles are variables, squares factors in the colour of their clique."""
    layout, marks = DrawingLayout(drawing), dict[str, Any]()
    squares, width = layout.squares, layout.column_at(len(drawing.words))  # squares may move all else
    height = layout.words_at + 30.0
    axes = ax or pyplot.subplots(figsize=(width / 90.0, height / 90.0))[1]
    for factor, (x, y), bend in squares:
        colour = layout.colours[factor.clique]
        for centre in (layout.centres[v] for v in factor.variables):
            knee = [edge_knee((x, y), centre)] if bend else []
            path = Path([(x, y), *knee, centre], [Path.MOVETO, *(Path.CURVE3,) * 2] if bend else None)
            axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, zorder=1))
        (marks[factor.clique],) = axes.plot(x, y, "s", color=colour, zorder=3)
    for variable, (x, y) in zip(drawing.variables, layout.centres, strict=True):
        axes.plot(x, y, "o", markersize=17, markerfacecolor="white", markeredgecolor="gray", zorder=2)
        axes.text(x, y + 26.0, _shown(variable.shown or str(variable.states)), ha="center", va="center", size="small")
    for t, word in enumerate(drawing.words):
        axes.text(layout.column_at(t), layout.words_at, _shown(word), ha="center")
    for row, name in enumerate(drawing.rows()):
        axes.text(layout.left - 6.0, layout.row_at(row), _shown(name), ha="right", va="center")
    _legend(axes, list(marks), list(marks.values()))
    axes.set(xlim=(0.0, width), ylim=(height, 0.0), aspect="equal")
    axes.axis("off")
    return axes


def _legend(axes: Axes, names: list[str], marks: list[Any]) -> None:
    """Names are given here, as matplotlib leaves out a mark whose own begins with `_`."""
    axes.legend(marks, list(map(_shown, names)), loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _shown(text: str) -> str:
    """The text, where matplotlib would read a formula between dollars."""
    return text.replace("$", r"\$")
