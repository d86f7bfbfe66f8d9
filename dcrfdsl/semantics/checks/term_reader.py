"""The type of a term or condition (a text, a number, a test …), and all problems inside it.

One reader for all terms: in feature lists only observations may be read; `forbid`, `memory` and `view` may also read
labels, and a `view` functions of them. Not here: the list of a `segment`, which reads whole segments (`segment_rules`),
which places of a template to read (`name_rules`), regexes (`pattern_rules`), places in brackets (`clique_rules`), what
a function of the user's returns, which is known on data alone (`features.values.user_functions`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, TypeAlias

from ...foundation import Diagnostic, Span, dataclass
from ...syntax import Column, Constraint, Expectation, Lexicon, Memory, nodes as ex
from .. import schema
from ..conditions import OFFSET, TRUE_STATE, factors_of, has_offset, is_offset
from .context import COLUMN, LABEL_KINDS, OBSERVED_KINDS, At, Context, Declared, Others, a, constraint_nodes
from .pattern_rules import compile_error, is_map
from .term_messages import label_as_argument, unknown_function, unknown_state

# `texts`: several values per position. `anything`: unknown, or wrong and reported.
TermType: TypeAlias = Literal[
    "text", "texts", "weighted bag", "number", "vector", "test", "label", "group", "scores", "anything"
]

_OF_COLUMN: dict[str, TermType] = {
    "str": "text", "bag": "texts", "weighted_bag": "weighted bag",
    "float": "number", "int": "number", "vector": "vector", "scores": "scores",
}  # fmt: skip
_BARE = tuple(name for name, signature in schema.FUNCTIONS.items() if not signature.parameters)
MAX_PRODUCTS = 4096  # features of a cross of vectors; more can neither be learned nor held in memory


@dataclass(frozen=True)
class UnknownName:
    """An undeclared name: `kinds` are those that would fit, `more` other words that would."""

    name: str
    place: Span
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

    def feature(self, feature: ex.Feature) -> None:
        """An entry of a feature list."""
        if has_offset(feature):
            self.offset(feature)
        elif isinstance(feature, ex.Cross):
            for factor in feature.factors:
                self.factor(factor)
            self.products(feature)
        else:
            self.factor(feature)

    def offset(self, feature: ex.Feature) -> None:
        """`offset(column)`, alone or crossed with tests."""
        offsets = [one for one in factors_of(feature) if isinstance(one, ex.Apply) and is_offset(one)]
        for other in factors_of(feature):
            if not is_offset(other):
                self.test(other, OFFSET)
        if len(offsets) > 1:
            message = "one `offset` stands in a cross, and here are two: scores add up"
            self.complain("bad-argument", message, offsets[1], "a second one", "separate them by `,`")
        offset = offsets[0]
        bound, problems = schema.bind(schema.FUNCTIONS[OFFSET], offset.arguments, self.context.spec.settled)
        for problem in problems:
            at = offset.place_of("function") if problem.index is None else offset.arguments[problem.index]
            self.complain("bad-argument", problem.message, at, help=problem.help)
        column = bound.get("scores")
        if problems or not isinstance(column, ex.Reference):
            return
        for place in (column.place, offset.place):
            if place != ex.Here() and not isinstance(place, ex.Named):  # a named one is that of `where`
                message = "a score belongs to its position: `offset` reads the column where the clique is"
                self.complain("bad-argument", message, place, "another position", f"write `offset({column.name})`")
        found = self.reference(column)
        if found not in ("scores", "anything"):
            message = f"`offset` takes scores of states, and `{column.name}` is no such column"
            self.complain(
                "bad-argument", message, column, "no scores", f"declare `{column.name}: scores(LABEL)` in `data`"
            )

    def products(self, cross: ex.Cross) -> None:
        """A cross of vectors has a feature for each combination of their components."""
        columns = [self.context.spec.column(one.name) for one in cross.factors if isinstance(one, ex.Reference)]
        sizes = [column.type.size for column in columns if column is not None and column.type.size is not None]
        if len(sizes) > 1 and math.prod(sizes) > MAX_PRODUCTS:
            message = f"this cross multiplies {' by '.join(map(str, sizes))} numbers: {math.prod(sizes):,} features"
            remedy = f"vectors are crossed up to {MAX_PRODUCTS:,} features; list them beside each other"
            self.complain("too-many-products", message, cross, "at each position", remedy)

    def factor(self, condition: ex.Condition) -> None:
        """A member of a cross: only here a feature group, or `bias`, is allowed."""
        if isinstance(condition, ex.Reference):
            self._no_scores(condition, self.reference(condition, in_list=True))
        else:
            self.condition(condition)

    def condition(self, condition: ex.Condition) -> TermType:
        match condition:
            case ex.Reference() | ex.Apply():
                return self.term(condition)
            case ex.Matches(term=term) | ex.Has(term=term):
                self.text(term, f"`{condition.kind}`")
            case ex.Is(term=term) if schema.tests_gap(self.context.spec, condition):
                read_gap_test(self, condition)
            case ex.Is(term=term, state=state):
                if self.text(term, "`is`") == "label":
                    self.state(term, state, condition.place_of("state"))
            case ex.InSet(term=term, states=states):
                if self.text(term, "`in`") == "label":
                    for n, state in enumerate(states):
                        self.state(term, state, condition.place_of("states", n))
            case ex.InLexicon(term=term, lexicon=lexicon):
                if self.text(term, "`in`") == "label":
                    self.problems.append(label_as_argument(self.context, term))
                self.lexicon(lexicon, condition.place_of("lexicon"))
            case ex.Equals():
                self.equals(condition)
            case ex.Compares():
                read_comparison(self, condition)
            case ex.Not(inner=inner):
                self.test(inner, "not")
            case ex.And(parts=parts) | ex.Or(parts=parts):
                for part in parts:
                    self.test(part, condition.kind)
        return "test"

    def test(self, condition: ex.Condition, word: str) -> None:
        """A condition that must be true or false: a part of `and`, `or`, `not`, or all of a `forbid`."""
        term_type = self.condition(condition)
        if isinstance(condition, ex.Reference) and term_type == "label":
            states = self.context.states(condition.name)
            if states is not None and TRUE_STATE not in states:
                message = f"`{condition.name}` is no test: it has no state `{TRUE_STATE}`"
                self.complain("not-a-test", message, condition, "needs a test", "compare it, as in `is STATE`")
        elif term_type in ("text", "texts", "weighted bag", "number", "vector"):
            what = {"texts": "text"}.get(term_type, term_type)
            message = f"`{word}` takes tests, and this is a {what}"
            remedy = "test the value (`is`, `matches`, `has`, `in`, `=`); features are crossed with `&`"
            self.complain("not-a-test", message, condition, "needs a test", remedy)

    def constraint(self, constraint: Constraint | Expectation) -> None:
        self.test(constraint.condition, constraint.action)
        if constraint.when is not None:
            self.test(constraint.when, "when")

    def value_if(self, value: ex.ValueIf, states: Sequence[str] | None, *, test_of: str | None = None) -> None:
        """The value of a memory or view, whose states are `states` if they are declared.

        `test_of`: the memory without declared states, whose value must be a test.
        """
        for node in (value.value, value.otherwise):
            if isinstance(node, ex.Reference) and self._is_word(node):
                word = self._word(node)
                if states is not None and word not in states:
                    self.problems.append(unknown_state(self.context, word, node, states))
                elif states is None and value.condition is None:
                    self.missing(word, node.span)
            elif node is not None and test_of is not None:
                self.boolean(node, test_of)
            elif node is not None:
                self.condition(node)
        if value.condition is not None:
            self.test(value.condition, "if")

    def boolean(self, node: ex.Condition, memory: str) -> None:
        """A memory without declared states must copy a test."""
        name = node.name if isinstance(node, ex.Reference) else ""
        states = self.context.states(name)
        if states is None or TRUE_STATE in states:
            self.test(node, "memory")
        elif self.condition(node) == "label":
            message = f"memory `{memory}` copies `{name}`, which is no test: it has no state `{TRUE_STATE}`"
            remedy = f"give the memory states, `memory {memory} in states({name}) = …`, or compare it, as in `is STATE`"
            self.complain("not-a-test", message, node, "needs a test", remedy)

    def equals(self, condition: ex.Equals) -> None:
        left, right = condition.left, condition.right
        words = [term for term in (left, right) if self._is_word(term)]
        if len(words) == 2:
            self.missing(left.name, left.place_of("name"))  # type: ignore[union-attr]
            return
        types: list[TermType] = [self.term(term) for term in (left, right) if not self._is_word(term)]
        numbers, settled = types.count("number"), self.context.spec.settled
        if "vector" in types:
            message = "`=` compares two texts or two numbers, and here is a vector"
            self.complain("not-a-text", message, condition, "a vector")
        elif numbers and (numbers < len(types) or not all(isinstance(settled(word), ex.Number) for word in words)):
            message = "`=` compares two texts or two numbers, and here is one of each"
            self.complain("not-a-text", message, condition, "a text and a number")
        elif "texts" in types or "weighted bag" in types:
            message = "`=` compares single values, and one side may have several"
            self.complain("several-values", message, condition, "several values")
        for term, other in ((left, right), (right, left)):
            if isinstance(term, ex.Reference) and self._is_word(term) and types == ["label"]:
                self.state(other, self._word(term), term)

    def _word(self, term: ex.Reference) -> str:
        """The state that a bare word names, directly or as the name of a constant."""
        settled = schema.plain(self.context.spec.settled(term))
        return term.name if settled is None else str(settled)

    def _is_word(self, term: ex.Reference | ex.Apply) -> bool:
        """Whether one side of `=` is a state or a constant: a bare word that names nothing with values."""
        if not isinstance(term, ex.Reference) or term.place != ex.Here() or term.name in _BARE:
            return False
        kinds = {entry.kind for entry in self.context.declared.get(term.name, ())}
        return kinds <= {"constant", "clique", "piece", "constraint"}

    # terms --------------------------------------------------------------------------------------------------------

    def text(self, term: ex.Reference | ex.Apply, taker: str) -> TermType:
        """A term whose value must be a text."""
        term_type = self.term(term)
        if term_type in ("number", "vector", "test"):
            message = f"{taker} takes a text, and this is a {term_type}"
            self.complain("not-a-text", message, term, f"a {term_type}")
            return "anything"
        return term_type

    def term(self, term: ex.Reference | ex.Apply) -> TermType:
        found = self.reference(term) if isinstance(term, ex.Reference) else self.apply(term)
        return self._no_scores(term, found)

    def _no_scores(self, term: ex.Reference | ex.Apply, found: TermType) -> TermType:
        """Scores of states are read by `offset` alone."""
        if found != "scores":
            return found
        message, remedy = "`offset` stands in the list of a clique, alone or crossed with tests", None
        if isinstance(term, ex.Reference):
            message = f"`{term.name}` has scores of states, which are added as they are"
            remedy = f"write `offset({term.name})` in the list of a clique; numbers that have weights are a `vector`"
        self.complain("wrong-kind", message, term, "scores", remedy)
        return "anything"

    def reference(self, reference: ex.Reference, *, in_list: bool = False) -> TermType:
        name, at = reference.name, reference.place_of("name")
        entry = self.context.named(name)
        if entry is not None and entry.kind in LABEL_KINDS:
            return "label" if self.labels else self._label_as_feature(entry, name, at)
        column = self.context.named(name, COLUMN)
        if column is not None:
            assert isinstance(column.entry, Column)
            return _OF_COLUMN[column.entry.type.name]
        if entry is not None:
            return self._other_kind(entry, name, at, in_list)
        if name in schema.FUNCTIONS:
            return self._bare_function(name, at, in_list)
        if name in self.context.registered:
            self.complain("bad-argument", f"`{name}` is a function", at, "no argument", f"write `{name}(COLUMN)`")
        else:
            self.missing(name, at)
        return "anything"

    def _label_as_feature(self, entry: Declared, name: str, at: Span) -> TermType:
        remedy = f"make it a site of a clique, as in `clique {name}[-1], {name}`; features read what is observed"
        message = f"`{name}` is a {entry.kind}, and features cannot read it: it is what the model predicts"
        if entry.kind != "label":
            message = f"`{name}` is {a(entry.kind)}, and features read only what is observed"
        if name in schema.FUNCTIONS:
            remedy = f"it hides the built-in feature `{name}`: to use that, give the {entry.kind} another name"
        declared = [(entry.place, f"declared as {a(entry.kind)} here")]
        self.complain("label-as-feature", message, at, f"{a(entry.kind)} as a feature", remedy, declared)
        return "anything"

    def _other_kind(self, entry: Declared, name: str, at: Span, in_list: bool) -> TermType:
        if entry.kind == "feature group" and in_list:
            return "group"
        remedies = {
            "lexicon": f"test a column, as in `COLUMN in {name}`, or look it up if it is a map: `{name}(COLUMN)`",
            "feature group": "a group stands alone in a feature list, or crossed with `&`",
        }
        wanted = "label, view or column" if self.labels else "column"
        message = f"`{name}` is {a(entry.kind)}, and a {wanted} is needed here"
        declared = [(entry.place, f"declared as {a(entry.kind)} here")]
        self.complain("wrong-kind", message, at, f"{a(entry.kind)}", remedies.get(entry.kind), declared)
        return "anything"

    def _bare_function(self, name: str, at: Span, in_list: bool) -> TermType:
        signature = schema.FUNCTIONS[name]
        if signature.parameters:
            message = f"`{name}` needs its `{signature.parameters[0].name}`"
            self.complain("bad-argument", message, at, "no argument", f"write `{signature.usage}`")
            return "anything"
        if name == "bias" and not in_list:
            message = "`bias` is always true, and stands alone in a feature list"
            self.complain("wrong-kind", message, at, "always true")
            return "anything"
        return "test" if signature.returns == "test" else "text"

    def apply(self, term: ex.Apply) -> TermType:
        name = term.function
        if name in schema.FUNCTIONS:
            return self._built_in(term)
        if self.context.named(name, "lexicon"):
            return self._looked_up(term)
        if name in self.context.registered:
            return read_own_call(self, term)
        self.problems.extend(unknown_function(self.context, name, term.place_of("function")))
        return "anything"

    def _built_in(self, term: ex.Apply) -> TermType:
        signature = schema.FUNCTIONS[term.function]
        bound, problems = schema.bind(signature, term.arguments, self.context.spec.settled)
        for problem in problems:
            at = term.place_of("function") if problem.index is None else term.arguments[problem.index]
            self.complain("bad-argument", problem.message, at, help=problem.help)
        if term.function == "bias" and not problems:
            return self._bare_function("bias", term.place_of("function"), in_list=False)
        if term.function == "bin" and not problems:
            bins = schema.read_bins(term, self.context.spec.settled)
            if isinstance(bins, schema.BinProblem):
                self.complain("bad-argument", bins.message, term.arguments[bins.index], help=bins.help)
        if term.function == OFFSET:
            return "scores"
        term_type: TermType = "test" if signature.returns == "test" else "text"
        if schema.gives_number(term):
            term_type = "number"
            _refuse_inside(self, term)
        for argument in term.arguments:
            value = argument.value
            if value is bound.get("term") and isinstance(value, ex.Reference | ex.Apply):
                read = read_number if term.function == "bin" or schema.gives_number(term) else TermReader.text
                inner = read(self, value, f"`{term.function}`")
                if term.function == "span" and inner == "weighted bag":
                    message = "`span` reads one word at each position, and this is a weighted bag"
                    self.complain("not-a-text", message, value, "a weighted bag", "read a column of words")
                elif inner in ("texts", "weighted bag", "anything"):
                    term_type = inner
                if inner == "label" and not self.mapped:
                    self.problems.append(label_as_argument(self.context, value, term))
                    term_type = "anything"
            elif value is bound.get("lexicon") and isinstance(value, ex.Reference):
                self.lexicon(value.name, value.span)
        lengths = bound.get("lengths")
        several = signature.returns == "values" and (term.function == "chars" or isinstance(lengths, ex.Range))
        return "texts" if several and term_type == "text" else term_type

    def _looked_up(self, term: ex.Apply) -> TermType:
        name = term.function
        entry = self.context.named(name, "lexicon")
        assert entry is not None and isinstance(entry.entry, Lexicon)
        if len(term.arguments) != 1 or not isinstance(subject := term.arguments[0].value, ex.Reference | ex.Apply):
            message = f"the map `{name}` takes one column, or a function of one"
            self.complain("bad-argument", message, term, help=f"write `{name}(COLUMN)`")
            return "anything"
        if is_map(self.context, entry.entry) is False:
            message = f"lexicon `{name}` is a set: it has no values that could be looked up"
            remedy = f"test membership with `COLUMN in {name}`; a map has a TAB and a value in every line"
            there = [(entry.place, "this file has one entry a line")]
            self.complain("set-as-map", message, term.place_of("function"), "used as a map", remedy, there)
        term_type = self.text(subject, f"`{name}`")
        if term_type == "label":
            self.problems.append(label_as_argument(self.context, subject))
            return "anything"
        return term_type

    # lexicons and states ------------------------------------------------------------------------------------------

    def lexicon(self, name: str, at: Span) -> None:
        if self.context.named(name, "lexicon"):
            return
        entry = self.context.named(name)
        if entry is None:
            self.unknown.append(UnknownName(name, at, ("lexicon",)))
            return
        declared = [(entry.place, f"declared as {a(entry.kind)} here")]
        remedy = f'a lexicon is declared by `lexicon NAME = "file"`; a set is written `in {{{name}}}`'
        message = f"`{name}` is {a(entry.kind)}, and a lexicon is needed here"
        self.complain("wrong-kind", message, at, f"{a(entry.kind)}", remedy, declared)

    def state(self, term: ex.Reference | ex.Apply, state: str, at: At) -> None:
        """`state` must be one of the term's states, if they are known."""
        states = self.context.states(term.name) if isinstance(term, ex.Reference) else None
        if states is not None and state not in states and isinstance(term, ex.Reference):
            self.problems.append(unknown_state(self.context, state, at, states, term.name))

    # ----------------------------------------------------------------------------------------------------------------

    def missing(self, name: str, at: Span) -> None:
        kinds = (*OBSERVED_KINDS, *LABEL_KINDS) if not self.labels else (*LABEL_KINDS, COLUMN)
        self.unknown.append(UnknownName(name, at, kinds, () if self.labels else _BARE))

    def complain(
        self, slug: str, message: str, at: At, words: str = "", help: str | None = None, others: Others = ()
    ) -> None:
        self.problems.append(self.context.complaint(slug, message, at, words, help, others))


