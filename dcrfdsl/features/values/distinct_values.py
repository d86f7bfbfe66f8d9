"""Conditions and terms on the distinct values of a corpus: texts, truth values or numbers, one per distinct value.

All of this runs in Python once per distinct value (regexes by RE2, lexicons, functions of users), never once per token.
A `Source` is what is read: a column, the position in the sequence, a span, or the results of a call of several values:

    f(word, 3)           called once a distinct value of `word`, with the constants of the template
    f(word, pos[-1])     once a distinct combination of values; None where a place lies outside the sentence
    f(word[all])         once a distinct sentence, with the list of its values; gives a list, a result a token

Not here: places, positions outside a sequence, ids; one call and its result (`user_functions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import pairwise
from typing import Any, TypeGuard

import numpy as np

from ...data import BagColumn, Corpus, InternedColumn, NumericColumn
from ...foundation import Floats, Ints32, Mask, data_error, dataclass, parts_of
from ...semantics import FUNCTIONS, Bins, Connectives, ModelSpec, bind, fold, gives_number, missing_mark, read_bins
from ...syntax import NUMERIC, nodes as ex
from ..plan import condition_text, is_joint, leaves, moved, reads_sentence, term_text, term_variants
from .lexicons import Lexicon, Lexicons, span_codes
from .number_values import NumberMoments, binned, numbers_of, quantile_edges, statistic
from .row_blocks import Block
from .text_functions import COMPARISONS
from .user_functions import FunctionCalls, RegisteredFeature, kind_of_result
from .value_functions import FEATURES, arguments_of, compiled
from .value_kinds import Bags, Numbers, Source, Texts, Truths, Values, checked_bag
from .window_statistics import STATISTICS

# functions of users ---------------------------------------------------------------------------------------------------


GIVEN: Mapping[str, str] = {"value": "text", "test": "truth", "number": "number", "weights": "mapping of names"}


def own_values(values: CorpusValues, term: ex.Apply, inner: Values, source: Source) -> Values:
    """A function of one value, on the values `inner` that its first argument has on those of a source."""
    calls = _calls(values, term)
    if isinstance(inner, Bags):
        raise data_error("not-a-text", f"`{calls.name}` is called with single values, and this is a weighted bag")
    extra = [_constant(values.spec, term, argument.value) for argument in term.arguments[1:]]
    arguments = inner.of if isinstance(inner, Texts) else [() if v != v else (v,) for v in inner.of.tolist()]
    results = [
        [calls.result((value, *extra), partial(_first_token, source.codes, n)) for value in several]
        for n, several in enumerate(arguments)
    ]
    return _gathered(values, calls.name, results)


def joint_source(values: CorpusValues, term: ex.Apply) -> Source:
    """The results of a call of several values, or of sentences, and which of them each token has."""
    calls = _calls(values, term)
    read = [argument.value for argument in term.arguments]
    whole = [value for value in read if reads_sentence(value)]
    columns: dict[int, tuple[Ints32, list[Any]]] = {}
    constants: dict[int, Any] = {}
    for n, value in enumerate(read):
        if isinstance(value, ex.Reference | ex.Apply) and next(leaves(values.spec, _placed(value)), None) is not None:
            if whole and value not in whole:
                message = f"`{term_text(term)}` reads a whole sentence, and one place of it"
                raise data_error("bad-argument", message, help="write `[all]` behind every column, or behind none")
            columns[n] = _column(values, _placed(value))
        else:
            constants[n] = _constant(values.spec, term, value)
    return (_of_sentences if whole else _of_tuples)(calls, columns, constants)


def _placed(value: ex.Reference | ex.Apply) -> ex.Reference | ex.Apply:
    """An argument without `[all]`."""
    return moved(value.model_copy(update={"place": ex.Here()}), 0) if reads_sentence(value) else value  # type: ignore[return-value]


def _column(values: CorpusValues, value: ex.Reference | ex.Apply) -> tuple[Ints32, list[Any]]:
    """The code of an argument at each token, [N], -1 for none; and the values of the codes."""
    ((_, offset),) = leaves(values.spec, value)
    base = moved(value, -offset)
    assert isinstance(base, ex.Reference | ex.Apply)  # a moved term is still a term
    source, found = values.evaluate(base)
    if isinstance(found, Bags) or (isinstance(found, Texts) and any(len(texts) > 1 for texts in found.of)):
        message = f"`{condition_text(base)}` has several values, and a function takes one of each"
        raise data_error("several-values", message)
    if isinstance(found, Texts):
        known = [texts[0] if texts else None for texts in found.of]
    else:
        known = [None if one != one else one for one in found.of.tolist()]
    off = np.asarray(values.corpus.sentence_off, np.int64)
    block = Block(0, int(off[-1]), off, 0, 0)
    same = np.arange(len(known), dtype=np.int32)
    return block.codes(source.codes, same, offset, left=-1, right=-1, step=0), known


Read = Mapping[int, tuple[Ints32, list[Any]]]  # by argument: the code of each token, and the values


def _of_tuples(calls: FunctionCalls, columns: Read, constants: Mapping[int, Any]) -> Source:
    """One call a distinct combination, in the order in which they occur."""
    codes = np.stack([of_tokens for of_tokens, _ in columns.values()], axis=1)
    rows, first, number = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    results = []
    for n in order.tolist():
        texts = [known[code] if code >= 0 else None for code, (_, known) in zip(rows[n], columns.values(), strict=True)]
        results.append(calls.result(_arguments(columns, texts, constants), partial(int, first[n])))
    return Source(rank[number.ravel()], results)


def _of_sentences(calls: FunctionCalls, columns: Read, constants: Mapping[int, Any]) -> Source:
    """One call a distinct sentence; each token is a value of its own."""
    seen: dict[bytes, list[Any]] = {}
    results: list[Any] = []
    for start, end in pairwise(np.asarray(calls.corpus.sentence_off).tolist()):
        if start == end:
            continue
        key = b"".join(of_tokens[start:end].tobytes() for of_tokens, _ in columns.values())
        if key not in seen:
            lists = [
                [known[code] if code >= 0 else None for code in of_tokens[start:end].tolist()]
                for of_tokens, known in columns.values()
            ]
            seen[key] = calls.results(_arguments(columns, lists, constants), start, end - start)
        results.extend(seen[key])
    return Source(np.arange(len(results), dtype=np.int32), results)


def _arguments(columns: Mapping[int, object], found: Sequence[Any], constants: Mapping[int, Any]) -> list[Any]:
    """The arguments in the order of the template."""
    by_place = {**constants, **dict(zip(columns, found, strict=True))}
    return [by_place[n] for n in sorted(by_place)]


def _calls(values: CorpusValues, term: ex.Apply) -> FunctionCalls:
    name = term.function
    if name not in values.registered:
        remedy = "load the file that defines it: `--features FILE.py`, or pass it as `features`"
        raise data_error("unknown-function", f"`{name}` is no feature function", help=remedy)
    return FunctionCalls(name, values.registered[name].function, values.corpus)


def _first_token(codes: Ints32, number: int) -> int | None:
    """The first token with a value."""
    return next(iter(np.flatnonzero(codes == number).tolist()), None)


# results --------------------------------------------------------------------------------------------------------


def _gathered(values: CorpusValues, name: str, results: list[list[Any]]) -> Values:
    """The results for each distinct value; DcrfError unless all are of the kind that the function has in training."""
    kinds = {kind for row in results for kind in map(kind_of_result, row) if kind}
    kind = values.kinds.get(name) or min(kinds, default="value")
    if kinds - {kind}:
        other, remedy = min(kinds - {kind}), "a function must give texts, truths, numbers or mappings, always the same"
        message = f"feature function `{name}` gives a {GIVEN[kind]} here and a {GIVEN[other]} there"
        raise data_error("mixed-results", message, help=remedy)
    values.kinds[name] = kind
    return GATHERED[kind](results)


def _texts(results: list[list[Any]]) -> Texts:
    def several(row: list[Any]) -> Iterable[str]:
        for result in row:
            yield from (result,) if isinstance(result, str) else result or ()

    return Texts([tuple(dict.fromkeys(several(row))) for row in results])


def _sum(row: Sequence[float | None]) -> float:
    return float(sum(number or 0 for number in row)) if any(number is not None for number in row) else np.nan


def _weights(results: list[list[Any]]) -> Bags:
    """The names of each value with their numbers; those of several results add up."""
    numbers: dict[str, int] = {}
    off, codes, weights = [0], [], []
    for row in results:
        found: dict[str, float] = {}
        for result in row:
            for name, weight in (result or {}).items():
                found[name] = found.get(name, 0.0) + float(weight)
        codes += [numbers.setdefault(name, len(numbers)) for name in found]
        weights += list(found.values())
        off.append(len(codes))
    return Bags(np.array(off, np.int64), np.array(codes, np.int32), np.array(weights, np.float64), list(numbers))


GATHERED: Mapping[str, Callable[[list[list[Any]]], Values]] = {
    "value": _texts,
    "test": lambda results: Truths(np.array([any(row) for row in results], np.bool_)),
    "number": lambda results: Numbers(np.array([_sum(row) for row in results], np.float64)),
    "weights": _weights,
}


def _constant(spec: ModelSpec, term: ex.Apply, value: object) -> int | float | str:
    settled = spec.settled(value) if isinstance(value, ex.Reference) else value
    if isinstance(settled, ex.Number | ex.Text):
        return settled.value
    message = f"the further arguments of `{term_text(term)}` must be columns, numbers or quoted texts"
    raise data_error("bad-argument", message)


TRUTHS: Connectives[Mask] = Connectives(
    np.logical_not,
    lambda parts: np.asarray(np.all(parts, axis=0), np.bool_),
    lambda parts: np.asarray(np.any(parts, axis=0), np.bool_),
)


@dataclass
class CorpusValues:
    """Evaluates on one corpus. `kinds` is the kind of each registered function in training: value, test or number;
    `learned` the edges of each `bin` that are quantiles of the training data, mean and spread of `standardize`. What is
    not in them is learned here.
    """

    spec: ModelSpec
    corpus: Corpus
    lexicons: Lexicons
    registered: Mapping[str, RegisteredFeature]
    kinds: dict[str, str]
    learned: dict[str, tuple[float, ...]] = field(default_factory=dict)
    _sources: dict[str, Source] = field(default_factory=dict)
    _terms: dict[str, Values] = field(default_factory=dict)
    _numbers: dict[str, NumericColumn] = field(default_factory=dict)

    def source(self, leaf: ex.Reference | ex.Apply) -> Source:
        """The codes and distinct values of a column, of `first`, `last` or `index`, or of a span."""
        name = condition_text(leaf)
        if name not in self._sources:
            self._sources[name] = self._read(leaf)
        return self._sources[name]

    def numbers(self, column: str, component: int | None) -> Floats:
        """A numeric column, or one component of a vector column, [N]."""
        values = self._numeric(column).values
        if values.ndim == 2:
            values = values[:, component or 0]
        return np.ascontiguousarray(values, np.float64)

    def is_numeric(self, condition: ex.Condition) -> bool:
        """Whether a condition is just the name of a numeric column."""
        column = self.spec.column(condition.name) if isinstance(condition, ex.Reference) else None
        return column is not None and column.type.name in NUMERIC

    def is_text(self, condition: ex.Condition) -> TypeGuard[ex.Reference]:
        """Whether a condition is just the name of a column with one text a token."""
        column = self.spec.column(condition.name) if isinstance(condition, ex.Reference) else None
        if column is None or column.type.name != "str":
            return False
        return isinstance(self.corpus.columns.get(column.name), InternedColumn)

    def evaluate(self, condition: ex.Condition) -> tuple[Source, Values]:
        """A condition that reads one place: its source, and its result on each of the source's values."""
        leaf = next(leaves(self.spec, condition))[0]
        source = self.source(leaf)
        if isinstance(condition, ex.Reference | ex.Apply):
            return source, self._term(condition, source)
        return source, Truths(fold(condition, TRUTHS, lambda part: self._test(part, source)))

    def single(self, term: ex.Reference | ex.Apply) -> tuple[Source, list[str | None]]:
        """A term in a comparison: one text or None per distinct value."""
        source, values = self.evaluate(term)
        several = self._several(term, values)
        if any(len(texts) > 1 for texts in several):
            message = f"`{condition_text(term)}` has several values, and `=` compares single ones"
            raise data_error("several-values", message)
        return source, [texts[0] if texts else None for texts in several]

    # sources ------------------------------------------------------------------------------------------------------

    def _read(self, leaf: ex.Reference | ex.Apply) -> Source:
        if isinstance(leaf, ex.Apply):
            if leaf.function in STATISTICS:
                return self._window(leaf)
            return self._span(leaf) if leaf.function == "span" else joint_source(self, leaf)
        if self.spec.column(leaf.name) is None:
            return position_of(leaf.name, self.corpus)
        column = self._column(leaf.name)
        if isinstance(column, NumericColumn):
            if column.values.ndim == 2:
                raise data_error("not-a-text", f"`{leaf.name}` is a vector: it can only be a feature as it is")
            numbers, codes = np.unique(self._numeric(leaf.name).values, return_inverse=True)
            return Source(codes.astype(np.int32), numbers.tolist())
        if isinstance(column, BagColumn):  # each token is a value of its own
            return Source(np.arange(self.corpus.num_tokens, dtype=np.int32), range(self.corpus.num_tokens))
        return Source(np.require(column.codes, np.int32, ["C", "W"]), column.values)

    def _column(self, name: str) -> InternedColumn | NumericColumn | BagColumn:
        column, declared = self.corpus.columns.get(name), self.spec.column(name)
        if column is None:
            raise data_error("missing-column", f"the data has no column `{name}`", file=self.corpus.file)
        if isinstance(column, BagColumn) != (declared is not None and declared.type.name == "weighted_bag"):
            message = f"column `{name}` is a weighted bag in the template or in the data, and not in the other"
            raise data_error("column-type", message, file=self.corpus.file)
        return column

    def _numeric(self, name: str) -> NumericColumn:
        """A numeric column, checked once: a vector is read once for each component."""
        if name in self._numbers:
            return self._numbers[name]
        column, declared = self._column(name), self.spec.column(name)
        size = None if declared is None else declared.type.size
        if not isinstance(column, NumericColumn) or column.values.shape[1:] != (() if size is None else (size,)):
            wanted = "numbers" if size is None else f"vectors of {size} numbers"
            message = f"column `{name}` does not hold {wanted}, which the template declares"
            raise data_error("column-type", message, file=self.corpus.file)
        finite = np.isfinite(column.values)
        if size is None and missing_mark(self.spec.data) is not None:
            finite |= np.isnan(column.values)
        if not finite.all():
            token = int(np.argwhere(~finite)[0][0])
            number = column.values[token] if column.values.ndim == 1 else column.values[token][~finite[token]][0]
            message = f"column `{name}` has the value `{number}`, which no weight can be multiplied with"
            raise data_error("bad-value", message, file=self.corpus.file, line=int(self.corpus.token_line[token]))
        self._numbers[name] = column
        return column

    def _span(self, leaf: ex.Apply) -> Source:
        bound, problems = bind(FUNCTIONS["span"], leaf.arguments, self.spec.settled)
        term, lexicon = bound.get("term"), bound.get("lexicon")
        if problems or not isinstance(term, ex.Reference | ex.Apply) or not isinstance(lexicon, ex.Reference):
            raise data_error("bad-argument", "; ".join(p.message for p in problems))
        source, texts = self.evaluate(term)
        entries = self._lexicon(lexicon.name)
        several = self._several(term, texts)
        if entries.ignores_case:
            several = [tuple(map(entries.key, one)) for one in several]
        codes = span_codes(source.codes, several, self.corpus.sentence_off, entries.entries)
        return Source(codes, ("B", "I"))

    def _window(self, leaf: ex.Apply) -> Source:
        read = leaf.arguments[0].value
        assert isinstance(read, ex.Reference | ex.Apply)
        (inner,) = term_variants(read.model_copy(update={"place": ex.Here()}), 0)
        numbers, codes = np.unique(statistic(leaf, self.numbers_of_tokens(inner), self.corpus), return_inverse=True)
        return Source(codes.astype(np.int32), numbers.tolist())

    def numbers_of_tokens(self, quantity: ex.Reference | ex.Apply) -> Floats:
        """The number of a term at each token, [N], NaN for none."""
        source = self.source(next(leaves(self.spec, quantity))[0])
        of_tokens: Floats = np.append(self.numbers_of(quantity, source), np.nan)[source.codes]  # -1 reads the NaN
        return of_tokens

    def _lexicon(self, name: str) -> Lexicon:
        if name not in self.lexicons.by_name:
            raise data_error("unknown-name", f"`{name}` is not a lexicon")
        return self.lexicons.by_name[name]

    def numbers_of(self, quantity: ex.Quantity, source: Source) -> Floats:
        """A side of a comparison on each distinct value of a source, [V] or []; NaN where it is no number."""
        match quantity:
            case ex.Number(value=value):
                return np.array(value, np.float64)
            case ex.Difference(left=left, right=right):
                return self.numbers_of(left, source) - self.numbers_of(right, source)
            case ex.Apply(function="length", arguments=(ex.Argument(value=ex.Reference() | ex.Apply() as subject), *_)):
                several = self._several(subject, self._term(subject, source))  # all lengths, also those from 20 on
                return np.array([len(texts[0]) if texts else np.nan for texts in several], np.float64)
        values = self._term(quantity, source)
        return values.of if isinstance(values, Numbers) else numbers_of(self._several(quantity, values))

    # terms --------------------------------------------------------------------------------------------------------

    def _term(self, term: ex.Reference | ex.Apply, source: Source) -> Values:
        name = term_text(term)
        if name not in self._terms:
            found = self._of_reference(term, source) if isinstance(term, ex.Reference) else self._of(term, source)
            self._terms[name] = found
        return self._terms[name]

    def _of_reference(self, term: ex.Reference, source: Source) -> Values:
        column = self.spec.column(term.name)
        if column is None and FUNCTIONS[term.name].returns == "test":
            return Truths(np.array(source.values, np.bool_))
        if column is not None and column.type.name == "bag":
            return Texts([tuple(dict.fromkeys(parts_of(value))) for value in source.values])
        if column is not None and isinstance(bag := self._column(term.name), BagColumn):
            return checked_bag(term.name, bag, self.corpus)
        if any(isinstance(value, float) for value in source.values[:1]):
            return Numbers(np.array(source.values, np.float64))
        return Texts(list(zip(source.values)))

    def _of(self, term: ex.Apply, source: Source) -> Values:
        if term.function == "span":
            return Texts(list(zip(source.values)))
        if term.function in STATISTICS:
            return Numbers(np.array(source.values, np.float64))
        if is_joint(term):
            return _gathered(self, term.function, [[result] for result in source.values])
        subject = term.arguments[0].value
        assert isinstance(subject, ex.Reference | ex.Apply)  # `expand` allows nothing else
        if term.function == "bin":
            return Texts(binned(self.numbers_of(subject, source), self._edges(term, subject, source)))
        if gives_number(term):
            if term_text(term) not in self.learned:
                self.learned[term_text(term)] = self.moments(term).scale(term)
            shift, unit = self.learned[term_text(term)]
            return Numbers((self.numbers_of(subject, source) - shift) / unit)
        inner = self._term(subject, source)
        if term.function in FEATURES:
            bound, problems = bind(FUNCTIONS[term.function], term.arguments, self.spec.settled)
            if problems:
                raise data_error("bad-argument", "; ".join(problem.message for problem in problems))
            return self._mapped(subject, inner, FEATURES[term.function](*arguments_of(bound)))
        if term.function in self.lexicons.by_name:
            lexicon = self.lexicons.by_name[term.function]
            if lexicon.values is None:
                message = f"lexicon `{lexicon.name}` is a set: it has no values that could be looked up"
                raise data_error("set-as-map", message)
            return self._mapped(subject, inner, lexicon.looked_up)
        return own_values(self, term, inner, source)

    def _edges(self, term: ex.Apply, subject: ex.Reference | ex.Apply, source: Source) -> tuple[float, ...]:
        bins = read_bins(term, self.spec.settled)
        if not isinstance(bins, Bins):
            raise data_error("bad-argument", bins.message, help=bins.help)
        if bins.count is None:
            return bins.edges
        name = term_text(term)
        if name not in self.learned:
            self.learned[name] = quantile_edges(self.numbers_of(subject, source), source.codes, bins.count)
        return self.learned[name]

    def moments(self, term: ex.Apply) -> NumberMoments:
        """Of the number that `standardize` or `scale` is to bring to scale."""
        subject, source = term.arguments[0].value, self.source(next(leaves(self.spec, term))[0])
        assert isinstance(subject, ex.Reference | ex.Apply)
        return NumberMoments.of(self.numbers_of(subject, source), source.codes)

    def _mapped(
        self, subject: ex.Reference | ex.Apply, inner: Values, function: Callable[[str], tuple[str, ...]]
    ) -> Values:
        if isinstance(inner, Bags):
            return inner.mapped(function)

        def of_several(texts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(out for text in texts for out in function(text)))

        several = self._several(subject, inner)
        return Texts([function(texts[0]) if len(texts) == 1 else of_several(texts) for texts in several])

    def _several(self, term: ex.Reference | ex.Apply, values: Values) -> list[tuple[str, ...]]:
        if not isinstance(values, Texts):
            message = f"`{condition_text(term)}` is a {_KIND[type(values)]}, and a text is needed here"
            raise data_error("not-a-text", message)
        return values.of

    # conditions -----------------------------------------------------------------------------------------------------

    def _test(self, condition: ex.Condition, source: Source) -> Mask:
        match condition:
            case ex.Reference() | ex.Apply():
                values = self._term(condition, source)
                if not isinstance(values, Truths):
                    message = f"`{condition_text(condition)}` is a value, and a test is needed here"
                    raise data_error("not-a-test", message)
                return values.of
            case ex.Matches(term=term, regex=regex) | ex.Has(term=term, regex=regex):
                pattern = compiled(regex)
                match = pattern.fullmatch if isinstance(condition, ex.Matches) else pattern.search
                return self._any(term, source, lambda text: match(text.encode()) is not None)
            case ex.Is(term=term, negated=negated) if isinstance(values := self._term(term, source), Numbers):
                return np.isnan(values.of) ^ negated  # `temp is missing`
            case ex.Is(term=term, state=state, negated=negated):
                return self._any(term, source, lambda text: text == state) ^ negated
            case ex.InSet(term=term, states=states, negated=negated):
                return self._any(term, source, frozenset(states).__contains__) ^ negated
            case ex.InLexicon(term=term, lexicon=lexicon, negated=negated):
                return self._any(term, source, self._lexicon(lexicon).test) ^ negated
            case ex.Equals(left=left, right=right, negated=negated):
                sides = (self.single(left)[1], self.single(right)[1])
                equal = [a is not None and a == b for a, b in zip(*sides, strict=True)]
                return np.array(equal, np.bool_) ^ negated
            case ex.Compares(left=left, sign=sign, right=right):
                holds: Mask = COMPARISONS[sign](self.numbers_of(left, source), self.numbers_of(right, source))
                return holds
        raise AssertionError(condition)

    def _any(self, term: ex.Reference | ex.Apply, source: Source, test: Callable[[str], object]) -> Mask:
        """[V] whether one of the texts of each value passes."""
        values = self._term(term, source)
        if isinstance(values, Bags):
            return values.any(test)
        several = self._several(term, values)
        passed = [bool(test(texts[0])) if len(texts) == 1 else any(map(test, texts)) for texts in several]
        return np.array(passed, np.bool_)


# positions ------------------------------------------------------------------------------------------------------


def position_of(name: str, corpus: Corpus) -> Source:
    """`index`, from 1, or whether a token is the `first` or `last` of its sentence."""
    lengths = corpus.lengths()
    place = np.arange(corpus.num_tokens) - np.repeat(corpus.sentence_off[:-1], lengths)
    if name == "index":
        return Source(place.astype(np.int32), [str(t + 1) for t in range(int(lengths.max(initial=0)))])
    marked = place == (0 if name == "first" else np.repeat(lengths - 1, lengths))
    return Source(marked.astype(np.int32), (False, True))


_KIND: Mapping[type, str] = {Texts: "text", Truths: "test", Numbers: "number", Bags: "weighted bag"}
