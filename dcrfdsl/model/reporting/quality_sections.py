"""The sections on how good the labels are: scores, confusions, errors, calibration.

Confusions say what is taken for what: states of a label, and types of segments. A gold segment is found if a predicted
one has the same first token, last token and type (conlleval). Otherwise it is

    of another type     a predicted segment has the same tokens and another type
    elsewhere           a predicted segment shares a token with it
    missed              none does

and a predicted segment that shares no token with a gold one is invented. Not here: the metrics (`metrics`), wrong
labels (`wrong_labels`), what the page looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ... import metrics
from ...data import Segments
from ...foundation import (
    Block,
    Cell,
    Floats,
    Fold,
    Heading,
    HeatRow,
    HeatTable,
    Ints,
    Mask,
    Paragraph,
    Picture,
    TextTable,
    whole_shade,
)
from ...semantics import has_segments
from .charts import Series, line_chart, reliability_chart
from .compared_models import comparison_tables
from .findings import ErrorBrowser, Findings, Section


class SegmentConfusion(NamedTuple):
    """types: of segments, [K], the most frequent first.

    same: [K, K] gold segments (rows) whose tokens are a predicted segment, by its type (columns).
    elsewhere, missed: [K] of gold segments.
    elsewhere_predicted, invented: [K] of predicted segments.
    """

    types: tuple[str, ...]
    same: Ints
    elsewhere: Ints
    missed: Ints
    elsewhere_predicted: Ints
    invented: Ints


def state_confusion(found: metrics.Confusion) -> tuple[list[str], Ints]:
    """The states, the most frequent gold state first, and how often one (row) was labelled so (column), [K, K]."""
    counts = found.matrix
    order = np.lexsort((-counts.sum(axis=0), -counts.sum(axis=1)))
    return [found.states[k] for k in order.tolist()], counts[np.ix_(order, order)]


def segment_confusion(evaluation: metrics.Evaluation, label: str) -> SegmentConfusion:
    """Counts of gold and predicted segments of a label with segments."""
    found, num_tokens = metrics.segments_compared(evaluation, label), evaluation.num_tokens
    golds, ours, types = found.golds, found.ours, found.types
    size = len(types)
    partner = metrics.same_tokens(golds, ours, num_tokens)
    matched = partner >= 0
    same = np.bincount(golds.kind[matched] * size + ours.kind[partner[matched]], minlength=size * size)
    alone = np.ones(len(ours.start), np.bool_)
    alone[partner[matched]] = False
    touched, touches = metrics.shares_a_token(golds, ours, num_tokens), metrics.shares_a_token(ours, golds, num_tokens)
    touches |= metrics.shares_a_token(ours, found.unsure, num_tokens)

    def counted(segments: Segments, chosen: Mask) -> Ints:
        return np.bincount(segments.kind[chosen], minlength=size).astype(np.int64)

    every = counted(golds, np.ones(len(golds.start), np.bool_)) + counted(ours, np.ones(len(ours.start), np.bool_))
    order = sorted(np.flatnonzero(every).tolist(), key=lambda k: (-int(every[k]), types[k]))
    return SegmentConfusion(
        tuple(types[k] for k in order),
        same.reshape(size, size)[np.ix_(order, order)].astype(np.int64),
        counted(golds, ~matched & touched)[order],
        counted(golds, ~matched & ~touched)[order],
        counted(ours, alone & touches)[order],
        counted(ours, alone & ~touches)[order],
    )


MOST_STATES = 25  # of a confusion matrix; the rest go into one row and column
MOST_PAIRS = 20
OTHERS = "all others"


def score_section(found: Findings) -> Section:
    """The template's metrics, and common scores with intervals."""
    counts = list(metrics.sentence_counts(found.evaluation, list(found.evaluation.gold), found.metrics))
    level, draws, seed = found.sampling
    intervals = metrics.bootstrap_intervals(
        [(one.counts, one.score) for one in counts], level=level, draws=draws, seed=seed
    )
    whole: list[tuple[metrics.SentenceCounts, metrics.Interval]] = []
    types: list[tuple[metrics.SentenceCounts, metrics.Interval]] = []
    for one, interval in zip(counts, intervals, strict=True):
        is_of_type = one.name.startswith("segments(") and ")." in one.name
        (types if is_of_type else whole).append((one, interval))
    blocks: list[Block] = [Paragraph(note[:1].upper() + note[1:], kind="note") for note in found.notes]
    scores = _score_table(f"Scores with {100 * level:g} % intervals", whole)
    more = [_row_of_terms(name, terms, found) for name, terms in found.terms.items() if len(terms)]
    blocks.append(replace(scores, rows=[*scores.rows, *more]))
    if types:
        blocks.append(_score_table("F1 of segments by type", types))
    blocks.append(
        Paragraph(
            f"Intervals: {draws:,} bootstrap samples of whole sentences, seed {seed}, percentiles. Scores of few "
            "sentences or segments have wide intervals: compare models by their difference (`dcrfdsl compare`)."
        )
    )
    rows = [[name, _value(value)] for name, value in found.values.items()]
    blocks.append(TextTable("The template's own metrics, and counts", ["metric", "value"], rows))
    if found.comparison is not None:
        words = f"p: of the difference from {found.comparison.models[0]}; p (Holm): for all tests of a table."
        blocks += [Heading("Beside other models"), Paragraph(words), *comparison_tables(found.comparison)]
    return Section("scores", "Scores", blocks)


