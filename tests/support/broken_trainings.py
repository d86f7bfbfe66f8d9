"""Trainings that break off, as by a crash of the machine, and leave a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Broken(Exception):
    """The training was broken off."""


def breaking_after(count: int) -> Callable[[Any], None]:
    """An observer of iterations that raises `Broken` when `count` of them are done and the next one ends."""
    done = 0

    def count_and_break(step: Any) -> None:
        nonlocal done
        if done == count:
            raise Broken
        done += 1

    return count_and_break
