"""Memories that `once`, `segment` and `runs` stand for, so that all are a part of the graph like any other.

`once`: each type that it binds gets a memory, which is true as soon as the type has come by, and a constraint that it
does not begin again. So the rule holds in training, marginals and decoding. The sets of used types grow as 2^types:
where too many are bound, there are no memories, and decoding alone keeps to the rule
(`inference.decoding.once_decoding`). The choice depends on the statements and the states alone, so that a model
file makes it again.

`segment`: a memory says how far the segment of each token has come. Its states are (class, number of tokens so far,
whether the segment ends here). So the features of a segment are those of one state at its last token, the moves between
states are hard constraints, and everything that knows graphs knows segments: other labels beside them, all criteria,
all methods of inference. Exact inference takes the automaton of these states, which costs as much as a recursion over
segments.

`runs`: a memory counts the tokens of the run so far, up to the number that its bounds tell apart. It follows from the
labels up to its token, so that each labelling has one course of it.

Not here: the search, the checks, the features of segments (`graph.segment_factors`), the states of known labels
(`graph.segment_shapes`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...foundation import Integers, Ints, Mask, dataclass, np
from ...syntax import (
    And,
    At,
    Condition,
    Constraint,
    Domain,
    InSet,
    Label,
    Memory,
    Once,
    Or,
    Reference,
    Runs,
    Scheme,
    ValueIf,
)
from .. import schema
from .condition_tables import BOOLEAN, HardTable, constraint_sites
from .memories import memory_sites

CAME_BY = " came by"  # ends the names of memories; other names have no blanks
MOST_SEARCHED = 2**9  # joint states of a position with which decoding can search
MOST_JOINT = 2**13  # joint states of a position, with the memories of `once`, up to which it is a part of the graph
COUNTED = 2**1000  # the most joint states that are told apart; a float holds it


@dataclass(frozen=True, eq=False)
class OnceConstraint:
    """What a `once` binds. types: in the order of the states.   kind [K]: the number of each state's type, -1 if free.

    begins [K + 1, K]: whether taking a state after another one begins a segment of a bound type; row K is the start of
    a sequence.
    """

    once: Once
    label: int
    types: tuple[str, ...]
    kind: Ints
    begins: Mask

    def again(self, states: Integers, sentence_off: Integers) -> Ints:
        """The tokens where a type begins that came by before in its sentence.

        states [N]: negative where they are not known; a run that may have begun before it is not counted.
        sentence_off [S + 1]: see `Corpus`.
        """
        before = np.concatenate([[0], states[:-1]])
        before[sentence_off[:-1][np.diff(sentence_off) > 0]] = len(self.kind)
        kind = np.where(states >= 0, self.kind[np.maximum(states, 0)], -1)
        here = np.maximum(states, 0)
        begins = np.where(before >= 0, self.begins[np.maximum(before, 0), here], self.begins[:, here].all(axis=0))
        tokens = np.flatnonzero(kind >= 0)
        sentence = np.searchsorted(sentence_off, tokens, side="right") - 1
        _, first, of = np.unique(sentence * len(self.types) + kind[tokens], return_index=True, return_inverse=True)
        return tokens[begins[tokens] & (tokens > tokens[first][of])]


def bound_types(once: Once, label: Label, states: Sequence[str]) -> tuple[str, ...]:
    """The types of segments, or the states, that a `once` binds, in the order of the states."""
    every = dict.fromkeys(_type_of(label, state) for state in states)
    return tuple(kind for kind in every if kind is not None and kind not in once.free)


def _type_of(label: Label, state: str) -> str | None:
    """The type of the segment that a state belongs to; None outside segments. Without a scheme, the state itself."""
    if not isinstance(label.domain, Scheme):
        return state
    parts = schema.split_state(label.domain.name, state)
    return None if parts is None or parts[0] == schema.OUTSIDE else parts[1]


def once_constraint(spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]) -> list[OnceConstraint]:
    """What each `once` of a specification binds. states: of each label."""
    numbers = {label.name: n for n, label in enumerate(spec.labels)}
    return [
        _constraint_of(once, numbers[once.label], spec.labels[numbers[once.label]], states[once.label])
        for once in spec.onces
    ]


def _constraint_of(once: Once, number: int, label: Label, states: Sequence[str]) -> OnceConstraint:
    types = bound_types(once, label, states)
    of = {kind: n for n, kind in enumerate(types)}
    kinds = [_type_of(label, state) for state in states]
    kind = np.array([-1 if one is None else of.get(one, -1) for one in kinds], np.int64)
    goes_on = np.equal.outer(kind, kind)
    if isinstance(label.domain, Scheme):
        scheme = schema.SCHEMES[label.domain.name]
        marks = [(schema.split_state(label.domain.name, state) or (schema.OUTSIDE,))[0] for state in states]
        goes_on &= np.array([mark in scheme.may_go_on for mark in marks])[:, None]
        goes_on &= np.array([mark in scheme.inside for mark in marks])[None, :]
    starts = np.zeros((1, len(kind)), np.bool_)
    return OnceConstraint(once, number, types, kind, ~np.concatenate([goes_on, starts]) & (kind >= 0))


# as memories ----------------------------------------------------------------------------------------------------------


def is_once_memory(variable: str) -> bool:
    """Whether a variable of a graph is a memory that `once` stands for."""
    return variable.endswith(CAME_BY)


def joint_states(spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]) -> int:
    """The joint states of as many positions as a state of the model's automaton holds, with a memory for each type.

    At most `COUNTED`, which stands for all numbers above.
    """
    types, without = _num_types(spec, states), _states_without(spec, states)
    if math.log2(without) + types > math.log2(COUNTED):
        return COUNTED
    return without << types


def _num_types(spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]) -> int:
    return sum(len(bound_types(once, spec.labels_by_name[once.label], states[once.label])) for once in spec.onces)


def _states_without(spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]) -> int:
    """The joint states of as many positions as `joint_states` counts, without memories for types."""
    one, span = math.prod(len(states[variable.name]) for variable in spec.variables), max(1, _span(spec))
    if span * math.log2(max(1, one)) > math.log2(COUNTED):  # a power that would take for ever
        return COUNTED
    return max(1, int(one**span))


def _span(spec: schema.ModelSpec) -> int:
    """From the first to the last position of the widest clique, constraint or memory."""
    reach = [[schema.shift_of_site(site.place) for site in one.sites] for one in spec.cliques if not one.relational]
    reach += [[offset for _, offset in constraint_sites(spec, one)] for one in spec.constraints]
    reach += [[0, *(offset for _, offset in memory_sites(spec, one))] for one in spec.memories]
    reach = [shifts for shifts in reach if shifts]
    return max((max(shifts) - min(shifts) for shifts in reach), default=0)


def _is_unrolled(spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]) -> bool:
    relational = any(clique.relational for clique in spec.cliques)
    return not relational and joint_states(spec, states) <= MOST_JOINT


def enforced_onces(spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]) -> list[OnceConstraint]:
    """The `once` rules that decoding must enforce: all of them where they do not fit into the graph, else none."""
    return once_constraint(spec, states) if spec.onces and not _is_unrolled(spec, states) else []


def once_words(spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]) -> str:
    """How a specification keeps to its `once`, and why so."""
    types = sum(len(runs.types) for runs in once_constraint(spec, states))
    bound = f"{types} type{'' if types == 1 else 's'}"
    joint = joint_states(spec, states)
    size = "more than 1e300" if joint == COUNTED else f"{joint:.2g}"
    if _is_unrolled(spec, states):
        return f"exact: a part of the graph, with a memory for each of {bound}; {joint:,} joint states of a position"
    return (
        f"kept by decoding alone, which searches for the best labelling; training and probabilities are without it: "
        f"{bound} in the graph would take {size} joint states of a position, and {MOST_JOINT:,} fit"
    )


@dataclass(frozen=True)
class OnceRefusal:
    """Why nothing keeps to the `once` of a specification, in words. label: the same in a few.   remedy: what helps."""

    message: str
    label: str
    remedy: str


def once_refusal(spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]) -> OnceRefusal | None:
    """What keeps decoding from seeing to the `once` of a specification where the graph does not."""
    if not spec.onces or _is_unrolled(spec, states):
        return None
    every = [f"`once {once.label}`" for once in spec.onces]
    shown, many = " and ".join(every), len(every) > 1
    joined = next((clique for clique in spec.cliques if clique.relational), None)
    if joined is not None:
        message = f"nothing keeps to {shown} where positions are joined by `where`, as `clique {joined.label}` does"
        return OnceRefusal(message, "not kept", "leave out the clique, or the `once`")
    reason = _not_searched(spec, states)
    if reason is None:
        return None
    room = (MOST_JOINT // _states_without(spec, states)).bit_length() - 1
    if room < 1:
        message = (
            f"{shown} {'do' if many else 'does'} not fit into the graph, whose positions have too many joint states"
        )
        remedy = "leave out the `once`, or what keeps decoding from it"
        return OnceRefusal(f"{message}, and decoding cannot keep to it either: {reason}", "does not fit", remedy)
    message = (
        f"{shown} bind{'' if many else 's'} too many types for the graph: {_num_types(spec, states)}, "
        f"and at most {room} fit; decoding cannot keep to it either: {reason}"
    )
    fewer = "one type" if room == 1 else f"{room} types"
    return OnceRefusal(message, "too many types", f"bind at most {fewer}: the others stand after `except`")


def _not_searched(spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]) -> str | None:
    """Why decoding does not search, in words."""
    whole = next((label.name for label in spec.labels if label.per == "sentence"), None)
    if whole is not None:
        return f"`{whole}` is of the whole sentence"
    if spec.latents:
        return f"the search does not sum out `latent {spec.latents[0].name}`"
    if _span(spec) > 1:
        return "a clique or constraint reaches further than to the neighbouring position"
    joint = math.prod(len(states[item.name]) for part in (spec.labels, spec.memories) for item in part)
    return f"a position has {joint:,} joint states, more than {MOST_SEARCHED}" if joint > MOST_SEARCHED else None


def with_once_memories(
    spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]
) -> tuple[schema.ModelSpec, dict[str, tuple[str, ...]]]:
    """The specification with a memory and a constraint for each type that `once` binds, where these fit.

    states: at least those of every declared variable. Returns the states of all variables too.
    """
    known = {name: tuple(listed) for name, listed in states.items()}
    if not spec.onces or not _is_unrolled(spec, states):
        return spec, known
    memories, constraints = list(spec.memories), list(spec.constraints)
    for runs in once_constraint(spec, states):
        label = runs.once.label
        legal = _legal(spec.labels[runs.label], states[label])
        for number, kind in enumerate(runs.types):
            memory = f"{label} {kind}{CAME_BY}"
            own = [state for state, of in zip(states[label], runs.kind.tolist(), strict=True) if of == number]
            past: Condition = InSet(term=Reference(name=label, place=At(offset=-1)), states=tuple(own))
            value = Or(parts=(Reference(name=memory, place=At(offset=-1)), past))
            memories.append(Memory(name=memory, value=ValueIf(value=value)))
            known[memory] = BOOLEAN
            again = (_beginning(runs, legal, states[label], number), Reference(name=memory))
            constraints.append(Constraint(action="forbid", condition=And(parts=again), name=f"once {label}"))
    return spec.model_copy(update={"memories": tuple(memories), "constraints": tuple(constraints), "onces": ()}), known


def _legal(label: Label, states: Sequence[str]) -> Mask:
    """The moves that the label's scheme allows, [K, K]."""
    if isinstance(label.domain, Scheme) and label.constrain:
        return schema.legal_moves(label.domain.name, states)[:-1, :-1]
    return np.ones((len(states), len(states)), np.bool_)


