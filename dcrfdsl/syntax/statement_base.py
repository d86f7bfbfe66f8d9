"""What all statements have: parts in an order, options, comments, layout, and two ways to be written.

`shapes` says for each keyword which parts a statement has and which words stand before them, in the order of the
grammar's rule. Parser, formatter, messages, highlighters and editors go by it. A statement keeps what was written, with
comments and layout, beside what it says; only the latter counts where statements are compared and stored. Not here: the
statements (`statements`), the nodes inside (`nodes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

from ..foundation import Diagnostic, Label, Span, dataclass
from . import nodes
from .nodes import Node, Reference, Setting, Value
from .statement_options import OptionReader, count, read_options

MAX_STATES = 10_000  # of one variable: a table over two of them has 10⁸ entries


@dataclass(frozen=True)
class Trivia:
    """Comments of a statement: whole lines before it (`""` is a blank line) and one at the end of its line.

    `inside[i]` are the whole-line comments before line i of an indented block, `ends[i]` the comment at its end;
    one more item in `inside` holds the comments after its last line. Both are empty if there are none.
    """

    before: tuple[str, ...] = ()
    end: str = ""
    inside: tuple[tuple[str, ...], ...] = ()
    ends: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layout:
    """The layout of a comma list: `block` = indented; `rows[i]` = number of items on line i of the block.

    above: the parts of the statement that stand on lines of their own at the top of the block. They are not rows. A
    block without `rows` has one item per line.
    """

    block: bool = False
    rows: tuple[int, ...] = ()
    above: tuple[str, ...] = ()


INLINE = Layout()
SAME = ...  # in `Statement.written`: what was written is the field of that name


class Part(NamedTuple):
    """A part of a statement.   name: of the field that has it.   before: the words or mark before it.

    form: `word` (a name), `text` (in quotes), `state`, `states` (in braces), `node`, `nodes` (with commas between
    them), `with` (options), `list` (after a colon, perhaps a block) or `items` (a list without a colon).
    """

    name: str
    before: str = ""
    form: str = "node"


NAME = Part("name", form="word")
AS_NAME = Part("name", "as", "word")
OPTIONS = Part("with", "with", "with")


@dataclass(frozen=True)
class Reading:
    """A statement as the parser has it: its parts as they are written, their places, and room for complaints."""

    keyword: str
    parts: Mapping[str, Any]
    places: dict[str, Span | tuple[Span, ...]]
    problems: list[Diagnostic]

    def complain(self, slug: str, message: str, span: Span, words: str = "", help: str | None = None) -> None:
        self.problems.append(Diagnostic(slug, message, Label(span, words), help=help))

    def call(self, name: str, settings: str = "") -> nodes.CallSpec | None:
        """A call among the parts, with the settings of the block, without arguments that only `data` takes."""
        call = self.parts.get(name)
        if not isinstance(call, nodes.CallSpec):
            return None
        for argument in call.arguments:
            if argument.is_type:
                self.complain(
                    "bad-argument", f"`{argument.name}:` types a column, which only `data` has", argument.span
                )
        arguments = tuple(argument for argument in call.arguments if not argument.is_type)
        return call.model_copy(update={"arguments": arguments, "settings": self.parts.get(settings, ())})

    def domain(self) -> nodes.Domain | None:
        """The domain, if there is one. After a problem its states count as learned, so that checking can continue."""
        node = self.parts.get("domain")
        if isinstance(node, nodes.CallSpec):
            return self._scheme(node)
        if isinstance(node, nodes.Cardinality) and not 1 <= node.count <= MAX_STATES:
            self.complain("bad-setting", f"`{node.count}` states: expected 1 to {MAX_STATES:,}", node.span)
            return node.model_copy(update={"count": min(max(node.count, 1), MAX_STATES)})
        return node

    def _scheme(self, call: nodes.CallSpec) -> nodes.Domain:
        """`bio(NP)`, `states(role)`"""
        words: list[str] = []
        for argument in call.arguments:
            match argument:
                case nodes.Argument(name=None, value=Reference() as word) if is_plain(word):
                    words.append(word.name)
                case nodes.Argument(name=None, value=nodes.Text() as text):
                    words.append(text.value)
                case _:
                    remedy = 'quote a type that is no plain name, as in `bio("T-1")`'
                    message = f"`{call.name}` takes names of segment types"
                    self.complain("bad-argument", message, argument.span, help=remedy)
        if call.name != "states":
            spans = tuple(argument.span for argument in call.arguments)
            return nodes.Scheme(name=call.name, types=tuple(words)).at(
                call.span, name=call.place_of("name"), types=spans
            )
        if len(words) == 1:
            return nodes.StatesOf(variable=words[0]).at(call.span)
        self.complain("bad-argument", f"`states` takes one variable, found {len(words)}", call.span)
        return nodes.Learned().at(call.span)


Shapes: TypeAlias = Mapping[str, tuple[Part, ...]]


class Statement(Node):
    """The base class of statements.

    shapes: the parts of the statement, for each keyword that begins one.
    with_options: what may stand after `with`, for each keyword, and how its value is read.
    section, word, space: the field of a specification that holds it; what messages call it; the space of its name:
        `value` (columns, labels, groups …), `part` (cliques, pieces, constraints) or `stage`.
    most_inline: how many items of its list still fit on its line.
    trivia, layout, written: its comments, its layout, and its parts as they were written.
    problems: what is wrong with it by itself.
    """

    shapes: ClassVar[Shapes] = {}
    with_options: ClassVar[Mapping[str, Mapping[str, OptionReader]]] = {}
    section: ClassVar[str] = ""
    word: ClassVar[str] = ""
    space: ClassVar[str] = "value"
    most_inline: ClassVar[int] = 3
    if TYPE_CHECKING:  # each statement has it as a field, behind the others
        doc: tuple[str, ...]
    trivia: ClassVar[Trivia] = Trivia()
    layout: ClassVar[Layout] = INLINE
    written: ClassVar[Mapping[str, Any]] = {}
    problems: ClassVar[tuple[Diagnostic, ...]] = ()

    def keep(self, parts: Mapping[str, Any], layout: Layout, problems: Sequence[Diagnostic]) -> Self:
        """The same statement, told how it was written. For the parser, which has just made it."""
        fields = self.__dict__
        written = {name: SAME if part is fields.get(name) else part for name, part in parts.items()}
        fields.update(written=written, layout=layout, problems=tuple(problems))
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with other values of the fields in `update`; it was not written if it says something else."""
        copied = super().model_copy(update=update)
        if not set(update or ()) <= {"doc", "trivia"}:
            copied.__dict__.pop("written", None)
        return copied

    def written_parts(self) -> dict[str, Any]:
        """The parts that were written, by their names, in the order of the text."""
        return {name: getattr(self, name) if part is SAME else part for name, part in self.written.items()}

    @property
    def keyword(self) -> str:
        """The word that it begins with."""
        return next(iter(self.shapes))

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """The statement of its written parts."""
        fields = nodes.field_names(cls)
        parts = {name: part for name, part in reading.parts.items() if name in fields}
        if "domain" in parts:
            parts["domain"] = reading.domain()
        return cls(**parts, **cls.read_options(reading))

    @classmethod
    def read_options(cls, reading: Reading) -> dict[str, Any]:
        """The values of the options after `with`, by their names."""
        settings = reading.parts.get("with", ())
        if not settings:
            return {}
        table = cls.with_options.get(reading.keyword, {})
        options, places, problems = read_options(settings, table, reading.keyword, all_options())
        reading.problems.extend(problems)
        reading.places.update(places)
        return options

    def plain_parts(self, *, every_option: bool = False) -> dict[str, Any]:
        """The parts in which it is written, by their names; those that go without saying are left out.

        every_option: options with their defaults, too, where these are values and mean something.
        """
        fields = nodes.field_names(type(self))
        parts = {part.name: getattr(self, part.name) for part in self.shapes[self.keyword] if part.name in fields}
        parts["with"] = self.option_settings(every_option)
        return {name: part for name, part in parts.items() if part is not None and part != ()}

    def option_settings(self, every: bool) -> tuple[Setting, ...]:
        """Its options as settings."""
        written = []
        for name in self.with_options.get(self.keyword, {}):
            value = getattr(self, name)
            if value != nodes.default_of(type(self), name) or (
                every and value not in (None, ()) and name not in self.idle_options
            ):
                written.append(Setting(key=(name,), value=option_value(value)))
        return tuple(written)

    @property
    def idle_options(self) -> tuple[str, ...]:
        """Options that mean nothing for this very statement."""
        return ()

    def plain_layout(self) -> Layout:
        """Its layout where a program has made it: a long list is a block."""
        lists = [part for part in self.shapes[self.keyword] if part.form == "list"]
        items = self.plain_parts().get(lists[0].name, ()) if lists else ()
        return Layout(block=True) if len(items) > self.most_inline else INLINE


