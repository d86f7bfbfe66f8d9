"""The interface of a kind of cases, the exception for its own findings, and the names of cases.

Not here: any kind of cases (a module each), nor how cases are run (`runner`, `worker`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

C = TypeVar("C")


class Wrong(Exception):
    """A fault that a kind of cases detects itself: a short name for the kind of fault, and a description."""

    def __init__(self, kind: str, words: str):
        super().__init__(words)
        self.kind = kind


class Fuzzer(ABC, Generic[C]):
    """Makes cases of one kind and tries them; the docstring of the package tells what each method may do."""

    def __init__(self, room: Path) -> None:
        self.room = room

    @abstractmethod
    def make(self, rng: np.random.Generator) -> C:
        """A case, made from the generator alone."""

    @abstractmethod
    def attempt(self, case: C, rng: np.random.Generator) -> str:
        """Tries the case, and returns a word for the outcome."""

    def smaller(self, case: C) -> Iterator[C]:
        """Smaller cases that may show the same fault, the smallest first."""
        return iter(())

    def show(self, case: C) -> str:
        """The case as text for a person."""
        return repr(case)


@dataclass(frozen=True)
class Name:
    """The name of a case: its kind, the seed of the run, and its number there."""

    kind: str
    seed: int
    number: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.seed}-{self.number}"

    @classmethod
    def of(cls, text: str) -> Name:
        match = re.fullmatch(r"(\w+)-(\d+)-(\d+)", text)
        if match is None:
            raise ValueError(f"a case is named like `templates-0-17`, not `{text}`")
        return cls(match[1], int(match[2]), int(match[3]))

    def generators(self) -> tuple[np.random.Generator, np.random.Generator]:
        """The generator that makes the case, and the one for choices of what to try."""
        made, tried = np.random.SeedSequence([self.seed, self.number]).spawn(2)
        return np.random.default_rng(made), np.random.default_rng(tried)
