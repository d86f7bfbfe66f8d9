"""Feature functions, domains and calls of the language as Python functions with the same names."""

from __future__ import annotations

from typing import Any

from ..foundation import dataclass
from ..semantics import validated
from ..syntax import nodes as ex
from .builder_nodes import as_value
from .builder_terms import Call, Clique, Constant, Lexicon, Term, Value, as_term
from .complaints import with_plain_errors

# features ---------------------------------------------------------------------------------------------------

bias: Term = Term("bias")
"""The feature that always fires: a weight for each state, whatever the words are."""

first: Term = Term("first")
"""True at the first position of a sequence."""

last: Term = Term("last")
"""True at the last position of a sequence."""

index: Term = Term("index")
"""The number of the position, from 1: `index[j] == head[i]`."""


def apply(function: str, *arguments: Value, **named: Value) -> Term:
    """A feature function by its name: one of your own, or one that has no Python function here.

    function: its name in the template; `dcrfdsl explain NAME` describes a built-in one.
    arguments: by position: terms, numbers, texts.
    named: arguments by keyword.

    >>> feature = apply("syllables", Term("word")).window(-1, 1)
    """
    return Term(ex.Apply(function=function, arguments=_arguments(arguments, named)))


def lower(column: Term | str) -> Term:
    """The value in lower case.

    column: a term, or the name of a column.

    >>> feature = lower("word")[-1]
    """
    return apply("lower", as_term(column))


def prefix(column: Term | str, shortest: int, longest: int | None = None) -> Term:
    """The first characters of the value; a shorter value has no such feature.

    column: a term, or the name of a column.
    shortest: the number of characters.
    longest: with it, one feature for each length from `shortest` to `longest`, both included.

    >>> three, up_to_four = prefix("word", 3), prefix("word", 1, 4)
    """
    return apply("prefix", as_term(column), _lengths(shortest, longest))


def suffix(column: Term | str, shortest: int, longest: int | None = None) -> Term:
    """The last characters of the value; a shorter value has no such feature.

    column: a term, or the name of a column.
    shortest: the number of characters.
    longest: with it, one feature for each length from `shortest` to `longest`, both included.

    >>> three, up_to_four = suffix("word", 3), suffix("word", 1, 4)
    """
    return apply("suffix", as_term(column), _lengths(shortest, longest))


def extract(column: Term | str, pattern: str) -> Term:
    r"""The first part of the value that a regular expression matches; nothing where it does not match.

    column: a term, or the name of a column.
    pattern: of RE2, as in `matches`.

    >>> digits, ending = extract("word", "[0-9]+"), extract("word", r"\p{L}?\p{L}?$")
    """
    return apply("extract", as_term(column), ex.Regex(pattern=pattern))


def part(column: Term | str, number: int, last: int | None = None) -> Term:
    """A part of a value that has several, split by spaces; nothing where it has fewer.

    column: a term, or the name of a column.
    number: which part, counted from 1.
    last: with it, one feature for each part from `number` to `last`, both included.

    >>> second = part("tag", 2)
    """
    return apply("part", as_term(column), _lengths(number, last))


def shape(column: Term | str, *, short: bool = False) -> Term:
    """The shape of the value: letters to X or x, digits to d.

    column: a term, or the name of a column.
    short: makes one character of a run, so that `Xxxxx` becomes `Xx`.

    >>> feature = shape("word", short=True)
    """
    return apply("shape", as_term(column), short=True) if short else apply("shape", as_term(column))


def length(column: Term | str) -> Term:
    """The number of characters as a feature of its own for each number; 20 and more count as one.

    column: a term, or the name of a column.

    >>> feature = length("word")
    """
    return apply("length", as_term(column))


def bins(column: Term | str, *edges: float | Constant) -> Term:
    """The range that a number lies in.

    column: a term with numbers, or the name of a column.
    edges: one whole number: so many ranges, with about as many training tokens each; several: where ranges begin.

    >>> quarter, group = bins("age", 4), bins("age", 18, 30, 65)
    """
    return apply("bin", as_term(column), *edges)


