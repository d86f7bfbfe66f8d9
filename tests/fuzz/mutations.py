"""Changes of a template at every level: statements, expressions, names, numbers, settings, tokens, characters.

Each is a function from a list of statements to another one. Not here: what they are taken from (`material`), templates
drawn from the grammar (`grammar`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from .grammar import FEATURE_TEXTS, Draw, settings_text
from .material import CHARACTERS, NUMBERS, PATHS, TOKEN, WORDS, Material

__all__ = ["MUTATIONS", "Mutator"]

Statements = list[str]
MOST = 20_000  # characters that a mutation may grow a template to, but for the growths
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
        """One of any template, each kind as likely as any other."""
        if self.draw.chance(0.2):
            return self.draw.statement()
        return self.draw.pick(self.draw.pick(list(self.material.statements.values())))

    def inserted(self, own: Statements) -> Statements:
        own.insert(self.draw.below(len(own) + 1), self.statement())
        return own

    def deleted(self, own: Statements) -> Statements:
        del own[self.at(own)]
        return own

    def doubled(self, own: Statements) -> Statements:
        own.insert(self.draw.below(len(own) + 1), self.draw.pick(own))
        return own

    def swapped(self, own: Statements) -> Statements:
        i, j = self.at(own), self.at(own)
        own[i], own[j] = own[j], own[i]
        return own

    def spliced(self, own: Statements) -> Statements:
        """The first statements of one, the last of another template."""
        other = self.draw.pick(self.material.templates).split("\n")
        return own[: self.draw.below(len(own) + 1)] + other[self.draw.below(len(other)) :]

    def crossed(self, own: Statements) -> Statements:
        """The head of one statement and the tail of another one."""
        i, other = self.at(own), self.statement()
        own[i] = own[i][: self.draw.below(len(own[i]) + 1)] + other[self.draw.below(len(other) + 1) :]
        return own

    # expressions --------------------------------------------------------------------------------------------------

    def expression(self) -> str:
        if self.draw.chance(0.5):
            return self.draw.feature()
        return self.draw.pick(self.material.expressions)

    def replaced_part(self, own: Statements) -> Statements:
        """What stands between two commas or brackets becomes something else."""
        i = self.at(own)
        cuts = [m.start() for m in re.finditer(r"[,:=()\[\]&{}]", own[i])]
        if len(cuts) > 1:
            n = self.draw.below(len(cuts) - 1)
            own[i] = f"{own[i][: cuts[n] + 1]} {self.expression()}{own[i][cuts[n + 1] :]}"
        return own

    def wrapped(self, own: Statements) -> Statements:
        i = self.at(own)
        names = list(NAME.finditer(own[i]))
        if names:
            found = self.draw.pick(names)
            around = self.draw.pick(FEATURE_TEXTS)
            own[i] = own[i][: found.start()] + around.replace("word", found[0]) + own[i][found.end() :]
        return own

    def listed(self, own: Statements) -> Statements:
        """One more entry at the end of a list."""
        i = self.at(own)
        own[i] += f"{self.draw.pick([', ', ': ', ' & ', ' and ', ' or ', chr(10) + '    '])}{self.expression()}"
        return own

    # names, numbers, settings -------------------------------------------------------------------------------------

    def renamed(self, own: Statements) -> Statements:
        """A name becomes another one of the template, a word of the language, or one of another template."""
        names = sorted({name for statement in own for name in NAME.findall(statement)})
        others = self.draw.pick([names, WORDS, names, self.material.tokens])
        return self._one(own, NAME, self.draw.pick(others) if others else "x")

    def renumbered(self, own: Statements) -> Statements:
        return self._one(own, NUMBER, self.draw.pick(NUMBERS))

    def redirected(self, own: Statements) -> Statements:
        return self._one(own, STRING, f'"{self.draw.pick(PATHS)}"')

    def _one(self, own: Statements, pattern: re.Pattern[str], text: str) -> Statements:
        """One match of a pattern, in any statement that has one, becomes a text."""
        places = [(i, m) for i, statement in enumerate(own) for m in pattern.finditer(statement)]
        if places:
            i, found = self.draw.pick(places)
            own[i] = own[i][: found.start()] + text + own[i][found.end() :]
        return own

    def reset(self, own: Statements) -> Statements:
        """A setting more on a `train`, `infer` or `decode`; an option more where there are some."""
        i = self.draw.pick([n for n, s in enumerate(own) if s.startswith(("train", "infer"))] or [self.at(own)])
        text = settings_text(self.draw)
        own[i] += f", {text}" if ":" in own[i] else f": {text}"
        return own

    def revalued(self, own: Statements) -> Statements:
        """Another value after a `=`."""
        i = self.at(own)
        found = list(re.finditer(r"=\s*[^,\s)]+", own[i]))
        if found:
            place = self.draw.pick(found)
            own[i] = own[i][: place.start()] + f"= {self.draw.value()}" + own[i][place.end() :]
        return own

    # tokens, characters -------------------------------------------------------------------------------------------

    def retokened(self, own: Statements) -> Statements:
        """A token is left out, said twice, changes places, or becomes another one."""
        i = self.at(own)
        tokens = TOKEN.findall(own[i])
        if not tokens:
            return own
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
        own[i] = "".join(tokens)
        return own

    def recharactered(self, own: Statements) -> Statements:
        """Characters are put in or left out, or the end is."""
        i = self.at(own)
        n = self.draw.below(len(own[i]) + 1)
        match self.draw.below(4):
            case 0:
                own[i] = own[i][:n] + own[i][n + 1 + self.draw.below(4) :]
            case 1 if self.draw.chance(0.3):
                return [*own[:i], own[i][:n]]
            case _:
                own[i] = own[i][:n] + self.draw.pick(CHARACTERS) + own[i][n:]
        return own

    # growth -------------------------------------------------------------------------------------------------------

    def grown(self, own: Statements) -> Statements:
        """Something many times over: brackets, entries of a list, letters of a name, statements."""
        i, many = self.at(own), int(self.draw.pick([3, 10, 31, 33, 40, 100, 200]))
        match self.draw.below(6):
            case 0:
                opener = self.draw.pick(list(OPENERS))
                names = list(NAME.finditer(own[i]))
                if names:
                    m = self.draw.pick(names)
                    around = opener * many + m[0] + OPENERS[opener] * many
                    own[i] = own[i][: m.start()] + around + own[i][m.end() :]
            case 1:
                return self._one(own, re.compile(r"\bnot\b|\bis\b|\bin\b|\bhas\b"), "not " * many)
            case 2:
                part = self.expression()
                own[i] += self.draw.pick([", ", " & ", " and ", " or "]).join(["", *[part] * many])
            case 3:
                return self._one(own, NAME, self.draw.pick(["x", "é", "_"]) * many * 20)
            case 4:
                extra = self.statement()
                own[i:i] = [re.sub(r"\b(as|let|label|features) \w+", rf"\1 n{n}", extra) for n in range(many // 3)]
            case _:
                own[i] = own[i].replace(",", "," * min(many, 10), 1)
        return own


MUTATIONS: tuple[Callable[[Mutator, Statements], Statements], ...] = (
    Mutator.inserted, Mutator.inserted, Mutator.deleted, Mutator.doubled, Mutator.swapped, Mutator.spliced,
    Mutator.crossed, Mutator.replaced_part, Mutator.replaced_part, Mutator.wrapped, Mutator.wrapped, Mutator.listed,
    Mutator.renamed, Mutator.renamed, Mutator.renamed, Mutator.renumbered, Mutator.renumbered, Mutator.redirected,
    Mutator.reset, Mutator.reset, Mutator.revalued, Mutator.revalued, Mutator.retokened, Mutator.retokened,
    Mutator.recharactered, Mutator.recharactered, Mutator.grown,
)  # fmt: skip
