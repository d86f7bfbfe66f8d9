"""What hard tables read of the data, as one number a token: which of a table's readings applies at each anchor.

Outside the sequence a test is false and a text is no state; `not` of a test is true where the test is false. Not
here: the tables (`semantics.conditions.constraint_tables`, `semantics.conditions.memories`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...semantics import And, Apply, Condition, Not, Observed, Or, Reference
from ..plan import fixed_condition, leaves, moved
from ..sentence_runs import Block
from .distinct_values import CorpusValues
from .joint_tests import TRUE, joint_test

__all__ = ["observed_codes"]


def observed_codes(observed: Sequence[Observed], values: CorpusValues) -> NDArray[np.int64]:
    """The joint code of `observed` at each token, [N]: mixed radix, the first one slowest; 0 if there is none."""
    corpus = values.corpus
    block = Block(0, corpus.num_tokens, np.asarray(corpus.sentence_off, np.int64), 0, 0)
    codes = np.zeros(corpus.num_tokens, np.int64)
    for one in observed:
        codes *= one.count
        codes += _texts(one, values, block) if one.states else _truth(one.term, values, block)
    return codes


def _truth(condition: Condition, values: CorpusValues, block: Block) -> NDArray[np.bool_]:
    match condition:
        case Not(inner=inner):
            return ~_truth(inner, values, block)
        case And(parts=parts):
            return np.asarray(np.all([_truth(part, values, block) for part in parts], axis=0), np.bool_)
        case Or(parts=parts):
            return np.asarray(np.any([_truth(part, values, block) for part in parts], axis=0), np.bool_)
    return np.asarray(joint_test(fixed_condition(values.spec, condition), values)(block) == TRUE)


def _texts(one: Observed, values: CorpusValues, block: Block) -> NDArray[np.int32]:
    """The state that the text of a term equals, `len(states)` if it equals none."""
    term = fixed_condition(values.spec, one.term)
    ((_, offset),) = leaves(values.spec, term)
    base = moved(term, -offset)
    assert isinstance(base, Reference | Apply)  # a term stays one wherever it is moved
    source, texts = values.single(base)
    number = {state: code for code, state in enumerate(one.states)}
    none = len(one.states)
    lut = np.array([*(number.get(text, none) if text is not None else none for text in texts), none], np.int32)
    codes = np.where(source.codes >= 0, source.codes, len(texts)).astype(np.int32)
    return block.codes(codes, lut, offset, left=none, right=none, step=0)
