"""Rules on `importance`: which criteria take it, of sentences or of tokens, and what it names.

Not here: the numbers themselves (`criteria.importance`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import Diagnostic
from ..schema import Column
from ..settings import (
    PIECES,
    AdaboostSettings,
    ExponentialSettings,
    HmsvmSettings,
    IisSettings,
    LabelLoss,
    LikelihoodSettings,
    MarginalSettings,
    MceSettings,
    MeasureLoss,
    PerceptronSettings,
    PieceSettings,
    RescaleSettings,
    SentenceImportance,
    StateImportance,
    state_factors,
)
from .context import COLUMN, Context, Rule, listed
from .optimizer_rules import StageView, stage_views
from .training_rules import not_measurable

NUMBERS = ("float", "int")
OF_SENTENCES = (
    LikelihoodSettings, PieceSettings, RescaleSettings, PerceptronSettings, MceSettings, MarginalSettings,
    ExponentialSettings, AdaboostSettings, HmsvmSettings,
)  # fmt: skip
SENTENCES = ("likelihood", *PIECES, "marginal", "mce", "hmsvm", "perceptron", "exponential", "adaboost", "rescale")


def criteria(context: Context) -> Iterator[Diagnostic]:
    """A criterion takes factors of sentences if it is a sum over them, and of tokens if it is a sum over those."""
    for stage in stage_views(context):
        found, criterion = stage.settings.importance, stage.settings.criterion
        if found is None:
            continue
        named = f"`{stage.criterion}`"
        if not isinstance(criterion, OF_SENTENCES):
            yield _refusal(stage, f"{named} counts every sentence once", f"train by {listed(SENTENCES)}")
        elif isinstance(criterion, MceSettings) and isinstance(criterion.loss, MeasureLoss):
            why = f"`{criterion.loss.method}` is a ratio of counts over the whole data"
            yield _refusal(stage, why, "write `loss = label(…)` or `loss = sequence`")
        elif isinstance(stage.settings.optimizer, IisSettings):
            yield _refusal(stage, "`iis` counts each sentence once", "train by `lbfgs`")
        elif not isinstance(found, SentenceImportance) and not _is_sum_of_tokens(stage):
            why = f"{named} is here a sum over sentences, and `{found.method}` are factors of tokens"
            remedy = "write `importance = COLUMN`, or train by `marginal`, `pseudolikelihood` or `mce(loss = label(…))`"
            yield _refusal(stage, why, remedy)


def _is_sum_of_tokens(stage: StageView) -> bool:
    criterion = stage.settings.criterion
    if isinstance(criterion, MceSettings):
        return isinstance(criterion.loss, LabelLoss)
    return isinstance(criterion, PieceSettings | MarginalSettings)


def _refusal(stage: StageView, why: str, remedy: str) -> Diagnostic:
    others = [((*stage.path, "name"), "the criterion")]
    message = f"`importance` has no meaning here: {why}"
    return stage.context.complaint(
        "cannot-weigh", message, stage.place("importance"), "not here", help=remedy, others=others
    )


def names(context: Context) -> Iterator[Diagnostic]:
    """It names one column of numbers, or one label and its states."""
    for stage in stage_views(context):
        found, at = stage.settings.importance, stage.place("importance")
        if found is None:
            continue
        if isinstance(found, StateImportance):
            yield from _states(context, stage, found)
            continue
        columns: tuple[str, ...] = getattr(found, "columns", ())
        if len(columns) != 1:
            message = f"`{found.method}` takes one column"
            yield context.complaint("bad-argument", message, at, help=f"for example `{found.method}(trust)`")
            continue
        yield from _column(context, columns[0], at)


def _column(context: Context, name: str, at: tuple[str | int, ...]) -> Iterator[Diagnostic]:
    if context.may_be_lost(name):
        return
    entry = context.named(name, COLUMN)
    if entry is None:
        guess, there = context.near(name, [COLUMN])
        message = f"there is no column `{name}`, of which `importance` is to be read"
        remedy = f"did you mean `{guess}`?" if guess else f"add `{name}: float` to the `data` statement"
        yield context.complaint("unknown-name", message, at, "no such column", help=remedy, others=there)
    elif isinstance(entry.entry, Column) and entry.entry.type.name not in NUMBERS:
        message = f"`{name}` is a column of `{entry.entry.type.name}`, and `importance` is a number a token"
        there = [(entry.path, "declared here")]
        remedy = f"declare it as `{name}: float`"
        yield context.complaint("wrong-kind", message, at, "no number", help=remedy, others=there)


def _states(context: Context, stage: StageView, found: StateImportance) -> Iterator[Diagnostic]:
    at = stage.place("importance")
    if len(found.labels) != 1:
        message = "`states` takes one label, then texts of a state and its number"
        known = context.names("label")
        remedy = f'for example `states({next(iter(known), "LABEL")}, "STATE 2")`'
        yield context.complaint("bad-argument", message, at, help=remedy)
        return
    label = found.labels[0]
    if context.named(label, "label") is None:
        yield from not_measurable(context, "states", label, "label", at)
        return
    try:
        factors = state_factors(found.factors)
    except ValueError as error:
        message = f'`"{error}"` is no state with its number'
        remedy = 'write each once as `"STATE NUMBER"`, the number from 0 to 1e9'
        yield context.complaint("bad-argument", message, at, help=remedy)
        return
    declared = context.states(label)
    for state in factors:
        if declared is not None and state not in declared:
            guess = context.guesses.near(state, declared)
            remedy = f"did you mean `{guess}`?" if guess else f"its states are {listed(declared[:12])}"
            message = f"`{state}` is not a state of `{label}`"
            yield context.complaint("unknown-state", message, at, "no such state", help=remedy)


RULES: tuple[Rule, ...] = (criteria, names)
