"""What a kind of cases must offer, what is found wrong with one, and how a case is named.

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

__all__ = ["Fuzzer", "Name", "Wrong"]

C = TypeVar("C")


class Wrong(Exception):
    """Something that a kind of cases finds wrong itself: a short name of the kind of fault, and words."""

    def __init__(self, kind: str, words: str):
        super().__init__(words)
        self.kind = kind


class Fuzzer(ABC, Generic[C]):
    """Makes cases of one kind and tries them; the package's docstring says what each part may do."""

    def __init__(self, room: Path) -> None:
        self.room = room

    @abstractmethod
    def make(self, rng: np.random.Generator) -> C:
        """A case, of nothing but the generator."""

    @abstractmethod
    def attempt(self, case: C, rng: np.random.Generator) -> str:
        """Tries it; a word for what became of it."""

    def smaller(self, case: C) -> Iterator[C]:
        """Smaller cases that may show the same, the boldest first."""
        return iter(())

    def show(self, case: C) -> str:
        """The case for a person."""
        return repr(case)


@dataclass(frozen=True)
class Name:
    """Which case: its kind, the seed of the run, its number there."""

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
        """That which makes the case, and that for choices of what to try."""
        made, tried = np.random.SeedSequence([self.seed, self.number]).spawn(2)
        return np.random.default_rng(made), np.random.default_rng(tried)
