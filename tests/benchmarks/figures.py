"""The results of a benchmark: figures with a unit, a peer's figure, a target, and one line on the work of each side."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal


class Skip(Exception):
    """Raised with the reason why a benchmark, or one of its peers, cannot run here."""


@dataclass(frozen=True)
class Target:
    """A target. `faster`: the peer's seconds over ours must be at least `bound`; else `bound` limits our own figure."""

    kind: Literal["faster", "at least", "at most"]
    bound: float

    def words(self, unit: str) -> str:
        if self.kind == "faster":
            return f"≥ {_short(self.bound)}×"
        return f"{_SIGNS[self.kind]} {_amount(self.bound, unit)}"


_SIGNS = {"at least": "≥", "at most": "≤"}


def times_faster(bound: float) -> Target:
    return Target("faster", bound)


def at_least(bound: float) -> Target:
    return Target("at least", bound)


def at_most(bound: float) -> Target:
    return Target("at most", bound)


@dataclass(frozen=True)
class Figure:
    """One measured value. peer: that of the other program, in the same unit, or why it was not measured.

    work: what each side does, so that a reader can see that both do the same.
    """

    name: str
    value: float
    unit: str
    work: str
    target: Target | None = None
    peer: float | str | None = None

    @property
    def ratio(self) -> float | None:
        """How many times better than the peer: ours / peer's for rates, peer's / ours for times and sizes."""
        if not isinstance(self.peer, float):
            return None
        return self.value / self.peer if self.unit.endswith("/s") else self.peer / self.value

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target, or without a peer to compare with."""
        if self.target is None:
            return None
        if self.target.kind == "faster":
            return None if self.ratio is None else self.ratio >= self.target.bound
        return self.value >= self.target.bound if self.target.kind == "at least" else self.value <= self.target.bound

    def row(self) -> tuple[str, ...]:
        return (
            self.name,
            _amount(self.value, self.unit),
            _amount(self.peer, self.unit) if isinstance(self.peer, float) else self.peer or "",
            "" if self.ratio is None else f"{_short(self.ratio)}×",
            "" if self.target is None else self.target.words(self.unit),
            {True: "met", False: "missed", None: ""}[self.met],
        )

    def record(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"ratio": self.ratio, "met": self.met}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Figure:
        """The figure that a record is of."""
        own = {field.name: record[field.name] for field in dataclasses.fields(cls)}
        return cls(**own | {"target": None if record["target"] is None else Target(**record["target"])})


Benchmark = Callable[[], Iterator[Figure]]


def seconds_of(work: Callable[[], object], rounds: int) -> float:
    """Median wall-clock seconds of `rounds` calls, after one uncounted call, which may compile."""
    work()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _amount(value: float, unit: str) -> str:
    """A number with its unit; short times in ms, µs or ns."""
    if unit == "s":
        for size, smaller in ((1e-1, "s"), (1e-4, "ms"), (1e-7, "µs"), (0.0, "ns")):
            if abs(value) >= size:
                return f"{_short(value * {'s': 1.0, 'ms': 1e3, 'µs': 1e6, 'ns': 1e9}[smaller])} {smaller}"
    return f"{_short(value)} {unit}".rstrip()


def _short(value: float) -> str:
    """A number with three significant digits and the suffix k, M or G if it is large."""
    for bound, size, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= bound:
            return f"{value / size:.3g} {letter}"
    return f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.3g}"
