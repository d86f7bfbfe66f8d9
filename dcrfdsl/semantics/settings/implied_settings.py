"""What a template implies without saying it: the rule that decodes labels, the stages that prune, every default.

The stage names the decoding rule, else the `decode` statement, else it follows from the criterion. Locally normalised
training of a directed model maximises the product of its pieces' distributions. The normalisers cancel part of each
score, so the labelling with the highest score means little; decoding maximises the product that was trained (McCallum &
Sutton 2004 §3, "standard MEMM inference"). Pseudolikelihood estimates the model whose conditionals it multiplies (Besag
1975), and that model is decoded jointly.

With its defaults written out `train likelihood` becomes a `train` with prior and optimizer. A setting without a value
(`keep`: all weights stay) is not written, and neither is one that a stage takes from the template, such as `infer`.
What a template writes stays as it is written, constants included. Not here: decoding itself; whether pieces of learned
sizes fit (`criteria.piece_likelihood`); whether a stage may prune (`checks.pruning_rules`), its marginals
(`inference.stage_guides`); options of statements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, TypeAlias

from ...foundation import DcrfError, Table
from ...syntax import CallSpec, FeatureGroup, Here, Piece, Setting, Stage, nodes as ex
from ..conditions import view_label
from ..schema import ModelSpec, as_call, place_offset
from .decoding_settings import DECODINGS, read_decoding
from .infer_settings import INFERENCE, PrunedSettings
from .loss_settings import KERNELS
from .method_settings import MethodSettings
from .optimizer_settings import OPTIMIZERS
from .piece_shorthands import pieces_of
from .prior_settings import PRIORS
from .settings_reading import DEFAULT_STAGE, decode_statement, inference_settings, stage_chain, stage_settings
from .training_settings import IMPORTANCE, PiecewiseSettings

JOINT, LOCAL = "joint", "local"
Parent: TypeAlias = tuple[str, int | None]  # a variable that a piece conditions on, and its offset if it is fixed


class DecodeRule(NamedTuple):
    """A decoding rule. name: the rule.   trained: the criterion that it follows from; None where the stage or the
    statement names the rule, and for the default `joint`.
    """

    name: str
    trained: str | None = None


def decoding(spec: ModelSpec, label: str | None = None) -> str:
    """The decoding rule after stage `label` (None: the last)."""
    return decode_rule(spec, label).name


def decode_rule(spec: ModelSpec, label: str | None = None) -> DecodeRule:
    """The decoding rule after stage `label` (None: the last), and its origin."""
    settings = stage_settings(spec, label)
    written = settings.decode or decode_statement(spec)
    if written is not None:
        return DecodeRule(written)
    criterion = settings.criterion
    # these train the product of their pieces' distributions
    in_order = isinstance(criterion, PiecewiseSettings) and criterion.pieces and _has_pieces_in_order(spec, criterion)
    if in_order or criterion.method in ("memm", "bidirectional"):
        return DecodeRule(LOCAL, criterion.method)
    return DecodeRule(JOINT) if criterion.decode is None else DecodeRule(criterion.decode, criterion.method)


def _has_pieces_in_order(spec: ModelSpec, criterion: PiecewiseSettings) -> bool:
    """Whether the pieces are those of a directed model, or of two that read in opposite directions.

    Together they hold every clique. Each is over variables of one position. Those of a direction have each variable in
    exactly one of them, and all condition on earlier variables only, or all on later ones.
    """
    try:
        pieces = pieces_of(spec, criterion)
    except (DcrfError, KeyError):  # an unknown piece, which the checker reports
        return False
    if {member.clique for piece in pieces for member in piece.members} != {clique.label for clique in spec.cliques}:
        return False
    if not all(isinstance(site.place, Here) for piece in pieces for site in piece.over):
        return False
    variables = {item.name for part in (spec.labels, spec.latents) for item in part}
    parents = [list(_parents(spec, piece, variables)) for piece in pieces]
    if any(offset is None for piece_parents in parents for _, offset in piece_parents):
        return False
    offsets = [{offset for _, offset in piece_parents if offset} for piece_parents in parents]
    directions = [[n for n, own in enumerate(offsets) if any(sign * o > 0 for o in own)] for sign in (-1, 1)]
    if not all(directions):
        directions = [list(range(len(pieces)))]
    elif sorted(directions[0] + directions[1]) != list(range(len(pieces))):  # some have both, or none
        return False
    return any(parents) and all(_is_ordered(pieces, parents, own, variables) for own in directions)


def _is_ordered(
    pieces: Sequence[Piece], parents: Sequence[Sequence[Parent]], chosen: Sequence[int], variables: AbstractSet[str]
) -> bool:
    """Whether the chosen pieces have each variable once, and condition on each other in no circle."""
    piece_of = {site.variable: number for number in chosen for site in pieces[number].over}
    if sum(len(pieces[number].over) for number in chosen) != len(piece_of) or piece_of.keys() != variables:
        return False
    before = {
        number: {piece_of[name] for name, offset in parents[number] if offset == 0 and name in piece_of}
        for number in chosen
    }
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return False
    return True


def _parents(spec: ModelSpec, piece: Piece, variables: AbstractSet[str]) -> Iterator[Parent]:
    """The variables that a piece conditions on, with their offsets; None for an offset that the data decides.

    A memory follows from earlier variables, so a memory at the piece's position or earlier counts as earlier.
    """
    over = {site.variable for site in piece.over}
    by_label = {clique.label: clique for clique in spec.cliques}
    views = {view.name: view_label(spec, view) for view in spec.views}
    for member in piece.members:
        clique = by_label[member.clique]
        for site in clique.sites:
            name = views.get(site.variable) or site.variable
            if clique.positions:
                yield name, None
                continue
            offset = (place_offset(site.place) or 0) + (place_offset(member.place) or 0)
            if name not in variables:
                yield name, None if offset > 0 else -1
            elif offset or name not in over:
                yield name, offset


# stages that prune ----------------------------------------------------------------------------------------------------


def guiding_stage(spec: ModelSpec, settings: MethodSettings) -> str | None:
    """The stage by whose marginals these settings prune; None if there is none, as where a view prunes."""
    if not isinstance(settings, PrunedSettings) or settings.by is None:
        return None
    labels = [stage.label for stage in spec.stages or (DEFAULT_STAGE,)]
    return settings.by if settings.by in labels and settings.by not in [view.name for view in spec.views] else None


def stage_inference(spec: ModelSpec, label: str) -> MethodSettings:
    """The inference of a stage: its own, else that of the template."""
    return stage_settings(spec, label).infer or inference_settings(spec)


def guiding_stages(spec: ModelSpec) -> tuple[str, ...]:
    """The stages whose weights tagging needs besides the model's own: that which prunes, that which prunes there, …."""
    found: list[str] = []
    stage = guiding_stage(spec, inference_settings(spec))
    while stage is not None and stage not in found:
        found.append(stage)
        stage = guiding_stage(spec, stage_inference(spec, stage))
    return tuple(found)