# numbers --------------------------------------------------------------------------------------------------------------


SEVERAL: Mapping[str, str] = {"texts": "may have several values", "weighted bag": "is a weighted bag"}


def read_comparison(reader: TermReader, condition: ex.Compares) -> None:
    """`length(word) > 3`, `index[j] - index[i] < 20`: both sides must be numbers, the right one may be a constant."""
    for side in schema.terms(condition.left):
        read_number(reader, side)
    for side in schema.terms(condition.right):
        settled = reader.context.spec.settled(side)
        if isinstance(settled, ex.Text):
            message = f"`{condition.sign}` compares numbers, and the constant is the text `{settled.value}`"
            reader.complain("not-a-number", message, side, "a text")
        elif not isinstance(settled, ex.Number):
            read_number(reader, side)


def read_number(reader: TermReader, term: ex.Reference | ex.Apply, taker: str = "a comparison") -> TermType:
    """A term whose value must be a number, or a text that is one."""
    kind = reader.term(term)
    if kind in ("number", "text", "anything"):
        return kind
    if kind in SEVERAL:
        reader.complain("several-values", f"{taker} takes one number, and this {SEVERAL[kind]}", term, "several values")
    elif kind == "label":
        name = next(schema.reference_names(schema.nodes(term)), "")
        message = f"{taker} takes a number of the data, and `{name}` is what the model predicts"
        remedy = f"list the states, as in `{name} in {{1, 2}}`"
        reader.complain("label-as-argument", message, term, "not observed", remedy)
    else:
        what = f"a {kind}"
        reader.complain("not-a-number", f"{taker} takes a number, and this is {what}", term, what)
    return "anything"


