"""The sections on the model and the data: training, weights, transitions, unrolled graphs, data.

Not here: how good the labels are (`quality_sections`), what the page looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from ...data import BagColumn, Corpus, InternedColumn, word_column
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
from .charts import Series, bar_chart, line_chart, posterior_chart
from .findings import Findings, Section, TransitionWeights

LENGTH_BARS = 20
MOST_STATES = 40  # in the table of frequencies
MOST_SENTENCES = 3  # whose probabilities are drawn where no graph is


def training_blocks(stages: Sequence[Mapping[str, Any]], trials: Sequence[Mapping[str, Any]]) -> list[Block]:
    """What there is to say of a training, also outside a report: the stages, and for each its learning curves.

    stages: the fields of their records, the first stage first, with types or as a model file keeps them.
    """
    if not stages:
        return [Paragraph("The model says nothing about its training.", kind="note")]
    blocks: list[Block] = []
    for number, record in enumerate(stages, 1):
        name, settings = record["stage"], record["settings"]
        blocks.append(Heading(f"Stage {number}: {name}" if len(stages) > 1 else f"Stage {name}"))
        blocks.append(TextTable(f"How stage {name} went", ["what", "value"], _facts(record), (0, 1)))
        blocks += [Paragraph(note, kind="note") for note in record["notes"]]
        blocks += _curves(name, [Iteration(*step) for step in record.get("curve", ())])
        if settings:
            rows = [[setting, setting_words(value)] for setting, value in settings.items()]
            blocks.append(Fold("Every setting", [TextTable(f"Settings of {name}", ["setting", "value"], rows, (0, 1))]))
    if trials:
        blocks += [Heading("Search of constants"), _trials(trials)]
    return blocks


def _facts(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What there is to say of a stage in few words."""
    settings = record["settings"]
    facts = [(name, setting_words(settings.get(name, ""))) for name in ("criterion", "optimizer", "prior")]
    facts += [
        ("inference", record["inference"]),
        ("objective at the end", figure(record["objective"])),
        ("iterations", f"{record['iterations']:,}, with {record['evaluations']:,} evaluations"),
        ("converged", f"{'yes' if record['converged'] else 'no'}: {record['reason']}"),
        ("time", f"{record['seconds']:,.1f} s"),
        ("training data", f"{record['sentences']:,} sentences, {record['tokens']:,} tokens"),
        ("hash of the training data", record["data_sha256"]),
    ]
    for name, field in (("gradient norm", "gradient_norm"), ("at most above the minimum", "gap")):
        if record.get(field) is not None:
            facts.append((name, f"{record[field]:.3g}"))
    return facts


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


