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

from ...foundation import Floats, Ints, Ints32, Mask, data_error
from ...semantics import Connectives, Observed, fold
from ...syntax import nodes as ex
from ..plan import condition_text, fixed_condition, leaves, moved
from .distinct_values import TRUTHS, CorpusValues
from .row_blocks import Block, PairBlock
from .text_functions import COMPARISONS
from .value_kinds import Truths

FALSE, UNKNOWN, TRUE = 0, 1, 2
NO_VALUE = -1
OUTSIDE = -2

JointTest: TypeAlias = Callable[[Block | PairBlock], Ints32]


def joint_test(condition: ex.Condition, values: CorpusValues) -> JointTest:
    """A function from a block to `FALSE`, `UNKNOWN` or `TRUE` per row, [R]."""

    def read(part: ex.Condition) -> set[tuple[str, int]]:
        return {(condition_text(leaf), offset) for leaf, offset in leaves(values.spec, part)}

    def leaf(part: ex.Condition) -> JointTest:
        if len(read(part)) == 1:
            return _one_place(part, values)
        if isinstance(part, ex.Equals) and _is_numeric(part, values):
            return _compared(part.left, "!=" if part.negated else "=", part.right, values)
        if isinstance(part, ex.Equals):
            return _equal_texts(part, values)
        if isinstance(part, ex.Compares):
            return _compared(part.left, part.sign, part.right, values)
        raise data_error("bad-argument", f"`{condition_text(part)}` cannot read several places at once")

    return fold(condition, _THREE_VALUED, leaf, lambda part: len(read(part)) == 1)


def _one_place(condition: ex.Condition, values: CorpusValues) -> JointTest:
    offset = next(leaves(values.spec, condition))[1]
    source, truths = values.evaluate(moved(condition, -offset))
    if not isinstance(truths, Truths):
        raise data_error("not-a-test", f"`{condition_text(condition)}` is a value, and a test is needed here")
    # a place without a value (code -1, here the last entry) passes no test
    lut = np.append(np.where(truths.of, TRUE, FALSE), FALSE).astype(np.int32)
    codes = np.where(source.codes >= 0, source.codes, len(truths.of)).astype(np.int32)
    return lambda block: block.codes(codes, lut, offset, left=UNKNOWN, right=UNKNOWN, step=0)


def _negated(test: JointTest) -> JointTest:
    return lambda block: (TRUE - test(block)).astype(np.int32)


def _combined(operation: np.ufunc) -> Callable[[list[JointTest]], JointTest]:
    return lambda tests: lambda block: reduce(operation, [test(block) for test in tests])


_THREE_VALUED = Connectives(_negated, _combined(np.minimum), _combined(np.maximum))


def _place(term: ex.Reference | ex.Apply, values: CorpusValues) -> tuple[ex.Reference | ex.Apply, int]:
    """A term without its place, and the place."""
    ((_, offset),) = leaves(values.spec, term)
    base = moved(term, -offset)
    assert isinstance(base, ex.Reference | ex.Apply)
    return base, offset


def _is_numeric(condition: ex.Equals, values: CorpusValues) -> bool:
    return values.is_numeric(condition.left) and values.is_numeric(condition.right)


def _equal_texts(condition: ex.Equals, values: CorpusValues) -> JointTest:
    reads = _text_readers(condition, values)

    def test(block: Block | PairBlock) -> Ints32:
        a, b = (read(block) for read in reads)
        truth = np.where(((a == b) & (a != NO_VALUE)) ^ condition.negated, TRUE, FALSE)
        return np.where((a == OUTSIDE) | (b == OUTSIDE), UNKNOWN, truth).astype(np.int32)

    return test


