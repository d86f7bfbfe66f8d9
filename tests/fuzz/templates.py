"""Templates nobody would write: mutated, spliced or drawn, then read, checked, printed, and some of them trained.

Checked beyond the findings of every kind: `fmt` is idempotent and keeps the meaning; a clean template reads back the
same from `to_text`; every message has a page, and a place if the template has one. Not here: how a case is made
(`mutations`, `grammar`), tiny data for a template (`tiny`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from dcrfdsl.cli.cost_table import declared_costs
from dcrfdsl.foundation.errors.diagnostics import DcrfError, Diagnostic, render_all
from dcrfdsl.semantics import to_text
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.reference.message_pages import EXPLANATIONS
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text, resolve
from dcrfdsl.syntax.format import format_template
from dcrfdsl.syntax.parser import parse_partial

from .cases import Fuzzer, Wrong
from .grammar import Draw
from .material import Material, statements_of
from .mutations import Mutator
from .tiny import is_small, try_training, warm_up

FORMATTED = 0.3  # share of the parsed templates that are formatted
TRAINED = 0.12  # share of the clean templates that are trained
COSTED = 0.2
# Problems without a place: something missing from the template, or requested outside it.
PLACELESS = frozenset(("no-data", "no-label", "unknown-stage"))
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class Templates(Fuzzer[str]):
    def __init__(self, room: Path) -> None:
        super().__init__(room)
        self.material = Material.gathered(room)
        warm_up()

    def make(self, rng: np.random.Generator) -> str:
        draw, mutator = Draw(rng), Mutator(self.material, rng)
        times = draw.pick([0, 1, 1, 1, 2, 2, 3, 5, 8])
        match draw.below(10):
            case 0 | 1 | 2 | 3:
                statements = statements_of(draw.pick(self.material.templates))
                if len(statements) > 12:
                    statements = [line for line in statements if draw.chance(12 / len(statements))]
            case 4:
                statements = draw.pick(self.material.templates).rstrip("\n").split("\n")  # with its comments
                times += 1
            case 5:
                statements = [mutator.statement() for _ in range(1 + draw.below(8))]
            case _:
                statements = draw.template()
                times = draw.pick([0, 0, 0, 1, 1, 2])
        text = "\n".join(mutator.mutated(statements, times)) + draw.pick(["\n", "\n", "\n", "", "\n\n", "\n#"])
        return text.replace("\n", "\r\n") if draw.chance(0.02) else text

    def attempt(self, case: str, rng: np.random.Generator) -> str:
        return judged(case, rng, self.room)

    def smaller(self, case: str) -> Iterator[str]:
        lines = case.split("\n")
        for size in sorted({max(1, len(lines) // n) for n in (2, 3, 4, 8)} | {1}, reverse=True):
            for start in range(0, len(lines), size):
                yield "\n".join(lines[:start] + lines[start + size :])
        for size in (400, 100, 30, 10, 4, 2, 1):
            for start in range(0, len(case), size):
                if size <= len(case) // 2 and len(case) / size <= 120:
                    yield case[:start] + case[start + size :]
        pieces = re.findall(r"\s+|\w+|.", case)
        if len(pieces) <= 200:
            for n in range(len(pieces)):
                yield "".join(pieces[:n] + pieces[n + 1 :])

    def show(self, case: str) -> str:
        return case if case.isprintable() or not CONTROL.search(case.replace("\n", "")) else repr(case)


def judged(text: str, rng: np.random.Generator, room: Path) -> str:
    """Runs all checks on a template; returns a word for how far it got."""
    template, problems = parse_partial(text, "t.dcrf")
    if not problems and rng.random() < FORMATTED:
        _formats(text, room)
    resolved = resolve(template, directory=room)
    if problems:
        diagnostics = (*problems, *resolved.diagnostics)
        resolved = replace(resolved, diagnostics=diagnostics, complete=False)
    diagnostics = check(resolved)
    messages(diagnostics)
    if any(d.severity == "error" for d in diagnostics):
        shown(diagnostics)
        return "refused"
    _reads_back(resolved, room)
    if rng.random() < COSTED:
        declared_costs(resolved, None)
    if rng.random() < TRAINED and is_small(resolved):
        return try_training(resolved, rng)
    return "clean"


def messages(diagnostics: tuple[Diagnostic, ...]) -> None:
    for diagnostic in diagnostics:
        if diagnostic.slug not in EXPLANATIONS:
            raise Wrong(f"no page for {diagnostic.slug}", diagnostic.message)
        if diagnostic.primary is None and diagnostic.location is None and diagnostic.slug not in PLACELESS:
            raise Wrong(f"no place for {diagnostic.slug}", diagnostic.message)


def shown(diagnostics: tuple[Diagnostic, ...]) -> None:
    """Raises `Wrong` if the rendered messages contain control characters."""
    text = render_all(diagnostics)
    if CONTROL.search(text):
        line = next(line for line in text.split("\n") if CONTROL.search(line))
        raise Wrong("control character in a message", repr(line))


def _formats(text: str, room: Path) -> None:
    template, _ = parse_partial(text, "t.dcrf")
    once = format_template(template)
    again, problems = parse_partial(once, "t.dcrf")
    if problems:
        raise Wrong("fmt makes what does not parse", render_all(problems[:1]))
    twice = format_template(again)
    if twice != once:
        pairs = zip(once.split("\n"), twice.split("\n"), strict=False)
        first = next((pair for pair in pairs if pair[0] != pair[1]), (once[-80:], twice[-80:]))
        raise Wrong("fmt twice differs from once", f"{first[0]!r}\n{first[1]!r}")
    if resolve(again, directory=room).spec != resolve(template, directory=room).spec:
        raise Wrong("fmt changes what a template means", once)


def _reads_back(resolved: Resolved, room: Path) -> None:
    """Raises `Wrong` unless the specification of a clean template reads back the same from its text."""
    text = to_text(resolved.spec)
    try:
        again = load_text(text, directory=room).require()
    except DcrfError as error:
        raise Wrong("to_text does not read back", f"{error}\n{text}") from None
    if again != resolved.spec:
        parts = [name for name in type(again).model_fields if getattr(again, name) != getattr(resolved.spec, name)]
        words = "\n".join(f"{getattr(resolved.spec, name)}\n{getattr(again, name)}" for name in parts)
        raise Wrong(f"to_text reads back differently: {', '.join(parts)}", words)
