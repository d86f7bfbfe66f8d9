"""Settings as other tools spell and place them, and their equivalents here as text that can be copied.

CRF++ (`c`, `f`), CRFsuite (`c1`, `c2`, `feature.minfreq`), Wapiti (`rho1`, `stopeps`), scikit-learn (`max_iter`, `tol`,
`alpha`) and the usual words of other libraries put everything on the trainer. Here a penalty is a `prior`, stopping
rules belong to the `optimizer`, and rare features are cut in feature lists. Not here: reading settings
(`settings_reading`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import ValidationError

from ...foundation import Table, dataclass, did_you_mean
from ...syntax import CallSpec, nodes as ex, other_words, value_text
from ..schema import ModelSpec, as_call
from .infer_settings import INFERENCE
from .loss_settings import COSTS
from .method_settings import MethodSettings
from .optimizer_settings import OPTIMIZERS, AutoOptimizer
from .prior_settings import PRIORS
from .training_settings import CRITERIA, TRAINED_BY, WITHOUT_PENALTY

_ITERATIONS = ("max_iterations", "epochs", "rounds", "iterations")

# The weights of ‖λ‖₁ and ‖λ‖² that a number stands for.
_PENALTIES: Mapping[str, Callable[[float], tuple[float, float]]] = {
    "c1": lambda c: (c, 0.0),
    "c2": lambda c: (0.0, c),
    "c2 / 2": lambda c: (0.0, c / 2),
    "sigma": lambda sigma: (0.0, 0.5 / sigma**2),
    "variance": lambda v: (0.0, 0.5 / v),
    "scale": lambda b: (1 / b, 0.0),
}
_USUAL_PRIOR = "gaussian(variance = 10)"

_COMMAND = {"threads": "`dcrfdsl train … --threads N`", "quiet": "progress is shown unless `--quiet` is given"}


@dataclass(frozen=True)
class SettingHolder:
    """The stage or method on which a setting was written.

    `known`: the settings that it has.   `table`: the methods of its kind.   `written`: the settings of a stage as
    written, by name; None for a method that is itself the value of a setting.
    """

    method: str
    known: Sequence[str]
    table: Table[type[MethodSettings]]
    spec: ModelSpec
    written: Mapping[str, ex.Value] | None = None


_Taken = Iterable[tuple[Sequence[str], str]]  # names as written, and the remedy for them


def advice(strange: Mapping[str, ex.Value], holder: SettingHolder) -> _Taken:
    """What to write instead of settings that `holder` does not have. Names that become one setting share a remedy."""
    remedies: list[tuple[Sequence[str], str]] = []
    rest = dict(strange)
    for take in (_spelt, _penalty, _optimizer, _inference):
        for names, remedy in take(rest, holder):
            remedies.append((names, remedy))
            for name in names:
                rest.pop(name)
    remedies += [((name,), _other(name, value, holder)) for name, value in rest.items()]
    order = {name: n for n, name in enumerate(strange)}
    return sorted(remedies, key=lambda one: order[one[0][0]])


def _spelt(strange: Mapping[str, ex.Value], holder: SettingHolder) -> _Taken:
    """Settings that the holder has under another spelling."""
    for name in list(strange):
        ours = next((same for same in _same(name) if same in holder.known), None)
        if ours is not None:
            yield (name,), f"did you mean `{ours}`?"


def _penalty(strange: Mapping[str, ex.Value], holder: SettingHolder) -> _Taken:
    calls = {name: as_call(holder.spec.settled(value)) for name, value in strange.items()}
    names = [
        name
        for name, call in calls.items()
        if (_folded(name) in other_words("penalties") or _folded(name) == "regularizer")
        and (call is None or call.name not in COSTS)
    ]
    takes_prior = holder.written is None or holder.method not in WITHOUT_PENALTY
    if (
        not names
        or not takes_prior
        or (holder.table is not PRIORS and holder.table is not OPTIMIZERS and holder.written is None)
    ):
        return
    prior = _prior([(_folded(name), holder.spec.settled(strange[name])) for name in names])
    if holder.table is PRIORS:
        yield names, f"write `{prior}`"
        return
    instead = " in place of the one that is given" if "prior" in (holder.written or ()) else ""
    beside = " beside the optimizer" if holder.table is OPTIMIZERS else ""
    yield names, f"a penalty is a prior: write `prior = {prior}`{instead}{beside}"


def _prior(penalties: Iterable[tuple[str, ex.Value]]) -> str:
    """The prior whose penalty is the sum of `penalties`, as text."""
    l1 = l2 = 0.0
    for name, value in penalties:
        if isinstance(value, ex.Reference | ex.Text):
            word = value.name if isinstance(value, ex.Reference) else value.value
            return other_words("priors").get(_folded(word), _USUAL_PRIOR)
        number = value.value if isinstance(value, ex.Number) else -1
        try:
            more = _PENALTIES[other_words("penalties")[name]](number) if number >= 0 else (-1.0, -1.0)
        except (KeyError, ZeroDivisionError, OverflowError):
            return _USUAL_PRIOR
        if min(more) < 0:
            return _USUAL_PRIOR
        l1, l2 = l1 + more[0], l2 + more[1]
    if l1 and l2:
        return f"elastic_net(l1 = {l1:.6g}, l2 = {l2:.6g})"
    if l1:
        return f"laplace(scale = {1 / l1:.6g})"
    return f"gaussian(variance = {0.5 / l2:.6g})" if l2 else "none"


def prior_remedy(value: ex.Value, spec: ModelSpec) -> str:
    """What to write where a prior is needed and `value` (a bare number, for example) is none."""
    return f"write `{_prior([('variance', spec.settled(value))])}`"


def entry_remedy(table: Table[type[MethodSettings]], call: CallSpec, guess: str | None, spec: ModelSpec) -> str | None:
    """What to write for a name that is no method of `table`; None if all that is known is the name it resembles."""
    arguments = [(argument.name, spec.settled(argument.value)) for argument in call.arguments]
    if table is PRIORS and len(arguments) == 1 and _folded(call.name) in other_words("penalties"):
        return f"write `{_prior([(_folded(call.name), arguments[0][1])])}`"
    if table is CRITERIA and call.name in OPTIMIZERS and guess is None:
        written = ", ".join(f"{name} = {value_text(value)}" for name, value in arguments if name)
        return (
            f"it is an optimizer: write `train likelihood: optimizer = {call.name}{f'({written})' if written else ''}`"
        )
    return None


def _optimizer(strange: Mapping[str, ex.Value], holder: SettingHolder) -> _Taken:
    """Settings of a stage that belong to its optimizer, all in one call."""
    if holder.written is None:
        return
    written_optimizer = holder.written.get("optimizer")
    call = as_call(holder.spec.settled(written_optimizer)) if written_optimizer is not None else None
    wanted = {name: _same(name) for name in strange if _same(name)}
    trainer = next(
        (name for name in strange if other_words("settings elsewhere").get(_folded(name)) == "optimizer"), None
    )
    if trainer is not None and call is None:
        named = as_call(holder.spec.settled(strange[trainer])) or CallSpec(name=_word(strange[trainer]))
        near = named.name if named.name in OPTIMIZERS else OPTIMIZERS.suggest(named.name)
        call = CallSpec(name=near or "auto")
    if call is None:
        passes = any(same[0] in ("epochs", "rate") for same in wanted.values())
        corner = "prior" in holder.written or any(_folded(name) in ("c1", "l1", "rho1", "lasso") for name in strange)
        stepwise = passes and not corner and "sgd" in TRAINED_BY.get(holder.method, ())
        call = CallSpec(name="sgd" if stepwise else AutoOptimizer.method)
    settings = OPTIMIZERS.get(call.name)
    able = TRAINED_BY.get(holder.method, ())
    if settings is None or call.name not in able or len(able) == 1:  # some criteria have a solver of their own
        return
    kept = [argument for argument in call.arguments if argument.name in settings.model_fields]
    arguments = [f"{argument.name} = {value_text(argument.value)}" for argument in kept]
    names = [] if trainer is None else [trainer]
    for name, same in wanted.items():
        ours = next((setting for setting in same if setting in settings.model_fields), None)
        if ours is not None:
            names.append(name)
            arguments.append(f"{ours} = {value_text(strange[name])}")
    if names:
        written = f"{call.name}({', '.join(arguments)})" if arguments else call.name
        instead = " in place of the one that is given" if written_optimizer is not None else ""
        yield names, f"that is for the optimizer: write `optimizer = {written}`{instead}"


def _inference(strange: Mapping[str, ex.Value], holder: SettingHolder) -> _Taken:
    if holder.written is None:
        return
    written_inference = holder.written.get("infer")
    call = (
        as_call(holder.spec.settled(written_inference)) if written_inference is not None else None
    ) or holder.spec.infer
    for name in list(strange):
        able = [
            method for method, settings in INFERENCE.items() if name in settings.model_fields and settings.gives_log_z
        ]
        if able and "infer" not in holder.written:
            method = call.name if call.name in able else able[0]
            written = f"{method}({name} = {value_text(strange[name])})"
            yield (name,), f"that is for inference: write `infer = {written}`"


def _other(name: str, value: ex.Value, holder: SettingHolder) -> str:
    """The remedy for a setting that belongs elsewhere or nowhere; else a similar name, its owner, or all settings."""
    in_stage, place = holder.written is not None, other_words("settings elsewhere").get(_folded(name))
    if in_stage and place == "min_count":
        return _cut(value, holder.spec)
    if in_stage and place == "states = all":
        return "write `with states = all` in the clique, as in `clique y[-1], y with states = all`"
    if in_stage and place in _COMMAND:
        return f"that is no part of a model; leave it out: {_COMMAND[place]}"
    if place == "nothing":
        return "nothing here corresponds to it; leave it out"
    owners = [other for other, settings in holder.table.items() if name in settings.model_fields]
    guess = did_you_mean(name, holder.known)
    if guess:
        return f"did you mean `{guess}`?"
    if owners:
        return f"it is a setting of {_listed(owners, ' and ')}"
    if holder.known:
        return f"its settings are {_listed(holder.known, ', ')}"
    return f"`{holder.method}` has no settings"


def _cut(value: ex.Value, spec: ModelSpec) -> str:
    count = value_text(value) if isinstance(value, ex.Number) else "2"
    why = "rare features are cut where they are listed"
    if spec.groups:
        return f"{why}: write `features {spec.groups[0].name} with min_count = {count}: …`"
    labels = {label.name for label in spec.labels}
    column = next(
        (column.name for column in (spec.data.columns if spec.data else ()) if column.name not in labels), "word"
    )
    return f"{why}: write `features often with min_count = {count}: {column}`, and list `often` in the clique"


def unnamed_remedy(call: CallSpec, settings: type[MethodSettings], value_of: Callable[[ex.Value], object]) -> str:
    """What to write for a call whose arguments have no names. `value_of`: the Python value of an argument."""
    if not settings.model_fields:
        return f"`{call.name}` has no settings: write `{call.name}`"
    free = [name for name in settings.model_fields if all(argument.name != name for argument in call.arguments)]
    values = [value_of(argument.value) for argument in call.arguments if argument.name is None]
    fitting = [[name for name in free if _fits(settings, name, value)] for value in values]
    likely = [name for name in _ITERATIONS if name in fitting[0]] if isinstance(values[0], int) else []
    if len(values) == 1 and fitting[0]:
        names = iter((likely or fitting[0])[:1])  # a whole number is most often the number of iterations
    elif 1 < len(values) <= len(free) and all(name in settable for name, settable in zip(free, fitting, strict=False)):
        names = iter(free)
    else:
        return f"its settings are {_listed(list(settings.model_fields), ', ')}"
    parts = (f"{argument.name or next(names)} = {value_text(argument.value)}" for argument in call.arguments)
    return f"write `{call.name}({', '.join(parts)})`"


def _fits(settings: type[MethodSettings], name: str, value: object) -> bool:
    try:
        settings.model_validate({name: value})
    except ValidationError:
        return False
    return True


def _listed(names: Sequence[str], joint: str) -> str:
    quoted = [f"`{name}`" for name in names]
    return joint.join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))


def _word(value: ex.Value) -> str:
    return value.value if isinstance(value, ex.Text) else ""


def _folded(name: str) -> str:
    return re.sub(r"[-_.]", "", name).lower()


def _same(name: str) -> list[str]:
    """The settings that a name of another tool may mean, the likeliest first."""
    return other_words("settings").get(_folded(name), "").split()
