"""The numbers of `scores` columns, as the offsets of a clique add them up."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ...data import NumericColumn, token_error
from ...foundation import Floats, data_error, did_you_mean, quoted_names
from ...semantics import GivenScores
from .distinct_values import CorpusValues
from .joint_tests import observed_codes


def given_scores(given: GivenScores, values: CorpusValues) -> Floats:
    """The score of each assignment at each token, [N, assignments], perhaps the column's own; -inf for the impossible.

    DcrfError where a column has other states or another number of them, and at the first NaN or +inf.
    """
    total: Floats | None = None
    for term in given.terms:
        scores = _scores(term.column, given, values)
        if term.scale != 1.0:
            scores = term.scale * scores
        if term.when:
            scores = np.where(observed_codes(term.when, values)[:, None] == 2 ** len(term.when) - 1, scores, 0.0)
        total = scores if total is None else total + scores
    return np.zeros((values.corpus.num_tokens, math.prod(map(len, given.states)))) if total is None else total


def _scores(name: str, given: GivenScores, values: CorpusValues) -> Floats:
    """A column of scores, in the order of the assignments."""
    corpus = values.corpus
    column = corpus.columns.get(name)
    if column is None:
        raise data_error("missing-column", f"the data has no column `{name}`", file=corpus.file)
    if not isinstance(column, NumericColumn):
        message = f"column `{name}` does not hold scores, which the template declares"
        raise data_error("column-type", message, file=corpus.file)
    assignments = [" ".join(states) for states in itertools.product(*given.states)]
    if not corpus.num_tokens:
        return np.empty((0, len(assignments)))
    numbers = np.asarray(column.values, np.float64).reshape(corpus.num_tokens, -1)
    if given.is_learned and not column.names:
        message = f"column `{name}` has numbers without names, and the states are learned from data, which orders them"
        remedy = 'name the states, as in {"O": -0.5}, or declare them in the template'
        raise token_error(corpus, 0, "bad-value", message, remedy)
    if column.names:
        numbers = numbers[:, _order(name, column, assignments, values)]
    elif numbers.shape[1] != len(assignments):
        found, listed = f"{numbers.shape[1]:,} numbers", ", ".join(quoted_names(assignments, 5))
        message = f"column `{name}` has {found} a token, expected {len(assignments):,}: those of {listed}"
        raise token_error(corpus, 0, "bad-value", message, "give one for each state, in the order of the states")
    if not numbers.max(initial=-np.inf) < np.inf:  # which NaN is not either
        wrong = np.isnan(numbers) | (numbers == np.inf)
        token, place = np.argwhere(wrong)[0].tolist()
        number = numbers[token, place]
        message = f"column `{name}` has the score `{number}` of `{assignments[place]}`"
        raise token_error(corpus, token, "bad-value", message, "a score is a number, or -inf where it is impossible")
    return numbers


def _order(name: str, column: NumericColumn, assignments: list[str], values: CorpusValues) -> list[int]:
    """The place of each assignment among the names that a column has for its numbers."""
    place = {one: n for n, one in enumerate(column.names)}
    lacking, strange = [one for one in assignments if one not in place], {*column.names} - {*assignments}
    if lacking or strange:
        odd = next(iter(sorted(strange)), None)
        message = (
            f"column `{name}` has no score of `{lacking[0]}`" if lacking else f"column `{name}` has a score of `{odd}`"
        )
        if odd is not None:
            message += f", and one of `{odd}`, which is no state" if lacking else ", which is no state"
        guess = None if odd is None else did_you_mean(odd, assignments)
        remedy = f"did you mean `{guess}`?" if guess else "name every state, and -inf where it is impossible"
        raise token_error(values.corpus, 0, "bad-value", message, remedy)
    return [place[one] for one in assignments]