def _beginning(runs: OnceConstraint, legal: Mask, states: Sequence[str], number: int) -> Condition:
    """The condition that a segment of a type begins here. Moves that are not `legal` need not be forbidden again."""
    label, cases = runs.once.label, list[Condition]()
    for here in np.flatnonzero(runs.kind == number).tolist():
        taken = InSet(term=Reference(name=label), states=(states[here],))
        begins = runs.begins[:-1, here] & legal[:, here]
        if (begins == legal[:, here]).all():
            cases.append(taken)
        elif begins.any():
            after = tuple(states[before] for before in np.flatnonzero(begins).tolist())
            cases.append(And(parts=(taken, InSet(term=Reference(name=label, place=At(offset=-1)), states=after))))
    return cases[0] if len(cases) == 1 else Or(parts=tuple(cases))


# segments -------------------------------------------------------------------------------------------------------------


SEGMENT_OF = "segment of "  # begins the names of memories; other names have no blanks
LAST = -1  # the position of a table that holds at the last token


class SegmentMemory(Memory):
    """The memory of a `segment` statement over `label`.   limit, least: tokens of a segment at most, and at least.

    together: longer ones pass.
    """

    label: str
    label_domain: Domain
    limit: int
    together: bool
    least: int


class SegmentStates(NamedTuple):
    """The states of a `SegmentMemory`, R of them: classes in the order of `segment_classes`, shorter segments first.

    length: tokens so far; `limit` + 1 stands for all longer segments that end here, `limit` for all that go on.
    """

    names: tuple[str, ...]
    label: Ints  #   [R] the state of the label
    kind: Ints  #    [R] the class
    length: Ints  #  [R]
    begins: Mask  #  [R] whether this is the first token
    ends: Mask  #    [R] whether this is the last token

    def tables(self, memory: SegmentMemory) -> tuple[HardTable, ...]:
        """Its moves, its first and last states, and the label that each state has."""
        after = self.length[:, None] + 1  # tokens with the next one; those that go on are counted up to the limit
        reached = np.where(self.ends, after, np.minimum(after, memory.limit)) == self.length
        goes_on = ~self.ends[:, None] & ~self.begins & (self.kind[:, None] == self.kind) & reached
        next_one = self.ends[:, None] & self.begins
        if not isinstance(memory.label_domain, Scheme):  # segments are runs: the next one has another state
            next_one &= self.label[:, None] != self.label
        name, states = memory.name, int(self.label.max(initial=0)) + 1
        has = self.label[:, None] == np.arange(states)
        return (
            HardTable(((name, -1), (name, 0)), (), (goes_on | next_one)[None], None, name),
            HardTable(((name, 0),), (), self.begins[None], 0, name),
            HardTable(((name, 0),), (), self.ends[None], LAST, name),
            HardTable(((name, 0), (memory.label, 0)), (), has[None], None, name),
        )