def _row_of_terms(name: str, terms: Floats, found: Findings) -> list[str]:
    """A sum or mean over sentences as a row of the scores."""
    level, draws, seed = found.sampling
    value, unit, scale = (terms.sum(), ", in nats", 1.0) if name == "log_likelihood" else (terms.mean(), "", 100.0)
    size = 1 if name == "log_likelihood" else len(terms)

    def score(sums: Floats) -> Floats:
        return sums[..., 0] / size

    low, high = metrics.bootstrap_interval(terms[:, None], score, level=level, draws=draws, seed=seed)
    return [name + unit, f"{scale * value:.2f}", f"{scale * low:.2f} – {scale * high:.2f}", "", "", f"{len(terms):,}"]


def _score_table(caption: str, pairs: Sequence[tuple[metrics.SentenceCounts, metrics.Interval]]) -> TextTable:
    rows = []
    for one, interval in pairs:
        size = 3 if one.macro else one.counts.shape[1]
        sums = one.counts.reshape(-1, size).sum(axis=0).tolist()
        parts = [f"{sum_:,}" for sum_ in sums] if size == 3 else [f"{sums[0]:,}", "", f"{sums[1]:,}"]
        if one.name.endswith("_risk"):  # of what is wrong
            parts[0] = f"{sums[1] - sums[0]:,}"
        bounds = f"{100 * interval.low:.2f} – {100 * interval.high:.2f}"
        rows.append([one.name, f"{100 * one.value:.2f}", bounds, *parts])
    return TextTable(caption, ["score", "%", "interval", "right", "predicted", "gold or all"], rows)


def _value(value: float | int) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{100 * value:.2f} %" if 0.0 <= value <= 1.0 else f"{value:,.2f}"


def confusion_section(found: Findings) -> Section:
    """For each label the matrix of states, the pairs confused most often, and the confusion of segments."""
    blocks: list[Block] = []
    for label in found.evaluation.gold:
        blocks.append(Heading(label))
        blocks += _states(found, label)
        if has_segments(found.evaluation.known_states(label)):
            blocks += _segments(segment_confusion(found.evaluation, label), label)
    return Section("confusions", "Confusions", blocks)


def _states(found: Findings, label: str) -> Iterator[Block]:
    confused = metrics.confusion_of(found.evaluation, label)
    states, counts = state_confusion(confused)
    names, shown = states, counts
    if len(states) > MOST_STATES:  # the others as one; its diagonal holds what was right or confused among them
        place = np.minimum(np.arange(len(states)), MOST_STATES)
        shown = np.zeros((MOST_STATES + 1, MOST_STATES + 1), np.int64)
        np.add.at(shown, (place[:, None], place[None, :]), counts)
        names = [*states[:MOST_STATES], f"{OTHERS} ({len(states) - MOST_STATES})"]
    yield _matrix(f"States of {label}: gold in rows, predicted in columns", "gold ↓ predicted →", names, names, shown)
    pairs = [pair for pair in confused.mistakes if pair[1] is not metrics.NOTHING][:MOST_PAIRS]
    wrong = max(1, int(counts.sum() - np.trace(counts)))
    rows = [[gold, str(ours), f"{count:,}", f"{100 * count / wrong:.1f} %"] for gold, ours, count in pairs]
    if rows:
        yield TextTable(f"Most frequent confusions of {label}", ["gold", "predicted", "tokens", "of all"], rows, (0, 1))


def _matrix(caption: str, corner: str, rows: Sequence[str], columns: Sequence[str], counts: Ints) -> HeatTable:
    """Counts, shaded by their share of the row: hits on the diagonal, mistakes beside it."""
    sums = np.maximum(counts.sum(axis=1), 1)
    lines = []
    for a, head in enumerate(rows):
        cells = [
            Cell(f"{count:,}" if count else "", whole_shade(count / int(sums[a]), "hit" if a == b else "miss"))
            for b, count in enumerate(counts[a].tolist())
        ]
        lines.append(HeatRow(head, cells))
    return HeatTable(caption, corner, list(columns), lines)


