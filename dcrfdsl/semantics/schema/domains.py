"""The domains of variables as a specification has them: which states there are. Not here: reading states from data."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from .expressions import Frozen


class Learned(Frozen):
    """No declared domain: the states are those of the training data, in order of first appearance."""

    kind: Literal["learned"] = "learned"


class Enumerated(Frozen):
    """`{A, B}`: the states that are listed"""

    kind: Literal["enumerated"] = "enumerated"
    states: tuple[str, ...]


class Cardinality(Frozen):
    """`in 4`: the states 0, 1, 2, 3"""

    kind: Literal["cardinality"] = "cardinality"
    count: int


class Scheme(Frozen):
    """`bio(NP)`, `bioes(PER, ORG)`; no types: learned from the training data"""

    kind: Literal["scheme"] = "scheme"
    name: str
    types: tuple[str, ...] = ()


class StateFile(Frozen):
    """`"states.txt"`: the states in a file, one a line"""

    kind: Literal["state_file"] = "state_file"
    path: str


class StatesOf(Frozen):
    """`states(role)`: the states of another variable"""

    kind: Literal["states_of"] = "states_of"
    variable: str


class SpanScheme(Frozen):
    """How spans become the states of a label.   types: the only ones that it reads, None for all."""

    label: str
    scheme: str
    types: tuple[str, ...] | None = None


def _ours(given: Any) -> Any:
    """Those that a model has set: a file has none, or what an earlier version wrote, and they are set anew."""
    return tuple(one for one in given if isinstance(one, SpanScheme)) if isinstance(given, list | tuple) else given


SpanSchemes: TypeAlias = Annotated[tuple[SpanScheme, ...], BeforeValidator(_ours)]

Domain: TypeAlias = Annotated[
    Learned | Enumerated | Cardinality | Scheme | StateFile | StatesOf, Field(discriminator="kind")
]


def span_scheme(label: str, domain: Domain, others: str | None) -> SpanScheme | None:
    """How spans become states of a domain; None if it says nothing of it. `others` are the states of unknown values."""
    if isinstance(domain, Scheme):
        name, types = domain.name, domain.types
    elif isinstance(domain, Enumerated):
        marks = [state.partition("-") for state in domain.states if state[1:2] == "-"]
        name = "bioes" if {mark for mark, _, _ in marks} & {"E", "S"} else "bio"
        types = tuple(dict.fromkeys(kind for _, _, kind in marks))
    else:
        return None
    return SpanScheme(label=label, scheme=name, types=types if types and others == "O" else None)
