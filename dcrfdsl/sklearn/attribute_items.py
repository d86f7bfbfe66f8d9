"""The X of `CRF`: sequences of items as CRFsuite takes them, and labels that are texts.

Not here: how an item becomes attributes (`crfsuite.items`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..crfsuite import ItemSequence
from ..data import DataFrame, sentence_starts
from .input_errors import input_errors, misfit
from .label_forms import GoldLabels
from .sentences import Sentences, plain_items

__all__ = ["read_items", "with_texts"]

SENTENCE = "sentence"  # the column of a data frame that tells sequences apart


def read_items(X: Any, name: str) -> tuple[list[ItemSequence], Sentences]:
    """The sequences of X, and their lengths.

    Raises InputError with the sequence and the item that do not fit, TypeError if X is no collection of sequences.
    """
    rows = isinstance(X, DataFrame) and not isinstance(X, Mapping)
    sequences = _of_frame(X) if rows else plain_items(X, name)
    items = [_item_sequence(sequence, f"{name}[{n}]") for n, sequence in enumerate(sequences)]
    lengths = np.array([len(sequence) for sequence in items], np.int64)
    return items, Sentences(None, lengths, rows=rows, name=name)


def _item_sequence(sequence: Any, place: str) -> ItemSequence:
    if isinstance(sequence, ItemSequence):
        return sequence
    if isinstance(sequence, str | bytes | Mapping):
        help = "X is a list of sequences, and a sequence is a list of items: write `[sequence]` for a single one"
        raise misfit(f"found {_shown(sequence)}, expected a list of items", place, help)
    try:
        listed = list(sequence)
    except TypeError:
        raise misfit(f"found {_shown(sequence)}, expected a list of items", place) from None
    for n, item in enumerate(listed):
        if isinstance(item, str | bytes):  # CRFsuite would take its letters
            help = f"{_ITEM_HELP}: write `[attribute]` for a single one"
            raise misfit(f"found {_shown(item)}, expected an item", f"{place}[{n}]", help)
    try:
        return ItemSequence(listed)
    except (TypeError, ValueError, AttributeError) as error:
        raise misfit(str(error), f"{place}{_bad_item(listed)}", _ITEM_HELP) from None


_ITEM_HELP = "an item is a dict of features or a list of attributes"


def _bad_item(items: Sequence[Any]) -> str:
    """The place of the first item that is wrong by itself."""
    for n, item in enumerate(items):
        try:
            ItemSequence([item])
        except (TypeError, ValueError, AttributeError):
            return f"[{n}]"
    return ""


def _of_frame(frame: DataFrame) -> list[list[dict[str, Any]]]:
    """A dict a row; cells without a value are left out."""
    with input_errors():
        starts, rows = sentence_starts(frame, SENTENCE)
    names = [str(column) for column in frame.columns if str(column) != SENTENCE]
    cells = list(zip(*(frame[column].tolist() for column in names), strict=True)) or [()] * rows
    items = [{name: value for name, value in zip(names, row, strict=True) if not _is_missing(value)} for row in cells]
    return [items[first:last] for first, last in pairwise([*starts, rows])]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def with_texts(gold: GoldLabels, sentences: Sentences) -> list[list[str]]:
    """The labels of each sequence. InputError for one that is no text."""
    found: list[list[str]] = []
    for n, own in enumerate(gold.sentences):
        (labels,) = own.values()
        odd = next((at for at, label in enumerate(labels) if not isinstance(label, str)), None)
        if odd is not None:
            place = f"{gold.place.format(n)}[{odd}]"
            raise misfit(f"found {_shown(labels[odd])}, expected a text", place, "write `str(label)`", "bad-value")
        found.append(list(labels))
    return [list(own) for own in sentences.split(found[0])] if sentences.rows else found


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
