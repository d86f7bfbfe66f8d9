"""Runs a task for each part, and adds results in a fixed tree: sums have the same bits however the work is shared.

    0 1 2 3 4 5 6   ->   ((0+1)+(2+3)) + ((4+5)+6)

The tree depends on the number of parts alone. Tasks are run by `InTurn` in this process, by `ClusterRunner` by the
workers of a Dask cluster. A task is a function at the top of a module of what all parts share and the number of the
part, so that it can be sent to another process.

On a cluster each evaluation sends the weights to all workers once. A part has a home, the worker that keeps its layout;
its term is computed there, and terms are added in the tree wherever the scheduler sees fit. Where there are many parts,
a task takes a block of neighbours that are a subtree, since the scheduler needs about a millisecond a task. Homes stay
while their workers live: blocks of a lost worker move to those with fewest, and some to a new worker. An evaluation
that loses a worker is computed again, and as tasks depend on nothing but files, weights and numbers, its result is the
same. Workers must reach the folder of the cache. A task takes `DCRFDSL_THREADS` threads where that is set on the
worker, else one, as Dask gives each thread of a worker a task of its own. Not here: the tasks.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ...foundation import DcrfError, LazyModule, data_error, needed
from ...inference import Workers

distributed = LazyModule("distributed")

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


class InTurn:
    """Runs tasks in this process, `at_once` at a time.

    threads: of one task; 0, in `ClusterRunner`: as the process decides in which it runs.
    """

    def __init__(self, threads: int, at_once: int = 1):
        self.at_once = max(1, min(at_once, threads))
        self.threads = max(1, threads // self.at_once)

    def each(self, task: Callable[[Shared, int], Result], shared: Shared, count: int) -> Iterator[Result]:
        """`task(shared, n)` for each part n, in order."""
        for number in range(count):
            yield task(shared, number)

    def everywhere(self, task: Callable[[str], None], argument: str) -> None:
        """`task(argument)` in each process."""
        task(argument)

    def total(
        self, task: Callable[[Shared, int, Any], Result], shared: Shared, count: int, argument: Any,
        add: Callable[[Result, Result], Result],
    ) -> Result:  # fmt: skip
        """The sum of `task(shared, n, argument)` over all parts in the order of the tree."""
        if self.at_once == 1:
            return total_of_block(task, add, shared, 0, count, argument)
        tree = TreeSum(add)
        with ThreadPoolExecutor(self.at_once) as pool:
            for first in range(0, count, self.at_once):  # in batches, so that few results wait to be added
                numbers = range(first, min(first + self.at_once, count))
                for result in pool.map(lambda number: task(shared, number, argument), numbers):
                    tree.append(result)
        total: Result = tree.total()
        return total


ATTEMPTS = 20  # of an evaluation that loses workers
BLOCKS = 8  # for each thread, at least, where there are so many parts
POLL = 0.5  # seconds between looks at the workers
PATIENCE = 60.0  # seconds without any worker before training ends
RESUME = "start the scheduler and its workers again, and run the same command with `--resume`"


class _LostWorker(Exception):
    """A worker with a part of the evaluation has gone."""


class ClusterRunner:
    """Runs tasks by the workers of a `distributed.Client`, with the methods of `InTurn`."""

    threads = 0  # each worker decides: see `task_workers`

    def __init__(self, client: Any):
        self._client = client
        self._homes: dict[int, str] = {}  # of each block
        self._size = 1  # of a block
        self._sent: tuple[Any, Any] | None = None  # what all tasks of a pass share, and where it is

    def each(self, task: Callable[[Shared, int], Result], shared: Shared, count: int) -> Iterator[Result]:
        """`task(shared, n)` for each part n, in order; few results wait for those before them."""
        with self._clear_errors():
            ahead = 2 * max(1, len(self._alive()))
            begun: deque[tuple[int, Any]] = deque()
            sent = self._send(shared)
            for number in range(count):
                begun.append((number, self._client.submit(task, sent, number, pure=False)))
                if len(begun) > ahead:
                    yield self._result_again(task, shared, *begun.popleft())
            while begun:
                yield self._result_again(task, shared, *begun.popleft())

    def everywhere(self, task: Callable[[str], None], argument: str) -> None:
        with suppress(Exception):  # workers that are gone keep nothing
            self._client.run(task, argument)

    def _result_again(self, task: Callable[[Shared, int], Result], shared: Shared, number: int, future: Any) -> Any:
        """The result of a task, which is begun again if what it needs was lost."""
        for _ in range(ATTEMPTS):
            try:
                return self._waited(future, set())
            except _LostWorker:
                self._sent = None
                future = self._client.submit(task, self._send(shared), number, pure=False)
        raise self._lost("workers were lost again and again")

    def total(
        self, task: Callable[[Shared, int, Any], Result], shared: Shared, count: int, argument: Any,
        add: Callable[[Result, Result], Result],
    ) -> Result:  # fmt: skip
        with self._clear_errors():
            total: Result = self._again(lambda: self._total(task, shared, count, argument, add))
            return total

    def _total(self, task: Any, shared: Any, count: int, argument: Any, add: Any) -> Any:
        submit, sent = self._client.submit, self._send(shared)
        size = self._assign(count)
        point = self._scattered(argument)
        level = [
            submit(
                total_of_block, task, add, sent, first, min(first + size, count), point, pure=False,
                workers=[self._homes[first // size]], allow_other_workers=False,
            )
            for first in range(0, count, size)
        ]  # fmt: skip
        used = set(self._homes.values())
        while len(level) > 1:
            pairs = [submit(add, *level[n : n + 2], pure=False) for n in range(0, len(level) - 1, 2)]
            level = [*pairs, *level[2 * len(pairs) :]]
        return self._waited(level[0], used)

    def _waited(self, future: Any, used: set[str]) -> Any:
        """The result of a future. _LostWorker if one of the workers that it needs has gone."""
        while True:
            try:
                return future.result(timeout=POLL)
            except distributed.TimeoutError:
                if not used <= set(self._alive()):
                    future.cancel()
                    raise _LostWorker from None
            except (distributed.CancelledError, distributed.KilledWorker, OSError):
                time.sleep(POLL)
                self._alive()
                raise _LostWorker from None

    def _send(self, shared: Any) -> Any:
        """Where the workers have what all tasks of a pass share."""
        if self._sent is None or self._sent[0] is not shared:
            self._sent = shared, self._again(lambda: self._scattered(shared))
        return self._sent[1]

    def _again(self, act: Callable[[], Any]) -> Any:
        """The result of an action, which is done again where a worker is lost."""
        for _ in range(ATTEMPTS):
            try:
                return act()
            except _LostWorker:
                self._sent = None
        raise self._lost("workers were lost again and again")

    def _scattered(self, item: Any) -> Any:
        self._alive()
        try:
            return self._client.scatter(item, broadcast=True, hash=False)
        except (distributed.CancelledError, distributed.TimeoutError, KeyError, OSError):
            time.sleep(POLL)
            self._alive()  # an error if it was the scheduler that went
            raise _LostWorker from None

    def _alive(self) -> list[str]:
        """The addresses of the workers."""
        return sorted(self._threads())

    def _threads(self) -> dict[str, int]:
        """The threads of each worker by address. DcrfError without a worker within `PATIENCE`, or a scheduler."""
        begun = time.monotonic()
        while True:
            try:
                if self._client.status != "running":
                    raise OSError("the connection is closed")
                found: dict[str, int] = dict(self._client.nthreads())
            except (OSError, RuntimeError, ValueError, TypeError, AttributeError) as error:
                raise self._lost(f"the scheduler does not answer ({error})") from None
            if found:
                return found
            if time.monotonic() - begun > PATIENCE:
                raise self._lost(f"no worker came within {PATIENCE:.0f} seconds")
            time.sleep(POLL)

    def _assign(self, count: int) -> int:
        """The size of blocks; gives each a home: its former one, unless that has gone or has more than its share.

        Neighbours get the same home, so that most sums need no transfer.
        """
        threads = self._threads()
        alive, size = sorted(threads), 1
        while count // (2 * size) >= BLOCKS * sum(threads.values()):
            size *= 2  # a subtree of the tree over parts
        blocks = -(-count // size)
        if size != self._size:
            self._size, self._homes = size, {}
        most = -(-blocks // len(alive))
        load: Counter[str] = Counter(dict.fromkeys(alive, 0))
        homes: dict[int, str] = {}
        for block in range(blocks):
            home = self._homes.get(block, "")
            if home in load and load[home] < most:
                homes[block] = home
                load[home] += 1
        for block in range(blocks):
            if block not in homes:
                near = alive[block * len(alive) // blocks]
                homes[block] = near if load[near] < most else min(alive, key=lambda one: (load[one], one))
                load[homes[block]] += 1
        self._homes = homes
        return size

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Errors of a lost connection as a DcrfError."""
        try:
            yield
        except (OSError, distributed.CancelledError, distributed.TimeoutError) as error:
            raise self._lost(f"{type(error).__name__}: {error}") from None

    def _lost(self, why: str) -> DcrfError:
        return data_error("cluster-lost", f"the cluster is lost: {why}", help=RESUME)