def equality_codes(condition: ex.Equals, values: CorpusValues, block: Block | PairBlock) -> tuple[Ints32, Ints32]:
    """Both sides of an equality as codes that are equal exactly where the sides are, [R] each; negative: no value."""
    if _is_numeric(condition, values):
        sides = np.concatenate([_number_reader(term, values)(block) for term in (condition.left, condition.right)])
        _, codes = np.unique(sides, return_inverse=True)
        known = np.where(np.isnan(sides), NO_VALUE, codes).astype(np.int32)
        return known[: block.num_rows], known[block.num_rows :]
    left, right = (read(block) for read in _text_readers(condition, values))
    return left, right


def _text_readers(condition: ex.Equals, values: CorpusValues) -> list[JointTest]:
    """Reads each side as codes over the texts of both."""
    ids: dict[str | None, int] = {None: NO_VALUE}

    def reader(term: ex.Reference | ex.Apply) -> JointTest:
        base, offset = _place(term, values)
        source, texts = values.single(base)
        lut = np.array([ids.setdefault(text, len(ids)) for text in texts], np.int32)
        return lambda block: block.codes(source.codes, lut, offset, left=OUTSIDE, right=OUTSIDE, step=0)

    return [reader(condition.left), reader(condition.right)]


# comparisons of numbers ---------------------------------------------------------------------------------------------

NumberReader: TypeAlias = Callable[[Block | PairBlock], Floats]  # -> [R], NaN where there is no number


def _compared(left: ex.Quantity, sign: str, right: ex.Quantity, values: CorpusValues) -> JointTest:
    """Unknown where a place lies outside the sequence, false where a number is missing."""
    condition = ex.Compares(left=left, sign=sign, right=right)  # type: ignore[arg-type]  # a sign of a node
    offsets = sorted({offset for _, offset in leaves(values.spec, condition)})
    ours, theirs, holds = _number_reader(left, values), _number_reader(right, values), COMPARISONS[sign]

    def test(block: Block | PairBlock) -> Ints32:
        truth = np.where(holds(ours(block), theirs(block)), TRUE, FALSE)
        return np.where(block.inside(offsets), truth, UNKNOWN).astype(np.int32)

    return test


def _number_reader(quantity: ex.Quantity, values: CorpusValues) -> NumberReader:
    match quantity:
        case ex.Number(value=value):
            return lambda block: np.full(block.num_rows, float(value))
        case ex.Difference(left=left, right=right):
            first, second = _number_reader(left, values), _number_reader(right, values)
            return lambda block: first(block) - second(block)
    base, offset = _place(quantity, values)
    of_tokens = values.numbers_of_tokens(base)
    return lambda block: block.numbers(of_tokens, offset, outside=np.nan)


# what hard tables read ------------------------------------------------------------------------------------------------


def observed_codes(observed: Sequence[Observed], values: CorpusValues) -> Ints:
    """The joint code of `observed` at each token, [N]: mixed radix, the first one slowest; 0 if there are none."""
    corpus = values.corpus
    block = Block(0, corpus.num_tokens, np.asarray(corpus.sentence_off, np.int64), 0, 0)
    codes = np.zeros(corpus.num_tokens, np.int64)

    def is_true(condition: ex.Condition) -> Mask:
        return np.asarray(joint_test(fixed_condition(values.spec, condition), values)(block) == TRUE)

    for one in observed:
        codes *= one.count
        codes += _state_codes(one, values, block) if one.states else fold(one.term, TRUTHS, is_true)
    return codes


def _state_codes(one: Observed, values: CorpusValues, block: Block) -> Ints32:
    """The state that equals the text of a term, `len(states)` if none does."""
    term = fixed_condition(values.spec, one.term)
    assert isinstance(term, ex.Reference | ex.Apply)  # only the text of a term is compared with states
    base, offset = _place(term, values)
    source, texts = values.single(base)
    number = {state: code for code, state in enumerate(one.states)}
    none = len(one.states)
    lut = np.array([*(number.get(text, none) if text is not None else none for text in texts), none], np.int32)
    codes = np.where(source.codes >= 0, source.codes, len(texts)).astype(np.int32)
    return block.codes(codes, lut, offset, left=none, right=none, step=0)
