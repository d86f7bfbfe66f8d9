"""The type of a term or condition (a text, a number, a test …), and all problems inside it.

One reader for all terms: in feature lists only observations may be read; `forbid`, `memory` and `view` may also read
labels, and a `view` functions of them; the list of a `segment` reads whole segments. Not here: which places of a
template to read (`name_rules`), regexes (`pattern_rules`), places in brackets (`clique_rules`), what a function of the
user's returns, which is known on data alone (`features.values.user_functions`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ...foundation import Diagnostic
from ...syntax import (
    And,
    Apply,
    Argument,
    Column,
    Compares,
    Condition,
    Constraint,
    Cross,
    Difference,
    Equals,
    Feature,
    Has,
    Here,
    InLexicon,
    InSet,
    Is,
    Lexicon,
    Matches,
    Memory,
    Named,
    Node,
    Not,
    Number,
    Or,
    Quantity,
    Range,
    Reference,
    Regex,
    Several,
    Text,
    Value,
    ValueIf,
    Window,
)
from ..conditions import TRUE_STATE
from ..schema import (
    FUNCTIONS,
    LENGTH,
    SEGMENT_FUNCTIONS,
    BinProblem,
    Path,
    bind,
    missing_mark,
    nodes,
    place_offset,
    place_text,
    plain,
    read_bins,
    reference_names,
    tests_gap,
    value_if_nodes,
)
from .context import (
    COLUMN,
    LABEL_KINDS,
    OBSERVED_KINDS,
    Context,
    Declared,
    a,
    constraint_nodes,
    listed,
)
from .pattern_rules import compile_error, is_map

# `texts`: several values per position. `anything`: unknown, or wrong and reported.
TermType: TypeAlias = Literal["text", "texts", "weighted bag", "number", "vector", "test", "label", "group", "anything"]

_OF_COLUMN: dict[str, TermType] = {
    "str": "text", "bag": "texts", "weighted_bag": "weighted bag",
    "float": "number", "int": "number", "vector": "vector",
}  # fmt: skip
_BARE = tuple(name for name, signature in FUNCTIONS.items() if not signature.parameters)
MAX_PRODUCTS = 4096  # features of a cross of vectors; more can neither be learned nor held in memory


@dataclass(frozen=True)
class UnknownName:
    """An undeclared name: `kinds` are those that would fit, `more` other words that would."""

    name: str
    path: Path
    kinds: tuple[str, ...]
    more: tuple[str, ...] = ()


@dataclass
class TermReader:
    """Reads terms and conditions. Problems are collected.

    `labels`: whether they may read labels. `mapped`: whether functions may take labels, as in a view.

    Unknown names are collected separately, so that a name misspelt five times is one problem.
    """

    context: Context
    labels: bool = False
    mapped: bool = False
    problems: list[Diagnostic] = field(default_factory=list)
    unknown: list[UnknownName] = field(default_factory=list)

    # features and conditions ------------------------------------------------------------------------------------

    def feature(self, feature: Feature, path: Path) -> None:
        """An entry of a feature list."""
        if isinstance(feature, Cross):
            for n, factor in enumerate(feature.factors):
                self.factor(factor, (*path, "factors", n))
            self.products(feature, path)
        else:
            self.factor(feature, path)

    def products(self, cross: Cross, path: Path) -> None:
        """A cross of vectors has a feature for each combination of their components."""
        columns = [self.context.spec.column(factor.name) for factor in cross.factors if isinstance(factor, Reference)]
        sizes = [column.type.size for column in columns if column is not None and column.type.size is not None]
        if len(sizes) > 1 and math.prod(sizes) > MAX_PRODUCTS:
            message = f"this cross multiplies {' by '.join(map(str, sizes))} numbers: {math.prod(sizes):,} features"
            remedy = f"vectors are crossed up to {MAX_PRODUCTS:,} features; list them beside each other"
            self.complain("too-many-products", message, path, "at each position", remedy)

    def factor(self, condition: Condition, path: Path) -> None:
        """A member of a cross: only here a feature group, or `bias`, is allowed."""
        if isinstance(condition, Reference):
            self.reference(condition, path, in_list=True)
        else:
            self.condition(condition, path)

    def condition(self, condition: Condition, path: Path) -> TermType:
        match condition:
            case Reference() | Apply():
                return self.term(condition, path)
            case Matches(term=term) | Has(term=term):
                self.text(term, (*path, "term"), f"`{condition.kind}`")
            case Is(term=term) if tests_gap(self.context.spec, condition):
                read_gap_test(self, condition, path)
            case Is(term=term, state=state):
                if self.text(term, (*path, "term"), "`is`") == "label":
                    self.state(term, state, (*path, "state"))
            case InSet(term=term, states=states):
                if self.text(term, (*path, "term"), "`in`") == "label":
                    for n, state in enumerate(states):
                        self.state(term, state, (*path, "states", n))
            case InLexicon(term=term, lexicon=lexicon):
                if self.text(term, (*path, "term"), "`in`") == "label":
                    self.problems.append(label_as_argument(self.context, term, (*path, "term")))
                self.lexicon(lexicon, (*path, "lexicon"))
            case Equals():
                self.equals(condition, path)
            case Compares():
                read_comparison(self, condition, path)
            case Not(inner=inner):
                self.test(inner, (*path, "inner"), "not")
            case And(parts=parts) | Or(parts=parts):
                for n, part in enumerate(parts):
                    self.test(part, (*path, "parts", n), condition.kind)
        return "test"

    def test(self, condition: Condition, path: Path, word: str) -> None:
        """A condition that must be true or false: a part of `and`, `or`, `not`, or all of a `forbid`."""
        term_type = self.condition(condition, path)
        if isinstance(condition, Reference) and term_type == "label":
            states = self.context.states(condition.name)
            if states is not None and TRUE_STATE not in states:
                message = f"`{condition.name}` is no test: it has no state `{TRUE_STATE}`"
                self.complain("not-a-test", message, path, "needs a test", "compare it, as in `is STATE`")
        elif term_type in ("text", "texts", "weighted bag", "number", "vector"):
            what = {"texts": "text"}.get(term_type, term_type)
            message = f"`{word}` takes tests, and this is a {what}"
            remedy = "test the value (`is`, `matches`, `has`, `in`, `=`); features are crossed with `&`"
            self.complain("not-a-test", message, path, "needs a test", remedy)

    def value_if(self, value: ValueIf, path: Path, states: Sequence[str] | None, *, test_of: str | None = None) -> None:
        """The value of a memory or view, whose states are `states` if they are declared.

        `test_of`: the memory without declared states, whose value must be a test.
        """
        for part, node in (("value", value.value), ("otherwise", value.otherwise)):
            if isinstance(node, Reference) and self._is_word(node):
                settled = plain(self.context.spec.settled(node))
                word = node.name if settled is None else str(settled)
                if states is not None and word not in states:
                    self.problems.append(unknown_state(self.context, word, (*path, part), states))
                elif states is None and value.condition is None:
                    self.missing(word, (*path, part))
            elif node is not None and test_of is not None:
                self.boolean(node, (*path, part), test_of)
            elif node is not None:
                self.condition(node, (*path, part))
        if value.condition is not None:
            self.test(value.condition, (*path, "condition"), "if")

    def boolean(self, node: Condition, path: Path, memory: str) -> None:
        """A memory without declared states must copy a test."""
        name = node.name if isinstance(node, Reference) else ""
        states = self.context.states(name)
        if states is None or TRUE_STATE in states:
            self.test(node, path, "memory")
        elif self.condition(node, path) == "label":
            message = f"memory `{memory}` copies `{name}`, which is no test: it has no state `{TRUE_STATE}`"
            remedy = f"give the memory states, `memory {memory} in states({name}) = …`, or compare it, as in `is STATE`"
            self.complain("not-a-test", message, path, "needs a test", remedy)

    def equals(self, condition: Equals, path: Path) -> None:
        sides = ((condition.left, (*path, "left")), (condition.right, (*path, "right")))
        words = [term for term, _ in sides if self._is_word(term)]
        if len(words) == 2:
            self.missing(condition.left.name, (*path, "left", "name"))  # type: ignore[union-attr]
            return
        types: list[TermType] = [self.term(term, where) for term, where in sides if not self._is_word(term)]
        numbers = types.count("number")
        if "vector" in types:
            self.complain("not-a-text", "`=` compares two texts or two numbers, and here is a vector", path, "a vector")
        elif numbers and (numbers < len(types) or not all(self._is_number(word) for word in words)):
            message = "`=` compares two texts or two numbers, and here is one of each"
            self.complain("not-a-text", message, path, "a text and a number")
        elif "texts" in types or "weighted bag" in types:
            message = "`=` compares single values, and one side may have several"
            self.complain("several-values", message, path, "several values")
        for n, (term, where) in enumerate(sides):
            other = sides[1 - n][0]
            if self._is_word(term) and types == ["label"] and isinstance(term, Reference):
                settled = plain(self.context.spec.settled(term))
                self.state(other, str(settled) if settled is not None else term.name, where)

    def _is_number(self, word: Reference | Apply) -> bool:
        """Whether a bare word is a constant number."""
        return isinstance(word, Reference) and isinstance(self.context.spec.settled(word), Number)

    def _is_word(self, term: Reference | Apply) -> bool:
        """Whether one side of `=` is a state or a constant: a bare word that names nothing with values."""
        if not isinstance(term, Reference) or term.place != Here() or term.name in _BARE:
            return False
        kinds = {entry.kind for entry in self.context.declared.get(term.name, ())}
        return kinds <= {"constant", "clique", "piece", "constraint"}

    # terms --------------------------------------------------------------------------------------------------------

    def text(self, term: Reference | Apply, path: Path, taker: str) -> TermType:
        """A term whose value must be a text."""
        term_type = self.term(term, path)
        if term_type in ("number", "vector", "test"):
            message = f"{taker} takes a text, and this is a {term_type}"
            self.complain("not-a-text", message, path, f"a {term_type}")
            return "anything"
        return term_type

    def term(self, term: Reference | Apply, path: Path) -> TermType:
        return self.reference(term, path) if isinstance(term, Reference) else self.apply(term, path)

    def reference(self, reference: Reference, path: Path, *, in_list: bool = False) -> TermType:
        name, at = reference.name, (*path, "name")
        entry = self.context.named(name)
        if entry is not None and entry.kind in LABEL_KINDS:
            return "label" if self.labels else self._label_as_feature(entry, name, at)
        column = self.context.named(name, COLUMN)
        if column is not None:
            assert isinstance(column.entry, Column)
            return _OF_COLUMN[column.entry.type.name]
        if entry is not None:
            return self._other_kind(entry, name, at, in_list)
        if name in FUNCTIONS:
            return self._bare_function(name, at, in_list)
        if name in self.context.registered:
            self.complain("bad-argument", f"`{name}` is a function", at, "no argument", f"write `{name}(COLUMN)`")
        else:
            self.missing(name, at)
        return "anything"

    def _label_as_feature(self, entry: Declared, name: str, at: Path) -> TermType:
        remedy = f"make it a site of a clique, as in `clique {name}[-1], {name}`; features read what is observed"
        message = f"`{name}` is a {entry.kind}, and features cannot read it: it is what the model predicts"
        if entry.kind != "label":
            message = f"`{name}` is {a(entry.kind)}, and features read only what is observed"
        if name in FUNCTIONS:
            remedy = f"it hides the built-in feature `{name}`: to use that, give the {entry.kind} another name"
        declared = [(entry.path, f"declared as {a(entry.kind)} here")]
        self.complain("label-as-feature", message, at, f"{a(entry.kind)} as a feature", remedy, declared)
        return "anything"

    def _other_kind(self, entry: Declared, name: str, at: Path, in_list: bool) -> TermType:
        if entry.kind == "feature group" and in_list:
            return "group"
        remedies = {
            "lexicon": f"test a column, as in `COLUMN in {name}`, or look it up if it is a map: `{name}(COLUMN)`",
            "feature group": "a group stands alone in a feature list, or crossed with `&`",
        }
        message = f"`{name}` is {a(entry.kind)}, and a {self._wanted()} is needed here"
        declared = [(entry.path, f"declared as {a(entry.kind)} here")]
        self.complain("wrong-kind", message, at, f"{a(entry.kind)}", remedies.get(entry.kind), declared)
        return "anything"

    def _bare_function(self, name: str, at: Path, in_list: bool) -> TermType:
        signature = FUNCTIONS[name]
        if signature.parameters:
            needed = next(p.name for p in signature.parameters)
            self.complain(
                "bad-argument", f"`{name}` needs its `{needed}`", at, "no argument", f"write `{signature.usage}`"
            )
            return "anything"
        if name == "bias" and not in_list:
            message = "`bias` is always true, and stands alone in a feature list"
            self.complain("wrong-kind", message, at, "always true")
            return "anything"
        return "test" if signature.returns == "test" else "text"

    def apply(self, term: Apply, path: Path) -> TermType:
        name = term.function
        if name in FUNCTIONS:
            return self._built_in(term, path)
        if self.context.named(name, "lexicon"):
            return self._looked_up(term, path)
        if name in self.context.registered:
            return read_own_call(self, term, path)
        self.problems.extend(unknown_function(self.context, name, (*path, "function")))
        return "anything"

    def _built_in(self, term: Apply, path: Path) -> TermType:
        signature = FUNCTIONS[term.function]
        bound, problems = bind(signature, term.arguments, self.context.spec.settled)
        for problem in problems:
            at = (*path, "function") if problem.index is None else (*path, "arguments", problem.index)
            self.complain("bad-argument", problem.message, at, help=problem.help)
        if term.function == "bias" and not problems:
            return self._bare_function("bias", (*path, "function"), in_list=False)
        if term.function == "bin" and not problems:
            read_bin(self, term, path)
        term_type: TermType = "test" if signature.returns == "test" else "text"
        for n, argument in enumerate(term.arguments):
            at = (*path, "arguments", n, "value")
            if argument.value is bound.get("term") and isinstance(argument.value, Reference | Apply):
                if term.function == "bin":
                    inner = read_number(self, argument.value, at, "`bin`")
                else:
                    inner = self.text(argument.value, at, f"`{term.function}`")
                if term.function == "span" and inner == "weighted bag":
                    message = "`span` reads one word at each position, and this is a weighted bag"
                    self.complain("not-a-text", message, at, "a weighted bag", "read a column of words")
                elif inner in ("texts", "weighted bag", "anything"):
                    term_type = inner
                if inner == "label" and not self.mapped:
                    self.problems.append(label_as_argument(self.context, argument.value, at, term))
                    term_type = "anything"
            elif argument.value is bound.get("lexicon") and isinstance(argument.value, Reference):
                self.lexicon(argument.value.name, at)
        lengths = bound.get("lengths")
        several = signature.returns == "values" and (term.function == "chars" or isinstance(lengths, Range))
        return "texts" if several and term_type == "text" else term_type

    def _looked_up(self, term: Apply, path: Path) -> TermType:
        name = term.function
        entry = self.context.named(name, "lexicon")
        assert entry is not None and isinstance(entry.entry, Lexicon)
        if len(term.arguments) != 1 or not isinstance(term.arguments[0].value, Reference | Apply):
            message = f"the map `{name}` takes one column, or a function of one"
            self.complain("bad-argument", message, path, help=f"write `{name}(COLUMN)`")
            return "anything"
        if is_map(self.context, entry.entry) is False:
            message = f"lexicon `{name}` is a set: it has no values that could be looked up"
            remedy = f"test membership with `COLUMN in {name}`; a map has a TAB and a value in every line"
            there = [(entry.path, "this file has one entry a line")]
            self.complain("set-as-map", message, (*path, "function"), "used as a map", remedy, there)
        subject, at = term.arguments[0].value, (*path, "arguments", 0, "value")
        term_type = self.text(subject, at, f"`{name}`")
        if term_type == "label":
            self.problems.append(label_as_argument(self.context, subject, at))
            return "anything"
        return term_type

    # lexicons and states ------------------------------------------------------------------------------------------

    def lexicon(self, name: str, at: Path) -> None:
        if self.context.named(name, "lexicon"):
            return
        entry = self.context.named(name)
        if entry is None:
            self.unknown.append(UnknownName(name, at, ("lexicon",)))
            return
        declared = [(entry.path, f"declared as {a(entry.kind)} here")]
        remedy = f'a lexicon is declared by `lexicon NAME = "file"`; a set is written `in {{{name}}}`'
        message = f"`{name}` is {a(entry.kind)}, and a lexicon is needed here"
        self.complain("wrong-kind", message, at, f"{a(entry.kind)}", remedy, declared)

    def state(self, term: Reference | Apply, state: str, at: Path) -> None:
        """`state` must be one of the term's states, if they are known."""
        states = self.context.states(term.name) if isinstance(term, Reference) else None
        if states is not None and state not in states and isinstance(term, Reference):
            self.problems.append(unknown_state(self.context, state, at, states, term.name))

    # ----------------------------------------------------------------------------------------------------------------

    def missing(self, name: str, at: Path) -> None:
        kinds = (*OBSERVED_KINDS, *LABEL_KINDS) if not self.labels else (*LABEL_KINDS, COLUMN)
        self.unknown.append(UnknownName(name, at, kinds, () if self.labels else _BARE))

    def complain(
        self,
        slug: str,
        message: str,
        path: Path,
        words: str = "",
        help: str | None = None,
        others: Sequence[tuple[Path, str]] = (),
    ) -> None:
        self.problems.append(self.context.complaint(slug, message, path, words, help, others))

    def _wanted(self) -> str:
        return "label, view or column" if self.labels else "column"


