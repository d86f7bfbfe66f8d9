"""How much each sentence or token counts in a criterion that is a sum over them: factors of 0 or more.

Not here: where they enter a criterion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from ..foundation import DcrfError, Diagnostic, Floats, Ints, dataclass
from ..graph import Gold
from ..semantics import MethodSettings, SentenceImportance, StateImportance, TokenImportance, state_factors


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """The columns of the training data that hold a number a token, [N] each, and where tokens stand, for messages.

    token_line [N]: the line of each token.   whole: whether this is all data, in which some number must be more than 0.
    """

    file: str = ""
    token_line: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    columns: Mapping[str, Floats] = field(default_factory=dict)
    whole: bool = True


@dataclass(frozen=True, eq=False)
class Importance:
    """The factors of a data set.

    token [N]: of each token.   of_sentences: whether they are of whole sentences, the same on all tokens of one.
    """

    token: Floats
    of_sentences: bool


def importance_of(
    settings: MethodSettings, numbers: NumberColumns, gold: Gold, states: Mapping[str, tuple[int, Sequence[str]]],
    sentence_off: Ints,
) -> Importance:  # fmt: skip
    """The factors that settings ask for.   states: the variable and the states of each label.

    DcrfError where a number is negative or not finite, differs within a sentence, or leaves nothing to train on.
    """
    match settings:
        case SentenceImportance(columns=(column,)):
            token = _column(column, numbers)
            first = np.repeat(sentence_off[:-1], np.diff(sentence_off))
            differs = np.flatnonzero(token != token[first])
            if len(differs):
                at = int(differs[0])
                message = (
                    f"`{column}` is {token[at]:g} here and {token[first[at]]:g} on the first token of the sentence"
                )
                remedy = "give all tokens of a sentence the same number, or write `importance = tokens(…)`"
                raise _error(message, numbers, at, remedy)
            found = Importance(token, of_sentences=True)
        case TokenImportance(columns=(column,)):
            found = Importance(_column(column, numbers), of_sentences=False)
        case StateImportance(labels=(label,), factors=written, others=others):
            variable, names = states[label]
            by_state = state_factors(written)
            unknown = [state for state in by_state if state not in names]
            if unknown:
                message = f"`{unknown[0]}` is no state of `{label}`"
                raise DcrfError(Diagnostic("unknown-state", message, help="name states of the label in `states(…)`"))
            factors = np.array([by_state.get(state, others) for state in names])
            codes = gold.codes[variable]
            found = Importance(np.where(codes >= 0, factors[np.maximum(codes, 0)], 1.0), of_sentences=False)
        case _:
            raise TypeError(f"no importance: {settings!r}")
    if numbers.whole and len(found.token) and not found.token.any():
        message = "all numbers of `importance` are 0, so there is nothing to train on"
        raise DcrfError(
            Diagnostic("bad-importance", message, location=numbers.file or None, help="give some more than 0")
        )
    return found


def _column(name: str, numbers: NumberColumns) -> Floats:
    """The numbers of a column, [N]. DcrfError where one cannot be a factor."""
    if name not in numbers.columns:
        message = f"the training data has no column `{name}` of numbers, which `importance` names"
        raise DcrfError(Diagnostic("bad-importance", message, help=f"declare it in `data`, as in `{name}: float`"))
    token = np.asarray(numbers.columns[name], np.float64)
    bad = np.flatnonzero(~(np.isfinite(token) & (token >= 0.0)))
    if len(bad):
        message = f"`{name}` is {token[bad[0]]:g}, and an importance is a number of 0 or more"
        raise _error(message, numbers, int(bad[0]), "correct the data")
    return token


def _error(message: str, numbers: NumberColumns, token: int, remedy: str) -> DcrfError:
    place = f"{numbers.file}:{numbers.token_line[token]}" if token < len(numbers.token_line) else None
    return DcrfError(Diagnostic("bad-importance", message, location=place, help=remedy))
