"""What `eval` and `cv` show of each label: scores by state and by segment type, confusions, sentences with mistakes.

For people and for programs. Not here: counting (`metrics.class_scores`), what is right (`metrics.evaluation`), choosing
what is printed (`evaluate_command`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from .. import data, metrics
from ..data import runs_of
from ..foundation import dataclass, printable
from .report import NUMBER, TEXT, WHOLE, cell, table, terminal
from .table_formats import Part

NO_LABEL = "_"  # as `tag` writes it
MOST_STATES = 40  # of a matrix that a person can read
MOST_MISTAKES = 20  # lines of the list that stands in for a larger one


def tables_json(tables: Mapping[str, metrics.LabelTables]) -> dict[str, Any]:
    return {
        label: {
            "by_state": _scores_json(one.by_state),
            **({} if one.by_type is None else {"by_type": _scores_json(one.by_type)}),
            "confusion": {
                "states": list(one.confusion.states),
                "counts": one.confusion.matrix.tolist(),
                "unlabelled": one.confusion.unlabelled.tolist(),
            },
        }
        for label, one in tables.items()
    }


def _scores_json(scores: metrics.ClassScores) -> dict[str, Any]:
    return {
        "classes": {name: row._asdict() for name, row in scores.rows.items()},
        **{name: row._asdict() for name, row in scores.averages.items()},
    }


def state_parts(tables: Mapping[str, metrics.LabelTables]) -> Iterator[Part]:
    """A table of scores for the states of each label."""
    for label, one in tables.items():
        yield _scores_table(f"by_state({label})", one.by_state)


def type_parts(tables: Mapping[str, metrics.LabelTables]) -> Iterator[Part]:
    """The same for the types of its segments."""
    for label, one in tables.items():
        if one.by_type is not None:
            yield _scores_table(f"by_type({label})", one.by_type)


def _scores_table(heading: str, scores: metrics.ClassScores) -> Table:
    rows = ([name, *_shown(row)] for name, row in scores.rows.items())
    made = table([(TEXT, [heading]), (NUMBER, ["precision", "recall", "f1", "support"])], rows)
    made.add_row()
    for name, row in scores.averages.items():
        made.add_row(name, *_shown(row), style="dim")
    return made


def _shown(row: metrics.ScoreRow) -> list[str]:
    return [*(f"{100 * share:.2f}" for share in row[:3]), f"{row.support:,}"]


def confusion_parts(tables: Mapping[str, metrics.LabelTables]) -> Iterator[Part]:
    """The confusion matrix of each label, or its commonest mistakes if it has many states."""
    for label, one in tables.items():
        drawn = _matrix(label, one.confusion)
        yield drawn or _mistakes(label, one.confusion)
        if drawn is None and (left_out := len(one.confusion.mistakes) - MOST_MISTAKES) > 0:
            yield f"… and {left_out:,} other confusions"


def _matrix(label: str, confusion: metrics.Confusion) -> Table | None:
    """A row for each gold state; None if it is larger than the screen."""
    states = confusion.states
    rows = confusion.matrix.tolist()
    columns = [*states]
    if confusion.unlabelled.any():
        columns.append(NO_LABEL)
        rows = [[*row, more] for row, more in zip(rows, confusion.unlabelled.tolist(), strict=True)]
    cells = (
        [cell(state), *(_count(count, is_right=gold == k) for k, count in enumerate(row))]
        for gold, (state, row) in enumerate(zip(states, rows, strict=True))
    )
    made = table([({"no_wrap": True}, [f"confusion({label})"]), (WHOLE, columns)], cells)
    return None if len(states) > MOST_STATES or (sys.stdout.isatty() and not _fits(made)) else made


def _fits(made: Table) -> bool:
    console = terminal(sys.stdout)
    return made.__rich_measure__(console, console.options.update(width=100_000)).maximum <= console.width


def _count(count: int, *, is_right: bool) -> Text:
    return Text(f"{count:,}" if count else ".", style="green" if is_right else "red" if count else "dim")


def _mistakes(label: str, confusion: metrics.Confusion) -> Table:
    """The commonest mistakes, with their share of the tokens of the gold state."""
    of_state: dict[str, int] = {name: row.support for name, row in confusion.scores.rows.items()}
    rows = (
        [gold, NO_LABEL if predicted is None else predicted, f"{count:,}", f"{100 * count / of_state[gold]:.2f}"]
        for gold, predicted, count in confusion.mistakes[:MOST_MISTAKES]
    )
    return table([(TEXT, [f"confusion({label})", "predicted"]), (NUMBER, ["count", "% of gold"])], rows)


# sentences with a wrong label ----------------------------------------------------------------------------------------


class _Mistake(NamedTuple):
    """token: its number in the sentence, from 1."""

    token: int
    label: str
    gold: str
    predicted: str


class _Sentence(NamedTuple):
    """A sentence with mistakes. sentence: its number, from 1, of all.   words: None if it has none."""

    sentence: int
    file: str
    line: int
    words: Sequence[str] | None
    mistakes: Sequence[_Mistake]

    def runs(self) -> Iterator[tuple[str, _Mistake]]:
        """The mistakes, the same one at neighbouring tokens once: at which tokens, `3` or `3–17`, and the first one."""
        for label in dict.fromkeys(mistake.label for mistake in self.mistakes):
            of_label = [mistake for mistake in self.mistakes if mistake.label == label]
            keys = [(one.gold, one.predicted, one.token - n) for n, one in enumerate(of_label)]
            for _, first, last in runs_of(keys):
                low, high = of_label[first].token, of_label[last].token
                yield str(low) if low == high else f"{low}–{high}", of_label[first]


@dataclass
class Mistakes:
    """The first sentences with a mistake. most: how many are kept.   found: how many there were."""

    most: int
    found: int = 0
    _before: int = 0  # sentences of earlier parts
    _kept: list[_Sentence] = field(default_factory=list)

    def add(self, evaluation: metrics.Evaluation, corpus: data.Corpus) -> None:
        """Those of a part of the data."""
        import numpy as np

        wrong = {y: evaluation.scored(y) & ~evaluation.right(y) for y in evaluation.gold}
        tokens = np.flatnonzero(np.logical_or.reduce(list(wrong.values())))
        sentences = np.unique(np.searchsorted(corpus.sentence_off, tokens, side="right") - 1).tolist()
        words = data.word_column(corpus, evaluation.gold)
        for s in sentences[: self.most - len(self._kept)]:
            first, last = int(corpus.sentence_off[s]), int(corpus.sentence_off[s + 1])
            mistakes = [
                _Mistake(t - first + 1, y, evaluation.gold_text(corpus, y, t), _state(evaluation, y, t))
                for t in range(first, last)
                for y in wrong
                if wrong[y][t]
            ]
            texts = None if words is None else [corpus.text_column(words).text(t) for t in range(first, last)]
            number, line = self._before + s + 1, int(corpus.token_line[first])
            self._kept.append(_Sentence(number, corpus.file, line, texts, mistakes))
        self.found += len(sentences)
        self._before += corpus.num_sentences

    def as_json(self) -> list[dict[str, Any]]:
        return [{**one._asdict(), "mistakes": [each._asdict() for each in one.mistakes]} for one in self._kept]

    def lines(self) -> Iterator[Text]:
        """A line for each sentence, its words, and a line for each mistake; without words, for each run of one."""
        for one in self._kept:
            yield Text()
            yield Text(printable(f"sentence {one.sentence:,}, {one.file}:{one.line}"), style="bold")
            wrong = {mistake.token for mistake in one.mistakes}
            if one.words is not None:
                words = [Text(printable(w), style="red" if n in wrong else "") for n, w in enumerate(one.words, 1)]
                yield Text("  ").append_text(Text(" ").join(words))
            for at, mistake in one.runs() if one.words is None else ((str(m.token), m) for m in one.mistakes):
                word = "" if one.words is None else f" {one.words[mistake.token - 1]}"
                line = Text(printable(f"  {at}{word}: {mistake.label} is "))
                line.append(printable(mistake.gold), style="green").append(", predicted ")
                yield line.append(printable(mistake.predicted), style="red")
        yield Text()
        yield Text(f"sentences with a mistake: {self.found:,}" + self._left_out())

    def _left_out(self) -> str:
        return f", of which the first {len(self._kept):,} are shown" if self.found > len(self._kept) else ""


def _state(evaluation: metrics.Evaluation, label: str, token: int) -> str:
    code = int(evaluation.predicted[label][token])
    return evaluation.states[label][code] if code >= 0 else NO_LABEL