def _refuse_inside(reader: TermReader, term: ex.Apply) -> None:
    """What is learned is learned once, and a window has one place, behind what it is of."""
    inside = [inner for child in schema.children(term) for inner in schema.nodes(child)]
    learned = [inner for inner in inside if schema.gives_number(inner, "number")]
    if schema.gives_number(term, "number") and learned:
        message = f"`{term.function}` stands around `{learned[0].function}`, and one of them is enough"
        reader.complain("bad-argument", message, learned[0], "numbers are brought to scale once", "leave it out")
    for child in schema.children(term) if schema.reads_window(term) else ():
        window, *others = schema.term_places(child)
        placed = [place for place in others if place != ex.Here()]
        if placed and isinstance(window, ex.Window):
            message = f"`{term.function}` takes one window, behind all that it reads"
            remedy = f"write `{term.function}(…{schema.place_text(window)})`, and other places behind that"
            reader.complain("bad-argument", message, placed[0], "another place", remedy)


def read_gap_test(reader: TermReader, condition: ex.Is) -> None:
    """`temp is missing`: there must be a mark for numbers that are not known, or a window that may have none."""
    reader.term(condition.term)
    if schema.missing_mark(reader.context.spec.data) is None and not any(
        map(schema.reads_window, schema.nodes(condition.term))
    ):
        message = "every number of this data has to be there, as `data` does not say how a missing one is written"
        remedy = 'for example `missing = ""` among the options of `data`'
        reader.complain("not-a-text", message, condition, "never true", remedy)