# numbers and bins -----------------------------------------------------------------------------------------------------


# Types of terms that have no number -> what such a term is.
NO_NUMBERS: Mapping[str, str] = {"test": "a test", "vector": "a vector"}
SEVERAL: Mapping[str, str] = {"texts": "may have several values", "weighted bag": "is a weighted bag"}


def read_comparison(reader: TermReader, condition: Compares, path: Path) -> None:
    """`length(word) > 3`, `index[j] - index[i] < 20`: both sides must be numbers, the right one may be a constant."""
    for side, at in _compared(condition.left, (*path, "left")):
        read_number(reader, side, at)
    for side, at in _compared(condition.right, (*path, "right")):
        settled = reader.context.spec.settled(side) if isinstance(side, Reference) else side
        if isinstance(settled, Text):
            message = f"`{condition.sign}` compares numbers, and the constant is the text `{settled.value}`"
            reader.complain("not-a-number", message, at, "a text")
        elif not isinstance(settled, Number):
            read_number(reader, side, at)


def _compared(quantity: Quantity, path: Path) -> Iterator[tuple[Reference | Apply, Path]]:
    match quantity:
        case Difference():
            yield quantity.left, (*path, "left")
            yield quantity.right, (*path, "right")
        case Reference() | Apply():
            yield quantity, path


