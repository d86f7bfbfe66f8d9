"""Events: conditions over the labels of one sentence, at positions counted from 1, as sets of labellings.

    y[3] is B-LOC and y[4] is I-LOC      any condition of the language, with a position after each label
    segment(y, 3, 5, LOC)                positions 3 to 5 are one segment, as `evaluate segments` reads them
    y = gold, y[3] = predicted           a layer, or a position, has the labels of the data, or those that are predicted
    predicted                            so has the whole sentence

Not here: their probability (`event_probabilities`), how the text is parsed (`semantics.resolve.event_text`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..data import ENDS, STARTS, mark_table
from ..foundation import DcrfError, Mask, cached_property, did_you_mean, quoted_names
from ..graph import views_seen
from ..semantics import (
    Apply,
    Condition,
    ConditionReader,
    Connectives,
    Equals,
    EventText,
    Here,
    InSet,
    Is,
    LabelDiagrams,
    ModelSpec,
    Number,
    Observed,
    Reference,
    Regex,
    Text,
    children,
    has_segments,
    is_word,
    nodes,
    place_offset,
    read_event,
)

# The sets of states of each label at each position, as bits, under the words of `_LABELLINGS`.
Known: TypeAlias = Mapping[str, Mapping[str, Sequence[int]]]

_Path: TypeAlias = tuple[str | int, ...]  # of a part of an event

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

    def read(self, text: str) -> EventText:
        """The event of a text. DcrfError if it is none, or none of this model."""
        event = read_event(text)
        self._check(event, event.condition, ())
        return event

    def needed(self, event: EventText) -> frozenset[str]:
        """Which of the labellings `gold` and `predicted` an event names."""
        return frozenset(filter(None, (self._labelling(node) for _, node in nodes(event.condition))))

    def diagram(self, event: EventText, length: int, known: Known, diagrams: LabelDiagrams) -> int:
        """The labellings of a sentence of this length in which the event holds. DcrfError if a position lies outside.

        known: the labellings that an event may name.
        """
        makers = Connectives(diagrams.negation, diagrams.conjunction, diagrams.disjunction)
        return _folded(
            event.condition, (), makers, lambda leaf, at: self._leaf(event, leaf, at, length, known, diagrams)
        )

    # what it may say ------------------------------------------------------------------------------------------

    def _labelling(self, node: object) -> str | None:
        """`gold` or `predicted` if a node is this word; a label, column or constant of that name goes first."""
        if not isinstance(node, Reference) or node.name not in _LABELLINGS or not is_word(self.spec, node):
            return None
        return node.name if self.spec.settled(node) == node else None

    def _check(self, event: EventText, node: Condition, at: _Path) -> None:
        """DcrfError for the first part of an event that is not about labels of the model."""
        match node:
            case Apply(function="segment"):
                self._segment(event, node, at)
            case Reference() if self._labelling(node) is not None:
                return
            case Equals(left=left, right=right) if self._labelling(left) or self._labelling(right):
                term, side = (right, "right") if self._labelling(left) else (left, "left")
                if not isinstance(term, Reference) or term.name not in self.labels:
                    message = f"only a label can be as it is in `{self._labelling(left) or self._labelling(right)}`"
                    raise event.problem("bad-event", message, (*at, side), help=self._listed())
                if term.place != Here():
                    self._offset(event, term, (*at, side))
            case Equals(left=left, right=right):
                words = [is_word(self.spec, side) for side in (left, right)]
                for term, name, is_state in zip((left, right), ("left", "right"), words, strict=True):
                    if not is_state:
                        self._variable(event, term, (*at, name))
                if all(words):
                    raise event.problem("bad-event", "neither side is a label at a position", at, help=self._listed())
                if any(words):
                    word, term = (left, right) if words[0] else (right, left)
                    self._has_state(event, term, self._tables.word(word), (*at, "left" if words[0] else "right"))  # type: ignore[arg-type]
            case Is(term=term, state=state):
                self._variable(event, term, (*at, "term"))
                self._has_state(event, term, state, (*at, "state"))
            case InSet(term=term, states=states):
                self._variable(event, term, (*at, "term"))
                for n, state in enumerate(states):
                    self._has_state(event, term, state, (*at, "states", n))
            case Reference() | Apply():
                self._variable(event, node, at)
            case _:
                for path, inner in children(node, at):
                    if not isinstance(inner, Regex):
                        self._check(event, inner, path)  # type: ignore[arg-type]

    def _variable(self, event: EventText, term: Condition, at: _Path) -> None:
        """DcrfError unless the term is a variable of the model, or a view of one, at a position."""
        if isinstance(term, Apply):
            message = f"`{term.function}` cannot stand in an event, which is about labels"
            help = _FORM if did_you_mean(term.function, [_SEGMENT]) else self._listed()
            raise event.problem("bad-event", message, at, help=help)
        assert isinstance(term, Reference)
        if term.name not in self._number and term.name not in self._tables.views:
            column = self.spec.column(term.name) is not None
            guess = did_you_mean(term.name, [*self._number, *self.spec.views_by_name, *_LABELLINGS])
            message = (
                f"`{term.name}` is {'a column of the data, which is known' if column else 'no label of the model'}"
            )
            raise event.problem("bad-event", message, at, help=f"did you mean `{guess}`?" if guess else self._listed())
        self._offset(event, term, at)

    def _offset(self, event: EventText, term: Reference, at: _Path) -> int:
        """The position that a term names, from 1."""
        position = place_offset(term.place)
        if position is None or position < 1:
            found = "positions count from 1" if term.place != Here() else f"`{term.name}` has no position"
            raise event.problem("no-such-position", found, at, help=_POSITION.format(name=term.name))
        return position

    def _has_state(self, event: EventText, term: Condition, state: str, at: _Path) -> None:
        assert isinstance(term, Reference)
        views = self._tables.views
        states = list(dict.fromkeys(views[term.name][1])) if term.name in views else self.states[term.name]
        if state not in states:
            guess = did_you_mean(state, [*states, *_LABELLINGS])
            remedy = f"did you mean `{guess}`?" if guess else f"its states are {', '.join(quoted_names(tuple(states)))}"
            if state in _LABELLINGS:
                remedy = f"write `{term.name}[3] = {state}`, with `=`"
            message = f"`{state}` is no state of `{term.name}`"
            raise event.problem("no-such-state", message, at, "no such state", remedy)

    def _listed(self) -> str:
        named = ", ".join(quoted_names(tuple(self.labels)))
        return f"the labels are {named}, each with a position, as in `{self.labels[0]}[3]`"

    # as sets of labellings --------------------------------------------------------------------------------------

    def _leaf(
        self, event: EventText, leaf: Condition, at: _Path, length: int, known: Known,
        diagrams: LabelDiagrams,
    ) -> int:  # fmt: skip
        if isinstance(leaf, Apply) and leaf.function == _SEGMENT:
            label, first, last, kind = self._segment(event, leaf, at)
            self._within(event, last, length, at)
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
                    position = self._offset(event, term, at)
                    self._within(event, position, length, at)
                    where = range(position - 1, position)
            sets = known[word]
            node = diagrams.case({self._place(t, label): sets[label][t] for label in labels for t in where})
            return diagrams.negation(node) if isinstance(leaf, Equals) and leaf.negated else node
        try:
            table = self._tables.truth(leaf)
        except DcrfError as error:
            problem = error.diagnostics[0]
            raise event.problem(problem.slug, problem.message, at, help=problem.help) from None
        places = []
        for axis in table.axes:
            if isinstance(axis, Observed):
                raise event.problem("bad-event", "an event reads labels alone", at, help=self._listed())
            self._within(event, axis[1], length, at)
            places.append(self._place(axis[1] - 1, axis[0]))
        once = list(dict.fromkeys(places))  # of a label of the sentence, all positions are one place
        values = np.asarray(table.values, np.int64)
        values = np.einsum(values, [once.index(place) for place in places], list(range(len(once))))
        return diagrams.table(once, values > 0)

    def _within(self, event: EventText, position: int, length: int, at: _Path) -> None:
        if position > length:
            message = f"there is no position {position:,}: the sentence has {length:,} token{'s' * (length != 1)}"
            raise event.problem("no-such-position", message, at, help="positions count from 1")

    def _segment(self, event: EventText, call: Apply, at: _Path) -> tuple[str, int, int, str]:
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
                raise event.problem("bad-event", "these are not the arguments of `segment`", at, help=_FORM)
        if label not in self.labels or not has_segments(self.states[label]):
            with_segments = [name for name in self.labels if has_segments(self.states[name])]
            named = f"labels with segments are {', '.join(quoted_names(tuple(with_segments)))}"
            message = f"`{label}` is no label with segments"
            raise event.problem("bad-event", message, at, help=named if with_segments else "the model has none")
        types = mark_table(self.states[label])[2]
        if kind not in types:
            guess = did_you_mean(kind, types)
            remedy = f"did you mean `{guess}`?" if guess else f"the types are {', '.join(quoted_names(tuple(types)))}"
            raise event.problem("no-such-state", f"`{label}` has no segments of type `{kind}`", at, help=remedy)
        if not 1 <= first <= last:
            message = f"no segment reaches from position {first} to {last}"
            raise event.problem("no-such-position", message, at, help="positions count from 1, the first one first")
        return label, first, last, kind


def _folded(
    condition: Condition, at: _Path, makers: Connectives[int],
    leaf: Callable[[Condition, _Path], int],
) -> int:  # fmt: skip
    """As `fold`, with the path of each leaf."""
    made = {"not": lambda parts: makers.negation(parts[0]), "and": makers.conjunction, "or": makers.disjunction}
    if condition.kind not in made:
        return leaf(condition, at)
    return made[condition.kind]([_folded(inner, path, makers, leaf) for path, inner in children(condition, at)])  # type: ignore[arg-type]


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
