"""Templates drawn from the grammar: mostly sound, so that many of them are clean and go on to training.

Methods and their settings come from the project's own tables, so that new ones are drawn without a change here. Not
here: changes that make a template unsound (`mutations`), values at and beyond the limits of settings (`limits`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from .limits import METHODS, arguments_of, odd_value

T = TypeVar("T")

FEATURE_TEXTS = (
    "word", "word[-1]", "word[-1..1]", "word[-2, 0, 1]", "lower(word)", "lower(word)[-1..0]", "prefix(word, 2)",
    "(word)",
    "prefix(word, 1..3)", "suffix(word, 1..2)[-1]", "chars(word, 2)", "shape(word)", "shape(word, short = yes)", "bias",
    "length(word)", "first", "last", "index", "word has /[0-9]/", "word matches /a+/i", "word is a", "word is not a",
    "word in {a, b}", "word not in {a, c}", "not word is a", "word & word[-1]", "word[-1] & word[0] & word[1]",
    "bias & word",
    "(word is a or word is b)", "(word is a and first)", "not (first or last)", "word = word[-1]", "word != word[1]",
    "lower(word) = word", "word[-1] is a & word", "lower(lower(word))", "word[-9..9]", "word[5]",
    "suffix(lower(word), 1)", "extract(word, /^[a-b]+/)", "extract(lower(word), /[^-]*$/)[-1]",
    "length(word) > 1", "word >= 2", "index - index[-1] < 2", "(length(word)[1] != 1 and first)",
    "bin(length(word), 2)",
    "bin(index, 2, 4)[-1..1]", "not index > 3", "standardize(length(word))", "mean(index[-1..2]) > 2",
)  # fmt: skip
SEQUENCES = ("chain", "second", "pair", "skip", "long", "padded", "apart")

GAPS = (  # features of a number that may be missing
    "size is missing", "size[-1..1] is not missing & word", "size - size[-1] > 0", "size != size[-1]", "bin(size, 2)",
    "size[-1..1] & pos", "standardize(size)[-1..1]", "standardize(mean(size[-3..3])), slope(size[-1..1]) > 0",
    "scale(size) & word", "max(standardize(size)[-2..0])[1]", "bin(change(size[-1..1]), -1, 1)",
)  # fmt: skip


class Draw:
    """Draws parts of templates."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.labels: dict[str, tuple[str, ...]] = {}
        self.columns = ("word", "pos")

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def below(self, limit: int) -> int:
        return int(self.rng.integers(max(1, limit)))

    def pick(self, of: Sequence[T]) -> T:
        return of[self.below(len(of))]

    # expressions --------------------------------------------------------------------------------------------------

    def feature(self) -> str:
        text = self.pick(FEATURE_TEXTS)
        if self.chance(0.2):
            text = text.replace("word", self.pick(self.columns))
        return f"{text} & {self.pick(FEATURE_TEXTS)}" if self.chance(0.15) else text

    def features(self, most: int = 3) -> str:
        return ", ".join(dict.fromkeys(self.feature() for _ in range(1 + self.below(most))))

    def value(self) -> str:
        return odd_value(self)

    def condition(self, name: str, states: Sequence[str]) -> str:
        """A test of a label at the current or the previous position."""
        place = self.pick(["", "[-1]", ""])
        test = self.pick([f"is {self.pick(states)}", f"is not {self.pick(states)}", f"in {{{self.pick(states)}}}"])
        return f"{name}{place} {test}"

    # templates ----------------------------------------------------------------------------------------------------

    def label(self, name: str) -> str:
        kind = self.below(6)
        count = 1 + self.below(3)
        if kind == 0:
            scheme = self.pick(["bio", "iob1", "bioes", "bilou", "bmes"])
            marks = {"bioes": "BIES", "bilou": "BILU", "bmes": "BMES"}.get(scheme, "BI")
            self.labels[name] = (*(f"{mark}-X" for mark in marks), "O")
            head = f"label {name} in {scheme}(X)"
        elif kind == 1:
            self.labels[name] = ("P", "Q")
            head = f"label {name}"
        else:
            self.labels[name] = tuple(f"{name.upper()}{k}" for k in range(count + (kind > 2)))
            head = f"label {name} in {{{', '.join(self.labels[name])}}}"
        options = [
            text
            for text, p in (
                ('missing = "_"', 0.15),
                ('ambiguous = "|"', 0.1),
                (f"others = {self.labels[name][-1]}", 0.1),
            )
            if self.chance(p) and not (kind == 0 and "others" in text)
        ]
        head += " for sentence" if kind and self.chance(0.08) else ""
        return head + (f" with {', '.join(options)}" if options else "")

    def sequence(self, name: str) -> str:
        options = {
            "chain": f"clique {name}[-1], {name}",
            "second": f"clique {name}[-2], {name}[-1], {name}",
            "pair": f"clique {name}, {self.pick(list(self.labels))}[1]",
            "skip": f"clique {name}[i], {name}[j] where word[i] = word[j] as skip_{name}",
            "long": f"clique {name}[-3], {name} as far_{name}",
            "padded": f"clique {name}[-1], {name} as pad_{name} with edges = pad",
            "apart": f"clique {name} as apart_{name} with states = all",
        }
        kind = self.pick(["chain", "chain", "chain", *SEQUENCES])
        if kind == "skip":
            return options[kind] + self.pick(["", ": word[i] & word[j]", ": bias, pos[i-1]", " with max_gap = 2"])
        return f"{options[kind]}: {self.features()}" if self.chance(0.4) else options[kind]

    def template(self) -> list[str]:
        """The statements of a template."""
        names = ["y", "z", "x"][: self.pick([1, 1, 2, 2, 3])]
        labels = [self.label(name) for name in names]
        numbers = self.pick(["", "", "", "", "size:float, ", "size:int, ", "size:vector(2), "])
        gaps = self.pick(["", ', missing = "?"', ', missing = ""']) if numbers else ""
        format = self.pick(["conll", "conll", "jsonl"])
        statements = [f"data {format}(word, pos, {numbers}{', '.join(names)}{gaps})", *labels]
        if self.chance(0.15):
            statements.append(f"latent h in {self.pick(['2', '3', '{u, v}'])}")
            statements.append(f"clique h, {names[0]}: {self.features()}")
            statements.append("clique h[-1], h" if self.chance(0.5) else "clique h: word")
        if self.chance(0.15):
            statements.append(f"memory seen = seen[-1] or {names[0]}[-1] is {self.labels[names[0]][0]}")
            statements.append(f"clique seen, {names[0]}")
        if self.chance(0.1):
            statements.append(f"view v = {names[0]} is {self.labels[names[0]][0]}")
            statements.append(f"clique v[-1], v: {self.features()}")
        if self.chance(0.3):
            statements.append(f"features token: {self.features()}")
        for name in names:
            more = ", token" if any(line.startswith("features") for line in statements) and self.chance(0.5) else ""
            more += ", size" if numbers and self.chance(0.7) else ""
            if gaps and "vector" not in numbers and self.chance(0.5):
                more += f", {self.pick(GAPS)}"
            statements.append(f"clique {name}: bias, {self.features()}{more}")
            if self.chance(0.8):
                statements.append(self.sequence(name))
        for first, second in itertools.pairwise(names):
            if self.chance(0.7):
                statements.append(f"clique {first}, {second}")
        if gaps and "vector" not in numbers and self.chance(0.3):
            statements.append(
                f"forbid {self.condition(names[0], self.labels[names[0]])} when size is missing and first"
            )
        if self.chance(0.2):
            tests = [self.condition(name, self.labels[name]) for name in (self.pick(names), self.pick(names))]
            joined = ("forbid {} and {}", "forbid {} when {}", "require {} when {}")
            statements.append(self.pick(joined).format(*tests))
        statements.append(self.infer())
        if self.chance(0.1):
            statements.append(
                f"decode {self.pick(['joint', 'marginal', 'marginal', 'local', 'certified', 'optimal(nodes = 3)'])}"
            )
        statements += self.stages()
        if self.chance(0.2):
            segments = ["segments(y)"] if "O" in self.labels["y"] else []
            metric = self.pick(["accuracy(y)", "joint_accuracy", "log_likelihood", "hamming_risk", *segments])
            statements.append(f"evaluate {metric}")
        return statements

    def statement(self) -> str:
        """One statement of a drawn template."""
        return self.pick(Draw(self.rng).template())

    def infer(self) -> str:
        name = self.pick(("exact", "exact", "exact", "auto", "trp", "bp", "trw", "gbp", "ep", "mean_field", "gibbs"))
        if name == "gibbs" and self.chance(0.7):
            name = "exact"
        arguments = arguments_of(self, METHODS["inference method"][name], sound=not self.chance(0.05))
        return f"infer {name}({', '.join(arguments)})" if arguments else f"infer {name}"

    def stages(self) -> list[str]:
        if self.chance(0.2):
            return []
        stages = [self.stage("only")]
        if self.chance(0.15):
            stages = [self.stage("one"), self.stage("two after one")]
        return stages

    def stage(self, names: str) -> str:
        criterion = self.call("training criterion", sound=not self.chance(0.1), bare=True)
        text = f"train {criterion[0]} as {names}"
        settings = list(criterion[1])
        if self.chance(0.3):
            settings.append(f"prior = {self.call('prior', sound=not self.chance(0.05))}")
        if self.chance(0.3):
            settings.append(f"optimizer = {self.call('optimizer', sound=not self.chance(0.05))}")
        if self.chance(0.15):
            settings.append(f"infer = {self.call('inference method', sound=True)}")
        if self.chance(0.1):
            settings.append(f"seed = {self.below(5)}")
        return text + (f": {', '.join(settings)}" if settings else "")

    def call(self, kind: str, *, sound: bool, bare: bool = False) -> Any:
        """A method of a table with some of its settings, as text; with `bare`, its name and its settings apart."""
        table = METHODS[kind]
        name = self.pick(sorted(table))
        arguments = arguments_of(self, table[name], sound=sound)
        if bare:
            return name, arguments
        return f"{name}({', '.join(arguments)})" if arguments else name


def settings_text(draw: Draw) -> str:
    """A setting of some stage or method, sound or not."""
    kind, key = draw.pick(
        [("prior", "prior"), ("optimizer", "optimizer"), ("inference method", "infer"), ("prior", "prior.word"),
         ("observation kernel", "kernel.word"), ("loss", "loss"), ("smoothing function", "smoothing")]
    )  # fmt: skip
    if draw.chance(0.5):
        return f"{key} = {draw.call(kind, sound=draw.chance(0.5))}"
    table = METHODS[draw.pick(sorted(METHODS))]
    arguments = arguments_of(draw, table[draw.pick(sorted(table))], sound=draw.chance(0.5), all_of_them=True)
    return draw.pick(arguments) if arguments else f"seed = {draw.value()}"
