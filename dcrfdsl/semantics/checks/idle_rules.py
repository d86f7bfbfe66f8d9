"""Rules for templates without errors: parts without effect, and columns of numbers in units that training suffers from.

An unused declaration of a used file is not a mistake: a file of groups is a library. A weight belongs to the unit of
its column, and a prior to the weight. Training finds the optimum with any column, but of one that is far from 0 the
prior decides how much can be learned. Not here: settings without effect, which belong to their statements; latent
variables and memories (`variable_rules`); states (`data_rules`); the units in which optimizers work
(`optimizers.weight_units`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...foundation import Diagnostic, np
from ...syntax import Apply, CliqueSpec, Compares, FeatureGroup, Node, Reference, field_names, shown
from ..schema import ModelSpec, children
from ..settings import NoPrior, stage_settings
from .checked_stages import running_stages, running_statements
from .context import Context, Rule, every_feature

_IDLE = {  # field of a specification -> slug, words and remedy
    "groups": ("idle-group", "no feature list has it", "list it, as in `clique {label}: {name}`, or remove it"),
    "lets": ("idle-constant", "nothing names it", "use it, as in `prior = gaussian(variance = {name})`, or remove it"),
}


def unused(context: Context) -> Iterator[Diagnostic]:
    """Groups and constants that nothing uses. Those that only they use are not reported."""
    spec = context.spec
    if not spec.cliques:
        return  # a part of a template; `label_without_clique` reports a whole one
    used = _used(spec)
    idle = [item for part in _IDLE for item in getattr(spec, part) if item.name not in used]
    used |= {text for item in idle for text in _texts(item, but="name")}
    label = spec.labels[0].name if spec.labels else "LABEL"
    for part, (slug, words, remedy) in _IDLE.items():
        for item in getattr(spec, part):
            at = item.place_of("name")
            in_main_file = not item.is_written or at.source.name == context.main_file
            if item.name in used or not in_main_file or context.mentioned_in_lost(item.name):
                continue
            message = f"nothing uses the {item.word} `{item.name}`: it changes nothing"
            help = remedy.format(name=item.name, label=label)
            yield context.warning(slug, message, at, words, help)


def _used(spec: ModelSpec) -> set[str]:
    """Every text in the specification, and in the groups and constants that it uses."""
    inner = {item.name: item for part in _IDLE for item in getattr(spec, part)}
    fields = (getattr(spec, name) for name in field_names(type(spec)) if name not in (*_IDLE, "doc"))
    reached = {text for field in fields for text in _texts(field)}
    open_ = [name for name in inner if name in reached]
    while open_:
        names = set(_texts(inner[open_.pop()], but="name")) - reached
        reached |= names
        open_ += [name for name in names if name in inner]
    return reached


def _texts(part: Any, *, but: str = "") -> Iterator[str]:
    """Every text inside a part of a specification except comments. Iterative, because parts may be deep."""
    left = [getattr(part, name) for name in field_names(type(part)) if name != but] if but else [part]
    while left:
        node = left.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, tuple):
            left.extend(node)
        elif isinstance(node, Node):
            left.extend(getattr(node, name) for name in field_names(type(node)) if name not in ("doc", "per"))


def same_cliques(context: Context) -> Iterator[Diagnostic]:
    """Two cliques that are equal, or that share a name because neither has an explicit one.

    Equal cliques in different pieces have weights that do not add up: each has functions of its own.
    """
    by_content: dict[object, CliqueSpec] = {}
    by_label: dict[str, CliqueSpec] = {}
    pieces = _pieces(context)
    for clique in context.spec.cliques:
        earlier = by_content.setdefault((_content(clique), pieces.get(clique.name)), clique)
        namesake = by_label.setdefault(clique.label, clique)
        if earlier is not clique:
            message = f"clique `{clique.label}` stands twice: the weights of the two only add up"
            words, remedy, other = "said again", "remove one of them", earlier
        elif namesake is not clique:
            message = f"two cliques are called `{clique.label}`: neither a prior nor `show` can tell them apart"
            words, other = "of the same name", namesake
            remedy = "name them with `as NAME`, or join their features in one list"
        else:
            continue
        yield context.warning("same-clique", message, clique.sites[0], words, remedy, [(other, "the other one")])


def _pieces(context: Context) -> dict[str | None, frozenset[str]]:
    """Of each clique that pieces of a running `piecewise` hold, by its name, those pieces."""
    holders: dict[str | None, set[str]] = {}
    used = {shown(one.value) for stage in running_statements(context) for one in stage.criterion.arguments}
    for piece in context.spec.pieces:
        for member in piece.members if piece.name in used else ():
            holders.setdefault(member.clique, set()).add(piece.name)
    return {clique: frozenset(names) for clique, names in holders.items()}


def _content(clique: CliqueSpec) -> object:
    """The identity of a clique: all but its name and comment, in any order of its sites and features."""
    fixed = clique.model_copy(update={"name": None, "doc": (), "sites": (), "features": ()})
    sites: object = clique.sites if clique.relational else frozenset(clique.sites)
    return fixed, sites, frozenset(clique.features)


# numbers as features --------------------------------------------------------------------------------------------------


FAR = 20.0  # spreads between the mean and 0
NARROW, WIDE = 0.03, 1000.0  # spreads that are far from 1
LEVELS = ("mean", "max", "min")  # statistics of windows that are where the column is
INVARIANT = ("auto", "lbfgs", "cg")  # optimizers that train all weights of a clique together


def unscaled_numbers(context: Context) -> Iterator[Diagnostic]:
    """Columns of numbers among features, by mean and standard deviation of the training data."""
    if context.data is None:
        return
    seen = set[str]()
    for holder, node in _numbers(context.spec):
        name, values = node.name, getattr(context.data.columns.get(node.name), "values", None)
        if name in seen or _suits_all(context, holder) or not isinstance(values, np.ndarray) or values.ndim != 1:
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
            yield context.warning("unscaled-number", message, node, "in these units", remedy)


def _numbers(spec: ModelSpec) -> Iterator[tuple[FeatureGroup | CliqueSpec, Reference]]:
    """Where feature lists have a column in its units: not in a comparison, nor in a function but of its level."""
    for holder, feature in every_feature(spec):
        waiting: list[Node] = [feature]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Reference) and spec.column(node.name) is not None:
                yield holder, node
            elif not isinstance(node, Apply | Compares) or getattr(node, "function", "") in LEVELS:
                waiting.extend(reversed([*children(node)]))


def _suits_all(context: Context, holder: FeatureGroup | CliqueSpec) -> bool:
    """Whether units are no matter: the stages find the same model in all, as they have no prior on these weights."""
    spec = context.spec
    label = holder.label if isinstance(holder, CliqueSpec) else None
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
    if abs(mean) > FAR * spread:
        return (
            f"{about}: what its changes tell takes a large weight and a `bias` against it, which priors hold near 0",
            f"write `standardize({name})` or `bin({name}, 8)`; or name its clique, and leave it without a prior: "
            "`prior.NAME = none`",
        )
    if spread < NARROW:
        return f"{about}: it takes large weights, which priors hold near 0", f"write `standardize({name})`"
    if spread > WIDE:
        return (
            f"{about}: its weights are too small for a prior to hold them, and lead steps that are the same for all",
            f"write `standardize({name})` or `bin({name}, 8)`",
        )
    return None


RULES: tuple[Rule, ...] = (unused, same_cliques, unscaled_numbers)
