"""The sections on the model and the data: training, weights, transitions, unrolled graphs, data, template, record.

Not here: how good the labels are (`quality_sections`), what the page looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from ...data import BagColumn, Corpus, InternedColumn
from ...foundation import (
    Block,
    Cell,
    Fold,
    Heading,
    HeatRow,
    HeatTable,
    Paragraph,
    Picture,
    TextTable,
    figure,
    inline_svg,
    signed_shade,
)
from ...graph import svg
from ...metrics import UNSEEN, Evaluation
from ...optimizers import Iteration
from ...semantics import template_listing
from .charts import Series, bar_chart, line_chart
from .findings import Findings, Section, StageRun, TransitionWeights

LENGTH_BARS = 20
MOST_STATES = 40  # in the table of frequencies


# training ---------------------------------------------------------------------------------------------------------


def training_section(found: Findings) -> Section:
    """The stages, and for each its learning curves."""
    return Section("training", "Training", training_blocks(found.stages, found.trials))


def stage_runs(stages: Sequence[Mapping[str, Any]]) -> list[StageRun]:
    """The stages of a training.   stages: the fields of their records, the first stage first."""
    return [_stage(fields) for fields in stages]


def _stage(record: Mapping[str, Any]) -> StageRun:
    """A stage from the fields of its record, with types or as a model file keeps those of earlier stages."""
    settings = record["settings"]
    data = f"{record['sentences']:,} sentences, {record['tokens']:,} tokens"
    facts = [
        ("criterion", setting_words(settings.get("criterion", ""))),
        ("optimizer", setting_words(settings.get("optimizer", ""))),
        ("prior", setting_words(settings.get("prior", ""))),
        ("inference", record["inference"]),
        ("objective at the end", figure(record["objective"])),
        ("iterations", f"{record['iterations']:,}, with {record['evaluations']:,} evaluations"),
        ("converged", f"{'yes' if record['converged'] else 'no'}: {record['reason']}"),
        ("time", f"{record['seconds']:,.1f} s"),
        ("training data", data),
        ("hash of the training data", record["data_sha256"]),
    ]
    for name, field in (("gradient norm", "gradient_norm"), ("at most above the minimum", "gap")):
        if record.get(field) is not None:
            facts.append((name, f"{record[field]:.3g}"))
    return StageRun(
        record["stage"], facts, settings, list(record["notes"]), [Iteration(*step) for step in record.get("curve", ())]
    )


def training_blocks(stages: Sequence[StageRun], trials: Sequence[Mapping[str, Any]]) -> list[Block]:
    """What there is to say of a training, also outside a report."""
    if not stages:
        return [Paragraph("The model says nothing about its training.", kind="note")]
    blocks: list[Block] = []
    for number, stage in enumerate(stages, 1):
        blocks.append(Heading(f"Stage {number}: {stage.name}" if len(stages) > 1 else f"Stage {stage.name}"))
        blocks.append(TextTable(f"How stage {stage.name} went", ["what", "value"], stage.facts, (0, 1)))
        blocks += [Paragraph(note, kind="note") for note in stage.notes]
        blocks += _curves(stage)
        if stage.settings:
            rows = [[name, setting_words(value)] for name, value in stage.settings.items()]
            blocks.append(
                Fold("Every setting", [TextTable(f"Settings of {stage.name}", ["setting", "value"], rows, (0, 1))])
            )
    if trials:
        blocks += [Heading("Search of constants"), _trials(trials)]
    return blocks


def _trials(trials: Sequence[Mapping[str, Any]]) -> TextTable:
    """The trials of a search on held-out data: values, score, time."""
    names = list(trials[0]["values"])
    rows = [
        [
            str(trial["number"]),
            *(setting_words(trial["values"][name]) for name in names),
            f"{_shown(trial['dev']):.2f}",
            f"{trial['seconds']:.1f} s{'' if trial['complete'] else ', stopped early'}",
        ]
        for trial in trials
    ]
    metric = trials[0].get("metric") or "score"
    unit = "in nats" if any(trial["dev"] < 0.0 for trial in trials) else "in %"
    return TextTable("Trials", ["trial", *names, f"held-out data: {metric}, {unit}", "time"], rows)


def _curves(stage: StageRun) -> Iterator[Block]:
    starts = [(start, list(points)) for start, points in groupby(stage.curve, key=lambda point: point.start)]
    if not starts or len(stage.curve) < 2:
        return
    metric = stage.curve[-1].metric
    dev_name = _dev_name(stage.curve)
    for what, of_what, y_name in (
        ("objective", "Objective, in nats,", "objective, in nats"),
        ("dev", f"Held-out data: {dev_name},", dev_name.rpartition(", ")[2]),
    ):
        name = metric if what == "dev" and metric else what
        lines = [Series(f"start {start}" if start else name, _points(points, what)) for start, points in starts]
        title = f"{of_what} by iteration, stage {stage.name}"
        drawn = line_chart(title, lines, "iteration", y_name)
        if drawn:
            yield Picture(drawn, title)
    last = stage.curve if len(stage.curve) <= 40 else [*stage.curve[:: -(-len(stage.curve) // 40)], stage.curve[-1]]
    rows = [
        [str(point.iteration), figure(point.objective), "" if point.dev is None else f"{_shown(point.dev):.2f}"]
        for point in last
    ]
    head = ["iteration", "objective", f"held-out data: {dev_name}"]
    yield Fold("The numbers", [TextTable(f"Curve of {stage.name}", head, rows)])


def _dev_name(curve: Sequence[Iteration]) -> str:
    """What the scores on held-out data are: shares in per cent, or log-likelihoods, which are negative."""
    unit = "in nats" if any(point.dev is not None and point.dev < 0.0 for point in curve) else "in %"
    return f"{curve[-1].metric or 'score'}, {unit}"


def _shown(dev: float) -> float:
    return 100.0 * dev if dev >= 0.0 else dev


def _points(points: Sequence[Iteration], what: str) -> list[tuple[float, float]]:
    if what == "objective":
        return [(float(point.iteration), point.objective) for point in points]
    return [(float(point.iteration), _shown(point.dev)) for point in points if point.dev is not None]


def setting_words(value: Any) -> str:
    """A setting as a template writes it: `gaussian(variance = 10)`."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{name} = {setting_words(part)}" for name, part in value.items() if name != "method")
        method = str(value.get("method", ""))
        return f"{method}({inner})" if inner or not method else method
    if isinstance(value, list | tuple):
        return ", ".join(map(setting_words, value)) or "none"
    names = {None: "none", True: "yes", False: "no"}
    return names[value] if value is None or isinstance(value, bool) else str(value)


