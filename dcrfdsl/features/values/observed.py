"""The observations that hard tables read, as one number per token: the row of the table that applies at each anchor.

Outside the sequence a test is false and a text is not a state; `not` of a test is true where the test is false. Not
here: the tables (`semantics.conditions.constraint_tables`, `semantics.conditions.memories`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...foundation import Ints, Ints32, Mask
from ...semantics import Apply, Condition, Observed, Reference, fold
from ..plan import fixed_condition, leaves, moved
from ..sentence_runs import Block
from .distinct_values import TRUTHS, CorpusValues
from .joint_tests import TRUE, joint_test


def observed_codes(observed: Sequence[Observed], values: CorpusValues) -> Ints:
    """The joint code of `observed` at each token, [N]: mixed radix, the first one slowest; 0 if there are none."""
    corpus = values.corpus
    block = Block(0, corpus.num_tokens, np.asarray(corpus.sentence_off, np.int64), 0, 0)
    codes = np.zeros(corpus.num_tokens, np.int64)

    def is_true(condition: Condition) -> Mask:
        return np.asarray(joint_test(fixed_condition(values.spec, condition), values)(block) == TRUE)

    for one in observed:
        codes *= one.count
        codes += _texts(one, values, block) if one.states else fold(one.term, TRUTHS, is_true)
    return codes


def _texts(one: Observed, values: CorpusValues, block: Block) -> Ints32:
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
