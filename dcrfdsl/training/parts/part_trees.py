"""Runs a task for each part, and adds results in a fixed tree: sums have the same bits however the work is shared.

    0 1 2 3 4 5 6   ->   ((0+1)+(2+3)) + ((4+5)+6)

The tree depends on the number of parts alone. `PartRunner` is what runs tasks: one after the other here, on a cluster
in `cluster_runner`. A task is a function at the top of a module of what all parts share and the number of the part, so
that it can be sent to another process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from ...inference import Workers

Shared = TypeVar("Shared")
Result = TypeVar("Result")


class TreeSum:
    """A sum in the order of the tree; it holds one partial sum a level.   add: may reuse its first argument."""

    def __init__(self, add: Callable[[Any, Any], Any]):
        self._add, self._partial = add, list[tuple[int, Any]]()

    def append(self, item: Any) -> None:
        """Adds the result of the next part."""
        level = 0
        while self._partial and self._partial[-1][0] == level:
            item = self._add(self._partial.pop()[1], item)
            level += 1
        self._partial.append((level, item))

    def total(self) -> Any:
        """The sum of all parts, of which there is one at least."""
        _, item = self._partial.pop()
        while self._partial:
            item = self._add(self._partial.pop()[1], item)
        return item


def task_workers(threads: int) -> Workers:
    """The threads of a task; with 0 as many as `DCRFDSL_THREADS` says where the task runs, else one."""
    return Workers(threads or (None if os.environ.get("DCRFDSL_THREADS") else 1))


class PartRunner(Protocol):
    """Runs tasks on parts."""

    threads: int  # of one task; 0: as the process decides in which it runs

    def each(self, task: Callable[[Shared, int], Result], shared: Shared, count: int) -> Iterator[Result]:
        """`task(shared, n)` for each part n, in order."""

    def everywhere(self, task: Callable[[str], None], argument: str) -> None:
        """`task(argument)` in each process."""

    def total(
        self, task: Callable[[Shared, int, Any], Result], shared: Shared, count: int, argument: Any,
        add: Callable[[Result, Result], Result],
    ) -> Result:  # fmt: skip
        """The sum of `task(shared, n, argument)` over all parts in the order of the tree."""


class InTurn:
    """Runs tasks in this process, `at_once` at a time."""

    def __init__(self, threads: int, at_once: int = 1):
        self.at_once = max(1, min(at_once, threads))
        self.threads = max(1, threads // self.at_once)

    def each(self, task: Callable[[Shared, int], Result], shared: Shared, count: int) -> Iterator[Result]:
        """See `PartRunner`."""
        for number in range(count):
            yield task(shared, number)

    def everywhere(self, task: Callable[[str], None], argument: str) -> None:
        """See `PartRunner`."""
        task(argument)

    def total(
        self, task: Callable[[Shared, int, Any], Result], shared: Shared, count: int, argument: Any,
        add: Callable[[Result, Result], Result],
    ) -> Result:  # fmt: skip
        """See `PartRunner`."""
        tree = TreeSum(add)
        if self.at_once == 1:
            for number in range(count):
                tree.append(task(shared, number, argument))
        else:
            with ThreadPoolExecutor(self.at_once) as pool:
                for first in range(0, count, self.at_once):  # in batches, so that few results wait to be added
                    numbers = range(first, min(first + self.at_once, count))
                    for result in pool.map(lambda number: task(shared, number, argument), numbers):
                        tree.append(result)
        total: Result = tree.total()
        return total