def read_number(reader: TermReader, term: Reference | Apply, path: Path, taker: str = "a comparison") -> TermType:
    """A term whose value must be a number, or a text that is one."""
    kind = reader.term(term, path)
    if kind in ("number", "text", "anything"):
        return kind
    if kind in SEVERAL:
        reader.complain("several-values", f"{taker} takes one number, and this {SEVERAL[kind]}", path, "several values")
    elif kind == "label":
        name = next(reference_names(nodes(term)), "")
        message = f"{taker} takes a number of the data, and `{name}` is what the model predicts"
        remedy = f"list the states, as in `{name} in {{1, 2}}`"
        reader.complain("label-as-argument", message, path, "not observed", remedy)
    else:
        what = NO_NUMBERS.get(kind, f"a {kind}")
        reader.complain("not-a-number", f"{taker} takes a number, and this is {what}", path, what)
    return "anything"


def read_gap_test(reader: TermReader, condition: Is, path: Path) -> None:
    """`temp is missing`: there must be a mark for numbers that are not known."""
    reader.term(condition.term, (*path, "term"))
    if missing_mark(reader.context.spec.data) is None:
        message = "every number of this data has to be there, as `data` does not say how a missing one is written"
        remedy = 'for example `missing = ""` among the options of `data`'
        reader.complain("not-a-text", message, path, "never true", remedy)