def segment_states(memory: SegmentMemory, label_states: Sequence[str]) -> SegmentStates:
    """The states of the memory over a label with these states."""
    rows = list[tuple[str, int, int, int, bool, bool]]()
    for n, one in enumerate(schema.segment_classes(memory.label_domain, label_states)):
        if not one.name:
            rows.append((label_states[one.single], one.single, n, 1, True, True))
            continue
        for length in range(1, memory.limit + memory.together):
            state = one.first if length == 1 else one.inside
            rows.append((f"{one.name} {length}…", state, n, length, length == 1, False))
        for length in range(memory.least, memory.limit + 1 + memory.together):
            state = one.single if length == 1 else one.last
            more = "+" if length > memory.limit else ""
            rows.append((f"{one.name} {length - bool(more)}{more}", state, n, length, length == 1, True))
    names, *columns = zip(*rows, strict=True)
    label, kind, lengths, begins, ends = (np.array(column) for column in columns)
    return SegmentStates(names, label.astype(np.int64), kind.astype(np.int64), lengths.astype(np.int64), begins, ends)


def segment_memory(spec: schema.ModelSpec) -> SegmentMemory | None:
    """The memory for the `segment` statement of a specification, if it has one."""
    clique = next((clique for clique in spec.cliques if clique.segmental), None)
    if clique is None:
        return None
    label = spec.labels_by_name[clique.sites[0].variable]
    return SegmentMemory(
        name=SEGMENT_OF + label.name, value=ValueIf(value=Reference(name=label.name)), label=label.name,
        label_domain=label.domain, limit=schema.longest_segment(spec, clique), together=clique.longer == "together",
        least=schema.shortest_segment(spec, clique),
    )  # fmt: skip


