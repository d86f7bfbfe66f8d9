"""What functions of users give: on the distinct values of a column, on distinct values of several, on whole sentences.

    f(word, 3)           called once a distinct value of `word`, with the constants of the template
    f(word, pos[-1])     once a distinct combination of values; None where a place lies outside the sentence
    f(word[all])         once a distinct sentence, with the list of its values; gives a list, a result a token

Not here: one call and its result (`user_calls`), finding the functions (`registered`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...foundation import DcrfError, Diagnostic, Ints32
from ...semantics import Apply, Condition, Here, ModelSpec, Number, Reference, Text, nodes
from ..plan import condition_text, leaves, moved, reads_sentence, term_text
from ..sentence_runs import Block
from .bag_values import Bags
from .user_calls import FunctionCalls, kind_of
from .value_kinds import Numbers, Source, Texts, Truths, Values

if TYPE_CHECKING:
    from .distinct_values import CorpusValues

GIVEN: Mapping[str, str] = {"value": "text", "test": "truth", "number": "number", "weights": "mapping of names"}


def gives_weights(condition: Condition, kinds: Mapping[str, str]) -> bool:
    """Whether a term is made of what a user's function gives as names with numbers."""
    return isinstance(condition, Reference | Apply) and any(
        isinstance(node, Apply) and kinds.get(node.function) == "weights" for _, node in nodes(condition)
    )


def own_values(values: CorpusValues, term: Apply, inner: Values, source: Source) -> Values:
    """A function of one value, on the values `inner` that its first argument has on those of a source."""
    calls = _calls(values, term)
    if isinstance(inner, Bags):
        raise _error("not-a-text", f"`{calls.name}` is called with single values, and this is a weighted bag")
    extra = [_constant(values.spec, term, argument.value) for argument in term.arguments[1:]]
    arguments = inner.of if isinstance(inner, Texts) else [() if v != v else (v,) for v in inner.of.tolist()]
    results = [
        [calls.result((value, *extra), partial(_first, source.codes, n)) for value in several]
        for n, several in enumerate(arguments)
    ]
    return _gathered(values, calls.name, results)


def joint_values(values: CorpusValues, term: Apply, source: Source) -> Values:
    """What a call of several values, or of sentences, gives: its source has the results themselves."""
    return _gathered(values, term.function, [[result] for result in source.values])


def joint_source(values: CorpusValues, term: Apply) -> Source:
    """The results of a call of several values, or of sentences, and which of them each token has."""
    calls = _calls(values, term)
    read = [argument.value for argument in term.arguments]
    whole = [value for value in read if reads_sentence(value)]
    columns: dict[int, tuple[Ints32, list[Any]]] = {}  # argument -> the code of each token, and the values
    constants: dict[int, Any] = {}
    for n, value in enumerate(read):
        if isinstance(value, Reference | Apply) and next(leaves(values.spec, _placed(value)), None) is not None:
            if whole and value not in whole:
                message = f"`{term_text(term)}` reads a whole sentence, and one place of it"
                raise _error("bad-argument", message, "write `[all]` behind every column, or behind none")
            columns[n] = _column(values, _placed(value))
        else:
            constants[n] = _constant(values.spec, term, value)
    return (_of_sentences if whole else _of_tuples)(values, calls, columns, constants)


def _placed(value: Reference | Apply) -> Reference | Apply:
    """An argument without `[all]`."""
    return moved(value.model_copy(update={"place": Here()}), 0) if reads_sentence(value) else value  # type: ignore[return-value]


def _column(values: CorpusValues, value: Reference | Apply) -> tuple[Ints32, list[Any]]:
    """The code of an argument at each token, [N], -1 for none; and the values of the codes."""
    ((_, offset),) = leaves(values.spec, value)
    base = moved(value, -offset)
    assert isinstance(base, Reference | Apply)  # a moved term is still a term
    source, found = values.evaluate(base)
    if isinstance(found, Bags) or (isinstance(found, Texts) and any(len(texts) > 1 for texts in found.of)):
        raise _error("several-values", f"`{condition_text(base)}` has several values, and a function takes one of each")
    if isinstance(found, Texts):
        known = [texts[0] if texts else None for texts in found.of]
    else:
        known = [None if one != one else one for one in found.of.tolist()]
    off = np.asarray(values.corpus.sentence_off, np.int64)
    block = Block(0, int(off[-1]), off, 0, 0)
    same = np.arange(len(known), dtype=np.int32)
    return block.codes(source.codes, same, offset, left=-1, right=-1, step=0), known


def _of_tuples(
    values: CorpusValues, calls: FunctionCalls, columns: Mapping[int, tuple[Ints32, list[Any]]],
    constants: Mapping[int, Any],
) -> Source:  # fmt: skip
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


def _of_sentences(
    values: CorpusValues, calls: FunctionCalls, columns: Mapping[int, tuple[Ints32, list[Any]]],
    constants: Mapping[int, Any],
) -> Source:  # fmt: skip
    """One call a distinct sentence; each token is a value of its own."""
    seen: dict[bytes, list[Any]] = {}
    results: list[Any] = []
    for start, end in pairwise(np.asarray(values.corpus.sentence_off).tolist()):
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


def _calls(values: CorpusValues, term: Apply) -> FunctionCalls:
    name = term.function
    if name not in values.registered:
        raise _error(
            "unknown-function", f"`{name}` is no feature function",
            "load the file that defines it: `--features FILE.py`, or pass it as `features`",
        )  # fmt: skip
    return FunctionCalls(name, values.registered[name].function, values.corpus)


def _first(codes: Ints32, number: int) -> int | None:
    """The first token with a value."""
    tokens = np.flatnonzero(codes == number)
    return int(tokens[0]) if len(tokens) else None


# results --------------------------------------------------------------------------------------------------------


def _gathered(values: CorpusValues, name: str, results: list[list[Any]]) -> Values:
    """The results for each distinct value; DcrfError unless all are of the kind that the function has in training."""
    kinds = {kind for row in results for kind in map(kind_of, row) if kind}
    kind = values.kinds.get(name) or min(kinds, default="value")
    if kinds - {kind}:
        raise _error(
            "mixed-results",
            f"feature function `{name}` gives a {GIVEN[kind]} here and a {GIVEN[min(kinds - {kind})]} there",
            "a function must give texts, truths, numbers or mappings, always the same",
        )  # fmt: skip
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


def _constant(spec: ModelSpec, term: Apply, value: object) -> int | float | str:
    settled = spec.settled(value) if isinstance(value, Reference) else value
    if isinstance(settled, Number | Text):
        return settled.value
    raise _error(
        "bad-argument", f"the further arguments of `{term_text(term)}` must be columns, numbers or quoted texts"
    )


def _error(slug: str, message: str, help: str | None = None) -> DcrfError:
    return DcrfError(Diagnostic(slug, message, help=help))
