"""`tag --pretty`: sentences with their labels for reading, coloured by state or segment type on a terminal.

    sentence 2, test.txt:8
      slot    play [ARTIST the moon cats] please        segments in brackets, with their type
      pos     play/V the/D moon/N cats/N please         other labels behind their words; `O` and `_` are left out
      intent  PlayMusic                                 a label that is the same all along

    sentence 3, test.txt:14
             the  cats                                  where several labels differ from word to word, below the words,
      slot   .    B-ARTIST                              which go on below where the line is full
      pos    D    N

    sentence 4, test.txt:17
      state  walk 1–52, run 53–150                      a sequence of numbers, by position from 1

Not here: predicting (`tagging`), the formats that programs read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from ..data import mark_table, runs_of, segments_of, word_column
from ..foundation import printable
from ..semantics import bare_marks, has_segments, split_mark
from .label_report import NO_LABEL

if TYPE_CHECKING:
    from ..data import Corpus

COLOURS = (
    "cyan", "green", "yellow", "magenta", "blue", "red",
    "bright_cyan", "bright_green", "bright_yellow", "bright_magenta", "bright_blue", "bright_red",
)  # fmt: skip
OUTSIDE = ("O", NO_LABEL)
WIDTH = 100  # of lines that go to no terminal
_ALONE = 2  # from so many words on, one state for all of them is written once


class PrettySentences:
    """The lines of sentences, part after part. states: of each label of the model, in order."""

    def __init__(self, states: Mapping[str, Sequence[str]]) -> None:
        self._has_segments = {label: has_segments(texts) for label, texts in states.items()}
        self._states = states
        self._colour: dict[str, dict[str, str]] = {}
        for label, texts in states.items():
            marked, bare = self._has_segments[label], bare_marks(texts)
            kinds = [(split_mark(text, bare=bare) or ("", text))[1] if marked else text for text in texts]
            named = dict.fromkeys(kind for kind in kinds if kind and kind not in OUTSIDE)
            self._colour[label] = {kind: COLOURS[n % len(COLOURS)] for n, kind in enumerate(named)}
        self._margin = max(map(len, states), default=0)
        self._before = 0

    def lines(self, corpus: Corpus, columns: Mapping[str, Sequence[str]], width: int = WIDTH) -> Iterator[Text]:
        """The lines of a part. columns: the predicted states of its tokens, by label.   width: of a line."""
        name = word_column(corpus, self._colour)
        off = corpus.sentence_off.tolist()
        for s in range(corpus.num_sentences):
            first, last = off[s], off[s + 1]
            if self._before:
                yield Text()
            self._before += 1
            yield Text(printable(f"sentence {self._before:,}, {corpus.file}:{corpus.token_line[first]}"), style="bold")
            of_labels = {label: texts[first:last] for label, texts in columns.items()}
            if name is None:
                yield from self._by_label(of_labels, self._in_runs)
                continue
            words = [printable(corpus.text_column(name).text(t)) for t in range(first, last)]
            apart = [label for label, states in of_labels.items() if len(set(states)) > 1]
            if len(apart) > 1:
                yield from self._below(words, {label: of_labels[label] for label in apart}, width)
                of_labels = {label: states for label, states in of_labels.items() if label not in apart}
            yield from self._by_label(of_labels, partial(self._sentence, words=words), shows_name=len(columns) > 1)

    def _by_label(
        self, columns: Mapping[str, Sequence[str]], show: Callable[..., Text], *, shows_name: bool | None = None
    ) -> Iterator[Text]:
        for label, states in columns.items():
            is_named = len(columns) > 1 if shows_name is None else shows_name
            yield Text().append(self._head(label) if is_named else "  ", "dim").append_text(show(label, states=states))

    def _head(self, name: str) -> str:
        return f"  {printable(name):<{self._margin}}  "

    def _below(self, words: Sequence[str], columns: Mapping[str, Sequence[str]], width: int) -> Iterator[Text]:
        """The states of several labels below their words, in columns; blocks of these where the line is full."""
        rows = [[Text(word) for word in words]]
        for label, states in columns.items():
            rows.append([self._cell(label, state) for state in states])
        widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
        first, margin = 0, len(self._head(""))
        while first < len(words):
            last, used = first + 1, margin + widths[first]
            while last < len(words) and used + 2 + widths[last] <= width:
                used, last = used + 2 + widths[last], last + 1
            for name, row in zip(("", *columns), rows, strict=True):
                line = Text().append(self._head(name), "dim")
                for cell, size in zip(row[first:last], widths[first:last], strict=True):
                    line.append_text(cell).append(" " * (size - cell.cell_len + 2))
                line.rstrip()
                yield line
            first = last

    def _cell(self, label: str, state: str) -> Text:
        if state in OUTSIDE:
            return Text(".", style="dim")
        bare = bare_marks(self._states[label])
        kind = (split_mark(state, bare=bare) or ("", state))[1] if self._has_segments[label] else state
        return Text(printable(state), style=self._colour[label].get(kind, ""))

    def _sentence(self, label: str, words: Sequence[str], states: Sequence[str]) -> Text:
        if all(state == NO_LABEL for state in states):
            return Text("no labelling is possible", style="bold")
        if self._has_segments[label]:
            pieces = self._segments(label, words, states)
        elif len(words) >= _ALONE and len(set(states)) == 1 and states[0] not in OUTSIDE:
            pieces = [Text(printable(states[0]), style=self._colour[label].get(states[0], ""))]
        else:
            pieces = [self._word(label, word, state) for word, state in zip(words, states, strict=True)]
        return Text(" ").join(pieces)

    def _in_runs(self, label: str, states: Sequence[str]) -> Text:
        """Runs of one state, or segments, with their positions: `walk 1–52, run 53`."""
        if all(state == NO_LABEL for state in states):
            return Text("no labelling is possible", style="bold")
        kinds: list[str | tuple[str, int]] = [*states]
        runs = []
        for first, last, kind in self._found(label, states) if self._has_segments[label] else ():
            kinds[first : last + 1] = [(kind, first)] * (last + 1 - first)  # apart from one of its type that touches it
        for state, first, last in runs_of(kinds):
            name = state[0] if isinstance(state, tuple) else state
            at = f"{first + 1}" if first == last else f"{first + 1}–{last + 1}"
            runs.append(Text(f"{printable(name)} {at}".lstrip(), style=self._colour[label].get(name, "")))
        return Text(", ").join(runs)

    def _word(self, label: str, word: str, state: str) -> Text:
        text = Text(word)
        return text if state in OUTSIDE else text.append(f"/{printable(state)}", self._colour[label].get(state, ""))

    def _segments(self, label: str, words: Sequence[str], states: Sequence[str]) -> list[Text]:
        pieces, done = list[Text](), 0
        for start, end, kind in self._found(label, states):
            pieces += map(Text, words[done:start])
            text = " ".join([*([printable(kind)] if kind else []), *words[start : end + 1]])  # bare marks have no type
            pieces.append(Text(f"[{text}]", style=self._colour[label].get(kind, "")))
            done = end + 1
        return [*pieces, *map(Text, words[done:])]

    def _found(self, label: str, states: Sequence[str]) -> list[tuple[int, int, str]]:
        """The segments of a sentence: first and last token, and type."""
        distinct = list(dict.fromkeys((*self._states[label], *states)))
        mark, kind, types = mark_table(distinct)
        codes = np.array([distinct.index(state) for state in states])
        found = segments_of(codes, mark, kind, np.array([0, len(states)]))
        return [(a, b, types[k]) for a, b, k in zip(*(column.tolist() for column in found), strict=True)]
