"""Figures of models, corpora and evaluations as axes of matplotlib.

Each function draws into `ax`, or into axes of a new figure, and returns them: titles, sizes, fonts and the format of
the file are the program's. Colours are those of the style that is in force. Not here: the numbers (`model`), the
pictures of reports, which need no library (`model.reporting`).
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Corpus, word_column
from ..foundation import data_error, did_you_mean, needed, quoted_names, spelling_remedy
from ..graph import DrawingLayout, GraphDrawing, edge_knee
from ..metrics import Reliability
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


def posteriors(
    model: TrainedModel, sentence: Any, label: str | None = None, *, ax: Axes | None = None, threads: int = 1
) -> Axes:
    """The probabilities of a label's states over a sentence: stacked bars over words, or areas over many positions.

    sentence: as `model.tag` takes it, or a corpus of one sentence.
    label: its name; may be left out where the model has one label.
    ax: to draw into; by default those of a new figure.
    threads: to compute with.

    The five states with the most have a colour each, if there are more than six; the others share one. Raises DcrfError
    for another label or number of sentences.
    """
    label = label_asked(model.labels, label)
    predictor = model.prepare(sentence)
    if not isinstance(predictor, Predictor) or predictor.corpus.num_sentences != 1 or not predictor.corpus.num_tokens:
        raise data_error("no-such-sentence", "this draws one sentence, with a token at least", help="give it one")
    corpus: Corpus = predictor.corpus
    tables, _ = model.marginals(predictor, threads=threads)
    states, table = largest_states(model.states[label], tables[label])
    axes, at = ax or pyplot.subplots()[1], np.arange(len(table))
    if len(table) > MOST_BARS:
        marks: list[Any] = axes.stackplot(at + 1, table.T)
        axes.set_xlabel("position")
    else:
        feet = np.cumsum(table, axis=1) - table
        marks = [axes.bar(at, share, bottom=foot, width=0.92) for share, foot in zip(table.T, feet.T, strict=True)]
        if (word := word_column(corpus, model.labels)) is not None:
            words = map(corpus.text_column(word).text, at.tolist())
            axes.set_xticks(at, list(map(_shown, words)), rotation=50, ha="right")
    axes.set(ylabel=f"probability of {_shown(label)}", ylim=(0.0, 1.0))
    _legend(axes, states[::-1], marks[::-1])
    return axes


def reliability(judged: Reliability, *, ax: Axes | None = None) -> Axes:
    """The share of right predictions by their probability, beside the diagonal of perfect calibration.

    judged: what `model.calibration.reliability` returns.
    ax: to draw into; by default those of a new figure.
    """
    axes = ax or pyplot.subplots()[1]
    axes.bar(judged.edges[:-1], np.nan_to_num(judged.accuracy), width=np.diff(judged.edges), align="edge", alpha=0.5)
    axes.plot(judged.confidence, judged.accuracy, "o", color="C0")
    axes.plot([0.0, 1.0], [0.0, 1.0], "--", color="gray")
    axes.set(xlabel="probability", ylabel="share that is right", xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    return axes


def learning_curve(
    model: TrainedModel, stage: str | None = None, *, held_out: bool = False, ax: Axes | None = None
) -> Axes:
    """The objective by iteration, a line for each start of a training with restarts.

    model: which keeps the curves of its training.
    stage: by default the last one.
    held_out: the score on held-out data in its place, where training had such data.
    ax: to draw into; by default those of a new figure.

    Raises DcrfError for another stage.
    """
    record = _named({one["stage"]: one for one in model.record.stages}, stage, "unknown-stage", "training stage")
    curve = [Iteration(*point) for point in record.get("curve", ())]
    axes = ax or pyplot.subplots()[1]
    for start, points in groupby(curve, key=lambda point: point.start):
        pairs = [(point.iteration, point.dev if held_out else point.objective) for point in points]
        axes.plot(*np.array([pair for pair in pairs if pair[1] is not None]).reshape(-1, 2).T, label=f"start {start}")
    if len({point.start for point in curve}) > 1:
        axes.legend()
    metric = curve[-1].metric if curve else None
    axes.set(xlabel="iteration", ylabel=metric or "score on held-out data" if held_out else "objective, in nats")
    return axes


def transitions(model: TrainedModel, clique: str | None = None, *, ax: Axes | None = None) -> Axes:
    """The weights of a clique of two labels for pairs of states alone, as a heat map: from the row's to the column's.

    model: whose weights are drawn.
    clique: its name; by default the first that has such weights. Of many states the 30 with the largest stay.
    ax: to draw into; by default those of a new figure.

    Raises DcrfError where there is no such clique.
    """
    found = {one.clique: one for one in reversed(transition_weights(model))}
    one = _named(found, clique, "unknown-clique", "clique of two labels with weights of its own")
    axes, largest = ax or pyplot.subplots()[1], float(np.nanmax(np.abs(one.weights), initial=1e-12))
    axes.set_facecolor("lightgray")  # where a pair has no weight
    image = axes.imshow(one.weights, cmap="RdBu", vmin=-largest, vmax=largest)
    axes.figure.colorbar(image, ax=axes, label="weight")
    rows, columns = ([_shown(state) for state in states] for states in one.states)
    axes.set_xticks(range(len(columns)), columns, rotation=50, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.set(ylabel=one.sites[0], xlabel=one.sites[1])
    return axes


def unrolled(drawing: GraphDrawing, *, ax: Axes | None = None) -> Axes:
    """The factor graph of a sentence: circles are variables, squares factors in the colour of their clique.

    drawing: what `model.explanations.unrolled` returns.
    ax: to draw into; by default those of a new figure of a fitting size.
    """
    layout = DrawingLayout(drawing)
    squares = layout.squares  # which may move all else
    marks: dict[str, Any] = {}
    width, height = layout.column_at(len(drawing.words)), layout.words_at + 30.0
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


def _named(found: dict[str, Any], name: str | None, slug: str, what: str) -> Any:
    """What has this name, or the last one; DcrfError if there is none."""
    if not found or (name is not None and name not in found):
        asked = f"`{name}` is no {what}" if name else f"there is no {what}"
        remedy = spelling_remedy(did_you_mean(name or "", found), f"there is {', '.join(quoted_names(tuple(found)))}")
        raise data_error(slug, f"{asked} of the model", help=remedy if found else None)
    return found[name or next(reversed(found))]


def _legend(axes: Axes, names: list[str], marks: list[Any]) -> None:
    """A legend beside the axes. Names are given here, as matplotlib leaves out a mark whose own begins with `_`."""
    axes.legend(marks, list(map(_shown, names)), loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _shown(text: str) -> str:
    """The text, where matplotlib would read a formula between dollars."""
    return text.replace("$", r"\$")