def read_bin(reader: TermReader, term: Apply, path: Path) -> None:
    """The numbers of `bin(age, 4)` and `bin(age, 18, 30)`, which are numbers."""
    bins = read_bins(term, reader.context.spec.settled)
    if isinstance(bins, BinProblem):
        reader.complain("bad-argument", bins.message, (*path, "arguments", bins.index), help=bins.help)


# functions of the user's ----------------------------------------------------------------------------------------------


ONE_VALUE: Mapping[str, str] = {"vector": "a vector", "weighted bag": "a weighted bag"}


def is_whole(value: Node) -> bool:
    """Whether an argument is the values at all positions of a sentence, `word[all]`."""
    return isinstance(value, Reference | Apply) and isinstance(value.place, Named) and value.place.position == "all"


def read_own_call(reader: TermReader, term: Apply, path: Path) -> TermType:
    """`vowels(word)`, `ending(word, 3)`, `agree(word, pos[-1])`, `longest(word[all])`."""
    subject: Value | None = term.arguments[0].value if term.arguments else None
    if not isinstance(subject, Reference | Apply):
        message = f"`{term.function}` takes a column, or a function of one, first"
        reader.complain("bad-argument", message, (*path, "function"))
        return "anything"
    read = [(n, argument.value) for n, argument in enumerate(term.arguments) if n == 0 or _is_read(reader, argument)]
    whole = [is_whole(value) for _, value in read]
    joint = len(read) > 1 or any(whole)
    for n, value in read:
        at = (*path, "arguments", n, "value")
        kind = reader.term(value, at)  # type: ignore[arg-type]  # what is read is a term
        if kind in ONE_VALUE or (joint and kind == "texts"):
            what = ONE_VALUE.get(kind, "several values")
            message = f"`{term.function}` is called with single values, and this is {what}"
            remedy = "compute what it gives beforehand, as another column"
            reader.complain("not-a-text", message, at, what, remedy)
        if joint and any(whole) and not is_whole(value):
            message = f"`{term.function}` reads a whole sentence, and here one place of it"
            reader.complain("bad-argument", message, at, "one place", "write `[all]` behind every column that it reads")
        elif joint:
            _refuse_places(reader, term, value, at)
    for n, argument in enumerate(term.arguments):
        if n not in dict(read) and not _is_constant(reader, argument):
            message = f"the further arguments of `{term.function}` are columns, numbers, texts or constants"
            reader.complain("bad-argument", message, (*path, "arguments", n))
    return "anything"