def option_value(value: bool | int | str | tuple[str, ...] | Reference) -> Value:
    """The value of an option as a setting has it."""
    if isinstance(value, Reference):
        return value
    if isinstance(value, tuple):
        texts = tuple(nodes.Argument(value=nodes.Text(value=text)) for text in value)
        return nodes.Apply(function="types", arguments=texts)
    if isinstance(value, bool):
        return Reference(name="yes" if value else "no")
    return nodes.word_value(value) if isinstance(value, str) else nodes.Number(value=value)


def scheme_call(domain: nodes.Domain | None) -> nodes.Domain | nodes.CallSpec | None:
    """A domain as it is written: a scheme is a call, and states that are learned are not written."""
    match domain:
        case nodes.Learned():
            return None
        case nodes.Scheme(name=name, types=types):
            return nodes.CallSpec(
                name=name, arguments=tuple(nodes.Argument(value=nodes.word_value(word)) for word in types)
            )
        case nodes.StatesOf(variable=variable):
            return nodes.CallSpec(name="states", arguments=(nodes.Argument(value=nodes.word_value(variable)),))
    return domain


def all_options() -> dict[str, tuple[str, ...]]:
    """The options of all statements, by their keywords."""
    kinds = Statement.__subclasses__()
    return {keyword: tuple(options) for kind in kinds for keyword, options in kind.with_options.items()}


def is_plain(value: Value) -> bool:
    """Whether a value is a name without an index."""
    return isinstance(value, Reference) and isinstance(value.place, nodes.Here) and not value.place.is_written


def read_limits(reading: Reading, names: Sequence[str]) -> dict[str, Any]:
    """The whole numbers, or names of constants, among the parts of these names."""
    written = [(name, value) for name in names if (value := reading.parts.get(name)) is not None]
    settings = tuple(Setting(key=(name,), value=value).at(value.span, key=value.span) for name, value in written)
    limits, places, problems = read_options(settings, dict.fromkeys(names, count), reading.keyword, all_options())
    reading.places.update(places)
    reading.problems.extend(problems)
    return limits
