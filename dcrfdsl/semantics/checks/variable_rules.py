"""Rules on variables: borrowed states, marks of unknown values, latent variables, memories and views.

Not here: names and terms inside a memory or view (`name_rules`), constraints on hidden variables
(`constraint_rules`), what an expression says of the first token (`first_value_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...foundation import DcrfError, Diagnostic
from ...syntax import And, Apply, Memory, Named, Or, Reference, Scheme, StatesOf, View
from ..conditions import BOOLEAN, constraint_sites, initial_state, is_word, memory_sites, stray_state, view_label
from ..schema import FUNCTIONS, nodes, place_offset, place_text, reference_names, value_if_nodes
from .clique_rules import reached
from .context import LABEL_KINDS, Context, Rule, Severity, a, listed
from .first_value_rules import first_value
from .term_reader import memory_can_be_tried

MOST_PLACES = 40  # of a cycle in a message
WITH_STATES = LABEL_KINDS[:3]  # a view has states too, but they are unknown before the label's are mapped


# states -----------------------------------------------------------------------------------------------------------


def borrowed_states(context: Context) -> Iterator[Diagnostic]:
    """`states(x)` names a variable, and does not lead back to its start."""
    places = {one.name: one.place_of("domain") for one in context.spec.variables}
    lenders = {one.name: one.domain.variable for one in context.spec.variables if isinstance(one.domain, StatesOf)}
    told: set[str] = set()
    still = {name for circle in _circles(context) for name in circle}  # `memory_cycle` reports these in detail
    circles = _borrowing_circles(lenders)
    for name, other in lenders.items():
        entry = context.named(other)
        if entry is not None and context.named(other, *WITH_STATES) is None:
            message = f"`{other}` is {a(entry.kind)}, and `states(…)` takes a label, latent variable or memory"
            remedy = f"predict it with `label {other}`" if entry.kind == "column" else None
            there = [(entry.place, f"declared as {a(entry.kind)} here")]
            yield context.complaint("wrong-kind", message, places[name], a(entry.kind), remedy, there)
        circle = circles.get(name, [])
        if circle and name not in told and not still.issuperset(circle):
            told.update(circle)
            of = listed(circle)
            message = f"the states of {of} are taken from {'each other' if len(circle) > 1 else 'itself'}"
            others = [(places[one], "and this") for one in circle[1:MOST_PLACES]]
            outside = set(circle)
            label = next((one.name for one in context.spec.labels if one.name not in outside), None)
            taken = f"in states({label})" if label else "in {A, B}"
            remedy = f"say the states of one of them, as in `{circle[0]} {taken}`"
            yield context.complaint("states-cycle", message, places[name], "goes round in a circle", remedy, others)


def _borrowing_circles(lenders: Mapping[str, str]) -> dict[str, list[str]]:
    """The first variable of each cycle, and the cycle from it, each taking its states from the next."""
    cycles: dict[str, list[str]] = {}
    order = {name: n for n, name in enumerate(lenders)}
    seen: set[str] = set()
    for name in lenders:
        passed: dict[str, int] = {}
        while name in lenders and name not in seen:
            seen.add(name)
            passed[name] = len(passed)
            name = lenders[name]
        if name in passed:
            way = list(passed)[passed[name] :]
            at = way.index(min(way, key=order.__getitem__))
            cycles[way[at]] = [*way[at:], *way[:at]]
    return cycles


def no_states(context: Context) -> Iterator[Diagnostic]:
    """A latent variable or memory cannot learn its segment types from data."""
    for one in context.spec.variables[len(context.spec.labels) :]:
        if isinstance(one.domain, Scheme) and not one.domain.types:
            message = f"nothing says the states of the {one.word} `{one.name}`: its types cannot be learned from data"
            remedy = f"name the types, as in `in {one.domain.name}(NP, VP)`"
            yield context.complaint("no-states", message, one.domain, "without types", remedy)


def marks(context: Context) -> Iterator[Diagnostic]:
    """`missing` and `ambiguous` mark unknown values, so they must not be part of known ones."""
    for label in context.spec.labels:
        states = context.declared_states(label) or ((label.others,) if label.others is not None else ())
        for option in ("missing", "ambiguous"):
            mark, at = getattr(label, option), label.place_of(option)
            if mark is None:
                continue
            taken = _taken(option, mark, states)
            if option == "ambiguous" and mark == "":
                message = f"the `ambiguous` of `{label.name}` is empty: it separates nothing"
                yield context.complaint("bad-setting", message, at, "empty", 'for example `ambiguous = "|"`')
            elif option == "ambiguous" and mark == label.missing:
                message = f"`{mark}` marks both a missing value of `{label.name}` and several possible ones"
                there = [(label.place_of("missing"), "a missing value here")]
                yield context.complaint("mark-taken", message, at, "the same mark", DISTINCT, there)
            elif taken is not None:
                there = [(label.place_of("others" if taken == label.others else "domain"), f"`{taken}` is a state")]
                message = f"`{mark}` marks a missing value of `{label.name}`, and is a state of it"
                if option == "ambiguous":
                    message = (
                        f"`{mark}` separates the possible values of `{label.name}`, and its state `{taken}` has it"
                    )
                yield context.complaint("mark-taken", message, at, "a state has it", DISTINCT, there)


DISTINCT = "choose a mark that no state has"


def _taken(option: str, mark: str, states: Sequence[str]) -> str | None:
    """The state that equals a mark (of a missing value), or contains it (between possible values)."""
    return next((state for state in states if state == mark or (option == "ambiguous" and mark in state)), None)


# memories ---------------------------------------------------------------------------------------------------------


def memory_future(context: Context) -> Iterator[Diagnostic]:
    """A memory must be known before the labels at its position."""
    names = frozenset(context.names(*LABEL_KINDS))
    told = {name for circle in _circles(context) for name in circle}
    for memory in context.spec.memories:
        for node in value_if_nodes(memory.value):
            if not isinstance(node, Reference) or node.name not in names:
                continue
            offset = place_offset(node.place)
            if offset is None or offset < 0 or {memory.name, node.name} <= told:
                continue
            when = "the present" if offset == 0 else "the future"
            reads = f"memory `{memory.name}` reads `{node.name}` in {when}"
            message = f"{reads}: it may read labels only before its position"
            remedy = f"read an earlier position, as in `{node.name}[-1]`"
            yield context.complaint("memory-future", message, node, f"reads {when}", remedy)


def memory_cycle(context: Context) -> Iterator[Diagnostic]:
    """Memories that read only each other keep their initial state."""
    memories = {memory.name: memory for memory in context.spec.memories}
    for circle in _circles(context):
        first = memories[circle[0]]
        what = f"memory `{first.name}` reads only itself"
        if len(circle) > 1:
            what = f"memories {listed(circle)} read only each other"
        message = f"{what}, so nothing ever changes {'them' if len(circle) > 1 else 'it'}"
        label = next((label.name for label in context.spec.labels), "LABEL")
        state = (context.states(label) or ("STATE",))[0]
        remedy = f"let {'one of them' if len(circle) > 1 else 'it'} read a label: "
        if first.domain is None:
            remedy += f"`memory {first.name} = {first.name}[-1] or {label}[-1] is {state}`"
        else:
            remedy += f"`memory {first.name} in states({label}) = {label}[-1] initially {state}`"
        if first.name in FUNCTIONS:
            remedy = f"its name hides the built-in `{first.name}`: give the memory another name"
        others = [(memories[name].value, "and here") for name in circle[1:]]
        offsets = [site[1] for name in circle for site in memory_sites(context.spec, memories[name])]
        stated = any(getattr(memories[name].domain, "variable", None) in circle for name in circle)
        severity: Severity = "error" if stated or any(offset >= 0 for offset in offsets) else "warning"
        yield context.complaint("memory-cycle", message, first.value, "reads no label", remedy, others, severity)


def _circles(context: Context) -> list[list[str]]:
    """Memories that read only each other, connected ones in one list: first one that leads back to itself, then the
    others in order of the text.
    """
    read = {memory.name: _read(context, memory) for memory in context.spec.memories}
    readers: dict[str, list[str]] = {name: [] for name in read}
    for name, names in read.items():
        for other in names & read.keys():
            readers[other].append(name)
    more = [name for name, names in read.items() if not names or not names <= read.keys()]
    moved = set(more)  # by something else, directly or by way of others
    while more:
        fresh = [name for name in readers[more.pop()] if name not in moved]
        moved.update(fresh)
        more.extend(fresh)
    places = {name: n for n, name in enumerate(read)}
    by_name = {memory.name: memory for memory in context.spec.memories}
    cycles: list[list[str]] = []
    seen: set[str] = set(moved)
    for name in read:
        if name not in seen:
            group, more = {name}, [name]
            while more:
                at = more.pop()
                fresh = [other for other in (*readers[at], *read[at]) if other not in group and other not in moved]
                group.update(fresh)
                more.extend(fresh)
            seen |= group
            passed = [name]
            while (following := min(read[passed[-1]])) not in passed:
                passed.append(following)
            if _is_still([by_name[one] for one in group]):
                order = sorted(group, key=places.__getitem__)
                cycles.append([following, *(one for one in order if one != following)])
    return cycles


def _is_still(memories: Sequence[Memory]) -> bool:
    """Whether memories that read only each other never change: they copy, and all begin alike.

    `memory odd = not odd[-1]` does change.
    """
    alike = len({memory.initially for memory in memories}) == 1
    read = (node for memory in memories for node in nodes(memory.value.value))
    copies = all(isinstance(node, Reference | And | Or) for node in read)
    return alike and copies and all(memory.value.condition is None for memory in memories)


def _read(context: Context, memory: Memory) -> set[str]:
    """The names that a memory reads; "" for an unknown one."""
    parts = (memory.value.value, memory.value.otherwise)
    names = set()
    for node in value_if_nodes(memory.value):
        if isinstance(node, Reference):
            known = node.name in context.declared or node.name in FUNCTIONS
            if known or node not in parts:  # else it is the name of a state
                names.add(node.name if known else "")
    return names


def no_initially(context: Context) -> Iterator[Diagnostic]:
    """Only `no` and `yes` have an implicit initial state."""
    for memory in context.spec.memories:
        states = context.states(memory.name)
        if memory.initially is not None or not _has_states(context, memory):
            continue
        if states is None or initial_state(memory, states) is None:
            message = f"nothing says the state of memory `{memory.name}` at the first position"
            remedy = f"end it with `initially {states[0] if states else 'STATE'}`, or another of its states"
            at = memory.place_of("name")
            yield context.complaint("no-initially", message, at, "needs `initially`", remedy)


def _has_states(context: Context, memory: Memory) -> bool:
    """Whether its states are known or learned from data; if not, another rule reports it."""
    known: dict[str, bool] = context.kept.setdefault(_has_states, {})
    passed: set[str] = set()
    name: str | None = memory.name
    has_states = False
    while name is not None and name not in passed:
        entry = context.named(name, *WITH_STATES)
        if entry is None or name in known:
            has_states = known.get(name, False)
            break
        passed.add(name)
        domain = getattr(entry.entry, "domain", None)
        has_states = not isinstance(domain, StatesOf) and (context.states(name) is not None or entry.kind == "label")
        name = domain.variable if isinstance(domain, StatesOf) else None
    known |= dict.fromkeys(passed, has_states)
    return has_states


def copied_state(context: Context) -> Iterator[Diagnostic]:
    """Every value that a memory copies must be one of its states."""
    spec = context.spec
    for memory in spec.memories:
        known = _known_states(context, memory)
        if known is None or not memory_can_be_tried(context, memory):
            continue
        try:
            stray = stray_state(spec, memory, known)
        except DcrfError as error:
            yield from (context.complaint(d.slug, d.message, memory.value, help=d.help) for d in error.diagnostics)
            continue
        node = getattr(memory.value, stray.part) if stray is not None else None
        if stray is None or (isinstance(node, Reference) and is_word(spec, node)):
            continue  # names are checked elsewhere
        there = [(memory.place_of("domain"), "its states are declared here")]
        message = f"memory `{memory.name}` may copy the state `{stray.state}`, which it does not have"
        remedy = f"add `{stray.state}` to its states, or exclude it by `if`"
        if not isinstance(node, Reference):
            message = f"memory `{memory.name}` takes the value `{stray.state}` of a test, which it does not have"
            remedy = f"its states are {listed(BOOLEAN)} where it declares none; others are chosen by `A if … else B`"
        yield context.complaint("copied-state", message, node, f"may be `{stray.state}`", remedy, there)


def _known_states(context: Context, memory: Memory) -> dict[str, tuple[str, ...]] | None:
    """The states of a memory and of all variables that it reads; None if one is learned, a view, or unknown."""
    names = {memory.name, *(name for name, _ in memory_sites(context.spec, memory))}
    read = set(reference_names(value_if_nodes(memory.value)))
    states_of = {name: states for name in names if (states := context.states(name))}
    views = {view.name for view in context.spec.views}
    return states_of if len(states_of) == len(names) and read.isdisjoint(views) else None


# what nothing makes use of ----------------------------------------------------------------------------------------


def idle_latent(context: Context) -> Iterator[Diagnostic]:
    """A latent variable without a tie to a label is summed out to a constant."""
    members = [
        *_cliques(context),
        *_constraints(context),
        *({name, *read} for name, read in _memories(context).items()),
    ]
    # each name leads to the number of every clique that contains it, and back
    leads_to: dict[str, list[str]] = {str(n): sorted(names) for n, names in enumerate(members)}
    for n, names in enumerate(members):
        for name in names:
            leads_to.setdefault(name, []).append(str(n))
    tied = reached([*(label.name for label in context.spec.labels), *context.meant_as_labels], leads_to)
    for latent in context.spec.latents:
        if latent.name not in tied and not context.mentioned_in_lost(latent.name):
            message = f"nothing can tell the states of `{latent.name}` apart: no clique ties it to a label"
            labels = context.spec.labels
            remedy = f"for example `clique {latent.name}, {labels[0].name}`" if labels else None
            yield context.complaint("idle-latent", message, latent.place_of("name"), "tied to no label", remedy)


def idle_memory(context: Context) -> Iterator[Diagnostic]:
    """A memory that no clique and no constraint reads, directly or through others, changes nothing."""
    used = reached(set().union(*_cliques(context), *_constraints(context)), _memories(context))
    for memory in context.spec.memories:
        if memory.name not in used and not context.mentioned_in_lost(memory.name):
            message = f"nothing reads memory `{memory.name}`: it changes no prediction"
            label = next((label.name for label in context.spec.labels), "LABEL")
            remedy = f"for example `clique {label}, {memory.name}`"
            yield context.warning("idle-memory", message, memory.place_of("name"), "in no clique", remedy)


def _cliques(context: Context) -> list[set[str]]:
    """The variables of each clique, with a view's label for the view."""
    label_of = {view.name: view_label(context.spec, view) or view.name for view in context.spec.views}
    return [{label_of.get(site.variable, site.variable) for site in clique.sites} for clique in context.spec.cliques]


