"""Clique templates of a specification: clique indices {(Δt, variable)} with hard constraints folded in, views resolved.

Hard constraints (schemes, `forbid`, `require`, and the functions of memories) fold into a clique over the same sites if
there is one, so that they add no loop. Otherwise, and if they read observations, they are separate templates. Not here:
instances on a sequence (`unroll`), weights (`parameters`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .. import semantics
from ..features import ViewMap, view_label, view_map
from ..foundation import Floats, Ints, Mask, dataclass
from ..syntax import CliqueSpec, Named, Scheme, nodes
from .segment_shapes import SegmentShape, segment_shape

Pattern = tuple[int, ...]  # for each site of a clique: 0 in the sequence, -1 before it (START), +1 after it (STOP)
LAST = -1  # the `position` of a template that occurs only at the last anchor
COUNTING = (semantics.SegmentMemory, semantics.RunMemory)  # memories without a function, which count tokens


@dataclass(frozen=True, eq=False)
class CliqueTemplate:
    """A clique index with the properties that its instances share.

    `clique` is its number in the specification, -1 for a hard constraint. `allowed` [cards] is False for an
    assignment of potential zero. With `pad` every site has two more states, START = card and STOP = card + 1. In a
    relational clique `ends` says for each site from which of the two positions its offset counts, 0 or 1. `views`
    has the view by which a site was declared; empty if there is none. `coded` [codes, weight_cards] is `allowed`
    for each code that the feature rows of its set have at the anchor, or log potentials; `observed` is what they
    read. With `given` they have a value for each assignment, which is added as it is. A template with a `position`
    occurs only at that anchor. One with `segments` stands for the weights of segments, by their classes; it has no
    instance itself. The templates with a `segment_length` have its weights, each for segments of that many tokens
    and at the last of these, and their features are named as those of the set `named_by`. `plain` is the template
    as it was over a label in whose place the memory of its segments or runs stands, and `label_states` the label's
    state for each of the memory. `folded_into` is the clique whose `allowed` this constraint repeats, for pieces
    without that clique.
    """

    name: str
    clique: int
    variables: tuple[int, ...]
    offsets: tuple[int, ...]
    cards: tuple[int, ...]
    pad: bool = False
    feature_set: int = -1
    has_bias: bool = False
    allowed: Mask | None = None
    position: int | None = None
    ends: tuple[int, ...] = ()
    views: tuple[ViewMap | None, ...] = ()
    coded: Mask | Floats | None = None
    observed: tuple[semantics.Observed, ...] = ()
    given: semantics.GivenScores | None = None
    segments: SegmentShape | None = None
    segment_length: int = 0
    plain: CliqueTemplate | None = None
    label_states: Ints | None = None
    named_by: int | None = None
    folded_into: int | None = None

    @property
    def reads(self) -> semantics.Reads:
        """What the rows of a template without weights are made from."""
        return self.observed if self.given is None else self.given

    @property
    def num_codes(self) -> int:
        """The features of its rows, if these have no weights; else 0."""
        return self.num_assignments if self.given is not None else 0 if self.coded is None else len(self.coded)

    @property
    def naming_set(self) -> int:
        """The feature set that names its features."""
        return self.feature_set if self.named_by is None else self.named_by

    @property
    def seen_as(self) -> tuple[ViewMap | None, ...]:
        """The view of each site, None for a site without one."""
        return self.views or (None,) * len(self.cards)

    @property
    def seen_states(self) -> list[Ints]:
        """Of each site, what weights take each of its states for, [card]."""
        return [
            np.arange(card) if view is None else np.asarray(view.of, np.int64)
            for view, card in zip(self.seen_as, self.cards, strict=True)
        ]

    @property
    def span(self) -> int:
        """Positions from its first to its last site."""
        return max(self.offsets) - min(self.offsets)

    @property
    def weight_cards(self) -> tuple[int, ...]:
        """The states of each site that weights distinguish: those of its view, or the classes of its segments."""
        if self.segments is not None:
            return (self.segments.named,)
        return tuple(card if v is None else len(v.states) for v, card in zip(self.seen_as, self.cards, strict=True))

    @property
    def relational(self) -> bool:
        """Whether its instances are pairs of positions that the data joins, instead of one per position."""
        return bool(self.ends)

    @property
    def is_regular(self) -> bool:
        """Whether positions alone tell where its instances lie: neither pairs that the data joins, nor segments."""
        return not self.relational and self.segments is None

    @property
    def full_cards(self) -> tuple[int, ...]:
        """The states of each site that weights distinguish, with START and STOP if they are used."""
        return tuple(card + 2 for card in self.weight_cards) if self.pad else self.weight_cards

    @property
    def num_assignments(self) -> int:
        return math.prod(self.full_cards)

    def anchors(self, length: int) -> range:
        """The anchors of its instances in a sequence of `length` positions.

        With `pad`, if the clique is wider than the sequence, an anchor may have no site inside; it has no instance.
        """
        low, high = min(self.offsets), max(self.offsets)
        if not self.is_regular:
            return range(0)
        lies = range(-high, length - low) if self.pad else range(max(0, -low), min(length, length - high))
        if self.position is None:
            return lies
        at = length - 1 if self.position == LAST else self.position
        return range(at, at + 1) if at in lies else range(0)

    @property
    def inside(self) -> Pattern:
        """The pattern of an instance with all its sites in the sequence."""
        return (0,) * len(self.offsets)

    def pattern(self, anchor: int, length: int) -> Pattern:
        return tuple(-1 if anchor + o < 0 else int(anchor + o >= length) for o in self.offsets)

    def patterns(self, longest: int) -> list[Pattern]:
        """Every pattern with a site inside the sequence, ordered by the shortest sequence that shows it.

        longest: positions of the longest sequence considered; it matters if the clique occurs at one anchor only.
        """
        if self.segments is not None:
            return []
        if self.position is not None:
            at = [(length, anchor) for length in range(1, longest + 1) for anchor in self.anchors(length)]
        elif self.relational:
            at = []
        elif not self.pad:
            return [self.inside]
        else:  # the shortest sequence with the sites from one to another, and nothing beyond them
            places = sorted(set(self.offsets))
            at = sorted((last - first + 1, -first) for first in places for last in places if first <= last)
        return list(dict.fromkeys(pattern for length, anchor in at if 0 in (pattern := self.pattern(anchor, length))))


def clique_templates(
    spec: semantics.ModelSpec,
    states: Mapping[str, Sequence[str]],
    set_of_clique: Sequence[int],
    bias_of_clique: Sequence[bool],
) -> tuple[CliqueTemplate, ...]:
    """The templates of a specification's cliques, then those of constraints that fold into no clique.

    states: of every variable, labels first, then latents and memories. The feature sets of templates with codes follow
    those of the cliques, in the order of the templates.
    """
    numbers, views = {name: m for m, name in enumerate(variable_names(spec))}, _views(spec, states)
    templates = []
    for number, (clique, own_set, has_bias) in enumerate(zip(spec.cliques, set_of_clique, bias_of_clique, strict=True)):
        template = _clique_template(number, clique, numbers, views, states, own_set, has_bias)
        if clique.segmental:
            template = replace(template, segments=segment_shape(spec, clique, states[clique.sites[0].variable]))
        templates.append(template)
    next_set = max(set_of_clique, default=-1) + 1
    for clique, template in zip(spec.cliques, tuple(templates), strict=True):
        terms = tuple(semantics.given_terms(spec, clique))
        if terms:
            named = [variable_names(spec)[variable] for variable in template.variables]
            seen = zip(named, template.seen_as, strict=True)
            scored = tuple(tuple(states[name]) if view is None else view.states for name, view in seen)
            templates.append(
                replace(
                    template, name=f"given {template.name}", clique=-1, pad=False, feature_set=next_set,
                    has_bias=False, allowed=None,
                    given=semantics.GivenScores(terms, scored, any(_is_learned(spec, name) for name in named)),
                )
            )  # fmt: skip
            next_set += 1
    for table in _hard_tables(spec, states):
        if table.allowed.all():
            continue
        if table.observed or table.cost is not None:
            templates.append(_constraint_template(table, numbers, next_set))
            next_set += 1
        else:
            _fold(templates, table, numbers)
    return tuple(templates)


def _views(spec: semantics.ModelSpec, states: Mapping[str, Sequence[str]]) -> dict[str, ViewMap]:
    return {view.name: view_map(spec, view, states[view_label(spec, view)]) for view in spec.views}


def variable_names(spec: semantics.ModelSpec) -> tuple[str, ...]:
    """The variables of a position in the order of their numbers: labels, latents, memories."""
    return tuple(variable.name for variable in spec.variables)


def _clique_template(
    number: int,
    clique: CliqueSpec,
    numbers: Mapping[str, int],
    views: Mapping[str, ViewMap],
    states: Mapping[str, Sequence[str]],
    feature_set: int,
    has_bias: bool,
) -> CliqueTemplate:
    seen_as = tuple(views.get(site.variable) for site in clique.sites)
    labels = [site.variable if view is None else view.label for site, view in zip(clique.sites, seen_as, strict=True)]
    return CliqueTemplate(
        name=clique.label,
        clique=number,
        variables=tuple(numbers[label] for label in labels),
        offsets=tuple(semantics.shift_of_site(site.place) for site in clique.sites),
        cards=tuple(len(states[label]) for label in labels),
        pad=clique.edges == "pad",
        feature_set=feature_set,
        has_bias=has_bias,
        ends=tuple(clique.positions.index(s.place.position) for s in clique.sites if isinstance(s.place, Named)),
        views=seen_as if any(seen_as) else (),
    )


def _hard_tables(spec: semantics.ModelSpec, states: Mapping[str, Sequence[str]]) -> Iterator[semantics.HardTable]:
    """Legal moves of segment schemes, `forbid` / `require`, and the functions of memories."""
    free = {label.name for label in spec.labels if not label.constrain}
    free |= {memory.label for memory in spec.memories if isinstance(memory, COUNTING)}  # they have legal moves only
    domains = {v.name: v.domain for v in spec.labels} | {v.name: v.domain for v in spec.latents}
    for name, domain in domains.items():
        if isinstance(domain, Scheme) and name not in free:
            moves = semantics.legal_moves(domain.name, states[name])
            yield semantics.HardTable(((name, -1), (name, 0)), (), moves[None, :-1, :-1], None, domain.name)
            yield semantics.HardTable(((name, 0),), (), moves[None, -1, :-1], 0, domain.name)
            yield semantics.HardTable(((name, 0),), (), moves[None, :-1, -1], LAST, domain.name)
    seen = views_seen(spec, states)
    for constraint in spec.constraints:
        yield semantics.constraint_table(spec, constraint, states, seen)
    for tables in hidden_tables(spec, states):
        yield from tables
    for memory in spec.memories:
        if isinstance(memory, semantics.SegmentMemory):
            yield from semantics.segment_states(memory, states[memory.label]).tables(memory)
        if isinstance(memory, semantics.RunMemory):
            yield from semantics.run_states(memory, states[memory.label]).tables(memory, states[memory.label])


def _is_learned(spec: semantics.ModelSpec, variable: str) -> bool:
    """Whether the states of a variable are those that data has, in the order of their appearance."""
    domains = {one.name: one.domain for one in spec.variables}
    domain = domains.get(variable)
    for _ in domains:  # a circle is an error of the template
        if isinstance(domain, nodes.StatesOf):
            domain = domains.get(domain.variable)
    return isinstance(domain, nodes.Learned) or (isinstance(domain, nodes.Scheme) and not domain.types)


def constraint_templates(
    spec: semantics.ModelSpec, states: Mapping[str, Sequence[str]], templates: Sequence[CliqueTemplate]
) -> list[CliqueTemplate]:
    """Each `forbid` and `require` without a cost as a separate template, also if it was folded into a clique.

    templates: those of the graph; constraints that read observations have their feature sets there.
    """
    views, numbers = views_seen(spec, states), {name: n for n, name in enumerate(variable_names(spec))}
    separate = []
    for constraint in spec.laws:
        table = semantics.constraint_table(spec, constraint, states, views)
        template = _constraint_template(table, numbers, -1)
        if table.observed:
            sites = (table.observed, template.variables, template.offsets)
            before = [template.plain or template for template in templates]
            alike = (t for t in before if t.coded is not None and (t.observed, t.variables, t.offsets) == sites)
            template = next(t for t in alike if np.array_equal(np.asarray(t.coded), table.allowed))
        separate.append(template)
    return separate


def hidden_tables(
    spec: semantics.ModelSpec, states: Mapping[str, Sequence[str]]
) -> list[tuple[semantics.HardTable, ...]]:
    """The tables of each memory with a function: which of its states is the value. Those that count have none."""
    seen, with_function = views_seen(spec, states), (m for m in spec.memories if not isinstance(m, COUNTING))
    return [semantics.memory_tables(spec, memory, states, seen) for memory in with_function]


def views_seen(
    spec: semantics.ModelSpec, states: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Of each view its label, and the text that it maps each state of the label to."""
    views = _views(spec, states).items()
    return {name: (view.label, tuple(view.states[of] for of in view.of)) for name, view in views}