def _segments(found: SegmentConfusion, label: str) -> Iterator[Block]:
    table = np.concatenate([found.same, found.elsewhere[:, None], found.missed[:, None]], axis=1)
    yield _matrix(
        f"Gold segments of {label}, by the predicted segment with the same tokens",
        "gold ↓ predicted →",
        found.types,
        [*found.types, "other tokens", "missed"],
        table,
    )
    rows = [
        [kind, f"{elsewhere:,}", f"{invented:,}"]
        for kind, elsewhere, invented in zip(
            found.types, found.elsewhere_predicted.tolist(), found.invented.tolist(), strict=True
        )
    ]
    yield TextTable(
        f"Predicted segments of {label} whose tokens are no gold segment",
        ["type", "shares a token with a gold one", "invented"],
        rows,
    )


def error_section(found: Findings, num_shown: int) -> Section:
    """The browser of errors. num_shown: on this page."""
    if not found.num_errors:
        return Section("errors", "Errors", [Paragraph("Every label with a known gold value is right.")])
    listed, explained = len(found.errors), len(found.whys)
    order = "the most confident first" if found.marginals else "in the order of the data"
    words = [f"{found.num_errors:,} wrong labels, {order}."]
    if listed < found.num_errors:
        words.append(f"The first {listed:,} are listed, {found.num_errors - listed:,} are left out.")
    if num_shown < listed:
        words.append(f"This page has {num_shown:,} of them, the next pages have the others.")
    if explained:
        words.append(f"The first {explained:,} that could be explained say why.")
    return Section("errors", "Errors", [Paragraph(" ".join(words)), ErrorBrowser(list(found.errors.labels), num_shown)])


def calibration_section(found: Findings) -> Section:
    """For each label how often it is right at which probability."""
    blocks: list[Block] = []
    for label, table in found.marginals.items():
        predicted = np.asarray(found.evaluation.predicted[label], np.int64)
        chosen = np.flatnonzero(found.evaluation.scored(label) & (predicted >= 0))
        if not len(chosen):
            continue
        sure, right = table[chosen, predicted[chosen]], found.evaluation.right(label)[chosen]
        blocks += [Heading(label), *_reliability(metrics.reliability_of(sure, right), label)]
        blocks += _selection(metrics.RiskCoverage.of(sure, right), label)
    if not blocks:
        blocks = [Paragraph("There are no probabilities to judge.", kind="note")]
    return Section("calibration", "Calibration", blocks)


def _selection(curve: metrics.RiskCoverage, label: str) -> Iterator[Block]:
    area = f"The area under the curve is {curve.area:.4f}."
    yield Paragraph(f"If only the surest labels were taken unseen, so many of them would be wrong. {area}")
    shares = np.arange(1, len(curve.risks) + 1) / len(curve.risks)
    line = Series(label, list(zip((100 * shares).tolist(), (100 * curve.risks).tolist(), strict=True)))
    title = f"Risk by coverage of {label}: wrong ones among the surest labels"
    yield Picture(line_chart(title, [line], "the surest labels, % of all", "wrong among them, %"), title)
    rows = [
        [f"{p:g}", f"{100 * share:.1f}", "" if share == 0 else f"{100 * right:.2f}"] for p, share, right in curve.table
    ]
    yield TextTable(f"Labels of {label} from a probability on", ["probability", "of all, %", "right, %"], rows)


def _reliability(bins: metrics.Reliability, label: str) -> Iterator[Block]:
    yield Paragraph(
        f"Expected calibration error: {100 * bins.error:.2f} %. The bars would end on the diagonal if probabilities "
        "were what they say."
    )
    yield Picture(
        reliability_chart(f"Reliability of {label}: share of right labels by probability", bins),
        f"Share of right labels of {label} by their probability",
    )
    rows = [
        [
            f"{bins.edges[n]:.1f} – {bins.edges[n + 1]:.1f}",
            f"{count:,}",
            f"{100 * bins.confidence[n]:.1f}" if count else "",
            f"{100 * bins.accuracy[n]:.1f}" if count else "",
        ]
        for n, count in enumerate(bins.counts.tolist())
    ]
    table = TextTable(f"Reliability of {label}", ["probability", "labels", "mean probability, %", "right, %"], rows)
    yield Fold("The numbers", [table])
