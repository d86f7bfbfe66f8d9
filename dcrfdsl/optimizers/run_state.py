"""What a running training remembers, layer by layer, so that it can go on later from the same point.

    stage -> start -> part -> optimizer -> its memory        each layer keeps its own; a snapshot asks all of them

A snapshot is made while `watch` is called, between two iterations. What a layer remembers is plain: numbers, texts,
None, arrays, and lists and dicts of these. Arrays are not copied, so a snapshot is written before training goes on.
Not here: files (`training.checkpoints`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..foundation import recalled
from .objective import BoostingRound, Outcome
from .voters import Voters

Remembered = Mapping[str, Any]


class NotNow(Exception):
    """Raised by a layer that cannot go on from this point; the next iteration may do."""


class RunState:
    """The layers below one layer.   saved: what they remembered at the snapshot from which training goes on."""

    def __init__(self, saved: Remembered | None = None):
        self._saved = dict(saved or {})
        self._layers: dict[str, Callable[[], Remembered | None]] = {}

    def take(self, name: str) -> Any:
        """What layer `name` remembered, the first time it is asked for; None later, or if there is nothing."""
        return self._saved.pop(name, None)

    def keep(self, name: str, remember: Callable[[], Remembered | None]) -> None:
        """From now on a snapshot contains what `remember` returns, as layer `name`."""
        self._layers[name] = remember

    def drop(self, name: str) -> None:
        """Layer `name` has ended, and what it remembered is no longer needed."""
        self._layers.pop(name, None)

    def close(self) -> None:
        """All layers have ended: what they hold is free at once, though they hold this too."""
        self._layers.clear()

    def below(self, name: str) -> RunState:
        """The layers below layer `name`, which begins now; an earlier one of this name has ended."""
        lower = RunState(self.take(name))
        self.keep(name, lower.snapshot)
        return lower

    def snapshot(self) -> dict[str, Any]:
        """What all layers remember now. Raises `NotNow` if one of them cannot go on from here."""
        return {name: remember() for name, remember in self._layers.items()}


def generator_state(generator: np.random.Generator) -> dict[str, Any]:
    """The state of a generator of random numbers, as `generator_from` takes it."""
    return dict(generator.bit_generator.state)


def generator_from(state: Mapping[str, Any]) -> np.random.Generator:
    """A generator that goes on from a state."""
    generator = np.random.default_rng()
    generator.bit_generator.state = dict(state)
    return generator


def outcome_state(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain values."""
    plain = dict(vars(outcome))
    plain["voters"] = None if outcome.voters is None else outcome.voters.arrays()
    plain["path"] = [list(done) for done in outcome.path]
    return plain


def outcome_from(state: Mapping[str, Any], num_weights: int) -> Outcome:
    """The outcome that `outcome_state` took apart. `IncompatibleState` if it has another number of weights."""
    recalled(state, "weights", num_weights)
    voters = None if state["voters"] is None else Voters.restore(state["voters"], num_weights)
    path = tuple(BoostingRound(*done) for done in state["path"])
    return Outcome(**{**state, "voters": voters, "path": path})