def chars(column: Term | str, size: int) -> Term:
    """Every run of some characters in the value, a feature each.

    column: a term, or the name of a column.
    size: of a run, in characters.

    >>> trigrams = chars("word", 3)
    """
    return apply("chars", as_term(column), size)


def span(column: Term | str, lexicon: Lexicon) -> Term:
    """B and I marks of the longest run of words that is an entry of a lexicon.

    column: a term, or the name of a column.
    lexicon: whose entries may have several words.

    >>> places = Template().lexicon("places", "places.txt")
    >>> feature = span("word", places)
    """
    return apply("span", as_term(column), lexicon)


def offset(column: Term | str, *, scale: float | Constant = 1.0) -> Term:
    """Scores that the data gives, added as they are in a clique over their variables.

    column: of the type `scores`.
    scale: what all of them are multiplied by, above 0.

    >>> m = Template()
    >>> logits, _ = m.data("jsonl", "logits:scores(tag)", "tag")
    >>> given = m.clique(m.label("tag", bio("PER")), features=[offset(logits, scale=0.5)])
    """
    return apply("offset", as_term(column), **({} if scale == 1.0 else {"scale": scale}))


def _lengths(shortest: int, longest: int | None) -> int | range:
    return shortest if longest is None else range(shortest, longest + 1)


# domains ----------------------------------------------------------------------------------------------------


@with_plain_errors
def bio(*types: str) -> ex.Scheme:
    """The states of segments as B-X, I-X and O.

    types: of segments; without any they are learned from the training data.

    >>> chunk = Template().label("chunk", bio("NP", "VP"))
    """
    return validated(ex.Scheme(name="bio", types=types))


@with_plain_errors
def iob1(*types: str) -> ex.Scheme:
    """The states of segments as I-X, as B-X where a segment directly follows another of its type, and O.

    types: of segments; without any they are learned from the training data.

    >>> chunk = Template().label("chunk", iob1("NP", "VP"))
    """
    return validated(ex.Scheme(name="iob1", types=types))


@with_plain_errors
def bioes(*types: str) -> ex.Scheme:
    """The states of segments as B-X, I-X, E-X (the end), S-X (a segment of one token) and O.

    types: of segments; without any they are learned from the training data.

    >>> chunk = Template().label("chunk", bioes("NP", "VP"))
    """
    return validated(ex.Scheme(name="bioes", types=types))


@with_plain_errors
def bilou(*types: str) -> ex.Scheme:
    """The states of segments as B-X, I-X, L-X (the end), U-X (a segment of one token) and O.

    types: of segments; without any they are learned from the training data.

    >>> chunk = Template().label("chunk", bilou("NP", "VP"))
    """
    return validated(ex.Scheme(name="bilou", types=types))


@with_plain_errors
def bmes(*types: str) -> ex.Scheme:
    """The states of segments as B-X, M-X (inside), E-X (the end), S-X (a segment of one token) and O.

    types: of segments; without any they are learned from the training data, which may have bare letters.

    >>> chunk = Template().label("chunk", bmes("NP", "VP"))
    """
    return validated(ex.Scheme(name="bmes", types=types))


@with_plain_errors
def states_of(variable: Term | str) -> ex.StatesOf:
    """The states of another variable.

    variable: a label, latent variable or memory, as a term or by name.

    Raises TypeError where it is a feature.

    >>> m = Template()
    >>> role = m.label("role", ["AGENT", "O"])
    >>> before = m.memory("before", role[-1], domain=states_of(role), initially="O")
    """
    node = as_term(variable).node
    if not isinstance(node, ex.Reference):
        raise TypeError("expected a label, latent variable or memory")
    return ex.StatesOf(variable=node.name)


@with_plain_errors
def state_file(path: str) -> ex.StateFile:
    """The states of a label, one a line of a file.

    path: of the file, relative to the model's `directory`.

    >>> tag = Template().label("tag", state_file("tags.txt"))
    """
    return validated(ex.StateFile(path=path))


