"""What a memory's expression says of the first token, beside the memory's first value.

It is worked out as a set of values: tests of the data may hold or not, tests of what lies before the sentence are
false, copies of it are `initially`, and other memories there have their own first value. Not here: all else that
memories must keep to (`variable_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_, or_

from ...foundation import DcrfError, Diagnostic
from ...syntax import And, Apply, Condition, Has, InSet, Is, Matches, Memory, Not, Or, Reference
from ..conditions import BOOLEAN, compile_regex, initial_state, is_word
from ..schema import FUNCTIONS, nodes, place_offset, plain, reference_names, term_places, terms, value_if_nodes
from .context import Context
from .term_reader import memory_can_be_tried

NO, YES = BOOLEAN
EITHER = frozenset({False, True})


def first_value(context: Context) -> Iterator[Diagnostic]:
    """A memory whose expression says something else of the first token than its first value."""
    for memory in context.spec.memories:
        states = context.states(memory.name) or (BOOLEAN if memory.domain is None else None)
        first = None if states is None else initial_state(memory, states)
        if states is None or first not in states or not memory_can_be_tried(context, memory):
            continue  # another rule says what is wrong
        values = values_at_the_first_token(context, memory, states, first)
        if values is None or values <= {first} or not values <= set(states):
            continue
        other = min(values - {first})
        remedy = f"begin with `initially {other}`, or let a clique read what the data say of that token"
        if memory.domain is None and memory.value.condition is None:
            kept = "or first" if first == YES else "and not first"
            remedy = f"write `(…) {kept}` if it is to begin so, else {remedy}"
        message = f"memory `{memory.name}` is `{first}` at the first token, whatever its expression says of it"
        at = memory.place_of("name" if memory.initially is None else "initially")
        words = f"the expression may say `{other}` there"
        yield context.warning("first-value", message, at, words, remedy)


def values_at_the_first_token(
    context: Context, memory: Memory, states: Sequence[str], first: str
) -> frozenset[str] | None:
    """What the expression of a memory may say of the first token; None if that cannot be told.

    Nor is it told of what reads memories alone: such a recurrence begins with `initially` by its nature.
    """
    told = _Told(context, first)
    read = {
        node.name for node in value_if_nodes(memory.value)
        if isinstance(node, Reference) and not is_word(context.spec, node)
    }  # fmt: skip
    if read <= context.spec.memories_by_name.keys():
        return None
    value = memory.value
    try:
        if value.condition is None:
            return told.values(value.value, memory, states)
        out: frozenset[str] = frozenset()
        for held in told.truth(value.condition):
            part = value.value if held else value.otherwise
            if part is not None:
                out |= told.values(part, memory, states)
        return out
    except (_Unknown, DcrfError):
        return None


class _Unknown(Exception):
    """Nothing can be said of a condition."""


class _Told:
    """What conditions may say of the first token. first: the first value of the memory that they are about."""

    def __init__(self, context: Context, first: str):
        self.context, self.spec, self.first = context, context.spec, first

    def values(self, node: Condition, memory: Memory, states: Sequence[str]) -> frozenset[str]:
        """The values that a part of the expression may give."""
        if isinstance(node, Reference) and is_word(self.spec, node):
            settled = plain(self.spec.settled(node))
            return frozenset({node.name if settled is None else str(settled)})
        if memory.domain is None or not isinstance(node, Reference | Apply) or self._is_test(node):
            return frozenset(YES if held else NO for held in self.truth(node))
        if self._lies_before(node):
            before = self._of_memory(node)
            return frozenset({self.first if before is None else before})
        return frozenset(states)  # a text of the data, or `initially` where it is no state

    def truth(self, condition: Condition) -> frozenset[bool]:
        """Which truth values a condition may have."""
        if isinstance(condition, Not):
            return frozenset(not held for held in self.truth(condition.inner))
        if isinstance(condition, And | Or):
            join = and_ if isinstance(condition, And) else or_
            return reduce(lambda one, two: frozenset(join(a, b) for a in one for b in two),
                          map(self.truth, condition.parts))  # fmt: skip
        read = [term for term in terms(condition) if not is_word(self.spec, term)]
        remembered = [state for term in read if (state := self._of_memory(term)) is not None]
        if remembered and len(read) == 1:
            return frozenset({_holds(condition, remembered[0])})
        if remembered:
            raise _Unknown
        if any(self._lies_before(term) for term in read):
            return frozenset({False})
        if any(name in self.spec.hidden_names for term in read for name in reference_names(nodes(term))):
            raise _Unknown  # a label that is not known yet
        if isinstance(condition, Reference) and condition.name == "first" and place_offset(condition.place) == 0:
            return frozenset({True})
        if isinstance(condition, Apply) and not self._is_test(condition):
            raise _Unknown  # a text, or a function of one's own
        return EITHER

    def _is_test(self, term: Reference | Apply) -> bool:
        """Whether a term is a test, which has no text to copy."""
        name = term.name if isinstance(term, Reference) else term.function
        signature = None if name in self.spec.hidden_names else FUNCTIONS.get(name)
        return signature is not None and signature.returns == "test"

    def _lies_before(self, term: Reference | Apply) -> bool:
        """Whether a part of a term lies before the sentence."""
        offsets = [place_offset(place) for place in term_places(term)]
        return any(offset is not None and offset < 0 for offset in offsets)

    def _of_memory(self, term: Reference | Apply) -> str | None:
        """The first value of the memory that a term names; None if it names none."""
        memory = self.spec.memories_by_name.get(term.name) if isinstance(term, Reference) else None
        if memory is None:
            return None
        states = self.context.states(memory.name) or (BOOLEAN if memory.domain is None else None)
        first = None if states is None else initial_state(memory, states)
        if first is None:
            raise _Unknown
        return first


def _holds(condition: Condition, state: str) -> bool:
    """Whether a test of one variable holds of a state."""
    match condition:
        case Reference():
            return state == YES
        case Is(state=wanted, negated=negated):
            return (state == wanted) != negated
        case InSet(states=listed, negated=negated):
            return (state in listed) != negated
        case Matches(regex=regex):
            return compile_regex(regex).fullmatch(state) is not None
        case Has(regex=regex):
            return compile_regex(regex).search(state) is not None
    raise _Unknown
