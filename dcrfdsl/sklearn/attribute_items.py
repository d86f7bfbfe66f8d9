"""The X of `CRF`: sequences of items as CRFsuite takes them, and labels that are texts.

Not here: how an item becomes attributes (`crfsuite.items`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, pairwise, repeat
from typing import Any

import numpy as np

from ..crfsuite import BadItem, ItemSequence
from ..data import column_values, is_frame, open_frame, sentence_starts
from .input_errors import input_errors, misfit, shown
from .label_forms import GoldLabels
from .sentences import Sentences, plain_items, row_name

SENTENCE = "sentence"  # the column of a data frame that tells sequences apart


def read_items(X: Any, name: str) -> tuple[list[ItemSequence], Sentences]:
    """The sequences of X, and their lengths.

    Raises InputError with the sequence and the item that do not fit, TypeError if X is no collection of sequences.
    """
    rows = is_frame(X)
    row = row_name(X, name) if rows else ""
    sequences = _of_frame(X) if rows else plain_items(X, name)
    starts = accumulate(map(len, sequences), initial=0) if rows else repeat(0)
    items = [
        _item_sequence(sequence, f"{name}[{n}]", partial(_place, name, row, n, start))
        for n, (sequence, start) in enumerate(zip(sequences, starts, strict=False))
    ]
    lengths = np.array([len(sequence) for sequence in items], np.int64)
    return items, Sentences(None, lengths, rows=rows, row=row, name=name)


def _place(name: str, row: str, n: int, start: int, item: int) -> str:
    """Where an item of sequence `n` is.   row: how rows of a data frame are called.   start: that of its first item."""
    return row.format(start + item) if row else f"{name}[{n}][{item}]"


def _item_sequence(sequence: Any, place: str, at: Callable[[int], str]) -> ItemSequence:
    """place: of the sequence.   at: the place of an item of it."""
    made = sequence if isinstance(sequence, ItemSequence) else _made(sequence, place, at)
    try:
        made.require_finite()
    except BadItem as error:
        raise misfit(str(error), at(error.item), _FINITE_HELP, "bad-value") from None
    return made


@contextmanager
def item_errors(sentences: Sentences, n: int) -> Iterator[None]:
    """Turns what the tagger says of an item of sequence `n` into an InputError with the item's place."""
    try:
        yield
    except BadItem as error:
        place = _place(sentences.name, sentences.row, n, int(sentences.lengths[:n].sum()), error.item)
        raise misfit(str(error), place, _FINITE_HELP, "bad-value") from None


def _made(sequence: Any, place: str, at: Callable[[int], str]) -> ItemSequence:
    if isinstance(sequence, str | bytes | Mapping):
        help = "X is a list of sequences, and a sequence is a list of items: write `[sequence]` for a single one"
        raise misfit(f"found {shown(sequence)}, expected a list of items", place, help)
    try:
        listed = list(sequence)
    except TypeError:
        raise misfit(f"found {shown(sequence)}, expected a list of items", place) from None
    for n, item in enumerate(listed):
        if isinstance(item, str | bytes):  # CRFsuite would take its letters
            help = f"{_ITEM_HELP}: write `[attribute]` for a single one"
            raise misfit(f"found {shown(item)}, expected an item", at(n), help)
    try:
        return ItemSequence(listed)
    except Exception as error:  # an object may raise anything where it is asked for its number
        bad = _bad_item(listed)
        raise misfit(_reason(error), place if bad is None else at(bad), _ITEM_HELP) from None


_ITEM_HELP = "an item is a dict of features or a list of attributes"
_FINITE_HELP = "leave a feature out where it has no value, and keep numbers near 1"


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return f"a text holds half a surrogate pair, {error.object[error.start]!r}, which has no encoding"
    if isinstance(error, TypeError | ValueError | AttributeError | OverflowError):
        return str(error)
    return f"a value cannot become a number: {type(error).__name__}: {error}"


def _bad_item(items: Sequence[Any]) -> int | None:
    """The first item that is wrong by itself."""
    for n, item in enumerate(items):
        try:
            ItemSequence([item])
        except Exception:  # as above
            return n
    return None


def _of_frame(frame: Any) -> list[list[dict[str, Any]]]:
    """A dict a row; cells without a value are left out."""
    opened = open_frame(frame)
    with input_errors():
        starts, rows = sentence_starts(opened, SENTENCE, is_fixed=True)
    names = [column for column in opened.columns if column != SENTENCE]
    cells = list(zip(*(column_values(opened, column) for column in names), strict=True)) or [()] * rows
    items = [{name: value for name, value in zip(names, row, strict=True) if not _is_missing(value)} for row in cells]
    return [items[first:last] for first, last in pairwise([*starts, rows])]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def with_texts(gold: GoldLabels, sentences: Sentences) -> list[list[str]]:
    """The labels of each sequence. InputError for one that is no text, or that CRFsuite's files would cut off."""
    found: list[list[str]] = []
    for n, own in enumerate(gold.sentences):
        (labels,) = own.values()
        odd = next((at for at, label in enumerate(labels) if not isinstance(label, str)), None)
        if odd is not None:
            place = f"{gold.place.format(n)}[{odd}]"
            raise misfit(f"found {shown(labels[odd])}, expected a text", place, "write `str(label)`", "bad-value")
        cut = next((at for at, label in enumerate(labels) if "\0" in label), None)
        if cut is not None:
            message = f"the label {shown(labels[cut])} has a NUL, where a label ends in CRFsuite's models"
            raise misfit(
                message, f"{gold.place.format(n)}[{cut}]", "name it without, or use `SequenceTagger`", "bad-value"
            )
        found.append(list(labels))
    return [list(own) for own in sentences.split(found[0])] if sentences.rows else found
