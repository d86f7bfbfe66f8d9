"""Rules on numbers as features: columns that are far from 0, or whose values hardly differ, or differ by thousands.

A weight belongs to the unit of its column, and a prior to the weight. Training finds the optimum with any column, but
of one that is far from 0 the prior decides how much can be learned. Not here: the units in which optimizers work
(`optimizers.weight_units`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...foundation import Diagnostic, LazyModule
from ..schema import Apply, Compares, Path, Reference, nodes
from ..settings import NoPrior, stage_settings
from .checked_stages import running_stages
from .context import Context, Rule
from .walk import every_feature

if TYPE_CHECKING:
    import numpy as np
else:
    np = LazyModule("numpy")

FAR = 20.0  # spreads between the mean and 0
NARROW, WIDE = 0.03, 1000.0  # spreads that are far from 1
INVARIANT = ("auto", "lbfgs", "cg")  # optimizers that train all weights of a clique together


def unscaled_numbers(context: Context) -> Iterator[Diagnostic]:
    """Columns of numbers among features, by mean and standard deviation of the training data."""
    if context.data is None:
        return
    seen = set[str]()
    for path, name in _numbers(context):
        values = getattr(context.data.columns.get(name), "values", None)
        if name in seen or _suits_all(context, path) or not isinstance(values, np.ndarray) or values.ndim != 1:
            continue
        seen.add(name)
        known = values[~np.isnan(values)]  # numbers may be missing
        if not len(known):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            mean, spread = float(np.mean(known)), float(np.std(known))
        problem = _problem(name, mean, spread)
        if problem is not None:
            message, remedy = problem
            yield context.complaint("unscaled-number", message, path, "in these units", help=remedy, severity="warning")


def _numbers(context: Context) -> Iterator[tuple[Path, str]]:
    """Where feature lists name a column of numbers as it is: not in a comparison, nor as the argument of a function."""
    data = context.spec.data
    columns = {column.name for column in data.columns} if data is not None else set[str]()
    for path, feature in every_feature(context.spec):
        found = list(nodes(feature, path))
        inside = [at for at, node in found if isinstance(node, Apply | Compares)]
        for at, node in found:
            if isinstance(node, Reference) and node.name in columns and not any(at[: len(i)] == i for i in inside):
                yield at, node.name


def _suits_all(context: Context, path: Path) -> bool:
    """Whether units are no matter: the stages find the same model in all, as they have no prior on these weights."""
    spec = context.spec
    label = spec.cliques[int(path[1])].label if path[0] == "cliques" else None
    for number in running_stages(context):
        settings = stage_settings(spec, spec.stages[number].label if spec.stages else None)
        prior = settings.clique_priors.get(label, settings.prior) if label is not None else settings.prior
        if not (
            settings.criterion.takes_prior and isinstance(prior, NoPrior) and settings.optimizer.method in INVARIANT
        ):
            return False
    return True


def _problem(name: str, mean: float, spread: float) -> tuple[str, str] | None:
    """Message and remedy for a column with this mean and spread; None if nothing is wrong with it."""
    if not (np.isfinite(mean) and np.isfinite(spread)) or spread == 0.0:
        return None
    digits = min(max(0, 2 - math.floor(math.log10(spread))), 12)
    shown = f"{spread:.3g}" if spread < 1000.0 else f"{spread:.0f}"
    about = f"`{name}` has the mean {mean:,.{digits}f} and the spread {shown} in the training data"
    apart = f"{'-' if mean >= 0.0 else '+'} {abs(mean):.{digits}f}"
    if abs(mean) > FAR * spread:
        return (
            f"{about}: what its changes tell takes a large weight and a `bias` against it, which priors hold near 0",
            f"let the column have ({name} {apart}) / {shown}, or write `bin({name}, 8)`; or name its clique, and "
            "leave it without a prior: `prior.NAME = none`",
        )
    if spread < NARROW:
        return f"{about}: it takes large weights, which priors hold near 0", f"divide it by {shown} in the data"
    if spread > WIDE:
        return (
            f"{about}: its weights are too small for a prior to hold them, and lead steps that are the same for all",
            f"divide it by {shown} in the data, or write `bin({name}, 8)`",
        )
    return None


RULES: tuple[Rule, ...] = (unscaled_numbers,)
