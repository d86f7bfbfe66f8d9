"""Columns that the models of this folder read beside those of the data: a second tagger's parts of speech, and what
stands beside the same word elsewhere in a text.

A sentence is a list of rows, a row the columns of a token. Not here: training (`run`), features (the templates).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from dcrfdsl import TrainedModel, corpus_from_rows

Rows = list[list[str]]
SPAN, MOST = 50, 8  # how many sentences away a word is looked for, and how many of its places count


def sentences_of(path: Path) -> list[Rows]:
    """The sentences of a file of columns."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    return [[line.split() for line in block.split("\n") if line.strip()] for block in blocks if block.strip()]


def with_tags(sentences: Sequence[Rows], tagger: TrainedModel | None, threads: int | None) -> list[Rows]:
    """Rows `word pos chunk` as `word pos tag chunk`; without a tagger the tag is `pos`."""
    tags = [pos for rows in sentences for _, pos, *_ in rows]
    if tagger is not None:
        words = [{"word": [row[0] for row in rows]} for rows in sentences]
        corpus = corpus_from_rows(words, tagger.spec.data, optional=["pos"])
        tags = list(tagger.predict(corpus, threads=threads).texts("pos"))
    each = iter(tags)
    return [[[word, pos, next(each), *rest] for word, pos, *rest in rows] for rows in sentences]


def with_ends(sentences: Sequence[Rows]) -> list[Rows]:
    """Rows whose last column is in IOB2, with a column more: E-X at the last token of a chunk, S-X at its only one."""
    found = []
    for rows in sentences:
        marks = [row[-1] for row in rows]
        after = [mark.startswith("I-") for mark in [*marks[1:], "O"]]
        found.append(
            [
                [*row, mark if goes_on or mark == "O" else {"B": "S", "I": "E"}[mark[0]] + mark[1:]]
                for row, mark, goes_on in zip(rows, marks, after, strict=True)
            ]
        )
    return found


def legal(sentences: Sequence[Rows]) -> list[Rows]:
    """Rows whose last column is in IOB2; an I-X that continues nothing reads as B-X, which conlleval counts alike."""
    found = []
    for rows in sentences:
        before = ["O", *(row[-1] for row in rows)]
        found.append(
            [
                [*row[:-1], "B" + row[-1][1:] if row[-1].startswith("I-") and last[1:] != row[-1][1:] else row[-1]]
                for row, last in zip(rows, before, strict=False)
            ]
        )
    return found


def with_neighbours(sentences: Sequence[Rows]) -> list[Rows]:
    """Rows `word pos ner` as `word pos around ner`.

    around: for a word with a capital, the neighbours of the same word in sentences that are at most `SPAN` away, of
    its `MOST` nearest places: `<` and the word before, `>` and the one after, split by spaces; `-` if there are none.
    """
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for n, rows in enumerate(sentences):
        for t, row in enumerate(rows):
            if row[0][:1].isupper():
                places[row[0]].append((n, t))
    found = []
    for n, rows in enumerate(sentences):
        found.append([[row[0], row[1], _around(sentences, places, n, t), *row[2:]] for t, row in enumerate(rows)])
    return found


def _around(sentences: Sequence[Rows], places: dict[str, list[tuple[int, int]]], sentence: int, token: int) -> str:
    others = [
        (abs(n - sentence), n, t)
        for n, t in places.get(sentences[sentence][token][0], ())
        if abs(n - sentence) <= SPAN and (n, t) != (sentence, token)
    ]
    beside: dict[str, None] = {}
    for _, n, t in sorted(others)[:MOST]:
        rows = sentences[n]
        if t > 0:
            beside["<" + rows[t - 1][0].lower()] = None
        if t + 1 < len(rows):
            beside[">" + rows[t + 1][0].lower()] = None
    return " ".join(beside) or "-"


def text_of(sentences: Sequence[Rows], separator: str = " ") -> str:
    """A file of columns."""
    return "".join("".join(separator.join(row) + "\n" for row in rows) + "\n" for rows in sentences)
