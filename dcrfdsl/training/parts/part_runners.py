"""Runs a task for each part, and adds results in a fixed tree: sums have the same bits however the work is shared.

    0 1 2 3 4 5 6   ->   ((0+1)+(2+3)) + ((4+5)+6)

The tree depends on the number of parts alone. Tasks are run by `InTurn` in this process, by `ClusterRunner` by the
workers of a Dask cluster. A task is a function at the top of a module of what all parts share and the number of the
part, so that it can be sent to another process.

A sum on a cluster is a question that is handed on: two workers get it with the weights, and each sends it to two others
while it computes the parts that have their home with it, those whose layouts it keeps. What comes back are sums of
neighbours, as far as the tree joins them. So each worker is asked once, past Dask's queue of tasks. Homes stay while
their workers live: parts of a lost worker move to those that have fewer. A sum that loses a worker is computed again,
and as tasks depend on nothing but files, weights and numbers, the result is the same. Workers must reach each other and
the folder of the cache. A task takes `DCRFDSL_THREADS` threads where that is set on the worker, else one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import secrets
import signal
import sys
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ...foundation import DcrfError, LazyModule, data_error, needed
from ...inference import Workers

cloudpickle = LazyModule("cloudpickle")
distributed = LazyModule("distributed")

Shared = TypeVar("Shared")
Result = TypeVar("Result")
Sums: TypeAlias = list[tuple[int, int, Any]]  # each with its first part, and the one after its last


def joined(add: Callable[[Any, Any], Any], count: int, sums: Iterable[tuple[int, int, Any]]) -> Sums:
    """Sums of some of `count` parts, in order, added where they are halves in the tree.   add: may reuse the first."""
    done: Sums = []
    for first, last, item in sums:
        while done:
            begin, middle, before = done[-1]
            width = middle - begin
            if middle != first or begin % (2 * width) or last != min(begin + 2 * width, count):
                break
            done.pop()
            first, item = begin, add(before, item)
        done.append((first, last, item))
    return done


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

        def results() -> Iterator[tuple[int, int, Result]]:
            for first in range(0, count, self.at_once):  # in batches, so that few results wait to be added
                numbers = range(first, min(first + self.at_once, count))
                for number, result in zip(numbers, spread(lambda n: task(shared, n, argument), numbers), strict=True):
                    yield number, number + 1, result

        with ThreadPoolExecutor(self.at_once) as pool:
            spread: Any = map if self.at_once == 1 else pool.map
            ((_, _, total),) = joined(add, count, results())
        return total  # type: ignore[no-any-return]


ATTEMPTS = 20  # of an evaluation that loses workers
MOST_SHARED = 8  # things that passes share, which a worker keeps: those of clients that went away stay
POLL = 0.5  # seconds before a lost worker's parts are computed again
PATIENCE = 60.0  # seconds without any worker before training ends
RESUME = "start the scheduler and its workers again; with a checkpoint, `--resume` goes on from there"


class _LostWorker(Exception):
    """A worker with a part of the evaluation has gone, or was not told what all tasks share."""


class _Question(NamedTuple):
    """Sums over parts that workers are asked for.   token: names what tasks share.   shared: that; None: as before."""

    task: Callable[..., Any]
    add: Callable[[Any, Any], Any]
    num_parts: int
    argument: tuple[Any, ...]
    token: str
    shared: Any


_Plan: TypeAlias = list[tuple[str, list[list[int]]]]  # the address of each worker, and the parts of each of its threads
SHARED: OrderedDict[str, Any] = OrderedDict()  # of this worker, by token


def _halves(plan: _Plan) -> dict[str, _Plan]:
    """The halves of a plan, by the worker that answers for all of it."""
    middle = len(plan) // 2
    return {half[0][0]: half for half in (plan[:middle], plan[middle:]) if half}


async def answer(question: _Question, plan: _Plan, dask_worker: Any) -> Sums | Exception:
    """The sums of all parts of a plan, of which this worker is the first, or an error. Workers run it."""
    (_, of_threads), *others = plan
    try:
        if question.shared is not None:
            SHARED[question.token] = question.shared
            while len(SHARED) > MOST_SHARED:
                SHARED.popitem(last=False)
        shared = SHARED.get(question.token)
        if shared is None:
            raise _LostWorker

        def own(parts: list[int]) -> Sums:
            return join((n, n + 1, question.task(shared, n, *question.argument)) for n in parts)

        join = partial(joined, question.add, question.num_parts)
        spread = partial(asyncio.get_running_loop().run_in_executor, dask_worker.executor)
        waiting: list[Awaitable[Sums]] = [spread(own, parts) for parts in of_threads]
        if others:
            waiting.append(_ask(dask_worker.rpc, question, _halves(others)))
        return await spread(join, sorted(chain(*await asyncio.gather(*waiting)), key=itemgetter(0)))
    except Exception as error:
        return error


async def _ask(rpc: Any, question: _Question, plans: dict[str, _Plan], scheduler: Any = None) -> Sums:
    """What the workers at the head of plans answer, who are asked through the scheduler where that is given."""
    call = {"function": pickle.dumps(answer), "args": cloudpickle.dumps((question,))}

    async def one(address: str, plan: _Plan) -> Sums:
        its = {**call, "kwargs": pickle.dumps({"plan": plan})}
        if scheduler is None:
            reply = await rpc(address).run(**its)
        else:
            reply = (await scheduler.broadcast(msg={"op": "run", **its}, workers=[address]))[address]
        if isinstance(reply["result"], Exception):
            raise reply["result"]
        return reply["result"]  # type: ignore[no-any-return]

    return list(chain(*await asyncio.gather(*map(one, plans, plans.values()))))


class ClusterRunner:
    """Runs tasks by the workers of a `distributed.Client`, with the methods of `InTurn`."""

    threads = 0  # each worker decides: see `task_workers`

    def __init__(self, client: Any):
        self._client = client
        self._homes: dict[int, str] = {}  # of each part
        self._told: tuple[Any, str, set[str]] = None, "", set()  # what tasks share now, its token, and who knows it

    def each(self, task: Callable[[Shared, int], Result], shared: Shared, count: int) -> Iterator[Result]:
        """`task(shared, n)` for each part n, in order; few results wait for those before them."""

        def ask(number: int) -> Any:
            alive = sorted(self._threads())
            return self._sum(task, shared, count, (), None, [(alive[number % len(alive)], [[number]])])

        ahead = 2 * len(self._threads())
        with ThreadPoolExecutor(ahead) as pool:
            begun: deque[Any] = deque()
            for number in range(count):
                begun.append(pool.submit(self._again, partial(ask, number)))
                if len(begun) > ahead:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()

    def everywhere(self, task: Callable[[str], None], argument: str) -> None:
        self._told = None, "", set()
        with suppress(Exception):  # workers that are gone keep nothing
            self._client.run(task, argument)

    def total(
        self, task: Callable[[Shared, int, Any], Result], shared: Shared, count: int, argument: Any,
        add: Callable[[Result, Result], Result],
    ) -> Result:  # fmt: skip
        total: Result = self._again(lambda: self._sum(task, shared, count, (argument,), add, self._plan(count)))
        return total

    def _sum(self, task: Any, shared: Any, count: int, argument: tuple[Any, ...], add: Any, plan: _Plan) -> Any:
        """The sum of all parts of a plan. _LostWorker if one of its workers has gone."""
        if self._told[0] is not shared:
            self._told = shared, secrets.token_hex(8), set()
        _, token, told = self._told
        asked, client = {address for address, _ in plan}, self._client
        question = _Question(task, add, count, argument, token, None if asked <= told else shared)
        try:
            through = None if client.direct_to_workers else client.scheduler
            found = client.sync(_ask, client.rpc, question, _halves(plan), through)
            ((_, _, total),) = joined(add, count, sorted(found, key=itemgetter(0)))
        except (_LostWorker, OSError, distributed.CancelledError):
            self._told = None, "", set()
            time.sleep(POLL)
            self._threads()  # an error if it was the scheduler that went
            raise _LostWorker from None
        told |= asked
        return total

    def _again(self, act: Callable[[], Any]) -> Any:
        """The result of an action, which is done again where a worker is lost."""
        for _ in range(ATTEMPTS):
            with suppress(_LostWorker):
                return act()
        raise self._lost("workers were lost again and again")

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

    def _plan(self, count: int) -> _Plan:
        """Who computes which parts: its home, the former one unless that has gone or has more than its share.

        Neighbours get the same home, so that most sums need no transfer.
        """
        threads = self._threads()
        most = -(-count // len(threads))  # and at most a tenth more, as runs of 2, 4, 8 … make few sums
        most = max(even for k in range(most.bit_length() + 1) if (even := -(-most >> k) << k) <= 1.1 * most)
        load = dict.fromkeys(sorted(threads), 0)
        homes: dict[int, str] = {}
        for part in range(count):
            home = self._homes.get(part, "")
            if home in load and load[home] < most:
                homes[part] = home
                load[home] += 1
        free = iter([one for one in load for _ in range(most - load[one])])
        self._homes = {part: homes.get(part) or next(free) for part in range(count)}
        plan: _Plan = []
        for home in dict.fromkeys(self._homes.values()):
            parts, share = [part for part in range(count) if self._homes[part] == home], threads[home]
            bounds = [len(parts) * thread // share for thread in range(share + 1)]
            plan.append((home, [parts[first:last] for first, last in pairwise(bounds) if first < last]))
        return plan

    def _lost(self, why: str) -> DcrfError:
        return data_error("cluster-lost", f"the cluster is lost: {why}", help=RESUME)


PartRunner: TypeAlias = InTurn | ClusterRunner


def part_runner(client: Any) -> ClusterRunner:
    """What runs tasks on parts by the workers of a `distributed.Client`. TypeError for anything else."""
    if not all(hasattr(client, name) for name in ("run", "nthreads")):
        raise TypeError(f"cluster: a `distributed.Client` is needed, not {type(client).__name__}")
    return ClusterRunner(client)


@contextmanager
def cluster_client(address: str | None, workers: int | None, threads: int | None) -> Iterator[Any]:
    """A client of the scheduler at `address`, or of a cluster of `workers` processes on this machine.

    threads: that these processes share; by default all cores. DcrfError without dask, or if nothing answers.
    """
    with needed("distributed", "`--cluster` and `--workers` need dask", "dask"):
        import dask
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
    settings = {
        "distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s",  # of each process
        "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1},  # memory that is free is used again
    }  # fmt: skip

    class Uninterrupted(WorkerPlugin):
        """Leaves Ctrl-C, which a terminal sends to all its processes, to the one that trains."""

        def setup(self, worker: Any) -> None:
            with suppress(ValueError):  # not the main thread
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    with dask.config.set(settings), ExitStack() as stack:
        cluster = LocalCluster(
            n_workers=workers or 1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
            silence_logs=logging.ERROR,  # not that a worker that still computes is ended
            memory_limit=None, env={"DCRFDSL_THREADS": str(max(1, Workers(threads).threads // (workers or 1)))},
        )  # fmt: skip
        stack.callback(_closed, cluster)
        client = stack.enter_context(Client(cluster, direct_to_workers=True))
        client.register_plugin(Uninterrupted())
        yield client


def _closed(cluster: Any) -> None:
    """Ends the processes of `cluster`. On a busy machine they outlive Dask's patience; they are killed all the same."""
    logging.getLogger("tornado.application").setLevel(logging.CRITICAL)
    with suppress(TimeoutError):
        cluster.close()


def ship_functions(registered: Any) -> None:
    """Lets functions of the user travel by value: workers do not have the files that define them."""
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
        raise data_error("no-shared-folder", message, help="name a folder that all machines share: `--cache DIR`")