# defaults written out -------------------------------------------------------------------------------------------------


# The methods that a setting of a stage names.
_TABLES: Mapping[str, Table[Any]] = {
    "prior": PRIORS, "optimizer": OPTIMIZERS, "infer": INFERENCE, "importance": IMPORTANCE, "kernel": KERNELS,
    "decode": DECODINGS,
}  # fmt: skip


def with_defaults(spec: ModelSpec, stage: str | None = None) -> ModelSpec:
    """The same model with the default settings of its inference and of its stages written out.

    stage: the one that runs (None: the last); stages that it does not go through stay as they are, and need no meaning.
    """
    chain = {entry.label for entry in stage_chain(spec, stage)}
    stages = tuple(_stage(spec, one) if one.label in chain else one for one in spec.stages or (DEFAULT_STAGE,))
    # every state has a weight where nothing but `bias` is read; else those that training shows
    usual = ("all" if all(_is_bias(spec, feature) for feature in one.features) else "seen" for one in spec.cliques)
    cliques = tuple(
        one.model_copy(update={"states": one.states or states}) for one, states in zip(spec.cliques, usual, strict=True)
    )
    infer = _filled(spec, spec.infer, INFERENCE[spec.infer.name])
    return spec.model_copy(update={"infer": infer, "stages": stages, "cliques": cliques})


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
    defaults: dict[str, Any] = {  # of every stage, where the criterion makes use of them
        **({"prior": settled.prior} if criterion.takes_prior else {}),
        **({"optimizer": settled.optimizer} if criterion.offers else {}),
        "decode": read_decoding(decode_rule(spec, stage.label).name),
        **({"restarts": settled.restarts, "seed": settled.seed} if criterion.offers else {}),
    }
    for name, item in defaults.items():
        if name not in known and (value := _value(item)) is not None:
            written.append(Setting(key=(name,), value=value))
    return stage.model_copy(update={"criterion": call.model_copy(update={"settings": tuple(written)})})


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