def _refuse_places(reader: TermReader, term: Apply, value: Value, at: Path) -> None:
    """Windows and named positions stand behind a call that reads several values, not inside it."""
    for path, node in nodes(value, at):
        place = node.place if isinstance(node, Reference | Apply) else None
        if isinstance(place, Window | Several) or (isinstance(place, Named) and not is_whole(node)):
            message = f"`{term.function}` reads several columns, and `{place_text(place)}` is no single place in it"
            remedy = f"write it behind the call, `{term.function}(…){place_text(place)}`"
            reader.complain("bad-argument", message, (*path, "place"), "not inside", remedy)


def _is_read(reader: TermReader, argument: Argument) -> bool:
    """Whether an argument reads the data: a name, or a function, that is no constant."""
    value = argument.value
    return argument.name is None and isinstance(value, Reference | Apply) and not _is_constant(reader, argument)


def _is_constant(reader: TermReader, argument: Argument) -> bool:
    return argument.name is None and isinstance(reader.context.spec.settled(argument.value), Number | Text)


# lists of `segment` ---------------------------------------------------------------------------------------------------


_BAGS = {"texts": "a bag of texts"}


class SegmentTermReader(TermReader):
    """Reads the list of a `segment` statement: `length`, and columns inside of `first`, `last`, `any` or `joined`."""

    def reference(self, reference: Reference, path: Path, *, in_list: bool = False) -> TermType:
        name, at = reference.name, (*path, "name")
        if name == LENGTH and place_offset(reference.place) == 0:
            return "text"
        if name == "bias" and in_list:
            return "test"
        column = self.context.named(name, COLUMN) is not None or self.context.named(name, "feature group") is not None
        if column or name in ("first", "last", "index"):
            what = f"`{name}` is read at one token, and a segment has several"
            ways = "`joined(word)` for all of them, `any(word)`, `first(word)` and `last(word)` for one"
            self.complain("token-in-segment", what, at, "at which token?", f"columns are read by {ways}")
            return "anything"
        return super().reference(reference, path, in_list=in_list)

    def apply(self, term: Apply, path: Path) -> TermType:
        if term.function not in SEGMENT_FUNCTIONS:
            return super().apply(term, path)
        value, at = (term.arguments[0].value if len(term.arguments) == 1 else None), (*path, "arguments", 0, "value")
        usage = f"write `{term.function}(COLUMN)`; functions go around it, as in `lower({term.function}(word))`"
        if not isinstance(value, Reference):
            message = f"`{term.function}` takes a column of texts"
            self.complain("bad-argument", message, (*path, "function"), "of a segment", usage)
            return "anything"
        inner = TermReader.reference(self, value, at)
        if inner not in ("text", "anything"):
            message = f"`{term.function}` reads one text at each token, and this is {_BAGS.get(inner, f'a {inner}')}"
            self.complain("not-a-text", message, at, _BAGS.get(inner, f"a {inner}"), usage)
            return "anything"
        if term.function in ("any", "joined") and place_offset(value.place) != 0:
            message = f"`{term.function}` reads the tokens of the segment, and not those beside it"
            remedy = "`first(word[-1])` is the token before the segment, `last(word[1])` the one after it"
            self.complain("bad-argument", message, at, "a place beside", remedy)
        return "texts" if term.function == "any" and inner == "text" else inner


