"""What notebooks show of predictions, models and training records. Long ones are cut, and say what is left out.

Not here: HTML (`foundation.html_blocks`), charts and tables that reports share (`reporting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..data import Corpus, InternedColumn, mark_table, segments_of, word_column
from ..foundation import (
    Block,
    Codes,
    Fold,
    LabelledText,
    Paragraph,
    Stretch,
    TextTable,
    notebook_html,
)
from ..semantics import OUTSIDE, has_segments, template_listing, to_text
from .model_summary import stages_of, transition_weights
from .reporting import training_blocks, transition_blocks

if TYPE_CHECKING:
    from .prediction import Prediction
    from .record import TrainingRecord
    from .trained_model import TrainedModel

MOST_SENTENCES, MOST_TOKENS = 20, 600  # of a prediction
MOST_WEIGHTS = 20
MOST_SORTED = 5_000_000  # weights among which the strongest are looked for, within a second or so
MOST_NAMED = 12  # states of a label
MOST_MAPS = 5  # of transitions
NEXT_LAYER = 3  # hues between the first labels of two layers


# predictions --------------------------------------------------------------------------------------------------------


def prediction_html(prediction: Prediction) -> str:
    """The first sentences with their labels: segments are marked, other labels stand below their words."""
    return notebook_html(_prediction_blocks(prediction))


def _prediction_blocks(prediction: Prediction) -> Iterator[Block]:
    corpus = prediction.corpus
    if corpus is None:
        yield Paragraph(f"{prediction!r} has no words to show.")
        return
    labels = list(prediction.codes)
    yield Paragraph(
        f"{corpus.num_sentences:,} sentence{'s' * (corpus.num_sentences != 1)}, {corpus.num_tokens:,} tokens, labelled "
        f"by {', '.join(f'`{label}`' for label in labels)}."
    )
    yield from _troubles(prediction)
    stacked = len(labels) != 1 or not has_segments(prediction.states[labels[0]])
    sentences = 0
    for number, (first, last) in enumerate(_shown_ranges(corpus)):
        words = _words(corpus, labels, first, last)
        stretches = _columns(prediction, words, first) if stacked else _segments(prediction, labels[0], words, first)
        rest = int(corpus.sentence_off[number + 1]) - last
        if rest:
            stretches.append(Stretch(f"… and {rest:,} more tokens"))
        yield LabelledText(f"{number + 1}", stretches, stacked)
        sentences = number + 1
    if hidden := corpus.num_sentences - sentences:
        left = corpus.num_tokens - int(corpus.sentence_off[sentences])
        left_out = f"{hidden:,} more sentence{'s' * (hidden != 1)} with {left:,} tokens are left out."
        yield Paragraph(left_out, kind="note")


def _shown_ranges(corpus: Corpus) -> Iterator[tuple[int, int]]:
    """First token and end of each sentence that is shown; the last of them may be cut."""
    for number in range(min(MOST_SENTENCES, corpus.num_sentences)):
        first, last = (int(at) for at in corpus.sentence_off[number : number + 2])
        if first >= MOST_TOKENS:
            return
        yield first, min(last, MOST_TOKENS)


def _troubles(prediction: Prediction) -> Iterator[Block]:
    status = prediction.status
    if impossible := status.impossible:
        first = ", ".join(f"{s + 1:,}" for s in impossible[:10])
        more = f" and {len(impossible) - 10:,} more" if len(impossible) > 10 else ""
        yield Paragraph(
            f"No labelling is possible in sentence {first}{more}; its labels are the first states.", kind="note"
        )
    if not status.converged:
        yield Paragraph(
            f"Inference did not converge on {status.not_converged:,} of {status.graphs:,} sentences.", kind="note"
        )


def _words(corpus: Corpus, labels: Sequence[str], first: int, last: int) -> list[str]:
    """The words of some tokens, or their numbers in the sentence where the data has none."""
    name = word_column(corpus, labels)
    column = None if name is None else corpus.columns[name]
    if isinstance(column, InternedColumn):
        return [column.text(t) for t in range(first, last)]
    return [str(t + 1) for t in range(last - first)]


def _segments(prediction: Prediction, label: str, words: Sequence[str], first: int) -> list[Stretch]:
    """Runs of words outside segments, and segments with their types."""
    codes = prediction.codes[label][first : first + len(words)]
    mark, kind, names = mark_table(prediction.states[label])
    found = segments_of(codes, mark, kind, np.array([0, len(words)], np.int64))
    stretches, at = [], 0
    for start, end, number in zip(found.start.tolist(), found.end.tolist(), found.kind.tolist(), strict=True):
        if start > at:
            stretches.append(Stretch(" ".join(words[at:start])))
        stretches.append(Stretch(" ".join(words[start : end + 1]), [(names[number], number)]))
        at = end + 1
    if at < len(words):
        stretches.append(Stretch(" ".join(words[at:])))
    return stretches


def _columns(prediction: Prediction, words: Sequence[str], first: int) -> list[Stretch]:
    """Each word with its label of every layer."""
    layers = [
        [(text, hue + NEXT_LAYER * number) for text, hue in _layer(prediction, label, first, len(words))]
        for number, label in enumerate(prediction.codes)
    ]
    return [Stretch(word, labels) for word, *labels in zip(words, *layers, strict=True)]


def _layer(prediction: Prediction, label: str, first: int, length: int) -> list[tuple[str, int]]:
    """Text and hue of a label at some tokens. States of one type of segment have one hue, and O has no text."""
    states, codes = prediction.states[label], _plain(prediction.codes[label][first : first + length])
    if not has_segments(states):
        return [(states[code], code) for code in codes]
    kind = mark_table(states)[1].tolist()
    return [("" if states[code] == OUTSIDE else states[code], kind[code]) for code in codes]


def _plain(codes: Codes) -> list[int]:
    return [int(code) for code in codes]


# training -----------------------------------------------------------------------------------------------------------


def record_html(record: TrainingRecord) -> str:
    """The stages of a training with their curves."""
    return notebook_html(_training(record))


def _training(record: TrainingRecord) -> list[Block]:
    return training_blocks(stages_of(record), record.tuning.get("trials", ()))


# models -------------------------------------------------------------------------------------------------------------


def model_html(model: TrainedModel) -> str:
    """What a model consists of: facts, its strongest weights, and on demand transitions, training and template."""
    return notebook_html(_model_blocks(model))


def _model_blocks(model: TrainedModel) -> Iterator[Block]:
    record = model.record
    facts = [
        *((f"label {label}", _states(model.states[label])) for label in model.labels),
        *((name, _states(states)) for name, states in model.states.items() if name not in model.labels),
        ("weights", f"{model.num_weights:,}"),
        ("inference", model.inference_method),
        ("decoding", model.decode),
    ]
    if record.stage:
        how = "converged" if record.converged else "not converged"
        facts.append((f"stage {record.stage}", f"{record.end} after {record.iterations:,} iterations, {how}"))
    yield TextTable("A trained model", ["what", "value"], facts, (0, 1))
    yield from _strongest(model)
    if maps := transition_weights(model):
        shown = transition_blocks(maps[:MOST_MAPS])
        if len(maps) > MOST_MAPS:
            shown.append(Paragraph(f"{len(maps) - MOST_MAPS:,} more cliques are left out.", kind="note"))
        yield Fold("Transitions", shown)
    yield Fold("Training", _training(record))
    yield Fold("Template", [template_listing(to_text(model.spec))])


def _states(states: Sequence[str]) -> str:
    more = f" … and {len(states) - MOST_NAMED:,} more" if len(states) > MOST_NAMED else ""
    return f"{len(states):,} states: {' '.join(states[:MOST_NAMED])}{more}"


def _strongest(model: TrainedModel) -> Iterator[Block]:
    if model.num_weights > MOST_SORTED:
        yield Paragraph("`strongest_weights(20)` lists the strongest weights: they are too many to be sorted here.")
        return
    rows = [
        [clique, feature, " ".join(states), f"{weight:+.4f}"]
        for clique, feature, states, weight in model.strongest_weights(MOST_WEIGHTS)
    ]
    if rows:
        caption = f"The strongest {len(rows):,} of {model.num_weights:,} weights"
        yield Fold(caption, [TextTable(caption, ["clique", "feature", "states", "weight"], rows, (0, 1, 2))])
