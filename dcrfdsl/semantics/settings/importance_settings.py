"""Settings of importance: how much each sentence, or each token, counts in what a stage minimises.

Not here: the factors themselves (`criteria.importance`), which criteria take them (`checks.setting_rules`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...foundation import Table
from ..schema import CallSpec, ModelSpec, expressions as ex
from .method_settings import MethodSettings, setting

MOST = 1e9  # of the number of a state


class SentenceImportance(MethodSettings):
    """A sentence counts as often as a column of numbers says, the same number on all of its tokens: 2 counts as if it
    stood twice in the data, 0 leaves it out. `importance = COLUMN` is short for it.
    """

    method = "sentences"
    example = (
        "data conll(word, chunk, trust: float)\nlabel chunk in bio(NP)\nclique chunk: word\n"
        "train likelihood: importance = sentences(trust)"
    )
    names = "columns"
    columns: tuple[str, ...] = setting((), "a `float` or `int` column, of numbers of 0 or more")


class TokenImportance(MethodSettings):
    """Each token counts as often as a column of numbers says, where the criterion is a sum over tokens. A piece over
    several tokens counts with the mean of their numbers.
    """

    method = "tokens"
    example = (
        "data conll(word, chunk, trust: float)\nlabel chunk in bio(NP)\nclique chunk: word\n"
        "train marginal: importance = tokens(trust)"
    )
    names = "columns"
    columns: tuple[str, ...] = setting((), "a `float` or `int` column, of numbers of 0 or more")


class StateImportance(MethodSettings):
    """Each token counts as often as its gold state says, where the criterion is a sum over tokens: texts `"STATE
    NUMBER"` for some states. A token whose state is not known counts once.
    """

    method = "states"
    example = 'train pseudolikelihood: importance = states(chunk, "B-NP 2", "I-NP 1.5", others = 0.5)'
    names = "labels"
    texts = "factors"
    labels: tuple[str, ...] = setting((), "the label")
    factors: tuple[str, ...] = setting((), "texts of a state, a space and its number, from 0 to 1e9")
    others: float = setting(1.0, "the number of states that are not named", unit="times", ge=0, le=MOST)


IMPORTANCE: Table[type[MethodSettings]] = Table(
    "kind of importance",
    {s.method: s for s in (SentenceImportance, TokenImportance, StateImportance)},
    {"sentence": "sentences", "token": "tokens", "state": "states", "labels": "states", "classes": "states"},
)


def column_alone(spec: ModelSpec, written: ex.Value) -> SentenceImportance | None:
    """A column by itself is that of sentences; None for anything else."""
    value = spec.settled(written)
    if isinstance(value, ex.Reference) and isinstance(value.place, ex.Here) and value.name not in IMPORTANCE:
        return SentenceImportance(columns=(value.name,))
    return None


def unnamed_texts(call: CallSpec) -> tuple[str, ...]:
    """The unnamed arguments of a call that are texts."""
    values = [argument.value for argument in call.arguments if argument.name is None]
    return tuple(value.value for value in values if isinstance(value, ex.Text))


def state_factors(written: Sequence[str]) -> Mapping[str, float]:
    """The number of each state in texts `STATE NUMBER`. ValueError, with the text, where one is something else."""
    out: dict[str, float] = {}
    for text in written:
        state, _, number = text.strip().rpartition(" ")
        try:
            factor = float(number)
        except ValueError:
            raise ValueError(text) from None
        if not state.strip() or not 0.0 <= factor <= MOST or state.strip() in out:
            raise ValueError(text)
        out[state.strip()] = factor
    return out