# columns, calls, metrics ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Keyed:
    """Where a column is read from when its name alone does not say: one key of CoNLL-U's FEATS, or several columns."""

    source: str
    key: str | None = None


@with_plain_errors
def feats(key: str) -> Keyed:
    """One key of CoNLL-U's FEATS as the source of a column.

    key: as CoNLL-U writes it, such as `Case`.

    >>> word, case = Template().data("conllu", word="form", case=feats("Case"))
    """
    return Keyed("feats", key)


@with_plain_errors
def joined(*columns: str) -> Keyed:
    """Several columns of CoNLL-U as one, their values joined by spaces: one label for all of them.

    columns: two or more of `id`, `upos`, `xpos`, `feats`, `head`, `deprel`, `deps`.

    >>> word, tag = Template().data("conllu", word="form", tag=joined("upos", "feats"))
    """
    return Keyed("joined", " ".join(columns))


@with_plain_errors
def call(name: str, *arguments: Value, **named: Value) -> Call:
    """Any method, metric, prior, loss or range of the language by its name.

    name: of what is called; `dcrfdsl explain NAME` describes it.
    arguments: by position.
    named: its settings by keyword.

    >>> trp, pieces = call("trp", tolerance=1e-3), call("piecewise", "next")
    """
    return Call(name=name, arguments=_arguments(arguments, named))


def gaussian(variance: float | Constant = 10, mean: str = "zero") -> Call:
    """The Gaussian prior: the penalty Σ (λ − mean)² / (2 variance).

    variance: of each weight, more than 0, or a constant of `Template.let`; larger is weaker.
    mean: `zero`, or `model` for the weights of the model that training starts from: `fit(..., start=model)`.

    >>> Template().train("likelihood", prior=gaussian(variance=10))
    """
    return call("gaussian", variance=variance) if mean == "zero" else call("gaussian", variance=variance, mean=mean)


def lbfgs(**settings: Value) -> Call:
    """The L-BFGS optimizer.

    settings: `memory`, `max_iterations`, `tolerance` (of the gradient's norm, relative to its norm at the start) …;
    `dcrfdsl explain lbfgs` lists them with their defaults.

    >>> Template().train("likelihood", optimizer=lbfgs(memory=7, tolerance=1e-5))
    """
    return call("lbfgs", **settings)


def accuracy(label: Term | str) -> Call:
    """The metric of labels: the share of tokens with the right label, from 0 to 1.

    label: a term, or the name of a label.

    >>> Template().evaluate(accuracy("pos"))
    """
    return call("accuracy", as_term(label))


def segments(label: Term | str, *, runs: bool = False) -> Call:
    """The metric of segments: precision, recall and F1, from 0 to 1, counted as in conlleval.

    label: a term, or the name of a label with segments.
    runs: for states without marks: each run of one state other than `O` is a segment.

    >>> Template().evaluate(segments("chunk"))
    """
    return call("segments", as_term(label), *(["runs"] if runs else []))


def locked(clique: Clique | ex.Member) -> ex.Member:
    """A clique as a member of a piece that gives it no gradient.

    clique: a named clique, or one at another place, `chain[1]`.

    >>> m = Template()
    >>> tag = m.label("tag")
    >>> chain = m.clique(tag[-1], tag, name="chain")
    >>> site = m.piece("site", over=tag, cliques=[locked(chain), locked(chain[1])])
    """
    member = ex.Member(clique=clique.named(), place=ex.HERE) if isinstance(clique, Clique) else clique
    return member.model_copy(update={"locked": True})


def _arguments(positional: tuple[Any, ...], named: dict[str, Any]) -> tuple[ex.Argument, ...]:
    return (
        *(ex.Argument(value=as_value(value)) for value in positional),
        *(ex.Argument(value=as_value(value), name=name) for name, value in named.items()),
    )
