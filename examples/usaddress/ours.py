"""A model of ours for the tokens and labels of usaddress: `address.dcrf`, a chain in which no part comes back.

The second street of an intersection has labels of its own while the model works, as in `usaddress.tag`: `StreetName
Second` for `StreetName`. So `once` can hold for every part. Not here: files, scores and other models (`run`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import dcrfdsl
from dcrfdsl.data import Corpus

HERE = Path(__file__).parent
RULED, CROSSING, UNRULED = HERE / "address.dcrf", HERE / "crossing.dcrf", HERE / "chain.dcrf"
SEPARATOR, STREET, SECOND = "IntersectionSeparator", "StreetName", " Second"

Labels = tuple[str, ...]


class Row(NamedTuple):
    """The tokens of an address and their labels."""

    tokens: tuple[str, ...]
    labels: Labels


def with_seconds(labels: Sequence[str]) -> Labels:
    """The labels, with other ones for the street after the separator of an intersection."""
    separator = labels.index(SEPARATOR) if SEPARATOR in labels else len(labels)
    return tuple(
        label + SECOND * (position > separator and label.startswith(STREET)) for position, label in enumerate(labels)
    )


def without_seconds(labels: Sequence[str]) -> Labels:
    return tuple(label.removesuffix(SECOND) for label in labels)


def repeats_a_part(labels: Sequence[str]) -> bool:
    """Whether `usaddress.tag` refuses these labels by a RepeatedLabelError."""
    named = with_seconds(labels)
    begun = [after for before, after in pairwise(("", *named)) if after != before]
    return len(set(begun)) < len(begun)


def corpus_of(rows: Sequence[Row]) -> Corpus:
    """The addresses as data of the template."""
    data = dcrfdsl.load_template(UNRULED).require().data
    return dcrfdsl.corpus_from_rows([{"word": row.tokens, "part": with_seconds(row.labels)} for row in rows], data)


def train(
    rows: Sequence[Row],
    template: Path = RULED,
    *,
    start: dcrfdsl.TrainedModel | None = None,
    threads: int | None = None,
) -> tuple[dcrfdsl.TrainedModel, int]:
    """The model, and how many addresses were left out as a part of theirs comes back."""
    kept = [row for row in rows if not repeats_a_part(row.labels)]
    return dcrfdsl.fit(template, corpus_of(kept), start=start, threads=threads), len(rows) - len(kept)


def labels_by(
    model: dcrfdsl.TrainedModel, addresses: Sequence[Sequence[str]], *, threads: int | None = None
) -> list[Labels]:
    """The labels of addresses, each given by its tokens, of which there is one at least."""
    corpus = dcrfdsl.corpus_from_rows([{"word": tokens} for tokens in addresses], model.spec.data, optional=["part"])
    found = iter(model.predict(corpus, threads=threads).texts("part"))
    return [without_seconds([next(found) for _ in tokens]) for tokens in addresses]
