"""Sentences that fit a template, made up: their values mean nothing, and cover what data are made of.

Short and long ones, values that come once and often, all states that may stand anywhere. Segments of a label with a
scheme have one token. Not here: what is done with them (`compile_command`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..foundation import DcrfError
from .command_files import data_statement
from .console import refuse

if TYPE_CHECKING:
    from ..data import Corpus
    from ..semantics import ModelSpec
    from ..syntax import Column, Label

LENGTHS = (*(1 + n % 40 for n in range(99)), 700)  # of the sentences, in tokens: enough for batches, and a long one
WORDS = 3_000  # different values of a column of texts

GIVE_DATA = "give some: `dcrfdsl compile TEMPLATE DATA`"

States = Mapping[str, Sequence[str] | None]


def made_up(spec: ModelSpec, states: States, path: Path) -> Corpus:
    """The sentences. They are written to a file and read from it, where their format can be written.

    states: of the variables. Raises DcrfError if those of a label are unknown.
    """
    from ..data import Export, corpus_from_rows, data_format, read_corpus

    data, chance = data_statement(spec), random.Random(0)
    labels = {label.name: label for label in spec.labels}
    if unknown := [name for name in labels if not states.get(name)]:
        message = f"only data tell the states of `{unknown[0]}`, and how many there are makes a difference to kernels"
        refuse("no-data", message, GIVE_DATA)
    rows = [
        {
            one.name: _labels(labels[one.name], states, chance, length)
            if one.name in labels
            else [_value(one, states, chance, length) for _ in range(length)]
            for one in data.columns
        }
        for length in LENGTHS
    ]
    corpus, emitter = corpus_from_rows(rows, data), data_format(data.format).emitter
    with suppress(DcrfError):  # what the format cannot hold
        if emitter is not None:
            written = emitter(Export(data, {one.name: one.type for one in data.columns}))
            path.write_bytes(written.write(corpus) + written.close())
            corpus = read_corpus(str(path), data, required=list(labels))
    return corpus


def _labels(label: Label, states: States, chance: random.Random, length: int) -> list[str]:
    """The states of a sentence, some of them missing where they may be."""
    every = states[label.name] or ()
    marks = {state[:2].rstrip("-") for state in every}
    alone = "I" if getattr(label.domain, "name", "") == "iob1" else next((one for one in "SUB" if one in marks), None)
    possible = [state for state in every if alone is None or state[:1] in (alone, "O")] or every
    if label.per == "sentence":
        return [chance.choice(possible)] * length
    hidden = [] if label.missing is None else [label.missing]
    return [chance.choice(hidden if hidden and chance.random() < 0.1 else possible) for _ in range(length)]


def _value(column: Column, states: States, chance: random.Random, length: int) -> Any:
    """A value of a column that is no label."""

    def text() -> str:
        return f"w{int(WORDS * chance.random() ** 3)}"  # some often, many once

    match column.type.name:
        case "float":
            return chance.random()
        case "int":
            return chance.randint(1, length)
        case "bag":
            return [text(), text()]
        case "weighted_bag":
            return {text(): 1.0, text(): 0.5}
        case "vector" | "scores":  # a distribution, as some columns of scores must be
            size = column.type.size or math.prod(len(states.get(one) or ()) for one in column.type.of)
            parts = [chance.random() for _ in range(size)]
            return [part / sum(parts) for part in parts]
        case _:
            return text()
