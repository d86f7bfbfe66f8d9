"""A model of ours for the tokens and labels of usaddress: `chain.dcrf` trained, `address.dcrf` to label with.

`address.dcrf` is the chain and rules: a street or a place that has ended does not come back. Rules cost little when
a model labels, and much when it is trained, as inference then goes through all that the memories can hold. So the
chain is trained alone, and its weights are put under the rules. Not here: files, scores and other models (`run`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import dcrfdsl

__all__ = ["Row", "breaks_a_rule", "labels_by", "repeats_a_part", "train"]

HERE = Path(__file__).parent
SEPARATOR = "IntersectionSeparator"
ONCE = ("StreetName", "PlaceName", "SubaddressType", "USPSBoxID")  # what `address.dcrf` forbids to come back


class Row(NamedTuple):
    """The tokens of an address and their labels."""

    tokens: tuple[str, ...]
    labels: tuple[str, ...]


def returning(labels: Sequence[str]) -> list[str]:
    """The labels that begin once more after they have ended.

    What follows the separator of an intersection is of a second street, and its labels are others, as in
    `usaddress.tag`.
    """
    named, after = [], False
    for label in labels:
        after = after or label == SEPARATOR
        named.append("Second" + label if after and "StreetName" in label else label)
    seen = set(named[:1])
    found = []
    for before, label in pairwise(named):
        if label != before and label in seen:
            found.append(label)
        seen.add(label)
    return found


def repeats_a_part(labels: Sequence[str]) -> bool:
    """Whether `usaddress.tag` refuses these labels by a RepeatedLabelError."""
    return bool(returning(labels))


def breaks_a_rule(labels: Sequence[str]) -> bool:
    """Whether `address.dcrf` forbids these labels."""
    return any(label.removeprefix("Second") in ONCE for label in returning(labels))


def train(rows: Sequence[Row], *, threads: int | None = None) -> tuple[dcrfdsl.TrainedModel, int]:
    """The model, and how many addresses were left out as their labels break a rule."""
    kept = [row for row in rows if not breaks_a_rule(row.labels)]
    data = dcrfdsl.load_template(HERE / "chain.dcrf").require().data
    corpus = dcrfdsl.corpus_from_rows([{"word": row.tokens, "part": row.labels} for row in kept], data)
    chain = dcrfdsl.fit(HERE / "chain.dcrf", corpus, threads=threads)
    # Stopped before it begins: this lays out the model with the rules, whose cliques and features are the chain's.
    ruled = dcrfdsl.fit(HERE / "address.dcrf", corpus, threads=threads, should_stop=lambda: True)
    return replace(ruled, weights=chain.weights, record=chain.record), len(rows) - len(kept)


def labels_by(
    model: dcrfdsl.TrainedModel, addresses: Sequence[Sequence[str]], *, threads: int | None = None
) -> list[tuple[str, ...]]:
    """The labels of addresses, each given by its tokens, of which there is one at least."""
    corpus = dcrfdsl.corpus_from_rows([{"word": tokens} for tokens in addresses], model.spec.data, optional=["part"])
    found = iter(model.predict(corpus, threads=threads).texts("part"))
    return [tuple(next(found) for _ in tokens) for tokens in addresses]
