"""The X and y of the estimators as a corpus.

X is a list of sentences, a generator of them, a data frame with a row a token, or a `Corpus`. A corpus holds no empty
sentence; `Sentences` knows where they were, so that there is an answer for each. Not here: the forms that y takes
(`label_forms`), what a column holds (`data`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..data import (
    Corpus,
    column_values,
    corpus_from_frame,
    corpus_from_rows,
    is_by_sentence,
    is_frame,
    listed_values,
    open_frame,
)
from ..foundation import DcrfError, Ints, dataclass, require_list
from ..syntax import Column, ColumnType, DataSpec
from .input_errors import InputError, at_place, first_bad, misfit


@runtime_checkable
class _Listable(Protocol):
    """An array, or a column of a data frame."""

    def tolist(self) -> Any: ...


@dataclass(frozen=True)
class Sentences:
    """What X holds.

    corpus: its sentences but for the empty ones; None if there is no other.
    lengths: [S] the number of tokens of each, empty ones included.
    rows: whether there is a label a row of a data frame, and not a list of labels a sentence.
    row: how a row is called in messages, as `X.iloc[{}]`.
    name: `X` or `X_dev`, for messages.
    read: whether X is a corpus already.
    """

    corpus: Corpus | None
    lengths: Ints
    rows: bool = False
    row: str = ""
    name: str = "X"
    read: bool = False

    def require(self) -> Corpus:
        """The corpus; InputError if there is no token."""
        if self.corpus is None:
            raise misfit("there is no sentence with a token", self.name, slug="empty-file")
        return self.corpus

    def place(self, sentence: int) -> str:
        """Where a sentence of the corpus is in X: `X[2]`, of a data frame its first row, of a `Corpus` its line."""
        corpus = self.require()
        line = int(corpus.token_line[corpus.sentence_off[sentence]])
        if self.rows:
            return self.row.format(line - 1)
        return f"{corpus.file}:{line}" if self.read else f"{self.name}[{line - 1}]"

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        """Values of all tokens, cut into those of each sentence."""
        return [values[first:last] for first, last in pairwise(np.concatenate([[0], np.cumsum(self.lengths)]).tolist())]


def read_sentences(
    X: Any, data: DataSpec, labels: Sequence[str], *, gold: bool, sentence: str = "sentence", name: str = "X"
) -> Sentences:
    """X as a corpus.

    data: the columns of the template.   labels: those that are predicted.   gold: whether X holds them, since there is
    no y; else they may be there and are not looked at.   sentence: the column of a data frame that tells sentences
    apart.   name: of the argument, for messages.

    Raises InputError with the sentence and the token that do not fit, TypeError if X is no collection of sentences.
    """
    wanted = data if gold else _of_columns(data, [column for column in data.columns if column.name not in labels])
    if isinstance(X, Corpus):
        return Sentences(X if X.num_tokens else None, X.lengths(), name=name, read=True)
    if is_frame(X):
        X, row = open_frame(X), row_name(X, name)
        columns = {c.name: column_values(X, c.name) for c in wanted.columns if c.name in X.columns}
        if not is_by_sentence(X, columns, sentence):
            corpus = _of_frame(X, wanted, sentence, row)
            return Sentences(corpus, corpus.lengths(), rows=True, row=row, name=name)
        X = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    items = [_for_columns(item, wanted) for item in plain_items(X, name)]
    lengths = np.array([_length(item, wanted) for item in items], np.int64)
    kept = np.flatnonzero(lengths)
    if not len(kept):
        return Sentences(None, lengths, name=name)
    if not gold and _has_labels(items[kept[0]], data):
        wanted = data
    optional = [label for label in labels if wanted is data and not gold]
    places, help = [f"{name}[{n}]" for n in kept], _GOLD_HELP if gold else None
    corpus = _of_rows([items[n] for n in kept], wanted, optional, places, help)
    return Sentences(
        Corpus(corpus.file, corpus.sentence_off, corpus.columns, np.repeat(kept + 1, lengths[kept])), lengths, name=name
    )


def row_name(X: Any, name: str) -> str:
    """How messages call a row of a data frame, which people look up by it."""
    return f"{name}.iloc[{{}}]" if hasattr(X, "iloc") else f"{name}[{{}}]"


def listed(corpus: Corpus, names: Sequence[str]) -> list[list[Any]]:
    """The sentences of a corpus as lists of tokens: values of these columns, tuples of them if there are several."""
    columns = [listed_values(corpus.columns[name]) for name in names]
    tokens = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return [tokens[first:last] for first, last in pairwise(corpus.sentence_off.tolist())]


def with_labels(sentences: Sentences, labels: Sequence[Mapping[str, Sequence[str]]], data: DataSpec, y: str) -> Corpus:
    """The corpus with the labels of its sentences, which `label_forms` has brought into one form.

    y: how a sentence of y is called in messages, as `y[{}]`.
    """
    corpus = sentences.require()
    names = list(labels[0]) if labels else []
    declared = {column.name: column for column in data.columns}
    columns = [declared.get(n) or Column(name=n, source=n, type=ColumnType(name="str")) for n in names]
    kept = range(1) if sentences.rows else np.flatnonzero(sentences.lengths).tolist()
    gold = _of_rows([labels[n] for n in kept], _of_columns(data, columns), [], [y.format(n) for n in kept], _LABEL_HELP)
    return Corpus(corpus.file, corpus.sentence_off, {**corpus.columns, **gold.columns}, corpus.token_line)


_LABEL_HELP = "labels are texts: write `str(label)`"
_GOLD_HELP = "without `y`, tokens have all columns of the template, labels too"


def plain_items(X: Any, name: str) -> list[Any]:
    """The items of a list, array, series or generator; arrays and data frames among them as lists and mappings."""
    X = X.to_pylist() if hasattr(X, "to_pylist") else X  # an array of Arrow, whose items are no texts
    require_list(X, name, "sentences" if name.startswith("X") else "labels")
    if isinstance(X, Mapping):
        raise TypeError(f"`{name}` takes a list of sentences: found a mapping")
    return [_plain(item) for item in X]


def _plain(item: Any) -> Any:
    if isinstance(item, list | tuple):
        return item
    if isinstance(item, np.ndarray) and item.dtype.kind == "f":
        return item  # of vectors: they need not become lists
    if isinstance(item, _Listable):
        return item.tolist()
    if is_frame(item):
        opened = open_frame(item)
        return {column: column_values(opened, column) for column in opened.columns}
    return item


def as_read(sentence: Any, data: DataSpec, labels: Sequence[str]) -> Any:
    """A sentence to tag, in a form that `TrainedModel.tag` takes if it is a sentence at all."""
    observed = _of_columns(data, [column for column in data.columns if column.name not in labels])
    return _for_columns(_plain(sentence), observed)


def _for_columns(sentence: Any, wanted: DataSpec) -> Any:
    return _of_one_column(sentence, wanted.columns[0]) if len(wanted.columns) == 1 else sentence


def _of_one_column(sentence: Any, column: Column) -> Any:
    """A sentence whose tokens are values of the only column, as a mapping; any other as it is.

    A vector or a bag is a value that is itself a list; weighted bags may be mappings.
    """
    if not isinstance(sentence, list | tuple | np.ndarray) or not len(sentence):
        return sentence
    first = sentence[0]
    if isinstance(first, Mapping) and (column.type.name != _WEIGHTED_BAG or set(first) == {column.name}):
        return sentence
    if isinstance(first, list | tuple):
        is_value = column.type.size is not None or column.type.name in (_BAG, _WEIGHTED_BAG)
        if not is_value or (len(first) == 1 and isinstance(first[0], list | tuple | np.ndarray | Mapping)):
            return sentence
    return {column.name: sentence}


_BAG, _WEIGHTED_BAG = "bag", "weighted_bag"


def _length(sentence: Any, wanted: DataSpec) -> int:
    """The number of tokens; 1 for what is no sentence, which is said where it is read."""
    if isinstance(sentence, Mapping):
        first = wanted.columns[0].name if wanted.columns else ""
        sentence = sentence.get(first)
    return len(sentence) if isinstance(sentence, list | tuple | np.ndarray) else 1


def _has_labels(sentence: Any, data: DataSpec) -> bool:
    """Whether the tokens are values of all columns, labels included."""
    tokens = sentence if isinstance(sentence, list | tuple) else ()
    return len(tokens) > 0 and isinstance(tokens[0], list | tuple) and len(tokens[0]) == len(data.columns)


def _of_columns(data: DataSpec, columns: Sequence[Column]) -> DataSpec:
    return data.model_copy(update={"columns": tuple(columns)})


def _of_rows(
    items: Sequence[Any], wanted: DataSpec, optional: Sequence[str], places: Sequence[str], help: str | None = None
) -> Corpus:
    """A corpus; InputError with the sentence and token that do not fit."""

    def read(sentences: Sequence[Any]) -> Corpus:
        return corpus_from_rows(sentences, wanted, optional=optional)

    try:
        return read(items)
    except DcrfError as error:
        found = first_bad(len(items), _problem(read, items.__getitem__))
        if found is None:
            raise InputError(error.diagnostics) from None
        n, problem = found
        tokens = items[n]
        if not isinstance(tokens, list | tuple | Mapping):
            raise at_place(problem, places[n], _SENTENCE_HELP) from None
        inner = first_bad(_same_length(tokens), _problem(read, lambda part: [_cut(tokens, part)]))
        if inner is None:
            raise at_place(problem, places[n], help) from None
        raise at_place(inner[1], f"{places[n]}[{inner[0]}]", help) from None


_SENTENCE_HELP = "a sentence is a list of tokens, and X a list of sentences: write `[sentence]` for a single one"


def _of_frame(frame: Any, wanted: DataSpec, sentence: str, row: str) -> Corpus:
    """A corpus; InputError with the row that does not fit."""
    try:
        return corpus_from_frame(frame, wanted, sentence=sentence)
    except DcrfError as error:
        (problem,) = error.diagnostics
        if not {*(column.name for column in wanted.columns), sentence} <= set(frame.columns):
            raise InputError(error.diagnostics) from None
        raise at_place(problem, row.format(int(str(problem.location).rpartition(":")[2]) - 1)) from None


def _problem(
    read: Callable[[Sequence[Any]], Corpus], part: Callable[[slice], Sequence[Any]]
) -> Callable[[int, int], DcrfError | None]:
    """What is wrong with items `first` to `last`, for `first_bad`."""

    def problem(first: int, last: int) -> DcrfError | None:
        try:
            read(part(slice(first, last)))
        except DcrfError as error:
            return error
        return None

    return problem


def _same_length(sentence: Any) -> int:
    """The number of tokens; 0 if columns are not lists of one length."""
    if not isinstance(sentence, Mapping):
        return len(sentence)
    lengths = {len(values) if isinstance(values, list | tuple | np.ndarray) else -1 for values in sentence.values()}
    return max(0, lengths.pop()) if len(lengths) == 1 else 0


def _cut(sentence: Any, part: slice) -> Any:
    """Some tokens of a sentence."""
    if isinstance(sentence, Mapping):
        return {name: values[part] for name, values in sentence.items()}
    return sentence[part]
