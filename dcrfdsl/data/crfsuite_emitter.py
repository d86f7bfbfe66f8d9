"""A corpus written as data of CRFsuite: a label, then attributes with their weights. See `emitters`.

The first column is the label. A weighted bag gives its items. Any other column gives attributes of its own: a text the
attribute `name=text`, a bag one for each of its texts, a number `name` with that weight, and a vector `name[0]`,
`name[1]` … Not here: escapes (`weighted_bags`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ..foundation import ASCII_SPACE
from .corpus import Corpus
from .emitters import NO_ZERO, Export, cell_texts, refuse_leading_mark, unwritable, values_of
from .featured_lines import WEIGHT
from .weighted_bags import Item, escaped, text_of_item


class CrfsuiteEmitter:
    """A token a line, split by TABs, a blank line after each sentence."""

    leaves_out: ClassVar[str] = "there is no place for it"

    def __init__(self, export: Export):
        self._export = export
        self._begun = False

    def write(self, corpus: Corpus) -> bytes:
        label, *others = self._export.columns
        labels = cell_texts(corpus, label.name, self._export)
        values = {column.name: values_of(corpus, column.name, self._export.types[column.name]) for column in others}
        items = {name: _ITEMS[self._export.types[name].name] for name in values}
        lines, ends = [], set((corpus.sentence_off[1:] - 1).tolist())
        for token in range(corpus.num_tokens):
            cells = [self._label(labels.text(token), label.name, corpus, token)]
            for name, column in values.items():
                cells += [
                    self._checked(text_of_item(*item), name, corpus, token) for item in items[name](name, column[token])
                ]
            lines.append("\t".join(cells))
            if token in ends:
                lines.append("")
        text = "".join(f"{line}\n" for line in lines)
        if text and not self._begun:
            refuse_leading_mark(corpus, label, text)
            self._begun = True
        return text.encode()

    def _label(self, text: str, name: str, corpus: Corpus, token: int) -> str:
        if text == WEIGHT:
            why = "such a line gives a sentence a weight in CRFsuite"
            raise unwritable(corpus, token, name, text, why, "write `jsonl`")
        if text and not text.strip(ASCII_SPACE):
            raise unwritable(corpus, token, name, text, "the line could be read as a blank one", "write `jsonl`")
        return self._checked(escaped(text), name, corpus, token)

    def _checked(self, cell: str, name: str, corpus: Corpus, token: int) -> str:
        if not cell or any(char in cell for char in "\t\n\r"):
            why = "labels and attributes of CRFsuite have no TAB and no line end and are not empty"
            raise unwritable(corpus, token, name, cell, why, "write `jsonl`")
        if "\0" in cell:
            raise unwritable(corpus, token, name, cell, NO_ZERO, "write `jsonl`")
        return cell

    def close(self) -> bytes:
        return b""


def _of_vector(name: str, numbers: Any) -> list[Item]:
    return [(f"{name}[{place}]", number) for place, number in enumerate(numbers)]


_ITEMS: Mapping[str, Callable[[str, Any], list[Item]]] = {
    "weighted_bag": lambda name, value: list(value.items()),
    "bag": lambda name, value: [(f"{name}={text}", 1.0) for text in value],
    "str": lambda name, value: [(f"{name}={value}", 1.0)],
    "int": lambda name, value: [] if value is None else [(name, float(value))],
    "float": lambda name, value: [] if value is None else [(name, value)],
    "vector": _of_vector,
}