# longer messages ------------------------------------------------------------------------------------------------------


def unknown_state(
    context: Context, state: str, at: Path, states: Sequence[str], variable: str | None = None
) -> Diagnostic:
    """The error for `state`, which is none of `states`. `variable`: the variable with these states; None if it is the
    statement itself.
    """
    guess = context.guesses.near(state, states)
    shown = listed(states, "or") if len(states) <= 12 else f"one of its {len(states)} states"
    entry = context.named(variable) if variable else None
    what = f"a state of `{variable}`" if variable else "one of the declared states"
    remedy = f"did you mean `{guess}`?" if guess else f"expected {shown}"
    there = [(entry.path, "its states are declared here")] if entry else []
    message = f"`{state}` is not {what}"
    return context.complaint("unknown-state", message, at, "no such state", remedy, there)


def unknown_function(context: Context, name: str, at: Path) -> Iterator[Diagnostic]:
    """The error for an unknown function; nothing if an unreadable statement or the user may have declared it."""
    entry = context.named(name)
    if entry is not None:
        message = f"`{name}` is {a(entry.kind)}, not a function"
        declared = [(entry.path, f"declared as {a(entry.kind)} here")]
        remedy = f"an offset is written `{name}[-1]`" if entry.kind in (*OBSERVED_KINDS, *LABEL_KINDS) else None
        yield context.complaint("unknown-function", message, at, "not a function", remedy, declared)
    elif context.functions_known and not context.may_be_lost(name):
        guess = FUNCTIONS.suggest(name) or context.guesses.near(name, [*context.registered, *context.names("lexicon")])
        remedy = f"a function of your own is loaded with `--features FILE.py`; built in are {listed(FUNCTIONS)}"
        message = f"`{name}` is not a feature function"
        if guess:
            remedy = f"did you mean `{guess}`? A function of your own is loaded with `--features FILE.py`"
        yield context.complaint("unknown-function", message, at, "unknown function", remedy)