# runs -----------------------------------------------------------------------------------------------------------------


RUNS_OF = "runs of "  # begins the names of memories; other names have no blanks


class RunBounds(NamedTuple):
    """Tokens of a run, at least and at most (None: any).   cut: whether it may be shorter at the ends of a sequence."""

    least: int = 1
    most: int | None = None
    cut: bool = True

    @classmethod
    def of(cls, spec: schema.ModelSpec, one: Runs, domain: Domain) -> RunBounds:
        """Those of a statement over a variable of this domain."""
        ends = one.ends or ("whole" if isinstance(domain, Scheme) else "cut")
        return cls(schema.whole_number(spec, one.least) or 1, schema.whole_number(spec, one.most), ends == "cut")

    @property
    def counted(self) -> int:
        """Up to which number tokens are counted."""
        return self.most or self.least

    @property
    def early(self) -> range:
        """The counts of a first run that may be shorter but not longer, and so is told from others."""
        return range(1, self.least if self.cut and self.most is not None else 1)


class RunMemory(Memory):
    """The memory of the `runs` statements over `label`.   bounds: of each state or type; others have none."""

    label: str
    label_domain: Domain
    bounds: tuple[tuple[str | None, RunBounds], ...]

    def bounds_of(self, kind: str) -> RunBounds:
        """The bounds of the runs of a state, or of the segments of a type."""
        found = dict(self.bounds)
        return found.get(kind, found.get(None, RunBounds())) if kind else RunBounds()


