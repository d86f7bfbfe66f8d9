"""Tests that read several places (`word[-1] = word`, `first or pos[-1] is DT`), row by row; and what hard tables read.

Tests have three values: a part that reads outside the sequence is neither true nor false, `not` leaves it so, and only
a test that is true fires. Within a single place everything is known, so `distinct_values` needs only two.

What a hard table reads is one number per token, the row of the table that applies at each anchor. There, outside the
sequence, a test is false and a text is not a state, and `not` of a test is true where the test is false. Not here: the
tables (`semantics.conditions.condition_tables`, `semantics.conditions.memories`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np

from ...foundation import Codes, Floats, Ints, Ints32, Mask, data_error
from ...semantics import Connectives, Observed, fold
from ...syntax import Apply, Compares, Condition, Difference, Equals, Number, Quantity, Reference
from ..plan import condition_text, fixed_condition, leaves, moved
from .distinct_values import TRUTHS, CorpusValues
from .number_values import COMPARISONS
from .row_blocks import Block, PairBlock
from .value_kinds import Truths

FALSE, UNKNOWN, TRUE = 0, 1, 2
NO_VALUE = -1
OUTSIDE = -2

JointTest: TypeAlias = Callable[[Block | PairBlock], Ints32]


def joint_test(condition: Condition, values: CorpusValues) -> JointTest:
    """A function from a block to `FALSE`, `UNKNOWN` or `TRUE` per row, [R]."""
    return fold(condition, _THREE_VALUED, lambda part: _leaf(part, values), lambda part: len(_read(part, values)) == 1)


def _read(condition: Condition, values: CorpusValues) -> set[tuple[str, int]]:
    """What a condition reads, and where."""
    return {(condition_text(leaf), offset) for leaf, offset in leaves(values.spec, condition)}


def _leaf(condition: Condition, values: CorpusValues) -> JointTest:
    read = _read(condition, values)
    if len(read) == 1:
        return _one_place(condition, read.pop()[1], values)
    if isinstance(condition, Equals):
        numeric = all(values.is_numeric(side) for side in (condition.left, condition.right))
        return (_equal_numbers if numeric else _equal_texts)(condition, condition.negated, values)
    if isinstance(condition, Compares):
        return _compared(condition, values)
    raise data_error("bad-argument", f"`{condition_text(condition)}` cannot read several places at once")


def _one_place(condition: Condition, offset: int, values: CorpusValues) -> JointTest:
    source, truths = values.evaluate(moved(condition, -offset))
    if not isinstance(truths, Truths):
        message = f"`{condition_text(condition)}` is a value, and a test is needed here"
        raise data_error("not-a-test", message)
    # a place without a value (code -1, here the last entry) passes no test
    lut = np.append(np.where(truths.of, TRUE, FALSE), FALSE).astype(np.int32)
    codes = np.where(source.codes >= 0, source.codes, len(truths.of)).astype(np.int32)
    return lambda block: block.codes(codes, lut, offset, left=UNKNOWN, right=UNKNOWN, step=0)


def _negated(test: JointTest) -> JointTest:
    return lambda block: (TRUE - test(block)).astype(np.int32)


def _combined(operation: np.ufunc) -> Callable[[list[JointTest]], JointTest]:
    return lambda tests: lambda block: reduce(operation, [test(block) for test in tests])


_THREE_VALUED = Connectives(_negated, _combined(np.minimum), _combined(np.maximum))


def _place(term: Reference | Apply, values: CorpusValues) -> tuple[Reference | Apply, int]:
    """A term without its place, and the place."""
    ((_, offset),) = leaves(values.spec, term)
    base = moved(term, -offset)
    assert isinstance(base, Reference | Apply)
    return base, offset


def _equal_texts(condition: Equals, negated: bool, values: CorpusValues) -> JointTest:
    reads = _text_readers(condition, values)

    def test(block: Block | PairBlock) -> Ints32:
        a, b = (read(block) for read in reads)
        truth = np.where(((a == b) & (a != NO_VALUE)) ^ negated, TRUE, FALSE)
        return np.where((a == OUTSIDE) | (b == OUTSIDE), UNKNOWN, truth).astype(np.int32)

    return test


def equality_codes(condition: Equals, values: CorpusValues, block: Block | PairBlock) -> tuple[Ints32, Ints32]:
    """Both sides of an equality as codes that are equal exactly where the sides are, [R] each; negative: no value."""
    if values.is_numeric(condition.left) and values.is_numeric(condition.right):
        sides = []
        for term in (condition.left, condition.right):
            base, offset = _place(term, values)
            assert isinstance(base, Reference)
            sides.append(block.numbers(values.numbers(base.name, None), offset, outside=np.nan))
        _, codes = np.unique(np.concatenate(sides), return_inverse=True)
        known = np.where(np.isnan(np.concatenate(sides)), NO_VALUE, codes).astype(np.int32)
        return known[: block.num_rows], known[block.num_rows :]
    left, right = (read(block) for read in _text_readers(condition, values))
    return left, right


def _text_readers(condition: Equals, values: CorpusValues) -> list[JointTest]:
    """Reads each side as codes over the texts of both."""
    ids: dict[str | None, int] = {None: NO_VALUE}
    reads: list[JointTest] = []
    for term in (condition.left, condition.right):
        base, offset = _place(term, values)
        source, texts = values.single(base)
        lut = np.array([ids.setdefault(text, len(ids)) for text in texts], np.int32)
        reads.append(_reader(source.codes, lut, offset))
    return reads


def _reader(codes: Codes, lut: Ints32, offset: int) -> JointTest:
    return lambda block: block.codes(codes, lut, offset, left=OUTSIDE, right=OUTSIDE, step=0)


def _equal_numbers(condition: Equals, negated: bool, values: CorpusValues) -> JointTest:
    places = []
    for term in (condition.left, condition.right):
        base, offset = _place(term, values)
        assert isinstance(base, Reference)
        places.append((values.numbers(base.name, None), offset))
    holds, offsets = COMPARISONS["!=" if negated else "="], sorted({offset for _, offset in places})

    def test(block: Block | PairBlock) -> Ints32:
        a, b = (block.numbers(numbers, offset, outside=np.nan) for numbers, offset in places)
        truth = np.where(holds(a, b), TRUE, FALSE)  # false where a number is missing
        return np.where(block.inside(offsets), truth, UNKNOWN).astype(np.int32)

    return test


# comparisons of numbers ---------------------------------------------------------------------------------------------

NumberReader: TypeAlias = Callable[[Block | PairBlock], Floats]  # -> [R], NaN where there is no number


def _compared(condition: Compares, values: CorpusValues) -> JointTest:
    offsets = sorted({offset for _, offset in leaves(values.spec, condition)})
    left, right = _number_reader(condition.left, values), _number_reader(condition.right, values)
    holds = COMPARISONS[condition.sign]

    def test(block: Block | PairBlock) -> Ints32:
        truth = np.where(holds(left(block), right(block)), TRUE, FALSE)
        return np.where(block.inside(offsets), truth, UNKNOWN).astype(np.int32)

    return test


def _number_reader(quantity: Quantity, values: CorpusValues) -> NumberReader:
    match quantity:
        case Number(value=value):
            return lambda block: np.full(block.num_rows, float(value))
        case Difference(left=left, right=right):
            first, second = _number_reader(left, values), _number_reader(right, values)
            return lambda block: first(block) - second(block)
    base, offset = _place(quantity, values)
    source = values.source(next(leaves(values.spec, base))[0])
    of_tokens = np.append(values.numbers_of(base, source), np.nan)[source.codes]  # the code -1 reads the NaN at the end
    return lambda block: block.numbers(of_tokens, offset, outside=np.nan)


# what hard tables read ------------------------------------------------------------------------------------------------


def observed_codes(observed: Sequence[Observed], values: CorpusValues) -> Ints:
    """The joint code of `observed` at each token, [N]: mixed radix, the first one slowest; 0 if there are none."""
    corpus = values.corpus
    block = Block(0, corpus.num_tokens, np.asarray(corpus.sentence_off, np.int64), 0, 0)
    codes = np.zeros(corpus.num_tokens, np.int64)

    def is_true(condition: Condition) -> Mask:
        return np.asarray(joint_test(fixed_condition(values.spec, condition), values)(block) == TRUE)

    for one in observed:
        codes *= one.count
        codes += _state_codes(one, values, block) if one.states else fold(one.term, TRUTHS, is_true)
    return codes


def _state_codes(one: Observed, values: CorpusValues, block: Block) -> Ints32:
    """The state that equals the text of a term, `len(states)` if none does."""
    term = fixed_condition(values.spec, one.term)
    ((_, offset),) = leaves(values.spec, term)
    base = moved(term, -offset)
    assert isinstance(base, Reference | Apply)  # a moved term is still a term
    source, texts = values.single(base)
    number = {state: code for code, state in enumerate(one.states)}
    none = len(one.states)
    lut = np.array([*(number.get(text, none) if text is not None else none for text in texts), none], np.int32)
    codes = np.where(source.codes >= 0, source.codes, len(texts)).astype(np.int32)
    return block.codes(codes, lut, offset, left=none, right=none, step=0)
