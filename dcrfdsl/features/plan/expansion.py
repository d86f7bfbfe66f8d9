"""Feature lists of a specification, expanded: no windows, groups or constants remain; features have fixed places.

    token[-1..1] with `features token with min_count = 2: lower(word), pos & pos[1]`
    becomes  lower(word)[-1], lower(word), lower(word)[1], pos[-1] & pos, pos & pos[1], pos[1] & pos[2],  each from 2 on

A place inside a function and a place after it add up (`lower(word[-1])[-1]` is `lower(word)[-2]`). A feature that is
listed twice becomes one feature, with the laxer of its options. A number that may be missing brings a test for that:
`temp[-1]` stands for `temp[-1], temp[-1] is missing`. Not here: values, data, ids.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ... import semantics
from ...foundation import cached_property, data_error, dataclass
from ...syntax import NUMERIC, CliqueSpec, FeatureGroup, nodes as ex
from . import term_places as places
from .notation import condition_text

BIAS = "bias"
MOST_STEPS = 10 * semantics.MOST_FEATURES  # a feature counts one step for each group around it


@dataclass(frozen=True)
class Factor:
    """One member of a cross. `condition` is read at t + `offset`; places inside it are relative to that.

    A factor that reads one place has that place as its offset and no place inside, so that its window shares one table
    of values. A factor that compares places has offset 0. `component` picks one number of a vector.
    """

    condition: ex.Condition
    offset: int = 0
    component: int | None = None

    @cached_property
    def name(self) -> str:
        """As in a template."""
        text = condition_text(places.moved(self.condition, self.offset))
        return text if self.component is None else f"{text}#{self.component}"

    @cached_property
    def atom(self) -> str:
        """The name without the place."""
        return self.name if self.offset == 0 else Factor(self.condition, 0, self.component).name

    @cached_property
    def _hash(self) -> int:
        return hash((self.condition, self.offset, self.component))

    def __hash__(self) -> int:
        return self._hash  # a specification's hash visits all its parts, and factors are keys wherever rows are read


@dataclass(frozen=True)
class ExpandedFeature:
    """A cross of one or more factors: one feature id for each combination of their values."""

    factors: tuple[Factor, ...]
    min_count: int = 1
    outside: str = "boundary"

    @property
    def name(self) -> str:
        return " & ".join(factor.name for factor in self.factors)


@dataclass(frozen=True)
class FeatureSetPlan:
    """The features of one or more cliques. Anchors t run from -pad_left to T-1+pad_right.

    `relation` is the number of the relational clique whose pairs of positions are the anchors, else -1; `segment` that
    of the clique whose candidate segments are. `summed`: the first row of a sentence has the features of all positions.
    """

    features: tuple[ExpandedFeature, ...]
    pad_left: int = 0
    pad_right: int = 0
    relation: int = -1
    segment: int = -1
    summed: bool = False


@dataclass(frozen=True)
class Expansion:
    """`set_of_clique[i]` is the feature set of `spec.cliques[i]`, -1 if it has none besides `bias`."""

    sets: tuple[FeatureSetPlan, ...]
    set_of_clique: tuple[int, ...]
    bias_of_clique: tuple[bool, ...]


def expand(spec: semantics.ModelSpec) -> Expansion:
    """The distinct feature sets of a model. A relational clique has its own set, over its pairs of positions."""
    plans: dict[FeatureSetPlan, int] = {}
    set_of_clique, bias_of_clique = [], []
    for n, clique in enumerate(spec.cliques):
        learned = (feature for feature in clique.features if not semantics.has_offset(feature))
        listed = [places.with_offsets(feature, clique.positions) for feature in learned]
        features, bias = expand_features(spec, listed) if not clique.segmental else of_segments(spec, clique)
        relation, segment = n if clique.relational else -1, n if clique.segmental else -1
        pads = 0, 0  # how far anchors lie outside the sequence when only one site must be inside
        if clique.edges != "inside" and not clique.relational:
            offsets = [offset for site in clique.sites for offset in places.offsets_of(site.place)]
            pads = max(0, *offsets), max(0, *(-offset for offset in offsets))
        plan = FeatureSetPlan(features, *pads, relation, segment, semantics.is_of_sentence(spec, clique))
        number = plans.setdefault(plan, len(plans)) if features else -1
        set_of_clique.append(number)
        bias_of_clique.append(bias or not clique.features)
    return Expansion(tuple(plans), tuple(set_of_clique), tuple(bias_of_clique))


def of_segments(spec: semantics.ModelSpec, clique: CliqueSpec) -> tuple[tuple[ExpandedFeature, ...], bool]:
    """The features of a `segment` statement, which are of candidates, not of positions; whether it has `bias`."""
    features, bias = expand_features(spec, [places.with_length(feature) for feature in clique.features])
    least = _min_count(spec, clique.min_count, clique.label)
    return tuple(replace(feature, min_count=max(least, feature.min_count)) for feature in features), bias


def _min_count(spec: semantics.ModelSpec, value: int | ex.Reference, owner: str) -> int:
    settled = spec.settled(value) if isinstance(value, ex.Reference) else value
    count = settled.value if isinstance(settled, ex.Number) else settled
    if not isinstance(count, int):
        raise data_error("bad-setting", f"`min_count` of `{owner}` must be a whole number")
    return count


def expand_features(
    spec: semantics.ModelSpec, features: Iterable[ex.Feature]
) -> tuple[tuple[ExpandedFeature, ...], bool]:
    """A feature list, flat and without repetitions, and whether it contains `bias`."""
    bias = False
    merged: dict[tuple[Factor, ...], ExpandedFeature] = {}
    expander = _Expander(spec, itertools.count(1))
    for feature in features:
        for expanded in expander.feature(feature, 0, ()):
            if not expanded.factors:
                bias = True
                continue
            known = merged.get(expanded.factors, expanded)
            merged[expanded.factors] = ExpandedFeature(
                expanded.factors,
                min(known.min_count, expanded.min_count),
                "skip" if known.outside == expanded.outside == "skip" else "boundary",
            )
    return tuple(merged.values()), bias


def fixed_condition(spec: semantics.ModelSpec, condition: ex.Condition) -> ex.Condition:
    """A condition with every place places.moved inside its references; it must not contain a window."""
    variants: list[ex.Condition] = places.variants_of(_with_constants(spec, condition), 0)
    if len(variants) > 1:
        message = f"`{condition_text(condition)}` reads a window, and a test reads one place"
        raise data_error("window-in-condition", message)
    return variants[0]


def leaves(spec: semantics.ModelSpec, condition: ex.Condition) -> Iterator[tuple[ex.Reference | ex.Apply, int]]:
    """The leaves of an expanded condition: columns, `first`, `last`, `index` and spans, each with its place."""
    return filter(None, (_leaf(spec, term) for term in semantics.terms(condition)))


# expansion ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Expander:
    """Expands feature lists. `steps` counts the features so far, because groups that contain each other never end."""

    spec: semantics.ModelSpec
    steps: Iterator[int]

    def feature(self, feature: ex.Feature, shift: int, groups: tuple[str, ...]) -> Iterator[ExpandedFeature]:
        """The features of one entry of a list, places.moved by `shift`; `groups` are the groups around it."""
        factors = feature.factors if isinstance(feature, ex.Cross) else (feature,)
        for combination in itertools.product(*(tuple(self.factor(factor, shift, groups)) for factor in factors)):
            if next(self.steps) > MOST_STEPS:
                chain = " → ".join(f"`{name}`" for name in groups[:8]) or f"`{condition_text(factors[0])}` …"
                raise data_error(
                    "too-many-features", f"a list stands for more than {semantics.MOST_FEATURES} features: {chain}"
                )
            yield _crossed(combination)
        gap = None if isinstance(feature, ex.Cross) else semantics.gap_of(self.spec, feature)
        if gap is not None:
            yield from self.feature(gap, shift, groups)

    def factor(self, condition: ex.Condition, shift: int, groups: tuple[str, ...]) -> Iterator[ExpandedFeature]:
        if isinstance(condition, ex.Reference):
            if condition.name == BIAS and self.spec.column(BIAS) is None:
                yield ExpandedFeature(())
                return
            declared = self.spec.declaration(condition.name)
            if isinstance(declared, FeatureGroup) and self.spec.column(condition.name) is None:
                for offset in places.offsets_of(condition.place):
                    yield from self.group(declared, shift + offset, groups)
                return
        for variant in places.variants_of(_with_constants(self.spec, condition), shift):
            yield from (ExpandedFeature((factor,)) for factor in self.anchored(variant))

    def group(self, group: FeatureGroup, shift: int, groups: tuple[str, ...]) -> Iterator[ExpandedFeature]:
        if group.name in groups:
            raise data_error("group-cycle", f"feature group `{group.name}` contains itself")
        if len(groups) >= semantics.DEEPEST:
            message = f"feature groups are nested more than {semantics.DEEPEST} deep, down to `{group.name}`"
            raise data_error("groups-too-deep", message)
        options = ExpandedFeature((), _min_count(self.spec, group.min_count, group.name), group.outside)
        for feature in group.features:
            for expanded in self.feature(feature, shift, (*groups, group.name)):
                yield _crossed((options, expanded))

    def anchored(self, condition: ex.Condition) -> list[Factor]:
        """The factor of a condition with fixed places; a vector column gives one factor per component."""
        read = list(leaves(self.spec, condition))
        if not read:
            message = f"`{condition_text(condition)}` reads no column, position or lexicon of the data"
            raise data_error("unknown-name", message)
        column = self.spec.column(condition.name) if isinstance(condition, ex.Reference) else None
        components: Sequence[int | None] = (None,)
        if column is not None and column.type.name == "vector":
            if column.type.size is None:
                raise data_error("bad-column-type", f"column `{column.name}` is a vector of unknown size")
            components = range(column.type.size)
        if len({(condition_text(leaf), offset) for leaf, offset in read}) > 1:
            return [Factor(condition)]
        offset = read[0][1]
        base = places.moved(condition, -offset)
        return [Factor(base, offset, component) for component in components]


def _crossed(parts: Sequence[ExpandedFeature]) -> ExpandedFeature:
    """The cross of features: the stricter of each option; `bias` is the neutral element."""
    factors = tuple(dict.fromkeys(factor for part in parts for factor in part.factors))
    skips = any(part.outside == "skip" for part in parts)
    return ExpandedFeature(factors, max(part.min_count for part in parts), "skip" if skips else "boundary")


# places -------------------------------------------------------------------------------------------------------


def _with_constants(spec: semantics.ModelSpec, condition: ex.Condition) -> ex.Condition:
    """`pos = NN`, or `pos = N` with `let N = "NN"`, becomes `pos is NN`: a side that reads nothing is a value."""
    if isinstance(condition, ex.Apply):
        return _joined(spec, semantics.rewritten(condition, lambda part: _with_constants(spec, part)))
    if isinstance(condition, ex.Compares) and isinstance(condition.right, ex.Reference):
        bound = spec.settled(condition.right)  # `age > adult` with `let adult = 18`
        return condition.model_copy(update={"right": bound}) if isinstance(bound, ex.Number) else condition
    if not isinstance(condition, ex.Equals):
        return semantics.rewritten(condition, lambda part: _with_constants(spec, part))
    if semantics.gives_number(condition.left) or semantics.gives_number(condition.right):
        left, right = sorted((condition.left, condition.right), key=semantics.gives_number, reverse=True)
        compared = ex.Compares(left=left, sign="!=" if condition.negated else "=", right=right)
        return _with_constants(spec, compared)
    for term, other in ((condition.left, condition.right), (condition.right, condition.left)):
        if isinstance(other, ex.Reference) and _leaf(spec, other) is None:
            settled = spec.settled(other)
            column = spec.column(term.name) if isinstance(term, ex.Reference) else None
            if isinstance(settled, ex.Number) and column is not None and column.type.name in NUMERIC:
                return ex.Compares(left=term, sign="!=" if condition.negated else "=", right=settled)
            state = semantics.plain(settled)
            return ex.Is(term=term, state=str(state if state is not None else other.name), negated=condition.negated)
    return condition


def _joined(spec: semantics.ModelSpec, term: ex.Apply) -> ex.Apply:
    """A call of a user's function that reads several values, with fixed places inside; any other call as it is."""
    lexicons = {lexicon.name for lexicon in spec.lexicons}
    if term.function in semantics.FUNCTIONS or term.function in lexicons:
        return term

    def read(value: ex.Value) -> bool:
        whole = places.reads_sentence(value)
        return whole or (isinstance(value, ex.Reference | ex.Apply) and _leaf(spec, value) is not None)

    values = [argument.value for argument in term.arguments]
    if not any(map(read, values[1:])) and not any(map(places.reads_sentence, values)):
        return term
    arguments = []
    for argument in term.arguments:
        value = argument.value
        if isinstance(value, ex.Reference | ex.Apply) and not places.reads_sentence(value) and read(value):
            variants = places.term_variants(value, 0)
            if len(variants) > 1:
                message = f"`{term.function}` reads several values, and one of them is a window"
                raise data_error("bad-argument", message)
            value = variants[0]
        arguments.append(ex.Argument(value=value, name=argument.name))
    return term.model_copy(update={"arguments": tuple(arguments)})


def _leaf(spec: semantics.ModelSpec, term: ex.Reference | ex.Apply) -> tuple[ex.Reference | ex.Apply, int] | None:
    """The column, position or span under a term, without its place; None for a constant or a state."""
    if isinstance(term, ex.Reference):
        signature = semantics.FUNCTIONS.get(term.name)
        bare = signature is not None and not signature.parameters
        known = spec.column(term.name) is not None or bare or term.name == places.LENGTH_OF_SEGMENT
        return (
            (ex.Reference(name=term.name, place=ex.At(offset=0)), places.offsets_of(term.place)[0]) if known else None
        )
    if places.is_joint(term):
        return term.model_copy(update={"place": ex.At(offset=0)}), places.offsets_of(term.place)[0]
    subject = term.arguments[0].value
    if not isinstance(subject, ex.Reference | ex.Apply):
        return None
    inner = _leaf(spec, subject)
    if inner is not None and places.reads_segment(term):
        return term, 0
    if inner is None or term.function != "span":
        return inner
    (base,) = places.term_variants(term, -inner[1])
    return base, inner[1]
