"""Sentences with a wrong label, for people and programs. Not here: what is right (`metrics.evaluation`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from ..data import runs_of
from ..foundation import printable

if TYPE_CHECKING:
    from ..data import Corpus
    from ..metrics import Evaluation

NO_LABEL = "_"  # as `tag` writes it


class _Mistake(NamedTuple):
    """token: its number in the sentence, from 1."""

    token: int
    label: str
    gold: str
    predicted: str


class _Sentence(NamedTuple):
    """A sentence with mistakes. number: from 1, of all sentences.   words: None if it has none."""

    number: int
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

    def add(self, evaluation: Evaluation, corpus: Corpus) -> None:
        """Those of a part of the data."""
        import numpy as np

        from ..data import word_column

        wrong = {y: evaluation.scored(y) & ~evaluation.right(y) for y in evaluation.gold}
        tokens = np.flatnonzero(np.logical_or.reduce(list(wrong.values())))
        sentences = np.unique(np.searchsorted(corpus.sentence_off, tokens, side="right") - 1).tolist()
        words = word_column(corpus, evaluation.gold)
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
        return [
            {
                "sentence": one.number,
                "file": one.file,
                "line": one.line,
                "words": one.words,
                "mistakes": [mistake._asdict() for mistake in one.mistakes],
            }
            for one in self._kept
        ]

    def lines(self) -> Iterator[Text]:
        """A line for each sentence, its words, and a line for each mistake; without words, for each run of one."""
        for one in self._kept:
            yield Text()
            yield Text(printable(f"sentence {one.number:,}, {one.file}:{one.line}"), style="bold")
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


def _state(evaluation: Evaluation, label: str, token: int) -> str:
    code = int(evaluation.predicted[label][token])
    return evaluation.states[label][code] if code >= 0 else NO_LABEL