class RunStates(NamedTuple):
    """The states of a `RunMemory`, all arrays [R]. `RunBounds` says how far tokens are counted.

    tokens: of the run so far, negative in a first run that is too short and may end all the same; the last one stands
    for all above where there is no `most`.   following: the same after another token of the run.
    """

    names: tuple[str, ...]
    label: Ints  #   the state of the label
    kind: Ints  #    the class of the run
    tokens: Ints
    following: Ints
    inside: Mask  #  whether a run may go on with this state of the label
    starts: Mask  #  whether a sequence may begin so
    begins: Mask  #  whether a later run may begin so
    over: Mask  #    whether the run is long enough
    ends: Mask  #    whether a sequence may end so

    def tables(self, memory: RunMemory, states: Sequence[str]) -> tuple[HardTable, ...]:
        """Its moves, its first and last states, and the label that each state has.   states: of the label."""
        name, starts, ends = memory.name, self.starts, self.ends
        goes_on = (self.kind[:, None] == self.kind) & self.inside & (self.following[:, None] == self.tokens)
        next_one = self.over[:, None] & self.begins
        if isinstance(memory.label_domain, Scheme):
            legal = schema.legal_moves(memory.label_domain.name, states)
            moves = (goes_on | next_one) & legal[self.label[:, None], self.label]
            starts, ends = starts & legal[-1, self.label], ends & legal[self.label, -1]
        else:  # the next run has another state
            moves = goes_on | (next_one & (self.label[:, None] != self.label))
        has = self.label[:, None] == np.arange(len(states))
        return (
            HardTable(((name, -1), (name, 0)), (), moves[None], None, name),
            HardTable(((name, 0),), (), starts[None], 0, name),
            HardTable(((name, 0),), (), ends[None], LAST, name),
            HardTable(((name, 0), (memory.label, 0)), (), has[None], None, name),
        )


def run_states(memory: RunMemory, label_states: Sequence[str]) -> RunStates:
    """The states of the memory over a label with these states."""
    rows = []
    for n, one in enumerate(schema.segment_classes(memory.label_domain, label_states)):
        bounds = memory.bounds_of(one.name)
        last, is_open = bounds.counted, bounds.most is None
        start = -1 if bounds.early else last if bounds.cut and is_open else 1
        for state in dict.fromkeys(one[1:]):
            first, later = state in (one.single, one.first), state in (one.inside, one.last)
            for k in (*(-early for early in bounds.early), *range(1, last + 1)):
                stays, over = is_open and k == last, k < 0 or k >= bounds.least
                after = last if stays else k + 1 if k > 0 else k - 1 if 1 - k < bounds.least else bounds.least
                if (later and (abs(k) > 1 or stays)) or (first and (abs(k) == 1 or k == start)):
                    name = f"{label_states[state]} {abs(k)}{' at first' * (k < 0)}"
                    rows.append((name, state, n, k, after, later, first and k == start, first and k == 1, over,
                                 bounds.cut or over))  # fmt: skip
    names, *columns = zip(*rows, strict=True)
    return RunStates(names, *(np.array(column) for column in columns))


def run_memories(spec: schema.ModelSpec) -> Iterator[RunMemory]:
    """The memory of each label with `runs` statements."""
    domains = {one.name: one.domain for one in spec.labels}
    for name in dict.fromkeys(one.variable for one in spec.runs):
        own = (one for one in spec.runs if one.variable == name)
        bounds = tuple((one.state, RunBounds.of(spec, one, domains[name])) for one in own)
        yield RunMemory(name=RUNS_OF + name, value=ValueIf(value=Reference(name=name)), label=name,
                        label_domain=domains[name], bounds=bounds)  # fmt: skip


def is_implied(variable: str) -> bool:
    """Whether a variable of a graph is a memory that a `once`, a `segment` or a `runs` stands for."""
    return is_once_memory(variable) or variable.startswith((SEGMENT_OF, RUNS_OF))


def unrolled_spec(
    spec: schema.ModelSpec, states: Mapping[str, Sequence[str]]
) -> tuple[schema.ModelSpec, dict[str, tuple[str, ...]]]:
    """The specification that is unrolled: with the memories that `once`, `segment` and `runs` stand for.

    states: at least those of every declared variable. Returns the states of all variables too.
    """
    unrolled, known = with_once_memories(spec, states)
    segments, runs = segment_memory(spec), tuple(run_memories(spec))
    memories: tuple[Memory, ...] = (*unrolled.memories, *([] if segments is None else [segments]), *runs)
    if segments is not None:
        known[segments.name] = segment_states(segments, known[segments.label]).names
    known |= {memory.name: run_states(memory, known[memory.label]).names for memory in runs}
    return (unrolled if memories == unrolled.memories else unrolled.model_copy(update={"memories": memories})), known
