"""Methods with every setting written, the defaults too: `train likelihood` becomes a `train` with prior and optimizer.

A setting without a value (`keep`: all weights stay) is not written, and neither is one that a stage takes from the
template, such as `infer`. What a template writes stays as it is written, constants included. Not here: reading settings
(`settings_reading`), options of statements (`schema.unparse`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ...foundation import Table
from ..schema import CallSpec, FeatureGroup, ModelSpec, Setting, Stage, as_call, expressions as ex
from .decode_rules import decode_rule
from .decoding_settings import DECODINGS, read_decoding
from .importance_settings import IMPORTANCE
from .margin_settings import KERNELS
from .method_settings import CriterionSettings, MethodSettings
from .optimizer_settings import OPTIMIZERS
from .prior_settings import PRIORS
from .settings_reading import DEFAULT_STAGE, stage_chain, stage_settings
from .training_settings import INFERENCE

# The methods that a setting of a stage names.
_TABLES: Mapping[str, Table[Any]] = {
    "prior": PRIORS, "optimizer": OPTIMIZERS, "infer": INFERENCE, "importance": IMPORTANCE, "kernel": KERNELS,
    "decode": DECODINGS,
}  # fmt: skip
_Items = dict[str, ex.Value]


def with_defaults(spec: ModelSpec, stage: str | None = None) -> ModelSpec:
    """The same model with the default settings of its inference and of its stages written out.

    stage: the one that runs (None: the last); stages that it does not go through stay as they are, and need no meaning.
    """
    chain = {entry.label for entry in stage_chain(spec, stage)}
    stages = tuple(_stage(spec, one) if one.label in chain else one for one in spec.stages or (DEFAULT_STAGE,))
    cliques = tuple(
        one.model_copy(update={"states": one.states or _usual_states(spec, one.features)}) for one in spec.cliques
    )
    infer = _filled(spec, spec.infer, INFERENCE[spec.infer.name])
    return spec.model_copy(update={"infer": infer, "stages": stages, "cliques": cliques})


def _usual_states(spec: ModelSpec, features: Iterable[ex.Feature]) -> str:
    """Every state has a weight where nothing but `bias` is read; else those that training shows."""
    return "all" if all(_is_bias(spec, feature) for feature in features) else "seen"


def _is_bias(spec: ModelSpec, feature: ex.Feature) -> bool:
    """Whether a feature is `bias`, or a group of nothing else."""
    if not isinstance(feature, ex.Reference) or spec.column(feature.name) is not None:
        return False
    group = spec.declaration(feature.name)
    if isinstance(group, FeatureGroup):
        return all(_is_bias(spec, one) for one in group.features)
    return feature.name == "bias"


def _stage(spec: ModelSpec, stage: Stage) -> Stage:
    settled = stage_settings(spec, stage.label)
    criterion = settled.criterion
    call = _filled(spec, stage.criterion, type(criterion), criterion)
    priors: dict[tuple[str, ...], MethodSettings] = {("prior",): settled.prior}
    priors |= {("prior", name): prior for name, prior in settled.clique_priors.items()}
    written = [
        item.model_copy(update={"value": _method(spec, item.value, _TABLES.get(item.key[0]), priors.get(item.key))})
        for item in call.settings
    ]
    known = {item.key[0] for item in written if len(item.key) == 1} | _names(call)
    missing = {name: value for name, value in _stage_defaults(spec, stage, criterion).items() if name not in known}
    settings = (*written, *(Setting(key=(name,), value=value) for name, value in missing.items()))
    return stage.model_copy(update={"criterion": call.model_copy(update={"settings": settings})})


def _stage_defaults(spec: ModelSpec, stage: Stage, criterion: CriterionSettings) -> _Items:
    """What every stage has beside the settings of its criterion, where the criterion makes use of it."""
    settled = stage_settings(spec, stage.label)
    values: dict[str, Any] = {
        **({"prior": settled.prior} if criterion.takes_prior else {}),
        **({"optimizer": settled.optimizer} if criterion.offers else {}),
        "decode": read_decoding(decode_rule(spec, stage.label).name),
        **({"restarts": settled.restarts, "seed": settled.seed} if criterion.offers else {}),
    }
    return {name: value for name, item in values.items() if (value := _value(item)) is not None}


def _filled(
    spec: ModelSpec, call: CallSpec, kind: type[MethodSettings], settled: MethodSettings | None = None
) -> CallSpec:
    """A call with an argument for each setting of its method.   settled: its settings, where they are known."""
    unnamed = sum(argument.name is None for argument in call.arguments)
    placed = kind.positional[:unnamed]
    elsewhere = {setting.key[0] for setting in call.settings if len(setting.key) == 1}
    arguments = [
        argument.model_copy(update={"value": _method(spec, argument.value, kind.methods.get(argument.name or ""))})
        for argument in call.arguments
    ]
    for name, field in kind.model_fields.items():
        if name in (kind.names, kind.texts, *placed) or name in elsewhere or name in _names(call):
            continue
        if name in kind.idle_beside and getattr(settled, kind.idle_beside[name][0], None) == kind.idle_beside[name][1]:
            continue
        value = _value(getattr(settled, name, field.get_default(call_default_factory=True)))
        if value is not None:
            arguments.append(ex.Argument(name=name, value=value))
    settings = tuple(
        item.model_copy(update={"value": _method(spec, item.value, kind.methods.get(item.key[0]))})
        for item in call.settings
    )
    return call.model_copy(update={"arguments": tuple(arguments), "settings": settings})


def _names(call: CallSpec) -> set[str]:
    return {argument.name for argument in call.arguments if argument.name is not None}


def _method(
    spec: ModelSpec, value: ex.Value, table: Table[Any] | None, settled: MethodSettings | None = None
) -> ex.Value:
    """A value that names a method of `table`, with all settings; any other value as it is.   settled: its settings,
    where they are known.
    """
    call = None if table is None else as_call(value)
    if table is None or call is None or call.name not in table or spec.constant(call.name) is not None:
        return value
    return _as_value(_filled(spec, call, table[call.name], settled))


def _value(value: Any) -> ex.Value | None:
    """A Python value of a setting in the notation of the language; None for what is not written."""
    if isinstance(value, MethodSettings):
        fields = [(name, _value(getattr(value, name))) for name in type(value).model_fields]
        arguments = tuple(ex.Argument(name=name, value=item) for name, item in fields if item is not None)
        return _as_value(CallSpec(name=value.method, arguments=arguments))
    if isinstance(value, bool):
        return ex.Reference(name="yes" if value else "no")
    if isinstance(value, float) and math.isinf(value):
        return ex.Reference(name="inf")
    if isinstance(value, int | float):
        return ex.Number(value=value)
    return ex.Reference(name=value) if isinstance(value, str) else None


def _as_value(call: CallSpec) -> ex.Reference | ex.Apply:
    if not call.arguments:
        return ex.Reference(name=call.name)
    return ex.Apply(function=call.name, arguments=call.arguments)
