"""Rules on the training of a stage: whether its optimizer can train its criterion and treat its priors.

The tables are in `trainable`. Not here: whether a method is known (`setting_rules`), facts that need data
(`criteria.scaling`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property

from ...foundation import DcrfError, Diagnostic
from ..schema import Path, Value
from ..settings import (
    DEFAULT_STAGE,
    SMOOTH,
    STEPWISE,
    TRAINED_BY,
    TREATS,
    WITHOUT_PENALTY,
    GaussianPrior,
    GroupLassoPrior,
    IisSettings,
    InduceSettings,
    LikelyCases,
    PieceSettings,
    Prior,
    RescaleSettings,
    Shape,
    inference_settings,
    stage_settings,
)
from .checked_stages import running_stages, without_stage_order
from .context import Context, Rule, listed

SHAPES: Mapping[Shape, str] = {
    "none": "which is none",
    "quadratic": "a penalty",
    "smooth": "whose penalty is not quadratic",
    "corner": "whose penalty has a corner at zero",
    "groups": "whose penalty has a corner where a group of weights is zero",
}
EXACT = ("exact", "auto")  # inference methods; whether `auto` takes `exact` depends on the graph


class StageView:
    """A stage that runs: its settings, and their places in the text."""

    def __init__(self, context: Context, number: int):
        loose = without_stage_order(context)
        self.context, self.number = context, number
        self.stage = loose.stages[number] if loose.stages else DEFAULT_STAGE
        self.settings = stage_settings(loose, self.stage.label)
        self.path: Path = ("stages", number, "criterion")

    @property
    def criterion(self) -> str:
        return self.stage.criterion.name

    @property
    def optimizer(self) -> str:
        return self.settings.optimizer.method

    def written(self, *key: str) -> Path | None:
        """The place of a setting; None if it is not written."""
        return self._places.get(key)

    @cached_property
    def _places(self) -> Mapping[tuple[str, ...], Path]:
        """The place of each written setting: in the block, else among the arguments."""
        places: dict[tuple[str, ...], Path] = {}
        for s, setting in enumerate(self.stage.criterion.settings):
            places.setdefault(setting.key, (*self.path, "settings", s, "value"))
        for a, argument in enumerate(self.stage.criterion.arguments):
            if argument.name is not None:
                places.setdefault((argument.name,), (*self.path, "arguments", a, "value"))
        return places

    def value(self, *key: str) -> Value | None:
        """The value of a setting as written; None if it is not."""
        return next((setting.value for setting in self.stage.criterion.settings if setting.key == key), None)

    def place(self, *key: str) -> Path:
        """The place of a setting, or that of the criterion if it is not written."""
        return self.written(*key) or (*self.path, "name")


def stage_views(context: Context) -> Iterator[StageView]:
    """The stages that run and whose settings can be read."""
    if stage_views not in context.kept:
        views: list[StageView] = []
        for n in running_stages(context):
            with suppress(DcrfError):  # `setting_rules` reports it
                views.append(StageView(context, n))
        context.kept[stage_views] = views
    yield from context.kept[stage_views]


def trained_by(context: Context) -> Iterator[Diagnostic]:
    """The optimizer of each stage must be able to train its criterion."""
    for stage in stage_views(context):
        able = TRAINED_BY[stage.criterion]
        criterion = stage.settings.criterion
        if (
            isinstance(criterion, PieceSettings)
            and isinstance(criterion.nota, LikelyCases)
            and stage.optimizer in STEPWISE
        ):
            message = f"`{stage.optimizer}` cannot train pieces whose cases of `nota` the model chooses on the way"
            remedy = f"they are trained by {listed(SMOOTH)}"
            others = [(stage.place("nota"), "chosen on the way")]
            yield context.complaint(
                "cannot-train", message, stage.place("optimizer"), "not by this", help=remedy, others=others
            )
            continue
        if stage.optimizer not in able:
            message = f"`{stage.optimizer}` cannot train `{stage.criterion}`"
            remedy = f"`{stage.criterion}` is trained by {listed(able)}"
            others = [((*stage.path, "name"), "the criterion")]
            yield context.complaint(
                "cannot-train", message, stage.place("optimizer"), "not by this", help=remedy, others=others
            )


def priors(context: Context) -> Iterator[Diagnostic]:
    """The optimizer of each stage must be able to treat the penalties of its priors."""
    for stage in stage_views(context):
        if stage.criterion in WITHOUT_PENALTY:
            written = [setting.key for setting in stage.stage.criterion.settings if setting.key[0] == "prior"]
            for key in written:
                message = f"`{stage.criterion}` takes no prior, so `{'.'.join(key)}` changes nothing"
                at = stage.place(*key)
                yield context.complaint("idle-setting", message, at, "no effect", help="remove it", severity="warning")
            continue
        if stage.optimizer not in TRAINED_BY[stage.criterion]:
            continue
        named: dict[tuple[str, ...], Prior] = {("prior",): stage.settings.prior}
        named |= {("prior", name): prior for name, prior in stage.settings.clique_priors.items()}
        for key, prior in named.items():
            if prior.shape not in TREATS[stage.optimizer]:
                yield _not_treated(stage, key, prior)


def groups(context: Context) -> Iterator[Diagnostic]:
    """`induce` judges each new weight by itself, so it takes no prior on groups."""
    for stage in stage_views(context):
        if not isinstance(stage.settings.criterion, InduceSettings):
            continue
        named: dict[tuple[str, ...], Prior] = {("prior",): stage.settings.prior}
        named |= {("prior", name): prior for name, prior in stage.settings.clique_priors.items()}
        for key, prior in named.items():
            if isinstance(prior, GroupLassoPrior):
                message = f"`induce` judges each cross by its own weights, and `{prior.method}` is on whole groups"
                remedy = "induce with `laplace` or `gaussian`, and train a later stage with `group_lasso`"
                yield context.complaint("prior-not-treated", message, stage.place(*key), "not here", help=remedy)


def ties(context: Context) -> Iterator[Diagnostic]:
    """A mean that is a clique: of the prior of another one with as many sites, and not in a circle."""
    for stage in stage_views(context):
        general = stage.settings.prior
        if isinstance(general, GaussianPrior) and general.tied_to is not None:
            message = f"`mean = {general.tied_to}` draws one clique towards another, and this prior is of all weights"
            remedy = "write `prior.NAME = gaussian(mean = …)`; `mean` of all weights is `zero` or `model`"
            yield context.complaint("bad-tie", message, stage.place("prior"), "of which clique?", help=remedy)
        goals = {
            name: prior.tied_to
            for name, prior in stage.settings.clique_priors.items()
            if isinstance(prior, GaussianPrior) and prior.tied_to is not None
        }
        if goals and isinstance(stage.settings.criterion, InduceSettings):
            message = "`induce` judges crosses by a prior around zero, and this one is around another clique"
            at = stage.place("prior", next(iter(goals)))
            yield context.complaint(
                "bad-tie", message, at, "not here", help="write `mean = zero`, or train `likelihood`"
            )
        for name, goal in goals.items():
            yield from _tie(context, stage, name, goal, goals)


def kept(context: Context) -> Iterator[Diagnostic]:
    """`keep` trains twice by value and gradient, the second time on the weights that are left."""
    for stage in stage_views(context):
        if stage.settings.keep is None:
            continue
        criterion = stage.settings.criterion
        if "gradient" not in criterion.offers or isinstance(criterion, InduceSettings | RescaleSettings):
            why, remedy = f"`{stage.criterion}`", "train by `likelihood` or another criterion with a gradient"
        elif isinstance(criterion, PieceSettings) and isinstance(criterion.nota, LikelyCases):
            why, remedy = "cases of `nota` that the model chooses", "leave out one of the two"
        elif stage.optimizer not in SMOOTH:
            why, remedy = f"`{stage.optimizer}`", f"train by {listed(SMOOTH)}"
        elif stage.settings.patience is not None:
            why, remedy = "`patience`, which may go back to weights that were left out", "leave out one of the two"
        else:
            continue
        message = f"`keep` does not go with {why}"
        at = stage.place("keep")
        yield context.complaint("cannot-keep", message, at, "not here", help=remedy)


def _tie(context: Context, stage: StageView, name: str, goal: str, goals: Mapping[str, str]) -> Iterator[Diagnostic]:
    at, cliques = stage.place("prior", name), {clique.label: clique for clique in context.spec.cliques}
    if goal not in cliques:
        guess, there = context.near(goal, ["clique"])
        remedy = f"did you mean `{guess}`?" if guess else "a mean is `zero`, `model` or the name of a clique"
        yield context.complaint(
            "unknown-name", f"there is no clique `{goal}`", at, "no such clique", help=remedy, others=there
        )
        return
    path = [name]
    while path[-1] in goals and goals[path[-1]] not in path:
        path.append(goals[path[-1]])
    if goals.get(path[-1]) == name:
        circle = " → ".join(f"`{one}`" for one in [*path, name])
        message = f"priors draw cliques towards each other in a circle: {circle}"
        remedy = "let one of them have `mean = zero`"
        yield context.complaint("bad-tie", message, at, "leads back to itself", help=remedy)
    elif len(cliques[goal].sites) != len(cliques[name].sites):
        own, others = len(cliques[name].sites), len(cliques[goal].sites)
        message = f"the sites of `{name}` are {own} and those of `{goal}` {others}, so no weight has a counterpart"
        remedy = "draw it towards a clique of as many sites"
        yield context.complaint("bad-tie", message, at, "not alike", help=remedy)


def _not_treated(stage: StageView, key: tuple[str, ...], prior: Prior) -> Diagnostic:
    optimizer, written = stage.optimizer, stage.written(*key)
    treats = TREATS[optimizer]
    if treats == ("none",):
        remedy = f"write `{'.'.join(key)} = none`"
    else:
        able = [name for name in TRAINED_BY[stage.criterion] if prior.shape in TREATS[name]]
        remedy = f"it is treated by {listed(able)}"
    if written is None:
        message = f"`{optimizer}` cannot treat a prior, and where none is written it is `{prior.method}`"
        return stage.context.complaint(
            "prior-not-treated", message, stage.place("optimizer"), "without a prior", help=remedy
        )
    why = "" if treats == ("none",) else f", {SHAPES[prior.shape]}"
    message = f"`{optimizer}` cannot treat the prior `{prior.method}`{why}"
    others = [(stage.place("optimizer"), "the optimizer")] if stage.written("optimizer") else []
    return stage.context.complaint("prior-not-treated", message, written, "not by this", help=remedy, others=others)


def scaling(context: Context) -> Iterator[Diagnostic]:
    """Iterative scaling needs exact inference, and labels that are all known."""
    for stage in stage_views(context):
        if not isinstance(stage.settings.optimizer, IisSettings) or "iis" not in TRAINED_BY[stage.criterion]:
            continue
        stage_inference = stage.settings.infer
        try:
            method = stage_inference.method if stage_inference is not None else inference_settings(context.spec).method
        except DcrfError:
            continue
        if method not in EXACT:
            message = f"`iis` needs exact expectations, and `{method}` does not give them"
            at = stage.place("infer") if stage_inference is not None else ("infer", "name")
            yield context.complaint("cannot-scale", message, at, "not exact", help="write `infer = exact` in the stage")
        for n, latent in enumerate(context.spec.latents[:1]):
            message = f"`iis` needs labels that are all known, and `{latent.name}` is latent"
            remedy = "train by `lbfgs`, which sums it out"
            there = [(("latents", n, "name"), "declared here")]
            at = stage.place("optimizer")
            yield context.complaint("cannot-scale", message, at, "sums nothing out", help=remedy, others=there)


RULES: tuple[Rule, ...] = (trained_by, priors, groups, ties, kept, scaling)