# functions of the user's ----------------------------------------------------------------------------------------------


ONE_VALUE: Mapping[str, str] = {"vector": "a vector", "weighted bag": "a weighted bag"}


def is_whole(value: ex.Node) -> bool:
    """Whether an argument is the values at all positions of a sentence, `word[all]`."""
    place = value.place if isinstance(value, ex.Reference | ex.Apply) else None
    return isinstance(place, ex.Named) and place.position == "all"


def read_own_call(reader: TermReader, term: ex.Apply) -> TermType:
    """`vowels(word)`, `ending(word, 3)`, `agree(word, pos[-1])`, `longest(word[all])`."""
    if not term.arguments or not isinstance(term.arguments[0].value, ex.Reference | ex.Apply):
        message = f"`{term.function}` takes a column, or a function of one, first"
        reader.complain("bad-argument", message, term.place_of("function"))
        return "anything"
    first, *further = term.arguments
    read = [first.value, *(argument.value for argument in further if _is_read(reader, argument))]
    whole = any(map(is_whole, read))
    joint = len(read) > 1 or whole
    for value in read:
        kind = reader.term(value)  # type: ignore[arg-type]  # what is read is a term
        if kind in ONE_VALUE or (joint and kind == "texts"):
            what = ONE_VALUE.get(kind, "several values")
            message = f"`{term.function}` is called with single values, and this is {what}"
            remedy = "compute what it gives beforehand, as another column"
            reader.complain("not-a-text", message, value, what, remedy)
        if whole and not is_whole(value):
            message = f"`{term.function}` reads a whole sentence, and here one place of it"
            remedy = "write `[all]` behind every column that it reads"
            reader.complain("bad-argument", message, value, "one place", remedy)
        elif joint:
            _refuse_places(reader, term, value)
    for argument in further:
        if not _is_read(reader, argument) and not _is_constant(reader, argument):
            message = f"the further arguments of `{term.function}` are columns, numbers, texts or constants"
            reader.complain("bad-argument", message, argument)
    return "anything"