def _constraints(context: Context) -> list[set[str]]:
    sites_of_constraints = (constraint_sites(context.spec, constraint) for constraint in context.spec.constraints)
    return [{name for name, _ in sites} for sites in sites_of_constraints]


def _memories(context: Context) -> dict[str, set[str]]:
    spec = context.spec
    return {memory.name: {name for name, _ in memory_sites(spec, memory)} for memory in spec.memories}


# views ----------------------------------------------------------------------------------------------------------------


def _variables_of(context: Context, view: View) -> list[Reference]:
    spec = context.spec
    return [
        node
        for node in value_if_nodes(view.value)
        if isinstance(node, Reference) and (node.name in spec.hidden_names or node.name in spec.views_by_name)
    ]


def one_label(context: Context) -> Iterator[Diagnostic]:
    """`view coarse = prefix(pos, 1)`: one label, at the current position."""
    labels = {label.name for label in context.spec.labels}
    for view in context.spec.views:
        read = _variables_of(context, view)
        names = list(dict.fromkeys(node.name for node in read))
        names_of_all = set(reference_names(value_if_nodes(view.value)))
        if not read and (context.unlabelled or not names_of_all.isdisjoint(context.meant_as_labels)):
            continue  # its `label` statement is missing
        if not read:
            message = f"view `{view.name}` reads no label: it has nothing to map"
            yield context.complaint("bad-view", message, view.place_of("name"), "of which label?")
        elif len(names) > 1 or names[0] not in labels:
            message = f"view `{view.name}` reads {listed(names)}, and a view maps the states of one label"
            yield context.complaint("bad-view", message, read[-1], "not one label")
        for node in value_if_nodes(view.value):
            if not isinstance(node, Reference | Apply):
                continue
            if isinstance(node.place, Named) or place_offset(node.place) != 0:
                message = f"view `{view.name}` reads `{place_text(node.place)}`, and a view is of one position"
                remedy = f"read the position itself, and shift the view in the clique: `{view.name}[-1]`"
                yield context.complaint("bad-view", message, node.place_of("place"), "another position", remedy)


def one_variable_twice(context: Context) -> Iterator[Diagnostic]:
    """A label and a view of it, or two views of it, at one position are the same variable."""
    label_of = {}
    for view in context.spec.views:
        names = {node.name for node in _variables_of(context, view)}
        if len(names) == 1:
            label_of[view.name] = names.pop()
    for clique in context.spec.cliques:
        seen: dict[tuple[str, str], str] = {}
        for site in clique.sites:
            label = label_of.get(site.variable, site.variable)
            offset = place_offset(site.place)
            key = label, place_text(site.place) if offset is None else str(offset)
            if key in seen and seen[key] != site.variable:
                message = f"`{site.variable}` and `{seen[key]}` are the same variable at one position, `{label}`"
                remedy = f"the clique over `{label}` alone tells all its states apart"
                yield context.complaint("same-site-twice", message, site, "the same variable", remedy)
            seen.setdefault(key, site.variable)


RULES: tuple[Rule, ...] = (
    borrowed_states, no_states, marks, memory_cycle, memory_future, no_initially, copied_state, idle_latent,
    idle_memory, first_value,
)  # fmt: skip


VIEW_RULES: tuple[Rule, ...] = (one_label, one_variable_twice)
