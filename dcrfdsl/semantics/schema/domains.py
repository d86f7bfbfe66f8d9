"""The domains of variables as a specification has them: which states there are. Not here: reading states from data."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from .expressions import Frozen

__all__ = ["Cardinality", "Domain", "Enumerated", "Learned", "Scheme", "StateFile", "StatesOf"]


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


Domain: TypeAlias = Annotated[
    Learned | Enumerated | Cardinality | Scheme | StateFile | StatesOf, Field(discriminator="kind")
]
