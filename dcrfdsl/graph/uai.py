"""Reads factor graphs in the text format of the UAI competition, with evidence, and writes them.

A file is separated by white space: `MARKOV` (or `BAYES`), the number of variables, their states, the number of factors,
their scopes, and for each factor the number of entries and the potentials, the last variable of the scope varying
fastest. Evidence: an optional count of samples (1), the number of observed variables, then pairs.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..foundation import DcrfError, data_error, near_name
from .factor_graph import FactorGraph

MAX_ENTRIES = 2**28
LARGEST_LOG = 700.0  # of a potential; a number of double precision holds exp(709), and all digits of exp(-708)
BLOCK = 1 << 20  # bytes that are read at once
MOST_VARIABLES = 32  # of a factor; arrays of numpy have no more axes in every version. Kernels count on less than 64


def _text_of(path: Path) -> str:
    """The text of a file. What is no text is refused at its first such byte, as a device may go on without end."""
    decoder, parts = codecs.getincrementaldecoder("utf-8")(), []
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(BLOCK), b""):
            if b"\0" in block:
                raise UnicodeDecodeError("utf-8", b"\0", 0, 1, "a zero byte")
            parts.append(decoder.decode(block))
    return "".join((*parts, decoder.decode(b"", final=True)))


class _Tokens:
    """The words of a file, with the line of the last one for messages."""

    def __init__(self, path: Path):
        self.path = str(path)
        self.line = 1
        try:
            text = _text_of(path)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            message = f"cannot read `{path}`: {reason}"
            raise data_error("unreadable-file", message, file=self.path, help=near_name(path)) from None
        self._words = self._split(text)

    def _split(self, text: str) -> Iterator[str]:
        for number, line in enumerate(text.splitlines(), 1):
            self.line = number
            yield from line.split()

    def fail(self, message: str, help: str | None = None) -> DcrfError:
        return data_error("bad-uai", message, file=self.path, line=self.line, help=help)

    def word(self, what: str) -> str:
        word = next(self._words, None)
        if word is None:
            raise self.fail(f"the file ends where {what} should stand", "is the file cut off?")
        return word

    def integer(self, what: str, low: int, high: int) -> int:
        word = self.word(what)
        try:
            value = int(word)
        except ValueError:
            raise self.fail(f"`{word}` is not {what}: expected a whole number") from None
        if not low <= value <= high:
            raise self.fail(f"{what} is {value}: expected {low} to {high}")
        return value

    def number(self, what: str) -> float:
        word = self.word(what)
        try:
            value = float(word)
        except ValueError:
            raise self.fail(f"`{word}` is not {what}: expected a number") from None
        if not (value >= 0.0 and math.isfinite(value)):
            raise self.fail(f"{what} is {word}: a potential must be finite and not negative")
        return value

    def rest(self) -> list[str]:
        return list(self._words)


def read_uai(path: str | Path) -> FactorGraph:
    """The graph of a `.uai` file; potentials become logarithms, 0 becomes -inf. DcrfError names the wrong line."""
    tokens = _Tokens(Path(path))
    kind = tokens.word("`MARKOV` or `BAYES`")
    if kind not in ("MARKOV", "BAYES"):
        raise tokens.fail(f"the file starts with `{kind[:20]}`, expected `MARKOV` or `BAYES`", "is this a .uai model?")
    num_variables = tokens.integer("the number of variables", 0, MAX_ENTRIES)
    cards = tuple(tokens.integer(f"the number of states of variable {v}", 1, MAX_ENTRIES) for v in range(num_variables))
    num_factors = tokens.integer("the number of factors", 0, MAX_ENTRIES)
    scopes = []
    for f in range(num_factors):
        arity = tokens.integer(f"the number of variables of factor {f}", 0, num_variables)
        if arity > MOST_VARIABLES:
            raise tokens.fail(f"factor {f} has {arity} variables, at most {MOST_VARIABLES} are read")
        scope = tuple(tokens.integer(f"a variable of factor {f}", 0, num_variables - 1) for _ in range(arity))
        if len(set(scope)) < arity:
            raise tokens.fail(f"factor {f} names a variable twice: {scope}")
        scopes.append(scope)
    tables, constant = [], 0.0
    for f, scope in enumerate(scopes):
        expected = math.prod(cards[v] for v in scope)
        if expected > MAX_ENTRIES:
            raise tokens.fail(f"factor {f} has {expected} entries, at most {MAX_ENTRIES} are read")
        entries = tokens.integer(f"the number of entries of factor {f}", 0, MAX_ENTRIES)
        if entries != expected:
            raise tokens.fail(f"factor {f} says {entries} entries, its variables have {expected} joint states")
        values = np.array([tokens.number(f"a potential of factor {f}") for _ in range(entries)])
        with np.errstate(divide="ignore"):
            table = np.log(values).reshape([cards[v] for v in scope])
        if scope:
            tables.append(table)
        else:
            constant += float(table)
    if tokens.rest():
        raise tokens.fail("there is more text after the last factor")
    return FactorGraph(cards, tuple(s for s in scopes if s), tuple(tables), constant)


def read_uai_evidence(path: str | Path, graph: FactorGraph) -> dict[int, int]:
    """Observed variables and their states from an `.evid` file, in the old form (with a sample count) or the new."""
    tokens = _Tokens(Path(path))
    words = tokens.rest()
    try:
        numbers = [int(word) for word in words]
    except ValueError as error:
        raise tokens.fail(f"evidence must be whole numbers: {error}") from None
    for start in (0, 1):
        if len(numbers) > start and len(numbers) == start + 1 + 2 * numbers[start] and (start == 0 or numbers[0] == 1):
            pairs = list(zip(numbers[start + 1 :: 2], numbers[start + 2 :: 2], strict=True))
            break
    else:
        if numbers in ([], [0]):
            return {}
        raise tokens.fail("the evidence is not a count followed by that many pairs of variable and state")
    for variable, state in pairs:
        if not (0 <= variable < len(graph.cards) and 0 <= state < graph.cards[variable]):
            raise tokens.fail(f"evidence names variable {variable} in state {state}, which the model does not have")
    return dict(pairs)


def uai_text(graph: FactorGraph) -> str:
    """The graph as a `MARKOV` file, which `read_uai` reads. DcrfError for a potential too large or too small for it."""
    factors = list(zip(graph.scopes, graph.log_tables, strict=True))
    if graph.constant:
        factors.append(((), np.array(graph.constant)))
    lines = ["MARKOV", str(len(graph.cards)), " ".join(map(str, graph.cards)), str(len(factors))]
    lines += [" ".join(map(str, (len(scope), *scope))) for scope, _ in factors]
    for scope, table in factors:
        most = float(np.abs(table[table != -np.inf]).max(initial=0.0))
        if most > LARGEST_LOG:
            names = " ".join(map(str, scope))
            message = f"the factor over the variables {names} has a log potential of size {most:.4g}"
            remedy = f"potentials are written as numbers, and their logarithms are at most {LARGEST_LOG:.0f} in size"
            raise data_error("cannot-export", f"the graph cannot be written as UAI: {message}", help=remedy)
        lines += ["", str(table.size), " ".join(map(repr, np.exp(table).ravel().tolist()))]
    return "\n".join(lines) + "\n"
