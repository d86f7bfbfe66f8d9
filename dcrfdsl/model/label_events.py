"""Events: conditions over the labels of one sentence, at positions counted from 1, as sets of labellings.

    y[3] is B-LOC and y[4] is I-LOC      any condition of the language, with a position after each label
    segment(y, 3, 5, LOC)                positions 3 to 5 are one segment, as `evaluate segments` reads them
    y = gold, y[3] = predicted           a layer, or a position, has the labels of the data, or those that are predicted
    predicted                            so has the whole sentence

Not here: their probability (`event_probabilities`), how the text is parsed (`semantics.resolve.fragments`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ..data import ENDS, STARTS, mark_table
from ..foundation import DcrfError, Mask, Span, cached_property, dataclass, did_you_mean, quoted_names, spelling_remedy
from ..graph import views_seen
from ..semantics import (
    ConditionReader,
    Connectives,
    LabelDiagrams,
    ModelSpec,
    Observed,
    children,
    event_problem,
    fold,
    has_segments,
    is_word,
    nodes,
    place_offset,
    read_event,
)
from ..syntax import Apply, Condition, Equals, Here, InSet, Is, Node, Number, Reference, Regex, Text

# The sets of states of each label at each position, as bits, under the words of `_LABELLINGS`.
Known: TypeAlias = Mapping[str, Mapping[str, Sequence[int]]]

_LABELLINGS = ("gold", "predicted")
_SEGMENT = "segment"
_FORM = "write `segment(LABEL, FIRST, LAST, TYPE)`, for example `segment(y, 3, 5, LOC)`"
_POSITION = "name one position, counted from 1, as in `{name}[3]`"


@dataclass(frozen=True, eq=False)
class EventReader:
    """Reads the events of one model."""

    spec: ModelSpec
    states: Mapping[str, Sequence[str]]
    labels: Sequence[str]

    @cached_property
    def _tables(self) -> ConditionReader:
        return ConditionReader(self.spec, self.states, views_seen(self.spec, self.states))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: n for n, name in enumerate(self.states)}

    @cached_property
    def _of_sentence(self) -> frozenset[str]:
        return frozenset(label.name for label in self.spec.labels if label.per == "sentence")

    def _place(self, position: int, label: str) -> tuple[int, int]:
        """Where a label has its variable; that of a sentence is at the first position. position: from 0."""
        return 0 if label in self._of_sentence else position, self._number[label]

    def read(self, text: str) -> Condition:
        """The event of a text. DcrfError if it is none, or none of this model."""
        event = read_event(text)
        self._check(event)
        return event

    def last_position(self, text: str) -> int:
        """The last position that the event of a text names, from 1; 0 if it names none. DcrfError if it is no event."""
        named = [node for node in nodes(self.read(text)) if isinstance(node, Apply | Reference)]
        ends = [self._segment(one)[2] if isinstance(one, Apply) else place_offset(one.place) or 0 for one in named]
        return max(ends, default=0)

    def needed(self, event: Condition) -> frozenset[str]:
        """Which of the labellings `gold` and `predicted` an event names."""
        return frozenset(filter(None, (self._labelling(node) for node in nodes(event))))

    def diagram(self, event: Condition, length: int, known: Known, diagrams: LabelDiagrams) -> int:
        """The labellings of a sentence of this length in which the event holds. DcrfError if a position lies outside.

        known: the labellings that an event may name.
        """
        makers = Connectives(diagrams.negation, diagrams.conjunction, diagrams.disjunction)
        return fold(event, makers, lambda leaf: self._leaf(leaf, length, known, diagrams))

    # what it may say ------------------------------------------------------------------------------------------

    def _labelling(self, node: object) -> str | None:
        """`gold` or `predicted` if a node is this word; a label, column or constant of that name goes first."""
        if not isinstance(node, Reference) or node.name not in _LABELLINGS or not is_word(self.spec, node):
            return None
        return node.name if self.spec.settled(node) == node else None

    def _check(self, node: Condition) -> None:
        """DcrfError for the first part of an event that is not about labels of the model."""
        match node:
            case Apply(function="segment"):
                self._segment(node)
            case Reference() if self._labelling(node) is not None:
                return
            case Equals(left=left, right=right) if self._labelling(left) or self._labelling(right):
                term = right if self._labelling(left) else left
                if not isinstance(term, Reference) or term.name not in self.labels:
                    message = f"only a label can be as it is in `{self._labelling(left) or self._labelling(right)}`"
                    raise event_problem(term, "bad-event", message, help=self._listed())
                if term.place != Here():
                    self._offset(term)
            case Equals(left=left, right=right):
                words = [is_word(self.spec, side) for side in (left, right)]
                for term, is_state in zip((left, right), words, strict=True):
                    if not is_state:
                        self._variable(term)
                if all(words):
                    raise event_problem(node, "bad-event", "neither side is a label at a position", help=self._listed())
                if any(words):
                    word, term = (left, right) if words[0] else (right, left)
                    self._has_state(term, self._tables.word(word), word)  # type: ignore[arg-type]
            case Is(term=term, state=state):
                self._variable(term)
                self._has_state(term, state, node.part_spans.get("state", node))  # type: ignore[arg-type]
            case InSet(term=term, states=states):
                self._variable(term)
                for state, place in zip(states, node.part_spans["states"], strict=True):  # type: ignore[arg-type]
                    self._has_state(term, state, place)
            case Reference() | Apply():
                self._variable(node)
            case _:
                for inner in children(node):
                    if not isinstance(inner, Regex):
                        self._check(inner)  # type: ignore[arg-type]

    def _variable(self, term: Condition) -> None:
        """DcrfError unless the term is a variable of the model, or a view of one, at a position."""
        if isinstance(term, Apply):
            message = f"`{term.function}` cannot stand in an event, which is about labels"
            help = _FORM if did_you_mean(term.function, [_SEGMENT]) else self._listed()
            raise event_problem(term, "bad-event", message, help=help)
        assert isinstance(term, Reference)
        if term.name not in self._number and term.name not in self._tables.views:
            column = self.spec.column(term.name) is not None
            message = (
                f"`{term.name}` is {'a column of the data, which is known' if column else 'no label of the model'}"
            )
            remedy = spelling_remedy(
                did_you_mean(term.name, [*self._number, *self.spec.views_by_name, *_LABELLINGS]), self._listed()
            )
            raise event_problem(term, "bad-event", message, help=remedy)
        self._offset(term)

    def _offset(self, term: Reference) -> int:
        """The position that a term names, from 1."""
        position = place_offset(term.place)
        if position is None or position < 1:
            found = "positions count from 1" if term.place != Here() else f"`{term.name}` has no position"
            raise event_problem(term, "no-such-position", found, help=_POSITION.format(name=term.name))
        return position

    def _has_state(self, term: Condition, state: str, place: Node | Span) -> None:
        """DcrfError unless the term's variable has the state.   place: of the state."""
        assert isinstance(term, Reference)
        views = self._tables.views
        states = list(dict.fromkeys(views[term.name][1])) if term.name in views else self.states[term.name]
        if state not in states:
            listed = f"its states are {', '.join(quoted_names(tuple(states)))}"
            remedy = spelling_remedy(did_you_mean(state, [*states, *_LABELLINGS]), listed)
            if state in _LABELLINGS:
                remedy = f"write `{term.name}[3] = {state}`, with `=`"
            message = f"`{state}` is no state of `{term.name}`"
            raise event_problem(place, "no-such-state", message, "no such state", remedy)

    def _listed(self) -> str:
        named = ", ".join(quoted_names(tuple(self.labels)))
        return f"the labels are {named}, each with a position, as in `{self.labels[0]}[3]`"

    # as sets of labellings --------------------------------------------------------------------------------------

    def _leaf(self, leaf: Condition, length: int, known: Known, diagrams: LabelDiagrams) -> int:
        if isinstance(leaf, Apply) and leaf.function == _SEGMENT:
            label, first, last, kind = self._segment(leaf)
            _require_within(leaf, last, length)
            return segment_set(diagrams, self._number[label], self.states[label], (first - 1, last - 1, kind), length)
        sides = (leaf.left, leaf.right) if isinstance(leaf, Equals) else (leaf,)
        word = next(filter(None, map(self._labelling, sides)), None)
        if word is not None:
            labels, where = self.labels, range(length)
            if isinstance(leaf, Equals):
                term = next(side for side in sides if self._labelling(side) is None)
                assert isinstance(term, Reference)
                labels = [term.name]
                if term.place != Here():
                    position = self._offset(term)
                    _require_within(leaf, position, length)
                    where = range(position - 1, position)
            sets = known[word]
            node = diagrams.case({self._place(t, label): sets[label][t] for label in labels for t in where})
            return diagrams.negation(node) if isinstance(leaf, Equals) and leaf.negated else node
        try:
            table = self._tables.truth(leaf)
        except DcrfError as error:
            problem = error.diagnostics[0]
            raise event_problem(leaf, problem.slug, problem.message, help=problem.help) from None
        places = []
        for axis in table.axes:
            if isinstance(axis, Observed):
                raise event_problem(leaf, "bad-event", "an event reads labels alone", help=self._listed())
            _require_within(leaf, axis[1], length)
            places.append(self._place(axis[1] - 1, axis[0]))
        once = list(dict.fromkeys(places))  # of a label of the sentence, all positions are one place
        values = np.asarray(table.values, np.int64)
        values = np.einsum(values, [once.index(place) for place in places], list(range(len(once))))
        return diagrams.table(once, values > 0)

    def _segment(self, call: Apply) -> tuple[str, int, int, str]:
        """Label, first and last position from 1, and type."""
        plain = call.place == Here() and not any(argument.name for argument in call.arguments)
        match [argument.value for argument in call.arguments]:
            case [
                Reference(name=label, place=Here()),
                Number(value=int(first)),
                Number(value=int(last)),
                (Reference(name=kind, place=Here()) | Text(value=kind)),
            ] if plain:
                pass
            case _:
                raise event_problem(call, "bad-event", "these are not the arguments of `segment`", help=_FORM)
        if label not in self.labels or not has_segments(self.states[label]):
            with_segments = [name for name in self.labels if has_segments(self.states[name])]
            named = f"labels with segments are {', '.join(quoted_names(tuple(with_segments)))}"
            message = f"`{label}` is no label with segments"
            raise event_problem(call, "bad-event", message, help=named if with_segments else "the model has none")
        types = mark_table(self.states[label])[2]
        if kind not in types:
            remedy = spelling_remedy(
                did_you_mean(kind, types), f"the types are {', '.join(quoted_names(tuple(types)))}"
            )
            raise event_problem(call, "no-such-state", f"`{label}` has no segments of type `{kind}`", help=remedy)
        if not 1 <= first <= last:
            message = f"no segment reaches from position {first} to {last}"
            raise event_problem(call, "no-such-position", message, help="positions count from 1, the first one first")
        return label, first, last, kind


