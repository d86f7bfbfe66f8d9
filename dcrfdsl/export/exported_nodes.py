"""Terms and conditions of a specification as the nodes that exported taggers read (`standalone.tagger_texts`).

They mean the same as on a corpus (`features.values`): a condition of one place is a test of its values, one of several
places has three truth values. Not here: regular expressions (`python_patterns`), evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from ..features import (
    Factor,
    arguments_of,
    condition_text,
    fixed_condition,
    kind_of,
    leaves,
    moved,
    segment_place,
    term_text,
)
from ..foundation import data_error, dataclass
from ..semantics import FUNCTIONS, Bins, Connectives, ModelSpec, Observed, bin_names, bind, fold, read_bins, tests_gap
from ..syntax import NUMERIC, nodes as ex
from .python_patterns import backtracks, python_pattern
from .standalone import is_weighted

Node = list[Any]
CONNECTIVES: Connectives[Node] = Connectives(
    lambda inner: ["not", inner], lambda parts: ["and", *parts], lambda parts: ["or", *parts]
)
OF_SEGMENT = ("first", "last", "joined", "any")  # what is read of the tokens of a segment
# Functions that give one text for each of theirs.
ONE_TEXT = ("lower", "shape", "length", "lookup", "extract", "exact_length", "bin", "scaled")


@dataclass
class NodeWriter:
    """Writes nodes, and collects what they name. leaves: what is read, without its place.

    slow: patterns that may take Python long.   learned: edges of bins, means and spreads, by term.
    """

    spec: ModelSpec
    learned: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    leaves: list[Node] = field(default_factory=list)
    lexicons: dict[str, None] = field(default_factory=dict)
    slow: dict[str, None] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    # features -----------------------------------------------------------------------------------------------------

    def atom(self, factor: Factor, vocabulary: Callable[[], int]) -> Node:
        """The atom of a factor, without its place. `vocabulary()` is the number of its vocabulary, if it has one."""
        condition = factor.condition
        read = self._read(condition)
        if len(read) > 1:
            return ["joint", self.joint(condition)]
        leaf = next(leaves(self.spec, condition))[0]
        kind = kind_of(self.spec, condition, {})
        if kind == "number":
            assert isinstance(condition, ex.Reference | ex.Apply)
            read_as = self.term(condition) if factor.component is None else ["component", factor.component]
            return ["number", self.leaf(leaf), read_as]
        if kind == "test":
            return ["test", self.leaf(leaf), self.test(condition)]
        assert isinstance(condition, ex.Reference | ex.Apply)
        term = self.term(condition)
        if is_weighted(term):
            return ["bag", self.leaf(leaf), term, vocabulary()]
        return ["texts", self.leaf(leaf), term, vocabulary(), _has_one_text(term)]

    def observed(self, one: Observed) -> Node:
        """What a hard constraint or a memory reads: a test, or a text that is compared with states."""
        if not one.states:
            return fold(one.term, CONNECTIVES, lambda part: ["is_true", self.joint(fixed_condition(self.spec, part))])
        term = fixed_condition(self.spec, one.term)
        assert isinstance(term, ex.Reference | ex.Apply)  # only the text of a term is compared with states
        base, leaf, offset = self._side(term)
        return ["state", list(one.states), self.leaf(leaf), self.term(base), offset]

    def _read(self, condition: ex.Condition) -> set[tuple[str, int]]:
        return {(condition_text(leaf), offset) for leaf, offset in leaves(self.spec, condition)}

    # tests --------------------------------------------------------------------------------------------------------

    def joint(self, condition: ex.Condition) -> Node:
        """A test of three values."""
        return fold(condition, CONNECTIVES, self._joint_leaf, lambda part: len(self._read(part)) == 1)

    def _joint_leaf(self, condition: ex.Condition) -> Node:
        if len(self._read(condition)) == 1:
            ((leaf, offset), *_) = leaves(self.spec, condition)
            return ["at", offset, self.leaf(leaf), self.test(moved(condition, -offset))]
        assert isinstance(condition, ex.Compares | ex.Equals)  # no other test reads two places
        sign = condition.sign if isinstance(condition, ex.Compares) else "!=" if condition.negated else "="
        if isinstance(condition, ex.Compares) or kind_of(self.spec, self._side(condition.left)[0], {}) == "number":
            sides = [self._quantity(side, self._number_at) for side in (condition.left, condition.right)]
            return ["compare_at", sign, *sides]
        places = [self._side(term) for term in (condition.left, condition.right)]
        return ["same", condition.negated, *([self.leaf(leaf), self.term(base), at] for base, leaf, at in places)]

    def _side(self, term: ex.Reference | ex.Apply) -> tuple[ex.Reference | ex.Apply, ex.Reference | ex.Apply, int]:
        """A term without its place, its leaf, and the place."""
        ((leaf, offset),) = leaves(self.spec, term)
        base = moved(term, -offset)
        assert isinstance(base, ex.Reference | ex.Apply)  # a moved term is still a term
        return base, leaf, offset

    def test(self, condition: ex.Condition) -> Node:
        """A test of the value at one place, which has offset 0 in it."""
        return fold(condition, CONNECTIVES, self._test_leaf)

    def _test_leaf(self, condition: ex.Condition) -> Node:
        match condition:
            case ex.Reference():
                return ["itself"]
            case ex.Matches(term=term, regex=regex) | ex.Has(term=term, regex=regex):
                return [condition.kind, self.term(term), self._pattern(regex)]
            case ex.Is(negated=negated) if tests_gap(self.spec, condition):
                number = ["read", self._number(condition.term)]
                return _negated(["compare", "=", number, number], not negated)  # what is missing does not equal itself
            case ex.Is(term=term, state=state, negated=negated):
                return _negated(["in", self.term(term), [state]], negated)
            case ex.InSet(term=term, states=states, negated=negated):
                return _negated(["in", self.term(term), list(states)], negated)
            case ex.InLexicon(term=term, lexicon=name, negated=negated):
                self.lexicons[name] = None
                return _negated(["in_lexicon", self.term(term), name], negated)
            case ex.Equals(left=left, right=right, negated=negated):
                return _negated(["equal", self.term(left), self.term(right)], negated)
            case ex.Compares(left=left, sign=sign, right=right):
                sides = [self._quantity(side, lambda term: [self._number(term)]) for side in (left, right)]
                return ["compare", sign, *sides]
        raise data_error("cannot-export", f"the test `{condition_text(condition)}` has no exported form")

    # numbers ------------------------------------------------------------------------------------------------------

    def _quantity(self, quantity: ex.Quantity, read: Callable[[ex.Reference | ex.Apply], Node]) -> Node:
        """A side of a comparison; `read` writes its terms."""
        match quantity:
            case ex.Number(value=value):
                return ["given", value]
            case ex.Difference(left=left, right=right):
                return ["less", self._quantity(left, read), self._quantity(right, read)]
        return ["read", *read(quantity)]

    def _number_at(self, term: ex.Reference | ex.Apply) -> Node:
        base, leaf, offset = self._side(term)
        return [self.leaf(leaf), self._number(base), offset]

    def _number(self, term: ex.Reference | ex.Apply) -> Node:
        """A term that is read as a number: a length counts all characters."""
        node = self.term(term)
        return ["exact_length", *node[1:]] if node[0] == "length" else node

    # terms --------------------------------------------------------------------------------------------------------

    def leaf(self, leaf: ex.Reference | ex.Apply) -> int:
        """The number of what is read at a place: a column, the position, or spans of a lexicon."""
        name = condition_text(leaf)
        if name not in self._numbers:
            node = self._leaf_node(leaf)  # which may number the leaf that it reads itself
            self._numbers[name] = len(self.leaves)
            self.leaves.append(node)
        return self._numbers[name]

    def _leaf_node(self, leaf: ex.Reference | ex.Apply) -> Node:
        if isinstance(leaf, ex.Reference):
            column = self.spec.column(leaf.name)
            kind = "numbers" if column is not None and column.type.name in NUMERIC else "column"
            return [leaf.name] if column is None else [kind, leaf.name]
        if leaf.function in OF_SEGMENT:
            return ["segment", leaf.function, *segment_place(leaf)]
        read = leaf.arguments[0].value
        if isinstance(read, ex.Reference | ex.Apply) and isinstance(read.place, ex.Window):
            base, inner, _ = self._side(read.model_copy(update={"place": ex.At(offset=0)}))
            return ["window", leaf.function, read.place.first, read.place.last, self.leaf(inner), self._number(base)]
        bound, _ = bind(FUNCTIONS["span"], leaf.arguments, self.spec.settled)
        term, lexicon = bound["term"], bound["lexicon"]
        assert isinstance(term, ex.Reference | ex.Apply) and isinstance(lexicon, ex.Reference)
        self.lexicons[lexicon.name] = None
        inner = next(leaves(self.spec, term))[0]
        return ["span", lexicon.name, self.leaf(inner), self.term(term)]

    def term(self, term: ex.Reference | ex.Apply) -> Node:
        """A function of the value of its leaf."""
        if isinstance(term, ex.Reference):
            column = self.spec.column(term.name)
            bags = ("bag", "weighted_bag")
            return [column.type.name] if column is not None and column.type.name in bags else ["column"]
        subject = term.arguments[0].value
        assert isinstance(subject, ex.Reference | ex.Apply)
        if term.function in ("span", *OF_SEGMENT) or isinstance(subject.place, ex.Window):
            return ["each" if term.function == "any" else "column"]
        if term.function == "bin":
            bins = read_bins(term, self.spec.settled)
            assert isinstance(bins, Bins)
            edges = bins.edges if bins.count is None else self.learned[term_text(term)]
            return ["bin", list(edges), list(bin_names(edges)), self._number(subject)]
        if (scale := self.learned.get(term_text(term))) is not None:
            return ["scaled", *scale, self._number(subject)]
        inner = self.term(subject)
        if any(lexicon.name == term.function for lexicon in self.spec.lexicons):
            self.lexicons[term.function] = None
            return ["lookup", term.function, inner]
        if term.function not in FUNCTIONS:
            message = f"`{term.function}` is a function of yours, which an exported tagger does not have"
            raise data_error("cannot-export", message, help="train without it, or tag with `dcrfdsl tag`")
        bound, _ = bind(FUNCTIONS[term.function], term.arguments, self.spec.settled)
        given = [self._pattern(one) if isinstance(one, ex.Regex) else one for one in arguments_of(bound)]
        return [term.function, *given, inner]

    def _pattern(self, regex: ex.Regex) -> str:
        pattern = python_pattern(regex)
        if backtracks(regex):
            self.slow[regex.pattern] = None
        return pattern


def _negated(node: Node, negated: bool) -> Node:
    return ["not", node] if negated else node


def _has_one_text(term: Node) -> bool:
    """Whether a term has one text at most."""
    if len(term) == 1:
        return bool(term[0] == "column")
    single = term[0] in ONE_TEXT or (term[0] in ("prefix", "suffix", "part") and len(term[1]) == 1)
    return single and _has_one_text(term[-1])