def _refuse_places(reader: TermReader, term: ex.Apply, value: ex.Value) -> None:
    """Windows and named positions stand behind a call that reads several values, not inside it."""
    for node in schema.nodes(value):
        place = node.place if isinstance(node, ex.Reference | ex.Apply) else None
        if isinstance(place, ex.Window | ex.Several) or (isinstance(place, ex.Named) and not is_whole(node)):
            message = (
                f"`{term.function}` reads several columns, and `{schema.place_text(place)}` is no single place in it"
            )
            remedy = f"write it behind the call, `{term.function}(…){schema.place_text(place)}`"
            reader.complain("bad-argument", message, place, "not inside", remedy)


def _is_read(reader: TermReader, argument: ex.Argument) -> bool:
    """Whether an argument reads the data: a name, or a function, that is no constant."""
    value = argument.value
    return argument.name is None and isinstance(value, ex.Reference | ex.Apply) and not _is_constant(reader, argument)


def _is_constant(reader: TermReader, argument: ex.Argument) -> bool:
    return argument.name is None and isinstance(reader.context.spec.settled(argument.value), ex.Number | ex.Text)


# whole conditions -----------------------------------------------------------------------------------------------------


def constraint_can_be_tried(context: Context, constraint: Constraint | Expectation) -> bool:
    reader = TermReader(context, labels=True)
    reader.constraint(constraint)
    return not reader.problems and not reader.unknown and all(map(_is_one_value, constraint_nodes(constraint)))


def memory_can_be_tried(context: Context, memory: Memory) -> bool:
    reader = TermReader(context, labels=True)
    reader.value_if(memory.value, context.states(memory.name))
    return not reader.problems and not reader.unknown and all(map(_is_one_value, schema.value_if_nodes(memory.value)))


def _is_one_value(node: ex.Node) -> bool:
    """Whether a term is read at one position, and a regex is one."""
    if isinstance(node, ex.Reference | ex.Apply):
        return schema.place_offset(node.place) is not None
    return not isinstance(node, ex.Regex) or compile_error(node) is None
