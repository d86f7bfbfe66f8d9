"""From the tree of a text to the expressions of a specification: places, values, conditions, features, calls, domains.

A one-to-one translation that drops layout and records where everything was written. Names stay names. Not here:
statements (`declarations`), the meaning of names (`checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ...foundation import Diagnostic, Label, Span, did_you_mean
from ...syntax import ast
from ..schema import SCHEMES, SYNTAX, Path, expressions as ex, model_spec as model

MAX_STATES = 10_000  # of one variable: a table over two of them has 10⁸ entries


class Converter:
    """Translates nodes; records their spans in `spans` and problems in `problems`.

    `relocate` maps the span of a node to the recorded one, for texts that stand for a part of another text.
    """

    def __init__(
        self,
        spans: dict[Path, Span],
        problems: list[Diagnostic],
        *,
        relocate: Callable[[Span], Span] = lambda span: span,
    ):
        self.spans = spans
        self.problems = problems
        self._relocate = relocate

    def note(self, path: Path, node: ast.Node) -> None:
        self.spans[path] = self._relocate(node.span)

    def complain(self, slug: str, message: str, node: ast.Node, words: str = "", help: str | None = None) -> None:
        self.problems.append(Diagnostic(slug, message, Label(self._relocate(node.span), words), help=help))

    def owner(self, node: ast.Name | None, path: Path) -> Literal["token", "sentence"]:
        """What has one state of a label: `for sentence`, or `for token`, which goes without saying."""
        if node is None:
            return "token"
        self.note(path, node)
        if node.text == "sentence":
            return "sentence"
        if node.text != "token":
            guess = did_you_mean(node.text, ("sentence", "token"))
            remedy = f"did you mean `for {guess}`?" if guess else "write `for sentence`: one state for all its tokens"
            message = f"a label is for each token or for a sentence, and `{node.text}` is neither"
            self.complain("bad-owner", message, node, "expected `sentence`", remedy)
        return "token"

    # places and terms ---------------------------------------------------------------------------------------

    def place(self, node: ast.Place | None) -> ex.Place:
        match node:
            case None | ast.Offset(value=0):
                return ex.Here()
            case ast.Offset():
                return ex.At(offset=node.value)
            case ast.Window():
                return ex.Window(first=node.first, last=node.last)
            case ast.Offsets():
                return ex.Several(offsets=node.values)
            case ast.Position():
                return ex.Named(position=node.name, shift=node.shift)

    def term(self, node: ast.Term, at: Path) -> ex.Reference | ex.Apply:
        self.note(at, node)
        if node.place is not None:
            self.note((*at, "place"), node.place)
        if isinstance(node, ast.Reference):
            self.note((*at, "name"), node.name)
            return ex.Reference(name=node.name.text, place=self.place(node.place))
        self.note((*at, "function"), node.function)
        arguments = self.arguments(node.arguments, (*at, "arguments"))
        return ex.Apply(function=node.function.text, arguments=arguments, place=self.place(node.place))

    def quantity(self, node: ast.Quantity, at: Path) -> ex.Quantity:
        """What a comparison of numbers has on a side."""
        self.note(at, node)
        match node:
            case ast.Difference():
                return ex.Difference(
                    left=self.term(node.left, (*at, "left")), right=self.term(node.right, (*at, "right"))
                )
            case ast.Literal(value=int() | float() as number):
                return ex.Number(value=number)
            case ast.Reference() | ast.Apply():
                return self.term(node, at)
        raise AssertionError(node)

    def value(self, node: ast.Value, at: Path) -> ex.Value:
        self.note(at, node)
        match node:
            case ast.Reference() | ast.Apply():
                return self.term(node, at)
            case ast.Literal(value=str() as text):
                return ex.Text(value=text)
            case ast.Literal(value=int() | float() as number):
                return ex.Number(value=number)
            case ast.Range():
                return ex.Range(first=node.first, last=node.last)
            case ast.Regex():
                return self.regex(node, at)
        raise AssertionError(node)

    def regex(self, node: ast.Regex, at: Path) -> ex.Regex:
        self.note(at, node)
        return ex.Regex(pattern=node.pattern, ignore_case=node.ignore_case)

    def word(self, node: ast.Name | ast.State, at: Path) -> str:
        self.note(at, node)
        return node.text

    def arguments(self, nodes: Sequence[ast.Argument | ast.TypedArgument], at: Path) -> tuple[ex.Argument, ...]:
        converted: list[ex.Argument] = []
        for node in nodes:
            path = (*at, len(converted))
            if isinstance(node, ast.TypedArgument):
                self.complain("bad-argument", f"`{node.name.text}:` types a column, which only `data` has", node)
                continue
            self.note(path, node)
            if node.name is not None:
                self.note((*path, "name"), node.name)
            name = node.name.text if node.name is not None else None
            converted.append(ex.Argument(value=self.value(node.value, (*path, "value")), name=name))
        return tuple(converted)

    # conditions and features ----------------------------------------------------------------------------------

    def condition(self, node: ast.Feature, at: Path) -> Any:
        self.note(at, node)
        if isinstance(node, ast.Reference | ast.Apply):
            return self.term(node, at)
        kind = _KINDS[type(node)]
        names = [name for name in kind.model_fields if name != "kind"]
        return kind(**{name: _FIELDS[name](self, getattr(node, name), (*at, name)) for name in names})

    def features(self, nodes: Sequence[ast.Feature], at: Path) -> tuple[ex.Feature, ...]:
        return tuple(self.condition(node, (*at, n)) for n, node in enumerate(nodes))

    def value_if(self, node: ast.ValueIf, at: Path) -> ex.ValueIf:
        self.note(at, node)
        optional = {
            field: self.condition(part, (*at, field))
            for field, part in (("condition", node.condition), ("otherwise", node.otherwise))
            if part is not None
        }
        return ex.ValueIf(value=self.condition(node.value, (*at, "value")), **optional)

    # calls and settings -----------------------------------------------------------------------------------------

    def settings(self, nodes: Sequence[ast.Setting], at: Path) -> tuple[model.Setting, ...]:
        converted = []
        for n, node in enumerate(nodes):
            self.note((*at, n), node)
            self.note((*at, n, "key"), node.key)
            converted.append(model.Setting(key=node.key.parts, value=self.value(node.value, (*at, n, "value"))))
        return tuple(converted)

    def call(self, node: ast.Call, at: Path, settings: Sequence[ast.Setting] = ()) -> model.CallSpec:
        """A method with its arguments, and the settings of its block."""
        self.note(at, node)
        self.note((*at, "name"), node.name)
        arguments = self.arguments(node.arguments, (*at, "arguments"))
        return model.CallSpec(
            name=node.name.text, arguments=arguments, settings=self.settings(settings, (*at, "settings"))
        )

    # sites and domains --------------------------------------------------------------------------------------------

    def sites(self, nodes: Sequence[ast.Site], at: Path) -> tuple[model.Site, ...]:
        for n, node in enumerate(nodes):
            self.note((*at, n), node)
            self.note((*at, n, "variable"), node.variable)
            if node.place is not None:
                self.note((*at, n, "place"), node.place)
        return tuple(model.Site(variable=node.variable.text, place=self.place(node.place)) for node in nodes)

    def states(self, nodes: Sequence[ast.State], at: Path) -> tuple[str, ...]:
        for n, node in enumerate(nodes):
            self.note((*at, n), node)
        return tuple(node.text for node in nodes)

    def domain(self, node: ast.Domain, at: Path) -> model.Domain:
        self.note(at, node)
        match node:
            case ast.Enumerated():
                return model.Enumerated(states=self.states(node.states, (*at, "states")))
            case ast.Cardinality():
                if not 1 <= node.count <= MAX_STATES:
                    self.complain("bad-setting", f"`{node.count}` states: expected 1 to {MAX_STATES:,}", node)
                return model.Cardinality(count=min(max(node.count, 1), MAX_STATES))
            case ast.StateFile():
                return model.StateFile(path=node.path)
            case ast.Scheme():
                return self._scheme(node.call, at)

    def _scheme(self, call: ast.Call, at: Path) -> model.Domain:
        """`bio(NP)`, `states(role)`; after a problem the states count as learned, so that checking can continue."""
        name = call.name.text
        words: list[str] = []
        for n, argument in enumerate(call.arguments):
            self.note((*at, "types", n), argument)
            match argument:
                case ast.Argument(name=None, value=ast.Reference(place=None) as word):
                    words.append(word.name.text)
                case ast.Argument(name=None, value=ast.Literal(value=str() as text)):
                    words.append(text)
                case _:
                    remedy = 'quote a type that is no plain name, as in `bio("T-1")`'
                    self.complain("bad-argument", f"`{name}` takes names of segment types", argument, help=remedy)
        if name == "states":
            if len(words) == 1:
                return model.StatesOf(variable=words[0])
            self.complain("bad-argument", f"`states` takes one variable, found {len(words)}", call)
            return model.Learned()
        if name not in SCHEMES:
            guess = SCHEMES.suggest(name)
            known = ", ".join(f"`{scheme}(…)`" for scheme in SCHEMES)
            remedy = (
                f"did you mean `{guess}`?"
                if guess
                else f"states are `{{A, B}}`, a number, a file, {known} or `states(y)`"
            )
            self.complain("unknown-name", f"`{name}` is not a segment scheme", call.name, "unknown scheme", remedy)
            return model.Learned()
        return model.Scheme(name=name, types=tuple(words))


_KINDS: Mapping[type[ast.Node], type[ex.Frozen]] = {node: kind for kind, node in SYNTAX.items()}
_FIELDS: Mapping[str, Callable[[Converter, Any, Path], Any]] = {
    "term": Converter.term,
    "left": Converter.quantity,
    "right": Converter.quantity,
    "sign": lambda converter, sign, at: sign,
    "regex": Converter.regex,
    "state": Converter.word,
    "states": Converter.states,
    "lexicon": Converter.word,
    "negated": lambda converter, negated, at: negated,
    "inner": Converter.condition,
    "parts": Converter.features,
    "factors": Converter.features,
}