def _curves(stage: str, curve: Sequence[Iteration]) -> Iterator[Block]:
    if len(curve) < 2:
        return
    metric = curve[-1].metric
    # scores on held-out data are shares in per cent, or log-likelihoods, which are negative
    unit = "in nats" if any(point.dev is not None and point.dev < 0.0 for point in curve) else "in %"
    dev_name = f"{metric or 'score'}, {unit}"
    objectives = [(point.start, float(point.iteration), point.objective) for point in curve]
    scores = [(point.start, float(point.iteration), _shown(point.dev)) for point in curve if point.dev is not None]
    for name, points, of_what, y_name in (
        ("objective", objectives, "Objective, in nats,", "objective, in nats"),
        (metric or "dev", scores, f"Held-out data: {dev_name},", unit),
    ):
        lines = [
            Series(f"start {start}" if start else name, [(x, y) for _, x, y in of_start])
            for start, of_start in groupby(points, key=lambda point: point[0])
        ]
        title = f"{of_what} by iteration, stage {stage}"
        if drawn := line_chart(title, lines, "iteration", y_name):
            yield Picture(drawn, title)
    last = curve if len(curve) <= 40 else [*curve[:: -(-len(curve) // 40)], curve[-1]]
    rows = [
        [str(point.iteration), figure(point.objective), "" if point.dev is None else f"{_shown(point.dev):.2f}"]
        for point in last
    ]
    head = ["iteration", "objective", f"held-out data: {dev_name}"]
    yield Fold("The numbers", [TextTable(f"Curve of {stage}", head, rows)])


def _shown(dev: float) -> float:
    return 100.0 * dev if dev >= 0.0 else dev


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


def transition_blocks(transitions: Sequence[TransitionWeights]) -> list[Block]:
    """The bias weights of cliques of two sites as heat maps, with what these leave out; also outside a report."""
    if not transitions:
        return [Paragraph("No clique of two sites has weights for pairs of states alone.")]
    words = "From the row's state to the column's: more than 0 makes the pair likelier. A dash: it has no weight."
    left_out = [
        f"{one.clique}: {one.left_out[0]:,} rows and {one.left_out[1]:,} columns of rarer states are left out."
        for one in transitions
        if any(one.left_out)
    ]
    return [Paragraph(words), *map(_transitions, transitions), *(Paragraph(note, kind="note") for note in left_out)]


def _transitions(found: TransitionWeights) -> HeatTable:
    largest = max(1e-12, float(np.nanmax(np.abs(found.weights), initial=0.0)))
    rows = [
        HeatRow(
            state,
            [
                Cell("–") if np.isnan(weight) else Cell(f"{weight:+.2f}", signed_shade(weight / largest))
                for weight in weights.tolist()
            ],
        )
        for state, weights in zip(found.states[0], found.weights, strict=True)
    ]
    corner = f"{found.sites[0]} ↓ {found.sites[1]} →"
    return HeatTable(f"Weights of {found.clique}", corner, found.states[1], rows)


def graph_section(found: Findings) -> Section:
    """Sentences as unrolled graphs with their probabilities; the probabilities alone where all are long."""
    blocks: list[Block] = []
    for one in found.sentences:
        blocks.append(Heading(f"Sentence {one.number:,}"))
        caption = f"Factor graph of sentence {one.number:,}: circles are labels, wrong ones dashed; squares are factors"
        blocks.append(Picture(inline_svg(svg(one.drawing)), caption, kind="graph"))
        table = TextTable(f"Labels of sentence {one.number:,}", one.head, one.rows, tuple(range(len(one.head))))
        blocks += [Fold("Labels and probabilities as a table", [table]), *_posteriors(found, one.number - 1)]
    if not blocks:
        blocks.append(Paragraph("No sentence is short enough to be drawn. `--sentence N` draws one all the same."))
        chosen = dict.fromkeys(map(found.corpus.sentence_of, found.errors.token[:1000].tolist()))
        for number in list(chosen)[:MOST_SENTENCES] or [int(np.argmax(found.corpus.lengths()))]:
            blocks += _posteriors(found, number)
    else:
        words = (
            "A pointer on a circle or square brings up its probabilities or features; so do Tab and the arrow keys. "
            "Numbers below the words count from 0."
        )
        blocks.insert(0, Paragraph(words))
    return Section("graph", "Unrolled graph", blocks)


def _posteriors(found: Findings, number: int) -> Iterator[Block]:
    """The probabilities of the labels of a sentence, from 0."""
    first, end = found.corpus.sentence_off[number : number + 2].tolist()
    word = word_column(found.corpus, list(found.evaluation.gold))
    text = str if word is None else found.corpus.text_column(word).text
    for label, table in found.marginals.items() if end > first else ():
        wrong = (found.evaluation.scored(label) & ~found.evaluation.right(label))[first:end]
        title, states = f"Probabilities of {label} in sentence {number + 1:,}", found.evaluation.known_states(label)
        drawn = posterior_chart(title, states, table[first:end], list(map(text, range(first, end))), wrong)
        yield Picture(drawn, f"{title}; a mark below the axis: the label is wrong")


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