def _fold(templates: list[CliqueTemplate], table: semantics.HardTable, numbers: Mapping[str, int]) -> None:
    """Folds a constraint into the first template over the same sites (up to a shift), or appends it as a template."""
    low = min(offset for _, offset in table.sites)
    wanted = {(numbers[name], offset - low): axis for axis, (name, offset) in enumerate(table.sites)}
    for number, template in enumerate(templates):
        if not template.is_regular or template.views or template.num_codes:
            continue
        if template.position != table.position or _misses(template.offsets) != _misses([o for _, o in table.sites]):
            continue
        low = min(template.offsets)
        sites = [(v, o - low) for v, o in zip(template.variables, template.offsets, strict=True)]
        if sorted(sites) == sorted(wanted):
            turned = np.transpose(table.allowed[0], [wanted[site] for site in sites])
            both = turned if template.allowed is None else template.allowed & turned
            templates[number] = replace(template, allowed=both)
            return
    templates.append(_constraint_template(table, numbers, -1))


def _misses(offsets: Sequence[int]) -> tuple[int, int]:
    """At how many of the first and of the last positions its last or first site never lies: anchors are positions
    themselves, so `y[-1]` alone never means the last one.
    """
    return max(0, min(offsets)), max(0, -max(offsets))


def _constraint_template(table: semantics.HardTable, numbers: Mapping[str, int], feature_set: int) -> CliqueTemplate:
    """A constraint as a template: with one table, or with a feature set and a table for each code, of log potentials
    where it has a cost.
    """
    coded = feature_set >= 0
    values = table.allowed if table.cost is None else np.where(table.allowed, 0.0, -table.cost)
    return CliqueTemplate(
        name=table.name,
        clique=-1,
        variables=tuple(numbers[name] for name, _ in table.sites),
        offsets=tuple(offset for _, offset in table.sites),
        cards=table.allowed.shape[1:],
        feature_set=feature_set,
        allowed=None if coded else table.allowed[0],
        position=table.position,
        coded=values if coded else None,
        observed=table.observed,
    )


def assignment_states(template: CliqueTemplate, assignment: int, states: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The states that an assignment number stands for, one per site; `states[m]` are those of label m."""
    if template.segments is not None:
        return (template.segments.classes[assignment].name,)
    codes = np.unravel_index(assignment, template.full_cards)
    out = []
    for variable, view, state in zip(template.variables, template.seen_as, map(int, codes), strict=True):
        names = states[variable] if view is None else view.states
        out.append(names[state] if state < len(names) else ("START", "STOP")[state - len(names)])
    return tuple(out)
