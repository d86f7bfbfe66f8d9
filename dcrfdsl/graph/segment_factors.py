"""The weights of segments as factors of the graph, and cliques that go over the memories of segments and runs.

A memory says of each token which class its segment has, how many tokens that has so far, and whether it ends here. The
weights of segments of n tokens then belong to a factor on the memory at their last token: one template for each n, all
with the weights of the `segment` statement, each with the feature rows of the candidates of n tokens by their ends.
Cliques that join the label with a neighbouring position are over the memory instead, seen through the label, so that
elimination carries one variable on in the place of two. Wider ones stay over the label: what they carry on from earlier
positions is then its few states, not those of the memory. The same holds beside the memories that count the tokens of
runs; there, cliques with features stay too, since these fill a table at each position. Not here: the states of memories
(`semantics.conditions.implied_memories`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..features import FeatureRows, ViewMap
from ..foundation import Ints, Offsets
from ..semantics import RunMemory, SegmentMemory, SegmentStates, run_states, segment_states
from .shapes import offsets
from .templates import CliqueTemplate


def with_memory_factors(
    templates: Sequence[CliqueTemplate],
    memory: SegmentMemory | RunMemory,
    variables: Sequence[str],
    label_states: Sequence[str],
) -> tuple[CliqueTemplate, ...]:
    """The templates of a model with a memory of segments or runs: changed ones in place, those of lengths last.

    variables: of a position. The feature sets of segments follow all others, by length: `rows_of_lengths`.
    """
    number, label = variables.index(memory.name), variables.index(memory.label)
    states = run_states(memory, label_states) if isinstance(memory, RunMemory) else segment_states(memory, label_states)
    moved = [
        _over_memory(template, label, number, states.label, memory.label, label_states)
        if isinstance(states, SegmentStates) or (template.plain is None and template.feature_set < 0) else template
        for template in templates
    ]  # fmt: skip
    lengths = _by_lengths(templates, number, states) if isinstance(states, SegmentStates) else []
    return (*_joined_moves(moved, number), *lengths)


def _over_memory(
    template: CliqueTemplate, label: int, memory: int, label_of: Ints, name: str, label_states: Sequence[str]
) -> CliqueTemplate:
    """A clique over the label and a neighbouring position, over the memory in its place."""
    if label not in template.variables or template.relational or template.span != 1:
        return template
    seen_as = list(template.seen_as)
    allowed = template.allowed  # over the states of variables; `coded`, as weights, is over what views show of them
    for axis, variable in enumerate(template.variables):
        if variable != label:
            continue
        view = seen_as[axis]
        if view is None:
            seen_as[axis] = ViewMap(name, tuple(label_states), label_of, name)
        else:
            seen_as[axis] = view._replace(of=view.of[label_of])
        allowed = None if allowed is None else allowed.take(label_of, axis)
    places = [(memory, len(label_of)) if v == label else (v, card)
              for v, card in zip(template.variables, template.cards, strict=True)]  # fmt: skip
    return replace(
        template, variables=tuple(v for v, _ in places), cards=tuple(card for _, card in places),
        views=tuple(seen_as), allowed=allowed, plain=template,
        label_states=label_of,
    )  # fmt: skip


def _joined_moves(templates: list[CliqueTemplate], memory: int) -> list[CliqueTemplate]:
    """The moves of the memory, folded into a clique over the same two sites if there is one."""
    over = (n for n, t in enumerate(templates) if t.clique < 0 and t.variables == (memory, memory) and not t.views)
    at = next(over, None)
    if at is None:  # every move is possible, as where no segment was seen
        return templates
    moves = templates[at]
    assert moves.allowed is not None
    for n, template in enumerate(templates):
        offsets = template.offsets
        if n == at or template.variables != (memory, memory) or template.relational or template.num_codes:
            continue
        if template.position is not None or sorted(offsets) != [-1, 0]:
            continue
        own = moves.allowed if offsets == (-1, 0) else moves.allowed.T
        both = own if template.allowed is None else own & template.allowed
        templates[n] = replace(template, allowed=both)
        return [*templates[:at], *templates[at + 1 :]]
    return templates


def _by_lengths(templates: Sequence[CliqueTemplate], memory: int, states: SegmentStates) -> list[CliqueTemplate]:
    """The templates of segments by their lengths; a single one where no feature tells lengths apart."""
    template = next(template for template in templates if template.segments is not None)
    shape, next_set = template.segments, 1 + max(template.feature_set for template in templates)
    assert shape is not None
    longest = shape.limit + shape.together
    found = []
    for length in range(1, longest + 1) if template.feature_set >= 0 else [0]:
        ends = states.ends & ((states.length == length) | (length == 0)) & (states.kind < shape.named)
        seen = ViewMap("", (*(one.name for one in shape.classes[: shape.named]), "none"),
                       np.where(ends, states.kind, shape.named), template.name)  # fmt: skip
        own_set = next_set + length - 1 if length else -1
        found.append(
            replace(
                template, variables=(memory,), offsets=(0,), cards=(len(states.label),), views=(seen,), segments=None,
                segment_length=length or longest, named_by=template.feature_set, feature_set=own_set,
            )
        )  # fmt: skip
    return found


def of_lengths(templates: Sequence[CliqueTemplate]) -> list[CliqueTemplate]:
    """The templates of segments by their lengths; none without a `segment` statement."""
    return [template for template in templates if template.segment_length]


def weighing_templates(templates: Sequence[CliqueTemplate], cliques: int) -> Iterator[tuple[int, CliqueTemplate]]:
    """The templates that have the weights of the first `cliques` cliques, with the numbers of these.

    Only segments have several: one for each length.
    """
    lengths = of_lengths(templates)
    for number, template in enumerate(templates[:cliques]):
        weighing = [template] if template.segments is None else lengths
        yield from ((number, one) for one in weighing)


def rows_of_lengths(
    templates: Sequence[CliqueTemplate], rows: Sequence[FeatureRows], sentence_off: Offsets
) -> tuple[FeatureRows, ...]:
    """The rows of segments by their lengths, at their last tokens; empty where one would leave the sentence.

    None without a `segment` statement, or where it has no features.   rows: of the cliques, see
    `features.segment_rows`.
    """
    weighing = next((template for template in templates if template.segments is not None), None)
    if weighing is None or weighing.segments is None or weighing.feature_set < 0:
        return ()
    candidates, limit = rows[weighing.feature_set], weighing.segments.limit
    off = np.asarray(sentence_off, np.int64)
    token = np.arange(off[-1])
    place = token - np.repeat(off[:-1], np.diff(off))  # of each token in its sentence
    found = []
    for length in range(1, limit + 1):
        row = np.where(place >= length - 1, (token - length + 1) * limit + length - 1, -1)
        found.append(_taken(candidates, row))
    if weighing.segments.together:  # the row of all longer ones comes last
        found.append(_taken(candidates, np.where(place >= limit, len(candidates.row_off) - 2, -1)))
    return tuple(found)


def _taken(rows: FeatureRows, row: Ints) -> FeatureRows:
    """These rows, one for each token; none where `row` is -1."""
    first, last = rows.row_off[row], np.where(row >= 0, rows.row_off[row + 1], 0)
    counts = np.where(row >= 0, last - first, 0)
    row_off = offsets(counts)
    entry = np.arange(row_off[-1]) + np.repeat(first - row_off[:-1], counts)
    return FeatureRows(row_off, rows.feature[entry], rows.value[entry] if len(rows.value) else rows.value)
