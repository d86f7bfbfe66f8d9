"""`tag --pretty`: sentences with their labels for reading, coloured by state or segment type on a terminal.

    sentence 2, test.txt:8
      slot    play [ARTIST the moon cats] please        segments in brackets, with their type
      pos     play/V the/D moon/N cats/N please         other labels behind their words; `O` and `_` are left out
      intent  PlayMusic                                 a label that is the same all along

Not here: predicting (`tagging`), the formats that programs read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ..foundation import printable
from .wrong_sentences import NO_LABEL, word_column

if TYPE_CHECKING:
    from ..data import Corpus

__all__ = ["PrettySentences"]

COLOURS = (
    "cyan", "green", "yellow", "magenta", "blue", "red",
    "bright_cyan", "bright_green", "bright_yellow", "bright_magenta", "bright_blue", "bright_red",
)  # fmt: skip
OUTSIDE = ("O", NO_LABEL)
_ALONE = 2  # from so many words on, one state for all of them is written once


class PrettySentences:
    """The lines of sentences, part after part. states: of each label of the model, in order."""

    def __init__(self, states: Mapping[str, Sequence[str]]) -> None:
        from ..data import has_segments, split_mark

        self._has_segments = {label: has_segments(texts) for label, texts in states.items()}
        self._colour: dict[str, dict[str, str]] = {}
        for label, texts in states.items():
            kinds = [(split_mark(text) or ("", text))[1] if self._has_segments[label] else text for text in texts]
            named = dict.fromkeys(kind for kind in kinds if kind and kind not in OUTSIDE)
            self._colour[label] = {kind: COLOURS[n % len(COLOURS)] for n, kind in enumerate(named)}
        self._margin = max(map(len, states), default=0)
        self._before = 0

    def lines(self, corpus: Corpus, columns: Mapping[str, Sequence[str]]) -> Iterator[Text]:
        """The lines of a part. columns: the predicted states of its tokens, by label."""
        name = word_column(corpus, self._colour)
        off = corpus.sentence_off.tolist()
        for s in range(corpus.num_sentences):
            first, last = off[s], off[s + 1]
            if self._before:
                yield Text()
            self._before += 1
            yield Text(printable(f"sentence {self._before:,}, {corpus.file}:{corpus.token_line[first]}"), style="bold")
            words = [str(t - first + 1) for t in range(first, last)]
            if name is not None:
                words = [printable(corpus.text_column(name).text(t)) for t in range(first, last)]
            for label, texts in columns.items():
                head = f"  {printable(label):<{self._margin}}  " if len(columns) > 1 else "  "
                yield Text().append(head, "dim").append_text(self._sentence(label, words, texts[first:last]))

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

    def _word(self, label: str, word: str, state: str) -> Text:
        text = Text(word)
        return text if state in OUTSIDE else text.append(f"/{printable(state)}", self._colour[label].get(state, ""))

    def _segments(self, label: str, words: Sequence[str], states: Sequence[str]) -> list[Text]:
        import numpy as np

        from ..data import mark_table, segments_of

        distinct = list(dict.fromkeys(states))
        mark, kind, types = mark_table(distinct)
        codes = np.array([distinct.index(state) for state in states])
        found = segments_of(codes, mark, kind, np.array([0, len(states)]))
        pieces, done = list[Text](), 0
        for start, end, number in zip(*(column.tolist() for column in found), strict=True):
            pieces += map(Text, words[done:start])
            text = " ".join([printable(types[number]), *words[start : end + 1]])
            pieces.append(Text(f"[{text}]", style=self._colour[label].get(types[number], "")))
            done = end + 1
        return [*pieces, *map(Text, words[done:])]