def label_as_argument(context: Context, subject: Reference | Apply, at: Path, call: Apply | None = None) -> Diagnostic:
    """The error for a function of a label (`call`), or for a label that is looked up in a lexicon."""
    name = next(reference_names(nodes(subject)), "")
    entry = context.named(name)
    kind = "label" if entry is None else entry.kind
    message = f"the {kind} `{name}` is looked up in a lexicon, and lexicons are of what is observed"
    remedy = f"list the states, as in `{name} in {{A, B}}`"
    if call is not None:
        message = f"`{call.function}` is a function of the {kind} `{name}`, and functions read what is observed here"
    if call is not None and kind == "label":
        more = ", …" if len(call.arguments) > 1 else ""
        remedy = f"declare `view NAME = {call.function}({name}{more})` and test the view"
    return context.complaint("label-as-argument", message, at, a(kind), remedy)


# whole conditions -----------------------------------------------------------------------------------------------------


def constraint_can_be_tried(context: Context, constraint: Constraint) -> bool:
    reader = TermReader(context, labels=True)
    reader.test(constraint.condition, (), constraint.action)
    if constraint.when is not None:
        reader.test(constraint.when, (), "when")
    return _is_fine(reader) and all(_is_one_value(node) for _, node in constraint_nodes(constraint))


def memory_can_be_tried(context: Context, memory: Memory) -> bool:
    reader = TermReader(context, labels=True)
    reader.value_if(memory.value, (), context.states(memory.name))
    return _is_fine(reader) and all(_is_one_value(node) for _, node in value_if_nodes(memory.value))


def _is_fine(reader: TermReader) -> bool:
    return not reader.problems and not reader.unknown


def _is_one_value(node: Node) -> bool:
    """Whether a term is read at one position, and a regex is one."""
    if isinstance(node, Reference | Apply):
        return place_offset(node.place) is not None
    return not isinstance(node, Regex) or compile_error(node) is None