# weights ----------------------------------------------------------------------------------------------------------


def weight_section(found: Findings) -> Section:
    """The strongest weights of each clique."""
    blocks: list[Block] = [
        Paragraph(
            "A weight is what a feature adds to the score of a labelling that has these states, in nats. Features that "
            "fire together share what one of them would have."
        )
    ]
    for clique in found.weights:
        rows = [[feature, " ".join(states), f"{weight:+.4f}"] for feature, states, weight in clique.rows]
        caption = f"{clique.clique}: the strongest {len(rows):,} of {clique.total:,} weights"
        if rows:
            blocks.append(TextTable(caption, ["feature", "states", "weight"], rows, (0, 1)))
    return Section("weights", "Strongest weights", blocks)


def transition_section(found: Findings) -> Section:
    """The bias weights of cliques of two sites, as heat maps."""
    return Section("transitions", "Transitions", transition_blocks(found.transitions))


def transition_blocks(transitions: Sequence[TransitionWeights]) -> list[Block]:
    """Heat maps with what they leave out, also outside a report."""
    blocks: list[Block] = [_transitions(one) for one in transitions]
    if blocks:
        words = "From the row's state to the column's: more than 0 makes the pair likelier. A dash: it has no weight."
        blocks.insert(0, Paragraph(words))
        hidden = [one for one in transitions if any(one.left_out)]
        blocks += [
            Paragraph(
                f"{one.clique}: {one.left_out[0]:,} rows and {one.left_out[1]:,} columns of rarer states are left out.",
                kind="note",
            )
            for one in hidden
        ]
    else:
        blocks.append(Paragraph("No clique of two sites has weights for pairs of states alone."))
    return blocks


def _transitions(found: TransitionWeights) -> HeatTable:
    largest = max(1e-12, float(np.nanmax(np.abs(found.weights), initial=0.0)))
    rows = [
        HeatRow(state, [_weight_cell(weight, largest) for weight in weights.tolist()])
        for state, weights in zip(found.states[0], found.weights, strict=True)
    ]
    corner = f"{found.sites[0]} ↓ {found.sites[1]} →"
    return HeatTable(f"Weights of {found.clique}", corner, found.states[1], rows)


def _weight_cell(weight: float, largest: float) -> Cell:
    return Cell("–") if np.isnan(weight) else Cell(f"{weight:+.2f}", signed_shade(weight / largest))


# graphs -----------------------------------------------------------------------------------------------------------


