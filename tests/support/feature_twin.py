"""A slow and obvious reimplementation of `dcrfdsl.features`: token by token, on texts.

At an anchor t every listed feature is written out as a text (`lower(word)[-1]=the & pos=NN`) with its value; the text
identifies the feature. Nothing is interned. Shared with the code under test are only the classes of the specification
and the notation of one term.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import re2

from dcrfdsl.semantics.schema.model_spec import ModelSpec
from dcrfdsl.syntax import FeatureGroup, nodes as ex

Sentence = Mapping[str, Sequence[Any]]  # column -> the value of each token
OUTSIDE = "outside"
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip

TEXT: dict[str, Callable[..., list[str]]] = {
    "lower": lambda v: [v.lower()],
    "prefix": lambda v, n: [v[:k] for k in n if len(v) >= k],
    "suffix": lambda v, n: [v[-k:] for k in n if len(v) >= k],
    "extract": lambda v, regex: [match.group() for match in [regex.search(v)] if match],
    "part": lambda v, n: [v.split(" ")[k - 1] for k in n if k <= v.count(" ") + 1],
    "chars": lambda v, n: [v[i : i + k] for k in n for i in range(len(v)) if i + k <= len(v)],
    "length": lambda v: ["20+" if len(v) >= 20 else str(len(v))],
    "shape": lambda v, short=False: [shape(v, short)],
}


def shape(value: str, short: bool) -> str:
    out = ""
    for char in value:
        kind = "X" if char.isupper() else "x" if char.isalpha() else "d" if char.isdigit() else char
        if not (short and out.endswith(kind)):
            out += kind
    return out


class Weighted(dict[str, float]):
    """The names of a weighted bag, with their weights."""


class Twin:
    """`sizes`: the numeric columns, with the length of vectors; `bags`: the bag columns; lexicons are dicts (sets map
    to "").
    """

    def __init__(self, spec: ModelSpec, lexicons: Mapping[str, Mapping[str, str]], functions: Mapping[str, Any]):
        self.spec, self.lexicons, self.functions = spec, lexicons, functions
        assert spec.data is not None
        self.types = {column.name: column.type for column in spec.data.columns}

    # one clique ---------------------------------------------------------------------------------------------------

    def rows(self, clique: int, sentences: Sequence[Sentence]) -> list[dict[str, tuple[float, int]]]:
        """Every row of a clique, sentence after sentence: feature text -> (value, min_count)."""
        spec = self.spec.cliques[clique]
        places = [0 if s.place.kind == "here" else s.place.offset for s in spec.sites]
        out = []
        for sentence in sentences:
            length = len(next(iter(sentence.values())))
            first, last = (-max(places), length - 1 - min(places)) if spec.edges == "pad" else (0, length - 1)
            for t in range(first, last + 1):
                row: dict[str, tuple[float, int]] = {}
                for feature in spec.features:
                    for text, value, min_count in self.fired(feature, sentence, t, 0):
                        row[text] = (value, min(min_count, row.get(text, (0, min_count))[1]))
                out.append(row)
        return out

    def fired(self, feature: ex.Feature, sentence: Sentence, t: int, shift: int) -> Iterator[tuple[str, float, int]]:
        for combination in self.crossed(feature, shift):
            yield from self.cross(*combination, sentence, t)

    def crossed(self, feature: ex.Feature, shift: int) -> Iterator[tuple[list[ex.Condition], int, bool]]:
        """The factors of every feature that an entry of a list stands for, with windows and groups expanded."""
        parts = feature.factors if isinstance(feature, ex.Cross) else (feature,)
        for chosen in itertools.product(*(list(self.alternatives(part, shift)) for part in parts)):
            factors = [factor for one in chosen for factor in one[0]]
            yield factors, max(one[1] for one in chosen), any(one[2] for one in chosen)
        if isinstance(feature, ex.Reference) and self.may_be_missing(feature.name):
            yield from self.crossed(ex.Is(term=feature, state="missing"), shift)

    def may_be_missing(self, name: str) -> bool:
        options = self.spec.data.options if self.spec.data else ()
        return name in self.types and self.types[name].name == "float" and any(o.name == "missing" for o in options)

    def alternatives(self, part: ex.Condition, shift: int) -> Iterator[tuple[list[ex.Condition], int, bool]]:
        group = self.spec.declaration(part.name) if isinstance(part, ex.Reference) else None
        if isinstance(group, FeatureGroup):
            for offset in offsets(part.place):
                for feature in group.features:
                    for factors, min_count, skip in self.crossed(feature, shift + offset):
                        yield factors, max(min_count, group.min_count), skip or group.outside == "skip"
        elif part == ex.Reference(name="bias"):
            yield [], 1, False
        else:
            for condition in unrolled(part, shift):
                yield [condition], 1, False

    def cross(
        self, factors: list[ex.Condition], min_count: int, skip: bool, sentence: Sentence, t: int
    ) -> Iterator[tuple[str, float, int]]:
        length = len(next(iter(sentence.values())))
        if not factors:
            return  # bias is no row feature
        if skip and any(not 0 <= t + o < length for factor in factors for o in self.places(factor)):
            return
        unique = [factor for i, factor in enumerate(factors) if factor not in factors[:i]]
        for chosen in itertools.product(*(self.factor(factor, sentence, t) for factor in unique)):
            value = 1.0
            for _, number in chosen:
                value *= number
            if value != 0:
                yield " & ".join(text for text, _ in chosen), value, min_count

    # one factor ---------------------------------------------------------------------------------------------------

    def factor(self, condition: ex.Condition, sentence: Sentence, t: int) -> list[tuple[str, float]]:
        if isinstance(condition, ex.Reference | ex.Apply):
            value = self.term(condition, sentence, t)
            name = place_last(condition)
            if isinstance(value, str):  # outside
                if self.is_text(condition):
                    return [(f"{name}={value}", 1.0)]
                return []
            if isinstance(value, bool):
                return [(name, 1.0)] if value else []
            if isinstance(value, float):
                return [(name, value)] if value == value else []
            if isinstance(value, tuple):
                return [(f"{name}#{i}", number) for i, number in enumerate(value) if number]
            if isinstance(value, Weighted):
                return [(f"{name}={text}", weight) for text, weight in value.items()]
            return [(f"{name}={text}", 1.0) for text in dict.fromkeys(value)]
        return [(self.test_name(condition), 1.0)] if self.truth(condition, sentence, t) is True else []

    def is_text(self, term: ex.Reference | ex.Apply) -> bool:
        if isinstance(term, ex.Apply):
            return term.function not in self.functions or self.functions[term.function][1] == "value"
        numeric = term.name in self.types and self.types[term.name].name in ("float", "vector")
        return not numeric and term.name not in ("first", "last")

    def term(self, term: ex.Reference | ex.Apply, sentence: Sentence, t: int) -> Any:
        """A list of texts, a truth, a number, a tuple of numbers, or the text of a place outside (`⟨-1⟩`)."""
        (offset,) = self.places(term)
        length = len(next(iter(sentence.values())))
        at = t + offset
        if at < 0:
            return f"⟨-{-at}⟩"
        if at >= length:
            return f"⟨+{at - length + 1}⟩"
        return self.value(term, sentence, at)

    def value(self, term: ex.Reference | ex.Apply, sentence: Sentence, at: int) -> Any:
        length = len(next(iter(sentence.values())))
        if isinstance(term, ex.Reference):
            if term.name in sentence:
                value = sentence[term.name][at]
                kind = self.types[term.name].name
                if kind == "weighted_bag":
                    return Weighted(value)
                if kind == "bag":
                    return re2.findall(r"[^ \t\n\v\f\r]+", value)
                return value if kind in ("float", "vector") else [value]
            return {"first": at == 0, "last": at == length - 1, "index": [str(at + 1)]}[term.name]
        subject = term.arguments[0]
        if term.function == "span":
            return self.span(term, sentence, at)
        exact = term.function == "bin" and getattr(subject.value, "function", "") == "length"
        inner = self.value(subject.value.arguments[0].value if exact else subject.value, sentence, at)
        if isinstance(inner, Weighted):
            mapped = Weighted()
            for name, weight in inner.items():
                for out in dict.fromkeys(self.texts(term, [name])):
                    mapped[out] = mapped.get(out, 0.0) + weight
            return mapped
        if term.function == "bin":
            number = as_number(inner, exact)
            edges = [argument.value.value for argument in term.arguments[1:]]
            lower = [edge for edge in edges if number is not None and edge <= number]
            upper = [edge for edge in edges if number is not None and edge > number]
            return [] if number is None else [f"[{max(lower, default='-inf')},{min(upper, default='inf')})"]
        return self.texts(term, inner)

    def texts(self, term: ex.Apply, inner: Any) -> Any:
        """What a function gives for some texts."""
        _, *rest = term.arguments
        if term.function in self.lexicons:
            lexicon = self.lexicons[term.function]
            return [lexicon[text] for text in inner if text in lexicon]
        if term.function in self.functions:
            return self.registered(term.function, inner, [argument.value.value for argument in rest])
        arguments = [lengths_or_pattern(a.value) for a in rest if a.name is None]
        named = {a.name: a.value.name == "yes" for a in rest if a.name is not None}
        return [out for text in inner for out in TEXT[term.function](text, *arguments, **named)]

    def registered(self, name: str, inner: Any, extra: list[Any]) -> Any:
        function, kind = self.functions[name]
        values = inner if isinstance(inner, list) else [inner]
        results = [function(value, *extra) for value in values if value == value]
        if kind == "test":
            return any(results)
        if kind == "number":
            return float(sum(result or 0 for result in results))
        return [text for result in results for text in ([result] if isinstance(result, str) else list(result or []))]

    def span(self, term: ex.Apply, sentence: Sentence, at: int) -> list[str]:
        subject, lexicon = (argument.value for argument in term.arguments)
        words = [self.value(subject, sentence, t) for t in range(len(next(iter(sentence.values()))))]
        entries = [[[word] for word in entry.split()] for entry in self.lexicons[lexicon.name]]
        t = 0
        while t <= at:
            longest = max((len(entry) for entry in entries if words[t : t + len(entry)] == entry), default=0)
            if longest and at < t + longest:
                return ["B"] if at == t else ["I"]
            t += max(1, longest)
        return []

    # tests --------------------------------------------------------------------------------------------------------

    def truth(self, condition: ex.Condition, sentence: Sentence, t: int) -> bool | None:
        """True, False, or None: reads outside the sequence."""
        match condition:
            case ex.Not(inner=inner):
                inner_truth = self.truth(inner, sentence, t)
                return None if inner_truth is None else not inner_truth
            case ex.And(parts=parts):
                found_all = [self.truth(part, sentence, t) for part in parts]
                return False if False in found_all else None if None in found_all else True
            case ex.Or(parts=parts):
                found_all = [self.truth(part, sentence, t) for part in parts]
                return True if True in found_all else None if None in found_all else False
            case ex.Reference() | ex.Apply():
                value = self.term(condition, sentence, t)
                return None if isinstance(value, str) else value
            case ex.Compares(left=left, sign=sign, right=right):
                a, b = self.quantity(left, sentence, t), self.quantity(right, sentence, t)
                return None if a == OUTSIDE or b == OUTSIDE else a is not None and b is not None and SIGNS[sign](a, b)
            case ex.Equals(left=left, right=right, negated=negated):
                a, b = self.term(left, sentence, t), self.term(right, sentence, t)
                if isinstance(a, str) or isinstance(b, str):
                    return None
                if isinstance(a, float) and (a != a or b != b):
                    return False
                return (a != [] and a == b) != negated
        texts = self.term(condition.term, sentence, t)
        if isinstance(texts, str):
            return None
        if isinstance(texts, float):
            return (texts != texts) != condition.negated  # `temp is missing`
        if isinstance(texts, Weighted):
            texts = [text for text, weight in texts.items() if weight != 0]
        match condition:
            case ex.Matches(regex=regex):
                return any(pattern(regex).fullmatch(text) for text in texts)
            case ex.Has(regex=regex):
                return any(pattern(regex).search(text) for text in texts)
            case ex.Is(state=state, negated=negated):
                return (state in texts) != negated
            case ex.InSet(states=states, negated=negated):
                return any(text in states for text in texts) != negated
            case ex.InLexicon(lexicon=lexicon, negated=negated):
                return any(text in self.lexicons[lexicon] for text in texts) != negated
        raise AssertionError(condition)

    def quantity(self, quantity: ex.Quantity, sentence: Sentence, t: int) -> Any:
        """A number, None for no number, or OUTSIDE."""
        if isinstance(quantity, ex.Number):
            return quantity.value
        if isinstance(quantity, ex.Difference):
            a, b = self.quantity(quantity.left, sentence, t), self.quantity(quantity.right, sentence, t)
            return OUTSIDE if OUTSIDE in (a, b) else None if a is None or b is None else a - b
        exact = isinstance(quantity, ex.Apply) and quantity.function == "length"
        value = self.term(quantity.arguments[0].value if exact else quantity, sentence, t)
        return OUTSIDE if isinstance(value, str) else as_number(value, exact)

    def test_name(self, condition: ex.Condition) -> str:
        negated = "not " if getattr(condition, "negated", False) else ""
        match condition:
            case ex.Not(inner=inner):
                return f"not {self.nested(inner)}"
            case ex.And(parts=parts):
                return " and ".join(self.nested(part) for part in parts)
            case ex.Or(parts=parts):
                return " or ".join(self.nested(part) for part in parts)
            case ex.Reference() | ex.Apply():
                return place_last(condition)
            case ex.Equals(left=left, right=right):
                return f"{place_last(left)} {'!=' if negated else '='} {place_last(right)}"
            case ex.Compares(left=left, sign=sign, right=right):
                return f"{side_name(left)} {sign} {side_name(right)}"
            case ex.Matches(term=term, regex=regex):
                return f"{place_last(term)} matches /{regex.pattern}/{'i' * regex.ignore_case}"
            case ex.Has(term=term, regex=regex):
                return f"{place_last(term)} has /{regex.pattern}/{'i' * regex.ignore_case}"
            case ex.Is(term=term, state=state):
                return f"{place_last(term)} is {negated}{state}"
            case ex.InSet(term=term, states=states):
                return f"{place_last(term)} {negated}in {{{', '.join(states)}}}"
            case ex.InLexicon(term=term, lexicon=lexicon):
                return f"{place_last(term)} {negated}in {lexicon}"
        raise AssertionError(condition)

    def nested(self, condition: ex.Condition) -> str:
        text = self.test_name(condition)
        return f"({text})" if isinstance(condition, ex.And | ex.Or) else text

    def places(self, condition: ex.Condition) -> list[int]:
        """The offsets of everything that an unrolled condition reads."""
        match condition:
            case ex.Number():
                return []
            case ex.Reference(place=place):
                return [place.offset]
            case ex.Apply(arguments=(subject, *_)):
                return self.places(subject.value)
            case ex.Not(inner=inner):
                return self.places(inner)
            case ex.And(parts=parts) | ex.Or(parts=parts):
                return [offset for part in parts for offset in self.places(part)]
            case ex.Equals(left=left, right=right) | ex.Compares(left=left, right=right):
                return self.places(left) + self.places(right)
            case ex.Difference(left=left, right=right):
                return self.places(left) + self.places(right)
        return self.places(condition.term)


def known_rows(
    rows: list[dict[str, tuple[float, int]]], training: list[dict[str, tuple[float, int]]]
) -> list[dict[str, float]]:
    """Rows without the features that fired too seldom in `training`."""
    counts = Counter(text for row in training for text in row)
    needed = {text: min_count for row in training for text, (_, min_count) in row.items()}
    return [
        {text: value for text, (value, _) in row.items() if counts[text] >= needed.get(text, 1) and counts[text]}
        for row in rows
    ]


def offsets(place: ex.Place) -> list[int]:
    return {
        "here": lambda: [0],
        "at": lambda: [place.offset],
        "window": lambda: list(range(place.first, place.last + 1)),
        "several": lambda: list(place.offsets),
    }[place.kind]()


def unrolled(node: Any, shift: int) -> list[Any]:
    """Every combination of places of a condition, each `At` in its innermost reference."""
    if isinstance(node, ex.Reference):
        return [ex.Reference(name=node.name, place=ex.At(offset=shift + o)) for o in offsets(node.place)]
    if isinstance(node, ex.Apply):
        subject, *rest = node.arguments
        return [
            ex.Apply(function=node.function, arguments=(ex.Argument(value=inner), *rest))
            for o in offsets(node.place)
            for inner in unrolled(subject.value, shift + o)
        ]
    parts = {
        "not": ("inner",), "equals": ("left", "right"), "compares": ("left", "right"), "difference": ("left", "right"),
        "number": (), "and": ("parts",), "or": ("parts",),
    }.get(node.kind, ("term",))  # fmt: skip
    if parts == ("parts",):
        return [type(node)(parts=chosen) for chosen in itertools.product(*(unrolled(p, shift) for p in node.parts))]
    choices = itertools.product(*(unrolled(getattr(node, part), shift) for part in parts))
    return [node.model_copy(update=dict(zip(parts, chosen, strict=True))) for chosen in choices]


def as_number(value: Any, length: bool) -> float | None:
    """The number of a text, or how long it is; None if it is no number."""
    if isinstance(value, float):
        return value if value == value else None
    if not value:
        return None
    if length:
        return len(value[0])
    return float(value[0]) if value[0].isascii() and value[0].isdigit() else None


def side_name(quantity: ex.Quantity) -> str:
    if isinstance(quantity, ex.Number):
        return str(quantity.value)
    if isinstance(quantity, ex.Difference):
        return f"{place_last(quantity.left)} - {place_last(quantity.right)}"
    return place_last(quantity)


def place_last(term: ex.Reference | ex.Apply) -> str:
    """`lower(word)[-1]` for an unrolled term"""
    offset, text = bare(term)
    return f"{text}[{offset}]" if offset else text


def bare(term: ex.Reference | ex.Apply) -> tuple[int, str]:
    if isinstance(term, ex.Reference):
        return term.place.offset, term.name
    offset, inner = bare(term.arguments[0].value)
    return offset, f"{term.function}({', '.join([inner, *map(argument, term.arguments[1:])])})"


def argument(one: ex.Argument) -> str:
    value = one.value
    text = {
        "range": lambda: f"{value.first}..{value.last}",
        "number": lambda: str(value.value),
        "reference": lambda: value.name,
        "regex": lambda: f"/{value.pattern}/",
    }[value.kind]()
    return f"{one.name} = {text}" if one.name else text


def lengths_or_pattern(value: Any) -> Any:
    if isinstance(value, ex.Regex):
        return pattern(value)
    return range(value.first, value.last + 1) if isinstance(value, ex.Range) else [value.value]


def pattern(regex: ex.Regex) -> Any:
    return re2.compile(f"(?i){regex.pattern}" if regex.ignore_case else regex.pattern)
