"""What a comparison of models found, and its tables, which commands and reports show. Not here: comparing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...foundation import TextTable, dataclass
from ...metrics import Interval

MOST_DIFFERENCES = 10  # that are shown


class ComparedScore(NamedTuple):
    """A score of all models.

    name: as `evaluate` has it: `accuracy(y)`, `segments(y)` (F1), `segments(y).TYPE` … After the common ones come those
        that a template names and all models can be measured by, if they are sums over sentences.
    values: of each model, 0–1.
    intervals: of each, by the bootstrap.
    p_values: of the difference from the first model, two-sided, by paired randomisation; None for the first.
    adjusted: the same by Holm's correction for all of these tests, of all scores and models.
    """

    name: str
    values: tuple[float, ...]
    intervals: tuple[Interval, ...]
    p_values: tuple[float | None, ...]
    adjusted: tuple[float | None, ...]


class ComparedCases(NamedTuple):
    """McNemar's test of a model against the first one.

    unit: `tokens(y)` or `sentences`.
    model: the name of the other model.
    only_first, only_other: cases that only one of the two has right.
    p_value: two-sided, exact.
    adjusted: the same by Holm's correction for all of McNemar's tests.
    """

    unit: str
    model: str
    only_first: int
    only_other: int
    p_value: float
    adjusted: float


class ComparedErrors(NamedTuple):
    """How often each model makes an error.

    label: which label.   type: of segments; of a label without segments its gold state.
    error: `missing`, `spurious`, `wrong type`, `wrong border`; `wrong label` without segments.   counts: of each model.
    """

    label: str
    type: str
    error: str
    counts: tuple[int, ...]


class ErrorDifference(NamedTuple):
    """How often a model errs differently than the first one at the same place.

    label, type: as `ComparedErrors` has them.   model: the name of the other model.
    first, other: the error of either, or `no error`.   places: how many of them.
    """

    label: str
    type: str
    model: str
    first: str
    other: str
    places: int


@dataclass(frozen=True)
class Comparison:
    """Models on one corpus. Made by `compare`.

    models: their names, the one that others are tested against first.
    labels: the labels that all of them have.
    sentences, tokens: of the corpus.
    scores: one after another, `ComparedScore`.
    cases: McNemar's tests, `ComparedCases`.
    errors: by label, the most frequent first, `ComparedErrors`.
    error_differences: the most frequent first, `ErrorDifference`.
    differing: the numbers of the sentences, from 0, that two models label differently.
    predictions: by model, the states of each label as texts, [N].
    areas: under the curves of risk by coverage of each model, by `tokens(y)`, `segments(y)` and `sentences`, if asked
        for: the lower, the better its probabilities tell right from wrong.
    """

    models: tuple[str, ...]
    labels: tuple[str, ...]
    sentences: int
    tokens: int
    scores: tuple[ComparedScore, ...]
    cases: tuple[ComparedCases, ...]
    errors: tuple[ComparedErrors, ...]
    error_differences: tuple[ErrorDifference, ...]
    differing: tuple[int, ...]
    predictions: Mapping[str, Mapping[str, tuple[str, ...]]]
    areas: Mapping[str, tuple[float, ...]]


def comparison_tables(found: Comparison) -> Iterator[TextTable]:
    """Scores, McNemar's tests, areas, errors by type, and the most frequent differences of errors."""
    first, *others = found.models
    rows = []
    for score in found.scores:
        cells = [score.name]
        for value, interval, *tests in zip(score.values, score.intervals, score.p_values, score.adjusted, strict=True):
            cells.append(f"{100 * value:.2f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]")
            cells += [_p_value(p) for p in tests if p is not None]
        rows.append(cells)
    heads = (heading for name in others for heading in (name, "p", "p (Holm)"))
    yield TextTable("Scores", ["score", first, *heads], rows)
    head = ["right in one alone", first, "other", "of", "p (McNemar)", "p (Holm)"]
    cases = [
        [one.unit, f"{one.only_first:,}", f"{one.only_other:,}", one.model, *map(_p_value, (one.p_value, one.adjusted))]
        for one in found.cases
    ]
    yield TextTable("Right in one alone", head, cases, (0, 3))
    areas = [[name, *(f"{area:.4f}" for area in of_models)] for name, of_models in found.areas.items()]
    if areas:
        yield TextTable("Area under risk by coverage", ["area, risk by coverage", *found.models], areas)
    counts = [[one.label, one.type, one.error, *(f"{n:,}" for n in one.counts)] for one in found.errors]
    most = found.error_differences[:MOST_DIFFERENCES]
    differences = [[f"{one.places:,}", one.label, one.type, one.first, one.other, one.model] for one in most]
    if counts:
        yield TextTable("Errors by type", ["label", "type", "error", *found.models], counts, (0, 1, 2))
    if differences:
        head = ["places", "label", "type", first, "other", "of"]
        yield TextTable("Most frequent differences of errors", head, differences, (1, 2, 3, 4, 5))


def _p_value(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}"
