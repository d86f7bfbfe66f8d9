"""Feature functions, domains and calls of the language as Python functions with the same names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..semantics.schema import expressions as ex, model_spec as spec_model
from .builder_nodes import as_value
from .builder_terms import Call, Clique, Constant, Lexicon, Member, Term, Value, as_term
from .complaints import with_plain_errors

__all__ = [
    "Feats",
    "accuracy",
    "apply",
    "bias",
    "bio",
    "bioes",
    "call",
    "chars",
    "feats",
    "first",
    "gaussian",
    "index",
    "last",
    "lbfgs",
    "length",
    "locked",
    "lower",
    "prefix",
    "segments",
    "shape",
    "span",
    "state_file",
    "states_of",
    "suffix",
]

# features ---------------------------------------------------------------------------------------------------

bias: Term = Term("bias")
"""The feature that always fires."""

first: Term = Term("first")
"""True at the first position of a sequence."""

last: Term = Term("last")
"""True at the last position of a sequence."""

index: Term = Term("index")
"""The number of the position, from 1: `index[j] == head[i]`."""


def apply(function: str, *arguments: Value, **named: Value) -> Term:
    """A feature function by name, for functions registered by `@dcrfdsl.feature`: `apply("syllables", word)`."""
    return Term(ex.Apply(function=function, arguments=_arguments(arguments, named)))


def lower(column: Term | str) -> Term:
    """The value in lower case: `lower(word)[-1]`."""
    return apply("lower", as_term(column))


def prefix(column: Term | str, shortest: int, longest: int | None = None) -> Term:
    """The first characters: `prefix(word, 3)`, or one feature per length: `prefix(word, 1, 4)`, both included."""
    return apply("prefix", as_term(column), _lengths(shortest, longest))


def suffix(column: Term | str, shortest: int, longest: int | None = None) -> Term:
    """The last characters: `suffix(word, 3)`, or one feature per length: `suffix(word, 1, 4)`, both included."""
    return apply("suffix", as_term(column), _lengths(shortest, longest))


def shape(column: Term | str, *, short: bool = False) -> Term:
    """Letters to X or x, digits to d; `short=True` collapses runs: `shape(word)`."""
    return apply("shape", as_term(column), short=True) if short else apply("shape", as_term(column))


def length(column: Term | str) -> Term:
    """An indicator of the number of characters; 20 and more count as one."""
    return apply("length", as_term(column))


def chars(column: Term | str, size: int) -> Term:
    """Every run of `size` characters: `chars(word, 3)`."""
    return apply("chars", as_term(column), size)


def span(column: Term | str, lexicon: Lexicon) -> Term:
    """B/I marks of the longest match with an entry of several words: `span(word, places)`."""
    return apply("span", as_term(column), lexicon)


def _lengths(shortest: int, longest: int | None) -> int | range:
    return shortest if longest is None else range(shortest, longest + 1)


# domains ----------------------------------------------------------------------------------------------------


@with_plain_errors
def bio(*types: str) -> spec_model.Scheme:
    """Segments as B-X, I-X and O: `bio("NP", "VP")`; without types they are learned from the training data."""
    return spec_model.Scheme(name="bio", types=types)


@with_plain_errors
def bioes(*types: str) -> spec_model.Scheme:
    """Segments as B-X, I-X, E-X, S-X and O."""
    return spec_model.Scheme(name="bioes", types=types)


@with_plain_errors
def states_of(variable: Term | str) -> spec_model.StatesOf:
    """The states of another variable: `m.memory("last_role", …, domain=states_of(role))`."""
    node = as_term(variable).node
    if not isinstance(node, ex.Reference):
        raise TypeError("expected a label, latent variable or memory")
    return spec_model.StatesOf(variable=node.name)


@with_plain_errors
def state_file(path: str) -> spec_model.StateFile:
    """The states, one per line of a file."""
    return spec_model.StateFile(path=path)


# columns, calls, metrics ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Feats:
    """One key of CoNLL-U's FEATS. Made by `feats`."""

    key: str


@with_plain_errors
def feats(key: str) -> Feats:
    """One key of CoNLL-U's FEATS as a column: `m.data("conllu", word="form", case=feats("Case"))`."""
    return Feats(key)


@with_plain_errors
def call(name: str, *arguments: Value, **named: Value) -> Call:
    """Any call of the language by name: `call("trp", tolerance=1e-3)`, `call("piecewise", "next")`."""
    return Call(name, _arguments(arguments, named))


def gaussian(variance: float | Constant = 10) -> Call:
    """The Gaussian prior: `gaussian(variance=10)`."""
    return call("gaussian", variance=variance)


def lbfgs(**settings: Value) -> Call:
    """The L-BFGS optimizer: `lbfgs(memory=7, tolerance=1e-5)`."""
    return call("lbfgs", **settings)


def accuracy(label: Term | str) -> Call:
    """The share of positions with the right label."""
    return call("accuracy", as_term(label))


def segments(label: Term | str) -> Call:
    """Precision, recall and F1 of segments, counted as in conlleval."""
    return call("segments", as_term(label))


def locked(clique: Clique | Member) -> Member:
    """A clique that takes part in a piece without getting a gradient from it: `locked(words)`."""
    if isinstance(clique, Clique):
        return Member(clique.named(), locked=True)
    return Member(clique.clique, clique.place, locked=True)


def _arguments(positional: tuple[Any, ...], named: dict[str, Any]) -> tuple[ex.Argument, ...]:
    return (
        *(ex.Argument(value=as_value(value)) for value in positional),
        *(ex.Argument(value=as_value(value), name=name) for name, value in named.items()),
    )
