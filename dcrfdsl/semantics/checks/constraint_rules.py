"""Rules on `forbid`, `require` and `once`: constraints that nothing can satisfy, and constraints that always hold. Also
on `expect`: what it reads, which shares it names, and which stages take it.

Every assignment of the sites of a constraint is tried, for every value of its observations, together with the scheme of
its labels, the memories among its sites and the other constraints on these sites. Narrow constraints go first, so that
of two the wider one is reported as superfluous. All constraints over the same sites are one table: a constraint is
compared with one table for each shape of sites within its own, and not with every earlier constraint. Only variables
with declared states can be judged, and no views. Not here: whether the training data satisfies the constraints
(training checks that), which types a `once` binds, and whether they fit into the graph
(`semantics.conditions.implied_memories`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import combinations, product
from typing import Any, NamedTuple, TypeAlias

from ...foundation import DcrfError, Diagnostic, Mask, Span, dataclass, did_you_mean, np
from ...syntax import Constraint, Memory, Once, Runs, Scheme
from .. import conditions
from ..schema import legal_moves, nodes, reference_names
from ..settings import SMOOTH, LikelihoodSettings, MethodSettings, decoding, inference_settings
from .checked_stages import EXACT, stage_views
from .context import LABEL_KINDS, At, Context, Others, Rule, a, constraint_nodes, listed
from .name_rules import unknown_names
from .term_reader import UnknownName, constraint_can_be_tried, memory_can_be_tried

MOST_CAUSES = 8  # in a message
MOST_TRIED = 2**26  # entries of the tables of all constraints
FARTHEST = 8  # positions that a judged memory may look back; each needs its own tables, and it seldom matters


class _Judged(NamedTuple):
    """A constraint that can be judged, and the assignments that it allows by itself; or an expectation."""

    constraint: Any
    table: Any


def without_label(context: Context) -> Iterator[Diagnostic]:
    """A condition on observations alone holds or fails whatever the labels are."""
    for constraint in context.spec.constraints:
        names = set(reference_names(constraint_nodes(constraint)))
        kinds = {entry.kind for name in names if (entry := context.named(name)) is not None}
        if context.unlabelled or not names.isdisjoint(context.meant_as_labels):
            continue  # its `label` statement is missing
        if kinds.isdisjoint(LABEL_KINDS) and constraint_can_be_tried(context, constraint):
            message = f"this `{constraint.action}` says nothing about a label"
            remedy = "a constraint is on labels: `forbid chunk is B-NP and chunk[-1] is I-NP`"
            yield context.complaint("no-label-in-constraint", message, constraint.condition, "reads no label", remedy)


def satisfiable(context: Context) -> Iterator[Diagnostic]:
    """Each constraint by itself, then together with the schemes and with earlier constraints."""
    judged: list[_Judged] = []
    tried = 0
    for one in _judged(context, context.spec.laws, conditions.constraint_table):
        if isinstance(one, Diagnostic):
            yield one
            continue
        tried += one.table.allowed.size
        if tried > MOST_TRIED:
            message = f"the constraints from here on are not compared with each other: {len(judged):,} were"
            remedy = "join constraints on the same labels by `or`, or give the labels fewer states"
            at = one.constraint.condition
            yield context.complaint("not-judged", message, at, "not compared", remedy, severity="note")
            break
        judged.append(one)
    before = EarlierConstraints()
    for one in sorted(judged, key=lambda one: len(one.table.sites)):
        complaint = _alone(context, one) or _together(context, one, before)
        if complaint is not None:
            yield complaint
        elif not one.table.observed:
            before.add(one.table.sites, one.table.allowed[0], one.constraint)


def _judged(context: Context, rules: Iterable[Any], make: Callable[..., Any]) -> Iterator[_Judged | Diagnostic]:
    """Every rule whose table can be made; a diagnostic for one whose table cannot."""
    views = {view.name for view in context.spec.views}
    for constraint in rules:
        if not constraint_can_be_tried(context, constraint):
            continue
        names = {name for name, _ in conditions.constraint_sites(context.spec, constraint)}
        known = {name: states for name in names if (states := context.states(name))}
        read = set(reference_names(constraint_nodes(constraint)))
        if not names or len(known) < len(names) or not views.isdisjoint(read):
            continue
        try:
            yield _Judged(constraint, make(context.spec, constraint, known))
        except DcrfError as error:
            for problem in error.diagnostics:
                at = constraint.condition
                yield context.complaint(problem.slug, problem.message, at, "this condition", problem.help)


def _alone(context: Context, one: _Judged) -> Diagnostic | None:
    constraint = one.constraint
    if not one.table.allowed.any():
        what = "is always true" if constraint.action == "forbid" else "can never be true"
        message = f"the condition of this `{constraint.action}` {what}: no labelling is left"
        return context.complaint("contradictory", message, constraint.condition, what)
    reading = _impossible_reading(one)
    if reading is not None:
        message = f"this `{constraint.action}` leaves no labelling where what it reads of the data is {reading}"
        remedy = "what must hold first is written after `when`: `require chunk is O when word is the`"
        return context.warning("needs-when", message, constraint.condition, "of the data too", remedy)
    if constraint.action == "require" and constraint.when is not None and one.table.allowed.all():
        return _implied(context, one, (), "nothing contradicts it")
    if one.table.allowed.all():
        what = "can never be true" if constraint.action == "forbid" else "is always true"
        return _implied(context, one, (), f"its condition {what}")
    return None


def _impossible_reading(one: _Judged) -> str | None:
    """The value of the only test of the data for which no labelling remains, in words; None if there is no such value.

    Not judged: several tests, or compared texts, because some of their joint values may never occur in the data.
    """
    possible: Mask = np.asarray(one.table.allowed.reshape(len(one.table.allowed), -1).any(axis=1))
    tests = [read for read in one.table.observed if not read.states]
    if len(one.table.observed) != 1 or not tests or possible.all():
        return None
    return "false" if bool(possible[1]) else "true"


def _together(context: Context, one: _Judged, before: EarlierConstraints) -> Diagnostic | None:
    """`one` together with everything that already holds on its sites."""
    possible = np.ones_like(one.table.allowed)
    causes: dict[tuple[Span, str], None] = {}

    def hold(held: Iterator[_Held]) -> None:
        nonlocal possible
        for place, words, sites, allowed in held:
            for shifted in placements(sites, one.table.sites):
                possible = possible & spread(allowed, shifted, one.table.sites)
                causes[place, words] = None

    hold(_schemes(context, one.table.sites))
    earlier: dict[int, Constraint] = {}
    for placed, allowed, constraints in before.within(one.table.sites):
        possible = possible & spread(allowed, placed, one.table.sites)
        earlier.update(constraints)
    causes |= {(earlier[turn].span, "holds already"): None for turn in sorted(earlier)[:MOST_CAUSES]}
    hold(_memories(context, one.table.sites))
    if not causes or not possible.any():
        return None
    if not (possible & one.table.allowed).any():
        message = f"no labelling satisfies this `{one.constraint.action}` beside what holds already"
        return context.complaint("contradictory", message, one.constraint, "contradicts the others", others=causes)
    if not (possible & ~one.table.allowed).any():
        return _implied(context, one, causes, "what holds already allows nothing else")
    return None


def _implied(context: Context, one: _Judged, causes: Others, why: str) -> Diagnostic:
    message = f"this `{one.constraint.action}` forbids nothing: {why}"
    return context.warning("already-implied", message, one.constraint, "forbids nothing", others=causes)


_Held: TypeAlias = "tuple[Span, str, conditions.Sites, Mask]"


def _schemes(context: Context, sites: conditions.Sites) -> Iterator[_Held]:
    """The legal moves of the labels that a constraint names at neighbouring positions."""
    names = {name for name, _ in sites}
    for label in context.spec.labels:
        if label.name not in names:
            continue
        states = context.states(label.name)
        here = {offset for name, offset in sites if name == label.name}
        if isinstance(label.domain, Scheme) and label.constrain and states and any(o + 1 in here for o in here):
            moves = legal_moves(label.domain.name, states)[:-1, :-1]
            words = f"`{label.domain.name}` holds already"
            yield label.place_of("domain"), words, ((label.name, 0), (label.name, 1)), moves


def _memories(context: Context, sites: conditions.Sites) -> Iterator[_Held]:
    """The consequences of the memories among `sites` for these sites, anywhere in a sequence."""
    kept, names = context.kept.setdefault(_memories, {}), {name for name, _ in sites}
    for memory in context.spec.memories:
        if memory.name not in names:
            continue
        if memory.name not in kept:
            kept[memory.name] = _tables_of(context, memory)
        tables, known = kept[memory.name]
        decided = {offset for name, offset in sites if name == memory.name}
        for at in decided if tables else ():
            yield memory.place_of("name"), "decided here", *_decided(tables, at, sites, known)


def _tables_of(context: Context, memory: Memory) -> tuple[Sequence[conditions.HardTable], Mapping[str, Sequence[str]]]:
    """The tables of a memory, none if it cannot be judged, and the states of the variables it reads."""
    read = conditions.memory_sites(context.spec, memory)
    names = {memory.name, *(name for name, _ in read)}
    known = {name: states for name in names if (states := context.states(name))}
    far = any(not -FARTHEST <= offset < 0 for _, offset in read)
    if far or len(known) < len(names) or not memory_can_be_tried(context, memory):
        return (), known
    try:
        return conditions.memory_tables(context.spec, memory, known), known
    except (DcrfError, KeyError):
        return (), known  # reported elsewhere; the states of a view are unknown here


def _decided(
    tables: Sequence[conditions.HardTable], at: int, sites: conditions.Sites, known: Mapping[str, Sequence[str]]
) -> tuple[conditions.Sites, Mask]:
    """The sites of `sites` related to a memory at offset `at`, and the joint states that it allows."""
    rest = tables[-1]
    inside = tuple((name, o + at) for name, o in rest.sites if (name, o + at) in sites)
    allowed = np.zeros([len(known[name]) for name, _ in inside], np.bool_)
    for table in tables:
        # at anchor k of the memory, all of `sites` must lie in the sequence
        if table.position is not None and any(table.position + offset - at < 0 for _, offset in sites):
            continue
        table_sites = tuple((name, o + at) for name, o in table.sites)
        shown: Mask = np.asarray(
            table.allowed.any(axis=(0, *(n + 1 for n, site in enumerate(table_sites) if site not in inside)))
        )
        allowed |= spread(shown, tuple(site for site in table_sites if site in inside), inside)
    return inside, allowed


# the joint effect of constraints --------------------------------------------------------------------------------------


MOST_KEPT = 8  # constraints remembered for one shape of sites


@dataclass
class _Shape:
    """`allowed` over `sites` by all constraints on them; the first of these constraints, by their order."""

    sites: conditions.Sites
    allowed: Mask
    constraints: dict[int, Constraint]


@dataclass
class EarlierConstraints:
    """The constraints so far, by the shape of their sites: offsets from the first position."""

    count: int = 0
    _shapes: dict[conditions.Sites, _Shape] = field(default_factory=dict)
    _by_name: dict[str, list[_Shape]] = field(default_factory=dict)

    def add(self, sites: conditions.Sites, allowed: Mask, constraint: Constraint) -> None:
        turn, self.count = self.count, self.count + 1
        start = min(offset for _, offset in sites)
        moved: conditions.Sites = tuple((name, offset - start) for name, offset in sites)
        key = tuple(sorted(moved))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _Shape(key, spread(allowed, moved, key), {turn: constraint})
            self._by_name.setdefault(key[0][0], []).append(shape)
            return
        shape.allowed = shape.allowed & spread(allowed, moved, key)
        if len(shape.constraints) < MOST_KEPT:
            shape.constraints[turn] = constraint

    def within(self, sites: conditions.Sites) -> Iterator[tuple[conditions.Sites, Mask, dict[int, Constraint]]]:
        """The constraints on `sites` or some of them, at every placement."""
        near = [shape for name in dict.fromkeys(name for name, _ in sites) for shape in self._by_name.get(name, ())]
        if 2 ** len(sites) <= len(near):
            in_order = sorted(sites)
            for size in range(1, len(sites) + 1):
                for some in combinations(in_order, size):
                    start = min(offset for _, offset in some)
                    shape = self._shapes.get(tuple((name, offset - start) for name, offset in some))
                    if shape is not None:
                        yield some, shape.allowed, shape.constraints
            return
        for shape in near:
            for placed in placements(shape.sites, sites):
                yield placed, shape.allowed, shape.constraints


def placements(small: conditions.Sites, large: conditions.Sites) -> list[conditions.Sites]:
    """Every shift of `small` that lies within `large`."""
    within = set(large)
    name, offset = small[0]
    shifts = [other - offset for variable, other in large if variable == name]
    moved = [tuple((variable, o + shift) for variable, o in small) for shift in shifts]
    return [sites for sites in moved if within.issuperset(sites)]


def spread(allowed: Mask, sites: conditions.Sites, large: conditions.Sites) -> Mask:
    """`allowed` over `sites`, as an array over `large` that broadcasts."""
    axes: Mapping[tuple[str, int], int] = {site: axis for axis, site in enumerate(large)}
    order = sorted(range(len(sites)), key=lambda n: axes[sites[n]])
    turned = np.transpose(allowed, order)
    sizes = dict(zip((axes[sites[n]] for n in order), turned.shape, strict=True))
    return turned.reshape([sizes.get(axis, 1) for axis in range(len(large))])


# `once` ---------------------------------------------------------------------------------------------------------------


def bound_labels(context: Context) -> Iterator[Diagnostic]:
    """`once` stands for a label, and only one of them for each."""
    before: dict[str, Span] = {}
    for once in context.spec.onces:
        at = once.place_of("label")
        if not context.declared.get(once.label):
            yield from unknown_names(context, [UnknownName(once.label, at, LABEL_KINDS[:1])])
        elif context.named(once.label, "label") is None:
            found = context.named(once.label)
            what = "something else" if found is None else a(found.kind)
            message = f"`once` binds a label, and `{once.label}` is {what}"
            yield context.complaint("once-not-a-label", message, at, "not a label", "name a label")
        elif once.label in before:
            message = f"`once {once.label}` stands twice"
            there = [(before[once.label], "first said here")]
            yield context.complaint("once-twice", message, at, "again", "join them to one", there)
        else:
            before[once.label] = at
            yield from _free(context, once, context.states(once.label))


def _free(context: Context, once: Once, states: tuple[str, ...] | None) -> Iterator[Diagnostic]:
    """What stands after `except` are types, or states."""
    label = context.spec.labels_by_name[once.label]
    if states is None:
        return
    every = conditions.bound_types(once.model_copy(update={"free": ()}), label, states)
    for n, name in enumerate(once.free):
        if name not in every:
            guess = did_you_mean(name, every) or did_you_mean(name.partition("-")[2], every)
            message = f"`{once.label}` has no `{name}` that `once` could bind"
            remedy = f"did you mean `{guess}`?" if guess else f"it binds {listed(every)}"
            yield context.complaint("once-unknown-type", message, once.place_of("free", n), "unknown", remedy)
    if not conditions.bound_types(once, label, states):
        message = f"this `once` forbids nothing: all of `{once.label}` may come again"
        yield context.warning("already-implied", message, once, "forbids nothing", "remove it")


def exact_inference(context: Context) -> Iterator[Diagnostic]:
    """The rules are on whole sequences: samples and pruned lists do not keep to them, nor messages to `once`."""
    rules: list[tuple[Once | Runs, tuple[str, ...], str, str]] = [
        (rule, EXACT, "once-not-exact", f"once {rule.label}") for rule in context.spec.onces[:1]
    ]
    rules += [
        (rule, (*EXACT, "trp", "bp"), "cannot-bound-runs", f"runs of {rule.variable}") for rule in context.spec.runs[:1]
    ]
    if not rules:
        return
    asked: list[tuple[MethodSettings, At]] = []
    with suppress(DcrfError):  # `setting_rules` reports it
        asked.append((inference_settings(context.spec), context.spec.infer.place_of("name")))
    asked += [(stage.settings.infer, stage.place("infer")) for stage in stage_views(context) if stage.settings.infer]
    for (settings, place), (rule, methods, slug, shown) in product(asked, rules):
        if settings.method not in methods:
            message = f"`{settings.method}` does not keep to `{shown}`"
            remedy = "write `exact`, or leave it out: `auto` is exact here"
            yield context.complaint(slug, message, place, "not exact", remedy, [(rule, "the rule")])


def decodable(context: Context) -> Iterator[Diagnostic]:
    """Where types are too many for the graph, decoding has to keep to the rule; local decoding never does."""
    spec = context.spec
    states = {item.name: context.states(item.name) for item in context.spec.variables}
    onces = [once for once in spec.onces if context.named(once.label, "label") is not None]
    if not onces or len(onces) < len(spec.onces):
        return
    known = {name: listed for name, listed in states.items() if listed is not None}
    complete = len(known) == len(states)
    if complete and not any(
        conditions.bound_types(once, spec.labels_by_name[once.label], known[once.label]) for once in onces
    ):
        return  # `bound_labels` reports it
    refusal = conditions.once_refusal(spec, known) if complete else None
    if refusal is not None:
        yield context.complaint("once-not-exact", refusal.message, spec.onces[0], refusal.label, refusal.remedy)
    with suppress(DcrfError):  # `setting_rules` reports it
        rule = decoding(spec, context.stage)
        if rule == "local" or (rule != "joint" and complete and conditions.enforced_onces(spec, known)):
            message = f"`decode {rule}` does not keep to `once {onces[0].label}`"
            at = spec.decode or spec.onces[0]
            yield context.complaint("once-not-exact", message, at, "not kept", "write `decode joint`")


# expected shares ------------------------------------------------------------------------------------------------------


def what_is_expected(context: Context) -> Iterator[Diagnostic]:
    """A condition on a label that is neither always true nor never, where columns say that the place counts."""
    readable = []
    for one in context.spec.expectations:
        if context.unlabelled or not constraint_can_be_tried(context, one):
            continue
        if one.when is not None and any(context.named(name, *LABEL_KINDS) for name in reference_names(nodes(one.when))):
            message = "`when` says which places of the data count, and a label is not known there"
            remedy = "join it to the condition by `and`; the share is then that of all places"
            yield context.complaint("cannot-expect", message, one.when, "reads a label", remedy)
        elif not conditions.constraint_sites(context.spec, one):
            message, remedy = "this `expect` says nothing about a label", "name one, as in `expect chunk is not O`"
            yield context.complaint("no-label-in-constraint", message, one.condition, "reads no label", remedy)
        else:
            readable.append(one)
    for judged in _judged(context, readable, conditions.share_table):
        if isinstance(judged, Diagnostic):
            yield judged
            continue
        counted = judged.table.holds[judged.table.counted]
        if counted.all() or not counted.any():
            what = "always" if counted.all() else "never"
            message, at = f"the condition is {what} true where it counts", judged.constraint.condition
            yield context.complaint("cannot-expect", message, at, f"{what} true", "correct or remove it")


def which_shares(context: Context) -> Iterator[Diagnostic]:
    """One share, or bounds of it; all between 0 and 1."""
    for one in context.spec.expectations:
        least, most, strength = conditions.share_bounds(context.spec, one)
        names = [name for name in ("share", "least", "most") if getattr(one, name) not in (None, 0.0, 1.0)]
        at = one.place_of(names[0]) if names else one.condition
        if not names or (one.share is not None and len(names) > 1):
            wrong = "`expect` takes either a `share` above 0 and below 1, or bounds of one, `least` and `most`"
        elif not 0.0 <= least <= most <= 1.0:
            wrong = f"no share lies between {least:g} and {most:g}, as they do between 0 and 1"
        elif not 0.0 < strength < float("inf"):
            wrong, at = f"`strength` is above 0, and not {strength:g}", one.place_of("strength")
        else:
            continue
        remedy = "for example `expect chunk is O with share = 0.3`, or `least = 0.1, most = 0.2`"
        yield context.complaint("bad-setting", wrong, at, "which share?" if at is one.condition else "not this", remedy)


def who_takes_it(context: Context) -> Iterator[Diagnostic]:
    """The likelihood, by optimizers that take value and gradient of all data, over labels of tokens."""
    for expected in context.spec.expectations[:1]:
        segmental = (clique for clique in context.spec.cliques if clique.segmental)
        refused: list[tuple[str, str, At]] = [("a `segment`", "has whole ones", one) for one in segmental]
        for stage in stage_views(context):
            method, at = stage.inference
            if not isinstance(stage.settings.criterion, LikelihoodSettings):
                refused.append((f"`{stage.criterion}`", "is no likelihood, to which it is a penalty", stage.name))
            elif stage.optimizer not in SMOOTH:
                refused.append((f"`{stage.optimizer}`", "steps after a few sentences", stage.place("optimizer")))
            elif method == "pruned":
                refused.append((f"`{method}`", "is too rough for differences of shares", at))
        for what, why, at in refused:
            message = f"`expect` asks for a share of the tokens of all data, and {what} {why}"
            remedy = f"train by `likelihood`, with {listed(SMOOTH, 'or')}, under `exact` or `trp`, or leave it out"
            others = [(expected, "the expectation")]
            yield context.complaint("cannot-expect", message, at, "not beside `expect`", remedy, others)


EXPECTATION_RULES: tuple[Rule, ...] = (what_is_expected, which_shares, who_takes_it)


RULES: tuple[Rule, ...] = (without_label, satisfiable, bound_labels, exact_inference, decodable)
