"""Tiny data for a clean template, and two iterations of training on it.

Gold is random but follows the segment scheme, so that many cases are trained and not refused. Not here: which templates
are clean.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.data.labels import declared_states
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text
from dcrfdsl.semantics.schema.missing_values import missing_mark
from dcrfdsl.semantics.schema.segment_schemes import SCHEMES
from dcrfdsl.semantics.settings.settings_reading import inference_settings, stage_chain, stage_settings
from dcrfdsl.syntax import Column, DataSpec, Scheme
from dcrfdsl.training.pipeline import fit

ITERATIONS = 2
UNSTOPPABLE = ("samples", "burn_in", "thin", "sweeps", "max_iterations", "candidates", "iterations")
MOST_WORK = 100_000
MOST_STATES = 40
MOST_ENTRIES = 20_000  # entries of the table of a clique
LENGTHS = (1, 2, 3, 4)
VALUES = ("a", "b", "c", "1", "Ab", "_")


def warm_up() -> None:
    """Compiles, or loads from the cache, the kernels that nearly every training needs."""
    text = "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\n"
    for more in ("infer exact\n", "infer trp\n", "train perceptron\n"):
        resolved = load_text(text + more)
        data = resolved.require().data
        assert data is not None
        fit(resolved, corpus_from_rows([[("a", "P"), ("b", "Q")]], data), should_stop=lambda: True)


def is_small(resolved: Resolved) -> bool:
    """Whether there are so few states and table entries that training must be quick."""
    spec = resolved.spec
    try:
        states = declared_states(spec, resolved.directories)
    except DcrfError:
        return False
    counts = {name: len(label_states) if label_states is not None else 4 for name, label_states in states.items()}
    if max(counts.values(), default=0) > MOST_STATES or len(spec.cliques) > 40:
        return False
    entries = [math.prod(counts.get(site.variable, 4) + 2 for site in clique.sites) for clique in spec.cliques]
    return max(entries, default=0) <= MOST_ENTRIES


def is_quick(resolved: Resolved, stage: str | None = None) -> bool:
    """Whether no setting asks for work that takes long whatever the data and cannot be interrupted.

    True if the settings cannot be read; training then reports that.
    """
    try:
        stages = [stage_settings(resolved.spec, entry.label) for entry in stage_chain(resolved.spec, stage)]
        methods = [
            inference_settings(resolved.spec),
            *(m for s in stages for m in (s.criterion, s.optimizer, s.infer) if m),
        ]
    except DcrfError:
        return True
    return all(getattr(method, name, 0) <= MOST_WORK for method in methods for name in UNSTOPPABLE)


def try_training(resolved: Resolved, rng: np.random.Generator) -> str:
    """Trains for a few iterations and predicts; returns a word for the outcome. Raises `DcrfError` if refused."""
    if not is_quick(resolved):
        return "clean"
    model, corpus = trained_model(resolved, rng)
    model.predict(corpus)
    return "trained"


def trained_model(
    resolved: Resolved, rng: np.random.Generator, stage: str | None = None
) -> tuple[TrainedModel, Corpus]:
    """A model after a few iterations, and its training data."""
    data = resolved.require().data
    assert data is not None
    corpus = corpus_from_rows(rows_of(resolved, rng), data)
    steps = 0

    def enough() -> bool:
        nonlocal steps
        steps += 1
        return steps >= ITERATIONS

    with np.errstate(all="ignore"):
        return fit(resolved, corpus, stage=stage, threads=1, should_stop=enough), corpus


def rows_of(resolved: Resolved, rng: np.random.Generator) -> list[list[tuple[Any, ...]]]:
    """A few sentences with a cell for each column."""
    spec = resolved.spec
    assert isinstance(spec.data, DataSpec)
    states = declared_states(spec, resolved.directories)
    labels = {label.name: label for label in spec.labels}
    sentences = []
    for length in rng.choice(LENGTHS, size=3).tolist():
        cells: list[list[Any]] = []
        for column in spec.data.columns:
            label = labels.get(column.name)
            if label is None:
                cells.append([_cell(column, rng) for _ in range(length)])
                if column.type.name in ("float", "int") and missing_mark(spec.data) is not None:
                    cells[-1] = [_GAPS[int(rng.integers(3))] if rng.random() < 0.4 else cell for cell in cells[-1]]
                continue
            domain = label.domain
            values = states.get(column.name) or ("P", "Q")
            if isinstance(domain, Scheme):
                kinds = domain.types or ("X",)
                cells.append(_segments(domain.name, kinds, length, rng))
            else:
                cells.append([values[int(rng.integers(len(values)))] for _ in range(length)])
            marks = [mark for mark in (label.missing,) if mark is not None]
            if marks and rng.random() < 0.5:
                cells[-1][int(rng.integers(length))] = marks[0]
            if label.ambiguous and len(values) > 1 and rng.random() < 0.5:
                cells[-1][int(rng.integers(length))] = label.ambiguous.join(values[:2])
        sentences.append([tuple(row) for row in zip(*cells, strict=True)])
    return sentences


_GAPS = (None, math.nan, "nan")


def _cell(column: Column, rng: np.random.Generator) -> Any:
    match column.type.name:
        case "float":
            return f"{rng.normal():.2f}"
        case "int":
            return str(int(rng.integers(3)))
        case "vector":
            return " ".join(f"{x:.1f}" for x in rng.normal(size=column.type.size or 1))
        case "weighted_bag":
            return " ".join(f"{VALUES[int(n)]}:{rng.normal():.1f}" for n in rng.integers(len(VALUES), size=2))
        case "bag":
            return " ".join(VALUES[int(n)] for n in rng.integers(len(VALUES), size=2))
    if column.source == "head":
        return str(int(rng.integers(3)))
    return VALUES[int(rng.integers(len(VALUES)))]


def _segments(scheme: str, kinds: tuple[str, ...], length: int, rng: np.random.Generator) -> list[str]:
    tags: list[str] = []
    while len(tags) < length:
        size = min(length - len(tags), int(rng.integers(1, 4)))
        kind = kinds[int(rng.integers(len(kinds)))]
        if rng.random() < 0.4:
            tags.append("O")
        elif scheme == "bio":
            tags += [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
        else:
            begin, inside, end, single = SCHEMES[scheme].marks if len(SCHEMES[scheme].marks) == 4 else "BIES"
            letters = single if size == 1 else [begin, *[inside] * (size - 2), end]
            tags += [f"{letter}-{kind}" for letter in letters]
    return tags
