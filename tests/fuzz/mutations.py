"""Mutations of a template at every level: statements, expressions, names, numbers, settings, tokens, characters.

Each is a function from a list of statements to another list. Not here: the material (`material`), templates drawn from
the grammar (`grammar`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from .grammar import FEATURE_TEXTS, Draw, settings_text
from .material import CHARACTERS, NUMBERS, PATHS, TOKEN, WORDS, Material

Statements = list[str]
MOST = 20_000  # characters of a mutated template; only `Mutator.grown` may exceed it
NAME = re.compile(r"[^\W\d]\w*")
NUMBER = re.compile(r"[+-]?\d[\d.]*(?:[eE][+-]?\d+)?")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
OPENERS = {"(": ")", "[": "]", "{": "}"}


class Mutator:
    """Draws mutations for one case."""

    def __init__(self, material: Material, rng: np.random.Generator):
        self.material, self.draw = material, Draw(rng)

    def mutated(self, statements: Statements, times: int) -> Statements:
        for _ in range(times):
            mutation = self.draw.pick(MUTATIONS)
            changed = mutation(self, list(statements)) if statements else self.inserted([])
            if sum(map(len, changed)) <= MOST:
                statements = changed
        return statements

    def at(self, items: Sequence[object]) -> int:
        return self.draw.below(len(items))

    # statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> str:
        """A statement of any template; each kind of statement is equally likely."""
        if self.draw.chance(0.2):
            return self.draw.statement()
        return self.draw.pick(self.draw.pick(list(self.material.statements.values())))

    def inserted(self, statements: Statements) -> Statements:
        statements.insert(self.draw.below(len(statements) + 1), self.statement())
        return statements

    def deleted(self, statements: Statements) -> Statements:
        del statements[self.at(statements)]
        return statements

    def doubled(self, statements: Statements) -> Statements:
        statements.insert(self.draw.below(len(statements) + 1), self.draw.pick(statements))
        return statements

    def swapped(self, statements: Statements) -> Statements:
        i, j = self.at(statements), self.at(statements)
        statements[i], statements[j] = statements[j], statements[i]
        return statements

    def spliced(self, statements: Statements) -> Statements:
        """The first statements of one, the last of another template."""
        other = self.draw.pick(self.material.templates).split("\n")
        return statements[: self.draw.below(len(statements) + 1)] + other[self.draw.below(len(other)) :]

    def crossed(self, statements: Statements) -> Statements:
        """The head of one statement and the tail of another one."""
        i, other = self.at(statements), self.statement()
        statements[i] = (
            statements[i][: self.draw.below(len(statements[i]) + 1)] + other[self.draw.below(len(other) + 1) :]
        )
        return statements

    # expressions --------------------------------------------------------------------------------------------------

    def expression(self) -> str:
        if self.draw.chance(0.5):
            return self.draw.feature()
        return self.draw.pick(self.material.expressions)

    def replaced_part(self, statements: Statements) -> Statements:
        """The text between two commas or brackets becomes another expression."""
        i = self.at(statements)
        cuts = [m.start() for m in re.finditer(r"[,:=()\[\]&{}]", statements[i])]
        if len(cuts) > 1:
            n = self.draw.below(len(cuts) - 1)
            statements[i] = f"{statements[i][: cuts[n] + 1]} {self.expression()}{statements[i][cuts[n + 1] :]}"
        return statements

    def wrapped(self, statements: Statements) -> Statements:
        i = self.at(statements)
        names = list(NAME.finditer(statements[i]))
        if names:
            name = self.draw.pick(names)
            around = self.draw.pick(FEATURE_TEXTS)
            statements[i] = (
                statements[i][: name.start()] + around.replace("word", name[0]) + statements[i][name.end() :]
            )
        return statements

    def listed(self, statements: Statements) -> Statements:
        """One more entry at the end of a list."""
        i = self.at(statements)
        statements[i] += f"{self.draw.pick([', ', ': ', ' & ', ' and ', ' or ', chr(10) + '    '])}{self.expression()}"
        return statements

    # names, numbers, settings -------------------------------------------------------------------------------------

    def renamed(self, statements: Statements) -> Statements:
        """A name becomes another one of the template, a word of the language, or one of another template."""
        names = sorted({name for statement in statements for name in NAME.findall(statement)})
        others = self.draw.pick([names, WORDS, names, self.material.tokens])
        return self._one(statements, NAME, self.draw.pick(others) if others else "x")

    def renumbered(self, statements: Statements) -> Statements:
        return self._one(statements, NUMBER, self.draw.pick(NUMBERS))

    def redirected(self, statements: Statements) -> Statements:
        return self._one(statements, STRING, f'"{self.draw.pick(PATHS)}"')

    def _one(self, statements: Statements, pattern: re.Pattern[str], text: str) -> Statements:
        """One match of a pattern, in any statement that has one, becomes a text."""
        places = [(i, m) for i, statement in enumerate(statements) for m in pattern.finditer(statement)]
        if places:
            i, match = self.draw.pick(places)
            statements[i] = statements[i][: match.start()] + text + statements[i][match.end() :]
        return statements

    def reset(self, statements: Statements) -> Statements:
        """A `train` or `infer` gets one more setting; if there is none, any statement does."""
        i = self.draw.pick(
            [n for n, s in enumerate(statements) if s.startswith(("train", "infer"))] or [self.at(statements)]
        )
        text = settings_text(self.draw)
        statements[i] += f", {text}" if ":" in statements[i] else f": {text}"
        return statements

    def revalued(self, statements: Statements) -> Statements:
        """Another value after a `=`."""
        i = self.at(statements)
        values = list(re.finditer(r"=\s*[^,\s)]+", statements[i]))
        if values:
            place = self.draw.pick(values)
            statements[i] = statements[i][: place.start()] + f"= {self.draw.value()}" + statements[i][place.end() :]
        return statements

    # tokens, characters -------------------------------------------------------------------------------------------

    def retokened(self, statements: Statements) -> Statements:
        """A token is removed, doubled, swapped with another, or replaced."""
        i = self.at(statements)
        tokens = TOKEN.findall(statements[i])
        if not tokens:
            return statements
        n = self.at(tokens)
        match self.draw.below(5):
            case 0:
                del tokens[n]
            case 1:
                tokens.insert(n, tokens[n])
            case 2:
                m = self.at(tokens)
                tokens[n], tokens[m] = tokens[m], tokens[n]
            case 3:
                tokens[n] = self.draw.pick(self.material.tokens)
            case _:
                tokens.insert(n, self.draw.pick([*self.material.tokens, *CHARACTERS]))
        statements[i] = "".join(tokens)
        return statements

    def recharactered(self, statements: Statements) -> Statements:
        """Characters are inserted or removed, or the rest of the template is cut off."""
        i = self.at(statements)
        n = self.draw.below(len(statements[i]) + 1)
        match self.draw.below(4):
            case 0:
                statements[i] = statements[i][:n] + statements[i][n + 1 + self.draw.below(4) :]
            case 1 if self.draw.chance(0.3):
                return [*statements[:i], statements[i][:n]]
            case _:
                statements[i] = statements[i][:n] + self.draw.pick(CHARACTERS) + statements[i][n:]
        return statements

    # growth -------------------------------------------------------------------------------------------------------

    def grown(self, statements: Statements) -> Statements:
        """Something is repeated many times: brackets, entries of a list, letters of a name, statements."""
        i, many = self.at(statements), int(self.draw.pick([3, 10, 31, 33, 40, 100, 200]))
        match self.draw.below(6):
            case 0:
                opener = self.draw.pick(list(OPENERS))
                names = list(NAME.finditer(statements[i]))
                if names:
                    m = self.draw.pick(names)
                    around = opener * many + m[0] + OPENERS[opener] * many
                    statements[i] = statements[i][: m.start()] + around + statements[i][m.end() :]
            case 1:
                return self._one(statements, re.compile(r"\bnot\b|\bis\b|\bin\b|\bhas\b"), "not " * many)
            case 2:
                part = self.expression()
                statements[i] += self.draw.pick([", ", " & ", " and ", " or "]).join(["", *[part] * many])
            case 3:
                return self._one(statements, NAME, self.draw.pick(["x", "é", "_"]) * many * 20)
            case 4:
                extra = self.statement()
                statements[i:i] = [
                    re.sub(r"\b(as|let|label|features) \w+", rf"\1 n{n}", extra) for n in range(many // 3)
                ]
            case _:
                statements[i] = statements[i].replace(",", "," * min(many, 10), 1)
        return statements


MUTATIONS: tuple[Callable[[Mutator, Statements], Statements], ...] = (
    Mutator.inserted, Mutator.inserted, Mutator.deleted, Mutator.doubled, Mutator.swapped, Mutator.spliced,
    Mutator.crossed, Mutator.replaced_part, Mutator.replaced_part, Mutator.wrapped, Mutator.wrapped, Mutator.listed,
    Mutator.renamed, Mutator.renamed, Mutator.renamed, Mutator.renumbered, Mutator.renumbered, Mutator.redirected,
    Mutator.reset, Mutator.reset, Mutator.revalued, Mutator.revalued, Mutator.retokened, Mutator.retokened,
    Mutator.recharactered, Mutator.recharactered, Mutator.grown,
)  # fmt: skip
