"""Several trainings at once, each in a process of its own: trials of a search, folds, runs from random starts.

    task, task, … -> result, result, …   in the order of the tasks

Not here: what a task is (`tuning`, `cross_validation`, `restarts`), processes (`foundation.process_pools`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar

from ..foundation import data_error, new_event, processes
from ..inference import Workers

_POLL_SECONDS = 0.1  # between two looks at whether the work is to stop

Task = TypeVar("Task")
Task_contra = TypeVar("Task_contra", contravariant=True)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Work(Protocol[Task_contra, Result_co]):
    """What all tasks have in common, a dataclass. It goes to the processes, and tasks and results are pickled."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def threads(self) -> int | None: ...

    def run_elsewhere(self, task: Task_contra, should_stop: Callable[[], bool] | None = None) -> Result_co:
        """Does a task in another process; `should_stop` is polled as it goes on."""


class LostProcess(NamedTuple):
    """What is said where a process is lost. what: it trained."""

    slug: str
    what: str
    remedy: str


LOST_TRIAL = LostProcess("lost-trial", "a trial", "run fewer at once")

_Done: TypeAlias = tuple[Result, tuple[Warning | str, ...]]  # a result, and what its task warned about


def run_side_by_side(
    work: Work[Task, Result],
    tasks: Sequence[Task],
    jobs: int | Executor,
    should_stop: Callable[[], bool] | None,
    lost: LostProcess = LOST_TRIAL,
) -> Iterator[tuple[int, Result]]:
    """Number (from 0) and result of each task, in their order, with up to `jobs` of them at once, or as many as this
    executor runs.

    Once `should_stop` returns True no task begins; those that run in processes of ours end after their iteration. The
    threads of `work` are divided among processes of ours. DcrfError where a process is lost, in the words of `lost`.
    """
    if isinstance(jobs, Executor):
        calls = [partial(jobs.submit, _run, work, task) for task in tasks]
        yield from _results(calls, len(tasks), should_stop, lost)
        return
    jobs = min(jobs, len(tasks))
    share = replace(work, threads=max(1, Workers(work.threads).threads // jobs))
    stop = new_event()
    with processes(jobs, _begin, share, stop) as pool:
        # As many at once as there are processes: what a pool has queued, it may hand out after a stop.
        yield from _results(
            [partial(pool.submit, _run_here, task) for task in tasks], jobs, should_stop, lost, stop.set
        )


def _results(
    calls: Sequence[Callable[[], Future[_Done[Result] | None]]],
    at_once: int,
    should_stop: Callable[[], bool] | None,
    lost: LostProcess,
    stop: Callable[[], None] | None = None,
) -> Iterator[tuple[int, Result]]:
    """The results in order, with their numbers, but of those that never began. calls: each submits a task, of which at
    most `at_once` run. stop: asks those that run to end.
    """
    futures: list[Future[_Done[Result] | None]] = []
    is_stopped = False
    try:
        for number in range(len(calls)):
            while number == len(futures) or not futures[number].done():
                if not is_stopped and should_stop is not None and should_stop():
                    is_stopped = True
                    for future in reversed(futures):  # so that none takes the place of one that is cancelled
                        future.cancel()
                    if stop is not None:
                        stop()
                running = [future for future in futures if not future.done()]
                if not is_stopped:
                    begun = [call() for call in calls[len(futures) : len(futures) + at_once - len(running)]]
                    futures += begun
                    running += begun
                if number == len(futures):
                    return
                wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            if futures[number].cancelled():
                continue
            done = futures[number].result()
            if done is not None:  # None: a process had taken the task, and not begun it
                result, warned = done
                for warning in warned:
                    warnings.warn(warning, stacklevel=2)
                yield number, result
    except BrokenProcessPool:
        message = f"a process that trained {lost.what} has died; most often memory ran out"
        raise data_error(lost.slug, message, help=lost.remedy) from None
    finally:
        for future in futures:
            future.cancel()


def _run(work: Work[Any, Result], task: Any) -> _Done[Result] | None:
    """A task in a worker of somebody else's executor."""
    return work.run_elsewhere(task), ()


_here: tuple[Work[Any, Any], Any] | None = None  # in a process of ours: the work, and the event that stops it


def _begin(work: Work[Any, Any], stop: Any) -> None:
    global _here
    _here = work, stop


def _run_here(task: Any) -> _Done[Any] | None:
    assert _here is not None
    work, stop = _here
    if stop.is_set():
        return None
    with warnings.catch_warnings(record=True) as caught:  # a process of ours has one thread, as this requires
        warnings.simplefilter("always")
        result = work.run_elsewhere(task, stop.is_set)
    return result, tuple({str(warning.message): warning.message for warning in caught}.values())
