"""Rules on settings: methods and their settings, domains of variables, ranges of constants; which settings go together.

`settings_reading` knows the names, types and limits; the rules ask it about each statement separately, so that no
mistake hides another. Which optimizer trains a criterion and treats a prior follows from the settings classes
(`training_settings`). Not here: settings of one criterion (`criterion_rules`), facts that need data
(`criteria.likelihood`, `criteria.importance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ...foundation import DcrfError, Diagnostic, spelling_remedy
from ...syntax import Cardinality, Column, Enumerated, Label as LabelSpec, Learned, Scheme, shown
from .. import settings
from ..schema import RANGES, SCHEMES, read_range
from .checked_stages import EXACT, StageView, running_stages, stage_views, stages_of, without_stage_order
from .context import COLUMN, At, Context, Others, Rule, a, listed
from .training_rules import needs_segments, not_measurable


def inference_and_decoding(context: Context) -> Iterator[Diagnostic]:
    yield from _problems(lambda: settings.inference_settings(context.spec))
    yield from _problems(lambda: settings.decode_statement(context.spec))


def stages(context: Context) -> Iterator[Diagnostic]:
    """The stages that run; a broken chain (`training_rules`) must not hide their problems."""
    loose = without_stage_order(context)
    for n in running_stages(context):
        label = loose.stages[n].label if loose.stages else settings.DEFAULT_STAGE.label
        problems = _problems(lambda label=label: settings.stage_settings(loose, label))  # type: ignore[misc]
        # a constant whose statement could not be read
        yield from (d for d in problems if d.primary is None or not context.may_be_lost(d.primary.span.text))


def _problems(read: Callable[[], Any]) -> Iterator[Diagnostic]:
    try:
        read()
    except DcrfError as error:
        yield from error.diagnostics


def domains(context: Context) -> Iterator[Diagnostic]:
    for variable in context.spec.variables:
        at = domain = variable.domain
        match domain:
            case Enumerated():
                yield from _given_twice(context, variable.name, domain, "states", "state")
            case Cardinality(count=count) if not 1 <= count <= 10_000:
                message = f"`{variable.name}` cannot have {count} states: expected 1 to 10000"
                yield context.complaint("bad-setting", message, at, "expected 1 to 10000")
            case Scheme(name=scheme) if scheme not in SCHEMES:  # in a text, the resolver has reported it
                remedy = spelling_remedy(SCHEMES.suggest(scheme), f"the schemes are {listed(SCHEMES)}")
                message = f"`{scheme}` is not {a(SCHEMES.kind)}"
                yield context.complaint("unknown-name", message, at, "unknown scheme", remedy)
            case Scheme():
                yield from _given_twice(context, variable.name, domain, "types", "segment type")


def _given_twice(
    context: Context, name: str, domain: Enumerated | Scheme, part: str, kind: str
) -> Iterator[Diagnostic]:
    first: dict[str, int] = {}
    for n, one in enumerate(getattr(domain, part)):
        if first.setdefault(one, n) != n:
            there = [(domain.place_of(part, first[one]), "first here")]
            message = f"{kind} `{one}` of `{name}` stands twice"
            yield context.complaint("state-twice", message, domain.place_of(part, n), "again here", others=there)


def others_state(context: Context) -> Iterator[Diagnostic]:
    """`others` may add a state; one that differs from a declared state by a letter is a slip."""
    for label in context.spec.labels:
        if label.others is None or isinstance(label.domain, Learned):
            continue
        plain: LabelSpec = label.model_copy(update={"others": None})
        declared = context.declared_states(plain)
        guess = context.guesses.near(label.others, declared or ())
        if declared and label.others not in declared and guess:
            message = f"`{label.others}` is not a state of `{label.name}`"
            remedy = f"did you mean `{guess}`?"
            there = [(label.place_of("domain"), "its states are declared here")]
            at = label.place_of("others")
            yield context.complaint("unknown-state", message, at, "no such state", remedy, there)


def tuning(context: Context) -> Iterator[Diagnostic]:
    """`tune log(0.1, 1000)`: a known kind of range with valid arguments."""
    for let in context.spec.lets:
        if let.tune is None:
            continue
        name = let.tune.name
        if name not in RANGES:
            known = listed(kind.example for kind in RANGES.values())
            remedy = spelling_remedy(RANGES.suggest(name), f"write for example {known}")
            message = f"`{name}` is not {a(RANGES.kind)}"
            yield context.complaint("unknown-method", message, let.tune.place_of("name"), "unknown", remedy)
        elif read_range(let.tune) is None:
            values = ", ".join(shown(argument.value) for argument in let.tune.arguments)
            message = f"`{name}({values})` is no range: expected {RANGES[name].expected}"
            remedy = f"for example `{RANGES[name].example}`"
            yield context.complaint("bad-argument", message, let.tune, help=remedy)


# decoding with a bound, or by segments --------------------------------------------------------------------------------


def decoded_models(context: Context) -> Iterator[Diagnostic]:
    """A bound is on the sum of potentials at a labelling: latents are summed out, and pruning has no tables.
    `fscore(y)` names a label with segments; what else it needs, the graph knows.
    """
    for rule, place in _decode_rules(context):
        with suppress(DcrfError):  # `inference_and_decoding` reports it
            read = settings.read_decoding(rule)
            if isinstance(read, settings.FscoreDecoding):
                if context.named(read.label, "label") is None:
                    yield from not_measurable(context, "decode fscore", read.label, "label", place)
                else:
                    yield from needs_segments(context, read.label, place, "decode fscore", "decode marginal")
            if not isinstance(read, settings.BoundingDecoding):
                continue
            name = rule.partition("(")[0]
            if context.spec.latents:
                latent = context.spec.latents[0]
                bounds = f"`decode {name}` bounds the score of a labelling"
                message = f"{bounds}, and `latent {latent.name}` is summed out of it"
                remedy = "write `decode joint`, which sums it out first, or `decode marginal`"
                there: Others = [(latent.place_of("name"), "summed out")]
                yield context.complaint("no-bound", message, place, "no bound", remedy, there)
            elif settings.inference_settings(context.spec).method == "pruned":
                message = (
                    f"`decode {name}` needs the potentials of all labels, and `infer pruned` leaves most of them out"
                )
                remedy = "write `decode joint`, or `infer auto`"
                there = [(context.spec.infer.place_of("name"), "pruned here")]
                yield context.complaint("no-bound", message, place, "no bound", remedy, there)


def _decode_rules(context: Context) -> Iterator[tuple[str, At]]:
    with suppress(DcrfError):
        rule = settings.decode_statement(context.spec)
        if rule is not None and context.spec.decode is not None:
            yield rule, context.spec.decode.place_of("name")
    for stage in stage_views(context):
        at = stage.written("decode")
        if stage.settings.decode is not None and at is not None:
            yield stage.settings.decode, at


# optimizers and priors ------------------------------------------------------------------------------------------------


SHAPES: Mapping[settings.Shape, str] = {
    "none": "which is none",
    "quadratic": "a penalty",
    "smooth": "whose penalty is not quadratic",
    "corner": "whose penalty has a corner at zero",
    "groups": "whose penalty has a corner where a group of weights is zero",
}


def trained_by(context: Context) -> Iterator[Diagnostic]:
    """The optimizer of each stage must be able to train its criterion."""
    for stage in stage_views(context):
        able = settings.TRAINED_BY[stage.criterion]
        criterion = stage.settings.criterion
        if (
            isinstance(criterion, settings.PieceSettings)
            and isinstance(criterion.nota, settings.LikelyCases)
            and stage.optimizer in settings.STEPWISE
        ):
            message = f"`{stage.optimizer}` cannot train pieces whose cases of `nota` the model chooses on the way"
            remedy = f"they are trained by {listed(settings.SMOOTH)}"
            others = [(stage.place("nota"), "chosen on the way")]
            yield context.complaint("cannot-train", message, stage.place("optimizer"), "not by this", remedy, others)
            continue
        if stage.optimizer not in able:
            message = f"`{stage.optimizer}` cannot train `{stage.criterion}`"
            remedy = f"`{stage.criterion}` is trained by {listed(able)}"
            at = stage.place("optimizer")
            yield context.complaint("cannot-train", message, at, "not by this", remedy, stage.of_criterion)


def priors(context: Context) -> Iterator[Diagnostic]:
    """The optimizer of each stage must be able to treat the penalties of its priors."""
    for stage in stage_views(context):
        if stage.criterion in settings.WITHOUT_PENALTY:
            written = [setting.key for setting in stage.stage.criterion.settings if setting.key[0] == "prior"]
            for key in written:
                message = f"`{stage.criterion}` takes no prior, so `{'.'.join(key)}` changes nothing"
                at = stage.place(*key)
                yield context.warning("idle-setting", message, at, "no effect", "remove it")
            continue
        if stage.optimizer not in settings.TRAINED_BY[stage.criterion]:
            continue
        for key, prior in stage.priors.items():
            if prior.shape not in settings.TREATS[stage.optimizer]:
                yield _not_treated(stage, key, prior)


def group_priors(context: Context) -> Iterator[Diagnostic]:
    """`induce` judges each new weight by itself, so it takes no prior on groups."""
    for stage, _ in stages_of(context, settings.InduceSettings):
        for key, prior in stage.priors.items():
            if isinstance(prior, settings.GroupLassoPrior):
                message = f"`induce` judges each cross by its own weights, and `{prior.method}` is on whole groups"
                remedy = "induce with `laplace` or `gaussian`, and train a later stage with `group_lasso`"
                yield context.complaint("prior-not-treated", message, stage.place(*key), "not here", remedy)


def ties(context: Context) -> Iterator[Diagnostic]:
    """A mean that is a clique: of the prior of another one with as many sites, and not in a circle."""
    for stage in stage_views(context):
        general = stage.settings.prior
        if isinstance(general, settings.GaussianPrior) and general.tied_to is not None:
            message = f"`mean = {general.tied_to}` draws one clique towards another, and this prior is of all weights"
            remedy = "write `prior.NAME = gaussian(mean = …)`; `mean` of all weights is `zero` or `model`"
            yield context.complaint("bad-tie", message, stage.place("prior"), "of which clique?", remedy)
        goals = {
            name: prior.tied_to
            for name, prior in stage.settings.clique_priors.items()
            if isinstance(prior, settings.GaussianPrior) and prior.tied_to is not None
        }
        if goals and isinstance(stage.settings.criterion, settings.InduceSettings):
            message = "`induce` judges crosses by a prior around zero, and this one is around another clique"
            at = stage.place("prior", next(iter(goals)))
            yield context.complaint("bad-tie", message, at, "not here", "write `mean = zero`, or train `likelihood`")
        for name, goal in goals.items():
            yield from _tie(context, stage, name, goal, goals)


def kept(context: Context) -> Iterator[Diagnostic]:
    """`keep` trains twice by value and gradient, the second time on the weights that are left."""
    for stage in stage_views(context):
        if stage.settings.keep is None:
            continue
        criterion = stage.settings.criterion
        if "gradient" not in criterion.offers or stage.criterion in ("induce", "rescale"):
            why, remedy = f"`{stage.criterion}`", "train by `likelihood` or another criterion with a gradient"
        elif isinstance(criterion, settings.PieceSettings) and isinstance(criterion.nota, settings.LikelyCases):
            why, remedy = "cases of `nota` that the model chooses", "leave out one of the two"
        elif stage.optimizer not in settings.SMOOTH:
            why, remedy = f"`{stage.optimizer}`", f"train by {listed(settings.SMOOTH)}"
        elif stage.settings.patience is not None:
            why, remedy = "`patience`, which may go back to weights that were left out", "leave out one of the two"
        else:
            continue
        message = f"`keep` does not go with {why}"
        at = stage.place("keep")
        yield context.complaint("cannot-keep", message, at, "not here", remedy)


def _tie(context: Context, stage: StageView, name: str, goal: str, goals: Mapping[str, str]) -> Iterator[Diagnostic]:
    at, cliques = stage.place("prior", name), {clique.label: clique for clique in context.spec.cliques}
    if goal not in cliques:
        guess, there = context.near(goal, ["clique"])
        remedy = f"did you mean `{guess}`?" if guess else "a mean is `zero`, `model` or the name of a clique"
        yield context.complaint("unknown-name", f"there is no clique `{goal}`", at, "no such clique", remedy, there)
        return
    path = [name]
    while path[-1] in goals and goals[path[-1]] not in path:
        path.append(goals[path[-1]])
    if goals.get(path[-1]) == name:
        circle = " → ".join(f"`{one}`" for one in [*path, name])
        message = f"priors draw cliques towards each other in a circle: {circle}"
        remedy = "let one of them have `mean = zero`"
        yield context.complaint("bad-tie", message, at, "leads back to itself", remedy)
    elif len(cliques[goal].sites) != len(cliques[name].sites):
        own, others = len(cliques[name].sites), len(cliques[goal].sites)
        message = f"the sites of `{name}` are {own} and those of `{goal}` {others}, so no weight has a counterpart"
        remedy = "draw it towards a clique of as many sites"
        yield context.complaint("bad-tie", message, at, "not alike", remedy)


def _not_treated(stage: StageView, key: tuple[str, ...], prior: settings.Prior) -> Diagnostic:
    optimizer, written = stage.optimizer, stage.written(*key)
    treats = settings.TREATS[optimizer]
    if treats == ("none",):
        remedy = f"write `{'.'.join(key)} = none`"
    else:
        able = [name for name in settings.TRAINED_BY[stage.criterion] if prior.shape in settings.TREATS[name]]
        remedy = f"it is treated by {listed(able)}"
    if written is None:
        message = f"`{optimizer}` cannot treat a prior, and where none is written it is `{prior.method}`"
        return stage.context.complaint(
            "prior-not-treated", message, stage.place("optimizer"), "without a prior", remedy
        )
    why = "" if treats == ("none",) else f", {SHAPES[prior.shape]}"
    message = f"`{optimizer}` cannot treat the prior `{prior.method}`{why}"
    others = [(stage.place("optimizer"), "the optimizer")] if stage.written("optimizer") else []
    return stage.context.complaint("prior-not-treated", message, written, "not by this", remedy, others)


def scaling(context: Context) -> Iterator[Diagnostic]:
    """Iterative scaling needs exact inference, and labels that are all known."""
    for stage in stage_views(context):
        if stage.optimizer != "iis" or "iis" not in settings.TRAINED_BY[stage.criterion]:
            continue
        stage_inference = stage.settings.infer
        try:
            method = (stage_inference or settings.inference_settings(context.spec)).method
        except DcrfError:
            continue
        if method not in EXACT:
            message = f"`iis` needs exact expectations, and `{method}` does not give them"
            at = stage.place("infer") if stage_inference is not None else context.spec.infer.place_of("name")
            yield context.complaint("cannot-scale", message, at, "not exact", "write `infer = exact` in the stage")
        for latent in context.spec.latents[:1]:
            message = f"`iis` needs labels that are all known, and `{latent.name}` is latent"
            remedy = "train by `lbfgs`, which sums it out"
            there = [(latent.place_of("name"), "declared here")]
            at = stage.place("optimizer")
            yield context.complaint("cannot-scale", message, at, "sums nothing out", remedy, there)


# importance -----------------------------------------------------------------------------------------------------------


NUMBERS = ("float", "int")
OF_SENTENCES = (
    settings.LikelihoodSettings, settings.PieceSettings, settings.RescaleSettings, settings.PerceptronSettings,
    settings.MceSettings, settings.MarginalSettings, settings.ExponentialSettings, settings.AdaboostSettings,
    settings.HmsvmSettings,
)  # fmt: skip
SENTENCES = (
    "likelihood", *settings.PIECES, "marginal", "mce", "hmsvm", "perceptron", "exponential", "adaboost", "rescale",
)  # fmt: skip


def importance_criteria(context: Context) -> Iterator[Diagnostic]:
    """A criterion takes factors of sentences if it is a sum over them, and of tokens if it is a sum over those."""
    for stage in stage_views(context):
        found, criterion = stage.settings.importance, stage.settings.criterion
        if found is None:
            continue
        named = f"`{stage.criterion}`"
        if not isinstance(criterion, OF_SENTENCES):
            yield _refusal(stage, f"{named} counts every sentence once", f"train by {listed(SENTENCES)}")
        elif isinstance(criterion, settings.MceSettings) and isinstance(criterion.loss, settings.MeasureLoss):
            why = f"`{criterion.loss.method}` is a ratio of counts over the whole data"
            yield _refusal(stage, why, "write `loss = label(…)` or `loss = sequence`")
        elif isinstance(stage.settings.optimizer, settings.IisSettings):
            yield _refusal(stage, "`iis` counts each sentence once", "train by `lbfgs`")
        elif not isinstance(found, settings.SentenceImportance) and not _is_sum_of_tokens(stage):
            why = f"{named} is here a sum over sentences, and `{found.method}` are factors of tokens"
            remedy = "write `importance = COLUMN`, or train by `marginal`, `pseudolikelihood` or `mce(loss = label(…))`"
            yield _refusal(stage, why, remedy)


def _is_sum_of_tokens(stage: StageView) -> bool:
    criterion = stage.settings.criterion
    if isinstance(criterion, settings.MceSettings):
        return isinstance(criterion.loss, settings.LabelLoss)
    return isinstance(criterion, settings.PieceSettings | settings.MarginalSettings)


def _refusal(stage: StageView, why: str, remedy: str) -> Diagnostic:
    others = stage.of_criterion
    message = f"`importance` has no meaning here: {why}"
    return stage.context.complaint("cannot-weigh", message, stage.place("importance"), "not here", remedy, others)


def importance_names(context: Context) -> Iterator[Diagnostic]:
    """It names one column of numbers, or one label and its states."""
    for stage in stage_views(context):
        found, at = stage.settings.importance, stage.place("importance")
        if found is None:
            continue
        if isinstance(found, settings.StateImportance):
            yield from _importance_states(context, stage, found)
            continue
        columns: tuple[str, ...] = getattr(found, "columns", ())
        if len(columns) != 1:
            message = f"`{found.method}` takes one column"
            yield context.complaint("bad-argument", message, at, help=f"for example `{found.method}(trust)`")
            continue
        yield from _importance_column(context, columns[0], at)


def _importance_column(context: Context, name: str, at: At) -> Iterator[Diagnostic]:
    if context.may_be_lost(name):
        return
    entry = context.named(name, COLUMN)
    if entry is None:
        guess, there = context.near(name, [COLUMN])
        message = f"there is no column `{name}`, of which `importance` is to be read"
        remedy = f"did you mean `{guess}`?" if guess else f"add `{name}: float` to the `data` statement"
        yield context.complaint("unknown-name", message, at, "no such column", remedy, there)
    elif isinstance(entry.entry, Column) and entry.entry.type.name not in NUMBERS:
        message = f"`{name}` is a column of `{entry.entry.type.name}`, and `importance` is a number a token"
        there = [(entry.place, "declared here")]
        remedy = f"declare it as `{name}: float`"
        yield context.complaint("wrong-kind", message, at, "no number", remedy, there)


def _importance_states(context: Context, stage: StageView, found: settings.StateImportance) -> Iterator[Diagnostic]:
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
        factors = settings.state_factors(found.factors)
    except ValueError as error:
        message = f'`"{error}"` is no state with its number'
        remedy = 'write each once as `"STATE NUMBER"`, the number from 0 to 1e9'
        yield context.complaint("bad-argument", message, at, help=remedy)
        return
    declared = context.states(label)
    for state in factors:
        if declared is not None and state not in declared:
            remedy = spelling_remedy(context.guesses.near(state, declared), f"its states are {listed(declared[:12])}")
            message = f"`{state}` is not a state of `{label}`"
            yield context.complaint("unknown-state", message, at, "no such state", remedy)


RULES: tuple[Rule, ...] = (inference_and_decoding, stages, domains, others_state, tuning)


DECODING_RULES: tuple[Rule, ...] = (decoded_models,)


OPTIMIZER_RULES: tuple[Rule, ...] = (trained_by, priors, group_priors, ties, kept, scaling)


IMPORTANCE_RULES: tuple[Rule, ...] = (importance_criteria, importance_names)