PartRunner: TypeAlias = InTurn | ClusterRunner


def total_of_block(
    task: Callable[[Shared, int, Any], Result], add: Callable[[Result, Result], Result], shared: Shared, first: int,
    last: int, argument: Any,
) -> Result:  # fmt: skip
    """The sum over the parts `first` to `last` (excluded), a subtree of the tree over all parts."""
    tree = TreeSum(add)
    for number in range(first, last):
        tree.append(task(shared, number, argument))
    total: Result = tree.total()
    return total


def part_runner(client: Any) -> ClusterRunner:
    """What runs tasks on parts by the workers of a `distributed.Client`. TypeError for anything else."""
    if not all(hasattr(client, name) for name in ("submit", "scatter", "nthreads")):
        raise TypeError(f"cluster: a `distributed.Client` is needed, not {type(client).__name__}")
    return ClusterRunner(client)


@contextmanager
def cluster_client(address: str | None, workers: int | None, threads: int | None) -> Iterator[Any]:
    """A client of the scheduler at `address`, or of a cluster of `workers` processes on this machine.

    threads: that these processes share; by default all cores. DcrfError if dask is not installed, or if
    nothing answers.
    """
    with needed("distributed", "`--cluster` and `--workers` need dask", "dask"):
        from distributed import Client, LocalCluster, WorkerPlugin
    if address is not None:
        try:
            client = Client(address, timeout=20)
        except (OSError, ValueError) as error:
            message = f"no scheduler answers at `{address}`: {error}"
            remedy = "name the address that `dask scheduler` prints, as tcp://HOST:8786"
            raise data_error("no-cluster", message, help=remedy) from None
        with client:
            yield client
        return
    count = workers or 1
    share = max(1, Workers(threads).threads // count)
    cluster = LocalCluster(
        n_workers=count, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", memory_limit=None,
        env={"DCRFDSL_THREADS": str(share)},
    )  # fmt: skip

    class Uninterrupted(WorkerPlugin):
        """Leaves Ctrl-C, which a terminal sends to all its processes, to the one that trains."""

        def setup(self, worker: Any) -> None:
            with suppress(ValueError):  # not the main thread
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    with cluster, Client(cluster, direct_to_workers=True) as client:
        client.register_plugin(Uninterrupted())
        yield client


def ship_functions(registered: Any) -> None:
    """Lets functions of the user travel by value: workers do not have the files that define them."""
    import cloudpickle

    for function in registered.values():
        module = sys.modules.get(function.function.__module__)
        if module is not None and not str(getattr(module, "__name__", "")).startswith("dcrfdsl"):
            cloudpickle.register_pickle_by_value(module)


def require_shared(client: Any, folder: Path) -> None:
    """DcrfError if a worker cannot reach a folder."""
    found = client.run(os.path.isdir, str(folder))
    missing = [address for address, is_there in found.items() if not is_there]
    if missing:
        message = f"{len(missing)} of {len(found)} workers do not see the folder `{folder}`, as {missing[0]}"
        remedy = "name a folder that all machines share: `--cache DIR`"
        raise data_error("no-shared-folder", message, help=remedy)
