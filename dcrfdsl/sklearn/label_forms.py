"""The forms of y: what goes into `fit` is what comes out of `predict`.

A sentence of y is a list of labels, or with several labels a list of tuples, a list of dicts, or a dict of lists; y is
a list of such sentences, or a dict from label to a list of lists. With a data frame as X, y has a label a row.
Inside, every sentence is a dict from label to texts. Not here: which texts are states (`data`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import column_values, is_frame, open_frame
from ..foundation import dataclass
from .input_errors import misfit, shown
from .sentences import Sentences, plain_items

Labels = Mapping[str, Sequence[Any]]  # of a sentence: by label, a value a token


@dataclass(frozen=True)
class Form:
    """How a sentence of y is written.

    fits: whether the first token of a sentence has this form.   split: from the sentence to `Labels`.
    join: from `Labels` to the sentence.
    """

    words: str
    split: Callable[[Any, Sequence[str]], Labels]
    join: Callable[[Labels], Any]


def _split_tuples(sentence: Any, labels: Sequence[str]) -> Labels:
    if any(not isinstance(token, list | tuple) or len(token) != len(labels) for token in sentence):
        raise _Odd
    return {label: [token[m] for token in sentence] for m, label in enumerate(labels)}


def _split_token_dicts(sentence: Any, labels: Sequence[str]) -> Labels:
    if any(not isinstance(token, Mapping) or any(label not in token for label in labels) for token in sentence):
        raise _Odd
    return {label: [token[label] for token in sentence] for label in labels}


def _split_lists(sentence: Any, labels: Sequence[str]) -> Labels:
    if not isinstance(sentence, Mapping) or any(label not in sentence for label in labels):
        raise _Odd
    return {label: plain_items(sentence[label], "y") for label in labels}


class _Odd(Exception):
    """A sentence does not have the form of the first one."""


FORMS: Mapping[str, Form] = {
    "labels": Form(
        "a list of labels",
        lambda sentence, labels: {labels[0]: sentence},
        lambda labels: list(next(iter(labels.values()))),
    ),
    "tuples": Form(
        "a list of tuples of labels", _split_tuples, lambda labels: list(zip(*labels.values(), strict=True))
    ),
    "token dicts": Form(
        "a list of dicts from label to value",
        _split_token_dicts,
        lambda labels: [dict(zip(labels, token, strict=True)) for token in zip(*labels.values(), strict=True)],
    ),
    "lists by label": Form(
        "a dict from label to a list", _split_lists, lambda labels: {name: list(own) for name, own in labels.items()}
    ),
}
BY_LABEL = "by label"  # y as a whole is a dict from label to what a single label's y would be


@dataclass(frozen=True)
class GoldLabels:
    """The labels of each sentence, or of all rows of a data frame together.

    form: of y: a name in `FORMS`, or `BY_LABEL`.   place: how a sentence is called in messages, as `y[{}]`.
    """

    sentences: list[Labels]
    form: str
    place: str


def read_labels(y: Any, sentences: Sentences, labels: Sequence[str], name: str = "y") -> GoldLabels:
    """The labels of X, of which `sentences` are made.

    InputError where there are more or fewer labels than tokens, or a sentence has another form than the first one.
    """
    if isinstance(y, Mapping):
        return _by_label(y, sentences, labels, name)
    if is_frame(y):
        opened = open_frame(y)
        columns = {column: column_values(opened, column) for column in opened.columns}
        return replace(_by_label(columns, sentences, labels, name), form=usual_form(labels))
    items = plain_items(y, name)
    if sentences.rows and not _is_by_sentence(items, labels):
        form = _form_of(items, labels, name)
        own = _split(items, form, labels, name)
        _check_length(own, int(sentences.lengths.sum()), f"`{sentences.name}` has", f"`{name}` has", "row", name)
        return GoldLabels([own], form, name)
    if len(items) != len(sentences.lengths):
        found = f"`{sentences.name}` has {_count(len(sentences.lengths), 'sentence')}, `{name}` has {len(items):,}"
        raise misfit(found, name, slug="label-count")
    form = ""
    found_labels: list[Labels] = []
    for n, (item, length) in enumerate(zip(items, sentences.lengths.tolist(), strict=True)):
        place = f"{name}[{n}]"
        if not length and isinstance(item, list | tuple) and not item:
            found_labels.append(dict.fromkeys(labels, ()))
            continue
        form = form or _form_of(item, labels, place)
        own = _split(item, form, labels, place)
        _check_length(own, length, f"sentence `{sentences.name}[{n}]` has", f"`{place}` has", "token", place)
        found_labels.append(own)
    if not sentences.rows:
        return GoldLabels(found_labels, form or usual_form(labels), f"{name}[{{}}]")
    joined: Labels = {label: [text for own in found_labels for text in own[label]] for label in labels}
    return GoldLabels([joined], form or usual_form(labels), name)


def _by_label(y: Mapping[str, Any], sentences: Sentences, labels: Sequence[str], name: str) -> GoldLabels:
    absent = [label for label in labels if label not in y]
    if absent:
        listed = ", ".join(f"`{label}`" for label in y)
        raise misfit(f"`{name}` has no labels `{absent[0]}`: found {listed or 'none'}", name, slug="missing-label")
    read = {label: read_labels(y[label], sentences, [label], f"{name}[{label!r}]").sentences for label in labels}
    joined: list[Labels] = [{label: read[label][n][label] for label in labels} for n in range(len(read[labels[0]]))]
    return GoldLabels(joined, BY_LABEL, f"{name}[label][{{}}]")


def _is_by_sentence(items: Sequence[Any], labels: Sequence[str]) -> bool:
    """Whether the items are sentences rather than tokens, where X is a data frame."""
    first = next((item for item in items if not isinstance(item, list | tuple) or item), "")
    if isinstance(first, Mapping):
        return any(isinstance(value, list | tuple) for value in first.values())
    return isinstance(first, list | tuple) and (len(labels) == 1 or not isinstance(first[0], str))


def usual_form(labels: Sequence[str]) -> str:
    return "labels" if len(labels) == 1 else "tuples"


def _form_of(sentence: Any, labels: Sequence[str], place: str) -> str:
    """The form of a sentence with a token; InputError if it has none."""
    if isinstance(sentence, Mapping):
        return "lists by label"
    if isinstance(sentence, list | tuple) and sentence:
        if isinstance(sentence[0], Mapping):
            return "token dicts"
        if isinstance(sentence[0], list | tuple) and (len(labels) > 1 or len(sentence[0]) == 1):
            return "tuples"
        if len(labels) == 1:
            return "labels"
    listed = ", ".join(f"`{label}`" for label in labels)
    expected = FORMS["labels"].words if len(labels) == 1 else f"tuples or dicts of the labels {listed}, one a token"
    raise misfit(f"`{place}` is {shown(sentence)}, expected {expected}", place)


def _split(sentence: Any, form: str, labels: Sequence[str], place: str) -> Labels:
    if isinstance(sentence, list | tuple | Mapping):
        try:
            return FORMS[form].split(sentence, labels)
        except _Odd:
            pass
    names = "" if form == "labels" else f", each with {', '.join(f'`{label}`' for label in labels)}"
    raise misfit(f"`{place}` is {shown(sentence)}, expected {FORMS[form].words}{names}", place)


def _check_length(own: Labels, tokens: int, of_x: str, of_y: str, unit: str, place: str) -> None:
    for values in own.values():
        if len(values) != tokens:
            found = f"{of_x} {_count(tokens, unit)}, {of_y} {_count(len(values), 'label')}"
            raise misfit(found, place, slug="label-count")


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def object_array(values: Iterable[Any]) -> NDArray[Any]:
    """An array of objects with one axis, whatever the objects are: an answer a sentence, or a row.

    `numpy.array` would give lists of one length an axis of their own.
    """
    listed = list(values)
    array = np.empty(len(listed), object)
    for n, value in enumerate(listed):
        array[n] = value
    return array


def written(labels: Sequence[Labels], form: str, sentences: Sentences) -> Any:
    """The labels of each sentence (of all rows) in the form of y."""
    if form == BY_LABEL:
        names = list(labels[0]) if labels else []
        return {name: written([{name: own[name]} for own in labels], "labels", sentences) for name in names}
    if not sentences.rows:
        return object_array(map(FORMS[form].join, labels))
    (own,) = labels
    rows = FORMS[form].join(own)
    if form == "tuples":
        return np.array(rows, object).reshape(-1, len(own))
    return rows if isinstance(rows, dict) else object_array(rows)