def _require_within(leaf: Condition, position: int, length: int) -> None:
    if position > length:
        message = f"there is no position {position:,}: the sentence has {length:,} token{'s' * (length != 1)}"
        raise event_problem(leaf, "no-such-position", message, help="positions count from 1")


def segment_set(
    diagrams: LabelDiagrams, variable: int, states: Sequence[str], segment: tuple[int, int, str], length: int
) -> int:
    """The labellings of a sentence of `length` tokens in which a variable has exactly this segment.

    segment: first and last position from 0, and type. Read as conlleval does, see `data.segment_types`.
    """
    (first, last, kind), (mark, types, names) = segment, mark_table(states)
    mark, types = mark[: len(states)], types[: len(states)]
    of_kind = (mark != 0) & (types == names.index(kind))
    changed = types[:, None] != types
    starts = STARTS[mark[:, None], mark] | (mark != 0) & changed  # [before, here]
    ends = ENDS[mark[:, None], mark] | (mark != 0)[:, None] & changed  # [here, after]
    inside = of_kind[:, None] & of_kind & ~starts & ~ends

    def pair(t: int, allowed: Mask) -> int:
        return diagrams.table([(t, variable), (t + 1, variable)], allowed)

    parts = [pair(first - 1, starts & of_kind) if first else diagrams.table([(0, variable)], of_kind)]
    parts += [pair(t, inside) for t in range(first, last)]
    parts.append(
        pair(last, ends & of_kind[:, None]) if last + 1 < length else diagrams.table([(last, variable)], of_kind)
    )
    return diagrams.conjunction(parts)