def graph_section(found: Findings) -> Section:
    """Sentences as unrolled graphs with their probabilities."""
    blocks: list[Block] = []
    for one in found.sentences:
        blocks.append(Heading(f"Sentence {one.number:,}"))
        caption = f"Factor graph of sentence {one.number:,}: circles are labels, wrong ones dashed; squares are factors"
        blocks.append(Picture(inline_svg(svg(one.drawing)), caption, kind="graph"))
        table = TextTable(f"Labels of sentence {one.number:,}", one.head, one.rows, tuple(range(len(one.head))))
        blocks.append(Fold("Labels and probabilities as a table", [table]))
    if not blocks:
        blocks.append(Paragraph("No sentence is short enough to be drawn. `--sentence N` draws one all the same."))
    else:
        words = (
            "A pointer on a circle or square brings up its probabilities or features; so do Tab and the arrow keys. "
            "Numbers below the words count from 0."
        )
        blocks.insert(0, Paragraph(words))
    return Section("graph", "Unrolled graph", blocks)


# data -------------------------------------------------------------------------------------------------------------


def data_section(found: Findings) -> Section:
    """Sentences, lengths, columns, and how often each state occurs."""
    corpus, lengths = found.corpus, found.corpus.lengths()
    filled = lengths[lengths > 0]
    facts = [
        ["sentences", f"{corpus.num_sentences:,}"],
        ["tokens", f"{corpus.num_tokens:,}"],
        ["tokens a sentence", f"mean {filled.mean():.1f}, median {np.median(filled):g}, longest {int(filled.max()):,}"],
    ]
    if found.new is not None:
        share = f"{int(found.new.sum()):,} of {corpus.num_tokens:,} ({100 * found.new.mean():.1f} %)"
        facts.append(["tokens whose word is new to the model", share])
    blocks: list[Block] = [TextTable("The data", ["what", "value"], facts, (0, 1)), _columns(corpus)]
    edges = np.unique(np.linspace(0, int(filled.max()), LENGTH_BARS + 1).astype(int))
    counts = np.histogram(filled, bins=edges + 0.5)[0].tolist()
    names = [f"{low + 1}" if low + 1 == high else f"{low + 1}–{high}" for low, high in pairwise(edges.tolist())]
    title = "Sentences by length"
    bars = list(zip(names, counts, strict=True))
    blocks.append(Picture(bar_chart(title, bars, "tokens", "sentences"), title))
    blocks.append(Fold("The numbers", [TextTable(title, ["tokens", "sentences"], [[n, f"{c:,}"] for n, c in bars])]))
    blocks += [frequency_table(found.evaluation, label) for label in found.evaluation.gold]
    return Section("data", "Data", blocks)


def _columns(corpus: Corpus) -> TextTable:
    rows = []
    for name, column in corpus.columns.items():
        distinct = f"{len(np.unique(column.codes)):,}" if isinstance(column, InternedColumn | BagColumn) else ""
        rows.append([name, column.holds, distinct])
    return TextTable("Columns", ["column", "holds", "distinct values"], rows, (0, 1))


def frequency_table(evaluation: Evaluation, label: str) -> TextTable:
    """How often each state is gold, and how often it was predicted, where one gold state is known."""
    names, size = evaluation.states[label], len(evaluation.states[label])
    gold, predicted = (np.asarray(of[label]) for of in (evaluation.gold, evaluation.predicted))
    known = gold >= UNSEEN
    golds, ours = (np.bincount(codes[known & (codes >= 0)], minlength=size) for codes in (gold, predicted))
    order = [k for k in np.argsort(-golds, kind="stable").tolist() if golds[k] or ours[k]]
    rows = [
        [names[k], f"{golds[k]:,}", f"{100 * golds[k] / max(1, golds.sum()):.2f}", f"{ours[k]:,}"]
        for k in order[:MOST_STATES]
    ]
    if rest := order[MOST_STATES:]:
        share = 100 * golds[rest].sum() / max(1, golds.sum())
        rows.append([f"{len(rest):,} more", f"{golds[rest].sum():,}", f"{share:.2f}", f"{ours[rest].sum():,}"])
    where = "" if known.all() else f", at the {known.sum():,} tokens with one gold state"
    caption = f"States of {label}{where}"
    return TextTable(caption, ["state", "gold", "%", "predicted"], rows)


# template and record ----------------------------------------------------------------------------------------------


def template_section(found: Findings) -> Section:
    """The template as text, with highlighting."""
    return Section("template", "Template", [template_listing(found.template)])


def record_section(found: Findings) -> Section:
    """What this report and its model are made of: versions, hashes, seeds."""
    return Section(
        "record", "Record", [TextTable("Versions, hashes and seeds", ["what", "value"], found.identity, (0, 1))]
    )
