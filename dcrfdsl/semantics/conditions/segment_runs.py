"""A `segment` statement as a part of the graph: a memory that says how far the segment of each token has come.

Its states are (class, number of tokens so far, whether the segment ends here). So the features of a segment are those
of one state at its last token, the moves between states are hard constraints, and everything that knows graphs knows
segments: other labels beside them, all criteria, all methods of inference. Exact inference takes the automaton of these
states, which costs as much as a recursion over segments. Not here: the features (`graph.segment_factors`), the states
of known labels (`graph.segment_shapes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...foundation import LazyModule
from ..schema import (
    Domain,
    Memory,
    ModelSpec,
    Reference,
    Scheme,
    ValueIf,
    longest_segment,
    segment_classes,
)
from .condition_tables import HardTable
from .once_constraint import is_run_memory, with_run_memories

if TYPE_CHECKING:
    import numpy as np

    from ...foundation import Ints, Mask
else:
    np = LazyModule("numpy")

SEGMENT_OF = "segment of "  # begins the names of memories; other names have no blanks
LAST = -1  # the position of a table that holds at the last token


class SegmentMemory(Memory):
    """The memory of a `segment` statement over `label`.   limit: tokens of a segment.   together: longer ones pass."""

    label: str
    label_domain: Domain
    limit: int
    together: bool


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
    for n, one in enumerate(segment_classes(memory.label_domain, label_states)):
        if not one.name:
            rows.append((label_states[one.single], one.single, n, 1, True, True))
            continue
        for length in range(1, memory.limit + memory.together):
            state = one.first if length == 1 else one.inside
            rows.append((f"{one.name} {length}…", state, n, length, length == 1, False))
        for length in range(1, memory.limit + 1 + memory.together):
            state = one.single if length == 1 else one.last
            more = "+" if length > memory.limit else ""
            rows.append((f"{one.name} {length - bool(more)}{more}", state, n, length, length == 1, True))
    names, *columns = zip(*rows, strict=True)
    label, kind, lengths, begins, ends = (np.array(column) for column in columns)
    return SegmentStates(names, label.astype(np.int64), kind.astype(np.int64), lengths.astype(np.int64), begins, ends)


def segment_memory(spec: ModelSpec) -> SegmentMemory | None:
    """The memory for the `segment` statement of a specification, if it has one."""
    clique = next((clique for clique in spec.cliques if clique.segmental), None)
    if clique is None:
        return None
    label = spec.labels_by_name[clique.sites[0].variable]
    return SegmentMemory(
        name=SEGMENT_OF + label.name, value=ValueIf(value=Reference(name=label.name)), label=label.name,
        label_domain=label.domain, limit=longest_segment(spec, clique), together=clique.longer == "together",
    )  # fmt: skip


def is_implied(variable: str) -> bool:
    """Whether a variable of a graph is a memory that a `once` or a `segment` stands for."""
    return is_run_memory(variable) or variable.startswith(SEGMENT_OF)


def unrolled_spec(spec: ModelSpec, states: Mapping[str, Sequence[str]]) -> tuple[ModelSpec, dict[str, tuple[str, ...]]]:
    """The specification that is unrolled: with the memories that `once` and `segment` stand for, where these fit.

    states: at least those of every declared variable. Returns the states of all variables too.
    """
    memory = segment_memory(spec)
    unrolled, known = with_run_memories(spec, states)
    if memory is None:
        return unrolled, known
    known[memory.name] = segment_states(memory, known[memory.label]).names
    return unrolled.model_copy(update={"memories": (*unrolled.memories, memory)}), known
